/* SPDX-License-Identifier: MIT */
/*
 * Flipping static keys: nops in the kernel's text become jumps and back.
 *
 * Other CPUs may execute an instruction while it is rewritten, and a CPU that
 * fetches half of the old and half of the new one is lost.  So a breakpoint
 * covers it meanwhile (Intel SDM volume 3, 9.1.3, cross-modifying code):
 *
 *	1. first byte := int3	all CPUs serialise
 *	2. the other four bytes	all CPUs serialise
 *	3. first byte		all CPUs serialise
 *
 * Who runs into the breakpoint goes on as if the key were off: right before the
 * flip is over in either direction, since it is over when it returns.
 *
 * Text is mapped read-only; the writes go through the direct map.  NMI handlers
 * contain no such places: a breakpoint there would let the next NMI in.
 */
#include "arch/arch.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/regs.h"
#include "arch/x86_64/traps.h"
#include "kernel/log.h"
#include "kernel/smp.h"
#include "kernel/static_key.h"

#define SITE_BYTES 5
#define INT3       0xcc
#define JMP32      0xe9

struct static_site {
	uint64_t at, target;
	const struct static_key *key;
};
extern const struct static_site __start_static_sites[], __stop_static_sites[];

#define for_each_site(s)                                                                           \
	for (const struct static_site *s = __start_static_sites; s < __stop_static_sites; s++)

static const unsigned char nop5[SITE_BYTES] = { STATIC_NOP };

static void write_text(uint64_t at, unsigned char byte)
{
	unsigned char *p = phys_to_virt(virt_to_phys((const void *)at));

	__atomic_store_n(p, byte, __ATOMIC_RELEASE);
}

static void serialise(void *arg)
{
	(void)arg;
	(void)cpuid(0, 0);
}

static unsigned char new_byte(const struct static_site *s, bool on, unsigned i)
{
	uint32_t distance = (uint32_t)(s->target - (s->at + SITE_BYTES));

	if (!on)
		return nop5[i];
	return i ? (unsigned char)(distance >> (8 * (i - 1))) : JMP32;
}

void arch_static_key_flip(const struct static_key *key, bool on)
{
	for_each_site(s)
		if (s->key == key)
			write_text(s->at, INT3);
	smp_call_all(serialise, NULL);
	for_each_site(s)
		for (unsigned i = 1; s->key == key && i < SITE_BYTES; i++)
			write_text(s->at + i, new_byte(s, on, i));
	smp_call_all(serialise, NULL);
	for_each_site(s)
		if (s->key == key)
			write_text(s->at, new_byte(s, on, 0));
	smp_call_all(serialise, NULL);
	/*
	 * An emulator (QEMU 7.2) that translated the place while it was written may keep what it
	 * read before.  Now nobody does so, and another write makes it forget that.
	 */
	for_each_site(s)
		if (s->key == key)
			write_text(s->at, new_byte(s, on, 0));
}

bool static_key_trap(struct regs *regs)
{
	for_each_site(s) {
		if (s->at + 1 != regs->rip)
			continue;
		regs->rip = s->at + SITE_BYTES;
		return true;
	}
	return false;
}
