/* SPDX-License-Identifier: MIT */
/*
 * Building a program's address space: segments from the file, interpreter,
 * break, and the first stack with its auxiliary vector.
 *
 * The new space is filled while the old one is still in force, so an error at
 * any point leaves the caller as it was.  File pages are mapped, not read: all
 * instances of a program share its text through the page cache.
 */
#include "kernel/exec.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/process.h"
#include "kernel/random.h"
#include "kernel/string.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/fpu.h"
#include "fs/vfs.h"
#include "mm/slab.h"
#include "mm/vm.h"

#define PIE_BASE    0x0000555555554000UL
#define INTERP_BASE 0x00007f0000000000UL
#define STACK_TOP   (USER_TOP - PAGE_SIZE) /* a page of nothing above */
#define STACK_FIRST (128UL * 1024)         /* bytes mapped at once; it grows on demand */

static bool aslr;
PARAM_BOOL("aslr", aslr, PARAM_RW,
	   "load position-independent programs at random addresses (off: repeatable)");

static int read_at(struct file *f, void *buf, size_t n, uint64_t off)
{
	loff_t pos = (loff_t)off;
	ssize_t r = vfs_read(f, buf, n, &pos);

	if (r < 0)
		return (int)r;
	return (size_t)r == n ? 0 : -ENOEXEC;
}

static int refuse(const char *name, const char *why)
{
	pr_info("%s: cannot be executed: %s\n", name, why);
	return -ENOEXEC;
}

static int read_image(struct file *f, const char *name, struct elf_image *elf)
{
	uint8_t header[ELF_HEADER_SIZE], *ph;
	const char *why;
	struct kstat st;
	size_t n;
	int err = read_at(f, header, sizeof(header), 0);

	if (err)
		return err;
	if (!elf_has_magic(header, sizeof(header)))
		return -ENOEXEC; /* perhaps a script: nothing to say about it */
	why = elf_parse_header(header, elf);
	if (why)
		return refuse(name, why);
	err = vfs_stat_file(f, &st);
	if (err)
		return err;
	n = elf->nr_phdrs * ELF_PHDR_SIZE;
	ph = kmalloc(n, GFP_KERNEL);
	if (!ph)
		return -ENOMEM;
	err = read_at(f, ph, n, elf->phoff);
	if (!err) {
		why = elf_parse_phdrs(ph, (uint64_t)st.size, elf);
		if (why)
			err = refuse(name, why);
	}
	kfree(ph);
	return err;
}

static int zero_tail(struct vm_space *space, uintptr_t start, uintptr_t end)
{
	static const char zeros[512];

	while (start < end) {
		size_t n = min(end - start, sizeof(zeros));
		int err = vm_write(space, start, zeros, n);

		if (err)
			return err;
		start += n;
	}
	return 0;
}

static int map_segment(struct vm_space *space, struct file *f, const struct elf_segment *s,
		       uintptr_t bias)
{
	uintptr_t start = ALIGN_DOWN(bias + s->vaddr, PAGE_SIZE);
	uintptr_t file_end = bias + s->vaddr + s->filesz;
	uintptr_t mem_end = ALIGN_UP(bias + s->vaddr + s->memsz, PAGE_SIZE);
	unsigned flags = (s->flags & ELF_R ? VM_READ : 0) | (s->flags & ELF_W ? VM_WRITE : 0) |
			 (s->flags & ELF_X ? VM_EXEC : 0) | VM_FIXED | VM_MAYWRITE;
	uintptr_t mapped = s->filesz ? ALIGN_UP(file_end, PAGE_SIZE) : start;
	long r;

	if (s->filesz) {
		r = vm_map(space, start, mapped - start, flags, f,
			   ALIGN_DOWN(s->offset, PAGE_SIZE));
		if (r < 0)
			return (int)r;
	}
	if (mem_end > mapped) {
		r = vm_map(space, mapped, mem_end - mapped, flags, NULL, 0);
		if (r < 0)
			return (int)r;
	}
	/*
	 * What follows the file's bytes in their last page is the start of the zeroed
	 * memory; up to the page's end, since loaders use what lies behind theirs.
	 */
	if (s->filesz && s->memsz > s->filesz && (s->flags & ELF_W))
		return zero_tail(space, file_end, mapped);
	return 0;
}

