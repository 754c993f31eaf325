/* SPDX-License-Identifier: MIT */
/* What all sockets share: creation and SOL_SOCKET options (net/sock.h). */
#include "net/sock.h"
#include "net/ip.h"
#include "net/sock_info.h"
#include "net/tcp.h"

void sock_common_init(struct sock *s, const struct sock_ops *ops, int family, int type,
		      int protocol, struct owner *owner)
{
	s->ops = ops;
	s->family = family;
	s->type = type;
	s->protocol = protocol;
	atomic_init(&s->err, 0);
	atomic_init(&s->shut, 0);
	wq_init(&s->rd, "sock_rd");
	wq_init(&s->wr, "sock_wr");
	sock_mem_init(&s->mem, owner);
	atomic_init(&s->sndbuf, type == SOCK_STREAM && family != AF_UNIX ? SOCK_SNDBUF_DEFAULT
									 : DGRAM_BUF_DEFAULT);
	atomic_init(&s->rcvbuf, type == SOCK_STREAM && family != AF_UNIX ? SOCK_RCVBUF_DEFAULT
									 : DGRAM_BUF_DEFAULT);
	s->rcvlowat = 1;
	s->ip = (struct ip_opts){ .mcast_ttl = 1, .mcast_loop = true, .pmtudisc = PMTUDISC_WANT };
}

void sock_common_destroy(struct sock *s)
{
	ip_opts_destroy(s);
	sock_mem_destroy(&s->mem);
}

/* Families whose sockets are made elsewhere; entries are only added, before programs run. */
static struct {
	int family;
	struct sock *(*create)(int type, int protocol);
} families[4];

void sock_register_family(int family, struct sock *(*create)(int type, int protocol))
{
	for (unsigned i = 0; i < ARRAY_SIZE(families); i++) {
		if (families[i].create)
			continue;
		families[i].family = family;
		families[i].create = create;
		return;
	}
}

struct sock *sock_create(int family, int type, int protocol)
{
	for (unsigned i = 0; i < ARRAY_SIZE(families) && families[i].create; i++) {
		if (families[i].family == family)
			return families[i].create(type, protocol);
	}
	if (family == AF_UNIX) {
		if (protocol && protocol != 1)
			return ERR_PTR(-EPROTONOSUPPORT);
		if (type == SOCK_RAW) /* BSD's name for it */
			type = SOCK_DGRAM;
		if (type != SOCK_STREAM && type != SOCK_DGRAM && type != SOCK_SEQPACKET)
			return ERR_PTR(-ESOCKTNOSUPPORT);
		return unix_create(type);
	}
	if (family != AF_INET && family != AF_INET6)
		return ERR_PTR(-EAFNOSUPPORT);
	if (protocol < 0 || protocol > 255)
		return ERR_PTR(-EINVAL);
	switch (type) {
	case SOCK_STREAM:
		if (protocol && protocol != IPPROTO_TCP)
			return ERR_PTR(-EPROTONOSUPPORT);
		return tcp_create(family);
	case SOCK_DGRAM:
		if (!protocol || protocol == IPPROTO_UDP)
			return udp_create(family);
		if (protocol == (family == AF_INET ? IPPROTO_ICMP : IPPROTO_ICMPV6))
			return raw_create(family, type, protocol);
		return ERR_PTR(-EPROTONOSUPPORT);
	case SOCK_RAW:
		if (!protocol)
			return ERR_PTR(-EPROTONOSUPPORT);
		return raw_create(family, type, protocol);
	}
	return ERR_PTR(-ESOCKTNOSUPPORT);
}

int sockopt_int(const void *val, unsigned len, int *out)
{
	if (len < sizeof(int))
		return -EINVAL;
	memcpy(out, val, sizeof(int));
	return 0;
}

int sockopt_put_int(void *val, unsigned *len, int v)
{
	*len = min_t(unsigned, *len, sizeof(int));
	memcpy(val, &v, *len);
	return 0;
}

/* Linux doubles what the program asks for, to pay for its structures; programs expect it. */
static unsigned buf_size(int v, unsigned least)
{
	unsigned n = (unsigned)min_t(int64_t, max(v, 0), SOCK_BUF_MAX / 2) * 2;

	return max(n, least);
}

static int set_timeo(uint64_t *where, const void *val, unsigned len)
{
	int64_t tv[2];

	if (len < sizeof(tv))
		return -EINVAL;
	memcpy(tv, val, sizeof(tv));
	if (tv[1] < 0 || tv[1] >= 1000000)
		return -EDOM;
	if (tv[0] < 0)
		*where = 1; /* as Linux: a negative time-out is over at once */
	else
		*where = (uint64_t)min_t(int64_t, tv[0], 1000000000) * NSEC_PER_SEC +
			 (uint64_t)tv[1] * 1000;
	return 0;
}

