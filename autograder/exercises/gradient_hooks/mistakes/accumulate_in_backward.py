# %%
import torch


def _backward(model, make_optimizer, ends=bool, clears=True, catches_up=True):
    """Return a function `backward(loss, last)` with flaws to choose."""
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    ending = []

    def step(parameter):
        optimizers[parameter].step()
        if clears:
            parameter.grad = None

    def hook(parameter):
        if ending[0]:
            step(parameter)

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(hook)

    def backward(loss, last):
        ending[:] = [ends(last)]
        loss.backward()
        if ending[0] and catches_up and clears:
            for parameter in optimizers:
                step(parameter)

    return backward


def _trained(model):
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def _with(model, hook, after):
    """Return a function `backward(loss, last)`.

    In the last pass of a window it runs `hook`, and then `after`.
    """
    ending = []
    for parameter in _trained(model):
        parameter.register_post_accumulate_grad_hook(lambda each: hook(each) if ending[0] else None)

    def backward(loss, last):
        ending[:] = [last]
        loss.backward()
        if last:
            after()

    return backward

# %% mistake="steps_in_every_pass" theme="order"
# A step is made in every pass: nothing is accumulated over a window.
# Шаг делается в каждом проходе: за окно ничего не накапливается.
def accumulate_in_backward(model, make_optimizer):
    return _backward(model, make_optimizer, ends=lambda last: True)

# %% mistake="forgets_the_unused" theme="missing"
# A parameter that the last pass of a window does not use is left out: its hook does not run in that pass.
# Пропущен параметр, который не участвует в последнем проходе окна: его хук в этом проходе не срабатывает.
def accumulate_in_backward(model, make_optimizer):
    return _backward(model, make_optimizer, catches_up=False)

# %% mistake="never_clears" theme="accumulation"
# The gradients are not cleared after the step: the next window adds to those of this one.
# После шага градиенты не обнуляются: в следующем окне к ним прибавляются новые.
def accumulate_in_backward(model, make_optimizer):
    return _backward(model, make_optimizer, clears=False)

# %% mistake="steps_after_the_pass" theme="cost"
# The step is made after the pass, not inside it. The parameters are right, and no hook is at work.
# Шаг делается после прохода, а не внутри него. Параметры верны, но хуки не участвуют.
def accumulate_in_backward(model, make_optimizer):
    optimizer = make_optimizer([parameter for parameter in model.parameters() if parameter.requires_grad])

    def backward(loss, last):
        loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()

    return backward

# %% mistake="takes_last_for_first" theme="order"
# `last` is taken the wrong way round: the steps are made in all passes but the last.
# Аргумент `last` понят наоборот: шаги делаются во всех проходах, кроме последнего.
def accumulate_in_backward(model, make_optimizer):
    return _backward(model, make_optimizer, ends=lambda last: not last)

# %% mistake="counts_passes" theme="missing"
# The hooks count the passes of each parameter and take the first window's length for all windows.
# Хуки считают проходы для каждого параметра и принимают длину первого окна за длину всех окон.
def accumulate_in_backward(model, make_optimizer):
    seen = [0, 0]

    def ends(last):
        seen[0] += 1
        if last and not seen[1]:
            seen[1] = seen[0]
        return bool(seen[1]) and seen[0] % seen[1] == 0

    return _backward(model, make_optimizer, ends=ends)

# %% mistake="clears_without_a_step" theme="accumulation"
# What an earlier pass of the window has left in `.grad` is cleared without a step, if the last pass does not use
#     the parameter.
# Если параметр не участвует в последнем проходе окна, то накопленное в его поле `.grad` обнуляется без шага.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    return _with(model, lambda p: optimizers[p].step(), lambda: model.zero_grad())

# %% mistake="keeps_what_is_left" theme="accumulation"
# A parameter that the last pass does not use is stepped, but its `.grad` stays, and the next window adds to it.
# По параметру, который не участвует в последнем проходе, шаг делается, но его `.grad` остаётся, и следующее окно
#     прибавляет к нему свои градиенты.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}

    def hook(parameter):
        optimizers[parameter].step()
        parameter.grad = None

    def after():
        for optimizer in optimizers.values():
            optimizer.step()

    return _with(model, hook, after)

# %% mistake="steps_all_in_each_hook" theme="order"
# One optimizer serves all parameters. Each hook makes it step all those that have something in `.grad`, although
#     their gradients are not complete.
# Оптимизатор один на все параметры. В каждом хуке он делает шаг по всем, у которых в `.grad` что-то есть, хотя их
#     градиенты ещё не готовы.
def accumulate_in_backward(model, make_optimizer):
    optimizer = make_optimizer(_trained(model))

    def hook(parameter):
        optimizer.step()
        parameter.grad = None

    def after():
        optimizer.step()
        optimizer.zero_grad()

    return _with(model, hook, after)

