"""Students whose names an LMS hid when they were collected."""

from __future__ import annotations

from dataclasses import dataclass

from ..course.attempts import AttemptStore
from ..lms.interface.origin import Sender, is_hidden_id
from ..lms.interface.system import Lms
from ..lms.systems import system_called


@dataclass(frozen=True)
class HiddenStudents:
    """The students of one assignment with ids such as "participant-aB0xY".

    `by_number` maps numbers in the LMS to ids, for those whose names were shown before. `by_file` maps numbers of
    submitted files to ids.
    """

    lms: Lms | None
    by_number: dict[str, str]
    by_file: dict[str, str]

    def of(self, sender: Sender) -> str:
        """Return the id under which the sender has an attempt already, or ""."""
        file = self.lms.file_number(sender) if self.lms else ""
        return self.by_number.get(sender.number) or self.by_file.get(file, "")


def hidden_students(store: AttemptStore, form: str) -> HiddenStudents:
    """Return the hidden students with attempts through the LMS with the title `form`.

    An LMS that gives people other numbers in each assignment needs no search: the numbers stay.
    """
    lms = system_called(form)
    found = HiddenStudents(lms, {}, {})
    if lms is None or not lms.stable:
        return found
    for id in filter(is_hidden_id, store.students()):
        for attempt in store.all_of(id):
            sender = Sender.of(attempt.lms)
            if sender.form == form:
                found.by_number[sender.number] = id
                if file := lms.file_number(sender):
                    found.by_file[file] = id
    return found
