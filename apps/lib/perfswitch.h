/* SPDX-License-Identifier: MIT */
#ifndef APPS_LIB_PERFSWITCH_H
#define APPS_LIB_PERFSWITCH_H

struct perfswitch {
	unsigned pmus;	/* idle PMUs beside the machine's own */
	unsigned types; /* 1 or 2 PMUs with group events; 0: all rows */
	int l2, l3;	/* 1 high, 0 low; used with types */
	unsigned turns; /* of the token */
};

/**
 * perfswitch_run - what a switch between groups costs, visiting all contexts or active ones
 * Prints a line and a record "perfswitch" for each row and variant.
 * Return: 0, or -1 after a message.
 */
int perfswitch_run(const struct perfswitch *p);

#endif
