# SPDX-License-Identifier: MIT
"""Socket calls that few programs make, on Linux and on Tally."""

import os
import subprocess

import pytest

from test_process import build

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="wants a network of its own on Linux")


def on_linux(*argv):
    """The program in a network namespace with nothing but loopback."""
    return subprocess.run(["unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", *map(str, argv)],
                          capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


def test_abuse(run):
    """Control messages that lie, threads that name one socket at once, sockets that connect again."""
    prog = build("sockabuse")
    p = on_linux(prog)
    assert p.stdout == "sockabuse: done\n", p.stdout
    r = run("sockabuse", "--smp", 4, "--add", prog)
    assert r.out.strip() == "sockabuse: done", r.out + r.err
