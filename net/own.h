/* SPDX-License-Identifier: MIT */
/*
 * Ownership of a connection: one thread works on it at a time, and nobody in
 * packet processing ever waits for it.
 *
 * What:      one word: 0 free, 1 owned, else the newest node of a stack of
 *            work (packets, timer events) that others left for the owner.
 *            Who finds the connection owned pushes its node and goes away; the
 *            owner looks when it lets go, and works until there is none.
 *            System calls that want ownership spin a little, then sleep.
 * Invariant: nodes are handled in the order in which they were pushed, and
 *            before anything that arrives after the word became 0.
 * Races:     none tolerated; release is a compare-and-swap from 1 to 0, which
 *            fails if a node came in between.
 */
#ifndef NET_OWN_H
#define NET_OWN_H

#include "net/pbuf.h"
#include "kernel/wait.h"

struct sock_own {
	_Atomic uintptr_t word;
	_Atomic unsigned waiting; /* threads that sleep for ownership, or are about to */
	struct wait_queue wait;
};

void own_init(struct sock_own *o);
static inline bool own_try(struct sock_own *o)
{
	uintptr_t free = 0;

	return atomic_load_explicit(&o->word, memory_order_relaxed) == 0 &&
	       atomic_compare_exchange_strong_explicit(&o->word, &free, 1, memory_order_seq_cst,
						       memory_order_relaxed);
}
/* Context: thread, may sleep. */
void own_wait(struct sock_own *o);
static inline void own_get(struct sock_own *o)
{
	if (unlikely(!own_try(o)))
		own_wait(o);
}
/**
 * own_get_or_push - own it, or leave @n to the owner
 * Return: true with ownership (@n untouched); false: @n belongs to the owner now.
 */
bool own_get_or_push(struct sock_own *o, struct net_node *n);
/* The nodes in order of arrival, linked by next; the caller still owns. */
struct net_node *own_take_work(struct sock_own *o);
/**
 * own_release - let go, unless there is work
 * Return: NULL when released; else as own_take_work().
 */
static inline struct net_node *own_release(struct sock_own *o)
{
	uintptr_t v = 1;

	if (unlikely(!atomic_compare_exchange_strong_explicit(&o->word, &v, 0, memory_order_seq_cst,
							      memory_order_relaxed)))
		return own_take_work(o);
	if (unlikely(atomic_load_explicit(&o->waiting, memory_order_seq_cst)))
		wake_up_one(&o->wait);
	return NULL;
}
/* Owned, and work waits. */
static inline bool own_pending(const struct sock_own *o)
{
	return atomic_load_explicit(&o->word, memory_order_relaxed) > 1;
}
static inline bool own_held(const struct sock_own *o)
{
	return atomic_load_explicit(&o->word, memory_order_relaxed) != 0;
}

#endif /* NET_OWN_H */
