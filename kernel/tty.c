/* SPDX-License-Identifier: MIT */
/*
 * Terminals: the device files, and the way from the driver's interrupt to the
 * line discipline.
 *
 * There is one terminal, the system console; /dev/console, /dev/ttyS0 and
 * /dev/ttyS1 are names of it, /dev/tty is whatever controls the caller.
 *
 * Locks: in_lock (mutex) over settings and input, out_lock (mutex) over output
 *        and the cursor's column; in_lock comes first.  process_lock over
 *        session and foreground group, taken inside either.
 * Source: tty_ioctl(4), credentials(7), POSIX.1-2017 11.1.
 */
#include "fs/internal.h"
#include "kernel/process.h"
#include "kernel/tty_int.h"

static struct tty console = {
	.name = "console",
	.rdev = MKDEV(5, 1),
	.tio = {
		.iflag = ICRNL | IXON | IMAXBEL | IUTF8,
		.oflag = OPOST | ONLCR,
		.cflag = 0xcbf, /* 8 bits, receiver on, hang up on close, 38400 by name */
		.lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
		.cc = { 3, 28, 127, 21, 4, 0, 1, 0, 17, 19, 26, 0, 18, 15, 23, 22, 0 },
	},
	.win = { 24, 80, 0, 0 },
};

const char *tty_name(struct tty *t)
{
	return t->name;
}

uint64_t tty_rdev(struct tty *t)
{
	return t->rdev;
}

/* Input: interrupt handler to ring to worker. */

void tty_receive_irq(const char *s, size_t n)
{
	struct tty *t = &console;
	uint32_t in = atomic_load_explicit(&t->ring_in, memory_order_relaxed);
	uint32_t room = TTY_RING - (in - atomic_load_explicit(&t->ring_out, memory_order_acquire));

	for (size_t k = 0; k < n; k++) {
		if (!room) {
			atomic_fetch_add_explicit(&t->ring_lost, (uint32_t)(n - k),
						  memory_order_relaxed);
			break;
		}
		t->ring[in++ % TTY_RING] = s[k];
		room--;
	}
	atomic_store_explicit(&t->ring_in, in, memory_order_release);
	work_schedule(&t->work);
}

static void tty_worker(struct work *w)
{
	struct tty *t = container_of(w, struct tty, work);
	uint32_t lost = atomic_exchange_explicit(&t->ring_lost, 0, memory_order_relaxed);
	char b[64];

	if (lost)
		pr_warn("tty: %u characters of input lost", lost);
	for (;;) {
		uint32_t out = atomic_load_explicit(&t->ring_out, memory_order_relaxed);
		uint32_t in = atomic_load_explicit(&t->ring_in, memory_order_acquire);
		uint32_t n = 0;

		while (out != in && n < sizeof(b))
			b[n++] = t->ring[out++ % TTY_RING];
		if (!n)
			return;
		atomic_store_explicit(&t->ring_out, out, memory_order_release);
		mutex_lock(&t->in_lock);
		tty_input(t, b, n);
		mutex_unlock(&t->in_lock);
	}
}

/* File operations. */

static struct tty *tty_of(struct file *f)
{
	return f->priv;
}

static int tty_open(struct inode *i, struct file *f)
{
	if (!(atomic_load_explicit(&f->flags, memory_order_relaxed) & O_PATH) && current->process)
		tty_acquire(tty_of(f), false); /* not being entitled to it is no error */
	return 0;
}

static int tty_open_ctty(struct inode *i, struct file *f)
{
	struct process *p = current->process;

	if (p) {
		spin_lock(&process_lock);
		f->priv = p->tty;
		spin_unlock(&process_lock);
	}
	return f->priv ? 0 : -ENXIO;
}

static bool nonblock(struct file *f)
{
	return atomic_load_explicit(&f->flags, memory_order_relaxed) & O_NONBLOCK;
}

