/* SPDX-License-Identifier: MIT */
/*
 * Where a program begins: the kernel enters with the argument block at the
 * stack pointer (argc, argv, NULL, envp, NULL, auxiliary vector).
 */
	.globl	_start
	.type	_start, @function
_start:
	xorl	%ebp, %ebp
	movq	%rsp, %rdi
	andq	$-16, %rsp
	call	__libc_start
	hlt

/*
 * Return path of a signal handler: Linux x86-64 wants the address of code
 * that makes system call 15 (rt_sigreturn) with the handler's frame on top.
 */
	.globl	__restore_rt
	.type	__restore_rt, @function
__restore_rt:
	movl	$15, %eax
	syscall
	hlt

	.section .note.GNU-stack, "", @progbits
