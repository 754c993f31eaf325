# SPDX-License-Identifier: MIT
"""experiment on this Linux: same binary, records without Tally's own counters."""

import json
import os
import subprocess

from conftest import APPS

EXPERIMENT = os.path.join(APPS, "experiment")


def experiment(*args, **env):
    done = subprocess.run([EXPERIMENT, *args], capture_output=True, text=True, check=False,
                          timeout=120, env={**os.environ, **env})
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return done, records


def test_truth():
    done, records = experiment("truth", "-n", "6", "--bytes", "3M")
    assert done.returncode == 0, done.stderr
    (record,) = records
    assert record["record"] == "truth"
    assert record["bytes"] == 6 * 3 * 1024 * 1024
    assert record["bad"] == 0
    assert record["drops"] is None and record["retransmits"] is None


def test_recipe_needs_groups_or_says_so(tmp_path):
    done, _ = experiment("recipe", "-n", "2", "-l", "0.2", "-r", "1",
                         EXPERIMENT_CGROUP=str(tmp_path / "none"))
    assert done.returncode == 1
    assert "cannot make groups" in done.stderr


def test_foreign_preset_is_refused():
    done, _ = experiment("recipe", "--presets", "linux-6.0")
    assert done.returncode == 1
    assert "memcg=linux-6.0" in done.stderr


def test_usage():
    for args in ([], ["nosuch"], ["recipe", "-n", "0"], ["recipe", "-x"], ["truth", "extra"]):
        assert experiment(*args)[0].returncode == 2
