# %%
import torch

from ..programs.is_right_td import learn


def _learn(model, steps, gamma, lam, alpha, **fault):
    trained = [p for p in model.parameters() if p.requires_grad]
    return learn(trained, lambda state: model(state).sum(), steps, gamma, lam, alpha, **fault)

# %% mistake="both_sides" theme="recording"
# The value of the next state is not detached: the gradient goes through both sides of the TD error. The target is a
#     number.
# Ценность следующего состояния не отсоединена от графа: градиент идёт через обе части TD-ошибки. А цель — просто
#     число.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", through_next=True)

# %% mistake="never_resets" theme="state"
# The traces are never cleared: a reward of one episode changes the states of the one before.
# Следы не обнуляются: награда одного эпизода меняет ценности состояний предыдущего.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", resets="never")

# %% mistake="keeps_the_traces" theme="state"
# The traces outlive the call: a second call begins with those of the first, and not with 0.
# Следы переживают вызов: новый вызов начинает с прежних следов, а не с 0.
def td_lambda(model, steps, gamma, lam, alpha):
    trained = [p for p in model.parameters() if p.requires_grad]
    traces = [model.__dict__.setdefault(f"trace {i}", torch.zeros_like(p)) for i, p in enumerate(trained)]
    errors = []
    for state, reward, next_state, terminated, truncated in steps:
        v = model(state).sum()
        gradients = torch.autograd.grad(v, trained)
        with torch.no_grad():
            delta = reward + (0.0 if terminated else gamma * model(next_state).item()) - v.item()
            for p, trace, gradient in zip(trained, traces, gradients):
                trace.mul_(gamma * lam).add_(gradient)
                p += alpha * delta * trace
                if terminated or truncated:
                    trace.zero_()
        errors.append(delta)
    return errors

# %% mistake="resets_when_terminated" theme="missing"
# The traces are cleared after `terminated` only. After `truncated` another episode begins as well.
# Следы обнуляются только после `terminated`. Но и после `truncated` начинается другой эпизод.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", resets="terminated")

# %% mistake="truncation_is_an_end" theme="missing"
# A truncated episode is treated as one that has ended: its next state has a value, only nobody waited for it.
# Оборванный эпизод принят за законченный. Но у состояния, на котором его оборвали, ценность есть: награды были впереди.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="either")

# %% mistake="bootstraps_at_the_end" theme="missing"
# After a terminal step the value of the next state is still added. Nothing comes after the end, whatever the model
#     says there.
# На последнем шаге эпизода по-прежнему учтена ценность следующего состояния. Но после конца наград нет, что бы
#     ни вычислила модель.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="never")

# %% mistake="without_traces" theme="missing"
# There are no traces: each step changes the present state alone, as in TD(0).
# Следов нет: на каждом шаге меняется только ценность текущего состояния, как в TD(0).
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", resets="always")

# %% mistake="decays_by_lambda" theme="missing"
# The traces decay by `lam` alone. The factor is `gamma * lam`.
# Следы затухают с множителем `lam`, а нужен множитель `gamma * lam`.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", decay=lam)

# %% mistake="never_decays" theme="missing"
# The traces do not decay: each old gradient counts as much as the new one.
# Следы не затухают: каждый старый градиент входит с тем же весом, что и новый.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", decay=1.0)

# %% mistake="fades_at_once" theme="scaling"
# Each step is too short by the factor $\gamma\lambda$, as when the new gradient fades at once: only what is in the trace
#     already is to fade.
# Каждый шаг умножен ещё и на $\gamma\lambda$: так бывает, если новый градиент затухает сразу. Затухать должно только то,
#     что уже есть в следе.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", factor=gamma * lam)

# %% mistake="downhill" theme="derivative"
# The step goes the wrong way: $\alpha \delta z$ is added to the weights, not subtracted.
# Шаг направлен не туда: $\alpha \delta z$ прибавляют к весам, а не вычитают.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", factor=-1.0)

# %% mistake="twice_as_long" theme="scaling"
# Each step is twice as long, as when the squared error is differentiated without the factor ½.
# Каждый шаг вдвое длиннее нужного: так бывает, если дифференцировать квадрат ошибки без множителя ½.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", factor=2.0)

# %% mistake="stale_trace" theme="order"
# The weights move along the trace of the step before: the new gradient is added after the step.
# Веса сдвигаются вдоль следа прошлого шага: новый градиент прибавляется к следу уже после сдвига.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", stale=True)

# %% mistake="learns_nothing" theme="missing"
# The weights do not change.
# Веса не меняются.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", factor=0.0)

# %% mistake="returns_nothing" theme="return"
# The weights are right, but nothing is returned, or no list.
# Веса верны, но ничего не возвращается или возвращается не список.
def td_lambda(model, steps, gamma, lam, alpha):
    _learn(model, steps, gamma, lam, alpha, ends="terminated")

# %% mistake="through_grad" theme="accumulation"
# `.grad` is not as it was: `v.backward()` adds to it, and clearing it afterwards does not bring the old gradient
#     back.
# Содержимое `.grad` изменилось: `v.backward()` прибавляет к нему новый градиент, а обнуление потом не вернёт прежний.
def td_lambda(model, steps, gamma, lam, alpha):
    errors = _learn(model, steps, gamma, lam, alpha, ends="terminated")
    model.zero_grad()
    return errors

# %% mistake="leaves_gradients" theme="accumulation"
# `v.backward()` has left its gradients in `.grad`: it was to stay as it was.
# Вызов `v.backward()` оставил градиенты в `.grad`, а это поле должно было остаться прежним.
def td_lambda(model, steps, gamma, lam, alpha):
    errors = _learn(model, steps, gamma, lam, alpha, ends="terminated")
    for p in model.parameters():
        if p.requires_grad:
            p.grad = torch.ones_like(p)
    return errors

# %% mistake="returns_tensors" theme="missing"
# The list holds tensors. Python numbers are asked for: `.item()` makes one of a tensor.
# В списке лежат тензоры, а нужны числа Python: число из тензора делает `.item()`.
def td_lambda(model, steps, gamma, lam, alpha):
    errors = _learn(model, steps, gamma, lam, alpha, ends="terminated")
    return [torch.tensor(error, dtype=torch.float64) for error in errors]

# %% mistake="carries_the_value" theme="order"
# $v(s)$ in $\delta$ is the value that the step before computed for its next state. The weights have moved since:
#     compute it anew.
# Значение $v(s)$ в $\delta$ взято с прошлого шага, где это состояние было следующим. С тех пор веса изменились:
#     вычислите его заново.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", carries=True)

# %% mistake="clears_too_early" theme="order"
# The traces are cleared before the last step of an episode, not after it: the error of this step changes the last
#     state alone.
# Следы обнуляются до последнего шага эпизода, а не после: ошибка этого шага меняет ценность только последнего состояния.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", resets="early")

# %% mistake="trains_the_frozen" theme="recording"
# Frozen weights move as well. Only those that require grad are trained.
# Меняются и замороженные веса. А обучать нужно только те, которые требуют градиента.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model.requires_grad_(), steps, gamma, lam, alpha, ends="terminated")

# %% mistake="asks_for_the_frozen" theme="recording"
# The gradient is taken with respect to a frozen weight as well. Pass `torch.autograd.grad` only those that require
#     grad.
# Градиент вычисляется и по замороженным весам. Передайте функции `torch.autograd.grad` только те веса, которые
#     требуют градиента.
def td_lambda(model, steps, gamma, lam, alpha):
    every = list(model.parameters())
    return learn(every, lambda state: model(state).sum(), steps, gamma, lam, alpha, ends="terminated")

# %% mistake="errors_afterwards" theme="order"
# The weights are right, but each returned $\delta$ was computed after the step: its values are those of the new
#     weights.
# Веса верны, но каждое возвращённое $\delta$ вычислено после шага: ценности в нём получены с новыми весами.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", late="both")

# %% mistake="value_afterwards" theme="order"
# The weights are right, but $v(s)$ in each returned $\delta$ was computed after the step, with the new weights.
# Веса верны, но $v(s)$ в каждом возвращённом $\delta$ вычислено после шага, с новыми весами.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", late="value")

# %% mistake="forgets_gamma" theme="missing"
# `gamma` is missing in the TD error: the value of the next state enters it as it is.
# В TD-ошибке нет множителя `gamma`: ценность следующего состояния входит без него.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, 1.0, lam, alpha, ends="terminated", decay=gamma * lam)

