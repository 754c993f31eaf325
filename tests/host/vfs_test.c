/* SPDX-License-Identifier: MIT */
/*
 * Files: random calls on our ramfs and on this Linux's tmpfs must give the same
 * (differential test), many CPUs change one tree, descriptor tables are shared,
 * pipes lose and mix nothing, everything comes back.
 *
 * SOURCES: tests/host/fs_host.c fs/anon.c fs/attr.c fs/chrdev.c fs/dcache.c fs/dirops.c fs/eventpoll.c fs/file.c fs/files.c fs/fs_context.c fs/initramfs.c fs/inode.c fs/inotify.c fs/locks.c fs/mount.c fs/namei.c fs/open.c fs/pipe.c fs/poll.c fs/ramfs.c fs/ramfs_file.c fs/rw.c fs/sendfile.c fs/socket_node.c fs/sys_fd.c fs/sys_path.c fs/sys_stat.c mm/bootmem.c mm/page_alloc.c mm/page_stats.c mm/each_cpu.c mm/slab.c mm/slab_slow.c mm/kmalloc.c mm/page_index.c mm/iov.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <cmocka.h>

#include "tests/host/fs_host.h"
#include "tests/host/mm_stub.h"
#include "fs/internal.h"
#include "fs/ramfs.h"
#include "fs/sys.h"
#include "mm/page_index.h"

long syscall(long nr, ...);

/* ---- parts that are not linked ---- */

void owner_get(struct owner *o)
{
}
void owner_put(struct owner *o)
{
}
/* Programs that race on a file's bytes are their own affair: not shown to the thread sanitizer. */
__attribute__((no_sanitize("thread"))) static void quiet_copy(void *d, const void *s, size_t n)
{
	for (size_t k = 0; k < n; k++)
		((volatile char *)d)[k] = ((const volatile char *)s)[k];
}
size_t copy_to_user_part(void *d, const void *s, size_t n)
{
	quiet_copy(d, s, n);
	return n;
}
size_t copy_from_user_part(void *d, const void *s, size_t n)
{
	quiet_copy(d, s, n);
	return n;
}
size_t clear_user_part(void *d, size_t n);
size_t clear_user_part(void *d, size_t n)
{
	memset(d, 0, n);
	return n;
}
int copy_to_user(void *d, const void *s, size_t n)
{
	memcpy(d, s, n);
	return 0;
}
int copy_from_user(void *d, const void *s, size_t n)
{
	memcpy(d, s, n);
	return 0;
}
long strncpy_from_user(char *d, const char *s, size_t n)
{
	size_t k = strnlen(s, n);

	if (k == n)
		return -ENAMETOOLONG;
	memcpy(d, s, k + 1);
	return (long)k;
}
bool user_range_ok(const void *p, size_t n)
{
	return true;
}
static _Atomic int sigpipes;
int signal_thread(struct thread *t, int sig)
{
	sigpipes++;
	return 0;
}
/* ---- the same calls on both sides ---- */

#define LINUX(nr, ...)                                                                             \
	({                                                                                         \
		long _r = syscall(nr, __VA_ARGS__);                                                \
		_r < 0 ? -(long)errno : _r;                                                        \
	})

#define LINUX_DIR "/dev/shm/tally-vfs-%ld" /* with the test's process id */
static int ours, theirs; /* descriptors of the two top folders */

static const char *const names[] = {
	"a",	    "b",      "c",	"d",	   "a/b",	"a/c",	 "b/a",	  "b/c/d",   "c/a",
	"a/b/c",    "a/b/c/d", "./a",	"a/.",	   "a/..",	"b/../a", "a/../b/.", "a/",	"c/",
	"b//c",	    "l",      "l/a",	"m",	   "m/b",	"l/",	 ".",	  "..",	     "",
	"a/b/../c", "d/.",    "q/r/s",	"a/b/l",   "a/b/l/x",	"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
	"a/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn",
};
static const char *const targets[] = { "a", "b", "a/b", "..", "l", "m", "../b", "nowhere", "a/", "." };

static const char *pick(uint64_t *seed)
{
	return names[host_random(seed) % ARRAY_SIZE(names)];
}

