/* SPDX-License-Identifier: MIT */
/*
 * The cgroup2 file system: a directory per memory group, with files that show and
 * set what mm/memcg*.c keeps.
 *
 * A computed tree (fs/inode.h): dentries and inodes live while used, so a group
 * that nobody looks at costs no file-system memory.  The files are in
 * fs/cgroup_*files.c.
 *
 * Locks: a directory's inode->lock, in it memcg_mutex.  Neither is held while a
 *        file's text is copied from or to user memory.
 * Source: Linux's cgroup v2 interface as users know it (docs/accounting.md says
 *         where ours differs).
 */
#include "fs/cgroup.h"
#include "fs/inotify.h"

#define CGROUP2_MAGIC 0x63677270

static const struct inode_ops cg_dir_ops, cg_file_iops;
static const struct file_ops cg_dir_fops;

struct memcg_attr *cg_attr_find(struct memcg *m, uint64_t ino)
{
	struct memcg_attr *a = atomic_load_explicit(&m->attrs, memory_order_acquire);

	while (a && a->ino != ino)
		a = a->next;
	return a;
}

/* Somebody has changed owner or mode: to be found again when the inode has gone and come back. */
static int cg_setattr(struct inode *i)
{
	struct memcg *m = cg_node_of(i)->group;
	struct memcg_attr *a;
	int err = 0;

	mutex_lock(&memcg_mutex);
	a = cg_attr_find(m, i->ino);
	if (!a) {
		a = kzalloc(sizeof(*a), GFP_KERNEL | GFP_ACCOUNT);
		if (a) {
			a->ino = i->ino;
			a->next = atomic_load_explicit(&m->attrs, memory_order_relaxed);
			atomic_store_explicit(&m->attrs, a, memory_order_release);
		} else {
			err = -ENOMEM;
		}
	}
	if (a) {
		a->mode = i->mode;
		a->uid = i->uid;
		a->gid = i->gid;
	}
	mutex_unlock(&memcg_mutex);
	return err;
}

static void attr_apply(struct inode *i, struct memcg *m)
{
	struct memcg_attr *a = cg_attr_find(m, i->ino);

	i->uid = a ? a->uid : 0;
	i->gid = a ? a->gid : 0;
	if (a)
		i->mode = a->mode;
}

/* Takes over the reference of @m, also when it fails. */
static struct inode *cg_inode(struct super *s, unsigned mode, struct memcg *m,
			      const struct cg_file *file)
{
	struct cg_node *n = kzalloc(sizeof(*n), GFP_KERNEL | GFP_ACCOUNT);
	struct inode *i = n ? inode_alloc(s, mode) : NULL;

	if (!i) {
		kfree(n);
		memcg_put(m);
		return NULL;
	}
	n->group = m;
	n->file = file;
	i->priv = n;
	i->ino = cg_file_ino(m, file);
	attr_apply(i, m);
	if (file) {
		inode_init_ops(i, &cg_file_iops, &cg_file_fops);
	} else {
		inode_init_ops(i, &cg_dir_ops, &cg_dir_fops);
		atomic_store_explicit(&i->nlink, 2, memory_order_relaxed);
	}
	return i;
}

static void cg_evict(struct inode *i)
{
	struct cg_node *n = cg_node_of(i);

	memcg_put(n->group);
	/* A path walk under RCU may be asking this moment whether it is stale. */
	kfree_rcu_obj(&n->rcu, n);
}

static bool cg_stale(struct inode *i)
{
	return cg_node_stale(cg_node_of(i));
}

static int cg_lookup(struct inode *dir, struct dentry *d)
{
	struct memcg *m = cg_node_of(dir)->group, *child;
	const struct dname *name = dentry_name(d);
	struct inode *i = NULL;

	child = memcg_find(m, name->s, name->len);
	if (child) {
		i = cg_inode(dir->super, S_IFDIR | 0755, child, NULL);
		goto attach;
	}
	for (unsigned k = 0; cg_file_at(k); k++) {
		const struct cg_file *f = cg_file_at(k);

		if (strcmp(f->name, name->s) || !cg_file_shown(m, f))
			continue;
		memcg_get(m);
		i = cg_inode(dir->super, S_IFREG | f->mode, m, f);
		goto attach;
	}
	return -ENOENT;
attach:
	if (!i)
		return -ENOMEM;
	dentry_attach(d, i);
	return 0;
}

static int cg_mkdir(struct inode *dir, struct dentry *d, unsigned mode)
{
	const struct dname *name = dentry_name(d);
	struct memcg *m;
	struct inode *i;

	if (strchr(name->s, '\n'))
		return -EINVAL;
	m = memcg_create(cg_node_of(dir)->group, name->s);
	if (IS_ERR(m))
		return (int)PTR_ERR(m);
	i = cg_inode(dir->super, mode, m, NULL);
	if (!i) {
		memcg_remove(m);
		return -ENOMEM;
	}
	dentry_attach(d, i);
	return 0;
}

