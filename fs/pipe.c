/* SPDX-License-Identifier: MIT */
/*
 * Pipes and FIFOs: bytes in up to PIPE_SLOTS pages between writers and readers.
 *
 * A pipe is an inode (of an instance that is mounted nowhere, or a FIFO's)
 * whose `pipe` points here while somebody has it open.  A write of at most
 * 4096 bytes (PIPE_BUF) is never mixed with others: it goes into one page.
 *
 * Invariant: slots [head, tail) hold data, 0 < len each; only the last of them
 *            may be appended to.
 * Locks:     pipe->lock (mutex; user copies happen under it) over everything
 *            but the two open counts' readers; fifo_lock over inode->pipe.
 * Source:    pipe(7), fifo(7).
 */
#include "fs/internal.h"
#include "fs/pipe.h"
#include "fs/sys.h"

#define PIPE_SLOTS 16u /* pages: 64 KiB, as on Linux */

struct pipe_slot {
	struct page *page;
	unsigned off, len;
	bool borrowed; /* spliced in: somebody else's bytes may lie beside these, nothing is written */
};

struct pipe {
	struct mutex lock;
	struct wait_queue rd_wait, wr_wait; /* readers, writers (and openers of FIFOs) */
	_Atomic unsigned head, tail;        /* slot numbers, modulo PIPE_SLOTS; read without the lock */
	_Atomic unsigned readers, writers;  /* open ends */
	_Atomic unsigned r_opens, w_opens;  /* opens ever: a FIFO's opener waits for a change */
	unsigned files;                     /* under fifo_lock: open files of a FIFO or pipe */
	struct page *spare;                 /* one emptied page kept for the next write */
	struct pipe_slot slot[PIPE_SLOTS];
};

static struct mutex fifo_lock = MUTEX_INIT(fifo_lock, "fifo");
static struct super *pipe_super;
static struct fs_type pipe_type = { .name = "pipefs" };
static const struct file_ops pipe_file_ops;

static unsigned pos_of(const _Atomic unsigned *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static void pos_advance(_Atomic unsigned *p) /* lock held: no read-modify-write needed */
{
	atomic_store_explicit(p, pos_of(p) + 1, memory_order_relaxed);
}

static unsigned used_slots(const struct pipe *p)
{
	return pos_of(&p->tail) - pos_of(&p->head);
}

static struct pipe_slot *slot_at(struct pipe *p, unsigned n)
{
	return &p->slot[n % PIPE_SLOTS];
}

static struct pipe *pipe_alloc(void)
{
	struct pipe *p = kzalloc(sizeof(*p), GFP_KERNEL | GFP_ACCOUNT);

	if (!p)
		return NULL;
	mutex_init(&p->lock, "pipe");
	wq_init(&p->rd_wait, "pipe.rd");
	wq_init(&p->wr_wait, "pipe.wr");
	return p;
}

static void pipe_free(struct pipe *p)
{
	for (; used_slots(p); pos_advance(&p->head))
		page_put(slot_at(p, pos_of(&p->head))->page);
	if (p->spare)
		page_put(p->spare);
	kfree(p);
}

static struct pipe *pipe_of(const struct file *f)
{
	return f->priv;
}

static void slot_done(struct pipe *p)
{
	struct pipe_slot *s = slot_at(p, pos_of(&p->head));
	struct page *pg = s->page;

	pos_advance(&p->head);
	if (!p->spare && !s->borrowed && atomic_load_explicit(&pg->refs, memory_order_relaxed) == 1)
		p->spare = pg;
	else
		page_put(pg);
}

static bool nonblock(const struct file *f)
{
	return atomic_load_explicit(&f->flags, memory_order_relaxed) & O_NONBLOCK;
}

static bool can_read(struct pipe *p)
{
	return used_slots(p) || !atomic_load_explicit(&p->writers, memory_order_relaxed);
}

static ssize_t pipe_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct pipe *p = pipe_of(f);
	ssize_t done = 0, err = 0;
	bool was_full = false;

	if (!to->count)
		return 0;
	mutex_lock(&p->lock);
	for (;;) {
		while (used_slots(p) && to->count) {
			struct pipe_slot *s = slot_at(p, pos_of(&p->head));
			size_t n = min((size_t)s->len, to->count);
			size_t k = copy_to_iter((char *)page_virt(s->page) + s->off, n, to);

			was_full |= used_slots(p) == PIPE_SLOTS;
			s->off += (unsigned)k;
			s->len -= (unsigned)k;
			done += (ssize_t)k;
			if (!s->len)
				slot_done(p);
			if (k < n) {
				err = -EFAULT;
				break;
			}
		}
		if (done || err || !atomic_load_explicit(&p->writers, memory_order_relaxed))
			break;
		if (nonblock(f)) {
			err = -EAGAIN;
			break;
		}
		mutex_unlock(&p->lock);
		if (wait_event_full(&p->rd_wait, can_read(p), THREAD_INTERRUPTIBLE, UINT64_MAX,
				    true))
			return -ERESTARTSYS;
		mutex_lock(&p->lock);
	}
	/* The wake-up that we took belongs to what is left, too. */
	if (used_slots(p) && wq_active(&p->rd_wait))
		wq_wake(&p->rd_wait, 1, EPOLLIN | EPOLLRDNORM);
	mutex_unlock(&p->lock);
	if (done && (was_full || wq_active(&p->wr_wait)))
		wake_up_poll(&p->wr_wait, EPOLLOUT | EPOLLWRNORM);
	return done ? done : err;
}

