/* SPDX-License-Identifier: MIT */
/* The lists of file pages (mm/lru.h). */
#include "mm/reclaim_int.h"
#include "mm/owner.h"
#include "mm/slab.h"
#include "kernel/rcu.h"

struct reclaim root_reclaim = {
	.lru = {
		.lock = SPINLOCK_INIT("lru"),
		.list = { LIST_HEAD_INIT(root_reclaim.lru.list[LRU_INACTIVE]),
			  LIST_HEAD_INIT(root_reclaim.lru.list[LRU_ACTIVE]) },
	},
};
static struct kmem_cache *reclaim_cache;

const char *const reclaim_stat_names[NR_RECLAIM_STATS] = {
#define X(name) #name,
	RECLAIM_STATS(X)
#undef X
};

void lru_init(void)
{
	reclaim_cache = kmem_cache_create("reclaim", sizeof(struct reclaim), CACHE_LINE, SLAB_ZERO);
	root_reclaim.account = root_account;
	atomic_store_explicit(&root_account->reclaim, (uintptr_t)&root_reclaim,
			      memory_order_release);
}

static bool has_reclaim(struct account *a)
{
	return atomic_load_explicit(&a->reclaim, memory_order_acquire) != 0;
}

static bool make_one(struct account *a)
{
	struct reclaim *r;
	uintptr_t none = 0;

	if (has_reclaim(a))
		return true;
	r = reclaim_cache ? kmem_cache_alloc(reclaim_cache, GFP_ATOMIC | GFP_NOWARN) : NULL;
	if (!r)
		return false;
	spin_init(&r->lru.lock, "lru");
	list_init(&r->lru.list[LRU_INACTIVE]);
	list_init(&r->lru.list[LRU_ACTIVE]);
	r->account = a;
	if (!atomic_compare_exchange_strong_explicit(&a->reclaim, &none, (uintptr_t)r,
						     memory_order_acq_rel, memory_order_acquire))
		kmem_cache_free(reclaim_cache, r); /* somebody else made it, or it is closed */
	return true;
}

struct reclaim *account_reclaim_make(struct account *a)
{
	/* From the top: whoever has one must find its parent's. */
	while (!has_reclaim(a)) {
		struct account *top = a;

		while (top->parent && !has_reclaim(top->parent))
			top = top->parent;
		if (!make_one(top))
			return NULL;
	}
	return account_reclaim(a);
}

static struct owner *page_owner(const struct page *p)
{
	return p->owner ? p->owner : &root_owner;
}

/*
 * The account may be closed between finding and locking its lists: then they have
 * moved to the parent's, which the owner stands for by then.
 */
struct lru *lru_lock_of(struct page *p)
{
	for (;;) {
		bool root = atomic_load_explicit(&p->flags, memory_order_relaxed) & PG_lru_root;
		struct reclaim *r;

		rcu_read_lock();
		r = root ? &root_reclaim : account_reclaim(owner_account(page_owner(p)));
		if (r) {
			spin_lock(&r->lru.lock);
			if (!r->lru.closed) {
				rcu_read_unlock();
				return &r->lru;
			}
			spin_unlock(&r->lru.lock);
		}
		rcu_read_unlock();
	}
}

/* Pages on all lists, as this CPU has changed it: only the sum counts. */
struct lru_counts {
	_Atomic int64_t nr[NR_LRU_LISTS];
};
static DEFINE_PER_CPU(struct lru_counts, lru_counts);

uint64_t lru_total(enum lru_list which)
{
	int64_t n = 0;

	for_each_cpu(c)
		n += atomic_load_explicit(&per_cpu(lru_counts, c).nr[which], memory_order_relaxed);
	return n > 0 ? (uint64_t)n : 0;
}

/* Both are written by one at a time, the list's under its lock: no read-modify-write needed. */
static void count_list(struct lru *l, enum lru_list which, int64_t n)
{
	_Atomic int64_t *here = &this_cpu(lru_counts).nr[which];

	atomic_store_explicit(here, atomic_load_explicit(here, memory_order_relaxed) + n,
			      memory_order_relaxed);
	atomic_store_explicit(&l->nr[which], lru_nr(l, which) + (uint64_t)n, memory_order_relaxed);
}

static enum lru_list list_of(const struct page *p)
{
	return atomic_load_explicit(&p->flags, memory_order_relaxed) & PG_active ? LRU_ACTIVE
										 : LRU_INACTIVE;
}

/* Locked; @p is on no list. */
static void list_page(struct lru *l, struct page *p)
{
	enum lru_list which = list_of(p);

	list_add(&p->lru, &l->list[which]);
	count_list(l, which, 1);
	atomic_fetch_or_explicit(&p->flags, PG_lru, memory_order_relaxed);
}

/* Locked; @p is on a list of @l. */
static void unlist_page(struct lru *l, struct page *p)
{
	list_del(&p->lru);
	count_list(l, list_of(p), -1);
	atomic_fetch_and_explicit(&p->flags, ~PG_lru, memory_order_relaxed);
}

/*
 * active_file counts pages with PG_active or PG_again: who sets the first of the two adds
 * the page, who clears the last of them takes it off.
 */
static void count_active(struct page *p, int64_t n)
{
	bool root = page_has(p, PG_lru_root);

	rcu_read_lock();
	reclaim_count(root ? root_account : owner_account(page_owner(p)), RS_active_file, n);
	rcu_read_unlock();
}

