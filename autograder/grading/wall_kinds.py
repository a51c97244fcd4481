"""Kinds of isolation around students' code."""

from __future__ import annotations

from enum import StrEnum


class Wall(StrEnum):
    """The kinds of isolation around students' code; AUTO chooses between two."""

    AUTO = "auto"  # the stronger of FULL and LANDLOCK that a machine gives
    FULL = "full"  # Linux namespaces
    LANDLOCK = "landlock"  # Landlock with seccomp
    NONE = "none"
