/* SPDX-License-Identifier: MIT */
/*
 * Work queues: a lock-free list and a thread ("kworker/N") per CPU.
 *
 * Anybody pushes with a compare and swap; the worker takes the whole list with
 * one exchange and runs it in the order of arrival.
 */
#include "kernel/work.h"

#include "arch/arch.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/wait.h"

struct work_cpu {
	_Atomic(struct work *) list; /* newest first */
	_Atomic(struct thread *) worker;
	struct work flush; /* under flush_lock */
};
DEFINE_PER_CPU(static struct work_cpu, work_cpu) __cacheline_aligned;

static struct mutex flush_lock = MUTEX_INIT(flush_lock, "work_flush");
static struct wait_queue flush_wait = { .lock = SPINLOCK_INIT("work_flush_wait"),
					.entries = LIST_HEAD_INIT(flush_wait.entries) };
static _Atomic unsigned flush_left;

bool work_schedule_on(unsigned cpu, struct work *w)
{
	struct work_cpu *wc = &per_cpu(work_cpu, cpu);
	struct thread *worker;
	struct work *head;

	if (atomic_exchange_explicit(&w->pending, true, memory_order_acq_rel))
		return false;
	head = atomic_load_explicit(&wc->list, memory_order_relaxed);
	do {
		w->next = head;
	} while (!atomic_compare_exchange_weak_explicit(&wc->list, &head, w, memory_order_seq_cst,
							memory_order_relaxed));
	worker = atomic_load_explicit(&wc->worker, memory_order_acquire);
	if (worker)
		thread_wake(worker);
	return true;
}

bool work_schedule(struct work *w)
{
	return work_schedule_on(cpu_id(), w);
}

static struct work *take_all(struct work_cpu *wc)
{
	struct work *w = atomic_exchange_explicit(&wc->list, NULL, memory_order_acquire);
	struct work *ordered = NULL;

	while (w) {
		struct work *next = w->next;

		w->next = ordered;
		ordered = w;
		w = next;
	}
	return ordered;
}

static void worker(void *arg)
{
	struct work_cpu *wc = &this_cpu(work_cpu); /* pinned */

	(void)arg;
	for (;;) {
		struct work *w = take_all(wc);

		while (w) {
			struct work *next = w->next;

			/* From here on it may be scheduled again, or freed by its function. */
			atomic_store_explicit(&w->pending, false, memory_order_release);
			w->fn(w);
			w = next;
			cond_resched();
		}
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		if (!atomic_load_explicit(&wc->list, memory_order_seq_cst))
			schedule();
		thread_finish_sleep();
	}
}

void work_init_cpu(unsigned cpu)
{
	struct work_cpu *wc = &per_cpu(work_cpu, cpu);
	char name[16];
	struct thread *t;

	snprintf(name, sizeof(name), "kworker/%u", cpu);
	t = thread_create(name, worker, NULL, (int)cpu);
	if (IS_ERR(t))
		panic("work: no memory for %s", name);
	atomic_store_explicit(&wc->worker, t, memory_order_release); /* keeps the reference */
	thread_start(t);
}

static void flush_fn(struct work *w)
{
	(void)w;
	if (atomic_fetch_sub_explicit(&flush_left, 1, memory_order_acq_rel) == 1)
		wake_up(&flush_wait);
}

void work_flush_all(void)
{
	mutex_lock(&flush_lock);
	atomic_store_explicit(&flush_left, nr_cpus, memory_order_relaxed);
	for_each_cpu(cpu) {
		struct work *w = &per_cpu(work_cpu, cpu).flush;

		work_init(w, flush_fn);
		work_schedule_on(cpu, w);
	}
	wait_event(&flush_wait, !atomic_load_explicit(&flush_left, memory_order_acquire));
	mutex_unlock(&flush_lock);
}
