# SPDX-License-Identifier: MIT
"""The network device under load and change.

Load patterns that have made other drivers or devices lose a notification and stand
still; each row of PATTERNS names the report that it is from.  They run over user
networking, a tap device and Unix datagram sockets (the peer is then a second guest),
with and without event indices, with one and two pairs of queues, with rings of 32
entries.  The guest itself watches: no packet for STILL seconds while a pattern runs
is a failure.  LONG=1: all combinations, LONG times as long.
"""

import contextlib
import itertools
import json
import os
import queue
import re
import socket
import subprocess
import threading
import time

import pytest

from conftest import OUT, ROOT, TALLY
from tapnet import UNTIL_TOLD, needs_tap, tap

LONG = int(os.environ.get("LONG") or 0)
SECONDS = max(1, LONG)
STILL = 8  # seconds; a machine under load stands still for one or two by itself

# {peer}: the netserver's address, {s}: seconds, {n}: 1 or LONG.
PATTERNS = {
    # Load with event indices, both directions at once: notifications missed (OSv 053bcf8e,
    # 383, 8e89eab2); barrier between avail_event and the index (cloud-hypervisor 2179).
    "osv_383": "for t in TCP_STREAM TCP_MAERTS; do netperf -4 -H {peer} -l {s} -P 0 -t $t & done; wait",
    # Messages of 128 bytes: the transmit queue stuck (OSv 419); small packets as chains or
    # tables (OSv 84ec83cc).
    "osv_419": "netperf -4 -H {peer} -l {s} -P 0 -t TCP_STREAM -- -m 128 -D;"
               "netperf -4 -H {peer} -l {s} -P 0 -t UDP_STREAM -- -m 128",
    # A hundred streams (OSv 500).
    "osv_500": "for i in $(seq {many}); do netperf -4 -H {peer} -l {s} -P 0 -t TCP_STREAM & done; wait",
    # Hundreds of short runs in a row: no interrupt when the available ring runs empty (lkl 165).
    "lkl_165": "for i in $(seq $((5 * {n}))); do netperf -4 -H {peer} -l -100000 -P 0 -t TCP_MAERTS;"
               "netperf -4 -H {peer} -l -100000 -P 0 -t TCP_STREAM; done",
    # Many requests at once: used_event looked at too early (cloud-hypervisor 897).
    "ch_897": "for i in 1 2 3 4 5 6; do netperf -4 -H {peer} -l {s} -P 0 -t TCP_RR & done; wait",
    # More comes than the ring has buffers for (qemu 267).
    "qemu_267": "for i in 1 2 3; do netperf -4 -H {peer} -l {s} -P 0 -t TCP_MAERTS -- -m 64K & done; wait",
    # Small requests, each with a connection: silence after some minutes (nanos 2099).
    "nanos_2099": "for i in 1 2; do netperf -4 -H {peer} -l {s} -P 0 -t TCP_CRR & done; wait",
}

WATCH = f"""
watch() {{
	n=0; last=
	while [ -e /tmp/running ]; do
		now=$(grep eth0 /proc/net/dev | tr -s ' ' | cut -d ' ' -f 4,12)
		if [ "$now" = "$last" ]; then n=$((n + 1)); else n=0; fi
		last=$now
		if [ $n -ge {STILL} ]; then echo "STILL in $pattern"; cat /proc/tally/net; poweroff -f; fi
		sleep 1
	done
}}
run() {{
	pattern=$1; touch /tmp/running; watch & watcher=$!
	(eval "$2") > /tmp/out 2>&1 || {{ echo "FAILED $1"; cat /tmp/out; }}
	rm /tmp/running; wait $watcher
	echo "DONE $1 $(grep eth0 /proc/net/dev | tr -s ' ' | cut -d ' ' -f 4,12)"
}}
"""


def text_for(peer):
    """What the guest does, with the peer at an address."""
    runs = "".join(f"run {name} '{text.format(peer=peer, s=SECONDS, n=max(1, LONG), many=100 if LONG else 20)}'\n"
                   for name, text in PATTERNS.items())
    # A peer that is up need not have its server yet.
    return (WATCH + f"n=0; until netperf -4 -H {peer} -l -1 -P 0 > /dev/null 2>&1 || [ $((n += 1)) -gt 200 ]; "
            "do sleep 0.3; done\n"
            "echo \"BEGIN $(grep eth0 /proc/net/dev | tr -s ' ' | cut -d ' ' -f 4,12)\"\n"
            + runs + "grep -E 'tcp_retransmits|tcp_timeouts' /proc/tally/net; grep eth0 /proc/net/dev\n")


