# SPDX-License-Identifier: MIT
#
# Native benchmarks of the accounting core: tests/bench/bench.c on the host machine,
# optimised as the kernel is, without assertions or sanitizers.

BENCH_CC     ?= gcc
BENCH_CFLAGS := -std=gnu11 -O2 -g -I. -Iarch/host -DTALLY_HOSTED -D_GNU_SOURCE -Wall -Wextra -Werror \
	-Wno-unused-parameter -Wno-sign-compare -Wno-address-of-packed-member \
	-fno-strict-aliasing -fno-common -pthread -fno-pie
BENCH_SRC := $(sort $(HOST_CORE) tests/bench/bench.c mm/page_counter_packed.c mm/page_counter_split.c \
	mm/stock.c mm/stock_sum.c mm/owner.c mm/memcg.c mm/memcg_limit.c mm/memcg_account.c mm/memcg_charge.c mm/memcg_exact.c \
	mm/memcg_stat.c mm/memcg_events.c mm/memcg_config.c mm/memcg_id.c mm/memcg_walk.c)
BENCH_OBJ := $(BENCH_SRC:%.c=$(O)/bench/obj/%.o)

$(BENCH_OBJ): $(O)/bench/obj/%.o: %.c mk/bench.mk
	@mkdir -p $(@D)
	@echo "  BENCHCC $<"
	$(Q)$(BENCH_CC) $(BENCH_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/bench/bench: $(BENCH_OBJ)
	@echo "  BENCHLD $@"
	$(Q)$(BENCH_CC) -pthread -no-pie -o $@ $^

-include $(BENCH_OBJ:.o=.d)

.PHONY: bench
## make bench         native micro-benchmarks of the accounting core: each preset, in turn, with the
##                    ratios (QUICK=1 takes seconds, JSON=FILE keeps the records)
bench: $(O)/bench/bench
	$(Q)tests/bench/run.py $(if $(QUICK),--quick) $(if $(JSON),--json $(JSON)) $<
