"""Extra exercise: a custom Function that supports torch.func."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import (
    EACH_CALL,
    EDITS_GRAD_OUTPUT,
    OVERWRITES_INPUT,
    STATE_OUTSIDE_CTX,
    Function,
    apply,
    apply_custom,
    error_text,
    gradients,
    observe_state,
    result_or_error,
    same_numbers,
    second_derivative,
)


@exercise(
    title=Text("At home in torch.func", "Своя функция в torch.func"),
    kind="complete",
    asks="Cube",
    asks_for="class",
    difficulty=3,
    minutes=15,
    aspects=[
        EACH_CALL,
        aspect(
            "gradient",
            1,
            en="`Cube.apply` has the right value, gradient and second derivative, `torch.func.grad` gives the same gradient, "
            "and `grad_output` stays as it was.",
            ru="У `Cube.apply` верны значение, градиент и вторая производная, `torch.func.grad` даёт тот же "
            "градиент, а `grad_output` не меняется.",
        ),
        aspect(
            "vmap",
            1,
            en="`torch.func.vmap` of the function works, and so does `vmap` of its `grad`.",
            ru="Преобразование `torch.func.vmap` работает и для самой функции, и для её градиента (`vmap` от `grad`).",
        ),
        aspect(
            "jvp",
            2,
            en="Forward mode works: `torch.func.jvp` gives the derivative in the direction of the tangent.",
            ru="Прямой режим работает: `torch.func.jvp` даёт производную по направлению касательного вектора.",
        ),
    ],
    hints=[
        Text(
            "Which of the three errors do you get first, and which method or attribute does its text ask for?",
            "Какую из трёх ошибок вы получаете первой и какой метод или атрибут назван в её тексте?",
        ),
        Text(
            "`forward(x)` without `ctx`, and `setup_context(ctx, inputs, output)` for the saving; `generate_vmap_rule = "
            "True` in the class; `jvp(ctx, tangent)`, which reads what `ctx.save_for_forward(...)` saved.",
            "`forward(x)` без `ctx` и `setup_context(ctx, inputs, output)`, где сохраняют тензоры; "
            "`generate_vmap_rule = True` в теле класса; `jvp(ctx, tangent)` читает то, что сохранил "
            "`ctx.save_for_forward(...)`.",
        ),
        Text(
            "def setup_context(ctx, inputs, output):\n    (x,) = inputs\n    ctx.save_for_backward(...)\n    "
            "ctx.save_for_forward(...)\n\ndef jvp(ctx, tangent):\n    (x,) = ctx.saved_tensors\n    return ...",
            "def setup_context(ctx, inputs, output):\n    (x,) = inputs\n    ctx.save_for_backward(...)\n    "
            "ctx.save_for_forward(...)\n\ndef jvp(ctx, tangent):\n    (x,) = ctx.saved_tensors\n    return ...",
        ),
    ],
)
def cube_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone(), case.v.clone()
    with using_answer():
        leaf, given = x.clone().requires_grad_(), v.clone()
        each = observe_state(answer.Cube, leaf, v=v)
        if not all(each.values()):
            return {"each_call": each}
        y = apply_custom(answer.Cube, leaf)
        found = {"value": y, "gradient": gradients(y, [leaf], given)[0]}
        found["grad_output unchanged"] = same_numbers(given, v)

        def weighted(t: Tensor, weight: Tensor) -> Tensor:
            product: Tensor = (apply(answer.Cube, t) * weight).sum()
            return product

        batched = {"vmap": result_or_error(lambda: torch.func.vmap(answer.Cube.apply)(x))}
        if x.dim() > 1 and isinstance(y, Tensor):  # slow, and one case is enough
            found["torch.func.grad"] = result_or_error(lambda: torch.func.grad(weighted)(x, v))
            found["second derivative"] = result_or_error(lambda: second_derivative(answer.Cube.apply, x, v, v))
            batched["vmap of grad"] = result_or_error(lambda: torch.func.vmap(torch.func.grad(weighted))(x, v))
            batched["vmap, in_dims=1"] = result_or_error(lambda: torch.func.vmap(answer.Cube.apply, in_dims=1)(x))
        forward = result_or_error(lambda: torch.func.jvp(answer.Cube.apply, (x,), (v,))[1])
        error = error_text(lambda: torch.func.jvp(answer.Cube.apply, (x,), (v,)))
    return {"each_call": each, "gradient": found, "vmap": batched, "jvp": {"jvp": forward}, "jvp_error": error}


@cube_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 2, 3), v=signed(rng, 2, 3))
    yield Case(x=signed(rng, 4).float(), v=signed(rng, 4).float())


class _Cube(Function):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x**3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * 3 * ctx.saved_tensors[0] ** 2

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return tangent * 3 * ctx.saved_tensors[0] ** 2


class _Ruled(_Cube):
    """A right cube.

    Most mistakes are subclasses of this class.
    """

    generate_vmap_rule = True


@cube_function.mistake(
    en="`forward` takes `ctx`. torch.func refuses that form; it needs `forward(x)` and `setup_context`.",
    ru="Метод `forward` принимает `ctx`. С такой записью torch.func не работает: нужны `forward(x)` и `setup_context`.",
)
class old_style(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(*STATE_OUTSIDE_CTX)
class cube_on_the_class(_Ruled):
    x: Any = None

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        (cube_on_the_class.x,) = inputs

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * 3 * cube_on_the_class.x**2

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return tangent * 3 * cube_on_the_class.x**2


@cube_function.mistake(*OVERWRITES_INPUT)
class cube_over_the_input(_Ruled):
    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.pow_(3)


@cube_function.mistake(*EDITS_GRAD_OUTPUT)
class cube_in_place(_Ruled):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(3 * ctx.saved_tensors[0] ** 2)


@cube_function.mistake(
    en="The batch axis of the result is not where the method `vmap` says (seen with `in_dims=1`). A power taken entry by "
    "entry leaves the axis where it was, and `torch.stack` puts it at 0.",
    ru="Ось батча в результате не там, где указано в методе `vmap` (это видно при `in_dims=1`). Если степень вычислена "
    "поэлементно, ось остаётся на прежнем месте, а после `torch.stack` её номер 0.",
)
class batch_always_first(_Cube):
    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor) -> Any:
        return batch_always_first.apply(x), 0


@cube_function.mistake(
    en="There is no rule for vmap. Either `generate_vmap_rule = True` stands in the class, or there is a method `vmap`.",
    ru="Правила для vmap нет: нужна либо строка `generate_vmap_rule = True` в теле класса, либо метод `vmap`.",
)
class no_vmap_rule(_Cube):
    pass


@cube_function.mistake(
    en="There are two rules for vmap. Either `generate_vmap_rule = True` stands in the class, or there is a method "
    "`vmap`, but not both.",
    ru="Правил для vmap два: нужна либо строка `generate_vmap_rule = True` в теле класса, либо метод `vmap`, но не то и "
    "другое сразу.",
)
class two_vmap_rules(_Ruled):
    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor) -> Any:
        return two_vmap_rules.apply(x), in_dims[0]


@cube_function.mistake(
    en="There is no `jvp`. Reverse mode does not give forward mode, which needs a method of its own.",
    ru="Нет метода `jvp`. Из обратного режима прямой не получается: для него нужен отдельный метод.",
)
class no_jvp(Function):
    generate_vmap_rule = True
    forward, setup_context, backward = _Cube.forward, _Cube.setup_context, _Cube.backward


@cube_function.mistake(
    en="`save_for_forward` was not called, so the tuple `saved_tensors` is empty in `jvp`.",
    ru="Не вызван метод `save_for_forward`, поэтому в `jvp` кортеж `saved_tensors` пуст.",
)
class saves_for_backward_alone(_Ruled):
    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)


@cube_function.mistake(*cube_function.mistakes["saves_for_backward_alone"].says)
class unpacks_nothing(saves_for_backward_alone):
    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return tangent * 3 * x**2


@cube_function.mistake(
    en="`backward` returns the derivative alone. It has to be multiplied by `grad_output`.",
    ru="Метод `backward` возвращает только производную. Её нужно умножить на `grad_output`.",
)
class cube_local(_Ruled):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="`backward` computes with a constant: what was computed in `setup_context`, or a detached tensor. That makes "
    "the second derivative wrong.",
    ru="В `backward` использована константа: то, что вычислено в `setup_context`, или отсоединённый тензор. Из-за "
    "этого вторая производная неверна.",
)
class saves_the_slope(Function):
    generate_vmap_rule = True
    forward = _Cube.forward

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        slope = 3 * inputs[0] ** 2
        ctx.save_for_backward(slope)
        ctx.save_for_forward(slope)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return tangent * ctx.saved_tensors[0]


@cube_function.mistake(
    en="The factor 3 is missing in `jvp`.",
    ru="В `jvp` не хватает множителя 3.",
)
class jvp_without_the_three(_Ruled):
    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return tangent * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="`jvp` returns the derivative without the tangent.",
    ru="Метод `jvp` возвращает производную, не умноженную на касательный вектор.",
)
class jvp_without_tangent(_Ruled):
    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="`backward` or `jvp` returns nothing; perhaps its `return` is missing.",
    ru="Метод `backward` или `jvp` ничего не возвращает; возможно, забыт `return`.",
)
class cube_returns_nothing(_Ruled):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        _ = grad_output * 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(*cube_function.mistakes["cube_returns_nothing"].says)
class jvp_returns_nothing(_Ruled):
    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        _ = tangent * 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="The class refuses to be differentiated twice, and the second derivative is asked for here.",
    ru="Класс не допускает повторного дифференцирования, а вторая производная здесь нужна.",
)
class cube_refuses(_Ruled):
    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="The derivative of the cube is `x**2` here: the factor 3 is missing.",
    ru="Производная куба здесь равна `x**2`: не хватает множителя 3.",
)
class without_the_three(_Ruled):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="`jvp` changes the tangent in place. It belongs to the caller, and torch.func refuses: a new tensor has to be "
    "returned.",
    ru="В `jvp` касательный вектор изменён на месте. Это чужой тензор, и torch.func такого не допускает: вернуть нужно "
    "новый.",
)
class jvp_edits_the_tangent(_Ruled):
    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return tangent.mul_(3 * ctx.saved_tensors[0] ** 2)


@cube_function.mistake(
    en="`save_for_backward` was not called, so the tuple `saved_tensors` is empty in `backward`.",
    ru="Не вызван метод `save_for_backward`, поэтому в `backward` кортеж `saved_tensors` пуст.",
)
class saves_for_forward_alone(_Ruled):
    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_forward(*inputs)


@cube_function.mistake(*cube_function.mistakes["saves_for_forward_alone"].says)
class unpacks_nothing_in_backward(saves_for_forward_alone):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


@cube_function.mistake(
    en="The method `vmap` returns the result alone. It has to return a pair: the result and the place of its batch axis.",
    ru="Метод `vmap` возвращает только результат. Нужна пара: результат и номер оси батча в нём.",
)
class vmap_without_the_axis(_Cube):
    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor) -> Any:
        return vmap_without_the_axis.apply(x)


@cube_function.mistake(
    en="`jvp` returns a pair, such as value and tangent. It has to return the tangent of the result alone.",
    ru="Метод `jvp` возвращает пару, например значение и касательный вектор. Нужен только касательный вектор "
    "результата.",
)
class jvp_returns_a_pair(_Ruled):
    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Any:
        return ctx.saved_tensors[0] ** 3, tangent * 3 * ctx.saved_tensors[0] ** 2


@cube_function.mistake(
    en="In `setup_context` the tuple `inputs` was saved. The tensor has to be taken out of it first.",
    ru="В `setup_context` сохраняется сам кортеж `inputs`. Сначала из него нужно взять тензор.",
)
class saves_the_tuple(_Ruled):
    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(inputs)
        ctx.save_for_forward(inputs)


@cube_function.mistake(
    en="`forward` still takes `ctx`. Beside `setup_context` it takes the inputs alone.",
    ru="Метод `forward` по-прежнему принимает `ctx`. Если есть `setup_context`, он принимает только входы.",
)
class forward_still_takes_ctx(_Ruled):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        return x**3


@cube_function.mistake(
    en="`forward` takes no `ctx`, but there is no `setup_context` to do the saving.",
    ru="Метод `forward` не принимает `ctx`, но и `setup_context`, где сохраняют тензоры, в классе нет.",
)
class no_setup_context(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x**3

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * 3 * ctx.saved_tensors[0] ** 2
