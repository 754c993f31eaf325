/* SPDX-License-Identifier: MIT */
/*
 * What this CPU model has, and the control registers of each CPU.
 *
 * Facts come from the boot CPU; the others get the same bits (a CPU that lacks
 * one of them is not one we could run on).
 */
#include "arch/x86_64/cpu.h"
#include "arch/arch.h"
#include "kernel/log.h"
#include "kernel/string.h"

struct cpu_features cpu_features;
bool cpu_relax_pause = true;

static void put_text(char *dst, uint32_t a, uint32_t b, uint32_t c)
{
	memcpy(dst, &a, 4);
	memcpy(dst + 4, &b, 4);
	memcpy(dst + 8, &c, 4);
}

/**
 * cpu_detect - fill cpu_features
 *
 * Sources: Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E; the
 * hypervisor leaves 0x40000000 and on as KVM and TCG give them.
 * Context: boot CPU, first thing.
 */
void cpu_detect(void)
{
	struct cpu_features *f = &cpu_features;
	struct cpuid r = cpuid(0, 0);

	f->max_leaf = r.a;
	put_text(f->vendor, r.b, r.d, r.c);
	r = cpuid(1, 0);
	f->family = (r.a >> 8) & 15;
	f->model = (r.a >> 4) & 15;
	if (f->family == 15)
		f->family += (r.a >> 20) & 255;
	if (f->family >= 6)
		f->model |= ((r.a >> 16) & 15) << 4;
	f->stepping = r.a & 15;
	f->mce = r.d & (1u << 7);
	f->x2apic = r.c & (1u << 21);
	f->tsc_deadline = r.c & (1u << 24);
	f->xsave = r.c & (1u << 26);
	f->hypervisor = r.c & (1u << 31);
	if (f->max_leaf >= 6)
		f->arat = cpuid(6, 0).a & (1u << 2);
	if (f->max_leaf >= 7) {
		r = cpuid(7, 0);
		f->smep = r.b & (1u << 7);
		f->smap = r.b & (1u << 20);
		f->umip = r.c & (1u << 2);
		f->tsc_adjust = r.b & (1u << 1);
	}
	f->max_ext_leaf = cpuid(0x80000000, 0).a;
	f->phys_bits = 36;
	if (f->max_ext_leaf >= 0x80000001) {
		r = cpuid(0x80000001, 0);
		f->nx = r.d & (1u << 20);
		f->gib_pages = r.d & (1u << 26);
		f->rdtscp = r.d & (1u << 27);
	}
	if (f->max_ext_leaf >= 0x80000004) {
		for (uint32_t i = 0; i < 3; i++) {
			r = cpuid(0x80000002 + i, 0);
			memcpy(f->brand + 16 * i, &r, 16);
		}
	}
	if (f->max_ext_leaf >= 0x80000007)
		f->invariant_tsc = cpuid(0x80000007, 0).d & (1u << 8);
	if (f->max_ext_leaf >= 0x80000008)
		f->phys_bits = cpuid(0x80000008, 0).a & 255;
	if (f->hypervisor) {
		r = cpuid(0x40000000, 0);
		f->max_hyp_leaf = r.a;
		put_text(f->hyp_vendor, r.b, r.c, r.d);
		f->tcg = !strcmp(f->hyp_vendor, "TCGTCGTCGTCG");
		f->kvm = !strncmp(f->hyp_vendor, "KVMKVMKVM", 9);
	}
	cpu_relax_pause = !f->tcg;
}

const char *arch_machine_name(void)
{
	if (cpu_features.tcg)
		return "tcg";
	if (cpu_features.kvm)
		return "kvm";
	return "metal"; /* other hypervisors too: records say what the CPU says */
}

/* Page attributes: the reset values, with write-combining in place of entry 1's write-through. */
#define PAT_VALUE 0x0007040600070106ULL

/* cpu_init_regs - control registers of this CPU; protection on as far as it has it */
void cpu_init_regs(void)
{
	const struct cpu_features *f = &cpu_features;
	uint64_t cr4 = read_cr4();

	write_cr0((read_cr0() & ~(CR0_EM | CR0_TS | CR0_CD | CR0_NW | CR0_AM)) | CR0_WP | CR0_NE | CR0_MP);
	cr4 |= CR4_PGE | CR4_OSFXSR | CR4_OSXMMEXCPT;
	cr4 &= ~CR4_FSGSBASE; /* programs must not set a GS base that looks like ours */
	if (f->mce)
		cr4 |= CR4_MCE;
	if (f->xsave)
		cr4 |= CR4_OSXSAVE;
	if (f->smep)
		cr4 |= CR4_SMEP;
	if (f->smap)
		cr4 |= CR4_SMAP;
	if (f->umip)
		cr4 |= CR4_UMIP;
	write_cr4(cr4);
	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SCE | (f->nx ? EFER_NXE : 0));
	wrmsr(MSR_PAT, PAT_VALUE);
}

struct smap_site {
	uint64_t at, last_byte;
};
extern const struct smap_site __start_smap_sites[], __stop_smap_sites[];

/* Turns the nops of user accesses into stac and clac; the early tables map text writable. */
void cpu_patch_smap(void)
{
	if (!cpu_features.smap)
		return;
	for (const struct smap_site *s = __start_smap_sites; s < __stop_smap_sites; s++) {
		unsigned char *p = (unsigned char *)s->at;

		p[0] = 0x0f;
		p[1] = 0x01;
		p[2] = (unsigned char)s->last_byte;
	}
}

void cpu_print(void)
{
	const struct cpu_features *f = &cpu_features;

	pr_info("cpu: %s, %s, family %u model %u stepping %u, machine %s%s%s", f->vendor, f->brand, f->family,
		f->model, f->stepping, arch_machine_name(), f->hypervisor ? ", hypervisor " : "",
		f->hyp_vendor);
	pr_info("cpu: %u physical address bits;%s%s%s%s%s%s%s%s%s%s", f->phys_bits, f->nx ? " nx" : "",
		f->gib_pages ? " 1gib-pages" : "", f->smep ? " smep" : "", f->smap ? " smap" : "",
		f->umip ? " umip" : "", f->x2apic ? " x2apic" : "", f->tsc_deadline ? " tsc-deadline" : "",
		f->invariant_tsc ? " invariant-tsc" : "", f->arat ? " arat" : "", f->xsave ? " xsave" : "");
}
