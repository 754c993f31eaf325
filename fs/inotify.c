/* SPDX-License-Identifier: MIT */
/*
 * inotify: a descriptor that tells of changes of files.
 *
 * What there is: IN_MODIFY of written files and of the *.events files of memory
 * groups, IN_DELETE_SELF and IN_IGNORED when a group is removed, IN_IGNORED when a
 * watch is.  Events of names in directories do not exist.
 *
 * An event is a bit in its watch, so it needs no memory when it happens and repeats
 * melt into one until it is read.
 *
 * Locks: watch_lock (spinlock) over all watches, sets' lists and pending bits; taken
 *        under the spinlocks of whoever has an event.  A watch holds its dentry, so
 *        that computed inodes stay.
 * Source: inotify(7).
 */
#include "fs/inotify.h"
#include "fs/internal.h"
#include "fs/sys.h"

#define IN_ALL_EVENTS  0xfffu
#define IN_ONLYDIR     0x01000000u
#define IN_DONT_FOLLOW 0x02000000u
#define IN_EXCL_UNLINK 0x04000000u
#define IN_MASK_CREATE 0x10000000u
#define IN_MASK_ADD    0x20000000u
#define IN_ONESHOT     0x80000000u
#define WATCHES_MAX    8192 /* of one descriptor */

struct inotify_set {
	struct wait_queue wait;
	struct list_head watches; /* watch_lock */
	struct list_head ready;   /* watch_lock: watches with pending bits, oldest first */
	int next_wd, nr;          /* watch_lock */
};

struct watch {
	struct inotify_set *set;
	struct dentry *dentry;     /* referenced */
	const void *key;
	int wd;
	uint32_t mask;             /* watch_lock */
	uint32_t pending;          /* watch_lock */
	bool over;                 /* watch_lock: no more events; goes when IN_IGNORED has been read */
	struct list_head all_link; /* watch_lock */
	struct list_head set_link, ready_link;
};

struct uevent { /* struct inotify_event, no name */
	int32_t wd;
	uint32_t mask, cookie, len;
};

_Atomic unsigned inotify_watches;
static struct spinlock watch_lock = SPINLOCK_INIT("inotify");
static struct list_head all = LIST_HEAD_INIT(all); /* watch_lock */

/* watch_lock held. */
static void add_pending(struct watch *w, uint32_t bits)
{
	if (!bits)
		return;
	w->pending |= bits;
	if (list_empty(&w->ready_link))
		list_add_tail(&w->ready_link, &w->set->ready);
	wake_up_poll(&w->set->wait, EPOLLIN | EPOLLRDNORM);
}

/* watch_lock held. */
static void end_watch(struct watch *w)
{
	if (w->over)
		return;
	w->over = true;
	list_del(&w->all_link);
	atomic_fetch_sub_explicit(&inotify_watches, 1, memory_order_relaxed);
	add_pending(w, IN_IGNORED);
}

void inotify_event_slow(const void *key, uint32_t mask)
{
	struct watch *w, *next;

	spin_lock(&watch_lock);
	list_for_each_entry_safe(w, next, &all, all_link) {
		if (w->key != key)
			continue;
		add_pending(w, w->mask & mask);
		if ((mask & IN_DELETE_SELF) || ((w->mask & mask) && (w->mask & IN_ONESHOT)))
			end_watch(w);
	}
	spin_unlock(&watch_lock);
}

/* The next event of @s; *gone: a watch to be freed.  False: none. */
static bool take(struct inotify_set *s, struct uevent *ev, struct watch **gone)
{
	struct watch *w;

	*gone = NULL;
	spin_lock(&watch_lock);
	if (list_empty(&s->ready)) {
		spin_unlock(&watch_lock);
		return false;
	}
	w = list_first_entry(&s->ready, struct watch, ready_link);
	*ev = (struct uevent){ .wd = w->wd, .mask = w->pending & -w->pending };
	w->pending &= ~ev->mask;
	if (!w->pending)
		list_del(&w->ready_link);
	if (ev->mask == IN_IGNORED) {
		list_del(&w->set_link);
		s->nr--;
		*gone = w;
	}
	spin_unlock(&watch_lock);
	return true;
}

static void watch_free(struct watch *w)
{
	if (!w)
		return;
	dentry_put(w->dentry);
	kfree(w);
}

static bool has_event(struct inotify_set *s)
{
	bool has;

	spin_lock(&watch_lock);
	has = !list_empty(&s->ready);
	spin_unlock(&watch_lock);
	return has;
}

static ssize_t inotify_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct inotify_set *s = f->priv;
	ssize_t done = 0;

	if (to->count < sizeof(struct uevent))
		return -EINVAL;
	while (to->count >= sizeof(struct uevent)) {
		struct uevent ev;
		struct watch *gone;

		if (take(s, &ev, &gone)) {
			watch_free(gone);
			if (copy_to_iter(&ev, sizeof(ev), to) < sizeof(ev))
				return done ? done : -EFAULT;
			done += sizeof(ev);
			continue;
		}
		if (done)
			break;
		if (atomic_load_explicit(&f->flags, memory_order_relaxed) & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(&s->wait, has_event(s)))
			return -ERESTARTSYS;
	}
	return done;
}

