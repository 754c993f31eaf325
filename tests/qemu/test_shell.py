# SPDX-License-Identifier: MIT
"""The interactive shell on a terminal: prompt, editing, Ctrl-C, leaving."""

import pexpect
import pytest

from conftest import ROOT, TALLY

PROMPT = "tally:[^ ]*# "


@pytest.fixture
def shell():
    child = pexpect.spawn(TALLY, ["run", "--smp", "2"], cwd=ROOT, timeout=20, encoding="utf-8",
                          codec_errors="replace")
    child.expect(PROMPT)
    yield child
    child.close(force=True)


def test_command_and_ctrl_a_x(shell):
    shell.sendline("echo a$((1+1))b; tty")
    shell.expect("a2b")
    shell.expect(PROMPT)
    shell.send("\x01x")
    shell.expect(pexpect.EOF)
    shell.wait()
    assert shell.exitstatus == 0


def test_ctrl_c(shell):
    shell.sendline("sleep 1000")
    shell.send("\x03")
    shell.expect(PROMPT)
    shell.sendline("echo status $?")
    shell.expect("status 130")


def test_line_editing(shell):
    shell.send("echo wrongg\x7f\x7f and right\r")
    shell.expect("wron and right")
    shell.expect(PROMPT)
    shell.send("\x1b[A\r")  # cursor up: history
    shell.expect("wron and right")
    shell.send("echo oops\x15echo clean\r")
    shell.expect("clean")


def test_job_control(shell):
    shell.sendline("sleep 100")
    shell.expect("sleep 100")
    shell.send("\x1a")
    shell.expect("Stopped")
    shell.sendline("kill %1; wait; echo gone")
    shell.expect("gone")


def test_exit_gives_a_new_shell(shell):
    shell.sendline("exit 3")
    shell.expect("status 3")
    shell.expect(PROMPT)


def test_power_off(shell):
    shell.sendline("poweroff -f")
    shell.expect(pexpect.EOF)
    shell.wait()
    assert shell.exitstatus == 0
