/* SPDX-License-Identifier: MIT */
/*
 * libtally_packetdrill.so: Tally's TCP/IP stack behind packetdrill's interface for
 * stacks in shared libraries, in virtual time.
 *
 *   packetdrill --so_filename=…/libtally_packetdrill.so \
 *       --so_flags='local_ip=192.168.0.1 mtu=1500 cc=reno iw=10' --local_ip=192.168.0.1 script.pkt
 *
 * The calls are Tally's system calls (their numbers, structures and error codes
 * are Linux's, like the caller's).  A script's descriptors that stay open are
 * closed by packetdrill with the C library's close(), so each descriptor that is
 * handed out is a real one of this process (an eventfd), mapped to the stack's.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fs/sys.h"
#include "kernel/errno.h"
#include "net/sys_socket.h"
#include "tests/packetdrill/interface.h"
#include "tests/packetdrill/machine.h"
#include "tests/packetdrill/stack.h"

#define FD_MAX     4096
#define SKIP_MAX   (300 * NSEC_PER_SEC) /* silence in which no packet will come any more */

int eventfd(unsigned value, int flags);
int close(int fd);

/* ---- descriptors: ours (as handed out) to the stack's; 0: free, else number + 1 ---- */

static _Atomic int stack_fds[FD_MAX];

static int stack_fd(int fd)
{
	int v = fd >= 0 && fd < FD_MAX ? atomic_load(&stack_fds[fd]) : 0;

	return v ? v - 1 : -1; /* -1: the stack will say EBADF */
}

/* A descriptor of this process for the stack's @ret, or its error. */
static long hand_out(long ret)
{
	int fd;

	if (ret < 0)
		return ret;
	fd = eventfd(0, 0);
	if (fd < 0 || fd >= FD_MAX)
		machine_die("no descriptor left in this process");
	atomic_store(&stack_fds[fd], (int)ret + 1);
	return fd;
}

/* ---- calls ---- */

typedef long (*sys_fn)(long, long, long, long, long, long);
struct sys {
	sys_fn fn;
	long a[6];
};
static long run(void *arg)
{
	struct sys *s = arg;

	return s->fn(s->a[0], s->a[1], s->a[2], s->a[3], s->a[4], s->a[5]);
}
/* System calls take their arguments in registers, whatever their types. */
#define SYS(call, ...)                                                                             \
	({                                                                                         \
		struct sys _s = { (sys_fn)(void (*)(void))(call), { __VA_ARGS__ } };               \
		machine_call(run, &_s);                                                            \
	})
#define P(pointer) ((long)(uintptr_t)(pointer))

static long result(long ret)
{
	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}

