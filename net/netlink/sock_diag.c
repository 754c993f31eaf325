/* SPDX-License-Identifier: MIT */
/*
 * NETLINK_SOCK_DIAG: lists of TCP, UDP and raw sockets for ss, with memory, TCP's
 * figures and the group that pays (attribute SOCK_DIAG_GROUP, Tally's own).
 */
#include "net/netlink/netlink.h"
#include "net/dgram.h"
#include "net/sock_info.h"
#include "net/tcp.h"

#define SOCK_DIAG_BY_FAMILY 20
#define INET_DIAG_MEMINFO   1
#define INET_DIAG_INFO      2
#define INET_DIAG_CONG      4
#define INET_DIAG_TOS       5
#define INET_DIAG_SKMEMINFO 7
#define INET_DIAG_SHUTDOWN  8
#define INET_DIAG_SKV6ONLY  11
#define SOCK_DIAG_GROUP     0x100 /* path of the group, a string */

struct inet_diag_sockid {
	uint16_t sport, dport; /* network order */
	uint8_t src[16], dst[16];
	uint32_t ifindex, cookie[2];
};
struct inet_diag_req {
	uint8_t family, protocol, ext, pad;
	uint32_t states;
	struct inet_diag_sockid id;
};
struct inet_diag_msg {
	uint8_t family, state, timer, retrans;
	struct inet_diag_sockid id;
	uint32_t expires, rqueue, wqueue, uid, inode;
};

/* One socket, or one that is none any more (request, TIME_WAIT): sk NULL. */
struct entry {
	int family, state;
	const struct ip_addr *laddr, *raddr;
	uint16_t lport, rport;
	uint32_t rqueue, wqueue;
	struct sock *sk;
	struct tcp_sock *tp;
};

struct list {
	const struct inet_diag_req *req;
	struct nl_dump *d;
	struct nl_buf *b;
	uint64_t n;
};

static void put_id_addr(uint8_t *to, const struct ip_addr *a, int family)
{
	if (family == AF_INET)
		memcpy(to, &a->b[12], 4);
	else
		memcpy(to, a->b, 16);
}

static bool wanted(const struct list *l, const struct entry *e)
{
	return (!l->req->family || l->req->family == e->family) &&
	       (l->req->states & (1u << e->state));
}

static bool ext(const struct list *l, unsigned attr)
{
	return l->req->ext & (1u << (attr - 1));
}

static void put_memory(struct list *l, const struct sock *s)
{
	uint32_t m[NR_SKMEM], old[4];
	char group[256];

	sock_meminfo(s, m);
	if (ext(l, INET_DIAG_SKMEMINFO)) {
		nl_put(l->b, INET_DIAG_SKMEMINFO, m, sizeof(m));
		sock_group(s, group, sizeof(group));
		nl_put_str(l->b, SOCK_DIAG_GROUP, group);
	}
	if (ext(l, INET_DIAG_MEMINFO)) {
		old[0] = m[SKMEM_RMEM];
		old[1] = m[SKMEM_WQUEUED];
		old[2] = m[SKMEM_FWD];
		old[3] = m[SKMEM_WMEM];
		nl_put(l->b, INET_DIAG_MEMINFO, old, sizeof(old));
	}
}

static bool put_entry(struct list *l, const struct entry *e)
{
	struct inet_diag_msg *m = nl_begin(l->b, SOCK_DIAG_BY_FAMILY, sizeof(*m));
	uint8_t shut, v6only;

	m->family = (uint8_t)e->family;
	m->state = (uint8_t)e->state;
	m->id.sport = be16(e->lport);
	m->id.dport = be16(e->rport);
	put_id_addr(m->id.src, e->laddr, e->family);
	put_id_addr(m->id.dst, e->raddr, e->family);
	m->id.cookie[0] =
		(uint32_t)(uintptr_t)(e->sk ? (const void *)e->sk : (const void *)e->laddr);
	m->rqueue = e->rqueue;
	m->wqueue = e->wqueue;
	if (!e->sk)
		return nl_end(l->b);
	m->uid = e->sk->uid;
	m->inode = e->sk->ino;
	m->id.ifindex = e->sk->ip.bound ? e->sk->ip.bound->index : 0;
	shut = (uint8_t)sock_shut(e->sk);
	v6only = e->sk->v6only;
	nl_put(l->b, INET_DIAG_SHUTDOWN, &shut, 1);
	if (e->family == AF_INET6)
		nl_put(l->b, INET_DIAG_SKV6ONLY, &v6only, 1);
	if (ext(l, INET_DIAG_TOS))
		nl_put(l->b, INET_DIAG_TOS, &e->sk->tos, 1);
	put_memory(l, e->sk);
	if (e->tp && ext(l, INET_DIAG_INFO)) {
		struct abi_tcp_info info;

		tcp_fill_info(e->tp, &info);
		nl_put(l->b, INET_DIAG_INFO, &info, sizeof(info));
	}
	if (e->tp && ext(l, INET_DIAG_CONG))
		nl_put_str(l->b, INET_DIAG_CONG, e->tp->cc ? e->tp->cc->name : "cubic");
	return nl_end(l->b);
}

static bool one_listener(struct tcp_sock *tp, void *arg)
{
	struct list *l = arg;
	struct entry e = { .family = tp->sk.family, .state = TCP_LISTEN, .laddr = &tp->ep.laddr,
			   .raddr = &tp->ep.raddr, .lport = tp->ep.lport, .sk = &tp->sk, .tp = tp };

	if (!wanted(l, &e))
		return true;
	e.rqueue = tcp_accept_waiting(tp, &e.wqueue);
	return put_entry(l, &e);
}

