/* SPDX-License-Identifier: MIT */
/*
 * The netperf recipe on the simulator: pairs of a sender and a receiver, each on a
 * CPU of its own, and the real accounting code of a preset.
 *
 * Modelled: a message of 10 KiB costs each side a fixed time of other work, moved at
 * random by 10 %.  Its six pages are charged on the sender's CPU and given back on the
 * receiver's, three at a time (the sender's and the receiver's socket), so the stock
 * of one side runs out and that of the other runs over.  A receiver cannot be further
 * than a window behind.
 * Not modelled: everything else that two CPUs share in a network stack.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/log.h"
#include "mm/memcg_tree.h"
#include "mm/slab.h"
#include "mm/stock.h"
#include "tests/sim/lib/workload.h"

#define WINDOW    16 /* messages in flight between a sender and its receiver */
#define MAX_PAIRS 512
#define WARM_UP   3  /* the first one in so many messages fills stocks and caches */

static struct setup now;
static struct owner *pair_owner[MAX_PAIRS];
static uint64_t sent[MAX_PAIRS], received[MAX_PAIRS];
static uint64_t pair_starts[MAX_PAIRS], pair_ends[MAX_PAIRS];
static uint64_t owed[MAX_PAIRS];      /* messages charged by a pair and not given back */
static unsigned warm;                 /* pairs that are measured by now */
static uint64_t counted;              /* messages received since all of them are */
static struct { uint64_t walks, charged; } before;

/*
 * The two sockets of a pair.  Tally's keep credit between calls, and that is part of
 * what is simulated; their own fields cost nothing here, since a socket of the root
 * group moves between the same CPUs.  Linux's (since its sockets keep less than a page,
 * 2022) ask for each page of a message and give each back: that is the pattern of
 * pages_per_charge, which tally can be given, too (by_page).
 */
static struct pair_sockets {
	struct sock_mem mem[2]; /* sender's, receiver's */
	bool locked;
} sockets[MAX_PAIRS];

static struct memcg *make_group(struct memcg *parent, const char *name, bool inner)
{
	struct memcg *m = memcg_create(parent, name);

	if (IS_ERR(m) || (inner && memcg_control(m, MEMCG_CTL_MEMORY, 0))) {
		fprintf(stderr, "sim: no group %s\n", name);
		exit(1);
	}
	return m;
}

static const struct sim_field entry_fields[] = {
	{ "word", offsetof(struct stock_entry, word) }, { "cap", offsetof(struct stock_entry, cap) },
	{ "delta", offsetof(struct stock_entry, delta) },
};
static const struct sim_field cpu_fields[] = {
	{ "fast", 0 }, { "limbo", offsetof(struct stock_cpu, limbo) },
	{ "limbo_pages", offsetof(struct stock_cpu, limbo_pages) },
	{ "fold_seq", offsetof(struct stock_cpu, fold_seq) },
	{ "counters", offsetof(struct stock_cpu, counters) },
};
static const struct sim_field account_fields[] = {
	{ "stat", offsetof(struct account, stat) }, { "events", offsetof(struct account, events) },
	{ "holders", offsetof(struct account, holders) },
	{ "exact_lock", offsetof(struct account, exact_lock) },
	{ "pressure", offsetof(struct account, pressure) },
	{ "depth", offsetof(struct account, depth) }, { "owner", offsetof(struct account, owner) },
	{ "parent", offsetof(struct account, parent) },
};
static const struct sim_field owner_fields[] = {
	{ "account", offsetof(struct owner, account) }, { "parent", offsetof(struct owner, parent) },
	{ "refs", offsetof(struct owner, refs) }, { "bytes", offsetof(struct owner, bytes) },
	{ "remainder", offsetof(struct owner, remainder) }, { "users", offsetof(struct owner, users) },
};

static void label_account(struct account *a, const char *name)
{
	static char text[64];
	const struct page_counter_field *f = memcg_config.pc->fields;
	static struct sim_field fields[2][20];
	struct sim_field *to = fields[memcg_config.pc == &page_counter_split];
	unsigned n = 0;

	for (; f[n].name; n++)
		to[n] = (struct sim_field){ f[n].name, f[n].offset };
	snprintf(text, sizeof(text), "counter[%s]", name);
	sim_label(account_counter(a), memcg_config.pc->size, text, to, n);
	snprintf(text, sizeof(text), "account[%s]", name);
	sim_label(a, memcg_config.counter_offset, text, account_fields, ARRAY_SIZE(account_fields));
	snprintf(text, sizeof(text), "owner[%s]", name);
	if (a->owner != &root_owner)
		sim_label(a->owner, sizeof(struct owner), text, owner_fields, ARRAY_SIZE(owner_fields));
}

