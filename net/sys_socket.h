/* SPDX-License-Identifier: MIT */
/* System calls of sockets, with their natural arguments (net/sys_socket.c, net/sys_sockmsg.c). */
#ifndef NET_SYS_SOCKET_H
#define NET_SYS_SOCKET_H

#include "kernel/types.h"

long sys_socket(int family, int type, int protocol);
long sys_socketpair(int family, int type, int protocol, int __user *fds);
long sys_bind(int fd, const void __user *addr, int len);
long sys_connect(int fd, const void __user *addr, int len);
long sys_listen(int fd, int backlog);
long sys_accept(int fd, void __user *addr, int __user *ulen);
long sys_accept4(int fd, void __user *addr, int __user *ulen, int flags);
long sys_getsockname(int fd, void __user *addr, int __user *ulen);
long sys_getpeername(int fd, void __user *addr, int __user *ulen);
long sys_shutdown(int fd, int how);
long sys_sendto(int fd, const void __user *buf, size_t n, unsigned flags, const void __user *addr,
		int len);
long sys_recvfrom(int fd, void __user *buf, size_t n, unsigned flags, void __user *addr,
		  int __user *ulen);
long sys_sendmsg(int fd, void __user *msg, unsigned flags);
long sys_recvmsg(int fd, void __user *msg, unsigned flags);
long sys_sendmmsg(int fd, void __user *msgs, unsigned n, unsigned flags);
long sys_recvmmsg(int fd, void __user *msgs, unsigned n, unsigned flags,
		  const void __user *timeout);
long sys_setsockopt(int fd, int level, int name, const void __user *val, int len);
long sys_getsockopt(int fd, int level, int name, void __user *val, int __user *ulen);

/* Between the two files. */
struct sock;
struct file;
union sockaddr_any;
/* The socket of a descriptor, with the file referenced: ERR_PTR(-EBADF, -ENOTSOCK). */
struct sock *sock_of_fd(int fd, struct file **f);
bool sock_file_nonblock(struct file *f);
/* A program's address: 0, -EINVAL, -EFAULT. */
int sockaddr_import(union sockaddr_any *a, const void __user *addr, unsigned len);
/* Copies an address out as far as *@ulen reaches, and its true length: 0, -EFAULT, -EINVAL. */
int sockaddr_export(const union sockaddr_any *a, unsigned len, void __user *addr, int __user *ulen);

#endif /* NET_SYS_SOCKET_H */
