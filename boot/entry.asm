; SPDX-License-Identifier: MIT
; From the boot loader's 32-bit protected mode to kernel_entry() in long mode.
;
; Entered with EAX = magic (0x2BADB002 or 0x36D76289), EBX = information
; structure, no usable stack or GDT.  The tables made here map the first 4 GiB
; with 2 MiB pages at three places: at 0, at the direct map, and (1 GiB of it)
; at the image's base.  arch/x86_64/paging.c replaces them.

%define KERNEL_BASE 0xffffffff80000000
%define EFER 0xc0000080

extern kernel_entry

section .boot.text progbits alloc exec nowrite align=16
bits 32
global entry32
entry32:
	cli
	cld
	mov esp, boot32_stack_top
	mov edi, eax			; magic and information survive in edi, esi
	mov esi, ebx

	; Long mode present?  Without it nothing more than a word on the screen.
	mov eax, 0x80000000
	cpuid
	cmp eax, 0x80000001
	jb .no_long_mode
	mov eax, 0x80000001
	cpuid
	bt edx, 29
	jnc .no_long_mode

	; Four page directories, 2 MiB pages over the first 4 GiB.
	mov ecx, 2048
	mov edx, early_pd + 2047 * 8
	mov eax, 2047 << 21
.pd:
	mov ebx, eax
	or ebx, 0x83			; present, writable, large
	mov [edx], ebx
	sub edx, 8
	sub eax, 1 << 21
	loop .pd

	mov eax, early_pd + 3
	mov ecx, 0
.pdpt:
	mov [early_pdpt_low + ecx * 8], eax
	add eax, 4096
	inc ecx
	cmp ecx, 4
	jne .pdpt
	mov dword [early_pdpt_high + 510 * 8], early_pd + 3
	mov dword [early_pml4], early_pdpt_low + 3
	mov dword [early_pml4 + 273 * 8], early_pdpt_low + 3	; 0xffff888000000000
	mov dword [early_pml4 + 511 * 8], early_pdpt_high + 3

	mov eax, cr4
	or eax, 1 << 5			; PAE
	mov cr4, eax
	mov eax, early_pml4
	mov cr3, eax
	mov ecx, EFER
	rdmsr
	or eax, 1 << 8			; LME
	wrmsr
	mov eax, cr0
	or eax, 0x80000001		; PG, PE
	mov cr0, eax
	lgdt [boot_gdt_ptr]
	jmp 0x08:entry64

.no_long_mode:
	mov dword [0xb8000], 0x4f364f34	; "46" hardly helps, but a hang without a sign helps less
	mov edx, 0x3f8
	mov esi, .text64
	mov ecx, .text64_end - .text64
	rep outsb
.stop:
	hlt
	jmp .stop
.text64: db "Tally needs a 64-bit CPU", 13, 10
.text64_end:

bits 64
entry64:
	mov ax, 0x10
	mov ds, ax
	mov es, ax
	mov ss, ax
	xor eax, eax
	mov fs, ax
	mov gs, ax
	mov rax, high64
	jmp rax

section .boot.data progbits alloc write align=4096
early_pml4:		times 4096 db 0
early_pdpt_low:		times 4096 db 0
early_pdpt_high:	times 4096 db 0
early_pd:		times 4 * 4096 db 0
boot_gdt:
	dq 0
	dq 0x00af9b000000ffff		; 0x08: 64-bit code
	dq 0x00cf93000000ffff		; 0x10: data
boot_gdt_ptr:
	dw 23
	dq boot_gdt
align 16
	times 256 db 0
boot32_stack_top:

section .text
high64:
	mov rsp, boot_stack_top
	xor ebp, ebp			; end of the frame chain
	mov edi, edi			; magic
	mov esi, esi			; information, physical
	push rbp
	push rbp
	call kernel_entry
.stop:
	cli
	hlt
	jmp .stop

section .bss
align 4096
global boot_stack, boot_stack_top
boot_stack: resb 16384
boot_stack_top:
