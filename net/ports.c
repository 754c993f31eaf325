/* SPDX-License-Identifier: MIT */
/* Local ports: net/ports.h. */
#include "net/ports.h"
#include "net/ip.h"
#include "mm/vmalloc.h"
#include "mm/slab.h"
#include "kernel/errno.h"

int port_table_init(struct port_table *t)
{
	t->buckets = kmalloc(PORT_BUCKETS * sizeof(*t->buckets), GFP_KERNEL);
	if (!t->buckets)
		return -ENOMEM;
	for (unsigned i = 0; i < PORT_BUCKETS; i++) {
		spin_init(&t->buckets[i].lock, "port_bucket");
		list_init(&t->buckets[i].users);
	}
	return 0;
}

static struct port_bucket *port_bucket(struct port_table *t, uint16_t port)
{
	return &t->buckets[port % PORT_BUCKETS];
}

/* Does the wildcard @w cover @a?  :: covers IPv4 unless IPV6_V6ONLY. */
static bool covers(const struct port_user *w, const struct port_user *a)
{
	if (!addr_is_any(&w->addr))
		return false;
	if (addr_is_v4(&w->addr))
		return addr_is_v4(&a->addr) || (addr_is_any(&a->addr) && !a->v6only);
	return !addr_is_v4(&a->addr) || !w->v6only;
}

static bool conflict(const struct port_user *a, const struct port_user *b)
{
	if (!addr_equal(&a->addr, &b->addr) && !covers(a, b) && !covers(b, a))
		return false;
	if (a->reuseport && b->reuseport)
		return false;
	return !(a->reuseaddr && b->reuseaddr && !a->listening && !b->listening);
}

static bool port_free(struct port_bucket *pb, struct port_user *u, uint16_t port)
{
	struct port_user *o;

	list_for_each_entry (o, &pb->users, link) {
		if (o->port == port && o != u && conflict(u, o))
			return false;
	}
	return true;
}

static bool port_take(struct port_table *t, struct port_user *u, uint16_t port,
		      bool (*try)(struct port_user *u, uint16_t port, void *arg), void *arg)
{
	struct port_bucket *pb = port_bucket(t, port);
	bool ok;

	spin_lock(&pb->lock);
	ok = port_free(pb, u, port) && (!try || try(u, port, arg));
	if (ok) {
		u->port = port;
		list_add_tail(&u->link, &pb->users);
	}
	spin_unlock(&pb->lock);
	return ok;
}

int port_bind(struct port_table *t, struct port_user *u, uint16_t port,
	      bool (*try)(struct port_user *u, uint16_t port, void *arg), void *arg)
{
	const unsigned range = EPHEMERAL_LAST - EPHEMERAL_FIRST + 1;
	bool ra = u->reuseaddr, rp = u->reuseport;
	unsigned at;

	if (port)
		return port_take(t, u, port, try, arg) ? 0 : -EADDRINUSE;
	/* An ephemeral port is nobody else's, whatever the options say. */
	u->reuseaddr = false;
	u->reuseport = false;
	at = net_random() % range;
	for (unsigned i = 0; i < range; i++) {
		if (port_take(t, u, (uint16_t)(EPHEMERAL_FIRST + at), try, arg)) {
			u->reuseaddr = ra;
			u->reuseport = rp;
			return 0;
		}
		if (++at == range)
			at = 0;
	}
	u->reuseaddr = ra;
	u->reuseport = rp;
	return -EADDRINUSE;
}

void port_release(struct port_table *t, struct port_user *u)
{
	struct port_bucket *pb;

	if (!u->port)
		return;
	pb = port_bucket(t, u->port);
	spin_lock(&pb->lock);
	list_del(&u->link);
	spin_unlock(&pb->lock);
	u->port = 0;
}

int port_set_listening(struct port_table *t, struct port_user *u, bool on)
{
	struct port_bucket *pb = port_bucket(t, u->port);
	int ret = 0;

	spin_lock(&pb->lock);
	u->listening = on;
	if (on && !port_free(pb, u, u->port)) {
		u->listening = false;
		ret = -EADDRINUSE;
	}
	spin_unlock(&pb->lock);
	return ret;
}
