/* SPDX-License-Identifier: MIT */
/*
 * ELF64 executables for x86-64: checking what a file claims, without doing
 * anything about it.  Free of input and output, so that tests and the fuzzer
 * can call it with any bytes.
 *
 * Source: System V ABI, ELF-64 Object File Format, version 1.5.
 */
#ifndef KERNEL_ELF_H
#define KERNEL_ELF_H

#include "kernel/types.h"

#define ELF_HEADER_SIZE  64
#define ELF_PHDR_SIZE    56
#define ELF_MAX_PHDRS    64
#define ELF_MAX_SEGMENTS 16

#define ELF_X 1u /* p_flags */
#define ELF_W 2u
#define ELF_R 4u

struct elf_segment {
	uint64_t vaddr, offset, filesz, memsz;
	uint32_t flags;
};

struct elf_image {
	bool is_pie;          /* ET_DYN: may be put anywhere */
	uint64_t entry;       /* relative to the load address, as all addresses here */
	uint64_t phoff;       /* of the program headers in the file */
	unsigned nr_phdrs;
	uint64_t phdr_vaddr;  /* where they are in memory; 0: nowhere */
	unsigned nr_segments; /* in ascending order, not overlapping */
	struct elf_segment segment[ELF_MAX_SEGMENTS];
	uint64_t start, end;  /* page bounds of all segments */
	uint64_t interp_offset, interp_size; /* PT_INTERP; size 0: none */
};

/**
 * elf_parse_header - check the first 64 bytes of a file
 * @h: the bytes; fewer than 64 in the file is the caller's ENOEXEC
 * @out: filled but for what program headers say
 * Return: NULL if it is an executable for us, else a sentence why not.
 */
const char *elf_parse_header(const uint8_t h[ELF_HEADER_SIZE], struct elf_image *out);

/**
 * elf_parse_phdrs - check the program headers
 * @ph: out->nr_phdrs headers of 56 bytes, any alignment
 * @file_size: bytes in the file
 * @out: from elf_parse_header()
 * Return: NULL, or a sentence why the file cannot be loaded.
 */
const char *elf_parse_phdrs(const uint8_t *ph, uint64_t file_size, struct elf_image *out);

static inline bool elf_has_magic(const uint8_t *h, size_t n)
{
	return n >= 4 && h[0] == 0x7f && h[1] == 'E' && h[2] == 'L' && h[3] == 'F';
}

#endif /* KERNEL_ELF_H */
