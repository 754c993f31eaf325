/* SPDX-License-Identifier: MIT */
/* hog MIB [SECONDS]: touches so much memory, says "held", stays so long. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? (size_t)atol(argv[1]) << 20 : 0;
	volatile char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("hog");
		return 3;
	}
	for (size_t i = 0; i < bytes; i += 4096)
		p[i] = 1;
	puts("held");
	fflush(stdout);
	sleep(argc > 2 ? (unsigned)atoi(argv[2]) : 0);
	return 0;
}
