/* SPDX-License-Identifier: MIT */
/*
 * Page faults: demand-zero, copy-on-write, file pages.
 *
 * The space's lock is held but for getting a page from a file, which may take
 * the file's locks and sleep; then the area is looked up again (space->seq says
 * whether any changed).  A read fault on a file also maps the cached pages
 * around it: a program's start touches most of them.
 */
#include "mm/vm_int.h"
#include "mm/page_cache.h"
#include "kernel/log.h"
#include "kernel/process.h"
#include "kernel/string.h"

#define RLIMIT_STACK_ 3

struct page *vm_new_anon(void)
{
	struct page *p = page_alloc(0, PAGE_ANON, 0);
	struct owner *o;

	if (!p)
		return NULL;
	o = current_owner();
	if (o && memcg_charge_page(p, o, MEMCG_ANON, 0)) {
		page_put(p);
		return NULL;
	}
	return p;
}

/* Puts a page into an empty entry.  The caller's reference goes to the table. */
static void map_page(struct vm_space *s, pte_t *e, struct page *p, uint64_t bits)
{
	page_map_get(p);
	vm_count(bits & PTE_ANON ? &s->nr_anon : &s->nr_file, 1);
	pte_set(e, page_pte(p) | bits);
}

/*
 * What is read before it was ever written: one page of zeroes for all, charged to
 * nobody; the first write copies it like a page of a file.  Held for ever once made.
 */
static struct page *zero_page_get(void)
{
	static _Atomic(struct page *) zero;
	struct page *p = atomic_load_explicit(&zero, memory_order_acquire), *other = NULL;

	if (!p) {
		p = page_alloc(0, PAGE_KERNEL, 0);
		if (!p)
			return NULL;
		clear_page(page_virt(p));
		if (!atomic_compare_exchange_strong_explicit(&zero, &other, p, memory_order_acq_rel,
							     memory_order_acquire)) {
			page_put(p);
			p = other;
		}
	}
	page_get(p);
	return p;
}

static int fault_anon(struct vm_space *s, const struct vm_area *a, pte_t *e, bool write)
{
	uint64_t bits = pte_prot(a->flags) | PTE_ANON;
	struct page *p;

	if (!write && !(a->flags & VM_SHARED)) {
		p = zero_page_get();
		if (!p)
			return -ENOMEM;
		map_page(s, e, p, pte_prot(a->flags));
		return 0;
	}
	p = vm_new_anon();
	if (!p)
		return -ENOMEM;
	clear_page(page_virt(p));
	if (a->flags & VM_WRITE)
		bits |= PTE_W | PTE_D;
	map_page(s, e, p, bits);
	return 0;
}

/* Write to a page that is mapped read-only in a private writable area. */
static int fault_cow(struct vm_space *s, const struct vm_area *a, pte_t *e, uintptr_t addr)
{
	uint64_t v = pte_get(e);
	struct page *old = pte_page(v), *p;
	struct vm_gather g;

	if ((v & PTE_ANON) && atomic_load_explicit(&old->refs, memory_order_acquire) == 1) {
		/* Only this mapping is left: no copy. */
		atomic_fetch_or_explicit(e, PTE_W | PTE_D, memory_order_acq_rel);
		return 0;
	}
	page_get(old); /* making room may take it out of the tables, ours included */
	p = vm_new_anon();
	if (!p || pte_get(e) != v) {
		page_put(old);
		if (p)
			page_put(p);
		return p ? -EAGAIN : -ENOMEM;
	}
	copy_page(page_virt(p), page_virt(old));
	page_put(old);
	gather_init(&g, s);
	atomic_exchange_explicit(e, 0, memory_order_acq_rel);
	vm_count(v & PTE_ANON ? &s->nr_anon : &s->nr_file, -1);
	page_map_put(old);
	gather_page(&g, addr, old, false);
	map_page(s, e, p, pte_prot(a->flags) | PTE_ANON | PTE_W | PTE_D);
	gather_finish(&g);
	return 0;
}

/* The pages a file fault wants, got without the lock. */
struct file_pages {
	struct page *page;
	uintptr_t base; /* address of around[0]; aligned, so all entries are in one table */
	unsigned want;  /* bits: entries of the window that are empty */
	struct page *around[FAULT_AROUND];
};

static void file_pages_put(struct file_pages *f)
{
	if (f->page)
		page_put(f->page);
	for (unsigned m = f->want; m; m &= m - 1) {
		struct page *p = f->around[__builtin_ctz(m)];

		if (p)
			page_put(p);
	}
}

