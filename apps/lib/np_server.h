/* SPDX-License-Identifier: MIT */
/* netserver's two halves: listening sockets, and one control connection. */
#ifndef APPS_LIB_NP_SERVER_H
#define APPS_LIB_NP_SERVER_H

struct np_listen {
	int fd[2]; /* IPv6, IPv4; -1 where there is none */
};

/**
 * np_server_listen - listening sockets of the control port
 * @family: AF_UNSPEC (both), AF_INET or AF_INET6
 * @host: numeric address to bind, NULL for the wildcard
 *
 * Return: 0 with at least one socket, or -1 with errno.
 */
int np_server_listen(struct np_listen *l, int family, const char *host, unsigned port);

/* Accepts for ever, one process per control connection. */
__attribute__((noreturn)) void np_server_loop(const struct np_listen *l);

/* Serves one control connection until its peer closes. */
void np_serve(int control);

#endif
