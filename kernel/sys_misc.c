/* SPDX-License-Identifier: MIT */
/*
 * System calls that belong to no larger part: names, figures of the machine,
 * per-thread registers, the log, power.
 */
#include "kernel/process_int.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/random.h"
#include "kernel/smp.h"
#include "kernel/string.h"
#include "kernel/syscall.h"
#include "arch/x86_64/user.h"
#include "mm/page.h"
#include "mm/slab.h"
#include "mm/vm.h"
#include "version.h"

/* ---- names ---- */

#define NAME_LEN 65
struct utsname_k {
	char sysname[NAME_LEN], nodename[NAME_LEN], release[NAME_LEN], version[NAME_LEN],
		machine[NAME_LEN], domainname[NAME_LEN];
};

static char nodename[NAME_LEN] = "tally", domainname[NAME_LEN] = "(none)";
static struct spinlock name_lock = SPINLOCK_INIT("utsname");

size_t hostname_get(char *buf, size_t n)
{
	size_t r;

	spin_lock(&name_lock);
	r = str_copy(buf, nodename, n);
	spin_unlock(&name_lock);
	return r;
}

void hostname_set(const char *name)
{
	spin_lock(&name_lock);
	str_copy(nodename, name, NAME_LEN);
	spin_unlock(&name_lock);
}

SYSCALL(uname, struct utsname_k __user *out)
{
	struct utsname_k u;

	memset(&u, 0, sizeof(u));
	/* Programs compare the release with what they need: the interface is that of 6.1. */
	str_copy(u.sysname, "Tally", NAME_LEN);
	str_copy(u.release, "6.1.0-tally", NAME_LEN);
	snprintf(u.version, NAME_LEN, "#1 SMP %s", TALLY_COMMIT);
	str_copy(u.machine, "x86_64", NAME_LEN);
	spin_lock(&name_lock);
	memcpy(u.nodename, nodename, NAME_LEN);
	memcpy(u.domainname, domainname, NAME_LEN);
	spin_unlock(&name_lock);
	return copy_to_user(out, &u, sizeof(u));
}

static long set_name(char *name, const char __user *src, int len)
{
	char n[NAME_LEN] = { 0 };

	if (current->process->euid != 0)
		return -EPERM;
	if (len < 0 || len >= NAME_LEN)
		return -EINVAL;
	if (copy_from_user(n, src, (size_t)len))
		return -EFAULT;
	spin_lock(&name_lock);
	memcpy(name, n, NAME_LEN);
	spin_unlock(&name_lock);
	return 0;
}

SYSCALL(sethostname, const char __user *src, int len)
{
	return set_name(nodename, src, len);
}

SYSCALL(setdomainname, const char __user *src, int len)
{
	return set_name(domainname, src, len);
}

/* ---- the machine ---- */

struct sysinfo_k {
	int64_t uptime;
	uint64_t loads[3], totalram, freeram, sharedram, bufferram, totalswap, freeswap;
	uint16_t procs, pad;
	uint32_t pad2;
	uint64_t totalhigh, freehigh;
	uint32_t mem_unit, pad3;
};
_Static_assert(sizeof(struct sysinfo_k) == 112, "struct sysinfo is ABI");

SYSCALL(sysinfo, struct sysinfo_k __user *out)
{
	struct page_stats st;
	struct sysinfo_k s;

	page_stats(&st);
	memset(&s, 0, sizeof(s));
	s.uptime = (int64_t)(clock_ns() / NSEC_PER_SEC);
	s.loads[0] = s.loads[1] = s.loads[2] = (uint64_t)sched_nr_running() << 16;
	s.totalram = st.total;
	s.freeram = st.free;
	s.sharedram = st.kind[PAGE_FILE]; /* all file pages are ramfs's, as tmpfs on Linux */
	s.procs = (uint16_t)min(process_count(), 65535U);
	s.mem_unit = PAGE_SIZE;
	return copy_to_user(out, &s, sizeof(s));
}

#define GRND_KNOWN 7

SYSCALL(getrandom, void __user *buf, size_t n, unsigned flags)
{
	uint8_t chunk[256];
	size_t done = 0;

	if (flags & ~GRND_KNOWN || (flags & 6) == 6)
		return -EINVAL;
	n = min(n, (size_t)INT_MAX);
	while (done < n) {
		size_t part = min(n - done, sizeof(chunk));

		random_bytes(chunk, part);
		if (copy_to_user((char *)buf + done, chunk, part))
			return done ? (long)done : -EFAULT;
		done += part;
		if (signal_pending(current) && done >= 256)
			break;
		cond_resched();
	}
	return (long)done;
}

