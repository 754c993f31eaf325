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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/sim/sim.h"

#define MAX_LINES (1UL << 24)
#define FOREVER   UINT64_MAX

struct line {
	uint64_t busy;   /* the last transfer asked for ends then */
	uint16_t first;  /* core that touched it first, + 1 */
	uint16_t last;   /* core that it came to last */
	bool dirty;      /* it came for writing */
	uint32_t shared; /* index into windows, + 1, once a second core has touched it */
};
static struct line *lines;

/* Until when a core may read and write a shared line; one per core and line. */
struct window {
	uint64_t read, write;
};
static struct window *windows;
static uint32_t nr_windows, cap_windows;
static unsigned nr_cores;

void sim_cache_reset(unsigned cpus)
{
	if (lines)
		munmap(lines, MAX_LINES * sizeof(*lines));
	lines = mmap(NULL, MAX_LINES * sizeof(*lines), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	free(windows);
	windows = NULL;
	nr_windows = cap_windows = 0;
	nr_cores = sim_machine.threads_per_core ? cpus / sim_machine.threads_per_core : cpus;
	sim_sharing_reset();
}

static struct window *window_of(const struct line *l, unsigned core)
{
	return &windows[(size_t)(l->shared - 1) * nr_cores + core];
}

/* A second core touches the line: from now on it has windows; the first one has it. */
static void share(struct line *l)
{
	if (nr_windows == cap_windows) {
		cap_windows = cap_windows ? 2 * cap_windows : 256;
		windows = realloc(windows, (size_t)cap_windows * nr_cores * sizeof(*windows));
	}
	l->shared = ++nr_windows;
	memset(window_of(l, 0), 0, nr_cores * sizeof(*windows));
	window_of(l, l->first - 1)->read = FOREVER;
	window_of(l, l->first - 1)->write = FOREVER;
	l->last = l->first - 1;
	l->dirty = true;
}

static void end_at(uint64_t *t, uint64_t end)
{
	if (*t > end)
		*t = end;
}

/*
 * Transfers within a socket are quicker, and all vary.  Without that, lines that are
 * asked for one after the other would never see a queue but at the first.
 */
static uint64_t latency(bool write, bool near)
{
	uint64_t mean = write ? sim_machine.write_transfer : sim_machine.read_transfer, spread;

	if (near)
		mean = mean * sim_machine.near_percent / 100;
	spread = mean * sim_machine.spread_percent / 100;
	return mean - spread + (spread ? sim_random(&sim_cur->rnd) % (2 * spread + 1) : 0);
}

void sim_touch(const void *addr, enum sim_access kind)
{
	struct line *l = &lines[sim_line_of(addr)];
	unsigned core = sim_cur->view.id % nr_cores;
	bool write = kind != SIM_READ;
	struct window *w;
	uint64_t start;
	bool near;

	/* Set-up wrote it, or nobody: the first core gets it for nothing. */
	if (!l->first)
		l->first = (uint16_t)(core + 1);
	if (!l->shared) {
		if (l->first == core + 1) {
			sim_cur->time += kind == SIM_RMW ? sim_machine.rmw : sim_machine.hit;
			return;
		}
		share(l);
	}
	/* Others that are earlier may still want it. */
	sim_switch_if_late();
	w = window_of(l, core);
	if (sim_cur->time <= (write ? w->write : w->read)) {
		sim_cur->time += kind == SIM_RMW ? sim_machine.rmw : sim_machine.hit;
		return;
	}
	if (!write && !l->dirty) {
		/* Read by others already: comes from the shared cache, and delays nobody. */
		start = l->busy > sim_cur->time ? l->busy : sim_cur->time;
		sim_note_transfer(addr, false, true, start - sim_cur->time);
		w->read = FOREVER;
		sim_cur->time = start + sim_machine.shared_read;
		sim_switch_if_late();
		return;
	}
	start = sim_cur->time;
	if (l->busy + 2 * sim_machine.hold > start && l->busy) {
		uint64_t held = l->busy + sim_random(&sim_cur->rnd) % (2 * sim_machine.hold + 1);

		start = held > start ? held : start;
	}
	near = l->last / sim_machine.cores_per_socket == core / sim_machine.cores_per_socket;
	sim_note_transfer(addr, write, near, start - sim_cur->time);
	l->busy = start + latency(write, near);
	l->last = (uint16_t)core;
	l->dirty = write;
	for (unsigned c = 0; c < nr_cores; c++) {
		end_at(&window_of(l, c)->write, start);
		if (write)
			end_at(&window_of(l, c)->read, start);
	}
	w = window_of(l, core);
	w->read = FOREVER;
	if (write)
		w->write = FOREVER;
	sim_cur->time = l->busy + (kind == SIM_RMW ? sim_machine.restart : sim_machine.hit);
	/* The access itself happens when the line is here; what others do before that comes first. */
	sim_switch_if_late();
}
