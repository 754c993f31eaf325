/* SPDX-License-Identifier: MIT */
#ifndef _DIRENT_H_
#define _DIRENT_H_

#include <sys/types.h>

#define DT_UNKNOWN 0
#define DT_FIFO	   1
#define DT_CHR	   2
#define DT_DIR	   4
#define DT_BLK	   6
#define DT_REG	   8
#define DT_LNK	   10
#define DT_SOCK	   12

struct dirent {
	ino_t d_ino;
	unsigned char d_type;
	char d_name[256];
};

typedef struct tally_dir DIR;

DIR *opendir(const char *path);
struct dirent *readdir(DIR *dir);
int closedir(DIR *dir);

#endif
