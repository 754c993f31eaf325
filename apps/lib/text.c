/* SPDX-License-Identifier: MIT */
/* Implements text.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/lib/text.h"

#define FIRST_ROOM 4096

void text_add(struct text *t, const char *fmt, ...)
{
	for (;;) {
		size_t left = t->room - t->len, room;
		va_list ap;
		char *data;
		int n;

		va_start(ap, fmt);
		n = vsnprintf(t->data ? t->data + t->len : NULL, left, fmt, ap);
		va_end(ap);
		if (n < 0)
			return;
		if ((size_t)n < left) {
			t->len += (size_t)n;
			return;
		}
		room = t->room ? 2 * t->room : FIRST_ROOM;
		while (room - t->len <= (size_t)n)
			room *= 2;
		data = realloc(t->data, room);
		if (!data) {
			t->failed = 1;
			return;
		}
		t->data = data;
		t->room = room;
	}
}

void text_free(struct text *t)
{
	free(t->data);
	memset(t, 0, sizeof(*t));
}
