/* SPDX-License-Identifier: MIT */
/* The stock: entries, eviction, stealing (mm/stock.h). */
#include "mm/stock.h"
#include "mm/slab.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "kernel/trace.h"

DEFINE_PER_CPU(struct stock_cpu, stock_cpu);

const char *const stock_counter_names[NR_STOCK_COUNTERS] = {
#define X(name, what) #name,
	STOCK_COUNTERS(X)
#undef X
};

bool stock_init(void)
{
	for_each_cpu(c) {
		size_t n = sizeof(struct stock_table) + CACHE_LINE;
		char *mem = kzalloc(n, GFP_KERNEL);

		if (!mem)
			return false;
		per_cpu(stock_cpu, c).table =
			(struct stock_table *)ALIGN_UP((uintptr_t)mem, (uintptr_t)CACHE_LINE);
		for (unsigned i = 0; i < STOCK_ENTRIES; i++)
			atomic_init(&per_cpu(stock_cpu, c).table->entries[i].word, WORD_CLOSED);
	}
	return true;
}

struct stock_entry *stock_find_other(struct stock_cpu *s, struct owner *o)
{
	return stock_look(s, o);
}

/*
 * Moves an entry's statistics to the account @a and the owner's charged bytes.
 * Readers who add both see fold_seq odd or changed and look again.
 */
void stock_fold(struct stock_cpu *s, struct stock_entry *e, struct owner *o, struct account *a)
{
	int64_t bytes = 0;

	stock_bump(&s->fold_seq, 1);
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < NR_MEMCG_STATS; i++) {
		int64_t d = atomic_load_explicit(&e->delta[i], memory_order_relaxed);

		if (!d)
			continue;
		account_stat_add(a, i, d);
		if (i < NR_MEMCG_KINDS)
			bytes += d;
		atomic_store_explicit(&e->delta[i], 0, memory_order_relaxed);
	}
	atomic_store_explicit(&s->fold_seq,
			      atomic_load_explicit(&s->fold_seq, memory_order_relaxed) + 1,
			      memory_order_release);
	owner_add_bytes(o, bytes);
}

/* CPU @cpu may have an entry of @a's subtree from now on, whoever stands for its owner later. */
static void set_holder(struct account *a, unsigned cpu)
{
	unsigned bit = cpu % HOLDER_BITS;
	uint64_t m = 1ULL << bit % 64;

	if (PLANTED(HOLDER_SILENT))
		return;
	for (; a; a = a->parent)
		if (!(atomic_load_explicit(&a->holders[bit / 64], memory_order_relaxed) & m))
			atomic_fetch_or_explicit(&a->holders[bit / 64], m, memory_order_seq_cst);
}

static unsigned batch_now(struct account *a)
{
	if (!account_counts(a) || atomic_load_explicit(&memcg_config.batch, memory_order_relaxed))
		return stock_batch(0);
	return stock_batch(memcg_config.pc->headroom(account_counter(a)));
}

/* The owner CPU takes everything out of an entry and closes it; gives it back to @o. */
static void drain(struct stock_cpu *s, struct stock_entry *e, struct owner *o, struct account *a,
		  uint64_t new_tag)
{
	/* Only this CPU adds, so what is there now is the most that the exchange can find. */
	uint64_t w = atomic_load_explicit(&e->word, memory_order_relaxed);
	uint64_t amount;

	limbo_begin(s, a, DIV_ROUND_UP(w & WORD_AMOUNT, PAGE_SIZE));
	if (PLANTED(DRAIN_PLAIN))
		atomic_store_explicit(&e->word, ((w & ~(WORD_TAG - 1)) + new_tag) | WORD_CLOSED,
				      memory_order_seq_cst);
	else
		w = atomic_exchange_explicit(&e->word,
					     ((w & ~(WORD_TAG - 1)) + new_tag) | WORD_CLOSED,
					     memory_order_seq_cst);
	amount = w & WORD_AMOUNT;
	if (amount) {
		stock_tick(s, drains);
		trace(memcg_drain, amount);
		owner_give_back(o, amount);
	}
	limbo_end(s);
}

