/* SPDX-License-Identifier: MIT */
/*
 * /proc/lockstat: what kernel/lockstat.c counts, summed over the CPUs; the
 * parameter lock.stat; and a PMU for the waits of each class.
 */
#include "kernel/perf/perf.h"

#include "fs/vfs.h"
#include "kernel/errno.h"
#include "kernel/lockstat.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/perf/pmu.h"
#include "kernel/string.h"
#include "kernel/symbols.h"
#include "mm/slab.h"

static struct mutex stat_mutex = MUTEX_INIT(stat_mutex, "lockstat");
static bool wanted; /* stat_mutex: lock.stat */
static bool ready;  /* stat_mutex: keys can be flipped */

/* stat_mutex held. */
static void apply(void)
{
	if (!ready || wanted == static_key_is_on(&lock_stat_key))
		return;
	if (!wanted) {
		static_key_put(&lock_stat_key);
		return;
	}
	atomic_fetch_add_explicit(&lock_stat_epoch, 1, memory_order_relaxed);
	static_key_get(&lock_stat_key);
}

static int stat_set(const struct param *p, const char *text)
{
	(void)p;
	if ((text[0] != '0' && text[0] != '1') || text[1])
		return -EINVAL;
	if (!ready) { /* the command line: no threads, no locks yet */
		wanted = text[0] == '1';
		return 0;
	}
	mutex_lock(&stat_mutex);
	wanted = text[0] == '1';
	apply();
	mutex_unlock(&stat_mutex);
	return 0;
}

static int stat_get(const struct param *p, char *buf, size_t n)
{
	(void)p;
	return scnprintf(buf, n, "%u", wanted);
}
PARAM_CUSTOM("lock.stat", stat_set, stat_get, PARAM_RW,
	     "measure how long locks are held (/proc/lockstat): 0, 1");

/* Plain sums of what the CPUs count. */
struct sum {
	const char *name;
	uint64_t n, total_ns, worst_ns;
};

static void add(struct sum *sum, const struct lock_times *t)
{
	sum->n += atomic_load_explicit(&t->n, memory_order_relaxed);
	sum->total_ns += atomic_load_explicit(&t->total_ns, memory_order_relaxed);
	sum->worst_ns = max(sum->worst_ns,
			    atomic_load_explicit(&t->worst_ns, memory_order_relaxed));
}

static void put(struct seq *s, const struct sum *sum)
{
	seq_printf(s, " %10llu %12llu.%03llu %9llu.%03llu", (unsigned long long)sum->n,
		   (unsigned long long)sum->total_ns / 1000,
		   (unsigned long long)sum->total_ns % 1000,
		   (unsigned long long)sum->worst_ns / 1000,
		   (unsigned long long)sum->worst_ns % 1000);
}

static void show_classes(struct seq *s)
{
	const char *name;

	seq_printf(s, "%-20s %10s %16s %13s %10s %16s %13s\n", "class", "waits", "waited us",
		   "worst us", "holds", "held us", "worst us");
	for (unsigned c = 0; c < LOCK_CLASSES; c++) {
		struct sum wait = { 0 }, hold = { 0 };

		name = lock_class_name(c);
		if (!name)
			continue;
		for_each_cpu(cpu) {
			add(&wait, &per_cpu(lock_class_stats, cpu).wait[c]);
			add(&hold, &per_cpu(lock_class_stats, cpu).hold[c]);
		}
		if (!wait.n && !hold.n)
			continue;
		seq_printf(s, "%-20s", name);
		put(s, &wait);
		put(s, &hold);
		seq_printf(s, "\n");
	}
}

/*
 * Several places of one function wait for the same lock, or nearly so.  The
 * tables are small: looking them all over for each line is fast enough.
 */
static void add_site(struct sum *sums, unsigned *nr, unsigned most, const struct lock_site *site)
{
	uintptr_t at = atomic_load_explicit(&site->at, memory_order_relaxed);
	const char *name;
	size_t offset;
	unsigned i;

	if (!atomic_load_explicit(&site->wait.n, memory_order_relaxed))
		return;
	name = at ? symbol_find(at, &offset) : NULL;
	if (!name)
		name = "(others)";
	for (i = 0; i < *nr && sums[i].name != name; i++)
		;
	if (i == most)
		return;
	if (i == *nr)
		sums[(*nr)++].name = name;
	add(&sums[i], &site->wait);
}

