"""The run of one notebook in a child, with judgements outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

from nbformat.notebooknode import NotebookNode

from ...checking.containment import timeout_causes as overlong
from ...checking.containment.time_limit import TimeIsUp
from ...checking.counting.weighing import NotTold, judge_weighed
from ...checking.exercise import Exercise
from ...checking.expected import Expected
from ...checking.judge import screen, unobserved
from ...checking.verdict import Verdict, VerdictState
from ...language import LANGUAGES, Note
from ...lessons.source import CHECK
from ...messages.reasons import REASONS, describe_reason, make_reason
from ..conspicuous.noticed_places import chosen_places
from ..course.assignment_files import EncodedFiles
from ..files.inert_names import one_line
from ..sandbox.grader.engine import Engine
from ..sandbox.grader.resource_watch import Ending
from ..sandbox.grader.student_process import Ended, StudentProcess
from ..sandbox.wire.run_codec import unpack_note, unpack_run
from ..sandbox.wire.wire_messages import ChildReply, ChildRequest
from .judgement import (
    Judgement,
    LessonJudge,
    explain_deleted,
    explain_import,
    explain_shadowed,
    missing_module,
    unreached_verdict,
)
from .limited_outputs import OutputBudget, for_instructor, needless_output, safe_outputs, stopped_output

_MOST_NOTES = 20
_STOOD_IN = "{} is not installed here: a stand-in without effect took its place"
_BUSY = 0.25  # fraction of a submission's time without a processor, above which the machine is too busy


@dataclass
class Outcome:
    """The outcome of running one notebook.

    `verdicts` maps exercise names to verdicts. `flags` are reasons for a review because of tampering, `notes` are
    sentences on other incidents in cells. `places` are conspicuous places in the source. If the child ended early,
    `ended` is the cause.
    """

    verdicts: dict[str, Verdict] = field(default_factory=dict)
    flags: list[Note] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    places: list[Note] = field(default_factory=list)
    ended: Ending | None = None
    seconds: float = 0.0
    waited: float = 0.0  # part of `seconds` in which other processes had the child's processor
    late: bool = False  # a cell or a check exceeded its time limit

    @property
    def lacked_time(self) -> bool:
        """Return whether the run exceeded a time limit on a busy machine.

        A machine is busy if the child has waited too long for a processor.
        """
        return (self.late or self.ended is Ending.TIME) and self.waited > self.seconds * _BUSY


def run_notebook(
    engine: Engine,
    notebook: NotebookNode,
    judge: LessonJudge | None,
    files: EncodedFiles,
    beside: EncodedFiles | None = None,
    handed_out: AbstractSet[str] = frozenset(),
) -> Outcome:
    """Run the sanitized `notebook` in a child, and write outputs into the notebook.

    Verdicts are among the outputs. `judge` judges the lesson's answers. If the notebook has no lesson, `judge` is None.
    `files` are the assignment's own files, `beside` the student's. `handed_out` are sources of cells that this student
    got in place of released ones: they are not the student's code.
    Raises CannotIsolate if the kernel refuses isolation. A submission cannot cause any other exception.
    """
    return _Run(engine, notebook, judge, files, beside or {}, handed_out).run()


def _worth(cell: NotebookNode) -> float | None:
    """Return the maximum points of a cell, or None if the cell is not graded.

    An instructor may have changed the points.
    """
    ours = cell.metadata.get("nbgrader", {})
    return float(ours["points"]) if ours.get("grade") else None


def _place(cell: NotebookNode, number: int) -> str:
    """Return the words with which a note names a code cell, for example "code cell 3".

    If the cell has a grade id, the text has the grade id instead of `number`, which counts from 1.
    """
    name = cell.metadata.get("nbgrader", {}).get("grade_id")
    return f"the cell {name}" if name else f"code cell {number}"


class _Run:
    """The run of one notebook.

    The parameters are those of `run_notebook`.
    """

    def __init__(
        self,
        engine: Engine,
        notebook: NotebookNode,
        judge: LessonJudge | None,
        files: EncodedFiles,
        beside: EncodedFiles,
        handed_out: AbstractSet[str],
    ) -> None:
        self._engine, self._notebook, self._judge, self._files = engine, notebook, judge, files
        self._handed_out = handed_out
        # The assignment's own files take precedence over the student's.
        self._beside = {path: data for path, data in beside.items() if path not in files}
        self._lesson = judge.answers.lesson.name if judge else ""
        said = notebook.metadata.get("autograder", {}).get("language")
        self._language = said if said in LANGUAGES else None
        self._outcome = Outcome()
        self._room = OutputBudget()
        self._places: list[tuple[NotebookNode | None, Note]] = []  # a cell that ran what is conspicuous, or None

    def run(self) -> Outcome:
        start = time.monotonic()
        deadline = start + self._engine.limits.total_seconds
        # A learner's test sees candidate programs, which may answer other exercises: those are judged first.
        programs, last = self._judge.answers.programs if self._judge else {}, []
        cells = [(cell, self._checked(cell)) for cell in self._notebook.cells if cell.cell_type == "code"]
        try:
            child = self._engine.fork()
        except Ended as ended:
            self._outcome.ended = ended.why
            child = None
        needless: AbstractSet[int] = set()
        try:
            if child:
                self._guarded(lambda: child.ask(ChildRequest.BEGIN, lesson=self._lesson, files=self._files))
                needless = self._needless_places(child, [cell for cell, _ in cells])
                if self._beside:  # a separate message, after the exercises are loaded
                    self._guarded(lambda: child.ask(ChildRequest.TAKE, files=self._beside))
            for number, (cell, name) in enumerate(cells, 1):
                if number - 1 in needless:
                    cell.outputs = [needless_output(self._language)]
                    continue
                if time.monotonic() > deadline and not self._outcome.ended:
                    self._outcome.ended = Ending.TIME
                cell.execution_count = number
                if name in programs:
                    last.append((cell, name, number))
                elif name:
                    cell.outputs = [self._check(child, name).output(self._language, number, _worth(cell))]
                else:
                    cell.outputs = self._plain(child, cell, number)
                self._take_places(child, cell, number)
            for cell, name, number in last:
                cell.outputs = [self._check(child, name).output(self._language, number, _worth(cell))]
                self._take_places(child, cell, number)
            self._show_places()
            if child:  # also covers checks that earned nothing
                # For a check torch's own functions are put back, but an instructor's graded cells run with what a
                # notebook has replaced.
                with_torch = any(not name and _worth(cell) is not None for cell, name in cells)
                said = self._guarded(lambda: child.ask(ChildRequest.GUARD, with_torch=with_torch))
                if said is not None:  # the child has not ended
                    self._tampered(said)
        finally:
            if child:
                self._outcome.waited = child.waited()
                child.kill()
        self._outcome.seconds = time.monotonic() - start
        return self._outcome

    def _needless_places(self, child: StudentProcess, cells: list[NotebookNode]) -> AbstractSet[int]:
        """Return the places of the released cells that nothing graded needs, as the child finds them.

        The child reads the code, and not this process: code can be made so that reading it takes all memory.
        """
        locked = [place for place, cell in enumerate(cells) if self._is_released(cell)]
        sources = [cell.source for cell in cells]
        said = self._guarded(lambda: child.ask(ChildRequest.PLAN, sources=sources, locked=locked))
        found = said.get("needless") if said else None
        return {each for each in found if type(each) is int}.difference(locked) if isinstance(found, list) else set()

    def _is_released(self, cell: NotebookNode) -> bool:
        return bool(cell.metadata.get("nbgrader", {}).get("locked")) or cell.source.strip() in self._handed_out

    def _take_places(self, child: StudentProcess | None, cell: NotebookNode, number: int) -> None:
        """Take the conspicuous places that the child has noticed while it ran a cell. They may be forged."""
        told = child.noticed if child else []
        for each in (each for places in told if isinstance(places, list) for each in places):
            match each:
                case [str(file), int(line), str(kind), str(what)] if f"look.{kind}" in REASONS:
                    where = file or cell.metadata.get("nbgrader", {}).get("grade_id") or f"[{number}]"
                    note = make_reason(f"look.{kind}", where=one_line(where), line=line, what=one_line(what))
                    self._places.append((None if file else cell, note))
        told.clear()

    def _show_places(self) -> None:
        chosen = [self._places[number] for number in chosen_places(note.id for _, note in self._places)]
        if more := len(self._places) - len(chosen):
            cell, last = self._places[-1]
            chosen.append((cell, make_reason("look.more", **{**last.parameters, "what": str(more)})))
        for cell, note in chosen:
            self._outcome.places.append(note)
            if cell:
                cell.outputs.append(for_instructor(f"to look at: {describe_reason(note).en}"))

    def _checked(self, cell: NotebookNode) -> str | None:
        """Return the name of the exercise that a cell checks, or None if the cell is no check.

        Only a locked cell counts, because the grader has restored its released source.
        """
        ours = cell.metadata.get("nbgrader", {})
        found = CHECK.search(cell.source) if ours.get("locked") and not ours.get("solution") else None
        return found["name"] if found and self._judge and found["name"] in self._judge.answers.expected else None

    def _guarded(self, ask: Callable[[], ChildReply]) -> ChildReply | None:
        """Call `ask`, which sends the child a request, and return the child's answer.

        Returns None if the child has ended, before the call or during the call.
        """
        if self._outcome.ended:
            return None
        try:
            answer = ask()
            self._note_each("refused: {}", answer.get("refused"))
            self._note_each(_STOOD_IN, answer.get("stood_in"))
            if "tampered" in answer:
                self._flag(make_reason("text", text=str(answer["tampered"])[:80]))
            return answer
        except Ended as ended:
            self._outcome.ended = ended.why
            if self._outcome.ended is Ending.NONSENSE:
                self._flag(make_reason("no_message"))
            return None

    def _note_each(self, note: str, names: Any) -> None:
        """Add a note for each of `names`, which come from the child and may be forged."""
        for name in names if isinstance(names, list) else []:
            self._note(note.format(str(name)[:80]))

    def _note(self, note: str) -> None:
        if note not in self._outcome.notes and len(self._outcome.notes) < _MOST_NOTES:
            self._outcome.notes.append(note)

    def _flag(self, what: Note) -> None:
        if what not in self._outcome.flags:
            self._outcome.flags.append(what)

    def _plain(self, child: StudentProcess | None, cell: NotebookNode, number: int) -> list[NotebookNode]:
        """Return the outputs of the next cell, which is not a check. `number` is the execution count.

        If the child has ended, the outputs of a graded cell are an error. So are those of the first cell that was not
        run. All other cells get an empty list.
        """
        before = self._outcome.ended
        asked = {"source": cell.source, "released": self._is_released(cell)}
        answer = self._guarded(lambda: child.ask(ChildRequest.CELL, **asked)) if child else None
        if answer is None:
            # An error in the first cell that was not run, and in each graded one: without it nbgrader gives full marks.
            told = not before or cell.metadata.get("nbgrader", {}).get("grade")
            return [stopped_output(self._outcome.ended or Ending.DIED, self._language)] if told else []
        outputs = safe_outputs(answer.get("outputs"), number, self._room)
        if any(output.get("ename") == TimeIsUp.__name__ for output in outputs):
            self._outcome.late = True
            seconds = self._engine.limits.cell_seconds
            self._note(f"{_place(cell, number)} ran longer than {seconds:g} s and was stopped: an endless loop?")
        missing = explain_import(outputs, self._language)
        if missing:
            self._note(f"{_place(cell, number)} imports what this version of the course does not have: {missing}")
        elif module := explain_shadowed(outputs, self._beside, self._language):
            self._note(f"{_place(cell, number)} misses a name of {module}.py: another module of this name was imported")
        elif module := missing_module(outputs):
            self._note(f"{_place(cell, number)} imports a module that is not installed here: {module}")
        return outputs

    def _check(self, child: StudentProcess | None, name: str) -> Judgement:
        """Observe the current answer to the exercise `name`, and return the judgement."""
        assert self._judge is not None
        exercise, expected = self._judge.answers.exercises[name], self._judge.answers.expected[name]
        withdrawn = screen(exercise, {}) if exercise.withdrawn else None
        ask = child if withdrawn is None else None
        asked = {"exercise": name, "seed": expected.seed, "programs": self._judge.answers.programs.get(name, "")}
        answer = self._guarded(lambda: ask.ask(ChildRequest.OBSERVE, **asked)) if ask else None
        if withdrawn is not None:
            judgement = Judgement(withdrawn)
        elif answer is None:
            judgement = self._unreached(exercise)
        else:
            judgement = self._judged(exercise, answer)
            absent = judgement.verdict.state == VerdictState.NOT_ATTEMPTED
            if child and "runs" in answer and absent and expected.given_code:
                # It behaves like the given code. Compare the code only now: reading it takes longer than many probes.
                told = self._guarded(lambda: child.ask(ChildRequest.CODE, exercise=name))
                judgement = self._judged(exercise, {**answer, **(told or {})})
            if child and judgement.verdict.points:
                judgement = self._unless_tampered(exercise, judgement, answer)
                if judgement.silent:
                    self._note(f"{name}: nothing was counted for {', '.join(judgement.silent)}")
                if answer.get("attempts") != 1:  # it may have known the inputs
                    self._note(f"{name}: a thread ran beside the check, which was tried again")
                for aspect, right in self._judge.answers.weighed.get(name, {}).items():
                    if any(each.name == aspect and each.earned for each in judgement.verdict.aspects):
                        judgement = self._weighed(child, exercise, aspect, right, judgement)
        got = judgement.verdict.finding.got if judgement.verdict.finding else ()
        self._outcome.late |= any(note.id in overlong.IDS for note in got)
        self._outcome.verdicts[name] = replace(judgement.verdict, language=self._language)
        return judgement

    def _unreached(self, exercise: Exercise) -> Judgement:
        """Return a judgement without points, because the child ended before the answer was observed."""
        return Judgement(unreached_verdict(exercise, self._outcome.ended or Ending.DIED))

    def _judged(self, exercise: Exercise, answer: ChildReply) -> Judgement:
        """Return the judgement on `answer`, the child's answer to the request `observe`.

        The data may be forged.
        """
        assert self._judge is not None
        try:
            if "absent" in answer:
                state, id, parameters = answer["absent"]
                state = VerdictState.NOT_YET if state == VerdictState.NOT_YET else VerdictState.NOT_ATTEMPTED
                why = explain_deleted(unpack_note(id, parameters), exercise, self._notebook)
                return Judgement(unobserved(exercise, state, why))
            if "fault" in answer:
                fault = {"exercise": exercise.name, "error": str(answer["fault"]).strip().splitlines()[-1][:300]}
                return Judgement(unobserved(exercise, VerdictState.OUR_ERROR, Note("fault.probe", dict(fault))))
            return self._judge.judge(exercise.name, answer["runs"], answer.get("code"))
        except Exception as error:  # any exception that a forged message can cause
            return self._malformed(exercise, error)

    def _weighed(
        self, child: StudentProcess, exercise: Exercise, aspect: str, expected: Expected, judgement: Judgement
    ) -> Judgement:
        """Return the judgement after a large run for `aspect`, whose memory the kernel counts."""
        asked = {"exercise": exercise.name, "seed": expected.seed, "weighed": aspect}
        reply = self._guarded(lambda: child.weigh(ChildRequest.OBSERVE, **asked))
        if reply is None:
            return self._unreached(exercise)
        try:
            runs = [unpack_run(data) for data in reply["runs"]]
            verdict = judge_weighed(exercise, judgement.verdict, aspect, runs, reply["touched"], expected)
            if not reply["whole"]:
                raise NotTold("other processes began or ended")
        except NotTold as why:
            self._outcome.late |= any(run.raised for run in runs)
            self._note(f"{exercise.name}: on large inputs the kernel's count of its memory tells too little: {why}")
            verdict = judgement.verdict
        except Exception as error:  # any exception that a forged message can cause
            return self._malformed(exercise, error)
        return self._unless_tampered(exercise, replace(judgement, verdict=verdict, _data={}), reply)

    def _malformed(self, exercise: Exercise, error: Exception) -> Judgement:
        self._flag(make_reason("malformed", name=exercise.name, error=type(error).__name__))
        return _held_back(exercise, "observation")

    def _unless_tampered(self, exercise: Exercise, judgement: Judgement, reply: ChildReply) -> Judgement:
        """Return `judgement` if the child was not tampered with, as its reply to an observation tells.

        Otherwise return a judgement without points, and request a review.
        """
        what = self._tampered(reply, exercise.name)
        return judgement if what is None else _held_back(exercise, what, judgement.observed)

    def _tampered(self, reply: ChildReply, name: str | None = None) -> str | None:
        """Return a text with the names of the objects that were tampered with in the child, or None.

        If there are any, a reason with these names is added to the outcome's `flags`. `name` is that of the exercise
        that was just checked, or None at the end of the run.
        """
        changed = reply.get("changed")
        if changed == []:
            return None
        named = [str(name)[:80] for name in changed] if isinstance(changed, list) else []
        what = ", ".join(named[:5]) or "?"
        self._flag(make_reason("replaced", name=name, what=what) if name else make_reason("replaced_at_end", what=what))
        return what


def _held_back(exercise: Exercise, what: str, observed: str = "") -> Judgement:
    """Return a judgement without points, because `what` was tampered with."""
    return Judgement(unobserved(exercise, VerdictState.OUR_ERROR, Note("fault.tampered", {"what": what})), observed)
