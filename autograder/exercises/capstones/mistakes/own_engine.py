# %%
import torch


class Engine:
    """A right engine, the base of all mistakes.

    In each mistake a method is wrong.
    """

    def __init__(self, data, inputs=(), rule=None):
        self.data, self.inputs, self.rule = data, inputs, rule
        self.grad, self.hooks = None, []

    def made(self, data, inputs, rule):
        return type(self)(data, inputs, rule)

    def constant(self, number):
        return type(self)(torch.tensor(number, dtype=torch.float64))

    def __add__(self, other):
        return self.made(self.data + other.data, (self, other), lambda g, out: self.of_sum_of_two(g))

    def of_sum_of_two(self, g):
        return g, g

    def __mul__(self, other):
        return self.made(self.data * other.data, (self, other), lambda g, out: self.of_product(g, self, other))

    def of_product(self, g, a, b):
        return g * b, g * a

    def __matmul__(self, other):
        return self.made(self.data @ other.data, (self, other), lambda g, out: self.of_matmul(g, self, other))

    def of_matmul(self, g, a, b):
        return g @ b.t(), a.t() @ g

    def t(self):
        return self.made(self.data.t(), (self,), lambda g, out: self.of_t(g))

    def of_t(self, g):
        return (g.t(),)

    def exp(self):
        return self.made(self.data.exp(), (self,), lambda g, out: self.of_exp(g, self, out))

    def of_exp(self, g, a, out):
        return (g * out,)

    def tanh(self):
        return self.made(self.data.tanh(), (self,), lambda g, out: self.of_tanh(g, self, out))

    def of_tanh(self, g, a, out):
        return (g + g * out * out * self.constant(-1.0),)

    def sum(self):
        return self.made(self.data.sum(), (self,), lambda g, out: self.of_sum(g))

    def of_sum(self, g):
        return (g.expand(self.data.shape),)

    def reshape(self, shape):
        return self.made(self.data.reshape(shape), (self,), lambda g, out: self.of_reshape(g))

    def of_reshape(self, g):
        return (g.reshape(self.data.shape),)

    def expand(self, shape):
        return self.made(self.data.expand(shape), (self,), lambda g, out: self.of_expand(g))

    def of_expand(self, g):
        return (g,)

    def fold(self, shape):
        if self.data.shape == shape:
            return self
        return self.made(self.folded(shape), (self,), lambda g, out: (g.expand(self.data.shape),))

    def folded(self, shape):
        return self.data.sum_to_size(shape)

    def register_hook(self, hook):
        self.hooks.append(hook)

    def after_hooks(self, gradient):
        for hook in self.hooks:
            replaced = hook(gradient)
            gradient = gradient if replaced is None else replaced
        return gradient

    def backward(self, retain_graph=False, create_graph=False):
        arrived = {self: self.seed()}
        for value in self.order():
            if value in arrived:
                gradient = value.after_hooks(arrived.pop(value))
                if value.rule is None:
                    value.keep(gradient, create_graph)
                else:
                    value.pass_on(gradient, arrived, create_graph)
                    value.leave(retain_graph or create_graph)

    def seed(self):
        return type(self)(torch.ones_like(self.data))

    def order(self):
        """Return the values behind this one, each after all that use it."""
        waits, todo = {self: 0}, [self]
        while todo:
            for each in todo.pop().inputs:
                if each not in waits:
                    waits[each] = 0
                    todo.append(each)
                waits[each] += 1
        order = [self]
        for value in order:  # grows while it is walked
            for each in value.inputs:
                waits[each] -= 1
                if waits[each] == 0:
                    order.append(each)
        return order

    def keep(self, gradient, create_graph):
        total = gradient if self.grad is None else self.grad + gradient
        self.grad = total if create_graph else type(self)(total.data.clone())

    def pass_on(self, gradient, arrived, create_graph):
        for each, part in zip(self.inputs, self.rule(gradient, self)):
            self.deliver(each, self.cut(part.fold(each.data.shape), create_graph), arrived)

    def cut(self, part, create_graph):
        return part if create_graph else type(self)(part.data)

    def deliver(self, each, part, arrived):
        arrived[each] = arrived[each] + part if each in arrived else part

    def leave(self, retain_graph):
        if not retain_graph:
            self.inputs, self.rule = (), freed


class Walker(Engine):
    """An engine that walks each path on its own."""

    def backward(self, retain_graph=False, create_graph=False):
        todo, run = [(self, type(self)(torch.ones_like(self.data)))], []
        while todo:
            value, gradient = todo.pop()
            gradient = value.after_hooks(gradient)
            if value.rule is None:
                value.keep(gradient, create_graph)
                continue
            run.append(value)
            for each, part in zip(value.inputs, value.rule(gradient, value)):
                todo.append((each, self.cut(part.fold(each.data.shape), create_graph)))
        for value in run:
            value.leave(retain_graph or create_graph)


class Early(Engine):
    """An engine with hooks called before all parts are there."""

    def at_root(self):
        return self.after_hooks(self.seed())

    def backward(self, retain_graph=False, create_graph=False):
        arrived = {self: self.at_root()}
        for value in self.order():
            if value.rule is None:
                value.keep(arrived.pop(value), create_graph)
            else:
                value.pass_on(arrived.pop(value), arrived, create_graph)
                value.leave(retain_graph or create_graph)


def freed(g, out):
    raise RuntimeError("this graph has been freed")

# %% mistake="asks_torch" theme="missing"
# torch's own engine has made a pass. The task is to write the pass and the rules without it.
# Обратный проход выполнил движок torch. По заданию и проход, и правила нужно написать без него.
class Value(Engine):
    def of_tanh(self, g, a, out):
        x = a.data.clone().requires_grad_()
        return (g * self.made(torch.autograd.grad(x.tanh().sum(), x)[0], (), None),)

# %% mistake="walks_backwards" theme="order"
# Not even `a + b` has right gradients. The pass itself is wrong, or the rule of `+`, which was given.
# Даже у `a + b` градиенты неверны. Неверен сам проход или правило для `+`, которое было дано.
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        arrived = {self: self.seed()}
        for value in reversed(self.order()):
            value.pass_on(arrived.pop(value), arrived, create_graph)

# %% mistake="follows_one_input" like="walks_backwards"
class Value(Engine):
    def pass_on(self, gradient, arrived, create_graph):
        part = self.rule(gradient, self)[0].fold(self.inputs[0].data.shape)
        self.deliver(self.inputs[0], self.cut(part, create_graph), arrived)

# %% mistake="swaps_the_factors" theme="derivative"
# The rule of `*`, or its result, is wrong: the part for one factor is the gradient times the other factor.
# Неверно правило для `*` или сам результат операции: каждый множитель должен получить градиент, умноженный на
#     другой множитель.
class Value(Engine):
    def of_product(self, g, a, b):
        return g * a, g * b

# %% mistake="squares_the_input" theme="derivative"
# The gradient of `tanh` is wrong. Its rule multiplies by $1 - y^2$, with the result $y$. If yours does, look at
#     what it uses: `*`, `+` and the pass.
# Градиент `tanh` неверен. Вход должен получить градиент, умноженный на $1 - y^2$, где $y$ — результат. Если
#     правило это и делает, проверьте то, чем оно пользуется: `*`, `+` и сам проход.
class Value(Engine):
    def of_tanh(self, g, a, out):
        return (g + g * a * a * self.constant(-1.0),)

# %% mistake="subtracts_from_a_number" theme="own"
# The rule of `tanh` subtracts from a number or from a tensor, but the class has only operations between values.
# Правило для `tanh` вычитает из числа или из тензора, а у класса есть операции только между значениями.
class Value(Engine):
    def of_tanh(self, g, a, out):
        return (g * (1 - out * out),)

# %% mistake="returns_the_input" theme="derivative"
# The rule of `exp`, or its result, is wrong: the part is the gradient times the result.
# Неверно правило для `exp` или сам результат операции: вход должен получить градиент, умноженный на результат.
class Value(Engine):
    def of_exp(self, g, a, out):
        return (g * a,)

# %% mistake="spreads_the_mean" theme="derivative"
# The rule of `sum`, or its result, is wrong: each entry of the input gets the gradient of the result, unchanged.
# Неверно правило для `sum` или сам результат операции: каждый элемент входа должен получить градиент результата
#     без изменений.
class Value(Engine):
    def of_sum(self, g):
        return (g.expand(self.data.shape) * self.constant(1 / self.data.numel()),)

# %% mistake="leaves_one_number" like="spreads_the_mean"
class Value(Engine):
    def of_sum(self, g):
        return (g,)

# %% mistake="turns_by_reshape" theme="axes"
# The rule of `t`, or its result, is wrong: the gradient has to be transposed back. A reshape to the input's shape
#     mixes the entries.
# Неверно правило для `t` или сам результат операции: градиент нужно транспонировать обратно. Если только изменить
#     форму, элементы перемешаются.
class Value(Engine):
    def of_t(self, g):
        return (g.reshape(self.data.shape),)

# %% mistake="turns_nothing" like="turns_by_reshape"
class Value(Engine):
    def of_t(self, g):
        return (g,)

# %% mistake="reshapes_by_turning" theme="axes"
# The rule of `reshape`, or its result, is wrong: the gradient needs the input's shape again, with its entries in
#     the same order.
# Неверно правило для `reshape` или сам результат операции: у градиента должна быть прежняя форма входа, а порядок
#     элементов не меняется.
class Value(Engine):
    def of_reshape(self, g):
        return (type(self)(g.data.flatten().flip(0).reshape(self.data.shape)),)

# %% mistake="reshapes_nothing" like="reshapes_by_turning"
class Value(Engine):
    def of_reshape(self, g):
        return (g,)

# %% mistake="multiplies_straight" theme="axes"
# The rule of `@`, or its result, is wrong: for `a @ b` the parts are `g @ b.t()` and `a.t() @ g`.
# Неверно правило для `@` или сам результат операции: градиенты входов в `a @ b` равны `g @ b.t()` и `a.t() @ g`.
class Value(Engine):
    def of_matmul(self, g, a, b):
        return g @ b, a @ g

# %% mistake="multiplies_by_entries" like="multiplies_straight"
class Value(Engine):
    def of_matmul(self, g, a, b):
        return (b @ g.t()).t() + a, a.t() @ g

# %% mistake="keeps_the_large_shape" theme="axes"
# An input with fewer dimensions than the result gets a gradient of another shape. It has to be summed to the input's
#     own shape.
# Вход, у которого измерений меньше, чем у результата, получает градиент не той формы. Градиент нужно суммировать до
#     формы самого входа.
class Value(Engine):
    def fold(self, shape):
        return self

