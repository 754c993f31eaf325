# SPDX-License-Identifier: MIT
"""A station behind a router whose next link takes less: TCP finds out (RFC 1191, RFC 8201).

The namespace routes between t0 and v0, whose MTU is 1300; the station behind v0 announces full
segments, so only the router's ICMP messages tell the guest.
"""

from tapnet import UNTIL_TOLD, counters, needs_tap, tap

pytestmark = needs_tap

SIZE = 16 * 65536

ROUTER = """
unshare -n sleep 100 & far=$!
sleep 0.5
ip link add v0 mtu 1300 type veth peer name v1
ip link set v1 netns $far
ip addr add 192.168.78.1/24 dev v0; ip addr add fd78::1/64 dev v0 nodad; ip link set v0 up
nsenter -t $far -n sh -c '
ip addr add 192.168.78.2/24 dev v1; ip addr add fd78::2/64 dev v1 nodad; ip link set v1 mtu 1500 up
ip route add default via 192.168.78.1; ip -6 route add default via fd78::1'
echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /proc/sys/net/ipv6/conf/all/forwarding
sleep 1
nsenter -t $far -n /usr/bin/python3 - <<'END'
import socket
for address in '192.168.77.2', 'fd77::2', '192.168.77.2', 'fd77::2':
    s = socket.create_connection((address, 7002), timeout=8)
    got = 0
    while True:
        b = s.recv(65536)
        if not b:
            break
        got += len(b)
    print(address, got)
END
kill $far
"""


def test_tcp_behind_a_narrow_link():
    """Whole files arrive in both families; the second connection of each knows the way already."""
    lines, host = tap(
        "ip -6 route add fd78::/64 via fd77::1; "
        f"dd if=/dev/zero of=/tmp/big bs=65536 count={SIZE // 65536} 2>/dev/null; "
        "nc -ll -p 7002 -e cat /tmp/big & " + UNTIL_TOLD + "cat /proc/tally/net", ROUTER)
    assert host.count(f"192.168.77.2 {SIZE}\n") == 2, host + lines
    assert host.count(f"fd77::2 {SIZE}\n") == 2, host + lines
    c = counters(lines)
    assert 2 <= c["tcp_pmtu_lowered"] <= 4, c
