"""Extra exercise: write a test for custom Functions."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Lineup
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.language import Text

from .given_functions import RIGHT, WRONG


def _refusal(name: str, points: float, en: str, ru: str) -> Any:
    """Return the aspect that the learner's test refuses a wrong Function. `en` and `ru` describe that Function."""
    return aspect(name, points, en=f"{en} is refused.", ru=f"{ru} отвергается.")


def _run_answer(answer: Any, function: Any, right: bool) -> object:
    """Return the result of the learner's test on `function`, or False if the test refuses by an exception.

    A failed assertion or gradcheck means that the test refuses `function`. If `right` is False, any other RuntimeError
    means the same. If `right` is True, a RuntimeError is an error in the test and is raised for the learner to read.
    """
    try:
        return answer.is_right_function(function)
    except AnswerRaised as raised:
        if isinstance(raised.__cause__, (AssertionError, GradcheckError) if right else (AssertionError, RuntimeError)):
            return False
        raise


@exercise(
    title=Text("Write the test", "Напишите тест"),
    kind="write the test",
    difficulty=3,
    minutes=25,
    aspects=[
        aspect(
            "accepts_right",
            1,
            en="Every right Function is accepted, however it is written.",
            ru="Любая правильная функция принимается, как бы она ни была написана.",
        ),
        _refusal("catches_wrong_value", 0.5, "A Function with another value", "Функция с другим значением"),
        _refusal(
            "catches_local_derivative",
            0.5,
            "A Function that leaves `grad_output` out",
            "Функция, в которой не учтён `grad_output`,",
        ),
        _refusal(
            "catches_swapped",
            0.5,
            "A Function with its two gradients swapped",
            "Функция с переставленными градиентами",
        ),
        _refusal(
            "catches_missing_gradient",
            0.5,
            "A Function that returns no gradient for the second input",
            "Функция, которая не возвращает градиента для второго входа,",
        ),
        _refusal(
            "catches_negative",
            0.5,
            "A Function that is right for positive `x` only",
            "Функция, верная только при положительных `x`,",
        ),
        _refusal(
            "catches_second_derivative",
            0.5,
            "A Function whose second derivatives are wrong",
            "Функция с неверными вторыми производными",
        ),
        _refusal(
            "catches_mixed_derivative",
            0.5,
            "A Function that is wrong only in the derivative by `x` and then `k`",
            "Функция, неверная только в производной сначала по `x`, а потом по `k`,",
        ),
        _refusal(
            "catches_edited_grad_output",
            0.5,
            "A Function that changes `grad_output`",
            "Функция, которая меняет `grad_output`,",
        ),
    ],
    hints=[
        Text(
            "`gradcheck` compares backward with forward. What does it not compare with anything at all?",
            "Функция `gradcheck` сравнивает обратный проход с прямым. А чего она вообще ни с чем не сравнивает?",
        ),
        Text(
            "Value against the formula; `gradcheck` with float64, both signs of `x`, `x` and `k` different; "
            "`gradgradcheck`; and a `grad_output` of your own, compared with its copy after a plain backward pass.",
            "Сравните значение с формулой; вызовите `gradcheck` в float64 с обоими знаками `x` и разными `x` и `k`; "
            "`gradgradcheck`; и собственный `grad_output`, который после обычного обратного прохода сравнивают с его "
            "копией.",
        ),
        Text(
            "v = torch.rand(..., dtype=torch.float64)\nbefore = v.clone()\n"
            "torch.autograd.grad(function.apply(x, k), (x, k), v, allow_unused=True)\n"
            "return torch.equal(v, before) and gradcheck(..., raise_exception=False) and ...",
            "v = torch.rand(..., dtype=torch.float64)\nbefore = v.clone()\n"
            "torch.autograd.grad(function.apply(x, k), (x, k), v, allow_unused=True)\n"
            "return torch.equal(v, before) and gradcheck(..., raise_exception=False) and ...",
        ),
    ],
)
def is_right_function(answer: Any, case: Case) -> dict[str, object]:
    with using_answer():
        returned, refuses = case.others.tried(lambda function, right: _run_answer(answer, function, right))
    right, refused = all(returned), list(refuses.values())
    accepted = "None" if None in returned else sum(map(bool, returned)) if right or not any(returned) else "some"
    return {"accepts_right": right, **refuses, "accepted": accepted, "refused": refused if right else None}


@is_right_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(function=RIGHT[0], others=Lineup(rng, RIGHT, WRONG))  # the card and `reproduce` use the first


_INPUTS = {"both signs": [0.5, -2.0], "positive": [0.5, 2.0], "zero": [0.0, 0.0]}  # values of x


def _inputs(kind: str = "both signs", by_k: bool = True) -> tuple[Tensor, Tensor]:
    x, k = (torch.tensor(numbers, dtype=torch.float64) for numbers in (_INPUTS[kind], [0.25, -0.75]))
    return x.requires_grad_(), k.requires_grad_(by_k)


