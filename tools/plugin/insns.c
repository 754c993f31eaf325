/* SPDX-License-Identifier: MIT */
/*
 * QEMU TCG plugin: counts guest instructions between marks and shares them out
 * by symbol.
 *
 * Arguments: symbols=FILE, out=FILE (lib/symbols.h).  For every interval between two
 * marks one JSON line: mark, total, by_symbol, by_cpu; user mode is one symbol
 * "(user)".  Marks do not nest: a new one ends the one before.
 *
 * Cost: one call per translated block, which adds to an array of its virtual
 * CPU; no atomic read-modify-write, no shared line.  A block that an exception
 * leaves early is counted whole.  The figures of other CPUs are read while they
 * run: an interval is right to within one block per CPU.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/plugin/lib/qemu.h"
#include "tools/plugin/lib/symbols.h"

EXPORT int qemu_plugin_version = 1;

#define MAX_VCPUS 1024

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

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i = 0;

	(void)id;
	/* A block seldom crosses from one function into the next; each part counts for its own. */
	while (i < n) {
		struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, i);
		uint64_t addr = qemu_plugin_insn_vaddr(first);
		size_t s = symbol_at(addr), from = i;
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
		if (is_mark(s, addr))
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

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (plugin_open("insns", argc, argv, &out) < 0)
		return 1;
	base = calloc(nr_symbols, sizeof(*base));
	if (!base)
		return 1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
