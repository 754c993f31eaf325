/* SPDX-License-Identifier: MIT */
/* Implements kernel_files.h. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apps/lib/kernel_files.h"

long file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY);
	size_t done = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -1;
	while (done < size - 1 && (n = read(fd, buf + done, size - 1 - done)) > 0)
		done += (size_t)n;
	close(fd);
	if (n < 0)
		return -1;
	buf[done] = 0;
	return (long)done;
}

int file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), e;
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	e = errno;
	close(fd);
	errno = e;
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

int word_read(const char *path, const char *key, char *buf, size_t size)
{
	char text[8192];
	size_t len = strlen(key);

	if (file_read(path, text, sizeof(text)) < 0)
		return -1;
	for (char *line = text; line && *line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, key, len) || line[len] != ' ')
			continue;
		snprintf(buf, size, "%.*s", (int)strcspn(line + len + 1, "\n"), line + len + 1);
		return 0;
	}
	return -1;
}

double counter_read(const char *path, const char *key)
{
	char word[64];

	return word_read(path, key, word, sizeof(word)) < 0 ? NAN : strtod(word, NULL);
}

static void param_path(char *buf, size_t size, const char *name)
{
	snprintf(buf, size, "/proc/sys/tally/%s", name);
	for (char *p = buf + strlen("/proc/sys/tally/"); *p; p++)
		if (*p == '.')
			*p = '/';
}

int param_read(const char *name, char *buf, size_t size)
{
	char path[128];

	param_path(path, sizeof(path), name);
	if (file_read(path, buf, size) < 0)
		return -1;
	buf[strcspn(buf, "\n")] = 0;
	return 0;
}

int param_write(const char *name, const char *value)
{
	char path[128];

	param_path(path, sizeof(path), name);
	return file_write(path, value);
}

void mark_begin(int n)
{
	char text[16];

	snprintf(text, sizeof(text), "begin %d", n);
	file_write("/proc/tally/mark", text);
}

void mark_end(void)
{
	file_write("/proc/tally/mark", "end");
}

void group_path(char *buf, size_t size, const char *group, const char *file)
{
	const char *root = getenv("EXPERIMENT_CGROUP");

	snprintf(buf, size, "%s%s%s%s%s", root ? root : "/sys/fs/cgroup", *group ? "/" : "", group,
		 *file ? "/" : "", file);
}

int group_make(const char *group)
{
	char path[256];

	group_path(path, sizeof(path), group, "");
	return mkdir(path, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

int group_remove(const char *group)
{
	char path[256];

	group_path(path, sizeof(path), group, "");
	return rmdir(path);
}

int group_write(const char *group, const char *file, const char *text)
{
	char path[256];

	group_path(path, sizeof(path), group, file);
	return file_write(path, text);
}

int group_join(const char *group)
{
	return group_write(group, "cgroup.procs", "0");
}
