/* SPDX-License-Identifier: MIT */
/*
 * The sampling thread of pressure figures: what is "full", and triggers (mm/psi.h).
 *
 * It sleeps until a level is entered, then looks at all active levels every
 * PSI_SAMPLE_NS until nothing more can come of them.  A level is full if no CPU runs a
 * program of its subtree that is not itself stalled.
 */
#include "mm/psi_int.h"
#include "mm/slab.h"
#include "kernel/log.h"
#include "kernel/process.h"
#include "kernel/rcu.h"

#define MIN_WINDOW_NS (500 * NSEC_PER_MSEC)
#define MAX_WINDOW_NS (10 * NSEC_PER_SEC)

/* Legend: [I] constant, [l] psi->lock, [a] atomic. */
struct psi_trigger {
	struct memcg *group;       /* [I] referenced */
	enum psi_what what;        /* [I] */
	uint64_t stall, window;    /* [I] ns */
	struct list_head link;     /* [l] */
	uint64_t start;            /* [l] of the present window */
	uint64_t total_at_start;   /* [l] */
	uint64_t growth_before;    /* [l] in the window before */
	uint64_t last_fired;       /* [l] */
	_Atomic bool fired;        /* [a] */
	struct wait_queue queue;
};

static LIST_HEAD(active); /* active_lock; each level's group is referenced */
static struct spinlock active_lock = SPINLOCK_INIT("psi_active");
static struct thread *monitor;

void psi_watch(struct psi *p)
{
	bool news = false;

	spin_lock(&active_lock);
	if (!p->is_active) {
		memcg_get(p->group);
		p->is_active = true;
		list_add_tail(&p->active, &active);
		news = true;
	}
	spin_unlock(&active_lock);
	if (news && monitor)
		thread_wake(monitor);
}

static bool is_below(const struct memcg *m, const struct memcg *top)
{
	while (m->depth > top->depth)
		m = m->parent;
	return m == top;
}

/* Does any CPU run a program of @top's subtree that does not wait for memory? */
static bool works(struct memcg *top)
{
	bool yes = false;

	rcu_read_lock();
	for_each_cpu(cpu) {
		struct thread *t = sched_running(cpu);

		yes = t && t->process &&
		      !(atomic_load_explicit(&t->flags, memory_order_relaxed) &
			THREAD_F_MEMSTALL) &&
		      is_below(memcg_of_process(t->process), top);
		if (yes)
			break;
	}
	rcu_read_unlock();
	return yes;
}

/* Lock held: as much of the window before as the present one is short of a whole. */
static uint64_t growth(struct psi_trigger *t, uint64_t total, uint64_t now)
{
	uint64_t passed = now - t->start, g = total - t->total_at_start;

	if (passed >= t->window) {
		t->growth_before = g;
		t->start = now;
		t->total_at_start = total;
		return g;
	}
	return g + t->growth_before / 1024 * ((t->window - passed) / (t->window / 1024));
}

/* Lock held.  Return: a window of somebody is still open. */
static bool look_at_triggers(struct psi *p, uint64_t now)
{
	struct psi_trigger *t;
	bool open = false;

	list_for_each_entry(t, &p->triggers, link) {
		uint64_t g = growth(t, p->total[t->what], now);

		open |= g != 0;
		if (g < t->stall || now < t->last_fired + t->window)
			continue;
		t->last_fired = now;
		atomic_store_explicit(&t->fired, true, memory_order_release);
		wake_up(&t->queue);
	}
	return open;
}

/* Return: nothing more to see here for now. */
static bool sample(struct psi *p, uint64_t now)
{
	bool full = !works(p->group), quiet;

	spin_lock(&p->lock);
	psi_advance(p, now);
	if (full) {
		p->total[PSI_FULL] += p->unjudged;
		p->in_period[PSI_FULL] += p->unjudged;
	}
	p->unjudged = 0;
	quiet = !look_at_triggers(p, now) && !p->counting;
	spin_unlock(&p->lock);
	return quiet;
}

static void sample_all(uint64_t now)
{
	LIST_HEAD(todo);
	LIST_HEAD(keep);

	spin_lock(&active_lock);
	list_splice_tail_init(&active, &todo);
	while (!list_empty(&todo)) {
		struct psi *p = list_first_entry(&todo, struct psi, active);
		bool quiet;

		spin_unlock(&active_lock);
		quiet = sample(p, now);
		spin_lock(&active_lock);
		list_del(&p->active);
		/* A thread that enters now finds it active, or not and puts it back itself. */
		if (quiet && !atomic_load_explicit(&p->stalled, memory_order_seq_cst)) {
			p->is_active = false;
			spin_unlock(&active_lock);
			memcg_put(p->group);
			spin_lock(&active_lock);
		} else {
			list_add_tail(&p->active, &keep);
		}
	}
	list_splice_tail_init(&keep, &active);
	spin_unlock(&active_lock);
}

static void monitor_main(void *arg)
{
	for (;;) {
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		if (list_empty(&active))
			schedule();
		thread_finish_sleep();
		thread_sleep_until(clock_ns() + PSI_SAMPLE_NS, false);
		sample_all(clock_ns());
	}
}

struct psi_trigger *psi_trigger_create(struct memcg *m, enum psi_what what, uint64_t stall_ns,
				       uint64_t window_ns)
{
	struct psi *p;
	struct psi_trigger *t;

	if (window_ns < MIN_WINDOW_NS || window_ns > MAX_WINDOW_NS || !stall_ns ||
	    stall_ns > window_ns)
		return ERR_PTR(-EINVAL);
	p = psi_make(m);
	t = p ? kzalloc(sizeof(*t), GFP_KERNEL) : NULL;
	if (!t)
		return ERR_PTR(-ENOMEM);
	memcg_get(m);
	t->group = m;
	t->what = what;
	t->stall = stall_ns;
	t->window = window_ns;
	wq_init(&t->queue, "psi_trigger");
	spin_lock(&p->lock);
	psi_advance(p, clock_ns());
	t->start = p->since;
	t->total_at_start = p->total[what];
	list_add_tail(&t->link, &p->triggers);
	spin_unlock(&p->lock);
	psi_watch(p);
	return t;
}

void psi_trigger_destroy(struct psi_trigger *t)
{
	struct psi *p = psi_of(t->group);

	spin_lock(&p->lock);
	list_del(&t->link);
	spin_unlock(&p->lock);
	memcg_put(t->group);
	kfree(t);
}

struct wait_queue *psi_trigger_queue(struct psi_trigger *t)
{
	return &t->queue;
}

bool psi_trigger_fired(struct psi_trigger *t)
{
	return atomic_load_explicit(&t->fired, memory_order_relaxed) &&
	       atomic_exchange_explicit(&t->fired, false, memory_order_acquire);
}

void psi_init(void)
{
	struct thread *t = thread_create("psi", monitor_main, NULL, -1);

	if (IS_ERR(t))
		panic("psi: no memory for its thread");
	monitor = t; /* keeps the reference */
	thread_start(t);
}
