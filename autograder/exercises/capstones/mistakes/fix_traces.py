# %%
import torch


def _run(
    model,
    optimizer,
    states,
    rewards,
    gamma,
    lam,
    *,
    sign=-1,
    clears="each",
    twice=False,
    steps=True,
    decay=None,
    beyond=False,
    scales=False,
    discount=None,
    carries=False,
    weighs=False,
    first=False,
    traces=None,
):
    """Run the update; the arguments after `lam` choose its faults.

    `sign` is that of the update. `clears` says when `.grad` is cleared. If `twice`, the learning rate is multiplied in
    by hand. If `steps` is False, the weights are changed by hand; if None, not at all. `decay` replaces gamma * lam. If `beyond`, the last
    state is its own next one. If `scales`, the trace becomes the update. `discount` replaces gamma in the TD error. If
    `carries`, the value of a state is that which the step before computed. If `weighs`, each gradient enters the trace
    multiplied by its own TD error. If `first`, only the first parameter has a trace. `traces` are those at the start.
    """
    alpha = optimizer.param_groups[0]["lr"]
    traces = [torch.zeros_like(p) for p in model.parameters()] if traces is None else traces
    carried = None
    if clears == "once":
        optimizer.zero_grad()
    for t, reward in enumerate(rewards):
        if clears == "each":
            optimizer.zero_grad()
        v = model(states[t])
        after = min(t + 1, len(rewards) - 1)
        v_next = model(states[after]).item() if beyond or after > t else 0.0
        v.backward()
        delta = reward + (gamma if discount is None else discount) * v_next - (v.item() if carried is None else carried)
        carried = v_next if carries else None
        for trace, p in zip(traces[:1] if first else traces, model.parameters()):
            trace[:] = (gamma * lam if decay is None else decay) * trace + (delta * p.grad if weighs else p.grad)
            p.grad[:] = sign * (alpha if twice else 1) * (1 if weighs else delta) * trace
            if scales:
                trace[:] = p.grad
        if steps:
            optimizer.step()
        elif steps is False:
            with torch.no_grad():
                for p in model.parameters():
                    p -= alpha * p.grad
        if clears == "afterwards":
            optimizer.zero_grad()

# %% mistake="still_downhill" theme="derivative"
# The step still goes the wrong way: the optimizer subtracts `p.grad`, so the update has to stand there with a
#     minus.
# Шаг по-прежнему направлен не туда: оптимизатор вычитает `p.grad`, поэтому обновление нужно записать туда с
#     минусом.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, sign=1)

# %% mistake="still_adds" theme="accumulation"
# `v.backward()` still adds to the update that the last step left in `p.grad`, and the trace takes both.
# Вызов `v.backward()` по-прежнему прибавляет градиент к обновлению, которое осталось в `p.grad` от прошлого шага, и в след
#     попадают оба.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, clears="never")

# %% mistake="still_twice" theme="scaling"
# The step size is still there twice: in `p.grad`, and in the optimizer's `lr`.
# Размер шага по-прежнему учтён дважды: в `p.grad` и в `lr` оптимизатора.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, twice=True)

# %% mistake="the_sign_alone" theme="accumulation"
# Only the sign is mended. The step size is in it twice, and `v.backward()` adds to what the last step left in
#     `p.grad`.
# Исправлен только знак. Размер шага учтён дважды, а `v.backward()` прибавляет градиент к тому, что осталось в `p.grad` от
#     прошлого шага.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, clears="never", twice=True)

# %% mistake="the_clearing_alone" theme="scaling"
# Only the clearing is mended. The step goes the wrong way, and the step size is in it twice.
# Исправлено только обнуление. Шаг направлен не туда, а размер шага учтён дважды.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, sign=1, twice=True)

# %% mistake="the_step_size_alone" theme="accumulation"
# Only the step size is mended. The step goes the wrong way, and `v.backward()` adds to what the last step left in
#     `p.grad`.
# Исправлен только размер шага. Шаг направлен не туда, а `v.backward()` прибавляет градиент к тому, что осталось в `p.grad`
#     от прошлого шага.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, sign=1, clears="never")

# %% mistake="steps_by_hand" theme="missing"
# The optimizer that was passed makes no step. A step by hand does not replace it: Adam, for one, does not subtract
#     `lr` times `p.grad`.
# Переданный оптимизатор не делает ни одного шага. Шаг вручную его не заменит: Adam, например, вычитает не
#     `p.grad`, умноженный на `lr`.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, steps=False)

