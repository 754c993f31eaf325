# SPDX-License-Identifier: MIT
"""Command `experiment`: boots as often as needed, one table, one set of records.

Presets hold boot-only parameters, so each preset (and each layout) is a boot
of its own.  The program `experiment` in the guest does the measuring and
writes the records; this side chooses the boots, adds what only the host knows
(instruction counts) and prints the table.
"""

import argparse
import collections
import shlex
import statistics
import sys

from runner import c2c, machine, session, table

PRESETS = ("off", "linux-4.13", "linux-6.0", "linux-6.1", "linux-6.16", "tally")
EXPERIMENTS = ("recipe", "layout", "batch", "uncharge", "truth", "groups", "perfswitch", "walk",
               "c2c")


def add_options(parser):
    """Options of the experiments."""
    add = parser.add_argument
    add("name", choices=EXPERIMENTS)
    add("-n", type=int, default=36, metavar="N", help="clients, pairs or groups (36)")
    add("-l", type=float, default=10, metavar="SECONDS", help="length of a phase (10)")
    add("-r", type=int, default=3, metavar="ROUNDS", help="rounds (3)")
    add("--presets", default="tally", metavar="a,b", help="recipe: boots, one each (tally)")
    add("--groups", default="1", metavar="1|N", help="1, or one group per client (1)")
    add("--bytes", default="32M", metavar="B", help="truth: bytes of each pair (32M)")
    add("--lo", default=None, metavar="DROP,REORDER,DUP",
        help="truth: damage on loopback in per mille (10,10,10)")
    add("--pmus", type=int, default=0, metavar="N",
        help="perfswitch: idle PMUs beside the machine's own (0)")
    add("--types", choices=("1", "2"), help="perfswitch: PMUs with group events (both)")
    add("--l2", choices=("low", "high"), help="perfswitch: pressure on the second-level cache")
    add("--l3", choices=("low", "high"), help="perfswitch: pressure on the third-level cache")
    add("--cores", type=int, default=0, metavar="N", help="walk: readers (as many as CPUs)")
    add("--file", default="256M", metavar="B", help="walk: bytes of each file (256M)")
    add("--limit", default="128M", metavar="B", help="walk: memory.max of each reader's group (128M)")
    add("--passes", type=int, default=50, metavar="N", help="walk: times a file is read (50)")
    add("--turns", type=int, default=1000, metavar="N",
        help="perfswitch: turns of the token (1000)")


def boots(args):
    """[(title, kernel parameters, guest command)] of an experiment."""
    common = ["-n", str(args.n), "-l", f"{args.l:g}", "-r", str(args.r), "--groups", args.groups]
    if args.name == "recipe":
        presets = args.presets.split(",")
        for preset in presets:
            if preset not in PRESETS:
                raise machine.UsageError(
                    f"--presets: {', '.join(PRESETS)} expected, not {preset!r}")
        return [(p, f"memcg={p}", ["experiment", "recipe", *common]) for p in presets]
    if args.name == "layout":
        return [(f"layout {v}", f"memcg=linux-6.0 memcg.layout={v}",
                 ["experiment", "layout", *common]) for v in ("packed", "split")]
    if args.name == "batch":
        return [("batch 32 and 64", "memcg=linux-6.0", ["experiment", "batch", *common])]
    if args.name == "uncharge":
        return [("uncharge direct and stock", "memcg=linux-4.13",
                 ["experiment", "uncharge", *common])]
    if args.name == "c2c":
        return [(f"layout {v}", f"memcg=linux-6.0 memcg.layout={v}",
                 ["env", "EXPERIMENT_SLABS=1", "experiment", "layout", *common])
                for v in ("packed", "split")]
    if args.name == "groups":
        return [(f"{args.n} groups", "", ["experiment", "groups", "-n", str(args.n)])]
    if args.name == "walk":
        cores = ["--cores", str(args.cores)] if args.cores else []
        return [("spin, rwlock and rcu", "", ["experiment", "walk", *cores, "--file", args.file,
                                              "--limit", args.limit, "--passes", str(args.passes)])]
    if args.name == "perfswitch":
        chosen = [w for key in ("types", "l2", "l3") if getattr(args, key)
                  for w in (f"--{key}", getattr(args, key))]
        return [(f"perfswitch, {args.pmus} idle PMUs", "",
                 ["experiment", "perfswitch", "-n", str(args.turns), "--pmus", str(args.pmus),
                  *chosen])]
    drop, reorder, dup = (args.lo or "10,10,10").split(",")
    return [("truth", f"net.lo.drop={drop} net.lo.reorder={reorder} net.lo.dup={dup}",
             ["experiment", "truth", "-n", str(args.n), "--bytes", args.bytes])]


def check(args):
    """Refuses numbers that make no sense before a machine starts."""
    if args.turns < 10 or not 0 <= args.pmus <= 4096:
        raise machine.UsageError("--turns: at least 10; --pmus: 0 to 4096")
    if args.n < 1 or args.r < 1 or args.l <= 0:
        raise machine.UsageError("-n and -r: at least 1; -l: more than 0")
    if args.groups == "N":
        args.groups = str(args.n)
    if not args.groups.isdigit() or int(args.groups) < 1:
        raise machine.UsageError(f"--groups: 1 or a number expected, not {args.groups!r}")
    if args.lo and len(args.lo.split(",")) != 3:
        raise machine.UsageError("--lo: DROP,REORDER,DUP expected")


