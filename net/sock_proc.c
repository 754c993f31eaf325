/* SPDX-License-Identifier: MIT */
/*
 * /proc/net/{udp,udp6,raw,raw6,unix,sockstat,sockstat6}: sockets but TCP's, and sums, formats of
 * Linux.
 */
#include "net/ether.h"
#include "net/dgram.h"
#include "net/frag.h"
#include "net/sock_info.h"
#include "net/sock_proc.h"
#include "net/tcp.h"
#include "net/unix.h"
#include "fs/vfs.h"

struct table {
	struct seq *s;
	int family;
	unsigned n;
};

static void put_addr(struct seq *s, const struct ip_addr *a, uint16_t port, int family)
{
	if (family == AF_INET6)
		seq_printf(s, "%08X%08X%08X%08X:%04X", a->d[0], a->d[1], a->d[2], a->d[3], port);
	else
		seq_printf(s, "%08X:%04X", a->d[3], port);
}

static bool line(struct dgram_sock *d, void *arg)
{
	uint16_t rport = __atomic_load_n(&d->rport, __ATOMIC_RELAXED);
	struct table *t = arg;

	if (d->sk.family != t->family)
		return true;
	seq_printf(t->s, "%5u: ", t->n++);
	put_addr(t->s, &d->laddr, d->sk.type == SOCK_RAW ? (uint16_t)d->sk.protocol : d->lport,
		 t->family);
	seq_printf(t->s, " ");
	put_addr(t->s, &d->raddr, rport, t->family);
	seq_printf(
		t->s,
		" %02X %08X:%08X 00:00000000 00000000 %5u        0 %u 2 0000000000000000 %u\n",
		rport ? TCP_ESTABLISHED : TCP_CLOSE,
		atomic_load_explicit(&d->wmem, memory_order_relaxed),
		__atomic_load_n(&d->rmem, __ATOMIC_RELAXED),
		d->sk.uid, d->sk.ino, atomic_load_explicit(&d->drops, memory_order_relaxed));
	return true;
}

/* @arg: family, and 256 for raw sockets. */
static int show_dgram(struct seq *s, void *arg)
{
	struct table t = { .s = s, .family = (int)(uintptr_t)arg & 255 };
	const char *gap = t.family == AF_INET6 ? "                        " : "";

	seq_printf(s,
		   "  sl  local_address %srem_address   %sst tx_queue rx_queue tr tm->when "
		   "retrnsmt   uid  timeout inode ref pointer drops\n",
		   gap, gap);
	if ((uintptr_t)arg & 256)
		raw_for_each(line, &t);
	else
		udp_for_each(line, &t);
	return 0;
}

struct count {
	int family; /* 0: both */
	unsigned n;
	uint64_t bytes;
};

static bool count_dgram(struct dgram_sock *d, void *arg)
{
	struct count *c = arg;

	if (c->family && d->sk.family != c->family)
		return true;
	c->n++;
	c->bytes += __atomic_load_n(&d->rmem, __ATOMIC_RELAXED) +
		    atomic_load_explicit(&d->wmem, memory_order_relaxed);
	return true;
}

static bool count_listener(struct tcp_sock *tp, void *arg)
{
	struct count *c = arg;

	c->n += !c->family || tp->sk.family == c->family;
	return true;
}

static bool count_connection(struct ep *e, void *arg)
{
	struct count *c = arg;

	if (e->kind != EP_SOCK || (c->family && (c->family == AF_INET) != addr_is_v4(&e->laddr)))
		return true;
	c->n++;
	c->bytes += __atomic_load_n(&ep_sock(e)->rmem, __ATOMIC_RELAXED) +
		    atomic_load_explicit(&ep_sock(e)->wmem, memory_order_relaxed);
	return true;
}

static unsigned pages(uint64_t bytes)
{
	return (unsigned)((bytes + PAGE_SIZE - 1) / PAGE_SIZE);
}

