# %% mistake="counts_the_table" theme="cost"
# You counted the embedding's table as well. It was there before the measurement began.
# Вы посчитали и саму таблицу эмбеддингов. Но она существовала до начала измерения.
predict_step_bytes = {**solution, "after the embedding": 4096 + 4096}

# %% mistake="embedding_costs_nothing" theme="cost"
# You counted nothing for the result of the embedding. The lookup copies rows, also from a frozen table.
# Вы ничего не посчитали для результата эмбеддинга. Но выбранные строки копируются, в том числе из замороженной таблицы.
predict_step_bytes = {**solution, "after the embedding": 0}

# %% mistake="input_forgotten" theme="recording"
# You expected only the result of `tanh` after the block. The block is trained, so the gradient of its weights needs
#     its input, too.
# Вы ожидали, что после блока останется только результат `tanh`. Но блок обучается, и для градиента его весов нужен ещё
#     и его вход.
predict_step_bytes = {**solution, "after the block": 4096}

# %% mistake="keeps_both_results" theme="recording"
# You counted the result of the linear layer beside that of `tanh`. `tanh` keeps its own result, and nobody holds the
#     other one.
# Вы посчитали результат линейного слоя вместе с результатом `tanh`. Но `tanh` хранит свой результат, а результат слоя не держит
#     никто.
predict_step_bytes = {**solution, "after the block": 12288}

# %% mistake="logits_kept" theme="recording"
# You counted the logits beside the logarithms of the softmax. Cross-entropy keeps the logarithms alone.
# Вы посчитали логиты вместе с логарифмами softmax. Но кросс-энтропия хранит только логарифмы.
predict_step_bytes = {**solution, "after the loss": 73728}

# %% mistake="loss_keeps_nothing" theme="recording"
# You counted nothing for the loss, because it is one number. The graph behind it keeps a table with a number for each
#     row and class.
# Вы ничего не посчитали для функции потерь: ведь это одно число. Но её граф хранит таблицу, где есть число для каждой
#     строки и каждого класса.
predict_step_bytes = {**solution, "after the loss": 8192}

# %% mistake="peak_of_forward" theme="cost"
# This is the peak of the forward pass. The peak of the step is in backward.
# Это пик прямого прохода. А пик всего шага приходится на обратный проход.
predict_step_bytes = {**solution, "at the peak": 73728}

# %% mistake="peak_is_what_is_kept" theme="cost"
# You took what is kept after the forward pass for the peak. Backward makes new tensors while it is still there.
# Вы сочли пиком то, что хранится после прямого прохода. Но в обратном проходе к этому добавляются новые тензоры.
predict_step_bytes = {**solution, "at the peak": 40960}

# %% mistake="all_freed" theme="graph_life"
# You expected nothing after backward. The gradients are in `.grad`, and the variable `h` holds its tensor.
# Вы ожидали, что после обратного прохода не останется ничего. Но в `.grad` лежат градиенты, а переменная `h` держит
#     свой тензор.
predict_step_bytes = {**solution, "after backward": 0}

# %% mistake="only_gradients" theme="graph_life"
# You counted the gradients alone. The variable `h` still holds its tensor.
# Вы посчитали только градиенты. Но переменная `h` всё ещё держит свой тензор.
predict_step_bytes = {**solution, "after backward": 18432}

# %% mistake="graph_stays" theme="graph_life"
# You added the gradients to what the graph has saved. Backward frees it.
# Вы прибавили градиенты к тому, что сохранено в графе. Но обратный проход сохранённое освобождает.
predict_step_bytes = {**solution, "after backward": 59392}

# %% mistake="four_bytes" theme="precision"
# You counted 4 bytes for each number. A number in float64 has 8.
# Вы считали по 4 байта на число. Но в float64 их 8.
predict_step_bytes = {name: count // 2 for name, count in solution.items()}

# %% mistake="numbers_not_bytes" theme="slip"
# You counted numbers. Asked for are bytes, 8 for each.
# Вы посчитали числа. А нужны байты, по 8 на каждое.
predict_step_bytes = {name: count // 8 for name, count in solution.items()}

# %% mistake="embedding_stays" theme="graph_life"
# You counted one tensor too many after backward. Only the graph held the result of the embedding, and this result gets
#     no gradient.
# Вы посчитали лишний тензор после обратного прохода. Результат эмбеддинга держал только граф, и градиента у этого
#     результата нет.
predict_step_bytes = {**solution, "after backward": 26624}
