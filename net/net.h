/* SPDX-License-Identifier: MIT */
/* The network as the rest of the kernel sees it. */
#ifndef NET_NET_H
#define NET_NET_H

#include "kernel/types.h"

struct file;
void net_init(void);      /* everything: tables, loopback, /proc files */
void net_init_core(void); /* without files: host tests */
/* socket(2) without a descriptor: ERR_PTR(-errno). */
struct file *socket_file(int family, int type, int protocol);

#endif /* NET_NET_H */
