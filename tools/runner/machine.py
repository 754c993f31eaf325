# SPDX-License-Identifier: MIT
"""The QEMU command line for a configuration, and the files it needs."""

import dataclasses
import json
import os
import re
import shutil
import stat
import subprocess

import mkcpio
from runner import deb
from runner.common import ROOT, CannotStart, UsageError

QEMU = "qemu-system-x86_64"
OVMF = (("/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"),
        ("/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"))
LARGEST_TEXT = 65535  # bytes of --exec that the kernel keeps
IFNAME_MAX = 15  # bytes in the name of a network device of the host
TAP_QUEUES_MAX = 256  # of one tap of the host


@dataclasses.dataclass
class Config:
    """What the machine is; the same names as the options."""

    out: str = "build"
    smp: str = "72"
    mem: str = "4G"
    machine: str = "q35"
    accel: str = "tcg"
    boot: str = "kernel"
    firmware: str = "bios"
    net: str = "none"
    queues: int = 1
    device: str = ""
    qmp: str = ""
    append: str = ""
    add: list = dataclasses.field(default_factory=list)
    add_deb: list = dataclasses.field(default_factory=list)
    plugins: list = dataclasses.field(default_factory=list)
    gdb: bool = False

    @property
    def elf(self):
        """The kernel image, absolute."""
        return os.path.join(ROOT, self.out, "tally.elf")


def added_files(specs, path):
    """Writes the cpio archive for --add to @path."""
    entries = {}
    for spec in specs:
        source, _, target = spec.partition(":")
        if not os.path.exists(source):
            raise UsageError(f"--add: no such file: {source}")
        if not target:
            folder = "root"
            if os.path.isfile(source) and os.access(source, os.X_OK):
                folder = "usr/bin"
            target = f"{folder}/{os.path.basename(os.path.normpath(source))}"
        elif target.endswith("/"):
            target += os.path.basename(os.path.normpath(source))
        add_tree(entries, source, target)
    with open(path, "wb") as f:
        f.write(mkcpio.archive(entries))


def add_tree(entries, source, target):
    """Adds a file, or a folder with everything in it."""
    if os.path.islink(source) and not os.path.exists(source):
        return
    if os.path.isdir(source):
        mkcpio.add(entries, target, mkcpio.Entry(stat.S_IFDIR | 0o755))
        for name in sorted(os.listdir(source)):
            add_tree(entries, os.path.join(source, name), f"{target}/{name}")
        return
    mode = stat.S_IFREG | (0o755 if os.access(source, os.X_OK) else 0o644)
    mkcpio.add(entries, target, mkcpio.Entry(mode, mkcpio.read_file(source)))


def need(program, package):
    """CannotStart if a program is not installed."""
    if not shutil.which(program):
        raise CannotStart(f"{program} is missing (Debian package {package}; tools/setup installs)")


def modules(config, tmp):
    """Paths of the cpio archives that are unpacked over the initramfs, in order."""
    paths = []
    if config.add_deb:
        paths.append(deb.archive(config.add_deb, config.out))
    if config.add:
        paths.append(os.path.join(tmp, "add.cpio"))
        added_files(config.add, paths[-1])
    return paths


def make_iso(config, module_paths, tmp):
    """A bootable ISO in @tmp with the image and the modules."""
    need("grub-mkrescue", "grub-common")
    need("xorriso", "xorriso")
    tree = os.path.join(tmp, "iso")
    os.makedirs(os.path.join(tree, "boot/grub"))
    shutil.copy(config.elf, os.path.join(tree, "boot/tally.elf"))
    lines = ["set timeout=0", 'menuentry "Tally" {', "\tmultiboot2 /boot/tally.elf"]
    for number, path in enumerate(module_paths):
        shutil.copy(path, os.path.join(tree, f"boot/add{number}.cpio"))
        lines.append(f"\tmodule2 /boot/add{number}.cpio add{number}.cpio")
    lines.append("}")
    with open(os.path.join(tree, "boot/grub/grub.cfg"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    iso = os.path.join(tmp, "tally.iso")
    done = subprocess.run(["grub-mkrescue", "-o", iso, tree], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise CannotStart("grub-mkrescue failed:\n" + done.stderr[-2000:])
    return iso


def multi_queue(tap):
    """Was the device @tap made with the flag multi_queue?  None: there is none, or nobody knows.

    Asks ip, for /sys may be another namespace's.
    """
    try:
        done = subprocess.run(["ip", "-d", "-j", "link", "show", "dev", tap], capture_output=True,
                              check=True)
        return bool(json.loads(done.stdout)[0]["linkinfo"]["info_data"]["multi_queue"])
    except (OSError, subprocess.CalledProcessError, ValueError, LookupError):
        return None


def net_arguments(config):
    """-netdev and -device for --net."""
    kind, _, rest = config.net.partition(",")
    if kind == "none":
        return ["-nic", "none"]
    device = "virtio-net-pci,netdev=n0,id=nic0" + (f",{config.device}" if config.device else "")
    if kind == "user":
        forwards = ""
        for pair in filter(None, rest.split(",")):
            match = re.fullmatch(r"(\d+)-(\d+)", pair)
            if not match:
                raise UsageError(f"--net user: HOSTPORT-GUESTPORT expected, not {pair!r}")
            if int(match[1]) > 65535 or not 1 <= int(match[2]) <= 65535:
                raise UsageError(f"--net user: ports up to 65535 expected, not {pair!r}")
            forwards += f",hostfwd=tcp:127.0.0.1:{match[1]}-:{match[2]}"
            forwards += f",hostfwd=udp:127.0.0.1:{match[1]}-:{match[2]}"
        return ["-netdev", f"user,id=n0{forwards}", "-device", device]
    kind, _, name = config.net.partition(":")
    if kind == "tap" and re.fullmatch(r"[\w.-]+", name):
        if len(os.fsencode(name)) > IFNAME_MAX:  # QEMU would cut it, and open the tap of another
            raise UsageError(f"--net tap: a name of at most {IFNAME_MAX} bytes expected,"
                             f" not {name!r}")
        if config.queues > 1 and multi_queue(name) is False:
            raise UsageError(f"--queues {config.queues}: {name} has one queue; one with many is "
                             f"made by: ip tuntap add {name} mode tap multi_queue")
        # QEMU opens one queue of a tap that was made for many only if asked for two.
        wanted = config.queues if config.queues > 1 or not multi_queue(name) else 2
        queues = f",queues={wanted}" if wanted > 1 else ""
        vectors = f",mq=on,vectors={2 * config.queues + 2}" if config.queues > 1 else ""
        return ["-netdev", f"tap,id=n0,ifname={name},script=no,downscript=no{queues}",
                "-device", device + vectors]
    if kind == "dgram" and re.fullmatch(r"[^,:]+:[^,:]+", name):
        local, _, remote = name.partition(":")
        return ["-netdev", f"dgram,id=n0,local.type=unix,local.path={local},"
                f"remote.type=unix,remote.path={remote}", "-device", device]
    raise UsageError("--net: none, user, tap:IFNAME or dgram:LOCAL:REMOTE expected,"
                     f" not {config.net!r}")


def firmware_arguments(config, tmp):
    """Flash images for UEFI."""
    if config.firmware == "bios":
        return []
    for code, variables in OVMF:
        if os.path.exists(code):
            copy = os.path.join(tmp, "vars.fd")
            shutil.copy(variables, copy)
            return ["-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={code}",
                    "-drive", f"if=pflash,format=raw,unit=1,file={copy}"]
    raise CannotStart("no UEFI firmware (Debian package ovmf)")


def check(config):
    """Refuses what cannot work, before anything is started."""
    if not re.fullmatch(r"[\w,=]+", config.smp):
        raise UsageError(f"--smp: a number or QEMU's topology expected, not {config.smp!r}")
    if not re.fullmatch(r"\d+[KMGkmg]?", config.mem):
        raise UsageError(f"--mem: a size such as 512M expected, not {config.mem!r}")
    if not 1 <= config.queues <= TAP_QUEUES_MAX:
        raise UsageError(f"--queues: 1 to {TAP_QUEUES_MAX} expected, not {config.queues}")
    if config.device and not re.fullmatch(r"\w+=[\w:.-]+(,\w+=[\w:.-]+)*", config.device):
        raise UsageError(f"--net-device: KEY=VALUE,... expected, not {config.device!r}")
    if "," in config.qmp:
        raise UsageError("--qmp: a path without commas")
    if not os.path.exists(config.elf):
        raise CannotStart(f"{config.elf} does not exist; run make"
                          + (f" O={config.out}" if config.out != "build" else ""))
    need(QEMU, "qemu-system-x86")


def arguments(config, text, console, records, log, tmp):
    """QEMU's command line.

    @console, @records, @log are QEMU chardev descriptions without id; the
    console may be interactive.  Files that QEMU reads are put into @tmp.
    """
    cmdline = f"console=ttyS0 records=ttyS1 {config.append}".strip()
    with open(os.path.join(tmp, "cmdline"), "w", encoding="utf-8") as f:
        f.write(cmdline)
    module_paths = modules(config, tmp)
    accel = "tcg,thread=multi" if config.accel == "tcg" else "kvm"
    argv = [QEMU, "-accel", accel, "-cpu", "max" if config.accel == "tcg" else "host",
            "-machine", config.machine, "-smp", config.smp, "-m", config.mem,
            "-nodefaults", "-no-user-config", "-display", "none", "-vga", "none",
            "-monitor", "none", "-no-reboot",
            "-chardev", f"{console},id=console", "-serial", "chardev:console",
            "-chardev", f"{records},id=records", "-serial", "chardev:records",
            "-chardev", f"{log},id=log", "-device", "isa-debugcon,iobase=0xe9,chardev=log",
            "-device", "isa-debug-exit,iobase=0xf4,iosize=0x04",
            "-fw_cfg", f"name=opt/tally/cmdline,file={tmp}/cmdline"]
    if text is not None:
        data = text.encode()
        if len(data) > LARGEST_TEXT:
            raise UsageError(f"--exec: longer than {LARGEST_TEXT} bytes")
        with open(os.path.join(tmp, "exec"), "wb") as f:
            f.write(data)
        argv += ["-fw_cfg", f"name=opt/tally/exec,file={tmp}/exec"]
    argv += net_arguments(config) + firmware_arguments(config, tmp)
    if config.boot == "iso":
        argv += ["-cdrom", make_iso(config, module_paths, tmp), "-boot", "d"]
    else:
        argv += ["-kernel", config.elf]
        if module_paths:
            argv += ["-initrd", ",".join(module_paths)]
    if config.gdb:
        argv += ["-s", "-S"]
    if config.qmp:
        argv += ["-qmp", f"unix:{config.qmp},server=on,wait=off"]
    return argv
