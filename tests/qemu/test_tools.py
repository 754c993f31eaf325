# SPDX-License-Identifier: MIT
"""The tools around the build: archives, the sum of make check, set-up, layers."""

import importlib.machinery
import importlib.util
import json
import os
import shutil
import stat
import subprocess
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.dont_write_bytecode = True

import mkcpio  # noqa: E402
from runner import experiment, machine, plugin, session, symbols, table  # noqa: E402


def load(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"),
                                                  os.path.join(ROOT, "tools", name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def test_archive_is_what_cpio_reads(tmp_path):
    (tmp_path / "data").write_bytes(b"12345")
    entries = {}
    mkcpio.parse([f"file /usr/x/data 640 {tmp_path}/data\n", "link /l data\n", "# comment\n",
                  "node /dev/null 666 c 1 3\n", "dir /tmp 1777\n"], entries)
    data = mkcpio.archive(entries)
    assert data == mkcpio.archive(dict(reversed(list(entries.items()))))
    done = subprocess.run(["cpio", "-itvn", "--quiet"], input=data, capture_output=True, check=True)
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    assert [line[8 if line[0][0] != "c" else 9] for line in lines] == [
        "dev", "dev/null", "l", "tmp", "usr", "usr/x", "usr/x/data"]
    assert lines[-1][0] == "-rw-r-----" and lines[-1][4] == "5"
    assert lines[3][0] == "drwxrwxrwt"


def test_archive_refuses_nonsense():
    with pytest.raises(SystemExit, match="line 1"):
        mkcpio.parse(["file ../x 644 /dev/null\n"], {})
    with pytest.raises(SystemExit, match="unknown kind"):
        mkcpio.parse(["thing /x\n"], {})


@pytest.mark.parametrize("line,passed,failed", [
    ("35 passed in 10.99s\n", 35, 0),
    ("=== 2 failed, 33 passed, 1 warning in 3.20s ===\n", 33, 2),
    ("1 failed in 0.12s\n", 0, 1),
    ("1 failed, 2 passed, 3 errors in 100.01s (0:01:40)\n", 2, 4),
    ("host: 17 passed, 1 failed\n", 17, 1),
    ("nothing of the kind\n", 1, 0)])
def test_sum_of_parts(tmp_path, line, passed, failed):
    check_all = load("check-all")
    fake = tmp_path / "make"
    fake.write_text(f"#!/bin/sh\nprintf '%s' '{line}'\n")
    fake.chmod(0o755)
    assert check_all.run_part([str(fake)], "x") == (passed, failed)


def test_failing_part_without_figures_counts(tmp_path):
    check_all = load("check-all")
    fake = tmp_path / "make"
    fake.write_text("#!/bin/sh\necho 3 passed, 0 failed\nexit 2\n")
    fake.chmod(0o755)
    assert check_all.run_part([str(fake)], "x") == (3, 1)


@pytest.mark.parametrize("folder,line,message", [
    ("mm", '#include "net/tcp.h"', "may not include net/tcp.h"),
    ("net", '#include "mm/page_counter.h"', "only through mm/memcg.h"),
    ("apps", '#include "kernel/log.h"', "may not include kernel/log.h"),
    ("fs", '__asm__ volatile("nop");', "inline assembly"),
    ("mm", '#include "kernel/log.h"', None)])
def test_layers(tmp_path, folder, line, message):
    (tmp_path / "tools").mkdir()
    shutil.copy(os.path.join(ROOT, "tools", "check-layers"), tmp_path / "tools")
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "x.c").write_text(line + "\n")
    done = subprocess.run([tmp_path / "tools" / "check-layers"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == (1 if message else 0)
    if message:
        assert message in done.stdout


def test_setup_finds_nothing_missing_quickly():
    done = subprocess.run([os.path.join(ROOT, "tools", "setup"), "--check", "build", "run"],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert subprocess.run([os.path.join(ROOT, "tools", "setup"), "nosuch"], capture_output=True,
                          check=False).returncode == 2


def boot(text="true"):
    outputs = session.Outputs(echo=False)
    return session.Boot(machine.Config(), text, outputs, session.Deadline(None))


def test_console_begins_at_the_mark_and_loses_carriage_returns():
    b = boot()
    for piece in (b"BIOS noise\r\n", b"\x1etally:", b"start\r\nline one\r", b"\ntwo\r\nno end"):
        b.console(piece)
    assert b.result.console == b"line one\ntwo\nno end"


def test_records_arrive_in_pieces(capsys):
    b = boot()
    b.records(b"firmware's noise\n")
    assert "not a record" not in capsys.readouterr().err
    b.console(b"\x1etally:start\r\n")
    for piece in (b'{"record":"a","x"', b':1}\nnonsense\n{"record":"exit",', b'"status":5}\r\n'):
        b.records(piece)
    assert b.result.exit_status == 5
    assert [r["record"] for r in b.result.records] == ["a", "exit"]
    assert "not a record" in capsys.readouterr().err


def test_panic_is_seen():
    assert symbols.is_panic(b"[ 0.1] cpu0: error: panic: out of luck")
    assert not symbols.is_panic(b"[ 0.1] parameters: panic=off")


def test_queues_of_a_tap(monkeypatch):
    """A tap with one queue cannot have more; one made for many is opened as that."""
    monkeypatch.setattr(machine, "multi_queue", lambda name: False)
    assert "queues" not in machine.net_arguments(machine.Config(net="tap:tap0"))[1]
    with pytest.raises(machine.UsageError, match="multi_queue"):
        machine.net_arguments(machine.Config(net="tap:tap0", queues=4))
    monkeypatch.setattr(machine, "multi_queue", lambda name: True)
    assert "queues=2" in machine.net_arguments(machine.Config(net="tap:tap0"))[1]


def test_network_arguments():
    args = machine.net_arguments(machine.Config(net="user,8080-80"))
    assert "hostfwd=tcp:127.0.0.1:8080-:80" in args[1]
    args = machine.net_arguments(machine.Config(net="tap:tap0", queues=4))
    assert "queues=4" in args[1] and "mq=on" in args[3]
    for bad in ("cable", "user,80", "user,65536-80", "user,8080-0", "user,8080-65536",
                "tap", "tap:", "tap:a b", "tap:sixteen_bytes_xx"):
        with pytest.raises(machine.UsageError, match="expected, not"):
            machine.net_arguments(machine.Config(net=bad))
    machine.net_arguments(machine.Config(net="tap:fifteen_bytes_x"))
    for bad in (-1, 0, 257):
        with pytest.raises(machine.UsageError, match="1 to 256 expected, not"):
            machine.check(machine.Config(net="none", queues=bad))


def test_added_tree(tmp_path):
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "f").write_text("x")
    machine.added_files([f"{tmp_path}/d:/opt/", f"{tmp_path}/d/e/f"], tmp_path / "out.cpio")
    out = subprocess.run(["cpio", "-it", "--quiet"], input=(tmp_path / "out.cpio").read_bytes(),
                         capture_output=True, check=True).stdout.decode().split()
    assert out == ["opt", "opt/d", "opt/d/e", "opt/d/e/f", "root", "root/f"]
    assert stat.S_ISREG((tmp_path / "out.cpio").stat().st_mode)


def rounds():
    records = []
    for n, (root, group) in enumerate([(100, 90), (100, 95)], 1):
        records += [{"record": "recipe-round", "round": n, "where": "root", "msgs": root},
                    {"record": "recipe-round", "round": n, "where": "group", "msgs": group}]
    return records + [{"record": "recipe-tax", "preset": "tally", "groups": 1, "clients": 2}]


def test_instruction_fields():
    result = session.Result(records=rounds())
    result.plugin = {"insns": [{"mark": m, "total": t, "accounting": a, "by_symbol": {"f": t}}
                               for m, t, a in [(0, 1000, 0), (1, 1080, 10), (0, 1000, 0),
                                               (1, 950, 19)]]}
    experiment.add_insns(result)
    tax = result.records[-1]
    assert tax["insns_per_msg_root"] == 10
    assert tax["insns_per_msg_group"] == 11
    assert tax["accounting_percent"] == pytest.approx((100 * 10 / 1080 + 2) / 2, abs=0.001)


def test_accounting_files():
    for name in ("mm/page_counter.c", "mm/page_counter_impl.h", "mm/stock.c", "mm/memcg_stat.c",
                 "net/sock_mem.c", "/home/x/tally/mm/owner.c"):
        assert plugin.is_accounting(name), name
    for name in ("mm/slab.c", "net/tcp.c", "mm/page_alloc.c", "", "fs/memcg.c"):
        assert not plugin.is_accounting(name), name


def test_table(capsys):
    records = rounds() + [
        {"record": "recipe", "preset": "tally", "groups": 1, "where": w, "mbps_total": m,
         "mbps_mean": m / 2, "commit": "abc"} for w, m in (("root", 12345.6), ("group", 12000.0))]
    records[4].update(tax_percent=2.8, tax_low=1.0, tax_high=3.0, charges_per_msg=5.5,
                      walks_per_msg=None)
    table.print_table("recipe", records, machine.Config(smp="2"))
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if line.startswith("tally"))
    assert "12 345.6" in row and "2.80" in row and row.endswith("-")
    assert "commit abc" in out and "take turns" in out


def test_report(tmp_path):
    """One page from records: a section for what is there, a sentence for what is not readable."""
    records = tmp_path / "records.json"
    page = tmp_path / "page.html"
    records.write_text("".join(json.dumps({"record": "sim-walk", "walk": walk, "cpus": cpus, "seconds": seconds, "machine": "sim"})
                               + "\n" for walk, cpus, seconds in (("spin", 4, 1.5), ("spin", 72, 99), ("rcu", 4, 1), ("rcu", 72, 1))))
    report = os.path.join(ROOT, "tools", "report")
    done = subprocess.run([report, "--out", str(page), str(records)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert text.count("<svg") == 1 and "make sim" in text and "simulated CPUs" in text
    records.write_text("not a record\n")
    done = subprocess.run([report, "--out", str(page), str(records)], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "records.json:1: one JSON object a line expected" in done.stderr
    done = subprocess.run([report, "--out", str(page), "/none"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no such file: /none" in done.stderr
