# %% mistake="saving_all_is_plain" theme="recording"
# You expected saving both operations to keep what the network keeps without a checkpoint. The policy also keeps the
#     results of `addmm`, which no derivative here needs.
# Вы ожидали, что при сохранении обеих операций хранится то же, что и без контрольной точки. Но политика хранит ещё и
#     результаты `addmm`, которые здесь не нужны ни одной производной.
predict_kept = {**solution, "both saved": 4}

# %% mistake="result_is_free" theme="own"
# You counted the results of `addmm` alone. The result of the network is in memory as well, and no `addmm` made it.
# Вы посчитали только результаты `addmm`. Но в памяти лежит и выход сети, а его вычислил не `addmm`.
predict_kept = {**solution, "addmm saved": 4}

# %% mistake="checkpoint_keeps_its_input_anew" theme="own"
# You counted the input of the checkpoint. It is the tensor `x`, made before the measurement: no copy is made.
# Вы учли вход контрольной точки. Но это сам тензор `x`, созданный до измерения: копия не делается.
predict_kept = {**solution, "checkpoint": 2}

# %% mistake="result_counts_twice" theme="own"
# You counted the last `tanh` twice. What the policy saved of it is the result of the network, one storage.
# Вы посчитали последний `tanh` дважды. Но сохранённый политикой тензор и выход сети — это одно хранилище.
predict_kept = {**solution, "tanh saved": 5}

# %% mistake="all_plus_result" theme="own"
# You added the result to all that the policy saves. It is among what the policy saves: the last `tanh` made it.
# Вы прибавили выход сети ко всему, что сохраняет политика. Но он уже среди сохранённого: его вычислил последний
#     `tanh`.
predict_kept = {**solution, "both saved": 9}

# %% mistake="checkpoint_keeps_nothing" theme="own"
# You expected a checkpoint to leave nothing in memory. The result is there; only what is inside is gone.
# Вы ожидали, что с контрольной точкой в памяти не остаётся ничего. Но выход сети остаётся, нет только того, что
#     внутри.
predict_kept = {**solution, "checkpoint": 0}

# %% mistake="layers_keep_inputs_and_results" theme="recording"
# You expected both operations of a block to keep a tensor of their own. The result of `tanh` is the input of the next
#     `Linear`, one storage for both, and the result of a `Linear` is needed by neither.
# Вы ожидали, что каждая операция блока хранит отдельный тензор. Но результат `tanh` — это вход следующего `Linear`,
#     хранилище у них одно, а результат самого `Linear` не нужен ни одной производной.
predict_kept = {**solution, "no checkpoint": 8}

# %% mistake="any_product_is_mm" theme="own"
# You took one name for every matrix product. A `Linear` with a bias runs `addmm`, `x @ w` runs `mm`. The list names an
#     operation that never runs here, so nothing is saved.
# Вы приняли одно имя за любое матричное произведение. Но `Linear` со смещением выполняет `addmm`, а `x @ w` — `mm`.
#     Указанная в списке операция здесь не выполняется, поэтому ничего не сохраняется.
predict_kept = {**solution, "mm saved": 5}

# %% mistake="result_not_counted" theme="own"
# You left out the result of the network. It is alive after the forward pass, so it counts.
# Вы не учли выход сети. После прямого прохода он в памяти, поэтому считается и он.
predict_kept = {name: count - 1 for name, count in solution.items()}

# %% mistake="strange_name_switches_off" theme="own"
# You expected a name that never occurs to switch the checkpoint off. It saves nothing, and everything runs again.
# Вы ожидали, что имя, которое ни разу не встретилось, отключит контрольную точку. Но оно лишь ничего не сохраняет, и всё
#     вычисляется заново.
predict_kept = {**solution, "mm saved": 4}

# %% mistake="checkpoint_keeps_each_block" theme="own"
# You expected the checkpoint to keep the result of every block. There is one checkpoint around all four: nothing inside is
#     kept.
# Вы ожидали, что контрольная точка хранит результат каждого блока. Но она одна на все четыре, и внутри неё ничего не
#     хранится.
predict_kept = {**solution, "checkpoint": 4}

# %% mistake="on_top_of_the_graph" theme="recording"
# You expected the policy to save its results beside those that the graph keeps without a checkpoint. Inside a checkpoint
#     the graph keeps none of these.
# Вы ожидали, что политика сохранит своё вдобавок к тому, что граф хранит без контрольной точки. Но внутри контрольной
#     точки граф этого не хранит.
predict_kept = {**solution, "addmm saved": 8}