static void build(void)
{
	static char names[8][2] = { "a", "b", "c", "d", "e", "f", "g", "h" };
	struct memcg *m = memcg_root, *top = NULL;
	char name[16];

	memcg_config_preset(now.preset);
	for (unsigned i = 0; now.options[i]; i += 2)
		if (memcg_config_set(now.options[i], now.options[i + 1])) {
			fprintf(stderr, "sim: bad option %s=%s\n", now.options[i], now.options[i + 1]);
			exit(2);
		}
	memcg_init();
	label_account(root_account, "root");
	memcg_control(memcg_root, MEMCG_CTL_MEMORY, 0);
	m = memcg_root;
	for (unsigned i = 0; i < now.levels; i++) {
		bool last = i + 1 == now.levels;

		if (last && now.groups == 0)
			break;
		m = make_group(m, names[i], !last);
		label_account(memcg_account(m), names[i]);
		if (!i)
			top = m;
	}
	for (unsigned i = 0; i < now.pairs; i++) {
		if (now.groups == 0) {
			struct memcg *leaf;

			snprintf(name, sizeof(name), "c%u", i + 1);
			leaf = make_group(m, name, false);
			label_account(memcg_account(leaf), "c*");
			pair_owner[i] = leaf->owner;
		} else {
			pair_owner[i] = m->owner;
		}
		memcg_user_get(pair_owner[i]);
		for (unsigned k = 0; k < 2 && !now.in_root; k++)
			sock_mem_init(&sockets[i].mem[k], pair_owner[i]);
	}
	if (top) {
		/* As in the published runs: protection on the top group. */
		memcg_set_limit(top, PC_MIN, 200 * 1024 / 4096);
		memcg_set_limit(top, PC_LOW, 400 * 1024 / 4096);
	}
	for_each_cpu(c) {
		struct stock_table *t = per_cpu(stock_cpu, c).table;

		sim_label(t->owners, sizeof(t->owners), "stock.owners", NULL, 0);
		for (unsigned i = 0; i < STOCK_ENTRIES; i++)
			sim_label(&t->entries[i], sizeof(t->entries[i]), "stock_entry", entry_fields,
				  ARRAY_SIZE(entry_fields));
	}
	sim_label_percpu(&stock_cpu, sizeof(stock_cpu), "stock_cpu", cpu_fields,
			 ARRAY_SIZE(cpu_fields));
}

/* Does a message go through the sockets' credit (net/sock_mem.c), or page by page? */
static bool with_credit(void)
{
	return !memcg_config.linux_rules && !now.by_page;
}

static void lock_sockets(struct pair_sockets *p)
{
	while (p->locked)
		sim_yield();
	p->locked = true;
}

static void charge_message(unsigned pair)
{
	uint64_t bytes = now.machine->pages_per_message * PAGE_SIZE / 2;
	unsigned step = now.machine->pages_per_charge;
	struct pair_sockets *p = &sockets[pair];

	if (now.in_root)
		return;
	if (with_credit()) {
		lock_sockets(p);
		if (sock_mem_charge(&p->mem[0], bytes, CHARGE_NOSLEEP) ||
		    sock_mem_charge(&p->mem[1], bytes, CHARGE_NOSLEEP))
			panic("sim: charge refused");
		p->locked = false;
		return;
	}
	for (unsigned k = 0; k < now.machine->pages_per_message; k += step)
		if (memcg_charge(pair_owner[pair], step, MEMCG_SOCK, CHARGE_NOSLEEP))
			panic("sim: charge refused");
}

