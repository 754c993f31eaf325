# SPDX-License-Identifier: MIT
"""Experiment c2c: which cache lines move between CPUs, by what name, and who touches them.

The plugin cachelines gives lines by address; names come from the image (symbols), from the
slab map that the guest writes while the groups exist, and from the debug information (members).
"""

import bisect
import subprocess

from runner import dwarf
from runner.table import layout, number

AREAS = [(0xffff888000000000, "page"), (0xffffc90000000000, "stack or vmalloc"),
         (0xffffea0000000000, "page"), (0xfffffe0000000000, "device")]
COUNTER_FILES = {"packed": "mm/page_counter_packed.c", "split": "mm/page_counter_split.c"}
NOTICE = 0.005  # share of a line's accesses from which a word counts as used


class Names:
    """Names of kernel addresses in one boot."""

    def __init__(self, elf, structures, records, variant):
        self.structures = structures
        self.variant = variant
        self.slabs = []
        self.counter_offset = None
        for r in records:
            if r.get("record") == "slabs":
                for entry in r["map"].split(";"):
                    words = entry.split()
                    if len(words) == 5:
                        self.slabs.append((int(words[3], 16), int(words[4]), words[0],
                                           int(words[1]), int(words[2])))
            if r.get("record") == "recipe-tax" and r.get("counter_bytes"):
                self.counter_offset = int(r["group_bytes"] - r["counter_bytes"])
        self.slabs.sort()
        out = subprocess.run(["nm", "-n", "--defined-only", elf], check=True, capture_output=True,
                             text=True).stdout
        self.symbols = [(int(w[0], 16), w[2]) for w in map(str.split, out.splitlines())
                        if len(w) == 3 and w[1] in "bBdDrR" and int(w[0], 16) >= 1 << 63]

    def slab(self, address):
        """(cache, size, offset in the object), or None."""
        i = bisect.bisect_right(self.slabs, (address, 1 << 62)) - 1
        if i < 0 or address >= self.slabs[i][0] + self.slabs[i][1]:
            return None
        start, _, cache, size, stride = self.slabs[i]
        return cache, size, (address - start) % stride

    def field(self, address):
        """(object, member) of the word at @address."""
        found = self.slab(address)
        if found:
            cache, size, offset = found
            if cache == "account" and self.counter_offset is not None and \
                    offset >= self.counter_offset:
                members = self.structures.members("page_counter", COUNTER_FILES[self.variant])
                member = dwarf.member_at(members, offset - self.counter_offset)
                return "page_counter", member or f"+{offset - self.counter_offset}"
            member = dwarf.member_at(self.structures.members(cache), offset)
            if offset >= size:
                member = "owner or link of the slab"
            return cache, member or f"+{offset}"
        if address >= 0xffffffff80000000:
            i = bisect.bisect_right(self.symbols, (address, "\x7f")) - 1
            if i >= 0:
                return self.symbols[i][1], f"+{address - self.symbols[i][0]}"
        area = next((name for start, name in reversed(AREAS) if address >= start), "?")
        return area, f"{address:x}"


def describe(line, names, messages):
    """A line as a record: names of its words, who touches it, transfers per message."""
    base = int(line["address"], 16)
    accesses = line["reads"] + line["writes"]
    words = []
    for i, (reads, writes, transfers) in enumerate(line["words"]):
        if reads + writes >= max(NOTICE * accesses, 1):
            thing, member = names.field(base + 8 * i)
            words.append({"object": thing, "field": member, "offset": 8 * i, "reads": reads,
                          "writes": writes, "transfers": transfers})
    words.sort(key=lambda w: -w["transfers"])
    hottest = words[0] if words else {"object": "?", "field": "?"}
    neighbours = []
    for w in words[1:]:
        name = f'{w["object"]}.{w["field"]}'
        if (w["object"], w["field"]) != (hottest["object"], hottest["field"]) \
                and name not in neighbours:
            neighbours.append(name)
    functions = sorted(line["functions"], key=lambda f: -f[3])
    return {"record": "c2c", "variant": names.variant, "address": line["address"],
            "object": hottest["object"], "field": hottest["field"], "neighbours": neighbours,
            "cpus_touching": line["cpus"], "reads": line["reads"], "writes": line["writes"],
            "transfers": line["read_transfers"] + line["write_transfers"],
            "transfers_per_msg": round((line["read_transfers"] + line["write_transfers"])
                                       / messages, 5) if messages else None,
            "words": words,
            "functions": [{"symbol": f[0], "reads": f[1], "writes": f[2], "transfers": f[3]}
                          for f in functions[:8]]}


