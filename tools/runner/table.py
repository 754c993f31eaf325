# SPDX-License-Identifier: MIT
"""Tables of the experiments, from their records."""

import datetime

EMULATION = {
    "tcg": "Emulated CPUs (QEMU TCG) take turns on few host cores: these figures say what the code"
           " path\ncosts in instructions, nothing about cache-line contention between CPUs"
           " (make sim, real machines).",
    "kvm": "A virtual machine (KVM): contention is real, the absolute figures are this host's.",
}


def number(value, digits=1):
    """A number for a cell; a dash where there is none."""
    return "-" if value is None else f"{value:,.{digits}f}".replace(",", " ")


def layout(header, rows):
    """Lines of a table: first column to the left, the others to the right."""
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * w for w in widths], *rows]:
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        yield "  ".join(cells).rstrip()


def name_of(record):
    """What a row is called."""
    variant = record.get("variant")
    return variant if variant else record.get("preset", "?")


def recipe_rows(records):
    """One row per recipe-tax record."""
    speeds = {}
    for record in records:
        if record.get("record") == "recipe":
            speeds[(name_of(record), record.get("groups"), record["where"])] = record
    for tax in records:
        if tax.get("record") != "recipe-tax":
            continue
        key = (name_of(tax), tax.get("groups"))
        yield tax, speeds.get((*key, "root"), {}), speeds.get((*key, "group"), {})


def print_recipe(records):
    """Throughput at root and in the group, tax, cost per message."""
    with_insns = any("accounting_percent" in r for r in records)
    with_layout = any("counter_bytes" in r for r in records)
    first = "variant" if any("variant" in r for r in records) else "preset"
    header = [first, "clients", "groups", "root Mbit/s", "group Mbit/s", "per client", "tax %",
              "low", "high", "charges/msg", "walks/msg", "giving back"]
    if with_layout:
        header += ["counter B", "group B"]
    if with_insns:
        header += ["insns/msg root", "group", "accounting %"]
    rows = []
    for tax, root, group in recipe_rows(records):
        row = [name_of(tax), str(tax.get("clients", "-")), str(tax.get("groups", "-")),
               number(root.get("mbps_total")), number(group.get("mbps_total")),
               number(group.get("mbps_mean")), number(tax.get("tax_percent"), 2),
               number(tax.get("tax_low"), 2), number(tax.get("tax_high"), 2),
               number(tax.get("charges_per_msg"), 3), number(tax.get("walks_per_msg"), 4),
               number(tax.get("uncharge_walks_per_msg"), 4)]
        if with_layout:
            row += [number(tax.get("counter_bytes"), 0), number(tax.get("group_bytes"), 0)]
        if with_insns:
            row += [number(tax.get("insns_per_msg_root"), 0),
                    number(tax.get("insns_per_msg_group"), 0),
                    number(tax.get("accounting_percent"), 2)]
        rows.append(row)
    for line in layout(header, rows):
        print(line)


def print_truth(records):
    """What arrived, and what was done to it on the way."""
    header = ["pairs", "bytes", "bad", "drops", "reordered", "duplicated", "retransmits",
              "seconds"]
    rows = [[number(r.get(key), 2 if key == "seconds" else 0) for key in header]
            for r in records if r.get("record") == "truth"]
    for line in layout(header, rows):
        print(line)


def print_groups(records):
    """What many groups cost."""
    header = ["groups", "bytes each", "create us", "enter, touch us", "remove us",
              "memory.stat us", "with ten", "left"]
    keys = ("n", "bytes_per_group", "create_us", "walk_us", "remove_us", "stat_us", "stat10_us",
            "left")
    rows = [[number(r.get(key), int(key.endswith("_us"))) for key in keys]
            for r in records if r.get("record") == "groups"]
    for line in layout(header, rows):
        print(line)


# What gives charge back: our counterparts of page_counter_cancel and its callers, and of
# __sk_mem_reduce_allocated.
UNCHARGE = {
    "pc_uncharge": "page_counter_cancel", "sock_mem_reduce_allocated": "__sk_mem_reduce_allocated",
    "account_uncharge": "", "owner_give_back": "", "uncharge_slow": "", "uncharge_again": "",
    "memcg_uncharge": "", "stock_put": "",
}


