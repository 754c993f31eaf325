# SPDX-License-Identifier: MIT
"""The runner's contract: exit statuses, channels, records, added files, nothing left behind."""

import os
import signal
import subprocess
import time

import pytest

from conftest import APPS, ROOT, TALLY


@pytest.mark.parametrize("text,status", [
    ("true", 0), ("false", 1), ("exit 7", 7), ("exit 123", 123), ("exit 124", 123),
    ("exit 255", 123), ("kill -9 $$", 123), ("nosuchcommand 2>/dev/null", 123)])
def test_status_of_the_text(run, text, status):
    done = run(text)
    assert done.status == status, done.err
    true_status = {"exit 124": 124, "exit 255": 255, "kill -9 $$": 137,
                   "nosuchcommand 2>/dev/null": 127}.get(text, status)
    assert done.records[-1]["record"] == "exit"
    assert done.records[-1]["status"] == true_status


def test_output_is_plain_lines(run):
    done = run("echo out; echo err >&2; printf 'no newline'")
    assert done.out == "out\nerr\nno newline"


def test_kernel_log_stays_off_the_console(run, tmp_path):
    log = tmp_path / "log"
    done = run("true", "--log", log)
    assert done.out == "" and done.err == ""
    assert log.read_text(errors="replace").count("\n") > 5
    done = run("true", "-v")
    assert len(done.err) > 200


def test_records_have_the_common_fields(run):
    done = run("echo '{\"record\":\"mine\",\"x\":1}' >/dev/records")
    for record in (done.record("mine"), done.record("exit")):
        assert record["preset"] == "tally"
        assert record["cpus"] == 2
        assert record["machine"] == "tcg"
        assert record["commit"]
    assert done.record("mine")["x"] == 1


def test_preset_in_records(run):
    done = run("true", "--append", "memcg=linux-6.0")
    assert done.record("exit")["preset"] == "linux-6.0"


def test_background_does_not_keep_the_machine(run):
    done = run("sleep 1000 & echo started", timeout=30)
    assert (done.status, done.out) == (0, "started\n")
    assert done.seconds < 20


def test_time_out(run):
    done = run("sleep 1000", "--timeout", "4", timeout=4)
    assert done.status == 124
    assert done.seconds < 10


def test_no_image(tally):
    done = tally("run", "--exec", "true", env={"O": "build-that-is-not-there"})
    assert done.status == 126
    assert "make" in done.err


@pytest.mark.parametrize("args", [
    [], ["run", "--smp", "two;"], ["run", "--nosuch"], ["nosuch"], ["run", "--net", "cable"],
    ["run", "--exec", " "], ["run", "--add", "/no/such/file", "--exec", "true"],
    ["experiment", "recipe", "--presets", "none-such"], ["experiment", "recipe", "-n", "0"],
    ["run", "--firmware", "uefi", "--boot", "kernel", "--exec", "true"]])
def test_usage(tally, args):
    assert tally(*args, json_file=False).status == 2


def test_panic(run):
    done = run("echo before; echo c >/proc/sysrq-trigger; sleep 100", timeout=30)
    assert done.status == 125
    assert done.out == "before\n"
    assert "panic:" in done.err
    assert "back-trace:" in done.err
    assert ".c:" in done.err.split("back-trace:")[-1], "function and source line"
    assert done.seconds < 20


@pytest.mark.parametrize("kind", ["null", "stack", "text", "exec", "divide", "panic@1"])
def test_crash_of_each_kind(run, kind):
    done = run("sleep 100", "--append", f"fail.crash={kind}", timeout=30)
    assert done.status == 125
    assert "panic:" in done.err
    assert ".c:" in done.err.split("back-trace:")[-1]


def test_triple_fault_or_silent_end(run):
    done = run("reboot -f", timeout=30)
    assert done.status == 125


def test_add_file(run, tmp_path):
    (tmp_path / "data").write_text("added text\n")
    script = tmp_path / "tool"
    script.write_text("#!/bin/sh\necho tool says $1\n")
    script.chmod(0o755)
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "x").write_text("x\n")
    done = run("cat data /opt/other /srv/folder/sub/x; tool hi",
               "--add", tmp_path / "data", "--add", f"{tmp_path}/data:/opt/other",
               "--add", script, "--add", f"{folder}:/srv/")
    assert done.out == "added text\nadded text\nx\ntool says hi\n"


def test_exec_file(tally, tmp_path):
    text = tmp_path / "text"
    text.write_text("# a comment\nfor i in 1 2; do\n\techo $i\ndone\nexit 5\n")
    done = tally("run", "--exec-file", text, "--smp", "2")
    assert (done.status, done.out) == (5, "1\n2\n")


def test_own_binary_runs(run):
    done = run("netperf -h | head -n 1; mynet -h | head -n 1",
               "--add", f"{APPS}/netserver:/usr/bin/mynet")
    assert done.out.splitlines()[0].startswith("usage: netperf")
    assert done.out.splitlines()[1].startswith("usage: netserver")


def qemu_of(parent):
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True,
                         text=True, check=False).stdout
    return [int(p) for p in out.split()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left(number, tmp_path):
    with subprocess.Popen([TALLY, "run", "--exec", "sleep 100", "--smp", "2"], cwd=ROOT,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          env={**os.environ, "TMPDIR": str(tmp_path)}) as runner:
        end = time.monotonic() + 10
        children = []
        while not children and time.monotonic() < end:
            children = qemu_of(runner.pid)
            time.sleep(0.1)
        assert children
        runner.send_signal(number)
        runner.wait(10)
    time.sleep(0.5)
    for pid in children:
        state = ""
        if os.path.exists(f"/proc/{pid}/stat"):
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                state = f.read().rpartition(")")[2].split()[0]
        assert state in ("", "Z"), f"QEMU {pid} is still there"
    if number != signal.SIGKILL:
        assert not list(tmp_path.iterdir())
