/* SPDX-License-Identifier: MIT */
/*
 * Instructions that C has no word for, and what this CPU model can do.
 */
#ifndef ARCH_X86_64_CPU_H
#define ARCH_X86_64_CPU_H

#include "kernel/types.h"

static inline void outb(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}
static inline void outw(uint16_t port, uint16_t v)
{
	__asm__ volatile("outw %0, %1" : : "a"(v), "Nd"(port));
}
static inline void outl(uint16_t port, uint32_t v)
{
	__asm__ volatile("outl %0, %1" : : "a"(v), "Nd"(port));
}
static inline uint8_t inb(uint16_t port)
{
	uint8_t v;

	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}
/* @n bytes from one port, in one instruction: an emulator charges per instruction. */
static inline void insb(uint16_t port, void *buf, size_t n)
{
	__asm__ volatile("rep insb" : "+D"(buf), "+c"(n) : "d"(port) : "memory");
}
static inline uint16_t inw(uint16_t port)
{
	uint16_t v;

	__asm__ volatile("inw %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}
static inline uint32_t inl(uint16_t port)
{
	uint32_t v;

	__asm__ volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}
static inline void outsb(uint16_t port, const void *p, size_t n)
{
	__asm__ volatile("rep outsb" : "+S"(p), "+c"(n) : "d"(port) : "memory");
}

static inline uint64_t rdmsr(uint32_t msr)
{
	uint32_t lo, hi;

	__asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr) : "memory");
	return ((uint64_t)hi << 32) | lo;
}
static inline void wrmsr(uint32_t msr, uint64_t v)
{
	__asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)v), "d"((uint32_t)(v >> 32)) : "memory");
}
static inline uint64_t rdtsc(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi) : : "memory");
	return ((uint64_t)hi << 32) | lo;
}

struct cpuid {
	uint32_t a, b, c, d;
};
static inline struct cpuid cpuid(uint32_t leaf, uint32_t sub)
{
	struct cpuid r;

	__asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(sub));
	return r;
}

#define DEFINE_CR(n)                                                                               \
	static inline uint64_t read_cr##n(void)                                                    \
	{                                                                                          \
		uint64_t v;                                                                        \
                                                                                                   \
		__asm__ volatile("mov %%cr" #n ", %0" : "=r"(v) : : "memory");                     \
		return v;                                                                          \
	}                                                                                          \
	static inline void write_cr##n(uint64_t v)                                                 \
	{                                                                                          \
		__asm__ volatile("mov %0, %%cr" #n : : "r"(v) : "memory");                         \
	}
DEFINE_CR(0)
DEFINE_CR(2)
DEFINE_CR(3)
DEFINE_CR(4)
#undef DEFINE_CR

static inline void invlpg(uintptr_t va)
{
	__asm__ volatile("invlpg (%0)" : : "r"(va) : "memory");
}
static inline void halt(void)
{
	__asm__ volatile("hlt" : : : "memory");
}
/* Device registers: one access of this size, not merged, not reordered by the compiler. */
static inline uint8_t mmio_read8(const volatile void *p)
{
	uint8_t v;

	__asm__ volatile("movb %1, %0" : "=q"(v) : "m"(*(const volatile uint8_t *)p) : "memory");
	return v;
}
static inline void mmio_write8(volatile void *p, uint8_t v)
{
	__asm__ volatile("movb %1, %0" : "=m"(*(volatile uint8_t *)p) : "q"(v) : "memory");
}
static inline uint16_t mmio_read16(const volatile void *p)
{
	uint16_t v;

	__asm__ volatile("movw %1, %0" : "=r"(v) : "m"(*(const volatile uint16_t *)p) : "memory");
	return v;
}
static inline void mmio_write16(volatile void *p, uint16_t v)
{
	__asm__ volatile("movw %1, %0" : "=m"(*(volatile uint16_t *)p) : "r"(v) : "memory");
}
static inline uint32_t mmio_read32(const volatile void *p)
{
	uint32_t v;

	__asm__ volatile("movl %1, %0" : "=r"(v) : "m"(*(const volatile uint32_t *)p) : "memory");
	return v;
}
static inline void mmio_write32(volatile void *p, uint32_t v)
{
	__asm__ volatile("movl %1, %0" : "=m"(*(volatile uint32_t *)p) : "r"(v) : "memory");
}
static inline uint64_t mmio_read64(const volatile void *p)
{
	uint64_t v;

	__asm__ volatile("movq %1, %0" : "=r"(v) : "m"(*(const volatile uint64_t *)p) : "memory");
	return v;
}
static inline void mmio_write64(volatile void *p, uint64_t v)
{
	__asm__ volatile("movq %1, %0" : "=m"(*(volatile uint64_t *)p) : "r"(v) : "memory");
}
static inline void memory_fence(void)
{
	__asm__ volatile("mfence" : : : "memory");
}
/* (a * b) >> shift without losing the upper half of the product; shift 1..63. */
static inline uint64_t mul_shift(uint64_t a, uint64_t b, unsigned shift)
{
	return (uint64_t)(((unsigned __int128)a * b) >> shift);
}

/* Model-specific registers. */
#define MSR_APIC_BASE      0x1b
#define MSR_TSC_ADJUST     0x3b
#define MSR_XAPIC_DISABLE  0xbd
#define MSR_ARCH_CAPS      0x10a
#define MSR_MCG_CAP        0x179
#define MSR_MC0_STATUS     0x401
#define MSR_PAT            0x277
#define MSR_TSC_DEADLINE   0x6e0
#define MSR_EFER           0xc0000080
#define MSR_STAR           0xc0000081
#define MSR_LSTAR          0xc0000082
#define MSR_FMASK          0xc0000084
#define MSR_FS_BASE        0xc0000100
#define MSR_GS_BASE        0xc0000101
#define MSR_KERNEL_GS_BASE 0xc0000102
#define MSR_TSC_AUX        0xc0000103

#define EFER_SCE (1u << 0)
#define EFER_NXE (1u << 11)

#define CR0_MP (1UL << 1)
#define CR0_EM (1UL << 2)
#define CR0_TS (1UL << 3)
#define CR0_NE (1UL << 5)
#define CR0_WP (1UL << 16)
#define CR0_AM (1UL << 18)
#define CR0_NW (1UL << 29)
#define CR0_CD (1UL << 30)

#define CR4_PGE        (1UL << 7)
#define CR4_MCE        (1UL << 6)
#define CR4_OSFXSR     (1UL << 9)
#define CR4_OSXMMEXCPT (1UL << 10)
#define CR4_UMIP       (1UL << 11)
#define CR4_FSGSBASE   (1UL << 16)
#define CR4_OSXSAVE    (1UL << 18)
#define CR4_SMEP       (1UL << 20)
#define CR4_SMAP       (1UL << 21)

/* What the boot CPU has; every other CPU is given the same bits. Constant after early boot. */
struct cpu_features {
	uint32_t max_leaf, max_ext_leaf, max_hyp_leaf;
	bool nx, gib_pages, smep, smap, umip, x2apic, tsc_deadline, invariant_tsc, arat, rdtscp;
	bool xsave, hypervisor, tcg, kvm, mce, tsc_adjust;
	char vendor[13], hyp_vendor[13], brand[49];
	uint32_t family, model, stepping;
	unsigned phys_bits;
};
extern struct cpu_features cpu_features;

void cpu_detect(void);    /* fills cpu_features; boot CPU, early */
void cpu_patch_smap(void); /* before text is write-protected */
void cpu_print(void);      /* logs it all */
void cpu_init_regs(void); /* CR0, CR4, EFER, PAT of this CPU */

/* GDT, TSS and IDT of this CPU; its per-CPU area must be in GS. */
void gdt_init_cpu(void);
void idt_init(void); /* once, boot CPU */
void idt_load(void);
void tss_set_kernel_sp(uintptr_t sp);
void cpu_stacks_alloc(void *area); /* emergency stacks for the CPU of that per-CPU area */

/* percpu.c: areas. */
void percpu_init_boot(void); /* boot CPU, before any allocation: the template itself */
void *percpu_area_alloc(void); /* a copy of the template; NULL without memory */
void percpu_area_load(void *area, unsigned cpu, uint32_t apic_id); /* GS base of this CPU */

/*
 * SMAP: kernel code that touches user memory wraps the access.  The bytes are
 * a 3-byte nop in the image, patched at boot where the CPU has SMAP.
 */
#define SMAP_SITE(insn_byte)                                                                       \
	"771: .byte 0x0f, 0x1f, 0x00\n"                                                            \
	".pushsection smap_sites,\"a\",@progbits\n"                                                \
	".quad 771b\n.quad " insn_byte "\n.popsection\n"
static inline void user_access_begin(void)
{
	__asm__ volatile(SMAP_SITE("0xcb") : : : "memory"); /* stac */
}
static inline void user_access_end(void)
{
	__asm__ volatile(SMAP_SITE("0xca") : : : "memory"); /* clac */
}

#endif /* ARCH_X86_64_CPU_H */
