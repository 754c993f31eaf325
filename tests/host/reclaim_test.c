/* SPDX-License-Identifier: MIT */
/*
 * Reclaim: lists, second chance, refaults, the shared walk, protection to Linux's
 * numbers, and groups that are removed under it.  Files are tables of pages here.
 *
 * SOURCES: mm/bootmem.c mm/page_alloc.c mm/page_stats.c mm/each_cpu.c mm/page_counter_packed.c mm/page_counter_split.c mm/stock.c mm/stock_sum.c mm/owner.c mm/memcg.c mm/memcg_limit.c mm/memcg_account.c mm/memcg_charge.c mm/memcg_exact.c mm/memcg_stat.c mm/memcg_events.c mm/memcg_config.c mm/memcg_id.c mm/memcg_walk.c mm/lru.c mm/workingset.c mm/reclaim.c mm/reclaim_group.c mm/protection.c net/sock_mem.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "arch/host/host.h"
#include "kernel/rcu.h"
#include "kernel/string.h"
#include "mm/memcg_tree.h"
#include "mm/memcg_walk.h"
#include "mm/page_cache.h"
#include "mm/psi.h"
#include "mm/reclaim.h"
#include "mm/reclaim_int.h"
#include "mm/slab.h"
#include "mm/stock.h"

/* The slab on the C library's heap, where the address sanitizer sees every object. */
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
	void *p = aligned_alloc(c->align, ALIGN_UP(c->size, c->align));

	memset(p, 0, c->size);
	return p;
}
void kmem_cache_free(struct kmem_cache *c, void *obj)
{
	free(obj);
}
void kswapd_wake(void)
{
}
bool reclaim_for_alloc(unsigned order)
{
	return false;
}
void slab_drain(void)
{
}
void kstack_drain(void)
{
}

/* What the tests leave out: processes. */
bool oom_kill(struct memcg *mg, const char *why, uint64_t pages)
{
	return false;
}
bool memcg_dying(void)
{
	return false;
}
bool memcg_wait_victim(void)
{
	return false;
}
struct owner *current_owner(void)
{
	return NULL;
}
void memcg_note_high(struct account *a, uint64_t pages)
{
}
void memcg_pay_high_now(void)
{
}
void psi_stall_begin(struct psi_stall *s)
{
}
void psi_stall_end(struct psi_stall *s)
{
}
void psi_free(struct memcg *m)
{
}

/* ---- files ---- */

#define FILE_PAGES 4096
struct table {
	struct spinlock lock;
	struct page *page[FILE_PAGES];
	uintptr_t shadow[FILE_PAGES];
	unsigned present;
	bool dirty; /* nothing can be evicted now */
};

/* Takes the index's reference and a charge, as the page cache does. */
static struct page *file_read(struct table *f, unsigned n, struct owner *o)
{
	struct page *p;

	spin_lock(&f->lock);
	p = f->page[n];
	if (p)
		page_get(p);
	spin_unlock(&f->lock);
	if (p) {
		lru_touch(p);
		return p;
	}
	p = page_alloc(0, PAGE_FILE, 0);
	HOST_CHECK(p);
	HOST_CHECK_EQ(memcg_charge_page(p, o, MEMCG_FILE, 0), 0);
	p->mapping = (struct mapping *)f;
	p->index = n;
	if (f->shadow[n])
		workingset_refault(p, f->shadow[n]);
	spin_lock(&f->lock);
	HOST_CHECK(!f->page[n]);
	f->page[n] = p;
	f->shadow[n] = 0;
	f->present++;
	page_get(p);
	spin_unlock(&f->lock);
	lru_add(p);
	lru_touch(p);
	return p;
}

static void file_use(struct table *f, unsigned n, struct owner *o)
{
	page_put(file_read(f, n, o));
}

static void file_drop(struct table *f, unsigned from)
{
	for (unsigned n = from; n < FILE_PAGES; n++) {
		struct page *p;

		spin_lock(&f->lock);
		p = f->page[n];
		f->page[n] = NULL;
		f->present -= p != NULL;
		if (p)
			p->mapping = NULL;
		spin_unlock(&f->lock);
		if (p)
			page_put(p);
	}
}

