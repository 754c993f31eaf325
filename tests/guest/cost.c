/* SPDX-License-Identifier: MIT */
/* What the primitives that hot paths are made of cost on this machine; only printed. */
#include "arch/arch.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/rcu.h"
#include "kernel/selftest.h"
#include "kernel/smp.h"
#include "kernel/thread.h"

#define COST(what, n, code)                                                                        \
	do {                                                                                       \
		uint64_t t0 = clock_ns();                                                          \
		for (unsigned i = 0; i < (n); i++) {                                               \
			code;                                                                      \
		}                                                                                  \
		pr_info("cost: %-24s %6lu.%lu ns", what,                                           \
			(unsigned long)((clock_ns() - t0) / (n)),                                  \
			(unsigned long)((clock_ns() - t0) * 10 / (n) % 10));                       \
	} while (0)

static _Atomic uint64_t word;
static struct spinlock lock = SPINLOCK_INIT("selftest_cost");
static struct mutex mutex = MUTEX_INIT(mutex, "selftest_cost_mutex");

static void nothing(void *arg)
{
	(void)arg;
}

SELFTEST(cost_primitives, 20000)
{
	COST("empty loop", 100000, atomic_signal_fence(memory_order_seq_cst));
	COST("relaxed store", 100000,
	     atomic_store_explicit(&word, i, memory_order_relaxed));
	COST("fetch_add", 100000, atomic_fetch_add_explicit(&word, 1, memory_order_seq_cst));
	COST("fence", 100000, atomic_thread_fence(memory_order_seq_cst));
	COST("irq_save, irq_restore", 100000, irq_restore(irq_save()));
	COST("irq_disable, irq_enable", 100000, irq_disable(); irq_enable());
	COST("clock_ns", 100000, atomic_store_explicit(&word, clock_ns(), memory_order_relaxed));
	COST("spin_lock, spin_unlock", 100000, spin_lock(&lock); spin_unlock(&lock));
	COST("mutex_lock, mutex_unlock", 100000, mutex_lock(&mutex); mutex_unlock(&mutex));
	COST("schedule, nobody waits", 20000, schedule());
	COST("cpu_relax", 20000, cpu_relax());
	COST("kick itself", 2000, arch_kick(cpu_id()));
	COST("thread_wake, it runs", 20000, thread_wake(current));
	if (nr_cpus > 1)
		COST("smp_call another", 500, smp_call((cpu_id() + 1) % nr_cpus, nothing, NULL));
}