# %% mistake="reshapes_the_large_one" like="keeps_the_large_shape"
class Value(Engine):
    def folded(self, shape):
        return self.data.reshape(shape)

# %% mistake="averages_the_copies" theme="scaling"
# Where an input had fewer dimensions than the result, its gradient is not the sum over the copies. Each copy counts
#     in full.
# Там, где у входа измерений меньше, чем у результата, его градиент не равен сумме по копиям. Каждая копия учитывается
#     целиком.
class Value(Engine):
    def folded(self, shape):
        total = self.data.sum_to_size(shape)
        return total * (total.numel() / self.data.numel())

# %% mistake="sums_new_dimensions_only" theme="axes"
# Where a dimension of an input was stretched from 1, its gradient has another shape. That dimension has to be summed,
#     and stay with size 1.
# Там, где у входа растянуто измерение размера 1, у градиента не та форма. По этому измерению нужно суммировать, и его
#     размер снова должен быть 1.
class Value(Engine):
    def folded(self, shape):
        data = self.data
        while data.dim() > len(shape):
            data = data.sum(0)
        return data

# %% mistake="drops_the_dimension" like="sums_new_dimensions_only"
class Value(Engine):
    def folded(self, shape):
        data = self.data
        while data.dim() > len(shape):
            data = data.sum(0)
        return data.reshape(shape)

# %% mistake="takes_one_copy" theme="accumulation"
# Where a dimension of an input was stretched from 1, its gradient is not the sum over the copies.
# Там, где у входа растянуто измерение размера 1, его градиент не равен сумме по копиям.
class Value(Engine):
    def folded(self, shape):
        data = self.data
        while data.dim() > len(shape):
            data = data.sum(0)
        for dim, size in enumerate(shape):
            data = data.narrow(dim, 0, size)
        return data

# %% mistake="averages_in_expand" theme="scaling"
# The rule of `expand`, or its result, is wrong: an entry's gradient is the sum over its copies.
# Неверно правило для `expand` или сам результат операции: градиент элемента — это сумма по его копиям.
class Value(Engine):
    def of_expand(self, g):
        return (g.fold(self.data.shape) * self.constant(self.data.numel() / g.data.numel()),)

# %% mistake="sums_the_first_dimension" like="averages_in_expand"
class Value(Engine):
    def of_expand(self, g):
        return (g.reshape(self.data.shape),)

# %% mistake="forgets_the_comma" theme="own"
# A rule of one input returns a value alone. It has to be a tuple with one part: the comma is missing.
# Правило с одним входом возвращает само значение. Нужен кортеж из одного градиента: пропущена запятая.
class Value(Engine):
    def of_tanh(self, g, a, out):
        return super().of_tanh(g, a, out)[0]

# %% mistake="forgets_the_comma_in_exp" like="forgets_the_comma"
class Value(Engine):
    def of_exp(self, g, a, out):
        return g * out

# %% mistake="forgets_the_comma_in_sum" like="forgets_the_comma"
class Value(Engine):
    def of_sum(self, g):
        return g.expand(self.data.shape)

# %% mistake="forgets_the_comma_in_t" like="forgets_the_comma"
class Value(Engine):
    def of_t(self, g):
        return g.t()

# %% mistake="forgets_the_comma_in_reshape" like="forgets_the_comma"
class Value(Engine):
    def of_reshape(self, g):
        return g.reshape(self.data.shape)

# %% mistake="forgets_the_comma_in_expand" like="forgets_the_comma"
class Value(Engine):
    def of_expand(self, g):
        return g

# %% mistake="counts_a_square_once" theme="accumulation"
# An input that an operation uses twice gets one of its two parts: in `x * x` the parts have to be added, too.
# Вход, который операция использует дважды, получает только одну из двух частей: в `x * x` части тоже нужно сложить.
class Value(Engine):
    def pass_on(self, gradient, arrived, create_graph):
        parts = dict(zip(self.inputs, self.rule(gradient, self)))
        for each, part in parts.items():
            self.deliver(each, self.cut(part.fold(each.data.shape), create_graph), arrived)

# %% mistake="assigns_where_paths_meet" theme="accumulation"
# Where paths meet, one gradient counts and the others are lost. They have to be added.
# Там, где пути сходятся, учтён один градиент, а остальные потеряны. Их нужно складывать.
class Value(Engine):
    def deliver(self, each, part, arrived):
        arrived[each] = part

# %% mistake="adds_in_place" theme="in_place"
# Gradients that meet are added in place. The rule of `+` hands one tensor to both inputs, so the addition for one changes
#     the other's gradient.
# Градиенты складываются на месте. Правило для `+` отдаёт обоим входам один тензор, и прибавление для одного входа меняет
#     градиент другого.
class Value(Engine):
    def deliver(self, each, part, arrived):
        if each in arrived:
            arrived[each].data += part.data
        else:
            arrived[each] = part

# %% mistake="goes_depth_first" theme="order"
# Some values run before all that use them have run, and what arrives later is lost. So it is in a walk that goes
#     depth first.
# Некоторые значения обработаны слишком рано: ещё не все операции, которые их используют, передали им градиент, и
#     пришедшее позже теряется. Так бывает, когда обход идёт в глубину.
class Value(Engine):
    def order(self):
        order, seen, todo = [], set(), [self]
        while todo:
            value = todo.pop()
            if value not in seen:
                seen.add(value)
                order.append(value)
                todo += reversed(value.inputs)
        return order

# %% mistake="goes_breadth_first" theme="order"
# A value with a short way to the root runs before the part along a longer way has come. So it is in a walk that goes
#     breadth first.
# Значение с коротким путём к корню обработано раньше, чем пришла часть по более длинному пути. Так бывает, когда
#     обход идёт в ширину.
class Value(Engine):
    def order(self):
        order = [self]
        for value in order:  # grows while it is walked
            order += [each for each in dict.fromkeys(value.inputs) if each not in order]
        return order

# %% mistake="counts_users_once" theme="order"
# A value that one operation uses twice is waited for once. It runs before another user of it has run.
# Значение, которое операция использует дважды, сосчитано один раз. Поэтому оно обработано раньше, чем другая операция,
#     которая его использует.
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        waits, found = {self: 0}, [self]
        for value in found:
            for each in dict.fromkeys(value.inputs):
                if each not in waits:
                    found.append(each)
                waits[each] = waits.get(each, 0) + 1
        arrived, ready = {self: self.seed()}, [self]
        while ready:
            value = ready.pop()
            gradient = value.after_hooks(arrived.pop(value))
            if value.rule is None:
                value.keep(gradient, create_graph)
                continue
            inputs = value.inputs
            value.pass_on(gradient, arrived, create_graph)
            for each in inputs:
                waits[each] -= 1
                if waits[each] == 0:
                    ready.append(each)
            value.leave(retain_graph or create_graph)

# %% mistake="counts_edges_again" theme="order"
# What stands behind a value that several operations use is counted several times: it waits for parts that never come.
# Всё, что стоит за значением, которое используют несколько операций, сосчитано несколько раз: оно ждёт частей, которые
#     не придут.
class Value(Engine):
    def order(self):
        waits, todo = {self: 0}, [self]
        while todo:
            for each in todo.pop().inputs:
                waits[each] = waits.get(each, 0) + 1
                todo.append(each)
        order = [self]
        for value in order:  # grows while it is walked
            for each in value.inputs:
                waits[each] -= 1
                if waits[each] == 0:
                    order.append(each)
        return order

# %% mistake="results_keep_a_gradient" theme="missing"
# After a pass results have a `.grad`, too. It belongs to leaves alone.
# После прохода поле `.grad` заполнено и у результатов. Градиент сохраняется только у листьев.
class Value(Engine):
    def after_hooks(self, gradient):
        gradient = super().after_hooks(gradient)
        if self.rule is not None:
            self.grad = gradient
        return gradient

# %% mistake="begins_with_a_number" theme="axes"
# The pass begins with a number, not with the shape of the root: behind a root of shape (1, 1) a gradient has another
#     shape, or the pass fails.
# Проход начинается с числа, а не с тензора той же формы, что корень: от корня формы (1, 1) приходит градиент не той формы, или
#     проход не удаётся.
class Value(Engine):
    def seed(self):
        return self.constant(1.0)

# %% mistake="begins_in_float32" theme="precision"
# Gradients of float64 leaves are in float32. The pass has to begin in the dtype of the root.
# Градиенты листьев float64 имеют тип float32. Проход должен начинаться с тензора того же типа, что корень.
class Value(Engine):
    def seed(self):
        return type(self)(torch.ones(self.data.shape))

# %% mistake="shares_the_gradient" theme="in_place"
# Two leaves have one gradient in memory, or entries of a gradient share memory. The rule of `+` hands the same tensor
#     to both inputs, and each leaf needs a copy.
# У градиентов двух листьев общая память, или она общая у разных элементов одного градиента. Правило для `+` отдаёт
#     обоим входам один и тот же тензор, и каждому листу нужна копия.
class Value(Engine):
    def keep(self, gradient, create_graph):
        total = gradient if self.grad is None else self.grad + gradient
        self.grad = total if create_graph else type(self)(total.data)

# %% mistake="edits_saved_data" theme="in_place"
# A pass changes the `data` of a value in place. Others still need it, and so does a second pass.
# Проход изменяет `data` значения на месте. А это поле ещё нужно другим правилам и второму проходу.
class Value(Engine):
    def of_exp(self, g, a, out):
        out.data *= g.data
        return (self.made(out.data.clone(), (), None),)

# %% mistake="overwrites_the_leaf" theme="accumulation"
# A second pass adds nothing to the `.grad` of a leaf: it writes over what is there, or clears it. It has to add.
# Второй проход ничего не прибавляет к `.grad` листа: прежнее значение перезаписано или обнулено. Нужно прибавлять.
class Value(Engine):
    def keep(self, gradient, create_graph):
        self.grad = gradient if create_graph else type(self)(gradient.data.clone())

