/* SPDX-License-Identifier: MIT */
/*
 * The page cache on a store that the test plays: what read-ahead asks for, what
 * write-back sends, both with failures; and reading, writing, write-back, truncation and
 * eviction of one file at once.
 *
 * Each page has one word that counts, its first; it says page and generation.  The other
 * words are never looked at while others may write them.
 *
 * SOURCES: mm/bootmem.c mm/page_alloc.c mm/page_stats.c mm/each_cpu.c mm/slab.c mm/slab_slow.c mm/kmalloc.c mm/page_index.c mm/page_cache.c mm/page_lock.c mm/dirty.c mm/readahead.c mm/writeback.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/host/mm_stub.h"
#include "kernel/param.h"
#include "kernel/process.h"
#include "kernel/rcu.h"
#include "kernel/thread.h"
#include "kernel/wait.h"
#include "mm/dirty.h"
#include "mm/psi.h"
#include "mm/slab.h"

void psi_stall_begin(struct psi_stall *s)
{
}
void psi_stall_end(struct psi_stall *s)
{
}
void owner_get(struct owner *o)
{
}
void owner_put(struct owner *o)
{
}
void memcg_gauge_add(struct owner *o, enum memcg_gauge g, int64_t pages)
{
}
bool memcg_dirty_over(struct owner *o, unsigned percent)
{
	return false;
}
void lru_add_pages(struct page *const *p, unsigned n)
{
}
void lru_remove(struct page *p)
{
	HOST_CHECK(false); /* nobody here puts pages on lists */
}
uintptr_t workingset_eviction(struct page *p)
{
	return p->index << 1 | 1;
}
void workingset_refault(struct page *p, uintptr_t shadow)
{
	HOST_CHECK_EQ(shadow, p->index << 1 | 1);
}
bool rmap_unmap(struct mapping *m, struct page *p)
{
	return false;
}
void rmap_write_protect(struct mapping *m, uint64_t first, uint64_t last)
{
}

/* ---- the store ---- */

#define PAGES 600u

/* One request, as the store saw it. */
struct seen {
	uint64_t first;
	unsigned n;
	bool write;
};

/* A page whose request is not answered yet. */
struct pending {
	struct page *p;
	bool write;
};

static struct {
	_Atomic uint64_t word[PAGES];   /* the first word of each page */
	struct seen seen[256];          /* [l] the first requests */
	unsigned nr_seen;               /* [l] */
	int err;                        /* what each @fail_every'th request fails with */
	unsigned fail_every, asked;     /* [l] */
	_Atomic bool later;             /* answers come from answer_one() */
	struct spinlock lock;
	struct pending queue[PAGES + 64]; /* [l] */
	unsigned nr_queued;             /* [l] */
} store;

static struct mapping map;
static _Atomic int64_t size;
static _Atomic bool alive = true; /* the owner can be had */

static _Atomic uint64_t *word_of(struct page *p)
{
	return (_Atomic uint64_t *)page_virt(p);
}

static void answer(struct page *p, bool write, int err)
{
	uint64_t n = p->index;

	if (write) {
		if (!err)
			atomic_store(&store.word[n], atomic_load(word_of(p)));
		page_write_done(p, err);
	} else {
		if (!err)
			atomic_store(word_of(p), atomic_load(&store.word[n]));
		page_read_done(p, err);
	}
}

/* Any one of what waits, so answers come in another order than questions.  False: nothing does. */
static bool answer_one(uint64_t random)
{
	struct pending q;

	spin_lock(&store.lock);
	if (!store.nr_queued) {
		spin_unlock(&store.lock);
		return false;
	}
	random %= store.nr_queued;
	q = store.queue[random];
	store.queue[random] = store.queue[--store.nr_queued];
	spin_unlock(&store.lock);
	answer(q.p, q.write, 0);
	return true;
}

