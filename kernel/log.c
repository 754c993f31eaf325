/* SPDX-License-Identifier: MIT */
/*
 * The kernel log: a ring of whole lines that any context may write.
 *
 * Writing:   a ticket names a slot; the slot's sequence number says whose text
 *            it holds: 2t+1 while ticket t is being written, 2t+2 when it is
 *            complete.  No writer waits for another: one that finds its slot
 *            still being written by a writer a whole ring ago gives up its line
 *            (`lost` says so) rather than wait.
 * Printing:  whoever completes a line tries to become the printer and passes
 *            complete lines to the sinks in ticket order.  If somebody prints
 *            already, that one sees our line, since it looks again after it has
 *            laid down the role.
 * Races:     readers copy a slot while it may be overwritten, and look at the
 *            sequence number before and after (tests/guest: log).
 */
#include "kernel/log.h"
#include "arch/arch.h"
#include "kernel/param.h"
#include "kernel/string.h"

#define LINE_BYTES 240  /* longest text */
#define RING_LINES 2048 /* a power of two; the boot of 72 CPUs writes some 300 */

struct line {
	_Atomic uint64_t seq;
	_Atomic uint64_t lost; /* ticket + 1 of a line that was given up here */
	uint64_t when;         /* clock_ns() */
	uint16_t cpu;
	uint8_t level, len;
	char text[LINE_BYTES];
};

static struct line ring[RING_LINES];
static _Atomic uint64_t next_ticket;
static _Atomic bool printing;
static uint64_t next_print; /* by the printer only */
static _Atomic uint64_t nr_lost;
static _Atomic(struct log_sink *) sinks;

/* Set once by panic(): sinks must not wait for anything any more. */
_Atomic bool log_panicking;

static unsigned console_level = LOG_DEBUG;
PARAM_UINT("log.level", console_level, 0, 7, PARAM_RW,
	   "most talkative level that goes to the consoles");

static struct line *slot_of(uint64_t ticket)
{
	return &ring[ticket % RING_LINES];
}

/* "[sec.usec] cpuN: text\n"; returns bytes. */
static size_t format_line(const struct line *l, char *buf, size_t n)
{
	return (size_t)scnprintf(buf, n, "[%4llu.%06llu] cpu%u: %s%.*s\n",
				 (unsigned long long)(l->when / NSEC_PER_SEC),
				 (unsigned long long)(l->when % NSEC_PER_SEC / 1000), l->cpu,
				 l->level == LOG_ERR	? "error: "
				 : l->level == LOG_WARN ? "warning: "
							: "",
				 (int)l->len, l->text);
}

enum slot_state { SLOT_PENDING, SLOT_COMPLETE, SLOT_GONE };

/* Copies ticket @t's line if it is complete. */
static enum slot_state read_slot(uint64_t t, struct line *out)
{
	struct line *l = slot_of(t);
	uint64_t seq = atomic_load_explicit(&l->seq, memory_order_acquire);

	if (seq > 2 * t + 2 || atomic_load_explicit(&l->lost, memory_order_acquire) == t + 1)
		return SLOT_GONE;
	if (seq != 2 * t + 2)
		return SLOT_PENDING;
	out->when = l->when;
	out->cpu = l->cpu;
	out->level = l->level;
	out->len = l->len;
	memcpy(out->text, l->text, LINE_BYTES);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&l->seq, memory_order_relaxed) == seq ? SLOT_COMPLETE
									  : SLOT_GONE;
}

static void to_sinks(const char *s, size_t n)
{
	struct log_sink *k = atomic_load_explicit(&sinks, memory_order_acquire);

	for (; k; k = k->next)
		k->write(s, n);
}

