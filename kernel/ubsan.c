/* SPDX-License-Identifier: MIT */
/*
 * What the undefined-behaviour sanitizer calls in debug builds.
 *
 * Every finding is a warning with place and back-trace, at most REPORT_MAX in
 * all; the run goes on, as tests look for the word "ubsan" in the log.  The
 * structures are those that gcc and clang emit (compiler-rt, ubsan_value.h and
 * ubsan_handlers.h describe them).
 */
#ifdef CONFIG_DEBUG
#include "kernel/types.h"
#include "arch/arch.h"
#include "kernel/log.h"

struct source_location {
	const char *file;
	uint32_t line, column;
};

#define REPORT_MAX 50

static _Atomic unsigned reports;

static void report(const struct source_location *at, const char *what)
{
	if (atomic_fetch_add_explicit(&reports, 1, memory_order_relaxed) >= REPORT_MAX)
		return;
	pr_err("ubsan: %s:%u:%u: %s", at->file ? at->file : "?", at->line, at->column, what);
	arch_backtrace(8);
}

/* Each handler's data begins with the location; the other arguments are not needed. */
#define HANDLER(name, what)                                                                        \
	void __ubsan_handle_##name(void *data, uintptr_t a, uintptr_t b);                          \
	void __ubsan_handle_##name(void *data, uintptr_t a, uintptr_t b)                           \
	{                                                                                          \
		report(data, what);                                                                \
	}

HANDLER(add_overflow, "signed addition overflows")
HANDLER(sub_overflow, "signed subtraction overflows")
HANDLER(mul_overflow, "signed multiplication overflows")
HANDLER(negate_overflow, "negation overflows")
HANDLER(divrem_overflow, "division by zero or overflow")
HANDLER(shift_out_of_bounds, "shift out of bounds")
HANDLER(out_of_bounds, "index out of bounds")
HANDLER(type_mismatch_v1, "null or misaligned pointer, or object too small")
HANDLER(vla_bound_not_positive, "array length is not positive")
HANDLER(load_invalid_value, "value its type does not have")
HANDLER(pointer_overflow, "pointer arithmetic overflows")
HANDLER(invalid_builtin, "builtin called with zero")
HANDLER(nonnull_arg, "null where the callee wants an object")
HANDLER(float_cast_overflow, "conversion from floating point overflows")
HANDLER(builtin_unreachable, "reached what was declared unreachable")
HANDLER(missing_return, "function ends without a value")

void __ubsan_handle_nonnull_return_v1(void *data, struct source_location *at);
void __ubsan_handle_nonnull_return_v1(void *data, struct source_location *at)
{
	report(at, "null returned where an object was promised");
}
#endif /* CONFIG_DEBUG */
