"""The choice of the submitted notebook to grade, by name and content."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...language import Note
from ...messages.reasons import SEVERAL, describe_reason, make_reason
from ..course.remarks import Reasons
from ..files.file_kinds import kind_of, looks_like_notebook, may_be_notebook
from ..files.inert_names import one_line
from ..files.notebook_file import LARGEST_NOTEBOOK, Unreadable, parse_notebook
from ..gradebook.released_notebooks import ReleasedNotebook, ReleasedNotebooks
from .submitted_notebook import SubmittedFile, SubmittedNotebook

_MOST = 10  # notebooks with other names than the released ones that are examined
_NAMED = 5  # files of other kinds that are named
_DRAFT = re.compile(r"draft|scratch|\bold\b|чернов|стар(ая|ый|ое)", re.I)
_CLEAN = re.compile(r"clean|final|чистов|итог|окончат", re.I)


@dataclass
class Choice:
    """The notebooks to grade, and what is said of the choice.

    The keys of `notebooks` and `reasons` are released names.
    """

    notebooks: dict[str, SubmittedFile] = field(default_factory=dict)
    reasons: Reasons = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Candidate:
    """A submitted notebook that may be graded as a released notebook."""

    file: SubmittedFile
    answers: dict[str, str]  # by grade id, only those that differ from the release

    @property
    def name(self) -> str:
        return one_line(self.file.path)

    @property
    def rank(self) -> tuple[bool, int, int]:
        """A key that is larger for a better choice: with answers, not called a draft, with more answers."""
        path = self.file.path
        return bool(self.answers), bool(_CLEAN.search(path)) - bool(_DRAFT.search(path)), len(self.answers)


def choose_notebooks(
    folder: Path, released: ReleasedNotebooks, there: Sequence[str], beside: Mapping[str, bytes]
) -> Choice:
    """Choose the notebooks to grade in a submission's `folder`.

    `there` are the relative paths of the submitted notebooks. `beside` maps relative paths of the other files to their
    contents: one of them may be a notebook, too. A submitted notebook with the released name is preferred. If the
    preferred notebook has no answers, another notebook with answers is chosen, rather a "final" one than a "draft". Two
    notebooks with different answers are a reason for a review.
    Raises Unreadable if no notebook can be graded; the message names what is there instead.
    """
    exact = {name: f"{name}.ipynb" for name in released}
    exact = {name: path for name, path in exact.items() if os.path.lexists(folder / path)}
    others = [path for path in there if path not in exact.values()]
    others += [path for path, data in beside.items() if may_be_notebook(path) and looks_like_notebook(data)]
    done = Choice()
    candidates, why = _candidates(folder, released, others)
    for name in released:
        if candidates[name]:
            _choose_one(done, name, released[name], candidates[name], folder)
        elif name in exact:  # the usual case: no comparison is needed
            done.notebooks[name] = SubmittedFile.read(folder, exact[name])
    done.notes += [f"not graded: {one_line(path)} ({reason})" for path, reason in why.items()]
    for name, file in done.notebooks.items():
        if file.zeros:
            done.notes.append(f"zero bytes at the end of {name}.ipynb were ignored: a crash or a full disk leaves them")
    if not done.notebooks:
        where = {"folder": str(folder), "expected": ", ".join(f"{name}.ipynb" for name in released)}
        kinds = [kind_of(data, one_line(path)) for path, data in sorted(beside.items()) if path not in others]
        instead = [describe_reason(kind).en for kind in kinds if kind][:_NAMED]
        found = "; ".join([*(note.removeprefix("not graded: ") for note in done.notes), *instead])
        if not found:
            raise Unreadable(make_reason("no_notebook", **where))
        raise Unreadable(make_reason("no_notebook_but", **where, found=found))
    return done


def _candidates(
    folder: Path, released: ReleasedNotebooks, others: Sequence[str]
) -> tuple[dict[str, list[_Candidate]], dict[str, str]]:
    """Find the released notebook from which each renamed notebook was made.

    `others` are the paths, relative to `folder`, of submitted notebooks without a released name. Returns two dicts. The
    first maps a released name to the renamed notebooks that were made from it. The second maps each rejected path to
    the reason.
    """
    found: dict[str, list[_Candidate]] = {name: [] for name in released}
    why: dict[str, str] = {}
    left = LARGEST_NOTEBOOK
    for number, path in enumerate(others):
        if number >= _MOST:
            why[path] = f"more than {_MOST} notebooks"
            continue
        try:
            file = SubmittedFile.read(folder, path, left)
            raw = parse_notebook(file.data, "it")
        except Unreadable as error:
            why[path] = str(error)
            continue
        left -= len(file.data)
        for name, each in released.items():
            notebook = SubmittedNotebook(raw, each.match(raw))
            if notebook.is_of_release:
                found[name].append(_Candidate(file, notebook.answers))
                break
        else:
            why[path] = "it has none of this assignment's cells"
    return found, why


def _choose_one(
    done: Choice, name: str, released: ReleasedNotebook, others: Sequence[_Candidate], folder: Path
) -> None:
    """Choose the notebook to grade as the released notebook `name`, and add the choice to `done`.

    `others` are the candidates with other names, at least one.
    """
    candidates, reasons, exact = list(others), list[Note](), f"{name}.ipynb"
    if there := os.path.lexists(folder / exact):
        try:
            file = SubmittedFile.read(folder, exact)
            raw = parse_notebook(file.data, exact)
            candidates.insert(0, _Candidate(file, SubmittedNotebook(raw, released.match(raw)).answers))
        except Unreadable as error:
            reasons.append(error.reason)
    first = candidates[0]
    stays = first.file.path == exact and first.answers
    taken = first if stays else max(candidates, key=lambda each: each.rank)
    different = [each for each in candidates if each.answers and each.answers != taken.answers]
    if different:
        rest = ", ".join(each.name for each in different)
        reasons.append(make_reason(SEVERAL, taken=taken.name, rest=rest))
    if taken.file.path != exact:
        blank = f", as {exact} has no answers" if there and not reasons else ""
        done.notes.append(f"graded: {taken.name}{blank}")
    for each in candidates:
        if each is not taken and each not in different:
            same = "the same answers" if each.answers else "no answers"
            done.notes.append(f"not graded: {each.name} ({same})")
    done.notebooks[name] = taken.file
    if reasons:
        done.reasons[name] = reasons
