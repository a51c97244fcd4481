# %% mistake="forward_is_not_counted" theme="own"
# You counted the calls of the backward pass alone. The forward pass counts as well.
# Вы посчитали только вызовы в обратном проходе. Прямой проход тоже учитывается.
predict_repeats = {**solution, "no checkpoint": [0, 0, 0]}

# %% mistake="stops_before_the_square" theme="cost"
# You expected early stop before the square is called, because the square saves only its input. But that tensor is saved
#     by the call of the square.
# Вы ожидали, что остановка наступит раньше квадрата, раз он сохраняет только свой вход. Но этот тензор сохраняется,
#     только когда квадрат вызван.
predict_repeats = {**solution, "one checkpoint": [2, 1, 1]}

# %% mistake="repeats_the_whole" theme="cost"
# You expected the whole segment to run again. The recomputation ends when the last saved tensor is there, and `x + 1`
#     saves nothing.
# Вы ожидали, что заново выполняется весь сегмент. Но повторное вычисление заканчивается, когда получен последний
#     сохраняемый тензор, а `x + 1` ничего не сохраняет.
predict_repeats = {**solution, "one checkpoint": [2, 2, 2]}

# %% mistake="keeps_what_it_recomputed" theme="graph_life"
# You expected the second backward pass to find what the first one recomputed. Each pass recomputes anew.
# Вы ожидали, что второму обратному проходу достанется вычисленное для первого. Но каждый проход вычисляет всё заново.
predict_repeats = {**solution, "two backward passes": [2, 2, 1]}

# %% mistake="early_stop_is_free" theme="cost"
# You expected early stop to make no difference. Without it the segment runs to its end, `x + 1` included.
# Вы ожидали, что ранняя остановка ничего не меняет. Но без неё сегмент выполняется до конца, вместе с `x + 1`.
predict_repeats = {**solution, "no early stop": [2, 2, 1]}

# %% mistake="what_saves_nothing_is_skipped" theme="own"
# You expected a function that saves nothing not to run again. Its result is the input of the next function, and that
#     saves a tensor made from it.
# Вы ожидали, что функция, которая ничего не сохраняет, заново не выполняется. Но её результат — вход следующей
#     функции, а та сохраняет тензор, который из него получен.
predict_repeats = {**solution, "x + 1 first": [2, 2, 1]}

# %% mistake="inner_runs_twice" theme="cost"
# You expected two calls in a checkpoint inside another. The outer recomputation calls the function, too.
# Вы ожидали два вызова во вложенной контрольной точке. Но функцию вызывает ещё и внешнее повторное вычисление.
predict_repeats = {**solution, "a checkpoint inside": [2, 2, 1]}

# %% mistake="levels_double_calls" theme="cost"
# You expected a checkpoint inside another to double the calls once more. Each level adds a single call.
# Вы ожидали, что вложенная контрольная точка ещё раз удваивает число вызовов. Но каждый уровень добавляет лишь один.
predict_repeats = {**solution, "a checkpoint inside": [4, 2, 1]}

# %% mistake="outer_multiplies_all" theme="cost"
# You expected the inner checkpoint to cost all functions a call more. Only what stands inside both runs a third time.
# Вы ожидали, что из-за вложенной контрольной точки на один вызов больше у всех функций. Но в третий раз выполняется
#     только то, что внутри обеих.
predict_repeats = {**solution, "a checkpoint inside": [3, 3, 1]}

# %% mistake="each_repeats_itself" theme="cost"
# You expected every function with a checkpoint of its own to run again. Nobody asks for a saved tensor of `x + 1`.
# Вы ожидали, что каждая функция со своей контрольной точкой выполняется заново. Но сохранённых тензоров у `x + 1` нет,
#     и никто их не запросит.
predict_repeats = {**solution, "one for each": [2, 2, 2]}

# %% mistake="backward_calls_functions" theme="own"
# You expected the backward pass to call the functions without a checkpoint, too. It runs the nodes of the graph.
# Вы ожидали, что обратный проход и без контрольных точек вызывает сами функции. Но он выполняет узлы графа.
predict_repeats = {**solution, "no checkpoint": [2, 2, 2]}

# %% mistake="first_one_is_kept" theme="own"
# You expected the first function of the segment not to run again. The checkpoint keeps its input, and the square needs its
#     result.
# Вы ожидали, что первая функция сегмента заново не выполняется. Но контрольная точка хранит её вход, а квадрату нужен её
#     результат.
predict_repeats = {**solution, "one checkpoint": [1, 2, 1]}
