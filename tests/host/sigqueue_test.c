/* SPDX-License-Identifier: MIT */
/*
 * Queues of pending signals: order, merging, bounds, and that every entry is
 * given back.
 *
 * SOURCES: kernel/sigqueue.c
 * FLAVOURS: asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "kernel/errno.h"
#include "kernel/sighand.h"

/* The slab that sigqueue.c asks for: plain memory that can be made to fail. */
static int live, fail_next;

struct kmem_cache *kmem_cache_create(const char *name, size_t size, size_t align, unsigned flags)
{
	return (struct kmem_cache *)size;
}
void *kmem_cache_alloc(struct kmem_cache *c, gfp_t gfp)
{
	if (fail_next)
		return NULL;
	live++;
	return malloc((size_t)c);
}
void kmem_cache_free(struct kmem_cache *c, void *p)
{
	live--;
	free(p);
}

static struct sighand hand;
static struct sigqueue q;

static int add(int sig, int value, int code)
{
	struct siginfo_k info = { .signo = sig, .code = code, .rt.value = (uint64_t)value };

	return sigqueue_add(&hand, &q, &info, sigqueue_entry_alloc());
}

static int setup(void **state)
{
	sigqueue_cache_init();
	sigqueue_init(&q);
	hand.nr_queued = 0;
	fail_next = 0;
	return 0;
}

static int teardown(void **state)
{
	sigqueue_flush(&hand, &q, UINT64_MAX);
	return live == 0 && hand.nr_queued == 0 && q.mask == 0 ? 0 : -1;
}

static void expect(uint64_t blocked, int sig, int value)
{
	struct siginfo_k info;

	assert_int_equal(sigqueue_take(&hand, &q, blocked, &info), sig);
	if (sig)
		assert_int_equal(info.rt.value, value);
}

static void test_order(void **state)
{
	add(40, 1, SI_QUEUE);
	add(35, 2, SI_QUEUE);
	add(40, 3, SI_QUEUE);
	add(SIGTERM, 4, SI_USER);
	add(SIGTERM, 5, SI_USER); /* merged */
	add(SIGSEGV, 6, SEGV_MAPERR);
	expect(0, SIGSEGV, 6);
	expect(SIG_BIT(SIGTERM), 35, 2);
	expect(0, SIGTERM, 4);
	expect(0, 40, 1);
	assert_true(q.mask & SIG_BIT(40));
	expect(0, 40, 3);
	expect(0, 0, 0);
}

static void test_flush(void **state)
{
	for (int i = 0; i < 10; i++) {
		add(34 + i % 3, i, SI_QUEUE);
		add(1 + i, i, SI_USER);
	}
	sigqueue_flush(&hand, &q, SIG_BIT(34) | SIG_BIT(34 + 2));
	expect(~SIG_BIT(34 + 1), 34 + 1, 1);
	add(34 + 1, 77, SI_QUEUE); /* the tail is where it should be */
	expect(~SIG_BIT(34 + 1), 34 + 1, 4);
	expect(~SIG_BIT(34 + 1), 34 + 1, 7);
	expect(~SIG_BIT(34 + 1), 34 + 1, 77);
}

static void test_no_memory(void **state)
{
	fail_next = 1;
	assert_int_equal(add(SIGTERM, 1, SI_USER), 0); /* pending without details */
	assert_int_equal(add(40, 1, SI_USER), 0);
	assert_int_equal(add(41, 1, SI_QUEUE), -EAGAIN);
	expect(0, SIGTERM, 0);
	expect(0, 40, 0);
	expect(0, 0, 0);
}

static void test_bound(void **state)
{
	int ok = 0;

	for (int i = 0; i < 5000; i++)
		ok += add(50, i, SI_QUEUE) == 0;
	assert_int_equal(ok, 1024);
	assert_int_equal(live, 1024);
	for (int i = 0; i < 1024; i++)
		expect(0, 50, i);
	expect(0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flush, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bound, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
