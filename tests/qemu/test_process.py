# SPDX-License-Identifier: MIT
"""Processes, signals, threads and time: one program on Linux and on Tally; random system calls.

The programs (tests/qemu/progs) are ordinary static Linux programs with the C
library of the build machine, so they also show that such binaries run unchanged.
"""

import os
import re
import subprocess

import pytest

from conftest import OUT, ROOT

PROGS = os.path.join(ROOT, "tests", "qemu", "progs")


def build(name):
    out = os.path.join(OUT, "progs", name)
    src = os.path.join(PROGS, name + ".c")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(src):
        subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Wno-infinite-recursion",
                        "-Wno-array-bounds", "-static", "-pthread", "-o", out, src], check=True)
    return out


@pytest.fixture(scope="module")
def abi():
    return build("abi")


@pytest.fixture(scope="module")
def hammer():
    return build("hammer")


def check(text):
    assert "not ok" not in text, text
    found = re.search(r"abi: (\d+) passed, (\d+) failed", text)
    assert found and int(found.group(1)) >= 28 and int(found.group(2)) == 0, text


def test_abi_on_linux(abi):
    p = subprocess.run([abi], capture_output=True, text=True, timeout=60, check=False,
                       stdin=subprocess.DEVNULL)
    check(p.stdout)


@pytest.mark.parametrize("cpus", [1, 4, 72])
def test_abi(run, abi, cpus):
    r = run("abi", "--smp", cpus, "--add", abi, timeout=120)
    check(r.out)
    assert r.status == 0


def test_static_pie(run, tmp_path):
    src = tmp_path / "pie.c"
    src.write_text("#include <stdio.h>\nint main(int c, char **v)"
                   "{ printf(\"pie %d %s\\n\", c, v[1]); return 5; }\n")
    exe = tmp_path / "pie"
    subprocess.run(["gcc", "-O2", "-static-pie", "-o", exe, src], check=True)
    r = run("pie word", "--add", exe)
    assert r.out.strip() == "pie 2 word" and r.status == 5


def test_dynamic(run, tmp_path):
    """A dynamic program finds its interpreter when somebody brings it in."""
    src = tmp_path / "dyn.c"
    src.write_text("#include <stdio.h>\nint main(void){ puts(\"dynamic\"); return 0; }\n")
    exe = tmp_path / "dyn"
    subprocess.run(["gcc", "-O2", "-o", exe, src], check=True)
    libc = "/lib/x86_64-linux-gnu/libc.so.6"
    loader = "/lib64/ld-linux-x86-64.so.2"
    if not (os.path.exists(libc) and os.path.exists(loader)):
        pytest.skip("no C library where Debian has it")
    r = run("dyn; echo status $?", "--add", exe)
    assert "status 127" in r.out or "status 126" in r.out
    r = run("dyn", "--add", exe, "--add", f"{libc}:{libc}", "--add", f"{loader}:{loader}")
    assert r.out.strip() == "dynamic" and r.status == 0


def test_init_killed_is_told(run):
    r = run("kill -9 1; kill -TERM 1; echo alive")
    assert r.out.strip() == "alive" and r.status == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_hammer(run, hammer, seed):
    r = run(f"hammer -s {seed} -b 25 -c 600 -w 4; echo status $?; ls /proc | grep -c '^[0-9]'",
            "--smp", 4, "--add", hammer, timeout=120)
    assert "status 0" in r.out, r.out + r.err
    assert r.status == 0


def test_hammer_with_little_memory(run, hammer):
    r = run("hammer -s 7 -b 10 -c 400 -w 4; echo status $?", "--smp", 2, "--mem", "96M",
            "--append", "fail.alloc=50", "--add", hammer, timeout=120)
    assert r.status != 125, r.err


@pytest.fixture(scope="module")
def storm():
    return build("storm")


@pytest.mark.parametrize("cpus,workers", [(1, 4), (4, 8), (72, 24)])
def test_storm(run, storm, cpus, workers):
    r = run(f"storm -t 4 -w {workers} -s {cpus}; echo status $?", "--smp", cpus, "--add", storm,
            timeout=120)
    assert "status 0" in r.out, r.out[-3000:] + r.err


BOMB = r"""
cd /sys/fs/cgroup
mkdir bomb && echo 16M > bomb/memory.max
cat > /tmp/bomb.sh <<'X'
echo $$ > /sys/fs/cgroup/bomb/cgroup.procs
f() { f | f & f; }
f
X
sh /tmp/bomb.sh > /dev/null 2>&1 &
sleep 3
echo 1 > bomb/cgroup.kill
for i in 1 2 3 4 5 6 7 8 9 10; do
	[ -z "$(cat bomb/cgroup.procs)" ] && break
	sleep 0.5
done
echo procs $(cat bomb/cgroup.procs) current $(cat bomb/memory.current)
rmdir bomb && echo removed
"""


@pytest.mark.parametrize("cpus", [1, 4])
def test_fork_bomb(run, cpus):
    """One write kills a group that forks as fast as it can, children of the last moment included."""
    r = run(BOMB, "--smp", cpus, timeout=120)
    assert "procs current 0\nremoved" in r.out, r.out + r.err


def test_descriptors_nobody_takes(run):
    """SCM_RIGHTS: what no recvmsg() takes is closed, also 3000 sockets in each other's queues."""
    scm = build("scm")
    active = "awk '/^vm_space|^file /{print $2}' /proc/slabinfo"
    r = run(f"scm; sleep 1; A=$({active}); scm; sleep 1; B=$({active}); echo $A $B", "--smp", 1,
            "--add", scm, timeout=60)
    lines = r.out.split("\n")
    assert lines[0] == "scm ok" and lines[1] == "scm ok", r.out + r.err
    before, after = map(int, lines[2].split())
    assert after <= before + 64, r.out


@pytest.mark.parametrize("name", ["perms", "trunc", "sendtrunc"])
def test_small(run, name):
    """Permissions; mappings of files that are cut off; sendfile() of one that is.  The programs say the same on Linux."""
    r = run(name, "--smp", 2, "--add", build(name))
    assert r.out.strip() == name + " ok" and r.status == 0
