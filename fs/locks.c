/* SPDX-License-Identifier: MIT */
/*
 * Advisory locks: flock(2) by open file, fcntl(2) byte ranges by process (or by
 * open file, F_OFD_*).
 *
 * All locks of an inode hang on one list; conflicts wait on one queue for the
 * whole system, since they are rare.  Deadlocks among fcntl locks are not
 * looked for: waits end by a signal.
 *
 * Locks: list_lock (spinlock) over all lists.
 */
#include "fs/internal.h"
#include "fs/sys.h"

#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8
#define LOCK_MAND 32

struct file_lock {
	struct file_lock *next;
	const void *owner; /* file for flock and OFD, descriptor table for fcntl */
	bool flock, write;
	pid_t pid;
	int64_t start, end; /* inclusive */
};

/* Linux struct flock. */
struct uflock {
	int16_t type, whence;
	int32_t pad;
	int64_t start, len;
	int32_t pid, pad2;
};

static struct spinlock list_lock = SPINLOCK_INIT("file_locks");
static struct wait_queue released;
static _Atomic unsigned changes; /* counts releases: what waiters look at */

static bool overlap(const struct file_lock *a, const struct file_lock *b)
{
	return a->start <= b->end && b->start <= a->end;
}

static struct file_lock *conflict(struct file_lock *l, const struct file_lock *want)
{
	for (; l; l = l->next) {
		if (l->flock == want->flock && l->owner != want->owner && overlap(l, want) &&
		    (l->write || want->write))
			return l;
	}
	return NULL;
}

/*
 * Cuts [start, end] out of @owner's locks; @spare may be used for the rest of a
 * lock cut in two.  Returns a chain to be freed.
 */
static struct file_lock *cut(_Atomic(void *) *head, const struct file_lock *want,
			     struct file_lock **spare)
{
	struct file_lock *first = atomic_load_explicit(head, memory_order_relaxed), *l;
	struct file_lock **p = &first, *gone = NULL;

	while ((l = *p)) {
		if (l->flock != want->flock || l->owner != want->owner || !overlap(l, want)) {
			p = &l->next;
		} else if (l->start < want->start && l->end > want->end && *spare) {
			struct file_lock *r = *spare;

			*spare = NULL;
			*r = *l;
			r->start = want->end + 1;
			l->end = want->start - 1;
			l->next = r;
			p = &r->next;
		} else if (l->start < want->start) {
			l->end = want->start - 1;
			p = &l->next;
		} else if (l->end > want->end) {
			l->start = want->end + 1;
			p = &l->next;
		} else {
			*p = l->next;
			l->next = gone;
			gone = l;
		}
	}
	atomic_store_explicit(head, first, memory_order_relaxed);
	return gone;
}

static void free_chain(struct file_lock *l)
{
	while (l) {
		struct file_lock *n = l->next;

		kfree(l);
		l = n;
	}
}

static void announce(void)
{
	atomic_fetch_add_explicit(&changes, 1, memory_order_release);
	wake_up(&released);
}

/* @set false: unlock.  0, -EAGAIN, -ERESTARTSYS, -ENOMEM. */
static int lock_apply(struct inode *i, const struct file_lock *want, bool set, bool wait)
{
	struct file_lock *l = kmalloc(sizeof(*l), GFP_KERNEL | GFP_ACCOUNT);
	struct file_lock *spare = kmalloc(sizeof(*l), GFP_KERNEL | GFP_ACCOUNT), *gone;
	int err = 0;

	if (!l || !spare) {
		kfree(l);
		kfree(spare);
		return -ENOMEM;
	}
	spin_lock(&list_lock);
	while (set && conflict(atomic_load_explicit(&i->locks, memory_order_relaxed), want)) {
		unsigned seen = atomic_load_explicit(&changes, memory_order_acquire);

		spin_unlock(&list_lock);
		if (!wait)
			err = -EAGAIN;
		else if (wait_event_interruptible(
				 &released,
				 atomic_load_explicit(&changes, memory_order_acquire) != seen))
			err = -ERESTARTSYS;
		if (err) {
			kfree(l);
			kfree(spare);
			return err;
		}
		spin_lock(&list_lock);
	}
	gone = cut(&i->locks, want, &spare);
	if (set) {
		*l = *want;
		l->next = atomic_load_explicit(&i->locks, memory_order_relaxed);
		atomic_store_explicit(&i->locks, l, memory_order_relaxed);
		l = NULL;
	}
	spin_unlock(&list_lock);
	kfree(l);
	kfree(spare);
	free_chain(gone);
	announce();
	return 0;
}

