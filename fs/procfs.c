/* SPDX-License-Identifier: MIT */
/*
 * procfs: the tree.
 *
 * Files of the system are entries that each part of the kernel registers;
 * folders of processes are made when looked up (fs/proc_pid.c).  Dentries and
 * inodes live only while used.
 *
 * Locks: entries only grow, under register_lock; readers take none.
 */
#include "fs/proc.h"

static struct proc_entry root_entry = { .mode = S_IFDIR | 0555 };
static struct mutex register_lock = MUTEX_INIT(register_lock, "proc.register");

struct proc_node *proc_node_of(const struct inode *i)
{
	return i->priv;
}

static struct proc_entry *find(struct proc_entry *dir, const char *name, size_t len)
{
	struct proc_entry *e = rcu_dereference(dir->children);

	for (; e; e = rcu_dereference(e->next)) {
		if (!strncmp(e->name, name, len) && !e->name[len])
			return e;
	}
	return NULL;
}

static struct proc_entry *entry_alloc(struct proc_entry *dir, const char *name, size_t len,
				      unsigned mode)
{
	struct proc_entry *e = kzalloc(sizeof(*e) + len + 1, GFP_KERNEL);

	if (!e)
		return NULL;
	memcpy(e->name, name, len);
	e->mode = mode;
	e->parent = dir;
	return e;
}

/* Last: another CPU may look @e up at once.  register_lock held. */
static void entry_link(struct proc_entry *e)
{
	_Atomic(struct proc_entry *) *p = &e->parent->children;

	while (atomic_load_explicit(p, memory_order_relaxed))
		p = &atomic_load_explicit(p, memory_order_relaxed)->next;
	rcu_assign_pointer(*p, e);
}

static int register_entry(const char *path, unsigned mode, text_show_t show, text_write_t write,
			  void *arg, const struct file_ops *fops)
{
	struct proc_entry *dir = &root_entry, *e;
	int err = 0;

	mutex_lock(&register_lock);
	for (;;) {
		size_t n = 0;

		while (*path == '/')
			path++;
		while (path[n] && path[n] != '/')
			n++;
		e = find(dir, path, n);
		if (!path[n])
			break;
		if (!e) {
			e = entry_alloc(dir, path, n, S_IFDIR | 0555);
			if (e)
				entry_link(e);
		}
		if (!e || !S_ISDIR(e->mode)) {
			err = e ? -ENOTDIR : -ENOMEM;
			goto out;
		}
		dir = e;
		path += n;
	}
	if (e) {
		err = -EEXIST;
		goto out;
	}
	e = entry_alloc(dir, path, strlen(path), mode);
	if (!e) {
		err = -ENOMEM;
		goto out;
	}
	e->show = show;
	e->write = write;
	e->arg = arg;
	e->fops = fops;
	entry_link(e);
out:
	mutex_unlock(&register_lock);
	return err;
}

int proc_register(const char *path, unsigned mode, text_show_t show, text_write_t write, void *arg)
{
	return register_entry(path, S_IFREG | (mode & 07777), show, write, arg, NULL);
}

int proc_register_ops(const char *path, unsigned mode, const struct file_ops *fops)
{
	return register_entry(path, S_IFREG | (mode & 07777), NULL, NULL, NULL, fops);
}

int proc_symlink(const char *path, const char *target)
{
	return register_entry(path, S_IFLNK | 0777, NULL, NULL, (void *)target, NULL);
}

/* Inodes. */

struct inode *proc_inode(struct super *s, unsigned mode, enum proc_kind kind, struct process *p)
{
	struct proc_node *n = kzalloc(sizeof(*n), GFP_KERNEL | GFP_ACCOUNT);
	struct inode *i = n ? inode_alloc(s, mode) : NULL;

	if (!i) {
		kfree(n);
		return NULL;
	}
	n->kind = kind;
	n->process = p;
	if (p) {
		process_get(p);
		i->uid = p->euid;
		i->gid = p->egid;
	} else {
		i->uid = i->gid = 0;
	}
	i->priv = n;
	if (S_ISDIR(mode)) {
		inode_init_ops(i, &proc_dir_ops, &proc_dir_fops);
		atomic_store_explicit(&i->nlink, 2, memory_order_relaxed);
	} else if (S_ISLNK(mode)) {
		inode_init_ops(i, &proc_link_ops, NULL);
	} else {
		inode_init_ops(i, &proc_file_iops, &proc_pid_fops);
	}
	return i;
}

static void proc_evict(struct inode *i)
{
	struct proc_node *n = i->priv;

	if (n->process)
		process_put(n->process);
	/* A path walk under RCU may be asking this moment whether it is stale. */
	kfree_rcu_obj(&n->rcu, n);
}

static int entry_open(struct inode *i, struct file *f)
{
	const struct proc_entry *e = proc_node_of(i)->entry;

	return text_open(f, e->show, e->write, e->arg);
}

static const struct file_ops entry_fops = {
	.open = entry_open,
	.read = text_read,
	.write = text_write,
	.lseek = text_lseek,
	.release = text_release,
};

