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
        return self.made(self.data + other.data, (self, other), lambda g, out: (g, g))

    def __mul__(self, other):
        return self.made(self.data * other.data, (self, other), lambda g, out: self.of_product(g, self, other))

    def of_product(self, g, a, b):
        return g * b, g * a

    def __matmul__(self, other):
        return self.made(self.data @ other.data, (self, other), lambda g, out: self.of_matmul(g, self, other))

    def of_matmul(self, g, a, b):
        return g @ b.t(), a.t() @ g

    def t(self):
        return self.made(self.data.t(), (self,), lambda g, out: (g.t(),))

    def exp(self):
        return self.made(self.data.exp(), (self,), lambda g, out: (self.of_exp(g, self, out),))

    def of_exp(self, g, a, out):
        return g * out

    def tanh(self):
        return self.made(self.data.tanh(), (self,), lambda g, out: (self.of_tanh(g, self, out),))

    def of_tanh(self, g, a, out):
        return g + g * out * out * self.constant(-1.0)

    def sum(self):
        return self.made(self.data.sum(), (self,), lambda g, out: (g.expand(self.data.shape),))

    def reshape(self, shape):
        return self.made(self.data.reshape(shape), (self,), lambda g, out: (self.of_reshape(g, self.data.shape),))

    def of_reshape(self, g, shape):
        return g.reshape(shape)

    def expand(self, shape):
        return self.made(self.data.expand(shape), (self,), lambda g, out: (g,))

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
        arrived = {self: type(self)(torch.ones_like(self.data))}
        for value in self.order():
            if value in arrived:
                gradient = value.after_hooks(arrived.pop(value))
                if value.rule is None:
                    value.keep(gradient, create_graph)
                else:
                    value.pass_on(gradient, arrived, create_graph)
                    value.leave(retain_graph or create_graph)

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


def freed(g, out):
    raise RuntimeError("this graph has been freed")

# %% mistake="multiplies_straight" theme="axes"
# In the rule of `@` a transpose is missing or at the wrong factor: for `a @ b` the parts are `g @ b.t()` and `a.t() @ g`.
# В правиле для `@` транспонирование пропущено или стоит не у того множителя: для `a @ b` части равны `g @ b.t()` и
#     `a.t() @ g`.
class Value(Engine):
    def of_matmul(self, g, a, b):
        return g @ b, a @ g

# %% mistake="swaps_the_factors" theme="derivative"
# In the rule of `*` each factor gets its own value as derivative. It is the other factor that belongs there.
# В правиле для `*` производной по множителю служит он сам. Там должен стоять другой множитель.
class Value(Engine):
    def of_product(self, g, a, b):
        return g * a, g * b

# %% mistake="squares_the_input" theme="derivative"
# The rule of `tanh` computes with the input. In $1 - y^2$ it is the result that is squared.
# В правиле для `tanh` берётся вход. В формуле $1 - y^2$ в квадрат возводится результат.
class Value(Engine):
    def of_tanh(self, g, a, out):
        return g + g * a * a * self.constant(-1.0)

# %% mistake="counts_a_square_once" theme="accumulation"
# An input that an operation uses twice gets one of its two parts: in `x * x` the parts have to be added, too.
# Вход, который операция использует дважды, получает только одну из двух частей: в `x * x` части тоже нужно сложить.
class Value(Engine):
    def pass_on(self, gradient, arrived, create_graph):
        parts = dict(zip(self.inputs, self.rule(gradient, self)))
        for each, part in parts.items():
            self.deliver(each, self.cut(part.fold(each.data.shape), create_graph), arrived)

# %% mistake="keeps_the_large_shape" theme="axes"
# An input that was broadcast gets a gradient in the shape of the result. It has to be summed to the input's own shape.
# Вход, к которому применено транслирование, получает градиент в форме результата. Его нужно суммировать до формы
#     самого входа.
class Value(Engine):
    def fold(self, shape):
        return self

# %% mistake="sums_new_dimensions_only" theme="axes"
# A gradient is summed over the dimensions that broadcasting added, but not over those that it stretched from 1.
# Градиент суммируется по измерениям, которые добавило транслирование, но не по тем, что оно растянуло от 1.
class Value(Engine):
    def folded(self, shape):
        data = self.data
        while data.dim() > len(shape):
            data = data.sum(0)
        return data

# %% mistake="averages_the_copies" theme="scaling"
# Where an input was broadcast, its gradient is the mean over the copies. Each copy counts in full: it is their sum.
# Для входа, к которому применено транслирование, взято среднее по копиям. Каждая копия учитывается целиком: нужна их
#     сумма.
class Value(Engine):
    def folded(self, shape):
        total = self.data.sum_to_size(shape)
        return total * (total.numel() / self.data.numel())

# %% mistake="assigns_where_paths_meet" theme="accumulation"
# Where paths meet, the last gradient takes the place of the earlier ones. They have to be added.
# Там, где пути сходятся, последний градиент заменяет прежние. Их нужно складывать.
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
# Each value runs once, but depth first: some run before all that use them have run, and what arrives later is lost.
# Каждое значение обработано один раз, но обход идёт в глубину: некоторые обработаны раньше, чем все, кто их использует,
#     и пришедшее позже теряется.
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
# The gradients are right, but every path was walked on its own: the work doubles with every value that is used twice, and
#     a hook sees a part of the gradient.
# Градиенты верны, но каждый путь пройден отдельно: работа удваивается с каждым значением, которое использовано дважды, а
#     хук видит только часть градиента.
class Value(Walker):
    pass

