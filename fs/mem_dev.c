/* SPDX-License-Identifier: MIT */
/*
 * The small character devices: null zero full random urandom kmsg records.
 */
#include "fs/internal.h"
#include "fs/sys.h"
#include "kernel/random.h"
#if !defined(TALLY_HOSTED)
#include "kernel/console.h"
#endif

static ssize_t null_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	return 0;
}

static ssize_t null_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	size_t n = from->count;

	from->count = 0;
	return (ssize_t)n;
}

static ssize_t zero_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	size_t n = to->count, done = 0;

	while (done < n) {
		size_t want = min(n - done, 16 * PAGE_SIZE), k = zero_iter(want, to);

		done += k;
		if (k < want)
			return done ? (ssize_t)done : -EFAULT;
		if (signal_pending(current))
			break;
		cond_resched();
	}
	return (ssize_t)done;
}

static ssize_t full_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	return -ENOSPC;
}

static ssize_t random_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	ssize_t done = 0;
	uint8_t b[256];

	while (to->count) {
		size_t n = min(sizeof(b), to->count), k;

		random_bytes(b, n);
		k = copy_to_iter(b, n, to);
		done += (ssize_t)k;
		if (k < n)
			return done ? done : -EFAULT;
		if (signal_pending(current))
			break;
		cond_resched();
	}
	return done;
}

static loff_t null_lseek(struct file *f, loff_t off, int whence)
{
	return 0;
}

static int mem_mmap(struct file *f, unsigned vm_flags)
{
	return -ENODEV;
}

static const struct file_ops null_ops = {
	.read = null_read, .write = null_write, .lseek = null_lseek
};
static const struct file_ops zero_ops = {
	.read = zero_read, .write = null_write, .lseek = null_lseek, .mmap = mem_mmap
};
static const struct file_ops full_ops = {
	.read = zero_read, .write = full_write, .lseek = null_lseek
};
static const struct file_ops random_ops = {
	.read = random_read, .write = null_write, .lseek = null_lseek
};

/* A line from a write, without its newline. */
static ssize_t take_line(struct iov_iter *from, char *buf, size_t size)
{
	size_t n = min(from->count, size - 1), total = from->count;

	if (copy_from_iter(buf, n, from) < n)
		return -EFAULT;
	while (n && (buf[n - 1] == '\n' || !buf[n - 1]))
		n--;
	buf[n] = '\0';
	from->count = 0;
	return (ssize_t)total;
}

/* write: one line into the log ("<N>" in front is its level). */
static ssize_t kmsg_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	enum log_level level = LOG_INFO;
	char line[240], *p = line;
	ssize_t n = take_line(from, line, sizeof(line));

	if (n <= 0)
		return n;
	if (p[0] == '<' && p[1] >= '0' && p[1] <= '7' && p[2] == '>') {
		level = (enum log_level)(p[1] - '0');
		p += 3;
	}
	log_printf(level, "%s", p);
	return n;
}

/* read: the log from its beginning, one piece per call. */
static ssize_t kmsg_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	uint64_t seq = (uint64_t)f->pos;
	char *b = name_buffer();
	size_t n, k;

	if (!b)
		return -ENOMEM;
	n = log_read(&seq, b, min(to->count, (size_t)PATH_MAX_BYTES));
	k = copy_to_iter(b, n, to);
	putname(b);
	if (k < n)
		return -EFAULT;
	f->pos = (loff_t)seq;
	if (!n)
		return (atomic_load_explicit(&f->flags, memory_order_relaxed) & O_NONBLOCK)
			       ? -EAGAIN
			       : 0;
	return (ssize_t)n;
}

/* SEEK_SET: from the first line, SEEK_END: only what is to come. */
static loff_t kmsg_lseek(struct file *f, loff_t off, int whence)
{
	uint64_t seq = 0;
	char b[256];

	if (off)
		return -ESPIPE;
	while (whence == SEEK_END && log_read(&seq, b, sizeof(b)))
		;
	f->pos = (loff_t)seq;
	return 0;
}

static const struct file_ops kmsg_ops = {
	.read = kmsg_read, .write = kmsg_write, .lseek = kmsg_lseek
};

#if !defined(TALLY_HOSTED)
/* One write is one record line; see docs/fs.md. */
static ssize_t rec_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	char *b = name_buffer();
	ssize_t n;

	if (!b)
		return -ENOMEM;
	if (from->count > RECORD_MAX) {
		putname(b);
		return -EMSGSIZE;
	}
	n = take_line(from, b, PATH_MAX_BYTES);
	if (n > 0 && records_write(b, strlen(b)))
		n = -EINVAL;
	putname(b);
	return n;
}

static const struct file_ops records_ops = { .read = null_read, .write = rec_write };
#endif

void mem_devices_init(void)
{
	dev_register("null", 0666, MKDEV(1, 3), &null_ops, NULL);
	dev_register("zero", 0666, MKDEV(1, 5), &zero_ops, NULL);
	dev_register("full", 0666, MKDEV(1, 7), &full_ops, NULL);
	dev_register("random", 0666, MKDEV(1, 8), &random_ops, NULL);
	dev_register("urandom", 0666, MKDEV(1, 9), &random_ops, NULL);
	dev_register("kmsg", 0644, MKDEV(1, 11), &kmsg_ops, NULL);
#if !defined(TALLY_HOSTED)
	dev_register("records", 0222, MKDEV(10, 200), &records_ops, NULL);
#endif
}
