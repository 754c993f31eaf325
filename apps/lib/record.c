/* SPDX-License-Identifier: MIT */
/* Implements record.h. */
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "apps/lib/record.h"

__attribute__((format(printf, 2, 3))) static void put(struct record *r, const char *fmt, ...)
{
	size_t room = sizeof(r->text) - r->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(r->text + r->len, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		r->len += (size_t)n < room ? (size_t)n : room - 1;
}

void record_begin(struct record *r, const char *name)
{
	r->len = 0;
	put(r, "{\"record\":\"%s\"", name);
}

/* Our values have no characters that JSON escapes. */
void record_string(struct record *r, const char *key, const char *value)
{
	put(r, ",\"%s\":\"%s\"", key, value);
}

void record_int(struct record *r, const char *key, long long value)
{
	put(r, ",\"%s\":%lld", key, value);
}

void record_number(struct record *r, const char *key, double value)
{
	if (isnan(value) || isinf(value))
		put(r, ",\"%s\":null", key);
	else
		put(r, ",\"%s\":%.10g", key, value);
}

void record_end(struct record *r)
{
	int fd = open("/dev/records", O_WRONLY);

	put(r, "}\n");
	if (fd < 0) {
		fflush(stdout);
		fd = 1;
	}
	if (write(fd, r->text, r->len) != (ssize_t)r->len)
		perror("/dev/records");
	if (fd != 1)
		close(fd);
}
