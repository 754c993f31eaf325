// SPDX-License-Identifier: MIT
/* AF_UNIX sockets to look at: a pair with something to read, a listener, an abstract name. */
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "/tmp/s" };
	int pair[2], s = socket(AF_UNIX, SOCK_STREAM, 0), d = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || bind(s, (void *)&a, sizeof(a)) ||
	    listen(s, 5))
		return 1;
	memcpy(a.sun_path, "\0abs", 4);
	if (bind(d, (void *)&a, offsetof(struct sockaddr_un, sun_path) + 4) ||
	    write(pair[0], "hello", 5) != 5)
		return 1;
	sleep(30);
	return 0;
}
