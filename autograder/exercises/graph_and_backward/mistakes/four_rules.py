# %%
RIGHT = {
    "+": lambda g, out, a, b: (g, g),
    "*": lambda g, out, a, b: (g * b, g * a),
    "@": lambda g, out, a, b: (g @ b.t(), a.t() @ g),
    "sum": lambda g, out, a: (g.expand(a.shape),),
    "tanh": lambda g, out, a: (g * (1 - out * out),),
}

# %% mistake="swaps_the_factors" theme="derivative"
# The rule of `*` multiplies each factor's gradient by that factor itself. The derivative by one factor is the other.
# Правило для `*` умножает градиент каждого множителя на сам этот множитель. Производная по одному множителю — это другой.
def four_rules():
    return {**RIGHT, "*": lambda g, out, a, b: (g * a, g * b)}

# %% mistake="forgets_the_gradient" theme="derivative"
# The rule of `*` gives the derivative alone. It has to be multiplied by the gradient that arrives.
# Правило для `*` выдаёт только саму производную. Её нужно умножить на пришедший градиент.
def four_rules():
    return {**RIGHT, "*": lambda g, out, a, b: (b, a)}

# %% mistake="divides_the_result" theme="derivative"
# The rule of `*` divides the result by a factor. Where that factor is 0, the other one does not come back.
# Правило для `*` делит результат на множитель. Где этот множитель равен 0, второй так не получить.
def four_rules():
    return {**RIGHT, "*": lambda g, out, a, b: (g * out / a, g * out / b)}

# %% mistake="divides_beside_zero" like="divides_the_result"
def four_rules():
    return {**RIGHT, "*": lambda g, out, a, b: (g * out / (a + 1e-12), g * out / (b + 1e-12))}

# %% mistake="transposes_nothing" theme="axes"
# The rule of `@` has no transposes: `g @ b` does not even fit unless the matrices are square.
# В правиле для `@` нет транспонирований: если матрицы не квадратные, `g @ b` даже не вычислить.
def four_rules():
    return {**RIGHT, "@": lambda g, out, a, b: (g @ b, a @ g)}

# %% mistake="puts_factors_in_one_order" theme="axes"
# In the rule of `@` a factor stands on the wrong side: `b.t()` comes after `g`, `a.t()` before it.
# В правиле для `@` множитель стоит не с той стороны: `b.t()` должен быть после `g`, а `a.t()` — перед ним.
def four_rules():
    return {**RIGHT, "@": lambda g, out, a, b: (b.t() @ g, g @ a.t())}

# %% mistake="hands_parts_to_the_other" theme="return"
# The rule of `@` hands each part to the other input. The first part belongs to the first input.
# Правило для `@` возвращает градиенты не в том порядке: первым должен стоять градиент первого входа.
def four_rules():
    return {**RIGHT, "@": lambda g, out, a, b: (a.t() @ g, g @ b.t())}

# %% mistake="multiplies_by_entries" theme="axes"
# The rule of `@` multiplies entry by entry. Its parts are matrix products, `g @ b.t()` and `a.t() @ g`.
# Правило для `@` умножает поэлементно. Нужны матричные произведения: `g @ b.t()` и `a.t() @ g`.
def four_rules():
    return {**RIGHT, "@": lambda g, out, a, b: (g * b, g * a)}

# %% mistake="transposes_the_second_part" theme="axes"
# In the rule of `@` the second part comes out transposed: it should be `a.t() @ g`.
# В правиле для `@` второй градиент получается транспонированным: он должен быть равен `a.t() @ g`.
def four_rules():
    return {**RIGHT, "@": lambda g, out, a, b: (g @ b.t(), g.t() @ a)}

# %% mistake="transposes_the_result" theme="axes"
# The parts of `@` come out transposed: each has the shape of its input, turned round.
# Оба градиента в правиле для `@` получаются транспонированными: у каждого форма его входа, но перевёрнутая.
def four_rules():
    return {**RIGHT, "@": lambda g, out, a, b: (b @ g.t(), g.t() @ a)}

# %% mistake="leaves_one_number" theme="axes"
# The rule of `sum` hands on one number. Every entry of the input gets it: the part has the input's shape.
# Правило для `sum` передаёт одно число. Его должен получить каждый элемент: у градиента та же форма, что у входа.
def four_rules():
    return {**RIGHT, "sum": lambda g, out, a: (g,)}

# %% mistake="divides_by_the_number" theme="scaling"
# The rule of `sum` divides by the number of entries. That is the rule of a mean.
# Правило для `sum` делит на число элементов. Это правило для среднего.
def four_rules():
    return {**RIGHT, "sum": lambda g, out, a: (g.expand(a.shape) / a.numel(),)}

# %% mistake="spreads_the_input" theme="derivative"
# The rule of `sum` multiplies by the input. The derivative of a sum by each entry is 1.
# Правило для `sum` умножает на вход. Производная суммы по каждому элементу равна 1.
def four_rules():
    return {**RIGHT, "sum": lambda g, out, a: (g * a,)}

# %% mistake="squares_the_input" theme="derivative"
# The rule of `tanh` squares the input. In `1 - out**2` it is the result that is squared.
# В правиле для `tanh` в квадрат возведён вход. В формуле `1 - out**2` в квадрат возводится результат.
def four_rules():
    return {**RIGHT, "tanh": lambda g, out, a: (g * (1 - a * a),)}

# %% mistake="forgets_the_square" theme="derivative"
# The rule of `tanh` takes `1 - out`. The derivative is `1 - out**2`.
# В правиле для `tanh` стоит `1 - out`. Производная равна `1 - out**2`.
def four_rules():
    return {**RIGHT, "tanh": lambda g, out, a: (g * (1 - out),)}

# %% mistake="squares_the_difference" theme="derivative"
# The rule of `tanh` squares the whole difference, `(1 - out)**2`. The derivative is `1 - out**2`.
# В правиле для `tanh` в квадрат возведена вся разность, `(1 - out)**2`. Производная равна `1 - out**2`.
def four_rules():
    return {**RIGHT, "tanh": lambda g, out, a: (g * (1 - out) ** 2,)}

# %% mistake="takes_tanh_twice" theme="derivative"
# The rule of `tanh` applies `tanh` to the result once more. In `1 - out**2` it is the result itself that is squared.
# Правило для `tanh` ещё раз применяет `tanh` к результату. В формуле `1 - out**2` в квадрат возводится сам результат.
def four_rules():
    return {**RIGHT, "tanh": lambda g, out, a: (g * (1 - out.tanh() ** 2),)}

# %% mistake="takes_the_sigmoid" theme="derivative"
# The rule of `tanh` takes `out * (1 - out)`, the derivative of the sigmoid.
# В правиле для `tanh` стоит `out * (1 - out)`: это производная сигмоиды.
def four_rules():
    return {**RIGHT, "tanh": lambda g, out, a: (g * out * (1 - out),)}

# %% mistake="forgets_the_gradient_in_sum" theme="derivative"
# The rule of `sum` gives ones: the derivative alone. Each entry gets the gradient that arrives.
# Правило для `sum` выдаёт единицы, то есть только саму производную. Каждый элемент должен получить пришедший градиент.
def four_rules():
    return {**RIGHT, "sum": lambda g, out, a: (a * 0 + 1,)}

# %% mistake="forgets_the_gradient_in_tanh" theme="derivative"
# The rule of `tanh` gives the derivative alone. It has to be multiplied by the gradient that arrives.
# Правило для `tanh` выдаёт только саму производную. Её нужно умножить на пришедший градиент.
def four_rules():
    return {**RIGHT, "tanh": lambda g, out, a: (1 - out * out,)}

# %% mistake="forgets_the_comma_in_sum" theme="own"
# The rule returns a tensor. It has to be a tuple with one part: the comma is missing.
# Правило возвращает тензор. Нужен кортеж из одного градиента: пропущена запятая.
def four_rules():
    return {**RIGHT, "sum": lambda g, out, a: g.expand(a.shape)}

# %% mistake="forgets_the_comma_in_tanh" like="forgets_the_comma_in_sum"
def four_rules():
    return {**RIGHT, "tanh": lambda g, out, a: g * (1 - out * out)}
