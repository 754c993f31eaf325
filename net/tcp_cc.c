/* SPDX-License-Identifier: MIT */
/* The choice of a congestion control, and the slow start that all share: net/tcp_cc.h. */
#include "net/tcp.h"
#include "kernel/param.h"

static const struct tcp_cc_ops *const all[] = { &tcp_reno, &tcp_cubic_ops };
static const char *const names[] = { "reno", "cubic", NULL }; /* as in all[] */
static int chosen = 1;
PARAM_ENUM("net.tcp.cc", chosen, names, PARAM_RW, "congestion control of new TCP connections");

const struct tcp_cc_ops *tcp_cc_default(void)
{
	return all[__atomic_load_n(&chosen, __ATOMIC_RELAXED)];
}

const struct tcp_cc_ops *tcp_cc_find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
		if (!strcmp(all[i]->name, name))
			return all[i];
	}
	return NULL;
}

void tcp_cc_set(struct tcp_sock *tp, const struct tcp_cc_ops *cc)
{
	tp->cc = cc;
	memset(&tp->cc_state, 0, sizeof(tp->cc_state));
	cc->init(tp);
}

void tcp_cc_acked(struct tcp_sock *tp, uint32_t acked, uint64_t now)
{
	/* A window that was not filled says nothing about the path (RFC 7661). */
	if (tp->ca == CA_OPEN && (uint64_t)(tp->snd_nxt - tp->snd_una + acked) * 2 < tp->cwnd)
		return;
	if (tp->cwnd >= TCP_CWND_MAX)
		return;
	if (tp->cwnd < tp->ssthresh) {
		/* By bytes, so that stretched acknowledgements do not slow us down. */
		tp->cwnd += tp->cc->hystart && !tp->loopback ? tcp_hystart_grow(tp, acked) : acked;
		return;
	}
	tp->cc->avoid(tp, acked, now);
}
