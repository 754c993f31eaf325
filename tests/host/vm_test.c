/* SPDX-License-Identifier: MIT */
/*
 * Address spaces on software page tables: random mmap, munmap, mprotect, mremap,
 * madvise, fork and accesses, compared with a plain model page by page.
 *
 * SOURCES: mm/bootmem.c mm/page_alloc.c mm/page_stats.c mm/each_cpu.c mm/slab.c mm/slab_slow.c mm/kmalloc.c mm/page_index.c mm/rmap.c mm/vm.c mm/vm_area.c mm/vm_pt.c mm/vm_fault.c mm/vm_fork.c mm/vm_teardown.c mm/vm_info.c mm/vm_advise.c mm/vm_remap.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/host/mm_stub.h"
#include "kernel/rcu.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "mm/page_index.h"
#include "mm/slab.h"
#include "mm/vm.h"
#include "mm/vm_int.h"

/* ---- the machine and files ---- */

uint64_t pte_nx = PTE_NX;
static unsigned flushes;

void tlb_space_init(struct vm_space *s)
{
	for (unsigned i = 256; i < 512; i++)
		pte_set(&s->pml4[i], 0);
}
void tlb_flush(struct vm_space *s, const uintptr_t *va, unsigned n, bool lazy_too)
{
	HOST_CHECK(n);
	flushes++;
}
bool tlb_drop(struct vm_space *s)
{
	return true;
}

struct file {
	int refs;
	struct page_index *pages;
	uint64_t size; /* pages */
	unsigned mode;
};

void vm_file_get(struct file *f)
{
	f->refs++;
}
void vm_file_put(struct file *f)
{
	HOST_CHECK(f->refs-- > 0);
}
int vm_file_check(struct file *f, unsigned *flags)
{
	*flags |= VM_MAYWRITE;
	return 0;
}
struct page *vm_file_page(struct file *f, uint64_t index)
{
	if (index >= f->size)
		return ERR_PTR(-EIO);
	return page_index_get(f->pages, index, NULL);
}
void vm_file_pages_around(struct file *f, uint64_t first, unsigned want, struct page **out)
{
	page_index_lookup_some(f->pages, first, want, out);
}
bool vm_file_cached(struct file *f, uint64_t index)
{
	return true;
}
struct page *vm_file_page_write(struct file *f, uint64_t index)
{
	return vm_file_page(f, index);
}
struct mapping *vm_file_mapping(const struct file *f)
{
	return NULL; /* a memory file */
}
int vm_file_sync(struct file *f)
{
	return 0;
}
void page_mark_dirty(struct page *p);
void page_mark_dirty(struct page *p)
{
}
struct file *vm_shm_create(uint64_t pages)
{
	return NULL;
}
uint64_t vm_file_key(const struct file *f)
{
	return (uintptr_t)f;
}
void vm_file_name(struct file *f, struct vm_area_info *out)
{
	str_copy(out->name, "file", sizeof(out->name));
}

/* ---- the model ---- */

#define BASE   0x40000000UL
#define WINDOW 96 /* pages; crosses nothing by itself, BASE2 crosses a table */
#define FILE_PAGES 24

struct model_page {
	bool mapped, shared;
	unsigned prot;
	int fpage;     /* page of the file, -1: anonymous */
	bool own;      /* private copy was written (value below), or anonymous */
	uint8_t value;
};
struct model {
	struct vm_space *s;
	struct model_page p[WINDOW];
};
static uint8_t file_value[FILE_PAGES];
static struct file file;
static uintptr_t base;
static uint64_t seed;

static uintptr_t addr_of(unsigned i)
{
	return base + i * PAGE_SIZE;
}

static void check_page(struct model *m, unsigned i)
{
	struct model_page *p = &m->p[i];
	uint8_t v = 0;
	int want = !p->mapped ? -EFAULT : !p->prot ? -EACCES : 0;
	int err;

	if (!want && p->fpage >= FILE_PAGES && !p->own)
		want = -EIO;
	err = vm_read(m->s, addr_of(i) + 100, &v, 1);
	HOST_CHECK_EQ(err, want);
	if (!err)
		HOST_CHECK_EQ(v, p->own || p->fpage < 0 ? p->value : file_value[p->fpage]);
}

