/* SPDX-License-Identifier: MIT */
/*
 * poll and select: wait until one of several files is ready.
 *
 * The file's poll operation says what is ready and names the wait queues that
 * announce changes; the first round over all files queues an entry on each,
 * later rounds only look again.  The entry's wake function sets a flag and
 * wakes the poller; entries live in a few inline places, then in pages.
 *
 * Source: poll(2), select(2).
 */
#include "fs/internal.h"
#include "fs/sys.h"
#include "kernel/syscall.h"

#define INLINE_ENTRIES 8
#define POLL_ALWAYS    (EPOLLERR | EPOLLHUP | EPOLLNVAL)

struct poll_entry {
	struct wait_entry wait;
	struct wait_queue *queue;
	struct file *file; /* referenced: the queue lives as long */
};

struct poll_block {
	struct poll_block *next;
	unsigned n;
	struct poll_entry e[];
};
#define BLOCK_ENTRIES ((PAGE_SIZE - sizeof(struct poll_block)) / sizeof(struct poll_entry))

struct poller {
	struct poll_table pt;
	_Atomic bool triggered;
	struct thread *thread;
	unsigned n;      /* inline entries used */
	int err;         /* -ENOMEM: an entry could not be made */
	struct poll_block *blocks;
	struct poll_entry e[INLINE_ENTRIES];
};

static bool poll_wake(struct wait_entry *w, unsigned long key)
{
	struct poller *p = w->priv;

	atomic_store_explicit(&p->triggered, true, memory_order_release);
	thread_wake(p->thread);
	return false;
}

static void poll_queue(struct poll_table *pt, struct file *f, struct wait_queue *q)
{
	struct poller *p = container_of(pt, struct poller, pt);
	struct poll_entry *e;

	if (p->n < INLINE_ENTRIES) {
		e = &p->e[p->n++];
	} else {
		struct poll_block *b = p->blocks;

		if (!b || b->n == BLOCK_ENTRIES) {
			b = kmalloc(PAGE_SIZE, GFP_KERNEL | GFP_ACCOUNT);
			if (!b) {
				p->err = -ENOMEM;
				return;
			}
			b->n = 0;
			b->next = p->blocks;
			p->blocks = b;
		}
		e = &b->e[b->n++];
	}
	memset(e, 0, sizeof(*e));
	e->wait.wake = poll_wake;
	e->wait.thread = p->thread;
	e->wait.priv = p;
	e->queue = q;
	e->file = f;
	file_get(f);
	wq_add(q, &e->wait);
}

static void poller_init(struct poller *p)
{
	p->pt.queue = poll_queue;
	p->pt.events = 0;
	atomic_init(&p->triggered, false);
	p->thread = current;
	p->n = 0;
	p->err = 0;
	p->blocks = NULL;
}

static void entry_done(struct poll_entry *e)
{
	wq_remove(e->queue, &e->wait);
	fput(e->file);
}

static void poller_done(struct poller *p)
{
	for (unsigned k = 0; k < p->n; k++)
		entry_done(&p->e[k]);
	while (p->blocks) {
		struct poll_block *b = p->blocks;

		for (unsigned k = 0; k < b->n; k++)
			entry_done(&b->e[k]);
		p->blocks = b->next;
		kfree(b);
	}
}

unsigned file_poll(struct file *f, struct poll_table *pt)
{
	if (!f->ops->poll) /* regular files never block */
		return EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM;
	return f->ops->poll(f, pt);
}

/* Sleeps until an entry triggers.  0, -EINTR, -ETIMEDOUT. */
static int poller_wait(struct poller *p, uint64_t deadline)
{
	int err = 0;

	for (;;) {
		thread_prepare_sleep(THREAD_INTERRUPTIBLE);
		if (atomic_load_explicit(&p->triggered, memory_order_acquire))
			break;
		if (signal_pending(current)) {
			err = -EINTR;
			break;
		}
		if (!schedule_until(deadline)) {
			err = -ETIMEDOUT;
			break;
		}
	}
	thread_finish_sleep();
	/* A full barrier: what is looked at next must not be older than this. */
	atomic_exchange_explicit(&p->triggered, false, memory_order_seq_cst);
	return err;
}

struct upollfd {
	int32_t fd;
	int16_t events, revents;
};

static unsigned poll_fd(int fd, unsigned events, struct poller *p, bool first)
{
	struct fdref r = fdget(fd);
	unsigned ev;

	if (!r.file)
		return EPOLLNVAL;
	events |= POLL_ALWAYS;
	p->pt.events = events;
	ev = file_poll(r.file, first ? &p->pt : NULL) & events;
	fdput(r);
	return ev;
}

