"""Exercises of lesson 01, leaf tensors: probes, cases and mistakes (L1-L10 and L16 of the course's own list)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Variable
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.checking.exercise import EVERY_ENTRY, Case, aspect, exercise
from autograder.checking.inputs import leaf, signed, uniform, with_old_gradient
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, entries, number
from autograder.language import Text
from autograder.measure import counting_backward_runs

# ------------------------------------------------------------------------------------------ what is seen of a tensor


def flags(name: str, value: object) -> dict[str, object]:
    """Where the tensor called `name` stands in the graph, as far as its flags tell."""
    tensor = value if isinstance(value, Tensor) else None
    return {
        f"{name}.is_leaf": None if tensor is None else tensor.is_leaf,
        f"{name}.requires_grad": None if tensor is None else tensor.requires_grad,
    }


def kind(value: object) -> object:
    """A word for any tensor, for a function and for a pair; whatever else came back stands for itself."""
    if isinstance(value, Tensor):
        return "a tensor"
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return "a pair"
    return "a function" if callable(value) else value


def creator(tensor: Tensor) -> str | None:
    """The name of a tensor's `grad_fn`."""
    return None if tensor.grad_fn is None else tensor.grad_fn.name()


# ------------------------------------------------------------------------------------- core: which of them are leaves


@exercise(
    title=Text("Which of them are leaves", "Какие из них листовые"),
    kind="predict",
    core=True,
    minutes=8,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Ask of each tensor: was there an operation, was recording on, and did one of its inputs require grad?",
            "Спросите о каждом тензоре: была ли операция, было ли включено отслеживание и требовал ли градиента хоть один вход?",
        ),
        Text(
            "Three answers are possible: `(True, True)`, `(True, False)`, `(False, True)`. A tensor that does not "
            "require grad is always a leaf.",
            "Возможны три ответа: `(True, True)`, `(True, False)`, `(False, True)`. Тензор, который не требует "
            "градиента, всегда листовой.",
        ),
        Text(
            "A comparison has no derivative to speak of, `round` has one (zero). `.to` with nothing to do returns the "
            "tensor itself. `Parameter` starts a new leaf.",
            "У сравнения производной нет, у `round` она есть (ноль). `.to`, которому нечего делать, возвращает сам "
            "тензор. `Parameter` заводит новый лист.",
        ),
    ],
)
def predict_leaf(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_leaf)}


@predict_leaf.mistake(
    en="It looks as if the two flags of each pair are the wrong way round: `is_leaf` comes first, then `requires_grad`.",
    ru="Похоже, что флаги в парах переставлены: сначала `is_leaf`, потом `requires_grad`.",
)
def swaps_the_flags() -> dict[str, object]:
    constants = "torch.ones(2) + 1", "w.detach()", "w * 2 under no_grad", "w > 0.5"
    results = "w * 0.01", "torch.rand(2, requires_grad=True).double()", "w.view(2, 1)", "w.round()"
    return {**dict.fromkeys(constants, (False, True)), **dict.fromkeys(results, (True, False))}


@predict_leaf.mistake(
    en="It looks as if any result of arithmetic was taken for a tensor with a history. Nothing is recorded when no "
    "input requires grad.",
    ru="Похоже, что любой результат арифметики принят за тензор с историей. Если ни один вход не требует градиента, "
    "ничего не записывается.",
)
def arithmetic_is_recorded() -> dict[str, object]:
    return {"torch.ones(2) + 1": (False, True)}


@predict_leaf.mistake(
    en="It looks as if a result of arithmetic cannot be a leaf. `(False, False)` does not exist: without "
    "`requires_grad` there is no history, and a tensor without a history is a leaf.",
    ru="Похоже, вы считаете, что результат арифметики не может быть листом. На самом деле может: ответа `(False, "
    "False)` не бывает, ведь без `requires_grad` нет истории, а тензор без истории — лист.",
)
def arithmetic_makes_no_leaf() -> dict[str, object]:
    return {"torch.ones(2) + 1": (False, False)}


@predict_leaf.mistake(
    en="It looks as if a leaf was taken for a tensor that requires grad. Data, detached tensors and results under "
    "`no_grad()` are leaves as well.",
    ru="Похоже, вы считаете, что лист — это только тензор, который требует градиента. На самом деле данные, "
    "отсоединённые тензоры и результаты внутри `no_grad()` тоже листовые.",
)
def leaf_means_requires_grad() -> dict[str, object]:
    constants = "torch.ones(2) + 1", "w.detach()", "w * 2 under no_grad", "w > 0.5"
    return dict.fromkeys(constants, (False, False))


@predict_leaf.mistake(*predict_leaf.mistakes["leaf_means_requires_grad"].says)
def detached_is_no_leaf() -> dict[str, object]:
    return {"w.detach()": (False, False)}


@predict_leaf.mistake(*predict_leaf.mistakes["leaf_means_requires_grad"].says)
def untracked_is_no_leaf() -> dict[str, object]:
    return {"w * 2 under no_grad": (False, False)}


@predict_leaf.mistake(*predict_leaf.mistakes["leaf_means_requires_grad"].says)
def comparison_is_no_leaf() -> dict[str, object]:
    return {"w > 0.5": (False, False)}


@predict_leaf.mistake(
    en="It looks as if scaling was expected to give a leaf back. `w * 0.01` is a result: its `grad_fn` is a "
    "multiplication.",
    ru="Похоже, что после умножения ожидался лист. `w * 0.01` — результат операции: его `grad_fn` — умножение.",
)
def scaling_keeps_a_leaf() -> dict[str, object]:
    return {"w * 0.01": (True, True)}


@predict_leaf.mistake(
    en="It looks as if a cast was taken for a change of the tensor. It makes a new one, and is recorded like any "
    "operation: `requires_grad=True` stayed with the tensor before the cast.",
    ru="Похоже, что приведение типа принято за изменение самого тензора. Оно создаёт новый тензор и записывается, "
    "как любая операция: лист с `requires_grad=True` — тот тензор, что был до приведения.",
)
def casting_keeps_a_leaf() -> dict[str, object]:
    return {"torch.rand(2, requires_grad=True).double()": (True, True)}


@predict_leaf.mistake(
    en="It looks as if `.to` always made a new tensor. With nothing to do it returns the very tensor it was called on.",
    ru="Похоже, вы считаете, что `.to` всегда создаёт новый тензор. На самом деле, если делать нечего, он возвращает "
    "тот самый тензор, у которого вызван.",
)
def to_always_copies() -> dict[str, object]:
    return {'w.to("cpu")': (False, True)}


@predict_leaf.mistake(
    en="It looks as if a view of a leaf was taken for a leaf. It shares the memory, but it is the result of an "
    "operation, `view`.",
    ru="Похоже, что представление листа принято за лист. Память у них общая, но это результат операции `view`.",
)
def views_are_leaves() -> dict[str, object]:
    return {"w.view(2, 1)": (True, True)}


@predict_leaf.mistake(
    en="It looks as if `detach()` kept the flag or the history. It leaves both behind and gives a constant.",
    ru="Похоже, вы считаете, что `detach()` сохраняет флаг или историю. На самом деле он отбрасывает и то и другое: "
    "получается константа.",
)
def detach_keeps_the_flag() -> dict[str, object]:
    return {"w.detach()": (True, True)}


@predict_leaf.mistake(*predict_leaf.mistakes["detach_keeps_the_flag"].says)
def detach_keeps_the_history() -> dict[str, object]:
    return {"w.detach()": (False, True)}


@predict_leaf.mistake(
    en="It looks as if an operation under `no_grad()` was recorded. `w * 2` is a constant there, whatever `w` requires.",
    ru="Похоже, вы считаете, что операции внутри `no_grad()` записываются. На самом деле `w * 2` там — константа, "
    "каким бы ни был флаг у `w`.",
)
def no_grad_is_recorded() -> dict[str, object]:
    return {"w * 2 under no_grad": (False, True)}


@predict_leaf.mistake(
    en="It looks as if `Parameter(w * 2)` kept the history of `w * 2`. A `Parameter` is always a new leaf.",
    ru="Похоже, вы считаете, что `Parameter(w * 2)` сохраняет историю `w * 2`. На самом деле `Parameter` — всегда "
    "новый лист.",
)
def parameters_keep_history() -> dict[str, object]:
    return {"torch.nn.Parameter(w * 2)": (False, True)}


@predict_leaf.mistake(
    en="It looks as if everything computed from `w` requires grad. True and False have no gradient: a comparison, "
    "like `argmax`, gives a constant.",
    ru="Похоже, вы считаете, что всё вычисленное из `w` требует градиента. На самом деле у True и False градиента "
    "нет: сравнение, как и `argmax`, даёт константу.",
)
def comparisons_are_tracked() -> dict[str, object]:
    return {"w > 0.5": (False, True)}


@predict_leaf.mistake(
    en="It looks as if `round` was expected to cut the graph. It stays in it; its derivative is zero.",
    ru="Похоже, вы считаете, что `round` обрывает граф. На самом деле он остаётся в графе, а его производная равна "
    "нулю.",
)
def rounding_cuts() -> dict[str, object]:
    return {"w.round()": (True, False)}


@predict_leaf.mistake(
    en="It looks as if every tensor was expected to have a `grad_fn`. A leaf has none: no operation made it.",
    ru="Похоже, вы считаете, что `grad_fn` есть у каждого тензора. На самом деле у листа его нет: лист не создан "
    "операцией.",
)
def leaves_have_a_grad_fn() -> dict[str, object]:
    return {"w.grad_fn": "AccumulateGrad"}


@predict_leaf.mistake(
    en="It looks as if `w * 0.01` had no `grad_fn`. It is the result of a recorded multiplication, and `grad_fn` "
    "points to it.",
    ru="Похоже, вы считаете, что у `w * 0.01` нет `grad_fn`. На самом деле это результат записанного умножения, и "
    "`grad_fn` указывает на него.",
)
def results_have_no_grad_fn() -> dict[str, object]:
    return {"(w * 0.01).grad_fn": None}


@predict_leaf.mistake(
    en="It looks as if the number at the end of the node's name is missing: `AddBackward0`, not `AddBackward`.",
    ru="Похоже, что в имени узла пропущена цифра на конце: `AddBackward0`, а не `AddBackward`.",
)
def leaves_out_the_digit() -> dict[str, object]:
    return {"(w * 0.01).grad_fn": "MulBackward"}


@predict_leaf.mistake(
    en="It looks as if `None` stands in quotes. What comes back is the value, not a text.",
    ru="Похоже, что `None` стоит в кавычках. Возвращается само значение, а не строка.",
)
def quotes_none() -> dict[str, object]:
    return {"w.grad_fn": "None"}


# ---------------------------------------------------------------------------------------- core: who gets a gradient


