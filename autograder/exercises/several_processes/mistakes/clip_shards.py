# %%
import torch


def _squares(parameters):
    return sum((p.grad.square().sum() for p in parameters if p.grad is not None), torch.zeros((), dtype=torch.float64))


def _scale(parameters, norm, max_norm):
    if norm > max_norm:
        for p in parameters:
            if p.grad is not None:
                p.grad.mul_(max_norm / norm)
    return norm

# %% mistake="norm_of_the_rank" theme="missing"
# Each rank takes the norm of its own shards. The ranks then scale by different factors.
# Каждый ранг берёт норму только своих частей. Тогда множители у рангов разные.
def clip_shards(parameters, max_norm, all_reduce):
    return _scale(parameters, _squares(parameters).sqrt(), max_norm)

# %% mistake="sum_of_norms" theme="derivative"
# The norms of the ranks are added. Only squares add up: 3 and 4 make 5, not 7.
# Нормы рангов сложены. А складывать можно только их квадраты: из 3 и 4 получается 5, а не 7.
def clip_shards(parameters, max_norm, all_reduce):
    return _scale(parameters, all_reduce(_squares(parameters).sqrt()), max_norm)

# %% mistake="forgets_the_root" theme="derivative"
# The sum of squares is taken for the norm: the root is missing.
# За норму принята сумма квадратов: корень не извлечён.
def clip_shards(parameters, max_norm, all_reduce):
    return _scale(parameters, all_reduce(_squares(parameters)), max_norm)

# %% mistake="scales_always" theme="own"
# The gradient is scaled to `max_norm` also where its norm is smaller. Clipping never makes a gradient longer.
# Градиент приводится к норме `max_norm`, даже если его норма меньше. Отсечение никогда не удлиняет градиент.
def clip_shards(parameters, max_norm, all_reduce):
    norm = all_reduce(_squares(parameters)).sqrt()
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(max_norm / norm)
    return norm

# %% mistake="scales_always_by_a_little_less" like="scales_always"
def clip_shards(parameters, max_norm, all_reduce):
    norm = all_reduce(_squares(parameters)).sqrt()
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(max_norm / (norm + 1e-6))
    return norm

# %% mistake="needs_a_gradient" theme="own"
# A rank without gradients never calls `all_reduce`: the others wait for it for ever.
# Ранг без градиентов не вызывает `all_reduce`: остальные ждут его вечно.
def clip_shards(parameters, max_norm, all_reduce):
    if all(p.grad is None for p in parameters):
        return torch.zeros(())
    return _scale(parameters, all_reduce(_squares(parameters)).sqrt(), max_norm)

# %% mistake="one_exchange_for_each_parameter" theme="own"
# `all_reduce` is called for each gradient that the rank has. Ranks with other numbers of gradients wait for ever.
# Функция `all_reduce` вызывается для каждого градиента, который есть у ранга. Если их число у рангов разное, кто-то ждёт
#     вечно.
def clip_shards(parameters, max_norm, all_reduce):
    squares = sum(all_reduce(p.grad.square().sum()) for p in parameters if p.grad is not None)
    return _scale(parameters, torch.as_tensor(squares, dtype=torch.float64).sqrt(), max_norm)

# %% mistake="one_exchange_for_each_gradient" like="one_exchange_for_each_parameter"
def clip_shards(parameters, max_norm, all_reduce):
    squares = torch.stack([all_reduce(p.grad.square().sum()) for p in parameters if p.grad is not None])
    return _scale(parameters, squares.sum().sqrt(), max_norm)

# %% mistake="mean_of_squares" theme="scaling"
# The squares are averaged, not summed: the norm is too small.
# Квадраты усредняются, а не складываются: норма получается слишком малой.
def clip_shards(parameters, max_norm, all_reduce):
    world = all_reduce(torch.ones((), dtype=torch.float64))
    return _scale(parameters, (all_reduce(_squares(parameters)) / world).sqrt(), max_norm)

# %% mistake="returns_the_new_norm" theme="return"
# The norm after clipping comes back. It was to be the norm before, which shows how long the gradient was.
# Возвращена норма после отсечения. А нужна прежняя: она показывает, каким длинным был градиент.
def clip_shards(parameters, max_norm, all_reduce):
    norm = all_reduce(_squares(parameters)).sqrt()
    return _scale(parameters, norm, max_norm).clamp(max=max_norm)

# %% mistake="returns_nothing" theme="return"
# No norm comes back.
# Норма не возвращена.
def clip_shards(parameters, max_norm, all_reduce):
    _scale(parameters, all_reduce(_squares(parameters)).sqrt(), max_norm)

# %% mistake="clips_each_parameter" theme="axes"
# Each parameter is clipped by a norm of its own. That changes the direction of the whole gradient.
# Каждый параметр отсекается по собственной норме. Направление всего градиента при этом меняется.
def clip_shards(parameters, max_norm, all_reduce):
    norm = all_reduce(_squares(parameters)).sqrt()
    for p in parameters:
        if p.grad is not None and p.grad.norm() > max_norm:
            p.grad.mul_(max_norm / p.grad.norm())
    return norm

# %% mistake="clips_before_the_exchange" theme="order"
# Each rank clips by its own norm. The factor has to come from the norm of the whole.
# Каждый ранг отсекает по своей норме. А множитель должен получаться из нормы всего градиента.
def clip_shards(parameters, max_norm, all_reduce):
    own = _squares(parameters)
    _scale(parameters, own.sqrt(), max_norm)
    return all_reduce(own).sqrt()

# %% mistake="factor_of_the_rank" like="clips_before_the_exchange"
def clip_shards(parameters, max_norm, all_reduce):
    own = _squares(parameters)
    norm = all_reduce(own).sqrt()
    for p in parameters:
        if p.grad is not None and norm > max_norm:
            p.grad.mul_(max_norm / own.sqrt())
    return norm

# %% mistake="fills_none" theme="own"
# A `.grad` of None became zeros. An optimizer skips None, but steps with zeros: momentum and weight decay act.
# Вместо None в `.grad` появились нули. Параметр с None оптимизатор пропускает, а с нулями делает шаг: действуют импульс и
#     затухание весов.
def clip_shards(parameters, max_norm, all_reduce):
    norm = all_reduce(_squares(parameters)).sqrt()
    for p in parameters:
        p.grad = (torch.zeros_like(p) if p.grad is None else p.grad) * min(1.0, (max_norm / norm).item())
    return norm

# %% mistake="changes_only_a_name" theme="in_place"
# The norm is right, but no `.grad` has changed: nothing is scaled, or the scaled tensors are new ones that nobody
#     keeps.
# Норма верна, но ни один `.grad` не изменился: ничего не умножено, или при умножении созданы новые тензоры, но
#     обратно они не записаны.
def clip_shards(parameters, max_norm, all_reduce):
    return all_reduce(_squares(parameters)).sqrt()

# %% mistake="adds_norms_of_parameters" theme="derivative"
# On each rank the norms of the parameters were added before squaring. Only squares add up.
# На каждом ранге нормы параметров сложены ещё до возведения в квадрат. А складывать можно только квадраты.
def clip_shards(parameters, max_norm, all_reduce):
    own = sum((p.grad.norm() for p in parameters if p.grad is not None), torch.zeros((), dtype=torch.float64))
    return _scale(parameters, all_reduce(own.square()).sqrt(), max_norm)

# %% mistake="needs_something_to_join" theme="own"
# A rank without gradients raises an error: there is nothing to stack or to join. It has to offer 0.
# Ранг без градиентов завершается ошибкой: складывать или соединять нечего. Он должен отправить 0.
def clip_shards(parameters, max_norm, all_reduce):
    own = torch.cat([p.grad.flatten() for p in parameters if p.grad is not None]).square().sum()
    return _scale(parameters, all_reduce(own).sqrt(), max_norm)

# %% mistake="nothing_to_stack" like="needs_something_to_join"
def clip_shards(parameters, max_norm, all_reduce):
    own = torch.stack([p.grad.norm() for p in parameters if p.grad is not None]).norm()
    return _scale(parameters, all_reduce(own.square()).sqrt(), max_norm)

