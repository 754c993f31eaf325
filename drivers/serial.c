/* SPDX-License-Identifier: MIT */
/*
 * 16550 driver: see serial.h.  Source: National Semiconductor PC16550D.
 *
 * Each port has two byte rings, one for programs (its writer holds the mutex)
 * and one for log lines (its writer is the log's printer), and one pump that
 * moves bytes into the chip.  The pump is whoever wins a flag: a writer, or the
 * interrupt handler; who loses leaves, because the winner looks again after it
 * has laid the flag down.  So nobody waits for another, in any context.
 */
#include "drivers/serial.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/irq.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "kernel/thread.h"

enum {
	REG_DATA = 0,
	REG_IER = 1,
	REG_IIR = 2,
	REG_FCR = 2,
	REG_LCR = 3,
	REG_MCR = 4,
	REG_LSR = 5,
	REG_SCRATCH = 7
};
#define IER_RX   1
#define IER_TX   2
#define LSR_DATA 0x01
#define LSR_TX_EMPTY 0x20
#define LCR_8N1  0x03
#define LCR_DLAB 0x80
#define MCR_DTR_RTS_OUT2 0x0b /* OUT2 lets the interrupt through on PCs */
#define MCR_LOOP 0x1e

#define FIFO_BYTES  16
#define RING_BYTES  16384 /* power of two */
/* of the status register for one byte; a dead port costs a second or two, once */
#define TX_POLLS    2000000

struct ring {
	_Atomic uint32_t head, tail; /* bytes written, bytes taken */
	char buf[RING_BYTES];
};

struct serial_port {
	uint16_t base;
	uint8_t line;
	bool present, irq_on, dead;
	uint8_t ier;          /* by the pump only */
	bool in_log_line;     /* by the pump: a log line has begun and not ended */
	bool at_line_start;   /* by the pump: the last program byte was a newline */
	_Atomic bool pumping;
	_Atomic(struct thread *) waiter; /* the writer, when its ring is full */
	void (*rx)(const char *s, size_t n);
	struct mutex lock;    /* one writer to tx */
	struct ring tx, log;
	_Atomic uint64_t log_dropped;
};

static struct serial_port ports[4] = {
	{ .base = 0x3f8, .line = 4 },
	{ .base = 0x2f8, .line = 3 },
	{ .base = 0x3e8, .line = 4 },
	{ .base = 0x2e8, .line = 3 },
};

static uint8_t in(const struct serial_port *p, unsigned r)
{
	return inb((uint16_t)(p->base + r));
}

static void out(const struct serial_port *p, unsigned r, uint8_t v)
{
	outb((uint16_t)(p->base + r), v);
}

static uint32_t ring_used(struct ring *r)
{
	return atomic_load_explicit(&r->head, memory_order_acquire) -
	       atomic_load_explicit(&r->tail, memory_order_acquire);
}

/* One writer at a time.  Return: bytes that fitted. */
static size_t ring_put(struct ring *r, const char *s, size_t n)
{
	uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	n = min(n, (size_t)(RING_BYTES - ring_used(r)));
	for (size_t i = 0; i < n; i++)
		r->buf[(head + i) % RING_BYTES] = s[i];
	atomic_store_explicit(&r->head, head + (uint32_t)n, memory_order_release);
	return n;
}

static char ring_take(struct ring *r)
{
	uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	char c = r->buf[tail % RING_BYTES];

	atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
	return c;
}

/* Next byte to send; log lines go out whole, between lines of the programs. */
static bool next_byte(struct serial_port *p, char *c)
{
	bool prog = ring_used(&p->tx), log = ring_used(&p->log);

	if (log && (p->in_log_line || !prog || p->at_line_start)) {
		*c = ring_take(&p->log);
		p->in_log_line = *c != '\n';
		return true;
	}
	if (!prog || p->in_log_line)
		return false;
	*c = ring_take(&p->tx);
	p->at_line_start = *c == '\n';
	return true;
}

static bool work_left(struct serial_port *p)
{
	return ring_used(&p->tx) || ring_used(&p->log);
}

static void wake_writer(struct serial_port *p)
{
	struct thread *t;

	if (ring_used(&p->tx) > RING_BYTES / 2 ||
	    !atomic_load_explicit(&p->waiter, memory_order_seq_cst))
		return;
	t = atomic_exchange_explicit(&p->waiter, NULL, memory_order_acq_rel);
	if (t)
		thread_wake(t);
}

/* Moves bytes into the chip while it takes them; then asks for an interrupt if some are left. */
static void pump(struct serial_port *p)
{
	uint8_t ier;
	bool more;

	do {
		if (atomic_exchange_explicit(&p->pumping, true, memory_order_acq_rel))
			return;
		more = work_left(p);
		while (more && (in(p, REG_LSR) & LSR_TX_EMPTY)) {
			char fifo[FIFO_BYTES];
			unsigned n = 0;

			while (n < FIFO_BYTES && next_byte(p, &fifo[n]))
				n++;
			outsb((uint16_t)(p->base + REG_DATA), fifo, n);
			more = n == FIFO_BYTES && work_left(p);
		}
		ier = IER_RX | (more ? IER_TX : 0);
		if (ier != p->ier) {
			out(p, REG_IER, ier);
			p->ier = ier;
		}
		atomic_store_explicit(&p->pumping, false, memory_order_seq_cst);
		/* With the interrupt asked for, it is the interrupt's turn; else look again. */
	} while (!more && work_left(p) && !p->in_log_line);
	wake_writer(p);
}

