/* SPDX-License-Identifier: MIT */
/*
 * What every state does with every kind of segment, wherever it lies relative to
 * the receive window, and with every acknowledgement number (RFC 9293 section
 * 3.10.7 with RFC 5961 and RFC 1337).  Each cell is a connection of its own.
 *
 * SOURCES: @net tests/host/tcp/harness.c
 * FLAVOURS: plain asan
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/host/tcp/harness.h"

/* The states; a half-open connection remembers how it came about (MUST-11). */
enum st { S_CLOSED, S_LISTEN, S_SYN_SENT, S_SYN_RECV_P, S_SYN_RECV_A, S_EST, S_FW1, S_FW2, S_CW,
	  S_CLOSING, S_LA, S_TW, NR_STATES };
static const char *const state_name[] = { "CLOSED", "LISTEN", "SYN-SENT", "SYN-RECEIVED (passive)",
	"SYN-RECEIVED (active)", "ESTABLISHED", "FIN-WAIT-1", "FIN-WAIT-2", "CLOSE-WAIT", "CLOSING",
	"LAST-ACK", "TIME-WAIT" };

enum ev { E_RST, E_SYN, E_FIN, E_ACK, E_DATA, E_BARE, E_RSTA, E_SYNA, NR_EVENTS };
static const char *const event_name[] = { "RST", "SYN", "FIN,ACK", "ACK", "data,ACK", "data without ACK",
	"RST,ACK", "SYN,ACK" };
static const uint8_t event_flags[] = { TH_RST, TH_SYN, TH_FIN | TH_ACK, TH_ACK, TH_ACK, 0,
	TH_RST | TH_ACK, TH_SYN | TH_ACK };

/* Left of the window, its first octet, inside of it, right of it. */
enum pos { P_LEFT, P_NEXT, P_IN, P_RIGHT, NR_POS };
static const char *const pos_name[] = { "left", "next", "inside", "right" };

/*
 * A cell is what we answer, and the state afterwards:
 *   -  nothing        A  <SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>
 *   R  a reset with the numbers of section 3.5.2    S  a SYN-ACK
 *   =  the same state, x the connection is gone, else: E established, W close-wait,
 *   C closing, 1 fin-wait-1, 2 fin-wait-2, T time-wait, r SYN-received
 */
static const char *const cells[NR_STATES][NR_EVENTS][NR_POS] = {
	[S_CLOSED] = {
		[E_RST]  = { "-=", "-=", "-=", "-=" },
		[E_SYN]  = { "R=", "R=", "R=", "R=" },
		[E_FIN]  = { "R=", "R=", "R=", "R=" },
		[E_ACK]  = { "R=", "R=", "R=", "R=" },
		[E_DATA] = { "R=", "R=", "R=", "R=" },
		[E_BARE] = { "R=", "R=", "R=", "R=" },
		[E_RSTA] = { "-=", "-=", "-=", "-=" },
		[E_SYNA] = { "R=", "R=", "R=", "R=" },
	},
	[S_LISTEN] = {
		[E_RST]  = { "-=", "-=", "-=", "-=" },
		[E_SYN]  = { "Sr", "Sr", "Sr", "Sr" },
		[E_FIN]  = { "R=", "R=", "R=", "R=" },
		[E_ACK]  = { "R=", "R=", "R=", "R=" },
		[E_DATA] = { "R=", "R=", "R=", "R=" },
		[E_BARE] = { "-=", "-=", "-=", "-=" },
		[E_RSTA] = { "-=", "-=", "-=", "-=" },
		[E_SYNA] = { "R=", "R=", "R=", "R=" },
	},
	[S_SYN_SENT] = { /* the acknowledgement, SND.NXT, is good */
		[E_RST]  = { "-=", "-=", "-=", "-=" }, /* without ACK: anybody could have sent it */
		[E_SYN]  = { "Sr", "Sr", "Sr", "Sr" }, /* crossing SYNs */
		[E_FIN]  = { "-=", "-=", "-=", "-=" },
		[E_ACK]  = { "-=", "-=", "-=", "-=" },
		[E_DATA] = { "-=", "-=", "-=", "-=" },
		[E_BARE] = { "-=", "-=", "-=", "-=" },
		[E_RSTA] = { "-x", "-x", "-x", "-x" },
		[E_SYNA] = { "AE", "AE", "AE", "AE" },
	},
	[S_SYN_RECV_P] = {
		[E_RST]  = { "-=", "-x", "A=", "-=" },
		[E_SYN]  = { "A=", "A=", "A=", "A=" },
		[E_FIN]  = { "A=", "AW", "AE", "A=" },
		[E_ACK]  = { "A=", "-E", "-E", "A=" },
		[E_DATA] = { "A=", "AE", "AE", "A=" },
		[E_BARE] = { "A=", "-=", "-=", "A=" },
		[E_RSTA] = { "-=", "-x", "A=", "-=" },
		[E_SYNA] = { "A=", "A=", "A=", "A=" },
	},
	[S_SYN_RECV_A] = {
		[E_RST]  = { "-=", "-x", "A=", "-=" },
		[E_SYN]  = { "A=", "A=", "A=", "A=" },
		[E_FIN]  = { "A=", "AW", "AE", "A=" },
		[E_ACK]  = { "A=", "-E", "-E", "A=" },
		[E_DATA] = { "A=", "AE", "AE", "A=" },
		[E_BARE] = { "A=", "-=", "-=", "A=" },
		[E_RSTA] = { "-=", "-x", "A=", "-=" },
		[E_SYNA] = { "A=", "A=", "A=", "A=" },
	},
	[S_EST] = {
		[E_RST]  = { "-=", "-x", "A=", "-=" },
		[E_SYN]  = { "A=", "A=", "A=", "A=" },
		[E_FIN]  = { "A=", "AW", "A=", "A=" },
		[E_ACK]  = { "A=", "-=", "-=", "A=" },
		[E_DATA] = { "A=", "A=", "A=", "A=" },
		[E_BARE] = { "A=", "-=", "-=", "A=" },
		[E_RSTA] = { "-=", "-x", "A=", "-=" },
		[E_SYNA] = { "A=", "A=", "A=", "A=" },
	},
	[S_FW1] = { /* our FIN stays unacknowledged */
		[E_RST]  = { "-=", "-x", "A=", "-=" },
		[E_SYN]  = { "A=", "A=", "A=", "A=" },
		[E_FIN]  = { "A=", "AC", "A=", "A=" },
		[E_ACK]  = { "A=", "-=", "-=", "A=" },
		[E_DATA] = { "A=", "A=", "A=", "A=" },
		[E_BARE] = { "A=", "-=", "-=", "A=" },
		[E_RSTA] = { "-=", "-x", "A=", "-=" },
		[E_SYNA] = { "A=", "A=", "A=", "A=" },
	},
	[S_FW2] = {
		[E_RST]  = { "-=", "-x", "A=", "-=" },
		[E_SYN]  = { "A=", "A=", "A=", "A=" },
		[E_FIN]  = { "A=", "AT", "A=", "A=" },
		[E_ACK]  = { "A=", "-=", "-=", "A=" },
		[E_DATA] = { "A=", "A=", "A=", "A=" },
		[E_BARE] = { "A=", "-=", "-=", "A=" },
		[E_RSTA] = { "-=", "-x", "A=", "-=" },
		[E_SYNA] = { "A=", "A=", "A=", "A=" },
	},
	[S_CW] = { /* text and FIN behind the FIN are ignored */
		[E_RST]  = { "-=", "-x", "A=", "-=" },
		[E_SYN]  = { "A=", "A=", "A=", "A=" },
		[E_FIN]  = { "A=", "-=", "-=", "A=" },
		[E_ACK]  = { "A=", "-=", "-=", "A=" },
		[E_DATA] = { "A=", "-=", "-=", "A=" },
		[E_BARE] = { "A=", "-=", "-=", "A=" },
		[E_RSTA] = { "-=", "-x", "A=", "-=" },
		[E_SYNA] = { "A=", "A=", "A=", "A=" },
	},
	[S_CLOSING] = {
		[E_RST]  = { "-=", "-x", "A=", "-=" },
		[E_SYN]  = { "A=", "A=", "A=", "A=" },
		[E_FIN]  = { "A=", "-=", "-=", "A=" },
		[E_ACK]  = { "A=", "-=", "-=", "A=" },
		[E_DATA] = { "A=", "-=", "-=", "A=" },
		[E_BARE] = { "A=", "-=", "-=", "A=" },
		[E_RSTA] = { "-=", "-x", "A=", "-=" },
		[E_SYNA] = { "A=", "A=", "A=", "A=" },
	},
	[S_LA] = {
		[E_RST]  = { "-=", "-x", "A=", "-=" },
		[E_SYN]  = { "A=", "A=", "A=", "A=" },
		[E_FIN]  = { "A=", "-=", "-=", "A=" },
		[E_ACK]  = { "A=", "-=", "-=", "A=" },
		[E_DATA] = { "A=", "-=", "-=", "A=" },
		[E_BARE] = { "A=", "-=", "-=", "A=" },
		[E_RSTA] = { "-=", "-x", "A=", "-=" },
		[E_SYNA] = { "A=", "A=", "A=", "A=" },
	},
	[S_TW] = { /* RCV.WND is 0: nothing more can come; no assassination (RFC 1337); a SYN to the right is a new connection (MAY-2) */
		[E_RST]  = { "-=", "-=", "-=", "-=" },
		[E_SYN]  = { "A=", "A=", "Sr", "Sr" },
		[E_FIN]  = { "A=", "A=", "A=", "A=" },
		[E_ACK]  = { "A=", "-=", "A=", "A=" },
		[E_DATA] = { "A=", "A=", "A=", "A=" },
		[E_BARE] = { "A=", "A=", "A=", "A=" },
		[E_RSTA] = { "-=", "-=", "-=", "-=" },
		[E_SYNA] = { "A=", "A=", "A=", "A=" },
	},
};

/* A bare acknowledgement at RCV.NXT: far too old, a little old, SND.UNA, SND.NXT, of the future. */
enum an { A_ANCIENT, A_OLD, A_UNA, A_NXT, A_FUTURE, NR_ACKS };
static const char *const ack_name[] = { "ancient", "old", "SND.UNA", "SND.NXT", "future" };
static const char *const ack_cells[NR_STATES][NR_ACKS] = {
	[S_CLOSED]     = { "R=", "R=", "R=", "R=", "R=" },
	[S_LISTEN]     = { "R=", "R=", "R=", "R=", "R=" },
	[S_SYN_SENT]   = { "R=", "R=", "R=", "-=", "R=" },
	[S_SYN_RECV_P] = { "R=", "R=", "R=", "-E", "R=" },
	[S_SYN_RECV_A] = { "R=", "R=", "R=", "-E", "R=" },
	[S_EST]        = { "A=", "-=", "-=", "-=", "A=" },
	[S_FW1]        = { "A=", "-=", "-=", "-2", "A=" },
	[S_FW2]        = { "A=", "-=", "-=", "-=", "A=" },
	[S_CW]         = { "A=", "-=", "-=", "-=", "A=" },
	[S_CLOSING]    = { "A=", "-=", "-=", "-T", "A=" },
	[S_LA]         = { "A=", "-=", "-=", "-x", "A=" },
	[S_TW]         = { "-=", "-=", "-=", "-=", "-=" },
};

static struct sock *listener;
static uint16_t next_port;

/* A connection in @st. */
struct conn {
	struct h_peer h;
	struct sock *s;      /* NULL: none yet, or no more */
	uint32_t una, nxt;   /* our numbers */
};

