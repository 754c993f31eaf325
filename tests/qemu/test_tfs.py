# SPDX-License-Identifier: MIT
"""Files with a backing store: RAM disks, tfs, the page cache, sync and eviction."""

import os
import re
import subprocess

from conftest import OUT

DISK = ("--append", "ramdisk=64M")
MAKE = "mkfs.tfs /dev/ram0 >/dev/null && mount -t tfs /dev/ram0 /mnt && cd /mnt\n"


def test_life_of_files(run):
    done = run(MAKE + r"""
i=0; while [ $i -lt 300 ]; do echo $i >f$i; i=$((i+1)); done
mkdir -p a/b/c; mv f1 a/b; mv a/b a/q; rm f2 f3; ln f4 a/hard; ln -s ../f5 a/soft
rmdir a/q/c; rmdir a 2>/dev/null || echo not empty; mkfifo p
dd if=/dev/urandom of=big bs=1M count=9 2>/dev/null; cp big copy; truncate -s 5000 copy
truncate -s 9000 copy
sum=$(md5sum <big)
cd /; umount /mnt; fsck.tfs /dev/ram0; mount -t tfs /dev/ram0 /mnt; cd /mnt
[ "$(md5sum <big)" = "$sum" ] && echo same
ls | wc -l; cat a/q/f1 a/hard a/soft; ls -l f4 | tr -s ' ' | cut -d' ' -f2
dd if=copy bs=1 skip=5000 2>/dev/null | tr -d '\0' | wc -c
cmp -n 5000 copy big && echo head
[ -p p ] && echo fifo
""", *DISK)
    assert done.out.split("\n")[:10] == ["not empty", "/dev/ram0: 0 errors", "same", "301", "1",
                                         "4", "5", "2", "0", "head"]
    assert "fifo" in done.out


def test_many_extents(run):
    """Files in pieces need lists of extents, which come and go with them."""
    done = run(MAKE + """
i=0; while [ $i -lt 40 ]; do
	for f in a b; do dd if=/bin/busybox of=$f bs=4096 skip=$i seek=$((i * 2)) count=1 conv=notrunc; done
	i=$((i+1)); done 2>/dev/null
i=0; while [ $i -lt 12 ]; do
	dd if=/bin/busybox of=c bs=4096 skip=$i seek=$((i * 2)) count=1 conv=notrunc; i=$((i+1)); done 2>/dev/null
truncate -s $((20 * 4096)) c; dd if=/bin/busybox bs=4096 count=50 >>c 2>/dev/null; sum=$(cat a b c | md5sum)
cd /; umount /mnt; fsck.tfs /dev/ram0; mount -t tfs /dev/ram0 /mnt; cd /mnt
[ "$(cat a b c | md5sum)" = "$sum" ] && echo same
truncate -s 8192 b; rm a; cd /; umount /mnt; fsck.tfs /dev/ram0
""", *DISK)
    assert done.out.split("\n")[:3] == ["/dev/ram0: 0 errors", "same", "/dev/ram0: 0 errors"]


def test_full_disk_and_space_that_comes_back(run):
    done = run(MAKE + """
free=$(df . | tail -1 | tr -s ' ' | cut -d' ' -f4)
dd if=/dev/zero of=x bs=1M 2>&1 | grep -c 'No space'
rm x; dd if=/dev/zero of=y bs=1M count=40 2>/dev/null && echo again
rm y; sync; [ $(df . | tail -1 | tr -s ' ' | cut -d' ' -f4) -ge $((free - 256)) ] && echo back
cd /; umount /mnt; fsck.tfs /dev/ram0
""", *DISK)
    assert done.out.split("\n")[:4] == ["1", "again", "back", "/dev/ram0: 0 errors"]


def test_write_back_and_drop(run):
    """Dirty pages show, a sync takes them, dropping makes reads go to the disk, whose speed is stated."""
    done = run(MAKE + """
kb() { grep "^$1:" /proc/meminfo | tr -s ' ' | cut -d' ' -f2; }
dd if=/dev/urandom of=x bs=1M count=8 2>/dev/null
[ $(kb Dirty) -gt 4096 ] && echo dirty; sync; [ $(kb Dirty) -eq 0 ] && echo clean
before=$(kb Cached); echo 3 >/proc/sys/vm/drop_caches
[ $(kb Cached) -lt $((before - 7000)) ] && echo dropped
sum=$(md5sum <x); echo 3 >/proc/sys/vm/drop_caches
up() { cut -d' ' -f1 /proc/uptime | tr -d . | sed 's/^0*//'; }
echo 8 >/proc/sys/tally/ramdisk/mbps; start=$(up)
[ "$(md5sum <x)" = "$sum" ] && echo same
echo $(($(up) - start)); echo 0 >/proc/sys/tally/ramdisk/mbps
""", *DISK)
    out = done.out.split("\n")
    assert out[:4] == ["dirty", "clean", "dropped", "same"]
    assert int(out[4]) >= 90  # centiseconds: 8 MiB at 8 MB/s; no upper bound on a loaded machine


