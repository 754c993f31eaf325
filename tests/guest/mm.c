/* SPDX-License-Identifier: MIT */
/* Memory under real page tables: allocators on all CPUs, user copies, copy-on-write, TLBs. */
#ifndef TALLY_HOSTED
#include "arch/arch.h"
#include "arch/x86_64/pgtable.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/selftest.h"
#include "kernel/string.h"
#include "kernel/thread.h"
#include "mm/page.h"
#include "mm/slab.h"
#include "mm/uaccess.h"
#include "mm/vm.h"
#include "mm/vmalloc.h"

static uint64_t kinds_sum(struct page_stats *s)
{
	uint64_t sum = 0;

	page_stats(s);
	for (unsigned k = 0; k < NR_PAGE_KINDS; k++)
		sum += s->kind[k];
	return sum;
}

static void page_crew(unsigned index)
{
	struct page *held[32] = { NULL };
	uint32_t x = index * 2654435761u + 1;

	for (unsigned i = 0; i < 600; i++) {
		unsigned k = (x = x * 1664525u + 1013904223u) >> 27, order = (x >> 20) % 4;

		if (held[k]) {
			if (*(uint64_t *)page_virt(held[k]) != page_to_pfn(held[k]))
				selftest_fail(__FILE__, __LINE__, "a page was handed out twice");
			page_put(held[k]);
			held[k] = NULL;
		} else {
			held[k] = page_alloc(order, PAGE_KERNEL, GFP_NOWARN);
			if (held[k])
				*(uint64_t *)page_virt(held[k]) = page_to_pfn(held[k]);
		}
		if (i % 16 == 0)
			yield_cpu();
	}
	for (unsigned k = 0; k < 32; k++)
		if (held[k])
			page_put(held[k]);
}

SELFTEST(mm_pages, 20000)
{
	struct page_stats before, after;

	kinds_sum(&before);
	selftest_threads(min(nr_cpus * 2, 96u), page_crew);
	slab_drain();
	page_drain_pcp();
	/* Threads that end give their stacks and slabs back; a few hundred pages may stay cached. */
	SELFTEST_CHECK(kinds_sum(&after) == after.total);
	SELFTEST_CHECK(after.free + 2048 > before.free);
}

static _Atomic(void **) slab_box[64];

static void slab_crew(unsigned index)
{
	uint32_t x = index * 2654435761u + 7;

	for (unsigned i = 0; i < 1500; i++) {
		void **o = kzalloc(((x = x * 1664525u + 1013904223u) >> 24) + 16, 0);

		if (!o)
			continue;
		if (o[0] || o[1])
			selftest_fail(__FILE__, __LINE__, "an object is not zeroed");
		o[0] = o[1] = o;
		o = atomic_exchange_explicit(&slab_box[x >> 26], o, memory_order_acq_rel);
		if (o && (o[0] != o || o[1] != o))
			selftest_fail(__FILE__, __LINE__, "an object was handed out twice");
		kfree(o);
		if (i % 32 == 0)
			yield_cpu();
	}
}

SELFTEST(mm_slab, 20000)
{
	selftest_threads(min(nr_cpus, 72u), slab_crew);
	for (unsigned i = 0; i < ARRAY_SIZE(slab_box); i++)
		kfree(atomic_exchange_explicit(&slab_box[i], NULL, memory_order_acq_rel));
	SELFTEST_CHECK(true);
}

SELFTEST(mm_stacks, 2000)
{
	char *s[8], *v;

	for (unsigned i = 0; i < 8; i++) {
		s[i] = kstack_alloc(NULL);
		SELFTEST_CHECK(s[i]);
		memset(s[i], (int)i, KSTACK_SIZE);
		SELFTEST_CHECK(!kernel_va_to_page(((uintptr_t)s[i] - 1) & PAGE_MASK));
		SELFTEST_CHECK(kstack_is_guard((uintptr_t)s[i] - 8));
		SELFTEST_CHECK(!kstack_is_guard((uintptr_t)s[i]));
	}
	for (unsigned i = 0; i < 8; i++)
		kstack_free(s[i]);
	v = vmalloc(100000, 0);
	SELFTEST_CHECK(v);
	for (unsigned i = 0; i < 100000; i++)
		SELFTEST_CHECK(!v[i]);
	memset(v, 1, 100000);
	SELFTEST_CHECK(!kernel_va_to_page(ALIGN_UP((uintptr_t)v + 100000, PAGE_SIZE)));
	vfree(v);
	SELFTEST_CHECK(!kernel_va_to_page((uintptr_t)v));
}

/* Lends the current kernel thread an address space. */
static void borrow(struct vm_space *s)
{
	irqstate_t irq = irq_save();

	current->space = s;
	vm_activate(s);
	irq_restore(irq);
}

#define AT 0x10000000UL
#define U(off) ((void __user *)(AT + (off)))