static bool same_stat(const struct kstat *a, const struct kstat *b, const char *path)
{
	/* A folder's size and link count are the file system's own affair on tmpfs, too. */
	return a->mode == b->mode && (S_ISDIR(a->mode) || (a->size == b->size && a->nlink == b->nlink));
}

static long open_both(uint64_t *seed, char *what, size_t n, long *linux_ret)
{
	static const unsigned flag[] = { O_CREAT, O_EXCL, O_TRUNC, O_DIRECTORY, O_NOFOLLOW, O_APPEND };
	unsigned flags = (unsigned)(host_random(seed) % 3);
	const char *p = pick(seed);
	char data[64], back[2][64];
	long fd, lfd;

	for (unsigned k = 0; k < ARRAY_SIZE(flag); k++) {
		if (host_random(seed) % (k == 0 ? 2 : 5) == 0)
			flags |= flag[k];
	}
	/* Linux itself is of two minds about this pair (it made the file before 6.4). */
	if ((flags & (O_CREAT | O_DIRECTORY)) == (O_CREAT | O_DIRECTORY))
		flags &= ~O_DIRECTORY;
	snprintf(what, n, "open %s 0%o", p, flags);
	fd = sys_openat(ours, p, (int)flags, 0644);
	lfd = LINUX(SYS_openat, theirs, p, flags, 0644);
	*linux_ret = lfd;
	if (fd < 0 || lfd < 0)
		return fd;
	*linux_ret = 0;
	for (int k = 0; k < 3; k++) {
		int64_t off = (int64_t)(host_random(seed) % 9000);
		size_t len = 1 + host_random(seed) % sizeof(data);
		long r[2];

		memset(data, (int)host_random(seed), sizeof(data));
		memset(back, 0, sizeof(back));
		HOST_CHECK_EQ(sys_pwrite64((int)fd, data, len, off),
			      LINUX(SYS_pwrite64, lfd, data, len, off));
		off = (int64_t)(host_random(seed) % 9000);
		r[0] = sys_pread64((int)fd, back[0], len, off);
		r[1] = LINUX(SYS_pread64, lfd, back[1], len, off);
		HOST_CHECK_EQ(r[0], r[1]);
		HOST_CHECK(!memcmp(back[0], back[1], 64));
	}
	HOST_CHECK_EQ(sys_write((int)fd, data, 5), LINUX(SYS_write, lfd, data, 5));
	for (int whence = SEEK_SET; whence <= SEEK_HOLE; whence++) {
		int64_t off = (int64_t)(host_random(seed) % 12000) - 10;

		if (whence != SEEK_SET && whence != SEEK_CUR && whence != SEEK_END && (flags & O_DIRECTORY))
			continue;
		if (sys_read((int)fd, back[0], 0) == -EISDIR)
			break;
		HOST_CHECK_EQ(sys_lseek((int)fd, off, whence), LINUX(SYS_lseek, lfd, off, whence));
	}
	if (host_random(seed) % 4 == 0) {
		int64_t size = (int64_t)(host_random(seed) % 12000);

		HOST_CHECK_EQ(sys_ftruncate((int)fd, size), LINUX(SYS_ftruncate, lfd, size));
	}
	HOST_CHECK_EQ(sys_close((int)fd), LINUX(SYS_close, lfd));
	return 0;
}

static int sort_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a getdents64 buffer, sorted, as one string. */
static void listing(char *buf, long n, char *out, size_t size)
{
	char *v[256];
	size_t c = 0, len = 0;

	for (long at = 0; at < n && c < ARRAY_SIZE(v);) {
		char *e = buf + at;
		uint16_t reclen;

		memcpy(&reclen, e + 16, 2);
		v[c++] = e + 18; /* type and name */
		at += reclen;
	}
	qsort(v, c, sizeof(*v), sort_names);
	out[0] = '\0';
	for (size_t k = 0; k < c && len < size; k++)
		len += (size_t)snprintf(out + len, size - len, "%d:%s ", v[k][0], v[k] + 1);
}