void lru_used_again(struct page *p)
{
	struct reclaim *r;
	struct account *a;

	if (page_flag_set(p, PG_again) & (PG_active | PG_again))
		return;
	count_active(p, 1);
	rcu_read_lock();
	a = owner_account(page_owner(p));
	reclaim_count(a, RS_pgactivate, 1);
	r = account_reclaim(a);
	if (r)
		atomic_fetch_add_explicit(&r->lru.age, 1, memory_order_relaxed);
	rcu_read_unlock();
}

void lru_uncount_active(struct page *p)
{
	if (page_flag_clear(p, PG_active | PG_again) & (PG_active | PG_again))
		count_active(p, -1);
}

void lru_forget(struct page *p)
{
	lru_remove(p);
	lru_uncount_active(p);
}

static bool same_lists(const struct page *p, const struct page *q)
{
	return p->owner == q->owner &&
	       !((atomic_load_explicit(&p->flags, memory_order_relaxed) ^
		  atomic_load_explicit(&q->flags, memory_order_relaxed)) & PG_lru_root);
}

/* Makes sure that @p's group has lists; else the machine's stand in. */
static void choose_lists(struct page *p)
{
	rcu_read_lock();
	while (!account_reclaim(owner_account(page_owner(p)))) {
		struct account *a = owner_account(page_owner(p));

		if (!account_reclaim_make(a) &&
		    !(atomic_load_explicit(&a->reclaim, memory_order_relaxed) & RECLAIM_CLOSED)) {
			atomic_fetch_or_explicit(&p->flags, PG_lru_root, memory_order_relaxed);
			break;
		}
	}
	rcu_read_unlock();
}

void lru_add_pages(struct page *const *p, unsigned n)
{
	struct lru *l = NULL;

	for (unsigned i = 0; i < n; i++) {
		if (!l) {
			choose_lists(p[i]);
			l = lru_lock_of(p[i]);
		}
		list_page(l, p[i]);
		/* Same owner, same lists; they cannot move while we hold the lock. */
		if (i + 1 < n && same_lists(p[i], p[i + 1]))
			continue;
		spin_unlock(&l->lock);
		l = NULL;
	}
}

void lru_remove(struct page *p)
{
	struct lru *l;

	if (!(atomic_load_explicit(&p->flags, memory_order_acquire) & PG_lru))
		return;
	l = lru_lock_of(p);
	if (atomic_load_explicit(&p->flags, memory_order_relaxed) & PG_lru)
		unlist_page(l, p);
	spin_unlock(&l->lock);
}

unsigned lru_isolate(struct lru *l, enum lru_list which, struct page **out, unsigned n)
{
	struct list_head *head = &l->list[which];
	unsigned got = 0;

	spin_lock(&l->lock);
	for (unsigned seen = 0; seen < 2 * n && got < n && !list_empty(head); seen++) {
		struct page *p = list_last_entry(head, struct page, lru);

		if (!page_get_unless_free(p)) {
			/* Its last holder waits for this lock to take it off. */
			list_del(&p->lru);
			list_add(&p->lru, head);
			continue;
		}
		unlist_page(l, p);
		out[got++] = p;
	}
	spin_unlock(&l->lock);
	return got;
}

void lru_putback(struct page *const *p, unsigned n)
{
	struct lru *l = NULL;

	for (unsigned i = 0; i < n; i++) {
		if (!l)
			l = lru_lock_of(p[i]);
		list_page(l, p[i]);
		if (i + 1 < n && same_lists(p[i], p[i + 1]))
			continue;
		spin_unlock(&l->lock);
		l = NULL;
	}
	for (unsigned i = 0; i < n; i++)
		page_put(p[i]);
}

/*
 * Parent's lock first, then the child's: nobody else holds two.  The statistics of the
 * parent count the child's already.
 */
void account_reclaim_close(struct account *a)
{
	struct reclaim *r = (struct reclaim *)atomic_fetch_or_explicit(
		&a->reclaim, RECLAIM_CLOSED, memory_order_acq_rel);
	struct reclaim *up;

	if (!r)
		return;
	up = account_reclaim(a->parent);
	spin_lock(&up->lru.lock);
	spin_lock_nested(&r->lru.lock);
	for (unsigned i = 0; i < NR_LRU_LISTS; i++) {
		list_splice_tail_init(&r->lru.list[i], &up->lru.list[i]);
		count_list(&up->lru, i, (int64_t)lru_nr(&r->lru, i));
		count_list(&r->lru, i, -(int64_t)lru_nr(&r->lru, i));
	}
	r->lru.closed = true;
	spin_unlock(&r->lru.lock);
	spin_unlock(&up->lru.lock);
}

void account_reclaim_free(struct account *a)
{
	uintptr_t r = atomic_load_explicit(&a->reclaim, memory_order_relaxed) & ~RECLAIM_CLOSED;

	if (r)
		kmem_cache_free(reclaim_cache, (struct reclaim *)r);
}

void reclaim_count(struct account *a, enum reclaim_stat which, int64_t n)
{
	for (; a; a = a->parent) {
		struct reclaim *r = account_reclaim(a);

		if (r)
			atomic_fetch_add_explicit(&r->stat[which], n, memory_order_relaxed);
	}
}

int64_t reclaim_stat_read(struct account *a, enum reclaim_stat which)
{
	struct reclaim *r = account_reclaim(a);

	return r ? atomic_load_explicit(&r->stat[which], memory_order_relaxed) : 0;
}
