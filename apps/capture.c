/* SPDX-License-Identifier: MIT */
/*
 * capture: writes the frames that pass a device to a file in pcap format, for
 * tcpdump and Wireshark.
 *
 *	capture -w FILE [-i DEVICE] [-c COUNT] [-s BYTES] [-t SECONDS] [FILTER…]
 *
 * FILE "-" is standard output.  Without -i: all devices.  FILTER: any of
 *
 *	host ADDRESS   port NUMBER   tcp | udp | icmp | icmp6 | arp | ip | ip6
 *
 * all of which a frame must meet.  Ends after COUNT frames, SECONDS, or a signal,
 * and says on standard error how many frames were written and lost.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "apps/lib/options.h"

#define AF_PACKET  17
#define SOCK_RAW   3
#define SOL_PACKET 263
#define PACKET_STATISTICS 6
#define SIOCGIFINDEX 0x8933
#define ETH_P_ALL  3
#define FRAME_MAX  70000
#define LINKTYPE_ETHERNET 1

static struct {
	int family;        /* AF_INET, AF_INET6: only these; 0: any */
	int arp;
	int protocol;      /* of IP, or -1 */
	int port;          /* or -1 */
	int host_family;   /* 0: no host given */
	uint8_t host[16];
} filter = { .protocol = -1, .port = -1 };

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static unsigned be16_at(const uint8_t *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* Does the frame's network header name the host? */
static int host_matches(const uint8_t *src, const uint8_t *dst, unsigned n)
{
	return !memcmp(src, filter.host, n) || !memcmp(dst, filter.host, n);
}

static int matches(const uint8_t *f, size_t n)
{
	unsigned type = n >= 14 ? be16_at(f + 12) : 0, proto, at;
	const uint8_t *h = f + 14;

	if (type == 0x0806)
		return filter.port < 0 && filter.protocol < 0 && !filter.family &&
		       (!filter.host_family || (filter.host_family == AF_INET && n >= 42 &&
						host_matches(h + 14, h + 24, 4)));
	if (filter.arp)
		return 0;
	if (type == 0x0800 && n >= 34) {
		if (filter.family == AF_INET6 || filter.host_family == AF_INET6 ||
		    (filter.host_family && !host_matches(h + 12, h + 16, 4)))
			return 0;
		proto = h[9];
		at = 14 + (h[0] & 15) * 4u;
		if (filter.port >= 0 && be16_at(h + 6) & 0x1fff)
			return 0;
	} else if (type == 0x86dd && n >= 54) {
		if (filter.family == AF_INET || filter.host_family == AF_INET ||
		    (filter.host_family && !host_matches(h + 8, h + 24, 16)))
			return 0;
		proto = h[6];
		at = 54;
	} else {
		return !filter.host_family && filter.port < 0 && filter.protocol < 0 &&
		       !filter.family;
	}
	if (filter.protocol >= 0 && (int)proto != filter.protocol)
		return 0;
	if (filter.port < 0)
		return 1;
	return (proto == 6 || proto == 17) && n >= at + 4 &&
	       ((int)be16_at(f + at) == filter.port || (int)be16_at(f + at + 2) == filter.port);
}

static int parse_filter(char **words)
{
	static const struct {
		const char *word;
		int family, protocol;
	} names[] = { { "tcp", 0, 6 },		 { "udp", 0, 17 },	{ "icmp", AF_INET, 1 },
		      { "icmp6", AF_INET6, 58 }, { "ip", AF_INET, -1 }, { "ip6", AF_INET6, -1 } };

	for (; *words; words++) {
		unsigned i;

		if (!strcmp(*words, "and"))
			continue;
		if (!strcmp(*words, "host") && words[1]) {
			words++;
			filter.host_family = strchr(*words, ':') ? AF_INET6 : AF_INET;
			if (inet_pton(filter.host_family, *words, filter.host) != 1)
				return -1;
			continue;
		}
		if (!strcmp(*words, "port") && words[1]) {
			filter.port = atoi(*++words);
			if (filter.port < 0 || filter.port > 65535)
				return -1;
			continue;
		}
		if (!strcmp(*words, "arp")) {
			filter.arp = 1;
			continue;
		}
		for (i = 0; i < sizeof(names) / sizeof(names[0]) && strcmp(*words, names[i].word);
		     i++)
			;
		if (i == sizeof(names) / sizeof(names[0]))
			return -1;
		if (names[i].family)
			filter.family = names[i].family;
		if (names[i].protocol >= 0)
			filter.protocol = names[i].protocol;
	}
	return 0;
}

/* A socket that sees all frames of @device (NULL: every device's); -1. */
static int open_tap(const char *device)
{
	struct {
		uint16_t family, protocol;
		int32_t ifindex;
		uint8_t rest[12];
	} a = { .family = AF_PACKET, .protocol = htons(ETH_P_ALL) };
	struct {
		char name[16];
		int index;
		char pad[20];
	} r = { .index = 0 };
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), room = 2 << 20;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	if (device) {
		snprintf(r.name, sizeof(r.name), "%s", device);
		if (ioctl(fd, SIOCGIFINDEX, &r) < 0)
			return -1;
		a.ifindex = r.index;
	}
	return bind(fd, (struct sockaddr *)&a, sizeof(a)) ? -1 : fd;
}

