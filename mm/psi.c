/* SPDX-License-Identifier: MIT */
/*
 * Stalls and their averages (mm/psi.h).
 *
 * Averages are those of Linux: every two seconds the share of the period that was lost
 * is mixed in with weight 1 - e^(-2/10), e^(-2/60), e^(-2/300).  Nothing runs for that:
 * whoever comes by closes the periods that have passed, in which, as nobody came, the
 * state did not change.
 */
#include "mm/psi_int.h"
#include "mm/slab.h"
#include "kernel/process.h"
#include "kernel/rcu.h"

#define PERIOD_NS  (2 * NSEC_PER_SEC)
#define MAX_MISSED 3000 /* periods after which nothing of an average is left */

/* e^(-2/10), e^(-2/60), e^(-2/300), times 2^PSI_SHIFT. */
static const uint64_t decay[NR_PSI_AVGS] = { 858500, 1014200, 1041608 };

static void close_period(struct psi *p)
{
	for (unsigned w = 0; w < NR_PSI; w++) {
		uint64_t percent = p->in_period[w] * 100 / (PERIOD_NS >> 10) << (PSI_SHIFT - 10);

		if (percent > 100ULL << PSI_SHIFT)
			percent = 100ULL << PSI_SHIFT;
		for (unsigned i = 0; i < NR_PSI_AVGS; i++)
			p->avg[w][i] = (p->avg[w][i] * decay[i] +
					percent * ((1ULL << PSI_SHIFT) - decay[i])) >> PSI_SHIFT;
		p->in_period[w] = 0;
	}
	p->period_end += PERIOD_NS;
}

static void pass_time(struct psi *p, uint64_t ns)
{
	if (!p->counting)
		return;
	p->total[PSI_SOME] += ns;
	p->in_period[PSI_SOME] += ns;
	p->unjudged += ns;
}

void psi_advance(struct psi *p, uint64_t now)
{
	unsigned closed = 0;

	while (p->period_end <= now) {
		if (!p->counting && ++closed > MAX_MISSED) {
			p->period_end += (now - p->period_end) / PERIOD_NS * PERIOD_NS;
			closed = 0;
		}
		pass_time(p, p->period_end - p->since);
		p->since = p->period_end;
		close_period(p);
	}
	if (now > p->since) {
		pass_time(p, now - p->since);
		p->since = now;
	}
}

struct psi *psi_make(struct memcg *m)
{
	struct psi *p = psi_of(m), *none = NULL;

	if (p)
		return p;
	p = kzalloc(sizeof(*p), GFP_KERNEL | GFP_NOWARN);
	if (!p)
		return NULL;
	p->group = m;
	spin_init(&p->lock, "psi");
	p->since = clock_ns();
	p->period_end = p->since + PERIOD_NS;
	list_init(&p->triggers);
	list_init(&p->active);
	if (!atomic_compare_exchange_strong_explicit(&m->psi, &none, p, memory_order_acq_rel,
						     memory_order_acquire)) {
		kfree(p);
		p = none;
	}
	return p;
}

void psi_free(struct memcg *m)
{
	kfree(psi_of(m));
}

/*
 * The first to come and the last to go tell the clock.  The two may meet in either
 * order at the lock, so what counts is what the number says there.
 */
static void tell_clock(struct psi *p)
{
	spin_lock(&p->lock);
	psi_advance(p, clock_ns());
	p->counting = atomic_load_explicit(&p->stalled, memory_order_seq_cst) != 0;
	spin_unlock(&p->lock);
}

static void enter(struct memcg *m)
{
	struct psi *p = psi_of(m);

	if (!atomic_fetch_add_explicit(&p->stalled, 1, memory_order_seq_cst)) {
		tell_clock(p);
		psi_watch(p);
	}
}

static void leave(struct memcg *m)
{
	struct psi *p = psi_of(m);

	if (atomic_fetch_sub_explicit(&p->stalled, 1, memory_order_seq_cst) == 1)
		tell_clock(p);
}

void psi_stall_begin(struct psi_stall *s)
{
	struct memcg *group;

	s->group = NULL;
	if (!current->process || atomic_load_explicit(&current->flags, memory_order_relaxed) &
					 THREAD_F_MEMSTALL)
		return;
	rcu_read_lock();
	group = memcg_tryget(memcg_of_process(current->process));
	rcu_read_unlock();
	/* All levels first: one without memory for its figures must not be left unentered. */
	for (struct memcg *m = group; m; m = m->parent)
		if (!psi_make(m)) {
			memcg_put(group);
			return;
		}
	if (!group)
		return;
	s->group = group;
	atomic_fetch_or_explicit(&current->flags, THREAD_F_MEMSTALL, memory_order_relaxed);
	for (struct memcg *m = s->group; m; m = m->parent)
		enter(m);
}

void psi_stall_end(struct psi_stall *s)
{
	if (!s->group)
		return;
	for (struct memcg *m = s->group; m; m = m->parent)
		leave(m);
	atomic_fetch_and_explicit(&current->flags, ~THREAD_F_MEMSTALL, memory_order_relaxed);
	memcg_put(s->group);
}

static uint32_t hundredths(uint64_t avg)
{
	return (uint32_t)((avg * 100 + (1ULL << (PSI_SHIFT - 1))) >> PSI_SHIFT);
}

void psi_read(struct memcg *m, struct psi_figures out[NR_PSI])
{
	struct psi *p = psi_of(m);

	for (unsigned w = 0; w < NR_PSI; w++)
		out[w] = (struct psi_figures){ 0 };
	if (!p)
		return;
	spin_lock(&p->lock);
	psi_advance(p, clock_ns());
	for (unsigned w = 0; w < NR_PSI; w++)
		out[w] = (struct psi_figures){ hundredths(p->avg[w][0]), hundredths(p->avg[w][1]),
					       hundredths(p->avg[w][2]), p->total[w] };
	spin_unlock(&p->lock);
}
