/* SPDX-License-Identifier: MIT */
/* Code that is rewritten while all CPUs run it; lock statistics that begin and end under load. */
#include "arch/arch.h"
#include "kernel/lock.h"
#include "kernel/lockstat.h"
#include "kernel/selftest.h"
#include "kernel/static_key.h"
#include "kernel/thread.h"

#define FLIPS 10u

static struct static_key key;
static _Atomic bool stop;
static _Atomic unsigned long seen_on, seen_off;

static __noinline bool ask(void)
{
	return static_branch(&key);
}

static void asking(unsigned index)
{
	if (index == 0) {
		for (unsigned i = 0; i < FLIPS; i++) {
			static_key_get(&key);
			if (!ask())
				selftest_fail(__FILE__, __LINE__, "off after it was switched on");
			yield_cpu();
			static_key_put(&key);
			if (ask())
				selftest_fail(__FILE__, __LINE__, "on after it was switched off");
			yield_cpu();
		}
		atomic_store(&stop, true);
		return;
	}
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		for (unsigned i = 0; i < 1000; i++)
			atomic_fetch_add_explicit(ask() ? &seen_on : &seen_off, 1,
						  memory_order_relaxed);
		yield_cpu();
	}
}

SELFTEST(static_key_flip, 20000)
{
	atomic_store(&stop, false);
	SELFTEST_CHECK(!ask());
	selftest_threads(nr_cpus < 8 ? nr_cpus + 1 : 8, asking);
	SELFTEST_CHECK(!ask() && !key.users);
	SELFTEST_CHECK(atomic_load(&seen_off));
	static_key_get(&key);
	static_key_get(&key);
	static_key_put(&key);
	SELFTEST_CHECK(ask()); /* one user is left */
	static_key_put(&key);
	SELFTEST_CHECK(!ask());
}

static struct spinlock spin = SPINLOCK_INIT("selftest_stat_spin");
static struct mutex mutex = MUTEX_INIT(mutex, "selftest_stat_mutex");
static unsigned long guarded; /* under spin */
#define HOLDS 500u

static uint64_t holds(const char *name)
{
	unsigned c = lock_class(name);
	uint64_t n = 0;

	for_each_cpu(cpu)
		n += atomic_load_explicit(&per_cpu(lock_class_stats, cpu).hold[c].n,
					  memory_order_relaxed);
	return n;
}

static void locking(unsigned index)
{
	for (unsigned i = 0; i < HOLDS; i++) {
		spin_lock(&spin);
		guarded++;
		spin_unlock(&spin);
		mutex_lock(&mutex);
		mutex_unlock(&mutex);
		if (i % 50 == index)
			yield_cpu();
	}
}

static void locking_and_flipping(unsigned index)
{
	if (index) {
		locking(index);
		return;
	}
	for (unsigned i = 0; i < FLIPS; i++) {
		static_key_get(&lock_stat_key);
		yield_cpu();
		static_key_put(&lock_stat_key);
		yield_cpu();
	}
}

SELFTEST(lock_stat, 20000)
{
	unsigned n = nr_cpus < 6 ? nr_cpus + 1 : 6;
	uint64_t before;

	guarded = 0;
	selftest_threads(n, locking_and_flipping);
	SELFTEST_CHECK(guarded == (n - 1) * HOLDS);
	SELFTEST_CHECK(!spin_is_locked(&spin));

	/* All of it measured: every hold is counted, once. */
	static_key_get(&lock_stat_key);
	before = holds("selftest_stat_spin");
	selftest_threads(n, locking);
	SELFTEST_CHECK(holds("selftest_stat_spin") - before == n * HOLDS);
	static_key_put(&lock_stat_key);

	/* None of it. */
	before = holds("selftest_stat_spin") + holds("selftest_stat_mutex");
	selftest_threads(n, locking);
	SELFTEST_CHECK(holds("selftest_stat_spin") + holds("selftest_stat_mutex") == before);
}
