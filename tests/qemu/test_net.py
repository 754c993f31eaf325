# SPDX-License-Identifier: MIT
"""The network device: user networking, real clients and servers on the host."""

import hashlib
import http.server
import os
import re
import socket
import subprocess
import threading
import time

import pytest

from conftest import OUT, ROOT, TALLY

BYTES = 10_000_000


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def data():
    return os.urandom(BYTES)


@pytest.fixture
def web(data):
    """An HTTP server on the host's loopback: its port; GET gives the data, PUT checks it."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()


class Guest:
    """A guest that runs a text while the test talks to it; ready once it prints READY."""

    def __init__(self, text, *args):
        self.process = subprocess.Popen(
            [TALLY, "run", "--smp", "2", "--mem", "512M", "--timeout", "60", "--exec", text, *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=ROOT)
        self.lines = []
        self.wait_for("READY")

    def wait_for(self, word):
        """Reads on until a line begins so, or the guest ends."""
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            if line.startswith(word):
                break

    def __enter__(self):
        return self

    def finish(self):
        out, err = self.process.communicate(timeout=90)
        assert self.process.returncode == 0, out + err
        return self.lines + out.splitlines()

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(timeout=20)


def test_without_device(run):
    done = run("ifconfig -a | grep -c Link; test ! -e /proc/net/none; cat /proc/net/route")
    assert done.status == 0
    assert done.out.splitlines()[0] == "1"


def test_dhcp(run):
    done = run("ifconfig eth0; route -n; cat /proc/net/pnp; ping -c 2 10.0.2.2; cat /proc/net/arp",
               "--net", "user")
    assert done.status == 0, done.out + done.err
    assert "inet addr:10.0.2.15  Bcast:10.0.2.255  Mask:255.255.255.0" in done.out
    assert "0.0.0.0         10.0.2.2        0.0.0.0         UG" in done.out
    assert "nameserver 10.0.2.3" in done.out
    assert "2 packets received, 0% packet loss" in done.out


def test_static_address(run):
    done = run("ifconfig eth0; ping -c 1 10.0.2.2; ifconfig eth0 10.0.2.30 netmask 255.255.255.0;"
               "route add default gw 10.0.2.2; ping -c 1 10.0.2.2 && ifconfig eth0",
               "--net", "user", "--append", "ip=10.0.2.20::10.0.2.2:255.255.255.0::eth0:off")
    assert done.status == 0, done.out + done.err
    assert "inet addr:10.0.2.20" in done.out
    assert "inet addr:10.0.2.30" in done.out
    assert done.out.count("1 packets received") == 2


def test_static_names(run):
    """All nine words of ip=; without a mask that of the address's class."""
    done = run("ifconfig eth0; hostname; cat /etc/resolv.conf", "--net", "user",
               "--append", "ip=172.20.0.5::::front:eth0:none:10.0.2.3:10.0.2.4")
    assert "inet addr:172.20.0.5 " in done.out and "Mask:255.255.0.0" in done.out
    assert done.out.split("front\n")[1] == "nameserver 10.0.2.3\nnameserver 10.0.2.4\n"


def test_groups(run):
    """The files that netstat -g and ip maddr read: what every host and every address joins."""
    done = run("sleep 2; ifconfig eth0 add fd00::5/64; cat /proc/net/igmp; cat /proc/net/igmp6",
               "--net", "user")
    assert re.search(r"^2\teth0 +: +1 +V3\n\t+010000E0 +1 0:00000000\t\t0$", done.out,
                     re.MULTILINE), done.out
    for group in ("ff020000000000000000000000000001", "ff0200000000000000000001ff000005"):
        assert re.search(rf"^2 +eth0 +{group} +1 0000000[0-9A-F] 0$", done.out,
                         re.MULTILINE), done.out


def test_more_counters(run):
    """/proc/net/netstat: a line of names, a line of values."""
    done = run("cat /proc/net/netstat")
    names, values = [line.split() for line in done.out.splitlines() if line.startswith("TcpExt:")]
    assert len(names) == len(values) and all(v.isdigit() for v in values[1:])
    assert {"ListenOverflows", "SyncookiesSent", "TCPTimeouts"} < set(names)


def test_ipv6(run):
    """Link-local and advertised address, with duplicate detection before."""
    done = run("sleep 3; ifconfig eth0; ping6 -c 1 fe80::2; cat /proc/net/if_inet6", "--net", "user")
    assert done.status == 0, done.out + done.err
    assert "Scope:Link" in done.out and "fec0::5054:ff:fe12:3456/64" in done.out
    assert "1 packets received" in done.out


def test_wget_from_host(run, web, data):
    done = run(f"wget -q -O /tmp/f http://10.0.2.2:{web}/f && md5sum < /tmp/f;"
               f"wget -O - http://10.0.2.2:{free_port()}/", "--net", "user")
    assert done.out.split()[0] == hashlib.md5(data).hexdigest()
    assert "refused" in done.out


