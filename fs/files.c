/* SPDX-License-Identifier: MIT */
/*
 * Descriptor tables: from a number to an open file.
 *
 * Every read and write begins here, so look-up takes no lock: the table is read
 * under RCU, and struct file comes from a cache whose objects stay files for a
 * grace period (SLAB_RCU), so a count may be raised first and the slot looked
 * at again.  A process with one thread does not even count (fdget()).
 *
 * Invariant: open_map has a bit for each number that is open or reserved;
 *            a reserved slot holds NULL.
 * Locks:     files->lock over the maps and all stores to slots.
 */
#include "fs/internal.h"

#define FDS_INLINE   64u
#define FDS_MAX      (1u << 20)

struct fd_table {
	unsigned size; /* slots, a multiple of 64 */
	_Atomic(struct file *) *slot;
	uint64_t *open_map, *cloexec_map; /* under files->lock */
	struct rcu_head rcu;
};

struct files {
	_Atomic int refs;
	struct spinlock lock;
	_Atomic(struct fd_table *) table;
	unsigned next; /* no free number below it; under lock */
	struct fd_table first;
	_Atomic(struct file *) first_slot[FDS_INLINE];
	uint64_t first_open[FDS_INLINE / 64], first_cloexec[FDS_INLINE / 64];
};

static struct kmem_cache *files_cache;

struct files *current_files(void)
{
	struct process *p = current->process;

	return p ? p->files : NULL;
}

static struct file *slot_get(struct files *t, int fd)
{
	struct fd_table *ft;
	struct file *f = NULL;

	rcu_read_lock();
	ft = rcu_dereference(t->table);
	while ((unsigned)fd < ft->size) {
		int r;

		f = rcu_dereference(ft->slot[fd]);
		if (!f)
			break;
		r = atomic_load_explicit(&f->refs, memory_order_relaxed);
		while (r > 0 && !atomic_compare_exchange_weak_explicit(&f->refs, &r, r + 1,
								       memory_order_acq_rel,
								       memory_order_relaxed))
			;
		if (r > 0) {
			if (rcu_dereference(ft->slot[fd]) == f)
				break;
			/* The memory became another file before we counted. */
			rcu_read_unlock();
			fput(f);
			rcu_read_lock();
			ft = rcu_dereference(t->table);
		}
		f = NULL;
	}
	rcu_read_unlock();
	return f;
}

struct file *files_get_file(struct files *t, int fd)
{
	return slot_get(t, fd);
}

struct fdref fdget_path(int fd)
{
	struct fdref r = { NULL, false };
	struct process *p = current->process;
	struct files *t = current_files();
	struct fd_table *ft;

	if (unlikely(!t))
		return r;
	/* One thread: nobody but this call could close the file or add a thread. */
	if (__atomic_load_n(&p->nr_threads, __ATOMIC_RELAXED) == 1 &&
	    atomic_load_explicit(&t->refs, memory_order_acquire) == 1) {
		ft = atomic_load_explicit(&t->table, memory_order_relaxed);
		if ((unsigned)fd < ft->size)
			r.file = atomic_load_explicit(&ft->slot[fd], memory_order_relaxed);
		return r;
	}
	r.file = slot_get(t, fd);
	r.put = r.file != NULL;
	return r;
}

struct fdref fdget(int fd)
{
	struct fdref r = fdget_path(fd);

	if (r.file && unlikely(r.file->mode & FMODE_PATH)) {
		fdput(r);
		r.file = NULL;
		r.put = false;
	}
	return r;
}

struct file *fget(int fd)
{
	struct files *t = current_files();
	struct file *f = t ? slot_get(t, fd) : NULL;

	if (f && (f->mode & FMODE_PATH)) {
		fput(f);
		f = NULL;
	}
	return f;
}

static unsigned fd_limit(void)
{
	struct process *p = current->process;
	uint64_t lim = p ? p->rlimits[RLIMIT_NOFILE][0] : 1024;

	return (unsigned)min_t(uint64_t, lim, FDS_MAX);
}

