; SPDX-License-Identifier: MIT
; The embedded initramfs: a cpio archive, named by the build.
section .initramfs progbits alloc noexec nowrite align=4096
global __initramfs_start, __initramfs_end
__initramfs_start:
%ifdef INITRAMFS
	incbin INITRAMFS
%endif
__initramfs_end:
