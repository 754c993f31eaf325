#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make bench: runs tests/bench/bench.c for every preset in turn, many rounds, and compares.

Usage: run.py [--quick] [--json FILE] PROGRAM

A figure is nanoseconds per charge + uncharge.  A round runs each preset once, in turn, and
keeps the best slice of each case.  Shown is the best of the rounds, records have the median
too.  Ratios are of the best: on a shared machine the clock and the caches come and go by half,
and only the undisturbed slices of both sides are comparable.  Beside them, where valgrind is
installed, instructions per operation.
"""
import argparse
import datetime
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

PRESETS = ("tally", "linux-6.16", "linux-6.1", "linux-6.0", "linux-4.13", "off")
COUNT_OPS = 4096
HIT_NS = 10       # most nanoseconds of a stock hit
TWO_RATIO = 1.9   # least throughput of two CPUs in one group against one CPU
THRASH_RATIO = 3  # least advantage where the seven slots of linux-6.16 thrash
THRASH = ("groups-8", "groups-16", "groups-36", "two-groups-36")


def cases_of(program):
    """[{name, threads, groups, depth, what}], in the program's order."""
    out = subprocess.run([program, "list"], check=True, stdout=subprocess.PIPE, text=True).stdout
    cases = []
    for line in out.splitlines():
        name, threads, groups, depth, what = line.split(" ", 4)
        cases.append({"name": name, "threads": int(threads), "groups": int(groups),
                      "depth": int(depth), "what": what})
    return cases


def measure(program, preset, slices):
    """{case: ns} of one run."""
    run = subprocess.run([program, preset, str(slices)], check=True, stdout=subprocess.PIPE,
                         text=True, timeout=120)
    return {name: float(ns) for name, ns in (line.split() for line in run.stdout.splitlines())}


def instructions(program, preset, cases):
    """{case: instructions per operation} by callgrind, for cases with one CPU; {} without it."""
    if not shutil.which("valgrind"):
        return {}
    single = [c["name"] for c in cases if c["threads"] == 1]
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=run_ops",
             "--dump-after=run_ops", f"--callgrind-out-file={folder}/out", program, preset,
             "count", str(COUNT_OPS)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, timeout=300, check=False)
        if run.returncode:
            print(f"bench: callgrind: status {run.returncode}\n{run.stderr[-2000:]}",
                  file=sys.stderr)
            return {}
        totals = []
        for n in range(1, len(glob.glob(f"{folder}/out.*")) + 1):
            with open(f"{folder}/out.{n}", encoding="utf-8") as dump:
                found = re.search(r"^(?:totals|summary): (\d+)", dump.read(), re.M)
            totals.append(int(found[1]) if found else 0)
    # Two calls per case; the first fills the stock.
    return {name: totals[2 * i + 1] / COUNT_OPS for i, name in enumerate(single)
            if 2 * i + 1 < len(totals)}


def table(header, rows):
    """Prints columns, the first to the left."""
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * w for w in widths], *rows]:
        print("  ".join(c.ljust(w) if i == 0 else c.rjust(w)
                        for i, (c, w) in enumerate(zip(row, widths))).rstrip())


def commit():
    """This commit's short name."""
    run = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, check=False)
    return run.stdout.strip() or "unknown"


def verdicts(cases, best, ratio):
    """[(met, sentence)] of what the figures must show."""
    tally = best["tally"]
    hit = tally["hit"]
    out = [(hit <= HIT_NS, f"stock hit {hit:.1f} ns, at most {HIT_NS}")]
    for name, one in (("two-1", "hit"), ("two-2", "hit"), ("two-run", "run")):
        twice = 2 * tally[one] / tally[name]
        text = f"{name}: two CPUs {twice:.2f} x one"
        if name == "two-1":
            out.append((twice >= TWO_RATIO, f"{text}, at least {TWO_RATIO}"))
        else:
            out.append((True, text))
    for c in cases:
        name = c["name"]
        least = THRASH_RATIO if name in THRASH else 1
        out.append((ratio[name] >= least,
                    f"{name}: tally {tally[name]:.1f} ns, linux-6.16 / tally"
                    f" {ratio[name]:.2f}, at least {least:.2g}"))
    return out


def main():
    """Measures, prints, records."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("program")
    args = parser.parse_args()
    cases = cases_of(args.program)
    # Many short rounds: each preset meets some quiet moments of a machine that is not idle.
    number = 10 if args.quick else 30
    rounds = [{p: measure(args.program, p, 6 if args.quick else 12) for p in PRESETS}
              for _ in range(number)]
    insns = {p: instructions(args.program, p, cases)
             for p in (PRESETS[:2] if args.quick else PRESETS)}

    ns = {p: {c["name"]: statistics.median(r[p][c["name"]] for r in rounds) for c in cases}
          for p in PRESETS}
    best = {p: {c["name"]: min(r[p][c["name"]] for r in rounds) for c in cases} for p in PRESETS}
    ratio = {c["name"]: best["linux-6.16"][c["name"]] / best["tally"][c["name"]] for c in cases}

    print("ns per charge + uncharge, best slice of all rounds")
    table(["case", *PRESETS, "6.16/tally", "what"],
          [[c["name"], *(f"{best[p][c['name']]:.1f}" for p in PRESETS), f"{ratio[c['name']]:.2f}",
            c["what"]] for c in cases])
    if insns["tally"]:
        shown = [p for p in PRESETS if insns.get(p)]
        print("\ninstructions per charge + uncharge (callgrind)")
        table(["case", *shown],
              [[c["name"], *(f"{insns[p][c['name']]:.1f}" for p in shown)]
               for c in cases if c["name"] in insns["tally"]])
    print()
    for met, sentence in verdicts(cases, best, ratio):
        print(f"{'met   ' if met else 'MISSED'} {sentence}")
    common = {"cpus": os.cpu_count(), "machine": "host", "commit": commit()}
    print(f"\n{os.cpu_count()} CPUs, host, {datetime.date.today().isoformat()}, commit"
          f" {common['commit']}, {number} rounds; load {os.getloadavg()[0]:.1f}")
    if not args.json:
        return
    with open(args.json, "w", encoding="utf-8") as out:
        for c in cases:
            for p in PRESETS:
                name = c["name"]
                record = {"record": "bench", "preset": p, **common, "case": name,
                          "threads": c["threads"], "groups": c["groups"], "depth": c["depth"],
                          "ns": round(best[p][name], 3), "ns_median": round(ns[p][name], 3)}
                if name in insns.get(p, {}):
                    record["insns"] = round(insns[p][name], 1)
                if p == "tally":
                    record["ratio_linux_6_16"] = round(ratio[name], 3)
                out.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
