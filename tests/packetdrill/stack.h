/* SPDX-License-Identifier: MIT */
/* Tally's stack on the machine of machine.h: set-up from flags, a device whose wire is a queue. */
#ifndef TESTS_PACKETDRILL_STACK_H
#define TESTS_PACKETDRILL_STACK_H

#include "kernel/types.h"

/* Boots on the first call; afterwards the same stack with nothing open and new addresses. */
void stack_start(const char *flags);

/* A raw IP packet arrives. Context: thread of the machine. 0 or -ENOMEM, -EINVAL (no IP packet). */
long stack_receive(const void *packet, size_t n);

/* Did the stack send anything that was not fetched? Context: any; a plain look. */
bool stack_has_sent(void);

/**
 * stack_fetch - the oldest packet that was sent and not fetched
 * @n: in: room at @buf; out: bytes of the packet
 * Context: not the machine.  Return: the time of sending (ns), 0 if there is none.
 */
uint64_t stack_fetch(void *buf, size_t *n);

#endif /* TESTS_PACKETDRILL_STACK_H */
