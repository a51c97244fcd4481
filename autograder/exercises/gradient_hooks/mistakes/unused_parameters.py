# %%
import torch


def _trained(model):
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def _found(model, loss):
    trained = _trained(model)
    return dict(zip(trained, torch.autograd.grad(loss, list(trained.values()), retain_graph=True, allow_unused=True)))


def counts_every_error(model, loss):
    unused = []
    for name, parameter in model.named_parameters():
        try:
            torch.autograd.grad(loss, parameter)
        except RuntimeError:
            unused.append(name)
    return unused

# %% mistake="takes_zero_for_none" theme="own"
# A gradient of zeros is taken for no gradient. The hook of such a parameter does run.
# Нулевой градиент принят за отсутствие градиента. Но хук у такого параметра срабатывает.
def unused_parameters(model, loss):
    return [name for name, grad in _found(model, loss).items() if grad is None or not grad.any()]

# %% mistake="lists_the_frozen" theme="recording"
# Frozen parameters are in the list. Nobody waits for them: they never have a hook.
# В списке есть замороженные параметры. Их никто не ждёт: хука у них не бывает.
def unused_parameters(model, loss):
    found = _found(model, loss)
    return [name for name, _ in model.named_parameters() if found.get(name) is None]

# %% mistake="lists_the_used" theme="missing"
# The list holds the parameters that do get a gradient.
# В списке — параметры, к которым градиент как раз приходит.
def unused_parameters(model, loss):
    return [name for name, grad in _found(model, loss).items() if grad is not None]

# %% mistake="frees_the_graph" theme="graph_life"
# The pass frees the graph, and `loss.backward()` cannot be called any more: `retain_graph=True` is missing.
# Проход освобождает сохранённое в графе, и `loss.backward()` вызвать уже нельзя: не хватает
#     `retain_graph=True`.
def unused_parameters(model, loss):
    trained = _trained(model)
    found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
    return [name for name, grad in zip(trained, found) if grad is None]

# %% mistake="fills_the_gradients" theme="accumulation"
# `backward()` was called: it adds to `.grad`, which has to stay as it was.
# Вызван `backward()`: он прибавляет градиент к полям `.grad`, а они должны остаться прежними.
def unused_parameters(model, loss):
    unused = [name for name, grad in _found(model, loss).items() if grad is None]
    loss.backward(retain_graph=True)
    return unused

# %% mistake="reads_old_gradients" theme="accumulation"
# `.grad` was looked at after a pass. A parameter without a gradient in this pass may hold one from before.
# После прохода просмотрены поля `.grad`. Но там может лежать прежний градиент, хотя в этом проходе ничего не
#     пришло.
def unused_parameters(model, loss):
    loss.backward(retain_graph=True)
    return [name for name, parameter in _trained(model).items() if parameter.grad is None]

# %% mistake="clears_the_gradients" theme="accumulation"
# The gradients were cleared to see which are filled. What `.grad` held is lost.
# Градиенты обнулены, чтобы увидеть, какие поля заполнятся. То, что лежало в `.grad`, пропало.
def unused_parameters(model, loss):
    model.zero_grad()
    loss.backward(retain_graph=True)
    unused = [name for name, parameter in _trained(model).items() if parameter.grad is None]
    model.zero_grad()
    return unused

# %% mistake="leaves_the_hooks" theme="state"
# Hooks of yours stay on the parameters: they will run in every later pass.
# На параметрах остались ваши хуки: они будут срабатывать в каждом следующем проходе.
def unused_parameters(model, loss):
    arrived = set()
    for name, parameter in _trained(model).items():
        parameter.register_hook(lambda _, name=name: arrived.add(name))
    found = _found(model, loss)
    return [name for name in found if name not in arrived]

# %% mistake="puts_back_in_part" theme="accumulation"
# What `.grad` held is put back where a gradient came, but not where none came: there it is lost.
# Прежнее содержимое `.grad` возвращено там, куда градиент пришёл, а там, куда он не пришёл, пропало.
def unused_parameters(model, loss):
    old = {name: parameter.grad for name, parameter in model.named_parameters()}
    model.zero_grad()
    loss.backward(retain_graph=True)
    unused = [name for name, parameter in _trained(model).items() if parameter.grad is None]
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            parameter.grad = old[name]
    return unused

# %% mistake="sorts_the_names" theme="order"
# The names are right, but sorted. They stand in the order of `model.named_parameters()`.
# Имена верны, но отсортированы. А нужен тот порядок, в каком их даёт `model.named_parameters()`.
def unused_parameters(model, loss):
    return sorted(name for name, grad in _found(model, loss).items() if grad is None)

# %% mistake="returns_a_set" theme="missing"
# What comes back is a set. It has no order; the contract asks for a list.
# Возвращено множество (set). Порядка у него нет, а по условию нужен список.
def unused_parameters(model, loss):
    return {name for name, grad in _found(model, loss).items() if grad is None}

# %% mistake="returns_the_parameters" theme="missing"
# The list holds the parameters themselves, not their names.
# В списке не имена, а сами параметры.
def unused_parameters(model, loss):
    trained = _trained(model)
    return [trained[name] for name, grad in _found(model, loss).items() if grad is None]

