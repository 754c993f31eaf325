/* SPDX-License-Identifier: MIT */
/*
 * memory.high: who charges above it pays, first by reclaiming, then with time.
 *
 * A walk that ends above some high notes the pages with the thread; on its way back to
 * user mode, or at once if it owes more than HIGH_NOW pages and may sleep, it reclaims
 * that much from every level above it that is over.  If that does not help it sleeps:
 * with o = (usage - high) / high at the worst level, o^2 * 2^6 seconds for 64 pages, at
 * most two, none below 10 ms (Linux's formula in its fixed point, on a clock of 1000 Hz).
 * Linux charges 64 pages at a time and so is late for 64 at a time; here a thread owes
 * single pages, and what is too little to sleep for stays on its account (high_late).
 *
 * memory.high.policy:
 *   linux    for ever, as Linux: a group that cannot shrink goes on at its snail's pace.
 *   bounded  a sleep lasts BOUNDED_SLEEP_NS at most, and after BOUNDED_ROUNDS of that
 *            length, or as much time in shorter ones, without a page reclaimed the event
 *            high_stalled is counted at that level and its OOM path decides, as if
 *            memory.max had been met.  Time awake between sleeps is forgiveness: a quarter
 *            of it is taken off, so a group that waits now and then is left in peace.
 */
#include "mm/psi.h"
#include "mm/reclaim.h"
#include "mm/reclaim_int.h"
#include "mm/memcg_tree.h"
#include "mm/owner.h"
#include "mm/stock.h"
#include "kernel/param.h"
#include "kernel/process.h"

#define HIGH_NOW         64 /* pages owed that are paid at once */
#define HIGH_RETRIES     16 /* reclaims without result before a sleep */
#define MAX_DELAY_MS     2000
#define MIN_DELAY_MS     10
#define BOUNDED_SLEEP_NS (250 * NSEC_PER_MSEC)
#define BOUNDED_ROUNDS   8
#define BOUNDED_FORGIVES 4 /* so much time awake makes up for one of sleep */

enum { POLICY_LINUX, POLICY_BOUNDED };
static const char *const policies[] = { "linux", "bounded", NULL };
static int policy = POLICY_LINUX;
PARAM_ENUM("memory.high.policy", policy, policies, PARAM_RW,
	   "a group that stays above memory.high: linux: slower and slower; bounded: an OOM kill "
	   "in it after 8 sleeps of 250 ms, or 2 s in shorter ones, without progress");

void memcg_note_high(struct account *a, uint64_t pages)
{
	if (!current->process)
		return;
	current->over_high += (uint32_t)pages;
	atomic_fetch_or_explicit(&current->flags, THREAD_F_OVER_HIGH, memory_order_relaxed);
}

/* How far @a is above its high; what CPUs hold back does not count.  Under RCU. */
static int64_t over_high(struct account *a, int64_t *high)
{
	const struct page_counter_ops *pc = memcg_config.pc;
	struct page_counter *c = account_counter(a);

	*high = pc->get(c, PC_HIGH);
	if (account_usage(a) > *high && !memcg_config.linux_rules)
		stock_sweep(a, NULL);
	return account_usage(a) - *high;
}

/* The account of @m if it counts and has a parent.  Under RCU. */
static struct account *limited(struct memcg *m)
{
	struct account *a = memcg_account(m);

	return a && a->parent ? a : NULL;
}

/* Reclaims from every level that is over.  Return: pages. */
static uint64_t reclaim_high(struct memcg *m, uint64_t pages)
{
	uint64_t freed = 0;

	for (; m; m = m->parent) {
		struct reclaim_request q = { .top = m, .want = pages, .stalls = true };
		struct account *a;
		bool over = false;
		int64_t high;

		rcu_read_lock();
		a = limited(m);
		if (a && over_high(a, &high) > 0) {
			over = true;
			account_event(a, MEMCG_EV_HIGH);
		}
		rcu_read_unlock();
		if (!over)
			continue;
		reclaim_run(&q);
		freed += q.freed;
	}
	return freed;
}

/* The level that is over by the largest part, referenced; how long that is worth.  NULL: none. */
static struct memcg *worst_level(struct memcg *m, uint64_t pages, uint64_t *delay_ms)
{
	struct memcg *worst = NULL;
	uint64_t most = 0;

	rcu_read_lock();
	for (; m; m = m->parent) {
		struct account *a = limited(m);
		int64_t high, over = a ? over_high(a, &high) : 0;
		uint64_t part;

		if (over <= 0)
			continue;
		part = ((uint64_t)over << 20) / (uint64_t)(high > 0 ? high : 1);
		if (part > most) {
			most = part;
			worst = m;
		}
	}
	worst = worst ? memcg_tryget(worst) : NULL;
	rcu_read_unlock();
	/* Ten times above is beyond all bounds, and its square still fits. */
	if (most > 10ULL << 20)
		most = 10ULL << 20;
	*delay_ms = (most * most * 1000 >> 34) * pages / 64;
	if (*delay_ms > MAX_DELAY_MS)
		*delay_ms = MAX_DELAY_MS;
	return worst;
}

