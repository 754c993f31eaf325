/* SPDX-License-Identifier: MIT */
/*
 * procfs: the text files of a process, /proc/PID/… .  Source: proc(5).
 */
#include "fs/cgroup.h"
#include "fs/proc.h"
#include "kernel/syscall.h"
#include "kernel/tty.h"
#include "mm/vm.h"

#define USER_HZ 100
#define NS_PER_TICK (NSEC_PER_SEC / USER_HZ)

static struct process *proc_of(void *node)
{
	return ((struct proc_node *)node)->process;
}

/* Address-space figures; all zero once the process has ended. */
static void figures(struct process *p, struct vm_figures *v)
{
	struct vm_space *s = process_space_get(p);

	memset(v, 0, sizeof(*v));
	if (s) {
		vm_figures(s, v);
		vm_put(s);
	}
}

struct tree_info {
	pid_t ppid, pgid, sid, tpgid;
	int threads;
	uint64_t tty, cutime, cstime;
	uint64_t switches;
};

static bool sum_switches(struct thread *t, void *arg)
{
	*(uint64_t *)arg += atomic_load_explicit(&t->nr_switches, memory_order_relaxed);
	return false;
}

static void tree_info(struct process *p, struct tree_info *out)
{
	struct tty *t;

	memset(out, 0, sizeof(*out));
	out->tpgid = -1;
	spin_lock(&process_lock);
	out->ppid = p->parent ? p->parent->pid : 0;
	out->pgid = p->pgid;
	out->sid = p->sid;
	out->threads = p->nr_threads;
	out->cutime = p->children_user_ns;
	out->cstime = p->children_system_ns;
	t = p->tty;
	spin_unlock(&process_lock);
	if (t) {
		out->tty = tty_rdev(t);
		out->tpgid = tty_foreground(t);
	}
	process_for_each_thread(p, sum_switches, &out->switches);
}

/* The thread that a node below task/ stands for; referenced or NULL. */
static struct thread *node_thread(struct proc_node *n)
{
	struct thread *t = thread_find_get(n->tid ? n->tid : n->process->pid);

	if (t && t->process != n->process) {
		thread_put(t);
		return NULL;
	}
	return t;
}

static void node_times(struct proc_node *n, uint64_t *user, uint64_t *sys)
{
	struct thread *t = n->tid ? node_thread(n) : NULL;
	uint64_t run;

	if (!n->tid) {
		process_times(n->process, user, sys);
		return;
	}
	*user = *sys = 0;
	if (t) {
		run = atomic_load_explicit(&t->run_ns, memory_order_relaxed);
		*user = min(run, atomic_load_explicit(&t->user_ns, memory_order_relaxed));
		*sys = run - *user;
		thread_put(t);
	}
}

static unsigned node_cpu(struct proc_node *n)
{
	struct thread *t = node_thread(n);
	unsigned cpu = 0;

	if (t) {
		cpu = atomic_load_explicit(&t->cpu, memory_order_relaxed);
		thread_put(t);
	}
	return cpu;
}

static int stat_show(struct seq *s, void *arg)
{
	struct proc_node *n = arg;
	struct process *p = n->process;
	struct tree_info ti;
	struct vm_figures v;
	uint64_t ut, st;

	tree_info(p, &ti);
	figures(p, &v);
	node_times(n, &ut, &st);
	seq_printf(s, "%d (%s) %c %d %d %d %lu %d 0 %lu 0 %lu 0 ", n->tid ? n->tid : p->pid, p->name,
		   process_state_letter(p), ti.ppid, ti.pgid, ti.sid, (unsigned long)ti.tty,
		   ti.tpgid, (unsigned long)atomic_load_explicit(&p->minflt, memory_order_relaxed),
		   (unsigned long)atomic_load_explicit(&p->majflt, memory_order_relaxed));
	/* utime … num_threads, itrealvalue, starttime, vsize, rss, rsslim */
	seq_printf(s, "%lu %lu %lu %lu %d %d %d 0 %lu %lu %lu %lu ", (unsigned long)(ut / NS_PER_TICK),
		   (unsigned long)(st / NS_PER_TICK), (unsigned long)(ti.cutime / NS_PER_TICK),
		   (unsigned long)(ti.cstime / NS_PER_TICK), 20 + p->nice, p->nice, ti.threads,
		   (unsigned long)(p->start_ns / NS_PER_TICK), (unsigned long)(v.total * PAGE_SIZE),
		   (unsigned long)(v.anon + v.file), (unsigned long)p->rlimits[RLIMIT_RSS][0]);
	/* addresses (hidden), signals, wchan, swaps, exit_signal, processor, … exit_code */
	seq_printf(s, "0 0 0 0 0 0 0 0 0 0 0 0 %d %u 0 0 0 0 0 0 0 0 0 0 0 0 %d\n", p->exit_signal,
		   node_cpu(n),
		   atomic_load_explicit(&p->state, memory_order_relaxed) >= PROCESS_ZOMBIE
			   ? p->exit_code
			   : 0);
	return 0;
}

