/* SPDX-License-Identifier: MIT */
/*
 * Sequences of system calls on files, pipes, sockets and epoll sets with any
 * arguments: descriptors from a small pool, pointers into one buffer or nowhere.
 * Afterwards everything is closed, and no page may be charged and no object left.
 *
 * Nothing may block for ever: descriptors are made non-blocking, and waits get a
 * time-out, which is virtual.
 *
 * SOURCES: @net @calls @fs tests/host/uaccess.c @rtnl fs/splice.c tests/fuzz/leak.c tests/fuzz/tree.c
 */
#include "tests/host/net_stub.h"
#include "fs/internal.h"
#include "fs/sys.h"
#include "net/netlink/netlink.h"
#include "net/sys_socket.h"
#include "tests/fuzz/fuzz.h"
#include "tests/host/fs_host.h"

#define CALLS_MAX 300
#define FDS       24
#define ROOM      65536

static int fds[FDS];
static unsigned nr_fds;
static uint8_t *room; /* the programs' memory */

void fuzz_setup(void)
{
	fs_host_up();
	current->process = fs_host_process();
	t_init();
	netlink_init();
	room = calloc(1, ROOM);
	MUST(room);
}

static long remember(long fd)
{
	if (fd >= 0) {
		sys_fcntl((int)fd, 4 /* F_SETFL */, O_NONBLOCK);
		if (nr_fds < FDS)
			fds[nr_fds++] = (int)fd;
		else
			sys_close((int)fd);
	}
	return fd;
}
static int a_fd(struct fuzz_in *in)
{
	unsigned i = fz_u8(in);

	return nr_fds && i < 250 ? fds[i % nr_fds] : (int)i - 253;
}
/* A pointer: mostly into the memory, sometimes to nowhere. */
static void *a_ptr(struct fuzz_in *in, size_t need)
{
	uint16_t v = fz_u16(in);

	if (v % 64 == 63)
		return v & 64 ? NULL : (void *)(uintptr_t)(v & 128 ? 0xffff800000000000ull : 16);
	return room + (need >= ROOM ? 0 : v % (ROOM - need));
}
static unsigned a_size(struct fuzz_in *in)
{
	unsigned v = fz_u16(in);

	return v % 16 == 15 ? v : v % 600;
}
/* The loopback address, in one of the families, or what lies in memory. */
static void *an_address(struct fuzz_in *in, int *len)
{
	union sockaddr_any a;
	uint8_t how = fz_u8(in);
	void *at = a_ptr(in, sizeof(a));

	if (how % 4 == 3) {
		*len = fz_u8(in);
		return at;
	}
	*len = (int)t_addr(&a, how & 4 ? AF_INET6 : AF_INET, (uint16_t)(8000 + how / 8 % 4));
	if (copy_to_user(at, &a, (size_t)*len))
		*len = 28;
	return at;
}
static void *a_message(struct fuzz_in *in)
{
	/* struct msghdr */
	struct { void *name; uint32_t name_len, pad; void *iov; uint64_t nr; void *ctl; uint64_t ctl_len; uint64_t flags; } m;
	struct { void *base; uint64_t len; } iov[3];
	void *at = a_ptr(in, sizeof(m));
	int len = 0;

	m.name = fz_u8(in) & 1 ? an_address(in, &len) : NULL;
	m.name_len = (uint32_t)len;
	m.iov = a_ptr(in, sizeof(iov));
	m.nr = fz_u8(in) % 5;
	m.ctl = a_ptr(in, 256);
	m.ctl_len = fz_u8(in);
	for (unsigned i = 0; i < ARRAY_SIZE(iov); i++) {
		iov[i].base = a_ptr(in, 700);
		iov[i].len = a_size(in);
	}
	(void)copy_to_user(m.iov, iov, sizeof(iov));
	(void)copy_to_user(at, &m, sizeof(m));
	return at;
}

/* Of a socket option: mostly one that exists. */
static int a_level(struct fuzz_in *in)
{
	static const uint8_t levels[] = { SOL_SOCKET, IPPROTO_TCP, 0, 41, IPPROTO_UDP, 255 }; /* 0, 41: IP, IPv6 */
	uint8_t v = fz_u8(in);

	return v < 240 ? levels[v % sizeof(levels)] : v;
}

