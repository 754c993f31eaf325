# SPDX-License-Identifier: MIT
"""The IP layer over a tap device in a network namespace of its own: the host's kernel and scapy are the peers.

Each test boots once; the host's side is a shell text that runs in the namespace
when the guest is ready (t0 has 192.168.77.1 and fd77::1, the guest .2 and ::2).
"""

import base64
import os
import re
import subprocess
import tempfile

import pytest

from conftest import ROOT, TALLY
from test_process import build

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/net/tun"),
                                reason="tap devices need root and /dev/net/tun")

UNTIL_TOLD = "nc -l -p 9999 > /dev/null < /dev/null; "  # guest: until the host's text has ended

SETUP = """
ip link set lo up && ip tuntap add t0 mode tap && ip addr add 192.168.77.1/24 dev t0 &&
ip addr add fd77::1/64 dev t0 nodad && ip link set t0 up || exit 77
"""


def tap(guest, host, *args):
    """Runs both texts; returns (guest's lines, host's output). Fails if either does."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "guest")
        script = SETUP + f"""
{TALLY} run --smp 2 --mem 512M --net tap:t0 --timeout 80 {" ".join(args)} \
 --append 'ip=192.168.77.2::192.168.77.1:255.255.255.0::eth0:off' --exec "$GUEST" > {out} 2>&1 & guest=$!
n=0; until grep -q '^READY' {out} || [ $((n += 1)) -gt 600 ]; do sleep 0.1; done
( set -e; {host}
)
status=$?
bash -c 'exec 3<>/dev/tcp/192.168.77.2/9999' 2> /dev/null
wait $guest || {{ echo "guest: status $?"; status=1; }}
exit $status
"""
        text = ("ifconfig eth0 add fd77::2/64; n=0; until ping6 -c 1 -W 1 fd77::1 > /dev/null || [ $n -gt 20 ];"
                "do n=$((n+1)); sleep 0.3; done; echo READY; " + guest)
        done = subprocess.run(["unshare", "-n", "sh", "-c", script], capture_output=True, text=True, cwd=ROOT,
                              stdin=subprocess.DEVNULL, timeout=120, check=False, env={**os.environ, "GUEST": text})
        lines = open(out, encoding="utf-8").read() if os.path.exists(out) else ""
        if done.returncode == 77 or "unshare" in done.stderr:
            pytest.skip("no network namespace: " + done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr + lines
        return lines, done.stdout


def scapy(text):
    """Shell words that run a scapy program in the namespace; it ends with an exit status."""
    head = ("import sys\nimport os\nfrom scapy.all import *\nconf.verb = 0\nMAC = getmacbyip('192.168.77.2')\n"
            "def eth(p): return Ether(dst=MAC) / p\n"
            "def ask(p, **k): return srp1(eth(p), iface='t0', timeout=3, **k)\n"
            "wire = conf.L2socket(iface='t0')\n"
            "def send2(*ps):\n    for p in ps: wire.send(eth(p))\n")
    return "/usr/bin/python3 -W ignore - <<'SCAPY'\n" + head + text + "\nSCAPY\n"


def counters(lines):
    return {m[1]: int(m[2]) for m in re.finditer(r"^(\w+) (\d+)$", lines, re.MULTILINE)}


def test_ping_large():
    """65 000 bytes of payload, both families, both directions."""
    lines, host = tap(
        "sleep 1; ping -c 2 -s 65000 192.168.77.1; ping6 -c 2 -s 65000 fd77::1; cat /proc/tally/net",
        "ping -c 3 -i 0.2 -s 65000 192.168.77.2; ping -6 -c 3 -i 0.2 -s 65000 fd77::2; ping -c 1 -s 65507 192.168.77.2")
    assert host.count(" 0% packet loss") == 3, host
    assert lines.count("2 packets received, 0% packet loss") == 2, lines
    assert counters(lines)["frag_bad"] == 0


@pytest.fixture(scope="module", name="udp")
def udp_program():
    return build("udp")


def test_udp_calls(run, udp):
    """Control messages, error queue, recvmmsg, SO_REUSEPORT: right here as on Linux."""
    assert subprocess.run([udp, "self"], check=False, stdout=subprocess.PIPE).stdout == b"udp: right\n"
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
    """Overlaps, lies about lengths, floods of first fragments; honest traffic goes on and memory comes back."""
    lines, host = tap(
        UNTIL_TOLD + "cat /proc/tally/net", scapy("""