static int statm_show(struct seq *s, void *arg)
{
	struct vm_figures v;

	figures(proc_of(arg), &v);
	seq_printf(s, "%lu %lu %lu %lu 0 %lu 0\n", (unsigned long)v.total,
		   (unsigned long)(v.anon + v.file), (unsigned long)v.file, (unsigned long)v.text,
		   (unsigned long)(v.data + v.stack));
	return 0;
}

static const char *state_word(char c)
{
	switch (c) {
	case 'R':
		return "R (running)";
	case 'D':
		return "D (disk sleep)";
	case 'T':
		return "T (stopped)";
	case 'Z':
		return "Z (zombie)";
	case 'X':
		return "X (dead)";
	default:
		return "S (sleeping)";
	}
}

static void cpus_allowed(struct seq *s, struct proc_node *n)
{
	struct thread *t = node_thread(n);
	bool any = false;

	seq_printf(s, "Cpus_allowed:\t");
	for (unsigned w = DIV_ROUND_UP(nr_cpus, 32u); w-- > 0;) {
		uint64_t m = t ? t->affinity[w / 2] >> (w % 2 * 32) : 0;

		if (nr_cpus < (w + 1) * 32)
			m &= (1ULL << (nr_cpus - w * 32)) - 1;
		seq_printf(s, w ? "%08x," : "%08x\n", (unsigned)m);
	}
	seq_printf(s, "Cpus_allowed_list:\t");
	for (unsigned c = 0; t && c < nr_cpus; c++) {
		unsigned from = c;

		while (c < nr_cpus && (t->affinity[c / 64] >> (c % 64) & 1))
			c++;
		if (c == from)
			continue;
		seq_printf(s, c - from > 1 ? "%s%u-%u" : "%s%u", any ? "," : "", from, c - 1);
		any = true;
	}
	seq_printf(s, "\n");
	if (t)
		thread_put(t);
}

static int status_show(struct seq *s, void *arg)
{
	struct proc_node *n = arg;
	struct process *p = n->process;
	struct files *ft = process_files_get(p);
	struct tree_info ti;
	struct vm_figures v;
	struct signal_masks sm;

	tree_info(p, &ti);
	figures(p, &v);
	seq_printf(s, "Name:\t%s\nState:\t%s\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\n", p->name,
		   state_word(process_state_letter(p)), p->pid, n->tid ? n->tid : p->pid, ti.ppid);
	seq_printf(s, "TracerPid:\t0\nUid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nFDSize:\t%u\n",
		   p->uid, p->euid, p->suid, p->euid, p->gid, p->egid, p->sgid, p->egid,
		   ft ? files_size(ft) : 0);
	files_put(ft);
	seq_printf(s, "Groups:\t");
	for (unsigned k = 0; k < min(p->nr_groups, (unsigned)NR_GROUPS); k++)
		seq_printf(s, "%u ", p->groups[k]);
	seq_printf(s, "\n");
#define KB(pages) ((unsigned long)(pages) * 4)
	if (v.total) {
		seq_printf(s, "VmPeak:\t%8lu kB\nVmSize:\t%8lu kB\nVmLck:\t%8lu kB\n", KB(v.total),
			   KB(v.total), KB(v.locked));
		seq_printf(s, "VmHWM:\t%8lu kB\nVmRSS:\t%8lu kB\n", KB(v.anon + v.file),
			   KB(v.anon + v.file));
		seq_printf(s, "RssAnon:\t%8lu kB\nRssFile:\t%8lu kB\nRssShmem:\t%8lu kB\n",
			   KB(v.anon), KB(v.file), 0UL);
		seq_printf(s, "VmData:\t%8lu kB\nVmStk:\t%8lu kB\nVmExe:\t%8lu kB\n", KB(v.data),
			   KB(v.stack), KB(v.text));
		seq_printf(s, "VmLib:\t%8lu kB\nVmPTE:\t%8lu kB\nVmSwap:\t%8lu kB\n", 0UL,
			   KB(v.pagetables), 0UL);
	}
	seq_printf(s, "Threads:\t%d\n", ti.threads);
	signal_masks(p, &sm);
	seq_printf(s, "SigQ:\t%lu/%lu\nSigPnd:\t%016lx\nShdPnd:\t%016lx\nSigBlk:\t%016lx\n",
		   (unsigned long)sm.queued, (unsigned long)p->rlimits[RLIMIT_SIGPENDING][0],
		   (unsigned long)sm.pending, (unsigned long)sm.shared_pending,
		   (unsigned long)sm.blocked);
	seq_printf(s, "SigIgn:\t%016lx\nSigCgt:\t%016lx\n", (unsigned long)sm.ignored,
		   (unsigned long)sm.caught);
	cpus_allowed(s, n);
	seq_printf(s, "voluntary_ctxt_switches:\t%lu\nnonvoluntary_ctxt_switches:\t0\n",
		   (unsigned long)ti.switches);
	return 0;
}

