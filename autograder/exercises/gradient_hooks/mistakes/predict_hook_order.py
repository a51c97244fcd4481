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
