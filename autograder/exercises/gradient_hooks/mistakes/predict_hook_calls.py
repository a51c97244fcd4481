# %% mistake="once_for_each_use" theme="accumulation"
# You expected one call for each use of `w`. The gradients of all uses are added first, and the hook gets their sum,
#     once.
# Вы ожидали по одному вызову на каждое использование `w`. Но сначала складываются градиенты всех путей, и хук
#     получает их сумму один раз.
predict_hook_calls = {**solution, "calls of the hook on w, used twice": 2}

# %% mistake="grad_runs_no_hooks" theme="own"
# You expected `autograd.grad` to run no hooks. It runs the tensor hooks on its way; only `.grad` is left alone.
# Вы ожидали, что `autograd.grad` не вызывает хуков. Но хуки тензоров на пути он вызывает; не меняется только
#     `.grad`.
predict_hook_calls = {**solution, "hook on w runs in autograd.grad": False}

# %% mistake="grad_runs_all_hooks" theme="own"
# You expected `autograd.grad` to run the post-accumulate hook. It accumulates nothing, so there is no moment after
#     the accumulation.
# Вы ожидали, что `autograd.grad` вызовет хук post-accumulate. Но он ничего не накапливает, поэтому момента «после
#     накопления» нет.
predict_hook_calls = {**solution, "post-accumulate hook runs in autograd.grad": True}

# %% mistake="hook_follows_the_name" theme="in_place"
# You expected the hook to follow `h` through the in-place change. It stays with the value from before it.
# Вы ожидали, что после изменения на месте хук относится к новому значению `h`. Но он относится к прежнему.
predict_hook_calls = {**solution, "hook before h.mul_(4)": 1.0}
