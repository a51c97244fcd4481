"""Keys: stored observations of a lesson's solutions and mistakes."""

from __future__ import annotations

from pathlib import Path

from ..checking.comparison import compare
from ..checking.exercise import Exercise
from ..checking.expected import Expected
from ..checking.run import Run
from ..checking.values import AtMost
from ..exercises.key import Key
from .mistakes import mistakes_of

_ROUNDING = 1e-3  # of a mistake's value: where float32 numbers cancel, 3 digits are left


def build_key(exercise: Exercise, expected: Expected, path: Path) -> str:
    """Return the text of an exercise's key: observations on the public cases, and the sentences of its mistakes.

    `expected` holds the new observations. Those in the file at `path` are kept if the solution's values agree within
    the exercise's tolerance, and those of mistakes up to rounding. Otherwise keys would differ between processors.
    """
    try:
        old = Key.from_text(path.read_text(encoding="utf-8")).expected
        expected = old if _agree(old, expected, exercise.rtol) else expected
    except (OSError, LookupError, TypeError, ValueError):
        pass  # none yet, or a damaged one
    return Key(expected, mistakes_of(exercise).named).to_text(exercise.rtol)


def _agree(old: Expected, new: Expected, rtol: float) -> bool:
    """Return whether two observations of the same answers are equal within the tolerance `rtol`."""
    if (old.seed, old.given_code, list(old.mistakes)) != (new.seed, new.given_code, list(new.mistakes)):
        return False
    near = max(rtol, _ROUNDING)
    pairs = [(old.solution, new.solution, rtol), (old.given or [], new.given or [], near)]
    pairs += [(runs, new.mistakes[name], near) for name, runs in old.mistakes.items()]
    return all(len(a) == len(b) and all(_same_run(x, y, within) for x, y in zip(a, b)) for a, b, within in pairs)


def _same_run(old: Run, new: Run, rtol: float) -> bool:
    raised = [each.raised and (each.raised.whose, each.raised.id, each.raised.parameters) for each in (old, new)]
    if raised[0] or raised[1]:
        return raised[0] == raised[1]  # a key holds nothing else of such a run
    return old.edited == new.edited and _same_values(old.values, new.values, rtol)


def _same_values(old: dict[str, object], new: dict[str, object], rtol: float) -> bool:
    return old.keys() == new.keys() and all(_same_value(old[name], new[name], rtol) for name in new)


def _same_value(old: object, new: object, rtol: float) -> bool:
    if isinstance(old, AtMost) and isinstance(new, AtMost):
        same = (old.limit, old.kept) == (new.limit, new.kept)  # `judge` does not read `used` of a key's AtMost
        return same and _same_value(old.of, new.of, rtol)
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(_same_value(a, b, rtol) for a, b in zip(old, new))
    if isinstance(old, dict) and isinstance(new, dict):
        return _same_values(old, new, rtol)
    return compare(old, new, rtol=rtol) is None
