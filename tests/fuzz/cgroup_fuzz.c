/* SPDX-License-Identifier: MIT */
/*
 * Any text written to any file of memory groups, while groups are made, removed
 * and charged.  What is read back must be text, and when all groups are gone
 * nothing may be left of them.
 *
 * Input: operations of a group, a file and, to write, a length and text.
 *
 * SOURCES: @fs @memcg fs/seq.c tests/host/uaccess.c
 */
#include "fs/cgroup.h"
#include "fs/internal.h"
#include "fs/sys.h"
#include "kernel/process.h"
#include "kernel/rcu.h"
#include "mm/lru.h"
#include "mm/memcg_tree.h"
#include "mm/page_cache.h"
#include "mm/vm.h"
#include "tests/fuzz/fuzz.h"
#include "tests/host/fs_host.h"

#define OPS_MAX 200
#define FILES   64

/* ---- parts that are not linked: there are no processes but one that is not found ---- */

struct process *init_process;
void process_put(struct process *p)
{
}
void process_get(struct process *p)
{
}
struct process *process_find_get(pid_t pid)
{
	return NULL;
}
struct thread *thread_find_get(pid_t tid)
{
	return NULL;
}
struct vm_space *process_space_get(struct process *p)
{
	return NULL;
}
void vm_reap(struct vm_space *s)
{
}
void vm_put(struct vm_space *s)
{
}
void signal_kill(struct process *p)
{
}
void kstack_drain(void)
{
}
int proc_register(const char *path, unsigned mode, int (*show)(struct seq *s, void *arg),
		  ssize_t (*write)(const char *text, size_t n, void *arg), void *arg)
{
	return 0;
}

int page_cache_evict(struct page *p)
{
	return -EBUSY; /* no file pages here */
}
int proc_register_ops(const char *path, unsigned mode, const struct file_ops *fops)
{
	return 0;
}

/* ---- the tree ---- */

static const char *const groups[] = { "/cg/a", "/cg/a/b", "/cg/a/b/c", "/cg/a/d", "/cg/e", "/cg/e/f" };
static char files[FILES][64];
static unsigned nr_files;
static struct owner *charged_to[ARRAY_SIZE(groups)]; /* a page that we charged; NULL: none */

struct entry { /* Linux struct linux_dirent64 */
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

/* The names of a group's files. */
static void list_files(const char *group)
{
	char buf[4096] __attribute__((aligned(8)));
	long n, fd = sys_open(group, O_RDONLY | O_DIRECTORY, 0);

	MUST(fd >= 0);
	while ((n = sys_getdents64((int)fd, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n; at += ((struct entry *)(void *)(buf + at))->len) {
			struct entry *e = (struct entry *)(void *)(buf + at);

			if (e->type == 8 && nr_files < FILES)
				str_copy(files[nr_files++], e->name, sizeof(files[0]));
		}
	}
	sys_close((int)fd);
	MUST(nr_files > 20);
}

static long open_file(unsigned group, const char *file, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", group < ARRAY_SIZE(groups) ? groups[group] : "/cg", file);
	return sys_open(path, flags, 0);
}

static void write_file(unsigned group, const char *file, const void *text, size_t n)
{
	long fd = open_file(group, file, O_WRONLY);

	if (fd < 0)
		return;
	sys_write((int)fd, text, n);
	sys_close((int)fd);
}

static void give_memory(unsigned group)
{
	write_file(group, "cgroup.subtree_control", "+memory", 7);
}

void fuzz_setup(void)
{
	fs_host_up();
	current->process = fs_host_process();
	memcg_init();
	lru_init();
	cgroupfs_init();
	MUST(vfs_mkdir("/cg", 0755) == 0);
	MUST(vfs_mount("none", "/cg", "cgroup2", 0, NULL) == 0);
	give_memory(ARRAY_SIZE(groups));
	MUST(vfs_mkdir("/cg/x", 0755) == 0);
	list_files("/cg/x");
	MUST(sys_rmdir("/cg/x") == 0);
}

static void read_file(unsigned group, const char *file)
{
	char buf[8192];
	long fd = open_file(group, file, O_RDONLY), n;

	if (fd < 0)
		return;
	n = sys_read((int)fd, buf, sizeof(buf));
	for (long i = 0; i < n; i++)
		MUST(buf[i] == '\n' || buf[i] == '\t' || (buf[i] >= ' ' && buf[i] < 127));
	sys_close((int)fd);
}

/* A page more or fewer in a group, as a process there would do. */
static void charge(unsigned group)
{
	struct memcg *m = memcg_root, *next;
	const char *path = groups[group] + strlen("/cg");
	struct owner *o;

	memcg_get(m);
	while (m && *path) {
		const char *name = path + 1, *end = strchr(name, '/');
		size_t n = end ? (size_t)(end - name) : strlen(name);

		next = memcg_find(m, name, n);
		memcg_put(m);
		m = next;
		path = name + n;
	}
	if (!m)
		return;
	rcu_read_lock();
	o = atomic_load_explicit(&m->owner, memory_order_acquire);
	if (o)
		owner_get(o);
	rcu_read_unlock();
	memcg_put(m);
	if (!o)
		return;
	if (charged_to[group] == NULL && memcg_charge(o, 1, MEMCG_KERNEL, 0) == 0) {
		charged_to[group] = o;
		return;
	}
	owner_put(o);
}
static void uncharge(unsigned group)
{
	if (charged_to[group]) {
		memcg_uncharge(charged_to[group], 1, MEMCG_KERNEL);
		owner_put(charged_to[group]);
		charged_to[group] = NULL;
	}
}

/* Operation kinds 0 to 9 write: most of the input is text. */
static void step(struct fuzz_in *in)
{
	uint8_t kind = fz_u8(in), what = fz_u8(in);
	unsigned group = what % 8;
	const char *file = files[(what >> 3 | (kind & 0x80) >> 2) % nr_files];
	const uint8_t *text;
	size_t n;

	switch (kind % 16) {
	case 10:
		if (group < ARRAY_SIZE(groups))
			vfs_mkdir(groups[group], 0755);
		break;
	case 11:
		if (group < ARRAY_SIZE(groups))
			sys_rmdir(groups[group]);
		break;
	case 12:
		read_file(group, file);
		break;
	case 13:
		if (group < ARRAY_SIZE(groups))
			charge(group);
		break;
	case 14:
		if (group < ARRAY_SIZE(groups))
			uncharge(group);
		break;
	default:
		text = fz_bytes(in, fz_u8(in) % 80, &n);
		write_file(group, file, text, n);
		break;
	}
}

void fuzz_one(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };

	give_memory(ARRAY_SIZE(groups));
	for (unsigned i = 0; i < ARRAY_SIZE(groups); i++) {
		vfs_mkdir(groups[i], 0755);
		give_memory(i);
	}
	for (unsigned i = 0; i < OPS_MAX && in.n; i++)
		step(&in);
	for (unsigned f = 0; f < nr_files; f++)
		read_file(f % (ARRAY_SIZE(groups) + 1), files[f]);
	for (unsigned i = 0; i < ARRAY_SIZE(groups); i++)
		uncharge(i);
	for (unsigned i = ARRAY_SIZE(groups); i-- > 0;) {
		long err = sys_rmdir(groups[i]);

		MUST(err == 0 || err == -ENOENT);
	}
	rcu_barrier();
}
