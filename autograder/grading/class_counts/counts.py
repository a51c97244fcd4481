"""Counts for the class report: verdicts, and groups of similar wrong answers.

No code of a submission is run or imported. Only verdicts on the lesson's own exercises count. Answers are quoted as
text.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...checking.exercise import Exercise
from ...checking.verdict import MIME, Verdict, VerdictState
from ...exercises import sentence_for
from ...grade_ids import CellKind, GradeId
from ...language import Note, Text
from ...lessons.source import Lesson
from .table_rows import Predictions, TableCounts, Unfinished, count_rows, gaps_in, predictions_in

NO_VERDICT = "no verdict"  # a separate state: the check is missing or has no verdict
BROKEN = "broken"  # the answer cell failed before it defined an answer; verdicts have no state for this
HELD_BACK = "held back"  # the submission tampered with the check; verdicts have no state for this
FLAGS = ("tampered", "fault")  # reasons for a review that grading itself found


@dataclass
class Wrong:
    """A group of similar wrong answers to one exercise.

    `mistake` is the name of the mistake that was recognised in each of the answers. If `mistake` is None, the answers
    share the same observed behaviour or the same error. `verdict` is the verdict on one of the answers.
    """

    exercise: Exercise
    mistake: str | None
    verdict: Verdict
    observed: bool  # whether the answer ran
    error: str = ""  # of a broken answer cell
    students: list[str] = field(default_factory=list)
    code: str = ""  # the shortest answer of the group

    @property
    def sentence(self) -> Text | None:
        """The sentence that names the mistake, or None if it was not recognised or is no longer known."""
        return sentence_for(self.exercise, self.mistake) if self.mistake else None

    def add(self, student: str, code: str) -> None:
        """Add a student to the group. `code` is the student's answer, which is kept if it is the shortest."""
        self.students.append(student)
        if code.strip() and (not self.code or len(code) < len(self.code)):
            self.code = code


@dataclass
class Answered:
    """The counts of one exercise: submissions by state, groups of wrong answers.

    `states` maps each state to a number of submissions. A state is a `VerdictState`, `BROKEN`, `HELD_BACK` or
    `NO_VERDICT`. `alike` maps the results of `_kind` to groups of wrong answers. `earned` maps students to points,
    `sources` to the code of their answers. `predicted` and `unfinished` are the tables of predictions.
    """

    exercise: Exercise
    states: Counter[str] = field(default_factory=Counter)
    alike: dict[str, Wrong] = field(default_factory=dict)
    earned: dict[str, float] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    predicted: list[Predictions] = field(default_factory=list)
    unfinished: list[Unfinished] = field(default_factory=list)

    @property
    def tables(self) -> list[TableCounts]:
        """The counts of wrong predictions by row. There are none for other exercises."""
        return count_rows(self.predicted, self.unfinished)

    @property
    def answers(self) -> int:
        """The number of answers that were right, wrong or broken."""
        return self.states[VerdictState.PASSED] + self.states[VerdictState.NOT_YET] + self.states[BROKEN]

    def wrong(self, *, recognised: bool) -> list[Wrong]:
        """Return groups of wrong answers, the largest group first.

        If `recognised` is True, returns the groups with a recognised mistake. If it is False, returns the groups
        without a recognised mistake.
        """
        found = [each for each in self.alike.values() if (each.mistake is not None) == recognised]
        return sorted(found, key=lambda each: -len(each.students))


@dataclass(frozen=True)
class Waiting:
    """The reason why some cells of a submission need a review.

    `cells` holds the grade ids of these cells. `detail` is the details of tampering or a bug, or an empty text.
    `reason` is one of:
    - "tampered" or "fault", which grading found;
    - "again": the cell had a manual score when it was graded the last time;
    - "read": the cell needs manual grading for the first time.
    """

    reason: str
    detail: str
    cells: tuple[str, ...]