data = bytes(range(256)) * 8
def echo4(n): return raw(ICMP(type=8, id=n, seq=1) / data)
def echo6(n): return raw(IPv6(src='fd77::1', dst='fd77::2') / ICMPv6EchoRequest(id=n, seq=1, data=data))[40:]
def f4(n, d, off, more): return IP(src='192.168.77.1', dst='192.168.77.2', id=n, frag=off // 8, flags=more, proto=1) / d
def f6(n, d, off, more): return IPv6(src='fd77::1', dst='fd77::2') / IPv6ExtHdrFragment(id=n, offset=off // 8, m=more, nh=58) / d
MAC = MAC or 'ff:ff:ff:ff:ff:ff'
for f, e in ((f4, echo4), (f6, echo6)):
    d = e(7)
    sniffer = AsyncSniffer(iface='t0', filter='src host 192.168.77.2 or src host fd77::2'); sniffer.start(); time.sleep(0.5)
    send2(f(1, d[:1000], 0, 1), f(1, d[992:1800], 992, 1), f(1, d[1800:], 1800, 0))   # overlap
    send2(f(2, d[:1000], 0, 1), f(2, d[:1000], 0, 1), f(2, d[1000:], 1000, 0))        # duplicate: fine
    send2(f(3, d[1000:], 1000, 0), f(3, d[:1000], 0, 1))                              # backwards: fine
    send2(f(4, d[:1000], 65528, 0), f(4, d[:1000], 0, 1))                             # beyond 64 KiB
    send2(*[f(100 + i, d[:1000], 8, 1) for i in range(300)])
    time.sleep(1.5)
    got = [p for p in sniffer.stop() if (p.haslayer(ICMP) and p[ICMP].type == 0) or p.haslayer(ICMPv6EchoReply)
           or (p.haslayer(IPv6ExtHdrFragment) and p[IPv6ExtHdrFragment].offset == 0 and raw(p[IPv6ExtHdrFragment].payload)[:1] == b'\\x81')]
    first = [p for p in got if not (p.haslayer(IP) and p[IP].frag)]
    print('replies', len(first))
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
r = ask(IP(src='192.168.77.1', dst='192.168.77.2') / UDP(sport=9, dport=9)); print('unreachable', r[ICMP].type, r[ICMP].code)
r = ask(IP(src='192.168.77.1', dst='192.168.77.2', proto=253) / b'abcd'); print('protocol', r[ICMP].type, r[ICMP].code)
"""))
    assert "whole True" in host and "unreachable 3 3" in host and "protocol 3 2" in host, host
    assert counters(lines)["pmtu_lowered"] == 0


def test_ip_command():
    """busybox ip, ifconfig, route and arp show and set over rtnetlink and ioctl."""
    lines, _ = tap(UNTIL_TOLD + """
ip addr add 10.9.9.9/24 dev eth0; ip addr add fd99::1/64 dev eth0; ip link set eth0 mtu 1400
ip route add 10.8.0.0/16 via 192.168.77.1; ip route add default via 192.168.77.1
arp -s 192.168.77.55 02:00:00:00:00:05
echo ADDED; ip addr show dev eth0; ip route; ip -6 route; ip neigh; ip route get 8.8.8.8; arp -an
ip route del 10.8.0.0/16; ip addr del 10.9.9.9/24 dev eth0; arp -d 192.168.77.55
echo REMOVED; ip addr show dev eth0; ip route; ip neigh; route -n
ip link set eth0 down; echo DOWN; ip link show eth0; ip link set eth0 up; ip link set eth9 up; true
""", "ping -c 1 192.168.77.2")
    added, removed = lines.split("ADDED")[1].split("REMOVED")
    for text in ("mtu 1400", "inet 10.9.9.9/24 brd 10.9.9.255 scope global eth0", "inet6 fd99::1/64",
                 "10.8.0.0/16 via 192.168.77.1 dev eth0", "default via 192.168.77.1", "fd77::/64 dev eth0",
                 "192.168.77.55 dev eth0 lladdr 02:00:00:00:00:05 PERMANENT",
                 "8.8.8.8 via 192.168.77.1 dev eth0  src 192.168.77.2"):
        assert text in added, text + "\n" + lines
    for text in ("10.9.9.9", "10.8.0.0", "192.168.77.55"):
        assert text not in removed, text + "\n" + lines
    down = lines.split("DOWN")[1]
    assert "<BROADCAST,MULTICAST,LOWER_UP>" in down and "No such device" in down


def test_ss(run):
    """Sockets with their queues, processes, memory and group."""
    done = run("""
mkdir /sys/fs/cgroup/g; nc -l -p 100 < /dev/null > /dev/null & sleep 0.3
(echo 0 > /sys/fs/cgroup/g/cgroup.procs; nc -ll -p 101 -e sleep 20) & sleep 0.3
(sleep 5 | nc 127.0.0.1 101 > /dev/null) & sleep 0.5
echo L; ss -ltnmp; echo T; ss -t4nmi; echo SIX; ss -6tan; echo A; ss -Htan | wc -l; kill %1 %2 %3
""")
    listening, rest = done.out.split("L\n", 1)[1].split("T\n", 1)
    connected, rest = rest.split("SIX\n", 1)
    assert re.search(r'^tcp +LISTEN +0 +\d+ +\S+:100 .*users:\(\("nc",pid=\d+,fd=3\)\)\n\s+skmem:\(r0,rb\d+,t0,tb\d+,'
                     r'f0,w0,o0,bl0,d0\) group:/$', listening, re.MULTILINE), done.out
    assert re.search(r"\S+:101 .*\n.*group:/g$", listening, re.MULTILINE), done.out
    assert len(re.findall(r"^tcp +ESTAB .*127\.0\.0\.1:101\b", connected, re.MULTILINE)) == 2 or "ffff" in rest, done.out
    assert "cubic" in done.out and "rtt:" in done.out


def test_capture():
    """pcap files that tcpdump reads, filtered, on the wire and on loopback."""
    lines, host = tap("""
capture -i eth0 -w /tmp/a -c 4 icmp host 192.168.77.1 2> /tmp/ea & capture -i lo -w /tmp/b -t 4 udp port 7001 2> /tmp/eb &
sleep 1; ping -c 2 192.168.77.1 > /dev/null; ping -c 1 127.0.0.1 > /dev/null; wait
cat /tmp/ea /tmp/eb; echo BEGIN; base64 /tmp/a | tr -d '\\n'
""", "ping -6 -c 2 fd77::2 || true")
    assert "4 frames written, 0 lost" in lines and "0 frames written, 0 lost" in lines, lines
    pcap = base64.b64decode(lines.split("BEGIN\n")[1].strip())
    shown = subprocess.run(["tcpdump", "-nr", "-"], input=pcap, capture_output=True, check=True).stdout.decode()
    assert shown.count("ICMP echo request") == 2 and shown.count("ICMP echo reply") == 2, shown


def test_tools():
    """traceroute over both families, arping, and the link taken down and up again by the guest."""
    lines, _ = tap("""
traceroute -n -m 3 -w 2 192.168.77.1; traceroute -n -I -m 3 -w 2 192.168.77.1; traceroute6 -n -m 3 -w 2 fd77::1
arping -c 1 -I eth0 192.168.77.1; ping -c 1 -I eth0 192.168.77.1
ip link set eth0 down; ping -c 1 -W 1 192.168.77.1; ip link set eth0 up; ping -c 2 -W 5 192.168.77.1
""", "true")
    assert lines.count(" 1  192.168.77.1") == 2 and " 1  fd77::1" in lines, lines
    assert "Received 1 response" in lines, lines
    assert "Network is unreachable" in lines and "2 packets transmitted, 2 packets received" in lines, lines