static void request(struct page **v, unsigned n, bool write)
{
	int err;

	HOST_CHECK(n >= 1 && n <= RUN_PAGES);
	spin_lock(&store.lock);
	if (store.nr_seen < ARRAY_SIZE(store.seen))
		store.seen[store.nr_seen++] = (struct seen){ v[0]->index, n, write };
	err = store.fail_every && store.asked++ % store.fail_every == 0 ? store.err : 0;
	for (unsigned i = 0; i < n && store.later; i++) {
		HOST_CHECK(store.nr_queued < ARRAY_SIZE(store.queue));
		store.queue[store.nr_queued++] = (struct pending){ v[i], write };
	}
	spin_unlock(&store.lock);
	for (unsigned i = 0; i < n && !store.later; i++)
		answer(v[i], write, err);
}

static void read_pages(struct mapping *m, struct page **v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		HOST_CHECK(page_has(v[i], PG_locked) && !page_has(v[i], PG_uptodate));
		HOST_CHECK_EQ(v[i]->index, v[0]->index + i);
	}
	request(v, n, false);
}

static void write_pages(struct mapping *m, struct page **v, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		HOST_CHECK(page_has(v[i], PG_writeback));
		HOST_CHECK_EQ(v[i]->index, v[0]->index + i);
	}
	request(v, n, true);
}

static int prepare_write(struct mapping *m, uint64_t n, bool within)
{
	return 0;
}

static bool tryget(struct mapping *m)
{
	return atomic_load(&alive);
}

static void put(struct mapping *m)
{
}

static const struct mapping_ops ops = {
	.read_pages = read_pages, .write_pages = write_pages, .prepare_write = prepare_write,
	.tryget = tryget, .put = put,
};

/* A file of @pages pages; page n holds n + 1.  @eager: the write-back thread waits for nothing. */
static void begin(unsigned pages, bool eager)
{
	page_alloc_init_percpu();
	page_cache_init();
	if (eager) {
		HOST_CHECK_EQ(param_set(param_find("writeback.expire_ms"), "0"), 0);
		HOST_CHECK_EQ(param_set(param_find("writeback.interval_ms"), "10"), 0);
	}
	writeback_init();
	spin_init(&store.lock, "store");
	for (unsigned i = 0; i < PAGES; i++)
		atomic_store(&store.word[i], i + 1);
	atomic_store(&size, (int64_t)pages * PAGE_SIZE);
	HOST_CHECK_EQ(mapping_init(&map, &ops, &size, NULL), 0);
}

/* Nothing may be left. */
static void end(void)
{
	mapping_destroy(&map);
	rcu_barrier();
	HOST_CHECK_EQ(page_cache_pages(), 0);
	HOST_CHECK_EQ(writeback_nr_dirty(), 0);
	HOST_CHECK_EQ(writeback_nr_writeback(), 0);
	HOST_CHECK_EQ(stub_pages, 0);
	slab_drain();
	page_drain_pcp();
	check_sum();
}

static void read_one(struct ra_state *ra, uint64_t n, unsigned want)
{
	struct page *p = page_cache_read(&map, ra, n, want);

	HOST_CHECK(!IS_ERR(p));
	HOST_CHECK_EQ(p->index, n);
	HOST_CHECK_EQ(atomic_load(word_of(p)), n + 1);
	page_put(p);
}

static void check_seen(unsigned i, uint64_t first, unsigned n)
{
	HOST_CHECK(i < store.nr_seen);
	HOST_CHECK_EQ(store.seen[i].first, first);
	HOST_CHECK_EQ(store.seen[i].n, n);
}

/* ---- reading ---- */

