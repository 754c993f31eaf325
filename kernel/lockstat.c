/* SPDX-License-Identifier: MIT */
/* Implements lockstat.h; kernel/perf/lockstat_file.c shows the figures. */
#include "kernel/lockstat.h"

#include "kernel/sched.h"
#include "kernel/string.h"

struct static_key lock_stat_key;
_Atomic unsigned lock_stat_epoch;
DEFINE_PER_CPU(struct lock_class_stats, lock_class_stats) __cacheline_aligned;
DEFINE_PER_CPU(struct lock_sites, lock_sites) __cacheline_aligned;

/*
 * Classes in order of first use, found by text; names in a table by address,
 * since the same words nearly always come from the same constant.  Both only
 * grow, by compare and swap.
 */
static _Atomic(const char *) classes[LOCK_CLASSES];

#define NAMES 256 /* a power of two */
static struct {
	_Atomic(const char *) name;
	_Atomic unsigned class; /* + 1; 0: not known yet */
} names[NAMES];

static unsigned class_by_text(const char *name)
{
	for (unsigned c = 0; c < LOCK_CLASSES - 1; c++) {
		const char *n = atomic_load_explicit(&classes[c], memory_order_acquire);

		if (!n && atomic_compare_exchange_strong_explicit(&classes[c], &n, name,
								  memory_order_acq_rel,
								  memory_order_acquire))
			return c;
		if (!strcmp(n, name))
			return c;
	}
	return LOCK_CLASSES - 1;
}

unsigned lock_class(const char *name)
{
	uintptr_t at;

	if (!name)
		name = "unnamed";
	at = (uintptr_t)name / 8;
	for (unsigned i = 0; i < NAMES; i++) {
		unsigned slot = (unsigned)(at + i) % NAMES, c;
		const char *n = atomic_load_explicit(&names[slot].name, memory_order_acquire);

		if (!n && atomic_compare_exchange_strong_explicit(&names[slot].name, &n, name,
								  memory_order_acq_rel,
								  memory_order_acquire))
			n = name;
		if (n != name)
			continue;
		c = atomic_load_explicit(&names[slot].class, memory_order_relaxed);
		if (!c) {
			c = class_by_text(name) + 1;
			atomic_store_explicit(&names[slot].class, c, memory_order_relaxed);
		}
		return c - 1;
	}
	return class_by_text(name);
}

const char *lock_class_name(unsigned class)
{
	if (class == LOCK_CLASSES - 1)
		return "(others)";
	return class < LOCK_CLASSES ? atomic_load_explicit(&classes[class], memory_order_acquire)
				    : NULL;
}

static void note(struct lock_times *t, uint64_t ns)
{
	count_add(&t->n, 1);
	count_add(&t->total_ns, ns);
	if (ns > atomic_load_explicit(&t->worst_ns, memory_order_relaxed))
		atomic_store_explicit(&t->worst_ns, ns, memory_order_relaxed);
}

static struct lock_site *site_of(uintptr_t at)
{
	struct lock_sites *all = &this_cpu(lock_sites);

	for (unsigned i = 0; i < LOCK_SITES; i++) {
		struct lock_site *s = &all->s[(at / 4 + i) % LOCK_SITES];
		uintptr_t a = atomic_load_explicit(&s->at, memory_order_relaxed);

		if (!a)
			atomic_store_explicit(&s->at, at, memory_order_relaxed);
		if (!a || a == at)
			return s;
	}
	return &all->s[LOCK_SITES];
}

void lock_note_wait(const char *name, const void *at, uint64_t since)
{
	uint64_t ns = clock_ns() - since;

	note(&this_cpu(lock_class_stats).wait[lock_class(name)], ns);
	note(&site_of((uintptr_t)at)->wait, ns);
}

bool lock_watch(const void *lock, const char *name)
{
	unsigned epoch = atomic_load_explicit(&lock_stat_epoch, memory_order_relaxed);
	struct thread *t = current;

	for (unsigned i = 0; t && i < LOCKS_WATCHED; i++) {
		struct lock_watched *w = &t->watched[i];

		if (w->lock && w->epoch == epoch)
			continue;
		w->lock = lock;
		w->epoch = epoch;
		w->class = lock_class(name);
		w->since = clock_ns();
		return true;
	}
	return false;
}

void lock_unwatch(const void *lock)
{
	unsigned epoch = atomic_load_explicit(&lock_stat_epoch, memory_order_relaxed);
	struct thread *t = current;

	for (unsigned i = 0; t && i < LOCKS_WATCHED; i++) {
		struct lock_watched *w = &t->watched[i];

		if (w->lock != lock || w->epoch != epoch)
			continue;
		note(&this_cpu(lock_class_stats).hold[w->class], clock_ns() - w->since);
		w->lock = NULL;
		return;
	}
}
