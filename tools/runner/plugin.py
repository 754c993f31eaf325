# SPDX-License-Identifier: MIT
"""QEMU plugins: arguments for them and their results.

insns      tools/plugin/insns.c: instructions between marks, by symbol
cachelines tools/plugin/cachelines.c: lines that move between CPUs
FILE       any other plugin, loaded as it is
"""

import collections
import json
import os
import re
import subprocess

from runner import machine

# Files whose functions are the accounting (experiment recipe-tax); a function
# that a header defines counts for the header it is in.
ACCOUNTING = re.compile(r"(^|/)(mm/(page_counter|stock|memcg|owner)\w*\.[ch]|net/sock_mem\.[ch])$")
# Files whose functions are the perf part of a switch (experiment perfswitch).
PERF = re.compile(r"(^|/)kernel/perf/\w+\.[ch]$")


class Insns:
    """Instruction counts between marks."""

    def __init__(self, config, tmp):
        self.library = os.path.join(machine.ROOT, config.out, "plugin", "insns.so")
        if not os.path.exists(self.library):
            raise machine.CannotStart(f"{self.library} does not exist; run make plugins")
        self.output = os.path.join(tmp, "insns.json")
        self.table = os.path.join(tmp, "insns.symbols")
        self.files = write_table(config.elf, self.table)

    @property
    def argument(self):
        return f"{self.library},symbols={self.table},out={self.output}"

    def results(self):
        """{"insns": [{"mark", "total", "by_symbol", "accounting", ...}...]} in order of time."""
        try:
            with open(self.output, encoding="utf-8") as f:
                intervals = [json.loads(line) for line in f if line.strip()]
        except (OSError, ValueError):
            return {"insns": []}
        for interval in intervals:
            mine = {name: n for name, n in interval["by_symbol"].items()
                    if is_accounting(self.files.get(name, ""))}
            interval["accounting"] = sum(mine.values())
            interval["perf"] = sum(n for name, n in interval["by_symbol"].items()
                                   if PERF.search(self.files.get(name, "")))
            interval["accounting_by_symbol"] = mine
        return {"insns": intervals}


def is_accounting(path):
    return ACCOUNTING.search(path) is not None


def functions(elf):
    """[(address, size, name)] of the text symbols, in order of address."""
    out = subprocess.run(["nm", "-n", "-S", "--defined-only", elf], check=True,
                         capture_output=True, text=True).stdout
    found = []
    for line in out.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tTwW":
            found.append((int(words[0], 16), int(words[1], 16), words[3]))
        elif len(words) == 3 and words[1] in "tT" and "." not in words[2]:
            # assembly; NASM's local labels (with a dot) belong to what is before them
            found.append((int(words[0], 16), 0, words[2]))
    return found


def source_files(elf, found):
    """{name: source file} by the line table; inlined code counts where it was inlined to."""
    text = "\n".join(hex(address) for address, _, _ in found)
    out = subprocess.run(["addr2line", "-e", elf], input=text, check=True, capture_output=True,
                         text=True).stdout
    files = {}
    for (_, _, name), line in zip(found, out.splitlines()):
        path = line.rpartition(":")[0]
        files[name] = path[2:] if path.startswith("./") else path
    return files


def write_table(elf, path):
    """Symbol table for the plugin: `ADDRESS SIZE NAME` a line, hexadecimal; returns files."""
    try:
        found = functions(elf)
        files = source_files(elf, found)
    except (OSError, subprocess.CalledProcessError) as e:
        raise machine.CannotStart(f"symbols of {elf}: {e}") from e
    seen = collections.Counter()
    unique = {}
    with open(path, "w", encoding="utf-8") as f:
        for address, size, name in found:
            file = files.get(name, "")
            label = name if not seen[name] else f"{name}#{seen[name]}"
            seen[name] += 1
            unique[label] = file
            f.write(f"{address:x} {size:x} {label}\n")
    return unique


class CacheLines:
    """Lines that move between CPUs, between marks (experiment c2c)."""

    def __init__(self, config, tmp):
        self.library = os.path.join(machine.ROOT, config.out, "plugin", "cachelines.so")
        if not os.path.exists(self.library):
            raise machine.CannotStart(f"{self.library} does not exist; run make plugins")
        self.output = os.path.join(tmp, "cachelines.json")
        self.table = os.path.join(tmp, "cachelines.symbols")
        write_table(config.elf, self.table)

    @property
    def argument(self):
        return f"{self.library},symbols={self.table},out={self.output}"

    def results(self):
        """{"cachelines": [{"mark", "accesses", "transfers", "lines", ...}...]} in order of time."""
        try:
            with open(self.output, encoding="utf-8") as f:
                return {"cachelines": [json.loads(line) for line in f if line.strip()]}
        except (OSError, ValueError):
            return {"cachelines": []}


class Other:
    """A plugin of the user's."""

    def __init__(self, path):
        self.argument = os.path.abspath(path)

    def results(self):
        return {}


def prepare(config, tmp):
    """Objects with `argument` and `results()` for config.plugins."""
    out = []
    for name in config.plugins:
        if name == "insns":
            out.append(Insns(config, tmp))
        elif name == "cachelines":
            out.append(CacheLines(config, tmp))
        elif os.path.exists(name.partition(",")[0]):
            out.append(Other(name))
        else:
            raise machine.UsageError(
                f"--plugin: insns, cachelines or a file expected, not {name!r}")
    return out