/* Room behind the data of the last slot, for @n bytes in one piece. */
static bool can_append(struct pipe *p, size_t n)
{
	struct pipe_slot *s;

	if (!used_slots(p))
		return false;
	s = slot_at(p, pos_of(&p->tail) - 1);
	return !s->borrowed && s->off + s->len + n <= PAGE_SIZE &&
	       atomic_load_explicit(&s->page->refs, memory_order_relaxed) == 1;
}

static bool can_write(struct pipe *p)
{
	return used_slots(p) < PIPE_SLOTS || !atomic_load_explicit(&p->readers, memory_order_relaxed);
}

/* One piece into one slot.  Bytes, 0 when full, or -errno. */
static ssize_t write_piece(struct pipe *p, struct iov_iter *from, size_t total)
{
	size_t n = min(from->count, PAGE_SIZE), k;
	struct pipe_slot *s;
	struct page *pg;

	if (can_append(p, min(n, total))) {
		s = slot_at(p, pos_of(&p->tail) - 1);
		k = copy_from_iter((char *)page_virt(s->page) + s->off + s->len, n, from);
		s->len += (unsigned)k;
		return k ? (ssize_t)k : -EFAULT;
	}
	if (used_slots(p) == PIPE_SLOTS)
		return 0;
	pg = p->spare;
	p->spare = NULL;
	if (!pg)
		pg = page_alloc(0, PAGE_KERNEL, GFP_KERNEL | GFP_ACCOUNT);
	if (!pg)
		return -ENOMEM;
	k = copy_from_iter(page_virt(pg), n, from);
	if (!k) {
		p->spare = pg;
		return -EFAULT;
	}
	s = slot_at(p, pos_of(&p->tail));
	s->page = pg;
	s->off = 0;
	s->len = (unsigned)k;
	s->borrowed = false;
	pos_advance(&p->tail);
	return (ssize_t)k;
}

static ssize_t pipe_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	struct pipe *p = pipe_of(f);
	size_t total = from->count;
	ssize_t done = 0, err = 0;

	if (!total)
		return 0;
	mutex_lock(&p->lock);
	for (;;) {
		ssize_t k = 0;

		if (!atomic_load_explicit(&p->readers, memory_order_relaxed)) {
			err = -EPIPE;
			break;
		}
		while (from->count) {
			k = write_piece(p, from, total);
			if (k <= 0)
				break;
			done += k;
		}
		if (k < 0)
			err = k;
		if (!from->count || err)
			break;
		if (nonblock(f)) {
			err = -EAGAIN;
			break;
		}
		/* Full: let readers at it and wait for room. */
		mutex_unlock(&p->lock);
		wq_wake(&p->rd_wait, 1, EPOLLIN | EPOLLRDNORM);
		if (wait_event_interruptible(&p->wr_wait, can_write(p))) {
			if (done)
				return done;
			return -ERESTARTSYS;
		}
		mutex_lock(&p->lock);
	}
	mutex_unlock(&p->lock);
	if (done)
		wq_wake(&p->rd_wait, 1, EPOLLIN | EPOLLRDNORM);
	if (err == -EPIPE && !done && current->process)
		signal_thread(current, SIGPIPE);
	return done ? done : err;
}

