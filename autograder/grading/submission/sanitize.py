"""Reconstruction of a submitted notebook: the student's sources, everything else as released.

nbgrader's rules are kept (OverwriteCells, DeduplicateIds). Type, lock, points and checksum of a released cell come from
the gradebook. The source of a locked cell comes from the gradebook, too.
A submission's metadata is not trusted: tags and unknown keys are dropped and affect no grade. Pasted pictures are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import nbformat
from nbformat.notebooknode import NotebookNode

from ...grade_ids import CellKind, GradeId
from ...language import LANGUAGES
from ...messages.reasons import make_reason
from ..files.notebook_file import Unreadable
from ..files.pictures import kept_attachments
from ..files.submitted_cells import origin_of
from ..gradebook.released_notebooks import ReleasedNotebook
from .submitted_notebook import SubmittedNotebook
from .written_answers import Places, find_written

_MOST_CELLS, _MOST_TEXT = 5_000, 8 << 20  # cells, and characters of all sources
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass
class Sanitized:
    """The notebook to run, its release, and cells that differ.

    The lists hold grade ids of cells.
    """

    notebook: NotebookNode
    released: ReleasedNotebook
    missing: list[str] = field(default_factory=list)  # released cells without points that the student deleted
    restored: list[str] = field(default_factory=list)  # deleted cells for points by hand, which were put back
    tests: list[str] = field(default_factory=list)  # deleted cells with points and a locked text, put back as well
    beside: list[str] = field(default_factory=list)  # free answers whose text was found beside their cell
    repeated: list[str] = field(default_factory=list)  # graded cells with several texts; the last one counts
    changed: list[str] = field(default_factory=list)  # locked cells with another text


def sanitize(submitted: SubmittedNotebook, name: str = "the notebook") -> Sanitized:
    """Rebuild a submitted notebook: the student's sources, everything else as released.

    `name` is the file name in error messages.
    Cells with points that the student deleted are put back, since formgrader shows the points of no other cell.
    Raises Unreadable if the notebook is too large to run.
    """
    cells, sources, released = submitted.cells, submitted.sources, submitted.released.cells
    length = sum(map(len, sources))
    if len(cells) > _MOST_CELLS or length > _MOST_TEXT:
        raise Unreadable(make_reason("large_notebook", name=name, cells=len(cells), count=f"{length:,}"))
    written = find_written(submitted)
    names = [each if each not in written else "" for each in submitted.names]
    for name, position in written.items():
        names[position] = name
    last = {name: index for index, name in enumerate(names) if name in released}
    missing = [name for name in released if name not in last]
    done = Sanitized(_empty(submitted), submitted.released, missing=missing, beside=[*written])
    # Copies of one text earn the same points. An answer without separate points may be split: both halves are run.
    texts = {name: {text for each, text in zip(names, sources) if each == name} for name in last}
    done.repeated = sorted(name for name in last if released[name].points is not None and len(texts[name]) > 1)
    graded = [name for name in done.missing if released[name].points is not None]
    done.restored = [name for name in graded if not released[name].locked]
    done.tests = [name for name in graded if released[name].locked]
    order = submitted.released.order or tuple((name, "") for name in released)
    put_back = _put_back(graded, last, Places(sources, names, order))
    ids: set[str] = set()
    pasted = kept_attachments(iter(cells))

    def restore(position: int) -> None:
        for name in put_back.get(position, ()):
            known = released[name]
            id = _cell_id({"id": name}, position, ids)
            done.notebook.cells.append(_new_cell(known.cell_type, id, known.source, known.metadata(name)))

    restore(-1)
    for index, (cell, source, name, pictures) in enumerate(zip(cells, sources, names, pasted)):
        known = released.get(name) if last.get(name) == index else None
        if known and known.locked and source != known.source:
            done.changed.append(name)
            source = known.source
        kind = known.cell_type if known else cell["cell_type"]
        ours = known.metadata(name) if known else None
        done.notebook.cells.append(_new_cell(kind, _cell_id(cell, index, ids), source, ours, pictures))
        restore(index)
    done.missing = [name for name in done.missing if name not in graded]
    return done


def _put_back(deleted: Sequence[str], last: Mapping[str, int], places: Places) -> dict[int, list[str]]:
    """Return the deleted cells to put behind each cell, by position; -1 is the beginning.

    A check is put behind its answer, so that the answer is judged. `last` are the positions of the released cells.
    """
    found: dict[int, list[str]] = {}
    for name in deleted:
        answer = GradeId.of(CellKind.ANSWER, GradeId(name).exercise)
        is_check = GradeId(name).kind is CellKind.CHECK
        place = last[answer] if is_check and answer in last else places.before(name)
        found.setdefault(place, []).append(name)
    return found


def _new_cell(
    kind: str, id: str, source: str, ours: dict[str, Any] | None, pictures: Mapping[str, Any] | None = None
) -> NotebookNode:
    """Return a notebook cell of the type `kind`. `ours` is nbgrader's metadata of the cell, or None.

    `pictures` are the cell's attachments. A code cell has none.

    nbformat's own `from_dict` is slower, because it visits every value.
    """
    metadata = NotebookNode(nbgrader=NotebookNode(ours)) if ours else NotebookNode()
    run: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    if pictures and kind != "code":
        run["attachments"] = dict(pictures)
    return NotebookNode(cell_type=kind, id=id, metadata=metadata, source=source, **run)


def _empty(submitted: SubmittedNotebook) -> NotebookNode:
    """Return a notebook without cells. Of the submitted metadata, only language and lesson are kept."""
    metadata: dict[str, Any] = {"language_info": {"name": "python"}}
    if submitted.released.kernel:
        metadata["kernelspec"] = dict(submitted.released.kernel)
    if told := origin_of(submitted.raw):
        language, lesson = told.get("language"), told.get("lesson")
        ours = {"language": language} if language in LANGUAGES else {}
        ours |= {"lesson": lesson} if isinstance(lesson, str) and _ID.fullmatch(lesson) else {}
        metadata["autograder"] = ours
    made: NotebookNode = nbformat.from_dict({"cells": [], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})
    return made


def _cell_id(cell: Mapping[str, Any], index: int, taken: set[str]) -> str:
    """Return an id for a notebook cell, and add the id to `taken`.

    If the submitted cell's own id is valid and not in `taken`, it is used. Otherwise an id is made from `index`, the
    cell's position.
    """
    claimed = cell.get("id")
    name = claimed if isinstance(claimed, str) and _ID.fullmatch(claimed) and claimed not in taken else f"cell-{index}"
    for number in range(len(taken)):
        if name not in taken:
            break
        name = f"cell-{index}-{number}"
    taken.add(name)
    return name
