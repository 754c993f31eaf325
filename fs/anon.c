/* SPDX-License-Identifier: MIT */
/*
 * Files without a name: eventfd, timerfd, memfd.
 * Source: eventfd(2), timerfd_create(2), memfd_create(2).
 */
#include "fs/internal.h"
#include "fs/sys.h"
#include "kernel/timer.h"

#define EFD_SEMAPHORE 1u

static bool nonblock(struct file *f)
{
	return atomic_load_explicit(&f->flags, memory_order_relaxed) & O_NONBLOCK;
}

/* eventfd: a 64-bit counter under its lock. */
struct event {
	struct spinlock lock;
	struct wait_queue wait;
	_Atomic uint64_t count;
	bool semaphore;
};

static ssize_t event_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct event *e = f->priv;
	uint64_t v;

	if (to->count < sizeof(v))
		return -EINVAL;
	for (;;) {
		spin_lock(&e->lock);
		v = atomic_load_explicit(&e->count, memory_order_relaxed);
		if (v) {
			uint64_t take = e->semaphore ? 1 : v;

			atomic_store_explicit(&e->count, v - take, memory_order_relaxed);
			v = take;
		}
		spin_unlock(&e->lock);
		if (v)
			break;
		if (nonblock(f))
			return -EAGAIN;
		if (wait_event_interruptible(&e->wait, atomic_load_explicit(&e->count,
									    memory_order_relaxed)))
			return -ERESTARTSYS;
	}
	wake_up_poll(&e->wait, EPOLLOUT);
	return copy_to_iter(&v, sizeof(v), to) == sizeof(v) ? (ssize_t)sizeof(v) : -EFAULT;
}

static ssize_t event_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	struct event *e = f->priv;
	uint64_t v, c;
	bool done;

	if (from->count < sizeof(v))
		return -EINVAL;
	if (copy_from_iter(&v, sizeof(v), from) < sizeof(v))
		return -EFAULT;
	if (v == UINT64_MAX)
		return -EINVAL;
	for (;;) {
		spin_lock(&e->lock);
		c = atomic_load_explicit(&e->count, memory_order_relaxed);
		done = v <= UINT64_MAX - 1 - c;
		if (done)
			atomic_store_explicit(&e->count, c + v, memory_order_relaxed);
		spin_unlock(&e->lock);
		if (done)
			break;
		if (nonblock(f))
			return -EAGAIN;
		if (wait_event_interruptible(
			    &e->wait, v <= UINT64_MAX - 1 - atomic_load_explicit(&e->count,
										 memory_order_relaxed)))
			return -ERESTARTSYS;
	}
	wake_up_poll(&e->wait, EPOLLIN);
	return sizeof(v);
}

static unsigned event_poll(struct file *f, struct poll_table *pt)
{
	struct event *e = f->priv;
	uint64_t c;

	poll_wait(f, &e->wait, pt);
	c = atomic_load_explicit(&e->count, memory_order_relaxed);
	return (c ? EPOLLIN : 0) | (c < UINT64_MAX - 1 ? EPOLLOUT : 0);
}

static void event_release(struct file *f)
{
	kfree(f->priv);
}

static const struct file_ops event_ops = {
	.read = event_read,
	.write = event_write,
	.poll = event_poll,
	.release = event_release,
};

