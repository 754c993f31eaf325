/* SPDX-License-Identifier: MIT */
/*
 * Futexes: sleeping on a word of user memory.
 *
 * A waiter enters its queue first and reads the word then; a waker changes the
 * word first and looks at the queue then.  So either the waiter sees the new
 * value, or the waker sees the waiter: the word can be read without a lock,
 * which matters because reading user memory may fault and sleep.  A waiter that
 * was woken before it found the value changed has used up the wake-up and says
 * success.
 *
 * Locks: bucket->lock over the queue and its waiters' fields; two buckets in
 *        order of address.
 */
#include "kernel/process_int.h"
#include "kernel/errno.h"
#include "kernel/syscall.h"
#include "mm/vm.h"

enum {
	FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_REQUEUE = 3, FUTEX_CMP_REQUEUE = 4, FUTEX_WAKE_OP = 5,
	FUTEX_WAIT_BITSET = 9, FUTEX_WAKE_BITSET = 10,
};
#define FUTEX_PRIVATE        128
#define FUTEX_CLOCK_REALTIME 256
#define FUTEX_WAITERS        0x80000000U
#define FUTEX_OWNER_DIED     0x40000000U
#define FUTEX_TID_MASK       0x3fffffffU
#define ROBUST_LIMIT         2048 /* entries looked at when a thread ends */
#define NR_BUCKETS           256

/* What a word is called: an address in a space, or a place in a shared object. */
struct futex_key {
	uint64_t object, offset;
};

struct futex_bucket {
	struct spinlock lock;
	struct list_head waiters;
} __cacheline_aligned;

struct futex_waiter {
	struct list_head link;
	struct futex_key key;
	_Atomic(struct futex_bucket *) bucket; /* changes by requeue, under both locks */
	struct thread *thread;
	uint32_t bitset;
	_Atomic bool woken; /* set once, after which the waker touches only the thread */
};

static struct futex_bucket buckets[NR_BUCKETS];

static int futex_key(uint32_t __user *addr, bool private, struct futex_key *key)
{
	if ((uintptr_t)addr & 3)
		return -EINVAL;
	if (!user_range_ok(addr, sizeof(*addr)))
		return -EFAULT;
	if (!private &&
	    vm_shared_key(current->space, (uintptr_t)addr, &key->object, &key->offset))
		return 0;
	key->object = (uintptr_t)current->space;
	key->offset = (uintptr_t)addr;
	return 0;
}

static struct futex_bucket *bucket_of(const struct futex_key *k)
{
	uint64_t h = (k->object >> 6 ^ k->offset >> 2) * 0x9e3779b97f4a7c15UL;
	struct futex_bucket *b = &buckets[h >> 56];

	return b;
}

static bool same_key(const struct futex_key *a, const struct futex_key *b)
{
	return a->object == b->object && a->offset == b->offset;
}

void futex_init(void)
{
	for (unsigned i = 0; i < NR_BUCKETS; i++) {
		spin_init(&buckets[i].lock, "futex");
		list_init(&buckets[i].waiters);
	}
}

static void lock_two(struct futex_bucket *a, struct futex_bucket *b)
{
	spin_lock(a < b ? &a->lock : &b->lock);
	if (a != b)
		spin_lock_nested(a < b ? &b->lock : &a->lock);
}

static void unlock_two(struct futex_bucket *a, struct futex_bucket *b)
{
	spin_unlock(&a->lock);
	if (a != b)
		spin_unlock(&b->lock);
}

/* Bucket locked.  The waiter's stack may be gone once it sees woken; its thread stays (RCU). */
static void wake_waiter(struct futex_waiter *w)
{
	struct thread *t = w->thread;

	list_del(&w->link);
	rcu_read_lock();
	atomic_store_explicit(&w->woken, true, memory_order_release);
	thread_wake(t);
	rcu_read_unlock();
}

static int wake_locked(struct futex_bucket *b, const struct futex_key *key, int nr, uint32_t bitset)
{
	struct futex_waiter *w, *next;
	int done = 0;

	list_for_each_entry_safe(w, next, &b->waiters, link) {
		if (done >= nr)
			break;
		if (!same_key(&w->key, key) || !(w->bitset & bitset))
			continue;
		wake_waiter(w);
		done++;
	}
	return done;
}