static void release_hold(struct stock_cpu *s, struct stock_entry *e)
{
	for (unsigned i = 0; i < ARRAY_SIZE(s->held); i++)
		if (s->held[i] == e) {
			s->held[i] = NULL;
			s->held_owner[i] = NULL;
		}
}

/* An entry of this CPU goes to nobody: amount back, statistics folded, reference dropped. */
static void evict(struct stock_cpu *s, unsigned i)
{
	struct stock_entry *e = &s->table->entries[i];
	struct owner *o = atomic_load_explicit(&s->table->owners[i], memory_order_relaxed);
	struct account *a;

	if (!o)
		return;
	if (s->last == o)
		s->last = NULL;
	release_hold(s, e);
	a = owner_account(o);
	drain(s, e, o, a, WORD_TAG);
	stock_fold(s, e, o, a);
	atomic_store_explicit(&s->table->owners[i], NULL, memory_order_release);
	stock_tick(s, evictions);
	owner_put(o);
}

void stock_forget(struct stock_cpu *s, struct owner *o)
{
	unsigned first = stock_first(o);

	for (unsigned i = first; i < first + STOCK_WAYS; i++)
		if (atomic_load_explicit(&s->table->owners[i], memory_order_relaxed) == o)
			evict(s, i);
}

struct stock_entry *stock_entry_get(struct stock_cpu *s, struct owner *o, struct account *a)
{
	struct stock_entry *e = stock_find(s, o);
	unsigned first = stock_first(o), i;
	uint64_t w;

	if (e)
		return e;
	for (i = first; i < first + STOCK_WAYS; i++)
		if (!atomic_load_explicit(&s->table->owners[i], memory_order_relaxed))
			break;
	if (i == first + STOCK_WAYS) {
		i = first + s->next_way[first / STOCK_WAYS]++ % STOCK_WAYS;
		evict(s, i);
	}
	owner_get(o);
	set_holder(a, cpu_id());
	e = &s->table->entries[i];
	stock_set_batch(e, batch_now(a));
	atomic_store_explicit(&e->tight, false, memory_order_relaxed);
	/* The tag changed in evict(): a thief who sees the new owner and an old word fails. */
	atomic_store_explicit(&s->table->owners[i], o, memory_order_release);
	w = atomic_load_explicit(&e->word, memory_order_relaxed);
	atomic_store_explicit(&e->word, ((w & ~(WORD_TAG - 1)) + WORD_TAG) | WORD_CLOSED,
			      memory_order_seq_cst);
	stock_remember(s, o, e);
	return e;
}

void stock_hold(struct stock_cpu *s, struct stock_entry *e)
{
	unsigned slots = memcg_config.slots;
	unsigned free = slots;

	if (!slots)
		return;
	for (unsigned i = 0; i < slots; i++) {
		if (s->held[i] == e)
			return;
		if (!s->held[i] && free == slots)
			free = i;
	}
	if (free == slots) {
		struct stock_entry *v;
		unsigned n;
		struct owner *o;

		free = s->next_victim++ % slots;
		v = s->held[free];
		n = v - s->table->entries;
		o = atomic_load_explicit(&s->table->owners[n], memory_order_relaxed);
		drain(s, v, o, owner_account(o), 0);
	}
	s->held[free] = e;
	s->held_owner[free] = atomic_load_explicit(&s->table->owners[e - s->table->entries],
						   memory_order_relaxed);
}

bool stock_allowed(struct owner *o, struct account *a)
{
	if (!atomic_load_explicit(&o->users, memory_order_seq_cst) || owner_is_closed(o))
		return false;
	for (; a; a = a->parent)
		if (atomic_load_explicit(&a->pressure, memory_order_seq_cst))
			return false;
	return true;
}

