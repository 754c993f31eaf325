/* SPDX-License-Identifier: MIT */
/*
 * The serving side of one netperf test, whatever request asked for it: a data
 * socket, a loop that receives, sends or does both, and what it counted.
 * np_classic.c and np_omni.c translate their messages to and from it.
 */
#ifndef APPS_LIB_NP_TEST_H
#define APPS_LIB_NP_TEST_H

#include <stdint.h>
#include <sys/socket.h>
#include "apps/lib/np_proto.h"

#define NP_MOST_BUFFER (4u << 20) /* bytes of one send or receive */

struct np_test {
	/* What the client wants. */
	int type;		 /* SOCK_STREAM, SOCK_DGRAM */
	unsigned direction;	 /* NP_SEND | NP_RECEIVE */
	int connection;		 /* one connection per transaction */
	int req_size, rsp_size;	 /* bytes; used if the direction is both */
	uint32_t recv_size, send_size; /* bytes of a call; 0: the socket's buffer */
	int sndbuf, rcvbuf;	 /* -1: leave */
	int nodelay, keepalive, dontroute, measure_cpu;
	int connect_udp;	 /* to the source of the first datagram */
	int exact_datagrams;	 /* one of another size than recv_size ends the test */
	int clock_at_accept;	 /* the time begins with the connection, not with the answer */
	int half_close;		 /* shutdown() when done; a sender then waits for the peer's end */
	long length;		 /* > 0 seconds; < 0 bytes or transactions; 0 until the end of file */
	unsigned pad;		 /* seconds longer */
	struct sockaddr_storage local;	/* family always; address and port, or wildcard and 0 */
	struct sockaddr_storage client; /* where a sender of datagrams sends to */

	/* What it got; np_test_open() sets them. */
	int listener, data;	 /* one socket for datagrams: data */
	unsigned port;
	uint32_t rcvbuf_now, sndbuf_now;
	char *rx, *tx;

	/* What was counted. */
	uint64_t received, sent;
	uint32_t recv_calls, send_calls, failed_sends, transactions;
	uint32_t rcvbuf_end, sndbuf_end, retransmits;
	double elapsed;		 /* seconds, without the pad if the time ended the test */
	float cpu;		 /* percent, -1 if not measured */
	unsigned cpus;		 /* 0 if CPU time cannot be read */
	char congestion[16];
};

/**
 * np_test_open - make the data socket and the buffers
 * Return: 0, or an errno value; np_test_close() in either case.
 */
int np_test_open(struct np_test *t);

/**
 * np_test_run - run the test to its end
 * @control: a control connection that ends while nobody has connected ends the test
 * Return: 0 with the counts, or an errno value.
 */
int np_test_run(struct np_test *t, int control);

void np_test_close(struct np_test *t);

/* Classic requests: serves one; -1 if the control connection cannot go on, -2 if it is none. */
int np_classic_serve(int control, const struct np_msg *req);

/* The OMNI request. */
int np_omni_serve(int control, const struct np_msg *req);

/* Answers of type @type with error number @error (as newlib has it). */
int np_refuse(int control, uint32_t type, int error);

#endif
