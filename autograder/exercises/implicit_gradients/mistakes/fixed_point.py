# %%
import torch


def _solved(step, start, parameters, iterations):
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
    return z


def _last_recorded(step, start, parameters, iterations, recorded):
    z = _solved(step, start, parameters, iterations - recorded)
    for _ in range(recorded):
        z = step(z, *parameters)
    return z


def _hooked(step, start, parameters, iterations, *, point=None, turns=None, sign=1, first=1, begin=None):
    """Return the recorded step with a hook that solves. Each argument makes one mistake."""
    z = _solved(step, start if begin is None else begin, parameters, iterations)
    result = step(z, *parameters)
    at = (z if point is None else point(z)).detach().clone().requires_grad_()
    again = step(at, *[p.detach() for p in parameters])

    def solve(g):
        u = first * g
        for _ in range(iterations if turns is None else turns):
            u = g + sign * torch.autograd.grad(again, at, u, retain_graph=True)[0]
        return u

    result.register_hook(solve)
    return result


def _until(step, start, parameters, iterations, enough, *, forward=False):
    """Return the recorded step with a hook. The loop ends, backward or forward, once `enough(new, old)` holds."""

    def repeat(function, u, may_end):
        for _ in range(iterations):
            old, u = u, function(u)
            if may_end and enough(u, old):
                break
        return u

    with torch.no_grad():
        z = repeat(lambda z: step(z, *parameters), start, forward)
    result = step(z, *parameters)
    at = z.detach().clone().requires_grad_()
    again = step(at, *[p.detach() for p in parameters])

    def turn(g):
        return lambda u: g + torch.autograd.grad(again, at, u, retain_graph=True)[0]

    result.register_hook(lambda g: repeat(turn(g), g, not forward))
    return result


def _by_function(step, start, parameters, iterations, finish):
    """Return the fixed point from an own Function. `finish(again, u, tensors)` makes its gradients."""

    class Solved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            z = _solved(step, start, tensors, iterations)
            ctx.save_for_backward(z, *tensors)
            return z.clone()

        @staticmethod
        def backward(ctx, g):
            z, *tensors = ctx.saved_tensors
            at, u = z.detach().clone().requires_grad_(), g
            with torch.enable_grad():
                again = step(at, *tensors)
            for _ in range(iterations):
                u = g + torch.autograd.grad(again, at, u, retain_graph=True)[0]
            return finish(again, u, tensors)

    return Solved.apply(*parameters)


def _by_matrix(step, start, parameters, iterations, solve):
    """Return the recorded step with a hook that solves with the Jacobian as a matrix."""
    z = _solved(step, start, parameters, iterations)
    result = step(z, *parameters)
    fixed = [p.detach() for p in parameters]
    n = z.numel()
    J = torch.autograd.functional.jacobian(lambda z: step(z, *fixed), z).reshape(n, n)
    result.register_hook(lambda g: solve(torch.eye(n, dtype=z.dtype), J, g.reshape(n)).reshape(g.shape))
    return result

# %% mistake="one_step" theme="derivative" plain="yes"
# The gradient is that of one recorded step at the fixed point: it takes the `z` that comes in as a constant.
# Это градиент одного записанного шага в неподвижной точке: `z` на его входе считается константой.
def fixed_point(step, start, parameters, iterations):
    return step(_solved(step, start, parameters, iterations), *parameters)

# %% mistake="unrolled" theme="cost" plain="yes"
# The results are right, but the memory grows with the number of steps: all of them are recorded.
# Результаты верны, но расход памяти растёт с числом шагов: записаны все.
def fixed_point(step, start, parameters, iterations):
    z = start
    for _ in range(iterations):
        z = step(z, *parameters)
    return z

# %% mistake="keeps_every_turn" theme="cost"
# The results are right, but the memory grows with the number of steps: the tensors of all turns are kept.
# Результаты верны, но расход памяти растёт с числом шагов: хранятся тензоры всех итераций.
def fixed_point(step, start, parameters, iterations):
    path = [start]
    with torch.no_grad():
        for _ in range(iterations):
            path.append(step(path[-1], *parameters))
    return _hooked(step, path[-1], parameters, 0, turns=iterations)

