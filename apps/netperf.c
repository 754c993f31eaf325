/* SPDX-License-Identifier: MIT */
/*
 * netperf: the measuring side.  Tests TCP_SENDFILE and TCP_STREAM with the
 * classic protocol (request 10); options and output as users know them.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "apps/lib/np_client.h"

static int headers = 1, verbosity = 1;

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: netperf [options] [-- test options]\n"
		"  -4, -6           only this family\n"
		"  -H HOST          numeric address or localhost\n"
		"  -p PORT          control port (%d)\n"
		"  -t TEST          TCP_SENDFILE or TCP_STREAM\n"
		"  -l SECONDS       length; negative: bytes\n"
		"  -P 0|1           print headers\n"
		"  -v 0|1|2         verbosity\n"
		"  -D SECONDS       interim results\n"
		"  -F FILE          what TCP_SENDFILE sends\n"
		"test options:\n"
		"  -m SIZE          bytes per send; 10K is 10240, 10k is 10000\n"
		"  -M SIZE          bytes per receive of the server\n"
		"  -s SEND[,RECV]   local socket buffers\n"
		"  -S SEND[,RECV]   remote socket buffers\n"
		"  -P LOCAL[,REMOTE] data ports\n"
		"  -D               no-delay on both sides\n",
		NP_PORT);
	exit(status);
}

/* A number with a unit: K M G are powers of 1024, k m g powers of 1000. */
static long number(const char *text, char opt)
{
	char *end;
	double v = strtod(text, &end);
	static const struct {
		char name;
		double value;
	} units[] = { { 'K', 1024 }, { 'M', 1024 * 1024 }, { 'G', 1024.0 * 1024 * 1024 },
		      { 'k', 1e3 },  { 'm', 1e6 },	   { 'g', 1e9 } };

	for (size_t i = 0; end != text && i < sizeof(units) / sizeof(units[0]); i++) {
		if (*end == units[i].name) {
			v *= units[i].value;
			end++;
			break;
		}
	}
	if (end == text || (*end && *end != ',')) {
		fprintf(stderr, "netperf: -%c: a number is expected, not '%s'\n", opt, text);
		exit(1);
	}
	return (long)v;
}

static long number_in(const char *text, char opt, long lo, long hi)
{
	long v = number(text, opt);

	if (v < lo || v > hi) {
		fprintf(stderr, "netperf: -%c: %ld to %ld expected, not '%s'\n", opt, lo, hi, text);
		exit(1);
	}
	return v;
}

/* "a" sets both, "a,b" one each, "a," and ",b" one. */
static void pair(const char *text, char opt, long lo, long hi, int *a, int *b)
{
	const char *comma = strchr(text, ',');

	if (!comma) {
		*a = *b = (int)number_in(text, opt, lo, hi);
		return;
	}
	if (comma != text)
		*a = (int)number_in(text, opt, lo, hi);
	if (comma[1])
		*b = (int)number_in(comma + 1, opt, lo, hi);
}

static void test_options(struct np_client *c, int argc, char **argv)
{
	int opt, local = 0, remote = 0;

	optind = 0;
	while ((opt = getopt(argc, argv, "m:M:s:S:P:D")) != -1) {
		switch (opt) {
		case 'm':
			c->send_size = (uint32_t)number_in(optarg, 'm', 1, 1 << 30);
			break;
		case 'M':
			c->recv_size = (uint32_t)number_in(optarg, 'M', 1, 1 << 30);
			break;
		case 's':
			pair(optarg, 's', 0, 1 << 30, &c->local_snd, &c->local_rcv);
			break;
		case 'S':
			pair(optarg, 'S', 0, 1 << 30, &c->remote_snd, &c->remote_rcv);
			break;
		case 'P':
			pair(optarg, 'P', 0, 65535, &local, &remote);
			c->local_data_port = (unsigned)local;
			c->remote_data_port = (unsigned)remote;
			break;
		case 'D':
			c->local_nodelay = c->remote_nodelay = 1;
			break;
		default:
			usage(1);
		}
	}
	if (optind < argc)
		usage(1);
}

