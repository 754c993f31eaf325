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
		list_init(&t->buckets[i].holds);
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

static bool conflict_hold(const struct port_user *u, const struct port_hold *h)
{
	struct port_user as = { .addr = h->addr,
				.v6only = true,
				.reuseaddr = h->reuseaddr,
				.reuseport = h->reuseport };

	return conflict(u, &as);
}

static bool port_unbound(struct port_bucket *pb, const struct port_user *u, uint16_t port)
{
	struct port_user *o;

	list_for_each_entry (o, &pb->users, link) {
		if (o->port == port && o != u && conflict(u, o))
			return false;
	}
	return true;
}

static bool port_free(struct port_bucket *pb, const struct port_user *u, uint16_t port)
{
	struct port_hold *h;

	if (!port_unbound(pb, u, port))
		return false;
	list_for_each_entry (h, &pb->holds, link) {
		if (h->port == port && conflict_hold(u, h))
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
	/* bind() has settled it with the connections: only who listens beside counts now. */
	if (on && !port_unbound(pb, u, u->port)) {
		u->listening = false;
		ret = -EADDRINUSE;
	}
	spin_unlock(&pb->lock);
	return ret;
}

/* Under the bucket's lock. */
static struct port_hold *find_hold(struct port_bucket *pb, const struct ip_addr *addr,
				   uint16_t port, bool reuseaddr, bool reuseport)
{
	struct port_hold *h;

	list_for_each_entry (h, &pb->holds, link) {
		if (h->port == port && h->reuseaddr == reuseaddr && h->reuseport == reuseport &&
		    addr_equal(&h->addr, addr))
			return h;
	}
	return NULL;
}

/*
 * Under the bucket's lock: takes a hold, with *@spare if there is none yet (then
 * *@spare is NULL).
 */
static struct port_hold *take_hold(struct port_bucket *pb, const struct ip_addr *addr,
				   uint16_t port, bool reuseaddr, bool reuseport,
				   struct port_hold **spare)
{
	struct port_hold *h = find_hold(pb, addr, port, reuseaddr, reuseport);

	if (!h && *spare) {
		h = *spare;
		*spare = NULL;
		h->addr = *addr;
		h->port = port;
		h->reuseaddr = reuseaddr;
		h->reuseport = reuseport;
		h->users = 0;
		list_add_tail(&h->link, &pb->holds);
	}
	if (h)
		h->users++;
	return h;
}

struct port_hold *port_hold_get(struct port_table *t, const struct ip_addr *addr, uint16_t port,
				bool reuseaddr, bool reuseport)
{
	struct port_bucket *pb = port_bucket(t, port);
	struct port_hold *h, *spare = NULL;

	spin_lock(&pb->lock);
	h = take_hold(pb, addr, port, reuseaddr, reuseport, &spare);
	spin_unlock(&pb->lock);
	if (h)
		return h;
	spare = kmalloc(sizeof(*spare), GFP_ATOMIC | GFP_NOWARN);
	if (!spare)
		return NULL;
	spin_lock(&pb->lock);
	h = take_hold(pb, addr, port, reuseaddr, reuseport, &spare);
	spin_unlock(&pb->lock);
	kfree(spare);
	return h;
}

void port_hold_put(struct port_table *t, struct port_hold *h)
{
	struct port_bucket *pb;
	bool last;

	if (!h)
		return;
	pb = port_bucket(t, h->port);
	spin_lock(&pb->lock);
	last = --h->users == 0;
	if (last)
		list_del(&h->link);
	spin_unlock(&pb->lock);
	if (last)
		kfree(h);
}

int port_pick(struct port_table *t, const struct ip_addr *addr,
	      bool (*try)(struct port_user *u, uint16_t port, void *arg), void *arg,
	      struct port_hold **out)
{
	const unsigned range = EPHEMERAL_LAST - EPHEMERAL_FIRST + 1;
	struct port_hold *spare = kmalloc(sizeof(*spare), GFP_KERNEL);
	struct port_user u = { .addr = *addr, .v6only = true };
	unsigned at = net_random() % range;

	*out = NULL;
	if (!spare)
		return -ENOBUFS;
	for (unsigned i = 0; i < range && !*out; i++, at = at + 1 == range ? 0 : at + 1) {
		uint16_t port = (uint16_t)(EPHEMERAL_FIRST + at);
		struct port_bucket *pb = port_bucket(t, port);

		spin_lock(&pb->lock);
		if (port_unbound(pb, &u, port) && try(&u, port, arg))
			*out = take_hold(pb, addr, port, false, false, &spare);
		spin_unlock(&pb->lock);
	}
	kfree(spare);
	return *out ? 0 : -EADDRNOTAVAIL;
}
