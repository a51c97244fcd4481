# %% [markdown] tags=["en"] needs="07, 10" about="gradients through fixed points and minima without unrolling the solver"
# # Gradients through a solver
#
# A layer iterates `z = w * z + 3` until `z` no longer changes. For $w = 0.5$ it settles at 6. A thousand recorded steps would fill the memory, so its author lets the solver run under `no_grad()` and records one more step at the end. Training runs, the loss falls. Then somebody compares the gradient with finite differences: it should be 12, and it is 6.
#
# Half of the gradient is missing, and no error is raised. The whole one can be had with the memory of that one step, whatever the solver did before. The idea is a century older than autograd: the solution satisfies an equation, and an equation can be differentiated without asking who solved it.
#
# After this lesson you can:
#
# * say what reaches the parameter from a solver, recorded in full, in part or not at all;
# * differentiate through a minimum, and say at which point the Hessian belongs;
# * write a fixed-point solver whose backward pass solves a linear system, with nothing but vector-Jacobian products;
# * count what unrolling costs, and name the case where detaching is exact.
#
# You need lesson 07 (a `backward` of your own) and lesson 10 (derivatives of gradients). The hooks of lesson 08 are an alternative to the `backward`, not a condition.
# %% [markdown] tags=["ru"] about="градиенты сквозь неподвижную точку и минимум, без записи шагов решателя" of="8de96e42"
# # Градиенты сквозь решатель
#
# Слой повторяет шаг `z = w * z + 3`, пока `z` не перестанет меняться. При $w = 0.5$ он останавливается на числе 6. Тысяча записанных шагов не поместилась бы в память, поэтому автор запускает решатель внутри `no_grad()`, а в конце делает ещё один шаг, уже с записью. Обучение идёт, потери уменьшаются. Потом кто-то сравнивает градиент с конечными разностями: должно быть 12, а получается 6.
#
# Половина градиента пропала, а ошибки нет. Между тем весь градиент можно получить, потратив столько же памяти, сколько на этот один шаг. Каким путём решатель пришёл к ответу, неважно. Эта мысль лет на сто старше autograd: решение удовлетворяет уравнению, а уравнение можно продифференцировать, не спрашивая, кто его решил.
#
# После урока вы сможете:
#
# * сказать, какая часть градиента доходит до параметра, если записаны все шаги решателя, только некоторые или ни один;
# * дифференцировать сквозь минимум и правильно выбирать точку, в которой берётся матрица Гессе;
# * написать функцию, которая находит неподвижную точку, а в обратном проходе решает линейную систему, вычисляя только произведения вектора на матрицу Якоби;
# * посчитать, во что обходится запись всех шагов, и назвать случай, когда отсоединение от графа ничего не портит.
#
# Понадобятся уроки 07 (свой `backward`) и 10 (производные от градиентов). Вместо собственного `backward` подойдут и хуки из урока 08, но знать их необязательно.
# %% tags=["en"]
# The import fails? Install the course's file (or autograd-course) with pip, uninstall the other `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("implicit_gradients", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("implicit_gradients", language="ru")
# %%
import torch
from torch.func import grad, hessian


# %% [markdown] tags=["en"]
# ## What reaches the parameter
#
# A *fixed point* of a step is a `z` that the step maps to itself. The solver below repeats the step a given number of times; `derivative` says what of it reaches a parameter, or that there is no graph.
# %% [markdown] tags=["ru"] of="ab3b0561"
# ## Что доходит до параметра
#
# *Неподвижная точка* шага — это такое `z`, которое шаг переводит в само себя. Решатель ниже повторяет шаг заданное число раз, а функция `derivative` показывает, какая производная доходит от результата до параметра, или сообщает, что графа нет.
# %%
def iterate(step, z, times):
    for _ in range(times):
        z = step(z)
    return z


def derivative(y, w):
    """dy/dw as a number, or "no graph"."""
    if not y.requires_grad:
        return "no graph"
    return round(torch.autograd.grad(y, w)[0].item(), 6)


# %% [markdown] tags=["en"]
# Read the table; do not call `solver_table()` yet. The first 100 steps are made under `no_grad()`, as in the story above.
# %% [markdown] tags=["ru"] of="68f40ac4"
# Прочтите, что попадает в таблицу, но `solver_table()` пока не вызывайте. Первые 100 шагов сделаны внутри `no_grad()`, как в истории выше.
# %%
def solver_table():
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)

    def step(z):
        return w * z + 3

    with torch.no_grad():
        z = iterate(step, torch.zeros_like(w), 100)
    return {
        "z": z.item(),
        "all in no_grad": derivative(z, w),
        "1 more step": derivative(step(z), w),
        "2 more steps": derivative(iterate(step, z, 2), w),
        "100 more steps": derivative(iterate(step, z, 100), w),
        "1 step from 0": derivative(step(0 * z), w),
        "z + w": derivative(z + w, w),
    }


# %% [markdown] tags=["en"]
# ### `predict_solvers`
#
# Put what `solver_table()` returns in place of each `...`: a number, or `"no graph"`.
# %% [markdown] tags=["ru"] of="76fa27fa"
# ### `predict_solvers`
#
# Вместо каждого `...` поставьте то, что вернёт `solver_table()`: число или `"no graph"` («графа нет»).
# %% answer="predict_solvers"
predict_solvers = {
    "z": 6.0,
    "all in no_grad": "no graph",
    "1 more step": 6.0,
    "2 more steps": 9.0,
    "100 more steps": 12.0,
    "1 step from 0": 0.0,
    "z + w": 1.0,
}
# %% given="predict_solvers"
predict_solvers = {
    "z": ...,
    "all in no_grad": ...,
    "1 more step": ...,
    "2 more steps": ...,
    "100 more steps": ...,
    "1 step from 0": ...,
    "z + w": ...,
}
# %% check="predict_solvers"
from autograder import check

check("predict_solvers")
# %% tags=["fact"]
assert predict_solvers == solver_table()
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
solver_table()
# %% tags=["fact"]
beside = [iterate(lambda z: w * z + 3, 0.0, 200) for w in (0.5 - 1e-6, 0.5 + 1e-6)]
assert abs((beside[1] - beside[0]) / 2e-6 - 12) < 1e-6  # finite differences
half = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
assert [derivative(iterate(lambda z: half * z + 3, 6.0, n), half) for n in (1, 2, 3, 4)] == [6, 9, 10.5, 11.25]


