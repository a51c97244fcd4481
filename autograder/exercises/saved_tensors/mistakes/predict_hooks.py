# %% mistake="once_per_tensor" theme="own"
# You expected hooks to be called once per tensor. They are called once per save, and `x * x` saves `x` twice.
# Вы ожидали, что хук вызывается один раз на тензор. Но он вызывается на каждое сохранение, а `x * x` сохраняет `x`
#     дважды.
predict_hooks = {**solution, "packs of x * x": 1}

# %% mistake="weights_are_not_packed" theme="recording"
# You expected parameters not to reach the hooks. A weight is saved like any other tensor.
# Вы ожидали, что параметры до хуков не доходят. Но вес сохраняется, как и любой другой тензор.
predict_hooks = {**solution, "packs of x @ W": 1}

# %% mistake="reaches_other_threads" theme="own"
# You expected the `with` to act in other threads too. Each thread has its own stack of hooks.
# Вы ожидали, что `with` действует и в других потоках. Но у каждого потока свой стек хуков.
predict_hooks = {**solution, "packs of x.exp() in another thread": 1}

# %% mistake="nested_pairs_compose" theme="own"
# You expected nested pairs to be called one after the other. Only the innermost pair is called.
# Вы ожидали, что вложенные пары вызываются по очереди. Но вызывается только самая внутренняя.
predict_hooks = {**solution, "outer packs of x.exp() inside an inner pair": 1}

# %% mistake="acts_in_backward" theme="order"
# You expected hooks to act during backward. Tensors are packed when they are saved, in the forward pass; a `with`
#     around `backward()` comes too late.
# Вы ожидали, что хуки действуют во время обратного прохода. Но тензоры упаковываются при сохранении, в прямом
#     проходе; ставить `with` вокруг `backward()` уже поздно.
predict_hooks = {**solution, "packs of backward() alone": 1}

# %% mistake="unpacks_once" theme="own"
# You expected `unpack` to run only once. It runs at each use: two backward passes, two calls.
# Вы ожидали, что `unpack` вызывается только однажды. Но он вызывается при каждом обращении: два обратных прохода —
#     два вызова.
predict_hooks = {**solution, "unpacks of x ** 2 in two backward passes": 1}

# %% mistake="contents_are_checked" theme="own"
# You expected what `pack` changed to make no difference, or to be undone. Backward takes the numbers that `unpack`
#     returns and does not check them.
# Вы ожидали, что изменение, сделанное в `pack`, ни на что не влияет или отменяется. Но обратный проход берёт числа,
#     которые вернул `unpack`, и не проверяет их.
predict_hooks = {**solution, "gradient of x ** 2 at 3 with pack = 4 * t": 6.0}

# %% mistake="factor_is_squared" theme="scaling"
# The factor 4 was applied twice, or to a square. Here `x` alone is saved, and the gradient is twice what `unpack`
#     returns.
# Множитель 4 применён дважды или к квадрату. Но сохраняется сам `x`, а градиент равен удвоенному результату
#     `unpack`.
predict_hooks = {**solution, "gradient of x ** 2 at 3 with pack = 4 * t": 96.0}

# %% mistake="forgets_the_two" theme="derivative"
# What `unpack` returns, 12, was taken for the gradient. The derivative of `x ** 2` is twice the saved tensor.
# За градиент принято то, что вернул `unpack`, то есть 12. Но производная `x ** 2` вдвое больше сохранённого
#     тензора.
predict_hooks = {**solution, "gradient of x ** 2 at 3 with pack = 4 * t": 12.0}

# %% mistake="a_square_saves_twice" theme="recording"
# You expected `x ** 2` to save two tensors, as `x * x` does. It saves `x` once: one `unpack` in each backward pass.
# Вы ожидали, что `x ** 2` сохраняет два тензора, как `x * x`. Но `x` сохраняется один раз, и на каждый обратный
#     проход приходится один `unpack`.
predict_hooks = {**solution, "unpacks of x ** 2 in two backward passes": 4}
