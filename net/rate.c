/* SPDX-License-Identifier: MIT */
/* Rates of answers: net/rate.h. */
#include "net/rate.h"
#include "net/ip.h"

bool rate_ok(struct rate *r, const struct ip_addr *to)
{
	_Atomic uint64_t *slot = &r->empty_at[net_hash(to->q, 2) & (RATE_SLOTS - 1)];
	uint64_t now = clock_ns(), t, next;

	t = atomic_load_explicit(slot, memory_order_relaxed);
	do {
		if (t > now + r->burst * r->gap)
			return false;
		next = max(t, now) + r->gap;
	} while (!atomic_compare_exchange_weak_explicit(slot, &t, next, memory_order_relaxed,
							memory_order_relaxed));
	return true;
}