def check(output, log):
    done = re.findall(r"^DONE (\w+) (\d+) (\d+)", output, re.MULTILINE)
    assert [name for name, _, _ in done] == list(PATTERNS), output
    assert "STILL" not in output and "FAILED" not in output, output
    counts = [int(received) + int(sent)
              for received, sent in re.findall(r"^(?:BEGIN|DONE \w+) (\d+) (\d+)", output, re.MULTILINE)]
    assert len(counts) == len(PATTERNS) + 1, output
    assert all(b - a > 20 for a, b in zip(counts, counts[1:])), output
    with open(log, encoding="utf-8", errors="replace") as f:
        complaints = [line for line in f if re.search(r"virtio: |panic:|control queue|shut down", line)]
    assert not complaints, complaints


TIME = len(PATTERNS) * SECONDS * 4 + 360  # what stands still is found sooner, by the guest


def guest(tmp_path, name, *args):
    """A runner's command line."""
    return [TALLY, "run", "--mem", "512M", "--timeout", str(TIME),
            "--log", str(tmp_path / f"{name}.log"), *args]


def over_user(tmp_path, args, append):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with subprocess.Popen([os.path.join(OUT, "apps", "netserver"), "-D", "-4", "-p", str(port)],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            text = text_for("10.0.2.2").replace("netperf -4", f"netperf -4 -p {port}")
            done = subprocess.run(guest(tmp_path, "a", "--smp", "2", "--net", "user", "--append", append,
                                        "--exec", text, *args),
                                  capture_output=True, text=True, cwd=ROOT, timeout=TIME + 30, check=False,
                                  stdin=subprocess.DEVNULL)
        finally:
            server.kill()
    return done.stdout + done.stderr


def over_tap(tmp_path, args, append):
    queues = int(args[args.index("--queues") + 1]) if "--queues" in args else 1
    command = guest(tmp_path, "a", "--smp", str(max(2, queues)), "--net", "tap:t0", *args, "--append",
                    f"ip=192.168.77.2::192.168.77.1:255.255.255.0::eth0:off {append}", "--exec")
    script = f"""
ip link set lo up && ip tuntap add t0 mode tap {"multi_queue" if queues > 1 else ""} &&
ip addr add 192.168.77.1/24 dev t0 && ip link set t0 up || exit 77
{os.path.join(OUT, "apps", "netserver")} -D -4 > /dev/null 2>&1 & server=$!
"$@"
status=$?
kill $server
exit $status
"""
    done = subprocess.run(["unshare", "-n", "sh", "-c", script, "sh", *command, text_for("192.168.77.1")],
                          capture_output=True, text=True, cwd=ROOT, timeout=TIME + 30, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode == 77:
        pytest.skip("no network namespace: " + done.stderr)
    return done.stdout + done.stderr


def over_dgram(tmp_path, args, append):
    """Two guests; each frame is a datagram between their sockets."""
    a, b = tmp_path / "a.sock", tmp_path / "b.sock"
    with subprocess.Popen(guest(tmp_path, "b", "--smp", "2", "--net", f"dgram:{b}:{a}", *args, "--append",
                                f"ip=10.9.0.2:::255.255.255.0::eth0:off {append}", "--net-device",
                                "mac=52:54:00:00:00:02", "--exec", "netserver -D -4 & sleep 100000"),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT,
                          stdin=subprocess.DEVNULL) as peer:
        try:
            done = subprocess.run(guest(tmp_path, "a", "--smp", "2", "--net", f"dgram:{a}:{b}", *args,
                                        "--append", f"ip=10.9.0.1:::255.255.255.0::eth0:off {append}",
                                        "--exec", text_for("10.9.0.2")),
                                  capture_output=True, text=True, cwd=ROOT, timeout=TIME + 30, check=False,
                                  stdin=subprocess.DEVNULL)
        finally:
            peer.terminate()
    return done.stdout + done.stderr


ALL = [(wire, event, queues, ring) for wire, event, queues, ring in
       itertools.product((over_user, over_tap, over_dgram), (True, False), (1, 2), (32, 256))
       if queues == 1 or wire is over_tap]
SHORT = [(over_user, True, 1, 32), (over_tap, True, 2, 256), (over_tap, False, 1, 32), (over_dgram, True, 1, 256)]


@pytest.mark.parametrize("wire, event, queues, ring", ALL if LONG else SHORT,
                         ids=lambda v: v.__name__ if callable(v) else str(v))
def test_nothing_stands_still(tmp_path, wire, event, queues, ring):
    if wire is over_tap and (os.geteuid() != 0 or not os.path.exists("/dev/net/tun")):
        pytest.skip("tap devices need root and /dev/net/tun")
    args = [] if queues == 1 else ["--queues", str(queues)]
    output = wire(tmp_path, args, f"net.ring={ring} net.noevent={int(not event)}")
    check(output, tmp_path / "a.log")


@needs_tap
@pytest.mark.parametrize("properties", ["mrg_rxbuf=off", "mrg_rxbuf=off,indirect_desc=off", "guest_tso4=off",
                                        "event_idx=off,host_mtu=1400"])
def test_device_without(properties):
    """What the device does not offer is done without (OSv 1058): every byte arrives, both ways."""
    lines, host = tap("ifconfig eth0 | grep MTU; nc -l -p 7000 > /tmp/f; md5sum < /tmp/f; nc -l -p 7001 < /tmp/f;"
                      + UNTIL_TOLD, """
head -c 20000000 /dev/urandom > /tmp/virtio.$$; md5sum < /tmp/virtio.$$
/usr/bin/python3 - /tmp/virtio.$$ <<'PY'
import hashlib, socket, sys, time
def connect(port):
    for _ in range(100):
        try:
            return socket.create_connection(("192.168.77.2", port), timeout=30)
        except ConnectionRefusedError:
            time.sleep(0.2)
s = connect(7000)
s.sendall(open(sys.argv[1], "rb").read())
s.shutdown(socket.SHUT_WR)
while s.recv(100):
    pass
s = connect(7001)
digest = hashlib.md5()
while piece := s.recv(1 << 20):
    digest.update(piece)
print(digest.hexdigest(), " back")
PY
rm /tmp/virtio.$$
""", "--net-device", properties)
    sums = re.findall(r"^[0-9a-f]{32}", host + "\n" + lines, re.MULTILINE)
    assert len(sums) == 3 and len(set(sums)) == 1, host + lines
    if "host_mtu" in properties:
        assert "MTU:1400" in lines


class Monitor:
    """QEMU's own socket."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        for _ in range(200):
            with contextlib.suppress(OSError):
                self.sock.connect(str(path))
                break
            time.sleep(0.1)
        self.file = self.sock.makefile("rw", encoding="utf-8")
        self.file.readline()
        self.do("qmp_capabilities")

    def do(self, command, **arguments):
        """One command; what else QEMU says meanwhile is news."""
        self.file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline())
            assert "error" not in answer, answer
            if "return" in answer:
                return


class Lines:
    """What a process prints, as it comes."""

    def __init__(self, stream):
        self.queue = queue.Queue()
        self.seen = []
        threading.Thread(target=self.read, args=(stream,), daemon=True).start()

    def read(self, stream):
        for line in stream:
            self.queue.put(line.rstrip())
        self.queue.put(None)

    def until(self, pattern, seconds=40):
        """The first line that fits."""
        end = time.monotonic() + seconds
        while True:
            try:
                line = self.queue.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                line = None
            assert line is not None, f"no {pattern!r} in {self.seen}"
            self.seen.append(line)
            if re.search(pattern, line):
                return line


def test_link_down_and_up(tmp_path):
    """A connection rests while the link is down and goes on when it is back, nothing lost."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.settimeout(40)
        port = listener.getsockname()[1]
        text = (f"(i=0; while [ $i -lt 100000 ]; do echo $((i += 1)); usleep 50000; done) | nc 10.0.2.2 {port} & "
                "while :; do now=$(ip link show eth0 | head -1); "
                "[ \"$now\" = \"$last\" ] || { last=$now; echo \"LINK $now\"; }; usleep 200000; done")
        with subprocess.Popen([TALLY, "run", "--smp", "2", "--mem", "512M", "--net", "user", "--qmp",
                               str(tmp_path / "qmp"), "--log", str(tmp_path / "log"), "--timeout", "120",
                               "--exec", text], stdout=subprocess.PIPE, text=True, cwd=ROOT,
                              stdin=subprocess.DEVNULL) as runner:
            try:
                lines = Lines(runner.stdout)
                lines.until("LINK .*LOWER_UP")
                client = Lines(listener.accept()[0].makefile(encoding="utf-8"))
                client.until("^20$")
                monitor = Monitor(tmp_path / "qmp")
                monitor.do("set_link", name="nic0", up=False)
                lines.until("LINK .*NO-CARRIER")
                time.sleep(1)
                while not client.queue.empty():
                    client.seen.append(client.queue.get())
                stopped = len(client.seen)
                time.sleep(2)
                assert client.queue.empty(), "packets pass while the link is down"
                monitor.do("set_link", name="nic0", up=True)
                lines.until("LINK .*LOWER_UP")
                client.until(f"^{stopped + 100}$", 60)
                assert client.seen == [str(i + 1) for i in range(len(client.seen))]
            finally:
                runner.terminate()
    log = (tmp_path / "log").read_text(errors="replace")
    assert "eth0: link down" in log and "eth0: link up" in log
    assert "lease has ended" not in log


def test_hardware_address(run):
    """Changed while the device is in use; whoever sent to the old one learns of it."""
    done = run("ping -c 1 10.0.2.2 | grep received; ip link set eth0 address 52:54:00:aa:bb:cc; ip link show eth0;"
               "ping -c 2 10.0.2.2 | grep received; ip link set eth0 address 03:00:00:00:00:01 || echo refused;"
               "ifconfig eth0 hw ether 52:54:00:aa:bb:cd; ifconfig eth0; ping -c 2 10.0.2.2 | grep received",
               "--net", "user")
    assert done.status == 0, done.out
    assert "52:54:00:aa:bb:cc" in done.out and "52:54:00:AA:BB:CD" in done.out and "refused" in done.out
    assert "1 packets received" in done.out and done.out.count("2 packets received") == 2


def test_announcements(tmp_path):
    """Who is on the wire hears of us when the link comes back, and when a migration has ended."""
    ours, theirs = tmp_path / "guest.sock", tmp_path / "test.sock"
    wire = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    wire.bind(str(theirs))
    mac = bytes.fromhex("525400123456")

    def heard(seconds):
        """(gratuitous ARP, unsolicited advertisement): did they come within some seconds?"""
        arp = advertised = False
        end = time.monotonic() + seconds
        while time.monotonic() < end and not (arp and advertised):
            wire.settimeout(max(0.01, end - time.monotonic()))
            try:
                frame = wire.recv(70000)
            except socket.timeout:
                break
            if frame[6:12] != mac:
                continue
            if frame[12:14] == b"\x08\x06" and frame[28:32] == frame[38:42] == bytes([10, 9, 0, 1]):
                arp = True
            if frame[12:14] == b"\x86\xdd" and frame[20] == 58 and frame[54] == 136 and not frame[58] & 0x40:
                advertised = True
        return arp, advertised

    with subprocess.Popen([TALLY, "run", "--smp", "1", "--mem", "512M", "--net", f"dgram:{ours}:{theirs}",
                           "--qmp", str(tmp_path / "qmp"), "--append", "ip=10.9.0.1:::255.255.255.0::eth0:off",
                           "--timeout", "120", "--exec", "sleep 4; echo READY; sleep 1000"],
                          stdout=subprocess.PIPE, text=True, cwd=ROOT, stdin=subprocess.DEVNULL) as runner:
        try:
            Lines(runner.stdout).until("READY")
            monitor = Monitor(tmp_path / "qmp")
            heard(1)
            monitor.do("set_link", name="nic0", up=False)
            time.sleep(1)
            monitor.do("set_link", name="nic0", up=True)
            assert heard(20) == (True, True)
            while heard(3) != (False, False):  # what else a new link brings
                pass
            # QEMU's own announcements are reverse ARP; the device asks for ours as well.
            monitor.do("announce-self", initial=50, max=100, rounds=1, step=50)
            assert heard(20) == (True, True)
        finally:
            runner.terminate()
            wire.close()
