/* SPDX-License-Identifier: MIT */
/*
 * Basic types and the few macros that every file uses.
 *
 * Included first by everything.  Holds nothing that depends on a machine.
 */
#ifndef KERNEL_TYPES_H
#define KERNEL_TYPES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdarg.h>
#if defined(TALLY_HOSTED)
#include <limits.h>
#else /* gcc's limits.h wants a C library's behind it */
#define CHAR_BIT  __CHAR_BIT__
#define INT_MAX   __INT_MAX__
#define INT_MIN   (-INT_MAX - 1)
#define UINT_MAX  (INT_MAX * 2U + 1U)
#define LONG_MAX  __LONG_MAX__
#define LONG_MIN  (-LONG_MAX - 1L)
#define ULONG_MAX (LONG_MAX * 2UL + 1UL)
#endif

typedef int64_t loff_t;
#if !defined(TALLY_HOSTED)
typedef long ssize_t;
typedef int pid_t;
#else
#include <sys/types.h>
#endif

#define PAGE_SHIFT 12
#define PAGE_SIZE  (1UL << PAGE_SHIFT)
#define PAGE_MASK  (~(PAGE_SIZE - 1))
#define CACHE_LINE 64 /* bytes; what two CPUs can fight over */

#define __cacheline_aligned __attribute__((aligned(CACHE_LINE)))
#define __packed            __attribute__((packed))
#define __printf(f, a)      __attribute__((format(printf, f, a)))
#define __noreturn          __attribute__((noreturn))
#define __weak              __attribute__((weak))
#define __must_check        __attribute__((warn_unused_result))
#define __unused            __attribute__((unused))
#define __used              __attribute__((used))
#define __noinline          __attribute__((noinline))
#undef __always_inline /* glibc has one, too */
#define __always_inline     inline __attribute__((always_inline))
/* A pointer into user memory: never dereferenced, only given to mm/uaccess.h. */
#define __user

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define ARRAY_SIZE(a)        (sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(x, a)       (((x) + ((a)-1)) & ~((__typeof__(x))(a)-1))
#define ALIGN_DOWN(x, a)     ((x) & ~((__typeof__(x))(a)-1))
#define DIV_ROUND_UP(n, d)   (((n) + (d)-1) / (d))
#define container_of(p, t, m) ((t *)((char *)(p)-offsetof(t, m)))
#define min(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) _a = (a);                                                            \
		__typeof__(b) _b = (b);                                                            \
		_a < _b ? _a : _b;                                                                 \
	})
#define max(a, b)                                                                                  \
	({                                                                                         \
		__typeof__(a) _a = (a);                                                            \
		__typeof__(b) _b = (b);                                                            \
		_a > _b ? _a : _b;                                                                 \
	})
#define min_t(t, a, b) min((t)(a), (t)(b))
#define max_t(t, a, b) max((t)(a), (t)(b))

/* A callback after a grace period (kernel/rcu.h); lives in the object that waits. */
struct rcu_head {
	struct rcu_head *next;
	void (*fn)(struct rcu_head *h);
};

#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC  1000000000ULL

/* Pointers that carry a negative errno: the last 4095 values of the address space. */
#define MAX_ERRNO 4095
static inline void *ERR_PTR(long err)
{
	return (void *)err;
}
static inline long PTR_ERR(const void *p)
{
	return (long)p;
}
static inline bool IS_ERR(const void *p)
{
	return (unsigned long)p >= (unsigned long)-MAX_ERRNO;
}

#endif /* KERNEL_TYPES_H */
