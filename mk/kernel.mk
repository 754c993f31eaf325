# SPDX-License-Identifier: MIT
#
# The kernel image $(O)/tally.elf.
#
# Sources are found by wildcard.  The link runs twice: the first pass gives the
# addresses of the functions, tools/ksyms.py turns them into a compact table,
# the second pass links that table in, behind everything it describes.
#
#   CONFIG=debug   assertions, poison, undefined-behaviour sanitizer
#   CC=clang-14    the other compiler
#   INITRAMFS=     cpio archive to embed (default $(O)/initramfs.cpio, if there is a rule or a file)

O      ?= build
CONFIG ?= release
V      ?= 0
Q      ?= $(if $(filter 1,$(V)),,@)

ifeq ($(origin CC),default)
CC := gcc
endif
NASM   ?= nasm
PYTHON ?= /usr/bin/python3

KERNEL_C   := $(sort $(wildcard kernel/*.c kernel/perf/*.c mm/*.c fs/*.c fs/tfs/*.c net/*.c net/netlink/*.c drivers/*.c arch/x86_64/*.c \
	tests/guest/*.c))
KERNEL_C   := $(filter-out arch/x86_64/asm_offsets.c,$(KERNEL_C))
KERNEL_ASM := $(filter-out boot/initramfs.asm,$(sort $(wildcard boot/*.asm arch/x86_64/*.asm)))
KERNEL_OBJ := $(KERNEL_C:%.c=$(O)/%.o) $(KERNEL_ASM:%.asm=$(O)/%.asm.o)

KERNEL_WARN := -Wall -Wextra -Werror -Wmissing-prototypes -Wvla -Wno-unused-parameter \
	-Wno-sign-compare -Wno-address-of-packed-member
KERNEL_CFLAGS := -std=gnu11 -O2 -g -ffreestanding -nostdinc \
	-isystem $(shell $(CC) -print-file-name=include) \
	-I. -Iarch/x86_64 -I$(O)/gen \
	-m64 -mcmodel=kernel -mno-red-zone -mgeneral-regs-only -fno-pic -fno-pie \
	-fno-stack-protector -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer \
	-fno-asynchronous-unwind-tables \
	-fno-strict-aliasing -fno-strict-overflow -fno-delete-null-pointer-checks \
	-fno-common -fcf-protection=none -fno-optimize-sibling-calls \
	-ffile-prefix-map=$(CURDIR)=. $(KERNEL_WARN)
ifeq ($(CONFIG),debug)
KERNEL_CFLAGS += -DCONFIG_DEBUG=1 -Wno-array-bounds -fsanitize=undefined -fno-sanitize=alignment,vptr,function
ifeq ($(findstring clang,$(CC)),)
KERNEL_CFLAGS := $(filter-out -fno-sanitize=alignment%,$(KERNEL_CFLAGS)) -fno-sanitize=alignment,vptr
endif
endif

KERNEL_LDFLAGS := -nostdlib -static -Wl,--build-id=none -Wl,-z,max-page-size=4096 \
	-Wl,-z,noexecstack -Wl,--no-warn-rwx-segments -Wl,-T,linker.ld -fuse-ld=bfd

# Objects of another configuration are not reused: the stamp holds compiler and flags.
KERNEL_STAMP := $(O)/gen/flags
KERNEL_FLAGS_NOW := $(CC) $(KERNEL_CFLAGS)
$(shell mkdir -p $(O)/gen; printf '%s\n' '$(subst ','\'',$(KERNEL_FLAGS_NOW))' > $(O)/gen/flags.$$PPID; \
	cmp -s $(O)/gen/flags.$$PPID $(KERNEL_STAMP) && rm -f $(O)/gen/flags.$$PPID \
	|| mv $(O)/gen/flags.$$PPID $(KERNEL_STAMP))

# The commit, for records and the first line of the log.
$(shell mkdir -p $(O)/gen; v=$$(git describe --always --dirty 2>/dev/null || echo unknown); \
	printf '#define TALLY_COMMIT "%s"\n' "$$v" > $(O)/gen/version.$$PPID; \
	cmp -s $(O)/gen/version.$$PPID $(O)/gen/version.h && rm -f $(O)/gen/version.$$PPID \
	|| mv $(O)/gen/version.$$PPID $(O)/gen/version.h)

.PHONY: kernel
kernel: $(O)/tally.elf

# Offsets that NASM needs, from the C structures themselves: marked strings in the assembly text.
$(O)/gen/asm_offsets.inc: arch/x86_64/asm_offsets.c $(KERNEL_STAMP)
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fsanitize=% -g,$(KERNEL_CFLAGS)) -MMD -MP -MT $@ -MF $(@:.inc=.d) \
		-S -o $(@:.inc=.s) $<
	$(Q)sed -n 's/.*@@ *\([A-Za-z0-9_]*\) *\$$*\(-*[0-9]*\) *@@.*/%define \1 \2/p' \
		$(@:.inc=.s) > $@
-include $(O)/gen/asm_offsets.d

$(KERNEL_C:%.c=$(O)/%.o): $(O)/%.o: %.c $(KERNEL_STAMP) | $(O)/gen/asm_offsets.inc
	@mkdir -p $(@D)
	@echo "  CC      $<"
	$(Q)$(CC) $(KERNEL_CFLAGS) $(KERNEL_CFLAGS_$(subst /,_,$(<:.c=))) -MMD -MP -c -o $@ $<

$(KERNEL_ASM:%.asm=$(O)/%.asm.o): $(O)/%.asm.o: %.asm $(O)/gen/asm_offsets.inc
	@mkdir -p $(@D)
	@echo "  NASM    $<"
	$(Q)$(NASM) -f elf64 -Iarch/x86_64/ -I$(O)/gen/ -MD $(@:.o=.d) -MP -o $@ $<

# memcpy and friends must not be turned into calls of themselves.
KERNEL_CFLAGS_kernel_string := -fno-tree-loop-distribute-patterns
ifneq ($(findstring clang,$(CC)),)
KERNEL_CFLAGS_kernel_string := -fno-builtin
endif

INITRAMFS ?= $(O)/initramfs.cpio
# Embedded if a rule or a file for it exists; the kernel links without, too.
INITRAMFS_DEP := $(if $(wildcard mk/initramfs.mk)$(wildcard $(INITRAMFS)),$(INITRAMFS))
ifdef NO_INITRAMFS
INITRAMFS_DEP :=
endif
$(O)/boot/initramfs.asm.o: boot/initramfs.asm $(INITRAMFS_DEP)
	@mkdir -p $(@D)
	$(Q)$(NASM) -f elf64 $(if $(INITRAMFS_DEP),-DINITRAMFS='"$(INITRAMFS)"') -o $@ $<

# Pass 1: no symbols.  Pass 2: with them.
$(O)/tally.pass1: $(KERNEL_OBJ) $(O)/boot/initramfs.asm.o linker.ld
	@echo "  LINK    $@"
	$(Q)$(CC) $(KERNEL_LDFLAGS) -o $@ $(KERNEL_OBJ) $(O)/boot/initramfs.asm.o -lgcc

$(O)/gen/ksyms.asm: $(O)/tally.pass1 tools/ksyms.py
	$(Q)nm -n $< | $(PYTHON) tools/ksyms.py > $@

$(O)/gen/ksyms.o: $(O)/gen/ksyms.asm
	$(Q)$(NASM) -f elf64 -o $@ $<

$(O)/tally.elf: $(O)/tally.pass1 $(O)/gen/ksyms.o
	@echo "  LINK    $@"
	$(Q)$(CC) $(KERNEL_LDFLAGS) -o $@.tmp $(KERNEL_OBJ) $(O)/boot/initramfs.asm.o \
		$(O)/gen/ksyms.o -lgcc
	$(Q)$(PYTHON) tools/ksyms.py --check $@.tmp
	$(Q)mv $@.tmp $@

## make iso           $(O)/tally.iso: GRUB for BIOS and UEFI, bootable from CD and USB
.PHONY: iso
iso: $(O)/tally.iso
$(O)/tally.iso: $(O)/tally.elf boot/grub.cfg tools/mkiso
	@echo "  ISO     $@"
	$(Q)tools/mkiso $(O)/tally.elf boot/grub.cfg $@

-include $(KERNEL_OBJ:.o=.d)
