/* SPDX-License-Identifier: MIT */
/*
 * Tests that bear the name of the requirement they show: must_N_ and shld_N_ are
 * MUST-N and SHLD-N of RFC 9293, rfcN_ another one, tN_ and mN_ reports about other
 * stacks (docs/tcp.md has the table).  One connection, whose parts are here.
 */
#ifndef TESTS_HOST_TCP_NAMED_H
#define TESTS_HOST_TCP_NAMED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/host/tcp/harness.h"
#include "fs/vfs.h"
#include "net/icmp_err.h"

#define MSS 1000u

static struct sock *l, *s;
static struct tcp_sock *tp;
static struct h_peer h;
static uint8_t data[200 * MSS];

/* A listener, and a peer that has not said anything. */
static inline void listening(void)
{
	l = h_listen(5);
	s = NULL;
	h_peer_init(&h, 4000);
}
static inline void accepted(void)
{
	h.delay_ms = 100;
	s = h_established(&h, l, 1000);
	tp = tcp_of(s);
}
static inline void begin(void)
{
	listening();
	accepted();
}
static inline void end(void)
{
	if (s) {
		s->linger_on = true;
		s->linger_s = 0;
		h_close(s);
	}
	h_close(l);
	h_drain();
}
/* The peer sends @n bytes, which are acknowledged or not. */
static inline void his_data(unsigned n)
{
	h_inject(&h, TH_ACK, h.seq, h.ack, n);
	h.seq += n;
}

#define TEST(name)                                                                                 \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		assert_int_equal(h_run(name##_body), 0);                                           \
	}
#define ENTRY(name) cmocka_unit_test(test_##name),
#define MAIN(TESTS)                                                                                \
	TESTS(TEST)                                                                                \
	int main(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = { TESTS(ENTRY) };                                \
                                                                                                   \
		(void)data;                                                                        \
		return cmocka_run_group_tests(tests, NULL, NULL);                                  \
	}

#endif /* TESTS_HOST_TCP_NAMED_H */