def largest(by_symbol, most):
    """The @most symbols with the largest counts, largest first."""
    return dict(sorted(by_symbol.items(), key=lambda item: -item[1])[:most])


def add_insns(result):
    """Fields of recipe-tax from the plugin's intervals (one per recipe-round, in order)."""
    intervals = result.plugin.get("insns")
    rounds = [r for r in result.records if r.get("record") == "recipe-round"]
    if not intervals or len(intervals) != len(rounds):
        return
    for interval, record in zip(intervals, rounds):
        record["insns"] = interval["total"]
        record["insns_accounting"] = interval["accounting"]
        record["top"] = largest(interval["by_symbol"], 40)
        record["accounting_top"] = largest(interval.get("accounting_by_symbol", {}), 20)
    for tax in result.records:
        if tax.get("record") != "recipe-tax":
            continue
        mine = [r for r in rounds if r.get("variant") == tax.get("variant") and r["msgs"]]
        for where in ("root", "group"):
            per_msg = [r["insns"] / r["msgs"] for r in mine if r["where"] == where]
            if per_msg:
                tax[f"insns_per_msg_{where}"] = round(statistics.median(per_msg), 1)
        shares = [100 * r["insns_accounting"] / r["insns"] for r in mine
                  if r["where"] == "group" and r["insns"]]
        if shares:
            tax["accounting_percent"] = round(statistics.median(shares), 3)


def instruction_profiles(result):
    """Records profile by instructions: what the group phases of each variant executed."""
    intervals = result.plugin.get("insns")
    rounds = [r for r in result.records if r.get("record") == "recipe-round"]
    if not intervals or len(intervals) != len(rounds):
        return []
    sums = {}
    for interval, record in zip(intervals, rounds):
        if record["where"] == "group":
            mine = sums.setdefault(record.get("variant"), collections.Counter())
            mine.update(interval["by_symbol"])
    common = {k: rounds[0][k] for k in ("preset", "cpus", "machine", "commit") if k in rounds[0]}
    out = []
    for variant, counts in sums.items():
        total = sum(counts.values())
        for symbol, n in counts.most_common():
            percent = 100 * n / total
            if percent < 0.005:
                break
            out.append({"record": "profile", **common, "variant": variant, "symbol": symbol,
                        "percent": round(percent, 4), "source": "insns"})
    return out


def add_switch_insns(result):
    """Field insns of perfswitch records: instructions in kernel/perf per switch."""
    intervals = result.plugin.get("insns")
    rows = [r for r in result.records if r.get("record") == "perfswitch"]
    if not intervals or len(intervals) != len(rows):
        return
    for interval, record in zip(intervals, rows):
        if record["switches"]:
            record["insns"] = round(interval["perf"] / record["switches"], 1)


def add_stat_insns(result):
    """Fields stat_insns and stat10_insns of groups: the cheapest batch of reads, per read."""
    for row in (r for r in result.records if r.get("record") == "groups"):
        for mark, field in ((0, "stat10_insns"), (1, "stat_insns")):
            totals = [i["total"] for i in result.plugin.get("insns") or () if i["mark"] == mark]
            if totals:
                row[field] = round(min(totals) / row["reads"])


class Progress(session.Outputs):
    """Console lines of the guest to standard error; records are kept for later."""

    def __init__(self, args):
        super().__init__(args.json, args.log, args.verbose)

    def record(self, record):
        pass

    def console(self, data):
        sys.stderr.buffer.write(data)
        sys.stderr.flush()

    def write_record(self, record):
        """When all fields are there."""
        super().record(record)


def main(args: argparse.Namespace, config):
    """Runs the experiment; returns the exit status."""
    check(args)
    deadline = session.Deadline(args.timeout)
    records = []
    status = 0
    base = config.append
    if args.name == "c2c":
        c2c.check_plugin(config)
    # Samples of a loaded emulator are few; instructions are exact.
    if args.name == "uncharge" and config.accel == "tcg" and "insns" not in config.plugins:
        config.plugins = [*config.plugins, "insns"]
    with Progress(args) as outputs:
        for title, parameters, command in boots(args):
            print(f"--- {title}, {config.smp} CPUs", file=sys.stderr, flush=True)
            config.append = f"{parameters} {base}".strip()
            result = session.run(config, shlex.join(command), outputs, deadline)
            add_insns(result)
            add_switch_insns(result)
            add_stat_insns(result)
            if args.name == "c2c":
                c2c.add_records(result, config, title)
            if args.name == "uncharge":
                result.records[-1:-1] = instruction_profiles(result)
            for record in result.records:
                outputs.write_record(record)
            records.extend(result.records)
            if result.status != 0:
                status = result.status
                break
    table.print_table(args.name, records, config)
    if args.name == "c2c":
        c2c.print_table(records)
    return status