# %% [markdown] tags=["en"] explains="predict_solvers"
# One recorded step takes the incoming `z` as a constant, so the derivative of $wz + 3$ by $w$ is $z = 6$. The second step multiplies these 6 by the slope $w = 0.5$ and adds 6 of its own: 9. Then 10.5, 11.25 and so on: the sum $6 \cdot (1 + 0.5 + 0.25 + \ldots)$ has the limit 12.
#
# A step from 0 gives 0: $w$ is multiplied by 0 there. And in `z + w` the solution is a constant, so only the 1 of `w` itself is left: a loss that mentions the parameter gives a gradient and hides that the solver gives none.
# %% [markdown] tags=["ru"] explains="predict_solvers" of="18f855c0"
# Для одного записанного шага `z` на входе — константа, поэтому производная $wz + 3$ по $w$ равна $z = 6$. Второй шаг умножает эти 6 на наклон $w = 0.5$ и прибавляет свои 6: получается 9. Затем 10.5, 11.25 и так далее: у суммы $6 \cdot (1 + 0.5 + 0.25 + \ldots)$ предел 12.
#
# Шаг из нуля даёт 0: там $w$ умножается на 0. А в `z + w` решение — константа, и остаётся только единица, производная самого `w`. Если параметр входит в функцию потерь ещё и напрямую, какой-то градиент у него есть, и легко не заметить, что от решателя ничего не пришло.
# %% tags=["picture"]
from autograder import play
from matplotlib.figure import Figure


def cobweb(w):
    """The way of the solver from 0: up to the step, across to the diagonal, and so on."""
    way = [0.0, 0.0]
    for _ in range(14):
        way += [w * way[-1] + 3] * 2
    figure = Figure(figsize=(4.2, 3), layout="constrained")
    axes = figure.add_subplot(xlabel="z", xlim=(-1, 12), ylim=(-1, 12))
    axes.plot([-1, 12], [-1, 12], color="gray", linewidth=1)
    axes.plot([-1, 12], [3 - w, 3 + 12 * w])
    axes.plot(way[:-1], way[1:], linewidth=1.2)
    return figure


play(cobweb, w=[0.5, 0.7, -0.5, -0.95])
# %% [markdown] tags=["en", "try"]
# The solver settles where the line $wz + 3$ crosses the diagonal. With $w = -0.5$ it comes from both sides. Will one recorded step then give too little of the derivative, or too much? Say it, put `-0.5` into `solver_table`, and run it.
#
# Too much: 2 where $4/3$ is right. The terms of the series change their sign, $2 \cdot (1 - 0.5 + 0.25 - \ldots)$, so the first of them is larger than the sum.
# %% [markdown] tags=["ru", "try"] of="d6c28a99"
# Решатель останавливается там, где прямая $wz + 3$ пересекает диагональ. При $w = -0.5$ он подходит к этой точке с двух сторон. Даст ли один записанный шаг меньше, чем вся производная, или больше? Сначала ответьте, потом поставьте в `solver_table` число `-0.5` и вызовите её.
#
# Больше: 2 вместо $4/3$. Знаки слагаемых чередуются, $2 \cdot (1 - 0.5 + 0.25 - \ldots)$, поэтому первое из них больше суммы.
# %% tags=["fact"]
turned = torch.tensor(-0.5, dtype=torch.float64, requires_grad=True)
settled = iterate(lambda z: turned * z + 3, 0.0, 200).detach()
assert derivative(turned * settled + 3, turned) == 2
assert derivative(iterate(lambda z: turned * z + 3, settled, 100), turned) == 1.333333
# %% [markdown] tags=["en"]
# ## The equation instead of the steps
#
# Forget the steps. All that is known of the solution is $z = f(z, w)$, here with $f = wz + 3$. Let $w$ grow by a little $dw$. Then $z$ moves by some $dz$, and both sides of the equation move alike:
#
# $$dz = \frac{\partial f}{\partial z}\, dz + \frac{\partial f}{\partial w}\, dw = 0.5\, dz + 6\, dw.$$
#
# So $dz / dw = 6 / (1 - 0.5) = 12$. That is the *implicit function theorem* for one number. The 6 is what one recorded step at the solution gives. Dividing by $1 - 0.5$ is the rest of the geometric series, all at once. Both numbers are taken at the solution; where the iteration began, and how many steps it took, does not occur.
# %% [markdown] tags=["ru"] of="32ed6aa8"
# ## Уравнение вместо шагов
#
# Забудем про шаги. О решении известно одно: $z = f(z, w)$. В нашем примере $f = wz + 3$. Пусть $w$ выросло на малое $dw$. Тогда $z$ сдвинется на какое-то $dz$, причём обе части уравнения изменятся одинаково:
#
# $$dz = \frac{\partial f}{\partial z}\, dz + \frac{\partial f}{\partial w}\, dw = 0.5\, dz + 6\, dw.$$
#
# Отсюда $dz / dw = 6 / (1 - 0.5) = 12$. Это *теорема о неявной функции* для одного числа. Шестёрку даёт один записанный шаг в точке решения, а деление на $1 - 0.5$ заменяет весь остаток геометрической прогрессии. Оба числа взяты в точке решения. С какого числа начались итерации и сколько их было, для формулы неважно.
# %%
w = torch.tensor(0.8, dtype=torch.float64, requires_grad=True)


def bent(z):
    return torch.tanh(w * z + 0.5)


with torch.no_grad():
    z = iterate(bent, torch.zeros_like(w), 500)
at = z.clone().requires_grad_()
(slope,) = torch.autograd.grad(bent(at), at)
print("one recorded step:   ", derivative(bent(z), w))
print("divided by 1 - slope:", derivative(bent(z) / (1 - slope), w))
print("500 recorded steps:  ", derivative(iterate(bent, z, 500), w))
# %% tags=["fact"]
assert derivative(bent(z), w) == 0.269001
assert derivative(bent(z) / (1 - slope), w) == derivative(iterate(bent, z, 500), w) == 0.364776


