# SPDX-License-Identifier: MIT
#
# make compare: Tally beside Debian's Linux in the same QEMU with the same
# programs (tools/runner/compare.py says how; docs/compare.md what it means).

WORKS ?=

.PHONY: compare
## make compare       Tally and Debian's Linux side by side (WORKS="boot72 recipe2 recipe72 rx tx rr
##                    crr udp cached churn", QUICK=1: seconds a work, JSON=FILE keeps the records)
compare: $(O)/tally.elf
	$(Q)tools/setup compare
	$(Q)O=$(O) tools/compare $(if $(WORKS),--works "$(WORKS)") $(if $(QUICK),--quick) \
		$(if $(JSON),--json $(JSON))
