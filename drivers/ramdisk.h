/* SPDX-License-Identifier: MIT */
/* RAM disks: see drivers/ramdisk.c. */
#ifndef DRIVERS_RAMDISK_H
#define DRIVERS_RAMDISK_H

void ramdisk_init(void); /* init step, after files: those that the command line asks for */

#endif /* DRIVERS_RAMDISK_H */
