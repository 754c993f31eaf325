/* SPDX-License-Identifier: MIT */
/* Implements perf_maps.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/lib/perf_maps.h"

static int is_known(struct perf_maps *p, const struct perf_sample *s)
{
	unsigned i;

	for (i = 0; i < p->nr; i++)
		if (p->known[i].pid == s->pid && !strcmp(p->known[i].name, s->name))
			return 1;
	i = p->nr < PERF_PROCESSES ? p->nr++ : (unsigned)s->pid % PERF_PROCESSES;
	p->known[i].pid = s->pid;
	memcpy(p->known[i].name, s->name, sizeof(p->known[i].name));
	return 0;
}

/* START-END PERMISSIONS OFFSET DEVICE INODE NAME; 0: code of a file. */
static int parse(char *line, struct perf_map *m, size_t room)
{
	char perms[8], offset[32], name[256] = "", *rest;

	m->start = strtoull(line, &rest, 16);
	m->end = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
	if (sscanf(rest, " %7s %31s %*s %*s %255s", perms, offset, name) < 3 || perms[2] != 'x' ||
	    name[0] != '/' || strlen(name) >= room)
		return -1;
	m->offset = strtoull(offset, NULL, 16);
	strcpy(m->path, name);
	return 0;
}

void perf_maps_read(struct perf_maps *p, int32_t pid)
{
	union {
		struct perf_map m;
		char room[sizeof(struct perf_map) + 256];
	} u;
	char path[64], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		memset(&u, 0, sizeof(u));
		u.m.pid = pid;
		if (!parse(line, &u.m, 256))
			p->each(&u.m, p->arg);
	}
	if (f)
		fclose(f);
}

void perf_maps_note(struct perf_maps *p, const struct perf_sample *s)
{
	if (s->pid > 0 && s->nr_user && !is_known(p, s))
		perf_maps_read(p, s->pid);
}
