/* SPDX-License-Identifier: MIT */
/*
 * Effective protection: how much of memory.min and memory.low counts when pressure
 * comes from a group above.
 *
 * Settings are wishes towards one's own parent.  Below the group that reclaim starts
 * from ("top") they count in full at the first level; further down the children of a
 * group share what their parent has: in proportion to what each claims (the smaller of
 * usage and setting) if together they claim more than that, and, with
 * memory_recursiveprot, what they leave unclaimed goes to them in proportion to what
 * they use beyond their claims.  As Linux's mem_cgroup protection does.
 */
#include "mm/reclaim.h"
#include "mm/memcg_internal.h"

_Atomic bool protection_recursive;

/* x * y / z without overflow of the product. */
static uint64_t scale(uint64_t x, uint64_t y, uint64_t z)
{
	return (uint64_t)((unsigned __int128)x * y / z);
}

static uint64_t share(struct account *a, enum page_counter_limit which, uint64_t parents)
{
	const struct page_counter_ops *pc = memcg_config.pc;
	uint64_t usage = (uint64_t)account_usage(a), setting, claim, claims, all;
	struct account *up = a->parent;

	setting = (uint64_t)pc->get(account_counter(a), which);
	claim = usage < setting ? usage : setting;
	claims = (uint64_t)pc->children_protected(account_counter(up), which);
	if (claims > parents)
		return scale(claim, parents, claims);
	all = (uint64_t)account_usage(up);
	if (!atomic_load_explicit(&protection_recursive, memory_order_relaxed) ||
	    parents == claims || all <= claims || usage <= claim)
		return claim;
	return claim + scale(parents - claims, usage - claim, all - claims);
}

/* The account @n levels above @a. */
static struct account *above(struct account *a, uint32_t n)
{
	while (n--)
		a = a->parent;
	return a;
}

static uint64_t effective(struct account *a, struct account *top, enum page_counter_limit which)
{
	const struct page_counter_ops *pc = memcg_config.pc;
	uint32_t levels = a->depth - top->depth;
	struct account *at = above(a, levels - 1);
	uint64_t e = (uint64_t)pc->get(account_counter(at), which);

	/* From the top down; what is not protected at one level is not at any below. */
	for (uint32_t n = levels - 1; n-- && e;)
		e = share(above(a, n), which, e);
	return e;
}

void protection_of(struct account *a, struct account *top, struct protection *out)
{
	*out = (struct protection){ 0, 0 };
	if (a == top || !account_usage(a))
		return;
	out->min = effective(a, top, PC_MIN);
	out->low = effective(a, top, PC_LOW);
}
