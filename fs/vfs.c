/* SPDX-License-Identifier: MIT */
/*
 * Start of the file systems: caches, /, the initramfs, what hangs below /.
 */
#include "fs/internal.h"
#include "fs/sys.h"

struct vfs_step {
	const char *path;
	const char *type;
	const char *options;
};

/* Mounted at boot so that a shell finds its way about even without an /init. */
static const struct vfs_step boot_mounts[] = {
	{ "/dev", "devtmpfs", NULL },
	{ "/proc", "proc", NULL },
};

void vfs_init(void)
{
	dcache_init();
	inode_init();
	namei_init();
	file_init();
	files_init();
	file_locks_init();
	pipe_init();
	anon_init();
	ramfs_init();
	tfs_init();
	mount_root();
	initramfs_unpack();
	devfs_init();
	proc_init();
	sync_init();
	for (size_t k = 0; k < ARRAY_SIZE(boot_mounts); k++) {
		const struct vfs_step *m = &boot_mounts[k];
		int err = vfs_mkdir_parents(m->path, 0755);

		if (!err)
			err = vfs_mount(m->type, m->path, m->type, 0, m->options);
		if (err)
			pr_err("vfs: cannot mount %s on %s: error %d", m->type, m->path, -err);
	}
	devfs_populate();
}
