# SPDX-License-Identifier: MIT
"""The runner: QEMU, its channels, exit statuses, experiments (Python standard library only)."""
