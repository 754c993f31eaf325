/* SPDX-License-Identifier: MIT */
/*
 * The one place where address spaces meet files: everything that mm/vm_int.h asks of a
 * struct file.
 */
#include "mm/vm_int.h"
#include "mm/page_cache.h"
#include "mm/slab.h"
#include "fs/vfs.h"
#include "kernel/string.h"

void vm_file_get(struct file *f)
{
	file_get(f);
}

void vm_file_put(struct file *f)
{
	fput(f);
}

int vm_file_check(struct file *f, unsigned *flags)
{
	int err;

	if (!(f->mode & FMODE_READ))
		return -EACCES;
	if ((*flags & VM_SHARED) && (*flags & VM_WRITE) && !(f->mode & FMODE_WRITE))
		return -EACCES;
	if (!f->ops->get_page || !f->ops->mmap)
		return -ENODEV;
	err = f->ops->mmap(f, *flags & VM_KEEP);
	if (err)
		return err;
	if (!(*flags & VM_SHARED) || (f->mode & FMODE_WRITE))
		*flags |= VM_MAYWRITE;
	if (f->inode)
		atomic_store_explicit(&f->inode->mapped, true, memory_order_seq_cst);
	return 0;
}

struct page *vm_file_page(struct file *f, uint64_t index)
{
	return f->ops->get_page(f, index);
}

struct mapping *vm_file_mapping(const struct file *f)
{
	return f->inode ? f->inode->mapping : NULL;
}

struct page *vm_file_page_write(struct file *f, uint64_t index)
{
	struct mapping *m = f->inode->mapping;
	int err = -EAGAIN;

	/* While the page is locked no truncate takes it out, so the place is for a page that will be written. */
	while (err == -EAGAIN) {
		struct page *p = f->ops->get_page(f, index);

		if (IS_ERR(p))
			return p;
		page_lock(p);
		if (p->mapping == m) {
			err = m->ops->prepare_write(m, index, true);
			if (!err)
				page_mark_dirty(p); /* whatever becomes of the fault */
		}
		page_unlock(p);
		if (!err)
			return p;
		page_put(p);
	}
	return ERR_PTR(err == -ENODATA ? -EIO : err);
}

int vm_file_sync(struct file *f)
{
	return f->ops->fsync ? f->ops->fsync(f) : 0;
}

bool vm_file_cached(struct file *f, uint64_t index)
{
	struct page *p = page_cache_find(f->inode->mapping, index);

	if (p)
		page_put(p);
	return p;
}

void vm_file_pages_around(struct file *f, uint64_t first, unsigned want, struct page **out)
{
	struct page_index *idx = f->inode ? f->inode->pages : NULL;

	if (!idx)
		return;
	page_index_lookup_some(idx, first, want, out);
	if (!f->inode->mapping)
		return;
	for (; want; want &= want - 1) { /* those still being read are of no use */
		struct page **p = &out[__builtin_ctz(want)];

		if (*p && !page_has(*p, PG_uptodate)) {
			page_put(*p);
			*p = NULL;
		}
	}
}

/* ---- shared anonymous memory: a file that only mappings know ---- */

struct shm {
	struct page_index *pages;
	uint64_t size; /* pages, constant */
};

static struct page *shm_get_page(struct file *f, uint64_t index)
{
	struct shm *m = f->priv;
	struct owner *o;
	struct page *p;

	if (index >= m->size)
		return ERR_PTR(-EIO);
	p = page_index_lookup(m->pages, index);
	if (p)
		return p;
	o = current_owner();
	owner_get(o); /* for the sleeping in between */
	p = page_index_get(m->pages, index, o);
	owner_put(o);
	return p;
}

static void shm_release(struct file *f)
{
	struct shm *m = f->priv;

	page_index_destroy(m->pages);
	kfree(m);
}

static const struct file_ops shm_ops = { .get_page = shm_get_page, .release = shm_release };

struct file *vm_shm_create(uint64_t pages)
{
	struct shm *m = kmalloc(sizeof(*m), GFP_ACCOUNT);
	struct file *f;

	if (!m)
		return NULL;
	m->size = pages;
	m->pages = page_index_create();
	f = m->pages ? file_alloc(&shm_ops, O_RDWR, m) : NULL;
	if (!f) {
		page_index_destroy(m->pages);
		kfree(m);
	}
	return f;
}

void vm_file_name(struct file *f, struct vm_area_info *out)
{
	char *p;

	if (f->inode) {
		out->ino = f->inode->ino;
		out->dev = f->inode->super ? f->inode->super->dev : 0;
	}
	if (f->dentry) {
		p = dentry_path(f->dentry, out->name, sizeof(out->name));
		if (!IS_ERR(p) && p)
			memmove(out->name, p, strlen(p) + 1);
	}
}

uint64_t vm_file_key(const struct file *f)
{
	return f->inode ? (uintptr_t)f->inode : (uintptr_t)f;
}