@exercise(
    title=Text("Who gets a gradient", "Кто получит градиент"),
    kind="predict",
    core=True,
    minutes=10,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`backward()` walks from `loss` to the leaves. In which tensors does it leave something?",
            "`backward()` идёт от `loss` к листьям. В каких тензорах он что-то оставляет?",
        ),
        Text(
            "Leaves that require grad, and tensors that were told to keep theirs in time. What they hold is the "
            "derivative of `loss`, not of the line they stand in.",
            "В листьях, которые требуют градиента, и в тензорах, которые заранее попросили его сохранить. Там лежит "
            "производная `loss`, а не той строки, в которой они стоят.",
        ),
        Text(
            "`early` is 6, `late` is 11, and the derivative of `late ** 2` with respect to `late` is 22. A view of a "
            "leaf is no leaf; its gradient lands in the base, at its place.",
            "`early` равен 6, `late` равен 11, производная `late ** 2` по `late` равна 22. Представление листа — не "
            "лист; его градиент попадает в исходный тензор, на своё место.",
        ),
    ],
)
def predict_grad(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_grad)}


@predict_grad.mistake(
    en="It looks as if `.grad` held the derivative of one line, such as `late` with respect to `early`. It holds the "
    "derivative of `loss`, where `backward()` began.",
    ru="Похоже, вы считаете, что в `.grad` лежит производная одной строки, например `late` по `early`. На самом "
    "деле там производная `loss`, с которого начался `backward()`.",
)
def early_holds_the_local() -> dict[str, object]:
    return {"early.grad": 1.0}


@predict_grad.mistake(
    en="It looks as if `early.grad` held the derivative of `early` with respect to `x`. It is the other way round: the "
    "derivative of `loss` with respect to `early`.",
    ru="Похоже, вы считаете, что в `early.grad` лежит производная `early` по `x`. На самом деле наоборот: там "
    "производная `loss` по `early`.",
)
def early_holds_its_own() -> dict[str, object]:
    return {"early.grad": 3.0}


@predict_grad.mistake(
    en="It looks as if a non-leaf can never have a `.grad`. Its gradient is computed anyway, and `retain_grad()` before "
    "`backward()` keeps it.",
    ru="Похоже, вы считаете, что у нелистового тензора `.grad` не бывает. На самом деле его градиент всё равно "
    "вычисляется, а `retain_grad()`, если вызвать его до `backward()`, этот градиент сохраняет.",
)
def non_leaves_never_keep() -> dict[str, object]:
    return {"early.grad": None}


@predict_grad.mistake(
    en="It looks as if `retain_grad()` was expected to work afterwards. It asks the *next* backward pass; this one is over.",
    ru="Похоже, вы считаете, что `retain_grad()` действует задним числом. На самом деле он относится к *следующему* "
    "обратному проходу; этот уже кончился.",
)
def retaining_works_afterwards() -> dict[str, object]:
    return {"late.grad": 22.0}


@predict_grad.mistake(
    en="It looks as if a view had a `.grad` of its own. The gradient of `v[0]` goes on to the leaf `v`.",
    ru="Похоже, вы считаете, что у представления есть свой `.grad`. На самом деле градиент `v[0]` идёт дальше, в "
    "лист `v`.",
)
def views_have_gradients() -> dict[str, object]:
    return {"part.grad": 4.0}


@predict_grad.mistake(
    en="It looks as if nothing reached `v`, since only a part of it was used. The gradient lands at the place of that "
    "part, with zeros beside it.",
    ru="Похоже, вы считаете, что до `v` ничего не дошло, раз использована только его часть. На самом деле градиент "
    "попадает на место этой части, а на остальных местах стоят нули.",
)
def nothing_reaches_the_base() -> dict[str, object]:
    return {"v.grad": None}


@predict_grad.mistake(
    en="It looks as if the gradient of a part was spread over the whole tensor. `v[1]` has no influence on `loss`: 0.",
    ru="Похоже, что градиент части приписан всему тензору. `v[1]` на `loss` не влияет: там 0.",
)
def parts_spread() -> dict[str, object]:
    return {"v.grad": [4.0, 4.0]}


@predict_grad.mistake(
    en="It looks as if `lost` were still a leaf. The name `lost` is bound to the product; the leaf that gets the "
    "gradient has no name left.",
    ru="Похоже, вы считаете, что `lost` остался листом. На самом деле имя `lost` связано с произведением; лист, "
    "который получил градиент, остался без имени.",
)
def scaling_keeps_the_gradient() -> dict[str, object]:
    return {"lost.grad": 1.0}


@predict_grad.mistake(
    en="It looks as if a constant got a gradient of zero. It gets none: None.",
    ru="Похоже, вы считаете, что константа получает нулевой градиент. На самом деле она не получает никакого: там "
    "None.",
)
def constants_get_zero() -> dict[str, object]:
    return {"k.grad": 0.0}


@predict_grad.mistake(
    en="It looks as if every input of the loss got a gradient. A constant gets none, although the loss depends on it.",
    ru="Похоже, вы считаете, что градиент получают все входы функции потерь. На самом деле константа его не "
    "получает, хотя функция потерь от неё зависит.",
)
def constants_get_gradients() -> dict[str, object]:
    return {"k.grad": 22.0}


@predict_grad.mistake(
    en="It looks as if `x.grad` held only a part of the chain. Multiply the derivatives along the whole way from "
    "`loss` to `x`.",
    ru="Похоже, что в `x.grad` попала только часть цепочки. Перемножьте производные на всём пути от `loss` до `x`.",
)
def chain_stops_early() -> dict[str, object]:
    return {"x.grad": 22.0}


@predict_grad.mistake(
    en="It looks as if `loss` kept the gradient it begins with. That one is there, and it is 1, but `loss` is no leaf "
    "and did not ask to keep it.",
    ru="Похоже, вы считаете, что `loss` сохраняет градиент, с которого всё начинается. На самом деле этот градиент "
    "вычисляется и равен 1, но `loss` — не лист, а сохранить его градиент никто не просил.",
)
def loss_keeps_one() -> dict[str, object]:
    return {"loss.grad": 1.0}


@predict_grad.mistake(
    en="It looks as if an optimizer took any tensor that requires grad. It takes leaves only.",
    ru="Похоже, вы считаете, что оптимизатор принимает любой тензор, который требует градиента. На самом деле он "
    "принимает только листья.",
)
def optimizers_take_anything() -> dict[str, object]:
    return {"SGD([lost], lr=0.1)": "accepted"}


@predict_grad.mistake(
    en="It looks as if `backward()` on a constant did nothing. There is no graph to walk, and torch says so.",
    ru="Похоже, вы считаете, что `backward()` у константы ничего не делает. На самом деле идти не по чему, графа "
    "нет, и torch сообщает об ошибке.",
)
def constants_go_backward() -> dict[str, object]:
    return {"k.backward()": "accepted"}


@predict_grad.mistake(*predict_leaf.mistakes["quotes_none"].says)
def none_in_quotes() -> dict[str, object]:
    return {"k.grad": "None"}


@predict_grad.mistake(
    en="It looks as if `.grad` were kept for every tensor. Unless asked, only leaves that require grad keep it.",
    ru="Похоже, вы считаете, что `.grad` сохраняется у каждого тензора. На самом деле, если не попросить, он "
    "сохраняется только у листьев, которые требуют градиента.",
)
def everybody_keeps_one() -> dict[str, object]:
    return {"part.grad": 4.0, "lost.grad": 1.0, "late.grad": 22.0, "loss.grad": 1.0}


@predict_grad.mistake(
    en="It looks as if `lost` held the gradient of the leaf before it. That leaf has it, and no name.",
    ru="Похоже, вы считаете, что в `lost` лежит градиент листа, который стоит перед ним. На самом деле этот градиент "
    "лежит в самом листе, а имени у листа нет.",
)
def lost_holds_the_leafs() -> dict[str, object]:
    return {"lost.grad": 0.01}


@predict_grad.mistake(
    en="It looks as if `v.grad` was one number. A gradient has the shape of its tensor: one entry for each of `v`.",
    ru="Похоже, вы считаете, что `v.grad` — одно число. На самом деле у градиента та же форма, что у тензора: по "
    "элементу на каждый элемент `v`.",
)
def gradient_of_the_part() -> dict[str, object]:
    return {"v.grad": 4.0}


# -------------------------------------------------------------------------------------- core: a leaf lost on the way


@exercise(
    title=Text("Find the bug: a weight that is never trained", "Найдите ошибку: вес, который не обучается"),
    kind="find the bug",
    core=True,
    minutes=8,
    aspects=[
        aspect(
            "flags",
            2,
            en="What comes back is a leaf that requires grad: it has no `grad_fn`, and an optimizer takes it.",
            ru="Возвращается лист, который требует градиента: `grad_fn` у него нет, и оптимизатор его принимает.",
        ),
        aspect(
            "made",
            1,
            en="It is 0.01 times `values`, with the shape of `values` and the dtype and the device that were asked for.",
            ru="Это `values`, умноженный на 0.01; форма та же, что у `values`, а dtype и устройство — заданные.",
        ),
        aspect(
            "input",
            1,
            en="`values` is as it was: the same numbers, and it does not require grad.",
            ru="`values` остался прежним: те же числа, и градиента он не требует.",
        ),
    ],
    hints=[
        Text(
            "Keep the result in a variable and print its `grad_fn`. Which line made it, and where is the leaf?",
            "Сохраните результат в переменной и напечатайте её `grad_fn`. Какая строка создала этот тензор и где "
            "остался лист?",
        ),
        Text(
            "Everything after `requires_grad_()` is recorded. So what has to come first?",
            "Всё, что идёт после `requires_grad_()`, записывается. Что же должно идти раньше?",
        ),
        Text(
            "w = (values * 0.01).to(...)\nreturn ...",
            "w = (values * 0.01).to(...)\nreturn ...",
        ),
    ],
)
def trainable_weight(answer: Any, case: Case) -> dict[str, object]:
    weight = answer.trainable_weight(case.values, case.dtype, case.device)
    seen: dict[str, object] = {"returned": kind(weight), **flags("weight", weight)}
    made: dict[str, object] = {}
    if isinstance(weight, Tensor):
        seen |= {"weight.grad_fn": creator(weight), "weight.retains_grad": weight.retains_grad}
        made = {"weight.dtype": str(weight.dtype), "weight.device": weight.device.type}
        made |= {"weight.shape": str(tuple(weight.shape)), "weight": None if weight.is_meta else weight}
    else:
        seen |= {"weight.grad_fn": None, "weight.retains_grad": None}
    return {
        "flags": seen,
        "made": made,
        "input": {"values": case.values.detach(), "values.requires_grad": case.values.requires_grad},
    }


@trainable_weight.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(values=signed(rng, 2, 3).float(), dtype=torch.float64, device="cpu")
    yield Case(values=signed(rng, 4), dtype=torch.float64, device="cpu")  # nothing to cast or move
    yield Case(values=signed(rng, 3, 2), dtype=torch.float16, device="meta")  # a device everybody has


