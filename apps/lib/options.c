/* SPDX-License-Identifier: MIT */
/* Numbers on command lines, and what programs that listen have in common. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "apps/lib/options.h"

static double suffix(const char *end)
{
	if (!*end)
		return 1;
	if (end[1])
		return 0;
	switch (*end) {
	case 'k': case 'K':
		return 1024;
	case 'm': case 'M':
		return 1024 * 1024;
	case 'g': case 'G':
		return 1024.0 * 1024 * 1024;
	}
	return 0;
}

double option_number(const char *program, const char *option, const char *text, double lo,
		     double hi)
{
	char *end;
	double v = strtod(text, &end), unit = suffix(end);

	/* Written so that a NaN is refused too. */
	if (end != text && unit && v * unit >= lo && v * unit <= hi)
		return v * unit;
	fprintf(stderr, "%s: %s: a number from %.15g to %.15g expected, not '%s'\n", program, option,
		lo, hi, text);
	exit(2);
}

int service_option(struct service *s, int opt, const char *arg)
{
	switch (opt) {
	case '4':
		s->family = AF_INET;
		return 1;
	case '6':
		s->family = AF_INET6;
		return 1;
	case 'D':
		s->front = 1;
		return 1;
	case 'L':
		s->host = arg;
		return 1;
	case 'p':
		s->port = (unsigned)option_number(s->program, "-p", arg, 1, 65535);
		return 1;
	}
	return 0;
}

int service_detach(void)
{
	pid_t pid = fork();
	int null;

	if (pid < 0)
		return -1;
	if (pid > 0)
		_exit(0);
	setsid();
	null = open("/dev/null", O_RDWR);
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
	return 0;
}
