# %%
import torch


def _on(model, hook_for):
    """Put `hook_for(parameter)` on each parameter that requires grad; return a function that removes all."""
    handles = [p.register_post_accumulate_grad_hook(hook_for(p)) for p in model.parameters() if p.requires_grad]

    def stop():
        for handle in handles:
            handle.remove()

    return stop


def _step_and_clear(model, make_optimizer, parameters=None):
    """Step and clear in a hook of each of `parameters`, by default all trained ones; return handles."""
    if parameters is None:
        parameters = [p for p in model.parameters() if p.requires_grad]
    handles = []
    for parameter in parameters:
        optimizer = make_optimizer([parameter])

        def hook(_, optimizer=optimizer):
            optimizer.step()
            optimizer.zero_grad()

        handles.append(parameter.register_post_accumulate_grad_hook(hook))
    return handles

# %% mistake="never_clears" theme="accumulation"
# `.grad` is not cleared after the step: the next pass adds to it, and all gradients stay in memory.
# Поле `.grad` после шага не обнуляется: следующий проход прибавляет к нему свой градиент, и все градиенты остаются в
#     памяти.
def step_in_backward(model, make_optimizer):
    def hook_for(parameter):
        optimizer = make_optimizer([parameter])
        return lambda _: optimizer.step() and None

    return _on(model, hook_for)

# %% mistake="last_optimizer_for_all" theme="own"
# Every hook uses the optimizer of the last parameter: a variable of the loop is read when the hook runs.
# Все хуки пользуются оптимизатором последнего параметра: переменная цикла читается, когда хук выполняется.
def step_in_backward(model, make_optimizer):
    handles = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = make_optimizer([parameter])

            def hook(_):
                optimizer.step()  # noqa: B023 (the mistake)
                optimizer.zero_grad()  # noqa: B023

            handles.append(parameter.register_post_accumulate_grad_hook(hook))
    return lambda: [handle.remove() for handle in handles]

# %% mistake="new_optimizer_each_time" theme="state"
# A new optimizer is made for every step, so momentum and Adam's averages begin again each time.
# На каждом шаге создаётся новый оптимизатор, поэтому импульс и средние Adam каждый раз начинаются заново.
def step_in_backward(model, make_optimizer):
    def hook(parameter):
        make_optimizer([parameter]).step()
        parameter.grad = None

    return _on(model, lambda _: hook)

# %% mistake="steps_too_early" theme="order"
# A tensor hook steps before this gradient is in `.grad`: there is nothing there to step with.
# Шаг делается в хуке тензора, когда этого градиента в `.grad` ещё нет: делать шаг ещё не по чему.
def step_in_backward(model, make_optimizer):
    handles = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = make_optimizer([parameter])

            def hook(_, optimizer=optimizer):
                optimizer.step()
                optimizer.zero_grad()

            handles.append(parameter.register_hook(hook))
    return lambda: [handle.remove() for handle in handles]

# %% mistake="waits_for_all" theme="cost" plain="yes"
# The steps wait for further gradients: those of more than two layers are in memory together.
# Шаги ждут следующих градиентов: в памяти одновременно находятся градиенты больше чем двух слоёв.
def step_in_backward(model, make_optimizer):
    optimizer = make_optimizer([p for p in model.parameters() if p.requires_grad])
    queued = []

    def at_the_end():
        queued.clear()
        optimizer.step()
        optimizer.zero_grad()

    def hook(_):
        if not queued:
            queued.append(True)
            torch.autograd.Variable._execution_engine.queue_callback(at_the_end)

    return _on(model, lambda _: hook)

# %% mistake="leaves_zeros" theme="cost"
# The gradients are set to zero instead of None, and the zeros take memory.
# Градиенты заполняются нулями вместо None, а нули занимают память.
def step_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}

    def hook(_):
        for parameter, optimizer in optimizers.items():
            if parameter is _:
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)

    return _on(model, lambda _: hook)

# %% mistake="cannot_be_stopped" theme="state"
# After a call of the function that came back, `backward()` goes on as before: every hook still steps.
# После вызова возвращённой функции вызов `backward()` действует по-прежнему: каждый хук делает шаг.
def step_in_backward(model, make_optimizer):
    _step_and_clear(model, make_optimizer)
    return lambda: None

