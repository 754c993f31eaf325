/* SPDX-License-Identifier: MIT */
/*
 * Devices by number (block devices: the node only, see fs/block.h), and devtmpfs, the file system that shows a node
 * for each of them.
 *
 * Every instance of devtmpfs is a ramfs that starts with all registered
 * devices; a device registered later appears in /dev.
 *
 * Locks: the table only grows; entries are published with release order.
 */
#include "fs/internal.h"
#include "fs/sys.h"

struct chrdev {
	struct chrdev *next; /* [I] once published */
	char name[32];
	unsigned mode; /* with S_IFCHR or S_IFBLK */
	uint64_t rdev;
	const struct file_ops *ops;
	void *priv;
};

static _Atomic(struct chrdev *) devices;
static bool mounted; /* /dev shows devices: boot only */

static const struct chrdev *chrdev_find(uint64_t rdev)
{
	struct chrdev *c = atomic_load_explicit(&devices, memory_order_acquire);

	for (; c; c = c->next) {
		if (c->rdev == rdev && S_ISCHR(c->mode))
			return c;
	}
	return NULL;
}

static int chrdev_open(struct inode *i, struct file *f)
{
	const struct chrdev *c = chrdev_find(i->rdev);

	if (!c)
		return -ENXIO;
	f->ops = c->ops;
	f->priv = c->priv;
	if (!c->ops->lseek)
		f->mode |= FMODE_STREAM;
	return c->ops->open ? c->ops->open(i, f) : 0;
}

static int no_device(struct inode *i, struct file *f)
{
	return -ENXIO;
}

const struct file_ops chrdev_file_ops = { .open = chrdev_open };
const struct file_ops nodev_file_ops = { .open = no_device }; /* sockets */

static int node_in(struct dentry *root, const struct chrdev *c)
{
	struct inode *i;
	struct dentry *d = dentry_find(root, c->name, strlen(c->name));

	if (d) {
		dentry_put(d);
		return 0;
	}
	i = ramfs_new_inode(root->super, c->mode, c->rdev);
	d = i ? dentry_alloc(root, c->name, strlen(c->name)) : NULL;
	if (!d) {
		if (i)
			inode_put(i);
		return -ENOMEM;
	}
	i->uid = i->gid = 0;
	dentry_attach(d, i);
	mutex_lock(&root->inode->lock);
	dentry_add(d, true);
	mutex_unlock(&root->inode->lock);
	dentry_put(d);
	return 0;
}

static int devfs_mount(struct fs_type *t, const char *source, const char *data, struct super **out)
{
	struct chrdev *c = atomic_load_explicit(&devices, memory_order_acquire);
	int err = ramfs_mount(t, source, data, out);

	for (; !err && c; c = c->next) {
		err = node_in((*out)->root, c);
		if (err)
			pr_warn("devfs: no memory for %s", c->name);
		err = 0; /* some devices are better than none */
	}
	return err;
}

static int add_device(const char *name, unsigned mode, uint64_t rdev, const struct file_ops *ops,
		      void *priv)
{
	struct chrdev *c, *head;

	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	str_copy(c->name, name, sizeof(c->name));
	c->mode = mode;
	c->rdev = rdev;
	c->ops = ops;
	c->priv = priv;
	head = atomic_load_explicit(&devices, memory_order_relaxed);
	do {
		c->next = head;
	} while (!atomic_compare_exchange_weak_explicit(&devices, &head, c, memory_order_release,
							memory_order_relaxed));
	if (mounted) {
		struct dentry *root;
		int err = path_lookup(AT_FDCWD, "/dev", WALK_FOLLOW | WALK_DIRECTORY, &root);

		if (!err) {
			err = node_in(root, c);
			dentry_put(root);
		}
		return err;
	}
	return 0;
}

int dev_register(const char *name, unsigned mode, uint64_t rdev, const struct file_ops *ops,
		 void *priv)
{
	return chrdev_find(rdev) ? -EEXIST :
				   add_device(name, S_IFCHR | (mode & 07777), rdev, ops, priv);
}

int dev_register_block(const char *name, unsigned mode, uint64_t rdev)
{
	return add_device(name, S_IFBLK | (mode & 07777), rdev, NULL, NULL);
}

static struct fs_type devtmpfs_type = { .name = "devtmpfs", .mount = devfs_mount };

/* What else belongs in /dev. */
void devfs_populate(void)
{
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" },
		{ "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" },
		{ "/proc/self/fd/2", "/dev/stderr" },
	};

	mounted = true;
	for (size_t k = 0; k < ARRAY_SIZE(links); k++)
		vfs_symlink(links[k][0], links[k][1]);
	vfs_mkdir("/dev/shm", 01777);
}

void devfs_init(void)
{
	fs_register(&devtmpfs_type);
	mem_devices_init();
}
