# SPDX-License-Identifier: MIT
#
# Entry points.  `make help` lists them.  O= names the output folder,
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

SETUP := tools/setup

.DELETE_ON_ERROR:
.SECONDARY:

.PHONY: all help clean setup
all: $(O)/tally.elf

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make               newlib (once), our programs, $(O)/tally.elf
## make clean         remove $(O) (newlib stays; remove $(NEWLIB) by hand)
clean:
	rm -rf $(O)

## make setup         install every Debian package that any target needs
setup:
	$(SETUP) all

-include mk/kernel.mk
include mk/apps.mk
include mk/initramfs.mk
include mk/targets.mk
include mk/tests.mk
-include mk/host.mk
-include mk/sim.mk
