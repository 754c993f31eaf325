/* SPDX-License-Identifier: MIT */
/*
 * Threads: creation, start, end, affinity.
 *
 * References: the creator holds one, the running thread another from
 * thread_start() until it has ended and been reaped.  The structure is freed a
 * grace period after the last one went, so a pointer found under RCU may be
 * looked at (and kept only by a reference count that was not zero).
 */
#include "kernel/thread.h"

#include "kernel/errno.h"
#include "kernel/lock_debug.h"
#include "kernel/log.h"
#include "kernel/rcu.h"
#include "kernel/sched.h"
#include "kernel/string.h"
#include "kernel/work.h"
#include "mm/slab.h"
#include "mm/vmalloc.h"

struct thread *thread_alloc_for(const char *name, struct owner *owner)
{
	struct thread *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return ERR_PTR(-ENOMEM);
	t->stack = kstack_alloc(owner);
	if (!t->stack) {
		kfree(t);
		return ERR_PTR(-ENOMEM);
	}
#ifdef CONFIG_DEBUG
	t->held = kzalloc(lock_debug_thread_size(), GFP_KERNEL);
	if (!t->held) {
		kstack_free(t->stack);
		kfree(t);
		return ERR_PTR(-ENOMEM);
	}
#endif
	t->stack_size = KSTACK_SIZE;
	atomic_init(&t->state, THREAD_UNINTERRUPTIBLE | THREAD_PARKED);
	atomic_init(&t->cpu, cpu_id());
	atomic_init(&t->refs, 1);
	list_init(&t->run_link);
	for (unsigned w = 0; w < ARRAY_SIZE(t->affinity); w++)
		t->affinity[w] = UINT64_MAX;
	str_copy(t->name, name, sizeof(t->name));
	return t;
}

struct thread *thread_alloc(const char *name)
{
	return thread_alloc_for(name, NULL);
}

/* First on a kernel thread's stack. */
static void kernel_thread_entry(void *arg)
{
	struct thread *t = arg;

	t->entry(t->arg);
	thread_exit();
}

struct thread *thread_create(const char *name, void (*entry)(void *), void *arg, int cpu)
{
	static _Atomic pid_t last_id;
	struct thread *t = thread_alloc(name);

	if (IS_ERR(t))
		return t;
	t->entry = entry;
	t->arg = arg;
	t->tid = atomic_fetch_sub_explicit(&last_id, 1, memory_order_relaxed) - 1;
	atomic_init(&t->flags, THREAD_F_KTHREAD | (cpu >= 0 ? THREAD_F_PINNED : 0));
	if (cpu >= 0) {
		atomic_init(&t->cpu, (unsigned)cpu);
		memset(t->affinity, 0, sizeof(t->affinity));
		t->affinity[cpu / 64] = 1ULL << (cpu % 64);
	}
	arch_thread_init(t, kernel_thread_entry, t);
	return t;
}

void thread_start(struct thread *t)
{
	thread_get(t);
	thread_wake(t);
}

void thread_get(struct thread *t)
{
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
}

static void free_thread(struct rcu_head *h)
{
	kfree(container_of(h, struct thread, rcu));
}

/* Stack and machine state, for a thread that does not run (any more). */
static void free_stack(struct thread *t)
{
	if (!t->stack)
		return;
	arch_thread_free(t);
	kstack_free(t->stack);
	t->stack = NULL;
#ifdef CONFIG_DEBUG
	kfree(t->held);
	t->held = NULL;
#endif
}

void thread_put(struct thread *t)
{
	if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
		return;
	free_stack(t); /* if it was never started */
	call_rcu(&t->rcu, free_thread);
}

/* Dead threads of this CPU on their way to its worker. */
struct reaper {
	struct work work;
	_Atomic(struct thread *) dead;
};
DEFINE_PER_CPU(static struct reaper, reaper);

static void reap(struct work *w)
{
	struct reaper *r = container_of(w, struct reaper, work);
	struct thread *t = atomic_exchange_explicit(&r->dead, NULL, memory_order_acquire);

	while (t) {
		struct thread *next = t->reap_next;

		free_stack(t);
		thread_put(t);
		t = next;
	}
}

void thread_reap(struct thread *t)
{
	struct reaper *r = &this_cpu(reaper);

	t->reap_next = atomic_load_explicit(&r->dead, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&r->dead, &t->reap_next, t,
						      memory_order_release, memory_order_relaxed))
		;
	r->work.fn = reap;
	work_schedule(&r->work);
}

void thread_exit(void)
{
	ASSERT(current->spin_depth == 0);
	atomic_store_explicit(&current->state, THREAD_DEAD, memory_order_release);
	schedule();
	panic("dead thread %s runs", current->name);
}

int thread_set_affinity(struct thread *t, const uint64_t *mask, size_t words)
{
	uint64_t m[MAX_CPUS / 64] = { 0 }, any = 0;
	unsigned cpu;

	for (unsigned w = 0; w < ARRAY_SIZE(m) && w < words; w++)
		m[w] = mask[w];
	for_each_cpu(c)
		any |= m[c / 64] & (1ULL << (c % 64));
	if (!any || (atomic_load_explicit(&t->flags, memory_order_relaxed) & THREAD_F_PINNED))
		return -EINVAL;
	for (unsigned w = 0; w < ARRAY_SIZE(m); w++)
		__atomic_store_n(&t->affinity[w], m[w], __ATOMIC_RELAXED);
	cpu = atomic_load_explicit(&t->cpu, memory_order_seq_cst);
	if (m[cpu / 64] >> (cpu % 64) & 1)
		return 0;
	/* Where it runs or waits now it must not stay; its CPU sees to that when it schedules. */
	if (t == current)
		schedule();
	else if (thread_state_of(t) == THREAD_RUNNABLE)
		sched_request(cpu);
	return 0;
}
