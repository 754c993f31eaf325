/* SPDX-License-Identifier: MIT */
/*
 * The kernel's files that experiments use: groups under /sys/fs/cgroup (or
 * $EXPERIMENT_CGROUP), counters and parameters of Tally under /proc.  Where a
 * counter's file is missing (Linux) its value is NaN.
 */
#ifndef APPS_LIB_KERNEL_FILES_H
#define APPS_LIB_KERNEL_FILES_H

#include <stddef.h>

/* Reads up to @size - 1 bytes and ends them with NUL; bytes, or -1 with errno. */
long file_read(const char *path, char *buf, size_t size);
/* Writes @text to an existing file; 0, or -1 with errno. */
int file_write(const char *path, const char *text);

/* The value of @key in a file of lines "key value"; NaN if there is none. */
double counter_read(const char *path, const char *key);
/* The same for a word as the value; 0, or -1. */
int word_read(const char *path, const char *key, char *buf, size_t size);

#define MEMCG_COUNTERS "/proc/tally/memcg_counters"
#define MEMCG_LAYOUT   "/proc/tally/memcg_layout"
#define NET_COUNTERS   "/proc/tally/net"

/* A parameter, e.g. "memcg.batch", under /proc/sys/tally; 0 or -1 with errno. */
int param_read(const char *name, char *buf, size_t size);
int param_write(const char *name, const char *value);

/* Marks for the instruction plugin; nothing where there are none. */
void mark_begin(int n);
void mark_end(void);

/* Path of a group below the mount point, "" for the root. */
void group_path(char *buf, size_t size, const char *group, const char *file);
int group_make(const char *group); /* 0 also if it exists */
int group_remove(const char *group);
int group_write(const char *group, const char *file, const char *text);
int group_join(const char *group); /* this process */

#endif
