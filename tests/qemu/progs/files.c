/* SPDX-License-Identifier: MIT */
/*
 * Calls on paths and files with good and bad arguments; prints each with its
 * result.  Run in an empty folder on Linux and on Tally, the output is the same
 * (tests/qemu/test_files.py).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>
#include <utime.h>
#include <unistd.h>

#define R(x) out(#x, (long)(x))
#define BAD  ((void *)bad) /* nothing is mapped there */

static char *volatile bad = (char *)1;
static char b[256];
static struct stat st;
static int fd, fd2, p[2];

static void out(const char *what, long r)
{
	if (r < 0)
		printf("%s = %ld %s\n", what, r, strerrorname_np(errno));
	else
		printf("%s = %ld\n", what, r);
	fflush(stdout); /* children print, too */
	errno = 0;
}

static char big[5000];
static struct iovec iv[3];

static void opening(void)
{
	R(open("f", O_RDWR));
	R(fd = open("f", O_RDWR | O_CREAT | O_EXCL, 0640));
	R(open("f", O_CREAT | O_EXCL, 0600));
	R(open("f", O_DIRECTORY));
	R(open("f/", O_RDONLY));
	R(open("f/x", O_RDONLY));
	R(open(".", O_RDWR));
	R(open(".", O_WRONLY | O_CREAT, 0600));
}

static void bad_paths(void)
{
	R(open(BAD, O_RDONLY));
	R(open("", O_RDONLY));
	R(open(big, O_RDONLY));
	big[300] = 0;
	R(open(big, O_RDONLY));
	R(mkdir(big, 0700));
	big[255] = 0;
	R(mkdir(big, 0700));
	R(rmdir(big));
}

static void data(void)
{
	R(write(fd, "hello world", 11));
	R(lseek(fd, 0, SEEK_CUR));
	R(lseek(fd, -1, SEEK_SET));
	R(lseek(fd, 0, 77));
	R(lseek(fd, 5, SEEK_END));
	R(write(fd, "!", 1));
	R(fstat(fd, &st));
	R(st.st_size);
	R(st.st_mode);
	R(pread(fd, b, 20, 0));
	R(memcmp(b, "hello world\0\0\0\0\0!", 17));
	R(pread(fd, b, 20, -1));
	R(pread(fd, BAD, 5, 0));
	R(write(fd, BAD, 5));
	R(read(-1, b, 1));
	R(read(999, b, 1));
	R(write(fd, NULL, 0));
	R(read(fd, NULL, 0));
}

static void sizes(void)
{
	R(ftruncate(fd, 3));
	R(ftruncate(fd, -1));
	R(truncate("f", 10));
	R(truncate(".", 0));
	R(truncate("nope", 0));
	R(stat("f", &st));
	R(st.st_size);
	R(st.st_blocks);
}

static void allocation(void)
{
	R(posix_fallocate(fd, 0, 5000));
	R(fstat(fd, &st));
	R(st.st_size);
	R(fallocate(fd, 0, -1, 5));
	R(fallocate(fd, 0, 0, 0));
}

static void vectors(void)
{
	iv[0].iov_base = "ab";
	iv[0].iov_len = 2;
	iv[1].iov_base = NULL;
	iv[1].iov_len = 0;
	iv[2].iov_base = "cde";
	iv[2].iov_len = 3;
	R(lseek(fd, 0, SEEK_SET));
	R(writev(fd, iv, 3));
	R(syscall(SYS_writev, fd, iv, -1));
	R(syscall(SYS_writev, fd, iv, 1025));
	R(writev(fd, BAD, 1));
	R(pwritev(fd, iv, 3, 100));
	R(lseek(fd, 0, SEEK_CUR));
	iv[0].iov_base = b;
	iv[2].iov_base = b + 10;
	R(preadv(fd, iv, 3, 0));
	R(writev(fd, iv, 0));
	iv[0].iov_len = (size_t)-1;
	R(writev(fd, iv, 2));
}

