/* SPDX-License-Identifier: MIT */
/*
 * epoll: a set of watched files and a list of those that may be ready.
 *
 * Each item queues itself on its file's wait queues once; a wake-up puts it on
 * the ready list.  epoll_wait() takes items off, asks the file what is really
 * ready, and puts level-triggered ones back.
 *
 * Locks: set_lock (mutex) over all sets' items and files' ep_links, since
 *        closing a file must find its items; the set's ready_lock (spinlock,
 *        taken under a file's wait-queue lock) over the ready list.
 * Life time: an item does not hold its file; the file's end removes it.
 * Source: epoll(7).
 */
#include "fs/internal.h"
#include "fs/sys.h"

#define EPOLL_CTL_ADD 1
#define EPOLL_CTL_DEL 2
#define EPOLL_CTL_MOD 3
#define EPOLLEXCLUSIVE (1u << 28)
#define EPOLLWAKEUP    (1u << 29)
#define EPOLLONESHOT   (1u << 30)
#define EPOLLET        (1u << 31)
#define EP_PRIVATE     (EPOLLEXCLUSIVE | EPOLLWAKEUP | EPOLLONESHOT | EPOLLET)

#define ITEM_QUEUES 2 /* wait queues of one file: at most this many are used anywhere */
#define MAX_EVENTS  (INT_MAX / (int)sizeof(struct epoll_event))

struct epoll_event {
	uint32_t events;
	uint64_t data;
} __packed;

struct epoll_set {
	struct wait_queue wait;     /* epoll_wait() and poll() of the set itself */
	struct list_head items;     /* set_lock */
	struct spinlock ready_lock;
	struct list_head ready;     /* ready_lock */
};

struct epoll_item {
	struct epoll_set *set;
	struct file *file;
	int fd;
	struct epoll_event ev;          /* set_lock */
	struct list_head link;          /* in set->items */
	struct list_head file_link;     /* in file->ep_links */
	struct list_head ready_link;    /* in set->ready or to itself */
	unsigned nr_queues;
	struct wait_queue *queue[ITEM_QUEUES];
	struct wait_entry entry[ITEM_QUEUES];
	struct poll_table pt;
};

static struct mutex set_lock = MUTEX_INIT(set_lock, "epoll.sets");
static const struct file_ops epoll_ops;

static void make_ready(struct epoll_item *it)
{
	struct epoll_set *s = it->set;

	spin_lock(&s->ready_lock);
	if (list_empty(&it->ready_link))
		list_add_tail(&it->ready_link, &s->ready);
	spin_unlock(&s->ready_lock);
	wake_up_poll(&s->wait, EPOLLIN);
}

static bool item_wake(struct wait_entry *e, unsigned long key)
{
	struct epoll_item *it = e->priv;
	uint32_t want = __atomic_load_n(&it->ev.events, __ATOMIC_RELAXED);

	if (!(want & ~EP_PRIVATE))
		return false; /* one-shot, already reported */
	if (key && !(key & (want | EPOLLERR | EPOLLHUP)))
		return false;
	make_ready(it);
	return want & EPOLLEXCLUSIVE;
}

static void item_queue(struct poll_table *pt, struct file *f, struct wait_queue *q)
{
	struct epoll_item *it = container_of(pt, struct epoll_item, pt);
	struct wait_entry *e;

	if (WARN_ON(it->nr_queues == ITEM_QUEUES))
		return;
	e = &it->entry[it->nr_queues];
	e->wake = item_wake;
	e->priv = it;
	it->queue[it->nr_queues++] = q;
	wq_add(q, e);
}

static unsigned item_poll(struct epoll_item *it, bool queue)
{
	uint32_t want = it->ev.events;

	if (!(want & ~EP_PRIVATE))
		return 0;
	it->pt.queue = queue ? item_queue : NULL;
	it->pt.events = want | EPOLLERR | EPOLLHUP;
	return file_poll(it->file, queue ? &it->pt : NULL) & (want | EPOLLERR | EPOLLHUP);
}

static void item_free(struct epoll_item *it) /* set_lock held */
{
	struct epoll_set *s = it->set;

	for (unsigned k = 0; k < it->nr_queues; k++)
		wq_remove(it->queue[k], &it->entry[k]);
	spin_lock(&s->ready_lock);
	list_del(&it->ready_link);
	spin_unlock(&s->ready_lock);
	list_del(&it->link);
	list_del(&it->file_link);
	kfree(it);
}

void eventpoll_release(struct file *f)
{
	mutex_lock(&set_lock);
	while (!list_empty(&f->ep_links))
		item_free(list_first_entry(&f->ep_links, struct epoll_item, file_link));
	mutex_unlock(&set_lock);
}

