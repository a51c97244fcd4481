"""Exercise: a gradient summed to the shape before broadcasting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.language import Text


@exercise(
    title=Text("Back to the old shape", "Назад к прежней форме"),
    kind="find the bug",
    difficulty=1,
    aspects=[
        aspect(
            "result",
            2,
            en="The gradient has the shape `shape`, and each entry is the sum over all copies of the input's entry.",
            ru="У градиента форма `shape`, и каждый его элемент — сумма по всем копиям элемента входа.",
        ),
    ],
    hints=[
        Text(
            "An input of shape (3,) stands in every row of a (2, 3) result. Which entries of the gradient belong to its "
            "first entry?",
            "Вход формы (3,) стоит в каждой строке результата (2, 3). Какие элементы градиента относятся к его первому "
            "элементу?",
        ),
        Text(
            "Broadcasting does two things: it puts new dimensions in front, and stretches dimensions of size 1. Sum over "
            "both kinds; the second kind stays, with size 1.",
            "При транслировании происходит одно из двух: спереди добавляются измерения или растягиваются измерения размера "
            "1. Суммируйте по тем и другим. Вторые остаются, но их размер снова 1.",
        ),
        Text.same(
            "while gradient.dim() > len(shape):\n    gradient = gradient.sum(0)\nfor d, size in enumerate(shape):\n    ..."
        ),
    ],
)
def unbroadcast(answer: Any, case: Case) -> dict[str, object]:
    return {"result": answer.unbroadcast(case.gradient, case.shape)}


_SHAPES = (
    ((3, 3), (3,)),
    ((2, 3), (2, 1)),
    ((2, 3), ()),
    ((2, 3), (2, 3)),
    ((4, 2, 3), (1, 3)),
    ((2, 1, 3), (2, 1, 1)),
    ((2, 4, 3), (4, 1)),
    ((2, 1), (1,)),
)


@unbroadcast.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for wide, shape in _SHAPES:
        yield Case(gradient=signed(rng, *wide), shape=shape)
