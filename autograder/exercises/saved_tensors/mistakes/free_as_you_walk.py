# %%
import torch


def refuse(gradient):
    raise RuntimeError("this graph has been freed")


def leave(value):
    value.inputs, value.rule = (), refuse


def keep(leaf, gradient):
    leaf.grad = gradient.clone() if leaf.grad is None else leaf.grad + gradient


def walk(root, retain_graph, leave=leave, keep=keep, after=lambda values: None):
    waits_for, todo = {root: 0}, [root]
    while todo:
        for each in todo.pop().inputs:
            if each not in waits_for:
                waits_for[each] = 0
                todo.append(each)
            waits_for[each] += 1
    each, walked = None, []
    arrived, may_run = {root: torch.ones_like(root.data)}, [root]
    while may_run:
        value = may_run.pop()
        del waits_for[value]
        gradient = arrived.pop(value)
        if value.rule is None:
            keep(value, gradient)
            continue
        for each, part in zip(value.inputs, value.rule(gradient)):
            arrived[each] = arrived[each] + part if each in arrived else part
            waits_for[each] -= 1
            if waits_for[each] == 0:
                may_run.append(each)
        if not retain_graph:
            leave(value)


# %% mistake="walks_only" theme="missing" plain="yes"
# Nothing is freed: after the walk all results are still in memory.
# Ничего не освобождено: после обхода все результаты по-прежнему в памяти.
def free_as_you_walk(root, retain_graph=False):
    walk(root, True)


# %% mistake="held_by_the_walk" theme="graph_life"
# The results go only when the walk ends. Until then a variable of the walk holds all of them.
# Результаты исчезают только в конце обхода. До этого все их удерживает переменная самого обхода.
def free_as_you_walk(root, retain_graph=False):
    order = [root]
    for value in order:  # grows while it is walked
        order += [each for each in dict.fromkeys(value.inputs) if each not in order]
    walk(root, retain_graph)


# %% mistake="keeps_the_rules" theme="graph_life"
# A value forgets its inputs but keeps its rule, and the rule still holds the inputs.
# Значение забывает входы, но оставляет себе правило, а правило по-прежнему удерживает входы.
def free_as_you_walk(root, retain_graph=False):
    def forget_inputs(value):
        value.inputs = ()

    walk(root, retain_graph, leave=forget_inputs)


# %% mistake="keeps_the_inputs" theme="graph_life"
# A value gives up its rule but keeps its inputs, and with them everything behind it.
# Значение отдаёт правило, но оставляет себе входы, а с ними и всё, что за ними.
def free_as_you_walk(root, retain_graph=False):
    def forget_rule(value):
        value.rule = refuse

    walk(root, retain_graph, leave=forget_rule)


# %% mistake="frees_in_silence" theme="graph_life"
# The results are freed, but a second walk raises nothing: a result without a rule looks like a leaf.
# Результаты освобождены, но второй обход не вызывает ошибки: результат без правила неотличим от листа.
def free_as_you_walk(root, retain_graph=False):
    def forget(value):
        value.inputs, value.rule = (), None

    walk(root, retain_graph, leave=forget)


# %% mistake="ignores_retain_graph" theme="graph_life"
# The results are freed with `retain_graph=True` as well, so no second walk is possible.
# Результаты освобождаются и при `retain_graph=True`, поэтому второй обход невозможен.
def free_as_you_walk(root, retain_graph=False):
    walk(root, False)


# %% mistake="turns_retain_graph_round" theme="graph_life"
# `retain_graph` works the wrong way round: True frees, False keeps.
# Аргумент `retain_graph` действует наоборот: True освобождает, False сохраняет.
def free_as_you_walk(root, retain_graph=False):
    walk(root, not retain_graph)


# %% mistake="frees_the_leaves" theme="graph_life"
# Leaves are freed as well, and another graph over the same leaves no longer works.
# Освобождаются и листья, и другой граф над теми же листьями уже не работает.
def free_as_you_walk(root, retain_graph=False):
    def keep_and_leave(leaf, gradient):
        keep(leaf, gradient)
        if not retain_graph:
            leave(leaf)

    walk(root, retain_graph, keep=keep_and_leave)


