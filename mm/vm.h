/* SPDX-License-Identifier: MIT */
/*
 * User address spaces.
 *
 * What:      a sorted set of areas (vm_area) over four-level page tables.
 *            Anonymous memory is demand-zero and copy-on-write; files map their
 *            page-cache pages (shared) or copies of them (private).
 * Locks:     space->lock (mutex) over areas and page-table changes, faults
 *            included; it comes before the page allocator and memcg, after
 *            nothing of fs.  User copies may fault and so take it: never copy
 *            to or from user memory while holding it or a spinlock.
 * Life time: users (threads with this space, procfs readers).  The last one
 *            unmaps everything, makes the CPUs that still have the tables
 *            loaded forget them, and frees everything.  Another process's
 *            space: vm_get() while process->space cannot change (process_lock).
 */
#ifndef MM_VM_H
#define MM_VM_H

#include "mm/page.h"
#include "kernel/lock.h"

struct file;
struct vm_space;

#define USER_TOP      0x00007ffffffff000UL /* exclusive */
#define USER_MMAP_TOP 0x00007ffff0000000UL /* mmap grows down from here */
#define USER_MIN      0x10000UL            /* nothing is mapped below */

#define VM_READ     (1u << 0)
#define VM_WRITE    (1u << 1)
#define VM_EXEC     (1u << 2)
#define VM_SHARED   (1u << 3)
#define VM_GROWSDOWN (1u << 4)
#define VM_LOCKED   (1u << 5)
#define VM_FIXED    (1u << 6) /* vm_map: replace what is there */
#define VM_FIXED_NOREPLACE (1u << 7)
#define VM_POPULATE (1u << 8)
#define VM_MAYWRITE (1u << 9) /* file was opened so that mprotect(PROT_WRITE) is allowed */

struct vm_space *vm_create(void); /* NULL without memory */
void vm_get(struct vm_space *s);  /* another user (thread) */
void vm_put(struct vm_space *s);  /* last user: unmaps everything; sleeps */
/* fork(): copy-on-write clone.  ERR_PTR(-ENOMEM) leaves the parent as it was. */
struct vm_space *vm_clone(struct vm_space *parent);

/**
 * vm_map - map anonymous memory (@file NULL) or a file
 * @addr: hint, or the address with VM_FIXED
 * @off: bytes into the file, page aligned
 * Return: address or negative errno as mmap(2).
 */
long vm_map(struct vm_space *s, uintptr_t addr, size_t len, unsigned flags, struct file *file,
	    uint64_t off);
int vm_unmap(struct vm_space *s, uintptr_t addr, size_t len);
int vm_protect(struct vm_space *s, uintptr_t addr, size_t len, unsigned flags);
long vm_remap(struct vm_space *s, uintptr_t old, size_t old_len, size_t new_len, unsigned mremap_flags, uintptr_t new_addr);
long vm_brk(struct vm_space *s, uintptr_t brk); /* 0 asks; returns the break in force */
void vm_set_brk_start(struct vm_space *s, uintptr_t start);
int vm_advise(struct vm_space *s, uintptr_t addr, size_t len, int advice);
int vm_lock_range(struct vm_space *s, uintptr_t addr, size_t len, bool lock);
long vm_sync(struct vm_space *s, uintptr_t addr, size_t len, int flags); /* msync */
int vm_mincore(struct vm_space *s, uintptr_t addr, size_t len, unsigned char *vec);

#define FAULT_WRITE (1u << 0)
#define FAULT_EXEC  (1u << 1)
#define FAULT_USER  (1u << 2)
/* Return: 0, -EFAULT (no area: SEGV_MAPERR), -EACCES (SEGV_ACCERR), -ENOMEM (limit or OOM), -EIO (SIGBUS). */
int vm_fault(struct vm_space *s, uintptr_t addr, unsigned flags);

/* Called by arch_switch()'s C half and exec: load @next's tables if need be; NULL keeps the old ones lazily. */
void vm_activate(struct vm_space *next);
/* Write a range of already mapped user memory of another space (exec builds the stack with it). */
int vm_write(struct vm_space *s, uintptr_t addr, const void *src, size_t n);
int vm_read(struct vm_space *s, uintptr_t addr, void *dst, size_t n);
void vm_init(void); /* after slab_init() */

/* Figures for /proc/PID/{stat,status,statm} (pages) and maps. */
struct vm_figures { uint64_t total, anon, file, pagetables, locked, data, stack, text; };
void vm_figures(struct vm_space *s, struct vm_figures *out);
struct vm_area_info {
	uintptr_t start, end;
	unsigned flags;
	uint64_t off, dev, ino;
	char name[256]; /* path, "[heap]", "[stack]" or "" */
};
/* First area that ends above @addr; false when none. */
bool vm_next_area(struct vm_space *s, uintptr_t addr, struct vm_area_info *out);

/*
 * What word @addr of a shared mapping is called in every space that maps it:
 * an object and a byte in it.  False: not in a shared mapping.
 */
bool vm_shared_key(struct vm_space *s, uintptr_t addr, uint64_t *object, uint64_t *offset);

/*
 * The file of this vm_file_key() was cut off at page @from: takes pages from there on out of the
 * tables, copies of private mappings included.  A fault under way asks the file again.  Sleeps.
 */
void vm_zap_file(struct vm_space *s, uint64_t key, uint64_t from);

/* Frees what it can of a dying space at once (OOM killer). */
void vm_reap(struct vm_space *s);

#endif /* MM_VM_H */