static bool one_connection(struct ep *ep, void *arg)
{
	struct list *l = arg;
	struct entry e = { .family = addr_is_v4(&ep->laddr) ? AF_INET : AF_INET6,
			   .laddr = &ep->laddr,
			   .raddr = &ep->raddr,
			   .lport = ep->lport,
			   .rport = ep->rport };

	if (ep->kind == EP_SOCK) {
		e.tp = ep_sock(ep);
		e.sk = &e.tp->sk;
		e.state = tcp_state(e.tp);
		e.rqueue = atomic_load_explicit(&e.tp->rx_bytes, memory_order_relaxed);
		e.wqueue = __atomic_load_n(&e.tp->write_seq, __ATOMIC_RELAXED) -
			   __atomic_load_n(&e.tp->snd_una, __ATOMIC_RELAXED);
	} else {
		e.state = ep->kind == EP_REQ ? TCP_SYN_RECV : TCP_TIME_WAIT;
	}
	return !wanted(l, &e) || put_entry(l, &e);
}

static bool one_dgram(struct dgram_sock *d, void *arg)
{
	uint16_t rport = __atomic_load_n(&d->rport, __ATOMIC_RELAXED);
	struct list *l = arg;
	struct entry e = { .family = d->sk.family,
			   .state = rport ? TCP_ESTABLISHED : TCP_CLOSE,
			   .laddr = &d->laddr,
			   .raddr = &d->raddr,
			   .lport = d->lport,
			   .rport = rport,
			   .sk = &d->sk };

	if (d->sk.type == SOCK_RAW)
		e.lport = (uint16_t)d->sk.protocol;
	if (!wanted(l, &e))
		return true;
	e.rqueue = __atomic_load_n(&d->rmem, __ATOMIC_RELAXED);
	e.wqueue = atomic_load_explicit(&d->wmem, memory_order_relaxed);
	return put_entry(l, &e);
}

/* There are never many raw sockets: a list goes on by their number. */
static bool one_raw(struct dgram_sock *d, void *arg)
{
	struct list *l = arg;

	if (l->n++ < l->d->at2)
		return true;
	if (!one_dgram(d, arg))
		return false;
	l->d->at2++;
	return true;
}

static struct sock_place place_of(const struct nl_dump *d, uint64_t first)
{
	return (struct sock_place){ .bucket = (unsigned)(d->at - first),
				    .entry = (unsigned)d->at2 };
}

/* Also at the end (@done): if no room is left to say so, the next call must find nothing. */
static bool keep_place(struct nl_dump *d, uint64_t first, const struct sock_place *p, bool done)
{
	d->at = p->bucket + first;
	d->at2 = p->entry;
	return done;
}

#define CONNECTIONS (1ull << 32) /* at: from there on connections, before it listeners */

/* Tables are walked by bucket (at) and entry in it (at2). */
static bool tcp_step(struct nl_dump *d, struct nl_buf *b)
{
	struct list l = { .req = (const void *)d->args, .d = d, .b = b };
	struct sock_place place = place_of(d, 0);
	bool done;

	if (d->at < CONNECTIONS) {
		if (!listen_walk(&place, one_listener, &l))
			return keep_place(d, 0, &place, false);
		d->at = CONNECTIONS;
		d->at2 = 0;
	}
	place = place_of(d, CONNECTIONS);
	done = ep_walk(&place, one_connection, &l);
	return keep_place(d, CONNECTIONS, &place, done);
}

static bool udp_step(struct nl_dump *d, struct nl_buf *b)
{
	struct list l = { .req = (const void *)d->args, .d = d, .b = b };
	struct sock_place place = place_of(d, 0);
	bool done = udp_walk(&place, one_dgram, &l);

	return keep_place(d, 0, &place, done);
}

static bool raw_step(struct nl_dump *d, struct nl_buf *b)
{
	struct list l = { .req = (const void *)d->args, .d = d, .b = b };

	return raw_for_each(one_raw, &l);
}

static int diag_dump(struct nl_request *r, struct nl_dump *d)
{
	const struct inet_diag_req *q = (const void *)r->body;

	_Static_assert(sizeof(struct inet_diag_req) <= sizeof(d->args),
		       "the request is kept for its filters");
	if (r->h->type != SOCK_DIAG_BY_FAMILY)
		return -EOPNOTSUPP;
	if (r->body_len && r->body[0] == AF_UNIX)
		return unix_diag_dump(r, d);
	if (r->body_len < sizeof(*q))
		return -EINVAL;
	if (q->family != AF_INET && q->family != AF_INET6 && q->family != AF_UNSPEC)
		return -ENOENT;
	switch (q->protocol) {
	case IPPROTO_TCP:
		d->step = tcp_step;
		return 0;
	case IPPROTO_UDP:
		d->step = udp_step;
		return 0;
	case 255: /* raw */
		d->step = raw_step;
		return 0;
	}
	return -ENOENT;
}

static int diag_request(struct nl_request *r, struct nl_buf *reply)
{
	(void)r;
	(void)reply;
	return -EOPNOTSUPP; /* one socket by its identity: nobody asks for that here */
}

const struct nl_proto nl_sock_diag = { .request = diag_request, .dump = diag_dump };
