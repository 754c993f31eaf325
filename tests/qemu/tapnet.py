# SPDX-License-Identifier: MIT
"""A guest on a tap device in a network namespace of its own; the peer is this Linux, or scapy.

t0, the host's end, has 192.168.77.1 and fd77::1, the guest .2 and ::2.  The host's side is a
shell text that runs in the namespace when the guest is ready.
"""

import os
import re
import subprocess
import tempfile

import pytest

from conftest import ROOT, TALLY

needs_tap = pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/net/tun"),
                               reason="tap devices need root and /dev/net/tun")

UNTIL_TOLD = "nc -l -p 9999 > /dev/null < /dev/null; "  # guest: until the host's text has ended

SETUP = """
ip link set lo up && ip tuntap add t0 mode tap && ip addr add 192.168.77.1/24 dev t0 &&
ip addr add fd77::1/64 dev t0 nodad && ip link set t0 up || exit 77
"""


def tap(guest, host, *args, seconds=80):
    """Runs both texts, at most @seconds; returns (guest's lines, host's output). Fails if either does."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "guest")
        script = SETUP + f"""
{TALLY} run --smp 2 --mem 512M --net tap:t0 --timeout {seconds} {" ".join(args)} \
 --append 'ip=192.168.77.2::192.168.77.1:255.255.255.0::eth0:off' --exec "$GUEST" > {out} 2>&1 &
guest=$!
n=0; until grep -q '^READY' {out} || [ $((n += 1)) -gt 600 ]; do sleep 0.1; done
( set -e; {host}
)
status=$?
bash -c 'exec 3<>/dev/tcp/192.168.77.2/9999' 2> /dev/null
wait $guest || {{ echo "guest: status $?"; status=1; }}
exit $status
"""
        text = ("ifconfig eth0 add fd77::2/64; n=0; "
                "until ping6 -c 1 -W 1 fd77::1 > /dev/null 2>&1 || [ $n -gt 20 ]; "
                "do n=$((n+1)); sleep 0.3; done; echo READY; " + guest)
        done = subprocess.run(["unshare", "-n", "sh", "-c", script], capture_output=True, text=True,
                              cwd=ROOT, stdin=subprocess.DEVNULL, timeout=seconds + 40, check=False,
                              env={**os.environ, "GUEST": text})
        lines = open(out, encoding="utf-8").read() if os.path.exists(out) else ""
        if done.returncode == 77 or "unshare" in done.stderr:
            pytest.skip("no network namespace: " + done.stderr)
        assert done.returncode == 0, done.stdout + done.stderr + lines
        return lines, done.stdout


def scapy(text):
    """Shell words that run a scapy program in the namespace; it ends with an exit status."""
    head = ("import sys\nimport os\nfrom scapy.all import *\nconf.verb = 0\n"
            "MAC = getmacbyip('192.168.77.2')\n"
            "def eth(p): return Ether(dst=MAC) / p\n"
            "def ask(p, **k): return srp1(eth(p), iface='t0', timeout=3, **k)\n"
            "wire = conf.L2socket(iface='t0')\n"
            "def send2(*ps):\n    for p in ps: wire.send(eth(p))\n")
    return "/usr/bin/python3 -W ignore - <<'SCAPY'\n" + head + text + "\nSCAPY\n"


def counters(lines):
    return {m[1]: int(m[2]) for m in re.finditer(r"^(\w+) (\d+)$", lines, re.MULTILINE)}