# %% mistake="calls_too_often_in_forward" theme="cost"
# The results are right, but `step` is called too often before the backward pass begins: `iterations` calls find the fixed
#     point, three are left for the rest.
# Результаты верны, но `step` вызывается слишком много раз ещё до обратного прохода: неподвижную точку находят за
#     `iterations` вызовов, на остальное остаётся три.
def fixed_point(step, start, parameters, iterations):
    z = start
    with torch.no_grad():
        for _ in range(iterations):
            if torch.equal(step(z, *parameters), z):
                break
            z = step(z, *parameters)
    return _hooked(step, start, parameters, iterations)

# %% mistake="without_a_graph" theme="recording"
# The result has no graph: everything was computed under `no_grad()` or from detached tensors. `requires_grad_()` does not make
#     one afterwards.
# У результата нет графа: всё вычислено внутри `no_grad()` или по отсоединённым тензорам. Вызов `requires_grad_()` потом его
#     не создаёт.
def fixed_point(step, start, parameters, iterations):
    return _solved(step, start, parameters, iterations)

# %% mistake="transpose_forgotten" theme="axes"
# The system was solved with $I - J$ in place of its transpose. A single number or a symmetric Jacobian does not notice.
# Система решена с $I - J$ вместо транспонированной матрицы. На одном числе или при симметричной матрице Якоби это
#     незаметно.
def fixed_point(step, start, parameters, iterations):
    return _by_matrix(step, start, parameters, iterations, lambda eye, J, g: torch.linalg.solve(eye - J, g))

# %% mistake="plus_for_minus" theme="derivative"
# The system has the wrong sign: $I + J^T$ in place of $I - J^T$.
# В системе не тот знак: $I + J^T$ вместо $I - J^T$.
def fixed_point(step, start, parameters, iterations):
    return _hooked(step, start, parameters, iterations, sign=-1)

# %% mistake="jacobian_at_the_start" theme="derivative"
# The vector-Jacobian products were taken at `start`. They belong to the fixed point. A linear step does not notice.
# Произведения вектора на матрицу Якоби взяты в точке `start`, а нужны в неподвижной. При линейном шаге это незаметно.
def fixed_point(step, start, parameters, iterations):
    return _hooked(step, start, parameters, iterations, point=lambda z: start)

# %% mistake="one_turn" theme="missing"
# The backward loop makes a single turn: $u = g + J^T g$, as if two steps were recorded.
# В обратном цикле лишь одна итерация: $u = g + J^T g$, как если бы было записано два шага.
def fixed_point(step, start, parameters, iterations):
    return _hooked(step, start, parameters, iterations, turns=1)

# %% mistake="last_ten_steps" theme="recording"
# The gradient is that of the last steps alone: the sum $g + J^T g + \ldots$ has only its first terms. The slower the
#     iteration converges, the more is missing.
# Это градиент только последних шагов: от суммы $g + J^T g + \ldots$ взяты только первые члены. Чем медленнее сходятся
#     итерации, тем больше теряется.
def fixed_point(step, start, parameters, iterations):
    return _last_recorded(step, start, parameters, iterations, 10)

# %% mistake="last_five_steps" like="last_ten_steps"
def fixed_point(step, start, parameters, iterations):
    return _last_recorded(step, start, parameters, iterations, 5)

# %% mistake="five_turns" like="last_ten_steps"
def fixed_point(step, start, parameters, iterations):
    return _hooked(step, start, parameters, iterations, turns=5)

# %% mistake="ten_turns" like="last_ten_steps"
def fixed_point(step, start, parameters, iterations):
    return _hooked(step, start, parameters, iterations, turns=10)

# %% mistake="powers_without_a_sum" theme="accumulation"
# In each turn `u` was replaced by $J^T u$, without adding `g`. Nearly nothing is left of the gradient.
# На каждой итерации `u` заменяется на $J^T u$, а `g` не прибавляется. От градиента почти ничего не остаётся.
def fixed_point(step, start, parameters, iterations):
    z = _solved(step, start, parameters, iterations)
    result = step(z, *parameters)
    at = z.clone().requires_grad_()
    again = step(at, *[p.detach() for p in parameters])

    def solve(g):
        for _ in range(iterations):
            (g,) = torch.autograd.grad(again, at, g, retain_graph=True)
        return g

    result.register_hook(solve)
    return result