# %% mistake="remembers_the_last_pass" theme="accumulation"
# Gradients of results stay there and are part of the next pass. Each pass has to begin with none.
# Градиенты промежуточных результатов остаются и входят в следующий проход. Каждый проход должен начинаться без них.
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        self.sum_so_far = type(self)(torch.ones_like(self.data))
        arrived = {self: self.sum_so_far}
        for value in self.order():
            gradient = arrived[value] = value.after_hooks(arrived[value])
            if value.rule is None:
                value.keep(arrived.pop(value), create_graph)
            else:
                value.pass_on(gradient, arrived, create_graph)
                value.leave(retain_graph or create_graph)

    def deliver(self, each, part, arrived):
        before = arrived.get(each, None if each.rule is None else getattr(each, "sum_so_far", None))
        arrived[each] = part if before is None else before + part
        each.sum_so_far = arrived[each]

# %% mistake="ignores_retain_graph" theme="graph_life"
# `retain_graph=True` changes nothing: the first pass frees the graph, and the second raises a RuntimeError.
# `retain_graph=True` ничего не меняет: первый же проход освобождает граф, а второй вызывает RuntimeError.
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        super().backward(False, create_graph)

# %% mistake="turns_retain_graph_round" theme="graph_life"
# It is the other way round: a pass with `retain_graph=True` frees the graph, and one without it frees nothing.
# Всё наоборот: проход с `retain_graph=True` освобождает граф, а без этого аргумента не освобождает ничего.
class Value(Engine):
    def leave(self, retain_graph):
        super().leave(not retain_graph)

# %% mistake="turns_round_what_create_graph_keeps" like="turns_retain_graph_round"
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        super().backward(not retain_graph, create_graph)

# %% mistake="frees_the_leaves" theme="graph_life"
# A pass frees the leaves, too: another graph over the same leaves raises an error. Leaves have to be usable again.
# Проход освобождает и листья: другой граф на тех же листьях вызывает ошибку. Листья освобождать нельзя: ими пользуются и другие графы.
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        order = self.order()
        super().backward(retain_graph, create_graph)
        if not (retain_graph or create_graph):
            for value in order:
                value.inputs, value.rule = (), freed

# %% mistake="frees_the_inputs_of_leaves" like="frees_the_leaves"
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        order = self.order()
        super().backward(retain_graph, create_graph)
        if not (retain_graph or create_graph):
            for value in order:
                value.inputs = None

# %% mistake="recurses" theme="own"
# The walk calls itself for each input. Python allows about a thousand calls inside each other, a chain may be longer.
# Обход вызывает сам себя для каждого входа. Python допускает около тысячи вложенных вызовов, а цепочка бывает длиннее.
class Value(Engine):
    def order(self):
        order, seen = [], set()

        def visit(value):
            if value not in seen:
                seen.add(value)
                for each in value.inputs:
                    visit(each)
                order.append(value)

        visit(self)
        return order[::-1]

# %% mistake="walks_every_path" theme="cost"
# The gradients are right, but a rule runs anew for each part that arrives, at worst once for every path: the work doubles
#     with every value that is used twice, and a hook sees a part of the gradient.
# Градиенты верны, но правило выполняется заново для каждой пришедшей части, в худшем случае — для каждого пути: работа
#     удваивается с каждым значением, которое использовано дважды, а хук видит только часть градиента.
class Value(Walker):
    pass

# %% mistake="never_calls_hooks" theme="missing"
# Not even the only hook of a value is called.
# Не вызывается даже единственный хук значения.
class Value(Engine):
    def after_hooks(self, gradient):
        return gradient

# %% mistake="hooks_get_tensors" theme="return"
# A hook gets a bare tensor. It should get a value: with `create_graph=True` one can compute on from there.
# Хук получает тензор без обёртки. Нужно значение: с `create_graph=True` его можно использовать в новых вычислениях.
class Value(Engine):
    def after_hooks(self, gradient):
        for hook in self.hooks:
            replaced = hook(gradient.data)
            gradient = gradient if replaced is None else type(self)(replaced)
        return gradient

# %% mistake="takes_none_for_a_gradient" theme="return"
# A program with a hook that returns None ends in an error. None leaves the gradient as it is.
# Программа с хуком, который возвращает None, заканчивается ошибкой. При None градиент остаётся прежним.
class Value(Engine):
    def after_hooks(self, gradient):
        for hook in self.hooks:
            gradient = hook(gradient)
        return gradient

# %% mistake="wraps_what_a_hook_returned" like="takes_none_for_a_gradient"
class Value(Engine):
    def after_hooks(self, gradient):
        for hook in self.hooks:
            gradient = type(self)(hook(gradient).data)
        return gradient

# %% mistake="calls_hooks_per_path" theme="order"
# A hook was called for each part that arrives. It should be called once, when all parts have been added.
# Хук вызван для каждой пришедшей части. Он должен быть вызван один раз, когда все части сложены.
class Value(Early):
    def deliver(self, each, part, arrived):
        super().deliver(each, each.after_hooks(part), arrived)

# %% mistake="calls_hooks_on_arrival" like="calls_hooks_per_path"
class Value(Early):
    def deliver(self, each, part, arrived):
        super().deliver(each, each.after_hooks(part), arrived)

    def at_root(self):
        return self.seed()

# %% mistake="skips_leaves" theme="missing"
# Hooks of leaves are never called. A leaf is a value like any other.
# Хуки листьев не вызываются. Лист — такое же значение, как любое другое.
class Value(Engine):
    def after_hooks(self, gradient):
        return gradient if self.rule is None else super().after_hooks(gradient)

