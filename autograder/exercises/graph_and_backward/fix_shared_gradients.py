"""Extra exercise: repair gradients that share memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed
from autograder.checking.observe import using_answer
from autograder.language import Text


@exercise(
    title=Text("Gradients that change together", "Градиенты, которые меняются вместе"),
    kind="find the bug",
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "gradients",
            1,
            en="Each gradient is multiplied by its own factor, and an input that `y` does not use gets zeros.",
            ru="Каждый градиент умножен на свой множитель, а для входа, от которого `y` не зависит, возвращаются нули.",
        ),
        aspect(
            "own",
            1,
            en="No gradient shares memory with `v` or with another one, and none has a graph.",
            ru="У градиентов нет ни графа, ни общей памяти: ни с `v`, ни друг с другом.",
        ),
        aspect(
            "untouched",
            1,
            en="`v` and the `.grad` of the inputs are what they were.",
            ru="Тензор `v` и поля `.grad` входов остались прежними.",
        ),
    ],
    hints=[
        Text(
            "For `y = a + b`, what is the gradient with respect to `a`, and what is it with respect to `b`? Are these "
            "two tensors?",
            "Чему для `y = a + b` равен градиент по `a` и чему по `b`? Это два тензора?",
        ),
        Text(
            "Compare with `is`: `torch.autograd.grad(a + b, [a, b], v)` may give you `v` itself, twice. Look for "
            "`materialize_grads`, too.",
            "Сравните с помощью `is`: `torch.autograd.grad(a + b, [a, b], v)` может дважды вернуть сам `v`. "
            "Посмотрите и на `materialize_grads`.",
        ),
        Text(
            "gradients = torch.autograd.grad(y, inputs, v, ...)\nreturn [... for gradient, factor in zip(gradients, factors)]",
            "gradients = torch.autograd.grad(y, inputs, v, ...)\nreturn [... for gradient, factor in zip(gradients, factors)]",
        ),
    ],
)
def fix_shared_gradients(answer: Any, case: Case) -> dict[str, object]:
    gradients = answer.fix_shared_gradients(case.y, case.inputs, case.v, case.factors)
    with using_answer():
        tensors = [g for g in gradients if isinstance(g, Tensor)] if isinstance(gradients, (list, tuple)) else []
        places = {each.untyped_storage().data_ptr() for each in (*tensors, case.v)}
    return {
        "gradients": gradients,
        "own": {
            "shared": len(places) <= len(tensors),
            "requires_grad": any(each.requires_grad for each in tensors),
        },
        "untouched": {"v": case.v, ".grad": [x.grad for x in case.inputs]},
    }


@fix_shared_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    a, b, c = leaf(rng, 3), leaf(rng, 3), leaf(rng, 2, 2)
    yield Case(y=a + b, inputs=[a, b, c], v=signed(rng, 3), factors=[2.0, -5.0, 3.0])
    a, b, c = leaf(rng, 2, 3), leaf(rng, 4), leaf(rng, 2, 3)
    yield Case(y=(a * c).sin() + a, inputs=[c, b, a], v=signed(rng, 2, 3), factors=[0.5, 7.0, 4.0])
    a, b = leaf(rng, 4), leaf(rng, 4)
    yield Case(y=a + b.exp(), inputs=[a, b], v=signed(rng, 4), factors=[1.0, 0.1])
    a, b = leaf(rng, 3), leaf(rng, 3)  # the gradient of `a` is a view of `v`, not `v` itself
    yield Case(y=a.reshape(3, 1).reshape(3) + b.sin(), inputs=[a, b], v=signed(rng, 3), factors=[3.0, -2.0])
    a, b, c, d = leaf(rng, 3), leaf(rng, 2), leaf(rng, 2), leaf(rng, 2).detach().float().requires_grad_()
    yield Case(y=a.cos(), inputs=[a, b, c, d], v=signed(rng, 3), factors=[2.0, 3.0, 4.0, 5.0])  # three are unused


@fix_shared_gradients.mistake(
    en="`v` was saved by a copy, but two gradients are still one tensor: both factors went into it.",
    ru="Тензор `v` защищён копией, но два градиента — по-прежнему один тензор: в него вошли оба множителя.",
)
def copies_v_only(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v.clone(), materialize_grads=True)
    for gradient, factor in zip(gradients, factors):
        gradient *= factor
    return list(gradients)


@fix_shared_gradients.mistake(
    en="The factors are right, but an unused input gives None. None cannot be computed with: `materialize_grads=True` "
    "gives zeros.",
    ru="Множители верны, но для неиспользованного входа возвращается None. Вычислять с None дальше нельзя: "
    "`materialize_grads=True` даёт нули.",
)
def leaves_none(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor | None]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [None if gradient is None else gradient * factor for gradient, factor in zip(gradients, factors)]


@fix_shared_gradients.mistake(
    en="The unused input still raises an error: “appears to not have been used in the graph”.",
    ru="Из-за неиспользованного входа по-прежнему возникает ошибка: «appears to not have been used in the graph».",
)
def forbids_unused(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    return [gradient * factor for gradient, factor in zip(torch.autograd.grad(y, inputs, v), factors)]


@fix_shared_gradients.mistake(
    en="The gradients are right, but `backward()` left them in `.grad` of the inputs. `torch.autograd.grad` returns "
    "them and leaves `.grad` alone.",
    ru="Градиенты верны, но после `backward()` они остались в `.grad` входов. Функция `torch.autograd.grad` возвращает "
    "их, а `.grad` не меняет.",
)
def goes_through_grad(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    y.backward(v)  # type: ignore[no-untyped-call]
    return [(torch.zeros_like(x) if x.grad is None else x.grad) * factor for x, factor in zip(inputs, factors)]


@fix_shared_gradients.mistake(
    en="`v` is still multiplied in place, together with the gradients that are `v` itself.",
    ru="На месте по-прежнему умножается `v` вместе с теми градиентами, которые и есть `v`.",
)
def multiplies_in_place(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    for gradient, factor in zip(gradients, factors):
        gradient *= factor
    return list(gradients)


@fix_shared_gradients.mistake(
    en="An unused input gets a zero that is not a tensor of the input's shape.",
    ru="Для неиспользованного входа возвращается ноль, а не тензор той же формы, что у входа.",
)
def zero_without_a_shape(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Any]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [0.0 if gradient is None else gradient * factor for gradient, factor in zip(gradients, factors)]


@fix_shared_gradients.mistake(
    en="The gradient is still multiplied in place, by `mul_` or by `*=`: only the wording has changed.",
    ru="Градиент по-прежнему умножается на месте, через `mul_` или через `*=`: изменилась только запись.",
)
def multiplies_in_place_still(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor | None]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    for gradient, factor in zip(gradients, factors):
        if gradient is not None:
            gradient *= factor
    return list(gradients)


@fix_shared_gradients.mistake(
    en="The gradients were not multiplied by the factors.",
    ru="Градиенты не умножены на множители.",
)
def ignores_the_factors(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    return [gradient.clone() for gradient in torch.autograd.grad(y, inputs, v, materialize_grads=True)]


@fix_shared_gradients.mistake(
    en="The pass starts from ones, not from `v`.",
    ru="Обратный проход начинается с единиц, а не с `v`.",
)
def ignores_v(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y.sum(), inputs, materialize_grads=True)
    return [gradient * factor for gradient, factor in zip(gradients, factors)]


@fix_shared_gradients.mistake(
    en="An unused input was left out: each input needs an entry of its own.",
    ru="Неиспользованный вход пропущен: в ответе нужно место для каждого входа.",
)
def leaves_unused_out(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [gradient * factor for gradient, factor in zip(gradients, factors) if gradient is not None]


@fix_shared_gradients.mistake(
    en="The zeros for an unused input have the shape of `v`. They need the shape of that input.",
    ru="Нули для неиспользованного входа имеют форму `v`. Нужна форма самого входа.",
)
def zeros_like_v(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [torch.zeros_like(v) if g is None else g * factor for g, factor in zip(gradients, factors)]


@fix_shared_gradients.mistake(
    en="`v` was restored at the end, but before that both factors went into the tensor that the gradients share.",
    ru="Тензор `v` в конце восстановлен, но до этого в тензор, общий для градиентов, вошли оба множителя.",
)
def puts_v_right_afterwards(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    before = v.clone()
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    for gradient, factor in zip(gradients, factors):
        gradient.mul_(factor)
    v.copy_(before)
    return list(gradients)


@fix_shared_gradients.mistake(
    en="The values are right, but one gradient is still `v` itself, multiplied in place: a copy of the others does not "
    "help it.",
    ru="Значения верны, но один градиент — по-прежнему сам `v`, умноженный на месте: копировать только остальные "
    "недостаточно.",
)
def copies_the_first_only(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    first, *others = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    gradients = [first.clone(), *others]
    for gradient, factor in zip(gradients, factors):
        gradient.mul_(factor)
    return gradients


@fix_shared_gradients.mistake(
    en="The values are right, but where a factor is 1 the gradient is returned as it was, and that is `v` itself.",
    ru="Значения верны, но при множителе 1 градиент возвращается как есть, а это сам `v`.",
)
def hands_v_back(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    return [gradient if factor == 1 else gradient * factor for gradient, factor in zip(gradients, factors)]


@fix_shared_gradients.mistake(
    en="Only a gradient that `is` `v`, or another gradient, is copied. A view of `v` is another object with the same "
    "memory.",
    ru="Копируется только градиент, который по `is` совпадает с `v` или с другим градиентом. Но представление тензора "
    "`v` — другой объект с той же памятью.",
)
def compares_by_is(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    own: list[Tensor] = []
    for gradient in torch.autograd.grad(y, inputs, v, materialize_grads=True):
        own.append(gradient.clone() if any(gradient is other for other in (v, *own)) else gradient)
    return [gradient.mul_(factor) for gradient, factor in zip(own, factors)]


@fix_shared_gradients.mistake(
    en="The gradient is multiplied in place first and copied afterwards: by then the shared tensor has changed.",
    ru="Градиент сначала умножен на месте, а потом скопирован: к этому моменту общий тензор уже изменён.",
)
def copies_too_late(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    return [gradient.mul_(factor).clone() for gradient, factor in zip(gradients, factors)]


@fix_shared_gradients.mistake(
    en="The zeros for an unused input are float32. They need the dtype of that input.",
    ru="Нули для неиспользованного входа имеют тип float32. Нужен dtype самого входа.",
)
def zeros_in_float32(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    return [torch.zeros(x.shape) if g is None else g * factor for x, g, factor in zip(inputs, gradients, factors)]


@fix_shared_gradients.mistake(
    en="The gradients have a graph: with `create_graph=True` the backward pass itself is recorded.",
    ru="У градиентов есть граф: с `create_graph=True` записывается и сам обратный проход.",
)
def records_the_pass(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, create_graph=True, materialize_grads=True)
    return [gradient * factor for gradient, factor in zip(gradients, factors)]


@fix_shared_gradients.mistake(
    en="A generator was returned: its gradients are not computed yet. A list or a tuple is asked for.",
    ru="Возвращён генератор, градиенты в нём ещё не вычислены. Нужен список или кортеж.",
)
def returns_a_generator(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> Iterator[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, materialize_grads=True)
    return (gradient * factor for gradient, factor in zip(gradients, factors))


@fix_shared_gradients.mistake(
    en="The zeros for an unused input have the dtype of another tensor, such as `v`. They need the dtype of that input.",
    ru="У нулей для неиспользованного входа dtype другого тензора, например `v`. Нужен dtype самого входа.",
)
def zeros_in_the_dtype_of_v(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    zeros = [torch.zeros(x.shape, dtype=v.dtype) for x in inputs]
    return [zero if g is None else g * factor for zero, g, factor in zip(zeros, gradients, factors)]


@fix_shared_gradients.mistake(
    en="The zeros of several unused inputs share one memory. An edit of one gradient would change the others.",
    ru="У нулей для нескольких неиспользованных входов общая память. Изменение одного градиента изменило бы и другие.",
)
def shares_zeros(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    gradients = torch.autograd.grad(y, inputs, v, allow_unused=True)
    kept: dict[torch.dtype, Tensor] = {}
    most = max(x.numel() for x in inputs)
    own = []
    for x, gradient, factor in zip(inputs, gradients, factors):
        zeros = kept.setdefault(x.dtype, torch.zeros(most, dtype=x.dtype))
        own.append(zeros[: x.numel()].view(x.shape) if gradient is None else gradient * factor)
    return own


@fix_shared_gradients.mistake(
    en="All gradients were multiplied by the first factor. Each input has a factor of its own.",
    ru="Все градиенты умножены на первый множитель. У каждого входа свой множитель.",
)
def one_factor_for_all(y: Tensor, inputs: list[Tensor], v: Tensor, factors: list[float]) -> list[Tensor]:
    return [gradient * factors[0] for gradient in torch.autograd.grad(y, inputs, v, materialize_grads=True)]
