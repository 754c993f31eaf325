/* SPDX-License-Identifier: MIT */
/* RCU: no reader sees a freed object, call-backs all run, grace periods end. */
#include "arch/arch.h"
#include "kernel/log.h"
#include "kernel/rcu.h"
#include "kernel/selftest.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "mm/slab.h"

struct thing {
	struct rcu_head rcu;
	_Atomic unsigned alive; /* cleared before the memory goes */
	_Atomic unsigned value;
};

static _Atomic(struct thing *) shared;
static _Atomic bool writers_done;
static _Atomic unsigned freed, made;
#define ALIVE 0x600df00du

static void free_thing(struct rcu_head *h)
{
	struct thing *t = container_of(h, struct thing, rcu);

	atomic_store_explicit(&t->alive, 0, memory_order_relaxed);
	atomic_fetch_add(&freed, 1);
	kfree(t);
}

static struct thing *make_thing(unsigned value)
{
	struct thing *t = kzalloc(sizeof(*t), 0);

	if (!t)
		return NULL;
	atomic_store_explicit(&t->alive, ALIVE, memory_order_relaxed);
	atomic_store_explicit(&t->value, value, memory_order_relaxed);
	atomic_fetch_add(&made, 1);
	return t;
}

static void rcu_crew(unsigned index)
{
	if (index == 0) {
		for (unsigned i = 0; i < 300; i++) {
			struct thing *t = make_thing(i), *old;

			SELFTEST_CHECK(t);
			old = atomic_exchange_explicit(&shared, t, memory_order_acq_rel);
			if (i % 50 == 49) {
				synchronize_rcu();
				free_thing(&old->rcu);
			} else {
				call_rcu(&old->rcu, free_thing);
			}
			if (i % 4 == 0)
				thread_sleep_until(clock_ns() + 20000, false);
		}
		atomic_store(&writers_done, true);
		return;
	}
	while (!atomic_load(&writers_done)) {
		for (unsigned k = 0; k < 100; k++) {
			struct thing *t;
			unsigned v, again;

			rcu_read_lock();
			t = rcu_dereference(shared);
			v = atomic_load_explicit(&t->value, memory_order_relaxed);
			for (unsigned spin = 0; spin < 50; spin++)
				cpu_relax();
			again = atomic_load_explicit(&t->value, memory_order_relaxed);
			if (atomic_load_explicit(&t->alive, memory_order_relaxed) != ALIVE || v != again)
				selftest_fail(__FILE__, __LINE__, "reader saw a freed object");
			rcu_read_unlock();
		}
		if (index % 2)
			yield_cpu();
		else
			thread_sleep_until(clock_ns() + 10000 * index, false);
	}
}

SELFTEST(rcu_readers, 20000)
{
	struct thing *last;

	atomic_store(&made, 0);
	atomic_store(&freed, 0);
	atomic_store(&writers_done, false);
	atomic_store(&shared, make_thing(0));
	SELFTEST_CHECK(atomic_load(&shared));
	selftest_threads(min(nr_cpus + 1, 12u), rcu_crew);
	rcu_barrier();
	SELFTEST_CHECK(atomic_load(&freed) == atomic_load(&made) - 1);
	last = atomic_exchange(&shared, NULL);
	call_rcu(&last->rcu, free_thing);
	rcu_barrier();
	SELFTEST_CHECK(atomic_load(&freed) == atomic_load(&made));
}

/* With every other CPU idle a grace period needs nobody's help. */
SELFTEST(rcu_idle, 5000)
{
	uint64_t start = clock_ns();

	for (unsigned i = 0; i < 10; i++)
		synchronize_rcu();
	pr_info("rcu: grace period %lu us with idle CPUs",
		(unsigned long)((clock_ns() - start) / 10 / NSEC_PER_USEC));
}