static void windows(void)
{
	static const unsigned sizes[] = { 8, 16, 32, 64, 64, 64, 64, 64, 64, 64, 64, 32 };
	struct ra_state ra = { 0 };
	uint64_t at = 0;

	begin(596, false);
	for (uint64_t n = 0; n < 596; n++) {
		read_one(&ra, n, 1);
		/* Whoever reaches the middle of a window has started the next one. */
		if (n == 4)
			HOST_CHECK_EQ(store.nr_seen, 2);
		if (n == 7)
			HOST_CHECK_EQ(store.nr_seen, 2);
		if (n == 8 + 8)
			HOST_CHECK_EQ(store.nr_seen, 3);
	}
	/* Each page once, the last window as long as the file. */
	for (unsigned i = 0; i < store.nr_seen; i++) {
		unsigned want = (unsigned)min((uint64_t)sizes[min(i, 3u)], 596 - at);

		check_seen(i, at, want);
		at += want;
	}
	HOST_CHECK_EQ(at, 596);
	HOST_CHECK_EQ(PTR_ERR(page_cache_read(&map, &ra, 596, 1)), -ENODATA);
	HOST_CHECK_EQ(PTR_ERR(page_cache_read(&map, NULL, 1ULL << 40, 1)), -ENODATA);
	end();
}

static void here_and_there(void)
{
	struct ra_state ra = { 0 };

	begin(300, false);
	read_one(&ra, 100, 3); /* what was asked for */
	check_seen(0, 100, 3);
	read_one(&ra, 50, 1);
	check_seen(1, 50, 1);
	read_one(NULL, 52, 1); /* without a state: just that */
	check_seen(2, 52, 1);
	read_one(&ra, 48, 8); /* what is there already is not read again */
	check_seen(3, 48, 2);
	read_one(&ra, 51, 1);
	read_one(&ra, 200, 200); /* never more than a run */
	for (unsigned i = 0; i < store.nr_seen; i++)
		HOST_CHECK(store.seen[i].n <= RUN_PAGES);
	HOST_CHECK_EQ(store.seen[store.nr_seen - 1].n, RUN_PAGES);
	end();
}

static void test_windows(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, windows), 0);
}

static void test_here_and_there(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, here_and_there), 0);
}

/* A window that fails is tried again page by page, once per reader; a later reader may succeed. */
static void failing_reads(void)
{
	struct ra_state ra = { 0 };
	unsigned before;

	begin(100, false);
	store.err = -EIO;
	store.fail_every = 1;
	HOST_CHECK_EQ(PTR_ERR(page_cache_read(&map, &ra, 0, 1)), -EIO);
	HOST_CHECK_EQ(store.nr_seen, 2); /* the window, and page 0 once more */
	check_seen(1, 0, 1);
	store.fail_every = 0;
	before = store.nr_seen;
	read_one(&ra, 0, 1);
	HOST_CHECK_EQ(store.nr_seen, before + 1);
	store.fail_every = 2; /* every other: who asks again gets it */
	store.asked = 0;
	for (uint64_t n = 0; n < 100; n++) {
		struct page *p = page_cache_read(&map, &ra, n, 1);

		if (IS_ERR(p)) {
			HOST_CHECK_EQ(PTR_ERR(p), -EIO);
			read_one(&ra, n, 1);
		} else {
			page_put(p);
		}
	}
	end();
}

static void test_failing_reads(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, failing_reads), 0);
}

/* What cannot be charged or allocated shortens a window; only the page itself is an error. */
static void short_of_memory(void)
{
	struct ra_state ra = { 0 };
	unsigned got = 0;

	begin(300, false);
	stub_charging = true;
	atomic_store(&stub_limit, 5);
	read_one(&ra, 0, 64);
	check_seen(0, 0, 5);
	HOST_CHECK_EQ(stub_pages, 5);
	HOST_CHECK_EQ(PTR_ERR(page_cache_read(&map, &ra, 5, 1)), -ENOMEM);
	HOST_CHECK_EQ(mapping_shrink(&map), 5);
	HOST_CHECK_EQ(stub_pages, 0);
	atomic_store(&stub_limit, INT64_MAX);
	for (unsigned every = 2; every < 12; every++) {
		for (uint64_t n = 0; n < 300; n++) {
			struct page *p;

			fail_alloc_every = every;
			p = page_cache_read(&map, &ra, n, 1 + n % 8);
			fail_alloc_every = 0;
			if (IS_ERR(p)) {
				HOST_CHECK_EQ(PTR_ERR(p), -ENOMEM);
				continue;
			}
			HOST_CHECK_EQ(atomic_load(word_of(p)), n + 1);
			page_put(p);
			got++;
		}
		(void)mapping_shrink(&map);
	}
	HOST_CHECK(got > 300);
	end();
}

