/* SPDX-License-Identifier: MIT */
/*
 * AF_NETLINK: requests to the network and lists of what it has, in messages
 * (RFC 3549).  Protocols: NETLINK_ROUTE (rtnl_*.c) and NETLINK_SOCK_DIAG
 * (sock_diag.c).
 *
 * A request is answered in the caller's own thread, before its send returns.  A
 * list ("dump") is made while it is read, one buffer at a time, so that it may be
 * of any length; it may miss or repeat what changes meanwhile.  News go to sockets that
 * are bound to groups, or joined them.
 */
#ifndef NET_NETLINK_NETLINK_H
#define NET_NETLINK_NETLINK_H

#include "net/event.h"
#include "kernel/errno.h"

#define NLM_F_REQUEST 0x1
#define NLM_F_MULTI   0x2
#define NLM_F_ACK     0x4
#define NLM_F_DUMP    0x300
#define NLM_F_REPLACE 0x100
#define NLM_F_EXCL    0x200
#define NLM_F_CREATE  0x400

struct nlmsghdr {
	uint32_t len;
	uint16_t type, flags;
	uint32_t seq, pid;
};
struct nlattr {
	uint16_t len, type;
};
#define NLA_TYPE(a) ((a)->type & 0x3fff)

/* A buffer that messages are built in. */
struct nl_buf {
	uint8_t *data;
	unsigned len, size;
	unsigned msg;   /* where the open message begins */
	uint32_t seq, pid;
	uint16_t flags; /* NLM_F_MULTI in a list */
	bool full;      /* the open message did not fit */
};
/* Opens a message of @type with @hdrlen zeroed bytes of the family's header, which it returns. */
void *nl_begin(struct nl_buf *b, uint16_t type, unsigned hdrlen);
void nl_put(struct nl_buf *b, uint16_t type, const void *data, unsigned len);
void nl_put_u32(struct nl_buf *b, uint16_t type, uint32_t v);
void nl_put_str(struct nl_buf *b, uint16_t type, const char *s);
/* The 4 or 16 bytes of an address. */
void nl_put_addr(struct nl_buf *b, uint16_t type, const struct ip_addr *a);
unsigned nl_nest(struct nl_buf *b, uint16_t type);
void nl_nest_end(struct nl_buf *b, unsigned at);
/* Closes the message; false: it did not fit and is taken back. */
bool nl_end(struct nl_buf *b);

/* A received request: family header and attributes, bounds checked. */
#define NL_ATTRS 40
struct nl_request {
	const struct nlmsghdr *h;
	const uint8_t *body;  /* behind the nlmsghdr */
	unsigned body_len;
	const struct nlattr *attr[NL_ATTRS];
};
/* Fills in @r->attr from behind the family's header of @hdrlen bytes: 0, -EINVAL. */
int nl_parse(struct nl_request *r, unsigned hdrlen);
static inline const void *nl_data(const struct nlattr *a)
{
	return a + 1;
}
static inline unsigned nl_len(const struct nlattr *a)
{
	return a->len - (unsigned)sizeof(*a);
}
/* The attribute's value: 0 or -EINVAL (wrong length or family), untouched if absent. */
int nl_u32(const struct nl_request *r, unsigned type, uint32_t *v);
int nl_addr(const struct nl_request *r, unsigned type, int family, struct ip_addr *a);

/*
 * A list in progress.  step() appends entries from position @at on, counting it up,
 * until a message does not fit (false: call again with an empty buffer) or all have
 * been (true).
 */
struct nl_dump {
	bool (*step)(struct nl_dump *d, struct nl_buf *b);
	uint64_t at, at2;
	uint8_t family;      /* AF_UNSPEC: all */
	uint32_t args[20];   /* the request's family header, for filters */
};

/* A protocol's handler. */
struct nl_proto {
	/* One answer or change: 0 (then @reply, if not empty, is the answer) or -errno. */
	int (*request)(struct nl_request *r, struct nl_buf *reply);
	/* Sets @d up for a list: 0, -EOPNOTSUPP, -EINVAL. */
	int (*dump)(struct nl_request *r, struct nl_dump *d);
};
extern const struct nl_proto nl_route, nl_sock_diag;
int unix_diag_dump(struct nl_request *r, struct nl_dump *d); /* for nl_sock_diag */

/* Entries of NETLINK_ROUTE, by file. */
int rtnl_link_request(struct nl_request *r, struct nl_buf *reply);
int rtnl_addr_request(struct nl_request *r, struct nl_buf *reply);
int rtnl_route_request(struct nl_request *r, struct nl_buf *reply);
int rtnl_neigh_request(struct nl_request *r, struct nl_buf *reply);
bool rtnl_link_dump(struct nl_dump *d, struct nl_buf *b);
bool rtnl_addr_dump(struct nl_dump *d, struct nl_buf *b);
bool rtnl_route_dump(struct nl_dump *d, struct nl_buf *b);
bool rtnl_neigh_dump(struct nl_dump *d, struct nl_buf *b);

/* The same as messages of @type, for lists and for news.  False: it did not fit. */
bool rtnl_put_link(struct nl_buf *b, uint16_t type, struct netdev *dev);
bool rtnl_put_addr(struct nl_buf *b, uint16_t type, struct netdev *dev, const struct ifaddr *a);
bool rtnl_put_route(struct nl_buf *b, uint16_t type, const struct route_entry *r);
bool rtnl_put_neigh(struct nl_buf *b, uint16_t type, const struct neigh_info *i);
void rtnl_init(void);

/**
 * nl_news - a message for all sockets of @proto that listen to @group (from 1)
 * Who does not read loses news and is told so by ENOBUFS.
 * Context: thread; never sleeps.
 */
void nl_news(const struct nl_proto *proto, unsigned group, const struct nl_buf *b);

bool nl_listening(void); /* is there a socket that news could be for? */

void netlink_init(void);

#endif /* NET_NETLINK_NETLINK_H */
