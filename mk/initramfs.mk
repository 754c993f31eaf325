# SPDX-License-Identifier: MIT
#
# The initramfs: Debian's busybox-static with a link for each of its applets,
# our programs in /usr/bin, /init.  boot/initramfs/list says what is in it.

BUSYBOX ?= /bin/busybox
INITRAMFS_FILES := $(wildcard boot/initramfs/*)

## make initramfs     $(O)/initramfs.cpio
.PHONY: initramfs
initramfs: $(O)/initramfs.cpio

$(O)/initramfs.list: boot/initramfs/list mk/initramfs.mk $(APP_BINS)
	@mkdir -p $(@D)
	$(Q){ cat boot/initramfs/list; echo "busybox /bin/busybox $(BUSYBOX)"; \
		for app in $(sort $(APPS)); do echo "file /usr/bin/$$app 755 $(O)/apps/$$app"; done; \
	} >$@

$(O)/initramfs.cpio: $(O)/initramfs.list $(INITRAMFS_FILES) $(BUSYBOX) tools/mkcpio.py
	@echo "  CPIO    $@"
	$(Q)/usr/bin/python3 tools/mkcpio.py -o $@ $(O)/initramfs.list
