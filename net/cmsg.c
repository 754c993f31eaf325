/* SPDX-License-Identifier: MIT */
/* Control messages: net/cmsg.h. */
#include "net/cmsg.h"
#include "net/sock.h"
#include "kernel/errno.h"
#include "kernel/process.h"
#include "fs/vfs.h"
#include "mm/slab.h"

#define CONTROL_MAX 131072u /* bytes of control messages with one send, as on Linux */

struct abi_in_pktinfo {
	uint32_t ifindex;
	uint8_t spec_dst[4], addr[4];
};
struct abi_in6_pktinfo {
	uint8_t addr[16];
	uint32_t ifindex;
};

static int files_in(struct sock_msg *m, const char *data, unsigned n)
{
	int fds[SCM_MAX];

	if (m->files || n > SCM_MAX)
		return -EINVAL;
	if (copy_from_user(fds, data, n * sizeof(int)))
		return -EFAULT;
	m->files = kzalloc(sizeof(*m->files), GFP_KERNEL | GFP_ACCOUNT);
	if (!m->files)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		struct file *f = fget(fds[i]);

		if (!f)
			return -EBADF;
		m->files->file[m->files->nr++] = f;
	}
	return 0;
}

/* One IP-level message of @n bytes: how this datagram leaves. */
static int ip_in(struct sock *s, struct sock_anc *a, const struct abi_cmsghdr *c, const char *data,
		 unsigned n)
{
	union {
		int32_t v;
		struct abi_in_pktinfo p4;
		struct abi_in6_pktinfo p6;
	} u = { 0 };
	bool v6 = c->level == SOL_IPV6;

	if (copy_from_user(&u, data, min_t(size_t, n, sizeof(u))))
		return -EFAULT;
	if (v6 && s->family != AF_INET6)
		return -EINVAL;
	if (c->type == (v6 ? IPV6_PKTINFO : IP_PKTINFO)) {
		if (n < (v6 ? sizeof(u.p6) : sizeof(u.p4)))
			return -EINVAL;
		a->local = v6 ? addr_from_v6(u.p6.addr) : addr_from_v4(u.p4.spec_dst);
		a->ifindex = v6 ? u.p6.ifindex : u.p4.ifindex;
		a->have |= ANC_PKTINFO;
		return 0;
	}
	if (n < sizeof(int) || u.v < -1 || u.v > 255)
		return -EINVAL;
	if (u.v == -1)
		return 0;
	if (c->type == (v6 ? IPV6_HOPLIMIT : IP_TTL) && (u.v || v6)) {
		a->ttl = u.v;
		a->have |= ANC_TTL;
		return 0;
	}
	if (c->type == (v6 ? IPV6_TCLASS : IP_TOS)) {
		a->tos = u.v;
		a->have |= ANC_TOS;
		return 0;
	}
	return -EINVAL;
}

int cmsg_in(struct sock *s, struct sock_msg *m, const struct abi_msghdr *h)
{
	struct abi_cmsghdr c;
	uint64_t at = 0;
	int ret = 0;

	/* Also what keeps every sum of lengths below from wrapping. */
	if (h->control && h->controllen > CONTROL_MAX)
		return -ENOBUFS;
	while (!ret && h->control && at + sizeof(c) <= h->controllen) {
		const char *data = (const char *)h->control + at + sizeof(c);

		if (copy_from_user(&c, (const char *)h->control + at, sizeof(c)))
			return -EFAULT;
		if (c.len < sizeof(c) || c.len > h->controllen - at)
			return -EINVAL;
		if (c.level == SOL_SOCKET && c.type == SCM_RIGHTS)
			ret = files_in(m, data, (unsigned)((c.len - sizeof(c)) / sizeof(int)));
		else if (c.level == SOL_IP || c.level == SOL_IPV6)
			ret = ip_in(s, &m->anc, &c, data, (unsigned)(c.len - sizeof(c)));
		at += ALIGN_UP(c.len, 8ull);
	}
	return ret;
}

/* Where the next message goes. */
struct cmsg_space {
	struct sock_msg *m;
	char *at;
	uint64_t left, used;
	int err;
};

