"""Exercise: write a test for rules of an engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from autograder.checking.exercise import Aspect, Case, aspect, exercise
from autograder.checking.inputs import Lineup, Programs
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

_PARTS = {
    "catches_formula": ("a_little", "kept_the_input"),
    "catches_shape": ("not_summed",),
    "catches_ones": ("mean_of_g",),
    "catches_together": ("right_in_each_row",),
}  # other programs that an aspect asks to refuse
_FAR = 0.4  # farther than any step from the given inputs
_KINDS = {"square": 2, "curved": 1, "outside": 8}  # places of right programs that only one kind of fault refuses


def _refusal(name: str, en: str, ru: str) -> Aspect:
    """Return the aspect that the learner's test refuses a wrong rule, which `en` and `ru` describe."""
    return aspect(name, 0.5, en=f"A rule {en} is refused.", ru=f"Правило, {ru}, отвергается.")


@exercise(
    title=Text("A judge of rules", "Судья для правил"),
    kind="write the test",
    difficulty=2,
    aspects=[
        aspect(
            "accepts_right",
            0.5,
            en="Every right rule is accepted, and not every wrong one.",
            ru="Все правильные правила принимаются, а хотя бы одно неправильное отвергается.",
        ),
        aspect("inputs", 0.5, en="The inputs stay as they were.", ru="Входы остаются прежними."),
        _refusal(
            "catches_formula",
            "with a wrong formula: a factor 2, 1 % too much, or the input in place of the result",
            "в котором неверна формула (лишний множитель 2, на 1 % больше нужного, вход вместо результата)",
        ),
        _refusal("catches_one_input", "that is wrong for one input alone", "неверное только для одного входа"),
        _refusal("catches_too_few", "that returns one gradient too few", "которое возвращает на один градиент меньше"),
        _refusal(
            "catches_shape",
            "whose gradient has another shape than its input",
            "у градиента которого не та форма, что у входа",
        ),
        _refusal(
            "catches_ones",
            "that is right only if all entries of `g` are equal",
            "верное, только если все элементы `g` одинаковы",
        ),
        _refusal(
            "catches_together",
            "whose gradients have the right sum, over all entries or over a row, and wrong entries",
            "у градиента которого верна сумма (по всем элементам или по строке), но не сами элементы",
        ),
        _refusal("catches_negative", "that is wrong where an input is negative", "неверное там, где вход отрицателен"),
        _refusal("catches_nan", "with NaN in its gradient", "в градиенте которого есть NaN"),
    ],
    hints=[
        Text(
            "Move one entry of one input by a small `h`. How does `(g * forward(...)).sum()` change, and which number of the "
            "rule must say the same?",
            "Сдвиньте один элемент одного входа на малое `h`. Как изменится `(g * forward(...)).sum()` и какое число правила "
            "должно это предсказать?",
        ),
        Text(
            "Draw `g` in the shape of the result. For each entry compare $(s(x + h) - s(x - h)) / 2h$, where $s$ is that sum, "
            "with the entry of the rule. Before the numbers compare how many gradients there are, and their shapes.",
            "Возьмите случайный `g` той же формы, что и результат. Для каждого элемента сравните $(s(x + h) - s(x - h)) / 2h$, "
            "где $s$ — эта сумма, с элементом градиента. Но сначала сравните число градиентов и их формы.",
        ),
        Text.same(
            "out = forward(*inputs)\ng = torch.rand(out.shape, dtype=torch.float64)\nparts = rule(g, out, *inputs)\n...\n"
            "for number, x in enumerate(inputs):\n    for k in range(x.numel()):\n        step = torch.zeros_like(x)\n"
            "        step.view(-1)[k] = 1e-6\n        there = forward(*inputs[:number], x + step, *inputs[number + 1 :])\n"
            "        ..."
        ),
    ],
)
def judge_rule(answer: Any, case: Case) -> dict[str, object]:
    calls, elsewhere, unchanged, flagged = 0, False, True, False

    def judged(program: Any, right: bool) -> object:
        nonlocal unchanged, flagged
        forward, rule, inputs = program()
        before = [each.clone() for each in inputs]

        def watched(*arguments: Any) -> Any:
            nonlocal calls, elsewhere
            calls += 1
            elsewhere = elsewhere or not all(map(_is_near, arguments, before))
            return forward(*arguments)

        said = _says(answer, watched, rule, inputs, right)
        flagged = flagged or any(each.requires_grad for each in inputs)
        unchanged = unchanged and not flagged and all(map(torch.equal, before, inputs))
        return said

    with using_answer():
        accepts, refuses = case.others.tried(judged)
    right = all(accepts) and any(refuses.values())
    missed = {
        name: [each for each in (name, *_PARTS.get(name, ())) if not refuses[each]]
        for name in refuses
        if name.startswith("catches_")
    }
    return {
        "accepts_right": right,
        "inputs": unchanged,
        **{name: not programs for name, programs in missed.items()},
        "accepted": _name_accepted(accepts),
        "missed": next(filter(None, missed.values()), []) if right and unchanged else [],
        "calls": calls > 0,
        "elsewhere": elsewhere,
        "flagged": flagged,
    }


def _is_near(argument: Any, given: torch.Tensor) -> bool:
    """Return whether an argument of the operation may be a given input after a step."""
    if not isinstance(argument, torch.Tensor) or argument.shape != given.shape:
        return False
    return bool((argument.detach() - given).abs().max() < _FAR)


def _says(answer: Any, forward: Any, rule: Any, inputs: Sequence[torch.Tensor], right: bool) -> object:
    """Return what the learner's test says of a rule.

    A failed assertion is a refusal. Over a wrong rule any error is one: a test that is broken itself fails over the
    right ones.
    """
    try:
        said = answer.judge_rule(forward, rule, *inputs)
        return None if said is None else bool(said)
    except AnswerRaised as raised:
        if not right or isinstance(raised.__cause__, AssertionError):
            return False
        raise


def _name_accepted(accepts: Sequence[object]) -> str:
    """Return a word for which of the right rules the learner's test accepts."""
    if all(accepts):
        return "all"
    if not any(accepts):
        return "nothing returned" if None in accepts else "none"
    refused = {place for place, said in enumerate(accepts) if not said}
    if refused == {_KINDS["square"]}:
        return "all but one with a derivative of 0"
    if refused == {_KINDS["outside"]}:
        return "all but one outside of torch"
    return "only straight ones" if _KINDS["curved"] in refused and accepts[0] else "some"


@judge_rule.cases
def cases(rng: torch.Generator, programs: Programs) -> Iterator[Case]:
    yield Case(function=programs.right[0], others=Lineup(rng, programs))  # the card and `reproduce` use the first