# %% mistake="forgets_the_traces" theme="missing"
# The update does not go along the traces: only the value of the present state changes, as in TD(0).
# Обновление не идёт вдоль следов: меняется только ценность текущего состояния, как в TD(0).
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, decay=0.0)

# %% mistake="clears_too_late" theme="order"
# What is to be added to a trace is None. So is `p.grad` if `zero_grad()` stands between `v.backward()` and the
#     traces, or if there is no `v.backward()`.
# К следу прибавляется None вместо градиента. В `p.grad` лежит None, если `zero_grad()` стоит между `v.backward()`
#     и следами или если `v.backward()` не вызван.
def fix_traces(m, o, s, r, gamma, lam):
    traces = [torch.zeros_like(p) for p in m.parameters()]
    for t, reward in enumerate(r):
        v = m(s[t])
        v_next = m(s[t + 1]).item() if t + 1 < len(r) else 0.0
        v.backward()
        o.zero_grad()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, m.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta * trace
        o.step()

# %% mistake="zeroes_too_late" theme="order"
# The weights never move: at `optimizer.step()` no gradient is left, as when it is cleared after `v.backward()`.
# Веса не меняются: к вызову `optimizer.step()` от градиента ничего не остаётся, например потому, что он обнулён
#     после `v.backward()`.
def fix_traces(m, o, s, r, gamma, lam):
    for t in range(len(r)):
        m(s[t]).backward()
        o.zero_grad(set_to_none=False)
        o.step()

# %% mistake="squared_error" theme="derivative"
# What descends is the squared TD error itself, without traces: `backward()` runs on the error in place of `v`.
# Спуск идёт по самому квадрату TD-ошибки, без следов: `backward()` вызван для ошибки, а не для `v`.
def fix_traces(m, o, s, r, gamma, lam):
    for t, reward in enumerate(r):
        o.zero_grad()
        v_next = m(s[t + 1]).detach() if t + 1 < len(r) else 0.0
        ((reward + gamma * v_next - m(s[t])) ** 2).backward()
        o.step()

# %% mistake="decays_by_lambda" theme="missing"
# The trace decays by `lam` alone. The factor is `gamma * lam`.
# След затухает с множителем `lam`, а нужен множитель `gamma * lam`.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, decay=lam)

# %% mistake="clears_only_afterwards" theme="order"
# The gradients are cleared after a step only. What was in `.grad` at the start gets into the first trace.
# Градиенты обнуляются только после шага. То, что лежало в `.grad` вначале, попадает в первый след.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, clears="afterwards")

# %% mistake="maximizes" theme="state"
# The direction was mended in the optimizer, by `maximize`: its settings were to stay as they are.
# Направление исправлено в оптимизаторе, через `maximize`, а его настройки должны были остаться прежними.
def fix_traces(m, o, s, r, gamma, lam):
    o.param_groups[0]["maximize"] = True
    _run(m, o, s, r, gamma, lam, sign=1)

