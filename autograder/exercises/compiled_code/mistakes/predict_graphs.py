# %% mistake="length_breaks" theme="own"
# You expected an `if` on the length to break the graph. The shape is known while the graph is recorded.
# Вы ожидали, что `if` по длине разорвёт граф. Но форма известна уже при записи графа.
predict_graphs = {**solution, "if on the length": 2}

# %% mistake="flag_breaks" theme="own"
# You expected an `if` on `requires_grad` to break the graph. The flag is known while the graph is recorded.
# Вы ожидали, что `if` по флагу `requires_grad` разорвёт граф. Но флаг известен уже при записи графа.
predict_graphs = {**solution, "if on requires_grad": 2}

# %% mistake="one_for_each_turn" theme="own"
# You expected a graph for each turn of the loop. A loop of Python is unrolled into one graph.
# Вы ожидали отдельный граф на каждый шаг цикла. Но цикл Python разворачивается в один граф.
predict_graphs = {**solution, "a loop of three": 3}

# %% mistake="loop_breaks" theme="own"
# You expected the loop to break the graph. It is unrolled, because Python alone counts its turns.
# Вы ожидали, что цикл разорвёт граф. Но он разворачивается: число шагов Python знает сам.
predict_graphs = {**solution, "a loop of three": 2}

# %% mistake="one_break_for_all" theme="own"
# You expected two breaks to make two graphs. Each break ends one graph and begins another: three pieces.
# Вы ожидали, что при двух разрывах графов будет два. Но каждый разрыв заканчивает один граф и начинает другой: частей
#     три.
predict_graphs = {**solution, "two ifs on numbers": 2}

# %% mistake="both_branches" theme="own"
# You expected a graph for each branch of both `if`s. Only a branch that is taken is compiled.
# Вы ожидали по графу на каждую ветвь обоих `if`. Но компилируется только та ветвь, которая выполняется.
predict_graphs = {**solution, "two ifs on numbers": 5}

# %% mistake="other_branch_is_there" theme="own"
# You expected both branches to be compiled at the first call. The other branch is compiled when it is first taken.
# Вы ожидали, что при первом вызове компилируются обе ветви. Но вторая компилируется, только когда до неё доходит дело.
predict_graphs = {**solution, "one if, x and -x": 2}

# %% mistake="all_anew" theme="own"
# You expected the second call to compile everything anew. The part before the `if` serves both calls.
# Вы ожидали, что при втором вызове всё компилируется заново. Но часть до `if` годится для обоих вызовов.
predict_graphs = {**solution, "one if, x and -x": 4}

# %% mistake="every_call" theme="own"
# You expected a compilation at every call. A graph serves all calls with the same shape and dtype.
# Вы ожидали компиляцию при каждом вызове. Но граф годится для всех вызовов с той же формой и тем же dtype.
predict_graphs = {**solution, "lengths 3, 3, 4": 3}

# %% mistake="each_length" theme="own"
# You expected a compilation for every length. The second one makes the length a variable, and it serves all others.
# Вы ожидали новую компиляцию для каждой длины. Но уже во второй раз длина становится переменной графа, и этого хватает
#     для остальных.
predict_graphs = {**solution, "lengths 3, 4, 5": 3}

# %% mistake="one_for_all_lengths" theme="own"
# You expected one compilation for all lengths. The first is made for the very length that came.
# Вы ожидали одну компиляцию для всех длин. Но первая рассчитана именно на ту длину, которая пришла.
predict_graphs = {**solution, "lengths 3, 4, 5": 1}

# %% mistake="no_new_length" theme="own"
# You expected the second length to need no compilation. The first graph was made for the very length that came.
# Вы ожидали, что для второй длины компиляция не нужна. Но первый граф рассчитан именно на ту длину, которая пришла.
predict_graphs = {**solution, "lengths 3, 3, 4": 1}

# %% mistake="two_for_each_if" theme="own"
# You expected two graphs for each `if`. The piece between two `if`s is one graph, and both share it.
# Вы ожидали по два графа на каждый `if`. Но часть между двумя `if` — один граф, общий для обоих.
predict_graphs = {**solution, "two ifs on numbers": 4}