static int set_socket_option(struct sock *s, int name, const void *val, unsigned len)
{
	struct abi_linger lg;
	int v, ret;

	switch (name) {
	case SO_RCVTIMEO:
		return set_timeo(&s->rcvtimeo, val, len);
	case SO_SNDTIMEO:
		return set_timeo(&s->sndtimeo, val, len);
	case SO_BINDTODEVICE:
		return ip_bind_device(s, val, len);
	}
	ret = sockopt_int(val, len, &v);
	if (ret)
		return ret;
	switch (name) {
	case SO_REUSEADDR:
		s->reuseaddr = v != 0;
		return 0;
	case SO_REUSEPORT:
		s->reuseport = v != 0;
		return 0;
	case SO_KEEPALIVE:
		s->keepalive = v != 0;
		if (s->type == SOCK_STREAM && s->family != AF_UNIX) { /* start or stop the timer */
			struct tcp_sock *tp = tcp_of(s);

			if (v && !tcp_in(tp, TCPF(TCP_CLOSE) | TCPF(TCP_LISTEN)))
				return tcp_setsockopt(s, SOL_TCP, TCP_KEEPIDLE, &tp->keep_idle,
						      sizeof(int));
		}
		return 0;
	case SO_BROADCAST:
		s->broadcast = v != 0;
		return 0;
	case SO_OOBINLINE:
		s->oobinline = v != 0;
		return 0;
	case SO_LINGER:
		if (len < sizeof(lg))
			return -EINVAL;
		memcpy(&lg, val, sizeof(lg));
		s->linger_on = lg.onoff != 0;
		s->linger_s = (unsigned)max(lg.linger, 0);
		return 0;
	case SO_SNDBUF:
	case SO_SNDBUFFORCE:
		s->sndbuf_locked = true;
		atomic_store_explicit(&s->sndbuf, buf_size(v, 4608), memory_order_relaxed);
		return 0;
	case SO_RCVBUF:
	case SO_RCVBUFFORCE:
		s->rcvbuf_locked = true;
		atomic_store_explicit(&s->rcvbuf, buf_size(v, 2304), memory_order_relaxed);
		return 0;
	case SO_RCVLOWAT:
		s->rcvlowat = v > 0 ? (unsigned)v : v < 0 ? INT_MAX : 1;
		return 0;
	case SO_TIMESTAMP:
		s->timestamp = v != 0;
		return 0;
	case SO_DEBUG:
	case SO_DONTROUTE:
	case SO_PRIORITY:
	case SO_MARK:
	case SO_PASSCRED:
	case SO_BUSY_POLL:
	case SO_ZEROCOPY:
		return 0; /* accepted: they change nothing here */
	}
	return -ENOPROTOOPT;
}

int sock_setsockopt(struct sock *s, int level, int name, const void *val, unsigned len)
{
	if (level == SOL_SOCKET)
		return set_socket_option(s, name, val, len);
	return s->ops->setsockopt ? s->ops->setsockopt(s, level, name, val, len) : -EOPNOTSUPP;
}

static int get_timeo(uint64_t ns, void *val, unsigned *len)
{
	int64_t tv[2] = { (int64_t)(ns / NSEC_PER_SEC), (int64_t)(ns % NSEC_PER_SEC / 1000) };

	*len = min_t(unsigned, *len, sizeof(tv));
	memcpy(val, tv, *len);
	return 0;
}

static int get_socket_option(struct sock *s, int name, void *val, unsigned *len)
{
	struct abi_linger lg = { s->linger_on, (int)s->linger_s };
	int v;

	switch (name) {
	case SO_TYPE:
		v = s->type;
		break;
	case SO_ERROR:
		v = -sock_take_error(s);
		break;
	case SO_DOMAIN:
		v = s->family;
		break;
	case SO_PROTOCOL:
		v = s->protocol;
		break;
	case SO_ACCEPTCONN:
		v = s->type == SOCK_STREAM && s->family != AF_UNIX &&
		    tcp_in(tcp_of(s), TCPF(TCP_LISTEN));
		break;
	case SO_REUSEADDR:
		v = s->reuseaddr;
		break;
	case SO_REUSEPORT:
		v = s->reuseport;
		break;
	case SO_KEEPALIVE:
		v = s->keepalive;
		break;
	case SO_BROADCAST:
		v = s->broadcast;
		break;
	case SO_OOBINLINE:
		v = s->oobinline;
		break;
	case SO_SNDBUF:
		v = (int)atomic_load_explicit(&s->sndbuf, memory_order_relaxed);
		break;
	case SO_RCVBUF:
		v = (int)atomic_load_explicit(&s->rcvbuf, memory_order_relaxed);
		break;
	case SO_RCVLOWAT:
		v = (int)s->rcvlowat;
		break;
	case SO_SNDLOWAT:
		v = 1;
		break;
	case SO_LINGER:
		*len = min_t(unsigned, *len, sizeof(lg));
		memcpy(val, &lg, *len);
		return 0;
	case SO_RCVTIMEO:
		return get_timeo(s->rcvtimeo, val, len);
	case SO_SNDTIMEO:
		return get_timeo(s->sndtimeo, val, len);
	case SO_INCOMING_CPU:
		v = (int)cpu_id();
		break;
	case SO_MEMINFO: {
		uint32_t m[NR_SKMEM];

		sock_meminfo(s, m);
		*len = min_t(unsigned, *len, sizeof(m));
		memcpy(val, m, *len);
		return 0;
	}
	case SO_TIMESTAMP:
		v = s->timestamp;
		break;
	case SO_BINDTODEVICE: {
		const char *name = s->ip.bound ? s->ip.bound->name : "";

		*len = min_t(unsigned, *len, *name ? (unsigned)strlen(name) + 1 : 0);
		memcpy(val, name, *len);
		return 0;
	}
	case SO_DEBUG:
	case SO_DONTROUTE:
	case SO_PRIORITY:
	case SO_MARK:
	case SO_PASSCRED:
	case SO_BUSY_POLL:
	case SO_ZEROCOPY:
		v = 0;
		break;
	default:
		return -ENOPROTOOPT;
	}
	return sockopt_put_int(val, len, v);
}

int sock_getsockopt(struct sock *s, int level, int name, void *val, unsigned *len)
{
	if (level == SOL_SOCKET)
		return get_socket_option(s, name, val, len);
	return s->ops->getsockopt ? s->ops->getsockopt(s, level, name, val, len) : -EOPNOTSUPP;
}
