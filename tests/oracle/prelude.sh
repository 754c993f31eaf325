# SPDX-License-Identifier: MIT
#
# What every case may use.  A case starts in a new group, /sys/fs/cgroup/t, that has
# a memory controller and no children; its processes and groups go when it ends.

R=/sys/fs/cgroup

# w FILE TEXT: what one write says; TEXT with \n and \t as echo -e knows them.
w() {
	if e=$({ echo -ne "$2" >"$1"; } 2>&1); then echo "$1: ok"; else echo "$1: ${e##*: }"; fi
}
# wr FILE TEXT: write, then read back.
wr() { w "$1" "$2"; r "$1"; }
# r FILE: its content, or why not.
r() {
	if e=$(cat "$1" 2>&1); then echo "$1 = $e"; else echo "$1: ${e##*: }"; fi
}
# try COMMAND...: ok, or the last part of its message.
try() {
	if e=$("$@" 2>&1); then echo "$*: ok"; else echo "$*: ${e##*: }"; fi
}
# key FILE NAME: one value of a keyed file.
key() {
	while read -r k v; do [ "$k" = "$2" ] && echo "$2 $v"; done <"$1"
}
val() { key "$1" "$2" | { read -r _ v; echo "$v"; }; }
# near WHAT VALUE LOW HIGH (KiB): says in range or the value.
near() {
	if [ "$2" -ge $(($3 * 1024)) ] && [ "$2" -le $(($4 * 1024)) ]; then echo "$1: $3..$4 KiB"
	else echo "$1: $2, not $3..$4 KiB"; fi
}
# at GROUP COMMAND...: run it there.
at() { ( echo 0 >"$1/cgroup.procs"; shift; exec "$@" ); }
# hold GROUP MIB: a process there that has touched that much; its pid in $held.
hold() {
	held_file=$(mktemp -u /tmp/hold.XXXXXX)
	mkfifo $held_file
	{ head -c 1 >/dev/null; : >$held_file.ok; exec sleep 1000; } <$held_file 2>/dev/null &
	( echo 0 >"$1/cgroup.procs"; exec dd if=/dev/zero of=$held_file bs=$2M count=1 ) 2>/dev/null &
	held=$!
	n=0
	while [ ! -e $held_file.ok ] && [ $n -lt 100 ]; do sleep 0.05; n=$((n + 1)); done
}
# fill GROUP MIB FILE: that much file data, charged to the group.
fill() { at "$1" dd if=/dev/zero of="$3" bs=64k count=$(($2 * 16)) 2>/dev/null; }
# cached GROUP MIB FILE: a new file on the disk, without data, that a process of the group has read.
cached() { truncate -s $2M "$3"; at "$1" cat "$3" >/dev/null; }
# again GROUP FILE...: it reads them once more.
again() { g=$1; shift; at "$g" cat "$@" >/dev/null; }
# some FILE NAME...: which values of a keyed file are not 0.
some() {
	f=$1; shift
	for k in "$@"; do
		if [ "$(val "$f" $k)" -gt 0 ]; then echo "$k: some"; else echo "$k: none"; fi
	done
}
# limits GROUP...: makes groups, each as PATH:FILE=VALUE,FILE=VALUE; FILE without "memory.".
limits() {
	for spec in "$@"; do
		g=${spec%%:*}
		mkdir "$g"
		for set in $(echo "${spec#*:}" | tr , ' '); do echo ${set#*=} >"$g/memory.${set%%=*}"; done
	done
}
# till COMMAND...: repeats it for up to ten seconds until it succeeds; says if it never does.
till() {
	n=0
	until "$@" 2>/dev/null; do
		[ $n -lt 200 ] || { echo "never: $*"; return 1; }
		sleep 0.05
		n=$((n + 1))
	done
}
# under GROUP: gives its children the controller.
under() { echo +memory >"$1/cgroup.subtree_control"; }
# plain: back to a tree mounted without options.
plain() { mkdir -p /tmp/plain; mount -t cgroup2 plain /tmp/plain; umount /tmp/plain; }
# options: of the cgroup tree as mounted.
options() { grep " $R " /proc/mounts | cut -d' ' -f4; }
# lines FILE: how many it has.
lines() { if e=$(cat "$1" 2>&1); then echo "$1: $(wc -l <"$1") lines"; else echo "$1: ${e##*: }"; fi; }
# soon FILE TEXT: waits up to ten seconds for the text in it.
soon() {
	n=0
	while [ $n -lt 200 ]; do
		case "$(cat "$1")" in *"$2"*) echo "$1: $2"; return;; esac
		sleep 0.05
		n=$((n + 1))
	done
	echo "$1: not $2: $(cat "$1")"
}
# ended PID: waits up to ten seconds for its end.
ended() {
	n=0
	while [ -e /proc/$1 ] && [ "$(cut -d' ' -f3 /proc/$1/stat 2>/dev/null)" != Z ] && [ $n -lt 200 ]; do
		sleep 0.05
		n=$((n + 1))
	done
	[ $n -lt 200 ] && echo "process: gone" || echo "process: alive"
}
sleeper() { sleep 1000 & pid=$!; }
