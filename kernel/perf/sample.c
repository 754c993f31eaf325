/* SPDX-License-Identifier: MIT */
/*
 * The profiler; see sample.h.
 *
 * One CPU, the *sampler*, has a timer.  At each tick it sends an NMI to every
 * CPU that runs something, so code with interrupts off is seen like any other
 * and CPUs that idle are left alone.  The sampler should itself be idle: if it
 * gets busy it takes its own sample from what its timer interrupted (which
 * never has interrupts off) and soon hands the role to a CPU that idles, or
 * to the next one, so that no CPU's interrupts-off code stays unseen.
 *
 * Who writes a CPU's buffer: that CPU, in an NMI or in its timer interrupt.  An
 * NMI within the latter finds `busy` set and is counted as lost.  head is
 * published with release, tail comes back from the reader.
 */
#include "kernel/perf/sample.h"

#include "fs/cgroup.h"
#include "fs/vfs.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/perf/event.h"
#include "kernel/perf/perf.h"
#include "kernel/process.h"
#include "kernel/sched.h"
#include "kernel/smp.h"
#include "kernel/string.h"
#include "kernel/timer.h"
#include "kernel/trace.h"
#include "mm/slab.h"
#include "mm/vmalloc.h"

#define MOST_HZ        20000
#define BUFFER_DEFAULT (128u << 10)
#define BUFFER_LEAST   (16u << 10)
#define BUFFER_MOST    (4u << 20)
#define HAND_OVER      4 /* ticks that a busy sampler does itself */

struct ring {
	_Atomic uint64_t head;    /* bytes ever written; this CPU */
	_Atomic uint64_t samples, lost; /* this CPU */
	bool busy;                /* this CPU: a record is being written */
	char *data;               /* constant */
	_Atomic uint64_t tail __cacheline_aligned; /* bytes ever read; the reader */
} __cacheline_aligned;

/* Constant while it is published, but for the atomics. */
struct session {
	uint64_t period, started;
	unsigned flags;
	uint64_t size;              /* of a buffer; a power of two */
	struct file *event_file;    /* referenced; NULL */
	struct perf_event *event;   /* of event_file */
	struct memcg *group;        /* referenced; NULL */
	struct pmu *trace_pmu;      /* held; NULL: by time */
	int point;                  /* its trace point, or -1 */
	struct ring *rings;         /* [nr_cpus] */
	_Atomic unsigned sampler;   /* CPU */
	_Atomic uint64_t ticks;     /* written by the sampler */
};

static _Atomic(struct session *) session;
static struct mutex session_lock = MUTEX_INIT(session_lock, "perf_session");
DEFINE_PER_CPU(static _Atomic bool, nmi_asked);

static void ring_write(struct session *s, struct ring *r, const struct perf_sample *p)
{
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
	uint64_t at = head & (s->size - 1), n = min(p->size, s->size - at);

	if (head + p->size - tail > s->size) {
		count_add(&r->lost, 1);
		return;
	}
	memcpy(r->data + at, p, n);
	memcpy(r->data, (const char *)p + n, p->size - n);
	atomic_store_explicit(&r->head, head + p->size, memory_order_release);
	count_add(&r->samples, 1);
}

/*
 * Interrupts off or NMI.  The place is where @regs is or, at a trace point, above @frame.
 */
static void take_sample(struct session *s, const struct regs *regs, const void *frame)
{
	struct run_queue *rq = &this_cpu(run_queue);
	struct ring *r = &s->rings[cpu_id()];
	struct thread *t = rq->curr;
	struct process *proc;
	struct perf_sample p;
	unsigned n, nr_kernel;
	struct memcg *group;
	unsigned max = s->flags & PERF_SAMPLE_CHAINS ? PERF_SAMPLE_IPS : 1;

	if (t == rq->idle && !frame)
		return;
	/* In the middle of a switch the stack is still the old thread's. */
	t = current;
	proc = t->process;
	group = perf_group_of(t);
	if (s->group && !group_is_under(group, s->group))
		return;
	if (s->event && !perf_event_counts_here(s->event))
		return;
	if (r->busy) {
		count_add(&r->lost, 1);
		return;
	}
	r->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	n = regs ? arch_sample_chain(regs, p.ip, max, &nr_kernel)
		 : arch_sample_chain_above(frame, p.ip, max, &nr_kernel);
	p.size = (uint32_t)(offsetof(struct perf_sample, ip) + n * sizeof(p.ip[0]));
	p.cpu = (uint16_t)cpu_id();
	p.nr_kernel = (uint8_t)nr_kernel;
	p.nr_user = (uint8_t)(n - nr_kernel);
	p.pid = proc ? proc->pid : 0;
	p.tid = t->tid;
	p.group = group->id;
	p.reserved = 0;
	p.ns = clock_ns();
	memcpy(p.name, t->name, sizeof(p.name));
	p.name[sizeof(p.name) - 1] = 0;
	ring_write(s, r, &p);
	atomic_signal_fence(memory_order_seq_cst);
	r->busy = false;
}

