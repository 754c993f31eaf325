/* SPDX-License-Identifier: MIT */
#ifndef APPS_LIB_GROUPS_H
#define APPS_LIB_GROUPS_H

/**
 * groups_run - what many memory groups cost
 * @n: groups, side by side in one parent
 *
 * Creates them, walks one process through all of them, touching a new page in
 * each, reads the last one's memory.stat, removes all while the pages live, frees
 * the pages.  Prints a line and the record "groups".  Return: 0 if nothing failed
 * and nothing was left, else -1.
 */
int groups_run(unsigned n);

#endif