# %% mistake="forgets_alpha" theme="missing"
# `alpha` is missing: the weights move by $\delta z$.
# Нет множителя `alpha`: веса сдвигаются на $\delta z$.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, 1.0, ends="terminated")

# %% mistake="forgets_the_reward" theme="missing"
# The reward is missing in the TD error.
# В TD-ошибке нет награды.
def td_lambda(model, steps, gamma, lam, alpha):
    unpaid = [(state, 0.0, *rest) for state, _, *rest in steps]
    return _learn(model, unpaid, gamma, lam, alpha, ends="terminated")

# %% mistake="resets_when_truncated" theme="missing"
# The traces are cleared after `truncated` only. After `terminated` another episode begins as well.
# Следы обнуляются только после `truncated`. Но и после `terminated` начинается другой эпизод.
def td_lambda(model, steps, gamma, lam, alpha):
    return _learn(model, steps, gamma, lam, alpha, ends="terminated", resets="truncated")

# %% mistake="returns_the_sum" theme="missing"
# The weights are right, but a single number is returned. Asked for is the list of the TD errors of all steps.
# Веса верны, но возвращено одно число. А нужен список TD-ошибок всех шагов.
def td_lambda(model, steps, gamma, lam, alpha):
    return sum(_learn(model, steps, gamma, lam, alpha, ends="terminated"))

# %% mistake="returns_tensors_of_one" like="returns_tensors"
def td_lambda(model, steps, gamma, lam, alpha):
    errors = _learn(model, steps, gamma, lam, alpha, ends="terminated")
    return [torch.tensor([error], dtype=torch.float64) for error in errors]

# %% mistake="leaves_it_frozen" theme="state"
# The flags `requires_grad` of trained weights are off afterwards. They were to stay as they were.
# Флаги `requires_grad` обучаемых весов потом выключены. А они должны были остаться прежними.
def td_lambda(model, steps, gamma, lam, alpha):
    errors = _learn(model, steps, gamma, lam, alpha, ends="terminated")
    model.requires_grad_(False)
    return errors

# %% mistake="traces_on_the_cpu" theme="device"
# A tensor was made on the CPU, although the weights lie on a GPU, and torch refuses to mix the two.
#     `torch.zeros_like(p)` follows its weight.
# Какой-то тензор создан на CPU, хотя веса лежат на GPU, и torch отказывается их смешивать. Функция
#     `torch.zeros_like(p)` берёт устройство у веса.
def td_lambda(model, steps, gamma, lam, alpha):
    for p in model.parameters():
        torch.zeros(p.shape, dtype=p.dtype).add_(p.detach())
    return _learn(model, steps, gamma, lam, alpha, ends="terminated")

# %% mistake="clears_before_the_update" theme="order"
# At the end of an episode the traces are cleared before the weights move: the last step teaches nothing.
# В конце эпизода следы обнуляются раньше, чем меняются веса: последний шаг ничему не учит.
def td_lambda(model, steps, gamma, lam, alpha):
    trained = [p for p in model.parameters() if p.requires_grad]
    traces, errors = [torch.zeros_like(p) for p in trained], []
    for state, reward, after, terminated, truncated in steps:
        v = model(state).sum()
        gradients = torch.autograd.grad(v, trained)
        with torch.no_grad():
            errors.append(reward + (0.0 if terminated else gamma * model(after).item()) - v.item())
            for p, trace, gradient in zip(trained, traces, gradients):
                trace.mul_(gamma * lam).add_(gradient).mul_(not (terminated or truncated))
                p += alpha * errors[-1] * trace
    return errors

# %% mistake="clears_before_the_last_step" like="clears_too_early"
def td_lambda(model, steps, gamma, lam, alpha):
    trained = [p for p in model.parameters() if p.requires_grad]
    traces, errors = [torch.zeros_like(p) for p in trained], []
    for state, reward, after, terminated, truncated in steps:
        v = model(state).sum()
        gradients = torch.autograd.grad(v, trained)
        with torch.no_grad():
            errors.append(reward + (0.0 if terminated else gamma * model(after).item()) - v.item())
            for p, trace, gradient in zip(trained, traces, gradients):
                trace.mul_(0.0 if terminated or truncated else gamma * lam).add_(gradient)
                p += alpha * errors[-1] * trace
                trace.mul_(not (terminated or truncated))
    return errors
