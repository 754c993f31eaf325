/* SPDX-License-Identifier: MIT */
/* Lists of sockets from the kernel: apps/lib/ss_diag.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "apps/lib/ss_diag.h"

#define AF_NETLINK 16
#define SOCK_RAW   3
#define NETLINK_SOCK_DIAG 4
#define SOCK_DIAG_BY_FAMILY 20
#define NLMSG_ERROR 2
#define NLMSG_DONE  3
#define ATTR_INFO   2
#define ATTR_CONG   4
#define ATTR_MEMORY 7
#define ATTR_V6ONLY 11
#define ATTR_GROUP  0x100
#define UNIX_NAME   0
#define UNIX_PEER   2
#define UNIX_QUEUES 4
#define UNIX_MEMORY 5
#define UNIX_SHOW   0x75 /* name, peer, queues, memory, user */

struct header {
	uint32_t len;
	uint16_t type, flags;
	uint32_t seq, pid;
};
struct id {
	uint8_t sport[2], dport[2], src[16], dst[16];
	uint32_t ifindex, cookie[2];
};
struct request {
	struct header h;
	uint8_t family, protocol, ext, pad;
	uint32_t states;
	struct id id;
};
struct unix_request {
	struct header h;
	uint8_t family, protocol, pad[2];
	uint32_t states, inode, show, cookie[2];
};
struct unix_answer {
	uint8_t family, type, state, pad;
	uint32_t inode, cookie[2];
};
struct answer {
	uint8_t family, state, timer, retrans;
	struct id id;
	uint32_t expires, rqueue, wqueue, uid, inode;
};

static void read_attribute(struct ss_socket *s, unsigned type, const char *data, size_t len)
{
	switch (type) {
	case ATTR_MEMORY:
		memcpy(s->memory, data, len < sizeof(s->memory) ? len : sizeof(s->memory));
		s->has_memory = 1;
		break;
	case ATTR_INFO:
		memcpy(&s->info, data, len < sizeof(s->info) ? len : sizeof(s->info));
		s->has_info = 1;
		break;
	case ATTR_CONG:
		memcpy(s->cong, data, len < sizeof(s->cong) ? len : sizeof(s->cong) - 1);
		break;
	case ATTR_GROUP:
		memcpy(s->group, data, len < sizeof(s->group) ? len : sizeof(s->group) - 1);
		break;
	case ATTR_V6ONLY:
		s->v6only = data[0] != 0;
		break;
	}
}

static void read_attributes(struct ss_socket *s, const char *msg, size_t len, size_t at,
			    void (*fn)(struct ss_socket *s, unsigned type, const char *data, size_t len))
{
	while (at + 4 <= len) {
		uint16_t h[2];

		memcpy(h, msg + at, sizeof(h));
		if (h[0] < 4 || h[0] > len - at)
			break;
		fn(s, h[1] & 0x3fff, msg + at + 4, h[0] - 4u);
		at += (h[0] + 3u) & ~3u;
	}
}

static void read_socket(struct ss_socket *s, int protocol, const char *msg, size_t len)
{
	struct answer a;

	memset(s, 0, sizeof(*s));
	memcpy(&a, msg, sizeof(a));
	s->family = a.family;
	s->protocol = protocol;
	s->state = a.state;
	memcpy(s->laddr, a.id.src, 16);
	memcpy(s->raddr, a.id.dst, 16);
	s->lport = a.id.sport[0] << 8 | a.id.sport[1];
	s->rport = a.id.dport[0] << 8 | a.id.dport[1];
	s->rqueue = a.rqueue;
	s->wqueue = a.wqueue;
	s->uid = a.uid;
	s->inode = a.inode;
	read_attributes(s, msg, len, sizeof(a), read_attribute);
}