static void test_short_of_memory(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, short_of_memory), 0);
}

/* ---- writing ---- */

static void write_word(uint64_t n, uint64_t v)
{
	struct page *p = page_cache_read(&map, NULL, n, 1);

	HOST_CHECK(!IS_ERR(p));
	atomic_store(word_of(p), v);
	page_mark_dirty(p);
	page_put(p);
}

/* Requests to write since @from that the store saw. */
static unsigned writes(unsigned from)
{
	unsigned n = 0;

	for (unsigned i = from; i < store.nr_seen; i++)
		n += store.seen[i].write;
	return n;
}

static void write_back(void)
{
	unsigned from;

	begin(300, false);
	for (uint64_t n = 10; n < 110; n++)
		write_word(n, 1000 + n);
	write_word(200, 1200);
	HOST_CHECK_EQ(writeback_nr_dirty(), 101);
	HOST_CHECK_EQ(mapping_shrink(&map), 0); /* dirty pages stay */
	from = store.nr_seen;
	HOST_CHECK_EQ(mapping_write_wait(&map, 0, 199), 0);
	HOST_CHECK_EQ(writes(from), 2); /* 64 and 36, in order */
	check_seen(from, 10, 64);
	check_seen(from + 1, 74, 36);
	HOST_CHECK_EQ(writeback_nr_dirty(), 1);
	HOST_CHECK_EQ(mapping_write_wait(&map, 0, UINT64_MAX), 0);
	HOST_CHECK_EQ(mapping_write_wait(&map, 0, UINT64_MAX), 0); /* nothing to do */
	HOST_CHECK_EQ(writes(from), 3);
	for (uint64_t n = 10; n < 110; n++)
		HOST_CHECK_EQ(atomic_load(&store.word[n]), 1000 + n);
	HOST_CHECK_EQ(atomic_load(&store.word[200]), 1200);
	HOST_CHECK_EQ(mapping_shrink(&map), 101);
	end();
}

static void test_write_back(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, write_back), 0);
}

static bool is_dirty(uint64_t n)
{
	struct page *p = page_cache_find(&map, n);
	bool yes = p && page_has(p, PG_dirty);

	if (p)
		page_put(p);
	return yes;
}

/* Data that fails is told once and not tried again; metadata, and what lacked memory, is. */
static void failing_writes(void)
{
	begin(10, false);
	write_word(1, 77);
	store.err = -EIO;
	store.fail_every = 1;
	HOST_CHECK_EQ(mapping_write_wait(&map, 0, UINT64_MAX), -EIO);
	HOST_CHECK_EQ(atomic_load(&map.wb_errors), 1);
	HOST_CHECK(!is_dirty(1));
	HOST_CHECK_EQ(atomic_load(&store.word[1]), 2);
	HOST_CHECK_EQ(mapping_write_wait(&map, 0, UINT64_MAX), 0);

	write_word(1, 78);
	store.err = -ENOMEM;
	HOST_CHECK_EQ(mapping_write_wait(&map, 0, UINT64_MAX), -EIO);
	HOST_CHECK(is_dirty(1));
	atomic_store(&map.metadata, true);
	store.err = -EIO;
	HOST_CHECK_EQ(mapping_write_wait(&map, 0, UINT64_MAX), -EIO);
	HOST_CHECK(is_dirty(1));
	HOST_CHECK_EQ(writeback_nr_dirty(), 1);
	store.fail_every = 0;
	HOST_CHECK_EQ(mapping_write_wait(&map, 0, UINT64_MAX), 0);
	HOST_CHECK_EQ(atomic_load(&store.word[1]), 78);

	write_word(2, 79); /* never written: goes with the mapping */
	end();
}