def test_wide_and_deep(run):
    """Thousands of names in one directory, found, removed and made again; a chain of directories."""
    done = run("""
mkfs.tfs -i 6000 /dev/ram0 >/dev/null && mount -t tfs /dev/ram0 /mnt && mkdir /mnt/w && cd /mnt/w
i=0; while [ $i -lt 4000 ]; do : >name$i; i=$((i+1)); done
ls | wc -l; i=0; while [ $i -lt 4000 ]; do rm name$i; i=$((i+3)); done; ls | wc -l
i=0; while [ $i -lt 4000 ]; do echo $i >name$i; i=$((i+6)); done; ls | wc -l
echo 3 >/proc/sys/vm/drop_caches; cat name3996; mv name1 name2; ls | wc -l; cat name3 2>&- || echo gone
cd /mnt; i=0; while [ $i -lt 200 ]; do mkdir d && cd d; i=$((i+1)); done; echo x >x; cd /mnt; find d | wc -l
cd /; umount /mnt; fsck.tfs /dev/ram0; mount -t tfs /dev/ram0 /mnt; ls /mnt/w | wc -l; rm -r /mnt/w /mnt/d; ls /mnt | wc -l
umount /mnt; fsck.tfs /dev/ram0
""", *DISK)
    assert done.out.split("\n")[:11] == ["4000", "2666", "3333", "3996", "3332", "gone", "201",
                                         "/dev/ram0: 0 errors", "3332", "0", "/dev/ram0: 0 errors"]


def test_device_that_fails(run):
    """Every third request fails: calls fail, and what is written once it works again is consistent."""
    done = run(MAKE + r"""
work() { i=0; while [ $i -lt 40 ]; do
	mkdir -p d$((i%7)); echo $i >d$((i%7))/f$i; dd if=/bin/busybox of=d$((i%7))/g$i bs=20000 count=3
	mv d$((i%7))/f$i d$((i%5))/h$i; rm d$((i%7))/g$((i-3)); sync; echo 3 >/proc/sys/vm/drop_caches
	i=$((i+1)); done >/dev/null 2>&1; }
fail=/proc/sys/tally/ramdisk/fail
for kind in reads writes; do
	echo 3 >${fail}_$kind; work; echo 0 >${fail}_$kind
	cd /; umount /mnt; fsck.tfs /dev/ram0; mount -t tfs /dev/ram0 /mnt; cd /mnt
done
echo whole >kept; sync; echo 1 >${fail}_writes
work; echo x >y; dd if=y of=y conv=notrunc,fsync 2>/dev/null || echo told
cd /; umount /mnt; echo 0 >${fail}_writes; fsck.tfs -y /dev/ram0 | grep -c :; fsck.tfs /dev/ram0
mount -t tfs /dev/ram0 /mnt; cat /mnt/kept
umount /mnt; echo 1 >${fail}_reads; mount -t tfs /dev/ram0 /mnt 2>/dev/null || echo refused
""", *DISK, timeout=120)
    assert done.out.split("\n")[:6] == 2 * ["/dev/ram0: 0 errors"] + [
        "told", "2", "/dev/ram0: 0 errors", "whole"]  # 2: "was not unmounted" and the sum
    assert "refused" in done.out


def test_program_without_a_name(run):
    """A program that runs cannot be written; unlinked, it goes with its process, even one that is killed."""
    done = run(MAKE + """
cp /bin/busybox /mnt/busybox; /mnt/busybox sleep 100 & sleep 0.3
(echo x >>/mnt/busybox) 2>/dev/null || echo busy
rm /mnt/busybox; sync; echo 3 >/proc/sys/vm/drop_caches; kill -9 $!; wait
cd /; umount /mnt; fsck.tfs /dev/ram0
""", *DISK)
    assert done.out.split("\n")[:2] == ["busy", "/dev/ram0: 0 errors"]