static const char *const names[] = { "/a", "/b", "/a/c", "b", "/a/../b", "/", "", "/s", "/b/d" };
static const char *a_name(struct fuzz_in *in)
{
	uint8_t i = fz_u8(in);
	char *at = (char *)room + ROOM / 2 - 16 * (1 + i % 2); /* two may be wanted at once */

	if (i >= 240)
		return a_ptr(in, 16);
	strcpy(at, names[i % ARRAY_SIZE(names)]);
	return at;
}

static void forget_fd(int fd)
{
	for (unsigned i = 0; i < nr_fds; i++) {
		if (fds[i] == fd) {
			fds[i] = fds[--nr_fds];
			return;
		}
	}
}

static void socket_call(struct fuzz_in *in)
{
	static const uint8_t families[] = { AF_INET, AF_INET6, AF_UNIX, AF_NETLINK, AF_PACKET };
	int fd = a_fd(in), len, pair[2];
	void *addr;

	switch (fz_u8(in) % 17) {
	case 0:
	case 1:
		remember(sys_socket(families[fz_u8(in) % sizeof(families)], (fz_u8(in) % 6) | SOCK_NONBLOCK,
				    fz_u8(in) % 64));
		break;
	case 2:
		if (!sys_socketpair(AF_UNIX, (1 + fz_u8(in) % 5) | SOCK_NONBLOCK, 0, (int *)(void *)room)) {
			memcpy(pair, room, sizeof(pair));
			remember(pair[0]);
			remember(pair[1]);
		}
		break;
	case 3:
		addr = an_address(in, &len);
		sys_bind(fd, addr, len);
		break;
	case 4:
		addr = an_address(in, &len);
		sys_connect(fd, addr, len);
		break;
	case 5:
		sys_listen(fd, (int8_t)fz_u8(in));
		break;
	case 6:
		remember(sys_accept4(fd, a_ptr(in, 128), a_ptr(in, 4), SOCK_NONBLOCK));
		break;
	case 7:
		addr = an_address(in, &len);
		sys_sendto(fd, a_ptr(in, 700), a_size(in), fz_u16(in) | MSG_DONTWAIT | MSG_NOSIGNAL,
			   fz_u8(in) & 1 ? addr : NULL, len);
		break;
	case 8:
		sys_recvfrom(fd, a_ptr(in, 700), a_size(in), fz_u16(in) | MSG_DONTWAIT, a_ptr(in, 128),
			     a_ptr(in, 4));
		break;
	case 9:
		sys_sendmsg(fd, a_message(in), fz_u16(in) | MSG_DONTWAIT | MSG_NOSIGNAL);
		break;
	case 10:
		sys_recvmsg(fd, a_message(in), fz_u16(in) | MSG_DONTWAIT);
		break;
	case 11:
		sys_shutdown(fd, (int8_t)fz_u8(in) % 4);
		break;
	case 12: {
		int level = a_level(in), name = fz_u8(in);

		if (level == SOL_SOCKET && name == SO_LINGER)
			break; /* a close that waits */
		sys_setsockopt(fd, level, name, a_ptr(in, 64), (int8_t)fz_u8(in));
		break;
	}
	case 13:
		sys_getsockopt(fd, a_level(in), fz_u8(in), a_ptr(in, 64), a_ptr(in, 4));
		break;
	case 14:
		(fz_u8(in) & 1 ? sys_getsockname : sys_getpeername)(fd, a_ptr(in, 128), a_ptr(in, 4));
		break;
	case 15:
	case 16: { /* an array of what a_message() makes, its second and third whatever is there */
		uint8_t how = fz_u8(in);
		void *m = a_message(in);

		if (how & 4)
			sys_sendmmsg(fd, m, how % 4, fz_u16(in) | MSG_DONTWAIT | MSG_NOSIGNAL);
		else
			sys_recvmmsg(fd, m, how % 4, fz_u16(in) | MSG_DONTWAIT, how & 8 ? a_ptr(in, 16) : NULL);
		break;
	}
	}
}

