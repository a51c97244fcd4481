"""A learner's working copies of notebooks, updated without losing answers.

Each lesson has a copy in English and one in Russian. An answer in one copy is carried over to the cell with the same
grade id in the other copy. A copy is rewritten only if the built notebook has changed or answers were carried over. The
previous file is kept unchanged in `old/`.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...grade_ids import GradeId
from ...language import LANGUAGES, Text
from ...lessons.source import NOTEBOOKS, source_digest
from ...messages.learners import message
from .notebook_file import Unreadable, answer_cells, read_notebook, restore_metadata, source_of, untouched

LAB_STATE = ".autograder.json"

State = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """The text of an answer cell in a working copy.

    `changed` is the time of its last change, in nanoseconds since 1970. `attempted` is True if the text is more than
    the stub.
    """

    source: str
    changed: int
    attempted: bool


@dataclass(frozen=True)
class Copy:
    """The working copy of one lesson, as found on disk.

    `answers` is a dict from grade id to answer.
    """

    path: Path
    data: bytes
    notebook: dict[str, Any]
    answers: dict[str, Answer]


def prepare_copy(work: Path, language: str, notebooks: Path = NOTEBOOKS) -> None:
    """Create or update the working copies `work/LANGUAGE/*.ipynb` from the built `notebooks`.

    Prints the changes in `language`.
    Raises SystemExit if there are no built notebooks.
    Raises OSError if `work` is not writable.
    """
    lessons = sorted((notebooks / language).glob("*.ipynb"))
    if not lessons:
        raise SystemExit(message("lab.no_lessons", folder=notebooks / language).read(language))
    (work / language).mkdir(parents=True, exist_ok=True)
    state = _load(work / LAB_STATE)
    for built in lessons:
        for says in _update(built, work, language, state):
            print(says.read(language))
        write_atomically(work / LAB_STATE, json.dumps(state, indent=1).encode())


def _update(built: Path, work: Path, language: str, state: State) -> Iterator[Text]:
    """Update one working copy from the notebook `built`, and yield messages for the learner.

    `state` is the content of the file `.autograder.json`. This function changes `state`, and the caller writes the
    file.
    """
    (other_language,) = (each for each in LANGUAGES if each != language)
    target, elsewhere = work / language / built.name, work / other_language / built.name
    fresh = read_notebook(built)
    try:
        own = _read_copy(target, fresh, state.get(_key(target), {}))
    except Unreadable as error:
        yield message("lab.unreadable", path=target, error=error)
        return
    try:
        other = _read_copy(elsewhere, fresh, state.get(_key(elsewhere), {}))
    except Unreadable as error:
        yield message("lab.unreadable_other", path=elsewhere, error=error)
        other = None

    version = hashlib.sha256(built.read_bytes()).hexdigest()
    newer = own is not None and state.get(_key(target), {}).get("lesson") != version
    chosen = _latest(own, other)
    notebook = copy.deepcopy(fresh if own is None or newer else own.notebook)
    changed = _put(notebook, {grade_id: answer.source for grade_id, (answer, _) in chosen.items()})
    if own is None or newer or changed:
        kept = _keep(own) if own else None
        write_atomically(target, (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode())
        yield from _report(built.stem, own, other, newer, chosen, set(answer_cells(notebook)), kept)
    since = {grade_id: answer.changed for grade_id, (answer, _) in chosen.items()}
    state[_key(target)] = {
        "lesson": version,
        "answers": {
            grade_id: [source_digest(source_of(cell), 16), since.get(grade_id, 0)]
            for grade_id, cell in answer_cells(notebook).items()
        },
    }


def _latest(own: Copy | None, other: Copy | None) -> dict[str, tuple[Answer, Copy]]:
    """Return a dict from grade id to the answer that was changed last, and the copy that holds this answer.

    `own` is the copy to update, `other` the copy in the other language. Stubs are left out. Of two equal answers the
    one in `own` is taken.
    """
    chosen: dict[str, tuple[Answer, Copy]] = {}
    for source in (own, other):
        for grade_id, answer in source.answers.items() if source else ():
            rival = chosen.get(grade_id)
            same_or_newer = rival and (rival[0].source == answer.source or rival[0].changed >= answer.changed)
            if source and answer.attempted and not same_or_newer:
                chosen[grade_id] = (answer, source)
    return chosen


def _report(
    name: str,
    own: Copy | None,
    other: Copy | None,
    newer: bool,
    chosen: dict[str, tuple[Answer, Copy]],
    places: set[str],
    kept: Path | None,
) -> Iterator[Text]:
    came = [g for g, (_, source) in chosen.items() if source is other and g in places]
    stayed = [g for g, (_, source) in chosen.items() if source is own and g in places]
    gone = [GradeId(g).exercise for g, (_, source) in chosen.items() if source is own and g not in places]
    if newer:
        yield message("lab.newer", name=name, count=len(stayed))
    if came and other:
        yield message("lab.carried", name=name, path=other.path, count=len(came))
    if gone:
        yield message("lab.gone", name=name, names=", ".join(gone))
    if kept:
        yield message("lab.kept", name=name, path=kept)


def _read_copy(path: Path, fresh: dict[str, Any], remembered: dict[str, Any]) -> Copy | None:
    """Return the working copy at `path`, or None if there is no file.

    `fresh` is the built notebook with stubs. `remembered` is what an earlier `autograder lab` stored: the digest of
    each answer's text and the time of its last change. If a text has changed since, the time is that of the file.
    """
    if not path.exists():
        return None
    notebook, stubs = read_notebook(path), answer_cells(fresh)
    restore_metadata(notebook, fresh)
    answers = {}
    for grade_id, cell in answer_cells(notebook).items():
        source = source_of(cell)
        known, since = remembered.get("answers", {}).get(grade_id, ("", 0))
        changed = since if known == source_digest(source, 16) else path.stat().st_mtime_ns
        stub = source_of(stubs[grade_id]) if grade_id in stubs else None
        answers[grade_id] = Answer(source, changed, bool(source.strip()) and source != stub and not untouched(cell))
    return Copy(path, path.read_bytes(), notebook, answers)


def _put(notebook: dict[str, Any], answers: dict[str, str]) -> bool:
    """Put answers into their cells.

    `answers` is a dict from grade id to source code. Returns whether any cell changed. If a cell changed, the outputs
    of all cells are cleared, because they may not match the answers.
    """
    cells = answer_cells(notebook)
    different = [g for g, source in answers.items() if g in cells and source_of(cells[g]) != source]
    for grade_id in different:
        cells[grade_id]["source"] = answers[grade_id]
    if different:
        for cell in notebook["cells"]:
            if cell.get("cell_type") == "code":
                cell["outputs"], cell["execution_count"] = [], None
    return bool(different)


def _keep(copied: Copy) -> Path:
    """Write the previous file of a working copy to the folder `old/`, and return the new path.

    The new file name has a number that is not in use.
    """
    folder, number = copied.path.parent / "old", 1
    folder.mkdir(exist_ok=True)
    while True:
        path = folder / f"{copied.path.stem}-{number}.ipynb"
        try:
            with path.open("xb") as file:
                file.write(copied.data)
            return path
        except FileExistsError:
            number += 1


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file atomically: readers see the old content or the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _load(path: Path) -> State:
    """Return the state that `autograder lab` stored in `.autograder.json`, or {} if the file is missing or invalid.

    If the state is {}, answers are taken from the copy whose file was changed last, English or Russian.
    """
    try:
        state = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    known = isinstance(state, dict) and all(isinstance(each, dict) and "answers" in each for each in state.values())
    return state if known else {}


def _key(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"
