/* SPDX-License-Identifier: MIT */
/*
 * Schedule exploration: who runs next is the seed's choice, at every access.
 *
 * Two strategies, by the seed: a random walk (switch with a probability that the
 * seed chose) and priorities (the highest runs; at a few random steps it falls to
 * the bottom), which finds bugs that need few but exact switches.
 *
 * Store buffers as on x86: a plain or release store of an atomic stays in the CPU's
 * own FIFO for a while, so a later load of the same CPU may be performed before
 * others see it; any read-modify-write, sequentially consistent store or full fence
 * of that CPU empties it first.  Plain (non-atomic) stores are performed at once.
 *
 * An injected interrupt runs on the stack of the coroutine that it interrupts and uses
 * that CPU's store buffer, as on a real one.
 */
#include <stdlib.h>
#include <string.h>

#include "arch/sim/explore.h"
#include "arch/sim/explorer.h"

#define BUFFER 6 /* stores; real ones are longer, and longer shows nothing new */
#define FALLS  6 /* priority strategy: how often the running CPU falls */

struct buffered {
	void *addr;
	uint64_t value;
	unsigned size;
};

static struct explore_cpu {
	struct buffered fifo[BUFFER];
	unsigned n;
	int priority;
} cpus[MAX_CPUS];

static uint64_t rnd, steps;
static unsigned switch_in, drain_in; /* chances: one in so many */
static bool by_priority;
static int lowest;
static uint64_t falls[FALLS];
static void (*invariant)(void);
static void (*interrupt)(unsigned cpu);
static unsigned interrupt_in; /* chance: one in so many accesses */
static bool tso;

void explore_begin(uint64_t seed, bool store_buffers, void (*check)(void))
{
	rnd = seed * 0x9e3779b97f4a7c15ULL + 0x123456789;
	for (int i = 0; i < 4; i++)
		sim_random(&rnd);
	steps = 0;
	invariant = check;
	interrupt = NULL;
	interrupt_in = 4 + sim_random(&rnd) % 60;
	tso = store_buffers;
	by_priority = sim_random(&rnd) % 2;
	switch_in = 2 + sim_random(&rnd) % 20;
	drain_in = 1 + sim_random(&rnd) % 12;
	lowest = 0;
	memset(cpus, 0, sizeof(cpus));
	for (unsigned i = 0; i < nr_cpus; i++)
		cpus[i].priority = 1 + (int)(sim_random(&rnd) % 1000);
	for (unsigned i = 0; i < FALLS; i++)
		falls[i] = sim_random(&rnd) % (i < FALLS / 2 ? 300 : 4000);
}

void explore_interrupts(void (*handler)(unsigned cpu))
{
	interrupt = handler;
}

uint64_t explore_steps(void)
{
	return steps;
}

static void perform(const struct buffered *b)
{
	memcpy(b->addr, &b->value, b->size);
}

static void drain_one(struct explore_cpu *c)
{
	perform(&c->fifo[0]);
	memmove(c->fifo, c->fifo + 1, --c->n * sizeof(c->fifo[0]));
}

static struct explore_cpu *self(void)
{
	return &cpus[sim_cur->view.id];
}

void explore_flush(void)
{
	if (sim_mode != SIM_EXPLORE || !sim_cur)
		return;
	while (self()->n)
		drain_one(self());
}

bool explore_buffered(const void *addr, uint64_t *value)
{
	struct explore_cpu *c;

	if (sim_mode != SIM_EXPLORE || !sim_cur)
		return false;
	c = self();
	for (unsigned i = c->n; i-- > 0;)
		if (c->fifo[i].addr == addr) {
			*value = c->fifo[i].value;
			return true;
		}
	return false;
}

bool explore_store(void *addr, uint64_t value, unsigned size)
{
	struct explore_cpu *c;

	if (sim_mode != SIM_EXPLORE || !sim_cur || !tso)
		return false;
	c = self();
	if (c->n == BUFFER)
		drain_one(c);
	c->fifo[c->n++] = (struct buffered){ addr, value, size };
	return true;
}

/* Any CPU's oldest store may become visible now. */
static void drain_some(void)
{
	for (unsigned i = 0; i < nr_cpus; i++)
		if (cpus[i].n && sim_random(&rnd) % drain_in == 0)
			drain_one(&cpus[i]);
}

static struct sim_cpu *choose(void)
{
	struct sim_cpu *best = NULL;
	unsigned n = 0, k;

	for (unsigned i = 0; i < nr_cpus; i++) {
		if (sim_cpus[i].done)
			continue;
		n++;
		if (by_priority && (!best || cpus[i].priority > cpus[best->view.id].priority))
			best = &sim_cpus[i];
	}
	if (by_priority)
		return best;
	k = (unsigned)(sim_random(&rnd) % n);
	for (unsigned i = 0; i < nr_cpus; i++)
		if (!sim_cpus[i].done && !k--)
			return &sim_cpus[i];
	abort();
}

static void run_invariant(void)
{
	struct sim_cpu *me = sim_cur;

	sim_cur = NULL; /* what it looks at is no event */
	invariant();
	sim_cur = me;
}

static void take_interrupt(void)
{
	irqstate_t on = irq_save();

	interrupt(cpu_id());
	irq_restore(on);
}

void explore_point(const void *addr, enum sim_access kind)
{
	uint64_t v;

	if (interrupt && irqs_enabled() && sim_random(&rnd) % interrupt_in == 0)
		take_interrupt();
	steps++;
	if (explore_buffered(addr, &v) && kind != SIM_READ)
		explore_flush();
	drain_some();
	if (invariant)
		run_invariant();
	if (by_priority) {
		for (unsigned i = 0; i < FALLS; i++)
			if (falls[i] == steps)
				self()->priority = --lowest;
		sim_switch(choose());
	} else if (sim_random(&rnd) % switch_in == 0) {
		sim_switch(choose());
	}
}

void explore_yield(void)
{
	self()->priority = --lowest;
	drain_some();
	sim_switch(choose());
}

void explore_cpu_done(void)
{
	explore_flush();
}
