/* SPDX-License-Identifier: MIT */
/*
 * Charging: from the stock when it has enough, else by a walk over the counters,
 * and what happens when a limit says no.
 *
 * Order of a charge: stock hit | walk with the batch | walk with just what is
 * needed | settle (memcg_exact.c: is it really over?) | force if the caller must
 * not fail | reclaim | kill inside the group | fail.
 *
 * Nothing here sleeps before the last three steps, so this CPU's stock stays ours
 * from the first look to the last.
 */
#include "mm/stock.h"
#include "mm/memcg_tree.h"
#include "mm/reclaim.h"
#include "kernel/log.h"
#include "kernel/rcu.h"
#include "kernel/thread.h"
#include "kernel/trace.h"

#define PART       ((int32_t)PAGE_SIZE - 1)
#define FOLD_BYTES (4 << 20) /* a statistic further from the account is folded at the next miss */
#define OOM_TRIES  400       /* two seconds of waiting: a victim that takes longer is stuck */
#define RECLAIM_TRIES 16     /* rounds that find only pages in use before a kill */

void account_uncharge(struct account *a, uint64_t pages)
{
	if (!account_counts(a))
		return;
	trace(memcg_uncharge, a->group->id, pages);
	stock_tick(&this_cpu(stock_cpu), uncharge_walks);
	memcg_config.pc->uncharge(account_counter(a), (int64_t)pages);
}

void owner_give_back(struct owner *o, uint64_t bytes)
{
	uint64_t pages = bytes >> PAGE_SHIFT;
	int32_t rest = (int32_t)bytes & PART;

	if (rest) {
		int32_t r = atomic_fetch_add_explicit(&o->remainder, rest, memory_order_seq_cst);

		/*
		 * Who crosses a page boundary takes that page out, nobody else: so nobody
		 * moves more than a page beyond its own bytes (limbo counts that).
		 */
		if ((r & PART) + rest >= (int32_t)PAGE_SIZE) {
			atomic_fetch_sub_explicit(&o->remainder, (int32_t)PAGE_SIZE,
						  memory_order_seq_cst);
			pages++;
		}
	}
	if (pages)
		account_uncharge(owner_account(o), pages);
}

/* A part of a page may already be charged and free.  Whole pages in it are on their way out. */
static bool take_remainder(struct owner *o, uint64_t bytes)
{
	int32_t r = atomic_load_explicit(&o->remainder, memory_order_relaxed);

	if (PLANTED(REMAINDER_PLAIN) && (uint64_t)(r & PART) >= bytes) {
		atomic_store_explicit(&o->remainder, r - (int32_t)bytes, memory_order_relaxed);
		return true;
	}
	do {
		if ((uint64_t)(r & PART) < bytes)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&o->remainder, &r, r - (int32_t)bytes,
							memory_order_seq_cst,
							memory_order_relaxed));
	return true;
}

static bool walk(struct stock_cpu *s, struct account *a, uint64_t pages, struct account **over,
		 struct page_counter_walk *w)
{
	struct page_counter *refused;

	*w = (struct page_counter_walk){ .headroom = PAGE_COUNTER_MAX };
	if (!account_counts(a))
		return true;
	stock_tick(s, walks);
	if (likely(memcg_config.pc->try_charge(account_counter(a), (int64_t)pages, &refused, w)))
		return true;
	*over = counter_account(refused);
	return false;
}

/* @e NULL: the owner is closed, or has no entry; the account is written directly. */
static void count_bytes(struct stock_cpu *s, struct stock_entry *e, struct owner *o,
			struct account *a, enum memcg_kind kind, int64_t bytes)
{
	if (e) {
		stock_count(e, kind, bytes);
		bytes = atomic_load_explicit(&e->delta[kind], memory_order_relaxed);
		if (bytes > FOLD_BYTES || bytes < -FOLD_BYTES)
			stock_fold(s, e, o, a);
		return;
	}
	account_stat_add(a, kind, bytes);
	owner_add_bytes(o, bytes);
}

/* This CPU's entry and the account to walk.  Entry NULL: closed owner. */
static struct stock_entry *locate(struct stock_cpu *s, struct owner *o, struct account **a)
{
	struct stock_entry *e;

	*a = owner_account(o);
	if ((*a)->owner == o) {
		e = stock_entry_get(s, o, *a);
		if (likely(!owner_is_closed(o)))
			return e;
		*a = owner_account(o);
	}
	stock_forget(s, o);
	return NULL;
}

enum once { ONCE_CHARGED, ONCE_FORCED, ONCE_REFUSED };

