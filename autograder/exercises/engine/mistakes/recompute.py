# %%
import torch

Function = torch.autograd.Function  # Any, as each subclass has its own signature of `forward` and `backward`


class _Recompute(Function):
    """A right Function, from which the wrong ones derive."""

    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        return f(x)


def _recomputed(ctx):
    """Return a detached copy of `x`, and `f` of it, recorded."""
    with torch.enable_grad():
        copy = ctx.saved_tensors[0].detach().requires_grad_()
        return copy, ctx.f(copy)


class AsksTheModule(_Recompute):
    """A Function that knows the parameters of modules only."""

    adds = True

    @classmethod
    def collect(cls, ctx, grad_output):
        copy, y = _recomputed(ctx)
        own = list(ctx.f.parameters()) if isinstance(ctx.f, torch.nn.Module) else []
        found, *others = torch.autograd.grad(y, [copy, *own], grad_output)
        for parameter, gradient in zip(own, others):
            parameter.grad = gradient if parameter.grad is None or not cls.adds else parameter.grad + gradient
        return None, found

    @staticmethod
    def backward(ctx, grad_output):
        return AsksTheModule.collect(ctx, grad_output)

# %% mistake="KeepsTheGraph" theme="cost"
# `f` is recorded in the forward pass already, and its graph is kept. Nothing is saved by that.
# Вычисление `f` записано уже в прямом проходе, и его граф хранится. Память так не сэкономить.
class Recompute(Function):
    """A Function that keeps the graph of `f`."""

    @staticmethod
    def forward(ctx, f, x):
        with torch.enable_grad():
            ctx.x = x.detach().requires_grad_()
            ctx.y = f(ctx.x)
        return ctx.y.detach()

    @staticmethod
    def backward(ctx, grad_output):
        ctx.y.backward(grad_output)
        return None, ctx.x.grad

# %% mistake="RecordsNothing" theme="recording"
# `f` is recomputed with recording off, as it is in every `backward`. The result has no graph to differentiate.
# Повторное вычисление `f` не записывается: в методе `backward` запись выключена, пока её не включить. Поэтому у
#     результата нет графа.
class Recompute(_Recompute):
    """A Function without `enable_grad`."""

    @staticmethod
    def backward(ctx, grad_output):
        copy = ctx.saved_tensors[0].detach().requires_grad_()
        ctx.f(copy).backward(grad_output)
        return None, copy.grad

# %% mistake="ForgetsParameters" theme="missing"
# `torch.autograd.grad` was asked for the gradient of `x` alone. The parameters of `f` get nothing.
# Функция `torch.autograd.grad` вызвана только для `x`. Параметры функции `f` градиентов не получают.
class Recompute(_Recompute):
    """A Function that differentiates by `x` only."""

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            return None, torch.autograd.grad(ctx.f(copy), copy, grad_output)[0]

# %% mistake="IgnoresGradOutput" theme="derivative"
# The inner pass starts from `y.sum()`: `grad_output` is left out.
# Внутренний проход начат с `y.sum()`: `grad_output` не учтён.
class Recompute(_Recompute):
    """A Function that starts from ones."""

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            ctx.f(copy).sum().backward()
        return None, copy.grad

# %% mistake="GoesUpstream" theme="recording"
# `x` is not detached: the inner pass does not stop there. It goes on through the graph before `x` and frees what
#     the outer pass still needs.
# Тензор `x` не отсоединён от графа, и внутренний проход на нём не останавливается: он идёт дальше, по графу перед
#     `x`, и освобождает то, что ещё нужно внешнему.
class Recompute(_Recompute):
    """A Function without `detach`."""

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            x.retain_grad()
            ctx.f(x).backward(grad_output)
        return None, x.grad

# %% mistake="PassesThrough" theme="derivative"
# `f` is never called again: what is returned is `grad_output`, as if `f` were the identity.
# Функция `f` повторно не вызвана: возвращён `grad_output`, как если бы `f` ничего не меняла.
class Recompute(_Recompute):
    """A Function that returns `grad_output`, brought to the shape of `x`."""

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return None, grad_output.sum(-1, keepdim=True).expand_as(x)

# %% mistake="PassesUpstream" theme="recording"
# `x` is not detached, so the inner pass goes on through the graph before `x`. Leaves there get gradients of it; the
#     outer pass finds no gradient of `x` to go on with.
# Тензор `x` не отсоединён от графа, и внутренний проход идёт дальше, по графу перед `x`. Листья там получают градиенты
#     от него, а внешний проход не получает градиента по `x` и дальше не идёт.
class Recompute(_Recompute):
    """A Function without `detach` that keeps the graph."""

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            ctx.f(ctx.saved_tensors[0]).backward(grad_output, retain_graph=True)
        return None, None

# %% mistake="KeepsFOnTheClass" theme="state"
# `f` is kept on the class, where the next use of `Recompute` replaces it. Each use has a `ctx` of its own.
# Функция `f` хранится в самом классе, и следующее применение `Recompute` её заменяет. У каждого применения свой только
#     `ctx`.
class Recompute(Function):
    """A Function whose uses share `f`."""

    f = None

    @staticmethod
    def forward(ctx, f, x):
        Recompute.f = staticmethod(f)
        ctx.save_for_backward(x)
        return f(x)

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            Recompute.f(copy).backward(grad_output)
        return None, copy.grad

# %% mistake="ClearsParameters" theme="accumulation"
# The earlier `.grad` of a parameter is gone. The new gradient should be added to it.
# Прежний градиент в `.grad` у параметра пропал, а новый должен был к нему прибавиться.
class Recompute(_Recompute):
    """A Function that empties `.grad` of the parameters of a module."""

    @staticmethod
    def backward(ctx, grad_output):
        if isinstance(ctx.f, torch.nn.Module):
            ctx.f.zero_grad()
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            ctx.f(copy).backward(grad_output)
        return None, copy.grad

# %% mistake="RecordsFAlone" theme="recording"
# Recording is on for `f` alone. What follows in `backward`, such as `y.sum()`, is not recorded and has no graph.
# Запись включена только для самой `f`. То, что следует за ней в методе `backward`, например `y.sum()`, не записано,
#     и графа у него нет.
class Recompute(_Recompute):
    """A Function that leaves `enable_grad` too early."""

    @staticmethod
    def backward(ctx, grad_output):
        copy = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.f(copy)
        (y * grad_output).sum().backward()
        return None, copy.grad

# %% mistake="RecordsTwice" theme="recording"
# `f` is recorded in the forward pass as well. Recording was to be off there.
# Вычисление `f` записано и в прямом проходе, а там запись должна быть выключена.
class Recompute(_Recompute):
    """A Function that records both runs of `f`."""

    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        ctx.save_for_backward(x)
        with torch.enable_grad():
            return f(x.detach().requires_grad_()).detach()

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            ctx.f(copy).backward(grad_output)
        return None, copy.grad

# %% mistake="RunsTwice" theme="cost"
# `f` runs twice in the backward pass. One run gives all gradients.
# В обратном проходе функция `f` выполняется дважды. Чтобы получить все градиенты, достаточно одного раза.
class Recompute(_Recompute):
    """A Function with two runs of `f`, for `x` and for parameters."""

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            copy = x.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(ctx.f(copy), copy, grad_output)
            ctx.f(x.detach()).backward(grad_output)
        return None, gradient

# %% mistake="SwapsGradients" theme="missing"
# Something stands in the place of `f` where None should, such as the gradient of `x`. `backward` returns one value
#     for each argument of `forward`, in order.
# На месте `f` стоит не None, а что-то другое, например градиент по `x`. Метод `backward` возвращает по значению на
#     каждый аргумент `forward`, в том же порядке.
class Recompute(_Recompute):
    """A Function that returns its gradients in the wrong order."""

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            ctx.f(copy).backward(grad_output)
        return copy.grad, None