# %% mistake="skips_results" theme="missing"
# Hooks of results are never called, only those of leaves.
# Хуки результатов не вызываются, только хуки листьев.
class Value(Engine):
    def after_hooks(self, gradient):
        return gradient if self.rule is not None else super().after_hooks(gradient)

# %% mistake="skips_the_root" theme="missing"
# Hooks of the root are never called. The root gets a gradient, too.
# Хуки корня не вызываются. Корень тоже получает градиент.
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        hooks, self.hooks = self.hooks, []
        super().backward(retain_graph, create_graph)
        self.hooks = hooks

# %% mistake="calls_hooks_at_the_first_part" theme="order"
# A hook is called once, but with a part of the gradient. It should be called when all parts have been added.
# Хук вызван один раз, но получает только часть градиента. Его нужно вызывать, когда сложены все части.
class Value(Early):
    def deliver(self, each, part, arrived):
        super().deliver(each, part if each in arrived else each.after_hooks(part), arrived)

# %% mistake="hooks_work_once" theme="state"
# A hook is gone after its first pass. It stays until somebody removes it.
# После первого прохода хука больше нет. Хук должен оставаться и для следующих проходов.
class Value(Engine):
    def after_hooks(self, gradient):
        gradient = super().after_hooks(gradient)
        self.hooks = []
        return gradient

# %% mistake="frees_the_hooks" theme="graph_life"
# The hooks of a leaf go with the graph: in a pass over another graph they are not called.
# Хуки листа исчезают вместе с графом: при проходе по другому графу они не вызваны.
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        order = self.order()
        super().backward(retain_graph, create_graph)
        if not (retain_graph or create_graph):
            for value in order:
                value.hooks = []

# %% mistake="hooks_see_all_passes" theme="accumulation"
# In a second pass a hook does not get the gradient of this pass alone: what earlier passes left is in it.
# При втором проходе хук получает не только градиент этого прохода, но и то, что осталось от прежних.
class Value(Engine):
    def after_hooks(self, gradient):
        if self.rule is None and self.grad is not None:
            gradient = self.grad + gradient
            self.grad = None
        return super().after_hooks(gradient)

# %% mistake="ignores_the_replacement" theme="return"
# Hooks are called, but what they return is dropped. It should take the gradient's place.
# Хуки вызываются, но то, что они вернули, отбрасывается. А оно должно заменить градиент.
class Value(Engine):
    def after_hooks(self, gradient):
        for hook in self.hooks:
            hook(gradient)
        return gradient

# %% mistake="hooks_after_the_leaf" theme="order"
# At a leaf what a hook returns does not reach `.grad`: the hook runs after `.grad` has been written, or its result is
#     dropped.
# У листа то, что вернул хук, не попадает в `.grad`: хук выполняется после записи в `.grad` или его результат отбрасывается.
class Value(Engine):
    def after_hooks(self, gradient):
        return gradient if self.rule is None else super().after_hooks(gradient)

    def keep(self, gradient, create_graph):
        super().keep(gradient, create_graph)
        super().after_hooks(gradient)

# %% mistake="ignores_replacements_of_results" theme="return"
# What a hook returns counts at leaves only. At a result it has to take the gradient's place, too.
# То, что вернул хук, учитывается только у листьев. У результата оно тоже должно заменить градиент.
class Value(Engine):
    def after_hooks(self, gradient):
        replaced = super().after_hooks(gradient)
        return replaced if self.rule is None else gradient

# %% mistake="hooks_run_backwards" theme="order"
# Hooks of one value run in the reverse order. The first that was registered runs first.
# Хуки одного значения выполняются в обратном порядке. Первым должен выполняться тот, который зарегистрирован первым.
class Value(Engine):
    def register_hook(self, hook):
        self.hooks.insert(0, hook)

# %% mistake="keeps_the_last_hook" theme="state"
# A value has room for one hook: a second takes the first one's place. Both should be called.
# У значения есть место только для одного хука: второй вытесняет первый. Вызвать нужно оба.
class Value(Engine):
    def register_hook(self, hook):
        self.hooks = [hook]

# %% mistake="hooks_see_the_first" theme="order"
# Each hook gets the gradient that arrived. A second hook should get what the first has returned.
# Каждый хук получает пришедший градиент. Второй хук должен получить то, что вернул первый.
class Value(Engine):
    def after_hooks(self, gradient):
        result = gradient
        for hook in self.hooks:
            replaced = hook(gradient)
            result = result if replaced is None else replaced
        return result

# %% mistake="none_undoes_the_replacement" theme="return"
# A hook that returns None undoes what an earlier hook has returned. None leaves the gradient as it is.
# Хук, который вернул None, отменяет то, что вернул предыдущий. При None градиент остаётся прежним.
class Value(Engine):
    def after_hooks(self, gradient):
        result = current = gradient
        for hook in self.hooks:
            replaced = hook(current)
            result = gradient if replaced is None else replaced
            current = current if replaced is None else replaced
        return result

# %% mistake="frees_nothing" theme="graph_life"
# After a pass the whole graph is still in memory and can be walked again, also without `retain_graph=True`.
# После прохода весь граф остаётся в памяти и доступен для нового прохода, даже без `retain_graph=True`.
class Value(Engine):
    def leave(self, retain_graph):
        pass

