/* SPDX-License-Identifier: MIT */
/*
 * TCP between sockets of one machine, over a loopback that may lose, delay and
 * repeat packets: every byte arrives once and in order, and nothing stays charged.
 *
 * SOURCES: @net
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/host/net_stub.h"
#include "fs/vfs.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SCALE 1
#else
#define SCALE 4
#endif

struct stream {
	struct sock *s;
	uint64_t seed, bytes;
	size_t max_chunk;
	bool pages; /* send by reference */
	bool starved; /* allocations fail */
	uint64_t pause_ns;
};

static void sender(void *arg)
{
	struct stream *t = arg;
	uint64_t rng = t->seed * 77 + 1, pos = 0;
	uint8_t *buf = kmalloc(t->max_chunk, 0);

	HOST_CHECK(buf);
	while (pos < t->bytes) {
		size_t n = min_t(uint64_t, 1 + host_random(&rng) % t->max_chunk, t->bytes - pos);
		ssize_t got;

		if (t->pages) {
			struct page *p = page_alloc(0, PAGE_NET, 0);
			size_t off = host_random(&rng) % 1000;

			HOST_CHECK(p);
			n = min_t(size_t, n, PAGE_SIZE - off);
			pattern_fill((char *)page_virt(p) + off, n, t->seed, pos);
			got = t->s->ops->send_pages(
				t->s, &(struct page_part){ p, (uint32_t)off, (uint32_t)n }, 1,
				host_random(&rng) & 1 ? MSG_MORE : 0);
			page_put(p);
		} else {
			pattern_fill(buf, n, t->seed, pos);
			got = t_send(t->s, buf, n, 0);
		}
		if (t->starved && (got == -ENOMEM || got == -ENOBUFS)) {
			cond_resched();
			continue;
		}
		HOST_CHECK(t->starved ? got > 0 && got <= (ssize_t)n : got == (ssize_t)n);
		pos += (size_t)got;
	}
	kfree(buf);
	HOST_CHECK_EQ(t->s->ops->shutdown(t->s, SHUT_WR), 0);
}

static void receiver(void *arg)
{
	struct stream *t = arg;
	uint64_t rng = t->seed * 99 + 1, pos = 0;
	uint8_t *buf = kmalloc(t->max_chunk, 0);

	HOST_CHECK(buf);
	for (;;) {
		size_t n = 1 + host_random(&rng) % t->max_chunk;
		ssize_t got = t_recv(t->s, buf, n, 0);

		HOST_CHECK(got >= 0 && got <= (ssize_t)n);
		if (!got)
			break;
		HOST_CHECK_EQ(pattern_bad(buf, (size_t)got, t->seed, pos), 0);
		pos += (size_t)got;
		if (t->pause_ns && host_random(&rng) % 64 == 0)
			thread_sleep_until(clock_ns() + t->pause_ns, false);
	}
	HOST_CHECK_EQ(pos, t->bytes);
	kfree(buf);
}

static void duplex(unsigned pairs, uint64_t bytes, size_t chunk, bool pages, uint64_t pause_ns)
{
	struct stream *t = kzalloc(pairs * 4 * sizeof(*t), 0);
	struct sock **s = kzalloc(pairs * 2 * sizeof(*s), 0);

	for (unsigned i = 0; i < pairs; i++) {
		struct stream base = { .bytes = bytes, .max_chunk = chunk, .pages = pages,
				       .pause_ns = pause_ns };

		t_pair(i & 1 ? AF_INET : AF_INET6, (uint16_t)(5000 + i), &s[2 * i], &s[2 * i + 1]);
		for (unsigned k = 0; k < 4; k++) {
			t[4 * i + k] = base;
			t[4 * i + k].s = s[2 * i + (k == 1 || k == 2)];
			t[4 * i + k].seed = 4 * i + k / 2 + 1;
			/* k: 0 client sends, 1 server receives it, 2 server sends, 3 client receives */
			t_go(k & 1 ? receiver : sender, &t[4 * i + k]);
		}
	}
	t_wait();
	for (unsigned i = 0; i < 2 * pairs; i++)
		t_close(s[i]);
	kfree(t);
	kfree(s);
	t_check_empty();
}

static void clean_body(void)
{
	t_init();
	duplex(1, SCALE << 20, 100000, false, 0);
	duplex(4, SCALE << 19, 10240, false, 0);
	duplex(2, SCALE << 18, 4096, true, 0);
	duplex(1, 20000, 3, false, 0);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_retransmits), 0);
}
static void test_clean(void **state)
{
	assert_int_equal(host_run(4, clean_body), 0);
	assert_int_equal(host_run(1, clean_body), 0);
}

static void lossy_body(void)
{
	t_init();
	t_param("net.lo.drop", "20");
	t_param("net.lo.reorder", "20");
	t_param("net.lo.dup", "20");
	duplex(4, SCALE << 20, 100000, false, 0);
	duplex(2, SCALE << 18, 5000, true, 0);
	HOST_CHECK(net_stat_sum(NS_lo_dropped) > 0);
	HOST_CHECK(net_stat_sum(NS_lo_reordered) > 0);
	HOST_CHECK(net_stat_sum(NS_lo_duplicated) > 0);
	HOST_CHECK(net_stat_sum(NS_tcp_retransmits) > 0);
}
static void test_lossy(void **state)
{
	assert_int_equal(host_run_for(4, lossy_body, 120), 0);
}

