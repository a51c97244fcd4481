"""Mistakes that neither raise nor warn, found in the cell of an answer that is not right yet."""

import ast

import pytest

from autograder.explained.silent_mistakes import SILENT, silent_mistakes
from autograder.lessons.collection import COURSE
from support.check import check
from support.torch_programs import run_cell

ROLES = ("answer", "alternative", "given")
FREEZES_NOTHING = """
def freeze(model, name):
    for layer in model:
        layer(torch.rand(1))
        layer.requires_grad = False
"""


@pytest.mark.parametrize("mistake", SILENT, ids=lambda each: each.name)
def test_a_silent_mistake_is_named(mistake):
    answer = list(run_cell(mistake.program).values())[-1]
    (note,) = silent_mistakes(answer)
    assert note.id == f"silent.{mistake.name}"
    assert str(note.parameters["code"]) in mistake.program


def test_right_answers_make_none():
    cells = [cell for lesson in COURSE.read() for role in ROLES for _, cell in lesson.with_role(role)]
    trees = [ast.parse(cell.source) for cell in cells]
    assert len(trees) > 500
    assert [next(each.find(tree)) for tree in trees for each in SILENT if any(each.find(tree))] == []


def test_the_card_names_it_in_both_languages():
    names = run_cell("import torch\n" + FREEZES_NOTHING)
    verdict = check(names["freeze"], "freeze")
    assert verdict.state == "not yet"
    assert "only sets an attribute of the module" in verdict.text("en")
    assert "лишь задаёт атрибут модуля" in verdict.text("ru")


@pytest.mark.parametrize("answer", [3, {"x": 1}, len, int, "text", None])
def test_what_has_no_source_has_none(answer):
    assert silent_mistakes(answer) == []
