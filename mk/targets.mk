# SPDX-License-Identifier: MIT
#
# What people start: the main job, a shell, and the plugins that the runner loads.

PRESETS ?= off,linux-4.13,linux-6.0,linux-6.1,linux-6.16,tally
CLIENTS ?= 36
CPUS    ?= 72
# Six presets in well under four minutes on two cores; -l 60 is what the published figures had.
SECS    ?= 1
ROUNDS  ?= $(if $(QUICK),1,3)

TALLY   := O=$(O) tools/tally
PLUGINS := $(patsubst tools/plugin/%.c,$(O)/plugin/%.so,$(wildcard tools/plugin/*.c))

.PHONY: run shell plugins
## make run           72 CPUs in QEMU, the netperf recipe at root and in a group, a table
##                    (JSON=FILE keeps the records, QUICK=1 takes seconds per preset)
run: $(O)/tally.elf
	$(Q)$(TALLY) experiment recipe -n $(CLIENTS) -l $(SECS) -r $(ROUNDS) --presets $(PRESETS) \
		--smp $(CPUS) $(if $(JSON),--json $(JSON))
	$(Q)tools/sim-tax $(O)/sim/records.json

## make shell         a busybox shell in QEMU; Ctrl-A X leaves
shell: $(O)/tally.elf
	$(Q)$(TALLY) run --smp $(CPUS)

## make plugins       QEMU plugins that count instructions
plugins: $(PLUGINS)

all: $(PLUGINS)

$(O)/plugin/%.so: tools/plugin/%.c $(wildcard tools/plugin/lib/*)
	@mkdir -p $(@D)
	@echo "  PLUGIN  $@"
	$(Q)gcc -std=gnu11 -O2 -g -Wall -Wextra -Werror -I. -fPIC -shared -fvisibility=hidden -o $@ $< \
		tools/plugin/lib/symbols.c

FLAME_CPUS ?= 8
FLAME_RUN  ?= experiment recipe -n 4 -l $(if $(QUICK),2,10) -r 1

.PHONY: flamegraph
## make flamegraph    $(O)/flamegraph.svg: the recipe profiled with call chains
flamegraph: $(O)/tally.elf
	@echo "  RECORD  $(FLAME_RUN), $(FLAME_CPUS) CPUs"
	$(Q)$(TALLY) run --smp $(FLAME_CPUS) --timeout 600 --exec 'perf record -a -g -o /tmp/perf.data -- \
		$(FLAME_RUN) >&2 && perf report -i /tmp/perf.data --folded' >$(O)/flamegraph.txt
	$(Q)grep '^[^ ]*;.* [0-9]*$$' $(O)/flamegraph.txt >$(O)/flamegraph.folded
	$(Q)tools/flamegraph --title "$(FLAME_RUN)" $(O)/flamegraph.folded $(O)/flamegraph.svg
	@echo "  SVG     $(O)/flamegraph.svg"

C2C_CPUS    ?= 72
C2C_CLIENTS ?= $(if $(QUICK),8,36)

.PHONY: c2c
## make c2c           which cache lines move between CPUs under the packed and the split counter:
##                    emulated (which ones), and beside it simulated (how often)
c2c: $(O)/tally.elf $(O)/plugin/cachelines.so $(O)/sim/recipe
	$(Q)$(TALLY) experiment c2c -n $(C2C_CLIENTS) -l $(if $(QUICK),1,5) -r 1 --smp $(C2C_CPUS) \
		$(if $(JSON),--json $(JSON))
	@printf '\nThe same on 72 simulated CPUs that run at the same time (make sim):\n'
	$(Q)$(O)/sim/recipe --sharing

REPORT_PRESETS ?= linux-6.0,linux-6.1,linux-6.16,tally
REPORT_RUN     := $(TALLY) experiment
REPORT_FILES   := $(addprefix $(O)/report/,sim bench recipe layout batch uncharge perf0 perf60 perf200 perfrows groups walk)

.PHONY: report $(REPORT_FILES)
## make report        $(O)/report.html: one page with plots of all that is measured (QUICK=1;
##                    RECORDS="a.json b.json" shows these instead of measuring)
report: $(if $(RECORDS),,$(REPORT_FILES))
	$(Q)tools/report --out $(O)/report.html $(or $(RECORDS),$(addsuffix .json,$(REPORT_FILES)))

ifneq ($(filter report,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
$(REPORT_FILES): $(O)/tally.elf $(PLUGINS) | $(O)/report/
$(O)/report/:
	@mkdir -p $@
$(O)/report/sim $(O)/report/bench:
	$(Q)$(MAKE) --no-print-directory $(@F) JSON=$@.json QUICK=$(QUICK) >/dev/null
$(O)/report/recipe:
	$(Q)$(REPORT_RUN) recipe -n $(CLIENTS) -l $(SECS) -r $(ROUNDS) --presets $(REPORT_PRESETS) --smp $(CPUS) --json $@.json
$(O)/report/layout $(O)/report/batch $(O)/report/uncharge:
	$(Q)$(REPORT_RUN) $(@F) -n 2 -l $(SECS) -r $(ROUNDS) --smp 2 --json $@.json
$(O)/report/perf0 $(O)/report/perf60 $(O)/report/perf200:
	$(Q)$(REPORT_RUN) perfswitch --pmus $(@F:perf%=%) --smp 2 --plugin insns --json $@.json
$(O)/report/perfrows:
	$(Q)$(REPORT_RUN) perfswitch --smp 2 --json $@.json
$(O)/report/groups:
	$(Q)$(REPORT_RUN) groups -n $(if $(QUICK),10000,100000) --smp $(CPUS) --json $@.json
$(O)/report/walk:
	$(Q)$(REPORT_RUN) walk $(if $(QUICK),--passes 2) --smp 2 --json $@.json