static int cmdline_show(struct seq *s, void *arg)
{
	s->len += process_cmdline(proc_of(arg), s->buf, s->size);
	/* All of the room taken: there may be more. */
	s->overflow = s->len == s->size;
	return 0;
}

static int comm_show(struct seq *s, void *arg)
{
	seq_printf(s, "%s\n", proc_of(arg)->name);
	return 0;
}

static ssize_t comm_write(const char *text, size_t n, void *arg)
{
	struct process *p = proc_of(arg);
	size_t k = 0;

	while (k < sizeof(p->name) - 1 && text[k] && text[k] != '\n') {
		p->name[k] = text[k];
		k++;
	}
	p->name[k] = '\0';
	return (ssize_t)n;
}

static int maps_show(struct seq *s, void *arg)
{
	struct vm_space *sp = process_space_get(proc_of(arg));
	struct vm_area_info *a;
	uintptr_t at = 0;

	if (!sp)
		return 0;
	a = kmalloc(sizeof(*a), GFP_KERNEL);
	while (a && vm_next_area(sp, at, a)) {
		seq_printf(s, "%08lx-%08lx %c%c%c%c %08lx %02x:%02x %lu %*s%s\n",
			   (unsigned long)a->start, (unsigned long)a->end,
			   (a->flags & VM_READ) ? 'r' : '-', (a->flags & VM_WRITE) ? 'w' : '-',
			   (a->flags & VM_EXEC) ? 'x' : '-', (a->flags & VM_SHARED) ? 's' : 'p',
			   (unsigned long)a->off, (unsigned)(a->dev >> 8), (unsigned)(a->dev & 0xff),
			   (unsigned long)a->ino, a->name[0] ? 20 : 0, "", a->name);
		at = a->end;
	}
	kfree(a);
	vm_put(sp);
	return 0;
}

static int cgroup_show(struct seq *s, void *arg)
{
	struct memcg *root, *m;
	char *b = name_buffer();

	if (!b)
		return -ENOMEM;
	root = cgroup_ns_root(current->process);
	m = memcg_get_of(proc_of(arg), ((struct proc_node *)arg)->tid);
	if (cgroup_path_from(root, m, b, PATH_MAX_BYTES) < 0)
		str_copy(b, "/", PATH_MAX_BYTES);
	memcg_put(m);
	memcg_put(root);
	seq_printf(s, "0::%s\n", b);
	putname(b);
	return 0;
}

static int oom_adj_show(struct seq *s, void *arg)
{
	seq_printf(s, "%d\n",
		   atomic_load_explicit(&proc_of(arg)->oom_score_adj, memory_order_relaxed));
	return 0;
}

static ssize_t oom_adj_write(const char *text, size_t n, void *arg)
{
	struct process *p = proc_of(arg);
	bool neg;
	uint64_t v;
	int new;

	while (*text == ' ' || *text == '\t')
		text++;
	neg = *text == '-';
	if (parse_u64(text + neg, &text, &v))
		return -EINVAL;
	while (*text == '\n' || *text == ' ')
		text++;
	if (*text || v > 1000)
		return -EINVAL;
	new = neg ? -(int)v : (int)v;
	if (new < atomic_load_explicit(&p->oom_score_adj, memory_order_relaxed) && !capable())
		return -EACCES;
	atomic_store_explicit(&p->oom_score_adj, new, memory_order_relaxed);
	return (ssize_t)n;
}

/* Share of memory in thousandths, plus the adjustment, as the killer weighs it. */
static int oom_score_show(struct seq *s, void *arg)
{
	struct process *p = proc_of(arg);
	struct page_stats ps;
	struct vm_figures v;
	int64_t score;

	page_stats(&ps);
	figures(p, &v);
	score = (int64_t)((v.anon + v.pagetables) * 1000 / max(ps.total, (uint64_t)1)) +
		atomic_load_explicit(&p->oom_score_adj, memory_order_relaxed);
	seq_printf(s, "%ld\n", (long)max(score, (int64_t)0));
	return 0;
}

static void show_options(struct seq *s, const struct super *super)
{
	if (super->show_options)
		super->show_options(super, s);
	else if (*super->options)
		seq_printf(s, ",%s", super->options);
}