# %% mistake="root_of_a_sum_of_norms" theme="derivative"
# The root was taken, but of a sum of norms: they were not squared before the exchange.
# Корень извлечён, но из суммы норм: перед обменом они не возведены в квадрат.
def clip_shards(parameters, max_norm, all_reduce):
    return _scale(parameters, all_reduce(_squares(parameters).sqrt()).sqrt(), max_norm)

# %% mistake="returns_the_norm_of_the_rank" theme="return"
# The gradients are right, but what comes back is the norm of the rank. It was to be the norm of the whole.
# Градиенты верны, но возвращена норма только этого ранга. А нужна норма всего градиента.
def clip_shards(parameters, max_norm, all_reduce):
    own = _squares(parameters)
    _scale(parameters, all_reduce(own).sqrt(), max_norm)
    return own.sqrt()

# %% mistake="the_rank_decides" theme="own"
# Each rank decides by its own norm whether to clip. The norm of the whole is compared with `max_norm`, on all ranks alike.
# Каждый ранг решает по своей норме, отсекать ли. Но с `max_norm` нужно сравнивать норму всего градиента, одну для всех рангов.
def clip_shards(parameters, max_norm, all_reduce):
    own = _squares(parameters)
    norm = all_reduce(own).sqrt()
    return _scale(parameters, norm, max_norm) if own.sqrt() > max_norm else norm

# %% mistake="factor_of_squares" theme="derivative"
# The norm is right, but the factor was made of squares: $(c / n)^2$ in place of $c / n$.
# Норма верна, но множитель составлен из квадратов: $(c / n)^2$ вместо $c / n$.
def clip_shards(parameters, max_norm, all_reduce):
    norm = all_reduce(_squares(parameters)).sqrt()
    for p in parameters:
        if p.grad is not None and norm > max_norm:
            p.grad.mul_((max_norm / norm) ** 2)
    return norm

# %% mistake="sum_without_terms" theme="own"
# A rank without gradients gives a number to `all_reduce`: a sum without terms is still the 0 that it began with. It has to be
#     a tensor.
# Ранг без градиентов передаёт в `all_reduce` число: сумма без слагаемых — это тот 0, с которого она начата. Нужен тензор.
def clip_shards(parameters, max_norm, all_reduce):
    own = sum(p.grad.square().sum() for p in parameters if p.grad is not None)
    return _scale(parameters, all_reduce(own).sqrt(), max_norm)

# %% mistake="number_for_a_tensor" theme="own"
# A number was given to `all_reduce`, which takes a tensor. What comes from `.item()` or `float()` is no tensor any more.
# В `all_reduce` передано число, а нужен тензор. То, что вернули `.item()` или `float()`, уже не тензор.
def clip_shards(parameters, max_norm, all_reduce):
    return _scale(parameters, all_reduce(_squares(parameters).item()).sqrt(), max_norm)

# %% mistake="zero_divided_by_zero" theme="precision"
# If all gradients are 0, so is their norm, and 0 divided by 0 is NaN. A norm that is not above `max_norm` needs no division.
# Если все градиенты равны 0, то и их норма равна 0, а 0 / 0 — это NaN. Пока норма не больше `max_norm`, делить не нужно.
def clip_shards(parameters, max_norm, all_reduce):
    norm = all_reduce(_squares(parameters)).sqrt()
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(norm.clamp(max=max_norm) / norm)
    return norm

# %% mistake="divides_a_number_by_zero" theme="own"
# If all gradients are 0, so is their norm, and Python refuses to divide a number by 0. A norm that is not above `max_norm`
#     needs no division.
# Если все градиенты равны 0, то и их норма равна 0, а делить число на 0 Python не станет. Пока норма не больше `max_norm`,
#     делить не нужно.
def clip_shards(parameters, max_norm, all_reduce):
    norm = all_reduce(_squares(parameters)).sqrt()
    for p in parameters:
        if p.grad is not None:
            p.grad.mul_(min(1.0, max_norm / norm.item()))
    return norm
