# %% mistake="saves_as_eager" theme="recording"
# You expected the compiled function to save what the eager one does. It sees both passes, keeps `x` and recomputes
#     the rest.
# Вы ожидали, что скомпилированная функция хранит то же, что обычная. Но ей видны оба прохода: она хранит `x`, а
#     остальное вычисляет заново.
predict_compiled = {**solution, "saved by compiled wave": 2}

# %% mistake="retain_graph_works" theme="graph_life"
# You expected `retain_graph=True` to work as always. After a plain pass the compiled backward may write over
#     `exp(x)`, a donated buffer, and refuses to keep the graph.
# Вы ожидали, что `retain_graph=True` работает как всегда. Но после обычного прохода скомпилированный код вправе
#     записывать поверх `exp(x)` (donated buffer), и сохранять граф он отказывается.
predict_compiled = {**solution, "growth: plain, then retain_graph": "accepted"}

# %% mistake="retain_graph_fails_at_first" theme="graph_life"
# You expected `retain_graph=True` to fail in the first pass already. The backward half is compiled in that pass,
#     and for it.
# Вы ожидали, что `retain_graph=True` не сработает уже в первом проходе. Но обратная половина компилируется как раз
#     в нём и рассчитана на него.
predict_compiled = {**solution, "growth: retain_graph": "RuntimeError"}

# %% mistake="retain_graph_never_works" theme="graph_life"
# You expected `retain_graph=True` to fail for every function after a plain pass. Here only `x` is kept, which
#     belongs to the caller and is not written over.
# Вы ожидали, что после обычного прохода `retain_graph=True` не работает ни для какой функции. Но здесь хранится
#     только `x`, а это тензор вызывающего кода, и поверх него не пишут.
predict_compiled = {**solution, "wave: plain, then retain_graph": "RuntimeError"}

# %% mistake="differentiates_twice" theme="graph_life"
# You expected a second derivative. The compiled backward is not recorded; the error comes when one asks for it.
# Вы ожидали, что вторая производная есть. Но скомпилированный обратный проход не записывается, и при её вычислении
#     возникает ошибка.
predict_compiled = {**solution, "wave: second derivative, aot_eager": "accepted"}

# %% mistake="eager_backend_fails" theme="own"
# You expected the backend `eager` to fail as well. It runs the traced operations under ordinary autograd.
# Вы ожидали, что и с `eager` будет ошибка. Но этот бэкенд выполняет записанные операции, а
#     дифференцирует их обычный autograd.
predict_compiled = {**solution, "wave: second derivative, eager": "RuntimeError"}

# %% mistake="wave_saves_one" theme="recording"
# You expected one saved tensor. The sine saves its input `x`, and the cosine saves its own input, the sine of `x`.
# Вы ожидали один сохранённый тензор. Но синус хранит свой вход `x`, а косинус — свой, то есть синус от `x`.
predict_compiled = {**solution, "saved by wave": 1}

# %% mistake="sum_saves_too" theme="recording"
# You expected the sum to save a tensor as well. Its backward pass needs only the shape.
# Вы ожидали, что тензор хранит и сумма. Но для её обратного прохода нужна только форма.
predict_compiled = {**solution, "saved by wave": 3}

# %% mistake="saves_nothing" theme="recording"
# You expected the compiled function to save nothing. Its backward pass needs `x` to compute the rest anew.
# Вы ожидали, что скомпилированная функция ничего не хранит. Но чтобы вычислить остальное заново, нужен `x`.
predict_compiled = {**solution, "saved by compiled wave": 0}
