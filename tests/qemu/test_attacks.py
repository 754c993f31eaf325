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

# What is attacked runs in a group with a limit, the honest client's server does not.  When all is over the group's
# processes end; connections whose peer is silent still try to say so for a while, and keep little for it.
GUEST = f"echo {KEPT} > /proc/sys/tally/net/tcp/timewait_max; g=/sys/fs/cgroup/srv; mkdir $g; echo 32M > $g/memory.max; " \
        "sh -c 'echo 0 > /sys/fs/cgroup/srv/cgroup.procs; nc -ll -p 7 -e cat & nc -ll -p 9 -e true & " \
        "exec nc -ll -p 13 -e cat' & stopped=$!; nc -ll -p 11 -e cat /proc/meminfo & netserver; " \
        "sleep 1; kill -STOP $stopped; " + UNTIL_TOLD + \
        "sleep 1; cat /proc/tally/net /proc/net/sockstat; grep oom_kill $g/memory.events; kill -9 $(cat $g/cgroup.procs); " \
        "n=0; until [ $(cat $g/memory.current.exact) -lt $((512 * 1024)) ] || [ $n -gt 50 ]; do sleep 0.1; n=$((n + 1)); done; " \
        "echo srv_left $(cat $g/memory.current.exact); dmesg | wc -c; " \
        "dmesg | grep -E 'WARN|BUG:|panic:|also used|in use by' ; true"


def attack(*names):
    """Runs these attacks against one guest; returns the guest's counters and its lines."""
    lines, host = tap(GUEST, f"/usr/bin/python3 -W ignore {ROOT}/tests/qemu/attacks.py --pairs {PAIRS} {APPS}/netperf "
                      f"{SECONDS} {RATE} " + " ".join(names), seconds=60 + (30 + SECONDS + 3 * PAIRS) * len(names))
    results = [json.loads(line) for line in host.splitlines() if line.startswith("{")]
    print("\n" + host)
    assert sorted(r["attack"] for r in results) == sorted(names)
    for r in results:
        assert r["sent"] > 100 and r["attacked"] > 0 and r.get("ratio", KEEPS) >= KEEPS, r
        assert r.get("memory_kib", 0) < MOST and r.get("left_kib", 0) < GROWTH, r
    assert not re.search("WARN|BUG:|panic:", lines), lines
    c = counters(lines)
    assert c["srv_left"] < 512 * 1024 and c["oom_kill"] == 0, lines
    return c, lines


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


COOKIES = """
import socket, subprocess, sys, time
sys.path.insert(0, "ROOT/tests/qemu")
from attacks import FAMILIES, Sender, Station, bound, frames, getmacbyip
from attack_frames import ECHO, syn
Station().start()
flood = [p for f in FAMILIES for p in frames([syn(f, 1024 + i, [("MSS", 1460)], ECHO) for i in range(2000)],
                                              getmacbyip(FAMILIES[0].guest))]
open_ones = []
with Sender(bound(0x0800), flood, 2000):
    time.sleep(1)
    for f in FAMILIES:
        s = socket.create_connection((f.guest, ECHO), 10)
        s.settimeout(10)
        sent = bytes(i * 7 & 255 for i in range(200000))
        s.sendall(sent)
        got = b""
        while len(got) < len(sent):
            got += s.recv(65536)
        assert got == sent
        open_ones.append(s)
    socket.create_connection((FAMILIES[0].guest, 9998), 10)  # the guest looks at its side
    time.sleep(2)
"""


def test_cookies():
    """The queue of half-open connections is full of nobody's: who comes is answered by a cookie, and loses nothing."""
    lines, _ = tap("nc -ll -p 7 -e cat & sleep 1; nc -l -p 9998 > /dev/null < /dev/null; ss -t -i -n; "
                   + UNTIL_TOLD + "cat /proc/tally/net; dmesg | grep -E 'WARN|BUG:'; true",
                   "/usr/bin/python3 -W ignore - <<'EOF'\n" + COOKIES.replace("ROOT", ROOT) + "EOF\n")
    c = counters(lines)
    assert c["tcp_cookies_sent"] > 100 and c["tcp_cookies_good"] >= 2, lines
    kept = re.findall(r"^\s+ts sack .*wscale:(\d+),.* mss:(\d+) ", lines, re.MULTILINE)
    assert sorted(mss for scale, mss in kept if int(scale)) == ["1428", "1448"], lines
    assert not re.search("WARN|BUG:", lines), lines
