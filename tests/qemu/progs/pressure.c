/* SPDX-License-Identifier: MIT */
/*
 * pressure FILE: sets a trigger on a pressure file, 50 ms within a second, and waits up to
 * 15 s for it.  Prints what a second trigger on the same descriptor gives, and "fired" or not.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static const char trigger[] = "some 50000 1000000";
	struct pollfd p = { .events = POLLPRI };

	p.fd = open(argc > 1 ? argv[1] : "/proc/pressure/memory", O_RDWR | O_NONBLOCK);
	if (p.fd < 0 || write(p.fd, trigger, sizeof(trigger)) != sizeof(trigger)) {
		perror("trigger");
		return 1;
	}
	if (write(p.fd, trigger, sizeof(trigger)) >= 0 || errno != EBUSY)
		printf("second trigger: %s\n", strerror(errno));
	printf("set\n");
	fflush(stdout);
	printf("%s\n", poll(&p, 1, 15000) == 1 && p.revents & POLLPRI ? "fired" : "quiet");
	return 0;
}
