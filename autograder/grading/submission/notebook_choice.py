"""Which notebook of a submission is graded, whatever its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..course.gradebook import ReleasedNotebook
from .answer_cells import answers_of, has_cells_of
from .attachments import printable
from .sanitize import LARGEST, Unreadable, load, parse

_MOST = 10  # notebooks under other names that are looked at


@dataclass
class Choice:
    """The notebooks that are graded by released name, with reasons to look, notes, and paths that differ from it."""

    raw: dict[str, bytes] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    reasons: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Candidate:
    path: str
    data: bytes
    answers: dict[str, str]  # by grade id, those that differ from what was handed out

    @property
    def name(self) -> str:
        return printable(self.path)


def choose(folder: Path, released: Mapping[str, ReleasedNotebook], there: Sequence[str]) -> Choice:
    """Choose among the notebooks that are `there`, relative paths below `folder`.

    The one with the released name goes first, one with answers before one without. Two with different answers are a
    reason to look. Raises Unreadable when nothing can be graded, with the name of every notebook that is there.
    """
    exact = {name: folder / f"{name}.ipynb" for name in released}
    exact = {name: path for name, path in exact.items() if path.is_symlink() or path.exists()}
    others = [path for path in there if path not in {f"{name}.ipynb" for name in exact}]
    done = Choice()
    if not others:  # as nearly always: nothing has to be compared
        done.raw = {name: load(path) for name, path in exact.items()}
    else:
        candidates, why = _candidates(folder, released, others)
        for name in released:
            _choose_one(done, name, exact.get(name), candidates[name], released[name])
        done.notes += [f"not graded: {printable(path)} ({reason})" for path, reason in why.items()]
    if not done.raw:
        expected = ", ".join(f"{name}.ipynb" for name in released)
        found = "; ".join(note.removeprefix("not graded: ") for note in done.notes)
        raise Unreadable(f"no notebook in {folder}: expected {expected}" + (f"; there is {found}" if found else ""))
    return done


def _candidates(
    folder: Path, released: Mapping[str, ReleasedNotebook], others: Sequence[str]
) -> tuple[dict[str, list[_Candidate]], dict[str, str]]:
    """Return the notebooks under other names by the released one they are made from, and why the rest are none."""
    found: dict[str, list[_Candidate]] = {name: [] for name in released}
    why: dict[str, str] = {}
    left = LARGEST
    for number, path in enumerate(others):
        if number >= _MOST:
            why[path] = f"more than {_MOST} notebooks"
            continue
        try:
            data = load(folder / path, left)
            raw = parse(data, "it")
        except Unreadable as error:
            why[path] = str(error)
            continue
        left -= len(data)
        name = next((name for name in released if has_cells_of(raw, released[name].cells)), None)
        if name is None:
            why[path] = "it has none of this assignment's cells"
        else:
            found[name].append(_Candidate(path, data, answers_of(raw, released[name].cells)))
    return found, why


def _choose_one(
    done: Choice, name: str, exact: Path | None, others: list[_Candidate], released: ReleasedNotebook
) -> None:
    """Add to `done` which notebook is graded as `name`. Raises Unreadable when the only one cannot be read."""
    candidates, reasons = list(others), []
    if exact is not None:
        try:
            data = load(exact)
            answers = answers_of(parse(data, exact.name), released.cells) if others else {}
            candidates.insert(0, _Candidate(exact.name, data, answers))
        except Unreadable as error:
            if not others:
                raise
            reasons.append(str(error))
    if not candidates:
        return
    first = candidates[0]
    taken = first if first.answers else max(candidates, key=lambda each: len(each.answers))
    different = [each for each in candidates if each.answers and each.answers != taken.answers]
    if different:
        rest = ", ".join(each.name for each in different)
        reasons.append(f"more than one notebook with answers: {taken.name} was graded, not {rest}")
    if taken.path != f"{name}.ipynb":
        blank = f", as {name}.ipynb has no answers" if exact is not None and not reasons else ""
        done.notes.append(f"graded: {taken.name}{blank}")
        done.renamed[name] = taken.path
    for each in candidates:
        if each is not taken and each not in different:
            same = "the same answers" if each.answers else "no answers"
            done.notes.append(f"not graded: {each.name} ({same})")
    done.raw[name] = taken.data
    if reasons:
        done.reasons[name] = reasons
