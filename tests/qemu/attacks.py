#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Hostile packets against a guest behind the tap device t0, an honest client beside them.

Usage: attacks.py [--pairs N] NETPERF SECONDS RATE [NAME...]

Every attack (attack_frames.py) is a list of frames of both families, made once and sent
again and again, RATE a second, while an honest client (netperf TCP_RR) runs for SECONDS.
With --pairs N the client runs longer, one connection of each family, begun under attack;
SLICE seconds of attack and of the same frames to an address that nobody has take turns,
N times.  What the client has done in each says the host's own TCP.  The ratio is the median of
the N quotients of neighbours, so that what else the machine does matters little; unless it is
CLEAR it is the median of three times as many.
One record of JSON for each attack:

{"record": "attack", "attack": …, "sent": …, "attacked": transactions a second (median),
 "reference": …, "ratio": …, "ratios": [of each pair], with ten pairs and more "cpu_us": QEMU's processor
 time for one hostile packet, "cpu_us_honest": the same for one transaction, "memory_kib": what the guest had less
 during the attack, "left_kib": and after it}
"""

import argparse
import ctypes
import json
import os
import random
import re
import socket
import statistics
import struct
import subprocess
import threading
import time

from scapy.all import ARP, Ether, ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptDstLLAddr, IPv6, getmacbyip, raw

import attack_frames
from attack_frames import PEER_MAC, Connection, Family

FAMILIES = (Family(False), Family(True))
NOBODY_MAC = "02:00:00:00:00:c8"
MEMORY = 11         # the guest's /proc/meminfo is behind this port
SO_ATTACH_FILTER = 26
ALL, NOTHING = ((6, 0, 0, 65536),), ((6, 0, 0, 0),)  # filters: so many bytes of every frame
QUIET = 2           # seconds after an attack
SLICE = .2          # seconds of a measurement
DETAILED = 10       # pairs from which on it is also measured what a packet costs
CLEAR = .9          # a ratio that needs no second look
SETTLE = .03        # before it, for what is still in queues


def bound(protocol):
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
    s.bind(("t0", 0))
    return s


def frames(packets, mac):
    return [raw(Ether(dst=mac, src=PEER_MAC) / p)[:1514] for p in packets]


def elsewhere(frame):
    """The same frame to an address that nobody has (its transport checksum is nobody's affair either)."""
    head = bytearray(frame)
    head[:6] = bytes.fromhex(NOBODY_MAC.replace(":", ""))
    if head[12:14] == b"\x86\xdd":
        head[38:54] = socket.inet_pton(socket.AF_INET6, FAMILIES[1].nobody)
    elif head[12:14] == b"\x08\x06":
        head[38:42] = socket.inet_aton(FAMILIES[0].nobody)
    else:
        head[30:34] = socket.inet_aton(FAMILIES[0].nobody)
        head[24:26] = b"\0\0"
        length = (head[14] & 15) * 4
        total = sum(struct.unpack(f"!{length // 2}H", head[14:14 + length]))
        while total >> 16:
            total = (total & 0xffff) + (total >> 16)
        struct.pack_into("!H", head, 24, ~total & 0xffff)
    return bytes(head)


class Sender(threading.Thread):
    """Sends the frames in turn, at most @rate a second, until told to stop."""

    def __init__(self, wire, packets, rate):
        super().__init__(daemon=True)
        self.wire, self.packets, self.rate = wire, packets, rate
        self.sent, self.over = 0, False

    def run(self):
        start, n = time.monotonic(), 0
        while not self.over:
            while n > (time.monotonic() - start) * self.rate and not self.over:
                time.sleep(.002)
            packets = self.packets
            try:
                self.wire.send(packets[n % len(packets)])
            except OSError:
                time.sleep(.002)  # the device's queue is full
            n += 1
            self.sent += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.join()


def attach(wire, code):
    """A classic packet filter: (operation, jump if true, jump if false, operand) each."""
    text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *i) for i in code))
    wire.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(code), ctypes.addressof(text)))


