# SPDX-License-Identifier: MIT
#
# Runs the cases in /oracle/cases, in order; a line "@@ NAME" before each answer.

cd /sys/fs/cgroup
grep -q memory cgroup.subtree_control || echo +memory >cgroup.subtree_control
for f in /oracle/cases/*; do
	IFS= read -r name <"$f"
	echo "@@ ${name#\# }"
	mkdir t
	( cd t && exec timeout 60 sh -c ". /oracle/prelude.sh; . $f" ) 2>&1 </dev/null
	echo 1 >t/cgroup.kill
	n=0
	while [ -d t ] && [ $n -lt 60 ]; do
		find t -type d -depth -exec rmdir {} + 2>/dev/null
		[ -d t ] && { sleep 0.05; n=$((n + 1)); }
	done
	[ -d t ] && echo "group is still there"
	rm -rf /tmp/* /disk/*
done
echo "@@ end"