struct pipe *pipe_of_file(struct file *f)
{
	return f->ops == &pipe_file_ops ? pipe_of(f) : NULL;
}

int pipe_wait_data(struct pipe *p, bool no_wait)
{
	for (;;) {
		mutex_lock(&p->lock);
		if (used_slots(p))
			return 1;
		if (!atomic_load_explicit(&p->writers, memory_order_relaxed)) {
			mutex_unlock(&p->lock);
			return 0;
		}
		mutex_unlock(&p->lock);
		if (no_wait)
			return -EAGAIN;
		if (wait_event_interruptible(&p->rd_wait, can_read(p)))
			return -ERESTARTSYS;
	}
}

int pipe_wait_room(struct pipe *p, bool no_wait)
{
	for (;;) {
		mutex_lock(&p->lock);
		if (!atomic_load_explicit(&p->readers, memory_order_relaxed)) {
			mutex_unlock(&p->lock);
			if (current->process)
				signal_thread(current, SIGPIPE);
			return -EPIPE;
		}
		if (used_slots(p) < PIPE_SLOTS)
			return 1;
		mutex_unlock(&p->lock);
		if (no_wait)
			return -EAGAIN;
		if (wait_event_interruptible(&p->wr_wait, can_write(p)))
			return -ERESTARTSYS;
	}
}

void pipe_unlock(struct pipe *p)
{
	bool data = used_slots(p), room = used_slots(p) < PIPE_SLOTS;

	mutex_unlock(&p->lock);
	if (data && wq_active(&p->rd_wait))
		wq_wake(&p->rd_wait, 1, EPOLLIN | EPOLLRDNORM);
	if (room && wq_active(&p->wr_wait))
		wake_up_poll(&p->wr_wait, EPOLLOUT | EPOLLWRNORM);
}

bool pipe_trylock(struct pipe *p)
{
	return mutex_trylock(&p->lock);
}

bool pipe_peek(struct pipe *p, unsigned n, struct page_part *part)
{
	struct pipe_slot *s;

	if (n >= used_slots(p))
		return false;
	s = slot_at(p, pos_of(&p->head) + n);
	*part = (struct page_part){ s->page, s->off, s->len };
	return true;
}

void pipe_consume(struct pipe *p, size_t n)
{
	while (n) {
		struct pipe_slot *s = slot_at(p, pos_of(&p->head));
		unsigned k = (unsigned)min(n, (size_t)s->len);

		s->off += k;
		s->len -= k;
		n -= k;
		if (!s->len)
			slot_done(p);
	}
}

bool pipe_put(struct pipe *p, const struct page_part *part)
{
	struct pipe_slot *s = slot_at(p, pos_of(&p->tail));

	if (used_slots(p) == PIPE_SLOTS || !atomic_load_explicit(&p->readers, memory_order_relaxed))
		return false;
	page_get(part->page);
	*s = (struct pipe_slot){ part->page, part->off, part->len, true };
	pos_advance(&p->tail);
	return true;
}

static unsigned pipe_poll(struct file *f, struct poll_table *pt)
{
	struct pipe *p = pipe_of(f);
	unsigned ev = 0;

	if (f->mode & FMODE_READ)
		poll_wait(f, &p->rd_wait, pt);
	if (f->mode & FMODE_WRITE)
		poll_wait(f, &p->wr_wait, pt);
	if (f->mode & FMODE_READ) {
		if (used_slots(p))
			ev |= EPOLLIN | EPOLLRDNORM;
		if (!atomic_load_explicit(&p->writers, memory_order_relaxed) && f->pos)
			ev |= EPOLLHUP;
	}
	if (f->mode & FMODE_WRITE) {
		if (used_slots(p) < PIPE_SLOTS)
			ev |= EPOLLOUT | EPOLLWRNORM;
		if (!atomic_load_explicit(&p->readers, memory_order_relaxed))
			ev |= EPOLLERR;
	}
	return ev;
}

