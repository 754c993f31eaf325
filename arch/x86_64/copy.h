/* SPDX-License-Identifier: MIT */
/* Copy routines of copy_user.asm and the choice between them (copy.c). */
#ifndef ARCH_X86_64_COPY_H
#define ARCH_X86_64_COPY_H

#include "kernel/types.h"

size_t user_copy_words(void *dst, const void *src, size_t n); /* bytes left */
size_t user_copy_movsb(void *dst, const void *src, size_t n);
size_t user_clear(void *dst, size_t n);
long user_strncpy(char *dst, const char *src, size_t n);
int user_cmpxchg32_raw(uint32_t *p, uint32_t old, uint32_t new, uint32_t *seen);
int user_load32_raw(const uint32_t *p, uint32_t *out);
void clear_page_words(void *p);
void copy_page_words(void *d, const void *s);
void clear_page_string(void *p);
void copy_page_string(void *d, const void *s);

#endif /* ARCH_X86_64_COPY_H */
