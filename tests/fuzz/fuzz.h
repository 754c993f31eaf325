/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz targets share: a reader over the input, and invariants.
 *
 * A target defines fuzz_setup() (once, in a kernel thread of a host machine with
 * one CPU and virtual time) and fuzz_one() (each input, same thread).
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdlib.h>

#include "arch/host/host.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "kernel/thread.h"

void fuzz_setup(void);
void fuzz_one(const uint8_t *data, size_t size);

/* Ends the run with the input kept by libFuzzer. */
#define MUST(c)                                                                                    \
	do {                                                                                       \
		if (!(c)) {                                                                        \
			log_printf(LOG_ERR, "%s:%d: %s", __FILE__, __LINE__, #c);                  \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* Reading past the end gives zeroes. */
struct fuzz_in {
	const uint8_t *p;
	size_t n;
};
static inline uint8_t fz_u8(struct fuzz_in *f)
{
	if (!f->n)
		return 0;
	f->n--;
	return *f->p++;
}
static inline uint16_t fz_u16(struct fuzz_in *f)
{
	uint8_t lo = fz_u8(f);

	return (uint16_t)(lo | fz_u8(f) << 8);
}
static inline uint32_t fz_u32(struct fuzz_in *f)
{
	uint32_t lo = fz_u16(f);

	return lo | (uint32_t)fz_u16(f) << 16;
}
/* The next bytes, @want or what is left (set in @got). */
static inline const uint8_t *fz_bytes(struct fuzz_in *f, size_t want, size_t *got)
{
	const uint8_t *p = f->p;

	*got = min(want, f->n);
	f->p += *got;
	f->n -= *got;
	return p;
}
static inline void fz_sleep(uint64_t ms)
{
	thread_sleep_until(clock_ns() + ms * NSEC_PER_MSEC, false);
}

/*
 * Objects in slab caches (leak.c): how many there are before the first input, and that there
 * are no more after one; @kept: caches that may grow, NULL at the end or instead.  Sleeps.
 */
void fuzz_objects_note(void);
void fuzz_objects_must_be_back(const char *const *kept);

/* Removes all that is in the folder @path (tree.c). */
void fuzz_remove_tree(const char *path);

/* Puts right the lengths and sums of an IPv4 or IPv6 packet, as far as it has such fields (fix.c). */
void fuzz_fix_packet(uint8_t *packet, size_t n);

#endif /* TESTS_FUZZ_FUZZ_H */
