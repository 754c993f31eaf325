/* SPDX-License-Identifier: MIT */
/*
 * Signals.  newlib numbers them as BSD does, Linux differently: numbers and
 * masks are translated in both directions, also for the handler's argument
 * (one trampoline looks up the program's handler by Linux number).
 */
#include <errno.h>
#include <reent.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "libc/syscall.h"

/* Index: newlib's number; value: Linux's. */
static const unsigned char to_linux[NSIG] = {
	[SIGHUP] = 1,	 [SIGINT] = 2,	    [SIGQUIT] = 3,  [SIGILL] = 4,    [SIGTRAP] = 5,
	[SIGABRT] = 6,	 [SIGFPE] = 8,	    [SIGKILL] = 9,  [SIGBUS] = 7,    [SIGSEGV] = 11,
	[SIGSYS] = 31,	 [SIGPIPE] = 13,    [SIGALRM] = 14, [SIGTERM] = 15,  [SIGURG] = 23,
	[SIGSTOP] = 19,	 [SIGTSTP] = 20,    [SIGCONT] = 18, [SIGCHLD] = 17,  [SIGTTIN] = 21,
	[SIGTTOU] = 22,	 [SIGIO] = 29,	    [SIGXCPU] = 24, [SIGXFSZ] = 25,  [SIGVTALRM] = 26,
	[SIGPROF] = 27,	 [SIGWINCH] = 28,   [SIGLOST] = 30, [SIGUSR1] = 10,  [SIGUSR2] = 12,
};

static _sig_func_ptr handlers[65]; /* by Linux number */

struct linux_sigaction {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

#define LINUX_SA_RESTORER 0x04000000UL

void __restore_rt(void);

static int number_to_linux(int sig)
{
	return sig > 0 && sig < NSIG ? to_linux[sig] : 0;
}

static int number_from_linux(int lsig)
{
	for (int i = 1; i < NSIG; i++)
		if (to_linux[i] == lsig)
			return i;
	return 0;
}

static uint64_t mask_to_linux(sigset_t set)
{
	uint64_t out = 0;

	for (int i = 1; i < NSIG; i++)
		if ((set >> i & 1) && to_linux[i])
			out |= 1ULL << (to_linux[i] - 1);
	return out;
}

static sigset_t mask_from_linux(uint64_t set)
{
	sigset_t out = 0;

	for (int i = 1; i < NSIG; i++)
		if (to_linux[i] && (set >> (to_linux[i] - 1) & 1))
			out |= 1UL << i;
	return out;
}

static void trampoline(int lsig)
{
	int saved = errno;

	handlers[lsig](number_from_linux(lsig));
	errno = saved;
}

int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	struct linux_sigaction la = { 0 }, lo = { 0 };
	int lsig = number_to_linux(sig);
	_sig_func_ptr before;
	long ret;

	if (!lsig) {
		errno = EINVAL;
		return -1;
	}
	before = handlers[lsig];
	if (act) {
		la.flags = (unsigned int)act->sa_flags | LINUX_SA_RESTORER;
		la.restorer = __restore_rt;
		la.mask = mask_to_linux(act->sa_mask);
		la.handler = act->sa_handler;
		if (act->sa_handler != SIG_DFL && act->sa_handler != SIG_IGN) {
			handlers[lsig] = act->sa_handler;
			la.handler = trampoline;
		}
	}
	ret = sys_call4(NR_rt_sigaction, lsig, act ? &la : 0, &lo, 8);
	if (ret < 0)
		return (int)sysret(ret);
	if (old) {
		old->sa_handler = lo.handler == trampoline ? before : lo.handler;
		old->sa_flags = (int)(lo.flags & ~LINUX_SA_RESTORER);
		old->sa_mask = mask_from_linux(lo.mask);
	}
	return 0;
}

_sig_func_ptr signal(int sig, _sig_func_ptr handler)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;

	return sigaction(sig, &act, &old) < 0 ? SIG_ERR : old.sa_handler;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	uint64_t ls = set ? mask_to_linux(*set) : 0, lo = 0;
	/* newlib: SETMASK 0, BLOCK 1, UNBLOCK 2; Linux: BLOCK 0, UNBLOCK 1, SETMASK 2 */
	int lhow = how == SIG_BLOCK ? 0 : how == SIG_UNBLOCK ? 1 : 2;
	long ret = sys_call4(NR_rt_sigprocmask, lhow, set ? &ls : 0, &lo, 8);

	if (ret < 0)
		return (int)sysret(ret);
	if (old)
		*old = mask_from_linux(lo);
	return 0;
}

int kill(pid_t pid, int sig)
{
	int lsig = number_to_linux(sig);

	if (sig && !lsig) {
		errno = EINVAL;
		return -1;
	}
	return (int)sysret(sys_call2(NR_kill, pid, lsig));
}

int raise(int sig)
{
	return kill(getpid(), sig);
}

int pause(void)
{
	return (int)sysret(sys_call0(NR_pause));
}

int setitimer(int which, const struct itimerval *restrict new, struct itimerval *restrict old)
{
	return (int)sysret(sys_call3(NR_setitimer, which, new, old));
}

unsigned alarm(unsigned seconds)
{
	struct itimerval it = { .it_value = { .tv_sec = seconds } }, old = { 0 };

	if (setitimer(ITIMER_REAL, &it, &old) < 0)
		return 0;
	return (unsigned)old.it_value.tv_sec + (old.it_value.tv_usec ? 1 : 0);
}
