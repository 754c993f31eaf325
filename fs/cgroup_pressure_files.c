/* SPDX-License-Identifier: MIT */
/*
 * memory.pressure: time lost to a lack of memory, and triggers: a write of
 * "some|full STALL_US WINDOW_US" makes poll() on that open file report POLLPRI when so
 * much was lost within a window.  One trigger per open file, as on Linux.
 */
#include "fs/cgroup.h"
#include "mm/psi.h"

int cg_pressure_show(struct seq *s, struct memcg *m)
{
	static const char *const names[NR_PSI] = { "some", "full" };
	struct psi_figures f[NR_PSI];

	psi_read(m, f);
	for (unsigned w = 0; w < NR_PSI; w++)
		seq_printf(s, "%s avg10=%u.%02u avg60=%u.%02u avg300=%u.%02u total=%llu\n",
			   names[w], f[w].avg10 / 100, f[w].avg10 % 100, f[w].avg60 / 100,
			   f[w].avg60 % 100, f[w].avg300 / 100, f[w].avg300 % 100,
			   (unsigned long long)(f[w].total / NSEC_PER_USEC));
	return 0;
}

static const char *read_us(const char *s, uint64_t *us)
{
	const char *from = s;

	for (*us = 0; *s >= '0' && *s <= '9'; s++)
		*us = min(*us * 10 + (uint64_t)(*s - '0'), (uint64_t)UINT32_MAX);
	return s == from ? NULL : s;
}

struct psi_trigger *cg_pressure_trigger(struct memcg *m, const char *text)
{
	bool full = !strncmp(text, "full ", 5);
	const char *s = text;
	uint64_t stall, window;

	if (!full && strncmp(text, "some ", 5))
		return ERR_PTR(-EINVAL);
	for (s += 5; *s == ' '; s++)
		;
	s = read_us(s, &stall);
	if (!s || *s != ' ')
		return ERR_PTR(-EINVAL);
	for (; *s == ' '; s++)
		;
	if (!read_us(s, &window))
		return ERR_PTR(-EINVAL);
	return psi_trigger_create(m, full ? PSI_FULL : PSI_SOME, stall * NSEC_PER_USEC,
				  window * NSEC_PER_USEC);
}

static int pressure_write(struct cg_opened *o, char *text)
{
	struct psi_trigger *t, *none = NULL;

	if (atomic_load_explicit(&o->trigger, memory_order_relaxed))
		return -EBUSY;
	t = cg_pressure_trigger(o->node->group, text);
	if (IS_ERR(t))
		return (int)PTR_ERR(t);
	if (!atomic_compare_exchange_strong_explicit(&o->trigger, &none, t, memory_order_acq_rel,
						     memory_order_relaxed)) {
		psi_trigger_destroy(t);
		return -EBUSY;
	}
	return 0;
}

const struct cg_file cg_pressure_files[] = {
	{ .name = "memory.pressure", .mode = 0644, .flags = CG_PRESSURE | CG_RAW,
	  .show = cg_pressure_show, .write_as = pressure_write },
};
const unsigned nr_cg_pressure_files = ARRAY_SIZE(cg_pressure_files);
