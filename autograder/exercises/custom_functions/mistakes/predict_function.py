# %% mistake="derivative_is_checked" theme="derivative"
# You expected autograd to find the derivative by itself, or to check it. It takes what `backward` returns: 10 times
#     the incoming gradient.
# Вы ожидали, что autograd сам найдёт или проверит производную. Но он берёт то, что вернул `backward`: пришедший
#     градиент, умноженный на 10.
predict_function = {**solution, "a.grad": 5.0}

# %% mistake="incoming_gradient_is_one" theme="derivative"
# The gradient that arrives was left out. `3 * result` multiplies it by 3 before `backward` is called.
# Не учтён пришедший градиент. В `3 * result` он умножается на 3 ещё до вызова `backward`.
predict_function = {**solution, "a.grad": 10.0}

# %% mistake="forward_is_recorded" theme="recording"
# You expected `forward` to be recorded. `apply` switches recording off: the one node of the graph is the Function's
#     own.
# Вы ожидали, что `forward` записывается. Но `apply` выключает отслеживание: в графе появляется один узел — узел
#     этой пользовательской функции.
predict_function = {**solution, "recording in forward": True}

# %% mistake="numbers_for_words" theme="slip"
# 1 and 0 stand for True and False. `torch.is_grad_enabled()` returns True or False.
# Вместо True и False стоят 1 и 0. Функция `torch.is_grad_enabled()` возвращает True или False.
predict_function = {**solution, "recording in forward": 0}

# %% mistake="backward_is_recorded" theme="recording"
# You expected the operations in `backward` to be recorded always. They are recorded only for a call with
#     `create_graph=True`.
# Вы ожидали, что операции в `backward` записываются всегда. Но они записываются только при вызове с
#     `create_graph=True`.
predict_function = {**solution, "recording in backward": True}

# %% mistake="backward_is_never_recorded" theme="recording"
# You expected `backward` never to be recorded. With `create_graph=True` it is, and that is where second derivatives
#     come from.
# Вы ожидали, что `backward` не записывается никогда. Но при `create_graph=True` он записывается, отсюда и берутся
#     вторые производные.
predict_function = {**solution, "recording in backward, create_graph=True": False}

# %% mistake="every_input_needs" theme="recording"
# You expected True in `needs_input_grad` for every tensor. For an input that does not require grad, such as `b`, it
#     is False.
# В `needs_input_grad` ожидалось True для любого тензора. Но для входа, который не требует градиента (здесь это
#     `b`), там стоит False.
predict_function = {**solution, "needs_input_grad": (True, True)}

# %% mistake="forward_makes_the_node" theme="recording"
# You expected a `forward` called directly to make a node of the Function. Without `apply` it is an ordinary
#     function: its own multiplication is recorded, and `backward` never runs.
# Вы ожидали, что прямой вызов `forward` создаст узел пользовательской функции. Но без `apply` это обычная функция:
#     записывается само умножение, а `backward` не вызывается.
predict_function = {**solution, "node of Tenfold.forward(...)": "TenfoldBackward"}

# %% mistake="too_few_are_filled" theme="missing"
# A gradient left out was taken to count as None. `backward` returns one entry for each argument of `apply`, or
#     torch raises an error.
# Вы ожидали, что пропущенный градиент заменяется на None. Но `backward` должен вернуть по значению на каждый
#     аргумент `apply`, иначе torch сообщает об ошибке.
predict_function = {**solution, "one gradient for two inputs": "accepted"}

# %% mistake="derivative_is_computed" theme="derivative"
# The true derivative of `3 * a * b` stands there. Autograd does not know it: it multiplies by what `backward` says,
#     10.
# Здесь стоит настоящая производная `3 * a * b`. Autograd её не знает: он берёт то, что вернул `backward`, то есть
#     умножает на 10.
predict_function = {**solution, "a.grad": 15.0}

# %% mistake="flags_in_other_order" theme="missing"
# The flags stand in the wrong order: the first belongs to `a`, the first argument of `apply`.
# Флаги стоят не в том порядке: первый относится к `a`, первому аргументу `apply`.
predict_function = {**solution, "needs_input_grad": (False, True)}

# %% mistake="one_flag_for_all" theme="own"
# You expected one flag for the whole call. There is one for each argument of `apply`.
# Вы ожидали один флаг на весь вызов. Но для каждого аргумента `apply` он свой.
predict_function = {**solution, "needs_input_grad": True}

# %% mistake="derivative_times_ten" theme="derivative"
# The true derivative was multiplied by 10. `backward` alone decides, and it knows nothing of `b`.
# Настоящая производная умножена на 10. Но решает только `backward`, а `b` в нём не участвует.
predict_function = {**solution, "a.grad": 150.0}

# %% mistake="node_without_its_number" theme="slip"
# The number at the end of the node's name is missing, as in `AddBackward0`.
# В имени узла не хватает числа на конце, как в `AddBackward0`.
predict_function = {**solution, "node of Tenfold.forward(...)": "MulBackward"}
