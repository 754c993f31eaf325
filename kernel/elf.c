/* SPDX-License-Identifier: MIT */
/*
 * Checking ELF executables: see elf.h.
 *
 * Nothing is believed: every sum is checked for overflow, every address for
 * lying in user memory, segments for order and overlap, so that the loader may
 * map them without a further thought.
 */
#include "kernel/elf.h"
#include "kernel/string.h"
#include "mm/vm.h"

#define ET_EXEC 2
#define ET_DYN  3
#define EM_X86_64 62
#define PT_LOAD   1
#define PT_INTERP 3
#define PT_PHDR   6

#define INTERP_MAX 256 /* bytes of an interpreter's path */

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}
static uint32_t get32(const uint8_t *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}
static uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

const char *elf_parse_header(const uint8_t h[ELF_HEADER_SIZE], struct elf_image *out)
{
	memset(out, 0, sizeof(*out));
	if (!elf_has_magic(h, ELF_HEADER_SIZE))
		return "not an ELF file";
	if (h[4] != 2 || h[5] != 1 || h[6] != 1)
		return "not a 64-bit little-endian ELF file";
	if (get16(h + 18) != EM_X86_64 || get32(h + 20) != 1)
		return "for another processor than x86-64";
	switch (get16(h + 16)) {
	case ET_EXEC:
		break;
	case ET_DYN:
		out->is_pie = true;
		break;
	default:
		return "neither an executable nor position-independent";
	}
	out->entry = get64(h + 24);
	out->phoff = get64(h + 32);
	if (get16(h + 54) != ELF_PHDR_SIZE)
		return "program headers of a size other than 56 bytes";
	out->nr_phdrs = get16(h + 56);
	if (out->nr_phdrs == 0 || out->nr_phdrs > ELF_MAX_PHDRS)
		return "no program headers, or more than 64";
	if (out->phoff < ELF_HEADER_SIZE || out->phoff > INT64_MAX - ELF_MAX_PHDRS * ELF_PHDR_SIZE)
		return "program headers at an impossible place";
	return NULL;
}

static const char *add_segment(const uint8_t *ph, uint64_t file_size, struct elf_image *out)
{
	struct elf_segment s = {
		.flags = get32(ph + 4) & (ELF_R | ELF_W | ELF_X),
		.offset = get64(ph + 8),
		.vaddr = get64(ph + 16),
		.filesz = get64(ph + 32),
		.memsz = get64(ph + 40),
	};
	uint64_t lowest = out->is_pie ? 0 : USER_MIN;
	const struct elf_segment *prev;

	if (s.memsz == 0)
		return s.filesz ? "a segment with more in the file than in memory" : NULL;
	if (out->nr_segments == ELF_MAX_SEGMENTS)
		return "more than 16 segments";
	if (s.filesz > s.memsz)
		return "a segment with more in the file than in memory";
	if (s.filesz > file_size || s.offset > file_size - s.filesz)
		return "a segment beyond the end of the file";
	if (s.vaddr < lowest || s.vaddr >= USER_MMAP_TOP || s.memsz > USER_MMAP_TOP - s.vaddr)
		return "a segment outside user memory";
	if ((s.vaddr ^ s.offset) & (PAGE_SIZE - 1))
		return "a segment whose address and offset differ within the page";
	if (out->nr_segments) {
		prev = &out->segment[out->nr_segments - 1];
		if (s.vaddr < prev->vaddr + prev->memsz)
			return "segments that overlap or are out of order";
	} else {
		out->start = ALIGN_DOWN(s.vaddr, PAGE_SIZE);
	}
	if (out->phoff >= s.offset && out->phoff - s.offset < s.filesz &&
	    out->nr_phdrs * ELF_PHDR_SIZE <= s.filesz - (out->phoff - s.offset) && !out->phdr_vaddr)
		out->phdr_vaddr = s.vaddr + (out->phoff - s.offset);
	out->end = ALIGN_UP(s.vaddr + s.memsz, PAGE_SIZE);
	out->segment[out->nr_segments++] = s;
	return NULL;
}

const char *elf_parse_phdrs(const uint8_t *ph, uint64_t file_size, struct elf_image *out)
{
	const char *why;
	bool entry_ok = false;

	for (unsigned i = 0; i < out->nr_phdrs; i++, ph += ELF_PHDR_SIZE) {
		switch (get32(ph)) {
		case PT_LOAD:
			why = add_segment(ph, file_size, out);
			if (why)
				return why;
			break;
		case PT_INTERP:
			if (out->interp_size)
				return "two interpreters";
			out->interp_offset = get64(ph + 8);
			out->interp_size = get64(ph + 32);
			if (out->interp_size < 2 || out->interp_size > INTERP_MAX ||
			    out->interp_size > file_size ||
			    out->interp_offset > file_size - out->interp_size)
				return "an interpreter's name of impossible length or place";
			break;
		}
	}
	if (!out->nr_segments)
		return "nothing to load";
	for (unsigned i = 0; i < out->nr_segments; i++) {
		const struct elf_segment *s = &out->segment[i];

		entry_ok |= out->entry >= s->vaddr && out->entry - s->vaddr < s->memsz;
	}
	return entry_ok ? NULL : "an entry point outside its segments";
}
