# SPDX-License-Identifier: MIT
"""Hostile packets over a tap device (attacks.py): an honest client goes on, memory comes back, nothing complains.

How much the honest client gets is a measurement, so here it must only get through;
`make attacks` compares with a reference run and asks for 80 %.
"""

import json
import os
import re

import pytest

from conftest import APPS, ROOT
from tapnet import UNTIL_TOLD, counters, tap

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/net/tun"),
                                reason="tap devices need root and /dev/net/tun")

SECONDS = int(os.environ.get("ATTACK_SECONDS", "1"))
RATE = int(os.environ.get("ATTACK_RATE", "1000"))          # frames a second
KEEPS = float(os.environ.get("ATTACK_KEEPS", "0"))         # share of the reference run; 0: no such run
GROWTH = 8 * 1024                                          # KiB that may be gone afterwards: slabs, neighbours

GUEST = "nc -ll -p 7 -e cat & netserver; grep MemFree /proc/meminfo; " + UNTIL_TOLD + \
        "sleep 3; grep MemFree /proc/meminfo; cat /proc/tally/net; dmesg | grep -E 'WARN|BUG:|panic:' ; true"


def attack(*names):
    """Runs these attacks against one guest; returns their lines and the guest's counters."""
    lines, host = tap(GUEST, f"/usr/bin/python3 -W ignore {ROOT}/tests/qemu/attacks.py {'--compare' if KEEPS else ''} "
                      f"{APPS}/netperf {SECONDS} {RATE} "
                      + " ".join(names))
    results = [json.loads(line) for line in host.splitlines() if line.startswith("{")]
    print("\n" + host)
    assert [r["attack"] for r in results] == list(names)
    for r in results:
        assert r["sent"] > 100 and r["attacked"] > 0 and r.get("ratio", 0) >= KEEPS, r
    free = [int(n) for n in re.findall(r"MemFree: +(\d+) kB", lines)]
    assert len(free) == 2 and free[0] - free[1] < GROWTH, lines
    assert not re.search("WARN|BUG:|panic:", lines), lines
    return counters(lines)


def test_internet_layer():
    c = attack("overlapping_fragments", "extension_headers", "neighbours", "closed_ports")
    assert c["frag_bad"] > 0


def test_handshakes():
    c = attack("malformed_options", "syn_flood", "mss_zero")
    assert c["tcp_cookies_sent"] + c["tcp_syn_dropped"] > 0


def test_connections():
    attack("resets", "out_of_order", "sack_lies")