@cache
def _run_checks(
    function: Any,
    *,
    value: bool = True,
    second: bool = True,
    edit: bool = True,
    kind: str = "both signs",
    by_k: bool = True,
) -> bool:
    """Run a right test on `function`, and return whether `function` passes.

    If `value`, `second` or `edit` is False, a part of the test is left out: value, second derivative, unchanged
    grad_output. `kind` names the values of x. If `by_k` is False, k does not require grad.
    """
    x, k = _inputs(kind, by_k)
    if value and not torch.allclose(function.apply(x, k), x * torch.exp(-k)):
        return False
    if not gradcheck(function.apply, (x, k), raise_exception=False):
        return False
    if second and not gradgradcheck(function.apply, (x, k), raise_exception=False):
        return False
    v = torch.tensor([0.5, 2.0], dtype=torch.float64)
    if edit:
        torch.autograd.grad(function.apply(x, k), (x, k) if by_k else x, v)
    return v.tolist() == [0.5, 2.0]


@is_right_function.mistake(
    en="The test accepts everything: nothing is compared, or the comparison is not returned.",
    ru="Тест принимает всё: ничего не сравнивается или результат сравнения не возвращается.",
)
def accepts_everything(function: Any) -> bool:
    return True


@is_right_function.mistake(
    en="The test refuses every right Function. `gradcheck` wants float64 and inputs that require grad.",
    ru="Тест отвергает все правильные функции. Для `gradcheck` нужны float64 и входы, которые требуют градиента.",
)
def refuses_everything(function: Any) -> bool:
    return False


@is_right_function.mistake(
    en="The test accepts some right Functions and refuses others. They save different tensors and differ in the last "
    "digits: `torch.allclose` accepts that, `torch.equal` and `==` do not.",
    ru="Одни правильные функции тест принимает, а другие отвергает. Они хранят разные тензоры, и последние цифры у них "
    "расходятся: `torch.allclose` это допускает, а `torch.equal` и `==` — нет.",
)
def compares_exactly(function: Any) -> bool:
    x, k = torch.linspace(-3, 3, 50), torch.linspace(-1, 2, 50)
    return torch.equal(function.apply(x, k), x * torch.exp(-k)) and _run_checks(function)


@is_right_function.mistake(
    en="The test returns None for a right Function: a `return True` is missing.",
    ru="Для правильной функции тест возвращает None: забыт `return True`.",
)
def forgets_to_return(function: Any) -> None:
    _run_checks(function)


@is_right_function.mistake(
    en="An instance of the class was made. `apply` is called on the class itself: `function.apply(x, k)`.",
    ru="Создан экземпляр класса. Метод `apply` вызывают у самого класса: `function.apply(x, k)`.",
)
def calls_an_instance(function: Any) -> bool:
    x, k = _inputs()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.allclose(function()(x, k), x * torch.exp(-k))


@is_right_function.mistake(
    en="The test relies on `gradcheck` alone. It compares `backward` with `forward`, so a wrong value with its right derivative "
    "would pass; nor does it look at second derivatives or at `grad_output` afterwards.",
    ru="Проверка сводится к `gradcheck`. Она сравнивает `backward` с `forward`, поэтому неверное значение с верной для него "
    "производной прошло бы; вторую производную и то, изменился ли `grad_output`, она тоже не проверяет.",
)
def gradcheck_alone(function: Any) -> bool:
    return _run_checks(function, value=False, second=False, edit=False)


@is_right_function.mistake(
    en="A wrong value and a changed `grad_output` pass. `gradcheck` and `gradgradcheck` look at neither; a comparison of "
    "your own needs numbers that show the difference, such as a `k` that is not 0.",
    ru="Тест пропускает и неверное значение, и изменённый `grad_output`. Функции `gradcheck` и `gradgradcheck` этого не "
    "проверяют, а для собственного сравнения нужны числа, на которых разница видна: например, `k`, не равный 0.",
)
def both_gradchecks_alone(function: Any) -> bool:
    return _run_checks(function, value=False, edit=False)


@is_right_function.mistake(
    en="Only the value and the first derivatives are checked: neither second derivatives nor what became of "
    "`grad_output`.",
    ru="Проверяются только значение и первые производные: вторых производных и того, не изменился ли `grad_output`, "
    "тест не касается.",
)
def value_and_first_alone(function: Any) -> bool:
    return _run_checks(function, second=False, edit=False)


@is_right_function.mistake(*is_right_function.mistakes["gradcheck_alone"].says)
def gradcheck_alone_on_positive(function: Any) -> bool:
    return _run_checks(function, value=False, second=False, edit=False, kind="positive")


@is_right_function.mistake(*is_right_function.mistakes["both_gradchecks_alone"].says)
def both_gradchecks_alone_on_positive(function: Any) -> bool:
    return _run_checks(function, value=False, edit=False, kind="positive")


