# SPDX-License-Identifier: MIT
"""Neighbours, routers, addresses and groups: RFC 4861, 4862, 5227, 7217, 8981, 3376, 3810, 792.

Scapy plays the stations; the guest's shell behind port 7001 tells what the guest believes.
"""

from tapnet import needs_tap, scapy, tap
from test_process import build

pytestmark = needs_tap

SHELL = "nc -ll -p 7001 -e sh & nc -l -p 9999 > /dev/null < /dev/null; "
# What all the host's programs below begin with.
PLAY = """
import socket
G4, G6, LL = '192.168.77.2', 'fd77::2', None
def sh(text):
    s = socket.create_connection((G4, 7001), timeout=20)
    s.sendall(('exec 2>&1; ' + text + '\\n').encode()); s.shutdown(socket.SHUT_WR)
    out = b''
    while True:
        b = s.recv(65536)
        if not b: return out.decode()
        out += b
def until(text, *words, n=40):
    for _ in range(n):
        out = sh(text)
        if all(w[1:] not in out if w[0] == '!' else w in out for w in words): break
        time.sleep(0.25)
    return out
def check(name, ok, *more): print('ok' if ok else 'WRONG', name, *([] if ok else more), flush=True)
GMAC = getmacbyip(G4)
LL = 'fe80::5054:ff:fe12:3456'
stations = {}  # address: hardware address that answers for it
def answer(p):
    if p.haslayer(ICMPv6ND_NS) and p[ICMPv6ND_NS].tgt in stations and p[IPv6].src != '::':
        t = p[ICMPv6ND_NS].tgt; m = stations[t]
        wire.send(Ether(src=m, dst=p.src) / IPv6(src=t, dst=p[IPv6].src, hlim=255) /
                  ICMPv6ND_NA(tgt=t, R=1, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=m))
def listen(f='', prn=None):
    s = AsyncSniffer(iface='t0', filter='ether src %s %s' % (GMAC, f), prn=prn)
    s.start(); time.sleep(0.4)
    return s
def six(src, dst, mac, hlim=255, to=None):
    return Ether(src=mac, dst=to or GMAC) / IPv6(src=src, dst=dst, hlim=hlim)
A, MA = 'fe80::aa', '02:00:00:00:00:aa'
B, MB = 'fe80::bb', '02:00:00:00:00:bb'
ALL = '33:33:00:00:00:01'
def ra(src, mac, *options, **k):
    p = six(src, 'ff02::1', mac, to=ALL) / ICMPv6ND_RA(**k) / ICMPv6NDOptSrcLLAddr(lladdr=mac)
    for o in options: p = p / o
    wire.send(p)
def prefix(p, **k): return ICMPv6NDOptPrefixInfo(prefix=p, prefixlen=64, **k)
responder = listen('and icmp6', answer)
"""


def play(text, *args, guest=""):
    """Runs the host's program; fails where it says WRONG."""
    lines, host = tap(guest + SHELL, scapy(PLAY + text), *args)
    assert "WRONG" not in host and "Traceback" not in host and "ok " in host, host + lines
    return lines, host


def test_solicitations():
    """I1: solicitations to the solicited-node group are answered, without promiscuous mode."""
    play("""
def ns(tgt, dst, mac, src='fd77::1', opt=True, hlim=255):
    p = six(src, dst, '02:00:00:00:00:11', hlim, mac) / ICMPv6ND_NS(tgt=tgt)
    s = listen('and icmp6')
    wire.send(p / ICMPv6NDOptSrcLLAddr(lladdr='02:00:00:00:00:11') if opt else p)
    time.sleep(0.5)
    return [x for x in s.stop() if x.haslayer(ICMPv6ND_NA) and x[ICMPv6ND_NA].tgt == tgt]
for a, group in ((G6, 'ff02::1:ff00:2'), (LL, 'ff02::1:ff12:3456')):
    sh('ip neigh flush dev eth0')
    mac = '33:33:ff:' + ':'.join('%02x' % b for b in socket.inet_pton(socket.AF_INET6, a)[13:])
    r = ns(a, group, mac)
    check('answered ' + a, len(r) == 1 and r[0][ICMPv6ND_NA].S == 1 and r[0][ICMPv6ND_NA].O == 1 and
          r[0][IPv6].hlim == 255 and r[0][ICMPv6NDOptDstLLAddr].lladdr == GMAC, r)
check('unicast', len(ns(G6, G6, GMAC)) == 1)
check('forwarded', not ns(G6, G6, GMAC, hlim=254))
check('not ours', not ns('fd77::77', 'ff02::1:ff00:2', '33:33:ff:00:00:02'))
r = ns(G6, 'ff02::1:ff00:2', '33:33:ff:00:00:02', src='::', opt=False)
check('defends', len(r) == 1 and r[0][IPv6].dst == 'ff02::1' and r[0][ICMPv6ND_NA].S == 0, r)
check('probe with address', not ns(G6, 'ff02::1:ff00:2', '33:33:ff:00:00:02', src='::'))
# Both ends forget, and find each other again.
os.system('ip -6 neigh flush dev t0 > /dev/null 2>&1'); sh('ip neigh flush dev eth0')
check('ping', os.system('ping -6 -c 2 -i 0.3 -W 3 %s > /dev/null' % G6) == 0)
# Duplicate detection: another station has the address.
def taken(p):
    if p.haslayer(ICMPv6ND_NS) and p[IPv6].src == '::' and p[ICMPv6ND_NS].tgt == 'fd77::99':
        wire.send(six('fd77::99', 'ff02::1', MB, to=ALL) / ICMPv6ND_NA(tgt='fd77::99', O=1) /
                  ICMPv6NDOptDstLLAddr(lladdr=MB))
s = listen('and icmp6', taken)
sh('ip addr add fd77::99/64 dev eth0')
check('duplicate', 'fd77::99' not in until('ip addr show dev eth0', '!fd77::99'))
check('told', 'fd77::99 is in use' in sh('dmesg'))
s.stop()
""")


