/* SPDX-License-Identifier: MIT */
/*
 * QEMU TCG plugin: which cache lines of the kernel move between CPUs.
 *
 * Arguments: symbols=FILE, out=FILE (lib/symbols.h), top=N (lines reported, 80).
 * Between the guest's marks (kernel/mark.c) every load and store that kernel
 * code makes to kernel memory goes through a model of who holds a line: one
 * writer, or any number of readers.  An access that needs the line from another
 * CPU is a transfer.  For every interval one JSON line: mark, accesses,
 * transfers, and the lines that moved most, each with its eight words and the
 * functions that touched it.
 *
 * The model has no size and no time: a line stays with its CPU until another
 * wants it.  Virtual CPUs take turns on few host cores, so far fewer accesses
 * meet than on a real machine; which words of which line meet is the same.
 *
 * Locks: one per set of lines, held for a few dozen instructions.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/plugin/lib/qemu.h"
#include "tools/plugin/lib/symbols.h"

EXPORT int qemu_plugin_version = 1;

/* Device registers (arch/x86_64/machine.h): no cache holds them. */
#define MMIO_START  0xfffffe0000000000ULL
#define MMIO_END    0xffffffff80000000ULL
#define LINE	    64
#define WORDS	    (LINE / 8)
#define MOST_CPUS   1024
#define FUNCTIONS   12 /* per line; further ones are one */
#define SETS	    (1u << 16)
#define WAYS	    8

/* ---- lines ---- */

struct touch {
	uint32_t symbol; /* SYM_USER: free, as no program is watched */
	uint32_t reads, writes, transfers;
};

/* Legend: all under the set's lock. */
struct line {
	uint64_t addr;		       /* 0: free */
	int writer;		       /* CPU that holds it for writing, or -1 */
	uint64_t holders[MOST_CPUS / 64]; /* CPUs that hold it */
	uint64_t cpus[MOST_CPUS / 64]; /* that touched it at all */
	uint64_t reads, writes, read_transfers, write_transfers;
	struct {
		uint32_t reads, writes, transfers;
	} word[WORDS];
	struct touch by[FUNCTIONS + 1]; /* the last: all others */
};

struct set {
	atomic_flag lock;
	struct line *ways[WAYS];
};

static struct set *sets;
static _Atomic uint64_t dropped; /* accesses to lines for which there was no room */
static _Atomic int active = -1;
static unsigned top = 80;
static FILE *out;

static struct line *line_get(struct set *s, uint64_t addr)
{
	for (unsigned i = 0; i < WAYS; i++) {
		if (!s->ways[i]) {
			s->ways[i] = calloc(1, sizeof(struct line));
			if (!s->ways[i])
				return NULL;
			s->ways[i]->addr = addr;
			s->ways[i]->writer = -1;
		}
		if (s->ways[i]->addr == addr)
			return s->ways[i];
	}
	return NULL;
}

static bool held_by_others(const struct line *l, unsigned cpu)
{
	for (unsigned w = 0; w < MOST_CPUS / 64; w++)
		if (l->holders[w] & ~(w == cpu / 64 ? 1ULL << (cpu % 64) : 0))
			return true;
	return false;
}

/* Moves the line as the access needs it.  true: it came from another CPU. */
static bool model(struct line *l, unsigned cpu, bool store)
{
	uint64_t *mine = &l->holders[cpu / 64], bit = 1ULL << (cpu % 64);
	bool moved;

	if (store) {
		moved = l->writer != (int)cpu && held_by_others(l, cpu);
		if (l->writer != (int)cpu) {
			memset(l->holders, 0, sizeof(l->holders));
			*mine = bit;
			l->writer = (int)cpu;
		}
		l->write_transfers += moved;
	} else {
		moved = !(*mine & bit) && l->writer >= 0;
		if (moved)
			l->writer = -1; /* it goes on as a reader */
		*mine |= bit;
		l->read_transfers += moved;
	}
	return moved;
}

static struct touch *touch_of(struct line *l, uint32_t symbol)
{
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		if (!l->by[i].symbol)
			l->by[i].symbol = symbol;
		if (l->by[i].symbol == symbol)
			return &l->by[i];
	}
	return &l->by[FUNCTIONS];
}

/* @arg: index of the function */
static void on_access(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t addr, void *arg)
{
	bool store = qemu_plugin_mem_is_store(info), moved;
	uint64_t at = addr & ~(uint64_t)(LINE - 1);
	unsigned word = addr / 8 % WORDS;
	struct touch *t;
	struct line *l;
	struct set *s;

	if (atomic_load_explicit(&active, memory_order_relaxed) < 0 || addr < KERNEL_HALF ||
	    (addr >= MMIO_START && addr < MMIO_END) || cpu >= MOST_CPUS)
		return;
	s = &sets[(at / LINE ^ at / LINE / SETS) % SETS];
	while (atomic_flag_test_and_set_explicit(&s->lock, memory_order_acquire))
		;
	l = line_get(s, at);
	if (l) {
		moved = model(l, cpu, store);
		l->cpus[cpu / 64] |= 1ULL << (cpu % 64);
		t = touch_of(l, (uint32_t)(uintptr_t)arg);
		if (store)
			l->writes++, l->word[word].writes++, t->writes++;
		else
			l->reads++, l->word[word].reads++, t->reads++;
		l->word[word].transfers += moved;
		t->transfers += moved;
	}
	atomic_flag_clear_explicit(&s->lock, memory_order_release);
	if (!l)
		atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
}

