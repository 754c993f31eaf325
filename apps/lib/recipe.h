/* SPDX-License-Identifier: MIT */
/*
 * The recipe: netserver and N netperf clients, once in the root group and once
 * in a group three levels deep, in alternating order.
 */
#ifndef APPS_LIB_RECIPE_H
#define APPS_LIB_RECIPE_H

struct recipe {
	unsigned clients, rounds, groups;
	double seconds;
	const char *variant; /* for the records; NULL: none */
	int layout_fields;   /* add counter_bytes and group_bytes */
	int profile;         /* say where the group's processes spend their time */
};

/**
 * recipe_run - run all rounds, print lines and records
 * Return: 0, or -1 after a message on standard error.
 */
int recipe_run(const struct recipe *r);

#endif
