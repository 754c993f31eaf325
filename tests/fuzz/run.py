#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs fuzz targets: the seeds in tests/fuzz/seeds/NAME, then new inputs.

Usage: run.py [--seconds N] [--merge] --keep DIR PROGRAM...

New inputs that reach new code are kept in DIR/NAME and used again next time;
--merge copies those of them that add coverage to the seeds.  An input that
crashes a target stays as DIR/NAME-crash-*.  Closing line: N passed, N failed.
"""

import argparse
import pathlib
import subprocess
import sys

SEEDS = pathlib.Path(__file__).resolve().parent / "seeds"
INPUT_MAX = 4096     # bytes
SEED_MAX = 1024      # bytes of an input that becomes a seed


def fuzz(program, keep, seconds):
    """One target; returns whether nothing was found."""
    name = program.name
    found, seeds = keep / name, SEEDS / name
    found.mkdir(parents=True, exist_ok=True)
    seeds.mkdir(parents=True, exist_ok=True)
    command = [str(program), f"-max_total_time={seconds}", f"-max_len={INPUT_MAX}", "-timeout=60", "-len_control=20",
               "-rss_limit_mb=4096", f"-artifact_prefix={keep}/{name}-", "-print_final_stats=1",
               str(found), str(seeds)]
    log = keep / f"{name}.log"
    with log.open("w") as out:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out,
                                stderr=subprocess.STDOUT, timeout=seconds * 4 + 600, check=False)
    lines = log.read_text(errors="replace").splitlines()
    if result.returncode:
        print("\n".join(lines[-60:]))
        print(f"fuzz: {name}: failed; {' '.join(command[:-2])} INPUT repeats it")
        return False
    runs = [line.split()[-1] for line in lines if line.startswith("stat::number_of_executed_units")]
    print(f"fuzz: {name}: {runs[0] if runs else '?'} inputs, nothing found", flush=True)
    return True


def merge(program, keep):
    """Copies to the seeds what adds coverage."""
    seeds = SEEDS / program.name
    seeds.mkdir(parents=True, exist_ok=True)
    result = subprocess.run([str(program), "-merge=1", f"-max_len={SEED_MAX}", str(seeds),
                             str(keep / program.name)], check=False)
    return result.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, required=True)
    parser.add_argument("programs", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    results = [merge(p, args.keep) if args.merge else fuzz(p, args.keep, args.seconds)
               for p in args.programs]
    print(f"fuzz: {results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
