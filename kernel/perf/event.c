/* SPDX-License-Identifier: MIT */
/* Events: life, enabling, reading; see event.h. */
#include "kernel/perf/event.h"

#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/perf/perf.h"
#include "kernel/sched.h"
#include "kernel/smp.h"
#include "kernel/string.h"
#include "mm/slab.h"

/* Over the lists thread->perf of all threads; they change seldom. */
static struct spinlock perf_tasks_lock = SPINLOCK_INIT("perf_tasks");
static struct spinlock siblings_lock = SPINLOCK_INIT("perf_siblings");

struct perf_event *perf_event_create(struct pmu *pmu, struct memcg *group, int cpu, bool task)
{
	static _Atomic uint64_t last_id;
	struct perf_event *e;
	long err = -EINVAL;

	if (cpu >= (int)nr_cpus || (cpu < 0 && !task) || (group && task))
		goto fail;
	err = -ENOMEM;
	/* Everybody, but on that CPU itself. */
	if (pmu->slots && !task && !group)
		group = memcg_root;
	if (group && !perf_hist_prepare((unsigned)cpu))
		goto fail;
	e = kzalloc(sizeof(*e), GFP_KERNEL | GFP_ACCOUNT);
	if (!e)
		goto fail;
	e->pmu = pmu;
	e->group = group;
	if (group)
		memcg_get(group);
	e->cpu = cpu;
	e->task = task;
	e->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	atomic_init(&e->refs, 1);
	spin_init(&e->lock, "perf_event");
	list_init(&e->attached);
	atomic_init(&e->leader, e);
	list_init(&e->siblings);
	e->run.event = e;
	perf_hook_get();
	return e;
fail:
	pmu_put(pmu);
	return ERR_PTR(err);
}

static void event_get(struct perf_event *e)
{
	atomic_fetch_add_explicit(&e->refs, 1, memory_order_relaxed);
}

void perf_event_put(struct perf_event *e)
{
	if (atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1)
		return;
	perf_hook_put();
	if (e->group)
		memcg_put(e->group);
	pmu_put(e->pmu);
	kfree(e);
}

/* Calls the CPUs on which the event's tasks run now.  lock held. */
static void update_tasks(struct perf_event *e)
{
	uint64_t mask[MAX_CPUS / 64] = { 0 };
	struct perf_attach *a;
	bool any = false;

	list_for_each_entry(a, &e->attached, link) {
		int on = atomic_load_explicit(&a->on, memory_order_seq_cst);

		if (on < 0)
			continue;
		mask[on / 64] |= 1ULL << (on % 64);
		any = true;
	}
	if (any)
		smp_call_mask(mask, perf_task_update, e);
}

/* After enabled has changed.  lock held. */
static void update(struct perf_event *e, bool enabled)
{
	uint64_t now;

	if (e->task) {
		update_tasks(e);
	} else if (e->group) {
		smp_call((unsigned)e->cpu, perf_group_update, e);
	} else {
		/* Readable from anywhere: no need to wake an idle CPU. */
		now = pmu_read(e->pmu, (unsigned)e->cpu);
		if (atomic_load_explicit(&e->in, memory_order_relaxed))
			count_add(&e->count,
				  now - atomic_load_explicit(&e->start, memory_order_relaxed));
		atomic_store_explicit(&e->start, now, memory_order_relaxed);
		atomic_store_explicit(&e->in, enabled, memory_order_relaxed);
	}
}

int perf_event_config(struct perf_event *e, uint64_t config)
{
	e->config = config;
	return e->pmu->slots ? e->pmu->check(e->pmu, config) : 0;
}

/* Makes enabled what it should be.  perf_siblings held. */
static void apply(struct perf_event *e)
{
	struct perf_event *leader = atomic_load_explicit(&e->leader, memory_order_relaxed);
	bool enabled = e->wanted && leader->wanted;
	uint64_t at;

	spin_lock(&e->lock);
	if (atomic_load_explicit(&e->enabled, memory_order_relaxed) != enabled) {
		atomic_store_explicit(&e->enabled, enabled, memory_order_seq_cst);
		at = atomic_exchange_explicit(&e->enabled_at, enabled ? clock_ns() : 0,
					      memory_order_relaxed);
		if (at)
			atomic_fetch_add_explicit(&e->enabled_ns, clock_ns() - at,
						  memory_order_relaxed);
		update(e, enabled);
	}
	spin_unlock(&e->lock);
}

static void set_wanted(struct perf_event *e, bool wanted)
{
	struct perf_event *s;

	e->wanted = wanted;
	apply(e);
	if (atomic_load_explicit(&e->leader, memory_order_relaxed) != e)
		return;
	list_for_each_entry(s, &e->siblings, siblings)
		apply(s);
}

void perf_event_enable(struct perf_event *e)
{
	spin_lock(&siblings_lock);
	set_wanted(e, true);
	spin_unlock(&siblings_lock);
}

void perf_event_disable(struct perf_event *e)
{
	spin_lock(&siblings_lock);
	set_wanted(e, false);
	spin_unlock(&siblings_lock);
}

int perf_event_join(struct perf_event *e, struct perf_event *leader)
{
	int err = -EINVAL;

	spin_lock(&siblings_lock);
	if (atomic_load_explicit(&leader->leader, memory_order_relaxed) == leader) {
		atomic_store_explicit(&e->leader, leader, memory_order_relaxed);
		list_add_tail(&e->siblings, &leader->siblings);
		err = 0;
	}
	spin_unlock(&siblings_lock);
	return err;
}

/* Leaves its group, or dissolves the one it leads: each goes on by itself. */
static void leave_group(struct perf_event *e)
{
	struct perf_event *s, *next;

	spin_lock(&siblings_lock);
	if (atomic_load_explicit(&e->leader, memory_order_relaxed) != e) {
		list_del(&e->siblings);
		atomic_store_explicit(&e->leader, e, memory_order_relaxed);
	} else {
		list_for_each_entry_safe(s, next, &e->siblings, siblings) {
			list_del(&s->siblings);
			atomic_store_explicit(&s->leader, s, memory_order_relaxed);
			apply(s);
		}
	}
	spin_unlock(&siblings_lock);
}

void perf_group_each(struct perf_event *e, void (*fn)(struct perf_event *e, void *arg), void *arg)
{
	struct perf_event *leader, *s;

	spin_lock(&siblings_lock);
	leader = atomic_load_explicit(&e->leader, memory_order_relaxed);
	fn(leader, arg);
	list_for_each_entry(s, &leader->siblings, siblings)
		fn(s, arg);
	spin_unlock(&siblings_lock);
}

static void set_one(struct perf_event *e, void *arg)
{
	int what = *(int *)arg;

	if (what < 0)
		perf_event_reset(e);
	else
		set_wanted(e, what);
}

void perf_group_set(struct perf_event *leader, int what)
{
	perf_group_each(leader, set_one, &what);
}

/* What has been counted in all, without regard to resets. */
static uint64_t read_total(struct perf_event *e)
{
	uint64_t n;

	spin_lock(&e->lock);
	if (atomic_load_explicit(&e->enabled, memory_order_relaxed)) {
		/* A group event that is out is complete, and its CPU may go on sleeping. */
		if (e->task || !e->group || atomic_load_explicit(&e->in, memory_order_relaxed))
			update(e, true);
	}
	n = atomic_load_explicit(&e->count, memory_order_relaxed);
	spin_unlock(&e->lock);
	return n;
}

uint64_t perf_event_read(struct perf_event *e)
{
	return read_total(e) - atomic_load_explicit(&e->zero, memory_order_relaxed);
}

void perf_event_reset(struct perf_event *e)
{
	atomic_store_explicit(&e->zero, read_total(e), memory_order_relaxed);
}

void perf_event_times(struct perf_event *e, uint64_t *enabled, uint64_t *running)
{
	uint64_t at = atomic_load_explicit(&e->enabled_at, memory_order_relaxed);

	if (e->pmu->slots) {
		*running = atomic_load_explicit(&e->run_ns, memory_order_relaxed);
		*enabled = atomic_load_explicit(&e->in_ns, memory_order_relaxed);
		return;
	}
	/* Others run all the time they are enabled. */
	*enabled = *running = atomic_load_explicit(&e->enabled_ns, memory_order_relaxed) +
			      (at ? clock_ns() - at : 0);
}

static struct perf_attach *attach_alloc(struct perf_event *e, struct thread *t, gfp_t gfp)
{
	struct perf_attach *a = kzalloc(sizeof(*a), gfp);

	if (!a)
		return NULL;
	a->event = e;
	a->thread = t;
	a->run.event = e;
	atomic_init(&a->on, -1);
	event_get(e);
	return a;
}

static void attach_free(struct rcu_head *h)
{
	struct perf_attach *a = container_of(h, struct perf_attach, rcu);

	perf_event_put(a->event);
	kfree(a);
}

/* Publishes @a.  false: the thread ends. */
static bool attach_publish(struct perf_attach *a)
{
	struct thread *t = a->thread;
	bool ok;

	spin_lock(&a->event->lock);
	spin_lock(&perf_tasks_lock);
	ok = !(atomic_load_explicit(&t->flags, memory_order_relaxed) & THREAD_F_PERF_DONE);
	if (ok) {
		atomic_init(&a->next, atomic_load_explicit(&t->perf, memory_order_relaxed));
		rcu_assign_pointer(t->perf, a);
		list_add_tail(&a->link, &a->event->attached);
	}
	spin_unlock(&perf_tasks_lock);
	spin_unlock(&a->event->lock);
	return ok;
}

