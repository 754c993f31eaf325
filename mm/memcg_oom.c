/* SPDX-License-Identifier: MIT */
/*
 * Out of memory: choosing and killing, inside a group that is over its limit or on
 * the whole machine.
 *
 * The victim is the process of the subtree that frees most: its anonymous pages and
 * page tables, moved by oom_score_adj thousandths of what the group may have; -1000
 * is never chosen.  While a process of the subtree is on its way out nobody else is
 * killed.  If a group between the victim and the limit has memory.oom.group set,
 * everything in the topmost such group goes with it.
 *
 * Locks: process_lock, in it memcg_lock, for the choice; none while killing.
 */
#include "mm/memcg_tree.h"
#include "mm/stock.h"
#include "mm/vm_int.h"
#include "kernel/log.h"
#include "kernel/process.h"
#include "kernel/sighand.h"
#include "kernel/string.h"

/* Between looks at what a victim has given back; a crowd looks less often, for the victim's sake. */
#define VICTIM_WAIT_NS (5 * NSEC_PER_MSEC)
#define VICTIM_WAIT_MAX_NS (25 * NSEC_PER_MSEC)

bool memcg_dying(void)
{
	return kill_pending(current);
}

bool memcg_wait_victim(void)
{
	static _Atomic unsigned waiters;
	unsigned n = atomic_fetch_add_explicit(&waiters, 1, memory_order_relaxed);

	thread_sleep_until(clock_ns() + min_t(uint64_t, VICTIM_WAIT_NS * (1 + n / 4), VICTIM_WAIT_MAX_NS),
			   false);
	atomic_fetch_sub_explicit(&waiters, 1, memory_order_relaxed);
	return kill_pending(current);
}

struct choice {
	struct process *victim; /* referenced */
	struct memcg *group;    /* the victim's; referenced */
	int64_t score;
	uint64_t pages, all;    /* the victim's, and what the limit is */
	bool dying;             /* somebody is on his way out */
};

/* Set for good, under the process's sighand->lock; without it this is a look that may come too early. */
static bool is_dying(const struct process *p)
{
	return __atomic_load_n(&p->group_exit, __ATOMIC_RELAXED);
}

/* process_lock and memcg_lock held. */
static void consider(struct choice *c, struct process *p, struct memcg *m)
{
	struct vm_space *s = atomic_load_explicit(&p->space, memory_order_relaxed);
	int adj = atomic_load_explicit(&p->oom_score_adj, memory_order_relaxed);
	int64_t score;
	uint64_t pages;

	if (is_dying(p)) {
		c->dying = true;
		return;
	}
	if (!s || adj == -1000 || p == init_process)
		return;
	pages = atomic_load_explicit(&s->nr_anon, memory_order_relaxed) +
		atomic_load_explicit(&s->nr_tables, memory_order_relaxed);
	score = (int64_t)pages + (int64_t)c->all / 1000 * adj;
	if (c->victim && score <= c->score)
		return;
	if (c->victim)
		process_put(c->victim);
	if (c->group)
		memcg_put(c->group);
	process_get(p);
	memcg_get(m);
	c->victim = p;
	c->group = m;
	c->score = score;
	c->pages = pages;
}

static void choose(struct choice *c, struct memcg *top)
{
	struct process *p;

	spin_lock(&process_lock);
	spin_lock(&memcg_lock);
	for (struct memcg *m = top; m && !c->dying; m = memcg_next(m, top))
		list_for_each_entry(p, &m->procs, memcg_link) {
			consider(c, p, m);
			if (c->dying)
				break;
		}
	spin_unlock(&memcg_lock);
	spin_unlock(&process_lock);
}

/* The topmost group with memory.oom.group from @m up to @top, referenced, or NULL. */
static struct memcg *kill_together(struct memcg *m, struct memcg *top)
{
	struct memcg *found = NULL;

	rcu_read_lock();
	for (; m && m->parent; m = m->parent) {
		struct account *a = memcg_account(m);

		if (a && atomic_load_explicit(&a->oom_group, memory_order_relaxed))
			found = m;
		if (m == top)
			break;
	}
	found = found ? memcg_tryget(found) : NULL;
	rcu_read_unlock();
	return found;
}

static void count(struct memcg *m, enum memcg_event ev)
{
	rcu_read_lock();
	account_event(memcg_effective_account(m), ev);
	rcu_read_unlock();
}