static long list_both(const char *p, long *linux_ret)
{
	static char b[2][16384], t[2][4096];
	long fd = sys_openat(ours, p, O_DIRECTORY, 0), lfd = LINUX(SYS_openat, theirs, p, O_DIRECTORY, 0);
	long n, ln;

	*linux_ret = lfd;
	if (fd < 0 || lfd < 0)
		return fd;
	n = sys_getdents64((int)fd, b[0], sizeof(b[0]));
	ln = LINUX(SYS_getdents64, lfd, b[1], sizeof(b[1]));
	listing(b[0], n, t[0], sizeof(t[0]));
	listing(b[1], ln, t[1], sizeof(t[1]));
	if (strcmp(t[0], t[1]))
		host_fail(__FILE__, __LINE__, "list %s: %s, Linux %s", p, t[0], t[1]);
	sys_close((int)fd);
	LINUX(SYS_close, lfd);
	*linux_ret = 0;
	return 0;
}

static long one_call(uint64_t *seed, char *what, size_t n, long *linux_ret)
{
	const char *p = pick(seed), *q = pick(seed);
	struct kstat st = { 0 }, lst = { 0 };
	char b[2][64] = { "", "" };
	unsigned v;
	long r;

	switch (host_random(seed) % 14) {
	case 0:
	case 1:
		snprintf(what, n, "mkdir %s", p);
		*linux_ret = LINUX(SYS_mkdirat, theirs, p, 0755);
		return sys_mkdirat(ours, p, 0755);
	case 2:
		snprintf(what, n, "rmdir %s", p);
		*linux_ret = LINUX(SYS_unlinkat, theirs, p, AT_REMOVEDIR);
		return sys_unlinkat(ours, p, AT_REMOVEDIR);
	case 3:
		snprintf(what, n, "unlink %s", p);
		*linux_ret = LINUX(SYS_unlinkat, theirs, p, 0);
		return sys_unlinkat(ours, p, 0);
	case 4:
	case 5:
		v = host_random(seed) % 4 ? 0 : 1; /* RENAME_NOREPLACE */
		snprintf(what, n, "rename %s %s %u", p, q, v);
		*linux_ret = LINUX(SYS_renameat2, theirs, p, theirs, q, v);
		return sys_renameat2(ours, p, ours, q, v);
	case 6:
		v = host_random(seed) % 2 ? AT_SYMLINK_FOLLOW : 0;
		snprintf(what, n, "link %s %s %x", p, q, v);
		*linux_ret = LINUX(SYS_linkat, theirs, p, theirs, q, v);
		return sys_linkat(ours, p, ours, q, (int)v);
	case 7:
		q = targets[host_random(seed) % ARRAY_SIZE(targets)];
		snprintf(what, n, "symlink %s %s", q, p);
		*linux_ret = LINUX(SYS_symlinkat, q, theirs, p);
		return sys_symlinkat(q, ours, p);
	case 8:
	case 9:
		v = host_random(seed) % 2 ? AT_SYMLINK_NOFOLLOW : 0;
		snprintf(what, n, "stat %s %x", p, v);
		*linux_ret = LINUX(SYS_newfstatat, theirs, p, &lst, v);
		r = sys_newfstatat(ours, p, &st, (int)v);
		if (!r && !*linux_ret && !same_stat(&st, &lst, p))
			host_fail(__FILE__, __LINE__, "stat %s: mode %o size %ld links %lu, Linux %o %ld %lu",
				  p, st.mode, (long)st.size, (unsigned long)st.nlink, lst.mode,
				  (long)lst.size, (unsigned long)lst.nlink);
		return r;
	case 10:
		snprintf(what, n, "readlink %s", p);
		*linux_ret = LINUX(SYS_readlinkat, theirs, p, b[1], 63);
		r = sys_readlinkat(ours, p, b[0], 63);
		HOST_CHECK(r != *linux_ret || !strcmp(b[0], b[1]));
		return r;
	case 11:
		snprintf(what, n, "list %s", p);
		return list_both(p, linux_ret);
	default:
		return open_both(seed, what, n, linux_ret);
	}
}