static unsigned map_next_zero(const uint64_t *map, unsigned size, unsigned from)
{
	while (from < size) {
		uint64_t w = ~map[from / 64] >> (from % 64);

		if (w) {
			from += (unsigned)__builtin_ctzll(w);
			break;
		}
		from = (from / 64 + 1) * 64;
	}
	return min(from, size);
}

static void table_free_rcu(struct rcu_head *h)
{
	kfree(container_of(h, struct fd_table, rcu));
}

static struct fd_table *table_alloc(unsigned size)
{
	size_t maps = size / 64 * sizeof(uint64_t);
	struct fd_table *ft = kzalloc(sizeof(*ft) + size * sizeof(*ft->slot) + 2 * maps,
				      GFP_KERNEL | GFP_ACCOUNT);

	if (!ft)
		return NULL;
	ft->size = size;
	ft->slot = (void *)(ft + 1);
	ft->open_map = (void *)(ft->slot + size);
	ft->cloexec_map = ft->open_map + size / 64;
	return ft;
}

static void table_copy(struct fd_table *to, const struct fd_table *from, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		atomic_store_explicit(&to->slot[i],
				      atomic_load_explicit(&from->slot[i], memory_order_relaxed),
				      memory_order_relaxed);
	memcpy(to->open_map, from->open_map, n / 64 * sizeof(uint64_t));
	memcpy(to->cloexec_map, from->cloexec_map, n / 64 * sizeof(uint64_t));
}

/* Called with the lock held, drops it meanwhile.  0 or -ENOMEM; the table may have changed. */
static int table_grow(struct files *t, unsigned want)
{
	struct fd_table *old, *ft;
	unsigned size = FDS_INLINE;

	while (size <= want)
		size *= 2;
	spin_unlock(&t->lock);
	ft = table_alloc(size);
	spin_lock(&t->lock);
	if (!ft)
		return -ENOMEM;
	old = atomic_load_explicit(&t->table, memory_order_relaxed);
	if (old->size >= size) {
		kfree(ft);
		return 0;
	}
	table_copy(ft, old, old->size);
	rcu_assign_pointer(t->table, ft);
	if (old != &t->first)
		call_rcu(&old->rcu, table_free_rcu);
	return 0;
}

static void mark(uint64_t *map, int fd, bool on)
{
	if (on)
		map[fd / 64] |= 1ULL << (fd % 64);
	else
		map[fd / 64] &= ~(1ULL << (fd % 64));
}

static bool marked(const uint64_t *map, int fd)
{
	return map[fd / 64] >> (fd % 64) & 1;
}

int fd_alloc(unsigned flags, int from)
{
	struct files *t = current_files();
	unsigned limit = fd_limit(), n;
	struct fd_table *ft;

	if (!t)
		return -EBADF;
	spin_lock(&t->lock);
	for (;;) {
		ft = atomic_load_explicit(&t->table, memory_order_relaxed);
		n = map_next_zero(ft->open_map, ft->size, max((unsigned)from, t->next));
		if (n >= limit) {
			spin_unlock(&t->lock);
			return -EMFILE;
		}
		if (n < ft->size)
			break;
		if (table_grow(t, max(n, (unsigned)from))) {
			spin_unlock(&t->lock);
			return -ENOMEM;
		}
	}
	mark(ft->open_map, (int)n, true);
	mark(ft->cloexec_map, (int)n, flags & O_CLOEXEC);
	if ((unsigned)from <= t->next)
		t->next = n + 1;
	spin_unlock(&t->lock);
	return (int)n;
}

void fd_install(int fd, struct file *f)
{
	struct files *t = current_files();

	spin_lock(&t->lock);
	rcu_assign_pointer(atomic_load_explicit(&t->table, memory_order_relaxed)->slot[fd], f);
	spin_unlock(&t->lock);
}

