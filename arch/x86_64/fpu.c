/* SPDX-License-Identifier: MIT */
/*
 * FPU and vector state of user threads: see fpu.h.
 *
 * The image is what XSAVE writes in its standard form, or FXSAVE's 512 bytes
 * where the CPU has no XSAVE.  Bytes 464-511, which the CPU leaves to software,
 * always hold what a signal frame must have there (the Linux layout), so an
 * image can be copied to a frame as it is.
 *
 * A state image is written only by its thread (in kernel mode) and by
 * fpu_switch() on the CPU the thread is leaving.
 *
 * Two ways to hand the registers over.  Eager: saved and loaded at each switch
 * between user threads; right for real CPUs, where that costs little and
 * leaving another thread's state in reach of speculation is unsafe.  Lazy:
 * nothing is loaded until the program uses the unit, which traps (CR0.TS), and
 * nothing is saved if it did not; right under an emulator, where an XSAVE costs
 * a microsecond and most threads between two system calls use none of it.
 */
#include "arch/x86_64/fpu.h"
#include "arch/x86_64/cpu.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/param.h"
#include "kernel/string.h"
#include "mm/slab.h"
#include "mm/uaccess.h"

#define XFEATURE_X87    (1UL << 0)
#define XFEATURE_SSE    (1UL << 1)
#define XFEATURE_AVX    (1UL << 2)
#define XFEATURE_AVX512 (7UL << 5)

#define MXCSR_DEFAULT 0x1f80
#define FCW_DEFAULT   0x037f

/* Marks of an extended image in a signal frame. */
#define FP_XSTATE_MAGIC1 0x46505853U
#define FP_XSTATE_MAGIC2 0x46505845U

/* The first 576 bytes of every image; the header only with XSAVE. */
struct fpu_image {
	uint16_t fcw, fsw;
	uint8_t ftw, reserved0;
	uint16_t fop;
	uint64_t fip, fdp;
	uint32_t mxcsr, mxcsr_mask;
	uint8_t st[128], xmm[256], reserved1[48];
	struct {
		uint32_t magic1, extended_size;
		uint64_t xfeatures;
		uint32_t xstate_size, padding[7];
	} sw; /* software's bytes */
	uint64_t xstate_bv, xcomp_bv, reserved2[6];
	uint8_t extended[];
};
_Static_assert(offsetof(struct fpu_image, sw) == 464, "layout fixed by the CPU");
_Static_assert(offsetof(struct fpu_image, extended) == 576, "layout fixed by the CPU");
#define FXSAVE_SIZE 512

struct fpu {
	int cpu; /* whose registers hold this state, or did last; -1: none */
	struct fpu_image image __attribute__((aligned(64)));
};

enum { FPU_AUTO, FPU_EAGER, FPU_LAZY };
static const char *const mode_names[] = { "auto", "eager", "lazy", NULL };
static int mode;
PARAM_ENUM("fpu", mode, mode_names, PARAM_RO,
	   "when FPU state is loaded: at each switch, on first use, or by the machine (auto)");

static bool lazy;           /* constant after the boot CPU's start-up */
static bool use_xsave;
static uint64_t xfeatures;
static size_t image_size;   /* bytes the CPU writes; constant after the boot CPU's start-up */
static uint32_t mxcsr_mask; /* bits a program may set */
static struct kmem_cache *fpu_cache;
static uint8_t clean_memory[8192] __attribute__((aligned(64)));
#define clean_image ((struct fpu_image *)clean_memory)

/* The state whose contents this CPU's registers still hold. */
DEFINE_PER_CPU(struct fpu *, fpu_loaded);
/*
 * Lazy only: the current thread has used the unit since it was switched to;
 * CR0.TS is clear exactly then.  Changed with interrupts off.
 */
DEFINE_PER_CPU(bool, fpu_active);

static void image_save(struct fpu_image *i)
{
	if (use_xsave)
		__asm__ volatile("xsave64 (%0)" : : "r"(i), "a"(-1), "d"(-1) : "memory");
	else
		__asm__ volatile("fxsave64 (%0)" : : "r"(i) : "memory");
}

static void image_load(const struct fpu_image *i)
{
	if (use_xsave)
		__asm__ volatile("xrstor64 (%0)" : : "r"(i), "a"(-1), "d"(-1) : "memory");
	else
		__asm__ volatile("fxrstor64 (%0)" : : "r"(i) : "memory");
}

