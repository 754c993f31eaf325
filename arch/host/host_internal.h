/* SPDX-License-Identifier: MIT */
/* What the files of the host machine share. */
#ifndef ARCH_HOST_HOST_INTERNAL_H
#define ARCH_HOST_HOST_INTERNAL_H

#include "arch/arch.h"

#define HOST_IRQ_KICK 1u

extern struct host_cpu *host_cpus;

void host_memory_init(void);
void host_adopt_stack(struct thread *t); /* the calling pthread's own stack becomes @t's */
void host_exit(int status) __attribute__((noreturn));

#endif /* ARCH_HOST_HOST_INTERNAL_H */
