/* SPDX-License-Identifier: MIT */
/* Implements truth.h. */
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/lib/kernel_files.h"
#include "apps/lib/np_proto.h"
#include "apps/lib/record.h"
#include "apps/lib/truth.h"

#define BUFFER	      65536
#define LIMIT_SECONDS 900 /* for all pairs together */

struct verdict {
	uint64_t bytes, bad;
};

/* The eight bytes at offset 8 * @i of stream @seed (splitmix64's mixer). */
static uint64_t word(uint64_t seed, uint64_t i)
{
	uint64_t z = (seed << 40) + (i + 1) * 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Fills @buf with the @len bytes at @offset; rounds outwards to words in @tmp. */
static void stream_bytes(uint64_t seed, uint64_t offset, uint8_t *buf, size_t len)
{
	static uint64_t tmp[BUFFER / 8 + 2];
	uint64_t first = offset / 8, n = (offset + len + 7) / 8 - first;

	for (uint64_t i = 0; i < n; i++)
		tmp[i] = word(seed, first + i);
	memcpy(buf, (uint8_t *)tmp + offset % 8, len);
}

static void sender(const struct sockaddr_in6 *to, uint64_t seed, uint64_t bytes)
{
	static uint8_t buf[BUFFER];
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	uint64_t at = 0;

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0) {
		perror("experiment: truth: connect");
		_exit(1);
	}
	while (at < bytes) {
		/* Sizes of every kind, each at its own offset. */
		size_t len = 1 + word(~seed, at) % BUFFER, done = 0;

		if (len > bytes - at)
			len = (size_t)(bytes - at);
		stream_bytes(seed, at, buf, len);
		while (done < len) {
			ssize_t n = send(fd, buf + done, len - done, MSG_NOSIGNAL);

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0) {
				perror("experiment: truth: send");
				_exit(1);
			}
			done += (size_t)n;
		}
		at += len;
	}
	shutdown(fd, SHUT_WR);
	while (recv(fd, buf, 1, 0) > 0)
		;
	_exit(0);
}

static void receiver(int listener, uint64_t seed, int reports)
{
	static uint8_t buf[BUFFER], want[BUFFER];
	struct verdict v = { 0 };
	int fd = accept(listener, NULL, NULL);

	while (fd >= 0) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			perror("experiment: truth: recv");
		if (n <= 0)
			break;
		stream_bytes(seed, v.bytes, want, (size_t)n);
		if (memcmp(buf, want, (size_t)n))
			for (ssize_t i = 0; i < n; i++)
				v.bad += buf[i] != want[i];
		v.bytes += (uint64_t)n;
	}
	_exit(write(reports, &v, sizeof(v)) != sizeof(v));
}

static int start_pair(unsigned i, uint64_t bytes, int reports, pid_t *pids)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	socklen_t len = sizeof(a);
	int listener = socket(AF_INET6, SOCK_STREAM, 0);

	if (listener < 0 || bind(listener, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(listener, 1) < 0 || getsockname(listener, (struct sockaddr *)&a, &len) < 0) {
		perror("experiment: truth: listen");
		return -1;
	}
	pids[0] = fork();
	if (pids[0] == 0)
		receiver(listener, i + 1, reports);
	close(listener);
	pids[1] = pids[0] < 0 ? -1 : fork();
	if (pids[1] == 0)
		sender(&a, i + 1, bytes);
	if (pids[1] < 0)
		perror("experiment: truth: fork");
	return pids[1] < 0 ? -1 : 0;
}

static const char *const counter_keys[] = { "lo_dropped", "lo_reordered", "lo_duplicated",
					    "tcp_retransmits" };
static const char *const field_names[] = { "drops", "reordered", "duplicated", "retransmits" };

int truth_run(unsigned pairs, uint64_t bytes)
{
	pid_t *pids = calloc(pairs, 2 * sizeof(*pids));
	double before[4], start = np_now(), seconds;
	struct verdict all = { 0 };
	struct record rec;
	int reports[2], ret = 0;
	unsigned ended = 0;

	if (!pids || pipe(reports) < 0) {
		perror("experiment: truth");
		return -1;
	}
	for (int i = 0; i < 4; i++)
		before[i] = counter_read(NET_COUNTERS, counter_keys[i]);
	for (unsigned i = 0; i < pairs && ret == 0; i++)
		ret = start_pair(i, bytes, reports[1], pids + 2 * i);
	close(reports[1]);
	while (ended < pairs && ret == 0) {
		struct pollfd p = { .fd = reports[0], .events = POLLIN };
		double left = start + LIMIT_SECONDS - np_now();
		struct verdict v;
		int n = left > 0 ? poll(&p, 1, (int)(left * 1000) + 1) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || read(reports[0], &v, sizeof(v)) != sizeof(v)) {
			fprintf(stderr, "experiment: truth: only %u of %u receivers ended\n", ended,
				pairs);
			ret = -1;
			break;
		}
		all.bytes += v.bytes;
		all.bad += v.bad;
		ended++;
	}
	seconds = np_now() - start;
	for (unsigned i = 0; i < 2 * pairs; i++) {
		if (pids[i] > 0 && ret < 0)
			kill(pids[i], SIGKILL);
		while (pids[i] > 0 && waitpid(pids[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(pids);
	close(reports[0]);

	record_begin(&rec, "truth");
	record_int(&rec, "pairs", pairs);
	record_int(&rec, "bytes", (long long)all.bytes);
	record_int(&rec, "bad", (long long)all.bad);
	for (int i = 0; i < 4; i++)
		record_number(&rec, field_names[i],
			      counter_read(NET_COUNTERS, counter_keys[i]) - before[i]);
	record_number(&rec, "seconds", seconds);
	record_end(&rec);
	printf("truth: %llu of %llu bytes, %llu bad, %.2f s\n", (unsigned long long)all.bytes,
	       (unsigned long long)bytes * pairs, (unsigned long long)all.bad, seconds);
	return ret == 0 && all.bad == 0 && all.bytes == bytes * pairs ? 0 : -1;
}
