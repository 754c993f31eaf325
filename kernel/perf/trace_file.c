/* SPDX-License-Identifier: MIT */
/*
 * Who listens to trace points: /proc/tally/trace_on and /proc/tally/trace, and a
 * PMU for each point.
 *
 * Locks: trace_mutex over which points are on and why.
 */
#include "kernel/perf/perf.h"

#include "fs/vfs.h"
#include "kernel/errno.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/perf/pmu.h"
#include "kernel/string.h"
#include "kernel/trace.h"
#include "kernel/work.h"
#include "mm/slab.h"

_Static_assert(NR_TRACE_POINTS <= 64, "trace_to_ring has a bit for each point");

static const struct {
	const char *name, *args, *what;
} points[NR_TRACE_POINTS] = {
#define X(id, name, args, what) { name, args, what },
	TRACE_POINTS(X)
#undef X
};

static struct mutex trace_mutex = MUTEX_INIT(trace_mutex, "trace");
static struct pmu point_pmus[NR_TRACE_POINTS];
static uint64_t keys_held; /* trace_mutex: points whose key has us as a user */
static uint64_t hidden[MAX_CPUS]; /* trace_mutex: `clear` hides records up to these numbers */

/* Holds the keys of the points that somebody listens to.  trace_mutex held. */
static void apply(void)
{
	for (unsigned i = 0; i < NR_TRACE_POINTS; i++) {
		bool ring = atomic_load_explicit(&trace_to_ring, memory_order_relaxed) >> i & 1;
		bool want = ring ||
			    atomic_load_explicit(&point_pmus[i].users, memory_order_relaxed);
		uint64_t bit = 1ULL << i;

		if (want == !!(keys_held & bit))
			continue;
		keys_held ^= bit;
		if (want)
			static_key_get(&trace_keys[i]);
		else
			static_key_put(&trace_keys[i]);
	}
}

static void apply_work(struct work *w)
{
	(void)w;
	mutex_lock(&trace_mutex);
	apply();
	mutex_unlock(&trace_mutex);
}
static struct work later = { .fn = apply_work };

/* The first event on a point, or the last has gone: the latter from anywhere. */
static void use(struct pmu *p, bool used)
{
	(void)p;
	if (used)
		apply_work(NULL);
	else
		work_schedule(&later);
}

int trace_point_of(const struct pmu *p)
{
	return p >= point_pmus && p < point_pmus + NR_TRACE_POINTS ? (int)(p - point_pmus) : -1;
}

/* Bytes before the end or a character of @stops. */
static size_t word_length(const char *s, const char *stops)
{
	size_t n = 0;

	while (s[n] && !strchr(stops, s[n]))
		n++;
	return n;
}

static void show_args(struct seq *s, const char *names, const uint64_t *arg)
{
	for (unsigned i = 0; *names; i++) {
		size_t n = word_length(names, " #");
		bool hex = names[n] == '#';

		seq_printf(s, hex ? " %.*s=%#llx" : " %.*s=%lld", (int)n, names,
			   (unsigned long long)arg[i]);
		names += n + hex;
		names += *names == ' ';
	}
}

/*
 * All CPUs' records in order of time.  They are written on while we read: what is
 * overwritten meanwhile is left out.
 */