static int attach_entry(struct inode *dir, struct dentry *d, const struct proc_entry *e)
{
	struct inode *i = proc_inode(dir->super, e->mode, PROC_ENTRY, NULL);

	if (!i)
		return -ENOMEM;
	proc_node_of(i)->entry = e;
	if (S_ISREG(e->mode))
		i->fops = e->fops ? e->fops : &entry_fops;
	dentry_attach(d, i);
	return 0;
}

/*
 * A parameter as the command line writes it: sys/tally/memcg.walk is sys/tally/memcg/walk.
 * Listings have the folders only.
 */
static struct proc_entry *find_dotted(struct proc_entry *dir, const char *name, size_t len)
{
	const char *end = name + len;

	if (strcmp(dir->name, "tally") || !dir->parent || strcmp(dir->parent->name, "sys"))
		return NULL;
	while (dir && name < end) {
		size_t n = 0;

		while (name + n < end && name[n] != '.')
			n++;
		dir = n ? find(dir, name, n) : NULL;
		name += n + 1;
	}
	return dir && S_ISREG(dir->mode) ? dir : NULL;
}

static int proc_lookup(struct inode *dir, struct dentry *d)
{
	struct proc_node *n = proc_node_of(dir);
	const struct dname *name = dentry_name(d);
	struct proc_entry *e;

	if (n->kind != PROC_ENTRY)
		return pid_lookup(dir, d);
	e = find((struct proc_entry *)n->entry, name->s, name->len);
	if (!e)
		e = find_dotted((struct proc_entry *)n->entry, name->s, name->len);
	if (e)
		return attach_entry(dir, d, e);
	return n->entry == &root_entry ? root_lookup_pid(dir, d) : -ENOENT;
}

/* Root: entries, self, thread-self, then processes at ROOT_PIDS + pid. */
#define ROOT_PIDS 0x10000

static int proc_readdir(struct file *f, filldir_t fill, void *ctx, loff_t *pos)
{
	struct proc_node *n = proc_node_of(f->inode);
	struct proc_entry *e;
	loff_t at = 2;

	if (n->kind != PROC_ENTRY)
		return pid_readdir(f, fill, ctx, pos);
	if (!dir_emit_dots(f, fill, ctx, pos))
		return 0;
	e = rcu_dereference(n->entry->children);
	for (; e; e = rcu_dereference(e->next), at++) {
		if (at < *pos)
			continue;
		if (fill(ctx, e->name, strlen(e->name), (uintptr_t)e >> 4 & 0x7fffffff,
			 mode_dtype(e->mode), at + 1))
			return 0;
		*pos = at + 1;
	}
	if (n->entry != &root_entry)
		return 0;
	return root_readdir_pids(f, fill, ctx, pos, ROOT_PIDS);
}

static loff_t proc_dir_lseek(struct file *f, loff_t off, int whence)
{
	return text_lseek(f, off, whence);
}

static bool proc_stale(struct inode *i)
{
	struct process *p = proc_node_of(i)->process;

	return p && atomic_load_explicit(&p->state, memory_order_relaxed) == PROCESS_DEAD;
}

static const char *entry_readlink(struct inode *i, char *buf, size_t n)
{
	return proc_node_of(i)->entry->arg;
}

/* Nothing can be made here; Linux's procfs says so in these words. */
static int proc_create(struct inode *dir, struct dentry *d, unsigned mode, uint64_t rdev)
{
	return -ENOENT;
}

static int proc_mkdir(struct inode *dir, struct dentry *d, unsigned mode)
{
	return -ENOENT;
}

const struct inode_ops proc_dir_ops = {
	.lookup = proc_lookup,
	.create = proc_create,
	.mkdir = proc_mkdir,
	.stale = proc_stale,
	.evict = proc_evict,
};
const struct inode_ops proc_file_iops = { .stale = proc_stale, .evict = proc_evict };
const struct inode_ops proc_link_ops = { .readlink = entry_readlink, .evict = proc_evict };
const struct file_ops proc_dir_fops = { .readdir = proc_readdir, .lseek = proc_dir_lseek };

static int proc_statfs(struct super *s, uint64_t out[6])
{
	out[5] = 0x9fa0; /* PROC_SUPER_MAGIC */
	return 0;
}

static int proc_mount(struct fs_type *t, const char *source, const char *data, struct super **out)
{
	struct super *s = super_alloc(t, source, data);
	struct inode *i = s ? proc_inode(s, S_IFDIR | 0555, PROC_ENTRY, NULL) : NULL;
	int err = -ENOMEM;

	if (i) {
		proc_node_of(i)->entry = &root_entry;
		s->statfs = proc_statfs;
		err = super_set_root(s, i);
	}
	if (err) {
		if (s)
			super_put(s);
		return err;
	}
	*out = s;
	return 0;
}

static struct fs_type proc_type = { .name = "proc", .mount = proc_mount };

void proc_init(void)
{
	fs_register(&proc_type);
	proc_info_init();
	proc_sys_init();
	if (proc_kpage_init) /* none on the host */
		proc_kpage_init();
}