# %% mistake="jacobian_once_more" theme="derivative"
# The sum begins with $J^T g$: the `g` of the last step itself is missing.
# Сумма начинается с $J^T g$: в ней нет самого `g`, вклада последнего шага.
def fixed_point(step, start, parameters, iterations):
    z = _solved(step, start, parameters, iterations)
    result = step(z, *parameters)
    at = z.clone().requires_grad_()
    again = step(at, *[p.detach() for p in parameters])

    def solve(g):
        u = torch.zeros_like(g)
        for _ in range(iterations):
            (u,) = torch.autograd.grad(again, at, g + u, retain_graph=True)
        return u

    result.register_hook(solve)
    return result

# %% mistake="stops_early" theme="missing"
# The solver stops before `z` has settled: the result is no fixed point.
# Решатель остановлен раньше, чем `z` перестало меняться: результат — не неподвижная точка.
def fixed_point(step, start, parameters, iterations):
    return _hooked(step, start, parameters, 3, turns=iterations)

# %% mistake="stops_a_little_early" like="stops_early"
def fixed_point(step, start, parameters, iterations):
    return _until(step, start, parameters, iterations, lambda new, old: (new - old).abs().max() < 1e-3, forward=True)

# %% mistake="turns_end_early" theme="precision"
# The sum $g + J^T g + \ldots$ is cut off a little too early: by a tolerance, by a fixed number of turns, or because only the
#     last steps are recorded. Less than six digits are right.
# Сумма $g + J^T g + \ldots$ оборвана чуть раньше, чем нужно: по порогу, после заданного числа итераций или потому, что
#     записаны только последние шаги. Верны меньше шести знаков.
def fixed_point(step, start, parameters, iterations):
    return _until(step, start, parameters, iterations, lambda new, old: (new - old).abs().max() < 1e-3)

# %% mistake="with_the_matrix" theme="cost"
# The results are right, but the whole Jacobian was built. Vector-Jacobian products are enough.
# Результаты верны, но построена вся матрица Якоби. Достаточно произведений вектора на неё.
def fixed_point(step, start, parameters, iterations):
    return _by_matrix(step, start, parameters, iterations, lambda eye, J, g: torch.linalg.solve(eye - J.T, g))

# %% mistake="a_new_graph_in_each_turn" theme="cost"
# The results are right, but the step is called anew in each turn of the backward loop. One graph serves all turns, with
#     `retain_graph=True`.
# Результаты верны, но шаг вызывается заново на каждой итерации цикла. С `retain_graph=True` одного графа хватит на
#     все итерации.
def fixed_point(step, start, parameters, iterations):
    z = _solved(step, start, parameters, iterations)
    result = step(z, *parameters)
    fixed, turns = [p.detach() for p in parameters], iterations

    def solve(g):
        u = g
        for _ in range(turns):
            at = z.detach().clone().requires_grad_()
            with torch.enable_grad():
                y = step(at, *fixed)
            u = g + torch.autograd.grad(y, at, u)[0]
        return u

    result.register_hook(solve)
    return result

# %% mistake="hook_mentions_the_result" theme="graph_life"
# The results are right, but their memory is never freed. Something still holds it: a hook that mentions the tensor on
#     which it hangs, or a variable outside the function.
# Результаты верны, но память никогда не освобождается. Её что-то держит: хук, в котором упомянут его собственный тензор,
#     или переменная вне функции.
def fixed_point(step, start, parameters, iterations):
    result = step(_solved(step, start, parameters, iterations), *parameters)
    fixed, built = [p.detach() for p in parameters], []

    def solve(g):
        if not built:
            at = result.detach().clone().requires_grad_()
            with torch.enable_grad():
                built.extend([at, step(at, *fixed)])
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(built[1], built[0], u, retain_graph=True)[0]
        return u

    result.register_hook(solve)
    return result

