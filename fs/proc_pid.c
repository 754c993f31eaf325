/* SPDX-License-Identifier: MIT */
/*
 * procfs: the folders of processes and threads, and the links in them.
 *
 * A node holds a reference to its process; once the process is reaped the
 * node's dentry is stale and look-ups make a new one (or none).
 */
#include "fs/proc.h"
#include "fs/sys.h"

static const struct {
	const char *name;
	unsigned mode;
	enum proc_kind kind;
	enum proc_link link;
} special[] = {
	{ "fd", S_IFDIR | 0500, PROC_FD_DIR, 0 },
	{ "fdinfo", S_IFDIR | 0555, PROC_FDINFO_DIR, 0 },
	{ "task", S_IFDIR | 0555, PROC_TASK_DIR, 0 }, /* not below task/ itself */
	{ "cwd", S_IFLNK | 0777, PROC_PID_LINK, LINK_CWD },
	{ "exe", S_IFLNK | 0777, PROC_PID_LINK, LINK_EXE },
	{ "root", S_IFLNK | 0777, PROC_PID_LINK, LINK_ROOT },
};

static const struct inode_ops pid_link_ops;

static bool parse_number(const struct dname *n, int *out)
{
	unsigned v = 0;

	if (!n->len || n->len > 9 || (n->s[0] == '0' && n->len > 1))
		return false;
	for (unsigned k = 0; k < n->len; k++) {
		if (n->s[k] < '0' || n->s[k] > '9')
			return false;
		v = v * 10 + (unsigned)(n->s[k] - '0');
	}
	*out = (int)v;
	return true;
}

static bool name_is(const struct dname *n, const char *s)
{
	return !strcmp(n->s, s);
}

static int attach(struct inode *dir, struct dentry *d, unsigned mode, enum proc_kind kind,
		  struct process *p, pid_t tid, int fd)
{
	struct inode *i = proc_inode(dir->super, mode, kind, p);
	struct proc_node *n;

	if (!i)
		return -ENOMEM;
	n = proc_node_of(i);
	n->tid = tid;
	n->fd = fd;
	if (S_ISLNK(mode))
		i->ops = &pid_link_ops;
	dentry_attach(d, i);
	return 0;
}

/* /proc: numbers, self, thread-self. */

int root_lookup_pid(struct inode *dir, struct dentry *d)
{
	const struct dname *name = dentry_name(d);
	struct process *p;
	int pid, err;

	if (name_is(name, "self") || name_is(name, "thread-self"))
		return attach(dir, d, S_IFLNK | 0777, PROC_SELF, NULL, name->s[0] == 't', 0);
	if (!parse_number(name, &pid))
		return -ENOENT;
	p = process_find_get(pid);
	if (!p)
		return -ENOENT;
	err = attach(dir, d, S_IFDIR | 0555, PROC_PID, p, 0, 0);
	process_put(p);
	return err;
}

#define BATCH 64

/* The smallest ids >= from, in order. */
struct id_batch {
	pid_t from, id[BATCH];
	unsigned n;
};

static void batch_add(struct id_batch *b, pid_t id)
{
	unsigned k = b->n;

	if (id < b->from || (k == BATCH && id > b->id[k - 1]))
		return;
	if (k == BATCH)
		k--;
	for (; k > 0 && b->id[k - 1] > id; k--)
		b->id[k] = b->id[k - 1];
	b->id[k] = id;
	if (b->n < BATCH)
		b->n++;
}

static bool add_process(struct process *p, void *arg)
{
	batch_add(arg, p->pid);
	return false;
}

static bool add_thread(struct thread *t, void *arg)
{
	batch_add(arg, t->tid);
	return false;
}

/* Lists ids from @pos - @base on; @p: its threads, NULL: all processes. */
static int list_ids(struct process *p, filldir_t fill, void *ctx, loff_t *pos, loff_t base)
{
	struct id_batch *b = kmalloc(sizeof(*b), GFP_KERNEL);
	char name[16];
	int err = 0;

	if (!b)
		return -ENOMEM;
	b->from = *pos < base ? 1 : (pid_t)(*pos - base);
	do {
		b->n = 0;
		if (p) {
			process_for_each_thread(p, add_thread, b);
		} else {
			rcu_read_lock();
			process_for_each(add_process, b);
			rcu_read_unlock();
		}
		for (unsigned k = 0; k < b->n; k++) {
			int len = snprintf(name, sizeof(name), "%d", b->id[k]);

			if (fill(ctx, name, (size_t)len, 0x10000u + (unsigned)b->id[k], DT_DIR,
				 base + b->id[k] + 1)) {
				kfree(b);
				return 0;
			}
			*pos = base + b->id[k] + 1;
			b->from = b->id[k] + 1;
		}
	} while (b->n == BATCH);
	kfree(b);
	return err;
}

int root_readdir_pids(struct file *f, filldir_t fill, void *ctx, loff_t *pos, loff_t base)
{
	static const char *const self[] = { "self", "thread-self" };

	for (int k = 0; k < 2; k++) {
		if (*pos > base - 2 + k)
			continue;
		if (fill(ctx, self[k], strlen(self[k]), 0x8000u + (unsigned)k, DT_LNK,
			 base - 1 + k))
			return 0;
		*pos = base - 1 + k;
	}
	return list_ids(NULL, fill, ctx, pos, base);
}

/* Below /proc/PID. */

static int lookup_in_pid(struct inode *dir, struct dentry *d, struct proc_node *n)
{
	const struct dname *name = dentry_name(d);

	for (size_t k = 0; k < ARRAY_SIZE(special); k++) {
		if (!name_is(name, special[k].name))
			continue;
		if (special[k].kind == PROC_TASK_DIR && n->tid)
			break;
		return attach(dir, d, special[k].mode, special[k].kind, n->process, n->tid,
			      (int)special[k].link);
	}
	for (unsigned k = 0; k < nr_proc_pid_files; k++) {
		int err;

		if (!name_is(name, proc_pid_files[k].name))
			continue;
		err = attach(dir, d, S_IFREG | proc_pid_files[k].mode, PROC_PID_FILE, n->process,
			     n->tid, 0);
		if (!err)
			proc_node_of(d->inode)->file = &proc_pid_files[k];
		return err;
	}
	return -ENOENT;
}

static int lookup_fd(struct inode *dir, struct dentry *d, struct proc_node *n)
{
	struct files *t;
	struct file *f;
	unsigned mode = S_IFREG | 0444;
	int fd;

	if (!parse_number(dentry_name(d), &fd))
		return -ENOENT;
	t = process_files_get(n->process);
	f = t ? files_get_file(t, fd) : NULL;
	files_put(t);
	if (!f)
		return -ENOENT;
	if (n->kind == PROC_FD_DIR)
		mode = S_IFLNK | ((f->mode & FMODE_READ) ? 0500 : 0) |
		       ((f->mode & FMODE_WRITE) ? 0300 : 0);
	fput(f);
	return attach(dir, d, mode, n->kind == PROC_FD_DIR ? PROC_FD : PROC_FDINFO, n->process, 0,
		      fd);
}

static bool has_tid(struct thread *t, void *arg)
{
	pid_t *tid = arg;

	if (t->tid != *tid)
		return false;
	*tid = 0;
	return true;
}

int pid_lookup(struct inode *dir, struct dentry *d)
{
	struct proc_node *n = proc_node_of(dir);
	int tid;
	pid_t want;

	if (atomic_load_explicit(&n->process->state, memory_order_relaxed) == PROCESS_DEAD)
		return -ENOENT;
	switch (n->kind) {
	case PROC_PID:
		return lookup_in_pid(dir, d, n);
	case PROC_FD_DIR:
	case PROC_FDINFO_DIR:
		return lookup_fd(dir, d, n);
	case PROC_TASK_DIR:
		if (!parse_number(dentry_name(d), &tid))
			return -ENOENT;
		want = tid;
		process_for_each_thread(n->process, has_tid, &want);
		if (want)
			return -ENOENT;
		return attach(dir, d, S_IFDIR | 0555, PROC_PID, n->process, tid, 0);
	default:
		return -ENOENT;
	}
}

static int readdir_pid(struct proc_node *n, filldir_t fill, void *ctx, loff_t *pos)
{
	for (size_t k = 0; k < ARRAY_SIZE(special) + nr_proc_pid_files; k++) {
		bool sp = k < ARRAY_SIZE(special);
		const struct proc_pid_file *f = &proc_pid_files[sp ? 0 : k - ARRAY_SIZE(special)];
		const char *name = sp ? special[k].name : f->name;

		if ((loff_t)k + 2 < *pos || (sp && special[k].kind == PROC_TASK_DIR && n->tid))
			continue;
		if (fill(ctx, name, strlen(name), 0x100000u + ((unsigned)n->process->pid << 8) + k,
			 sp ? mode_dtype(special[k].mode) : DT_REG, (loff_t)k + 3))
			return 0;
		*pos = (loff_t)k + 3;
	}
	return 0;
}

static int readdir_fd(struct proc_node *n, filldir_t fill, void *ctx, loff_t *pos)
{
	struct files *t = process_files_get(n->process);
	char name[16];

	if (!t)
		return 0;
	for (int fd = (int)*pos - 2; (fd = files_next_fd(t, fd)) >= 0; fd++) {
		int len = snprintf(name, sizeof(name), "%d", fd);

		if (fill(ctx, name, (size_t)len, 0x200000u + (unsigned)fd,
			 n->kind == PROC_FD_DIR ? DT_LNK : DT_REG, fd + 3))
			break;
		*pos = fd + 3;
	}
	files_put(t);
	return 0;
}

