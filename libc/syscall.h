/* SPDX-License-Identifier: MIT */
/*
 * Linux x86-64 system calls for the glue.  sys_*() return what the kernel
 * returned (negative Linux errno on error); sysret() turns that into -1 and
 * newlib's errno.
 */
#ifndef LIBC_SYSCALL_H
#define LIBC_SYSCALL_H

enum {
	NR_read = 0,
	NR_write = 1,
	NR_close = 3,
	NR_poll = 7,
	NR_lseek = 8,
	NR_mmap = 9,
	NR_mprotect = 10,
	NR_munmap = 11,
	NR_brk = 12,
	NR_rt_sigaction = 13,
	NR_rt_sigprocmask = 14,
	NR_ioctl = 16,
	NR_readv = 19,
	NR_writev = 20,
	NR_sched_yield = 24,
	NR_dup = 32,
	NR_dup2 = 33,
	NR_pause = 34,
	NR_nanosleep = 35,
	NR_setitimer = 38,
	NR_getpid = 39,
	NR_sendfile = 40,
	NR_socket = 41,
	NR_connect = 42,
	NR_accept = 43,
	NR_sendto = 44,
	NR_recvfrom = 45,
	NR_shutdown = 48,
	NR_bind = 49,
	NR_listen = 50,
	NR_getsockname = 51,
	NR_getpeername = 52,
	NR_socketpair = 53,
	NR_setsockopt = 54,
	NR_getsockopt = 55,
	NR_fork = 57,
	NR_execve = 59,
	NR_wait4 = 61,
	NR_kill = 62,
	NR_uname = 63,
	NR_fcntl = 72,
	NR_msync = 26,
	NR_fsync = 74, NR_ftruncate = 77,
	NR_getcwd = 79,
	NR_chdir = 80,
	NR_rename = 82,
	NR_mkdir = 83,
	NR_rmdir = 84,
	NR_unlink = 87,
	NR_readlink = 89,
	NR_umask = 95,
	NR_getuid = 102,
	NR_getppid = 110,
	NR_setsid = 112,
	NR_times = 100,
	NR_futex = 202,
	NR_sched_setaffinity = 203,
	NR_mount = 165, NR_umount2 = 166,
	NR_sched_getaffinity = 204,
	NR_getdents64 = 217,
	NR_clock_gettime = 228,
	NR_exit_group = 231,
	NR_openat = 257,
	NR_newfstatat = 262,
	NR_pipe2 = 293,
	NR_prlimit64 = 302,
	NR_getrandom = 318,
};

#define LINUX_AT_FDCWD (-100)

static inline long sys_call6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define sys_call0(nr)		  sys_call6((nr), 0, 0, 0, 0, 0, 0)
#define sys_call1(nr, a)	  sys_call6((nr), (long)(a), 0, 0, 0, 0, 0)
#define sys_call2(nr, a, b)	  sys_call6((nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define sys_call3(nr, a, b, c)	  sys_call6((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys_call4(nr, a, b, c, d) sys_call6((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

long sysret(long ret);

#endif /* LIBC_SYSCALL_H */