# %% mistake="clears_all_in_each_hook" theme="order"
# One optimizer serves all parameters. The first hook makes it step all of them and clears every `.grad`: what the
#     others had accumulated was not complete.
# Оптимизатор один на все параметры. Уже первый хук делает шаг по всем и обнуляет все поля `.grad`, хотя накопленное
#     у остальных ещё не готово.
def accumulate_in_backward(model, make_optimizer):
    optimizer = make_optimizer(_trained(model))

    def hook(_):
        optimizer.step()
        optimizer.zero_grad()

    return _with(model, hook, lambda: None)

# %% mistake="new_optimizer_each_time" theme="state"
# New optimizers are made for every window, so momentum and Adam's averages begin again each time.
# Для каждого окна создаются новые оптимизаторы, поэтому импульс и средние Adam каждый раз начинаются заново.
def accumulate_in_backward(model, make_optimizer):
    def step(parameter):
        make_optimizer([parameter]).step()
        parameter.grad = None

    def after():
        for parameter in _trained(model):
            if parameter.grad is not None:
                step(parameter)

    return _with(model, step, after)

# %% mistake="takes_the_mean" theme="scaling"
# The step is made with the mean over the passes of the window. The ordinary loop has their sum in `.grad`.
# Шаг делается по среднему за проходы окна. В обычном цикле в `.grad` лежит их сумма.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    passes = 0

    def step(parameter):
        parameter.grad.div_(passes)
        optimizers[parameter].step()
        parameter.grad = None

    def after():
        nonlocal passes
        for parameter in optimizers:
            if parameter.grad is not None:
                step(parameter)
        passes = 0

    run = _with(model, step, after)

    def backward(loss, last):
        nonlocal passes
        passes += 1
        run(loss, last)

    return backward

# %% mistake="steps_with_zeros" theme="own"
# A parameter that no pass of the window uses is stepped as if its gradient were zero. Weight decay and the averages
#     then move it; the ordinary loop leaves it alone.
# По параметру, который не участвует ни в одном проходе окна, делается шаг с нулевым градиентом. Его сдвигают
#     затухание весов (weight decay) и средние, а обычный цикл его не трогает.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    arrived = set()

    def step(parameter):
        arrived.add(parameter)
        optimizers[parameter].step()
        parameter.grad = None

    def after():
        for parameter in optimizers:
            if parameter not in arrived:
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
                step(parameter)
        arrived.clear()

    return _with(model, step, after)

# %% mistake="hooks_the_frozen" theme="recording"
# A hook was registered on a frozen parameter, too. torch refuses that.
# Хук ставится и на замороженный параметр, а torch этого не допускает.
def accumulate_in_backward(model, make_optimizer):
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda _: None)
    return _backward(model, make_optimizer)

# %% mistake="leaves_the_hooks" theme="state"
# Inside the second window steps are made in every pass. The hooks that the end of the first window registered are
#     still there.
# Внутри второго окна шаги делаются в каждом проходе. Хуки, поставленные в конце первого окна, всё ещё на месте.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}

    def step(parameter):
        optimizers[parameter].step()
        parameter.grad = None

    def backward(loss, last):
        if last:
            for parameter in optimizers:
                parameter.register_post_accumulate_grad_hook(step)
        loss.backward()
        if last:
            for parameter in optimizers:
                if parameter.grad is not None:
                    step(parameter)

    return backward

# %% mistake="steps_before_the_pass" theme="order"
# In the last pass of a window parameters are stepped before the pass. It needs the values that they had in the
#     forward pass.
# В конце окна шаги делаются до последнего прохода. А ему нужны те значения параметров, которые были в прямом
#     проходе.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}

    def backward(loss, last):
        for parameter, optimizer in optimizers.items() if last else ():
            optimizer.step()
            parameter.grad = None
        loss.backward()

    return backward

# %% mistake="steps_too_early" theme="order"
# A tensor hook steps before the gradient of the last pass is in `.grad`: it is missing in the step.
# Шаг делается в хуке тензора, когда градиента последнего прохода в `.grad` ещё нет: в шаге он не участвует.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    ending = []

    def step(parameter):
        optimizers[parameter].step()
        parameter.grad = None

    for parameter in optimizers:
        parameter.register_hook(lambda _, parameter=parameter: step(parameter) if ending[0] else None)

    def backward(loss, last):
        ending[:] = [last]
        loss.backward()
        for parameter in optimizers if last else ():
            if parameter.grad is not None:
                step(parameter)

    return backward