static void print_top(const struct np_client *c, const char *test)
{
	int six = c->peer.ss_family == AF_INET6;
	const char *family = six ? "AF_INET6" : "AF_INET";
	char text[INET6_ADDRSTRLEN] = "";

	inet_ntop(c->peer.ss_family,
		  six ? (const void *)&((const struct sockaddr_in6 *)&c->peer)->sin6_addr
		      : (const void *)&((const struct sockaddr_in *)&c->peer)->sin_addr,
		  text, sizeof(text));
	printf("%s TEST from %s (%s) port 0 %s to %s (%s) port 0 %s%s%s\n", test,
	       six ? "::0" : "0.0.0.0", six ? "::" : "0.0.0.0", family, c->host, text, family,
	       c->local_nodelay ? " : nodelay" : "", c->interim > 0 ? " : demo" : "");
}

static void print_result(const struct np_client *c)
{
	double mbps = c->elapsed > 0 ? c->received * 8 / c->elapsed / 1e6 : 0;

	if (verbosity == 0) {
		printf("%7.2f\n", mbps);
		return;
	}
	if (headers)
		printf("Recv   Send    Send                          \n"
		       "Socket Socket  Message  Elapsed              \n"
		       "Size   Size    Size     Time     Throughput  \n"
		       "bytes  bytes   bytes    secs.    10^6bits/sec  \n\n");
	printf("%6u %6u %6u    %-6.2f   %7.2f   \n", c->remote_rcvbuf, c->local_sndbuf,
	       c->send_size, c->elapsed, mbps);
	if (verbosity > 1)
		printf("\nBytes    Bytes       Sends   Bytes    Recvs\n"
		       "Xfered   Per                 Per\n"
		       "         Send (avg)          Recv (avg)\n"
		       "%.0f %.2f %llu %.2f %u\n",
		       c->received, c->msgs ? c->received / (double)c->msgs : 0,
		       (unsigned long long)c->msgs,
		       c->recv_calls ? c->received / c->recv_calls : 0, c->recv_calls);
}

/* Headers name the peer, so they are printed when the data connection runs. */
static void on_running(struct np_client *c)
{
	if (headers && verbosity)
		print_top(c, c->arg);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct np_client c;
	const char *test = "TCP_STREAM";
	int opt, i, port = NP_PORT;

	np_client_init(&c);
	/* netperf's own options end at "--"; what follows belongs to the test. */
	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		;
	argv[i] = NULL;
	while ((opt = getopt(i, argv, "46H:p:t:l:P:v:D:F:h")) != -1) {
		switch (opt) {
		case '4':
			c.family = AF_INET;
			break;
		case '6':
			c.family = AF_INET6;
			break;
		case 'H':
			c.host = optarg;
			break;
		case 'p':
			port = (int)number_in(optarg, 'p', 1, 65535);
			break;
		case 't':
			test = optarg;
			break;
		case 'l':
			c.length = number(optarg, 'l');
			break;
		case 'P':
			headers = (int)number_in(optarg, 'P', 0, 1);
			break;
		case 'v':
			verbosity = (int)number_in(optarg, 'v', 0, 9);
			break;
		case 'D':
			c.interim = strtod(optarg, NULL);
			break;
		case 'F':
			c.file = optarg;
			break;
		case 'h':
			usage(0);
			break;
		default:
			usage(1);
		}
	}
	if (optind < i)
		usage(1);
	c.port = (unsigned)port;
	if (!strcasecmp(test, "TCP_SENDFILE")) {
		c.test = NP_SENDFILE;
		c.arg = "TCP SENDFILE";
	} else if (!strcasecmp(test, "TCP_STREAM")) {
		c.test = NP_STREAM;
		c.arg = "TCP STREAM";
	} else {
		fprintf(stderr, "netperf: -t: TCP_SENDFILE or TCP_STREAM expected, not '%s'\n",
			test);
		return 1;
	}
	if (i < argc) {
		argv[i] = argv[0];
		test_options(&c, argc - i, argv + i);
	}
	if (c.length == 0) {
		fprintf(stderr, "netperf: -l: seconds, or negative for bytes\n");
		return 1;
	}
	c.running = on_running;
	if (np_client_run(&c) < 0) {
		fflush(stdout);
		fprintf(stderr, "netperf: %s\n", c.error);
		return 1;
	}
	print_result(&c);
	return 0;
}
