#!/bin/sh
# SPDX-License-Identifier: MIT
# make check-sim: runs the simulator's checks and a short exploration; closes with
# "sim: N passed, N failed".  Arguments: the two programs.
set -u
passed=0
failed=0
for run in "$1 --check" "$2 --seeds ${SEEDS:-500}"; do
	out=$(timeout 240 $run 2>&1)
	status=$?
	echo "$out"
	last=$(echo "$out" | tail -1)
	p=$(echo "$last" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1/p')
	f=$(echo "$last" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\2/p')
	passed=$((passed + ${p:-0}))
	if [ -z "$f" ] || { [ "$status" -ne 0 ] && [ "$f" = 0 ]; }; then
		f=1
		echo "FAIL $run: status $status"
	fi
	failed=$((failed + f))
done
echo "sim: $passed passed, $failed failed"
[ "$failed" = 0 ]
