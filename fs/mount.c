/* SPDX-License-Identifier: MIT */
/*
 * Mounts: file-system types, mounted instances, /.
 *
 * A mount hangs the root dentry of an instance on a dentry of the tree
 * (mounted, covers).  Mounts stack: the target of a second mount is the root
 * of the first.
 *
 * Locks: mount_lock (mutex) serialises mount and umount; dcache_lock covers
 *        the two pointers and the list of instances.
 */
#include "fs/internal.h"
#include "fs/sys.h"

struct super *root_super;
static struct mutex mount_lock = MUTEX_INIT(mount_lock, "mount");
static struct fs_type *types; /* registered at boot only */
static LIST_HEAD(supers);     /* in mounting order */

void fs_register(struct fs_type *t)
{
	struct fs_type **p = &types;

	while (*p)
		p = &(*p)->next;
	t->next = NULL;
	*p = t;
}

struct fs_type *fs_type_first(void)
{
	return types;
}

static struct fs_type *find_type(const char *name)
{
	for (struct fs_type *t = types; t; t = t->next) {
		if (!strcmp(t->name, name))
			return t;
	}
	return NULL;
}

bool super_readonly(const struct super *s)
{
	return s->mount_flags & MS_RDONLY;
}

static int remount(struct dentry *d, unsigned flags, const char *data)
{
	struct fs_type *t = d->super->type;
	int err;

	if (d != d->super->root)
		return -EINVAL;
	err = t->remount ? t->remount(d->super, data) : 0;
	if (err)
		return err;
	err = (flags & MS_RDONLY) && d->super->sync ? d->super->sync(d->super) : 0;
	if (err)
		return err;
	d->super->mount_flags = flags & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME);
	return 0;
}

/* Gives back an instance that could not be mounted. */
static void super_discard(struct super *s)
{
	struct dentry *root = s->root;

	s->root = NULL;
	dentry_put(root);
	super_put(s);
}

static int attach(struct super *s, struct dentry *at)
{
	int err = 0;

	spin_lock(&dcache_lock);
	if (atomic_load_explicit(&at->mounted, memory_order_relaxed) || dentry_deleted(at)) {
		err = -EBUSY; /* somebody was faster */
	} else {
		dentry_get(at);
		atomic_store_explicit(&s->root->covers, at, memory_order_relaxed);
		atomic_store_explicit(&at->mounted, s->root, memory_order_release);
		list_add_tail(&s->link, &supers);
	}
	spin_unlock(&dcache_lock);
	return err;
}

int do_mount(const char *source, const char *target, const char *type, unsigned long flags,
	     const char *data)
{
	struct fs_type *t;
	struct super *s = NULL;
	struct dentry *at;
	int err;

	if (!capable())
		return -EPERM;
	if ((flags & 0xffff0000UL) == 0xc0ed0000UL)
		flags &= 0xffffUL; /* the magic of old mount programs */
	err = path_lookup(AT_FDCWD, target, WALK_FOLLOW, &at);
	if (err)
		return err;
	mutex_lock(&mount_lock);
	if (flags & MS_REMOUNT) {
		err = remount(at, (unsigned)flags, data);
		goto out;
	}
	err = -EINVAL;
	if (flags & (MS_BIND | MS_MOVE))
		goto out;
	if (flags & ((1u << 17) | (1u << 18) | (1u << 19) | (1u << 20))) {
		err = 0; /* propagation: there is one name space */
		goto out;
	}
	err = -ENODEV;
	t = type ? find_type(type) : NULL;
	if (!t)
		goto out;
	err = -ENOTDIR;
	if (!S_ISDIR(at->inode->mode))
		goto out;
	err = t->mount(t, source, data, &s);
	if (err)
		goto out;
	s->mount_flags = flags & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME);
	err = attach(s, at);
	if (err)
		super_discard(s);
out:
	mutex_unlock(&mount_lock);
	dentry_put(at);
	return err;
}

int vfs_mount(const char *source, const char *target, const char *fstype, unsigned long flags,
	      const char *data)
{
	return do_mount(source, target, fstype, flags, data);
}

