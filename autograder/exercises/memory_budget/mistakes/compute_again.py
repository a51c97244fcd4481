# %%
import torch


def gradients_in(Value, segment, inputs, gradient):
    leaves = [Value(each.data) for each in inputs]
    (segment(*leaves) * Value(gradient)).sum().backward()
    return [torch.zeros_like(each.data) if each.grad is None else each.grad for each in leaves]


# %% mistake="runs_it_plainly" theme="cost" plain="yes"
# The segment is run as always: its gradients are right, and everything inside stays in memory until the walk.
# Сегмент выполнен как обычно: градиенты верны, но всё, что внутри, остаётся в памяти до обхода.
def compute_again(Value, segment, *inputs):
    return segment(*inputs)


# %% mistake="keeps_the_first_run" theme="cost"
# The result of the first run is still held, with everything inside. Only its `data` is needed.
# Результат первого запуска по-прежнему удерживается вместе со всем, что внутри. Нужно только его поле `data`.
def compute_again(Value, segment, *inputs):
    out = segment(*[Value(each.data) for each in inputs])

    def rule(gradient):
        assert out.data.shape == gradient.shape
        return gradients_in(Value, segment, inputs, gradient)

    return Value(out.data, inputs, rule)


# %% mistake="runs_on_the_inputs" theme="graph_life"
# The second run is made on the inputs themselves, and the walk in the rule goes on behind them. So leaves get a gradient twice.
# Повторный запуск сделан на самих входах, и обход в правиле идёт дальше них. Поэтому листья получают градиент дважды.
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data

    def rule(gradient):
        found = gradients_in(Value, segment, inputs, gradient)
        (segment(*inputs) * Value(gradient)).sum().backward()
        return found

    return Value(data, inputs, rule)


# %% mistake="ignores_the_gradient" theme="derivative"
# The walk inside starts with ones, whatever gradient has arrived.
# Внутренний обход начинается с единиц, какой бы градиент ни пришёл.
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data
    return Value(data, inputs, lambda gradient: gradients_in(Value, segment, inputs, torch.ones_like(gradient)))


# %% mistake="multiplies_afterwards" theme="derivative"
# The gradients of the inside are multiplied by the arriving gradient at the end. Each entry has to weigh its own part.
# Градиенты внутри сегмента умножены на пришедший градиент в конце. Каждый его элемент должен умножать свою часть.
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data

    def rule(gradient):
        found = gradients_in(Value, segment, inputs, torch.ones_like(gradient))
        return [each * gradient.sum() for each in found]

    return Value(data, inputs, rule)


# %% mistake="is_a_constant" theme="recording"
# The result has no inputs and no rule: no gradient comes through.
# У результата нет ни входов, ни правила: градиент через него не проходит.
def compute_again(Value, segment, *inputs):
    return Value(segment(*[Value(each.data) for each in inputs]).data)


# %% mistake="has_no_inputs" theme="recording"
# The result has a rule but no inputs, so the walk ends there.
# У результата есть правило, но нет входов, поэтому обход на нём заканчивается.
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data
    return Value(data, (), lambda gradient: gradients_in(Value, segment, inputs, gradient))


# %% mistake="first_input_only" theme="missing"
# Only the first input gets its gradient, the others get zeros.
# Градиент получает только первый вход, остальные — нули.
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data

    def rule(gradient):
        first, *others = gradients_in(Value, segment, inputs, gradient)
        return [first, *[torch.zeros_like(each) for each in others]]

    return Value(data, inputs, rule)


# %% mistake="none_for_the_unused" theme="missing"
# An input that the segment does not use gets None. The walk adds what a rule returns, so zeros are needed.
# Вход, который сегмент не использует, получает None. Обход складывает то, что вернуло правило, поэтому нужны нули.
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data

    def rule(gradient):
        leaves = [Value(each.data) for each in inputs]
        (segment(*leaves) * Value(gradient)).sum().backward()
        return [each.grad for each in leaves]

    return Value(data, inputs, rule)


# %% mistake="runs_too_often" theme="cost"
# The rule runs the segment more than once. One run gives all gradients.
# Правило выполняет сегмент больше одного раза. Все градиенты даёт один запуск.
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data

    def rule(gradient):
        segment(*[Value(each.data) for each in inputs])  # to see the shape of the result
        return [gradients_in(Value, segment, inputs, gradient)[number] for number in range(len(inputs))]

    return Value(data, inputs, rule)


