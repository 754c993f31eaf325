/* SPDX-License-Identifier: MIT */
/*
 * Timers: a pairing heap per CPU, a thread per CPU that runs what is due.
 *
 * The heap's order changes only under the CPU's timer lock; its smallest key
 * gets smaller only by that CPU's own threads, so nobody ever has to reprogram
 * another CPU's timer.  The hardware deadline may be too early (somebody
 * cancelled): then one interrupt finds nothing due and sets the right one.
 *
 * While @active is set the timer thread has been woken for what is due and will
 * set the hardware again itself when it is through.
 */
#include "kernel/timer.h"

#include "arch/arch.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "kernel/wait.h"

/* Legend: [t] under lock, [i] this CPU only, interrupts off, [a] atomic, [I] constant */
struct timer_cpu {
	struct spinlock lock;
	struct timer *root;              /* [t] smallest key */
	_Atomic uint64_t next;           /* [a] root's key, UINT64_MAX: empty; written under lock */
	_Atomic(struct timer *) running; /* [a] written by the timer thread */
	struct wait_queue ran;           /* those that wait for running to change */
	struct thread *thread;           /* [I] ktimer/N */
	uint64_t programmed;             /* [i] hardware deadline, 0: off */
	uint64_t slice;                  /* [i] when the scheduler wants a tick, 0: never */
	uint64_t irq[NR_TIMER_IRQS];     /* [i] when perf wants a call, 0: never */
	uint64_t irq_first;              /* [i] the first of these, 0: none */
	bool active;                     /* [i] the timer thread is at work */
};
DEFINE_PER_CPU(static struct timer_cpu, timer_cpu) __cacheline_aligned = {
	.lock = SPINLOCK_INIT("timer"),
	.next = UINT64_MAX,
};

_Atomic(void (*)(void)) timer_irq_hook[NR_TIMER_IRQS];

/* Joins two heaps; the one with the smaller key on top. */
static struct timer *meld(struct timer *a, struct timer *b)
{
	if (!a || !b)
		return a ? a : b;
	if (b->key < a->key) {
		struct timer *t = a;

		a = b;
		b = t;
	}
	b->next = a->child;
	if (b->next)
		b->next->prev = b;
	b->prev = a;
	a->child = b;
	a->next = NULL;
	a->prev = NULL;
	return a;
}

/* Joins a list of siblings: in pairs from the left, then all from the right. */
static struct timer *meld_siblings(struct timer *t)
{
	struct timer *pairs = NULL, *root = NULL;

	while (t) {
		struct timer *a = t, *b = t->next;

		t = b ? b->next : NULL;
		a->next = NULL;
		a->prev = NULL;
		if (b) {
			b->next = NULL;
			b->prev = NULL;
		}
		a = meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs) {
		struct timer *next = pairs->next;

		pairs->next = NULL;
		root = meld(root, pairs);
		pairs = next;
	}
	return root;
}

static void update_next(struct timer_cpu *tc)
{
	atomic_store_explicit(&tc->next, tc->root ? tc->root->key : UINT64_MAX,
			      memory_order_release);
}

static void heap_insert(struct timer_cpu *tc, struct timer *t, uint64_t key)
{
	t->key = key;
	t->child = t->next = t->prev = NULL;
	tc->root = meld(tc->root, t);
	update_next(tc);
}

static void heap_remove(struct timer_cpu *tc, struct timer *t)
{
	if (t == tc->root) {
		tc->root = meld_siblings(t->child);
	} else {
		if (t->prev->child == t)
			t->prev->child = t->next;
		else
			t->prev->next = t->next;
		if (t->next)
			t->next->prev = t->prev;
		tc->root = meld(tc->root, meld_siblings(t->child));
	}
	t->child = t->next = t->prev = NULL;
	update_next(tc);
}

/* Interrupts off.  Makes sure that the hardware fires in time. */
static void program(struct timer_cpu *tc)
{
	uint64_t want = tc->active ? UINT64_MAX
				   : atomic_load_explicit(&tc->next, memory_order_acquire);

	if (tc->slice && tc->slice < want)
		want = tc->slice;
	if (unlikely(tc->irq_first) && tc->irq_first < want)
		want = tc->irq_first;
	if (want == UINT64_MAX || (tc->programmed && tc->programmed <= want))
		return;
	tc->programmed = want;
	arch_timer_set(want);
}