# %% mistake="refuses_only" theme="graph_life"
# A second pass is refused, but results of the first are still in memory: something holds them, such as the root, a
#     list of all values, or a cycle.
# Второй проход вызывает ошибку, как и нужно, но результаты первого остаются в памяти: их что-то удерживает, например корень, список
#     всех значений или цикл ссылок.
class Value(Engine):
    def leave(self, retain_graph):
        if not retain_graph:
            self.rule = freed

# %% mistake="frees_in_silence" theme="graph_life"
# The graph is freed, but a second pass says nothing: it ends at the root. It should raise a RuntimeError.
# Граф освобождён, но второй проход ошибки не вызывает: он просто заканчивается в корне. Нужна RuntimeError.
class Value(Engine):
    def leave(self, retain_graph):
        if not retain_graph:
            self.inputs, self.rule = (), lambda g, out: ()

# %% mistake="frees_the_root_only" theme="graph_life"
# Only the root is freed. A result that somebody holds still has its inputs, and one can pass through it again.
# Освобождён только корень. Результат, который кто-то держит, сохраняет свои входы, и через него возможен новый
#     проход.
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        super().backward(True, create_graph)
        self.free_at_the_end(retain_graph or create_graph)

    def free_at_the_end(self, retain_graph):
        if not retain_graph:
            self.inputs, self.rule = (), freed

# %% mistake="asks_the_root_only" theme="graph_life"
# A pass from a freed root is refused, but one that meets a freed result elsewhere says nothing.
# Проход от освобождённого корня вызывает ошибку, но если освобождённый результат встретился в другом месте, ошибки нет.
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        if self.rule is silent:
            freed(None, self)
        super().backward(retain_graph, create_graph)

    def leave(self, retain_graph):
        if not retain_graph:
            self.inputs, self.rule = (), silent


def silent(g, out):
    return ()

# %% mistake="raises_another_error" theme="own"
# A pass through a freed graph raises an error, but no RuntimeError.
# Проход по освобождённому графу вызывает ошибку, но не RuntimeError.
class Value(Engine):
    def leave(self, retain_graph):
        if not retain_graph:
            self.inputs, self.rule = (), refused


def refused(g, out):
    raise ValueError('freed')

# %% mistake="calls_nothing" like="raises_another_error"
class Value(Engine):
    def leave(self, retain_graph):
        if not retain_graph:
            self.inputs, self.rule = (), ()

# %% mistake="asks_nothing_for_its_parts" like="raises_another_error"
class Value(Engine):
    def leave(self, retain_graph):
        if not retain_graph:
            self.inputs, self.rule = (), lambda g, out: None.parts

# %% mistake="looks_for_a_rule" like="raises_another_error"
class Value(Engine):
    def leave(self, retain_graph):
        if not retain_graph:
            self.inputs, self.rule = (), lambda g, out: {}['freed']

# %% mistake="records_always" theme="recording"
# Gradients are part of a graph although `create_graph=True` was not asked for: a later pass goes on through them.
# Градиенты входят в граф, хотя `create_graph=True` не указано: следующий проход пойдёт и через них.
class Value(Engine):
    def cut(self, part, create_graph):
        return part

    def keep(self, gradient, create_graph):
        super().keep(gradient, True)

    def leave(self, retain_graph):
        if not retain_graph:
            self.rule, self.inputs = freed, ()

# %% mistake="records_always_and_copies" like="records_always"
class Value(Engine):
    def cut(self, part, create_graph):
        return part

    def keep(self, gradient, create_graph):
        total = gradient + self.constant(0.0)
        super().keep(total, True)

# %% mistake="adds_to_a_recorded_gradient" theme="recording"
# After a plain pass `.grad` is part of a graph: the pass adds in values to what was there. It has to add numbers.
# После обычного прохода `.grad` входит в граф: проход прибавляет к прежнему градиенту значения. А ему нужно складывать числа.
class Value(Engine):
    def keep(self, gradient, create_graph):
        super().keep(gradient, create_graph or self.grad is not None)

# %% mistake="adds_constants_in_values" like="adds_to_a_recorded_gradient"
class Value(Engine):
    def keep(self, gradient, create_graph):
        if create_graph or self.grad is None:
            super().keep(gradient, create_graph)
        else:
            self.grad = type(self)(self.grad.data) + gradient

# %% mistake="never_records" theme="recording"
# With `create_graph=True` the gradients are constants, too: no second derivative comes out of them.
# Градиенты остаются константами и при `create_graph=True`: второй производной из них не получить.
class Value(Engine):
    def cut(self, part, create_graph):
        return type(self)(part.data)

# %% mistake="frees_what_it_records" theme="graph_life"
# `create_graph=True` alone does not keep the graph: a pass through the gradients meets freed values. It has to free
#     nothing, also without `retain_graph=True`.
# С одним `create_graph=True` граф не сохраняется: проход через градиенты приходит к освобождённым значениям. Граф
#     должен сохраняться и без `retain_graph=True`.
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        order = self.order()
        super().backward(retain_graph, create_graph)
        if not retain_graph:
            for value in order:
                if value.rule is not None:
                    value.leave(False)

# %% mistake="saves_numbers" theme="derivative"
# The rule of `*` computes with numbers in place of values: its second derivative loses a path.
# Правило для `*` работает с числами вместо значений: часть второй производной теряется.
class Value(Engine):
    def of_product(self, g, a, b):
        return g * type(self)(b.data), g * type(self)(a.data)

