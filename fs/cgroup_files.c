/* SPDX-License-Identifier: MIT */
/*
 * The files of a group's directory, all tables together, and what their functions
 * share: the input rules (Linux's) and the way to a group's account.
 */
#include "fs/cgroup.h"

void cg_show_pages(struct seq *s, int64_t pages)
{
	if (pages >= PAGE_COUNTER_MAX)
		seq_printf(s, "max\n");
	else
		seq_printf(s, "%lld\n", (long long)pages * (long long)PAGE_SIZE);
}

/*
 * A limit: "max", or bytes in base 0 with one optional suffix, rounded down to
 * pages.  As in Linux an empty text is 0, a number too large for 64 bits loses its
 * upper bits, and so does a suffix that shifts it out.
 */
int cg_parse_amount(const char *s, const char *max, int64_t *pages)
{
	static const char suffix[] = "kmgtpe";
	unsigned base = 10, digit;
	uint64_t v = 0;

	if (!strcmp(s, max)) {
		*pages = PAGE_COUNTER_MAX;
		return 0;
	}
	if (*s == '0') {
		char x = s[2] | 0x20;
		bool hex = (s[1] | 0x20) == 'x' &&
			   ((s[2] >= '0' && s[2] <= '9') || (x >= 'a' && x <= 'f'));

		base = hex ? 16 : 8;
		s += hex ? 2 : 0;
	}
	for (;; s++) {
		char c = *s | 0x20;

		if (*s >= '0' && *s <= '9')
			digit = *s - '0';
		else if (base == 16 && c >= 'a' && c <= 'f')
			digit = c - 'a' + 10;
		else
			break;
		if (digit >= base)
			break;
		v = v * base + digit;
	}
	for (unsigned i = 0; *s && i < sizeof(suffix) - 1; i++)
		if ((*s | 0x20) == suffix[i] && (*s & 0x40)) {
			v <<= 10 * (i + 1);
			s++;
			break;
		}
	if (*s)
		return -EINVAL;
	*pages = (int64_t)(v / PAGE_SIZE);
	if (*pages > PAGE_COUNTER_MAX)
		*pages = PAGE_COUNTER_MAX;
	return 0;
}

int cg_parse_limit(const char *s, int64_t *pages)
{
	return cg_parse_amount(s, "max", pages);
}

/* A whole signed number in base 0: 0, -EINVAL, -ERANGE. */
int cg_parse_int(const char *s, int *out)
{
	bool minus = *s == '-';
	const char *end;
	uint64_t v;
	int err;

	if (minus || *s == '+')
		s++;
	err = parse_u64(s, &end, &v);
	if (err || *end)
		return err ? err : -EINVAL;
	if (v > (uint64_t)INT_MAX + minus)
		return -ERANGE;
	*out = minus ? (int)-v : (int)v;
	return 0;
}

/* The group's own account, RCU held; NULL: the controller has just been taken away. */
struct account *cg_own_account(struct memcg *m)
{
	return memcg_config.enabled || !m->parent ? memcg_account(m) : NULL;
}

/* In the order of readdir(). */
static const struct {
	const struct cg_file *files;
	const unsigned *nr;
} tables[] = {
	{ cg_core_files, &nr_cg_core_files },         { cg_memory_files, &nr_cg_memory_files },
	{ cg_peak_files, &nr_cg_peak_files },         { cg_stat_files, &nr_cg_stat_files },
	{ cg_swap_files, &nr_cg_swap_files },
	{ cg_pressure_files, &nr_cg_pressure_files },
};

const struct cg_file *cg_file_at(unsigned i)
{
	for (unsigned t = 0; t < ARRAY_SIZE(tables); i -= *tables[t].nr, t++)
		if (i < *tables[t].nr)
			return &tables[t].files[i];
	return NULL;
}

unsigned cg_file_index(const struct cg_file *f)
{
	unsigned before = 0;

	for (unsigned t = 0; t < ARRAY_SIZE(tables); before += *tables[t].nr, t++)
		if (f >= tables[t].files && f < tables[t].files + *tables[t].nr)
			return before + (unsigned)(f - tables[t].files);
	return before; /* not ours */
}
