/* SPDX-License-Identifier: MIT */
/*
 * Terminal output: newline translation, tabs, the cursor's column.
 *
 * out_lock is held for all of one write, so that lines of several CPUs do not
 * mix; the driver below may sleep.
 */
#include "kernel/console.h"
#include "kernel/string.h"
#include "kernel/tty_int.h"

#define CHUNK 256

struct outbuf {
	char b[CHUNK];
	size_t n;
};

static void put(struct outbuf *o, char c)
{
	if (o->n == CHUNK) {
		console_write(o->b, o->n);
		o->n = 0;
	}
	o->b[o->n++] = c;
}

/* One character through output processing. */
static void process(struct tty *t, struct outbuf *o, unsigned char c, uint32_t oflag)
{
	switch (c) {
	case '\n':
		if (oflag & ONLCR) {
			put(o, '\r');
			t->column = 0;
		}
		if (oflag & ONLRET)
			t->column = 0;
		put(o, '\n');
		return;
	case '\r':
		if ((oflag & ONOCR) && !t->column)
			return;
		t->column = 0;
		put(o, (oflag & OCRNL) ? '\n' : '\r');
		return;
	case '\t': {
		unsigned n = 8 - t->column % 8;

		t->column += n;
		if ((oflag & XTABS) != XTABS) {
			put(o, '\t');
			return;
		}
		while (n--)
			put(o, ' ');
		return;
	}
	case '\b':
		if (t->column)
			t->column--;
		put(o, '\b');
		return;
	default:
		/* Control characters and UTF-8 continuation bytes take no column. */
		if (c >= 0x20 && c != 0x7f && (c & 0xc0) != 0x80)
			t->column++;
		put(o, (char)c);
		return;
	}
}

static void write_locked(struct tty *t, const char *s, size_t n)
{
	uint32_t oflag = __atomic_load_n(&t->tio.oflag, __ATOMIC_RELAXED);
	struct outbuf o = { .n = 0 };

	if (!(oflag & OPOST)) {
		console_write(s, n);
		return;
	}
	for (size_t k = 0; k < n; k++)
		process(t, &o, (unsigned char)s[k], oflag);
	if (o.n)
		console_write(o.b, o.n);
}

void tty_output(struct tty *t, const char *s, size_t n)
{
	write_locked(t, s, n); /* out_lock is held by tty_write() */
}

void tty_echo(struct tty *t, const char *s, size_t n)
{
	mutex_lock(&t->out_lock);
	write_locked(t, s, n);
	mutex_unlock(&t->out_lock);
}
