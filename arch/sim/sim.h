/* SPDX-License-Identifier: MIT */
/*
 * The simulator: N CPUs as coroutines on one host thread, every access of the
 * code under test an event.
 *
 * How:       the code under test is the kernel's own source, compiled by gcc with
 *            -fsanitize=thread.  That makes the compiler announce each access by a
 *            call (__tsan_read8, __tsan_atomic64_fetch_add, …); arch/sim/tsan.c
 *            implements those calls instead of the sanitizer's library.  What such
 *            a call does depends on the mode:
 *   cost:    a MESI directory (arch/sim/cache.c) says what the access costs, the
 *            CPU's clock advances by it, and the CPU with the earliest clock runs.
 *   explore: any CPU may run next, by the seed; stores may stay in a store buffer
 *            (arch/sim/explore.c).
 * Same seed, same run: nothing here depends on addresses, time or the host.
 */
#ifndef ARCH_SIM_SIM_H
#define ARCH_SIM_SIM_H

#include "arch/arch.h"

/*
 * The machine: what an access costs (ns), and how its CPUs are arranged.  Numbered as
 * Linux does: first one CPU of each core, socket by socket, then the cores' siblings.
 */
struct sim_machine {
	uint32_t cpus;
	uint32_t cores_per_socket;
	uint32_t threads_per_core; /* siblings share their caches */
	uint32_t read_transfer;    /* a line comes from another socket, for reading */
	uint32_t write_transfer;   /* … for writing: others lose it */
	uint32_t shared_read;      /* a line that nobody may write: many can have it at once */
	uint32_t near_percent;     /* from a core of the same socket: so much of that */
	uint32_t spread_percent;   /* both vary evenly by so much up and down */
	uint32_t hold;             /* a line that has come stays so long at least */
	uint32_t hit;              /* access to a line that is there */
	uint32_t rmw;              /* atomic read-modify-write on a line that is there */
	uint32_t restart;          /* from the end of one that waited for its line to what follows */
	uint32_t pages_per_message; /* the workload: 10 KiB charge so many pages */
	uint32_t pages_per_charge; /* … so many at a time */
	double pair_mbps;          /* … one pair of sender and receiver without accounting */
};
extern const struct sim_machine sim_machine_default;
/* Sets one value by its name in a machine file; false: no such name. */
bool sim_machine_set(struct sim_machine *m, const char *name, double value);
double sim_machine_get(const struct sim_machine *m, unsigned i, const char **name); /* i-th; NULL after the last */
/* Reads a file of "name = value" lines; prints what is wrong with it and returns false. */
bool sim_machine_read(struct sim_machine *m, const char *path);

enum sim_mode { SIM_COST, SIM_EXPLORE };

/* ---- running ---- */

/* Fresh machine: all memory gone, clocks at 0.  @seed: of the schedule and sim_random(). */
void sim_reset(unsigned cpus, enum sim_mode mode, const struct sim_machine *m, uint64_t seed);
/* Runs fn(cpu) on every CPU until all have returned. */
void sim_run(void (*fn)(unsigned cpu));
/* In a simulated CPU: @ns of work without any access; another may run meanwhile. */
void sim_work(uint64_t ns);
/* Wait for a condition on unsimulated data: lets others run, time passes. */
void sim_yield(void);
uint64_t sim_now(void);
uint64_t sim_random(uint64_t *state);

/* ---- memory ---- */

/* Names an object for the tables: "account a", with a list of its fields. */
struct sim_field {
	const char *name;
	size_t offset;
};
void sim_label(const void *start, size_t size, const char *name, const struct sim_field *fields,
	       unsigned nr);
void sim_label_percpu(const void *template_start, size_t size, const char *name,
		      const struct sim_field *fields, unsigned nr);
/* Line transfers so far; sim_count(false) stops counting (set-up). */
void sim_count(bool on);
uint64_t sim_transfers(void);
/* Prints the lines by transfers, at most @lines, with their fields, each divided by @per. */
void sim_print_transfers(double per, const char *unit, unsigned lines);

/* ---- inside arch/sim ---- */

enum sim_access { SIM_READ, SIM_WRITE, SIM_RMW };

struct sim_cpu {
	struct sim_cpu_view view; /* first */
	uint64_t time;            /* ns */
	void *sp;                 /* saved stack pointer */
	char *stack;
	bool done;
	uint64_t rnd;
	unsigned heap_pos;
};
extern struct sim_cpu *sim_cpus;
extern struct sim_cpu *sim_cur; /* NULL: set-up code, nothing is simulated */
extern enum sim_mode sim_mode;
extern struct sim_machine sim_machine;
void sim_switch_if_late(void);   /* others that are earlier run first */
void sim_switch(struct sim_cpu *to);
void sim_touch(const void *addr, enum sim_access kind); /* an access by sim_cur */
void sim_cache_reset(unsigned cpus);
void sim_memory_reset(unsigned cpus);
bool sim_tracked(const void *addr);
size_t sim_line_of(const void *addr);
uintptr_t sim_percpu_copy(unsigned cpu);
void sim_label_of(const void *addr, char *buf, size_t n);
void sim_label_line(const void *addr, char *buf, size_t n); /* names the line that @addr is on */
void sim_sharing_reset(void);
void sim_note_transfer(const void *addr, bool write, bool near, uint64_t waited);

#endif /* ARCH_SIM_SIM_H */