static int pd_socket(void *u, int domain, int type, int protocol)
{
	return (int)result(hand_out(SYS(sys_socket, domain, type, protocol)));
}
static int pd_bind(void *u, int fd, const struct sockaddr *a, socklen n)
{
	return (int)result(SYS(sys_bind, stack_fd(fd), P(a), n));
}
static int pd_listen(void *u, int fd, int backlog)
{
	return (int)result(SYS(sys_listen, stack_fd(fd), backlog));
}
static int pd_accept(void *u, int fd, struct sockaddr *a, socklen *n)
{
	return (int)result(hand_out(SYS(sys_accept, stack_fd(fd), P(a), P(n))));
}
static int pd_connect(void *u, int fd, const struct sockaddr *a, socklen n)
{
	return (int)result(SYS(sys_connect, stack_fd(fd), P(a), n));
}
static ssize_t pd_read(void *u, int fd, void *buf, size_t n)
{
	return result(SYS(sys_read, stack_fd(fd), P(buf), (long)n));
}
static ssize_t pd_readv(void *u, int fd, const struct iovec *v, int nr)
{
	return result(SYS(sys_readv, stack_fd(fd), P(v), nr));
}
static ssize_t pd_recvfrom(void *u, int fd, void *buf, size_t n, int flags, struct sockaddr *a,
			   socklen *alen)
{
	return result(SYS(sys_recvfrom, stack_fd(fd), P(buf), (long)n, flags, P(a), P(alen)));
}
static ssize_t pd_recv(void *u, int fd, void *buf, size_t n, int flags)
{
	return pd_recvfrom(u, fd, buf, n, flags, NULL, NULL);
}
static ssize_t pd_recvmsg(void *u, int fd, struct msghdr *m, int flags)
{
	return result(SYS(sys_recvmsg, stack_fd(fd), P(m), flags));
}
static ssize_t pd_write(void *u, int fd, const void *buf, size_t n)
{
	return result(SYS(sys_write, stack_fd(fd), P(buf), (long)n));
}
static ssize_t pd_writev(void *u, int fd, const struct iovec *v, int nr)
{
	return result(SYS(sys_writev, stack_fd(fd), P(v), nr));
}
static ssize_t pd_sendto(void *u, int fd, const void *buf, size_t n, int flags, const struct sockaddr *a,
			 socklen alen)
{
	return result(SYS(sys_sendto, stack_fd(fd), P(buf), (long)n, flags, P(a), alen));
}
static ssize_t pd_send(void *u, int fd, const void *buf, size_t n, int flags)
{
	return pd_sendto(u, fd, buf, n, flags, NULL, 0);
}
static ssize_t pd_sendmsg(void *u, int fd, const struct msghdr *m, int flags)
{
	return result(SYS(sys_sendmsg, stack_fd(fd), P(m), flags));
}
static int pd_fcntl(void *u, int fd, int cmd, ...)
{
	va_list ap;
	long arg;

	va_start(ap, cmd);
	arg = va_arg(ap, long); /* rubbish when there was none: then the command ignores it */
	va_end(ap);
	return (int)result(SYS(sys_fcntl, stack_fd(fd), cmd, (int)arg));
}
static int pd_ioctl(void *u, int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return (int)result(SYS(sys_ioctl, stack_fd(fd), (long)request, P(arg)));
}
static int pd_close(void *u, int fd)
{
	long ret = SYS(sys_close, stack_fd(fd));

	if (stack_fd(fd) >= 0) {
		atomic_store(&stack_fds[fd], 0);
		close(fd);
	}
	return (int)result(ret);
}
static int pd_shutdown(void *u, int fd, int how)
{
	return (int)result(SYS(sys_shutdown, stack_fd(fd), how));
}
static int pd_getsockopt(void *u, int fd, int level, int name, void *val, socklen *n)
{
	return (int)result(SYS(sys_getsockopt, stack_fd(fd), level, name, P(val), P(n)));
}
static int pd_setsockopt(void *u, int fd, int level, int name, const void *val, socklen n)
{
	return (int)result(SYS(sys_setsockopt, stack_fd(fd), level, name, P(val), n));
}
static int pd_poll(void *u, struct pd_pollfd *fds, unsigned long n, int timeout)
{
	struct pd_pollfd *copy = calloc(n ? n : 1, sizeof(*copy));
	long ret = -ENOMEM;

	if (copy) {
		for (unsigned long i = 0; i < n; i++)
			copy[i] = (struct pd_pollfd){ stack_fd(fds[i].fd), fds[i].events, 0 };
		ret = SYS(sys_poll, P(copy), (long)n, timeout);
		for (unsigned long i = 0; i < n; i++)
			fds[i].revents = copy[i].revents;
		free(copy);
	}
	return (int)result(ret);
}
static int pd_epoll_create(void *u, int size)
{
	return (int)result(hand_out(SYS(sys_epoll_create, size)));
}
static int pd_epoll_ctl(void *u, int epfd, int op, int fd, struct epoll_event *ev)
{
	return (int)result(SYS(sys_epoll_ctl, stack_fd(epfd), op, stack_fd(fd), P(ev)));
}
static int pd_epoll_wait(void *u, int epfd, struct epoll_event *ev, int max, int timeout)
{
	return (int)result(SYS(sys_epoll_wait, stack_fd(epfd), P(ev), max, timeout));
}
static int pd_pipe(void *u, int fds[2])
{
	int in[2];
	long ret = SYS(sys_pipe, P(in));

	if (!ret) {
		fds[0] = (int)hand_out(in[0]);
		fds[1] = (int)hand_out(in[1]);
	}
	return (int)result(ret);
}
/* packetdrill points at the numbers of the script, in which NULL is 0. */
static int pd_splice(void *u, int in, int64_t *in_off, int out, int64_t *out_off, size_t n, unsigned flags)
{
	if (in_off && !*in_off)
		in_off = NULL;
	if (out_off && !*out_off)
		out_off = NULL;
	return (int)result(SYS(sys_splice, stack_fd(in), P(in_off), stack_fd(out), P(out_off), (long)n, flags));
}

