# %%
import torch
from torch.nn.utils import clip_grad_norm_


def _trained(model):
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def _scale(gradients, max_norm, norm):
    """Scale `gradients` down in place as if `norm` were their norm."""
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)


def _backward(model, loss):
    """Run `loss.backward()`, and return the gradients of all parameters that have one."""
    loss.backward()
    return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]

# %% mistake="clips_each_parameter" theme="own"
# Each parameter's gradient is clipped by its own norm. Long ones are shortened more than short ones, so the
#     direction changes.
# Градиент каждого параметра отсечён по его собственной норме. Длинные градиенты укорочены сильнее коротких, поэтому
#     направление изменилось.
def clip_globally(model, loss, max_norm):
    loss.backward()
    for parameter in _trained(model):
        clip_grad_norm_([parameter], max_norm)

# %% mistake="clamps_entries" theme="own"
# The entries are still clamped one by one. That bounds each of them, not the norm, and it turns the gradient.
# Элементы по-прежнему обрезаются по одному. Так ограничен каждый элемент, а не норма, и градиент поворачивается.
def clip_globally(model, loss, max_norm):
    loss.backward()
    for parameter in _trained(model):
        if parameter.grad is not None:
            parameter.grad.clamp_(-max_norm, max_norm)

# %% mistake="clips_each_in_a_hook" theme="own"
# Each parameter's gradient is clipped by its own norm in a hook, and the hooks stay on.
# Градиент каждого параметра отсекается в хуке по его собственной норме, а хуки так и остались.
def clip_globally(model, loss, max_norm):
    for parameter in _trained(model):
        parameter.register_hook(lambda grad: grad * (max_norm / grad.norm()).clamp(max=1))
    loss.backward()

# %% mistake="clamps_in_a_hook" theme="own"
# The entries are clamped in hooks as before, now out of place. The hooks also stay on.
# Элементы, как и раньше, обрезаются в хуках, только теперь не на месте. И хуки так и остались.
def clip_globally(model, loss, max_norm):
    for parameter in _trained(model):
        parameter.register_hook(lambda grad: grad.clamp(-max_norm, max_norm))
    loss.backward()

# %% mistake="always_scales" theme="scaling"
# A gradient that is shorter than `max_norm` is made longer. It has to stay as it is.
# Градиент, который короче `max_norm`, удлинён. Он должен остаться как есть.
def clip_globally(model, loss, max_norm):
    loss.backward()
    found = [parameter.grad for parameter in _trained(model) if parameter.grad is not None]
    norm = torch.cat([grad.flatten() for grad in found]).norm()
    for grad in found:
        grad.mul_(max_norm / norm)

# %% mistake="clips_nothing" theme="missing"
# Nothing is clipped: the gradients are those of `loss.backward()`.
# Ничего не отсечено: градиенты такие же, как после `loss.backward()`.
def clip_globally(model, loss, max_norm):
    loss.backward()

# %% mistake="adds_the_norms" theme="own"
# The norms of the parameters were added. The norm of all together is the root of the sum of their squares.
# Нормы параметров сложены. Общая норма — это корень из суммы их квадратов.
def clip_globally(model, loss, max_norm):
    loss.backward()
    found = [parameter.grad for parameter in _trained(model) if parameter.grad is not None]
    norm = sum(float(grad.norm()) for grad in found)
    for grad in found:
        grad.mul_(min(1.0, max_norm / norm))

# %% mistake="clips_and_leaves_hooks" theme="state"
# The gradients are right, but hooks of yours stay on the parameters.
# Градиенты верны, но на параметрах остались ваши хуки.
def clip_globally(model, loss, max_norm):
    for parameter in _trained(model):
        parameter.register_hook(lambda grad: None)
    loss.backward()
    clip_grad_norm_(model.parameters(), max_norm)

# %% mistake="fills_with_zeros" theme="accumulation"
# A parameter that got no gradient has zeros in `.grad` now. It has to keep None: an optimizer treats the two
#     differently.
# У параметра, к которому градиент не пришёл, в `.grad` теперь нули. Там должно остаться None: для оптимизатора это
#     не одно и то же.
def clip_globally(model, loss, max_norm):
    loss.backward()
    for parameter in _trained(model):
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    clip_grad_norm_(model.parameters(), max_norm)

# %% mistake="fills_the_frozen_with_zeros" like="fills_with_zeros"
def clip_globally(model, loss, max_norm):
    loss.backward()
    for parameter in model.parameters():
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    clip_grad_norm_(model.parameters(), max_norm)

# %% mistake="takes_the_largest_entry" theme="own"
# The largest entry was taken for the norm. The norm is the root of the sum of all squares.
# За норму принят наибольший по модулю элемент. А норма — это корень из суммы всех квадратов.
def clip_globally(model, loss, max_norm):
    found = _backward(model, loss)
    _scale(found, max_norm, torch.stack([grad.abs().max() for grad in found]).max())

# %% mistake="takes_the_largest_norm" theme="own"
# The largest of the parameters' norms was taken for the norm of all together.
# За общую норму принята наибольшая из норм отдельных параметров.
def clip_globally(model, loss, max_norm):
    found = _backward(model, loss)
    _scale(found, max_norm, torch.stack([grad.norm() for grad in found]).max())

# %% mistake="takes_the_mean_norm" theme="scaling"
# The mean of the parameters' norms was taken for the norm of all together.
# За общую норму принято среднее норм отдельных параметров.
def clip_globally(model, loss, max_norm):
    found = _backward(model, loss)
    _scale(found, max_norm, torch.stack([grad.norm() for grad in found]).mean())

# %% mistake="forgets_the_root" theme="own"
# The sum of the squares was taken for the norm: the root is missing.
# За норму принята сумма квадратов: не хватает корня.
def clip_globally(model, loss, max_norm):
    found = _backward(model, loss)
    _scale(found, max_norm, torch.stack([grad.square().sum() for grad in found]).sum())

# %% mistake="takes_the_weights" theme="own"
# The norm of the parameters themselves decides. It has to be that of their gradients.
# Множитель вычислен по норме самих параметров, а нужна норма их градиентов.
def clip_globally(model, loss, max_norm):
    found = _backward(model, loss)
    _scale(found, max_norm, torch.cat([parameter.detach().flatten() for parameter in model.parameters()]).norm())

# %% mistake="counts_the_frozen" theme="own"
# In the norm there are the values of parameters that have no gradient.
# В норму вошли значения параметров, у которых градиента нет.
def clip_globally(model, loss, max_norm):
    found = _backward(model, loss)
    counted = [p.detach() if p.grad is None else p.grad for p in model.parameters()]
    _scale(found, max_norm, torch.cat([each.flatten() for each in counted]).norm())

# %% mistake="direct_children_only" theme="missing"
# Only parameters of the model's direct children are clipped. Those of nested modules and of the model itself are
#     missing.
# Отсечены только градиенты параметров у модулей, которые входят в модель непосредственно. Параметры вложенных
#     модулей и самой модели пропущены.
def clip_globally(model, loss, max_norm):
    loss.backward()
    own = [p for child in model.children() for p in child.parameters(recurse=False)]
    found = [p.grad for p in own if p.grad is not None]
    _scale(found, max_norm, torch.cat([grad.flatten() for grad in found]).norm())

# %% mistake="counts_the_shared_twice" theme="scaling"
# A weight that is in two modules is counted twice and scaled twice. `model.parameters()` names it once.
# Вес, который входит в два модуля, учтён дважды и дважды умножен. В `model.parameters()` он встречается один раз.
def clip_globally(model, loss, max_norm):
    loss.backward()
    own = [p for module in model.modules() for p in module.parameters(recurse=False)]
    found = [p.grad for p in own if p.grad is not None]
    _scale(found, max_norm, torch.cat([grad.flatten() for grad in found]).norm())

# %% mistake="takes_a_running_norm" theme="order"
# Each gradient is scaled by the norm of those that have come so far. The later ones are missing there, and so the
#     factors differ.
# Каждый градиент умножен с учётом нормы только тех, что уже пришли. Более поздних в ней нет, поэтому множители
#     разные.
def clip_globally(model, loss, max_norm):
    seen = []

    def hook(grad):
        seen.append(grad.square().sum())
        return grad * (max_norm / torch.stack(seen).sum().sqrt()).clamp(max=1)

    handles = [parameter.register_hook(hook) for parameter in _trained(model)]
    loss.backward()
    for handle in handles:
        handle.remove()