static void read_unix_attribute(struct ss_socket *s, unsigned type, const char *data, size_t len)
{
	uint32_t queues[2];

	switch (type) {
	case UNIX_NAME:
		if (!len)
			break;
		memcpy(s->name, data, len < sizeof(s->name) ? len : sizeof(s->name) - 1);
		if (!s->name[0])
			s->name[0] = '@';
		break;
	case UNIX_PEER:
		memcpy(&s->peer, data, len < 4 ? len : 4);
		break;
	case UNIX_QUEUES:
		memcpy(queues, data, len < sizeof(queues) ? 0 : sizeof(queues));
		s->rqueue = len < sizeof(queues) ? 0 : queues[0];
		s->wqueue = len < sizeof(queues) ? 0 : queues[1];
		break;
	case UNIX_MEMORY:
		read_attribute(s, ATTR_MEMORY, data, len);
		break;
	case ATTR_GROUP:
		read_attribute(s, ATTR_GROUP, data, len);
		break;
	}
}

static void read_unix(struct ss_socket *s, const char *msg, size_t len)
{
	struct unix_answer a;

	memset(s, 0, sizeof(*s));
	memcpy(&a, msg, sizeof(a));
	s->family = a.family;
	s->type = a.type;
	s->state = a.state;
	s->inode = a.inode;
	read_attributes(s, msg, len, sizeof(a), read_unix_attribute);
}

/* One buffer of messages.  1: the list is complete; -1: error. */
static int read_messages(const char *buf, size_t len, int protocol,
			 void (*fn)(const struct ss_socket *s, void *arg), void *arg)
{
	struct ss_socket s;
	struct header h;

	while (len >= sizeof(h)) {
		memcpy(&h, buf, sizeof(h));
		if (h.len < sizeof(h) || h.len > len)
			break;
		if (h.type == NLMSG_DONE)
			return 1;
		if (h.type == NLMSG_ERROR) {
			int err;

			memcpy(&err, buf + sizeof(h), sizeof(err));
			errno = -err;
			return -1;
		}
		if (protocol == SS_UNIX && h.type == SOCK_DIAG_BY_FAMILY &&
		    h.len >= sizeof(h) + sizeof(struct unix_answer)) {
			read_unix(&s, buf + sizeof(h), h.len - sizeof(h));
			fn(&s, arg);
		} else if (h.type == SOCK_DIAG_BY_FAMILY && h.len >= sizeof(h) + sizeof(struct answer)) {
			read_socket(&s, protocol, buf + sizeof(h), h.len - sizeof(h));
			fn(&s, arg);
		}
		if (((h.len + 3) & ~3u) >= len)
			break;
		buf += (h.len + 3) & ~3u;
		len -= (h.len + 3) & ~3u;
	}
	return 0;
}

/* Sends a request and reads the list that is its answer. */
static int list(const void *q, size_t size, int protocol,
		void (*fn)(const struct ss_socket *s, void *arg), void *arg)
{
	static char buf[32768];
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG), ret = 0;

	if (fd < 0)
		return -1;
	if (send(fd, q, size, 0) < 0)
		ret = -1;
	while (!ret) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		ret = n < 0 ? -1 : read_messages(buf, (size_t)n, protocol, fn, arg);
	}
	close(fd);
	return ret < 0 ? -1 : 0;
}

int ss_list_unix(unsigned states, void (*fn)(const struct ss_socket *s, void *arg), void *arg)
{
	struct unix_request q = {
		.h = { .len = sizeof(q), .type = SOCK_DIAG_BY_FAMILY, .flags = 0x301, .seq = 1 },
		.family = AF_UNIX,
		.states = states,
		.show = UNIX_SHOW,
	};

	return list(&q, sizeof(q), SS_UNIX, fn, arg);
}

int ss_list(int family, int protocol, unsigned states,
	    void (*fn)(const struct ss_socket *s, void *arg), void *arg)
{
	struct request q = {
		.h = { .len = sizeof(q), .type = SOCK_DIAG_BY_FAMILY, .flags = 0x301, .seq = 1 },
		.family = (uint8_t)family,
		.protocol = (uint8_t)protocol,
		.ext = 1 << (ATTR_INFO - 1) | 1 << (ATTR_CONG - 1) | 1 << (ATTR_MEMORY - 1),
		.states = states,
	};

	return list(&q, sizeof(q), protocol, fn, arg);
}