class Station(threading.Thread):
    """Answers the guest's questions for the peer's hardware address.

    Only those wake it: were it to look at every frame, the answers and questions that an attack
    draws would cost the host a core, which the honest client would then seem to lose to the guest.
    """

    HALF, BYTE, WORD, EQUAL, RETURN = 0x28, 0x30, 0x20, 0x15, 0x06
    QUESTIONS = ((HALF, 0, 0, 12), (EQUAL, 0, 2, 0x0806),
                 (WORD, 0, 0, 38), (EQUAL, 7, 8, int.from_bytes(socket.inet_aton(FAMILIES[0].peer), "big")),
                 (EQUAL, 0, 7, 0x86dd), (BYTE, 0, 0, 20), (EQUAL, 0, 5, 58), (BYTE, 0, 0, 54), (EQUAL, 0, 3, 135),
                 (WORD, 0, 0, 74), (EQUAL, 0, 1, int.from_bytes(socket.inet_pton(socket.AF_INET6, FAMILIES[1].peer)[12:], "big")),
                 (RETURN, 0, 0, 2048), (RETURN, 0, 0, 0))

    def __init__(self):
        super().__init__(daemon=True)
        self.wire = bound(3)
        attach(self.wire, self.QUESTIONS)

    def run(self):
        while True:
            frame = self.wire.recv(2048)
            if frame[6:12] == bytes.fromhex(PEER_MAC.replace(":", "")):
                continue
            question = Ether(frame)
            if question.haslayer(ARP) and question[ARP].op == 1 and question[ARP].pdst == FAMILIES[0].peer:
                answer = ARP(op=2, hwsrc=PEER_MAC, psrc=FAMILIES[0].peer, hwdst=question.src, pdst=question[ARP].psrc)
            elif question.haslayer(ICMPv6ND_NS) and question[ICMPv6ND_NS].tgt == FAMILIES[1].peer:
                answer = IPv6(src=FAMILIES[1].peer, dst=question[IPv6].src, hlim=255) \
                    / ICMPv6ND_NA(tgt=FAMILIES[1].peer, R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=PEER_MAC)
            else:
                continue
            self.wire.send(raw(Ether(dst=question.src, src=PEER_MAC) / answer))


class Guest:
    """The QEMU process of this network namespace, and the guest's own figures."""

    def __init__(self):
        here = os.readlink("/proc/self/ns/net")
        self.pid = None
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                    if f.read().startswith("qemu-system") and os.readlink(f"/proc/{pid}/ns/net") == here:
                        self.pid = pid
            except OSError:
                pass

    def cpu(self):
        """Seconds of processor time so far."""
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def free(self):
        """KiB of memory that the guest says are free, or None while it does not get to say so."""
        try:
            with socket.create_connection((FAMILIES[0].guest, MEMORY), 10) as s:
                s.settimeout(10)
                text = b""
                while part := s.recv(65536):
                    text += part
            return int(re.search(rb"MemFree: +(\d+)", text)[1])
        except (OSError, TypeError):
            return None


class Memory(threading.Thread):
    """The least that the guest had free, looked at once a second."""

    def __init__(self, guest):
        super().__init__(daemon=True)
        self.guest, self.least, self.over = guest, None, threading.Event()

    def run(self):
        while not self.over.wait(1):
            free = self.guest.free()
            if free is not None:
                self.least = free if self.least is None else min(free, self.least)


def honest(netperf, seconds, six, again=True):
    """Transactions a second of a client that plays by the rules; it may try twice, since packets can be lost."""
    done = subprocess.run([netperf, "-H", FAMILIES[six].guest, "-t", "TCP_RR", "-l", str(seconds), "-P", "0"],
                          capture_output=True, text=True, timeout=seconds + 60, check=False)
    rates = re.findall(r"^\d+ +\d+ +\d+ +\d+ +[\d.]+ +([\d.]+) *$", done.stdout, re.MULTILINE)
    if (done.returncode or not rates) and again:
        return honest(netperf, seconds, six, False)
    if done.returncode or not rates:
        raise SystemExit(f"the honest client failed: {done.stdout}{done.stderr}")
    return float(rates[0])


