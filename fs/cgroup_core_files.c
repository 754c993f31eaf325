/* SPDX-License-Identifier: MIT */
/*
 * cgroup.*: where processes are, which controllers children have, types, freezing,
 * killing, limits of the tree.  Formats and input rules are Linux's.
 */
#include "fs/cgroup.h"

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

static bool may_write_procs(struct memcg *m, uint32_t euid)
{
	struct memcg_attr *a = cg_attr_find(m, cg_file_ino(m, &cg_core_files[CG_PROCS]));

	return a && ((a->uid == euid && a->mode & 0200) || a->mode & 0002);
}

/* May a process go from one group to another?  As who opened the file, where both are under. */
static int may_move(struct memcg *from, struct memcg *to, void *arg)
{
	struct cg_opened *o = arg;
	struct memcg *source = from, *target = to;

	while (from != to) {
		if (from->depth >= to->depth)
			from = from->parent;
		else
			to = to->parent;
	}
	if (o->euid && !may_write_procs(from, o->euid))
		return -EACCES;
	if (cg_option(CG_OPT_NSDELEGATE) &&
	    (!cgroup_is_below(source, o->ns) || !cgroup_is_below(target, o->ns)))
		return -ENOENT;
	return 0;
}

static int attach(struct cg_opened *o, char *text, bool thread)
{
	int pid;

	if (cg_parse_int(text, &pid) || pid < 0)
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
	int v, err = cg_parse_int(text, &v);

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
		err = cg_parse_int(text, &v);
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
	int v, err = cg_parse_int(text, &v);

	if (err)
		return err;
	if (v != 1)
		return -ERANGE;
	if (m->threaded)
		return -EOPNOTSUPP;
	memcg_kill_all(m);
	return 0;
}

static int pressure_show(struct seq *s, struct memcg *m)
{
	seq_printf(s, "%d\n", !atomic_load_explicit(&m->no_pressure, memory_order_relaxed));
	return 0;
}

static int pressure_write(struct memcg *m, char *text)
{
	int v, err = cg_parse_int(text, &v);

	if (err)
		return err;
	if (v != 0 && v != 1)
		return -ERANGE;
	atomic_store_explicit(&m->no_pressure, !v, memory_order_relaxed);
	return 0;
}

const struct cg_file cg_core_files[] = {
	[CG_PROCS] = { .name = "cgroup.procs", .mode = 0644, .flags = CG_DELEGATED,
	  .show = procs_show, .write_as = procs_write },
	{ .name = "cgroup.controllers", .mode = 0444,
	  .show = controllers_show },
	{ .name = "cgroup.events", .mode = 0444, .flags = CG_NOT_ROOT | CG_NOTIFIES(CGROUP),
	  .show = cgroup_events_show },
	{ .name = "cgroup.freeze", .mode = 0644, .flags = CG_NOT_ROOT,
	  .show = freeze_show, .write = freeze_write },
	{ .name = "cgroup.kill", .mode = 0200, .flags = CG_NOT_ROOT,
	  .write = kill_write },
	{ .name = "cgroup.max.depth", .mode = 0644,
	  .show = max_depth_show, .write = max_depth_write },
	{ .name = "cgroup.max.descendants", .mode = 0644,
	  .show = max_descendants_show, .write = max_descendants_write },
	{ .name = "cgroup.pressure", .mode = 0644,
	  .show = pressure_show, .write = pressure_write },
	{ .name = "cgroup.stat", .mode = 0444,
	  .show = cgroup_stat_show },
	{ .name = "cgroup.subtree_control", .mode = 0644, .flags = CG_DELEGATED,
	  .show = subtree_show, .write = subtree_write },
	{ .name = "cgroup.threads", .mode = 0644, .flags = CG_DELEGATED,
	  .show = threads_show, .write_as = threads_write },
	{ .name = "cgroup.type", .mode = 0644, .flags = CG_NOT_ROOT,
	  .show = type_show, .write = type_write },
};
const unsigned nr_cg_core_files = ARRAY_SIZE(cg_core_files);