/* Waits for input as the mode asks.  0, -EAGAIN, -ERESTARTSYS; 1: VTIME passed, 2: hang-up. */
static int wait_input(struct tty *t, struct file *f, size_t want, bool *polling)
{
	unsigned h = atomic_load_explicit(&t->hangups, memory_order_acquire);
	bool canon;
	unsigned vmin, vtime, need;
	uint64_t dl = UINT64_MAX;
	int err;

	mutex_lock(&t->in_lock);
	canon = t->tio.lflag & ICANON;
	vmin = canon ? 1 : t->tio.cc[VMIN];
	vtime = canon ? 0 : t->tio.cc[VTIME];
	mutex_unlock(&t->in_lock);
	need = max(1u, (unsigned)min_t(size_t, vmin, want));
	*polling = !canon && !vmin && !vtime;
	if (tty_readable(t, need))
		return 0;
	if (nonblock(f))
		return tty_readable(t, 1) ? 0 : -EAGAIN;
	if (*polling)
		return 1;
	if (vtime && vmin) { /* the clock starts with the first character */
		err = wait_event_interruptible(
			&t->rd_wait,
			tty_readable(t, 1) ||
				atomic_load_explicit(&t->hangups, memory_order_relaxed) != h);
		if (err)
			return -ERESTARTSYS;
	}
	if (vtime)
		dl = clock_ns() + vtime * 100 * NSEC_PER_MSEC;
	err = wait_event_interruptible_timeout(
		&t->rd_wait,
		tty_readable(t, need) ||
			atomic_load_explicit(&t->hangups, memory_order_relaxed) != h,
		dl);
	if (err == -ETIMEDOUT)
		return tty_readable(t, 1) ? 0 : 1;
	if (err)
		return -ERESTARTSYS;
	return atomic_load_explicit(&t->hangups, memory_order_relaxed) != h ? 2 : 0;
}

static ssize_t tty_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct tty *t = tty_of(f);
	ssize_t done = 0;
	char b[128];

	if (!to->count)
		return 0;
	while (!done) {
		bool polling, end = false;
		int err = tty_job_control(t, SIGTTIN);

		if (!err)
			err = wait_input(t, f, to->count, &polling);
		if (err)
			return err > 0 ? 0 : err;
		do {
			size_t n, k;

			mutex_lock(&t->in_lock);
			n = tty_take(t, b, min(sizeof(b), to->count), &end);
			mutex_unlock(&t->in_lock);
			if (!n)
				break;
			k = copy_to_iter(b, n, to);
			done += (ssize_t)k;
			if (k < n)
				return done ? done : -EFAULT;
		} while (to->count && !end);
		if (end)
			break; /* end of a line, or of the file: done may be 0 */
	}
	return done;
}

static ssize_t tty_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	struct tty *t = tty_of(f);
	ssize_t done = 0;
	char b[512];
	int err = 0;

	if (__atomic_load_n(&t->tio.lflag, __ATOMIC_RELAXED) & TOSTOP)
		err = tty_job_control(t, SIGTTOU);
	if (err)
		return err;
	mutex_lock(&t->out_lock);
	while (from->count && !err) {
		size_t n = min(sizeof(b), from->count), k = copy_from_iter(b, n, from);

		if (k < n)
			err = -EFAULT;
		while (atomic_load_explicit(&t->stopped, memory_order_relaxed)) { /* ^S */
			mutex_unlock(&t->out_lock);
			err = wait_event_interruptible(
				&t->start_wait,
				!atomic_load_explicit(&t->stopped, memory_order_relaxed));
			mutex_lock(&t->out_lock);
			if (err) {
				err = -ERESTARTSYS;
				k = 0;
				break;
			}
		}
		tty_output(t, b, k);
		done += (ssize_t)k;
		if (signal_pending(current))
			break;
	}
	mutex_unlock(&t->out_lock);
	return done ? done : err;
}

static unsigned tty_poll(struct file *f, struct poll_table *pt)
{
	struct tty *t = tty_of(f);
	unsigned min;

	poll_wait(f, &t->rd_wait, pt);
	min = __atomic_load_n(&t->tio.cc[VTIME], __ATOMIC_RELAXED)
		      ? 1
		      : __atomic_load_n(&t->tio.cc[VMIN], __ATOMIC_RELAXED);
	return EPOLLOUT | EPOLLWRNORM | (tty_readable(t, min) ? EPOLLIN | EPOLLRDNORM : 0);
}

/* ioctl(2) numbers of Linux x86-64. */
enum {
	TCGETS = 0x5401, TCSETS, TCSETSW, TCSETSF, TCSBRK = 0x5409, TCXONC, TCFLSH, TIOCEXCL,
	TIOCNXCL, TIOCSCTTY, TIOCGPGRP, TIOCSPGRP, TIOCOUTQ, TIOCSTI, TIOCGWINSZ, TIOCSWINSZ,
	FIONREAD = 0x541b, TIOCNOTTY = 0x5422, TIOCSETD, TIOCGETD, TCSBRKP, TIOCGSID = 0x5429,
	VHANGUP_ = 0x5437
};

static long set_termios(struct tty *t, unsigned cmd, const void __user *arg)
{
	struct ktermios n;
	uint32_t old;
	int err;

	if (copy_from_user(&n, arg, sizeof(n)))
		return -EFAULT;
	err = tty_job_control(t, SIGTTOU);
	if (err)
		return err;
	mutex_lock(&t->in_lock);
	mutex_lock(&t->out_lock); /* what is being written goes out by the old rules */
	old = t->tio.lflag;
	if (cmd == TCSETSF)
		tty_flush_input(t);
	t->tio = n;
	tty_mode_changed(t, old);
	mutex_unlock(&t->out_lock);
	mutex_unlock(&t->in_lock);
	if (!(n.iflag & IXON)) {
		atomic_store_explicit(&t->stopped, false, memory_order_relaxed);
		wake_up(&t->start_wait);
	}
	return 0;
}

