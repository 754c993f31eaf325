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

static void read_socket(struct ss_socket *s, int protocol, const char *msg, size_t len)
{
	struct answer a;
	size_t at = sizeof(a);

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
	while (at + 4 <= len) {
		uint16_t h[2];

		memcpy(h, msg + at, sizeof(h));
		if (h[0] < 4 || h[0] > len - at)
			break;
		read_attribute(s, h[1] & 0x3fff, msg + at + 4, h[0] - 4u);
		at += (h[0] + 3u) & ~3u;
	}
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
		if (h.type == SOCK_DIAG_BY_FAMILY && h.len >= sizeof(h) + sizeof(struct answer)) {
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

int ss_list(int family, int protocol, unsigned states,
	    void (*fn)(const struct ss_socket *s, void *arg), void *arg)
{
	static char buf[32768];
	struct request q = {
		.h = { .len = sizeof(q), .type = SOCK_DIAG_BY_FAMILY, .flags = 0x301, .seq = 1 },
		.family = (uint8_t)family,
		.protocol = (uint8_t)protocol,
		.ext = 1 << (ATTR_INFO - 1) | 1 << (ATTR_CONG - 1) | 1 << (ATTR_MEMORY - 1),
		.states = states,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG), ret = 0;

	if (fd < 0)
		return -1;
	if (send(fd, &q, sizeof(q), 0) < 0)
		ret = -1;
	while (!ret) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		ret = n < 0 ? -1 : read_messages(buf, (size_t)n, protocol, fn, arg);
	}
	close(fd);
	return ret < 0 ? -1 : 0;
}
