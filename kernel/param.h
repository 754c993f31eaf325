/* SPDX-License-Identifier: MIT */
/*
 * Parameters: "name=value" words of the kernel command line, checked against
 * what each part of the kernel declares, logged at boot and readable (and, if
 * PARAM_RW, writable) at /proc/sys/tally/NAME with dots as folders.
 *
 * A parameter is declared where it is used:
 *
 *	static unsigned batch = 64;
 *	PARAM_UINT("memcg.batch", batch, 1, 127, PARAM_RW, "pages per charge batch");
 *
 * Values live in plain variables; a run-time write is one atomic store.
 * Parsing happens in init step "params", before everything that reads them.
 */
#ifndef KERNEL_PARAM_H
#define KERNEL_PARAM_H

#include "kernel/types.h"

enum { PARAM_RO = 0, PARAM_RW = 1 };
enum param_type {
	PARAM_T_UINT,
	PARAM_T_U64,
	PARAM_T_BOOL,
	PARAM_T_STRING,
	PARAM_T_ENUM,
	PARAM_T_CUSTOM
};

struct param {
	const char *name;
	enum param_type type;
	int flags;
	void *var; /* unsigned*, uint64_t*, bool*, char[size], int* (enum index) */
	uint64_t min, max; /* numbers; for strings max is the buffer size */
	const char *const *values; /* enum: NULL-terminated names */
	int (*set)(const struct param *p, const char *value); /* custom; 0 or -errno */
	int (*get)(const struct param *p, char *buf, size_t n); /* custom; bytes */
	const char *help;
};

#define PARAM_SECTION __attribute__((section("params"), used, aligned(8)))
#define PARAM_CAT_(a, b) a##b
#define PARAM_CAT(a, b)  PARAM_CAT_(a, b)
#define PARAM_ENTRY(...)                                                                           \
	static const struct param PARAM_SECTION PARAM_CAT(param_, __LINE__) = { __VA_ARGS__ }
#define PARAM_UINT(n, v, lo, hi, fl, h)                                                            \
	PARAM_ENTRY(.name = n, .type = PARAM_T_UINT, .flags = fl, .var = &(v), .min = lo,          \
		    .max = hi, .help = h)
#define PARAM_U64(n, v, lo, hi, fl, h)                                                             \
	PARAM_ENTRY(.name = n, .type = PARAM_T_U64, .flags = fl, .var = &(v), .min = lo,           \
		    .max = hi, .help = h)
#define PARAM_BOOL(n, v, fl, h)                                                                    \
	PARAM_ENTRY(.name = n, .type = PARAM_T_BOOL, .flags = fl, .var = &(v), .help = h)
#define PARAM_STRING(n, v, fl, h)                                                                  \
	PARAM_ENTRY(.name = n, .type = PARAM_T_STRING, .flags = fl, .var = (v),                    \
		    .max = sizeof(v), .help = h)
#define PARAM_ENUM(n, v, names, fl, h)                                                             \
	PARAM_ENTRY(.name = n, .type = PARAM_T_ENUM, .flags = fl, .var = &(v), .values = names,    \
		    .help = h)
#define PARAM_CUSTOM(n, s, g, fl, h)                                                               \
	PARAM_ENTRY(.name = n, .type = PARAM_T_CUSTOM, .flags = fl, .set = s, .get = g, .help = h)

/* All declared parameters: for procfs and the log. */
const struct param *param_first(void);
const struct param *param_next(const struct param *p);
const struct param *param_find(const char *name);
/* 0, -EINVAL, -ERANGE; logs what was expected */
int param_set(const struct param *p, const char *value);
int param_get(const struct param *p, char *buf, size_t n); /* bytes, without newline */

/* Parses @cmdline; unknown words and bad values are logged, never fatal. */
void params_parse(const char *cmdline);
extern char boot_cmdline[2048];

#endif /* KERNEL_PARAM_H */
