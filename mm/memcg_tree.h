/* SPDX-License-Identifier: MIT */
/*
 * The tree of groups: what a directory of the cgroup file system is.
 *
 * Interface: memcg_create() / memcg_remove() for mkdir and rmdir, memcg_control()
 *            for cgroup.subtree_control, memcg_attach() for cgroup.procs.
 * Locks:     memcg_mutex (sleeps) over the shape of the tree, controllers and
 *            limits; memcg_lock (spinlock, inside it) over which process is where
 *            and what follows from that.  Readers walk up under RCU.
 * Life time: refs: the directory, open files, whoever sleeps with a pointer.
 *            Memory goes a grace period after the last.
 */
#ifndef MM_MEMCG_TREE_H
#define MM_MEMCG_TREE_H

#include "mm/memcg_internal.h"

struct user_thread;
struct psi;

#define MEMCG_CTL_MEMORY (1u << 0) /* the controllers there are */

/* Legend: [I] constant, [a] atomic, [t] memcg_mutex, [p] memcg_lock, [r] RCU pointer. */
struct memcg {
	struct memcg *parent;              /* [I] referenced; NULL for the root */
	uint32_t id;                       /* [I] never used twice; above that of the parent */
	_Atomic uint32_t last_id;          /* [a] of the youngest group ever below, or its own; memcg_mutex writes */
	uint32_t depth;                    /* [I] */
	_Atomic int32_t refs;              /* [a] */
	_Atomic bool dead;                 /* [a] removed; written under memcg_mutex */
	_Atomic(struct account *) account; /* [r] own memory controller, or NULL */
	_Atomic(struct owner *) owner;     /* [r] what processes here charge; NULL: nobody */
	unsigned control;                  /* [t] MEMCG_CTL_* that children have */
	unsigned nr_children;              /* [t] */
	uint32_t nr_descendants;           /* [t] */
	uint32_t max_depth, max_descendants; /* [t] UINT32_MAX: max */
	struct list_head children, sibling; /* [t] */
	struct list_head procs;            /* [p] process.memcg_link: those whose resources count here */
	uint32_t nr_procs;                 /* [p] as the list */
	struct list_head threads;          /* [p] user_thread.memcg_link: those that are here */
	uint32_t nr_tasks, nr_frozen;      /* [p] as that list, and how many of them sleep for cgroup.freeze */
	uint32_t nr_populated;             /* [p] children that are populated */
	uint32_t nr_threaded;              /* [t] children that are threaded */
	bool threaded;                     /* [t] resources count at the nearest group above that is not */
	bool freeze;                       /* [p] cgroup.freeze here */
	_Atomic bool freezing;             /* [p] here or above; read without the lock */
	bool frozen;                       /* [p] freezing, and nothing of the subtree runs */
	int64_t peak_before;               /* pages; fs/cgroup_peak_files.c, its lock */
	struct list_head peak_readers;     /* the same */
	_Atomic(struct psi *) psi;         /* [a] mm/psi.h; NULL: nobody was ever stalled here */
	_Atomic(struct memcg_attr *) attrs; /* [t] owners and modes that somebody has changed */
	_Atomic uint32_t event_seq[NR_MEMCG_NOTIFY]; /* [a] counts changes of each *.events file, for poll */
	_Atomic bool no_pressure;          /* [a] cgroup.pressure is 0: memory.pressure is not there */
	_Atomic uint32_t notify;           /* [a] bits: those whose watchers are still to be told (fs/cgroup_notify.c) */
	struct list_head notify_link;      /* fs/cgroup_notify.c's lock */
	_Atomic(struct memcg *) hash_next; /* [t] chain of the name hash; read under RCU */
	struct rcu_head rcu;
	char name[];                       /* [I] */
};

/* A changed owner or mode of a file of the directory: fs/cgroupfs.c's, kept here since inodes come and go. */
struct memcg_attr {
	struct memcg_attr *next;
	uint64_t ino;
	uint32_t mode, uid, gid;
};

extern struct memcg *memcg_root;
extern struct mutex memcg_mutex;
extern struct spinlock memcg_lock;

static inline struct account *memcg_account(struct memcg *m)
{
	return atomic_load_explicit(&m->account, memory_order_acquire);
}
/* The account that charges from here reach: own, or the nearest above.  Under RCU; the root's at last. */
struct account *memcg_effective_account(struct memcg *m);

struct memcg *memcg_tryget(struct memcg *m); /* NULL if it is going; under RCU */
void memcg_get(struct memcg *m);
void memcg_put(struct memcg *m);

/*
 * mkdir: ERR_PTR(-ENOMEM), -EAGAIN (max.depth, max.descendants), -ENODEV (parent removed).
 * Two references: the caller's and the directory's, which memcg_remove() drops.
 */
