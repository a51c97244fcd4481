# %% mistake="the_right_sign" theme="derivative"
# You expected the step to add the update. SGD subtracts what is in `p.grad`.
# Вы ожидали, что на шаге обновление прибавится. Но SGD вычитает то, что лежит в `p.grad`.
predict_traces = {**solution, "w[0] after step 1": 0.12, "w[2] at the end": 0.475}

# %% mistake="step_size_once" theme="scaling"
# You counted the step size once. It is in `p.grad` already, and the optimizer multiplies by its own `lr` again.
# Размер шага учтён один раз. Но в `p.grad` он уже есть, а оптимизатор умножает ещё и на свой `lr`.
predict_traces = {**solution, "w[0] after step 1": 0.06, "w[2] at the end": -0.05}

# %% mistake="plain_td" theme="derivative"
# This is what TD(λ) itself would give. The code subtracts the update, and multiplies by the step size twice.
# Так было бы в настоящем TD(λ). А в этом коде обновление вычитается и умножается на размер шага дважды.
predict_traces = {**solution, "w[0] after step 1": 0.14, "w[2] at the end": 0.65}

# %% mistake="backward_overwrites" theme="accumulation"
# You expected only the new gradient in `p.grad` after the second `backward()`. Nothing has cleared `p.grad`, and
#     `backward()` adds to it.
# Вы ожидали, что после второго `backward()` в `p.grad` останется только новый градиент. Но `p.grad` никто не
#     обнулил, а `backward()` к нему прибавляет.
predict_traces = {**solution, "p.grad[0] after the second backward": 0.0}

# %% mistake="adds_one_again" theme="derivative"
# You let the second `backward()` add 1 to `p.grad[0]`. It adds the gradient of the second value, and that is 1 for
#     the second weight and 0 for the first.
# У вас второй `backward()` прибавляет 1 к `p.grad[0]`. Но прибавляется градиент второй ценности, а он равен 1 для
#     второго веса и 0 для первого.
predict_traces = {**solution, "p.grad[0] after the second backward": 1.04, "trace[0] after step 2": 1.76}

# %% mistake="clean_trace" theme="accumulation"
# You expected the trace of the first state to decay to γλ. It has swallowed the update that was left in `p.grad` as
#     well.
# Вы ожидали, что след первого состояния затухнет до γλ. Но в него вошло ещё и обновление, оставшееся в `p.grad`.
predict_traces = {**solution, "trace[0] after step 2": 0.72}

# %% mistake="subtracts_the_rest" theme="derivative"
# You subtracted the update that was left in `p.grad` from the trace. The trace adds what is in `p.grad`.
# Вы вычли из следа обновление, оставшееся в `p.grad`. Но то, что лежит в `p.grad`, к следу прибавляется.
predict_traces = {**solution, "trace[0] after step 2": 0.68}

# %% mistake="step_clears" theme="accumulation"
# You expected `optimizer.step()` to clear `p.grad`. It only reads it.
# Вы ожидали, что `optimizer.step()` обнулит `p.grad`. Но он его только читает.
predict_traces = {**solution, "p.grad[0] after step 1": 0.0}

# %% mistake="backward_left_alone" theme="accumulation"
# You expected the gradient of `v` in `p.grad`. The last line of the step has put the update there.
# Вы ожидали, что в `p.grad` лежит градиент `v`. Но последняя строка шага записала туда обновление.
predict_traces = {**solution, "p.grad[0] after step 1": 1.0}

# %% mistake="step_size_left_out" theme="scaling"
# You left out the step size: `p.grad` becomes `alpha * delta * trace`.
# Вы не учли размер шага: в `p.grad` записывается `alpha * delta * trace`.
predict_traces = {**solution, "p.grad[0] after step 1": 0.08}

# %% mistake="keeps_the_old_gradient" theme="accumulation"
# You expected the gradient of the first step in `p.grad`, which was 1. The last line of that step has overwritten
#     it with the update.
# Вы ожидали, что в `p.grad` лежит градиент первого шага, равный 1. Но последняя строка того шага записала на его
#     место обновление.
predict_traces = {**solution, "p.grad[0] after the second backward": 1.0}

# %% mistake="trace_of_lambda" theme="scaling"
# You let the trace decay by λ alone. The factor is γλ.
# У вас след затухает с множителем λ. Но множитель — γλ.
predict_traces = {**solution, "trace[0] after step 2": 0.84}

# %% mistake="trace_without_decay" theme="scaling"
# You did not let the old trace decay. It is multiplied by γλ first.
# У вас прежний след не затухает. Но сначала он умножается на γλ.
predict_traces = {**solution, "trace[0] after step 2": 1.04}
