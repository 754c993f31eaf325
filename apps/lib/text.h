/* SPDX-License-Identifier: MIT */
/* Text that grows as it is written. */
#ifndef APPS_LIB_TEXT_H
#define APPS_LIB_TEXT_H

#include <stddef.h>

struct text {
	char *data;
	size_t len, room;
	int failed; /* no memory: what is there is not all */
};

/* Appends as printf does. */
__attribute__((format(printf, 2, 3))) void text_add(struct text *t, const char *fmt, ...);
void text_free(struct text *t);

#endif