static void write_page(struct model *m, unsigned i)
{
	struct model_page *p = &m->p[i];
	uint8_t v = (uint8_t)host_random(&seed);
	int want = !p->mapped ? -EFAULT : !(p->prot & VM_WRITE) ? -EACCES : 0;
	int err;

	if (!want && p->fpage >= FILE_PAGES && !p->own)
		want = -EIO;
	err = vm_write(m->s, addr_of(i) + 100, &v, 1);
	HOST_CHECK_EQ(err, want);
	if (err)
		return;
	if (p->shared && p->fpage >= 0) {
		file_value[p->fpage] = v;
	} else {
		p->own = true;
		p->value = v;
	}
}

static unsigned random_prot(void)
{
	static const unsigned prots[] = { 0, VM_READ, VM_READ | VM_WRITE, VM_READ | VM_WRITE,
					  VM_READ | VM_EXEC };

	return prots[host_random(&seed) % ARRAY_SIZE(prots)];
}

static void one_op(struct model *m)
{
	unsigned i = host_random(&seed) % WINDOW;
	unsigned n = 1 + host_random(&seed) % min(12u, WINDOW - i);
	unsigned prot = random_prot();
	long r;

	switch (host_random(&seed) % 12) {
	case 0:
	case 1:
		r = vm_map(m->s, addr_of(i), n * PAGE_SIZE,
			   prot | VM_FIXED | (n == 3 ? VM_POPULATE : 0), NULL, 0);
		HOST_CHECK_EQ(r, addr_of(i));
		for (unsigned k = i; k < i + n; k++)
			m->p[k] = (struct model_page){ .mapped = true, .prot = prot, .fpage = -1 };
		break;
	case 2: {
		bool shared = n & 1;
		unsigned f = host_random(&seed) % FILE_PAGES;

		r = vm_map(m->s, addr_of(i), n * PAGE_SIZE,
			   prot | VM_FIXED | (shared ? VM_SHARED : 0), &file, f * PAGE_SIZE);
		HOST_CHECK_EQ(r, addr_of(i));
		for (unsigned k = 0; k < n; k++)
			m->p[i + k] = (struct model_page){ .mapped = true, .shared = shared,
							   .prot = prot, .fpage = (int)(f + k) };
		break;
	}
	case 3:
		HOST_CHECK_EQ(vm_unmap(m->s, addr_of(i), n * PAGE_SIZE), 0);
		for (unsigned k = i; k < i + n; k++)
			m->p[k].mapped = false;
		break;
	case 4: {
		bool hole = false;

		for (unsigned k = i; k < i + n && !hole; k++) {
			hole = !m->p[k].mapped;
			if (!hole)
				m->p[k].prot = prot;
		}
		HOST_CHECK_EQ(vm_protect(m->s, addr_of(i), n * PAGE_SIZE, prot), hole ? -ENOMEM : 0);
		break;
	}
	case 5:
		(void)vm_advise(m->s, addr_of(i), n * PAGE_SIZE, 4);
		for (unsigned k = i; k < i + n; k++) {
			if (m->p[k].shared)
				continue;
			m->p[k].own = false;
			m->p[k].value = 0;
		}
		break;
	case 6: { /* mremap, to a place in the window that does not overlap; one area only */
		unsigned to = host_random(&seed) % WINDOW;

		n = 1;
		if (to == i || !m->p[i].mapped)
			break;
		r = vm_remap(m->s, addr_of(i), n * PAGE_SIZE, n * PAGE_SIZE, 3, addr_of(to));
		HOST_CHECK_EQ(r, addr_of(to));
		m->p[to] = m->p[i];
		m->p[i].mapped = false;
		break;
	}
	case 7: {
		struct model_page *p = &m->p[i];
		int err = vm_lock_range(m->s, addr_of(i), PAGE_SIZE, true);

		HOST_CHECK_EQ(vm_lock_range(m->s, addr_of(i), PAGE_SIZE, false),
			      p->mapped ? 0 : -ENOMEM);
		/* Locking makes a writable private page the space's own. */
		if (!err && p->fpage >= 0 && !p->shared && !p->own && (p->prot & VM_WRITE)) {
			p->own = true;
			p->value = file_value[p->fpage];
		}
		break;
	}
	default:
		for (unsigned k = i; k < i + n; k++)
			write_page(m, k);
	}
}

static void check_all(struct model *m)
{
	struct vm_area_info a;
	uintptr_t at = 0, last = 0;
	struct vm_figures f;
	uint64_t pages = 0, mapped = 0;

	for (unsigned i = 0; i < WINDOW; i++) {
		check_page(m, i);
		pages += m->p[i].mapped;
	}
	while (vm_next_area(m->s, at, &a)) {
		HOST_CHECK(a.start >= last && a.end > a.start);
		mapped += (a.end - a.start) / PAGE_SIZE;
		last = a.end;
		at = a.end;
	}
	HOST_CHECK_EQ(mapped, pages);
	vm_figures(m->s, &f);
	HOST_CHECK_EQ(f.total, pages);
	HOST_CHECK(f.anon + f.file <= pages);
}

