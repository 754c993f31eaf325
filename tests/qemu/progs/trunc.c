/* SPDX-License-Identifier: MIT */
/*
 * Mappings of a file that is cut off: SIGBUS behind the end, zeroes when it grows
 * again, shared and private, in another process, too.  Prints "trunc ok" (on Linux as well).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 64
#define SIZE  (PAGES * 4096)

static sigjmp_buf back;

static void on_bus(int sig)
{
	siglongjmp(back, sig);
}

/* The byte at @p, or -1 if there is none any more. */
static int look(const volatile char *p)
{
	return sigsetjmp(back, 1) ? -1 : *p;
}

static int check(const char *who, const char *p, int first, int last)
{
	int a = look(p), b = look(p + SIZE - 1);

	if (a == first && b == last)
		return 0;
	printf("trunc: %s: %d %d, not %d %d\n", who, a, b, first, last);
	return 1;
}

int main(void)
{
	int fd = open("/tmp/trunc", O_RDWR | O_CREAT | O_TRUNC, 0600), up[2], down[2], st, bad = 0;
	char *shared, *private, c;
	pid_t pid;

	signal(SIGBUS, on_bus);
	if (fd < 0 || ftruncate(fd, SIZE) || pipe(up) || pipe(down))
		return 1;
	shared = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	private = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (shared == MAP_FAILED || private == MAP_FAILED)
		return 1;
	memset(shared, 'x', SIZE);
	bad |= check("private", private, 'x', 'x');
	private[SIZE - 2] = 'p'; /* a copy of its own; it goes with the file's page */
	pid = fork();
	if (pid == 0) {
		bad |= check("child before", shared, 'x', 'x');
		(void)!write(up[1], "", 1);
		(void)!read(down[0], &c, 1);
		bad |= check("child cut off", shared, 'x', -1);
		bad |= check("child cut off, private", private, 'x', -1);
		(void)!write(up[1], "", 1);
		(void)!read(down[0], &c, 1);
		bad |= check("child grown", shared, 'x', 0);
		_exit(bad);
	}
	(void)!read(up[0], &c, 1);
	if (ftruncate(fd, 4096))
		return 1;
	bad |= check("cut off", shared, 'x', -1);
	bad |= check("cut off, private", private, 'x', -1);
	(void)!write(down[1], "", 1);
	(void)!read(up[0], &c, 1);
	if (ftruncate(fd, SIZE))
		return 1;
	bad |= check("grown", shared, 'x', 0);
	bad |= check("grown, private", private, 'x', 0);
	(void)!write(down[1], "", 1);
	waitpid(pid, &st, 0);
	if (!bad && !st)
		puts("trunc ok");
	return bad || st;
}