/* Ready descriptors, or -errno; 0 after the deadline. */
static long do_poll(struct upollfd *v, unsigned n, uint64_t deadline)
{
	struct poller p;
	bool queue = deadline != 0;
	long ready;
	int err = 0;

	poller_init(&p);
	for (;;) {
		ready = 0;
		for (unsigned k = 0; k < n; k++) {
			v[k].revents = 0;
			if (v[k].fd < 0)
				continue;
			v[k].revents = (int16_t)poll_fd(v[k].fd, (uint16_t)v[k].events, &p, queue);
			if (v[k].revents) {
				ready++;
				queue = false; /* we will not sleep */
			}
		}
		queue = false;
		if (ready || err || deadline == 0)
			break;
		if (p.err) {
			err = p.err;
			break;
		}
		err = poller_wait(&p, deadline);
	}
	poller_done(&p);
	if (ready)
		return ready;
	return err == -ETIMEDOUT ? 0 : err;
}


/* @deadline 0: do not wait. */
static long poll_user(struct upollfd __user *u, unsigned n, uint64_t deadline)
{
	struct upollfd small[16], *v = small;
	long ret;

	if (n > current_process()->rlimits[RLIMIT_NOFILE][0] || n > (1u << 20) / sizeof(*v) * 4)
		return -EINVAL;
	if (n > ARRAY_SIZE(small)) {
		v = kmalloc(n * sizeof(*v), GFP_KERNEL | GFP_ACCOUNT);
		if (!v)
			return -ENOMEM;
	}
	if (n && copy_from_user(v, u, n * sizeof(*v))) {
		ret = -EFAULT;
		goto out;
	}
	ret = do_poll(v, n, deadline);
	if (ret >= 0) {
		for (unsigned k = 0; k < n; k++) {
			if (put_user(v[k].revents, &u[k].revents)) {
				ret = -EFAULT;
				break;
			}
		}
	}
out:
	if (v != small)
		kfree(v);
	return ret;
}

static uint64_t deadline_in(uint64_t ns)
{
	uint64_t now = clock_ns(), d;

	if (!ns)
		return 0;
	return __builtin_add_overflow(now, ns, &d) ? UINT64_MAX : d;
}

long sys_poll(struct upollfd __user *u, unsigned n, int timeout_ms)
{
	uint64_t deadline = timeout_ms < 0
				    ? UINT64_MAX
				    : deadline_in((uint64_t)timeout_ms * NSEC_PER_MSEC);
	long ret = poll_user(u, n, deadline);

	/* A restart would wait the whole time again: leave it to the program. */
	return ret == -EINTR && timeout_ms < 0 ? -ERESTARTNOHAND : ret;
}

/* Reads a relative time-out; 0 deadline: do not wait. */
static long get_deadline(const struct timespec64 __user *ts, uint64_t *deadline)
{
	struct timespec64 t;

	*deadline = UINT64_MAX;
	if (!ts)
		return 0;
	if (copy_from_user(&t, ts, sizeof(t)))
		return -EFAULT;
	if (t.sec < 0 || t.nsec < 0 || t.nsec >= (int64_t)NSEC_PER_SEC)
		return -EINVAL;
	if (t.sec > INT64_MAX / (int64_t)NSEC_PER_SEC - 1)
		return 0;
	*deadline = deadline_in((uint64_t)t.sec * NSEC_PER_SEC + (uint64_t)t.nsec);
	return 0;
}

/* Linux's ppoll and pselect write back what is left. */
static void put_left(struct timespec64 __user *ts, uint64_t deadline)
{
	uint64_t now = clock_ns(), left = deadline > now ? deadline - now : 0;
	struct timespec64 t = { (int64_t)(left / NSEC_PER_SEC), (int64_t)(left % NSEC_PER_SEC) };

	if (ts && deadline != UINT64_MAX && copy_to_user(ts, &t, sizeof(t)))
		return; /* the result counts more than the remaining time */
}

/*
 * End of a call with a temporary signal mask: the old one comes back now, or, if
 * a signal ended the call, after its delivery.
 */
static void mask_end(const uint64_t __user *mask, long ret)
{
	if (mask && ret != -EINTR && ret != -ERESTARTNOHAND)
		signal_mask_unswap();
}

long sys_ppoll(struct upollfd __user *u, unsigned n, struct timespec64 __user *ts,
	       const uint64_t __user *mask, size_t size)
{
	uint64_t deadline;
	long ret = get_deadline(ts, &deadline);

	if (ret)
		return ret;
	ret = signal_mask_swap_user(mask, size);
	if (ret)
		return ret;
	ret = poll_user(u, n, deadline);
	if (ret == -EINTR && !ts)
		ret = -ERESTARTNOHAND;
	mask_end(mask, ret);
	put_left(ts, deadline);
	return ret;
}

/* select: three bit sets of @n bits each, in and out. */

#define SELECT_MAX   65536u
#define SET_BYTES(n) (DIV_ROUND_UP((n), 64u) * 8u)
#define SELECT_IN    (EPOLLIN | EPOLLRDNORM | EPOLLHUP | EPOLLERR)
#define SELECT_OUT   (EPOLLOUT | EPOLLWRNORM | EPOLLERR)
#define SELECT_EX    EPOLLPRI

static bool bit(const uint64_t *s, unsigned k)
{
	return s[k / 64] >> (k % 64) & 1;
}