/* This CPU takes up to @want bytes of an entry back, all if @close. */
static uint64_t take_back(struct stock_entry *e, uint64_t keep, bool close)
{
	uint64_t w = atomic_load_explicit(&e->word, memory_order_relaxed), left;

	do {
		uint64_t have = w & WORD_AMOUNT;

		left = have < keep ? have : keep;
	} while (!atomic_compare_exchange_weak_explicit(
		&e->word, &w, (w & ~WORD_AMOUNT) | left | (close ? WORD_CLOSED : 0),
		memory_order_seq_cst, memory_order_relaxed));
	return (w & WORD_AMOUNT) - left;
}

uint64_t stock_put(struct stock_cpu *s, struct stock_entry *e, struct owner *o, struct account *a,
		   uint64_t bytes)
{
	uint64_t w;

	if (bytes > STOCK_AMOUNT_MAX / 2 || !stock_allowed(o, a))
		return bytes;
	/* Before the amount: who sweeps looks for the bit, then for the amount. */
	set_holder(a, cpu_id());
	w = atomic_load_explicit(&e->word, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&e->word, &w, (w & ~WORD_CLOSED) + bytes,
						      memory_order_seq_cst, memory_order_relaxed))
		;
	w = (w & WORD_AMOUNT) + bytes;
	/*
	 * After the amount: who forbids (pressure raised, last user gone, owner
	 * closed) writes that first and sweeps then; either they see the amount or
	 * we see the ban.
	 */
	if (unlikely(!stock_allowed(o, a)))
		return take_back(e, 0, true);
	if (w <= stock_cap(e))
		return 0;
	stock_tick(s, drains);
	/* Linux empties a slot that runs over; half of it saves the next charge a walk. */
	return take_back(e, memcg_config.linux_rules ? 0 : stock_cap(e) / 2, false);
}

/* Another CPU's entry: everything out, closed.  In limbo with the amount; ours to give back. */
static uint64_t steal(struct stock_cpu *me, struct stock_cpu *s, unsigned i, struct account *top,
		      struct owner *only)
{
	struct stock_entry *e = &s->table->entries[i];
	uint64_t w = atomic_load_explicit(&e->word, memory_order_seq_cst);

	for (;;) {
		struct owner *o = atomic_load_explicit(&s->table->owners[i], memory_order_acquire);
		struct account *a;

		if (!o || (only && o != only))
			return 0;
		if (w == ((w & ~(WORD_TAG - 1)) | WORD_CLOSED))
			return 0;
		a = owner_account(o);
		if (!only && !PLANTED(SWEEP_ALL) && !account_is_under(a, top))
			return 0;
		limbo_begin(me, a, DIV_ROUND_UP(w & WORD_AMOUNT, PAGE_SIZE));
		if (atomic_compare_exchange_strong_explicit(
			    &e->word, &w, (w & ~(WORD_TAG - 1)) | WORD_CLOSED, memory_order_seq_cst,
			    memory_order_seq_cst)) {
			if (w & WORD_AMOUNT) {
				stock_tick(me, steals);
				trace(memcg_steal, w & WORD_AMOUNT);
				owner_give_back(o, w & WORD_AMOUNT);
			}
			limbo_end(me);
			return w & WORD_AMOUNT;
		}
		limbo_end(me);
	}
}

void stock_sweep(struct account *top, struct owner *only)
{
	struct stock_cpu *me = &this_cpu(stock_cpu);

	stock_tick(me, sweeps);
	for_each_cpu(c) {
		struct stock_cpu *s = &per_cpu(stock_cpu, c);

		if (!stock_may_hold(top, c))
			continue;
		if (only) {
			unsigned first = stock_first(only);

			for (unsigned i = first; i < first + STOCK_WAYS; i++)
				steal(me, s, i, top, only);
			continue;
		}
		for (unsigned i = 0; i < STOCK_ENTRIES; i++)
			if (atomic_load_explicit(&s->table->owners[i], memory_order_relaxed))
				steal(me, s, i, top, NULL);
	}
}

void stock_return_owner(struct owner *o)
{
	struct account *a = atomic_load_explicit(&o->account, memory_order_acquire);

	/* A closed owner's stock was called in when it was closed. */
	if (a)
		stock_sweep(a, o);
}
