/* SPDX-License-Identifier: MIT */
/* Locks under contention: exclusion, hand-over, nobody left behind. */
#include "arch/arch.h"
#include "kernel/errno.h"
#include "kernel/lock.h"
#include "kernel/selftest.h"
#include "kernel/string.h"
#include "kernel/thread.h"

#define LOOPS 2000u

/* Plain data: only the lock keeps the increments from getting lost. */
static struct {
	unsigned long a;
	unsigned long pad[31];
	unsigned long b;
} data;
static struct spinlock spin = SPINLOCK_INIT("selftest_spin");

static void spin_crew(unsigned index)
{
	for (unsigned i = 0; i < LOOPS; i++) {
		spin_lock(&spin);
		data.a++;
		data.b++;
		spin_unlock(&spin);
		if (i % 64 == index % 64)
			yield_cpu();
	}
}

SELFTEST(lock_spin, 10000)
{
	unsigned n = min(nr_cpus * 2, 96u);

	memset(&data, 0, sizeof(data));
	selftest_threads(n, spin_crew);
	SELFTEST_CHECK(data.a == (unsigned long)n * LOOPS && data.b == data.a);
	SELFTEST_CHECK(!spin_is_locked(&spin));
	SELFTEST_CHECK(spin_trylock(&spin));
	SELFTEST_CHECK(!spin_trylock(&spin));
	spin_unlock(&spin);
}

static struct mutex mutex = MUTEX_INIT(mutex, "selftest_mutex");

static void mutex_crew(unsigned index)
{
	for (unsigned i = 0; i < LOOPS / 8; i++) {
		if (i % 3)
			mutex_lock(&mutex);
		else if (mutex_lock_interruptible(&mutex))
			selftest_fail(__FILE__, __LINE__, "interrupted without a signal");
		data.a++;
		if (i % 8 == index % 8)
			yield_cpu(); /* sleeping with it held is what it is for */
		data.b++;
		mutex_unlock(&mutex);
		cond_resched();
	}
}

SELFTEST(lock_mutex, 20000)
{
	unsigned n = min(nr_cpus * 2, 48u);

	memset(&data, 0, sizeof(data));
	selftest_threads(n, mutex_crew);
	SELFTEST_CHECK(data.a == (unsigned long)n * (LOOPS / 8) && data.b == data.a);
	SELFTEST_CHECK(mutex_trylock(&mutex));
	SELFTEST_CHECK(!mutex_trylock(&mutex));
	mutex_unlock(&mutex);
}

static _Atomic int interrupted, waiting;

static void interrupted_crew(unsigned index)
{
	int err;

	if (index & 1)
		atomic_fetch_or(&current->flags, THREAD_F_SIGPENDING);
	atomic_fetch_add(&waiting, 1);
	err = mutex_lock_interruptible(&mutex);
	if (!err)
		mutex_unlock(&mutex);
	else if (err == -EINTR && (index & 1))
		atomic_fetch_add(&interrupted, 1);
	else
		selftest_fail(__FILE__, __LINE__, "unexpected error");
}

static void holder_crew(unsigned index)
{
	if (index) {
		interrupted_crew(index);
		return;
	}
	mutex_lock(&mutex);
	atomic_fetch_add(&waiting, 1);
	while (atomic_load(&waiting) < 9)
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	thread_sleep_until(clock_ns() + 20 * NSEC_PER_MSEC, false);
	mutex_unlock(&mutex);
}

SELFTEST(lock_mutex_interrupted, 5000)
{
	atomic_store(&interrupted, 0);
	atomic_store(&waiting, 0);
	selftest_threads(9, holder_crew);
	SELFTEST_CHECK(mutex_trylock(&mutex));
	mutex_unlock(&mutex);
}

static struct rwsem sem;
static _Atomic int readers_in, writers_in, most_readers;

static void rwsem_crew(unsigned index)
{
	for (unsigned i = 0; i < LOOPS / 8; i++) {
		if (i % 8 == index % 8) {
			down_write(&sem);
			if (atomic_fetch_add(&writers_in, 1) || atomic_load(&readers_in))
				selftest_fail(__FILE__, __LINE__, "writer is not alone");
			data.a++;
			yield_cpu();
			data.b++;
			atomic_fetch_sub(&writers_in, 1);
			up_write(&sem);
		} else {
			int n;

			down_read(&sem);
			n = atomic_fetch_add(&readers_in, 1) + 1;
			if (n > atomic_load(&most_readers))
				atomic_store(&most_readers, n);
			if (atomic_load(&writers_in) || data.a != data.b)
				selftest_fail(__FILE__, __LINE__, "reader beside a writer");
			if (i % 8 == 1)
				yield_cpu();
			atomic_fetch_sub(&readers_in, 1);
			up_read(&sem);
		}
	}
}

SELFTEST(lock_rwsem, 20000)
{
	unsigned n = min(nr_cpus * 2, 32u);

	memset(&data, 0, sizeof(data));
	atomic_store(&most_readers, 0);
	rwsem_init(&sem, "selftest_rwsem");
	selftest_threads(n, rwsem_crew);
	SELFTEST_CHECK(data.a == (unsigned long)n * (LOOPS / 64 + (LOOPS / 8 % 8 > 0)) ||
		       data.a >= (unsigned long)n * (LOOPS / 64));
	SELFTEST_CHECK(sem.readers == 0 && list_empty(&sem.waiters));
}
