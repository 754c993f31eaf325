# SPDX-License-Identifier: MIT
"""What the tests that drive QEMU share: the runner as a function, our programs on this Linux."""

import json
import os
import subprocess
import time

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(ROOT, os.environ.get("O", "build"))
TALLY = os.path.join(ROOT, "tools", "tally")
APPS = os.path.join(OUT, "apps")


class Done:
    """A finished call of the runner."""

    def __init__(self, process, seconds, records):
        self.status = process.returncode
        self.out = process.stdout
        self.err = process.stderr
        self.seconds = seconds
        self.records = records

    def record(self, name):
        """The last record of a name."""
        found = [r for r in self.records if r.get("record") == name]
        assert found, f"no record {name!r} in {self.records}\n{self.err}"
        return found[-1]


@pytest.fixture
def tally(tmp_path):
    """tally("run", ..., timeout=60): the runner, with records and a time-out."""
    count = [0]

    def call(*args, timeout=60, env=None, json_file=True):
        count[0] += 1
        path = tmp_path / f"records{count[0]}.json"
        argv = [TALLY, *map(str, args)]
        if json_file and args and args[0] in ("run", "experiment"):
            argv += ["--json", str(path)]
        if timeout and "--timeout" not in args and args and args[0] in ("run", "experiment"):
            argv += ["--timeout", str(timeout)]
        start = time.monotonic()
        process = subprocess.run(argv, capture_output=True, text=True, errors="replace",
                                 stdin=subprocess.DEVNULL, cwd=ROOT, check=False,
                                 timeout=timeout + 30 if timeout else None,
                                 env={**os.environ, **(env or {})})
        seconds = time.monotonic() - start
        records = []
        if path.exists():
            with open(path, encoding="utf-8") as f:
                records = [json.loads(line) for line in f]
        return Done(process, seconds, records)

    return call


@pytest.fixture
def run(tally):
    """run(text, ...): `tally run --exec text` on two CPUs unless --smp says otherwise."""
    def call(text, *args, timeout=60, **kw):
        smp = [] if "--smp" in args else ["--smp", "2"]
        return tally("run", "--exec", text, *smp, *args, timeout=timeout, **kw)

    return call
