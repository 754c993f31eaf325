/* SPDX-License-Identifier: MIT */
/*
 * Read-copy-update: grace periods.
 *
 * Each CPU has a counter: odd while it may be in a reader, even while it idles;
 * switching threads adds two.  A grace period takes a snapshot of every
 * counter and is over when each CPU was seen even, or its counter changed.
 *
 *	reader's CPU			grace period
 *	  reads old pointer		  pointer := new
 *	  counter += 2 (RMW)		  fence
 *	  reads pointer			  snapshot counter
 *
 * The addition is a read-modify-write, a full barrier: if the snapshot does not
 * contain it, the reads after it see the new pointer; if it does, the change
 * that ends the grace period comes from a later one.  Going idle needs release
 * only (readers are over), coming back a full barrier as above.
 *
 * One thread ("krcu") drives all grace periods and runs the callbacks.  It lets
 * calls gather for a while, so that a stream of them takes few grace periods: who
 * waits (synchronize_rcu) and a CPU with many calls end that at once.  It
 * sleeps between looks, longer each time, and never waits for a CPU to answer;
 * a CPU that runs one program without a tick is asked to schedule after a
 * while.  Callbacks wait in per-CPU lists that anybody may empty by exchange.
 */
#include "kernel/rcu.h"

#include "arch/arch.h"
#include "kernel/log.h"
#include "kernel/sched.h"
#include "kernel/string.h"
#include "kernel/timer.h"
#include "kernel/wait.h"
#include "mm/slab.h"

#define FIRST_NAP_NS (200 * NSEC_PER_USEC)
#define LONG_NAP_NS  (10 * NSEC_PER_MSEC)
#define GATHER_NS    (100 * NSEC_PER_MSEC)
#define GATHER_CALLS 64 /* of one CPU: enough for a grace period of their own */
#define ASK_AFTER    3 /* naps before a CPU that stays busy is asked to schedule */

struct rcu_cpu {
	_Atomic uint64_t counter;         /* written by its CPU */
	uint64_t snapshot;                /* krcu only; even: done */
	_Atomic uint32_t nr_calls;        /* about; written by its CPU, set back by krcu */
	_Atomic(struct rcu_head *) calls; /* newest first */
} __cacheline_aligned;
DEFINE_PER_CPU(static struct rcu_cpu, rcu_cpu) __cacheline_aligned = { .counter = 1 };

static _Atomic(struct thread *) krcu;
enum { AWAKE, IDLE, GATHERING }; /* any call wakes it; only an urgent one does */
static _Atomic int krcu_state;
static _Atomic int waiters; /* calls of synchronize_rcu() that are queued; for a moment one less */

void rcu_quiescent(void)
{
	atomic_fetch_add_explicit(&this_cpu(rcu_cpu).counter, 2, memory_order_seq_cst);
}
void rcu_idle_enter(void)
{
	_Atomic uint64_t *c = &this_cpu(rcu_cpu).counter;

	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + 1,
			      memory_order_release);
}
void rcu_idle_exit(void)
{
	atomic_fetch_add_explicit(&this_cpu(rcu_cpu).counter, 1, memory_order_seq_cst);
}

static void push_call(unsigned cpu, struct rcu_head *h)
{
	struct rcu_cpu *rc = &per_cpu(rcu_cpu, cpu);
	struct rcu_head *head = atomic_load_explicit(&rc->calls, memory_order_relaxed);
	uint32_t nr = atomic_load_explicit(&rc->nr_calls, memory_order_relaxed) + 1;
	int state;
	struct thread *t;

	/* A race with krcu, which sets it back, costs a grace period or a wait of GATHER_NS. */
	atomic_store_explicit(&rc->nr_calls, nr, memory_order_relaxed);
	do {
		h->next = head;
	} while (!atomic_compare_exchange_weak_explicit(&rc->calls, &head, h, memory_order_seq_cst,
							memory_order_relaxed));
	if (head && nr != GATHER_CALLS)
		return;
	state = atomic_load_explicit(&krcu_state, memory_order_seq_cst);
	if (state == AWAKE || (state == GATHERING && nr != GATHER_CALLS))
		return;
	t = atomic_load_explicit(&krcu, memory_order_acquire);
	if (t)
		thread_wake(t);
}

void call_rcu(struct rcu_head *h, void (*fn)(struct rcu_head *h))
{
	h->fn = fn;
	push_call(cpu_id(), h);
}

/* A function pointer below one page is an offset: kfree() of the object around the head. */
void kfree_rcu_obj(struct rcu_head *h, void *obj)
{
	uintptr_t offset = (uintptr_t)h - (uintptr_t)obj;

	BUG_ON(offset >= PAGE_SIZE);
	h->fn = (void (*)(struct rcu_head *))offset;
	push_call(cpu_id(), h);
}

static bool all_quiescent(unsigned pass)
{
	bool all = true;

	for_each_cpu(cpu) {
		struct rcu_cpu *rc = &per_cpu(rcu_cpu, cpu);
		uint64_t c;

		if (!(rc->snapshot & 1))
			continue;
		c = atomic_load_explicit(&rc->counter, memory_order_acquire);
		if (c != rc->snapshot) {
			rc->snapshot = 0;
			continue;
		}
		all = false;
		if (pass >= ASK_AFTER)
			sched_request(cpu);
	}
	return all;
}

