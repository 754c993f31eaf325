# SPDX-License-Identifier: MIT
#
# The stack as a shared object for packetdrill (tests/packetdrill/so.c), without
# sanitizers, and a program that loads it the way packetdrill does.

PD_SO     := $(O)/host/libtally_packetdrill.so
# Files, pipes and epoll as the test of the file system links them.
PD_SRC    := $(sort $(HOST_CORE) $(HOST_NET) $(HOST_NET_CALLS) \
	$(wildcard $(call host_note,vfs_test,SOURCES)) \
	$(addprefix tests/packetdrill/,machine.c so.c stack.c) fs/splice.c tests/host/uaccess.c)
PD_OBJ    := $(PD_SRC:%.c=$(O)/host/pic/%.o)
PD_CFLAGS := $(HOST_CFLAGS) -O2 -fPIC -fvisibility=hidden

$(O)/host/pic/%.o: %.c mk/host.mk mk/packetdrill.mk
	@mkdir -p $(@D)
	@echo "  HOSTCC  pic $<"
	$(Q)$(HOST_CC) $(PD_CFLAGS) -MMD -MP -c -o $@ $<
-include $(PD_OBJ:.o=.d)

$(PD_SO): $(PD_OBJ)
	@echo "  HOSTSO  $@"
	$(Q)$(HOST_CC) -shared -pthread -Wl,-Bsymbolic -Wl,-z,defs -Wl,-z,noexecstack -o $@ $^

.PHONY: packetdrill-so check-packetdrill
## make packetdrill-so  $(O)/host/libtally_packetdrill.so: the stack behind packetdrill's interface
packetdrill-so: $(PD_SO)

$(O)/host/packetdrill_check: tests/packetdrill/check.c tests/packetdrill/interface.h
	@mkdir -p $(@D)
	@echo "  HOSTLD  $@"
	$(Q)$(HOST_CC) -std=gnu11 -O2 -g -I. -Wall -Wextra -Werror -Wno-unused-parameter -pthread -o $@ $< -ldl

## make check-packetdrill  loads that object and plays scripts against it
check-packetdrill: $(PD_SO) $(O)/host/packetdrill_check
	$(Q)$(O)/host/packetdrill_check $(abspath $(PD_SO))