# %% [markdown] tags=["en", "try"]
# The quotient agrees with 500 recorded steps, so it holds for a step with a bend, too. Stop the solver early: put 1 in place of the 500 under `no_grad()`. Which of the three lines will still be right?
#
# Only the last. The quotient is 0.396 in place of 0.365: where `z` is not the solution, the formula differentiates an equation that does not hold.
# %% [markdown] tags=["ru", "try"] of="f4d9a093"
# Частное совпадает с производной 500 записанных шагов, то есть формула верна и для нелинейного шага. Теперь остановите решатель раньше: поставьте 1 вместо 500 внутри `no_grad()`. Какая из трёх строк останется верной?
#
# Только последняя. Частное равно 0.396, а не 0.365: `z` — ещё не решение, и формула дифференцирует равенство, которое не выполняется.
# %% tags=["fact"]
early = iterate(bent, torch.zeros_like(w), 1).detach()
inner = early.clone().requires_grad_()
(its_slope,) = torch.autograd.grad(bent(inner), inner)
assert round(derivative(bent(early) / (1 - its_slope), w), 3) == 0.396


# %% [markdown] tags=["en"]
# ## A minimum is an equation, too
#
# Which weight decay $\lambda$ gives the smallest validation loss? The weights are $w^*(\lambda)$, the minimum of the training loss. One can differentiate through the steps that lead to it (the extras of lesson 10). But a minimum satisfies an equation: the slope of the training loss is 0 there.
#
# One number again. The loss is $(w - 3)^2 / 2 + \lambda w^2 / 2$, its slope $w - 3 + \lambda w$. Setting it to 0 gives $w^* = 3 / (1 + \lambda)$, for $\lambda = 0.5$ that is 2. Let $\lambda$ grow by a little $d\lambda$. The slope stays 0, so its whole change is 0:
#
# $$(1 + \lambda)\, dw + w\, d\lambda = 0.$$
#
# The first factor is $H = 1.5$, the second $w^* = 2$. So $dw^* / d\lambda = -2 / 1.5 = -1.33$.
#
# $H$ is the second derivative of the training loss at the minimum. With many weights it is a Hessian, and a linear system is solved in place of the division. The minus is easily lost.
# %% [markdown] tags=["ru"] of="91c2d7f5"
# ## Минимум — тоже уравнение
#
# При каком затухании весов $\lambda$ потери на валидации наименьшие? Веса здесь — это $w^*(\lambda)$, точка минимума функции потерь на обучении. Можно дифференцировать сквозь шаги, которые к ней ведут (дополнительные разделы урока 10). Но и минимум удовлетворяет уравнению: наклон функции потерь на обучении в нём равен 0.
#
# Снова начнём с одного числа. Функция потерь — $(w - 3)^2 / 2 + \lambda w^2 / 2$, её наклон — $w - 3 + \lambda w$. Приравняем его к нулю: $w^* = 3 / (1 + \lambda)$, при $\lambda = 0.5$ это 2. Пусть $\lambda$ выросло на малое $d\lambda$. Наклон останется равным 0, поэтому и всё его изменение равно 0:
#
# $$(1 + \lambda)\, dw + w\, d\lambda = 0.$$
#
# Первый множитель — $H = 1.5$, второй — $w^* = 2$. Отсюда $dw^* / d\lambda = -2 / 1.5 = -1.33$.
#
# Здесь $H$ — вторая производная функции потерь на обучении в точке минимума. Если весов много, это матрица Гессе, и вместо деления решают линейную систему. А минус легко потерять.
# %%
def training_loss(w, lam):
    return (w - 3) ** 2 / 2 + lam * w**2 / 2


def descended(lam, steps, recorded):
    """The weight after `steps` steps of descent; only the last `recorded` ones are in the graph."""
    w = torch.zeros((), dtype=torch.float64)
    for left in range(steps, 0, -1):
        if left == recorded:
            w = w.detach()
        w = w - 0.05 * grad(training_loss)(w, lam)
    return w


lam = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
for steps in (5, 50, 500):
    of_all, of_five = (derivative(descended(lam, steps, recorded), lam) for recorded in (steps, 5))
    print(f"{steps} steps: {of_all}, the last 5 recorded: {of_five}")
# %% tags=["fact"]
assert abs(derivative(descended(lam, 500, 500), lam) + 4 / 3) < 1e-5
assert abs(derivative(descended(lam, 5, 5), lam) + 4 / 3) > 1
tail = [derivative(descended(lam, steps, 5), lam) for steps in (50, 500, 5000)]
assert abs(tail[1] - tail[2]) < 1e-5 and abs(tail[2] + 4 / 3) > 0.5
best = torch.tensor(2.0, dtype=torch.float64)
assert derivative(training_loss(best, lam), lam) == 2.0  # w² / 2, with w detached
after = descended(lam, 500, 500)
assert abs(derivative(training_loss(after, lam), lam) - 2.0) < 1e-6  # through the solver: the same
assert not ((best - 1) ** 2).requires_grad  # a validation loss with w detached has no derivative at all,
assert abs(derivative((descended(lam, 500, 500) - 1) ** 2, lam) + 2 * 4 / 3) < 1e-4  # but one through the solver


# %% [markdown] tags=["en", "try"]
# With the last five steps recorded the derivative settles at a wrong number: more steps make the minimum more exact, not its derivative. How many of 500 steps must be recorded to be right to a hundredth? Guess, then try `recorded` from 10 to 80 in `descended(lam, 500, recorded)`.
#
# About 80. Each step back multiplies what is missing by $1 - 0.05 \cdot 1.5 = 0.925$, so 20 recorded steps still miss a fifth.
# %% [markdown] tags=["ru", "try"] of="cb3ce6f2"
# Если записаны только последние пять шагов, производная сходится к неверному числу: чем больше шагов, тем точнее минимум, но не его производная. Сколько из 500 шагов нужно записать, чтобы ошибка была меньше сотой? Предположите, потом попробуйте в `descended(lam, 500, recorded)` разные `recorded`, от 10 до 80.
#
# Около 80. С каждым записанным шагом недостающая часть умножается на $1 - 0.05 \cdot 1.5 = 0.925$, поэтому при 20 шагах не хватает ещё пятой части.
# %% tags=["fact"]
recorded_20, recorded_80 = (derivative(descended(lam, 500, recorded), lam) for recorded in (20, 80))
assert 0.19 < 1 + recorded_20 / (4 / 3) < 0.22 and abs(recorded_80 + 4 / 3) < 0.01


