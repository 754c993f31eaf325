/* SPDX-License-Identifier: MIT */
/* Between kernel/exec.c, exec_args.c and exec_load.c: a program on its way in. */
#ifndef KERNEL_EXEC_H
#define KERNEL_EXEC_H

#include "kernel/elf.h"

struct file;
struct vm_space;

/*
 * Arguments and environment: strings with their NULs, one behind the other,
 * argv first.
 */
struct exec_args {
	char *buf;
	size_t len, size; /* bytes in use, bytes there */
	size_t max;       /* bytes allowed, pointers included; beyond: -E2BIG */
	unsigned argc, envc;
	size_t argv_len;  /* bytes of the argv strings */
};

int exec_args_init(struct exec_args *a, size_t max);
void exec_args_free(struct exec_args *a);
/* From user pointers (NULL: empty list).  0, -EFAULT, -E2BIG, -ENOMEM. */
int exec_args_user(struct exec_args *a, const void *argv, const void *envp);
/* From kernel lists that end with NULL. */
int exec_args_kernel(struct exec_args *a, const char *const *argv, const char *const *envp);
/* For "#!": replaces argv[0] by these (@arg may be NULL). */
int exec_args_script(struct exec_args *a, const char *interp, const char *arg, const char *script);

/* A program image in a new address space, ready to be entered. */
struct exec_image {
	struct vm_space *space;
	uintptr_t entry, sp;
	uintptr_t arg_start, arg_end;
	/* for the auxiliary vector */
	uintptr_t program_entry, phdr, base;
	unsigned nr_phdrs;
};

/**
 * exec_load - map an ELF program into a new address space
 * @name: for messages
 * Return: 0 with image->space to be given back by vm_put(), or -ENOEXEC,
 * -ENOMEM, -EIO, -EACCES and what opening the interpreter gives.
 */
int exec_load(struct file *f, const char *name, struct exec_image *image);
/* 0 if @f may be a program: a regular file that somebody may execute; else -EACCES. */
int exec_check_file(struct file *f);
/* Builds the first stack: strings, vectors, auxiliary vector.  0, -E2BIG, -ENOMEM. */
int exec_stack(struct exec_image *image, const struct exec_args *a, const char *filename);

#endif /* KERNEL_EXEC_H */
