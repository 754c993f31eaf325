#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes a cpio archive (format newc) from a list, the same bytes every time.

Usage: mkcpio.py -o OUT [LIST...]      (no LIST: standard input)

Lines of a list ('#' starts a comment line; modes are octal):

    dir   PATH MODE
    file  PATH MODE SOURCE
    link  PATH TARGET            symbolic link
    node  PATH MODE c|b MAJOR MINOR
    busybox PATH SOURCE          the program and a link for each of its applets

Entries are sorted by path, missing parents are added, owner is root in lists, times
are 0 and inode numbers count from 1.
"""

import argparse
import stat
import subprocess
import sys


class Entry:
    """One file of the archive."""

    def __init__(self, mode, data=b"", rdev=(0, 0), owner=(0, 0)):
        self.mode = mode
        self.data = data
        self.rdev = rdev
        self.owner = owner


def header(ino, entry, name):
    """The 110 bytes before a name: '070701' and 13 fields of 8 hex digits."""
    fields = (ino, entry.mode, *entry.owner, 2 if stat.S_ISDIR(entry.mode) else 1, 0,
              len(entry.data), 0, 0, entry.rdev[0], entry.rdev[1], len(name) + 1, 0)
    return b"070701" + b"".join(b"%08x" % f for f in fields)


def pad(data):
    return data + b"\0" * (-len(data) % 4)


def archive(entries):
    """Bytes of the archive of {path: Entry}; paths without leading slash."""
    out = []
    for ino, (path, entry) in enumerate(sorted(entries.items()), 1):
        name = path.encode()
        out.append(pad(header(ino, entry, name) + name + b"\0"))
        out.append(pad(entry.data))
    out.append(pad(header(0, Entry(0), b"TRAILER!!!") + b"TRAILER!!!\0"))
    data = b"".join(out)
    return data + b"\0" * (-len(data) % 512)


def add(entries, path, entry):
    path = path.strip("/")
    if not path or ".." in path.split("/"):
        raise ValueError(f"bad path {path!r}")
    parent = path.rpartition("/")[0]
    while parent and parent not in entries:
        entries[parent] = Entry(stat.S_IFDIR | 0o755)
        parent = parent.rpartition("/")[0]
    entries[path] = entry


def read_file(source):
    with open(source, "rb") as f:
        return f.read()


def busybox(entries, path, source):
    """Adds the program and a relative or absolute link for each applet."""
    add(entries, path, Entry(stat.S_IFREG | 0o755, read_file(source)))
    applets = subprocess.run([source, "--list-full"], check=True, capture_output=True,
                             text=True).stdout.split()
    for applet in applets:
        applet = applet.strip("/")
        if applet not in entries and applet != path.strip("/"):
            add(entries, applet, Entry(stat.S_IFLNK | 0o777, b"/" + path.strip("/").encode()))


def parse(lines, entries):
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            kind, path, *rest = words
            if kind == "dir":
                add(entries, path, Entry(stat.S_IFDIR | int(rest[0], 8)))
            elif kind == "file":
                add(entries, path, Entry(stat.S_IFREG | int(rest[0], 8), read_file(rest[1])))
            elif kind == "link":
                add(entries, path, Entry(stat.S_IFLNK | 0o777, rest[0].encode()))
            elif kind == "node":
                fmt = {"c": stat.S_IFCHR, "b": stat.S_IFBLK}[rest[1]]
                add(entries, path,
                    Entry(fmt | int(rest[0], 8), rdev=(int(rest[2]), int(rest[3]))))
            elif kind == "busybox":
                busybox(entries, path, rest[0])
            else:
                raise ValueError(f"unknown kind {kind!r}")
        except (ValueError, IndexError, KeyError, OSError, subprocess.CalledProcessError) as e:
            sys.exit(f"mkcpio.py: line {number}: {line.strip()}: {e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", required=True, help="archive to write")
    parser.add_argument("lists", nargs="*", help="lists to read")
    args = parser.parse_args()
    entries = {}
    for source in args.lists or ["/dev/stdin"]:
        with open(source, encoding="utf-8") as f:
            parse(f, entries)
    with open(args.o, "wb") as f:
        f.write(archive(entries))


if __name__ == "__main__":
    main()
