/* SPDX-License-Identifier: MIT */
/*
 * The process structure: allocation, references, and what other parts may ask
 * of a process that is not their own.
 */
#include "kernel/process_int.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/ptrace.h"
#include "kernel/random.h"
#include "kernel/string.h"
#include "arch/x86_64/fpu.h"
#include "fs/vfs.h"
#include "mm/memcg.h"
#include "mm/slab.h"
#include "mm/vm.h"

struct spinlock process_lock = SPINLOCK_INIT("process");
struct process *init_process;

static struct kmem_cache *process_cache, *user_thread_cache;

void process_init(void)
{
	random_init();
	signal_init();
	futex_init();
	process_cache = kmem_cache_create("process", sizeof(struct process), CACHE_LINE,
					  SLAB_ACCOUNT);
	user_thread_cache = kmem_cache_create("user_thread", sizeof(struct user_thread), CACHE_LINE,
					      SLAB_ACCOUNT);
	if (!process_cache || !user_thread_cache)
		panic("no memory for the process tables");
}

struct process *process_alloc(void)
{
	static const uint64_t limits[NR_RLIMITS][2] = {
		[RLIMIT_CPU] = { RLIM_INFINITY, RLIM_INFINITY },
		[RLIMIT_FSIZE] = { RLIM_INFINITY, RLIM_INFINITY },
		[RLIMIT_DATA] = { RLIM_INFINITY, RLIM_INFINITY },
		[RLIMIT_STACK] = { 8 << 20, RLIM_INFINITY },
		[RLIMIT_CORE] = { 0, RLIM_INFINITY },
		[RLIMIT_RSS] = { RLIM_INFINITY, RLIM_INFINITY },
		[RLIMIT_NPROC] = { PID_MAX, PID_MAX },
		[RLIMIT_NOFILE] = { 1024, 1 << 20 },
		[RLIMIT_MEMLOCK] = { RLIM_INFINITY, RLIM_INFINITY },
		[RLIMIT_AS] = { RLIM_INFINITY, RLIM_INFINITY },
		[RLIMIT_LOCKS] = { RLIM_INFINITY, RLIM_INFINITY },
		[RLIMIT_SIGPENDING] = { 1024, 1024 },
		[RLIMIT_MSGQUEUE] = { 819200, 819200 },
		[RLIMIT_NICE] = { 0, 0 },
		[RLIMIT_RTPRIO] = { 0, 0 },
		[RLIMIT_RTTIME] = { RLIM_INFINITY, RLIM_INFINITY },
	};
	struct process *p = kmem_cache_alloc(process_cache, GFP_KERNEL);

	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	p->sighand = sighand_create();
	if (!p->sighand) {
		kmem_cache_free(process_cache, p);
		return NULL;
	}
	atomic_init(&p->refs, 1);
	list_init(&p->children);
	list_init(&p->sibling);
	list_init(&p->threads);
	list_init(&p->pgrp_link);
	list_init(&p->tracees);
	list_init(&p->memcg_link);
	sigqueue_init(&p->pending);
	wq_init(&p->child_wait, "child_wait");
	memcpy(p->rlimits, limits, sizeof(limits));
	p->exit_signal = SIGCHLD;
	p->start_ns = clock_ns();
	return p;
}

struct user_thread *user_thread_create(struct process *p, const char *name, void (*entry)(void *))
{
	struct user_thread *u = kmem_cache_alloc(user_thread_cache, GFP_KERNEL);
	struct thread *t;

	if (!u)
		return ERR_PTR(-ENOMEM);
	memset(u, 0, sizeof(*u));
	t = thread_alloc_for(name, current_owner());
	if (IS_ERR(t)) {
		kmem_cache_free(user_thread_cache, u);
		return ERR_PTR(PTR_ERR(t));
	}
	u->thread = t;
	u->process = p;
	list_init(&u->group_link);
	list_init(&u->memcg_link);
	sigqueue_init(&u->pending);
	t->user = u;
	t->process = p;
	if (current->arch_fpu ? fpu_thread_copy(t) : fpu_thread_init(t)) {
		user_thread_free(u);
		return ERR_PTR(-ENOMEM);
	}
	arch_thread_init(t, entry, u);
	return u;
}

void user_thread_release(struct user_thread *u)
{
	kmem_cache_free(user_thread_cache, u);
}

void user_thread_free(struct user_thread *u)
{
	u->thread->user = NULL;
	u->thread->process = NULL;
	thread_put(u->thread);
	user_thread_release(u);
}

void user_thread_link(struct user_thread *u)
{
	struct process *p = u->process;

	spin_lock(&p->sighand->lock);
	list_add_tail(&u->group_link, &p->threads);
	__atomic_store_n(&p->nr_threads, p->nr_threads + 1, __ATOMIC_RELAXED);
	pid_attach_thread(u->thread->tid, u->thread);
	/* What the process was told while the thread was being made. */
	if (p->group_exit || p->stop_sig)
		signal_wake(u->thread, p->group_exit);
	spin_unlock(&p->sighand->lock);
}

