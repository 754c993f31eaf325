/* SPDX-License-Identifier: MIT */
/*
 * netperf's client side of the OMNI request: streams either way, transactions,
 * one connection per transaction, over TCP or UDP.  The classic stream test
 * and TCP_SENDFILE are np_client.c's.
 */
#ifndef APPS_LIB_NP_OMNI_CLIENT_H
#define APPS_LIB_NP_OMNI_CLIENT_H

#include <stdint.h>
#include <sys/socket.h>
#include "apps/lib/np_proto.h"

/* Times of transactions in buckets of 1/16 of a power of two of microseconds. */
#define NP_BUCKETS (40 * 16)

struct np_latency {
	uint32_t count[NP_BUCKETS];
	uint64_t n;
	double sum, squares, min, max; /* microseconds */
};

void np_latency_add(struct np_latency *l, double seconds);
double np_latency_percentile(const struct np_latency *l, double percent);

struct np_side {
	int sndbuf, rcvbuf;		/* wanted, -1: leave */
	uint32_t sndbuf_begin, rcvbuf_begin, sndbuf_end, rcvbuf_end;
	uint32_t send_size, recv_size;	/* 0: as netperf chooses */
	int nodelay, measure_cpu;
	unsigned data_port;
	uint64_t sent, received;
	uint32_t send_calls, recv_calls, failed_sends, retransmits;
	double elapsed;
	float cpu;
	unsigned cpus, cpu_method;
	char congestion[16];
};

struct np_omni {
	/* what the user wants; np_omni_init() gives the defaults */
	const char *host;
	int family, type;		/* AF_*, SOCK_* */
	unsigned port;
	long length;			/* > 0 seconds, < 0 bytes or transactions */
	unsigned direction;		/* NP_SEND | NP_RECEIVE, as the server sees it */
	int connection;
	int req_size, rsp_size;
	unsigned burst;			/* requests ahead of the answers */
	int route;			/* 0: datagrams do not pass a router */
	double interim;
	struct np_side local, remote;
	void (*running)(struct np_omni *c); /* when the data may flow; may be NULL */
	const char *title;

	uint32_t classic;		/* the server knows no OMNI: type of the classic request; else 0 */

	/* results */
	char error[160];
	double elapsed;
	uint64_t transactions;
	uint32_t mss;
	struct sockaddr_storage peer;
	struct np_latency latency;
};

void np_omni_init(struct np_omni *c);

/* Both directions, or connect and close: counted in transactions. */
int np_omni_transactional(const struct np_omni *c);

/* Megabits per second, or transactions per second. */
double np_omni_throughput(const struct np_omni *c);

/**
 * np_omni_run - connect, run one test, take the server's results
 * Return: 0, or -1 with c->error.
 */
int np_omni_run(struct np_omni *c);

#endif
