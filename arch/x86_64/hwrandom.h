/* SPDX-License-Identifier: MIT */
/* The CPU's random number instruction, or else the time-stamp counter's low bits. */
#ifndef ARCH_X86_64_HWRANDOM_H
#define ARCH_X86_64_HWRANDOM_H

#include "arch/x86_64/cpu.h"

/* hwrandom - 64 bits; of little quality where the CPU has no RDRAND */
static inline uint64_t hwrandom(void)
{
	uint64_t v;
	bool ok = false;

	if (cpuid(1, 0).c & (1u << 30))
		for (int tries = 0; tries < 10 && !ok; tries++)
			__asm__ volatile("rdrand %0" : "=r"(v), "=@ccc"(ok));
	return ok ? v : rdtsc() * 0x9e3779b97f4a7c15UL;
}

#endif /* ARCH_X86_64_HWRANDOM_H */
