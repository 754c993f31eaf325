/* SPDX-License-Identifier: MIT */
/* memory.pressure: time lost to a lack of memory. */
#include "fs/cgroup.h"

/* Time lost to a lack of memory is not measured; nobody loses any but by dying. */
static int pressure_show(struct seq *s, struct memcg *m)
{
	seq_printf(s, "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
		      "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	return 0;
}

static const char *read_us(const char *s, uint64_t *us)
{
	const char *from = s;

	for (*us = 0; *s >= '0' && *s <= '9'; s++)
		*us = min(*us * 10 + (uint64_t)(*s - '0'), (uint64_t)UINT32_MAX);
	return s == from ? NULL : s;
}

/* A trigger, "some|full STALL_US WINDOW_US": checked; it never fires. */
static int pressure_write(struct memcg *m, char *text)
{
	uint64_t stall, window;
	const char *s = text;

	if (strncmp(s, "some ", 5) && strncmp(s, "full ", 5))
		return -EINVAL;
	for (s += 5; *s == ' '; s++)
		;
	s = read_us(s, &stall);
	if (!s || *s != ' ')
		return -EINVAL;
	for (; *s == ' '; s++)
		;
	if (!read_us(s, &window))
		return -EINVAL;
	if (window < 500000 || window > 10000000 || !stall || stall > window)
		return -EINVAL;
	return 0;
}

const struct cg_file cg_pressure_files[] = {
	{ .name = "memory.pressure", .mode = 0644, .flags = CG_PRESSURE | CG_RAW,
	  .show = pressure_show, .write = pressure_write },
};
const unsigned nr_cg_pressure_files = ARRAY_SIZE(cg_pressure_files);
