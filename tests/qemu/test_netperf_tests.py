# SPDX-License-Identifier: MIT
"""Every netperf test on this Linux: the server's messages word by word, the client's output."""

import re
import socket
import struct
import subprocess
import threading

import pytest

import peer
from test_netperf_linux import LINUX_RCVBUF, LINUX_SNDBUF, NETPERF, free_port, server  # noqa: F401

# pylint: disable=redefined-outer-name
M1 = -1
TRANSACTIONS = 50


def to_float(word):
    return struct.unpack(">f", struct.pack(">I", word))[0]


def ask(control, words):
    """The answer to a request."""
    control.sendall(peer.pack({1: M1, **words}))
    return peer.receive(control)


def omni(direction, kind=1, **more):
    words = {0: 97, 2: M1, 3: M1, 4: 8, 7: M1, 8: M1, 9: M1, 10: 8, 13: M1, 14: 32, 19: M1, 20: M1,
             21: M1, 23: 4, 24: kind, 25: 6 if kind == 1 else 17, 26: direction, 38: M1, 39: M1}
    words.update({int(k[1:]): v for k, v in more.items()})
    return words


def transactions(port, count, size=1, each=False):
    """Requests and answers over one connection, or over one each."""
    sock = None
    for _ in range(count):
        if sock is None:
            sock = socket.create_connection(("127.0.0.1", port), timeout=20)
        sock.sendall(b"r" * size)
        assert len(sock.recv(100)) == size
        if each:
            assert sock.recv(1) == b"", "the server closes first"
            sock.close()
            sock = None
    return sock


@pytest.mark.parametrize("number,each", [(13, False), (34, True)])
def test_classic_transactions(server, number, each):
    with peer.connect(4, server) as control:
        answer = ask(control, {0: number, 2: M1, 3: M1, 8: 3, 9: 3, 13: -TRANSACTIONS, 17: 4})
        port = answer.pop(7)
        assert answer == {0: number + 1, 2: LINUX_RCVBUF, 6: LINUX_SNDBUF}
        transactions(port, TRANSACTIONS, 3, each)
        results = peer.receive(control)
        assert 0 < to_float(results.pop(5)) < 20
        assert results == {0: number + 2, 2: 6 * TRANSACTIONS, 3: TRANSACTIONS, 4: TRANSACTIONS}


def test_classic_connect_close(server):
    with peer.connect(4, server) as control:
        answer = ask(control, {0: 300, 2: M1, 3: M1, 13: -10, 17: 4})
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", answer[7]), timeout=20) as s:
                assert s.recv(1) == b""
        assert peer.receive(control)[4] == 10


def test_classic_maerts(server):
    with peer.connect(4, server) as control:
        answer = ask(control, {0: 94, 2: M1, 3: M1, 4: 5000, 10: 1, 16: 4})
        assert answer[0] == 95 and answer[3] == 5000
        with socket.create_connection(("127.0.0.1", answer[8]), timeout=20) as s:
            total = 0
            while piece := s.recv(1 << 20):
                total += len(piece)
        results = peer.receive(control)
        assert results[0] == 96
        assert peer.to_double(results[2], results.get(3, 0)) == total > 0
        assert results[4] >= total // 5000


def test_classic_datagrams(server):
    with peer.connect(4, server) as control, socket.socket(type=socket.SOCK_DGRAM) as s:
        answer = ask(control, {0: 19, 2: M1, 3: M1, 8: 100, 9: 200, 13: -5, 17: 4})
        s.settimeout(20)
        s.connect(("127.0.0.1", answer[7]))
        for _ in range(5):
            s.send(b"q" * 100)
            assert len(s.recv(1000)) == 200
        assert peer.receive(control)[4] == 5
    with peer.connect(4, server) as control, socket.socket(type=socket.SOCK_DGRAM) as s:
        answer = ask(control, {0: 16, 2: M1, 3: 64, 10: 1, 14: 4})
        for size in (64, 64, 64, 10):  # another size ends the test
            s.sendto(b"d" * size, ("127.0.0.1", answer[6]))
        results = peer.receive(control)
        assert results[2] == 3 and results[3] == 192


