# SPDX-License-Identifier: MIT
"""The IP layer over a tap device: fragments, path MTU, datagrams."""

import re
import subprocess

import pytest

from tapnet import UNTIL_TOLD, counters, needs_tap, scapy, tap
from test_process import build

pytestmark = needs_tap


def test_ping_large():
    """65 000 bytes of payload, both families, both directions."""
    lines, host = tap(
        "sleep 1; ping -c 2 -s 65000 192.168.77.1; ping6 -c 2 -s 65000 fd77::1; "
        "cat /proc/tally/net",
        "ping -c 3 -i 0.2 -s 65000 192.168.77.2; ping -6 -c 3 -i 0.2 -s 65000 fd77::2; "
        "ping -c 1 -s 65507 192.168.77.2")
    assert host.count(" 0% packet loss") == 3, host
    assert lines.count("2 packets received, 0% packet loss") == 2, lines
    assert counters(lines)["frag_bad"] == 0


@pytest.fixture(scope="module", name="udp")
def udp_program():
    return build("udp")


def test_udp_calls(run, udp):
    """Control messages, error queue, recvmmsg, SO_REUSEPORT: right here as on Linux."""
    assert subprocess.check_output([udp, "self"]) == b"udp: right\n"
    done = run("/udp self", "--add", f"{udp}:/udp")
    assert done.out.splitlines() == ["udp: right"], done.out


def test_unix(run):
    """AF_UNIX names are nodes of the file system; sockets that only hold each other go."""
    unix = build("unix")
    assert subprocess.run([unix], check=False, stdout=subprocess.PIPE).stdout == b"unix: right\n"
    done = run("/unix cycles && test ! -s /tmp/name", "--add", f"{unix}:/unix")
    assert done.status == 0 and done.out.splitlines() == ["unix: right"], done.out


def test_datagrams(udp):
    """UDP datagrams of nearly 64 KiB, to the guest and back."""
    lines, host = tap(
        "/udp echo 7000 4", scapy("""
import socket
for family, a, n in ((socket.AF_INET, '192.168.77.2', 65507), (socket.AF_INET6, 'fd77::2', 65000)):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(5)
    d = os.urandom(n)
    s.sendto(d, (a, 7000))
    print('same', s.recv(70000) == d)
"""), "--add", f"{udp}:/udp")
    assert host.count("same True") == 2, host
    assert "7000: 65000" in lines and "7000: 65507" in lines, lines


def test_fragment_attacks():
    """Overlaps, lies about lengths, floods of first fragments; honest traffic goes on."""
    lines, host = tap(
        UNTIL_TOLD + "cat /proc/tally/net", scapy("""
data = bytes(range(256)) * 8
def echo4(n): return raw(ICMP(type=8, id=n, seq=1) / data)
six = IPv6(src='fd77::1', dst='fd77::2')
def echo6(n): return raw(six / ICMPv6EchoRequest(id=n, seq=1, data=data))[40:]
def f4(n, d, off, more):
    return IP(src='192.168.77.1', dst='192.168.77.2', id=n, frag=off // 8, flags=more, proto=1) / d
def f6(n, d, off, more): return six / IPv6ExtHdrFragment(id=n, offset=off // 8, m=more, nh=58) / d
def is_reply(p):
    if p.haslayer(IP):
        return p.haslayer(ICMP) and p[ICMP].type == 0 and not p[IP].frag
    f = p.getlayer(IPv6ExtHdrFragment)
    return p.haslayer(ICMPv6EchoReply) or f and not f.offset and raw(f.payload)[:1] == b'\\x81'
MAC = MAC or 'ff:ff:ff:ff:ff:ff'
for f, e in ((f4, echo4), (f6, echo6)):
    d = e(7)
    sniffer = AsyncSniffer(iface='t0', filter='src host 192.168.77.2 or src host fd77::2')
    sniffer.start()
    time.sleep(0.5)
    send2(f(1, d[:1000], 0, 1), f(1, d[992:1800], 992, 1), f(1, d[1800:], 1800, 0))  # overlap
    send2(f(2, d[:1000], 0, 1), f(2, d[:1000], 0, 1), f(2, d[1000:], 1000, 0))  # duplicate: fine
    send2(f(3, d[1000:], 1000, 0), f(3, d[:1000], 0, 1))                        # backwards: fine
    send2(f(4, d[:1000], 65528, 0), f(4, d[:1000], 0, 1))                       # beyond 64 KiB
    send2(*[f(100 + i, d[:1000], 8, 1) for i in range(300)])
    time.sleep(1.5)
    print('replies', len([p for p in sniffer.stop() if is_reply(p)]))
"""))
    assert host.count("replies 2") == 2, host + lines
    c = counters(lines)
    assert c["frag_bad"] >= 3 and c["frag_no_memory"] == 0


def test_path_mtu():
    """A router on the way that takes less: the guest's datagrams follow, a lie is not believed."""
    lines, host = tap(UNTIL_TOLD + "cat /proc/tally/net", scapy("""
def ping(size): return IP(src='192.168.77.1', dst='192.168.77.2') / ICMP(id=5) / (b'x' * size)
r = ask(ping(1000)); print('df', bool(r[IP].flags & 2))
q = IP(src='192.168.77.2', dst='192.168.77.1') / UDP(sport=9, dport=9)
send2(IP(src='192.168.77.1', dst='192.168.77.2') / ICMP(type=3, code=4, nexthopmtu=600) / q)
r = ask(ping(1400)); print('whole', not r[IP].flags & 1)
r = ask(IP(src='192.168.77.1', dst='192.168.77.2') / UDP(sport=9, dport=9))
print('unreachable', r[ICMP].type, r[ICMP].code)
r = ask(IP(src='192.168.77.1', dst='192.168.77.2', proto=253) / b'abcd')
print('protocol', r[ICMP].type, r[ICMP].code)
"""))
    assert "whole True" in host and "unreachable 3 3" in host and "protocol 3 2" in host, host
    assert counters(lines)["pmtu_lowered"] == 0


def test_waiting_datagrams(udp):
    """What waits for a neighbour is charged to its sender, fills SO_SNDBUF, and comes back."""
    lines, _ = tap("""
mkdir /sys/fs/cgroup/g
(echo 0 > /sys/fs/cgroup/g/cgroup.procs; exec /udp wait 192.168.77.9 /sys/fs/cgroup/g)
sleep 4; cat /sys/fs/cgroup/g/memory.current; ss -uam
""", "true", "--add", f"{udp}:/udp")
    assert "udp: waited\n0\n" in lines, lines
    waiting = re.search(r"skmem:\(r0,rb\d+,t(\d+),tb16384,.* group:/g$", lines, re.MULTILINE)
    assert waiting and int(waiting[1]) > 10000, lines
    assert re.search(r"^neigh entries:\d+ waiting:0 mem:0$", lines, re.MULTILINE), lines