static void syncing(void)
{
	R(fsync(fd));
	R(fdatasync(fd));
	R(fsync(-1));
	R(syncfs(fd));
}

static void modes(void)
{
	R(fchmod(fd, 04711));
	fstat(fd, &st);
	R(st.st_mode);
	R(chmod("nope", 0));
	R(access("f", R_OK));
	R(access("f", X_OK));
	R(access("f", 9));
	R(access("nope", F_OK));
	R(chmod("f", 0600));
	R(access("f", X_OK));
}

static void owners(void)
{
	R(chown("f", 5, 6));
	stat("f", &st);
	R(st.st_uid);
	R(st.st_gid);
	R(chown("f", -1, 7));
	stat("f", &st);
	R(st.st_uid);
	R(st.st_gid);
}

static void symbolic_links(void)
{
	R(symlink("f", "s"));
	R(symlink("x", "s"));
	R(symlink("", "e"));
	R(readlink("s", b, 256));
	R(readlink("f", b, 256));
	R(readlink("s", b, 0));
	R(readlink("s", BAD, 5));
	R(readlink("nope", b, 5));
	R(lstat("s", &st));
	R(st.st_mode);
	R(st.st_size);
	R(open("s", O_NOFOLLOW));
	R(symlink("l2", "l1"));
	R(symlink("l1", "l2"));
	R(open("l1", O_RDONLY));
	R(stat("l1", &st));
	R(open("l1", O_RDWR | O_CREAT, 0600));
}

static void dangling(void)
{
	R(symlink("newf", "dangling"));
	R(open("dangling", O_RDONLY));
	R(fd2 = open("dangling", O_RDWR | O_CREAT, 0600));
	R(stat("newf", &st));
	R(close(fd2));
	R(close(fd2));
	R(unlink("newf"));
	R(open("dangling", O_CREAT | O_EXCL, 0600));
}

static void hard_links(void)
{
	R(link("f", "h"));
	stat("h", &st);
	R(st.st_nlink);
	R(link("f", "h"));
	R(link(".", "hd"));
	R(link("nope", "z"));
	R(linkat(AT_FDCWD, "s", AT_FDCWD, "hs", 0));
	R(lstat("hs", &st));
	R(S_ISLNK(st.st_mode));
	R(linkat(AT_FDCWD, "s", AT_FDCWD, "hf", AT_SYMLINK_FOLLOW));
	R(lstat("hf", &st));
	R(S_ISREG(st.st_mode));
	R(linkat(AT_FDCWD, "f", AT_FDCWD, "zz", 1));
}

static void removal(void)
{
	R(unlink("h"));
	R(unlink("."));
	R(unlink("nope"));
	R(unlink("f/"));
	R(rmdir("f"));
	R(rmdir("."));
	R(rmdir(".."));
	R(rmdir("/"));
	R(rmdir("nope"));
}

static void folders(void)
{
	R(mkdir("d", 0777));
	R(mkdir("d", 0777));
	R(mkdir("d/e/", 0777));
	R(rmdir("d"));
	R(mkdir("nope/x", 0777));
	R(mkdir("/", 0777));
	R(mkdir("f/x", 0777));
	R(mkdir(".", 0777));
	R(unlink("d"));
	R(unlinkat(AT_FDCWD, "d", AT_REMOVEDIR | 1));
}

static void renames(void)
{
	R(rename("d", "d/e/f"));
	R(rename("d/e", "d"));
	R(rename("d", "f"));
	R(rename("f", "d"));
	R(rename("f", "f"));
	R(rename("nope", "x"));
	R(rename("d", "."));
	R(rename(".", "d2"));
	R(rename("d/e", "d2"));
	R(stat("d2", &st));
	R(rename("d2", "d"));
	R(stat("d2", &st));
	R(rename("f", "d/g"));
	R(stat("d/g", &st));
	R(rename("d/g", "f"));
	R(renameat2(AT_FDCWD, "f", AT_FDCWD, "d", RENAME_NOREPLACE));
	R(renameat2(AT_FDCWD, "f", AT_FDCWD, "d", 99));
}