/* A slow reader closes the window; nothing is sent twice because of it. */
static void window_body(void)
{
	t_init();
	duplex(2, SCALE << 19, 30000, false, 30 * NSEC_PER_MSEC);
	HOST_CHECK_EQ(net_stat_sum(NS_tcp_retransmits), 0);
}
static void test_window(void **state)
{
	assert_int_equal(host_run(2, window_body), 0);
}

static void ends_body(void)
{
	struct sock *c, *s, *l;
	uint8_t buf[1000];
	int i;

	t_init();
	/* Nobody listens. */
	c = tcp_create(AF_INET6);
	HOST_CHECK_EQ(t_connect(c, AF_INET6, 4999, false), -ECONNREFUSED);
	HOST_CHECK_EQ(t_connect(c, AF_INET6, 4999, false), -ECONNREFUSED);
	t_close(c);
	/* Unread data at close: the peer hears of it by a reset. */
	t_pair(AF_INET6, 5000, &c, &s);
	HOST_CHECK_EQ(t_send(c, "hello", 5, 0), 5);
	HOST_CHECK_EQ(t_recv(s, buf, 2, 0), 2);
	t_close(s);
	HOST_CHECK_EQ(t_recv(c, buf, 5, 0), -ECONNRESET);
	HOST_CHECK_EQ(t_recv(c, buf, 5, 0), 0);
	HOST_CHECK_EQ(t_send(c, "x", 1, 0), -EPIPE);
	t_close(c);
	/* Half-close, and simultaneous close. */
	t_pair(AF_INET, 5001, &c, &s);
	HOST_CHECK_EQ(c->ops->shutdown(c, SHUT_WR), 0);
	HOST_CHECK_EQ(t_recv(s, buf, 5, 0), 0);
	HOST_CHECK_EQ(t_send(s, "still", 5, 0), 5);
	HOST_CHECK_EQ(t_recv(c, buf, 10, 0), 5);
	HOST_CHECK_EQ(s->ops->shutdown(s, SHUT_WR), 0);
	HOST_CHECK_EQ(t_recv(c, buf, 5, 0), 0);
	t_close(c);
	t_close(s);
	/* Peek, wait-all, time-out, don't wait. */
	t_pair(AF_INET6, 5002, &c, &s);
	HOST_CHECK_EQ(t_recv(s, buf, 5, MSG_DONTWAIT), -EAGAIN);
	HOST_CHECK_EQ(t_send(c, "abc", 3, 0), 3);
	HOST_CHECK_EQ(t_recv(s, buf, 5, MSG_PEEK), 3);
	HOST_CHECK_EQ(t_recv(s, buf, 3, MSG_WAITALL), 3);
	HOST_CHECK(!memcmp(buf, "abc", 3));
	s->rcvtimeo = 20 * NSEC_PER_MSEC;
	HOST_CHECK_EQ(t_recv(s, buf, 5, 0), -EAGAIN);
	/* Linger 0 is a reset. */
	c->linger_on = true;
	t_close(c);
	HOST_CHECK_EQ(t_recv(s, buf, 5, 0), -ECONNRESET);
	t_close(s);
	/* A backlog that is full makes connections wait, not fail or vanish. */
	l = t_listen(AF_INET6, 5003, 1);
	for (i = 0; i < 6; i++) {
		struct sock *n = tcp_create(AF_INET6);
		int ret = t_connect(n, AF_INET6, 5003, true);

		HOST_CHECK_EQ(ret, -EINPROGRESS);
		if (i < 2) {
			HOST_CHECK_EQ(t_connect(n, AF_INET6, 5003, true), 0);
			HOST_CHECK_EQ(t_connect(n, AF_INET6, 5003, true), -EISCONN);
		}
		t_close(n);
	}
	HOST_CHECK_EQ(l->ops->accept(l, &s, true), 0);
	t_close(s);
	t_close(l);
	/* Names in use. */
	l = t_listen(AF_INET6, 5004, 1);
	{
		union sockaddr_any a;
		unsigned len = t_addr(&a, AF_INET6, 5004);

		c = tcp_create(AF_INET6);
		HOST_CHECK_EQ(c->ops->bind(c, &a, len), -EADDRINUSE);
		t_close(c);
	}
	t_close(l);
	t_check_empty();
}
static void test_ends(void **state)
{
	assert_int_equal(host_run(2, ends_body), 0);
}

