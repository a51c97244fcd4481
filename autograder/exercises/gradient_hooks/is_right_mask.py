"""Extra exercise: write a test for functions that register a hook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from autograder.checking.exercise import Aspect, Case, aspect, exercise
from autograder.checking.inputs import Lineup, Programs
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

# The learner's test runs on functions `attach(parameter, mask)`. No other exercise has this signature.


def _refusal(name: str, en: str, ru: str) -> Aspect:
    return aspect(name, 0.5, en=f"A function {en} is refused.", ru=f"Функция, {ru}, отвергается.")


def _accepts(answer: Any, function: Callable[..., Any]) -> bool:
    """Return whether the learner's test accepts `function`. A failed assertion means that it does not."""
    try:
        return bool(answer.is_right_mask(function))
    except AnswerRaised as raised:
        if isinstance(raised.__cause__, AssertionError):
            return False
        raise


@exercise(
    title=Text("Write the test", "Напишите тест"),
    kind="write the test",
    difficulty=3,
    minutes=15,
    aspects=[
        aspect(
            "accepts_right",
            1,
            en="Every right function is accepted, however it is written, and not every wrong one.",
            ru="Любая правильная функция принимается, как бы она ни была написана, а неправильные — не все.",
        ),
        _refusal("catches_dropped", "whose hook changes nothing", "хук которой ничего не меняет"),
        _refusal(
            "catches_edited",
            "whose hook edits the gradient that it is given",
            "хук которой меняет полученный градиент на месте",
        ),
        _refusal(
            "catches_masked_sum",
            "that masks the sum in `.grad`, with what was there before",
            "которая обнуляет элементы суммы в `.grad` вместе с тем, что лежало там раньше",
        ),
        _refusal(
            "catches_once", "whose hook works in the first pass only", "хук которой работает только в первом проходе"
        ),
        _refusal("catches_handle", "whose handle does not take the hook off", "дескриптор которой не снимает хук"),
        _refusal("catches_value", "that changes the parameter itself", "которая меняет сам параметр"),
    ],
    hints=[
        Text(
            "Which parts of the contract does one pass with an empty `.grad` not see at all?",
            "Каких частей условия вообще не видно за один проход с пустым полем `.grad`?",
        ),
        Text(
            "Two passes, something in `.grad` before, then `remove()` and a third pass. And keep the tensor that you "
            "give to `backward`.",
            "Два прохода, в `.grad` что-то уже лежит, затем `remove()` и третий проход. И сохраните тензор, который "
            "передаёте в `backward`.",
        ),
        Text(
            "p = torch.tensor([1.0, 2.0], requires_grad=True)\np.grad = ...\nhandle = attach(p, torch.tensor([True, False]))\n"
            "given = ...\n(p + q).backward(given)\n...  # p.grad, q.grad, given, p itself",
            "p = torch.tensor([1.0, 2.0], requires_grad=True)\np.grad = ...\nhandle = attach(p, torch.tensor([True, False]))\n"
            "given = ...\n(p + q).backward(given)\n...",
        ),
    ],
)
def is_right_mask(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        accepts, refuses = case.others.tried(lambda function, _: _accepts(answer, function))
    return {
        "accepts_right": all(accepts) and any(refuses.values()),
        **refuses,
        "accepted": accepts,
        "refused": list(refuses.values()),
    }


@is_right_mask.cases
def cases(rng: torch.Generator, programs: Programs) -> Iterator[Case]:
    yield Case(function=programs.right[0], others=Lineup(rng, programs))
