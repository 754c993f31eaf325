/* SPDX-License-Identifier: MIT */
/*
 * Slab caches and kmalloc: no object handed out twice, objects freed on other
 * CPUs, charges that come back, memory that comes back, misuse that is caught.
 *
 * SOURCES: mm/bootmem.c mm/page_alloc.c mm/page_stats.c mm/each_cpu.c mm/slab.c mm/slab_slow.c mm/kmalloc.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/host/mm_stub.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "mm/slab.h"

#define HELD 1024

static void fill(uint8_t *p, size_t n, uint8_t v)
{
	memset(p, v, n);
}
static void check_fill(const uint8_t *p, size_t n, uint8_t v)
{
	for (size_t i = 0; i < n; i++)
		HOST_CHECK_EQ(p[i], v);
}

static void kmalloc_churn(void)
{
	static struct {
		uint8_t *p;
		size_t n;
		uint8_t v;
	} h[HELD];
	struct page_stats before, after;
	uint64_t seed = 3;

	page_alloc_init_percpu();
	kfree(kmalloc(1, 0));
	page_stats(&before);
	stub_charging = true;
	for (unsigned s = 0; s < 30000; s++) {
		unsigned i = host_random(&seed) % HELD;

		if (h[i].p) {
			check_fill(h[i].p, h[i].n, h[i].v);
			HOST_CHECK(ksize(h[i].p) >= h[i].n);
			kfree(h[i].p);
			h[i].p = NULL;
			continue;
		}
		h[i].n = 1 + host_random(&seed) % (s % 50 ? 600 : 20000);
		h[i].v = (uint8_t)s;
		h[i].p = kmalloc(h[i].n, s & 1 ? GFP_ACCOUNT : s & 2 ? GFP_ZERO : 0);
		HOST_CHECK(h[i].p);
		HOST_CHECK(!((uintptr_t)h[i].p & 7));
		if (!(s & 1) && (s & 2))
			check_fill(h[i].p, h[i].n, 0);
		fill(h[i].p, h[i].n, h[i].v);
	}
	for (unsigned i = 0; i < HELD; i++)
		kfree(h[i].p);
	HOST_CHECK_EQ(stub_bytes, 0);
	HOST_CHECK_EQ(stub_pages, 0);
	slab_drain();
	page_drain_pcp();
	page_stats(&after);
	HOST_CHECK(after.kind[PAGE_SLAB] <= before.kind[PAGE_SLAB] + 4);
	check_sum();
	HOST_CHECK(!kmalloc((PAGE_SIZE << MAX_ORDER) + 1, 0));
	kfree(NULL);
}

static void test_kmalloc(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, kmalloc_churn), 0);
}

/* Objects travel between CPUs; each carries its own address. */
static struct kmem_cache *cache;
static _Atomic(void *) mailbox[64];
static _Atomic unsigned running;

static void passer(void *arg)
{
	uint64_t seed = (uintptr_t)arg;

	for (unsigned i = 0; i < 30000; i++) {
		void **o = kmem_cache_alloc(cache, GFP_ZERO), **old;

		HOST_CHECK(o);
		HOST_CHECK(!o[0] && !o[11]);
		o[0] = o;
		o[11] = o;
		old = atomic_exchange(&mailbox[host_random(&seed) % ARRAY_SIZE(mailbox)],
				      (void *)o);
		if (old) {
			HOST_CHECK(old[0] == old && old[11] == old);
			kmem_cache_free(cache, old);
		}
		if (i % 64 == 0)
			cond_resched();
	}
	atomic_fetch_sub(&running, 1);
}

static uint64_t cache_active, cache_objects;
static void find_cache(const struct slab_info *i, void *arg)
{
	if (!strcmp(i->name, arg)) {
		cache_active = i->active;
		cache_objects = i->objects;
	}
}

static void pass_all(unsigned flags)
{
	page_alloc_init_percpu();
	stub_charging = true;
	cache = kmem_cache_create("travel", 96, 32, flags);
	HOST_CHECK(cache);
	atomic_store(&running, 4);
	for (uintptr_t i = 0; i < 4; i++) {
		struct thread *t = thread_create("pass", passer, (void *)(i + 1), (int)i);

		HOST_CHECK(!IS_ERR(t));
		thread_start(t);
		thread_put(t);
	}
	while (atomic_load(&running))
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
	if (flags & SLAB_ACCOUNT)
		HOST_CHECK(stub_bytes > 0);
	for (unsigned i = 0; i < ARRAY_SIZE(mailbox); i++)
		if (mailbox[i])
			kmem_cache_free(cache, mailbox[i]);
	HOST_CHECK_EQ(stub_bytes, 0);
	if (!(flags & SLAB_RCU)) { /* all in magazines: those count as free */
		slab_for_each(find_cache, "travel");
		HOST_CHECK_EQ(cache_active, 0);
		HOST_CHECK(cache_objects > 0);
	}
	slab_drain();
	slab_for_each(find_cache, "travel");
	HOST_CHECK_EQ(cache_active, 0);
	HOST_CHECK_EQ(cache_objects, 0);
}
static void pass_plain(void)
{
	pass_all(0);
}
static void pass_account(void)
{
	pass_all(SLAB_ACCOUNT);
}
static void pass_rcu(void)
{
	pass_all(SLAB_RCU | SLAB_ACCOUNT);
}

static void test_pass(void **state)
{
	(void)state;
	assert_int_equal(host_run(4, pass_plain), 0);
	assert_int_equal(host_run(4, pass_account), 0);
	assert_int_equal(host_run(4, pass_rcu), 0);
}

/* Alignment and odd sizes. */
static void shapes(void)
{
	static const size_t sizes[] = { 1, 8, 24, 63, 64, 65, 120, 500, 544, 1000, 2100, 4096, 8192 };

	page_alloc_init_percpu();
	for (unsigned a = 8; a <= 256; a *= 2)
		for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct kmem_cache *c = kmem_cache_create("shape", sizes[i], a, SLAB_ZERO);
			void *o[40];

			HOST_CHECK(c);
			for (unsigned k = 0; k < 40; k++) {
				o[k] = kmem_cache_alloc(c, 0);
				HOST_CHECK(o[k] && !((uintptr_t)o[k] % a));
				check_fill(o[k], sizes[i], 0);
				memset(o[k], 0xee, sizes[i]);
			}
			for (unsigned k = 0; k < 40; k++)
				kmem_cache_free(c, o[k]);
		}
	HOST_CHECK(!kmem_cache_create("bad", 100, 3, 0));
	HOST_CHECK(!kmem_cache_create("bad", 1 << 20, 8, 0));
}

static void test_shapes(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, shapes), 0);
}

static void twice(void)
{
	void *p = kmalloc(40, 0);

	kfree(p);
	kfree(p);
}
static void overrun(void)
{
	char *volatile p = kmalloc(48, 0);

	p[48] = 1;
	p[56] = 1;
	kfree((void *)p);
}
static void after_free(void)
{
	char *volatile p = kmalloc(48, 0);

	kfree((void *)p);
	p[20] = 1;
	p = kmalloc(48, 0);
}
static void wild(void)
{
	char *p = kmalloc(48, 0);

	kfree(p + 8);
}

static void test_misuse(void **state)
{
	(void)state;
	assert_int_not_equal(host_run(1, twice), 0);
	assert_int_not_equal(host_run(1, overrun), 0);
	assert_int_not_equal(host_run(1, after_free), 0);
	assert_int_not_equal(host_run(1, wild), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kmalloc),
		cmocka_unit_test(test_pass),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_misuse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
