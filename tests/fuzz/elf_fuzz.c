/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an executable: what elf_parse accepts must be safe to map.
 *
 * SOURCES: kernel/elf.c
 */
#include "kernel/elf.h"
#include "mm/vm.h"
#include "tests/fuzz/fuzz.h"

void fuzz_setup(void)
{
}

void fuzz_one(const uint8_t *data, size_t size)
{
	struct elf_image e;
	uint64_t end = 0;
	size_t n;

	if (size < ELF_HEADER_SIZE || elf_parse_header(data, &e))
		return;
	MUST(e.nr_phdrs >= 1 && e.nr_phdrs <= ELF_MAX_PHDRS);
	n = e.nr_phdrs * ELF_PHDR_SIZE;
	if (e.phoff > size || n > size - e.phoff || elf_parse_phdrs(data + e.phoff, size, &e))
		return;
	MUST(e.nr_segments >= 1 && e.nr_segments <= ELF_MAX_SEGMENTS);
	MUST(e.start < e.end && e.end <= ALIGN_UP(USER_MMAP_TOP, PAGE_SIZE));
	for (unsigned i = 0; i < e.nr_segments; i++) {
		const struct elf_segment *s = &e.segment[i];

		MUST(s->vaddr >= end && s->memsz > 0 && s->filesz <= s->memsz);
		end = s->vaddr + s->memsz;
		MUST(end > s->vaddr && end <= e.end && s->vaddr >= e.start);
		MUST(s->offset + s->filesz >= s->offset && s->offset + s->filesz <= size);
		MUST((s->offset & ~PAGE_MASK) == (s->vaddr & ~PAGE_MASK));
	}
	MUST(!e.interp_size || (e.interp_size <= 256 && e.interp_offset + e.interp_size <= size));
}