# %% mistake="returns_no_function" theme="missing"
# What comes back is no function without arguments, or nothing at all: `stop()` cannot be called.
# Возвращена не функция без аргументов, а что-то другое или ничего: вызвать `stop()` нельзя.
def step_in_backward(model, make_optimizer):
    _step_and_clear(model, make_optimizer)

# %% mistake="steps_once" theme="order"
# Only the first pass steps: the hooks take themselves off.
# Шаги делаются только в первом проходе: хуки снимают себя сами.
def step_in_backward(model, make_optimizer):
    def hook_for(parameter):
        optimizer = make_optimizer([parameter])

        def hook(_):
            optimizer.step()
            optimizer.zero_grad()
            handles[parameter].remove()

        return hook

    parameters = [p for p in model.parameters() if p.requires_grad]
    handles = {p: p.register_post_accumulate_grad_hook(hook_for(p)) for p in parameters}
    return lambda: [handle.remove() for handle in handles.values()]

# %% mistake="stops_the_last" theme="state"
# The returned function takes off the last hook only: the other parameters are still stepped.
# Возвращённая функция снимает только последний хук: по остальным параметрам шаги по-прежнему делаются.
def step_in_backward(model, make_optimizer):
    trained = [p for p in model.parameters() if p.requires_grad]
    handles = _step_and_clear(model, make_optimizer, trained)
    return lambda: handles[-1].remove()

# %% mistake="leaves_the_first" theme="state"
# The returned function leaves the first hook on: this parameter is still stepped.
# Возвращённая функция оставляет первый хук: по его параметру шаги по-прежнему делаются.
def step_in_backward(model, make_optimizer):
    trained = [p for p in model.parameters() if p.requires_grad]
    handles = _step_and_clear(model, make_optimizer, trained)
    return lambda: [handle.remove() for handle in handles[1:]]

# %% mistake="still_clears" theme="state"
# After a call of the returned function no step is made, but `.grad` is still cleared.
# После вызова возвращённой функции шаги не делаются, но `.grad` по-прежнему обнуляется.
def step_in_backward(model, make_optimizer):
    working = [True]

    def hook_for(parameter):
        optimizer = make_optimizer([parameter])

        def hook(_):
            if working:
                optimizer.step()
            optimizer.zero_grad()

        return hook

    _on(model, hook_for)
    return working.clear

# %% mistake="copies_the_hook" theme="missing"
# The hook of the cell above was copied: it takes a step of 0.01 times the gradient. Here `make_optimizer` decides
#     on the step.
# Хук взят из ячейки выше: он делает шаг в 0.01 градиента. А здесь шаг определяет `make_optimizer`.
def step_in_backward(model, make_optimizer):
    def hook(parameter):
        with torch.no_grad():
            parameter -= 0.01 * parameter.grad
        parameter.grad = None

    return _on(model, lambda _: hook)

# %% mistake="hooks_the_frozen" theme="recording"
# A hook was registered on a frozen parameter, too. torch refuses that.
# Хук ставится и на замороженный параметр, а torch этого не допускает.
def step_in_backward(model, make_optimizer):
    return _step_and_clear(model, make_optimizer, list(model.parameters()))

# %% mistake="direct_children_only" theme="missing"
# Only the parameters of the model's direct children are stepped. Those of nested modules and of the model itself
#     are missing.
# Шаги делаются только по параметрам модулей, которые входят в модель непосредственно. Параметры вложенных модулей и
#     самой модели пропущены.
def step_in_backward(model, make_optimizer):
    own = [p for child in model.children() for p in child.parameters(recurse=False) if p.requires_grad]
    handles = _step_and_clear(model, make_optimizer, own)
    return lambda: [handle.remove() for handle in handles]

# %% mistake="weights_only" theme="missing"
# Only the weights are stepped. The biases of the layers are missing.
# Шаги делаются только по весам, а смещения слоёв пропущены.
def step_in_backward(model, make_optimizer):
    own = [p for name, p in model.named_parameters() if p.requires_grad and "weight" in name]
    handles = _step_and_clear(model, make_optimizer, own)
    return lambda: [handle.remove() for handle in handles]

