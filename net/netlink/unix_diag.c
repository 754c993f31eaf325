/* SPDX-License-Identifier: MIT */
/* NETLINK_SOCK_DIAG for AF_UNIX: lists of sockets for "ss -x". */
#include "net/netlink/netlink.h"
#include "net/sock_info.h"
#include "net/tcp.h"
#include "net/unix.h"

#define SOCK_DIAG_BY_FAMILY 20
#define UNIX_DIAG_NAME     0
#define UNIX_DIAG_PEER     2
#define UNIX_DIAG_RQLEN    4
#define UNIX_DIAG_MEMINFO  5
#define UNIX_DIAG_SHUTDOWN 6
#define UNIX_DIAG_UID      7
#define SHOW_NAME    0x01 /* bits of unix_diag_req.show */
#define SHOW_PEER    0x04
#define SHOW_RQLEN   0x10
#define SHOW_MEMINFO 0x20
#define SHOW_UID     0x40
#define SOCK_DIAG_GROUP 0x100 /* path of the group that pays, a string; Tally's own */

struct unix_diag_req {
	uint8_t family, protocol;
	uint16_t pad;
	uint32_t states, ino, show, cookie[2];
};
struct unix_diag_msg {
	uint8_t family, type, state, pad;
	uint32_t ino, cookie[2];
};

struct list {
	const struct unix_diag_req *req;
	struct nl_dump *d;
	struct nl_buf *b;
	uint64_t n;
	bool full;
};

static unsigned state_of(const struct unix_sock *u)
{
	if (atomic_load_explicit(&u->listening, memory_order_relaxed))
		return TCP_LISTEN;
	return atomic_load_explicit(&u->connected, memory_order_relaxed) ? TCP_ESTABLISHED
									 : TCP_CLOSE;
}

/* Under unix_lock, which protects name and peer. */
static bool put_socket(struct nl_buf *b, const struct unix_sock *u, uint32_t show)
{
	struct unix_diag_msg *m = nl_begin(b, SOCK_DIAG_BY_FAMILY, sizeof(*m));
	uint32_t mem[NR_SKMEM], lens[2];
	uint8_t shut = (uint8_t)sock_shut(&u->sk);
	char group[256];

	m->family = AF_UNIX;
	m->type = (uint8_t)u->sk.type;
	m->state = (uint8_t)state_of(u);
	m->ino = u->sk.ino;
	m->cookie[0] = (uint32_t)(uintptr_t)u;
	if ((show & SHOW_NAME) && u->name_len > 2)
		nl_put(b, UNIX_DIAG_NAME, u->name.path, u->name_len - 2);
	if ((show & SHOW_PEER) && u->peer)
		nl_put_u32(b, UNIX_DIAG_PEER, u->peer->sk.ino);
	if (show & SHOW_RQLEN) {
		bool listens = state_of(u) == TCP_LISTEN;

		lens[0] = listens ? atomic_load_explicit(&u->nr_accept, memory_order_relaxed) :
				    atomic_load_explicit(&u->rmem, memory_order_relaxed);
		lens[1] = listens ? u->backlog : 0;
		nl_put(b, UNIX_DIAG_RQLEN, lens, sizeof(lens));
	}
	if (show & SHOW_MEMINFO) {
		sock_meminfo(&u->sk, mem);
		nl_put(b, UNIX_DIAG_MEMINFO, mem, sizeof(mem));
		sock_group(&u->sk, group, sizeof(group));
		nl_put_str(b, SOCK_DIAG_GROUP, group);
	}
	if (show & SHOW_UID)
		nl_put_u32(b, UNIX_DIAG_UID, u->sk.uid);
	nl_put(b, UNIX_DIAG_SHUTDOWN, &shut, 1);
	return nl_end(b);
}

static void one(struct unix_sock *u, void *arg)
{
	struct list *l = arg;

	if (l->full || !(l->req->states & 1u << state_of(u)) ||
	    (l->req->ino && l->req->ino != u->sk.ino) || l->n++ < l->d->at)
		return;
	if (put_socket(l->b, u, l->req->show))
		l->d->at++;
	else
		l->full = true;
}

static bool step(struct nl_dump *d, struct nl_buf *b)
{
	struct list l = { .req = (const void *)d->args, .d = d, .b = b };

	rcu_read_lock(); /* for the path of the group */
	unix_for_each(one, &l);
	rcu_read_unlock();
	return !l.full;
}

int unix_diag_dump(struct nl_request *r, struct nl_dump *d)
{
	if (r->body_len < sizeof(struct unix_diag_req))
		return -EINVAL;
	d->step = step;
	return 0;
}
