"""Judgements of answers, cached for answers with equal behaviour.

A judgement is a verdict with a digest of the observations. It makes the output of the check's cell, with the card.
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from nbformat.notebooknode import NotebookNode

from ...cards.shown_verdict import ShownVerdict
from ...checking.counting.silence import silent_aspects
from ...checking.exercise import Exercise
from ...checking.expected import Expected
from ...checking.judge import judge, predictions, unobserved
from ...checking.verdict import MIME, Verdict, VerdictState
from ...grade_ids import CellKind, GradeId
from ...language import Note
from ...messages.learners import message
from ..course.hidden_cases import ExpectedResults
from ..gradebook.released_notebooks import ReleasedNotebook
from ..sandbox.grader.resource_watch import Ending
from ..sandbox.wire.run_codec import unpack_run
from .limited_outputs import output


def observation_digest(runs: list[dict[str, Any]]) -> str:
    """Return a hash of encoded observations. Text that the answer printed makes no difference.

    `runs` are those of the exercise's cases, as `run_codec` encodes them.
    """
    shown = [{key: run.get(key) for key in ("values", "raised", "edited")} for run in runs]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]


def without_inputs(verdict: Verdict) -> Verdict:
    """Return the verdict without texts that could tell a student the inputs of hidden cases.

    An answer could print its inputs or put them into an error message.
    """
    finding = verdict.finding
    if finding:
        finding = replace(finding, inputs="", got=tuple(map(_without_message, finding.got)))
    notes = tuple(note for note in verdict.notes if note.id not in ("note.printed", "note.stderr", "note.warning"))
    return replace(verdict, finding=finding, notes=notes)


@cache
def _known_types() -> frozenset[str]:
    """Return the names of types of Python, torch and numpy.

    The name of an answer's own type could tell anything.
    """
    known = re.compile(r"(builtins|collections|concurrent|json|numpy|queue|torch|types)(\.\w+)*")
    modules = [module for name, module in list(sys.modules.items()) if module and known.fullmatch(name)]
    types = {each.__name__ for module in modules for each in vars(module).values() if issubclass(type(each), type)}
    return frozenset(types)


def _without_message(note: Note) -> Note:
    """Return the note with an ellipsis for an error's message, and for a type's name that is one."""
    said = dict(note.parameters)
    if "message" in said:
        said["message"] = "…"
    if "type" in said and said["type"] not in _known_types():
        said["type"] = "…"
    return replace(note, parameters=said)


_LACKS_NAME = re.compile(r"^cannot import name '\w+' from '(\w+)' \(|^module '(\w+)' has no attribute '")


def explain_import(outputs: list[NotebookNode], language: str | None) -> str | None:
    """Add an explanation to the error of a cell that imports a name which the course's package lacks.

    Returns Python's error message on the import. Returns None if no import of this kind failed. If `language` is None,
    the explanation is in English and Russian, otherwise in "en" or "ru".
    """
    for each in outputs:
        missed = each.get("ename") in ("ImportError", "ModuleNotFoundError") and "autograder" in each.evalue
        if missed:
            each.traceback += message("run.import").read(language).splitlines()
            return str(each.evalue).partition(" (")[0][:120]
    return None


def explain_shadowed(outputs: list[NotebookNode], own: Iterable[str], language: str | None) -> str | None:
    """Add an explanation to the error of a cell that misses a name of the student's own module.

    `own` are the paths of the student's files. Returns the name of the module if another one was imported in its place,
    otherwise None. If `language` is None, the explanation is in English and Russian, otherwise in "en" or "ru".
    """
    for each in outputs:
        found = _LACKS_NAME.search(each.get("evalue", ""))
        name = found and (found[1] or found[2])
        if name and f"{name}.py" in own:
            each.traceback += message("run.shadowed", name=name).read(language).splitlines()
            return name
    return None


def explain_deleted(note: Note, exercise: Exercise, notebook: NotebookNode) -> Note:
    """Return a note that the answer's cell was deleted, in place of the note that its name is not there.

    If the cell is there, or another one defines the name, returns `note`: the cell was not run to its end.
    """
    if note.id != "absent.name":
        return note
    defines = re.compile(rf"^[ \t]*+(?:(?:def|class)[ \t]++)?{exercise.asks}[ \t]*+[(:=]", re.M)
    for cell in notebook.cells:
        ours = cell.metadata.get("nbgrader", {})
        is_answer = ours.get("grade_id") == GradeId.of(CellKind.ANSWER, exercise.name)
        if is_answer or (not ours.get("locked") and defines.search(cell.source)):
            return note
    return Note("absent.deleted", note.parameters)


def missing_module(outputs: list[NotebookNode]) -> str | None:
    """Return the name of a module that a cell could not import, or None."""
    for each in outputs:
        if each.get("ename") == "ModuleNotFoundError":
            return str(each.evalue).removeprefix("No module named ")[:80]
    return None


_MOST, _LONGEST = 1000, 1 << 16  # cached judgements per lesson, and characters of the observation of each


@dataclass(eq=False)
class Judgement:
    """A verdict, and a digest of the observations behind it.

    If two digests are equal, the answers behaved in the same way. The digest is empty if nothing was observed. `rows`
    are the `predictions` in a table, for the class report. `silent` names aspects that earned points although nothing
    was counted for them.
    """

    verdict: Verdict
    observed: str = ""
    rows: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    silent: Sequence[str] = ()
    _data: dict[tuple[str | None, float | None], dict[str, Any]] = field(default_factory=dict)

    def output(self, language: str | None, number: int, worth: float | None = None) -> NotebookNode:
        """Return the verdict as an output of the check's cell, in nbformat's form.

        The output holds the record of the verdict, and the card as HTML. `number` is the execution count. If `language`
        is None, the card is in English and Russian, otherwise in "en" or "ru".
        `worth` is the cell's maximum points in the gradebook, or None if the cell is not graded. If the verdict has
        another maximum, the score is scaled, and a note on the card tells so.
        """
        key = language, worth
        if key not in self._data:
            verdict, points = replace(self.verdict, language=language), repr(self.verdict)
            if worth is not None and worth != verdict.maximum:
                points = f"{verdict.points_out_of(worth):g}"
                note = Note("note.worth", {"earned": points, "maximum": f"{worth:g}"})
                verdict = replace(verdict, notes=(*verdict.notes, note))
            self._data[key] = {
                "text/plain": points,
                "text/html": ShownVerdict.of(verdict).html(language),
                MIME: verdict.to_json(),
            }
        metadata: dict[str, Any] = {"observed": self.observed} if self.observed else {}
        if self.rows:
            metadata["rows"] = [
                [entry, *values] for entry, values in self.rows.items()
            ]  # a notebook's dicts are sorted
        return output("execute_result", data={**self._data[key]}, metadata=metadata, execution_count=number)


class LessonJudge:
    """A judge of answers to one lesson, for any number of threads.

    `answers` holds the exercises and their expected results. Judgements are stored, and used again for equal
    observations.
    """

    def __init__(self, answers: ExpectedResults) -> None:
        self.answers = answers
        self._known: dict[tuple[str, bytes], Judgement] = {}
        self._forgetting = threading.Lock()
        self._foreign: AbstractSet[str] = frozenset()

    def of(self, released: ReleasedNotebook) -> LessonJudge:
        """Return a judge of answers in one released notebook, which shares the stored judgements.

        The results that are expected of this notebook alone take precedence. If the student has used another copy of
        an exercise, a note on the card tells so.
        """
        judge = copy.copy(self)
        judge.answers = replace(self.answers, expected={**self.answers.expected, **released.expected})
        judge._foreign = released.foreign
        return judge

    def judge(self, name: str, runs: Any, code: Any = None) -> Judgement:
        """Return the judgement on an answer to the exercise `name`.

        `runs` are the observations as the child encoded them. `code` is a hash of the answer's code (see
        `code_digest`), or None. The student may have forged both. A forged value may cause an exception of any type.
        """
        exercise, expected = self.answers.exercises[name], self.answers.expected[name]
        said = json.dumps([expected.seed, name in self._foreign, runs, code])
        key = name, hashlib.sha256(said.encode()).digest()
        judgement = self._known.get(key)
        if judgement is None:
            judgement = _judged(exercise, expected, runs, code if isinstance(code, str) else None)
            if name in self._foreign and judgement.verdict.state != VerdictState.PASSED:
                notes = (*judgement.verdict.notes, Note("note.foreign_table", {}))
                judgement.verdict = replace(judgement.verdict, notes=notes)
            if len(said) > _LONGEST:
                return judgement
            with self._forgetting:
                self._known[key] = judgement
                if len(self._known) > _MOST:
                    del self._known[next(iter(self._known))]
        return judgement


def _judged(exercise: Exercise, expected: Expected, runs: list[dict[str, Any]], code: str | None) -> Judgement:
    """Decode the child's observations `runs`, and return the judgement on them.

    Raises ValueError if there are too many or too few observations.
    """
    unpacked = [unpack_run(data) for data in runs]
    if len(unpacked) != len(expected.solution):
        raise ValueError("another number of cases")
    verdict = without_inputs(judge(exercise, unpacked, expected, lambda: code))
    silent = silent_aspects(unpacked, expected.solution) & {each.name for each in verdict.aspects if each.earned}
    rows = predictions(exercise, unpacked[0], expected.solution[0])
    return Judgement(verdict, observation_digest(runs), rows, sorted(silent))


def unreached_verdict(exercise: Exercise, why: Ending) -> Verdict:
    """Return the verdict on an answer that was not checked: no points, and a note on the cause."""
    return unobserved(exercise, VerdictState.NOT_YET, Note(f"run.{why}", {}))
