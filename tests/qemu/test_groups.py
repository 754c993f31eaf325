# SPDX-License-Identifier: MIT
"""Memory groups: what programs see beyond the oracle's shell, and running out of memory."""

import os
import re
import subprocess

import pytest
from conftest import OUT, ROOT

PROGS = os.path.join(ROOT, "tests", "qemu", "progs")
CGROUP = "/sys/fs/cgroup"

# near FILE KIB: waits until memory.current is at most that, and says how long that took at most.
SHELL = f"""cd {CGROUP}; echo +memory >cgroup.subtree_control
back() {{
	n=0
	while [ $(cat $1/memory.current) -gt $(($2 * 1024)) ] && [ $n -lt 100 ]; do
		sleep 0.05; n=$((n + 1))
	done
	[ $n -lt 100 ] && echo "$1: back" || echo "$1: still $(cat $1/memory.current)"
}}
ev() {{ grep "^$2 " $1/memory.events; }}
at() {{ g=$1; shift; sh -c 'echo 0 >'$g'/cgroup.procs; exec "$@"' sh "$@"; }}
"""


def program(name):
    """tests/qemu/progs/NAME.c as a static program."""
    source, out = os.path.join(PROGS, f"{name}.c"), os.path.join(OUT, "progs", name)
    os.makedirs(os.path.dirname(out), exist_ok=True)
    subprocess.run(["gcc", "-O1", "-Wall", "-static", "-pthread", "-o", out, source], check=True)
    return out


@pytest.fixture(name="hog", scope="module")
def _hog():
    return program("hog")


def test_interface(run):
    done = run(f"mkdir {CGROUP}/g && echo +memory >{CGROUP}/cgroup.subtree_control; "
               f"memgroups {CGROUP}/g", "--add", program("memgroups"), timeout=90)
    assert done.out.splitlines()[-1] == "memgroups ok", done.out + done.err
    assert done.status == 0


def test_oom_in_a_group(run, hog, tmp_path):
    log = tmp_path / "log"
    done = run(SHELL + """
mkdir o p; echo 16M >o/memory.max
hog 4 1000 >/dev/null & other=$!
at o hog 64; echo "status $?"; back o 64; ev o oom; ev o oom_kill; ev o max | grep -q ' 0$' || echo refused
kill -0 $other && echo other lives; kill $other
echo -- adj
mkdir a; echo 24M >a/memory.max
at a sh -c 'echo 900 >/proc/self/oom_score_adj; exec hog 4 1000' >/dev/null & small=$!
at a sh -c 'echo -900 >/proc/self/oom_score_adj; exec hog 10 1000' >/dev/null & large=$!
n=0; while [ $(cat a/memory.current) -lt 14000000 ] && [ $n -lt 200 ]; do sleep 0.05; n=$((n + 1)); done
at a hog 11 0
wait $small; echo "small $?"; kill -0 $large && echo large lives; kill -9 $large
echo -- protected
mkdir q; echo 8M >q/memory.max
at q sh -c 'echo -1000 >/proc/self/oom_score_adj; exec hog 20'; echo "status $?"
ev q oom_kill
echo -- group
mkdir x x/y; echo +memory >x/cgroup.subtree_control; echo 32M >x/memory.max; echo 1 >x/memory.oom.group
at x/y hog 3 1000 >/dev/null &
at x/y sh -c 'echo -1000 >/proc/self/oom_score_adj; exec hog 1 1000' >/dev/null & kept=$!
n=0; while [ $(cat x/memory.current) -lt 4000000 ] && [ $n -lt 200 ]; do sleep 0.05; n=$((n + 1)); done
at x/y hog 64; echo "status $?"
back x 3000; kill -0 $kept && echo kept; wc -l <x/y/cgroup.procs; kill $kept
ev x oom_group_kill; ev x/y oom_kill
echo -- lowered
mkdir l; at l hog 30 1000 >/dev/null & held=$!
n=0; while [ $(cat l/memory.current) -lt 30000000 ] && [ $n -lt 200 ]; do sleep 0.05; n=$((n + 1)); done
echo 4M >l/memory.max; echo "write $?"; wait $held; echo "status $?"; back l 64; ev l oom_kill
""", "--add", hog, "--log", log, timeout=100)
    out = [line for line in done.out.splitlines() if line not in ("Killed", "Terminated")]
    assert out == [
        "status 137", "o: back", "oom 1", "oom_kill 1", "refused", "other lives", "-- adj",
        "held", "small 137", "large lives", "-- protected", "status 137", "oom_kill 0", "-- group",
        "status 137", "x: back", "kept", "1", "oom_group_kill 1", "oom_kill 3", "-- lowered",
        "write 0", "status 137", "l: back", "oom_kill 1"], done.out + done.err
    text = log.read_text()
    assert re.search(r"oom: memory\.max of /o: \d+ KiB used, \d+ wanted by \d+ \(hog\): "
                     r"kill \d+ \(hog\) of /o, \d{5} KiB, adj 0", text), text[-4000:]
    assert re.search(r"oom: memory\.max of /a: .* of /a, \d+ KiB, adj 900", text)
    assert re.search(r"hog\[\d+\]: no memory for a page .*: killed", text)
    assert "oom: and everything else in /x, by its memory.oom.group" in text
    assert re.search(r"oom: memory\.max lowered of /l: ", text)


