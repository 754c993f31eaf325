/* SPDX-License-Identifier: MIT */
/* Calls into a host machine in virtual time; see machine.h. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/host/host.h"
#include "kernel/thread.h"
#include "tests/packetdrill/machine.h"

#define WORKERS     4                      /* one call of the script, one that blocks, two in reserve */
#define CLOCK_START (1000 * NSEC_PER_SEC)
#define PATIENCE    (300 * NSEC_PER_SEC)   /* virtual, for a call that blocks the script itself */

struct call {
	long (*fn)(void *);
	void *arg;
	long ret;
	bool done;
	pthread_t caller;
	struct call *next;
};

static struct worker {
	struct thread *thread;
	bool idle;
} workers[WORKERS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;     /* something for the idle CPU */
static pthread_cond_t finished = PTHREAD_COND_INITIALIZER; /* a call, the advance, the start */
static struct call *first, **last = &first;
static bool started;
static struct process *const *caller_process;
static pthread_t script;         /* the thread that moves time; constant once started */
static struct call *script_call; /* its call in the machine, if any; under the lock */
static uint64_t script_patience; /* when that call has blocked for too long; 0: has not blocked yet */
static void (*machine_setup)(void);

/* The advance under way, if any; under the lock. */
static struct {
	bool active, early;
	uint64_t end;
	bool (*until)(void);
	bool held;      /* a call returned to a thread that has not looked at the clock yet */
	pthread_t holder;
} advance;

void machine_die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("libtally_packetdrill: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	_exit(1);
}

static void set_clock(uint64_t t)
{
	uint64_t now = clock_ns();

	if (t > now)
		host_clock_advance(t - now);
}

/* Gives the first waiting call to an idle worker. Return: whether one was woken. */
static bool wake_worker(void)
{
	if (!first)
		return false;
	for (unsigned i = 0; i < WORKERS; i++) {
		if (workers[i].idle) {
			workers[i].idle = false;
			thread_wake(workers[i].thread);
			return true;
		}
	}
	machine_die("more than %d calls block at once", WORKERS - 1);
}

/* Waits for the thread that a call returned to, a second at most. */
static void wait_for_holder(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec++;
	while (advance.held) {
		if (pthread_cond_timedwait(&work, &lock, &ts) == ETIMEDOUT)
			advance.held = false;
	}
}

/*
 * The thread that would move time is itself waiting for a call: time passes by
 * itself, since only a timer can end that call.
 */
static bool wait_for_script_call(uint64_t deadline)
{
	if (!script_patience)
		script_patience = clock_ns() + PATIENCE;
	if (!deadline || deadline > script_patience)
		machine_die("a call without a time range blocks for ever");
	set_clock(deadline);
	return true;
}

/* Called with the lock. Return: false when there is nothing to do but wait. */
static bool step(uint64_t deadline)
{
	if (wake_worker() || (deadline && deadline <= clock_ns()))
		return true;
	if (script_call)
		return wait_for_script_call(deadline);
	if (!advance.active)
		return false;
	if (advance.held)
		wait_for_holder();
	if (first)
		return wake_worker();
	advance.early = advance.until && advance.until();
	if (!advance.early && deadline && deadline <= advance.end) {
		set_clock(deadline);
		return true;
	}
	if (!advance.until)
		set_clock(advance.end);
	advance.active = false;
	pthread_cond_broadcast(&finished);
	return false;
}

static void idle(uint64_t deadline)
{
	pthread_mutex_lock(&lock);
	while (!step(deadline))
		pthread_cond_wait(&work, &lock);
	pthread_mutex_unlock(&lock);
}

static struct call *next_call(struct worker *w)
{
	struct call *c;

	pthread_mutex_lock(&lock);
	c = first;
	if (c) {
		first = c->next;
		if (!first)
			last = &first;
	} else {
		w->idle = true;
	}
	pthread_mutex_unlock(&lock);
	return c;
}

/* One CPU and no preemption: between next_call() and schedule() nobody looks at w->idle. */
static void serve(void *arg)
{
	struct worker *w = arg;

	current->process = *caller_process;
	for (;;) {
		struct call *c = next_call(w);

		if (!c) {
			thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
			schedule();
			thread_finish_sleep();
			continue;
		}
		c->ret = c->fn(c->arg);
		pthread_mutex_lock(&lock);
		c->done = true;
		if (c == script_call)
			script_call = NULL;
		if (advance.active) {
			advance.held = true;
			advance.holder = c->caller;
		}
		pthread_cond_broadcast(&finished);
		pthread_mutex_unlock(&lock);
	}
}

static void machine_main(void)
{
	machine_setup();
	for (unsigned i = 0; i < WORKERS; i++) {
		struct thread *t = thread_create("call", serve, &workers[i], -1);

		if (IS_ERR(t))
			machine_die("no memory for threads");
		workers[i].thread = t;
		thread_start(t);
	}
	pthread_mutex_lock(&lock);
	started = true;
	pthread_cond_broadcast(&finished);
	pthread_mutex_unlock(&lock);
	for (;;) { /* the machine ends with its main thread */
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		schedule();
	}
}

static void *cpu_thread(void *arg)
{
	(void)arg;
	host_run_here(1, machine_main);
}

void machine_start(struct process *const *process, void (*setup)(void))
{
	pthread_t t;

	caller_process = process;
	machine_setup = setup;
	script = pthread_self();
	host_idle_hook = idle;
	host_clock_virtual(CLOCK_START);
	if (pthread_create(&t, NULL, cpu_thread, NULL))
		machine_die("no thread for the CPU");
	pthread_detach(t);
	pthread_mutex_lock(&lock);
	while (!started)
		pthread_cond_wait(&finished, &lock);
	pthread_mutex_unlock(&lock);
}

long machine_call(long (*fn)(void *), void *arg)
{
	struct call c = { .fn = fn, .arg = arg, .caller = pthread_self() };

	pthread_mutex_lock(&lock);
	*last = &c;
	last = &c.next;
	if (pthread_equal(c.caller, script)) {
		script_call = &c;
		script_patience = 0;
	}
	pthread_cond_signal(&work);
	while (!c.done)
		pthread_cond_wait(&finished, &lock);
	pthread_mutex_unlock(&lock);
	return c.ret;
}

bool machine_advance(uint64_t ns, bool (*until)(void))
{
	bool early;

	pthread_mutex_lock(&lock);
	advance.active = true;
	advance.until = until;
	advance.end = clock_ns() + ns;
	advance.held = false;
	pthread_cond_signal(&work);
	while (advance.active)
		pthread_cond_wait(&finished, &lock);
	early = advance.early;
	pthread_mutex_unlock(&lock);
	return early;
}

uint64_t machine_clock(void)
{
	uint64_t t;

	pthread_mutex_lock(&lock);
	if (advance.held && pthread_equal(advance.holder, pthread_self())) {
		advance.held = false;
		pthread_cond_signal(&work);
	}
	host_clock_advance(NSEC_PER_USEC);
	t = clock_ns();
	pthread_mutex_unlock(&lock);
	return t;
}