# %% [markdown] tags=["en"]
# One case is the exception. Ask for the derivative of the *minimal value* of the training loss itself. Its slope by $w$ is 0 at the minimum, so whatever $dw^*/d\lambda$ may be, it is multiplied by 0. There you may detach the solution, and what is left, $w^2 / 2 = 2$, is exact. For the validation loss it is not: its slope at $w^*$ is not 0.
#
# ### `fix_argmin`
#
# **The function is to give the derivative of an outer loss through a minimum. Right on ridge regression, wrong elsewhere: mend both errors.**
#
# * **Given.** `inner(w, lam)` and `outer(w, lam)`, losses whose values are scalars, such as those of training and of validation. The inner one has one minimum over `w`, of shape $(n,)$, and a Hessian there that can be inverted. `lam` has any shape.
# * **Given.** `minimize(inner, start, lam)`, which returns this minimum, without a graph. Neither `start` nor `lam` requires grad.
# * **Result.** The derivative with respect to `lam` of the value `outer(w, lam)` whose `w` is the minimum and moves with `lam`. It has the shape of `lam`, and is right for any inner loss. <!-- derivative -->
# * **Result.** So also where the outer loss mentions `lam` itself. <!-- direct -->
# * **Leave.** `start` and `lam`. <!-- kept -->
# * **Not allowed.** More than one call of `minimize`. <!-- once -->
# %% [markdown] tags=["ru"] of="9fa07afb"
# Есть одно исключение. Пусть нужна производная самого *наименьшего значения* функции потерь на обучении. Наклон по $w$ в точке минимума равен 0, поэтому производная $dw^*/d\lambda$, чему бы она ни была равна, умножается на 0. В этом случае решение можно отсоединить от графа. Останется $w^2 / 2 = 2$, и это точный ответ. С потерями на валидации так нельзя: их наклон в точке $w^*$ не равен 0.
#
# ### `fix_argmin`
#
# **Функция должна давать производную внешней функции потерь сквозь минимум. На гребневой регрессии она верна, в других задачах — нет: исправьте обе ошибки.**
#
# * **Дано.** Функции потерь `inner(w, lam)` и `outer(w, lam)` со скалярными значениями, например на обучении и на валидации. У внутренней функции единственный минимум по `w` (это вектор формы $(n,)$), и матрица Гессе в точке минимума обратима. Форма `lam` любая.
# * **Дано.** Функция `minimize(inner, start, lam)`, которая возвращает точку этого минимума без графа. Ни `start`, ни `lam` градиента не требуют.
# * **Результат.** Производная значения `outer(w, lam)` по `lam`, где `w` — точка минимума, которая сдвигается вместе с `lam`. Форма та же, что у `lam`. Производная верна при любой внутренней функции потерь. <!-- derivative -->
# * **Результат.** Производная верна и тогда, когда `lam` входит в саму внешнюю функцию. <!-- direct -->
# * **Не менять.** Тензоры `start` и `lam`. <!-- kept -->
# * **Нельзя.** Вызывать `minimize` больше одного раза. <!-- once -->
# %% answer="fix_argmin"
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g = grad(outer)(w, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return grad(outer, argnums=1)(w, lam) - pull(v)[0]


# %% given="fix_argmin"
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    g = grad(outer)(w, lam)
    v = torch.linalg.solve(hessian(inner)(start, lam), g)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return -pull(v)[0]


# %% alternative="fix_argmin"
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam).requires_grad_()
    lam = lam.clone().requires_grad_()
    by_w, direct = torch.autograd.grad(outer(w, lam), (w, lam), materialize_grads=True)
    (slope,) = torch.autograd.grad(inner(w, lam), w, create_graph=True)
    rows = torch.stack([torch.autograd.grad(s, w, retain_graph=True)[0] for s in slope])
    (indirect,) = torch.autograd.grad(slope, lam, torch.linalg.solve(rows.T, by_w))
    return direct - indirect


# %% alternative="fix_argmin"
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    mixed = torch.func.jacrev(grad(inner), argnums=1)(w, lam).reshape(w.numel(), -1)
    moved = -torch.linalg.inv(hessian(inner)(w, lam)) @ mixed
    by_w, by_lam = grad(outer, argnums=(0, 1))(w, lam)
    return by_lam + (by_w @ moved).reshape(lam.shape)


# %% alternative="fix_argmin"
def fix_argmin(inner, outer, minimize, start, lam):
    # one step of Newton at the minimum, recorded: its slope by w is 0, so one step is enough
    w, lam = minimize(inner, start, lam), lam.detach().clone().requires_grad_()
    step = w - torch.linalg.solve(hessian(inner)(w, lam).detach(), grad(inner)(w, lam))
    return torch.autograd.grad(outer(step, lam), lam)[0]


# %% check="fix_argmin"
from autograder import check

check("fix_argmin")


# %% tags=["fact"]
def ridge(w, lam):
    return ((w - 3) ** 2 + lam * w**2).sum() / 2


def nothing_but_w(w, lam):
    return (w - 1).square().sum()


def exact(inner, start, lam):
    return 3 / (1 + lam.expand(start.shape))


def published(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    v = torch.linalg.solve(hessian(inner)(start, lam), grad(outer)(w, lam))
    return -torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)[1](v)[0]


half = torch.tensor(0.5, dtype=torch.float64)
assert torch.allclose(
    published(ridge, nothing_but_w, exact, torch.zeros(2, dtype=torch.float64), half), -16 / 3 + 0 * half
)


def logistic(w, lam):
    return torch.nn.functional.softplus(-w).sum() + (lam * w**2).sum() / 2


def newton(inner, start, lam):
    w = start
    for _ in range(20):
        w = w - torch.linalg.solve(hessian(inner)(w, lam), grad(inner)(w, lam))
    return w


def mentions_lam(w, lam):
    return nothing_but_w(w, lam) + lam**2


nowhere = torch.zeros(2, dtype=torch.float64)
for inner, outer, wrong in (
    (ridge, nothing_but_w, False),
    (logistic, nothing_but_w, True),
    (ridge, mentions_lam, True),
):
    beside = [outer(newton(inner, nowhere, half + h), half + h).item() for h in (-1e-5, 1e-5)]
    off = abs(published(inner, outer, newton, nowhere, half).item() - (beside[1] - beside[0]) / 2e-5)
    assert (off > 0.01) is wrong, off


