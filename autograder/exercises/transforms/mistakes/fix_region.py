# %%
import torch
from torch.nn.functional import mse_loss


def _region(**options):
    return torch.autocast("cpu", torch.bfloat16, **options)


def _train(model, batches, rate, region=_region, after=lambda: None, keep=False, early=False):
    """Train by plain descent with one region for each forward pass."""
    losses = []
    for x, y in batches:
        with region():
            output = model(x)
        loss = mse_loss(output.float(), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
        if not keep:
            model.zero_grad()
        if early:
            with torch.no_grad(), _region(cache_enabled=False):
                loss = mse_loss(model(x).float(), y)
        losses.append(loss.item())
        after()
    return losses

# %% mistake="region_around_the_loop" theme="state"
# All steps compute with the first weights: the region around the loop keeps their bfloat16 copies.
# На всех шагах потери вычислены с первоначальными весами: область вокруг цикла хранит их копии в bfloat16.
def fix_region(model, batches, rate):
    with _region():
        return _train(model, batches, rate)

# %% mistake="only_the_inner_region" theme="state"
# It works alone. Inside a region of the caller's the copies outlive your region, and the weights are old again.
# Само по себе это работает. Но внутри чужой области копии живут до её конца, и веса снова старые.
def fix_region(model, batches, rate):
    return _train(model, batches, rate)

# %% mistake="switched_off" theme="precision"
# Nothing is computed in bfloat16 any more: autocast is off. It is not enough that the loss falls.
# В bfloat16 больше ничего не вычисляется: autocast выключен. Мало того, чтобы потери уменьшались.
def fix_region(model, batches, rate):
    return _train(model, batches, rate, region=lambda: _region(enabled=False))

# %% mistake="gradients_pile_up" theme="accumulation"
# The gradients of earlier steps were not cleared, and each step adds to them.
# Градиенты прошлых шагов не обнулены, и каждый шаг прибавляет к ним новые.
def fix_region(model, batches, rate):
    return _train(model, batches, rate, region=lambda: _region(cache_enabled=False), keep=True)

# %% mistake="loss_after_the_step" theme="order"
# The loss was computed once more after the step. It belongs to the weights before it.
# Потери вычислены ещё раз, уже после шага, а нужны потери с весами до него.
def fix_region(model, batches, rate):
    return _train(model, batches, rate, region=lambda: _region(cache_enabled=False), early=True)

# %% mistake="all_parameters_in_bfloat16" theme="precision"
# The weights themselves were converted to bfloat16. autocast leaves them in float32.
# В bfloat16 переведены сами веса. А внутри autocast они остаются в float32.
def fix_region(model, batches, rate):
    model.to(torch.bfloat16)
    return _train(model, [(x.to(torch.bfloat16), y) for x, y in batches], rate, region=lambda: _region(enabled=False))

# %% mistake="there_and_back" theme="precision"
# The weights are converted to bfloat16 for the pass, and back. That rounds them to two or three digits.
# На время прохода веса переводятся в bfloat16, а потом обратно. От этого они округляются до двух-трёх цифр.
def fix_region(model, batches, rate):
    losses = []
    for x, y in batches:
        output = model.bfloat16()(x.bfloat16())
        loss = mse_loss(output.float(), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
        model.zero_grad()
        model.float()
        losses.append(loss.item())
    return losses

# %% mistake="mean_of_losses" theme="return"
# A single number came back. Asked for is a list with the loss of each step.
# Возвращено одно число, а нужен список потерь по шагам.
def fix_region(model, batches, rate):
    losses = _train(model, batches, rate, region=lambda: _region(cache_enabled=False))
    return sum(losses) / len(losses)

# %% mistake="losses_as_tensors" theme="return"
# The list holds tensors. Asked for are Python numbers.
# В списке тензоры, а нужны числа Python.
def fix_region(model, batches, rate):
    return [torch.tensor(loss) for loss in _train(model, batches, rate, region=lambda: _region(cache_enabled=False))]

# %% mistake="update_without_effect" theme="in_place"
# The weights never change. A line such as `p = p - rate * p.grad` would only give a name to a new tensor.
# Веса не меняются. Строка вроде `p = p - rate * p.grad` лишь дала бы имя новому тензору.
def fix_region(model, batches, rate):
    return _train(model, batches, rate=0.0, region=lambda: _region(cache_enabled=False))

# %% mistake="all_steps_at_the_end" theme="order"
# All passes meet the first weights: the model changes only after the last of them. A step belongs to each batch.
# Все проходы идут с первоначальными весами: модель меняется только после последнего. А шаг нужен после каждого батча.
def fix_region(model, batches, rate):
    losses = []
    for x, y in batches:
        with _region(cache_enabled=False):
            output = model(x)
        loss = mse_loss(output.float(), y)
        loss.backward()
        losses.append(loss.item())
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= rate * p.grad
    model.zero_grad()
    return losses

# %% mistake="in_training_mode" theme="state"
# The model was put into training mode. It is called in the mode in which it is.
# Модель переведена в режим обучения. А вызывать её нужно в том режиме, в котором она передана.
def fix_region(model, batches, rate):
    model.train()
    return _train(model, batches, rate, lambda: _region(cache_enabled=False))
