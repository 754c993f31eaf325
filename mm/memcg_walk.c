/* SPDX-License-Identifier: MIT */
/* The walk of reclaim over a subtree, in the order of ids (mm/memcg_walk.h). */
#include "mm/memcg_walk.h"
#include "mm/memcg_tree.h"

#define TURN (1ULL << 32) /* position: turns done, then the id given out last */

void memcg_walk_begin(struct memcg_walk *w, struct account *top, _Atomic uint64_t *at)
{
	w->top = top;
	w->at = at;
	w->end = atomic_load_explicit(at, memory_order_relaxed) + TURN;
}

/* The first account of the subtree whose group's id is at least @from, or NULL. */
static struct account *member_from(struct account *top, uint64_t from)
{
	uint64_t last = atomic_load_explicit(&top->group->last_id, memory_order_relaxed);

	while (from <= last) {
		struct memcg *m = memcg_lookup_from((uint32_t)from);
		struct account *a;

		if (!m || m->id > last)
			return NULL;
		a = memcg_account(m);
		if (a && account_is_under(a, top))
			return a;
		from = (uint64_t)m->id + 1;
	}
	return NULL;
}

struct account *memcg_walk_next(struct memcg_walk *w)
{
	uint64_t pos = atomic_load_explicit(w->at, memory_order_relaxed);
	uint32_t first = w->top->group->id;

	while (pos < w->end) {
		uint32_t id = (uint32_t)pos;
		struct account *a = member_from(w->top, id < first ? first : (uint64_t)id + 1);
		uint64_t to = a ? (pos & ~(TURN - 1)) | a->group->id : (pos | (TURN - 1)) + 1;

		/* Who loses the exchange was overtaken: that group is somebody else's now. */
		if (atomic_compare_exchange_strong_explicit(w->at, &pos, to, memory_order_relaxed,
							    memory_order_relaxed)) {
			if (a)
				return a;
			pos = to;
		}
	}
	return NULL;
}
