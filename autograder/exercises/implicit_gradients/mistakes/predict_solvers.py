# %% mistake="one_step_is_enough" theme="derivative"
# You expected the whole derivative from one recorded step. The step takes the `z` that comes in as a constant.
# Вы ожидали, что один записанный шаг даст всю производную. Но `z` на входе шага для него константа.
predict_solvers = {**solution, "1 more step": 12.0}

# %% mistake="no_grad_gives_zero" theme="recording"
# You expected the derivative 0 for what was computed inside `no_grad()`. It has no graph at all.
# Вы ожидали нулевую производную у того, что вычислено внутри `no_grad()`. Но графа у него нет вовсе.
predict_solvers = {**solution, "all in no_grad": 0.0}

# %% mistake="steps_add_up" theme="derivative"
# You expected two steps to give twice the derivative of one. On its way through the second step, what the first one
#     gave is multiplied by the slope.
# Вы ожидали, что два шага дадут вдвое больше, чем один. Но вклад первого шага, проходя через второй, умножается на
#     наклон.
predict_solvers = {**solution, "2 more steps": 12.0}

# %% mistake="only_the_last_step" theme="recording"
# You expected only the last of many recorded steps to count. The gradient goes back through all of them.
# Вы ожидали, что из многих записанных шагов учтётся только последний. Но градиент проходит назад через все.
predict_solvers = {**solution, "100 more steps": 6.0}

# %% mistake="grows_without_end" theme="derivative"
# You expected each of the recorded steps to add the same amount. What comes from far back has been multiplied by the
#     slope many times, and so the sum has a limit.
# Вы ожидали, что каждый записанный шаг прибавит одно и то же. Но вклад давних шагов много раз умножен на наклон,
#     поэтому у суммы есть предел.
predict_solvers = {**solution, "100 more steps": 600.0}

# %% mistake="from_anywhere" theme="derivative"
# You expected the same derivative of a step from 0 as of a step at the fixed point. It depends on where the step
#     begins.
# Вы ожидали, что у шага из нуля та же производная, что у шага в неподвижной точке. Но она зависит от того, откуда
#     сделан шаг.
predict_solvers = {**solution, "1 step from 0": 6.0}

# %% mistake="solution_still_depends" theme="recording"
# You expected the fixed point to bring its derivative along. Computed inside `no_grad()`, it is a constant in the sum.
# Вы ожидали, что неподвижная точка принесёт свою производную. Но после `no_grad()` она входит в сумму как константа.
predict_solvers = {**solution, "z + w": 13.0}

# %% mistake="no_graph_spreads" theme="recording"
# You expected a sum with one summand without a graph to have none. One summand that requires grad is enough.
# Вы ожидали, что у суммы не будет графа, раз его нет у одного слагаемого. Но достаточно одного слагаемого, которое
#     требует градиента.
predict_solvers = {**solution, "z + w": "no graph"}

# %% mistake="adds_nothing" theme="derivative"
# You expected a further step only to multiply the derivative by the slope. It also adds a part of its own, because the
#     parameter stands in every step.
# Вы ожидали, что следующий шаг лишь умножит производную на наклон. Но он ещё и прибавляет свой вклад: параметр входит в
#     каждый шаг.
predict_solvers = {**solution, "2 more steps": 3.0}

# %% mistake="value_of_the_step" theme="derivative"
# You gave the value of the step from 0. Asked for is its derivative, and the parameter is multiplied by 0 there.
# Вы указали значение шага из нуля. А нужна его производная, и параметр там умножается на 0.
predict_solvers = {**solution, "1 step from 0": 3.0}

# %% mistake="rests_at_the_constant" theme="own"
# You expected `z` to come to rest at 3, the constant of the step. A fixed point solves $z = wz + 3$.
# Вы ожидали, что `z` остановится на 3, то есть на константе из шага. Но неподвижная точка — решение уравнения
#     $z = wz + 3$.
predict_solvers = {**solution, "z": 3.0, "100 more steps": 6.0}

# %% mistake="one_step_in_the_sum" theme="recording"
# You added the 6 of one recorded step. No step is recorded for `z + w`: the fixed point is a constant there.
# Вы прибавили 6, вклад одного записанного шага. Но для `z + w` ни один шаг не записан: неподвижная точка там константа.
predict_solvers = {**solution, "z + w": 7.0}
