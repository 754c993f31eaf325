/* SPDX-License-Identifier: MIT */
/* struct rusage of Linux x86-64. */
#ifndef KERNEL_RUSAGE_H
#define KERNEL_RUSAGE_H

#include "kernel/syscall.h"

struct rusage_k {
	struct timeval64 utime, stime;
	int64_t maxrss, ixrss, idrss, isrss, minflt, majflt, nswap, inblock, oublock, msgsnd,
		msgrcv, nsignals, nvcsw, nivcsw;
};
_Static_assert(sizeof(struct rusage_k) == 144, "struct rusage is ABI");

static inline struct timeval64 timeval_from_ns(uint64_t ns)
{
	return (struct timeval64){ (int64_t)(ns / NSEC_PER_SEC),
				   (int64_t)(ns % NSEC_PER_SEC / NSEC_PER_USEC) };
}

#endif /* KERNEL_RUSAGE_H */