static void epoll_release(struct file *f)
{
	struct epoll_set *s = f->priv;

	mutex_lock(&set_lock);
	while (!list_empty(&s->items))
		item_free(list_first_entry(&s->items, struct epoll_item, link));
	mutex_unlock(&set_lock);
	kfree(s);
}

static unsigned epoll_poll(struct file *f, struct poll_table *pt)
{
	struct epoll_set *s = f->priv;
	unsigned ev;

	poll_wait(f, &s->wait, pt);
	spin_lock(&s->ready_lock);
	ev = list_empty(&s->ready) ? 0 : EPOLLIN | EPOLLRDNORM;
	spin_unlock(&s->ready_lock);
	return ev;
}

static const struct file_ops epoll_ops = { .poll = epoll_poll, .release = epoll_release };

long sys_epoll_create1(int flags)
{
	struct epoll_set *s;
	struct file *f;

	if ((unsigned)flags & ~O_CLOEXEC)
		return -EINVAL;
	s = kzalloc(sizeof(*s), GFP_KERNEL | GFP_ACCOUNT);
	if (!s)
		return -ENOMEM;
	wq_init(&s->wait, "epoll.wait");
	spin_init(&s->ready_lock, "epoll.ready");
	list_init(&s->items);
	list_init(&s->ready);
	f = file_alloc(&epoll_ops, O_RDWR, s);
	if (!f) {
		kfree(s);
		return -ENOMEM;
	}
	return fd_file(f, (unsigned)flags);
}

long sys_epoll_create(int size)
{
	return size <= 0 ? -EINVAL : sys_epoll_create1(0);
}

static struct epoll_item *find_item(struct epoll_set *s, struct file *f, int fd)
{
	struct epoll_item *it;

	/* Few sets watch one file, while one set may watch thousands. */
	list_for_each_entry(it, &f->ep_links, file_link) {
		if (it->set == s && it->fd == fd)
			return it;
	}
	return NULL;
}

static int item_add(struct epoll_set *s, struct file *f, int fd, const struct epoll_event *ev)
{
	struct epoll_item *it = kzalloc(sizeof(*it), GFP_KERNEL | GFP_ACCOUNT);

	if (!it)
		return -ENOMEM;
	it->set = s;
	it->file = f;
	it->fd = fd;
	it->ev = *ev;
	list_init(&it->ready_link);
	list_add_tail(&it->link, &s->items);
	list_add_tail(&it->file_link, &f->ep_links);
	/* Queued even if nothing is wanted yet: EPOLL_CTL_MOD may want it later. */
	it->pt.queue = item_queue;
	it->pt.events = ~0u;
	if (file_poll(f, &it->pt) & (ev->events | EPOLLERR | EPOLLHUP) & ~EP_PRIVATE)
		make_ready(it);
	return 0;
}

long sys_epoll_ctl(int epfd, int op, int fd, struct epoll_event __user *uev)
{
	struct epoll_event ev = { 0 };
	struct fdref e, r;
	struct epoll_item *it;
	struct epoll_set *s;
	long err;

	if (op != EPOLL_CTL_DEL && copy_from_user(&ev, uev, sizeof(ev)))
		return -EFAULT;
	e = fdget(epfd);
	if (!e.file)
		return -EBADF;
	r = fdget(fd);
	err = -EBADF;
	if (!r.file)
		goto out;
	err = -EPERM;
	if (!r.file->ops || !r.file->ops->poll)
		goto out;
	err = -EINVAL;
	/* Sets of sets are refused: a wake-up would have to pass through several locks of a kind. */
	if (e.file->ops != &epoll_ops || r.file->ops == &epoll_ops)
		goto out;
	s = e.file->priv;
	mutex_lock(&set_lock);
	it = find_item(s, r.file, fd);
	switch (op) {
	case EPOLL_CTL_ADD:
		err = it ? -EEXIST : item_add(s, r.file, fd, &ev);
		break;
	case EPOLL_CTL_DEL:
		err = it ? 0 : -ENOENT;
		if (it)
			item_free(it);
		break;
	case EPOLL_CTL_MOD:
		err = it ? 0 : -ENOENT;
		if (it) {
			__atomic_store_n(&it->ev.events, ev.events, __ATOMIC_RELAXED);
			it->ev.data = ev.data;
			if (item_poll(it, false))
				make_ready(it);
		}
		break;
	default:
		err = -EINVAL;
	}
	mutex_unlock(&set_lock);
out:
	if (r.file)
		fdput(r);
	fdput(e);
	return err;
}

