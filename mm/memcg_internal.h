/* SPDX-License-Identifier: MIT */
/*
 * Accounting's own view of itself: accounts, configuration, the steps between
 * the files of mm/ that begin with memcg_.  Nobody outside includes this, but
 * fs/cgroupfs.c (the files) and tests do.
 *
 * A struct memcg (mm/memcg_tree.h) is a group as users see it: a directory with
 * processes.  Where the memory controller is enabled it has a struct account:
 * counter, limits, statistics, events.  The account is followed in memory by its
 * page counter, in the layout that the boot chose: the packed one begins within a
 * cache line where Linux 6.0's does, the split one on a line of its own.
 */
#ifndef MM_MEMCG_INTERNAL_H
#define MM_MEMCG_INTERNAL_H

#include "mm/memcg.h"
#include "mm/owner.h"
#include "mm/page_counter.h"
#include "kernel/lock.h"

struct memcg;

/* memory.events, in the order of the file. */
enum memcg_event {
	MEMCG_EV_LOW, MEMCG_EV_HIGH, MEMCG_EV_MAX, MEMCG_EV_OOM, MEMCG_EV_OOM_KILL,
	MEMCG_EV_OOM_GROUP_KILL, MEMCG_EV_SOCK_THROTTLED, MEMCG_EV_SOCK_DROPPED,
	MEMCG_EV_HIGH_STALLED, NR_MEMCG_EVENTS
};
extern const char *const memcg_event_names[NR_MEMCG_EVENTS];

/* Statistics: charged bytes by kind, then counts. */
#define NR_MEMCG_STATS (NR_MEMCG_KINDS + NR_MEMCG_COUNTS)

/* Legend: [I] constant after creation, [a] atomic, [l] under exact_lock. */
struct account {
	struct memcg *group;                       /* [I] */
	_Atomic int64_t stat[NR_MEMCG_STATS];      /* [a] with descendants; what the stocks have folded */
	_Atomic int64_t gauge[NR_MEMCG_GAUGES];    /* [a] pages, with descendants */
	_Atomic uint64_t events[NR_MEMCG_EVENTS];  /* [a] with descendants */
	_Atomic uint64_t events_local[NR_MEMCG_EVENTS]; /* [a] */
	_Atomic uint64_t holders[MAX_CPUS / 64 / 8]; /* [a] bit c % 128: CPU c may have an entry of this subtree */
	_Atomic bool oom_group;                    /* [a] */
	_Atomic int64_t swap_below_max[2];         /* [a] memory.swap.max, .high: how far below "max", pages */
	_Atomic uintptr_t reclaim;                 /* [a] struct reclaim: mm/reclaim_int.h; 0: none yet */
	_Atomic bool inner;                        /* [a] has, or had, an account below: other owners may stand for it */
	struct spinlock exact_lock;                /* one charge at a time settles whether it fits */

	/* Read by walks. */
	_Atomic uint32_t pressure; /* [a] charges settling here now: no stock in the subtree */
	uint32_t depth;            /* [I] root 0 */
	struct owner *owner;       /* [I] the root's is root_owner */
	struct account *parent;    /* [I] NULL for the root; RCU keeps it while this one is reachable */

	/*
	 * The packed counter follows 16 bytes into this line, where Linux 6.0 has it behind
	 * two words of its group: what else lies on the line of usage decides what that
	 * layout costs (tests/sim).  Linux reads those words only when it has the line
	 * anyway, so a quiet member of ours stands for them.
	 */
	__cacheline_aligned struct rcu_head rcu;
};
#define ACCOUNT_END (offsetof(struct account, rcu) + sizeof(struct rcu_head))
_Static_assert(ACCOUNT_END % CACHE_LINE == 16, "the packed counter begins where Linux 6.0's does");
#define HOLDER_BITS (MAX_CPUS / 8)

/* What a boot has chosen; constant after memcg_init() but for the first group. */
struct memcg_config {
	_Atomic unsigned batch;     /* pages per walk; 0: adaptive */
	_Atomic bool direct;        /* uncharge straight to the counters */
	_Atomic int walk;           /* enum memcg_walk_lock */
	const struct page_counter_ops *pc;
	size_t counter_offset;      /* from the account to its counter */
	unsigned slots;             /* groups per CPU that may hold charge; 0: as many as entries */
	bool enabled;               /* false: memcg=off */
	bool root;                  /* top-level groups charge the root's counter, too */
	bool linux_rules;           /* the parts of Linux that no parameter names (docs/accounting.md) */
	const char *preset;
};
extern struct memcg_config memcg_config;
/* What a look-up by id takes (mm/memcg_id.c). */
enum memcg_walk_lock { WALK_RCU, WALK_SPIN, WALK_RWLOCK };

