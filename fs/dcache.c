/* SPDX-License-Identifier: MIT */
/*
 * Dentries: the tree of names and the hash in which they are found.
 *
 * Look-up takes no lock: chains are read under RCU, and a dentry found there is
 * kept by raising its count unless it is zero.  A rename moves a dentry between
 * chains, which may lead a reader astray; rename_seq tells it to look again
 * under the lock.
 *
 * Invariant: a hashed dentry has its inode; refs == 0 only while it dies, and a
 *            dying dentry is found by nobody.
 * Locks:     dcache_lock for all changes.  It is taken after any inode->lock
 *            and before the allocator's locks.
 */
#include "fs/internal.h"

#define HASH_BITS_MIN 10
#define HASH_BITS_MAX 16

struct spinlock dcache_lock = SPINLOCK_INIT("dcache");
_Atomic unsigned rename_seq;

static _Atomic(struct dentry *) *buckets; /* 2^bucket_bits chains */
static unsigned bucket_bits;
static struct kmem_cache *dentry_cache;

uint32_t name_hash(const char *name, size_t len)
{
	uint32_t h = 0x811c9dc5u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 0x01000193u;
	return h;
}

static _Atomic(struct dentry *) *bucket_of(const struct dentry *parent, uint32_t hash)
{
	uint64_t x = ((uintptr_t)parent >> 6) * 0x9e3779b97f4a7c15ULL + hash;

	return &buckets[(x * 0x9e3779b97f4a7c15ULL) >> (64 - bucket_bits)];
}

/* @inline_room: DNAME_INLINE bytes behind a struct dname in the dentry, or NULL to allocate. */
static struct dname *name_make(void *inline_room, const char *name, size_t len)
{
	struct dname *n = inline_room;

	if (n && len < DNAME_INLINE) {
		n->external = false;
	} else {
		n = kmalloc(sizeof(*n) + len + 1, GFP_KERNEL | GFP_ACCOUNT);
		if (!n)
			return NULL;
		n->external = true;
	}
	n->hash = name_hash(name, len);
	n->len = (uint16_t)len;
	memcpy(n->s, name, len);
	n->s[len] = '\0';
	return n;
}

struct dentry *dentry_alloc(struct dentry *parent, const char *name, size_t len)
{
	struct dentry *d = kmem_cache_alloc(dentry_cache, GFP_KERNEL);
	struct dname *n;

	if (!d)
		return NULL;
	memset(d, 0, sizeof(*d));
	n = name_make(d->inline_name, name, len);
	if (!n) {
		kmem_cache_free(dentry_cache, d);
		return NULL;
	}
	atomic_init(&d->name, n);
	atomic_init(&d->refs, 1);
	list_init(&d->children);
	list_init(&d->sibling);
	if (parent) {
		dentry_get(parent);
		atomic_init(&d->parent, parent);
		d->super = parent->super;
		atomic_fetch_add_explicit(&d->super->refs, 1, memory_order_relaxed);
	} else {
		atomic_init(&d->parent, d);
	}
	return d;
}

struct dentry *dentry_anon(struct super *s, struct inode *i, const char *name)
{
	struct dentry *d = dentry_alloc(NULL, name, strlen(name));

	if (!d) {
		inode_put(i);
		return NULL;
	}
	d->super = s;
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	atomic_init(&d->flags, DENTRY_ANON);
	dentry_attach(d, i);
	return d;
}

bool dentry_tryget(struct dentry *d)
{
	int r = atomic_load_explicit(&d->refs, memory_order_relaxed);

	while (r > 0) {
		if (atomic_compare_exchange_weak_explicit(&d->refs, &r, r + 1,
							  memory_order_acquire,
							  memory_order_relaxed))
			return true;
	}
	return false;
}

static void chain_remove(struct dentry *d) /* dcache_lock held, DENTRY_HASHED set */
{
	struct dname *n = atomic_load_explicit(&d->name, memory_order_relaxed);
	_Atomic(struct dentry *) *link =
		bucket_of(atomic_load_explicit(&d->parent, memory_order_relaxed), n->hash);

	while (atomic_load_explicit(link, memory_order_relaxed) != d)
		link = &atomic_load_explicit(link, memory_order_relaxed)->hash_next;
	/* d->hash_next stays: a reader that stands on d goes on from there. */
	atomic_store_explicit(link, atomic_load_explicit(&d->hash_next, memory_order_relaxed),
			      memory_order_release);
	atomic_fetch_and_explicit(&d->flags, ~DENTRY_HASHED, memory_order_relaxed);
}

