/* SPDX-License-Identifier: MIT */
/*
 * Settling a refused charge exactly: promise 1 of the `tally` preset, "a charge is
 * refused only if it really did not fit at some instant of the call".
 *
 * A walk that says no may be wrong for two reasons: usage holds what CPUs keep in
 * their stocks, and it holds what other walks have added and will take back.  So
 * the charge that was refused at level L
 *
 *   1. raises L's pressure: from now on nobody puts anything below L into a stock
 *      (whoever does it all the same sees pressure in a second look and takes it
 *      back, stock_put());
 *   2. sweeps: takes all stock below L away from all CPUs, without interrupting
 *      them, and gives it back to the counters;
 *   3. waits until every movement below L that had begun before 1 is over (limbo;
 *      a movement is a few hundred instructions without sleep or lock);
 *   4. walks again.  If L still refuses, usage of L consists of charge in use plus
 *      what walks of others have added that may still fail.  Those are in limbo as
 *      long as that is open, and count one up in L's `undone` before they leave it
 *      when they fail.  So with
 *          u0 = undone; u = usage; t = sum of the limbos below L; undone == u0
 *      the charge in use (and that which will succeed) was at least u - t at the
 *      moment u was read: if u - t + n > max, the refusal is true; else try again.
 *
 * One at a time per level (exact_lock), so that the tries of those who wait cannot
 * keep each other undecided: others touch L at most once each, then queue.
 * Pressure stays up at every level that has refused until the end, so levels that
 * refuse in turn cannot fill their stocks again between our looks.
 */
#include "mm/stock.h"

#define SETTLE_NS (1 * NSEC_PER_SEC) /* a CPU that stays in limbo longer is gone; refuse and count it */

_Atomic uint64_t memcg_exact_unsure;

/* What CPU @c moves below @top now, at most; *seq tells this movement from the next. */
static uint64_t limbo_below(unsigned c, struct account *top, uint64_t *seq)
{
	struct stock_cpu *s = &per_cpu(stock_cpu, c);
	uint64_t again, pages;
	struct account *a;

	*seq = atomic_load_explicit(&s->limbo_seq, memory_order_seq_cst);
	for (;;) {
		a = atomic_load_explicit(&s->limbo, memory_order_seq_cst);
		pages = atomic_load_explicit(&s->limbo_pages, memory_order_seq_cst);
		again = atomic_load_explicit(&s->limbo_seq, memory_order_seq_cst);
		if (again == *seq)
			break;
		*seq = again;
	}
	return a && account_is_under(a, top) ? pages : 0;
}

static bool wait_limbo(struct account *top, uint64_t deadline)
{
	unsigned me = cpu_id();

	for_each_cpu(c) {
		uint64_t seq, first;

		if (c == me || !limbo_below(c, top, &first))
			continue;
		do {
			if (clock_ns() > deadline)
				return false;
			cpu_relax();
		} while (limbo_below(c, top, &seq) && seq == first);
	}
	return true;
}

/* Is *@at, with pressure up and swept, really over?  Exact lock of *@at held. */
static bool settle(struct account *a, uint64_t pages, struct account **at, bool *charged,
		   uint64_t deadline)
{
	const struct page_counter_ops *pc = memcg_config.pc;
	struct stock_cpu *s = &this_cpu(stock_cpu);
	struct page_counter *level = account_counter(*at), *refused;
	struct page_counter_walk w;
	unsigned me = cpu_id();

	for (;;) {
		int64_t undone, usage, open = 0;
		uint64_t seq;

		limbo_begin(s, a, pages);
		stock_tick(s, walks);
		*charged = pc->try_charge(account_counter(a), (int64_t)pages, &refused, &w);
		if (*charged)
			return true;
		limbo_end(s);
		if (refused != level) {
			*at = counter_account(refused);
			return false;
		}
		undone = pc->undone(level);
		usage = pc->usage(level);
		for_each_cpu(c)
			if (c != me)
				open += PLANTED(SETTLE_HASTY) ? 0
							      : (int64_t)limbo_below(c, *at, &seq);
		if (pc->undone(level) == undone &&
		    usage - open + (int64_t)pages > pc->get(level, PC_MAX))
			return true;
		if (clock_ns() > deadline) {
			atomic_fetch_add_explicit(&memcg_exact_unsure, 1, memory_order_relaxed);
			return true;
		}
		cpu_relax();
	}
}

static bool raise_pressure(struct exact *x, struct account *a)
{
	for (unsigned i = 0; i < x->nr; i++)
		if (x->held[i] == a)
			return false;
	if (x->nr == ARRAY_SIZE(x->held)) {
		/* Deeper than we remember: let the oldest go. */
		atomic_fetch_sub_explicit(&x->held[0]->pressure, 1, memory_order_seq_cst);
		x->held[0] = x->held[--x->nr];
	}
	x->held[x->nr++] = a;
	if (PLANTED(PRESSURE_WEAK)) {
		atomic_store_explicit(&a->pressure, a->pressure + 1, memory_order_relaxed);
		return true;
	}
	atomic_fetch_add_explicit(&a->pressure, 1, memory_order_seq_cst);
	return true;
}

enum exact_result memcg_exact_charge(struct account *a, uint64_t pages, struct account **at)
{
	uint64_t deadline = clock_ns() + SETTLE_NS;
	struct exact x = { .nr = 0 };
	bool charged = false, done = false;

	stock_tick(&this_cpu(stock_cpu), settled);
	for (unsigned rounds = 0; !done && rounds < 64; rounds++) {
		struct account *level = *at;

		spin_lock(&level->exact_lock);
		if (PLANTED(SWEEP_EARLY))
			stock_sweep(level, NULL);
		if (raise_pressure(&x, level)) {
			if (!PLANTED(SWEEP_EARLY))
				stock_sweep(level, NULL);
			if (!wait_limbo(level, deadline))
				atomic_fetch_add_explicit(&memcg_exact_unsure, 1,
							  memory_order_relaxed);
		}
		done = settle(a, pages, at, &charged, deadline);
		spin_unlock(&level->exact_lock);
	}
	while (x.nr)
		atomic_fetch_sub_explicit(&x.held[--x.nr]->pressure, 1, memory_order_seq_cst);
	return charged ? EXACT_CHARGED : EXACT_REFUSED;
}
