/* SPDX-License-Identifier: MIT */
/*
 * What the code under test expects of the kernel, as small as it can be: locks,
 * RCU, log, and stand-ins for processes.  Compiled without instrumentation where
 * the cost of the thing itself is not the subject.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/sim/sim.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/rcu.h"
#include "kernel/thread.h"
#include "mm/memcg_tree.h"
#include "tests/host/reclaim_stub.h"

/* The fast paths are inline in kernel/lock.h and so part of the simulation; a waiter lets others run. */
void spin_lock_slow(struct spinlock *l)
{
	while (!spin_trylock(l))
		cpu_relax();
}

void spin_unlock_slow(struct spinlock *l)
{
	atomic_store(&l->word, 0);
}

/* Mutexes are taken by set-up code, or held across scheduling points by one CPU at a time. */
void mutex_lock(struct mutex *m)
{
	uintptr_t free = 0;

	while (!atomic_compare_exchange_strong(&m->owner, &free, 1)) {
		free = 0;
		cpu_relax();
	}
}

void mutex_unlock(struct mutex *m)
{
	atomic_store(&m->owner, 0);
}

/* Memory is never used again here (arch/sim/memory.c), so a callback may run whenever it likes. */
static struct rcu_head *waiting;

void call_rcu(struct rcu_head *h, void (*fn)(struct rcu_head *h))
{
	h->fn = fn;
	h->next = waiting;
	waiting = h;
}

void rcu_barrier(void)
{
	while (waiting) {
		struct rcu_head *h = waiting;

		waiting = h->next;
		h->fn(h);
	}
}

uint64_t clock_ns(void)
{
	return sim_now();
}

void log_printf(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (level > LOG_WARN && !getenv("SIM_LOG"))
		return;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

int sim_warnings;

void warn_at(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	sim_warnings++;
	fprintf(stderr, "warning: %s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

void panic(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "panic: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

/* No processes: who is refused is refused. */
bool oom_kill(struct memcg *mg, const char *why, uint64_t pages)
{
	return false;
}
bool memcg_dying(void)
{
	return false;
}
bool memcg_wait_victim(void)
{
	return true;
}
