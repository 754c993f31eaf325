# SPDX-License-Identifier: MIT
"""One boot: starts QEMU, reads its channels until it has gone, decides the status.

Channels: the console (ttyS0) carries what the text writes, the second serial
port (ttyS1) carries records, the debug console carries the kernel log.  In a
run with a text, /init prints the line START before it starts the text; what
firmware or boot loader wrote to the console before is not output.
"""

import ctypes
import dataclasses
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time

from runner import machine, plugin, symbols

START = b"\x1etally:start\n"
TIMED_OUT, ENDED, LARGEST_STATUS = 124, 125, 123
AFTER_EXIT = 10.0  # seconds to power off after the exit record
AFTER_PANIC = 5.0  # seconds for the back-trace after the word panic


class Interrupted(Exception):
    """A signal asks the runner to end."""

    def __init__(self, number):
        super().__init__(f"signal {number}")
        self.signal = number


def install_signal_handlers():
    """SIGTERM and SIGHUP end like Ctrl-C: with the clean-up."""
    def handler(number, _frame):
        raise Interrupted(number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, handler)


class Deadline:
    """Time that is left of --timeout, over several boots."""

    def __init__(self, seconds):
        self.end = None if seconds is None else time.monotonic() + seconds

    def left(self):
        """Seconds, or None for no limit."""
        return None if self.end is None else max(0.0, self.end - time.monotonic())

    def over(self):
        return self.end is not None and time.monotonic() >= self.end


class Outputs:
    """Where records, log and console text go; files are truncated first."""

    def __init__(self, json_path=None, log_path=None, verbose=False, echo=True):
        try:
            # pylint: disable=consider-using-with
            self.json = open(json_path, "w", encoding="utf-8") if json_path else None
            self.log_file = open(log_path, "wb") if log_path else None
        except OSError as e:
            raise machine.UsageError(str(e)) from e
        self.verbose = verbose
        self.echo = echo

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for f in (self.json, self.log_file):
            if f:
                f.close()

    def record(self, record):
        """One record to --json."""
        if self.json:
            self.json.write(json.dumps(record) + "\n")
            self.json.flush()

    def log(self, data):
        """Kernel log, raw bytes as they come."""
        if self.log_file:
            self.log_file.write(data)
            self.log_file.flush()
        if self.verbose:
            sys.stderr.buffer.write(data)
            sys.stderr.flush()

    def console(self, data):
        """What the text wrote."""
        if self.echo:
            sys.stdout.buffer.write(data)
            sys.stdout.flush()


class LateRecords(Outputs):
    """Writes records at the end, those of the plugin before the last."""

    def record(self, record):
        pass

    def write_all(self, result):
        """When the machine has gone."""
        common = {k: v for k, v in (result.records or [{}])[-1].items()
                  if k in ("preset", "cpus", "machine", "commit")}
        late = [{"record": "insns", **common,
                 **{k: i[k] for k in ("mark", "total", "accounting", "by_cpu")}}
                for i in result.plugin.get("insns", ())]
        for record in [*result.records[:-1], *late, *result.records[-1:]]:
            super().record(record)


@dataclasses.dataclass
class Result:
    """What a boot gave."""

    status: int = ENDED
    records: list = dataclasses.field(default_factory=list)
    console: bytes = b""
    log: bytes = b""
    plugin: dict = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    exit_status: int = None


