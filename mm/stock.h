/* SPDX-License-Identifier: MIT */
/*
 * The stock: charge that a CPU holds back, per group, so that most charges touch
 * no shared memory.
 *
 * What:      each CPU has a set-associative table of entries, one per owner.  An
 *            entry holds an amount of bytes that is charged to the group's counters
 *            and used by nobody, and the statistics that have not reached the
 *            account yet.  A charge takes from the amount, an uncharge adds to it;
 *            only when it runs out or over is there a walk over the counters.
 * Who writes: an entry belongs to its CPU; kernel code is not preempted and
 *            interrupt handlers do not charge, so its CPU needs no lock.  Other
 *            CPUs may *steal*: take the whole amount and close the entry, without
 *            the owner CPU's help.  So the amount lives in one atomic word, and
 *            every change of it is a compare-and-swap; the rest is written by the
 *            entry's CPU alone and read by others.
 *
 *              CPU 0 (owns the entry)           CPU 5 (needs the charge)
 *              charge 3: word 64 -> 61
 *              charge 3: word 61 -> 58
 *                                               steal: word 58 -> 0, closed
 *              charge 3: closed: slow path,
 *                one walk, opens again
 *
 *            The word also carries a tag that changes whenever the entry is given
 *            to another owner: a thief that looked at the old owner fails its
 *            compare-and-swap.  (31 bits: a thief would have to sleep through two
 *            thousand million re-assignments of one entry, and then meet the same
 *            amount.)
 * Invariant: for every owner: pages charged to its counter path
 *            = bytes in use + amounts of its entries + the owner's remainder
 *              + what is on its way between those (each mover is in `limbo`).
 */
#ifndef MM_STOCK_H
#define MM_STOCK_H

#include "mm/memcg_internal.h"
#include "kernel/plant.h"

#ifndef STOCK_SETS /* the explorer's is small (mk/sim.mk) */
#define STOCK_WAYS 8
#define STOCK_SETS 16
#endif
#define STOCK_ENTRIES (STOCK_WAYS * STOCK_SETS)

#define WORD_AMOUNT 0xffffffffULL     /* bytes */
#define WORD_CLOSED (1ULL << 32)      /* amount is 0 and stays so until the CPU opens the entry */
#define WORD_TAG    (1ULL << 33)      /* unit of the tag in the bits above */
#define STOCK_AMOUNT_MAX (1ULL << 30) /* bytes an entry may hold */

#define SOCK_CREDIT     16 /* pages: one super-packet of TCP */
#define SOCK_CREDIT_FOR 64 /* pages: a CPU whose walks are smaller than this is near a limit */

/* Legend: [a] any CPU by compare-and-swap, [c] written by the entry's CPU, read by all. */
struct stock_entry {
	/* Line 0: all that a charge of a frequent kind touches. */
	__cacheline_aligned _Atomic uint64_t word; /* [a] */
	_Atomic uint32_t cap;                      /* [c] bytes; more than this goes back */
	_Atomic uint32_t batch;                    /* [c] pages of the next walk */
	_Atomic int64_t delta[NR_MEMCG_STATS];     /* [c] statistics not yet folded */
	_Atomic bool tight;                        /* [c] the last walk came near a limit */
	_Atomic uint8_t credit;                    /* [c] pages ahead for a busy socket; 0 near a limit */
};
_Static_assert(sizeof(struct stock_entry) == 2 * CACHE_LINE, "an entry is two lines");
_Static_assert(offsetof(struct stock_entry, delta[MEMCG_PGTABLE]) < CACHE_LINE,
	       "frequent kinds are on the line of the word");

struct stock_table {
	/* [c] whose entry; referenced */
	__cacheline_aligned _Atomic(struct owner *) owners[STOCK_ENTRIES];
	struct stock_entry entries[STOCK_ENTRIES];
};

/* One list makes the struct, the sums and /proc/tally/memcg_counters. */
#define STOCK_COUNTERS(X)                                                                          \
	X(charged_pages, "pages charged, bytes counted in parts")                                  \
	X(uncharged_pages, "pages given back")                                                     \
	X(stock_hits, "charges met from the stock of the CPU")                                     \
	X(stock_misses, "charges that did not find enough in the stock")                           \
	X(uncharge_misses, "uncharges that did not fit into the stock")                            \
	X(walks, "walks over the counters that charged")                                           \
	X(uncharge_walks, "walks that gave back")                                                  \
	X(drains, "entries emptied by their own CPU")                                              \
	X(steals, "entries emptied by another CPU")                                                \
	X(evictions, "entries given to another group")                                             \
	X(sweeps, "times all CPUs' stock of a group was called in")                                \
	X(settled, "refused walks settled exactly")                                                \
	X(refusals, "charges refused")

enum stock_counter {
#define X(name, what) SC_##name,
	STOCK_COUNTERS(X)
#undef X
	NR_STOCK_COUNTERS
};

