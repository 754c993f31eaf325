/* SPDX-License-Identifier: MIT */
/*
 * The per-file page index against a plain table, and lookups that race with
 * removal.
 *
 * SOURCES: mm/bootmem.c mm/page_alloc.c mm/page_stats.c mm/each_cpu.c mm/slab.c mm/slab_slow.c mm/kmalloc.c mm/page_index.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/host/mm_stub.h"
#include "kernel/rcu.h"
#include "kernel/thread.h"
#include "mm/page_index.h"
#include "mm/slab.h"

#define SPAN 5000

static void against_table(void)
{
	static struct page *want[SPAN];
	struct page_index *idx;
	struct page_stats before, after;
	uint64_t seed = 9, have = 0;

	page_alloc_init_percpu();
	page_index_init();
	page_stats(&before);
	idx = page_index_create();
	HOST_CHECK(idx);
	for (unsigned s = 0; s < 40000; s++) {
		uint64_t n = host_random(&seed) % SPAN;
		unsigned what = host_random(&seed) % 100;
		struct page *p;

		if (what < 45) {
			p = page_index_get(idx, n, STUB_OWNER);
			HOST_CHECK(!IS_ERR(p));
			HOST_CHECK(!want[n] || want[n] == p);
			HOST_CHECK_EQ(p->index, n);
			have += !want[n];
			want[n] = p;
			page_put(p);
		} else if (what < 80) {
			page_index_remove(idx, n);
			have -= want[n] != NULL;
			want[n] = NULL;
		} else if (what < 99 || s % 50) {
			p = page_index_lookup(idx, n);
			HOST_CHECK(p == want[n]);
			if (p)
				page_put(p);
		} else {
			page_index_truncate(idx, n);
			for (uint64_t i = n; i < SPAN; i++) {
				have -= want[i] != NULL;
				want[i] = NULL;
			}
		}
		HOST_CHECK_EQ(page_index_count(idx), have);
		HOST_CHECK_EQ(stub_pages, have);
		if (s % 1000 == 0)
			for (uint64_t i = 0; i < SPAN; i += 97) {
				uint64_t k = i;

				while (k < SPAN && !want[k])
					k++;
				HOST_CHECK(page_index_next(idx, i) == (k < SPAN ? k : UINT64_MAX));
			}
	}
	/* Far apart, and a page that outlives its index. */
	{
		struct page *p = page_index_get(idx, 1ULL << 40, NULL), *q;

		HOST_CHECK(!IS_ERR(p));
		q = page_index_lookup(idx, 1ULL << 40);
		HOST_CHECK(p == q);
		page_put(q);
		HOST_CHECK(!page_index_lookup(idx, UINT64_MAX));
		page_index_destroy(idx);
		HOST_CHECK_EQ(stub_pages, 0);
		*(char *)page_virt(p) = 1;
		page_put(p);
	}
	rcu_barrier();
	HOST_CHECK_EQ(stub_bytes, 0);
	slab_drain();
	page_drain_pcp();
	page_stats(&after);
	HOST_CHECK_EQ(after.kind[PAGE_FILE], before.kind[PAGE_FILE]);
	check_sum();
}

static void test_table(void **state)
{
	(void)state;
	assert_int_equal(host_run(2, against_table), 0);
}

/* Dirty marks and shadows against a table, the tree growing and shrinking under them. */
static uintptr_t leave_number(struct page *p)
{
	return p->index << 1 | 1;
}

