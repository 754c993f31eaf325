/* SPDX-License-Identifier: MIT */
/*
 * Arguments and environment of a program, between the old address space and
 * the new one: one growing buffer, charged to the caller's group and bounded.
 */
#include "kernel/exec.h"
#include "kernel/errno.h"
#include "kernel/string.h"
#include "mm/slab.h"
#include "mm/uaccess.h"

#define STRING_MAX (128 * 1024) /* bytes of one string, as Linux's MAX_ARG_STRLEN */
#define FIRST_SIZE 2048

int exec_args_init(struct exec_args *a, size_t max)
{
	memset(a, 0, sizeof(*a));
	a->max = max;
	a->size = FIRST_SIZE;
	a->buf = kmalloc(a->size, GFP_ACCOUNT);
	return a->buf ? 0 : -ENOMEM;
}

void exec_args_free(struct exec_args *a)
{
	kfree(a->buf);
	a->buf = NULL;
}

/* Room for @n more bytes. */
static int reserve(struct exec_args *a, size_t n)
{
	size_t size = a->size;
	char *b;

	if (a->len + n + (a->argc + a->envc + 2) * sizeof(uint64_t) > a->max)
		return -E2BIG;
	if (a->len + n <= size)
		return 0;
	while (size < a->len + n)
		size *= 2;
	b = kmalloc(size, GFP_ACCOUNT);
	if (!b)
		return -ENOMEM;
	memcpy(b, a->buf, a->len);
	kfree(a->buf);
	a->buf = b;
	a->size = size;
	return 0;
}

static int add_kernel(struct exec_args *a, const char *s)
{
	size_t n = strlen(s) + 1;
	int err = reserve(a, n);

	if (err)
		return err;
	memcpy(a->buf + a->len, s, n);
	a->len += n;
	return 0;
}

static int add_user(struct exec_args *a, uintptr_t s)
{
	size_t done = 0;

	/* Into what room there is; more room only when the string does not fit. */
	for (;;) {
		size_t room = a->size - a->len - done;
		long n;
		int err;

		if (room) {
			n = strncpy_from_user(a->buf + a->len + done, (const char *)(s + done),
					      room);
			if (n >= 0) {
				done += (size_t)n + 1;
				if (done > STRING_MAX)
					return -E2BIG;
				err = reserve(a, done); /* the limit alone */
				if (!err)
					a->len += done;
				return err;
			}
			if (n != -ENAMETOOLONG)
				return (int)n;
			done += room;
		}
		if (done >= STRING_MAX)
			return -E2BIG;
		a->len += done; /* so that growing copies it */
		err = reserve(a, done + 256);
		a->len -= done;
		if (err)
			return err;
	}
}

static int add_user_list(struct exec_args *a, uintptr_t list, unsigned *count)
{
	if (!list)
		return 0;
	for (;; list += sizeof(uint64_t)) {
		uint64_t s;
		int err;

		if (get_user(s, (const uint64_t *)list))
			return -EFAULT;
		if (!s)
			return 0;
		(*count)++;
		err = add_user(a, s);
		if (err)
			return err;
	}
}

int exec_args_user(struct exec_args *a, const void *argv, const void *envp)
{
	int err = add_user_list(a, (uintptr_t)argv, &a->argc);

	if (err)
		return err;
	if (a->argc == 0) { /* programs do not expect to have no name */
		err = add_kernel(a, "");
		if (err)
			return err;
		a->argc = 1;
	}
	a->argv_len = a->len;
	return add_user_list(a, (uintptr_t)envp, &a->envc);
}

int exec_args_kernel(struct exec_args *a, const char *const *argv, const char *const *envp)
{
	int err = 0;

	for (; *argv && !err; argv++, a->argc++)
		err = add_kernel(a, *argv);
	a->argv_len = a->len;
	for (; *envp && !err; envp++, a->envc++)
		err = add_kernel(a, *envp);
	return err;
}

int exec_args_script(struct exec_args *a, const char *interp, const char *arg, const char *script)
{
	struct exec_args b;
	size_t old = strlen(a->buf) + 1;
	int err = exec_args_init(&b, a->max);

	if (err)
		return err;
	b.argc = a->argc + 1 + (arg ? 1 : 0);
	b.envc = a->envc;
	err = add_kernel(&b, interp);
	if (!err && arg)
		err = add_kernel(&b, arg);
	if (!err)
		err = add_kernel(&b, script);
	if (!err)
		err = reserve(&b, a->len - old);
	if (err) {
		exec_args_free(&b);
		return err;
	}
	b.argv_len = b.len + a->argv_len - old;
	memcpy(b.buf + b.len, a->buf + old, a->len - old);
	b.len += a->len - old;
	exec_args_free(a);
	*a = b;
	return 0;
}