static void find_layout(void)
{
	image_size = FXSAVE_SIZE;
	if (use_xsave) {
		struct cpuid id = cpuid(0xd, 0);

		if (id.b <= sizeof(clean_memory)) {
			image_size = id.b;
		} else { /* more than any known CPU has: do without */
			pr_warn("XSAVE image of %u bytes is too large, only SSE state is kept", id.b);
			xfeatures = XFEATURE_X87 | XFEATURE_SSE;
			image_size = 576;
			__asm__ volatile("xsetbv" : : "c"(0), "a"((uint32_t)xfeatures), "d"(0));
		}
	}
	memset(clean_image, 0, image_size);
	__asm__ volatile("fxsave64 (%0)" : : "r"(clean_image) : "memory");
	mxcsr_mask = clean_image->mxcsr_mask ? clean_image->mxcsr_mask : 0xffbf;
	memset(clean_image, 0, image_size);
	clean_image->fcw = FCW_DEFAULT;
	clean_image->mxcsr = MXCSR_DEFAULT;
	clean_image->mxcsr_mask = mxcsr_mask;
	if (use_xsave) {
		clean_image->sw.magic1 = FP_XSTATE_MAGIC1;
		clean_image->sw.extended_size = (uint32_t)image_size + 4;
		clean_image->sw.xfeatures = xfeatures;
		clean_image->sw.xstate_size = (uint32_t)image_size;
	}
}

static void set_active(bool active)
{
	if (this_cpu(fpu_active) == active)
		return;
	this_cpu(fpu_active) = active;
	if (active)
		__asm__ volatile("clts" : : : "memory");
	else
		write_cr0(read_cr0() | CR0_TS);
}

void fpu_init_cpu(void)
{
	struct cpuid id = cpuid(1, 0);
	uint64_t cr4 = read_cr4() | CR4_OSFXSR | CR4_OSXMMEXCPT;

	write_cr0((read_cr0() & ~(CR0_EM | CR0_TS)) | CR0_MP | CR0_NE);
	if (!image_size) {
		use_xsave = (id.c >> 26) & 1;
		xfeatures = XFEATURE_X87 | XFEATURE_SSE;
		if (use_xsave) {
			struct cpuid d = cpuid(0xd, 0);

			xfeatures |= d.a & XFEATURE_AVX;
			if ((d.a & XFEATURE_AVX) && (d.a & XFEATURE_AVX512) == XFEATURE_AVX512)
				xfeatures |= XFEATURE_AVX512;
		}
	}
	if (use_xsave)
		cr4 |= CR4_OSXSAVE;
	write_cr4(cr4);
	if (use_xsave)
		__asm__ volatile("xsetbv"
				 :
				 : "c"(0), "a"((uint32_t)xfeatures), "d"((uint32_t)(xfeatures >> 32)));
	__asm__ volatile("fninit");
	if (!image_size) {
		find_layout();
		lazy = mode == FPU_LAZY || (mode == FPU_AUTO && cpu_features.tcg);
	}
	this_cpu(fpu_active) = true;
	if (lazy)
		set_active(false);
}

/* Makes the registers hold @f; interrupts off. */
static void load(struct fpu *f)
{
	if (f->cpu == (int)cpu_id() && this_cpu(fpu_loaded) == f)
		return;
	image_load(&f->image);
	f->cpu = (int)cpu_id();
	this_cpu(fpu_loaded) = f;
}

void fpu_switch(struct thread *prev, struct thread *next)
{
	struct fpu *f = prev->arch_fpu;

	if (lazy) {
		if (this_cpu(fpu_active)) {
			image_save(&f->image);
			set_active(false);
		}
		return;
	}
	if (f)
		image_save(&f->image);
	f = next->arch_fpu;
	if (f)
		load(f);
}

bool fpu_trap(void)
{
	irqstate_t s;

	if (!lazy)
		return false;
	s = irq_save();
	set_active(true);
	load(current->arch_fpu);
	irq_restore(s);
	return true;
}

static struct fpu *fpu_alloc(void)
{
	struct fpu *f;

