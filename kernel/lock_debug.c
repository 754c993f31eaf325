/* SPDX-License-Identifier: MIT */
/*
 * Debug builds: every lock belongs to a class (the name given at init), and the
 * classes must be taken in one order.
 *
 * Each thread remembers the classes it holds.  Taking B while A is held adds
 * the edge A -> B to a matrix; if B already leads to A, the two orders could
 * meet in a deadlock, and that is reported at once, whether or not it happened
 * this time.  Edges are only added, each with one atomic OR, so no lock is
 * needed; two CPUs that add opposite edges at the same instant may both miss
 * the report, and the next taker gets it.
 */
#include "kernel/lock_debug.h"

#ifdef CONFIG_DEBUG
#include "kernel/log.h"
#include "kernel/string.h"

#define MAX_CLASSES 256
#define MAX_HELD    16

struct lock_held {
	unsigned depth;
	uint16_t class[MAX_HELD];
	const void *lock[MAX_HELD];
};

static _Atomic(const char *) class_name[MAX_CLASSES]; /* 0 is "none" */
static _Atomic uint64_t edges[MAX_CLASSES][MAX_CLASSES / 64];
DEFINE_PER_CPU(struct lock_held, boot_held); /* idle threads, which never migrate */

unsigned lock_debug_class(const char *name, _Atomic uint32_t *cache)
{
	unsigned c = atomic_load_explicit(cache, memory_order_relaxed);

	if (c)
		return c;
	if (!name)
		name = "unnamed";
	for (c = 1; c < MAX_CLASSES; c++) {
		const char *n = atomic_load_explicit(&class_name[c], memory_order_acquire);

		if (!n && atomic_compare_exchange_strong(&class_name[c], &n, name))
			n = name;
		if (!strcmp(n, name))
			break;
	}
	if (c == MAX_CLASSES)
		c = MAX_CLASSES - 1; /* the last one is shared by whatever does not fit */
	atomic_store_explicit(cache, c, memory_order_relaxed);
	return c;
}

static bool has_edge(unsigned from, unsigned to)
{
	return atomic_load_explicit(&edges[from][to / 64], memory_order_relaxed) >> (to % 64) & 1;
}

/* Is there a path from @from to @to?  Depth first over at most MAX_CLASSES classes. */
static bool leads_to(unsigned from, unsigned to)
{
	uint64_t seen[MAX_CLASSES / 64] = { 0 };
	uint8_t stack[MAX_CLASSES];
	unsigned n = 0;

	stack[n++] = (uint8_t)from;
	seen[from / 64] |= 1ULL << (from % 64);
	while (n) {
		unsigned c = stack[--n];

		if (has_edge(c, to))
			return true;
		for (unsigned w = 0; w < MAX_CLASSES / 64; w++) {
			uint64_t next = atomic_load_explicit(&edges[c][w], memory_order_relaxed) &
					~seen[w];

			seen[w] |= next;
			while (next) {
				stack[n++] = (uint8_t)(w * 64 + (unsigned)__builtin_ctzll(next));
				next &= next - 1;
			}
		}
	}
	return false;
}

/* Before the scheduler starts there is no current thread. */
static struct lock_held *held_of(struct thread *t)
{
	return t && t->held ? t->held : &this_cpu(boot_held);
}

static const char *thread_name(struct thread *t)
{
	return t ? t->name : "boot";
}

static void count_depth(struct thread *t, int n)
{
	if (t)
		t->spin_depth += n;
}

static const char *name_of(unsigned c)
{
	const char *n = atomic_load_explicit(&class_name[c], memory_order_relaxed);

	return n ? n : "?";
}

static void check(const void *lock, unsigned c, bool nested)
{
	struct lock_held *h = held_of(current);

	for (unsigned i = 0; i < h->depth && i < MAX_HELD; i++) {
		unsigned a = h->class[i];

		if (h->lock[i] == lock)
			panic("lock %s taken twice by thread %s", name_of(c), thread_name(current));
		if (a == c) {
			if (!nested)
				warn_at(__FILE__, __LINE__,
					"lock order: two locks of class %s without nesting",
					name_of(c));
			continue;
		}
		if (has_edge(a, c))
			continue;
		if (leads_to(c, a))
			warn_at(__FILE__, __LINE__,
				"lock order: %s taken under %s, elsewhere the other way",
				name_of(c), name_of(a));
		atomic_fetch_or_explicit(&edges[a][c / 64], 1ULL << (c % 64), memory_order_relaxed);
	}
}