static void fifos(void)
{
	R(mknod("fifo", S_IFIFO | 0644, 0));
	R(mknod("fifo", S_IFIFO | 0644, 0));
	R(mkfifo("nope/x", 0600));
	R(mknod("dir", S_IFDIR | 0700, 0));
	R(mknod("reg", S_IFREG | 0600, 0));
	R(open("fifo", O_WRONLY | O_NONBLOCK));
	R(fd2 = open("fifo", O_RDONLY | O_NONBLOCK));
	R(read(fd2, b, 1));
	R(p[1] = open("fifo", O_WRONLY | O_NONBLOCK));
	R(read(fd2, b, 1));
	R(write(p[1], "abc", 3));
	R(read(fd2, b, 9));
	R(lseek(fd2, 0, 0));
	close(p[1]);
	R(read(fd2, b, 9));
	close(fd2);
}

static void listing(void)
{
	R(getdents64(fd, b, 256));
	R(fd2 = open("d", O_RDONLY | O_DIRECTORY));
	R(getdents64(fd2, b, 5));
	R(getdents64(fd2, b, 256));
	R(getdents64(fd2, b, 256));
	R(read(fd2, b, 1));
	R(write(fd2, b, 1));
	R(fchdir(fd2));
	R(getcwd(b, 256) != NULL);
	R(strcmp(strrchr(b, '/'), "/d"));
	R(chdir(".."));
	R(chdir("f"));
	R(chdir("nope"));
	R(fchdir(fd));
	R(getcwd(b, 2) != NULL);
	R(syscall(SYS_getcwd, b, 2));
	R(close(fd2));
}

static void relative(void)
{
	R(openat(fd, "x", O_RDONLY));
	R(openat(-5, "x", O_RDONLY));
	R(openat(99, "/dev/null", O_RDONLY));
	R(fd2 = open("f", O_PATH));
	R(read(fd2, b, 1));
	R(fstat(fd2, &st));
	R(fchmod(fd2, 0));
	R(fcntl(fd2, F_GETFL));
	R(ioctl(fd2, FIONREAD, b));
	R(close(fd2));
	R(fd2 = open("s", O_PATH | O_NOFOLLOW));
	R(fstat(fd2, &st));
	R(S_ISLNK(st.st_mode));
	R(readlinkat(fd2, "", b, 256));
	close(fd2);
}

static void nameless(void)
{
	R(fd2 = open("d", O_TMPFILE | O_RDWR, 0600));
	R(write(fd2, "tmp", 3));
	R(fstat(fd2, &st));
	R(st.st_nlink);
	R(st.st_size);
	snprintf(b, 256, "/proc/self/fd/%d", fd2);
	R(linkat(AT_FDCWD, b, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW));
	R(stat("linked", &st));
	R(st.st_nlink);
	R(st.st_size);
	close(fd2);
	R(open("d", O_TMPFILE | O_RDONLY, 0600));
}

static void unlinked(void)
{
	R(fd2 = open("u", O_RDWR | O_CREAT, 0600));
	R(write(fd2, "data", 4));
	R(unlink("u"));
	R(fstat(fd2, &st));
	R(st.st_nlink);
	R(pread(fd2, b, 9, 0));
	R(close(fd2));
}

static void appending(void)
{
	R(fd2 = open("ap", O_RDWR | O_CREAT | O_APPEND, 0600));
	R(write(fd2, "one", 3));
	R(lseek(fd2, 0, SEEK_SET));
	R(write(fd2, "two", 3));
	R(lseek(fd2, 0, SEEK_CUR));
	R(fcntl(fd2, F_GETFL) & ~O_LARGEFILE);
	R(fcntl(fd2, F_SETFL, O_NONBLOCK));
	R(fcntl(fd2, F_GETFL) & ~O_LARGEFILE);
	close(fd2);
	R(fd2 = open("f", O_WRONLY));
	R(read(fd2, b, 1));
	close(fd2);
	R(fd2 = open("f", O_RDONLY));
	R(write(fd2, b, 1));
	R(ftruncate(fd2, 0));
	close(fd2);
}