# %% [markdown] tags=["en"]
# ## What the steps would cost
#
# Back to fixed points. The solution below has 512 numbers, 4096 bytes. How do nodes and saved bytes grow with the number of recorded steps? This is the price of unrolling, whether the steps are those of a solver or of an optimizer.
# %% [markdown] tags=["ru"] of="367214d3"
# ## Во что обходятся шаги
#
# Вернёмся к неподвижным точкам. В решении ниже 512 чисел, то есть 4096 байт. Как с числом записанных шагов растёт число узлов и сохранённых байтов? Такова цена записи шагов, делает ли их решатель или оптимизатор.
# %%
from autograder.measure import graph_nodes, saved_bytes

weight = torch.full((512,), 0.5, dtype=torch.float64, requires_grad=True)


def bent_layer(z):
    return torch.tanh(weight * z + 0.5)


def recorded(times):
    return iterate(bent_layer, torch.zeros_like(weight), times)


def last_step_recorded(times):
    with torch.no_grad():
        z = iterate(bent_layer, torch.zeros_like(weight), times - 1)
    return bent_layer(z)


for solver in (recorded, last_step_recorded):
    for times in (10, 50, 200):
        with saved_bytes(known=[weight]) as saved:
            z = solver(times)
        print(f"{solver.__name__}: {times} steps, {len(graph_nodes(z))} nodes, {saved.now} bytes saved")
# %% tags=["fact"]
assert weight.numel() == 512 and weight.nbytes == 4096
cost = {}
for solver in (recorded, last_step_recorded):
    for times in (10, 50, 200):
        with saved_bytes(known=[weight]) as saved:
            z = solver(times)
        cost[solver, times] = len(graph_nodes(z)), saved.now
assert len({cost[last_step_recorded, times] for times in (10, 50, 200)}) == 1
nodes, kept = zip(*(cost[recorded, times] for times in (10, 50, 200)))
assert (nodes[2] - nodes[1]) * 40 == (nodes[1] - nodes[0]) * 150 > 0
assert kept[2] - kept[1] >= 150 * 4096 and kept[1] - kept[0] >= 40 * 4096
assert cost[last_step_recorded, 200][0] <= 6 and cost[last_step_recorded, 200][1] <= 3 * 4096
del z
# %% [markdown] tags=["en"]
# The picture follows the bytes in memory through both. The extra sections stay on the lower curve, and mend the gradient.
# %% [markdown] tags=["ru"] of="2ac27d14"
# На рисунке видно, как меняется расход памяти в обоих случаях. В дополнительных разделах мы останемся на нижней кривой, а градиент исправим.
# %% tags=["picture"]
from autograder import plot_memory

play(lambda steps: plot_memory(steps, recorded, last_step_recorded), steps=[10, 50, 200])
# %% [markdown] tags=["en", "try"]
# The first picture has 10 steps. With 50, what will become of each of the two peaks? Say it, then drag.
#
# The upper one grows with the steps: every step leaves what its rule needs. The lower one stays, because what the steps under `no_grad()` made is let go at once.
# %% [markdown] tags=["ru", "try"] of="34365ab3"
# На первом рисунке 10 шагов. Что станет с каждым из двух пиков, если шагов 50? Сначала ответьте, потом двигайте ползунок.
#
# Верхний растёт вместе с числом шагов: после каждого остаётся то, что нужно его правилу. Нижний не меняется, потому что всё вычисленное внутри `no_grad()` сразу освобождается.


# %% [markdown] tags=["en"]
# ## What to keep
#
# * A solution satisfies an equation. Differentiate the equation at the solution, not the way there.
# * One recorded step after `no_grad()` gives a part of the gradient, without an error. $(I - J^T)^{-1}$ gives the rest.
# * The formula is as good as the solution: a solver that has stopped early gives a wrong gradient.
# * A minimal value may be differentiated with its solution detached. Anything else that uses the solution may not.
# * Recording only the last steps converges to a wrong number.
#
# From the extra sections:
#
# * $u = g + J^T u$ is solved by vector-Jacobian products through a graph of one step. Memory does not depend on the number of steps.
# * Forget neither the transpose nor the minus, and take every derivative at the solution. On symmetric or quadratic examples some of these errors do not show.
# %% [markdown] tags=["ru"] of="54362b24"
# ## Что стоит запомнить
#
# * Решение удовлетворяет уравнению. Дифференцируйте уравнение в точке решения, а не путь к нему.
# * Один записанный шаг после `no_grad()` даёт лишь часть градиента, и ошибки при этом нет. Остальное даёт $(I - J^T)^{-1}$.
# * Формула не точнее самого решения: если решатель остановлен слишком рано, градиент неверен.
# * Если дифференцируется само наименьшее значение, точку минимума можно отсоединить от графа. Во всех других случаях — нельзя.
# * Если записывать только последние шаги, производная сойдётся к неверному числу.
#
# Из дополнительных разделов:
#
# * Уравнение $u = g + J^T u$ решают итерациями: в каждой одно произведение вектора на матрицу Якоби, по графу одного шага. Расход памяти от числа шагов не зависит.
# * Не забывайте ни про транспонирование, ни про минус и берите все производные в точке решения. На симметричных и квадратичных примерах часть этих ошибок не видна.
# %% [markdown] tags=["en"]
# ## Many numbers: a transposed system
#
# Now `z` is a vector, and the slope becomes the Jacobian $J = \partial f / \partial z$ at the solution. The backward pass brings a vector $g$, the gradient of the loss by $z$. What has to be handed on to the recorded step is no longer $g / (1 - 0.5)$ but
#
# $$u = (I - J^T)^{-1} g.$$
#
# In other words, $u = g + J^T u$. This is a fixed point as well. Begin with $u = g$ and repeat the right side: it converges as fast as the forward iteration does, because $J^T$ has the eigenvalues of $J$. And $J^T u$ is a vector-Jacobian product, one backward pass through one step, as in lesson 05. No matrix is needed; below there is one only to see the numbers.
# %% [markdown] tags=["ru"] of="ca2f94b2"
# ## Много чисел: транспонированная система
#
# Пусть теперь `z` — вектор. Место наклона занимает матрица Якоби $J = \partial f / \partial z$ в точке решения. Обратный проход приносит вектор $g$ — градиент функции потерь по $z$. Записанному шагу нужно передать уже не $g / (1 - 0.5)$, а
#
# $$u = (I - J^T)^{-1} g.$$
#
# Иначе говоря, $u = g + J^T u$, и это снова неподвижная точка. Начнём с $u = g$ и будем снова и снова вычислять правую часть, подставляя в неё предыдущий результат. Эти итерации сходятся с той же скоростью, что и шаги решателя, потому что у $J^T$ те же собственные значения, что у $J$. А $J^T u$ — это произведение вектора на матрицу Якоби, то есть один обратный проход через один шаг, как в уроке 05. Сама матрица не нужна: в примере ниже она записана, только чтобы были видны числа.
# %%
J = torch.tensor([[0.5, 0.4], [0.0, 0.5]], dtype=torch.float64)
b = torch.tensor([1.0, 1.0], dtype=torch.float64, requires_grad=True)
g = torch.tensor([1.0, 0.0], dtype=torch.float64)  # the loss is z[0]


def coupled(z):
    return J @ z + b


z = iterate(coupled, torch.zeros(2, dtype=torch.float64), 100)
print("100 recorded steps:", torch.autograd.grad(z, b, g)[0])
print("u = g + J.T @ u:   ", iterate(lambda u: g + J.T @ u, g, 100))
print("u = g + J @ u:     ", iterate(lambda u: g + J @ u, g, 100))
print("one step, u = g:   ", g)

leaf = z.detach().requires_grad_()
once = coupled(leaf)  # the graph of one step


def right_side(u):
    return g + torch.autograd.grad(once, leaf, u, retain_graph=True)[0]


print("without the matrix:", iterate(right_side, g, 100))
# %% tags=["fact"]
unrolled = torch.autograd.grad(iterate(coupled, torch.zeros(2, dtype=torch.float64), 100), b, g)[0]
right, wrong = (iterate(lambda u: g + matrix @ u, g, 100) for matrix in (J.T, J))
assert torch.allclose(unrolled, right) and torch.allclose(right, torch.tensor([2.0, 1.6], dtype=torch.float64))
assert torch.allclose(wrong, torch.tensor([2.0, 0.0], dtype=torch.float64))
assert torch.allclose(iterate(right_side, g, 100), right)
grown = iterate(lambda u: g + 1.1 * u, g, 100)  # no contraction, no limit, although (1 - 1.1) can be inverted
assert grown[0] > 1e4 and iterate(lambda z: 1.1 * z + 1, 0.0, 100) > 1e4
with torch.no_grad():
    for turn, begin, limit in ((coupled, torch.zeros_like(g), z), (lambda u: g + J.T @ u, g, right)):
        far, near = ((iterate(turn, begin, times) - limit).norm() for times in (30, 31))
        assert abs(near / far - 0.5) < 0.02  # both loops converge alike: by the eigenvalue 0.5
symmetric = (J + J.T) / 2
assert torch.equal(iterate(lambda u: g + symmetric.T @ u, g, 100), iterate(lambda u: g + symmetric @ u, g, 100))
# %% [markdown] tags=["en", "try"]
# Which of the five lines agree? And for which `J` would the third be right as well, so that nobody notices the missing transpose? Put one in, and run.
#
# For a symmetric one, such as the Hessian above: with 0.4 in both corners the first three lines agree. For one number there is nothing to transpose.
# %% [markdown] tags=["ru", "try"] of="df1a242e"
# Какие из пяти строк совпадают? А при каком `J` верной была бы и третья, так что пропажи транспонирования никто бы не заметил? Поставьте такую матрицу и выполните ячейку.
#
# При симметричной, такой как матрица Гессе выше: если 0.4 стоит в обоих углах, первые три строки совпадают. А для одного числа транспонировать нечего.
# %% [markdown] tags=["en"]
# The last line finds the same 1.6 by backward passes through one step, without a matrix. Without the transpose the second entry is lost: 0 for 1.6. And if an eigenvalue of $J$ has a magnitude above 1, neither of the two loops settles.
#
# Where does the loop go? Into a hook on the result (lesson 08), which replaces $g$ by $u$ before it reaches the recorded step, or into the `backward` of a Function (lesson 07). Three traps wait here:
#
# * $J^T u$ needs a graph of one step that begins at a leaf of its own. Begun at the result itself, it calls the hook again, without end. Build it once, and walk it again and again with `retain_graph=True`. In an ordinary pass nothing is recorded inside a hook or a `backward` unless `torch.enable_grad()` is on.
# * A hook that mentions the result itself keeps it in memory for ever: the result holds the hook, and the hook the result.
# * Either way the solve is not recorded. A second derivative through it is an error, or silently wrong where the step bends in its parameter.
# %% [markdown] tags=["ru"] of="862004d8"
# В последней строке те же 1.6 получены без матрицы, обратными проходами через один шаг. Без транспонирования второй элемент теряется: вместо 1.6 получается 0. А если модуль какого-нибудь собственного значения $J$ больше 1, не сойдутся ни шаги решателя, ни итерации обратного прохода.
#
# Куда поместить цикл? Либо в хук на результате (урок 08), который заменит $g$ на $u$ до того, как градиент придёт в записанный шаг, либо в `backward` своей функции (урок 07). Здесь легко ошибиться в трёх местах:
#
# * Для $J^T u$ нужен граф одного шага, и начинаться он должен с отдельного листа. Если начать его с самого результата, хук будет без конца вызывать сам себя. Постройте граф один раз и проходите по нему снова и снова с `retain_graph=True`. В обычном проходе внутри хука и `backward` ничего не записывается, если не включить `torch.enable_grad()`.
# * Хук, в котором упомянут сам результат, навсегда оставляет его в памяти: результат ссылается на хук, а хук — на результат.
# * И в хуке, и в своей функции решение системы не записывается в граф. Поэтому вторую производную так не получить: будет ошибка, а если шаг нелинеен по параметру — неверное число без всякой ошибки.
# %% tags=["fact"]
import gc
import weakref


def hooked(mentions_itself):
    z = torch.ones(3, requires_grad=True) * 2
    mentioned = z if mentions_itself else z.detach()
    z.register_hook(lambda g: g + 0 * mentioned.detach())
    return weakref.ref(z)


def leaks(mentions_itself):
    seen = hooked(mentions_itself)
    gc.collect()
    return seen() is not None


