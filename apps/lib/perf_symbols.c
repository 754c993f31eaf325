/* SPDX-License-Identifier: MIT */
/* Implements perf_symbols.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/lib/perf_record.h"
#include "apps/lib/perf_symbols.h"

static int add(struct perf_symbols *t, uint64_t start, uint64_t end, const char *name)
{
	if (t->n % 512 == 0) {
		void *more = realloc(t->s, (t->n + 512) * sizeof(*t->s));

		if (!more)
			return -1;
		t->s = more;
	}
	t->s[t->n].start = start;
	t->s[t->n].end = end;
	t->s[t->n].name = strdup(name);
	t->n++;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct perf_symbol *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts, and gives symbols without a size the space up to the next. */
static void finish(struct perf_symbols *t)
{
	qsort(t->s, t->n, sizeof(*t->s), by_start);
	for (unsigned i = 0; i < t->n; i++)
		if (t->s[i].end <= t->s[i].start)
			t->s[i].end = i + 1 < t->n ? t->s[i + 1].start : t->s[i].start + 4096;
}

const struct perf_symbols *perf_kernel_symbols(void)
{
	static struct perf_symbols table;
	static int tried;
	char line[256], name[160], *rest;
	uint64_t addr;
	FILE *f;

	if (tried)
		return &table;
	tried = 1;
	f = fopen("/proc/kallsyms", "r");
	while (f && fgets(line, sizeof(line), f)) {
		addr = strtoull(line, &rest, 16);
		if (sscanf(rest, " %*c %159s", name) == 1 && add(&table, addr, 0, name) < 0)
			break;
	}
	if (f)
		fclose(f);
	finish(&table);
	return &table;
}

struct elf_header {
	unsigned char ident[16];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, phoff, shoff;
	uint32_t flags;
	uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};
struct elf_section {
	uint32_t name, type;
	uint64_t flags, addr, offset, size;
	uint32_t link, info;
	uint64_t align, entsize;
};
struct elf_symbol {
	uint32_t name;
	uint8_t info, other;
	uint16_t shndx;
	uint64_t value, size;
};

static void *read_at(int fd, uint64_t offset, uint64_t size)
{
	char *p = size && size < 64 << 20 ? malloc(size + 1) : NULL;
	uint64_t done = 0;
	ssize_t n;

	if (!p || lseek(fd, (off_t)offset, SEEK_SET) < 0)
		goto fail;
	while (done < size && (n = read(fd, p + done, size - done)) > 0)
		done += (uint64_t)n;
	if (done != size)
		goto fail;
	p[size] = 0;
	return p;
fail:
	free(p);
	return NULL;
}

static void read_symbols(struct perf_symbols *t, int fd, const struct elf_section *sec,
			 const struct elf_section *strings)
{
	struct elf_symbol *s = read_at(fd, sec->offset, sec->size);
	char *names = read_at(fd, strings->offset, strings->size);

	for (uint64_t i = 0; s && names && i < sec->size / sizeof(*s); i++)
		if ((s[i].info & 15) == 2 && s[i].value && s[i].name < strings->size)
			add(t, s[i].value, s[i].value + s[i].size, names + s[i].name);
	free(s);
	free(names);
}

static void read_elf(struct perf_symbols *t, const char *path)
{
	int fd = open(path, O_RDONLY);
	struct elf_header *h = fd < 0 ? NULL : read_at(fd, 0, sizeof(*h));
	struct elf_section *s = NULL;

	if (h && !memcmp(h->ident, "\177ELF\2\1", 6) && h->shentsize == sizeof(*s) && h->shnum)
		s = read_at(fd, h->shoff, (uint64_t)h->shnum * sizeof(*s));
	for (unsigned i = 0; s && i < h->shnum; i++)
		if (s[i].type == 2 && s[i].link < h->shnum)
			read_symbols(t, fd, &s[i], &s[s[i].link]);
	free(s);
	free(h);
	if (fd >= 0)
		close(fd);
	finish(t);
}

const struct perf_symbols *perf_file_symbols(const char *path)
{
	static struct {
		char *path;
		struct perf_symbols table;
	} files[64];
	static unsigned n;

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(files[i].path, path))
			return &files[i].table;
	if (n == sizeof(files) / sizeof(files[0]))
		return &files[0].table;
	files[n].path = strdup(path);
	read_elf(&files[n].table, path);
	return &files[n++].table;
}

const char *perf_symbol_name(const struct perf_symbols *t, uint64_t addr)
{
	unsigned lo = 0, hi = t->n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (t->s[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->n && t->s[lo].start <= addr ? t->s[lo].name : NULL;
}

static struct perf_map **maps;
static unsigned nr_maps;

void perf_add_map(const struct perf_map *m)
{
	size_t size = sizeof(*m) + strlen(m->path) + 1;
	void *more;

	if (nr_maps % 64 == 0) {
		more = realloc(maps, (nr_maps + 64) * sizeof(*maps));
		if (!more)
			return;
		maps = more;
	}
	maps[nr_maps] = malloc(size);
	if (maps[nr_maps])
		memcpy(maps[nr_maps++], m, size);
}

/* The newest: a process may have called execve(). */
static const struct perf_map *map_of(int32_t pid, uint64_t ip)
{
	for (unsigned i = nr_maps; i-- > 0;)
		if (maps[i]->pid == pid && ip >= maps[i]->start && ip < maps[i]->end)
			return maps[i];
	return NULL;
}

const char *perf_resolve(uint64_t ip, int kernel, int32_t pid, const char *thread,
			 const char **object)
{
	static char number[32], program[24];
	const struct perf_map *m;
	const char *name;

	if (kernel) {
		*object = "[kernel]";
		name = perf_symbol_name(perf_kernel_symbols(), ip);
	} else {
		m = map_of(pid, ip);
		name = m ? strrchr(m->path, '/') : NULL;
		snprintf(program, sizeof(program), "%s", name ? name + 1 : m ? m->path : thread);
		*object = program;
		name = NULL;
		if (m) {
			const struct perf_symbols *t = perf_file_symbols(m->path);

			name = perf_symbol_name(t, ip);
			if (!name) /* position-independent: symbols are offsets */
				name = perf_symbol_name(t, ip - m->start + m->offset);
		}
	}
	if (name)
		return name;
	if (!kernel)
		return "(no symbol)";
	snprintf(number, sizeof(number), "%#llx", (unsigned long long)ip);
	return number;
}