SELFTEST(mm_uaccess, 4000)
{
	static char buf[3 * 4096], back[3 * 4096];
	struct vm_space *s = vm_create();
	uint32_t seen;
	char path[16];

	SELFTEST_CHECK(s);
	/* Two pages, then a hole, then one that is read-only. */
	SELFTEST_CHECK(vm_map(s, AT, 8192, VM_READ | VM_WRITE | VM_FIXED, NULL, 0) == (long)AT);
	SELFTEST_CHECK(vm_map(s, AT + 12288, 4096, VM_READ | VM_FIXED, NULL, 0) > 0);
	borrow(s);
	for (unsigned i = 0; i < sizeof(buf); i++)
		buf[i] = (char)(i * 7 + i / 256);
	/* Every size and both alignments around the end: the count is exact. */
	for (unsigned n = 0; n < 200; n++) {
		unsigned over = n % 67;

		SELFTEST_CHECK(copy_to_user_part(U(8192 - n), buf, n + over) == n);
		SELFTEST_CHECK(copy_from_user_part(back, U(8192 - n), n + over) == n);
		SELFTEST_CHECK(!memcmp(back, buf, n));
		SELFTEST_CHECK(copy_to_user(U(8192 - n), buf, n) == 0);
		SELFTEST_CHECK(!over || copy_to_user(U(8192 - n), buf, n + over) == -EFAULT);
		SELFTEST_CHECK(clear_user_part(U(8192 - n), n + over) == n);
	}
	SELFTEST_CHECK(copy_to_user(U(3), buf, 8180) == 0);
	SELFTEST_CHECK(copy_from_user(back, U(3), 8180) == 0 && !memcmp(back, buf, 8180));
	SELFTEST_CHECK(copy_to_user(U(12288), buf, 1) == -EFAULT);
	SELFTEST_CHECK(copy_from_user(back, U(12288), 4096) == 0);
	SELFTEST_CHECK(copy_from_user(back, (void *)buf, 8) == -EFAULT);
	SELFTEST_CHECK(copy_from_user(back, (void *)(USER_TOP - 4), 8) == -EFAULT);
	SELFTEST_CHECK(copy_to_user(NULL, buf, 8) == -EFAULT);
	SELFTEST_CHECK(copy_to_user(U(8190), "abcdefgh", 2) == 0);
	SELFTEST_CHECK(strncpy_from_user(path, U(8190), 16) == -EFAULT);
	SELFTEST_CHECK(copy_to_user(U(100), "hello", 6) == 0);
	SELFTEST_CHECK(strncpy_from_user(path, U(100), 16) == 5 && !strcmp(path, "hello"));
	SELFTEST_CHECK(strncpy_from_user(path, U(100), 5) == -ENAMETOOLONG);
	SELFTEST_CHECK(put_user((uint32_t)5, (uint32_t *)U(64)) == 0);
	SELFTEST_CHECK(user_cmpxchg32(U(64), 5, 6, &seen) == 0 && seen == 5);
	SELFTEST_CHECK(user_cmpxchg32(U(64), 5, 7, &seen) == 0 && seen == 6);
	SELFTEST_CHECK(user_load32(U(64), &seen) == 0 && seen == 6);
	SELFTEST_CHECK(user_load32(U(8192), &seen) == -EFAULT);
	SELFTEST_CHECK(user_load32(U(65), &seen) == -EFAULT);
	borrow(NULL);
	vm_put(s);
}

SELFTEST(mm_cow, 4000)
{
	struct vm_space *a = vm_create(), *b;
	struct page_stats before, after;
	uint32_t v;

	SELFTEST_CHECK(a);
	page_stats(&before);
	SELFTEST_CHECK(vm_map(a, AT, 64 * 4096, VM_READ | VM_WRITE | VM_FIXED, NULL, 0) > 0);
	borrow(a);
	for (uint32_t i = 0; i < 64; i++)
		SELFTEST_CHECK(put_user(i, (uint32_t *)U(i * 4096)) == 0);
	b = vm_clone(a);
	SELFTEST_CHECK(!IS_ERR(b));
	/* The stale writable translations of this CPU must be gone. */
	for (uint32_t i = 0; i < 64; i += 2)
		SELFTEST_CHECK(put_user(i + 1000, (uint32_t *)U(i * 4096)) == 0);
	borrow(b);
	for (uint32_t i = 0; i < 64; i++) {
		SELFTEST_CHECK(get_user(v, (uint32_t *)U(i * 4096)) == 0 && v == i);
		SELFTEST_CHECK(put_user(i + 2000, (uint32_t *)U(i * 4096)) == 0);
	}
	borrow(a);
	for (uint32_t i = 0; i < 64; i++)
		SELFTEST_CHECK(get_user(v, (uint32_t *)U(i * 4096)) == 0 &&
			       v == (i % 2 ? i : i + 1000));
	SELFTEST_CHECK(vm_protect(a, AT, 4096, VM_READ) == 0);
	SELFTEST_CHECK(put_user(1u, (uint32_t *)U(0)) == -EFAULT);
	SELFTEST_CHECK(vm_protect(a, AT, 4096, 0) == 0);
	SELFTEST_CHECK(get_user(v, (uint32_t *)U(0)) == -EFAULT);
	SELFTEST_CHECK(vm_protect(a, AT, 4096, VM_READ | VM_WRITE) == 0);
	SELFTEST_CHECK(get_user(v, (uint32_t *)U(0)) == 0 && v == 1000);
	SELFTEST_CHECK(vm_unmap(a, AT + 4096, 4096) == 0);
	SELFTEST_CHECK(get_user(v, (uint32_t *)U(4096)) == -EFAULT);
	borrow(NULL);
	vm_put(a);
	vm_put(b);
	page_stats(&after);
	SELFTEST_CHECK(after.kind[PAGE_ANON] == before.kind[PAGE_ANON]);
}

