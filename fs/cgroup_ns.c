/* SPDX-License-Identifier: MIT */
/*
 * Name spaces of groups: a process may have a group that is the root of what it
 * sees, with clone() or unshare() and CLONE_NEWCGROUP.  It shows in /proc/PID/cgroup
 * and in mounts; with the mount option nsdelegate it is also a border: only some files
 * of the root can be written from inside, and no process moves across.
 *
 * process.cgroup_root is the group, referenced, or NULL for the whole tree.  It is
 * written by the process itself and read under RCU.
 * Source: cgroup_namespaces(7).
 */
#include "fs/cgroup.h"
#include "kernel/process.h"

struct memcg *cgroup_ns_root(struct process *p)
{
	struct memcg *m;

	rcu_read_lock();
	m = p ? rcu_dereference(p->cgroup_root) : NULL;
	if (!m || !memcg_tryget(m)) {
		m = memcg_root;
		memcg_get(m);
	}
	rcu_read_unlock();
	return m;
}

/* Where the current thread is, referenced. */
static struct memcg *present_group(void)
{
	struct memcg *m;

	rcu_read_lock();
	do {
		m = memcg_tryget(memcg_of_thread(current->user));
	} while (!m); /* moved this moment; where it is cannot be removed */
	rcu_read_unlock();
	return m;
}

void cgroup_ns_fork(struct process *child, struct process *parent, bool new_ns)
{
	struct memcg *m = new_ns ? present_group() : cgroup_ns_root(parent);

	rcu_assign_pointer(child->cgroup_root, m);
}

void cgroup_ns_exit(struct process *p)
{
	struct memcg *m = atomic_exchange_explicit(&p->cgroup_root, NULL, memory_order_acq_rel);

	memcg_put(m);
}

int cgroup_ns_unshare(void)
{
	struct process *p = current->process;

	if (!capable())
		return -EPERM;
	memcg_put(atomic_exchange_explicit(&p->cgroup_root, present_group(), memory_order_acq_rel));
	return 0;
}

bool cgroup_is_below(const struct memcg *m, const struct memcg *top)
{
	while (m && m->depth > top->depth)
		m = m->parent;
	return m == top;
}

int cgroup_path_from(struct memcg *root, struct memcg *m, char *buf, size_t n)
{
	struct memcg *common = root;
	size_t ups = 0, skip = 0;
	int err;

	for (; !cgroup_is_below(m, common); common = common->parent)
		ups += 3; /* "/.." */
	for (struct memcg *c = common; c->parent; c = c->parent)
		skip += strlen(c->name) + 1;
	if (ups >= n)
		return -ENAMETOOLONG;
	err = memcg_path_of(m, buf + ups, n - ups);
	if (err)
		return err;
	/* What is left of it below the common group; "/" only if nothing else is said. */
	if (m == common)
		str_copy(buf + ups, ups ? "" : "/", n - ups);
	else
		memmove(buf + ups, buf + ups + skip, strlen(buf + ups + skip) + 1);
	for (size_t i = 0; i < ups; i += 3)
		memcpy(buf + i, "/..", 3);
	return 0;
}