static int map_image(struct vm_space *space, struct file *f, const struct elf_image *elf,
		     uintptr_t bias)
{
	for (unsigned i = 0; i < elf->nr_segments; i++) {
		int err = map_segment(space, f, &elf->segment[i], bias);

		if (err)
			return err;
	}
	return 0;
}

/* May this file be a program?  Somebody must be allowed to execute it. */
int exec_check_file(struct file *f)
{
	struct kstat st;
	int err = vfs_stat_file(f, &st);

	if (err)
		return err;
	if (!S_ISREG(st.mode) || !(st.mode & 0111))
		return -EACCES;
	return 0;
}

static __noinline int load_interp(struct file *program, const char *name,
				  const struct elf_image *elf, struct exec_image *image)
{
	struct elf_image interp;
	char path[257] = { 0 };
	struct file *f;
	uintptr_t bias;
	int err = read_at(program, path, elf->interp_size, elf->interp_offset);

	if (err)
		return err;
	if (path[0] != '/')
		return refuse(name, "the name of its interpreter is not an absolute path");
	f = vfs_open(path, O_RDONLY, 0);
	if (IS_ERR(f)) {
		pr_info("%s: its interpreter %s cannot be opened (error %ld)\n", name, path,
			-PTR_ERR(f));
		return (int)PTR_ERR(f);
	}
	err = exec_check_file(f);
	if (!err)
		err = read_image(f, path, &interp);
	if (!err && interp.interp_size)
		err = refuse(path, "an interpreter with an interpreter");
	if (!err) {
		bias = interp.is_pie ? INTERP_BASE : 0;
		err = map_image(image->space, f, &interp, bias);
		image->base = bias;
		image->entry = bias + interp.entry;
	}
	fput(f);
	return err;
}

int exec_load(struct file *f, const char *name, struct exec_image *image)
{
	struct elf_image elf;
	uintptr_t bias = 0;
	int err = read_image(f, name, &elf);

	if (err)
		return err;
	memset(image, 0, sizeof(*image));
	image->space = vm_create();
	if (!image->space)
		return -ENOMEM;
	if (elf.is_pie)
		bias = PIE_BASE - elf.start + (aslr ? (random_u64() & 0xfffffff) << PAGE_SHIFT : 0);
	if (elf.end + bias > USER_MMAP_TOP) {
		err = refuse(name, "too large");
		goto fail;
	}
	err = map_image(image->space, f, &elf, bias);
	if (err)
		goto fail;
	vm_set_brk_start(image->space, elf.end + bias);
	image->program_entry = image->entry = bias + elf.entry;
	image->phdr = elf.phdr_vaddr ? bias + elf.phdr_vaddr : 0;
	image->nr_phdrs = elf.nr_phdrs;
	if (elf.interp_size) {
		err = load_interp(f, name, &elf, image);
		if (err)
			goto fail;
	}
	return 0;
fail:
	vm_put(image->space);
	image->space = NULL;
	return err;
}

enum {
	AT_NULL = 0,
	AT_PHDR = 3,
	AT_PHENT = 4,
	AT_PHNUM = 5,
	AT_PAGESZ = 6,
	AT_BASE = 7,
	AT_FLAGS = 8,
	AT_ENTRY = 9,
	AT_UID = 11,
	AT_EUID = 12,
	AT_GID = 13,
	AT_EGID = 14,
	AT_PLATFORM = 15,
	AT_HWCAP = 16,
	AT_CLKTCK = 17,
	AT_SECURE = 23,
	AT_RANDOM = 25,
	AT_HWCAP2 = 26,
	AT_EXECFN = 31,
	AT_MINSIGSTKSZ = 51,
};
#define MAX_AUXV 24