	if (!fpu_cache) { /* first made by the boot CPU for pid 1, alone */
		fpu_cache = kmem_cache_create("fpu", offsetof(struct fpu, image) + image_size, 64,
					      SLAB_ACCOUNT);
		if (!fpu_cache)
			return NULL;
	}
	f = kmem_cache_alloc(fpu_cache, GFP_KERNEL);
	if (f)
		f->cpu = -1;
	return f;
}

int fpu_thread_init(struct thread *t)
{
	struct fpu *f = fpu_alloc();

	if (!f)
		return -ENOMEM;
	memcpy(&f->image, clean_image, image_size);
	t->arch_fpu = f;
	return 0;
}

/* Brings the image of the current thread up to date with the registers. */
static struct fpu *fpu_sync(void)
{
	struct fpu *f = current->arch_fpu;
	irqstate_t s = irq_save();

	if (!lazy || this_cpu(fpu_active))
		image_save(&f->image);
	irq_restore(s);
	return f;
}

int fpu_thread_copy(struct thread *t)
{
	struct fpu *f = fpu_alloc();

	if (!f)
		return -ENOMEM;
	memcpy(&f->image, &fpu_sync()->image, image_size);
	t->arch_fpu = f;
	return 0;
}

/* Replaces the current thread's state; @i is valid. */
static void fpu_replace(const struct fpu_image *i)
{
	struct fpu *f = current->arch_fpu;
	irqstate_t s = irq_save();

	memcpy(&f->image, i, image_size);
	f->cpu = -1; /* the registers hold something older */
	if (lazy)
		set_active(false);
	else
		load(f);
	irq_restore(s);
}

void fpu_thread_reset(void)
{
	fpu_replace(clean_image);
}

void fpu_thread_free(struct thread *t)
{
	if (!t->arch_fpu)
		return;
	kmem_cache_free(fpu_cache, t->arch_fpu);
	t->arch_fpu = NULL;
}

size_t fpu_frame_size(void)
{
	return use_xsave ? image_size + sizeof(uint32_t) : FXSAVE_SIZE;
}

int fpu_save_user(void *dst)
{
	struct fpu *f = fpu_sync();
	uint32_t end = FP_XSTATE_MAGIC2;
	int err = copy_to_user(dst, &f->image, use_xsave ? image_size : FXSAVE_SIZE);

	if (!err && use_xsave)
		err = copy_to_user((char *)dst + image_size, &end, sizeof(end));
	return err;
}

/* Makes what a program wrote into its frame fit for the CPU; false: nonsense. */
static bool image_check(struct fpu_image *i, bool extended)
{
	i->mxcsr &= mxcsr_mask;
	i->mxcsr_mask = mxcsr_mask;
	i->sw = clean_image->sw;
	if (!use_xsave)
		return true;
	if (!extended) {
		memset(&i->xstate_bv, 0, image_size - offsetof(struct fpu_image, xstate_bv));
		i->xstate_bv = XFEATURE_X87 | XFEATURE_SSE;
		return true;
	}
	if (i->xstate_bv & ~xfeatures || i->xcomp_bv)
		return false;
	for (unsigned n = 0; n < ARRAY_SIZE(i->reserved2); n++)
		if (i->reserved2[n])
			return false;
	return true;
}

int fpu_load_user(const void *src)
{
	struct fpu_image *i;
	bool extended = false;
	uint32_t end;
	int err = -EFAULT;

	if (!src) {
		fpu_thread_reset();
		return 0;
	}
	i = kmalloc(max(image_size, sizeof(*i)) + 64, GFP_KERNEL);
	if (!i)
		return -ENOMEM;
	if (copy_from_user(i, src, FXSAVE_SIZE))
		goto out;
	if (use_xsave && i->sw.magic1 == FP_XSTATE_MAGIC1 && i->sw.xstate_size == image_size &&
	    i->sw.extended_size == image_size + 4 &&
	    !copy_from_user(&end, (const char *)src + image_size, sizeof(end)) &&
	    end == FP_XSTATE_MAGIC2) {
		extended = true;
		if (copy_from_user((char *)i + FXSAVE_SIZE, (const char *)src + FXSAVE_SIZE,
				   image_size - FXSAVE_SIZE))
			goto out;
	}
	if (!image_check(i, extended))
		goto out;
	fpu_replace(i);
	err = 0;
out:
	kfree(i);
	return err;
}