static long pipe_ioctl(struct file *f, unsigned cmd, unsigned long arg)
{
	struct pipe *p = pipe_of(f);
	int n = 0;

	if (cmd != 0x541b) /* FIONREAD */
		return -ENOTTY;
	mutex_lock(&p->lock);
	for (unsigned k = pos_of(&p->head); k != pos_of(&p->tail); k++)
		n += (int)slot_at(p, k)->len;
	mutex_unlock(&p->lock);
	return put_user(n, (int __user *)arg);
}

/* Counts one more open file of @i's pipe and returns it; NULL without memory. */
static struct pipe *pipe_attach(struct inode *i)
{
	struct pipe *p;

	mutex_lock(&fifo_lock);
	p = atomic_load_explicit(&i->pipe, memory_order_relaxed);
	if (!p) {
		p = pipe_alloc();
		atomic_store_explicit(&i->pipe, p, memory_order_release);
	}
	if (p)
		p->files++;
	mutex_unlock(&fifo_lock);
	return p;
}

static void pipe_detach(struct inode *i, struct pipe *p)
{
	bool last;

	mutex_lock(&fifo_lock);
	last = !--p->files;
	if (last)
		atomic_store_explicit(&i->pipe, NULL, memory_order_release);
	mutex_unlock(&fifo_lock);
	if (last)
		pipe_free(p);
}

static void ends_add(struct pipe *p, unsigned mode)
{
	if (mode & FMODE_READ) {
		atomic_fetch_add_explicit(&p->readers, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&p->r_opens, 1, memory_order_release);
	}
	if (mode & FMODE_WRITE) {
		atomic_fetch_add_explicit(&p->writers, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&p->w_opens, 1, memory_order_release);
	}
}

static void ends_drop(struct pipe *p, unsigned mode)
{
	/* The lock orders the change against a reader or writer about to sleep on the count. */
	mutex_lock(&p->lock);
	if (mode & FMODE_READ)
		atomic_fetch_sub_explicit(&p->readers, 1, memory_order_relaxed);
	if (mode & FMODE_WRITE)
		atomic_fetch_sub_explicit(&p->writers, 1, memory_order_relaxed);
	mutex_unlock(&p->lock);
	wake_up_poll(&p->rd_wait, EPOLLIN | EPOLLHUP);
	wake_up_poll(&p->wr_wait, EPOLLOUT | EPOLLERR);
}

static void pipe_release(struct file *f)
{
	struct pipe *p = pipe_of(f);

	ends_drop(p, f->mode);
	pipe_detach(f->inode, p);
}

/* open(2) of a FIFO waits for the other end; of a pipe (/proc/PID/fd/N) it does not. */
static int fifo_open(struct inode *i, struct file *f)
{
	struct pipe *p = pipe_attach(i);
	bool named = i->super != pipe_super;
	unsigned r_seen, w_seen;
	bool r_there, w_there;
	int err = 0;

	if (!p)
		return -ENOMEM;
	f->ops = &pipe_file_ops;
	f->priv = p;
	f->mode |= FMODE_STREAM;
	if (named && f->mode == (FMODE_WRITE | FMODE_STREAM) && nonblock(f) &&
	    !atomic_load_explicit(&p->readers, memory_order_relaxed)) {
		pipe_detach(i, p);
		return -ENXIO;
	}
	/*
	 * Looked at before we show up: at the sight of us the other end may go
	 * on, do its work and be gone before we look again.
	 */
	r_seen = atomic_load_explicit(&p->r_opens, memory_order_acquire);
	w_seen = atomic_load_explicit(&p->w_opens, memory_order_acquire);
	r_there = atomic_load_explicit(&p->readers, memory_order_acquire);
	w_there = atomic_load_explicit(&p->writers, memory_order_acquire);
	ends_add(p, f->mode);
	wake_up(&p->rd_wait);
	wake_up(&p->wr_wait);
	f->pos = 1; /* poll() may report a hang-up */
	if (!named || (f->mode & (FMODE_READ | FMODE_WRITE)) == (FMODE_READ | FMODE_WRITE))
		return 0;
	if (f->mode & FMODE_READ) {
		if (nonblock(f))
			f->pos = w_there || w_seen; /* no hang-up before a first writer */
		else if (!w_there)
			err = wait_event_interruptible(
				&p->rd_wait,
				atomic_load_explicit(&p->w_opens, memory_order_acquire) != w_seen);
	} else if (!r_there) {
		err = wait_event_interruptible(
			&p->wr_wait,
			atomic_load_explicit(&p->r_opens, memory_order_acquire) != r_seen);
	}
	if (err) {
		ends_drop(p, f->mode);
		pipe_detach(i, p);
		return -ERESTARTSYS;
	}
	return 0;
}

