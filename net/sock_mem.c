/* SPDX-License-Identifier: MIT */
/*
 * Socket memory: a socket's bytes, charged to its group in pages.
 *
 * The credit is what a socket has charged and does not use.  One that needs more
 * takes a few pages at once, one that has many gives some back, and one with
 * nothing queued gives all back: an idle socket costs nothing, a busy one reaches
 * its group's stock (mm/stock.h) a few times less often than it moves data.  How
 * many pages that may be is accounting's to say (memcg_sock_credit()); near a limit
 * it is none, so credit keeps nobody from memory.
 *
 * A TCP connection that has bytes queued and on which little happens keeps less than
 * a page of it after a second (TCP_TRIM).
 *
 * Locks: the socket's own protects its sock_mem.
 */
#include "mm/memcg.h"
#include "kernel/trace.h"

#define ENDLESS (1LL << 60) /* credit of sockets of the root group */

/*
 * What Linux before per-CPU reserves (v6.0) kept beside the groups: the pages of
 * all sockets of a protocol in one counter that every CPU writes.  Only the
 * preset linux-4.13 does, to be measured.
 */
static _Atomic int64_t all_pages;

static __noinline void sock_mem_add_allocated(unsigned pages)
{
	atomic_fetch_add_explicit(&all_pages, pages, memory_order_seq_cst);
}

/* The socket gives pages back to its group. */
static __noinline void sock_mem_reduce_allocated(struct sock_mem *m, unsigned pages)
{
	trace(sock_uncharge, pages);
	if (memcg_sock_total)
		atomic_fetch_sub_explicit(&all_pages, pages, memory_order_seq_cst);
	memcg_uncharge(m->owner, pages, MEMCG_SOCK);
}

/* At most @keep pages of credit stay; with nothing in use none does.  Something is charged. */
static void set_threshold(struct sock_mem *m, unsigned keep)
{
	int64_t most = (int64_t)(2 * keep + 1) << PAGE_SHIFT;

	m->give_back = m->charged < most ? m->charged : most;
}

void sock_mem_init(struct sock_mem *m, struct owner *o)
{
	m->owner = o;
	m->charged = m->credit = o ? 0 : ENDLESS;
	m->give_back = o ? (int64_t)PAGE_SIZE : INT64_MAX;
	owner_get(o);
	memcg_user_get(o);
}

int sock_mem_charge_slow(struct sock_mem *m, size_t bytes, unsigned flags)
{
	unsigned pages = (unsigned)DIV_ROUND_UP(bytes - (uint64_t)m->credit, PAGE_SIZE);
	unsigned got = memcg_charge_sock(m->owner, pages, flags);

	if (unlikely(!got))
		return -ENOMEM;
	trace(sock_charge, got);
	if (unlikely(memcg_sock_total))
		sock_mem_add_allocated(got);
	m->charged += (int64_t)got << PAGE_SHIFT;
	m->credit += ((int64_t)got << PAGE_SHIFT) - (int64_t)bytes;
	set_threshold(m, got - pages);
	return 0;
}

void sock_mem_give_back(struct sock_mem *m)
{
	unsigned keep;
	int64_t pages;

	if (m->credit == m->charged) {
		pages = m->charged >> PAGE_SHIFT;
		m->charged = m->credit = 0;
		m->give_back = (int64_t)PAGE_SIZE;
		sock_mem_reduce_allocated(m, (unsigned)pages);
		return;
	}
	keep = memcg_sock_credit(m->owner);
	pages = (m->credit >> PAGE_SHIFT) - keep;
	if (pages > 0) {
		m->charged -= pages << PAGE_SHIFT;
		m->credit -= pages << PAGE_SHIFT;
		sock_mem_reduce_allocated(m, (unsigned)pages);
	}
	set_threshold(m, keep);
}

void sock_mem_trim(struct sock_mem *m)
{
	int64_t pages = m->credit >> PAGE_SHIFT;

	if (!sock_mem_spare(m))
		return;
	m->charged -= pages << PAGE_SHIFT;
	m->credit -= pages << PAGE_SHIFT;
	set_threshold(m, 0);
	sock_mem_reduce_allocated(m, (unsigned)pages);
}

void sock_mem_move(struct sock_mem *m, struct owner *o)
{
	uint64_t used = sock_mem_used(m);

	if (m->owner == o)
		return;
	owner_get(o); /* before the old one goes: it may be above it */
	m->credit += (int64_t)used;
	sock_mem_destroy(m);
	sock_mem_init(m, o);
	owner_put(o);
	/* Bytes that are queued already cannot be refused any more. */
	if (sock_mem_charge(m, used, CHARGE_NOFAIL))
		m->credit = -(int64_t)used;
}

void sock_mem_destroy(struct sock_mem *m)
{
	struct owner *o = m->owner;

	if (!o)
		return;
	if (m->charged)
		sock_mem_reduce_allocated(m, (unsigned)(m->charged >> PAGE_SHIFT));
	memcg_user_put(o);
	owner_put(o);
	m->owner = NULL;
	m->charged = m->credit = ENDLESS;
	m->give_back = INT64_MAX;
}

void sock_mem_count_dropped(struct sock_mem *m)
{
	if (m->owner)
		memcg_event_sock_dropped(m->owner);
}