def die_with_parent():
    """In the child: QEMU must not outlive a killed runner."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Boot:
    """Reader of one QEMU's channels."""

    def __init__(self, config, text, outputs, deadline):
        self.config = config
        self.text = text
        self.outputs = outputs
        self.deadline = deadline
        self.result = Result()
        self.lines = {"records": b"", "log": b""}
        self.started = text is None
        self.before = b""
        self.stderr = b""
        self.panicked = None  # time of the word
        self.reported = None  # time of the exit record
        self.cr = False

    # -- channels ---------------------------------------------------------

    def console(self, data):
        """Plain lines: carriage returns before a newline go; before START nothing counts."""
        if not self.started:
            self.before += data.replace(b"\r", b"")
            at = self.before.find(START)
            if at < 0:
                self.before = self.before[-65536:]
                return
            data = self.before[at + len(START):]
            self.started = True
        if self.cr:
            data = b"\r" + data
        self.cr = data.endswith(b"\r")
        if self.cr:
            data = data[:-1]
        data = data.replace(b"\r\n", b"\n")
        self.result.console += data
        self.outputs.console(data)

    def by_line(self, channel, data):
        """Complete lines that have arrived on a channel."""
        *lines, self.lines[channel] = (self.lines[channel] + data).split(b"\n")
        return [line.rstrip(b"\r") for line in lines]

    def records(self, data):
        for line in self.by_line("records", data):
            if not line.strip(b"\0 "):
                continue
            try:
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise ValueError("not an object")
            except ValueError:
                if self.started or self.result.exit_status is not None:
                    print(f"tally: not a record: {line.decode(errors='replace')}", file=sys.stderr)
                continue  # before, UEFI speaks on every serial port
            if record.get("record") == "exit":
                self.reported = time.monotonic()
                self.result.exit_status = record.get("status")
            self.result.records.append(record)
            self.outputs.record(record)

    def log(self, data):
        self.result.log += data
        self.outputs.log(data)
        for line in self.by_line("log", data):
            if self.panicked is None and symbols.is_panic(line):
                self.panicked = time.monotonic()

    # -- the loop ---------------------------------------------------------

    def next_deadline(self):
        """When to stop waiting for channels, or None."""
        ends = [self.deadline.end,
                self.reported and self.reported + AFTER_EXIT,
                self.panicked and self.panicked + AFTER_PANIC]
        ends = [end for end in ends if end is not None]
        return min(ends) if ends else None

    def read_all(self, channels, process):
        """Reads until every channel is at its end (QEMU has gone) or time is up."""
        with selectors.DefaultSelector() as selector:
            for fd, handler in channels.items():
                selector.register(fd, selectors.EVENT_READ, handler)
            while selector.get_map():
                end = self.next_deadline()
                wait = None if end is None else max(0.0, end - time.monotonic())
                events = selector.select(wait)
                if not events and end is not None and time.monotonic() >= end:
                    return process.poll() is not None
                for key, _ in events:
                    data = os.read(key.fd, 65536)
                    if data:
                        key.data(data)
                    else:
                        selector.unregister(key.fd)
        return True

    def on_stderr(self, data):
        self.stderr += data
        if self.outputs.verbose:
            sys.stderr.buffer.write(data)
            sys.stderr.flush()

    def run(self, tmp):
        """Starts QEMU and stays until it has gone."""
        reads, writes, channels = [], [], {}
        for handler in (self.records, self.log, self.on_stderr, self.console):
            if handler == self.console and self.text is None:
                break
            r, w = os.pipe()
            reads.append(r)
            writes.append(w)
            channels[r] = handler
        to = [f"file,path=/proc/self/fd/{w}" for w in writes]
        console = to[3] if self.text is not None else "stdio,mux=on,signal=off"
        plugins = plugin.prepare(self.config, tmp)
        argv = machine.arguments(self.config, self.text, console, to[0], to[1], tmp)
        for p in plugins:
            argv += ["-plugin", p.argument]
        if self.config.gdb:
            print(f"tally: waiting: gdb {self.config.elf} -ex 'target remote :1234'",
                  file=sys.stderr)
        start = time.monotonic()
        try:
            # Interactive: QEMU reads the terminal, so it stays in our process group.
            # pylint: disable=consider-using-with,subprocess-popen-preexec-fn
            process = subprocess.Popen(
                argv, stdin=None if self.text is None else subprocess.DEVNULL,
                stdout=None if self.text is None else writes[2], stderr=writes[2],
                pass_fds=writes, start_new_session=self.text is not None,
                preexec_fn=die_with_parent)
        except OSError as e:
            raise machine.CannotStart(f"{argv[0]}: {e}") from e
        finally:
            for w in writes:
                os.close(w)
        try:
            gone = self.read_all(channels, process)
        finally:
            if process.poll() is None:
                try:
                    process.wait(0.5 if self.reported is None else 0.1)
                except subprocess.TimeoutExpired:
                    process.kill()
            process.wait()
            for r in reads:
                os.close(r)
        self.result.seconds = time.monotonic() - start
        for p in plugins:
            self.result.plugin.update(p.results())
        self.decide(process.returncode, gone)
        return self.result

    def decide(self, returncode, gone):
        """Exit status and what the user must see on standard error."""
        result = self.result
        timed_out = not gone and self.deadline.over()
        silent = not result.log and not result.records and not result.console
        if self.reported is not None and isinstance(result.exit_status, int):
            result.status = min(result.exit_status, LARGEST_STATUS)
        elif timed_out:
            result.status = TIMED_OUT
            print("tally: time is up", file=sys.stderr)
        elif self.panicked is None and returncode not in (0, None) and silent and returncode > 0:
            raise machine.CannotStart("QEMU did not start:\n"
                                      + self.stderr.decode(errors="replace"))
        elif self.text is None and returncode == 0 and self.panicked is None:
            result.status = 0
        else:
            result.status = ENDED
            print(f"tally: the machine ended without reporting (QEMU status {returncode})",
                  file=sys.stderr)
            sys.stderr.write(self.stderr.decode(errors="replace"))
        if self.panicked is not None or result.status == ENDED:
            if not self.outputs.verbose:
                sys.stderr.write(result.log.decode(errors="replace"))
            for line in symbols.symbolise(self.config.elf, result.log):
                print(line, file=sys.stderr)
        sys.stderr.flush()


def run(config, text, outputs, deadline):
    """Boots once; @text None is an interactive shell.  Returns a Result."""
    machine.check(config)
    terminal = None
    if text is None and sys.stdin.isatty():
        terminal = termios.tcgetattr(sys.stdin)
    tmp = tempfile.mkdtemp(prefix="tally-")
    try:
        return Boot(config, text, outputs, deadline).run(tmp)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
        if terminal:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, terminal)