# %% mistake="flag_on_the_start" theme="recording"
# The gradients are right, but `start` requires grad now: the flag was set on the caller's tensor.
# Градиенты верны, но `start` теперь требует градиента: флаг включён у тензора, который вам передали.
def fixed_point(step, start, parameters, iterations):
    start.requires_grad_()
    return _hooked(step, start, parameters, iterations, begin=start.detach())

# %% mistake="moves_the_start" theme="in_place"
# The gradients are right, but the solver has changed `start` in place.
# Градиенты верны, но решатель изменил `start` на месте.
def fixed_point(step, start, parameters, iterations):
    result = _hooked(step, start.clone(), parameters, iterations)
    start.copy_(result.detach())
    return result

# %% mistake="fills_grad" theme="accumulation"
# The gradients are right, but something was added to `.grad` of the parameters: a call of `backward()` inside goes that
#     far.
# Градиенты верны, но к `.grad` параметров что-то прибавлено: вызов `backward()` внутри доходит и до них.
def fixed_point(step, start, parameters, iterations):
    step(_solved(step, start, parameters, 2), *parameters).sum().backward()
    return _hooked(step, start, parameters, iterations - 3)

# %% mistake="returns_nothing" theme="return"
# Nothing came back: the `return` of the fixed point is missing.
# Ничего не возвращено: пропущен `return` с неподвижной точкой.
def fixed_point(step, start, parameters, iterations):
    _hooked(step, start, parameters, iterations)

# %% mistake="nothing_recorded_in_the_hook" theme="recording"
# A product was asked of a step without a graph. Inside a hook or a `backward` nothing is recorded, unless
#     `torch.enable_grad()` is on.
# У шага, через который берётся произведение, нет графа. Внутри хука и `backward` ничего не записывается, если не включить
#     `torch.enable_grad()`.
def fixed_point(step, start, parameters, iterations):
    z = _solved(step, start, parameters, iterations)
    result = step(z, *parameters)
    fixed = [p.detach() for p in parameters]

    def solve(g):
        at = z.detach().clone().requires_grad_()
        y = step(at, *fixed)
        return g + torch.autograd.grad(y, at, g)[0]

    result.register_hook(solve)
    return result

# %% mistake="slope_in_place_of_the_jacobian" theme="axes"
# Each entry was divided by a slope of its own, as for one number. Where entries depend on each other, the system has to
#     be solved.
# Каждый элемент поделён на свой наклон, как в формуле для одного числа. Но элементы зависят друг от друга, и нужно решать
#     систему.
def fixed_point(step, start, parameters, iterations):
    z = _solved(step, start, parameters, iterations)
    at = z.clone().requires_grad_()
    (slope,) = torch.autograd.grad(step(at, *[p.detach() for p in parameters]).sum(), at)
    result = step(z, *parameters)
    result.register_hook(lambda g: g / (1 - slope))
    return result

# %% mistake="counts_a_tied_parameter_twice" theme="accumulation"
# A tensor that stands among the parameters twice has twice its gradient: each place got the gradient of both.
# У тензора, который встречается среди параметров дважды, градиент удвоен: на каждом из двух мест учтён полный.
def fixed_point(step, start, parameters, iterations):
    def finish(again, u, tensors):
        return tuple(
            torch.autograd.grad(again, p, u, retain_graph=True)[0] if p.requires_grad else None for p in tensors
        )

    return _by_function(step, start, parameters, iterations, finish)

# %% mistake="fills_grad_in_their_place" theme="return"
# The result hands no gradients on to the parameters: whoever asks `torch.autograd.grad` gets none. Adding to `.grad` inside
#     does not replace them.
# Результат не передаёт параметрам градиентов: `torch.autograd.grad` их не получит. Запись в `.grad` внутри их не
#     заменяет.
def fixed_point(step, start, parameters, iterations):
    def finish(again, u, tensors):
        again.backward(u)
        return (None,) * len(tensors)

    return _by_function(step, start, parameters, iterations, finish)

# %% mistake="differentiates_a_frozen_parameter" theme="recording"
# A gradient was asked for a frozen parameter. Ask for those of the parameters that require grad, and return None for the
#     others.
# Градиент запрошен и по замороженному параметру. Запрашивайте его только по тем параметрам, которые требуют градиента, а
#     для остальных возвращайте None.
def fixed_point(step, start, parameters, iterations):
    z = _solved(step, start, parameters, iterations)
    again = step(z, *parameters)
    torch.autograd.grad(again.sum(), parameters, retain_graph=True)
    return _hooked(step, start, parameters, iterations)

# %% mistake="graph_freed_in_the_first_turn" theme="graph_life"
# A turn of the loop freed the graph of the step. With `retain_graph=True` it serves all turns, and a second pass.
# Одна из итераций цикла освободила граф шага. С `retain_graph=True` его хватит на все итерации и на второй проход.
def fixed_point(step, start, parameters, iterations):
    z = _solved(step, start, parameters, iterations)
    result = step(z, *parameters)
    at = z.clone().requires_grad_()
    again = step(at, *[p.detach() for p in parameters])

    def solve(g):
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(again, at, u)[0]
        return u

    result.register_hook(solve)
    return result

# %% mistake="differentiates_itself" theme="graph_life"
# The hook, or the `backward`, starts a pass that meets it again, and so it calls itself without end. The graph of the step has
#     to begin at a leaf of its own, `z.detach().requires_grad_()`.
# Хук или `backward` начинает проход, который снова приводит к нему же, и так без конца. Граф шага должен начинаться с
#     отдельного листа, `z.detach().requires_grad_()`.
def fixed_point(step, start, parameters, iterations):
    result = step(_solved(step, start, parameters, iterations), *parameters)
    again = step(result, *parameters)
    result.register_hook(lambda g: g + torch.autograd.grad(again, result, g, retain_graph=True)[0])
    return result

# %% mistake="changes_what_it_adds" theme="in_place"
# `u += ...` changes `g` as well: both names stand for one tensor. So each turn adds the old sum again, not `g`.
# `u += ...` меняет и `g`: это два имени одного тензора. Поэтому на каждой итерации прибавляется не `g`, а вся прежняя сумма.
def fixed_point(step, start, parameters, iterations):
    z = _solved(step, start, parameters, iterations)
    result = step(z, *parameters)
    at = z.clone().requires_grad_()
    again = step(at, *[p.detach() for p in parameters])

    def solve(g):
        u = g
        for _ in range(iterations):
            u += torch.autograd.grad(again, at, u, retain_graph=True)[0]
        return u

    result.register_hook(solve)
    return result

# %% mistake="changes_the_incoming_gradient" theme="in_place"
# The sum is right, but it was added up in `g` itself. This tensor belongs to the pass, and others may use it.
# Сумма верна, но накоплена в самом `g`. Этот тензор принадлежит обратному проходу, и он может быть нужен ещё кому-то.
def fixed_point(step, start, parameters, iterations):
    z = _solved(step, start, parameters, iterations)
    result = step(z, *parameters)
    at = z.clone().requires_grad_()
    again = step(at, *[p.detach() for p in parameters])

    def solve(g):
        term = g.clone()
        for _ in range(iterations):
            (term,) = torch.autograd.grad(again, at, term, retain_graph=True)
            g += term
        return g

    result.register_hook(solve)
    return result

# %% mistake="last_twenty_steps" like="turns_end_early"
def fixed_point(step, start, parameters, iterations):
    return _last_recorded(step, start, parameters, iterations, 20)

# %% mistake="keeps_the_last_call_alone" theme="state"
# What the backward pass of a result needs is kept outside the call, and the next call overwrites it. Each result needs its own.
# То, что нужно обратному проходу результата, хранится вне вызова, и следующий вызов его заменяет. У каждого результата должно
#     быть своё.
kept = {}


def fixed_point(step, start, parameters, iterations):
    z = _solved(step, start, parameters, iterations)
    kept["at"] = z.clone().requires_grad_()
    kept["again"] = step(kept["at"], *[p.detach() for p in parameters])

    def solve(g):
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(kept["again"], kept["at"], u, retain_graph=True)[0]
        return u

    result = step(z, *parameters)
    result.register_hook(solve)
    return result
