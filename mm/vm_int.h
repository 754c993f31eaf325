/* SPDX-License-Identifier: MIT */
/* Inside of address spaces, for mm/vm*.c and the machine's TLB code. */
#ifndef MM_VM_INT_H
#define MM_VM_INT_H

#include "mm/vm.h"
#include "mm/pte.h"
#include "mm/memcg.h"
#include "kernel/errno.h"
#include "kernel/lock.h"
#include "kernel/work.h"

#define VM_PROT   (VM_READ | VM_WRITE | VM_EXEC)
#define VM_KEEP   (VM_PROT | VM_SHARED | VM_GROWSDOWN | VM_LOCKED | VM_MAYWRITE) /* stored in areas */
#define VM_MAX_AREAS 65530 /* per space; what Linux allows by default */
#define STACK_GAP (256 * PAGE_SIZE) /* kept free below a stack that grows */
#define USER_END  (1UL << 47)

/* One range of addresses with the same properties.  All fields: space->lock. */
struct vm_area {
	uintptr_t start, end;
	unsigned flags;
	struct file *file; /* referenced; NULL: anonymous */
	uint64_t off;      /* bytes into the file, of start */
	struct vm_area *next; /* in a list of removed areas */
	struct mapping *mapping;   /* of a file with a backing store, or NULL; constant */
	struct vm_space *space;    /* once inserted; constant then */
	struct list_head map_link; /* in mapping->areas, under its lock */
	uint32_t walk;             /* the same */
};

/*
 * Legend: [l] lock, [I] constant after creation, [a] atomic, [m] the machine's TLB code
 */
struct vm_space {
	struct mutex lock;
	struct vm_area **areas; /* [l] sorted by address; a search is a bisection */
	unsigned nr, cap;       /* [l] */
	uint64_t seq;           /* [l] counts changes of areas */
	bool dead;              /* [l] faults fail: being torn down or reaped */
	uintptr_t brk_start, brk; /* [l] */
	_Atomic unsigned users; /* [a] threads, procfs readers, walks of a mapping */
	struct work put_work;   /* the last user that may not sleep leaves the rest to a worker */

	pte_t *pml4;            /* [I] through the direct map; entries [l] */
	uint64_t pml4_phys;     /* [I] */
	uint64_t root_used[4];  /* [l] bit per user entry of pml4 that was ever set */

	/* Figures, pages; written under lock, read without. */
	struct list_head tables; /* [l] table pages but the root, through page->lru: freed without a walk */
	uint64_t tables_limit; /* [l] more tables than this: look for empty ones */
	_Atomic uint64_t nr_mapped, nr_anon, nr_file, nr_tables, nr_locked;

	_Atomic uint64_t tlb_gen __cacheline_aligned; /* [m] raised by each flush, under lock */
	_Atomic uint64_t cpus[MAX_CPUS / 64];         /* [m] CPUs that have the tables loaded */
};

static inline void vm_count(_Atomic uint64_t *c, int64_t n)
{
	atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + (uint64_t)n,
			      memory_order_relaxed);
}

/* vm_area.c: the sorted array.  All under lock. */
unsigned area_index(const struct vm_space *s, uintptr_t addr); /* first area that ends above addr; nr if none */
struct vm_area *area_find(const struct vm_space *s, uintptr_t addr); /* the one that holds addr, or NULL */
struct vm_area *area_new(uintptr_t start, uintptr_t end, unsigned flags, struct file *file, uint64_t off);
int area_reserve(struct vm_space *s, unsigned more); /* room for so many more: 0 or -ENOMEM */
void area_insert(struct vm_space *s, struct vm_area *a); /* room was reserved */
void area_remove(struct vm_space *s, unsigned i, unsigned n); /* takes them out of the array only */
int area_split(struct vm_space *s, unsigned i, uintptr_t at); /* 0 or -ENOMEM; room was reserved */
void area_merge_range(struct vm_space *s, uintptr_t start, uintptr_t end, struct vm_area **dead);
uintptr_t area_gap(const struct vm_space *s, size_t len); /* top-down; 0 if none */
void areas_free(struct vm_area *dead); /* without the lock: drops files */
extern struct kmem_cache *vm_area_cache;

/* vm_pt.c: tables.  All under lock. */
pte_t *pt_find(struct vm_space *s, uintptr_t va, uintptr_t *next);
pte_t *pt_make(struct vm_space *s, uintptr_t va); /* NULL: no memory or limit */
int pt_init(struct vm_space *s);
uint64_t pte_prot(unsigned area_flags); /* bits of a page just mapped, without W */
static inline uint64_t pte_get(const pte_t *e)
{
	return atomic_load_explicit(e, memory_order_relaxed);
}
static inline void pte_set(pte_t *e, uint64_t v)
{
	atomic_store_explicit(e, v, memory_order_release);
}
static inline struct page *pte_page(uint64_t v)
{
	return pfn_to_page((v & PTE_ADDR) >> PAGE_SHIFT);
}
static inline uint64_t page_pte(const struct page *p)
{
	return page_to_pfn(p) << PAGE_SHIFT;
}