struct memcg *memcg_create(struct memcg *parent, const char *name);
/* Child by name, with a reference, or NULL. */
struct memcg *memcg_find(struct memcg *parent, const char *name, size_t len);
/*
 * The next children of @parent with an id above @after, at most @n, in order of
 * creation, each with a reference.  Return: how many.
 */
unsigned memcg_children(struct memcg *parent, uint32_t after, struct memcg **out, unsigned n);
/* rmdir: 0, -EBUSY (children, processes), -ENODEV (already). Drops the directory's reference. */
int memcg_remove(struct memcg *m);
/* cgroup.subtree_control: 0, -ENOENT (not available here), -EBUSY. */
int memcg_control(struct memcg *m, unsigned enable, unsigned disable);
/* Controllers that the parent gives this group. */
unsigned memcg_available(struct memcg *m);

/* Under memcg_lock: one user of @m's owner more, or fewer; true: call memcg_return_stock() with *o after unlocking. */
void memcg_count_in(struct memcg *m);
bool memcg_count_out(struct memcg *m, struct owner **o);
/* Under memcg_lock: one thread more (@by 1) or fewer (-1) in @m, and what follows for "populated". */
void memcg_count_task(struct memcg *m, int by);
/* The last user of @o is gone: its stock comes back now.  Drops the reference that count_out took. */
void memcg_return_stock(struct owner *o);
static inline bool memcg_populated(struct memcg *m)
{
	return m->nr_tasks || m->nr_populated;
}
/* Next group of the subtree of @top in pre-order; memcg_mutex or memcg_lock held. */
struct memcg *memcg_next(struct memcg *m, struct memcg *top);

/* memory.max: sets, calls the stock in, then reclaims and kills until usage is below.  May sleep. */
void memcg_set_max(struct memcg *m, int64_t pages);
void memcg_set_high(struct memcg *m, int64_t pages); /* sets, reclaims what is above.  May sleep. */
/* Goes on a writer of @which to bring usage below @pages?  Not after a signal, a removal or another write. */
bool memcg_still_wanted(struct memcg *m, enum page_counter_limit which, int64_t pages);
/* min, low */
void memcg_set_limit(struct memcg *m, enum page_counter_limit which, int64_t pages);
int64_t memcg_get_limit(struct memcg *m, enum page_counter_limit which);

/* Reclaim below @group; pages freed.  memcg_dying(): the current process has been killed. */
uint64_t memcg_reclaim_group(struct memcg *group, uint64_t pages);
bool memcg_dying(void);
bool memcg_wait_victim(void); /* sleeps a little for a victim's memory; true: this process is the victim */

/* mm/memcg_proc.c */
/* "/a/b" into @buf; a path that does not fit loses its beginning. -ENAMETOOLONG without room for "/". */
/* Calls @fn with the pid of each process whose resources count at @m, memcg_lock held: no sleeping. */
void memcg_for_each_pid(struct memcg *m, void (*fn)(pid_t pid, void *arg), void *arg);
void memcg_for_each_tid(struct memcg *m, void (*fn)(pid_t tid, void *arg), void *arg); /* of @m alone */
/* May sleep.  For the fork of a child into @m: 0 or as memcg_attach(). */
int memcg_may_enter(struct memcg *m);
/* Group of the thread @tid of @p (0: of its first), referenced. */
struct memcg *memcg_get_of(struct process *p, pid_t tid);
int memcg_path_of(struct memcg *m, char *buf, size_t n);
extern void (*memcg_moved_hook)(void); /* after a process has moved; may call other CPUs */
/* Moves a process here, or only the thread with that id; @pid 0: the caller. */
/* 0, -ESRCH, -EBUSY (has controllers), -EOPNOTSUPP (type), -ENODEV, or what @may says of the two groups. */
int memcg_attach(struct memcg *m, pid_t pid, bool thread, int (*may)(struct memcg *from, struct memcg *to, void *arg),
		 void *arg);

/* mm/memcg_type.c: cgroup.type, cgroup.freeze */
void memcg_disable_memory(struct memcg *m); /* memcg_mutex held; in mm/memcg.c, like the next three */
struct memcg *memcg_domain(struct memcg *m); /* @m, or for a threaded group the one above that counts */
bool memcg_is_thread_root(const struct memcg *m);
bool memcg_valid_domain(const struct memcg *m); /* memcg_mutex held */
const char *memcg_type_name(struct memcg *m);
int memcg_set_threaded(struct memcg *m);    /* 0, -EOPNOTSUPP, -ENODEV */
void memcg_set_freeze(struct memcg *m, bool on);
/* memcg_lock held: something of @m has frozen, thawed, come or gone. */
void memcg_freeze_update(struct memcg *m);
/* Kernel side (kernel/freezer.c): the thread looks whether it is to freeze. memcg_lock held. */
extern void (*memcg_freeze_hook)(struct user_thread *u);

/* mm/memcg_oom.c: SIGKILL to everything in the subtree (cgroup.kill). */
void memcg_kill_all(struct memcg *m);

#endif /* MM_MEMCG_TREE_H */
