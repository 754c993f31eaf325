/* SPDX-License-Identifier: MIT */
/*
 * Which accounting this boot does: the presets and the parameters that override
 * single parts of them.
 */
#include "mm/memcg_internal.h"
#include "mm/stock.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/string.h"

struct memcg_config memcg_config;
bool memcg_sock_total;

struct preset {
	const char *name;
	unsigned batch; /* 0: adaptive */
	bool direct;
	bool packed;
	bool xchg;
	unsigned slots; /* 0: any number */
	bool root;
	bool linux_rules;
	bool sock_total;
};

static const struct preset presets[] = {
	{ .name = "tally" },
	{ .name = "off" },
	{ "linux-4.13", 32, true, true, true, 1, true, true, true },
	{ "linux-6.0", 32, false, true, true, 1, true, true, false },
	{ "linux-6.1", 64, false, false, false, 1, true, true, false },
	{ "linux-6.16", 64, false, false, false, 7, true, true, false },
};
static const char *const preset_names[] = { "tally",     "off",       "linux-4.13", "linux-6.0",
					    "linux-6.1", "linux-6.16", NULL };
static const char *const walk_names[] = { "rcu", "spin", "rwlock", NULL }; /* enum memcg_walk_lock */

#define BATCH_LIMIT 65536 /* pages; an entry may hold twice as many (STOCK_AMOUNT_MAX) */

/* What the command line said; -1: nothing, the preset decides. */
static int preset_index;
static struct {
	int batch, direct, packed, xchg, slots, root, walk;
} said = { -1, -1, -1, -1, -1, -1, -1 };
static bool settled; /* memcg_init() has run: a write takes effect at once */

static void apply_runtime(void)
{
	const struct preset *p = &presets[preset_index];

	atomic_store_explicit(&memcg_config.batch,
			      said.batch >= 0 ? (unsigned)said.batch : p->batch,
			      memory_order_relaxed);
	atomic_store_explicit(&memcg_config.direct, said.direct >= 0 ? said.direct : p->direct,
			      memory_order_relaxed);
	atomic_store_explicit(&page_counter_protect_xchg, said.xchg >= 0 ? said.xchg : p->xchg,
			      memory_order_relaxed);
	atomic_store_explicit(&memcg_config.walk, said.walk >= 0 ? said.walk : WALK_RCU,
			      memory_order_relaxed);
}

static int word_of(const char *value, const char *const *names)
{
	for (int i = 0; names[i]; i++)
		if (!strcmp(value, names[i]))
			return i;
	return -EINVAL;
}

static int set_number(int *to, const char *value, uint64_t least, uint64_t most)
{
	const char *end;
	uint64_t v;
	int err = parse_u64(value, &end, &v);

	if (err || *end)
		return err ? err : -EINVAL;
	if (v < least || v > most)
		return -ERANGE;
	*to = (int)v;
	return 0;
}

static int set_word(int *to, const char *value, const char *const *names)
{
	int i = word_of(value, names);

	if (i < 0)
		return i;
	*to = i;
	return 0;
}

static const char *const uncharge_names[] = { "stock", "direct", NULL };
static const char *const layout_names[] = { "split", "packed", NULL };
static const char *const protect_names[] = { "read", "xchg", NULL };

static int param_store(const struct param *p, const char *value)
{
	return memcg_config_set(p->name, value);
}

int memcg_config_set(const char *name, const char *value)
{
	int err;

	if (!strcmp(name, "memcg"))
		err = set_word(&preset_index, value, preset_names);
	else if (!strcmp(name, "memcg.batch") && !strcmp(value, "adaptive"))
		err = said.batch = 0;
	else if (!strcmp(name, "memcg.batch"))
		err = set_number(&said.batch, value, 1, BATCH_LIMIT);
	else if (!strcmp(name, "memcg.uncharge"))
		err = set_word(&said.direct, value, uncharge_names);
	else if (!strcmp(name, "memcg.layout"))
		err = set_word(&said.packed, value, layout_names);
	else if (!strcmp(name, "memcg.protect"))
		err = set_word(&said.xchg, value, protect_names);
	else if (!strcmp(name, "memcg.slots"))
		err = set_number(&said.slots, value, 0, 8);
	else if (!strcmp(name, "memcg.walk"))
		err = set_word(&said.walk, value, walk_names);
	else if (!strcmp(name, "memcg.root"))
		err = set_number(&said.root, value, 0, 1);
	else
		err = -ENOENT;
	if (!err && settled)
		apply_runtime();
	return err;
}

