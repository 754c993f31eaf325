/* SPDX-License-Identifier: MIT */
/*
 * The machine contract: what mm/, net/, fs/ and kernel/ may ask of a machine.
 *
 * Three machines implement it: x86_64 (the kernel), host (a Linux process, one
 * pthread per CPU) and sim (one host thread, N simulated CPUs).  Each brings a
 * header arch/<machine>/machine.h, chosen by the include path, that defines the
 * inline parts below; the rest are functions in arch/<machine>/.
 *
 * Rules that hold on every machine:
 *  - Kernel code is not preempted by other threads.  A thread gives up its CPU
 *    only in a blocking call or in cond_resched(); user mode is preempted by
 *    the tick.  So between two such points cpu_id() is stable and this CPU's
 *    per-CPU data can only be touched by interrupt handlers beside us.
 *  - Interrupt handlers take no locks, allocate nothing, and only push to
 *    lock-free lists and wake threads (kernel/thread.h, kernel/work.h).
 *  - Shared data is accessed only through C11 atomics with explicit orders.
 *
 * machine.h must define:
 *
 *	unsigned cpu_id(void)              index of this CPU, 0 .. nr_cpus-1
 *	uintptr_t percpu_offset(void)      this CPU's offset for per-CPU symbols
 *	typedef ... irqstate_t
 *	irqstate_t irq_save(void)          disable interrupts, return the old state
 *	void irq_restore(irqstate_t)
 *	void irq_enable(void); void irq_disable(void); bool irqs_enabled(void)
 *	void cpu_relax(void)               in a spin loop; no PAUSE under emulation
 *	struct thread *current_thread(void)
 *	void set_current_thread(struct thread *)   start-up only: the idle thread
 *	void *pfn_to_virt(uint64_t pfn)    direct map
 *	uint64_t virt_to_pfn(const void *)
 *	bool arch_static_branch(const struct static_key *)   see kernel/static_key.h
 *	void arch_static_key_flip(const struct static_key *, bool on)
 *	struct page *pfn_to_page(uint64_t); uint64_t page_to_pfn(const struct page *)
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include "kernel/types.h"

struct thread;
struct page;

#define MAX_CPUS 1024 /* sizes only bitmaps; tables are sized by the CPUs found */

extern unsigned nr_cpus; /* CPUs that came up; constant once init step "smp" has run */

#define for_each_cpu(cpu) for (unsigned cpu = 0; cpu < nr_cpus; cpu++)

/*
 * Per-CPU variables: DEFINE_PER_CPU(type, name) in one .c file puts a template
 * into section "percpu"; each CPU gets a copy of the section, aligned to a
 * cache line.  this_cpu(name) and per_cpu(name, cpu) are lvalues.
 * The template's value before percpu set-up is what each copy starts with.
 */
#define DEFINE_PER_CPU(type, name)  __attribute__((section("percpu"), used)) type name
#define DECLARE_PER_CPU(type, name) extern __attribute__((section("percpu"))) type name
extern uintptr_t *percpu_offsets; /* [cpu]; constant after boot */

#include "machine.h"

#define this_cpu(name)     (*(__typeof__(name) *)((uintptr_t)&(name) + percpu_offset()))
#define per_cpu(name, cpu) (*(__typeof__(name) *)((uintptr_t)&(name) + percpu_offsets[cpu]))

#define current current_thread()

/* Where interrupts are not delivered by themselves (host, sim), a place that delivers them. */
#ifndef irq_poll
#define irq_poll() ((void)0)
#endif

/**
 * clock_ns - monotonic time since boot
 *
 * Context: any.  Return: nanoseconds; never goes backwards on one CPU.
 */
uint64_t clock_ns(void);

/**
 * clock_realtime_offset_ns - what to add to clock_ns() for time since 1970
 */
uint64_t clock_realtime_offset_ns(void);

/**
 * arch_timer_set - ask for one timer interrupt on this CPU
 * @deadline: clock_ns() value; 0 turns the timer off.  A deadline in the past
 *            fires at once.
 *
 * The interrupt calls timer_interrupt() (kernel/timer.h).
 * Context: this CPU, interrupts off.
 */
void arch_timer_set(uint64_t deadline);

/**
 * arch_idle - halt this CPU until an interrupt has been handled
 *
 * Called with interrupts off; enables them and halts without a window in which
 * an interrupt could be lost; returns with interrupts on.
 */
void arch_idle(void);

/**
 * arch_kick - interrupt another CPU so that it leaves arch_idle() and looks at
 *             its inbox; calls sched_ipi() and smp_call_interrupt() there
 *
 * Context: any.  Orders all earlier stores before the interrupt.
 */
void arch_kick(unsigned cpu);

/**
 * arch_thread_init - prepare a new thread's first switch
 * @t: thread with its kernel stack at t->stack .. t->stack + t->stack_size
 * @entry: called as entry(arg) on the new stack with interrupts on, after
 *         sched_finish_switch(); never returns
 */
void arch_thread_init(struct thread *t, void (*entry)(void *), void *arg);

/**
 * arch_switch - switch kernel stacks and registers from @prev to @next
 *
 * Context: interrupts off.  Returns (much later) as @prev, with the thread that
 * ran before as the return value.  Saves and loads FPU state and user segment
 * bases of user threads; sets the kernel stack for entry from user mode.
 */
struct thread *arch_switch(struct thread *prev, struct thread *next);

/* arch_thread_free - give back what arch_thread_init() or user state hold */
void arch_thread_free(struct thread *t);

/* Back-trace of the caller into the log; at most @depth frames. */
void arch_backtrace(unsigned depth);

/* Stop every other CPU for good (panic); bounded wait. */
void arch_stop_others(void);

/* Ends the machine.  @code: 0 orderly power off, else abnormal end. */
void __noreturn arch_power_off(int code);
void __noreturn arch_reboot(void);

/* "tcg", "kvm", "metal", "host", "sim": what records say in "machine". */
const char *arch_machine_name(void);

#endif /* ARCH_ARCH_H */
