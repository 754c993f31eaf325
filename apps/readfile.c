/* SPDX-License-Identifier: MIT */
/*
 * readfile: reads a file from start to end again and again and says how fast.
 * With a file that fits into the cache this is the price of reading cached
 * pages; in a group with less memory than the file, that of reclaim.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/lib/np_proto.h"
#include "apps/lib/options.h"
#include "apps/lib/record.h"

#define BLOCK (64 << 10) /* bytes of a read */

static char buf[BLOCK];

/* One pass: bytes read, -1 with the error told. */
static double pass(int fd, const char *path, double most)
{
	double sum = 0;

	if (lseek(fd, 0, SEEK_SET) < 0) {
		fprintf(stderr, "readfile: %s: %s\n", path, strerror(errno));
		return -1;
	}
	while (sum < most) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0) {
			fprintf(stderr, "readfile: %s: %s\n", path, strerror(errno));
			return -1;
		}
		if (n == 0)
			break;
		sum += (double)n;
	}
	return sum;
}

int main(int argc, char **argv)
{
	double seconds = 2, most = 1e18, sum = 0, start, n, elapsed;
	struct record r;
	int opt, fd;

	while ((opt = getopt(argc, argv, "l:b:")) != -1) {
		switch (opt) {
		case 'l':
			seconds = option_number("readfile", "-l", optarg, 0, 86400);
			break;
		case 'b':
			most = option_number("readfile", "-b", optarg, 0, 1 << 20) * (1 << 20);
			break;
		default:
			optind = argc + 1;
		}
	}
	if (optind != argc - 1) {
		fprintf(stderr, "usage: readfile [-l SECONDS] [-b MEBIBYTES] FILE\n");
		return 2;
	}
	fd = open(argv[optind], O_RDONLY);
	if (fd < 0) {
		fprintf(stderr, "readfile: %s: %s\n", argv[optind], strerror(errno));
		return 1;
	}
	if (pass(fd, argv[optind], most) <= 0) /* the first one fills the cache */
		return 1;
	start = np_now();
	do {
		n = pass(fd, argv[optind], most);
		if (n <= 0)
			return 1;
		sum += n;
		elapsed = np_now() - start;
	} while (elapsed < seconds);
	printf("readfile %.1f MB/s\n", sum / elapsed / 1e6);
	record_begin(&r, "readfile");
	record_number(&r, "mbytes", sum / 1e6);
	record_number(&r, "seconds", elapsed);
	record_number(&r, "mbytes_per_s", sum / elapsed / 1e6);
	record_end(&r);
	return 0;
}