/* ---- threads' registers and attributes ---- */

#define ARCH_SET_GS 0x1001
#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003
#define ARCH_GET_GS 0x1004

SYSCALL(arch_prctl, int what, unsigned long addr)
{
	switch (what) {
	case ARCH_SET_FS:
	case ARCH_SET_GS:
		if (addr >= USER_TOP)
			return -EPERM;
		if (what == ARCH_SET_FS)
			user_set_fs_base(addr);
		else
			user_set_gs_base(addr);
		return 0;
	case ARCH_GET_FS:
		return put_user(current->user_fs_base, (uint64_t *)addr);
	case ARCH_GET_GS:
		return put_user(current->user_gs_base, (uint64_t *)addr);
	default:
		return -EINVAL;
	}
}

enum {
	PR_SET_PDEATHSIG = 1, PR_GET_PDEATHSIG = 2, PR_GET_DUMPABLE = 3, PR_SET_DUMPABLE = 4,
	PR_GET_KEEPCAPS = 7, PR_SET_KEEPCAPS = 8, PR_SET_NAME = 15, PR_GET_NAME = 16,
	PR_CAPBSET_READ = 23, PR_SET_TIMERSLACK = 29, PR_GET_TIMERSLACK = 30,
	PR_SET_NO_NEW_PRIVS = 38, PR_GET_NO_NEW_PRIVS = 39,
};

SYSCALL(prctl, int what, unsigned long arg, unsigned long a3, unsigned long a4, unsigned long a5)
{
	struct user_thread *u = current_user();
	char name[16] = { 0 };
	long n;

	switch (what) {
	case PR_SET_NAME:
		n = strncpy_from_user(name, (const char *)arg, sizeof(name) - 1);
		if (n == -EFAULT)
			return n;
		name[15] = '\0';
		memcpy(current->name, name, sizeof(name));
		if (current->tid == u->process->pid)
			memcpy(u->process->name, name, sizeof(name));
		return 0;
	case PR_GET_NAME:
		return copy_to_user((void *)arg, current->name, sizeof(current->name));
	case PR_GET_DUMPABLE:
		return 1;
	case PR_SET_DUMPABLE:
		return arg <= 1 ? 0 : -EINVAL;
	case PR_GET_PDEATHSIG:
		return put_user(0, (int *)arg);
	case PR_GET_KEEPCAPS:
	case PR_GET_NO_NEW_PRIVS:
		return 0;
	case PR_SET_KEEPCAPS:
		return arg <= 1 ? 0 : -EINVAL;
	case PR_CAPBSET_READ:
		return arg <= 40 ? 1 : -EINVAL;
	case PR_SET_TIMERSLACK:
		u->timer_slack_ns = arg;
		return 0;
	case PR_GET_TIMERSLACK:
		return u->timer_slack_ns ? (long)u->timer_slack_ns : 50000;
	default:
		return -EINVAL;
	}
}

#define PERSONALITY_ASK 0xffffffffU

SYSCALL(personality, unsigned p)
{
	return p == PERSONALITY_ASK || (p & 0xff) == 0 ? 0 : -EINVAL;
}

enum {
	MEMBARRIER_QUERY = 0, MEMBARRIER_GLOBAL = 1, MEMBARRIER_PRIVATE_EXPEDITED = 8,
	MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 16,
};

static void barrier_here(void *arg)
{
	atomic_thread_fence(memory_order_seq_cst);
}

SYSCALL(membarrier, int cmd, unsigned flags, int cpu)
{
	if (flags)
		return -EINVAL;
	switch (cmd) {
	case MEMBARRIER_QUERY:
		return MEMBARRIER_GLOBAL | MEMBARRIER_PRIVATE_EXPEDITED |
		       MEMBARRIER_REGISTER_PRIVATE_EXPEDITED;
	case MEMBARRIER_GLOBAL:
		synchronize_rcu();
		return 0;
	case MEMBARRIER_REGISTER_PRIVATE_EXPEDITED:
		return 0;
	case MEMBARRIER_PRIVATE_EXPEDITED:
		if (current->process->nr_threads > 1)
			smp_call_all(barrier_here, NULL);
		return 0;
	default:
		return -EINVAL;
	}
}

/* ---- the log ---- */

enum {
	SYSLOG_CLOSE, SYSLOG_OPEN, SYSLOG_READ, SYSLOG_READ_ALL, SYSLOG_READ_CLEAR, SYSLOG_CLEAR,
	SYSLOG_CONSOLE_OFF, SYSLOG_CONSOLE_ON, SYSLOG_CONSOLE_LEVEL, SYSLOG_SIZE_UNREAD,
	SYSLOG_SIZE_BUFFER,
};
#define SYSLOG_SIZE  (256 * 1024) /* what we say the buffer's size is */
#define SYSLOG_CHUNK 4096

