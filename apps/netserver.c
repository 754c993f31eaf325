/* SPDX-License-Identifier: MIT */
/*
 * netserver: the serving side of netperf.  Returns when it listens and serves
 * in the background; -D stays in front.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "apps/lib/np_proto.h"
#include "apps/lib/np_server.h"

static void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: netserver [-4|-6] [-D] [-L ADDRESS] [-p PORT]\n"
		"  -4, -6      only this family\n"
		"  -D          stay in front\n"
		"  -L ADDRESS  listen only there (numeric)\n"
		"  -p PORT     control port (%d)\n",
		NP_PORT);
	exit(status);
}

int main(int argc, char **argv)
{
	const char *host = NULL;
	int family = AF_UNSPEC, front = 0, opt, null;
	unsigned long port = NP_PORT;
	struct np_listen l;
	char *end;

	while ((opt = getopt(argc, argv, "46DL:p:h")) != -1) {
		switch (opt) {
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
				fprintf(stderr, "netserver: -p: a port is expected, not '%s'\n",
					optarg);
				return 1;
			}
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
		fprintf(stderr, "netserver: cannot listen on port %lu: %s\n", port,
			strerror(errno));
		return 1;
	}
	printf("Starting netserver with host '%s' port '%lu' and family %s\n",
	       host ? host : "IN(6)ADDR_ANY", port,
	       family == AF_UNSPEC ? "AF_UNSPEC" : family == AF_INET ? "AF_INET" : "AF_INET6");
	fflush(stdout);
	if (front)
		np_server_loop(&l);

	switch (fork()) {
	case -1:
		fprintf(stderr, "netserver: fork: %s\n", strerror(errno));
		return 1;
	case 0:
		break;
	default:
		_exit(0);
	}
	setsid();
	null = open("/dev/null", O_RDWR);
	if (null >= 0) {
		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		if (null > 2)
			close(null);
	}
	np_server_loop(&l);
}
