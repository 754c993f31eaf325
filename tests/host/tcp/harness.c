/* SPDX-License-Identifier: MIT */
/* TCP on a bench: tests/host/tcp/harness.h. */
#include "tests/host/net_stub.h"
#include "tests/host/tcp/harness.h"

#define FIRST_NS  (1000 * NSEC_PER_SEC) /* the virtual clock begins here */
#define DATA_MAX  65000u

struct ip_addr h_us;
bool h_v6;

static struct pqueue sent;
static uint64_t sent_at[1u << 16], last_at; /* by number of the packet, modulo */
static unsigned nr_sent, nr_taken;
static struct pbuf *last;
static struct wait_queue sent_wq;

static void dev_xmit(struct netdev *d, struct pbuf *p)
{
	HOST_CHECK(nr_sent - nr_taken < ARRAY_SIZE(sent_at));
	sent_at[nr_sent++ % ARRAY_SIZE(sent_at)] = clock_ns();
	pqueue_push(&sent, p);
	wake_up(&sent_wq);
}

static struct netdev dev = { .name = "test0", .mtu = H_MTU, .xmit = dev_xmit };

void h_begin(bool v6)
{
	uint8_t a4[4] = { 10, 0, 0, 1 }, a6[16] = { 0xfd, [15] = 1 };

	h_v6 = v6;
	host_clock_virtual(FIRST_NS);
	wq_init(&sent_wq, "sent");
	t_init();
	h_us = v6 ? addr_from_v6(a6) : addr_from_v4(a4);
	netdev_register(&dev);
	ifaddr_add(&dev, &h_us, v6 ? 64 : 120);
}

void h_offload(bool on)
{
	dev.features = on ? NETDEV_CSUM | NETDEV_TSO4 | NETDEV_TSO6 : 0;
}

void h_end(void)
{
	h_drain();
	h_limit(-1);
	t_check_empty();
}

void h_peer_init(struct h_peer *h, uint16_t port)
{
	uint8_t b4[4] = { 10, 0, 0, 2 }, b6[16] = { 0xfd, [15] = 2 };

	memset(h, 0, sizeof(*h));
	h->addr = h_v6 ? addr_from_v6(b6) : addr_from_v4(b4);
	h->port = port;
	h->lport = H_PORT;
	h->to = h_us;
	h->wnd = 65535;
	h->tsval = 1000;
	h->mss = 1000;
	h->wscale = -1;
}

struct sock *h_socket(void)
{
	struct sock *s = tcp_create(h_v6 ? AF_INET6 : AF_INET);

	HOST_CHECK(!IS_ERR(s));
	return s;
}

static struct sock *bound(uint16_t port)
{
	struct sock *s = h_socket();
	union sockaddr_any a;
	unsigned len = addr_export(s->family, &h_us, port, &a);

	s->reuseaddr = true;
	HOST_CHECK_EQ(s->ops->bind(s, &a, len), 0);
	return s;
}

struct sock *h_listen(int backlog)
{
	struct sock *s = bound(H_PORT);

	HOST_CHECK_EQ(s->ops->listen(s, backlog), 0);
	return s;
}

struct sock *h_connect(struct h_peer *h)
{
	struct sock *s = bound(h->lport);
	union sockaddr_any a;
	unsigned len = addr_export(s->family, &h->addr, h->port, &a);
	struct pbuf *p;

	HOST_CHECK_EQ(s->ops->connect(s, &a, len, true), -EINPROGRESS);
	p = h_next();
	HOST_CHECK(p && (p->tcp.tcp_flags & (TH_SYN | TH_ACK)) == TH_SYN);
	h->ack = p->tcp.seq + 1;
	h->tsecr = p->tcp.tsval;
	return s;
}

struct sock *h_accept(struct sock *l)
{
	struct sock *s;

	return l->ops->accept(l, &s, true) ? NULL : s;
}

struct sock *h_established(struct h_peer *h, struct sock *l, uint32_t isn)
{
	struct sock *s;
	struct pbuf *p;

