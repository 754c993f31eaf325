/* SPDX-License-Identifier: MIT */
/*
 * The page allocator's figures, and what it does when memory is short.
 *
 * Every page of RAM has a kind; per-CPU counters follow each change, so that
 * free + the sum over the kinds is the total whenever nothing is in flight.
 */
#include "mm/page_int.h"
#include "mm/each_cpu.h"
#include "mm/memcg.h"
#include "mm/reclaim.h"
#include "mm/slab.h"
#include "mm/vmalloc.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/process.h"
#include "kernel/rcu.h"
#include "kernel/string.h"

static _Atomic int64_t boot_kind[NR_PAGE_KINDS]; /* before per-CPU areas are ready */

void page_count_kind(enum page_kind kind, long pages)
{
	_Atomic int64_t *k;

	if (unlikely(!pcp_ready)) {
		atomic_fetch_add_explicit(&boot_kind[kind], pages, memory_order_relaxed);
		return;
	}
	k = &this_cpu(pcp).kind[kind];
	atomic_store_explicit(k, atomic_load_explicit(k, memory_order_relaxed) + pages,
			      memory_order_relaxed);
}

void page_set_kind(struct page *p, enum page_kind kind)
{
	if (p->kind == kind)
		return;
	page_count_kind(p->kind, -(1L << p->order));
	page_count_kind(kind, 1L << p->order);
	p->kind = kind;
}

void page_stats(struct page_stats *out)
{
	memset(out, 0, sizeof(*out));
	out->total = page_nr_total;
	for (unsigned k = 0; k < NR_PAGE_KINDS; k++)
		out->kind[k] =
			(uint64_t)atomic_load_explicit(&boot_kind[k], memory_order_relaxed);
	if (pcp_ready) {
		for_each_cpu(cpu) {
			struct pcp *c = &per_cpu(pcp, cpu);

			for (unsigned k = 0; k < NR_PAGE_KINDS; k++)
				out->kind[k] += (uint64_t)atomic_load_explicit(
					&c->kind[k], memory_order_relaxed);
			for (unsigned o = 0; o < PCP_ORDERS; o++)
				out->pcp += (uint64_t)pcp_read(&c->count[o]) << o;
			out->pcp += c->irq_count;
		}
	}
	out->free = page_zone_free() + out->pcp;
	out->kind[PAGE_FREE] = out->free;
}

uint64_t page_nr_free(void)
{
	return page_zone_free();
}

void page_drain_pcp(void)
{
	each_cpu_run(page_drain_this_cpu);
}

/* ---- fail.alloc ---- */

unsigned fail_alloc_every;
PARAM_UINT("fail.alloc", fail_alloc_every, 0, 1000000000, PARAM_RW,
	   "every Nth allocation by a user process other than init fails; 0: none");
static _Atomic uint64_t fail_count;

/* Init is spared as kernel threads are: somebody must be left who can report the failures. */
bool alloc_fail_slow(void)
{
	unsigned n = fail_alloc_every;

	if (!n || !current || !current->process || current->tid == 1)
		return false;
	return atomic_fetch_add_explicit(&fail_count, 1, memory_order_relaxed) % n == n - 1;
}

/* ---- out of memory ---- */

#define OOM_ROUNDS   40 /* waits of OOM_WAIT_NS before an allocation gives up */
#define OOM_WAIT_NS  (25 * NSEC_PER_MSEC)

#define RECLAIM_ROUNDS 16 /* of direct reclaim; more than one only if others take what it frees */
#define DRAIN_EVERY  (100 * NSEC_PER_MSEC) /* caches were emptied a moment ago: do not look again */
#define DRAIN_MIN    64 /* pages in per-CPU lists that are worth interrupting all CPUs for */

static bool drain_due(void)
{
	static _Atomic uint64_t next;
	uint64_t now = clock_ns(), n = atomic_load_explicit(&next, memory_order_relaxed);

	return now >= n && atomic_compare_exchange_strong_explicit(&next, &n, now + DRAIN_EVERY,
								   memory_order_relaxed,
								   memory_order_relaxed);
}

/*
 * Cheap places first: what other CPUs hold back, then the page cache, then the slabs'
 * spare pages, then a process.
 * Bounded: at most OOM_ROUNDS waits.  A thread that is being killed gets NULL.
 */
struct page *page_alloc_slow(unsigned order, gfp_t gfp)
{
	static _Atomic uint64_t warned;
	uint64_t now;
	struct page *p;

	if (!(gfp & GFP_ATOMIC) && pcp_ready && current) {
		struct page_stats s;

		page_stats(&s);
		if (s.pcp >= DRAIN_MIN) {
			page_drain_pcp();
			p = page_alloc_try(order, gfp);
			if (p)
				return p;
		}
		for (unsigned i = 0; i < RECLAIM_ROUNDS && reclaim_for_alloc(order); i++) {
			p = page_alloc_try(order, gfp);
			if (p)
				return p;
		}
		if (drain_due()) {
			rcu_barrier();
			slab_drain();
			kstack_drain();
			page_drain_pcp();
			p = page_alloc_try(order, gfp);
			if (p)
				return p;
		}
		for (unsigned i = 0; order <= 3 && current->process && i < OOM_ROUNDS; i++) {
			if (kill_pending(current))
				break;
			if (!oom_kill(NULL, "no free pages", 1UL << order))
				break;
			thread_sleep_until(clock_ns() + OOM_WAIT_NS, false);
			page_drain_this_cpu();
			p = page_alloc_try(order, gfp);
			if (p)
				return p;
		}
		/* A dying process may use the reserve to get out of the way. */
		if (kill_pending(current)) {
			p = page_alloc_try(order, gfp | GFP_ATOMIC);
			if (p)
				return p;
		}
	}
	now = clock_ns();
	if (!(gfp & GFP_NOWARN) &&
	    now - atomic_load_explicit(&warned, memory_order_relaxed) > NSEC_PER_SEC) {
		atomic_store_explicit(&warned, now, memory_order_relaxed);
		pr_warn("page_alloc: no block of order %u for %s (%llu of %llu pages free)", order,
			current ? current->name : "start-up",
			(unsigned long long)page_zone_free(), (unsigned long long)page_nr_total);
	}
	return NULL;
}
