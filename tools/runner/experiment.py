# SPDX-License-Identifier: MIT
"""Command `experiment`: boots as often as needed, one table, one set of records."""

from runner import machine


def add_options(parser):
    """Options of the experiments."""
    parser.add_argument("name", metavar="NAME")


def main(args, config):
    """Runs the experiment; returns the exit status."""
    raise machine.UsageError(f"unknown experiment {args.name!r} for {config.smp} CPUs")