static void print_pending(void)
{
	char text[LINE_BYTES + 64];
	struct line l;
	enum slot_state st;

	if (!atomic_load_explicit(&sinks, memory_order_acquire))
		return;
	do {
		if (atomic_exchange_explicit(&printing, true, memory_order_acq_rel) &&
		    !atomic_load_explicit(&log_panicking, memory_order_relaxed))
			return;
		while (next_print < atomic_load_explicit(&next_ticket, memory_order_acquire)) {
			st = read_slot(next_print, &l);
			if (st == SLOT_PENDING)
				break; /* its writer will print it, and what follows */
			next_print++;
			if (st == SLOT_COMPLETE && l.level <= console_level)
				to_sinks(text, format_line(&l, text, sizeof(text)));
		}
		st = SLOT_PENDING;
		uint64_t next = next_print;
		atomic_store_explicit(&printing, false, memory_order_seq_cst);
		if (next < atomic_load_explicit(&next_ticket, memory_order_seq_cst))
			st = read_slot(next, &l);
	} while (st != SLOT_PENDING);
}

void log_printf(enum log_level level, const char *fmt, ...)
{
	uint64_t t = atomic_fetch_add_explicit(&next_ticket, 1, memory_order_acq_rel);
	struct line *l = slot_of(t);
	uint64_t seq = atomic_load_explicit(&l->seq, memory_order_acquire);
	va_list ap;
	int n;

	do {
		if ((seq & 1) || seq > 2 * t) {
			atomic_store_explicit(&l->lost, t + 1, memory_order_release);
			atomic_fetch_add_explicit(&nr_lost, 1, memory_order_relaxed);
			return;
		}
	} while (!atomic_compare_exchange_weak_explicit(
		&l->seq, &seq, 2 * t + 1, memory_order_acq_rel, memory_order_acquire));
	l->when = clock_ns();
	l->cpu = (uint16_t)cpu_id();
	l->level = (uint8_t)level;
	va_start(ap, fmt);
	n = vsnprintf(l->text, LINE_BYTES, fmt, ap);
	va_end(ap);
	n = max(0, min(n, LINE_BYTES - 1));
	while (n && l->text[n - 1] == '\n')
		n--;
	l->len = (uint8_t)n;
	atomic_store_explicit(&l->seq, 2 * t + 2, memory_order_release);
	print_pending();
}

/* Context: boot CPU, or whatever serialises registrations. */
void log_register_sink(struct log_sink *s)
{
	char text[LINE_BYTES + 64];
	uint64_t end = atomic_load_explicit(&next_ticket, memory_order_acquire), t;
	struct line l;
	bool first = !atomic_load_explicit(&sinks, memory_order_acquire);

	t = end > RING_LINES ? end - RING_LINES : 0;
	for (; t < end; t++)
		if (read_slot(t, &l) == SLOT_COMPLETE)
			s->write(text, format_line(&l, text, sizeof(text)));
	if (first)
		next_print = end;
	s->next = atomic_load_explicit(&sinks, memory_order_relaxed);
	atomic_store_explicit(&sinks, s, memory_order_release);
}

void log_unregister_sink(struct log_sink *s)
{
	struct log_sink *k = atomic_load_explicit(&sinks, memory_order_relaxed);

	if (k == s) {
		atomic_store_explicit(&sinks, s->next, memory_order_release);
		return;
	}
	for (; k; k = k->next)
		if (k->next == s)
			k->next = s->next;
}

size_t log_read(uint64_t *seq, char *buf, size_t len)
{
	char text[LINE_BYTES + 64];
	size_t done = 0;
	struct line l;

	for (;;) {
		uint64_t end = atomic_load_explicit(&next_ticket, memory_order_acquire);
		enum slot_state st;
		size_t n;

		if (end > RING_LINES && *seq < end - RING_LINES)
			*seq = end - RING_LINES;
		if (*seq >= end)
			return done;
		st = read_slot(*seq, &l);
		if (st == SLOT_PENDING)
			return done;
		if (st == SLOT_COMPLETE) {
			n = format_line(&l, text, sizeof(text));
			if (n > len - done) {
				/* a reader with a tiny buffer gets the start of the line */
				if (!done && len) {
					memcpy(buf, text, len);
					(*seq)++;
					return len;
				}
				return done;
			}
			memcpy(buf + done, text, n);
			done += n;
		}
		(*seq)++;
	}
}
