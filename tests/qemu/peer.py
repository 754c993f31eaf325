# SPDX-License-Identifier: MIT
"""The other end of netperf's control protocol, written from its description only."""

import socket
import struct

WORDS = 164


def pack(words):
    """A message from {word: value}."""
    values = [0] * WORDS
    for n, value in words.items():
        values[n] = value & 0xffffffff
    return struct.pack(f">{WORDS}I", *values)


def receive(sock):
    """{word: value} of the words that are not 0, or None at end of file."""
    data = b""
    while len(data) < 4 * WORDS:
        piece = sock.recv(4 * WORDS - len(data))
        if not piece:
            assert not data, "message cut short"
            return None
        data += piece
    return {n: v for n, v in enumerate(struct.unpack(f">{WORDS}I", data)) if v}


def to_double(hi, lo):
    return struct.unpack(">d", struct.pack(">II", hi, lo))[0]


def from_double(value):
    return struct.unpack(">II", struct.pack(">d", value))


def connect(family, port):
    host = "::1" if family == 6 else "127.0.0.1"
    sock = socket.create_connection((host, port), timeout=20)
    sock.settimeout(20)
    return sock
