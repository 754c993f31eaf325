/* SPDX-License-Identifier: MIT */
/*
 * The page counter, compiled once per layout: page_counter_packed.c and
 * page_counter_split.c define PC_NAME and PC_PACKED (0 or 1) and include this.
 * The contract is in mm/page_counter.h.
 */
#include "mm/page_counter.h"
#include "kernel/log.h"
#include "kernel/plant.h"
#include "kernel/string.h"

#define LINE 64 /* bytes; what two CPUs can fight over */

/* Legend: [I] set by init, then constant; [a] atomic, any context; [l] written by one at a time. */
#if PC_PACKED
struct page_counter {
	_Atomic int64_t usage;              /* [a] pages, stocks included */
	_Atomic int64_t limit[NR_PC_LIMITS]; /* [l] */
	_Atomic int64_t emin;               /* [l] effective protection, for reclaim */
	_Atomic int64_t min_usage;          /* [a] min(usage, min) as last propagated */
	_Atomic int64_t children_min_usage; /* [a] sum of the children's min_usage */
	_Atomic int64_t elow;
	_Atomic int64_t low_usage;
	_Atomic int64_t children_low_usage;
	_Atomic int64_t peak;               /* [a] highest usage seen */
	_Atomic int64_t undone;             /* [a] charges taken back here */
	struct page_counter *parent;        /* [I] */
};
_Static_assert(sizeof(struct page_counter) == 112, "the packed counter is Linux 6.0's");
#else
struct page_counter {
	/* Line 0: written by every walk on every CPU; alone on purpose. */
	__attribute__((aligned(LINE))) _Atomic int64_t usage;
	/* Line 1: written when protection is set, on a new peak, on a refusal. */
	__attribute__((aligned(LINE))) _Atomic int64_t emin;
	_Atomic int64_t min_usage;
	_Atomic int64_t children_min_usage;
	_Atomic int64_t elow;
	_Atomic int64_t low_usage;
	_Atomic int64_t children_low_usage;
	_Atomic int64_t peak;
	_Atomic int64_t undone;
	/* Line 2: read by every walk, written by an administrator. */
	__attribute__((aligned(LINE))) _Atomic int64_t limit[NR_PC_LIMITS];
	struct page_counter *parent;
};
_Static_assert(sizeof(struct page_counter) == 3 * LINE, "a member outgrew its cache line");
_Static_assert(offsetof(struct page_counter, emin) == LINE, "bookkeeping shares the line of usage");
_Static_assert(offsetof(struct page_counter, limit) == 2 * LINE, "limits share a written line");
#endif
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "a charge must not hide a lock");

static void pc_init(struct page_counter *c, struct page_counter *parent)
{
	memset(c, 0, sizeof(*c));
	atomic_init(&c->limit[PC_MAX], PAGE_COUNTER_MAX);
	atomic_init(&c->limit[PC_HIGH], PAGE_COUNTER_MAX);
	c->parent = parent;
}

static inline int64_t limit_of(const struct page_counter *c, enum page_counter_limit which)
{
	return atomic_load_explicit(&c->limit[which], memory_order_relaxed);
}

/*
 * One of min and low: bring @mine to min(usage, @setting) and pass the change to the
 * parent's sum.  The parent pointer is read last: in the packed layout it lies on
 * the line that the exchanges need for writing.
 */
static inline void propagate_one(struct page_counter *c, enum page_counter_limit which,
				 int64_t setting, int64_t usage)
{
	_Atomic int64_t *mine = which == PC_MIN ? &c->min_usage : &c->low_usage;
	int64_t want = usage < setting ? usage : setting, seen;
	struct page_counter *p;

	if (atomic_load_explicit(&page_counter_protect_xchg, memory_order_relaxed)) {
		if (!setting && !atomic_load_explicit(mine, memory_order_relaxed))
			return;
	} else if (atomic_load_explicit(mine, memory_order_relaxed) == want) {
		return;
	}
	seen = atomic_exchange_explicit(mine, want, memory_order_seq_cst);
	p = c->parent;
	if (want != seen && p)
		atomic_fetch_add_explicit(which == PC_MIN ? &p->children_min_usage
							  : &p->children_low_usage,
					  want - seen, memory_order_relaxed);
}

static inline void propagate_protection(struct page_counter *c, int64_t usage)
{
	int64_t min_set = limit_of(c, PC_MIN), low_set = limit_of(c, PC_LOW);

	propagate_one(c, PC_MIN, min_set, usage);
	propagate_one(c, PC_LOW, low_set, usage);
}

static inline void note_peak(struct page_counter *c, int64_t usage)
{
	if (usage > atomic_load_explicit(&c->peak, memory_order_relaxed))
		atomic_store_explicit(&c->peak, usage, memory_order_relaxed);
}

/* Returns what is left. */
static inline int64_t cancel(struct page_counter *c, int64_t n)
{
	int64_t left = atomic_fetch_sub_explicit(&c->usage, n, memory_order_seq_cst) - n;

	if (unlikely(left < 0)) {
		static _Atomic bool told;

		if (!atomic_exchange_explicit(&told, true, memory_order_relaxed))
			warn_at(__FILE__, __LINE__, "page counter %p below zero: %lld after -%lld",
				(void *)c, (long long)left, (long long)n);
		/* Other walks may be in flight: add what is missing rather than store zero. */
		atomic_fetch_add_explicit(&c->usage, -left, memory_order_seq_cst);
		left = 0;
	}
	propagate_protection(c, left);
	return left;
}

/* Takes back @n from @c, the level that refused included or not, up to but without @end. */
static void undo(struct page_counter *c, const struct page_counter *end, int64_t n)
{
	for (; c != end; c = c->parent) {
		cancel(c, n);
		/* After the amount: who saw the amount and not this count looks again. */
		if (!PLANTED(UNDONE_SILENT))
			atomic_fetch_add_explicit(&c->undone, 1, memory_order_seq_cst);
	}
}

