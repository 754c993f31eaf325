# SPDX-License-Identifier: MIT
"""The line discipline: editing, signals, job control, raw mode, programs that draw."""

import time

import pexpect
import pytest

from conftest import ROOT, TALLY

PROMPT = r"tally:[^\r\n]*# (\x1b\[6n)?"
END = r"\r+\n"  # the runner's own terminal may add a return


@pytest.fixture(scope="module")
def shell():
    child = pexpect.spawn(TALLY, ["run", "--smp", "4", "--mem", "1G"], cwd=ROOT, timeout=20,
                          encoding="latin-1")
    child.expect(PROMPT)
    yield child
    child.close(force=True)


def type_in(shell, *pieces):
    """With a moment between them, as fingers and programs need it."""
    for piece in pieces:
        shell.send(piece)
        time.sleep(0.3)


@pytest.mark.parametrize("typed,line", [
    ("abc\x7fd\n", "abd"),                  # erase
    ("foo bar\x17baz\n", "foo baz"),        # erase a word
    ("gone\x15stays\n", "stays"),           # kill the line
    ("q\x16\x03w\n", "q\x03w"),             # the next character as it is
    ("a\tb\x7f\x7fc\n", "ac"),              # a tab is one character
    ("x\xc3\xa4\x7fy\n", "xy"),             # so is one of two bytes
])
def test_canonical(shell, typed, line):
    type_in(shell, "cat\r", typed)
    shell.expect(END + line.replace("\\", r"\\") + END)
    shell.send("\x04")
    shell.expect(PROMPT)


def test_end_of_file_within_a_line(shell):
    type_in(shell, "cat; echo end\r", "abc\x04")
    shell.expect("abcabc")
    shell.send("\x04")
    shell.expect("end" + END)
    shell.expect(PROMPT)


def test_stop_and_go_on(shell):
    type_in(shell, "sleep 100\r", "\x1a")
    shell.expect("Stopped")
    type_in(shell, "jobs\r")
    shell.expect("Stopped.*sleep 100")
    type_in(shell, "fg\r", "\x03", "echo st$?\r")
    shell.expect("st130")
    shell.expect(PROMPT)


def test_background_reader_is_stopped(shell):
    type_in(shell, "cat &\r", "jobs\r")
    shell.expect(r"Stopped \(tty input\)")
    type_in(shell, "kill %1; kill -CONT %1; wait; echo go''ne\r")
    shell.expect("gone" + END)
    shell.expect(PROMPT)


def test_background_writer_with_tostop(shell):
    type_in(shell, "stty tostop; echo quiet &\r", "jobs\r")
    shell.expect(r"Stopped \(tty output\)")
    type_in(shell, "stty -tostop; fg\r")
    shell.expect("quiet")
    shell.expect(PROMPT)


def test_quit(shell):
    type_in(shell, "sleep 50 | cat\r", "\x1c", "echo st$?\r")
    shell.expect("st131")
    shell.expect(PROMPT)


def test_output_can_be_ended(shell):
    type_in(shell, "yes\r", "\x03")
    shell.expect(PROMPT, timeout=30)


def test_flow_control(shell):
    type_in(shell, "sleep 0.2; echo la''ter\r", "\x13")
    time.sleep(0.3)
    shell.send("\x11")
    shell.expect("later" + END)
    shell.expect(PROMPT)


def test_time_limits_of_reads(shell):
    type_in(shell, "read -t 1 x; echo r$?\r")
    shell.expect(r"r[1-9][0-9]*" + END)
    type_in(shell, "read -n 1 x; echo =$x=\r", "z")
    shell.expect("=z=")
    shell.expect(PROMPT)


def test_vi(shell):
    type_in(shell, "vi /tmp/v\r", "ihello", "\x1b", ":wq\r", "cat /tmp/v\r")
    shell.expect(END + "hello" + END)
    shell.expect(PROMPT)


def test_top_and_less(shell):
    type_in(shell, "top\r", "q")
    shell.expect(PROMPT)
    type_in(shell, "seq 1000 | less\r", "G", "q")
    shell.expect(PROMPT)


def test_window_size(shell):
    type_in(shell, "sh -c 'trap \"echo ch''anged\" WINCH; stty rows 40 cols 100; sleep 0.2; "
                   "stty size; stty rows 24 cols 80'\r")
    shell.expect("changed")
    shell.expect("40 100")
    shell.expect(PROMPT)