# %% mistake="steps_the_shared_twice" theme="scaling"
# A weight that is in two modules is stepped twice in a pass. `model.parameters()` names it once.
# По весу, который входит в два модуля, за проход делается два шага. В `model.parameters()` он встречается один раз.
def step_in_backward(model, make_optimizer):
    handles = []
    for module in model.modules():
        for parameter in module.parameters(recurse=False):
            if parameter.requires_grad:
                optimizer = make_optimizer([parameter])
                handles.append(
                    parameter.register_post_accumulate_grad_hook(lambda _, step=optimizer.step: step() and None)
                )
    clearing = _on(model, lambda _: lambda parameter: setattr(parameter, "grad", None))
    return lambda: [clearing(), *(handle.remove() for handle in handles)]

# %% mistake="steps_before_the_addition" theme="order"
# The step is made before the gradient is added to `.grad`. It is added afterwards, and stays there.
# Шаг делается раньше, чем градиент прибавлен к `.grad`. Градиент прибавляется потом и там остаётся.
def step_in_backward(model, make_optimizer):
    handles = []
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = make_optimizer([parameter])

            def hook(grad, parameter=parameter, optimizer=optimizer):
                parameter.grad = grad
                optimizer.step()
                parameter.grad = None

            handles.append(parameter.register_hook(hook))
    return lambda: [handle.remove() for handle in handles]

# %% mistake="steps_with_zeros" theme="accumulation"
# The gradients are set to zero instead of None, and one optimizer serves all parameters. Each of its steps then
#     moves the others, too: by weight decay or by their momentum.
# Градиенты заполняются нулями вместо None, а оптимизатор один на все параметры. Тогда каждый его шаг сдвигает и
#     остальные: из-за затухания весов (weight decay) или по импульсу.
def step_in_backward(model, make_optimizer):
    optimizer = make_optimizer([p for p in model.parameters() if p.requires_grad])

    def hook(_):
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    return _on(model, lambda _: hook)

# %% mistake="steps_the_unused" theme="own"
# A parameter that the pass does not use is stepped as if its gradient were zero. Weight decay and the averages then
#     move it; the ordinary loop leaves it alone.
# По параметру, который в проходе не участвует, делается шаг с нулевым градиентом. Его сдвигают затухание весов
#     (weight decay) и средние, а обычный цикл его не трогает.
def step_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    arrived = set()

    def at_the_end():
        for parameter, optimizer in optimizers.items():
            if parameter not in arrived:
                parameter.grad = torch.zeros_like(parameter)
                optimizer.step()
                parameter.grad = None
        arrived.clear()

    def hook(parameter):
        if not arrived:
            torch.autograd.Variable._execution_engine.queue_callback(at_the_end)
        arrived.add(parameter)
        optimizers[parameter].step()
        parameter.grad = None

    return _on(model, lambda _: hook)

# %% mistake="waits_for_the_unused" theme="order"
# The step waits until every parameter has had its gradient. If a pass does not use one of them, the step is not
#     made in this pass, but in the middle of a later one.
# Шаг ждёт, пока градиент не придёт к каждому параметру. Если какой-то параметр в проходе не участвует, шаг делается
#     не в этом проходе, а посреди одного из следующих.
def step_in_backward(model, make_optimizer):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer, arrived = make_optimizer(trained), set()

    def hook(parameter):
        arrived.add(parameter)
        if len(arrived) == len(trained):
            optimizer.step()
            optimizer.zero_grad()
            arrived.clear()

    return _on(model, lambda _: hook)