def print_profiles(records):
    """The profiles of both variants side by side, and what became of the uncharge functions."""
    for source, title in (("samples", "time (samples)"), ("insns", "instructions (plugin)")):
        mine = [r for r in records if r.get("record") == "profile" and r.get("source") == source]
        if not mine:
            continue
        share = {v: {r["symbol"]: r["percent"] for r in mine if r["variant"] == v}
                 for v in ("direct", "stock")}
        symbols = sorted(share["direct"], key=lambda s: -share["direct"][s])[:25]
        symbols += [s for s in UNCHARGE if s not in symbols
                    and any(s in share[v] for v in share)]
        counted = {r["variant"]: r["samples"] for r in mine if "samples" in r}
        note = "; ".join(f"{v} {n}" for v, n in counted.items())
        print(f"\nprofile of the group's processes, {title}" + (f": {note}" if note else ""))
        rows = [[s, number(share["direct"].get(s, 0), 2), number(share["stock"].get(s, 0), 2),
                 UNCHARGE.get(s, "")] for s in symbols]
        pair = {v: sum(share[v].get(s, 0) for s in UNCHARGE if UNCHARGE[s]) for v in share}
        rows.append(["the two of Linux's profile", number(pair["direct"], 2),
                     number(pair["stock"], 2), ""])
        total = {v: sum(share[v].get(s, 0) for s in UNCHARGE) for v in share}
        rows.append(["all that gives charge back", number(total["direct"], 2),
                     number(total["stock"], 2), ""])
        for line in layout(["function", "direct %", "stock %", "in Linux 4.13"], rows):
            print(line)
    print("\npublished (Linux 4.13): page_counter_cancel 2.13 % and"
          " __sk_mem_reduce_allocated 1.14 %\nleave the top of the list with stock."
          "  Ours does the same work itself under both: what it calls\nis what becomes rare."
          "  A share of few samples is noise; instructions are exact.")


# What was published for Linux (v4.11, 058fe1c0440e), microseconds: (types, L2, L3): before, after.
PUBLISHED_SWITCH = {
    (1, "low", "low"): ("1.72 2.42 5.85", "1.35 1.64 5.46"),
    (1, "high", "low"): ("2.08 4.56 19.8", "1.72 2.20 13.7"),
    (1, "high", "high"): ("2.86 10.4 12.7", "2.54 4.32 12.1"),
    (2, "low", "low"): ("1.98 3.20 6.89", "1.68 2.41 8.89"),
    (2, "high", "low"): ("2.48 5.28 22.4", "2.15 3.69 14.6"),
    (2, "high", "high"): ("3.32 8.09 13.9", "2.80 5.15 13.7"),
}


def print_perfswitch(records):
    """Cost of a switch between groups by both variants, published figures beside."""
    rows = [r for r in records if r.get("record") == "perfswitch"]
    header = ["variant", "types", "L2", "L3", "PMUs", "idle", "contexts", "p10 ns", "p50 ns",
              "p90 ns", "insns", "published us (10 50 90 %)"]
    cells = []
    for r in rows:
        published = PUBLISHED_SWITCH.get((r["types"], r["l2"], r["l3"]))
        cells.append([r["variant"], str(r["types"]), r["l2"], r["l3"], str(r["registered"]),
                      str(r["pmus"]),
                      number(r["contexts"] / r["switches"], 1) if r["switches"] else "-",
                      number(r["p10_ns"], 0), number(r["p50_ns"], 0), number(r["p90_ns"], 0),
                      number(r.get("insns")),
                      published[r["variant"] == "active"] if published else "-"])
    for line in layout(header, cells):
        print(line)
    print("\npublished: Linux before (all) and after (active) v4.11; its rows are an Intel"
          " server's,\nin emulation caches mean little: there compare instructions and contexts.")


def print_walk(records):
    """Seconds, reclaim and the worst mkdir by lock."""
    print(f"{'lock':8}{'cores':>6}{'seconds':>10}{'MiB read':>11}{'rounds':>11}{'look-ups':>11}"
          f"{'max MiB':>9}{'worst mkdir us':>16}")
    for r in (r for r in records if r.get("record") == "walk"):
        print(f"{r['walk']:8}{r['cores']:6}{r['seconds']:10.2f}{r['bytes'] / 2**20:11.0f}"
              f"{r['reclaim_rounds']:11}{r['lookups']:11}{r['max_current'] / 2**20:9.1f}"
              f"{r['mkdir_worst_us']:16.0f}")


def print_table(name, records, config):
    """The table of an experiment and the line that says how to read it."""
    if not any(r.get("record") in ("recipe-tax", "truth", "groups", "perfswitch", "walk") for r in records):
        return
    print()
    if name == "truth":
        print_truth(records)
    elif name == "groups":
        print_groups(records)
    elif name == "perfswitch":
        print_perfswitch(records)
    elif name == "walk":
        print_walk(records)
    else:
        print_recipe(records)
        if name == "uncharge":
            print_profiles(records)
    commit = next((r["commit"] for r in records if "commit" in r), "?")
    print(f"\n{config.smp} CPUs, {config.machine}, {config.accel},"
          f" {datetime.date.today().isoformat()}, commit {commit}")
    print(EMULATION[config.accel])