def test_omni_transactions(server):
    with peer.connect(4, server) as control:
        answer = ask(control, omni(6, w7=1, w12=1, w13=1, w16=-100))
        port = answer.pop(13)
        assert answer == {0: 98, 2: LINUX_RCVBUF, 3: 1, 4: 1, 5: LINUX_SNDBUF, 6: 1, 7: 1,
                          18: 0xffffffff, 19: 0xffffffff}
        sock = transactions(port, 100)
        results = peer.receive(control)
        assert sock.recv(1) == b""
        assert {k: results[k] for k in (0, 3, 4, 7, 8, 11)} == {0: 99, 3: 100, 4: 100, 7: 100, 8: 100,
                                                               11: 100}
        assert struct.pack(">4I", *(results.get(n, 0) for n in range(69, 73))).strip(b"\0").isalpha()
        answer = ask(control, omni(6, w7=1, w13=1, w14=36, w16=-20))
        transactions(answer[13], 20, each=True)
        assert peer.receive(control)[11] == 20


def test_omni_streams(server):
    with peer.connect(4, server) as control:
        answer = ask(control, omni(4, w6=2, w16=-1024000))
        with socket.create_connection(("127.0.0.1", answer[13]), timeout=20) as s:
            s.sendall(b"x" * 1024000)
            assert s.recv(1) == b""
        results = peer.receive(control)
        assert results.get(2, 0) == 0 and results[3] == 1024000 and 11 not in results
        answer = ask(control, omni(2, w3=16384, w16=-1024000))
        assert answer[6] == 16384
        with socket.create_connection(("127.0.0.1", answer[13]), timeout=20) as s:
            total = 0
            while piece := s.recv(1 << 20):
                total += len(piece)
        results = peer.receive(control)
        assert total == results[7] == 0xfc000 and results[8] == 63


def test_omni_datagrams(server):
    with peer.connect(4, server) as control, socket.socket(type=socket.SOCK_DGRAM) as s:
        s.settimeout(20)
        s.bind(("127.0.0.1", 0))
        answer = ask(control, omni(4, 2, w16=20))
        for size in (100, 200, 0, 0, 0):  # empty ones end the test
            s.sendto(b"d" * size, ("127.0.0.1", answer[13]))
        results = peer.receive(control)
        assert results[3] == 300 and results[4] == 2 and to_float(results[12]) < 20
        ask(control, omni(2, 2, w3=1000, w16=-5000, w27=s.getsockname()[1]))
        sizes = [len(s.recv(2000)) for _ in range(8)]
        assert sizes == [1000] * 5 + [0] * 3
        assert peer.receive(control)[7] == 5000


def test_omni_refuses(server):
    with peer.connect(4, server) as control:
        assert ask(control, omni(4, 4))[1] == 93  # EPROTONOSUPPORT, and the connection stays
        assert ask(control, {0: 1}) == {0: 3}


def client(port, *args):
    done = subprocess.run([NETPERF, "-H", "127.0.0.1", "-p", str(port), *args], capture_output=True,
                          text=True, timeout=40, check=False, cwd="/tmp")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("test", ["TCP_RR", "TCP_CRR", "TCP_CC", "UDP_RR"])
def test_client_transactions(server, test):
    out = client(server, "-t", test, "-l", "-200", "--", "-r", "10,20", "-k",
                 "THROUGHPUT,THROUGHPUT_UNITS,REMOTE_BYTES_RECVD,P50_LATENCY,P99_LATENCY")
    values = dict(line.split("=") for line in out.splitlines() if "=" in line)
    assert values["THROUGHPUT_UNITS"] == "Trans/s" and float(values["THROUGHPUT"]) > 10
    assert values["REMOTE_BYTES_RECVD"] == ("0" if test == "TCP_CC" else "2000")
    assert 0 < float(values["P50_LATENCY"]) <= float(values["P99_LATENCY"])


