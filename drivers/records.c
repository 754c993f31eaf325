/* SPDX-License-Identifier: MIT */
/*
 * Records: one JSON object per line, with the fields that every record has.
 */
#include "arch/arch.h"
#include "drivers/console.h"
#include "kernel/errno.h"
#include "kernel/lock.h"
#include "kernel/log.h"
#include "kernel/string.h"
#include "mm/memcg.h"
#include "version.h"

/* over line[], and one record after another */
static struct mutex lock = MUTEX_INIT(lock, "records");
static char line[RECORD_MAX + 256];

static size_t add_field(char *dst, size_t room, const char *record, const char *name,
			const char *value, bool quoted)
{
	char key[32];

	snprintf(key, sizeof(key), "\"%s\"", name);
	if (strstr(record, key))
		return 0;
	return (size_t)scnprintf(dst, room, quoted ? "%s:\"%s\"," : "%s:%s,", key, value);
}

/* Builds the line: the text with the missing common fields behind its first brace. */
static size_t build(const char *s, size_t n)
{
	static char text[RECORD_MAX + 1]; /* terminated copy, under lock */
	char cpus[12];
	size_t at = 0, pos = 0;

	memcpy(text, s, n);
	text[n] = 0;
	if (text[0] == '{') {
		line[at++] = '{';
		pos = 1;
		snprintf(cpus, sizeof(cpus), "%u", nr_cpus);
		at += add_field(line + at, sizeof(line) - at, text, "preset", memcg_preset_name(),
				true);
		at += add_field(line + at, sizeof(line) - at, text, "cpus", cpus, false);
		at += add_field(line + at, sizeof(line) - at, text, "machine", arch_machine_name(),
				true);
		at += add_field(line + at, sizeof(line) - at, text, "commit", TALLY_COMMIT, true);
		if (text[1] == '}' && line[at - 1] == ',')
			at--;
	}
	memcpy(line + at, text + pos, n - pos);
	at += n - pos;
	line[at++] = '\n';
	return at;
}

#define LOG_PIECE 200 /* bytes of a record in one log line */

static void to_log(const char *s, size_t n)
{
	const char *prefix = "RECORD";

	for (; n; prefix = "RECORD+") { /* the runner joins the pieces */
		size_t k = min(n, (size_t)LOG_PIECE);

		pr_info("%s %.*s", prefix, (int)k, s);
		s += k;
		n -= k;
	}
}

int records_write(const char *s, size_t n)
{
	size_t len;

	while (n && (s[n - 1] == '\n' || s[n - 1] == '\r'))
		n--;
	if (n > RECORD_MAX || memchr(s, '\n', n))
		return -EINVAL;
	if (!n)
		return 0;
	mutex_lock(&lock);
	len = build(s, n);
	if (!records_send(line, len))
		to_log(line, len - 1);
	mutex_unlock(&lock);
	return 0;
}