struct stock_cpu {
	/* Read and written by every charge of this CPU. */
	struct owner *last;             /* [c] of the entry used last, or NULL; not with several slots */
	struct stock_entry *last_entry; /* [c] */
	struct stock_table *table;      /* constant after memcg_init() */
	_Atomic uint64_t charged;       /* [c] bytes, ever */
	_Atomic uint64_t hits;          /* [c] charges met from the stock */

	/* Movement of charge that nobody can see: read by who settles a refusal. */
	__cacheline_aligned _Atomic(struct account *) limbo; /* [c] whose path; NULL: nothing in flight */
	_Atomic uint64_t limbo_pages;   /* [c] at most so many */
	_Atomic uint64_t limbo_seq;     /* [c] counts the begins */
	_Atomic uint64_t fold_seq;      /* [c] odd while statistics move from an entry to an account */
	_Atomic uint64_t counters[NR_STOCK_COUNTERS]; /* [c] the rare ones */
	struct stock_entry *held[8];    /* [c] slots=1 or 7: the entries that may hold charge... */
	struct owner *held_owner[8];    /* [c] ...and whose they are */
	unsigned next_victim;           /* [c] */
	uint8_t next_way[STOCK_SETS];   /* [c] */
};
DECLARE_PER_CPU(struct stock_cpu, stock_cpu);

/* Index of the first of the STOCK_WAYS entries that may be @o's; their owners share a line. */
static __always_inline unsigned stock_first(const struct owner *o)
{
	return ((uintptr_t)o / 128 ^ (uintptr_t)o / 4096) % STOCK_SETS * STOCK_WAYS;
}

/* Pages per walk with @room pages left on the tightest level. */
static inline unsigned stock_batch(int64_t room)
{
	unsigned fixed = atomic_load_explicit(&memcg_config.batch, memory_order_relaxed);
	int64_t share = room / (4 * (int64_t)nr_cpus);

	if (fixed)
		return fixed;
	return share < 0 ? 0 : share > (int64_t)BATCH_MAX ? BATCH_MAX : (unsigned)share;
}
static __always_inline uint32_t stock_cap(const struct stock_entry *e)
{
	return atomic_load_explicit(&e->cap, memory_order_relaxed);
}
static inline void stock_set_batch(struct stock_entry *e, unsigned batch)
{
	uint64_t cap = 0;

	/* Room for one batch on either side of the level an entry settles at. */
	if (!atomic_load_explicit(&memcg_config.direct, memory_order_relaxed))
		cap = (memcg_config.linux_rules ? batch : 2 * batch) * PAGE_SIZE;
	atomic_store_explicit(&e->batch, batch, memory_order_relaxed);
	atomic_store_explicit(&e->cap, (uint32_t)cap, memory_order_relaxed);
	atomic_store_explicit(&e->credit,
			      memcg_config.linux_rules || batch < SOCK_CREDIT_FOR ? 0 : SOCK_CREDIT,
			      memory_order_relaxed);
}

/* The entry that the next charge looks at first.  Linux's slots have no such thing. */
static __always_inline void stock_remember(struct stock_cpu *s, struct owner *o,
					   struct stock_entry *e)
{
	if (memcg_config.slots > 1)
		return;
	s->last = o;
	s->last_entry = e;
}
/*
 * This CPU's entry of @o that was not used last, or NULL.  Several slots are looked
 * through in order, as Linux does since 6.16; one slot is the entry used last.
 */
static __always_inline struct stock_entry *stock_look(struct stock_cpu *s, struct owner *o)
{
	unsigned slots = memcg_config.slots, i;

	if (slots > 1)
		for (i = 0; i < slots; i++)
			if (s->held_owner[i] == o)
				return s->held[i];
	for (i = stock_first(o);;) {
		if (atomic_load_explicit(&s->table->owners[i], memory_order_relaxed) == o)
			break;
		if (++i % STOCK_WAYS == 0)
			return NULL;
	}
	stock_remember(s, o, &s->table->entries[i]);
	return &s->table->entries[i];
}
/* The same, out of line. */
struct stock_entry *stock_find_other(struct stock_cpu *s, struct owner *o);
/* This CPU's entry of @o, or NULL. */
static __always_inline struct stock_entry *stock_find(struct stock_cpu *s, struct owner *o)
{
	if (likely(s->last == o))
		return s->last_entry;
	return stock_find_other(s, o);
}