bool perf_sample_nmi(const struct regs *regs)
{
	struct session *s = atomic_load_explicit(&session, memory_order_acquire);

	/* Two that were sent in short order may have been answered by the first. */
	if (!atomic_exchange_explicit(&this_cpu(nmi_asked), false, memory_order_acquire))
		return s && s->point < 0;
	if (s && s->point < 0)
		take_sample(s, regs, NULL);
	return true;
}

static bool is_busy(unsigned cpu)
{
	return atomic_load_explicit(&per_cpu(run_queue, cpu).runnable, memory_order_relaxed) != 0;
}

/* Who should be the next sampler: a CPU that idles, else the next one. */
static unsigned next_sampler(unsigned self)
{
	for (unsigned i = 1; i < nr_cpus; i++)
		if (!is_busy((self + nr_cpus - i) % nr_cpus))
			return (self + nr_cpus - i) % nr_cpus;
	return (self + 1) % nr_cpus;
}

/* The sampler's timer interrupt. */
static void tick(void)
{
	struct session *s = atomic_load_explicit(&session, memory_order_acquire);
	unsigned self = cpu_id();
	uint64_t ticks;

	if (!s || s->point >= 0 ||
	    atomic_load_explicit(&s->sampler, memory_order_relaxed) != self)
		return;
	for_each_cpu(cpu) {
		if (cpu == self || !is_busy(cpu))
			continue;
		atomic_store_explicit(&per_cpu(nmi_asked, cpu), true, memory_order_release);
		arch_sample_ask(cpu);
	}
	ticks = atomic_load_explicit(&s->ticks, memory_order_relaxed) + 1;
	atomic_store_explicit(&s->ticks, ticks, memory_order_relaxed);
	if (is_busy(self)) {
		const struct regs *regs = arch_timer_regs();

		if (regs)
			take_sample(s, regs, NULL);
		if (ticks % HAND_OVER == 0 && nr_cpus > 1) {
			unsigned next = next_sampler(self);

			atomic_store_explicit(&s->sampler, next, memory_order_release);
			sched_request(next); /* take_role() there */
			return;
		}
	}
	timer_irq_set(TIMER_IRQ_SAMPLE, clock_ns() + s->period);
}

/* Interrupts off: am I the sampler now? */
static void take_role(void)
{
	struct session *s = atomic_load_explicit(&session, memory_order_acquire);

	if (s && s->point < 0 &&
	    atomic_load_explicit(&s->sampler, memory_order_acquire) == cpu_id())
		timer_irq_set(TIMER_IRQ_SAMPLE, clock_ns() + s->period);
}

/* At a trace point, interrupts off. */
static void point_passed(enum trace_point point, const void *frame)
{
	struct session *s = atomic_load_explicit(&session, memory_order_acquire);

	if (s && s->point == (int)point)
		take_sample(s, NULL, frame);
}

static void take_role_call(void *arg)
{
	(void)arg;
	take_role();
}

static void nothing(void *arg)
{
	(void)arg;
}

static void session_free(struct session *s)
{
	for (unsigned cpu = 0; s->rings && cpu < nr_cpus; cpu++)
		if (s->rings[cpu].data)
			vfree(s->rings[cpu].data);
	kfree(s->rings);
	if (s->event_file)
		fput(s->event_file);
	if (s->group)
		memcg_put(s->group);
	if (s->trace_pmu)
		pmu_put(s->trace_pmu);
	kfree(s);
}

static bool session_buffers(struct session *s)
{
	s->rings = kzalloc(nr_cpus * sizeof(*s->rings) + CACHE_LINE, GFP_KERNEL);
	for (unsigned cpu = 0; s->rings && cpu < nr_cpus; cpu++) {
		s->rings[cpu].data = vmalloc(s->size, GFP_KERNEL);
		if (!s->rings[cpu].data)
			return false;
	}
	return s->rings;
}

static int session_filters(struct session *s, const struct perf_sample_start *start)
{
	struct file *f;

	if (start->event_fd >= 0) {
		f = fget(start->event_fd);
		if (!f)
			return -EBADF;
		s->event_file = f;
		s->event = perf_event_of_file(f);
		if (!s->event || !s->event->task)
			return -EINVAL;
	}
	if (start->group_fd >= 0) {
		f = fget(start->group_fd);
		if (!f)
			return -EBADF;
		s->group = cgroup_of_dir(f);
		fput(f);
		if (!s->group)
			return -EINVAL;
	}
	if (start->trace_pmu) {
		s->trace_pmu = pmu_get(start->trace_pmu);
		if (!s->trace_pmu)
			return -ENOENT;
		s->point = trace_point_of(s->trace_pmu);
		if (s->point < 0)
			return -EINVAL;
	}
	return 0;
}

