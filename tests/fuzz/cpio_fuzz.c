/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an initial file system (cpio), unpacked into a folder-less root that
 * is emptied again afterwards.
 *
 * SOURCES: @fs tests/host/uaccess.c tests/fuzz/tree.c
 */
#include "tests/host/mm_stub.h"
#include "fs/internal.h"
#include "fs/sys.h"
#include "tests/fuzz/fuzz.h"
#include "tests/host/fs_host.h"

void owner_get(struct owner *o)
{
}
void owner_put(struct owner *o)
{
}

void fuzz_setup(void)
{
	fs_host_up();
	current->process = fs_host_process();
}

void fuzz_one(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1); /* of its own, so that reading past it is seen */

	MUST(copy);
	memcpy(copy, data, size);
	initramfs_unpack_archive(copy, size);
	free(copy);
	fuzz_remove_tree("/");
}