void process_get(struct process *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

static void free_process(struct rcu_head *h)
{
	struct process *p = container_of(h, struct process, rcu);

	sighand_free(p->sighand);
	kmem_cache_free(process_cache, p);
}

void process_put(struct process *p)
{
	if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1)
		call_rcu(&p->rcu, free_process);
}

void process_for_each_thread(struct process *p, bool (*fn)(struct thread *t, void *arg), void *arg)
{
	struct user_thread *u;

	spin_lock(&process_lock);
	list_for_each_entry(u, &p->threads, group_link)
		if (fn(u->thread, arg))
			break;
	spin_unlock(&process_lock);
}

struct vm_space *process_space_get(struct process *p)
{
	struct vm_space *s;

	spin_lock(&process_lock);
	s = atomic_load_explicit(&p->space, memory_order_relaxed);
	if (s)
		vm_get(s);
	spin_unlock(&process_lock);
	return s;
}

struct files *process_files_get(struct process *p)
{
	struct files *f;

	spin_lock(&process_lock);
	f = p->files;
	if (f)
		files_get(f);
	spin_unlock(&process_lock);
	return f;
}

struct fs_context *process_fs_get(struct process *p)
{
	struct fs_context *c;

	spin_lock(&process_lock);
	c = p->fs;
	if (c)
		fs_context_get(c);
	spin_unlock(&process_lock);
	return c;
}

struct file *process_exe_get(struct process *p)
{
	struct file *f;

	spin_lock(&process_lock);
	f = p->exe;
	if (f)
		file_get(f);
	spin_unlock(&process_lock);
	return f;
}

/* CPU time of one thread, the present stretch included if it runs (a little stale elsewhere). */
void thread_times(const struct thread *t, uint64_t *user, uint64_t *system)
{
	uint64_t run = atomic_load_explicit(&t->run_ns, memory_order_relaxed);
	uint64_t in_user = atomic_load_explicit(&t->user_ns, memory_order_relaxed);

	if (atomic_load_explicit(&t->on_cpu, memory_order_relaxed)) {
		uint64_t since = atomic_load_explicit(&t->started_at, memory_order_relaxed);
		uint64_t now = clock_ns();

		run += now > since ? now - since : 0;
	}
	*user += min(in_user, run);
	*system += run - min(in_user, run);
}

void process_times(struct process *p, uint64_t *user_ns, uint64_t *system_ns)
{
	struct user_thread *u;

	spin_lock(&process_lock);
	*user_ns = atomic_load_explicit(&p->exited_user_ns, memory_order_relaxed);
	*system_ns = atomic_load_explicit(&p->exited_system_ns, memory_order_relaxed);
	list_for_each_entry(u, &p->threads, group_link)
		thread_times(u->thread, user_ns, system_ns);
	spin_unlock(&process_lock);
}

char process_state_letter(struct process *p)
{
	struct user_thread *u;
	char c = 'S';

	switch (atomic_load_explicit(&p->state, memory_order_relaxed)) {
	case PROCESS_STOPPED:
		return 'T';
	case PROCESS_ZOMBIE:
		return 'Z';
	case PROCESS_DEAD:
		return 'X';
	}
	spin_lock(&process_lock);
	list_for_each_entry(u, &p->threads, group_link) {
		enum thread_state s = thread_state_of(u->thread);

		if (atomic_load_explicit(&u->trace, memory_order_relaxed) == TRACE_STOPPED) {
			c = 't';
			break;
		}
		if (s == THREAD_RUNNABLE) {
			c = 'R';
			break;
		}
		if (s == THREAD_UNINTERRUPTIBLE)
			c = 'D';
	}
	spin_unlock(&process_lock);
	return c;
}

size_t process_cmdline(struct process *p, char *buf, size_t n)
{
	spin_lock(&process_lock);
	n = p->cmdline ? min(n, p->cmdline_len) : 0;
	if (n)
		memcpy(buf, p->cmdline, n);
	spin_unlock(&process_lock);
	return n;
}

pid_t pgrp_session(pid_t pgid)
{
	struct list_head *g;
	pid_t sid = -ESRCH;

	spin_lock(&process_lock);
	g = pid_group(pgid);
	if (g)
		sid = list_first_entry(g, struct process, pgrp_link)->sid;
	spin_unlock(&process_lock);
	return sid;
}

bool pgrp_is_orphaned_locked(pid_t pgid, const struct process *ignore)
{
	struct list_head *g = pid_group(pgid);
	struct process *p;

	if (!g)
		return false;
	list_for_each_entry(p, g, pgrp_link) {
		if (p == ignore ||
		    atomic_load_explicit(&p->state, memory_order_relaxed) >= PROCESS_ZOMBIE)
			continue;
		/* Somebody of the session but outside the group looks after it. */
		if (p->parent && p->parent != init_process && p->parent != ignore &&
		    p->parent->pgid != pgid && p->parent->sid == p->sid)
			return false;
	}
	return true;
}

bool pgrp_is_orphaned(pid_t pgid)
{
	bool r;

	spin_lock(&process_lock);
	r = pgrp_is_orphaned_locked(pgid, NULL);
	spin_unlock(&process_lock);
	return r;
}
