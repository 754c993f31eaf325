/* SPDX-License-Identifier: MIT */
/* Sockets as both ends of a netperf test use them. */
#ifndef APPS_LIB_NP_SOCK_H
#define APPS_LIB_NP_SOCK_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define NP_LARGEST_DATAGRAM 65507 /* bytes of an IPv4 datagram of 64 KiB */

/* Port of an IPv4 or IPv6 address, host order. */
void np_set_port(struct sockaddr_storage *a, unsigned port);
unsigned np_port_of(const struct sockaddr_storage *a);
socklen_t np_addr_len(const struct sockaddr_storage *a);
int np_is_wildcard(const struct sockaddr_storage *a);

/* The number behind a socket-level option, 0 if it cannot be read. */
uint32_t np_option(int fd, int name);

/* Sets SO_SNDBUF and SO_RCVBUF if they are above 0, TCP_NODELAY if @nodelay. */
void np_set_options(int fd, int sndbuf, int rcvbuf, int nodelay);

/* Retransmitted segments and maximum segment of a TCP socket; 0 if unknown. */
void np_tcp_facts(int fd, uint32_t *retransmits, uint32_t *mss);

/**
 * np_exactly - send or receive @n bytes, as @call does with a part of them
 * @stop: looked at when a signal interrupts; true ends
 * Return: 1 all, 0 end of file or stopped, -1 with errno.
 */
int np_send_exactly(int fd, const char *buf, size_t n, const volatile int *stop);
int np_recv_exactly(int fd, char *buf, size_t n, const volatile int *stop);

/* Starts, and with 0 seconds ends, a timer whose signal repeats: none falls between two calls. */
void np_timer(double seconds, void (*handler)(int));

#endif
