/* SPDX-License-Identifier: MIT */
/*
 * Boot memory and the page allocator: nothing is handed out twice, everything
 * merges again, the figures add up.
 *
 * SOURCES: mm/bootmem.c mm/page_alloc.c mm/page_stats.c mm/each_cpu.c mm/slab.c mm/slab_slow.c mm/kmalloc.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/host/mm_stub.h"
#include "kernel/thread.h"
#include "kernel/string.h"
#include "mm/bootmem.h"
#include "mm/slab.h"

#define HELD 512

struct held {
	struct page *p;
	unsigned order;
	uint64_t stamp;
};

static void stamp(struct held *h, uint64_t v)
{
	h->stamp = v;
	for (unsigned i = 0; i < 1u << h->order; i++)
		*(uint64_t *)((char *)page_virt(h->p) + i * PAGE_SIZE) = v + i;
}
static void check_stamp(const struct held *h)
{
	for (unsigned i = 0; i < 1u << h->order; i++)
		HOST_CHECK_EQ(*(uint64_t *)((char *)page_virt(h->p) + i * PAGE_SIZE),
			      h->stamp + i);
}

static void churn(uint64_t seed, unsigned steps)
{
	struct held *held = kzalloc(HELD * sizeof(*held), 0);

	HOST_CHECK(held);
	for (unsigned s = 0; s < steps; s++) {
		struct held *h = &held[host_random(&seed) % HELD];

		if (h->p) {
			check_stamp(h);
			page_put(h->p);
			h->p = NULL;
		} else {
			unsigned r = (unsigned)(host_random(&seed) % 100);

			h->order = r < 70 ? 0 : r < 90 ? r % 4 : r < 98 ? r % 7 : r % 11;
			h->p = page_alloc(h->order, PAGE_KERNEL, GFP_NOWARN);
			if (h->p) {
				HOST_CHECK(!(page_to_pfn(h->p) & ((1ul << h->order) - 1)));
				stamp(h, host_random(&seed));
			}
		}
		if (s % 64 == 0)
			cond_resched();
	}
	for (unsigned i = 0; i < HELD; i++)
		if (held[i].p) {
			check_stamp(&held[i]);
			page_put(held[i].p);
		}
	kfree(held);
}

/* All free memory must come in the largest blocks again. */
static void check_merged(uint64_t free_before)
{
	struct page_stats st;
	struct page *list = NULL, *p;
	uint64_t blocks = 0;

	slab_drain();
	page_drain_pcp();
	check_sum();
	page_stats(&st);
	HOST_CHECK(st.free + 64 >= free_before); /* a few slabs stay with their caches' owners */
	while ((p = page_alloc(MAX_ORDER, PAGE_KERNEL, GFP_NOWARN | GFP_ATOMIC))) {
		p->lru.next = (void *)list;
		list = p;
		blocks++;
	}
	HOST_CHECK(blocks + 3 >= st.free >> MAX_ORDER);
	while (list) {
		p = list;
		list = (void *)p->lru.next;
		page_put(p);
	}
	check_sum();
}

static void single(void)
{
	struct page_stats st;

	page_alloc_init_percpu();
	page_stats(&st);
	check_sum();
	churn(1, 20000);
	check_merged(st.free);
}

static void test_single(void **state)
{
	(void)state;
	host_memory_bytes = 64u << 20;
	assert_int_equal(host_run(1, single), 0);
}

static _Atomic unsigned running;

static void worker(void *arg)
{
	churn((uintptr_t)arg, 4000);
	atomic_fetch_sub(&running, 1);
}

static void parallel(void)
{
	struct page_stats st;

	page_alloc_init_percpu();
	page_stats(&st);
	atomic_store(&running, 8);
	for (uintptr_t i = 0; i < 8; i++) {
		struct thread *t = thread_create("churn", worker, (void *)(i + 77), -1);

		HOST_CHECK(!IS_ERR(t));
		thread_start(t);
		thread_put(t);
	}
	while (atomic_load(&running))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	check_merged(st.free);
}

static void test_parallel(void **state)
{
	(void)state;
	host_memory_bytes = 96u << 20;
	assert_int_equal(host_run(4, parallel), 0);
}

/* Pages pass from CPU to CPU: allocated here, freed there. */
static _Atomic(struct page *) mailbox[32];

static void passer(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	for (unsigned i = 0; i < 20000; i++) {
		struct page *p = page_alloc(0, PAGE_NET, GFP_NOWARN);

		if (p)
			*(uint64_t *)page_virt(p) = page_to_pfn(p);
		p = atomic_exchange(&mailbox[host_random(&seed) % ARRAY_SIZE(mailbox)], p);
		if (p) {
			HOST_CHECK_EQ(*(uint64_t *)page_virt(p), page_to_pfn(p));
			page_put(p);
		}
		if (i % 64 == 0)
			cond_resched();
	}
	atomic_fetch_sub(&running, 1);
}

static void passing(void)
{
	struct page_stats st;

	page_alloc_init_percpu();
	page_stats(&st);
	atomic_store(&running, 4);
	for (uintptr_t i = 0; i < 4; i++) {
		struct thread *t = thread_create("pass", passer, (void *)(i + 5), (int)i);

		HOST_CHECK(!IS_ERR(t));
		thread_start(t);
		thread_put(t);
	}
	while (atomic_load(&running))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	for (unsigned i = 0; i < ARRAY_SIZE(mailbox); i++)
		if (mailbox[i])
			page_put(mailbox[i]);
	check_merged(st.free);
}

