/* SPDX-License-Identifier: MIT */
/* The few mem*, str* and printf functions that the kernel needs; C semantics. */
#ifndef KERNEL_STRING_H
#define KERNEL_STRING_H

#include "kernel/types.h"

#if defined(TALLY_HOSTED)
#include <string.h>
#include <stdio.h>
#else
void *memcpy(void *d, const void *s, size_t n);
void *memmove(void *d, const void *s, size_t n);
void *memset(void *d, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *s, int c, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t n);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
char *strstr(const char *h, const char *n);
/* %c %s %d %i %u %x %X %o %p %% with flags "-0+ #", width, precision, * and h hh l ll z j t. */
int vsnprintf(char *buf, size_t n, const char *fmt, va_list ap) __printf(3, 0);
int snprintf(char *buf, size_t n, const char *fmt, ...) __printf(3, 4);
#endif
/* Like snprintf, but returns the bytes stored (without NUL): safe to add up. */
int scnprintf(char *buf, size_t n, const char *fmt, ...) __printf(3, 4);
size_t str_copy(char *d, const char *s, size_t n); /* always terminates; returns strlen(d) */

/**
 * parse_u64 - number in base 0 (0x, leading 0 octal, decimal)
 * @end: first character that is not part of the number
 * Return: 0, -EINVAL without a digit, -ERANGE on overflow.
 */
int parse_u64(const char *s, const char **end, uint64_t *out);
/* parse_size - parse_u64 with an optional suffix K M G T P E (powers of 1024), whole string. */
int parse_size(const char *s, uint64_t *out);

#endif /* KERNEL_STRING_H */