long sys_eventfd2(unsigned init, int flags)
{
	struct event *e;
	struct file *f;

	if ((unsigned)flags & ~(EFD_SEMAPHORE | O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	e = kzalloc(sizeof(*e), GFP_KERNEL | GFP_ACCOUNT);
	if (!e)
		return -ENOMEM;
	spin_init(&e->lock, "eventfd");
	wq_init(&e->wait, "eventfd.wait");
	atomic_init(&e->count, init);
	e->semaphore = (unsigned)flags & EFD_SEMAPHORE;
	f = file_alloc(&event_ops, O_RDWR | ((unsigned)flags & O_NONBLOCK), e);
	if (!f) {
		kfree(e);
		return -ENOMEM;
	}
	return fd_file(f, (unsigned)flags);
}

long sys_eventfd(unsigned init)
{
	return sys_eventfd2(init, 0);
}

/*
 * timerfd: expirations are counted when somebody looks; the timer only wakes.  While some
 * wait to be read it is not armed, so that an interval of a nanosecond costs nobody but its
 * reader anything.
 */
struct timerfd {
	struct timer timer;
	struct spinlock lock;
	struct wait_queue wait;
	bool realtime;
	uint64_t next, interval; /* ns of clock_ns(); 0: disarmed, single */
	uint64_t expired;        /* counted and not yet read */
	_Atomic bool ready;
};

struct itimerspec64 { struct timespec64 interval, value; };

/* Counts what has expired by now; lock held. */
static void timerfd_count(struct timerfd *t)
{
	uint64_t now = clock_ns();

	if (t->next && now >= t->next) {
		uint64_t n = 1;

		if (t->interval) {
			n += (now - t->next) / t->interval;
			t->next += n * t->interval;
		} else {
			t->next = 0;
		}
		t->expired += n;
		atomic_store_explicit(&t->ready, true, memory_order_relaxed);
	}
}

static void timerfd_fire(struct timer *tm)
{
	struct timerfd *t = container_of(tm, struct timerfd, timer);

	spin_lock(&t->lock);
	timerfd_count(t);
	if (unlikely(!t->expired && t->next)) /* set anew while this call began */
		timer_set(&t->timer, t->next);
	spin_unlock(&t->lock);
	wake_up_poll(&t->wait, EPOLLIN);
}

static ssize_t timerfd_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct timerfd *t = f->priv;
	uint64_t v;

	if (to->count < sizeof(v))
		return -EINVAL;
	for (;;) {
		spin_lock(&t->lock);
		timerfd_count(t);
		v = t->expired;
		if (v && t->next)
			timer_set(&t->timer, t->next);
		t->expired = 0;
		atomic_store_explicit(&t->ready, false, memory_order_relaxed);
		spin_unlock(&t->lock);
		if (v)
			break;
		if (nonblock(f))
			return -EAGAIN;
		if (wait_event_interruptible(&t->wait, atomic_load_explicit(&t->ready,
									    memory_order_relaxed)))
			return -ERESTARTSYS;
	}
	return copy_to_iter(&v, sizeof(v), to) == sizeof(v) ? (ssize_t)sizeof(v) : -EFAULT;
}

static unsigned timerfd_poll(struct file *f, struct poll_table *pt)
{
	struct timerfd *t = f->priv;

	poll_wait(f, &t->wait, pt);
	return atomic_load_explicit(&t->ready, memory_order_relaxed) ? EPOLLIN : 0;
}

static void timerfd_release(struct file *f)
{
	struct timerfd *t = f->priv;

	timer_cancel_sync(&t->timer);
	kfree(t);
}

static const struct file_ops timerfd_ops = {
	.read = timerfd_read,
	.poll = timerfd_poll,
	.release = timerfd_release,
};

long sys_timerfd_create(int clock, int flags)
{
	struct timerfd *t;
	struct file *f;

	if (((unsigned)flags & ~(O_CLOEXEC | O_NONBLOCK)) ||
	    (clock != 0 && clock != 1 && clock != 7)) /* REALTIME, MONOTONIC, BOOTTIME */
		return -EINVAL;
	t = kzalloc(sizeof(*t), GFP_KERNEL | GFP_ACCOUNT);
	if (!t)
		return -ENOMEM;
	timer_init(&t->timer, timerfd_fire);
	spin_init(&t->lock, "timerfd");
	wq_init(&t->wait, "timerfd.wait");
	t->realtime = clock == 0;
	f = file_alloc(&timerfd_ops, O_RDONLY | ((unsigned)flags & O_NONBLOCK), t);
	if (!f) {
		kfree(t);
		return -ENOMEM;
	}
	return fd_file(f, (unsigned)flags);
}

static int to_ns(const struct timespec64 *ts, uint64_t *out)
{
	if (ts->sec < 0 || ts->nsec < 0 || ts->nsec >= (int64_t)NSEC_PER_SEC)
		return -EINVAL;
	*out = (uint64_t)min(ts->sec, INT64_MAX / 2 / (int64_t)NSEC_PER_SEC) * NSEC_PER_SEC +
	       (uint64_t)ts->nsec;
	return 0;
}

static struct timespec64 from_ns(uint64_t ns)
{
	return (struct timespec64){ (int64_t)(ns / NSEC_PER_SEC), (int64_t)(ns % NSEC_PER_SEC) };
}

/* Time left and interval; lock held. */
static void timerfd_state(struct timerfd *t, struct itimerspec64 *out)
{
	uint64_t now = clock_ns();

	timerfd_count(t);
	out->interval = from_ns(t->interval);
	out->value = from_ns(t->next > now ? t->next - now : 0);
}

static long timerfd_get(int fd, struct fdref *r, struct timerfd **t)
{
	*r = fdget(fd);
	if (!r->file)
		return -EBADF;
	if (r->file->ops != &timerfd_ops) {
		fdput(*r);
		return -EINVAL;
	}
	*t = r->file->priv;
	return 0;
}

long sys_timerfd_settime(int fd, int flags, const struct itimerspec64 __user *unew,
			 struct itimerspec64 __user *uold)
{
	struct itimerspec64 its, old;
	uint64_t value, interval, off;
	struct timerfd *t;
	struct fdref r;
	long err;

	if (flags & ~3) /* TFD_TIMER_ABSTIME, TFD_TIMER_CANCEL_ON_SET */
		return -EINVAL;
	if (copy_from_user(&its, unew, sizeof(its)))
		return -EFAULT;
	if (to_ns(&its.value, &value) || to_ns(&its.interval, &interval))
		return -EINVAL;
	err = timerfd_get(fd, &r, &t);
	if (err)
		return err;
	off = t->realtime ? clock_realtime_offset_ns() : 0;
	spin_lock(&t->lock);
	timerfd_state(t, &old);
	t->expired = 0;
	atomic_store_explicit(&t->ready, false, memory_order_relaxed);
	t->interval = interval;
	t->next = 0;
	if (value) {
		t->next = (flags & 1) ? (value > off ? value - off : 1) : clock_ns() + value;
		timer_set(&t->timer, t->next);
	} else {
		timer_cancel(&t->timer);
	}
	spin_unlock(&t->lock);
	if (uold && copy_to_user(uold, &old, sizeof(old)))
		err = -EFAULT;
	fdput(r);
	return err;
}

long sys_timerfd_gettime(int fd, struct itimerspec64 __user *out)
{
	struct itimerspec64 its;
	struct timerfd *t;
	struct fdref r;
	long err = timerfd_get(fd, &r, &t);

	if (err)
		return err;
	spin_lock(&t->lock);
	timerfd_state(t, &its);
	spin_unlock(&t->lock);
	err = copy_to_user(out, &its, sizeof(its));
	fdput(r);
	return err;
}

/* memfd: a regular file of an instance that is mounted nowhere. */
static struct super *memfd_super;
static struct fs_type memfd_type = { .name = "memfd" };

long sys_memfd_create(const char __user *uname, unsigned flags)
{
	char name[8 + 250] = "/memfd:";
	struct inode *i;
	struct dentry *d;
	struct file *f;
	long n;

	if (flags & ~3u) /* MFD_CLOEXEC, MFD_ALLOW_SEALING */
		return -EINVAL;
	n = strncpy_from_user(name + 7, uname, 250);
	if (n < 0)
		return n == -ENAMETOOLONG ? -EINVAL : n;
	i = ramfs_new_inode(memfd_super, S_IFREG | 0777, 0);
	if (!i)
		return -ENOMEM;
	atomic_store_explicit(&i->nlink, 0, memory_order_relaxed);
	d = dentry_anon(memfd_super, i, name);
	if (!d)
		return -ENOMEM;
	atomic_fetch_or_explicit(&d->flags, DENTRY_DELETED, memory_order_relaxed);
	f = file_open_dentry(d, O_RDWR | O_LARGEFILE);
	dentry_put(d);
	if (IS_ERR(f))
		return PTR_ERR(f);
	return fd_file(f, (flags & 1) ? O_CLOEXEC : 0);
}

void anon_init(void)
{
	memfd_super = super_alloc(&memfd_type, "memfd", NULL);
	if (!memfd_super)
		panic("memfd: no memory");
}