class Client:
    """An honest client that goes on, and how many transactions it has behind it."""

    def __init__(self, netperf, six):
        self.guest = FAMILIES[six].guest
        self.process = subprocess.Popen([netperf, "-H", self.guest, "-t", "TCP_RR", "-l", "600", "-P", "0"],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(150):
            if self.done() > 100:
                return
            time.sleep(.1)
        raise SystemExit("the honest client did not get through")

    def done(self):
        """Segments of data of the one connection that has sent many."""
        lines = subprocess.run(["ss", "-tinHO", "dst", f"[{self.guest}]"], capture_output=True, text=True, check=True).stdout
        return max((int(n) for n in re.findall(r"data_segs_out:(\d+)", lines)), default=0)

    def rate(self):
        """Transactions a second in the next slice."""
        time.sleep(SETTLE)
        before, start = self.done(), time.monotonic()
        time.sleep(SLICE)
        return (self.done() - before) / (time.monotonic() - start)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def cost(guest, wire, hostile, rate):
    """QEMU's processor time for one hostile packet while nothing else goes on, in microseconds."""
    start, idle = time.monotonic(), guest.cpu()
    time.sleep(1)
    idle = (guest.cpu() - idle) / (time.monotonic() - start)
    start, used = time.monotonic(), guest.cpu()
    with Sender(wire, hostile, rate) as sender:
        time.sleep(1)
    used = guest.cpu() - used - idle * (time.monotonic() - start)
    return round(max(used, 0) / max(sender.sent, 1) * 1e6, 1)


def compare(args, wire, hostile):
    """Attack and reference in turn; returns frames sent at the guest and the rates of both."""
    attacked, reference, sent = [], [], 0
    harmless = [elsewhere(f) for f in hostile]
    for six in (0, 1):
        with Sender(wire, hostile, args.rate) as sender, Client(args.netperf, six) as client:
            for i in range(args.pairs // 2):
                for rates, packets in ((attacked, hostile), (reference, harmless))[::1 if i % 2 else -1]:
                    sender.packets, before = packets, sender.sent
                    rates.append(client.rate())
                    sent += sender.sent - before if packets is hostile else 0
    return sent, attacked, reference


def measure(args, guest, wire, name, hostile):
    result = {"record": "attack", "attack": name}
    before = guest.free()
    memory = Memory(guest)
    memory.start()
    if args.pairs:
        attacked, reference, quotients, result["sent"] = [], [], [], 0
        while not quotients or (statistics.median(quotients) < CLEAR and len(quotients) < 3 * args.pairs):
            sent, a, r = compare(args, wire, hostile)
            result["sent"] += sent
            attacked += a
            reference += r
            quotients = [a / max(r, 1) for a, r in zip(attacked, reference)]
        result["attacked"] = round(statistics.median(attacked), 1)
        result["reference"] = round(statistics.median(reference), 1)
        result["ratio"] = round(statistics.median(quotients), 3)
        result["ratios"] = [round(q, 2) for q in quotients]
    if args.pairs >= DETAILED:
        used = guest.cpu()
        result["cpu_us_honest"] = honest(args.netperf, 1, 0)
        result["cpu_us_honest"] = round((guest.cpu() - used) / result["cpu_us_honest"] * 1e6, 1)
        result["cpu_us"] = cost(guest, wire, hostile, args.rate)
    if not args.pairs:
        with Sender(wire, hostile, args.rate) as sender:
            result["attacked"] = honest(args.netperf, args.seconds, random.randrange(2))
        result["sent"] = sender.sent
    while attack_frames.held:
        attack_frames.held.pop().close()
    time.sleep(QUIET)
    memory.over.set()
    memory.join()
    after = guest.free()
    if None not in (before, memory.least, after):
        result["memory_kib"], result["left_kib"] = before - memory.least, before - after
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("netperf")
    parser.add_argument("seconds", type=int)
    parser.add_argument("rate", type=int)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    mac = getmacbyip(FAMILIES[0].guest)
    Station().start()
    wires = (bound(0x0800), bound(0x86dd))
    guest = Guest()

    def connect(f, sport, dport=attack_frames.ECHO, **kw):
        return Connection(wires[f.six], mac, f, sport, dport, **kw)

    for attack in attack_frames.ATTACKS:
        if args.names and attack.__name__ not in args.names:
            continue
        for wire in wires:
            attach(wire, ALL)
        both = [frames(attack(f, connect) if attack.__code__.co_argcount > 1 else attack(f), mac) for f in FAMILIES]
        n = max(map(len, both))
        hostile = [b[i % len(b)] for i in range(n) for b in both]
        for wire in wires:  # nobody reads there meanwhile
            attach(wire, NOTHING)
        print(json.dumps(measure(args, guest, wires[0], attack.__name__, hostile)), flush=True)


if __name__ == "__main__":
    main()
