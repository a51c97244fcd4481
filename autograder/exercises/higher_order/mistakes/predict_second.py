# %% mistake="retain_is_enough" theme="graph_life"
# You expected `retain_graph=True` to be enough. It keeps the graph of the function; the backward pass itself is
#     recorded with `create_graph=True` only.
# Вы ожидали, что достаточно `retain_graph=True`. Так сохраняется граф функции, но сам обратный проход записывается
#     только с `create_graph=True`.
predict_second = {**solution, "retain_graph=True": True}

# %% mistake="linear_gives_zero" theme="recording"
# You expected the second derivative of $3x$ to come out as 0. The gradient 3 does not depend on `x`, so it has no
#     graph, and `autograd.grad` raises an error.
# Вы ожидали, что вторая производная функции $3x$ получится равной 0. Но градиент 3 от `x` не зависит, графа у него
#     нет, и `autograd.grad` завершается ошибкой.
predict_second = {**solution, "3 * x twice": "accepted"}

# %% mistake="second_derivative_alone" theme="accumulation"
# You expected the second derivative alone in `x.grad`. `backward()` added it to the first one.
# Вы ожидали, что в `x.grad` будет только вторая производная. Но `backward()` прибавил её к первой.
predict_second = {**solution, "x.grad after both": 12.0}

# %% mistake="attention_is_like_the_rest" theme="own"
# You expected every operation of torch to have a second derivative. The fused attention has none: its backward is
#     one kernel without a formula of its own.
# Вы ожидали, что вторая производная есть у каждой операции torch. Но у слитого внимания её нет: обратный проход там
#     — одно ядро, для которого своей формулы производной нет.
predict_second = {**solution, "attention twice": "accepted"}

# %% mistake="choice_counts_in_backward" theme="order"
# You expected the choice to count in the backward pass. The node is made in the forward pass, and the kernel with
#     it.
# Вы ожидали, что выбор действует в обратном проходе. Но узел создаётся в прямом проходе, и ядро выбирается тогда
#     же.
predict_second = {
    **solution,
    "attention twice, MATH in backward": "accepted",
    "attention twice, MATH in forward": "RuntimeError",
}

# %% mistake="either_place_will_do" theme="order"
# You expected the choice to count in the backward pass as well. The node was made before it, with the fused kernel.
# Вы ожидали, что выбор действует и в обратном проходе. Но узел создан раньше, со слитым ядром.
predict_second = {**solution, "attention twice, MATH in backward": "accepted"}

# %% mistake="never_recorded" theme="graph_life"
# You expected no graph with `create_graph=True`. It records the backward pass, and so the gradient has a graph.
# Вы ожидали, что с `create_graph=True` графа нет. Но тогда обратный проход записывается, и у градиента граф есть.
predict_second = {**solution, "create_graph=True": False}

# %% mistake="added_twice" theme="accumulation"
# You added a derivative once more. The first is added once, and so is the second.
# Одну из производных вы прибавили лишний раз. Но и первая прибавлена один раз, и вторая.
predict_second = {**solution, "x.grad after both": 36.0}

# %% mistake="math_fails_as_well" theme="own"
# You expected the formula to have no second derivative. It consists of operations that all have one.
# Вы ожидали, что второй производной нет и у формулы. Но она есть у всех операций, из которых состоит формула.
predict_second = {**solution, "attention twice, MATH in forward": "RuntimeError"}

# %% mistake="multiplied" theme="accumulation"
# You expected the product of both derivatives. `backward()` adds to what is in `.grad`.
# Вы ожидали произведение обеих производных. Но `backward()` прибавляет градиент к тому, что лежит в `.grad`.
predict_second = {**solution, "x.grad after both": 144.0}
