/* SPDX-License-Identifier: MIT */
/* Sockets and poll: our headers have Linux's layouts, so these only pass on. */
#include <poll.h>
#include <sys/socket.h>
#include "libc/syscall.h"

int socket(int family, int type, int protocol)
{
	return (int)sysret(sys_call3(NR_socket, family, type, protocol));
}

int socketpair(int family, int type, int protocol, int fds[2])
{
	return (int)sysret(sys_call4(NR_socketpair, family, type, protocol, fds));
}

int bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	return (int)sysret(sys_call3(NR_bind, fd, addr, len));
}

int listen(int fd, int backlog)
{
	return (int)sysret(sys_call2(NR_listen, fd, backlog));
}

int accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return (int)sysret(sys_call3(NR_accept, fd, addr, len));
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	return (int)sysret(sys_call3(NR_connect, fd, addr, len));
}

int shutdown(int fd, int how)
{
	return (int)sysret(sys_call2(NR_shutdown, fd, how));
}

int getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	return (int)sysret(sys_call3(NR_getsockname, fd, addr, len));
}

int getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
	return (int)sysret(sys_call3(NR_getpeername, fd, addr, len));
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return (int)sysret(
		sys_call6(NR_getsockopt, fd, level, name, (long)value, (long)len, 0));
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	return (int)sysret(sys_call6(NR_setsockopt, fd, level, name, (long)value, len, 0));
}

ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
	       socklen_t alen)
{
	return sysret(
		sys_call6(NR_sendto, fd, (long)buf, (long)len, flags, (long)addr, alen));
}

ssize_t recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *addr,
		 socklen_t *alen)
{
	return sysret(
		sys_call6(NR_recvfrom, fd, (long)buf, (long)len, flags, (long)addr, (long)alen));
}

ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	return sendto(fd, buf, len, flags, 0, 0);
}

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	return recvfrom(fd, buf, len, flags, 0, 0);
}

int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	return (int)sysret(sys_call3(NR_poll, fds, n, timeout_ms));
}
