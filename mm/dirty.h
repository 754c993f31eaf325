/* SPDX-License-Identifier: MIT */
/* Between the files of the page cache: placing pages, counting dirty ones.  Nobody else includes this. */
#ifndef MM_DIRTY_H
#define MM_DIRTY_H

#include "mm/page_cache.h"
#include "kernel/wait.h"

/* Charges @p (MEMCG_FILE, CHARGE_* flags) and puts it into the index: 0, -EEXIST, -ENOMEM. */
int page_cache_place(struct mapping *m, uint64_t n, struct page *p, struct owner *o,
		     unsigned charge) __must_check;

/* mm/dirty.c: @p has become dirty; is dirty no more.  The first dirty page lists the mapping. */
void dirty_count(struct mapping *m, struct page *p);
void dirty_uncount(struct mapping *m, struct page *p);
void dirty_forget(struct mapping *m); /* the mapping goes */
/* @p goes under write-back; has come back. */
void writeback_count(struct mapping *m, struct page *p);
void writeback_uncount(struct mapping *m, struct page *p);

/*
 * The dirty mapping to write next, its owner held (ops->put), moved to the end of the
 * list; NULL: none.  @before: only those dirty since before then (clock_ns).
 * @over: only those of groups that have more dirty pages than their share.
 * @want: NULL, or only those it says yes to.
 */
struct mapping *dirty_next(uint64_t before, bool over, bool (*want)(struct mapping *m, void *arg),
			   void *arg);
/* @m was not finished in its turn: it is dirty since @when as far as the next look goes. */
void dirty_again(struct mapping *m, uint64_t when);
bool dirty_over_background(void);

extern struct wait_queue writeback_done; /* some page has come back from the store */
void writeback_wait(struct mapping *m); /* until nothing of @m is on its way; nobody may start more */

#endif /* MM_DIRTY_H */
