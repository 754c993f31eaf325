/* SPDX-License-Identifier: MIT */
/* Implements np_output.h.  Names, labels and columns are netperf 2.7's. */
#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "apps/lib/np_output.h"
#include "apps/lib/np_sock.h"

#define MOST_KEYS 128

/* X(name, label, format, value); c and o are at hand. */
#define NUMBER(name, label, value) X(name, label, "%.0f", (double)(value))
#define NP_KEYS                                                                                     \
	TEXT(SOCKET_TYPE, "Socket Type", c->type == SOCK_DGRAM ? "Datagram" : "Stream")             \
	TEXT(PROTOCOL, "Protocol", c->type == SOCK_DGRAM ? "UDP" : "TCP")                           \
	TEXT(DIRECTION, "Direction", direction(c))                                                  \
	X(ELAPSED_TIME, "Elapsed Time (sec)", "%.2f", c->elapsed)                                   \
	X(THROUGHPUT, "Throughput", "%.2f", throughput(c, o))                                       \
	TEXT(THROUGHPUT_UNITS, "Throughput Units", units_of(c, o))                                  \
	NUMBER(LSS_SIZE_REQ, "Local Send Socket Size Requested", c->local.sndbuf)                   \
	NUMBER(LSS_SIZE, "Local Send Socket Size Initial", c->local.sndbuf_begin)                   \
	NUMBER(LSS_SIZE_END, "Local Send Socket Size Final", c->local.sndbuf_end)                   \
	NUMBER(LSR_SIZE_REQ, "Local Recv Socket Size Requested", c->local.rcvbuf)                   \
	NUMBER(LSR_SIZE, "Local Recv Socket Size Initial", c->local.rcvbuf_begin)                   \
	NUMBER(LSR_SIZE_END, "Local Recv Socket Size Final", c->local.rcvbuf_end)                   \
	NUMBER(RSS_SIZE_REQ, "Remote Send Socket Size Requested", c->remote.sndbuf)                 \
	NUMBER(RSS_SIZE, "Remote Send Socket Size Initial", c->remote.sndbuf_begin)                 \
	NUMBER(RSS_SIZE_END, "Remote Send Socket Size Final", c->remote.sndbuf_end)                 \
	NUMBER(RSR_SIZE_REQ, "Remote Recv Socket Size Requested", c->remote.rcvbuf)                 \
	NUMBER(RSR_SIZE, "Remote Recv Socket Size Initial", c->remote.rcvbuf_begin)                 \
	NUMBER(RSR_SIZE_END, "Remote Recv Socket Size Final", c->remote.rcvbuf_end)                 \
	NUMBER(LOCAL_SEND_SIZE, "Local Send Size", (int32_t)c->local.send_size)                     \
	NUMBER(LOCAL_RECV_SIZE, "Local Recv Size", (int32_t)c->local.recv_size)                     \
	NUMBER(REMOTE_SEND_SIZE, "Remote Send Size", (int32_t)c->remote.send_size)                  \
	NUMBER(REMOTE_RECV_SIZE, "Remote Recv Size", (int32_t)c->remote.recv_size)                  \
	NUMBER(REQUEST_SIZE, "Request Size Bytes", rr(c) ? c->req_size : -1)                        \
	NUMBER(RESPONSE_SIZE, "Response Size Bytes", rr(c) ? c->rsp_size : -1)                      \
	X(LOCAL_CPU_UTIL, "Local CPU Util %", "%.2f", (double)c->local.cpu)                         \
	X(REMOTE_CPU_UTIL, "Remote CPU Util %", "%.2f", (double)c->remote.cpu)                      \
	TEXT(LOCAL_CPU_METHOD, "Local CPU Util Method", c->local.cpu_method ? "S" : "U")            \
	TEXT(REMOTE_CPU_METHOD, "Remote CPU Util Method", c->remote.cpu_method ? "S" : "U")         \
	X(LOCAL_SD, "Local Service Demand", "%.3f", demand(c, &c->local))                           \
	X(REMOTE_SD, "Remote Service Demand", "%.3f", demand(c, &c->remote))                        \
	TEXT(SD_UNITS, "Service Demand Units", rr(c) ? "usec/Tran" : "usec/KB")                     \
	X(TRANSACTION_RATE, "Transaction Rate Tran/s", "%.3f", rate(c))                             \
	X(RT_LATENCY, "Round Trip Latency usec/tran", "%.3f", rr(c) ? 1e6 / rate(c) : -1)           \
	NUMBER(BURST_SIZE, "Initial Burst Requests", c->burst)                                      \
	NUMBER(LOCAL_TRANSPORT_RETRANS, "Local Transport Retransmissions", c->local.retransmits)    \
	NUMBER(REMOTE_TRANSPORT_RETRANS, "Remote Transport Retransmissions", c->remote.retransmits) \
	NUMBER(TRANSPORT_MSS, "Transport MSS bytes", c->mss)                                        \
	X(LOCAL_SEND_THROUGHPUT, "Local Send Throughput", "%.2f", bits(c->local.sent, c->elapsed))  \
	X(LOCAL_RECV_THROUGHPUT, "Local Recv Throughput", "%.2f",                                   \
	  bits(c->local.received, c->elapsed))                                                      \
	X(REMOTE_SEND_THROUGHPUT, "Remote Send Throughput", "%.2f",                                 \
	  bits(c->remote.sent, c->elapsed))                                                         \
	X(REMOTE_RECV_THROUGHPUT, "Remote Recv Throughput", "%.2f",                                 \
	  bits(c->remote.received, c->elapsed))                                                     \
	NUMBER(LOCAL_CPU_COUNT, "Local CPU Count", c->local.cpus)                                   \
	NUMBER(REMOTE_CPU_COUNT, "Remote CPU Count", c->remote.cpus)                                \
	NUMBER(LOCAL_SEND_CALLS, "Local Send Calls", c->local.send_calls)                           \
	NUMBER(LOCAL_RECV_CALLS, "Local Recv Calls", c->local.recv_calls)                           \
	X(LOCAL_BYTES_PER_RECV, "Local Bytes Per Recv", "%.2f",                                     \
	  per(c->local.received, c->local.recv_calls))                                              \
	X(LOCAL_BYTES_PER_SEND, "Local Bytes Per Send", "%.2f",                                     \
	  per(c->local.sent, c->local.send_calls))                                                  \
	NUMBER(LOCAL_BYTES_SENT, "Local Bytes Sent", c->local.sent)                                 \
	NUMBER(LOCAL_BYTES_RECVD, "Local Bytes Received", c->local.received)                        \
	NUMBER(LOCAL_BYTES_XFERD, "Local Bytes Xferred", c->local.sent + c->local.received)         \
	NUMBER(LOCAL_NODELAY, "Local NODELAY", c->local.nodelay)                                    \
	NUMBER(REMOTE_SEND_CALLS, "Remote Send Calls", c->remote.send_calls)                        \
	NUMBER(REMOTE_RECV_CALLS, "Remote Recv Calls", c->remote.recv_calls)                        \
	X(REMOTE_BYTES_PER_RECV, "Remote Bytes Per Recv", "%.2f",                                   \
	  per(c->remote.received, c->remote.recv_calls))                                            \
	X(REMOTE_BYTES_PER_SEND, "Remote Bytes Per Send", "%.2f",                                   \
	  per(c->remote.sent, c->remote.send_calls))                                                \
	NUMBER(REMOTE_BYTES_SENT, "Remote Bytes Sent", c->remote.sent)                              \
	NUMBER(REMOTE_BYTES_RECVD, "Remote Bytes Received", c->remote.received)                     \
	NUMBER(REMOTE_BYTES_XFERD, "Remote Bytes Xferred", c->remote.sent + c->remote.received)     \
	NUMBER(REMOTE_NODELAY, "Remote NODELAY", c->remote.nodelay)                                 \
	NUMBER(MIN_LATENCY, "Minimum Latency Microseconds", c->latency.min)                         \
	NUMBER(MAX_LATENCY, "Maximum Latency Microseconds", c->latency.max)                         \
	NUMBER(P50_LATENCY, "50th Percentile Latency Microseconds", percentile(c, 50))              \
	NUMBER(P90_LATENCY, "90th Percentile Latency Microseconds", percentile(c, 90))              \
	NUMBER(P99_LATENCY, "99th Percentile Latency Microseconds", percentile(c, 99))              \
	X(MEAN_LATENCY, "Mean Latency Microseconds", "%.2f", mean(c))                               \
	X(STDDEV_LATENCY, "Stddev Latency Microseconds", "%.2f", deviation(c))                      \
	TEXT(LOCAL_CONG_CONTROL, "Local Congestion Control Algorithm", c->local.congestion)         \
	TEXT(REMOTE_CONG_CONTROL, "Remote Congestion Control Algorithm", c->remote.congestion)      \
	TEXT(COMMAND_LINE, "Command Line", o->command)