static void test_passing(void **state)
{
	(void)state;
	host_memory_bytes = 64u << 20;
	assert_int_equal(host_run(4, passing), 0);
}

/* Until nothing is left: NULL, not a crash; and everything comes back. */
static void exhaust(void)
{
	struct page_stats st;
	struct page *list = NULL, *p;
	uint64_t n = 0;

	page_alloc_init_percpu();
	page_stats(&st);
	while ((p = page_alloc(0, PAGE_ANON, GFP_NOWARN))) {
		p->lru.next = (void *)list;
		list = p;
		n++;
	}
	HOST_CHECK(n > st.free * 9 / 10);
	/* The reserve is for those who may not sleep. */
	p = page_alloc(0, PAGE_NET, GFP_ATOMIC | GFP_NOWARN);
	HOST_CHECK(p);
	page_put(p);
	check_sum();
	while (list) {
		p = list;
		list = (void *)p->lru.next;
		page_put(p);
	}
	check_merged(st.free);
}

static void test_exhaust(void **state)
{
	(void)state;
	host_memory_bytes = 16u << 20;
	assert_int_equal(host_run(2, exhaust), 0);
}

static void charge(void)
{
	struct page *p;

	page_alloc_init_percpu();
	stub_charging = true;
	p = page_alloc(2, PAGE_KERNEL, GFP_ACCOUNT | GFP_ZERO);
	HOST_CHECK(p);
	HOST_CHECK_EQ(stub_pages, 4);
	for (unsigned i = 0; i < 4 * PAGE_SIZE; i++)
		HOST_CHECK_EQ(((char *)page_virt(p))[i], 0);
	page_get(p);
	page_put(p);
	HOST_CHECK_EQ(stub_pages, 4);
	page_put(p);
	HOST_CHECK_EQ(stub_pages, 0);
	atomic_store(&stub_limit, 3);
	HOST_CHECK(!page_alloc(2, PAGE_KERNEL, GFP_ACCOUNT));
	HOST_CHECK_EQ(stub_pages, 0);
	check_sum();
}

static void test_charge(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, charge), 0);
}

static void double_free(void)
{
	struct page *p;

	page_alloc_init_percpu();
	p = page_alloc(0, PAGE_KERNEL, 0);
	page_put(p);
	page_put(p);
}
static void use_after_free(void)
{
	struct page *p;

	page_alloc_init_percpu();
	p = page_alloc(0, PAGE_KERNEL, 0);
	page_put(p);
	*((char *)page_virt(p) + 100) = 1;
	p = page_alloc(0, PAGE_KERNEL, 0);
}

static void test_misuse(void **state)
{
	(void)state;
	assert_int_not_equal(host_run(1, double_free), 0);
	assert_int_not_equal(host_run(1, use_after_free), 0);
}

/* ---- boot memory ---- */

static uint64_t released[64][2];
static size_t nr_released;

static void collect(uint64_t start, uint64_t end)
{
	assert_true(nr_released < 64);
	released[nr_released][0] = start;
	released[nr_released++][1] = end;
}

static void test_bootmem(void **state)
{
	const struct mem_region *r;

	(void)state;
	/* Overlapping, touching, unsorted, unaligned. */
	bootmem_add(0x500000, 0x700000);
	bootmem_add(0x100000, 0x300000);
	bootmem_add(0x2ff800, 0x400123);
	bootmem_add(0x600000, 0x800000);
	bootmem_add(0x900001, 0x900fff);
	assert_int_equal(bootmem_regions(&r), 2);
	assert_int_equal(r[0].start, 0x100000);
	assert_int_equal(r[0].end, 0x400000);
	assert_int_equal(r[1].start, 0x500000);
	assert_int_equal(r[1].end, 0x800000);
	bootmem_reserve(0x100000, 0x180001);
	bootmem_reserve(0x3fffff, 0x510000);
	bootmem_reserve(0x600000, 0x610000);
	/* First gap that fits, aligned. */
	assert_int_equal(bootmem_alloc_phys(0x10000, 0x10000, 0), 0x190000);
	assert_int_equal(bootmem_alloc_phys(0x200000, 0x1000, 0), 0x1a0000);
	assert_int_equal(bootmem_alloc_phys(0x100000, 0x1000, 0x600000), 0);
	assert_int_equal(bootmem_alloc_phys(0x100000, 0x1000, 0), 0x610000);
	assert_int_equal(bootmem_alloc_phys(0x1000000, 0x1000, 0), 0);
	bootmem_release(collect);
	assert_int_equal(nr_released, 4);
	assert_int_equal(released[0][0], 0x181000);
	assert_int_equal(released[0][1], 0x190000);
	assert_int_equal(released[1][0], 0x3a0000);
	assert_int_equal(released[1][1], 0x3ff000);
	assert_int_equal(released[2][0], 0x510000);
	assert_int_equal(released[2][1], 0x600000);
	assert_int_equal(released[3][0], 0x710000);
	assert_int_equal(released[3][1], 0x800000);
	assert_int_equal(bootmem_alloc_phys(0x1000, 0x1000, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single),	 cmocka_unit_test(test_parallel),
		cmocka_unit_test(test_passing),	 cmocka_unit_test(test_exhaust),
		cmocka_unit_test(test_charge),	 cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_bootmem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
