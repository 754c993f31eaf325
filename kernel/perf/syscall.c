/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open(2), the part that counts.
 *
 * Types: PERF_TYPE_SOFTWARE with Linux's numbers; PERF_TYPE_HARDWARE and _RAW for
 * the PMU "cpu", if the machine has one (arch/x86_64/pmu.c); and each PMU's own
 * type (as in /proc/tally/pmus and /sys/bus/event_source/devices/NAME/type on Linux).
 * Not there: sampling and the mmap'ed ring (the profiler is /dev/perf).
 * Source: perf_event_open(2).
 */
#include "kernel/perf/event.h"

#include "fs/cgroup.h"
#include "fs/vfs.h"
#include "kernel/errno.h"
#include "kernel/perf/perf.h"
#include "kernel/perf/sample.h"
#include "kernel/process.h"
#include "kernel/string.h"
#include "kernel/syscall.h"
#include "mm/slab.h"

/* struct perf_event_attr as of version 0 (64 bytes) and a little beyond. */
struct perf_attr {
	uint32_t type, size;
	uint64_t config, sample_period, sample_type, read_format, flags;
	uint32_t wakeup_events, bp_type;
	uint64_t config1;
};
#define PERF_ATTR_SIZE_VER0 64
_Static_assert(sizeof(struct perf_attr) == PERF_ATTR_SIZE_VER0, "version 0 of the ABI");

#define ATTR_DISABLED       (1u << 0)
#define ATTR_INHERIT        (1u << 1)
#define ATTR_EXCLUDE_USER   (1u << 4)
#define ATTR_EXCLUDE_KERNEL (1u << 5)
#define ATTR_ENABLE_ON_EXEC (1u << 12)

#define PERF_FLAG_FD_NO_GROUP (1u << 0)
#define PERF_FLAG_FD_OUTPUT   (1u << 1)
#define PERF_FLAG_PID_CGROUP  (1u << 2)
#define PERF_FLAG_FD_CLOEXEC  (1u << 3)

#define PERF_TYPE_HARDWARE 0
#define PERF_TYPE_SOFTWARE 1
#define PERF_TYPE_RAW      4

#define FORMAT_TOTAL_TIME_ENABLED (1u << 0)
#define FORMAT_TOTAL_TIME_RUNNING (1u << 1)
#define FORMAT_ID                 (1u << 2)
#define FORMAT_GROUP              (1u << 3)
#define FORMAT_KNOWN              15u

#define IOC_ENABLE  0x2400
#define IOC_DISABLE 0x2401
#define IOC_RESET   0x2403
#define IOC_ID      0x80082407
#define IOC_FLAG_GROUP 1u /* argument: the whole group of events */

/* PERF_COUNT_SW_*; what cannot happen here counts nothing. */
static const char *const software[] = {
	"cpu-clock", "task-clock", "page_faults", "context-switches", "cpu-migrations",
	"page_faults", "dummy", "dummy", "dummy", "dummy",
};

/* PERF_COUNT_HW_*: events of the PMU "cpu" by name. */
static const char *const hardware[] = {
	"cycles", "instructions", "cache-references", "cache-misses", "branches",
	"branch-misses", "bus-cycles", NULL, NULL, "ref-cycles",
};

struct event_file {
	struct perf_event *event;
	uint64_t format;
};

/* A group's counts, as PERF_FORMAT_GROUP wants them. */
struct group_read {
	uint64_t *v;
	unsigned n, most;
	bool ids;
};

static void count_one(struct perf_event *e, void *arg)
{
	(void)e;
	(*(unsigned *)arg)++;
}

static void read_one(struct perf_event *e, void *arg)
{
	struct group_read *g = arg;

	if (g->n + 2 > g->most)
		return; /* it has come since they were counted */
	g->v[g->n++] = perf_event_read(e);
	if (g->ids)
		g->v[g->n++] = e->id;
	g->v[0]++;
}

/* nr, [enabled, running,] then value and [id] of each; the leader first. */
static ssize_t group_read(struct event_file *ef, struct iov_iter *to)
{
	struct group_read g = { .ids = ef->format & FORMAT_ID };
	uint64_t enabled, running;
	unsigned nr = 0;
	size_t size;
	ssize_t ret;

	perf_group_each(ef->event, count_one, &nr);
	g.most = 3 + 2 * nr;
	g.v = kzalloc(g.most * sizeof(*g.v), GFP_KERNEL);
	if (!g.v)
		return -ENOMEM;
	g.n = 1 + !!(ef->format & FORMAT_TOTAL_TIME_ENABLED) +
	      !!(ef->format & FORMAT_TOTAL_TIME_RUNNING);
	perf_group_each(ef->event, read_one, &g);
	perf_event_times(ef->event, &enabled, &running);
	nr = 1;
	if (ef->format & FORMAT_TOTAL_TIME_ENABLED)
		g.v[nr++] = enabled;
	if (ef->format & FORMAT_TOTAL_TIME_RUNNING)
		g.v[nr] = running;
	size = g.n * sizeof(*g.v);
	ret = to->count < size ? -ENOSPC
	      : copy_to_iter(g.v, size, to) == size ? (ssize_t)size : -EFAULT;
	kfree(g.v);
	return ret;
}