static void kill_one(struct process *p, struct memcg *m)
{
	struct vm_space *s;

	if (m)
		count(m, MEMCG_EV_OOM_KILL);
	signal_kill(p);
	if (p == current->process)
		return;
	/* Its threads may be long in dying; what only they can see can go at once. */
	s = p->space_shared ? NULL : process_space_get(p);
	if (s) {
		vm_reap(s);
		vm_put(s);
	}
}

/*
 * Kills everything in @group; @oom: but what is protected by -1000, with events.
 * All in one look under process_lock: a fork under way then either shows its child
 * here or finds its process being killed.
 */
static void kill_group(struct memcg *group, bool oom)
{
	struct process *p;

	spin_lock(&process_lock);
	spin_lock(&memcg_lock);
	for (struct memcg *m = group; m; m = memcg_next(m, group))
		list_for_each_entry(p, &m->procs, memcg_link) {
			if (is_dying(p) || p == init_process ||
			    (oom && atomic_load_explicit(&p->oom_score_adj,
							 memory_order_relaxed) == -1000))
				continue;
			if (oom)
				count(m, MEMCG_EV_OOM_KILL);
			signal_kill(p);
		}
	spin_unlock(&memcg_lock);
	spin_unlock(&process_lock);
}

void memcg_kill_all(struct memcg *m)
{
	kill_group(m, false);
}

static int64_t used_pages(struct memcg *top)
{
	struct page_stats st;
	int64_t usage;

	if (!top->parent) {
		page_stats(&st);
		return (int64_t)(st.total - st.free);
	}
	rcu_read_lock();
	usage = account_usage(memcg_effective_account(top));
	rcu_read_unlock();
	return usage;
}

/* @together: the group that goes as a whole, or NULL. */
static void tell(const struct choice *c, struct memcg *top, const char *why, uint64_t pages,
		 struct memcg *together)
{
	struct process *me = current->process;
	int64_t usage = used_pages(top);
	char victims[96], tops[96];

	memcg_path_of(c->group, victims, sizeof(victims));
	memcg_path_of(top, tops, sizeof(tops));
	pr_warn("oom: %s of %s: %llu KiB used, %llu wanted by %d (%s): kill %d (%s) of %s, %llu KiB, "
		"adj %d",
		why, tops, (unsigned long long)usage * 4, (unsigned long long)pages * 4,
		me ? me->pid : 0, me ? me->name : current->name, c->victim->pid, c->victim->name,
		victims, (unsigned long long)c->pages * 4,
		atomic_load_explicit(&c->victim->oom_score_adj, memory_order_relaxed));
	if (together) {
		memcg_path_of(together, tops, sizeof(tops));
		pr_warn("oom: and everything else in %s, by its memory.oom.group", tops);
	}
}

static uint64_t allowed_pages(struct memcg *top)
{
	struct page_stats st;
	int64_t most = PAGE_COUNTER_MAX;

	page_stats(&st);
	if (top->parent)
		most = memcg_get_limit(top, PC_MAX);
	return most < (int64_t)st.total ? (uint64_t)most : st.total;
}

bool oom_kill(struct memcg *mg, const char *why, uint64_t pages)
{
	static struct mutex one = MUTEX_INIT(one, "oom"); /* one choice at a time */
	struct memcg *top = mg ? mg : memcg_root, *together;
	struct choice c = { .all = 0 };
	bool found;

	if (!mutex_trylock(&one))
		return true; /* somebody is choosing: there will be a victim */
	c.all = allowed_pages(top);
	choose(&c, top);
	found = c.victim || c.dying;
	if (!c.dying) {
		count(top, MEMCG_EV_OOM);
		if (c.victim) {
			together = kill_together(c.group, top);
			tell(&c, top, why, pages, together);
			if (together) {
				count(together, MEMCG_EV_OOM_GROUP_KILL);
				/* As on Linux, where the victim counts once more than the others. */
				count(c.group, MEMCG_EV_OOM_KILL);
				kill_group(together, true);
				memcg_put(together);
			} else {
				kill_one(c.victim, c.group);
			}
		}
	}
	mutex_unlock(&one);
	if (c.victim)
		process_put(c.victim);
	if (c.group)
		memcg_put(c.group);
	return found;
}
