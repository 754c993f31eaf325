/* SPDX-License-Identifier: MIT */
/* The tree of groups (mm/memcg_tree.h). */
#include "mm/memcg_tree.h"
#include "mm/memcg_walk.h"
#include "mm/psi.h"
#include "mm/stock.h"
#include "mm/slab.h"
#include "kernel/log.h"
#include "kernel/string.h"

struct memcg *memcg_root;
struct spinlock memcg_lock = SPINLOCK_INIT("memcg_lock");
struct mutex memcg_mutex = MUTEX_INIT(memcg_mutex, "memcg_mutex");
static uint32_t next_id = 1; /* memcg_mutex */

/* Children by (parent, name).  Fixed, 512 KiB: 100 000 groups make chains of two. */
#define NAME_BUCKETS 65536
static _Atomic(struct memcg *) *names; /* changed under memcg_mutex, read under RCU */

static _Atomic(struct memcg *) *bucket_of(const struct memcg *parent, const char *name, size_t len)
{
	uint32_t h = parent->id * 0x9e3779b9u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 0x01000193u;
	/* The multiplications leave the low bits of the last character alone. */
	return &names[(h ^ h >> 15) % NAME_BUCKETS];
}

static void name_add(struct memcg *m)
{
	_Atomic(struct memcg *) *b = bucket_of(m->parent, m->name, strlen(m->name));

	atomic_init(&m->hash_next, atomic_load_explicit(b, memory_order_relaxed));
	rcu_assign_pointer(*b, m);
}

static void name_remove(struct memcg *m)
{
	_Atomic(struct memcg *) *b = bucket_of(m->parent, m->name, strlen(m->name));

	while (atomic_load_explicit(b, memory_order_relaxed) != m)
		b = &atomic_load_explicit(b, memory_order_relaxed)->hash_next;
	/* m's own link stays: a reader that stands on it goes on from there. */
	rcu_assign_pointer(*b, atomic_load_explicit(&m->hash_next, memory_order_relaxed));
}

struct memcg *memcg_find(struct memcg *parent, const char *name, size_t len)
{
	struct memcg *m;

	rcu_read_lock();
	m = rcu_dereference(*bucket_of(parent, name, len));
	for (; m; m = rcu_dereference(m->hash_next))
		if (m->parent == parent && !strncmp(m->name, name, len) && !m->name[len])
			break;
	m = m ? memcg_tryget(m) : NULL;
	rcu_read_unlock();
	return m;
}

unsigned memcg_children(struct memcg *parent, uint32_t after, struct memcg **out, unsigned n)
{
	struct memcg *c;
	unsigned got = 0;

	mutex_lock(&memcg_mutex);
	list_for_each_entry(c, &parent->children, sibling) {
		if (c->id <= after)
			continue;
		if (got == n)
			break;
		memcg_get(c);
		out[got++] = c;
	}
	mutex_unlock(&memcg_mutex);
	return got;
}

static struct memcg *memcg_alloc(struct memcg *parent, const char *name)
{
	struct memcg *m = kzalloc(sizeof(*m) + strlen(name) + 1, GFP_KERNEL);

	if (!m)
		return NULL;
	memcpy(m->name, name, strlen(name) + 1);
	m->parent = parent;
	m->depth = parent ? parent->depth + 1 : 0;
	m->max_depth = m->max_descendants = UINT32_MAX;
	atomic_init(&m->refs, 1);
	list_init(&m->children);
	list_init(&m->sibling);
	list_init(&m->procs);
	list_init(&m->threads);
	list_init(&m->notify_link);
	list_init(&m->peak_readers);
	return m;
}

void memcg_init(void)
{
	memcg_config_init();
	memcg_root = memcg_alloc(NULL, "");
	names = kzalloc(NAME_BUCKETS * sizeof(*names), GFP_KERNEL);
	if (!memcg_root || !names || !account_init() || !account_create(NULL, memcg_root) ||
	    (memcg_config.enabled && !stock_init()))
		panic("memcg: no memory for the root group");
	memcg_root->id = next_id++;
	atomic_init(&memcg_root->last_id, memcg_root->id);
	if (!memcg_id_init(memcg_root))
		panic("memcg: no memory for the table of ids");
	atomic_store_explicit(&memcg_root->account, root_account, memory_order_release);
}

bool memcg_enabled(void)
{
	return memcg_config.enabled;
}

const char *memcg_preset_name(void)
{
	return memcg_config.preset;
}

struct memcg *memcg_tryget(struct memcg *m)
{
	int32_t n = atomic_load_explicit(&m->refs, memory_order_relaxed);

	do {
		if (n <= 0)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(&m->refs, &n, n + 1, memory_order_acq_rel,
							memory_order_relaxed));
	return m;
}

