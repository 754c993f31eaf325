/* SPDX-License-Identifier: MIT */
/*
 * Socket memory: a socket's bytes, charged to its group in pages.
 *
 * A socket's credit is what it has charged and does not use; it stays below one
 * page between calls, so `pages` says what the socket really costs, rounded up.
 * Taking and giving whole pages is cheap: they come from this CPU's stock of the
 * group (mm/stock.h).
 *
 * Locks: the socket's own protects its sock_mem.
 */
#include "mm/memcg.h"

void sock_mem_init(struct sock_mem *m, struct owner *o)
{
	m->owner = o;
	m->credit = 0;
	m->pages = 0;
	m->used = 0;
	owner_get(o);
	memcg_user_get(o);
}

int sock_mem_charge(struct sock_mem *m, size_t bytes, unsigned flags)
{
	int64_t credit = m->credit - (int64_t)bytes;

	if (credit < 0 && m->owner) {
		unsigned pages = (unsigned)(((uint64_t)-credit + PAGE_SIZE - 1) >> PAGE_SHIFT);

		if (unlikely(memcg_charge(m->owner, pages, MEMCG_SOCK, flags)))
			return -ENOMEM;
		m->pages += pages;
		credit += (int64_t)pages << PAGE_SHIFT;
	}
	m->used += bytes;
	if (m->owner)
		m->credit = credit;
	return 0;
}

void sock_mem_uncharge(struct sock_mem *m, size_t bytes)
{
	int64_t credit = m->credit + (int64_t)bytes;

	m->used -= bytes;
	if (!m->owner)
		return;
	m->credit = credit & (int64_t)(PAGE_SIZE - 1);
	if (credit >= (int64_t)PAGE_SIZE) {
		unsigned pages = (unsigned)(credit >> PAGE_SHIFT);

		m->pages -= pages;
		memcg_uncharge(m->owner, pages, MEMCG_SOCK);
	}
}

void sock_mem_move(struct sock_mem *m, struct owner *o)
{
	uint64_t used = m->used;

	if (m->owner == o)
		return;
	owner_get(o); /* before the old one goes: it may be above it */
	sock_mem_uncharge(m, used);
	sock_mem_destroy(m);
	sock_mem_init(m, o);
	owner_put(o);
	/* Bytes that are queued already cannot be refused any more. */
	if (sock_mem_charge(m, used, CHARGE_NOFAIL))
		m->used = used;
}

void sock_mem_destroy(struct sock_mem *m)
{
	struct owner *o = m->owner;

	if (!o)
		return;
	if (m->pages)
		memcg_uncharge(o, (unsigned)m->pages, MEMCG_SOCK);
	m->pages = 0;
	m->credit = 0;
	m->owner = NULL;
	memcg_user_put(o);
	owner_put(o);
}

bool sock_mem_pressure(const struct sock_mem *m)
{
	return m->owner && memcg_under_pressure(m->owner);
}

uint64_t sock_mem_headroom(const struct sock_mem *m)
{
	return m->owner ? memcg_headroom(m->owner) : SIZE_MAX;
}

void sock_mem_count_dropped(struct sock_mem *m)
{
	if (m->owner)
		memcg_event_sock_dropped(m->owner);
}
