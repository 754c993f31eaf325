/* SPDX-License-Identifier: MIT */
/*
 * memory.*: what a group uses, its limits, its events.  Formats and input rules are
 * Linux's; memory.current.exact and memory.error are beyond it.
 */
#include "fs/cgroup.h"
#include "mm/stock.h"

static int64_t real_bytes(struct memcg *m)
{
	struct account *a;
	int64_t bytes = 0;

	rcu_read_lock();
	a = cg_own_account(m);
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
	a = cg_own_account(m);
	if (a && memcg_config.linux_rules)
		pages = account_usage(a);
	rcu_read_unlock();
	if (!memcg_config.linux_rules)
		pages = (real_bytes(m) + (int64_t)PAGE_SIZE - 1) / (int64_t)PAGE_SIZE;
	cg_show_pages(s, pages);
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
	a = cg_own_account(m);
	if (a)
		bytes = stock_bound(a);
	rcu_read_unlock();
	seq_printf(s, "%llu\n", (unsigned long long)bytes);
	return 0;
}

/*
 * A limit below what is used: the writer brings usage down, and for max kills if that
 * does not help, unless it opened the file with O_NONBLOCK.
 */
static int limit_write(struct cg_opened *o, char *text, enum page_counter_limit which)
{
	bool nonblock = atomic_load_explicit(&o->file->flags, memory_order_relaxed) & O_NONBLOCK;
	struct memcg *m = o->node->group;
	int64_t pages;
	int err = cg_parse_limit(text, &pages);

	if (err)
		return err;
	if (which == PC_MAX && !nonblock)
		memcg_set_max(m, pages);
	else if (which == PC_HIGH && !nonblock)
		memcg_set_high(m, pages);
	else
		memcg_set_limit(m, which, pages);
	return 0;
}

#define LIMIT_FILE(name, which)                                                                    \
	static int name##_show(struct seq *s, struct memcg *m)                                     \
	{                                                                                          \
		cg_show_pages(s, memcg_get_limit(m, which));                                       \
		return 0;                                                                          \
	}                                                                                          \
	static int name##_write(struct cg_opened *o, char *text)                                   \
	{                                                                                          \
		return limit_write(o, text, which);                                                \
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
	a = cg_own_account(m);
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
	a = cg_own_account(m);
	if (a)
		on = atomic_load_explicit(&a->oom_group, memory_order_relaxed);
	rcu_read_unlock();
	seq_printf(s, "%d\n", on);
	return 0;
}

static int oom_group_write(struct memcg *m, char *text)
{
	struct account *a;
	int v, err = cg_parse_int(text, &v);

	if (err)
		return err;
	if (v != 0 && v != 1)
		return -EINVAL;
	rcu_read_lock();
	a = cg_own_account(m);
	if (a)
		atomic_store_explicit(&a->oom_group, v, memory_order_relaxed);
	rcu_read_unlock();
	return 0;
}

/* "SIZE [swappiness=0..200|max]": there is no swap that the second could steer. */
static int parse_reclaim(char *text, int64_t *pages)
{
	char *word = strchr(text, ' ');

	if (word)
		*word++ = '\0';
	while (word && *word) {
		char *next = strchr(word, ' ');
		const char *end;
		uint64_t v;

		if (next)
			*next++ = '\0';
		if (*word) {
			if (strncmp(word, "swappiness=", 11))
				return -EINVAL;
			word += 11;
			if (strcmp(word, "max") && (parse_u64(word, &end, &v) || *end || v > 200))
				return -EINVAL;
		}
		word = next;
	}
	return cg_parse_amount(text, "", pages); /* nothing: all there is */
}

/* As much as asked, or -EAGAIN after sixteen rounds without progress. */
static int reclaim_write(struct memcg *m, char *text)
{
	unsigned rounds = 16;
	int64_t pages, done = 0;
	int err = parse_reclaim(text, &pages);

	if (err)
		return err;
	while (done < pages) {
		uint64_t n = memcg_reclaim_group(m, (uint64_t)(pages - done));

		if (signal_pending(current))
			return -EINTR;
		done += (int64_t)n;
		if (!n && !rounds--)
			return -EAGAIN;
	}
	return 0;
}

const struct cg_file cg_memory_files[] = {
	{ .name = "memory.current", .mode = 0444, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show = current_show },
	{ .name = "memory.current.exact", .mode = 0444, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show = exact_show },
	{ .name = "memory.error", .mode = 0444, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show = error_show },
	{ .name = "memory.events", .mode = 0444,
	  .flags = CG_NOT_ROOT | CG_MEMORY | CG_NOTIFIES(EVENTS), .show = events_show },
	{ .name = "memory.events.local", .mode = 0444,
	  .flags = CG_NOT_ROOT | CG_MEMORY | CG_NOTIFIES(EVENTS_LOCAL), .show = events_local_show },
	{ .name = "memory.high", .mode = 0644, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show = high_show, .write_as = high_write },
	{ .name = "memory.low", .mode = 0644, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show = low_show, .write_as = low_write },
	{ .name = "memory.max", .mode = 0644, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show = max_show, .write_as = max_write },
	{ .name = "memory.min", .mode = 0644, .flags = CG_NOT_ROOT | CG_MEMORY,
	  .show = min_show, .write_as = min_write },
	{ .name = "memory.oom.group", .mode = 0644, .flags = CG_NOT_ROOT | CG_MEMORY | CG_DELEGATED,
	  .show = oom_group_show, .write = oom_group_write },
	{ .name = "memory.reclaim", .mode = 0200, .flags = CG_MEMORY | CG_DELEGATED,
	  .write = reclaim_write },
};
const unsigned nr_cg_memory_files = ARRAY_SIZE(cg_memory_files);
