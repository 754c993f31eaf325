# SPDX-License-Identifier: MIT
# Runs every line of the file $1 in an empty folder of its own below the current
# one and prints number, output and status.
list=$1
top=$PWD
n=0
while read -r line; do
	case $line in '#'* | '') continue ;; esac
	n=$((n + 1))
	mkdir "w$n" && cd "w$n" || exit 1
	timeout 30 sh -c "$line" >../out 2>&1 </dev/null
	status=$?
	cd "$top"
	printf "\n### %d: status %d\n" "$n" "$status"
	cat out
	rm -rf "w$n" out
done <"$list"
echo "### end"
