# SPDX-License-Identifier: MIT
"""Command line of tools/tally: options, the two commands, exit status."""

import argparse
import os
import sys

from runner import experiment, machine, session

USAGE, CANNOT_START = 2, 126

EPILOG = """\
exit status with --exec: that of the text (124 and above become 123; the last
record has the true one); 124 time-out; 125 the machine ended without reporting;
126 image or QEMU could not be started; 2 usage.
"""


def add_run_options(parser):
    """Options that say which machine is started and where its output goes."""
    add = parser.add_argument
    add("--smp", default="72", metavar="N|TOPOLOGY", help="CPUs, in QEMU's words (72)")
    add("--mem", default="4G", help="memory (4G)")
    add("--machine", default="q35", choices=["q35", "pc"])
    add("--accel", default="tcg", choices=["tcg", "kvm"])
    add("--boot", default=None, choices=["kernel", "iso"], help="how the image is loaded (kernel)")
    add("--firmware", default="bios", choices=["bios", "uefi"], help="uefi implies --boot iso")
    add("--net", default="none", 
        metavar="none|user[,HOSTPORT-GUESTPORT...]|tap:IFNAME|dgram:LOCAL:REMOTE",
        help="what the network device is connected to; dgram: Unix datagram sockets, one frame"
             " each (none)")
    add("--net-device", default="", metavar="KEY=VALUE,...",
        help="more properties of the device, in QEMU's words: mrg_rxbuf=off,host_mtu=9000")
    add("--qmp", default="", metavar="PATH",
        help="QEMU's own socket, for tests: set_link nic0, announce-self")
    add("--queues", type=int, default=1, metavar="N",
        help="queue pairs of the network device, up to 256 (1)")
    add("--append", action="append", default=[], metavar="'k=v ...'", help="kernel parameters")
    add("--add", action="append", default=[], metavar="FILE[:PATH]",
        help="bring a file (or folder) into the guest; default path /usr/bin/NAME for programs,"
             " else /root/NAME")
    add("--add-deb", action="append", default=[], metavar="PACKAGE",
        help="bring a Debian package with the libraries it needs (downloaded by apt, kept below"
             " $O/debs)")
    add("--json", metavar="OUT", help="records, one JSON object a line")
    add("--log", metavar="OUT", help="kernel log")
    add("--timeout", type=float, metavar="SECONDS", help="for the whole call")
    add("--plugin", action="append", default=[], metavar="insns|cachelines|FILE",
        help="QEMU plugin")
    add("--gdb", action="store_true", help="wait for a debugger on port 1234")
    add("-v", "--verbose", action="store_true", help="kernel log to standard error")


def parser():
    """The whole command line."""
    top = argparse.ArgumentParser(prog="tally", description="Starts the Tally kernel in QEMU.",
                                  epilog=EPILOG,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = top.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="one boot: a shell, or one text", epilog=EPILOG,
                              formatter_class=argparse.RawDescriptionHelpFormatter)
    text = run.add_mutually_exclusive_group()
    text.add_argument("--exec", metavar="'shell text'", help="run it, then power off")
    text.add_argument("--exec-file", metavar="F", help="the same, from a file")
    add_run_options(run)
    exp = commands.add_parser("experiment", help="boot as often as needed, one table",
                              epilog=EPILOG,
                              formatter_class=argparse.RawDescriptionHelpFormatter)
    experiment.add_options(exp)
    add_run_options(exp)
    return top


def config_of(args):
    """A machine.Config from parsed options."""
    boot = args.boot or ("iso" if args.firmware == "uefi" else "kernel")
    if args.firmware == "uefi" and boot != "iso":
        raise machine.UsageError("--firmware uefi implies --boot iso")
    return machine.Config(
        out=os.environ.get("O", "build"), smp=args.smp, mem=args.mem, machine=args.machine,
        accel=args.accel, boot=boot, firmware=args.firmware, net=args.net, queues=args.queues,
        device=args.net_device, qmp=args.qmp,
        append=" ".join(args.append), add=args.add, add_deb=args.add_deb,
        plugins=args.plugin, gdb=args.gdb)


def run(args):
    """The command `run`."""
    text = args.exec
    if args.exec_file:
        try:
            with open(args.exec_file, encoding="utf-8") as f:
                text = f.read()
        except OSError as e:
            raise machine.UsageError(f"--exec-file: {e}") from e
    if text is not None and not text.strip():
        raise machine.UsageError("--exec: the text is empty")
    deadline = session.Deadline(args.timeout)
    if not args.plugin:
        with session.Outputs(args.json, args.log, args.verbose) as outputs:
            return session.run(config_of(args), text, outputs, deadline).status
    with session.LateRecords(args.json, args.log, args.verbose) as outputs:
        result = session.run(config_of(args), text, outputs, deadline)
        outputs.write_all(result)
    return result.status


def main(argv):
    """Returns the exit status."""
    args = parser().parse_args(argv)
    session.install_signal_handlers()
    try:
        if args.command == "run":
            return run(args)
        return experiment.main(args, config_of(args))
    except machine.UsageError as e:
        print(f"tally: {e}", file=sys.stderr)
        return USAGE
    except machine.CannotStart as e:
        print(f"tally: {e}", file=sys.stderr)
        return CANNOT_START
    except session.Interrupted as e:
        return 128 + e.signal
    except BrokenPipeError:
        return 141
