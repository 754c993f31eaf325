/* SPDX-License-Identifier: MIT */
/*
 * The options of cgroup2 mounts.  There is one tree, so they hold for all mounts; the
 * last mount or remount from outside of a name space decides.
 *
 * favordynmods asks Linux to make moving processes cheap at the cost of fork() and
 * exit(); here moving costs the same either way, so it is only shown.
 */
#include "fs/cgroup.h"
#include "mm/reclaim.h"

static _Atomic unsigned options; /* CG_OPT_* */

/* In the order in which /proc/mounts shows them. */
static const struct {
	const char *name;
	unsigned bit;
} names[] = {
	{ "nsdelegate", CG_OPT_NSDELEGATE },
	{ "favordynmods", CG_OPT_FAVORDYNMODS },
	{ "memory_localevents", CG_OPT_LOCALEVENTS },
	{ "memory_recursiveprot", CG_OPT_RECURSIVEPROT },
};

bool cg_option(unsigned bit)
{
	return atomic_load_explicit(&options, memory_order_relaxed) & bit;
}

int cg_options_set(const char *data)
{
	struct memcg *seen;
	unsigned wanted = 0;

	while (data && *data) {
		size_t len = 0, i = 0;

		while (data[len] && data[len] != ',')
			len++;
		while (len && i < ARRAY_SIZE(names) &&
		       (strlen(names[i].name) != len || strncmp(names[i].name, data, len)))
			i++;
		if (i == ARRAY_SIZE(names))
			return -EINVAL;
		if (len)
			wanted |= names[i].bit;
		data += data[len] ? len + 1 : len;
	}
	seen = cgroup_ns_root(current->process);
	memcg_put(seen);
	if (seen != memcg_root)
		return 0; /* from inside a name space they are read and have no effect */
	atomic_store_explicit(&options, wanted, memory_order_relaxed);
	atomic_store_explicit(&protection_recursive, wanted & CG_OPT_RECURSIVEPROT,
			      memory_order_relaxed);
	atomic_store_explicit(&memcg_local_events, wanted & CG_OPT_LOCALEVENTS,
			      memory_order_relaxed);
	return 0;
}

void cg_options_show(const struct super *s, struct seq *out)
{
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (cg_option(names[i].bit))
			seq_printf(out, ",%s", names[i].name);
}
