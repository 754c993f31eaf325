/* SPDX-License-Identifier: MIT */
/* Program start: environment, constructors, main, exit. */
#include <stdlib.h>

extern char **environ;
extern void (*__init_array_start[])(int, char **, char **) __attribute__((weak));
extern void (*__init_array_end[])(int, char **, char **) __attribute__((weak));
int main(int argc, char **argv, char **envp);

__attribute__((noreturn)) void __libc_start(long *block);

void __libc_start(long *block)
{
	int argc = (int)block[0];
	char **argv = (char **)&block[1];

	environ = argv + argc + 1;
	for (size_t i = 0; &__init_array_start[i] < __init_array_end; i++)
		__init_array_start[i](argc, argv, environ);
	exit(main(argc, argv, environ));
}

/* newlib's exit() calls these when it was built to; nothing to do here. */
void _init(void);
void _fini(void);
void _init(void)
{
}
void _fini(void)
{
}
