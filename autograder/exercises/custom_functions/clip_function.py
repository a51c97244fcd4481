"""Extra exercise: a second output that has no gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

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
    apply_custom,
    gradients,
    observe_state,
    same_numbers,
)


@exercise(
    title=Text("A second output without a gradient", "Второй выход без градиента"),
    kind="complete",
    asks="Clip",
    asks_for="class",
    difficulty=2,
    minutes=8,
    aspects=[
        EACH_CALL,
        aspect(
            "outputs",
            1,
            en="`Clip.apply(x)` returns the clipped tensor and the share of entries outside [−1, 1], both in the dtype "
            "of `x`.",
            ru="`Clip.apply(x)` возвращает обрезанный тензор и долю элементов вне [−1, 1]; dtype обоих тот же, что "
            "у `x`.",
        ),
        aspect(
            "gradient",
            1,
            en="The gradient of `x` is `grad_output` where `x` lies in [−1, 1] and 0 elsewhere; `grad_output` itself "
            "stays as it was.",
            ru="Градиент по `x` равен `grad_output` там, где `x` лежит на отрезке [−1, 1], а в остальных точках — "
            "нулю; сам тензор `grad_output` не меняется.",
        ),
        aspect(
            "share_is_constant",
            1,
            en="The clipped tensor requires grad, the share does not.",
            ru="Обрезанный тензор требует градиента, доля — нет.",
        ),
    ],
    hints=[
        Text(
            "How many arguments does `backward` get after `ctx`, when `forward` has two outputs?",
            "Сколько аргументов после `ctx` получает `backward`, если у `forward` два выхода?",
        ),
        Text(
            "`ctx.mark_non_differentiable(share)` in `forward`. `backward` still gets a gradient for it, and ignores it. "
            "Inside `forward` a `detach()` changes nothing: recording is off anyway.",
            "`ctx.mark_non_differentiable(share)` в `forward`. Градиент для этого выхода `backward` всё равно "
            "получает, но не использует. Вызов `detach()` внутри `forward` ничего не меняет: отслеживание и так "
            "выключено.",
        ),
        Text(
            "inside = x.abs() <= 1\nshare = ...\nctx.mark_non_differentiable(...)\nreturn x.clamp(-1, 1), share\n\n"
            "def backward(ctx, grad_clipped, grad_share): ...",
            "inside = x.abs() <= 1\nshare = ...\nctx.mark_non_differentiable(...)\nreturn x.clamp(-1, 1), share\n\n"
            "def backward(ctx, grad_clipped, grad_share): ...",
        ),
    ],
)
def clip_function(answer: Any, case: Case) -> dict[str, object]:
    x, v = case.x.clone().requires_grad_(), case.grad_output.clone()
    gradient: object = None
    requires: dict[str, object] = {}
    with using_answer():
        each = observe_state(answer.Clip, x, v=v)
        y = apply_custom(answer.Clip, x)
        outputs: dict[str, object] = {"what came back": y}
        if isinstance(y, tuple) and len(y) == 2:
            outputs = {"clipped": y[0], "share": y[1]}
            pair = zip(("clipped", "share"), y)
            requires = {f"{name} requires grad": isinstance(t, Tensor) and t.requires_grad for name, t in pair}
            gradient = gradients(y[0], [x], v)[0]
    found = {"gradient": gradient, "grad_output unchanged": same_numbers(v, case.grad_output)}
    return {"each_call": each, "outputs": outputs, "gradient": found, "share_is_constant": requires}


@clip_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    x = signed(rng, 2, 4)
    x[0] = torch.tensor([0.25, -0.5, -1.75, -1.0])
    x[1, 3] = 1.0
    yield Case(x=x, grad_output=signed(rng, 4, 2).T)
    yield Case(x=torch.tensor([0.75, -2.0, 3.0, -0.5, 1.5, 2.0, -1.25]), grad_output=signed(rng, 7).float())


def _clip_with_share(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.clamp(-1, 1), (x.abs() > 1).to(x.dtype).mean()


class _Clip(Function):
    """A right clip.

    The mistakes are subclasses of this class.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        ctx.mark_non_differentiable(share)
        return clipped, share

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="The share was not marked: it requires grad, and differentiating it gives a made-up gradient. A `detach()` in "
    "`forward` does not help.",
    ru="Доля не отмечена: она требует градиента, и если её продифференцировать, получится выдуманный градиент. Вызов "
    "`detach()` внутри `forward` не помогает.",
)
class marks_nothing(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        return clipped, share.detach()


@clip_function.mistake(
    en="Both outputs were marked, so the clipped tensor has no gradient either.",
    ru="Отмечены оба выхода, поэтому градиента нет и у обрезанного тензора.",
)
class marks_both(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        outputs = _clip_with_share(x)
        ctx.mark_non_differentiable(*outputs)
        return outputs


@clip_function.mistake(
    en="`backward` takes one gradient. It gets one for each output of `forward`, also for an output that is marked.",
    ru="Метод `backward` принимает один градиент. Но он получает по одному на каждый выход `forward`, в том числе на "
    "отмеченный.",
)
class takes_one_gradient(_Clip):
    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:  # type: ignore[override]
        return grad_output * (ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="The share is a Python number, not a tensor of shape () in the dtype of `x`.",
    ru="Доля — число Python, а нужен тензор формы () с тем же dtype, что у `x`.",
)
class share_is_a_number(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        return clipped, share.item()

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Any) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="The number of entries outside is returned, not their share of all entries.",
    ru="Возвращается число элементов вне отрезка, а не их доля.",
)
class number_for_share(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        share = share * x.numel()
        ctx.mark_non_differentiable(share)
        return clipped, share


@clip_function.mistake(
    en="The share of the entries inside [−1, 1] was returned. The share outside is asked for.",
    ru="Возвращается доля элементов внутри отрезка [−1, 1], а нужна доля тех, что лежат вне его.",
)
class share_inside(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        share = 1 - share
        ctx.mark_non_differentiable(share)
        return clipped, share


@clip_function.mistake(
    en="The gradient passes everywhere. Where an entry was clipped, the result does not depend on it, and the gradient "
    "is 0.",
    ru="Градиент проходит всюду. Там, где элемент обрезан, результат от него не зависит, и градиент равен 0.",
)
class clip_passes_everything(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        clipped, share = _clip_with_share(x)
        ctx.mark_non_differentiable(share)
        return clipped, share

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped.clone()


@clip_function.mistake(*STATE_OUTSIDE_CTX)
class clip_on_the_class(Function):
    inside: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        clip_on_the_class.inside = x.abs() <= 1
        clipped, share = _clip_with_share(x)
        ctx.mark_non_differentiable(share)
        return clipped, share

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * clip_on_the_class.inside


@clip_function.mistake(*OVERWRITES_INPUT)
class clips_the_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.inside = x.abs() <= 1
        share = (x.abs() > 1).to(x.dtype).mean()
        ctx.mark_non_differentiable(share)
        return x.clamp_(-1, 1), share

    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * ctx.inside


@clip_function.mistake(
    *EDITS_GRAD_OUTPUT,
)
class clips_in_place(_Clip):
    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped.mul_(ctx.saved_tensors[0].abs() <= 1)


@clip_function.mistake(
    en="`forward` returns a list. Two outputs have to come as a tuple.",
    ru="Метод `forward` возвращает список. Два выхода нужно возвращать кортежем.",
)
class forward_returns_a_list(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        ctx.mark_non_differentiable(share)
        return [clipped, share]


@clip_function.mistake(
    en="The ends of the interval were left out: at −1 and 1 the gradient should pass.",
    ru="Концы отрезка не учтены: в точках −1 и 1 градиент должен проходить.",
)
class clip_without_the_ends(_Clip):
    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() < 1)


@clip_function.mistake(
    en="The ends of the interval were counted as outside. −1 and 1 lie in [−1, 1].",
    ru="Концы отрезка отнесены к внешним точкам. Но −1 и 1 принадлежат отрезку [−1, 1].",
)
class counts_the_ends(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        share = (x.abs() >= 1).to(x.dtype).mean()
        ctx.mark_non_differentiable(share)
        return x.clamp(-1, 1), share


@clip_function.mistake(
    en="`backward` returns a gradient for each output. It takes one for each output, and returns one for each argument "
    "of `apply`: here a single one.",
    ru="Метод `backward` возвращает по градиенту на каждый выход. Для каждого выхода он градиент получает, а "
    "возвращает по одному на каждый аргумент `apply`. Здесь аргумент один.",
)
class one_for_each_output(_Clip):
    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return grad_clipped * (ctx.saved_tensors[0].abs() <= 1), grad_share


@clip_function.mistake(
    en="`backward` returns the mask alone, 0 and 1. It has to be multiplied by `grad_output`.",
    ru="Метод `backward` возвращает только маску из нулей и единиц. Её нужно умножить на `grad_output`.",
)
class clip_mask_alone(_Clip):
    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        return (ctx.saved_tensors[0].abs() <= 1).to(grad_clipped.dtype)


@clip_function.mistake(
    en="The share has the dtype float32, whatever the dtype of `x`.",
    ru="У доли тип float32, каков бы ни был dtype у `x`.",
)
class share_in_float32(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        share = (x.abs() > 1).float().mean()
        ctx.mark_non_differentiable(share)
        return x.clamp(-1, 1), share


@clip_function.mistake(
    en="Only the entries above 1 are counted in the share. Those below −1 lie outside too.",
    ru="В доле учтены только элементы больше 1. Элементы меньше −1 тоже лежат вне отрезка.",
)
class counts_one_side(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        share = (x > 1).to(x.dtype).mean()
        ctx.mark_non_differentiable(share)
        return x.clamp(-1, 1), share


@clip_function.mistake(
    en="The share has the shape `(1,)`. It is one number, a tensor of shape `()`.",
    ru="У доли форма `(1,)`. Это одно число, тензор формы `()`.",
)
class share_of_shape_1(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        share = (x.abs() > 1).to(x.dtype).mean().reshape(1)
        ctx.mark_non_differentiable(share)
        return x.clamp(-1, 1), share


@clip_function.mistake(
    en="The share is always 0, as it is when it is computed from the clipped tensor.",
    ru="Доля всегда равна 0, как бывает, если вычислить её по уже обрезанному тензору.",
)
class share_after_clipping(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = x.clamp(-1, 1), torch.zeros((), dtype=x.dtype)
        ctx.mark_non_differentiable(share)
        return clipped, share


@clip_function.mistake(
    en="The two outputs stand in the wrong order: the clipped tensor comes first.",
    ru="Выходы стоят не в том порядке: первым должен быть обрезанный тензор.",
)
class share_first(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        return _Clip.forward(ctx, x)[::-1]

    @staticmethod
    def backward(ctx: Any, grad_share: Tensor, grad_clipped: Tensor) -> Any:  # type: ignore[override]
        return _Clip.backward(ctx, grad_clipped, grad_share)


@clip_function.mistake(
    en="`mark_non_differentiable` was given a tuple. It takes tensors, each as an argument of its own.",
    ru="В `mark_non_differentiable` передан кортеж. Тензоры передают туда отдельными аргументами.",
)
class marks_a_tuple(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        ctx.mark_non_differentiable((share,))
        return clipped, share


@clip_function.mistake(
    en="The number outside was divided by `len(x)`, the length of the first axis. A share is a part of all entries.",
    ru="Число элементов вне отрезка разделено на `len(x)`, длину первой оси. А доля берётся от всех элементов.",
)
class divides_by_the_length(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        clipped, share = _clip_with_share(x)
        share = share * x.numel() / len(x)
        ctx.mark_non_differentiable(share)
        return clipped, share


@clip_function.mistake(
    en="One end of the interval was left out: the gradient should pass at −1 and at 1.",
    ru="Один конец отрезка не учтён: градиент должен проходить и в точке −1, и в точке 1.",
)
class lower_end_open(_Clip):
    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_clipped * ((x > -1) & (x <= 1))


@clip_function.mistake(*clip_function.mistakes["lower_end_open"].says)
class upper_end_open(_Clip):
    @staticmethod
    def backward(ctx: Any, grad_clipped: Tensor, grad_share: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad_clipped * ((x >= -1) & (x < 1))


@clip_function.mistake(
    en="One end of the interval was counted as outside. Both −1 and 1 lie in [−1, 1].",
    ru="Один из концов отрезка отнесён к внешним точкам. Но и −1, и 1 принадлежат отрезку [−1, 1].",
)
class counts_the_lower_end(_Clip):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        share = ((x <= -1) | (x > 1)).to(x.dtype).mean()
        ctx.mark_non_differentiable(share)
        return x.clamp(-1, 1), share
