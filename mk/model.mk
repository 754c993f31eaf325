# SPDX-License-Identifier: MIT
#
# Spin models of the accounting core: tests/model/*.pml.

.PHONY: check-model
## make check-model   models of stock, settling and group removal, every interleaving (spin)
check-model:
	$(Q)tests/model/run.sh $(O)/model
