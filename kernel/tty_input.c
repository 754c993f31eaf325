/* SPDX-License-Identifier: MIT */
/*
 * Terminal input: signals, editing of the line, echo, what a reader gets.
 *
 * Everything here runs in thread context under in_lock.  Source: termios(3),
 * POSIX.1-2017 chapter 11.
 */
#include "kernel/log.h"
#include "kernel/process.h"
#include "kernel/string.h"
#include "kernel/tty_int.h"

static uint32_t ld(const _Atomic uint32_t *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static void st(_Atomic uint32_t *p, uint32_t v)
{
	atomic_store_explicit(p, v, memory_order_release);
}

static uint16_t *cell(struct tty *t, uint32_t pos)
{
	return &t->buf[pos % TTY_BUF];
}

static bool lflag(const struct tty *t, uint32_t f)
{
	return t->tio.lflag & f;
}

/* Is @c the control character number @which (0 is "disabled")? */
static bool is_cc(const struct tty *t, unsigned char c, unsigned which)
{
	return c && t->tio.cc[which] == c;
}

static void echo_char(struct tty *t, unsigned char c)
{
	if (lflag(t, ECHOCTL) && (c < 0x20 || c == 0x7f) && c != '\t' && c != '\n') {
		char s[2] = { '^', (char)(c ^ 0x40) };

		tty_echo(t, s, 2);
	} else {
		char s = (char)c;

		tty_echo(t, &s, 1);
	}
}

/* Columns that @c takes on the screen as it was echoed, except for tabs. */
static unsigned width(const struct tty *t, unsigned char c)
{
	if (c < 0x20 || c == 0x7f)
		return lflag(t, ECHOCTL) ? 2 : 0;
	return (t->tio.iflag & IUTF8) && (c & 0xc0) == 0x80 ? 0 : 1;
}

/* Column behind the line being edited. */
static unsigned edit_column(struct tty *t)
{
	unsigned col = t->line_column;

	for (uint32_t p = ld(&t->line); p != ld(&t->wr); p++) {
		unsigned char c = (unsigned char)*cell(t, p);

		if (c == '\t')
			col = (col | 7) + 1;
		else
			col += width(t, c);
	}
	return col;
}

/* Removes the last character (with its UTF-8 continuation bytes) and its echo. */
static void erase_one(struct tty *t)
{
	unsigned before = edit_column(t), after;
	unsigned char c;

	do {
		st(&t->wr, ld(&t->wr) - 1);
		c = (unsigned char)*cell(t, ld(&t->wr));
	} while ((t->tio.iflag & IUTF8) && (c & 0xc0) == 0x80 && ld(&t->wr) != ld(&t->line));
	if (!lflag(t, ECHO))
		return;
	if (!lflag(t, ECHOE)) {
		echo_char(t, t->tio.cc[VERASE]);
		return;
	}
	after = edit_column(t);
	if (c == '\t') {
		for (; before > after; before--)
			tty_echo(t, "\b", 1);
	} else {
		for (; before > after; before--)
			tty_echo(t, "\b \b", 3);
	}
}

static bool editing(struct tty *t)
{
	return ld(&t->wr) != ld(&t->line);
}

static bool word_char(unsigned char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || c >= 0x80;
}

static void erase_word(struct tty *t)
{
	bool seen = false;

	while (editing(t)) {
		bool w = word_char((unsigned char)*cell(t, ld(&t->wr) - 1));

		if (!w && seen)
			break;
		seen |= w;
		erase_one(t);
	}
}

static void kill_line(struct tty *t)
{
	if (lflag(t, ECHO) && !(lflag(t, ECHOE) && lflag(t, ECHOKE))) {
		st(&t->wr, ld(&t->line));
		echo_char(t, t->tio.cc[VKILL]);
		if (lflag(t, ECHOK))
			tty_echo(t, "\n", 1);
		t->line_column = 0;
		return;
	}
	while (editing(t))
		erase_one(t);
}

static void reprint(struct tty *t)
{
	echo_char(t, t->tio.cc[VREPRINT]);
	tty_echo(t, "\n", 1);
	t->line_column = 0;
	for (uint32_t p = ld(&t->line); p != ld(&t->wr); p++)
		echo_char(t, (unsigned char)*cell(t, p));
}

static bool full(struct tty *t)
{
	/* In canonical mode one place stays for the end of the line. */
	return ld(&t->wr) - ld(&t->rd) >= TTY_BUF - (lflag(t, ICANON) ? 1 : 0);
}

static void store(struct tty *t, uint16_t v)
{
	if (ld(&t->wr) - ld(&t->rd) >= TTY_BUF)
		return;
	*cell(t, ld(&t->wr)) = v;
	st(&t->wr, ld(&t->wr) + 1);
}

static void end_line(struct tty *t, uint16_t v)
{
	store(t, v | CELL_END);
	st(&t->line, ld(&t->wr));
	wake_up_poll(&t->rd_wait, 0x41); /* EPOLLIN | EPOLLRDNORM */
}

void tty_flush_input(struct tty *t)
{
	st(&t->wr, ld(&t->rd));
	st(&t->line, ld(&t->rd));
	t->lnext = false;
}

/* ^C and its like.  True: @c was one of them. */
static bool input_signal(struct tty *t, unsigned char c)
{
	int sig = is_cc(t, c, VINTR) ? SIGINT : is_cc(t, c, VQUIT) ? SIGQUIT
			      : is_cc(t, c, VSUSP)		   ? SIGTSTP
								   : 0;
	pid_t pgrp;

	if (!sig)
		return false;
	spin_lock(&process_lock);
	pgrp = t->pgrp;
	spin_unlock(&process_lock);
	if (!lflag(t, NOFLSH))
		tty_flush_input(t);
	if (lflag(t, ECHO))
		echo_char(t, c);
	if (pgrp > 0)
		signal_pgrp(pgrp, sig);
	atomic_store_explicit(&t->stopped, false, memory_order_relaxed);
	wake_up(&t->start_wait);
	return true;
}

/* Canonical mode.  True: @c did its work and is not stored. */
static bool input_edit(struct tty *t, unsigned char c)
{
	if (is_cc(t, c, VERASE)) {
		if (editing(t))
			erase_one(t);
		return true;
	}
	if (is_cc(t, c, VKILL)) {
		kill_line(t);
		return true;
	}
	if (is_cc(t, c, VWERASE) && lflag(t, IEXTEN)) {
		erase_word(t);
		return true;
	}
	if (is_cc(t, c, VREPRINT) && lflag(t, IEXTEN) && lflag(t, ECHO)) {
		reprint(t);
		return true;
	}
	if (is_cc(t, c, VLNEXT) && lflag(t, IEXTEN)) {
		t->lnext = true;
		if (lflag(t, ECHO) && lflag(t, ECHOCTL))
			tty_echo(t, "^\b", 2);
		return true;
	}
	if (is_cc(t, c, VEOF)) {
		end_line(t, CELL_EOF);
		return true;
	}
	return false;
}

static void echo_input(struct tty *t, unsigned char c)
{
	if (c == '\n') {
		if (lflag(t, ECHO) || (lflag(t, ICANON) && lflag(t, ECHONL)))
			tty_echo(t, "\n", 1);
		return;
	}
	if (!lflag(t, ECHO))
		return;
	if (!editing(t))
		t->line_column = __atomic_load_n(&t->column, __ATOMIC_RELAXED);
	echo_char(t, c);
}

static void input_one(struct tty *t, unsigned char c)
{
	bool literal = t->lnext;

	t->lnext = false;
	if (t->tio.iflag & ISTRIP)
		c &= 0x7f;
	if (!literal) {
		if (c == '\r') {
			if (t->tio.iflag & IGNCR)
				return;
			if (t->tio.iflag & ICRNL)
				c = '\n';
		} else if (c == '\n' && (t->tio.iflag & INLCR)) {
			c = '\r';
		}
		if (t->tio.iflag & IXON) {
			bool stopped = atomic_load_explicit(&t->stopped, memory_order_relaxed);

			if (is_cc(t, c, VSTOP) || is_cc(t, c, VSTART) ||
			    (stopped && (t->tio.iflag & IXANY))) {
				atomic_store_explicit(&t->stopped, is_cc(t, c, VSTOP),
						      memory_order_relaxed);
				wake_up(&t->start_wait);
				if (is_cc(t, c, VSTOP) || is_cc(t, c, VSTART))
					return;
			}
		}
		if (lflag(t, ISIG) && input_signal(t, c))
			return;
		if (lflag(t, ICANON) && input_edit(t, c))
			return;
	}
	if (lflag(t, ICANON)) {
		bool end = !literal && (c == '\n' || is_cc(t, c, VEOL) ||
					(is_cc(t, c, VEOL2) && lflag(t, IEXTEN)));

		if (full(t) && !end) {
			if (t->tio.iflag & IMAXBEL)
				tty_echo(t, "\a", 1);
			return;
		}
		echo_input(t, c);
		if (end)
			end_line(t, c);
		else
			store(t, c);
		return;
	}
	if (full(t))
		return;
	echo_input(t, c);
	store(t, c);
	st(&t->line, ld(&t->wr));
}

void tty_input(struct tty *t, const char *s, size_t n)
{
	for (size_t k = 0; k < n; k++)
		input_one(t, (unsigned char)s[k]);
	if (!lflag(t, ICANON) && n)
		wake_up_poll(&t->rd_wait, 0x41); /* EPOLLIN | EPOLLRDNORM */
}

/* Canonical to raw: what was typed becomes readable; back: what is there is a line. */
void tty_mode_changed(struct tty *t, uint32_t old_lflag)
{
	if ((old_lflag ^ t->tio.lflag) & ICANON) {
		st(&t->line, ld(&t->wr));
		if ((t->tio.lflag & ICANON) && ld(&t->wr) != ld(&t->rd))
			*cell(t, ld(&t->wr) - 1) |= CELL_END;
		wake_up_poll(&t->rd_wait, 0x41);
	}
}

bool tty_readable(struct tty *t, unsigned min)
{
	uint32_t rd = atomic_load_explicit(&t->rd, memory_order_relaxed);

	if (__atomic_load_n(&t->tio.lflag, __ATOMIC_RELAXED) & ICANON)
		return atomic_load_explicit(&t->line, memory_order_acquire) != rd;
	return atomic_load_explicit(&t->wr, memory_order_acquire) - rd >= max(min, 1u);
}

size_t tty_take(struct tty *t, char *b, size_t n, bool *end)
{
	bool canon = lflag(t, ICANON);
	uint32_t stop = canon ? ld(&t->line) : ld(&t->wr), rd = ld(&t->rd);
	size_t k = 0;

	*end = false;
	while (rd != stop && !*end) {
		uint16_t v = *cell(t, rd);

		if (canon && (v & CELL_EOF)) {
			/* Right behind what filled the buffer it goes with it, as on Linux. */
			rd++;
			*end = true;
			break;
		}
		if (k == n)
			break;
		b[k++] = (char)v;
		rd++;
		*end = canon && (v & CELL_END);
	}
	st(&t->rd, rd);
	return k;
}
