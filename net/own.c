/* SPDX-License-Identifier: MIT */
/* Ownership of connections: net/own.h. */
#include "net/own.h"
#include "net/ip.h"

#define OWN_SPINS 64 /* looks before sleeping: about as long as handling one packet takes */

void own_init(struct sock_own *o)
{
	atomic_init(&o->word, 0);
	atomic_init(&o->waiting, 0);
	wq_init(&o->wait, "sock_own");
}

void own_wait(struct sock_own *o)
{
	for (unsigned i = 0; i < OWN_SPINS; i++) {
		if (own_try(o))
			return;
		cpu_relax();
	}
	net_count(tcp_own_waits);
	/* Ordered before our try; own_release() looks at it after its own swap. */
	atomic_fetch_add_explicit(&o->waiting, 1, memory_order_seq_cst);
	(void)wait_event_full(&o->wait, own_try(o), THREAD_UNINTERRUPTIBLE, UINT64_MAX, true);
	atomic_fetch_sub_explicit(&o->waiting, 1, memory_order_relaxed);
}

bool own_get_or_push(struct sock_own *o, struct net_node *n)
{
	uintptr_t v = atomic_load_explicit(&o->word, memory_order_relaxed);

	for (;;) {
		if (v == 0) {
			if (atomic_compare_exchange_weak_explicit(&o->word, &v, 1,
								  memory_order_seq_cst,
								  memory_order_relaxed))
				return true;
			continue;
		}
		n->next = v == 1 ? NULL : (struct net_node *)v;
		if (atomic_compare_exchange_weak_explicit(&o->word, &v, (uintptr_t)n,
							  memory_order_release,
							  memory_order_relaxed))
			return false;
	}
}

struct net_node *own_take_work(struct sock_own *o)
{
	struct net_node *n, *first = NULL;

	n = (struct net_node *)atomic_exchange_explicit(&o->word, 1, memory_order_acquire);
	while (n) { /* newest first: turn round */
		struct net_node *next = n->next;

		n->next = first;
		first = n;
		n = next;
	}
	return first;
}
