/* SPDX-License-Identifier: MIT */
/* /proc/tally/net, /proc/net/{tcp,tcp6,dev,sockstat}: what the network shows of itself. */
#include "net/ether.h"
#include "net/net.h"
#include "net/netlink/netlink.h"
#include "net/sock_proc.h"
#include "net/tcp.h"
#include "fs/vfs.h"
#include "kernel/log.h"
#include "kernel/perf/pmu.h"

static int show_stats(struct seq *s, void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < NR_NET_STATS; i++)
		seq_printf(s, "%s %llu\n", net_stat_names[i],
			   (unsigned long long)net_stat_sum((enum net_stat)i));
	seq_printf(s, "tcp_timewait_now %u\n", tcp_tw_count());
	seq_printf(s, "tcp_orphans_now %u\n", tcp_orphans());
	return 0;
}

struct tcp_show {
	struct seq *s;
	bool v6;
	unsigned n;
};

static void show_addr(struct seq *s, const struct ip_addr *a, uint16_t port, bool v6)
{
	if (v6)
		seq_printf(s, "%08X%08X%08X%08X:%04X", a->d[0], a->d[1], a->d[2], a->d[3], port);
	else
		seq_printf(s, "%08X:%04X", a->d[3], port);
}

/* Linux's columns; figures are read without ownership and may be a moment old. */
static void show_line(struct tcp_show *t, const struct ep *e, int state, uint32_t tx, uint32_t rx,
		      const struct sock *sk)
{
	seq_printf(t->s, "%4u: ", t->n++);
	show_addr(t->s, &e->laddr, e->lport, t->v6);
	seq_printf(t->s, " ");
	show_addr(t->s, &e->raddr, e->rport, t->v6);
	seq_printf(t->s, " %02X %08X:%08X 00:00000000 00000000 %5u        0 %u\n", state, tx, rx,
		   sk ? sk->uid : 0, sk ? sk->ino : 0);
}

static void show_listener(struct tcp_sock *tp, void *arg)
{
	struct tcp_show *t = arg;

	if ((tp->sk.family == AF_INET6) == t->v6)
		show_line(t, &tp->ep, TCP_LISTEN, 0, 0, &tp->sk);
}

static void show_ep(struct ep *e, void *arg)
{
	struct tcp_show *t = arg;
	struct tcp_sock *tp = ep_sock(e);

	if (addr_is_v4(&e->laddr) == t->v6)
		return;
	if (e->kind == EP_SOCK)
		show_line(t, e, tcp_state(tp), __atomic_load_n(&tp->write_seq, __ATOMIC_RELAXED) -
			  __atomic_load_n(&tp->snd_una, __ATOMIC_RELAXED),
			  atomic_load_explicit(&tp->rx_bytes, memory_order_relaxed), &tp->sk);
	else
		show_line(t, e, e->kind == EP_REQ ? TCP_SYN_RECV : TCP_TIME_WAIT, 0, 0, NULL);
}

static int show_tcp(struct seq *s, void *arg)
{
	struct tcp_show t = { .s = s, .v6 = arg != NULL };

	seq_printf(s,
		   "  sl  local_address %sremote_address %sst tx_queue rx_queue tr tm->when "
		   "retrnsmt   uid  timeout inode\n",
		   t.v6 ? "                        " : "", t.v6 ? "                        " : "");
	listen_for_each(show_listener, &t);
	ep_for_each(show_ep, &t);
	return 0;
}

static int show_if_inet6(struct seq *s, void *arg)
{
	const struct ifaddr *t = ifaddr_table();

	(void)arg;
	for (unsigned i = 0; i < NR_IFADDRS; i++) {
		struct netdev *d = atomic_load_explicit(&t[i].dev, memory_order_acquire);

		if (!d || addr_is_v4(&t[i].addr))
			continue;
		for (unsigned k = 0; k < 16; k++)
			seq_printf(s, "%02x", t[i].addr.b[k]);
		seq_printf(s, " %02x %02x %02x %02x %8s\n", d->index, t[i].prefix,
			   d->loopback		    ? 0x10
			   : t[i].addr.b[0] == 0xfe ? 0x20
						    : 0,
			   atomic_load_explicit(&t[i].flags, memory_order_relaxed) & IFA_TENTATIVE
				   ? 0x40
				   : 0x80,
			   d->name);
	}
	return 0;
}

void net_init(void)
{
	int err = 0;

	net_init_core();
	err |= proc_register("tally/net", 0444, show_stats, NULL, NULL);
	err |= proc_register("net/tcp", 0444, show_tcp, NULL, NULL);
	err |= proc_register("net/tcp6", 0444, show_tcp, NULL, (void *)1);
	err |= if_proc_init() | sock_proc_init() | snmp_proc_init();
	netlink_init();
	/* Each counter can be counted by perf. */
	err |= pmu_register_counters(net_stat_names, "network: see /proc/tally/net", net_stats.v,
				     NR_NET_STATS);
	err |= proc_register("net/if_inet6", 0444, show_if_inet6, NULL, NULL);
	if (err)
		pr_warn("net: files in /proc are missing (no memory)");
}
