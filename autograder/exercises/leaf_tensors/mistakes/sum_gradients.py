# %%
import torch


def _add_gradients(total, losses, w):
    for loss in losses:
        total += torch.autograd.grad(loss(), w)[0]
    return total


def fills_with_zeros(losses, w):
    return _add_gradients(torch.zeros_like(w, requires_grad=False), losses, w)

# %% mistake="starts_from_empty" theme="accumulation"
# The sum still starts from memory that nothing has filled. `empty_like` writes nothing either.
# Сумма по-прежнему начинается с незаполненной памяти. Функция `empty_like` тоже ничего туда не записывает.
def sum_gradients(losses, w):
    return _add_gradients(torch.empty_like(w, requires_grad=False), losses, w)

# %% mistake="asks_for_room" theme="accumulation"
# The sum still starts from memory that nothing has filled, and is float32 whatever `w` is. `torch.empty` and the
#     old constructors ask for room and write nothing.
# Сумма по-прежнему начинается с незаполненной памяти, а её dtype — float32, каким бы ни был `w`. Функция
#     `torch.empty` и старые конструкторы выделяют память и ничего туда не записывают.
def sum_gradients(losses, w):
    return _add_gradients(torch.empty(w.shape), losses, w)

# %% mistake="replaces_nan" theme="accumulation"
# NaN was replaced before the sum. Fresh memory holds NaN only when torch is asked to write it there; otherwise it
#     may hold any numbers.
# Перед суммированием заменены значения NaN. Они лежат там, только если попросить об этом torch; обычно в новой
#     памяти могут быть любые числа.
def sum_gradients(losses, w):
    return _add_gradients(torch.empty_like(w, requires_grad=False).nan_to_num(), losses, w)

# %% mistake="multiplies_by_zero" theme="precision"
# Unfilled memory is multiplied by 0. It may hold NaN, and NaN times 0 is NaN.
# Незаполненная память умножается на 0. В ней может лежать NaN, а NaN, умноженное на 0, — это NaN.
def sum_gradients(losses, w):
    return _add_gradients(torch.empty_like(w, requires_grad=False) * 0, losses, w)

# %% mistake="loses_the_dtype" theme="precision"
# The sum is float32, whatever `w` is. So it is when it starts from `torch.zeros(w.shape)`.
# Сумма имеет тип float32, каким бы ни был `w`. Так бывает, когда она начинается с `torch.zeros(w.shape)`.
def sum_gradients(losses, w):
    return _add_gradients(torch.zeros(w.shape, dtype=torch.float32), losses, w)

# %% mistake="takes_the_shape_for_data" theme="axes"
# The shape became the data. `torch.tensor` makes a tensor of the numbers it gets; a size goes to `torch.zeros`.
# Форма передана как данные. Функция `torch.tensor` создаёт тензор из переданных чисел; размер передают в
#     `torch.zeros`.
def sum_gradients(losses, w):
    return _add_gradients(torch.tensor(w.shape), losses, w)

# %% mistake="tracks_the_sum" theme="recording"
# The sum is a leaf that requires grad. It cannot be added to in place, and it need not be tracked.
# Сумма — лист, который требует градиента. К такому нельзя прибавлять на месте, да и отслеживать его незачем.
def sum_gradients(losses, w):
    return _add_gradients(torch.zeros_like(w, requires_grad=True), losses, w)

# %% mistake="starts_from_a_result" theme="recording"
# The sum starts from a result of `w`, such as `w * 0`, and carries a history along.
# Сумма начинается с результата операции над `w`, например `w * 0`, и поэтому у неё есть история.
def sum_gradients(losses, w):
    return _add_gradients(w * 0, losses, w)

# %% mistake="records_the_gradients" theme="graph_life"
# The gradients carry a graph of their own, as with `create_graph=True`. The sum therefore requires grad.
# У самих градиентов есть граф, как при `create_graph=True`. Поэтому и сумма требует градиента.
def sum_gradients(losses, w):
    return sum((torch.autograd.grad(loss(), w, create_graph=True)[0] for loss in losses), torch.zeros(()))

# %% mistake="takes_the_mean" theme="scaling"
# The mean of the gradients was returned. Asked for is their sum.
# Возвращено среднее градиентов, а нужна их сумма.
def sum_gradients(losses, w):
    return _add_gradients(torch.zeros_like(w, requires_grad=False), losses, w) / len(losses)

