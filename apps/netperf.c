/* SPDX-License-Identifier: MIT */
/*
 * netperf: the measuring side.  Options and output as users of netperf 2.7
 * know them; TCP_SENDFILE and TCP_STREAM speak the classic protocol, every
 * other test, and those with chosen output, OMNI's.
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
#include "apps/lib/np_omni_client.h"
#include "apps/lib/np_output.h"

/* What the command line says, for either protocol. */
struct wish {
	struct np_client classic;
	struct np_omni omni;
	struct np_output output;
	const char *test;
	int use_omni;
};

static const struct test {
	const char *name, *title;
	int type, connection;
	unsigned direction; /* as the server sees it */
} tests[] = {
	{ "TCP_STREAM", "TCP STREAM", SOCK_STREAM, 0, NP_RECEIVE },
	{ "TCP_MAERTS", "MIGRATED TCP MAERTS", SOCK_STREAM, 0, NP_SEND },
	{ "TCP_RR", "MIGRATED TCP REQUEST/RESPONSE", SOCK_STREAM, 0, NP_SEND | NP_RECEIVE },
	{ "TCP_CRR", "MIGRATED TCP Connect/Request/Response", SOCK_STREAM, 1, NP_SEND | NP_RECEIVE },
	{ "TCP_CC", "MIGRATED TCP Connect/Close", SOCK_STREAM, 1, 0 },
	{ "UDP_STREAM", "MIGRATED UDP STREAM", SOCK_DGRAM, 0, NP_RECEIVE },
	{ "UDP_RR", "MIGRATED UDP REQUEST/RESPONSE", SOCK_DGRAM, 0, NP_SEND | NP_RECEIVE },
	{ "OMNI", "OMNI Send", SOCK_STREAM, 0, NP_RECEIVE },
};

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: netperf [options] [-- test options]\n"
		"  -4, -6           only this family\n"
		"  -H HOST          numeric address or localhost\n"
		"  -p PORT          control port (%d)\n"
		"  -t TEST          TCP_SENDFILE TCP_STREAM TCP_MAERTS TCP_RR TCP_CRR TCP_CC\n"
		"                   UDP_STREAM UDP_RR OMNI\n"
		"  -l SECONDS       length; negative: bytes or transactions\n"
		"  -P 0|1           print headers\n"
		"  -v 0|1|2         verbosity\n"
		"  -f G|M|K|g|m|k|x unit of throughput\n"
		"  -c, -C           measure CPU use here, there\n"
		"  -D SECONDS       interim results\n"
		"  -F FILE          what TCP_SENDFILE sends\n"
		"test options:\n"
		"  -m SIZE          bytes per send; 10K is 10240, 10k is 10000\n"
		"  -M SIZE          bytes per receive of the server\n"
		"  -r REQ[,RESP]    bytes of request and response\n"
		"  -b N             requests ahead of the answers\n"
		"  -s SEND[,RECV]   local socket buffers\n"
		"  -S SEND[,RECV]   remote socket buffers\n"
		"  -P LOCAL[,REMOTE] data ports\n"
		"  -D               no-delay on both sides\n"
		"  -R 0|1           may datagrams pass routers\n"
		"  -d send|recv|rr  direction of OMNI;  -T tcp|udp its protocol;  -c its connections\n"
		"  -k, -o, -O KEYS  values by name: lines KEY=value, with commas, in columns;\n"
		"                   without KEYS those of the test, \"all\" all\n",
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

static void set_direction(struct wish *w, const char *name)
{
	struct np_omni *o = &w->omni;

	if (!strcasecmp(name, "rr")) {
		o->direction = NP_SEND | NP_RECEIVE;
		o->title = "OMNI Send|Recv";
	} else if (!strcasecmp(name, "recv") || !strcasecmp(name, "receive") ||
		   !strcasecmp(name, "maerts") || !strcmp(name, "4")) {
		o->direction = NP_SEND;
		o->title = "OMNI Receive";
	} else if (!strcasecmp(name, "send") || !strcasecmp(name, "xmit") ||
		   !strcasecmp(name, "stream") || !strcmp(name, "2")) {
		o->direction = NP_RECEIVE;
		o->title = "OMNI Send";
	} else {
		fprintf(stderr, "netperf: -d: send, recv or rr expected, not '%s'\n", name);
		exit(1);
	}
}

