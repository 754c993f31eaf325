/* SPDX-License-Identifier: MIT */
/*
 * Lists of file pages in the order of their use, one pair per group and node, and
 * the shadows that evicted pages leave behind.
 *
 * What:      a page of the page cache is on its group's *inactive* or *active* list.
 *            Reclaim (mm/reclaim.c) takes from the old end of the inactive list; what
 *            was used twice while on it goes to the active list instead, what lies on
 *            the active list unused comes back.  Anonymous pages and pages of memory
 *            files cannot be evicted (there is no swap), so they are on no list:
 *            memory.stat counts them by their charges, and a page fault takes no lock.
 * Interface: lru_add_pages() once a page is in its file's index, read and charged;
 *            lru_touch() when a program uses it; nothing at removal: a page leaves
 *            its list when it is freed.
 * Membership: PG_lru is set exactly while a page is on a list, under that list's lock.
 *            Which list: that of the group its owner stands for now.  Whoever has
 *            taken a page off (isolated it) and holds a reference has it for himself.
 * Locks:     struct lru.lock, thread context, short; inside it nothing.
 */
#ifndef MM_LRU_H
#define MM_LRU_H

#include "mm/memcg.h"

/**
 * lru_add_pages - pages enter their groups' lists
 * @p: pages with a reference of the caller's; owner and charge are set.  PG_active
 *     (workingset_refault() may have set it) says which list.
 *
 * One lock for pages in a row that belong together, so read-ahead should pass them
 * together.  Without memory for a group's lists the machine's are used.
 * Context: thread; takes a spinlock, does not sleep.
 */
void lru_add_pages(struct page *const *p, unsigned n);
static inline void lru_add(struct page *p)
{
	lru_add_pages(&p, 1);
}

/* Takes @p off its list if it is on one. */
void lru_remove(struct page *p);
/* The last reference to @p is going, its owner is still set: off its list, out of active_file. */
void lru_forget(struct page *p);
void lru_used_again(struct page *p); /* the rest of lru_touch() */

/**
 * lru_touch - a program has used @p
 *
 * The second use on the inactive list earns the active one.  memory.stat shows that at
 * once; the move itself is left to reclaim, so this takes no lock and writes nothing when
 * nothing is new.  Callers count one read that goes through a page in pieces as one use.
 */
static inline void lru_touch(struct page *p)
{
	uint32_t f = atomic_load_explicit(&p->flags, memory_order_relaxed);

	if (!(f & PG_referenced))
		atomic_fetch_or_explicit(&p->flags, PG_referenced, memory_order_relaxed);
	else if (!(f & (PG_active | PG_again)))
		lru_used_again(p);
}

/**
 * workingset_eviction - @p is about to leave its file's index by eviction
 * Return: a shadow for its slot: odd, so never a pointer.  Context: any thread, under
 * spinlocks; @p still has its owner.
 */
uintptr_t workingset_eviction(struct page *p);
/**
 * workingset_refault - @p has been read again where @shadow lay
 * Call it after the charge and before lru_add_pages().  If fewer pages of its old group
 * were evicted or promoted meanwhile than its active list holds, the page would have
 * stayed had the active list given way: it starts there.
 */
void workingset_refault(struct page *p, uintptr_t shadow);

void lru_init(void); /* after memcg_init(), before the first file page */

#endif /* MM_LRU_H */