static void drop_owner(struct inode *i, const void *owner)
{
	const struct file_lock all[2] = {
		{ .owner = owner, .flock = true, .end = INT64_MAX },
		{ .owner = owner, .flock = false, .end = INT64_MAX },
	};
	struct file_lock *gone[2], *none = NULL;

	if (likely(!atomic_load_explicit(&i->locks, memory_order_relaxed)))
		return;
	spin_lock(&list_lock);
	gone[0] = cut(&i->locks, &all[0], &none);
	gone[1] = cut(&i->locks, &all[1], &none);
	spin_unlock(&list_lock);
	if (gone[0] || gone[1])
		announce();
	free_chain(gone[0]);
	free_chain(gone[1]);
}

void file_locks_release(struct file *f)
{
	drop_owner(f->inode, f);
}

void file_locks_close(struct inode *i, void *owner)
{
	drop_owner(i, owner);
}

int file_lock_flock(struct file *f, int op)
{
	struct file_lock want = { .owner = f, .flock = true, .end = INT64_MAX };
	int kind = op & ~LOCK_NB;

	if (op & LOCK_MAND)
		return 0; /* once meant share modes; Linux ignores it */
	if (kind != LOCK_SH && kind != LOCK_EX && kind != LOCK_UN)
		return -EINVAL;
	if (!f->inode)
		return 0;
	want.write = kind == LOCK_EX;
	return lock_apply(f->inode, &want, kind != LOCK_UN, !(op & LOCK_NB));
}

long file_lock_fcntl(struct file *f, unsigned cmd, void __user *arg)
{
	bool ofd = cmd >= 36;
	struct file_lock want = { 0 }, *c;
	struct uflock u;
	int64_t base;

	if (copy_from_user(&u, arg, sizeof(u)))
		return -EFAULT;
	if (u.type < 0 || u.type > 2 || u.whence < 0 || u.whence > 2)
		return -EINVAL;
	if (!f->inode)
		return -EBADF;
	base = u.whence == SEEK_SET   ? 0
	       : u.whence == SEEK_CUR ? f->pos
				      : atomic_load_explicit(&f->inode->size, memory_order_relaxed);
	if (__builtin_add_overflow(base, u.start, &want.start))
		return -EOVERFLOW;
	want.end = INT64_MAX;
	if (u.len > 0 && __builtin_add_overflow(want.start, u.len - 1, &want.end))
		return -EOVERFLOW;
	if (want.start < 0)
		return -EINVAL;
	if (u.len < 0) {
		want.end = want.start - 1;
		want.start += u.len;
	}
	if (want.start < 0 || want.end < want.start)
		return -EINVAL;
	want.owner = ofd ? (const void *)f : (const void *)current_files();
	want.write = u.type == 1; /* F_RDLCK 0, F_WRLCK 1, F_UNLCK 2 */
	want.pid = ofd ? -1 : current_process()->pid;
	switch (cmd) {
	case 5: /* F_GETLK, F_OFD_GETLK */
	case 36:
		spin_lock(&list_lock);
		c = conflict(atomic_load_explicit(&f->inode->locks, memory_order_relaxed), &want);
		if (c) {
			u.type = c->write ? 1 : 0;
			u.whence = SEEK_SET;
			u.start = c->start;
			u.len = c->end == INT64_MAX ? 0 : c->end - c->start + 1;
			u.pid = c->pid;
		} else {
			u.type = 2;
		}
		spin_unlock(&list_lock);
		return copy_to_user(arg, &u, sizeof(u));
	default:
		if ((u.type == 0 && !(f->mode & FMODE_READ)) ||
		    (u.type == 1 && !(f->mode & FMODE_WRITE)))
			return -EBADF;
		return lock_apply(f->inode, &want, u.type != 2, cmd == 7 || cmd == 38);
	}
}

void file_locks_init(void)
{
	wq_init(&released, "file_locks.wait");
}