# %% mistake="hooks_the_nodes" theme="graph_life"
# The hooks are gone as soon as nobody keeps the returned function: `backward()` then fills `.grad` as usual. That
#     is how hooks on nodes of the graph behave. A hook on the parameter stays with the parameter.
# Хуки исчезают, как только возвращённую функцию никто не хранит: тогда `backward()` заполняет `.grad` как обычно.
#     Так ведут себя хуки на узлах графа. Хук на параметре остаётся вместе с параметром.
def step_in_backward(model, make_optimizer):
    handles, nodes = [], []
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = make_optimizer([parameter])

            def hook(_, __, parameter=parameter, optimizer=optimizer):
                optimizer.step()
                parameter.grad = None

            nodes.append(torch.autograd.graph.get_gradient_edge(parameter).node)
            handles.append(nodes[-1].register_hook(hook))

    def stop():
        for handle in handles:
            handle.remove()
        nodes.clear()

    return stop

# %% mistake="leaves_out_the_models_own" theme="missing"
# The model's own parameters are missing: only those of its modules are stepped.
# Пропущены параметры самой модели: шаги делаются только по параметрам её модулей.
def step_in_backward(model, make_optimizer):
    own = dict.fromkeys(p for child in model.children() for p in child.parameters() if p.requires_grad)
    handles = _step_and_clear(model, make_optimizer, list(own))
    return lambda: [handle.remove() for handle in handles]

# %% mistake="steps_by_hand" theme="missing"
# Each step is 0.1 times the gradient, without momentum and averages. Here `make_optimizer` decides on the step.
# Каждый шаг — это 0.1 градиента, без импульса и средних. А здесь шаг определяет `make_optimizer`.
def step_in_backward(model, make_optimizer):
    def hook(parameter):
        with torch.no_grad():
            parameter -= 0.1 * parameter.grad
        parameter.grad = None

    return _on(model, lambda _: hook)

# %% mistake="steps_in_the_first_hook" theme="order"
# All steps are made in the hook of the model's first parameter. Its gradient need not come last, and the pass then
#     misses values that the steps have changed.
# Все шаги делаются в хуке первого параметра модели. Но его градиент не обязательно приходит последним, и тогда
#     проходу не хватает значений, которые изменены шагами.
def step_in_backward(model, make_optimizer):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = make_optimizer(trained)

    def hook(_):
        optimizer.step()
        optimizer.zero_grad()

    return trained[0].register_post_accumulate_grad_hook(hook).remove

# %% mistake="gives_no_list" theme="own"
# `make_optimizer` gets a parameter. It takes a list of parameters: `[parameter]`.
# Функция `make_optimizer` получает параметр, а ей нужен список параметров: `[parameter]`.
def step_in_backward(model, make_optimizer):
    return [make_optimizer(p) for p in model.parameters() if p.requires_grad]

# %% mistake="steps_all_again" theme="order"
# One optimizer serves all parameters, and `.grad` is cleared only at the end of the pass. Each hook steps all that
#     have come so far once more.
# Оптимизатор один на все параметры, а `.grad` обнуляется только в конце прохода. Каждый хук ещё раз делает шаг по
#     всем, чьи градиенты уже пришли.
def step_in_backward(model, make_optimizer):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = make_optimizer(trained)

    def hook(parameter):
        optimizer.step()
        if parameter is trained[0]:
            optimizer.zero_grad()

    return _on(model, lambda _: hook)

# %% mistake="freezes_at_the_end" theme="state"
# The returned function freezes the parameters. Then nothing requires grad, and `backward()` raises.
# Возвращённая функция замораживает параметры. Тогда градиента не требует ничто, и вызов `backward()` завершается
#     ошибкой.
def step_in_backward(model, make_optimizer):
    _step_and_clear(model, make_optimizer)
    return lambda: model.requires_grad_(False)

# %% mistake="clears_before_the_step" theme="order"
# No step changes the parameters: in the hook `.grad` is cleared before the step, or no step is made.
# Параметры не меняются: `.grad` обнуляется в хуке раньше, чем делается шаг, или шага нет.
def step_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}

    def hook(parameter):
        optimizers[parameter].zero_grad()
        optimizers[parameter].step()

    return _on(model, lambda _: hook)

# %% mistake="never_steps" like="clears_before_the_step"
def step_in_backward(model, make_optimizer):
    return _on(model, lambda _: lambda parameter: None)

