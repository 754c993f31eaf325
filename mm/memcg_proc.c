/* SPDX-License-Identifier: MIT */
/*
 * Which process is in which group.
 *
 * process.memcg is read under RCU by the process itself (current_owner(), on every
 * charge) and by others; it changes, with the lists and counts that follow from it,
 * under memcg_lock.  A group with processes cannot be removed, so the pointer of a
 * live process stays good; after memcg_exit() it points to the root.
 */
#include "mm/memcg_tree.h"
#include "mm/stock.h"
#include "kernel/process.h"
#include "kernel/string.h"

struct owner *current_owner(void)
{
	struct process *p = current->process;
	struct memcg *m;

	if (!p)
		return NULL;
	m = atomic_load_explicit(&p->memcg, memory_order_acquire);
	return m ? atomic_load_explicit(&m->owner, memory_order_acquire) : NULL;
}

struct memcg *memcg_of_process(struct process *p)
{
	struct memcg *m = atomic_load_explicit(&p->memcg, memory_order_acquire);

	return m ? m : memcg_root;
}

/* memcg_lock held. */
static void enter(struct process *p, struct memcg *m)
{
	list_add_tail(&p->memcg_link, &m->procs);
	memcg_count_in(m);
	atomic_store_explicit(&p->memcg, m, memory_order_release);
	memcg_freeze_update(m);
}

/* memcg_lock held.  *o: owner whose last user left (referenced), or NULL. */
static void leave(struct process *p, struct memcg *m, struct owner **o)
{
	list_del(&p->memcg_link);
	if (!memcg_count_out(m, o))
		*o = NULL;
	memcg_freeze_update(m);
}

void memcg_fork(struct process *child, struct process *parent)
{
	spin_lock(&memcg_lock);
	enter(child, parent ? memcg_of_process(parent) : memcg_root);
	spin_unlock(&memcg_lock);
}

int memcg_fork_into(struct process *child, struct process *parent, struct memcg *group)
{
	int err = 0;

	if (!group) {
		memcg_fork(child, parent);
		return 0;
	}
	spin_lock(&memcg_lock);
	if (atomic_load_explicit(&group->dead, memory_order_relaxed))
		err = -ENODEV;
	else
		enter(child, group);
	spin_unlock(&memcg_lock);
	return err;
}

void memcg_exit(struct process *p)
{
	struct memcg *m;
	struct owner *o = NULL;

	spin_lock(&memcg_lock);
	m = atomic_load_explicit(&p->memcg, memory_order_relaxed);
	if (m && !list_empty(&p->memcg_link)) {
		leave(p, m, &o);
		atomic_store_explicit(&p->memcg, memcg_root, memory_order_release);
	}
	spin_unlock(&memcg_lock);
	if (o)
		memcg_return_stock(o);
}

void (*memcg_moved_hook)(void);

/* May a process be put into @m?  memcg_mutex held. */
static int may_enter(struct memcg *m)
{
	if (atomic_load_explicit(&m->dead, memory_order_relaxed))
		return -ENODEV;
	if (!memcg_valid_domain(memcg_domain(m)))
		return -EOPNOTSUPP;
	return m->parent && m->control ? -EBUSY : 0;
}

int memcg_may_enter(struct memcg *m)
{
	int err;

	mutex_lock(&memcg_mutex);
	err = may_enter(m);
	mutex_unlock(&memcg_mutex);
	return err;
}

/* The process to move, referenced; NULL.  A thread's id stands for its process. */
static struct process *find(pid_t pid, bool thread)
{
	struct process *p = NULL;
	struct thread *t;

	if (!pid) {
		process_get(current->process);
		return current->process;
	}
	p = process_find_get(pid);
	if (p)
		return p;
	t = thread_find_get(pid);
	if (!t)
		return NULL;
	spin_lock(&process_lock);
	p = t->user ? t->process : NULL;
	if (p)
		process_get(p);
	spin_unlock(&process_lock);
	thread_put(t);
	return p;
}

int memcg_attach(struct memcg *m, pid_t pid, bool thread,
		 int (*may)(struct memcg *from, struct memcg *to, void *arg), void *arg)
{
	struct process *p = find(pid, thread);
	struct owner *o = NULL;
	struct memcg *from;
	int err;

	if (!p)
		return -ESRCH;
	mutex_lock(&memcg_mutex); /* controllers and types stay as they are */
	from = memcg_of_process(p); /* nobody else moves it */
	err = may ? may(from, m, arg) : 0;
	if (!err)
		err = may_enter(m);
	if (!err && thread && memcg_domain(from) != memcg_domain(m))
		err = -EOPNOTSUPP;
	spin_lock(&process_lock);
	spin_lock(&memcg_lock);
	if (!err && list_empty(&p->memcg_link))
		err = -ESRCH; /* it has just exited */
	if (!err && thread && p->nr_threads > 1)
		err = -EOPNOTSUPP; /* processes stay whole */
	from = memcg_of_process(p);
	if (!err && from != m) {
		leave(p, from, &o);
		enter(p, m);
		if (memcg_freeze_hook && atomic_load_explicit(&m->freezing, memory_order_relaxed) !=
						 atomic_load_explicit(&from->freezing, memory_order_relaxed))
			memcg_freeze_hook(p);
	}
	spin_unlock(&memcg_lock);
	spin_unlock(&process_lock);
	mutex_unlock(&memcg_mutex);
	if (!err && memcg_moved_hook)
		memcg_moved_hook();
	if (o)
		memcg_return_stock(o);
	process_put(p);
	return err;
}

void memcg_for_each_pid(struct memcg *m, void (*fn)(pid_t pid, void *arg), void *arg)
{
	struct memcg *top = m;
	struct process *p;

	spin_lock(&memcg_lock);
	for (; m; m = memcg_next(m, top))
		if (memcg_domain(m) == top)
			list_for_each_entry(p, &m->procs, memcg_link)
				fn(p->pid, arg);
	spin_unlock(&memcg_lock);
}

void memcg_for_each_tid(struct memcg *m, void (*fn)(pid_t tid, void *arg), void *arg)
{
	struct user_thread *u;
	struct process *p;

	spin_lock(&process_lock);
	spin_lock(&memcg_lock);
	list_for_each_entry(p, &m->procs, memcg_link)
		list_for_each_entry(u, &p->threads, group_link)
			fn(u->thread->tid, arg);
	spin_unlock(&memcg_lock);
	spin_unlock(&process_lock);
}

/* Writes the path of @m, from the end of @buf backwards; its start. */
static char *path_of(struct memcg *m, char *buf, size_t n)
{
	char *at = buf + n - 1;

	*at = 0;
	for (; m->parent; m = m->parent) {
		size_t len = strlen(m->name);

		if ((size_t)(at - buf) < len + 1)
			break;
		at -= len;
		memcpy(at, m->name, len);
		*--at = '/';
	}
	if (!*at)
		*--at = '/';
	return at;
}

int memcg_path_of(struct memcg *m, char *buf, size_t n)
{
	char *at;

	if (n < 2)
		return -ENAMETOOLONG;
	rcu_read_lock();
	at = path_of(m, buf, n);
	rcu_read_unlock();
	memmove(buf, at, strlen(at) + 1);
	return 0;
}

int memcg_path(struct process *p, char *buf, size_t n)
{
	int err;

	rcu_read_lock();
	err = memcg_path_of(memcg_of_process(p), buf, n);
	rcu_read_unlock();
	return err;
}