/* Copies ready events out.  Their number, or -EFAULT. */
static int collect(struct epoll_set *s, struct epoll_event __user *out, int max)
{
	LIST_HEAD(again);
	int n = 0, err = 0;

	mutex_lock(&set_lock);
	while (n < max && !err) {
		struct epoll_item *it = NULL;
		struct epoll_event ev;

		spin_lock(&s->ready_lock);
		if (!list_empty(&s->ready)) {
			it = list_first_entry(&s->ready, struct epoll_item, ready_link);
			list_del(&it->ready_link);
		}
		spin_unlock(&s->ready_lock);
		if (!it)
			break;
		ev.events = item_poll(it, false);
		ev.data = it->ev.data;
		if (!ev.events)
			continue;
		if (copy_to_user(&out[n], &ev, sizeof(ev))) {
			err = -EFAULT;
			make_ready(it);
			break;
		}
		n++;
		if (it->ev.events & EPOLLONESHOT)
			__atomic_store_n(&it->ev.events, it->ev.events & EP_PRIVATE,
					 __ATOMIC_RELAXED);
		if (it->ev.events & (EPOLLET | EPOLLONESHOT))
			continue;
		/* Level-triggered: looked at again next time, behind the others. */
		spin_lock(&s->ready_lock);
		if (list_empty(&it->ready_link))
			list_add_tail(&it->ready_link, &again);
		spin_unlock(&s->ready_lock);
	}
	spin_lock(&s->ready_lock);
	list_splice_tail_init(&again, &s->ready);
	spin_unlock(&s->ready_lock);
	mutex_unlock(&set_lock);
	return n ? n : err;
}

static bool any_ready(struct epoll_set *s)
{
	bool r;

	spin_lock(&s->ready_lock);
	r = !list_empty(&s->ready);
	spin_unlock(&s->ready_lock);
	return r;
}

/* @deadline 0: do not wait. */
static long epoll_wait_until(int epfd, struct epoll_event __user *out, int max, uint64_t deadline)
{
	struct fdref e;
	long ret = -EINVAL;

	if (max <= 0 || max > MAX_EVENTS)
		return -EINVAL;
	if (!user_range_ok(out, (size_t)max * sizeof(*out)))
		return -EFAULT;
	e = fdget(epfd);
	if (!e.file)
		return -EBADF;
	if (e.file->ops != &epoll_ops)
		goto out;
	for (;;) {
		struct epoll_set *s = e.file->priv;

		ret = collect(s, out, max);
		if (ret || !deadline)
			break;
		ret = wait_event_full(&s->wait, any_ready(s), THREAD_INTERRUPTIBLE, deadline, true);
		if (ret == -ETIMEDOUT) {
			ret = collect(s, out, max);
			break;
		}
		if (ret)
			break;
	}
out:
	fdput(e);
	return ret;
}

static uint64_t deadline_ms(int ms)
{
	return ms < 0 ? UINT64_MAX : ms ? clock_ns() + (uint64_t)ms * NSEC_PER_MSEC : 0;
}

long sys_epoll_wait(int epfd, struct epoll_event __user *out, int max, int ms)
{
	return epoll_wait_until(epfd, out, max, deadline_ms(ms));
}

long sys_epoll_pwait(int epfd, struct epoll_event __user *out, int max, int ms,
		     const uint64_t __user *mask, size_t size)
{
	long ret = signal_mask_swap_user(mask, size);

	if (ret)
		return ret;
	ret = epoll_wait_until(epfd, out, max, deadline_ms(ms));
	if (mask && ret != -EINTR)
		signal_mask_unswap();
	return ret;
}

long sys_epoll_pwait2(int epfd, struct epoll_event __user *out, int max,
		      const struct timespec64 __user *ts, const uint64_t __user *mask, size_t size)
{
	uint64_t deadline = UINT64_MAX;
	struct timespec64 t;
	long ret;

	if (ts) {
		if (copy_from_user(&t, ts, sizeof(t)))
			return -EFAULT;
		if (t.sec < 0 || t.nsec < 0 || t.nsec >= (int64_t)NSEC_PER_SEC)
			return -EINVAL;
		if (!t.sec && !t.nsec)
			deadline = 0;
		else if (t.sec < INT64_MAX / (int64_t)NSEC_PER_SEC - 1)
			deadline = clock_ns() + (uint64_t)t.sec * NSEC_PER_SEC + (uint64_t)t.nsec;
	}
	ret = signal_mask_swap_user(mask, size);
	if (ret)
		return ret;
	ret = epoll_wait_until(epfd, out, max, deadline);
	if (mask && ret != -EINTR)
		signal_mask_unswap();
	return ret;
}
