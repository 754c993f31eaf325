/* SPDX-License-Identifier: MIT */
/*
 * cgroup.type and cgroup.freeze.
 *
 * A threaded group has no memory controller; what its threads use counts at the
 * nearest group above that is a domain, where their process counts as a whole.
 *
 * Freezing: the files set a wish; "freezing" is the wish here or above.  Threads see
 * it on their way to user mode and sleep there (kernel/freezer.c).  A group is frozen
 * when it is freezing, all its threads sleep and all its children are frozen.
 *
 * Locks: memcg_mutex over types; memcg_lock over all about freezing.
 */
#include "mm/memcg_tree.h"
#include "kernel/process.h"

void (*memcg_freeze_hook)(struct user_thread *u);

const char *memcg_type_name(struct memcg *m)
{
	if (m->threaded)
		return "threaded";
	if (!memcg_valid_domain(m))
		return "domain invalid";
	return memcg_is_thread_root(m) ? "domain threaded" : "domain";
}

/* Does a child with processes of its own stand against @m as the root of threads? */
static bool has_populated_domain(struct memcg *m)
{
	struct memcg *c;

	list_for_each_entry(c, &m->children, sibling)
		if (!c->threaded && memcg_populated(c))
			return true;
	return false;
}

static int may_be_threaded(struct memcg *m)
{
	struct memcg *domain = memcg_domain(m->parent);

	if (atomic_load_explicit(&m->dead, memory_order_relaxed))
		return -ENODEV;
	if (memcg_populated(m) || m->control || !memcg_valid_domain(domain))
		return -EOPNOTSUPP;
	if (domain->parent && (has_populated_domain(domain) || domain->control))
		return -EOPNOTSUPP;
	return 0;
}

int memcg_set_threaded(struct memcg *m)
{
	int err = 0;

	mutex_lock(&memcg_mutex);
	if (!m->threaded) {
		spin_lock(&memcg_lock);
		err = may_be_threaded(m);
		spin_unlock(&memcg_lock);
		if (!err) {
			memcg_disable_memory(m);
			m->threaded = true;
			m->parent->nr_threaded++;
		}
	}
	mutex_unlock(&memcg_mutex);
	return err;
}

/* memcg_lock held. */
static bool all_frozen(struct memcg *m)
{
	struct memcg *c;

	if (!atomic_load_explicit(&m->freezing, memory_order_relaxed) || m->nr_frozen < m->nr_tasks)
		return false;
	list_for_each_entry(c, &m->children, sibling)
		if (!c->frozen)
			return false;
	return true;
}

void memcg_freeze_update(struct memcg *m)
{
	for (; m->parent; m = m->parent) {
		bool now = all_frozen(m);

		if (now == m->frozen)
			return;
		m->frozen = now;
		memcg_changed(m, MEMCG_NOTIFY_CGROUP);
	}
}

/* What @m or one above wishes has changed: its processes hear of it.  False: nothing new.  memcg_lock held. */
static bool pass_down(struct memcg *m)
{
	bool on = m->freeze ||
		  (m->parent && atomic_load_explicit(&m->parent->freezing, memory_order_relaxed));
	struct user_thread *u;

	if (on == atomic_load_explicit(&m->freezing, memory_order_relaxed))
		return false;
	atomic_store_explicit(&m->freezing, on, memory_order_seq_cst);
	list_for_each_entry(u, &m->threads, memcg_link)
		if (memcg_freeze_hook)
			memcg_freeze_hook(u);
	return true;
}

void memcg_set_freeze(struct memcg *m, bool on)
{
	bool news = false;

	mutex_lock(&memcg_mutex);
	spin_lock(&process_lock); /* no thread comes or goes */
	spin_lock(&memcg_lock);
	if (m->freeze != on) {
		m->freeze = on;
		for (struct memcg *d = m; d; d = memcg_next(d, m))
			news |= pass_down(d);
		/* Who waits for a change that an ancestor has made already or prevents is told, too. */
		if (!news)
			memcg_changed(m, MEMCG_NOTIFY_CGROUP);
		/* Each may change by itself, and then those above it again. */
		for (struct memcg *d = m; d; d = memcg_next(d, m))
			memcg_freeze_update(d);
	}
	spin_unlock(&memcg_lock);
	spin_unlock(&process_lock);
	mutex_unlock(&memcg_mutex);
}