/* session_lock held. */
static long session_start(const struct perf_sample_start *start)
{
	uint32_t size = start->buffer ? start->buffer : BUFFER_DEFAULT;
	struct session *s;
	int err;

	if (start->hz > MOST_HZ || !start->hz != !!start->trace_pmu ||
	    (start->flags & ~PERF_SAMPLE_CHAINS) || size < BUFFER_LEAST || size > BUFFER_MOST ||
	    (size & (size - 1)))
		return -EINVAL;
	if (atomic_load_explicit(&session, memory_order_relaxed))
		return -EBUSY;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->period = start->hz ? NSEC_PER_SEC / start->hz : 0;
	s->point = -1;
	s->flags = start->flags;
	s->size = size;
	s->started = clock_ns();
	atomic_init(&s->sampler, next_sampler(cpu_id()));
	err = session_filters(s, start);
	if (!err && !session_buffers(s))
		err = -ENOMEM;
	if (err) {
		session_free(s);
		return err;
	}
	perf_hook_get(); /* contexts know who runs */
	if (s->point >= 0) {
		atomic_store_explicit(&session, s, memory_order_release);
		atomic_store_explicit(&trace_hook, point_passed, memory_order_release);
		return 0;
	}
	atomic_store_explicit(&timer_irq_hook[TIMER_IRQ_SAMPLE], tick, memory_order_release);
	atomic_store_explicit(&sched_asked_hook, take_role, memory_order_release);
	atomic_store_explicit(&session, s, memory_order_release);
	smp_call(atomic_load_explicit(&s->sampler, memory_order_relaxed), take_role_call, NULL);
	return 0;
}

/* session_lock held. */
static void session_stop(void)
{
	struct session *s = atomic_exchange_explicit(&session, NULL, memory_order_acq_rel);

	if (!s)
		return;
	atomic_store_explicit(&trace_hook, NULL, memory_order_relaxed);
	/*
	 * A CPU that answers has no NMI of ours before it and is in no tick and at no
	 * trace point.
	 */
	smp_call_all(nothing, NULL);
	perf_hook_put();
	session_free(s);
}

/* The file that owns the session is the one that started it: f->priv is set. */
static ssize_t sample_read(struct file *f, struct iov_iter *to, loff_t *pos)
{
	struct session *s;
	ssize_t done = 0;

	(void)pos;
	mutex_lock(&session_lock);
	s = f->priv ? atomic_load_explicit(&session, memory_order_relaxed) : NULL;
	if (!s) {
		mutex_unlock(&session_lock);
		return -EINVAL;
	}
	for (unsigned cpu = 0; cpu < nr_cpus && done >= 0; cpu++) {
		struct ring *r = &s->rings[cpu];
		uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
		uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);

		while (tail != head) {
			uint64_t at = tail & (s->size - 1), first;
			/* Records begin at multiples of 8, so the size does not wrap. */
			uint32_t n = *(uint32_t *)(r->data + at);

			if (n > to->count)
				break;
			first = min(n, s->size - at);
			if (copy_to_iter(r->data + at, first, to) != first ||
			    copy_to_iter(r->data, n - first, to) != n - first) {
				done = -EFAULT;
				break;
			}
			tail += n;
			done += n;
		}
		atomic_store_explicit(&r->tail, tail, memory_order_release);
	}
	mutex_unlock(&session_lock);
	return done;
}

static long sample_stats(void __user *to)
{
	struct session *s = atomic_load_explicit(&session, memory_order_relaxed);
	struct perf_sample_stats st = { 0 };

	if (!s)
		return -EINVAL;
	st.ns = clock_ns() - s->started;
	st.ticks = atomic_load_explicit(&s->ticks, memory_order_relaxed);
	for_each_cpu(cpu) {
		st.samples += atomic_load_explicit(&s->rings[cpu].samples, memory_order_relaxed);
		st.lost += atomic_load_explicit(&s->rings[cpu].lost, memory_order_relaxed);
	}
	return copy_to_user(to, &st, sizeof(st));
}

static long sample_ioctl(struct file *f, unsigned cmd, unsigned long arg)
{
	struct perf_sample_start start;
	long ret = -ENOTTY;

	if (cmd == PERF_SAMPLE_START && copy_from_user(&start, (void __user *)arg, sizeof(start)))
		return -EFAULT;
	mutex_lock(&session_lock);
	if (cmd == PERF_SAMPLE_START) {
		ret = session_start(&start);
		if (!ret)
			f->priv = f;
	} else if (!f->priv) {
		ret = -EINVAL;
	} else if (cmd == PERF_SAMPLE_STOP) {
		session_stop();
		f->priv = NULL;
		ret = 0;
	} else if (cmd == PERF_SAMPLE_STATS) {
		ret = sample_stats((void __user *)arg);
	}
	mutex_unlock(&session_lock);
	return ret;
}

static void sample_release(struct file *f)
{
	mutex_lock(&session_lock);
	if (f->priv)
		session_stop();
	mutex_unlock(&session_lock);
}

static const struct file_ops sample_ops = {
	.read = sample_read,
	.ioctl = sample_ioctl,
	.release = sample_release,
};

void perf_sample_init(void)
{
	dev_register("perf", 0600, MKDEV(10, 240), &sample_ops, NULL);
}
