/* SPDX-License-Identifier: MIT */
/*
 * An open file of a group: its text, what is written to it, polling.
 *
 * What depends on who opened it, and on what this descriptor has done, is kept in its
 * struct cg_opened.
 */
#include "fs/cgroup.h"
#include "mm/psi.h"

static int file_show(struct seq *s, void *arg)
{
	struct cg_opened *o = arg;
	struct cg_node *n = o->node;

	if (cg_node_stale(n))
		return -ENODEV;
	return n->file->show_as ? n->file->show_as(s, o) : n->file->show(s, n->group);
}

/* White space as Linux sees it: Latin 1's hard space, too. */
static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || c == '\xa0';
}

static ssize_t file_write(const char *text, size_t len, void *arg)
{
	struct cg_opened *o = arg;
	struct cg_node *n = o->node;
	char *from = (char *)text, *end = from + strlen(from); /* the buffer is the writer's own */
	int err;

	if (!len)
		return 0;
	if (cg_node_stale(n))
		return -ENODEV;
	if (cg_option(CG_OPT_NSDELEGATE) && !(n->file->flags & CG_DELEGATED) && o->ns->parent &&
	    o->ns == n->group)
		return -EPERM;
	if (!(n->file->flags & CG_RAW)) {
		while (from < end && is_blank(*from))
			from++;
		while (end > from && is_blank(end[-1]))
			*--end = '\0';
	}
	err = n->file->write_as ? n->file->write_as(o, from) : n->file->write(n->group, from);
	return err ? err : (ssize_t)len;
}

/* Of a file whose changes can be watched: how many there have been. */
static uint32_t event_seq(const struct cg_node *n)
{
	return atomic_load_explicit(&n->group->event_seq[cg_notify_of(n->file->flags)],
				    memory_order_acquire);
}

static struct cg_opened *opened(struct file *f)
{
	return text_arg(f);
}

static void opened_free(struct cg_opened *o)
{
	if (o)
		memcg_put(o->ns);
	kfree(o);
}

static int cg_open(struct inode *i, struct file *f)
{
	struct cg_node *n = cg_node_of(i);
	struct cg_opened *o = kzalloc(sizeof(*o), GFP_KERNEL | GFP_ACCOUNT);
	int err = -ENOMEM;

	if (o) {
		o->node = n;
		o->file = f;
		o->euid = current->process ? current->process->euid : 0;
		o->ns = cgroup_ns_root(current->process);
		o->seq = event_seq(n);
		err = text_open(f, n->file->show || n->file->show_as ? file_show : NULL,
				n->file->write || n->file->write_as ? file_write : NULL, o);
	}
	if (err)
		opened_free(o);
	return err;
}

static void cg_release(struct file *f)
{
	struct cg_opened *o = opened(f);

	text_release(f);
	if (o->trigger)
		psi_trigger_destroy(o->trigger);
	cg_peak_release(o);
	opened_free(o);
}

static ssize_t cg_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct cg_opened *o = opened(f);

	/* Before the text: a change after it is still to be reported. */
	o->seq = event_seq(o->node);
	return text_read(f, to, pos);
}

static unsigned cg_poll(struct file *f, struct poll_table *pt)
{
	struct cg_opened *o = opened(f);
	struct cg_node *n = o->node;
	struct psi_trigger *t = atomic_load_explicit(&o->trigger, memory_order_acquire);
	unsigned ready = EPOLLIN | EPOLLOUT | EPOLLRDNORM | EPOLLWRNORM;

	if (t) {
		poll_wait(f, psi_trigger_queue(t), pt);
		return psi_trigger_fired(t) ? ready | EPOLLPRI : ready;
	}
	if (n->file->flags & CG_PRESSURE)
		return ready | EPOLLERR | EPOLLPRI;
	if (!(n->file->flags & CG_NOTIFY))
		return ready;
	poll_wait(f, cg_notify_queue(n->group), pt);
	if (event_seq(n) != o->seq)
		ready |= EPOLLPRI | EPOLLERR;
	return ready;
}

const struct file_ops cg_file_fops = {
	.open = cg_open,
	.read = cg_read,
	.write = text_write,
	.poll = cg_poll,
	.lseek = text_lseek,
	.release = cg_release,
};