/* Many short connections: TIME_WAIT is bounded, nothing stays. */
static void many_body(void)
{
	struct sock *l, *c[300], *s;
	unsigned n;

	t_init();
	l = t_listen(AF_INET6, 5000, 128);
	for (n = 0; n < 3000; n++) {
		c[0] = tcp_create(AF_INET6);
		HOST_CHECK_EQ(t_connect(c[0], AF_INET6, 5000, false), 0);
		HOST_CHECK_EQ(l->ops->accept(l, &s, false), 0);
		t_close(c[0]);
		t_close(s);
	}
	for (n = 0; n < 300; n++) {
		c[n] = tcp_create(AF_INET6);
		HOST_CHECK_EQ(t_connect(c[n], AF_INET6, 5000, false), 0);
		if (n >= 100) {
			HOST_CHECK_EQ(l->ops->accept(l, &s, false), 0);
			t_close(s);
		}
	}
	for (n = 0; n < 300; n++)
		t_close(c[n]);
	t_close(l);
	t_check_empty();
	HOST_CHECK(net_stat_sum(NS_tcp_timewait) >= 3000);
}
static void test_many(void **state)
{
	assert_int_equal(host_run(2, many_body), 0);
}

/* The receiver's group has no memory: packets are dropped and counted, and arrive in the end. */
static void limit_body(void)
{
	struct stream t[2] = { { .seed = 5, .bytes = 2 << 20, .max_chunk = 20000 } };
	struct sock *c, *s;

	t_init();
	t_pair(AF_INET6, 5000, &c, &s);
	t[1] = t[0];
	t[0].s = c;
	t[1].s = s;
	atomic_store(&stub_limit, atomic_load(&stub_pages) + 64);
	t_go(sender, &t[0]);
	thread_sleep_until(clock_ns() + 300 * NSEC_PER_MSEC, false);
	t_go(receiver, &t[1]);
	t_wait();
	atomic_store(&stub_limit, INT64_MAX);
	t_close(c);
	t_close(s);
	t_check_empty();
}
static void test_limit(void **state)
{
	assert_int_equal(host_run(2, limit_body), 0);
}

/* Every few allocations fail: calls may say so, connections live on, nothing leaks. */
static void starved_body(void)
{
	struct stream t[2] = { { .seed = 5, .bytes = 1 << 20, .max_chunk = 20000, .starved = true } };
	struct sock *c, *s, *l;
	uint64_t rng = 3;

	t_init();
	t_pair(AF_INET6, 5000, &c, &s);
	t[1] = t[0];
	t[0].s = c;
	t[1].s = s;
	t_param("fail.alloc", "7");
	t_go(sender, &t[0]);
	t_go(receiver, &t[1]);
	/* Connections come and go meanwhile. */
	l = NULL;
	for (unsigned i = 0; i < 300; i++) {
		struct sock *n = tcp_create(AF_INET6);

		if (IS_ERR(n))
			continue;
		if (!l && (l = tcp_create(AF_INET6), !IS_ERR(l))) {
			union sockaddr_any a;
			unsigned len = t_addr(&a, AF_INET6, 6000);

			HOST_CHECK_EQ(l->ops->bind(l, &a, len), 0);
			if (l->ops->listen(l, 8)) {
				t_close(l);
				l = NULL;
			}
		} else if (IS_ERR(l)) {
			l = NULL;
		}
		t_connect(n, AF_INET6, 6000, true);
		if (l && host_random(&rng) & 1) {
			struct sock *a;

			if (!l->ops->accept(l, &a, true))
				t_close(a);
		}
		t_close(n);
	}
	if (l)
		t_close(l);
	t_wait();
	t_param("fail.alloc", "0");
	t_close(c);
	t_close(s);
	t_check_empty();
}
static void test_starved(void **state)
{
	assert_int_equal(host_run_for(2, starved_body, 120), 0);
}

static void wrap_body(void)
{
	HOST_CHECK(seq_lt(0xfffffff0u, 0x10));
	HOST_CHECK(!seq_lt(0x10, 0xfffffff0u));
	HOST_CHECK(seq_leq(5, 5) && seq_geq(5, 5) && !seq_gt(5, 5));
	HOST_CHECK_EQ(seq_max(0xfffffff0u, 0x10), 0x10);
	HOST_CHECK(seq_between(2, 0xfffffff0u, 0x10));
	HOST_CHECK(!seq_between(0x10, 0xfffffff0u, 0x10));
	/* RFC 9293, table 6. */
	HOST_CHECK(seq_acceptable(100, 0, 100, 0));
	HOST_CHECK(!seq_acceptable(101, 0, 100, 0));
	HOST_CHECK(seq_acceptable(199, 0, 100, 100));
	HOST_CHECK(!seq_acceptable(200, 0, 100, 100));
	HOST_CHECK(!seq_acceptable(100, 1, 100, 0));
	HOST_CHECK(seq_acceptable(90, 20, 100, 100));
	HOST_CHECK(!seq_acceptable(90, 10, 100, 100));
	HOST_CHECK(seq_acceptable(90, 1000, 100, 100));
	HOST_CHECK(seq_acceptable(0xfffffff0u, 0x20, 0, 100));
}
static void test_wrap(void **state)
{
	assert_int_equal(host_run(1, wrap_body), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrap),  cmocka_unit_test(test_ends),  cmocka_unit_test(test_clean),
		cmocka_unit_test(test_lossy), cmocka_unit_test(test_window), cmocka_unit_test(test_many),
		cmocka_unit_test(test_limit), cmocka_unit_test(test_starved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
