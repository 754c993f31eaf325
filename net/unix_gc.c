/* SPDX-License-Identifier: MIT */
/*
 * Files on their way between processes (SCM_RIGHTS), and what is left when sockets
 * sent over each other hold only each other (net/unix.h).
 *
 * What:      a socket whose file is in queues as often as the file has references is
 *            reachable only through those queues: a candidate.  Subtracting what
 *            candidates' own queues hold leaves those that a live queue holds;
 *            whatever these reach is live as well.  The rest is garbage: its files
 *            are taken out of its queues and put, which frees the sockets.
 * When:      a worker looks GC_DELAY after a socket was closed, if any socket is on its
 *            way: a look costs as much as there are, so not after each of many.
 * Locks:     unix_gc_lock protects what is on its way: it is held whenever files
 *            join or leave a queue, so the picture does not move meanwhile.  A file
 *            that is only on its way can't gain references but by being received.
 */
#include "net/unix.h"
#include "fs/vfs.h"
#include "kernel/timer.h"
#include "kernel/work.h"
#include "mm/slab.h"

#define GC_DELAY (100 * NSEC_PER_MSEC)

struct spinlock unix_gc_lock = SPINLOCK_INIT("unix_gc");
static struct list_head in_flight = LIST_HEAD_INIT(in_flight); /* sockets, by gc_link */
static _Atomic unsigned nr_in_flight;

void scm_free(struct scm_files *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < s->nr; i++)
		fput(s->file[i]);
	kfree(s);
}

/*
 * Files in messages that nobody read are closed by a worker, one after the other: among
 * them may be a socket whose queue holds the next socket, and so on, as deep as a program
 * likes, and a stack is not.
 */
static _Atomic(struct scm_files *) unread;

static void close_unread(struct work *w)
{
	struct scm_files *s, *next;

	(void)w;
	for (s = atomic_exchange_explicit(&unread, NULL, memory_order_acquire); s; s = next) {
		next = s->next;
		scm_free(s);
		cond_resched();
	}
}

void scm_free_later(struct scm_files *s)
{
	static struct work work = { .fn = close_unread };

	if (!s)
		return;
	s->next = atomic_load_explicit(&unread, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&unread, &s->next, s, memory_order_seq_cst,
						      memory_order_relaxed))
		;
	work_schedule(&work);
}

/* The AF_UNIX socket of a file, or NULL. */
static struct unix_sock *unix_file(struct file *f)
{
	struct sock *s = file_to_sock(f);

	return s && s->family == AF_UNIX ? unix_of(s) : NULL;
}

void unix_files_queued(const struct scm_files *f)
{
	for (unsigned i = 0; i < f->nr; i++) {
		struct unix_sock *u = unix_file(f->file[i]);

		if (!u)
			continue;
		if (u->inflight++ == 0) {
			u->gc_file = f->file[i];
			list_add_tail(&u->gc_link, &in_flight);
			atomic_fetch_add_explicit(&nr_in_flight, 1, memory_order_relaxed);
		}
	}
}

void unix_files_taken(const struct scm_files *f)
{
	for (unsigned i = 0; i < f->nr; i++) {
		struct unix_sock *u = unix_file(f->file[i]);

		if (!u)
			continue;
		if (--u->inflight == 0) {
			list_del(&u->gc_link);
			atomic_fetch_sub_explicit(&nr_in_flight, 1, memory_order_relaxed);
		}
	}
}

/* Calls @fn for each socket whose file is in a message of @u's queue. */
static void each_in_queue(struct unix_sock *u, void (*fn)(struct unix_sock *x))
{
	spin_lock(&u->lock);
	for (struct unix_msg *m = u->first; m; m = m->next) {
		for (unsigned i = 0; m->files && i < m->files->nr; i++) {
			struct unix_sock *x = unix_file(m->files->file[i]);

			if (x)
				fn(x);
		}
	}
	spin_unlock(&u->lock);
}

/* The same for @u and, if it listens, for connections that nobody has accepted. */
static void each_held(struct unix_sock *u, void (*fn)(struct unix_sock *x))
{
	struct unix_sock *n;

	each_in_queue(u, fn);
	spin_lock(&unix_lock);
	list_for_each_entry (n, &u->accept, accept_link)
		each_in_queue(n, fn);
	spin_unlock(&unix_lock);
}

static void subtract(struct unix_sock *x)
{
	if (x->gc_candidate)
		x->gc_count--;
}

/* Live candidates whose queues are still to be looked at; by gc_next, under unix_gc_lock. */
static struct unix_sock *found_live;
static void mark_live(struct unix_sock *x)
{
	if (x->gc_candidate && !x->gc_live) {
		x->gc_live = true;
		x->gc_next = found_live;
		found_live = x;
	}
}

/* unix_gc_lock held: takes the files out of @u's queue, onto @out. */
static void strip(struct unix_sock *u, struct scm_files **out)
{
	spin_lock(&u->lock);
	for (struct unix_msg *m = u->first; m; m = m->next) {
		if (!m->files)
			continue;
		m->files->next = *out;
		*out = m->files;
		m->files = NULL;
	}
	spin_unlock(&u->lock);
}

/* unix_gc_lock held. */
static struct scm_files *collect(void)
{
	struct scm_files *garbage = NULL;
	struct unix_sock *u, *n;

	list_for_each_entry (u, &in_flight, gc_link) {
		u->gc_candidate = atomic_load_explicit(&u->gc_file->refs, memory_order_acquire) ==
				  u->inflight;
		u->gc_count = u->inflight;
		u->gc_live = false;
	}
	list_for_each_entry (u, &in_flight, gc_link) {
		if (u->gc_candidate)
			each_held(u, subtract);
	}
	list_for_each_entry (u, &in_flight, gc_link) {
		if (u->gc_count > 0)
			mark_live(u);
	}
	while ((u = found_live)) {
		found_live = u->gc_next;
		each_held(u, mark_live);
	}
	list_for_each_entry (u, &in_flight, gc_link) {
		if (!u->gc_candidate || u->gc_live)
			continue;
		strip(u, &garbage);
		spin_lock(&unix_lock);
		list_for_each_entry (n, &u->accept, accept_link)
			strip(n, &garbage);
		spin_unlock(&unix_lock);
	}
	for (struct scm_files *f = garbage; f; f = f->next)
		unix_files_taken(f);
	return garbage;
}

static _Atomic bool gc_wanted; /* from the hint until the worker begins */

static void gc(struct work *w)
{
	struct scm_files *garbage, *next;

	(void)w;
	atomic_store_explicit(&gc_wanted, false, memory_order_seq_cst);
	spin_lock(&unix_gc_lock);
	garbage = collect();
	spin_unlock(&unix_gc_lock);
	for (; garbage; garbage = next) {
		next = garbage->next;
		scm_free(garbage);
		cond_resched();
	}
}

static void gc_due(struct timer *t)
{
	static struct work work = { .fn = gc };

	(void)t;
	work_schedule(&work);
}

static struct timer gc_timer;

void unix_gc_init(void)
{
	timer_init(&gc_timer, gc_due);
}

void unix_gc_hint(void)
{
	if (atomic_load_explicit(&nr_in_flight, memory_order_relaxed) &&
	    !atomic_exchange_explicit(&gc_wanted, true, memory_order_seq_cst))
		timer_set(&gc_timer, clock_ns() + GC_DELAY);
}