# %% mistake="frees_the_root_only" theme="graph_life"
# Only the root forgets its inputs. A result behind it that somebody holds can still be walked.
# Входы забывает только корень. Через результат, который кто-то держит, по-прежнему можно пройти.
def free_as_you_walk(root, retain_graph=False):
    walk(root, True)
    if not retain_graph:
        leave(root)


# %% mistake="empties_the_data" theme="in_place"
# The `data` of results is thrown away. What somebody holds should only forget how it was made.
# У результатов удалено поле `data`. Результат, который кто-то держит, должен забыть лишь то, как он получен.
def free_as_you_walk(root, retain_graph=False):
    def empty(value):
        leave(value)
        value.data = torch.zeros(0, dtype=torch.float64)

    walk(root, retain_graph, leave=empty)


# %% mistake="clears_the_leaves" theme="accumulation"
# A walk throws away what was in `.grad`. It should be added to.
# Обход выбрасывает то, что лежало в `.grad`. К этому нужно прибавлять.
def free_as_you_walk(root, retain_graph=False):
    def assign(leaf, gradient):
        leaf.grad = gradient.clone()

    walk(root, retain_graph, keep=assign)


# %% mistake="raises_another_error" theme="own"
# A second walk ends with another error than RuntimeError: it stumbles over a field that is None.
# Второй обход заканчивается не RuntimeError, а другой ошибкой: он спотыкается о поле, равное None.
def free_as_you_walk(root, retain_graph=False):
    def take_away(value):
        value.inputs, value.rule = None, refuse

    walk(root, retain_graph, leave=take_away)


# %% mistake="frees_before_the_rule" theme="order"
# A value is freed before its rule has run, so no gradient gets past the root.
# Значение освобождается раньше, чем выполнено его правило, поэтому градиент не проходит дальше корня.
def free_as_you_walk(root, retain_graph=False):
    if not retain_graph:
        root.inputs = ()
    walk(root, retain_graph)


# %% mistake="shares_the_gradient" theme="in_place"
# Two leaves have one gradient in memory, or entries of a gradient share memory: each leaf needs a copy.
# У градиентов двух листьев общая память, или она общая у разных элементов одного градиента: каждому листу нужна копия.
def free_as_you_walk(root, retain_graph=False):
    def hand_over(leaf, gradient):
        leaf.grad = gradient if leaf.grad is None else leaf.grad + gradient

    walk(root, retain_graph, keep=hand_over)


# %% mistake="retain_graph_revives" theme="graph_life"
# A second walk with `retain_graph=True` raises nothing. That argument is about what comes afterwards: what is gone stays gone.
# Второй обход с `retain_graph=True` не вызывает ошибки. Этот аргумент относится к будущему: освобождённого уже нет.
def free_as_you_walk(root, retain_graph=False):
    if retain_graph and root.rule is refuse:
        return
    walk(root, retain_graph)


# %% mistake="asks_the_root_only" theme="graph_life"
# Only the root is asked whether it was freed. A freed result behind a new root passes for a leaf.
# Спрашивают только у корня, освобождён ли он. Освобождённый результат за новым корнем принимают за лист.
def free_as_you_walk(root, retain_graph=False):
    def forget(value):
        value.inputs, value.rule, value.gone = (), None, True

    if getattr(root, "gone", False):
        raise RuntimeError("walked already")
    walk(root, retain_graph, leave=forget)


# %% mistake="deletes_the_fields" theme="own"
# The fields are deleted, so a second walk ends with an AttributeError. A RuntimeError that says what happened is asked for.
# Поля удалены, поэтому второй обход заканчивается AttributeError. Нужна ошибка RuntimeError, которая объяснит, что случилось.
def free_as_you_walk(root, retain_graph=False):
    def delete(value):
        del value.inputs, value.rule

    walk(root, retain_graph, leave=delete)


# %% mistake="refuses_by_name" theme="graph_life"
# A freed value is held by its own new rule. Such a circle waits for the garbage collector.
# Освобождённое значение удерживает его собственное новое правило. Такой цикл ждёт сборщика мусора.
def free_as_you_walk(root, retain_graph=False):
    def leave_with_name(value):
        def refuse(gradient):
            raise RuntimeError(f"{value.op} has been freed")

        value.inputs, value.rule = (), refuse

    walk(root, retain_graph, leave=leave_with_name)
