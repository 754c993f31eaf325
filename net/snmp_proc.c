/* SPDX-License-Identifier: MIT */
/*
 * /proc/net/{snmp,netstat}: the counters of RFC 4293, 4022 and 4113 that this stack has, both
 * families together, in Linux's format: a line of names, a line of values.
 */
#include "net/sock_proc.h"
#include "net/tcp.h"
#include "fs/vfs.h"

struct row {
	const char *name;
	enum net_stat stat;
};

static void show_group(struct seq *s, const char *group, const struct row *rows, unsigned n,
		       const char *more_names, const char *more_values)
{
	seq_printf(s, "%s:%s", group, more_names);
	for (unsigned i = 0; i < n; i++)
		seq_printf(s, " %s", rows[i].name);
	seq_printf(s, "\n%s:%s", group, more_values);
	for (unsigned i = 0; i < n; i++)
		seq_printf(s, " %llu", (unsigned long long)net_stat_sum(rows[i].stat));
	seq_printf(s, "\n");
}

static bool count_open(struct ep *e, void *arg)
{
	if (e->kind == EP_SOCK && tcp_in(ep_sock(e), TCPF(TCP_ESTABLISHED) | TCPF(TCP_CLOSE_WAIT)))
		++*(unsigned *)arg;
	return true;
}

static int show_snmp(struct seq *s, void *arg)
{
	static const struct row ip[] = {
		{ "InHdrErrors", NS_ip_bad },        { "InUnknownProtos", NS_ip_noproto },
		{ "ReasmTimeout", NS_frag_timeouts }, { "ReasmReqds", NS_frag_in },
		{ "ReasmOKs", NS_frag_whole },       { "ReasmFails", NS_frag_bad },
		{ "FragCreates", NS_frag_out },
	};
	static const struct row icmp[] = {
		{ "InMsgs", NS_icmp_in },
		{ "InErrors", NS_icmp_errors_bad },
		{ "OutMsgs", NS_icmp_out },
	};
	static const struct row tcp[] = {
		{ "ActiveOpens", NS_tcp_active_opens }, { "PassiveOpens", NS_tcp_passive_opens },
		{ "InSegs", NS_tcp_in },                { "OutSegs", NS_tcp_out },
		{ "RetransSegs", NS_tcp_retransmits },  { "InErrs", NS_tcp_bad },
		{ "OutRsts", NS_tcp_resets_out },       { "InCsumErrors", NS_tcp_csum },
	};
	static const struct row udp[] = {
		{ "InDatagrams", NS_udp_in },   { "NoPorts", NS_udp_noport },
		{ "OutDatagrams", NS_udp_out }, { "RcvbufErrors", NS_udp_dropped },
	};
	struct sock_place start = { 0 };
	unsigned open = 0;
	char established[16];

	(void)arg;
	ep_walk(&start, count_open, &open);
	snprintf(established, sizeof(established), " %u", open);
	show_group(s, "Ip", ip, ARRAY_SIZE(ip), " Forwarding DefaultTTL", " 2 64");
	show_group(s, "Icmp", icmp, ARRAY_SIZE(icmp), "", "");
	show_group(s, "Tcp", tcp, ARRAY_SIZE(tcp), " CurrEstab", established);
	show_group(s, "Udp", udp, ARRAY_SIZE(udp), "", "");
	return 0;
}

/* Those of Linux's further counters that mean the same here. */
static int show_netstat(struct seq *s, void *arg)
{
	static const struct row tcp[] = {
		{ "SyncookiesSent", NS_tcp_cookies_sent },
		{ "SyncookiesRecv", NS_tcp_cookies_good },
		{ "SyncookiesFailed", NS_tcp_cookies_bad },
		{ "ListenOverflows", NS_tcp_listen_overflows },
		{ "PAWSEstab", NS_tcp_paws },
		{ "TCPTimeouts", NS_tcp_timeouts },
		{ "TCPFastRetrans", NS_tcp_fast_retransmits },
		{ "TCPLossProbes", NS_tcp_tail_probes },
		{ "TCPOFOQueue", NS_tcp_ofo },
		{ "TCPChallengeACK", NS_tcp_challenge_acks },
	};

	(void)arg;
	show_group(s, "TcpExt", tcp, ARRAY_SIZE(tcp), "", "");
	return 0;
}

int snmp_proc_init(void)
{
	return proc_register("net/snmp", 0444, show_snmp, NULL, NULL) |
	       proc_register("net/netstat", 0444, show_netstat, NULL, NULL);
}