static void grace_period(void)
{
	uint64_t nap = FIRST_NAP_NS;

	atomic_thread_fence(memory_order_seq_cst);
	for_each_cpu(cpu) {
		struct rcu_cpu *rc = &per_cpu(rcu_cpu, cpu);

		rc->snapshot = atomic_load_explicit(&rc->counter, memory_order_acquire);
	}
	per_cpu(rcu_cpu, cpu_id()).snapshot = 0; /* krcu itself is no reader */
	for (unsigned pass = 1; !all_quiescent(pass); pass++) {
		thread_sleep_until(clock_ns() + nap, false);
		nap = min(nap * 2, LONG_NAP_NS);
	}
	atomic_thread_fence(memory_order_seq_cst);
}

/* Takes what is queued on all CPUs as one list. */
static struct rcu_head *take_calls(void)
{
	struct rcu_head *all = NULL, **tail = &all;

	for_each_cpu(cpu) {
		struct rcu_cpu *rc = &per_cpu(rcu_cpu, cpu);

		if (!atomic_load_explicit(&rc->calls, memory_order_seq_cst))
			continue;
		*tail = atomic_exchange_explicit(&rc->calls, NULL, memory_order_acquire);
		atomic_store_explicit(&rc->nr_calls, 0, memory_order_relaxed);
		while (*tail)
			tail = &(*tail)->next;
	}
	return all;
}

static void run_calls(struct rcu_head *h)
{
	while (h) {
		struct rcu_head *next = h->next;

		if ((uintptr_t)h->fn < PAGE_SIZE)
			kfree((char *)h - (uintptr_t)h->fn);
		else
			h->fn(h);
		h = next;
		cond_resched();
	}
}

static bool any_calls(void)
{
	for_each_cpu(cpu)
		if (atomic_load_explicit(&per_cpu(rcu_cpu, cpu).calls, memory_order_seq_cst))
			return true;
	return false;
}

/* Somebody waits, or some CPU has many calls. */
static bool urgent(void)
{
	if (atomic_load_explicit(&waiters, memory_order_seq_cst) > 0)
		return true;
	for_each_cpu(cpu)
		if (atomic_load_explicit(&per_cpu(rcu_cpu, cpu).nr_calls, memory_order_relaxed) >=
		    GATHER_CALLS)
			return true;
	return false;
}

/* Until there is a call, then until enough has gathered. */
static void wait_for_calls(void)
{
	thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
	atomic_store_explicit(&krcu_state, IDLE, memory_order_seq_cst);
	if (!any_calls())
		schedule();
	thread_finish_sleep();
	thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
	atomic_store_explicit(&krcu_state, GATHERING, memory_order_seq_cst);
	if (!urgent())
		schedule_until(clock_ns() + GATHER_NS);
	thread_finish_sleep();
	atomic_store_explicit(&krcu_state, AWAKE, memory_order_seq_cst);
}

static void krcu_thread(void *arg)
{
	(void)arg;
	for (;;) {
		struct rcu_head *h = take_calls();

		if (h) {
			grace_period();
			run_calls(h);
		}
		if (!urgent())
			wait_for_calls();
	}
}

struct rcu_waiter {
	struct rcu_head head;
	struct thread *thread;
	_Atomic bool done;
};

static void wake_waiter(struct rcu_head *h)
{
	struct rcu_waiter *w = container_of(h, struct rcu_waiter, head);
	struct thread *t = w->thread;

	atomic_fetch_sub_explicit(&waiters, 1, memory_order_relaxed);
	thread_get(t);
	atomic_store_explicit(&w->done, true, memory_order_release);
	thread_wake(t);
	thread_put(t);
}

void synchronize_rcu(void)
{
	struct rcu_waiter w = { .thread = current };
	struct thread *t;

	might_sleep();
	call_rcu(&w.head, wake_waiter);
	/* Counted first, then a look at krcu, who does it the other way round. */
	atomic_fetch_add_explicit(&waiters, 1, memory_order_seq_cst);
	t = atomic_load_explicit(&krcu, memory_order_acquire);
	if (t && atomic_load_explicit(&krcu_state, memory_order_seq_cst) != AWAKE)
		thread_wake(t);
	for (;;) {
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		if (atomic_load_explicit(&w.done, memory_order_acquire))
			break;
		schedule();
	}
	thread_finish_sleep();
}

/*
 * krcu takes the lists of the CPUs one after the other, so a call made before
 * ours on another CPU may be one round later than ours; two rounds cover it.
 */
void rcu_barrier(void)
{
	synchronize_rcu();
	synchronize_rcu();
}

void rcu_init(void)
{
	struct thread *t = thread_create("krcu", krcu_thread, NULL, -1);

	if (IS_ERR(t))
		panic("rcu: no memory for its thread");
	atomic_store_explicit(&krcu, t, memory_order_release); /* keeps the reference */
	thread_start(t);
}
