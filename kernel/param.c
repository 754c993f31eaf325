/* SPDX-License-Identifier: MIT */
/*
 * Parameters: see param.h.
 *
 * The declarations lie side by side in section "params"; looking one up is a
 * walk over all of them, which happens at boot and when a person writes one.
 */
#include "kernel/param.h"
#include "kernel/errno.h"
#include "kernel/init.h"
#include "kernel/log.h"
#include "kernel/string.h"

extern const struct param __start_params[], __stop_params[];

char boot_cmdline[2048];

const struct param *param_first(void)
{
	return &__start_params[0] < &__stop_params[0] ? __start_params : NULL;
}

const struct param *param_next(const struct param *p)
{
	return p + 1 < __stop_params ? p + 1 : NULL;
}

const struct param *param_find(const char *name)
{
	for (const struct param *p = param_first(); p; p = param_next(p))
		if (!strcmp(p->name, name))
			return p;
	return NULL;
}

static int set_number(const struct param *p, const char *value)
{
	uint64_t v;
	int err = parse_size(value, &v);

	if (!err && (v < p->min || v > p->max))
		err = -ERANGE;
	if (err) {
		pr_warn("parameter %s=%s: expected a number from %llu to %llu", p->name, value,
			(unsigned long long)p->min, (unsigned long long)p->max);
		return err;
	}
	if (p->type == PARAM_T_UINT)
		__atomic_store_n((unsigned *)p->var, (unsigned)v, __ATOMIC_RELAXED);
	else
		__atomic_store_n((uint64_t *)p->var, v, __ATOMIC_RELAXED);
	return 0;
}

static int set_bool(const struct param *p, const char *value)
{
	static const char *const yes[] = { "1", "y", "yes", "on", "true", "" };
	static const char *const no[] = { "0", "n", "no", "off", "false" };

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++) {
		if (!strcmp(value, yes[i])) {
			__atomic_store_n((bool *)p->var, true, __ATOMIC_RELAXED);
			return 0;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(no); i++) {
		if (!strcmp(value, no[i])) {
			__atomic_store_n((bool *)p->var, false, __ATOMIC_RELAXED);
			return 0;
		}
	}
	pr_warn("parameter %s=%s: expected 0 or 1", p->name, value);
	return -EINVAL;
}

static int set_enum(const struct param *p, const char *value)
{
	char all[160];
	size_t n = 0;

	all[0] = 0;
	for (int i = 0; p->values[i]; i++) {
		if (!strcmp(p->values[i], value)) {
			__atomic_store_n((int *)p->var, i, __ATOMIC_RELAXED);
			return 0;
		}
		n += (size_t)scnprintf(all + n, sizeof(all) - n, "%s%s", i ? ", " : "",
				       p->values[i]);
	}
	pr_warn("parameter %s=%s: expected one of %s", p->name, value, all);
	return -EINVAL;
}

int param_set(const struct param *p, const char *value)
{
	int err;

	switch (p->type) {
	case PARAM_T_UINT:
	case PARAM_T_U64:
		return set_number(p, value);
	case PARAM_T_BOOL:
		return set_bool(p, value);
	case PARAM_T_ENUM:
		return set_enum(p, value);
	case PARAM_T_STRING:
		if (strlen(value) >= p->max) {
			pr_warn("parameter %s: longer than %llu bytes", p->name,
				(unsigned long long)p->max - 1);
			return -ERANGE;
		}
		str_copy(p->var, value, p->max);
		return 0;
	case PARAM_T_CUSTOM:
		err = p->set ? p->set(p, value) : -EINVAL;
		if (err)
			pr_warn("parameter %s=%s: %s", p->name, value, p->help);
		return err;
	}
	return -EINVAL;
}

int param_get(const struct param *p, char *buf, size_t n)
{
	switch (p->type) {
	case PARAM_T_UINT:
		return scnprintf(buf, n, "%u",
				 __atomic_load_n((unsigned *)p->var, __ATOMIC_RELAXED));
	case PARAM_T_U64:
		return scnprintf(
			buf, n, "%llu",
			(unsigned long long)__atomic_load_n((uint64_t *)p->var, __ATOMIC_RELAXED));
	case PARAM_T_BOOL:
		return scnprintf(buf, n, "%d", __atomic_load_n((bool *)p->var, __ATOMIC_RELAXED));
	case PARAM_T_ENUM:
		return scnprintf(buf, n, "%s",
				 p->values[__atomic_load_n((int *)p->var, __ATOMIC_RELAXED)]);
	case PARAM_T_STRING:
		return scnprintf(buf, n, "%s", (const char *)p->var);
	case PARAM_T_CUSTOM:
		return p->get ? p->get(p, buf, n) : 0;
	}
	return 0;
}

/* Takes the next word off *@s; blanks inside double quotes belong to the word. */
static size_t next_word(const char **s, char *word, size_t size)
{
	size_t n = 0;
	bool quoted = false;

	while (**s == ' ' || **s == '\t' || **s == '\n')
		(*s)++;
	for (; **s && (quoted || (**s != ' ' && **s != '\t' && **s != '\n')); (*s)++) {
		if (**s == '"')
			quoted = !quoted;
		else if (n + 1 < size)
			word[n++] = **s;
	}
	word[n] = 0;
	return n;
}

void params_parse(const char *cmdline)
{
	static char word[1024]; /* boot CPU only */
	const struct param *p;
	char *eq;

	while (next_word(&cmdline, word, sizeof(word))) {
		eq = strchr(word, '=');
		if (eq)
			*eq = 0;
		p = param_find(word);
		if (p)
			param_set(p, eq ? eq + 1 : "");
		else
			pr_warn("parameter %s: unknown, ignored", word);
	}
}

/* Init step: parses the command line, then logs every value in force, several to a line. */
void params_init(void)
{
	char line[200], one[160];
	size_t n = 0;

	pr_info("command line: %s", boot_cmdline);
	params_parse(boot_cmdline);
	for (const struct param *p = param_first(); p; p = param_next(p)) {
		char value[100];
		size_t len;

		value[0] = 0;
		param_get(p, value, sizeof(value));
		len = (size_t)scnprintf(one, sizeof(one), " %s=%s", p->name, value);
		if (n && n + len >= sizeof(line)) {
			pr_info("parameters:%s", line);
			n = 0;
		}
		n += (size_t)scnprintf(line + n, sizeof(line) - n, "%s", one);
	}
	if (n)
		pr_info("parameters:%s", line);
}
