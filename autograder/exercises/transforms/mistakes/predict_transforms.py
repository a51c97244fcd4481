# %% mistake="any_form_will_do" theme="own"
# You expected `torch.func` to accept a `forward` that takes the context. It wants `setup_context`.
# Вы ожидали, что `torch.func` примет `forward` с контекстом. Но этому модулю нужен `setup_context`.
predict_transforms = {**solution, "grad of OldCube": "accepted"}

# %% mistake="grad_needs_a_rule" theme="own"
# You expected `grad` to want more than `setup_context` and `backward`. Without a batch no rule is needed.
# Вы ожидали, что преобразованию `grad` мало методов `setup_context` и `backward`. Но без батча правило не нужно.
predict_transforms = {**solution, "grad": "refused"}

# %% mistake="batches_for_free" theme="own"
# You expected `vmap` to accept a Function without a rule. It knows rules for torch's operations, not for yours.
# Вы ожидали, что `vmap` примет функцию без правила. Но сам он знает правила только для операций torch.
predict_transforms = {**solution, "vmap": "accepted"}

# %% mistake="only_backward_is_batched" theme="own"
# You expected `vmap` of `grad` to need no rule. The forward pass runs inside of `vmap`, too.
# Вы ожидали, что для `vmap` от `grad` правило не нужно. Но внутри `vmap` выполняется и прямой проход.
predict_transforms = {**solution, "vmap of grad": "accepted"}

# %% mistake="jacrev_batches_forward" theme="own"
# You expected `jacrev` to be refused for want of a rule. Its batch meets only `backward`.
# Вы ожидали, что `jacrev` не сработает без правила. Но с батчем у него выполняется только `backward`.
predict_transforms = {**solution, "jacrev": "refused"}

# %% mistake="jvp_from_backward" theme="derivative"
# You expected forward mode to work without a `jvp`. torch does not make one from `backward`.
# Вы ожидали, что прямой режим сработает без `jvp`. Но из `backward` torch этот метод не выводит.
predict_transforms = {**solution, "jvp": "accepted"}

# %% mistake="jacfwd_like_jacrev" theme="derivative"
# You expected `jacfwd` to be accepted, as `jacrev` is. It runs forward mode, under `vmap`, and needs a rule and a
#     `jvp`.
# Вы ожидали, что `jacfwd` сработает, раз сработал `jacrev`. Но ему нужен прямой режим внутри `vmap`: и правило, и
#     `jvp`.
predict_transforms = {**solution, "jacfwd": "accepted"}
