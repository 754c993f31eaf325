/* SPDX-License-Identifier: MIT */
/*
 * Memory of the simulated machine: one arena from which kmalloc() and the copies
 * of the per-CPU section come, in order, so that addresses are the same in every
 * run; and names for what lies in it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/sim/sim.h"
#include "mm/slab.h"

#define ARENA_BYTES (1UL << 30) /* address space; only what is touched exists */

extern char __start_percpu[], __stop_percpu[];
/* Variables of the code under test (mk/sim.mk renames their sections). */
extern char __start_simdata[], __stop_simdata[], __start_simbss[], __stop_simbss[];
static char *fresh; /* what simdata holds before the first run */

static char *arena;
static size_t used;
static uintptr_t *copies;

struct label {
	const char *start;
	size_t size;
	char name[40];
	const struct sim_field *fields;
	unsigned nr;
};
static struct label *labels;
static unsigned nr_labels, cap_labels;

bool sim_tracked(const void *addr)
{
	return (size_t)((const char *)addr - arena) < ARENA_BYTES;
}

size_t sim_line_of(const void *addr)
{
	return (size_t)((const char *)addr - arena) / CACHE_LINE;
}

/* Freed memory is not used again: a stale pointer is found by its label. */
static void *take(size_t size, size_t align)
{
	used = ALIGN_UP(used, align);
	if (used + size > ARENA_BYTES) {
		fprintf(stderr, "sim: the arena is full\n");
		abort();
	}
	used += size;
	return arena + used - size;
}

void *kmalloc(size_t size, gfp_t gfp)
{
	return take(size ? size : 1, 16); /* the arena is zero */
}
void *kzalloc(size_t size, gfp_t gfp)
{
	return kmalloc(size, gfp);
}
void kfree(const void *p)
{
}

struct kmem_cache {
	size_t size, align;
};

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align, unsigned flags)
{
	struct kmem_cache *c = malloc(sizeof(*c));

	*c = (struct kmem_cache){ size, align ? align : 8 };
	return c;
}

void *kmem_cache_alloc(struct kmem_cache *c, gfp_t gfp)
{
	return take(c->size, c->align);
}

void kmem_cache_free(struct kmem_cache *c, void *obj)
{
}

void sim_memory_reset(unsigned cpus)
{
	size_t n = (size_t)(__stop_percpu - __start_percpu);
	char *want = (char *)0x100000000000UL;

	if (!fresh) {
		fresh = malloc((size_t)(__stop_simdata - __start_simdata));
		memcpy(fresh, __start_simdata, (size_t)(__stop_simdata - __start_simdata));
	}
	memcpy(__start_simdata, fresh, (size_t)(__stop_simdata - __start_simdata));
	memset(__start_simbss, 0, (size_t)(__stop_simbss - __start_simbss));
	if (arena)
		munmap(arena, ARENA_BYTES);
	/* Fixed: the stock hashes owners by address. */
	arena = mmap(want, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (arena != want) {
		fprintf(stderr, "sim: no memory at %p\n", (void *)want);
		abort();
	}
	used = 0;
	nr_labels = 0;
	copies = realloc(copies, cpus * sizeof(*copies));
	for (unsigned i = 0; i < cpus; i++) {
		char *c = take(n, CACHE_LINE);

		memcpy(c, __start_percpu, n);
		copies[i] = (uintptr_t)c - (uintptr_t)__start_percpu;
	}
}

uintptr_t sim_percpu_copy(unsigned cpu)
{
	return copies[cpu];
}

void sim_label(const void *start, size_t size, const char *name, const struct sim_field *fields,
	       unsigned nr)
{
	struct label *l;

	if (nr_labels == cap_labels) {
		cap_labels = cap_labels ? 2 * cap_labels : 64;
		labels = realloc(labels, cap_labels * sizeof(*labels));
	}
	l = &labels[nr_labels++];
	l->start = start;
	l->size = size;
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->fields = fields;
	l->nr = nr;
}

void sim_label_percpu(const void *template_start, size_t size, const char *name,
		      const struct sim_field *fields, unsigned nr)
{
	for (unsigned i = 0; i < nr_cpus; i++)
		sim_label((const char *)template_start + copies[i], size, name, fields, nr);
}

void sim_label_of(const void *addr, char *buf, size_t n)
{
	const char *a = addr;

	for (unsigned i = 0; i < nr_labels; i++) {
		const struct label *l = &labels[i];
		const char *field = NULL;
		size_t best = 0;

		if (a < l->start || a >= l->start + l->size)
			continue;
		for (unsigned k = 0; k < l->nr; k++)
			if (l->fields[k].offset <= (size_t)(a - l->start) &&
			    (!field || l->fields[k].offset >= best)) {
				best = l->fields[k].offset;
				field = l->fields[k].name;
			}
		if (field)
			snprintf(buf, n, "%s.%s", l->name, field);
		else
			snprintf(buf, n, "%s+%zu", l->name, (size_t)(a - l->start));
		return;
	}
	snprintf(buf, n, "arena+%zu", (size_t)(a - arena));
}

void sim_label_line(const void *addr, char *buf, size_t n)
{
	const char *line = (const char *)((uintptr_t)addr & ~(uintptr_t)(CACHE_LINE - 1));
	const struct label *best = NULL;

	/* The object that begins last on the line or before it gives the name. */
	for (unsigned i = 0; i < nr_labels; i++) {
		const struct label *l = &labels[i];

		if (l->start < line + CACHE_LINE && l->start + l->size > line &&
		    (!best || l->start > best->start))
			best = l;
	}
	if (best)
		snprintf(buf, n, "%s %+td", best->name, line - best->start);
	else
		snprintf(buf, n, "arena %+td", line - arena);
}