@is_right_function.mistake(
    en="The value is not compared with the formula. Another function with its own right derivative passes.",
    ru="Значение не сравнивается с формулой. Такой тест пройдёт и другая функция с верной для неё производной.",
)
def never_compares_the_value(function: Any) -> bool:
    return _run_checks(function, value=False)


@is_right_function.mistake(
    en="The second derivative is not checked, by `gradgradcheck` or by an expression composed with the Function.",
    ru="Вторая производная не проверяется: ни с помощью `gradgradcheck`, ни на выражении, в которое эта функция "
    "входит.",
)
def only_first(function: Any) -> bool:
    return _run_checks(function, second=False)


@is_right_function.mistake(
    en="A changed `grad_output` passes, and `gradcheck` does not see it. Compare it after a plain backward pass: in the "
    "dtype of the result, or `backward` gets a copy, and with a `k` and a `grad_output` that are not 0.",
    ru="Тест пропускает изменённый `grad_output`, и `gradcheck` этого не видит. Сравните его после обычного обратного "
    "прохода: dtype нужен как у результата, иначе `backward` получит копию, а `k` и `grad_output` не должны быть "
    "нулевыми.",
)
def never_looks_at_grad_output(function: Any) -> bool:
    return _run_checks(function, edit=False)


@is_right_function.mistake(
    en="All `x` of the test are positive, so a wrong sign goes unseen.",
    ru="Все `x` в тесте положительны, поэтому неверный знак остаётся незамеченным.",
)
def only_positive(function: Any) -> bool:
    return _run_checks(function, kind="positive")


@is_right_function.mistake(
    en="The test sums the result. `grad_output` is then all ones, and a Function that leaves it out passes.",
    ru="Результат в тесте суммируется. Тогда `grad_output` состоит из единиц, и функция, в которой он не учтён, "
    "проходит тест.",
)
def only_sums(function: Any) -> bool:
    x, k = _inputs()
    y = function.apply(x, k)
    found = torch.autograd.grad(y.sum(), (x, k), allow_unused=True)
    wanted = torch.autograd.grad((x * torch.exp(-k)).sum(), (x, k))
    return torch.allclose(y, x * torch.exp(-k)) and all(
        a is not None and torch.allclose(a, b) for a, b in zip(found, wanted)
    )


@is_right_function.mistake(
    en="Only the value is compared with the formula. No derivative is looked at.",
    ru="С формулой сравнивается только значение. Производные не проверяются.",
)
def only_the_value(function: Any) -> bool:
    x, k = _inputs()
    return torch.allclose(function.apply(x, k), x * torch.exp(-k))


@is_right_function.mistake(
    en="Of the second derivatives only the one by `k` and `k` is compared. The one by `x` and then `k` can be wrong "
    "alone.",
    ru="Из вторых производных сравнивается только производная по `k` и `k`. Неверной может быть и одна лишь "
    "производная сначала по `x`, а потом по `k`.",
)
def only_twice_by_k(function: Any) -> bool:
    if not _run_checks(function, second=False):
        return False
    x, k = _inputs()
    (first,) = torch.autograd.grad(function.apply(x, k).sum(), k, create_graph=True)
    try:
        (second,) = torch.autograd.grad(first.sum(), k)
    except RuntimeError:
        return False
    return torch.allclose(second, x * torch.exp(-k))


@is_right_function.mistake(
    en="What `gradcheck` returns is not used. With `raise_exception=False` it returns False and raises no error.",
    ru="Результат вызова `gradcheck` не использован. С `raise_exception=False` она не вызывает ошибку, а возвращает "
    "False.",
)
def drops_the_result(function: Any) -> bool:
    x, k = _inputs()
    v = torch.tensor([0.5, 2.0], dtype=torch.float64)
    y = function.apply(x, k)
    torch.autograd.grad(y, (x, k), v)
    return torch.allclose(y, x * torch.exp(-k)) and v.tolist() == [0.5, 2.0]


@is_right_function.mistake(
    en="No derivative by `k` is looked at. `gradcheck` has to get a `k` that requires grad.",
    ru="Производные по `k` не проверяются. В `gradcheck` нужно передать `k`, который требует градиента.",
)
def by_x_alone(function: Any) -> bool:
    return _run_checks(function, by_k=False)


@is_right_function.mistake(
    en="All `x` of the test are 0. Then every value is 0, and so is the derivative by `k`.",
    ru="Все `x` в тесте равны 0. Тогда нулю равно любое значение, а с ним и производная по `k`.",
)
def only_zeros(function: Any) -> bool:
    return _run_checks(function, kind="zero")


@is_right_function.mistake(*is_right_function.mistakes["only_zeros"].says)
def zeros_without_edit(function: Any) -> bool:
    return _run_checks(function, kind="zero", edit=False)
