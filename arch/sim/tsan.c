/* SPDX-License-Identifier: MIT */
/*
 * The compiler's calls for memory accesses, implemented for the simulator.
 *
 * A plain access is announced before the compiled code performs it; an atomic one
 * is performed here.  Only memory of the arena is simulated: the stack, constants
 * and the simulator's own data cost nothing.
 */
#include "arch/sim/sim.h"
#include "arch/sim/explore.h"

static inline bool simulated(const void *a)
{
	return sim_cur && sim_tracked(a);
}

static inline void event(const void *a, enum sim_access kind)
{
	if (!simulated(a))
		return;
	if (sim_mode == SIM_COST)
		sim_touch(a, kind);
	else
		explore_point(a, kind);
}

#define PLAIN(n)                                                                                   \
	void __tsan_read##n(void *a);                                                              \
	void __tsan_write##n(void *a);                                                             \
	void __tsan_unaligned_read##n(void *a);                                                    \
	void __tsan_unaligned_write##n(void *a);                                                   \
	void __tsan_volatile_read##n(void *a);                                                     \
	void __tsan_volatile_write##n(void *a);                                                    \
	void __tsan_read##n(void *a)                                                               \
	{                                                                                          \
		event(a, SIM_READ);                                                                \
	}                                                                                          \
	void __tsan_write##n(void *a)                                                              \
	{                                                                                          \
		event(a, SIM_WRITE);                                                               \
	}                                                                                          \
	void __tsan_unaligned_read##n(void *a)                                                     \
	{                                                                                          \
		event(a, SIM_READ);                                                                \
	}                                                                                          \
	void __tsan_unaligned_write##n(void *a)                                                    \
	{                                                                                          \
		event(a, SIM_WRITE);                                                               \
	}                                                                                          \
	void __tsan_volatile_read##n(void *a)                                                      \
	{                                                                                          \
		event(a, SIM_READ);                                                                \
	}                                                                                          \
	void __tsan_volatile_write##n(void *a)                                                     \
	{                                                                                          \
		event(a, SIM_WRITE);                                                               \
	}
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *a, size_t n);
void __tsan_write_range(void *a, size_t n);
void __tsan_read_range(void *a, size_t n)
{
	for (size_t i = 0; i < n; i += CACHE_LINE)
		event((char *)a + i, SIM_READ);
}
void __tsan_write_range(void *a, size_t n)
{
	for (size_t i = 0; i < n; i += CACHE_LINE)
		event((char *)a + i, SIM_WRITE);
}

void __tsan_init(void);
void __tsan_func_entry(void *pc);
void __tsan_func_exit(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *pc)
{
}
void __tsan_func_exit(void)
{
}

/* Memory orders as the compiler passes them: relaxed 0, … release 3, acq_rel 4, seq_cst 5. */
#define IS_SC(mo) (((mo) & 0xff) == __ATOMIC_SEQ_CST)

#define RMW(bits, type, name, expr)                                                                \
	type __tsan_atomic##bits##_##name(volatile type *a, type v, int mo);                       \
	type __tsan_atomic##bits##_##name(volatile type *a, type v, int mo)                        \
	{                                                                                          \
		type old, nu;                                                                      \
                                                                                                   \
		event((void *)a, SIM_RMW);                                                         \
		explore_flush();                                                                   \
		old = *a;                                                                          \
		nu = (expr);                                                                       \
		*a = nu;                                                                           \
		return old;                                                                        \
	}

#define ATOMICS(bits, type)                                                                        \
	type __tsan_atomic##bits##_load(const volatile type *a, int mo);                           \
	void __tsan_atomic##bits##_store(volatile type *a, type v, int mo);                        \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile type *a, type *c, type v,       \
							  int mo, int fmo);                        \
	int __tsan_atomic##bits##_compare_exchange_weak(volatile type *a, type *c, type v, int mo, \
							int fmo);                                  \
	type __tsan_atomic##bits##_compare_exchange_val(volatile type *a, type c, type v, int mo,  \
							int fmo);                                  \
	type __tsan_atomic##bits##_load(const volatile type *a, int mo)                            \
	{                                                                                          \
		uint64_t seen;                                                                     \
                                                                                                   \
		event((const void *)a, SIM_READ);                                                  \
		if (simulated((const void *)a) && explore_buffered((const void *)a, &seen))        \
			return (type)seen;                                                         \
		return *a;                                                                         \
	}                                                                                          \
	void __tsan_atomic##bits##_store(volatile type *a, type v, int mo)                         \
	{                                                                                          \
		/* A sequentially consistent store is an exchange on x86. */                       \
		event((void *)a, IS_SC(mo) ? SIM_RMW : SIM_WRITE);                                 \
		if (!IS_SC(mo) && simulated((void *)a) &&                                          \
		    explore_store((void *)a, (uint64_t)v, sizeof(type)))                           \
			return;                                                                    \
		explore_flush();                                                                   \
		*a = v;                                                                            \
	}                                                                                          \
	RMW(bits, type, exchange, v)                                                               \
	RMW(bits, type, fetch_add, (type)(old + v))                                                \
	RMW(bits, type, fetch_sub, (type)(old - v))                                                \
	RMW(bits, type, fetch_and, (type)(old & v))                                                \
	RMW(bits, type, fetch_or, (type)(old | v))                                                 \
	RMW(bits, type, fetch_xor, (type)(old ^ v))                                                \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile type *a, type *c, type v,       \
							  int mo, int fmo)                         \
	{                                                                                          \
		event((void *)a, SIM_RMW);                                                         \
		explore_flush();                                                                   \
		if (*a == *c) {                                                                    \
			*a = v;                                                                    \
			return 1;                                                                  \
		}                                                                                  \
		*c = *a;                                                                           \
		return 0;                                                                          \
	}                                                                                          \
	int __tsan_atomic##bits##_compare_exchange_weak(volatile type *a, type *c, type v, int mo, \
							int fmo)                                   \
	{                                                                                          \
		return __tsan_atomic##bits##_compare_exchange_strong(a, c, v, mo, fmo);            \
	}                                                                                          \
	type __tsan_atomic##bits##_compare_exchange_val(volatile type *a, type c, type v, int mo,  \
							int fmo)                                   \
	{                                                                                          \
		__tsan_atomic##bits##_compare_exchange_strong(a, &c, v, mo, fmo);                  \
		return c;                                                                          \
	}
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int mo);
void __tsan_atomic_signal_fence(int mo);
void __tsan_atomic_thread_fence(int mo)
{
	if (sim_cur && IS_SC(mo))
		explore_flush();
}
void __tsan_atomic_signal_fence(int mo)
{
}
