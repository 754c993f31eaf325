# SPDX-License-Identifier: MIT
"""Real clients against real servers: Debian's programs on both sides, over a tap device.

One guest runs Debian's nginx, redis and iperf3; the clients run on this Linux in a network
namespace of their own, so nothing of the host's network is touched.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest

from conftest import OUT, ROOT, TALLY

sys.path.insert(0, os.path.join(ROOT, "tools"))
from runner import common, deb  # noqa: E402

HOST4, GUEST4, HOST6, GUEST6 = "192.168.78.1", "192.168.78.2", "fd78::1", "fd78::2"
CPUS = 4  # each with a pair of queues
FILE_BYTES = 3_000_000
NGINX = """
server {
	listen 8080 reuseport; listen [::]:8080 reuseport;
	root /srv/www;
	client_max_body_size 64m;
	location /upload/ { dav_methods PUT; create_full_put_path on; }
}
"""
GUEST = f"""
until ifconfig eth0 | grep -q {GUEST4}; do sleep 0.1; done
ifconfig eth0 add {GUEST6}/64
mkdir -p /srv/www/upload && chmod 777 /srv/www/upload && mv /root/file /srv/www
within() {{ mkdir -p /sys/fs/cgroup/$1; sh -c "echo 0 >/sys/fs/cgroup/$1/cgroup.procs; exec $2"; }}
within nginx nginx || exit 1
mkdir -p /sys/fs/cgroup/iperf3
mkdir -p /sys/fs/cgroup/shop/web
metricsd
within redis "redis-server --save '' --bind {GUEST4} --protected-mode no --dir /tmp" >/tmp/redis.log &
nc -ll -p 7000 -e md5sum &
nc -ll -p 7001 -e sh &
sleep 2
echo READY
sleep 1000
"""

needs_tap = pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/net/tun"),
                               reason="tap devices need root and /dev/net/tun")
pytestmark = needs_tap


def need(program):
    if not shutil.which(program):
        pytest.skip(f"no {program} here (tools/setup test)")


PACKAGES = ("nginx-light", "redis-server", "iperf3")


class Lan:
    """A namespace with the host's end of a tap device, and a guest on it."""

    def __init__(self, folder):
        try:
            deb.archive(PACKAGES, OUT)  # the namespace has no way to the packages
        except common.CannotStart as error:
            pytest.skip(str(error))
        # pylint: disable=consider-using-with
        self.holder = subprocess.Popen(["unshare", "-n", "sleep", "1000"])
        self.log = os.path.join(folder, "log")
        for _ in range(100):
            if os.readlink(f"/proc/{self.holder.pid}/ns/net") != os.readlink("/proc/self/ns/net"):
                break
            time.sleep(0.05)
        for command in ("ip link set lo up", "ip tuntap add t0 mode tap multi_queue",
                        f"ip addr add {HOST4}/24 dev t0", f"ip addr add {HOST6}/64 dev t0 nodad",
                        "ip link set t0 up"):
            self.run(*command.split())
        self.iperf3_port = 5200
        self.data = os.urandom(FILE_BYTES)
        path = os.path.join(folder, "file")
        site = os.path.join(folder, "site")
        with open(path, "wb") as f:
            f.write(self.data)
        with open(site, "w", encoding="utf-8") as f:
            f.write(NGINX)
        self.guest = subprocess.Popen(
            self.inside(TALLY, "run", "--smp", CPUS, "--queues", CPUS, "--mem", "1G", "--net", "tap:t0",
                        "--timeout", "300",
                        *(word for name in PACKAGES for word in ("--add-deb", name)),
                        "--add", f"{path}:/root/file",
                        "--add", f"{site}:/etc/nginx/conf.d/test.conf",
                        "--append", f"ip={GUEST4}::{HOST4}:255.255.255.0::eth0:off",
                        "--log", self.log,
                        "--exec", GUEST),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=ROOT)
        lines = []
        for line in self.guest.stdout:
            lines.append(line)
            if line.startswith("READY"):
                break
        else:
            self.stop()
            pytest.fail("the guest did not get ready: " + "".join(lines))

    def inside(self, *argv):
        return ["nsenter", "-t", str(self.holder.pid), "-n", *map(str, argv)]

    def run(self, *argv, timeout=60, status=0, data=None):
        """A client's standard output."""
        done = subprocess.run(self.inside(*argv), capture_output=True, timeout=timeout, check=False,
                              stdin=subprocess.DEVNULL if data is None else None, input=data,
                              cwd=ROOT)
        assert done.returncode == status, (done.stdout + done.stderr).decode(errors="replace")
        return done.stdout

    def text(self, *argv, **kw):
        return self.run(*argv, **kw).decode(errors="replace")

    def shell(self, script):
        """What the guest's shell, which is behind port 7001, says to a script."""
        return self.text("nc.openbsd", "-N", GUEST4, 7001, data=script.encode() + b"\n")

    def iperf3_server(self):
        """The port of an iperf3 in the guest that listens and serves one test.

        Every test has one of its own: a server that goes on closes its port and opens it
        anew between two tests, and who comes just then is refused or reset.
        """
        self.iperf3_port += 1
        said = self.shell("(echo 0 >/sys/fs/cgroup/iperf3/cgroup.procs; "
                          f"exec iperf3 -s -1 -D -p {self.iperf3_port})\n"
                          f"for i in $(seq 300); do ss -tln | grep -q ':{self.iperf3_port} ' && "
                          "echo listens && break; sleep 0.1; done")
        assert said.endswith("listens\n"), said
        return self.iperf3_port

    def complaints(self):
        """Lines of the kernel's log that a healthy run does not have."""
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return [line for line in f if "parameters:" not in line and re.search(
                r"not implemented|no system call|WARN|BUG|panic|leak|out of memory|fault|stuck|"
                r"bad ",
                line)]

    def stop(self):
        if self.guest.poll() is None:
            self.guest.send_signal(signal.SIGTERM)
        self.guest.wait(timeout=30)
        self.holder.kill()
        self.holder.wait()


@pytest.fixture(scope="module")
def lan(tmp_path_factory):
    need("unshare")
    need("nsenter")
    net = Lan(tmp_path_factory.mktemp("lan"))
    yield net
    net.stop()


@pytest.fixture(autouse=True)
def quiet_log(lan):
    """Whatever a client does, the kernel has nothing to complain about."""
    yield
    assert not lan.complaints()
    assert lan.guest.poll() is None, "the guest has ended"


@pytest.mark.parametrize("size", [56, 1472, 1473, 65000])
@pytest.mark.parametrize("address", [GUEST4, GUEST6])
def test_ping(lan, address, size):
    out = lan.text("ping", "-c", 3, "-i", 0.2, "-W", 5, "-s", size, address)
    assert "3 received, 0% packet loss" in out


def test_ping_without_fragmentation(lan):
    assert "1 received" in lan.text("ping", "-c", 1, "-W", 5, "-M", "do", "-s", 1472, GUEST4)


@pytest.mark.parametrize("address", [GUEST4, f"[{GUEST6}]"])
def test_curl(lan, address):
    """GET twice on one connection, HEAD, a range, a page that is not there."""
    url = f"http://{address}:8080/file"
    assert hashlib.md5(lan.run("curl", "-sS", url)).digest() == hashlib.md5(lan.data).digest()
    out = lan.text("curl", "-sSv", "-o", "/dev/null", "-o", "/dev/null", "-w", "%{num_connects} ",
                   url, url)
    assert out == "1 0 "
    assert f"Content-Length: {FILE_BYTES}" in lan.text("curl", "-sSI", url)
    assert lan.run("curl", "-sS", "-r", "1000000-1000999", url) == lan.data[1000000:1001000]
    assert lan.text("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", url + "x") == "404"
    lan.run("curl", "-sS", f"http://{address}:8081/", status=7, timeout=20)  # refused, at once


@pytest.mark.parametrize("address", [GUEST4, f"[{GUEST6}]"])
def test_curl_upload(lan, address):
    """More than 1 MB, so that curl waits for "100 Continue" first."""
    url = f"http://{address}:8080/upload/{address.strip('[]').replace(':', '-')}"
    code = lan.text("curl", "-sS", "-T", "-", "-w", "%{http_code}", url, data=lan.data[::-1])
    assert code in ("201", "204")
    assert lan.run("curl", "-sS", url) == lan.data[::-1]


@pytest.mark.parametrize("address", [GUEST4, GUEST6])
def test_nc_half_close(lan, address):
    """The answer comes after our end of file."""
    need("nc.openbsd")
    out = lan.text("nc.openbsd", "-N", address, 7000, data=lan.data)
    assert out.split()[0] == hashlib.md5(lan.data).hexdigest()


@pytest.mark.parametrize("options", ["", "-R", "--bidir", "-P 8", "-P 8 -R", "-u -b 50M",
                                     "-u -b 50M -R", "-u -b 0", "-u -b 0 -R", "-u --bidir -b 20M",
                                     "-Z", "-Z -R", "-N -w 64K", "-6", "-6 -R", "-6 --bidir",
                                     "-6 -u -b 20M", "-6 -u -b 0 -R"])
def test_iperf3(lan, options):
    need("iperf3")
    server = GUEST6 if "-6" in options else GUEST4
    port = lan.iperf3_server()
    done = subprocess.run(lan.inside("iperf3", "-J", "-c", server, "-p", port, "-t", "1",
                                     *options.split()),
                          capture_output=True, text=True, check=False, timeout=60)
    out = json.loads(done.stdout)
    assert "error" not in out, out["error"]
    end = out["end"]
    if "-u" in options:
        assert end["sum"]["packets"] > 100
    else:
        assert end["sum_received"]["bytes"] > 100_000
        if "--bidir" in options:
            assert end["sum_received_bidir_reverse"]["bytes"] > 100_000


@pytest.mark.parametrize("options", ["", "-R", "-u -b 20M", "-6 -P 3"])
def test_iperf3_from_guest(lan, options):
    """The guest's iperf3 as the client; its shell is behind port 7001."""
    need("iperf3")
    host = HOST6 if "-6" in options else HOST4
    with subprocess.Popen(lan.inside("iperf3", "-s", "-1"), stdout=subprocess.DEVNULL) as server:
        time.sleep(0.5)
        out = lan.shell(f"iperf3 -c {host} -t 1 {options}")
        assert "iperf Done." in out
        server.terminate()


SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)'
                    r'(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)+)\})?'
                    r' (NaN|[+-]Inf|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)')


def parse_metrics(text):
    """{name: {labels: value}}; fails where Prometheus's text format is not kept."""
    assert text.endswith("\n")
    families, name, helped = {}, None, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            helped = line.split()[2]
        elif line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            assert name == helped and kind in ("gauge", "counter") and name not in families
            assert kind != "counter" or name.endswith("_total")
            families[name] = {}
        else:
            match = SAMPLE.fullmatch(line)
            assert match and match[1] == name, line
            assert match[2] not in families[name], f"twice: {line}"
            families[name][match[2]] = float(match[3])
    return families


def test_metrics(lan):
    head = lan.text("curl", "-sSI", f"http://{GUEST4}:9100/metrics")
    assert head.startswith("HTTP/1.1 200 OK") and "text/plain; version=0.0.4" in head
    metrics = parse_metrics(lan.text("curl", "-sS", f"http://[{GUEST6}]:9100/metrics"))
    groups = set(metrics["tally_group_processes"])
    assert {'group="/"', 'group="/shop"', 'group="/shop/web"'} <= groups
    assert metrics["tally_group_memory_bytes"]['group="/shop"'] == 0
    assert metrics["tally_group_memory_max_bytes"]['group="/shop"'] == float("inf")
    assert 'group="/shop",key="sock"' in metrics["tally_group_memory_stat"]
    cpus = {labels for labels in metrics["tally_cpu_seconds_total"] if 'mode="idle"' in labels}
    assert cpus == {f'cpu="{i}",mode="idle"' for i in range(CPUS)}
    assert metrics["tally_network_receive_packets_total"]['device="eth0"'] > 10
    again = parse_metrics(lan.text("curl", "-sS", f"http://{GUEST4}:9100/metrics"))
    for name, samples in metrics.items():
        if name.endswith("_total"):
            for labels, value in samples.items():
                assert again[name].get(labels, 0) >= value, f"{name} {labels} went back"
    assert lan.text("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}",
                    f"http://{GUEST4}:9100/x") == "404"


def test_wrk(lan):
    need("wrk")
    out = lan.text("wrk", "-t", 2, "-c", 50, "-d", "2s", f"http://{GUEST4}/")
    assert "Socket errors" not in out and "Non-2xx" not in out, out
    assert int(re.search(r"(\d+) requests in", out)[1]) > 50


def test_redis(lan):
    need("redis-benchmark")
    out = lan.text("redis-benchmark", "-h", GUEST4, "-n", 500, "-c", 50, "-q", "-t",
                   "ping,set,get,incr,lpush,lrange_100,mset")
    assert len(re.findall(r"requests per second", out)) >= 7 and "rror" not in out
    assert lan.text("redis-cli", "-h", GUEST4, "get", "counter:__rand_int__").strip('"\n').isdigit()
    assert "saving" in lan.text("redis-cli", "-h", GUEST4, "bgsave")
    for _ in range(50):
        if "rdb_bgsave_in_progress:0" in lan.text("redis-cli", "-h", GUEST4, "info", "persistence"):
            break
        time.sleep(0.2)
    assert "rdb_last_bgsave_status:ok" in lan.text("redis-cli", "-h", GUEST4, "info", "persistence")


def test_nmap(lan):
    need("nmap")
    out = lan.text("nmap", "-n", "-T4", "-sV", "-Pn", "-p", "80,6379,9", GUEST4, timeout=120)
    assert re.search(r"80/tcp +open +http +nginx", out)
    assert re.search(r"6379/tcp +open +redis +Redis key-value store 7", out)
    assert re.search(r"9/tcp +closed", out)


@pytest.mark.parametrize("options, right", [
    ("-sS -p 1-1000", r"80/tcp +open +http"),
    ("-sU -p 7,9,53,67,123,161 --max-retries 1", r"9/udp +closed +discard"),
    ("-sF -p 80,81", r"80/tcp +open\|filtered http\n81/tcp +closed"),
    ("-O --osscan-limit -p 80,81", r"80/tcp +open +http"),
    ("-sO -p 1,2,6,17,132", r"132 +closed +sctp"),
])
def test_nmap_scans(lan, options, right):
    """Scans of each kind: right answers, and nothing for the kernel to complain about."""
    need("nmap")
    out = lan.text("nmap", "-n", "-T4", "-Pn", *options.split(), GUEST4, timeout=120)
    assert re.search(right, out), out


def test_quiet(lan):
    """After all that: the servers end, and nothing is charged to their groups any more."""
    out = lan.text("nc.openbsd", "-N", GUEST4, 7001, data=b"""
cd /sys/fs/cgroup
for g in nginx iperf3 redis; do echo $g before $(cat $g/memory.peak); done
killall nginx iperf3 redis-server; rm -rf /srv/www /var/log/nginx /var/lib/nginx /tmp/redis.log /tmp/dump.rdb /run/nginx.pid
for g in nginx iperf3 redis; do
	n=0; while [ "$(cat $g/memory.current.exact)" != 0 ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
	echo $g left $(cat $g/memory.current.exact) $(grep -E '^(anon|file|kernel|sock) ' $g/memory.stat)
	rmdir $g && echo $g gone
done
""", timeout=90)
    for group in ("nginx", "iperf3", "redis"):
        assert int(re.search(rf"^{group} before (\d+)", out, re.MULTILINE)[1]) > 100_000, out
        assert f"{group} left 0 anon 0 file 0 kernel 0 sock 0\n{group} gone" in out, out
