/* SPDX-License-Identifier: MIT */
/*
 * The promises of the `tally` preset inside the kernel, on every CPU there is
 * (docs/accounting.md).  Under another preset there is nothing to hold: skipped.
 */
#include "arch/arch.h"
#include "kernel/log.h"
#include "kernel/rcu.h"
#include "kernel/selftest.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "mm/memcg_tree.h"
#include "mm/stock.h"

#define LEAVES 12
#define ROOM   256 /* pages of the limit per CPU */

static struct memcg *top, *leaf[LEAVES];

static bool make_groups(int64_t max_pages)
{
	char name[8];

	if (memcg_control(memcg_root, MEMCG_CTL_MEMORY, 0))
		return false;
	top = memcg_create(memcg_root, "promise");
	if (IS_ERR(top) || memcg_control(top, MEMCG_CTL_MEMORY, 0))
		return false;
	memcg_set_max(top, max_pages);
	for (unsigned i = 0; i < LEAVES; i++) {
		snprintf(name, sizeof(name), "%u", i);
		leaf[i] = memcg_create(top, name);
		if (IS_ERR(leaf[i]))
			return false;
		memcg_user_get(leaf[i]->owner);
	}
	return true;
}

/* Nothing may be left of them. */
static void remove_groups(void)
{
	for (unsigned i = 0; i < LEAVES; i++)
		memcg_user_put(leaf[i]->owner);
	SELFTEST_CHECK(account_usage(memcg_account(top)) == 0);
	for (unsigned i = 0; i < LEAVES; i++) {
		SELFTEST_CHECK(memcg_remove(leaf[i]) == 0);
		memcg_put(leaf[i]);
	}
	SELFTEST_CHECK(memcg_remove(top) == 0);
	memcg_put(top);
}

static void bind(unsigned cpu)
{
	uint64_t mask[MAX_CPUS / 64] = { 0 };

	mask[cpu / 64] = 1ULL << cpu % 64;
	thread_set_affinity(current, mask, ARRAY_SIZE(mask));
}

static uint64_t event(struct memcg *m, enum memcg_event which)
{
	return atomic_load_explicit(&memcg_account(m)->events[which], memory_order_relaxed);
}

static int64_t cached(struct memcg *m)
{
	int64_t bytes;

	rcu_read_lock();
	bytes = (int64_t)stock_cached(memcg_account(m));
	rcu_read_unlock();
	return bytes;
}

static int64_t bound(struct memcg *m)
{
	int64_t bytes;

	rcu_read_lock();
	bytes = (int64_t)stock_bound(memcg_account(m));
	rcu_read_unlock();
	return bytes;
}

static int64_t real(struct memcg *m)
{
	int64_t bytes;

	rcu_read_lock();
	bytes = stock_real_usage(memcg_account(m));
	rcu_read_unlock();
	return bytes;
}

/* ---- 1: no false refusal ---- */

/* One page in use in each leaf, and whatever this CPU then holds back. */
static void take_one_each(unsigned cpu)
{
	bind(cpu);
	for (unsigned i = 0; i < LEAVES; i++) {
		SELFTEST_CHECK(memcg_charge(leaf[i]->owner, 2, MEMCG_SOCK, CHARGE_NOSLEEP) == 0);
		memcg_uncharge(leaf[i]->owner, 1, MEMCG_SOCK);
	}
}

static void give_one_each(unsigned cpu)
{
	bind(cpu);
	for (unsigned i = 0; i < LEAVES; i++)
		memcg_uncharge(leaf[i]->owner, 1, MEMCG_SOCK);
}

/* Every CPU holds stock of every leaf; one asks for all that is not in use, page by page. */
SELFTEST(promise_last_page, 60000)
{
	int64_t max = (int64_t)ROOM * nr_cpus, used = (int64_t)LEAVES * nr_cpus, granted = 0;
	int64_t stock;

	if (strcmp(memcg_preset_name(), "tally"))
		return;
	SELFTEST_CHECK(make_groups(max));
	selftest_threads(nr_cpus, take_one_each);
	stock = cached(top) / (int64_t)PAGE_SIZE;
	pr_info("promise: %lld pages in use, %lld held by %u CPUs, limit %lld", (long long)used,
		(long long)stock, nr_cpus, (long long)max);
	SELFTEST_CHECK(real(top) == used * (int64_t)PAGE_SIZE);
	SELFTEST_CHECK(stock > (max - used) / 4);
	while (granted <= max &&
	       memcg_charge(leaf[7]->owner, 1, MEMCG_SOCK, CHARGE_NOSLEEP) == 0)
		granted++;
	SELFTEST_CHECK(granted == max - used);
	SELFTEST_CHECK(event(top, MEMCG_EV_MAX) == 1 && event(top, MEMCG_EV_OOM) == 0);
	SELFTEST_CHECK(event(top, MEMCG_EV_HIGH) == 0 && event(top, MEMCG_EV_SOCK_THROTTLED) == 0);
	/* At the limit nothing is held back: the error is zero. */
	SELFTEST_CHECK(bound(top) == 0 && cached(top) == 0);
	/* A page that somebody gives back is there for anybody else. */
	memcg_uncharge(leaf[3]->owner, 1, MEMCG_SOCK);
	SELFTEST_CHECK(memcg_charge(leaf[5]->owner, 1, MEMCG_SOCK, CHARGE_NOSLEEP) == 0);
	memcg_uncharge(leaf[5]->owner, 1, MEMCG_SOCK);
	SELFTEST_CHECK(memcg_charge(leaf[3]->owner, 1, MEMCG_SOCK, CHARGE_NOSLEEP) == 0);
	SELFTEST_CHECK(atomic_load(&memcg_exact_unsure) == 0);
	while (granted--)
		memcg_uncharge(leaf[7]->owner, 1, MEMCG_SOCK);
	selftest_threads(nr_cpus, give_one_each);
	remove_groups();
}