static void against_linux(void)
{
	static const char nest[] = "/v/v/v/v/v/v/v/v/v/w";
	char dir[64], sub[128], what[160];
	struct page_stats after;
	uint64_t seed = 2026;

	fs_host_up();
	current->process = fs_host_process();
	LINUX(SYS_umask, 022);
	for (int round = 0; round < 12; round++) {
		/* On both sides a folder well below the top: links with ".." may leave it. */
		snprintf(dir, sizeof(dir), LINUX_DIR "-%d", syscall(SYS_getppid), round);
		HOST_CHECK_EQ(LINUX(SYS_mkdir, dir, 0755), 0);
		for (size_t n = 2; n <= sizeof(nest); n += 2) {
			snprintf(sub, sizeof(sub), "%s%.*s", dir, (int)n, nest);
			HOST_CHECK_EQ(LINUX(SYS_mkdir, sub, 0755), 0);
		}
		theirs = (int)LINUX(SYS_openat, AT_FDCWD, sub, O_DIRECTORY, 0);
		HOST_CHECK(theirs >= 0);
		HOST_CHECK_EQ(sys_mkdir("/top", 0755), 0);
		HOST_CHECK_EQ(sys_mount("none", "/top", "tmpfs", 0, "mode=755"), 0);
		for (size_t n = 2; n <= sizeof(nest); n += 2) {
			snprintf(sub, sizeof(sub), "/top%.*s", (int)n, nest);
			HOST_CHECK_EQ(sys_mkdir(sub, 0755), 0);
		}
		ours = (int)sys_open(sub, O_DIRECTORY, 0);
		HOST_CHECK(ours >= 0);
		for (int k = 0; k < 1500; k++) {
			long linux_ret = 0, r;

			what[0] = '\0';
			r = one_call(&seed, what, sizeof(what), &linux_ret);
			if (r != linux_ret && !(r >= 0 && linux_ret >= 0))
				host_fail(__FILE__, __LINE__, "round %d call %d: %s: %ld, Linux %ld", round, k,
					  what, r, linux_ret);
		}
		LINUX(SYS_close, theirs);
		HOST_CHECK_EQ(sys_umount2("/top", 0), -EBUSY);
		sys_close(ours);
		HOST_CHECK_EQ(sys_umount2("/top", 0), 0);
		HOST_CHECK_EQ(sys_rmdir("/top"), 0);
	}
	rcu_barrier();
	slab_drain();
	page_drain_pcp();
	page_stats(&after);
	HOST_CHECK_EQ(after.kind[PAGE_FILE], 0);
	check_sum();
}

/* ---- many CPUs, one tree ---- */

static _Atomic int running;
static _Atomic uint64_t successes;

static void churn(void *arg)
{
	uint64_t seed = 77 + (uintptr_t)arg;
	char p[64], q[64];
	struct kstat st;

	current->process = fs_host_process();
	for (int k = 0; k < 3000; k++) {
		unsigned x = (unsigned)host_random(&seed);
		int fd;

		snprintf(p, sizeof(p), "/t/d%u/f%u", x % 3, x / 8 % 6);
		snprintf(q, sizeof(q), "/t/d%u/f%u", x / 64 % 3, x / 512 % 6);
		switch (x / 8192 % 7) {
		case 0:
			fd = (int)sys_open(p, O_CREAT | O_RDWR, 0644);
			if (fd >= 0) {
				sys_write(fd, p, 10);
				sys_close(fd);
				successes++;
			}
			break;
		case 1:
			successes += !sys_unlink(p);
			break;
		case 2:
			successes += !sys_rename(p, q);
			break;
		case 3:
			successes += !sys_stat(p, &st);
			break;
		case 4:
			successes += !sys_mkdir(p, 0755);
			break;
		case 5:
			successes += !sys_rmdir(p);
			break;
		case 6:
			successes += !sys_link(p, q);
			break;
		}
		if (k % 64 == 0)
			cond_resched();
	}
	files_put(current->process->files);
	fs_context_put(current->process->fs);
	running--;
}

static void start(void (*fn)(void *), unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		struct thread *t = thread_create("worker", fn, (void *)(uintptr_t)k, (int)(k % nr_cpus));

		HOST_CHECK(!IS_ERR(t));
		running++;
		thread_start(t);
		thread_put(t);
	}
}

