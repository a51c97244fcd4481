"""Work grows no faster than its input: counted in lines of Python, at sizes four times as large."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
import torch

from autograder.checking.verdict import Verdict, VerdictState
from autograder.grading.collecting.archive import unpack
from autograder.grading.conspicuous.code_reader import KnownNames, read_code
from autograder.grading.conspicuous.protected_names import is_protected
from autograder.grading.files.notebook_file import parse_notebook
from autograder.grading.report.similar_answers import similar_answers
from autograder.history import Check, History, begun_tables, folder, standings, verdicts
from autograder.learner import commands
from autograder.learner.explanations import explain
from autograder.learner.reviews.schedule import DAY, make_schedule
from autograder.pictures.draw import picture
from autograder.pictures.steps import steps
from support.exercises import write_exercises
from support.growth import growth

Work = Callable[[int], Callable[[], object]]
MOST = 1.2  # the exponent; 1 is linear


def ones() -> torch.Tensor:
    return torch.ones(2, requires_grad=True)


# -- pictures ---------------------------------------------------------------------------------------------------------


def random_graph(size: int) -> torch.Tensor:
    rng, values = random.Random(0), [ones()]
    for _ in range(size):
        one, other = values[-1], rng.choice(values[-50:])
        values.append(rng.choice([one * other, one + other, one.tanh() * other, one.sin() + other]))
    return torch.stack(values[-3:]).sum()


def deep_graph(size: int) -> torch.Tensor:
    x = ones()
    for _ in range(size):
        x = x.sin()
    return x.sum()


def wide_graph(size: int) -> torch.Tensor:
    x = ones()
    return torch.stack([(x * number).sin() for number in range(size)]).sum()


def regular_graph(size: int) -> torch.Tensor:
    layers = [layer for _ in range(size // 8 + 1) for layer in (torch.nn.Linear(2, 2), torch.nn.Tanh())]
    return torch.nn.Sequential(*layers)(torch.ones(1, 2)).sum()


def graph_of_leaves(size: int) -> torch.Tensor:
    return torch.stack([ones() for _ in range(size)]).sum()


GRAPHS = [random_graph, deep_graph, wide_graph, regular_graph, graph_of_leaves]


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_picture_of_a_graph_of_any_shape_and_its_text(graph: Callable[[int], torch.Tensor]) -> None:
    def draw(size: int) -> Callable[[], object]:
        drawn = graph(size)
        return lambda: (made := picture((drawn,), {"y": drawn})) and (made.dot, repr(made))

    assert growth(draw, (50, 200, 800)) < MOST


@pytest.mark.parametrize("graph", GRAPHS)
def test_steps_of_a_graph_of_any_shape(graph: Callable[[int], torch.Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "autograder.pictures.steps.svg", lambda source: '<svg width="9pt" height="9pt" viewBox="0 0 9 9"></svg>'
    )

    def step(size: int) -> Callable[[], object]:
        drawn = graph(size)
        return lambda: steps(drawn)._repr_mimebundle_()

    assert growth(step, (20, 80, 320)) < MOST


# -- a learner's history ----------------------------------------------------------------------------------------------


def write_history(size: int, lesson: str = "lesson") -> None:
    folder().mkdir(parents=True, exist_ok=True)
    with (folder() / "progress.jsonl").open("w", encoding="utf-8") as file:
        for number in range(size):
            verdict = Verdict(f"exercise_{number % 100}", lesson, 1, VerdictState.PASSED, ())
            file.write(json.dumps({"time": number, "verdict": verdict.to_json()}) + "\n")


def test_reading_a_history() -> None:
    def read(size: int) -> Callable[[], object]:
        write_history(size)
        return lambda: (found := [*verdicts()]) and (standings(found), begun_tables(found))

    assert growth(read, (25, 100, 400)) < MOST


def test_a_check_decodes_the_history_of_its_own_exercise_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []
    monkeypatch.setattr(
        "autograder.history.json.loads", lambda text: decoded.append(text) or json.JSONDecoder().decode(text)
    )
    write_history(400)
    assert len([*verdicts("exercise_7")]) == 4
    assert len(decoded) <= 4 * 11  # and those of exercise_70 to 79


def test_the_table_of_progress() -> None:
    def read(size: int) -> Callable[[], object]:
        write_history(size)
        return lambda: repr(commands.progress())

    assert growth(read, (100, 400, 1_600)) < MOST


def test_the_greeting_of_a_learner_who_comes_back() -> None:
    def greet(size: int) -> Callable[[], object]:
        write_history(size, "first_gradient")
        return lambda: repr(commands.start("first_gradient", language="en"))

    assert growth(greet, (400, 1_600, 6_400)) < MOST


LONG_MESSAGES: dict[str, Callable[[int], str]] = {
    "a line": lambda size: "x" * size,
    "words": lambda size: "size mismatch, got " * (size // 20),
    "colons": lambda size: "a: " * (size // 3),
    "a traceback": lambda size: '  File "a.py", line 1, in f\n    f()\n' * (size // 36),
}


@pytest.mark.parametrize("name", LONG_MESSAGES)
def test_explaining_a_long_message(name: str) -> None:
    def ask(size: int) -> Callable[[], object]:
        text = LONG_MESSAGES[name](size)
        return lambda: repr(explain(text))

    assert growth(ask, (1_000, 4_000, 16_000)) < MOST


MODULE = """\
from autograder.checking.exercise import aspect, exercise
from autograder.language import Text


