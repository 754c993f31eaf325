#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs host test programs, shows what failed, closes with "host: N passed, N failed".

Each program prints TAP (cmocka does); a program that ends in any other way, or
takes longer than its budget, counts as one more failure.
"""
import os
import re
import subprocess
import sys
import time

BUDGET = float(os.environ.get("HOST_TEST_SECONDS", "600"))


def run(program):
    env = dict(os.environ, CMOCKA_MESSAGE_OUTPUT="TAP")
    start = time.monotonic()
    try:
        p = subprocess.run([program], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, errors="replace", timeout=BUDGET)
        status, out, err = p.returncode, p.stdout, p.stderr
    except subprocess.TimeoutExpired as e:
        status, out, err = "time-out", (e.stdout or b"").decode(errors="replace"), \
            (e.stderr or b"").decode(errors="replace")
    passed = len(re.findall(r"^ok \d", out, re.M))
    failed = len(re.findall(r"^not ok \d", out, re.M))
    if status != 0 and not failed:
        failed = 1
    print(f"{'ok  ' if not failed else 'FAIL'} {program}: {passed} passed, {failed} failed, "
          f"{time.monotonic() - start:.1f} s", flush=True)
    if failed:
        print(f"--- status {status}\n{out}\n{err[-20000:]}\n---", flush=True)
    return passed, failed


def main():
    results = [run(p) for p in sys.argv[1:]]
    passed, failed = (sum(r[i] for r in results) for i in (0, 1))
    print(f"host: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


sys.exit(main())
