/* SPDX-License-Identifier: MIT */
/*
 * Which process is in which group.
 *
 * user_thread.memcg is the group of a thread; process.memcg the one at which its
 * process counts: that group, or the domain above when it is threaded, so all threads
 * of a process agree.  It is read under RCU by the process itself (current_owner(), on
 * every charge) and by others; both change, with the lists and counts that follow from
 * them, under memcg_lock, moves also under memcg_mutex.  A group with threads cannot
 * be removed, nor one above it, so the pointers of a live process stay good; after
 * memcg_exit() they point to the root.
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

struct memcg *memcg_of_thread(struct user_thread *u)
{
	struct memcg *m = atomic_load_explicit(&u->memcg, memory_order_acquire);

	return m ? m : memcg_root;
}

/* The four: memcg_lock held. */
static void process_enter(struct process *p, struct memcg *m)
{
	list_add_tail(&p->memcg_link, &m->procs);
	memcg_count_in(m);
	atomic_store_explicit(&p->memcg, m, memory_order_release);
}

/* *o: owner whose last user left (referenced), or NULL. */
static void process_leave(struct process *p, struct memcg *m, struct owner **o)
{
	list_del(&p->memcg_link);
	if (!memcg_count_out(m, o))
		*o = NULL;
}

/*
 * A frozen group stays so when a thread is born into it: the thread does nothing but
 * go to sleep.  Who moves one that has been running calls memcg_freeze_update().
 */
static void thread_enter(struct user_thread *u, struct memcg *m)
{
	list_add_tail(&u->memcg_link, &m->threads);
	atomic_store_explicit(&u->memcg, m, memory_order_release);
	m->nr_frozen += u->frozen;
	memcg_count_task(m, 1);
}

static void thread_leave(struct user_thread *u)
{
	struct memcg *m = memcg_of_thread(u);

	list_del(&u->memcg_link);
	m->nr_frozen -= u->frozen;
	memcg_count_task(m, -1);
	memcg_freeze_update(m);
}

int memcg_fork(struct process *child, struct user_thread *first, struct memcg *group)
{
	int err = 0;

	spin_lock(&memcg_lock);
	if (!group)
		group = current->user ? memcg_of_thread(current->user) : memcg_root;
	if (atomic_load_explicit(&group->dead, memory_order_relaxed)) {
		err = -ENODEV;
	} else {
		process_enter(child, memcg_domain(group));
		thread_enter(first, group);
	}
	spin_unlock(&memcg_lock);
	return err;
}

void memcg_thread_start(struct user_thread *u)
{
	spin_lock(&memcg_lock);
	thread_enter(u, memcg_of_thread(current->user));
	spin_unlock(&memcg_lock);
}

void memcg_thread_exit(struct user_thread *u)
{
	spin_lock(&memcg_lock);
	thread_leave(u);
	spin_unlock(&memcg_lock);
}