static void give_back_message(unsigned pair)
{
	uint64_t bytes = now.machine->pages_per_message * PAGE_SIZE / 2;
	unsigned step = now.machine->pages_per_charge;
	struct pair_sockets *p = &sockets[pair];

	if (now.in_root)
		return;
	if (with_credit()) {
		lock_sockets(p);
		sock_mem_uncharge(&p->mem[0], bytes);
		sock_mem_uncharge(&p->mem[1], bytes);
		p->locked = false;
		return;
	}
	for (unsigned k = 0; k < now.machine->pages_per_message; k += step)
		memcg_uncharge(pair_owner[pair], step, MEMCG_SOCK);
}

static uint64_t jitter(uint64_t *rnd)
{
	double u = (double)(sim_random(rnd) >> 11) / 9007199254740992.0;

	return (uint64_t)(now.work_ns * (0.9 + 0.2 * u));
}

static uint64_t walks(void)
{
	return stock_counter(SC_walks) + stock_counter(SC_uncharge_walks);
}

/* The sums look at every CPU's counters: not an event of the CPU that happens to ask. */
static void start_counting(void)
{
	struct sim_cpu *me = sim_cur;

	sim_cur = NULL;
	before.walks = walks();
	before.charged = stock_counter(SC_charged_pages);
	sim_cur = me;
	sim_count(true);
}

/* Whose message this receiver's CPU gives back: its own pair's, or (mix) a neighbour's. */
static unsigned handled_here(unsigned pair, uint64_t *rnd)
{
	if (now.mix_percent && sim_random(rnd) % 100 < now.mix_percent) {
		unsigned other = (pair + 1 + (unsigned)(sim_random(rnd) % MIX_PAIRS)) % now.pairs;

		if (owed[other])
			return other;
	}
	for (unsigned i = 0; i < now.pairs && !owed[pair]; i++)
		pair = (pair + 1) % now.pairs;
	return pair;
}

static void send_all(unsigned pair, uint64_t *rnd)
{
	for (unsigned i = 0; i < now.messages; i++) {
		while (sent[pair] - received[pair] >= WINDOW)
			sim_yield();
		sim_work(jitter(rnd));
		charge_message(pair);
		owed[pair]++;
		sent[pair]++;
	}
}

static void receive_all(unsigned pair, uint64_t *rnd)
{
	for (unsigned i = 0; i < now.messages; i++) {
		unsigned from;

		if (i == now.messages / WARM_UP) {
			pair_starts[pair] = sim_now();
			if (++warm == now.pairs)
				start_counting();
		}
		while (sent[pair] == received[pair])
			sim_yield();
		sim_work(jitter(rnd));
		from = handled_here(pair, rnd);
		owed[from]--;
		give_back_message(from);
		received[pair]++;
		counted += warm == now.pairs;
	}
	pair_ends[pair] = sim_now();
}

/*
 * Pairs on neighbours, spread over the cores while there are enough, then on their
 * siblings, too.  The sender has the even CPU.
 */
static void cpu_body(unsigned cpu)
{
	unsigned places = now.machine->cpus / now.machine->threads_per_core / 2;
	uint64_t rnd = sim_cpus[cpu].rnd;

	for (unsigned pair = 0; pair < now.pairs; pair++) {
		unsigned place = now.pairs <= places ? pair * places / now.pairs : pair;

		if (place != cpu / 2)
			continue;
		if (cpu % 2)
			receive_all(pair, &rnd);
		else
			send_all(pair, &rnd);
	}
}

struct result simulate(const struct setup *s)
{
	struct result r = { 0 };
	double per;

	now = *s;
	memset(sent, 0, sizeof(sent));
	memset(received, 0, sizeof(received));
	memset(owed, 0, sizeof(owed));
	memset(sockets, 0, sizeof(sockets));
	warm = 0;
	counted = 0;
	sim_reset(s->machine->cpus, SIM_COST, s->machine, s->seed);
	build();
	sim_run(cpu_body);
	sim_count(false);
	for (unsigned i = 0; i < s->pairs; i++)
		r.mbps += (s->messages - s->messages / WARM_UP) * MESSAGE_BYTES * 8e3 /
			  (double)(pair_ends[i] - pair_starts[i]) / s->pairs;
	per = counted ? (double)counted : 1;
	r.messages = per;
	r.transfers = (double)sim_transfers() / per;
	r.walks = (double)(walks() - before.walks) / per;
	r.charges = (double)(stock_counter(SC_charged_pages) - before.charged) / per;
	return r;
}
