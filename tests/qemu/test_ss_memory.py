# SPDX-License-Identifier: MIT
"""`ss -m` shows each queue in which packets wait: out of order, half open, TIME_WAIT, reassembly, neighbours."""

import json
import re

from conftest import ROOT
from tapnet import UNTIL_TOLD, needs_tap, scapy, tap

pytestmark = needs_tap

# Port 7 echoes, 9 closes at once, 11 says what ss -m says.
GUEST = ("nc -ll -p 7 -e cat & nc -ll -p 9 -e true & nc -ll -p 11 -e ss -tuam & " + UNTIL_TOLD +
         "sleep 3; echo LEFT; ss -tuam")

HOST = f"""
import json, time
sys.path.insert(0, '{ROOT}/tests/qemu')
import attack_frames as af, attacks
attacks.Station().start()
f = af.Family(False)
def look():
    s = socket.create_connection((f.guest, 11), 10)
    s.settimeout(10)
    text = b''
    while part := s.recv(65536):
        text += part
    return text.decode()
said = {{'before': look()}}
c = af.Connection(attacks.bound(0x0800), MAC, f, 3000)
for i in range(1, 6):
    c.send('A', seq=c.seq + 2000 * i, data=b'x' * 900)
for i in range(4):
    send2(af.syn(f, 3100 + i, [('MSS', 1460)], 7))
for i in range(3):
    s = socket.create_connection((f.guest, 9), 10)
    while s.recv(10):
        pass
    s.close()
send2(*(f.fragment(i, 0, 1, 17, b'y' * 1400) for i in range(3)))
send2(*(f.echo('192.168.77.' + str(50 + i), b'z' * 1000) for i in range(6)))
said['during'] = look()
c.send('R')
print(json.dumps(said))
"""


def figures(text):
    """The sockets' lines as (state, local address, bytes received and not read), and the lines of what belongs to none."""
    sockets = re.findall(r"^tcp +(\S+) +\d+ +\d+ +(\S+) +\S+(?:\n\s+skmem:\(r(\d+))?", text, re.MULTILINE)
    others = {m[1]: [int(n) for n in re.findall(r":(\d+)", m[2])]
              for m in re.finditer(r"^(tw|frag|neigh) +(.*)$", text, re.MULTILINE)}
    return sockets, others


def test_each_queue():
    lines, host = tap(GUEST, scapy(HOST), "--append net.frag.seconds=2")
    said = json.loads(host.splitlines()[-1])
    sockets, others = figures(said["before"])
    assert [s for s in sockets if s[0] == "LISTEN"] and others["frag"] == [0, 0], said["before"]
    sockets, others = figures(said["during"])
    assert [s for s in sockets if s[0] == "ESTAB" and s[1].endswith(":7") and int(s[2]) > 5 * 900], said["during"]
    assert len([s for s in sockets if s[0] == "SYN-RECV"]) == 4, said["during"]
    assert others["tw"][0] >= 3, said["during"]
    assert others["frag"][0] == 3 and others["frag"][1] >= 3 * 1400, said["during"]
    assert others["neigh"][1] >= 6 and others["neigh"][2] >= 6000, said["during"]
    left = lines[lines.index("LEFT"):]
    sockets, others = figures(left)
    assert not [s for s in sockets if int(s[2] or 0)], left
    assert others["frag"] == [0, 0] and others["neigh"][1:] == [0, 0], left
