; SPDX-License-Identifier: MIT
; System calls: SYSCALL enters here, SYSRET leaves where it may.
;
; SYSCALL leaves the return address in rcx and the flags in r11, keeps the
; user's stack pointer and clears the flags of IA32_FMASK, interrupts among
; them.  The frame is struct regs (regs.h) at the top of the thread's stack with
; vector REGS_SYSCALL and the call's number as error.
;
; SYSRET can only give back rip = rcx and rflags = r11, and faults in kernel
; mode on a non-canonical address: syscall_dispatch() says whether the frame is
; fit for it, else iretq does the work.

%include "asm_offsets.inc"

extern syscall_dispatch, exit_user_iretq

section .text.entry progbits alloc exec nowrite align=16
bits 64

align 64
global syscall_entry
syscall_entry:
	swapgs
	mov [gs:CPU_USER_SP], rsp
	mov rsp, [gs:CPU_KERNEL_SP]
	push SELECTOR_USER_DATA
	push qword [gs:CPU_USER_SP]
	push r11
	push SELECTOR_USER_CODE
	push rcx
	push rax
	push REGS_VECTOR_SYSCALL
	push rdi
	push rsi
	push rdx
	push rcx
	push rax
	push r8
	push r9
	push r10
	push r11
	push rbx
	push rbp
	push r12
	push r13
	push r14
	push r15
	xor ebp, ebp			; end of the kernel's frame chain
	mov rdi, rsp
	call syscall_dispatch		; comes back with interrupts off
	test al, al
	jz .iret
	pop r15
	pop r14
	pop r13
	pop r12
	pop rbp
	pop rbx
	pop r11				; = rflags
	pop r10
	pop r9
	pop r8
	pop rax
	pop rcx				; = rip
	pop rdx
	pop rsi
	pop rdi
	mov rsp, [rsp + 5 * 8]		; past vector, error, rip, cs, rflags
	swapgs
	o64 sysret

.iret:
	swapgs
	pop r15
	pop r14
	pop r13
	pop r12
	pop rbp
	pop rbx
	pop r11
	pop r10
	pop r9
	pop r8
	pop rax
	pop rcx
	pop rdx
	pop rsi
	pop rdi
	add rsp, 2 * 8
	jmp exit_user_iretq