static void test_failing_writes(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, failing_writes), 0);
}

/* A page that is written to on its way to the store goes there again. */
static void dirty_again_meanwhile(void)
{
	begin(10, true);
	read_one(NULL, 3, 1);
	store.later = true;
	write_word(3, 50);
	for (unsigned i = 0; i < 30000 && !writeback_nr_writeback(); i++)
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	HOST_CHECK_EQ(writeback_nr_writeback(), 1); /* by the thread, on its own */
	{
		struct page *p = page_cache_find(&map, 3);

		HOST_CHECK_EQ(page_cache_evict(p), -EAGAIN);
		page_put(p);
	}
	write_word(3, 51);
	HOST_CHECK(is_dirty(3));
	HOST_CHECK(answer_one(0));
	store.later = false;
	HOST_CHECK_EQ(mapping_write_wait(&map, 0, UINT64_MAX), 0);
	HOST_CHECK_EQ(atomic_load(&store.word[3]), 51);
	end();
}

static void test_dirty_again(void **state)
{
	(void)state;
	assert_int_equal(host_run(2, dirty_again_meanwhile), 0);
}

/* ---- all at once ---- */

#define RACE_PAGES 96u
#define RACE_NS    (700 * NSEC_PER_MSEC)

static struct mutex file_lock = MUTEX_INIT(file_lock, "file");
static uint64_t latest[RACE_PAGES]; /* under file_lock: the word of each page, 0: a hole */
static _Atomic bool stop;
static _Atomic unsigned running;
static _Atomic uint64_t turns[6], evicted;

/* Page in the upper half, so nobody mistakes another's for his. */
static uint64_t make_word(uint64_t n, uint64_t generation)
{
	return (n + 1) << 32 | (generation & 0xffffffff);
}

static uint64_t file_pages(void)
{
	return (uint64_t)atomic_load(&size) / PAGE_SIZE;
}

/* As fs/cached_file.c: a page behind the end is new; then what was written is looked at again. */
static void race_write(uint64_t random)
{
	uint64_t n = random % RACE_PAGES, v = make_word(n, random >> 20);
	struct page *p;
	int err;

	mutex_lock(&file_lock);
	if (n >= file_pages()) {
		p = page_alloc(0, PAGE_FILE, GFP_ZERO);
		HOST_CHECK(p);
		atomic_store(word_of(p), v);
		err = page_cache_add_locked(&map, n, p);
		if (err) {
			/* Read-ahead that saw the size of before put a page, of zeroes, there. */
			HOST_CHECK_EQ(err, -EEXIST);
		} else if (random >> 40 & 1) {
			page_mark_dirty(p);
			page_cache_added(&map, p, 0);
			latest[n] = v;
			atomic_store(&size, (int64_t)(n + 1) * PAGE_SIZE);
		} else {
			page_cache_added(&map, p, -ENOSPC);
			HOST_CHECK(!page_cache_find(&map, n));
		}
		page_put(p);
	} else {
		write_word(n, v);
		latest[n] = v;
	}
	if (n < file_pages()) {
		p = page_cache_read(&map, NULL, n, 1);
		HOST_CHECK(!IS_ERR(p));
		HOST_CHECK(atomic_load(word_of(p)) == latest[n]);
		page_put(p);
	}
	mutex_unlock(&file_lock);
}

/* As fs/tfs/file.c: size, pages, blocks, pages. */
static void race_truncate(uint64_t random)
{
	uint64_t keep = random % RACE_PAGES;

	mutex_lock(&file_lock);
	if (keep < file_pages()) {
		atomic_store(&size, (int64_t)keep * PAGE_SIZE);
		mapping_truncate(&map, keep);
		for (uint64_t n = keep; n < RACE_PAGES; n++)
			atomic_store(&store.word[n], 0);
		mapping_truncate(&map, keep);
		for (uint64_t n = keep; n < RACE_PAGES; n++)
			latest[n] = 0;
	}
	mutex_unlock(&file_lock);
	thread_sleep_until(clock_ns() + 2 * NSEC_PER_MSEC, false);
}

