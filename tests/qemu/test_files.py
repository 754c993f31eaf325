# SPDX-License-Identifier: MIT
"""File calls give the same results and errors on Tally and on this Linux (same programs)."""

import os
import subprocess
import tempfile

import pytest

from test_process import build

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the programs begin as root")


def linux(program):
    """Its output in an empty folder of a tmpfs, with the descriptors a fresh program has."""
    top = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=top) as folder:
        os.chmod(folder, 0o755)
        return subprocess.run(["sh", "-c", f"ulimit -n 1024; exec {program}"], cwd=folder,
                              capture_output=True, text=True, timeout=60, check=True,
                              stdin=subprocess.DEVNULL).stdout


@pytest.mark.parametrize("cpus", [1, 4])
@pytest.mark.parametrize("name", ["files", "descriptors", "splice"])
def test_same(run, name, cpus):
    program = build(name)
    r = run(f"mkdir /tmp/w; cd /tmp/w; {name}", "--smp", cpus, "--add", program)
    assert r.out.splitlines() == linux(program).splitlines()
