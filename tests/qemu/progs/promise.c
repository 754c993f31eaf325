/* SPDX-License-Identifier: MIT */
/*
 * What the promises of accounting look like from a program (tests/qemu/test_promises.py).
 *
 *   promise flood           datagrams to sockets that nobody reads, for ever: a group at its limit
 *   promise messages N      N messages of 10 KiB through a connection to itself, one thread, marked
 *                           for the instruction counter: "begin 1" ... "end"
 *   promise limit           a group whose connections hit its limit while others send: what is
 *                           dropped, how far it is overrun, that all arrives once there is memory
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MESSAGE	  10240
#define FLOODED	  64  /* sockets: together they may queue more than the group's limit */
#define PAIRS	  8   /* connections of the limited group */
#define BYTES	  60000 /* sent on each before the sender sees an acknowledgement */
#define HOG_BYTES (4 << 20)

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct sockaddr_in6 loopback(unsigned port)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT,
				  .sin6_port = htons((uint16_t)port) };

	return a;
}

static void file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

/* The number behind @key in a file of lines, or the file's only number. */
static long long file_number(const char *path, const char *key)
{
	static char text[4096];
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	char *at = text;

	if (n < 0)
		die(path);
	close(fd);
	text[n] = 0;
	if (key && (at = strstr(text, key)))
		at += strlen(key);
	return at ? atoll(at) : -1;
}

/* ---- flood ---- */

static void flood(void)
{
	static char data[8192];
	struct sockaddr_in6 to[FLOODED];
	int out = socket(AF_INET6, SOCK_DGRAM, 0);

	for (int i = 0; i < FLOODED; i++) {
		int s = socket(AF_INET6, SOCK_DGRAM, 0);

		to[i] = loopback(6000 + (unsigned)i);
		if (s < 0 || bind(s, (struct sockaddr *)&to[i], sizeof(to[i])))
			die("bind");
	}
	for (unsigned i = 0;; i++)
		sendto(out, data, sizeof(data), 0, (struct sockaddr *)&to[i % FLOODED], sizeof(to[0]));
}

/* ---- messages ---- */

/* A connection to ourselves: *out sends, the result receives. */
static int connection(int listener, int *out)
{
	struct sockaddr_in6 a;
	socklen_t len = sizeof(a);
	int in;

	*out = socket(AF_INET6, SOCK_STREAM, 0);
	if (getsockname(listener, (struct sockaddr *)&a, &len) ||
	    connect(*out, (struct sockaddr *)&a, sizeof(a)))
		die("connect");
	in = accept(listener, NULL, NULL);
	if (in < 0)
		die("accept");
	return in;
}

static int listener(void)
{
	struct sockaddr_in6 a = loopback(0);
	int s = socket(AF_INET6, SOCK_STREAM, 0);

	if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof(a)) || listen(s, PAIRS))
		die("listen");
	return s;
}

static void move_messages(int out, int in, unsigned n)
{
	static char data[MESSAGE];

	while (n--) {
		size_t got = 0;

		if (write(out, data, MESSAGE) != MESSAGE)
			die("write");
		while (got < MESSAGE) {
			ssize_t r = read(in, data, MESSAGE - got);

			if (r <= 0)
				die("read");
			got += (size_t)r;
		}
	}
}

static void messages(unsigned n)
{
	int out, in = connection(listener(), &out);

	move_messages(out, in, n / 10 + 100);
	file_write("/proc/tally/mark", "begin 1");
	move_messages(out, in, n);
	file_write("/proc/tally/mark", "end");
	printf("messages %u\n", n);
}

/* ---- limit ---- */

#define GROUP "/sys/fs/cgroup/limited"

/* A child that holds @bytes of the group's memory until it is killed. */
static pid_t hog(void)
{
	int ready[2];
	pid_t child;
	char c;

	if (pipe(ready))
		die("pipe");
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		char *p;

		file_write(GROUP "/cgroup.procs", "0");
		p = mmap(NULL, HOG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(p, 1, HOG_BYTES);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause();
	}
	if (read(ready[0], &c, 1) != 1)
		die("hog");
	return child;
}

static unsigned char content(unsigned pair, unsigned at)
{
	return (unsigned char)(pair * 31 + at * 7 + at / 256);
}

static void send_all(int fd, unsigned pair)
{
	static unsigned char data[BYTES];
	ssize_t n;

	for (unsigned i = 0; i < BYTES; i++)
		data[i] = content(pair, i);
	n = write(fd, data, BYTES);
	if (n != BYTES)
		die("sender");
}

/* Bytes that came in as they were sent. */
static unsigned receive_all(int fd, unsigned pair)
{
	static unsigned char data[BYTES];
	unsigned got = 0;

	while (got < BYTES) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n = poll(&p, 1, 20000) == 1 ? read(fd, data + got, BYTES - got) : 0;

		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			if (data[got + i] != content(pair, got + (unsigned)i))
				return 0;
		got += (unsigned)n;
	}
	return got;
}

static long long limited(const char *file, const char *key)
{
	char path[128];

	snprintf(path, sizeof(path), GROUP "/%s", file);
	return file_number(path, key);
}

/*
 * The receiving ends belong to the group, since it was ours when we accepted; we ourselves
 * leave it again, so that no page of ours is in its way.
 */
static void limit(void)
{
	int out[PAIRS], in[PAIRS], l = listener();
	long long max, most = 0, dropped;
	char text[32];
	unsigned arrived = 0;
	pid_t child;

	mkdir("/sys/fs/cgroup/limited", 0755);
	child = hog();
	for (int i = 0; i < PAIRS; i++) {
		struct sockaddr_in6 a;
		socklen_t len = sizeof(a);

		out[i] = socket(AF_INET6, SOCK_STREAM, 0);
		getsockname(l, (struct sockaddr *)&a, &len);
		if (connect(out[i], (struct sockaddr *)&a, sizeof(a)))
			die("connect");
	}
	file_write(GROUP "/cgroup.procs", "0");
	for (int i = 0; i < PAIRS; i++)
		if ((in[i] = accept(l, NULL, NULL)) < 0)
			die("accept");
	file_write("/sys/fs/cgroup/cgroup.procs", "0");
	max = (limited("memory.current.exact", NULL) / 4096 + 3) * 4096;
	snprintf(text, sizeof(text), "%lld", max);
	file_write(GROUP "/memory.max", text);
	max = limited("memory.max", NULL);
	for (int i = 0; i < PAIRS; i++)
		send_all(out[i], (unsigned)i);
	for (int i = 0; i < 30; i++) {
		long long now = limited("memory.current.exact", NULL);

		most = now > most ? now : most;
		usleep(20000);
	}
	dropped = limited("memory.events", "sock_dropped ");
	printf("max %lld most %lld dropped %lld oom %lld\n", max, most, dropped,
	       limited("memory.events", "\noom "));
	/* Memory is freed: the hog goes. */
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < PAIRS; i++)
		arrived += receive_all(in[i], (unsigned)i);
	printf("sent %u arrived %u\n", PAIRS * BYTES, arrived);
	for (int i = 0; i < PAIRS; i++) {
		close(in[i]);
		close(out[i]);
	}
	usleep(300000);
	printf("sock left %lld\n", limited("memory.stat", "\nsock "));
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && !strcmp(argv[1], "flood"))
		flood();
	else if (argc > 2 && !strcmp(argv[1], "messages"))
		messages((unsigned)atoi(argv[2]));
	else if (argc > 1 && !strcmp(argv[1], "limit"))
		limit();
	else
		return 2;
	return 0;
}
