# SPDX-License-Identifier: MIT
"""netserver, netperf and the experiments on Tally."""

import pytest


def test_as_typed(run):
    done = run("netserver && netperf -6 -H ::1 -l 2 -t TCP_SENDFILE -- -m 10K", timeout=60)
    assert done.status == 0, done.out + done.err
    lines = done.out.splitlines()
    assert lines[1].startswith("TCP SENDFILE TEST from ::0 (::) port 0 AF_INET6 to ::1 (::1)")
    size, send, message, seconds, mbps = lines[7].split()
    assert message == "10240"
    assert 1.9 < float(seconds) < 6
    assert float(mbps) > 100
    assert int(size) > 0 and int(send) > 0


def test_ipv4_and_stream(run):
    done = run("netserver -4 >/dev/null && netperf -4 -H 127.0.0.1 -P 0 -l -20000000"
               " -t TCP_STREAM -- -m 16K -D && netperf -H localhost -P 0 -v 0 -l 1 -4",
               timeout=60)
    assert done.status == 0, done.out + done.err


def test_cgroup_recipe_as_typed(run):
    """What recipes on the web tell people to type."""
    text = """
cd /sys/fs/cgroup
mkdir -p a/b/c
echo +memory > cgroup.subtree_control
echo +memory > a/cgroup.subtree_control
echo +memory > a/b/cgroup.subtree_control
echo 200K > a/memory.min; echo 400K > a/memory.low
netserver -6 -p 2000 >/dev/null
(echo $(sh -c 'echo $PPID') > a/b/c/cgroup.procs
 netserver -6 -p 2001 >/dev/null
 cd /tmp
 netperf -6 -H ::1 -p 2001 -l 2 -P 0 -v 0 -t TCP_SENDFILE -- -m 10K
 kill $(pidof netserver))
sleep 1
cat a/b/c/memory.peak a/b/c/memory.current
rmdir a/b/c a/b a && ls -d a 2>&1
sed -n 's/nr_dying_descendants/dying/p' cgroup.stat
"""
    done = run(text, timeout=60)
    assert done.status == 0, done.out + done.err
    mbps, peak, current, gone, dying = done.out.splitlines()
    assert float(mbps) > 0
    assert int(peak) > 1 << 20, "peak above 1 MiB"
    assert int(current) == 0
    assert "No such file" in gone
    assert dying == "dying 0"


def test_recipe(tally):
    done = tally("experiment", "recipe", "-n", "2", "-l", "1", "-r", "2", "--presets",
                 "linux-6.0,tally", "--smp", "2", timeout=180)
    assert done.status == 0, done.err
    taxes = {r["preset"]: r for r in done.records if r["record"] == "recipe-tax"}
    assert set(taxes) == {"linux-6.0", "tally"}
    for tax in taxes.values():
        assert tax["charges_per_msg"] > 1
        assert tax["tax_low"] <= tax["tax_percent"] <= tax["tax_high"]
    assert "take turns" in done.out


def test_batch_halves_the_walks(tally):
    done = tally("experiment", "batch", "-n", "2", "-l", "1", "-r", "1", "--smp", "2", timeout=180)
    assert done.status == 0, done.err
    # Per page, since how many pages a message charges depends on how far the sender runs ahead.
    walks = {r["variant"]: r["walks_per_msg"] / r["charges_per_msg"] for r in done.records
             if r["record"] == "recipe-tax"}
    assert 1.6 < walks["32"] / walks["64"] < 2.4


def test_layout_sizes(tally):
    done = tally("experiment", "layout", "-n", "2", "-l", "0.5", "-r", "1", "--smp", "2",
                 timeout=180)
    assert done.status == 0, done.err
    sizes = {r["variant"]: r["counter_bytes"] for r in done.records
             if r["record"] == "recipe-tax"}
    assert sizes["packed"] == 112
    assert sizes["split"] % 64 == 0


def test_uncharge_walks(tally):
    done = tally("experiment", "uncharge", "-n", "2", "-l", "1", "-r", "1", "--smp", "2",
                 timeout=180)
    assert done.status == 0, done.err
    taxes = {r["variant"]: r for r in done.records if r["record"] == "recipe-tax"}
    # direct: a walk for every uncharge (several pages each); stock: one for a batch of 32 pages
    direct, stock = (taxes[v]["uncharge_walks_per_msg"] for v in ("direct", "stock"))
    assert stock == pytest.approx(taxes["stock"]["charges_per_msg"] / 32, rel=0.5)
    assert direct > 1.5 * stock


@pytest.mark.parametrize("smp,pairs,size", [("2", 4, "2M"), ("8", 12, "2M")])
def test_truth_over_a_bad_loopback(tally, smp, pairs, size):
    done = tally("experiment", "truth", "-n", pairs, "--bytes", size, "--smp", smp,
                 "--lo", "50,50,50", timeout=240)
    assert done.status == 0, done.err
    record = done.record("truth")
    assert record["bytes"] == pairs * int(size[:-1]) << 20
    assert record["bad"] == 0
    for field in ("drops", "reordered", "duplicated", "retransmits"):
        assert record[field] > 0, field


def test_instructions(tally):
    done = tally("experiment", "recipe", "-n", "2", "-l", "1", "-r", "3", "--smp", "2", "--plugin",
                 "insns", timeout=240)
    assert done.status == 0, done.err
    tax = done.record("recipe-tax")
    assert tax["insns_per_msg_root"] > 100
    assert 0 < tax["accounting_percent"] <= 2
    assert tax["charges_per_msg"] > 1
