# SPDX-License-Identifier: MIT
"""--add-deb: a Debian package with the libraries it needs, as one cpio archive.

Packages are downloaded by apt (nothing is installed), their files taken out of the
archives with the owners and modes they have there.  Maintainer scripts are not run:
what they would have done is read from the package's systemd units (users, folders),
or stands in AFTER.  Everything is cached below $O/debs.
"""

import fcntl
import glob
import hashlib
import os
import re
import shutil
import stat
import subprocess
import tarfile

import mkcpio
from runner.common import ROOT, CannotStart, UsageError

# What serves only installation, service scripts, or people who read.
LEFT_OUT = re.compile(r"adduser|c?debconf.*|dpkg|gcc-\d+-base|init-system-helpers|install-info|iproute2|"
                      r"lsb-base|passwd|.*perl.*|readline-common|sysvinit-utils|tar|usr-?.*merged?|"
                      r"libpam.*|libaudit.*|libsemanage.*|libnewt.*|libdebian-installer.*")
NO_FILES = re.compile(r"usr/share/(doc|man|info|locale|lintian|bug|vim|apport|bash-completion)/|"
                      r"usr/lib/x86_64-linux-gnu/gconv/|etc/(init\.d|logrotate\.d|ufw|default)/")

# Shell-free remains of maintainer scripts: (kind, path, argument).
AFTER = {
    "nginx-common": [
        ("link", "etc/nginx/sites-enabled/default", "/etc/nginx/sites-available/default"),
        ("copy", "var/www/html/index.nginx-debian.html", "usr/share/nginx/html/index.html"),
    ],
}
FIRST_ID = 100  # of users that packages bring


def apt(command, *args, cwd=None):
    """Standard output of an apt command."""
    if not shutil.which(command[0]):
        raise CannotStart(f"--add-deb: {command[0]} is missing (a Debian host is needed)")
    done = subprocess.run([*command, *args], capture_output=True, text=True, check=False, cwd=cwd)
    if done.returncode:
        raise CannotStart(f"--add-deb: {' '.join(command)} {' '.join(args)}:\n{done.stderr}")
    return done.stdout


def closure(packages):
    """The packages and what they depend on, but for LEFT_OUT."""
    text = apt(["apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests", "--no-enhances",
                "--no-conflicts", "--no-breaks", "--no-replaces"], *packages)
    graph, name, alternative = {}, None, False
    for line in text.splitlines():
        if not line.startswith(" "):
            name = line.strip()
            graph.setdefault(name, [])
            continue
        match = re.match(r" ( |\|)(?:Pre)?Depends: (\S+)", line)
        if match and not alternative and not match[2].startswith("<"):
            graph[name].append(match[2])
        if match:  # of alternatives ("|Depends: a" "Depends: b") the first
            alternative = match[1] == "|"
    found, todo = [], list(packages)
    while todo:
        name = todo.pop(0)
        if name not in found and not (LEFT_OUT.fullmatch(name) and name not in packages):
            found.append(name)
            todo += graph.get(name, [])
    return found


def download(names, folder):
    """Paths of the packages' archives, in order; fetches those that are missing."""
    def path(name):
        found = sorted(glob.glob(os.path.join(folder, f"{name}_*.deb")))
        return found[-1] if found else None

    missing = [name for name in names if not path(name)]
    if missing:
        apt(["apt-get", "download"], *missing, cwd=folder)
    return [path(name) for name in names]