static void fd_clear(struct files *t, struct fd_table *ft, int fd)
{
	mark(ft->open_map, fd, false);
	mark(ft->cloexec_map, fd, false);
	t->next = min(t->next, (unsigned)fd);
}

void fd_release(int fd)
{
	struct files *t = current_files();

	spin_lock(&t->lock);
	fd_clear(t, atomic_load_explicit(&t->table, memory_order_relaxed), fd);
	spin_unlock(&t->lock);
}

int fd_file(struct file *f, unsigned flags)
{
	int fd = fd_alloc(flags, 0);

	if (fd < 0)
		fput(f);
	else
		fd_install(fd, f);
	return fd;
}

static int close_file(struct file *f, struct files *t)
{
	int err = 0;

	if (!(f->mode & FMODE_PATH)) {
		if (f->ops && f->ops->flush)
			err = f->ops->flush(f);
		if (f->inode)
			file_locks_close(f->inode, t);
	}
	fput(f);
	return err;
}

int do_close(int fd)
{
	struct files *t = current_files();
	struct fd_table *ft;
	struct file *f = NULL;

	if (!t)
		return -EBADF;
	spin_lock(&t->lock);
	ft = atomic_load_explicit(&t->table, memory_order_relaxed);
	if ((unsigned)fd < ft->size) {
		f = atomic_load_explicit(&ft->slot[fd], memory_order_relaxed);
		if (f) {
			atomic_store_explicit(&ft->slot[fd], NULL, memory_order_release);
			fd_clear(t, ft, fd);
		}
	}
	spin_unlock(&t->lock);
	return f ? close_file(f, t) : -EBADF;
}

/* dup2(): @f (reference taken over) becomes number @fd, what was there is closed. */
int fd_replace(int fd, struct file *f, unsigned flags)
{
	struct files *t = current_files();
	struct fd_table *ft;
	struct file *old;

	if (fd < 0 || (unsigned)fd >= fd_limit()) {
		fput(f);
		return -EBADF;
	}
	spin_lock(&t->lock);
	ft = atomic_load_explicit(&t->table, memory_order_relaxed);
	if ((unsigned)fd >= ft->size) {
		if (table_grow(t, (unsigned)fd)) {
			spin_unlock(&t->lock);
			fput(f);
			return -ENOMEM;
		}
		ft = atomic_load_explicit(&t->table, memory_order_relaxed);
	}
	old = atomic_load_explicit(&ft->slot[fd], memory_order_relaxed);
	if (!old && marked(ft->open_map, fd)) {
		/* Reserved by an open() on another thread that is still under way. */
		spin_unlock(&t->lock);
		fput(f);
		return -EBUSY;
	}
	mark(ft->open_map, fd, true);
	mark(ft->cloexec_map, fd, flags & O_CLOEXEC);
	rcu_assign_pointer(ft->slot[fd], f);
	spin_unlock(&t->lock);
	if (old)
		close_file(old, t);
	return fd;
}

/* F_GETFD, F_SETFD: @set < 0 asks. */
int fd_cloexec(int fd, int set)
{
	struct files *t = current_files();
	struct fd_table *ft;
	int r = -EBADF;

	if (!t)
		return r;
	spin_lock(&t->lock);
	ft = atomic_load_explicit(&t->table, memory_order_relaxed);
	if ((unsigned)fd < ft->size && atomic_load_explicit(&ft->slot[fd], memory_order_relaxed)) {
		r = marked(ft->cloexec_map, fd);
		if (set >= 0) {
			mark(ft->cloexec_map, fd, set);
			r = 0;
		}
	}
	spin_unlock(&t->lock);
	return r;
}

