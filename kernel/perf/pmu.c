/* SPDX-License-Identifier: MIT */
/* The registry of PMUs; see pmu.h. */
#include "kernel/perf/pmu.h"

#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/perf/slots.h"
#include "kernel/string.h"
#include "mm/slab.h"

_Atomic(struct pmu *) pmu_list;
struct mutex pmu_mutex = MUTEX_INIT(pmu_mutex, "pmu");
static uint32_t next_type = PMU_TYPE_FIRST; /* pmu_mutex */

static struct pmu *first(void)
{
	return rcu_dereference(pmu_list);
}

static void free_contexts(struct pmu *p)
{
	kfree(p->ctx);
	kfree(p->cpu_slots);
	p->ctx = NULL;
	p->cpu_slots = NULL;
}

int pmu_register(struct pmu *p)
{
	_Atomic(struct pmu *) *at = &pmu_list;
	struct pmu *q;

	p->ctx = kzalloc(nr_cpus * sizeof(*p->ctx) + CACHE_LINE, GFP_KERNEL);
	if (p->slots)
		p->cpu_slots = kzalloc(nr_cpus * sizeof(*p->cpu_slots) + CACHE_LINE, GFP_KERNEL);
	if (!p->ctx || (p->slots && !p->cpu_slots)) {
		pr_warn("perf: no memory for %s", p->name);
		free_contexts(p);
		return -ENOMEM;
	}
	for (unsigned cpu = 0; p->slots && cpu < nr_cpus; cpu++)
		p->cpu_slots[cpu].pmu = p;
	for_each_cpu(cpu)
		p->ctx[cpu].pmu = p;
	atomic_init(&p->next, NULL);
	mutex_lock(&pmu_mutex);
	p->type = next_type++;
	while ((q = rcu_dereference(*at)))
		at = &q->next;
	rcu_assign_pointer(*at, p);
	mutex_unlock(&pmu_mutex);
	return 0;
}

int pmu_register_counters(const char *const *names, const char *what,
			  const _Atomic uint64_t *counters, unsigned n)
{
	struct pmu *p = kzalloc(n * sizeof(*p), GFP_KERNEL);
	int err = 0;

	if (!p)
		return -ENOMEM;
	for (unsigned i = 0; i < n && !err; i++) {
		p[i].name = names[i];
		p[i].what = what;
		p[i].counter = &counters[i];
		err = pmu_register(&p[i]);
	}
	return err;
}

/* Unlinks @p; pmu_mutex held. */
static void unlink_pmu(struct pmu *p)
{
	_Atomic(struct pmu *) *at = &pmu_list;
	struct pmu *q;

	while ((q = rcu_dereference(*at)) && q != p)
		at = &q->next;
	if (q)
		rcu_assign_pointer(*at, rcu_dereference(p->next));
}

int pmu_unregister(struct pmu *p)
{
	mutex_lock(&pmu_mutex);
	if (atomic_load_explicit(&p->users, memory_order_relaxed)) {
		mutex_unlock(&pmu_mutex);
		return -EBUSY;
	}
	unlink_pmu(p);
	mutex_unlock(&pmu_mutex);
	synchronize_rcu();
	free_contexts(p);
	return 0;
}

static struct pmu *hold(struct pmu *p)
{
	if (p && !atomic_fetch_add_explicit(&p->users, 1, memory_order_relaxed) && p->use)
		p->use(p, true);
	return p;
}

struct pmu *pmu_get(uint32_t type)
{
	struct pmu *p;

	mutex_lock(&pmu_mutex);
	for (p = first(); p && p->type != type; p = rcu_dereference(p->next))
		;
	hold(p);
	mutex_unlock(&pmu_mutex);
	return p;
}

struct pmu *pmu_get_name(const char *name)
{
	struct pmu *p;

	mutex_lock(&pmu_mutex);
	for (p = first(); p && strcmp(p->name, name); p = rcu_dereference(p->next))
		;
	hold(p);
	mutex_unlock(&pmu_mutex);
	return p;
}

void pmu_put(struct pmu *p)
{
	if (atomic_fetch_sub_explicit(&p->users, 1, memory_order_relaxed) == 1 && p->use)
		p->use(p, false);
}

unsigned pmu_count(void)
{
	unsigned n = 0;

	mutex_lock(&pmu_mutex);
	for (struct pmu *p = first(); p; p = rcu_dereference(p->next))
		n++;
	mutex_unlock(&pmu_mutex);
	return n;
}

/*
 * Idle PMUs stand for the many PMUs of a big machine (memory controllers, links,
 * power) that nobody has an event on: the experiment perfswitch registers them.
 */
struct idle_pmu {
	struct pmu pmu;
	char name[16];
	struct idle_pmu *below;
};
static struct mutex idle_mutex = MUTEX_INIT(idle_mutex, "pmu_idle");
static struct idle_pmu *idle_top; /* idle_mutex: the newest */
static unsigned nr_idle;          /* idle_mutex */

static uint64_t idle_read(const struct pmu *p, unsigned cpu)
{
	(void)p;
	(void)cpu;
	return 0;
}

static int idle_add(void)
{
	struct idle_pmu *i = kzalloc(sizeof(*i), GFP_KERNEL);

	if (!i)
		return -ENOMEM;
	snprintf(i->name, sizeof(i->name), "idle%u", nr_idle);
	i->pmu.name = i->name;
	i->pmu.what = "counts nothing (perf.pmus)";
	i->pmu.read = idle_read;
	if (pmu_register(&i->pmu)) {
		kfree(i);
		return -ENOMEM;
	}
	i->below = idle_top;
	idle_top = i;
	nr_idle++;
	return 0;
}

static int idle_remove(void)
{
	struct idle_pmu *i = idle_top;
	int err = pmu_unregister(&i->pmu);

	if (err)
		return err;
	idle_top = i->below;
	nr_idle--;
	kfree(i);
	return 0;
}

int pmu_set_idle(unsigned n)
{
	int err = 0;

	mutex_lock(&idle_mutex);
	while (!err && nr_idle < n)
		err = idle_add();
	while (!err && nr_idle > n)
		err = idle_remove();
	mutex_unlock(&idle_mutex);
	return err;
}