# %% mistake="keeps_the_last" theme="accumulation"
# Only the last gradient comes back: each overwrites the one before.
# Возвращается только последний градиент: каждый следующий записан поверх предыдущего.
def sum_gradients(losses, w):
    return torch.autograd.grad(losses[-1](), w)[0]

# %% mistake="stops_at_the_first" theme="missing"
# Only the gradient of the first loss comes back.
# Возвращается градиент только первой функции потерь.
def sum_gradients(losses, w):
    return torch.autograd.grad(losses[0](), w)[0]

# %% mistake="drops_the_old" theme="accumulation"
# `w.grad` is None at the end. The caller still needs what was there.
# В конце `w.grad` равен None, а вызывающему коду ещё нужно то, что там лежало.
def sum_gradients(losses, w):
    w.grad = None
    return _add_gradients(torch.zeros_like(w, requires_grad=False), losses, w)

# %% mistake="freezes_the_weight" theme="state"
# `w` was asked not to require grad any more. It is the sum that should not; `w` is still to be trained.
# У тензора `w` выключен флаг. Не требовать градиента должна сумма, а `w` ещё будут обучать.
def sum_gradients(losses, w):
    total = _add_gradients(torch.zeros_like(w, requires_grad=False), losses, w)
    w.requires_grad_(False)
    return total

# %% mistake="adds_to_the_old" theme="accumulation"
# The sum was collected in `w.grad`, on top of what was there.
# Сумма собрана в `w.grad`, поверх того, что там уже лежало.
def sum_gradients(losses, w):
    for loss in losses:
        loss().backward()
    return w.grad

# %% mistake="borrows_the_gradient" theme="accumulation"
# `w.grad` was cleared and used for the sum. The caller still needs what was there.
# Поле `w.grad` обнулено и использовано для суммы, а вызывающему коду ещё нужно то, что там лежало.
def sum_gradients(losses, w):
    w.grad = None
    for loss in losses:
        loss().backward()
    return w.grad

# %% mistake="adds_to_the_weight" theme="in_place"
# The sum starts as another name for `w`: it is added to the weight itself.
# Сумма с самого начала — второе имя тензора `w`: градиенты прибавляются к самому весу.
def sum_gradients(losses, w):
    return _add_gradients(w.detach().zero_(), losses, w)

# %% mistake="adds_to_the_first" theme="in_place"
# The others are added in place to the first gradient. That tensor may be an expanded one, as for `w.sum()`: all of
#     its entries are one number in memory, and torch refuses to write there.
# Остальные градиенты прибавляются на месте к первому. Это может быть расширенный тензор, как для `w.sum()`: все его
#     элементы — одно число в памяти, и записывать туда torch не позволяет.
def sum_gradients(losses, w):
    return _add_gradients(torch.autograd.grad(losses[0](), w)[0], losses[1:], w)

# %% mistake="starts_from_a_leaf" theme="recording"
# The sum starts from a tensor that requires grad, such as `zeros_like(w, requires_grad=True)`, and therefore
#     requires grad itself.
# Сумма начинается с тензора, который требует градиента, например `zeros_like(w, requires_grad=True)`, и поэтому
#     сама его требует.
def sum_gradients(losses, w):
    total = torch.zeros_like(w, requires_grad=True)
    for loss in losses:
        total = total + torch.autograd.grad(loss(), w)[0]
    return total

# %% mistake="adds_the_tuple" theme="missing"
# `torch.autograd.grad` returns a tuple, even for one input. The gradient is its first entry.
# Функция `torch.autograd.grad` возвращает кортеж, даже если вход один. Сам градиент — его первый элемент.
def sum_gradients(losses, w):
    total = torch.zeros_like(w, requires_grad=False)
    for loss in losses:
        total += torch.autograd.grad(loss(), w)
    return total

# %% mistake="records_nothing" theme="recording"
# What is differentiated has no graph, so there is no gradient to ask for. So it is when the losses are computed
#     under `no_grad()`.
# У того, что дифференцируется, нет графа, и градиент взять неоткуда. Так бывает, когда функции потерь вычисляются
#     внутри `no_grad()`.
def sum_gradients(losses, w):
    with torch.no_grad():
        return _add_gradients(torch.zeros_like(w), losses, w)