# %% mistake="counts_every_error" theme="graph_life"
# Every error of `autograd.grad` was taken for a parameter without a gradient. From the second used parameter on it
#     comes from the graph, which the first call has freed.
# Любая ошибка `autograd.grad` принята за отсутствие градиента. Но начиная со второго нужного параметра она
#     возникает потому, что сохранённое в графе освободил первый вызов.
def unused_parameters(model, loss):
    unused = []
    for name, parameter in model.named_parameters():
        try:
            torch.autograd.grad(loss, parameter)
        except RuntimeError:
            unused.append(name)
    return unused

# %% mistake="looks_without_a_pass" theme="accumulation"
# `.grad` was looked at without a pass: what it holds, or lacks, comes from earlier passes.
# Поля `.grad` просмотрены без обратного прохода: то, что в них есть или чего нет, осталось от прежних проходов.
def unused_parameters(model, loss):
    return [name for name, parameter in _trained(model).items() if parameter.grad is None]

# %% mistake="follows_one_edge" theme="missing"
# Of the edges of a node only the first one was followed. The parameters on the other ways are missing.
# В каждом узле выбрано только первое ребро. Параметры на остальных путях не найдены.
def unused_parameters(model, loss):
    node, found = loss.grad_fn, set()
    while node is not None:
        found.add(getattr(node, "variable", None))
        node = next((each for each, _ in node.next_functions if each is not None), None)
    return [name for name, parameter in _trained(model).items() if parameter not in found]

# %% mistake="shortens_the_names" theme="missing"
# The names lack the path of modules in front. They are to be those of `model.named_parameters()`.
# В именах нет пути из имён модулей. Нужны такие, как в `model.named_parameters()`.
def unused_parameters(model, loss):
    return [name.rpartition(".")[2] for name, grad in _found(model, loss).items() if grad is None]

# %% mistake="freezes_the_unused" theme="state"
# The parameters without a gradient were frozen. `requires_grad` has to stay as it was.
# Параметры, к которым градиент не приходит, заморожены, а флаги `requires_grad` должны остаться прежними.
def unused_parameters(model, loss):
    trained = _trained(model)
    unused = [name for name, grad in _found(model, loss).items() if grad is None]
    for name in unused:
        trained[name].requires_grad_(False)
    return unused

# %% mistake="joins_the_names" theme="missing"
# One string comes back. The contract asks for a list of names.
# Возвращена одна строка, а по условию нужен список имён.
def unused_parameters(model, loss):
    return ", ".join(name for name, grad in _found(model, loss).items() if grad is None)

# %% mistake="lists_only_the_frozen" theme="recording"
# The list holds the frozen parameters. Those are meant that require grad and get none.
# В списке замороженные параметры, а нужны те, которые требуют градиента, но не получают его.
def unused_parameters(model, loss):
    return [name for name, parameter in model.named_parameters() if not parameter.requires_grad]

# %% mistake="names_the_modules" theme="missing"
# The list holds names of modules. The names of parameters are asked for, such as `spare.weight`.
# В списке имена модулей, а нужны имена параметров, например `spare.weight`.
def unused_parameters(model, loss):
    return [name.rpartition(".")[0] or name for name, grad in _found(model, loss).items() if grad is None]

# %% mistake="allows_no_unused" theme="missing"
# `autograd.grad` raises an error for a tensor that `loss` does not depend on. With `allow_unused=True` it returns
#     None.
# Функция `autograd.grad` завершается ошибкой, если `loss` от тензора не зависит. С аргументом `allow_unused=True`
#     она возвращает None.
def unused_parameters(model, loss):
    trained = _trained(model)
    found = torch.autograd.grad(loss, list(trained.values()), retain_graph=True)
    return [name for name, grad in zip(trained, found) if grad is None]

# %% mistake="asks_for_the_frozen" theme="recording"
# `autograd.grad` gets frozen parameters, too, and raises an error: it takes only tensors that require grad.
# В `autograd.grad` переданы и замороженные параметры. Она завершается ошибкой: принимаются только тензоры, которые
#     требуют градиента.
def unused_parameters(model, loss):
    names, parameters = zip(*model.named_parameters())
    found = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
    return [name for name, grad in zip(names, found) if grad is None]

# %% mistake="lists_the_tied_twice" theme="missing"
# A weight that is in two modules is in the list twice, by two names. `model.named_parameters()` names it once.
# Вес, который входит в два модуля, стоит в списке дважды, под двумя именами. В `model.named_parameters()` он
#     встречается один раз.
def unused_parameters(model, loss):
    found = _found(model, loss)
    unused = {model.get_parameter(name) for name, grad in found.items() if grad is None}
    return [name for name, parameter in model.named_parameters(remove_duplicate=False) if parameter in unused]

# %% mistake="leaves_out_the_models_own" theme="missing"
# The model's own parameters are missing: only those of its modules are in the list.
# Пропущены параметры самой модели: в списке только параметры её модулей.
def unused_parameters(model, loss):
    return [name for name, grad in _found(model, loss).items() if grad is None and "." in name]

# %% mistake="asks_each_child" like="leaves_out_the_models_own"
def unused_parameters(model, loss):
    unused = {model.get_parameter(name) for name, grad in _found(model, loss).items() if grad is None}
    children = model.named_children()
    return [f"{child}.{name}" for child, each in children for name, p in each.named_parameters() if p in unused]
