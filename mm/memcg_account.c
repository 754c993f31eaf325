/* SPDX-License-Identifier: MIT */
/* Accounts: made, closed, and who uses them (mm/memcg_internal.h). */
#include "mm/stock.h"
#include "mm/slab.h"

struct account *root_account;

static struct kmem_cache *account_cache; /* account and counter; its size is the boot's choice */

bool account_init(void)
{
	account_cache = kmem_cache_create("account",
					  memcg_config.counter_offset + memcg_config.pc->size,
					  CACHE_LINE, SLAB_ZERO);
	return account_cache && owner_init();
}

struct account *account_create(struct account *parent, struct memcg *group)
{
	struct account *a = kmem_cache_alloc(account_cache, GFP_KERNEL);

	if (!a)
		return NULL;
	a->owner = parent ? owner_create(a) : &root_owner;
	if (!a->owner) {
		kmem_cache_free(account_cache, a);
		return NULL;
	}
	a->group = group;
	a->parent = parent;
	a->depth = parent ? parent->depth + 1 : 0;
	if (parent)
		atomic_store_explicit(&parent->inner, true, memory_order_seq_cst);
	spin_init(&a->exact_lock, "memcg_exact");
	memcg_config.pc->init(account_counter(a), parent && account_counts(parent)
						  ? account_counter(parent) : NULL);
	if (!parent) {
		root_account = a;
		atomic_store_explicit(&root_owner.account, a, memory_order_release);
	}
	return a;
}

static void account_free_rcu(struct rcu_head *h)
{
	struct account *a = container_of(h, struct account, rcu);

	account_reclaim_free(a);
	kmem_cache_free(account_cache, a);
}

/*
 * Order: protection off the parent; owner re-pointed (charges from here on see the
 * parent); stock called in.  A walk that found this account just before goes on
 * charging it and everything above it: what it adds here is lost with the account,
 * what it adds above is given back there when the page goes, as its owner then
 * stands for the parent.  RCU keeps the account until such walks are over.
 */
void account_close(struct account *a)
{
	struct owner *o = a->owner;

	memcg_config.pc->set(account_counter(a), PC_MIN, 0);
	memcg_config.pc->set(account_counter(a), PC_LOW, 0);
	owner_close(o, a->parent->owner);
	account_reclaim_close(a);
	if (memcg_config.enabled) {
		rcu_read_lock();
		stock_sweep(a, o);
		stock_forget(&this_cpu(stock_cpu), o);
		rcu_read_unlock();
	}
	owner_put(o);
	call_rcu(&a->rcu, account_free_rcu);
}

int64_t account_usage(struct account *a)
{
	return account_counts(a) ? memcg_config.pc->usage(account_counter(a)) : 0;
}

void owner_user_get(struct owner *o)
{
	if (o)
		atomic_fetch_add_explicit(&o->users, 1, memory_order_seq_cst);
}

bool owner_user_put(struct owner *o)
{
	return o && atomic_fetch_sub_explicit(&o->users, 1, memory_order_seq_cst) == 1;
}

void memcg_user_get(struct owner *o)
{
	owner_user_get(o);
}

void memcg_user_put(struct owner *o)
{
	rcu_read_lock();
	if (owner_user_put(o))
		stock_return_owner(o);
	rcu_read_unlock();
}

uint64_t memcg_headroom(struct owner *o)
{
	struct account *a;
	int64_t room = PAGE_COUNTER_MAX;

	rcu_read_lock();
	a = owner_account(o);
	if (account_counts(a))
		room = memcg_config.pc->headroom(account_counter(a));
	rcu_read_unlock();
	if (room >= PAGE_COUNTER_MAX / 2)
		return SIZE_MAX;
	return room < 0 ? 0 : (uint64_t)room << PAGE_SHIFT;
}

bool memcg_under_pressure(struct owner *o)
{
	struct stock_entry *e = stock_find(&this_cpu(stock_cpu), o);
	bool tight = false;

	/* No shared line is read; a CPU that has not walked for this owner yet looks. */
	if (likely(e))
		return atomic_load_explicit(&e->tight, memory_order_relaxed);
	rcu_read_lock();
	for (struct account *a = owner_account(o); a->parent && !tight; a = a->parent) {
		int64_t most = memcg_config.pc->get(account_counter(a), PC_MAX);

		tight = most - memcg_config.pc->usage(account_counter(a)) <= most / 8;
	}
	rcu_read_unlock();
	return tight;
}

void memcg_event_sock_dropped(struct owner *o)
{
	rcu_read_lock();
	account_event(owner_account(o), MEMCG_EV_SOCK_DROPPED);
	rcu_read_unlock();
}

struct memcg *owner_memcg(struct owner *o)
{
	return owner_account(o)->group;
}