static const char *direction(const struct np_omni *c)
{
	if (np_omni_transactional(c))
		return c->direction ? "Send|Recv" : "Connect|Close";
	return c->direction == NP_SEND ? "Receive" : "Send";
}

static int rr(const struct np_omni *c)
{
	return np_omni_transactional(c);
}

double np_unit(const char *units, const char **name)
{
	static const struct {
		char unit;
		const char *name;
		double factor;
	} table[] = {
		{ 'G', "GBytes/s", 1e6 / 8 / (1 << 30) }, { 'M', "MBytes/s", 1e6 / 8 / (1 << 20) },
		{ 'K', "KBytes/s", 1e6 / 8 / (1 << 10) }, { 'g', "10^9bits/s", 1e-3 },
		{ 'm', "10^6bits/s", 1 },		  { 'k', "10^3bits/s", 1e3 },
	};

	for (size_t i = 0; units && i < sizeof(table) / sizeof(table[0]); i++) {
		if (table[i].unit == *units) {
			*name = table[i].name;
			return table[i].factor;
		}
	}
	*name = "10^6bits/s";
	return 1;
}

/* Transactions in units of throughput: the bytes of both directions. */
static double throughput(const struct np_omni *c, const struct np_output *o)
{
	const char *name;
	double factor = np_unit(o->units, &name);

	if (!rr(c))
		return np_omni_throughput(c) * factor;
	if (!o->units || *o->units == 'x')
		return np_omni_throughput(c);
	return np_omni_throughput(c) * (c->req_size + c->rsp_size) * 8 / 1e6 * factor;
}

