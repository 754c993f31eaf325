#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernel symbol table and image check.

    nm -n ELF | ksyms.py > ksyms.asm     table of the functions, for NASM
    ksyms.py --check ELF                 the file is laid out like memory, no W+X segment
"""
import struct
import sys


def table():
    text, start = [], None
    for line in sys.stdin:
        fields = line.split()
        if len(fields) != 3:
            continue
        addr, kind, name = int(fields[0], 16), fields[1], fields[2]
        if name == "text_start":
            start = addr
        elif kind in "tTwW" and not name.startswith("..") and name != "text_end":
            text.append((addr, name))
    if start is None:
        sys.exit("ksyms: no text_start in the symbol list")
    seen, rows = set(), []
    for addr, name in text:
        # Local labels of NASM ("func.loop") only blur a back-trace.
        if addr < start or addr in seen or ".." in name or (
                "." in name and not name.rsplit(".", 1)[1].isdigit()
                and name.rsplit(".", 1)[1] not in ("part", "cold", "constprop", "isra")):
            continue
        seen.add(addr)
        rows.append((addr - start, name))
    rows.sort()
    out = ["section .ksyms progbits alloc noexec nowrite align=16",
           "global ksyms_count, ksyms_addr, ksyms_name_off, ksyms_names",
           f"ksyms_count equ {len(rows)}", "ksyms_addr:"]
    out += [f"\tdd {a}" for a, _ in rows]
    out.append("ksyms_name_off:")
    off = 0
    for _, n in rows:
        out.append(f"\tdd {off}")
        off += len(n) + 1
    out.append("ksyms_names:")
    out += [f'\tdb "{n}", 0' for _, n in rows]
    print("\n".join(out))


def check(path):
    with open(path, "rb") as f:
        data = f.read()
    phoff, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    delta = None
    for i in range(count):
        kind, flags, off, vaddr, paddr, filesz, memsz, _ = struct.unpack_from(
            "<IIQQQQQQ", data, phoff + i * size)
        if kind != 1:
            continue
        if delta is not None and off - paddr != delta:
            sys.exit(f"ksyms: segment {i}: file and memory differ; multiboot1 would load it wrongly")
        delta = off - paddr
        if flags & 3 == 3 and vaddr >= 1 << 63:
            sys.exit(f"ksyms: segment {i} is writable and executable")


if len(sys.argv) == 3 and sys.argv[1] == "--check":
    check(sys.argv[2])
else:
    table()
