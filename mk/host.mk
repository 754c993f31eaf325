# SPDX-License-Identifier: MIT
#
# Host tests: tests/host/NAME_test.c with the kernel's own sources, as a Linux
# program, once per flavour.  tests/host/README.md says how to write one.
#
#   $(O)/host/plain/NAME_test   optimised, assertions on
#   $(O)/host/asan/NAME_test    address and undefined-behaviour sanitizers
#   $(O)/host/tsan/NAME_test    thread sanitizer
#
# Every program gets HOST_CORE; what else it needs it names in a line
# "SOURCES: mm/slab.c net/*.c" in its first comment; @net stands for the network
# stack without its files (HOST_NET) and what it needs.  "FLAVOURS: asan" limits
# what it is built as, "LDLIBS: -lm" adds libraries.

HOST_CC       ?= gcc
HOST_FLAVOURS ?= plain asan tsan
HOST_CORE     := $(addprefix kernel/,sched.c sched_idle.c sched_place.c sched_times.c thread.c lock.c lock_debug.c \
	lockstat.c static_key.c mutex.c rwsem.c wait.c \
	timer.c work.c rcu.c smp.c string.c printf.c param.c) $(wildcard arch/host/*.c)

# Of the network what only system calls need, and files of /proc.
HOST_NET_CALLS := $(addprefix net/,cmsg.c if_ioctl.c sock_file.c sys_socket.c sys_sockmsg.c)
HOST_NET_PROC  := $(addprefix net/,if_proc.c proc.c sock_proc.c snmp_proc.c)
HOST_NET := $(addprefix mm/,bootmem.c page_alloc.c page_stats.c each_cpu.c slab.c slab_slow.c kmalloc.c \
	iov.c) $(filter-out $(HOST_NET_CALLS) $(HOST_NET_PROC), \
	$(wildcard net/*.c))

HOST_CFLAGS := -std=gnu11 -g -I. -Iarch/host -DTALLY_HOSTED -D_GNU_SOURCE -DCONFIG_DEBUG=1 \
	-Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare -Wno-address-of-packed-member \
	 -fno-strict-aliasing -fno-omit-frame-pointer -fno-common -pthread
HOST_CFLAGS_plain := -O2
HOST_CFLAGS_asan  := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-sanitize=alignment
HOST_CFLAGS_tsan  := -O1 -fsanitize=thread $(if $(findstring clang,$(HOST_CC)),,-Wno-tsan)
HOST_CFLAGS_cov   := -O0 --coverage
HOST_LDFLAGS      := -pthread -rdynamic

HOST_TESTS := $(patsubst tests/host/%.c,%,$(sort $(wildcard tests/host/*_test.c tests/host/*/*_test.c)))
host_note   = $(shell sed -n '1,40s/^.*$(2): *\([^*]*\).*/\1/p' tests/host/$(1).c)
host_srcs   = $(sort $(HOST_CORE) tests/host/$(1).c $(wildcard $(subst @net,$(HOST_NET),$(call host_note,$(1),SOURCES))))
host_flavours = $(or $(call host_note,$(1),FLAVOURS),$(HOST_FLAVOURS))

# $(1) test, $(2) flavour
define HOST_PROGRAM
$(O)/host/$(2)/$(1): $(patsubst %.c,$(O)/host/$(2)/obj/%.o,$(call host_srcs,$(1)))
	@mkdir -p $$(@D)
	@echo "  HOSTLD  $$@"
	$$(Q)$$(HOST_CC) $$(HOST_CFLAGS_$(2)) $$(HOST_LDFLAGS) -o $$@ $$^ -lcmocka $(call host_note,$(1),LDLIBS)
HOST_PROGRAMS += $(O)/host/$(2)/$(1)
HOST_OBJS += $(patsubst %.c,$(O)/host/$(2)/obj/%.o,$(call host_srcs,$(1)))
endef
HOST_PROGRAMS :=
HOST_OBJS :=
$(foreach t,$(HOST_TESTS),$(foreach f,$(call host_flavours,$(t)),$(eval $(call HOST_PROGRAM,$(t),$(f)))))

define HOST_COMPILE
$(O)/host/$(1)/obj/%.o: %.c mk/host.mk
	@mkdir -p $$(@D)
	@echo "  HOSTCC  $(1) $$<"
	$$(Q)$$(HOST_CC) $$(HOST_CFLAGS) $$(HOST_CFLAGS_$(1)) -MMD -MP -c -o $$@ $$<
endef
$(foreach f,plain asan tsan cov,$(eval $(call HOST_COMPILE,$(f))))
-include $(patsubst %.o,%.d,$(sort $(HOST_OBJS)))

.PHONY: check-host host-programs
## make host-programs build the host tests only
host-programs: $(HOST_PROGRAMS)

## make check-host    tests/host, plain and under the sanitizers (TEST=NAME for one program)
check-host: $(if $(TEST),$(foreach p,$(HOST_PROGRAMS),$(if $(findstring /$(TEST),$(p)),$(p))),$(HOST_PROGRAMS))
	$(Q)$(PYTHON) tests/host/run.py $^
