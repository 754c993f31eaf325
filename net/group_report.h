/* SPDX-License-Identifier: MIT */
/*
 * When a host reports its multicast groups, for IGMP (net/igmp.c) and MLD (net/mld.c),
 * which say what a report looks like (RFC 3376, RFC 3810).
 *
 * A change is reported at once and again RESEND_NS later; a query is answered after a
 * random part of the time it allows, with the state of the whole device, or of one
 * group if it asks for one.  A query of an older version makes the device speak that
 * version for OLDER_NS.
 *
 * Locks: its own spinlock over everything; reports are sent without it.
 */
#ifndef NET_GROUP_REPORT_H
#define NET_GROUP_REPORT_H

#include "net/ether.h"
#include "kernel/lock.h"
#include "kernel/timer.h"

#define REPORT_DEVS  8
#define REPORT_AGAIN 16u /* changes that wait for their second report */

struct group_reporter {
	unsigned newest; /* version spoken unless a router speaks an older one */
	/* One group was joined or left. */
	void (*change)(struct netdev *dev, const struct ip_addr *group, bool joined,
		       unsigned version);
	/* All groups, or the one in @only unless it is the unspecified address. */
	void (*state)(struct netdev *dev, const struct ip_addr *only, unsigned version);
	struct spinlock lock;
	struct timer timer;
	struct {
		struct netdev *dev; /* NULL: free */
		uint64_t at;        /* clock_ns of the report of the state; 0: nothing owed */
		uint64_t sent;      /* clock_ns of the last one; 0: none yet */
		struct ip_addr only;
		unsigned version;   /* of the oldest router; 0: the newest */
		uint64_t older_until;
	} dev[REPORT_DEVS];
	struct {
		struct netdev *dev; /* NULL: free */
		struct ip_addr group;
		bool joined;
		uint64_t at;
	} again[REPORT_AGAIN];
};

void group_reporter_init(struct group_reporter *g, const char *name);
void group_changed(struct group_reporter *g, struct netdev *dev, const struct ip_addr *group,
		   bool joined);
/*
 * A router asks for @only (unspecified: all) within @within_ns, in its @version.  Questions that
 * come faster than one in a tenth of a second share an answer.
 */
void group_queried(struct group_reporter *g, struct netdev *dev, const struct ip_addr *only,
		   unsigned version, uint64_t within_ns);

#endif /* NET_GROUP_REPORT_H */