def test_devices_at_run_time(run):
    done = run("""
echo 8M >/proc/sys/tally/ramdisk/new; cat /proc/sys/tally/ramdisk/new
echo nonsense >/proc/sys/tally/ramdisk/new || echo refused
blockdev --getsize64 /dev/ram0; mkfs.tfs -i 10 /dev/ram0; mount -t tfs /dev/ram0 /mnt
mount -t tfs /dev/ram0 /tmp || echo claimed
echo x >/dev/ram0 || echo busy; umount /mnt; mount -t tfs /dev/null /mnt || echo no device
dd if=/dev/zero of=/dev/ram0 bs=4096 count=1 2>/dev/null; mount -t tfs /dev/ram0 /mnt || echo no tfs
""")
    lines = done.out.split("\n")
    for word in ("8388608", "refused", "claimed", "busy", "no device", "no tfs"):
        assert word in lines


def test_crash_and_check(run):
    """What a machine leaves that stops without umount is repaired to something consistent."""
    done = run(MAKE + """
i=0; while [ $i -lt 50 ]; do echo $i >f$i; i=$((i+1)); done; mkdir d; sync
rm f1; echo late >late; dd if=/dev/zero of=big bs=1M count=3 2>/dev/null
dd if=/dev/ram0 of=/tmp/image bs=1M 2>/dev/null
fsck.tfs /tmp/image >/tmp/said; echo status $?; grep -c 'was not unmounted' /tmp/said
fsck.tfs -y /tmp/image >/dev/null; echo status $?; fsck.tfs /tmp/image
""", *DISK, "--mem", "2G")
    lines = done.out.split("\n")
    assert lines[0] == "status 4" and lines[1] == "1" and lines[2] == "status 1"
    assert lines[3].endswith("0 errors")


def test_checker_on_linux(tmp_path):
    """The same programs make and check an image file here; damage is found, repaired, and gone."""
    image = str(tmp_path / "image")
    tool = lambda name, *args: subprocess.run([os.path.join(OUT, "apps", name), *args],
                                              capture_output=True, text=True)
    with open(image, "wb") as f:
        f.truncate(4 << 20)
    assert tool("mkfs.tfs", image).returncode == 0
    assert tool("fsck.tfs", image).returncode == 0
    with open(image, "r+b") as f:
        f.seek(4096)
        f.write(bytes(4096))  # the bitmap
    assert tool("fsck.tfs", image).returncode == 4
    assert tool("fsck.tfs", "-y", image).returncode == 1
    assert tool("fsck.tfs", image).returncode == 0
    with open(image, "r+b") as f:
        f.write(b"x")  # the superblock
    assert tool("fsck.tfs", image).returncode == 8
    assert tool("mkfs.tfs").returncode == 2


def test_no_wrong_byte(run):
    """Truncated, unlinked, written and evicted while read, sent and mapped, inside a small group.

    Ten minutes of it: tools/tally run --append ramdisk=64M --timeout 700 --exec '… filestress -t 600'.
    """
    done = run(MAKE + """
mkdir /sys/fs/cgroup/s; echo 16M >/sys/fs/cgroup/s/memory.max
echo $$ >/sys/fs/cgroup/s/cgroup.procs
filestress -d /mnt -t 10 -s 2048; status=$?
echo $$ >/sys/fs/cgroup/cgroup.procs
cd /; umount /mnt && fsck.tfs /dev/ram0 && rmdir /sys/fs/cgroup/s && echo fine
exit $status
""", *DISK, "--smp", "4", timeout=120)
    assert re.search(r"filestress: [1-9]\d* bytes checked, 0 wrong", done.out), done.out
    assert "fine" in done.out


def test_allocations_that_fail(run):
    """Every Nth allocation fails: calls fail, what was written and synced is there."""
    done = run(MAKE + """
i=0; while [ $i -lt 40 ]; do
	(echo $((23 + i)) >/proc/sys/tally/fail/alloc
	dd if=/dev/urandom of=f$i bs=64k count=3 conv=fsync && mv f$i g$i && rm g$i
	truncate -s 100 f1; cat f* g* >/dev/null; mkdir d$i; ln f1 l$i
	echo 3 >/proc/sys/vm/drop_caches) >/dev/null 2>&1
	until echo 0 >/proc/sys/tally/fail/alloc; do :; done
	i=$((i+1)); done 2>/dev/null
ls | wc -l
echo whole >x; sync && cat x; cd /; umount /mnt; fsck.tfs /dev/ram0
""", *DISK, timeout=120)
    lines = done.out.split("\n")
    assert int(lines[0]) > 0 and "whole" in lines and "/dev/ram0: 0 errors" in lines
