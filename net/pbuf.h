/* SPDX-License-Identifier: MIT */
/*
 * Packet buffers: headers in a small inline area, payload by reference.
 *
 * What:      a struct pdata is a piece of payload: up to PDATA_FRAGS references
 *            to parts of page blocks, shared by reference count between the
 *            sender's retransmission queue, packets in flight and the receiver.
 *            A struct pbuf is one packet: its headers and a view (offset and
 *            length) of at most one pdata.
 * Invariant: a pdata is changed only while its creator holds the only
 *            reference; afterwards it is constant, so readers need no lock.
 *            Each fragment holds one page reference.
 * Truesize:  what a socket is charged for a reference: every fragment's part
 *            rounded up to 256 bytes, plus the structures.
 */
#ifndef NET_PBUF_H
#define NET_PBUF_H

#include "mm/page.h"
#include "mm/uaccess.h"
#include "net/addr.h"

#define PDATA_FRAGS 20    /* 64 KiB in unaligned pages (17), with room for message boundaries */
/* bytes: link 14, IPv6 40 or IPv4 60, TCP 60, and some extension headers */
#define PBUF_HEAD   160
/* room that senders leave before the transport header: link 14, IPv6 40, fragment 8 */
#define PBUF_RESERVE 64
#define TRUESIZE_ROUND 256 /* bytes; see design of socket accounting, docs/net.md */

struct frag {
	struct page *page; /* head of the block */
	uint32_t off, len; /* bytes into the block */
};

struct pdata {
	_Atomic uint32_t refs;
	uint32_t nr;       /* fragments in use */
	uint32_t len;      /* bytes in all fragments */
	uint32_t truesize; /* of the fragments, without structures */
	struct frag frags[PDATA_FRAGS];
};

struct netdev;
struct dgram_sock;

/* What can wait in a socket's backlog; first member of its container. */
struct net_node {
	struct net_node *next;
	uint8_t kind;
};
enum { NODE_PACKET, NODE_TIMER, NODE_ICMP };

struct pbuf {
	struct net_node node; /* queue link; whoever holds the packet owns it */
	uint8_t flags;        /* PB_* */
	uint8_t proto;        /* IPPROTO_* of the transport header, once parsed */
	uint8_t ttl, tos;
	uint16_t nh, th;      /* offsets into head[]: network, transport header */
	uint16_t start, end;  /* used part of head[] */
	/* out: CPU + 1 whose queue it takes if the device has several; 0: any of its flow's */
	uint16_t home;
	uint16_t gso_size;    /* out: TCP payload bytes a segment, when it is to be cut; else 0 */
	uint16_t next_at;     /* IPv6 in: from nh, the field that named proto */
	uint32_t segs;        /* in: TCP segments that it was on the wire; 0: one */
	uint32_t off, len;    /* payload: view of data */
	struct pdata *data;   /* NULL without payload */
	struct netdev *dev;   /* came from or goes to */
	struct ip_addr src, dst;
	union {
		struct { /* TCP, host order, set by tcp_parse() */
			uint32_t seq, ack, tsval, tsecr;
			uint32_t wnd; /* as in the header, unscaled */
			uint8_t tcp_flags, opts; /* TCP_OPT_* found */
			uint8_t nr_sack;
			uint8_t wscale;
			uint16_t mss, sport, dport;
			uint16_t sack_off; /* into head[] */
			uint16_t urg; /* urgent pointer, with TH_URG */
		} tcp;
		struct { /* datagrams */
			uint16_t sport, dport;
		} udp;
		struct { /* out, with PB_PAID */
			struct dgram_sock *by; /* charged for it; referenced */
		} paid;
		struct { /* an entry of an error queue: src reported, dst is where it was to go */
			uint32_t err, info;
			uint16_t port;
			uint8_t type, code;
		} icmp;
		struct { /* a frame that an AF_PACKET socket sees */
			uint16_t proto;
			uint8_t type;
		} link;
		struct { /* a piece of one, while it waits for the others */
			uint32_t off;
		} frag;
	};
	uint32_t charged;   /* bytes charged to the receiving socket, or to paid.by */
	uint64_t stamp;     /* in: wall-clock ns, if the socket wants to know */
	uint8_t head[PBUF_HEAD];
};
#define PB_CSUM_OK      (1u << 0) /* the transport checksum needs no look */
/* the checksum field holds the pseudo-header's sum: the device completes it */
#define PB_CSUM_PARTIAL (1u << 1)
#define PB_DF           (1u << 2) /* out: never cut it; the sender hears EMSGSIZE */
#define PB_NO_DF        (1u << 3) /* out, IPv4: routers may cut it */
#define PB_LOCAL        (1u << 4) /* in: a copy of multicast that this machine sent */
#define PB_PAID         (1u << 5) /* out: a datagram socket is charged until the packet is freed */
/* in: verified, but the field in the header is not that of the whole */
#define PB_CSUM_STALE   (1u << 6)

/*
 * Packet with an empty head with @reserve bytes of room before it; NULL without
 * memory. Never sleeps.
 */
struct pbuf *pbuf_alloc(unsigned reserve);
void pbuf_free(struct pbuf *p);
/* A second packet with the same headers that shares the payload, charged to nobody; NULL. */
struct pbuf *pbuf_clone(const struct pbuf *p);

/*
 * Give back what a packet with PB_PAID is charged (net/dgram_mem.c).  Takes the
 * socket's lock, never sleeps.
 */
