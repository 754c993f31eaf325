# SPDX-License-Identifier: MIT
#
# Entry points; `make help` lists them.  O= names the output folder,
# CONFIG=debug adds assertions, poison and the undefined-behaviour sanitizer,
# CC=clang-14 builds the kernel with clang, V=1 shows the commands.

O      ?= build
CONFIG ?= release
V      ?= 0
Q      := $(if $(filter 1,$(V)),,@)

# One result whoever builds it, wherever and whenever.
export LC_ALL := C
export TZ := UTC
export SOURCE_DATE_EPOCH ?= 0

# As many jobs as CPUs unless the call says otherwise.
ifeq ($(filter -j% --jobserver%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

.PHONY: all help clean setup
all: $(O)/tally.elf

# What this call needs beyond gcc and make is installed first; a look at the
# package list (20 ms) when nothing is missing.  SETUP= (empty) skips it.
SETUP   ?= tools/setup
GOALS   := $(or $(MAKECMDGOALS),all)
NEEDS   := $(if $(filter-out clean help setup,$(GOALS)),build)
NEEDS   += $(if $(filter run shell smoke check check-qemu oracle oracle-refresh kselftest,$(GOALS)),run)
NEEDS   += $(if $(filter iso check check-qemu,$(GOALS)),iso)
NEEDS   += $(if $(filter check check-% fuzz fuzz-merge packetdrill-so,$(GOALS)),test)
NEEDS   += $(if $(filter report,$(GOALS)),run plot) $(if $(filter check check-qemu,$(GOALS)),plot)
ifneq ($(and $(strip $(SETUP)),$(strip $(NEEDS))),)
ifneq ($(shell $(SETUP) $(NEEDS) >&2 && echo ok),ok)
$(error packages are missing)
endif
endif

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make               newlib (once), our programs, build/tally.elf
## make clean         remove build/ (or O=), newlib included
clean:
	rm -rf $(O)

## make setup         install every Debian package that any target needs
setup:
	tools/setup all

-include mk/kernel.mk
include mk/apps.mk
include mk/initramfs.mk
include mk/targets.mk
include mk/tests.mk
-include mk/host.mk
-include mk/packetdrill.mk
-include mk/fuzz.mk
-include mk/sim.mk
-include mk/bench.mk
-include mk/model.mk
-include mk/compare.mk
