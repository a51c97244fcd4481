"""Extra exercise: repair a sum that starts from uninitialised memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, uniform, with_old_gradient
from autograder.checking.observe import using_answer
from autograder.language import Text


class _AlternatingFill(TorchDispatchMode):
    """A dispatch mode that fills uninitialised memory. Every second entry becomes 1000."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func._schema.name.split("::")[1] in ("empty", "empty_like", "new_empty", "empty_strided"):
            made.view(-1)[1::2] = 1000
        return made


@contextmanager
def _filled_memory() -> Iterator[None]:
    """Fill uninitialised memory with NaN and 1000 in turn, inside the `with` block.

    A read of such memory then gives the same result in every run. NaN alone could be hidden by `nan_to_num()`, numbers
    alone by a multiplication by 0.
    """
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with _AlternatingFill():  # type: ignore[no-untyped-call]
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@exercise(
    title=Text("A sum that starts from garbage", "Сумма, которая начинается с мусора"),
    kind="find the bug",
    difficulty=2,
    minutes=6,
    aspects=[
        aspect(
            "total",
            2,
            en="What comes back is the sum of the gradients, with the shape and the dtype of `w`.",
            ru="Возвращается сумма градиентов, с формой и dtype тензора `w`.",
        ),
        aspect(
            "kept",
            1,
            en="The sum does not require grad, and `w`, its flag and `w.grad` are as they were.",
            ru="Сумма не требует градиента, а `w`, его флаг и `w.grad` остались прежними.",
        ),
    ],
    hints=[
        Text(
            "Call `torch.use_deterministic_algorithms(True)` and print `total` before the loop. Where does what you see come "
            "from?",
            "Вызовите `torch.use_deterministic_algorithms(True)` и напечатайте `total` до цикла. Откуда взялось то, что вы "
            "видите?",
        ),
        Text(
            "`torch.Tensor(2, 3)` asks for room for 2 × 3 numbers and writes nothing into it. Its dtype is float32, "
            "whatever `w` is.",
            "`torch.Tensor(2, 3)` выделяет место под 2 × 3 числа и ничего туда не записывает. Его dtype — float32, "
            "каким бы ни был `w`.",
        ),
        Text("total = torch.zeros_like(...)", "total = torch.zeros_like(...)"),
    ],
)
def sum_gradients(answer: Any, case: Case) -> dict[str, object]:
    w, history = case.w, "none"
    with _filled_memory():
        total = answer.sum_gradients(case.losses, w)
    tracked = isinstance(total, Tensor) and total.requires_grad
    if tracked and w.requires_grad:
        with using_answer():
            (second,) = torch.autograd.grad(total.sum(), w, allow_unused=True, retain_graph=True)
            history = "not of w" if second is None else "curved" if bool(second.any()) else "flat"
    kept = {"w": w.detach(), "w.requires_grad": w.requires_grad, "w.grad": w.grad}
    return {"total": total, "kept": {"requires_grad of the sum": tracked, **kept}, "history": history}


def _losses_of(w: Tensor, points: Tensor) -> list[Callable[[], Tensor]]:
    """Return a function for each row of `points`. Each function takes no arguments and returns a loss of `w`."""

    def loss_of(point: Tensor) -> Callable[[], Tensor]:
        return lambda: (w * point).square().sum()

    return [loss_of(point) for point in points]


@sum_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    w = with_old_gradient(leaf(rng, 2, 3))
    yield Case(losses=_losses_of(w, uniform(rng, 3, 3)), w=w)
    w = uniform(rng, 4).float().requires_grad_()  # another dtype, and an empty `.grad`
    yield Case(losses=_losses_of(w, uniform(rng, 5, 4).float()), w=w)
    w = leaf(rng, 2, 2)  # the first gradient is an expanded tensor
    yield Case(losses=[lambda: w.sum(), *_losses_of(w, uniform(rng, 2, 2))], w=w)
    number = leaf(rng)
    yield Case(losses=_losses_of(number, uniform(rng, 2, 1)), w=number)


