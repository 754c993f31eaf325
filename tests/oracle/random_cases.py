# SPDX-License-Identifier: MIT
"""Command sequences by seed: groups made and removed, controllers switched, limits
written, processes and threads moved, groups made threaded, frozen, limited in depth and
number; after each step what came out."""

import random

SEEDS = 40
THREAD_SEEDS = 30
STEPS = 24
NAMES = ("a", "b", "c")
LIMITS = ("memory.min", "memory.low", "memory.high", "memory.max")
VALUES = ("max", "0", "4095", "64M", "0x4000", "010000", "-1", "1G", "12k", "x", "8M ", "20M\\n")


def path(rng):
    """A group's path, one to three levels."""
    return "/".join(rng.choice(NAMES) for _ in range(rng.choice((1, 1, 2, 2, 3))))


def step(rng):
    """One shell line."""
    kind = rng.randrange(100)
    where = path(rng)
    if kind < 26:
        return f"try mkdir {where}"
    if kind < 38:
        return f"try rmdir {where}"
    if kind < 56:
        sign = "+" if rng.random() < 0.7 else "-"
        group = rng.choice((".", ".", where))
        return f"w {group}/cgroup.subtree_control {sign}memory"
    if kind < 70:
        return f'wr {where}/{rng.choice(LIMITS)} "{rng.choice(VALUES)}"'
    if kind < 84:
        group = rng.choice((".", where, where, where))
        return f"moved $p{rng.randrange(2)} {group}"
    if kind < 90:
        return f"r {where}/cgroup.events"
    if kind < 95:
        return f"key {rng.choice(('.', where))}/cgroup.stat nr_descendants"
    if kind < 98:
        return f"w {where}/cgroup.max.depth {rng.choice(('0', '1', 'max'))}"
    return f"r {where}/cgroup.controllers"


def thread_step(rng):
    """One shell line about types, threads, freezing and limits of the tree."""
    kind = rng.randrange(100)
    where = path(rng)
    if kind < 28:
        return f"try mkdir {where}"
    if kind < 36:
        return f"try rmdir {where}"
    if kind < 52:
        return f"w {where}/cgroup.type threaded"
    if kind < 58:
        return f"r {where}/cgroup.type"
    if kind < 74:
        file = rng.choice(("procs", "threads", "threads"))
        return f"moved $p{rng.randrange(2)} {where} {file}"
    if kind < 80:
        sign = "+" if rng.random() < 0.7 else "-"
        return f"w {rng.choice(('.', where))}/cgroup.subtree_control {sign}memory"
    if kind < 86:
        return f"wr {where}/cgroup.freeze {rng.choice(('0', '1', '1', '2'))}"
    if kind < 90:
        return f"lines {where}/cgroup.procs; lines {where}/cgroup.threads"
    if kind < 94:
        return f"r {where}/cgroup.controllers"
    limit = rng.choice(("max.depth", "max.descendants"))
    return f"wr {where}/cgroup.{limit} {rng.choice(('0', '1', '2', 'max', '-1'))}"


def thread_case(seed):
    """The text of one case of thread_step()s."""
    rng = random.Random(f"threads {seed}")
    lines = ["sleeper; p0=$pid", "sleeper; p1=$pid",
             'moved() { if e=$({ echo $1 >$2/cgroup.$3; } 2>&1); then echo "$3 of $2: ok";'
             ' else echo "$3 of $2: ${e##*: }"; fi; }',
             "echo $p0 >cgroup.procs", "try mkdir a"]
    lines += [thread_step(rng) for _ in range(STEPS)]
    lines += ["find . -type d | sort | while read -r d; do r $d/cgroup.type; done",
              "find . -name cgroup.events | sort | while read -r f; do key $f populated; done",
              "for p in $p0 $p1; do cat /proc/$p/cgroup; done"]
    return "\n".join(lines) + "\n"


def cases():
    """[(name, shell text)]"""
    made = [(f"threads-{seed}", thread_case(seed)) for seed in range(THREAD_SEEDS)]
    for seed in range(SEEDS):
        rng = random.Random(seed)
        lines = ["sleeper; p0=$pid", "sleeper; p1=$pid",
                 'moved() { if e=$({ echo $1 >$2/cgroup.procs; } 2>&1); then echo "into $2: ok";'
                 ' else echo "into $2: ${e##*: }"; fi; }']
        lines += [step(rng) for _ in range(STEPS)]
        lines += ["key cgroup.stat nr_descendants", "find . -type d | sort | head -n 40",
                  "for p in $p0 $p1; do cat /proc/$p/cgroup; done"]
        made.append((f"seed-{seed}", "\n".join(lines) + "\n"))
    return made
