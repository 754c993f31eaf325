#!/bin/sh
# SPDX-License-Identifier: MIT
# make check-sim: runs the simulator's checks, a minute of exploration, and the search
# for planted faults; closes with "sim: N passed, N failed".  Arguments: the programs.
set -u
passed=0
failed=0
for run in "$1 --check" "$2 --seconds ${SECONDS_TO_EXPLORE:-60}" "$3 --faults 60" "$4 --check"; do
	out=$(timeout 400 $run 2>&1)
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
