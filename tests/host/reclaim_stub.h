/* SPDX-License-Identifier: MIT */
/*
 * Accounting without pages: for programs that link mm/memcg_*.c but not the lists, reclaim,
 * memory.high and pressure.
 */
#ifndef TESTS_HOST_RECLAIM_STUB_H
#define TESTS_HOST_RECLAIM_STUB_H

#include "mm/memcg_tree.h"
#include "mm/psi.h"
#include "mm/reclaim.h"

uint64_t memcg_reclaim_group(struct memcg *group, uint64_t pages)
{
	return 0;
}
void reclaim_run(struct reclaim_request *q)
{
	q->freed = q->later = 0;
}
void account_reclaim_close(struct account *a)
{
}
void account_reclaim_free(struct account *a)
{
}
void memcg_note_high(struct account *a, uint64_t pages)
{
}
void memcg_pay_high_now(void)
{
}
void psi_free(struct memcg *m)
{
}

#endif /* TESTS_HOST_RECLAIM_STUB_H */
