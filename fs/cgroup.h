/* SPDX-License-Identifier: MIT */
/* What fs/cgroupfs.c (the tree) and fs/cgroup_*files.c (its files) share. */
#ifndef FS_CGROUP_H
#define FS_CGROUP_H

#include "kernel/rcu.h"
#include "fs/internal.h"
#include "mm/memcg_tree.h"

#define CG_NOT_ROOT (1u << 0) /* not in the root directory */
#define CG_MEMORY   (1u << 1) /* only where the parent gives the memory controller */
#define CG_PRESSURE (1u << 2) /* everywhere, unless cgroup.pressure is 0 */
#define CG_RAW      (1u << 3) /* written text keeps its white space */
#define CG_NOTIFIES(file) (1u << 4 | (MEMCG_NOTIFY_##file) << 5) /* changes can be watched */
#define CG_NOTIFY   (1u << 4)
#define CG_DELEGATED (1u << 8) /* nsdelegate leaves it to the name space whose root it is in */
static inline enum memcg_notify cg_notify_of(unsigned flags)
{
	return flags >> 5 & 7;
}
_Static_assert(NR_MEMCG_NOTIFY <= 8, "three bits of flags");

/* Mount options (fs/cgroup_mount.c). */
#define CG_OPT_NSDELEGATE    (1u << 0)
#define CG_OPT_FAVORDYNMODS  (1u << 1)
#define CG_OPT_LOCALEVENTS   (1u << 2)
#define CG_OPT_RECURSIVEPROT (1u << 3)
bool cg_option(unsigned bit);
int cg_options_set(const char *data); /* 0, -EINVAL; NULL: none */
void cg_options_show(const struct super *s, struct seq *out);

/* fs/cgroup_ns.c */
struct memcg *cgroup_ns_root(struct process *p); /* referenced; NULL: the kernel's */
void cgroup_ns_fork(struct process *child, struct process *parent, bool new_ns);
void cgroup_ns_exit(struct process *p);
int cgroup_ns_unshare(void);                     /* 0, -EPERM */
bool cgroup_is_below(const struct memcg *m, const struct memcg *top); /* or @top itself */
/* Path of @m as seen from @root, both held: 0, -ENAMETOOLONG. */
int cgroup_path_from(struct memcg *root, struct memcg *m, char *buf, size_t n);

struct cg_node;
struct psi_trigger;
/* An open file of a group. */
struct cg_opened {
	struct cg_node *node; /* the inode's */
	struct file *file;    /* whose this is */
	uint32_t euid;        /* who opened it: rights are looked at then, not when writing */
	struct memcg *ns;     /* root of what he saw; referenced */
	uint32_t seq;         /* the file's event_seq when last read */
	_Atomic(struct psi_trigger *) trigger; /* memory.pressure: what was written */
	/* memory.peak (fs/cgroup_peak_files.c, whose lock) */
	bool peak_reset;      /* peak is valid and this is in the group's peak_readers */
	int64_t peak;         /* pages: highest usage between this reset and the last of anybody */
	struct list_head peak_link;
};

struct cg_file {
	const char *name;
	unsigned mode, flags;
	int (*show)(struct seq *s, struct memcg *m);
	/* White space at both ends is gone.  0 or -errno. */
	int (*write)(struct memcg *m, char *text);
	/* Instead of write and show, for what depends on who opened the file or on the descriptor. */
	int (*write_as)(struct cg_opened *o, char *text);
	int (*show_as)(struct seq *s, struct cg_opened *o);
};
/* One table for each file of fs/ that has some; fs/cgroup_files.c puts them together. */
extern const struct cg_file cg_core_files[], cg_memory_files[], cg_stat_files[], cg_swap_files[],
	cg_pressure_files[], cg_peak_files[];
extern const unsigned nr_cg_core_files, nr_cg_memory_files, nr_cg_stat_files, nr_cg_swap_files,
	nr_cg_pressure_files, nr_cg_peak_files;
#define CG_PROCS 0 /* cgroup.procs in cg_core_files */

const struct cg_file *cg_file_at(unsigned i);      /* NULL behind the last */
unsigned cg_file_index(const struct cg_file *f);   /* the other way round */

/* Shared by the files' functions: 0 or -errno. */
void cg_show_pages(struct seq *s, int64_t pages);                     /* bytes, or "max" */
int cg_parse_amount(const char *s, const char *max, int64_t *pages);  /* @max: word for no limit */
int cg_parse_limit(const char *s, int64_t *pages);
int cg_parse_int(const char *s, int *out);
/* The group's own account, RCU held; NULL: the controller has just been taken away. */
struct account *cg_own_account(struct memcg *m);

/* The two lines of a pressure file, and what a write to one asks for (ERR_PTR: -EINVAL, -ENOMEM). */
int cg_pressure_show(struct seq *s, struct memcg *m);
struct psi_trigger *cg_pressure_trigger(struct memcg *m, const char *text);

/* What an inode stands for (inode->priv): a group's directory, or one of its files. */
struct cg_node {
	struct memcg *group;        /* referenced */
	const struct cg_file *file; /* NULL: the directory */
	struct rcu_head rcu;        /* path walks look at it without a reference */
};

/* Is the file there now?  Root and controllers decide. */
static inline bool cg_file_shown(struct memcg *m, const struct cg_file *f)
{
	if (f->flags & CG_PRESSURE)
		return !atomic_load_explicit(&m->no_pressure, memory_order_relaxed);
	if (!m->parent)
		return !(f->flags & CG_NOT_ROOT);
	return !(f->flags & CG_MEMORY) || memcg_account(m);
}

static inline struct cg_node *cg_node_of(const struct inode *i)
{
	return i->priv;
}
/* Is what the inode stands for gone? */
static inline bool cg_node_stale(const struct cg_node *n)
{
	return atomic_load_explicit(&n->group->dead, memory_order_relaxed) ||
	       (n->file && !cg_file_shown(n->group, n->file));
}
extern const struct file_ops cg_file_fops; /* fs/cgroup_open.c */

/* Owner and mode of a file of the group, by inode number, as somebody has set them, or NULL. */
struct memcg_attr *cg_attr_find(struct memcg *m, uint64_t ino);
static inline uint64_t cg_file_ino(const struct memcg *m, const struct cg_file *f)
{
	/* Stable while the group lives: files of a group follow its directory. */
	return ((uint64_t)m->id << 8) + (f ? 1 + cg_file_index(f) : 0);
}

/* The group whose directory @f is, referenced; NULL if it is something else or removed. */
struct memcg *cgroup_of_dir(struct file *f);
bool cgroup_is_dir(const struct file *f); /* of a group, removed or not */

/* fs/cgroup_notify.c: where pollers of a group's files sleep, and what inotify knows a file as. */
struct wait_queue *cg_notify_queue(struct memcg *m);
const void *cg_notify_key(struct memcg *m, enum memcg_notify file);
void cgroup_notify_init(void);

void cg_peak_release(struct cg_opened *o); /* fs/cgroup_peak_files.c: the descriptor is closed */
void pressure_proc_init(void); /* fs/pressure_proc.c */
void cgroup_proc_init(void); /* fs/cgroup_proc.c */
void cgroupfs_init(void);    /* registers "cgroup2"; after memcg_init() */

#endif /* FS_CGROUP_H */
