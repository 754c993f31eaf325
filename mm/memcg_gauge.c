/* SPDX-License-Identifier: MIT */
/*
 * Gauges of a group: pages in a state that they enter and leave, such as dirty.
 *
 * The changes are rare beside charges, so each is added to the account and all above
 * it at once.  When a group is removed, its pages' owner stands for the parent, whose
 * account holds them already.
 */
#include "mm/memcg_internal.h"
#include "kernel/rcu.h"

void memcg_gauge_add(struct owner *o, enum memcg_gauge g, int64_t pages)
{
	if (!o)
		return;
	rcu_read_lock();
	for (struct account *a = owner_account(o); a; a = a->parent)
		atomic_fetch_add_explicit(&a->gauge[g], pages, memory_order_relaxed);
	rcu_read_unlock();
}

bool memcg_dirty_over(struct owner *o, unsigned percent)
{
	bool over = false;

	if (!o || !memcg_config.enabled)
		return false;
	rcu_read_lock();
	for (struct account *a = owner_account(o); a && a->parent && !over; a = a->parent) {
		struct page_counter *c = account_counter(a);
		int64_t most = min(memcg_config.pc->get(c, PC_MAX), memcg_config.pc->get(c, PC_HIGH));
		int64_t n = 0;

		if (most >= PAGE_COUNTER_MAX / 2)
			continue;
		for (unsigned g = 0; g < NR_MEMCG_GAUGES; g++)
			n += atomic_load_explicit(&a->gauge[g], memory_order_relaxed);
		over = n > most / 100 * percent;
	}
	rcu_read_unlock();
	return over;
}