static int param_show(const struct param *p, char *buf, size_t n)
{
	unsigned batch = atomic_load_explicit(&memcg_config.batch, memory_order_relaxed);
	const char *name = p->name, *s;

	if (!strcmp(name, "memcg"))
		s = preset_names[preset_index];
	else if (!strcmp(name, "memcg.batch") && batch)
		return scnprintf(buf, n, "%u", batch);
	else if (!strcmp(name, "memcg.batch"))
		s = "adaptive";
	else if (!strcmp(name, "memcg.uncharge"))
		s = uncharge_names[atomic_load_explicit(&memcg_config.direct, memory_order_relaxed)];
	else if (!strcmp(name, "memcg.layout"))
		s = memcg_config.pc ? memcg_config.pc->name : "split";
	else if (!strcmp(name, "memcg.protect"))
		s = protect_names[atomic_load_explicit(&page_counter_protect_xchg,
						       memory_order_relaxed)];
	else if (!strcmp(name, "memcg.slots"))
		return scnprintf(buf, n, "%u", memcg_config.slots);
	else if (!strcmp(name, "memcg.walk"))
		s = walk_names[atomic_load_explicit(&memcg_config.walk, memory_order_relaxed)];
	else
		s = memcg_config.root ? "1" : "0";
	return scnprintf(buf, n, "%s", s);
}

PARAM_CUSTOM("memcg", param_store, param_show, PARAM_RO,
	     "accounting preset: tally, off, linux-4.13, linux-6.0, linux-6.1, linux-6.16");
PARAM_CUSTOM("memcg.batch", param_store, param_show, PARAM_RW,
	     "pages per walk over the counters: adaptive, or 1 to 65536");
PARAM_CUSTOM("memcg.uncharge", param_store, param_show, PARAM_RW,
	     "uncharge into the CPU's stock, or direct to the counters");
PARAM_CUSTOM("memcg.layout", param_store, param_show, PARAM_RO,
	     "page counter: packed (112 bytes) or split (usage on its own cache line)");
PARAM_CUSTOM("memcg.protect", param_store, param_show, PARAM_RW,
	     "protected usage: xchg on every charge, or read first");
PARAM_CUSTOM("memcg.slots", param_store, param_show, PARAM_RO,
	     "groups that may hold charge on a CPU: 1 to 8, 0 for any number");
PARAM_CUSTOM("memcg.walk", param_store, param_show, PARAM_RW,
	     "lock around each look-up by id of the reclaim walk: rcu (none), spin, rwlock");
PARAM_CUSTOM("memcg.root", param_store, param_show, PARAM_RO,
	     "1: top-level groups charge the root's counter, too");

void memcg_config_init(void)
{
	const struct preset *p = &presets[preset_index];
	bool packed = said.packed >= 0 ? said.packed : p->packed;
	size_t at = ACCOUNT_END; /* what follows in the struct is padding */

	memcg_config.preset = p->name;
	memcg_config.enabled = strcmp(p->name, "off") != 0;
	memcg_config.pc = packed ? &page_counter_packed : &page_counter_split;
	memcg_config.counter_offset = ALIGN_UP(at, memcg_config.pc->align);
	memcg_config.slots = said.slots >= 0 ? (unsigned)said.slots : p->slots;
	memcg_config.root = memcg_config.enabled && (said.root >= 0 ? said.root : p->root);
	memcg_config.linux_rules = p->linux_rules;
	memcg_sock_total = p->sock_total;
	settled = true;
	apply_runtime();
	pr_info("memcg: preset %s, layout %s (counter %zu bytes, group %zu), slots %u, root %d",
		p->name, memcg_config.pc->name, memcg_config.pc->size,
		memcg_config.counter_offset + memcg_config.pc->size, memcg_config.slots,
		memcg_config.root);
}

void memcg_config_preset(const char *name)
{
	memset(&said, 0xff, sizeof(said));
	settled = false;
	if (set_word(&preset_index, name, preset_names))
		panic("memcg: no preset \"%s\"", name);
}
