; SPDX-License-Identifier: MIT
; Entry from exceptions and interrupts, and the way back.
;
; Every vector pushes struct regs (regs.h) and calls trap_dispatch(regs).  From
; user mode the stack is the thread's own (TSS.rsp0), so the registers lie at
; its top.  GS: swapped exactly when the saved CS says user, except for vectors
; that may come before the swap was done (NMI, double fault, machine check,
; debug), which look at GS base itself: a kernel GS base has its top bit set,
; and no program can set one that has.

%include "asm_offsets.inc"

extern trap_dispatch, exit_to_user

%macro SAVE_REGS 0		; everything above error code and vector is there
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
%endmacro

%macro RESTORE_REGS 0
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
%endmacro

%macro SMAP_CLAC 0		; clac where the CPU has SMAP (cpu.c patches it)
%%site:	db 0x0f, 0x1f, 0x00
[section smap_sites progbits alloc noexec nowrite align=8]
	dq %%site
	dq 0xca
__?SECT?__
%endmacro

section .text.entry progbits alloc exec nowrite align=16
bits 64

; 256 stubs of 16 bytes.  Vectors 8, 10-14, 17, 21, 29, 30 bring an error code.
align 16
global vector_stubs
vector_stubs:
%assign v 0
%rep 256
	align 16
%if v == 8 || v == 10 || v == 11 || v == 12 || v == 13 || v == 14 || v == 17 || v == 21 || v == 29 || v == 30
%else
	push 0
%endif
	push v
%if v == 1 || v == 2 || v == 8 || v == 18
	jmp near entry_paranoid
%else
	jmp near entry_common
%endif
%assign v v + 1
%endrep

align 16
entry_common:
	SAVE_REGS
	cld
	SMAP_CLAC
	test byte [rsp + REGS_CS], 3
	jz .kernel
	swapgs
	xor ebp, ebp			; end of the kernel's frame chain
	mov rdi, rsp
	call trap_dispatch
	jmp exit_user
.kernel:
	; An iretq to user mode that faults does so with the user's GS already in
	; place; traps.c makes it the program's fault.
	lea rax, [rel exit_user_iretq]
	cmp [rsp + REGS_RIP], rax
	jne .gs_ok
	swapgs
.gs_ok:
	mov rdi, rsp
	call trap_dispatch
	RESTORE_REGS
	add rsp, 16
	iretq

; Leaves for user mode; rsp points to struct regs at the top of the stack.
align 16
exit_user:
	cli
	mov rdi, rsp
	call exit_to_user
	swapgs
	RESTORE_REGS
	add rsp, 16
global exit_user_iretq
exit_user_iretq:			; may fault on bad user registers: traps.c
	iretq

; void enter_user(struct regs *regs)
global enter_user
enter_user:
	mov rsp, rdi
	jmp exit_user

; On an emergency stack.  ebx: 1 if GS was swapped here.
align 16
entry_paranoid:
	SAVE_REGS
	cld
	SMAP_CLAC
	cmp qword [rsp + REGS_VECTOR], 1
	jne .emergency
	test byte [rsp + REGS_CS], 3
	jnz .debug_user
.emergency:
	xor ebx, ebx
	mov ecx, 0xc0000101		; GS base
	rdmsr
	test edx, edx
	js .have_gs
	swapgs
	inc ebx
.have_gs:
	mov rdi, rsp
	call trap_dispatch
	test ebx, ebx
	jz .no_swap
	swapgs
.no_swap:
	RESTORE_REGS
	add rsp, 16
	iretq

; A debug exception of a program: go on as an ordinary one, on the thread's stack.
.debug_user:
	swapgs
	mov rsi, rsp
	mov rdi, [gs:CPU_KERNEL_SP]
	sub rdi, REGS_SIZE
	mov rdx, rdi
	mov ecx, REGS_SIZE / 8
	rep movsq
	mov rsp, rdx
	xor ebp, ebp
	mov rdi, rsp
	call trap_dispatch
	jmp exit_user

; struct thread *switch_stacks(struct thread *prev, struct thread *next)
; Comes back as prev, with the thread that ran before in rax.
section .text
align 16
global switch_stacks
switch_stacks:
	push rbp
	push rbx
	push r12
	push r13
	push r14
	push r15
	mov [rdi + THREAD_SP], rsp
	mov rsp, [rsi + THREAD_SP]
	pop r15
	pop r14
	pop r13
	pop r12
	pop rbx
	pop rbp
	mov rax, rdi
	ret

; The first return of a new thread: r12 = entry, r13 = its argument, rax = previous thread.
extern thread_first_switch
global thread_start_asm
thread_start_asm:
	mov rdi, rax
	mov rsi, r12
	mov rdx, r13
	xor ebp, ebp
	call thread_first_switch
	ud2
