; SPDX-License-Identifier: MIT
; Multiboot headers.  Linked first, at the physical load address.
;
; multiboot1 carries address fields, so that `qemu -kernel` takes the 64-bit
; ELF; multiboot2 serves GRUB under BIOS and UEFI.  Layouts: Multiboot
; Specification 0.6.96, section 3.1; Multiboot2 Specification 2.0, section 3.1.

bits 32
extern load_start_phys, load_end_phys, bss_end_phys, entry32

MB1_MAGIC equ 0x1BADB002
MB1_FLAGS equ 0x00010003		; 16: address fields; 1: memory map; 0: page-aligned modules
MB2_MAGIC equ 0xE85250D6

section .boot.hdr progbits alloc noexec nowrite align=8
mb1:
	dd MB1_MAGIC, MB1_FLAGS, -(MB1_MAGIC + MB1_FLAGS)
	dd mb1				; header_addr: where this very header lands
	dd load_start_phys		; load_addr
	dd load_end_phys		; load_end_addr
	dd bss_end_phys			; bss_end_addr: zeroed up to here
	dd entry32			; entry_addr

align 8
mb2:
	dd MB2_MAGIC, 0, mb2_end - mb2, -(MB2_MAGIC + (mb2_end - mb2))
	align 8
	dw 6, 1				; page-aligned modules, optional
	dd 8
	align 8
	dw 0, 0				; end tag
	dd 8
mb2_end:
