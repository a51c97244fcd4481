# %%
import torch
from torch.func import grad, hessian


def _through(
    inner, outer, minimize, start, lam, *, hessian_at=None, mixed_at=None, slope_at=None, sign=-1, solve=True, direct=1
):
    """Return the derivative. Each argument makes one mistake; a point of None is the minimum."""
    w = minimize(inner, start, lam)
    g = grad(outer)(w if slope_at is None else slope_at, lam)
    h = hessian(inner)(w if hessian_at is None else hessian_at, lam)
    v = torch.linalg.solve(h, g) if solve else g
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w if mixed_at is None else mixed_at, lam), lam)
    return direct * grad(outer, argnums=1)(w, lam) + sign * pull(v)[0]

# %% mistake="as_published" theme="derivative"
# Both errors are still there: the Hessian is taken at `start`, and the direct term is missing.
# Обе ошибки на месте: матрица Гессе взята в точке `start`, а прямого слагаемого нет.
def fix_argmin(inner, outer, minimize, start, lam):
    return _through(inner, outer, minimize, start, lam, hessian_at=start, direct=0)

# %% mistake="hessian_at_the_start" theme="derivative"
# The direct term is there, but the Hessian is still taken at `start`. That is right for a quadratic loss only.
# Прямое слагаемое появилось, но матрица Гессе по-прежнему взята в точке `start`. Так можно только при квадратичной
#     функции.
def fix_argmin(inner, outer, minimize, start, lam):
    return _through(inner, outer, minimize, start, lam, hessian_at=start)

# %% mistake="without_the_direct_term" theme="missing"
# The way through the minimum is right. The direct term is missing: `lam` may stand in the outer loss itself.
# Путь через минимум учтён верно. Но нет прямого слагаемого: `lam` может входить и в саму внешнюю функцию.
def fix_argmin(inner, outer, minimize, start, lam):
    return _through(inner, outer, minimize, start, lam, direct=0)

# %% mistake="minus_forgotten" theme="derivative"
# What comes through the minimum has the wrong sign: the minimum moves against the slope by `lam`.
# У вклада, который идёт через минимум, неверный знак: минимум сдвигается против наклона по `lam`.
def fix_argmin(inner, outer, minimize, start, lam):
    return _through(inner, outer, minimize, start, lam, sign=1)

# %% mistake="hessian_forgotten" theme="derivative"
# Nothing was solved: the gradient by `w` went on without being divided by the Hessian.
# Система не решена: градиент по `w` передан дальше без деления на матрицу Гессе.
def fix_argmin(inner, outer, minimize, start, lam):
    return _through(inner, outer, minimize, start, lam, solve=False)

# %% mistake="solution_detached" theme="recording"
# Only the direct term is there: the minimum was taken as a constant. That is exact for the minimal value alone.
# Учтено только прямое слагаемое: минимум принят за константу. Так можно вычислять лишь производную самого наименьшего значения.
def fix_argmin(inner, outer, minimize, start, lam):
    return grad(outer, argnums=1)(minimize(inner, start, lam), lam)

# %% mistake="mixed_at_the_start" theme="derivative"
# The slope by `w` was differentiated by `lam` at `start`. It belongs to the minimum, like the Hessian.
# Наклон по `w` продифференцирован по `lam` в точке `start`. А нужна точка минимума, как и для матрицы Гессе.
def fix_argmin(inner, outer, minimize, start, lam):
    return _through(inner, outer, minimize, start, lam, mixed_at=start)

# %% mistake="everything_at_the_start" theme="derivative"
# All derivatives were taken at `start`: the minimum does not occur in the result.
# Все производные взяты в точке `start`: минимум в результат не входит.
def fix_argmin(inner, outer, minimize, start, lam):
    return _through(inner, outer, lambda inner, start, lam: start, start, lam)

# %% mistake="outer_at_the_start" theme="derivative"
# The gradient of the outer loss by `w` was taken at `start`. It belongs to the minimum.
# Градиент внешней функции по `w` взят в точке `start`, а нужен в точке минимума.
def fix_argmin(inner, outer, minimize, start, lam):
    return _through(inner, outer, minimize, start, lam, slope_at=start)

# %% mistake="direct_term_subtracted" theme="derivative"
# The direct term is there, with the wrong sign: the minus belongs to the way through the minimum alone.
# Прямое слагаемое есть, но с неверным знаком: минус относится только к пути через минимум.
def fix_argmin(inner, outer, minimize, start, lam):
    return _through(inner, outer, minimize, start, lam, direct=-1)

# %% mistake="hessian_of_the_outer_loss" theme="derivative"
# The Hessian is that of the outer loss. The equation that moves the minimum is made of the inner one.
# Матрица Гессе взята у внешней функции. Но сдвиг минимума следует из уравнения для внутренней.
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    h = hessian(outer)(w, lam) + 1e-9 * torch.eye(len(w), dtype=w.dtype)
    v = torch.linalg.solve(h, grad(outer)(w, lam))
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return grad(outer, argnums=1)(w, lam) - pull(v)[0]