int pid_readdir(struct file *f, filldir_t fill, void *ctx, loff_t *pos)
{
	struct proc_node *n = proc_node_of(f->inode);

	if (!dir_emit_dots(f, fill, ctx, pos))
		return 0;
	switch (n->kind) {
	case PROC_PID:
		return readdir_pid(n, fill, ctx, pos);
	case PROC_FD_DIR:
	case PROC_FDINFO_DIR:
		return readdir_fd(n, fill, ctx, pos);
	case PROC_TASK_DIR:
		return list_ids(n->process, fill, ctx, pos, 2);
	default:
		return 0;
	}
}

/* Links. */

static struct file *fd_file_of(struct proc_node *n)
{
	struct files *t = process_files_get(n->process);
	struct file *f = t ? files_get_file(t, n->fd) : NULL;

	files_put(t);
	return f;
}

static struct dentry *link_target(struct proc_node *n)
{
	struct fs_context *c;
	struct dentry *d = NULL;
	struct file *f;

	if (n->kind == PROC_FD || n->fd == LINK_EXE) {
		f = n->kind == PROC_FD ? fd_file_of(n) : process_exe_get(n->process);
		if (!f)
			return ERR_PTR(-ENOENT);
		d = f->dentry;
		if (d)
			dentry_get(d);
		fput(f);
		return d ? d : ERR_PTR(-ENXIO);
	}
	c = process_fs_get(n->process);
	if (c) {
		d = fs_context_get_path(c, n->fd == LINK_ROOT);
		fs_context_put(c);
	}
	return d ? d : ERR_PTR(-ENOENT);
}

/* The entry of @dir that is called @name and, if not negative, @id after it; ERR_PTR. */
static struct dentry *number_below(struct dentry *dir, const char *name, int id)
{
	char full[24];
	struct dentry *d;
	int len = id < 0 ? snprintf(full, sizeof(full), "%s", name)
			 : snprintf(full, sizeof(full), "%s%d", name, id);

	mutex_lock(&dir->inode->lock);
	d = lookup_locked(dir, full, (size_t)len);
	mutex_unlock(&dir->inode->lock);
	return d ? d : ERR_PTR(-ENOENT);
}

/* self: text; the others jump. */
static struct dentry *pid_follow(struct inode *i)
{
	struct proc_node *n = proc_node_of(i);
	struct process *p = current->process;
	struct dentry *d, *task;

	if (n->kind != PROC_SELF)
		return link_target(n);
	if (!p)
		return ERR_PTR(-ENOENT);
	/* Relative to this instance's root, wherever it is mounted. */
	d = number_below(i->super->root, "", p->pid);
	if (!n->tid || IS_ERR(d))
		return d;
	task = number_below(d, "task", -1);
	dentry_put(d);
	if (IS_ERR(task))
		return task;
	d = number_below(task, "", current->tid);
	dentry_put(task);
	return d;
}

static const char *anon_name(struct file *f, char *buf, size_t n)
{
	struct kstat st;

	if (vfs_stat_file(f, &st))
		return ERR_PTR(-ENOENT);
	if (S_ISSOCK(f->anon_mode))
		snprintf(buf, n, "socket:[%llu]", (unsigned long long)st.ino);
	else
		str_copy(buf, "anon_inode:[file]", n);
	return buf;
}

static const char *pid_readlink(struct inode *i, char *buf, size_t n)
{
	struct proc_node *node = proc_node_of(i);
	struct process *p = current->process;
	struct dentry *d;
	const char *s;

	if (node->kind == PROC_SELF) {
		if (!p)
			return ERR_PTR(-ENOENT);
		if (node->tid)
			snprintf(buf, n, "%d/task/%d", p->pid, current->tid);
		else
			snprintf(buf, n, "%d", p->pid);
		return buf;
	}
	d = link_target(node);
	if (PTR_ERR(d) == -ENXIO) {
		struct file *f = fd_file_of(node);

		if (!f)
			return ERR_PTR(-ENOENT);
		s = anon_name(f, buf, n);
		fput(f);
		return s;
	}
	if (IS_ERR(d))
		return ERR_PTR(PTR_ERR(d));
	s = dentry_path(d, buf, n);
	dentry_put(d);
	return s;
}

static bool link_stale(struct inode *i)
{
	struct process *p = proc_node_of(i)->process;

	return p && atomic_load_explicit(&p->state, memory_order_relaxed) == PROCESS_DEAD;
}

static void link_evict(struct inode *i)
{
	proc_file_iops.evict(i);
}

static const struct inode_ops pid_link_ops = {
	.readlink = pid_readlink,
	.follow = pid_follow,
	.stale = link_stale,
	.evict = link_evict,
};

/* Files. */

static int pid_file_open(struct inode *i, struct file *f)
{
	struct proc_node *n = proc_node_of(i);

	if (n->kind == PROC_FDINFO)
		return text_open(f, fdinfo_show, NULL, n);
	return text_open(f, n->file->show, n->file->write, n);
}

const struct file_ops proc_pid_fops = {
	.open = pid_file_open,
	.read = text_read,
	.write = text_write,
	.lseek = text_lseek,
	.release = text_release,
};
