/* SPDX-License-Identifier: MIT */
#ifndef _SCHED_H_
#define _SCHED_H_

#include <sys/types.h>
#include <sys/sched.h>

#define CPU_SETSIZE 1024

typedef struct {
	unsigned long bits[CPU_SETSIZE / 64];
} cpu_set_t;

#define CPU_ZERO(s)    __builtin_memset((s), 0, sizeof(cpu_set_t))
#define CPU_SET(c, s)  ((s)->bits[(c) / 64] |= 1UL << ((c) % 64))
#define CPU_CLR(c, s)  ((s)->bits[(c) / 64] &= ~(1UL << ((c) % 64)))
#define CPU_ISSET(c, s) (((s)->bits[(c) / 64] >> ((c) % 64)) & 1)

static inline int CPU_COUNT(const cpu_set_t *s)
{
	int n = 0;

	for (int i = 0; i < CPU_SETSIZE / 64; i++)
		n += __builtin_popcountl(s->bits[i]);
	return n;
}

int sched_yield(void);
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);

#endif
