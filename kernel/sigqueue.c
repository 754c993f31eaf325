/* SPDX-License-Identifier: MIT */
/*
 * Queues of pending signals: one bit per signal, and details in order of
 * arrival.
 *
 * A standard signal (1-31) is pending at most once; real-time signals queue as
 * often as they are sent.  A set bit without an entry is a signal whose details
 * found no memory: it is delivered all the same.
 *
 * Locks: sighand->lock of the process, except for the entry's own allocation.
 */
#include "kernel/sighand.h"
#include "kernel/errno.h"
#include "kernel/string.h"

#define MAX_QUEUED 1024 /* entries of one process; beyond: standard signals lose their details */

static struct kmem_cache *entry_cache;

void sigqueue_cache_init(void)
{
	entry_cache = kmem_cache_create("sigqueue", sizeof(struct sigqueue_entry), 0, SLAB_ACCOUNT);
}

struct sigqueue_entry *sigqueue_entry_alloc(void)
{
	/* Senders may hold spinlocks. */
	return kmem_cache_alloc(entry_cache, GFP_ATOMIC | GFP_NOWARN);
}

void sigqueue_entry_free(struct sigqueue_entry *e)
{
	if (e)
		kmem_cache_free(entry_cache, e);
}

void sigqueue_init(struct sigqueue *q)
{
	q->mask = 0;
	q->first = NULL;
	q->last = &q->first;
}

int signal_next(uint64_t pending)
{
	uint64_t first = pending & SIGSET_FAULT;

	/* A program hears of its own fault before anything else happens at the same place. */
	if (!first)
		first = pending;
	return first ? __builtin_ctzll(first) + 1 : 0;
}

static struct sigqueue_entry *unlink_at(struct sigqueue *q, struct sigqueue_entry **at)
{
	struct sigqueue_entry *e = *at;

	*at = e->next;
	if (!e->next)
		q->last = at;
	return e;
}

void sigqueue_flush(struct sighand *h, struct sigqueue *q, uint64_t mask)
{
	struct sigqueue_entry **at = &q->first;

	if (!(q->mask & mask))
		return;
	q->mask &= ~mask;
	while (*at) {
		if (mask & SIG_BIT((*at)->info.signo)) {
			sigqueue_entry_free(unlink_at(q, at));
			h->nr_queued--;
		} else {
			at = &(*at)->next;
		}
	}
}

int sigqueue_take(struct sighand *h, struct sigqueue *q, uint64_t blocked, struct siginfo_k *out)
{
	int sig = signal_next(q->mask & ~blocked);
	struct sigqueue_entry *found = NULL, **at;
	bool more = false;

	if (!sig)
		return 0;
	for (at = &q->first; *at && !more;) {
		if ((*at)->info.signo != sig) {
			at = &(*at)->next;
		} else if (!found) {
			found = unlink_at(q, at);
		} else {
			more = true;
		}
	}
	if (!more)
		q->mask &= ~SIG_BIT(sig);
	if (found) {
		*out = found->info;
		sigqueue_entry_free(found);
		h->nr_queued--;
	} else {
		memset(out, 0, sizeof(*out));
		out->signo = sig;
	}
	return sig;
}

int sigqueue_add(struct sighand *h, struct sigqueue *q, const struct siginfo_k *info,
		 struct sigqueue_entry *e)
{
	uint64_t bit = SIG_BIT(info->signo);

	if (info->signo < 32 && (q->mask & bit)) {
		sigqueue_entry_free(e);
		return 0;
	}
	if (e && h->nr_queued >= MAX_QUEUED) {
		sigqueue_entry_free(e);
		e = NULL;
	}
	if (!e) {
		/* kill() of a real-time signal may lose count, sigqueue() says so. */
		if (info->signo >= 32 && info->code != SI_USER && info->code != SI_KERNEL)
			return -EAGAIN;
		q->mask |= bit;
		return 0;
	}
	e->info = *info;
	e->next = NULL;
	*q->last = e;
	q->last = &e->next;
	h->nr_queued++;
	q->mask |= bit;
	return 0;
}
