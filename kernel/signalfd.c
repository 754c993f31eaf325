/* SPDX-License-Identifier: MIT */
/*
 * signalfd: blocked signals are read from a file instead of being delivered.
 *
 * A reader takes from its own thread's and process's queues, whoever made the
 * file; a waiter is woken by signals to the process that made it (a child that
 * inherits the file makes one of its own if it wants to wait).
 *
 * Locks: signalfd_lock covers the tie between a file and a process's handlers,
 * each of which may go first; sighand->lock covers the list that senders walk.
 * Order: signalfd_lock, sighand->lock, wait queues.
 * Source: signalfd(2).
 */
#include "kernel/sighand.h"
#include "kernel/errno.h"
#include "kernel/string.h"
#include "kernel/syscall.h"
#include "kernel/wait.h"
#include "fs/internal.h"

struct signalfd {
	struct signalfd *next;    /* sighand->lock: in sighand->fds */
	struct sighand *sighand;  /* signalfd_lock: whose senders wake us; NULL: gone */
	struct wait_queue wait;
	_Atomic uint64_t mask;    /* signals that are read here */
};

/* What a reader gets: 128 bytes each. */
struct signalfd_siginfo {
	uint32_t signo;
	int32_t err, code;
	uint32_t pid, uid;
	int32_t fd;
	uint32_t tid, band, overrun, trapno;
	int32_t status, value_int;
	uint64_t value_ptr, utime, stime, addr;
	uint16_t addr_lsb, pad[23];
};
_Static_assert(sizeof(struct signalfd_siginfo) == 128, "part of the ABI");

static struct spinlock signalfd_lock = SPINLOCK_INIT("signalfd");

void signalfd_notify(struct sighand *h, int sig)
{
	for (struct signalfd *s = h->fds; s; s = s->next)
		if (atomic_load_explicit(&s->mask, memory_order_relaxed) & SIG_BIT(sig))
			wake_up_poll(&s->wait, EPOLLIN);
}

void signalfd_forget(struct sighand *h)
{
	spin_lock(&signalfd_lock);
	for (struct signalfd *s = h->fds; s; s = s->next)
		s->sighand = NULL;
	h->fds = NULL;
	spin_unlock(&signalfd_lock);
}

static void signalfd_release(struct file *f)
{
	struct signalfd *s = f->priv, **at;

	spin_lock(&signalfd_lock);
	if (s->sighand) {
		spin_lock(&s->sighand->lock);
		for (at = &s->sighand->fds; *at != s; at = &(*at)->next)
			;
		*at = s->next;
		spin_unlock(&s->sighand->lock);
	}
	spin_unlock(&signalfd_lock);
	kfree(s);
}

static bool any_pending(struct signalfd *s)
{
	struct user_thread *u = current_user();
	uint64_t pending;

	spin_lock(&u->process->sighand->lock);
	pending = u->pending.mask | u->process->pending.mask;
	spin_unlock(&u->process->sighand->lock);
	return pending & atomic_load_explicit(&s->mask, memory_order_relaxed);
}

static void translate(const struct siginfo_k *k, struct signalfd_siginfo *out)
{
	memset(out, 0, sizeof(*out));
	out->signo = (uint32_t)k->signo;
	out->err = k->err;
	out->code = k->code;
	if (k->signo == SIGCHLD && k->code > 0) {
		out->pid = (uint32_t)k->chld.pid;
		out->uid = k->chld.uid;
		out->status = k->chld.status;
		out->utime = (uint64_t)k->chld.utime;
		out->stime = (uint64_t)k->chld.stime;
	} else if (k->code == SI_TIMER) {
		out->tid = (uint32_t)k->timer.tid;
		out->overrun = (uint32_t)k->timer.overrun;
		out->value_ptr = k->timer.value;
		out->value_int = (int32_t)k->timer.value;
	} else if (k->code <= 0) {
		out->pid = (uint32_t)k->rt.pid;
		out->uid = k->rt.uid;
		out->value_ptr = k->rt.value;
		out->value_int = (int32_t)k->rt.value;
	} else if (SIG_BIT(k->signo) & SIGSET_FAULT) {
		out->addr = k->fault.addr;
		out->addr_lsb = (uint16_t)k->fault.lsb;
	}
}

static ssize_t signalfd_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct signalfd *s = f->priv;
	ssize_t done = 0;

	if (to->count < sizeof(struct signalfd_siginfo))
		return -EINVAL;
	while (to->count >= sizeof(struct signalfd_siginfo)) {
		struct signalfd_siginfo out;
		struct siginfo_k info = { 0 };

		if (signal_take(atomic_load_explicit(&s->mask, memory_order_relaxed), &info)) {
			translate(&info, &out);
			if (copy_to_iter(&out, sizeof(out), to) < sizeof(out))
				return done ? done : -EFAULT;
			done += (ssize_t)sizeof(out);
			continue;
		}
		if (done)
			break;
		if (atomic_load_explicit(&f->flags, memory_order_relaxed) & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(&s->wait, any_pending(s)))
			return -ERESTARTSYS;
	}
	return done;
}

static unsigned signalfd_poll(struct file *f, struct poll_table *pt)
{
	struct signalfd *s = f->priv;

	poll_wait(f, &s->wait, pt);
	return any_pending(s) ? EPOLLIN : 0;
}

static const struct file_ops signalfd_ops = {
	.read = signalfd_read,
	.poll = signalfd_poll,
	.release = signalfd_release,
};

static long make(uint64_t mask, unsigned flags)
{
	struct sighand *h = current_process()->sighand;
	struct signalfd *s = kzalloc(sizeof(*s), GFP_KERNEL | GFP_ACCOUNT);
	struct file *f;

	if (!s)
		return -ENOMEM;
	wq_init(&s->wait, "signalfd.wait");
	atomic_init(&s->mask, mask);
	f = file_alloc(&signalfd_ops, O_RDWR | (flags & O_NONBLOCK), s);
	if (!f) {
		kfree(s);
		return -ENOMEM;
	}
	spin_lock(&signalfd_lock);
	spin_lock(&h->lock);
	s->sighand = h;
	s->next = h->fds;
	h->fds = s;
	spin_unlock(&h->lock);
	spin_unlock(&signalfd_lock);
	return fd_file(f, flags);
}

SYSCALL(signalfd4, int fd, const uint64_t __user *umask, size_t size, int flags)
{
	struct signalfd *s;
	struct fdref r;
	uint64_t mask;
	long ret = fd;

	if (size != sizeof(mask) || ((unsigned)flags & ~(O_CLOEXEC | O_NONBLOCK)))
		return -EINVAL;
	if (get_user(mask, umask))
		return -EFAULT;
	mask &= ~SIGSET_UNBLOCKABLE;
	if (fd == -1)
		return make(mask, (unsigned)flags);
	r = fdget(fd);
	if (!r.file)
		return -EBADF;
	if (r.file->ops == &signalfd_ops) {
		s = r.file->priv;
		atomic_store_explicit(&s->mask, mask, memory_order_relaxed);
		wake_up_poll(&s->wait, EPOLLIN);
	} else {
		ret = -EINVAL;
	}
	fdput(r);
	return ret;
}

SYSCALL(signalfd, int fd, const uint64_t __user *umask, size_t size)
{
	return sys_signalfd4(fd, umask, size, 0);
}