static long futex_wake(uint32_t __user *addr, bool private, int nr, uint32_t bitset)
{
	struct futex_key key;
	struct futex_bucket *b;
	int r = futex_key(addr, private, &key);

	if (r)
		return r;
	if (!bitset)
		return -EINVAL;
	b = bucket_of(&key);
	spin_lock(&b->lock);
	r = wake_locked(b, &key, max(nr, 1), bitset);
	spin_unlock(&b->lock);
	return r;
}

/* Takes @w out of its queue if it is still in one; says whether it had been woken. */
static bool waiter_leave(struct futex_waiter *w)
{
	for (;;) {
		struct futex_bucket *b;

		if (atomic_load_explicit(&w->woken, memory_order_acquire))
			return true;
		b = atomic_load_explicit(&w->bucket, memory_order_relaxed);
		spin_lock(&b->lock);
		if (b == atomic_load_explicit(&w->bucket, memory_order_relaxed)) {
			bool woken = atomic_load_explicit(&w->woken, memory_order_acquire);

			if (!woken)
				list_del(&w->link);
			spin_unlock(&b->lock);
			return woken;
		}
		spin_unlock(&b->lock);
	}
}

static long futex_wait(uint32_t __user *addr, bool private, uint32_t expected, uint64_t deadline,
		       uint32_t bitset)
{
	struct futex_waiter w = { .thread = current, .bitset = bitset };
	struct futex_bucket *b;
	uint32_t seen;
	long r;

	if (!bitset)
		return -EINVAL;
	r = futex_key(addr, private, &w.key);
	if (r)
		return r;
	b = bucket_of(&w.key);
	atomic_init(&w.bucket, b);
	spin_lock(&b->lock);
	list_add_tail(&w.link, &b->waiters);
	spin_unlock(&b->lock);
	/* Queue before word: see above; the lock's release alone does not order a later load. */
	atomic_thread_fence(memory_order_seq_cst);

	r = user_load32(addr, &seen);
	if (!r && seen != expected)
		r = -EAGAIN;
	while (!r) {
		thread_prepare_sleep(THREAD_INTERRUPTIBLE);
		if (atomic_load_explicit(&w.woken, memory_order_acquire))
			break;
		if (signal_pending(current))
			r = -ERESTARTSYS;
		else if (!schedule_until(deadline))
			r = -ETIMEDOUT;
	}
	thread_finish_sleep();
	return waiter_leave(&w) ? 0 : r;
}

static long restart_wait(struct user_thread *u)
{
	uint64_t *a = u->restart_arg;
	long r = futex_wait((uint32_t *)a[0], a[1], (uint32_t)a[2], a[3], (uint32_t)a[4]);

	return r == -ERESTARTSYS ? -ERESTART_RESTARTBLOCK : r;
}

static long futex_requeue(uint32_t __user *from, uint32_t __user *to, bool private, int nr_wake,
			  int nr_move, const uint32_t *expected)
{
	struct futex_waiter *w, *next;
	struct futex_bucket *a, *b;
	struct futex_key ka, kb;
	int r, done = 0, moved = 0;

	if (nr_wake < 0 || nr_move < 0)
		return -EINVAL;
	r = futex_key(from, private, &ka);
	if (!r)
		r = futex_key(to, private, &kb);
	if (r)
		return r;
	if (expected) {
		uint32_t seen;

		if (user_load32(from, &seen))
			return -EFAULT;
		if (seen != *expected)
			return -EAGAIN;
	}
	a = bucket_of(&ka);
	b = bucket_of(&kb);
	lock_two(a, b);
	list_for_each_entry_safe(w, next, &a->waiters, link) {
		if (!same_key(&w->key, &ka))
			continue;
		if (done < nr_wake) {
			wake_waiter(w);
			done++;
		} else if (moved < nr_move) {
			if (!same_key(&ka, &kb)) {
				w->key = kb;
				list_move_tail(&w->link, &b->waiters);
				atomic_store_explicit(&w->bucket, b, memory_order_relaxed);
			}
			moved++;
		} else {
			break;
		}
	}
	unlock_two(a, b);
	return done + moved;
}

