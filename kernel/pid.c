/* SPDX-License-Identifier: MIT */
/*
 * The table of ids: see pid.h.
 *
 * Two levels: leaves of 64 slots, made when first needed and kept.  A look-up
 * of a process under RCU sees either a leaf or none, a process or none.
 */
#include "kernel/pid.h"
#include "kernel/errno.h"
#include "kernel/string.h"
#include "mm/slab.h"

#define LEAF_SLOTS 64
#define NR_LEAVES  (PID_MAX / LEAF_SLOTS)
#define PID_FIRST  300 /* where counting starts again: low numbers are start-up's */

struct slot {
	_Atomic(struct process *) process;
	struct thread *thread;
	struct list_head group; /* members, if it is a group */
	unsigned uses;          /* reservation, process, thread, group members, session members */
};
struct leaf {
	struct slot slot[LEAF_SLOTS];
};
static _Atomic(struct leaf *) leaves[NR_LEAVES];
static pid_t last_pid;       /* process_lock */
static _Atomic unsigned nr_processes;

static struct slot *slot_of(pid_t id)
{
	struct leaf *l;

	if (id <= 0 || id >= PID_MAX)
		return NULL;
	l = atomic_load_explicit(&leaves[id / LEAF_SLOTS], memory_order_acquire);
	return l ? &l->slot[id % LEAF_SLOTS] : NULL;
}

static int leaf_add(unsigned i)
{
	struct leaf *l = kzalloc(sizeof(*l), GFP_KERNEL), *none = NULL;

	if (!l)
		return -ENOMEM;
	for (unsigned n = 0; n < LEAF_SLOTS; n++)
		list_init(&l->slot[n].group);
	if (!atomic_compare_exchange_strong_explicit(&leaves[i], &none, l, memory_order_release,
						     memory_order_relaxed))
		kfree(l); /* somebody else was faster */
	return 0;
}

pid_t pid_alloc(void)
{
	int err;

	for (;;) {
		pid_t id = 0;
		int missing = -1;

		spin_lock(&process_lock);
		id = last_pid;
		for (int tries = 0; tries < PID_MAX; tries++) {
			struct slot *s;

			if (++id >= PID_MAX)
				id = PID_FIRST;
			s = slot_of(id);
			if (!s) {
				missing = id / LEAF_SLOTS;
				break;
			}
			if (!s->uses) {
				s->uses = 1;
				last_pid = id;
				spin_unlock(&process_lock);
				return id;
			}
		}
		spin_unlock(&process_lock);
		if (missing < 0)
			return -EAGAIN;
		err = leaf_add((unsigned)missing);
		if (err)
			return err;
	}
}

void pid_free(pid_t pid)
{
	spin_lock(&process_lock);
	slot_of(pid)->uses--;
	spin_unlock(&process_lock);
}

/* The first attachment takes over the reservation. */
void pid_attach_thread(pid_t tid, struct thread *t)
{
	slot_of(tid)->thread = t;
}

void pid_detach_thread(pid_t tid)
{
	struct slot *s = slot_of(tid);

	if (!s->thread)
		return;
	s->thread = NULL;
	/* A leader's number stays with its process. */
	if (!atomic_load_explicit(&s->process, memory_order_relaxed))
		s->uses--;
}

void pid_attach_process(pid_t pid, struct process *p)
{
	atomic_store_explicit(&slot_of(pid)->process, p, memory_order_release);
	atomic_fetch_add_explicit(&nr_processes, 1, memory_order_relaxed);
}

void pid_detach_process(pid_t pid)
{
	struct slot *s = slot_of(pid);

	atomic_store_explicit(&s->process, NULL, memory_order_relaxed);
	s->uses--;
	atomic_fetch_sub_explicit(&nr_processes, 1, memory_order_relaxed);
}

void pid_join_group(struct process *p, pid_t pgid, pid_t sid)
{
	/* New before old: the number may be the same. */
	slot_of(pgid)->uses++;
	slot_of(sid)->uses++;
	pid_leave_group(p);
	p->pgid = pgid;
	p->sid = sid;
	list_add_tail(&p->pgrp_link, &slot_of(pgid)->group);
}

void pid_leave_group(struct process *p)
{
	if (list_empty(&p->pgrp_link))
		return;
	list_del(&p->pgrp_link);
	slot_of(p->pgid)->uses--;
	slot_of(p->sid)->uses--;
}

struct process *pid_process(pid_t pid)
{
	struct slot *s = slot_of(pid);

	return s ? atomic_load_explicit(&s->process, memory_order_acquire) : NULL;
}

struct list_head *pid_group(pid_t pgid)
{
	struct slot *s = slot_of(pgid);

	return s && !list_empty(&s->group) ? &s->group : NULL;
}

struct process *process_find_get(pid_t pid)
{
	struct process *p;

	rcu_read_lock();
	p = pid_process(pid);
	if (p) {
		int refs = atomic_load_explicit(&p->refs, memory_order_relaxed);

		/* The last reference may be going: then it is as good as gone. */
		while (refs && !atomic_compare_exchange_weak_explicit(&p->refs, &refs, refs + 1,
								      memory_order_acquire,
								      memory_order_relaxed))
			;
		if (!refs)
			p = NULL;
	}
	rcu_read_unlock();
	return p;
}

struct thread *thread_find_get(pid_t tid)
{
	struct thread *t = NULL;
	struct slot *s;

	spin_lock(&process_lock);
	s = slot_of(tid);
	if (s)
		t = s->thread;
	if (t)
		thread_get(t);
	spin_unlock(&process_lock);
	return t;
}

void process_for_each(bool (*fn)(struct process *p, void *arg), void *arg)
{
	rcu_read_lock();
	for (unsigned i = 0; i < NR_LEAVES; i++) {
		struct leaf *l = atomic_load_explicit(&leaves[i], memory_order_acquire);

		for (unsigned n = 0; l && n < LEAF_SLOTS; n++) {
			struct process *p = atomic_load_explicit(&l->slot[n].process,
								 memory_order_acquire);

			if (p && fn(p, arg))
				goto out;
		}
	}
out:
	rcu_read_unlock();
}

unsigned process_count(void)
{
	return atomic_load_explicit(&nr_processes, memory_order_relaxed);
}
