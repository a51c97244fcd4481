# %%
import copy

import torch
from torch.nn.functional import mse_loss


def _train(model, optimizer, batches):
    for x, y in batches:
        optimizer.zero_grad()
        mse_loss(model(x), y).backward()
        optimizer.step()

# %% mistake="removes_all_at_the_end" theme="state"
# A hook is still registered in every step. All are taken off at the end, but until then they multiply.
# Хук по-прежнему ставится на каждом шаге. В конце все они сняты, но до того умножают один за другим.
def train_damped(model, optimizer, batches, factor):
    handles = []
    for batch in batches:
        handles.append(model.weight.register_hook(lambda grad: factor * grad))
        _train(model, optimizer, [batch])
    for handle in handles:
        handle.remove()

# %% mistake="never_removes" theme="state"
# There is one hook now, but it stays after the function: the next training will be damped, too.
# Хук теперь один, но после функции он остаётся: следующее обучение тоже будет ослаблено.
def train_damped(model, optimizer, batches, factor):
    model.weight.register_hook(lambda grad: factor * grad)
    _train(model, optimizer, batches)

# %% mistake="clears_all_hooks" theme="state"
# All hooks of the parameter were cleared, somebody else's as well. A handle takes off one hook only.
# Убраны все хуки параметра, в том числе чужой. Дескриптор снимает только один хук.
def train_damped(model, optimizer, batches, factor):
    for batch in batches:
        model.weight._backward_hooks.clear()
        model.weight.register_hook(lambda grad: factor * grad)
        _train(model, optimizer, [batch])
    model.weight._backward_hooks.clear()

# %% mistake="damps_the_first_step" theme="order"
# The hook is taken off after the first step: the later steps are not damped.
# Хук снят после первого шага: следующие шаги не ослаблены.
def train_damped(model, optimizer, batches, factor):
    handle = model.weight.register_hook(lambda grad: factor * grad)
    for batch in batches:
        _train(model, optimizer, [batch])
        handle.remove()

# %% mistake="damps_everything" theme="own"
# The gradient of the bias is multiplied as well.
# Умножается и градиент смещения.
def train_damped(model, optimizer, batches, factor):
    handles = [parameter.register_hook(lambda grad: factor * grad) for parameter in model.parameters()]
    _train(model, optimizer, batches)
    for handle in handles:
        handle.remove()

# %% mistake="damps_nothing" theme="missing"
# Nothing is damped: the steps are those of training without a hook.
# Ничего не ослаблено: шаги такие же, как при обучении без хука.
def train_damped(model, optimizer, batches, factor):
    _train(model, optimizer, batches)

# %% mistake="removes_the_last" theme="state"
# A hook is still registered in every step, and only the last one is taken off.
# Хук по-прежнему ставится на каждом шаге, а снят только последний.
def train_damped(model, optimizer, batches, factor):
    for batch in batches:
        handle = model.weight.register_hook(lambda grad: factor * grad)
        _train(model, optimizer, [batch])
    handle.remove()

# %% mistake="forgets_to_clear" theme="accumulation"
# The gradients are not cleared between the steps: each step is made with the sum of all gradients so far.
# Между шагами градиенты не обнуляются: каждый шаг делается по сумме всех прежних градиентов.
def train_damped(model, optimizer, batches, factor):
    with model.weight.register_hook(lambda grad: factor * grad):
        for x, y in batches:
            mse_loss(model(x), y).backward()
            optimizer.step()

# %% mistake="scales_the_weight" theme="own"
# The weight itself is multiplied after each step, not its gradient.
# После каждого шага умножается сам вес, а не его градиент.
def train_damped(model, optimizer, batches, factor):
    for batch in batches:
        _train(model, optimizer, [batch])
        with torch.no_grad():
            model.weight.mul_(factor)

# %% mistake="makes_one_step" theme="order"
# There is one step for all batches together. Each pair makes a step of its own.
# На все батчи вместе сделан один шаг, а на каждую пару нужен свой.
def train_damped(model, optimizer, batches, factor):
    with model.weight.register_hook(lambda grad: factor * grad):
        optimizer.zero_grad()
        torch.stack([mse_loss(model(x), y) for x, y in batches]).sum().backward()
        optimizer.step()

# %% mistake="clears_all_in_each_step" like="clears_all_hooks"
def train_damped(model, optimizer, batches, factor):
    for batch in batches:
        model.weight.register_hook(lambda grad: factor * grad)
        _train(model, optimizer, [batch])
        model.weight._backward_hooks.clear()

# %% mistake="scales_the_step" theme="own"
# The change of the weight is multiplied after each step, not its gradient. With momentum that is not the same.
# После каждого шага умножается изменение веса, а не его градиент. При импульсе это не одно и то же.
def train_damped(model, optimizer, batches, factor):
    for batch in batches:
        before = model.weight.detach().clone()
        _train(model, optimizer, [batch])
        with torch.no_grad():
            model.weight.copy_(before + factor * (model.weight - before))

# %% mistake="clears_before_the_step" theme="order"
# The steps do not change the weights: the gradients were cleared between `backward()` and `step()`.
# Шаги не меняют весов: градиенты обнулены между `backward()` и `step()`.
def train_damped(model, optimizer, batches, factor):
    with model.weight.register_hook(lambda grad: factor * grad):
        for x, y in batches:
            mse_loss(model(x), y).backward()
            optimizer.zero_grad()
            optimizer.step()

# %% mistake="trains_a_copy" theme="in_place"
# The steps do not change the weights, and somebody else's hook does not run: no backward pass reaches this model. A
#     copy has parameters of its own, which the optimizer does not know.
# Шаги не меняют весов, и чужой хук не срабатывает: ни один обратный проход до этой модели не доходит. У копии свои
#     параметры, и оптимизатор о них не знает.
def train_damped(model, optimizer, batches, factor):
    twin = copy.deepcopy(model)
    for x, y in batches:
        optimizer.zero_grad()
        mse_loss(twin(x), y).backward()
        optimizer.step()

# %% mistake="edits_the_gradient" theme="in_place"
# The hook changes its argument in place. In a sum that tensor is also the gradient of the bias, which is damped
#     then, too.
# Хук меняет свой аргумент на месте. При сложении этот же тензор служит градиентом и для смещения, и тогда ослаблен
#     и он.
def train_damped(model, optimizer, batches, factor):
    with model.weight.register_hook(lambda grad: grad.mul_(factor)):
        _train(model, optimizer, batches)

# %% mistake="scales_the_learning_rate" theme="state"
# The learning rate is multiplied: the steps of the bias are damped, too, and so is every later training.
# Умножена скорость обучения: ослаблены и шаги смещения, и любое следующее обучение.
def train_damped(model, optimizer, batches, factor):
    for group in optimizer.param_groups:
        group["lr"] *= abs(factor)
    _train(model, optimizer, batches)

# %% mistake="scales_the_signed_learning_rate" like="scales_the_learning_rate"
def train_damped(model, optimizer, batches, factor):
    for group in optimizer.param_groups:
        group["lr"] *= factor
    _train(model, optimizer, batches)
