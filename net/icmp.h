/* SPDX-License-Identifier: MIT */
/* What the parts of ICMP share: net/icmp.c answers, net/icmp_out.c complains. */
#ifndef NET_ICMP_H
#define NET_ICMP_H

#include "net/pbuf.h"

/* Sends an ICMP packet whose header begins at p->th: checksum, network header. Consumes. */
void icmp_send(struct pbuf *p);

#endif /* NET_ICMP_H */
