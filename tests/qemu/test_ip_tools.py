# SPDX-License-Identifier: MIT
"""What shows and sets the network: ip, ifconfig, ss, capture, traceroute, arping."""

import base64
import os
import re
import subprocess
import sys

import pytest

from conftest import OUT, ROOT
from tapnet import UNTIL_TOLD, needs_tap, tap
from test_process import build

sys.path.insert(0, os.path.join(ROOT, "tools"))
from runner import common, deb  # noqa: E402

pytestmark = needs_tap


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
    for text in ("mtu 1400", "inet 10.9.9.9/24 brd 10.9.9.255 scope global eth0",
                 "inet6 fd99::1/64", "10.8.0.0/16 via 192.168.77.1 dev eth0",
                 "default via 192.168.77.1", "fd77::/64 dev eth0",
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
    assert re.search(r'^tcp +LISTEN +0 +\d+ +\S+:100 .*users:\(\("nc",pid=\d+,fd=3\)\)\n'
                     r'\s+skmem:\(r0,rb\d+,t0,tb\d+,f0,w0,o0,bl0,d0\) group:/$', listening,
                     re.MULTILINE), done.out
    assert re.search(r"\S+:101 .*\n.*group:/g$", listening, re.MULTILINE), done.out
    both = re.findall(r"^tcp +ESTAB .*127\.0\.0\.1:101\b", connected, re.MULTILINE)
    assert len(both) == 2 or "ffff" in rest, done.out
    assert "cubic" in done.out and "rtt:" in done.out


def test_capture():
    """pcap files that tcpdump reads, filtered, on the wire and on loopback."""
    lines, host = tap("""
capture -i eth0 -w /tmp/a -c 4 icmp host 192.168.77.1 2> /tmp/ea &
capture -i lo -w /tmp/b -t 4 udp port 7001 2> /tmp/eb &
sleep 1; ping -c 2 192.168.77.1 > /dev/null; ping -c 1 127.0.0.1 > /dev/null; wait
cat /tmp/ea /tmp/eb; echo BEGIN; base64 /tmp/a | tr -d '\\n'
""", "ping -6 -c 2 fd77::2 || true")
    assert "4 frames written, 0 lost" in lines and "0 frames written, 0 lost" in lines, lines
    pcap = base64.b64decode(lines.split("BEGIN\n")[1].strip())
    shown = subprocess.run(["tcpdump", "-nr", "-"], input=pcap, capture_output=True,
                           check=True).stdout.decode()
    assert shown.count("ICMP echo request") == 2 and shown.count("ICMP echo reply") == 2, shown


def test_capture_on_loopback():
    """What no header has there, since nothing can be damaged, a capture has: checksums."""
    lines, _ = tap("""
for p in tcp udp; do capture -i lo -w /tmp/$p $p 2> /dev/null & c="$c $!"; done
sleep 1; netserver > /dev/null; netperf -H 127.0.0.1 -t UDP_RR -l -3 > /dev/null
netperf -6 -H ::1 -t TCP_SENDFILE -l -50000 -- -m 10K > /dev/null
kill -INT $c; wait $c; for p in tcp udp; do echo BEGIN; base64 /tmp/$p | tr -d '\\n'; done
""", "true")
    shown = ""
    for text in lines.split("BEGIN\n")[1:]:
        shown += subprocess.run(["tcpdump", "-nvvr", "-"], input=base64.b64decode(text.strip()),
                                capture_output=True, check=True).stdout.decode()
    assert shown.count("(correct)") > 20 and shown.count("udp sum ok") >= 6, shown
    assert "bad" not in shown and "incorrect" not in shown, shown


def test_tools():
    """traceroute over both families, arping, and the link taken down and up again by the guest."""
    lines, _ = tap("""
traceroute -n -m 3 -w 2 192.168.77.1; traceroute -n -I -m 3 -w 2 192.168.77.1
traceroute6 -n -m 3 -w 2 fd77::1
arping -c 1 -I eth0 192.168.77.1; ping -c 1 -I eth0 192.168.77.1
ip link set eth0 down; ping -c 1 -W 1 192.168.77.1; ip link set eth0 up; ping -c 2 -W 5 192.168.77.1
""", "true")
    assert lines.count(" 1  192.168.77.1") == 2 and " 1  fd77::1" in lines, lines
    assert "Received 1 response" in lines, lines
    assert "Network is unreachable" in lines, lines
    assert "2 packets transmitted, 2 packets received" in lines, lines


def test_debian_tools(run):
    """Debian's ping has nothing to warn of; what ethtool cannot have is not supported."""
    debs = [word for name in ("iputils-ping", "ethtool") for word in ("--add-deb", name)]
    result = run("/bin/ping -V; /bin/ping -c 1 -s 20000 127.0.0.1; /bin/ping -6 -c 1 ::1; "
                 "/sbin/ethtool lo; /sbin/ethtool -k lo; true", "--smp", "2", *debs)
    assert "iputils" in result.out, result.out
    assert result.out.count("1 received, 0% packet loss") == 2, result.out
    assert "Link detected: yes" in result.out, result.out
    assert "WARNING" not in result.out and "Inappropriate" not in result.out, result.out


@pytest.fixture(scope="module", name="iproute2")
def debian_iproute2():
    """The namespace has no way to the packages: they come before."""
    try:
        deb.archive(("iproute2",), OUT)
    except common.CannotStart as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("iproute2")
def test_iproute2():
    """Debian's ip shows, sets and hears of changes; its ss shows sockets of every kind."""
    unix = build("unixshow")
    lines, _ = tap("""
IP=; for i in /bin/ip /sbin/ip /usr/sbin/ip; do $i -V 2>&1 | grep -q iproute2 && IP=$i; done
SS=; for s in /bin/ss /usr/bin/ss; do $s -V 2>&1 | grep -q iproute2 && SS=$s; done
$IP monitor > /tmp/news 2>&1 & sleep 0.5
$IP addr add 10.9.9.9/24 dev eth0; $IP link set eth0 mtu 1400
$IP route add 10.8.0.0/16 via 192.168.77.1
$IP neigh add 192.168.77.55 lladdr 02:00:00:00:00:05 dev eth0
echo SHOWN; $IP addr; $IP -s link; $IP route; $IP -6 route; $IP neigh; $IP route get 10.8.1.1
$IP -j addr | head -c 60; $IP -br addr
$IP neigh del 192.168.77.55 dev eth0; $IP route del 10.8.0.0/16; $IP addr del 10.9.9.9/24 dev eth0
$IP link set eth0 down; $IP link set eth0 up; sleep 0.5
echo NEWS; cat /tmp/news; kill %1
/unixshow & nc -l -p 100 > /dev/null & sleep 0.5
echo SOCKETS; $SS -tlnmip; $SS -xa; $SS -s; ss -xam; kill %1 %2
""", "true", "--add-deb", "iproute2", "--add", f"{unix}:/unixshow")
    shown, rest = lines.split("SHOWN\n")[1].split("NEWS\n")
    news, sockets = rest.split("SOCKETS\n")
    for text in ("inet 10.9.9.9/24 brd 10.9.9.255 scope global eth0", "mtu 1400",
                 "RX:  bytes packets", "10.8.0.0/16 via 192.168.77.1 dev eth0",
                 "fd77::/64 dev eth0 proto kernel",
                 "192.168.77.55 dev eth0 lladdr 02:00:00:00:00:05 PERMANENT",
                 "10.8.1.1 via 192.168.77.1 dev eth0", '[{"ifindex":1,"ifname":"lo"'):
        assert text in shown, text + "\n" + lines
    for text in ("inet 10.9.9.9/24", "10.8.0.0/16 via 192.168.77.1 dev eth0",
                 "192.168.77.55 dev eth0 lladdr 02:00:00:00:00:05 PERMANENT", "state DOWN"):
        assert text in news, text + "\n" + lines
    assert news.count("Deleted") >= 3, lines
    assert re.search(r"^LISTEN +0 +\d+ +\*:100 .*\n.*skmem:\(r0,", sockets, re.MULTILINE), sockets
    assert re.search(r"^u_str +LISTEN +0 +5 +/tmp/s ", sockets, re.MULTILINE), sockets
    assert re.search(r"^u_dgr +UNCONN .*@abs ", sockets, re.MULTILINE), sockets
    assert len(re.findall(r"^u_str +ESTAB +[1-9]\d* ", sockets, re.MULTILINE)) == 2, sockets
    assert "TCP:   1 (estab 0, closed 0" in sockets, sockets
