"""Verdicts from an answer's observations: aspects, first difference, recognised mistake."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..language import Note
from ..lookalikes import explain_unknown
from ..messages.entries import place_of
from ..messages.learners import MESSAGES
from .comparison import Difference, compare, same_message
from .entry_types import mistyped
from .exercise import Aspect, Exercise, is_open
from .expected import Expected
from .run import Raised, Run
from .values import AtMost, canonical, describe, prediction
from .verdict import SCORE, AspectResult, AspectState, Finding, Verdict, VerdictState

# The stub raises this. torch also raises NotImplementedError if a device lacks an operation, but with a message.
_STUB = {"type": "NotImplementedError", "message": ""}
_HARMLESS = {"note.left.threads", "note.left.profiler"}  # a pool may still be ending its threads


def judge(
    exercise: Exercise, runs: Sequence[Run], expected: Expected, code: Callable[[], str | None] = lambda: None
) -> Verdict:
    """Return the verdict on an answer from its observations.

    `runs` has one observation for each case of `expected.seed`, in order. `code` returns the `code_digest` of the
    answer, or None if unknown. An answer that behaves like the given code counts as attempted only if its digest
    differs from the given code's.
    """
    edits = [_unexpected_edits(run, right) for run, right in zip(runs, expected.solution)]
    said = [note for run in runs for note in run.notes] + [note for each in edits for note in each]
    notes = tuple({note.id + repr(note.parameters): note for note in said}.values())
    for index, run in enumerate(runs):
        if run.raised and run.raised.whose == "ours":
            finding = Finding(seed=expected.seed, case=index, got=(Note(run.raised.id, run.raised.parameters),))
            return _verdict(exercise, VerdictState.OUR_ERROR, {}, finding, None, notes)
    if any(run.raised and run.raised.parameters == _STUB for run in runs):
        return unobserved(exercise, VerdictState.NOT_ATTEMPTED, Note("absent.stub", {}))
    table, truth = _tables(exercise, runs[0], expected.solution[0])
    if missing := [entry for entry in truth if entry not in table]:
        return _unfilled(exercise, missing, len(truth), tuple(explain_unknown(table, truth)))
    like_given = expected.given is not None and _all_same(exercise, runs, expected.given)
    if like_given and code() in (None, expected.given_code):
        return unobserved(exercise, VerdictState.NOT_ATTEMPTED, Note("absent.given", {}))

    right = _right(exercise, runs, expected.solution)
    notes = (*notes, *_scoreboards(exercise, right, runs, expected.solution))
    failing = _first_failing(exercise, right)
    changed = tuple(filter(_is_harmful, notes))
    if failing is None and not changed:
        return _verdict(exercise, VerdictState.PASSED, right, None, None, notes)
    if failing is None:
        found = Finding(got=(Note("differs.changed", {}), *changed))
        notes = tuple(note for note in notes if note not in changed)
        return _verdict(exercise, VerdictState.NOT_YET, right, found, None, notes, earns=False)
    mistake = _recognise(exercise, failing, runs, expected)
    notes = (*notes, *mistyped(table, truth))
    finding = _finding(exercise, failing, runs, expected)
    return _verdict(exercise, VerdictState.NOT_YET, right, finding, mistake, notes, earns=not changed)


def _is_harmful(note: Note) -> bool:
    """Return whether a note tells of a change that the answer's caller would meet: of an input, or of a setting."""
    changes_a_setting = note.id.startswith("note.left.") and note.id not in _HARMLESS
    return note.id == "note.inputs" or changes_a_setting


def _unexpected_edits(run: Run, right: Run) -> list[Note]:
    """Return a note for each input that the answer changed in place and the solution left alone.

    `run` observed the answer, `right` the solution.
    """
    return [Note("note.inputs", {"name": name}) for name in run.edited if name not in right.edited]


