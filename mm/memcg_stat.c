/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a group: what the accounts hold plus what the stocks have not
 * folded yet.  Every account counts its whole subtree, so a read looks at one
 * account and at the entries of the CPUs, never at other groups.  Exact when
 * nothing moves.
 */
#include "mm/stock.h"
#include "kernel/string.h"

#define READ_TRIES 8 /* folds are rare; a reader that meets one each time takes what it has */

void account_stat_add(struct account *a, unsigned which, int64_t n)
{
	for (; a; a = a->parent)
		atomic_fetch_add_explicit(&a->stat[which], n, memory_order_relaxed);
}

void memcg_stat_read(struct account *a, int64_t out[NR_MEMCG_STATS])
{
	rcu_read_lock();
	for (unsigned tries = 0; tries < READ_TRIES; tries++) {
		bool busy, busy_after;
		uint64_t seq = stock_fold_seq_sum(&busy);

		for (unsigned i = 0; i < NR_MEMCG_STATS; i++)
			out[i] = atomic_load_explicit(&a->stat[i], memory_order_relaxed);
		stock_sum_deltas(a, out);
		atomic_thread_fence(memory_order_acquire);
		if (!busy && stock_fold_seq_sum(&busy_after) == seq)
			break;
	}
	rcu_read_unlock();
	for (unsigned i = 0; i < NR_MEMCG_STATS; i++)
		if (out[i] < 0)
			out[i] = 0;
}