static void put(struct cmsg_space *o, int level, int type, const void *data, unsigned n)
{
	struct abi_cmsghdr c = { .len = sizeof(c) + n, .level = level, .type = type };
	uint64_t whole = ALIGN_UP(c.len, 8ull);

	if (o->err)
		return;
	if (o->left < c.len) {
		o->m->out_flags |= MSG_CTRUNC;
		return;
	}
	if (copy_to_user(o->at, &c, sizeof(c)) || copy_to_user(o->at + sizeof(c), data, n)) {
		o->err = -EFAULT;
		return;
	}
	whole = min(whole, o->left);
	o->at += whole;
	o->left -= whole;
	o->used += whole;
}

static void put_pktinfo(struct cmsg_space *o, const struct sock_anc *a, bool v6)
{
	struct abi_in_pktinfo p4 = { .ifindex = a->ifindex };
	struct abi_in6_pktinfo p6 = { .ifindex = a->ifindex };

	memcpy(p6.addr, a->local.b, 16);
	memcpy(p4.addr, &a->local.b[12], 4);
	memcpy(p4.spec_dst, p4.addr, 4);
	if (v6)
		put(o, SOL_IPV6, IPV6_PKTINFO, &p6, sizeof(p6));
	else
		put(o, SOL_IP, IP_PKTINFO, &p4, sizeof(p4));
}

static void put_error(struct cmsg_space *o, const struct sock_anc *a, bool v6)
{
	struct {
		struct abi_ext_err err;
		union sockaddr_any from;
	} e = { .err = a->err };
	unsigned n = addr_export(v6 ? AF_INET6 : AF_INET, &a->from, 0, &e.from);

	put(o, v6 ? SOL_IPV6 : SOL_IP, v6 ? IPV6_RECVERR : IP_RECVERR, &e, sizeof(e.err) + n);
}

/* Descriptors for received files, as many as there is room for. */
static void put_files(struct cmsg_space *o)
{
	struct sock_msg *m = o->m;
	unsigned room = o->left > sizeof(struct abi_cmsghdr)
				? (unsigned)((o->left - sizeof(struct abi_cmsghdr)) / sizeof(int))
				: 0;
	int fds[SCM_MAX];
	unsigned n = 0;

	for (; n < m->files->nr && n < room; n++) {
		fds[n] = fd_alloc(m->flags & MSG_CMSG_CLOEXEC ? O_CLOEXEC : 0, 0);
		if (fds[n] < 0)
			break;
	}
	if (n)
		put(o, SOL_SOCKET, SCM_RIGHTS, fds, n * sizeof(int));
	for (unsigned i = 0; i < n; i++) {
		if (o->err) {
			fd_release(fds[i]);
			continue;
		}
		file_get(m->files->file[i]);
		fd_install(fds[i], m->files->file[i]);
	}
	if (n < m->files->nr)
		m->out_flags |= MSG_CTRUNC;
	scm_free(m->files);
	m->files = NULL;
}

int cmsg_out(struct sock *s, struct sock_msg *m, struct abi_msghdr *h)
{
	struct cmsg_space o = { .m = m, .at = h->control, .left = h->control ? h->controllen : 0 };
	const struct sock_anc *a = &m->anc;
	bool v6 = s->family == AF_INET6;

	if (a->have & ANC_STAMP) {
		int64_t tv[2] = { (int64_t)(a->stamp / NSEC_PER_SEC),
				  (int64_t)(a->stamp % NSEC_PER_SEC / 1000) };

		put(&o, SOL_SOCKET, SO_TIMESTAMP, tv, sizeof(tv));
	}
	if (a->have & ANC_INQ)
		put(&o, SOL_TCP, TCP_INQ, &a->inq, sizeof(a->inq));
	if (a->have & ANC_PKTINFO)
		put_pktinfo(&o, a, v6);
	if (a->have & ANC_TTL)
		put(&o, v6 ? SOL_IPV6 : SOL_IP,
		    v6 ? (s->ip.ttl_2292 ? IPV6_2292HOPLIMIT : IPV6_HOPLIMIT) : IP_TTL, &a->ttl,
		    sizeof(int));
	if (a->have & ANC_TOS) {
		uint8_t tos = (uint8_t)a->tos;

		if (v6)
			put(&o, SOL_IPV6, IPV6_TCLASS, &a->tos, sizeof(int));
		else
			put(&o, SOL_IP, IP_TOS, &tos, 1);
	}
	if (a->have & ANC_ERROR)
		put_error(&o, a, v6);
	if (m->files)
		put_files(&o);
	h->controllen = o.used;
	return o.err;
}