/* Values by name; the list may be left out. */
static void set_keys(struct wish *w, enum np_style style, int argc, char **argv)
{
	const char *unknown;

	w->use_omni = 1;
	w->output.style = style;
	if (optind < argc && argv[optind][0] != '-')
		w->output.keys = argv[optind++];
	unknown = np_output_check(w->output.keys);
	if (unknown) {
		fprintf(stderr, "netperf: no output is named '%.*s'\n", (int)strcspn(unknown, ","),
			unknown);
		exit(1);
	}
}

static void test_options(struct wish *w, int argc, char **argv)
{
	struct np_client *c = &w->classic;
	struct np_omni *o = &w->omni;
	int opt, local = 0, remote = 0;

	optind = 0;
	while ((opt = getopt(argc, argv, "m:M:r:b:s:S:P:DR:d:T:ckoO")) != -1) {
		switch (opt) {
		case 'm':
			c->send_size = (uint32_t)number_in(optarg, 'm', 1, 1 << 30);
			break;
		case 'M':
			c->recv_size = (uint32_t)number_in(optarg, 'M', 1, 1 << 30);
			break;
		case 'r':
			pair(optarg, 'r', 1, 1 << 22, &o->req_size, &o->rsp_size);
			break;
		case 'b':
			o->burst = (unsigned)number_in(optarg, 'b', 0, 1 << 16);
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
		case 'R':
			o->route = (int)number_in(optarg, 'R', 0, 1);
			break;
		case 'd':
			set_direction(w, optarg);
			break;
		case 'T':
			o->type = !strcasecmp(optarg, "udp") ? SOCK_DGRAM : SOCK_STREAM;
			break;
		case 'c':
			o->connection = 1;
			break;
		case 'k':
			set_keys(w, NP_KEYVAL, argc, argv);
			break;
		case 'o':
			set_keys(w, NP_CSV, argc, argv);
			break;
		case 'O':
			set_keys(w, NP_COLUMNS, argc, argv);
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

static void print_result(const struct np_client *c, const struct np_output *o)
{
	const char *unit;
	double factor = np_unit(o->units, &unit);
	double mbps = c->elapsed > 0 ? c->received * 8 / c->elapsed / 1e6 * factor : 0;

	if (o->verbosity == 0) {
		printf("%7.2f\n", mbps);
		return;
	}
	if (o->headers)
		printf("Recv   Send    Send                          \n"
		       "Socket Socket  Message  Elapsed              \n"
		       "Size   Size    Size     Time     Throughput  \n"
		       "bytes  bytes   bytes    secs.    %s  \n\n",
		       o->units ? unit : "10^6bits/sec");
	printf("%6u %6u %6u    %-6.2f   %7.2f   \n", c->remote_rcvbuf, c->local_sndbuf,
	       c->send_size, c->elapsed, mbps);
	if (o->verbosity > 1)
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
	const struct wish *w = c->arg;

	if (w->output.headers && w->output.verbosity)
		print_top(c, w->test);
	fflush(stdout);
}

static const struct np_output *running_output;

static void on_omni_running(struct np_omni *c)
{
	np_output_title(c, running_output);
}

static int run_omni(struct wish *w)
{
	const struct np_client *c = &w->classic;
	struct np_omni *o = &w->omni;

	o->host = c->host;
	o->family = c->family;
	o->port = c->port;
	o->length = c->length;
	o->interim = c->interim;
	o->local.sndbuf = c->local_snd;
	o->local.rcvbuf = c->local_rcv;
	o->remote.sndbuf = c->remote_snd;
	o->remote.rcvbuf = c->remote_rcv;
	o->local.nodelay = c->local_nodelay;
	o->remote.nodelay = c->remote_nodelay;
	o->local.data_port = c->local_data_port;
	o->remote.data_port = c->remote_data_port;
	if (o->direction == NP_SEND) {
		o->remote.send_size = c->send_size;
		o->local.recv_size = c->recv_size;
	} else {
		o->local.send_size = c->send_size;
		o->remote.recv_size = c->recv_size;
	}
	running_output = &w->output;
	o->running = on_omni_running;
	if (np_omni_run(o) < 0) {
		fflush(stdout);
		fprintf(stderr, "netperf: %s\n", o->error);
		return 1;
	}
	np_output_results(o, &w->output);
	return 0;
}

static int run_classic(struct wish *w)
{
	struct np_client *c = &w->classic;

	w->test = c->test == NP_SENDFILE ? "TCP SENDFILE" : "TCP STREAM";
	c->arg = w;
	c->running = on_running;
	if (np_client_run(c) < 0) {
		fflush(stdout);
		fprintf(stderr, "netperf: %s\n", c->error);
		return 1;
	}
	print_result(c, &w->output);
	return 0;
}

static void choose_test(struct wish *w)
{
	w->classic.test = NP_STREAM;
	if (!strcasecmp(w->test, "TCP_SENDFILE")) {
		w->classic.test = NP_SENDFILE;
		return;
	}
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		const struct test *t = &tests[i];

		if (strcasecmp(w->test, t->name))
			continue;
		w->omni.type = t->type;
		w->omni.direction = t->direction;
		w->omni.connection = t->connection;
		w->omni.title = t->title;
		w->use_omni = i != 0;
		return;
	}
	fprintf(stderr, "netperf: -t: one of TCP_SENDFILE TCP_STREAM TCP_MAERTS TCP_RR TCP_CRR TCP_CC"
		" UDP_STREAM UDP_RR OMNI expected, not '%s'\n", w->test);
	exit(1);
}

/* netperf's own options; what follows "--" belongs to the test. */
static void own_options(struct wish *w, int argc, char **argv)
{
	struct np_client *c = &w->classic;
	int opt;

	while ((opt = getopt(argc, argv, "46H:p:t:l:P:v:f:cCD:F:h")) != -1) {
		switch (opt) {
		case '4':
			c->family = AF_INET;
			break;
		case '6':
			c->family = AF_INET6;
			break;
		case 'H':
			c->host = optarg;
			break;
		case 'p':
			c->port = (unsigned)number_in(optarg, 'p', 1, 65535);
			break;
		case 't':
			w->test = optarg;
			break;
		case 'l':
			c->length = number(optarg, 'l');
			break;
		case 'P':
			w->output.headers = (int)number_in(optarg, 'P', 0, 1);
			break;
		case 'v':
			w->output.verbosity = (int)number_in(optarg, 'v', 0, 9);
			break;
		case 'f':
			if (!strchr("GMKgmkx", *optarg) || !*optarg) {
				fprintf(stderr, "netperf: -f: one of G M K g m k x expected, not '%s'\n",
					optarg);
				exit(1);
			}
			w->output.units = optarg;
			break;
		case 'c':
			w->omni.local.measure_cpu = 1;
			break;
		case 'C':
			w->omni.remote.measure_cpu = 1;
			break;
		case 'D':
			c->interim = strtod(optarg, NULL);
			break;
		case 'F':
			c->file = optarg;
			break;
		case 'h':
			usage(0);
			break;
		default:
			usage(1);
		}
	}
	if (optind < argc)
		usage(1);
}

/* The command line as one line of text. */
static const char *join(int argc, char **argv)
{
	static char line[1024];

	for (int i = 0; i < argc; i++) {
		size_t n = strlen(line);

		snprintf(line + n, sizeof(line) - n, "%s%s", i ? " " : "", argv[i]);
	}
	return line;
}

int main(int argc, char **argv)
{
	static struct wish w;
	int own;

	np_client_init(&w.classic);
	np_omni_init(&w.omni);
	w.test = "TCP_STREAM";
	w.output.headers = w.output.verbosity = 1;
	w.output.command = join(argc, argv);
	for (own = 1; own < argc && strcmp(argv[own], "--"); own++)
		;
	argv[own] = NULL;
	own_options(&w, own, argv);
	choose_test(&w);
	if (own < argc) {
		argv[own] = argv[0];
		test_options(&w, argc - own, argv + own);
	}
	if (w.classic.test == NP_SENDFILE && w.use_omni) {
		fprintf(stderr, "netperf: TCP_SENDFILE has no output by name\n");
		return 1;
	}
	if (w.classic.length == 0) {
		fprintf(stderr, "netperf: -l: seconds, or negative for bytes\n");
		return 1;
	}
	return w.use_omni ? run_omni(&w) : run_classic(&w);
}
