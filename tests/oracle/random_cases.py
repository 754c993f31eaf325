# SPDX-License-Identifier: MIT
"""Command sequences by seed: groups made and removed, controllers switched, limits
written, processes moved; after each step what came out."""

import random

SEEDS = 40
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


def cases():
    """[(name, shell text)]"""
    made = []
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