static void mount_line(const struct super *s, const char *path, void *arg)
{
	seq_printf(arg, "%s %s %s %s%s%s%s%s", s->source, path, s->type->name,
		   (s->mount_flags & MS_RDONLY) ? "ro" : "rw",
		   (s->mount_flags & MS_NOSUID) ? ",nosuid" : "",
		   (s->mount_flags & MS_NODEV) ? ",nodev" : "",
		   (s->mount_flags & MS_NOEXEC) ? ",noexec" : "",
		   (s->mount_flags & MS_NOATIME) ? ",noatime" : ",relatime");
	show_options(arg, s);
	seq_printf(arg, " 0 0\n");
}

static int mounts_show(struct seq *s, void *arg)
{
	mounts_for_each(mount_line, s);
	return 0;
}

static void mountinfo_line(const struct super *s, const char *path, void *arg)
{
	seq_printf(arg, "%lu %lu %lu:%lu / %s %s - %s %s %s", (unsigned long)s->dev + 20,
		   s == root_super ? 1UL : (unsigned long)root_super->dev + 20,
		   (unsigned long)s->dev >> 8, (unsigned long)s->dev & 0xff, path,
		   (s->mount_flags & MS_RDONLY) ? "ro" : "rw", s->type->name, s->source,
		   (s->mount_flags & MS_RDONLY) ? "ro" : "rw");
	show_options(arg, s);
	seq_printf(arg, "\n");
}

static int mountinfo_show(struct seq *s, void *arg)
{
	mounts_for_each(mountinfo_line, s);
	return 0;
}

static const char *const limit_names[NR_RLIMITS] = {
	"Max cpu time", "Max file size", "Max data size", "Max stack size", "Max core file size",
	"Max resident set", "Max processes", "Max open files", "Max locked memory",
	"Max address space", "Max file locks", "Max pending signals", "Max msgqueue size",
	"Max nice priority", "Max realtime priority", "Max realtime timeout",
};
static const char *const limit_units[NR_RLIMITS] = {
	"seconds", "bytes", "bytes", "bytes", "bytes", "bytes", "processes", "files", "bytes",
	"bytes", "locks", "signals", "bytes", "", "", "us",
};

static void limit_value(struct seq *s, uint64_t v)
{
	char b[24];

	if (v == RLIM_INFINITY)
		str_copy(b, "unlimited", sizeof(b));
	else
		snprintf(b, sizeof(b), "%lu", (unsigned long)v);
	seq_printf(s, "%-20s ", b);
}

static int limits_show(struct seq *s, void *arg)
{
	struct process *p = proc_of(arg);

	seq_printf(s, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
	for (unsigned k = 0; k < NR_RLIMITS; k++) {
		seq_printf(s, "%-25s ", limit_names[k]);
		limit_value(s, p->rlimits[k][0]);
		limit_value(s, p->rlimits[k][1]);
		seq_printf(s, "%-10s\n", limit_units[k]);
	}
	return 0;
}

static int empty_show(struct seq *s, void *arg)
{
	return 0;
}

static int loginuid_show(struct seq *s, void *arg)
{
	seq_printf(s, "4294967295");
	return 0;
}

int fdinfo_show(struct seq *s, void *arg)
{
	struct proc_node *n = arg;
	struct files *t = process_files_get(n->process);
	struct file *f = t ? files_get_file(t, n->fd) : NULL;

	files_put(t);
	if (!f)
		return -ENOENT;
	seq_printf(s, "pos:\t%lld\nflags:\t0%o\nmnt_id:\t%lu\nino:\t%lu\n",
		   (long long)((f->mode & FMODE_STREAM) ? 0 : f->pos),
		   atomic_load_explicit(&f->flags, memory_order_relaxed),
		   f->inode ? (unsigned long)f->inode->super->dev + 20 : 0UL,
		   f->inode ? (unsigned long)f->inode->ino : 0UL);
	fput(f);
	return 0;
}

const struct proc_pid_file proc_pid_files[] = {
	{ "stat", 0444, stat_show, NULL },
	{ "status", 0444, status_show, NULL },
	{ "statm", 0444, statm_show, NULL },
	{ "cmdline", 0444, cmdline_show, NULL },
	{ "comm", 0644, comm_show, comm_write },
	{ "maps", 0444, maps_show, NULL },
	{ "cgroup", 0444, cgroup_show, NULL },
	{ "oom_score_adj", 0644, oom_adj_show, oom_adj_write },
	{ "oom_score", 0444, oom_score_show, NULL },
	{ "mounts", 0444, mounts_show, NULL },
	{ "mountinfo", 0444, mountinfo_show, NULL },
	{ "limits", 0444, limits_show, NULL },
	{ "environ", 0400, empty_show, NULL },
	{ "wchan", 0444, empty_show, NULL },
	{ "loginuid", 0644, loginuid_show, NULL },
};
const unsigned nr_proc_pid_files = ARRAY_SIZE(proc_pid_files);
