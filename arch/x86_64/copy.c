/* SPDX-License-Identifier: MIT */
/*
 * Implements mm/uaccess.h's copies, clear_page() and copy_page() with the
 * routines of copy_user.asm, whichever of word loops and string instructions
 * was faster at boot.
 */
#include "arch/x86_64/copy.h"
#include "arch/x86_64/cpu.h"
#include "mm/page.h"
#include "mm/vm.h"
#include "mm/uaccess.h"
#include "kernel/init.h"
#include "kernel/log.h"

#define MOVSB_MIN 256 /* bytes; below this the start-up cost of rep movsb dominates */

static bool string_wins; /* constant after arch_init_copy() */

bool user_range_ok(const void __user *p, size_t n)
{
	return n <= USER_TOP && (uintptr_t)p <= USER_TOP - n;
}

static inline size_t user_copy(void *dst, const void *src, size_t n)
{
	if (unlikely(string_wins) && n >= MOVSB_MIN)
		return user_copy_movsb(dst, src, n);
	return user_copy_words(dst, src, n);
}

size_t copy_to_user_part(void __user *dst, const void *src, size_t n)
{
	return user_range_ok(dst, n) ? n - user_copy(dst, src, n) : 0;
}

size_t copy_from_user_part(void *dst, const void __user *src, size_t n)
{
	return user_range_ok(src, n) ? n - user_copy(dst, src, n) : 0;
}

int copy_to_user(void __user *dst, const void *src, size_t n)
{
	return user_range_ok(dst, n) && !user_copy(dst, src, n) ? 0 : -EFAULT;
}

int copy_from_user(void *dst, const void __user *src, size_t n)
{
	return user_range_ok(src, n) && !user_copy(dst, src, n) ? 0 : -EFAULT;
}

size_t clear_user_part(void __user *dst, size_t n)
{
	return user_range_ok(dst, n) ? n - user_clear(dst, n) : 0;
}

int clear_user(void __user *dst, size_t n)
{
	return user_range_ok(dst, n) && !user_clear(dst, n) ? 0 : -EFAULT;
}

long strncpy_from_user(char *dst, const char __user *src, size_t n)
{
	size_t room;
	long r;

	if ((uintptr_t)src >= USER_TOP)
		return -EFAULT;
	room = USER_TOP - (uintptr_t)src;
	r = user_strncpy(dst, src, min(n, room));
	if (r == (long)room && room < n)
		return -EFAULT;
	return r == (long)n ? -ENAMETOOLONG : r;
}

int user_cmpxchg32(uint32_t __user *p, uint32_t old, uint32_t new, uint32_t *seen)
{
	if (!user_range_ok(p, sizeof(*p)) || ((uintptr_t)p & 3))
		return -EFAULT;
	return user_cmpxchg32_raw(p, old, new, seen);
}

int user_load32(const uint32_t __user *p, uint32_t *out)
{
	if (!user_range_ok(p, sizeof(*p)) || ((uintptr_t)p & 3))
		return -EFAULT;
	return user_load32_raw(p, out);
}

void clear_page(void *p)
{
	if (unlikely(string_wins))
		clear_page_string(p);
	else
		clear_page_words(p);
}

void copy_page(void *d, const void *s)
{
	if (unlikely(string_wins))
		copy_page_string(d, s);
	else
		copy_page_words(d, s);
}

/* Best of a few runs, cycles per 4 KiB. */
static uint64_t measure(size_t (*fn)(void *, const void *, size_t), void *d, const void *s)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t t = rdtsc();

		if (fn(d, s, PAGE_SIZE))
			return UINT64_MAX;
		t = rdtsc() - t;
		best = min(best, t);
	}
	return best;
}

void arch_init_copy(void)
{
	struct page *a = page_alloc(0, PAGE_KERNEL, GFP_ZERO);
	struct page *b = page_alloc(0, PAGE_KERNEL, GFP_ZERO);
	uint64_t words, movsb;

	if (a && b) {
		words = measure(user_copy_words, page_virt(a), page_virt(b));
		movsb = measure(user_copy_movsb, page_virt(a), page_virt(b));
		string_wins = movsb < words;
		pr_info("copy: 4 KiB by words in %llu cycles, by rep movsb in %llu: %s",
			(unsigned long long)words, (unsigned long long)movsb,
			string_wins ? "rep movsb" : "words");
	}
	if (a)
		page_put(a);
	if (b)
		page_put(b);
}
