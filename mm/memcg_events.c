/* SPDX-License-Identifier: MIT */
/* Events of a group: counted for itself and for all above it, watchers woken. */
#include "mm/stock.h"
#include "mm/memcg_tree.h"

const char *const memcg_event_names[NR_MEMCG_EVENTS] = {
	"low", "high", "max", "oom", "oom_kill", "oom_group_kill", "sock_throttled", "sock_dropped",
	"high_stalled",
};

void (*memcg_changed_hook)(struct memcg *group, enum memcg_notify file);
_Atomic bool memcg_local_events;

void memcg_changed(struct memcg *group, enum memcg_notify file)
{
	atomic_fetch_add_explicit(&group->event_seq[file], 1, memory_order_release);
	if (memcg_changed_hook)
		memcg_changed_hook(group, file);
}

void account_event(struct account *a, enum memcg_event ev)
{
	if (!a->parent)
		return;
	atomic_fetch_add_explicit(&a->events_local[ev], 1, memory_order_relaxed);
	memcg_changed(a->group, MEMCG_NOTIFY_EVENTS_LOCAL);
	for (; a->parent; a = a->parent) {
		atomic_fetch_add_explicit(&a->events[ev], 1, memory_order_relaxed);
		memcg_changed(a->group, MEMCG_NOTIFY_EVENTS);
		if (atomic_load_explicit(&memcg_local_events, memory_order_relaxed))
			break;
	}
}