static ssize_t event_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct event_file *ef = f->priv;
	uint64_t v[4], enabled, running;
	size_t n = 0;

	(void)pos;
	if (ef->format & FORMAT_GROUP)
		return group_read(ef, to);
	v[n++] = perf_event_read(ef->event);
	perf_event_times(ef->event, &enabled, &running);
	if (ef->format & FORMAT_TOTAL_TIME_ENABLED)
		v[n++] = enabled;
	if (ef->format & FORMAT_TOTAL_TIME_RUNNING)
		v[n++] = running;
	if (ef->format & FORMAT_ID)
		v[n++] = ef->event->id;
	n *= sizeof(v[0]);
	if (to->count < n)
		return -ENOSPC;
	return copy_to_iter(v, n, to) == n ? (ssize_t)n : -EFAULT;
}

static long event_ioctl(struct file *f, unsigned cmd, unsigned long arg)
{
	struct event_file *ef = f->priv;
	bool group = arg & IOC_FLAG_GROUP;

	switch (cmd) {
	case IOC_ENABLE:
		group ? perf_group_set(ef->event, 1) : perf_event_enable(ef->event);
		return 0;
	case IOC_DISABLE:
		group ? perf_group_set(ef->event, 0) : perf_event_disable(ef->event);
		return 0;
	case IOC_RESET:
		group ? perf_group_set(ef->event, -1) : perf_event_reset(ef->event);
		return 0;
	case IOC_ID:
		return put_user(ef->event->id, (uint64_t __user *)arg);
	}
	return -ENOTTY;
}

static void event_release(struct file *f)
{
	struct event_file *ef = f->priv;

	perf_event_close(ef->event);
	kfree(ef);
}

static const struct file_ops event_ops = {
	.read = event_read,
	.ioctl = event_ioctl,
	.release = event_release,
};

struct perf_event *perf_event_of_file(struct file *f)
{
	return f->ops == &event_ops ? ((struct event_file *)f->priv)->event : NULL;
}

static int read_attr(struct perf_attr *attr, const void __user *uattr)
{
	uint32_t size;

	if (get_user(size, (const uint32_t __user *)((uintptr_t)uattr +
						     offsetof(struct perf_attr, size))))
		return -EFAULT;
	if (!size)
		size = PERF_ATTR_SIZE_VER0;
	if (size < PERF_ATTR_SIZE_VER0 || size > PAGE_SIZE)
		return -E2BIG;
	if (copy_from_user(attr, uattr, sizeof(*attr)))
		return -EFAULT;
	/* What a later version added must be unused. */
	for (uint32_t at = sizeof(*attr); at < size; at++) {
		uint8_t b;

		if (get_user(b, (const uint8_t __user *)((uintptr_t)uattr + at)))
			return -EFAULT;
		if (b)
			return -E2BIG;
	}
	return 0;
}

/* The event of PMU "cpu" with that name. */
static int find_hardware(const char *name, struct pmu **pmu, uint64_t *config)
{
	const struct pmu_event *ev;

	*pmu = pmu_get_name("cpu");
	if (!*pmu)
		return -ENOENT;
	for (ev = (*pmu)->events; name && ev && ev->name; ev++) {
		if (!strcmp(ev->name, name)) {
			*config = ev->config;
			return 0;
		}
	}
	pmu_put(*pmu);
	return -ENOENT;
}

/* Return: 0 with *pmu held, or -ENOENT, -EINVAL. */
static int find_pmu(const struct perf_attr *attr, struct pmu **pmu, uint64_t *config)
{
	*config = attr->config;
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
		return find_hardware(attr->config < ARRAY_SIZE(hardware) ? hardware[attr->config]
									 : NULL, pmu, config);
	case PERF_TYPE_SOFTWARE:
		*pmu = attr->config < ARRAY_SIZE(software)
			       ? pmu_get_name(software[attr->config]) : NULL;
		return *pmu ? 0 : -ENOENT;
	case PERF_TYPE_RAW:
		*pmu = pmu_get_name("cpu");
		return *pmu ? 0 : -ENOENT;
	}
	*pmu = pmu_get(attr->type);
	if (*pmu && !(*pmu)->slots && attr->config) {
		pmu_put(*pmu);
		return -EINVAL;
	}
	return *pmu ? 0 : -ENOENT;
}