def screen(exercise: Exercise, namespace: Mapping[str, Any]) -> Verdict | None:
    """Return a verdict if the learner's answer cannot or need not be observed, else None.

    `namespace` holds the learner's variables. An answer cannot be observed if it is missing, of the wrong type, or a
    table with gaps. An answer to a withdrawn exercise need not be observed, because every answer passes.
    """
    if exercise.withdrawn:
        everything = {aspect.name: True for aspect in exercise.aspects}
        return _verdict(
            exercise, VerdictState.PASSED, everything, Finding(got=(Note("absent.withdrawn", {}),)), None, ()
        )
    name = exercise.asks
    if name not in namespace:
        return unobserved(exercise, VerdictState.NOT_ATTEMPTED, Note("absent.name", {"name": name}))
    answer, wanted = namespace[name], exercise.asks_for
    if not _is_a(wanted, answer):
        got = "class" if isinstance(answer, type) else describe(canonical(answer))
        got = f"kind.{got}" if f"kind.{got}" in MESSAGES else got
        kind = Note("absent.kind", {"name": name, "expected": f"kind.{wanted}", "got": got})
        return unobserved(exercise, VerdictState.NOT_YET, kind)
    gaps = [str(entry) for entry, value in answer.items() if value is Ellipsis] if wanted == "dict" else []
    if gaps:
        return _unfilled(exercise, gaps, len(answer))
    return None


def _is_a(wanted: str, answer: object) -> bool:
    """Return whether `answer` is a "dict", a "class" or a "function", as `wanted` says.

    A class does not count as a function, although it is callable.
    """
    if wanted == "dict":
        return isinstance(answer, dict)
    return isinstance(answer, type) if wanted == "class" else callable(answer) and not isinstance(answer, type)


def _unfilled(exercise: Exercise, gaps: Sequence[str], total: int, notes: tuple[Note, ...] = ()) -> Verdict:
    entries = ", ".join(f"`{gap}`" for gap in gaps)
    why = Note("absent.entries", {"entries": entries, "filled": total - len(gaps), "total": total})
    return unobserved(exercise, VerdictState.NOT_ATTEMPTED, why, notes)


def unobserved(exercise: Exercise, state: VerdictState, why: Note, notes: tuple[Note, ...] = ()) -> Verdict:
    """Return a verdict on an answer that was not run. `why` is the note that a card shows as the cause."""
    return _verdict(exercise, state, {}, Finding(got=(why,)), None, notes)


def _first_failing(exercise: Exercise, right: Mapping[str, bool]) -> Aspect | None:
    """Return the first aspect that is wrong while all aspects in its `after` are right.

    Returns None if no aspect is wrong. `right` is a dict from aspect name to whether the aspect is right.
    """
    return next((a for a in exercise.aspects if not right[a.name] and all(right[b] for b in a.after)), None)


def _right(exercise: Exercise, runs: Sequence[Run], solution: Sequence[Run]) -> dict[str, bool]:
    """Return a dict from aspect name to whether the aspect is right on every case."""

    def everywhere(name: str) -> bool:
        return all(_difference(exercise, name, run, right) is None for run, right in zip(runs, solution))

    return {aspect.name: len(runs) == len(solution) and everywhere(aspect.name) for aspect in exercise.aspects}


def _scoreboards(
    exercise: Exercise, right: Mapping[str, bool], runs: Sequence[Run], solution: Sequence[Run]
) -> Iterator[Note]:
    """Yield a note with three figures for each measured aspect with a scoreboard.

    A figure tells nothing while an aspect in `after`, or the result of the measured run, is wrong.
    """
    for aspect in exercise.aspects:
        if aspect.board is None or not all(right[name] for name in aspect.after):
            continue
        pairs = [(run.values.get(aspect.name), wanted.values[aspect.name]) for run, wanted in zip(runs, solution)]
        counts = [
            got.used
            for got, wanted in pairs
            if isinstance(got, AtMost) and compare(wanted.of, got.of, rtol=exercise.rtol) is None
        ]
        if len(counts) == len(runs):
            yield Note(SCORE, {"aspect": aspect.name, "used": max(counts), **asdict(aspect.board)})


def _difference(exercise: Exercise, name: str, run: Run, expected: Run, *, reveal: bool = False) -> Difference | None:
    if run.raised:
        return Difference(run.raised.id, run.raised.parameters)
    if name not in run.values:
        return Difference("differs.kind", {"what": "", "got": "kind.nothing", "expected": "kind.value"})
    return compare(expected.values[name], run.values[name], rtol=exercise.rtol, reveal=reveal)


