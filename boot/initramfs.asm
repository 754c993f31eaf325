; SPDX-License-Identifier: MIT
; The embedded initramfs: a cpio archive, named by the build.
section .initramfs progbits alloc noexec nowrite align=4096
global initramfs_start, initramfs_end
initramfs_start:
%ifdef INITRAMFS
	incbin INITRAMFS
%endif
initramfs_end:
