# %%
RIGHT = {
    "*": lambda g, out, a, b: (g * b, g * a),
    "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g),
    "sum": lambda g, out, a: (g.expand(a.data.shape),),
    "tanh": lambda g, out, a: (g * (1 - out * out),),
}

# %% mistake="numbers_of_factors" theme="recording"
# The rule of `*` multiplies by numbers. The gradient is right, but it no longer knows that it came from `a` and `b`.
# Правило для `*` умножает на числа. Градиент верен, но уже не помнит, что получен из `a` и `b`.
def recorded_rules():
    return {**RIGHT, "*": lambda g, out, a, b: (g * b.data, g * a.data)}


# %% mistake="numbers_of_matrices" theme="recording"
# The rule of `@` multiplies by numbers. The gradient is right, but it no longer knows that it came from `a` and `b`.
# Правило для `@` умножает на числа. Градиент верен, но уже не помнит, что получен из `a` и `b`.
def recorded_rules():
    def matmul(g, out, a, b):
        return g @ b.data.t(), ((g.t()) @ a.data).t()

    return {**RIGHT, "@": matmul}


# %% mistake="number_of_the_result" theme="recording"
# The rule of `tanh` computes with the numbers of its result. So the second derivative lacks what goes through the result.
# Правило для `tanh` берёт от своего результата только числа. Во второй производной нет того, что проходит через результат.
def recorded_rules():
    return {**RIGHT, "tanh": lambda g, out, a: (g * (1 - out.data * out.data),)}


# %% mistake="numbers_everywhere" theme="recording"
# Every rule returns numbers: nothing can be differentiated again.
# Каждое правило возвращает числа: дифференцировать ещё раз нечего.
def recorded_rules():
    return {
        "*": lambda g, out, a, b: (g.data * b.data, g.data * a.data),
        "@": lambda g, out, a, b: (g.data @ b.data.t(), a.data.t() @ g.data),
        "sum": lambda g, out, a: (g.data.expand(a.data.shape),),
        "tanh": lambda g, out, a: (g.data * (1 - out.data * out.data),),
    }


# %% mistake="number_of_the_sum" theme="recording"
# The rule of `sum` returns numbers, and the gradient that came in is lost to the second pass.
# Правило для `sum` возвращает числа, и пришедший градиент для второго прохода потерян.
def recorded_rules():
    return {**RIGHT, "sum": lambda g, out, a: (g.data.expand(a.data.shape),)}


# %% mistake="swaps_the_factors" theme="derivative"
# Each factor of `*` gets its own value in place of the other one's.
# Каждый множитель `*` получает своё собственное значение вместо значения другого.
def recorded_rules():
    return {**RIGHT, "*": lambda g, out, a, b: (g * a, g * b)}


# %% mistake="swaps_the_matrices" theme="derivative"
# In the rule of `@` the products stand in the wrong order, or at the wrong input.
# В правиле для `@` произведения стоят не в том порядке или не у того входа.
def recorded_rules():
    return {**RIGHT, "@": lambda g, out, a, b: (a.t() @ g, g @ b.t())}


# %% mistake="transposes_nothing" theme="axes"
# The rule of `@` transposes nothing, so the shapes do not fit.
# В правиле для `@` ничего не транспонировано, поэтому формы не подходят.
def recorded_rules():
    return {**RIGHT, "@": lambda g, out, a, b: (g @ b, a @ g)}


# %% mistake="keeps_the_sum" theme="axes"
# The rule of `sum` gives one number back. Every entry of the input gets the gradient.
# Правило для `sum` возвращает одно число. Градиент получает каждый элемент входа.
def recorded_rules():
    return {**RIGHT, "sum": lambda g, out, a: (g,)}


# %% mistake="squares_the_input" theme="derivative"
# The rule of `tanh` takes `1 - a * a`. The formula is about the result.
# В правиле для `tanh` стоит `1 - a * a`. В формуле — квадрат результата.
def recorded_rules():
    return {**RIGHT, "tanh": lambda g, out, a: (g * (1 - a * a),)}


# %% mistake="multiplies_by_the_input" theme="derivative"
# The rule of `sum` multiplies by the input. The derivative of a sum by each entry is 1.
# Правило для `sum` умножает на вход. Производная суммы по каждому элементу равна 1.
def recorded_rules():
    return {**RIGHT, "sum": lambda g, out, a: (g.expand(a.data.shape) * a,)}


# %% mistake="forgets_the_chain" theme="derivative"
# The rules of `*` and `tanh` give the derivative alone. It has to be multiplied by the gradient that comes in.
# Правила для `*` и `tanh` дают только производную. Её нужно умножить на пришедший градиент.
def recorded_rules():
    return {**RIGHT, "*": lambda g, out, a, b: (b, a), "tanh": lambda g, out, a: (1 - out * out,)}


# %% mistake="squares_nothing" theme="derivative"
# The rule of `tanh` takes `1 - out`. The formula has the square.
# В правиле для `tanh` стоит `1 - out`. В формуле — квадрат.
def recorded_rules():
    return {**RIGHT, "tanh": lambda g, out, a: (g * (1 - out),)}


# %% mistake="adds_the_factors" theme="derivative"
# The rule of `*` is that of `+`: each factor gets the gradient as it is.
# Правило для `*` такое же, как для `+`: каждый множитель получает градиент без изменений.
def recorded_rules():
    return {**RIGHT, "*": lambda g, out, a, b: (g, g)}


# %% mistake="spreads_by_ones" theme="axes"
# The rule of `sum` multiplies by ones of another shape. The engine's `*` does not sum back to the shape of `g`: `expand` does.
# Правило для `sum` умножает на единицы другой формы. В движке `*` не приводит градиент к форме `g`, а `expand` приводит.
def recorded_rules():
    class Ones:
        def __init__(self, data):
            self.data, self.inputs, self.op = data, (), ""

    return {**RIGHT, "sum": lambda g, out, a: (g * Ones(0 * a.data + 1),)}


# %% mistake="forgets_the_comma" theme="slip"
# The rules of `sum` and `tanh` return the value itself. A tuple of one value needs a comma.
# Правила для `sum` и `tanh` возвращают само значение. Кортежу из одного значения нужна запятая.
def recorded_rules():
    return {**RIGHT, "sum": lambda g, out, a: g.expand(a.data.shape), "tanh": lambda g, out, a: g * (1 - out * out)}


# %% mistake="transposes_the_product" theme="axes"
# The gradient of `b` in the rule of `@` is transposed: `g.t() @ a` in place of `a.t() @ g`.
# Градиент `b` в правиле для `@` транспонирован: `g.t() @ a` вместо `a.t() @ g`.
def recorded_rules():
    return {**RIGHT, "@": lambda g, out, a, b: (g @ b.t(), g.t() @ a)}


# %% mistake="sums_to_ones" theme="derivative"
# The rule of `sum` gives ones, whatever gradient has come in.
# Правило для `sum` даёт единицы, какой бы градиент ни пришёл.
def recorded_rules():
    class Ones:
        def __init__(self, data):
            self.data, self.inputs, self.op = data, (), ""

    return {**RIGHT, "sum": lambda g, out, a: (Ones(0 * a.data + 1),)}
