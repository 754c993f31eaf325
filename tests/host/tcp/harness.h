/* SPDX-License-Identifier: MIT */
/*
 * TCP on a bench: the stack on one CPU with virtual time, a device whose other
 * end is the test, and the peer's side of a connection in a few variables.
 *
 * Use: in a function run by host_run(1, …): h_begin(), then sockets of the stack
 * (h_listen(), h_connect(), the calls in sock_ops) and packets of the peer
 * (h_inject()).  Packets that the stack sends are queued with their time;
 * h_next() and h_expect() take them.  Nothing waits in real time: h_sleep() lets
 * the stack's timers run as far as virtual time goes.
 *
 * The program links harness.c ("SOURCES: @net tests/host/tcp/harness.c").
 */
#ifndef TESTS_HOST_TCP_HARNESS_H
#define TESTS_HOST_TCP_HARNESS_H

#include "arch/host/host.h"
#include "net/net.h"
#include "net/tcp.h"

#define H_PORT 80    /* where h_listen() listens */
#define H_MTU  1500

/* The peer: what he sends next and how.  Change what a test needs. */
struct h_peer {
	struct ip_addr addr;
	uint16_t port;           /* his; ours is lport */
	uint16_t lport;
	uint32_t seq, ack;       /* his next sequence number; what he acknowledges */
	uint16_t wnd;            /* as it stands in the header */
	uint8_t tos;
	bool ts;                 /* he sends timestamps: tsval, and what he heard last */
	uint32_t tsval, tsecr;
	uint16_t mss;            /* in his SYN; 0: none */
	int wscale;              /* in his SYN; -1: none */
	bool sack_ok;            /* in his SYN */
	unsigned nr_sack;        /* blocks in what he sends, until set to 0 */
	uint32_t sack[4][2];
	uint16_t urg;            /* urgent pointer */
	struct ip_addr to;       /* where his packets go: us */
	bool bad_sum;            /* their checksum is wrong */
	const uint8_t *ip_options; /* in their IPv4 headers … */
	unsigned ip_options_len;   /* … so many bytes, a multiple of four */
	unsigned order;          /* his payload lies alone in a block of 2^order pages */
	unsigned delay_ms;       /* until he answers our SYN-ACK in h_established() */
};
extern struct ip_addr h_us;

/* A packet that we sent: p->tcp is filled in (tcp_parse()), at is when. */
struct h_packet {
	struct pbuf *p;
	uint64_t at;
};

/**
 * h_begin - the stack, a device with an address, and virtual time
 * @v6: which family h_us and the peers have
 */
void h_begin(bool v6);
/* The device completes checksums and cuts large packets, as a virtio device does. */
void h_offload(bool on);
void h_end(void);                     /* nothing may be charged any more; sockets are closed */
void h_peer_init(struct h_peer *h, uint16_t port); /* MSS 1000, no window scale, no options */

/* Sockets. */
struct sock *h_listen(int backlog);
struct sock *h_socket(void);
/* Starts an active open to the peer from port H_PORT: the SYN has left and is taken. */
struct sock *h_connect(struct h_peer *h);
struct sock *h_accept(struct sock *l); /* NULL: none waits */
/* Handshake as the passive or the active side; @isn: the peer's.  @l: NULL if not wanted. */
struct sock *h_established(struct h_peer *h, struct sock *l, uint32_t isn);
struct sock *h_connected(struct h_peer *h, uint32_t isn);
ssize_t h_send(struct sock *s, const void *buf, size_t n, unsigned flags);
ssize_t h_recv(struct sock *s, void *buf, size_t n, unsigned flags);
void h_close(struct sock *s);
int h_setopt(struct sock *s, int level, int name, int value);
int h_getopt(struct sock *s, int level, int name);
void h_param(const char *name, const char *value);

/* Packets of the peer. */
void h_syn(struct h_peer *h, uint8_t flags, uint32_t seq); /* with the options of his SYN */
void h_inject(struct h_peer *h, uint8_t flags, uint32_t seq, uint32_t ack, unsigned len);
void h_inject_bytes(struct h_peer *h, uint8_t flags, uint32_t seq, uint32_t ack, const void *data,
		    unsigned len);
void h_raw(struct h_peer *h, uint8_t flags, uint32_t seq, uint32_t ack, const void *opts,
	   unsigned olen, const void *data, unsigned len);
void h_ack(struct h_peer *h, uint32_t ack);               /* an acknowledgement; sets h->ack */
/* An ICMP error from the peer that quotes a segment with @seq of ours; @mtu for too-big, else 0. */
void h_icmp(struct h_peer *h, uint8_t type, uint8_t code, uint32_t seq, uint32_t mtu);

/* Packets of ours: valid until the next call. */
struct pbuf *h_next(void);                                 /* NULL: none */
uint64_t h_next_time(void);                                /* when the last one taken was sent */
struct pbuf *h_expect(uint8_t flags);                      /* flags must be these, PSH aside */
struct pbuf *h_within(uint8_t flags, uint64_t ms);         /* waits for one */
bool h_wait(uint64_t ms);                                  /* until one is there: true */
void h_quiet(void);                                        /* none may be there */
void h_quiet_for(uint64_t ms);
unsigned h_drain(void);                                    /* throws away what is there; how many */
uint32_t h_sack_block(const struct pbuf *p, unsigned i, unsigned side);
void h_sleep(uint64_t ms);

/* Accounting. */
int64_t h_charged_pages(void);
int64_t h_charged_bytes(void); /* kernel objects */
void h_group(bool in); /* new sockets are a group's (the default) or the root group's */
void h_limit(int64_t pages); /* above what is charged now; negative: none */
void h_spawn(void (*fn)(void *), void *arg);
void h_join(void);

/* Runs @body on a fresh machine for each family; the status is 0 if both were good. */
int h_run(void (*body)(void));
extern bool h_v6;

#endif /* TESTS_HOST_TCP_HARNESS_H */
