# SPDX-License-Identifier: MIT
"""The promises of accounting (docs/accounting.md) on a running machine.

The kernel's own tests (tests/guest/promise.c) hold stock on every CPU; here programs do what
users do, and the instruction counter shows what one group costs another.
"""

import os
import re
import subprocess

import pytest

from conftest import OUT, ROOT

ROUND = 4096
FORCED = 16384 + ROUND  # a connection with nothing queued may take so much past the limit
PAIRS = 8               # connections of `promise limit`


@pytest.fixture(scope="module")
def promise():
    """tests/qemu/progs/promise.c as a static program."""
    out = os.path.join(OUT, "progs", "promise")
    os.makedirs(os.path.dirname(out), exist_ok=True)
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", out,
                    os.path.join(ROOT, "tests", "qemu", "progs", "promise.c")], check=True)
    return out


@pytest.mark.parametrize("cpus", [1, 2, 8, 72])
def test_in_kernel(tally, tmp_path, cpus):
    """No false refusal, bounded error, independence, with every CPU holding stock."""
    log = tmp_path / "log"
    done = tally("run", "--smp", cpus, "--append", "test=promise*", "--exec", "true", "--log", log,
                 timeout=120)
    text = log.read_text(errors="replace")
    assert done.status == 0, text[-2000:]
    for name in ("last_page", "bound", "receive_limit", "independence"):
        assert f"promise_{name} ok" in text, text[-2000:]


def test_receive_limit(run, promise):
    """At the limit what comes in is dropped and counted, and arrives once there is memory."""
    done = run("echo +memory >/sys/fs/cgroup/cgroup.subtree_control; promise limit",
               "--add", promise)
    assert done.status == 0, done.out + done.err
    most, limit, dropped, oom = (int(re.search(rf"{key} (\d+)", done.out)[1])
                                 for key in ("most", "max", "dropped", "oom"))
    assert dropped > 0
    assert limit < most <= limit + PAIRS * FORCED
    assert oom == 0
    sent, arrived = map(int, re.search(r"sent (\d+) arrived (\d+)", done.out).groups())
    assert arrived == sent
    assert "sock left 0" in done.out


def test_other_group_is_not_slowed(run, promise):
    """B's instructions per message, alone and while A floods at its limit on another CPU."""
    done = run("cd /sys/fs/cgroup; echo +memory >cgroup.subtree_control; mkdir a b;"
               "echo 1M >a/memory.max; echo 0 >b/cgroup.procs;"
               "taskset -c 1 promise messages 1500;"
               "(echo 0 >a/cgroup.procs; exec taskset -c 3 promise flood) & sleep 1;"
               "grep sock_dropped a/memory.events; cat a/memory.current;"
               "taskset -c 1 promise messages 1500; grep sock_dropped a/memory.events",
               "--smp", 4, "--plugin", "insns", "--add", promise)
    assert done.status == 0, done.out + done.err
    alone, beside = (r["by_cpu"]["1"] for r in done.records if r["record"] == "insns")
    assert abs(beside / alone - 1) < 0.02, (alone, beside)
    before, after = map(int, re.findall(r"sock_dropped (\d+)", done.out))
    assert 0 < before < after, "A was not at its limit while B was measured"
    assert int(re.search(r"^(\d+)$", done.out, re.M)[1]) <= (1 << 20) + ROUND


@pytest.mark.parametrize("preset", ["tally", "linux-6.1"])
def test_bound_is_shown(run, preset):
    """memory.current less memory.current.exact is at most memory.error, whenever one looks."""
    done = run("cd /sys/fs/cgroup; echo +memory >cgroup.subtree_control; mkdir g;"
               "echo 0 >g/cgroup.procs; netserver; for i in 1 2 3; do"
               " netperf -6 -H ::1 -l 4 -P 0 -t TCP_SENDFILE -- -m 10K >/dev/null & done;"
               "echo $$ >cgroup.procs; for i in 1 2 3 4 5; do sleep 0.$i; echo 1 >g/cgroup.freeze;"
               " until grep -q 'frozen 1' g/cgroup.events; do sleep 0.05; done; sleep 0.1;"
               " echo look $(cat g/memory.current g/memory.current.exact g/memory.error);"
               " echo 0 >g/cgroup.freeze; done; wait", "--smp", 4, "--append", f"memcg={preset}")
    assert done.status == 0, done.out + done.err
    looks = [[int(n) for n in line.split()[1:]] for line in done.out.splitlines()
             if line.startswith("look")]
    assert len(looks) == 5
    for current, exact, error in looks:
        assert 0 <= current - exact <= error + ROUND, looks
    if preset != "tally":
        assert any(current > exact for current, exact, _ in looks), looks