static void chain_insert(struct dentry *d) /* dcache_lock held */
{
	struct dname *n = atomic_load_explicit(&d->name, memory_order_relaxed);
	_Atomic(struct dentry *) *head =
		bucket_of(atomic_load_explicit(&d->parent, memory_order_relaxed), n->hash);

	atomic_store_explicit(&d->hash_next, atomic_load_explicit(head, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_fetch_or_explicit(&d->flags, DENTRY_HASHED, memory_order_relaxed);
	atomic_store_explicit(head, d, memory_order_release);
}

static bool is_hashed(const struct dentry *d)
{
	return atomic_load_explicit(&d->flags, memory_order_relaxed) & DENTRY_HASHED;
}

static void dname_free_rcu(struct rcu_head *h)
{
	kfree(container_of(h, struct dname, rcu));
}

static void dentry_free_rcu(struct rcu_head *h)
{
	struct dentry *d = container_of(h, struct dentry, rcu);
	struct dname *n = atomic_load_explicit(&d->name, memory_order_relaxed);

	if (n->external)
		kfree(n);
	kmem_cache_free(dentry_cache, d);
}

/* The last reference went: returns the parent, whose reference the caller now holds. */
static struct dentry *dentry_kill(struct dentry *d)
{
	struct dentry *parent;

	spin_lock(&dcache_lock);
	if (is_hashed(d))
		chain_remove(d);
	list_del(&d->sibling);
	parent = atomic_load_explicit(&d->parent, memory_order_relaxed);
	spin_unlock(&dcache_lock);
	if (d->inode)
		inode_put(d->inode);
	if (d->super)
		super_put(d->super);
	call_rcu(&d->rcu, dentry_free_rcu);
	return parent == d ? NULL : parent;
}

void dentry_put(struct dentry *d)
{
	while (d && atomic_fetch_sub_explicit(&d->refs, 1, memory_order_acq_rel) == 1)
		d = dentry_kill(d);
}

void dentry_add(struct dentry *d, bool pin)
{
	struct dentry *parent = atomic_load_explicit(&d->parent, memory_order_relaxed);

	spin_lock(&dcache_lock);
	if (pin) {
		dentry_get(d);
		atomic_fetch_or_explicit(&d->flags, DENTRY_PINNED, memory_order_relaxed);
	}
	d->cookie = list_empty(&parent->children)
			    ? 2
			    : list_last_entry(&parent->children, struct dentry, sibling)->cookie + 1;
	list_add_tail(&d->sibling, &parent->children);
	chain_insert(d);
	spin_unlock(&dcache_lock);
}

void dentry_remove(struct dentry *d)
{
	bool pinned;

	spin_lock(&dcache_lock);
	if (is_hashed(d))
		chain_remove(d);
	list_del(&d->sibling);
	pinned = atomic_load_explicit(&d->flags, memory_order_relaxed) & DENTRY_PINNED;
	atomic_fetch_and_explicit(&d->flags, ~DENTRY_PINNED, memory_order_relaxed);
	atomic_fetch_or_explicit(&d->flags, DENTRY_DELETED, memory_order_relaxed);
	spin_unlock(&dcache_lock);
	if (pinned)
		dentry_put(d);
}

/* Found no more, but not unlinked: a stale entry of a computed tree. */
void dentry_unhash(struct dentry *d)
{
	spin_lock(&dcache_lock);
	if (is_hashed(d))
		chain_remove(d);
	spin_unlock(&dcache_lock);
}

struct dentry *dentry_find_rcu(struct dentry *parent, const char *name, size_t len, uint32_t hash)
{
	struct dentry *d = rcu_dereference(*bucket_of(parent, hash));

	for (; d; d = rcu_dereference(d->hash_next)) {
		const struct dname *n = dentry_name(d);

		if (n->hash == hash && rcu_dereference(d->parent) == parent && n->len == len &&
		    !memcmp(n->s, name, len) &&
		    atomic_load_explicit(&d->refs, memory_order_relaxed) > 0)
			return d;
	}
	return NULL;
}

struct dentry *dentry_find(struct dentry *parent, const char *name, size_t len)
{
	uint32_t hash = name_hash(name, len);
	unsigned seq = atomic_load_explicit(&rename_seq, memory_order_acquire);
	struct dentry *d;

	rcu_read_lock();
	d = dentry_find_rcu(parent, name, len, hash);
	if (d && !dentry_tryget(d))
		d = NULL;
	rcu_read_unlock();
	if (likely(!(seq & 1) && atomic_load_explicit(&rename_seq, memory_order_acquire) == seq))
		return d;
	/* Something was renamed meanwhile. */
	if (d)
		dentry_put(d);
	spin_lock(&dcache_lock);
	d = dentry_find_rcu(parent, name, len, hash);
	if (d && !dentry_tryget(d))
		d = NULL;
	spin_unlock(&dcache_lock);
	return d;
}

struct dname *dname_alloc(const char *name, size_t len)
{
	return name_make(NULL, name, len);
}

/**
 * dentry_move - give @d another name or parent, in one step for look-ups
 * @n: from dname_alloc(); taken over
 * @victim: entry that it replaces, or NULL
 *
 * Context: both directories' locks held.
 */
void dentry_move(struct dentry *d, struct dentry *parent, struct dname *n, struct dentry *victim)
{
	struct dname *old = atomic_load_explicit(&d->name, memory_order_relaxed);
	struct dentry *old_parent = atomic_load_explicit(&d->parent, memory_order_relaxed);
	bool unpin = false;

	dentry_get(parent);
	spin_lock(&dcache_lock);
	atomic_fetch_add_explicit(&rename_seq, 1, memory_order_acq_rel);
	if (victim) {
		if (is_hashed(victim))
			chain_remove(victim);
		list_del(&victim->sibling);
		unpin = atomic_load_explicit(&victim->flags, memory_order_relaxed) & DENTRY_PINNED;
		atomic_fetch_and_explicit(&victim->flags, ~DENTRY_PINNED, memory_order_relaxed);
		atomic_fetch_or_explicit(&victim->flags, DENTRY_DELETED, memory_order_relaxed);
	}
	chain_remove(d);
	list_del(&d->sibling);
	atomic_store_explicit(&d->name, n, memory_order_release);
	atomic_store_explicit(&d->parent, parent, memory_order_release);
	d->cookie = list_empty(&parent->children)
			    ? 2
			    : list_last_entry(&parent->children, struct dentry, sibling)->cookie + 1;
	list_add_tail(&d->sibling, &parent->children);
	chain_insert(d);
	atomic_fetch_add_explicit(&rename_seq, 1, memory_order_acq_rel);
	spin_unlock(&dcache_lock);
	if (old->external)
		call_rcu(&old->rcu, dname_free_rcu);
	if (unpin)
		dentry_put(victim);
	dentry_put(old_parent);
}

/* Is @d @ancestor or below it (in one file system)?  Stable only while renames are locked out. */
bool dentry_is_below(struct dentry *d, struct dentry *ancestor)
{
	bool yes = false;

	spin_lock(&dcache_lock);
	for (;;) {
		struct dentry *up = atomic_load_explicit(&d->parent, memory_order_relaxed);

		if (d == ancestor) {
			yes = true;
			break;
		}
		if (up == d)
			break;
		d = up;
	}
	spin_unlock(&dcache_lock);
	return yes;
}

/* Parent across mounts, referenced; a root that covers nothing is its own. */
struct dentry *dentry_parent_get(struct dentry *d)
{
	struct dentry *up;

	spin_lock(&dcache_lock);
	for (;;) {
		struct dentry *c = atomic_load_explicit(&d->covers, memory_order_relaxed);

		if (!c)
			break;
		d = c;
	}
	up = atomic_load_explicit(&d->parent, memory_order_relaxed);
	dentry_get(up);
	spin_unlock(&dcache_lock);
	return up;
}

/* Text is built from the end of @buf; NULL: it does not fit. */
char *dentry_path_from(struct dentry *root, struct dentry *d, char *buf, size_t n)
{
	static const char gone[] = " (deleted)";
	char *p = buf + n;

	if (n < sizeof(gone) + 1)
		return NULL;
	*--p = '\0';
	if (dentry_deleted(d)) {
		p -= sizeof(gone) - 1;
		memcpy(p, gone, sizeof(gone) - 1);
	}
	spin_lock(&dcache_lock);
	if (atomic_load_explicit(&d->flags, memory_order_relaxed) & DENTRY_ANON) {
		struct dname *nm = atomic_load_explicit(&d->name, memory_order_relaxed);

		if ((size_t)(p - buf) < nm->len) {
			p = NULL;
		} else {
			p -= nm->len;
			memcpy(p, nm->s, nm->len);
		}
		spin_unlock(&dcache_lock);
		return p;
	}
	if (d == root)
		*--p = '/';
	while (d != root) {
		struct dentry *c = atomic_load_explicit(&d->covers, memory_order_relaxed);
		struct dentry *up = atomic_load_explicit(&d->parent, memory_order_relaxed);
		struct dname *nm;

		if (up == d) { /* a root: go on where it is mounted */
			if (!c) {
				if (*p != '/' && p > buf)
					*--p = '/';
				break;
			}
			d = c;
			continue;
		}
		nm = atomic_load_explicit(&d->name, memory_order_relaxed);
		if ((size_t)(p - buf) < nm->len + 1u) {
			p = NULL;
			break;
		}
		p -= nm->len;
		memcpy(p, nm->s, nm->len);
		*--p = '/';
		d = up;
	}
	spin_unlock(&dcache_lock);
	return p;
}

char *dentry_path(struct dentry *d, char *buf, size_t n)
{
	struct dentry *root = fs_root_get();
	char *p = dentry_path_from(root, d, buf, n);

	dentry_put(root);
	if (!p && n) {
		buf[0] = '\0';
		return buf;
	}
	return p;
}

void dcache_init(void)
{
	struct page_stats ps;

	page_stats(&ps);
	bucket_bits = HASH_BITS_MIN;
	/* One chain per 64 pages of memory: a dentry needs an inode and most need a page. */
	while (bucket_bits < HASH_BITS_MAX && (1UL << bucket_bits) < ps.total / 64)
		bucket_bits++;
	dentry_cache = kmem_cache_create("dentry", sizeof(struct dentry), 0, SLAB_ACCOUNT);
	buckets = kzalloc(sizeof(*buckets) << bucket_bits, GFP_KERNEL);
	if (!dentry_cache || !buckets)
		panic("dcache: no memory for %lu hash chains", 1UL << bucket_bits);
}
