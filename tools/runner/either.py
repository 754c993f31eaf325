# SPDX-License-Identifier: MIT
"""A guest of either system in the same QEMU, for comparisons."""

import os
import re
import selectors
import shutil
import subprocess
import tempfile
import time

from runner import linux, machine, session
from runner.common import CannotStart


class Guest:
    """One QEMU with either system; its console is read line by line."""

    def __init__(self, system, options, text, net=None, packages=(), disk=0):
        self.system = system
        self.tmp = tempfile.mkdtemp(prefix="compare-")
        self.lines = []
        self.rest = b""
        config = machine.Config(out=options.out, smp=str(text.cpus), mem="4G",
                                net=f"tap:{net.tap}" if net else "none",
                                append=self.parameters(net, disk) if system == "tally" else "",
                                add_deb=list(packages))
        machine.check(config)
        files = [f"file,path={self.tmp}/{name}" for name in ("records", "log")]
        argv = machine.arguments(config, text.shell, "stdio,signal=off", *files, self.tmp)
        if system == "linux":
            argv = self.linux(argv, options, text, net, packages, disk)
        self.start = time.monotonic()
        # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
        self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, preexec_fn=session.die_with_parent)

    @staticmethod
    def parameters(net, disk):
        """What Tally's command line says."""
        return " ".join(([net.parameter] if net else []) + ([f"ramdisk={disk}M"] if disk else []))

    def linux(self, argv, options, text, net, packages, disk):
        """The command line of the same machine with the other kernel."""
        initrd = os.path.join(self.tmp, "initrd")
        init = "ifconfig lo up\nip addr add fd00::1/128 dev lo\n"
        if net:
            init += f"ifconfig eth0 {net.guest} netmask 255.255.255.0 up\n"
        if disk:
            init += f"insmod /modules/brd.ko rd_nr=1 rd_size={disk << 10}\n"
        init += f"exec >/dev/ttyS0 2>&1\ncd /root\nsetsid sh -c '{text.shell}' </dev/null\npoweroff -f\n"
        linux.initramfs(initrd, options.out, init, linux.VIRTIO_NET if net else (), packages,
                        ("brd",) if disk else ())
        at = argv.index("-kernel")
        rest = argv[at + 2:]
        if rest[:1] == ["-initrd"]:
            rest = rest[2:]
        return argv[:at] + ["-kernel", linux.image(options.out)[0], "-initrd", initrd, "-append",
                            linux.PARAMETERS] + rest

    def wait_line(self, pattern, seconds):
        """The match of the first console line that fits; CannotStart if there is none in time."""
        end = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                while self.lines:
                    match = re.search(pattern, self.lines.pop(0))
                    if match:
                        return match
                left = end - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise CannotStart(f"{self.system}: no answer after {seconds} s")
                data = os.read(self.process.stdout.fileno(), 65536)
                if not data:
                    raise CannotStart(f"{self.system}: the machine has ended: "
                                      + self.rest.decode(errors="replace") + self.log())
                *lines, self.rest = (self.rest + data).replace(b"\r", b"").split(b"\n")
                self.lines += [line.decode(errors="replace") for line in lines]

    def log(self):
        """End of the kernel's log."""
        path = os.path.join(self.tmp, "log")
        if not os.path.exists(path):
            return ""
        with open(path, "rb") as f:
            return f.read()[-2000:].decode(errors="replace")

    def seconds(self):
        """Since QEMU was started."""
        return time.monotonic() - self.start

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.tmp, ignore_errors=True)


class Text:
    """What a guest runs."""

    def __init__(self, cpus, shell):
        self.cpus = cpus
        self.shell = shell