static long tty_get(struct tty *t, unsigned cmd, void __user *arg)
{
	struct kwinsize w;
	struct ktermios tio;
	int n;

	mutex_lock(&t->in_lock);
	w = t->win;
	tio = t->tio;
	n = (int)((tio.lflag & ICANON ? t->line : t->wr) - t->rd);
	mutex_unlock(&t->in_lock);
	if (cmd == TCGETS)
		return copy_to_user(arg, &tio, sizeof(tio));
	if (cmd == TIOCGWINSZ)
		return copy_to_user(arg, &w, sizeof(w));
	return put_user(n, (int __user *)arg);
}

static long set_winsize(struct tty *t, const void __user *arg)
{
	struct kwinsize w;
	bool changed;
	pid_t pgrp;

	if (copy_from_user(&w, arg, sizeof(w)))
		return -EFAULT;
	mutex_lock(&t->in_lock);
	changed = memcmp(&w, &t->win, sizeof(w)) != 0;
	t->win = w;
	mutex_unlock(&t->in_lock);
	pgrp = tty_foreground(t);
	if (changed && pgrp > 0)
		signal_pgrp(pgrp, SIGWINCH);
	return 0;
}

static long tty_ioctl(struct file *f, unsigned cmd, unsigned long arg)
{
	struct tty *t = tty_of(f);
	void __user *p = (void __user *)arg;
	pid_t pgrp;
	long err;
	char c;

	switch (cmd) {
	case TCGETS:
	case TIOCGWINSZ:
	case FIONREAD:
		return tty_get(t, cmd, p);
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
		return set_termios(t, cmd, p);
	case TIOCSWINSZ:
		return set_winsize(t, p);
	case TIOCGPGRP:
		return tty_get_job(t, false, p);
	case TIOCGSID:
		return tty_get_job(t, true, p);
	case TIOCSPGRP:
		err = tty_job_control(t, SIGTTOU);
		if (!err && get_user(pgrp, (pid_t __user *)p))
			err = -EFAULT;
		return err ? err : tty_set_foreground(t, pgrp);
	case TIOCSCTTY:
		return tty_acquire(t, arg == 1);
	case TIOCNOTTY:
		return tty_give_up(t);
	case TIOCOUTQ:
		return put_user(0, (int __user *)p);
	case TIOCGETD:
		return put_user(0, (int __user *)p);
	case TIOCSTI:
		if (!capable())
			return -EPERM;
		if (copy_from_user(&c, p, 1))
			return -EFAULT;
		mutex_lock(&t->in_lock);
		tty_input(t, &c, 1);
		mutex_unlock(&t->in_lock);
		return 0;
	case TCFLSH:
		if (arg > 2)
			return -EINVAL;
		if (arg != 1) {
			mutex_lock(&t->in_lock);
			tty_flush_input(t);
			mutex_unlock(&t->in_lock);
		}
		return 0;
	case TCXONC:
		if (arg > 3)
			return -EINVAL;
		if (arg < 2) {
			atomic_store_explicit(&t->stopped, arg == 0, memory_order_relaxed);
			wake_up(&t->start_wait);
		}
		return 0;
	case TCSBRK: /* output is waited for by every write */
	case TCSBRKP:
	case TIOCEXCL:
	case TIOCNXCL:
	case TIOCSETD:
		return 0;
	default:
		return -ENOTTY;
	}
}

static const struct file_ops tty_ops = {
	.open = tty_open,
	.read = tty_read,
	.write = tty_write,
	.poll = tty_poll,
	.ioctl = tty_ioctl,
};
static const struct file_ops ctty_ops = {
	.open = tty_open_ctty,
	.read = tty_read,
	.write = tty_write,
	.poll = tty_poll,
	.ioctl = tty_ioctl,
};

void tty_init(void)
{
	struct tty *t = &console;

	mutex_init(&t->in_lock, "tty.in");
	mutex_init(&t->out_lock, "tty.out");
	wq_init(&t->rd_wait, "tty.rd");
	wq_init(&t->start_wait, "tty.start");
	work_init(&t->work, tty_worker);
	dev_register("tty", 0666, MKDEV(5, 0), &ctty_ops, NULL);
	dev_register("console", 0600, MKDEV(5, 1), &tty_ops, t);
	dev_register("ttyS0", 0660, MKDEV(4, 64), &tty_ops, t);
	dev_register("ttyS1", 0660, MKDEV(4, 65), &tty_ops, t);
}