# %% mistake="PassesTwice" theme="accumulation"
# There are two inner passes, and each adds to `.grad` of the parameters: they get their gradient twice.
# Внутренних проходов два, и каждый прибавляет градиент к `.grad` параметров: они получают его дважды.
class Recompute(_Recompute):
    """A Function with a second inner pass."""

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            copy = ctx.saved_tensors[0].detach().requires_grad_()
            y = ctx.f(copy)
        y.backward(grad_output, retain_graph=True)
        gradient = copy.grad.clone()
        y.backward(grad_output)
        return None, gradient

# %% mistake="ReturnsOneValue" theme="missing"
# `backward` returns one value. It has to return one for each argument of `forward`: None for `f`, then the gradient
#     of `x`.
# Метод `backward` возвращает одно значение, а должен возвращать по одному на каждый аргумент `forward`: None для
#     `f`, затем градиент по `x`.
class Recompute(_Recompute):
    """A Function that forgets the place of `f`."""

    @staticmethod
    def backward(ctx, grad_output):
        copy, y = _recomputed(ctx)
        y.backward(grad_output)
        return copy.grad

# %% mistake="MultipliesAfterwards" theme="derivative"
# The inner pass starts from `y.sum()`, and its result is multiplied by `grad_output`. Each entry of `y` has a
#     factor of its own: `grad_output` belongs at the start of the pass.
# Внутренний проход начат с `y.sum()`, и на `grad_output` умножен его результат. Но у каждого элемента `y` свой
#     множитель: `grad_output` нужен в начале прохода.
class Recompute(_Recompute):
    """A Function that applies `grad_output` too late."""

    @staticmethod
    def backward(ctx, grad_output):
        copy, y = _recomputed(ctx)
        with torch.enable_grad():
            y.sum().backward()
        return None, copy.grad * grad_output

# %% mistake="AveragesGradOutput" theme="scaling"
# Every entry of `y` gets the mean of `grad_output`. Each one has a factor of its own there.
# Каждый элемент `y` получает среднее по `grad_output`, а множитель у каждого свой.
class Recompute(_Recompute):
    """A Function that makes one number of `grad_output`."""

    @staticmethod
    def backward(ctx, grad_output):
        copy, y = _recomputed(ctx)
        with torch.enable_grad():
            (y.sum() * grad_output.mean()).backward()
        return None, copy.grad

# %% mistake="ReturnsGradOutput" theme="derivative"
# `grad_output` itself is returned. It is the gradient of the result; that of `x` is what the inner pass gives the
#     copy.
# Возвращён сам `grad_output`. Это градиент по результату, а градиент по `x` внутренний проход накапливает у
#     копии.
class Recompute(_Recompute):
    """A Function that throws the gradient of the copy away."""

    @staticmethod
    def backward(ctx, grad_output):
        _recomputed(ctx)[1].backward(grad_output)
        return None, grad_output

# %% mistake="KeepsXOnTheClass" theme="state"
# `x` is kept on the class, where the next use of `Recompute` replaces it. Each use has a `ctx` of its own.
# Тензор `x` хранится в самом классе, и следующее применение `Recompute` его заменяет. У каждого применения свой только
#     `ctx`.
class Recompute(Function):
    """A Function whose uses share `x`."""

    x = None

    @staticmethod
    def forward(ctx, f, x):
        ctx.f, Recompute.x = f, x
        return f(x)

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            copy = Recompute.x.detach().requires_grad_()
            y = ctx.f(copy)
        y.backward(grad_output)
        return None, copy.grad

