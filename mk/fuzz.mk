# SPDX-License-Identifier: MIT
#
# Fuzz targets: tests/fuzz/NAME_fuzz.c with the kernel's own sources on the host
# machine, under libFuzzer and the address and undefined-behaviour sanitizers.
#
#   $(O)/fuzz/NAME            the program (libFuzzer's options)
#   tests/fuzz/seeds/NAME/    inputs that are kept
#
# A target names its sources like a host test (mk/host.mk).

FUZZ_CC      ?= clang-14
FUZZ_TARGETS := $(patsubst tests/fuzz/%_fuzz.c,%,$(sort $(wildcard tests/fuzz/*_fuzz.c)))
FUZZ_CFLAGS  := $(HOST_CFLAGS) -O1 -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all -fno-sanitize=alignment,function -Wno-unused-command-line-argument
FUZZ_RUNTIME  = $(shell $(FUZZ_CC) -print-runtime-dir)/libclang_rt.fuzzer_no_main-x86_64.a
# Seconds of new inputs for each target after its seeds.
FUZZ_SECS    ?= 3

# Groups: accounting, lists of pages, reclaim, and their files.
FUZZ_MEMCG    = $(wildcard $(addprefix mm/,memcg*.c lru*.c reclaim*.c workingset*.c high*.c kswapd*.c protection*.c \
	psi*.c owner.c stock*.c page_counter_*.c) fs/cgroup*.c fs/pressure*.c)

fuzz_note = $(shell sed -n '1,40s/^.*SOURCES: *\([^*]*\).*/\1/p' tests/fuzz/$(1)_fuzz.c)
fuzz_srcs = $(sort $(HOST_CORE) tests/fuzz/main.c tests/fuzz/$(1)_fuzz.c \
	$(wildcard $(subst @memcg,$(FUZZ_MEMCG),$(subst @rtnl,$(wildcard net/netlink/*.c),$(subst @calls,$(HOST_NET_CALLS),$(subst @net,$(HOST_NET) tests/fuzz/fix.c,$(subst @fs,$(call host_note,vfs_test,SOURCES),$(call fuzz_note,$(1)))))))))

define FUZZ_PROGRAM
$(O)/fuzz/$(1): $(patsubst %.c,$(O)/fuzz/obj/%.o,$(call fuzz_srcs,$(1)))
	@echo "  FUZZLD  $$@"
	$$(Q)$$(FUZZ_CC) -g -pthread -rdynamic -fsanitize=address,undefined -o $$@ $$^ $$(FUZZ_RUNTIME) -lstdc++ -lm
FUZZ_OBJS += $(patsubst %.c,$(O)/fuzz/obj/%.o,$(call fuzz_srcs,$(1)))
endef
FUZZ_OBJS :=
$(foreach t,$(FUZZ_TARGETS),$(eval $(call FUZZ_PROGRAM,$(t))))

# The slab's poison checks are most of the time and no news to the fuzzer.
$(O)/fuzz/obj/mm/slab%.o: FUZZ_CFLAGS += -fno-sanitize=fuzzer-no-link
$(O)/fuzz/obj/%.o: %.c mk/fuzz.mk
	@mkdir -p $(@D)
	@echo "  FUZZCC  $<"
	$(Q)$(FUZZ_CC) $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<
-include $(patsubst %.o,%.d,$(sort $(FUZZ_OBJS)))

.PHONY: fuzz check-fuzz fuzz-merge
## make fuzz          fuzz targets for ten minutes each (FUZZ_SECS=600 TARGETS="tcp ether …")
fuzz: FUZZ_SECS = 600
fuzz check-fuzz: $(addprefix $(O)/fuzz/,$(or $(TARGETS),$(FUZZ_TARGETS)))
	$(Q)tests/fuzz/run.py --seconds $(FUZZ_SECS) --keep $(O)/fuzz/found $^

## make check-fuzz    the seeds of each target and a few seconds of new inputs

## make fuzz-merge    adds to the seeds what was found and covers new code
fuzz-merge: $(addprefix $(O)/fuzz/,$(or $(TARGETS),$(FUZZ_TARGETS)))
	$(Q)tests/fuzz/run.py --merge --keep $(O)/fuzz/found $^
