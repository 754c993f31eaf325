/* SPDX-License-Identifier: MIT */
/*
 * /proc/sys: the kernel's parameters (sys/tally), and what programs written for
 * Linux look for in sys/kernel, sys/vm, sys/fs.
 */
#include "fs/proc.h"
#include "kernel/param.h"
#include "kernel/random.h"
#if defined(TALLY_HOSTED)
#define TALLY_COMMIT "host"
#else
#include "version.h"
#endif

#define RELEASE "6.1.0-tally" /* as uname(2) says */

static int param_show(struct seq *s, void *arg)
{
	int n = param_get(arg, s->buf + s->len, s->size - s->len);

	if (n < 0)
		return n;
	s->len += (size_t)n;
	if (s->len + 1 >= s->size)
		s->overflow = true;
	else
		seq_write(s, "\n", 1);
	return 0;
}

static ssize_t param_write(const char *text, size_t n, void *arg)
{
	char v[256];
	size_t k = n;
	int err;

	while (k && (text[k - 1] == '\n' || text[k - 1] == ' '))
		k--;
	if (k >= sizeof(v))
		return -EINVAL;
	memcpy(v, text, k);
	v[k] = '\0';
	err = param_set(arg, v);
	return err ? err : (ssize_t)n;
}

/* Does some other parameter's name go on behind @name with a dot? */
static bool is_prefix(const char *name)
{
	size_t n = strlen(name);

	for (const struct param *p = param_first(); p; p = param_next(p)) {
		if (!strncmp(p->name, name, n) && p->name[n] == '.')
			return true;
	}
	return false;
}

static void register_params(void)
{
	char path[128];

	for (const struct param *p = param_first(); p; p = param_next(p)) {
		bool rw = p->flags & PARAM_RW;
		int err;

		/* "memcg" names a preset, and is the folder of "memcg.batch". */
		snprintf(path, sizeof(path), "sys/tally/%s%s", p->name,
			 is_prefix(p->name) ? ".preset" : "");
		for (char *c = path + 10; *c; c++) {
			if (*c == '.')
				*c = '/';
		}
		err = proc_register(path, rw ? 0644 : 0444, param_show, rw ? param_write : NULL,
				    (void *)p);
		if (err)
			pr_warn("procfs: cannot show parameter %s: error %d", p->name, -err);
	}
}

/* A constant line. */
static int line_show(struct seq *s, void *arg)
{
	seq_printf(s, "%s\n", (const char *)arg);
	return 0;
}

static int version_show(struct seq *s, void *arg)
{
	seq_printf(s, "%s version %s #1 SMP %s\n", "Tally", RELEASE, TALLY_COMMIT);
	return 0;
}

static int hostname_show(struct seq *s, void *arg)
{
	char name[65];

	hostname_get(name, sizeof(name));
	seq_printf(s, "%s\n", name);
	return 0;
}

static int uuid_show(struct seq *s, void *arg)
{
	static uint8_t boot[16];
	static bool have;
	uint8_t r[16];

	random_bytes(r, sizeof(r));
	if (arg) { /* boot_id: one per boot; two first readers at once may differ */
		if (!have) {
			memcpy(boot, r, sizeof(boot));
			have = true;
		}
		memcpy(r, boot, sizeof(r));
	}
	r[6] = (r[6] & 0x0f) | 0x40;
	r[8] = (r[8] & 0x3f) | 0x80;
	for (int k = 0; k < 16; k++)
		seq_printf(s, k == 4 || k == 6 || k == 8 || k == 10 ? "-%02x" : "%02x", r[k]);
	seq_printf(s, "\n");
	return 0;
}

void proc_sys_init(void)
{
	static const struct {
		const char *path, *text;
	} lines[] = {
		{ "sys/kernel/ostype", "Tally" },
		{ "sys/kernel/osrelease", RELEASE },
		{ "sys/kernel/version", "#1 SMP " TALLY_COMMIT },
		{ "sys/kernel/pid_max", "32768" },
		{ "sys/kernel/threads-max", "32768" },
		{ "sys/kernel/ngroups_max", "32" },
		{ "sys/kernel/cap_last_cap", "40" },
		{ "sys/kernel/randomize_va_space", "0" },
		{ "sys/kernel/sched_child_runs_first", "0" },
		{ "sys/vm/overcommit_memory", "1" },
		{ "sys/vm/max_map_count", "65530" },
		{ "sys/vm/swappiness", "0" },
		{ "sys/vm/mmap_min_addr", "65536" },
		{ "sys/fs/file-max", "1048576" },
		{ "sys/fs/nr_open", "1048576" },
		{ "sys/fs/pipe-max-size", "65536" },
	};

	register_params();
	for (size_t k = 0; k < ARRAY_SIZE(lines); k++)
		proc_register(lines[k].path, 0444, line_show, NULL, (void *)lines[k].text);
	proc_register("version", 0444, version_show, NULL, NULL);
	proc_register("sys/kernel/hostname", 0444, hostname_show, NULL, NULL);
	proc_register("sys/kernel/random/uuid", 0444, uuid_show, NULL, NULL);
	proc_register("sys/kernel/random/boot_id", 0444, uuid_show, NULL, (void *)1);
}
