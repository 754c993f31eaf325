/* SPDX-License-Identifier: MIT */
/*
 * Simulated CPUs: coroutines, and who runs next (the earliest clock, then the
 * lowest number).
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "arch/sim/explorer.h"
#include "arch/sim/sim.h"
#include "kernel/thread.h"

#define STACK_BYTES (256 * 1024)

unsigned nr_cpus;
uintptr_t *percpu_offsets;
struct sim_cpu *sim_cpus, *sim_cur;
struct sim_cpu_view *sim_view;
enum sim_mode sim_mode;
struct sim_machine sim_machine;

static struct sim_cpu boot_cpu; /* set-up code runs as CPU 0 */
static struct sim_cpu main_ctx; /* who called sim_run() */
static void (*body)(unsigned cpu);
static unsigned alive;

/* Heap of CPUs that can run, by (time, id). */
static struct sim_cpu **heap;
static unsigned heap_n;

static bool earlier(const struct sim_cpu *a, const struct sim_cpu *b)
{
	return a->time != b->time ? a->time < b->time : a->view.id < b->view.id;
}

static void place(struct sim_cpu *c, unsigned i)
{
	heap[i] = c;
	c->heap_pos = i;
}

static void sift(unsigned i)
{
	struct sim_cpu *c = heap[i];

	while (i && earlier(c, heap[(i - 1) / 2])) {
		place(heap[(i - 1) / 2], i);
		i = (i - 1) / 2;
	}
	for (;;) {
		unsigned k = 2 * i + 1;

		if (k >= heap_n)
			break;
		if (k + 1 < heap_n && earlier(heap[k + 1], heap[k]))
			k++;
		if (!earlier(heap[k], c))
			break;
		place(heap[k], i);
		i = k;
	}
	place(c, i);
}

static void heap_remove(struct sim_cpu *c)
{
	unsigned i = c->heap_pos;
	struct sim_cpu *last = heap[--heap_n];

	if (last == c)
		return;
	place(last, i);
	sift(i);
}

/*
 * Saves the callee-saved registers on the old stack and takes those of the new
 * one; the return address does the rest.
 */
__attribute__((naked, noinline, no_sanitize_thread)) static void switch_stacks(void **save,
									       void *load)
{
	__asm__ volatile("push %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
			 "mov %rsp, (%rdi)\n\t"
			 "mov %rsi, %rsp\n\t"
			 "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\t"
			 "ret");
}

void sim_switch(struct sim_cpu *to)
{
	struct sim_cpu *from = sim_cur ? sim_cur : &main_ctx;

	if (to == sim_cur)
		return;
	sim_cur = to == &main_ctx ? NULL : to;
	sim_view = sim_cur ? &sim_cur->view : &boot_cpu.view;
	switch_stacks(&from->sp, to->sp);
}

static void cpu_main(void)
{
	body(sim_cur->view.id);
	explore_cpu_done();
	sim_cur->done = true;
	alive--;
	heap_remove(sim_cur);
	sim_switch(heap_n ? heap[0] : &main_ctx);
	abort();
}

void sim_switch_if_late(void)
{
	sift(sim_cur->heap_pos);
	if (heap[0] != sim_cur)
		sim_switch(heap[0]);
}

void sim_work(uint64_t ns)
{
	if (sim_mode == SIM_EXPLORE)
		return;
	sim_cur->time += ns;
	sim_switch_if_late();
}

void sim_yield(void)
{
	uint64_t next;

	if (sim_mode == SIM_EXPLORE) {
		explore_yield();
		return;
	}
	/* Past the next CPU, so that waiting ends. */
	next = sim_cur->time + 20;
	for (unsigned i = 0; i < heap_n && i < 3; i++)
		if (heap[i] != sim_cur && heap[i]->time >= sim_cur->time && heap[i]->time + 1 > next)
			next = heap[i]->time + 1;
	sim_cur->time = next;
	sim_switch_if_late();
}

void cpu_relax(void)
{
	if (sim_cur)
		sim_yield();
}

uint64_t sim_now(void)
{
	return sim_cur ? sim_cur->time : 0;
}

uint64_t sim_random(uint64_t *state)
{
	uint64_t x = *state ? *state : 0x9e3779b97f4a7c15ULL;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

void sim_reset(unsigned cpus, enum sim_mode mode, const struct sim_machine *m, uint64_t seed)
{
	for (unsigned i = 0; i < nr_cpus; i++) {
		munmap(sim_cpus[i].stack, STACK_BYTES);
		free(sim_cpus[i].view.curr);
	}
	free(sim_cpus);
	free(heap);
	free(percpu_offsets);
	nr_cpus = cpus;
	sim_mode = mode;
	if (m)
		sim_machine = *m;
	sim_memory_reset(cpus);
	sim_cache_reset(cpus);
	sim_cpus = calloc(cpus, sizeof(*sim_cpus));
	heap = calloc(cpus, sizeof(*heap));
	percpu_offsets = calloc(cpus, sizeof(*percpu_offsets));
	for (unsigned i = 0; i < cpus; i++) {
		struct sim_cpu *c = &sim_cpus[i];

		percpu_offsets[i] = sim_percpu_copy(i);
		c->view.id = i;
		c->view.percpu_offset = percpu_offsets[i];
		c->view.curr = calloc(1, sizeof(struct thread));
		c->rnd = (seed + 1) * 0x9e3779b97f4a7c15ULL + i * 0xbf58476d1ce4e5b9ULL;
		c->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	}
	boot_cpu = (struct sim_cpu){ .view = sim_cpus[0].view };
	sim_view = &boot_cpu.view;
	sim_cur = NULL;
}

void sim_run(void (*fn)(unsigned cpu))
{
	body = fn;
	alive = nr_cpus;
	heap_n = 0;
	for (unsigned i = 0; i < nr_cpus; i++) {
		struct sim_cpu *c = &sim_cpus[i];
		void **sp = (void **)(void *)(c->stack + STACK_BYTES);

		/* As if cpu_main() had been called: the stack is off by 8 from a 16-byte boundary. */
		*--sp = NULL;
		*--sp = (void *)cpu_main;
		sp -= 6;
		c->sp = sp;
		c->done = false;
		place(c, heap_n++);
		sift(c->heap_pos);
	}
	sim_switch(heap[0]);
	sim_view = &boot_cpu.view;
}
