/* SPDX-License-Identifier: MIT */
/* Implements symbols.h. */
#include <stdlib.h>
#include <string.h>
#include "tools/plugin/lib/symbols.h"

struct symbol *symbols;
size_t nr_symbols;

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

	if (!f || add_symbol(0, 1, "(user)") || add_symbol(0, 1, "(unknown)"))
		return -1;
	while (fscanf(f, "%llx %llx %199s", &start, &size, name) == 3)
		if (start >= KERNEL_HALF && add_symbol(start, size, name) < 0)
			return -1;
	fclose(f);
	for (size_t s = SYM_FIRST; s < nr_symbols; s++) {
		uint64_t next = s + 1 < nr_symbols ? symbols[s + 1].start : symbols[s].start + 4096;

		if (!symbols[s].end || symbols[s].end > next)
			symbols[s].end = next;
	}
	return 0;
}

int plugin_open(const char *plugin, int argc, char **argv, FILE **out)
{
	const char *table = NULL, *result = NULL;

	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "symbols=", 8))
			table = argv[i] + 8;
		else if (!strncmp(argv[i], "out=", 4))
			result = argv[i] + 4;
	}
	if (!table || !result) {
		fprintf(stderr, "%s: arguments symbols=FILE,out=FILE are needed\n", plugin);
		return -1;
	}
	*out = fopen(result, "w");
	if (!*out || read_symbols(table) < 0) {
		fprintf(stderr, "%s: cannot read %s or write %s\n", plugin, table, result);
		return -1;
	}
	return 0;
}

size_t symbol_at(uint64_t addr)
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
