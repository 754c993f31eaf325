/* SPDX-License-Identifier: MIT */
/* Names of AF_UNIX sockets in the file system: nodes of type S_IFSOCK. */
#include "fs/vfs.h"
#include "fs/inode.h"
#include "fs/internal.h"
#include "kernel/errno.h"

int vfs_socket_find(const char *path, struct dentry **out)
{
	struct dentry *d;
	int err = path_lookup(AT_FDCWD, path, WALK_FOLLOW, &d);

	if (err)
		return err;
	if (!S_ISSOCK(atomic_load_explicit(&d->inode->mode, memory_order_relaxed)))
		err = -ECONNREFUSED;
	else
		err = inode_permission(d->inode, MAY_WRITE);
	if (err) {
		dentry_put(d);
		return err;
	}
	*out = d;
	return 0;
}

int vfs_socket_make(const char *path, struct dentry **out)
{
	int err = do_mknodat(AT_FDCWD, path, S_IFSOCK | 0777, 0);

	if (err)
		return err == -EEXIST ? -EADDRINUSE : err;
	err = path_lookup(AT_FDCWD, path, 0, out);
	if (err)
		return err;
	/* Somebody may have put something else in its place meanwhile. */
	if (!S_ISSOCK(atomic_load_explicit(&(*out)->inode->mode, memory_order_relaxed))) {
		dentry_put(*out);
		return -EADDRINUSE;
	}
	return 0;
}

struct inode *vfs_socket_inode(const struct dentry *d)
{
	return d->inode;
}

void vfs_socket_put(struct dentry *d)
{
	dentry_put(d);
}