@trainable_weight.mistake(
    en="It looks as if what comes back is still a result: the leaf is made first, and the product or the cast comes after "
    "it. A later `requires_grad_()` changes nothing about a result.",
    ru="Похоже, что возвращается по-прежнему результат операции: лист создан раньше, а умножение или приведение типа "
    "идёт после него. Если потом вызвать `requires_grad_()`, результат листом не станет.",
)
def asks_a_result(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values.clone().requires_grad_() * 0.01).to(device=device, dtype=dtype).requires_grad_()


@trainable_weight.mistake(
    en="It looks as if the weight is scaled after it began to require grad. The product is a result; the leaf that the "
    "gradient goes to is left behind.",
    ru="Похоже, что вес умножается, когда он уже требует градиента. Произведение — результат операции; лист, в который "
    "попадёт градиент, остался позади.",
)
def scales_a_leaf(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return values.to(device=device, dtype=dtype, copy=True).requires_grad_() * 0.01


@trainable_weight.mistake(
    en="It looks as if the weight is cast or moved after it began to require grad. Where there is something to do, "
    "`.to` returns a new tensor, and that one is no leaf.",
    ru="Похоже, что тип или устройство меняются, когда вес уже требует градиента. Если `.to` есть что делать, он "
    "возвращает новый тензор, и тот не листовой.",
)
def moves_a_leaf(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values * 0.01).requires_grad_().to(device=device, dtype=dtype)


@trainable_weight.mistake(
    en="It looks as if `retain_grad()` was meant to make a leaf. It keeps the gradient of a result; an optimizer "
    "still refuses it.",
    ru="Похоже, что `retain_grad()` вызван, чтобы сделать тензор листом. Он сохраняет градиент результата, но "
    "оптимизатор такой тензор по-прежнему не принимает.",
)
def retains_instead(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    weight = (values.clone().requires_grad_() * 0.01).to(device=device, dtype=dtype)
    weight.retain_grad()
    return weight


@trainable_weight.mistake(
    en="It looks as if `values` itself was made to require grad. The leaf is then the caller's tensor, and what comes back "
    "is a result.",
    ru="Похоже, что требовать градиента стал сам `values`. Тогда лист — тензор вызывающего кода, а возвращается "
    "результат операции.",
)
def tracks_the_input(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values.requires_grad_() * 0.01).to(device=device, dtype=dtype)


@trainable_weight.mistake(
    en="It looks as if the history was cut and the flag went with it. The result is a leaf, but a constant: nothing "
    "asked it to require grad.",
    ru="Похоже, что вместе с историей потерялся и флаг. Результат листовой, но это константа: требовать градиента его "
    "никто не просил.",
)
def loses_the_flag(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values.clone().requires_grad_() * 0.01).to(device=device, dtype=dtype).detach()


@trainable_weight.mistake(
    en="It looks as if the weight is scaled in place while it requires grad. Autograd refuses that for a leaf.",
    ru="Похоже, что вес умножается на месте, когда он уже требует градиента. Для листа autograd это запрещает.",
)
def scales_in_place(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return values.to(device=device, dtype=dtype, copy=True).requires_grad_().mul_(0.01)


@trainable_weight.mistake(
    en="It looks as if the weight has the dtype and the device of `values`, not those that were asked for.",
    ru="Похоже, что у веса dtype и устройство те же, что у `values`, а не заданные.",
)
def stays_where_it_was(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values * 0.01).requires_grad_()


@trainable_weight.mistake(
    en="It looks as if the dtype that was asked for is ignored.",
    ru="Похоже, что заданный dtype не учтён.",
)
def ignores_the_dtype(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values * 0.01).to(device).requires_grad_()


@trainable_weight.mistake(
    en="It looks as if the device that was asked for is ignored.",
    ru="Похоже, что заданное устройство не учтено.",
)
def ignores_the_device(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values * 0.01).to(dtype).requires_grad_()


@trainable_weight.mistake(
    en="It looks as if `values` was told to require grad, too. The weight is right, but the caller's tensor is no longer a "
    "constant.",
    ru="Похоже, что требовать градиента стал и сам `values`. Вес верен, но тензор вызывающего кода больше не "
    "константа.",
)
def tracks_the_caller(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return (values.requires_grad_().detach() * 0.01).to(device=device, dtype=dtype).requires_grad_()


@trainable_weight.mistake(
    en="It looks as if the scaling by 0.01 was lost on the way.",
    ru="Похоже, что по дороге потерялось умножение на 0.01.",
)
def forgets_the_scale(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return values.to(device=device, dtype=dtype, copy=True).requires_grad_()


@trainable_weight.mistake(
    en="It looks as if `values` itself was scaled in place. The caller's data are not yours to change.",
    ru="Похоже, что на месте умножен сам `values`. Данные вызывающего кода менять нельзя.",
)
def scales_the_input(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    return values.mul_(0.01).to(device=device, dtype=dtype, copy=True).requires_grad_()


@trainable_weight.mistake(
    en="It looks as if the weight gets its numbers, dtype and device through `.data`. Torch refuses that between kinds of "
    "devices as different as `cpu` and `meta`. Make the leaf where it is to live.",
    ru="Похоже, что вес получает числа, dtype и устройство через `.data`. Между такими разными устройствами, как "
    "`cpu` и `meta`, torch это запрещает. Создавайте лист сразу на том устройстве, где он нужен.",
)
def assigns_its_data(values: Tensor, dtype: torch.dtype, device: str) -> Tensor:
    weight = values.clone().requires_grad_()
    weight.data = (values * 0.01).to(device=device, dtype=dtype)
    return weight


# ------------------------------------------------------------------------------- core: gradients of the intermediates


class MeanSquare(torch.nn.Module):
    """The last layer of the networks here: one number."""

    def forward(self, h: Tensor) -> Tensor:
        return h.square().mean()


def network(rng: torch.Generator, *widths: int) -> torch.nn.Sequential:
    """Linear and Tanh by turns and a loss; every weight has an old gradient."""
    layers: list[torch.nn.Module] = []
    for inputs, outputs in pairwise(widths):
        linear = torch.nn.Linear(inputs, outputs, bias=False, dtype=torch.float64)
        linear.weight = torch.nn.Parameter(signed(rng, outputs, inputs) / inputs)
        with_old_gradient(linear.weight)
        layers += [linear, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, MeanSquare())


@contextmanager
def outputs_of(model: torch.nn.Sequential) -> Iterator[list[Tensor]]:
    """What the layers of `model` return, in order of the calls."""
    outputs: list[Tensor] = []

    def note(_: torch.nn.Module, __: object, output: Tensor) -> None:
        outputs.append(output)

    handles = [layer.register_forward_hook(note) for layer in model]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


def state_of(model: torch.nn.Sequential, x: Tensor) -> dict[str, object]:
    """What a visitor should leave as it is."""
    tensors = {f"model[{name.replace('.', '].', 1)}": tensor for name, tensor in model.named_parameters()} | {"x": x}
    hooks = [hook for layer in model.modules() for table in HOOKS for hook in getattr(layer, table)]
    return {
        **{f"{name}.grad": tensor.grad for name, tensor in tensors.items()},
        **{name: tensor.detach() for name, tensor in tensors.items()},
        **{f"{name}.requires_grad": tensor.requires_grad for name, tensor in tensors.items()},
        "hooks left on the layers": len(hooks),
        "hooks left on weights and x": sum(len(tensor._backward_hooks or ()) for tensor in tensors.values()),
        "model.training": all(layer.training for layer in model.modules()),
    }


HOOKS = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"


@exercise(
    title=Text("Gradients that nobody keeps", "Градиенты, которые никто не хранит"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=16,
    aspects=[
        aspect(
            "gradients",
            3,
            en="The list holds the derivative of the loss with respect to the output of each layer, in order of the "
            "layers.",
            ru="В списке производные функции потерь по выходу каждого слоя, в порядке слоёв.",
        ),
        aspect(
            "backward_runs",
            1,
            en="There is at most one call of `backward` or `torch.autograd.grad`, however many layers there are.",
            ru="Сделано не больше одного вызова `backward` или `torch.autograd.grad`, сколько бы ни было слоёв.",
        ),
        aspect(
            "kept",
            1,
            en="The model and `x` are as they were: `.grad`, weights, flags, hooks, mode.",
            ru="Модель и `x` остались прежними: `.grad`, веса, флаги, хуки, режим.",
        ),
    ],
    hints=[
        Text(
            "These gradients are computed in every backward pass. What throws them away, and when must you speak up?",
            "Эти градиенты вычисляются при любом обратном проходе. Почему они пропадают и когда нужно попросить их "
            "сохранить?",
        ),
        Text(
            "Run the layers one by one and keep the outputs. Two calls take the tensors whose gradient you want and "
            "touch nothing else.",
            "Вызывайте слои по одному и сохраняйте выходы. Есть два вызова, которым передают нужные тензоры; "
            "градиентов остальных они не меняют.",
        ),
        Text(
            "outputs = []\nfor layer in model:\n    x = layer(x)\n    outputs.append(x)\n... torch.autograd.grad(...)",
            "outputs = []\nfor layer in model:\n    x = layer(x)\n    outputs.append(x)\n... torch.autograd.grad(...)",
        ),
    ],
)
def hidden_gradients(answer: Any, case: Case) -> dict[str, object]:
    with outputs_of(case.model) as outputs, counting_backward_runs() as runs, using_answer():
        gradients = answer.hidden_gradients(case.model, case.x)
        gradients = list(gradients) if isinstance(gradients, (list, tuple)) else gradients
    with using_answer():
        kept = state_of(case.model, case.x)
    return {
        "gradients": gradients,
        "backward_runs": AtMost(limit=1, used=runs.times),
        "kept": kept,
        "retained": [output.retains_grad for output in outputs],
        "cut": [output.is_leaf for output in outputs],
    }


@hidden_gradients.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=network(rng, 3, 4), x=uniform(rng, 2, 3))
    yield Case(model=network(rng, 2, 3, 5), x=with_old_gradient(leaf(rng, 4, 2)))


def forward(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    """The output of every layer, the loss last."""
    outputs = []
    for layer in model:
        x = layer(x)
        outputs.append(x)
    return outputs


@hidden_gradients.mistake(
    en="It looks as if `.grad` of the intermediates is read after `backward()`. Their gradients were computed, but "
    "nobody asked to keep them: None.",
    ru="Похоже, что после `backward()` читается `.grad` промежуточных тензоров. Градиенты вычислены, но сохранить их "
    "никто не просил: там None.",
)
def reads_what_was_not_kept(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = forward(model, x)
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="It looks as if `retain_grad()` comes after `backward()`. It asks the next backward pass; this one has already "
    "thrown the gradients away.",
    ru="Похоже, что `retain_grad()` вызывается после `backward()`. Он относится к следующему обратному проходу, а "
    "этот свои градиенты уже выбросил.",
)
def retains_too_late(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = forward(model, x)
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    for output in outputs:
        output.retain_grad()
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="It looks as if each gradient is that of the next layer's output, not of the loss: local derivatives, before the "
    "chain rule has joined them.",
    ru="Похоже, что каждый градиент — производная выхода следующего слоя, а не функции потерь. Это локальные "
    "производные: цепное правило их ещё не перемножило.",
)
def local_derivatives(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = forward(model, x)
    nexts = [*outputs[1:], outputs[-1]]
    return [torch.autograd.grad(b.sum(), a, retain_graph=True)[0] for a, b in zip(outputs, nexts)]


@hidden_gradients.mistake(
    en="It looks as if every output is detached and made a leaf before the next layer. That cuts the graph: the loss "
    "no longer knows about the layers before.",
    ru="Похоже, что каждый выход перед следующим слоем отсоединяется и становится листом. Граф оборван: функция потерь "
    "больше не знает о предыдущих слоях.",
)
def detaches_every_output(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = []
    for layer in model:
        h = layer(x)
        x = h.detach().requires_grad_()
        outputs.append(x)
    h.backward()
    return [*(output.grad for output in outputs[:-1]), torch.ones_like(h)]


@hidden_gradients.mistake(
    en="It looks as if the gradients stand in the order in which they were computed. A backward pass goes from the "
    "loss to the input: turn the list around.",
    ru="Похоже, что градиенты стоят в том порядке, в котором вычислялись. Обратный проход идёт от функции потерь ко "
    "входу: список нужно перевернуть.",
)
def in_backward_order(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    gradients: list[Tensor] = []
    for output in (outputs := forward(model, x)):
        output.register_hook(gradients.append)  # type: ignore[no-untyped-call]
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return gradients


@hidden_gradients.mistake(
    en="It looks as if the last layer is missing. The loss is an output, too, and its derivative with respect to "
    "itself is 1.",
    ru="Похоже, что пропущен последний слой. Значение функции потерь — тоже выход, и его производная по самому себе "
    "равна 1.",
)
def leaves_out_the_loss(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    *hidden, loss = forward(model, x)
    return list(torch.autograd.grad(loss, hidden))


@hidden_gradients.mistake(
    en="It looks as if these are the gradients of the weights. Asked for are those of the outputs that run through the "
    "network.",
    ru="Похоже, что это градиенты весов. Нужны градиенты выходов, которые слои передают дальше по сети.",
)
def gradients_of_weights(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(forward(model, x)[-1], list(model.parameters())))


@hidden_gradients.mistake(
    en="It looks as if the loss was not asked to keep its own gradient. It is an output like the others: 1, not None.",
    ru="Похоже, что градиент самого значения функции потерь не сохранён. Это такой же выход, как остальные, и его "
    "градиент — 1, а не None.",
)
def forgets_to_keep_the_last(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = forward(model, x)
    for output in outputs[:-1]:
        output.retain_grad()
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="It looks as if a backward pass starts for every layer. One pass meets all of these gradients on its way.",
    ru="Похоже, что обратный проход запускается для каждого слоя. Один проход встречает все эти градиенты по дороге.",
)
def one_pass_for_each(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = forward(model, x)
    return [torch.autograd.grad(outputs[-1], output, retain_graph=True)[0] for output in outputs]


@hidden_gradients.mistake(*hidden_gradients.mistakes["one_pass_for_each"].says)
def one_backward_for_each(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = forward(model, x)
    for output in outputs:
        outputs[-1].backward(inputs=[output], retain_graph=True)  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="It looks as if a plain `backward()` ran. The list is right, but that pass also added to `.grad` of every weight, "
    "in place: the tensor that was there before, saved or not, has changed.",
    ru="Похоже, что вызван обычный `backward()`. Список верен, но этот проход заодно прибавил градиенты в `.grad` "
    "каждого веса, на месте: тензор, который лежал там раньше, изменился, даже если его сохранить под другим именем.",
)
def adds_to_the_weights(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = forward(model, x)
    for output in outputs:
        output.retain_grad()
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="It looks as if the gradients of the weights are cleared at the end. What was there before is gone, and somebody "
    "may still need it.",
    ru="Похоже, что в конце градиенты весов обнуляются. Прежние градиенты пропали, а они ещё могли понадобиться.",
)
def clears_the_weights(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    gradients = adds_to_the_weights(model, x)
    model.zero_grad()
    return gradients  # type: ignore[no-any-return]


@hidden_gradients.mistake(
    en="It looks as if hooks were left on the layers. They will run in every later step of the training: keep their "
    "handles and `remove()` them.",
    ru="Похоже, что на слоях остались хуки. Они будут срабатывать на каждом следующем шаге обучения: сохраните то, что "
    "вернула регистрация, и вызовите `remove()`.",
)
def leaves_hooks(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs: list[Tensor] = []
    for layer in model:
        layer.register_forward_hook(lambda _, __, output: outputs.append(output))
    return list(torch.autograd.grad(model(x), outputs))


@hidden_gradients.mistake(
    en="It looks as if `x` was told to require grad. It belongs to the caller, and the outputs require grad without it.",
    ru="Похоже, что `x` теперь требует градиента. Он принадлежит вызывающему коду, а выходы требуют градиента и без "
    "этого.",
)
def tracks_the_data(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = forward(model, x.requires_grad_())
    return list(torch.autograd.grad(outputs[-1], outputs))


@hidden_gradients.mistake(
    en="It looks as if the model was switched to `eval()` and left there. The training goes on in another mode.",
    ru="Похоже, что модель переведена в `eval()` и так оставлена. Обучение продолжится в другом режиме.",
)
def leaves_it_in_eval(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = forward(model.eval(), x)
    return list(torch.autograd.grad(outputs[-1], outputs))


# ------------------------------------------------------------------------------------------- core: one step of descent


def weights_with_gradients(rng: torch.Generator, *shapes: tuple[int, ...], unused: int | None) -> list[Tensor]:
    """Leaves with a gradient each, but for the one at the place `unused`, which stands for one that no loss used."""
    weights = [leaf(rng, *shape) for shape in shapes]
    for place, weight in enumerate(weights):
        if place != unused:
            weight.grad = signed(rng, *weight.shape)
    return weights


def remade(weights: list[Tensor]) -> list[Tensor]:
    """Leaves like `weights`, gradients included."""
    copies = [weight.detach().clone().requires_grad_() for weight in weights]
    for made, weight in zip(copies, weights):
        made.grad = None if weight.grad is None else weight.grad.clone()
    return copies


@exercise(
    title=Text("Find the bug: a step that changes nothing", "Найдите ошибку: шаг, который ничего не меняет"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "weights",
            2,
            en="The tensors of the list themselves hold the values after the step, in place.",
            ru="Сами тензоры из списка содержат значения после шага: они изменены на месте.",
        ),
        aspect(
            "flags",
            1,
            en="They are still leaves that require grad.",
            ru="Они по-прежнему листья, которые требуют градиента.",
        ),
        aspect(
            "cleared",
            1,
            en="Their `.grad` is None or zero.",
            ru="Их `.grad` равен None или нулю.",
        ),
        aspect(
            "noticed",
            1,
            en="Autograd can notice each change: the `_version` of every tensor that was stepped has grown.",
            ru="Autograd может заметить каждое изменение: `_version` каждого изменённого тензора вырос.",
        ),
    ],
    hints=[
        Text(
            "After `w = w - lr * w.grad`, is `w` the tensor that stands in the list?",
            "После `w = w - lr * w.grad` имя `w` указывает на тот тензор, что стоит в списке?",
        ),
        Text(
            "An in-place operation changes the tensor itself. In grad mode a leaf refuses it; where does it not?",
            "Операция с изменением на месте меняет сам тензор. При включённом отслеживании для листа она запрещена; "
            "а когда разрешена?",
        ),
        Text(
            "with torch.no_grad():\n    for w in weights:\n        if w.grad is not None:\n            ...",
            "with torch.no_grad():\n    for w in weights:\n        if w.grad is not None:\n            ...",
        ),
    ],
)
def update(answer: Any, case: Case) -> dict[str, object]:
    weights = remade(case.weights)
    names = {f"weights[{place}]": weight for place, weight in enumerate(weights)}
    memory, versions = [w.data_ptr() for w in weights], [w._version for w in weights]
    listed = list(weights)
    returned = answer.update(listed, case.lr)
    cleared = {f"{name}.grad": "None or zero" if is_empty(w.grad) else w.grad for name, w in names.items()}
    grew = {f"{name}._version has grown": w._version > old for (name, w), old in zip(names.items(), versions)}
    return {
        "weights": {name: w.detach() for name, w in names.items()},
        "flags": {key: value for name, w in names.items() for key, value in flags(name, w).items()},
        "cleared": cleared,
        "noticed": {key: yes for (key, yes), given in zip(grew.items(), case.weights) if given.grad is not None},
        "in_list": [(new is w, isinstance(new, Tensor) and new.requires_grad) for new, w in zip(listed, weights)],
        "returned": returned is not None,
        "same_memory": [w.data_ptr() == before for w, before in zip(weights, memory)],
    }


def is_empty(gradient: Tensor | None) -> bool:
    """Is there nothing in a `.grad`, or zeros?"""
    return gradient is None or not bool(gradient.any())


@update.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(weights=weights_with_gradients(rng, (2, 3), (4,), unused=None), lr=0.1)
    yield Case(weights=weights_with_gradients(rng, (3,), (2, 2), (1,), (5,), unused=1), lr=0.25)
    yield Case(weights=weights_with_gradients(rng, (2,), (3, 1), unused=0), lr=0.5)


def stepped(weights: list[Tensor]) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Place, weight and gradient of those that have one."""
    for place, weight in enumerate(weights):
        if weight.grad is not None:
            yield place, weight, weight.grad


@update.mistake(
    en="It looks as if only `.grad` has changed. Either it was cleared before the step could use it, or the step made new "
    "tensors and bound a name to them; those in the list are others.",
    ru="Похоже, что изменился только `.grad`. Либо он обнулён до того, как шаг его использовал, либо шаг создал "
    "новые тензоры и связал с ними имя, а в списке остались прежние.",
)
def only_clears(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in stepped(weights):
        w.grad = None
        w = w - lr * gradient


@update.mistake(
    en="It looks as if the step still makes new tensors and binds a name to them, under `no_grad()` or not. The tensors in "
    "the list are the old ones, and nothing has happened to them.",
    ru="Похоже, что шаг по-прежнему создаёт новые тензоры и связывает с ними имя, внутри `no_grad()` или нет. В списке "
    "стоят старые, и с ними ничего не произошло.",
)
def rebinds_the_name(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in stepped(weights):
            w = w - lr * gradient


@update.mistake(
    en="It looks as if `.grad` is set to None before the step, which then has nothing to use.",
    ru="Похоже, что `.grad` становится None ещё до шага, и градиента для шага не остаётся.",
)
def drops_them_first(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, _ in stepped(weights):
            w.grad = None
            w -= lr * w.grad  # type: ignore[operator]


@update.mistake(
    en="It looks as if the loop ends at the first weight without a gradient. Those after it wait for their step, too.",
    ru="Похоже, что цикл кончается на первом весе без градиента. Весам после него тоже нужен шаг.",
)
def stops_at_the_first_gap(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for w in weights:
            if w.grad is None:
                break
            w -= lr * w.grad
            w.grad = None


@update.mistake(
    en="It looks as if the step is the gradient itself: `lr` is not in it.",
    ru="Похоже, что шаг равен самому градиенту: `lr` в нём нет.",
)
def leaves_out_the_rate(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in stepped(weights):
            w -= gradient
            w.grad = None


@update.mistake(
    en="It looks as if the learning rate is 0.1 whatever `lr` says.",
    ru="Похоже, что скорость обучения всегда 0.1, чему бы ни был равен `lr`.",
)
def writes_the_rate(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in stepped(weights):
            w -= 0.1 * gradient
            w.grad = None


@update.mistake(
    en="It looks as if each weight was stepped twice.",
    ru="Похоже, что для каждого веса шаг сделан дважды.",
)
def steps_twice(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in stepped(weights):
            w -= 2 * lr * gradient
            w.grad = None


@update.mistake(
    en="It looks as if new tensors were put into the list. Whoever holds the weights, a model or an optimizer, still "
    "holds the old ones.",
    ru="Похоже, что в список положены новые тензоры. Модель и оптимизатор по-прежнему хранят старые.",
)
def replaces_in_the_list(weights: list[Tensor], lr: float) -> None:
    for place, w, gradient in stepped(weights):
        weights[place] = w - lr * gradient


@update.mistake(
    en="It looks as if new tensors, made under `no_grad()`, were put into the list. They do not require grad: the next "
    "loss would have no graph.",
    ru="Похоже, что в список положены новые тензоры, созданные внутри `no_grad()`. Градиента они не требуют: у следующей "
    "функции потерь не будет графа.",
)
def replaces_with_constants(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for place, w, gradient in stepped(weights):
            weights[place] = w - lr * gradient


@update.mistake(
    en="It looks as if the new weights are returned. Nobody takes them: the tensors in the list are what a model holds.",
    ru="Похоже, что функция возвращает новые веса. Их никто не возьмёт: модель хранит именно те тензоры, что стоят в "
    "списке.",
)
def returns_new_weights(weights: list[Tensor], lr: float) -> list[Tensor]:
    return [w if w.grad is None else w - lr * w.grad for w in weights]


@update.mistake(
    en="It looks as if a leaf is changed in place in grad mode. Autograd refuses that: the change would be recorded, and "
    "the leaf would no longer be one.",
    ru="Похоже, что лист меняется на месте при включённом отслеживании. Autograd это запрещает: изменение было бы "
    "записано, и лист перестал бы быть листом.",
)
def steps_in_grad_mode(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in stepped(weights):
        w -= lr * gradient


@update.mistake(
    en="It looks as if every weight was expected to have a gradient. One that no loss used has None in `.grad`.",
    ru="Похоже, вы считаете, что градиент есть у каждого веса. На самом деле у веса, от которого функция потерь не "
    "зависела, в `.grad` лежит None.",
)
def expects_every_gradient(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for w in weights:
            w -= lr * w.grad  # type: ignore[operator]


@update.mistake(
    en="It looks as if the gradients are cleared before the step, which then has nothing to use.",
    ru="Похоже, что градиенты обнуляются до шага, и для шага ничего не остаётся.",
)
def clears_first(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in stepped(weights):
            gradient.zero_()
            w -= lr * gradient


@update.mistake(
    en="It looks as if the step goes up the slope: the gradient is added.",
    ru="Похоже, что шаг идёт вверх: градиент прибавляется, а не вычитается.",
)
def ascends(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in stepped(weights):
            w += lr * gradient
            w.grad = None


@update.mistake(
    en="It looks as if `requires_grad` was switched off for the step and not on again.",
    ru="Похоже, что `requires_grad` выключен на время шага, а потом не включён снова.",
)
def leaves_them_frozen(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in stepped(weights):
        w.requires_grad_(False)
        w -= lr * gradient
        w.grad = None


@update.mistake(
    en="It looks as if the gradients stay in `.grad`. The next `backward()` adds to them.",
    ru="Похоже, что градиенты остались в `.grad`. Следующий `backward()` прибавит к ним новые.",
)
def forgets_to_clear(weights: list[Tensor], lr: float) -> None:
    with torch.no_grad():
        for _, w, gradient in stepped(weights):
            w -= lr * gradient


@update.mistake(
    en="It looks as if the step goes through `.data` or NumPy. The values are right, but the version counter did not move: "
    "a graph that still needs the old values would not notice.",
    ru="Похоже, что шаг сделан через `.data` или NumPy. Значения верны, но счётчик версий не изменился: граф, которому ещё нужны "
    "прежние значения, ничего не заметит.",
)
def steps_through_data(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in stepped(weights):
        w.data -= lr * gradient
        w.grad = None


@update.mistake(
    en="It looks as if the weight was given other memory, say by `w.data = ...`. The values are right, but the version "
    "counter did not move.",
    ru="Похоже, что весу дали другую память, например строкой `w.data = ...`. Значения верны, но счётчик версий не "
    "изменился.",
)
def assigns_data(weights: list[Tensor], lr: float) -> None:
    for _, w, gradient in stepped(weights):
        w.data = w.data - lr * gradient
        w.grad = None


# ------------------------------------------------------------------------------ core: edits seen and unseen by autograd


@exercise(
    title=Text("Edits that autograd sees, and does not", "Изменения, которые autograd видит и не видит"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "values",
            1,
            en="`h` itself holds the numbers of `values`, in memory of its own, and `values` is as it was.",
            ru="Сам `h` содержит числа из `values`, в собственной памяти, а `values` не изменился.",
        ),
        aspect(
            "noticed",
            1,
            en="With `noticed=True`, a backward pass that needs the old `h` is refused with a RuntimeError.",
            ru="При `noticed=True` обратный проход, которому нужен прежний `h`, прерывается ошибкой RuntimeError.",
        ),
        aspect(
            "unnoticed",
            2,
            en="With `noticed=False`, the same backward pass runs and gives the gradient of a loss that was never "
            "computed.",
            ru="При `noticed=False` тот же обратный проход выполняется и даёт градиент функции потерь, которую никто не "
            "вычислял.",
        ),
    ],
    hints=[
        Text(
            "Autograd compares version numbers, not values. Which ways of writing leave the number as it is?",
            "Autograd сравнивает номера версий, а не значения. При каких способах записи номер остаётся прежним?",
        ),
        Text(
            "Try each way on a small tensor and print `_version`: `no_grad()`, `detach()`, `.data`.",
            "Попробуйте каждый способ на маленьком тензоре и напечатайте `_version`: `no_grad()`, `detach()`, `.data`.",
        ),
        Text(
            "if noticed:\n    with torch.no_grad():\n        h.copy_(...)\nelse:\n    ...",
            "if noticed:\n    with torch.no_grad():\n        h.copy_(...)\nelse:\n    ...",
        ),
    ],
)
def overwrite(answer: Any, case: Case) -> dict[str, object]:
    h, values = case.h, case.values.clone()
    x, loss, version = h.grad_fn.next_functions[0][0].variable, h.square().sum(), h._version
    answer.overwrite(h, values, case.noticed)
    found: object
    with using_answer():
        try:
            (found,) = torch.autograd.grad(loss, x)
        except RuntimeError as error:
            told = "modified by an inplace operation" in str(error) and h._version > version
            found = "refused with that error" if told else "refused with another error"
    return {
        "values": {"h": h.detach(), "values": values, "one memory for both": h.data_ptr() == values.data_ptr()},
        "noticed": found if case.noticed else None,
        "unnoticed": None if case.noticed else found,
    }


@overwrite.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for noticed in (True, False):
        yield Case(h=leaf(rng, 2, 3) * 3, values=signed(rng, 2, 3), noticed=noticed)
        yield Case(h=leaf(rng, 4).exp(), values=signed(rng, 4), noticed=noticed)


@overwrite.mistake(
    en="It looks as if both edits go past the version counter. `.data` and a NumPy array share the memory of `h`, but "
    "not its counter.",
    ru="Похоже, что оба изменения идут мимо счётчика версий. У `.data` и у массива NumPy общая с `h` память, но не "
    "счётчик.",
)
def both_unseen(h: Tensor, values: Tensor, noticed: bool) -> None:
    h.data.copy_(values)


@overwrite.mistake(
    en="It looks as if both edits move the version counter. `no_grad()` stops recording, not counting, and what "
    "`detach()` returns shares the counter.",
    ru="Похоже, что оба изменения увеличивают счётчик версий. `no_grad()` выключает отслеживание, но не счётчик, и "
    "у того, что вернул `detach()`, счётчик общий.",
)
def both_seen(h: Tensor, values: Tensor, noticed: bool) -> None:
    h.detach().copy_(values)


@overwrite.mistake(
    en="It looks as if the two ways are the wrong way round: `.data` is the one that autograd does not see.",
    ru="Похоже, что два способа перепутаны: autograd не видит как раз `.data`.",
)
def swapped(h: Tensor, values: Tensor, noticed: bool) -> None:
    (h.data if noticed else h.detach()).copy_(values)


@overwrite.mistake(
    en="It looks as if the numbers went elsewhere, say under a new name or into a copy. The caller's tensor has not "
    "changed.",
    ru="Похоже, что числа записаны в другое место, например под новым именем или в копию. Тензор вызывающего кода не "
    "изменился.",
)
def writes_elsewhere(h: Tensor, values: Tensor, noticed: bool) -> None:
    h.detach().clone().copy_(values)


@overwrite.mistake(
    en="It looks as if `requires_grad` was to be switched off for the edit. That flag can be changed at leaves only, and "
    "`h` is a result.",
    ru="Похоже, что на время изменения выключается `requires_grad`. Этот флаг можно менять только у листьев, а `h` — "
    "результат операции.",
)
def switches_the_flag_off(h: Tensor, values: Tensor, noticed: bool) -> None:
    h.requires_grad_(False)
    h.copy_(values)


@overwrite.mistake(
    en="It looks as if `h.data` was given the tensor `values` itself. Now they are two names for one memory, and an edit "
    "of one shows in the other.",
    ru="Похоже, что в `h.data` положен сам тензор `values`. Теперь это два имени одной памяти, и изменение одного видно в "
    "другом.",
)
def shares_the_values(h: Tensor, values: Tensor, noticed: bool) -> None:
    h.data = values
    if noticed:
        h.detach().mul_(1)


@overwrite.mistake(
    en="It looks as if `h.data` was given a new tensor. `h` shows the new numbers, but where the graph kept the old memory, "
    "as `exp` does with its result, it still holds the old ones.",
    ru="Похоже, что в `h.data` положен новый тензор. `h` показывает новые числа, но граф мог сохранить прежнюю "
    "память (так `exp` сохраняет свой результат), и в ней лежат старые.",
)
def assigns_new_memory(h: Tensor, values: Tensor, noticed: bool) -> None:
    if noticed:
        h.detach().copy_(values)
    else:
        h.data = values.clone()


# -------------------------------------------------------------------------------- extra: a copy that is not a copy


@exercise(
    title=Text("Find the bug: a snapshot that changes", "Найдите ошибку: снимок, который меняется"),
    kind="find the bug",
    minutes=3,
    aspects=[
        aspect(
            "snapshot",
            1,
            en="The snapshot holds what `x` held at the time of the call, also after `x` has been edited.",
            ru="Снимок содержит то, что было в `x` в момент вызова, даже если `x` потом изменили.",
        ),
        aspect(
            "flags",
            1,
            en="It is a constant: it does not require grad and has no `grad_fn`.",
            ru="Это константа: градиента не требует, `grad_fn` у неё нет.",
        ),
        aspect(
            "x",
            1,
            en="`x` itself stays as it is, when the snapshot is taken and when it is edited: numbers, history, flag, memory.",
            ru="Сам `x` остаётся прежним, и когда снимок делают, и когда его меняют: числа, история, флаг, память.",
        ),
    ],
    hints=[
        Text(
            "How many numbers are in memory after `x.detach()`: as many as before, or twice as many?",
            "Сколько чисел в памяти после `x.detach()`: столько же, сколько было, или вдвое больше?",
        ),
        Text(
            "Two things are wanted: memory of its own, and no history. One call for each.",
            "Нужны две вещи: своя память и отсутствие истории. По одному вызову на каждую.",
        ),
        Text("return x.detach(). ...", "return x.detach(). ..."),
    ],
)
def snapshot(answer: Any, case: Case) -> dict[str, object]:
    x = case.x.detach().clone().requires_grad_(case.x.requires_grad)
    x = x if case.x.is_leaf else x * 1
    memory = x.data_ptr()
    taken = answer.snapshot(x)
    state = {**flags("x", x), "x.grad_fn": creator(x), "x.data_ptr() is as before": x.data_ptr() == memory}
    if not isinstance(taken, Tensor):
        return {"snapshot": taken}
    with using_answer():
        with torch.no_grad():
            x.mul_(-3)
        later, tracking = taken.detach().clone(), flags("snapshot", taken)
        with torch.no_grad():
            taken.zero_()
    return {"snapshot": later, "flags": tracking, "x": {"x": x.detach(), **state}, "is x": taken is x}


@snapshot.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=leaf(rng, 3))
    yield Case(x=leaf(rng, 2, 3) * 2)
    yield Case(x=signed(rng, 4).float())


@snapshot.mistake(
    en="It looks as if the snapshot still shares its memory with `x`. `.data`, `numpy()` and `Variable`, like `detach()`, "
    "give a second name for the same numbers; `.contiguous()`, `.cpu()` and `.to(...)` copy only when they have to.",
    ru="Похоже, что у снимка по-прежнему общая с `x` память. `.data`, `numpy()` и `Variable`, как и `detach()`, дают "
    "второе имя той же памяти; `.contiguous()`, `.cpu()` и `.to(...)` копируют, только если иначе нельзя.",
)
def takes_data(x: Tensor) -> Tensor:
    return x.data


@snapshot.mistake(
    en="It looks as if `x` itself comes back, under another name. `.contiguous()`, `.cpu()` and `.to(...)` return the very "
    "tensor they are called on when there is nothing to do.",
    ru="Похоже, что возвращается сам `x` под другим именем. `.contiguous()`, `.cpu()` и `.to(...)` возвращают тот самый "
    "тензор, если делать нечего.",
)
def hands_back_x(x: Tensor) -> Tensor:
    return x.contiguous()


@snapshot.mistake(
    en="It looks as if `x` was given new memory. Whoever shares the old one no longer sees its edits; the new memory "
    "belongs to the snapshot.",
    ru="Похоже, что новую память получил `x`. Тот, у кого осталась прежняя, больше не увидит его изменений; новая память "
    "нужна снимку.",
)
def moves_x(x: Tensor) -> Tensor:
    x.data = x.data.clone()
    return x.detach().clone()


@snapshot.mistake(
    en="It looks as if `x` was cut off from its history. `detach_()` and `requires_grad_()` change the caller's tensor; "
    "only the snapshot should be a constant.",
    ru="Похоже, что от графа отсоединён сам `x`. `detach_()` и `requires_grad_()` меняют тензор вызывающего кода; "
    "константой должен быть только снимок.",
)
def cuts_x_off(x: Tensor) -> Tensor:
    return x.detach_().clone()


@snapshot.mistake(
    en="It looks as if the snapshot is still part of the graph. Copying the numbers is recorded, too, by `clone()` "
    "and by `copy_()`.",
    ru="Похоже, что снимок остался частью графа. Копирование тоже записывается, будь то `clone()` или `copy_()`.",
)
def clones_only(x: Tensor) -> Tensor:
    return x.clone()


@snapshot.mistake(
    en="It looks as if the snapshot requires grad, as a new leaf. A record of the past should be a constant.",
    ru="Похоже, что снимок — новый лист, который требует градиента. Запись о прошлом должна быть константой.",
)
def makes_a_weight(x: Tensor) -> Tensor:
    return x.detach().clone().requires_grad_()


@snapshot.mistake(
    en="It looks as if `copy.deepcopy` was used. It keeps `requires_grad` for leaves and refuses results.",
    ru="Похоже, что использован `copy.deepcopy`. У листьев он сохраняет `requires_grad`, а результаты операций не "
    "копирует вовсе.",
)
def copies_deeply(x: Tensor) -> Tensor:
    return copy.deepcopy(x)


@snapshot.mistake(
    en="It looks as if the snapshot is float32, whatever `x` is. A Python list, for one, loses the dtype: torch makes "
    "float32 of its numbers.",
    ru="Похоже, что снимок всегда float32, каким бы ни был `x`. Например, в списке Python dtype теряется: из его "
    "чисел torch делает float32.",
)
def goes_through_a_list(x: Tensor) -> Tensor:
    return torch.tensor(x.tolist(), dtype=torch.float32)


# ------------------------------------------------------------------------------------------- extra: the NumPy bridge


@exercise(
    title=Text("The bridge to NumPy", "Тензоры и массивы NumPy"),
    kind="predict",
    minutes=6,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Of each call ask: does it copy, or give a second name to the same memory?",
            "О каждом вызове спросите: он копирует или даёт второе имя той же памяти?",
        ),
        Text(
            "`from_numpy` and `numpy()` share, `torch.tensor` copies. NumPy knows nothing of version counters.",
            "У `from_numpy` и `numpy()` память общая, `torch.tensor` копирует. О счётчиках версий NumPy ничего не знает.",
        ),
        Text(
            "NumPy's default is float64, and the bridge keeps the dtype. `numpy()` asks one question only: would the "
            "array hide a history that is being recorded?",
            "В NumPy по умолчанию float64, и при преобразовании dtype сохраняется. `numpy()` проверяет одно: не "
            "пройдут ли действия с массивом мимо графа, который сейчас записывается?",
        ),
    ],
)
def predict_bridge(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_bridge)}


@predict_bridge.mistake(
    en="It looks as if `from_numpy` made float32. It keeps the array's dtype, and NumPy's default is float64.",
    ru="Похоже, вы считаете, что `from_numpy` даёт float32. На самом деле он сохраняет dtype массива, а в NumPy по "
    "умолчанию float64.",
)
def bridge_makes_float32() -> dict[str, object]:
    return {"torch.from_numpy(array).dtype": "torch.float32"}


@predict_bridge.mistake(
    en="It looks as if `from_numpy` copied. It is a second name for the array's memory.",
    ru="Похоже, вы считаете, что `from_numpy` копирует. На самом деле он даёт тензор с той же памятью.",
)
def from_numpy_copies() -> dict[str, object]:
    return {"shared[0] after array[0] = 5": 1.0}


@predict_bridge.mistake(
    en="It looks as if `torch.tensor(array)` shared the memory. It always copies.",
    ru="Похоже, вы считаете, что у `torch.tensor(array)` и массива общая память. На самом деле он всегда копирует.",
)
def torch_tensor_shares() -> dict[str, object]:
    return {"copied[0] after array[0] = 5": 5.0}


@predict_bridge.mistake(
    en="It looks as if `numpy()` gave a copy. An edit of the array is an edit of the tensor.",
    ru="Похоже, вы считаете, что `numpy()` даёт копию. На самом деле память общая: меняется массив — меняется и "
    "тензор.",
)
def to_numpy_copies() -> dict[str, object]:
    return {"c[0] after c.numpy()[0] = 7": 1.0}


@predict_bridge.mistake(
    en="It looks as if every conversion needs `detach()`. A constant has no history to hide.",
    ru="Похоже, вы считаете, что `detach()` нужен при любом преобразовании. На самом деле константе он не нужен: у "
    "неё нет истории.",
)
def numpy_always_needs_detach() -> dict[str, object]:
    return {"c[0] after c.numpy()[0] = 7": "RuntimeError"}


@predict_bridge.mistake(
    en="It looks as if a tensor that requires grad converts silently. Torch refuses: the array would leave the graph "
    "without a word.",
    ru="Похоже, вы считаете, что тензор, который требует градиента, преобразуется без возражений. На самом деле "
    "torch это запрещает: действия с массивом незаметно прошли бы мимо графа.",
)
def tracked_converts() -> dict[str, object]:
    return {"w.numpy()": "accepted"}


@predict_bridge.mistake(
    en="It looks as if `no_grad()` made no difference to `numpy()`. Inside it nothing is recorded, so there is nothing "
    "to refuse.",
    ru="Похоже, вы считаете, что `no_grad()` для `numpy()` ничего не меняет. На самом деле внутри него ничего не "
    "записывается, и запрещать нечего.",
)
def no_grad_is_refused() -> dict[str, object]:
    return {"w.numpy() under no_grad": "RuntimeError"}


@predict_bridge.mistake(
    en="It looks as if `tolist()` needed `detach()`. It copies the numbers out and is allowed.",
    ru="Похоже, вы считаете, что для `tolist()` нужен `detach()`. На самом деле этот метод копирует числа в список "
    "Python, и это разрешено.",
)
def tolist_is_refused() -> dict[str, object]:
    return {"w.tolist()": "RuntimeError"}


@predict_bridge.mistake(
    en="It looks as if `detach()` had made a copy before the edit. It is the leaf's own memory that was edited.",
    ru="Похоже, вы считаете, что `detach()` перед изменением делает копию. На самом деле изменена память самого листа.",
)
def detach_copied() -> dict[str, object]:
    return {"w[0] after w.detach().numpy()[0] = 9": 1.0}


@predict_bridge.mistake(
    en="It looks as if an edit through NumPy was counted. The version counter belongs to torch; NumPy writes past it.",
    ru="Похоже, вы считаете, что изменение через NumPy учтено счётчиком. На самом деле счётчик версий ведёт torch, а "
    "NumPy пишет мимо него.",
)
def numpy_is_counted() -> dict[str, object]:
    return {"w._version": 1}


# ---------------------------------------------------------------------------------- extra: memory nobody has filled


class _SomeFinite(TorchDispatchMode):
    """Writes a finite number into every second entry of memory that nobody has filled."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func._schema.name.split("::")[1] in ("empty", "empty_like", "new_empty", "empty_strided"):
            made.view(-1)[1::2] = 1000
        return made


@contextmanager
def filled_memory() -> Iterator[None]:
    """Uninitialised memory holds NaN and 1000 by turns, so that who reads it reads the same each time.

    With NaN alone `nan_to_num()` would pass for a remedy, with numbers alone a multiplication by 0 would.
    """
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with _SomeFinite():  # type: ignore[no-untyped-call]
            yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@exercise(
    title=Text("Find the bug: a sum that starts from garbage", "Найдите ошибку: сумма, которая начинается с мусора"),
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
            "`torch.Tensor(2, 3)` просит место под 2 × 3 числа и ничего туда не пишет. Его dtype — float32, каким бы ни "
            "был `w`.",
        ),
        Text("total = torch.zeros_like(...)", "total = torch.zeros_like(...)"),
    ],
)
def sum_gradients(answer: Any, case: Case) -> dict[str, object]:
    w, curved = case.w, False
    with filled_memory():
        total = answer.sum_gradients(case.losses, w)
    tracked = isinstance(total, Tensor) and total.requires_grad
    if tracked and w.requires_grad:
        with using_answer():
            (second,) = torch.autograd.grad(total.sum(), w, allow_unused=True, retain_graph=True)
            curved = second is not None and bool(second.any())
    kept = {"w": w.detach(), "w.requires_grad": w.requires_grad, "w.grad": w.grad}
    return {"total": total, "kept": {"requires_grad of the sum": tracked, **kept}, "curved": curved}


def losses_of(w: Tensor, points: Tensor) -> list[Callable[[], Tensor]]:
    """A loss for each row of `points`, as functions without arguments."""

    def loss_of(point: Tensor) -> Callable[[], Tensor]:
        return lambda: (w * point).square().sum()

    return [loss_of(point) for point in points]


@sum_gradients.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    w = with_old_gradient(leaf(rng, 2, 3))
    yield Case(losses=losses_of(w, uniform(rng, 3, 3)), w=w)
    w = uniform(rng, 4).float().requires_grad_()  # another dtype, nothing in `.grad`
    yield Case(losses=losses_of(w, uniform(rng, 5, 4).float()), w=w)


def added_up(total: Tensor, losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    for loss in losses:
        total += torch.autograd.grad(loss(), w)[0]
    return total


@sum_gradients.mistake(
    en="It looks as if the sum still starts from memory that nobody filled. `empty_like`, too, writes nothing.",
    ru="Похоже, что сумма по-прежнему начинается с незаполненной памяти. `empty_like` тоже ничего туда не пишет.",
)
def starts_from_empty(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return added_up(torch.empty_like(w, requires_grad=False), losses, w)


@sum_gradients.mistake(
    en="It looks as if the sum still starts from memory that nobody filled, and is float32 whatever `w` is. `torch.empty` "
    "and the old constructors ask for room and write nothing.",
    ru="Похоже, что сумма по-прежнему начинается с незаполненной памяти, и её dtype — float32, каким бы ни был `w`. "
    "`torch.empty` и старые конструкторы просят место и ничего туда не пишут.",
)
def asks_for_room(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return added_up(torch.empty(w.shape), losses, w)


@sum_gradients.mistake(
    en="It looks as if NaN is replaced before the sum. NaN is only what torch writes there when asked to; otherwise fresh "
    "memory may hold any numbers.",
    ru="Похоже, что перед суммированием заменяется NaN. NaN лежит там, только если об этом попросить torch; обычно в "
    "новой памяти могут быть любые числа.",
)
def replaces_nan(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return added_up(torch.empty_like(w, requires_grad=False).nan_to_num(), losses, w)


@sum_gradients.mistake(
    en="It looks as if unfilled memory is multiplied by 0. It may hold NaN, and NaN times 0 is NaN.",
    ru="Похоже, что незаполненная память умножается на 0. В ней может лежать NaN, а NaN, умноженное на 0, — это NaN.",
)
def multiplies_by_zero(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return added_up(torch.empty_like(w, requires_grad=False) * 0, losses, w)


@sum_gradients.mistake(
    en="It looks as if the sum starts from zeros of another dtype. `torch.zeros(w.shape)` is float32, whatever `w` is.",
    ru="Похоже, что сумма начинается с нулей другого типа. `torch.zeros(w.shape)` — это float32, каким бы ни был `w`.",
)
def loses_the_dtype(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return added_up(torch.zeros(w.shape, dtype=torch.float32), losses, w)


@sum_gradients.mistake(
    en="It looks as if the shape became the data. `torch.tensor` makes a tensor of the numbers you hand it; a size goes "
    "to `torch.zeros`.",
    ru="Похоже, что форма передана как данные. `torch.tensor` делает тензор из переданных чисел; размер передают в "
    "`torch.zeros`.",
)
def takes_the_shape_for_data(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return added_up(torch.tensor(w.shape), losses, w)


@sum_gradients.mistake(
    en="It looks as if the sum is a leaf that requires grad. It cannot be added to in place, and it need not be tracked.",
    ru="Похоже, что сумма — лист, который требует градиента. К такому нельзя прибавлять на месте, да и отслеживать его "
    "незачем.",
)
def tracks_the_sum(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return added_up(torch.zeros_like(w, requires_grad=True), losses, w)


@sum_gradients.mistake(
    en="It looks as if the sum starts from a result of `w`, such as `w * 0`, and carries a history along.",
    ru="Похоже, что сумма начинается с результата операции над `w`, например `w * 0`, и тянет за собой историю.",
)
def starts_from_a_result(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return added_up(w * 0, losses, w)


@sum_gradients.mistake(
    en="It looks as if the gradients carry a graph of their own, as with `create_graph=True`. The sum then requires grad.",
    ru="Похоже, что у самих градиентов есть граф, как при `create_graph=True`. Тогда и сумма требует градиента.",
)
def records_the_gradients(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return sum((torch.autograd.grad(loss(), w, create_graph=True)[0] for loss in losses), torch.zeros(()))


@sum_gradients.mistake(
    en="It looks as if this is the mean of the gradients. Asked for is their sum.",
    ru="Похоже, что это среднее градиентов. Нужна их сумма.",
)
def takes_the_mean(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return added_up(torch.zeros_like(w, requires_grad=False), losses, w) / len(losses)


@sum_gradients.mistake(
    en="It looks as if only the last gradient comes back: each overwrites the one before.",
    ru="Похоже, что возвращается только последний градиент: каждый затирает предыдущий.",
)
def keeps_the_last(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return torch.autograd.grad(losses[-1](), w)[0]


@sum_gradients.mistake(
    en="It looks as if only the gradient of the first loss comes back.",
    ru="Похоже, что возвращается градиент только первой функции потерь.",
)
def stops_at_the_first(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return torch.autograd.grad(losses[0](), w)[0]


@sum_gradients.mistake(
    en="It looks as if `w.grad` is None in the end. The caller still needs what was there.",
    ru="Похоже, что в конце `w.grad` равен None. Вызывающему коду ещё нужно то, что там лежало.",
)
def drops_the_old(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    w.grad = None
    return added_up(torch.zeros_like(w, requires_grad=False), losses, w)


@sum_gradients.mistake(
    en="It looks as if `w` was told not to require grad any more. It was the sum that should not; `w` is still to be trained.",
    ru="Похоже, что `w` больше не требует градиента. Не требовать его должна сумма; `w` ещё будут обучать.",
)
def freezes_the_weight(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    total = added_up(torch.zeros_like(w, requires_grad=False), losses, w)
    w.requires_grad_(False)
    return total


@sum_gradients.mistake(
    en="It looks as if the sum was collected in `w.grad`, on top of what was there.",
    ru="Похоже, что сумма собрана в `w.grad`, поверх того, что там уже лежало.",
)
def adds_to_the_old(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor | None:
    for loss in losses:
        loss().backward()  # type: ignore[no-untyped-call]
    return w.grad


@sum_gradients.mistake(
    en="It looks as if `w.grad` was cleared and used for the sum. The caller still needs what was there.",
    ru="Похоже, что `w.grad` обнулён и использован для суммы. Вызывающему коду ещё нужно то, что там лежало.",
)
def borrows_the_gradient(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor | None:
    w.grad = None
    for loss in losses:
        loss().backward()  # type: ignore[no-untyped-call]
    return w.grad


@sum_gradients.mistake(
    en="It looks as if the sum starts as another name for `w`: it is added to the weight itself.",
    ru="Похоже, что сумма с самого начала — второе имя `w`: градиенты прибавляются к самому весу.",
)
def adds_to_the_weight(losses: list[Callable[[], Tensor]], w: Tensor) -> Tensor:
    return added_up(w.detach().zero_(), losses, w)


# ------------------------------------------------------------------------------- extra: Variable cuts the graph


def accumulators(root: Tensor) -> int:
    """How many leaves a backward pass from `root` would reach."""
    waiting, seen = [root.grad_fn], set[object]()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [following for following, _ in node.next_functions]
    return sum(node.name().endswith("AccumulateGrad") for node in seen)  # type: ignore[attr-defined]


@exercise(
    title=Text("Find the bug: half of the weights learn", "Найдите ошибку: учится половина весов"),
    kind="find the bug",
    minutes=4,
    aspects=[
        aspect(
            "loss",
            0,
            en="The value of the loss is the same, and `.grad` of both weights is still None: `backward()` is for the caller.",
            ru="Значение функции потерь не изменилось, а `.grad` обоих весов пока None: `backward()` вызовут снаружи.",
        ),
        aspect(
            "w.grad",
            2,
            en="After `loss.backward()` the first weight has its gradient.",
            ru="После `loss.backward()` у первого веса есть его градиент.",
        ),
        aspect(
            "u.grad",
            1,
            en="So has the second weight.",
            ru="У второго веса тоже есть его градиент.",
            after=("loss", "w.grad"),
        ),
    ],
    hints=[
        Text(
            "Which leaves does the graph of the loss lead to? Look at `h.grad_fn`.",
            "К каким листьям ведёт граф функции потерь? Посмотрите на `h.grad_fn`.",
        ),
        Text(
            "A tensor is a `Variable` since torch 0.4. What does `Variable(h)` still do, then?",
            "Начиная с torch 0.4 тензор и есть `Variable`. Что же тогда ещё делает `Variable(h)`?",
        ),
        Text("h = (x @ w).tanh()\n...", "h = (x @ w).tanh()\n..."),
    ],
)
def two_layer_loss(answer: Any, case: Case) -> dict[str, object]:
    w, u = (tensor.detach().clone().requires_grad_() for tensor in (case.w, case.u))
    loss = answer.two_layer_loss(case.x, w, u)
    value = {"loss": loss, "w.grad before backward()": w.grad, "u.grad before backward()": u.grad}
    if not isinstance(loss, Tensor) or w.grad is not None or u.grad is not None:
        return {"loss": value}
    with using_answer():
        reached = accumulators(loss)
        loss.backward()
    return {"loss": value, "w.grad": w.grad, "u.grad": u.grad, "reached": reached}


@two_layer_loss.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=signed(rng, 4, 2), w=leaf(rng, 2, 3), u=leaf(rng, 3, 1))
    yield Case(x=signed(rng, 2, 3), w=leaf(rng, 3, 2), u=leaf(rng, 2, 2))


@two_layer_loss.mistake(
    en="It looks as if the graph is still cut before `h`. `.data`, `detach()`, `no_grad()` and `Variable`, around a weight or "
    "around a result, hand on the numbers without their history.",
    ru="Похоже, что граф по-прежнему обрывается перед `h`. После `.data`, `detach()`, `no_grad()` и `Variable`, всё "
    "равно над весом или над результатом, числа идут дальше без истории.",
)
def cuts_in_another_way(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh().detach() @ u).square().mean()


@two_layer_loss.mistake(
    en="It looks as if a new leaf was put before the loss, between the layers or in the place of `w`. It requires grad and "
    "takes the gradient itself; the `w` of the caller gets none.",
    ru="Похоже, что перед функцией потерь поставлен новый лист, между слоями или на место `w`. Он требует градиента и "
    "забирает его себе; `w` вызывающего кода не получает ничего.",
)
def starts_a_new_leaf(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    h = Variable((x @ w).tanh(), requires_grad=True)  # type: ignore[no-untyped-call]
    return (h @ u).square().mean()


@two_layer_loss.mistake(
    en="It looks as if the loss was made a leaf that requires grad. `backward()` runs and has nowhere to go: no weight "
    "gets anything.",
    ru="Похоже, что листом, который требует градиента, сделано само значение функции потерь. `backward()` выполняется, "
    "но идти ему некуда: веса не получают ничего.",
)
def makes_the_loss_a_leaf(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh() @ u).square().mean().detach().requires_grad_()


@two_layer_loss.mistake(
    en="It looks as if the cut has moved: now the second weight is wrapped or detached, and it is the one without a gradient.",
    ru="Похоже, что разрыв переместился: теперь обёрнут или отсоединён второй вес, и без градиента остался он.",
)
def moves_the_cut(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    return ((x @ w).tanh() @ u.detach()).square().mean()


@two_layer_loss.mistake(
    en="It looks as if `backward()` is called inside the function. That is the caller's part: the caller's own pass "
    "would find the graph freed, or add the gradient once more.",
    ru="Похоже, что `backward()` вызван внутри функции. Его вызовут снаружи, и тот проход застанет граф уже "
    "освобождённым или прибавит градиент ещё раз.",
)
def goes_backward_itself(x: Tensor, w: Tensor, u: Tensor) -> Tensor:
    loss = ((x @ w).tanh() @ u).square().mean()
    loss.backward()  # type: ignore[no-untyped-call]
    return loss


# ---------------------------------------------------------------- extra: a leaf that matters and gets no gradient


@exercise(
    title=Text("A leaf that matters and gets nothing", "Лист, который важен и ничего не получает"),
    kind="write the counter-example",
    difficulty=3,
    minutes=12,
    aspects=[
        aspect(
            "leaf",
            0,
            en="What comes back is a pair `(t, loss)`, and `t` is a leaf that requires grad, before and after.",
            ru="Возвращается пара `(t, loss)`, и `t` — лист, который требует градиента и до вычислений, и после них.",
        ),
        aspect(
            "backward",
            0,
            en="`loss(t)` is a tensor of one number, and `loss(t).backward()` runs without an error.",
            ru="`loss(t)` — тензор из одного числа, и `loss(t).backward()` выполняется без ошибки.",
        ),
        aspect(
            "steady",
            0,
            en="`loss(t)` is the same each time, as long as the numbers of `t` are the same.",
            ru="Пока числа в `t` те же, `loss(t)` не меняется от вызова к вызову.",
            after=("leaf", "backward"),
        ),
        aspect(
            "depends",
            1,
            en="`loss(t)` is another number once 1 has been added to every entry of `t`.",
            ru="Если прибавить 1 к каждому элементу `t`, `loss(t)` становится другим числом.",
            after=("leaf", "backward", "steady"),
        ),
        aspect(
            "empty",
            2,
            en="`t.grad` is None after the backward pass.",
            ru="После обратного прохода `t.grad` равен None.",
            after=("leaf", "backward", "steady", "depends"),
        ),
    ],
    hints=[
        Text(
            "The numbers of `t` must reach the loss. On which ways do numbers travel without their history?",
            "Числа из `t` должны дойти до функции потерь. Какими путями числа проходят без истории?",
        ),
        Text(
            "And `backward()` needs some graph to walk: give it a second leaf.",
            "А `backward()` нужен какой-нибудь граф: дайте ему второй лист.",
        ),
        Text(
            "other = torch.ones(1, requires_grad=True)\nreturn t, lambda t: (other * ...).sum()",
            "other = torch.ones(1, requires_grad=True)\nreturn t, lambda t: (other * ...).sum()",
        ),
    ],
)
def leaf_without_gradient(answer: Any, case: Case) -> dict[str, object]:
    returned = answer.leaf_without_gradient()
    t, loss = returned if kind(returned) == "a pair" else (None, None)
    leaf = {
        "returned": kind(returned),
        "t": kind(t),
        "loss": kind(loss),
        **flags("t", t),
        **flags("after backward() t", None),
    }
    if not isinstance(t, Tensor) or not callable(loss):
        return {"leaf": leaf}
    error: str | None = None
    with using_answer():
        value = loss(t)
        if not isinstance(value, Tensor) or value.numel() != 1:
            found = "a tensor of several numbers" if isinstance(value, Tensor) else f"a {type(value).__name__}"
            leaf |= flags("after backward() t", t)
            return {"leaf": leaf, "backward": {"loss(t)": found, "loss(t).backward()": None}}
        try:
            loss(t).backward()
        except RuntimeError as raised:
            error = str(raised)[:60]
        gradient = t.grad
        found = "nothing" if gradient is None else "numbers" if bool(gradient.any()) else "zeros"
        steady = [number(value), number(loss(t))]
        with torch.no_grad():
            t.add_(0)  # another version, the same numbers
        steady.append(number(loss(t)))
        with torch.no_grad():
            t.add_(1)
        later = number(loss(t))
    leaf |= flags("after backward() t", t)
    backward = {"loss(t)": "a tensor of one number", "loss(t).backward()": error}
    if len({*steady}) > 1:
        return {"leaf": leaf, "backward": backward, "steady": False}
    return {
        "leaf": leaf,
        "backward": backward,
        "steady": True,
        "depends": steady[0] != later,
        "empty": found == "nothing",
        "found": found,
    }


Counterexample = tuple[Tensor, Callable[[Tensor], Tensor]]


def a_weight() -> Tensor:
    return torch.tensor([1.5, -2.0], requires_grad=True)


@leaf_without_gradient.mistake(
    en="It looks as if the loss stays the same when 1 is added to every entry of `t`. It does not use the numbers, or only "
    "what the addition leaves alone, such as the place of the largest.",
    ru="Похоже, что функция потерь не меняется, если прибавить 1 к каждому элементу `t`. Она не использует этих "
    "чисел или использует лишь то, чего сложение не меняет, например место наибольшего элемента.",
)
def never_uses_it() -> Counterexample:
    other = a_weight()
    return a_weight(), lambda t: other.sum()


@leaf_without_gradient.mistake(
    en="It looks as if the loss changes by itself: it draws random numbers, counts its calls, edits `t` or looks at "
    "something other than the numbers of `t`.",
    ru="Похоже, что функция потерь меняется сама по себе: в ней есть случайные числа, счётчик вызовов, изменение самого `t` "
    "или что-то ещё помимо чисел в `t`.",
)
def draws_at_random() -> Counterexample:
    other = a_weight()
    return a_weight(), lambda t: (other * torch.rand(2)).sum()


@leaf_without_gradient.mistake(
    en="It looks as if the loss is a vector. `backward()` needs one number: add the entries up.",
    ru="Похоже, что значение функции потерь — вектор. `backward()` нужно одно число: сложите элементы.",
)
def returns_a_vector() -> Counterexample:
    other = a_weight()
    return a_weight(), lambda t: other * t.detach()


@leaf_without_gradient.mistake(
    en="It looks as if the loss switches `requires_grad` of `t` off. `t` must be a leaf that requires grad all the time.",
    ru="Похоже, что функция потерь выключает `requires_grad` у `t`. Всё время `t` должен быть листом, который требует "
    "градиента.",
)
def switches_the_leaf_off() -> Counterexample:
    other = a_weight()
    return a_weight(), lambda t: (other * t.requires_grad_(False)).sum()


@leaf_without_gradient.mistake(
    en="It looks as if `t` is a constant. It must require grad, and still get nothing.",
    ru="Похоже, что `t` — константа. Он должен требовать градиента и всё же ничего не получить.",
)
def takes_a_constant() -> Counterexample:
    other = a_weight()
    return torch.ones(2), lambda t: (other * t).sum()


@leaf_without_gradient.mistake(
    en="It looks as if `t` is a result and no leaf. That such a tensor gets no `.grad` is the rule, not an exception.",
    ru="Похоже, что `t` — результат операции, а не лист. То, что такой тензор не получает `.grad`, — правило, а не "
    "исключение.",
)
def takes_a_result() -> Counterexample:
    return a_weight() * 2, lambda t: t.sum()


@leaf_without_gradient.mistake(
    en="It looks as if nothing is left of the graph: `backward()` has nowhere to go and raises. Some other leaf has to "
    "require grad.",
    ru="Похоже, что от графа ничего не осталось: `backward()` некуда идти, и он сообщает об ошибке. Нужен ещё один лист, "
    "который требует градиента.",
)
def cuts_everything() -> Counterexample:
    return a_weight(), lambda t: t.detach().sum()


@leaf_without_gradient.mistake(
    en="It looks as if the derivative is zero. Zero is a gradient: `t.grad` holds zeros, not None.",
    ru="Похоже, что производная равна нулю. Ноль — тоже градиент: в `t.grad` нули, а не None.",
)
def finds_a_zero() -> Counterexample:
    return a_weight(), lambda t: t.round().sum()


@leaf_without_gradient.mistake(
    en="It looks as if the history of `t` reaches the loss along with its numbers. So the gradient reaches `t`.",
    ru="Похоже, что вместе с числами до функции потерь доходит и история `t`. Поэтому и градиент доходит до `t`.",
)
def keeps_the_history() -> Counterexample:
    return a_weight(), lambda t: t.square().sum()