	h_syn(h, TH_SYN, isn);
	p = h_next();
	HOST_CHECK(p && (p->tcp.tcp_flags & (TH_SYN | TH_ACK)) == (TH_SYN | TH_ACK));
	HOST_CHECK_EQ(p->tcp.ack, isn + 1);
	h->seq = isn + 1;
	h->ack = p->tcp.seq + 1;
	h->tsecr = p->tcp.tsval;
	if (h->delay_ms)
		h_sleep(h->delay_ms);
	h_inject(h, TH_ACK, h->seq, h->ack, 0);
	h_quiet();
	s = h_accept(l);
	HOST_CHECK(s);
	return s;
}

struct sock *h_connected(struct h_peer *h, uint32_t isn)
{
	struct sock *s = h_connect(h);

	h->seq = isn + 1;
	h_syn(h, TH_SYN | TH_ACK, isn);
	h_expect(TH_ACK);
	HOST_CHECK_EQ(tcp_state(tcp_of(s)), TCP_ESTABLISHED);
	return s;
}

ssize_t h_send(struct sock *s, const void *buf, size_t n, unsigned flags)
{
	return t_send(s, buf, n, flags);
}

ssize_t h_recv(struct sock *s, void *buf, size_t n, unsigned flags)
{
	return t_recv(s, buf, n, flags | MSG_DONTWAIT);
}

void h_close(struct sock *s)
{
	t_close(s);
}

int h_setopt(struct sock *s, int level, int name, int value)
{
	return sock_setsockopt(s, level, name, &value, sizeof(value));
}

int h_getopt(struct sock *s, int level, int name)
{
	int v = 0;
	unsigned len = sizeof(v);
	int ret = sock_getsockopt(s, level, name, &v, &len);

	return ret ? ret : v;
}

void h_param(const char *name, const char *value)
{
	t_param(name, value);
}

/* The peer's options behind the IPv4 header that is there already. */
static void add_ip_options(const struct h_peer *h, struct pbuf *p)
{
	unsigned n = h->ip_options_len;
	uint8_t *ip = pbuf_push(p, n);
	uint16_t sum;

	p->nh -= n;
	memmove(ip, ip + n, 20);
	memcpy(ip + 20, h->ip_options, n);
	ip[0] = (uint8_t)(0x45 + n / 4);
	put_be16(ip + 2, (uint16_t)(get_be16(ip + 2) + n));
	put_be16(ip + 10, 0);
	sum = csum_fold(csum_add(0, ip, 20 + n, false));
	memcpy(ip + 10, &sum, 2);
}

/* Payload as a device leaves it: in a block that holds nothing else. */
static struct pdata *payload(const struct h_peer *h, const void *data, unsigned len)
{
	struct page *page;
	struct pdata *d;

	if (!h->order)
		return pdata_from_bytes(data, len);
	HOST_CHECK(len <= PAGE_SIZE << h->order);
	page = page_alloc(h->order, PAGE_NET, GFP_KERNEL);
	d = pdata_alloc();
	HOST_CHECK(page && d && pdata_add(d, page, 0, len));
	memcpy(page_virt(page), data, len);
	page_put(page); /* the fragment has its own */
	return d;
}

/* Network header and payload around the @hlen bytes of @head; with @tos and checksum. */
static void deliver(struct h_peer *h, uint8_t proto, const uint8_t *head, unsigned hlen,
		    const void *data, unsigned len, unsigned csum_at)
{
	struct pbuf *p = pbuf_alloc(56 + (h_v6 ? 0 : h->ip_options_len));
	uint16_t sum;
	uint8_t *t;

	HOST_CHECK(p);
	p->src = h->addr;
	p->dst = h->to;
	p->dev = &dev;
	p->th = p->start;
	t = pbuf_put(p, hlen);
	memcpy(t, head, hlen);
	if (len) {
		p->data = payload(h, data, len);
		HOST_CHECK(p->data);
		p->len = len;
	}
	sum = pbuf_csum(p, proto);
	if (proto == IPPROTO_ICMP) /* no pseudo-header */
		sum = csum_fold((uint16_t)~sum + (uint32_t)csum_fold(csum_pseudo(&p->src, &p->dst, hlen + len, proto)));
	sum ^= h->bad_sum;
	memcpy(t + csum_at, &sum, 2);
	if (h_v6)
		ipv6_push_header(p, proto, 64, h->tos);
	else
		ipv4_push_header(p, proto, 64, h->tos);
	if (!h_v6 && h->ip_options_len)
		add_ip_options(h, p);
	netif_rx(p);
}

void h_raw(struct h_peer *h, uint8_t flags, uint32_t seq, uint32_t ack, const void *opts,
	   unsigned olen, const void *data, unsigned len)
{
	uint8_t t[60] = { 0 };

	put_be16(t, h->port);
	put_be16(t + 2, h->lport);
	put_be32(t + 4, seq);
	put_be32(t + 8, ack);
	t[12] = (uint8_t)((20 + olen) / 4 << 4);
	t[13] = flags;
	put_be16(t + 14, h->wnd);
	put_be16(t + 18, h->urg);
	if (olen)
		memcpy(t + 20, opts, olen);
	deliver(h, IPPROTO_TCP, t, 20 + olen, data, len, 16);
}

void h_syn(struct h_peer *h, uint8_t flags, uint32_t seq)
{
	uint8_t o[40];
	unsigned n = 0;

	if (h->mss) {
		o[n] = 2;
		o[n + 1] = 4;
		put_be16(o + n + 2, h->mss);
		n += 4;
	}
	if (h->wscale >= 0) {
		o[n] = 1;
		o[n + 1] = 3;
		o[n + 2] = 3;
		o[n + 3] = (uint8_t)h->wscale;
		n += 4;
	}
	if (h->sack_ok) {
		o[n] = o[n + 1] = 1;
		o[n + 2] = 4;
		o[n + 3] = 2;
		n += 4;
	}
	if (h->ts) {
		o[n] = o[n + 1] = 1;
		o[n + 2] = 8;
		o[n + 3] = 10;
		put_be32(o + n + 4, h->tsval);
		put_be32(o + n + 8, flags & TH_ACK ? h->tsecr : 0);
		n += 12;
	}
	h_raw(h, flags, seq, flags & TH_ACK ? h->ack : 0, o, n, NULL, 0);
}

void h_inject_bytes(struct h_peer *h, uint8_t flags, uint32_t seq, uint32_t ack, const void *data,
		    unsigned len)
{
	uint8_t o[40];
	unsigned n = 0;

	if (h->ts) {
		o[0] = o[1] = 1;
		o[2] = 8;
		o[3] = 10;
		put_be32(o + 4, h->tsval);
		put_be32(o + 8, h->tsecr);
		n = 12;
	}
	if (h->nr_sack) {
		o[n] = o[n + 1] = 1;
		o[n + 2] = 5;
		o[n + 3] = (uint8_t)(2 + 8 * h->nr_sack);
		n += 4;
		for (unsigned i = 0; i < h->nr_sack; i++, n += 8) {
			put_be32(o + n, h->sack[i][0]);
			put_be32(o + n + 4, h->sack[i][1]);
		}
	}
	h_raw(h, flags, seq, ack, o, n, data, len);
}

void h_inject(struct h_peer *h, uint8_t flags, uint32_t seq, uint32_t ack, unsigned len)
{
	static uint8_t data[DATA_MAX];

	HOST_CHECK(len <= DATA_MAX);
	h_inject_bytes(h, flags, seq, ack, data, len);
}

void h_ack(struct h_peer *h, uint32_t ack)
{
	h->ack = ack;
	h_inject(h, TH_ACK, h->seq, ack, 0);
}

void h_icmp(struct h_peer *h, uint8_t type, uint8_t code, uint32_t seq, uint32_t mtu)
{
	uint8_t b[8 + 40 + 20] = { type, code };
	unsigned iplen = h_v6 ? 40 : 20;
	uint8_t *q = b + 8;

	put_be32(b + 4, mtu);
	if (h_v6) {
		q[0] = 0x60;
		put_be16(q + 4, 20);
		q[6] = IPPROTO_TCP;
		q[7] = 64;
		memcpy(q + 8, h_us.b, 16);
		memcpy(q + 24, h->addr.b, 16);
	} else {
		q[0] = 0x45;
		put_be16(q + 2, 40);
		q[8] = 64;
		q[9] = IPPROTO_TCP;
		memcpy(q + 12, h_us.b + 12, 4);
		memcpy(q + 16, h->addr.b + 12, 4);
	}
	q += iplen;
	put_be16(q, h->lport);
	put_be16(q + 2, h->port);
	put_be32(q + 4, seq);
	q[12] = 5 << 4;
	q[13] = TH_ACK;
	deliver(h, h_v6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP, b, 8 + iplen + 20, NULL, 0, 2);
}

struct pbuf *h_next(void)
{
	if (last)
		pbuf_free(last);
	last = pqueue_pop(&sent);
	if (!last)
		return NULL;
	last_at = sent_at[nr_taken++ % ARRAY_SIZE(sent_at)];
	HOST_CHECK_EQ(last->head[last->nh] >> 4, h_v6 ? 6 : 4);
	if (last->flags & PB_CSUM_PARTIAL)
		last->flags |= PB_CSUM_OK;
	if (last->proto == IPPROTO_TCP)
		HOST_CHECK(tcp_parse(last)); /* what we send must parse as what we receive */
	return last;
}

uint64_t h_next_time(void)
{
	return last_at;
}

struct pbuf *h_expect(uint8_t flags)
{
	struct pbuf *p = h_next();

	HOST_CHECK(p);
	HOST_CHECK_EQ(p->proto, IPPROTO_TCP);
	HOST_CHECK_EQ(p->tcp.tcp_flags & ~TH_PSH, flags);
	return p;
}

bool h_wait(uint64_t ms)
{
	(void)wait_event_full(&sent_wq, sent.first != NULL, THREAD_UNINTERRUPTIBLE,
			      clock_ns() + ms * NSEC_PER_MSEC, false);
	return sent.first != NULL;
}

struct pbuf *h_within(uint8_t flags, uint64_t ms)
{
	HOST_CHECK(h_wait(ms));
	return h_expect(flags);
}

void h_quiet(void)
{
	struct pbuf *p = sent.first;

	if (p)
		host_fail(__FILE__, __LINE__, "a packet was sent: flags %x, %u bytes, sequence %x",
			  p->head[p->th + 13], p->len, get_be32(p->head + p->th + 4));
}

void h_sleep(uint64_t ms)
{
	thread_sleep_until(clock_ns() + ms * NSEC_PER_MSEC, false);
}

void h_quiet_for(uint64_t ms)
{
	(void)h_wait(ms);
	h_quiet();
}

unsigned h_drain(void)
{
	unsigned n = 0;

	while (h_next())
		n++;
	return n;
}

uint32_t h_sack_block(const struct pbuf *p, unsigned i, unsigned side)
{
	HOST_CHECK(i < p->tcp.nr_sack);
	return get_be32(p->head + p->tcp.sack_off + 8 * i + 4 * side);
}

int64_t h_charged_pages(void)
{
	return atomic_load(&stub_pages);
}

int64_t h_charged_bytes(void)
{
	return atomic_load(&stub_bytes);
}

void h_group(bool in)
{
	stub_charging = in;
}

void h_limit(int64_t pages)
{
	atomic_store(&stub_limit, pages < 0 ? INT64_MAX : atomic_load(&stub_pages) + pages);
}

void h_spawn(void (*fn)(void *), void *arg)
{
	t_go(fn, arg);
}

void h_join(void)
{
	t_wait();
}

static void (*run_body)(void);
static bool run_v6;
static void run_main(void)
{
	h_begin(run_v6);
	run_body();
	h_end();
}

int h_run(void (*body)(void))
{
	int status;

	run_body = body;
	run_v6 = false;
	status = host_run(1, run_main);
	run_v6 = true;
	return status ? status : host_run(1, run_main);
}