/* Next dentry of a walk over the tree below @root, parents first; dcache_lock held. */
static struct dentry *tree_next(struct dentry *root, struct dentry *d)
{
	if (!list_empty(&d->children))
		return list_first_entry(&d->children, struct dentry, sibling);
	while (d != root) {
		struct dentry *up = atomic_load_explicit(&d->parent, memory_order_relaxed);

		if (d->sibling.next != &up->children)
			return list_entry(d->sibling.next, struct dentry, sibling);
		d = up;
	}
	return NULL;
}

/* Does anybody but the tree itself hold one of its dentries?  dcache_lock held. */
static bool tree_busy(struct dentry *root)
{
	for (struct dentry *d = root; d; d = tree_next(root, d)) {
		struct list_head *p;
		int own = (d == root || (atomic_load_explicit(&d->flags, memory_order_relaxed) &
					 DENTRY_PINNED))
				  ? 1
				  : 0;

		if (atomic_load_explicit(&d->mounted, memory_order_relaxed))
			return true;
		list_for_each(p, &d->children)
			own++;
		if (atomic_load_explicit(&d->refs, memory_order_relaxed) > own)
			return true;
	}
	return false;
}

/* Takes all pinned entries out of a tree that is mounted no more, leaves first. */
static void tree_kill(struct dentry *root)
{
	for (;;) {
		struct dentry *d;

		spin_lock(&dcache_lock);
		d = root;
		while (!list_empty(&d->children))
			d = list_first_entry(&d->children, struct dentry, sibling);
		/* A dying leaf takes itself off the list; wait for it by trying again. */
		if (d != root && !dentry_tryget(d)) {
			spin_unlock(&dcache_lock);
			cond_resched();
			continue;
		}
		spin_unlock(&dcache_lock);
		if (d == root)
			return;
		if (d->inode && !S_ISDIR(d->inode->mode))
			atomic_store_explicit(&d->inode->nlink, 0, memory_order_relaxed);
		dentry_remove(d);
		dentry_put(d);
	}
}

int do_umount(const char *target, unsigned flags)
{
	struct dentry *d, *at;
	struct super *s;
	int err;

	if (!capable())
		return -EPERM;
	if (flags & ~(MNT_FORCE | MNT_DETACH | MNT_EXPIRE | UMOUNT_NOFOLLOW))
		return -EINVAL;
	err = path_lookup(AT_FDCWD, target, (flags & UMOUNT_NOFOLLOW) ? 0 : WALK_FOLLOW, &d);
	if (err)
		return err;
	mutex_lock(&mount_lock);
	s = d->super;
	err = -EINVAL;
	if (d != s->root || s == root_super) {
		dentry_put(d);
		goto out;
	}
	dentry_put(d); /* the mount's reference keeps it: we hold mount_lock */
	spin_lock(&dcache_lock);
	at = atomic_load_explicit(&d->covers, memory_order_relaxed);
	if (!at) {
		spin_unlock(&dcache_lock);
		goto out;
	}
	if (!(flags & MNT_DETACH) && tree_busy(d)) {
		spin_unlock(&dcache_lock);
		err = -EBUSY;
		goto out;
	}
	if (atomic_load_explicit(&d->mounted, memory_order_relaxed)) {
		spin_unlock(&dcache_lock);
		err = -EBUSY;
		goto out;
	}
	atomic_store_explicit(&at->mounted, NULL, memory_order_release);
	atomic_store_explicit(&d->covers, NULL, memory_order_release);
	atomic_fetch_or_explicit(&d->flags, DENTRY_DELETED, memory_order_relaxed);
	list_del(&s->link);
	spin_unlock(&dcache_lock);
	if (s->sync && s->sync(s))
		pr_warn("mount: %s: not everything could be written yet", s->source);
	err = 0;
	tree_kill(d);
	dentry_put(at);
	super_discard(s);
out:
	mutex_unlock(&mount_lock);
	return err;
}

int supers_sync(struct super *only)
{
	struct super *s;
	int err = 0;

	mutex_lock(&mount_lock);
	list_for_each_entry(s, &supers, link) {
		int e = s->sync && (!only || s == only) ? s->sync(s) : 0;

		err = err ? err : e;
	}
	mutex_unlock(&mount_lock);
	return err;
}

void supers_drop_caches(bool pages, bool inodes)
{
	struct super *s;

	mutex_lock(&mount_lock);
	list_for_each_entry(s, &supers, link) {
		if (s->drop_caches)
			s->drop_caches(s, pages, inodes);
	}
	mutex_unlock(&mount_lock);
}