def test_oom_of_the_machine(run, hog, tmp_path):
    """Again and again, alone and in a crowd: init and its shell go on, all memory comes back."""
    log = tmp_path / "log"
    done = run(SHELL + """
free() { grep MemFree: /proc/meminfo | tr -dc 0-9; }
mkdir g
before=$(free)
for i in 1 2; do hog 4000; echo "status $?"; done
at g hog 4000; echo "status $?"; ev g oom_kill
for i in 1 2 3 4 5 6; do hog 60 1 >/dev/null 2>&1 & done; wait
echo 3 >/proc/sys/vm/drop_caches
n=0; while [ $(($before - $(free))) -gt 4096 ] && [ $n -lt 100 ]; do sleep 0.05; n=$((n + 1)); done
[ $n -lt 100 ] && echo "all back" || echo "before $before after $(free)"
dd if=/dev/zero of=/dev/null bs=1M count=4 2>&1 | tail -n 1 | cut -d' ' -f1-3
""", "--mem", "192M", "--add", hog, "--log", log, timeout=100)
    out = [line for line in done.out.splitlines() if line != "Killed" and "drop_caches" not in line]
    assert out == ["status 137", "status 137", "status 137", "oom_kill 1", "all back",
                   "4+0 records out"], done.out + done.err
    assert re.search(r"oom: no free pages of /: \d{5,} KiB used, 4 wanted by \d+ \(hog\): "
                     r"kill \d+ \(hog\) of /", log.read_text())


# Two connections whose readers sleep, one in a group that may take 32 KiB more and one in a group without limit.
PRESSURE = """
cd /sys/fs/cgroup; mkdir a b
queue() { ss -tn | grep ESTAB | tr -s ' ' | grep -E " [^ ]*:$1 [^ ]*$" | cut -d ' ' -f 3; }
for g in a b; do
	port=$([ $g = a ] && echo 5001 || echo 5002)
	sh -c "echo \\$\\$ > $g/cgroup.procs; exec nc -l -p $port -e sleep 1000" &
	sleep 1
	(until [ -e /tmp/go ]; do sleep 0.2; done; cat /dev/zero) | nc 127.0.0.1 $port &
done
n=0; until [ "$(queue 5001)$(queue 5002)" = 00 ] || [ $((n += 1)) -gt 100 ]; do sleep 0.2; done
sleep 1
echo $(($(cat a/memory.current) + 32768)) > a/memory.max
touch /tmp/go
n=0; until [ "$(queue 5002)" -gt 50000 ] || [ $((n += 1)) -gt 100 ]; do sleep 0.2; done
sleep 1
echo "tight $(queue 5001) $(queue 5002)"
echo max > a/memory.max
n=0; until [ "$(queue 5001)" -gt 50000 ] || [ $((n += 1)) -gt 300 ]; do sleep 0.2; done
echo "wide $(queue 5001) $(queue 5002)"
"""


def test_pressure_shrinks_the_windows_of_its_group_only(run):
    done = run(PRESSURE, "--smp", "2", timeout=150)
    assert done.status == 0, done.out + done.err
    queues = {word: (int(a), int(b)) for word, a, b in re.findall(r"^(tight|wide) (\d+) (\d+)$", done.out, re.MULTILINE)}
    assert queues["tight"][0] < 32768 and queues["tight"][1] > 50000, done.out
    assert queues["wide"][0] > 50000, done.out