static void receive(struct serial_port *p)
{
	char buf[64];
	size_t n = 0;

	for (unsigned i = 0; i < 1024 && (in(p, REG_LSR) & LSR_DATA); i++) {
		buf[n++] = (char)in(p, REG_DATA);
		if (n == sizeof(buf)) {
			if (p->rx)
				p->rx(buf, n);
			n = 0;
		}
	}
	if (n && p->rx)
		p->rx(buf, n);
}

/* Both ports of a line: the interrupt is an edge, so nothing may be left pending. */
static void serial_interrupt(void *arg)
{
	unsigned line = (unsigned)(uintptr_t)arg;

	for (unsigned turns = 0; turns < 64; turns++) {
		bool any = false;

		for (size_t i = 0; i < ARRAY_SIZE(ports); i++) {
			struct serial_port *p = &ports[i];

			if (p->line != line || !p->irq_on || (in(p, REG_IIR) & 1))
				continue;
			any = true;
			receive(p);
			pump(p);
		}
		if (!any)
			return;
	}
}

/* The loop-back mode sends what is written to the receiver: a port that echoes is one. */
static bool probe(struct serial_port *p)
{
	static const uint8_t bytes[] = { 0xa5, 0x5a };
	bool ok = true;

	out(p, REG_IER, 0);
	out(p, REG_SCRATCH, 0x35);
	if (in(p, REG_LSR) == 0xff)
		return false;
	out(p, REG_FCR, 0x07); /* FIFOs on and empty */
	out(p, REG_MCR, MCR_LOOP);
	for (size_t i = 0; i < sizeof(bytes) && ok; i++) {
		out(p, REG_DATA, bytes[i]);
		for (unsigned w = 0; w < 10000 && !(in(p, REG_LSR) & LSR_DATA); w++)
			;
		ok = (in(p, REG_LSR) & LSR_DATA) && in(p, REG_DATA) == bytes[i];
	}
	out(p, REG_MCR, MCR_DTR_RTS_OUT2);
	return ok;
}

struct serial_port *serial_open(unsigned index, unsigned baud)
{
	struct serial_port *p = index < ARRAY_SIZE(ports) ? &ports[index] : NULL;

	if (!p || p->present)
		return p;
	if (!probe(p))
		return NULL;
	if (baud) {
		unsigned divisor = max(115200 / baud, 1u);

		out(p, REG_LCR, LCR_8N1 | LCR_DLAB);
		out(p, 0, (uint8_t)divisor);
		out(p, 1, (uint8_t)(divisor >> 8));
	}
	out(p, REG_LCR, LCR_8N1);
	mutex_init(&p->lock, "serial");
	p->at_line_start = true;
	p->present = true;
	return p;
}

int serial_start_irq(struct serial_port *p, void (*rx)(const char *s, size_t n))
{
	bool first = true;
	int err;

	p->rx = rx;
	for (size_t i = 0; i < ARRAY_SIZE(ports); i++)
		if (ports[i].irq_on && ports[i].line == p->line)
			first = false;
	if (first) {
		err = irq_request_isa(p->line, serial_interrupt, (void *)(uintptr_t)p->line,
				      "serial");
		if (err)
			return err;
	}
	p->irq_on = true;
	p->ier = IER_RX;
	out(p, REG_IER, IER_RX);
	pump(p);
	return 0;
}

/* One byte, waiting for the chip; a port that takes nothing is given up. */
static void poll_byte(struct serial_port *p, char c)
{
	unsigned left = TX_POLLS;

	while (!p->dead && !(in(p, REG_LSR) & LSR_TX_EMPTY))
		if (!--left)
			p->dead = true;
	if (!p->dead)
		out(p, REG_DATA, (uint8_t)c);
}

static bool polled(const struct serial_port *p)
{
	return !p->irq_on || atomic_load_explicit(&log_panicking, memory_order_relaxed);
}

void serial_write(struct serial_port *p, const char *s, size_t n)
{
	if (!p->present)
		return;
	mutex_lock(&p->lock);
	while (n) {
		size_t k = ring_put(&p->tx, s, n);

		s += k;
		n -= k;
		if (!p->irq_on) {
			serial_flush(p);
			continue;
		}
		pump(p);
		if (!n)
			break;
		atomic_store_explicit(&p->waiter, current, memory_order_seq_cst);
		thread_prepare_sleep(THREAD_UNINTERRUPTIBLE);
		if (ring_used(&p->tx) > RING_BYTES / 2)
			schedule();
		thread_finish_sleep();
		atomic_store_explicit(&p->waiter, NULL, memory_order_relaxed);
	}
	mutex_unlock(&p->lock);
}

void serial_log(struct serial_port *p, const char *s, size_t n)
{
	static const char cr = '\r';

	if (!p->present)
		return;
	if (polled(p)) {
		for (size_t i = 0; i < n; i++) {
			if (s[i] == '\n')
				poll_byte(p, cr);
			poll_byte(p, s[i]);
		}
		return;
	}
	/* Whole lines or nothing: the newline is what gives the port back to the programs. */
	if (RING_BYTES - ring_used(&p->log) < n + 1) {
		atomic_fetch_add_explicit(&p->log_dropped, 1, memory_order_relaxed);
		return;
	}
	if (n && s[n - 1] == '\n') {
		char line[320];
		size_t k = min(n - 1, sizeof(line) - 2);

		memcpy(line, s, k);
		line[k] = '\r';
		line[k + 1] = '\n';
		ring_put(&p->log, line, k + 2);
	}
	pump(p);
}

void serial_flush(struct serial_port *p)
{
	char c;

	if (!p->present)
		return;
	while (!p->dead && next_byte(p, &c))
		poll_byte(p, c);
	/* The last bytes leave the shift register. */
	for (unsigned i = 0; i < TX_POLLS / 100 && !p->dead && !(in(p, REG_LSR) & 0x40); i++)
		;
}
