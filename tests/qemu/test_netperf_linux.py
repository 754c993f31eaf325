# SPDX-License-Identifier: MIT
"""netserver and netperf on this Linux against a peer: every word of every message."""

import os
import re
import socket
import struct
import subprocess
import threading
import time

import pytest

import peer
from conftest import APPS

NETPERF = os.path.join(APPS, "netperf")
NETSERVER = os.path.join(APPS, "netserver")
LINUX_RCVBUF, LINUX_SNDBUF = 131072, 16384
MINUS_1 = 0xffffffff


def free_port():
    with socket.socket(socket.AF_INET6) as s:
        s.bind(("::", 0))
        return s.getsockname()[1]


@pytest.fixture
def server():
    """Port of a netserver in front."""
    port = free_port()
    with subprocess.Popen([NETSERVER, "-D", "-p", str(port)], stdout=subprocess.PIPE,
                          text=True) as process:
        line = process.stdout.readline()
        assert line == (f"Starting netserver with host 'IN(6)ADDR_ANY' port '{port}'"
                        " and family AF_UNSPEC\n")
        yield port
        process.terminate()


def request(length, family, **more):
    words = {0: 10, 1: -1, 2: -1, 3: -1, 5: 8, 10: length, 16: family}
    words.update({int(k[1:]): v for k, v in more.items()})
    return peer.pack(words)


def data_connection(family, port):
    return peer.connect(family, port)


@pytest.mark.parametrize("family", [4, 6])
def test_server_answers_word_by_word(server, family):
    with peer.connect(family, server) as control:
        for _ in range(2):  # a second request on the same control connection
            control.sendall(request(1024000, family))
            answer = peer.receive(control)
            port = answer.pop(8)
            assert 1024 < port < 65536
            assert answer == {0: 11, 2: LINUX_RCVBUF, 3: LINUX_RCVBUF, 7: LINUX_SNDBUF}
            with data_connection(family, port) as data:
                for _ in range(100):
                    data.sendall(b"x" * 10240)
                data.shutdown(socket.SHUT_WR)
                assert data.recv(4) == b""
                results = peer.receive(control)
            assert results.pop(0) == 12
            assert (results.pop(2), results.pop(3, 0)) == (0x412f4000, 0)
            assert 1 <= results.pop(4) <= 100
            assert 0 < struct.unpack(">f", struct.pack(">I", results.pop(5)))[0] < 20
            assert not results
        control.shutdown(socket.SHUT_WR)
        assert peer.receive(control) is None


def test_server_honours_the_request(server):
    with peer.connect(6, server) as control:
        port = free_port()
        control.sendall(request(5, 6, w2=65536, w3=32768, w4=4000, w7=1, w8=1, w15=port))
        answer = peer.receive(control)
        assert answer == {0: 11, 2: 65536, 3: 4000, 4: 1, 5: 1, 7: 131072, 8: port,
                          9: 0x42c80000}
        with data_connection(6, port) as data:
            data.sendall(b"y" * 8000)
            data.shutdown(socket.SHUT_WR)
            assert data.recv(1) == b""
        results = peer.receive(control)
        assert peer.to_double(results[2], results.get(3, 0)) == 8000
        assert results[8] == 8 and results[9] >= 1
        assert results[7] == 0xbf800000


def test_server_stops_by_its_own_timer(server):
    with peer.connect(4, server) as control:
        control.sendall(request(1, 4))
        answer = peer.receive(control)
        with data_connection(4, answer[8]) as data:
            data.sendall(b"z" * 100)
            start = time.monotonic()
            results = peer.receive(control)
            assert 4 < time.monotonic() - start < 8
        assert peer.to_double(results[2], results.get(3, 0)) == 100


@pytest.mark.parametrize("number", [4, 500, 540, 4711])
def test_unknown_request(server, number):
    with peer.connect(6, server) as control:
        for _ in range(2):
            control.sendall(peer.pack({0: number, 1: -1}))
            assert peer.receive(control)[1] == 998


