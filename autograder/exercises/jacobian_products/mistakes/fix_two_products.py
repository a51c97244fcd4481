# %%
import torch
from torch.autograd import functional


def mends_the_shape_only(f, inp, v):
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first = inp.grad
    out.backward(v)
    return first, inp.grad


def other_order(f, inp, v):
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(out), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return second, first


def _by_backward(f, inp, v):
    """Return the products of the Jacobian with a vector of ones and with `v`.

    The second product is also left in `inp.grad`.
    """
    out = f(inp)
    inp.grad = None
    out.backward(torch.ones_like(out), retain_graph=True)
    first, inp.grad = inp.grad, None
    out.backward(v)
    return first, inp.grad

# %% mistake="ones_like_the_input" theme="axes"
# The first `v` is still made like `inp`. It weighs the outputs, so it needs the shape of `out`.
# Первый вектор `v` по-прежнему создаётся по образцу `inp`. Он взвешивает выходы, поэтому форма нужна как у `out`.
def fix_two_products(f, inp, v):
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(inp), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return first, second

# %% mistake="adds_up" theme="accumulation"
# Nothing was cleared between the two calls: the second result holds the first one as well.
# Между двумя вызовами ничего не обнулено: во второй результат вошёл и первый.
def fix_two_products(f, inp, v):
    inp.grad = None
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first = inp.grad.clone()
    out.backward(v)
    return first, inp.grad

# %% mistake="keeps_the_old" theme="accumulation"
# The gradient that was there before was added to the first result.
# В первый результат вошёл прежний градиент.
def fix_two_products(f, inp, v):
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    assert inp.grad is not None
    first = inp.grad.clone()
    inp.grad.zero_()
    out.backward(v)
    return first, inp.grad

# %% mistake="mends_the_shape_only" theme="in_place"
# The shape of `v` is mended, but `first` is `inp.grad` itself, not a copy: the next pass changed it as well.
# Форма `v` исправлена, но `first` — это сам `inp.grad`, без копии: следующий проход изменил и его.
def fix_two_products(f, inp, v):
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first = inp.grad
    out.backward(v)
    return first, inp.grad

# %% mistake="two_names_of_one" theme="in_place"
# `first` is `inp.grad` itself, not a copy: zeroing it in place and the next pass changed it as well.
# Имя `first` — это сам `inp.grad`, без копии: обнуление на месте и следующий проход изменили и его.
def fix_two_products(f, inp, v):
    inp.grad = None
    out = f(inp)
    out.backward(torch.ones_like(out), retain_graph=True)
    first = inp.grad
    first.zero_()
    out.backward(v)
    return first, inp.grad

# %% mistake="v_twice" theme="missing"
# The first product was taken with `v`. It should be the one with ones.
# Первое произведение взято с `v`, а должно быть с единицами.
def fix_two_products(f, inp, v):
    (product,) = torch.autograd.grad(f(inp), inp, v)
    return product, product.clone()

# %% mistake="as_it_was" theme="in_place"
# The change left both mistakes as they were: the first `v` is made like `inp`, and `first` is `inp.grad` itself, to
#     which the second call adds.
# После правки обе ошибки остались: первый `v` создаётся по образцу `inp`, а `first` — это сам `inp.grad`, к
#     которому прибавляется результат второго вызова.
def fix_two_products(f, inp, v):
    out = f(inp)
    out.backward(torch.ones_like(inp), retain_graph=True)
    first = inp.grad
    out.backward(v)
    return first, inp.grad

# %% mistake="only_zeroes_in_place" theme="in_place"
# `inp.grad` was zeroed in place between the calls: `first` is the same tensor and became zero too. And the first
#     `v` is still made like `inp`.
# Градиент `inp.grad` обнулён на месте между вызовами: `first` — тот же тензор и тоже стал нулевым. К тому же первый
#     `v` по-прежнему создаётся по образцу `inp`.
def fix_two_products(f, inp, v):
    out = f(inp)
    out.backward(torch.ones_like(inp), retain_graph=True)
    first = inp.grad
    first.zero_()
    out.backward(v)
    return first, inp.grad

# %% mistake="other_order" theme="missing"
# The two results were returned in the wrong order: the product with ones has to come first.
# Результаты возвращены не в том порядке: первым должно стоять произведение с единицами.
def fix_two_products(f, inp, v):
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(out), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return second, first

# %% mistake="pair_of_tuples" theme="missing"
# The tuples of `torch.autograd.grad` were returned, not the tensors in them.
# Возвращены кортежи из `torch.autograd.grad`, а не тензоры в них.
def fix_two_products(f, inp, v):
    out = f(inp)
    first = torch.autograd.grad(out, inp, torch.ones_like(out), retain_graph=True)
    return first, torch.autograd.grad(out, inp, v)