static int write_record(FILE *out, const uint8_t *frame, size_t len, size_t snap)
{
	struct timespec now;
	uint32_t h[4];

	clock_gettime(CLOCK_REALTIME, &now);
	h[0] = (uint32_t)now.tv_sec;
	h[1] = (uint32_t)(now.tv_nsec / 1000);
	h[2] = (uint32_t)(len < snap ? len : snap);
	h[3] = (uint32_t)len;
	return fwrite(h, sizeof(h), 1, out) == 1 && (!h[2] || fwrite(frame, h[2], 1, out) == 1)
		       ? 0
		       : -1;
}

static double number(const char *option, double lo, double hi)
{
	return option_number("capture", option, optarg, lo, hi);
}

int main(int argc, char **argv)
{
	static uint8_t frame[FRAME_MAX];
	/* pcap: magic, version 2.4, zone, accuracy, longest frame, link type. */
	uint32_t head[6] = { 0xa1b2c3d4, 2 | 4 << 16, 0, 0, 262144, LINKTYPE_ETHERNET },
		 stats[2] = { 0, 0 };
	const char *device = NULL, *file = NULL;
	unsigned long count = 0, written = 0;
	socklen_t n = sizeof(stats);
	size_t snap = 262144;
	double seconds = 0;
	time_t end;
	FILE *out;
	int c, fd;

	while ((c = getopt(argc, argv, "+i:c:w:s:t:")) != -1) {
		switch (c) {
		case 'i': device = strcmp(optarg, "any") ? optarg : NULL; break;
		case 'c': count = (unsigned long)number("-c", 1, 1e15); break;
		case 'w': file = optarg; break;
		case 's': snap = (size_t)number("-s", 1, 262144); break;
		case 't': seconds = number("-t", 0, 1e9); break;
		default: file = NULL; optind = argc; break;
		}
	}
	if (!file || parse_filter(argv + optind)) {
		fprintf(stderr,
			"usage: capture -w FILE [-i DEVICE] [-c COUNT] [-s BYTES] [-t SECONDS]\n"
			"               [host ADDRESS] [port NUMBER] "
			"[tcp|udp|icmp|icmp6|arp|ip|ip6]\n");
		return 2;
	}
	fd = open_tap(device);
	out = fd < 0 ? NULL : strcmp(file, "-") ? fopen(file, "w") : stdout;
	if (!out || fwrite(head, sizeof(head), 1, out) != 1) {
		fprintf(stderr, "capture: %s: %s\n", fd < 0 ? device ? device : "socket" : file,
			strerror(errno));
		return 1;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	end = time(NULL) + (time_t)seconds;
	while (!stop && (!count || written < count) && (!seconds || time(NULL) < end)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t len;

		if (poll(&p, 1, seconds ? 100 : 1000) <= 0) {
			fflush(out); /* quiet: let a reader see what there is */
			continue;
		}
		len = recv(fd, frame, sizeof(frame), MSG_DONTWAIT);
		if (len < 0 || !matches(frame, (size_t)len))
			continue;
		if (write_record(out, frame, (size_t)len, snap)) {
			fprintf(stderr, "capture: %s: %s\n", file, strerror(errno));
			return 1;
		}
		written++;
	}
	if (fclose(out)) {
		fprintf(stderr, "capture: %s: %s\n", file, strerror(errno));
		return 1;
	}
	getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, stats, &n);
	fprintf(stderr, "%lu frames written, %u lost\n", written, stats[1]);
	return 0;
}
