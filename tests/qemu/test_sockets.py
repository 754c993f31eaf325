# SPDX-License-Identifier: MIT
"""Socket calls that few programs make, on Linux and on Tally."""

import os
import re
import subprocess

import pytest

from test_process import build

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="wants a network of its own on Linux")

SEQUENCES = int(os.environ.get("SEQUENCES", "1000"))

# Nothing but loopback, and no limit to ICMP errors.
NAMESPACE = """ip link set lo up
echo 100000 >/proc/sys/net/ipv4/icmp_msgs_per_sec
echo 100000 >/proc/sys/net/ipv4/icmp_msgs_burst
echo 0 >/proc/sys/net/ipv6/icmp/ratelimit
exec "$@"
"""

# What may differ: (line, Linux's answer, Tally's), why.
KNOWN = [
    (r"connect .* = EINVAL## = E", "shut down before its failure was told, Linux's socket connects no more"),
    (r"(connect|send) .* = EAFNOSUPPORT## = ", "IPv4 in an IPv6 socket that is bound to the other kind"),
    (r"send .* = EINVAL## = E(PIPE|NETUNREACH)", "two things are wrong"),
    (r"bind .* = EINVAL## = EADDRINUSE", "two things are wrong"),
    (r"getsockname .* = 0 ## = 0 ", "what bind() did not give goes with the connection; any of 127/8 is its own source"),
    (r"setsockopt IPV6_V6ONLY .* = 0## = EINVAL", "the same"),
    (r"getsockopt (IPV6_TCLASS|IPV6_RECVERR) .* = 0 ## = 0 ", "both families share the option"),
    (r"getsockopt IPV?6?_MTU .* = 0 ## = ENOTCONN", "Linux remembers the way of a connection that has ended"),
    (r"getsockopt TCP_INFO .* = 0 ## = 0 ", "the last acknowledgement is still to come, or not"),
    (r"recv .* = \d+ (flags \w+ )?## = \d+ (flags \w+ )?\[0 ", "the sender's name is the one when it sent"),
    (r"recv .* flags 2 .* = \d+ ## = \d+ ", "MSG_PEEK shows one message of a unix stream"),
    (r"connect .* = EINPROGRESS## = ENETUNREACH", "a source that is a broadcast address"),
]


def on_linux(*argv):
    return subprocess.run(["unshare", "-n", "sh", "-c", NAMESPACE, "sh", *map(str, argv)], capture_output=True,
                          text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)


def test_abuse(run):
    """Control messages that lie, threads that name one socket at once, sockets that connect again."""
    prog = build("sockabuse")
    p = on_linux(prog)
    assert p.stdout == "sockabuse: done\n", p.stdout
    r = run("sockabuse", "--smp", 4, "--add", prog)
    assert r.out.strip() == "sockabuse: done", r.out + r.err


def test_shared_descriptors(run):
    """Threads that make random calls on the same descriptors at once leave nothing behind."""
    r = run("""mkdir /sys/fs/cgroup/t
sh -c 'echo $$ >/sys/fs/cgroup/t/cgroup.procs; exec sockets 0 500 threads'
for i in 1 2 3 4 5 6 7 8 9 10; do
	grep -q '^sock 0$' /sys/fs/cgroup/t/memory.stat && break
	sleep 1
done
grep '^sock ' /sys/fs/cgroup/t/memory.stat""", "--smp", 4, "--add", build("sockets"), timeout=120)
    assert r.out.split() == ["threads:", "done", "sock", "0"], r.out + r.err


def sequences(text):
    """Number of a sequence: its lines."""
    found = {}
    lines = None
    for line in text.splitlines():
        if line.startswith("sequence "):
            lines = found.setdefault(int(line.split()[1]), [])
        elif lines is not None:
            lines.append(line.rstrip())
    return found


def difference(linux, tally):
    """Where the answers part for the first time, unless that is known: what went before, and both lines."""
    for i, (a, b) in enumerate(zip(linux, tally)):
        if a == b:
            continue
        call, _, theirs = a.partition(" = ")
        ours = b.partition(" = ")[2]
        # The call, and how far the answers are the same kind.
        text = f"{call} = {theirs}## = {ours}" if " " not in theirs else \
            f"{call} = {theirs.split('[')[0].split('len')[0]}## = {ours}"
        for known, _ in KNOWN:
            if re.search(known, text):
                return None
        return linux[:i] + ["Linux: " + a, "Tally: " + b]
    return ["Tally ends early"] if len(tally) < len(linux) else None


def test_random_calls(run):
    """Random sequences of calls on loopback have the same results, errors and events as on Linux."""
    prog = build("sockets")
    linux = sequences(on_linux(prog, 0, SEQUENCES, "all").stdout)
    assert len(linux) == SEQUENCES
    r = run(f"sockets 0 {SEQUENCES} all", "--add", prog, timeout=60 + SEQUENCES // 20)
    tally = sequences(r.out)
    differ = [n for n in linux if difference(linux[n], tally.get(n, []))]
    if differ and len(differ) < 20:  # timers may have come between two calls
        r = run("\n".join(f"sockets {n} 1 all" for n in differ), "--add", prog)
        again = sequences(r.out)
        differ = [n for n in differ if difference(linux[n], again.get(n, []))]
        tally.update(again)
    assert not differ, f"{len(differ)} of {SEQUENCES}\n" + "\n".join(
        f"sequence {n}\n" + "\n".join(difference(linux[n], tally.get(n, []))) for n in differ[:3])
