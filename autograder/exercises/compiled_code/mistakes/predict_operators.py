# %% mistake="body_is_traced" theme="own"
# You expected the body to run once, as the formula does. It is a black box, and the compiled program calls it each time.
# Вы ожидали, что тело оператора выполнится один раз, как формула. Но оператор — чёрный ящик, и скомпилированная
#     программа вызывает его каждый раз.
predict_operators = {**solution, "runs of the body in three compiled passes": 1}

# %% mistake="body_never_runs" theme="own"
# You expected the body not to run at all once the graph is there. The graph holds a call of the operator.
# Вы ожидали, что после записи графа тело оператора не выполняется вовсе. Но в графе записан вызов оператора.
predict_operators = {**solution, "runs of the body in three compiled passes": 0}

# %% mistake="no_formula_no_grad" theme="recording"
# You expected the result not to require grad without a formula. It does; the error comes in the backward pass.
# Вы ожидали, что без формулы результат не требует градиента. Но он требует, а ошибка возникает в обратном проходе.
predict_operators = {**solution, "no formula: requires grad": False}

# %% mistake="opcheck_needs_no_formula" theme="own"
# You expected `opcheck` to accept an operator without a formula. The example requires grad, so it runs a backward pass.
# Вы ожидали, что `opcheck` примет оператор без формулы. Но пример требует градиента, поэтому выполняется и обратный
#     проход.
predict_operators = {**solution, "no formula: opcheck": "accepted"}

# %% mistake="numpy_is_traced" theme="recording"
# You expected a formula in NumPy to pass `opcheck`. It writes the formula into a graph, and NumPy cannot be written down.
# Вы ожидали, что формула на NumPy пройдёт `opcheck`. Но формулу нужно записать в граф, а вычисления NumPy туда не
#     записываются.
predict_operators = {**solution, "formula in NumPy: opcheck": "accepted"}

# %% mistake="gradcheck_sees_numpy" theme="own"
# You expected `gradcheck` to refuse a formula in NumPy. It compares numbers, and the numbers are right.
# Вы ожидали, что `gradcheck` отвергнет формулу на NumPy. Но она сравнивает числа, а числа верны.
predict_operators = {**solution, "formula in NumPy: gradcheck": "refused"}

# %% mistake="formula_serves_forward_mode" theme="derivative"
# You expected forward mode to use the formula. That one serves the backward pass alone; the tangent is silently 0.
# Вы ожидали, что прямой режим воспользуется формулой. Но она годится только для обратного прохода, а касательный вектор
#     молча равен 0.
predict_operators = {**solution, "forward mode of square at 1": 2.0}

# %% mistake="forward_mode_copies" theme="derivative"
# You expected the tangent to pass unchanged. What is not known counts as 0, without a message.
# Вы ожидали, что касательный вектор пройдёт без изменений. Но то, что неизвестно, считается нулём, без всяких
#     сообщений.
predict_operators = {**solution, "forward mode of square at 1": 1.0}

# %% mistake="mutation_is_recorded" theme="in_place"
# You expected the declared change to be differentiated, as `mul_` is. The compiler reads the declaration; autograd
#     does not.
# Вы ожидали, что объявленное изменение дифференцируется, как `mul_`. Но объявление читает компилятор, а autograd его не
#     видит.
predict_operators = {**solution, "gradient of a through double_": 6.0}

# %% mistake="mutation_replaces" theme="in_place"
# You expected the gradient of the change alone. The multiplication by 3 is recorded, and only it.
# Вы ожидали градиент одного лишь изменения. Но записано умножение на 3, и только оно.
predict_operators = {**solution, "gradient of a through double_": 2.0}

# %% mistake="body_is_recorded_too" theme="own"
# You expected the body to run once more, while the graph is recorded. There the fake stands in for it.
# Вы ожидали, что тело выполнится ещё раз, при записи графа. Но там его заменяет фиктивная реализация.
predict_operators = {**solution, "runs of the body in three compiled passes": 4}

# %% mistake="body_in_both_passes" theme="own"
# You expected the body to run in the backward passes as well. There the graph of the formula runs, which only multiplies.
# Вы ожидали, что тело выполнится и в обратных проходах. Но в них работает граф формулы, а в нём одни умножения.
predict_operators = {**solution, "runs of the body in three compiled passes": 6}
