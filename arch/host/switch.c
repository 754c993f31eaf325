/* SPDX-License-Identifier: MIT */
/*
 * Kernel threads as coroutines: stack switch by a few instructions, announced
 * to the address and thread sanitizers, for which a coroutine is a "fiber".
 */
#include <pthread.h>
#include <stdlib.h>

#include "arch/arch.h"
#include "arch/host/host_internal.h"
#include "kernel/log.h"
#include "kernel/thread.h"

#if defined(__SANITIZE_ADDRESS__)
#define HOST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HOST_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define HOST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOST_TSAN 1
#endif
#endif

#ifdef HOST_ASAN
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *save, const void **bottom_old, size_t *size_old);
#else
#define __sanitizer_start_switch_fiber(a, b, c)  ((void)0)
#define __sanitizer_finish_switch_fiber(a, b, c) ((void)0)
#endif
#ifdef HOST_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#else
#define __tsan_get_current_fiber()   NULL
#define __tsan_create_fiber(f)       NULL
#define __tsan_destroy_fiber(f)      ((void)0)
#define __tsan_switch_to_fiber(f, g) ((void)(f))
#endif

/* Hangs off thread->arch_fpu, which has no other use here. */
struct host_context {
	void *fiber;      /* thread sanitizer */
	void *fake_stack; /* address sanitizer */
	void *bottom;
	size_t size;
	void (*entry)(void *);
	void *arg;
};

struct thread *host_switch_stacks(uintptr_t *save, uintptr_t to, struct thread *prev);
void host_thread_main(struct thread *prev) __attribute__((noreturn));

__asm__(".text\n"
	".globl host_switch_stacks\n"
	".type host_switch_stacks, @function\n"
	"host_switch_stacks:\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	mov %rdx, %rax\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	pop %rbp\n"
	"	ret\n"
	".size host_switch_stacks, .-host_switch_stacks\n"
	"host_thread_entry:\n"
	"	mov %rax, %rdi\n"
	"	xor %ebp, %ebp\n"
	"	call host_thread_main\n"
	"	ud2\n");
extern char host_thread_entry[];

static struct host_context *context(struct thread *t)
{
	return t->arch_fpu;
}

void host_thread_main(struct thread *prev)
{
	struct host_context *c = context(current);

	__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
	sched_finish_switch(prev);
	irq_enable();
	c->entry(c->arg);
	panic("thread %s returned from its entry", current->name);
}

void arch_thread_init(struct thread *t, void (*entry)(void *), void *arg)
{
	struct host_context *c = calloc(1, sizeof(*c));
	uintptr_t *sp = (uintptr_t *)((uintptr_t)t->stack + t->stack_size);

	BUG_ON(!c);
	c->entry = entry;
	c->arg = arg;
	c->bottom = t->stack;
	c->size = t->stack_size;
	c->fiber = __tsan_create_fiber(0);
	t->arch_fpu = c;
	*--sp = 0; /* two words, so that the entry's call finds an aligned stack */
	*--sp = 0;
	*--sp = (uintptr_t)host_thread_entry;
	for (int i = 0; i < 6; i++)
		*--sp = 0;
	t->arch_sp = (uintptr_t)sp;
}

void host_adopt_stack(struct thread *t)
{
	struct host_context *c = calloc(1, sizeof(*c));
	pthread_attr_t attr;

	BUG_ON(!c || pthread_getattr_np(pthread_self(), &attr));
	pthread_attr_getstack(&attr, &c->bottom, &c->size);
	pthread_attr_destroy(&attr);
	c->fiber = __tsan_get_current_fiber();
	t->arch_fpu = c;
}

void arch_thread_free(struct thread *t)
{
	struct host_context *c = context(t);

	if (!c)
		return;
	__tsan_destroy_fiber(c->fiber);
	free(c);
	t->arch_fpu = NULL;
}

struct thread *arch_switch(struct thread *prev, struct thread *next)
{
	struct host_context *pc = context(prev), *nc = context(next);

	host_self()->curr = next;
	(void)nc;
	__sanitizer_start_switch_fiber(thread_state_of(prev) == THREAD_DEAD ? NULL : &pc->fake_stack,
				       nc->bottom, nc->size);
	__tsan_switch_to_fiber(nc->fiber, 0);
	prev = host_switch_stacks(&prev->arch_sp, next->arch_sp, prev);
	__sanitizer_finish_switch_fiber(pc->fake_stack, NULL, NULL);
	(void)pc;
	return prev;
}