void pbuf_settle(struct pbuf *p);
/* @to, a piece of @from, takes @bytes of its charge along, if it has one. */
void pbuf_pay_from(struct pbuf *to, struct pbuf *from, uint32_t bytes);

static inline void *pbuf_push(struct pbuf *p, unsigned n)
{
	p->start -= n;
	return p->head + p->start;
}
static inline void *pbuf_put(struct pbuf *p, unsigned n)
{
	void *r = p->head + p->end;

	p->end += n;
	return r;
}
/**
 * pbuf_pull - let the head hold at least @n bytes from p->th on, taken from the payload
 * Return: false if the packet is shorter or the head has no room.
 */
bool pbuf_pull(struct pbuf *p, unsigned n);
/* The same for as much of a transport header as protocols look at, or the head has room for. */
bool pbuf_pull_transport(struct pbuf *p);
/* Bytes of transport header and payload in the packet. */
static inline uint32_t pbuf_transport_len(const struct pbuf *p)
{
	return p->end - p->th + p->len;
}

struct pdata *pdata_alloc(void); /* one reference, empty; never sleeps */
static inline void pdata_get(struct pdata *d)
{
	atomic_fetch_add_explicit(&d->refs, 1, memory_order_relaxed);
}
void pdata_put(struct pdata *d); /* NULL is fine */
/**
 * pdata_add - append a reference to @len bytes at @off of a page block
 * Takes a page reference unless it could lengthen the last fragment.
 * Return: false when there is no room for a further fragment.
 */
bool pdata_add(struct pdata *d, struct page *page, uint32_t off, uint32_t len);
/**
 * pdata_absorb - append all of *@from, whose references move, and free it
 * Both are their holder's alone and wanted whole.  Return: false (nothing done) without
 * room, or if somebody else holds one of them.
 */
bool pdata_absorb(struct pdata *to, struct pdata **from);
/* Truesize of a view of @d, structures included. */
uint32_t pdata_truesize(const struct pdata *d, uint32_t off, uint32_t len);
/* Copies @n bytes from @off on; returns the bytes done (short: fault). */
size_t pdata_copy_to_iter(const struct pdata *d, uint32_t off, size_t n, struct iov_iter *it);
void pdata_copy_out(const struct pdata *d, uint32_t off, void *dst, size_t n);
/*
 * Fresh pages (PAGE_NET) with room for @n bytes of any content, at most 64 KiB; NULL.
 * Never sleeps.
 */
struct pdata *pdata_room(size_t n);
/* Fill what pdata_room() made, which nobody else refers to yet. */
void pdata_copy_in(struct pdata *d, uint32_t at, const void *src, size_t n);
void pdata_copy(struct pdata *to, uint32_t at, const struct pdata *from, uint32_t off, size_t n);
/* A new pdata that references the bytes @off.. of the two; NULL. */
struct pdata *pdata_join(const struct pdata *a, uint32_t aoff, uint32_t alen,
			 const struct pdata *b, uint32_t boff, uint32_t blen);
/* Fresh pages (PAGE_NET) with a copy of @n bytes; NULL. */
struct pdata *pdata_from_bytes(const void *src, size_t n);
/* The same from a user's buffer; may sleep. ERR_PTR(-ENOMEM, -EFAULT, -EMSGSIZE). */
struct pdata *pdata_from_iter(struct iov_iter *it, size_t n);

/* Internet checksum (RFC 1071): 32-bit partial sums, folded at the end. */
uint32_t csum_add(uint32_t sum, const void *p, size_t n, bool odd);
uint16_t csum_fold(uint32_t sum);
uint32_t csum_pseudo(const struct ip_addr *src, const struct ip_addr *dst, uint32_t len,
		     uint8_t proto);
/**
 * pbuf_renew_csum - give a copy of a received packet the checksum that its header lacks
 * @c: with PB_CSUM_STALE set, else nothing is done; its network header at @nh in head[]
 */
void pbuf_renew_csum(struct pbuf *c, unsigned nh);
/* Sum over transport header and payload of @p, pseudo-header included; 0xffff-folded is good. */
uint16_t pbuf_csum(const struct pbuf *p, uint8_t proto);
/* The same without a pseudo-header, for ICMP and IGMP. */
uint16_t pbuf_csum_plain(const struct pbuf *p);

/* Queue of packets; the user says what protects it. */
struct pqueue {
	struct pbuf *first, *last;
	unsigned count;
};
static inline uint32_t pbuf_segs(const struct pbuf *p)
{
	return p->segs ? p->segs : 1;
}
static inline struct pbuf *pbuf_next(const struct pbuf *p)
{
	return (struct pbuf *)p->node.next; /* node is the first member */
}
static inline void pqueue_push(struct pqueue *q, struct pbuf *p)
{
	p->node.next = NULL;
	if (q->last)
		q->last->node.next = &p->node;
	else
		q->first = p;
	q->last = p;
	q->count++;
}
static inline struct pbuf *pqueue_pop(struct pqueue *q)
{
	struct pbuf *p = q->first;

	if (p) {
		q->first = pbuf_next(p);
		if (!q->first)
			q->last = NULL;
		q->count--;
	}
	return p;
}
void pqueue_purge(struct pqueue *q);
/* Cuts off what a TCP segment has before @seq, which lies in it. */
static inline void pbuf_trim_front(struct pbuf *p, uint32_t seq)
{
	uint32_t n = seq - p->tcp.seq;

	p->tcp.seq = seq;
	p->off += n;
	p->len -= n;
}

int pbuf_init(void); /* caches; -ENOMEM */

#endif /* NET_PBUF_H */