/*
 * Pages per walk far from every limit: 2 MiB at least, and more with many CPUs, so
 * that the walks of all of them together stay as rare.  It costs no memory, only
 * headroom, and that is looked at.
 */
#define BATCH_MAX (nr_cpus > 64 ? 8 * nr_cpus : 512)

/* Applies preset and parameters, chooses the layout, logs.  Once, before the first account. */
void memcg_config_init(void);
void memcg_config_preset(const char *name); /* tests and simulator: as if booted with memcg=name */
int memcg_config_set(const char *name, const char *value);

extern struct account *root_account;

static inline struct page_counter *account_counter(struct account *a)
{
	return (struct page_counter *)((char *)a + memcg_config.counter_offset);
}
static inline struct account *counter_account(struct page_counter *c)
{
	return (struct account *)((char *)c - memcg_config.counter_offset);
}
/* The root's counter counts only with memcg.root=1. */
static inline bool account_counts(const struct account *a)
{
	return a->parent || memcg_config.root;
}
static inline bool account_is_under(const struct account *a, const struct account *top)
{
	while (a->depth > top->depth)
		a = a->parent;
	return a == top;
}

/* mm/memcg_account.c */
bool account_init(void); /* after memcg_config_init(); false without memory */
struct account *account_create(struct account *parent, struct memcg *group); /* with owner; NULL without memory */
/* Removed or disabled: charges live on at the parent; freed after a grace period.  May sleep. */
void account_close(struct account *a);
int64_t account_usage(struct account *a);
void owner_user_get(struct owner *o);
/* Return: true if that was the last: the caller then calls stock_return_owner(). */
bool owner_user_put(struct owner *o);

/* mm/lru.c */
void account_reclaim_close(struct account *a); /* after owner_close() */
void account_reclaim_free(struct account *a);  /* after a grace period */

/* mm/memcg_charge.c */
void account_uncharge(struct account *a, uint64_t pages);
/* Gives @bytes of @o's charge back: whole pages to the counters, the rest to the owner's remainder. Under RCU. */
void owner_give_back(struct owner *o, uint64_t bytes);

/* mm/memcg_exact.c */
struct exact {
	struct account *held[8]; /* where we have raised pressure */
	unsigned nr;
};
enum exact_result { EXACT_CHARGED, EXACT_REFUSED };
/*
 * Settles a charge that a walk refused at @at: charged (and in limbo with it: the
 * caller ends that), or truly over a limit (*@at says whose).  Under RCU.
 */
enum exact_result memcg_exact_charge(struct account *a, uint64_t pages, struct account **at);
extern _Atomic uint64_t memcg_exact_unsure; /* refusals that had to give up waiting; 0 but for a stuck CPU */

/* mm/memcg_stat.c */
void account_stat_add(struct account *a, unsigned which, int64_t n); /* and all above */
void memcg_stat_read(struct account *a, int64_t out[NR_MEMCG_STATS]); /* bytes and counts */

/* mm/memcg_events.c */
void account_event(struct account *a, enum memcg_event ev);
/* Files whose changes somebody may watch. */
enum memcg_notify {
	MEMCG_NOTIFY_CGROUP,       /* cgroup.events */
	MEMCG_NOTIFY_EVENTS,       /* memory.events */
	MEMCG_NOTIFY_EVENTS_LOCAL, /* memory.events.local */
	MEMCG_NOTIFY_SWAP,         /* memory.swap.events */
	NR_MEMCG_NOTIFY
};
void memcg_changed(struct memcg *group, enum memcg_notify file); /* counts event_seq up, tells the hook */
/* Tells watchers; called under spinlocks (memcg_lock), never in an interrupt. */
extern void (*memcg_changed_hook)(struct memcg *group, enum memcg_notify file);
extern _Atomic bool memcg_local_events; /* mount option: memory.events without descendants' */

/* mm/high.c */
void memcg_note_high(struct account *a, uint64_t pages); /* a walk of the current thread ended above some high */
void memcg_pay_high_now(void); /* if the current thread owes much; sleeps */

#endif /* MM_MEMCG_INTERNAL_H */
