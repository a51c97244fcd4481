"""Exercise: recording that stops, and rules that notice edits."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import torch

from autograder.checking.containment.caught import or_error
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import unmarked
from autograder.language import Text

from .engine_values import OPERATIONS, Engine, Recorded, gradients

_RESULT = "the result"
_FIRST, _SECOND = "input 1", "input 2"
_READ = {"*": (_FIRST, _SECOND), "@": (_FIRST, _SECOND), "tanh": (_RESULT,)}  # what the rule of an operation reads


@exercise(
    title=Text("Stop recording", "Остановить запись"),
    kind="complete",
    difficulty=2,
    aspects=[
        aspect(
            "recorded",
            0,
            en="While recording is on, a result has its inputs and a rule, and gradients are right.",
            ru="Пока запись включена, у результата есть входы и правило, а градиенты верны.",
        ),
        aspect(
            "stopped",
            1,
            en="Inside `no_recording()` results are leaves.",
            ru="Внутри `no_recording()` результаты становятся листьями.",
            after=("recorded",),
        ),
        aspect(
            "noticed",
            1,
            en="After an edit of a value that it reads, a rule raises a RuntimeError.",
            ru="После изменения значения, которое правило читает, правило вызывает RuntimeError.",
            after=("recorded",),
        ),
        aspect(
            "unread",
            1,
            en="No other edit stops a rule.",
            ru="Другие изменения правилу не мешают.",
            after=("recorded", "noticed"),
        ),
    ],
    hints=[
        Text(
            "A rule has to compare two versions of a value. At which moments are they read, and of which values?",
            "Правило сравнивает две версии одного значения. В какие моменты их нужно прочесть и у каких значений?",
        ),
        Text(
            "Take the versions while the operation runs, of the values that its rule will read. The result is such a value for "
            "`tanh`, so make it first and give it the rule afterwards.",
            "Запомните версии, пока выполняется операция, — у тех значений, которые прочтёт её правило. Для `tanh` это сам "
            "результат, поэтому сначала создайте его, а правило присвойте потом.",
        ),
        Text.same(
            "if not Value.recording:\n"
            "    return ...\n"
            "made = Value(data, inputs, None, op)\n"
            'read = {"*": inputs, ...}.get(op, ())\n'
            "versions = ...\n"
            "\n"
            "def rule(gradient):\n"
            "    if ... != versions:\n"
            '        raise RuntimeError("edited")\n'
            "    ...\n"
            "\n"
            "made.rule = rule\n"
            "return made"
        ),
    ],
)
def stop_recording(answer: Any, case: Case) -> dict[str, object]:
    function = unmarked(answer.stop_recording)
    with patch.dict(getattr(function, "__globals__", {}), record=function):  # as in the engine afterwards
        return _observed(answer, case)


def _observed(answer: Any, case: Case) -> dict[str, object]:
    return {
        "recorded": or_error(_recorded, answer, case),
        "stopped": or_error(_stopped, answer, case),
        "noticed": or_error(_noticed, answer, case),
        "unread": or_error(_unread, answer, case),
    }


def _recorded(answer: Any, case: Case) -> dict[str, object]:
    engine = Engine(answer, case)
    made = engine.result()
    held = list(made.inputs)
    root = engine.run("sum", engine.run("*", made, made))
    found: dict[str, object] = {
        "class of the inputs": type(made) is engine.Value,
        "holds its inputs": len(held) == len(engine.inputs) and all(map(operator.is_, held, engine.inputs)),
        "gradients": gradients(root, engine.inputs),
    }
    with engine.off():
        found["in a walk inside no_recording()"] = gradients(root, engine.inputs)
    return found


def _stopped(answer: Any, case: Case) -> dict[str, object]:
    engine = Engine(answer, case)
    with engine.off():
        made = engine.result()
        product = engine.run("*", made, made)
    later = engine.run("sum", engine.run("*", made, product))
    return {
        "result": _how_made(made),
        "result of a result": _how_made(product),
        "gradients after the block": gradients(later, [made, product, *engine.inputs]),
    }


def _noticed(answer: Any, case: Case) -> dict[str, object]:
    """Return what the rule does after each edit of a value that it reads."""
    found: dict[str, object] = {}
    for place in _READ.get(case.op, ()):
        found[f"{place} edited"] = _after_edit(answer, case, place)
        found[f"{place} edited by 0"] = _after_edit(answer, case, place, by=0.0)
        found[f"{place} edited before and after"] = _after_edit(answer, case, place, before=True)
        found[f"{place} edited inside no_recording()"] = _after_edit(answer, case, place, off=True)
    return found


def _unread(answer: Any, case: Case) -> dict[str, object]:
    """Return what the rule does after each edit of a value that it does not read, and of one from before."""
    places = [*(_FIRST, _SECOND)[: len(Engine(answer, case).inputs)], _RESULT]
    others = {
        f"{place} edited": _after_edit(answer, case, place) for place in places if place not in _READ.get(case.op, ())
    }
    return {**others, "inputs edited before": _after_edit(answer, case, None, before=True)}


def _after_edit(
    answer: Any, case: Case, place: str | None, by: float = 1.0, before: bool = False, off: bool = False
) -> object:
    """Return the gradients of the inputs after an edit, or the error that the rule raises."""
    engine = Engine(answer, case)
    if before:
        for each, times in zip(engine.inputs, (3, 1)):  # versions that differ from value to value
            for _ in range(times):
                each.add_(torch.full_like(each.data, 0.25))
    made = engine.result()
    values = dict(zip((_FIRST, _SECOND), engine.inputs)) | {_RESULT: made}
    gradient = torch.full_like(made.data, 0.5)
    if place is not None and off:
        with engine.off():
            values[place].add_(torch.full_like(values[place].data, by))
    elif place is not None:
        values[place].add_(torch.full_like(values[place].data, by))
    return or_error(lambda: list(made.rule(gradient)))


def _how_made(value: Any) -> dict[str, object]:
    return {"number of inputs": len(value.inputs), "rule is None": value.rule is None}


@stop_recording.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for op, shapes in (
        ("*", [(2, 3), (2, 3)]),
        ("tanh", [(2, 3)]),
        ("@", [(2, 3), (3, 4)]),
        ("+", [(2, 3), (3,)]),
        ("sum", [(2, 3)]),
        ("*", [(3,), (2, 3)]),
    ):
        tensors = [signed(rng, *shape) / 2 for shape in shapes]
        inputs = dict(zip("ab", map(Recorded, tensors)))
        yield Case(op=op, data=OPERATIONS[op](*tensors), **inputs)