def _add_gradients(total: Tensor, losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    for loss in losses:
        total += torch.autograd.grad(loss(), w)[0]
    return total


@sum_gradients.mistake(
    en="The sum still starts from memory that nothing has filled. `empty_like` writes nothing either.",
    ru="Сумма по-прежнему начинается с незаполненной памяти. Функция `empty_like` тоже ничего туда не записывает.",
)
def starts_from_empty(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.empty_like(w, requires_grad=False), losses, w)


@sum_gradients.mistake(
    en="The sum still starts from memory that nothing has filled, and is float32 whatever `w` is. `torch.empty` and "
    "the old constructors ask for room and write nothing.",
    ru="Сумма по-прежнему начинается с незаполненной памяти, а её dtype — float32, каким бы ни был `w`. Функция "
    "`torch.empty` и старые конструкторы выделяют память и ничего туда не записывают.",
)
def asks_for_room(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.empty(w.shape), losses, w)


@sum_gradients.mistake(
    en="NaN was replaced before the sum. Fresh memory holds NaN only when torch is asked to write it there; otherwise "
    "it may hold any numbers.",
    ru="Перед суммированием заменены значения NaN. Они лежат там, только если попросить об этом torch; обычно в новой "
    "памяти могут быть любые числа.",
)
def replaces_nan(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.empty_like(w, requires_grad=False).nan_to_num(), losses, w)


@sum_gradients.mistake(
    en="Unfilled memory is multiplied by 0. It may hold NaN, and NaN times 0 is NaN.",
    ru="Незаполненная память умножается на 0. В ней может лежать NaN, а NaN, умноженное на 0, — это NaN.",
)
def multiplies_by_zero(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.empty_like(w, requires_grad=False) * 0, losses, w)


@sum_gradients.mistake(
    en="The sum starts from zeros of another dtype: they are float32, as `torch.zeros(w.shape)` makes them, whatever `w` "
    "is.",
    ru="Сумма начинается с нулей другого типа: это float32, как у `torch.zeros(w.shape)`, каким бы ни был `w`.",
)
def loses_the_dtype(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.zeros(w.shape, dtype=torch.float32), losses, w)


@sum_gradients.mistake(
    en="The shape became the data. `torch.tensor` makes a tensor of the numbers it gets; a size goes to `torch.zeros`.",
    ru="Форма передана как данные. Функция `torch.tensor` создаёт тензор из переданных чисел; размер передают в "
    "`torch.zeros`.",
)
def takes_the_shape_for_data(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.tensor(w.shape), losses, w)


@sum_gradients.mistake(
    en="The sum is a leaf that requires grad. It cannot be added to in place, and it need not be tracked.",
    ru="Сумма — лист, который требует градиента. К такому нельзя прибавлять на месте, да и отслеживать его незачем.",
)
def tracks_the_sum(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.zeros_like(w, requires_grad=True), losses, w)


@sum_gradients.mistake(
    en="The sum starts from a result of `w`, such as `w * 0`, and carries a history along.",
    ru="Сумма начинается с результата операции над `w`, например `w * 0`, и поэтому у неё есть история.",
)
def starts_from_a_result(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(w * 0, losses, w)


@sum_gradients.mistake(
    en="The gradients carry a graph of their own, as with `create_graph=True`. The sum therefore requires grad.",
    ru="У самих градиентов есть граф, как при `create_graph=True`. Поэтому и сумма требует градиента.",
)
def records_the_gradients(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return sum((torch.autograd.grad(loss(), w, create_graph=True)[0] for loss in losses), torch.zeros(()))


@sum_gradients.mistake(
    en="The mean of the gradients was returned. Asked for is their sum.",
    ru="Возвращено среднее градиентов, а нужна их сумма.",
)
def takes_the_mean(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.zeros_like(w, requires_grad=False), losses, w) / len(losses)


@sum_gradients.mistake(
    en="Only the last gradient comes back: each overwrites the one before.",
    ru="Возвращается только последний градиент: каждый следующий записан поверх предыдущего.",
)
def keeps_the_last(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return torch.autograd.grad(losses[-1](), w)[0]


@sum_gradients.mistake(
    en="Only the gradient of the first loss comes back.",
    ru="Возвращается градиент только первой функции потерь.",
)
def stops_at_the_first(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return torch.autograd.grad(losses[0](), w)[0]


@sum_gradients.mistake(
    en="`w.grad` is None at the end. The caller still needs what was there.",
    ru="В конце `w.grad` равен None, а вызывающему коду ещё нужно то, что там лежало.",
)
def drops_the_old(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    w.grad = None
    return _add_gradients(torch.zeros_like(w, requires_grad=False), losses, w)


@sum_gradients.mistake(
    en="`w` was asked not to require grad any more. It is the sum that should not; `w` is still to be trained.",
    ru="У тензора `w` выключен флаг. Не требовать градиента должна сумма, а `w` ещё будут обучать.",
)
def freezes_the_weight(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    total = _add_gradients(torch.zeros_like(w, requires_grad=False), losses, w)
    w.requires_grad_(False)
    return total


@sum_gradients.mistake(
    en="The sum was collected in `w.grad`, on top of what was there.",
    ru="Сумма собрана в `w.grad`, поверх того, что там уже лежало.",
)
def adds_to_the_old(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor | None:
    for loss in losses:
        loss().backward()  # type: ignore[no-untyped-call]
    return w.grad


@sum_gradients.mistake(
    en="`w.grad` was cleared and used for the sum. The caller still needs what was there.",
    ru="Поле `w.grad` обнулено и использовано для суммы, а вызывающему коду ещё нужно то, что там лежало.",
)
def borrows_the_gradient(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor | None:
    w.grad = None
    for loss in losses:
        loss().backward()  # type: ignore[no-untyped-call]
    return w.grad


@sum_gradients.mistake(
    en="The sum starts as another name for `w`: it is added to the weight itself.",
    ru="Сумма с самого начала — второе имя тензора `w`: градиенты прибавляются к самому весу.",
)
def adds_to_the_weight(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(w.detach().zero_(), losses, w)


@sum_gradients.mistake(
    en="The others are added in place to the first gradient. That tensor may be an expanded one, as for `w.sum()`: all "
    "of its entries are one number in memory, and torch refuses to write there.",
    ru="Остальные градиенты прибавляются на месте к первому. Это может быть расширенный тензор, как для `w.sum()`: все "
    "его элементы — одно число в памяти, и записывать туда torch не позволяет.",
)
def adds_to_the_first(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.autograd.grad(losses[0](), w)[0], losses[1:], w)


@sum_gradients.mistake(
    en="The sum starts from a tensor that requires grad, such as `zeros_like(w, requires_grad=True)`, and therefore "
    "requires grad itself.",
    ru="Сумма начинается с тензора, который требует градиента, например `zeros_like(w, requires_grad=True)`, и поэтому "
    "сама его требует.",
)
def starts_from_a_leaf(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    total = torch.zeros_like(w, requires_grad=True)
    for loss in losses:
        total = total + torch.autograd.grad(loss(), w)[0]
    return total


@sum_gradients.mistake(
    en="`torch.autograd.grad` returns a tuple, even for one input. The gradient is its first entry.",
    ru="Функция `torch.autograd.grad` возвращает кортеж, даже если вход один. Сам градиент — его первый элемент.",
)
def adds_the_tuple(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    total = torch.zeros_like(w, requires_grad=False)
    for loss in losses:
        total += torch.autograd.grad(loss(), w)  # type: ignore[arg-type]
    return total


@sum_gradients.mistake(
    en="The losses are computed under `no_grad()`. Nothing is recorded, so there is no gradient to ask for.",
    ru="Функции потерь вычисляются внутри `no_grad()`. Ничего не записано, и градиент взять неоткуда.",
)
def records_nothing(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    with torch.no_grad():
        return _add_gradients(torch.zeros_like(w), losses, w)


@sum_gradients.mistake(
    en="The first gradient is counted twice: the sum starts from it, and the loop begins with it again.",
    ru="Первый градиент учтён дважды: с него начинается сумма, и с него же начинается цикл.",
)
def counts_the_first_twice(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.autograd.grad(losses[0](), w)[0].clone(), losses, w)


@sum_gradients.mistake(*sum_gradients.mistakes["asks_for_room"].says)
def asks_the_old_constructor(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.Tensor(*w.shape), losses, w)


@sum_gradients.mistake(*sum_gradients.mistakes["loses_the_dtype"].says)
def zeroes_the_old_constructor(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.Tensor(*w.shape).zero_(), losses, w)


@sum_gradients.mistake(*sum_gradients.mistakes["multiplies_by_zero"].says)
def multiplies_float32_by_zero(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.Tensor(*w.shape) * 0, losses, w)


@sum_gradients.mistake(
    en="For a `w` of shape `()` the old constructor gets no size at all, and makes an empty tensor. `zeros_like(w)` has "
    "the right shape always.",
    ru="Если форма `w` — `()`, старому конструктору не передано ни одного размера, и он создаёт пустой тензор. У "
    "`zeros_like(w)` форма верна всегда.",
)
def fills_the_old_constructor(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.Tensor(*w.shape).zero_().to(w.dtype), losses, w)


@sum_gradients.mistake(
    en="The sizes are unpacked: `torch.zeros(*w.shape)` gets none at all when the shape is `()`. `torch.zeros(w.shape)` "
    "takes any shape.",
    ru="Размеры переданы по отдельности: если форма — `()`, вызов `torch.zeros(*w.shape)` не получает ни одного. Вызов "
    "`torch.zeros(w.shape)` принимает любую форму.",
)
def unpacks_the_shape(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.zeros(*w.shape, dtype=w.dtype), losses, w)


@sum_gradients.mistake(
    en="For a `w` of shape `()` the sum has the shape `(1,)`: it starts from a tensor with one dimension.",
    ru="Если форма `w` — `()`, у суммы форма `(1,)`: она начинается с тензора, у которого одно измерение.",
)
def starts_from_one_dimension(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return torch.zeros(1, dtype=w.dtype) + fills_with_zeros(losses, w)


def fills_with_zeros(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.zeros_like(w, requires_grad=False), losses, w)


@sum_gradients.mistake(
    en="The sum starts from the numbers of `w` and not from zeros.",
    ru="Сумма начинается с чисел из `w`, а не с нулей.",
)
def starts_from_the_weight(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(w.detach().clone(), losses, w)


@sum_gradients.mistake(
    en="The sum starts from ones and not from zeros.",
    ru="Сумма начинается с единиц, а не с нулей.",
)
def starts_from_ones(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.ones_like(w, requires_grad=False), losses, w)


@sum_gradients.mistake(
    en="The zeros are made like `w.grad`, and that may be None.",
    ru="Нули созданы по образцу `w.grad`, а там может лежать None.",
)
def copies_the_form_of_the_gradient(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.zeros_like(w.grad), losses, w)  # type: ignore[arg-type]


@sum_gradients.mistake(
    en="The sum starts from one number, and a gradient of another shape cannot be added to it in place.",
    ru="Сумма начинается с одного числа, а прибавить к нему на месте градиент другой формы нельзя.",
)
def starts_from_one_number(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return _add_gradients(torch.tensor(0.0), losses, w)


@sum_gradients.mistake(
    en="The gradients come back in a list. Asked for is their sum.",
    ru="Возвращён список градиентов, а нужна их сумма.",
)
def returns_a_list(losses: list[Callable[[], Tensor]], w: Tensor) -> list[Tensor]:
    return [torch.autograd.grad(loss(), w)[0] for loss in losses]


@sum_gradients.mistake(
    en="The entries of each gradient were added up to one number. The sum has the shape of `w`.",
    ru="Элементы каждого градиента сложены в одно число. У суммы должна быть форма тензора `w`.",
)
def adds_up_the_entries(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return fills_with_zeros(losses, w).sum()
