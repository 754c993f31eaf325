/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open(2), the part that counts.
 *
 * Types: PERF_TYPE_SOFTWARE with Linux's numbers, and each PMU's own type (as
 * in /proc/tally/pmus and /sys/bus/event_source/devices/NAME/type on Linux).
 * Not there: sampling and the mmap'ed ring (the profiler is /dev/perf),
 * leaders' group reads, hardware events.
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

#define PERF_TYPE_SOFTWARE 1

#define FORMAT_TOTAL_TIME_ENABLED (1u << 0)
#define FORMAT_TOTAL_TIME_RUNNING (1u << 1)
#define FORMAT_ID                 (1u << 2)
#define FORMAT_KNOWN              7u

#define IOC_ENABLE  0x2400
#define IOC_DISABLE 0x2401
#define IOC_RESET   0x2403
#define IOC_ID      0x80082407

/* PERF_COUNT_SW_*; what cannot happen here counts nothing. */
static const char *const software[] = {
	"cpu-clock", "task-clock", "page_faults", "context-switches", "cpu-migrations",
	"page_faults", "dummy", "dummy", "dummy", "dummy",
};

struct event_file {
	struct perf_event *event;
	uint64_t format;
};

static ssize_t event_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct event_file *ef = f->priv;
	uint64_t v[4];
	size_t n = 0;

	(void)pos;
	v[n++] = perf_event_read(ef->event);
	/* Software events need no hardware: they run all the time they are enabled. */
	if (ef->format & FORMAT_TOTAL_TIME_ENABLED)
		v[n++] = perf_event_time(ef->event);
	if (ef->format & FORMAT_TOTAL_TIME_RUNNING)
		v[n++] = perf_event_time(ef->event);
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

	switch (cmd) {
	case IOC_ENABLE:
		perf_event_enable(ef->event);
		return 0;
	case IOC_DISABLE:
		perf_event_disable(ef->event);
		return 0;
	case IOC_RESET:
		perf_event_reset(ef->event);
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

	if (get_user(size, (const uint32_t __user *)((uintptr_t)uattr + offsetof(struct perf_attr, size))))
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

static int find_pmu(const struct perf_attr *attr, struct pmu **pmu)
{
	if (attr->type == PERF_TYPE_SOFTWARE) {
		if (attr->config >= ARRAY_SIZE(software))
			return -ENOENT;
		*pmu = pmu_get_name(software[attr->config]);
	} else {
		if (attr->type >= PMU_TYPE_FIRST && attr->config)
			return -EINVAL;
		*pmu = pmu_get(attr->type);
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

static long open_event(const struct perf_attr *attr, pid_t pid, int cpu, unsigned flags)
{
	bool for_group = flags & PERF_FLAG_PID_CGROUP, task = !for_group && pid != -1;
	struct memcg *group = NULL;
	struct thread *t = NULL;
	struct perf_event *e;
	struct event_file *ef;
	struct pmu *pmu;
	struct file *f;
	int err;

	if (!task && current->process->euid)
		return -EACCES;
	err = find_pmu(attr, &pmu);
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
	err = task ? perf_event_attach(e, t) : 0;
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
 * Return: the descriptor; -ENOENT for a type or event that is not there,
 * -EOPNOTSUPP for sampling and for counting user mode or the kernel alone,
 * else as in the manual page.
 */
SYSCALL(perf_event_open, const void __user *uattr, pid_t pid, int cpu, int group_fd,
	unsigned long flags)
{
	struct perf_attr attr;
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
	if (group_fd != -1) {
		struct fdref r = fdget(group_fd);
		bool ok = r.file && perf_event_of_file(r.file);

		if (r.file)
			fdput(r);
		if (!ok)
			return -EBADF;
	}
	if ((pid == -1 || (flags & PERF_FLAG_PID_CGROUP)) && cpu == -1)
		return -EINVAL;
	return open_event(&attr, pid, cpu, (unsigned)flags);
}
