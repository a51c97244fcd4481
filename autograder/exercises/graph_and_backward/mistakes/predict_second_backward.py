# %% mistake="always_raises" theme="graph_life"
# You expected every second `backward()` to raise an error. It raises one only where something saved is needed, and
#     an addition saves nothing.
# Вы ожидали ошибки. Но второй `backward()` завершается ошибкой, только если нужно что-то из сохранённого, а
#     сложение не сохраняет ничего.
predict_second_backward = {**solution, "x + w: second": "RuntimeError"}

# %% mistake="second_pass_adds_nothing" theme="accumulation"
# You expected a second pass without an error to leave `.grad` as it was. It adds the whole gradient once more.
# Вы ожидали, что второй проход без ошибки не изменит `.grad`. Но он прибавляет весь градиент ещё раз.
predict_second_backward = {**solution, "x + w: x.grad": 1.0}

# %% mistake="each_pass_replaces" theme="accumulation"
# You expected each pass to replace what is in `.grad`. It adds, with `retain_graph=True` as without.
# Вы ожидали, что каждый проход заменяет содержимое `.grad`. Но новый градиент прибавляется, и с
#     `retain_graph=True`, и без него.
predict_second_backward = {**solution, "x + w: x.grad": 1.0, "retained: x.grad": 6.0}

# %% mistake="never_raises" theme="graph_life"
# You expected no second pass to raise an error. `x * x` needs `x`, and that was freed after the first pass.
# Не учтено, что для производной `x * x` нужен `x`, а он освобождён после первого прохода.
predict_second_backward = {**solution, "x * x + w: second": None}

# %% mistake="an_error_changes_nothing" theme="graph_life"
# You expected a backward pass that raises an error to change nothing. `w` had its gradient added before the error.
# Вы ожидали, что обратный проход, закончившийся ошибкой, ничего не меняет. Но градиент прибавлен к `w.grad` ещё
#     до ошибки.
predict_second_backward = {**solution, "x * x + w: w.grad": 1.0}

# %% mistake="an_error_doubles_everything" theme="graph_life"
# You expected `x.grad` to double. The second pass broke off before it got to `x`.
# Вы ожидали, что `x.grad` удвоится. Но второй проход прерывается раньше, чем доходит до `x`.
predict_second_backward = {**solution, "x * x + w: x.grad": 12.0}

# %% mistake="retaining_does_not_add" theme="accumulation"
# You expected `retain_graph=True` to keep the second pass from adding. It keeps what was saved; `.grad` adds up as
#     ever.
# Вы ожидали, что с `retain_graph=True` второй проход ничего не прибавит. Но этот аргумент лишь не даёт освободить
#     то, что сохранили узлы; в `.grad` градиенты складываются, как всегда.
predict_second_backward = {**solution, "retained: x.grad": 6.0}

# %% mistake="forgets_the_factor_two" theme="derivative"
# The derivative of `x * x` was taken to be `x`. It is `2 * x`: two edges lead to `x`.
# Производная `x * x` принята за `x`. Но она равна `2 * x`: к `x` ведут два ребра.
predict_second_backward = {**solution, "x * x + w: x.grad": 3.0, "retained: x.grad": 6.0}

# %% mistake="quotes_none" theme="slip"
# `None` stands in quotes. A pass that runs gives `None` itself, not a string.
# Слово `None` записано в кавычках. Если проход выполнился, получается само значение `None`, а не строка.
predict_second_backward = {**solution, "x + w: second": "None"}