class Tree:
    """Files of the guest that grow package by package."""

    def __init__(self):
        self.entries = {}
        self.users = {}
        for name, base in (("passwd", 2), ("group", 2)):
            with open(os.path.join(ROOT, "boot/initramfs", name), encoding="utf-8") as f:
                setattr(self, name, f.read())
                f.seek(0)
                ids = {w[0]: int(w[base]) for w in (line.split(":") for line in f)}
                self.users[name] = ids

    def user(self, name):
        """(uid, gid) of a user, who is made if not known."""
        if name not in self.users["passwd"]:
            number = FIRST_ID + len(self.users["passwd"])
            self.passwd += f"{name}:x:{number}:{number}::/var/lib/{name}:/usr/sbin/nologin\n"
            self.group += f"{name}:x:{number}:\n"
            self.users["passwd"][name] = self.users["group"][name] = number
        return self.users["passwd"][name], self.users["group"].get(name, 0)

    def unpack(self, deb):
        """Adds the files of one archive."""
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as pipe:
            with tarfile.open(fileobj=pipe.stdout, mode="r|") as tar:
                for member in tar:
                    self.add(member, tar)
        if pipe.returncode:
            raise CannotStart(f"--add-deb: dpkg-deb cannot read {deb}")

    def add(self, member, tar):
        """One member of an archive."""
        path = member.name.removeprefix(".").strip("/")
        if not path or NO_FILES.match(path + "/"):
            return
        if member.isdir():
            mode, data = stat.S_IFDIR, b""
        elif member.issym():
            mode, data = stat.S_IFLNK, member.linkname.encode()
        elif member.islnk():  # the data again: archives here have no links between entries
            mode, data = stat.S_IFREG, self.entries[member.linkname.removeprefix(".").strip("/")].data
        elif member.isreg():
            mode, data = stat.S_IFREG, tar.extractfile(member).read()
        else:
            return
        entry = mkcpio.Entry(mode | member.mode, data, owner=(member.uid, member.gid))
        if not (member.isdir() and path in self.entries):
            mkcpio.add(self.entries, path, entry)

    def units(self):
        """Users and folders that systemd would make."""
        for path, entry in list(self.entries.items()):
            if not re.match(r"(usr/)?lib/systemd/system/[^/@]+\.service$", path) or not entry.data:
                continue
            lines = entry.data.decode().splitlines()
            unit = dict(line.split("=", 1) for line in lines if re.match(r"\w+=", line))
            if "User" not in unit:
                continue
            owner = self.user(unit["User"])
            folders = [f"run/{d}" for d in unit.get("RuntimeDirectory", "").split()]
            for key, base in (("StateDirectory", "var/lib/"), ("LogsDirectory", "var/log/"),
                              ("ReadWritePaths", ""), ("ReadWriteDirectories", "")):
                for line in lines:
                    if line.startswith(key + "="):
                        folders += [base + d.lstrip("-/") for d in line.split("=", 1)[1].split()]
            for folder in folders:
                if folder.startswith(("run/", "var/")):
                    mkcpio.add(self.entries, folder, mkcpio.Entry(stat.S_IFDIR | 0o755, owner=owner))

    def after(self, names):
        """AFTER of the packages."""
        for kind, path, what in (step for name in names for step in AFTER.get(name, [])):
            if kind == "link":
                mkcpio.add(self.entries, path, mkcpio.Entry(stat.S_IFLNK | 0o777, what.encode()))
            else:
                mkcpio.add(self.entries, path, self.entries[what])

    def finish(self):
        """The archive."""
        for name in ("passwd", "group"):
            mkcpio.add(self.entries, f"etc/{name}",
                       mkcpio.Entry(stat.S_IFREG | 0o644, getattr(self, name).encode()))
        return mkcpio.archive(self.entries)


def archive(packages, out):
    """Path of a cpio archive with @packages and what they need; made if it is not there."""
    for name in packages:
        if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", name):
            raise UsageError(f"--add-deb: a package's name expected, not {name!r}")
    folder = os.path.join(ROOT, out, "debs")
    os.makedirs(folder, exist_ok=True)
    packages = sorted(set(packages))
    digest = hashlib.sha256()
    for source in (__file__, *(os.path.join(ROOT, "boot/initramfs", n) for n in ("passwd", "group"))):
        digest.update(mkcpio.read_file(source))
    path = os.path.join(folder, f"{'+'.join(packages)}.{digest.hexdigest()[:12]}.cpio")
    with open(os.path.join(folder, ".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(path):
            names = closure(packages)
            tree = Tree()
            for deb in download(names, folder):
                tree.unpack(deb)
            tree.units()
            tree.after(names)
            with open(path + ".new", "wb") as f:
                f.write(tree.finish())
            os.rename(path + ".new", path)
    return path