def _finding(exercise: Exercise, failing: Aspect, runs: Sequence[Run], expected: Expected) -> Finding:
    """Return the first case on which the aspect `failing` is wrong, with the difference in its value.

    Expected values are in the finding only if the case is public and the exercise is no table of predictions.
    """
    reveal = is_open(expected.seed) and exercise.asks_for != "dict"
    for index, (run, right) in enumerate(zip(runs, expected.solution)):
        difference = _difference(exercise, failing.name, run, right, reveal=reveal)
        if difference is None:
            continue
        got = [Note(difference.id, difference.parameters)]
        wrong = _wrong_entries(exercise, run, right)
        if wrong:
            total = len(right.values[failing.name])
            got = [
                Note(
                    "differs.table",
                    {"wrong": len(wrong), "total": total, "entries": ", ".join(f"`{entry}`" for entry in wrong)},
                )
            ]
        spot = run.caught.get(f"{failing.name}:{place_of(difference.parameters)}")
        if spot:
            got = [Note(difference.id, {**difference.parameters, "got": spot.said, "explained": spot.explained})]
        if run.raised:
            spot = run.raised.spot
            got = [Note(difference.id, {**difference.parameters, "explained": spot.explained})]
        if spot and spot.line is not None and spot.code:
            got.append(Note("raised.line", {"line": spot.line, "code": spot.code}))
        value = run.values.get(failing.name)
        if isinstance(value, AtMost) or any(each.apart for each in failing.entries):  # on inputs of the probe's own
            return Finding(failing.name, expected.seed, index, got=tuple(got))
        # A result of False adds nothing: the aspect already names the property that does not hold.
        said = () if isinstance(value, bool) else tuple(got)
        return Finding(failing.name, expected.seed, index, run.called, run.inputs, said)
    return Finding(failing.name, expected.seed)


# --------------------------------------------------------------------------------------------- recognise mistakes


def _recognise(exercise: Exercise, failing: Aspect, runs: Sequence[Run], expected: Expected) -> str | None:
    """Return the name of the mistake that shows the same behaviour as the answer, or None.

    `runs` are the answer's runs, one for each case. A mistake fits if `failing` is its first wrong aspect, too, with
    the same value on every case. If several mistakes fit, the one with the most other values in common is returned.
    An exceeded limit and False can have many causes: then all evidence must be the same, too.
    """
    if exercise.asks_for == "dict":
        return _recognise_table(exercise, runs, expected)
    best: tuple[int, str] | None = None
    for name, theirs in expected.mistakes.items():
        if not all(_same(exercise, failing.name, run, other) for run, other in zip(runs, theirs)):
            continue
        if _first_failing(exercise, _right(exercise, theirs, expected.solution)) != failing:
            continue
        keys = {key for run in theirs for key in run.values} - {failing.name}
        agree = {k for k in keys if all(_same(exercise, k, run, other) for run, other in zip(runs, theirs))}
        evidence = keys - {aspect.name for aspect in exercise.aspects}
        weak = any(_is_weak(run.values.get(failing.name)) for run in runs)
        if weak and not evidence <= agree:
            continue
        if best is None or len(agree) > best[0]:
            best = (len(agree), name)
    return best[1] if best else None


def _recognise_table(exercise: Exercise, runs: Sequence[Run], expected: Expected) -> str | None:
    """Return the name of the mistake that explains a learner's table of predictions, or None.

    A mistake fits if the learner's table has all of its wrong entries. If several mistakes fit, return the one with the
    most wrong entries.
    """
    best: tuple[int, str] | None = None
    for name, theirs in expected.mistakes.items():
        table, run, right = theirs[0], runs[0], expected.solution[0]
        wrong = _wrong_entries(exercise, table, right)
        key = exercise.aspects[0].name
        answered = run.values.get(key)
        if not isinstance(answered, dict) or not wrong:
            continue
        explains = all(compare(table.values[key][e], answered[e]) is None for e in wrong)
        if explains and (best is None or len(wrong) > best[0]):
            best = (len(wrong), name)
    return best[1] if best else None


def _wrong_entries(exercise: Exercise, run: Run, right: Run) -> list[str]:
    """Return the names of the wrong entries in a table of predictions.

    `run` holds the learner's table, `right` the true one.
    """
    table, truth = _tables(exercise, run, right)
    return [entry for entry, value in truth.items() if compare(value, table[entry]) is not None]


def predictions(exercise: Exercise, run: Run, right: Run) -> dict[str, tuple[str, str | None]]:
    """Return a dict from entry to the right value and the wrong one that was predicted, as texts.

    The second is None if the prediction is right. The dict is empty if the exercise is no table of predictions, or the
    learner's table lacks an entry. `run` holds the learner's table, `right` the true one.
    """
    table, truth = _tables(exercise, run, right)
    if not truth.keys() <= table.keys():
        return {}
    wrong = _wrong_entries(exercise, run, right)
    return {
        entry: (prediction(value), prediction(table[entry]) if entry in wrong else None)
        for entry, value in truth.items()
    }