def test_small_messages(server):
    with peer.connect(6, server) as control:
        control.sendall(peer.pack({0: 6}))  # passphrase: no answer
        control.sendall(peer.pack({0: 1}))
        assert peer.receive(control) == {0: 3}
        control.sendall(peer.pack({0: 2}))
        assert peer.receive(control) == {0: 3}
        control.sendall(peer.pack({0: 5}))
        answer = peer.receive(control)
        assert answer.pop(0) == 5 and answer.pop(3) >= 1 and not answer


def test_cut_message_closes(server):
    with peer.connect(6, server) as control:
        control.sendall(peer.pack({0: 10})[:100])
        control.shutdown(socket.SHUT_WR)
        assert control.recv(1) == b""


def test_client_that_goes_away_is_forgotten(server):
    with peer.connect(6, server) as control:
        control.sendall(request(1, 6))
        peer.receive(control)
    with peer.connect(6, server) as control:
        control.sendall(peer.pack({0: 1}))
        assert peer.receive(control) == {0: 3}


class FakeServer(threading.Thread):
    """A netserver of one control connection that notes the request and the offsets of data."""

    def __init__(self, family, count=None):
        super().__init__(daemon=True)
        kind = socket.AF_INET6 if family == 6 else socket.AF_INET
        host = "::1" if family == 6 else "127.0.0.1"
        self.listener = socket.create_server((host, 0), family=kind)
        self.port = self.listener.getsockname()[1]
        self.data_listener = socket.create_server((host, 0), family=kind)
        self.count = count
        self.request = None
        self.data = bytearray()
        self.closed = False
        self.bound_to = None

    def run(self):
        control, address = self.listener.accept()
        self.bound_to = address
        control.settimeout(20)
        self.request = peer.receive(control)
        control.sendall(peer.pack({0: 0x0b000000, 2: 131072, 3: 131072, 7: 16384,
                                   8: self.data_listener.getsockname()[1]}))
        data, _ = self.data_listener.accept()
        data.settimeout(20)
        total = 0
        while True:
            piece = data.recv(1 << 16)
            if not piece:
                break
            total += len(piece)
            if len(self.data) < 1 << 20:
                self.data += piece
        data.shutdown(socket.SHUT_WR)
        hi, lo = peer.from_double(float(total if self.count is None else self.count))
        control.sendall(peer.pack({0: 0x0c000000, 2: hi, 3: lo, 4: 7}))
        self.closed = peer.receive(control) is None
        data.close()
        control.close()


def netperf(*args, timeout=30):
    return subprocess.run([NETPERF, *args], capture_output=True, text=True, timeout=timeout,
                          check=False, cwd="/tmp")


@pytest.mark.parametrize("family", [4, 6])
def test_client_by_bytes(family):
    server = FakeServer(family)
    server.start()
    host = "::1" if family == 6 else "127.0.0.1"
    done = netperf(f"-{family}", "-H", host, "-p", str(server.port), "-l", "-1024000", "-t",
                   "TCP_SENDFILE", "--", "-m", "10K")
    server.join(10)
    assert done.returncode == 0, done.stderr
    assert server.request == {0: 10, 1: MINUS_1, 2: MINUS_1, 3: MINUS_1, 5: 8, 10: 0x000fa000,
                              16: family}
    assert len(server.data) == 1024000
    assert server.closed, "the client shuts the control connection down"
    # Two slots: 0, 10240, 0, 10240 ...; each file holds two records of 10244 bytes.
    blocks = [bytes(server.data[i:i + 10240]) for i in range(0, 1024000, 10240)]
    assert blocks[0] != blocks[1]
    assert blocks[0::2] == [blocks[0]] * 50 and blocks[1::2] == [blocks[1]] * 50
    lines = done.stdout.splitlines()
    assert re.fullmatch(rf"TCP SENDFILE TEST from \S+ \(\S+\) port 0 AF_INET6? to {host}"
                        rf" \({host}\) port 0 AF_INET6?", lines[0])
    assert lines[1:6] == ["Recv   Send    Send                          ",
                          "Socket Socket  Message  Elapsed              ",
                          "Size   Size    Size     Time     Throughput  ",
                          "bytes  bytes   bytes    secs.    10^6bits/sec  ", ""]
    assert re.fullmatch(r"131072  16384  10240    \d+\.\d\d +\d+\.\d\d   ", lines[6])


