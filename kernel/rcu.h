/* SPDX-License-Identifier: MIT */
/*
 * Read-copy-update.  Kernel code is not preempted, so a reader costs nothing:
 * it just may not sleep or call cond_resched() between lock and unlock.  A CPU
 * is quiescent when it switches threads, runs user mode or idles; idle CPUs
 * are counted without being woken.
 */
#ifndef KERNEL_RCU_H
#define KERNEL_RCU_H

#include "kernel/thread.h"

static inline void rcu_read_lock(void)
{
#ifdef CONFIG_DEBUG
	current->rcu_depth++;
#endif
	atomic_signal_fence(memory_order_seq_cst);
}
static inline void rcu_read_unlock(void)
{
	atomic_signal_fence(memory_order_seq_cst);
#ifdef CONFIG_DEBUG
	current->rcu_depth--;
#endif
}
/* For pointers declared _Atomic(T *). */
#define rcu_dereference(p)       atomic_load_explicit(&(p), memory_order_acquire)
#define rcu_assign_pointer(p, v) atomic_store_explicit(&(p), (v), memory_order_release)

/*
 * Runs @fn(h) in thread context after all present readers are done; may not sleep in
 * it. Context: thread.
 */
void call_rcu(struct rcu_head *h, void (*fn)(struct rcu_head *h));
/* kfree() after a grace period; @h is a member of the object that begins at @obj. */
void kfree_rcu_obj(struct rcu_head *h, void *obj);
void synchronize_rcu(void); /* sleeps */
void rcu_barrier(void);     /* sleeps until every earlier call_rcu() has run */

/* Called by the scheduler and arch code. */
void rcu_quiescent(void);
void rcu_init(void);

#endif /* KERNEL_RCU_H */
