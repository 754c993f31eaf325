/* SPDX-License-Identifier: MIT */
/*
 * The cost model: a directory that knows for each line until when each CPU may read
 * and write it (MESI without the difference between E and M).
 *
 * A CPU that lacks a line asks for it; a line moves to one CPU at a time, in the
 * order of asking, and is busy meanwhile.  Who had it keeps using it until its
 * transfer starts, and that is not before the line has stayed for `hold`: a core
 * that waited for a line performs what follows in its pipeline before it answers
 * the next request.  CPUs run in order of their clocks, so a request never comes
 * from the past.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/sim/sim.h"

#define MAX_LINES (1UL << 24)
#define FOREVER   UINT64_MAX

struct line {
	uint64_t busy;   /* the last transfer asked for ends then */
	uint32_t first;  /* CPU that touched it first, + 1 */
	uint32_t shared; /* index into windows, + 1, once a second CPU has touched it */
};
static struct line *lines;

/* Until when a CPU may read and write a shared line; nr_cpus of them per line. */
struct window {
	uint64_t read, write;
};
static struct window *windows;
static uint32_t nr_windows, cap_windows;

/* Transfers by address, for the table: open hash. */
struct tally {
	const void *addr;
	uint64_t reads, writes, waited;
};
#define TALLIES 65536
static struct tally *tallies;
static bool counting;
static uint64_t transfers;

void sim_cache_reset(unsigned cpus)
{
	if (lines)
		munmap(lines, MAX_LINES * sizeof(*lines));
	lines = mmap(NULL, MAX_LINES * sizeof(*lines), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	free(windows);
	windows = NULL;
	nr_windows = cap_windows = 0;
	if (!tallies)
		tallies = malloc(TALLIES * sizeof(*tallies));
	memset(tallies, 0, TALLIES * sizeof(*tallies));
	counting = false;
	transfers = 0;
}

void sim_count(bool on)
{
	counting = on;
}

uint64_t sim_transfers(void)
{
	return transfers;
}

static void note(const void *addr, bool write, uint64_t waited)
{
	size_t h = ((uintptr_t)addr >> 2) * 0x9e3779b97f4a7c15ULL >> 48;

	if (!counting)
		return;
	transfers++;
	while (tallies[h % TALLIES].addr && tallies[h % TALLIES].addr != addr)
		h++;
	tallies[h % TALLIES].addr = addr;
	tallies[h % TALLIES].reads += !write;
	tallies[h % TALLIES].writes += write;
	tallies[h % TALLIES].waited += waited;
}

static struct window *window_of(const struct line *l, unsigned cpu)
{
	return &windows[(size_t)(l->shared - 1) * nr_cpus + cpu];
}

/* A second CPU touches the line: from now on it has windows; the first one has it. */
static void share(struct line *l)
{
	if (nr_windows == cap_windows) {
		cap_windows = cap_windows ? 2 * cap_windows : 256;
		windows = realloc(windows, (size_t)cap_windows * nr_cpus * sizeof(*windows));
	}
	l->shared = ++nr_windows;
	memset(window_of(l, 0), 0, nr_cpus * sizeof(*windows));
	window_of(l, l->first - 1)->read = FOREVER;
	window_of(l, l->first - 1)->write = FOREVER;
}

static void end_at(uint64_t *t, uint64_t end)
{
	if (*t > end)
		*t = end;
}

/*
 * Transfers take longer or shorter by where the line is.  Without that, lines that
 * are asked for one after the other would never see a queue but at the first.
 */
static uint64_t latency(bool write)
{
	uint64_t mean = write ? sim_machine.write_transfer : sim_machine.read_transfer;
	uint64_t spread = mean * sim_machine.spread_percent / 100;

	return mean - spread + (spread ? sim_random(&sim_cur->rnd) % (2 * spread + 1) : 0);
}

void sim_touch(const void *addr, enum sim_access kind)
{
	struct line *l = &lines[sim_line_of(addr)];
	unsigned cpu = sim_cur->view.id;
	bool write = kind != SIM_READ;
	struct window *w;
	uint64_t start;

	/* Set-up wrote it, or nobody: the first CPU gets it for nothing. */
	if (!l->first)
		l->first = cpu + 1;
	if (!l->shared) {
		if (l->first == cpu + 1) {
			sim_cur->time += kind == SIM_RMW ? sim_machine.rmw : sim_machine.hit;
			return;
		}
		share(l);
	}
	/* Others that are earlier may still want it. */
	sim_switch_if_late();
	w = window_of(l, cpu);
	if (sim_cur->time <= (write ? w->write : w->read)) {
		sim_cur->time += kind == SIM_RMW ? sim_machine.rmw : sim_machine.hit;
		return;
	}
	start = l->busy + sim_machine.hold > sim_cur->time && l->busy ? l->busy + sim_machine.hold
								      : sim_cur->time;
	note(addr, write, start - sim_cur->time);
	l->busy = start + latency(write);
	for (unsigned c = 0; c < nr_cpus; c++) {
		end_at(&window_of(l, c)->write, start);
		if (write)
			end_at(&window_of(l, c)->read, start);
	}
	w = window_of(l, cpu);
	w->read = FOREVER;
	if (write)
		w->write = FOREVER;
	sim_cur->time = l->busy;
	/* The access itself happens when the line is here; what others do before that comes first. */
	sim_switch_if_late();
}

struct row {
	char name[80];
	uint64_t reads, writes, waited;
};

static int by_transfers(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	uint64_t n = x->reads + x->writes, m = y->reads + y->writes;

	return n != m ? (n < m) - (n > m) : strcmp(x->name, y->name);
}

void sim_print_transfers(double per, const char *unit, unsigned rows)
{
	struct row *t = calloc(TALLIES, sizeof(*t));
	unsigned n = 0;

	for (unsigned i = 0; i < TALLIES; i++) {
		char name[80];
		unsigned k;

		if (!tallies[i].addr)
			continue;
		sim_label_of(tallies[i].addr, name, sizeof(name));
		for (k = 0; k < n; k++)
			if (!strcmp(t[k].name, name))
				break;
		if (k == n)
			snprintf(t[n++].name, sizeof(t->name), "%s", name);
		t[k].reads += tallies[i].reads;
		t[k].writes += tallies[i].writes;
		t[k].waited += tallies[i].waited;
	}
	qsort(t, n, sizeof(*t), by_transfers);
	printf("  %-34s %10s %10s %12s   per %s\n", "field", "for read", "for write", "waited ns", unit);
	for (unsigned i = 0; i < n && i < rows; i++)
		printf("  %-34s %10.4f %10.4f %12.1f\n", t[i].name, (double)t[i].reads / per,
		       (double)t[i].writes / per, (double)t[i].waited / per);
	free(t);
}