/* ---- wire and time ---- */

struct arrival {
	const void *buf;
	size_t n;
};
static long arrive(void *arg)
{
	struct arrival *a = arg;

	return stack_receive(a->buf, a->n);
}
static int pd_netdev_send(void *u, const void *buf, size_t n)
{
	struct arrival a = { buf, n };

	return (int)result(machine_call(arrive, &a));
}
static int pd_netdev_receive(void *u, void *buf, size_t *n, long long *usecs)
{
	uint64_t t;

	if (!stack_has_sent() && !machine_advance(SKIP_MAX, stack_has_sent)) {
		*n = 0; /* ends the script with an error; -1 would be asked again for ever */
		return 0;
	}
	t = stack_fetch(buf, n);
	*usecs = (long long)(t / NSEC_PER_USEC);
	return 0;
}
static int pd_usleep(void *u, unsigned usec)
{
	machine_advance(usec * NSEC_PER_USEC, NULL);
	return 0;
}
static int pd_gettimeofday(void *u, struct pd_timeval *tv, void *tz)
{
	uint64_t us = machine_clock() / NSEC_PER_USEC;

	tv->sec = (long)(us / 1000000);
	tv->usec = (long)(us % 1000000);
	return 0;
}

static void pd_free(void *u)
{
	/* The next script's flags decide; stack_start() closes what is open. */
}

__attribute__((visibility("default")))
void packetdrill_interface_init(const char *flags, struct packetdrill_interface *ifc)
{
	/* packetdrill has locked all pages, future ones too; without root there is no room for ours. */
	munlockall();
	/* What the last script left open was closed by its owner. */
	for (int i = 0; i < FD_MAX; i++)
		atomic_store(&stack_fds[i], 0);
	stack_start(flags);
	*ifc = (struct packetdrill_interface){
		.free = pd_free, .socket = pd_socket, .bind = pd_bind, .listen = pd_listen,
		.accept = pd_accept, .connect = pd_connect, .read = pd_read, .readv = pd_readv,
		.recv = pd_recv, .recvfrom = pd_recvfrom, .recvmsg = pd_recvmsg, .write = pd_write,
		.writev = pd_writev, .send = pd_send, .sendto = pd_sendto, .sendmsg = pd_sendmsg,
		.fcntl = pd_fcntl, .ioctl = pd_ioctl, .close = pd_close, .shutdown = pd_shutdown,
		.getsockopt = pd_getsockopt, .setsockopt = pd_setsockopt, .poll = pd_poll,
		.netdev_send = pd_netdev_send, .netdev_receive = pd_netdev_receive,
		.usleep = pd_usleep, .gettimeofday = pd_gettimeofday, .epoll_create = pd_epoll_create,
		.epoll_ctl = pd_epoll_ctl, .epoll_wait = pd_epoll_wait, .pipe = pd_pipe,
		.splice = pd_splice,
	};
}