# %% mistake="multiplied_by_the_hessian" theme="derivative"
# The vector was multiplied by the Hessian. The system has to be solved.
# Вектор умножен на матрицу Гессе, а нужно решить с ней систему.
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    v = hessian(inner)(w, lam) @ grad(outer)(w, lam)
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return grad(outer, argnums=1)(w, lam) - pull(v)[0]

# %% mistake="finite_differences" theme="cost"
# The minimum was sought again beside `lam`: finite differences, which call `minimize` more than once.
# Минимум найден ещё раз, для соседнего `lam`: это конечные разности, и `minimize` вызвана больше одного раза.
def fix_argmin(inner, outer, minimize, start, lam):
    minimize(inner, start, lam + 1e-5)
    return _through(inner, outer, minimize, start, lam)

# %% mistake="flag_on_lam" theme="recording"
# The derivative is right, but `lam` requires grad now: the flag was set on the caller's tensor.
# Производная верна, но `lam` теперь требует градиента: флаг включён у тензора, который вам передали.
def fix_argmin(inner, outer, minimize, start, lam):
    found = _through(inner, outer, minimize, start, lam)
    lam.requires_grad_()
    return found

# %% mistake="changes_the_start" theme="in_place"
# The derivative is right, but `start` was changed in place.
# Производная верна, но `start` изменён на месте.
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    start.copy_(w)
    return _through(inner, outer, lambda *_: w, start, lam)

# %% mistake="direct_term_at_the_start" theme="derivative"
# The direct term was taken at `start`. It belongs to the minimum, like the others.
# Прямое слагаемое взято в точке `start`, а нужно в точке минимума, как и остальные производные.
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    return _through(inner, outer, lambda *_: w, start, lam, direct=0) + grad(outer, argnums=1)(start, lam)

# %% mistake="direct_term_of_the_inner_loss" theme="derivative"
# The direct term is that of the inner loss. It is the outer loss that is differentiated.
# Прямое слагаемое взято у внутренней функции потерь. Но дифференцируется внешняя.
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    return _through(inner, outer, lambda *_: w, start, lam, direct=0) + grad(inner, argnums=1)(w, lam)

# %% mistake="diagonal_alone" theme="axes"
# Only the diagonal of the Hessian was used. The weights depend on each other, so the system has to be solved.
# От матрицы Гессе взята одна диагональ. Но веса зависят друг от друга, и нужно решать систему.
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    v = grad(outer)(w, lam) / hessian(inner)(w, lam).diagonal()
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return grad(outer, argnums=1)(w, lam) - pull(v)[0]

# %% mistake="lam_is_a_vector" theme="axes"
# The product works for a `lam` of at most one dimension. With more, `@` joins the wrong axes; a vector-Jacobian product
#     suits any shape.
# Произведение рассчитано на `lam`, у которого не больше одного измерения. Если их больше, `@` берёт не те оси. Произведение
#     вектора на матрицу Якоби подходит для любой формы.
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), grad(outer)(w, lam))
    return grad(outer, argnums=1)(w, lam) - v @ torch.func.jacrev(grad(inner), argnums=1)(w, lam)

# %% mistake="lam_is_a_vector_on_the_left" like="lam_is_a_vector"
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), grad(outer)(w, lam))
    return grad(outer, argnums=1)(w, lam) - torch.func.jacrev(grad(inner), argnums=1)(w, lam).T @ v

# %% mistake="slope_of_both_losses" theme="derivative"
# The slope of the outer loss was differentiated by `lam` together with that of the inner one. The minimum is one of the inner
#     loss alone, and the direct term is the derivative of the outer loss itself.
# Вместе с наклоном внутренней функции по `lam` продифференцирован и наклон внешней. Но минимум ищут только у внутренней, а
#     прямое слагаемое — это производная самой внешней функции.
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), grad(outer)(w, lam))
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam) + grad(outer)(w, lam), lam)
    return -pull(v)[0]

# %% mistake="slope_of_both_losses_and_direct_term" like="slope_of_both_losses"
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    v = torch.linalg.solve(hessian(inner)(w, lam), grad(outer)(w, lam))
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam) + grad(outer)(w, lam), lam)
    return grad(outer, argnums=1)(w, lam) - pull(v)[0]

# %% mistake="hessian_of_both_losses" theme="derivative"
# The Hessian is that of the sum of both losses. The equation that moves the minimum is made of the inner one.
# Матрица Гессе взята у суммы обеих функций. Но минимум сдвигается по уравнению для внутренней.
def fix_argmin(inner, outer, minimize, start, lam):
    w = minimize(inner, start, lam)
    h = hessian(inner)(w, lam) + hessian(outer)(w, lam)
    v = torch.linalg.solve(h, grad(outer)(w, lam))
    _, pull = torch.func.vjp(lambda lam: grad(inner)(w, lam), lam)
    return grad(outer, argnums=1)(w, lam) - pull(v)[0]
