/* SPDX-License-Identifier: MIT */
/*
 * System-call dispatch: number to function, and what must be true before user
 * mode goes on.  This runs at every message of the benchmark: one look-up, one
 * call, one check of three words.
 */
#include "kernel/syscall.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/process.h"
#include "kernel/string.h"
#include "kernel/syscall_table.h"
#include "kernel/syscall_dispatch.h"
#include "kernel/trace.h"
#include "mm/vm.h"
#include "arch/x86_64/user.h"

/* Old-style declarations: each call has its own parameter list where it is defined. */
#define X(nr, name) extern long sys_##name() __weak;
SYSCALL_TABLE(X)
#undef X

#define X(nr, name) [nr] = (syscall_fn)sys_##name,
static const syscall_fn table[NR_SYSCALLS] = { SYSCALL_TABLE(X) };
#undef X

#define X(nr, name) [nr] = #name,
static const char *const names[NR_SYSCALLS] = { SYSCALL_TABLE(X) };
#undef X

const char *syscall_name(unsigned long nr)
{
	return nr < NR_SYSCALLS ? names[nr] : NULL;
}

/*
 * Which programs have called what is missing: one line in the log for each.
 * A full table stays silent after saying so; process names are short, so the
 * table holds them by value.
 */
#define MAX_UNKNOWN 128
static struct {
	char name[16];
	unsigned long nr;
} unknown[MAX_UNKNOWN];
static unsigned nr_unknown; /* unknown_lock */
static struct spinlock unknown_lock = SPINLOCK_INIT("syscall_unknown");

static __noinline void log_unknown(unsigned long nr)
{
	const char *call = syscall_name(nr);
	struct process *p = current->process;
	bool is_new = true;
	unsigned n;

	spin_lock(&unknown_lock);
	n = nr_unknown;
	for (unsigned i = 0; i < n && is_new; i++)
		is_new = unknown[i].nr != nr || strcmp(unknown[i].name, p->name) != 0;
	if (is_new && n < MAX_UNKNOWN) {
		unknown[n].nr = nr;
		str_copy(unknown[n].name, p->name, sizeof(unknown[n].name));
		nr_unknown++;
	}
	spin_unlock(&unknown_lock);

	if (!is_new || n > MAX_UNKNOWN - 1)
		return;
	pr_info("%s: system call %lu (%s) is not there\n", p->name, nr,
		call ? call : "no such number");
	if (n == MAX_UNKNOWN - 1)
		pr_info("further missing system calls are not logged\n");
}

/**
 * syscall_dispatch - run one system call
 * @r: registers; the number is in r->error, the arguments in rdi rsi rdx r10 r8 r9
 *
 * Context: entered and left with interrupts off.
 * Return: true if SYSRET can restore @r, else it takes iretq.
 */
bool syscall_dispatch(struct regs *r)
{
	uint32_t nr = (uint32_t)r->error;
	struct thread *t;
	long ret;

	irq_enable();
	trace(syscall_enter, nr, r->rdi, r->rsi, r->rdx);
	if (likely(nr < NR_SYSCALLS && table[nr])) {
		ret = table[nr](r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9);
	} else {
		log_unknown(r->error);
		ret = -ENOSYS;
	}
	trace(syscall_exit, nr, (uint64_t)ret);
	r->rax = (uint64_t)ret;

	t = current;
	/* A restart code must not reach the program even if the signal went to another thread. */
	if (unlikely(ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK))
		atomic_fetch_or_explicit(&t->flags, THREAD_F_SIGPENDING, memory_order_relaxed);
	irq_disable();
	if (unlikely(user_work(t) || need_resched()))
		exit_to_user(r);

	/* What a handler or execve() changed differs in rcx or r11 from what SYSCALL left there. */
	return r->rcx == r->rip && r->r11 == r->rflags && r->vector == REGS_SYSCALL &&
	       !(r->rflags & (RFLAGS_TF | RFLAGS_RF)) && r->rip < USER_TOP;
}
