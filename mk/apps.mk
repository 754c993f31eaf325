# SPDX-License-Identifier: MIT
#
# Our programs: newlib from Debian's newlib-source, the system-call glue in
# libc/, the sources in apps/.  The results are static Linux binaries; nothing
# of the kernel is included (apps/ and libc/ see libc headers only).
#
# newlib is built once and shared by all output folders: NEWLIB= moves it.

NEWLIB     ?= build/newlib
NEWLIB_TAR ?= $(firstword $(wildcard /usr/src/newlib/newlib-*.tar.*) /usr/src/newlib/newlib-3.3.0.tar.xz)
NEWLIB_OK  := $(NEWLIB)/.done

APPS     := $(patsubst apps/%.c,%,$(wildcard apps/*.c))
APP_BINS := $(addprefix $(O)/apps/,$(APPS))
APP_CC   ?= gcc

LIBC_SRC := $(wildcard libc/*.c) $(wildcard libc/*.S)
LIBC_OBJ := $(patsubst libc/%,$(O)/libc/%.o,$(LIBC_SRC))

# Code shared by several programs: apps/lib/.
APPLIB_OBJ := $(patsubst apps/lib/%.c,$(O)/apps/lib/%.o,$(wildcard apps/lib/*.c))

APP_CFLAGS := -std=gnu11 -O2 -g -Wall -Wextra -Werror -fno-pic -fno-pie \
	-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-stack-protector \
	-fno-asynchronous-unwind-tables -fcf-protection=none \
	-ffile-prefix-map=$(CURDIR)=. -ffunction-sections -fdata-sections \
	-nostdinc -isystem libc/include -isystem $(shell $(APP_CC) -print-file-name=include) \
	-isystem $(NEWLIB)/include -D_GNU_SOURCE \
	-D_POSIX_TIMERS=1 -D_POSIX_MONOTONIC_CLOCK=1 -D_POSIX_CPUTIME=1 -I. \
	-isystem $(O)/gen/apps
APP_LDFLAGS := -static -nostdlib -no-pie -Wl,--gc-sections -Wl,--build-id=none \
	-Wl,-z,noexecstack -Wl,-z,max-page-size=4096

.PHONY: apps newlib
apps: $(APP_BINS)
newlib: $(NEWLIB_OK)

# What programs share with the kernel: formats, copied so that apps/ includes nothing of its.
$(O)/gen/apps/tfs_format.h: fs/tfs/format.h
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(O)/apps/lib/tfs_image.o $(O)/apps/mkfs.tfs.o $(O)/apps/fsck.tfs.o: $(O)/gen/apps/tfs_format.h

# The lock: two make processes with different O may want newlib at once.
$(NEWLIB_OK):
	@mkdir -p $(NEWLIB)
	@echo "  NEWLIB  $(NEWLIB) (once, about a minute)"
	$(Q)flock $(NEWLIB)/.lock tools/build-newlib $(NEWLIB) $(NEWLIB_TAR)

$(O)/libc/%.c.o: libc/%.c $(NEWLIB_OK)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(APP_CC) $(APP_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/libc/%.S.o: libc/%.S
	@mkdir -p $(@D)
	@echo "  AS      $<"
	$(Q)$(APP_CC) -c -o $@ $<

$(O)/libc/libtally.a: $(LIBC_OBJ)
	@rm -f $@
	$(Q)ar crsD $@ $^

$(O)/apps/%.o: apps/%.c $(NEWLIB_OK)
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(APP_CC) $(APP_CFLAGS) -MMD -MP -c -o $@ $<

$(APP_BINS): $(O)/apps/%: $(O)/apps/%.o $(APPLIB_OBJ) $(O)/libc/libtally.a
	@echo "  LINK    $@"
	$(Q)$(APP_CC) $(APP_LDFLAGS) -o $@.full $(O)/libc/crt0.S.o $< $(APPLIB_OBJ) \
		-Wl,--start-group $(O)/libc/libtally.a $(NEWLIB)/lib/libc.a \
		$(NEWLIB)/lib/libm.a -lgcc -Wl,--end-group
	$(Q)strip -g -o $@ $@.full

-include $(patsubst %.o,%.d,$(LIBC_OBJ) $(APPLIB_OBJ) $(addsuffix .o,$(APP_BINS)))
