/* SPDX-License-Identifier: MIT */
/*
 * QEMU TCG plugin: counts guest instructions between marks and shares them out
 * by symbol.
 *
 * Arguments: symbols=FILE (lines "ADDRESS SIZE NAME", hexadecimal, ascending)
 * and out=FILE.  The guest marks by calling tally_mark_0..7 and tally_mark_end
 * (kernel/mark.c); executing their first instruction is the mark.  For every
 * interval one JSON line: mark, total, by_symbol, by_cpu; user mode is one symbol
 * "(user)".  Marks do not nest: a new one ends the one before.
 *
 * Cost: one call per translated block, which adds to an array of its virtual
 * CPU; no atomic read-modify-write, no shared line.  A block that an exception
 * leaves early is counted whole.  The figures of other CPUs are read while they
 * run: an interval is right to within one block per CPU.
 *
 * The declarations are those of QEMU's plugin interface, version 1 (QEMU 6.0
 * and later; checked with 7.2).
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS, QEMU_PLUGIN_CB_RW_REGS };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, void (*cb)(unsigned, void *),
					  enum qemu_plugin_cb_flags flags, void *arg);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned, void *),
					    enum qemu_plugin_cb_flags flags, void *arg);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t, void *),
				    void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

#define MAX_VCPUS   1024
#define KERNEL_HALF 0xffff800000000000ULL
#define MARKS	    8
#define MARK_END    MARKS

/* Symbol 0 is user mode, 1 the kernel outside of any known function. */
struct symbol {
	uint64_t start, end;
	char *name;
	int mark; /* 0..7, MARK_END, or -1 */
};
enum { SYM_USER, SYM_UNKNOWN, SYM_FIRST };

static struct symbol *symbols;
static size_t nr_symbols;
static uint64_t *_Atomic counters[MAX_VCPUS]; /* [vcpu][symbol]; written by that vCPU only */
static uint64_t *base;			      /* sums when the interval began, by symbol... */
static uint64_t base_cpu[MAX_VCPUS];	      /* ...and by vCPU */
static _Atomic int active = -1;		      /* mark of the interval, -1: none */
static FILE *out;

static uint64_t *counters_of(unsigned vcpu)
{
	uint64_t *c = atomic_load_explicit(&counters[vcpu], memory_order_acquire);

	if (!c) {
		c = calloc(nr_symbols, sizeof(*c));
		if (!c)
			abort();
		atomic_store_explicit(&counters[vcpu], c, memory_order_release);
	}
	return c;
}

/* @arg: symbol << 16 | instructions */
static void on_block(unsigned vcpu, void *arg)
{
	uintptr_t v = (uintptr_t)arg;

	if (atomic_load_explicit(&active, memory_order_relaxed) >= 0 && vcpu < MAX_VCPUS)
		counters_of(vcpu)[v >> 16] += v & 0xffff;
}

static uint64_t sum(size_t symbol)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < MAX_VCPUS; i++) {
		uint64_t *c = atomic_load_explicit(&counters[i], memory_order_acquire);

		if (c)
			total += *(volatile uint64_t *)&c[symbol];
	}
	return total;
}

static uint64_t sum_cpu(unsigned vcpu)
{
	uint64_t *c = atomic_load_explicit(&counters[vcpu], memory_order_acquire);
	uint64_t total = 0;

	for (size_t s = 0; c && s < nr_symbols; s++)
		total += *(volatile uint64_t *)&c[s];
	return total;
}

static void print_cpus(void)
{
	const char *comma = "";

	fprintf(out, "\"by_cpu\": {");
	for (unsigned i = 0; i < MAX_VCPUS; i++) {
		uint64_t n = sum_cpu(i) - base_cpu[i];

		if (!n)
			continue;
		fprintf(out, "%s\"%u\": %llu", comma, i, (unsigned long long)n);
		comma = ", ";
	}
	fprintf(out, "}");
}

static void finish(int mark)
{
	uint64_t total = 0;
	const char *comma = "";

	fprintf(out, "{\"mark\": %d, \"by_symbol\": {", mark);
	for (size_t s = 0; s < nr_symbols; s++) {
		uint64_t n = sum(s) - base[s];

		if (!n)
			continue;
		fprintf(out, "%s\"%s\": %llu", comma, symbols[s].name, (unsigned long long)n);
		comma = ", ";
		total += n;
	}
	fprintf(out, "}, ");
	print_cpus();
	fprintf(out, ", \"total\": %llu}\n", (unsigned long long)total);
	fflush(out);
}

static void on_mark(unsigned vcpu, void *arg)
{
	int mark = (int)(intptr_t)arg;
	int before = atomic_exchange(&active, -1);

	(void)vcpu;
	if (before >= 0)
		finish(before);
	if (mark == MARK_END)
		return;
	for (size_t s = 0; s < nr_symbols; s++)
		base[s] = sum(s);
	for (unsigned i = 0; i < MAX_VCPUS; i++)
		base_cpu[i] = sum_cpu(i);
	atomic_store(&active, mark);
}

static size_t find(uint64_t addr)
{
	size_t lo = SYM_FIRST, hi = nr_symbols;

	if (addr < KERNEL_HALF)
		return SYM_USER;
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (symbols[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < nr_symbols && symbols[lo].start <= addr ? lo : SYM_UNKNOWN;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i = 0;

	(void)id;
	/* A block seldom crosses from one function into the next; each part counts for its own. */
	while (i < n) {
		struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, i);
		uint64_t addr = qemu_plugin_insn_vaddr(first);
		size_t s = find(addr), from = i;
		void *arg;

		for (i++; i < n; i++) {
			uint64_t a = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i));

			if (s >= SYM_FIRST && (a < symbols[s].start || a >= symbols[s].end))
				break;
		}
		arg = (void *)(uintptr_t)(s << 16 | (i - from));
		if (from == 0)
			qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
							     arg);
		else
			qemu_plugin_register_vcpu_insn_exec_cb(first, on_block,
							       QEMU_PLUGIN_CB_NO_REGS, arg);
		if (s >= SYM_FIRST && symbols[s].mark >= 0 && addr == symbols[s].start)
			qemu_plugin_register_vcpu_insn_exec_cb(
				first, on_mark, QEMU_PLUGIN_CB_NO_REGS,
				(void *)(intptr_t)symbols[s].mark);
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

static int mark_of(const char *name)
{
	if (!strcmp(name, "tally_mark_end"))
		return MARK_END;
	if (!strncmp(name, "tally_mark_", 11) && name[11] >= '0' && name[11] < '0' + MARKS &&
	    !name[12])
		return name[11] - '0';
	return -1;
}

static int add_symbol(uint64_t start, uint64_t size, const char *name)
{
	if (nr_symbols % 1024 == 0) {
		void *more = realloc(symbols, (nr_symbols + 1024) * sizeof(*symbols));

		if (!more)
			return -1;
		symbols = more;
	}
	/* A size of 0 (assembly) reaches to the next symbol. */
	symbols[nr_symbols++] = (struct symbol){ start, size ? start + size : 0, strdup(name),
						 mark_of(name) };
	return 0;
}

static int read_symbols(const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned long long start, size;
	char name[200];

	if (!f)
		return -1;
	add_symbol(0, 1, "(user)");
	add_symbol(0, 1, "(unknown)");
	while (fscanf(f, "%llx %llx %199s", &start, &size, name) == 3)
		if (start >= KERNEL_HALF && add_symbol(start, size, name) < 0)
			return -1;
	fclose(f);
	for (size_t s = SYM_FIRST; s < nr_symbols; s++) {
		uint64_t next = s + 1 < nr_symbols ? symbols[s + 1].start : symbols[s].start + 4096;

		if (!symbols[s].end || symbols[s].end > next)
			symbols[s].end = next;
	}
	base = calloc(nr_symbols, sizeof(*base));
	return base ? 0 : -1;
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	const char *table = NULL, *result = NULL;

	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "symbols=", 8))
			table = argv[i] + 8;
		else if (!strncmp(argv[i], "out=", 4))
			result = argv[i] + 4;
	}
	if (!table || !result) {
		fprintf(stderr, "insns: arguments symbols=FILE,out=FILE are needed\n");
		return 1;
	}
	out = fopen(result, "w");
	if (!out || read_symbols(table) < 0) {
		fprintf(stderr, "insns: cannot read %s or write %s\n", table, result);
		return 1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
