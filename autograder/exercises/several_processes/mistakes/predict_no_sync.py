# %% mistake="flag_read_in_backward" theme="order"
# You expected `no_sync` around `backward()` to spare an all-reduce. The flag is read in the forward pass, which came
#     before.
# Вы ожидали, что `no_sync` вокруг `backward()` избавит от одного all-reduce. Но флаг читается в прямом проходе, а он
#     был раньше.
predict_no_sync = {**solution, "backward in no_sync: all-reduces": 0}

# %% mistake="forward_does_not_count" theme="order"
# You expected an exchange because `backward()` stands outside of `no_sync`. But its forward pass stood inside, and there
#     the flag is read.
# Вы ожидали обмена, раз `backward()` вызван вне `no_sync`. Но его прямой проход стоял внутри, а флаг читается в прямом.
predict_no_sync = {**solution, "forward in no_sync: all-reduces": 1}

# %% mistake="quiet_pass_is_averaged" theme="own"
# You expected the ranks to agree after a pass inside `no_sync`. Nothing was exchanged: each holds its own gradient.
# Вы ожидали, что после прохода внутри `no_sync` у рангов одинаковые градиенты. Но обмена не было: у каждого свой.
predict_no_sync = {**solution, "both in no_sync: gradients": [4.0, 4.0]}

# %% mistake="averages_the_last_pass_alone" theme="accumulation"
# You expected the all-reduce to average the last pass alone, on top of what the ranks had. It averages all that stands in
#     `.grad`.
# Вы ожидали, что all-reduce усреднит только последний проход, а прежние градиенты у каждого ранга останутся свои. Но
#     усредняется всё, что лежит в `.grad`.
predict_no_sync = {**solution, "then a pass outside: gradients": [12.0, 16.0]}

# %% mistake="forgets_the_earlier_pass" theme="accumulation"
# You expected the gradients of the pass inside `no_sync` to be gone. They waited in `.grad` and are in the mean.
# Вы ожидали, что градиенты прохода внутри `no_sync` пропали. Но они ждали в `.grad` и вошли в среднее.
predict_no_sync = {**solution, "then a pass outside: gradients": [10.0, 10.0]}

# %% mistake="each_backward_is_averaged" theme="order"
# You expected an exchange in each of the backward passes. The forward passes before them arm one exchange, and the first
#     backward pass uses it up.
# Вы ожидали обмена в каждом из обратных проходов. Но прямые проходы перед ними готовят один общий обмен, и его начинает
#     первый же обратный.
predict_no_sync = {**solution, "two backwards: all-reduces": 2}

# %% mistake="late_pass_is_in_the_mean" theme="order"
# You expected the gradients of the later backward pass in the mean. They were added after the exchange, each on its rank.
# Вы ожидали, что градиенты более позднего обратного прохода войдут в среднее. Но они прибавлены после обмена, у каждого
#     ранга свои.
predict_no_sync = {**solution, "two backwards: gradients": [14.0, 14.0]}

# %% mistake="exchange_waits_for_all" theme="order"
# You expected the exchange to wait for the later backward pass. It comes in the first one, when each parameter has had its
#     hook once.
# Вы ожидали, что обмен дождётся следующего обратного прохода. Но он происходит в первом, как только у каждого параметра один
#     раз сработал хук.
predict_no_sync = {**solution, "two forwards, one backward: gradients": [2.0, 6.0]}

# %% mistake="means_are_sums" theme="scaling"
# You expected the sum over the ranks. `Pair` divides by 2: an all-reduce of gradients is a mean.
# Вы ожидали сумму по рангам. Но `Pair` делит её на 2: для градиентов all-reduce даёт среднее.
predict_no_sync = {**solution, "two forwards, one backward: gradients": [8.0, 8.0]}

# %% mistake="counts_each_rank" theme="own"
# You counted an all-reduce for each rank. It is one exchange, in which all ranks take part.
# Вы сосчитали all-reduce у каждого ранга. Но это один обмен, в котором участвуют все ранги.
predict_no_sync = {**solution, "backward in no_sync: all-reduces": 2, "two backwards: all-reduces": 2}

# %% mistake="divides_by_the_passes" theme="scaling"
# You expected a mean over the passes, too. The mean is taken over the ranks alone; the gradients of passes add up in
#     `.grad`.
# Вы ожидали среднего ещё и по проходам. Но оно берётся только по рангам, а градиенты проходов складываются в `.grad`.
predict_no_sync = {**solution, "then a pass outside: gradients": [7.0, 7.0]}

# %% mistake="replaces_the_gradient" theme="accumulation"
# You expected the later backward pass to replace what stood in `.grad`. It adds to it.
# Вы ожидали, что более поздний обратный проход заменит содержимое `.grad`. Но он к нему прибавляет.
predict_no_sync = {**solution, "two backwards: gradients": [4.0, 16.0]}