int page_cache_evict(struct page *p)
{
	struct table *f = (struct table *)p->mapping;
	int err = -EBUSY;

	if (!f)
		return -EBUSY;
	if (f->dirty)
		return -EAGAIN;
	spin_lock(&f->lock);
	if (f->page[p->index] == p && atomic_load(&p->refs) == 2) {
		f->page[p->index] = NULL;
		f->shadow[p->index] = workingset_eviction(p);
		f->present--;
		p->mapping = NULL;
		err = 0;
	}
	spin_unlock(&f->lock);
	if (!err)
		page_put(p);
	return err;
}

static struct table *file_make(void)
{
	struct table *f = calloc(1, sizeof(*f));

	spin_init(&f->lock, "test_file");
	return f;
}

/* ---- groups ---- */

static void start(void)
{
	page_alloc_init_percpu();
	memcg_config_preset("tally");
	memcg_init();
	lru_init();
	HOST_CHECK_EQ(memcg_control(memcg_root, MEMCG_CTL_MEMORY, 0), 0);
}

static struct memcg *make(struct memcg *parent, const char *name, bool inner)
{
	struct memcg *m = memcg_create(parent, name);

	HOST_CHECK(!IS_ERR(m));
	memcg_put(m); /* the directory's reference is enough here */
	if (inner)
		HOST_CHECK_EQ(memcg_control(m, MEMCG_CTL_MEMORY, 0), 0);
	return m;
}

static struct owner *owner_of(struct memcg *m)
{
	return atomic_load(&m->owner);
}

static int64_t usage(struct memcg *m)
{
	int64_t u;

	rcu_read_lock();
	stock_sweep(memcg_account(m), NULL);
	u = account_usage(memcg_account(m));
	rcu_read_unlock();
	return u;
}

static int64_t stat(struct memcg *m, enum reclaim_stat which)
{
	return reclaim_stat_read(memcg_account(m), which);
}

static uint64_t listed(struct memcg *m, enum lru_list which)
{
	return lru_nr(&account_reclaim(memcg_account(m))->lru, which);
}

static uint64_t event(struct memcg *m, enum memcg_event ev)
{
	return atomic_load(&memcg_account(m)->events[ev]);
}

/* ---- tests ---- */

static void lists(void)
{
	struct table *f = file_make();
	struct memcg *m;
	struct page *held;

	start();
	m = make(memcg_root, "a", false);
	for (unsigned n = 0; n < 400; n++)
		file_use(f, n, owner_of(m));
	HOST_CHECK_EQ(usage(m), 400);
	HOST_CHECK_EQ(listed(m, LRU_INACTIVE), 400);
	/* The oldest go first. */
	HOST_CHECK_EQ(memcg_reclaim_group(m, 100), 100);
	HOST_CHECK_EQ(usage(m), 300);
	for (unsigned n = 0; n < 400; n++)
		HOST_CHECK_EQ(!!f->page[n], n >= 100);
	/* Used again: stay.  Referenced: stay. */
	for (unsigned n = 100; n < 150; n++)
		file_use(f, n, owner_of(m));
	held = file_read(f, 150, owner_of(m));
	HOST_CHECK_EQ(memcg_reclaim_group(m, 200), 200);
	for (unsigned n = 100; n < 151; n++)
		HOST_CHECK(f->page[n]);
	HOST_CHECK_EQ(usage(m), 100);
	HOST_CHECK(listed(m, LRU_ACTIVE) >= 50);
	HOST_CHECK_EQ(stat(m, RS_active_file), (int64_t)listed(m, LRU_ACTIVE));
	HOST_CHECK_EQ(stat(m, RS_pgsteal_direct), 300);
	HOST_CHECK(stat(m, RS_pgscan_direct) >= 300);
	/* Everything but the one that is held; the active list gives way, too. */
	HOST_CHECK_EQ(memcg_reclaim_group(m, 1000), 99);
	HOST_CHECK_EQ(usage(m), 1);
	HOST_CHECK_EQ(memcg_reclaim_group(m, 1), 0);
	page_put(held);
	/* Dirty pages stay, and are told apart from having nothing. */
	for (unsigned n = 0; n < 64; n++)
		file_use(f, n, owner_of(m));
	f->dirty = true;
	{
		struct reclaim_request q = { .top = m, .want = 32 };

		reclaim_run(&q);
		HOST_CHECK_EQ(q.freed, 0);
		HOST_CHECK(q.later);
	}
	f->dirty = false;
	/* Truncated pages leave their list when they are freed. */
	file_drop(f, 0);
	HOST_CHECK_EQ(usage(m), 0);
	HOST_CHECK_EQ(listed(m, LRU_INACTIVE) + listed(m, LRU_ACTIVE), 0);
	HOST_CHECK_EQ(stat(m, RS_active_file), 0);
	free(f);
}