def test_routers():
    """What routers say is done: parameters, prefixes, life times, redirects; dead ones go."""
    play("""
stations.update({A: MA, B: MB})
far = '2001:db8:9::1'
def way(): return sh('ip -6 route get ' + far)
ra(A, MA, prefix('2001:db8:1::', L=1, A=1), prefix('2001:db8:2::', L=0, A=1),
   ICMPv6NDOptMTU(mtu=1400), chlim=33, routerlifetime=1800, reachabletime=2000, retranstimer=200)
out = until('ip -6 addr show dev eth0', '2001:db8:1:', '2001:db8:2:', '!tentative')
one, two = '2001:db8:1:0:5054:ff:fe12:3456', '2001:db8:2:0:5054:ff:fe12:3456'
check('addresses', one in out and two in out, out)
out = sh('ip -6 route')
check('on link', '2001:db8:1::/64 dev eth0' in out and '2001:db8:2::' not in out, out)
check('router', 'default via fe80::aa' in out, out)
def ask6(dst, size=10):
    p = six('2001:db8:1::1', dst, MA, 64) / ICMPv6EchoRequest(data=b'x' * size)
    return srp1(p, iface='t0', timeout=3)
stations['2001:db8:1::1'] = MA
r = ask6(one)
check('hop limit', r and r[IPv6].hlim == 33, r)
s = listen('and icmp6 or ip6 proto 44')
ask6(one, 1412)
r = [p for p in s.stop() if p.haslayer(IPv6ExtHdrFragment)]
check('MTU', len(r) == 2 and all(len(p[IPv6]) <= 1400 for p in r), r)
wire.send(six('fe80::cc', 'ff02::1', MB, 64, ALL) / ICMPv6ND_RA(routerlifetime=1800))
ra('2001:db8:1::7', MB, routerlifetime=1800)
out = sh('ip -6 route')
check('only from the link', '2001:db8:1::7' not in out, out)
# The two-hour rule, and deprecation.
ra(A, MA, prefix('2001:db8:1::', L=1, A=1, validlifetime=10, preferredlifetime=0),
   routerlifetime=1800)
out = until('ip -6 addr show dev eth0', 'deprecated')
check('two hours', 'deprecated' in out, out)
time.sleep(0.5)
# Redirects: only from the router in use.
def redirect(src, mac, target, dst=far):
    q = IPv6(src=two, dst=dst) / ICMPv6EchoRequest()
    wire.send(six(src, two, mac) / ICMPv6ND_Redirect(tgt=target, dst=dst) /
              ICMPv6NDOptDstLLAddr(lladdr=stations.get(target, MB)) /
              ICMPv6NDOptRedirectedHdr(pkt=raw(q)))
    time.sleep(0.3)
check('first', 'via fe80::aa' in way(), way())
redirect('fe80::dd', MB, B); check('not the router', 'via fe80::aa' in way(), way())
redirect(A, MA, '2001:db8:5::1'); check('no neighbour', 'via fe80::aa' in way(), way())
redirect(A, MA, B); check('redirected', 'via fe80::bb' in way(), way())
check('others not', 'via fe80::aa' in sh('ip -6 route get 2001:db8:9::2'))
# The better way dies: the router again.
del stations[B]
sh('ping6 -c 12 -W 1 ' + far + ' > /dev/null')
check('passed over', 'via fe80::aa' in until('ip -6 route get ' + far, 'via fe80::aa'), way())
# No router any more: by its word, and by its advertisement.
wire.send(six(A, two, MA) / ICMPv6ND_NA(tgt=A, R=0, S=0, O=1) / ICMPv6NDOptDstLLAddr(lladdr=MA))
time.sleep(0.3)
check('no router', 'default via fe80::aa' not in sh('ip -6 route'))
ra(A, MA, routerlifetime=1800); time.sleep(0.2)
check('router again', 'default via fe80::aa' in sh('ip -6 route'))
ra(A, MA, routerlifetime=0); time.sleep(0.2)
check('life time 0', 'default via fe80::aa' not in sh('ip -6 route'))
# More routers and prefixes than there is room for.
for i in range(0x1000, 0x103c):
    ra('fe80::%x' % i, MB, prefix('2001:db8:%x::' % i, L=1, A=1), routerlifetime=60)
time.sleep(0.5)
out = sh('ip -6 route; ip -6 addr')
check('bounded', out.count('default via') <= 24 and out.count('inet6') <= 20, out)
check('still there', os.system('ping -6 -c 1 -W 3 %s > /dev/null' % G6) == 0)
# IPv4: a redirect from the router (the host's kernel is none here, so it is made up).
H = get_if_hwaddr('t0')
q = IP(src=G4, dst='10.1.2.3') / ICMP()
def r4(src, gw):
    wire.send(Ether(src=H, dst=GMAC) / IP(src=src, dst=G4) / ICMP(type=5, code=1, gw=gw) / q)
    time.sleep(0.3)
    return sh('ip route get 10.1.2.3')
check('v4 stranger', 'via 192.168.77.1 ' in r4('192.168.77.200', '192.168.77.9'))
check('v4 far', 'via 192.168.77.1 ' in r4('192.168.77.1', '8.8.8.8'))
check('v4', 'via 192.168.77.9 ' in r4('192.168.77.1', '192.168.77.9'))
""")


def test_arp_conflict():
    """Our address used by another station: said, and defended, but not without end (RFC 5227)."""
    play("""
BROADCAST = "ff:ff:ff:ff:ff:ff"
def steal(): wire.send(Ether(src=MB, dst=BROADCAST) / ARP(op=1, hwsrc=MB, psrc=G4, pdst=G4))
s = listen('and arp')
for _ in range(5): steal(); time.sleep(0.2)
r = [p for p in s.stop() if p[ARP].psrc == G4 and p[ARP].pdst == G4]
check('defended once', len(r) == 1 and r[0][ARP].hwsrc == GMAC and r[0].dst == BROADCAST, r)
check('said', 'is also used by ' + MB in sh('dmesg'))
check('kept', os.system('ping -c 1 -W 3 %s > /dev/null' % G4) == 0)
""")


def test_private_addresses():
    """Stable addresses made of a secret (RFC 7217), temporary ones beside them (RFC 8981)."""
    _, host = play("""
stations[A] = MA
GLOBAL = re.compile(r'2001:db8:1:0:[0-9a-f:]+')
ra(A, MA, prefix('2001:db8:1::', L=1, A=1, validlifetime=86400, preferredlifetime=14400),
   routerlifetime=1800)
out = until('ip -6 addr show dev eth0', '2001:db8:1:', '!tentative', 'inet6 fe80')
for _ in range(20):
    out = sh('ip -6 addr show dev eth0')
    if len(set(GLOBAL.findall(out))) == 2 and 'tentative' not in out: break
    time.sleep(0.25)
mine = sorted(set(GLOBAL.findall(out)))
check('two', len(mine) == 2, out)
check('not the hardware', 'fe12:3456' not in out, out)
temporary = [l for l in out.splitlines() if 'temporary' in l or 'secondary' in l]
check('one temporary', len(temporary) == 1, out)
src = re.search(r'src (\\S+)', sh('ip -6 route get 2001:db8:9::1'))[1]
check('preferred', src in temporary[0], src, out)
print('STABLE', [m for m in mine if m not in temporary[0]], re.findall(r'fe80::[0-9a-f:]+', out))
# It has a successor before its end.
first = GLOBAL.search(temporary[0])[0]
for _ in range(60):
    out = sh('ip -6 addr show dev eth0')
    if len(set(GLOBAL.findall(out))) == 3: break
    time.sleep(0.25)
check('successor', len(set(GLOBAL.findall(out))) == 3, out)
src = until('ip -6 route get 2001:db8:9::1', '!src ' + first + ' ', n=60)
check('changed', 'src 2001:db8:1:' in src and first not in src, src)
""", "--append", "'net.stable_secret=00112233445566778899aabbccddeeff net.tempaddr=2 "
        "net.tempaddr_preferred=14 net.tempaddr_valid=60'")
    stable = [line for line in host.splitlines() if line.startswith("STABLE")]
    assert stable == ["STABLE ['2001:db8:1:0:fb28:bc37:5aab:c850'] "
                      "['fe80::ef36:a01b:3b96:bcc6']"], stable