/* Which entries around @addr a read fault may fill as well.  @e: that of @addr. */
static void plan_around(const struct vm_area *a, uintptr_t addr, pte_t *e, struct file_pages *f)
{
	unsigned at = (addr >> PAGE_SHIFT) & (FAULT_AROUND - 1), lo = 0, hi = FAULT_AROUND;

	f->base = addr - at * PAGE_SIZE;
	if (a->start > f->base)
		lo = (unsigned)((a->start - f->base) >> PAGE_SHIFT);
	if (a->end - f->base < FAULT_AROUND * PAGE_SIZE)
		hi = (unsigned)((a->end - f->base) >> PAGE_SHIFT);
	e -= at;
	for (unsigned i = lo; i < hi; i++)
		if (i != at && !pte_get(&e[i]))
			f->want |= 1u << i;
}

static void map_around(struct vm_space *s, pte_t *e, struct file_pages *f, uint64_t bits)
{
	for (unsigned m = f->want; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);

		if (!f->around[i] || pte_get(&e[i]))
			continue;
		map_page(s, &e[i], f->around[i], bits);
		f->around[i] = NULL;
	}
}

/*
 * Maps @f's page for writing into a shared area.  It is marked dirty after the entry
 * has become writable: were it before, write-back could clean it in between, find no
 * writable entry, and miss what is written through ours.  Under lock.
 */
static void map_shared_write(struct vm_space *s, pte_t *e, struct file_pages *f, uint64_t bits)
{
	struct page *p = f->page;
	uint64_t v = pte_get(e);

	bits |= PTE_W | PTE_D;
	if (!v) {
		page_get(p);
		map_page(s, e, p, bits);
	} else if (pte_page(v) == p) {
		atomic_fetch_or_explicit(e, PTE_W | PTE_D, memory_order_acq_rel);
	} else {
		return; /* another page meanwhile: the access faults again */
	}
	page_mark_dirty(p);
}

/*
 * Lock held on entry and return, dropped in between.  Return: 0 if it was mapped,
 * -EAGAIN if the areas changed meanwhile, else an error.  *major: the store had to be
 * asked.
 */
static int fault_file(struct vm_space *s, struct vm_area *a, uintptr_t addr, unsigned flags,
		      pte_t *e, bool *major)
{
	struct file *file = a->file;
	uint64_t seq = s->seq, index = (a->off + (addr - a->start)) >> PAGE_SHIFT, bits;
	bool copy = (flags & FAULT_WRITE) && !(a->flags & VM_SHARED);
	bool track = a->mapping && (flags & FAULT_WRITE) && !copy, store = a->mapping;
	struct file_pages f;
	int err = 0;

	f.want = 0;
	vm_file_get(file);
	if (!(flags & FAULT_WRITE)) {
		plan_around(a, addr, e, &f);
		memset(f.around, 0, sizeof(f.around));
	}
	mutex_unlock(&s->lock);
	*major |= store && !vm_file_cached(file, index);
	f.page = track ? vm_file_page_write(file, index) : vm_file_page(file, index);
	if (IS_ERR(f.page)) {
		err = (int)PTR_ERR(f.page);
		f.page = NULL;
	} else if (f.want) {
		/* May be below 0 for entries that are not wanted; those are not looked at. */
		vm_file_pages_around(file, index - ((addr - f.base) >> PAGE_SHIFT), f.want,
				     f.around);
	}
	mutex_lock(&s->lock);
	if (s->seq != seq || s->dead) {
		err = s->dead ? -EFAULT : -EAGAIN;
		goto out;
	}
	if (err) {
		err = err == -ENOMEM ? -ENOMEM : -EIO;
		goto out;
	}
	/* Tables go only together with areas, so the entry is still where it was. */
	bits = pte_prot(a->flags);
	if (copy && !pte_get(e)) {
		struct page *p = vm_new_anon();

		if (!p) {
			err = -ENOMEM;
			goto out;
		}
		copy_page(page_virt(p), page_virt(f.page));
		map_page(s, e, p, bits | PTE_ANON | PTE_W | PTE_D);
		goto out;
	}
	if (track) {
		map_shared_write(s, e, &f, bits);
		goto out;
	}
	/* With a backing store a page is writable only once it counts as dirty. */
	if ((a->flags & (VM_SHARED | VM_WRITE)) == (VM_SHARED | VM_WRITE) && !a->mapping)
		bits |= PTE_W | PTE_D;
	if (!pte_get(e)) {
		map_page(s, e, f.page, bits);
		f.page = NULL;
	}
	if (f.want)
		map_around(s, e - ((addr - f.base) >> PAGE_SHIFT), &f, bits);
out:
	file_pages_put(&f);
	vm_file_put(file);
	return err;
}

