/* SPDX-License-Identifier: MIT */
/*
 * Implements mark.h.  The functions differ in what they store, so that no
 * compiler makes one of them; the plugin hooks their first instructions by
 * name, so they are global and never inlined.
 */
#include "fs/vfs.h"
#include "kernel/errno.h"
#include "kernel/mark.h"

#define MARKS 8

static _Atomic int mark_last = -1; /* what was set last; read with a debugger */

#define DEFINE_MARK(n)                                                                             \
	void tally_mark_##n(void);                                                                 \
	__attribute__((noinline)) void tally_mark_##n(void)                                        \
	{                                                                                          \
		atomic_store_explicit(&mark_last, n, memory_order_relaxed);                        \
	}

DEFINE_MARK(0)
DEFINE_MARK(1)
DEFINE_MARK(2)
DEFINE_MARK(3)
DEFINE_MARK(4)
DEFINE_MARK(5)
DEFINE_MARK(6)
DEFINE_MARK(7)

void tally_mark_end(void);
__attribute__((noinline)) void tally_mark_end(void)
{
	atomic_store_explicit(&mark_last, -1, memory_order_relaxed);
}

static void (*const marks[MARKS])(void) = {
	tally_mark_0, tally_mark_1, tally_mark_2, tally_mark_3,
	tally_mark_4, tally_mark_5, tally_mark_6, tally_mark_7,
};

int mark_command(const char *text, size_t len)
{
	if (len && text[len - 1] == '\n')
		len--;
	if (len == 3 && text[0] == 'e' && text[1] == 'n' && text[2] == 'd') {
		tally_mark_end();
		return 0;
	}
	if (len == 7 && text[0] == 'b' && text[1] == 'e' && text[2] == 'g' && text[3] == 'i' &&
	    text[4] == 'n' && text[5] == ' ' && text[6] >= '0' && text[6] < '0' + MARKS) {
		marks[text[6] - '0']();
		return 0;
	}
	return -EINVAL;
}

static ssize_t mark_write(const char *text, size_t len, void *arg)
{
	int err = mark_command(text, len);

	return err ? err : (ssize_t)len;
}

void mark_init(void)
{
	proc_register("tally/mark", 0200, NULL, mark_write, NULL);
}