/* Takes @bytes from an entry of this CPU.  false: not enough, or closed. */
static __always_inline bool stock_take(struct stock_entry *e, uint64_t bytes)
{
	uint64_t w = atomic_load_explicit(&e->word, memory_order_relaxed);

	if (PLANTED(TAKE_PLAIN) && (w & WORD_AMOUNT) >= bytes) {
		atomic_store_explicit(&e->word, w - bytes, memory_order_relaxed);
		return true;
	}
	do {
		if (unlikely((w & WORD_AMOUNT) < bytes))
			return false;
	} while (unlikely(!atomic_compare_exchange_weak_explicit(&e->word, &w, w - bytes,
								 memory_order_seq_cst,
								 memory_order_relaxed)));
	return true;
}
/* Adds @bytes to an entry of this CPU unless it is closed or would pass its cap. */
static __always_inline bool stock_give(struct stock_entry *e, uint64_t bytes)
{
	uint64_t w = atomic_load_explicit(&e->word, memory_order_relaxed);

	do {
		if (unlikely((w & WORD_CLOSED) || (w & WORD_AMOUNT) + bytes > stock_cap(e)))
			return false;
	} while (unlikely(!atomic_compare_exchange_weak_explicit(&e->word, &w, w + bytes,
								 memory_order_seq_cst,
								 memory_order_relaxed)));
	return true;
}
static __always_inline void stock_count(struct stock_entry *e, unsigned stat, int64_t n)
{
	atomic_store_explicit(&e->delta[stat],
			      atomic_load_explicit(&e->delta[stat], memory_order_relaxed) + n,
			      memory_order_relaxed);
}
static __always_inline void stock_bump(_Atomic uint64_t *c, uint64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + n,
			      memory_order_relaxed);
}
#define stock_tick(s, name) stock_bump(&(s)->counters[SC_##name], 1)

/* Allocates the tables.  false without memory. */
bool stock_init(void);
/* May CPU @cpu have entries of @a's subtree?  If it may not, it has none and never had. */
static inline bool stock_may_hold(struct account *a, unsigned cpu)
{
	unsigned bit = cpu % HOLDER_BITS;

	return atomic_load_explicit(&a->holders[bit / 64], memory_order_seq_cst) >> bit % 64 & 1;
}

/**
 * stock_entry_get - this CPU's entry of an open owner, made if there is none
 * May evict another owner's entry (returning its amount, folding its statistics).
 * Context: thread, under RCU.  Return: never NULL.
 */
struct stock_entry *stock_entry_get(struct stock_cpu *s, struct owner *o, struct account *a);
/* Moves the entry's statistics to the account and the owner. Under RCU. */
void stock_fold(struct stock_cpu *s, struct stock_entry *e, struct owner *o, struct account *a);
/**
 * stock_put - hold @bytes of @o's charge back on this CPU
 * Return: bytes that may not be held (limit near, nobody left in the group, entry
 * full): the caller, who is in limbo with them, gives them back.
 */
uint64_t stock_put(struct stock_cpu *s, struct stock_entry *e, struct owner *o, struct account *a,
		   uint64_t bytes);
/* slots=1 or 7: @e becomes one of those that may hold charge, in place of another. Not in limbo. */
void stock_hold(struct stock_cpu *s, struct stock_entry *e);
/* May charge of @o be held back now?  Looked at again after holding it. */
bool stock_allowed(struct owner *o, struct account *a);
/* This CPU's entry of a closed owner goes: folds, drops the reference. Under RCU. */
void stock_forget(struct stock_cpu *s, struct owner *o);

/*
 * Calls in what all CPUs hold for accounts under @top (@only: just for that
 * owner) and closes those entries.  Does not interrupt anybody.  Under RCU.
 */
void stock_sweep(struct account *top, struct owner *only);
/* The last user of @o has left: its stock and remainder go back. Under RCU. */
void stock_return_owner(struct owner *o);
/* ---- sums (mm/stock_sum.c) ---- */

/* Sum of the statistics that entries under @a hold; see memcg_stat_read(). Under RCU. */
void stock_sum_deltas(struct account *a, int64_t out[NR_MEMCG_STATS]);
uint64_t stock_fold_seq_sum(bool *busy);
/* Bytes held back for the subtree of @a now. Under RCU. */
uint64_t stock_cached(struct account *a);
/*
 * Bytes of @a's subtree that are really in use: usage without what is held back.
 * Exact if nothing moved between CPUs and counters while it was read (looked at a
 * few times).  Under RCU.
 */
int64_t stock_real_usage(struct account *a);
/* Most bytes that may be held back for the subtree of @a with the entries there are. Under RCU. */
uint64_t stock_bound(struct account *a);
uint64_t stock_counter(enum stock_counter c); /* sum over the CPUs */
extern const char *const stock_counter_names[NR_STOCK_COUNTERS];

/*
 * limbo_begin/end - this CPU moves up to @pages of charge on @a's path
 *
 * Between the two, counters may hold charge that is neither in use nor in a
 * stock: a walk that may yet be undone, an amount on its way back.  Who must
 * decide whether a limit is really exceeded counts it in (mm/memcg_exact.c).
 * Begin is ordered before, end after what happens between (sequentially
 * consistent).  Does not nest.
 */
static inline void limbo_begin(struct stock_cpu *s, struct account *a, uint64_t pages)
{
	if (PLANTED(LIMBO_SKIPPED))
		return;
	atomic_store_explicit(&s->limbo_pages, pages, memory_order_relaxed);
	stock_bump(&s->limbo_seq, 1);
	atomic_store_explicit(&s->limbo, a, memory_order_seq_cst);
}
static inline void limbo_end(struct stock_cpu *s)
{
	atomic_store_explicit(&s->limbo, NULL, memory_order_release);
}

#endif /* MM_STOCK_H */