/* The operation packed into val3 of FUTEX_WAKE_OP; *@wake2: are the second word's waiters due? */
static int wake_op_word(uint32_t __user *addr, uint32_t op, bool *wake2)
{
	int32_t arg = (int32_t)(op << 8) >> 20, cmp = (int32_t)(op << 20) >> 20;
	uint32_t old, seen, new;
	int32_t o;

	if (op & 1U << 31) {
		if (arg < 0 || arg > 31)
			return -EINVAL;
		arg = (int32_t)(1U << arg);
	}
	if (user_load32(addr, &old))
		return -EFAULT;
	for (;;) {
		switch (op >> 28 & 7) {
		case 0: new = (uint32_t)arg; break;
		case 1: new = old + (uint32_t)arg; break;
		case 2: new = old | (uint32_t)arg; break;
		case 3: new = old & ~(uint32_t)arg; break;
		case 4: new = old ^ (uint32_t)arg; break;
		default: return -ENOSYS;
		}
		if (user_cmpxchg32(addr, old, new, &seen))
			return -EFAULT;
		if (seen == old)
			break;
		old = seen;
		if (kill_pending(current))
			return -EINTR;
	}
	o = (int32_t)old;
	switch (op >> 24 & 15) {
	case 0: *wake2 = o == cmp; return 0;
	case 1: *wake2 = o != cmp; return 0;
	case 2: *wake2 = o < cmp; return 0;
	case 3: *wake2 = o <= cmp; return 0;
	case 4: *wake2 = o > cmp; return 0;
	case 5: *wake2 = o >= cmp; return 0;
	default: return -ENOSYS;
	}
}

static long futex_wake_op(uint32_t __user *addr, uint32_t __user *addr2, bool private, int nr,
			  int nr2, uint32_t op)
{
	struct futex_key k, k2;
	struct futex_bucket *a, *b;
	bool wake2 = false;
	int r = futex_key(addr, private, &k);

	if (!r)
		r = futex_key(addr2, private, &k2);
	if (!r)
		r = wake_op_word(addr2, op, &wake2);
	if (r)
		return r;
	a = bucket_of(&k);
	b = bucket_of(&k2);
	lock_two(a, b);
	r = wake_locked(a, &k, max(nr, 1), UINT32_MAX);
	if (wake2)
		r += wake_locked(b, &k2, max(nr2, 1), UINT32_MAX);
	unlock_two(a, b);
	return r;
}

static long do_wait(uint32_t __user *addr, int op, int cmd, uint32_t val,
		    const struct timespec64 __user *timeout, uint32_t bitset)
{
	bool private = op & FUTEX_PRIVATE;
	uint64_t deadline = UINT64_MAX;
	struct user_thread *u = current_user();
	struct timespec64 ts;
	long r;

	if (timeout) {
		if (copy_from_user(&ts, timeout, sizeof(ts)))
			return -EFAULT;
		if (ts.sec < 0 || ts.nsec < 0 || ts.nsec >= (int64_t)NSEC_PER_SEC)
			return -EINVAL;
		deadline = ts.sec < INT64_MAX / (int64_t)NSEC_PER_SEC - 1 ?
				   (uint64_t)ts.sec * NSEC_PER_SEC + (uint64_t)ts.nsec :
				   UINT64_MAX - 1;
		if (cmd == FUTEX_WAIT)
			deadline = deadline < INT64_MAX ? deadline + clock_ns() : UINT64_MAX - 1;
		else if (op & FUTEX_CLOCK_REALTIME)
			deadline -= min(deadline, clock_realtime_offset_ns());
	}
	r = futex_wait(addr, private, val, deadline, bitset);
	if (r == -ERESTARTSYS && timeout) {
		uint64_t *a = u->restart_arg;

		a[0] = (uintptr_t)addr, a[1] = private, a[2] = val, a[3] = deadline, a[4] = bitset;
		u->restart_fn = restart_wait;
		r = -ERESTART_RESTARTBLOCK;
	}
	return r;
}

