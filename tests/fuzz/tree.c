/* SPDX-License-Identifier: MIT */
/* What an input left in the file system, removed: fuzz.h. */
#include "fs/internal.h"
#include "fs/sys.h"
#include "kernel/errno.h"
#include "tests/fuzz/fuzz.h"

#define DEPTH_MAX 40

struct entry { /* Linux struct linux_dirent64 */
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

/* Removes what is in the folder @fd. */
static void empty(int fd, unsigned depth)
{
	char buf[4096] __attribute__((aligned(8)));
	long n;

	MUST(depth < DEPTH_MAX);
	while (sys_lseek(fd, 0, 0), (n = sys_getdents64(fd, buf, sizeof(buf))) > 0) {
		unsigned removed = 0;

		for (long at = 0; at < n;) {
			struct entry *e = (struct entry *)(void *)(buf + at);
			int sub;

			at += e->len;
			if (!strcmp(e->name, ".") || !strcmp(e->name, ".."))
				continue;
			sub = (int)sys_openat(fd, e->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
			if (sub >= 0) {
				empty(sub, depth + 1);
				sys_close(sub);
			}
			MUST(sys_unlinkat(fd, e->name, sub >= 0 ? AT_REMOVEDIR : 0) == 0);
			removed++;
		}
		if (!removed)
			break;
	}
	MUST(n >= 0);
}

void fuzz_remove_tree(const char *path)
{
	int root = (int)sys_open(path, O_RDONLY | O_DIRECTORY, 0);

	MUST(root >= 0);
	empty(root, 0);
	sys_close(root);
}
