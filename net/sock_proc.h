/* SPDX-License-Identifier: MIT */
#ifndef NET_SOCK_PROC_H
#define NET_SOCK_PROC_H

int sock_proc_init(void);
int snmp_proc_init(void); /* registers the files of net/sock_proc.c; -ENOMEM */

#endif /* NET_SOCK_PROC_H */