static unsigned inotify_poll(struct file *f, struct poll_table *pt)
{
	struct inotify_set *s = f->priv;

	poll_wait(f, &s->wait, pt);
	return has_event(s) ? EPOLLIN | EPOLLRDNORM : 0;
}

static void inotify_release(struct file *f)
{
	struct inotify_set *s = f->priv;

	for (;;) {
		struct watch *w = NULL;

		spin_lock(&watch_lock);
		if (!list_empty(&s->watches)) {
			w = list_first_entry(&s->watches, struct watch, set_link);
			list_del(&w->set_link);
			end_watch(w);
			list_del(&w->ready_link);
		}
		spin_unlock(&watch_lock);
		if (!w)
			break;
		watch_free(w);
	}
	kfree(s);
}

static const struct file_ops inotify_ops = {
	.read = inotify_read,
	.poll = inotify_poll,
	.release = inotify_release,
};

long sys_inotify_init1(int flags)
{
	struct inotify_set *s;
	struct file *f;

	if ((unsigned)flags & ~(O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	s = kzalloc(sizeof(*s), GFP_KERNEL | GFP_ACCOUNT);
	if (!s)
		return -ENOMEM;
	wq_init(&s->wait, "inotify.wait");
	list_init(&s->watches);
	list_init(&s->ready);
	s->next_wd = 1;
	f = file_alloc(&inotify_ops, O_RDONLY | ((unsigned)flags & O_NONBLOCK), s);
	if (!f) {
		kfree(s);
		return -ENOMEM;
	}
	return fd_file(f, (unsigned)flags);
}

long sys_inotify_init(void)
{
	return sys_inotify_init1(0);
}

/* watch_lock held: the living watch of @s for @d's inode. */
static struct watch *find_watch(struct inotify_set *s, struct dentry *d)
{
	struct watch *w;

	list_for_each_entry(w, &s->watches, set_link)
		if (!w->over && w->dentry->inode == d->inode)
			return w;
	return NULL;
}

/* Takes @d over. */
static long add_watch(struct inotify_set *s, struct dentry *d, uint32_t mask)
{
	struct inode *i = d->inode;
	struct watch *w = kzalloc(sizeof(*w), GFP_KERNEL | GFP_ACCOUNT), *old;
	long ret = -ENOMEM;

	if (!w)
		goto out;
	spin_lock(&watch_lock);
	old = find_watch(s, d);
	if (old && (mask & IN_MASK_CREATE)) {
		ret = -EEXIST;
	} else if (old) {
		old->mask = mask & IN_MASK_ADD ? old->mask | mask : mask;
		ret = old->wd;
	} else if (s->nr >= WATCHES_MAX) {
		ret = -ENOSPC;
	} else {
		w->set = s;
		w->dentry = d;
		w->key = i->ops && i->ops->watch_key ? i->ops->watch_key(i) : i;
		w->mask = mask;
		ret = w->wd = s->next_wd++;
		s->nr++;
		list_init(&w->ready_link);
		list_add_tail(&w->set_link, &s->watches);
		list_add_tail(&w->all_link, &all);
		atomic_fetch_add_explicit(&inotify_watches, 1, memory_order_seq_cst);
		w = NULL;
		d = NULL;
	}
	spin_unlock(&watch_lock);
	kfree(w);
out:
	dentry_put(d);
	return ret;
}

long sys_inotify_add_watch(int fd, const char __user *path, uint32_t mask)
{
	struct fdref r;
	struct dentry *d;
	long ret;

	if (!(mask & IN_ALL_EVENTS) || ((mask & IN_MASK_ADD) && (mask & IN_MASK_CREATE)))
		return -EINVAL;
	r = fdget(fd);
	if (!r.file)
		return -EBADF;
	ret = -EINVAL;
	if (r.file->ops != &inotify_ops)
		goto out;
	ret = user_lookup(AT_FDCWD, path, at_flags(mask & IN_DONT_FOLLOW ? AT_SYMLINK_NOFOLLOW : 0), &d);
	if (ret)
		goto out;
	if (inode_permission(d->inode, MAY_READ))
		ret = -EACCES;
	else if ((mask & IN_ONLYDIR) && !S_ISDIR(d->inode->mode))
		ret = -ENOTDIR;
	if (ret)
		dentry_put(d);
	else
		ret = add_watch(r.file->priv, d, mask);
out:
	fdput(r);
	return ret;
}

long sys_inotify_rm_watch(int fd, int wd)
{
	struct fdref r = fdget(fd);
	struct inotify_set *s;
	struct watch *w;
	long ret = -EINVAL;

	if (!r.file)
		return -EBADF;
	if (r.file->ops == &inotify_ops) {
		s = r.file->priv;
		spin_lock(&watch_lock);
		list_for_each_entry(w, &s->watches, set_link) {
			if (w->wd == wd && !w->over) {
				end_watch(w);
				ret = 0;
				break;
			}
		}
		spin_unlock(&watch_lock);
	}
	fdput(r);
	return ret;
}
