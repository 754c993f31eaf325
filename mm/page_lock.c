/* SPDX-License-Identifier: MIT */
/*
 * The lock of a page and waiting for its input and output.
 *
 * Both are bits in p->flags; sleepers share a few queues, chosen by the page's address.
 */
#include "mm/page_cache.h"
#include "kernel/wait.h"

#define QUEUES 64 /* pages being waited for at once are few; a stranger's wake-up costs one look */

static struct wait_queue queues[QUEUES];

static struct wait_queue *queue_of(const struct page *p)
{
	return &queues[((uintptr_t)p >> 6) * 0x9e3779b97f4a7c15ULL >> 58];
}
_Static_assert(QUEUES == 1 << (64 - 58), "queue_of() takes the top bits");

bool page_trylock(struct page *p)
{
	return !(page_flag_set(p, PG_locked) & PG_locked);
}

void page_wait(struct page *p, uint32_t flag)
{
	if (page_has(p, flag))
		wait_event(queue_of(p), !page_has(p, flag));
}

void page_lock(struct page *p)
{
	while (!page_trylock(p))
		page_wait(p, PG_locked);
}

void page_flag_wake(struct page *p, uint32_t flag)
{
	struct wait_queue *q = queue_of(p);

	/* The page may go as soon as the bit is clear; the queue stays. */
	page_flag_clear(p, flag);
	if (wq_active(q))
		wake_up(q);
}

void page_unlock(struct page *p)
{
	page_flag_wake(p, PG_locked);
}

void page_cache_init(void)
{
	page_index_init();
	for (unsigned i = 0; i < QUEUES; i++)
		wq_init(&queues[i], "page_wait");
}