/*
 * A sleep of @ns above the high of @m has ended in nothing.  Threads that sleep at the same
 * time may lose a part of each other's: never more than was slept.
 * Return: the group has slept for BOUNDED_ROUNDS and is not a page smaller.
 */
static bool slept_in_vain(struct memcg *m, uint64_t ns)
{
	struct account *a;
	struct reclaim *r = NULL;
	uint64_t slept = 0, now = clock_ns(), last, awake;

	rcu_read_lock();
	a = limited(m);
	if (a)
		r = account_reclaim_make(a);
	if (r) {
		last = atomic_exchange_explicit(&r->high_woke, now, memory_order_relaxed);
		awake = last && now > last + ns ? now - last - ns : 0;
		slept = atomic_load_explicit(&r->high_slept, memory_order_relaxed);
		slept -= min_t(uint64_t, slept, awake / BOUNDED_FORGIVES);
		slept += ns;
		atomic_store_explicit(&r->high_slept, slept, memory_order_relaxed);
	}
	rcu_read_unlock();
	return slept >= BOUNDED_ROUNDS * BOUNDED_SLEEP_NS;
}

/* A page of @m was reclaimed, or its OOM path has decided: the count begins again. */
static void forget_sleeps(struct memcg *m)
{
	struct account *a;
	struct reclaim *r;

	rcu_read_lock();
	a = limited(m);
	r = a ? account_reclaim(a) : NULL;
	if (r)
		atomic_store_explicit(&r->high_slept, 0, memory_order_relaxed);
	rcu_read_unlock();
}

static void give_up(struct memcg *m)
{
	struct account *a;

	rcu_read_lock();
	a = limited(m);
	if (a)
		account_event(a, MEMCG_EV_HIGH_STALLED);
	rcu_read_unlock();
	forget_sleeps(m);
	if (oom_kill(m, "memory.high stalled", 0))
		memcg_wait_victim();
}

static void throttle(struct memcg *m, uint64_t delay_ms)
{
	uint64_t ns = delay_ms * NSEC_PER_MSEC;
	struct psi_stall stall;

	if (policy == POLICY_BOUNDED)
		ns = min_t(uint64_t, ns, BOUNDED_SLEEP_NS);
	psi_stall_begin(&stall);
	thread_sleep_killable(clock_ns() + ns);
	psi_stall_end(&stall);
	if (policy == POLICY_BOUNDED && !memcg_dying() && slept_in_vain(m, ns))
		give_up(m);
}

void memcg_pay_high(void)
{
	uint64_t owed = current->over_high, late = owed + current->high_late, freed, delay;
	unsigned retries = HIGH_RETRIES;
	struct memcg *m, *worst;

	current->over_high = current->high_late = 0;
	atomic_fetch_and_explicit(&current->flags, ~THREAD_F_OVER_HIGH, memory_order_relaxed);
	if (!owed || !current->process)
		return;
	rcu_read_lock();
	m = memcg_tryget(memcg_of_process(current->process));
	rcu_read_unlock();
	if (!m)
		return;
	for (uint64_t want = owed;; want = RECLAIM_BATCH) {
		freed = reclaim_high(m, want);
		worst = worst_level(m, late, &delay);
		if (worst && freed)
			forget_sleeps(worst);
		if (!worst || delay <= MIN_DELAY_MS || memcg_dying()) {
			if (worst)
				current->high_late = (uint32_t)min_t(uint64_t, late, HIGH_NOW);
			break;
		}
		if (!freed && !retries--) {
			throttle(worst, delay);
			break;
		}
		memcg_put(worst);
		cond_resched();
	}
	if (worst)
		memcg_put(worst);
	memcg_put(m);
}

void memcg_pay_high_now(void)
{
	if (current->process && current->over_high > HIGH_NOW && !kill_pending(current))
		memcg_pay_high();
}

/* memory.high: sets, then reclaims until usage is below or nothing more comes. */
void memcg_set_high(struct memcg *m, int64_t pages)
{
	unsigned rounds = HIGH_RETRIES;

	memcg_set_limit(m, PC_HIGH, pages);
	while (memcg_config.enabled && memcg_still_wanted(m, PC_HIGH, pages)) {
		struct account *a;
		int64_t high, over = 0;

		rcu_read_lock();
		a = limited(m);
		if (a)
			over = over_high(a, &high);
		rcu_read_unlock();
		if (over <= 0 || (!memcg_reclaim_group(m, (uint64_t)over) && !rounds--))
			break;
	}
}