/* Grows a stack area down to @addr if it may.  Under lock. */
static struct vm_area *grow_stack(struct vm_space *s, unsigned i, uintptr_t addr)
{
	struct vm_area *a = i < s->nr ? s->areas[i] : NULL;
	struct process *p = current_process();
	uint64_t limit = p ? p->rlimits[RLIMIT_STACK_][0] : 8UL << 20;
	uintptr_t start = ALIGN_DOWN(addr, PAGE_SIZE);
	uintptr_t below = i ? s->areas[i - 1]->end : USER_MIN;

	if (!a || !(a->flags & VM_GROWSDOWN) || a->end - start > limit ||
	    start < below + (i && !(s->areas[i - 1]->flags & VM_PROT) ? 0 : STACK_GAP))
		return NULL;
	vm_count(&s->nr_mapped, (int64_t)((a->start - start) >> PAGE_SHIFT));
	if (a->flags & VM_LOCKED)
		vm_count(&s->nr_locked, (int64_t)((a->start - start) >> PAGE_SHIFT));
	a->start = start;
	s->seq++;
	return a;
}

static int fault_once(struct vm_space *s, uintptr_t addr, unsigned flags, bool *major)
{
	unsigned i = area_index(s, addr);
	struct vm_area *a = i < s->nr ? s->areas[i] : NULL;
	pte_t *e;
	uint64_t v;

	if (s->dead)
		return -EFAULT;
	if (!a || a->start > addr) {
		a = grow_stack(s, i, addr);
		if (!a)
			return -EFAULT;
	}
	if (flags & FAULT_WRITE ? !(a->flags & VM_WRITE) :
	    flags & FAULT_EXEC	? !(a->flags & VM_EXEC) :
				  !(a->flags & VM_PROT))
		return -EACCES;
	e = pt_make(s, addr);
	if (!e)
		return -ENOMEM;
	v = pte_get(e);
	if (!v)
		return a->file ? fault_file(s, a, addr, flags, e, major) :
				 fault_anon(s, a, e, flags & FAULT_WRITE);
	if ((flags & FAULT_WRITE) && !(v & PTE_W)) {
		if ((a->flags & VM_SHARED) && a->mapping)
			return fault_file(s, a, addr, flags, e, major);
		if (a->flags & VM_SHARED) {
			atomic_fetch_or_explicit(e, PTE_W | PTE_D, memory_order_acq_rel);
			return 0;
		}
		return fault_cow(s, a, e, addr);
	}
	return 0; /* another thread was faster, or the TLB was behind */
}

int vm_fault_locked(struct vm_space *s, uintptr_t addr, unsigned flags)
{
	struct process *p = current_process();
	bool major = false;
	int err;

	addr = ALIGN_DOWN(addr, PAGE_SIZE);
	do {
		err = fault_once(s, addr, flags, &major);
	} while (err == -EAGAIN);
	if (p)
		atomic_fetch_add_explicit(major ? &p->majflt : &p->minflt, 1, memory_order_relaxed);
	if (major)
		memcg_count(current_owner(), MEMCG_PGMAJFAULT, 1);
	return err;
}

int vm_fault(struct vm_space *s, uintptr_t addr, unsigned flags)
{
	int err;

	if (addr >= USER_TOP)
		return -EFAULT;
	mutex_lock(&s->lock);
	err = vm_fault_locked(s, addr, flags);
	mutex_unlock(&s->lock);
	return err;
}

/* Faults in [start, end) as far as it is mapped: 0, -ENOMEM (a hole, or no memory), or a fault's error. */
int vm_populate(struct vm_space *s, uintptr_t start, uintptr_t end)
{
	int err = 0;

	for (uintptr_t va = start; va < end && !err; va += PAGE_SIZE) {
		struct vm_area *a;

		if (current && kill_pending(current))
			return -EINTR;
		mutex_lock(&s->lock);
		a = area_find(s, va);
		if (!a)
			err = -ENOMEM;
		else if (a->flags & VM_PROT)
			err = vm_fault_locked(s, va,
					      (a->flags & (VM_WRITE | VM_SHARED)) == VM_WRITE ?
						      FAULT_WRITE : 0);
		mutex_unlock(&s->lock);
		if (!(va & (63 * PAGE_SIZE)))
			cond_resched();
	}
	return err == -EFAULT ? -ENOMEM : err;
}
