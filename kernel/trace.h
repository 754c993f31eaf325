/* SPDX-License-Identifier: MIT */
/*
 * Trace points: places in the kernel that can tell what happens there.
 *
 *	trace(sched_wakeup, t->tid, cpu);
 *
 * costs a nop while nobody listens (kernel/static_key.h); the arguments are not
 * even computed.  Listeners are, for each point by itself:
 *
 *	the ring	/proc/tally/trace_on names the points whose last records each
 *			CPU keeps; /proc/tally/trace shows them in order of time
 *	perf stat	counts: every point is a PMU with the same name
 *	perf record	a sample, with callers, each time the point is passed
 *
 * A point has up to four numbers; its line in TRACE_POINTS names them ('#'
 * behind a name: print it in hexadecimal).  A new point is a line here and a
 * trace() in the code.
 *
 * Rings: a CPU writes only its own, interrupts off, and overwrites the oldest.
 * A record's first word is its number while it is whole and 0 while it is
 * written; a reader takes the record between two looks at that word.
 * Context of trace(): any but NMI.
 */
#ifndef KERNEL_TRACE_H
#define KERNEL_TRACE_H

#include "arch/arch.h"
#include "kernel/static_key.h"

#define TRACE_POINTS(X)                                                                            \
	X(sched_switch, "sched:switch", "next state#", "a CPU changes threads")                    \
	X(sched_wakeup, "sched:wakeup", "tid cpu", "a sleeping thread is queued")                  \
	X(sched_migrate, "sched:migrate", "tid from to", "a thread goes to another CPU")           \
	X(process_fork, "process:fork", "child", "a thread or process is made")                    \
	X(process_exec, "process:exec", "pid", "a process has a new program")                      \
	X(process_exit, "process:exit", "tid status#", "a thread ends")                            \
	X(syscall_enter, "syscall:enter", "nr a# b# c#", "a system call begins")                   \
	X(syscall_exit, "syscall:exit", "nr result#", "a system call ends")                        \
	X(page_fault, "mm:page_fault", "address# error#", "a page fault of or for a program")      \
	X(memcg_miss, "memcg:miss", "group bytes", "a charge that the stock does not meet")        \
	X(memcg_refuse, "memcg:refuse", "group pages", "a charge is refused")                      \
	X(memcg_uncharge, "memcg:uncharge", "group pages", "a walk that gives charge back")        \
	X(memcg_drain, "memcg:drain", "bytes", "a CPU empties an entry of its stock")              \
	X(memcg_steal, "memcg:steal", "bytes", "an entry of another CPU's stock is emptied")   \
	X(sock_charge, "sock:charge", "pages", "a socket charges pages to its group")              \
	X(sock_uncharge, "sock:uncharge", "pages", "a socket gives pages back")                    \
	X(net_xmit, "net:xmit", "bytes device", "a packet goes to a device")                       \
	X(net_receive, "net:receive", "bytes device", "a packet reaches the IP layer")             \
	X(tcp_retransmit, "tcp:retransmit", "port seq", "a segment is sent again")

enum trace_point {
#define X(id, name, args, what) TRACE_##id,
	TRACE_POINTS(X)
#undef X
	NR_TRACE_POINTS
};

#define TRACE_ARGS 4

/* In hosted builds of single parts there is nobody to listen. */
#ifdef TALLY_HOSTED
#define trace(id, ...) ((void)0)
#else
#define trace(id, ...)                                                                             \
	do {                                                                                       \
		if (static_branch(&trace_keys[TRACE_##id]))                                        \
			trace_emit(TRACE_##id, (const uint64_t[TRACE_ARGS]){ __VA_ARGS__ });       \
	} while (0)
#endif

extern struct static_key trace_keys[NR_TRACE_POINTS];
void trace_emit(enum trace_point point, const uint64_t *args);

/* How often each point was passed while it was on; a PMU each. */
struct trace_counts {
	_Atomic uint64_t n[NR_TRACE_POINTS];
};
DECLARE_PER_CPU(struct trace_counts, trace_counts);

#define TRACE_RECORDS 1024u /* per CPU; a power of two */

struct trace_record {
	_Atomic uint64_t number; /* 1 is the CPU's first; 0: being written */
	_Atomic uint64_t ns;     /* clock_ns() */
	_Atomic uint64_t who;    /* point | thread's number << 32 */
	_Atomic uint64_t arg[TRACE_ARGS];
};

/* Which points go to the rings: bit n for point n. */
extern _Atomic uint64_t trace_to_ring;
/* Rings for all CPUs, kept from then on.  Context: thread, calls serialised.  0 or -ENOMEM. */
int trace_rings_make(void);
/* The newest number of @cpu's ring; 0: none. */
uint64_t trace_newest(unsigned cpu);
/* What a record held, by plain copy. */
struct trace_copy {
	uint64_t number, ns, arg[TRACE_ARGS];
	enum trace_point point;
	int tid;
};
/* Record @number of @cpu's ring; false: overwritten, or about to be. */
bool trace_read(unsigned cpu, uint64_t number, struct trace_copy *out);

/*
 * Called at each passing of a point, interrupts off: who samples there.  @frame: the frame
 * of trace_emit(), above which the traced function's is.  NULL nearly always.
 */
extern _Atomic(void (*)(enum trace_point point, const void *frame)) trace_hook;

#endif /* KERNEL_TRACE_H */
