/* SPDX-License-Identifier: MIT */
/* Implements apps/lib/stress.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "apps/lib/stress.h"

void stress_check(struct stress_shared *s, const char *who, unsigned file, uint64_t at,
		  const unsigned char *b, size_t n, bool holes)
{
	for (size_t i = 0; i < n; i++) {
		/* Once: in a mapping it may become a hole at any moment. */
		unsigned char is = *(volatile const unsigned char *)&b[i];

		if (is == stress_byte(file, at + i) || (holes && !is))
			continue;
		if (!__atomic_fetch_add(&s->wrong, 1, __ATOMIC_RELAXED)) {
			printf("filestress: %s: file %u byte %llu is %u, not %u (%lu of %lu at %llu)\n",
			       who, file, (unsigned long long)(at + i), is,
			       stress_byte(file, at + i), (unsigned long)i, (unsigned long)n,
			       (unsigned long long)at);
			fflush(stdout);
		}
		break;
	}
	__atomic_fetch_add(&s->bytes, n, __ATOMIC_RELAXED);
}

int stress_connection(int *out, int *in)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0), err;

	memset(&a, 0, sizeof(a));
	a.sin_family = AF_INET;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (l < 0 || bind(l, (struct sockaddr *)&a, sizeof(a)) || listen(l, 1) ||
	    getsockname(l, (struct sockaddr *)&a, &len))
		return -1;
	*out = socket(AF_INET, SOCK_STREAM, 0);
	err = *out < 0 || connect(*out, (struct sockaddr *)&a, sizeof(a));
	*in = err ? -1 : accept(l, NULL, NULL);
	close(l);
	return *in < 0 ? -1 : 0;
}

void stress_drop_caches(void)
{
	int fd = open("/proc/sys/vm/drop_caches", O_WRONLY);

	if (fd < 0)
		return;
	(void)!write(fd, "3", 1);
	close(fd);
}