def test_host_to_guest(data):
    """10 MB to the guest over a forwarded port, then the same 10 MB back."""
    port = free_port()
    # QEMU takes the client's connection before it asks the guest for one of its own: who comes
    # before the guest listens is let in, then closed or reset.
    listens = "until ss -tln | grep -q ':7000 '; do sleep 0.1; done"
    with Guest(f"nc -l -p 7000 > /tmp/f & {listens}; echo READY; wait; md5sum < /tmp/f;"
               f"nc -l -p 7000 < /tmp/f & {listens}; echo AGAIN; wait",
               "--net", f"user,{port}-7000") as guest:
        with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
        guest.wait_for("AGAIN")
        back = b""
        with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
            s.settimeout(30)
            while piece := s.recv(1 << 20):
                back += piece
        lines = guest.finish()
    assert hashlib.md5(data).hexdigest() in " ".join(lines)
    assert back == data


def test_httpd(data, tmp_path):
    """busybox httpd in the guest answers a client on the host, many times."""
    path = tmp_path / "f"
    path.write_bytes(data[:1_000_000])
    port = free_port()
    with Guest("httpd -p 80 -h /www; sleep 0.5; echo READY; sleep 25", "--net", f"user,{port}-80",
               "--add", f"{path}:/www/f") as guest:
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
                s.settimeout(30)
                s.sendall(b"GET /f HTTP/1.0\r\n\r\n")
                got = b""
                while piece := s.recv(65536):
                    got += piece
            head, _, body = got.partition(b"\r\n\r\n")
            assert b" 200 " in head.splitlines()[0]
            assert body == data[:1_000_000]
        assert guest.process.poll() is None


@pytest.mark.parametrize("parameter", ["net.noevent=1", "net.queues=1"])
def test_variants(run, web, data, parameter):
    done = run(f"wget -q -O - http://10.0.2.2:{web}/f | md5sum", "--net", "user", "--append", parameter)
    assert done.out.split()[0] == hashlib.md5(data).hexdigest()


@pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/net/tun"),
                    reason="tap devices need root and /dev/net/tun")
@pytest.mark.parametrize("queues", [1, 2])
def test_tap(queues):
    """Offloads and several queues, in a network namespace of its own; the peer is our netserver."""
    netserver = os.path.join(OUT, "apps", "netserver")
    text = ("ping -c 1 192.168.77.1 && netperf -4 -H 192.168.77.1 -l 1 -P 0 -t TCP_STREAM"
            " && netperf -4 -H 192.168.77.1 -l 1 -P 0 -t TCP_SENDFILE && grep eth0 /proc/net/dev")
    script = f"""
ip link set lo up && ip tuntap add t0 mode tap {"multi_queue" if queues > 1 else ""} &&
ip addr add 192.168.77.1/24 dev t0 && ip link set t0 up || exit 77
{netserver} -D -4 > /dev/null 2>&1 & server=$!
{TALLY} run --smp 2 --mem 512M --net tap:t0 --queues {queues} --timeout 50 \
 --append 'ip=192.168.77.2::192.168.77.1:255.255.255.0::eth0:off' --exec '{text}'
status=$?
kill $server
exit $status
"""
    done = subprocess.run(["unshare", "-n", "sh", "-c", script], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, cwd=ROOT, timeout=90, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no network namespace: " + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    rates = [float(line.split()[-1]) for line in lines
             if re.fullmatch(r"\d+ +\d+ +\d+ +[\d.]+ +[\d.]+", line.strip())]
    assert len(rates) == 2 and min(rates) > 1
    sent = [line for line in lines if "eth0:" in line][0].split()
    assert int(sent[9]) > 1_000_000
    assert int(sent[9]) / int(sent[10]) > 2000, "no packet was larger than the MTU"


@pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/net/tun"),
                    reason="tap devices need root and /dev/net/tun")
def test_home_queue():
    """A connection uses the pair of queues of its program's CPU, and the tap device answers there."""
    netserver = os.path.join(OUT, "apps", "netserver")
    text = "".join(f"taskset {1 << cpu} netperf -4 -H 192.168.77.1 -l 1 -P 0 -t TCP_MAERTS > /dev/null;"
                   f"echo CPU {cpu}; grep eth0- /proc/interrupts;" for cpu in (0, 1, 0))
    script = f"""
ip link set lo up && ip tuntap add t0 mode tap multi_queue && ip addr add 192.168.77.1/24 dev t0 &&
ip link set t0 up || exit 77
{netserver} -D -4 > /dev/null 2>&1 & server=$!
{TALLY} run --smp 2 --mem 512M --net tap:t0 --queues 2 --timeout 50 \
 --append 'ip=192.168.77.2::192.168.77.1:255.255.255.0::eth0:off' --exec '{text}'
status=$?
kill $server
exit $status
"""
    done = subprocess.run(["unshare", "-n", "sh", "-c", script], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, cwd=ROOT, timeout=90, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no network namespace: " + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = [(int(m[1]), int(m[2]), int(m[3])) for m in re.finditer(
        r"CPU (\d)\n\s*\d+: +(\d+) +\d+ +eth0-0\n\s*\d+: +\d+ +(\d+) +eth0-1", done.stdout)]
    assert [cpu for cpu, _, _ in seen] == [0, 1, 0], done.stdout
    for (_, zero, one), (cpu, zero2, one2) in zip(seen, seen[1:]):
        mine, other = (zero2 - zero, one2 - one) if cpu == 0 else (one2 - one, zero2 - zero)
        assert mine > 20 and mine > 3 * other, done.stdout