void memcg_exit(struct process *p, struct user_thread *last)
{
	struct owner *o;

	spin_lock(&memcg_lock);
	thread_leave(last);
	process_leave(p, memcg_of_process(p), &o);
	atomic_store_explicit(&last->memcg, memcg_root, memory_order_release);
	atomic_store_explicit(&p->memcg, memcg_root, memory_order_release);
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

/* The process to move, referenced, and the thread that was named; NULL. */
static struct process *find(pid_t pid, struct thread **thread)
{
	struct process *p = NULL;
	struct thread *t = pid ? thread_find_get(pid) : current;

	*thread = NULL;
	if (!t)
		return pid ? process_find_get(pid) : NULL; /* its first thread may have ended */
	if (!pid)
		thread_get(t);
	spin_lock(&process_lock);
	p = t->user ? t->process : NULL;
	if (p)
		process_get(p);
	spin_unlock(&process_lock);
	if (p)
		*thread = t;
	else
		thread_put(t);
	return p;
}

/* memcg_lock held. */
static void move_thread(struct user_thread *u, struct memcg *to)
{
	struct memcg *from = memcg_of_thread(u);

	if (from == to)
		return;
	thread_leave(u);
	thread_enter(u, to);
	memcg_freeze_update(to);
	if (memcg_freeze_hook && atomic_load_explicit(&to->freezing, memory_order_relaxed) !=
					 atomic_load_explicit(&from->freezing, memory_order_relaxed))
		memcg_freeze_hook(u);
}

/* process_lock and memcg_lock held.  -ESRCH: it has just ended. */
static int move(struct process *p, struct thread *only, struct memcg *to, struct owner **o)
{
	struct memcg *from = memcg_of_process(p), *domain = memcg_domain(to);
	struct user_thread *u;

	if (only) {
		if (!only->user || list_empty(&((struct user_thread *)only->user)->group_link))
			return -ESRCH;
		if (domain != from)
			return -EOPNOTSUPP;
		move_thread(only->user, to);
		return 0;
	}
	if (list_empty(&p->threads))
		return -ESRCH;
	/* First in, then out: a group does not look empty in between. */
	list_for_each_entry(u, &p->threads, group_link)
		move_thread(u, to);
	if (domain != from) {
		process_leave(p, from, o);
		process_enter(p, domain);
	}
	return 0;
}

int memcg_attach(struct memcg *m, pid_t pid, bool thread,
		 int (*may)(struct memcg *from, struct memcg *to, void *arg), void *arg)
{
	struct thread *t;
	struct process *p = find(pid, &t);
	struct owner *o = NULL;
	int err;

	if (!p)
		return -ESRCH;
	mutex_lock(&memcg_mutex); /* controllers and types stay, and nobody else moves it */
	rcu_read_lock();
	spin_lock(&process_lock);
	err = may ? may(t && t->user ? memcg_of_thread(t->user) : memcg_of_process(p), m, arg) : 0;
	spin_unlock(&process_lock);
	rcu_read_unlock();
	if (!err)
		err = may_enter(m);
	if (!err) {
		spin_lock(&process_lock);
		spin_lock(&memcg_lock);
		err = thread && !t ? -ESRCH : move(p, thread ? t : NULL, m, &o);
		spin_unlock(&memcg_lock);
		spin_unlock(&process_lock);
	}
	mutex_unlock(&memcg_mutex);
	if (!err && memcg_moved_hook)
		memcg_moved_hook();
	if (o)
		memcg_return_stock(o);
	if (t)
		thread_put(t);
	process_put(p);
	return err;
}

void memcg_for_each_pid(struct memcg *m, void (*fn)(pid_t pid, void *arg), void *arg)
{
	struct process *p;

	spin_lock(&memcg_lock);
	list_for_each_entry(p, &m->procs, memcg_link)
		fn(p->pid, arg);
	spin_unlock(&memcg_lock);
}

void memcg_for_each_tid(struct memcg *m, void (*fn)(pid_t tid, void *arg), void *arg)
{
	struct user_thread *u;

	spin_lock(&memcg_lock);
	list_for_each_entry(u, &m->threads, memcg_link)
		fn(u->thread->tid, arg);
	spin_unlock(&memcg_lock);
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

int memcg_owner_path(struct owner *o, char *buf, size_t n)
{
	return memcg_path_of(owner_memcg(o), buf, n);
}

struct memcg *memcg_get_of(struct process *p, pid_t tid)
{
	struct user_thread *u;
	struct memcg *m;

	spin_lock(&process_lock);
	spin_lock(&memcg_lock);
	m = memcg_of_process(p);
	list_for_each_entry(u, &p->threads, group_link)
		if (u->thread->tid == (tid ? tid : p->pid)) {
			m = memcg_of_thread(u);
			break;
		}
	memcg_get(m); /* under memcg_lock it has threads or is the root */
	spin_unlock(&memcg_lock);
	spin_unlock(&process_lock);
	return m;
}
