/* SPDX-License-Identifier: MIT */
/*
 * What several programs read from their command lines alike: numbers with
 * bounds, and the options of a service.
 */
#ifndef APPS_LIB_OPTIONS_H
#define APPS_LIB_OPTIONS_H

/**
 * option_number - the number that an option names, or the end of the program
 * @program: who complains
 * @option: the option as typed, "-n" or "--file"
 * @text: its value; K, M and G at its end stand for powers of 1024
 * @lo: the least that is allowed
 * @hi: the most
 *
 * Ends the program with status 2 and a line that says what was expected when
 * @text is anything else.
 */
double option_number(const char *program, const char *option, const char *text, double lo,
		     double hi);

/* The options of a program that listens: -4 -6 -D -L ADDRESS -p PORT. */
#define SERVICE_OPTIONS "46DL:p:"

struct service {
	const char *program;
	int family;	  /* AF_UNSPEC: both */
	int front;	  /* stay there */
	const char *host; /* numeric address to listen on, NULL: all */
	unsigned port;
};

/**
 * service_option - takes one option of SERVICE_OPTIONS
 * @opt: what getopt() returned
 * @arg: its optarg
 *
 * Return: 1, or 0 if the option is none of these.  Ends the program as
 * option_number() does.
 */
int service_option(struct service *s, int opt, const char *arg);

/**
 * service_detach - goes on in the background, in a session of its own
 *
 * Return: 0 in the child, whose standard files are /dev/null; the parent ends
 * with status 0.  -1 with errno if there is no child.
 */
int service_detach(void);

#endif