static _Atomic uint64_t syslog_read_seq, syslog_clear_seq;

/* Bytes of the log from *@seq on; if @buf, the last @n of them are copied there. */
static long syslog_copy(uint64_t seq, char __user *buf, size_t n, uint64_t *end)
{
	char *chunk = kmalloc(SYSLOG_CHUNK, GFP_KERNEL);
	uint64_t from = seq;
	size_t total = 0, pos = 0, r, skip;
	long done = 0;

	if (!chunk)
		return -ENOMEM;
	while ((r = log_read(&seq, chunk, SYSLOG_CHUNK)) != 0) {
		total += r;
		if (total > 4 * SYSLOG_SIZE)
			break; /* the log grows as fast as we read */
	}
	skip = total > n ? total - n : 0;
	seq = from;
	while (buf && pos < total && (r = log_read(&seq, chunk, SYSLOG_CHUNK)) != 0) {
		size_t off = pos < skip ? min(skip - pos, r) : 0;
		size_t len = min(r - off, n - (size_t)done);

		if (copy_to_user(buf + done, chunk + off, len)) {
			done = -EFAULT;
			break;
		}
		done += (long)len;
		pos += r;
	}
	kfree(chunk);
	*end = seq;
	return buf ? done : (long)total;
}

SYSCALL(syslog, int what, char __user *buf, int len)
{
	uint64_t end, clear = atomic_load_explicit(&syslog_clear_seq, memory_order_relaxed);
	uint64_t read = atomic_load_explicit(&syslog_read_seq, memory_order_relaxed);
	long r;

	switch (what) {
	case SYSLOG_CLOSE:
	case SYSLOG_OPEN:
	case SYSLOG_CONSOLE_OFF:
	case SYSLOG_CONSOLE_ON:
		return 0;
	case SYSLOG_CONSOLE_LEVEL:
		return len < 1 || len > 8 ? -EINVAL : 0;
	case SYSLOG_SIZE_BUFFER:
		return SYSLOG_SIZE;
	case SYSLOG_SIZE_UNREAD:
		return syslog_copy(read, NULL, 0, &end);
	case SYSLOG_CLEAR:
		r = syslog_copy(clear, NULL, 0, &end);
		if (r < 0)
			return r;
		atomic_store_explicit(&syslog_clear_seq, end, memory_order_relaxed);
		return 0;
	case SYSLOG_READ:
	case SYSLOG_READ_ALL:
	case SYSLOG_READ_CLEAR:
		if (!buf || len < 0)
			return -EINVAL;
		if (!len)
			return 0;
		r = syslog_copy(what == SYSLOG_READ ? read : clear, buf, (size_t)len, &end);
		if (r >= 0 && what == SYSLOG_READ)
			atomic_store_explicit(&syslog_read_seq, end, memory_order_relaxed);
		if (r >= 0 && what == SYSLOG_READ_CLEAR)
			atomic_store_explicit(&syslog_clear_seq, end, memory_order_relaxed);
		return r;
	default:
		return -EINVAL;
	}
}

/* ---- power ---- */

#define REBOOT_MAGIC1   0xfee1deadU
#define REBOOT_RESTART  0x01234567U
#define REBOOT_HALT     0xcdef0123U
#define REBOOT_POWER_OFF 0x4321fedcU
#define REBOOT_CAD_ON   0x89abcdefU
#define REBOOT_CAD_OFF  0x00000000U

SYSCALL(reboot, unsigned magic1, unsigned magic2, unsigned cmd, void __user *arg)
{
	if (current->process->euid != 0)
		return -EPERM;
	if (magic1 != REBOOT_MAGIC1 || (magic2 != 672274793 && magic2 != 85072278 &&
					magic2 != 369367448 && magic2 != 537993216))
		return -EINVAL;
	switch (cmd) {
	case REBOOT_CAD_ON:
	case REBOOT_CAD_OFF:
		return 0;
	case REBOOT_RESTART:
		pr_info("restarting on request of %s[%d]\n", current->process->name, current->tid);
		arch_reboot();
	case REBOOT_POWER_OFF:
	case REBOOT_HALT:
		pr_info("power off on request of %s[%d]\n", current->process->name, current->tid);
		arch_power_off(0);
	default:
		return -EINVAL;
	}
}

/* C libraries ask for restartable sequences at every start and do without: not worth a log line. */
SYSCALL(rseq, void)
{
	return -ENOSYS;
}