static void start(void)
{
	page_alloc_init_percpu();
	page_index_init();
	vm_init();
	stub_charging = true;
	file.pages = page_index_create();
	file.size = FILE_PAGES;
	memset(file_value, 0, sizeof(file_value));
}

static void random_ops(void)
{
	static struct model m[3];
	struct page_stats before, after;
	int64_t bytes;

	start();
	page_stats(&before);
	bytes = stub_bytes;
	for (unsigned round = 0; round < 6; round++) {
		/* Once inside one table, once across the border of two of each level. */
		base = round & 1 ? (1UL << 39) - WINDOW / 2 * PAGE_SIZE : BASE;
		seed = round + 1;
		memset(m, 0, sizeof(m));
		m[0].s = vm_create();
		HOST_CHECK(m[0].s);
		for (unsigned step = 0; step < 3000; step++) {
			unsigned k = host_random(&seed) % 3;

			if (!m[k].s) {
				unsigned from = 0;

				while (!m[from].s)
					from++;
				if (step % 8 == 0) {
					memcpy(m[k].p, m[from].p, sizeof(m[k].p));
					m[k].s = vm_clone(m[from].s);
					HOST_CHECK(!IS_ERR(m[k].s));
				}
				continue;
			}
			if (k && step % 97 == 0) {
				check_all(&m[k]);
				vm_put(m[k].s);
				m[k].s = NULL;
				continue;
			}
			one_op(&m[k]);
			check_page(&m[k], host_random(&seed) % WINDOW);
			if (step % 200 == 0)
				for (unsigned i = 0; i < 3; i++)
					if (m[i].s)
						check_all(&m[i]);
		}
		for (unsigned i = 0; i < 3; i++)
			if (m[i].s)
				vm_put(m[i].s);
		HOST_CHECK_EQ(file.refs, 0);
		page_stats(&after);
		HOST_CHECK_EQ(after.kind[PAGE_ANON], before.kind[PAGE_ANON]);
		HOST_CHECK_EQ(after.kind[PAGE_PGTABLE], before.kind[PAGE_PGTABLE]);
		HOST_CHECK_EQ(stub_pages, 0);
	}
	page_index_truncate(file.pages, 0);
	rcu_barrier();
	HOST_CHECK_EQ(stub_bytes, bytes);
	HOST_CHECK(flushes);
	check_sum();
}

static void test_random(void **state)
{
	(void)state;
	assert_int_equal(host_run_for(1, random_ops, 120), 0);
}

