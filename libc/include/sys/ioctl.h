/* SPDX-License-Identifier: MIT */
#ifndef _SYS_IOCTL_H
#define _SYS_IOCTL_H

#define TCGETS	   0x5401
#define TIOCSCTTY  0x540E
#define TIOCGWINSZ 0x5413
#define FIONREAD   0x541B
#define TIOCNOTTY  0x5422

struct winsize {
	unsigned short ws_row, ws_col, ws_xpixel, ws_ypixel;
};

int ioctl(int fd, unsigned long request, ...);

#endif
