/* SPDX-License-Identifier: MIT */
/*
 * Root directory, working directory and umask of a process; threads share one
 * object, fork copies it.  Kernel threads share init_context.
 *
 * Locks: lock over root and cwd; path walks read them under RCU instead (a
 *        dentry's memory outlives its last reference by a grace period).
 */
#include "fs/internal.h"

struct fs_context {
	_Atomic int refs;
	struct spinlock lock;
	_Atomic(struct dentry *) root, cwd; /* each one reference */
	_Atomic unsigned umask;
};

static struct fs_context init_context = {
	.refs = 1,
	.lock = SPINLOCK_INIT("fs_context"),
	.umask = 022,
};

struct fs_context *current_fs(void)
{
	struct process *p = current->process;

	return p && p->fs ? p->fs : &init_context;
}

static struct dentry *get_path(struct fs_context *c, _Atomic(struct dentry *) *which)
{
	struct dentry *d;

	spin_lock(&c->lock);
	d = atomic_load_explicit(which, memory_order_relaxed);
	if (d)
		dentry_get(d);
	spin_unlock(&c->lock);
	return d;
}

static void set_path(struct fs_context *c, _Atomic(struct dentry *) *which, struct dentry *d)
{
	struct dentry *old;

	spin_lock(&c->lock);
	old = atomic_load_explicit(which, memory_order_relaxed);
	atomic_store_explicit(which, d, memory_order_release);
	spin_unlock(&c->lock);
	dentry_put(old);
}

struct dentry *fs_context_get_path(struct fs_context *c, bool root)
{
	return get_path(c, root ? &c->root : &c->cwd);
}

struct dentry *fs_root_get(void)
{
	struct fs_context *c = current_fs();

	return get_path(c, &c->root);
}

struct dentry *fs_cwd_get(void)
{
	struct fs_context *c = current_fs();

	return get_path(c, &c->cwd);
}

struct dentry *fs_root_rcu(void)
{
	return rcu_dereference(current_fs()->root);
}

struct dentry *fs_cwd_rcu(void)
{
	return rcu_dereference(current_fs()->cwd);
}

void fs_set_root(struct dentry *d)
{
	struct fs_context *c = current_fs();

	set_path(c, &c->root, d);
}

void fs_set_cwd(struct dentry *d)
{
	struct fs_context *c = current_fs();

	set_path(c, &c->cwd, d);
}

unsigned fs_umask(void)
{
	return atomic_load_explicit(&current_fs()->umask, memory_order_relaxed);
}

unsigned fs_set_umask(unsigned m)
{
	return atomic_exchange_explicit(&current_fs()->umask, m & 0777, memory_order_relaxed);
}

static struct fs_context *context_copy(struct fs_context *from)
{
	struct fs_context *c = kzalloc(sizeof(*c), GFP_KERNEL | GFP_ACCOUNT);

	if (!c)
		return NULL;
	atomic_init(&c->refs, 1);
	spin_init(&c->lock, "fs_context");
	atomic_init(&c->root, get_path(from, &from->root));
	atomic_init(&c->cwd, get_path(from, &from->cwd));
	atomic_init(&c->umask, atomic_load_explicit(&from->umask, memory_order_relaxed));
	return c;
}

struct fs_context *fs_context_create(void)
{
	return context_copy(&init_context);
}

struct fs_context *fs_context_clone(struct fs_context *c)
{
	return context_copy(c);
}

void fs_context_get(struct fs_context *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void fs_context_put(struct fs_context *c)
{
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return;
	dentry_put(atomic_load_explicit(&c->root, memory_order_relaxed));
	dentry_put(atomic_load_explicit(&c->cwd, memory_order_relaxed));
	kfree(c);
}