static void file_call(struct fuzz_in *in)
{
	int fd = a_fd(in), other = a_fd(in), pair[2];

	switch (fz_u8(in) % 18) {
	case 0:
		remember(sys_open(a_name(in), (fz_u16(in) & 07777) | O_NONBLOCK, 0644));
		break;
	case 1:
		sys_read(fd, a_ptr(in, 700), a_size(in));
		break;
	case 2:
		sys_write(fd, a_ptr(in, 700), a_size(in));
		break;
	case 3:
		sys_pread64(fd, a_ptr(in, 700), a_size(in), (int32_t)fz_u32(in));
		break;
	case 4:
		sys_pwrite64(fd, a_ptr(in, 700), a_size(in), (int64_t)fz_u32(in) % (1 << 20));
		break;
	case 5:
		sys_lseek(fd, (int32_t)fz_u32(in), fz_u8(in) % 7);
		break;
	case 6:
		forget_fd(fd);
		sys_close(fd);
		break;
	case 7:
		remember(sys_dup(fd));
		break;
	case 8:
		if (!sys_pipe2((int *)(void *)room, O_NONBLOCK)) {
			memcpy(pair, room, sizeof(pair));
			remember(pair[0]);
			remember(pair[1]);
		}
		break;
	case 9:
		remember(sys_epoll_create1(0));
		break;
	case 10:
		sys_epoll_ctl(fd, fz_u8(in) % 5, other, a_ptr(in, 12));
		break;
	case 11:
		sys_epoll_wait(fd, a_ptr(in, 600), (int8_t)fz_u8(in), fz_u8(in));
		break;
	case 12:
		sys_poll(a_ptr(in, 64), fz_u8(in) % 8, fz_u8(in));
		break;
	case 13:
		sys_sendfile(fd, other, fz_u8(in) & 1 ? a_ptr(in, 8) : NULL, a_size(in));
		break;
	case 14:
		sys_ftruncate(fd, (int64_t)fz_u32(in) % (1 << 22));
		break;
	case 15: {
		unsigned cmd = fz_u8(in);

		/* F_SETFL keeps O_NONBLOCK; F_SETLKW may wait for ever. */
		if (cmd != 7 && cmd != 38)
			remember(cmd == 0 ? sys_fcntl(fd, cmd, 0) :
					    (sys_fcntl(fd, cmd, fz_u16(in) | (cmd == 4 ? O_NONBLOCK : 0)), -1));
		break;
	}
	case 16: {
		unsigned cmd = fz_u16(in);

		/* Not FIONBIO, and the interfaces stay as they are (netlink_fuzz.c changes them). */
		if (cmd != 0x5421 && (cmd < 0x8900 || cmd > 0x89ff || (cmd & 1) ||
				      cmd == 0x8912 || cmd == 0x8910))
			sys_ioctl(fd, cmd, (unsigned long)(uintptr_t)a_ptr(in, 64));
		break;
	}
	case 17:
		sys_unlink(a_name(in));
		break;
	}
}

/* Three pieces of memory. */
static void *a_vector(struct fuzz_in *in)
{
	struct { void *base; uint64_t len; } v[3];
	void *at = a_ptr(in, sizeof(v));

	for (unsigned i = 0; i < ARRAY_SIZE(v); i++) {
		v[i].base = a_ptr(in, 700);
		v[i].len = a_size(in);
	}
	(void)copy_to_user(at, v, sizeof(v));
	return at;
}

#define SPLICE_NONBLOCK 2

/* Calls that move bytes between descriptors, and descriptors of other kinds. */
static void move_call(struct fuzz_in *in)
{
	int fd = a_fd(in), other = a_fd(in), at;
	uint8_t how = fz_u8(in);
	void *off = how & 1 ? a_ptr(in, 8) : NULL, *off2 = how & 2 ? a_ptr(in, 8) : NULL;

	switch (fz_u8(in) % 18) {
	case 0:
	case 1:
		sys_splice(fd, off, other, off2, a_size(in), how >> 2 | SPLICE_NONBLOCK);
		break;
	case 2:
		sys_tee(fd, other, a_size(in), how >> 2 | SPLICE_NONBLOCK);
		break;
	case 3:
		sys_vmsplice(fd, a_vector(in), how >> 6, how % 16 | SPLICE_NONBLOCK);
		break;
	case 4:
		sys_copy_file_range(fd, off, other, off2, a_size(in), how >> 7);
		break;
	case 5:
		sys_readv(fd, a_vector(in), how >> 6);
		break;
	case 6:
		sys_writev(fd, a_vector(in), how >> 6);
		break;
	case 7:
		sys_preadv2(fd, a_vector(in), how >> 6, fz_u16(in), 0, how % 64);
		break;
	case 8:
		sys_pwritev2(fd, a_vector(in), how >> 6, fz_u16(in), 0, how % 64);
		break;
	case 9:
		forget_fd(other);
		at = (int)sys_dup3(fd, other, how & 1 ? 02000000 : 0);
		remember(at);
		break;
	case 10:
		remember(sys_eventfd2(how, O_NONBLOCK | how >> 7));
		break;
	case 11:
		remember(sys_timerfd_create(how % 8, O_NONBLOCK));
		break;
	case 12:
		sys_timerfd_settime(fd, how >> 6, a_ptr(in, 32), a_ptr(in, 32));
		break;
	case 13:
		sys_timerfd_gettime(fd, a_ptr(in, 32));
		break;
	case 14:
		remember(sys_inotify_init1(O_NONBLOCK));
		break;
	case 15:
		sys_inotify_add_watch(fd, a_name(in), fz_u16(in));
		break;
	case 16:
		sys_inotify_rm_watch(fd, (int8_t)how);
		break;
	case 17:
		remember(sys_memfd_create(a_name(in), how % 4));
		break;
	}
}

