/* SPDX-License-Identifier: MIT */
/*
 * execve(): this process goes on as another program.
 *
 * Order: arguments out of the old memory, file (and "#!" interpreters) found,
 * new address space filled; up to there an error returns to the old program.
 * Then the other threads end and the new space, handlers and registers take
 * force, which cannot fail.
 */
#include "kernel/exec.h"
#include "kernel/errno.h"
#include "kernel/log.h"
#include "kernel/perf/perf.h"
#include "kernel/param.h"
#include "kernel/process_int.h"
#include "kernel/string.h"
#include "kernel/syscall.h"
#include "kernel/trace.h"
#include "arch/x86_64/fpu.h"
#include "arch/x86_64/user.h"
#include "fs/internal.h"
#include "mm/memcg.h"
#include "mm/slab.h"
#include "mm/vm.h"

#define MAX_SCRIPTS  4              /* "#!" in a row */
#define SCRIPT_LINE  256            /* bytes of a "#!" line that count */
#define ARG_MAX      (2UL << 20)    /* bytes of arguments, pointers included */
#define CMDLINE_MAX  4096           /* bytes kept for /proc/PID/cmdline */

#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_EMPTY_PATH       0x1000

/* Splits "#! interp arg"; changes @line.  Return: 0, -ENOEXEC. */
static int parse_script(char *line, size_t n, char **interp, char **arg)
{
	char *end, *p = line + 2;

	end = memchr(line, '\n', n);
	if (!end && n == SCRIPT_LINE)
		return -ENOEXEC; /* a name that was cut would be another name */
	if (!end)
		end = line + n;
	while (end > p && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		end--;
	*end = '\0';
	while (*p == ' ' || *p == '\t')
		p++;
	if (!*p)
		return -ENOEXEC;
	*interp = p;
	while (*p && *p != ' ' && *p != '\t')
		p++;
	*arg = NULL;
	if (*p) {
		*p++ = '\0';
		while (*p == ' ' || *p == '\t')
			p++;
		if (*p)
			*arg = p;
	}
	return 0;
}

/*
 * Follows "#!" lines from *@f to a file that is no script.  The reference in
 * *@f is replaced; @filename is what the first script is called.
 */
static int resolve_scripts(struct file **f, const char *filename, struct exec_args *a)
{
	char *line = kmalloc(SCRIPT_LINE + 1, GFP_KERNEL), *name = NULL;
	int err = -ENOMEM;

	for (int depth = 0; line; depth++) {
		char *interp, *arg;
		struct file *next;
		loff_t pos = 0;
		ssize_t n;

		err = exec_check_file(*f);
		if (err)
			break;
		n = vfs_read(*f, line, SCRIPT_LINE, &pos);
		if (n < 0) {
			err = (int)n;
			break;
		}
		line[n] = '\0';
		if (n < 2 || line[0] != '#' || line[1] != '!')
			break;
		err = depth == MAX_SCRIPTS ? -ELOOP : parse_script(line, (size_t)n, &interp, &arg);
		if (!err)
			err = exec_args_script(a, interp, arg, name ? name : filename);
		if (err)
			break;
		next = vfs_open(interp, O_RDONLY, 0);
		if (IS_ERR(next)) {
			err = (int)PTR_ERR(next);
			break;
		}
		fput(*f);
		*f = next;
		kfree(name);
		name = kstrdup(interp, GFP_KERNEL);
		if (!name) {
			err = -ENOMEM;
			break;
		}
	}
	kfree(name);
	kfree(line);
	return err;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void set_name(const char *filename)
{
	struct process *p = current->process;

	str_copy(p->name, base_name(filename), sizeof(p->name));
	str_copy(current->name, base_name(filename), sizeof(current->name));
}

/* The point of no return is behind us: the new image takes force. */
static void enter_image(struct exec_image *image, struct file *f, const char *filename,
			char *cmdline, size_t cmdline_len)
{
	struct process *p = current->process;
	struct user_thread *u = current_user();
	struct vm_space *old = current->space;
	struct file *old_exe;
	char *old_cmdline;
	irqstate_t irq;

	if (old)
		futex_thread_exit(u); /* in the old memory */
	itimers_exec(p);
	file_get(f);
	spin_lock(&process_lock);
	atomic_store_explicit(&p->space, image->space, memory_order_relaxed);
	p->space_shared = false;
	old_exe = p->exe, p->exe = f;
	old_cmdline = p->cmdline, p->cmdline = cmdline;
	p->cmdline_len = cmdline_len;
	p->mm_arg_start = image->arg_start;
	p->mm_arg_end = image->arg_end;
	p->did_exec = true;
	p->exit_signal = SIGCHLD;
	set_name(filename);
	spin_unlock(&process_lock);

	irq = irq_save();
	current->space = image->space;
	vm_activate(image->space);
	irq_restore(irq);
	if (old)
		vm_put(old);
	vfork_release(p);
	if (old_exe) {
		file_allow_write(old_exe);
		fput(old_exe);
	}
	kfree(old_cmdline);

	sighand_exec(p);
	u->altstack_sp = u->altstack_size = 0;
	u->altstack_flags = 0;
	u->clear_child_tid = NULL;
	u->robust_list = NULL;
	u->restart_fn = NULL;
	files_close_on_exec(p->files);
	fpu_thread_reset();
	user_set_fs_base(0);
	user_set_gs_base(0);
	user_regs_start(user_regs(current), image->entry, image->sp);
	perf_exec();
	trace(process_exec, (uint64_t)p->pid);
}

/* A process that shares its descriptors with another (CLONE_FILES) gets its own. */
static int unshare_files(struct process *p)
{
	struct files *old = p->files, *own;

	if (!p->files_shared)
		return 0;
	own = files_clone(old);
	if (!own)
		return -ENOMEM;
	spin_lock(&process_lock);
	p->files = own;
	p->files_shared = false;
	spin_unlock(&process_lock);
	files_put(old);
	return 0;
}

/**
 * do_exec - replace the program of the current process
 * @f: the file; the reference is used up
 * @filename: as the caller named it
 * @a: arguments; replaced for scripts, freed by the caller
 *
 * Context: user thread.  Return: 0 with new user registers, or -errno with the
 * old program as it was (-EINTR: it is to end anyway).
 */
static int do_exec(struct file *f, const char *filename, struct exec_args *a)
{
	struct exec_image image = { 0 };
	size_t n;
	char *cmdline = NULL;
	int err = resolve_scripts(&f, filename, a);
	bool denied;

	if (!err)
		err = file_deny_write(f); /* until p->exe is another */
	denied = !err;
	if (!err)
		err = exec_load(f, filename, &image);
	if (!err)
		err = exec_stack(&image, a, filename);
	if (!err) {
		n = min(a->argv_len, (size_t)CMDLINE_MAX);
		cmdline = kmalloc(n, GFP_ACCOUNT);
		err = cmdline ? 0 : -ENOMEM;
	}
	if (!err)
		err = unshare_files(current->process);
	if (!err)
		err = process_single_thread();
	if (err) {
		if (image.space)
			vm_put(image.space);
		kfree(cmdline);
		if (denied)
			file_allow_write(f);
		fput(f);
		return err;
	}
	memcpy(cmdline, a->buf, n);
	cmdline[n - 1] = '\0';
	enter_image(&image, f, filename, cmdline, n);
	fput(f);
	return 0;
}

static size_t arg_limit(void)
{
	uint64_t stack = current->process->rlimits[RLIMIT_STACK][0];

	return min(ARG_MAX, max((size_t)(stack / 4), (size_t)128 << 10));
}

static struct file *open_program(int dirfd, char *path, unsigned flags)
{
	struct file *f;

	if (path[0])
		return do_open(dirfd, path,
			       O_RDONLY | (flags & AT_SYMLINK_NOFOLLOW ? O_NOFOLLOW : 0), 0);
	if (!(flags & AT_EMPTY_PATH))
		return ERR_PTR(-ENOENT);
	f = fget(dirfd);
	if (!f)
		return ERR_PTR(-EBADF);
	snprintf(path, 24, "/dev/fd/%d", dirfd);
	return f;
}

static long exec_user(int dirfd, const char __user *upath, const void __user *argv,
		      const void __user *envp, unsigned flags)
{
	struct exec_args a;
	struct file *f;
	char *path;
	long err;

	if (flags & ~(unsigned)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	path = getname(upath);
	if (IS_ERR(path))
		return PTR_ERR(path);
	err = exec_args_init(&a, arg_limit());
	if (!err) {
		f = open_program(dirfd, path, flags);
		err = IS_ERR(f) ? PTR_ERR(f) : 0;
		if (!err) {
			err = exec_args_user(&a, argv, envp);
			if (!err)
				err = do_exec(f, path, &a);
			else
				fput(f);
		}
		exec_args_free(&a);
	}
	putname(path);
	return err;
}

SYSCALL(execve, const char __user *path, const void __user *argv, const void __user *envp)
{
	return exec_user(AT_FDCWD, path, argv, envp, 0);
}

SYSCALL(execveat, int dirfd, const char __user *path, const void __user *argv,
	const void __user *envp, unsigned flags)
{
	return exec_user(dirfd, path, argv, envp, flags);
}

static char init_path[256];
PARAM_STRING("init", init_path, PARAM_RO, "program to run as pid 1 (default /init)");

static int exec_init(const char *path)
{
	const char *argv[] = { path, NULL };
	const char *envp[] = { "HOME=/", "TERM=linux", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", NULL };
	struct exec_args a;
	struct file *f = vfs_open(path, O_RDONLY, 0);
	int err;

	if (IS_ERR(f))
		return (int)PTR_ERR(f);
	err = exec_args_init(&a, ARG_MAX);
	if (err) {
		fput(f);
		return err;
	}
	err = exec_args_kernel(&a, argv, envp);
	if (!err)
		err = do_exec(f, path, &a);
	else
		fput(f);
	exec_args_free(&a);
	return err;
}

/* First in pid 1, in the kernel. */
static void init_entry(void *arg)
{
	static const char *const defaults[] = { "/init", "/sbin/init", "/bin/sh" };
	struct file *console;
	int err = -ENOENT;

	console = vfs_open("/dev/console", O_RDWR, 0);
	if (IS_ERR(console)) {
		pr_warn("/dev/console cannot be opened (error %ld): init has no console\n",
			-PTR_ERR(console));
	} else {
		for (int fd = 0; fd < 3; fd++) {
			file_get(console);
			fd_file(console, 0);
		}
		fput(console);
	}
	if (init_path[0]) {
		err = exec_init(init_path);
		if (err)
			panic("init=%s cannot be run (error %d)", init_path, -err);
	} else {
		for (unsigned i = 0; i < ARRAY_SIZE(defaults) && err == -ENOENT; i++)
			err = exec_init(defaults[i]);
		if (err)
			panic("no init could be run: /init, /sbin/init and /bin/sh were tried "
			      "(error %d)",
			      -err);
	}
	enter_user(user_regs(current));
}

void process_start_init(void)
{
	struct process *p = process_alloc();
	struct user_thread *u;
	struct thread *t;

	if (!p || pid_alloc() != 1)
		panic("no memory for init");
	p->pid = 1;
	str_copy(p->name, "init", sizeof(p->name));
	p->files = files_create();
	p->fs = fs_context_create();
	u = user_thread_create(p, "init", init_entry);
	if (!p->files || !p->fs || IS_ERR(u))
		panic("no memory for init");
	t = u->thread;
	t->tid = 1;
	memcg_fork(p, u, NULL); /* the root group: never removed */
	process_get(p);
	spin_lock(&process_lock);
	init_process = p;
	pid_attach_process(1, p);
	pid_join_group(p, 1, 1);
	user_thread_link(u);
	spin_unlock(&process_lock);
	thread_start(t);
	thread_put(t);
}