@dataclass
class Graded:
    """The data of the class report on one assignment.

    `scores` maps students to points after late penalties, `penalties` to the points taken off. `exercises` maps
    exercise names to counts, in the lesson's order. `waiting` maps each reason for a review to students. `unread` maps
    students without a readable submission to the cause. `idle` are the students who have handed in nothing.
    """

    assignment: str
    maximum: float
    lessons: list[Lesson] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=dict)
    penalties: dict[str, float] = field(default_factory=dict)
    exercises: dict[str, Answered] = field(default_factory=dict)
    waiting: dict[Waiting, list[str]] = field(default_factory=lambda: defaultdict(list))
    unread: dict[str, Text] = field(default_factory=dict)
    idle: list[str] = field(default_factory=list)
    unplaced: int = 0  # files without a known sender: they may be the work of `idle` students
    remarks: dict[str, list[Note]] = field(default_factory=dict)  # reasons for a review, by student with a score
    places: dict[str, list[Note]] = field(default_factory=dict)  # conspicuous places, by student with a score
    names: dict[str, str] = field(default_factory=dict)  # of students with a name in the gradebook
    pages: dict[str, Path] = field(default_factory=dict)  # the feedback page or the graded notebook, by student

    def add(self, student: str, cells: dict[str, dict[str, Any]], waiting: dict[str, bool]) -> None:
        """Add the graded notebooks of one student to the counts.

        `cells` maps grade ids to the cells' JSON. The keys of `waiting` are the grade ids of cells that need manual
        grading. The values tell whether the cell already has a manual score.
        """
        faults: dict[str, tuple[str, str]] = {}
        for name, answered in self.exercises.items():
            check = GradeId.of(CellKind.CHECK, name)
            verdict, observed = verdict_in(cells.get(check, {}), name)
            if verdict and (predicted := predictions_in(cells[check])):
                answered.predicted.append(predicted)
            elif verdict and (unfinished := gaps_in(verdict)):
                answered.unfinished.append(unfinished)
            answer = cells.get(GradeId.of(CellKind.ANSWER, name), {})
            error = _error(answer) if verdict and verdict.state == VerdictState.NOT_ATTEMPTED else ""
            answered.states[BROKEN if error else _state(verdict)] += 1
            answered.earned[student] = verdict.points if verdict else 0.0
            if error or (verdict and verdict.state != VerdictState.NOT_ATTEMPTED):
                answered.sources[student] = _source(answer)
            if verdict and (error or verdict.state == VerdictState.NOT_YET):
                new = Wrong(answered.exercise, verdict.mistake, verdict, observed is not None, error)
                answered.alike.setdefault(_kind(new), new).add(student, _source(answer))
            if verdict and verdict.state == VerdictState.OUR_ERROR:
                faults[check] = _fault(verdict)
        extras = [GradeId.of(CellKind.CHECK, name) for name, each in self.exercises.items() if not each.exercise.core]
        reasons: dict[tuple[str, str], list[str]] = defaultdict(list)
        # The cells from the gradebook, and faults in ungraded exercises, which are not in the gradebook.
        for cell in [*waiting, *(cell for cell in extras if cell in faults)]:
            otherwise = "again" if waiting.get(cell) else "read"
            reasons[faults.get(cell) or (otherwise, "")].append(cell)
        for (reason, detail), concerned in reasons.items():
            self.waiting[Waiting(reason, detail, tuple(concerned))].append(student)

    def misunderstood(self) -> list[Wrong]:
        """Return the groups of wrong answers from more than one student, the largest group first.

        Only core exercises count, and only answers that ran.
        """
        alike = [each for answered in self.exercises.values() for each in answered.alike.values()]
        shared = [each for each in alike if each.exercise.core and each.observed and len(each.students) > 1]
        return sorted(shared, key=lambda each: (-len(each.students), each.mistake is None))


def _kind(wrong: Wrong) -> str:
    """Return the key of the group to which a wrong answer belongs: the report prints the same about equal keys.

    Two mistakes with the same sentence therefore form one group.
    """
    if wrong.error:
        return f"error {wrong.error}"
    if wrong.mistake is None:
        finding = wrong.verdict.finding
        got = [note for note in finding.got if note.id != "raised.line"] if finding else []
        return f"finding {finding.aspect if finding else ''} {got}"
    return f"mistake {wrong.sentence.en if wrong.sentence else wrong.mistake}"


def verdict_in(cell: dict[str, Any], exercise: str) -> tuple[Verdict | None, str | None]:
    """Return the verdict in a check's output, and the digest of the observations.

    If there is no valid verdict, both are None. The digest alone is None if nothing was observed. `cell` is the check's
    JSON, `exercise` the exercise's name.
    """
    found: list[tuple[Any, Any]] = []
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        match output:
            case {"output_type": "execute_result", "data": {**data}, "metadata": {**metadata}} if MIME in data:
                found.append((data[MIME], metadata.get("observed")))
    if len(found) != 1:
        return None, None
    ((record, observed),) = found
    try:
        verdict = Verdict.from_json(record)
    except (LookupError, TypeError, ValueError, AttributeError):  # from another version, or forged
        return None, None
    named = verdict.mistake is None or isinstance(verdict.mistake, str)
    whole = verdict.exercise == exercise and named
    return (verdict, observed if isinstance(observed, str) else None) if whole else (None, None)


def _state(verdict: Verdict | None) -> str:
    """Return the state under which the report counts a verdict.

    If `verdict` is None, the state is `NO_VERDICT`.
    """
    if verdict is None:
        return NO_VERDICT
    tampered = verdict.state == VerdictState.OUR_ERROR and _fault(verdict)[0] == "tampered"
    return HELD_BACK if tampered else verdict.state


def _fault(verdict: Verdict) -> tuple[str, str]:
    """Return why a check failed, "tampered" or "fault", and a text with details.

    "fault" means a bug in the checking code.
    """
    note = verdict.finding.got[0] if verdict.finding and verdict.finding.got else Note("", {})
    said = note.parameters if isinstance(note.parameters, dict) else {}
    if note.id == "fault.tampered":
        return "tampered", str(said.get("what", ""))[:200]
    return "fault", str(said.get("error", ""))[:200]


def _error(cell: dict[str, Any]) -> str:
    """Return the error in an answer cell's outputs as text. If there is no error, returns an empty text.

    The NotImplementedError of an unfinished stub does not count.
    """
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        match output:
            case {"output_type": "error", "ename": str(name), "evalue": str(value)} if name != "NotImplementedError":
                value = re.sub(r" \([^()]*, line \d+\)$", "", value)
                return f"{name}: {value}".removesuffix(": ")[:200]
    return ""


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
