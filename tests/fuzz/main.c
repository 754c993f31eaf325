/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer inside a host machine: its driver runs in a kernel thread, so that a
 * target may sleep, and time is virtual.
 */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*one)(const uint8_t *data, size_t size));
int main(int argc, char **argv);

static int nr_args;
static char **args;

static int one(const uint8_t *data, size_t size)
{
	fuzz_one(data, size);
	return 0;
}

static void run(void)
{
	host_clock_virtual(1000 * NSEC_PER_SEC);
	fuzz_setup();
	LLVMFuzzerRunDriver(&nr_args, &args, one);
}

int main(int argc, char **argv)
{
	nr_args = argc;
	args = argv;
	host_run_here(1, run);
}