SYSCALL(futex, uint32_t __user *addr, int op, uint32_t val, unsigned long arg4,
	uint32_t __user *addr2, uint32_t val3)
{
	bool private = op & FUTEX_PRIVATE;
	int cmd = op & ~(FUTEX_PRIVATE | FUTEX_CLOCK_REALTIME);

	switch (cmd) {
	case FUTEX_WAIT:
		return do_wait(addr, op, cmd, val, (void *)arg4, UINT32_MAX);
	case FUTEX_WAIT_BITSET:
		return do_wait(addr, op, cmd, val, (void *)arg4, val3);
	case FUTEX_WAKE:
		return futex_wake(addr, private, (int)val, UINT32_MAX);
	case FUTEX_WAKE_BITSET:
		return futex_wake(addr, private, (int)val, val3);
	case FUTEX_REQUEUE:
		return futex_requeue(addr, addr2, private, (int)val, (int)arg4, NULL);
	case FUTEX_CMP_REQUEUE:
		return futex_requeue(addr, addr2, private, (int)val, (int)arg4, &val3);
	case FUTEX_WAKE_OP:
		return futex_wake_op(addr, addr2, private, (int)val, (int)arg4, val3);
	default:
		return -ENOSYS; /* priority inheritance, descriptors */
	}
}

SYSCALL(set_tid_address, uint32_t __user *addr)
{
	current_user()->clear_child_tid = addr;
	return current->tid;
}

SYSCALL(set_robust_list, void __user *head, size_t len)
{
	if (len != 24)
		return -EINVAL;
	current_user()->robust_list = head;
	current_user()->robust_len = len;
	return 0;
}

SYSCALL(get_robust_list, int tid, uint64_t __user *head, uint64_t __user *len)
{
	if (tid && tid != current->tid)
		return tid < 0 ? -ESRCH : -EPERM; /* other threads' lists are their own */
	if (put_user((uint64_t)current_user()->robust_list, head) || put_user((uint64_t)24, len))
		return -EFAULT;
	return 0;
}

/* A mutex whose owner ends: mark it and wake one who waits.  False: give up the walk. */
static bool owner_died(uint32_t __user *addr)
{
	uint32_t v, seen;

	if ((uintptr_t)addr & 3 || user_load32(addr, &v))
		return false;
	while ((v & FUTEX_TID_MASK) == (uint32_t)current->tid) {
		if (user_cmpxchg32(addr, v, (v & FUTEX_WAITERS) | FUTEX_OWNER_DIED, &seen))
			return false;
		if (seen == v) {
			if (v & FUTEX_WAITERS)
				futex_wake(addr, false, 1, UINT32_MAX);
			break;
		}
		v = seen;
	}
	return true;
}

static void walk_robust_list(uint64_t __user *head)
{
	uint64_t h[3], entry; /* next, offset of the word from the entry, entry being changed */

	if (copy_from_user(h, head, sizeof(h)))
		return;
	entry = h[0] & ~1UL; /* bit 0 marks priority inheritance */
	for (int n = 0; n < ROBUST_LIMIT && entry != (uintptr_t)head; n++) {
		uint64_t next;

		if (get_user(next, (uint64_t *)entry))
			return;
		if (entry != (h[2] & ~1UL) && !owner_died((uint32_t *)(entry + h[1])))
			return;
		entry = next & ~1UL;
	}
	if (h[2] & ~1UL)
		owner_died((uint32_t *)((h[2] & ~1UL) + h[1]));
}

void futex_thread_exit(struct user_thread *u)
{
	if (!current->space)
		return;
	if (u->robust_list)
		walk_robust_list(u->robust_list);
	u->robust_list = NULL;
	/* Alone, nobody can be waiting for it. */
	if (u->clear_child_tid && u->process->nr_threads > 1 &&
	    !put_user((uint32_t)0, u->clear_child_tid))
		futex_wake(u->clear_child_tid, false, 1, UINT32_MAX);
	u->clear_child_tid = NULL;
}
