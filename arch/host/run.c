/* SPDX-License-Identifier: MIT */
/*
 * Booting and ending the host machine.
 *
 * The child process's main thread is CPU 0; every CPU's pthread stack belongs
 * to its idle thread.  When the function under test returns, the process ends
 * at once, whatever the other CPUs do.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "arch/host/host.h"
#include "arch/host/host_internal.h"
#include "kernel/log.h"
#include "kernel/rcu.h"
#include "kernel/thread.h"
#include "kernel/timer.h"
#include "kernel/work.h"

extern char __start_percpu[] __weak, __stop_percpu[] __weak;
void __gcov_dump(void) __weak;

static void (*main_fn)(void);
static pthread_barrier_t all_up;

void host_exit(int status)
{
	fflush(NULL);
	if (__gcov_dump)
		__gcov_dump();
	_exit(status);
}

void arch_power_off(int code)
{
	host_exit(code);
}
void arch_reboot(void)
{
	host_exit(0);
}
void arch_stop_others(void)
{
}

static void percpu_setup(unsigned n)
{
	size_t size = (size_t)(__stop_percpu - __start_percpu);
	size_t stride = ALIGN_UP(size + CACHE_LINE, 2 * CACHE_LINE);
	char *area = aligned_alloc(2 * CACHE_LINE, stride * n);
	uintptr_t *offsets = calloc(n, sizeof(*offsets));

	host_cpus = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*host_cpus) * n, CACHE_LINE));
	BUG_ON(!area || !offsets || !host_cpus);
	memset(host_cpus, 0, sizeof(*host_cpus) * n);
	for (unsigned i = 0; i < n; i++) {
		/* Same alignment within a line as the template. */
		char *copy = area + stride * i + ((uintptr_t)__start_percpu % CACHE_LINE);

		memcpy(copy, __start_percpu, size);
		offsets[i] = (uintptr_t)copy - (uintptr_t)__start_percpu;
		host_cpus[i].percpu_offset = offsets[i];
		host_cpus[i].id = i;
	}
	percpu_offsets = offsets;
	nr_cpus = n;
}

static void cpu_up(unsigned cpu)
{
	struct thread *boot = current;

	host_cpus[cpu].curr = boot;
	host_cpu_tls = &host_cpus[cpu];
	sched_init_cpu(cpu);
	host_adopt_stack(current);
}

static void *secondary(void *arg)
{
	char name[16];

	cpu_up((unsigned)(uintptr_t)arg);
	snprintf(name, sizeof(name), "cpu%u", cpu_id());
	pthread_setname_np(pthread_self(), name);
	pthread_barrier_wait(&all_up);
	sched_idle_loop();
}

static void main_thread(void *arg)
{
	(void)arg;
	main_fn();
	host_exit(0);
}

void host_run_here(unsigned n, void (*fn)(void))
{
	struct thread *t;

	main_fn = fn;
	percpu_setup(n);
	cpu_up(0);
	host_memory_init();
	pthread_barrier_init(&all_up, NULL, n);
	for (unsigned i = 1; i < n; i++) {
		pthread_t p;

		BUG_ON(pthread_create(&p, NULL, secondary, (void *)(uintptr_t)i));
	}
	pthread_barrier_wait(&all_up);
	irq_enable(); /* what follows may take a contended spinlock */
	for_each_cpu(cpu) {
		timer_init_cpu(cpu);
		work_init_cpu(cpu);
	}
	rcu_init();
	t = thread_create("main", main_thread, NULL, -1);
	BUG_ON(IS_ERR(t));
	thread_start(t);
	irq_disable();
	sched_idle_loop();
}

void host_boot_single(void)
{
	struct thread *boot = current;

	percpu_setup(1);
	host_cpus[0].curr = boot;
	host_cpu_tls = &host_cpus[0];
	host_memory_init();
}

/* In place of the test framework's handlers, which would go on with its next test in the child. */
static void crashed(int sig)
{
	static const char text[] = "host machine: crashed\n";

	signal(sig, SIG_DFL);
	if (write(STDERR_FILENO, text, sizeof(text) - 1) > 0)
		arch_backtrace(40);
	raise(sig);
}

static void crash_handlers(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE };
	static char stack[64 * 1024];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction sa = { .sa_handler = crashed, .sa_flags = SA_ONSTACK | SA_NODEFER };

	sigaltstack(&alt, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &sa, NULL);
	signal(SIGABRT, SIG_DFL);
}

int host_run_for(unsigned n, void (*fn)(void), unsigned seconds)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return 127;
	if (!pid) {
		crash_handlers();
		/* Detects hangs; other work may share the cores.  The default action ends the process. */
		alarm(4 * seconds);
		host_run_here(n, fn);
	}
	while (waitpid(pid, &status, 0) != pid)
		;
	if (WIFSIGNALED(status)) {
		fprintf(stderr, "host machine: ended by signal %d%s\n", WTERMSIG(status),
			WTERMSIG(status) == SIGALRM ? " (time budget)" : "");
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

/* One report ends the run; fibers of threads that ended are freed late. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "halt_on_error=1:exitcode=66:report_thread_leaks=0:history_size=4:second_deadlock_stack=1";
}
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0:abort_on_error=0:exitcode=67:detect_stack_use_after_return=0";
}
const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "print_stacktrace=1:halt_on_error=1";
}