void mounts_for_each(void (*fn)(const struct super *s, const char *path, void *arg), void *arg)
{
	struct dentry *root = fs_root_get();
	char *buf = name_buffer();
	struct super *s;

	if (buf) {
		mutex_lock(&mount_lock);
		list_for_each_entry(s, &supers, link) {
			char *p = dentry_path_from(root, s->root, buf, PATH_MAX_BYTES);

			if (p)
				fn(s, p, arg);
		}
		mutex_unlock(&mount_lock);
		putname(buf);
	}
	dentry_put(root);
}

/* Makes the first instance of "rootfs" the root of everything. */
void mount_root(void)
{
	struct fs_type *t = find_type("rootfs");
	int err = t ? t->mount(t, "rootfs", NULL, &root_super) : -ENODEV;

	if (err)
		panic("mount: no root file system (error %d)", -err);
	list_add_tail(&root_super->link, &supers);
	dentry_get(root_super->root);
	fs_set_root(root_super->root);
	dentry_get(root_super->root);
	fs_set_cwd(root_super->root);
}

/* Copy of a user string of at most a page; NULL pointer gives NULL. */
static char *user_string(const char __user *s)
{
	return s ? getname(s) : NULL;
}

long sys_mount(const char __user *source, const char __user *target, const char __user *type,
	       unsigned long flags, const char __user *data)
{
	char *src = user_string(source), *tgt = getname(target), *typ = user_string(type);
	char *dat = user_string(data);
	long err;

	if (IS_ERR(src))
		err = PTR_ERR(src);
	else if (IS_ERR(tgt))
		err = PTR_ERR(tgt);
	else if (IS_ERR(typ))
		err = PTR_ERR(typ);
	else if (IS_ERR(dat))
		err = PTR_ERR(dat);
	else
		err = do_mount(src, tgt, typ, flags, dat);
	if (!IS_ERR(src))
		putname(src);
	if (!IS_ERR(tgt))
		putname(tgt);
	if (!IS_ERR(typ))
		putname(typ);
	if (!IS_ERR(dat))
		putname(dat);
	return err;
}

long sys_umount2(const char __user *target, int flags)
{
	char *name = getname(target);
	long err;

	if (IS_ERR(name))
		return PTR_ERR(name);
	err = do_umount(name, (unsigned)flags);
	putname(name);
	return err;
}

/* Linux x86-64 struct statfs. */
struct statfs_buf {
	int64_t type, bsize;
	uint64_t blocks, bfree, bavail, files, ffree;
	uint64_t fsid;
	int64_t namelen, frsize, flags, spare[4];
};
_Static_assert(sizeof(struct statfs_buf) == 120, "struct statfs is ABI");

static long super_statfs(struct super *s, struct statfs_buf __user *out)
{
	uint64_t v[6] = { 0, 0, 0, 0, PAGE_SIZE, 0x858458f6 /* RAMFS_MAGIC */ };
	struct statfs_buf b = { 0 };

	if (s && s->statfs) {
		int err = s->statfs(s, v);

		if (err)
			return err;
	}
	b.type = (int64_t)v[5];
	b.bsize = b.frsize = (int64_t)v[4];
	b.blocks = v[0];
	b.bfree = b.bavail = v[1];
	b.files = v[2];
	b.ffree = v[3];
	b.namelen = NAME_MAX_BYTES;
	b.fsid = s ? s->dev : 0;
	b.flags = 0x20; /* ST_VALID */
	return copy_to_user(out, &b, sizeof(b));
}

long sys_statfs(const char __user *path, struct statfs_buf __user *out)
{
	char *name = getname(path);
	struct dentry *d;
	long err;

	if (IS_ERR(name))
		return PTR_ERR(name);
	err = path_lookup(AT_FDCWD, name, WALK_FOLLOW, &d);
	putname(name);
	if (err)
		return err;
	err = super_statfs(d->super, out);
	dentry_put(d);
	return err;
}

long sys_fstatfs(int fd, struct statfs_buf __user *out)
{
	struct fdref r = fdget_path(fd);
	long err;

	if (!r.file)
		return -EBADF;
	err = super_statfs(r.file->inode ? r.file->inode->super : NULL, out);
	fdput(r);
	return err;
}