static void marks(void)
{
	static struct page *have[SPAN];
	static bool dirty[SPAN], shadow[SPAN];
	struct page_index *idx;
	uint64_t seed = 5, span = 8;

	page_alloc_init_percpu();
	page_index_init();
	idx = page_index_create();
	HOST_CHECK(idx);
	for (unsigned s = 0; s < 40000; s++) {
		uint64_t n = host_random(&seed) % span, want;
		struct page *p = have[n];

		span = s % 20 ? span : min(span + 3, (uint64_t)SPAN);
		switch (host_random(&seed) % 5) {
		case 0:
		case 1:
			if (!p) {
				uintptr_t old = 2;

				p = page_alloc(0, PAGE_FILE, 0);
				HOST_CHECK(p);
				HOST_CHECK_EQ(page_index_place(idx, n, p, NULL, NULL, &old), 0);
				HOST_CHECK_EQ(old, shadow[n] ? n << 1 | 1 : 0);
				page_put(p);
				have[n] = p;
				shadow[n] = false;
			}
			HOST_CHECK_EQ(page_index_set_dirty(idx, p), !dirty[n]);
			dirty[n] = true;
			break;
		case 2:
			if (p) {
				HOST_CHECK_EQ(page_index_clear_dirty(idx, p), dirty[n]);
				dirty[n] = false;
			}
			break;
		case 3:
			if (p) {
				int want_err = dirty[n] ? -EAGAIN : 0;

				HOST_CHECK_EQ(page_index_evict(idx, p, leave_number), -EBUSY);
				page_get(p); /* the caller's */
				HOST_CHECK_EQ(page_index_evict(idx, p, leave_number), want_err);
				page_put(p);
				if (!want_err) {
					have[n] = NULL;
					shadow[n] = true;
				}
			}
			break;
		case 4:
			if (p && s % 3 == 0) {
				HOST_CHECK(page_index_detach(idx, p));
				page_put(p);
				have[n] = NULL;
				dirty[n] = false;
			} else if (s % 1000 == 4) {
				page_index_drop_shadows(idx, n);
				for (uint64_t i = n; i < SPAN; i++)
					shadow[i] = false;
			}
			break;
		}
		n = host_random(&seed) % span;
		for (want = n; want < SPAN && !dirty[want]; want++)
			;
		HOST_CHECK_EQ(page_index_next_dirty(idx, n), want < SPAN ? want : UINT64_MAX);
	}
	page_index_destroy(idx);
	check_sum();
}

static void test_marks(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, marks), 0);
}

/* Readers check that what they find carries its own number. */
static struct page_index *shared;
static _Atomic bool stop;
static _Atomic unsigned running;
static _Atomic uint64_t hits;

static void reader(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	while (!atomic_load(&stop)) {
		uint64_t n = host_random(&seed) % 256;
		struct page *p = page_index_lookup(shared, n);

		if (p) {
			HOST_CHECK_EQ(*(_Atomic uint64_t *)page_virt(p), n + 1);
			atomic_fetch_add(&hits, 1);
			page_put(p);
		}
		cond_resched();
	}
	atomic_fetch_sub(&running, 1);
}

static void insert_stamped(uint64_t n)
{
	struct page *p = page_alloc(0, PAGE_FILE, 0);

	HOST_CHECK(p);
	atomic_store((_Atomic uint64_t *)page_virt(p), n + 1);
	if (page_index_insert(shared, n, p, NULL))
		HOST_CHECK(page_index_count(shared));
	page_put(p);
}

static void racing(void)
{
	uint64_t seed = 77;

	page_alloc_init_percpu();
	page_index_init();
	shared = page_index_create();
	atomic_store(&running, 3);
	for (uintptr_t i = 0; i < 3; i++) {
		struct thread *t = thread_create("reader", reader, (void *)(i + 1), (int)i + 1);

		HOST_CHECK(!IS_ERR(t));
		thread_start(t);
		thread_put(t);
	}
	for (unsigned s = 0; s < 20000; s++) {
		uint64_t n = host_random(&seed) % 256;

		if (s % 3)
			insert_stamped(n);
		else if (s % 500)
			page_index_remove(shared, n);
		else
			page_index_truncate(shared, n);
		if (s % 16 == 0)
			cond_resched();
	}
	atomic_store(&stop, true);
	while (atomic_load(&running))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	HOST_CHECK(atomic_load(&hits));
	page_index_destroy(shared);
	check_sum();
}

static void test_racing(void **state)
{
	(void)state;
	assert_int_equal(host_run(4, racing), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_racing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