static void wait_workers(void)
{
	while (running)
		thread_sleep_until(clock_ns() + NSEC_PER_MSEC, false);
}

static void one_tree(void)
{
	struct page_stats s;

	fs_host_up();
	current->process = fs_host_process();
	HOST_CHECK_EQ(sys_mkdir("/t", 0755), 0);
	HOST_CHECK_EQ(sys_mount("none", "/t", "tmpfs", 0, NULL), 0);
	HOST_CHECK_EQ(sys_mkdir("/t/d0", 0755), 0);
	HOST_CHECK_EQ(sys_mkdir("/t/d1", 0755), 0);
	HOST_CHECK_EQ(sys_mkdir("/t/d2", 0755), 0);
	start(churn, 8);
	wait_workers();
	HOST_CHECK(successes > 1000);
	rcu_barrier();
	HOST_CHECK_EQ(sys_umount2("/t", 0), 0); /* nobody holds a reference any more */
	rcu_barrier();
	page_stats(&s);
	HOST_CHECK_EQ(s.kind[PAGE_FILE], 0);
}

/* ---- one descriptor table, many threads ---- */

static struct process *shared;

static void fd_churn(void *arg)
{
	uint64_t seed = 5 + (uintptr_t)arg;
	char b[16];

	current->process = shared;
	for (int k = 0; k < 3000; k++) {
		unsigned x = (unsigned)host_random(&seed);
		int fd = (int)(x / 16 % 100);

		switch (x % 5) {
		case 0:
			fd = (int)sys_open("/f", O_RDWR | O_CREAT, 0644);
			HOST_CHECK(fd >= 0);
			if (x & 256)
				sys_close(fd);
			break;
		case 1:
			sys_close(fd);
			break;
		case 2:
			sys_dup2(fd, (int)(x / 4096 % 200));
			break;
		case 3:
			sys_pread64(fd, b, sizeof(b), 0);
			break;
		case 4:
			sys_pwrite64(fd, "0123456789abcdef", 16, 0);
			break;
		}
		if (k % 64 == 0)
			cond_resched();
	}
	running--;
}

static void one_table(void)
{
	struct kstat st;

	fs_host_up();
	shared = fs_host_process();
	current->process = shared;
	HOST_CHECK(sys_open("/f", O_RDWR | O_CREAT, 0644) >= 0);
	shared->nr_threads = 5;
	start(fd_churn, 4);
	wait_workers();
	files_put(shared->files);
	current->process = fs_host_process();
	HOST_CHECK_EQ(sys_stat("/f", &st), 0);
	HOST_CHECK_EQ(sys_unlink("/f"), 0);
	rcu_barrier();
	{
		struct page_stats s;

		page_stats(&s);
		HOST_CHECK_EQ(s.kind[PAGE_FILE], 0);
	}
}

/* ---- pipes ---- */

static struct file *ends[2];
#define MESSAGES 2000

/* Writers: messages of one letter that are at most PIPE_BUF, so they may not mix. */
static void pipe_writer(void *arg)
{
	static const size_t size[] = { 1, 700, 4096, 13, 2048 };
	char *b = malloc(4096);
	size_t n = size[(uintptr_t)arg % ARRAY_SIZE(size)];

	memset(b, 'a' + (int)(uintptr_t)arg, 4096);
	b[n - 1] = '\n';
	for (int k = 0; k < MESSAGES; k++)
		HOST_CHECK_EQ(vfs_write(ends[1], b, n, &(loff_t){ 0 }), n);
	free(b);
	fput(ends[1]);
	running--;
}