static void test_lists(void **state)
{
	assert_int_equal(host_run(2, lists), 0);
}

/* A set that just does not fit: once part is active, what is read again too early joins it. */
static void refaults(void)
{
	struct table *f = file_make();
	struct memcg *m;

	start();
	m = make(memcg_root, "a", false);
	memcg_set_max(m, 600);
	for (unsigned n = 0; n < 400; n++) {
		file_use(f, n, owner_of(m));
		file_use(f, n, owner_of(m));
	}
	for (unsigned n = 1000; n < 2000; n++)
		file_use(f, n, owner_of(m)); /* promotes the 400 */
	/* Not more than the inactive list holds. */
	HOST_CHECK(listed(m, LRU_ACTIVE) >= 250);
	HOST_CHECK_EQ(stat(m, RS_workingset_refault_file), 0);
	for (unsigned n = 1600; n < 1700; n++)
		file_use(f, n, owner_of(m)); /* evicted not long ago */
	HOST_CHECK(stat(m, RS_workingset_refault_file) > 0);
	HOST_CHECK(stat(m, RS_workingset_activate_file) > 0);
	/* The whole file again: far beyond what the active list holds. */
	HOST_CHECK_EQ(usage(m) <= 600, 1);
	file_drop(f, 0);
	HOST_CHECK_EQ(usage(m), 0);
	free(f);
}

static void test_refaults(void **state)
{
	assert_int_equal(host_run(2, refaults), 0);
}

/* Each group below gets its turn, whoever asks. */
static void turns(void)
{
	struct memcg *top, *sub[9];
	struct table *f[9];

	start();
	top = make(memcg_root, "top", true);
	for (unsigned i = 0; i < 9; i++) {
		char name[2] = { (char)('a' + i), 0 };

		sub[i] = make(top, name, false);
		f[i] = file_make();
		for (unsigned n = 0; n < 320; n++)
			file_use(f[i], n, owner_of(sub[i]));
	}
	for (unsigned round = 0; round < 18; round++)
		HOST_CHECK_EQ(memcg_reclaim_group(top, 32), 32);
	HOST_CHECK_EQ(usage(top), 9 * 320 - 18 * 32);
	for (unsigned i = 0; i < 9; i++) {
		int64_t gave = 320 - usage(sub[i]);

		HOST_CHECK(gave >= 32 && gave <= 96);
	}
	/* A removed one's pages are its parent's, and still to be had. */
	HOST_CHECK_EQ(memcg_remove(sub[4]), 0);
	HOST_CHECK(listed(top, LRU_INACTIVE) > 200);
	HOST_CHECK_EQ(memcg_reclaim_group(top, 100000), 9 * 320 - 18 * 32);
	HOST_CHECK_EQ(usage(top), 0);
	for (unsigned i = 0; i < 9; i++)
		HOST_CHECK_EQ(f[i]->present, 0);
}

static void test_turns(void **state)
{
	assert_int_equal(host_run(2, turns), 0);
}

/*
 * The figures of Linux's selftests at a tenth of the size: B has 5 MiB for C, D, E, F,
 * which claim 7.5, 2.5, 0 and 50 and use 5, 5, 5 and 0.
 */