/* One attempt, without sleeping.  Under RCU.  *over: who refused. */
static enum once charge_once(struct owner *o, uint64_t bytes, enum memcg_kind kind, unsigned flags,
			struct account **over)
{
	struct stock_cpu *s = &this_cpu(stock_cpu);
	uint64_t pages = DIV_ROUND_UP(bytes, PAGE_SIZE), want = pages, batch = 0, extra;
	struct page_counter_walk w;
	struct stock_entry *e;
	struct account *a;
	bool ok, forced = false;

	e = locate(s, o, &a);
	if (e)
		stock_hold(s, e);
	if (bytes & (PAGE_SIZE - 1) && take_remainder(o, bytes)) {
		count_bytes(s, e, o, a, kind, (int64_t)bytes);
		return ONCE_CHARGED;
	}
	if (e)
		batch = atomic_load_explicit(&e->batch, memory_order_relaxed);
	limbo_begin(s, a, batch > pages ? batch : pages);
	if (batch > pages && stock_allowed(o, a))
		want = batch;
	ok = walk(s, a, want, over, &w);
	if (!ok && want > pages) {
		want = pages;
		ok = walk(s, a, want, over, &w);
	}
	if (!ok && memcg_config.linux_rules) {
		/* Linux calls in what the CPUs hold that hold anything of the group, once. */
		limbo_end(s);
		stock_sweep(*over, NULL);
		limbo_begin(s, a, pages);
		ok = walk(s, a, want, over, &w);
	}
	if (ok) {
		extra = want * PAGE_SIZE - bytes;
		if (e) {
			/* Above some high nothing is held back: each page is one to pay for. */
			stock_set_batch(e, stock_batch(w.over_high ? 0 : w.headroom));
			atomic_store_explicit(&e->tight, w.tight, memory_order_relaxed);
			if (extra)
				extra = stock_put(s, e, o, a, extra);
		}
		if (extra)
			owner_give_back(o, extra);
	}
	limbo_end(s);
	if (ok) {
		if (memcg_config.linux_rules && account_counts(a))
			w.over_high = memcg_config.pc->over_high(account_counter(a));
		if (unlikely(w.over_high))
			memcg_note_high(a, memcg_config.linux_rules ? want : pages);
	} else {
		if (e) {
			stock_set_batch(e, stock_batch(0));
			atomic_store_explicit(&e->tight, true, memory_order_relaxed);
		}
		if (!memcg_config.linux_rules)
			ok = memcg_exact_charge(a, pages, over) == EXACT_CHARGED;
		if (!ok && flags & CHARGE_NOFAIL) {
			limbo_begin(s, a, pages);
			memcg_config.pc->charge(account_counter(a), (int64_t)pages, &w);
			ok = forced = true;
		}
		if (ok && pages * PAGE_SIZE != bytes)
			owner_give_back(o, pages * PAGE_SIZE - bytes);
		limbo_end(s);
	}
	if (!ok)
		return ONCE_REFUSED;
	count_bytes(s, e, o, a, kind, (int64_t)bytes);
	return forced ? ONCE_FORCED : ONCE_CHARGED;
}

/* Kinds whose users cannot handle an error: a fault, a write into a file. */
static bool kind_kills(enum memcg_kind kind)
{
	return kind == MEMCG_ANON || kind == MEMCG_FILE || kind == MEMCG_SHMEM ||
	       kind == MEMCG_PGTABLE;
}

/*
 * Makes room below @group, which refused @pages: 0 to try again, -ENOMEM to give up.
 * *tries: rounds without progress so far.
 */
static int make_room(struct memcg *group, uint64_t pages, enum memcg_kind kind, unsigned flags,
		     unsigned *tries)
{
	struct reclaim_request q = { .top = group,
				     .want = pages > RECLAIM_BATCH ? pages : RECLAIM_BATCH,
				     .stalls = true };

	reclaim_run(&q);
	if (memcg_dying())
		return -ENOMEM;
	if (q.freed) {
		*tries = 0;
		return 0;
	}
	/* Objects that wait for a grace period are still charged: they come back first. */
	if (!*tries) {
		++*tries;
		rcu_barrier();
		return 0;
	}
	/* Pages that are dirty or in use now may be had later: as often as Linux tries. */
	if (q.later && ++*tries < RECLAIM_TRIES) {
		memcg_wait_victim();
		return 0;
	}
	if (flags & CHARGE_NOOOM || !kind_kills(kind) || ++*tries > OOM_TRIES ||
	    !oom_kill(group, "memory.max", pages) || memcg_wait_victim())
		return -ENOMEM;
	return 0;
}

