/* SPDX-License-Identifier: MIT */
/*
 * Neighbours: hardware addresses of stations on the link, for ARP and IPv6.
 *
 * What:      states and times of RFC 4861 section 7.3, for both families.  The
 *            table is bounded; entries that nobody needs now make room.
 * Reading:   under RCU; mac holds address and validity in one word, so sending
 *            to a known neighbour takes no lock.
 * Waiting:   at most QUEUE_MAX packets wait for one address and WAITING_MAX for all, so
 *            what the kernel itself sends (no larger than a frame) is bounded; what
 *            programs send stays charged to them meanwhile.
 * Asking:    at most SWEEP_ASKS questions are repeated at a time, whoever made up how many
 *            addresses; the others' turn comes SWEEP_NS later.
 * Locks:     neigh_lock protects everything else.  Packets are sent and freed without it.
 */
#include "net/event.h"
#include "net/icmp_err.h"
#include "kernel/lock.h"
#include "kernel/rcu.h"
#include "kernel/timer.h"
#include "mm/slab.h"
#include "kernel/errno.h"

#define NEIGH_BUCKETS 256u
#define NEIGH_MAX     1024u
#define QUEUE_MAX                                                                                  \
	64u /* packets that wait for one address: a datagram of 64 KiB in pieces is 54             \
	     */
#define WAITING_MAX   1024u /* for all addresses together */
#define REACHABLE_MS  30000u /* unless a router says otherwise, here and below */
#define RETRANS_MS    1000u
#define DELAY_NS      (5 * NSEC_PER_SEC)
#define PROBES        3u
#define FAILED_NS     (3 * NSEC_PER_SEC) /* so long no new question */
#define FAILED_NEWS   8u    /* entries that fail at one moment and are told of */
#define SWEEP_ASKS    32u   /* questions repeated in one go */
#define SWEEP_NS      (50 * NSEC_PER_MSEC) /* until the next go, when more are due */
#define MAC_VALID     (1ULL << 63)

struct neigh {
	_Atomic(struct neigh *) next; /* bucket, RCU */
	struct ip_addr addr;
	struct netdev *dev;
	_Atomic uint64_t mac;         /* address in the low 48 bits, MAC_VALID */
	_Atomic uint8_t state;        /* enum neigh_state; written under the lock */
	uint8_t probes;
	_Atomic uint64_t good_until;  /* clock_ns; while REACHABLE */
	uint64_t deadline;            /* of INCOMPLETE, DELAY, PROBE, FAILED */
	struct pqueue queue;
	struct rcu_head rcu;
};

static struct spinlock neigh_lock = SPINLOCK_INIT("neigh");
static _Atomic(struct neigh *) *buckets;
static struct kmem_cache *neigh_cache;
static unsigned nr_neighs, nr_waiting, hand, sweep_hand;
static uint64_t waiting_bytes;
static struct timer sweep_timer;

static _Atomic(struct neigh *) *bucket_of(const struct ip_addr *a)
{
	return &buckets[net_hash(a->q, 2) & (NEIGH_BUCKETS - 1)];
}

static struct neigh *find(struct netdev *dev, const struct ip_addr *a)
{
	struct neigh *n;

	for (n = rcu_dereference(*bucket_of(a)); n; n = rcu_dereference(n->next)) {
		if (n->dev == dev && addr_equal(&n->addr, a))
			return n;
	}
	return NULL;
}

static uint64_t mac_word(const uint8_t *mac)
{
	uint64_t w = 0;

	memcpy(&w, mac, 6);
	return w | MAC_VALID;
}

static inline uint8_t state_of(const struct neigh *n)
{
	return atomic_load_explicit(&n->state, memory_order_relaxed);
}
static void set_state(struct neigh *n, uint8_t s)
{
	atomic_store_explicit(&n->state, s, memory_order_relaxed);
}

static uint64_t retrans_ns(const struct netdev *dev)
{
	uint32_t ms = __atomic_load_n(&dev->retrans_ms, __ATOMIC_RELAXED);

	return (ms ? ms : RETRANS_MS) * NSEC_PER_MSEC;
}