/* What mmap(2) and friends refuse; merging; brk; gaps. */
static void rules(void)
{
	struct vm_space *s;
	struct vm_area_info a;
	long p, q;

	start();
	s = vm_create();
	HOST_CHECK_EQ(vm_map(s, 0, 0, VM_READ, NULL, 0), -EINVAL);
	HOST_CHECK_EQ(vm_map(s, 0x1001, 4096, VM_READ | VM_FIXED, NULL, 0), -EINVAL);
	HOST_CHECK_EQ(vm_map(s, 0, 1UL << 48, VM_READ, NULL, 0), -ENOMEM);
	HOST_CHECK_EQ(vm_map(s, USER_TOP, 4096, VM_READ | VM_FIXED, NULL, 0), -ENOMEM);
	HOST_CHECK_EQ(vm_map(s, 0, 4096, VM_READ | VM_FIXED, NULL, 0), -EPERM);
	HOST_CHECK_EQ(vm_map(s, 0, 4096, VM_READ, &file, 100), -EINVAL);
	HOST_CHECK_EQ(vm_unmap(s, 0x1234, 4096), -EINVAL);
	HOST_CHECK_EQ(vm_unmap(s, 0x10000, 0), -EINVAL);
	HOST_CHECK_EQ(vm_unmap(s, 0x10000, 4096), 0);
	/* Top-down, and neighbours merge. */
	p = vm_map(s, 0, 8192, VM_READ | VM_WRITE, NULL, 0);
	HOST_CHECK_EQ(p, USER_MMAP_TOP - 8192);
	q = vm_map(s, 0, 4096, VM_READ | VM_WRITE, NULL, 0);
	HOST_CHECK_EQ(q, p - 4096);
	HOST_CHECK(vm_next_area(s, 0, &a));
	HOST_CHECK(a.start == (uintptr_t)q && a.end == USER_MMAP_TOP);
	HOST_CHECK_EQ(vm_map(s, (uintptr_t)q, 4096, VM_READ | VM_FIXED_NOREPLACE, NULL, 0), -EEXIST);
	/* A hint that is free is taken, one that is not is not. */
	HOST_CHECK_EQ(vm_map(s, 0x50000000, 4096, VM_READ, NULL, 0), 0x50000000);
	HOST_CHECK(vm_map(s, 0x50000000, 4096, VM_READ, NULL, 0) != 0x50000000);
	/* brk */
	vm_set_brk_start(s, 0x600000);
	HOST_CHECK_EQ(vm_brk(s, 0), 0x600000);
	HOST_CHECK_EQ(vm_brk(s, 0x605123), 0x605123);
	HOST_CHECK_EQ(vm_write(s, 0x605fff, "x", 1), 0);
	HOST_CHECK_EQ(vm_write(s, 0x606000, "x", 1), -EFAULT);
	HOST_CHECK_EQ(vm_brk(s, 0x601000), 0x601000);
	HOST_CHECK_EQ(vm_write(s, 0x601000, "x", 1), -EFAULT);
	HOST_CHECK_EQ(vm_brk(s, 0x5fffff), 0x601000);
	/* Stack growth stops at the gap. */
	p = vm_map(s, 0x70000000, 0x10000, VM_READ | VM_WRITE | VM_GROWSDOWN | VM_FIXED, NULL, 0);
	HOST_CHECK_EQ(p, 0x70000000);
	HOST_CHECK_EQ(vm_write(s, 0x70000000 - 200000, "x", 1), 0);
	HOST_CHECK_EQ(vm_write(s, 0x70000000 - (9 << 20), "x", 1), -EFAULT);
	/* Growth in place and by moving. */
	p = vm_map(s, 0x30000000, 8192, VM_READ | VM_WRITE | VM_FIXED, NULL, 0);
	HOST_CHECK_EQ(vm_write(s, 0x30000000, "hello", 5), 0);
	HOST_CHECK_EQ(vm_remap(s, 0x30000000, 8192, 16384, 0, 0), 0x30000000);
	vm_map(s, 0x30004000, 4096, VM_READ | VM_FIXED, NULL, 0);
	HOST_CHECK_EQ(vm_remap(s, 0x30000000, 16384, 32768, 0, 0), -ENOMEM);
	q = vm_remap(s, 0x30000000, 16384, 32768, 1, 0);
	HOST_CHECK(q > 0);
	{
		char buf[6] = "";

		HOST_CHECK_EQ(vm_read(s, (uintptr_t)q, buf, 5), 0);
		HOST_CHECK(!strcmp(buf, "hello"));
	}
	HOST_CHECK_EQ(vm_read(s, 0x30000000, &a, 1), -EFAULT);
	HOST_CHECK_EQ(vm_remap(s, 0x30000000, 4096, 8192, 1, 0), -EFAULT);
	/* Over the limit: an error, and nothing is left over. */
	vm_map(s, 0x20000000, 1 << 20, VM_READ | VM_WRITE | VM_FIXED, NULL, 0);
	atomic_store(&stub_limit, stub_pages + 10);
	{
		int err = 0;
		unsigned i;

		for (i = 0; !err && i < 256; i++)
			err = vm_write(s, 0x20000000 + i * PAGE_SIZE, "x", 1);
		HOST_CHECK_EQ(err, -ENOMEM);
		HOST_CHECK(i <= 11);
	}
	HOST_CHECK(IS_ERR(vm_clone(s)));
	atomic_store(&stub_limit, INT64_MAX);
	vm_reap(s);
	HOST_CHECK_EQ(vm_read(s, 0x20000000, &a, 1), -EFAULT);
	vm_put(s);
	HOST_CHECK_EQ(stub_pages, 0);
	/* Thousands of areas. */
	s = vm_create();
	for (unsigned i = 0; i < 20000; i++)
		HOST_CHECK_EQ(vm_map(s, 0x100000 + i * 8192, 4096, VM_READ | VM_FIXED, NULL, 0),
			      0x100000 + i * 8192);
	for (unsigned i = 0; i < 20000; i += 2)
		HOST_CHECK_EQ(vm_unmap(s, 0x100000 + i * 8192, 4096), 0);
	vm_put(s);
	HOST_CHECK_EQ(stub_pages, 0);
	check_sum();
}

static void test_rules(void **state)
{
	(void)state;
	assert_int_equal(host_run(1, rules), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