static int show_sockstat(struct seq *s, void *arg)
{
	struct count tcp = { 0 }, udp = { 0 }, raw = { 0 };
	struct count tcp4 = { .family = AF_INET }, udp4 = tcp4, raw4 = tcp4;
	struct sock_place start = { 0 }, start4 = { 0 }, first = { 0 }, first4 = { 0 };
	unsigned frags, neighs, waiting;
	uint64_t waiting_bytes;
	uint32_t frag_bytes;

	(void)arg;
	listen_walk(&first, count_listener, &tcp);
	ep_walk(&start, count_connection, &tcp);
	udp_for_each(count_dgram, &udp);
	raw_for_each(count_dgram, &raw);
	/* "inuse" is IPv4's, as in Linux; the others are of both. */
	listen_walk(&first4, count_listener, &tcp4);
	ep_walk(&start4, count_connection, &tcp4);
	udp_for_each(count_dgram, &udp4);
	raw_for_each(count_dgram, &raw4);
	frag_usage(&frags, &frag_bytes);
	neigh_usage(&neighs, &waiting, &waiting_bytes);
	seq_printf(s, "sockets: used %u\n", tcp.n + udp.n + raw.n);
	seq_printf(s, "TCP: inuse %u orphan 0 tw %u alloc %u mem %u\n", tcp4.n, tcp_tw_count(),
		   tcp.n, pages(tcp.bytes));
	seq_printf(s, "UDP: inuse %u mem %u\nUDPLITE: inuse 0\nRAW: inuse %u\n", udp4.n,
		   pages(udp.bytes), raw4.n);
	seq_printf(s, "FRAG: inuse %u memory %u\n", frags, frag_bytes);
	seq_printf(s, "NEIGH: inuse %u waiting %u memory %llu\n", neighs, waiting,
		   (unsigned long long)waiting_bytes);
	return 0;
}

static int show_sockstat6(struct seq *s, void *arg)
{
	struct count tcp = { .family = AF_INET6 }, udp = { .family = AF_INET6 },
		     raw = { .family = AF_INET6 };
	struct sock_place start = { 0 }, first = { 0 };

	(void)arg;
	listen_walk(&first, count_listener, &tcp);
	ep_walk(&start, count_connection, &tcp);
	udp_for_each(count_dgram, &udp);
	raw_for_each(count_dgram, &raw);
	seq_printf(s, "TCP6: inuse %u\nUDP6: inuse %u\nUDPLITE6: inuse 0\nRAW6: inuse %u\n", tcp.n,
		   udp.n, raw.n);
	return 0;
}

static void unix_line(struct unix_sock *u, void *arg)
{
	bool listens = atomic_load_explicit(&u->listening, memory_order_relaxed);
	bool connected = atomic_load_explicit(&u->connected, memory_order_relaxed);

	seq_printf(arg, "%016x: %08X 00000000 %08X %04X %02X %5u", 0,
		   (unsigned)atomic_load_explicit(&u->refs, memory_order_relaxed),
		   listens ? 0x10000 : 0, (unsigned)u->sk.type, connected ? 3 : 1, u->sk.ino);
	if (u->name_len > 2 && u->name.path[0])
		seq_printf(arg, " %.*s", (int)u->name_len - 2, u->name.path);
	else if (u->name_len > 3) /* abstract: the leading zero byte is shown as @ */
		seq_printf(arg, " @%.*s", (int)u->name_len - 3, u->name.path + 1);
	seq_printf(arg, "\n");
}

static int show_unix(struct seq *s, void *arg)
{
	(void)arg;
	seq_printf(s, "Num       RefCount Protocol Flags    Type St Inode Path\n");
	unix_for_each(unix_line, s);
	return 0;
}

int sock_proc_init(void)
{
	return proc_register("net/udp", 0444, show_dgram, NULL, (void *)AF_INET) |
	       proc_register("net/udp6", 0444, show_dgram, NULL, (void *)AF_INET6) |
	       proc_register("net/raw", 0444, show_dgram, NULL, (void *)(AF_INET | 256)) |
	       proc_register("net/raw6", 0444, show_dgram, NULL, (void *)(AF_INET6 | 256)) |
	       proc_register("net/unix", 0444, show_unix, NULL, NULL) |
	       proc_register("net/sockstat", 0444, show_sockstat, NULL, NULL) |
	       proc_register("net/sockstat6", 0444, show_sockstat6, NULL, NULL);
}