void memcg_get(struct memcg *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

static void memcg_free_rcu(struct rcu_head *h)
{
	struct memcg *m = container_of(h, struct memcg, rcu);
	struct memcg_attr *a = atomic_load_explicit(&m->attrs, memory_order_relaxed);

	while (a) {
		struct memcg_attr *next = a->next;

		kfree(a);
		a = next;
	}
	psi_free(m);
	kfree(m);
}

void memcg_put(struct memcg *m)
{
	while (m && atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1) {
		struct memcg *parent = m->parent;

		call_rcu(&m->rcu, memcg_free_rcu);
		m = parent;
	}
}

struct memcg *memcg_next(struct memcg *m, struct memcg *top)
{
	if (!list_empty(&m->children))
		return list_first_entry(&m->children, struct memcg, sibling);
	while (m != top) {
		if (m->sibling.next != &m->parent->children)
			return list_entry(m->sibling.next, struct memcg, sibling);
		m = m->parent;
	}
	return NULL;
}

struct account *memcg_effective_account(struct memcg *m)
{
	for (;; m = m->parent) {
		struct account *a = memcg_account(m);

		if (a)
			return a;
	}
}

/* What @m charges changes: its processes count as users of the new owner.  memcg_mutex held. */
static void set_owner(struct memcg *m, struct owner *o)
{
	struct owner *old;
	bool last = false;

	spin_lock(&memcg_lock);
	old = atomic_load_explicit(&m->owner, memory_order_relaxed);
	for (uint32_t i = 0; i < m->nr_procs; i++)
		owner_user_get(o);
	atomic_store_explicit(&m->owner, o, memory_order_release);
	for (uint32_t i = 0; i < m->nr_procs; i++)
		last |= owner_user_put(old);
	spin_unlock(&memcg_lock);
	if (last) {
		rcu_read_lock();
		stock_return_owner(old);
		rcu_read_unlock();
	}
}

/* @m's effective owner has become @o: so has that of all below without an account of their own. */
static void spread_owner(struct memcg *top, struct owner *o)
{
	struct memcg *m = top;

	while (m) {
		if (m == top || !memcg_account(m)) {
			set_owner(m, o);
			m = memcg_next(m, top);
			continue;
		}
		/* Below an account of its own nothing changes: skip the subtree. */
		while (m != top && m->sibling.next == &m->parent->children)
			m = m->parent;
		m = m == top ? NULL : list_entry(m->sibling.next, struct memcg, sibling);
	}
}

static struct owner *owner_above(struct memcg *m)
{
	return m->parent ? atomic_load_explicit(&m->parent->owner, memory_order_relaxed) : NULL;
}

static int enable_memory(struct memcg *m)
{
	struct account *a;

	rcu_read_lock();
	a = memcg_effective_account(m->parent);
	rcu_read_unlock();
	/* Under memcg_mutex the account above cannot go. */
	a = account_create(a, m);
	if (!a)
		return -ENOMEM;
	m->peak_before = 0; /* nobody looks at it without an account */
	atomic_store_explicit(&m->account, a, memory_order_release);
	spread_owner(m, memcg_config.enabled ? a->owner : NULL);
	return 0;
}

void memcg_disable_memory(struct memcg *m)
{
	struct account *a = memcg_account(m);

	if (!a)
		return;
	atomic_store_explicit(&m->account, NULL, memory_order_release);
	spread_owner(m, owner_above(m));
	account_close(a);
}

static int may_create(struct memcg *parent)
{
	uint32_t level = 1;

	if (atomic_load_explicit(&parent->dead, memory_order_relaxed))
		return -ENODEV;
	for (struct memcg *m = parent; m; m = m->parent, level++)
		if (m->nr_descendants >= m->max_descendants || level > m->max_depth)
			return -EAGAIN;
	return 0;
}

struct memcg *memcg_create(struct memcg *parent, const char *name)
{
	struct memcg *m = memcg_alloc(parent, name);
	int err;

	if (!m)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&memcg_mutex);
	err = may_create(parent);
	if (err)
		goto fail;
	m->id = next_id++;
	atomic_init(&m->last_id, m->id);
	err = memcg_id_add(m) ? 0 : -ENOMEM;
	if (err)
		goto fail;
	atomic_init(&m->owner, atomic_load_explicit(&parent->owner, memory_order_relaxed));
	if (parent->control & MEMCG_CTL_MEMORY)
		err = enable_memory(m);
	if (err)
		goto fail_id;
	memcg_get(parent);
	spin_lock(&memcg_lock);
	/* Under a freezing group it is frozen from the start, being empty. */
	atomic_init(&m->freezing, atomic_load_explicit(&parent->freezing, memory_order_relaxed));
	m->frozen = m->freezing;
	list_add_tail(&m->sibling, &parent->children);
	spin_unlock(&memcg_lock);
	name_add(m);
	parent->nr_children++;
	for (struct memcg *p = parent; p; p = p->parent) {
		p->nr_descendants++;
		atomic_store_explicit(&p->last_id, m->id, memory_order_relaxed);
	}
	memcg_get(m); /* one for the caller, one for the directory */
	mutex_unlock(&memcg_mutex);
	return m;
fail_id:
	memcg_id_remove(m);
fail:
	mutex_unlock(&memcg_mutex);
	call_rcu(&m->rcu, memcg_free_rcu); /* walks may have looked it up */
	return ERR_PTR(err);
}

