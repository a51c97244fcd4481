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

from .common import Function


# The learner's test runs on Functions of (x, k) that compute x * exp(-k). No other exercise asks for one.
class _RightByInputs(Function):
    """A right Function that saves its inputs and computes both gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        ctx.save_for_backward(x, k)
        return x * torch.exp(-k)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        decay = torch.exp(-k)
        return grad_output * decay, -grad_output * x * decay


class _RightByOutput(_RightByInputs):
    """A right Function that saves its result.

    Computes only the gradients that are needed.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        y = x * torch.exp(-k)
        ctx.save_for_backward(k, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        k, y = ctx.saved_tensors
        needs_x, needs_k = ctx.needs_input_grad
        return grad_output * torch.exp(-k) if needs_x else None, -grad_output * y if needs_k else None


class _RightBySetup(Function):
    """A right Function with `setup_context` that divides instead of multiplying."""

    @staticmethod
    def forward(x: Tensor, k: Tensor) -> Tensor:
        return x / torch.exp(k)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    backward = staticmethod(_RightByInputs.backward)


class _WrongValue(_RightByInputs):
    """A wrong Function that `gradcheck` accepts.

    The derivative is right, but belongs to another function, x * exp(k).
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        ctx.save_for_backward(x, k)
        return x * torch.exp(k)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        growth = torch.exp(k)
        return grad_output * growth, grad_output * x * growth


class _WrongLocal(_RightByInputs):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        return torch.exp(-k), -x * torch.exp(-k)


class _WrongSwapped(_RightByInputs):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        for_x, for_k = _RightByInputs.backward(ctx, grad_output)
        return for_k, for_x


class _WrongSecondInput(_RightByInputs):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return _RightByInputs.backward(ctx, grad_output)[0], None


class _WrongForNegative(_RightByInputs):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        decay = torch.exp(-k)
        return grad_output * decay, -grad_output * x.abs() * decay


class _WrongIntermediate(_RightByInputs):
    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        decay = torch.exp(-k)
        ctx.save_for_backward(x, decay)
        return x * decay

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, decay = ctx.saved_tensors
        return grad_output * decay, -grad_output * x * decay


class _WrongMixed(_RightByInputs):
    """A Function that is wrong only in one mixed second derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, k: Tensor) -> Tensor:
        decay = torch.exp(-k)
        ctx.save_for_backward(x, k, decay)
        return x * decay

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k, decay = ctx.saved_tensors
        return grad_output * decay, -grad_output * x * torch.exp(-k)


class _WrongEdits(_RightByInputs):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, k = ctx.saved_tensors
        for_k = -grad_output * x * torch.exp(-k)
        if torch.is_grad_enabled():  # as in real code: autograd would record the edit
            return grad_output * torch.exp(-k), for_k
        return grad_output.mul_(torch.exp(-k)), for_k


def _without_name(function: Any) -> Any:
    """Return a copy of a custom Function under a neutral name.

    torch's errors and warnings contain the name of the class, which would give the answer away.
    """
    body = {key: value for key, value in vars(function).items() if key not in ("__dict__", "__weakref__", "__doc__")}
    return type(function)("GivenFunction", function.__bases__, {**body, "__module__": "__main__"})


RIGHT = tuple(map(_without_name, (_RightByInputs, _RightByOutput, _RightBySetup)))


WRONG = {
    "catches_wrong_value": _without_name(_WrongValue),
    "catches_local_derivative": _without_name(_WrongLocal),
    "catches_swapped": _without_name(_WrongSwapped),
    "catches_missing_gradient": _without_name(_WrongSecondInput),
    "catches_negative": _without_name(_WrongForNegative),
    "catches_second_derivative": _without_name(_WrongIntermediate),
    "catches_mixed_derivative": _without_name(_WrongMixed),
    "catches_edited_grad_output": _without_name(_WrongEdits),
}


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


def _inputs(positive: bool = False) -> tuple[Tensor, Tensor]:
    x = torch.tensor([0.5, 2.0] if positive else [0.5, -2.0], dtype=torch.float64)
    return x.requires_grad_(), torch.tensor([0.25, -0.75], dtype=torch.float64).requires_grad_()


@cache
def _run_checks(
    function: Any, *, value: bool = True, second: bool = True, edit: bool = True, positive: bool = False
) -> bool:
    """Run a right test on `function`, and return whether `function` passes.

    If `value`, `second` or `edit` is False, a part of the test is left out: value, second derivative, unchanged
    grad_output. If `positive` is True, the inputs are positive.
    """
    x, k = _inputs(positive)
    if value and not torch.allclose(function.apply(x, k), x * torch.exp(-k)):
        return False
    if not gradcheck(function.apply, (x, k), raise_exception=False):
        return False
    if second and not gradgradcheck(function.apply, (x, k), raise_exception=False):
        return False
    v = torch.tensor([0.5, 2.0], dtype=torch.float64)
    torch.autograd.grad(function.apply(x, k), (x, k), v, allow_unused=True)
    return not edit or v.tolist() == [0.5, 2.0]


@is_right_function.mistake(
    en="The test accepts everything: nothing is compared, or the comparison is not returned.",
    ru="Тест принимает всё: ничего не сравнивается или результат сравнения не возвращается.",
)
def accepts_everything(function: Any) -> bool:
    return True


@is_right_function.mistake(
    en="The test refuses everything, the right Functions as well. `gradcheck` wants float64 and inputs that require "
    "grad.",
    ru="Тест отвергает всё, в том числе правильные функции. Для `gradcheck` нужны float64 и входы, которые требуют "
    "градиента.",
)
def refuses_everything(function: Any) -> bool:
    return False


@is_right_function.mistake(
    en="The test accepts some right Functions and refuses others. They compute the same in different ways and so "
    "differ in the last digits: `torch.allclose` accepts that, `torch.equal` and `==` do not.",
    ru="Одни правильные функции тест принимает, а другие отвергает. Они вычисляют одно и то же по-разному, и последние "
    "цифры расходятся: `torch.allclose` это допускает, а `torch.equal` и `==` — нет.",
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
    en="The test relies on `gradcheck` and `gradgradcheck` alone. Neither compares the value with the formula, and whether "
    "`grad_output` was changed has to be checked by the test itself.",
    ru="Проверка сводится к `gradcheck` и `gradgradcheck`. Ни та, ни другая не сравнивает значение с формулой, а не "
    "изменился ли `grad_output`, тест должен проверить сам.",
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
    return _run_checks(function, value=False, second=False, edit=False, positive=True)


@is_right_function.mistake(*is_right_function.mistakes["both_gradchecks_alone"].says)
def both_gradchecks_alone_on_positive(function: Any) -> bool:
    return _run_checks(function, value=False, edit=False, positive=True)


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
    en="`grad_output` is not compared after a plain backward pass; `gradcheck` does not do it either. Or its dtype is "
    "not that of the result: then `backward` gets a copy.",
    ru="Тест не сравнивает `grad_output` после обычного обратного прохода; `gradcheck` этого тоже не делает. Или у "
    "этого тензора dtype не тот, что у результата: тогда `backward` получает копию.",
)
def never_looks_at_grad_output(function: Any) -> bool:
    return _run_checks(function, edit=False)


@is_right_function.mistake(
    en="All `x` of the test are positive, so a wrong sign goes unseen.",
    ru="Все `x` в тесте положительны, поэтому неверный знак остаётся незамеченным.",
)
def only_positive(function: Any) -> bool:
    return _run_checks(function, positive=True)


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
