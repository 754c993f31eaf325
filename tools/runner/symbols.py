# SPDX-License-Identifier: MIT
"""Addresses in a kernel log into functions and source lines."""

import re
import subprocess

PANIC = re.compile(rb"(?i)\bpanic:")
ADDRESS = re.compile(rb"\b(?:0x)?(ffffffff8[0-9a-f]{7})\b")
MOST = 64  # addresses looked up


def is_panic(line):
    """True for the line that begins a panic."""
    return PANIC.search(line) is not None


def symbolise(elf, log):
    """Lines `ADDRESS function at file:line` for what follows the first panic."""
    match = PANIC.search(log)
    tail = log[match.start():] if match else log[-4096:]
    addresses = []
    for found in ADDRESS.finditer(tail):
        if found[1] not in addresses:
            addresses.append(found[1])
    addresses = [a.decode() for a in addresses[:MOST]]
    if not addresses:
        return []
    try:
        text = subprocess.run(["addr2line", "-f", "-p", "-e", elf, *addresses], check=True,
                              capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return ["back-trace:"] + [f"  {a} {line}" for a, line in zip(addresses, text.splitlines())
                              if "??" not in line.split()[0]]
