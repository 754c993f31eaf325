/* SPDX-License-Identifier: MIT */
/*
 * Switches that are asked often and flipped seldom: tracing, statistics.
 *
 * Asking costs one instruction that does nothing while the switch is off
 * (x86_64: a five-byte nop that becomes a jump), so a question may stand in a
 * path that runs millions of times a second.  Flipping rewrites code on all
 * CPUs and costs microseconds per CPU.
 *
 *	struct static_key trace_key;
 *
 *	if (static_branch(&trace_key))
 *		...		seldom; out of the way of the code around it
 *
 * A switch has users: it is on while there are any.
 *
 * Locks: `static_keys` over the counts and over the rewriting.
 */
#ifndef KERNEL_STATIC_KEY_H
#define KERNEL_STATIC_KEY_H

#include "arch/arch.h"

struct static_key {
	_Atomic bool on; /* what was flipped last; code may be a moment behind */
	unsigned users;  /* under static_keys */
};

static inline bool static_key_is_on(const struct static_key *key)
{
	return atomic_load_explicit(&key->on, memory_order_relaxed);
}

/* @key: the address of a global variable, known when the code is linked. */
static __always_inline bool static_branch(const struct static_key *key)
{
	return arch_static_branch(key);
}

/**
 * static_key_get - one more user: on from when this returns
 * static_key_put - one fewer; with the last one it is off when this returns
 *
 * Context: thread, may sleep; no spinlock held.
 */
void static_key_get(struct static_key *key);
void static_key_put(struct static_key *key);

#endif /* KERNEL_STATIC_KEY_H */