# %% mistake="registers_no_hook" theme="missing"
# No hook runs: `backward()` fills `.grad` as usual. Either no hook was registered, or all were taken off at once, as
#     `return stop()` does: it calls `stop`.
# Ни один хук не срабатывает: `backward()` заполняет `.grad` как обычно. Либо хуки не поставлены, либо все сразу сняты:
#     так бывает, если написать `return stop()`, ведь это вызов `stop`.
def step_in_backward(model, make_optimizer):
    return _on(model, lambda _: None)()

# %% mistake="keeps_the_hooks_for_itself" like="registers_no_hook"
def step_in_backward(model, make_optimizer):
    return lambda: None

# %% mistake="keeps_the_gradients" theme="cost"
# The steps are made in time, and `.grad` is cleared, but something still refers to the gradients, such as a list. They
#     all stay in memory.
# Шаги делаются вовремя, и `.grad` обнуляется, но на градиенты что-то по-прежнему ссылается, например список. Все они
#     остаются в памяти.
def step_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    log = []

    def hook(parameter):
        log.append(parameter.grad)
        optimizers[parameter].step()
        parameter.grad = None

    return _on(model, lambda _: hook)

# %% mistake="returns_from_the_hook" theme="return"
# The hook returns something, and torch raises an error. A post-accumulate hook has to return None; a lambda returns the
#     value of its expression.
# Хук что-то возвращает, и torch завершает проход ошибкой. Хук post-accumulate обязан вернуть None, а лямбда-функция
#     возвращает значение своего выражения.
def step_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}
    return _on(model, lambda p: lambda _: (optimizers[p].step(), optimizers[p].zero_grad()))

# %% mistake="waits_with_a_multi_grad_hook" theme="order"
# One hook for several tensors, `register_multi_grad_hook`, makes the steps. It runs before the last of the gradients is
#     in `.grad`, and waits for all of them.
# Шаги делает один хук на несколько тензоров, `register_multi_grad_hook`. Он срабатывает раньше, чем последний из
#     градиентов попал в `.grad`, и ждёт их все.
def step_in_backward(model, make_optimizer):
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = make_optimizer(trained)

    def hook(_):
        optimizer.step()
        optimizer.zero_grad()

    return torch.autograd.graph.register_multi_grad_hook(trained, hook).remove

# %% mistake="uses_module_hooks" theme="order"
# Backward hooks of modules make the steps. Such a hook is about the module's inputs and outputs: the gradients of its
#     parameters need not be in `.grad` by then.
# Шаги делают обратные хуки модулей. Такой хук относится ко входам и выходам модуля: к этому времени градиенты его
#     параметров не обязательно уже лежат в `.grad`.
def step_in_backward(model, make_optimizer):
    handles = []
    for module in model.modules():
        own = [p for p in module.parameters(recurse=False) if p.requires_grad]
        if own:
            optimizer = make_optimizer(own)

            def hook(_, __, ___, optimizer=optimizer):
                optimizer.step()
                optimizer.zero_grad()

            handles.append(module.register_full_backward_hook(hook))
    return lambda: [handle.remove() for handle in handles]

# %% mistake="steps_all_and_never_clears" theme="accumulation"
# One optimizer serves all parameters, and `.grad` is never cleared. Each hook steps all that have come so far once more.
# Оптимизатор один на все параметры, а `.grad` никогда не обнуляется. Каждый хук ещё раз делает шаг по всем, чьи
#     градиенты уже пришли.
def step_in_backward(model, make_optimizer):
    optimizer = make_optimizer([p for p in model.parameters() if p.requires_grad])
    return _on(model, lambda _: lambda _: optimizer.step() and None)

# %% mistake="fails_to_stop" theme="own"
# The hooks are still there after a call of the returned function, and what they need is gone: the next `backward()`
#     raises.
# После вызова возвращённой функции хуки остались, а то, что им нужно, уже удалено: следующий `backward()` завершается
#     ошибкой.
def step_in_backward(model, make_optimizer):
    optimizers = {p: make_optimizer([p]) for p in model.parameters() if p.requires_grad}

    def hook(parameter):
        optimizers[parameter].step()
        parameter.grad = None

    _on(model, lambda _: hook)
    return optimizers.clear