unsigned lock_debug_acquire(const void *lock, const char *name, _Atomic uint32_t *cache,
			    bool nested)
{
	unsigned c = lock_debug_class(name, cache);

	check(lock, c, nested);
	return c;
}

void lock_debug_acquired(const void *lock, unsigned c)
{
	struct lock_held *h = held_of(current);

	if (h->depth < MAX_HELD) {
		h->class[h->depth] = (uint16_t)c;
		h->lock[h->depth] = lock;
	}
	h->depth++;
}

void lock_debug_release(const void *lock, const char *name)
{
	struct lock_held *h = held_of(current);
	unsigned i = min(h->depth, (unsigned)MAX_HELD);

	while (i && h->lock[i - 1] != lock)
		i--;
	if (!i) {
		if (h->depth <= MAX_HELD)
			panic("thread %s releases %s without holding it", thread_name(current),
			      name);
		h->depth--;
		return;
	}
	for (; i < h->depth && i < MAX_HELD; i++) {
		h->class[i - 1] = h->class[i];
		h->lock[i - 1] = h->lock[i];
	}
	h->depth--;
}

void lock_debug_dump(void)
{
	for (unsigned a = 1; a < MAX_CLASSES; a++) {
		char text[200];
		size_t n = 0;

		for (unsigned b = 1; b < MAX_CLASSES; b++)
			if (has_edge(a, b) && n < sizeof(text) - 30)
				n += (size_t)scnprintf(text + n, sizeof(text) - n, " %s,",
						       name_of(b));
		if (n)
			pr_info("lock order: %s ->%s", name_of(a), text);
	}
}

size_t lock_debug_thread_size(void)
{
	return sizeof(struct lock_held);
}

void spin_init(struct spinlock *l, const char *name)
{
	atomic_init(&l->word, 0);
	l->head = NULL;
	l->name = name;
	atomic_init(&l->class, 0);
	atomic_init(&l->owner, NULL);
}

static void lock_checked(struct spinlock *l, bool nested)
{
	unsigned c = lock_debug_acquire(l, l->name, &l->class, nested);

	/* Start-up runs with interrupts off, without a thread or as the idle thread (id 0). */
	if (!irqs_enabled() && nr_cpus > 1 && current && current->tid)
		panic("spinlock %s taken with interrupts off", name_of(c));
	if (static_branch(&lock_stat_key) || !spin_take(l))
		spin_lock_slow(l);
	atomic_store_explicit(&l->owner, current, memory_order_relaxed);
	count_depth(current, 1);
	lock_debug_acquired(l, c);
}
void spin_lock(struct spinlock *l)
{
	lock_checked(l, false);
}
void spin_lock_nested(struct spinlock *l)
{
	lock_checked(l, true);
}
bool spin_trylock(struct spinlock *l)
{
	if (!spin_take(l))
		return false;
	if (static_branch(&lock_stat_key))
		spin_watch(l);
	atomic_store_explicit(&l->owner, current, memory_order_relaxed);
	count_depth(current, 1);
	lock_debug_acquired(l, lock_debug_class(l->name, &l->class)); /* cannot deadlock: no edge */
	return true;
}
void spin_unlock(struct spinlock *l)
{
	uintptr_t held = 1;

	if (atomic_load_explicit(&l->owner, memory_order_relaxed) != current)
		panic("spinlock %s released by thread %s, not its holder", l->name ? l->name : "?",
		      thread_name(current));
	lock_debug_release(l, l->name);
	count_depth(current, -1);
	atomic_store_explicit(&l->owner, NULL, memory_order_relaxed);
	if (l->head || !atomic_compare_exchange_strong_explicit(
			       &l->word, &held, 0, memory_order_release, memory_order_relaxed))
		spin_unlock_slow(l);
}

void might_sleep_at(const char *file, int line)
{
	struct thread *t = current;

	if (!t)
		return;
	if (t->spin_depth || t->rcu_depth || !irqs_enabled())
		panic("%s:%d: may sleep with %d spinlocks, RCU depth %d, interrupts %s (thread %s)",
		      file, line, t->spin_depth, t->rcu_depth, irqs_enabled() ? "on" : "off",
		      t->name);
}
#endif
