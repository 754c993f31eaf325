/* SPDX-License-Identifier: MIT */
/*
 * packetdrill's interface for a stack in a shared object: one symbol, which fills
 * in a table of calls.  Structures and numbers are those of Linux x86-64, declared
 * here without the C library's headers, so that both sides can include it.
 */
#ifndef TESTS_PACKETDRILL_INTERFACE_H
#define TESTS_PACKETDRILL_INTERFACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef unsigned socklen;
struct sockaddr;
struct iovec;
struct msghdr;
struct epoll_event;
struct pd_pollfd {
	int fd;
	short events, revents;
};
struct pd_timeval {
	long sec, usec;
};

/* The members' order is the interface (gtests/net/packetdrill/packetdrill.h). */
struct packetdrill_interface {
	void *userdata;
	void (*free)(void *u);
	int (*socket)(void *u, int domain, int type, int protocol);
	int (*bind)(void *u, int fd, const struct sockaddr *a, socklen n);
	int (*listen)(void *u, int fd, int backlog);
	int (*accept)(void *u, int fd, struct sockaddr *a, socklen *n);
	int (*connect)(void *u, int fd, const struct sockaddr *a, socklen n);
	ssize_t (*read)(void *u, int fd, void *buf, size_t n);
	ssize_t (*readv)(void *u, int fd, const struct iovec *v, int nr);
	ssize_t (*recv)(void *u, int fd, void *buf, size_t n, int flags);
	ssize_t (*recvfrom)(void *u, int fd, void *buf, size_t n, int flags, struct sockaddr *a, socklen *alen);
	ssize_t (*recvmsg)(void *u, int fd, struct msghdr *m, int flags);
	ssize_t (*write)(void *u, int fd, const void *buf, size_t n);
	ssize_t (*writev)(void *u, int fd, const struct iovec *v, int nr);
	ssize_t (*send)(void *u, int fd, const void *buf, size_t n, int flags);
	ssize_t (*sendto)(void *u, int fd, const void *buf, size_t n, int flags, const struct sockaddr *a,
			  socklen alen);
	ssize_t (*sendmsg)(void *u, int fd, const struct msghdr *m, int flags);
	int (*fcntl)(void *u, int fd, int cmd, ...);
	int (*ioctl)(void *u, int fd, unsigned long request, ...);
	int (*close)(void *u, int fd);
	int (*shutdown)(void *u, int fd, int how);
	int (*getsockopt)(void *u, int fd, int level, int name, void *val, socklen *n);
	int (*setsockopt)(void *u, int fd, int level, int name, const void *val, socklen n);
	int (*poll)(void *u, struct pd_pollfd *fds, unsigned long n, int timeout);
	int (*netdev_send)(void *u, const void *buf, size_t n);
	int (*netdev_receive)(void *u, void *buf, size_t *n, long long *usecs);
	int (*usleep)(void *u, unsigned usec);
	int (*gettimeofday)(void *u, struct pd_timeval *tv, void *tz);
	int (*epoll_create)(void *u, int size);
	int (*epoll_ctl)(void *u, int epfd, int op, int fd, struct epoll_event *ev);
	int (*epoll_wait)(void *u, int epfd, struct epoll_event *ev, int max, int timeout);
	int (*pipe)(void *u, int fds[2]);
	int (*splice)(void *u, int in, int64_t *in_off, int out, int64_t *out_off, size_t n, unsigned flags);
};
_Static_assert(sizeof(struct packetdrill_interface) == 33 * sizeof(void *), "a pointer and 32 calls");

void packetdrill_interface_init(const char *flags, struct packetdrill_interface *ifc);

#endif /* TESTS_PACKETDRILL_INTERFACE_H */