# %% mistake="counts_the_first_twice" theme="accumulation"
# The first gradient is counted twice: the sum starts from it, and the loop begins with it again.
# Первый градиент учтён дважды: с него начинается сумма, и с него же начинается цикл.
def sum_gradients(losses, w):
    return _add_gradients(torch.autograd.grad(losses[0](), w)[0].clone(), losses, w)

# %% mistake="fills_the_old_constructor" theme="axes"
# For a `w` of shape `()` the old constructor gets no size at all, and makes an empty tensor. `zeros_like(w)` has
#     the right shape always.
# Если форма `w` — `()`, старому конструктору не передано ни одного размера, и он создаёт пустой тензор. У
#     `zeros_like(w)` форма верна всегда.
def sum_gradients(losses, w):
    return _add_gradients(torch.Tensor(*w.shape).zero_().to(w.dtype), losses, w)

# %% mistake="unpacks_the_shape" theme="axes"
# The sizes are unpacked: `torch.zeros(*w.shape)` gets none at all when the shape is `()`. `torch.zeros(w.shape)`
#     takes any shape.
# Размеры переданы по отдельности: если форма — `()`, вызов `torch.zeros(*w.shape)` не получает ни одного. Вызов
#     `torch.zeros(w.shape)` принимает любую форму.
def sum_gradients(losses, w):
    return _add_gradients(torch.zeros(*w.shape, dtype=w.dtype), losses, w)

# %% mistake="starts_from_one_dimension" theme="axes"
# For a `w` of shape `()` the sum has the shape `(1,)`: it starts from a tensor with one dimension.
# Если форма `w` — `()`, у суммы форма `(1,)`: она начинается с тензора, у которого одно измерение.
def sum_gradients(losses, w):
    return torch.zeros(1, dtype=w.dtype) + fills_with_zeros(losses, w)

# %% mistake="starts_from_the_weight" theme="accumulation"
# The sum starts from the numbers of `w` and not from zeros.
# Сумма начинается с чисел из `w`, а не с нулей.
def sum_gradients(losses, w):
    return _add_gradients(w.detach().clone(), losses, w)

# %% mistake="starts_from_ones" theme="accumulation"
# The sum starts from ones and not from zeros.
# Сумма начинается с единиц, а не с нулей.
def sum_gradients(losses, w):
    return _add_gradients(torch.ones_like(w, requires_grad=False), losses, w)

# %% mistake="copies_the_form_of_the_gradient" theme="missing"
# The zeros are made like `w.grad`, and that may be None.
# Нули созданы по образцу `w.grad`, а там может лежать None.
def sum_gradients(losses, w):
    return _add_gradients(torch.zeros_like(w.grad), losses, w)

# %% mistake="starts_from_one_number" theme="axes"
# The sum starts from one number, and a gradient of another shape cannot be added to it in place.
# Сумма начинается с одного числа, а прибавить к нему на месте градиент другой формы нельзя.
def sum_gradients(losses, w):
    return _add_gradients(torch.tensor(0.0), losses, w)

# %% mistake="returns_a_list" theme="missing"
# The gradients come back in a list. Asked for is their sum.
# Возвращён список градиентов, а нужна их сумма.
def sum_gradients(losses, w):
    return [torch.autograd.grad(loss(), w)[0] for loss in losses]

# %% mistake="adds_up_the_entries" theme="axes"
# The entries of each gradient were added up to one number. The sum has the shape of `w`.
# Элементы каждого градиента сложены в одно число. У суммы должна быть форма тензора `w`.
def sum_gradients(losses, w):
    return fills_with_zeros(losses, w).sum()

# %% mistake="zeroes_the_old" theme="accumulation"
# `w.grad` was zeroed and put back. It is the same tensor under two names, so what had been there is gone.
# Поле `w.grad` обнулено, а потом возвращено. Но это один тензор под двумя именами: того, что в нём лежало, больше нет.
def sum_gradients(losses, w):
    old = w.grad
    if old is not None:
        old.zero_()
    for loss in losses:
        loss().backward()
    total = w.grad.clone()
    w.grad = old
    return total
