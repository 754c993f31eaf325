/* SPDX-License-Identifier: MIT */
/*
 * Groups by id, and the walk of reclaim over a subtree.
 *
 * What:      ids are given out in order and never again, and a group is younger than
 *            all above it.  The table finds the first group from an id on.  The walk
 *            goes through a subtree in the order of ids, from the position that the
 *            last reclaimer of that subtree left: one word, a turn and an id, in the
 *            subtree's top.  An id names no memory, so groups may be removed under the
 *            walk and nobody holds them for it.
 * Locks:     memcg.walk says what a look-up does: "rcu" reads without a lock; "spin"
 *            and "rwlock" take one lock of the whole machine around each, as Linux did
 *            in 2010 and 2011.  The work under it is the same.  Changes of the table
 *            come under memcg_mutex and take the same lock for writing.
 */
#ifndef MM_MEMCG_WALK_H
#define MM_MEMCG_WALK_H

#include "mm/memcg_internal.h"

struct memcg;

/* A walk by one reclaimer. */
struct memcg_walk {
	struct account *top;   /* the caller keeps it: RCU, or a reference to its group */
	_Atomic uint64_t *at;  /* shared position */
	uint64_t end;          /* position at which everybody together has been round once */
};

/**
 * memcg_walk_begin - start a walk over @top and everything below
 * @at: the position that all walks from @top share
 */
void memcg_walk_begin(struct memcg_walk *w, struct account *top, _Atomic uint64_t *at);
/**
 * memcg_walk_next - the next group whose turn it is
 *
 * Reclaimers of one subtree share its turns: each group is given to one of them per
 * turn.  Context: under RCU, which also keeps what is returned.
 * Return: an account of the subtree, or NULL when the walk has been round.
 */
struct account *memcg_walk_next(struct memcg_walk *w);

/* The first group whose id is at least @from, or NULL, looked up as memcg.walk says. Under RCU. */
struct memcg *memcg_lookup_from(uint32_t from);
/* The group with just this id, or NULL; never locks. Under RCU. */
struct memcg *memcg_by_id(uint32_t id);

bool memcg_id_init(struct memcg *first); /* false without memory */
/* memcg_mutex held.  false without memory. */
bool memcg_id_add(struct memcg *m);
void memcg_id_remove(struct memcg *m);

uint64_t memcg_lookup_count(void); /* look-ups by walks, ever */

#endif /* MM_MEMCG_WALK_H */
