/* SPDX-License-Identifier: MIT */
/*
 * The profiler: where the CPUs are, many times a second, or who passes a trace point.
 *
 * /dev/perf is the interface: an ioctl starts a session (one at a time), read()
 * gives whole records of what the CPUs' buffers hold and returns 0 when they
 * are empty; the reader comes by now and then, since who writes the buffers can
 * wake nobody.  Closing ends the session.
 */
#ifndef KERNEL_PERF_SAMPLE_H
#define KERNEL_PERF_SAMPLE_H

#include "kernel/types.h"

struct file;
struct perf_event;
struct regs;

/* The interface of /dev/perf (apps/lib/perf_record.c has its twin). */
#define PERF_SAMPLE_START 0x5001 /* struct perf_sample_start */
#define PERF_SAMPLE_STOP  0x5002
#define PERF_SAMPLE_STATS 0x5003 /* struct perf_sample_stats */

#define PERF_SAMPLE_CHAINS 1u /* flags: callers, too */

struct perf_sample_start {
	uint32_t hz;       /* 1 to 20000; with trace_pmu 0 */
	uint32_t flags;
	int32_t event_fd;  /* only tasks for which this event counts; -1: all */
	int32_t group_fd;  /* only tasks of this group (its directory) and below; -1: all */
	uint32_t buffer;   /* bytes per CPU, a power of two from 16 KiB; 0: 128 KiB */
	uint32_t trace_pmu; /* type of a trace point's PMU: a sample at each passing; 0: by time */
};

struct perf_sample_stats {
	uint64_t samples, lost; /* lost: no room in the buffer */
	uint64_t ns;            /* since the start */
	uint64_t ticks;         /* of the sampling CPU */
};

#define PERF_SAMPLE_IPS 64 /* most addresses in a record */

struct perf_sample {
	uint32_t size;         /* bytes of this record */
	uint16_t cpu;
	uint8_t nr_kernel;     /* addresses in the kernel, innermost first */
	uint8_t nr_user;       /* behind them, in the program */
	int32_t pid, tid;
	uint32_t group;        /* id of the memory group; 1: the root */
	uint32_t reserved;
	uint64_t ns;           /* clock_ns() */
	char name[16];         /* of the thread */
	uint64_t ip[PERF_SAMPLE_IPS];
};

void perf_sample_init(void);

/* From the machine's NMI handler.  false: nobody asked for it. */
bool perf_sample_nmi(const struct regs *regs);

/*
 * What the machine brings (arch/x86_64/sample.c).
 *
 * arch_sample_ask - make @cpu call perf_sample_nmi() even if its interrupts are off
 * Context: interrupts off.
 */
void arch_sample_ask(unsigned cpu);
/* Registers that the timer interrupt, in which we are, found; NULL. */
const struct regs *arch_timer_regs(void);
/**
 * arch_sample_chain - where @regs is, and its callers along the frame pointers
 * @ip: at most @max addresses: those in the kernel, then those in the program
 * @nr_kernel: how many are the kernel's
 * Never faults.  Context: NMI or interrupt.  Return: how many in all.
 */
unsigned arch_sample_chain(const struct regs *regs, uint64_t *ip, unsigned max,
			   unsigned *nr_kernel);
/* The same from the caller of the function with this frame on; interrupts off. */
unsigned arch_sample_chain_above(const void *frame, uint64_t *ip, unsigned max,
				 unsigned *nr_kernel);

/* The event behind a descriptor of perf_event_open(), or NULL (syscall.c). */
struct perf_event *perf_event_of_file(struct file *f);

#endif /* KERNEL_PERF_SAMPLE_H */