static __noinline int charge_slow(struct owner *o, uint64_t bytes, enum memcg_kind kind,
				  unsigned flags)
{
	uint64_t pages = DIV_ROUND_UP(bytes, PAGE_SIZE);
	bool can_sleep = !(flags & (CHARGE_NOSLEEP | CHARGE_NOFAIL));
	bool slept = false, told = false;
	unsigned tries = 0;
	int err;

	ASSERT(irqs_enabled()); /* interrupt handlers charge nothing: this CPU's stock is ours */
	stock_bump(&this_cpu(stock_cpu).counters[SC_stock_misses], 1);
	for (;;) {
		struct account *over = NULL;
		struct memcg *group = NULL;
		enum once result;

		err = -ENOMEM;
		rcu_read_lock();
		trace(memcg_miss, owner_account(o)->group->id, bytes);
		result = charge_once(o, bytes, kind, flags, &over);
		if (result != ONCE_CHARGED && !told) {
			trace(memcg_refuse, over->group->id, pages);
			account_event(over, MEMCG_EV_MAX);
		}
		told = true;
		if (result != ONCE_REFUSED) {
			stock_bump(&this_cpu(stock_cpu).charged, bytes);
			err = 0;
		} else if (can_sleep) {
			group = memcg_tryget(over->group);
		}
		rcu_read_unlock();
		if (!group)
			break;
		/* From here on we sleep: keep what the caller only borrowed. */
		if (!slept)
			owner_get(o);
		slept = true;
		err = make_room(group, pages, kind, flags, &tries);
		memcg_put(group);
		if (err)
			break;
	}
	if (!err && can_sleep)
		memcg_pay_high_now();
	if (err)
		stock_bump(&this_cpu(stock_cpu).counters[SC_refusals], 1);
	if (slept)
		owner_put(o);
	return err;
}

/* Batch and cap as they should be now.  @look: the entry may be small because a limit was near. */
static void refresh_entry(struct stock_entry *e, struct account *a, bool look)
{
	if (atomic_load_explicit(&memcg_config.batch, memory_order_relaxed) || !account_counts(a))
		stock_set_batch(e, stock_batch(0));
	else if (look)
		stock_set_batch(e, stock_batch(memcg_config.pc->headroom(account_counter(a))));
}

static __noinline void uncharge_slow(struct owner *o, uint64_t bytes, enum memcg_kind kind)
{
	struct stock_cpu *s = &this_cpu(stock_cpu);
	struct stock_entry *e;
	struct account *a;
	uint64_t left = bytes, cap = 0;

	ASSERT(irqs_enabled());
	rcu_read_lock();
	stock_tick(s, uncharge_misses);
	e = locate(s, o, &a);
	if (e && !atomic_load_explicit(&memcg_config.direct, memory_order_relaxed)) {
		stock_hold(s, e);
		refresh_entry(e, a, stock_cap(e) == 0);
		cap = stock_cap(e);
	}
	/* In limbo also without an entry: the remainder may give a page that nobody uses. */
	limbo_begin(s, a, DIV_ROUND_UP(bytes + cap, PAGE_SIZE));
	if (cap)
		left = stock_put(s, e, o, a, bytes);
	if (left)
		owner_give_back(o, left);
	limbo_end(s);
	count_bytes(s, e, o, a, kind, -(int64_t)bytes);
	rcu_read_unlock();
}

/*
 * The fast paths look only at the entry this CPU used last, so that nothing has to
 * be kept across a call; the second try below looks further.
 */
static __always_inline void count_hit(struct stock_cpu *s, struct stock_entry *e, uint64_t bytes,
				      enum memcg_kind kind)
{
	stock_count(e, kind, (int64_t)bytes);
	stock_bump(&s->charged, bytes);
	stock_bump(&s->hits, 1);
}

static __always_inline bool charge_fast(struct stock_cpu *s, struct stock_entry *e, uint64_t bytes,
					enum memcg_kind kind)
{
	if (unlikely(!stock_take(e, bytes)))
		return false;
	count_hit(s, e, bytes, kind);
	return true;
}

static __always_inline bool uncharge_fast(struct stock_entry *e, uint64_t bytes,
					  enum memcg_kind kind)
{
	if (unlikely(!stock_give(e, bytes)))
		return false;
	stock_count(e, kind, -(int64_t)bytes);
	return true;
}

static __noinline int charge_again(struct owner *o, uint64_t bytes, enum memcg_kind kind,
				   unsigned flags)
{
	struct stock_cpu *s = &this_cpu(stock_cpu);
	struct stock_entry *e;

	if (!o || !bytes)
		return 0;
	if (s->last != o && (e = stock_look(s, o)) && charge_fast(s, e, bytes, kind))
		return 0;
	return charge_slow(o, bytes, kind, flags);
}