/* ---- 2: bounded error ---- */

#define MOMENTS 6
#define MOST_WORKERS 12u /* so many CPUs show it; 72 take turns for half a minute */
static _Atomic unsigned moment, parked; /* counts stops; workers that have seen it */
static _Atomic int64_t in_use;          /* bytes, right while all are parked */
static _Atomic unsigned workers_left;

static unsigned workers(void)
{
	return min(nr_cpus, MOST_WORKERS);
}

static void wait_moment(unsigned *seen)
{
	if (atomic_load(&moment) == *seen)
		return;
	atomic_fetch_add(&parked, 1);
	while (atomic_load(&moment) == *seen + 1)
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	*seen += 2;
	atomic_fetch_sub(&parked, 1);
}

/* Charges and gives back bytes of all leaves at random until the last moment has passed. */
static void random_load(unsigned cpu)
{
	uint64_t rnd = cpu * 2654435761u + 1;
	uint32_t have[8] = { 0 };
	unsigned of[8] = { 0 }, seen = 0;

	bind(cpu * nr_cpus / workers());
	while (seen < 2 * MOMENTS) {
		unsigned k;

		rnd = rnd * 6364136223846793005ULL + 1442695040888963407ULL;
		k = rnd >> 61;
		if (have[k]) {
			memcg_uncharge_bytes(leaf[of[k]]->owner, have[k], MEMCG_SOCK);
			atomic_fetch_sub(&in_use, have[k]);
			have[k] = 0;
		} else {
			uint32_t bytes = 1 + (uint32_t)(rnd >> 40) % 70000;

			of[k] = (unsigned)(rnd >> 20) % LEAVES;
			if (memcg_charge_bytes(leaf[of[k]]->owner, bytes, MEMCG_SOCK,
					       CHARGE_NOSLEEP) == 0) {
				have[k] = bytes;
				atomic_fetch_add(&in_use, bytes);
			}
		}
		wait_moment(&seen);
		if ((rnd >> 8) % 16 == 0)
			yield_cpu();
	}
	for (unsigned k = 0; k < 8; k++) {
		memcg_uncharge_bytes(leaf[of[k]]->owner, have[k], MEMCG_SOCK);
		atomic_fetch_sub(&in_use, have[k]);
	}
	atomic_fetch_sub(&workers_left, 1);
}

/* Thread 0 stops the others at some moment and compares what is shown with what is in use. */
static void look_at_moments(unsigned index)
{
	if (index) {
		random_load(index - 1);
		return;
	}
	for (unsigned i = 0; i < MOMENTS; i++) {
		int64_t shown, counted, most, used;

		thread_sleep_until(clock_ns() + (1 + i % 5) * NSEC_PER_MSEC, false);
		atomic_fetch_add(&moment, 1);
		while (atomic_load(&parked) < workers())
			thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
		used = atomic_load(&in_use);
		shown = real(top);
		counted = account_usage(memcg_account(top)) * (int64_t)PAGE_SIZE;
		most = bound(top);
		/* Parts of pages: one page an owner, which no stock holds. */
		if (shown < used || shown - used > LEAVES * (int64_t)PAGE_SIZE)
			selftest_fail(__FILE__, __LINE__, "memory.current is not what is in use");
		if (counted - used > most + LEAVES * (int64_t)PAGE_SIZE)
			selftest_fail(__FILE__, __LINE__, "more is held back than memory.error");
		pr_info("promise: moment %u: %lld KiB in use, shown %lld more, held %lld, error %lld", i,
			(long long)used / 1024, (long long)(shown - used) / 1024,
			(long long)(counted - shown) / 1024, (long long)most / 1024);
		atomic_fetch_add(&moment, 1);
		while (atomic_load(&parked))
			thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	}
}