@exercise(
    title=Text.same("A number"),
    kind="complete",
    core=True,
    aspects=[aspect("value", 1, en="It is one.", ru="Это единица.")],
    hints=[Text.same("One?"), Text.same("Two?"), Text.same("return 1")],
)
def number(answer, case):
    return {"value": answer()}
"""


def test_the_schedule_of_a_history_over_many_lessons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def schedule(size: int) -> Callable[[], object]:
        (place := tmp_path / str(size)).mkdir()
        monkeypatch.chdir(place)
        checks = []
        for number in range(size):
            name, lesson = f"number_{number}", f"lesson_{number}"
            write_exercises(place, lesson, {name: MODULE.replace("def number", f"def {name}")})
            checks.append(Check(0, Verdict(name, lesson, 1, VerdictState.PASSED, ())))
        return lambda: make_schedule(History(tuple(checks)), 10 * DAY).due[size - 1]

    assert growth(schedule, (5, 20, 80)) < MOST


# -- a class ----------------------------------------------------------------------------------------------------------


def answer(rng: random.Random) -> str:
    """Return an answer of 20 lines with names that nobody else has."""
    names = [f"name_{rng.randrange(10**6)}" for _ in range(8)]
    return "\n".join(f"{rng.choice(names)} = f({rng.choice(names)}, {rng.choice(names)}) + 1" for _ in range(20))


def different(size: int) -> dict[str, str]:
    rng = random.Random(0)
    return {f"student{number:04}": answer(rng) for number in range(size)}


def families(size: int) -> dict[str, str]:
    rng = random.Random(0)
    texts = [answer(rng) for _ in range(size // 2)]
    return {f"student{number:04}": texts[number // 2] for number in range(size)}


def equal(size: int) -> dict[str, str]:
    return dict.fromkeys((f"student{number:04}" for number in range(size)), answer(random.Random(0)))


@pytest.mark.parametrize("a_class", [different, families, equal])
def test_similar_answers(a_class: Callable[[int], dict[str, str]]) -> None:
    def compare(size: int) -> Callable[[], object]:
        answers = {"exercise": a_class(size)}
        return lambda: similar_answers(answers, {})

    assert growth(compare, (10, 40, 160)) < MOST


# -- one submission ---------------------------------------------------------------------------------------------------

SOURCES: dict[str, Callable[[int], list[str]]] = {
    "cells": lambda size: [f"a{number} = {number}" for number in range(size)],
    "lines": lambda size: ["\n".join(f"a{number} = torch.ones({number})" for number in range(size))],
    "names that need each other": lambda size: (
        [f"a{number} = a{number + 1}" for number in range(size)] + ["answer = a0"]
    ),
    "functions": lambda size: [f"def f{number}(x):\n    return f{number + 1}(x).numpy()" for number in range(size)],
    "attributes": lambda size: [f"torch.a{number} = torch.b{number}.c" for number in range(size)],
    "functions in functions": lambda size: [
        "".join(f"{' ' * depth}def f{depth}(x):\n{' ' * depth} y{depth} = x\n" for depth in range(size // 12))
    ],
    "arguments": lambda size: [f"answer({', '.join(f'a{number}' for number in range(size))})"],
    "a text": lambda size: [f"text = {'__globals__ ' * size!r}"],
    "empty lines": lambda size: ["\n" * size + "answer = 1"],
    "a dict": lambda size: [f"answer = {{{', '.join(f'{number}: numpy' for number in range(size))}}}"],
}


@pytest.mark.parametrize("name", SOURCES)
def test_reading_a_source(name: str) -> None:
    def look(size: int) -> Callable[[], object]:
        cells = SOURCES[name](size)
        codes = [compile(cell, "<cell>", "exec") for cell in cells]

        def read() -> None:
            known = KnownNames(lambda top: False, is_protected)
            for code in codes:
                read_code(code, known)

        return read

    assert growth(look, (12, 50, 200)) < MOST


def test_reading_a_notebook() -> None:
    def read(size: int) -> Callable[[], object]:
        cells = [nbformat.v4.new_code_cell(f"x = {number}") for number in range(size)]
        data = nbformat.writes(nbformat.v4.new_notebook(cells=cells)).encode()
        return lambda: parse_notebook(data, "notebook")

    assert growth(read, (12, 50, 200)) < MOST


def test_unpacking_an_archive(tmp_path: Path) -> None:
    def open_archive(size: int) -> Callable[[], object]:
        archive = tmp_path / f"{size}.zip"
        with zipfile.ZipFile(archive, "w") as file:
            for number in range(size):
                file.writestr(f"student {number}/notebook.ipynb", "{}")
        (place := tmp_path / str(size)).mkdir()
        return lambda: unpack(archive, place)

    assert growth(open_archive, (12, 50, 200)) < MOST
