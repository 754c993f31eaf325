/* SPDX-License-Identifier: MIT */
/*
 * netperf's control protocol, version 2.7: every message is 164 words of 32
 * bits, big-endian, in both directions.  This file is the codec; np_server.c
 * and np_client.c are the two ends.  Words that are not set are 0.
 */
#ifndef APPS_LIB_NP_PROTO_H
#define APPS_LIB_NP_PROTO_H

#include <stddef.h>
#include <stdint.h>

#define NP_WORDS 164
#define NP_PORT	 12865 /* default of the control connection */

/* Request types; an answer is request + 1, results are request + 2. */
enum {
	NP_DEBUG_ON = 1,
	NP_DEBUG_OFF = 2,
	NP_DEBUG_OK = 3,
	NP_CPU_CALIBRATE = 5,
	NP_PASSPHRASE = 6,
	NP_TCP_STREAM = 10,
	NP_TCP_RR = 13,
	NP_UDP_STREAM = 16,
	NP_UDP_RR = 19,
	NP_TCP_CRR = 34,
	NP_TCP_MAERTS = 94,
	NP_OMNI = 97,
	NP_TCP_CC = 300,
	NP_SYSINFO = 600,
};

/* Direction of a test as the server sees it; both for request and response, none for connect/close. */
#define NP_SEND	   2u
#define NP_RECEIVE 4u

#define NP_PAD_SECONDS 4 /* how much longer than the test a server waits that receives */

/* Flags of an OMNI request. */
#define NP_OMNI_NODELAY	   0x00000001u
#define NP_OMNI_CONNECTION 0x00000004u /* one connection per transaction */
#define NP_OMNI_CPU	   0x00000008u
#define NP_OMNI_ROUTE	   0x00000020u /* else SO_DONTROUTE */
#define NP_OMNI_CONNECTED  0x00004000u
#define NP_OMNI_KEEPALIVE  0x80000000u

#define NP_UNKNOWN_REQUEST 998 /* W1 of the answer to a type that is not served */

/* Address families as words: not AF_ values. */
enum { NP_UNSPEC = 0, NP_INET = 4, NP_INET6 = 6 };

/* How CPU use was measured. */
enum { NP_CPU_UNKNOWN = 0, NP_CPU_PROC_STAT = 8 };

struct np_msg {
	uint32_t w[NP_WORDS]; /* host order; np_send and np_recv convert */
};

/* Word @n as a float, words @n and @n+1 as a double (upper half first). */
void np_set_float(struct np_msg *m, unsigned n, float value);
void np_set_double(struct np_msg *m, unsigned n, double value);
float np_get_float(const struct np_msg *m, unsigned n);
double np_get_double(const struct np_msg *m, unsigned n);

/* Words @n (upper half) and @n+1 as one number. */
void np_set_u64(struct np_msg *m, unsigned n, uint64_t value);
uint64_t np_get_u64(const struct np_msg *m, unsigned n);

/* Text in the bytes from @byte on: at most @size with its NUL. */
void np_set_text(struct np_msg *m, unsigned byte, const char *text, size_t size);
void np_get_text(const struct np_msg *m, unsigned byte, char *text, size_t size);

/**
 * np_send - write one message
 * Return: 0, or -1 with errno.
 */
int np_send(int fd, const struct np_msg *m);

/**
 * np_recv - read one message
 * @timeout_s: seconds to wait for all of it; 0 waits for ever
 *
 * Return: 1; 0 at end of file before the first byte; -1 with errno (ETIMEDOUT,
 * EPROTO if the connection ends inside a message).
 */
int np_recv(int fd, struct np_msg *m, unsigned timeout_s);

/* Seconds on the monotonic clock. */
double np_now(void);

/* CPU time of all CPUs so far from /proc/stat: 0, or -1 if it cannot be read. */
struct np_cpu {
	double busy, total; /* ticks */
	unsigned cpus;
};
int np_cpu_read(struct np_cpu *cpu);
float np_cpu_percent(const struct np_cpu *from, const struct np_cpu *to);

#endif
