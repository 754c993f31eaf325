/* SPDX-License-Identifier: MIT */
/*
 * Objects of the kernel's caches, counted before the first and after each input.
 *
 * What one input leaves on purpose (entries kept for a while, for the next to
 * find) is waited for, in virtual time, before anything is called lost.
 */
#include "kernel/rcu.h"
#include "mm/slab.h"
#include "tests/fuzz/fuzz.h"

#define CACHES_MAX 128
#define PATIENCE   120 /* rounds of ten seconds */

static struct count {
	const char *name;
	size_t size; /* several caches may share a name */
	uint64_t active;
} before[CACHES_MAX];
static unsigned nr_before;

static struct count *find(const struct slab_info *i)
{
	for (unsigned k = 0; k < nr_before; k++) {
		if (before[k].size == i->size && !strcmp(before[k].name, i->name))
			return &before[k];
	}
	MUST(nr_before < CACHES_MAX);
	before[nr_before] = (struct count){ .name = i->name, .size = i->size };
	return &before[nr_before++];
}

static void note(const struct slab_info *i, void *arg)
{
	find(i)->active = i->active;
}

void fuzz_objects_note(void)
{
	rcu_barrier();
	slab_for_each(note, NULL);
}

struct lost {
	const char *const *kept; /* names of caches that may grow, NULL at the end */
	bool any, tell;
};

static void compare(const struct slab_info *i, void *arg)
{
	struct lost *l = arg;
	struct count *c = find(i);

	for (const char *const *k = l->kept; k && *k; k++) {
		if (!strcmp(*k, i->name))
			return;
	}
	if (i->active <= c->active || !strcmp(i->name, "magazine")) /* the allocator's own */
		return;
	l->any = true;
	if (l->tell)
		log_printf(LOG_ERR, "%s (%zu bytes): %llu objects, %llu before", i->name, i->size,
			   (unsigned long long)i->active, (unsigned long long)c->active);
}

void fuzz_objects_must_be_back(const char *const *kept)
{
	for (unsigned round = 0;; round++) {
		struct lost l = { .kept = kept, .tell = round == PATIENCE };

		rcu_barrier();
		slab_for_each(compare, &l);
		if (!l.any)
			return;
		MUST(!l.tell);
		fz_sleep(10000);
	}
}
