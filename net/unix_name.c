/* SPDX-License-Identifier: MIT */
/*
 * Names of AF_UNIX sockets: net/unix.h.
 *
 * An abstract name is looked up in a hash of names.  A path name is a node of the
 * file system: bind() makes it, connect() finds it, and the socket is the one that
 * holds the node's inode, whatever the node is called by then.
 */
#include "net/unix.h"
#include "net/ip.h"
#include "fs/vfs.h"
#include "kernel/errno.h"

#define NAME_BUCKETS 256u

static struct list_head buckets[NAME_BUCKETS]; /* unix_lock; zeroed until first used */

static struct list_head *bucket(uint64_t hash)
{
	struct list_head *b = &buckets[hash & (NAME_BUCKETS - 1)];

	if (!b->next)
		list_init(b);
	return b;
}

static struct list_head *name_bucket(const struct sa_un *n, unsigned len)
{
	uint64_t w[14] = { len };

	memcpy(w + 1, n->path, min_t(size_t, len, 104));
	return bucket(net_hash(w, 14));
}

static struct list_head *node_bucket(const struct inode *i)
{
	uint64_t w = (uintptr_t)i;

	return bucket(net_hash(&w, 1));
}

/* Length of a name that counts, or -EINVAL. */
static int name_check(const union sockaddr_any *a, unsigned len)
{
	if (len < 3 || len > sizeof(struct sa_un) || a->family != AF_UNIX)
		return -EINVAL;
	if (a->un.path[0])
		len = 2 + (unsigned)strnlen(a->un.path, len - 2);
	return (int)len;
}

/* Each type of socket has abstract names of its own.  unix_lock held. */
static struct unix_sock *find_abstract(const struct sa_un *n, unsigned len, int type)
{
	struct unix_sock *u;

	list_for_each_entry (u, name_bucket(n, len), name_link) {
		if (!u->node && u->sk.type == type && u->name_len == len &&
		    !memcmp(&u->name, n, len))
			return u;
	}
	return NULL;
}

/* unix_lock held. */
static struct unix_sock *find_node(const struct inode *i)
{
	struct unix_sock *u;

	list_for_each_entry (u, node_bucket(i), name_link) {
		if (u->node && vfs_socket_inode(u->node) == i)
			return u;
	}
	return NULL;
}

static void path_of(char path[109], const struct sa_un *n, unsigned len)
{
	memcpy(path, n->path, len - 2);
	path[len - 2] = 0;
}

/* Gives @u the name; @node NULL: an abstract one. */
static int take_name(struct unix_sock *u, const struct sa_un *n, unsigned len, struct dentry *node)
{
	int ret = 0;

	spin_lock(&unix_lock);
	if (u->name_len) {
		ret = -EINVAL;
	} else if (!node && find_abstract(n, len, u->sk.type)) {
		ret = -EADDRINUSE;
	} else {
		memset(&u->name, 0, sizeof(u->name));
		memcpy(&u->name, n, len);
		u->name_len = len;
		u->node = node;
		list_add_tail(&u->name_link,
			      node ? node_bucket(vfs_socket_inode(node)) : name_bucket(n, len));
	}
	spin_unlock(&unix_lock);
	return ret;
}

/* bind() without a name: a free abstract one of five hexadecimal digits. */
static int autobind(struct unix_sock *u)
{
	struct sa_un n = { .family = AF_UNIX };

	for (unsigned try = 0; try < 1000; try++) {
		int ret;

		snprintf(n.path + 1, 6, "%05x", net_random() & 0xfffff);
		ret = take_name(u, &n, 8, NULL);
		if (ret != -EADDRINUSE)
			return ret == -EINVAL ? 0 : ret;
	}
	return -ENOSPC;
}

int unix_bind(struct sock *s, const union sockaddr_any *a, unsigned len)
{
	struct unix_sock *u = unix_of(s);
	struct dentry *node = NULL;
	char path[109];
	int n, ret;

	if (len == 2 && a->family == AF_UNIX)
		return autobind(u);
	n = name_check(a, len);
	if (n < 0)
		return n;
	if (__atomic_load_n(&u->name_len, __ATOMIC_RELAXED))
		return -EINVAL;
	if (a->un.path[0]) {
		path_of(path, &a->un, (unsigned)n);
		ret = vfs_socket_make(path, &node);
		if (ret)
			return ret;
	}
	ret = take_name(u, &a->un, (unsigned)n, node);
	if (ret && node)
		vfs_socket_put(
			node); /* another bind() of this socket was faster: the node stays, dead */
	return ret;
}

struct unix_sock *unix_find(const union sockaddr_any *a, unsigned len, int type)
{
	struct dentry *node = NULL;
	struct unix_sock *u;
	char path[109];
	int n = name_check(a, len), ret;

	if (n < 0)
		return ERR_PTR(n);
	if (a->un.path[0]) {
		path_of(path, &a->un, (unsigned)n);
		ret = vfs_socket_find(path, &node);
		if (ret)
			return ERR_PTR(ret);
	}
	spin_lock(&unix_lock);
	u = node ? find_node(vfs_socket_inode(node)) : find_abstract(&a->un, (unsigned)n, type);
	if (u)
		unix_get(u);
	spin_unlock(&unix_lock);
	if (node)
		vfs_socket_put(node);
	return u ? u : ERR_PTR(-ECONNREFUSED);
}

void unix_name_release(struct unix_sock *u)
{
	struct dentry *node;

	spin_lock(&unix_lock);
	list_del(&u->name_link);
	node = u->node;
	u->node = NULL;
	spin_unlock(&unix_lock);
	if (node)
		vfs_socket_put(node);
}