static __noinline void uncharge_again(struct owner *o, uint64_t bytes, enum memcg_kind kind)
{
	struct stock_cpu *s = &this_cpu(stock_cpu);
	struct stock_entry *e;

	if (!o || !bytes)
		return;
	if (s->last != o && (e = stock_look(s, o)) && uncharge_fast(e, bytes, kind))
		return;
	uncharge_slow(o, bytes, kind);
}

static __always_inline int charge(struct owner *o, uint64_t bytes, enum memcg_kind kind,
				  unsigned flags)
{
	struct stock_cpu *s = &this_cpu(stock_cpu);

	if (likely(o && s->last == o && charge_fast(s, s->last_entry, bytes, kind)))
		return 0;
	return charge_again(o, bytes, kind, flags);
}

static __always_inline void uncharge(struct owner *o, uint64_t bytes, enum memcg_kind kind)
{
	struct stock_cpu *s = &this_cpu(stock_cpu);

	if (unlikely(!o || s->last != o || !uncharge_fast(s->last_entry, bytes, kind)))
		uncharge_again(o, bytes, kind);
}

int memcg_charge(struct owner *o, unsigned pages, enum memcg_kind kind, unsigned flags)
{
	return charge(o, (uint64_t)pages << PAGE_SHIFT, kind, flags);
}

void memcg_uncharge(struct owner *o, unsigned pages, enum memcg_kind kind)
{
	uncharge(o, (uint64_t)pages << PAGE_SHIFT, kind);
}

int memcg_charge_bytes(struct owner *o, size_t bytes, enum memcg_kind kind, unsigned flags)
{
	return charge(o, bytes, kind, flags);
}

void memcg_uncharge_bytes(struct owner *o, size_t bytes, enum memcg_kind kind)
{
	uncharge(o, bytes, kind);
}

/* From the stock of this CPU, with credit, if it gives any now; else just the pages. */
static __always_inline unsigned charge_ahead(struct stock_cpu *s, struct stock_entry *e,
					     unsigned pages)
{
	unsigned ahead = atomic_load_explicit(&e->credit, memory_order_relaxed);
	uint64_t bytes = (uint64_t)(pages + ahead) << PAGE_SHIFT;

	return likely(ahead && charge_fast(s, e, bytes, MEMCG_SOCK)) ? pages + ahead : 0;
}

static __noinline unsigned charge_sock_again(struct owner *o, unsigned pages, unsigned flags)
{
	struct stock_cpu *s = &this_cpu(stock_cpu);
	struct stock_entry *e = s->last == o ? NULL : stock_look(s, o);
	unsigned got = e ? charge_ahead(s, e, pages) : 0;

	if (got)
		return got;
	return memcg_charge(o, pages, MEMCG_SOCK, flags) ? 0 : pages;
}

unsigned memcg_charge_sock(struct owner *o, unsigned pages, unsigned flags)
{
	struct stock_cpu *s = &this_cpu(stock_cpu);
	unsigned got = likely(s->last == o) ? charge_ahead(s, s->last_entry, pages) : 0;

	return likely(got) ? got : charge_sock_again(o, pages, flags);
}

unsigned memcg_sock_credit(struct owner *o)
{
	struct stock_entry *e = stock_find(&this_cpu(stock_cpu), o);

	return likely(e) ? atomic_load_explicit(&e->credit, memory_order_relaxed) : 0;
}

int memcg_charge_page(struct page *p, struct owner *o, enum memcg_kind kind, unsigned flags)
{
	int err = memcg_charge(o, 1u << p->order, kind, flags);

	if (!err) {
		p->owner = o;
		p->charge_kind = kind;
	}
	return err;
}

void memcg_uncharge_page(struct page *p)
{
	struct owner *o = p->owner;

	if (!o)
		return;
	p->owner = NULL;
	memcg_uncharge(o, 1u << p->order, p->charge_kind);
}

void memcg_count(struct owner *o, enum memcg_count c, int n)
{
	struct stock_cpu *s = &this_cpu(stock_cpu);
	struct stock_entry *e;
	struct account *a;

	if (!o)
		return;
	e = stock_find(s, o);
	if (unlikely(!e)) {
		rcu_read_lock();
		e = locate(s, o, &a);
		if (!e)
			account_stat_add(a, NR_MEMCG_KINDS + c, n);
		rcu_read_unlock();
	}
	if (e)
		stock_count(e, NR_MEMCG_KINDS + c, n);
}
