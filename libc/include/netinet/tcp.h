/* SPDX-License-Identifier: MIT */
#ifndef _NETINET_TCP_H
#define _NETINET_TCP_H

#define TCP_NODELAY    1
#define TCP_MAXSEG     2
#define TCP_CORK       3
#define TCP_INFO       11
#define TCP_CONGESTION 13

#endif