/* Takes @a off its thread's list; perf_tasks_lock held. */
static void attach_unlink(struct perf_attach *a)
{
	_Atomic(struct perf_attach *) *at = &a->thread->perf;
	struct perf_attach *b;

	while ((b = atomic_load_explicit(at, memory_order_relaxed)) && b != a)
		at = &b->next;
	if (b)
		rcu_assign_pointer(*at, atomic_load_explicit(&a->next, memory_order_relaxed));
}

/* Remote call: a thread that has got its first attachments while it runs. */
static void announce(void *arg)
{
	struct perf_attach *a = arg;

	if (this_cpu(run_queue).curr != a->thread)
		return;
	atomic_store_explicit(&a->on, (int)cpu_id(), memory_order_seq_cst);
	perf_task_update(a->event);
}

int perf_event_attach(struct perf_event *e, struct thread *t)
{
	struct perf_attach *a = attach_alloc(e, t, GFP_KERNEL | GFP_ACCOUNT);
	unsigned cpu;

	if (!a)
		return -ENOMEM;
	if (!attach_publish(a)) {
		attach_free(&a->rcu);
		return -ESRCH;
	}
	/*
	 * It may have been switched to before it had the list.  Where it was then,
	 * that switch is over when the call arrives; else the next one sees the list.
	 */
	do {
		cpu = atomic_load_explicit(&t->cpu, memory_order_seq_cst);
		smp_call(cpu, announce, a);
	} while (atomic_load_explicit(&a->on, memory_order_seq_cst) < 0 &&
		 atomic_load_explicit(&t->cpu, memory_order_seq_cst) != cpu);
	return 0;
}

void perf_event_close(struct perf_event *e)
{
	struct perf_attach *a, *next;
	struct list_head gone = LIST_HEAD_INIT(gone);

	perf_event_disable(e);
	leave_group(e);
	spin_lock(&e->lock);
	spin_lock(&perf_tasks_lock);
	list_for_each_entry_safe(a, next, &e->attached, link) {
		attach_unlink(a);
		list_move_tail(&a->link, &gone);
	}
	spin_unlock(&perf_tasks_lock);
	spin_unlock(&e->lock);
	list_for_each_entry_safe(a, next, &gone, link)
		call_rcu(&a->rcu, attach_free);
	perf_event_put(e);
}

void perf_fork_slow(struct thread *child)
{
	struct perf_attach *a, *b;

	rcu_read_lock();
	for (a = rcu_dereference(current->perf); a; a = rcu_dereference(a->next)) {
		struct perf_event *e = a->event;

		if (!e->inherit)
			continue;
		b = attach_alloc(e, child, GFP_ATOMIC); /* under RCU: no sleeping */
		if (b)
			attach_publish(b);
		else
			atomic_fetch_add_explicit(&e->missed, 1, memory_order_relaxed);
	}
	rcu_read_unlock();
}

void perf_exec_slow(void)
{
	struct perf_attach *a;

	rcu_read_lock();
	for (a = rcu_dereference(current->perf); a; a = rcu_dereference(a->next))
		if (atomic_exchange_explicit(&a->event->on_exec, false, memory_order_relaxed))
			perf_event_enable(a->event);
	rcu_read_unlock();
}

void perf_exit_slow(void)
{
	struct thread *t = current;
	struct perf_attach *a;
	irqstate_t irq;

	spin_lock(&perf_tasks_lock);
	atomic_fetch_or_explicit(&t->flags, THREAD_F_PERF_DONE, memory_order_relaxed);
	spin_unlock(&perf_tasks_lock);
	for (;;) {
		struct perf_event *e;

		rcu_read_lock();
		a = rcu_dereference(t->perf);
		if (a)
			event_get(a->event);
		e = a ? a->event : NULL;
		rcu_read_unlock();
		if (!e)
			return;
		spin_lock(&e->lock);
		spin_lock(&perf_tasks_lock);
		/* Its event may have been closed meanwhile. */
		if (atomic_load_explicit(&t->perf, memory_order_relaxed) == a) {
			irq = irq_save();
			perf_attach_end(a);
			irq_restore(irq);
			attach_unlink(a);
			list_del(&a->link);
			call_rcu(&a->rcu, attach_free);
		}
		spin_unlock(&perf_tasks_lock);
		spin_unlock(&e->lock);
		perf_event_put(e);
	}
}
