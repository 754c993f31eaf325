# SPDX-License-Identifier: MIT
#
# make check: the layer check, the host tests, the simulator's smoke, then
# everything that drives QEMU.  Parts write one line "NAME: N passed, N failed"
# and the sum closes the output (tools/check-all).

CHECK_PARTS := layers docs
ifneq ($(wildcard mk/host.mk),)
CHECK_PARTS += host packetdrill fuzz
endif
ifneq ($(wildcard mk/sim.mk),)
CHECK_PARTS += sim
endif
CHECK_PARTS += model
CHECK_PARTS += qemu

.PHONY: check check-layers check-qemu
## make check         every test that needs no other kernel; closes with "N passed, N failed"
check: $(O)/tally.elf $(PLUGINS)
	$(Q)MAKEFLAGS= tools/check-all make -j$$(nproc) O=$(O) CONFIG=$(CONFIG) -- $(CHECK_PARTS)

## make check-layers  include lines respect the layers (docs/architecture.md)
check-layers:
	$(Q)tools/check-layers

## make check-docs    docs/parameters.md lists the parameters that there are, docs/tcp.md the tests
.PHONY: check-docs
check-docs:
	$(Q)tools/check-docs

## make check-qemu    tests/qemu: the runner, boot topologies, shell, netperf
check-qemu: $(O)/tally.elf $(PLUGINS)
	$(Q)O=$(O) /usr/bin/python3 -m pytest -q -p no:cacheprovider tests/qemu $(PYTEST)

.PHONY: attacks
## make attacks       hostile packets over tap: what an honest client keeps of its reference run (root)
attacks: $(O)/tally.elf $(O)/apps/netperf
	$(Q)O=$(O) ATTACK_SECONDS=1 ATTACK_PAIRS=$(if $(QUICK),8,20) ATTACK_RATE=1000 ATTACK_KEEPS=0.8 \
		/usr/bin/python3 -m pytest -q -s -p no:cacheprovider tests/qemu/test_attacks.py

.PHONY: oracle oracle-refresh kselftest
## make oracle        the same shell texts on Tally as Debian's Linux has answered (tests/oracle)
oracle: $(O)/tally.elf
	$(Q)O=$(O) tools/oracle compare

## make oracle-refresh asks Debian's Linux 6.1 anew (downloads its package below $(O))
oracle-refresh: $(O)/tally.elf
	$(Q)O=$(O) tools/oracle refresh

## make kselftest     Linux's own cgroup selftests (Debian's linux-source-6.1, RUNS=1) on Tally
kselftest: $(O)/tally.elf
	$(Q)O=$(O) tools/kselftest $(if $(RUNS),--runs $(RUNS))
