"""The mistakes in `clip_globally`, as programs."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils import clip_grad_norm_

from .clip_globally import clip_globally


def _trained(model: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


@clip_globally.mistake(
    en="Each parameter's gradient is clipped by its own norm. Long ones are shortened more than short ones, so the "
    "direction changes.",
    ru="Градиент каждого параметра отсечён по его собственной норме. Длинные градиенты укорочены сильнее коротких, "
    "поэтому направление изменилось.",
)
def clips_each_parameter(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    for parameter in _trained(model):
        clip_grad_norm_([parameter], max_norm)


@clip_globally.mistake(
    en="The entries are still clamped one by one. That bounds each of them, not the norm, and it turns the gradient.",
    ru="Элементы по-прежнему обрезаются по одному. Так ограничен каждый элемент, а не норма, и градиент поворачивается.",
)
def clamps_entries(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    for parameter in _trained(model):
        if parameter.grad is not None:
            parameter.grad.clamp_(-max_norm, max_norm)


@clip_globally.mistake(
    en="Each parameter's gradient is clipped by its own norm in a hook, and the hooks stay on.",
    ru="Градиент каждого параметра отсекается в хуке по его собственной норме, а хуки так и остались.",
)
def clips_each_in_a_hook(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    for parameter in _trained(model):
        parameter.register_hook(lambda grad: grad * (max_norm / grad.norm()).clamp(max=1))
    loss.backward()


@clip_globally.mistake(
    en="The entries are clamped in hooks as before, now out of place. The hooks also stay on.",
    ru="Элементы, как и раньше, обрезаются в хуках, только теперь не на месте. И хуки так и остались.",
)
def clamps_in_a_hook(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    for parameter in _trained(model):
        parameter.register_hook(lambda grad: grad.clamp(-max_norm, max_norm))
    loss.backward()


@clip_globally.mistake(
    en="A gradient that is shorter than `max_norm` is made longer. It has to stay as it is.",
    ru="Градиент, который короче `max_norm`, удлинён. Он должен остаться как есть.",
)
def always_scales(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    found = [parameter.grad for parameter in _trained(model) if parameter.grad is not None]
    norm = torch.cat([grad.flatten() for grad in found]).norm()
    for grad in found:
        grad.mul_(max_norm / norm)


@clip_globally.mistake(
    en="Nothing is clipped: the gradients are those of `loss.backward()`.",
    ru="Ничего не отсечено: градиенты такие же, как после `loss.backward()`.",
)
def clips_nothing(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()


@clip_globally.mistake(
    en="The norms of the parameters were added. The norm of all together is the root of the sum of their squares.",
    ru="Нормы параметров сложены. Общая норма — это корень из суммы их квадратов.",
)
def adds_the_norms(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    found = [parameter.grad for parameter in _trained(model) if parameter.grad is not None]
    norm = sum(float(grad.norm()) for grad in found)
    for grad in found:
        grad.mul_(min(1.0, max_norm / norm))


@clip_globally.mistake(
    en="The gradients are right, but hooks of yours stay on the parameters.",
    ru="Градиенты верны, но на параметрах остались ваши хуки.",
)
def clips_and_leaves_hooks(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    for parameter in _trained(model):
        parameter.register_hook(lambda grad: None)
    loss.backward()
    clip_grad_norm_(model.parameters(), max_norm)


@clip_globally.mistake(
    en="A parameter that got no gradient has zeros in `.grad` now. It has to keep None: an optimizer treats the two "
    "differently.",
    ru="У параметра, к которому градиент не пришёл, в `.grad` теперь нули. Там должно остаться None: для оптимизатора "
    "это не одно и то же.",
)
def fills_with_zeros(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    for parameter in _trained(model):
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    clip_grad_norm_(model.parameters(), max_norm)


@clip_globally.mistake(*clip_globally.mistakes["fills_with_zeros"].says)
def fills_the_frozen_with_zeros(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    for parameter in model.parameters():
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    clip_grad_norm_(model.parameters(), max_norm)


def _scale(gradients: list[Tensor], max_norm: float, norm: Tensor) -> None:
    """Scale `gradients` down in place as if `norm` were their norm."""
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)


def _backward(model: nn.Module, loss: Tensor) -> list[Tensor]:
    """Run `loss.backward()`, and return the gradients of all parameters that have one."""
    loss.backward()
    return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


@clip_globally.mistake(
    en="The largest entry was taken for the norm. The norm is the root of the sum of all squares.",
    ru="За норму принят наибольший по модулю элемент. А норма — это корень из суммы всех квадратов.",
)
def takes_the_largest_entry(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    found = _backward(model, loss)
    _scale(found, max_norm, torch.stack([grad.abs().max() for grad in found]).max())


@clip_globally.mistake(
    en="The largest of the parameters' norms was taken for the norm of all together.",
    ru="За общую норму принята наибольшая из норм отдельных параметров.",
)
def takes_the_largest_norm(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    found = _backward(model, loss)
    _scale(found, max_norm, torch.stack([grad.norm() for grad in found]).max())


@clip_globally.mistake(
    en="The mean of the parameters' norms was taken for the norm of all together.",
    ru="За общую норму принято среднее норм отдельных параметров.",
)
def takes_the_mean_norm(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    found = _backward(model, loss)
    _scale(found, max_norm, torch.stack([grad.norm() for grad in found]).mean())


@clip_globally.mistake(
    en="The sum of the squares was taken for the norm: the root is missing.",
    ru="За норму принята сумма квадратов: не хватает корня.",
)
def forgets_the_root(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    found = _backward(model, loss)
    _scale(found, max_norm, torch.stack([grad.square().sum() for grad in found]).sum())


@clip_globally.mistake(
    en="The norm of the parameters themselves decides. It has to be that of their gradients.",
    ru="Множитель вычислен по норме самих параметров, а нужна норма их градиентов.",
)
def takes_the_weights(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    found = _backward(model, loss)
    _scale(found, max_norm, torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).norm())


@clip_globally.mistake(
    en="In the norm there are the values of parameters that have no gradient.",
    ru="В норму вошли значения параметров, у которых градиента нет.",
)
def counts_the_frozen(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    found = _backward(model, loss)
    counted = [p.detach() if p.grad is None else p.grad for p in model.parameters()]
    _scale(found, max_norm, torch.cat([each.flatten() for each in counted]).norm())


@clip_globally.mistake(
    en="Only parameters of the model's direct children are clipped. Those of nested modules and of the model itself "
    "are missing.",
    ru="Отсечены только градиенты параметров у модулей, которые входят в модель непосредственно. Параметры вложенных "
    "модулей и самой модели пропущены.",
)
def direct_children_only(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    own = [p for child in model.children() for p in child.parameters(recurse=False)]
    found = [p.grad for p in own if p.grad is not None]
    _scale(found, max_norm, torch.cat([grad.flatten() for grad in found]).norm())


@clip_globally.mistake(
    en="A weight that is in two modules is counted twice and scaled twice. `model.parameters()` names it once.",
    ru="Вес, который входит в два модуля, учтён дважды и дважды умножен. В `model.parameters()` он встречается один "
    "раз.",
)
def counts_the_shared_twice(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    own = [p for module in model.modules() for p in module.parameters(recurse=False)]
    found = [p.grad for p in own if p.grad is not None]
    _scale(found, max_norm, torch.cat([grad.flatten() for grad in found]).norm())


@clip_globally.mistake(
    en="Each gradient is scaled by the norm of those that have come so far. The later ones are missing there, and so "
    "the factors differ.",
    ru="Каждый градиент умножен с учётом нормы только тех, что уже пришли. Более поздних в ней нет, поэтому множители "
    "разные.",
)
def takes_a_running_norm(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    seen: list[Tensor] = []

    def hook(grad: Tensor) -> Tensor:
        seen.append(grad.square().sum())
        return grad * (max_norm / torch.stack(seen).sum().sqrt()).clamp(max=1)

    handles = [parameter.register_hook(hook) for parameter in _trained(model)]
    loss.backward()
    for handle in handles:
        handle.remove()


@clip_globally.mistake(
    en="When the last gradient came, only the gradients that were already in `.grad` were scaled. Those that were added "
    "afterwards are whole.",
    ru="Когда пришёл последний градиент, умножены только те, что уже лежали в `.grad`. Прибавленные позже остались "
    "целыми.",
)
def scales_what_is_there(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    trained = _trained(model)

    def hook(found: Sequence[Tensor | None]) -> None:
        norm = torch.cat([grad.flatten() for grad in found if grad is not None]).norm()
        _scale([parameter.grad for parameter in trained if parameter.grad is not None], max_norm, norm)

    with torch.autograd.graph.register_multi_grad_hook(trained, hook):
        loss.backward()


@clip_globally.mistake(
    en="The norm is right, but it takes a backward pass of its own.",
    ru="Норма верна, но ради неё сделан отдельный обратный проход.",
)
def makes_two_passes(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    found = torch.autograd.grad(loss, _trained(model), retain_graph=True, allow_unused=True)
    norm = torch.cat([grad.flatten() for grad in found if grad is not None]).norm().item()
    (loss * min(1.0, max_norm / norm)).backward()


@clip_globally.mistake(
    en="The norm after clipping is near `max_norm`, but not near enough: its relative error is larger than 0.000001. A "
    "number of 0.001 added to the norm is already too much.",
    ru="Норма после отсечения близка к `max_norm`, но недостаточно: относительная погрешность больше 0.000001. Даже "
    "0.001, прибавленная к норме, — уже слишком много.",
)
def adds_too_much(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    found = _backward(model, loss)
    norm = torch.cat([grad.flatten() for grad in found]).norm()
    _scale(found, max_norm, norm + 1e-3)


@clip_globally.mistake(
    en="`.grad` of some parameters is None, and the answer computes with it.",
    ru="У части параметров в `.grad` лежит None, а в ответе это поле участвует в вычислениях.",
)
def expects_every_gradient(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    norm = torch.cat([parameter.grad.reshape(-1) for parameter in model.parameters()]).norm()  # type: ignore[union-attr]
    _scale([parameter.grad for parameter in model.parameters()], max_norm, norm)  # type: ignore[misc]


@clip_globally.mistake(*clip_globally.mistakes["expects_every_gradient"].says)
def expects_every_norm(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    norm = torch.stack([parameter.grad.norm() for parameter in model.parameters()]).norm()  # type: ignore[union-attr]
    _scale([parameter.grad for parameter in model.parameters()], max_norm, norm)  # type: ignore[misc]


@clip_globally.mistake(*clip_globally.mistakes["expects_every_gradient"].says)
def expects_every_square(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    squares = [parameter.grad.square().sum() for parameter in model.parameters()]  # type: ignore[union-attr]
    _scale([parameter.grad for parameter in model.parameters()], max_norm, torch.stack(squares).sum().sqrt())  # type: ignore[misc]


@clip_globally.mistake(*clip_globally.mistakes["expects_every_gradient"].says)
def expects_every_power(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    squares = [(parameter.grad**2).sum() for parameter in model.parameters()]  # type: ignore[operator]
    _scale([parameter.grad for parameter in model.parameters()], max_norm, torch.stack(squares).sum().sqrt())  # type: ignore[misc]


@clip_globally.mistake(
    en="The loss itself was scaled down to `max_norm`. What is to be bounded is the norm of the gradient.",
    ru="До `max_norm` уменьшено само значение функции потерь, а ограничить нужно норму градиента.",
)
def limits_the_loss(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    value = loss.item()
    (loss * (max_norm / value) if value > max_norm else loss).backward()


@clip_globally.mistake(
    en="The biases are neither in the norm nor clipped: only the weights are.",
    ru="Смещения не вошли в норму и не отсечены: учтены только веса.",
)
def matrices_only(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    clip_grad_norm_([parameter for parameter in model.parameters() if parameter.dim() > 1], max_norm)


@clip_globally.mistake(*clip_globally.mistakes["matrices_only"].says)
def named_weights_only(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    clip_grad_norm_([parameter for name, parameter in model.named_parameters() if "bias" not in name], max_norm)


@clip_globally.mistake(
    en="The sum of the magnitudes was taken for the norm. The norm is the root of the sum of all squares.",
    ru="За норму принята сумма модулей. А норма — это корень из суммы всех квадратов.",
)
def adds_the_magnitudes(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    loss.backward()
    clip_grad_norm_(model.parameters(), max_norm, norm_type=1)


@clip_globally.mistake(
    en="A hook for several tensors scaled in place the gradients that it got. Only some of them are those in `.grad`: the "
    "others stay whole there.",
    ru="Хук для нескольких тензоров умножил на месте те градиенты, которые получил. Лишь некоторые из них — те самые, что "
    "лежат в `.grad`: остальные там не отсечены.",
)
def scales_what_the_hook_got(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    def hook(found: Sequence[Tensor | None]) -> None:
        came = [grad for grad in found if grad is not None]
        _scale(came, max_norm, torch.cat([grad.flatten() for grad in came]).norm())

    with torch.autograd.graph.register_multi_grad_hook(_trained(model), hook):
        loss.backward()


@clip_globally.mistake(
    en="The root of the mean of all squares was taken for the norm. The norm is the root of their sum.",
    ru="За норму принят корень из среднего всех квадратов. А норма — это корень из их суммы.",
)
def takes_the_mean_square(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    found = _backward(model, loss)
    _scale(found, max_norm, torch.cat([grad.flatten() for grad in found]).square().mean().sqrt())


@clip_globally.mistake(
    en="A long gradient gets the norm 1. It should get the norm `max_norm`.",
    ru="Длинный градиент получает норму 1, а должен получить норму `max_norm`.",
)
def scales_to_one(model: nn.Module, loss: Tensor, max_norm: float) -> None:
    found = _backward(model, loss)
    norm = torch.cat([grad.flatten() for grad in found]).norm()
    for grad in found if norm > max_norm else []:
        grad.div_(norm)
