/* SPDX-License-Identifier: MIT */
/*
 * Names for addresses: the kernel's from /proc/kallsyms, programs' from the
 * symbol table of their ELF files.
 */
#ifndef APPS_LIB_PERF_SYMBOLS_H
#define APPS_LIB_PERF_SYMBOLS_H

#include <stdint.h>

struct perf_map;

struct perf_symbol {
	uint64_t start, end;
	char *name;
};
struct perf_symbols {
	struct perf_symbol *s;
	unsigned n;
};

/* The kernel's.  Empty if they cannot be read. */
const struct perf_symbols *perf_kernel_symbols(void);
/* A program's, kept for the next call; empty if there are none. */
const struct perf_symbols *perf_file_symbols(const char *path);
/* NULL: none there. */
const char *perf_symbol_name(const struct perf_symbols *t, uint64_t addr);

/*
 * What is at @ip of process @pid?  *object: "[kernel]" or the program's name;
 * returns the function or a number, in a static buffer.
 */
const char *perf_resolve(uint64_t ip, int kernel, int32_t pid, const char *thread,
			 const char **object);
void perf_add_map(const struct perf_map *m);

#endif
