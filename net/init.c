/* SPDX-License-Identifier: MIT */
/* Start-up of the network, and its figures in procfs. */
#include "net/net.h"
#include "net/tcp.h"
#include "net/dgram.h"
#include "net/unix.h"
#include "net/frag.h"
#include "net/icmp_err.h"
#include "net/packet.h"
#include "kernel/log.h"

void net_init_core(void)
{
	struct ip_addr lo4 = addr_from_v4("\x7f\0\0\1"), lo6 = { .b[15] = 1 };

	net_secret_init();
	if (pbuf_init() || frag_init() || pmtu_init() || dgram_init() || udp_init())
		panic("net: no memory for the tables");
	unix_gc_init();
	tcp_init();
	packet_init();
	netdev_register(&loopback_dev);
	ifaddr_add(&loopback_dev, &lo4, 104);
	ifaddr_add(&loopback_dev, &lo6, 128);
}