def test_client_tables(server):
    out = client(server, "-t", "TCP_RR", "-l", "-100").splitlines()
    assert out[0].startswith("MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET")
    assert re.fullmatch(r"16384  131072 1        1       \d\.\d\d    +\d+\.\d\d   ", out[6])
    assert out[7] == "16384  131072"
    out = client(server, "-t", "UDP_STREAM", "-l", "1", "-P", "0", "--", "-m", "1000").splitlines()
    sent, received = out[0].split(), out[1].split()
    assert sent[1] == "1000" and int(sent[3]) >= int(received[2]) > 0
    out = client(server, "-t", "TCP_MAERTS", "-l", "1", "-P", "0").split()
    assert out[:3] == ["131072", "16384", "16384"] and float(out[4]) > 1
    out = client(server, "-t", "omni", "-l", "-100000", "-f", "K", "--", "-d", "send", "-o",
                 "THROUGHPUT_UNITS,LOCAL_BYTES_SENT,REMOTE_BYTES_RECVD").splitlines()
    units, sent, received = out[-1].split(",")
    assert units == "KBytes/s" and sent == received and int(sent) >= 100000


def test_client_unknown_key():
    done = subprocess.run([NETPERF, "-p", str(free_port()), "-t", "TCP_RR", "--", "-k", "THROUGHPUT,NOSUCH"],
                          capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode != 0 and "NOSUCH" in done.stderr


def test_on_tally(run):
    """Each test once against our server, both in the guest."""
    tests = "TCP_STREAM TCP_MAERTS TCP_RR TCP_CRR TCP_CC UDP_STREAM UDP_RR"
    done = run(f"netserver >/dev/null; for t in {tests}; do netperf -6 -H ::1 -l 1 -P 0 -t $t -- -k"
               " PROTOCOL,DIRECTION,THROUGHPUT || exit 1; done", timeout=120)
    assert done.status == 0, done.out + done.err
    values = [float(line.split("=")[1]) for line in done.out.splitlines() if "THROUGHPUT=" in line]
    assert len(values) == 7 and min(values) > 1


class OldServer(threading.Thread):
    """Passes one control connection on to a server, but knows no OMNI; keeps the requests' types."""

    def __init__(self, behind):
        super().__init__(daemon=True)
        self.behind, self.types = behind, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        client, _ = self.listener.accept()
        with client, peer.connect(4, self.behind) as control:
            while words := peer.receive(client):
                self.types.append(words[0])
                if words[0] == 97:
                    client.sendall(peer.pack({0: 98, 1: 998}))
                    continue
                control.sendall(peer.pack(words))
                for _ in range(2):  # the answer, the results
                    client.sendall(peer.pack(peer.receive(control)))


@pytest.mark.parametrize("name,number,length", [
    ("TCP_RR", 13, "-20"), ("TCP_CRR", 34, "-20"), ("TCP_CC", 300, "-20"), ("UDP_RR", 19, "-20"),
    ("TCP_MAERTS", 94, "1"), ("UDP_STREAM", 16, "1"), ("TCP_STREAM", 10, "-100000")])
def test_client_of_a_server_without_omni(server, name, number, length):
    old = OldServer(server)
    done = subprocess.run(
        [NETPERF, "-H", "127.0.0.1", "-p", str(old.port), "-t", name, "-l", length, "--",
         *(["-r", "30,40"] if "RR" in name else []), "-k", "THROUGHPUT,REMOTE_RECV_CALLS,REMOTE_SEND_CALLS"],
        capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, ""), name
    values = dict(line.split("=") for line in done.stdout.split("\n") if "=" in line)
    assert old.types == [97, number]
    assert float(values["THROUGHPUT"]) > 0
    calls = "REMOTE_SEND_CALLS" if name == "TCP_MAERTS" else "REMOTE_RECV_CALLS"
    assert name == "TCP_CC" or int(values[calls]) >= (20 if length == "-20" else 1)
