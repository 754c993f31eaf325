/* SPDX-License-Identifier: MIT */
/*
 * ss: sockets, their queues, memory and owners.
 *
 *	ss [-t] [-u] [-w] [-x] [-a | -l] [-n] [-m] [-i] [-p] [-H] [-4 | -6]
 *
 * Columns and words are those of iproute2's ss; -m adds group:PATH, the memory group
 * that pays for the socket's buffers.  Ports are always numbers.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/lib/ss_diag.h"

static int show_memory, show_info, show_processes, no_header;

/* Who has which socket open: one entry a descriptor, read from /proc once. */
struct holder {
	unsigned inode;
	int pid, fd;
	char name[20];
};
static struct holder *holders;
static size_t nr_holders;

static void add_holder(unsigned inode, int pid, int fd, const char *name)
{
	if (!(nr_holders & (nr_holders - 1))) { /* a power of two, or none: full */
		struct holder *more =
			realloc(holders, (nr_holders ? nr_holders * 2 : 1) * sizeof(*holders));

		if (!more)
			return;
		holders = more;
	}
	holders[nr_holders] = (struct holder){ .inode = inode, .pid = pid, .fd = fd };
	snprintf(holders[nr_holders++].name, sizeof(holders->name), "%s", name);
}

static void read_process(int pid)
{
	char path[320], link[64], name[20] = "?";
	struct dirent *e;
	FILE *f;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "r");
	if (f) {
		if (fgets(name, sizeof(name), f))
			name[strcspn(name, "\n")] = 0;
		fclose(f);
	}
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		unsigned inode;
		ssize_t n;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", pid, e->d_name);
		n = readlink(path, link, sizeof(link) - 1);
		if (n <= 0)
			continue;
		link[n] = 0;
		if (sscanf(link, "socket:[%u]", &inode) == 1)
			add_holder(inode, pid, atoi(e->d_name), name);
	}
	if (d)
		closedir(d);
}

static void read_processes(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (isdigit((unsigned char)e->d_name[0]))
			read_process(atoi(e->d_name));
	}
	if (d)
		closedir(d);
}

static void endpoint(char *out, size_t size, const struct ss_socket *s, const uint8_t *addr,
		     unsigned port)
{
	char text[INET6_ADDRSTRLEN] = "?", p[12] = "*";
	static const uint8_t any[16];
	int v6 = s->family == AF_INET6;

	inet_ntop(s->family, addr, text, sizeof(text));
	if (port)
		snprintf(p, sizeof(p), "%u", port);
	if (v6 && !memcmp(addr, any, 16) && !s->v6only)
		snprintf(out, size, "*:%s", p);
	else
		snprintf(out, size, v6 ? "[%s]:%s" : "%s:%s", text, p);
}

static void print_processes(const struct ss_socket *s)
{
	const char *before = " users:(";

	for (size_t i = 0; s->inode && i < nr_holders; i++) {
		if (holders[i].inode != s->inode)
			continue;
		printf("%s(\"%s\",pid=%d,fd=%d)", before, holders[i].name, holders[i].pid,
		       holders[i].fd);
		before = ",";
	}
	if (before[0] == ',')
		printf(")");
}

static void print_memory(const struct ss_socket *s)
{
	const uint32_t *m = s->memory;

	printf(" skmem:(r%u,rb%u,t%u,tb%u,f%u,w%u,o%u,bl%u,d%u) group:%s", m[0], m[1], m[2], m[3],
	       m[4], m[5], m[6], m[7], m[8], s->group[0] ? s->group : "/");
}

static void print_info(const struct ss_socket *s)
{
	const struct ss_tcp_info *i = &s->info;

	printf(" %s%s%s", i->options & 1 ? "ts " : "", i->options & 2 ? "sack " : "", s->cong);
	if (i->options & 4)
		printf(" wscale:%u,%u", i->wscale & 15, i->wscale >> 4);
	if (s->state == SS_LISTEN)
		return;
	printf(" rto:%u", i->rto / 1000);
	if (i->rtt)
		printf(" rtt:%u.%03u/%u.%03u", i->rtt / 1000, i->rtt % 1000, i->rttvar / 1000,
		       i->rttvar % 1000);
	printf(" mss:%u pmtu:%u rcvmss:%u advmss:%u cwnd:%u", i->snd_mss, i->pmtu, i->rcv_mss,
	       i->advmss, i->snd_cwnd);
	if (i->snd_ssthresh && i->snd_ssthresh < 0x100000)
		printf(" ssthresh:%u", i->snd_ssthresh);
	printf(" bytes_acked:%llu bytes_received:%llu segs_out:%u segs_in:%u lastsnd:%u lastrcv:%u",
	       (unsigned long long)i->bytes_acked, (unsigned long long)i->bytes_received,
	       i->segs_out, i->segs_in, i->last_data_sent, i->last_data_recv);
	if (i->unacked)
		printf(" unacked:%u", i->unacked);
	if (i->total_retrans)
		printf(" retrans:%u/%u", i->retrans, i->total_retrans);
	if (i->lost)
		printf(" lost:%u", i->lost);
	if (i->notsent_bytes)
		printf(" notsent:%u", i->notsent_bytes);
	printf(" rcv_space:%u minrtt:%u.%03u", i->rcv_space, i->min_rtt / 1000, i->min_rtt % 1000);
}