/* How long an answer is good for: half to one and a half of the base (RFC 4861 section 6.3.2). */
static uint64_t reachable_ns(const struct netdev *dev)
{
	uint32_t ms = __atomic_load_n(&dev->reachable_ms, __ATOMIC_RELAXED);

	ms = ms ? ms : REACHABLE_MS;
	return (ms / 2 + net_random() % ms) * NSEC_PER_MSEC;
}

static uint16_t type_of(const struct ip_addr *a)
{
	return addr_is_v4(a) ? ETHER_IPV4 : ETHER_IPV6;
}

static void free_rcu(struct rcu_head *h)
{
	kmem_cache_free(neigh_cache, container_of(h, struct neigh, rcu));
}

static void describe(const struct neigh *n, struct neigh_info *i)
{
	uint64_t w = atomic_load_explicit(&n->mac, memory_order_relaxed);

	*i = (struct neigh_info){ .dev = n->dev, .addr = n->addr, .state = state_of(n),
				  .valid = (w & MAC_VALID) != 0 };
	memcpy(i->mac, &w, 6);
}

/* Not under neigh_lock. */
static void tell(const struct neigh_info *i, bool gone)
{
	struct net_event e = { .kind = NET_EVENT_NEIGH, .gone = gone, .dev = i->dev, .neigh = *i };

	net_event(&e);
}

static void enqueue(struct neigh *n, struct pbuf *p)
{
	pqueue_push(&n->queue, p);
	nr_waiting++;
	waiting_bytes += pdata_truesize(p->data, p->off, p->len);
}

static struct pbuf *dequeue(struct neigh *n)
{
	struct pbuf *p = pqueue_pop(&n->queue);

	if (p) {
		nr_waiting--;
		waiting_bytes -= pdata_truesize(p->data, p->off, p->len);
	}
	return p;
}

static void dequeue_all(struct neigh *n, struct pqueue *to)
{
	struct pbuf *p;

	while ((p = dequeue(n)))
		pqueue_push(to, p);
}

/* @gone: gets the packets that waited. */
static void unlink(struct neigh *n, struct pqueue *gone)
{
	_Atomic(struct neigh *) *at = bucket_of(&n->addr);
	struct neigh *x;

	while ((x = atomic_load_explicit(at, memory_order_relaxed)) != n)
		at = &x->next;
	rcu_assign_pointer(*at, atomic_load_explicit(&n->next, memory_order_relaxed));
	nr_neighs--;
	dequeue_all(n, gone);
	call_rcu(&n->rcu, free_rcu);
}

/* The next entry in turn whose state is one of @states (1 << state); NULL. */
static struct neigh *next_in(unsigned states)
{
	for (unsigned i = 0; i < NEIGH_BUCKETS; i++) {
		struct neigh *n;

		hand = (hand + 1) & (NEIGH_BUCKETS - 1);
		for (n = atomic_load_explicit(&buckets[hand], memory_order_relaxed); n;
		     n = atomic_load_explicit(&n->next, memory_order_relaxed)) {
			if (states & 1u << state_of(n))
				return n;
		}
	}
	return NULL;
}

/*
 * Makes room: one that nobody needs now, else one that has not answered yet.  When a flood of
 * made-up senders fills the table, most of those are its own, and who is new still gets in.
 * @gone: gets what waited for it.
 */
static bool evict(struct pqueue *gone)
{
	struct neigh *n = next_in(1u << NEIGH_FAILED | 1u << NEIGH_STALE);

	if (!n)
		n = next_in(1u << NEIGH_INCOMPLETE);
	if (n)
		unlink(n, gone);
	return n != NULL;
}

/* @gone: gets packets that somebody else's place costs; to be freed without the lock. */
static struct neigh *create(struct netdev *dev, const struct ip_addr *a, struct pqueue *gone)
{
	_Atomic(struct neigh *) *b = bucket_of(a);
	struct neigh *n;

	if (nr_neighs >= NEIGH_MAX && !evict(gone))
		return NULL;
	n = kmem_cache_alloc(neigh_cache, GFP_ATOMIC);
	if (!n)
		return NULL;
	memset(n, 0, sizeof(*n));
	n->addr = *a;
	n->dev = dev;
	set_state(n, NEIGH_FAILED);
	atomic_store_explicit(&n->next, atomic_load_explicit(b, memory_order_relaxed),
			      memory_order_relaxed);
	rcu_assign_pointer(*b, n);
	nr_neighs++;
	return n;
}

