/* SPDX-License-Identifier: MIT */
/*
 * newlib's locks (retargetable).  Recursive futex locks; the owner is the
 * process id until our programs have threads, so a lock taken before fork()
 * is never held by the child's parent.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/lock.h>
#include "libc/syscall.h"

#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129
#define NR_gettid	   186

/* word: 0 free, 1 held, 2 held and somebody waits */
struct __lock {
	_Atomic int word;
	int owner, depth; /* written by the holder only */
};

struct __lock __lock___sinit_recursive_mutex, __lock___sfp_recursive_mutex,
	__lock___atexit_recursive_mutex, __lock___at_quick_exit_mutex,
	__lock___malloc_recursive_mutex, __lock___env_recursive_mutex, __lock___tz_mutex,
	__lock___dd_hash_mutex, __lock___arc4random_mutex;

static int single_threaded = 1;

static void lock(struct __lock *l, int recursive)
{
	int free = 0;
	int me = single_threaded ? 1 : (int)sys_call0(NR_gettid);

	if (recursive && atomic_load_explicit(&l->word, memory_order_relaxed) &&
	    l->owner == me) {
		l->depth++;
		return;
	}
	if (!atomic_compare_exchange_strong_explicit(&l->word, &free, 1, memory_order_acquire,
						     memory_order_relaxed)) {
		while (atomic_exchange_explicit(&l->word, 2, memory_order_acquire))
			sys_call4(NR_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, 0);
	}
	l->owner = me;
	l->depth = 1;
}

static void unlock(struct __lock *l)
{
	if (--l->depth)
		return;
	l->owner = 0;
	if (atomic_exchange_explicit(&l->word, 0, memory_order_release) == 2)
		sys_call3(NR_futex, &l->word, FUTEX_WAKE_PRIVATE, 1);
}

void __retarget_lock_init(_LOCK_T *l)
{
	*l = calloc(1, sizeof(**l));
}

void __retarget_lock_init_recursive(_LOCK_T *l)
{
	*l = calloc(1, sizeof(**l));
}

void __retarget_lock_close(_LOCK_T l)
{
	free(l);
}

void __retarget_lock_close_recursive(_LOCK_T l)
{
	free(l);
}

void __retarget_lock_acquire(_LOCK_T l)
{
	lock(l, 0);
}

void __retarget_lock_acquire_recursive(_LOCK_T l)
{
	lock(l, 1);
}

void __retarget_lock_release(_LOCK_T l)
{
	unlock(l);
}

void __retarget_lock_release_recursive(_LOCK_T l)
{
	unlock(l);
}