def add_records(result, config, title):
    """Records c2c of a boot: lines of its group phases, most transfers first."""
    intervals = result.plugin.get("cachelines", [])
    rounds = [r for r in result.records if r.get("record") == "recipe-round"]
    if not intervals or len(intervals) != len(rounds):
        return
    names = Names(config.elf, dwarf.Structures(config.elf), result.records, title.split()[-1])
    common = {k: rounds[0][k] for k in ("preset", "cpus", "machine", "commit") if k in rounds[0]}
    # The last group phase: its groups are those of the slab map.
    last = max(i for i, r in enumerate(rounds) if r["where"] == "group")
    interval = intervals[last]
    found = [{**describe(line, names, rounds[last]["msgs"]), **common}
             for line in interval["lines"]]
    found.append({"record": "c2c-sum", "variant": names.variant, **common,
                  "accesses": interval["accesses"], "transfers": interval["transfers"],
                  "moved_lines": interval["moved_lines"], "dropped": interval["dropped"],
                  "msgs": rounds[last]["msgs"]})
    result.records[-1:-1] = found


def usage_lines(records, variant):
    """The lines with a page counter's usage."""
    return [r for r in records if r.get("record") == "c2c" and r["variant"] == variant
            and any(w["object"] == "page_counter" and w["field"] == "usage" for w in r["words"])]


def print_table(records):
    """Per variant the lines that moved most, and what usage shares its line with."""
    for total in (r for r in records if r.get("record") == "c2c-sum"):
        variant = total["variant"]
        mine = [r for r in records if r.get("record") == "c2c" and r["variant"] == variant]
        print(f"\nlayout {variant}: {total['transfers']} transfers between CPUs in"
              f" {total['accesses']} accesses, {total['moved_lines']} lines moved,"
              f" {number(total['msgs'], 0)} messages")
        rows = []
        for r in mine[:25]:
            functions = ", ".join(f["symbol"] for f in r["functions"][:3])
            rows.append([f'{r["object"]}.{r["field"]}', number(r["transfers"], 0),
                         number(r["transfers_per_msg"], 4), number(r["reads"], 0),
                         number(r["writes"], 0), str(r["cpus_touching"]),
                         " ".join(n.split(".", 1)[1] if n.startswith(r["object"] + ".") else n
                                  for n in r["neighbours"])[:48], functions[:60]])
        header = ["hottest word", "transfers", "per message", "reads", "writes", "CPUs",
                  "also on the line", "functions"]
        for line in layout(header, rows):
            print(line)
        for r in usage_lines(records, variant):
            others = {}
            for w in r["words"]:
                sums = others.setdefault(f'{w["object"]}.{w["field"]}', [0, 0])
                sums[0] += w["reads"]
                sums[1] += w["writes"]
            others.pop("page_counter.usage")
            shared = ", ".join(f"{name} ({reads} reads, {writes} writes)"
                               for name, (reads, writes) in others.items())
            print(f'page_counter.usage at {r["address"]}: ' +
                  (f"FALSE SHARING with {shared}" if others else "alone on its line"))


def check_plugin(config):
    """The experiment needs its plugin."""
    if "cachelines" not in config.plugins:
        config.plugins = [*config.plugins, "cachelines"]
