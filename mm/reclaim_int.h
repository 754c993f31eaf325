/* SPDX-License-Identifier: MIT */
/*
 * What the files of reclaim share: lists, statistics and positions of one group.
 * Nobody outside of mm/ includes this.
 *
 * A struct reclaim is made when a group gets its first file page, together with those
 * of all groups above it that have none yet, so that whoever has one has a parent with
 * one; the root's is static.  When the group's account is closed its lists move to the
 * parent, and the struct is freed with the account.
 */
#ifndef MM_RECLAIM_INT_H
#define MM_RECLAIM_INT_H

#include "kernel/lock.h"
#include "mm/lru.h"
#include "mm/memcg_internal.h"

enum lru_list { LRU_INACTIVE, LRU_ACTIVE, NR_LRU_LISTS };

/*
 * File pages of one group on one node.  The page allocator has a single node; with
 * more, a struct reclaim holds one of these for each.
 */
struct lru {
	struct spinlock lock;
	struct list_head list[NR_LRU_LISTS];   /* [lock] page.lru, newest first */
	_Atomic uint64_t nr[NR_LRU_LISTS];     /* written under lock */
	_Atomic uint64_t age;                  /* [a] pages evicted or promoted, ever: a clock */
	bool closed;                           /* [lock] lists have moved to the parent's */
};

/* Of a group and all below it, in the order of memory.stat. */
#define RECLAIM_STATS(X)                                                                           \
	X(active_file)                                                                             \
	X(workingset_refault_file)                                                                 \
	X(workingset_activate_file)                                                                \
	X(workingset_restore_file)                                                                 \
	X(pgscan_kswapd)                                                                           \
	X(pgscan_direct)                                                                           \
	X(pgsteal_kswapd)                                                                          \
	X(pgsteal_direct)                                                                          \
	X(pgrefill)                                                                                \
	X(pgactivate)                                                                              \
	X(pgdeactivate)

enum reclaim_stat {
#define X(name) RS_##name,
	RECLAIM_STATS(X)
#undef X
	NR_RECLAIM_STATS
};

/* Legend: [I] constant, [a] atomic. */
struct reclaim {
	struct lru lru;
	struct account *account;                    /* [I] */
	_Atomic int64_t stat[NR_RECLAIM_STATS];     /* [a] with descendants; pages or counts */
	_Atomic uint64_t walk;                      /* [a] position of the walk from here */
	_Atomic uint64_t high_slept;                /* [a] ns above memory.high in vain */
	_Atomic uint64_t high_woke;                 /* [a] when the last such sleep ended */
};
extern struct reclaim root_reclaim;

/* In account->reclaim once the account is closed, with the pointer or alone: none is made again. */
#define RECLAIM_CLOSED 1UL

/* The group's, or NULL: it never had file pages, or is closed. Under RCU. */
static inline struct reclaim *account_reclaim(struct account *a)
{
	uintptr_t r = atomic_load_explicit(&a->reclaim, memory_order_acquire);

	return r & RECLAIM_CLOSED ? NULL : (struct reclaim *)r;
}
/* The same, made if missing; without memory for it NULL. Under RCU. */
struct reclaim *account_reclaim_make(struct account *a);

/* Adds to a statistic of @a and all above it. Under RCU. */
void reclaim_count(struct account *a, enum reclaim_stat which, int64_t n);
int64_t reclaim_stat_read(struct account *a, enum reclaim_stat which);
extern const char *const reclaim_stat_names[NR_RECLAIM_STATS];

static inline uint64_t lru_nr(const struct lru *l, enum lru_list which)
{
	return atomic_load_explicit(&l->nr[which], memory_order_relaxed);
}
uint64_t lru_total(enum lru_list which); /* of all groups; approximate while pages move */
/* The lists that @p is on or belongs to, locked. */
struct lru *lru_lock_of(struct page *p);

/*
 * Takes up to @n pages off the old end of a list, with a reference each; those that are
 * being freed at this moment are left.  Return: how many.  Context: thread.
 */
unsigned lru_isolate(struct lru *l, enum lru_list which, struct page **out, unsigned n);
/* PG_active and PG_again go, and with them the page's part in active_file. */
void lru_uncount_active(struct page *p);
/* Puts isolated pages back, by PG_active, and drops the references. */
void lru_putback(struct page *const *p, unsigned n);

#endif /* MM_RECLAIM_INT_H */