static void race_read(uint64_t random)
{
	static struct ra_state ra;
	uint64_t n = random % RACE_PAGES;
	struct page *p = page_cache_read(&map, &ra, n, 1 + random % 32);
	uint64_t v;

	if (IS_ERR(p)) {
		HOST_CHECK_EQ(PTR_ERR(p), -ENODATA);
		return;
	}
	v = atomic_load(word_of(p));
	HOST_CHECK(!v || v >> 32 == n + 1);
	page_put(p);
}

static void race_evict(uint64_t random)
{
	struct page *p = page_cache_find(&map, random % RACE_PAGES);

	if (p) {
		atomic_fetch_add(&evicted, !page_cache_evict(p));
		page_put(p);
	}
	if (random % 50 == 0)
		(void)mapping_shrink(&map);
}

static void race_sync(uint64_t random)
{
	HOST_CHECK_EQ(mapping_write_wait(&map, random % RACE_PAGES, UINT64_MAX), 0);
	if (random % 4 == 0)
		writeback_kick();
}

static void race_store(uint64_t random)
{
	if (!answer_one(random))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC / 10, false);
}

static void (*const roles[])(uint64_t random) = {
	race_write, race_truncate, race_read, race_evict, race_sync, race_store,
};

static void race_thread(void *arg)
{
	unsigned role = (unsigned)(uintptr_t)arg;
	uint64_t seed = 77 + role;

	/* The store answers until all others have what they asked for. */
	while (!atomic_load(&stop) ||
	       (roles[role] == race_store && atomic_load(&running) > 1)) {
		roles[role](host_random(&seed));
		atomic_fetch_add(&turns[role], 1);
		cond_resched();
	}
	atomic_fetch_sub(&running, 1);
}

static void race(void)
{
	begin(0, true);
	for (unsigned n = 0; n < PAGES; n++)
		atomic_store(&store.word[n], 0);
	store.later = true;
	atomic_store(&running, ARRAY_SIZE(roles));
	for (uintptr_t i = 0; i < ARRAY_SIZE(roles); i++) {
		struct thread *t = thread_create("role", race_thread, (void *)i, -1);

		HOST_CHECK(!IS_ERR(t));
		thread_start(t);
		thread_put(t);
	}
	thread_sleep_until(clock_ns() + RACE_NS, false);
	/* However slow the machine is: each has had his turn. */
	for (unsigned i = 0; i < ARRAY_SIZE(roles); i++)
		while (atomic_load(&turns[i]) < 10)
			thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	while (!atomic_load(&evicted))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	atomic_store(&stop, true);
	while (atomic_load(&running))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	while (answer_one(0)) /* the write-back thread's last */
		;
	store.later = false;
	HOST_CHECK_EQ(mapping_write_wait(&map, 0, UINT64_MAX), 0);
	/* All that was written is in the store, and comes back from there. */
	for (uint64_t n = 0; n < file_pages(); n++)
		HOST_CHECK(atomic_load(&store.word[n]) == latest[n]);
	(void)mapping_shrink(&map);
	for (uint64_t n = 0; n < file_pages(); n++) {
		struct page *p = page_cache_read(&map, NULL, n, 1);

		HOST_CHECK(!IS_ERR(p));
		HOST_CHECK(atomic_load(word_of(p)) == latest[n]);
		page_put(p);
	}
	atomic_store(&alive, false);
	end();
}

static void test_race(void **state)
{
	(void)state;
	assert_int_equal(host_run(4, race), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),		cmocka_unit_test(test_here_and_there),
		cmocka_unit_test(test_failing_reads),	cmocka_unit_test(test_short_of_memory),
		cmocka_unit_test(test_write_back),	cmocka_unit_test(test_failing_writes),
		cmocka_unit_test(test_dirty_again),	cmocka_unit_test(test_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