/*
 * Pages taken out of tables, freed only after the TLBs have been told.  More
 * than a few are noted in a page of their own: each flush costs microseconds.
 */
#define GATHER_SMALL 30
#define GATHER_LARGE (PAGE_SIZE / sizeof(struct page *))
#define FLUSH_LIST   64 /* addresses that are flushed one by one; more: everything */
struct vm_gather {
	struct vm_space *space;
	uintptr_t va[FLUSH_LIST]; /* whose entries changed */
	unsigned nr_va;           /* above FLUSH_LIST: too many to note */
	bool tables;          /* table pages among them: lazy CPUs must hear of it, too */
	bool no_flush;        /* nobody uses the space any more */
	unsigned n, room;
	struct page **pages; /* small, or a page of GATHER_LARGE pointers */
	struct page *small[GATHER_SMALL];
};
void gather_init(struct vm_gather *g, struct vm_space *s);
void gather_touch(struct vm_gather *g, uintptr_t va); /* an entry changed, no page to free */
void gather_page(struct vm_gather *g, uintptr_t va, struct page *p, bool table);
void gather_finish(struct vm_gather *g);

/* vm_teardown.c */
void vm_zap(struct vm_gather *g, uintptr_t start, uintptr_t end); /* leaf entries */
void vm_free_tables(struct vm_gather *g, uintptr_t start, uintptr_t end, uintptr_t floor,
		    uintptr_t ceil);
int vm_unmap_locked(struct vm_space *s, uintptr_t start, uintptr_t end, struct vm_area **dead);

/*
 * Entries of page tables that point to a page.  The first and the last of a file's page
 * show in memory.stat, file_mapped; a fork never makes the first.
 */
static inline void page_count_mapped(struct page *p, int n)
{
	if (p->owner && (p->charge_kind == MEMCG_FILE || p->charge_kind == MEMCG_SHMEM))
		memcg_count(p->owner, MEMCG_FILE_MAPPED, n);
}
static inline void page_map_get(struct page *p)
{
	if (!atomic_fetch_add_explicit(&p->mapcount, 1, memory_order_relaxed))
		page_count_mapped(p, 1);
}
static inline void page_map_put(struct page *p)
{
	if (atomic_fetch_sub_explicit(&p->mapcount, 1, memory_order_relaxed) == 1)
		page_count_mapped(p, -1);
}

/* vm_fault.c */
int vm_populate(struct vm_space *s, uintptr_t start, uintptr_t end);
/* The entry of @addr, faulted in for reading or writing; lock held before and after (dropped in between). */
int vm_fault_locked(struct vm_space *s, uintptr_t addr, unsigned flags);
struct page *vm_new_anon(void); /* charged, not zeroed; NULL */

/* vm_file.c: what mm/ asks of files. */
#define FAULT_AROUND 32 /* pages, aligned: a read fault on a file maps those in the cache, too */
void vm_file_get(struct file *f);
void vm_file_put(struct file *f);
int vm_file_check(struct file *f, unsigned *flags); /* may it be mapped so; sets VM_MAYWRITE */
struct page *vm_file_page(struct file *f, uint64_t index); /* referenced; ERR_PTR */
bool vm_file_cached(struct file *f, uint64_t index); /* it can be had without reading */
/* The same, and the store has a place for what will be written to it. */
struct page *vm_file_page_write(struct file *f, uint64_t index);
struct mapping *vm_file_mapping(const struct file *f); /* NULL: memory file */
int vm_file_sync(struct file *f); /* msync; 0 or -EIO */
/* Of pages [first, first + FAULT_AROUND) those in @want and in the cache; NULL where not. */
void vm_file_pages_around(struct file *f, uint64_t first, unsigned want, struct page **out);
struct file *vm_shm_create(uint64_t pages); /* a file without a name, for shared anonymous memory; NULL */
void vm_file_name(struct file *f, struct vm_area_info *out);
uint64_t vm_file_key(const struct file *f); /* the same for all openings of one file */

/* mm/rmap.c: areas of files with a backing store.  Under the space's lock; rmap_remove() when the area is freed. */
void rmap_add(struct vm_space *s, struct vm_area *a);
void rmap_remove(struct vm_area *a);
/* A reference to a space that may be going: false if it is.  Dropping it never sleeps. */
bool vm_tryget(struct vm_space *s);
void vm_put_later(struct vm_space *s);

/* The machine (arch/x86_64/tlb.c; arch/host has empty ones). */
void tlb_space_init(struct vm_space *s); /* copies the kernel half into s->pml4 */
void tlb_flush(struct vm_space *s, const uintptr_t *va, unsigned n, bool lazy_too);
/*
 * No thread uses the space any more: afterwards no CPU looks at its tables but
 * the root, whose user half has been cleared.  False: this CPU keeps the root
 * loaded and frees it later (it is not charged any more).
 */
bool tlb_drop(struct vm_space *s);

#endif /* MM_VM_INT_H */
