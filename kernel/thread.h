/* SPDX-License-Identifier: MIT */
/*
 * Threads and the scheduler.
 *
 * What:      every flow of control is a struct thread; user threads have a
 *            process.  Each CPU has its own run queue that only it touches
 *            (interrupts off).  Waking a thread is a lock-free push into the
 *            inbox of the CPU chosen for it, plus a kick if that CPU halts.
 * Blocking:  set the state, look at the condition again, call schedule():
 *
 *		thread_prepare_sleep(THREAD_INTERRUPTIBLE);
 *		if (!condition)
 *			schedule();
 *		thread_finish_sleep();
 *
 *            A wake-up between the first and the last line is never lost.
 *            Most code uses kernel/wait.h instead.
 * Preemption: user mode by the tick; kernel code only in schedule() and
 *            cond_resched().
 */
#ifndef KERNEL_THREAD_H
#define KERNEL_THREAD_H

#include "arch/arch.h"
#include "kernel/list.h"

struct process;
struct vm_space;
struct owner;
struct perf_attach;

/* A lock that a thread holds while holds are measured (kernel/lockstat.h). */
struct lock_watched {
	const void *lock; /* NULL: unused */
	uint64_t since;   /* clock_ns() */
	unsigned class, epoch;
};
#define LOCKS_WATCHED 6 /* at once by one thread; holds of more are not measured */

#ifndef KSTACK_SIZE /* a machine may want more (sanitizers) */
#define KSTACK_SIZE (16 * 1024) /* bytes; the page below is unmapped */
#endif

enum thread_state {
	THREAD_RUNNABLE,        /* running, queued, or on its way into a queue */
	THREAD_INTERRUPTIBLE,   /* asleep; signals wake it */
	THREAD_UNINTERRUPTIBLE, /* asleep; only thread_wake() wakes it */
	THREAD_STOPPED,         /* job control */
	THREAD_DEAD,
};
/*
 * Bit in thread->state beside a sleeping state: schedule() has taken the thread
 * off its CPU's queue, so whoever makes it RUNNABLE must put it into one.
 * Without the bit the thread is still on its way to schedule() and will see it.
 */
#define THREAD_PARKED 0x100

/*
 * Legend: [I] constant after creation, [a] atomic, [c] only by the thread itself,
 *         [q] only by the CPU whose queue holds it, interrupts off
 */
struct thread {
	/* What arch code knows by offset (generated for NASM). */
	void *stack;              /* [I] lowest usable address of the kernel stack */
	size_t stack_size;        /* [I] bytes */
	uintptr_t arch_sp;        /* [q] saved kernel stack pointer */
	struct process *process;  /* [I] NULL for kernel threads */
	struct vm_space *space;   /* [c] address space; NULL for kernel threads */
	void *arch_fpu;           /* [c] saved FPU state, or NULL */
	uint64_t user_fs_base;    /* [c] */
	uint64_t user_gs_base;    /* [c] */

	_Atomic int state;        /* [a] enum thread_state, and THREAD_PARKED */
	_Atomic int on_cpu;       /* [a] 1 from being picked until fully switched away */
	_Atomic unsigned cpu;     /* [a] where it runs, is queued or ran last */
	_Atomic bool need_resched; /* [a] give way at the next chance */
	_Atomic uint32_t flags;   /* [a] THREAD_F_* */
	_Atomic int refs;         /* [a] */
	struct thread *inbox_next; /* in an inbox: owned by the pusher, then by that CPU */
	struct list_head run_link; /* [q] */
	_Atomic uint64_t run_ns;   /* [a] CPU time used; written by its CPU */
	_Atomic uint64_t user_ns;  /* [a] of it in user mode (sampled); written by its CPU */
	_Atomic uint64_t started_at; /* [a] clock_ns() when last switched to; written by its CPU */
	_Atomic uint64_t nr_switches, nr_migrations;
	_Atomic uint64_t turn_ns;  /* [a] how long its turns last, lately; written by its CPU */
	/* [c] it sleeps soon: whom it wakes may run here (sched_place.c) */
	bool wakes_near;
	uint32_t pull;             /* whoever queues it: move it to CPU pull - 1 (sched_place.c) */
	uint32_t far;              /* its waker: wake-ups in a row that another CPU wanted it for */
	uint64_t affinity[MAX_CPUS / 64]; /* [a, word-wise] allowed CPUs */
	pid_t tid;                 /* [I] */
	char name[16];             /* [c] */
	void (*entry)(void *);     /* [I] kernel threads */
	void *arg;                 /* [I] */
	int spin_depth;            /* [c] spinlocks held (debug: sleeping checks) */
	int rcu_depth;             /* [c] */
	struct lock_held *held;    /* [c] debug: classes of the locks held (kernel/lock_debug.c) */
	struct lock_watched watched[LOCKS_WATCHED]; /* [c] */
	struct thread *reap_next;  /* dead: list of its CPU's reaper */
	struct rcu_head rcu;       /* no references left */
	/* events on it (kernel/perf/event.h); NULL nearly always */
	_Atomic(struct perf_attach *) perf;
	uint32_t over_high;        /* [c] pages charged above some memory.high and not paid for */
	uint32_t high_late;        /* [c] those paid by reclaim, not yet by sleep */
	unsigned ran_on;           /* [q] CPU that ran it last */
	void *user;                /* [I] struct user_thread (kernel/process.h): signals, futex … */
};

