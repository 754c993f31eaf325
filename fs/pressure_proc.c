/* SPDX-License-Identifier: MIT */
/*
 * /proc/pressure/memory: what the whole machine loses to a lack of memory.  Lines,
 * triggers and poll as in a group's memory.pressure (fs/cgroup_pressure_files.c).
 */
#include "fs/cgroup.h"
#include "fs/proc.h"
#include "mm/psi.h"

static int show(struct seq *s, void *trigger)
{
	return cg_pressure_show(s, memcg_root);
}

static ssize_t write(const char *text, size_t n, void *arg)
{
	_Atomic(struct psi_trigger *) *slot = arg;
	struct psi_trigger *t, *none = NULL;

	if (atomic_load_explicit(slot, memory_order_relaxed))
		return -EBUSY;
	t = cg_pressure_trigger(memcg_root, text);
	if (IS_ERR(t))
		return PTR_ERR(t);
	if (!atomic_compare_exchange_strong_explicit(slot, &none, t, memory_order_acq_rel,
						     memory_order_relaxed)) {
		psi_trigger_destroy(t);
		return -EBUSY;
	}
	return (ssize_t)n;
}

static int pressure_open(struct inode *i, struct file *f)
{
	void *slot = kzalloc(sizeof(_Atomic(struct psi_trigger *)), GFP_KERNEL | GFP_ACCOUNT);
	int err = slot ? text_open(f, show, write, slot) : -ENOMEM;

	if (err)
		kfree(slot);
	return err;
}

static struct psi_trigger *trigger_of(struct file *f)
{
	_Atomic(struct psi_trigger *) *slot = text_arg(f);

	return atomic_load_explicit(slot, memory_order_acquire);
}

static void pressure_release(struct file *f)
{
	struct psi_trigger *t = trigger_of(f);
	void *slot = text_arg(f);

	text_release(f);
	if (t)
		psi_trigger_destroy(t);
	kfree(slot);
}

static unsigned pressure_poll(struct file *f, struct poll_table *pt)
{
	unsigned ready = EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM;
	struct psi_trigger *t = trigger_of(f);

	if (!t)
		return ready | EPOLLERR | EPOLLPRI;
	poll_wait(f, psi_trigger_queue(t), pt);
	return psi_trigger_fired(t) ? ready | EPOLLPRI : ready;
}

void pressure_proc_init(void)
{
	static const struct file_ops fops = {
		.open = pressure_open,
		.read = text_read,
		.write = text_write,
		.lseek = text_lseek,
		.poll = pressure_poll,
		.release = pressure_release,
	};

	if (proc_register_ops("pressure/memory", 0644, &fops))
		pr_err("pressure: no memory for /proc/pressure/memory");
}
