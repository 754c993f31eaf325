/* SPDX-License-Identifier: MIT */
/*
 * The files of a group's directory: formats and input rules are Linux's.
 */
#include "fs/cgroup.h"
#include "mm/stock.h"

static void show_pages(struct seq *s, int64_t pages)
{
	if (pages >= PAGE_COUNTER_MAX)
		seq_printf(s, "max\n");
	else
		seq_printf(s, "%lld\n", (long long)pages * (long long)PAGE_SIZE);
}

/*
 * A limit: "max", or bytes in base 0 with one optional suffix, rounded down to
 * pages.  As in Linux an empty text is 0, a number too large for 64 bits loses its
 * upper bits, and so does a suffix that shifts it out.
 */
static int parse_amount(const char *s, const char *max, int64_t *pages)
{
	static const char suffix[] = "kmgtpe";
	unsigned base = 10, digit;
	uint64_t v = 0;

	if (!strcmp(s, max)) {
		*pages = PAGE_COUNTER_MAX;
		return 0;
	}
	if (*s == '0') {
		char x = s[2] | 0x20;
		bool hex = (s[1] | 0x20) == 'x' &&
			   ((s[2] >= '0' && s[2] <= '9') || (x >= 'a' && x <= 'f'));

		base = hex ? 16 : 8;
		s += hex ? 2 : 0;
	}
	for (;; s++) {
		char c = *s | 0x20;

		if (*s >= '0' && *s <= '9')
			digit = *s - '0';
		else if (base == 16 && c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		else
			break;
		if (digit >= base)
			break;
		v = v * base + digit;
	}
	for (unsigned i = 0; *s && i < sizeof(suffix) - 1; i++)
		if ((*s | 0x20) == suffix[i] && (*s & 0x40)) {
			v <<= 10 * (i + 1);
			s++;
			break;
		}
	if (*s)
		return -EINVAL;
	*pages = (int64_t)(v / PAGE_SIZE);
	if (*pages > PAGE_COUNTER_MAX)
		*pages = PAGE_COUNTER_MAX;
	return 0;
}

static int parse_limit(const char *s, int64_t *pages)
{
	return parse_amount(s, "max", pages);
}

/* A whole signed number in base 0: 0, -EINVAL, -ERANGE. */
static int parse_int(const char *s, int *out)
{
	bool minus = *s == '-';
	const char *end;
	uint64_t v;
	int err;

	if (minus || *s == '+')
		s++;
	err = parse_u64(s, &end, &v);
	if (err || *end)
		return err ? err : -EINVAL;
	if (v > (uint64_t)INT_MAX + minus)
		return -ERANGE;
	*out = minus ? (int)-v : (int)v;
	return 0;
}

/* ---- cgroup.* ---- */

static void print_pid(pid_t pid, void *seq)
{
	seq_printf(seq, "%d\n", pid);
}

static int procs_show(struct seq *s, struct memcg *m)
{
	if (m->threaded)
		return -EOPNOTSUPP;
	memcg_for_each_pid(m, print_pid, s);
	return 0;
}

/* May a process go from one group to another?  As the one who opened the file, at what both are under. */
static int may_move(struct memcg *from, struct memcg *to, void *arg)
{
	struct cg_opened *o = arg;
	const struct cg_file *procs = cg_files;
	struct memcg_attr *a;

	if (!o->euid)
		return 0;
	while (from != to) {
		if (from->depth >= to->depth)
			from = from->parent;
		else
			to = to->parent;
	}
	while (strcmp(procs->name, "cgroup.procs"))
		procs++;
	a = cg_attr_find(from, cg_file_ino(from, procs));
	if (a && ((a->uid == o->euid && a->mode & 0200) || a->mode & 0002))
		return 0;
	return -EACCES;
}

static int attach(struct cg_opened *o, char *text, bool thread)
{
	int pid;

	if (parse_int(text, &pid) || pid < 0)
		return -EINVAL;
	return memcg_attach(o->node->group, pid, thread, may_move, o);
}

static int procs_write(struct cg_opened *o, char *text)
{
	return attach(o, text, false);
}

static int threads_write(struct cg_opened *o, char *text)
{
	return attach(o, text, true);
}

static int threads_show(struct seq *s, struct memcg *m)
{
	memcg_for_each_tid(m, print_pid, s);
	return 0;
}

static int controllers_show(struct seq *s, struct memcg *m)
{
	seq_printf(s, "%s\n", memcg_available(m) & MEMCG_CTL_MEMORY ? "memory" : "");
	return 0;
}

static int subtree_show(struct seq *s, struct memcg *m)
{
	seq_printf(s, "%s\n", m->control & MEMCG_CTL_MEMORY ? "memory" : "");
	return 0;
}

static int subtree_write(struct memcg *m, char *text)
{
	unsigned on = 0, off = 0;

	while (*text) {
		char *word = text;

		while (*text && *text != ' ')
			text++;
		if (*text)
			*text++ = '\0';
		if (!*word)
			continue;
		if (strcmp(word + 1, "memory"))
			return -EINVAL;
		if (*word == '+') {
			on |= MEMCG_CTL_MEMORY;
			off &= ~MEMCG_CTL_MEMORY;
		} else if (*word == '-') {
			off |= MEMCG_CTL_MEMORY;
			on &= ~MEMCG_CTL_MEMORY;
		} else {
			return -EINVAL;
		}
	}
	return memcg_control(m, on, off);
}

static int type_show(struct seq *s, struct memcg *m)
{
	mutex_lock(&memcg_mutex);
	seq_printf(s, "%s\n", memcg_type_name(m));
	mutex_unlock(&memcg_mutex);
	return 0;
}

static int type_write(struct memcg *m, char *text)
{
	return strcmp(text, "threaded") ? -EINVAL : memcg_set_threaded(m);
}

static int freeze_show(struct seq *s, struct memcg *m)
{
	seq_printf(s, "%d\n", m->freeze);
	return 0;
}

static int freeze_write(struct memcg *m, char *text)
{
	int v, err = parse_int(text, &v);

	if (err)
		return err;
	if (v != 0 && v != 1)
		return -ERANGE;
	memcg_set_freeze(m, v);
	return 0;
}

static int cgroup_events_show(struct seq *s, struct memcg *m)
{
	spin_lock(&memcg_lock);
	seq_printf(s, "populated %d\nfrozen %d\n", memcg_populated(m), m->frozen);
	spin_unlock(&memcg_lock);
	return 0;
}

static int cgroup_stat_show(struct seq *s, struct memcg *m)
{
	mutex_lock(&memcg_mutex);
	/* A removed group is gone at once: none is ever dying. */
	seq_printf(s, "nr_descendants %u\nnr_dying_descendants 0\n", m->nr_descendants);
	mutex_unlock(&memcg_mutex);
	return 0;
}

static void show_count(struct seq *s, uint32_t n)
{
	if (n == UINT32_MAX)
		seq_printf(s, "max\n");
	else
		seq_printf(s, "%u\n", n);
}

static int write_count(uint32_t *to, char *text)
{
	int v = -1, err = 0;

	if (strcmp(text, "max"))
		err = parse_int(text, &v);
	if (!err && v < 0 && strcmp(text, "max"))
		err = -ERANGE;
	if (err)
		return err;
	mutex_lock(&memcg_mutex);
	*to = v == INT_MAX ? UINT32_MAX : (uint32_t)v; /* -1: max */
	mutex_unlock(&memcg_mutex);
	return 0;
}

static int max_depth_show(struct seq *s, struct memcg *m)
{
	show_count(s, m->max_depth);
	return 0;
}

static int max_depth_write(struct memcg *m, char *text)
{
	return write_count(&m->max_depth, text);
}

static int max_descendants_show(struct seq *s, struct memcg *m)
{
	show_count(s, m->max_descendants);
	return 0;
}

static int max_descendants_write(struct memcg *m, char *text)
{
	return write_count(&m->max_descendants, text);
}

static int kill_write(struct memcg *m, char *text)
{
	int v, err = parse_int(text, &v);

	if (err)
		return err;
	if (v != 1)
		return -ERANGE;
	if (m->threaded)
		return -EOPNOTSUPP;
	memcg_kill_all(m);
	return 0;
}

/* ---- memory.* ---- */

/* The group's own account, RCU held; NULL: the controller has just been taken away. */
static struct account *own_account(struct memcg *m)
{
	return memcg_config.enabled || !m->parent ? memcg_account(m) : NULL;
}

static int64_t real_bytes(struct memcg *m)
{
	struct account *a;
	int64_t bytes = 0;

	rcu_read_lock();
	a = own_account(m);
	if (a && memcg_config.enabled)
		bytes = stock_real_usage(a);
	rcu_read_unlock();
	return bytes;
}

/* Under the Linux presets with what CPUs hold back, as there; else without. */
static int current_show(struct seq *s, struct memcg *m)
{
	struct account *a;
	int64_t pages = 0;

	rcu_read_lock();
	a = own_account(m);
	if (a && memcg_config.linux_rules)
		pages = account_usage(a);
	rcu_read_unlock();
	if (!memcg_config.linux_rules)
		pages = (real_bytes(m) + (int64_t)PAGE_SIZE - 1) / (int64_t)PAGE_SIZE;
	show_pages(s, pages);
	return 0;
}

/* Beyond Linux: without what CPUs hold back, to the byte. */
static int exact_show(struct seq *s, struct memcg *m)
{
	seq_printf(s, "%lld\n", (long long)real_bytes(m));
	return 0;
}

/* Beyond Linux: what may be charged and in use by nobody now, at most. */
static int error_show(struct seq *s, struct memcg *m)
{
	struct account *a;
	uint64_t bytes = 0;

	rcu_read_lock();
	a = own_account(m);
	if (a)
		bytes = stock_bound(a);
	rcu_read_unlock();
	seq_printf(s, "%llu\n", (unsigned long long)bytes);
	return 0;
}

static int peak_show(struct seq *s, struct memcg *m)
{
	struct account *a;
	int64_t pages = 0;

	rcu_read_lock();
	a = own_account(m);
	if (a)
		pages = memcg_config.pc->peak(account_counter(a));
	rcu_read_unlock();
	show_pages(s, pages);
	return 0;
}

#define LIMIT_FILE(name, which)                                                                    \
	static int name##_show(struct seq *s, struct memcg *m)                                     \
	{                                                                                          \
		show_pages(s, memcg_get_limit(m, which));                                          \
		return 0;                                                                          \
	}                                                                                          \
	static int name##_write(struct memcg *m, char *text)                                       \
	{                                                                                          \
		int64_t pages;                                                                     \
		int err = parse_limit(text, &pages);                                               \
                                                                                                   \
		if (err)                                                                           \
			return err;                                                                \
		if (which == PC_MAX)                                                               \
			memcg_set_max(m, pages);                                                   \
		else                                                                               \
			memcg_set_limit(m, which, pages);                                          \
		return 0;                                                                          \
	}
LIMIT_FILE(min, PC_MIN)
LIMIT_FILE(low, PC_LOW)
LIMIT_FILE(high, PC_HIGH)
LIMIT_FILE(max, PC_MAX)

static int show_events(struct seq *s, struct memcg *m, bool local)
{
	uint64_t n[NR_MEMCG_EVENTS] = { 0 };
	struct account *a;

	rcu_read_lock();
	a = own_account(m);
	for (unsigned i = 0; a && i < NR_MEMCG_EVENTS; i++)
		n[i] = atomic_load_explicit(local ? &a->events_local[i] : &a->events[i],
					    memory_order_relaxed);
	rcu_read_unlock();
	for (unsigned i = 0; i < NR_MEMCG_EVENTS; i++)
		seq_printf(s, "%s %llu\n", memcg_event_names[i], (unsigned long long)n[i]);
	return 0;
}

static int events_show(struct seq *s, struct memcg *m)
{
	return show_events(s, m, false);
}

static int events_local_show(struct seq *s, struct memcg *m)
{
	return show_events(s, m, true);
}

static int oom_group_show(struct seq *s, struct memcg *m)
{
	struct account *a;
	bool on = false;

	rcu_read_lock();
	a = own_account(m);
	if (a)
		on = atomic_load_explicit(&a->oom_group, memory_order_relaxed);
	rcu_read_unlock();
	seq_printf(s, "%d\n", on);
	return 0;
}

static int oom_group_write(struct memcg *m, char *text)
{
	struct account *a;
	int v, err = parse_int(text, &v);

	if (err)
		return err;
	if (v != 0 && v != 1)
		return -EINVAL;
	rcu_read_lock();
	a = own_account(m);
	if (a)
		atomic_store_explicit(&a->oom_group, v, memory_order_relaxed);
	rcu_read_unlock();
	return 0;
}

/* One line of memory.stat: a name and what it adds up; no kinds: Tally has nothing of the sort. */
#define K(kind) (1u << MEMCG_##kind)
#define STAT_KERNEL (K(SLAB) | K(KERNEL) | K(PGTABLE) | K(KSTACK) | K(PERCPU) | K(VMALLOC))
static const struct {
	const char *name;
	unsigned kinds;
} stat_lines[] = {
	{ "anon", K(ANON) }, { "file", K(FILE) | K(SHMEM) }, { "kernel", STAT_KERNEL },
	{ "kernel_stack", K(KSTACK) }, { "pagetables", K(PGTABLE) }, { "sec_pagetables", 0 },
	{ "percpu", K(PERCPU) }, { "sock", K(SOCK) }, { "vmalloc", K(VMALLOC) },
	{ "shmem", K(SHMEM) }, { "zswap", 0 }, { "zswapped", 0 }, { "file_mapped", 0 },
	{ "file_dirty", 0 }, { "file_writeback", 0 }, { "swapcached", 0 }, { "anon_thp", 0 },
	{ "file_thp", 0 }, { "shmem_thp", 0 }, { "inactive_anon", K(ANON) | K(SHMEM) }, { "active_anon", 0 },
	{ "inactive_file", K(FILE) }, { "active_file", 0 }, { "unevictable", 0 },
	{ "slab_reclaimable", 0 }, { "slab_unreclaimable", K(SLAB) }, { "slab", K(SLAB) },
	{ "workingset_refault_anon", 0 }, { "workingset_refault_file", 0 },
	{ "workingset_activate_anon", 0 }, { "workingset_activate_file", 0 },
	{ "workingset_restore_anon", 0 }, { "workingset_restore_file", 0 },
	{ "workingset_nodereclaim", 0 }, { "pgscan", 0 }, { "pgsteal", 0 },
	{ "pgscan_kswapd", 0 }, { "pgscan_direct", 0 }, { "pgsteal_kswapd", 0 },
	{ "pgsteal_direct", 0 },
};
#undef K

static int stat_show(struct seq *s, struct memcg *m)
{
	int64_t st[NR_MEMCG_STATS] = { 0 };
	struct account *a;

	rcu_read_lock();
	a = own_account(m);
	if (a && memcg_config.enabled)
		memcg_stat_read(a, st);
	rcu_read_unlock();
	for (unsigned i = 0; i < ARRAY_SIZE(stat_lines); i++) {
		int64_t n = 0;

		for (unsigned k = 0; k < NR_MEMCG_KINDS; k++)
			if (stat_lines[i].kinds >> k & 1)
				n += st[k];
		seq_printf(s, "%s %lld\n", stat_lines[i].name, (long long)n);
	}
	seq_printf(s, "pgfault %lld\npgmajfault %lld\n",
		   (long long)st[NR_MEMCG_KINDS + MEMCG_PGFAULT],
		   (long long)st[NR_MEMCG_KINDS + MEMCG_PGMAJFAULT]);
	/* What does not happen here. */
	seq_printf(s, "pgrefill 0\npgactivate 0\npgdeactivate 0\npglazyfree 0\npglazyfreed 0\n"
		      "zswpin 0\nzswpout 0\nthp_fault_alloc 0\nthp_collapse_alloc 0\n");
	return 0;
}

/* The kinds of memory that belong to a node; there is one. */
static int numa_show(struct seq *s, struct memcg *m)
{
	static const char *const not_here[] = { "kernel", "percpu", "sock", "vmalloc", "zswap",
						"zswapped", "slab", "pgscan" };
	int64_t st[NR_MEMCG_STATS] = { 0 };
	struct account *a;

	rcu_read_lock();
	a = own_account(m);
	if (a && memcg_config.enabled)
		memcg_stat_read(a, st);
	rcu_read_unlock();
	for (unsigned i = 0; i < ARRAY_SIZE(stat_lines); i++) {
		int64_t n = 0;
		bool skip = false;

		for (unsigned k = 0; k < ARRAY_SIZE(not_here); k++)
			skip |= !strcmp(stat_lines[i].name, not_here[k]);
		if (skip)
			continue;
		for (unsigned k = 0; k < NR_MEMCG_KINDS; k++)
			if (stat_lines[i].kinds >> k & 1)
				n += st[k];
		seq_printf(s, "%s N0=%lld\n", stat_lines[i].name, (long long)n);
		if (!strcmp(stat_lines[i].name, "workingset_nodereclaim"))
			break;
	}
	return 0;
}

/* As much as asked, or -EAGAIN after sixteen rounds without progress. */
static int reclaim_write(struct memcg *m, char *text)
{
	unsigned rounds = 16;
	int64_t pages, done = 0;
	int err = parse_amount(text, "", &pages); /* nothing: all there is */

	if (err)
		return err;
	while (done < pages) {
		uint64_t n = memcg_reclaim_group(m, (uint64_t)(pages - done));

		if (memcg_dying())
			return -EINTR;
		done += (int64_t)n;
		if (!n && !rounds--)
			return -EAGAIN;
	}
	return 0;
}

/* Time lost to a lack of memory is not measured; nobody loses any but by dying. */
static int pressure_show(struct seq *s, struct memcg *m)
{
	seq_printf(s, "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
		      "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	return 0;
}

static const char *read_us(const char *s, uint64_t *us)
{
	const char *from = s;

	for (*us = 0; *s >= '0' && *s <= '9'; s++)
		*us = min(*us * 10 + (uint64_t)(*s - '0'), (uint64_t)UINT32_MAX);
	return s == from ? NULL : s;
}

/* A trigger, "some|full STALL_US WINDOW_US": checked; it never fires. */
static int pressure_write(struct memcg *m, char *text)
{
	uint64_t stall, window;
	const char *s = text;

	if (strncmp(s, "some ", 5) && strncmp(s, "full ", 5))
		return -EINVAL;
	for (s += 5; *s == ' '; s++)
		;
	s = read_us(s, &stall);
	if (!s || *s != ' ')
		return -EINVAL;
	for (; *s == ' '; s++)
		;
	if (!read_us(s, &window))
		return -EINVAL;
	if (window < 500000 || window > 10000000 || !stall || stall > window)
		return -EINVAL;
	return 0;
}

static int zero_show(struct seq *s, struct memcg *m)
{
	seq_printf(s, "0\n");
	return 0;
}

/* Swap files as on a machine without swap: limits are remembered and never met. */
static int swap_show(struct seq *s, struct memcg *m, unsigned which)
{
	struct account *a;
	int64_t pages = PAGE_COUNTER_MAX;

	rcu_read_lock();
	a = own_account(m);
	if (a)
		pages = PAGE_COUNTER_MAX -
			atomic_load_explicit(&a->swap_below_max[which], memory_order_relaxed);
	rcu_read_unlock();
	show_pages(s, pages);
	return 0;
}

static int swap_write(struct memcg *m, char *text, unsigned which)
{
	struct account *a;
	int64_t pages;
	int err = parse_limit(text, &pages);

	if (err)
		return err;
	rcu_read_lock();
	a = own_account(m);
	if (a)
		atomic_store_explicit(&a->swap_below_max[which], PAGE_COUNTER_MAX - pages,
				      memory_order_relaxed);
	rcu_read_unlock();
	return 0;
}

static int swap_max_show(struct seq *s, struct memcg *m)
{
	return swap_show(s, m, 0);
}

static int swap_max_write(struct memcg *m, char *text)
{
	return swap_write(m, text, 0);
}

static int swap_high_show(struct seq *s, struct memcg *m)
{
	return swap_show(s, m, 1);
}

static int swap_high_write(struct memcg *m, char *text)
{
	return swap_write(m, text, 1);
}

static int swap_events_show(struct seq *s, struct memcg *m)
{
	seq_printf(s, "high 0\nmax 0\nfail 0\n");
	return 0;
}

const struct cg_file cg_files[] = {
	{ .name = "cgroup.controllers", .mode = 0444, .show = controllers_show },
	{ "cgroup.events", 0444, CG_NOT_ROOT | CG_EVENTS, cgroup_events_show, NULL, NULL },
	{ "cgroup.freeze", 0644, CG_NOT_ROOT, freeze_show, freeze_write, NULL },
	{ "cgroup.kill", 0200, CG_NOT_ROOT, NULL, kill_write, NULL },
	{ "cgroup.max.depth", 0644, 0, max_depth_show, max_depth_write, NULL },
	{ "cgroup.max.descendants", 0644, 0, max_descendants_show, max_descendants_write, NULL },
	{ "cgroup.procs", 0644, 0, procs_show, NULL, procs_write },
	{ "cgroup.stat", 0444, 0, cgroup_stat_show, NULL, NULL },
	{ "cgroup.subtree_control", 0644, 0, subtree_show, subtree_write, NULL },
	{ "cgroup.threads", 0644, 0, threads_show, NULL, threads_write },
	{ "cgroup.type", 0644, CG_NOT_ROOT, type_show, type_write, NULL },
	{ "memory.current", 0444, CG_NOT_ROOT | CG_MEMORY, current_show, NULL, NULL },
	{ "memory.current.exact", 0444, CG_NOT_ROOT | CG_MEMORY, exact_show, NULL, NULL },
	{ "memory.error", 0444, CG_NOT_ROOT | CG_MEMORY, error_show, NULL, NULL },
	{ "memory.events", 0444, CG_NOT_ROOT | CG_MEMORY | CG_EVENTS, events_show, NULL, NULL },
	{ "memory.events.local", 0444, CG_NOT_ROOT | CG_MEMORY | CG_EVENTS, events_local_show, NULL, NULL },
	{ "memory.high", 0644, CG_NOT_ROOT | CG_MEMORY, high_show, high_write, NULL },
	{ "memory.low", 0644, CG_NOT_ROOT | CG_MEMORY, low_show, low_write, NULL },
	{ "memory.max", 0644, CG_NOT_ROOT | CG_MEMORY, max_show, max_write, NULL },
	{ "memory.min", 0644, CG_NOT_ROOT | CG_MEMORY, min_show, min_write, NULL },
	{ "memory.numa_stat", 0444, CG_MEMORY, numa_show, NULL, NULL },
	{ "memory.oom.group", 0644, CG_NOT_ROOT | CG_MEMORY, oom_group_show, oom_group_write, NULL },
	{ "memory.peak", 0444, CG_NOT_ROOT | CG_MEMORY, peak_show, NULL, NULL },
	{ "memory.pressure", 0644, CG_PRESSURE | CG_RAW, pressure_show, pressure_write, NULL },
	{ "memory.reclaim", 0200, CG_MEMORY, NULL, reclaim_write, NULL },
	{ "memory.stat", 0444, CG_MEMORY, stat_show, NULL, NULL },
	{ "memory.swap.current", 0444, CG_NOT_ROOT | CG_MEMORY, zero_show, NULL, NULL },
	{ "memory.swap.events", 0444, CG_NOT_ROOT | CG_MEMORY, swap_events_show, NULL, NULL },
	{ "memory.swap.high", 0644, CG_NOT_ROOT | CG_MEMORY, swap_high_show, swap_high_write, NULL },
	{ "memory.swap.max", 0644, CG_NOT_ROOT | CG_MEMORY, swap_max_show, swap_max_write, NULL },
};
const unsigned nr_cg_files = ARRAY_SIZE(cg_files);