def test_multicast_reports():
    """IGMP and MLD: joins, leaves, queries, older versions; datagrams arrive."""
    mcast = build("mcast")
    lines, _ = play("""
from scapy.contrib.igmpv3 import *
from scapy.contrib.igmp import IGMP
s = listen()
sh('/mcast 239.1.2.3 eth0 60 > /tmp/m4 2>&1 & /mcast ff12::5 eth0 60 > /tmp/m6 2>&1 & sleep 0.1')
time.sleep(2)
def igmp(q): return [(raw(p[IP].payload)) for p in q if p.haslayer(IP) and p[IP].proto == 2]
def mld(q, t):
    return [raw(p)[62:] for p in q if p.haslayer(IPv6) and p[IPv6].nh == 0 and raw(p)[62] == t]
got = s.stop()
four = [p for p in got if p.haslayer(IP) and p[IP].proto == 2]
rec = bytes.fromhex('04000000ef010203')
check('joined twice', [raw(p[IP].payload)[8:16] for p in four] == [rec, rec], four)
check('IGMPv3', four and all(p[IP].dst == '224.0.0.22' and p[IP].ttl == 1
                    and raw(p)[34:38] == bytes.fromhex('94040000')
                    and raw(p[IP].payload)[0] == 0x22 for p in four), four)
g6 = socket.inet_pton(socket.AF_INET6, 'ff12::5')
six2 = [m for m in mld(got, 143) if g6 in m]
check('MLDv2 twice', len(six2) == 2 and all(m[8] == 4 for m in six2), six2)
def q3(dst='224.0.0.1', gaddr='0.0.0.0', ttl=1, v=3, code=5):
    if v == 3: body = IGMPv3(type=0x11, mrcode=code) / IGMPv3mq(gaddr=gaddr)
    else: body = IGMP(type=0x11, mrcode=code, gaddr=gaddr)
    s = listen('and ip proto 2')
    head = IP(src='192.168.77.1', dst=dst, ttl=ttl, proto=2, options=[IPOption_Router_Alert()])
    wire.send(Ether(dst='01:00:5e:00:00:01') / head / body)
    time.sleep(1.2)
    return igmp(s.stop())
r = q3()
check('general query', [(m[0], m[8:16].hex()) for m in r] == [(0x22, '02000000ef010203')], r)
check('far query', q3(ttl=2) == [])
r = q3(gaddr='239.9.9.9')
check('another group', r == [], r)
r = q3(v=2)
check('version 2', len(r) == 1 and r[0][0] == 0x16 and r[0][4:8] == bytes([239, 1, 2, 3]), r)
s = listen('and ip6')
wire.send(six(A, 'ff02::1', MA, 1, ALL) / IPv6ExtHdrHopByHop(options=[RouterAlert()]) /
          ICMPv6MLQuery2(mrd=300))
time.sleep(1.2)
r = mld(s.stop(), 143)
own = socket.inet_pton(socket.AF_INET6, 'ff02::1:ff00:2')
check('MLD query', len(r) == 1 and g6 in r[0] and own in r[0], r)
def tell(four, six):
    wire.send(Ether(dst='01:00:5e:01:02:03') / IP(src='192.168.77.1', dst='239.1.2.3') /
              UDP(sport=1, dport=5353) / four)
    wire.send(Ether(dst='33:33:00:00:00:05') / IPv6(src='fd77::1', dst='ff12::5') /
              UDP(sport=1, dport=5353) / six)
tell(b'four', b'six')
out = until('cat /tmp/m4 /tmp/m6', '239.1.2.3: four', 'ff12::5: six')
check('received', '239.1.2.3: four' in out and 'ff12::5: six' in out, out)
s = listen()
tell(b'end', b'end')
time.sleep(2.5)
got = s.stop()
r = [m for m in igmp(got)]
check('left, version 2', [m[0] for m in r] == [0x17, 0x17], r)
r = [m for m in mld(got, 143) if g6 in m]
check('left, MLD', len(r) == 2 and all(m[8] == 3 for m in r), r)
""", "--add", f"{mcast}:/mcast")
    assert lines
