"""Students without a submission of their own whose team has handed in."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator

from .roster import Roster


def left_out(roster: Roster, assignment: str, handed_in: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each student without a submission if somebody of the same team has one.

    `handed_in` are the ids of those who have. The column `group` alone makes no submission of one student that of
    another: it may be about other assignments. The sentence has the remedy.
    """
    senders = {each.group: each for each in roster.students if each.group and each.id in handed_in}
    for student in roster.students:
        if student.id in handed_in or student.dropped or student.group not in senders:
            continue
        sender = senders[student.group]
        place, source = f"submitted/{student.id}", f"submitted/{sender.id}/{assignment}"
        yield (
            f"{student}: {sender} of the team {student.group} handed in, and the system does not say for whom. If it "
            f"is the work of all: `mkdir -p {shlex.quote(place)} && cp -r {shlex.quote(source)} {shlex.quote(place)}`, "
            "then grade"
        )
