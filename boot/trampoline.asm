; SPDX-License-Identifier: MIT
; Where a CPU begins after its start-up IPI: 16-bit real mode, at the start of
; a page below 1 MiB.  The code is copied there by arch/x86_64/smp_boot.c, which
; also fills in the data at its end; it is position-independent in the sense
; that every address is taken relative to the page (CS << 4).
;
; The CPU goes straight to long mode on the kernel's final tables (they map
; this page at its physical address while CPUs are being started), finds its
; slot by its APIC id, and calls ap_entry(slot) on the stack given there.

%include "asm_offsets.inc"

section .rodata
global ap_code, ap_code_end, ap_data
align 16
bits 16
ap_code:
	cli
	cld
	mov ax, cs
	mov ds, ax
	xor ebx, ebx
	mov bx, ax
	shl ebx, 4			; ebx: linear address of the page

	; Far pointers and the GDT's own address depend on where we are.
	lea eax, [ebx + (.gdt - ap_code)]
	mov [.gdt_ptr - ap_code + 2], eax
	lea eax, [ebx + (.long - ap_code)]
	mov [.far - ap_code], eax
	o32 lgdt [.gdt_ptr - ap_code]

	mov eax, [ap_data.cr4 - ap_code]
	mov cr4, eax
	mov eax, [ap_data.cr3 - ap_code]
	mov cr3, eax
	mov ecx, 0xc0000080		; EFER: LME, and NXE if the tables use it
	mov eax, [ap_data.efer - ap_code]
	xor edx, edx
	wrmsr
	mov eax, 0x80010001		; PG, WP, PE
	mov cr0, eax
	jmp dword far [.far - ap_code]

bits 64
.long:
	mov eax, 0x10
	mov ds, eax
	mov es, eax
	mov ss, eax
	xor eax, eax
	mov fs, eax
	mov gs, eax
	mov ebx, ebx

	; The APIC id: 32 bits from leaf 0xb where there is one, else 8 from leaf 1.
	mov r8d, ebx
	xor eax, eax
	cpuid
	cmp eax, 0xb
	jb .leaf1
	mov eax, 0xb
	xor ecx, ecx
	cpuid
	test ebx, ebx
	jz .leaf1
	mov r9d, edx
	jmp .find
.leaf1:
	mov eax, 1
	cpuid
	shr ebx, 24
	mov r9d, ebx
.find:
	mov rdi, [r8 + (ap_data.slots - ap_code)]
	mov ecx, [r8 + (ap_data.nr_slots - ap_code)]
.next:
	test ecx, ecx
	jz .park			; nobody asked for this CPU
	cmp [rdi + AP_SLOT_APIC_ID], r9d
	je .found
	add rdi, AP_SLOT_SIZE
	dec ecx
	jmp .next
.found:
	mov rsp, [rdi + AP_SLOT_STACK_TOP]
	test rsp, rsp
	jz .park
	xor ebp, ebp
	push rbp
	push rbp
	mov rax, [r8 + (ap_data.entry - ap_code)]
	call rax
.park:
	cli
	hlt
	jmp .park

align 16
.gdt:
	dq 0
	dq 0x00af9b000000ffff
	dq 0x00cf93000000ffff
.gdt_ptr:
	dw 23
	dd 0
	dw 0
.far:
	dd 0
	dw 0x08
	dw 0
align 8
ap_data:				; struct ap_data of smp_boot.c
.slots:		dq 0
.entry:		dq 0
.cr3:		dd 0
.cr4:		dd 0
.efer:		dd 0
.nr_slots:	dd 0
ap_code_end:
