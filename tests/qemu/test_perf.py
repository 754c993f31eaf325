# SPDX-License-Identifier: MIT
"""perf: counts against counts known another way, the switch between groups, the profiler."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest

from conftest import OUT, ROOT


def compiled(name):
    """tests/qemu/progs/NAME.c as a static program with frame pointers."""
    out = os.path.join(OUT, "progs", name)
    os.makedirs(os.path.dirname(out), exist_ok=True)
    # Without optimisation each function has a frame.
    subprocess.run(["gcc", "-O0", "-static", "-fno-omit-frame-pointer", "-o", out,
                    os.path.join(ROOT, "tests", "qemu", "progs", name + ".c")], check=True)
    return out


@pytest.fixture(scope="module")
def program():
    """Does a known number of things."""
    return compiled("perfcount")


def counts(text):
    """{event: count} of `perf stat -x ,` in order; a list per event."""
    found = {}
    for n, _, name in re.findall(r"^(\d+),(\w*),([\w-]+)$", text, re.M):
        found.setdefault(name, []).append(int(n))
    return found


def test_list(run):
    done = run("perf list")
    names = [line.split()[0] for line in done.out.splitlines()]
    assert len(names) > 50 and len(set(names)) == len(names)
    for name in ("context-switches", "page_faults", "cpu-clock", "task-clock", "cpu-migrations",
                 "charge_hits", "stock_misses", "drains", "steals", "lo_packets",
                 "tcp_retransmits", "spin_waits"):
        assert name in names


def test_counts_are_exact(run, program):
    """Differences of two runs that do more by a known number: no start-up cost in them."""
    done = run("for n in 1000 3000; do perf stat -x , -e page-faults perfcount fault $n; done\n"
               "for n in 100 400; do perf stat -x , -e udp_out,udp_in,lo_packets"
               " perfcount packet $n; done", "--add", program)
    c = counts(done.out)
    assert c["page_faults"][1] - c["page_faults"][0] == 2000
    for event in ("udp_out", "udp_in", "lo_packets"):
        assert c[event][1] - c[event][0] == 300, event


def test_switches(run, program):
    done = run("for n in 500 2500; do perf stat -x , -e cs,cs perfcount switch $n; done",
               "--smp", "1", "--add", program)
    cs = counts(done.out)["context-switches"]
    assert cs[0] == cs[1] and cs[2] == cs[3]
    # Two switches a round trip; a few more at the start, and when other threads run.
    assert 998 <= cs[0] <= 1060 and 4998 <= cs[2] <= 5060
    done = run("perf stat -x , -e cs perfcount switch 500; grep ctxt /proc/stat", "--smp", "1",
               "--add", program)
    assert counts(done.out)["context-switches"][0] <= int(re.search(r"ctxt (\d+)", done.out)[1])


def test_group_counts_are_the_groups_own(run, program):
    """The kernel's memory.stat counts the same faults; both ways to switch agree."""
    text = """
        echo +memory > /sys/fs/cgroup/cgroup.subtree_control
        mkdir /sys/fs/cgroup/g /sys/fs/cgroup/h
        cat > /tmp/in <<'END'
echo $$ > /sys/fs/cgroup/$1/cgroup.procs
shift
exec "$@"
END
        for v in all active all active; do
            echo $v > /proc/sys/tally/perf/switch
            sh /tmp/in h perfcount fault 700 &
            perf stat -x , -G g -e page-faults,cs sh /tmp/in g perfcount fault 1000
            wait
            grep pgfault /sys/fs/cgroup/g/memory.stat
        done
    """
    done = run(text, "--smp", "4", "--add", program)
    mine = counts(done.out)["page_faults"]
    seen = [int(n) for n in re.findall(r"pgfault (\d+)", done.out)]
    assert len(mine) == len(seen) == 4
    assert [b - a for a, b in zip([0] + seen, seen)] == mine
    assert min(mine) >= 1000


def test_group_counts_while_variants_change(run, program):
    """Groups come and go on four CPUs, the way to switch flips all the time: counts are right."""
    text = """
        echo +memory > /sys/fs/cgroup/cgroup.subtree_control
        cat > /tmp/one <<'END'
g=/sys/fs/cgroup/g$1
for i in 1 2 3 4; do
    mkdir $g $g/below
    perf stat -x , -o /tmp/out$1 -G g$1 -e page-faults,cs sh -c \\
        "echo \\$\\$ > $g/below/cgroup.procs; perfcount fault $((200 * $1)); perfcount switch 200
         echo \\$\\$ > /sys/fs/cgroup/cgroup.procs; perfcount fault 50"
    echo "g$1 $(grep pgfault $g/memory.stat) $(head -1 /tmp/out$1)"
    rmdir $g/below $g
done
END
        (while [ ! -e /tmp/stop ]; do
            echo all > /proc/sys/tally/perf/switch; echo active > /proc/sys/tally/perf/switch
        done) &
        for n in 1 2 3; do sh /tmp/one $n & all="$all $!"; done
        wait $all
        touch /tmp/stop
    """
    done = run(text, "--smp", "4", "--add", program)
    lines = re.findall(r"^g(\d) pgfault (\d+) (\d+),,page_faults", done.out, re.M)
    assert len(lines) == 12, done.out
    for n, kernel, perf in lines:
        assert kernel == perf and int(perf) >= 200 * int(n), done.out


def test_charges_are_exact(run, program):
    """A charge per page that a program of a group touches, and one per page table."""
    done = run("""
        echo +memory > /sys/fs/cgroup/cgroup.subtree_control
        mkdir /sys/fs/cgroup/g
        cat > /tmp/in <<'END'
echo $$ > /sys/fs/cgroup/g/cgroup.procs
exec "$@"
END
        for n in 512 1536 2560; do
            perf stat -x , -e charges,charged_bytes,charge_hits,stock_misses \\
                sh /tmp/in perfcount fault $n
        done
    """, "--add", program)
    c = counts(done.out)
    # 512 pages to a page table; the start-up of the program cancels out.
    assert [b - a for a, b in zip(c["charges"], c["charges"][1:])] == [1026, 1026]
    assert [b - a for a, b in zip(c["charged_bytes"], c["charged_bytes"][1:])] == [1026 * 4096] * 2
    assert all(n == hit + miss for n, hit, miss in
               zip(c["charges"], c["charge_hits"], c["stock_misses"]))


def test_profile_of_a_group(run, program):
    """The group's tasks only, though another program takes more time."""
    done = run("""
        mkdir /sys/fs/cgroup/g
        cat > /tmp/in <<'END'
echo $$ > /sys/fs/cgroup/g/cgroup.procs
exec "$@"
END
        perf record -F 500 -G g -o /tmp/d -- \\
            sh -c 'perfcount spin 1500 & sh /tmp/in perfcount work 30; wait'
        perf report -i /tmp/d --folded | grep -c spin_caller
        perf report -i /tmp/d --folded | grep -c work
        perf record -g -F 500 -G g -o /tmp/d -- sh /tmp/in perfcount work 20
        perf report -i /tmp/d --folded
    """, "--smp", "2", "--add", program)
    assert re.search(r"^perfcount;.*;main;work;spin_here \d+$", done.out, re.M), done.out
    assert "spin_caller" not in done.out.replace("grep", ""), done.out


def test_stat_says_what_changed(run, program):
    done = run("/usr/bin/stat perfcount packet 250; echo rc $?; /usr/bin/stat -c %s /etc/profile",
               "--add", program)
    for counter in ("udp_out", "udp_in", "lo_packets"):
        assert re.search(rf"^{counter} +250 ", done.out, re.M), done.out
    assert "rc 0" in done.out and re.search(r"^\d+$", done.out, re.M)


def test_lockstat(run):
    done = run("for i in 1 2 3 4; do (for j in 1 2 3; do ls -R /proc >/dev/null 2>&1; done) & done;"
               " wait; cat /proc/lockstat", "--smp", "4")
    classes, _, sites = done.out.partition("waited in")
    waits = {name: [float(n) for n in rest.split()] for name, rest in
             re.findall(r"^(\w[\w. ]*?)((?: +[\d.]+){6})$", classes, re.M)}
    assert sum(n for n, *_ in waits.values()) > 10, done.out
    assert all(worst <= total for _, total, worst, *_ in waits.values())
    assert all(holds == 0 for *_, holds, _, _ in waits.values()), "nobody asked for holds"
    assert re.search(r"^dentry_\w+ +\d+ +[\d.]+ +[\d.]+$", sites, re.M), done.out


def test_lockstat_holds_and_lock_pmus(run, program):
    done = run("perf list | grep -c lock-wait:; echo 1 >/proc/sys/tally/lock/stat;"
               " perfcount switch 1000; echo 0 >/proc/sys/tally/lock/stat; cat /proc/lockstat;"
               " perf stat -x , -e lock-wait:dcache,lock_wait:zone true; echo rc $?",
               "--smp", "2", "--add", program)
    pipe = re.search(r"^pipe(?: +[\d.]+){3} +(\d+) +([\d.]+) +([\d.]+)$", done.out, re.M)
    # A byte written and a byte read per way: four times that the pipe is locked in a round trip.
    assert pipe and int(pipe[1]) >= 4000 and 0 < float(pipe[3]) <= float(pipe[2]), done.out
    assert int(done.out.split()[0]) >= 20 and "rc 0" in done.out


def test_inherit_and_command_status(run):
    done = run("perf stat -x , -e page-faults sh -c 'for i in 1 2 3; do /bin/true; done; exit 7';"
               " echo status $?; perf stat -x , -e page-faults -- /bin/true;"
               " perf stat -e nothing x; echo refused $?")
    faults = counts(done.out)["page_faults"]
    assert "status 7" in done.out and faults[0] > 3 * 20 > faults[1] > 5
    assert "no event 'nothing'" in done.out and "refused 129" in done.out


def test_event_groups_tasks_and_cpus(run):
    """perf_event_open() itself; the same program says the same on Linux."""
    done = run("mkdir /sys/fs/cgroup/g; perfapi /sys/fs/cgroup/g", "--smp", "2",
               "--add", compiled("perfapi"))
    assert "not ok" not in done.out and done.out.count("ok ") == 14, done.out


def test_few_counters_take_turns(run, program):
    """Exact with enough counters; else a share of the time, named, and groups as a whole."""
    done = run("perf stat -x , -e page-faults,few/page-faults/,few/wakeups/ perfcount fault 3000;"
               " echo TURNS; perf stat -x , -e syscall:enter,few/syscall:enter/,few/charges/,"
               "few/wakeups/,few/page_faults/ perfcount switch 10000;"
               " echo GROUPS; perf stat -a -x , -e {few/cs/,few/cs/},{few/wakeups/,few/wakeups/}"
               " perfcount switch 5000", "--smp", "2", "--append", "perf.few=2",
               "--add", program)
    enough, _, rest = done.out.partition("TURNS")
    turns, _, groups = rest.partition("GROUPS")
    c = dict((name, int(n)) for n, name in re.findall(r"^(\d+),,([\w/:-]+)", enough, re.M))
    assert c["few/page_faults/"] == c["page_faults"] >= 3000, done.out
    shares = [float(p) for p in re.findall(r"^\d+,,few/[^,]+,\d+,([\d.]+)$", turns, re.M)]
    assert len(shares) == 4 and 0 < min(shares) and max(shares) < 100, done.out
    found = re.findall(r"^(\d+),,(few/[^,]+),\d+,([\d.]+)$", groups, re.M)
    assert len(found) == 4 and all(0 < float(share) < 100 for *_, share in found), done.out


def perfswitch(tally, pmus):
    done = tally("experiment", "perfswitch", "--pmus", pmus, "--types", 1, "--l2", "low",
                 "--turns", 300, "--smp", 2, "--plugin", "insns", timeout=300)
    assert done.status == 0, done.err
    return {r["variant"]: r for r in done.records if r["record"] == "perfswitch"}


def test_switch_cost_does_not_grow_with_idle_pmus(tally):
    """The gain was once lost in Linux for a year: here this test fails."""
    rows = {n: perfswitch(tally, n) for n in (0, 60, 200)}
    for n, row in rows.items():
        assert row["active"]["contexts"] == row["active"]["switches"] >= 600
        assert row["all"]["contexts"] == row["all"]["switches"] * row["all"]["registered"]
        assert row["active"]["pmus"] == n
    active = [rows[n]["active"]["insns"] for n in rows]
    assert max(active) <= 1.02 * min(active)
    a, b, c = (rows[n]["all"]["insns"] for n in rows)
    assert (b - a) / 60 == pytest.approx((c - b) / 140, rel=0.05)
    assert a > active[0]


def test_profile_finds_the_function_and_its_callers(run, program):
    done = run("perf record -g -F 500 -o /tmp/d -- perfcount spin 1000; perf report -i /tmp/d -n 3;"
               " echo FOLDED; perf report -i /tmp/d --folded | head -3", "--smp", "2",
               "--add", program)
    top, _, folded = done.out.partition("FOLDED")
    first = re.search(r"^ *([\d.]+)%  perfcount +\[\.\] spin_here$", top, re.M)
    assert first and float(first[1]) > 50, done.out
    assert re.search(r"^perfcount;.*;main;spin_caller;spin_here \d+$", folded, re.M), done.out


def test_profile_sees_code_with_interrupts_off(run, program):
    """The scheduler switches with interrupts off; a profile by timer would not see it."""
    done = run("perf record -a -F 2000 -o /tmp/d -- perfcount switch 20000; perf report -i /tmp/d",
               "--smp", "2", "--add", program)
    shares = {name: float(n) for n, name in
              re.findall(r"([\d.]+)%  \[kernel\] +\[k\] (\w+)", done.out)}
    off = ("schedule", "arch_switch", "switch_stacks", "pick_next", "account_switch", "vm_activate",
           "put_prev", "fpu_switch", "tss_set_kernel_sp")
    assert sum(shares.get(name, 0) for name in off) > 2, done.out


def test_trace_points_are_exact(run, program):
    """As counts they are what other counters say; off, nothing is in the rings."""
    done = run("perf list | grep -c '^  [a-z]*:[a-z_]* '\n"
               "perf stat -x , -e mm:page_fault,page-faults perfcount fault 1000\n"
               "for n in 100 400; do perf stat -x , -e net:xmit,net:receive,syscall:enter,syscall:exit"
               " perfcount packet $n; done; cat /proc/tally/trace; grep -c ^- /proc/tally/trace_on",
               "--add", program)
    c = {}
    for n, name in re.findall(r"^(\d+),,([\w:-]+)$", done.out, re.M):
        c.setdefault(name, []).append(int(n))
    assert c["mm:page_fault"] == c["page_faults"]
    for event in ("net:xmit", "net:receive"):
        assert c[event][1] - c[event][0] == 300, event
    # One sendto() and one recv() per datagram.
    assert c["syscall:enter"][1] - c["syscall:enter"][0] == 600
    # Counting begins inside execve(), which ends, and ends inside exit_group(), which began.
    assert c["syscall:enter"] == c["syscall:exit"]
    lines = done.out.split()
    assert int(lines[0]) >= 18 and int(lines[-1]) >= 18, done.out


def test_trace_rings(run, program):
    done = run("echo 'sched:switch process:*' >/proc/tally/trace_on; perfcount switch 50;"
               " echo -all >/proc/tally/trace_on; cat /proc/tally/trace; echo END;"
               " echo nonsense >/proc/tally/trace_on || echo refused;"
               " echo clear >/proc/tally/trace; wc -c </proc/tally/trace", "--smp", "2",
               "--add", program)
    text, _, rest = done.out.partition("END")
    times = [float(t) for t in re.findall(r"^\[ *([\d.]+)\] cpu\d tid", text, re.M)]
    assert len(times) > 100 and times == sorted(times)
    assert len(re.findall(r" sched:switch next=-?\d+ state=0x\w+$", text, re.M)) >= 100
    for event in (r"process:fork child=\d+", r"process:exec pid=\d+", r"process:exit tid=\d+"):
        assert re.search(event, text), event
    assert rest.split()[-2:] == ["refused", "0"]


def test_record_at_a_trace_point(run, program):
    """A sample each time a function of the program faults a page in, with its callers."""
    done = run("perf record -g -e page-faults -o /tmp/d -- perfcount fault 700;"
               " perf report -i /tmp/d -g -n 1; perf report -i /tmp/d --folded | head -1;"
               " perf record -e charges true; echo rc $?", "--add", program)
    assert re.search(r"\d+ samples of event 'mm:page_fault'", done.out)
    folded = re.search(r"^perfcount;.*;main;fault;.*page_fault_\[k\] (\d+)$", done.out, re.M)
    assert folded and int(folded[1]) >= 700, done.out
    assert re.search(r"\d+% < .* < fault < main", done.out), done.out
    assert "rc 1" in done.out


def test_profile_leaves_idle_cpus_alone(run, program):
    """Interrupts of 6 CPUs that idle while one is busy and one samples."""
    text = """
        cat /proc/interrupts
        echo AFTER
        perf record -a -F 500 -o /tmp/d -- perfcount spin 1000
        cat /proc/interrupts
    """
    done = run(text, "--smp", "8", "--add", program)
    before, _, after = done.out.partition("AFTER")

    def timers(part):
        line = next(line for line in part.splitlines() if "timer" in line)
        return [int(n) for n in re.findall(r"\b\d+\b", line.split(":", 1)[1])[:8]]
    grown = sorted(b - a for a, b in zip(timers(before), timers(after)))
    assert sum(grown[:5]) < 100 < grown[-1], grown


def test_profile_costs_little(tally, program):
    """Instructions of the same work on both CPUs, alone and under a profile of 1000 Hz."""
    text = """
        echo 'perfcount work 40 & perfcount work 40; wait' >/tmp/both
        sh /tmp/both
        echo begin 0 >/proc/tally/mark; sh /tmp/both; echo end >/proc/tally/mark
        echo begin 1 >/proc/tally/mark
        perf record -a -F 1000 -o /tmp/d -- sh /tmp/both
        echo end >/proc/tally/mark
    """
    done = tally("run", "--exec", text, "--smp", "2", "--plugin", "insns", "--add", program)
    alone, profiled = (r["total"] for r in done.records if r["record"] == "insns")
    samples = int(re.search(r"(\d+) samples", done.out)[1])
    assert samples and profiled - alone <= 0.02 * alone
    # Start, end and file once; the rest is the samples'.  On a loaded host there are few.
    assert profiled - alone < 1.5e6 + 5000 * samples, (alone, profiled, samples)


def test_one_profile_at_a_time_and_top(run, program):
    done = run("perf record -a -o /tmp/d -- sleep 1 & sleep 0.3; perf record -a -o /tmp/e -- true;"
               " wait; perfcount spin 1500 & perf top -n 1 -d 1 -l 5", "--add", program)
    assert "another profile is being taken" in done.out
    assert re.search(r"^ *[\d.]+%  perfcount", done.out, re.M), done.out


def test_c2c_names_false_sharing(tally):
    """The counter's usage shares its line in the packed layout, and not in the split one."""
    done = tally("experiment", "c2c", "-n", 2, "-l", 1, "-r", 1, "--smp", 4, timeout=400)
    assert done.status == 0, done.err
    usage = {v: [r for r in done.records if r["record"] == "c2c" and r["variant"] == v
                 and (r["object"], r["field"]) == ("page_counter", "usage")]
             for v in ("packed", "split")}
    assert usage["packed"] and usage["split"]
    for line in usage["packed"]:
        assert "page_counter.limit" in line["neighbours"]
        assert any(f["symbol"].startswith("pc_try_charge") for f in line["functions"])
    for line in usage["split"]:
        assert not line["neighbours"]
    assert "FALSE SHARING with page_counter.limit" in done.out
    assert "alone on its line" in done.out


def test_flamegraph(tmp_path):
    folded = tmp_path / "folded"
    folded.write_text("a;b_[k];c_[k] 10\na;b_[k] 5\na;<d> 85\nnonsense\n", encoding="utf-8")
    svg = tmp_path / "x.svg"
    tool = [sys.executable, os.path.join(ROOT, "tools", "flamegraph")]
    subprocess.run([*tool, folded, svg], check=True)
    text = svg.read_text(encoding="utf-8")
    xml.etree.ElementTree.fromstring(text)
    assert "a: 100 samples, 100.00 %" in text and "c: 10 samples, 10.00 %" in text
    empty = subprocess.run(tool, input="", text=True, capture_output=True, check=False)
    assert empty.returncode and "no stacks" in empty.stderr
