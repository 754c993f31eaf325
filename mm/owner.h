/* SPDX-License-Identifier: MIT */
/*
 * Owners: what a charged page points to.
 *
 * What:      page -> owner -> account.  An owner stands for one account (a group's
 *            memory controller).  When the account is closed, its owner points to
 *            the parent's owner instead, so a removed group is gone at once
 *            whatever still lives; readers shorten the chain as they follow it.
 * Life time: an owner is freed when nothing names it any more: no reference
 *            (refs: the account, sockets, stock entries, owners below) and no
 *            charged byte (bytes).  While the account is open its own reference
 *            keeps the owner, so charges need not count; what they add up to is
 *            the sum of the statistics deltas, which reach bytes when an entry
 *            of the stock is folded.  An entry in use holds a reference, so bytes
 *            is complete whenever refs is zero.
 * Locks:     none; RCU for everything that is reached through an owner.
 */
#ifndef MM_OWNER_H
#define MM_OWNER_H

#include "kernel/types.h"
#include "kernel/rcu.h"

struct account;

/* Legend: [a] atomic, [r] RCU pointer. */
struct owner {
	/* Line 0: read by every walk, written when the group or its users change. */
	__cacheline_aligned _Atomic(struct account *) account; /* [r] NULL once closed, for good */
	_Atomic(struct owner *) parent;    /* [r] set before account is cleared; referenced; bit 0: mm/owner.c */
	_Atomic uint32_t users;            /* [a] processes and sockets; 0: no stock is kept */
	/* Line 1: written now and then. */
	__cacheline_aligned _Atomic int64_t refs; /* [a] */
	_Atomic int64_t bytes;             /* [a] charged by pages and objects, without what the stocks hold back */
	_Atomic int32_t remainder;         /* [a] bytes of a charged page that nobody uses; < 1 page when quiet */
	_Atomic bool freed;                /* [a] one of two who see the end frees */
	struct rcu_head rcu;
};
_Static_assert(sizeof(struct owner) == 2 * CACHE_LINE, "an owner is two lines");

bool owner_init(void); /* false without memory */
struct owner *owner_create(struct account *a); /* one reference, the account's; NULL without memory */
/**
 * owner_close - the account is going: stand for @parent's account from now on
 * The caller sweeps the owner's stock afterwards and then drops the account's
 * reference.  Context: RCU reader or not; one caller.
 */
void owner_close(struct owner *o, struct owner *parent);
static inline bool owner_is_closed(struct owner *o)
{
	return !atomic_load_explicit(&o->account, memory_order_seq_cst);
}
/* The account that @o stands for now.  Under RCU.  Never NULL: the root's at last. */
struct account *owner_account(struct owner *o);
/* Add @n to the charged bytes (a fold, or a charge past the stock).  Frees the owner when that was the last. Under RCU. */
void owner_add_bytes(struct owner *o, int64_t n);
/* The owner of @parent's chain end, for tests. */
unsigned owner_chain_length(struct owner *o);

extern struct owner root_owner; /* end of every chain; never charged by name */
extern _Atomic int64_t owners_alive; /* for tests and /proc/tally */

#endif /* MM_OWNER_H */