def _tables(exercise: Exercise, run: Run, right: Run) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the learner's table of predictions and the true one.

    `run` observed the answer, `right` the solution. Both dicts are empty if the exercise is no table of predictions.
    """
    key = exercise.aspects[0].name
    table, truth = run.values.get(key), right.values.get(key)
    if exercise.asks_for != "dict" or not isinstance(table, dict) or not isinstance(truth, dict):
        return {}, {}
    return table, truth


def _all_same(exercise: Exercise, runs: Sequence[Run], others: Sequence[Run]) -> bool:
    keys = {key for run in others for key in run.values} | {key for run in runs for key in run.values}
    return all(_same(exercise, key, run, other) for run, other in zip(runs, others) for key in sorted(keys) or [""])


def _same(exercise: Exercise, name: str, run: Run, other: Run) -> bool:
    """Return whether two runs show the same value under `name`.

    Errors are the same if their types and messages are (`same_message`). Counts with a limit (`AtMost`) are the same if
    both are over the limit, or both are within it and have the same result.
    """
    if run.raised or other.raised:
        return run.raised is not None and other.raised is not None and _same_error(run.raised, other.raised)
    if name not in run.values or name not in other.values:
        return name not in run.values and name not in other.values
    return _alike(run.values[name], other.values[name], exercise.rtol)


def _alike(mine: Any, theirs: Any, rtol: float) -> bool:
    """Return whether two values are the same. A dict may hold counts with a limit, so that a card shows their case."""
    if isinstance(mine, AtMost) and isinstance(theirs, AtMost):
        return mine.kept == theirs.kept and (not mine.kept or compare(theirs.of, mine.of, rtol=rtol) is None)
    if _has_limits(mine) and isinstance(theirs, dict) and mine.keys() == theirs.keys():
        return all(_alike(mine[key], theirs[key], rtol) for key in mine)
    return compare(theirs, mine, rtol=rtol) is None


def _has_limits(value: Any) -> bool:
    return isinstance(value, dict) and any(isinstance(each, AtMost) for each in value.values())


def _is_weak(value: Any) -> bool:
    """Return whether a wrong value can have many causes: an exceeded limit, or False."""
    return isinstance(value, (bool, AtMost)) or _has_limits(value)


def _same_error(mine: Raised, theirs: Raised) -> bool:
    """Return whether two errors are the same.

    For an error with a message it does not matter where it was raised: torch 2.15 notices some mistakes earlier.
    """
    known = [{"type", "message"} <= each.parameters.keys() for each in (mine, theirs)]
    if not all(known):
        texts = {re.sub(r"\d+", "#", f"{each.id} {each.parameters}") for each in (mine, theirs)}
        return len(texts) == 1
    messages = [str(each.parameters["message"]) for each in (mine, theirs)]
    return mine.parameters["type"] == theirs.parameters["type"] and same_message(*messages)


def with_wrong_aspect(exercise: Exercise, verdict: Verdict, finding: Finding) -> Verdict:
    """Return `verdict`, in which the aspect of `finding` is wrong. An earlier finding stays."""
    right = {each.name: each.state == AspectState.RIGHT and each.name != finding.aspect for each in verdict.aspects}
    found = verdict.finding or finding
    return _verdict(exercise, VerdictState.NOT_YET, right, found, verdict.mistake, verdict.notes)


def _verdict(
    exercise: Exercise,
    state: VerdictState,
    right: Mapping[str, bool],
    finding: Finding | None,
    mistake: str | None,
    notes: tuple[Note, ...],
    earns: bool = True,
) -> Verdict:
    """Return a verdict. Without `earns`, aspects that are right wait, and give no points."""

    def result(aspect: Aspect) -> AspectResult:
        if not right or not all(right[name] for name in aspect.after) or (right[aspect.name] and not earns):
            return AspectResult(aspect.name, aspect.points, 0, AspectState.WAITING)
        state = AspectState.RIGHT if right[aspect.name] else AspectState.WRONG
        return AspectResult(aspect.name, aspect.points, aspect.points if state is AspectState.RIGHT else 0, state)

    return Verdict(
        exercise=exercise.name,
        lesson=exercise.lesson,
        version=exercise.version,
        state=state,
        aspects=tuple(result(aspect) for aspect in exercise.aspects),
        finding=finding,
        mistake=mistake,
        notes=notes,
    )
