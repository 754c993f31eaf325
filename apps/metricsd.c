/* SPDX-License-Identifier: MIT */
/*
 * metricsd: the machine's figures, per memory group and per CPU, over HTTP in
 * Prometheus's text format at /metrics.  Returns when it listens; -D stays in
 * front.  Runs on Linux with cgroup v2 as well.
 */
#include <errno.h>
#include <fcntl.h>
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

static void to_background(void)
{
	int null;
	pid_t pid = fork();

	if (pid < 0) {
		fprintf(stderr, "metricsd: fork: %s\n", strerror(errno));
		exit(1);
	}
	if (pid > 0)
		_exit(0);
	setsid();
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
}

int main(int argc, char **argv)
{
	int family = AF_UNSPEC, front = 0, opt;
	const char *host = NULL;
	unsigned long port = PORT;
	struct np_listen l;
	char *end;

	while ((opt = getopt(argc, argv, "146DL:p:g:h")) != -1) {
		switch (opt) {
		case '1':
			return once();
		case '4':
			family = AF_INET;
			break;
		case '6':
			family = AF_INET6;
			break;
		case 'D':
			front = 1;
			break;
		case 'L':
			host = optarg;
			break;
		case 'p':
			port = strtoul(optarg, &end, 10);
			if (!*optarg || *end || port < 1 || port > 65535) {
				fprintf(stderr, "metricsd: -p: a port is expected, not '%s'\n", optarg);
				return 1;
			}
			break;
		case 'g':
			groups = optarg;
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
	if (np_server_listen(&l, family, host, (unsigned)port) < 0) {
		fprintf(stderr, "metricsd: cannot listen on port %lu: %s\n", port, strerror(errno));
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	if (!front)
		to_background();
	http_serve(l.fd, 2, answer);
}
