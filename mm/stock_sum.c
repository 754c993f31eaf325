/* SPDX-License-Identifier: MIT */
/*
 * What readers ask of the stocks: sums over the CPUs' entries, for memory.current,
 * memory.error, memory.stat and /proc/tally, without stopping anybody.
 *
 * Entries change while they are read.  Who needs an exact figure looks at what
 * counts movements (limbo_seq, fold_seq) before and after, and reads again.
 */
#include "mm/stock.h"

/*
 * Where @top's subtree may have entries in a CPU's table.  An account that never had
 * another below has only its own owner's, in one set.
 */
static unsigned first_entry(struct account *top, unsigned *end)
{
	unsigned first;

	if (atomic_load_explicit(&top->inner, memory_order_seq_cst)) {
		*end = STOCK_ENTRIES;
		return 0;
	}
	first = stock_first(top->owner);
	*end = first + STOCK_WAYS;
	return first;
}

/*
 * An entry that changes hands meanwhile is left out or counted wrongly by what it
 * held; its fold shows in fold_seq and the caller starts again.
 */
void stock_sum_deltas(struct account *top, int64_t out[NR_MEMCG_STATS])
{
	unsigned end, first = first_entry(top, &end);

	for_each_cpu(c) {
		struct stock_table *t = per_cpu(stock_cpu, c).table;

		if (!stock_may_hold(top, c))
			continue;
		for (unsigned i = first; i < end; i++) {
			struct owner *o = atomic_load_explicit(&t->owners[i], memory_order_acquire);

			if (!o || !account_is_under(owner_account(o), top))
				continue;
			for (unsigned k = 0; k < NR_MEMCG_STATS; k++)
				out[k] += atomic_load_explicit(&t->entries[i].delta[k],
							       memory_order_relaxed);
		}
	}
}

uint64_t stock_fold_seq_sum(bool *busy)
{
	uint64_t sum = 0;

	*busy = false;
	for_each_cpu(c) {
		uint64_t q = atomic_load_explicit(&per_cpu(stock_cpu, c).fold_seq,
						  memory_order_acquire);

		*busy |= q & 1;
		sum += q;
	}
	return sum;
}

/* Sums over the open entries below @top: what they hold, and (@most) what they might. */
static uint64_t sum_entries(struct account *top, uint64_t *most)
{
	unsigned end, first = first_entry(top, &end);
	uint64_t sum = 0;

	*most = 0;
	for_each_cpu(c) {
		struct stock_table *t = per_cpu(stock_cpu, c).table;

		if (!t || !stock_may_hold(top, c))
			continue;
		for (unsigned i = first; i < end; i++) {
			struct owner *o = atomic_load_explicit(&t->owners[i], memory_order_acquire);
			uint64_t w = atomic_load_explicit(&t->entries[i].word, memory_order_relaxed);
			uint64_t cap;

			if (!o || w & WORD_CLOSED || !account_is_under(owner_account(o), top))
				continue;
			w &= WORD_AMOUNT;
			cap = stock_cap(&t->entries[i]);
			sum += w;
			*most += cap > w ? cap : w;
		}
	}
	return sum;
}

uint64_t stock_cached(struct account *top)
{
	uint64_t most;

	return sum_entries(top, &most);
}

/* Begun movements of all CPUs; *open: one below @top is under way. */
static uint64_t movements(struct account *top, bool *open)
{
	uint64_t sum = 0;

	*open = false;
	for_each_cpu(c) {
		struct stock_cpu *s = &per_cpu(stock_cpu, c);
		struct account *a = atomic_load_explicit(&s->limbo, memory_order_seq_cst);

		*open |= a && account_is_under(a, top);
		sum += atomic_load_explicit(&s->limbo_seq, memory_order_seq_cst);
	}
	return sum;
}

#define READ_TRIES 4 /* then what was read last: off by what moved meanwhile */

int64_t stock_real_usage(struct account *top)
{
	int64_t real = 0;
	bool open, open_after;

	for (unsigned i = 0; i < READ_TRIES; i++) {
		uint64_t seq = movements(top, &open);
		int64_t cached = (int64_t)stock_cached(top);

		real = account_usage(top) * (int64_t)PAGE_SIZE - cached;
		if (movements(top, &open_after) == seq && !open && !open_after)
			break;
	}
	return real > 0 ? real : 0;
}

uint64_t stock_bound(struct account *top)
{
	uint64_t most, held = sum_entries(top, &most);
	int64_t room = account_counts(top) ? memcg_config.pc->headroom(account_counter(top)) : 0;

	/* What is held is charged, so it can only grow by what could still be charged. */
	if (room < 0)
		room = 0;
	return room < PAGE_COUNTER_MAX / 2 && held + (uint64_t)room * PAGE_SIZE < most
		       ? held + (uint64_t)room * PAGE_SIZE
		       : most;
}

/* Bytes charged ever, less what is in use now, is what was given back: no counter on that path. */
static uint64_t bytes_in_use(void)
{
	int64_t st[NR_MEMCG_STATS], sum = 0;

	memcg_stat_read(root_account, st);
	for (unsigned i = 0; i < NR_MEMCG_KINDS; i++)
		sum += st[i];
	return (uint64_t)sum;
}

uint64_t stock_counter(enum stock_counter which)
{
	uint64_t sum = 0;

	if (!memcg_config.enabled)
		return 0;
	for_each_cpu(c) {
		struct stock_cpu *s = &per_cpu(stock_cpu, c);

		if (which == SC_charged_pages || which == SC_uncharged_pages)
			sum += atomic_load_explicit(&s->charged, memory_order_relaxed);
		else if (which == SC_stock_hits)
			sum += atomic_load_explicit(&s->hits, memory_order_relaxed);
		else
			sum += atomic_load_explicit(&s->counters[which], memory_order_relaxed);
	}
	if (which == SC_uncharged_pages)
		sum -= bytes_in_use();
	if (which == SC_charged_pages || which == SC_uncharged_pages)
		sum = DIV_ROUND_UP(sum, PAGE_SIZE);
	return sum;
}