assert leaks(True) and not leaks(False)
turns = []
for detached in (True, False):
    w = torch.tensor(0.5, requires_grad=True)
    z = w * 3
    at = z.detach().requires_grad_() if detached else z
    again = w * at

    def again_in_the_hook(g):
        turns.append(detached)
        return torch.autograd.grad(again, at, g, retain_graph=True)[0] if len(turns) < 20 else g

    z.register_hook(again_in_the_hook)
    torch.autograd.grad(z, w)
assert turns.count(True) == 1 and turns.count(False) > 10
recording = []
doubled = torch.ones((), requires_grad=True) * 2
doubled.register_hook(lambda g: recording.append(torch.is_grad_enabled()))
doubled.backward()
assert recording == [False]


class Recording(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, g):
        recording.append(torch.is_grad_enabled())
        return 2 * g


tried = torch.ones((), requires_grad=True)
for create_graph in (False, True):
    torch.autograd.grad(Recording.apply(tried), tried, create_graph=create_graph)
assert recording == [False, False, True]  # with create_graph=True the pass is recorded


def second_derivatives(of_w):
    """Differentiate the solution of z = w * z / 2 + of_w(w) twice, by a hook and by recorded steps."""
    w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    found = []
    for hooked in (True, False):
        z = iterate(lambda z: w * z / 2 + of_w(w), torch.zeros_like(w), 100)
        if hooked:
            z = w * z.detach() / 2 + of_w(w)
            z.register_hook(lambda g: (g / (1 - w / 2)).detach())
        (first,) = torch.autograd.grad(z, w, create_graph=True)
        found.append(torch.autograd.grad(first, w)[0].item() if first.requires_grad else None)
    return found


assert second_derivatives(lambda w: w)[0] is None
bent_in_w, true = second_derivatives(lambda w: w**2)
assert abs(bent_in_w - true) > 0.1


# %% [markdown] tags=["en"]
# ### `fixed_point`
#
# **Write a solver whose gradient is that of the equation, not that of the steps, with the memory of a few steps.**
#
# * **Given.** `step(z, *parameters)`, which contracts: 60 steps from `start` are as good as infinitely many. `start`, a float64 tensor of any shape, which does not require grad. `iterations`, the number of steps, at least 60.
# * **Given.** `parameters`, a tuple of tensors, at least one of which requires grad. Some may be frozen, and one may stand there twice.
# * **Result.** The fixed point, of the shape of `start`, to six digits. <!-- value, digits -->
# * **Result.** Its gradient with respect to every parameter that requires grad, to six digits, also in a second pass and after another call. <!-- gradients, digits -->
# * **Leave.** `start` and the parameters, with their `.grad`, and the gradient that arrives. <!-- gradients -->
# * **Result.** Once the result is dropped and `gc.collect()` has run, no memory is held. Tensors of a single number do not count. <!-- left -->
# * **Not allowed.** More than 24 tensors of the size of `start` and 4 copies of the parameters in memory at once, neither forward nor backward: neither 60 steps nor a Jacobian fit. <!-- memory -->
# * **Not allowed.** More than `iterations` + 3 calls of `step`, the backward pass included. <!-- calls -->
# %% [markdown] tags=["ru"] of="28948f09"
# ### `fixed_point`
#
# **Напишите решатель, который даёт градиент уравнения, а не градиент шагов, и расходует память всего на несколько шагов.**
#
# * **Дано.** Сжимающий шаг — функция `step(z, *parameters)`: после 60 шагов из `start` результат уже не отличить от предела. Тензор `start` типа float64 любой формы, не требующий градиента. Число шагов `iterations`, не меньше 60.
# * **Дано.** Кортеж тензоров `parameters`, из которых хотя бы один требует градиента. Некоторые могут быть заморожены, а один тензор может встретиться дважды.
# * **Результат.** Неподвижная точка той же формы, что `start`, с точностью до шести знаков. <!-- value, digits -->
# * **Результат.** Её градиент по каждому параметру, который требует градиента, с точностью до шести знаков, в том числе при втором проходе и после другого вызова. <!-- gradients, digits -->
# * **Не менять.** Тензор `start`, параметры вместе с их `.grad` и пришедший градиент. <!-- gradients -->
# * **Результат.** После удаления результата и вызова `gc.collect()` памяти занято столько же, сколько до вызова функции. Тензоры из одного числа не в счёт. <!-- left -->
# * **Нельзя.** Расходовать в прямом или обратном проходе больше памяти, чем занимают 24 тензора размера `start` и 4 копии параметров: ни 60 шагов, ни матрица Якоби туда не поместятся. <!-- memory -->
# * **Нельзя.** Вызывать `step` больше `iterations` + 3 раз, считая и обратный проход. <!-- calls -->
# %% answer="fixed_point"
def fixed_point(step, start, parameters, iterations):
    """The fixed point of `step`, with the gradient of the equation z = step(z, *parameters)."""
    ### BEGIN SOLUTION
    with torch.no_grad():
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
    result = step(z, *parameters)
    at = z.detach().clone().requires_grad_()
    again = step(at, *[p.detach() for p in parameters])

    def solve(g):
        u = g
        for _ in range(iterations):
            u = g + torch.autograd.grad(again, at, u, retain_graph=True)[0]
        return u

    result.register_hook(solve)
    return result
    ### END SOLUTION


# %% alternative="fixed_point"
class Solved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, step, start, iterations, *parameters):
        z = start
        for _ in range(iterations):
            z = step(z, *parameters)
        ctx.step, ctx.iterations = step, iterations
        ctx.save_for_backward(z, *parameters)
        return z.clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        z, *parameters = ctx.saved_tensors
        needed = ctx.needs_input_grad[3:]
        with torch.enable_grad():
            z = z.detach().requires_grad_()
            copies = [p.detach().requires_grad_(need) for p, need in zip(parameters, needed)]
            y = ctx.step(z, *copies)
        u = g
        for _ in range(ctx.iterations):
            u = g + torch.autograd.grad(y, z, u, retain_graph=True)[0]
        found = iter(torch.autograd.grad(y, [p for p in copies if p.requires_grad], u))
        return None, None, None, *[next(found) if need else None for need in needed]


def fixed_point(step, start, parameters, iterations):
    return Solved.apply(step, start, iterations, *parameters)


# %% alternative="fixed_point"
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = iterate(lambda z: step(z, *parameters), start, iterations)
    _, pull = torch.func.vjp(lambda z: step(z, *[p.detach() for p in parameters]), z)

    def solve(g):
        total, term = g.clone(), g
        for _ in range(iterations):
            (term,) = pull(term)
            total += term
        return total

    y = step(z, *parameters)
    y.register_hook(solve)
    return y


