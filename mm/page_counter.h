/* SPDX-License-Identifier: MIT */
/*
 * Page counters: how many pages a group, and all groups below it, hold.
 *
 * What:      one counter per group, linked to its parent's.  A charge walks
 *            from a counter to the top and lands on every counter of that path
 *            or on none.  Knows nothing of groups, CPUs or reclaim.
 * Layouts:   the struct and everything that touches it are compiled twice from
 *            mm/page_counter_impl.h: "packed" (112 bytes, usage beside what every
 *            charge reads) and "split" (usage alone on its cache line).  The rest
 *            of the kernel sees an opaque struct and a table of functions, so one
 *            image holds both and a boot chooses.
 * Invariant: usage >= 0, and while no call is in flight, usage of a parent is at
 *            least the sum of its children's.
 * Locks:     none taken here.  Writers of one counter's limits are serialised by
 *            the caller.
 * Units:     pages of 4096 bytes.
 */
#ifndef MM_PAGE_COUNTER_H
#define MM_PAGE_COUNTER_H

#include "kernel/types.h"

struct page_counter;

#define PAGE_COUNTER_MAX ((int64_t)(INT64_MAX / 4096)) /* reads back as the word "max" */

enum page_counter_limit { PC_MIN, PC_LOW, PC_HIGH, PC_MAX, NR_PC_LIMITS };

/* What a walk saw on its way, for the caller's next decision. */
struct page_counter_walk {
	int64_t headroom; /* smallest max - usage after the charge, over all levels */
	bool over_high;   /* some level is above its high */
	bool tight;       /* some level has at most 1/8 of its max left */
};

/*
 * How charges keep the protected usage of a level and its parent up to date.
 * true: exchange on every charge when protection is set (Linux before 6.1).
 * false: read first, exchange only on a change.
 */
extern _Atomic bool page_counter_protect_xchg;

/* Names of the members, for tools that show who shares which line. */
struct page_counter_field {
	const char *name;
	size_t offset;
};

struct page_counter_ops {
	const char *name; /* "packed", "split" */
	size_t size;      /* bytes of a counter */
	size_t align;
	const struct page_counter_field *fields; /* by offset, ended by a NULL name */

	void (*init)(struct page_counter *c, struct page_counter *parent);

	/**
	 * try_charge - add @n to a counter and all above it, or to none
	 * @n: 1 .. INT32_MAX
	 * @refused: set to the counter that said no; untouched on success
	 * @walk: filled on success
	 *
	 * Adds first and looks then (no compare and swap, so no retries); a level
	 * that is over its max is undone, and so is everything below it.  Each undo
	 * is announced afterwards in that level's undone count.
	 *
	 * Race tolerated: between adding and undoing, other charges see @n.  A
	 * charge that is about to fail can so refuse a smaller one; the caller
	 * settles that case (mm/memcg_exact.c).
	 * Race tolerated: the peak is raised in a second step and may miss the sum of
	 * the charges in flight; exact when there are none.
	 *
	 * Context: any but NMI; takes no lock.  All read-modify-writes are
	 * sequentially consistent.
	 */
	bool (*try_charge)(struct page_counter *c, int64_t n, struct page_counter **refused,
			   struct page_counter_walk *walk);
	/* The same without limits; usage may pass max. */
	void (*charge)(struct page_counter *c, int64_t n, struct page_counter_walk *walk);
	/* Takes @n off a counter and all above it.  Going below zero warns once and stops at zero. */
	void (*uncharge)(struct page_counter *c, int64_t n);
	/* Is any level above its high?  A walk of its own, as Linux does after each charge. */
	bool (*over_high)(struct page_counter *c);

	int64_t (*usage)(const struct page_counter *c);
	int64_t (*peak)(const struct page_counter *c);
	/* The peak is that of usage from now on; a charge at this moment may count or not. */
	void (*peak_restart)(struct page_counter *c);
	int64_t (*undone)(const struct page_counter *c);
	int64_t (*get)(const struct page_counter *c, enum page_counter_limit which);
	/**
	 * set - change a limit; min and low also propagate protection upwards
	 * Takes effect even below usage: nothing is taken away, new charges fail.
	 * Max is exchanged before the caller reads usage; a charge adds to usage
	 * before it reads max.  Both are sequentially consistent, so a charge that
	 * missed the new limit is one that the caller's read has seen.
	 */
	void (*set)(struct page_counter *c, enum page_counter_limit which, int64_t pages);
	/* Smallest max - usage over the path; may be negative. */
	int64_t (*headroom)(const struct page_counter *c);
	/* Protected usage of the children (for reclaim): min, low. */
	int64_t (*children_protected)(const struct page_counter *c, enum page_counter_limit which);
};

extern const struct page_counter_ops page_counter_packed, page_counter_split;

#endif /* MM_PAGE_COUNTER_H */