static const char *units_of(const struct np_omni *c, const struct np_output *o)
{
	const char *name;

	np_unit(o->units, &name);
	return rr(c) && (!o->units || *o->units == 'x') ? "Trans/s" : name;
}

/* Transactions per second that the bytes of a stream would be, too: one is a send. */
static double rate(const struct np_omni *c)
{
	return c->elapsed > 0 && c->transactions ? (double)c->transactions / c->elapsed : -1;
}

/* CPU time per transaction, or per 1024 bytes. */
static double demand(const struct np_omni *c, const struct np_side *s)
{
	double work = rr(c) ? np_omni_throughput(c) : np_omni_throughput(c) * 1e6 / 8 / 1024;

	return s->cpu >= 0 && work > 0 ? (double)s->cpu / 100 * s->cpus * 1e6 / work : -1;
}

static double bits(uint64_t bytes, double seconds)
{
	return seconds > 0 ? (double)bytes * 8 / 1e6 / seconds : 0;
}

static double per(uint64_t bytes, uint32_t calls)
{
	return calls ? (double)bytes / calls : 0;
}

static double percentile(const struct np_omni *c, double percent)
{
	return c->latency.n ? np_latency_percentile(&c->latency, percent) : 0;
}

static double mean(const struct np_omni *c)
{
	return c->latency.n ? c->latency.sum / (double)c->latency.n : 0;
}

static double deviation(const struct np_omni *c)
{
	double n = (double)c->latency.n, v;

	if (n < 2)
		return 0;
	v = (c->latency.squares - c->latency.sum * c->latency.sum / n) / (n - 1);
	return v > 0 ? sqrt(v) : 0;
}