/*
 * Threads on several CPUs read a page that one of them keeps replacing: what was
 * read after a replacement must not be older than it.
 */
static struct vm_space *tlb_space;
static _Atomic uint32_t tlb_current;
static _Atomic bool tlb_done;

static void tlb_crew(unsigned index)
{
	borrow(tlb_space);
	if (index == 0) {
		for (uint32_t round = 1; round < 100; round++) {
			if (vm_map(tlb_space, AT, 4096, VM_READ | VM_WRITE | VM_FIXED, NULL, 0) < 0 ||
			    put_user(round, (uint32_t *)U(0)))
				selftest_fail(__FILE__, __LINE__, "mapping failed");
			atomic_store_explicit(&tlb_current, round, memory_order_seq_cst);
			if (round % 8 == 0)
				yield_cpu();
		}
		atomic_store_explicit(&tlb_done, true, memory_order_release);
	} else {
		while (!atomic_load_explicit(&tlb_done, memory_order_acquire)) {
			uint32_t low = atomic_load_explicit(&tlb_current, memory_order_seq_cst), v;

			/* Between map and put the page is empty. */
			if (!get_user(v, (uint32_t *)U(0)) && v && v < low)
				selftest_fail(__FILE__, __LINE__, "a TLB entry outlived its page");
			yield_cpu();
		}
	}
	borrow(NULL);
}

SELFTEST(mm_tlb, 15000)
{
	tlb_space = vm_create();
	SELFTEST_CHECK(tlb_space);
	atomic_store_explicit(&tlb_done, false, memory_order_relaxed);
	atomic_store_explicit(&tlb_current, 0, memory_order_relaxed);
	SELFTEST_CHECK(vm_map(tlb_space, AT, 4096, VM_READ | VM_WRITE | VM_FIXED, NULL, 0) > 0);
	selftest_threads(min(nr_cpus, 6u), tlb_crew);
	vm_put(tlb_space);
}

/* What memory costs on this machine; only printed. */
static uint64_t since(uint64_t t, unsigned n)
{
	return (clock_ns() - t) / n;
}

SELFTEST(mm_cost, 20000)
{
	static char buf[65536];
	struct vm_space *s = vm_create(), *c;
	uint64_t t;
	struct page *p;

	SELFTEST_CHECK(s);
	t = clock_ns();
	for (unsigned i = 0; i < 10000; i++) {
		p = page_alloc(0, PAGE_KERNEL, 0);
		SELFTEST_CHECK(p);
		page_put(p);
	}
	pr_info("cost: page_alloc, page_put     %6lu ns", since(t, 10000));
	t = clock_ns();
	for (unsigned i = 0; i < 10000; i++)
		kfree(kmalloc(100, 0));
	pr_info("cost: kmalloc, kfree           %6lu ns", since(t, 10000));
	SELFTEST_CHECK(vm_map(s, AT, 1 << 22, VM_READ | VM_WRITE | VM_FIXED, NULL, 0) > 0);
	t = clock_ns();
	for (unsigned i = 0; i < 1000; i++)
		SELFTEST_CHECK(!vm_fault(s, AT + i * PAGE_SIZE, FAULT_WRITE));
	pr_info("cost: anonymous fault, no trap %6lu ns", since(t, 1000));
	borrow(s);
	t = clock_ns();
	for (unsigned i = 0; i < 50; i++)
		SELFTEST_CHECK(!copy_to_user(U(0), buf, sizeof(buf)));
	pr_info("cost: copy_to_user             %6lu MB/s", 50UL * 65536 * 1000 / (clock_ns() - t));
	t = clock_ns();
	for (unsigned i = 0; i < 20; i++) {
		c = vm_clone(s);
		SELFTEST_CHECK(!IS_ERR(c));
		vm_put(c);
	}
	pr_info("cost: clone of 1000 pages      %6lu us", since(t, 20) / 1000);
	borrow(NULL);
	t = clock_ns();
	vm_put(s);
	pr_info("cost: end of a space           %6lu us", since(t, 1) / 1000);
}
#endif