void timer_set_slice(uint64_t deadline)
{
	struct timer_cpu *tc = &this_cpu(timer_cpu);

	tc->slice = deadline;
	if (deadline)
		program(tc);
}

void timer_irq_set(enum timer_irq which, uint64_t deadline)
{
	struct timer_cpu *tc = &this_cpu(timer_cpu);
	uint64_t first = 0;

	tc->irq[which] = deadline;
	for (unsigned i = 0; i < NR_TIMER_IRQS; i++)
		if (tc->irq[i] && (!first || tc->irq[i] < first))
			first = tc->irq[i];
	tc->irq_first = first;
	if (deadline)
		program(tc);
}

/* Calls those hooks whose time has come. */
static void irq_calls(struct timer_cpu *tc, uint64_t now)
{
	for (unsigned i = 0; i < NR_TIMER_IRQS; i++) {
		void (*hook)(void) =
			atomic_load_explicit(&timer_irq_hook[i], memory_order_acquire);

		if (!tc->irq[i] || now < tc->irq[i])
			continue;
		timer_irq_set((enum timer_irq)i, 0);
		if (hook)
			hook();
	}
}

void timer_interrupt(bool from_user)
{
	struct timer_cpu *tc = &this_cpu(timer_cpu);
	uint64_t now = clock_ns();

	tc->programmed = 0;
	if (!tc->active && now >= atomic_load_explicit(&tc->next, memory_order_acquire) &&
	    tc->thread) {
		tc->active = true;
		thread_wake(tc->thread);
	}
	if (tc->slice && now >= tc->slice) {
		tc->slice = 0;
		sched_tick(from_user);
	}
	if (unlikely(tc->irq_first))
		irq_calls(tc, now);
	program(tc);
}

void timer_init(struct timer *t, timer_fn fn)
{
	t->fn = fn;
	atomic_init(&t->deadline, 0);
	atomic_init(&t->cpu, -1);
	t->key = 0;
	t->child = t->next = t->prev = NULL;
}