# %% mistake="frees_the_graph" theme="graph_life"
# The first call frees what the second one needs of the graph.
# После первого вызова сохранённое в графе освобождено, а оно нужно второму.
def fix_two_products(f, inp, v):
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones_like(out))
    (second,) = torch.autograd.grad(out, inp, v)
    return first, second

# %% mistake="ones_twice" theme="missing"
# Both products are those with ones: `v` has no effect.
# Оба произведения взяты с единицами: вектор `v` ни на что не влияет.
def fix_two_products(f, inp, v):
    (product,) = torch.autograd.grad(f(inp).sum(), inp)
    return product, product.clone()

# %% mistake="spoils_grad" theme="accumulation"
# `inp.grad` now holds the second product: what was there before is lost.
# В `inp.grad` теперь лежит второе произведение: прежнее содержимое потеряно.
def fix_two_products(f, inp, v):
    return _by_backward(f, inp, v)

# %% mistake="empties_grad" theme="accumulation"
# `inp.grad` was emptied at the end: what was there before is lost.
# В конце поле `inp.grad` очищено: прежнее содержимое потеряно.
def fix_two_products(f, inp, v):
    products = _by_backward(f, inp, v)
    inp.grad = None
    return products

# %% mistake="old_by_name" theme="in_place"
# The old gradient was kept as a second name of `inp.grad`, not as a copy: zeroing in place changed it too.
# Прежний градиент сохранён как второе имя `inp.grad`, без копии: обнуление на месте изменило и его.
def fix_two_products(f, inp, v):
    old = inp.grad
    first, second = _by_backward(f, inp, v)
    inp.grad = old if old is None else second
    return first, second

# %% mistake="zeros_for_none" theme="accumulation"
# Zeros were put into `inp.grad` where `None` had been.
# В `inp.grad` записаны нули, хотя раньше там был `None`.
def fix_two_products(f, inp, v):
    old = torch.zeros_like(inp) if inp.grad is None else inp.grad
    products = _by_backward(f, inp, v)
    inp.grad = old.detach()
    return products

# %% mistake="through_float32" theme="precision"
# The numbers have lost half of their digits or more: they went through a float32 tensor, such as `torch.zeros(...)`
#     makes, or were rounded.
# Потеряна половина знаков или больше: числа прошли через тензор float32, какой создаёт `torch.zeros(...)`, или
#     округлены.
def fix_two_products(f, inp, v):
    first, second = other_order(f, inp, v)
    return second.float().to(inp.dtype), first.float().to(inp.dtype)

# %% mistake="jacobian_as_a_matrix" theme="axes"
# The Jacobian was taken for a matrix. It has all dimensions of the output in front, and the product sums over all
#     of them.
# Матрица Якоби принята за двумерную. Впереди у неё все измерения выхода, и в произведении сумма берётся по ним
#     всем.
def fix_two_products(f, inp, v):
    matrix = functional.jacobian(f, inp)
    return matrix.sum(0), v @ matrix

# %% mistake="ones_of_the_length" theme="axes"
# The ones have the length of `out`. They need its whole shape, as `torch.ones_like(out)` has it.
# У вектора из единиц длина `out`. А нужна вся его форма, как у `torch.ones_like(out)`.
def fix_two_products(f, inp, v):
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones(len(out), dtype=out.dtype), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return first, second

# %% mistake="leaves_zeros" theme="accumulation"
# `inp.grad` was left full of zeros. It has to hold what it held before.
# В `inp.grad` остались нули. Там должно лежать то же, что и раньше.
def fix_two_products(f, inp, v):
    products = _by_backward(f, inp, v)
    inp.grad = torch.zeros_like(inp)
    return products

# %% mistake="forgets_none" theme="accumulation"
# `inp.grad` is put back only if something was in it. Where `None` had been, the second product stays.
# Значение `inp.grad` возвращается на место, только если там что-то было. Где был `None`, остаётся второе
#     произведение.
def fix_two_products(f, inp, v):
    old = inp.grad
    products = _by_backward(f, inp, v)
    inp.grad = old if old is not None else inp.grad
    return products

# %% mistake="ones_on_the_cpu" theme="device"
# A tensor was made on the CPU, although `inp` lies on a GPU, and torch refuses to mix the two. `torch.ones_like`
#     of the output follows it.
# Какой-то тензор создан на CPU, хотя `inp` лежит на GPU, и torch отказывается их смешивать. Функция
#     `torch.ones_like` от выхода создаёт единицы на его устройстве.
def fix_two_products(f, inp, v):
    out = f(inp)
    (first,) = torch.autograd.grad(out, inp, torch.ones(out.shape, dtype=out.dtype), retain_graph=True)
    (second,) = torch.autograd.grad(out, inp, v)
    return first, second