# %% mistake="calls_hooks_per_path" theme="order"
# A hook was called for each part that arrives. It should be called once, when all parts have been added.
# Хук вызван для каждой пришедшей части. Он должен быть вызван один раз, когда все части сложены.
class Value(Engine):
    def deliver(self, each, part, arrived):
        super().deliver(each, each.after_hooks(part), arrived)

    def backward(self, retain_graph=False, create_graph=False):
        arrived = {self: self.after_hooks(type(self)(torch.ones_like(self.data)))}
        for value in self.order():
            if value.rule is None:
                value.keep(arrived.pop(value), create_graph)
            else:
                value.pass_on(arrived.pop(value), arrived, create_graph)
                value.leave(retain_graph or create_graph)

# %% mistake="ignores_the_replacement" theme="return"
# Hooks are called, but what they return is dropped. It should take the gradient's place.
# Хуки вызываются, но возвращённое ими отбрасывается. Оно должно заменить градиент.
class Value(Engine):
    def after_hooks(self, gradient):
        for hook in self.hooks:
            hook(gradient)
        return gradient

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

# %% mistake="hooks_after_the_leaf" theme="order"
# A hook of a leaf runs after `.grad` has been written, so what it returns comes too late.
# Хук листа выполняется после записи в `.grad`, и возвращённое им значение опаздывает.
class Value(Engine):
    def after_hooks(self, gradient):
        return gradient if self.rule is None else super().after_hooks(gradient)

    def keep(self, gradient, create_graph):
        super().keep(gradient, create_graph)
        super().after_hooks(gradient)

# %% mistake="overwrites_the_leaf" theme="accumulation"
# A pass writes over the `.grad` of a leaf. It has to add to what is there.
# Проход записывает `.grad` листа поверх прежнего. Нужно прибавлять к тому, что там есть.
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

# %% mistake="shares_the_gradient" theme="in_place"
# Leaves share one gradient. The rule of `+` hands the same tensor to both inputs, and each leaf needs a copy.
# У листьев общий градиент. Правило для `+` отдаёт обоим входам один и тот же тензор, и каждому листу нужна копия.
class Value(Engine):
    def keep(self, gradient, create_graph):
        total = gradient if self.grad is None else self.grad + gradient
        self.grad = total if create_graph else type(self)(total.data)

# %% mistake="edits_saved_data" theme="in_place"
# A rule changes the `data` of a value in place. Others still need it, and so does a second pass.
# Правило изменяет `data` значения на месте. А оно ещё нужно другим и второму проходу.
class Value(Engine):
    def of_exp(self, g, a, out):
        out.data *= g.data
        return self.made(out.data.clone(), (), None)

# %% mistake="frees_nothing" theme="graph_life"
# After a pass the whole graph is still in memory and can be walked again, also without `retain_graph=True`.
# После прохода весь граф остаётся в памяти и доступен для нового прохода, даже без `retain_graph=True`.
class Value(Engine):
    def leave(self, retain_graph):
        pass

# %% mistake="refuses_only" theme="graph_life"
# A second pass is refused, but the results of the first are still in memory: the root holds all of them.
# Второй проход отклоняется, но результаты первого остаются в памяти: корень удерживает их все.
class Value(Engine):
    def leave(self, retain_graph):
        if not retain_graph:
            self.rule = freed

# %% mistake="frees_in_silence" theme="graph_life"
# The graph is freed, but a second pass says nothing: it ends at the root. It should raise a RuntimeError.
# Граф освобождён, но второй проход об этом молчит: он заканчивается в корне. Нужна ошибка RuntimeError.
class Value(Engine):
    def leave(self, retain_graph):
        if not retain_graph:
            self.inputs, self.rule = (), lambda g, out: ()

# %% mistake="ignores_retain_graph" theme="graph_life"
# `retain_graph=True` changes nothing: the first pass frees the graph.
# `retain_graph=True` ничего не меняет: первый же проход освобождает граф.
class Value(Engine):
    def backward(self, retain_graph=False, create_graph=False):
        super().backward(False, create_graph)

# %% mistake="records_always" theme="recording"
# Gradients are part of a graph although `create_graph=True` was not asked for: a later pass goes on through them.
# Градиенты входят в граф, хотя `create_graph=True` не указано: следующий проход идёт сквозь них.
class Value(Engine):
    def cut(self, part, create_graph):
        return part

    def keep(self, gradient, create_graph):
        super().keep(gradient, True)

    def leave(self, retain_graph):
        if not retain_graph:
            self.rule, self.inputs = freed, ()

# %% mistake="never_records" theme="recording"
# With `create_graph=True` the gradients are constants, too: no second derivative comes out of them.
# Градиенты остаются константами и при `create_graph=True`: второй производной из них не получить.
class Value(Engine):
    def cut(self, part, create_graph):
        return type(self)(part.data)

# %% mistake="saves_numbers" theme="derivative"
# The rule of `*` holds the factors as constants. Their path is missing in the second derivative.
# В правиле для `*` множители взяты как константы. Во второй производной нет пути через них.
class Value(Engine):
    def of_product(self, g, a, b):
        return g * type(self)(b.data), g * type(self)(a.data)

# %% mistake="saves_the_results_numbers" theme="derivative"
# The rule of `tanh` or `exp` holds the result as a constant. Its path is missing in the second derivative.
# В правиле для `tanh` или `exp` результат взят как константа. Во второй производной нет пути через него.
class Value(Engine):
    def of_tanh(self, g, a, out):
        return super().of_tanh(g, a, type(self)(out.data))

# %% mistake="folds_unrecorded" theme="recording"
# The sum to an input's shape is not recorded: where broadcasting took place, the second derivative loses its path.
# Суммирование до формы входа не записывается: там, где было транслирование, вторая производная теряет путь.
class Value(Engine):
    def fold(self, shape):
        return self if self.data.shape == shape else type(self)(self.folded(shape))