static const struct {
	const char *name, *label;
} keys[] = {
#define X(name, label, format, value) { #name, label },
#define TEXT(name, label, value) { #name, label },
	NP_KEYS
#undef X
#undef TEXT
};

#define NR_KEYS ((int)(sizeof(keys) / sizeof(keys[0])))

enum {
#define X(name, label, format, value) KEY_##name,
#define TEXT(name, label, value) KEY_##name,
	NP_KEYS
#undef X
#undef TEXT
};

static void value_of(const struct np_omni *c, const struct np_output *o, int key, char *text,
		     size_t n)
{
	switch (key) {
#define X(name, label, format, value)                                                              \
	case KEY_##name:                                                                           \
		snprintf(text, n, format, value);                                                  \
		break;
#define TEXT(name, label, value)                                                                   \
	case KEY_##name:                                                                           \
		snprintf(text, n, "%s", value);                                                    \
		break;
		NP_KEYS
#undef X
#undef TEXT
	}
}

static int find_key(const char *name, size_t n)
{
	for (int i = 0; i < NR_KEYS; i++)
		if (strlen(keys[i].name) == n && !strncasecmp(keys[i].name, name, n))
			return i;
	return -1;
}

/* Key numbers of a list with commas; those of the test without one. */
static int chosen(const struct np_omni *c, const char *list, int out[MOST_KEYS])
{
	static const char *const of_test[] = {
		"LSS_SIZE_END,RSR_SIZE_END,LOCAL_SEND_SIZE,ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS",
		"RSS_SIZE_END,LSR_SIZE_END,REMOTE_SEND_SIZE,ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS",
		"LSS_SIZE_END,LSR_SIZE_END,RSR_SIZE_END,RSS_SIZE_END,REQUEST_SIZE,RESPONSE_SIZE,"
		"ELAPSED_TIME,THROUGHPUT,THROUGHPUT_UNITS",
	};
	int n = 0;

	if (list && !strcasecmp(list, "all")) {
		for (; n < NR_KEYS && n < MOST_KEYS; n++)
			out[n] = n;
		return n;
	}
	if (!list)
		list = of_test[rr(c) ? 2 : c->direction == NP_SEND];
	while (*list && n < MOST_KEYS) {
		size_t len = strcspn(list, ",");
		int key = find_key(list, len);

		if (key >= 0)
			out[n++] = key;
		list += len + (list[len] == ',');
	}
	return n;
}

const char *np_output_check(const char *list)
{
	while (list && *list && strcasecmp(list, "all")) {
		size_t len = strcspn(list, ",");

		if (find_key(list, len) < 0)
			return list;
		list += len + (list[len] == ',');
	}
	return NULL;
}

void np_output_title(const struct np_omni *c, const struct np_output *o)
{
	int six = c->peer.ss_family == AF_INET6;
	const char *family = six ? "AF_INET6" : "AF_INET";
	char text[INET6_ADDRSTRLEN] = "";

	if (!o->headers || !o->verbosity)
		return;
	inet_ntop(c->peer.ss_family,
		  six ? (const void *)&((const struct sockaddr_in6 *)&c->peer)->sin6_addr
		      : (const void *)&((const struct sockaddr_in *)&c->peer)->sin_addr,
		  text, sizeof(text));
	printf("%s TEST from %s (%s) port 0 %s to %s (%s) port 0 %s%s%s", c->title,
	       six ? "::" : "0.0.0.0", six ? "::" : "0.0.0.0", family, c->host, text, family,
	       c->local.nodelay ? " : nodelay" : "", c->interim > 0 ? " : demo" : "");
	if (rr(c) && !c->connection)
		printf(" : first burst %u", c->burst);
	printf("\n");
	fflush(stdout);
}

