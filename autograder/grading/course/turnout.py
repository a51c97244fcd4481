"""Assignments that few students have handed in."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

_FEW = 4  # a quarter of the class


def not_few(senders: Mapping[str, AbstractSet[str]]) -> set[str]:
    """Return the assignments without those that few students handed in, compared with another one.

    `senders` maps assignments to students. What few hand in may be the wrong notebook.
    """
    most = max(map(len, senders.values()), default=0)
    return {assignment for assignment, students in senders.items() if len(students) * _FEW >= most}