static int find_group(int fd, struct memcg **group)
{
	struct fdref r = fdget(fd);

	if (!r.file)
		return -EBADF;
	*group = cgroup_of_dir(r.file);
	fdput(r);
	return *group ? 0 : -EBADF;
}

static int find_thread(pid_t pid, struct thread **t)
{
	if (pid) {
		*t = thread_find_get(pid);
	} else {
		*t = current;
		thread_get(current);
	}
	if (!*t)
		return -ESRCH;
	/* Others' programs are root's to look at. */
	if ((*t)->process != current->process && current->process->euid) {
		thread_put(*t);
		return -EACCES;
	}
	return 0;
}

static long open_event(const struct perf_attr *attr, pid_t pid, int cpu, unsigned flags,
		       struct perf_event *leader)
{
	bool for_group = flags & PERF_FLAG_PID_CGROUP, task = !for_group && pid != -1;
	struct memcg *group = NULL;
	struct thread *t = NULL;
	struct perf_event *e;
	struct event_file *ef;
	struct pmu *pmu;
	struct file *f;
	uint64_t config;
	int err;

	if (!task && current->process->euid)
		return -EACCES;
	err = find_pmu(attr, &pmu, &config);
	if (err)
		return err;
	if (for_group)
		err = find_group(pid, &group);
	else if (task)
		err = find_thread(pid, &t);
	if (err) {
		pmu_put(pmu);
		return err;
	}
	e = perf_event_create(pmu, group, cpu, task);
	if (group)
		memcg_put(group); /* the event has its own reference */
	if (IS_ERR(e)) {
		err = (int)PTR_ERR(e);
		goto out;
	}
	e->inherit = task && (attr->flags & ATTR_INHERIT);
	atomic_store_explicit(&e->on_exec, task && (attr->flags & ATTR_ENABLE_ON_EXEC),
			      memory_order_relaxed);
	err = perf_event_config(e, config);
	if (!err && leader)
		err = perf_event_join(e, leader);
	if (!err && task)
		err = perf_event_attach(e, t);
	ef = err ? NULL : kzalloc(sizeof(*ef), GFP_KERNEL | GFP_ACCOUNT);
	if (!ef) {
		perf_event_close(e);
		err = err ? err : -ENOMEM;
		goto out;
	}
	ef->event = e;
	ef->format = attr->read_format;
	f = file_alloc(&event_ops, O_RDWR, ef);
	if (!f) {
		perf_event_close(e);
		kfree(ef);
		err = -ENOMEM;
		goto out;
	}
	if (!(attr->flags & ATTR_DISABLED))
		perf_event_enable(e);
	err = fd_file(f, flags & PERF_FLAG_FD_CLOEXEC ? O_CLOEXEC : 0);
out:
	if (t)
		thread_put(t);
	return err;
}

/**
 * perf_event_open - a descriptor that counts
 *
 * Return: the descriptor; -ENOENT for a type or event that is not there, -EINVAL for
 * a leader that is itself led, -EOPNOTSUPP for sampling and for counting user mode or the kernel
 * alone, else as in the manual page.
 */
SYSCALL(perf_event_open, const void __user *uattr, pid_t pid, int cpu, int group_fd,
	unsigned long flags)
{
	struct perf_attr attr;
	struct perf_event *leader = NULL;
	struct fdref r = { 0 };
	long ret;
	int err;

	if (flags & ~(unsigned long)(PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT |
				     PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC))
		return -EINVAL;
	err = read_attr(&attr, uattr);
	if (err)
		return err;
	if (attr.read_format & ~(uint64_t)FORMAT_KNOWN || pid < -1 || cpu < -1)
		return -EINVAL;
	if ((flags & PERF_FLAG_FD_OUTPUT) || attr.sample_period ||
	    (attr.flags & (ATTR_EXCLUDE_USER | ATTR_EXCLUDE_KERNEL)))
		return -EOPNOTSUPP;
	if ((pid == -1 || (flags & PERF_FLAG_PID_CGROUP)) && cpu == -1)
		return -EINVAL;
	if (group_fd != -1) {
		r = fdget(group_fd);
		leader = r.file ? perf_event_of_file(r.file) : NULL;
	}
	if (group_fd != -1 && !leader)
		ret = -EBADF;
	else
		ret = open_event(&attr, pid, cpu, (unsigned)flags,
				 flags & PERF_FLAG_FD_NO_GROUP ? NULL : leader);
	if (r.file)
		fdput(r);
	return ret;
}
