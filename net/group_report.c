/* SPDX-License-Identifier: MIT */
/* When multicast groups are reported: net/group_report.h. */
#include "net/group_report.h"
#include "net/ip.h"

#define RESEND_NS (1 * NSEC_PER_SEC)
/* between two reports of the state, whoever asks how often */
#define STATE_GAP (100 * NSEC_PER_MSEC)
#define OLDER_NS  (260 * NSEC_PER_SEC) /* RFC 3376 section 8.12, RFC 3810 section 9.12 */

/* lock held: the version that @dev's routers understand. */
static unsigned version_of(const struct group_reporter *g, const struct netdev *dev)
{
	for (unsigned i = 0; i < REPORT_DEVS; i++) {
		if (g->dev[i].dev == dev && g->dev[i].version && g->dev[i].older_until > clock_ns())
			return g->dev[i].version;
	}
	return g->newest;
}

/* lock held. */
static void arm(struct group_reporter *g, uint64_t at)
{
	if (!timer_pending(&g->timer) ||
	    (atomic_load_explicit(&g->timer.deadline, memory_order_relaxed) & ~1ULL) > at)
		timer_set(&g->timer, at);
}

/* What is due, taken out of the tables. */
struct due {
	bool change, joined;
	struct netdev *dev;
	struct ip_addr group;
	unsigned version;
};

/* One thing that is due; false: none is, and the timer waits for the next. */
static bool take_due(struct group_reporter *g, struct due *d)
{
	uint64_t now = clock_ns(), next = UINT64_MAX;
	bool found = false;

	spin_lock(&g->lock);
	for (unsigned i = 0; i < REPORT_AGAIN && !found; i++) {
		if (!g->again[i].dev)
			continue;
		next = min(next, g->again[i].at);
		if (g->again[i].at > now)
			continue;
		*d = (struct due){ .change = true, .dev = g->again[i].dev,
				   .joined = g->again[i].joined, .group = g->again[i].group };
		g->again[i].dev = NULL;
		found = true;
	}
	for (unsigned i = 0; i < REPORT_DEVS && !found; i++) {
		if (!g->dev[i].at)
			continue;
		next = min(next, g->dev[i].at);
		if (g->dev[i].at > now)
			continue;
		*d = (struct due){ .dev = g->dev[i].dev, .group = g->dev[i].only };
		g->dev[i].at = 0;
		g->dev[i].sent = now;
		found = true;
	}
	if (found)
		d->version = version_of(g, d->dev);
	else if (next != UINT64_MAX)
		arm(g, next);
	spin_unlock(&g->lock);
	return found;
}

static void tick(struct timer *t)
{
	struct group_reporter *g = container_of(t, struct group_reporter, timer);
	struct due d;

	while (take_due(g, &d)) {
		if (d.change)
			g->change(d.dev, &d.group, d.joined, d.version);
		else
			g->state(d.dev, &d.group, d.version);
	}
}

void group_reporter_init(struct group_reporter *g, const char *name)
{
	spin_init(&g->lock, name);
	timer_init(&g->timer, tick);
}

void group_changed(struct group_reporter *g, struct netdev *dev, const struct ip_addr *group,
		   bool joined)
{
	uint64_t at = clock_ns() + RESEND_NS;
	unsigned version, slot = REPORT_AGAIN;

	spin_lock(&g->lock);
	version = version_of(g, dev);
	for (unsigned i = 0; i < REPORT_AGAIN; i++) {
		if (g->again[i].dev == dev && addr_equal(&g->again[i].group, group)) {
			slot = i; /* the latest word counts */
			break;
		}
		if (!g->again[i].dev && slot == REPORT_AGAIN)
			slot = i;
	}
	if (slot < REPORT_AGAIN) { /* else it is reported once */
		g->again[slot].dev = dev;
		g->again[slot].group = *group;
		g->again[slot].joined = joined;
		g->again[slot].at = at;
		arm(g, at);
	}
	spin_unlock(&g->lock);
	g->change(dev, group, joined, version);
}

void group_queried(struct group_reporter *g, struct netdev *dev, const struct ip_addr *only,
		   unsigned version, uint64_t within_ns)
{
	uint64_t now = clock_ns();
	uint64_t at = now + 1 + ((uint64_t)net_random() * (within_ns >> 10) >> 22);
	unsigned i;

	spin_lock(&g->lock);
	for (i = 0; i < REPORT_DEVS && g->dev[i].dev && g->dev[i].dev != dev; i++)
		;
	if (i == REPORT_DEVS)
		goto out;
	g->dev[i].dev = dev;
	if (g->dev[i].sent)
		at = max(at, g->dev[i].sent + STATE_GAP);
	if (version < g->newest) {
		g->dev[i].version = version;
		g->dev[i].older_until = now + OLDER_NS;
	}
	if (!g->dev[i].at) {
		g->dev[i].only = *only;
		g->dev[i].at = at;
	} else {
		/* Two questions, one answer that covers both. */
		if (!addr_equal(&g->dev[i].only, only))
			g->dev[i].only = addr_is_v4(only) ? addr_from_v4("\0\0\0\0") : ADDR_ANY6;
		g->dev[i].at = min(g->dev[i].at, at);
	}
	arm(g, g->dev[i].at);
out:
	spin_unlock(&g->lock);
}
