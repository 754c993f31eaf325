/* SPDX-License-Identifier: MIT */
/*
 * Path walk: from a path to a dentry.
 *
 * A walk starts in RCU mode: it steps from dentry to dentry without counting
 * references and without sleeping, so 72 CPUs that walk the same directories
 * write no shared line until the end.  Where it must sleep (a symbolic link, a
 * computed directory) or where a rename got in the way, it takes references
 * from there on, or starts again with them.
 *
 * Sources: path_resolution(7), POSIX.1-2017 4.13.
 */
#include "fs/internal.h"

#define EAGAIN_WALK (-ECHILD) /* private: start again with references */

static struct kmem_cache *names_cache;

char *name_buffer(void)
{
	return kmem_cache_alloc(names_cache, GFP_KERNEL);
}

void putname(char *name)
{
	if (name)
		kmem_cache_free(names_cache, name);
}

char *getname(const char __user *path)
{
	char *b = name_buffer();
	long n;

	if (!b)
		return ERR_PTR(-ENOMEM);
	n = strncpy_from_user(b, path, PATH_MAX_BYTES);
	if (n < 0) {
		putname(b);
		return ERR_PTR(n);
	}
	return b;
}

void namei_init(void)
{
	names_cache = kmem_cache_create("names", PATH_MAX_BYTES, 0, 0);
	if (!names_cache)
		panic("namei: no memory for the cache of path buffers");
}

/* Leaves RCU mode with references to where the walk stands. */
static int walk_unlazy(struct walk *w)
{
	bool ok;

	if (!w->rcu)
		return 0;
	ok = dentry_tryget(w->d);
	if (ok && !dentry_tryget(w->root)) {
		rcu_read_unlock();
		w->rcu = false;
		dentry_put(w->d);
		w->d = w->root = NULL;
		return EAGAIN_WALK;
	}
	rcu_read_unlock();
	w->rcu = false;
	if (!ok) {
		w->d = w->root = NULL;
		return EAGAIN_WALK;
	}
	if (atomic_load_explicit(&rename_seq, memory_order_acquire) != w->seq)
		return EAGAIN_WALK;
	return 0;
}

static void walk_set(struct walk *w, struct dentry *d) /* takes d's reference over */
{
	struct dentry *old = w->d;

	w->d = d;
	if (!w->rcu)
		dentry_put(old);
}

struct dentry *cross_mounts(struct dentry *d)
{
	for (;;) {
		struct dentry *m;

		rcu_read_lock();
		m = rcu_dereference(d->mounted);
		if (m && !dentry_tryget(m))
			m = NULL;
		rcu_read_unlock();
		if (!m)
			return d;
		dentry_put(d);
		d = m;
	}
}

static bool is_stale(const struct dentry *d)
{
	const struct inode *i = d->inode;

	return i->ops && i->ops->stale && i->ops->stale((struct inode *)i);
}

struct dentry *lookup_locked(struct dentry *dir, const char *name, size_t len)
{
	struct dentry *d = dentry_find(dir, name, len);
	int err;

	if (d && is_stale(d)) {
		dentry_unhash(d);
		dentry_put(d);
		d = NULL;
	}
	if (d || !dir->inode->ops->lookup)
		return d;
	if (dentry_deleted(dir))
		return NULL;
	d = dentry_alloc(dir, name, len);
	if (!d)
		return ERR_PTR(-ENOMEM);
	err = dir->inode->ops->lookup(dir->inode, d);
	if (err) {
		dentry_put(d);
		return err == -ENOENT ? NULL : ERR_PTR(err);
	}
	dentry_add(d, false);
	return d;
}

/* Child with a reference, NULL or ERR_PTR; may sleep. */
static struct dentry *lookup_slow(struct dentry *dir, const char *name, size_t len)
{
	struct dentry *d = dentry_find(dir, name, len);

	if (d && !is_stale(d))
		return d;
	if (d)
		dentry_put(d);
	else if (!dir->inode->ops->lookup)
		return NULL;
	mutex_lock(&dir->inode->lock);
	d = lookup_locked(dir, name, len);
	mutex_unlock(&dir->inode->lock);
	return d;
}

