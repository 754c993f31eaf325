/* SPDX-License-Identifier: MIT */
/* What sockets show of themselves: net/sock_info.h. */
#include "net/sock_info.h"
#include "net/dgram.h"
#include "net/tcp.h"
#include "net/unix.h"

void sock_meminfo(const struct sock *s, uint32_t m[NR_SKMEM])
{
	memset(m, 0, NR_SKMEM * sizeof(m[0]));
	m[SKMEM_RCVBUF] = atomic_load_explicit(&s->rcvbuf, memory_order_relaxed);
	m[SKMEM_SNDBUF] = atomic_load_explicit(&s->sndbuf, memory_order_relaxed);
	if (s->mem.owner)
		m[SKMEM_FWD] = (uint32_t)s->mem.credit;
	if (s->family == AF_UNIX) {
		m[SKMEM_RMEM] = atomic_load_explicit(&((const struct unix_sock *)s)->rmem,
						     memory_order_relaxed);
	} else if (s->family != AF_INET && s->family != AF_INET6 && s->family != AF_PACKET) {
		m[SKMEM_RMEM] = s->mem.owner ? (uint32_t)sock_mem_used(&s->mem) : 0;
	} else if (s->type == SOCK_STREAM) {
		const struct tcp_sock *tp = (const struct tcp_sock *)s;

		m[SKMEM_RMEM] = __atomic_load_n(&tp->rmem, __ATOMIC_RELAXED);
		m[SKMEM_WQUEUED] = atomic_load_explicit(&tp->wmem, memory_order_relaxed);
	} else {
		const struct dgram_sock *d = (const struct dgram_sock *)s;

		m[SKMEM_RMEM] = __atomic_load_n(&d->rmem, __ATOMIC_RELAXED);
		m[SKMEM_WMEM] = atomic_load_explicit(&d->wmem, memory_order_relaxed);
		m[SKMEM_DROPS] = atomic_load_explicit(&d->drops, memory_order_relaxed);
	}
}

void sock_group(const struct sock *s, char *buf, size_t n)
{
	struct owner *o = __atomic_load_n(&s->mem.owner, __ATOMIC_RELAXED);

	if (!o || memcg_owner_path(o, buf, n))
		str_copy(buf, "/", n);
}
