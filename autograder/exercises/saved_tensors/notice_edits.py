"""Extra exercise: write hooks that notice in-place edits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, uniform
from autograder.checking.labels import BYTES_IN_MEMORY, BYTES_LEFT
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text

from .common import Function, bytes_held, gradient, nbytes, running_with_hooks


def _gradient(y: object, leaf: Tensor, retain_graph: bool = False) -> object:
    """Return the gradient of `leaf`, or the type of the error that the answer's hooks raise."""
    try:
        return gradient(y, leaf, retain_graph)
    except Exception as error:
        return type(error).__name__


def _activation(leaf: Tensor) -> Tensor:
    """Return a result computed from `leaf` and edited in place twice.

    Its version counter is therefore neither 0 nor 1.
    """
    return (leaf * 2).mul_(3).mul_(0.5)


@exercise(
    title=Text("Twelve instead of eight", "Двенадцать вместо восьми"),
    kind="find the bug",
    difficulty=3,
    minutes=14,
    aspects=[
        aspect(
            "gradient",
            0,
            en="When nothing is changed, the gradient is the one without hooks, also in a second backward pass.",
            ru="Если ничего не изменено, градиент такой же, как без хуков, в том числе при втором обратном проходе.",
        ),
        aspect(
            "after_edit",
            2,
            en="When a saved tensor is changed in place after the forward pass, `backward()` raises a RuntimeError.",
            ru="Если после прямого прохода сохранённый тензор изменён на месте, `backward()` завершается ошибкой "
            "RuntimeError.",
        ),
        aspect(
            "memory",
            1,
            en="No copies are kept (bytes in memory after the forward pass, the result of `f` alone is allowed).",
            ru="Копии не хранятся (байты в памяти после прямого прохода; допускается только результат `f`).",
            measured=BYTES_IN_MEMORY,
        ),
        aspect(
            "left",
            1,
            en="When the result is dropped without a backward pass, nothing stays in memory (bytes left).",
            ru="Если результат отброшен без обратного прохода, в памяти ничего не остаётся (осталось в памяти, байт).",
            measured=BYTES_LEFT,
        ),
    ],
    hints=[
        Text(
            "Without hooks, how does autograd notice that a saved tensor was changed?",
            "Как autograd без хуков замечает, что сохранённый тензор изменён?",
        ),
        Text(
            "Every tensor has a version, `t._version`, which grows with each change in place. `detach()` shares it, "
            "`.data` does not.",
            "У каждого тензора есть счётчик версий `t._version`: он растёт при каждом изменении на месте. У результата "
            "`detach()` счётчик общий с исходным тензором, у `.data` — свой.",
        ),
        Text(
            "`pack` returns a pair: the detached tensor and its version now. `unpack` compares that number with the "
            "tensor's version then, and raises a `RuntimeError` when they differ.",
            "`pack` возвращает пару: отсоединённый тензор и его версию на момент сохранения. `unpack` сравнивает это "
            "число с версией тензора в момент обращения и, если они различаются, вызывает ошибку `RuntimeError`.",
        ),
    ],
)
def notice_edits(answer: Any, case: Case) -> dict[str, object]:
    run = answer.notice_edits
    with using_answer():
        y = run(case.f, _activation(case.leaf))
        found = {"first backward": _gradient(y, case.leaf, True), "second backward": _gradient(y, case.leaf)}
        del y
    with using_answer():
        x = _activation(case.leaf)
        y = run(case.f, x)
        after: object
        try:
            with torch.no_grad():
                edited = x if case.edits == "x" else y
                edited.copy_(edited.flip(0))  # the numbers in reverse order: their sum does not show the edit
            y.sum().backward()
            after = case.leaf.grad
        except Exception as error:
            after = type(error).__name__
        case.leaf.grad = None
        del x, y, edited
    h = case.leaf.detach().clone().requires_grad_()
    with using_answer():
        used, left = bytes_held(lambda: run(case.f, h))
    memory = AtMost(nbytes(case.leaf), used)
    return {"gradient": found, "after_edit": after, "memory": memory, "left": left, "used": used}