/* A question that is due; asked without neigh_lock. */
struct question {
	struct netdev *dev;
	struct ip_addr addr;
	uint64_t mac; /* whom to ask; 0: everybody */
};

static void ask(const struct question *q)
{
	const uint8_t *mac = q->mac ? (const uint8_t *)&q->mac : NULL;
	struct ip_addr src;

	if (!route_source(q->dev, &q->addr, &src))
		return;
	if (addr_is_v4(&q->addr))
		arp_request(q->dev, &src, &q->addr, mac);
	else
		nd_solicit(q->dev, &src, &q->addr, mac);
}

static void arm(uint64_t deadline)
{
	if (!timer_pending(&sweep_timer))
		timer_set(&sweep_timer, deadline);
}

/* What one look at the table has found; all that follows from it is done without the lock. */
struct sweep {
	struct question ask[SWEEP_ASKS];
	struct neigh_info failed[FAILED_NEWS];
	struct pqueue lost;
	unsigned nr_ask, nr_failed;
	uint64_t now, next; /* next: when to look again; 0: not at all */
};

/* neigh_lock held: INCOMPLETE, DELAY and PROBE have something to do. */
static void look(struct neigh *n, struct sweep *s)
{
	uint8_t state = state_of(n);

	if (state != NEIGH_INCOMPLETE && state != NEIGH_DELAY && state != NEIGH_PROBE)
		return;
	if (n->deadline <= s->now + NSEC_PER_MSEC) {
		if (state == NEIGH_DELAY) {
			set_state(n, NEIGH_PROBE);
			n->probes = 0;
		}
		if (n->probes >= PROBES) {
			set_state(n, NEIGH_FAILED);
			atomic_store_explicit(&n->mac, 0, memory_order_relaxed);
			n->deadline = s->now + FAILED_NS;
			dequeue_all(n, &s->lost);
			if (s->nr_failed < FAILED_NEWS)
				describe(n, &s->failed[s->nr_failed++]);
			return;
		}
		if (s->nr_ask < SWEEP_ASKS) {
			n->probes++;
			n->deadline = s->now + retrans_ns(n->dev);
			s->ask[s->nr_ask++] = (struct question){
				n->dev, n->addr, state == NEIGH_INCOMPLETE ? 0 :
				atomic_load_explicit(&n->mac, memory_order_relaxed) };
		} else {
			n->deadline = s->now + SWEEP_NS;
		}
	}
	if (!s->next || n->deadline < s->next)
		s->next = n->deadline;
}

/* Looks at every entry that has something to do; runs only while there is one. */
static void sweep(struct timer *t)
{
	struct sweep s = { .now = clock_ns() };
	struct pbuf *p;

	spin_lock(&neigh_lock);
	for (unsigned i = 0; i < NEIGH_BUCKETS; i++) {
		struct neigh *n;

		/*
		 * Each time from another bucket on: who is last when many are due is
		 * so by turns.
		 */
		n = atomic_load_explicit(&buckets[(sweep_hand + i) & (NEIGH_BUCKETS - 1)],
					 memory_order_relaxed);
		for (; n; n = atomic_load_explicit(&n->next, memory_order_relaxed))
			look(n, &s);
	}
	sweep_hand += NEIGH_BUCKETS / 8 + 1;
	if (s.next)
		timer_set(t, s.next);
	spin_unlock(&neigh_lock);
	for (unsigned i = 0; i < s.nr_ask; i++)
		ask(&s.ask[i]);
	while (s.nr_failed)
		tell(&s.failed[--s.nr_failed], false);
	/* Who sent them hears of it as of an ICMP error. */
	while ((p = pqueue_pop(&s.lost))) {
		icmp_err_local(p, EHOSTUNREACH);
		pbuf_free(p);
	}
}

