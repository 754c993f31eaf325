# SPDX-License-Identifier: MIT
#
# The simulator: the accounting core compiled with the compiler's thread-sanitizer
# calls, linked with arch/sim, which implements those calls itself.

SIM_CC     ?= gcc
SIM_CFLAGS := -std=gnu11 -O2 -g -I. -Iarch/sim -DTALLY_HOSTED -DTALLY_SIM -D_GNU_SOURCE -Wall -Wextra \
	-Werror -Wno-unused-parameter -Wno-sign-compare -Wno-address-of-packed-member \
	-fno-strict-aliasing -fno-common -fno-pie
# What is simulated.
SIM_CORE := mm/page_counter_packed.c mm/page_counter_split.c mm/stock.c mm/stock_sum.c mm/owner.c mm/memcg.c mm/memcg_limit.c \
	mm/memcg_account.c mm/memcg_charge.c mm/memcg_exact.c mm/memcg_stat.c mm/memcg_events.c \
	mm/memcg_config.c mm/memcg_id.c mm/memcg_walk.c net/sock_mem.c
# What simulates, and what only the performance model needs.
SIM_REST := $(wildcard arch/sim/*.c) kernel/string.c kernel/printf.c
SIM_LIB  := $(wildcard tests/sim/lib/*.c)
SIM_EXPLORE := tests/sim/explore.c tests/sim/scenarios.c
SIM_TSAN := -fsanitize=thread -Wno-tsan
# The explorer's stock has one set of two entries, so that owners displace each other and a
# sweep is a few steps.
SIM_SMALL := -DSTOCK_SETS=1 -DSTOCK_WAYS=2

SIM_REST_OBJ := $(SIM_REST:%.c=$(O)/sim/rest/%.o)
SIM_OBJS := $(SIM_REST_OBJ)
SIM_PROGRAMS := $(O)/sim/recipe $(O)/sim/explore $(O)/sim/explore-planted

$(SIM_REST_OBJ): $(O)/sim/rest/%.o: %.c mk/sim.mk
	@mkdir -p $(@D)
	@echo "  SIMCC   $<"
	$(Q)$(SIM_CC) $(SIM_CFLAGS) -MMD -MP -c -o $@ $<

# $(1) program, $(2) the sources around the code that is simulated, $(3) further flags
define SIM_PROGRAM
SIM_OBJS += $(patsubst %.c,$(O)/sim/$(1).obj/%.o,$(SIM_CORE) $(2))
$(SIM_CORE:%.c=$(O)/sim/$(1).obj/%.o): $(O)/sim/$(1).obj/%.o: %.c mk/sim.mk
	@mkdir -p $$(@D)
	@echo "  SIMCC   $$< ($(1))"
	$$(Q)$$(SIM_CC) $$(SIM_CFLAGS) $$(SIM_TSAN) $(3) -MMD -MP -c -o $$@ $$<
	@# Its variables in sections of their own, so that every run starts with fresh ones.
	$$(Q)objcopy --rename-section .data=simdata --rename-section .bss=simbss $$@
$(patsubst %.c,$(O)/sim/$(1).obj/%.o,$(2)): $(O)/sim/$(1).obj/%.o: %.c mk/sim.mk
	@mkdir -p $$(@D)
	@echo "  SIMCC   $$< ($(1))"
	$$(Q)$$(SIM_CC) $$(SIM_CFLAGS) $(3) -MMD -MP -c -o $$@ $$<
$(O)/sim/$(1): $(patsubst %.c,$(O)/sim/$(1).obj/%.o,$(SIM_CORE) $(2)) $$(SIM_REST_OBJ)
	@echo "  SIMLD   $$@"
	$$(Q)$$(SIM_CC) -no-pie -o $$@ $$^ -lm
endef
$(eval $(call SIM_PROGRAM,recipe,tests/sim/recipe.c $(SIM_LIB),))
$(eval $(call SIM_PROGRAM,walk,tests/sim/walk.c $(SIM_LIB),))
$(eval $(call SIM_PROGRAM,explore,$(SIM_EXPLORE),$(SIM_SMALL)))
# The same with faults to choose from (kernel/plant.h).
$(eval $(call SIM_PROGRAM,explore-planted,$(SIM_EXPLORE),$(SIM_SMALL) -DTALLY_PLANT))

-include $(SIM_OBJS:.o=.d)

.PHONY: sim check-sim explore explore-faults
## make sim           the accounting core on 72 simulated CPUs: published against simulated, who
##                    shares which line (QUICK=1: 72 CPUs only; JSON=FILE keeps the records;
##                    MACHINE=tests/sim/machines/NAME.conf)
sim: $(O)/sim/recipe $(O)/sim/walk
	$(Q)SIM_COMMIT=$$(git describe --always --dirty 2>/dev/null) $< $(if $(QUICK),--quick) $(if $(MACHINE),--machine $(MACHINE)) \
		--json $(or $(JSON),$(O)/sim/records.json)
	$(Q)SIM_COMMIT=$$(git describe --always --dirty 2>/dev/null) $(O)/sim/walk $(if $(QUICK),--quick) $(if $(MACHINE),--machine $(MACHINE)) \
		--json $(or $(JSON),$(O)/sim/records.json)
	$(if $(JSON)$(MACHINE),$(if $(MACHINE),,$(Q)cp $(JSON) $(O)/sim/records.json))

## make explore       charge, uncharge, drain, limits, removal under thousands of schedules
##                    (SECS=N, 60 when not said; SEEDS=N instead; SEED=N SCENARIO=X replays one)
explore: $(O)/sim/explore
	$(Q)$< $(if $(SCENARIO),--scenario $(SCENARIO)) $(if $(SEED),--seed $(SEED),$(if \
		$(SEEDS),--seeds $(SEEDS),--seconds $(or $(SECS),60)))

## make explore-faults  the explorer must find each planted fault within a minute
explore-faults: $(O)/sim/explore-planted
	$(Q)$< --faults 60

## make check-sim     the simulator's own checks, a minute of exploration, planted faults
check-sim: $(O)/sim/recipe $(O)/sim/explore $(O)/sim/explore-planted $(O)/sim/walk
	$(Q)tests/sim/run.sh $^
