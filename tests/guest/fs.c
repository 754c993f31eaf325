/* SPDX-License-Identifier: MIT */
/* Files from all CPUs at once: one tree that everybody changes, pipes, memory that comes back. */
#include "arch/arch.h"
#include "fs/internal.h"
#include "fs/sys.h"
#include "kernel/rcu.h"
#include "kernel/selftest.h"

#define DIR "/tmp/selftest"
#define LOOPS 300u

static uint32_t next(uint32_t *s)
{
	*s = *s * 1664525u + 1013904223u;
	return *s >> 8;
}

static void churn(unsigned index)
{
	uint32_t seed = index + 1;
	char p[64], q[64];

	for (unsigned i = 0; i < LOOPS; i++) {
		uint32_t x = next(&seed);
		struct file *f;

		snprintf(p, sizeof(p), DIR "/d%u/f%u", x % 4, x / 4 % 8);
		snprintf(q, sizeof(q), DIR "/d%u/f%u", x / 32 % 4, x / 128 % 8);
		switch (x / 1024 % 6) {
		case 0:
		case 1:
			f = vfs_open(p, O_CREAT | O_RDWR, 0644);
			if (!IS_ERR(f)) {
				if (vfs_write(f, p, 20, NULL) < 0)
					selftest_fail(__FILE__, __LINE__, "write");
				fput(f);
			}
			break;
		case 2:
			do_unlinkat(AT_FDCWD, p, 0);
			break;
		case 3:
			do_renameat(AT_FDCWD, p, AT_FDCWD, q, 0);
			break;
		case 4:
			do_mkdirat(AT_FDCWD, p, 0755);
			break;
		case 5:
			do_unlinkat(AT_FDCWD, p, AT_REMOVEDIR);
			break;
		}
		cond_resched();
	}
}

SELFTEST(fs_tree, 20000)
{
	char p[32];

	SELFTEST_CHECK(!vfs_mkdir_parents(DIR, 0755));
	SELFTEST_CHECK(!vfs_mount("none", DIR, "tmpfs", 0, NULL));
	for (unsigned k = 0; k < 4; k++) {
		snprintf(p, sizeof(p), DIR "/d%u", k);
		SELFTEST_CHECK(!vfs_mkdir(p, 0755));
	}
	selftest_threads(min(nr_cpus * 2, 96u), churn);
	/* Succeeds only if nobody holds a reference to anything in it. */
	SELFTEST_CHECK(!do_umount(DIR, 0));
	SELFTEST_CHECK(!do_unlinkat(AT_FDCWD, DIR, AT_REMOVEDIR));
}

static struct file *ends[2];
static _Atomic unsigned letters[26];

/* Even threads write messages of one letter, odd ones read single bytes and chunks. */
static void pipe_crew(unsigned index)
{
	char b[100];

	if (index % 2 == 0) {
		memset(b, 'a' + (int)(index / 2 % 26), sizeof(b));
		for (unsigned i = 0; i < 50; i++) {
			if (vfs_write(ends[1], b, sizeof(b), &(loff_t){ 0 }) != sizeof(b))
				selftest_fail(__FILE__, __LINE__, "short write");
		}
		return;
	}
	/* As many bytes as one writer gives, so that all threads end. */
	for (unsigned left = 50 * sizeof(b); left;) {
		ssize_t n = vfs_read(ends[0], b, min((size_t)left, 1 + index % sizeof(b)),
				     &(loff_t){ 0 });

		if (n <= 0) {
			selftest_fail(__FILE__, __LINE__, "read");
			return;
		}
		for (ssize_t k = 0; k < n; k++)
			atomic_fetch_add_explicit(&letters[b[k] - 'a'], 1, memory_order_relaxed);
		left -= (unsigned)n;
	}
}

SELFTEST(fs_pipe, 20000)
{
	unsigned pairs = min(nr_cpus, 48u);

	for (unsigned k = 0; k < 26; k++)
		atomic_store(&letters[k], 0);
	SELFTEST_CHECK(!pipe_files(ends, 0));
	selftest_threads(pairs * 2, pipe_crew);
	fput(ends[0]);
	fput(ends[1]);
	for (unsigned k = 0; k < 26; k++) {
		unsigned writers = pairs / 26 + (k < pairs % 26);

		SELFTEST_CHECK(letters[k] == writers * 50 * 100);
	}
}

static void walker(unsigned index)
{
	struct kstat st;

	for (unsigned i = 0; i < LOOPS; i++) {
		struct file *f = vfs_open(i % 2 ? "/bin/busybox" : "/proc/meminfo", O_RDONLY, 0);

		if (IS_ERR(f)) {
			selftest_fail(__FILE__, __LINE__, "open");
			return;
		}
		if (vfs_stat_file(f, &st) || !S_ISREG(st.mode))
			selftest_fail(__FILE__, __LINE__, "stat");
		fput(f);
		cond_resched();
	}
}

SELFTEST(fs_walk, 20000)
{
	selftest_threads(min(nr_cpus * 2, 96u), walker);
}
