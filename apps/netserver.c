/* SPDX-License-Identifier: MIT */
/*
 * netserver: the serving side of netperf.  Returns when it listens and serves
 * in the background; -D stays in front.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "apps/lib/np_proto.h"
#include "apps/lib/np_server.h"
#include "apps/lib/options.h"

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
	struct service s = { .program = "netserver", .family = AF_UNSPEC, .port = NP_PORT };
	struct np_listen l;
	int opt;

	while ((opt = getopt(argc, argv, SERVICE_OPTIONS "h")) != -1) {
		if (!service_option(&s, opt, optarg))
			usage(opt != 'h');
	}
	if (optind < argc)
		usage(1);
	if (np_server_listen(&l, s.family, s.host, s.port) < 0) {
		fprintf(stderr, "netserver: cannot listen on port %u: %s\n", s.port,
			strerror(errno));
		return 1;
	}
	printf("Starting netserver with host '%s' port '%u' and family %s\n",
	       s.host ? s.host : "IN(6)ADDR_ANY", s.port,
	       s.family == AF_UNSPEC ? "AF_UNSPEC" : s.family == AF_INET ? "AF_INET" : "AF_INET6");
	fflush(stdout);
	if (!s.front && service_detach() < 0) {
		fprintf(stderr, "netserver: fork: %s\n", strerror(errno));
		return 1;
	}
	np_server_loop(&l);
}
