# SPDX-License-Identifier: MIT
"""A crowd of connections: none is stuck, an idle one is cheap, the group is empty afterwards."""

import os

LONG = bool(os.environ.get("LONG"))  # all 100 000 short ones


def test_many(run):
    text = f"""
mkdir /sys/fs/cgroup/crowd
sh -c 'echo $$ >/sys/fs/cgroup/crowd/cgroup.procs; exec many -n 10000 -s {100000 if LONG else 4000}' || exit 1
for i in 1 2 3 4 5 6 7 8 9 10; do
	now=$(cat /sys/fs/cgroup/crowd/memory.current)
	[ "$now" = 0 ] && break
	sleep 1
done
echo "left $now"
rmdir /sys/fs/cgroup/crowd
"""
    done = run(text, "--mem", "1G", timeout=300 if LONG else 100)
    assert done.status == 0, done.out + done.err
    record = done.record("many")
    assert record["failed"] == 0 and record["left"] <= 0
    assert 0 < record["bytes_per_connection"] <= 2048
    assert "left 0" in done.out, done.out
