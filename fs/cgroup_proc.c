/* SPDX-License-Identifier: MIT */
/* /proc/tally: what accounting says about itself, one "key value" per line. */
#include "fs/cgroup.h"
#include "mm/memcg_walk.h"
#include "mm/reclaim.h"
#include "mm/stock.h"

static int counters_show(struct seq *s, void *arg)
{
	for (unsigned i = 0; i < NR_STOCK_COUNTERS; i++)
		seq_printf(s, "%s %llu\n", stock_counter_names[i],
			   (unsigned long long)stock_counter(i));
	seq_printf(s, "owners %lld\n",
		   (long long)atomic_load_explicit(&owners_alive, memory_order_relaxed));
	return 0;
}

static int layout_show(struct seq *s, void *arg)
{
	seq_printf(s, "preset %s\nlayout %s\ncounter_bytes %zu\ngroup_bytes %zu\n",
		   memcg_preset_name(), memcg_config.pc->name,
		   memcg_config.pc->size, memcg_config.counter_offset + memcg_config.pc->size);
	return 0;
}

static int reclaim_show(struct seq *s, void *arg)
{
	seq_printf(s, "reclaim_rounds %llu\nwalk_lookups %llu\n",
		   (unsigned long long)reclaim_rounds(), (unsigned long long)memcg_lookup_count());
	return 0;
}

/* Who holds how much, per CPU: cpu, group, bytes held, most it may hold. */
static int stocks_show(struct seq *s, void *arg)
{
	char path[128];

	for_each_cpu(c) {
		struct stock_table *t = per_cpu(stock_cpu, c).table;

		for (unsigned i = 0; t && i < STOCK_ENTRIES; i++) {
			struct owner *o;
			uint64_t w;

			rcu_read_lock();
			o = atomic_load_explicit(&t->owners[i], memory_order_acquire);
			w = atomic_load_explicit(&t->entries[i].word, memory_order_relaxed);
			if (o && !(w & WORD_CLOSED)) {
				memcg_path_of(owner_account(o)->group, path, sizeof(path));
				seq_printf(s, "%u %s %llu %u\n", c, path,
					   (unsigned long long)(w & WORD_AMOUNT),
					   stock_cap(&t->entries[i]));
			}
			rcu_read_unlock();
		}
	}
	return 0;
}

void cgroup_proc_init(void)
{
	static const struct {
		const char *path;
		text_show_t show;
	} files[] = {
		{ "tally/memcg_counters", counters_show },
		{ "tally/memcg_layout", layout_show },
		{ "tally/reclaim", reclaim_show },
		{ "tally/stocks", stocks_show },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(files); i++)
		if (proc_register(files[i].path, 0444, files[i].show, NULL, NULL))
			pr_err("cgroup: no memory for /proc/%s", files[i].path);
	pressure_proc_init();
}