/*
 * What the walk tells about one level with @now pages and @most allowed.  First what
 * lies beside usage in the packed layout, then the rest: each line is asked for once.
 */
static inline void note_walk(struct page_counter_walk *walk, struct page_counter *c, int64_t now,
			     int64_t most)
{
	int64_t room = most - now;

	walk->over_high |= now > limit_of(c, PC_HIGH);
	if (room < walk->headroom)
		walk->headroom = room;
	walk->tight |= room <= most / 8;
	propagate_protection(c, now);
	note_peak(c, now);
}

static bool pc_try_charge(struct page_counter *pc, int64_t n, struct page_counter **refused,
			  struct page_counter_walk *walk)
{
	*walk = (struct page_counter_walk){ .headroom = PAGE_COUNTER_MAX };
	for (struct page_counter *c = pc; c; c = c->parent) {
		/* Pairs with set(): usage is written before max is read. */
		int64_t now = atomic_fetch_add_explicit(&c->usage, n, memory_order_seq_cst) + n;
		int64_t most = atomic_load_explicit(&c->limit[PC_MAX], memory_order_seq_cst);

		if (unlikely(now > most)) {
			undo(pc, PLANTED(UNDO_FORGOTTEN) ? c : c->parent, n);
			*refused = c;
			return false;
		}
		note_walk(walk, c, now, most);
	}
	return true;
}

static void pc_charge(struct page_counter *pc, int64_t n, struct page_counter_walk *walk)
{
	*walk = (struct page_counter_walk){ .headroom = PAGE_COUNTER_MAX };
	for (struct page_counter *c = pc; c; c = c->parent)
		note_walk(walk, c, atomic_fetch_add_explicit(&c->usage, n, memory_order_seq_cst) + n,
			  limit_of(c, PC_MAX));
}

static void pc_uncharge(struct page_counter *pc, int64_t n)
{
	for (struct page_counter *c = pc; c; c = c->parent)
		cancel(c, n);
}

static int64_t pc_usage(const struct page_counter *c)
{
	int64_t u = atomic_load_explicit(&c->usage, memory_order_seq_cst);

	return u > 0 ? u : 0;
}

static bool pc_over_high(struct page_counter *pc)
{
	for (struct page_counter *c = pc; c; c = c->parent)
		if (atomic_load_explicit(&c->usage, memory_order_relaxed) > limit_of(c, PC_HIGH))
			return true;
	return false;
}

static void pc_peak_restart(struct page_counter *c)
{
	atomic_store_explicit(&c->peak, atomic_load_explicit(&c->usage, memory_order_relaxed),
			      memory_order_relaxed);
}

static int64_t pc_peak(const struct page_counter *c)
{
	return atomic_load_explicit(&c->peak, memory_order_relaxed);
}

static int64_t pc_undone(const struct page_counter *c)
{
	return atomic_load_explicit(&c->undone, memory_order_seq_cst);
}

static int64_t pc_get(const struct page_counter *c, enum page_counter_limit which)
{
	return limit_of(c, which);
}

static void pc_set(struct page_counter *c, enum page_counter_limit which, int64_t pages)
{
	atomic_exchange_explicit(&c->limit[which], pages, memory_order_seq_cst);
	if (which == PC_MIN || which == PC_LOW)
		for (; c; c = c->parent)
			propagate_protection(c, pc_usage(c));
}

static int64_t pc_headroom(const struct page_counter *pc)
{
	int64_t headroom = PAGE_COUNTER_MAX;

	for (const struct page_counter *c = pc; c; c = c->parent) {
		int64_t room = limit_of(c, PC_MAX) - pc_usage(c);

		if (room < headroom)
			headroom = room;
	}
	return headroom;
}

static int64_t pc_children_protected(const struct page_counter *c, enum page_counter_limit which)
{
	return atomic_load_explicit(which == PC_MIN ? &c->children_min_usage
						    : &c->children_low_usage,
				    memory_order_relaxed);
}

#define FIELD(f) { #f, offsetof(struct page_counter, f) }
static const struct page_counter_field pc_fields[] = {
#if PC_PACKED
	FIELD(usage), FIELD(limit), FIELD(emin), FIELD(min_usage), FIELD(children_min_usage),
	FIELD(elow), FIELD(low_usage), FIELD(children_low_usage), FIELD(peak), FIELD(undone),
	FIELD(parent), { NULL, 0 },
#else
	FIELD(usage), FIELD(emin), FIELD(min_usage), FIELD(children_min_usage), FIELD(elow),
	FIELD(low_usage), FIELD(children_low_usage), FIELD(peak), FIELD(undone), FIELD(limit),
	FIELD(parent), { NULL, 0 },
#endif
};

#define PC_STRING_(x) #x
#define PC_STRING(x)  PC_STRING_(x)
#define PC_TABLE_(x)  page_counter_##x
#define PC_TABLE(x)   PC_TABLE_(x)

const struct page_counter_ops PC_TABLE(PC_NAME) = {
	.name = PC_STRING(PC_NAME),
	.size = sizeof(struct page_counter),
	.align = _Alignof(struct page_counter),
	.fields = pc_fields,
	.init = pc_init,
	.try_charge = pc_try_charge,
	.charge = pc_charge,
	.uncharge = pc_uncharge,
	.over_high = pc_over_high,
	.usage = pc_usage,
	.peak = pc_peak,
	.peak_restart = pc_peak_restart,
	.undone = pc_undone,
	.get = pc_get,
	.set = pc_set,
	.headroom = pc_headroom,
	.children_protected = pc_children_protected,
};