/* Moves the deadline of a queued timer later.  Return: false if that is not what is asked. */
static bool set_later(struct timer *t, uint64_t new)
{
	uint64_t old = atomic_load_explicit(&t->deadline, memory_order_relaxed);

	while (old && new >= (old & ~1ULL)) {
		if (atomic_compare_exchange_weak_explicit(&t->deadline, &old, new,
							  memory_order_acq_rel,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

/* Timer lock held.  Return: true if it was queued. */
static bool dequeue(struct timer_cpu *tc, struct timer *t)
{
	uint64_t d = atomic_exchange_explicit(&t->deadline, 0, memory_order_acq_rel);

	if (d)
		heap_remove(tc, t);
	return d && !(d & 1);
}

void timer_set(struct timer *t, uint64_t deadline)
{
	/*
	 * Even, and never before @deadline: who looks at the clock when it fires must
	 * find it due.
	 */
	uint64_t new = (min(max(deadline, (uint64_t)2), UINT64_MAX - 1) + 1) & ~1ULL;
	struct timer_cpu *tc;
	irqstate_t irq;
	int cpu;

	if (set_later(t, new))
		return;
	cpu = atomic_load_explicit(&t->cpu, memory_order_relaxed);
	if (cpu >= 0) {
		tc = &per_cpu(timer_cpu, cpu);
		spin_lock(&tc->lock);
		dequeue(tc, t);
		if (cpu == (int)cpu_id())
			goto insert;
		/*
		 * Where its function runs now it must stay, so that
		 * timer_cancel_sync() looks there.
		 */
		if (atomic_load_explicit(&tc->running, memory_order_acquire) == t)
			goto insert;
		spin_unlock(&tc->lock);
	}
	cpu = (int)cpu_id();
	atomic_store_explicit(&t->cpu, cpu, memory_order_relaxed);
	tc = &this_cpu(timer_cpu);
	spin_lock(&tc->lock);
insert:
	atomic_store_explicit(&t->deadline, new, memory_order_release);
	heap_insert(tc, t, new);
	spin_unlock(&tc->lock);
	if (cpu == (int)cpu_id()) {
		irq = irq_save();
		program(tc);
		irq_restore(irq);
	}
}

bool timer_disarm(struct timer *t)
{
	uint64_t d = atomic_load_explicit(&t->deadline, memory_order_relaxed);

	while (d && !(d & 1)) {
		if (atomic_compare_exchange_weak_explicit(&t->deadline, &d, d | 1,
							  memory_order_acq_rel,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

bool timer_cancel(struct timer *t)
{
	int cpu = atomic_load_explicit(&t->cpu, memory_order_relaxed);
	struct timer_cpu *tc;
	bool armed;

	if (cpu < 0 || !atomic_load_explicit(&t->deadline, memory_order_acquire))
		return false;
	tc = &per_cpu(timer_cpu, cpu);
	spin_lock(&tc->lock);
	armed = dequeue(tc, t);
	spin_unlock(&tc->lock);
	return armed;
}

bool timer_cancel_sync(struct timer *t)
{
	int cpu = atomic_load_explicit(&t->cpu, memory_order_relaxed);
	struct timer_cpu *tc;
	bool armed = false;

	if (cpu < 0)
		return false;
	/* for good: its function arms it again on the same CPU only */
	tc = &per_cpu(timer_cpu, cpu);
	for (;;) {
		bool runs;

		spin_lock(&tc->lock);
		armed |= dequeue(tc, t);
		runs = atomic_load_explicit(&tc->running, memory_order_acquire) == t;
		spin_unlock(&tc->lock);
		if (!runs)
			return armed;
		wait_event(&tc->ran,
			   atomic_load_explicit(&tc->running, memory_order_acquire) != t);
	}
}

/* Takes one due timer from the heap and marks it running; NULL if none is due. */
static struct timer *take_due(struct timer_cpu *tc, uint64_t now)
{
	struct timer *t;

	spin_lock(&tc->lock);
	while ((t = tc->root) && t->key <= now) {
		uint64_t d = atomic_load_explicit(&t->deadline, memory_order_acquire);

		if (!(d & 1) && d > now) { /* moved later since */
			heap_remove(tc, t);
			heap_insert(tc, t, d);
			continue;
		}
		if (!(d & 1))
			atomic_store_explicit(&tc->running, t, memory_order_release);
		if (!atomic_compare_exchange_strong_explicit(&t->deadline, &d, 0,
							     memory_order_acq_rel,
							     memory_order_acquire)) {
			atomic_store_explicit(&tc->running, NULL, memory_order_release);
			continue;
		}
		heap_remove(tc, t);
		if (!(d & 1))
			break;
	}
	if (t && t->key > now)
		t = NULL;
	spin_unlock(&tc->lock);
	return t;
}

static void timer_thread(void *arg)
{
	struct timer_cpu *tc = &this_cpu(timer_cpu); /* pinned */
	struct timer *t;

	(void)arg;
	for (;;) {
		while ((t = take_due(tc, clock_ns()))) {
			t->fn(t);
			/* @t may be gone. */
			atomic_store_explicit(&tc->running, NULL, memory_order_release);
			wake_up(&tc->ran);
			cond_resched();
		}
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		irq_disable();
		tc->active = false;
		if (clock_ns() >= atomic_load_explicit(&tc->next, memory_order_acquire)) {
			tc->active = true;
			thread_finish_sleep();
			irq_enable();
			continue;
		}
		program(tc);
		irq_enable();
		schedule();
		thread_finish_sleep();
	}
}

void timer_init_cpu(unsigned cpu)
{
	struct timer_cpu *tc = &per_cpu(timer_cpu, cpu);
	char name[16];
	struct thread *t;

	wq_init(&tc->ran, "timer_ran");
	snprintf(name, sizeof(name), "ktimer/%u", cpu);
	t = thread_create(name, timer_thread, NULL, (int)cpu);
	if (IS_ERR(t))
		panic("timer: no memory for %s", name);
	tc->thread = t; /* keeps the reference */
	thread_start(t);
}
