/* SPDX-License-Identifier: MIT */
/*
 * metricsd: the machine's figures, per memory group and per CPU, over HTTP in
 * Prometheus's text format at /metrics.  Returns when it listens; -D stays in
 * front.  Runs on Linux with cgroup v2 as well.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "apps/lib/http.h"
#include "apps/lib/metrics.h"
#include "apps/lib/np_server.h"
#include "apps/lib/options.h"

#define PORT 9100 /* as Prometheus's own exporter of a machine's figures */

static const char *groups = "/sys/fs/cgroup";

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: metricsd [-4|-6] [-D] [-L ADDRESS] [-p PORT] [-g FOLDER]\n"
		"       metricsd -1\n"
		"  -4, -6      only this family\n"
		"  -D          stay in front\n"
		"  -L ADDRESS  listen only there (numeric)\n"
		"  -p PORT     %d without it\n"
		"  -g FOLDER   where groups are (%s)\n"
		"  -1          write the figures to standard output, once\n",
		PORT, groups);
	exit(status);
}

static int answer(const char *path, struct text *body, const char **type)
{
	if (!strcmp(path, "/metrics")) {
		*type = "text/plain; version=0.0.4; charset=utf-8";
		metrics_write(body, groups);
		return 200;
	}
	if (!strcmp(path, "/")) {
		*type = "text/html";
		text_add(body, "<a href=\"/metrics\">metrics</a>\n");
		return 200;
	}
	text_add(body, "404: try /metrics\n");
	return 404;
}

static int once(void)
{
	struct text t = { 0 };
	int ok;

	metrics_write(&t, groups);
	ok = !t.failed && fwrite(t.data, 1, t.len, stdout) == t.len && fflush(stdout) == 0;
	text_free(&t);
	return !ok;
}

int main(int argc, char **argv)
{
	struct service s = { .program = "metricsd", .family = AF_UNSPEC, .port = PORT };
	struct np_listen l;
	int opt;

	while ((opt = getopt(argc, argv, SERVICE_OPTIONS "1g:h")) != -1) {
		if (service_option(&s, opt, optarg))
			continue;
		switch (opt) {
		case '1':
			return once();
		case 'g':
			groups = optarg;
			break;
		default:
			usage(opt != 'h');
		}
	}
	if (optind < argc)
		usage(1);
	if (np_server_listen(&l, s.family, s.host, s.port) < 0) {
		fprintf(stderr, "metricsd: cannot listen on port %u: %s\n", s.port, strerror(errno));
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	if (!s.front && service_detach() < 0) {
		fprintf(stderr, "metricsd: fork: %s\n", strerror(errno));
		return 1;
	}
	http_serve(l.fd, 2, answer);
}
