# SPDX-License-Identifier: MIT
"""make compare: Tally and Debian's Linux in the same QEMU, the same programs, interleaved."""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

from runner import deb, linux, machine, session
from runner.either import Guest, Text
from runner.common import ROOT, CannotStart, UsageError

SYSTEMS = ("tally", "linux")
WORKS = ("boot72", "recipe2", "recipe72", "rx", "tx", "rr", "crr", "udp", "cached", "churn")
NET_WORKS = ("rx", "tx", "rr", "crr", "udp")
UNITS = {"boot72": "s", "rr": "transactions/s", "crr": "connections/s", "cached": "MB/s", "churn": "MB/s"}
GOALS = {"boot72": 50, "recipe2": 5, "recipe72": 15, "rx": 2, "tx": 3, "rr": 2, "crr": 2, "udp": 2,
         "cached": 1.5, "churn": 1.5}
SLOW = ("boot72", "recipe72")  # whose Linux side may come from the cache
CACHE = os.path.join(ROOT, "tools/compare-linux.json")
INSIDE = "TALLY_COMPARE_NAMESPACE"  # set in the network namespace of a run
BOOT_SECONDS = {"tally": 60, "linux": 400}
NET_BOOT_SECONDS = 180  # both guests of the network works; seconds on a quiet host
QUICK_SECONDS = 17  # a quick work begins no round that would end later
DISK_MIB = 64  # RAM disk of the works that read
LIMIT_MIB = 32  # of the group in which churn reads it
DATAGRAM = 1472  # bytes of the udp work: one frame


class Net:
    """A tap device with the host at .1 and the guest at .2."""

    def __init__(self, number):
        self.tap = f"cmp{number}"
        self.host, self.guest = f"10.99.{number}.1", f"10.99.{number}.2"
        self.parameter = f"ip={self.guest}::{self.host}:255.255.255.0::eth0:off"
        for command in (f"ip tuntap add {self.tap} mode tap", f"ip addr add {self.host}/24 dev {self.tap}",
                        f"ip link set {self.tap} up"):
            subprocess.run(command.split(), check=True)


def boot(system, options):
    """Seconds from the start of QEMU to a shell on 72 CPUs."""
    guest = Guest(system, options, Text(72, "echo READY; sleep 1000"))
    try:
        guest.wait_line("READY", BOOT_SECONDS[system])
        return guest.seconds()
    finally:
        guest.stop()


def recipe(cpus, clients):
    """Mbit/s of all clients together in a three-level group."""
    def measure(system, options):
        seconds = options.seconds if cpus == 2 else max(2, options.seconds)
        shell = (f"experiment recipe -n {clients} -l {seconds} -r 1; echo DONE; sleep 1000")
        guest = Guest(system, options, Text(cpus, shell))
        try:
            match = guest.wait_line(r"group +([\d.]+) Mbit/s|DONE", 2 * BOOT_SECONDS["linux"])
            if not match[1]:
                raise CannotStart(f"{system}: experiment recipe has failed")
            return float(match[1])
        finally:
            guest.stop()
    return measure


def reader(limit):
    """MB/s of reading a RAM disk over and over, in a group of @limit MiB."""
    def measure(system, options):
        shell = (f"mkdir /sys/fs/cgroup/g; echo {limit}M >/sys/fs/cgroup/g/memory.max;"
                 " echo 0 >/sys/fs/cgroup/g/cgroup.procs;"
                 f" readfile -l {options.seconds} /dev/ram0; echo DONE; sleep 1000")
        guest = Guest(system, options, Text(2, shell), disk=DISK_MIB)
        try:
            match = guest.wait_line(r"readfile ([\d.]+) MB/s|DONE", BOOT_SECONDS["linux"])
            if not match[1]:
                raise CannotStart(f"{system}: readfile has failed")
            return float(match[1])
        finally:
            guest.stop()
    return measure


NET_PACKAGES = ("iperf3",)  # what the guests of the network works bring
TRIES = 5  # of a client: iperf3's server does not listen between two tests


def client(argv, parse, seconds):
    """What @parse finds in a client's output; None from it, or a failed client, is tried again."""
    for _ in range(TRIES):
        try:
            done = subprocess.run(argv, capture_output=True, text=True, check=False,
                                  timeout=30 + 3 * seconds)
        except subprocess.TimeoutExpired:
            trouble = "no end in time"
            continue
        value = parse(done.stdout) if done.returncode == 0 else None
        if value:
            return value
        trouble = done.stdout[-500:] + done.stderr[-500:]
        time.sleep(0.5)
    raise CannotStart(f"{' '.join(argv)}: {trouble}")


def iperf(net, options, *more):
    """Mbit/s that were received."""
    def parse(out):
        received = json.loads(out)["end"].get("sum_received")
        return received and received["bits_per_second"] / 1e6
    return client(["iperf3", "-J", "-c", net.guest, "-t", str(options.seconds), *more], parse,
                  options.seconds)


def netperf(net, options, test, key, *more):
    """The value of one of netperf's keys."""
    def parse(out):
        match = re.search(rf"{key}=([\d.]+)", out)
        return match and float(match[1])
    return client([os.path.join(ROOT, options.out, "apps/netperf"), "-4", "-H", net.guest, "-t", test, "-l",
                   str(options.seconds), "-P", "0", "--", "-k", key, *more], parse, options.seconds)


NET_MEASURES = {
    "rx": iperf,
    "tx": lambda net, options: iperf(net, options, "-R"),
    "rr": lambda net, options: netperf(net, options, "TCP_RR", "THROUGHPUT"),
    "crr": lambda net, options: netperf(net, options, "TCP_CRR", "THROUGHPUT"),
    "udp": lambda net, options: netperf(net, options, "UDP_STREAM", "REMOTE_RECV_THROUGHPUT",
                                        "-m", str(DATAGRAM)),
}


class NetGuests:
    """Both systems up at once, each on its tap; an idle guest takes no time."""

    def __init__(self, options):
        text = Text(2, "netserver >/dev/null; iperf3 -s -D >/dev/null; echo READY; sleep 100000")
        self.nets = {system: Net(number) for number, system in enumerate(SYSTEMS, 1)}
        self.guests = []
        try:
            for system, net in self.nets.items():
                self.guests.append(Guest(system, options, text, net, NET_PACKAGES))
            for guest in self.guests:
                guest.wait_line("READY", NET_BOOT_SECONDS)
        except BaseException:
            self.stop()
            raise
        for net in self.nets.values():
            subprocess.run(["ping", "-q", "-c", "1", "-W", "5", net.guest], check=False,
                           stdout=subprocess.DEVNULL)

    def measure(self, work, options):
        """A function of the system that measures @work."""
        return lambda system, _: NET_MEASURES[work](self.nets[system], options)

    def stop(self):
        for guest in self.guests:
            guest.stop()


def kept(work):
    """The Linux side of a slow work from the cache: a record, or None."""
    if not os.path.exists(CACHE):
        return None
    with open(CACHE, encoding="utf-8") as f:
        return json.load(f).get(work)


def keep(work, value):
    """Puts a measured Linux side into the cache."""
    cache = {}
    if os.path.exists(CACHE):
        with open(CACHE, encoding="utf-8") as f:
            cache = json.load(f)
    kernel = os.path.basename(linux.image("build")[0]).partition("-")[2]
    cache[work] = {"linux": round(value, 2), "date": time.strftime("%Y-%m-%d"), "kernel": kernel}
    with open(CACHE, "w", encoding="utf-8") as f:
        json.dump(cache, f, indent=1, sort_keys=True)
        f.write("\n")


def commit(out):
    """The commit that the kernel in @out was built from, as its records say it."""
    try:
        with open(os.path.join(ROOT, out, "gen/version.h"), encoding="utf-8") as f:
            return f.read().split('"')[1]
    except (OSError, IndexError):
        return "unknown"


def compare(work, measure, options):
    """One record: rounds with the systems in turn, the median of each."""
    values = {system: [] for system in SYSTEMS}
    old = kept(work) if work in SLOW and options.quick else None
    slow = work in SLOW
    start = time.monotonic()
    for number in range(1 if slow and not old else options.rounds):
        spent = time.monotonic() - start
        if options.quick and number and spent / number * (number + 1) > QUICK_SECONDS:
            break
        for system in SYSTEMS if number % 2 == 0 else SYSTEMS[::-1]:
            if system == "linux" and old:
                continue
            values[system].append(measure(system, options))
            print(f"    {work} {system} {values[system][-1]:.2f}", file=sys.stderr, flush=True)
    if old:
        values["linux"] = [old["linux"]]
    elif slow:
        keep(work, values["linux"][0])
    tally, other = (statistics.median(values[system]) for system in SYSTEMS)
    ratio = other / tally if work == "boot72" else tally / other
    record = {"record": "compare", "work": work, "tally": round(tally, 2), "linux": round(other, 2),
              "unit": UNITS.get(work, "Mbit/s"), "ratio": round(ratio, 2), "goal": GOALS[work],
              "rounds": len(values["tally"]), "seconds": round(time.monotonic() - start, 1),
              "preset": "tally", "cpus": 72 if slow else 2, "machine": "tcg",
              "commit": commit(options.out), "date": time.strftime("%Y-%m-%d")}
    if old:
        record["linux_date"] = old["date"]
    return record


def table(records):
    """The result for people."""
    print(f"\n{'work':10} {'Tally':>12} {'Linux':>12}  {'unit':15} {'times better':>12} {'goal':>5}")
    for r in records:
        date = f"  (Linux of {r['linux_date']})" if "linux_date" in r else ""
        print(f"{r['work']:10} {r['tally']:12.2f} {r['linux']:12.2f}  {r['unit']:15} {r['ratio']:12.2f}"
              f" {r['goal']:5}{date}")
    print("Emulated (tcg) on this host; both systems in the same QEMU, in turn. Compare ratios only.")


def enter_namespace():
    """A network namespace of our own, for the tap devices; does not return."""
    argv = ["unshare", "-n" if os.geteuid() == 0 else "-rn", sys.executable, *sys.argv]
    os.environ[INSIDE] = "1"
    machine.need("unshare", "util-linux")
    os.execvp("unshare", argv)


def failing(trouble):
    """A measure that can't be taken."""
    def measure(*_):
        raise trouble
    return measure


def measures(works, options):
    """(work, function) for each, with the guests that they share."""
    nets, trouble = None, None
    try:
        if set(works) & set(NET_WORKS):
            try:
                nets = NetGuests(options)
            except CannotStart as e:
                trouble = e
        for work in works:
            if work in NET_WORKS:
                yield work, nets.measure(work, options) if nets else failing(trouble)
        if nets:
            nets.stop()
            nets = None
        for work in works:
            if work == "boot72":
                yield work, boot
            elif work in ("cached", "churn"):
                yield work, reader(4 * DISK_MIB if work == "cached" else LIMIT_MIB)
            elif work not in NET_WORKS:
                yield work, recipe(*((2, 2) if work == "recipe2" else (72, 36)))
    finally:
        if nets:
            nets.stop()


def main(argv):
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="compare", description=__doc__)
    parser.add_argument("--works", default=" ".join(WORKS), help=f"of: {' '.join(WORKS)}")
    parser.add_argument("--quick", action="store_true", help="seconds instead of minutes")
    parser.add_argument("--json", help="records, one JSON object a line")
    options = parser.parse_args(argv)
    works = options.works.replace(",", " ").split()
    options.out = os.environ.get("O", "build")
    options.seconds, options.rounds = (2 if options.quick else 5), 3
    session.install_signal_handlers()
    records, failed = [], 0
    try:
        for work in works:
            if work not in WORKS:
                raise UsageError(f"no work is named {work}; there are {' '.join(WORKS)}")
        if set(works) & set(NET_WORKS):
            if INSIDE not in os.environ:
                linux.image(options.out)  # inside there is no way to the packages
                deb.archive(NET_PACKAGES, options.out)
                enter_namespace()
            machine.need("iperf3", "iperf3")
            subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        with open(options.json or os.devnull, "w", encoding="utf-8") as f:
            for work, measure in measures(works, options):
                try:
                    records.append(compare(work, measure, options))
                except (CannotStart, subprocess.SubprocessError) as e:
                    print(f"compare: {work}: {e}", file=sys.stderr)
                    failed = 1
                    continue
                f.write(json.dumps(records[-1]) + "\n")
                f.flush()
    except UsageError as e:
        print(f"compare: {e}", file=sys.stderr)
        return 2
    except (CannotStart, subprocess.SubprocessError) as e:
        print(f"compare: {e}", file=sys.stderr)
        return 126
    except session.Interrupted as e:
        return 128 + e.signal
    finally:
        if records:
            table(records)
    return failed
