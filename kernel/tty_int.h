/* SPDX-License-Identifier: MIT */
/*
 * What kernel/tty.c (device, job control), kernel/tty_input.c and
 * kernel/tty_output.c (line discipline) share.
 */
#ifndef KERNEL_TTY_INT_H
#define KERNEL_TTY_INT_H

#include "kernel/lock.h"
#include "kernel/tty.h"
#include "kernel/wait.h"
#include "kernel/work.h"

/* Linux x86-64 struct termios of the kernel (36 bytes). */
struct ktermios {
	uint32_t iflag, oflag, cflag, lflag;
	uint8_t line;
	uint8_t cc[19];
};
_Static_assert(sizeof(struct ktermios) == 36, "struct termios is ABI");

struct kwinsize { uint16_t rows, cols, xpixel, ypixel; };

enum {
	VINTR, VQUIT, VERASE, VKILL, VEOF, VTIME, VMIN, VSWTC, VSTART, VSTOP, VSUSP, VEOL,
	VREPRINT, VDISCARD, VWERASE, VLNEXT, VEOL2
};

#define IGNBRK 0000001
#define ISTRIP 0000040
#define INLCR  0000100
#define IGNCR  0000200
#define ICRNL  0000400
#define IXON   0002000
#define IXANY  0004000
#define IMAXBEL 0020000
#define IUTF8  0040000
#define OPOST  0000001
#define ONLCR  0000004
#define OCRNL  0000010
#define ONOCR  0000020
#define ONLRET 0000040
#define XTABS  0014000
#define ISIG   0000001
#define ICANON 0000002
#define ECHO   0000010
#define ECHOE  0000020
#define ECHOK  0000040
#define ECHONL 0000100
#define NOFLSH 0000200
#define TOSTOP 0000400
#define ECHOCTL 0001000
#define ECHOKE 0004000
#define IEXTEN 0100000

#define TTY_BUF  4096u /* characters of input that wait for a reader; a power of two */
#define TTY_RING 4096u /* characters between the interrupt handler and the worker */

/* A cell of the input buffer: the character and what it is in canonical mode. */
#define CELL_END 0x100u /* ends a line: newline, EOL or EOF */
#define CELL_EOF 0x200u /* end of file: not given to the reader */

/*
 * Legend: [i] under in_lock, [o] under out_lock, [p] under process_lock,
 *         [r] single producer (interrupt), single consumer (worker)
 */
struct tty {
	const char *name;
	uint64_t rdev;

	/* [r] free-running positions in ring[] */
	_Atomic uint32_t ring_in, ring_out;
	_Atomic uint32_t ring_lost;
	char ring[TTY_RING];
	struct work work;

	struct mutex in_lock;
	struct ktermios tio;    /* [i]; output flags are read without it */
	struct kwinsize win;    /* [i] */
	uint16_t buf[TTY_BUF];  /* [i] cells */
	_Atomic uint32_t rd;    /* [i] next to be read */
	_Atomic uint32_t wr;    /* [i] next free; rd <= wr <= rd + TTY_BUF */
	_Atomic uint32_t line;  /* [i] behind the last complete line; rd <= line <= wr */
	uint32_t line_column;   /* [i] output column where the line being edited began */
	bool lnext;             /* [i] next character is taken literally */
	struct wait_queue rd_wait;

	struct mutex out_lock;
	unsigned column;        /* [o] of the cursor, as far as we know */
	_Atomic bool stopped;   /* ^S */
	struct wait_queue start_wait;

	pid_t session, pgrp;    /* [p] 0: none */
	_Atomic unsigned hangups; /* counts hang-ups: readers that began before get 0 bytes */
};

/* kernel/tty_input.c */
void tty_input(struct tty *t, const char *s, size_t n);        /* in_lock held */
/* in_lock held; @end: a line ended, read no more */
size_t tty_take(struct tty *t, char *b, size_t n, bool *end);
bool tty_readable(struct tty *t, unsigned min);                /* no lock */
void tty_flush_input(struct tty *t);                           /* in_lock held */
void tty_mode_changed(struct tty *t, uint32_t old_lflag);      /* in_lock held */

/* kernel/tty_output.c; both take out_lock and may sleep */
void tty_output(struct tty *t, const char *s, size_t n);       /* with output processing */
void tty_echo(struct tty *t, const char *s, size_t n);

/* kernel/tty_job.c */
int tty_job_control(struct tty *t, int sig);   /* 0: go on; -EIO, or -ERESTARTSYS with @sig sent */
int tty_acquire(struct tty *t, bool steal);    /* TIOCSCTTY and open(): 0 or -EPERM */
long tty_set_foreground(struct tty *t, pid_t pgrp);
long tty_give_up(struct tty *t);               /* TIOCNOTTY */
long tty_get_job(struct tty *t, bool session, int __user *arg); /* TIOCGSID, TIOCGPGRP */

#endif /* KERNEL_TTY_INT_H */
