/* SPDX-License-Identifier: MIT */
/*
 * Memory groups: what the rest of the kernel may ask of accounting.
 *
 * A charge belongs to an *owner*, the small object that stands for a group in
 * pages, objects and sockets.  NULL is the root group: nothing is charged.
 * Every charged page (and every page of byte or socket credit) also holds one
 * reference to its owner, taken in batches together with the charge, so
 * nothing else needs to count references per page.
 *
 * Units: pages unless a name says bytes.
 */
#ifndef MM_MEMCG_H
#define MM_MEMCG_H

#include "mm/page.h"
#include "kernel/errno.h"

struct memcg;
struct owner;
struct process;
struct user_thread;

/* Keys of memory.stat that charges belong to; the busiest first (mm/stock.h). */
enum memcg_kind {
	MEMCG_ANON, MEMCG_FILE, MEMCG_SOCK, MEMCG_SLAB, MEMCG_KERNEL, MEMCG_PGTABLE,
	MEMCG_KSTACK, MEMCG_PERCPU, MEMCG_VMALLOC, MEMCG_SHMEM, NR_MEMCG_KINDS
};
/* Pages in a state, for memory.stat; each counted where its owner stands, and above. */
enum memcg_gauge { MEMCG_FILE_DIRTY, MEMCG_FILE_WRITEBACK, NR_MEMCG_GAUGES };
/* Counts of memory.stat: events, and pages that page tables map. */
enum memcg_count { MEMCG_PGFAULT, MEMCG_PGMAJFAULT, MEMCG_FILE_MAPPED, NR_MEMCG_COUNTS };

#define CHARGE_NOFAIL  (1u << 0) /* force, past the limit */
#define CHARGE_NOSLEEP (1u << 1) /* no reclaim, no OOM kill: fail at once */
#define CHARGE_NOOOM   (1u << 2) /* may reclaim, but fails instead of killing */

/**
 * memcg_charge - charge @pages of @kind to a group and all above it
 * Context: thread.  Sleeps unless CHARGE_NOSLEEP.
 * Return: 0, or -ENOMEM with nothing charged (and the events counted).
 */
int memcg_charge(struct owner *o, unsigned pages, enum memcg_kind kind, unsigned flags) __must_check;
void memcg_uncharge(struct owner *o, unsigned pages, enum memcg_kind kind);

/* The same for a page block: sets page->owner and charge_kind.  page_put() uncharges. */
int memcg_charge_page(struct page *p, struct owner *o, enum memcg_kind kind, unsigned flags) __must_check;
void memcg_uncharge_page(struct page *p);

/* Bytes (slab objects, small kernel memory): kept per owner in whole pages plus a remainder. */
int memcg_charge_bytes(struct owner *o, size_t bytes, enum memcg_kind kind, unsigned flags) __must_check;
void memcg_uncharge_bytes(struct owner *o, size_t bytes, enum memcg_kind kind);

/**
 * memcg_count - add @n to a count of the group that @o stands for, and of all above
 * @o: NULL (root) is fine.
 * Context: thread; does not sleep.  Held back on this CPU; memory.stat adds that up.
 */
void memcg_count(struct owner *o, enum memcg_count c, int n);

/* mm/memcg_gauge.c.  NULL owners (root) are fine.  Context: thread; does not sleep. */
void memcg_gauge_add(struct owner *o, enum memcg_gauge g, int64_t pages);
/*
 * Has the group, or one above it, more dirty and written pages than @percent of what
 * its memory.max and memory.high allow?  Never for groups without limits.
 */
bool memcg_dirty_over(struct owner *o, unsigned percent);

/*
 * owner of the current process's group.  Borrowed: valid until the caller
 * sleeps; take a reference to keep it.  NULL: root group, kernel threads, or
 * accounting is off.
 */
struct owner *current_owner(void);
void owner_get(struct owner *o); /* NULL is fine */
void owner_put(struct owner *o);
/* The live group an owner now stands for (its own, or after removal the nearest living ancestor). Under RCU. */
struct memcg *owner_memcg(struct owner *o);

/*
 * A user of an owner is a process or a socket.  While an owner has none, nothing of
 * its charge is held back on any CPU, so an emptied group shows its real usage.
 */
void memcg_user_get(struct owner *o); /* NULL is fine, here and below */
void memcg_user_put(struct owner *o);
/* Bytes that could still be charged on the path to the root; SIZE_MAX without a limit. */
uint64_t memcg_headroom(struct owner *o);
/* Is at most 1/8 of some limit left, as this CPU saw it at its last walk? */
bool memcg_under_pressure(struct owner *o);
/* Pages a busy socket may keep as credit: none to speak of near a limit, or under Linux's rules. */
unsigned memcg_sock_credit(struct owner *o);
/**
 * memcg_charge_sock - charge @pages for a busy socket, and its credit for the next ones
 * The credit comes from this CPU's stock or not at all: never at the price of a walk, an
 * event or a refusal.
 * @flags: CHARGE_*
 * Return: pages charged, @pages or more; 0: refused, as memcg_charge().
 */