# %% mistake="sets_the_rate_to_one" theme="state"
# The learning rate was set to 1, so that the step size counts once. The settings were to stay as they are, and Adam
#     takes the length of its steps from them.
# Скорость обучения сделана равной 1, чтобы размер шага учитывался один раз. Но настройки должны были остаться
#     прежними, и у Adam длина шага определяется ими.
def fix_traces(m, o, s, r, gamma, lam):
    alpha = o.param_groups[0]["lr"]
    traces = [torch.zeros_like(p) for p in m.parameters()]
    o.param_groups[0]["lr"] = 1.0
    for t, reward in enumerate(r):
        o.zero_grad()
        v = m(s[t])
        v_next = m(s[t + 1]).item() if t + 1 < len(r) else 0.0
        v.backward()
        delta = reward + gamma * v_next - v.item()
        for trace, p in zip(traces, m.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -alpha * delta * trace
        o.step()

# %% mistake="clears_once" theme="order"
# The gradients are cleared once, before the first step. From the second step on `v.backward()` adds to the update
#     that the last one left in `p.grad`.
# Градиенты обнуляются один раз, перед первым шагом. Начиная со второго `v.backward()` прибавляет градиент к обновлению,
#     которое осталось в `p.grad` от прошлого шага.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, clears="once")

# %% mistake="through_the_target" theme="recording"
# The trace takes the gradient of the whole TD error, with the value of the next state in it. It has to take that of
#     `v` alone.
# В след попадает градиент всей TD-ошибки, вместе с ценностью следующего состояния. А нужен градиент одного только
#     значения `v`.
def fix_traces(m, o, s, r, gamma, lam):
    traces = [torch.zeros_like(p) for p in m.parameters()]
    for t, reward in enumerate(r):
        o.zero_grad()
        delta = reward - m(s[t]) + (gamma * m(s[t + 1]) if t + 1 < len(r) else 0.0)
        (-delta).backward()
        for trace, p in zip(traces, m.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            p.grad[:] = -delta.item() * trace
        o.step()

# %% mistake="scales_the_trace" theme="own"
# The trace itself is multiplied by the TD error, and the next step goes on with the product. Only `p.grad` gets the
#     product.
# На TD-ошибку умножен сам след, и следующий шаг начинается с этого произведения. Произведение нужно записать только
#     в `p.grad`.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, scales=True)

# %% mistake="one_step" theme="order"
# There is one optimizer step for the whole episode. There has to be one for each state.
# Шаг оптимизатора один на весь эпизод, а нужен шаг на каждое состояние.
def fix_traces(m, o, s, r, gamma, lam):
    traces = [torch.zeros_like(p) for p in m.parameters()]
    totals = [torch.zeros_like(p) for p in m.parameters()]
    for t, reward in enumerate(r):
        o.zero_grad()
        v = m(s[t])
        v.backward()
        delta = reward + (gamma * m(s[t + 1]).item() if t + 1 < len(r) else 0.0) - v.item()
        for trace, total, p in zip(traces, totals, m.parameters()):
            trace[:] = gamma * lam * trace + p.grad
            total -= delta * trace
    for total, p in zip(totals, m.parameters()):
        p.grad = total
    o.step()

# %% mistake="looks_beyond_the_end" theme="missing"
# At the last step the value of the last state itself is added as that of a next one. Nothing comes after the last
#     state.
# На последнем шаге вместо ценности следующего состояния взята ценность самого последнего. Но после него ничего нет.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, beyond=True)

# %% mistake="one_last_step" like="one_step"
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, steps=None)
    o.step()

# %% mistake="forgets_gamma" theme="missing"
# `gamma` is missing in the TD error: the value of the next state enters it as it is.
# В TD-ошибке нет множителя `gamma`: ценность следующего состояния входит без него.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, discount=1.0)

# %% mistake="never_decays" theme="missing"
# The traces do not decay: each old gradient counts as much as the new one.
# Следы не затухают: каждый старый градиент входит с тем же весом, что и новый.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, decay=1.0)

# %% mistake="carries_the_value" theme="order"
# $v(s)$ in $\delta$ is the value that the step before computed for its next state. The weights have moved since:
#     compute it anew.
# Значение $v(s)$ в $\delta$ взято с прошлого шага, где это состояние было следующим. С тех пор веса изменились:
#     вычислите его заново.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, carries=True)

# %% mistake="weighs_the_gradients" theme="own"
# Each gradient was multiplied by the TD error of its own step before it entered the trace. The error of the present
#     step multiplies the whole trace.
# Каждый градиент умножен на TD-ошибку своего шага ещё до того, как вошёл в след. А на ошибку текущего шага
#     умножается весь след.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, weighs=True)

# %% mistake="first_parameter_alone" theme="missing"
# Only the first parameter has a trace. The others move along their plain gradients, and downhill.
# След есть только у первого параметра. Остальные сдвигаются по обычному градиенту, и не в ту сторону.
def fix_traces(m, o, s, r, gamma, lam):
    _run(m, o, s, r, gamma, lam, first=True)

# %% mistake="keeps_the_traces" theme="state"
# The traces outlive the call: in a second call they still hold the gradients of the first episode.
# Следы переживают вызов: при новом вызове в них ещё лежат градиенты прошлого эпизода.
def fix_traces(m, o, s, r, gamma, lam):
    traces = [m.__dict__.setdefault(f"trace {i}", torch.zeros_like(p)) for i, p in enumerate(m.parameters())]
    _run(m, o, s, r, gamma, lam, traces=traces)

# %% mistake="uses_the_old_trace" theme="order"
# The weights move along the trace of the step before. The trace has to take up this step's gradient first.
# Веса сдвигаются вдоль следа предыдущего шага. Сначала к следу нужно прибавить градиент этого шага.
def fix_traces(model, optimizer, states, rewards, gamma, lam):
    traces = [torch.zeros_like(p) for p in model.parameters()]
    for t, reward in enumerate(rewards):
        optimizer.zero_grad()
        v = model(states[t])
        after = model(states[t + 1]).item() if t + 1 < len(states) else 0.0
        v.backward()
        delta = reward + gamma * after - v.item()
        for trace, p in zip(traces, model.parameters()):
            found, p.grad = p.grad, -delta * trace
            trace.mul_(gamma * lam).add_(found)
        optimizer.step()