int memcg_remove(struct memcg *m)
{
	int err = 0;

	mutex_lock(&memcg_mutex);
	spin_lock(&memcg_lock);
	if (!m->parent || m->nr_children || m->nr_tasks)
		err = -EBUSY;
	else if (atomic_load_explicit(&m->dead, memory_order_relaxed))
		err = -ENODEV;
	else
		/* Under memcg_lock: a process that attaches looks at it there. */
		atomic_store_explicit(&m->dead, true, memory_order_relaxed);
	spin_unlock(&memcg_lock);
	if (err) {
		mutex_unlock(&memcg_mutex);
		return err;
	}
	name_remove(m);
	memcg_id_remove(m);
	memcg_disable_memory(m);
	spin_lock(&memcg_lock);
	list_del(&m->sibling);
	spin_unlock(&memcg_lock);
	m->parent->nr_children--;
	m->parent->nr_threaded -= m->threaded;
	for (struct memcg *p = m->parent; p; p = p->parent)
		p->nr_descendants--;
	mutex_unlock(&memcg_mutex);
	for (unsigned i = 0; i < NR_MEMCG_NOTIFY; i++)
		memcg_changed(m, i);
	memcg_put(m);
	return 0;
}

struct memcg *memcg_domain(struct memcg *m)
{
	while (m->threaded)
		m = m->parent;
	return m;
}

bool memcg_is_thread_root(const struct memcg *m)
{
	return !m->threaded && m->nr_threaded;
}

/* Below a group with threaded children, or below a threaded one, a domain is of no use.  The root may be both. */
bool memcg_valid_domain(const struct memcg *m)
{
	if (m->threaded)
		return false;
	for (m = m->parent; m; m = m->parent)
		if (m->threaded || (m->parent && memcg_is_thread_root(m)))
			return false;
	return true;
}

unsigned memcg_available(struct memcg *m)
{
	if (m->threaded)
		return 0; /* memory is a matter of domains */
	return m->parent ? m->parent->control : MEMCG_CTL_MEMORY;
}

int memcg_control(struct memcg *m, unsigned enable, unsigned disable)
{
	struct memcg *c;
	int err = 0;

	mutex_lock(&memcg_mutex);
	enable &= ~m->control;
	disable &= m->control;
	if (atomic_load_explicit(&m->dead, memory_order_relaxed))
		err = -ENODEV;
	else if (enable & ~memcg_available(m))
		err = -ENOENT;
	else if (enable && m->parent && (memcg_is_thread_root(m) || !memcg_valid_domain(m)))
		err = -EOPNOTSUPP;
	else if (enable && m->parent && m->nr_tasks)
		err = -EBUSY;
	list_for_each_entry(c, &m->children, sibling)
		if (c->control & disable)
			err = err ? err : -EBUSY;
	if (!err && enable & MEMCG_CTL_MEMORY) {
		list_for_each_entry(c, &m->children, sibling) {
			err = c->threaded ? 0 : enable_memory(c);
			if (err)
				break;
		}
		if (err)
			list_for_each_entry(c, &m->children, sibling)
				memcg_disable_memory(c);
		else
			m->control |= MEMCG_CTL_MEMORY;
	}
	if (!err && disable & MEMCG_CTL_MEMORY) {
		m->control &= ~MEMCG_CTL_MEMORY;
		list_for_each_entry(c, &m->children, sibling)
			memcg_disable_memory(c);
	}
	mutex_unlock(&memcg_mutex);
	return err;
}

/*
 * @m became populated (@by 1) or empty (-1): tell it and pass that up as far as it
 * changes something.  memcg_lock held.
 */
static void populate(struct memcg *m, int by)
{
	for (;;) {
		bool was;

		memcg_changed(m, MEMCG_NOTIFY_CGROUP);
		m = m->parent;
		if (!m)
			return;
		was = memcg_populated(m);
		m->nr_populated += by;
		if (memcg_populated(m) == was)
			return;
	}
}

void memcg_count_in(struct memcg *m)
{
	owner_user_get(atomic_load_explicit(&m->owner, memory_order_relaxed));
	m->nr_procs++;
}

bool memcg_count_out(struct memcg *m, struct owner **o)
{
	*o = atomic_load_explicit(&m->owner, memory_order_relaxed);
	m->nr_procs--;
	if (!owner_user_put(*o))
		return false;
	owner_get(*o);
	return true;
}

void memcg_count_task(struct memcg *m, int by)
{
	bool was = memcg_populated(m);

	m->nr_tasks += by;
	if (memcg_populated(m) != was)
		populate(m, by);
}

void memcg_return_stock(struct owner *o)
{
	rcu_read_lock();
	stock_return_owner(o);
	rcu_read_unlock();
	owner_put(o);
}