@notice_edits.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    steps = (uniform(rng, 5, 3) * 64).round() / 64  # sums of these numbers are exact in any order
    yield Case(f=Formula("x ** 2", lambda x: x**2), leaf=steps.requires_grad_(), edits="x")
    yield Case(f=Formula("x.exp()", lambda x: x.exp()), leaf=leaf(rng, 2), edits="f(x)")
    small = uniform(rng, 2, 1).float().requires_grad_()
    yield Case(f=Formula("x.sin()", lambda x: x.sin()), leaf=small, edits="x")


def _raise_if(changed: bool, t: Tensor) -> Tensor:
    if changed:
        raise RuntimeError("a saved tensor was changed in place")
    return t


def _check_versions(f: Function, x: Tensor, error: type[Exception]) -> Tensor:
    """Return `f(x)`, run under hooks that raise `error` when a saved tensor was edited.

    The hooks compare version counters.
    """

    def unpack(packed: Any) -> Tensor:
        kept: Tensor = packed[0]
        if kept._version != packed[1]:
            raise error("changed")
        return kept

    return running_with_hooks(lambda t: (t.detach(), t._version), unpack)(f, x)


@notice_edits.mistake(
    en="The change is not noticed: backward computes with the new numbers. Hooks switch off the check of autograd. Compare the version in `unpack` with that in `pack`, of a tensor that shares the counter, as `t.detach()` does and `t.data` does not.",
    ru="Изменение не замечено: обратный проход идёт с новыми числами. Хуки отключают собственную проверку autograd. "
    "Сравнивайте версию в `unpack` с версией в `pack`, причём у тензора с общим счётчиком: у `t.detach()` он общий, у "
    "`t.data` — нет.",
)
def does_not_look(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(lambda t: t.detach(), lambda t: t)(f, x)


@notice_edits.mistake(
    en="`unpack` returns something that is no tensor when it notices the change. It has to raise a `RuntimeError`.",
    ru="Когда изменение замечено, `unpack` возвращает не тензор, а нужно вызвать ошибку `RuntimeError`.",
)
def returns_a_word(f: Function, x: Tensor) -> Tensor:
    def unpack(packed: Any) -> Any:
        return packed[0] if packed[0]._version == packed[1] else "edited"

    return running_with_hooks(lambda t: (t.detach(), t._version), unpack)(f, x)


@notice_edits.mistake(
    en="The second backward pass raises an error though nothing was changed: `unpack` gives a tensor back only once.",
    ru="Второй обратный проход завершается ошибкой, хотя ничего не изменено: `unpack` отдаёт тензор только один раз.",
)
def unpacks_once(f: Function, x: Tensor) -> Tensor:
    def unpack(packed: Any) -> Tensor:
        if packed[1] != packed[0]._version:
            raise RuntimeError("edited")
        packed[1] = -1
        return packed[0]  # type: ignore[no-any-return]

    return running_with_hooks(lambda t: [t.detach(), t._version], unpack)(f, x)


@notice_edits.mistake(
    en="Only the result is checked. `x ** 2` and `sin` save `x`, and that can be changed as well: every packed tensor needs "
    "the check.",
    ru="Проверяется только результат. Но операции `x ** 2` и `sin` сохраняют `x`, а его тоже могут изменить: проверять "
    "нужно каждый упакованный тензор.",
)
def watches_the_result_alone(f: Function, x: Tensor) -> Tensor:
    seen: list[Any] = []
    y = running_with_hooks(lambda t: t.detach(), lambda t: _raise_if(seen[0]._version != seen[1], t))(f, x)
    seen.extend([y.detach(), y._version])
    return y


@notice_edits.mistake(
    en="`allow_mutation_on_saved_tensors` saves a copy when a tensor is changed. The gradient is the old one, and the "
    "change goes unnoticed.",
    ru="Режим `allow_mutation_on_saved_tensors` при изменении тензора сохраняет копию. Градиент прежний, а изменение "
    "остаётся незамеченным.",
)
def allows_edits(f: Function, x: Tensor) -> Tensor:
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        return f(x)


@notice_edits.mistake(
    en="What `pack` was given outlives the graph: either the tensor itself is kept, and the operation's own result holds "
    "the graph that holds it, or it is held elsewhere, as in a list.",
    ru="То, что получил `pack`, переживает граф: либо хранится сам тензор, и результат операции держит граф, а граф — "
    "его, либо тензор держит кто-то ещё, например список.",
)
def keeps_the_tensor_itself(f: Function, x: Tensor) -> Tensor:
    def unpack(packed: Any) -> Tensor:
        return _raise_if(packed[0]._version != packed[1], packed[0])

    return running_with_hooks(lambda t: (t, t._version), unpack)(f, x)


@notice_edits.mistake(
    en="An error is raised although nothing was changed. What counts is the version at the moment of saving, of a tensor "
    "with the same counter: a fixed number, a copy or a weak reference does not tell.",
    ru="Ошибка возникает, хотя ничего не изменено. Сравнивать нужно с версией в момент сохранения, причём у тензора с тем "
    "же счётчиком: постоянное число, копия или слабая ссылка для этого не годятся.",
)
def expects_version_zero(f: Function, x: Tensor) -> Tensor:
    def unpack(packed: Any) -> Tensor:
        if packed._version != 0:
            raise RuntimeError("changed")
        return packed  # type: ignore[no-any-return]

    return running_with_hooks(lambda t: t.detach(), unpack)(f, x)


@notice_edits.mistake(
    en="Only `x` is checked. `exp` saves its result, and that can be changed as well: every packed tensor needs the "
    "check.",
    ru="Проверяется только `x`. Но операция `exp` сохраняет результат, а его тоже могут изменить: проверять нужно "
    "каждый упакованный тензор.",
)
def watches_x_alone(f: Function, x: Tensor) -> Tensor:
    version = x._version
    return running_with_hooks(lambda t: t.detach(), lambda t: _raise_if(x._version != version, t))(f, x)


@notice_edits.mistake(
    en="A copy is saved. The gradient is then right whatever is changed, but each saved tensor takes memory twice, and "
    "the change goes unnoticed.",
    ru="Сохраняется копия. Градиент при этом верен при любых изменениях, но каждый сохранённый тензор занимает память "
    "дважды, а изменение остаётся незамеченным.",
)
def saves_a_copy(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(lambda t: t.detach().clone(), lambda t: t)(f, x)


@notice_edits.mistake(
    en="The numbers are compared with a copy. That shows the change, at the price of a second tensor; the version "
    "counter is one number.",
    ru="Числа сравниваются с копией. Так изменение обнаруживается, но ценой второго тензора, а счётчик версий — это "
    "одно число.",
)
def compares_with_a_copy(f: Function, x: Tensor) -> Tensor:
    def unpack(packed: Any) -> Tensor:
        return _raise_if(not torch.equal(*packed), packed[0])

    return running_with_hooks(lambda t: (t.detach(), t.detach().clone()), unpack)(f, x)


@notice_edits.mistake(
    en="The change is noticed, but the error is a ValueError. It has to be a RuntimeError, as without hooks.",
    ru="Изменение замечено, но ошибка — ValueError. Нужна RuntimeError, как и без хуков.",
)
def raises_value_error(f: Function, x: Tensor) -> Tensor:
    return _check_versions(f, x, ValueError)


@notice_edits.mistake(
    en="The change is noticed by an `assert`, which raises an AssertionError. It has to be a RuntimeError, as without "
    "hooks.",
    ru="Изменение замечено с помощью `assert`, а его ошибка — AssertionError. Нужна RuntimeError, как и без хуков.",
)
def asserts(f: Function, x: Tensor) -> Tensor:
    return _check_versions(f, x, AssertionError)


@notice_edits.mistake(
    en="Every `unpack` raises an error. An unchanged tensor has to be given back.",
    ru="Ошибка возникает при любом вызове `unpack`. Если тензор не изменён, его нужно вернуть.",
)
def always_raises(f: Function, x: Tensor) -> Tensor:
    return running_with_hooks(lambda t: t.detach(), lambda t: _raise_if(True, t))(f, x)


@notice_edits.mistake(
    en="The tensor that is kept has a version counter of its own, as `t.data` and a copy do. `t.detach()` shares the "
    "counter.",
    ru="У хранимого тензора свой счётчик версий, как у `t.data` или у копии. У `t.detach()` счётчик общий с исходным "
    "тензором.",
)
def watches_data(f: Function, x: Tensor) -> Tensor:
    def unpack(packed: Any) -> Tensor:
        return _raise_if(packed[0]._version != packed[1], packed[0])

    return running_with_hooks(lambda t: (t.data, t._version), unpack)(f, x)
