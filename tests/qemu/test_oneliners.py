# SPDX-License-Identifier: MIT
"""The shell one-liners give the same on Tally and on this Linux (same busybox)."""

import os
import re
import subprocess

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(HERE, "oneliners.txt")
DRIVER = os.path.join(HERE, "oneliners.sh")


def split(text):
    """{number: result}"""
    parts = re.split(r"^### (\d+|end)", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def lines():
    with open(LIST, encoding="utf-8") as f:
        return [line.rstrip("\n") for line in f if line.strip() and line[0] != "#"]


@pytest.fixture(scope="module")
def linux(tmp_path_factory):
    top = tmp_path_factory.mktemp("linux")
    (top / "bin").mkdir()
    (top / "w").mkdir()
    subprocess.run(["/bin/busybox", "--install", "-s", str(top / "bin")], check=True)
    done = subprocess.run(["/bin/busybox", "sh", DRIVER, LIST], cwd=top / "w", check=True,
                          capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={"PATH": str(top / "bin"), "HOME": "/tmp", "TZ": "UTC"})
    return split(done.stdout)


@pytest.fixture(scope="module")
def on_tally(tmp_path_factory):
    tally = os.path.join(os.path.dirname(os.path.dirname(HERE)), "tools", "tally")
    text = ("mkdir /tmp/w; cd /tmp/w; export HOME=/tmp TZ=UTC;"
            " sh /root/oneliners.sh /root/oneliners.txt")
    done = subprocess.run([tally, "run", "--smp", "4", "--exec", text, "--add", DRIVER + ":/root/",
                           "--add", LIST, "--timeout", "240"], capture_output=True, text=True,
                          errors="replace", check=False, stdin=subprocess.DEVNULL)
    return split(done.stdout)


@pytest.mark.parametrize("number", range(1, len(lines()) + 1))
def test_one(number, linux, on_tally):
    key = str(number)
    assert on_tally.get(key) == linux[key], lines()[number - 1]
