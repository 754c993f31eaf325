/* SPDX-License-Identifier: MIT */
/*
 * Accounting, machine and process parts that the memory tests do not link:
 * one group whose charges are counted, a machine without TLBs.
 */
#ifndef TESTS_HOST_MM_STUB_H
#define TESTS_HOST_MM_STUB_H

#include "arch/host/host.h"
#include "mm/lru.h"
#include "mm/memcg.h"
#include "mm/page.h"
#include "mm/vmalloc.h"

#define STUB_OWNER ((struct owner *)0x1000)
static bool stub_charging;                 /* current_owner() is STUB_OWNER */
static _Atomic int64_t stub_pages, stub_bytes;
static _Atomic int64_t stub_limit = INT64_MAX; /* pages and bytes; charges above fail */

int memcg_charge(struct owner *o, unsigned pages, enum memcg_kind kind, unsigned flags)
{
	if (atomic_fetch_add(&stub_pages, pages) + pages > atomic_load(&stub_limit)) {
		atomic_fetch_sub(&stub_pages, pages);
		return -ENOMEM;
	}
	return 0;
}
void memcg_uncharge(struct owner *o, unsigned pages, enum memcg_kind kind)
{
	HOST_CHECK(atomic_fetch_sub(&stub_pages, pages) >= pages);
}
int memcg_charge_page(struct page *p, struct owner *o, enum memcg_kind kind, unsigned flags)
{
	int err = memcg_charge(o, 1u << p->order, kind, flags);

	if (!err) {
		p->owner = o;
		p->charge_kind = (uint8_t)kind;
	}
	return err;
}
void memcg_uncharge_page(struct page *p)
{
	memcg_uncharge(p->owner, 1u << p->order, p->charge_kind);
	p->owner = NULL;
}
int memcg_charge_bytes(struct owner *o, size_t bytes, enum memcg_kind kind, unsigned flags)
{
	atomic_fetch_add(&stub_bytes, (int64_t)bytes);
	return 0;
}
void memcg_uncharge_bytes(struct owner *o, size_t bytes, enum memcg_kind kind)
{
	HOST_CHECK(atomic_fetch_sub(&stub_bytes, (int64_t)bytes) >= (int64_t)bytes);
}
struct owner *current_owner(void)
{
	return stub_charging ? STUB_OWNER : NULL;
}
void memcg_count(struct owner *o, enum memcg_count c, int n)
{
}
bool oom_kill(struct memcg *mg, const char *why, uint64_t pages)
{
	return false;
}
void kstack_drain(void)
{
}
void kswapd_wake(void)
{
}
bool reclaim_for_alloc(unsigned order)
{
	return false;
}
void lru_forget(struct page *p)
{
	HOST_CHECK(false); /* nobody here puts pages on lists */
}

/* Every page has a kind; called when nothing is in flight. */
static inline void check_sum(void)
{
	struct page_stats s;
	uint64_t sum = 0;

	page_stats(&s);
	for (unsigned k = 0; k < NR_PAGE_KINDS; k++)
		sum += s.kind[k];
	HOST_CHECK_EQ(sum, s.total);
}

#endif /* TESTS_HOST_MM_STUB_H */