/* ---- intervals ---- */

static uint64_t moves(const struct line *l)
{
	return l->read_transfers + l->write_transfers;
}

static int by_moves(const void *a, const void *b)
{
	uint64_t x = moves(*(struct line *const *)a), y = moves(*(struct line *const *)b);

	return x < y ? 1 : x > y ? -1 : 0;
}

static void put_line(const struct line *l)
{
	const char *comma = "";
	unsigned cpus = 0;

	for (unsigned w = 0; w < MOST_CPUS / 64; w++)
		cpus += (unsigned)__builtin_popcountll(l->cpus[w]);
	fprintf(out,
		"{\"address\": \"%llx\", \"cpus\": %u, \"reads\": %llu, \"writes\": %llu, "
		"\"read_transfers\": %llu, \"write_transfers\": %llu, \"words\": [",
		(unsigned long long)l->addr, cpus, (unsigned long long)l->reads,
		(unsigned long long)l->writes, (unsigned long long)l->read_transfers,
		(unsigned long long)l->write_transfers);
	for (unsigned w = 0; w < WORDS; w++)
		fprintf(out, "%s[%u, %u, %u]", w ? ", " : "", l->word[w].reads, l->word[w].writes,
			l->word[w].transfers);
	fprintf(out, "], \"functions\": [");
	for (unsigned i = 0; i <= FUNCTIONS; i++) {
		const struct touch *t = &l->by[i];

		if (!t->reads && !t->writes)
			continue;
		fprintf(out, "%s[\"%s\", %u, %u, %u]", comma,
			t->symbol != SYM_USER ? symbols[t->symbol].name : "(others)", t->reads, t->writes,
			t->transfers);
		comma = ", ";
	}
	fprintf(out, "]}");
}

static void finish(int mark)
{
	struct line **moved = NULL;
	size_t n = 0, room = 0;
	uint64_t accesses = 0, transfers = 0;

	for (unsigned i = 0; i < SETS; i++) {
		for (unsigned k = 0; k < WAYS && sets[i].ways[k]; k++) {
			struct line *l = sets[i].ways[k];

			accesses += l->reads + l->writes;
			transfers += moves(l);
			if (!moves(l))
				continue;
			if (n == room) {
				void *more = realloc(moved, (room = room * 2 + 1024) * sizeof(*moved));

				if (!more)
					break;
				moved = more;
			}
			moved[n++] = l;
		}
	}
	if (n)
		qsort(moved, n, sizeof(*moved), by_moves);
	fprintf(out,
		"{\"mark\": %d, \"accesses\": %llu, \"transfers\": %llu, \"dropped\": %llu, "
		"\"moved_lines\": %zu, \"lines\": [",
		mark, (unsigned long long)accesses, (unsigned long long)transfers,
		(unsigned long long)atomic_load(&dropped), n);
	for (size_t i = 0; i < n && i < top; i++) {
		fprintf(out, i ? ", " : "");
		put_line(moved[i]);
	}
	fprintf(out, "]}\n");
	fflush(out);
	free(moved);
}

/* Nobody counts now; a late access finds its set as it is. */
static void forget(void)
{
	for (unsigned i = 0; i < SETS; i++) {
		while (atomic_flag_test_and_set_explicit(&sets[i].lock, memory_order_acquire))
			;
		for (unsigned k = 0; k < WAYS; k++) {
			free(sets[i].ways[k]);
			sets[i].ways[k] = NULL;
		}
		atomic_flag_clear_explicit(&sets[i].lock, memory_order_release);
	}
	atomic_store(&dropped, 0);
}

static void on_mark(unsigned cpu, void *arg)
{
	int mark = (int)(intptr_t)arg, before = atomic_exchange(&active, -1);

	(void)cpu;
	if (before >= 0) {
		finish(before);
		forget();
	}
	if (mark != MARK_END)
		atomic_store(&active, mark);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb);

	(void)id;
	for (size_t i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t addr = qemu_plugin_insn_vaddr(insn);
		size_t s;

		if (addr < KERNEL_HALF)
			return; /* a program's memory is its own affair */
		s = symbol_at(addr);
		if (is_mark(s, addr))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, QEMU_PLUGIN_CB_NO_REGS,
							       (void *)(intptr_t)symbols[s].mark);
		qemu_plugin_register_vcpu_mem_cb(insn, on_access, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW,
						 (void *)(uintptr_t)s);
	}
}

static void at_exit(qemu_plugin_id_t id, void *arg)
{
	int before = atomic_exchange(&active, -1);

	(void)id;
	(void)arg;
	if (before >= 0)
		finish(before);
	fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "top=", 4))
			top = (unsigned)atoi(argv[i] + 4);
	if (plugin_open("cachelines", argc, argv, &out) < 0)
		return 1;
	sets = calloc(SETS, sizeof(*sets));
	if (!sets) {
		fprintf(stderr, "cachelines: no memory\n");
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