# %% mistake="scales_what_is_there" theme="order"
# When the last gradient came, only the gradients that were already in `.grad` were scaled. Those that were added
#     afterwards are whole.
# Когда пришёл последний градиент, умножены только те, что уже лежали в `.grad`. Прибавленные позже остались целыми.
def clip_globally(model, loss, max_norm):
    trained = _trained(model)

    def hook(found):
        norm = torch.cat([grad.flatten() for grad in found if grad is not None]).norm()
        _scale([parameter.grad for parameter in trained if parameter.grad is not None], max_norm, norm)

    with torch.autograd.graph.register_multi_grad_hook(trained, hook):
        loss.backward()

# %% mistake="makes_two_passes" theme="cost"
# The norm is right, but it takes a backward pass of its own.
# Норма верна, но ради неё сделан отдельный обратный проход.
def clip_globally(model, loss, max_norm):
    found = torch.autograd.grad(loss, _trained(model), retain_graph=True, allow_unused=True)
    norm = torch.cat([grad.flatten() for grad in found if grad is not None]).norm().item()
    (loss * min(1.0, max_norm / norm)).backward()

# %% mistake="adds_too_much" theme="precision"
# The norm after clipping is near `max_norm`, but not near enough: its relative error is larger than 0.000001. A
#     number of 0.001 added to the norm is already too much.
# Норма после отсечения близка к `max_norm`, но недостаточно: относительная погрешность больше 0.000001. Даже 0.001,
#     прибавленная к норме, — уже слишком много.
def clip_globally(model, loss, max_norm):
    found = _backward(model, loss)
    norm = torch.cat([grad.flatten() for grad in found]).norm()
    _scale(found, max_norm, norm + 1e-3)

# %% mistake="expects_every_gradient" theme="missing"
# `.grad` of some parameters is None, and the answer computes with it.
# У части параметров в `.grad` лежит None, а в ответе это поле участвует в вычислениях.
def clip_globally(model, loss, max_norm):
    loss.backward()
    norm = torch.cat([parameter.grad.reshape(-1) for parameter in model.parameters()]).norm()
    _scale([parameter.grad for parameter in model.parameters()], max_norm, norm)

# %% mistake="limits_the_loss" theme="derivative"
# The loss itself was scaled down to `max_norm`. What is to be bounded is the norm of the gradient.
# До `max_norm` уменьшено само значение функции потерь, а ограничить нужно норму градиента.
def clip_globally(model, loss, max_norm):
    value = loss.item()
    (loss * (max_norm / value) if value > max_norm else loss).backward()

# %% mistake="matrices_only" theme="missing"
# The biases are neither in the norm nor clipped: only the weights are.
# Смещения не вошли в норму и не отсечены: учтены только веса.
def clip_globally(model, loss, max_norm):
    loss.backward()
    clip_grad_norm_([parameter for parameter in model.parameters() if parameter.dim() > 1], max_norm)

# %% mistake="adds_the_magnitudes" theme="own"
# The sum of the magnitudes was taken for the norm. The norm is the root of the sum of all squares.
# За норму принята сумма модулей. А норма — это корень из суммы всех квадратов.
def clip_globally(model, loss, max_norm):
    loss.backward()
    clip_grad_norm_(model.parameters(), max_norm, norm_type=1)

# %% mistake="scales_what_the_hook_got" theme="in_place"
# A hook for several tensors scaled in place the gradients that it got. Only some of them are those in `.grad`: the
#     others stay whole there.
# Хук для нескольких тензоров умножил на месте те градиенты, которые получил. Лишь некоторые из них — те самые, что
#     лежат в `.grad`: остальные там не отсечены.
def clip_globally(model, loss, max_norm):
    def hook(found):
        came = [grad for grad in found if grad is not None]
        _scale(came, max_norm, torch.cat([grad.flatten() for grad in came]).norm())

    with torch.autograd.graph.register_multi_grad_hook(_trained(model), hook):
        loss.backward()

# %% mistake="takes_the_mean_square" theme="scaling"
# The root of the mean of all squares was taken for the norm. The norm is the root of their sum.
# За норму принят корень из среднего всех квадратов. А норма — это корень из их суммы.
def clip_globally(model, loss, max_norm):
    found = _backward(model, loss)
    _scale(found, max_norm, torch.cat([grad.flatten() for grad in found]).square().mean().sqrt())

# %% mistake="scales_to_one" theme="missing"
# A long gradient gets the norm 1. It should get the norm `max_norm`.
# Длинный градиент получает норму 1, а должен получить норму `max_norm`.
def clip_globally(model, loss, max_norm):
    found = _backward(model, loss)
    norm = torch.cat([grad.flatten() for grad in found]).norm()
    for grad in found if norm > max_norm else []:
        grad.div_(norm)

# %% mistake="counts_the_shared_twice_and_scales_once" like="counts_the_shared_twice"
def clip_globally(model, loss, max_norm):
    loss.backward()
    own = [p.grad for module in model.modules() for p in module.parameters(recurse=False) if p.grad is not None]
    norm = torch.cat([grad.flatten() for grad in own]).norm()
    _scale([parameter.grad for parameter in _trained(model) if parameter.grad is not None], max_norm, norm)

# %% mistake="leaves_out_the_models_own" theme="missing"
# The model's own parameters are missing: only those of its modules are in the norm and clipped.
# Пропущены параметры самой модели: учтены и отсечены только параметры её модулей.
def clip_globally(model, loss, max_norm):
    loss.backward()
    clip_grad_norm_([p for child in model.children() for p in child.parameters()], max_norm)

# %% mistake="clips_all_in_each_hook" theme="order"
# All gradients are clipped together, but in the hook of each parameter. The later ones are missing there, so the
#     factors differ.
# Все градиенты отсекаются вместе, но в хуке каждого параметра. Более поздних там ещё нет, поэтому множители разные.
def clip_globally(model, loss, max_norm):
    def hook(_):
        clip_grad_norm_(model.parameters(), max_norm)

    handles = [p.register_post_accumulate_grad_hook(hook) for p in _trained(model)]
    loss.backward()
    for handle in handles:
        handle.remove()

# %% mistake="returns_from_the_hook" theme="return"
# A post-accumulate hook returns something. It has to return None: torch raises an error otherwise. A lambda returns the
#     value of its expression.
# Хук post-accumulate что-то возвращает. А он обязан вернуть None, иначе torch завершает проход ошибкой. Лямбда-функция
#     возвращает значение своего выражения.
def clip_globally(model, loss, max_norm):
    for parameter in _trained(model):
        parameter.register_post_accumulate_grad_hook(lambda p: clip_grad_norm_([p], max_norm))
    loss.backward()

# %% mistake="flattens_every_gradient" like="expects_every_gradient"
def clip_globally(model, loss, max_norm):
    loss.backward()
    norm = torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).norm()
    _scale([parameter.grad for parameter in model.parameters()], max_norm, norm)

# %% mistake="takes_every_norm" like="expects_every_gradient"
def clip_globally(model, loss, max_norm):
    loss.backward()
    norm = sum(parameter.grad.norm() ** 2 for parameter in model.parameters()) ** 0.5
    _scale([parameter.grad for parameter in model.parameters()], max_norm, norm)

# %% mistake="squares_every_gradient" like="expects_every_gradient"
def clip_globally(model, loss, max_norm):
    loss.backward()
    norm = sum((parameter.grad**2).sum() for parameter in model.parameters()) ** 0.5
    _scale([parameter.grad for parameter in model.parameters()], max_norm, norm)

# %% mistake="calls_norm_of_every_gradient" like="expects_every_gradient"
def clip_globally(model, loss, max_norm):
    loss.backward()
    norm = torch.stack([torch.norm(parameter.grad) for parameter in model.parameters()]).norm()
    _scale([parameter.grad for parameter in model.parameters()], max_norm, norm)

# %% mistake="calls_square_of_every_gradient" like="expects_every_gradient"
def clip_globally(model, loss, max_norm):
    loss.backward()
    norm = sum(parameter.grad.square().sum() for parameter in model.parameters()) ** 0.5
    _scale([parameter.grad for parameter in model.parameters()], max_norm, norm)

# %% mistake="scales_every_gradient" like="expects_every_gradient"
def clip_globally(model, loss, max_norm):
    found = _backward(model, loss)
    norm = torch.cat([grad.flatten() for grad in found]).norm()
    for parameter in model.parameters() if norm > max_norm else []:
        parameter.grad.mul_(max_norm / norm)

# %% mistake="multiplies_every_gradient" like="expects_every_gradient"
def clip_globally(model, loss, max_norm):
    found = _backward(model, loss)
    norm = torch.cat([grad.flatten() for grad in found]).norm()
    for parameter in model.parameters() if norm > max_norm else []:
        parameter.grad *= max_norm / norm