# %% mistake="keys_the_leaves_by_input" theme="accumulation"
# Where one value is given twice, both inputs get the gradient of both: the leaves are kept by input, so there is only one.
# Если одно значение передано дважды, каждый из двух входов получает градиент обоих: листья хранятся по входам, и лист
#     у них один.
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data

    def rule(gradient):
        leaves = {each: Value(each.data) for each in inputs}
        (segment(*[leaves[each] for each in inputs]) * Value(gradient)).sum().backward()
        found = [leaves[each].grad for each in inputs]
        return [torch.zeros_like(each.data) if grad is None else grad for each, grad in zip(inputs, found)]

    return Value(data, inputs, rule)


# %% mistake="keeps_the_second_run" theme="cost"
# After the walk the result of the second run is still held, with everything inside.
# После обхода результат второго запуска по-прежнему удерживается вместе со всем, что внутри.
def compute_again(Value, segment, *inputs):
    made, again = Value(segment(*[Value(each.data) for each in inputs]).data, inputs), None

    def rule(gradient):
        nonlocal again
        leaves = [Value(each.data) for each in inputs]
        again = segment(*leaves)
        (again * Value(gradient)).sum().backward()
        return [torch.zeros_like(each.data) if each.grad is None else each.grad for each in leaves]

    made.rule = rule
    return made


# %% mistake="remembers_the_gradients" theme="accumulation"
# A second walk gets the gradients of the first, though another gradient arrives.
# Второй обход получает градиенты первого, хотя приходит другой градиент.
def compute_again(Value, segment, *inputs):
    data, found = segment(*[Value(each.data) for each in inputs]).data, []

    def rule(gradient):
        if not found:
            found.extend(gradients_in(Value, segment, inputs, gradient))
        return found

    return Value(data, inputs, rule)


# %% mistake="makes_the_leaves_once" theme="accumulation"
# The second walk also gets the gradients of the first: its leaves are the same, and their `grad` is added to.
# Второй обход приносит и градиенты первого: листья у них общие, и поле `grad` пополняется.
def compute_again(Value, segment, *inputs):
    leaves = [Value(each.data) for each in inputs]

    def rule(gradient):
        (segment(*leaves) * Value(gradient)).sum().backward()
        return [torch.zeros_like(each.data) if each.grad is None else each.grad for each in leaves]

    return Value(segment(*leaves).data, inputs, rule)


# %% mistake="keeps_the_last_segment" theme="state"
# All results share one memory of what to run. A call inside the segment overwrites what the call outside has to run.
# Что запускать, записано в одном месте для всех результатов. Вызов внутри сегмента затирает то, что записал внешний.
last = {}


def compute_again(Value, segment, *inputs):
    last.update(segment=segment, inputs=inputs)
    data = segment(*[Value(each.data) for each in inputs]).data
    return Value(data, inputs, lambda gradient: gradients_in(Value, last["segment"], last["inputs"], gradient))


# %% mistake="forgets_the_return" theme="return"
# The function returns nothing.
# Функция ничего не возвращает.
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data
    Value(data, inputs, lambda gradient: gradients_in(Value, segment, inputs, gradient))


# %% mistake="returns_the_data" theme="return"
# A tensor is returned in place of a value.
# Вместо значения возвращён тензор.
def compute_again(Value, segment, *inputs):
    return segment(*[Value(each.data) for each in inputs]).data


# %% mistake="takes_the_inputs_gradients" like="runs_on_the_inputs"
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data

    def rule(gradient):
        (segment(*inputs) * Value(gradient)).sum().backward()
        return [torch.zeros_like(each.data) if each.grad is None else each.grad for each in inputs]

    return Value(data, inputs, rule)


# %% mistake="runs_for_each_input" like="runs_too_often"
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data

    def rule(gradient):
        return [gradients_in(Value, segment, inputs, gradient)[number] for number in range(len(inputs))]

    return Value(data, inputs, rule)


# %% mistake="multiplies_the_parts" like="multiplies_afterwards"
def compute_again(Value, segment, *inputs):
    data = segment(*[Value(each.data) for each in inputs]).data

    def rule(gradient):
        return [gradient * each for each in gradients_in(Value, segment, inputs, torch.ones_like(gradient))]

    return Value(data, inputs, rule)