# %% alternative="fixed_point"
def fixed_point(step, start, parameters, iterations):
    with torch.no_grad():
        z = start.clone()
        for _ in range(iterations):
            z.copy_(step(z, *parameters))
    inner = z.clone().requires_grad_()
    again = step(inner, *[p.detach() for p in parameters])

    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(ctx, y):
            return y.clone()

        @staticmethod
        def backward(ctx, g):
            return iterate(lambda u: g + torch.autograd.grad(again, inner, u, retain_graph=True)[0], g, iterations)

    return Solve.apply(step(z, *parameters))


# %% check="fixed_point"
from autograder import check

check("fixed_point")


# %% [markdown] tags=["en"]
# ## How wrong is one step?
#
# Many equilibrium models are trained with one recorded step all the same. Its gradient is too small, they say, but it points roughly the right way. If the step makes every difference between two `z` shorter, this is so: with $g = u - J^T u$ and $\lVert J \rVert < 1$ the product $g \cdot u = \lVert u \rVert^2 - u \cdot J^T u$ is positive.
#
# But an iteration can settle without that. What counts in the end are the eigenvalues; before the end, differences may grow for a while.
#
# ### `mislead`
#
# **Find an $A$ and a $g$ for which the iteration settles and the one-step gradient points away from the true one.**
#
# The step is $z \mapsto Az + b$, the loss $g \cdot z$. With respect to $b$ the one-step gradient is $g$ itself, and the true one is $(I - A^T)^{-1} g$. Find an $A$ and a $g$ for which the iteration settles and the angle between the two is obtuse.
#
# * **Given.** `n`, at least 2.
# * **Result.** A pair: `a` of shape $(n, n)$ and `g` of shape $(n,)$, float64 and finite, `g` not all zeros. <!-- usable -->
# * **Result.** No eigenvalue of `a` has a magnitude above 0.9. <!-- settles -->
# * **Result.** The cosine of the angle between the two gradients is $-0.05$ at most. <!-- misleads -->
# %% [markdown] tags=["ru"] of="f5f4af40"
# ## Насколько ошибается один шаг?
#
# Многие модели с неподвижной точкой всё равно обучают с одним записанным шагом. «Градиент маловат, — говорят их авторы, — зато направлен примерно куда надо». Если шаг укорачивает любую разность двух `z`, это верно: так как $g = u - J^T u$ и $\lVert J \rVert < 1$, скалярное произведение $g \cdot u = \lVert u \rVert^2 - u \cdot J^T u$ положительно.
#
# Но итерации могут сходиться и без этого. В конечном счёте всё решают собственные значения, а поначалу разности могут и расти.
#
# ### `mislead`
#
# **Найдите $A$ и $g$, для которых итерации сходятся, а градиент одного шага направлен прочь от настоящего.**
#
# Шаг — $z \mapsto Az + b$, функция потерь — $g \cdot z$. Градиент одного шага по $b$ — это сам вектор $g$, а настоящий градиент — $(I - A^T)^{-1} g$. Найдите такие $A$ и $g$, при которых итерации сходятся, а угол между этими двумя векторами тупой.
#
# * **Дано.** Число `n`, не меньше 2.
# * **Результат.** Пара: `a` формы $(n, n)$ и `g` формы $(n,)$, float64, числа конечны, в `g` не все нули. <!-- usable -->
# * **Результат.** Модуль любого собственного значения `a` не больше 0.9. <!-- settles -->
# * **Результат.** Косинус угла между двумя градиентами не больше $-0.05$. <!-- misleads -->
# %% answer="mislead"
def mislead(n):
    """A matrix and a vector for which one step points away from the true gradient."""
    ### BEGIN SOLUTION
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1] = -3
    g = torch.zeros(n, dtype=torch.float64)
    g[:2] = 1
    return a, g
    ### END SOLUTION


# %% alternative="mislead"
def mislead(n):
    a = torch.eye(n, dtype=torch.float64) / 2
    a[n - 1, 0] = 5
    g = torch.zeros(n, dtype=torch.float64)
    g[0], g[n - 1] = -1, 1
    return a, g


# %% alternative="mislead"
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[0, 1:] = -10
    return a, torch.ones(n, dtype=torch.float64)


# %% alternative="mislead"
def mislead(n):
    a = torch.zeros(n, n, dtype=torch.float64)
    a[:2, :2] = torch.tensor([[0.1, -8.0], [0.01, 0.1]])
    return a, torch.tensor([1.0, 1.0] + [0.0] * (n - 2), dtype=torch.float64)


# %% check="mislead"
from autograder import check

check("mislead")
# %% tags=["fact"]
torch.manual_seed(0)
for _ in range(50):
    a = torch.randn(3, 3, dtype=torch.float64)
    a *= 0.99 / torch.linalg.matrix_norm(a, 2)
    g = torch.randn(3, dtype=torch.float64)
    assert g @ torch.linalg.solve(torch.eye(3, dtype=torch.float64) - a.T, g) > 0
a = torch.tensor([[0.0, -3.0], [0.0, 0.0]])
g = torch.tensor([1.0, 1.0])
assert (a @ g).norm() > g.norm() and not (a @ a).any()  # a difference grows, and is gone after two steps
assert g @ torch.linalg.solve(torch.eye(2) - a.T, g) < 0
# %% [markdown] tags=["en"]
# ## Where you stand
# %% [markdown] tags=["ru"] of="76fccca0"
# ## Что сделано
# %%
from autograder import progress

progress()
# %% [markdown] tags=["en"]
# Save the notebook (Ctrl+S) and run the last cell: `ready()` runs the saved file from top to bottom in a fresh process and lists your points. In a class, it also names the file to hand in; if you study alone, it shows whether your answers hold without this session.
# %% [markdown] tags=["ru"] of="53419bae"
# Сохраните тетрадь (Ctrl+S) и запустите последнюю ячейку: `ready()` выполнит сохранённый файл сверху вниз в новом процессе и покажет баллы. Если вы учитесь в группе, там же будет назван файл для сдачи. Если занимаетесь самостоятельно, вы узнаете, проходят ли ответы проверку с чистого листа, без переменных, оставшихся от ваших опытов.
# %%
from autograder import ready

ready()
