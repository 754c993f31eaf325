# SPDX-License-Identifier: MIT
"""Boot: topologies, machines, firmware, little memory, CPUs that stay away."""

import pytest

# Every CPU runs something: taskset to each, then count what ran.
EACH_CPU = ("n=$(nproc); i=0; while [ $i -lt $n ]; do taskset -c $i true || echo no $i;"
            " i=$((i + 1)); done; echo $n")


@pytest.mark.parametrize("smp,cpus", [
    ("1", 1), ("2", 2), ("3", 3), ("5", 5), ("72", 72),
    ("72,sockets=8,cores=9,threads=1", 72), ("72,sockets=2,cores=18,threads=2", 72)])
@pytest.mark.parametrize("machine", ["q35", "pc"])
def test_topology(run, smp, cpus, machine):
    done = run(EACH_CPU, "--smp", smp, "--machine", machine)
    assert done.out == f"{cpus}\n", done.err
    assert done.record("exit")["cpus"] == cpus


@pytest.mark.parametrize("firmware", ["bios", "uefi"])
@pytest.mark.parametrize("machine", ["q35", "pc"])
def test_iso(run, firmware, machine, tmp_path):
    (tmp_path / "f").write_text("added\n")
    done = run("cat f; nproc; exit 4", "--boot", "iso", "--firmware", firmware, "--machine",
               machine, "--smp", "4", "--add", tmp_path / "f", timeout=120)
    assert (done.status, done.out) == (4, "added\n4\n"), done.err


def test_missing_cpu_is_named_and_left_out(run, tmp_path):
    log = tmp_path / "log"
    done = run("nproc", "--smp", "4", "--append", "fail.cpu=2", "--log", log)
    assert done.out == "3\n", done.err
    lines = [line for line in log.read_text(errors="replace").splitlines()
             if "2" in line and "CPU" in line.upper()]
    assert lines


@pytest.mark.parametrize("mem", ["64M", "128M", "512M", "6G"])
def test_memory_sizes(run, mem):
    done = run("free -k | sed -n 2p | awk '{ print $2 }'", "--mem", mem)
    assert done.status == 0, done.err
    unit = {"M": 1024, "G": 1024 * 1024}[mem[-1]]
    total = int(mem[:-1]) * unit
    assert total * 0.7 <= int(done.out) <= total


def test_72_cpus_are_quick(run):
    """Design: 1.5 s on two idle cores.  Loaded machines get a factor of three."""
    best = min(run("true", "--smp", "72").seconds for _ in range(3))
    assert best < 4.5


def test_parameters_are_logged_and_unknown_ones_too(run, tmp_path):
    log = tmp_path / "log"
    done = run("true", "--append", "nosuch.parameter=1 memcg=tally", "--log", log)
    text = log.read_text(errors="replace")
    assert done.status == 0
    assert "nosuch.parameter" in text
    assert "memcg" in text
