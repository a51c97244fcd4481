# %% mistake="round_has_no_graph" theme="recording"
# You expected no graph behind a rounding. `round` and its relatives have a node and a derivative, 0; only a comparison
#     or `argmax` has none.
# Вы ожидали, что у округления нет графа. Но у `round` и похожих функций есть и узел, и производная, равная 0. Графа нет
#     после сравнения или `argmax`.
predict_discrete = {**solution, "x.round()": "no graph"}

# %% mistake="round_follows_x" theme="derivative"
# You expected a rounding to have the slope of `x`. It is flat between its steps: the slope is 0.
# Вы ожидали, что у округления тот же наклон, что и у `x`. Но между скачками график горизонтален: наклон равен 0.
predict_discrete = {**solution, "x.round()": 1.0}

# %% mistake="comparison_has_zero" theme="recording"
# You expected a comparison to give the gradient 0. Its result is no number that could have a gradient: the graph ends
#     there, and what is computed from it alone does not require grad.
# Вы ожидали от сравнения нулевого градиента. Но его результат — не число, у которого может быть градиент: граф на нём
#     кончается, и то, что вычислено только из него, градиента не требует.
predict_discrete = {**solution, "(x > 0.5).float()": 0.0}

# %% mistake="mask_stops_everything" theme="recording"
# You expected a mask to stop the gradient of the whole product. The mask is a constant factor, and `x` is the other
#     factor.
# Вы ожидали, что маска остановит градиент всего произведения. Но маска — постоянный множитель, а второй множитель — `x`.
predict_discrete = {**solution, "x * (x > 0.5)": "no graph"}

# %% mistake="mask_is_differentiated" theme="derivative"
# You expected the slope 0 for a product with a mask. A mask is a constant factor; the slope is that factor times the
#     slope of the rest.
# Вы ожидали нулевого наклона у произведения с маской. Но маска — постоянный множитель, и наклон равен этому множителю,
#     умноженному на наклон остального.
predict_discrete = {**solution, "x * (x > 0.5)": 0.0}

# %% mistake="floor_takes_the_slope" theme="derivative"
# You expected the slope 0 for what is left after the rounded part is subtracted. The rounded part is flat, so the slope
#     of `x` itself is left.
# Вы ожидали нулевого наклона у остатка после вычитания округлённой части. Но округлённая часть горизонтальна, поэтому
#     остаётся наклон самого `x`.
predict_discrete = {**solution, "x - x.floor()": 0.0}

# %% mistake="sample_has_no_graph" theme="recording"
# You expected no graph behind `torch.bernoulli`. It has a node, and the gradient that goes through it is 0: silence
#     instead of an error.
# Вы ожидали, что у `torch.bernoulli` нет графа. Но узел у неё есть, и градиент, который через него проходит, равен 0:
#     вместо ошибки — тишина.
predict_discrete = {**solution, "torch.bernoulli(x)": "no graph"}

# %% mistake="sample_has_the_slope_of_its_mean" theme="derivative"
# You expected the gradient of a sample to be that of its mean. The mean of the bit is `x`, with slope 1, but a single
#     bit is 0 or 1: for autograd its derivative is 0.
# Вы ожидали, что градиент случайного бита такой же, как у его среднего. Среднее равно `x`, его наклон 1, но сам бит —
#     это 0 или 1, и его производная для autograd равна 0.
predict_discrete = {**solution, "torch.bernoulli(x)": 1.0}

# %% mistake="detach_ends_the_sum" theme="recording"
# You expected no graph behind a sum with a detached term. Only that term becomes a constant; the other one keeps its
#     path.
# Вы ожидали, что у суммы с отсоединённым слагаемым нет графа. Но константой становится только это слагаемое, а у
#     другого путь назад остаётся.
predict_discrete = {**solution, "x + (x.round() - x).detach()": "no graph"}

# %% mistake="value_decides" theme="derivative"
# You expected the slope 0 because the value is that of a rounding. The gradient does not see the value: it sees the
#     terms that are not detached, and here that is `x`.
# Вы ожидали нулевого наклона, потому что значение такое же, как после округления. Но градиент зависит не от значения, а
#     от слагаемых, которые не отсоединены. Здесь это `x`.
predict_discrete = {**solution, "x + (x.round() - x).detach()": 0.0}

# %% mistake="detaches_the_wrong_one" theme="derivative"
# You expected the detached `x` to make no difference to the sign. What is left for the gradient is the term that is
#     subtracted.
# Вы ожидали, что знак не зависит от того, какой `x` отсоединён. Но в градиенте остаётся то слагаемое, которое вычитают.
predict_discrete = {**solution, "x.detach() + x.round() - x": 1.0}

# %% mistake="cancels_in_the_gradient" theme="derivative"
# You expected the slope 0, because the two `x` cancel. They cancel in the value. In the gradient one of them is a
#     constant.
# Вы ожидали нулевого наклона, потому что два `x` сокращаются. Но сокращаются они в значении, а для градиента один из
#     них — константа.
predict_discrete = {**solution, "x.detach() + x.round() - x": 0.0}

# %% mistake="sample_raises" theme="recording"
# You expected an error behind `torch.bernoulli`. It has a node with the derivative 0: the gradient is lost without a word.
# Вы ожидали, что после `torch.bernoulli` будет ошибка. Но у неё есть узел с производной 0: градиент теряется молча.
predict_discrete = {**solution, "torch.bernoulli(x)": "RuntimeError"}

# %% mistake="comparison_raises" theme="recording"
# You expected an error behind a comparison, as behind `heaviside`. Its result has no graph at all, so `slope` never gets
#     to a backward pass.
# Вы ожидали после сравнения ошибку, как у `heaviside`. Но у результата сравнения вообще нет графа, и до обратного
#     прохода `slope` не доходит.
predict_discrete = {**solution, "(x > 0.5).float()": "RuntimeError"}

# %% mistake="round_raises" theme="recording"
# You expected an error behind a rounding. It has a node with the derivative 0: the gradient is lost without a word.
# Вы ожидали ошибку за округлением. Но у него есть узел с производной 0: градиент теряется без всяких сообщений.
predict_discrete = {**solution, "x.round()": "RuntimeError"}