/* The address is not known, or must be looked at.  Return: true if @p can be sent to @w. */
static bool output_slow(struct netdev *dev, const struct ip_addr *hop, struct pbuf *p, uint64_t *w)
{
	uint64_t now = clock_ns();
	struct pqueue gone = { 0 };
	struct neigh *n;
	bool send = false, unknown = false;

	spin_lock(&neigh_lock);
	n = find(dev, hop);
	if (!n)
		n = create(dev, hop, &gone);
	if (!n)
		goto drop;
	*w = atomic_load_explicit(&n->mac, memory_order_relaxed);
	switch (state_of(n)) {
	case NEIGH_REACHABLE:
	case NEIGH_STALE:
		set_state(n, NEIGH_DELAY);
		n->deadline = now + DELAY_NS;
		arm(n->deadline);
		send = true;
		break;
	case NEIGH_DELAY:
	case NEIGH_PROBE:
	case NEIGH_PERMANENT:
		send = true;
		break;
	case NEIGH_FAILED:
		if (now < n->deadline)
			goto drop;
		set_state(n, NEIGH_INCOMPLETE);
		n->probes = 1;
		n->deadline = now + retrans_ns(dev);
		unknown = true;
		timer_set(&sweep_timer, n->deadline); /* may be earlier than what it waits for */
		/* fall through */
	case NEIGH_INCOMPLETE:
		if (n->queue.count >= QUEUE_MAX) /* the oldest goes (RFC 4861 section 7.2.2) */
			pqueue_push(&gone, dequeue(n));
		if (nr_waiting >= WAITING_MAX)
			goto drop;
		enqueue(n, p);
		break;
	}
out:
	spin_unlock(&neigh_lock);
	if (unknown)
		ask(&(struct question){ dev, *hop, 0 });
	if (unlikely(gone.count)) {
		atomic_fetch_add_explicit(&dev->tx_dropped, gone.count, memory_order_relaxed);
		pqueue_purge(&gone);
	}
	return send;
drop:
	pqueue_push(&gone, p);
	goto out;
}

void neigh_output(struct netdev *dev, const struct ip_addr *hop, struct pbuf *p)
{
	struct neigh *n;
	uint64_t w = 0;
	uint8_t s;

	rcu_read_lock();
	n = find(dev, hop);
	if (n) {
		w = atomic_load_explicit(&n->mac, memory_order_acquire);
		s = state_of(n);
		if (s == NEIGH_STALE ||
		    (s == NEIGH_REACHABLE &&
		     clock_ns() > atomic_load_explicit(&n->good_until, memory_order_relaxed)))
			w = 0;
	}
	rcu_read_unlock();
	if (unlikely(!(w & MAC_VALID)) && !output_slow(dev, hop, p, &w))
		return;
	ether_send(dev, p, (const uint8_t *)&w, type_of(hop));
}

void neigh_heard(struct netdev *dev, const struct ip_addr *a, const uint8_t *mac, unsigned flags)
{
	struct pqueue out = { 0 }, gone = { 0 };
	uint64_t w = mac ? mac_word(mac) : 0, old;
	struct neigh_info news;
	bool changed = false;
	struct pbuf *p;
	struct neigh *n;
	uint8_t s;

	if ((mac && (mac[0] & 1)) || addr_is_any(a) || addr_is_multicast(a))
		return;
	spin_lock(&neigh_lock);
	n = find(dev, a);
	if (!n && mac && (flags & NEIGH_CREATE))
		n = create(dev, a, &gone);
	if (!n)
		goto out;
	old = atomic_load_explicit(&n->mac, memory_order_relaxed);
	s = state_of(n);
	if (s == NEIGH_PERMANENT || (!mac && !(old & MAC_VALID)))
		goto out;
	if (!mac)
		w = old;
	if (!(flags & NEIGH_OVERRIDE) && (old & MAC_VALID) && old != w) {
		if (s == NEIGH_REACHABLE)
			set_state(n, NEIGH_STALE);
		goto out;
	}
	atomic_store_explicit(&n->mac, w, memory_order_release);
	if (flags & NEIGH_SOLICITED) {
		atomic_store_explicit(&n->good_until, clock_ns() + reachable_ns(dev),
				      memory_order_relaxed);
		set_state(n, NEIGH_REACHABLE);
	} else if (old != w || s == NEIGH_INCOMPLETE || s == NEIGH_FAILED) {
		set_state(n, NEIGH_STALE);
	}
	dequeue_all(n, &out);
	changed = old != w || s != state_of(n);
	describe(n, &news);
out:
	spin_unlock(&neigh_lock);
	pqueue_purge(&gone);
	if (changed)
		tell(&news, false);
	while ((p = pqueue_pop(&out)))
		ether_send(dev, p, (const uint8_t *)&w, type_of(a));
}