static void print_socket(const struct ss_socket *s, void *arg)
{
	static const char *const states[SS_NR_STATES] = {
		"UNKNOWN", "ESTAB", "SYN-SENT", "SYN-RECV", "FIN-WAIT-1", "FIN-WAIT-2", "TIME-WAIT",
		"UNCONN", "CLOSE-WAIT", "LAST-ACK", "LISTEN", "CLOSING",
	};
	char local[64], peer[64];

	(void)arg;
	endpoint(local, sizeof(local), s, s->laddr, s->lport);
	endpoint(peer, sizeof(peer), s, s->raddr, s->rport);
	printf("%-5s %-10s %-6u %-6u %28s %28s",
	       s->protocol == SS_TCP   ? "tcp"
	       : s->protocol == SS_UDP ? "udp"
				       : "raw",
	       s->state < SS_NR_STATES ? states[s->state] : "UNKNOWN", s->rqueue, s->wqueue, local,
	       peer);
	if (show_processes)
		print_processes(s);
	if ((show_memory && s->has_memory) || (show_info && s->has_info))
		printf("\n\t");
	if (show_memory && s->has_memory)
		print_memory(s);
	if (show_info && s->has_info)
		print_info(s);
	printf("\n");
}

static void print_unix(const struct ss_socket *s, void *arg)
{
	static const char *const kinds[] = { "u_str", "u_dgr", "raw", "rdm", "u_seq" };

	(void)arg;
	printf("%-5s %-10s %-6u %-6u %28s %28u",
	       s->type >= 1 && s->type <= 5 ? kinds[s->type - 1] : "unix",
	       s->state == SS_LISTEN ? "LISTEN" : s->state == SS_ESTAB ? "ESTAB" : "UNCONN",
	       s->rqueue, s->wqueue, s->name[0] ? s->name : "*", s->peer);
	if (show_processes)
		print_processes(s);
	if (show_memory && s->has_memory) {
		printf("\n\t");
		print_memory(s);
	}
	printf("\n");
}

static int list(int family, int protocol, unsigned states)
{
	static const int families[] = { AF_INET, AF_INET6 };

	for (int i = 0; i < 2; i++) {
		if (family && family != families[i])
			continue;
		if (ss_list(families[i], protocol, states, print_socket, NULL)) {
			perror("ss");
			return -1;
		}
	}
	return 0;
}

/* What waits and is charged to no socket: bounded for the whole machine (Tally's NEIGH line). */
static void print_unowned(void)
{
	FILE *f = fopen("/proc/net/sockstat", "r");
	char line[160];

	while (f && fgets(line, sizeof(line), f)) {
		unsigned n, waiting;
		unsigned long bytes;

		if (sscanf(line, "FRAG: inuse %u memory %lu", &n, &bytes) == 2)
			printf("frag  datagrams:%u mem:%lu\n", n, bytes);
		if (sscanf(line, "NEIGH: inuse %u waiting %u memory %lu", &n, &waiting, &bytes) == 3)
			printf("neigh entries:%u waiting:%u mem:%lu\n", n, waiting, bytes);
		if (sscanf(line, "TCP: inuse %*u orphan %*u tw %u", &n) == 1)
			printf("tw    sockets:%u\n", n);
	}
	if (f)
		fclose(f);
}

int main(int argc, char **argv)
{
	const unsigned all = (1u << SS_NR_STATES) - 2;
	/* Without -a: what is connected. */
	const unsigned connected =
		all & ~(1u << SS_LISTEN | 1u << SS_CLOSE | 1u << SS_TIME_WAIT | 1u << SS_SYN_RECV);
	unsigned tcp_states = connected, udp_states = 1u << SS_ESTAB;
	int tcp = 0, udp = 0, raw = 0, unix_too = 0, family = 0, c;

	while ((c = getopt(argc, argv, "tuwxalnmipeoH46")) != -1) {
		switch (c) {
		case 't': tcp = 1; break;
		case 'u': udp = 1; break;
		case 'w': raw = 1; break;
		case 'x': unix_too = 1; break;
		case 'a': tcp_states = udp_states = all; break;
		case 'l':
			tcp_states = 1u << SS_LISTEN;
			udp_states = 1u << SS_CLOSE;
			break;
		case 'm': show_memory = 1; break;
		case 'i': show_info = 1; break;
		case 'p': show_processes = 1; break;
		case 'H': no_header = 1; break;
		case '4': family = AF_INET; break;
		case '6': family = AF_INET6; break;
		case 'n': case 'e': case 'o': break;
		default:
			fprintf(stderr, "usage: ss [-t] [-u] [-w] [-x] [-a | -l] [-n] [-m] [-i] [-p] "
					"[-H] [-4 | -6]\n");
			return 2;
		}
	}
	if (!tcp && !udp && !raw && !unix_too)
		tcp = udp = raw = 1;
	if (show_processes)
		read_processes();
	if (!no_header)
		printf("%-5s %-10s %-6s %-6s %28s %28s%s\n", "Netid", "State", "Recv-Q", "Send-Q",
		       "Local Address:Port", "Peer Address:Port", show_processes ? " Process" : "");
	if ((unix_too && ss_list_unix(tcp_states | (udp_states & 1u << SS_CLOSE), print_unix, NULL)) ||
	    (raw && list(family, SS_RAW, udp_states)) ||
	    (udp && list(family, SS_UDP, udp_states)) || (tcp && list(family, SS_TCP, tcp_states)))
		return 1;
	if (show_memory && !no_header)
		print_unowned();
	return 0;
}
