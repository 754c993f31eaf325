/* SPDX-License-Identifier: MIT */
/* What a program that is not root may not do.  Prints "perms ok" (on Linux as well, as root or not). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <unistd.h>

static int bad;

static void want(const char *what, long ret, int err)
{
	if (ret == -1 && errno == err)
		return;
	printf("perms: %s: %ld, errno %d, not %d\n", what, ret, errno, err);
	bad = 1;
}

int main(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(81) };
	struct ifreq r = { .ifr_name = "lo" };
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1,
			    .l_len = 0x7fffffffffffffff };
	cpu_set_t set;
	int s, f;

	f = open("/tmp", O_RDWR | O_TMPFILE, 0600);
	if (fcntl(f, F_SETLK, &fl)) /* the last byte there is */
		want("lock to the end", 0, 0);
	fl.l_start = 0x7fffffffffffffff;
	want("lock behind the end", fcntl(f, F_SETLK, &fl), EOVERFLOW);
	if (!geteuid() && (setgid(65534) || setuid(65534)))
		return 1;
	s = socket(AF_INET, SOCK_STREAM, 0);
	want("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), EPERM);
	want("port 81", bind(s, (struct sockaddr *)&a, sizeof(a)), EACCES);
	r.ifr_flags = IFF_UP;
	want("flags of lo", ioctl(s, SIOCSIFFLAGS, &r), EPERM);
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	want("init's CPUs", sched_setaffinity(1, sizeof(set), &set), EPERM);
	want("name", sethostname("x", 1), EPERM);
	want("mount", mount("none", "/tmp", "tmpfs", 0, ""), EPERM);
	want("chroot", chroot("/tmp"), EPERM);
	want("reboot", reboot(RB_AUTOBOOT), EPERM);
	if (!bad)
		puts("perms ok");
	return bad;
}