static void pipes(void)
{
	static char b[8192];
	uint64_t lines = 0, bytes = 0, want = 0;
	char current_letter = 0;
	struct poll_table none = { 0 };
	ssize_t n;

	fs_host_up();
	HOST_CHECK_EQ(pipe_files(ends, 0), 0);
	HOST_CHECK_EQ(file_poll(ends[0], &none) & EPOLLIN, 0);
	HOST_CHECK(file_poll(ends[1], &none) & EPOLLOUT);
	for (int k = 0; k < 4; k++)
		file_get(ends[1]);
	start(pipe_writer, 5);
	for (;;) {
		n = vfs_read(ends[0], b, 1 + (size_t)(bytes * 31 % sizeof(b)), NULL);
		HOST_CHECK(n >= 0);
		if (!n)
			break;
		bytes += (uint64_t)n;
		for (ssize_t k = 0; k < n; k++) {
			if (b[k] == '\n') {
				lines++;
				current_letter = 0;
			} else {
				HOST_CHECK(!current_letter || current_letter == b[k]);
				current_letter = b[k];
			}
		}
	}
	wait_workers();
	want = (uint64_t)MESSAGES * (1 + 700 + 4096 + 13 + 2048);
	HOST_CHECK_EQ(bytes, want);
	HOST_CHECK_EQ(lines, MESSAGES * 5);
	fput(ends[0]);
	/* Nobody reads: EPIPE and the signal. */
	HOST_CHECK_EQ(pipe_files(ends, 0), 0);
	fput(ends[0]);
	current->process = fs_host_process();
	HOST_CHECK_EQ(vfs_write(ends[1], "x", 1, NULL), -EPIPE);
	HOST_CHECK_EQ(sigpipes, 1);
	fput(ends[1]);
	/* Full: what fits of a large write; nothing of a small one that does not fit whole. */
	HOST_CHECK_EQ(pipe_files(ends, O_NONBLOCK), 0);
	{
		char *big = calloc(1, 100000);

		HOST_CHECK_EQ(vfs_write(ends[1], big, 100000, NULL), 65536);
		HOST_CHECK_EQ(vfs_write(ends[1], big, 1, NULL), -EAGAIN);
		HOST_CHECK_EQ(vfs_read(ends[0], big, 100, NULL), 100);
		HOST_CHECK_EQ(vfs_write(ends[1], big, 101, NULL), -EAGAIN);
		HOST_CHECK_EQ(vfs_read(ends[0], big, 100000, NULL), 65436);
		HOST_CHECK_EQ(vfs_read(ends[0], big, 1, NULL), -EAGAIN);
		free(big);
	}
	fput(ends[0]);
	fput(ends[1]);
}

/* ---- without memory ---- */

static void no_memory(void)
{
	struct page_stats s;
	char b[4096] = { 0 };
	int fd, err = 0;

	fs_host_up();
	current->process = fs_host_process();
	fd = (int)sys_open("/f", O_RDWR | O_CREAT, 0644);
	HOST_CHECK(fd >= 0);
	stub_charging = true;
	atomic_store(&stub_limit, 50);
	for (int k = 0; k < 100 && err >= 0; k++)
		err = (int)sys_write(fd, b, sizeof(b));
	HOST_CHECK_EQ(err, -ENOMEM);
	atomic_store(&stub_limit, INT64_MAX);
	HOST_CHECK_EQ(sys_ftruncate(fd, 0), 0);
	sys_close(fd);
	HOST_CHECK_EQ(sys_unlink("/f"), 0);
	rcu_barrier();
	page_stats(&s);
	HOST_CHECK_EQ(s.kind[PAGE_FILE], 0);
	HOST_CHECK_EQ(stub_pages, 0);
}

static void test_against_linux(void **state)
{
	char cmd[80];
	int r = host_run(1, against_linux);

	snprintf(cmd, sizeof(cmd), "rm -rf " LINUX_DIR "-*", syscall(SYS_getpid));
	assert_int_equal(system(cmd), 0);
	assert_int_equal(r, 0);
}
static void test_one_tree(void **state)
{
	assert_int_equal(host_run(4, one_tree), 0);
}
static void test_one_table(void **state)
{
	assert_int_equal(host_run(4, one_table), 0);
}
static void test_pipes(void **state)
{
	assert_int_equal(host_run(4, pipes), 0);
}
static void test_no_memory(void **state)
{
	assert_int_equal(host_run(1, no_memory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_linux), cmocka_unit_test(test_one_tree),
		cmocka_unit_test(test_one_table),     cmocka_unit_test(test_pipes),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
