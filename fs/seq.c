/* SPDX-License-Identifier: MIT */
/*
 * Text files: content printed by a function when the file is read from its
 * beginning, kept for the reads that follow.
 *
 * Locks: text->lock (mutex) over the text, since two threads may read one open
 *        file at the same time.
 */
#include "fs/internal.h"

#define TEXT_FIRST 2048u           /* bytes tried first */
#define TEXT_MAX   (4u << 20)      /* the largest kmalloc */
#define WRITE_MAX  4096u

struct text {
	struct mutex lock;
	struct seq seq;  /* buf NULL: nothing printed yet */
	text_show_t show;
	text_write_t write;
	void *arg;
	uint64_t cookie; /* the file system's own */
};

void seq_write(struct seq *s, const void *p, size_t n)
{
	if (n > s->size - s->len) {
		s->overflow = true;
		return;
	}
	memcpy(s->buf + s->len, p, n);
	s->len += n;
}

void seq_printf(struct seq *s, const char *fmt, ...)
{
	size_t room = s->size - s->len;
	va_list ap;
	int n;

	if (s->overflow) /* all of it is made again with more room */
		return;
	va_start(ap, fmt);
	n = vsnprintf(s->buf + s->len, room, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= room)
		s->overflow = true;
	else
		s->len += (size_t)n;
}

int text_open(struct file *f, text_show_t show, text_write_t write, void *arg)
{
	struct text *t = kzalloc(sizeof(*t), GFP_KERNEL | GFP_ACCOUNT);

	if (!t)
		return -ENOMEM;
	mutex_init(&t->lock, "text");
	t->show = show;
	t->write = write;
	t->arg = arg;
	f->priv = t;
	return 0;
}

void *text_arg(struct file *f)
{
	return ((struct text *)f->priv)->arg;
}

uint64_t *text_cookie(struct file *f)
{
	return &((struct text *)f->priv)->cookie;
}

/* Prints into a buffer that is made larger until all fits. */
static int text_print(struct text *t)
{
	size_t size = t->seq.size ? t->seq.size : TEXT_FIRST;

	for (;; size *= 2) {
		int err;

		if (size > TEXT_MAX)
			return -ENOMEM;
		if (size != t->seq.size) {
			kfree(t->seq.buf);
			t->seq.size = 0;
			t->seq.buf = kmalloc(size, GFP_KERNEL | GFP_ACCOUNT);
			if (!t->seq.buf)
				return -ENOMEM;
			t->seq.size = size;
		}
		t->seq.len = 0;
		t->seq.overflow = false;
		err = t->show(&t->seq, t->arg);
		if (err)
			return err;
		if (!t->seq.overflow)
			return 0;
	}
}

ssize_t text_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct text *t = f->priv;
	ssize_t ret = 0;
	size_t n;

	if (!t->show)
		return -EINVAL;
	if (*pos < 0)
		return -EINVAL;
	mutex_lock(&t->lock);
	if (*pos == 0 || !t->seq.size)
		ret = text_print(t);
	if (!ret && (size_t)*pos < t->seq.len) {
		n = min(t->seq.len - (size_t)*pos, to->count);
		ret = (ssize_t)copy_to_iter(t->seq.buf + *pos, n, to);
		*pos += ret;
		if (!ret && n)
			ret = -EFAULT;
	}
	mutex_unlock(&t->lock);
	return ret;
}

ssize_t text_write(struct file *f, struct iov_iter *from, loff_t *pos)
{
	struct text *t = f->priv;
	size_t n = from->count;
	ssize_t ret;
	char *b;

	if (!t->write)
		return -EINVAL;
	if (n > WRITE_MAX)
		return -E2BIG;
	b = kmalloc(n + 1, GFP_KERNEL);
	if (!b)
		return -ENOMEM;
	if (copy_from_iter(b, n, from) < n) {
		ret = -EFAULT;
	} else {
		b[n] = '\0';
		ret = t->write(b, n, t->arg);
		if (ret > 0)
			*pos += ret;
	}
	kfree(b);
	return ret;
}

loff_t text_lseek(struct file *f, loff_t off, int whence)
{
	if (whence == SEEK_CUR)
		off += f->pos;
	else if (whence != SEEK_SET)
		return -EINVAL;
	if (off < 0)
		return -EINVAL;
	f->pos = off;
	return off;
}

void text_release(struct file *f)
{
	struct text *t = f->priv;

	kfree(t->seq.buf);
	kfree(t);
}

const struct file_ops text_file_ops = {
	.read = text_read,
	.write = text_write,
	.lseek = text_lseek,
	.release = text_release,
};
