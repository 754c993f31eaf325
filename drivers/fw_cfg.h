/* SPDX-License-Identifier: MIT */
/* QEMU's firmware configuration device: small named files from the host. */
#ifndef DRIVERS_FW_CFG_H
#define DRIVERS_FW_CFG_H

#include "kernel/types.h"

bool fw_cfg_init(void); /* is there one? */
/* Return: bytes read, at most @n; 0 if there is no such file.  Context: boot CPU. */
size_t fw_cfg_read(const char *name, void *buf, size_t n);

#endif /* DRIVERS_FW_CFG_H */