bool neigh_failed(struct netdev *dev, const struct ip_addr *a)
{
	struct neigh *n;
	bool failed;

	if (!buckets)
		return false;
	rcu_read_lock();
	n = find(dev, a);
	failed = n && state_of(n) == NEIGH_FAILED;
	rcu_read_unlock();
	return failed;
}

int neigh_set(struct netdev *dev, const struct ip_addr *a, const uint8_t *mac, bool permanent,
	      bool replace)
{
	struct pqueue out = { 0 }, gone = { 0 };
	struct neigh_info news;
	struct pbuf *p;
	struct neigh *n;
	int ret = 0;

	spin_lock(&neigh_lock);
	n = find(dev, a);
	if (n && !replace && state_of(n) != NEIGH_FAILED)
		ret = -EEXIST;
	else if (!n)
		n = create(dev, a, &gone);
	if (!n)
		ret = -ENOBUFS;
	if (!ret) {
		atomic_store_explicit(&n->mac, mac_word(mac), memory_order_release);
		atomic_store_explicit(&n->good_until, clock_ns() + reachable_ns(dev),
				      memory_order_relaxed);
		set_state(n, permanent ? NEIGH_PERMANENT : NEIGH_REACHABLE);
		dequeue_all(n, &out);
		describe(n, &news);
	}
	spin_unlock(&neigh_lock);
	pqueue_purge(&gone);
	if (!ret)
		tell(&news, false);
	while ((p = pqueue_pop(&out)))
		ether_send(dev, p, mac, type_of(a));
	return ret;
}

bool neigh_remove(struct netdev *dev, const struct ip_addr *a)
{
	struct pqueue gone = { 0 };
	struct neigh_info news;
	struct neigh *n;

	spin_lock(&neigh_lock);
	n = find(dev, a);
	if (n) {
		describe(n, &news);
		unlink(n, &gone);
	}
	spin_unlock(&neigh_lock);
	if (n)
		tell(&news, true);
	pqueue_purge(&gone);
	return n != NULL;
}

void neigh_flush(struct netdev *dev)
{
	struct pqueue gone = { 0 };

	spin_lock(&neigh_lock);
	for (unsigned i = 0; buckets && i < NEIGH_BUCKETS; i++) {
		struct neigh *n, *next;

		for (n = atomic_load_explicit(&buckets[i], memory_order_relaxed); n; n = next) {
			next = atomic_load_explicit(&n->next, memory_order_relaxed);
			if (n->dev == dev)
				unlink(n, &gone);
		}
	}
	spin_unlock(&neigh_lock);
	pqueue_purge(&gone);
}

void neigh_usage(unsigned *entries, unsigned *packets, uint64_t *bytes)
{
	spin_lock(&neigh_lock);
	*entries = nr_neighs;
	*packets = nr_waiting;
	*bytes = waiting_bytes;
	spin_unlock(&neigh_lock);
}

void neigh_for_each(void (*fn)(const struct neigh_info *i, void *arg), void *arg)
{
	for (unsigned i = 0; buckets && i < NEIGH_BUCKETS; i++) {
		struct neigh *n;

		rcu_read_lock();
		for (n = rcu_dereference(buckets[i]); n; n = rcu_dereference(n->next)) {
			struct neigh_info info;

			describe(n, &info);
			fn(&info, arg);
		}
		rcu_read_unlock();
	}
}

int neigh_init(void)
{
	buckets = kzalloc(NEIGH_BUCKETS * sizeof(*buckets), GFP_KERNEL);
	neigh_cache = kmem_cache_create("neigh", sizeof(struct neigh), 0, 0);
	timer_init(&sweep_timer, sweep);
	return buckets && neigh_cache ? 0 : -ENOMEM;
}