#define MOST_SITES 256

static int show_lockstat(struct seq *s, void *arg)
{
	struct sum *sums = kzalloc(MOST_SITES * sizeof(*sums), GFP_KERNEL);
	unsigned nr = 0;

	(void)arg;
	if (!sums)
		return -ENOMEM;
	for_each_cpu(cpu)
		for (unsigned i = 0; i <= LOCK_SITES; i++)
			add_site(sums, &nr, MOST_SITES, &per_cpu(lock_sites, cpu).s[i]);
	if (!static_key_is_on(&lock_stat_key))
		seq_printf(s, "# holds are not measured: lock.stat=1, or write 1 to"
			      " /proc/sys/tally/lock/stat\n");
	show_classes(s);
	seq_printf(s, "\n%-31s %10s %16s %13s\n", "waited in", "waits", "waited us", "worst us");
	for (unsigned i = 0; i < nr; i++) {
		seq_printf(s, "%-31s", sums[i].name);
		put(s, &sums[i]);
		seq_printf(s, "\n");
	}
	kfree(sums);
	return 0;
}

static void clear(struct lock_times *t)
{
	atomic_store_explicit(&t->n, 0, memory_order_relaxed);
	atomic_store_explicit(&t->total_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&t->worst_ns, 0, memory_order_relaxed);
}

/* What a CPU counts at this moment may get lost, or stay. */
static void clear_holds(void)
{
	for_each_cpu(cpu)
		for (unsigned c = 0; c < LOCK_CLASSES; c++)
			clear(&per_cpu(lock_class_stats, cpu).hold[c]);
}

/* `reset`: holds and the worst waits begin anew; the waits themselves are PMUs and go on. */
static ssize_t write_lockstat(const char *text, size_t n, void *arg)
{
	(void)arg;
	if (strncmp(text, "reset", 5))
		return -EINVAL;
	clear_holds();
	for_each_cpu(cpu) {
		for (unsigned c = 0; c < LOCK_CLASSES; c++)
			atomic_store_explicit(&per_cpu(lock_class_stats, cpu).wait[c].worst_ns, 0,
					      memory_order_relaxed);
		for (unsigned i = 0; i <= LOCK_SITES; i++)
			clear(&per_cpu(lock_sites, cpu).s[i].wait);
	}
	return (ssize_t)n;
}

/*
 * Classes that get their PMU at start-up.  Others are known once somebody waits for
 * them or measures them, and get theirs when PMUs are listed next: so the number of
 * PMUs does not change under an experiment.
 */
static const char *const known[] = {
	"zone", "slab", "slab depot", "dcache", "inode", "inode.dir", "file.pos", "pipe",
	"process", "sighand", "vm_space", "page_index", "futex", "port_bucket", "ep_bucket",
	"listen_bucket", "tcp_listener", "timer", "mutex.wait", "rwsem.wait",
};

struct class_pmu {
	struct pmu pmu;
	char name[40];
};
static unsigned nr_pmus; /* stat_mutex */

static bool register_class(unsigned c)
{
	struct class_pmu *p = kzalloc(sizeof(*p), GFP_KERNEL);

	if (!p)
		return false;
	snprintf(p->name, sizeof(p->name), "lock-wait:%s", lock_class_name(c));
	for (char *at = p->name; *at; at++)
		if (*at == ' ' || *at == '.')
			*at = '_';
	p->pmu.name = p->name;
	p->pmu.what = "waits for locks of this class";
	p->pmu.counter = &lock_class_stats.wait[c].n;
	if (!pmu_register(&p->pmu))
		return true;
	kfree(p);
	return false;
}

void lockstat_pmus(void)
{
	mutex_lock(&stat_mutex);
	while (nr_pmus < LOCK_CLASSES - 1 && lock_class_name(nr_pmus) && register_class(nr_pmus))
		nr_pmus++;
	mutex_unlock(&stat_mutex);
}

void lockstat_init(void)
{
	for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
		(void)lock_class(known[i]);
	lockstat_pmus();
	proc_register("lockstat", 0644, show_lockstat, write_lockstat, NULL);
	mutex_lock(&stat_mutex);
	ready = true;
	apply();
	mutex_unlock(&stat_mutex);
}