int files_next_fd(struct files *t, int from)
{
	struct fd_table *ft;
	int fd = -1;

	rcu_read_lock();
	ft = rcu_dereference(t->table);
	for (unsigned i = (unsigned)from; i < ft->size; i++) {
		if (atomic_load_explicit(&ft->slot[i], memory_order_relaxed)) {
			fd = (int)i;
			break;
		}
	}
	rcu_read_unlock();
	return fd;
}

unsigned files_size(struct files *t)
{
	unsigned n;

	rcu_read_lock();
	n = rcu_dereference(t->table)->size;
	rcu_read_unlock();
	return n;
}

struct files *files_create(void)
{
	struct files *t = kmem_cache_alloc(files_cache, GFP_KERNEL);

	if (!t)
		return NULL;
	memset(t, 0, sizeof(*t));
	atomic_init(&t->refs, 1);
	spin_init(&t->lock, "files");
	t->first.size = FDS_INLINE;
	t->first.slot = t->first_slot;
	t->first.open_map = t->first_open;
	t->first.cloexec_map = t->first_cloexec;
	atomic_init(&t->table, &t->first);
	return t;
}

struct files *files_clone(struct files *from)
{
	struct files *t = files_create();
	struct fd_table *ft, *to;
	unsigned n;

	if (!t)
		return NULL;
	spin_lock(&from->lock);
	for (;;) {
		ft = atomic_load_explicit(&from->table, memory_order_relaxed);
		/* Only as many slots as are in use. */
		for (n = ft->size; n > FDS_INLINE && !ft->open_map[n / 64 - 1]; n -= 64)
			;
		to = atomic_load_explicit(&t->table, memory_order_relaxed);
		if (n <= to->size)
			break;
		spin_unlock(&from->lock);
		if (to != &t->first)
			kfree(to);
		to = table_alloc(n);
		if (!to) {
			kmem_cache_free(files_cache, t);
			return NULL;
		}
		atomic_store_explicit(&t->table, to, memory_order_relaxed);
		spin_lock(&from->lock);
	}
	table_copy(to, ft, n);
	t->next = from->next;
	for (unsigned i = 0; i < n; i++) {
		struct file *f = atomic_load_explicit(&to->slot[i], memory_order_relaxed);

		if (f)
			file_get(f);
		else if (marked(to->open_map, (int)i))
			fd_clear(t, to, (int)i); /* only reserved: not ours */
	}
	spin_unlock(&from->lock);
	return t;
}

void files_get(struct files *t)
{
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
}

void files_put(struct files *t)
{
	struct fd_table *ft;

	if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) != 1)
		return;
	ft = atomic_load_explicit(&t->table, memory_order_relaxed);
	for (unsigned i = 0; i < ft->size; i++) {
		struct file *f = atomic_load_explicit(&ft->slot[i], memory_order_relaxed);

		if (f)
			close_file(f, t);
	}
	/* Nobody can look at it any more: readers hold a reference to the files. */
	if (ft != &t->first)
		kfree(ft);
	kmem_cache_free(files_cache, t);
}

void files_close_on_exec(struct files *t)
{
	for (unsigned i = 0;; i++) {
		struct fd_table *ft;
		struct file *f = NULL;

		spin_lock(&t->lock);
		ft = atomic_load_explicit(&t->table, memory_order_relaxed);
		for (; i < ft->size; i++) {
			if (!ft->cloexec_map[i / 64]) {
				i |= 63;
				continue;
			}
			if (!marked(ft->cloexec_map, (int)i))
				continue;
			f = atomic_load_explicit(&ft->slot[i], memory_order_relaxed);
			if (f)
				break;
		}
		if (f) {
			atomic_store_explicit(&ft->slot[i], NULL, memory_order_release);
			fd_clear(t, ft, (int)i);
		}
		spin_unlock(&t->lock);
		if (!f)
			return;
		close_file(f, t);
	}
}

void files_init(void)
{
	files_cache = kmem_cache_create("files", sizeof(struct files), 0, SLAB_ACCOUNT);
	if (!files_cache)
		panic("files: no memory for the cache");
}
