/* SPDX-License-Identifier: MIT */
/*
 * Looking at address spaces from outside: figures, areas, contents, for procfs
 * and exec.
 */
#include "mm/vm_int.h"
#include "kernel/string.h"

static uint64_t figure(const _Atomic uint64_t *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

void vm_figures(struct vm_space *s, struct vm_figures *out)
{
	memset(out, 0, sizeof(*out));
	out->total = figure(&s->nr_mapped);
	out->anon = figure(&s->nr_anon);
	out->file = figure(&s->nr_file);
	out->pagetables = figure(&s->nr_tables);
	out->locked = figure(&s->nr_locked);
	mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->nr; i++) {
		const struct vm_area *a = s->areas[i];
		uint64_t n = (a->end - a->start) >> PAGE_SHIFT;

		if (a->flags & VM_GROWSDOWN)
			out->stack += n;
		else if ((a->flags & (VM_WRITE | VM_SHARED)) == VM_WRITE)
			out->data += n;
		else if ((a->flags & VM_EXEC) && a->file)
			out->text += n;
	}
	mutex_unlock(&s->lock);
}

bool vm_next_area(struct vm_space *s, uintptr_t addr, struct vm_area_info *out)
{
	struct file *f = NULL;
	unsigned i;
	bool found;

	memset(out, 0, offsetof(struct vm_area_info, name) + 1);
	mutex_lock(&s->lock);
	i = area_index(s, addr);
	found = i < s->nr;
	if (found) {
		const struct vm_area *a = s->areas[i];

		out->start = a->start;
		out->end = a->end;
		out->flags = a->flags;
		out->off = a->off;
		f = a->file;
		if (f)
			vm_file_get(f);
		else if (a->flags & VM_GROWSDOWN)
			str_copy(out->name, "[stack]", sizeof(out->name));
		else if (a->start < s->brk && a->end > s->brk_start)
			str_copy(out->name, "[heap]", sizeof(out->name));
	}
	mutex_unlock(&s->lock);
	if (f) {
		vm_file_name(f, out);
		vm_file_put(f);
	}
	return found;
}

/* Copies between kernel memory and user pages that need not be in the loaded tables. */
static int access(struct vm_space *s, uintptr_t addr, void *kernel, size_t n, bool write)
{
	char *k = kernel;
	int err = 0;

	if (addr > USER_TOP || n > USER_TOP - addr)
		return -EFAULT;
	mutex_lock(&s->lock);
	while (n) {
		size_t off = addr & (PAGE_SIZE - 1), now = min(n, PAGE_SIZE - off);
		uintptr_t next;
		char *user;
		pte_t *e;

		/* File pages drop the lock in between, so look again behind the fault. */
		err = vm_fault_locked(s, addr, write ? FAULT_WRITE : 0);
		if (err)
			break;
		e = pt_find(s, addr, &next);
		if (!e || !pte_get(e) || (write && !(pte_get(e) & PTE_W)))
			continue;
		user = (char *)page_virt(pte_page(pte_get(e))) + off;
		if (write)
			memcpy(user, k, now);
		else
			memcpy(k, user, now);
		k += now;
		addr += now;
		n -= now;
	}
	mutex_unlock(&s->lock);
	return err;
}

int vm_write(struct vm_space *s, uintptr_t addr, const void *src, size_t n)
{
	return access(s, addr, (void *)src, n, true);
}

int vm_read(struct vm_space *s, uintptr_t addr, void *dst, size_t n)
{
	return access(s, addr, dst, n, false);
}

bool vm_shared_key(struct vm_space *s, uintptr_t addr, uint64_t *object, uint64_t *offset)
{
	const struct vm_area *a;
	bool shared;

	mutex_lock(&s->lock);
	a = area_find(s, addr);
	shared = a && a->file && (a->flags & VM_SHARED);
	if (shared) {
		*object = vm_file_key(a->file);
		*offset = a->off + (addr - a->start);
	}
	mutex_unlock(&s->lock);
	return shared;
}
