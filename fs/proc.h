/* SPDX-License-Identifier: MIT */
/*
 * What the files of procfs share: nodes of the tree and the tables of files.
 */
#ifndef FS_PROC_H
#define FS_PROC_H

#include "fs/internal.h"

/* A registered file or folder; never removed. */
struct proc_entry {
	struct proc_entry *parent;
	_Atomic(struct proc_entry *) next, children; /* siblings, in order of registration */
	unsigned mode; /* with type; links: S_IFLNK */
	text_show_t show;
	text_write_t write;
	void *arg;     /* links: the target */
	const struct file_ops *fops; /* not a text file; else NULL */
	char name[];
};

enum proc_kind {
	PROC_ENTRY,    /* entry */
	PROC_SELF,     /* /proc/self, /proc/thread-self */
	PROC_PID,      /* folder of a process, or of a thread below task/ */
	PROC_PID_FILE, /* entry: see struct proc_pid_file */
	PROC_PID_LINK, /* cwd, exe, root: number in fd */
	PROC_FD_DIR, PROC_FDINFO_DIR,
	PROC_FD, PROC_FDINFO,
	PROC_TASK_DIR,
};

struct proc_pid_file {
	const char *name;
	unsigned mode;
	int (*show)(struct seq *s, void *node);
	ssize_t (*write)(const char *text, size_t n, void *node);
};

/* What an inode of procfs stands for (inode->priv). */
struct proc_node {
	enum proc_kind kind;
	const struct proc_entry *entry;
	const struct proc_pid_file *file;
	struct process *process; /* referenced; NULL outside /proc/PID */
	pid_t tid;               /* below task/: the thread; else 0 */
	int fd;                  /* descriptor, or enum proc_link */
	struct rcu_head rcu;     /* path walks look at it without a reference */
};
enum proc_link { LINK_CWD, LINK_EXE, LINK_ROOT };

struct inode *proc_inode(struct super *s, unsigned mode, enum proc_kind kind,
			 struct process *p); /* takes its own reference of @p; NULL */
struct proc_node *proc_node_of(const struct inode *i);
extern const struct inode_ops proc_dir_ops, proc_file_iops, proc_link_ops;
extern const struct file_ops proc_dir_fops, proc_pid_fops;

/* fs/proc_pid.c */
int pid_lookup(struct inode *dir, struct dentry *d);
int pid_readdir(struct file *f, filldir_t fill, void *ctx, loff_t *pos);
int root_lookup_pid(struct inode *dir, struct dentry *d);
int root_readdir_pids(struct file *f, filldir_t fill, void *ctx, loff_t *pos, loff_t base);

/* fs/proc_pid_files.c */
extern const struct proc_pid_file proc_pid_files[];
extern const unsigned nr_proc_pid_files;
int fdinfo_show(struct seq *s, void *node);

/* The machine's (arch/x86_64/procfs.c); none on the host. */
int arch_show_cpuinfo(struct seq *s, void *arg) __weak;
int arch_show_interrupts(struct seq *s, void *arg) __weak;

/* fs/proc_info.c, fs/proc_sys.c: register their files. */
void load_averages(unsigned out[3]); /* 1, 5, 15 minutes, in units of 1/2048 */
void proc_info_init(void);
void proc_sys_init(void);
void proc_kpage_init(void) __weak; /* fs/proc_kpage.c; none on the host */
/* As proc_register(), for a file that is not text: 0 or -errno. */
int proc_register_ops(const char *path, unsigned mode, const struct file_ops *fops);

#endif /* FS_PROC_H */
