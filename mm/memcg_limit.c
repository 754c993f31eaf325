/* SPDX-License-Identifier: MIT */
/*
 * Limits of a group: what the files memory.min, low, high and max write and show
 * (mm/memcg_tree.h; memory.high goes on in mm/high.c).
 *
 * A limit stands at once.  Who lowers memory.max below usage then makes the group fit: calls
 * in what CPUs hold back, reclaims, and kills inside it when reclaim has nothing to give.
 */
#include "mm/memcg_tree.h"
#include "mm/stock.h"
#include "kernel/rcu.h"
#include "kernel/thread.h"

/* The account whose limits @m's files show.  memcg_mutex held. */
static struct account *limits_of(struct memcg *m)
{
	struct account *a = memcg_account(m);

	return m->parent && a && memcg_config.enabled ? a : NULL;
}

void memcg_set_limit(struct memcg *m, enum page_counter_limit which, int64_t pages)
{
	struct account *a;

	mutex_lock(&memcg_mutex);
	a = limits_of(m);
	if (a)
		memcg_config.pc->set(account_counter(a), which, pages);
	mutex_unlock(&memcg_mutex);
}

int64_t memcg_get_limit(struct memcg *m, enum page_counter_limit which)
{
	struct account *a;
	int64_t v = which == PC_MIN || which == PC_LOW ? 0 : PAGE_COUNTER_MAX;

	mutex_lock(&memcg_mutex);
	a = limits_of(m);
	if (a)
		v = memcg_config.pc->get(account_counter(a), which);
	mutex_unlock(&memcg_mutex);
	return v;
}

/* How far @m is over its max, pages. */
static int64_t over_max(struct memcg *m, bool sweep)
{
	struct account *a;
	int64_t over = 0;

	rcu_read_lock();
	a = memcg_account(m);
	if (a && sweep)
		stock_sweep(a, NULL);
	if (a)
		over = account_usage(a) - memcg_config.pc->get(account_counter(a), PC_MAX);
	rcu_read_unlock();
	return over;
}

bool memcg_still_wanted(struct memcg *m, enum page_counter_limit which, int64_t pages)
{
	return !signal_pending(current) && !atomic_load_explicit(&m->dead, memory_order_relaxed) &&
	       memcg_get_limit(m, which) == pages;
}

#define MAX_WRITE_ROUNDS 16 /* as Linux: empty reclaim rounds before a kill */

void memcg_set_max(struct memcg *m, int64_t pages)
{
	unsigned rounds = MAX_WRITE_ROUNDS;
	int64_t over;

	memcg_set_limit(m, PC_MAX, pages);
	if (!memcg_config.enabled || over_max(m, false) <= 0)
		return;
	/* New charges see the limit already; what is held back comes in first. */
	while ((over = over_max(m, true)) > 0 && memcg_still_wanted(m, PC_MAX, pages)) {
		if (rounds && memcg_reclaim_group(m, (uint64_t)over))
			continue;
		if (rounds) {
			rounds--;
			continue;
		}
		if (!oom_kill(m, "memory.max lowered", (uint64_t)over))
			break;
		if (memcg_wait_victim())
			break;
	}
}