/* ".." */
static void walk_up(struct walk *w)
{
	struct dentry *d = w->d;

	if (w->rcu) {
		struct dentry *c;

		while (d != w->root && (c = rcu_dereference(d->covers)))
			d = c;
		if (d != w->root)
			d = rcu_dereference(d->parent);
		while (d != w->root && (c = rcu_dereference(d->mounted)))
			d = c;
		w->d = d;
		return;
	}
	if (d == w->root)
		return;
	d = dentry_parent_get(d);
	if (d != w->root)
		d = cross_mounts(d);
	walk_set(w, d);
}

/* What is left to walk becomes @target followed by the rest of the path. */
static int walk_redirect(struct walk *w, const char *target)
{
	size_t tlen = strlen(target), rest = strlen(w->p);
	char *b;

	if (!tlen)
		return -ENOENT;
	if (tlen + rest + 2 > PATH_MAX_BYTES)
		return -ENAMETOOLONG;
	b = name_buffer();
	if (!b)
		return -ENOMEM;
	memcpy(b, target, tlen);
	if (rest && w->p[0] != '/')
		b[tlen++] = '/';
	memcpy(b + tlen, w->p, rest + 1);
	putname(w->buf);
	w->buf = b;
	w->p = b;
	if (*b == '/') {
		dentry_get(w->root);
		walk_set(w, w->root);
	}
	return 0;
}

/* Follows @link (not a text link only: also /proc/PID/fd/N).  References are held. */
static int walk_link(struct walk *w, struct dentry *link)
{
	struct inode *i = link->inode;
	const char *t;
	char *tmp;
	int err;

	if (++w->links > MAX_LINKS)
		return -ELOOP;
	if (i->ops->follow) {
		struct dentry *d = i->ops->follow(i);

		if (IS_ERR(d))
			return (int)PTR_ERR(d);
		walk_set(w, d);
		return 0;
	}
	if (!i->ops->readlink)
		return -EINVAL;
	tmp = name_buffer();
	if (!tmp)
		return -ENOMEM;
	t = i->ops->readlink(i, tmp, PATH_MAX_BYTES);
	err = IS_ERR(t) ? (int)PTR_ERR(t) : walk_redirect(w, t);
	putname(tmp);
	return err;
}

/* One normal component.  0, -errno, or EAGAIN_WALK. */
static int walk_step(struct walk *w, const char *name, size_t len, bool last)
{
	bool follow = !last || (w->flags & WALK_FOLLOW) || w->trailing;
	struct dentry *c = NULL, *m;
	int err;

	if (w->rcu) {
		c = dentry_find_rcu(w->d, name, len, name_hash(name, len));
		if (c && !is_stale(c)) {
			if (!S_ISLNK(c->inode->mode)) {
				while (!(last && (w->flags & WALK_NOMOUNT)) &&
				       (m = rcu_dereference(c->mounted)))
					c = m;
				w->d = c;
				return 0;
			}
		} else if (!c && !w->d->inode->ops->lookup) {
			/* All entries of a pinned directory are in the hash. */
			return atomic_load_explicit(&rename_seq, memory_order_acquire) == w->seq
				       ? -ENOENT
				       : EAGAIN_WALK;
		}
		err = walk_unlazy(w);
		if (err)
			return err;
	}
	c = lookup_slow(w->d, name, len);
	if (!c)
		return -ENOENT;
	if (IS_ERR(c))
		return (int)PTR_ERR(c);
	if (S_ISLNK(c->inode->mode) && follow) {
		err = walk_link(w, c);
		dentry_put(c);
		return err;
	}
	if (!(last && (w->flags & WALK_NOMOUNT)))
		c = cross_mounts(c);
	walk_set(w, c);
	return 0;
}