static int show_trace(struct seq *s, void *arg)
{
	uint64_t *next = kzalloc(nr_cpus * 2 * sizeof(*next), GFP_KERNEL), *stop = next + nr_cpus;
	struct trace_copy *head = kzalloc(nr_cpus * sizeof(*head), GFP_KERNEL);
	/* A text of 4 MiB is the most there can be; a line is less than 100 bytes. */
	uint64_t most = min(TRACE_RECORDS - 1, 40000u / nr_cpus);

	(void)arg;
	if (!next || !head) {
		kfree(next);
		kfree(head);
		return -ENOMEM;
	}
	mutex_lock(&trace_mutex);
	for_each_cpu(cpu) {
		stop[cpu] = trace_newest(cpu);
		next[cpu] = max(hidden[cpu], stop[cpu] > most ? stop[cpu] - most : 0) + 1;
	}
	mutex_unlock(&trace_mutex);
	for (;;) {
		int first = -1;

		for_each_cpu(cpu) {
			while (next[cpu] <= stop[cpu] && head[cpu].number != next[cpu] &&
			       !trace_read(cpu, next[cpu], &head[cpu]))
				next[cpu]++;
			if (next[cpu] <= stop[cpu] && (first < 0 || head[cpu].ns < head[first].ns))
				first = (int)cpu;
		}
		if (first < 0)
			break;
		seq_printf(s, "[%5llu.%06llu] cpu%d tid %d %s",
			   (unsigned long long)head[first].ns / NSEC_PER_SEC,
			   (unsigned long long)head[first].ns / 1000 % 1000000, first,
			   head[first].tid, points[head[first].point].name);
		show_args(s, points[head[first].point].args, head[first].arg);
		seq_printf(s, "\n");
		next[first]++;
	}
	kfree(next);
	kfree(head);
	return 0;
}

static ssize_t write_trace(const char *text, size_t n, void *arg)
{
	(void)arg;
	if (strncmp(text, "clear", 5))
		return -EINVAL;
	mutex_lock(&trace_mutex);
	for_each_cpu(cpu)
		hidden[cpu] = trace_newest(cpu);
	mutex_unlock(&trace_mutex);
	return (ssize_t)n;
}

static int show_on(struct seq *s, void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < NR_TRACE_POINTS; i++)
		seq_printf(s, "%c %-16s %-16s %s\n",
			   atomic_load_explicit(&trace_to_ring, memory_order_relaxed) >> i & 1
				   ? '+'
				   : '-',
			   points[i].name, points[i].args, points[i].what);
	return 0;
}

/* The points that a word means: one, all of a part ("sched:*"), or "all". */
static uint64_t points_of(const char *word, size_t n)
{
	uint64_t found = 0;

	for (unsigned i = 0; i < NR_TRACE_POINTS; i++) {
		const char *name = points[i].name;

		if ((n == 3 && !strncmp(word, "all", 3)) ||
		    (strlen(name) == n && !strncmp(word, name, n)) ||
		    (n > 1 && word[n - 1] == '*' && !strncmp(word, name, n - 1)))
			found |= 1ULL << i;
	}
	return found;
}

/* Words: NAME, PART:*, all: from now on; -NAME and so on: not any more. */
static ssize_t write_on(const char *text, size_t len, void *arg)
{
	uint64_t on = atomic_load_explicit(&trace_to_ring, memory_order_relaxed);
	int err = 0;

	(void)arg;
	for (const char *at = text, *end = text + len; at < end;) {
		bool off = *at == '-';
		size_t n = word_length(at += off, " ,\n");
		uint64_t these = points_of(at, n);

		if (n && !these)
			return -EINVAL;
		on = off ? on & ~these : on | these;
		at += n;
		at += at < end;
	}
	mutex_lock(&trace_mutex);
	if (on)
		err = trace_rings_make();
	if (!err) {
		atomic_store_explicit(&trace_to_ring, on, memory_order_relaxed);
		apply();
	}
	mutex_unlock(&trace_mutex);
	return err ? err : (ssize_t)len;
}

void trace_init(void)
{
	for (unsigned i = 0; i < NR_TRACE_POINTS; i++) {
		struct pmu *p = &point_pmus[i];

		p->name = points[i].name;
		p->what = points[i].what;
		p->counter = &trace_counts.n[i];
		p->use = use;
		if (pmu_register(p))
			break;
	}
	proc_register("tally/trace", 0600, show_trace, write_trace, NULL);
	proc_register("tally/trace_on", 0600, show_on, write_on, NULL);
}