# %% mistake="AsksTheModule" theme="missing"
# Parameters get gradients only if `f` is a module. A function uses parameters as well, and has no `parameters()`.
# Параметры получают градиенты, только если `f` — модуль. Но параметры использует и функция, а метода `parameters()`
#     у неё нет.
class Recompute(_Recompute):
    """A Function that knows the parameters of modules only."""

    adds = True

    @classmethod
    def collect(cls, ctx, grad_output):
        copy, y = _recomputed(ctx)
        own = list(ctx.f.parameters()) if isinstance(ctx.f, torch.nn.Module) else []
        found, *others = torch.autograd.grad(y, [copy, *own], grad_output)
        for parameter, gradient in zip(own, others):
            parameter.grad = gradient if parameter.grad is None or not cls.adds else parameter.grad + gradient
        return None, found

    @staticmethod
    def backward(ctx, grad_output):
        return Recompute.collect(ctx, grad_output)

# %% mistake="ReplacesTheModulesGradients" theme="accumulation"
# Parameters get gradients only if `f` is a module, and then an earlier `.grad` is replaced.
#     `y.backward(grad_output)` reaches all parameters, and adds.
# Параметры получают градиенты, только если `f` — модуль, и прежний `.grad` при этом заменяется. Вызов
#     `y.backward(grad_output)` доходит до всех параметров и ничего не заменяет.
class Recompute(AsksTheModule):
    """A Function that replaces `.grad`."""

    adds = False

    @staticmethod
    def backward(ctx, grad_output):
        return Recompute.collect(ctx, grad_output)

# %% mistake="StartsWithNothing" theme="axes"
# `y.backward()` has no argument, so `y` would have to be a scalar. The inner pass starts with `grad_output`.
# Вызов `y.backward()` без аргумента возможен, только если `y` — скаляр. Внутренний проход начинают с `grad_output`.
class Recompute(_Recompute):
    """A Function that gives `backward` no gradient."""

    @staticmethod
    def backward(ctx, grad_output):
        copy, y = _recomputed(ctx)
        y.backward()
        return None, copy.grad

# %% mistake="ForgetsToRequireGrad" theme="recording"
# The detached copy of `x` does not require grad: the inner pass leaves no gradient there.
# Отсоединённая копия `x` не требует градиента, и внутренний проход его для неё не вычисляет.
class Recompute(_Recompute):
    """A Function whose copy does not require grad."""

    @staticmethod
    def backward(ctx, grad_output):
        copy = ctx.saved_tensors[0].detach()
        with torch.enable_grad():
            ctx.f(copy).backward(grad_output)
        return None, copy.grad

# %% mistake="SavesTheResult" theme="derivative"
# What is saved is `f(x)`, and `f` is then applied to that. `x` is needed, to run `f` again.
# Сохранено значение `f(x)`, и `f` применена потом к нему. Чтобы выполнить `f` ещё раз, нужен `x`.
class Recompute(Function):
    """A Function that saves its result."""

    @staticmethod
    def forward(ctx, f, x):
        ctx.f = f
        y = f(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        copy, y = _recomputed(ctx)
        y.backward(grad_output)
        return None, copy.grad

# %% mistake="AddsUpPasses" theme="accumulation"
# In a second pass through the same graph the gradient of the first one is added: the copy of `x` was made in `forward`,
#     and its `.grad` stays from pass to pass. Make a copy in `backward`.
# При втором проходе по тому же графу прибавляется и градиент первого: копия `x` создана в методе `forward`, и её поле
#     `.grad` сохраняется от прохода к проходу. Создавайте копию в `backward`.
class Recompute(Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f, ctx.copy = f, x.detach().requires_grad_()
        return f(x)

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            y = ctx.f(ctx.copy)
        y.backward(grad_output)
        return None, ctx.copy.grad

# %% mistake="AddsUpAndCopies" like="AddsUpPasses"
class Recompute(Function):
    @staticmethod
    def forward(ctx, f, x):
        ctx.f, ctx.copy = f, x.detach().requires_grad_()
        return f(x)

    @staticmethod
    def backward(ctx, grad_output):
        with torch.enable_grad():
            y = ctx.f(ctx.copy)
        y.backward(grad_output)
        return None, ctx.copy.grad.clone()