/* Walks w->p to its end (or to the last component). */
static int walk_on(struct walk *w)
{
	for (;;) {
		const char *name, *end;
		size_t len;
		bool last;
		int err;

		while (*w->p == '/')
			w->p++;
		name = w->p;
		if (!*name) {
			w->kind = LAST_ROOT;
			w->last_len = 0;
			return 0;
		}
		for (len = 0; name[len] && name[len] != '/'; len++)
			;
		for (end = name + len; *end == '/'; end++)
			;
		last = !*end;
		w->trailing = last && name[len] == '/';
		w->p = name + len;
		if (!S_ISDIR(w->d->inode->mode))
			return -ENOTDIR;
		err = inode_permission(w->d->inode, MAY_EXEC);
		if (err)
			return err;
		if (len > NAME_MAX_BYTES)
			return -ENAMETOOLONG;
		w->kind = name[0] != '.' || len > 2	      ? LAST_NORMAL
			  : len == 1			      ? LAST_DOT
			  : name[1] == '.'		      ? LAST_DOTDOT
							      : LAST_NORMAL;
		if (last && (w->flags & WALK_PARENT)) {
			w->last = name;
			w->last_len = len;
			return 0;
		}
		if (w->kind == LAST_DOT)
			continue;
		if (w->kind == LAST_DOTDOT) {
			walk_up(w);
			continue;
		}
		err = walk_step(w, name, len, last);
		if (err)
			return err;
	}
}

static int walk_start(struct walk *w, int dirfd, const char *path, bool rcu)
{
	struct fdref r = { NULL, false };

	w->d = w->root = NULL;
	w->p = path;
	w->buf = NULL;
	w->links = 0;
	w->last = NULL;
	w->last_len = 0;
	w->trailing = false;
	w->rcu = false;
	if (!*path && !(w->flags & WALK_EMPTY))
		return -ENOENT;
	if (*path != '/' && dirfd != AT_FDCWD) {
		r = fdget_path(dirfd);
		if (!r.file)
			return -EBADF;
		if (!r.file->dentry) {
			fdput(r);
			return -ENOTDIR;
		}
		w->d = r.file->dentry;
		dentry_get(w->d);
		fdput(r);
		w->root = fs_root_get();
		return 0;
	}
	if (rcu) {
		rcu_read_lock();
		w->rcu = true;
		w->seq = atomic_load_explicit(&rename_seq, memory_order_acquire);
		w->root = fs_root_rcu();
		w->d = *path == '/' ? w->root : fs_cwd_rcu();
		return 0;
	}
	w->root = fs_root_get();
	w->d = *path == '/' ? fs_root_get() : fs_cwd_get();
	return 0;
}

void walk_end(struct walk *w)
{
	if (w->rcu) {
		rcu_read_unlock();
		w->rcu = false;
	} else {
		dentry_put(w->d);
		dentry_put(w->root);
	}
	w->d = w->root = NULL;
	putname(w->buf);
	w->buf = NULL;
}

static int walk(struct walk *w, int dirfd, const char *path)
{
	int err = EAGAIN_WALK;

	/* An odd rename_seq: a rename is under way, so do not even try. */
	if (!(atomic_load_explicit(&rename_seq, memory_order_relaxed) & 1)) {
		err = walk_start(w, dirfd, path, true);
		if (!err)
			err = walk_on(w);
		if (!err)
			err = walk_unlazy(w);
		if (err && w->rcu) {
			rcu_read_unlock();
			w->rcu = false;
			w->d = w->root = NULL;
		}
	}
	if (err == EAGAIN_WALK) {
		walk_end(w);
		err = walk_start(w, dirfd, path, false);
		if (!err)
			err = walk_on(w);
	}
	return err;
}

int path_lookup(int dirfd, const char *path, unsigned flags, struct dentry **out)
{
	struct walk w = { .flags = flags };
	int err = walk(&w, dirfd, path);

	if (!err && (w.trailing || (flags & WALK_DIRECTORY)) && !S_ISDIR(w.d->inode->mode))
		err = -ENOTDIR;
	if (!err) {
		*out = w.d;
		w.d = NULL;
	}
	walk_end(&w);
	return err;
}

int walk_parent(struct walk *w, int dirfd, const char *path)
{
	memset(w, 0, sizeof(*w));
	w->flags = WALK_PARENT;
	return walk(w, dirfd, path);
}

int walk_through(struct walk *w, struct dentry *link)
{
	int err = walk_link(w, link);

	if (!err && !link->inode->ops->follow)
		err = walk_on(w);
	return err;
}

struct dentry *walk_last(struct walk *w)
{
	struct dentry *d;

	if (w->kind == LAST_NORMAL) {
		d = lookup_slow(w->d, w->last, w->last_len);
		return d && !IS_ERR(d) ? cross_mounts(d) : d;
	}
	if (w->kind == LAST_DOTDOT) {
		walk_up(w);
		w->kind = LAST_DOT;
	}
	dentry_get(w->d);
	return w->d;
}