static void table_rr(const struct np_omni *c, const struct np_output *o)
{
	if (o->headers)
		printf("Local /Remote\n"
		       "Socket Size   Request  Resp.   Elapsed  Trans.\n"
		       "Send   Recv   Size     Size    Time     Rate         \n"
		       "bytes  Bytes  bytes    bytes   secs.    per sec   \n\n");
	printf("%-6u %-6u %-6d   %-6d  %-6.2f   %7.2f   \n%-6u %-6u\n", c->local.sndbuf_begin,
	       c->local.rcvbuf_begin, c->req_size, c->rsp_size, c->elapsed, throughput(c, o),
	       c->remote.sndbuf_begin, c->remote.rcvbuf_begin);
	if (o->verbosity > 1)
		printf("RoundTrip  Trans    Throughput\n"
		       "Latency    Rate     10^6bits/s\n"
		       "usec/Tran  per sec  Outbound   Inbound\n"
		       "%-6.3f   %-6.3f %-6.3f    %-6.3f\n",
		       rate(c) > 0 ? 1e6 / rate(c) : 0, rate(c), bits(c->local.sent, c->elapsed),
		       bits(c->local.received, c->elapsed));
}

static void table_stream(const struct np_omni *c, const struct np_output *o)
{
	int maerts = c->direction == NP_SEND;

	if (o->headers)
		printf("Recv   Send    Send                          \n"
		       "Socket Socket  Message  Elapsed              \n"
		       "Size   Size    Size     Time     Throughput  \n"
		       "bytes  bytes   bytes    secs.    %-10s  \n\n", units_of(c, o));
	printf("%6u %6u %6u    %-6.2f   %7.2f   \n",
	       maerts ? c->local.rcvbuf_begin : c->remote.rcvbuf_begin,
	       maerts ? c->remote.sndbuf_begin : c->local.sndbuf_begin,
	       maerts ? c->remote.send_size : c->local.send_size, c->elapsed, throughput(c, o));
}

/* Two lines: what was sent, what arrived. */
static void table_datagrams(const struct np_omni *c, const struct np_output *o)
{
	const struct np_side *from = c->direction == NP_SEND ? &c->remote : &c->local;
	const struct np_side *to = c->direction == NP_SEND ? &c->local : &c->remote;
	const char *name;
	double factor = np_unit(o->units, &name);

	if (o->headers)
		printf("Socket  Message  Elapsed      Messages                \n"
		       "Size    Size     Time         Okay Errors   Throughput\n"
		       "bytes   bytes    secs            #      #   %s\n\n", name);
	printf("%6u  %6u   %-7.2f   %7u %6u    %7.2f\n%6u           %-7.2f   %7u           %7.2f\n\n",
	       from->sndbuf_begin, from->send_size, c->elapsed, from->send_calls, from->failed_sends,
	       bits(from->sent, c->elapsed) * factor, to->rcvbuf_begin, c->elapsed, to->recv_calls,
	       bits(to->received, c->elapsed) * factor);
}

static void by_name(const struct np_omni *c, const struct np_output *o)
{
	int list[MOST_KEYS], n = chosen(c, o->keys, list);
	char text[256];

	for (int i = 0; i < n && o->style == NP_KEYVAL; i++) {
		value_of(c, o, list[i], text, sizeof(text));
		printf("%s=%s\n", keys[list[i]].name, text);
	}
	if (o->style == NP_KEYVAL)
		return;
	for (int row = o->headers ? 0 : 1; row < 2; row++) {
		for (int i = 0; i < n; i++) {
			value_of(c, o, list[i], text, sizeof(text));
			if (o->style == NP_CSV) {
				printf("%s%s", i ? "," : "", row ? text : keys[list[i]].label);
			} else {
				int width = (int)strlen(keys[list[i]].label);

				if ((int)strlen(text) > width)
					width = (int)strlen(text);
				printf("%-*s ", width, row ? text : keys[list[i]].label);
			}
		}
		printf("\n");
	}
}

void np_output_results(const struct np_omni *c, const struct np_output *o)
{
	if (o->style != NP_TABLE)
		by_name(c, o);
	else if (o->verbosity == 0)
		printf("%7.2f \n", throughput(c, o));
	else if (rr(c))
		table_rr(c, o);
	else if (c->type == SOCK_DGRAM)
		table_datagrams(c, o);
	else
		table_stream(c, o);
}
