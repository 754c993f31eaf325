/* SPDX-License-Identifier: MIT */
/* Events that take turns at a PMU's counters; see slots.h. */
#include "kernel/perf/slots.h"

#include "kernel/perf/event.h"
#include "kernel/sched.h"
#include "kernel/timer.h"

#define TURN_NS (4 * NSEC_PER_MSEC)
/* Without anybody waiting: often enough that no counter of 40 bits wraps twice. */
#define LOOK_NS (60 * NSEC_PER_SEC)

struct slots_cpu {
	struct perf_slots *active; /* [q] with live runs */
	bool dirty;                /* [q] runs have come or gone since the last settling */
};
DEFINE_PER_CPU(static struct slots_cpu, slots_cpu);

static struct perf_slots *slots_of(const struct perf_run *r)
{
	return &r->event->pmu->cpu_slots[cpu_id()];
}

static void sync(struct perf_run *r, uint64_t now)
{
	struct perf_event *e = r->event;
	const struct pmu *p = e->pmu;
	uint64_t ns = now - r->synced, count;

	r->synced = now;
	r->in_ns += ns;
	atomic_fetch_add_explicit(&e->in_ns, ns, memory_order_relaxed);
	if (r->slot < 0)
		return;
	r->run_ns += ns;
	atomic_fetch_add_explicit(&e->run_ns, ns, memory_order_relaxed);
	count = p->count(p, (unsigned)r->slot);
	atomic_fetch_add_explicit(&e->count, (count - r->counted) & p->count_mask,
				  memory_order_relaxed);
	r->counted = count;
}

void slots_sync(struct perf_run *r)
{
	sync(r, clock_ns());
}

/* @r, which is up to date, loses its slot. */
static void leave(struct perf_slots *s, struct perf_run *r)
{
	s->pmu->stop(s->pmu, (unsigned)r->slot);
	s->at[r->slot] = NULL;
	r->slot = -1;
}

static void enter(struct perf_slots *s, struct perf_run *r, unsigned slot)
{
	s->at[slot] = r;
	r->slot = (int)slot;
	r->counted = 0;
	s->pmu->start(s->pmu, r->event->config, slot);
}

static void link_run(struct perf_run **list, struct perf_run *r)
{
	r->next = *list;
	r->prev = list;
	if (r->next)
		r->next->prev = &r->next;
	*list = r;
}

static void unlink_run(struct perf_run *r)
{
	*r->prev = r->next;
	if (r->next)
		r->next->prev = r->prev;
}

void slots_in(struct perf_run *r)
{
	struct slots_cpu *sc = &this_cpu(slots_cpu);
	struct perf_slots *s = slots_of(r);

	if (!s->live) {
		s->next = sc->active;
		s->prev = &sc->active;
		if (s->next)
			s->next->prev = &s->next;
		sc->active = s;
	}
	link_run(&s->live, r);
	r->slot = -1;
	r->synced = clock_ns();
	sc->dirty = true;
}

void slots_out(struct perf_run *r)
{
	struct slots_cpu *sc = &this_cpu(slots_cpu);
	struct perf_slots *s = slots_of(r);

	sync(r, clock_ns());
	if (r->slot >= 0)
		leave(s, r);
	unlink_run(r);
	if (!s->live) {
		*s->prev = s->next;
		if (s->next)
			s->next->prev = s->prev;
	}
	sc->dirty = true;
}

/* Has @a had a smaller share of its time than @b? */
static bool is_behind(const struct perf_run *a, const struct perf_run *b)
{
	return (unsigned __int128)a->run_ns * (b->in_ns + 1) <
	       (unsigned __int128)b->run_ns * (a->in_ns + 1);
}

/* Brings all up to date and orders them, smallest share first. */
static void order(struct perf_slots *s, uint64_t now)
{
	struct perf_run *r = s->live, *next, **at;

	s->live = NULL;
	for (; r; r = next) {
		next = r->next;
		sync(r, now);
		r->decided = false;
		for (at = &s->live; *at && !is_behind(r, *at); at = &(*at)->next)
			;
		link_run(at, r);
	}
}

/* A slot for @r that is free in @next: the one it has, else the first that fits; -1. */
static int find_slot(const struct pmu *p, struct perf_run *const *next, const struct perf_run *r)
{
	if (r->slot >= 0 && !next[r->slot])
		return r->slot;
	for (unsigned i = 0; i < p->slots; i++)
		if (!next[i] && (!p->fits || p->fits(p, r->event->config, i)))
			return (int)i;
	return -1;
}

static struct perf_event *leader_of(const struct perf_run *r)
{
	return atomic_load_explicit(&r->event->leader, memory_order_relaxed);
}

/* Seats all runs of @first's group in @next, or none of them. */
static void seat_group(const struct pmu *p, struct perf_run **next, struct perf_run *first)
{
	int taken[PMU_SLOTS_MAX], slot = 0;
	unsigned n = 0;

	for (struct perf_run *r = first; r; r = r->next) {
		if (leader_of(r) != leader_of(first))
			continue;
		r->decided = true;
		if (slot >= 0)
			slot = find_slot(p, next, r);
		if (slot >= 0) {
			next[slot] = r;
			taken[n++] = slot;
		}
	}
	while (slot < 0 && n)
		next[taken[--n]] = NULL;
}

/* Return: does anybody wait? */
static bool settle(struct perf_slots *s, uint64_t now)
{
	struct perf_run *next[PMU_SLOTS_MAX] = { NULL };
	bool waits = false;

	order(s, now);
	for (struct perf_run *r = s->live; r; r = r->next)
		if (!r->decided)
			seat_group(s->pmu, next, r);
	for (unsigned i = 0; i < s->pmu->slots; i++)
		if (s->at[i] && s->at[i] != next[i])
			leave(s, s->at[i]);
	for (unsigned i = 0; i < s->pmu->slots; i++)
		if (next[i] && s->at[i] != next[i])
			enter(s, next[i], i);
	for (struct perf_run *r = s->live; r; r = r->next)
		waits |= r->slot < 0;
	return waits;
}

void slots_settle(void)
{
	struct slots_cpu *sc = &this_cpu(slots_cpu);
	struct run_queue *rq = &this_cpu(run_queue);
	uint64_t now = clock_ns();
	bool waits = false;

	sc->dirty = false;
	for (struct perf_slots *s = sc->active; s; s = s->next)
		waits |= settle(s, now);
	/* A CPU that idles is not woken for this: nothing happens there that counts. */
	if (!sc->active || rq->curr == rq->idle)
		timer_irq_set(TIMER_IRQ_SLOTS, 0);
	else
		timer_irq_set(TIMER_IRQ_SLOTS, now + (waits ? TURN_NS : LOOK_NS));
}

void slots_changed(void)
{
	if (unlikely(this_cpu(slots_cpu).dirty))
		slots_settle();
}

void slots_wake(void)
{
	if (unlikely(this_cpu(slots_cpu).active))
		this_cpu(slots_cpu).dirty = true;
}

void slots_init(void)
{
	atomic_store_explicit(&timer_irq_hook[TIMER_IRQ_SLOTS], slots_settle, memory_order_release);
}