static void reach(struct conn *c, enum st st)
{
	bool active = st == S_SYN_SENT || st == S_SYN_RECV_A;

	memset(c, 0, sizeof(*c));
	h_peer_init(&c->h, next_port++);
	c->h.seq = 0xffffff00u; /* the window crosses the wrap */
	c->h.ack = 5000;
	if (active || st == S_CLOSED)
		c->h.lport = next_port;
	if (st == S_CLOSED || st == S_LISTEN) {
		c->una = c->nxt = c->h.ack;
		return;
	}
	if (active) {
		c->s = h_connect(&c->h);
		c->una = c->h.ack - 1;
		c->nxt = c->h.ack;
		if (st == S_SYN_RECV_A) {
			h_syn(&c->h, TH_SYN, c->h.seq++);
			h_expect(TH_SYN | TH_ACK);
		}
		return;
	}
	if (st == S_SYN_RECV_P) {
		h_syn(&c->h, TH_SYN, c->h.seq++);
		c->una = h_expect(TH_SYN | TH_ACK)->tcp.seq;
		c->nxt = c->una + 1;
		c->h.ack = c->nxt;
		return;
	}
	c->s = h_established(&c->h, listener, c->h.seq);
	c->una = c->h.ack;
	c->nxt = c->una;
	if (st == S_CW || st == S_LA) {
		h_inject(&c->h, TH_FIN | TH_ACK, c->h.seq++, c->h.ack, 0);
		h_expect(TH_ACK);
	}
	if (st != S_EST && st != S_CW) {
		HOST_CHECK_EQ(c->s->ops->shutdown(c->s, SHUT_WR), 0);
		HOST_CHECK_EQ(h_expect(TH_FIN | TH_ACK)->tcp.seq, c->nxt);
		c->nxt++;
	}
	if (st == S_CLOSING) {
		h_inject(&c->h, TH_FIN | TH_ACK, c->h.seq++, c->h.ack, 0);
		h_expect(TH_ACK);
	}
	if (st == S_FW2 || st == S_TW) {
		h_ack(&c->h, c->nxt);
		c->una = c->nxt;
	}
	if (st == S_TW) {
		h_inject(&c->h, TH_FIN | TH_ACK, c->h.seq++, c->h.ack, 0);
		h_expect(TH_ACK);
	}
}

static enum st state_of(const struct conn *c, enum st before)
{
	struct ep *e = ep_lookup(&h_us, c->h.lport, &c->h.addr, c->h.port);
	static const enum st of[] = {
		[TCP_ESTABLISHED] = S_EST, [TCP_SYN_SENT] = S_SYN_SENT, [TCP_SYN_RECV] = S_SYN_RECV_A,
		[TCP_FIN_WAIT1] = S_FW1,   [TCP_FIN_WAIT2] = S_FW2,	[TCP_TIME_WAIT] = S_TW,
		[TCP_CLOSE] = S_CLOSED,    [TCP_CLOSE_WAIT] = S_CW,	[TCP_LAST_ACK] = S_LA,
		[TCP_LISTEN] = S_LISTEN,   [TCP_CLOSING] = S_CLOSING,
	};
	enum st st;

	if (!e)
		return before == S_LISTEN ? S_LISTEN : S_CLOSED;
	st = e->kind == EP_SOCK ? of[tcp_state(ep_sock(e))] : e->kind == EP_REQ ? S_SYN_RECV_P : S_TW;
	ep_put(e);
	return st;
}

static enum st wanted(char c, enum st before)
{
	switch (c) {
	case '=':
		return before;
	case 'x':
		return S_CLOSED;
	case 'E':
		return S_EST;
	case 'W':
		return S_CW;
	case 'C':
		return S_CLOSING;
	case '2':
		return S_FW2;
	case 'T':
		return S_TW;
	case 'r':
		return before == S_SYN_SENT ? S_SYN_RECV_A : S_SYN_RECV_P;
	}
	HOST_CHECK(!"a letter of the table");
	return before;
}

static void bad(enum st st, const char *event, const char *where, const char *cell, const char *what)
{
	host_fail(__FILE__, __LINE__, "%s, %s, %s: expected \"%s\": %s (IPv%d)", state_name[st], event,
		  where, cell, what, h_v6 ? 6 : 4);
}