static void bit_set(uint64_t *s, unsigned k)
{
	s[k / 64] |= 1ULL << (k % 64);
}

/* @in: three sets one after the other, @out likewise (zeroed). */
static long do_select(unsigned n, uint64_t *in, uint64_t *out, uint64_t deadline)
{
	unsigned words = SET_BYTES(n) / 8;
	struct poller p;
	bool queue = deadline != 0;
	long ready = 0;
	int err = 0;

	poller_init(&p);
	for (;;) {
		for (unsigned k = 0; k < n; k++) {
			unsigned want = 0, ev;

			if (bit(in, k))
				want |= SELECT_IN;
			if (bit(in + words, k))
				want |= SELECT_OUT;
			if (bit(in + 2 * words, k))
				want |= SELECT_EX;
			if (!want)
				continue;
			ev = poll_fd((int)k, want, &p, queue);
			if (ev & EPOLLNVAL) {
				poller_done(&p);
				return -EBADF;
			}
			if ((ev & SELECT_IN) && bit(in, k)) {
				bit_set(out, k);
				ready++;
			}
			if ((ev & SELECT_OUT) && bit(in + words, k)) {
				bit_set(out + words, k);
				ready++;
			}
			if ((ev & SELECT_EX) && bit(in + 2 * words, k)) {
				bit_set(out + 2 * words, k);
				ready++;
			}
			if (ready)
				queue = false;
		}
		queue = false;
		if (ready || err || deadline == 0)
			break;
		if (p.err) {
			err = p.err;
			break;
		}
		err = poller_wait(&p, deadline);
	}
	poller_done(&p);
	if (ready)
		return ready;
	return err == -ETIMEDOUT ? 0 : err;
}

static long select_user(int n, void __user *sets[3], uint64_t deadline)
{
	uint64_t small[6 * 2], *v = small;
	size_t bytes;
	long ret = 0;

	if (n < 0)
		return -EINVAL;
	n = (int)min_t(unsigned, (unsigned)n, min(files_size(current_files()), SELECT_MAX));
	bytes = SET_BYTES((unsigned)n);
	if (6 * bytes > sizeof(small)) {
		v = kmalloc(6 * bytes, GFP_KERNEL | GFP_ACCOUNT);
		if (!v)
			return -ENOMEM;
	}
	memset(v, 0, 6 * bytes);
	for (unsigned k = 0; k < 3 && !ret; k++) {
		if (sets[k] && copy_from_user((char *)v + k * bytes, sets[k], bytes))
			ret = -EFAULT;
	}
	if (!ret)
		ret = do_select((unsigned)n, v, v + 3 * (bytes / 8), deadline);
	for (unsigned k = 0; k < 3 && ret >= 0; k++) {
		if (sets[k] && copy_to_user(sets[k], (char *)v + (3 + k) * bytes, bytes))
			ret = -EFAULT;
	}
	if (v != small)
		kfree(v);
	return ret;
}

long sys_select(int n, void __user *in, void __user *out, void __user *ex,
		struct timeval64 __user *utv)
{
	void __user *sets[3] = { in, out, ex };
	uint64_t deadline = UINT64_MAX;
	struct timeval64 tv;
	long ret;

	if (utv) {
		if (copy_from_user(&tv, utv, sizeof(tv)))
			return -EFAULT;
		if (tv.sec < 0 || tv.usec < 0)
			return -EINVAL;
		if (tv.sec < INT64_MAX / (int64_t)NSEC_PER_SEC - 1)
			deadline = deadline_in((uint64_t)tv.sec * NSEC_PER_SEC +
					       (uint64_t)tv.usec * NSEC_PER_USEC);
	}
	ret = select_user(n, sets, deadline);
	if (utv && deadline != UINT64_MAX) {
		uint64_t now = clock_ns(), left = deadline > now ? deadline - now : 0;

		tv.sec = (int64_t)(left / NSEC_PER_SEC);
		tv.usec = (int64_t)(left % NSEC_PER_SEC / 1000);
		if (copy_to_user(utv, &tv, sizeof(tv)))
			return ret;
	}
	return ret == -EINTR && !utv ? -ERESTARTNOHAND : ret;
}

long sys_pselect6(int n, void __user *in, void __user *out, void __user *ex,
		  struct timespec64 __user *ts, const void __user *sig)
{
	void __user *sets[3] = { in, out, ex };
	struct { const uint64_t __user *mask; size_t size; } s = { NULL, 0 };
	uint64_t deadline;
	long ret = get_deadline(ts, &deadline);

	if (ret)
		return ret;
	if (sig && copy_from_user(&s, sig, sizeof(s)))
		return -EFAULT;
	ret = signal_mask_swap_user(s.mask, s.size);
	if (ret)
		return ret;
	ret = select_user(n, sets, deadline);
	if (ret == -EINTR && !ts)
		ret = -ERESTARTNOHAND;
	mask_end(s.mask, ret);
	put_left(ts, deadline);
	return ret;
}
