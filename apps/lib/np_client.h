/* SPDX-License-Identifier: MIT */
/*
 * netperf's client side of the classic stream test: TCP_SENDFILE and
 * TCP_STREAM.  Used by netperf and by experiment's workers.
 */
#ifndef APPS_LIB_NP_CLIENT_H
#define APPS_LIB_NP_CLIENT_H

#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include "apps/lib/np_proto.h"

enum np_test { NP_SENDFILE, NP_STREAM };

struct np_client {
	/* what the user wants; np_client_init() gives the defaults */
	enum np_test test;
	int family;	   /* AF_UNSPEC, AF_INET, AF_INET6 */
	const char *host;
	unsigned port;	   /* of the control connection */
	long length;	   /* > 0 seconds, < 0 bytes, 0 until stop is set */
	uint32_t send_size, recv_size; /* bytes; 0: as netperf chooses */
	int local_snd, local_rcv;      /* SO_SNDBUF, SO_RCVBUF; -1: leave */
	int remote_snd, remote_rcv;
	int local_nodelay, remote_nodelay;
	unsigned local_data_port, remote_data_port;
	const char *file;  /* to send from; NULL: a temporary file of random numbers */
	int tolerant;	   /* a short count does not end the test */
	double interim;	   /* seconds between interim results; 0: none */
	void (*running)(struct np_client *c); /* after the first message; may be NULL */
	void *arg;	   /* for running() */

	/* while it runs; a signal handler may read them and set stop */
	volatile uint64_t bytes, msgs;
	volatile sig_atomic_t stop;

	/* results */
	char error[160];   /* empty: none */
	double elapsed;	   /* seconds on the client's clock */
	double received;   /* bytes as the server counted them */
	uint32_t recv_calls;
	uint32_t remote_rcvbuf, remote_sndbuf, local_sndbuf;
	struct sockaddr_storage peer;
};

void np_client_init(struct np_client *c);

/**
 * np_connect_control - a control connection
 * @peer: set to the server's address
 * @error, @size: set to a sentence if there is none
 * Return: a descriptor, or -1.
 */
int np_connect_control(const char *host, int family, unsigned port, struct sockaddr_storage *peer,
		       char *error, size_t size);

/**
 * np_client_run - connect, run one test, take the server's results
 *
 * SIGALRM ends a test by time.  Return: 0, or -1 with c->error.
 */
int np_client_run(struct np_client *c);

#endif
