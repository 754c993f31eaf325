/* SPDX-License-Identifier: MIT */
/*
 * Inodes and supers: allocation, life time, permission.
 *
 * An inode's memory outlives its last reference by a grace period, since path
 * walks look at it under RCU.
 */
#include "fs/internal.h"
#include "mm/page_index.h"

static struct kmem_cache *inode_cache;
static _Atomic uint64_t next_dev = 1;

uint64_t realtime_ns(void)
{
	return clock_ns() + clock_realtime_offset_ns();
}

void inode_touch(struct inode *i)
{
	uint64_t now = realtime_ns();

	atomic_store_explicit(&i->mtime, now, memory_order_relaxed);
	atomic_store_explicit(&i->ctime, now, memory_order_relaxed);
}

struct inode *inode_alloc(struct super *s, uint32_t mode)
{
	struct inode *i = kmem_cache_alloc(inode_cache, GFP_KERNEL);
	struct process *p = current->process;

	if (!i)
		return NULL;
	memset(i, 0, sizeof(*i));
	i->super = s;
	i->ino = atomic_fetch_add_explicit(&s->next_ino, 1, memory_order_relaxed);
	atomic_init(&i->mode, mode);
	atomic_init(&i->nlink, 1);
	atomic_init(&i->refs, 1);
	if (p) {
		i->uid = p->euid;
		i->gid = p->egid;
	}
	inode_touch(i);
	atomic_init(&i->atime, i->mtime);
	mutex_init(&i->lock, S_ISDIR(mode) ? "inode.dir" : "inode");
	i->owner = current_owner();
	owner_get(i->owner);
	return i;
}

static void inode_free_rcu(struct rcu_head *h)
{
	kmem_cache_free(inode_cache, container_of(h, struct inode, rcu));
}

void inode_put(struct inode *i)
{
	if (atomic_fetch_sub_explicit(&i->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (i->ops && i->ops->evict)
		i->ops->evict(i);
	owner_put(i->owner);
	call_rcu(&i->rcu, inode_free_rcu);
}

static bool in_group(const struct process *p, uint32_t gid)
{
	if (p->egid == gid)
		return true;
	for (unsigned k = 0; k < min(p->nr_groups, (unsigned)NR_GROUPS); k++) {
		if (p->groups[k] == gid)
			return true;
	}
	return false;
}

int inode_permission(const struct inode *i, unsigned want)
{
	struct process *p = current->process;
	uint32_t mode = atomic_load_explicit(&i->mode, memory_order_relaxed);

	if (!p || p->euid == 0) {
		/* Root may do everything but execute what nobody may. */
		if ((want & MAY_EXEC) && !S_ISDIR(mode) && !(mode & 0111))
			return -EACCES;
		return 0;
	}
	if (p->euid == i->uid)
		mode >>= 6;
	else if (in_group(p, i->gid))
		mode >>= 3;
	return (want & ~mode & 7) ? -EACCES : 0;
}

struct super *super_alloc(struct fs_type *t, const char *source, const char *data)
{
	struct super *s = kzalloc(sizeof(*s), GFP_KERNEL);

	if (!s)
		return NULL;
	s->type = t;
	s->dev = atomic_fetch_add_explicit(&next_dev, 1, memory_order_relaxed);
	atomic_init(&s->next_ino, 1);
	atomic_init(&s->refs, 1);
	list_init(&s->link);
	s->source = kstrdup(source ? source : "none", GFP_KERNEL);
	s->options = kstrdup(data ? data : "", GFP_KERNEL);
	if (!s->source || !s->options) {
		super_put(s);
		return NULL;
	}
	return s;
}

int super_set_root(struct super *s, struct inode *root)
{
	struct dentry *d = dentry_alloc(NULL, "/", 1);

	if (!d) {
		inode_put(root);
		return -ENOMEM;
	}
	d->super = s;
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	dentry_attach(d, root);
	s->root = d; /* the mount's reference; dropped by umount */
	return 0;
}

static void super_free_rcu(struct rcu_head *h)
{
	kfree(container_of(h, struct super, rcu));
}

void super_put(struct super *s)
{
	if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (s->kill && !s->kill(s))
		return;
	kfree(s->source);
	kfree(s->options);
	call_rcu(&s->rcu, super_free_rcu);
}

void inode_init(void)
{
	inode_cache = kmem_cache_create("inode", sizeof(struct inode), 0, SLAB_ACCOUNT);
	if (!inode_cache)
		panic("inode: no memory for the cache");
}
