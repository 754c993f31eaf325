/* SPDX-License-Identifier: MIT */
/*
 * Unpacks cpio archives ("newc", as Linux's initramfs) into the root file
 * system: the one inside the kernel image, then each boot module.
 *
 * Every length in an archive is checked against its end; a damaged archive
 * gives one line in the log and what came before it.
 * Source: cpio(5) "new ASCII format"; Linux Documentation buffer-format.
 */
#include "fs/internal.h"
#include "fs/sys.h"

struct cpio_head {
	char magic[6];
	char ino[8], mode[8], uid[8], gid[8], nlink[8], mtime[8], filesize[8];
	char devmajor[8], devminor[8], rdevmajor[8], rdevminor[8], namesize[8], check[8];
};
_Static_assert(sizeof(struct cpio_head) == 110, "newc header is 110 bytes");

/* First name under which a file with several links was seen. */
struct link_seen {
	struct link_seen *next;
	uint32_t ino, major, minor;
	char name[];
};

struct unpack {
	const char *base;
	size_t len, pos;
	struct link_seen *links;
};

static bool hex8(const char *s, uint32_t *out)
{
	uint32_t v = 0;

	for (int k = 0; k < 8; k++) {
		char c = s[k];

		v <<= 4;
		if (c >= '0' && c <= '9')
			v |= (uint32_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v |= (uint32_t)(c - 'a' + 10);
		else if (c >= 'A' && c <= 'F')
			v |= (uint32_t)(c - 'A' + 10);
		else
			return false;
	}
	*out = v;
	return true;
}

/* @n bytes padded to 4, or NULL past the end. */
static const char *take(struct unpack *u, size_t n)
{
	const char *p = u->base + u->pos;

	if (n > u->len - u->pos)
		return NULL;
	u->pos = min(ALIGN_UP(u->pos + n, 4UL), u->len);
	return p;
}

static const char *link_first(struct unpack *u, uint32_t ino, uint32_t maj, uint32_t min_,
			      const char *name)
{
	struct link_seen *l;
	size_t n = strlen(name) + 1;

	for (l = u->links; l; l = l->next) {
		if (l->ino == ino && l->major == maj && l->minor == min_)
			return l->name;
	}
	l = kmalloc(sizeof(*l) + n, GFP_KERNEL);
	if (l) {
		l->ino = ino;
		l->major = maj;
		l->minor = min_;
		memcpy(l->name, name, n);
		l->next = u->links;
		u->links = l;
	}
	return NULL;
}

static int write_file(const char *path, uint32_t mode, const char *data, size_t n, bool keep)
{
	struct file *f;
	loff_t pos = 0;
	int err = 0;

	f = vfs_open(path, O_WRONLY | O_CREAT | (keep ? 0 : O_TRUNC), 0600);
	if (IS_ERR(f))
		return (int)PTR_ERR(f);
	while (n && !err) {
		ssize_t w = vfs_write(f, data, n, &pos);

		if (w <= 0) {
			err = w ? (int)w : -EIO;
		} else {
			data += w;
			n -= (size_t)w;
		}
	}
	atomic_store_explicit(&f->inode->mode, S_IFREG | (mode & 07777), memory_order_relaxed);
	fput(f);
	return err;
}

/* An archive may put something else in place of an existing entry, but not of a directory. */
static void make_way(const char *path)
{
	do_unlinkat(AT_FDCWD, path, 0);
}

/* Owner 0 is what a new entry has. */
static int give_to(const char *path, uint32_t uid, uint32_t gid)
{
	struct dentry *d;
	int err;

	if (!uid && !gid)
		return 0;
	err = path_lookup(AT_FDCWD, path, 0, &d);
	if (err)
		return err;
	d->inode->uid = uid;
	d->inode->gid = gid;
	dentry_put(d);
	return 0;
}

static int unpack_entry(struct unpack *u, const struct cpio_head *h, uint32_t mode,
			const char *path, const char *data, size_t size)
{
	uint32_t ino, nlink, maj, min_, rmaj, rmin;
	int err;

	if (!hex8(h->ino, &ino) || !hex8(h->nlink, &nlink) || !hex8(h->devmajor, &maj) ||
	    !hex8(h->devminor, &min_) || !hex8(h->rdevmajor, &rmaj) || !hex8(h->rdevminor, &rmin))
		return -EINVAL;
	switch (mode & S_IFMT) {
	case S_IFDIR:
		err = do_mkdirat(AT_FDCWD, path, mode & 07777);
		return err == -EEXIST ? 0 : err;
	case S_IFREG:
		if (nlink > 1) {
			const char *first = link_first(u, ino, maj, min_, path);

			if (first) {
				make_way(path);
				err = do_linkat(AT_FDCWD, first, AT_FDCWD, path, 0);
				/* The data comes with the last name. */
				return err || !size ? err : write_file(path, mode, data, size, true);
			}
		}
		make_way(path);
		return write_file(path, mode, data, size, false);
	case S_IFLNK: {
		char *t = name_buffer();

		if (!t)
			return -ENOMEM;
		if (size >= PATH_MAX_BYTES) {
			putname(t);
			return -ENAMETOOLONG;
		}
		memcpy(t, data, size);
		t[size] = '\0';
		make_way(path);
		err = do_symlinkat(t, AT_FDCWD, path);
		putname(t);
		return err;
	}
	case S_IFCHR:
	case S_IFBLK:
	case S_IFIFO:
	case S_IFSOCK:
		make_way(path);
		return do_mknodat(AT_FDCWD, path, mode, MKDEV(rmaj & 0xfff, rmin & 0xff));
	default:
		return -EINVAL;
	}
}

static void free_links(struct unpack *u)
{
	while (u->links) {
		struct link_seen *l = u->links;

		u->links = l->next;
		kfree(l);
	}
}

int initramfs_unpack_archive(const void *archive, size_t len)
{
	struct unpack u = { .base = archive, .len = len };
	unsigned old_umask = fs_set_umask(0), entries = 0;
	const char *why = NULL;
	char *path = name_buffer();

	if (!path)
		return -ENOMEM;
	while (!why) {
		const struct cpio_head *h;
		uint32_t mode, size, nlen, uid, gid;
		const char *name, *data;
		int err;

		/* Archives are concatenated with zeroes between them. */
		while (u.pos < u.len && !u.base[u.pos])
			u.pos++;
		if (u.pos >= u.len)
			break;
		if (u.len - u.pos < sizeof(*h)) {
			why = "ends inside a header";
			break;
		}
		h = (const void *)(u.base + u.pos);
		if (memcmp(h->magic, "070701", 6) && memcmp(h->magic, "070702", 6)) {
			why = "has a header that does not begin with 070701 (compressed?)";
			break;
		}
		if (!hex8(h->mode, &mode) || !hex8(h->filesize, &size) ||
		    !hex8(h->namesize, &nlen) || !hex8(h->uid, &uid) || !hex8(h->gid, &gid)) {
			why = "has a number that is not hexadecimal";
			break;
		}
		/* Header and name are padded together. */
		name = take(&u, sizeof(*h) + nlen);
		if (!name || !nlen || nlen > PATH_MAX_BYTES - 1) {
			why = "has a name that is too long";
			break;
		}
		name += sizeof(*h);
		data = take(&u, size);
		if (!data || name[nlen - 1]) {
			why = "ends inside a file";
			break;
		}
		if (!strcmp(name, "TRAILER!!!")) {
			free_links(&u);
			continue;
		}
		while (name[0] == '.' && name[1] == '/')
			name += 2;
		if (!*name || !strcmp(name, "."))
			continue;
		path[0] = '/';
		str_copy(path + 1, name, PATH_MAX_BYTES - 1);
		err = unpack_entry(&u, h, mode, path, data, size);
		if (!err)
			err = give_to(path, uid, gid);
		if (err)
			pr_warn("initramfs: cannot make %s: error %d", path, -err);
		else
			entries++;
	}
	free_links(&u);
	putname(path);
	fs_set_umask(old_umask);
	if (why)
		pr_err("initramfs: the archive %s, at byte %zu of %zu", why, u.pos, u.len);
	pr_info("initramfs: %u entries from %zu KiB", entries, len / 1024);
	return why ? -EINVAL : 0;
}

#if !defined(TALLY_HOSTED)
extern const char initramfs_start[], initramfs_end[];
bool boot_module(unsigned i, const void **start, size_t *len) __weak; /* from the boot loader */

void initramfs_unpack(void)
{
	const void *start;
	size_t len;

	len = (size_t)((uintptr_t)initramfs_end - (uintptr_t)initramfs_start);
	if (len)
		initramfs_unpack_archive(initramfs_start, len);
	for (unsigned i = 0; boot_module && boot_module(i, &start, &len); i++)
		initramfs_unpack_archive(start, len);
}
#else
void initramfs_unpack(void)
{
}
#endif