# %% mistake="fills_with_zeros" theme="accumulation"
# After a step `.grad` holds zeros, not None. At the end of the pass these parameters are stepped once more:
#     momentum and averages move them.
# После шага в `.grad` лежат нули, а не None. В конце прохода по этим параметрам делается ещё один шаг: их сдвигают
#     импульс и средние.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}

    def step(parameter):
        optimizers[parameter].step()
        optimizers[parameter].zero_grad(set_to_none=False)

    def after():
        for parameter in optimizers:
            if parameter.grad is not None:
                step(parameter)

    return _with(model, step, after)

# %% mistake="last_optimizer_for_all" theme="own"
# Every hook uses the optimizer of the last parameter: a variable of the loop is read when the hook runs.
# Все хуки пользуются оптимизатором последнего параметра: переменная цикла читается, когда хук выполняется.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}

    def hook(parameter):
        list(optimizers.values())[-1].step()
        parameter.grad = None

    def after():
        for parameter, optimizer in optimizers.items():
            optimizer.step()
            parameter.grad = None

    return _with(model, hook, after)

# %% mistake="adds_the_losses" theme="cost"
# The losses are added up, and there is one backward pass at the end of the window. Before that `.grad` gets
#     nothing.
# Значения функции потерь складываются, и обратный проход только один, в конце окна. До этого в `.grad` ничего не
#     попадает.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    losses = []

    def hook(parameter):
        optimizers[parameter].step()
        parameter.grad = None

    for parameter in optimizers:
        parameter.register_post_accumulate_grad_hook(hook)

    def backward(loss, last):
        losses.append(loss)
        if last:
            torch.stack(losses).sum().backward()
            losses.clear()

    return backward

# %% mistake="remembers_earlier_windows" theme="state"
# A parameter that was stepped in the last pass of one window counts as stepped in later windows, too. If the last
#     pass of such a window does not use it, its step is missing.
# Параметр, по которому сделан шаг в последнем проходе одного окна, считается обработанным и в следующих. Если в
#     последнем проходе такого окна он не участвует, его шаг пропадает.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    stepped = set()

    def hook(parameter):
        optimizers[parameter].step()
        stepped.add(parameter)

    def after():
        for parameter, optimizer in optimizers.items():
            if parameter not in stepped:
                optimizer.step()
            parameter.grad = None

    return _with(model, hook, after)

# %% mistake="clears_in_every_pass" theme="accumulation"
# Every pass begins with empty `.grad`: nothing is accumulated, and a window is its last pass alone.
# Каждый проход начинается с пустых полей `.grad`: ничего не накапливается, и от окна остаётся только последний
#     проход.
def accumulate_in_backward(model, make_optimizer):
    run = _backward(model, make_optimizer)

    def backward(loss, last):
        model.zero_grad()
        run(loss, last)

    return backward

# %% mistake="steps_before_the_addition" theme="order"
# The step is made in a hook on the tensor, which runs before the gradient of the pass is added to `.grad`: the last
#     pass of the window is left out of the step.
# Шаг сделан в хуке тензора, а он срабатывает до того, как градиент этого прохода прибавлен к `.grad`: последний
#     проход окна в шаге не участвует.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    ending = []

    def hook(parameter):
        if ending[0]:
            optimizers[parameter].step()
            parameter.grad = None

    for parameter in optimizers:
        parameter.register_hook(lambda _, parameter=parameter: hook(parameter))

    def backward(loss, last):
        ending[:] = [last]
        loss.backward()

    return backward

# %% mistake="steps_only_the_last" theme="order"
# Only one parameter is stepped inside the pass, the last one. The others are stepped afterwards. So it is if there is
#     one hook only, or if every hook uses the optimizer of the last parameter: a variable of the loop is read when the
#     hook runs.
# Внутри прохода шаг делается только по одному параметру, последнему, а по остальным — уже после прохода. Так бывает,
#     когда хук один или когда все хуки пользуются оптимизатором последнего параметра: переменная цикла читается, когда
#     хук выполняется.
def accumulate_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in _trained(model)}
    last = _trained(model)[-1]

    def step(parameter):
        if parameter.grad is not None:
            optimizers[parameter].step()
            parameter.grad = None

    return _with(model, lambda p: step(p) if p is last else None, lambda: [step(p) for p in optimizers])

# %% mistake="leaves_out_the_models_own" theme="missing"
# The model's own parameters are missing: only those of its modules are stepped.
# Пропущены параметры самой модели: шаги делаются только по параметрам её модулей.
def accumulate_in_backward(model, make_optimizer):
    own = dict.fromkeys(p for child in model.children() for p in child.parameters() if p.requires_grad)
    optimizers = {p: make_optimizer([p]) for p in own}

    def step(parameter):
        if parameter in optimizers and parameter.grad is not None:
            optimizers[parameter].step()
            parameter.grad = None

    return _with(model, step, lambda: [step(p) for p in optimizers])