static void times(void)
{
	{
		struct timespec ts[2] = {{100, 5}, {200, 6}};
		R(utimensat(AT_FDCWD, "f", ts, 0));
		stat("f", &st);
		R(st.st_atim.tv_sec);
		R(st.st_mtim.tv_nsec);
		ts[0].tv_nsec = UTIME_OMIT;
		ts[1].tv_sec = 300;
		R(utimensat(AT_FDCWD, "f", ts, 0));
		stat("f", &st);
		R(st.st_atime);
		R(st.st_mtime);
		ts[1].tv_nsec = 2000000000;
		R(utimensat(AT_FDCWD, "f", ts, 0));
		R(utimensat(AT_FDCWD, "nope", NULL, 0));
		struct utimbuf u = {1, 2};
		R(utime("f", &u));
		stat("f", &st);
		R(st.st_mtime);
		R(futimens(fd, NULL));
	}
}

static void other_figures(void)
{
	{
		struct statx sx;
		struct statfs sf;
		R(statx(AT_FDCWD, "f", 0, STATX_ALL, &sx));
		R(sx.stx_mode);
		R(statx(AT_FDCWD, "f", 0x100000, 0, &sx));
		R(statfs(".", &sf));
		R(statfs("nope", &sf));
		R(fstatfs(fd, &sf));
		R(faccessat(AT_FDCWD, "f", R_OK, 0));
		R(umask(077));
		R(umask(022));
		R(ioctl(fd, TCGETS, b));
		R(isatty(fd));
		R(ioctl(-1, TCGETS, b));
		R(mount("none", "nope", "tmpfs", 0, NULL));
		R(mount("none", "f", "tmpfs", 0, NULL));
		R(mount("none", "d", "nosuchfs", 0, NULL));
		R(umount2("d", 0));
		R(umount2("nope", 0));
		R(chroot("f"));
		R(chroot("nope"));
	}
}

static void another_user(void)
{
	if (!fork()) {
		mkdir("priv", 0700);
		chmod(".", 0755);
		close(open("rootonly", O_CREAT | O_RDWR, 0600));
		R(setgid(1000));
		R(setuid(1000));
		R(open("rootonly", O_RDONLY));
		R(open("priv/x", O_CREAT | O_RDWR, 0600));
		R(open("newone", O_CREAT | O_RDWR, 0600));
		R(unlink("rootonly"));
		R(chmod("rootonly", 0777));
		R(chown("rootonly", 1000, 1000));
		R(stat("priv/y", &st));
		R(stat("rootonly", &st));
		R(access("rootonly", R_OK));
		R(mkdir("priv/d", 0700));
		R(rename("rootonly", "x"));
		R(link("rootonly", "y") >= -1);
		R(mknod("n", S_IFCHR | 0600, 0x103));
		R(mount("n", "d", "tmpfs", 0, NULL));
		R(chroot("."));
		R(chdir("priv"));
		R(utimensat(AT_FDCWD, "rootonly", NULL, 0));
		_exit(0);
	}
	wait(NULL);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	memset(big, 'x', sizeof(big) - 1);
	umask(022);
	opening();
	bad_paths();
	data();
	sizes();
	allocation();
	vectors();
	syncing();
	modes();
	owners();
	symbolic_links();
	dangling();
	hard_links();
	removal();
	folders();
	renames();
	fifos();
	listing();
	relative();
	nameless();
	unlinked();
	appending();
	times();
	other_figures();
	another_user();
	return 0;
}