#define THREAD_F_SIGPENDING (1u << 0) /* a signal must be looked at before user mode */
#define THREAD_F_KILLED     (1u << 1) /* SIGKILL: all sleeps but uninterruptible end */
#define THREAD_F_KTHREAD    (1u << 2)
#define THREAD_F_PINNED     (1u << 3) /* never migrates */
#define THREAD_F_PERF_DONE  (1u << 4) /* ends: takes no more perf events */
/* has charged above memory.high: pays before user mode (mm/high.c) */
#define THREAD_F_OVER_HIGH  (1u << 5)
#define THREAD_F_RECLAIM    (1u << 7) /* is reclaiming: allocations do not reclaim in turn */
#define THREAD_F_MEMSTALL   (1u << 6) /* loses time to memory now (mm/psi.h) */

/**
 * thread_create - make a kernel thread, not yet started
 * @cpu: pin it there, or -1
 * Return: thread with one reference for the caller, or ERR_PTR(-ENOMEM).
 */
struct thread *thread_create(const char *name, void (*entry)(void *), void *arg, int cpu);
/*
 * thread_alloc - bare thread (stack, defaults) for kernel/process.c to fill, one
 * reference for the caller; arch_thread_init() and thread_start() come next, or
 * thread_put().  thread_alloc_for() charges the stack to @owner.
 * Return: the thread or ERR_PTR(-ENOMEM).
 */
struct thread *thread_alloc(const char *name);
struct thread *thread_alloc_for(const char *name, struct owner *owner);
void thread_start(struct thread *t); /* makes it runnable on a good CPU */
void thread_get(struct thread *t);
void thread_put(struct thread *t);
void __noreturn thread_exit(void); /* of the current thread; its reference goes */

static inline void thread_prepare_sleep(enum thread_state s)
{
	atomic_store_explicit(&current->state, (int)s, memory_order_seq_cst);
}
static inline enum thread_state thread_state_of(const struct thread *t)
{
	return (enum thread_state)(atomic_load_explicit(&t->state, memory_order_relaxed) &
				   ~THREAD_PARKED);
}
static inline void thread_finish_sleep(void)
{
	atomic_store_explicit(&current->state, THREAD_RUNNABLE, memory_order_relaxed);
}
/* Gives up the CPU; returns when woken (or at once if the state is RUNNABLE and none waits). */
void schedule(void);
/*
 * Lets others run if somebody waits; a quiescent point for RCU.  May not be called in
 * RCU or under spinlocks.
 */
void cond_resched(void);
void yield_cpu(void);

/**
 * thread_wake - make a sleeping thread runnable
 * Context: any, interrupt handlers included.  Return: true if it was asleep.
 */
bool thread_wake(struct thread *t);
/* Wakes it only from interruptible sleep (or stop); for signals. */
bool thread_wake_interruptible(struct thread *t);
bool thread_wake_state(struct thread *t, unsigned state_mask);

/**
 * thread_sleep_until - sleep at least until @deadline (clock_ns)
 * Return: 0, or -EINTR if @interruptible and a signal is pending.
 */
int thread_sleep_until(uint64_t deadline, bool interruptible);
/* The same; only being killed ends it early.  Return: 0 or -EINTR. */
int thread_sleep_killable(uint64_t deadline);
/* -EINVAL if no CPU is left */
int thread_set_affinity(struct thread *t, const uint64_t *mask, size_t words);

static inline bool signal_pending(const struct thread *t)
{
	return atomic_load_explicit(&t->flags, memory_order_relaxed) &
	       (THREAD_F_SIGPENDING | THREAD_F_KILLED);
}
static inline bool kill_pending(const struct thread *t)
{
	return atomic_load_explicit(&t->flags, memory_order_relaxed) & THREAD_F_KILLED;
}
/* Something to do on the way to user mode besides giving way. */
static inline bool user_work(const struct thread *t)
{
	return atomic_load_explicit(&t->flags, memory_order_relaxed) &
	       (THREAD_F_SIGPENDING | THREAD_F_KILLED | THREAD_F_OVER_HIGH);
}
static inline bool need_resched(void)
{
	return atomic_load_explicit(&current->need_resched, memory_order_relaxed);
}

/* Called by arch code. */
void sched_ipi(void);                                  /* interrupt context */
void sched_tick(bool from_user);                       /* interrupt context */
void sched_finish_switch(struct thread *prev);         /* first thing on a new stack */
void sched_init_cpu(unsigned cpu);                     /* on that CPU, before interrupts */
void __noreturn sched_idle_loop(void);                 /* a CPU's last call at start-up */

/* Per-CPU figures for /proc/stat and tests. */
struct cpu_times {
	uint64_t user_ns, system_ns, idle_ns, irq_ns, switches, wakeups, kicks;
};
void sched_cpu_times(unsigned cpu, struct cpu_times *out);
/* What CPU @cpu runs at this moment, NULL if idle; may be old news when it returns.  Under RCU. */
struct thread *sched_running(unsigned cpu);
unsigned sched_nr_running(void); /* runnable threads, all CPUs, without idle */

void might_sleep_at(const char *file, int line);
#ifdef CONFIG_DEBUG
#define might_sleep() might_sleep_at(__FILE__, __LINE__)
#else
#define might_sleep() ((void)0)
#endif

#endif /* KERNEL_THREAD_H */
