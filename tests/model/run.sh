#!/bin/sh
# SPDX-License-Identifier: MIT
# make check-model: every interleaving of the models, and that their planted faults
# are found; closes with "model: N passed, N failed".  Argument: a folder to work in.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=$1
passed=0
failed=0

# check EXPECTED MODEL [-DFAULT]: EXPECTED is "holds" or "fails".
check() {
	expected=$1
	model=$2
	dir=$out/$model${3:-}
	mkdir -p "$dir"
	result=$(cd "$dir" && rm -f pan* && spin -a ${3:-} "$here/$model.pml" >spin.log 2>&1 &&
		gcc -w -O2 -DSAFETY -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c &&
		timeout 400 ./pan -m100000 -w22 2>&1)
	states=$(echo "$result" | sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p')
	if echo "$result" | grep -q 'errors: 0$' && ! echo "$result" | grep -q 'not completed\|max search depth'; then
		got=holds
	elif echo "$result" | grep -q 'assertion violated'; then
		got=fails
	else
		got="did not run to its end"
		echo "$result" | tail -5
	fi
	if [ "$got" = "$expected" ]; then
		passed=$((passed + 1))
		echo "ok   $model${3:+ $3}: $got, as expected; $states states"
	else
		failed=$((failed + 1))
		echo "FAIL $model${3:+ $3}: $got, not $expected"
	fi
}

check holds stock
check fails stock -DNO_SETTLE
check fails stock -DNO_SECOND_LOOK
check holds removal
check fails removal -DNO_DROPPED
echo "model: $passed passed, $failed failed"
[ "$failed" = 0 ]
