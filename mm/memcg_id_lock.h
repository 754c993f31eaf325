/* SPDX-License-Identifier: MIT */
/*
 * The two locks that a look-up of a group by id can take (memcg.walk), one of each for
 * the whole machine.  Only mm/memcg_id.c includes this.
 *
 * "spin": a spinlock.  "rwlock": one word of readers that prefers them, as that of 2011
 * did: while look-ups overlap, a writer gets in only by luck.  Unlike that one it has a
 * bound: a writer that has starved for STARVED_NS closes the door to new readers.
 *
 * In the kernel a waiter halts (kernel/lock.h).  In the simulator, whose subject is the
 * cost of these locks, it waits as those kernels did: on a ticket, reading the lock's line.
 */
#ifndef MM_MEMCG_ID_LOCK_H
#define MM_MEMCG_ID_LOCK_H

#include "kernel/lock.h"

#define STARVED_NS (1 * NSEC_PER_SEC)
#define WRITER     INT32_MIN /* in readers: a writer has the lock */

#ifdef TALLY_SIM
#define SPIN_NS 60 /* a turn of the waiting loop */
void sim_work(uint64_t ns); /* arch/sim/sim.h */
struct id_spin {
	_Atomic uint32_t next, serving;
};
static inline void id_spin_init(struct id_spin *l)
{
	(void)l; /* all zero */
}
static inline void id_spin_lock(struct id_spin *l)
{
	uint32_t mine = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);

	while (atomic_load_explicit(&l->serving, memory_order_acquire) != mine)
		sim_work(SPIN_NS);
}
static inline void id_spin_unlock(struct id_spin *l)
{
	atomic_store_explicit(&l->serving,
			      atomic_load_explicit(&l->serving, memory_order_relaxed) + 1,
			      memory_order_release);
}
#else
struct id_spin {
	struct spinlock lock;
};
static inline void id_spin_init(struct id_spin *l)
{
	spin_init(&l->lock, "memcg_id");
}
static inline void id_spin_lock(struct id_spin *l)
{
	spin_lock(&l->lock);
}
static inline void id_spin_unlock(struct id_spin *l)
{
	spin_unlock(&l->lock);
}
#endif

/* Each on a line of its own. */
struct id_locks {
	/* Of "spin"; of "rwlock": the writer's, to wait for him on. */
	__cacheline_aligned struct id_spin spin;
	__cacheline_aligned _Atomic int32_t readers;
	_Atomic bool door_closed;
};

static inline void id_read_lock(struct id_locks *l)
{
	for (;;) {
		if (!atomic_load_explicit(&l->door_closed, memory_order_relaxed)) {
			if (atomic_fetch_add_explicit(&l->readers, 1, memory_order_acquire) >= 0)
				return;
			atomic_fetch_sub_explicit(&l->readers, 1, memory_order_relaxed);
		}
		id_spin_lock(&l->spin);
		id_spin_unlock(&l->spin);
	}
}

static inline void id_read_unlock(struct id_locks *l)
{
	atomic_fetch_sub_explicit(&l->readers, 1, memory_order_release);
}

static inline void id_write_lock(struct id_locks *l)
{
	uint64_t since = clock_ns();

	id_spin_lock(&l->spin);
	for (;;) {
		int32_t seen = atomic_load_explicit(&l->readers, memory_order_relaxed);

		if (!seen && atomic_compare_exchange_strong_explicit(&l->readers, &seen, WRITER,
								     memory_order_acquire,
								     memory_order_relaxed))
			return;
		if (clock_ns() - since > STARVED_NS)
			atomic_store_explicit(&l->door_closed, true, memory_order_relaxed);
		cpu_relax();
	}
}

static inline void id_write_unlock(struct id_locks *l)
{
	atomic_store_explicit(&l->door_closed, false, memory_order_relaxed);
	atomic_fetch_sub_explicit(&l->readers, WRITER, memory_order_release);
	id_spin_unlock(&l->spin);
}

#endif /* MM_MEMCG_ID_LOCK_H */