unsigned memcg_charge_sock(struct owner *o, unsigned pages, unsigned flags);
void memcg_event_sock_dropped(struct owner *o);

/*
 * A thread is in a group, its process's resources count at that group or, if it is
 * threaded, at the nearest group above that is not (the same for all threads of a
 * process).  A new thread or process begins where its maker is.
 */
struct memcg *memcg_of_process(struct process *p);    /* where it counts; under RCU; never NULL */
struct memcg *memcg_of_thread(struct user_thread *u); /* where it is; under RCU; never NULL */
/* @child with its first thread into @group; NULL: the caller's.  0, or -ENODEV if it has been removed. */
int memcg_fork(struct process *child, struct user_thread *first, struct memcg *group);
void memcg_thread_start(struct user_thread *u); /* another thread of the caller's process */
void memcg_thread_exit(struct user_thread *u);  /* one that is not the last */
void memcg_exit(struct process *p, struct user_thread *last);

/* Group that an owner stands for now (not NULL), in the same form: 0, -ENAMETOOLONG. Under RCU. */
int memcg_owner_path(struct owner *o, char *buf, size_t n);

/**
 * Socket memory (net/sock_mem.c): a socket's byte credit, charged in pages.
 * Embedded in each socket; the socket's ownership protects it.
 *
 * A socket that moves data keeps some pages of credit, so most calls are an
 * addition and a comparison; it gives all of them back when nothing is queued.
 * Invariant: in use = charged - credit, and credit < give_back between calls.
 */
struct sock_mem {
	struct owner *owner;  /* referenced; NULL: root, credit without end */
	int64_t credit;       /* bytes charged and not in use */
	int64_t give_back;    /* bytes of credit at which pages go back: a threshold, or all there is */
	int64_t charged;      /* bytes; a multiple of PAGE_SIZE */
};
extern bool memcg_sock_total; /* linux-4.13: one counter for all sockets' pages, too; constant after boot */
void sock_mem_init(struct sock_mem *m, struct owner *o);
int sock_mem_charge_slow(struct sock_mem *m, size_t bytes, unsigned flags) __must_check;
void sock_mem_give_back(struct sock_mem *m);
/* Reserve @bytes for the socket: 0 or -ENOMEM (limit). CHARGE_* flags. */
static inline __must_check int sock_mem_charge(struct sock_mem *m, size_t bytes, unsigned flags)
{
	int64_t left = m->credit - (int64_t)bytes;

	if (unlikely(left < 0))
		return sock_mem_charge_slow(m, bytes, flags);
	m->credit = left;
	return 0;
}
static inline void sock_mem_uncharge(struct sock_mem *m, size_t bytes)
{
	m->credit += (int64_t)bytes;
	if (unlikely(m->credit >= m->give_back))
		sock_mem_give_back(m);
}
/* Bytes in use: truesize of what is queued. */
static inline uint64_t sock_mem_used(const struct sock_mem *m)
{
	return (uint64_t)(m->charged - m->credit);
}
/* Accept: move the whole charge to @o; forced. */
void sock_mem_move(struct sock_mem *m, struct owner *o);
/* Whole pages of credit, which sock_mem_trim() would give back? */
static inline bool sock_mem_spare(const struct sock_mem *m)
{
	return m->credit >= (int64_t)PAGE_SIZE && m->owner;
}
/* For a socket on which little happens: keeps no page that its bytes do not use. */
void sock_mem_trim(struct sock_mem *m);
void sock_mem_destroy(struct sock_mem *m); /* gives everything back; nothing may be in use */
/* Is the owner's group (or an ancestor) near its limit: shrink windows. */
static inline bool sock_mem_pressure(const struct sock_mem *m)
{
	return m->owner && memcg_under_pressure(m->owner);
}
/* Bytes that could still be charged on the path to the root now; SIZE_MAX without a limit. */
static inline uint64_t sock_mem_headroom(const struct sock_mem *m)
{
	return m->owner ? memcg_headroom(m->owner) : SIZE_MAX;
}
void sock_mem_count_dropped(struct sock_mem *m); /* memory.events sock_dropped */

/* On the way to user mode with THREAD_F_OVER_HIGH set: the current thread pays for charges above memory.high. Sleeps. */
void memcg_pay_high(void);

void memcg_init(void);
const char *memcg_preset_name(void); /* for records */
bool memcg_enabled(void);            /* false under memcg=off */

/* OOM: picks and kills inside @mg (NULL: the machine). Return: true if something was killed or is dying. */
bool oom_kill(struct memcg *mg, const char *why, uint64_t pages);

#endif /* MM_MEMCG_H */
