/* SPDX-License-Identifier: MIT */
#ifndef _SYS_MOUNT_H
#define _SYS_MOUNT_H

int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data);
int umount(const char *target);

#endif
