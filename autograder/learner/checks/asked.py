"""The arguments of `check`, understood: exercise, variant, device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ... import exercises
from ...checking.devices.place import Place, UnknownDevice, find_place
from ...checking.exercise import Exercise
from ...checking.expected import Expected
from ...language import Text
from ...messages.learners import message
from ...session import SESSION, being_graded
from ..replies import Reply
from ..reviews.again import expected_of, why_no_personal, why_no_variant


class NothingToCheck(Exception):
    """A check that cannot be made.

    `reply` tells the learner why.
    """

    def __init__(self, says: Text, value: str | None = "0") -> None:
        super().__init__(says.en)
        self.reply = Reply((says,), value=value)


@dataclass(frozen=True)
class Asked:
    """A check that a learner asked for.

    The answer is looked up in `namespace`. `variant` is the number of a variant that `again` has shown, `personal` that
    of a student's own table; one of them is None. `place` is a device for a second run, or None for the CPU alone.
    """

    exercise: Exercise
    namespace: Mapping[str, Any]
    variant: int | None = None
    personal: int | None = None
    place: Place | None = None

    @property
    def number(self) -> int | None:
        """The number of the variant or own table, or None for the exercise as it stands in the lesson."""
        return self.personal if self.variant is None else self.variant

    @property
    def answer(self) -> object:
        return self.namespace[self.exercise.asks]

    @property
    def expected(self) -> Expected:
        """The results of solution and mistakes.

        Raises OSError, LookupError or ValueError if it is unknown.
        """
        if self.number is None:
            return exercises.key_of(self.exercise).expected
        return expected_of(self.exercise, self.number)


def understand(
    namespace: Mapping[str, Any], name: str, variant: int | None, device: object, personal: int | None
) -> Asked:
    """Return the check that the arguments of `check` ask for.

    Raises NothingToCheck if there is no such exercise, variant, table or device, or nbgrader grades the notebook.
    """
    try:
        exercise = exercise_called(name)
    except exercises.Unknown as unknown:
        raise NothingToCheck(unknown.says) from None
    if being_graded() == "autograde" and not exercises.key_path(exercise).is_file():
        raise NothingToCheck(message("check.graded"), None)  # the isolated process has no expected results
    if variant is not None and (refused := why_no_variant(exercise, variant)):
        raise NothingToCheck(refused, None)
    if personal is not None and (refused := why_no_personal(exercise, personal)):
        raise NothingToCheck(refused)
    try:
        place = None if being_graded() else find_place(device or SESSION.device or "cpu")
    except UnknownDevice as unknown:
        raise NothingToCheck(message("unknown.device", name=str(unknown))) from None
    return Asked(exercise, namespace, variant, personal, place)


def exercise_called(name: str) -> Exercise:
    """Return the exercise called `name`. An empty name stands for the exercise that was checked last.

    Raises Unknown if there is no such exercise, or nothing was checked yet.
    """
    return exercises.find(name or next(reversed(SESSION.last), ""), SESSION.lesson)
