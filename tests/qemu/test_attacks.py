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
PAIRS = int(os.environ.get("ATTACK_PAIRS", "0"))           # runs with a reference run beside; 0: no such runs
KEEPS = float(os.environ.get("ATTACK_KEEPS", "0"))         # share of the reference run
MOST = 16 * 1024                                           # KiB that may be gone during an attack
GROWTH = 8 * 1024                                          # and afterwards: slabs, neighbours

KEPT = 128                                                 # connections in TIME_WAIT, at most

GUEST = f"echo {KEPT} > /proc/sys/tally/net/tcp/timewait_max; nc -ll -p 13 -e cat & stopped=$!; " \
        "nc -ll -p 7 -e cat & nc -ll -p 9 -e true & nc -ll -p 11 -e cat /proc/meminfo & netserver; " \
        "sleep 1; kill -STOP $stopped; " + UNTIL_TOLD + \
        "sleep 1; cat /proc/tally/net /proc/net/sockstat; dmesg | wc -c; " \
        "dmesg | grep -E 'WARN|BUG:|panic:|also used|in use by' ; true"


def attack(*names):
    """Runs these attacks against one guest; returns the guest's counters and its lines."""
    lines, host = tap(GUEST, f"/usr/bin/python3 -W ignore {ROOT}/tests/qemu/attacks.py --pairs {PAIRS} {APPS}/netperf "
                      f"{SECONDS} {RATE} " + " ".join(names), seconds=60 + (30 + SECONDS + 2 * PAIRS) * len(names))
    results = [json.loads(line) for line in host.splitlines() if line.startswith("{")]
    print("\n" + host)
    assert sorted(r["attack"] for r in results) == sorted(names)
    for r in results:
        assert r["sent"] > 100 and r["attacked"] > 0 and r.get("ratio", KEEPS) >= KEEPS, r
        assert r.get("memory_kib", 0) < MOST and r.get("left_kib", 0) < GROWTH, r
    assert not re.search("WARN|BUG:|panic:", lines), lines
    return counters(lines), lines


def test_internet_layer():
    c, _ = attack("overlapping_fragments", "tiny_fragments", "extension_headers", "forged_errors", "echo_flood")
    assert c["frag_bad"] > 0


def test_link():
    c, _ = attack("neighbours", "queries", "closed_udp", "closed_tcp")
    assert c["tcp_resets_out"] > 0


def test_routers():
    """Routers that nobody has seen are mostly not listened to; contested addresses are told of now and then."""
    c, lines = attack("routers", "duplicates", "redirects")
    assert c["nd_adverts_saved"] > 100
    assert len(re.findall("also used|in use by", lines)) < 20, lines


def test_handshakes():
    attack("malformed_options", "syn_flood", "mss_zero", "resets", "never_finished")


def test_queues():
    c, lines = attack("never_accepted", "many_ends")
    assert c["tcp_timewait"] > KEPT and c["tcp_listen_overflows"] > 0
    assert int(re.search(r"^TCP: .* tw (\d+)", lines, re.MULTILINE)[1]) <= KEPT, lines


def test_connections():
    attack("out_of_order", "many_holes", "sack_lies", "old_timestamps", "window_games", "slow_clients")