static int cg_rmdir(struct inode *dir, struct dentry *d)
{
	return memcg_remove(cg_node_of(d->inode)->group);
}

static int cg_unlink(struct inode *dir, struct dentry *d)
{
	return -EPERM;
}

/* Positions: 0 and 1 the dots, then the files, then children at CHILDREN + id. */
#define CHILDREN 0x1000
#define BATCH    64

static int list_children(struct file *f, struct memcg *m, filldir_t fill, void *ctx, loff_t *pos)
{
	struct memcg *some[BATCH];
	unsigned n;
	int full = 0;

	/* References instead of the lock: fill() may fault on user memory. */
	do {
		n = memcg_children(m, (uint32_t)(*pos - CHILDREN), some, BATCH);
		for (unsigned i = 0; i < n; i++) {
			struct memcg *c = some[i];

			if (!full)
				full = fill(ctx, c->name, strlen(c->name), (uint64_t)c->id << 8,
					    DT_DIR, CHILDREN + (loff_t)c->id);
			if (!full)
				*pos = CHILDREN + (loff_t)c->id;
			memcg_put(c);
		}
	} while (n == BATCH && !full);
	return 0;
}

static int cg_readdir(struct file *f, filldir_t fill, void *ctx, loff_t *pos)
{
	struct memcg *m = cg_node_of(f->inode)->group;

	if (!dir_emit_dots(f, fill, ctx, pos))
		return 0;
	for (; *pos < CHILDREN; ++*pos) {
		const struct cg_file *c = cg_file_at((unsigned)*pos - 2);

		if (!c)
			break;
		if (cg_file_shown(m, c) &&
		    fill(ctx, c->name, strlen(c->name),
			 cg_file_ino(m, c), DT_REG, *pos + 1))
			return 0;
	}
	if (*pos < CHILDREN)
		*pos = CHILDREN;
	return list_children(f, m, fill, ctx, pos);
}

/* A watch of *.events hears of events, of another file: of writes, of the directory: of its end. */
static const void *cg_watch_key(struct inode *i)
{
	struct cg_node *n = cg_node_of(i);

	if (!n->file)
		return n->group;
	return n->file->flags & CG_NOTIFY ? cg_notify_key(n->group, cg_notify_of(n->file->flags))
					  : i;
}

static int cg_truncate(struct inode *i, loff_t size)
{
	return 0; /* "echo x > file" truncates first */
}

static const struct inode_ops cg_dir_ops = {
	.lookup = cg_lookup,
	.stale = cg_stale,
	.mkdir = cg_mkdir,
	.rmdir = cg_rmdir,
	.unlink = cg_unlink,
	.setattr = cg_setattr,
	.watch_key = cg_watch_key,
	.evict = cg_evict,
};
static const struct inode_ops cg_file_iops = {
	.stale = cg_stale,
	.truncate = cg_truncate,
	.setattr = cg_setattr,
	.watch_key = cg_watch_key,
	.evict = cg_evict,
};
static const struct file_ops cg_dir_fops = { .readdir = cg_readdir, .lseek = text_lseek };
static int cg_statfs(struct super *s, uint64_t out[6])
{
	out[5] = CGROUP2_MAGIC;
	return 0;
}

/* Every mount shows the same tree, or what the name space has of it. */
static int cg_mount(struct fs_type *t, const char *source, const char *data, struct super **out)
{
	struct super *s;
	struct inode *i;
	int err = cg_options_set(data);

	if (err)
		return err;
	s = super_alloc(t, source, NULL);
	if (!s)
		return -ENOMEM;
	err = -ENOMEM;
	i = cg_inode(s, S_IFDIR | 0755, cgroup_ns_root(current->process), NULL);
	if (i) {
		s->statfs = cg_statfs;
		s->show_options = cg_options_show;
		err = super_set_root(s, i);
	}
	if (err) {
		super_put(s);
		return err;
	}
	*out = s;
	return 0;
}

static int cg_remount(struct super *s, const char *data)
{
	return cg_options_set(data);
}

static struct fs_type cg_type = { .name = "cgroup2", .mount = cg_mount, .remount = cg_remount };

bool cgroup_is_dir(const struct file *f)
{
	return f->inode && f->inode->ops == &cg_dir_ops;
}

struct memcg *cgroup_of_dir(struct file *f)
{
	struct memcg *m;

	if (!cgroup_is_dir(f))
		return NULL;
	m = cg_node_of(f->inode)->group; /* the inode holds it */
	if (atomic_load_explicit(&m->dead, memory_order_relaxed))
		return NULL;
	memcg_get(m);
	return m;
}

void cgroupfs_init(void)
{
	cgroup_notify_init();
	fs_register(&cg_type);
	cgroup_proc_init();
}
