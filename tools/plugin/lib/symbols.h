/* SPDX-License-Identifier: MIT */
/*
 * The guest kernel's functions, from a file that the runner writes (lines
 * "ADDRESS SIZE NAME", hexadecimal, ascending), and its marks: the guest calls
 * tally_mark_0..7 and tally_mark_end (kernel/mark.c), and executing their first
 * instruction is the mark.
 */
#ifndef TOOLS_PLUGIN_SYMBOLS_H
#define TOOLS_PLUGIN_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KERNEL_HALF 0xffff800000000000ULL
#define MARKS	    8
#define MARK_END    MARKS

struct symbol {
	uint64_t start, end;
	char *name;
	int mark; /* 0..7, MARK_END, or -1 */
};

/* Symbol 0 is user mode, 1 the kernel outside of any known function. */
enum { SYM_USER, SYM_UNKNOWN, SYM_FIRST };
extern struct symbol *symbols;
extern size_t nr_symbols;

/*
 * From the plugin's arguments symbols=FILE and out=FILE: reads the one, opens the
 * other.  Return: 0, or -1 with a message.
 */
int plugin_open(const char *plugin, int argc, char **argv, FILE **out);
/* Index of the symbol at @addr. */
size_t symbol_at(uint64_t addr);
/* Does a mark begin at @addr, which lies in symbol @s? */
static inline int is_mark(size_t s, uint64_t addr)
{
	return s >= SYM_FIRST && symbols[s].mark >= 0 && addr == symbols[s].start;
}

#endif /* TOOLS_PLUGIN_SYMBOLS_H */