void pipe_release_inode(struct inode *i)
{
	/* Open files hold the inode, so no buffer can be left. */
	WARN_ON(atomic_load_explicit(&i->pipe, memory_order_relaxed) != NULL);
}

static const struct file_ops pipe_file_ops = {
	.read = pipe_read,
	.write = pipe_write,
	.poll = pipe_poll,
	.ioctl = pipe_ioctl,
	.release = pipe_release,
};
const struct file_ops fifo_file_ops = { .open = fifo_open };

long pipe_fcntl(struct file *f, bool set, unsigned long arg)
{
	if (f->ops != &pipe_file_ops)
		return -EBADF;
	/* One size for all: asking for less or as much is granted. */
	if (set && arg > PIPE_SLOTS * PAGE_SIZE)
		return -EPERM;
	return PIPE_SLOTS * PAGE_SIZE;
}

/**
 * pipe_files - make a pipe
 * @out: reading end, writing end
 * @flags: O_NONBLOCK, O_CLOEXEC, O_DIRECT (packets: not supported)
 */
int pipe_files(struct file *out[2], unsigned flags)
{
	struct inode *i = inode_alloc(pipe_super, S_IFIFO | 0600);
	struct dentry *d;
	char name[32];

	if (!i)
		return -ENOMEM;
	inode_init_ops(i, NULL, &fifo_file_ops);
	snprintf(name, sizeof(name), "pipe:[%llu]", (unsigned long long)i->ino);
	d = dentry_anon(pipe_super, i, name);
	if (!d)
		return -ENOMEM;
	out[0] = file_open_dentry(d, O_RDONLY | (flags & O_NONBLOCK));
	out[1] = IS_ERR(out[0]) ? NULL : file_open_dentry(d, O_WRONLY | (flags & O_NONBLOCK));
	dentry_put(d);
	if (IS_ERR(out[0]))
		return (int)PTR_ERR(out[0]);
	if (IS_ERR(out[1])) {
		fput(out[0]);
		return (int)PTR_ERR(out[1]);
	}
	out[0]->pos = 1; /* had a writer: poll() may report a hang-up */
	return 0;
}

long sys_pipe2(int __user *fds, int flags)
{
	struct file *f[2];
	int n[2], err;

	if (flags & ~(O_CLOEXEC | O_NONBLOCK | O_DIRECT))
		return -EINVAL;
	err = pipe_files(f, (unsigned)flags);
	if (err)
		return err;
	n[0] = fd_alloc((unsigned)flags, 0);
	if (n[0] < 0) {
		err = n[0];
		goto drop;
	}
	n[1] = fd_alloc((unsigned)flags, 0);
	if (n[1] < 0) {
		err = n[1];
		goto release0;
	}
	if (copy_to_user(fds, n, sizeof(n))) {
		err = -EFAULT;
		goto release1;
	}
	fd_install(n[0], f[0]);
	fd_install(n[1], f[1]);
	return 0;
release1:
	fd_release(n[1]);
release0:
	fd_release(n[0]);
drop:
	fput(f[0]);
	fput(f[1]);
	return err;
}

long sys_pipe(int __user *fds)
{
	return sys_pipe2(fds, 0);
}

void pipe_init(void)
{
	pipe_super = super_alloc(&pipe_type, "pipefs", NULL);
	if (!pipe_super)
		panic("pipe: no memory");
}
