/* SPDX-License-Identifier: MIT */
#ifndef APPS_LIB_WALK_H
#define APPS_LIB_WALK_H

#include <stdint.h>

struct walk {
	unsigned cores;  /* readers; 0: as many as CPUs */
	uint64_t file;   /* bytes of each reader's file */
	uint64_t limit;  /* bytes of each container's memory.max */
	unsigned passes; /* times that each file is read */
};

/**
 * walk_run - the cost of the lock around look-ups by id in the reclaim walk
 *
 * Makes a RAM disk with a file for each core.  Then, for memcg.walk = spin, rwlock and
 * rcu: one container with the limit per core, and in each, made after all containers, a
 * group from which a reader reads its file from start to end, all at once.  The file does
 * not fit, so every few pages reclaim walks the container's subtree.  Meanwhile this
 * process makes and removes a group again and again.
 * Prints a line and the record "walk" for each: seconds until the first reader is done,
 * bytes read by all, reclaim rounds, look-ups, the largest usage of a container ever
 * (memory.peak), worst mkdir.
 * Return: 0 if all read what was written and no container passed its limit, else -1.
 */
int walk_run(const struct walk *w);

#endif
