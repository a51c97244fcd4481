# %% mistake="backward_has_its_thread" theme="own"
# You expected backward to return to the thread of the forward pass. On the CPU it runs in the thread that calls it.
# Вы ожидали, что обратный проход вернётся в поток прямого. Но на CPU он выполняется в том потоке, который его
#     вызвал.
predict_engine = {**solution, "the hook runs in": "main"}

# %% mistake="threads_see_their_own" theme="accumulation"
# You expected each thread to see its own gradient. There is one `.grad`, and both gradients are in it.
# Вы ожидали, что каждый поток увидит только свой градиент. Но поле `.grad` одно, и в нём лежат оба.
predict_engine = {**solution, "w.grad read by thread 1": 1.0, "w.grad read by thread 2": 2.0}

# %% mistake="shared_graph_is_safe" theme="graph_life"
# You expected two threads to be able to go through one graph. The first pass frees what the second one needs.
# Вы ожидали, что два потока могут пройти по одному графу. Но первый проход освобождает то, что нужно второму.
predict_engine = {**solution, "two passes through one graph": "accepted"}

# %% mistake="no_grad_reaches_threads" theme="recording"
# You expected `no_grad` to hold in a thread that was started under it. Each thread begins with recording on.
# Вы ожидали, что `no_grad` действует и в потоке, запущенном внутри блока. Но новый поток начинает с включённой
#     записью.
predict_engine = {**solution, "recorded in a thread, under no_grad": False}

# %% mistake="hooks_reach_threads" theme="own"
# You expected hooks for saved tensors to reach another thread. They belong to the thread that entered the block.
# Вы ожидали, что хуки сохранённых тензоров действуют и в другом потоке. Но они действуют только в том потоке, который
#     их включил.
predict_engine = {**solution, "packs in a thread": 1}

# %% mistake="anomaly_stays_home" theme="own"
# You expected anomaly mode to belong to one thread. It is one switch for the whole process.
# Вы ожидали, что режим обнаружения аномалий действует в одном потоке. Но этот переключатель — один на весь процесс.
predict_engine = {**solution, "anomaly mode in a thread": False}

# %% mistake="last_thread_wins" theme="accumulation"
# You expected the gradient of one thread to replace that of the other. Both are added.
# Вы ожидали, что градиент одного потока заменит градиент другого. Но градиенты складываются.
predict_engine = {**solution, "w.grad read by thread 1": 2.0, "w.grad read by thread 2": 2.0}

# %% mistake="hooks_pack_for_each_factor" theme="own"
# You expected hooks for saved tensors to reach another thread, and `square` to save its input twice. They belong to
#     the thread that entered the block.
# Вы ожидали, что хуки сохранённых тензоров действуют и в другом потоке, а `square` сохраняет свой вход дважды. Но они
#     действуют только в том потоке, который их включил.
predict_engine = {**solution, "packs in a thread": 2}

# %% mistake="first_reads_early" theme="order"
# You expected thread 1 to read before thread 2 has added. The barrier lets nobody go on until both have added.
# Вы ожидали, что поток 1 прочтёт значение раньше, чем поток 2 прибавит своё. Но барьер не пропускает никого, пока
#     не прибавили оба.
predict_engine = {**solution, "w.grad read by thread 1": 1.0, "w.grad read by thread 2": 3.0}

# %% mistake="second_reads_early" theme="order"
# You expected thread 2 to read before thread 1 has added. The barrier lets nobody go on until both have added.
# Вы ожидали, что поток 2 прочтёт значение раньше, чем поток 1 прибавит своё. Но барьер не пропускает никого, пока
#     не прибавили оба.
predict_engine = {**solution, "w.grad read by thread 1": 3.0, "w.grad read by thread 2": 2.0}
