# SPDX-License-Identifier: MIT
"""Debian's Linux for comparisons: its kernel package unpacked below $O/linux, an initramfs."""

import glob
import os
import re
import subprocess
import sys

import mkcpio
from runner import deb
from runner.common import ROOT, CannotStart

VIRTIO_NET = ("virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
              "failover", "net_failover", "virtio_net")
PARAMETERS = "console=ttyS0 loglevel=3 mitigations=off panic=-1 rdinit=/init"

MOUNTS = """\
export PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root TERM=linux
mount -t proc proc /proc
mount -t devtmpfs dev /dev
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup /sys/fs/cgroup
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
"""


def _package(out):
    """Path of the kernel's package, downloaded if it is not there."""
    folder = os.path.join(ROOT, out, "linux")
    os.makedirs(folder, exist_ok=True)
    pattern = os.path.join(folder, "linux-image-[0-9]*.deb")
    if not glob.glob(pattern):
        shown = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], check=True,
                               capture_output=True, text=True).stdout
        name = re.search(r"Depends: (linux-image-\S+)", shown)[1]
        subprocess.run(["apt-get", "download", name], cwd=folder, check=True, stdout=sys.stderr)
    return sorted(glob.glob(pattern))[-1]


def image(out):
    """(vmlinuz, folder of its modules)."""
    folder = os.path.join(ROOT, out, "linux/img")
    if not glob.glob(os.path.join(folder, "boot/vmlinuz-*")):
        try:
            subprocess.run(["dpkg-deb", "-x", _package(out), folder], check=True)
        except (OSError, subprocess.CalledProcessError, TypeError) as e:
            raise CannotStart(f"Debian's Linux cannot be fetched: {e}") from e
    kernel = sorted(glob.glob(os.path.join(folder, "boot/vmlinuz-*")))[-1]
    return kernel, os.path.join(folder, "lib/modules", kernel.partition("vmlinuz-")[2])


def module_files(out, names):
    """Paths of kernel modules, in order; those that the kernel has built in are left out."""
    folder = image(out)[1]
    paths = []
    for name in names:
        found = glob.glob(os.path.join(folder, f"kernel/**/{name}.ko"), recursive=True)
        if not found:
            found = glob.glob(os.path.join(folder, f"kernel/**/{name.replace('_', '-')}.ko"),
                              recursive=True)
        paths += found[:1]
    return paths


def initramfs(path, out, init, modules=(), packages=(), later=()):
    """Writes an initramfs: that of Tally with another /init, modules in /modules, packages.

    /init inserts @modules; @later are there for it to insert.
    """
    entries = {}
    here = os.getcwd()
    os.chdir(ROOT)  # the list names its sources from there
    try:
        with open(os.path.join(ROOT, out, "initramfs.list"), encoding="utf-8") as f:
            mkcpio.parse((line for line in f if not line.startswith("file /init ")), entries)
    finally:
        os.chdir(here)
    files = module_files(out, modules)
    insert = "".join(f"insmod /modules/{os.path.basename(source)}\n" for source in files)
    for source in files + module_files(out, later):
        mkcpio.add(entries, f"modules/{os.path.basename(source)}",
                   mkcpio.Entry(0o100644, mkcpio.read_file(source)))
    mkcpio.add(entries, "init",
               mkcpio.Entry(0o100755, ("#!/bin/sh\n" + MOUNTS + insert + init).encode()))
    with open(path, "wb") as f:
        f.write(mkcpio.archive(entries))
        if packages:
            f.write(mkcpio.read_file(deb.archive(packages, out)))
