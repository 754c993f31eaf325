/* SPDX-License-Identifier: MIT */
/* Directory streams over getdents64. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "libc/syscall.h"

struct linux_dirent64 {
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

struct tally_dir {
	int fd;
	long len, pos;
	struct dirent entry;
	_Alignas(8) char buf[2048];
};

DIR *opendir(const char *path)
{
	DIR *d;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	d = malloc(sizeof(*d));
	if (!d) {
		close(fd);
		errno = ENOMEM;
		return NULL;
	}
	d->fd = fd;
	d->len = d->pos = 0;
	return d;
}

struct dirent *readdir(DIR *d)
{
	const struct linux_dirent64 *e;

	if (d->pos >= d->len) {
		d->len = sysret(sys_call3(NR_getdents64, d->fd, d->buf, sizeof(d->buf)));
		d->pos = 0;
		if (d->len <= 0)
			return NULL;
	}
	e = (const struct linux_dirent64 *)(d->buf + d->pos);
	d->pos += e->reclen;
	d->entry.d_ino = (ino_t)e->ino;
	d->entry.d_type = e->type;
	strncpy(d->entry.d_name, e->name, sizeof(d->entry.d_name) - 1);
	d->entry.d_name[sizeof(d->entry.d_name) - 1] = 0;
	return &d->entry;
}

int closedir(DIR *d)
{
	int fd = d->fd;

	free(d);
	return close(fd);
}