SELFTEST(promise_bound, 60000)
{
	if (strcmp(memcg_preset_name(), "tally"))
		return;
	SELFTEST_CHECK(make_groups((int64_t)ROOM * nr_cpus));
	atomic_store(&moment, 0);
	atomic_store(&workers_left, workers());
	selftest_threads(workers() + 1, look_at_moments);
	SELFTEST_CHECK(atomic_load(&workers_left) == 0 && atomic_load(&in_use) == 0);
	remove_groups();
}

/* ---- 3: receive limit ---- */

#define SOCKETS 16
#define FORCED  (16384 + 1024) /* what a connection with nothing queued may take (net/tcp_rcv.c) */

/*
 * Sockets of a group whose memory others have used up: packets are refused, what is forced
 * is a stated amount for each, and memory that is freed is there for them at once.
 */
SELFTEST(promise_receive_limit, 20000)
{
	static struct sock_mem sk[SOCKETS];
	int64_t max = (int64_t)ROOM * nr_cpus, most;
	unsigned forced = 0;

	if (strcmp(memcg_preset_name(), "tally"))
		return;
	SELFTEST_CHECK(make_groups(max));
	for (unsigned i = 0; i < SOCKETS; i++)
		sock_mem_init(&sk[i], leaf[i % LEAVES]->owner);
	SELFTEST_CHECK(memcg_charge(leaf[0]->owner, (unsigned)max, MEMCG_FILE, CHARGE_NOSLEEP) == 0);
	for (unsigned i = 0; i < SOCKETS; i++) {
		SELFTEST_CHECK(sock_mem_charge(&sk[i], 1500, CHARGE_NOSLEEP) == -ENOMEM);
		sock_mem_count_dropped(&sk[i]);
		SELFTEST_CHECK(sock_mem_charge(&sk[i], FORCED, CHARGE_NOFAIL | CHARGE_NOSLEEP) == 0);
		SELFTEST_CHECK(sock_mem_charge(&sk[i], PAGE_SIZE, CHARGE_NOSLEEP) == -ENOMEM);
		forced += FORCED / PAGE_SIZE + 1;
	}
	most = account_usage(memcg_account(top));
	SELFTEST_CHECK(most > max && most <= max + forced);
	SELFTEST_CHECK(event(top, MEMCG_EV_SOCK_DROPPED) == SOCKETS);
	/* Memory is freed: no packet is refused any more. */
	memcg_uncharge(leaf[0]->owner, (unsigned)max, MEMCG_FILE);
	for (unsigned i = 0; i < SOCKETS; i++) {
		SELFTEST_CHECK(sock_mem_charge(&sk[i], 1500, CHARGE_NOSLEEP) == 0);
		sock_mem_uncharge(&sk[i], 1500 + FORCED);
		sock_mem_destroy(&sk[i]);
	}
	remove_groups();
}

/* ---- 4: independence ---- */

static struct memcg *other;

static void hold_other(unsigned cpu)
{
	bind(cpu);
	SELFTEST_CHECK(memcg_charge(other->owner, 1, MEMCG_SOCK, CHARGE_NOSLEEP) == 0);
	memcg_uncharge(other->owner, 1, MEMCG_SOCK);
}

#define THRASHES 60
static void thrash(unsigned cpu)
{
	bind(cpu);
	for (unsigned i = 0; i < THRASHES; i++) {
		struct owner *o = leaf[(cpu + i) % LEAVES]->owner;

		if (memcg_charge(o, 40, MEMCG_SOCK, CHARGE_NOSLEEP) == 0) {
			yield_cpu();
			memcg_uncharge(o, 40, MEMCG_SOCK);
		}
	}
}

/* All CPUs drive one group into its limit; what they hold for another stays where it is. */
SELFTEST(promise_independence, 60000)
{
	int64_t before, bound_before;

	if (strcmp(memcg_preset_name(), "tally"))
		return;
	SELFTEST_CHECK(make_groups(100));
	other = memcg_create(memcg_root, "promise_other");
	SELFTEST_CHECK(!IS_ERR(other));
	memcg_user_get(other->owner);
	selftest_threads(nr_cpus, hold_other);
	before = cached(other);
	bound_before = bound(other);
	SELFTEST_CHECK(before >= (int64_t)(nr_cpus * PAGE_SIZE));
	SELFTEST_CHECK(memcg_charge(leaf[0]->owner, 70, MEMCG_SOCK, CHARGE_NOSLEEP) == 0);
	selftest_threads(nr_cpus, thrash);
	SELFTEST_CHECK(event(top, MEMCG_EV_MAX) >= (uint64_t)THRASHES * nr_cpus);
	SELFTEST_CHECK(cached(other) == before && bound(other) == bound_before);
	memcg_uncharge(leaf[0]->owner, 70, MEMCG_SOCK);
	remove_groups();
	memcg_user_put(other->owner);
	SELFTEST_CHECK(account_usage(memcg_account(other)) == 0);
	SELFTEST_CHECK(memcg_remove(other) == 0);
	memcg_put(other);
}