#define TENTH_MIB (MIB / 10 / PAGE_SIZE)
#define MIB       (1UL << 20)
static void protect(enum page_counter_limit which, bool recursive)
{
	static const unsigned claims[] = { 75, 25, 0, 500 }, uses[] = { 50, 50, 50, 0 };
	struct memcg *a, *b, *c[4], *g;
	struct table *f[4], *fg = file_make();
	int64_t left[4];

	start();
	atomic_store(&protection_recursive, recursive);
	a = make(memcg_root, "a", true);
	b = make(a, "b", true);
	g = make(a, "g", false);
	memcg_set_max(a, 200 * TENTH_MIB);
	memcg_set_limit(b, which, 50 * TENTH_MIB);
	for (unsigned i = 0; i < 4; i++) {
		char name[2] = { (char)('c' + i), 0 };

		c[i] = make(b, name, false);
		memcg_set_limit(c[i], which, claims[i] * TENTH_MIB);
		f[i] = file_make();
		for (unsigned n = 0; n < uses[i] * TENTH_MIB; n++)
			file_use(f[i], n, owner_of(c[i]));
	}
	/* Pressure: what cannot be taken back, in g. */
	HOST_CHECK_EQ(memcg_charge(owner_of(g), 148 * TENTH_MIB, MEMCG_ANON, CHARGE_NOOOM), 0);
	for (unsigned i = 0; i < 4; i++)
		left[i] = usage(c[i]);
	print_message("%s%s: C %ld D %ld E %ld of 29 21 0 (tenths of MiB); B %ld\n",
		      which == PC_MIN ? "min" : "low", recursive ? ", recursive" : "",
		      (long)(left[0] / (int64_t)TENTH_MIB), (long)(left[1] / (int64_t)TENTH_MIB),
		      (long)(left[2] / (int64_t)TENTH_MIB), (long)(usage(b) / (int64_t)TENTH_MIB));
	HOST_CHECK(left[0] > 26 * (int64_t)TENTH_MIB && left[0] < 32 * (int64_t)TENTH_MIB);
	HOST_CHECK(left[1] > 19 * (int64_t)TENTH_MIB && left[1] < 23 * (int64_t)TENTH_MIB);
	HOST_CHECK(left[2] < 3 * (int64_t)TENTH_MIB);
	HOST_CHECK_EQ(left[3], 0);
	HOST_CHECK_EQ(event(c[0], MEMCG_EV_LOW), 0);
	/* More than is there without the protected: min refuses, low gives way and says so. */
	if (which == PC_MIN) {
		HOST_CHECK_EQ(memcg_charge(owner_of(g), 22 * TENTH_MIB, MEMCG_ANON, CHARGE_NOOOM),
			      -ENOMEM);
		HOST_CHECK(usage(b) > 47 * (int64_t)TENTH_MIB);
	} else {
		HOST_CHECK_EQ(memcg_charge(owner_of(g), 18 * TENTH_MIB, MEMCG_ANON, CHARGE_NOOOM),
			      0);
		HOST_CHECK(event(c[0], MEMCG_EV_LOW) > 0);
		HOST_CHECK(event(c[1], MEMCG_EV_LOW) > 0);
		HOST_CHECK_EQ(event(c[3], MEMCG_EV_LOW), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		file_drop(f[i], 0);
	free(fg);
}

static void protect_min(void)
{
	protect(PC_MIN, false);
}
static void protect_low(void)
{
	protect(PC_LOW, false);
}
static void protect_low_recursive(void)
{
	protect(PC_LOW, true);
}

static void test_protection(void **state)
{
	assert_int_equal(host_run(2, protect_min), 0);
	assert_int_equal(host_run(2, protect_low), 0);
	assert_int_equal(host_run(2, protect_low_recursive), 0);
}

/* Unclaimed protection goes to children only with the mount option. */
static void unclaimed(void)
{
	struct memcg *a, *b;
	struct protection p;
	struct table *f = file_make(), *g = file_make();

	start();
	a = make(memcg_root, "a", true);
	memcg_set_limit(a, PC_LOW, 1000);
	b = make(a, "b", false);
	for (unsigned n = 0; n < 500; n++)
		file_use(f, n, owner_of(b));
	(void)usage(a);
	rcu_read_lock();
	protection_of(memcg_account(b), root_account, &p);
	HOST_CHECK_EQ(p.low, 0);
	atomic_store(&protection_recursive, true);
	protection_of(memcg_account(b), root_account, &p);
	HOST_CHECK_EQ(p.low, 1000);
	protection_of(memcg_account(a), root_account, &p);
	HOST_CHECK_EQ(p.low, 1000);
	/* From the group itself its own setting does not count. */
	protection_of(memcg_account(a), memcg_account(a), &p);
	HOST_CHECK_EQ(p.low, 0);
	rcu_read_unlock();
	file_drop(f, 0);
	free(g);
}

static void test_unclaimed(void **state)
{
	assert_int_equal(host_run(1, unclaimed), 0);
}

/*
 * CPUs read far more than fits into groups of one subtree, while groups come and go
 * and the lock of the look-ups changes.  At the end every page is accounted for.
 */
#define READERS 3
static struct memcg *busy_top, *busy[READERS];
static struct table *busy_file[READERS];
static _Atomic unsigned running;
static _Atomic bool stop;

static void busy_reader(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	uint64_t seed = me + 1;

	for (unsigned i = 0; i < 20000; i++) {
		file_use(busy_file[me], (unsigned)(host_random(&seed) % FILE_PAGES),
			 owner_of(busy[me]));
		if (i % 64 == 0)
			cond_resched();
	}
	atomic_fetch_sub(&running, 1);
}

static void busy_maker(void *arg)
{
	static const char *const walks[] = { "spin", "rwlock", "rcu" };
	struct table *f = file_make();

	for (unsigned round = 0; !atomic_load(&stop); round++) {
		struct memcg *m = make(busy_top, "x", false);

		memcg_config_set("memcg.walk", walks[round % 3]);
		for (unsigned n = 0; n < 100; n++)
			file_use(f, n, owner_of(m));
		/* Its pages live on as the parent's. */
		HOST_CHECK_EQ(memcg_remove(m), 0);
		if (round % 4 == 3)
			file_drop(f, 0);
		thread_sleep_until(clock_ns() + 200 * NSEC_PER_USEC, false);
	}
	file_drop(f, 0);
	free(f);
	atomic_fetch_sub(&running, 1);
}

static void churn(void)
{
	uint64_t before;

	start();
	before = memcg_lookup_count();
	busy_top = make(memcg_root, "top", true);
	memcg_set_max(busy_top, 2500);
	for (unsigned i = 0; i < READERS; i++) {
		char name[2] = { (char)('a' + i), 0 };
		struct thread *t;

		busy[i] = make(busy_top, name, false);
		memcg_set_max(busy[i], 1000);
		busy_file[i] = file_make();
		atomic_fetch_add(&running, 1);
		t = thread_create("reader", busy_reader, (void *)(uintptr_t)i, -1);
		thread_start(t);
		thread_put(t);
	}
	atomic_fetch_add(&running, 1);
	{
		struct thread *t = thread_create("maker", busy_maker, NULL, -1);

		thread_start(t);
		thread_put(t);
	}
	while (atomic_load(&running) > 1)
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	atomic_store(&stop, true);
	while (atomic_load(&running))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	HOST_CHECK(memcg_lookup_count() > before);
	for (unsigned i = 0; i < READERS; i++) {
		uint64_t listed_here = listed(busy[i], LRU_INACTIVE) + listed(busy[i], LRU_ACTIVE);

		HOST_CHECK_EQ(usage(busy[i]), busy_file[i]->present);
		HOST_CHECK_EQ(listed_here, busy_file[i]->present);
		HOST_CHECK(usage(busy[i]) <= 1000);
		file_drop(busy_file[i], 0);
		HOST_CHECK_EQ(usage(busy[i]), 0);
		HOST_CHECK_EQ(stat(busy[i], RS_active_file), 0);
	}
	HOST_CHECK_EQ(usage(busy_top), 0);
}

static void test_churn(void **state)
{
	assert_int_equal(host_run(4, churn), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),      cmocka_unit_test(test_refaults),
		cmocka_unit_test(test_turns),      cmocka_unit_test(test_protection),
		cmocka_unit_test(test_unclaimed),  cmocka_unit_test(test_churn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