def test_client_by_time():
    server = FakeServer(6)
    server.start()
    start = time.monotonic()
    done = netperf("-6", "-H", "::1", "-p", str(server.port), "-l", "1", "-t", "TCP_SENDFILE",
                   "-P", "0", "--", "-m", "10K")
    assert 0.9 < time.monotonic() - start < 5
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 1
    assert server.request[10] == 1


def test_client_options():
    server = FakeServer(4, count=123456)
    server.start()
    done = netperf("-H", "127.0.0.1", "-p", str(server.port), "-l", "-100000", "-v", "2",
                   "--", "-m", "5k", "-M", "4096", "-s", "32768,65536", "-S", "8K,16K", "-D")
    assert done.returncode == 0, done.stderr
    assert server.request == {0: 10, 1: MINUS_1, 2: 8192, 3: 16384, 4: 4096, 5: 8, 7: 1,
                              10: 100000, 16: 4}
    assert "123456" in done.stdout


def test_interim_results():
    server = FakeServer(6)
    server.start()
    done = netperf("-6", "-H", "::1", "-p", str(server.port), "-l", "2", "-D", "0.5", "-t",
                   "TCP_STREAM")
    assert re.search(r"^Interim result: +\d+\.\d\d 10\^6bits/s over 0\.5\d\d seconds ending at "
                     r"\d+\.\d{3}$", done.stdout, flags=re.M)


def test_remote_error():
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        control, _ = listener.accept()
        peer.receive(control)
        control.sendall(peer.pack({0: 11, 1: 998}))
        control.recv(1)
        control.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    done = netperf("-4", "-H", "127.0.0.1", "-p", str(listener.getsockname()[1]), "-l", "1")
    assert done.returncode != 0
    assert "remote error 998" in done.stderr


def test_nobody_listens():
    done = netperf("-H", "::1", "-p", str(free_port()), "-l", "1")
    assert done.returncode != 0 and "netserver" in done.stderr


@pytest.mark.parametrize("args", [["-l", "x"], ["-t", "NOSUCH"], ["-H", "no.such.host"],
                                  ["-P", "2"], ["--", "-m", "0"], ["-l", "0"]])
def test_bad_arguments(args):
    done = netperf(*args)
    assert done.returncode != 0 and done.stderr


def test_36_clients(server):
    clients = [subprocess.Popen([NETPERF, "-6", "-H", "::1", "-p", str(server), "-l", "2", "-t",
                                 "TCP_SENDFILE", "-P", "0", "-v", "0", "--", "-m", "10K"],
                                stdout=subprocess.PIPE, text=True, cwd="/tmp")
               for _ in range(36)]
    outputs = [c.communicate(timeout=60)[0] for c in clients]
    assert all(float(out) > 0 for out in outputs)


def test_server_goes_to_the_background():
    port = free_port()
    start = time.monotonic()
    subprocess.run([NETSERVER, "-6", "-p", str(port)], check=True, stdout=subprocess.DEVNULL,
                   timeout=10)
    assert time.monotonic() - start < 5
    with socket.create_connection(("::1", port)) as control:
        control.sendall(peer.pack({0: 1}))
        assert peer.receive(control) == {0: 3}
    found = subprocess.run(["pgrep", "-f", f"netserver -6 -p {port}$"], capture_output=True,
                           text=True, check=True).stdout.split()
    for pid in found:
        os.kill(int(pid), 15)
    with pytest.raises(subprocess.CalledProcessError):
        subprocess.run([NETSERVER, "-p", "0"], check=True, capture_output=True)
