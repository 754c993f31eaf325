# SPDX-License-Identifier: MIT
"""What every part of the runner may need: where the project is, how it refuses."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


class UsageError(Exception):
    """The call makes no sense: exit status 2."""


class CannotStart(Exception):
    """Image or QEMU cannot be started: exit status 126."""