struct stack_builder {
	char *buf;       /* what will lie at [sp, top) */
	uintptr_t sp;    /* its address */
	uint64_t *word;  /* next word to fill */
	unsigned nr_auxv;
};

static void aux(struct stack_builder *b, uint64_t key, uint64_t value)
{
	*b->word++ = key;
	*b->word++ = value;
}

static void build_auxv(struct stack_builder *b, const struct exec_image *image, uintptr_t random,
		       uintptr_t platform, uintptr_t filename)
{
	const struct process *p = current->process;

	aux(b, AT_HWCAP, cpuid(1, 0).d);
	aux(b, AT_PAGESZ, PAGE_SIZE);
	aux(b, AT_CLKTCK, 100);
	aux(b, AT_PHDR, image->phdr);
	aux(b, AT_PHENT, ELF_PHDR_SIZE);
	aux(b, AT_PHNUM, image->nr_phdrs);
	aux(b, AT_BASE, image->base);
	aux(b, AT_FLAGS, 0);
	aux(b, AT_ENTRY, image->program_entry);
	aux(b, AT_UID, p->uid);
	aux(b, AT_EUID, p->euid);
	aux(b, AT_GID, p->gid);
	aux(b, AT_EGID, p->egid);
	aux(b, AT_SECURE, p->uid != p->euid || p->gid != p->egid);
	aux(b, AT_RANDOM, random);
	aux(b, AT_HWCAP2, 0);
	aux(b, AT_EXECFN, filename);
	aux(b, AT_PLATFORM, platform);
	aux(b, AT_MINSIGSTKSZ, 1024 + fpu_frame_size());
	aux(b, AT_NULL, 0);
}

/* From the top: file name, strings, "x86_64", random bytes, padding, vectors, argc. */
int exec_stack(struct exec_image *image, const struct exec_args *a, const char *filename)
{
	static const char platform[] = "x86_64";
	size_t fname_len = strlen(filename) + 1;
	uintptr_t fname = STACK_TOP - 8 - fname_len, strings = fname - a->len;
	uintptr_t plat = strings - sizeof(platform), random = ALIGN_DOWN(plat - 16, 16);
	size_t words = 1 + a->argc + 1 + a->envc + 1 + 2 * MAX_AUXV;
	struct stack_builder b = { .sp = ALIGN_DOWN(random - words * 8, 16) };
	size_t total = STACK_TOP - b.sp, mapped;
	uintptr_t s = strings;
	long r;
	int err;

	if (total > a->max + PAGE_SIZE)
		return -E2BIG;
	mapped = ALIGN_UP(total, PAGE_SIZE) + STACK_FIRST;
	r = vm_map(image->space, STACK_TOP - mapped, mapped,
		   VM_READ | VM_WRITE | VM_GROWSDOWN | VM_FIXED | VM_MAYWRITE, NULL, 0);
	if (r < 0)
		return (int)r;
	b.buf = kzalloc(total, GFP_ACCOUNT);
	if (!b.buf)
		return -ENOMEM;
#define AT(addr) (b.buf + ((addr)-b.sp))
	memcpy(AT(fname), filename, fname_len);
	memcpy(AT(strings), a->buf, a->len);
	memcpy(AT(plat), platform, sizeof(platform));
	random_bytes(AT(random), 16);
	b.word = (uint64_t *)b.buf;
	*b.word++ = a->argc;
	for (unsigned i = 0; i < a->argc; i++, s += strlen(AT(s)) + 1)
		*b.word++ = s;
	*b.word++ = 0;
	for (unsigned i = 0; i < a->envc; i++, s += strlen(AT(s)) + 1)
		*b.word++ = s;
	*b.word++ = 0;
#undef AT
	build_auxv(&b, image, random, plat, fname);
	err = vm_write(image->space, b.sp, b.buf, total);
	kfree(b.buf);
	image->sp = b.sp;
	image->arg_start = strings;
	image->arg_end = strings + a->argv_len;
	return err;
}