# %% mistake="multiplies_by_tensors" like="saves_numbers"
class Value(Engine):
    def of_product(self, g, a, b):
        return g * b.data, g * a.data

# %% mistake="saves_the_results_numbers" theme="derivative"
# The rule of `tanh` computes with numbers in place of values: its second derivative loses a path.
# Правило для `tanh` работает с числами вместо значений: часть второй производной теряется.
class Value(Engine):
    def of_tanh(self, g, a, out):
        return super().of_tanh(g, a, type(self)(out.data))

# %% mistake="multiplies_by_a_tensor_in_tanh" like="saves_the_results_numbers"
class Value(Engine):
    def of_tanh(self, g, a, out):
        return (g * (1 - out.data * out.data),)

# %% mistake="saves_numbers_in_exp" theme="derivative"
# The rule of `exp` computes with numbers in place of values: its second derivative loses a path.
# Правило для `exp` работает с числами вместо значений: часть второй производной теряется.
class Value(Engine):
    def of_exp(self, g, a, out):
        return (g * type(self)(out.data),)

# %% mistake="multiplies_by_a_tensor_in_exp" like="saves_numbers_in_exp"
class Value(Engine):
    def of_exp(self, g, a, out):
        return (g * out.data,)

# %% mistake="adds_numbers" theme="derivative"
# The rule of `+` computes with numbers in place of values: its second derivative loses a path.
# Правило для `+` работает с числами вместо значений: часть второй производной теряется.
class Value(Engine):
    def of_sum_of_two(self, g):
        return type(self)(g.data), type(self)(g.data)

# %% mistake="spreads_numbers" theme="derivative"
# The rule of `sum` computes with numbers in place of values: its second derivative loses a path.
# Правило для `sum` работает с числами вместо значений: часть второй производной теряется.
class Value(Engine):
    def of_sum(self, g):
        return (type(self)(g.data.expand(self.data.shape)),)

# %% mistake="turns_numbers" theme="derivative"
# The rule of `t` computes with numbers in place of values: its second derivative loses a path.
# Правило для `t` работает с числами вместо значений: часть второй производной теряется.
class Value(Engine):
    def of_t(self, g):
        return (type(self)(g.data.t()),)

# %% mistake="reshapes_numbers" theme="derivative"
# The rule of `reshape` computes with numbers in place of values: its second derivative loses a path.
# Правило для `reshape` работает с числами вместо значений: часть второй производной теряется.
class Value(Engine):
    def of_reshape(self, g):
        return (type(self)(g.data.reshape(self.data.shape)),)

# %% mistake="multiplies_numbers" theme="derivative"
# The rule of `@` computes with numbers in place of values: its second derivative loses a path.
# Правило для `@` работает с числами вместо значений: часть второй производной теряется.
class Value(Engine):
    def of_matmul(self, g, a, b):
        return g @ type(self)(b.data.t()), type(self)(a.data.t()) @ g

# %% mistake="multiplies_matrices_by_tensors" like="multiplies_numbers"
class Value(Engine):
    def of_matmul(self, g, a, b):
        return g @ b.data.t(), type(self)(a.data.t()) @ g

# %% mistake="sums_numbers_in_expand" theme="derivative"
# The rule of `expand` computes with numbers in place of values: its second derivative loses a path.
# Правило для `expand` работает с числами вместо значений: часть второй производной теряется.
class Value(Engine):
    def of_expand(self, g):
        return (type(self)(g.data.sum_to_size(self.data.shape)),)

# %% mistake="folds_unrecorded" theme="recording"
# The sum to an input's shape is not recorded: where broadcasting took place, the second derivative loses its path.
# Суммирование до формы входа не записывается: там, где было транслирование, часть второй производной теряется.
class Value(Engine):
    def fold(self, shape):
        return self if self.data.shape == shape else type(self)(self.folded(shape))
# %% mistake="adds_parts_as_numbers" theme="recording"
# With `create_graph=True` gradients that meet are added as numbers: beyond their sum there is no graph.
# При `create_graph=True` градиенты, которые сходятся, складываются как числа, и у суммы нет графа.
class Value(Engine):
    def deliver(self, each, part, arrived):
        arrived[each] = type(self)(arrived[each].data + part.data) if each in arrived else part

# %% mistake="adds_passes_as_numbers" theme="recording"
# With `create_graph=True` the sum of two passes is not part of the graph, or not as a whole.
# При `create_graph=True` сумма двух проходов не входит в граф или входит не целиком.
class Value(Engine):
    def keep(self, gradient, create_graph):
        if self.grad is None:
            super().keep(gradient, create_graph)
        else:
            self.grad = type(self)(self.grad.data + gradient.data)

# %% mistake="adds_passes_in_place" like="adds_passes_as_numbers"
class Value(Engine):
    def keep(self, gradient, create_graph):
        if self.grad is None:
            super().keep(gradient, create_graph)
        else:
            self.grad.data += gradient.data

# %% mistake="cuts_what_a_hook_returns" theme="recording"
# With `create_graph=True` what a hook returns is a constant: the second derivative loses the path through the hook.
# При `create_graph=True` то, что вернул хук, становится константой: та часть второй производной, которая идёт через хук, теряется.
class Value(Engine):
    def after_hooks(self, gradient):
        replaced = super().after_hooks(gradient)
        return gradient if replaced is gradient else type(self)(replaced.data)