static void check(struct conn *c, enum st st, const char *event, const char *where, const char *cell,
		  uint8_t flags, uint32_t seq, uint32_t ack, unsigned len)
{
	uint32_t rcv_nxt = c->h.seq, end = seq + len + !!(flags & TH_SYN) + !!(flags & TH_FIN);
	struct pbuf *p;
	enum st now;

	p = h_next();
	if (cell[0] != '-' && !p)
		bad(st, event, where, cell, "no answer");
	switch (cell[0]) {
	case '-':
		if (p)
			bad(st, event, where, cell, "an answer");
		break;
	case 'A':
		if (p->tcp.tcp_flags != TH_ACK || p->tcp.seq != c->nxt)
			bad(st, event, where, cell, "not an acknowledgement with our sequence number");
		if (cell[1] == '=' && strcmp(where, "next") && p->tcp.ack != rcv_nxt)
			bad(st, event, where, cell, "acknowledges something else than RCV.NXT");
		break;
	case 'R':
		if (flags & TH_ACK ? p->tcp.tcp_flags != TH_RST || p->tcp.seq != ack :
				     p->tcp.tcp_flags != (TH_RST | TH_ACK) || p->tcp.seq || p->tcp.ack != end)
			bad(st, event, where, cell, "not the reset of section 3.5.2");
		break;
	case 'S':
		if (p->tcp.tcp_flags != (TH_SYN | TH_ACK) || p->tcp.ack != seq + 1)
			bad(st, event, where, cell, "not a SYN-ACK");
		c->nxt = p->tcp.seq + 1;
		break;
	}
	if (h_next())
		bad(st, event, where, cell, "a second answer");
	now = state_of(c, st);
	if (now != wanted(cell[1], st))
		bad(st, event, where, cell, state_name[now]);
}

static void leave(struct conn *c)
{
	struct ep *e;

	if (!c->s)
		c->s = h_accept(listener);
	if (c->s) {
		c->s->linger_on = true;
		h_close(c->s);
	}
	e = ep_lookup(&h_us, c->h.lport, &c->h.addr, c->h.port);
	if (e) {
		if (e->kind == EP_REQ)
			h_inject(&c->h, TH_RST, c->h.seq, 0, 0);
		ep_put(e);
	}
	h_drain();
}

static void events_body(void)
{
	struct conn c;

	next_port = 1000;
	listener = h_listen(5);
	for (enum st st = 0; st < NR_STATES; st++) {
		for (enum ev ev = 0; ev < NR_EVENTS; ev++) {
			for (enum pos pos = 0; pos < NR_POS; pos++) {
				static const uint32_t at[] = { -200u, 0, 100, 1u << 20 };
				unsigned len = ev == E_DATA || ev == E_BARE ? 10 : 0;
				uint32_t seq, ack;

				reach(&c, st);
				seq = c.h.seq + at[pos];
				ack = event_flags[ev] & TH_ACK ? c.h.ack : 0;
				h_inject(&c.h, event_flags[ev], seq, ack, len);
				check(&c, st, event_name[ev], pos_name[pos], cells[st][ev][pos],
				      event_flags[ev], seq, ack, len);
				leave(&c);
			}
		}
	}
	h_close(listener);
}

static void acks_body(void)
{
	struct conn c;

	next_port = 1000;
	listener = h_listen(5);
	for (enum st st = 0; st < NR_STATES; st++) {
		for (enum an an = 0; an < NR_ACKS; an++) {
			uint32_t ack;

			reach(&c, st);
			if (st == S_EST || st == S_CW) { /* something to acknowledge */
				HOST_CHECK_EQ(h_send(c.s, "0123456789", 10, 0), 10);
				h_expect(TH_ACK);
				c.nxt += 10;
			}
			ack = an == A_ANCIENT ? c.una - (1u << 20) : an == A_OLD ? c.una - 10 :
			      an == A_UNA ? c.una : an == A_NXT ? c.nxt : c.nxt + 10;
			h_inject(&c.h, TH_ACK, c.h.seq, ack, 0);
			check(&c, st, "ACK number", ack_name[an], ack_cells[st][an], TH_ACK, c.h.seq, ack, 0);
			leave(&c);
		}
	}
	h_close(listener);
}

static void test_events(void **state)
{
	assert_int_equal(h_run(events_body), 0);
}
static void test_acks(void **state)
{
	assert_int_equal(h_run(acks_body), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_acks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
