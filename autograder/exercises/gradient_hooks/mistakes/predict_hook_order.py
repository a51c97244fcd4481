# %% mistake="both_see_the_original" theme="order"
# You expected both hooks to get the gradient as it arrived. The second gets what the first returned.
# Вы ожидали, что оба хука получат градиент таким, каким он пришёл. Но второй получает то, что вернул первый.
predict_hook_order = {**solution, "second hook on h": 5.0}

# %% mistake="last_hook_first" theme="order"
# You expected the hook registered last to run first. Hooks run in the order of their registration.
# Вы ожидали, что первым выполнится последний хук. Но хуки выполняются в порядке регистрации.
predict_hook_order = {**solution, "first hook on h": 50.0, "second hook on h": 5.0}

# %% mistake="retains_before_hooks" theme="order"
# You expected `retain_grad()` to keep the gradient from before the hooks, since it was called first. It keeps what
#     is left after all of them.
# Вы ожидали, что `retain_grad()` сохранит градиент до хуков, раз этот вызов стоит раньше. Но сохраняется то, что
#     получилось после всех хуков.
predict_hook_order = {**solution, "h.grad": 5.0}

# %% mistake="only_watches" theme="own"
# You expected a returned value to be ignored. What a hook returns takes the gradient's place from there on.
# Вы ожидали, что возвращённое значение ни на что не влияет. Но оно занимает место градиента на всём остальном пути.
predict_hook_order = {
    **solution,
    "second hook on h": 5.0,
    "h.grad": 5.0,
    "hook on w": 15.0,
    "w.grad in the post-accumulate hook": 115.0,
}

# %% mistake="hook_gets_the_sum" theme="accumulation"
# You expected the hook on `w` to get the accumulated sum. A tensor hook gets this pass's gradient alone.
# Вы ожидали, что хук на `w` получит накопленную сумму. Но хук тензора получает градиент только этого прохода.
predict_hook_order = {**solution, "hook on w": 250.0}

# %% mistake="accumulated_before_the_hook" theme="order"
# You expected `.grad` to be complete when the hook on `w` runs. The gradient is added after the hook, because the
#     hook may still change it.
# Вы ожидали, что при выполнении хука на `w` поле `.grad` уже готово. Но градиент прибавляется после хука, потому
#     что хук ещё может его изменить.
predict_hook_order = {**solution, "w.grad in the hook on w": 250.0}

# %% mistake="post_hook_sees_this_pass" theme="accumulation"
# You expected this pass's gradient alone in `.grad`. The 100 from before is in the sum.
# Вы ожидали, что в `.grad` лежит градиент только этого прохода. Но в сумму входит и прежняя 100.
predict_hook_order = {**solution, "w.grad in the post-accumulate hook": 150.0}

# %% mistake="once_for_each_use" theme="accumulation"
# You expected one call for each use of `w`. The gradients of all uses are added first, and the hook gets their sum,
#     once.
# Вы ожидали по одному вызову на каждое использование `w`. Но сначала складываются градиенты всех путей, и хук
#     получает их сумму один раз.
predict_hook_order = {**solution, "calls of the hook on w, used twice": 2}

# %% mistake="grad_runs_no_hooks" theme="own"
# You expected `autograd.grad` to run no hooks. It runs the tensor hooks on its way; only `.grad` is left alone.
# Вы ожидали, что `autograd.grad` не вызывает хуков. Но хуки тензоров на пути он вызывает; не меняется только
#     `.grad`.
predict_hook_order = {**solution, "hook on w runs in autograd.grad": False}

# %% mistake="grad_runs_all_hooks" theme="own"
# You expected `autograd.grad` to run the post-accumulate hook. It accumulates nothing, so there is no moment after
#     the accumulation.
# Вы ожидали, что `autograd.grad` вызовет хук post-accumulate. Но он ничего не накапливает, поэтому момента «после
#     накопления» нет.
predict_hook_order = {**solution, "post-accumulate hook runs in autograd.grad": True}

# %% mistake="hook_follows_the_name" theme="in_place"
# You expected the hook to follow `h` through the in-place change. It stays with the value from before it.
# Вы ожидали, что хук последует за `h` через изменение на месте. Но он остаётся с прежним значением.
predict_hook_order = {**solution, "hook before h.mul_(4)": 1.0}