/* Calls with names. */
static void name_call(struct fuzz_in *in)
{
	int fd = a_fd(in);
	uint8_t how = fz_u8(in);
	const char *name = a_name(in);

	switch (fz_u8(in) % 18) {
	case 0:
		sys_mkdirat(fd, name, 0755);
		break;
	case 1:
		sys_renameat2(how & 8 ? fd : -100, name, -100, a_name(in), how % 8);
		break;
	case 2:
		sys_linkat(-100, name, fd, a_name(in), fz_u16(in));
		break;
	case 3:
		sys_symlinkat(name, how & 1 ? fd : -100, a_name(in));
		break;
	case 4:
		sys_readlink(name, a_ptr(in, 128), how);
		break;
	case 5:
		sys_mknod(name, (unsigned)how << 12 | 0644, fz_u16(in));
		break;
	case 6:
		sys_unlinkat(how & 1 ? fd : -100, name, how & 2 ? AT_REMOVEDIR : 0);
		break;
	case 7:
		sys_truncate(name, (int64_t)fz_u32(in) % (1 << 22));
		break;
	case 8:
		sys_statx(fd, name, fz_u16(in), how, a_ptr(in, 256));
		break;
	case 9:
		sys_newfstatat(fd, name, a_ptr(in, 144), fz_u16(in));
		break;
	case 10:
		sys_utimensat(how & 1 ? fd : -100, name, how & 2 ? a_ptr(in, 32) : NULL, fz_u16(in));
		break;
	case 11:
		remember(sys_openat2(fd, name, a_ptr(in, 24), how));
		break;
	case 12:
		sys_getdents64(fd, a_ptr(in, 700), a_size(in));
		break;
	case 13:
		(how & 1 ? sys_chdir(name) : sys_fchdir(fd));
		break;
	case 14:
		sys_getcwd(a_ptr(in, 64), how);
		break;
	case 15:
		sys_fallocate(fd, how, (int32_t)fz_u32(in), (int32_t)fz_u32(in) % (1 << 22));
		break;
	case 16:
		sys_flock(fd, how | 4 /* LOCK_NB */);
		break;
	case 17:
		sys_statfs(name, a_ptr(in, 120));
		break;
	}
}

static void one_input(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };

	memset(room, 0, ROOM);
	memcpy(room + ROOM / 2, data, min(size, (size_t)ROOM / 2));
	host_user_range(room, ROOM);
	for (unsigned i = 0; i < CALLS_MAX && in.n; i++) {
		uint8_t kind = fz_u8(&in);

		if (kind < 110)
			socket_call(&in);
		else if (kind < 190)
			file_call(&in);
		else if (kind < 220)
			move_call(&in);
		else if (kind < 245)
			name_call(&in);
		else
			fz_sleep(fz_u8(&in) * 10u);
	}
	host_user_range(NULL, SIZE_MAX);
	while (nr_fds)
		sys_close(fds[--nr_fds]);
	sys_close_range(0, 4095, 0);
	sys_chdir("/");
	fuzz_remove_tree("/");
	for (unsigned i = 0; i < 200 && (atomic_load(&stub_pages) || atomic_load(&stub_bytes)); i++)
		fz_sleep(10000);
	MUST(atomic_load(&stub_pages) == 0);
}

void fuzz_one(const uint8_t *data, size_t size)
{
	static bool noted;

	if (!noted) { /* after one that did nothing, so that what is made once is there */
		one_input((const uint8_t *)"", 0);
		fuzz_objects_note();
		noted = true;
	}
	one_input(data, size);
	fuzz_objects_must_be_back(NULL);
}
