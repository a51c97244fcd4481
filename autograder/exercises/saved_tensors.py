"""Exercises of lesson 06, saved tensors: probes, cases and mistakes (H1-H16, C1 of the course's own list)."""

from __future__ import annotations

import functools
import gc
import math
import os
import re
import tempfile
import textwrap
import traceback
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import linear
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from autograder.checking.exercise import EVERY_ENTRY, Case, aspect, exercise
from autograder.checking.inputs import Formula, leaf, signed, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, canonical, compare, entries, number
from autograder.language import Text
from autograder.measure import CountedCalls, live_bytes

Function = Callable[[Tensor], Tensor]

# ----------------------------------------------------------------------------------------------- shared by the probes


class Using(Formula):
    """A formula with the tensors, besides its argument, that it computes with."""

    def __init__(self, text: str, function: Function, *constants: Tensor) -> None:
        super().__init__(text, function)
        self.constants = constants


def nbytes(tensor: Tensor) -> int:
    """Bytes of a tensor's own entries, whatever storage they lie in."""
    return tensor.numel() * tensor.element_size()


def torchs_error(run: Callable[[], object]) -> str | None:
    """What torch itself raises in `run()`, in words that are the same at each run; the answer's own errors pass.

    An error of torch's has no frame of the answer in it, and one about a file has the file's name in its text.
    """
    try:
        run()
    except OSError as error:
        return type(error).__name__
    except Exception as error:
        if "torch" not in Path(traceback.extract_tb(error.__traceback__)[-1].filename).parts:
            raise
        return textwrap.shorten(f"{type(error).__name__}: {re.sub(r'[0-9]+', '#', str(error))}", 150)
    return None


def gradient(y: object, x: Tensor, retain_graph: bool = False) -> object:
    """Backward from the sum of `y`; what it leaves in `x.grad`, which was empty, or what torch raised."""
    x.grad = None
    if isinstance(y, Tensor) and y.requires_grad:
        total = y.sum()
        raised = torchs_error(lambda: total.backward(retain_graph=retain_graph))
        if raised:
            return raised
    found, x.grad = x.grad, None
    return found


def bytes_left(run: Callable[[], object]) -> int:
    """Bytes that are alive after `run()` when its result is dropped without a backward pass."""
    with live_bytes() as live:
        result = run()
        del result
        if live.now:
            gc.collect(1)  # a cycle that Python can see is no leak
    return live.now


# --------------------------------------------------------------------------------------- core: what an operation keeps

_INPUT = 64 * 256 * 4


@exercise(
    title=Text("What an operation keeps", "Что хранит операция"),
    kind="predict",
    core=True,
    minutes=8,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Write the derivative of each function. Which tensors stand in it: the input, the result, the other factor?",
            "Выпишите производную каждой функции. Какие тензоры в неё входят: вход, результат, второй множитель?",
        ),
        Text(
            "`x` takes 65 536 bytes, `W` takes 262 144, a boolean takes one byte. A derivative that is a constant needs "
            "no tensor; a tensor that is saved twice lies in memory once.",
            "`x` занимает 65 536 байт, `W` — 262 144, логическое значение — один байт. Если производная постоянна, "
            "тензоры не нужны; тензор, сохранённый дважды, лежит в памяти один раз.",
        ),
        Text(
            "For `x @ W` the gradient of `x` needs `W` and the gradient of `W` needs `x`. `frozen` asks for no "
            "gradient. A slice is a view: it keeps the whole storage.",
            "В `x @ W` для градиента `x` нужен `W`, а для градиента `W` нужен `x`. `frozen` градиента не требует. "
            "Срез — это представление: он держит всё хранилище.",
        ),
    ],
)
def predict_saved(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_saved)}


@predict_saved.mistake(
    en="It looks as if every operation was expected to keep its input. The derivative of `x + 1`, of `x * 2` and of a "
    "sum is a constant: nothing is saved.",
    ru="Похоже, вы считаете, что любая операция сохраняет свой вход. На самом деле производная `x + 1`, `x * 2` и "
    "суммы постоянна: сохранять нечего.",
)
def every_operation_saves() -> dict[str, object]:
    return dict.fromkeys(("x + 1", "x * 2", "x.sum()"), _INPUT)


@predict_saved.mistake(
    en="It looks as if the 2 of `x * 2` counted as a tensor that needs the input kept. A Python number is stored in "
    "the node itself, and it asks for no gradient.",
    ru="Похоже, вы считаете, что ради множителя 2 в `x * 2` сохраняется вход. На самом деле число Python лежит в самом "
    "узле и градиента не требует.",
)
def scaling_saves() -> dict[str, object]:
    return {"x * 2": _INPUT}


@predict_saved.mistake(
    en="It looks as if the number 2 of `x * 2` was counted. A Python number lies in the node itself; it is no saved "
    "tensor of the graph's, and hooks do not see it.",
    ru="Похоже, что посчитано само число 2 из `x * 2`. Число Python лежит в самом узле; это не сохранённый тензор, и "
    "хуки его не видят.",
)
def the_number_counts() -> dict[str, object]:
    return {"x * 2": 8}


@predict_saved.mistake(*predict_saved.mistakes["the_number_counts"].says)
def the_number_counts_as_float32() -> dict[str, object]:
    return {"x * 2": 4}


@predict_saved.mistake(
    en="It looks as if a sum was expected to keep its terms. Its derivative is 1 for each of them; a shape is enough.",
    ru="Похоже, вы считаете, что сумма сохраняет слагаемые. На самом деле производная по каждому из них равна 1: "
    "достаточно знать форму.",
)
def sums_save() -> dict[str, object]:
    return {"x.sum()": _INPUT}


@predict_saved.mistake(
    en="It looks as if the input and the result were both counted. Each of these keeps one of the two: `relu` its "
    "result, `sin` its input.",
    ru="Похоже, что посчитаны и вход, и результат. Каждая из этих операций хранит что-то одно: `relu` — результат, "
    "`sin` — вход.",
)
def keeps_both_ends() -> dict[str, object]:
    return dict.fromkeys(("x.relu()", "x.sin()"), 2 * _INPUT)


@predict_saved.mistake(
    en="It looks as if the two saves of `x * x` were counted as two tensors. Both are the same storage.",
    ru="Похоже, что два сохранения в `x * x` посчитаны как два тензора. Хранилище у них одно.",
)
def counts_saves() -> dict[str, object]:
    return {"x * x": 2 * _INPUT}


@predict_saved.mistake(
    en="It looks as if each of the three saves of `x * x.sigmoid()` was counted. The sigmoid's result is saved twice "
    "and lies in memory once.",
    ru="Похоже, что посчитано каждое из трёх сохранений в `x * x.sigmoid()`. Результат сигмоиды сохранён дважды, но "
    "лежит в памяти один раз.",
)
def counts_saves_of_silu() -> dict[str, object]:
    return {"x * x.sigmoid()": 3 * _INPUT}


@predict_saved.mistake(
    en="It looks as if only one factor of `x * x.sigmoid()` was counted. The derivative of a product needs both.",
    ru="Похоже, что в `x * x.sigmoid()` посчитан только один множитель. Для производной произведения нужны оба.",
)
def keeps_one_factor() -> dict[str, object]:
    return {"x * x.sigmoid()": _INPUT}


@predict_saved.mistake(
    en="It looks as if the slice was expected to keep its own two rows. A view keeps the storage it lies in, all of it.",
    ru="Похоже, вы считаете, что срез хранит только две свои строки. На самом деле представление удерживает всё "
    "хранилище, в котором лежит.",
)
def a_slice_is_small() -> dict[str, object]:
    return {"x[:2].sin()": 2 * 256 * 4}


@predict_saved.mistake(
    en="It looks as if `W` was forgotten: the gradient of `x` needs it, so the graph holds it.",
    ru="Похоже, что забыт `W`: он нужен для градиента `x`, поэтому граф его держит.",
)
def forgets_the_weight() -> dict[str, object]:
    return {"x @ W": _INPUT}


@predict_saved.mistake(
    en="It looks as if only `W` was counted in `x @ W`. It requires grad, and its gradient needs `x`.",
    ru="Похоже, что в `x @ W` посчитан только `W`. Он требует градиента, и для этого градиента нужен `x`.",
)
def forgets_the_input() -> dict[str, object]:
    return {"x @ W": 4 * _INPUT}


@predict_saved.mistake(
    en="It looks as if `x @ frozen` was expected to keep `x`. Only the gradient of `frozen` would need it, and nobody "
    "asks for that one.",
    ru="Похоже, вы считаете, что `x @ frozen` сохраняет `x`. На самом деле он понадобился бы только для градиента "
    "`frozen`, а этот градиент никому не нужен.",
)
def freezing_changes_nothing() -> dict[str, object]:
    return {"x @ frozen": 5 * _INPUT}


@predict_saved.mistake(
    en="It looks as if a frozen weight was expected not to be saved. It is: the gradient of `x` needs it. What is not "
    "kept is `x`.",
    ru="Похоже, вы считаете, что замороженный вес не сохраняется. На самом деле он сохраняется, иначе не вычислить "
    "градиент `x`. А вот сам `x` не хранится.",
)
def frozen_is_not_saved() -> dict[str, object]:
    return {"x @ frozen": _INPUT}


@predict_saved.mistake(*predict_saved.mistakes["frozen_is_not_saved"].says)
def frozen_saves_nothing() -> dict[str, object]:
    return {"x @ frozen": 0}


@predict_saved.mistake(
    en="It looks as if `where` was expected to keep numbers. It keeps its condition, one byte per entry.",
    ru="Похоже, вы считаете, что `where` хранит числа. На самом деле хранится условие, по байту на элемент.",
)
def where_keeps_numbers() -> dict[str, object]:
    return {"torch.where(x > 0.5, x, 0.0)": _INPUT}


@predict_saved.mistake(
    en="It looks as if `where` was expected to keep the input beside its condition. The gradient passes or does not; "
    "the values of `x` play no part.",
    ru="Похоже, вы считаете, что `where` кроме условия хранит и вход. На самом деле градиент либо проходит, либо нет; "
    "значения `x` не нужны.",
)
def where_keeps_its_input() -> dict[str, object]:
    return {"torch.where(x > 0.5, x, 0.0)": _INPUT + _INPUT // 4}


@predict_saved.mistake(
    en="It looks as if `where` was expected to keep nothing. Backward has to know which entries were chosen.",
    ru="Похоже, вы считаете, что `where` ничего не хранит. На самом деле обратному проходу нужно знать, какие "
    "элементы выбраны.",
)
def where_keeps_nothing() -> dict[str, object]:
    return {"torch.where(x > 0.5, x, 0.0)": 0}


@predict_saved.mistake(
    en="It looks as if a boolean was taken for a bit. In a tensor it takes one byte.",
    ru="Похоже, вы считаете, что логическое значение занимает один бит. На самом деле в тензоре оно занимает байт.",
)
def booleans_are_bits() -> dict[str, object]:
    return {"torch.where(x > 0.5, x, 0.0)": 64 * 256 // 8}


@predict_saved.mistake(
    en="It looks as if entries were counted instead of bytes. A float32 takes four.",
    ru="Похоже, что посчитаны элементы, а не байты. Один float32 занимает четыре байта.",
)
def counts_entries() -> dict[str, object]:
    return dict.fromkeys(("x.relu()", "x.sin()", "x * x"), _INPUT // 4)


@predict_saved.mistake(
    en="It looks as if `relu` was expected to keep nothing or only a mask. It keeps its result, which is positive "
    "where the gradient passes.",
    ru="Похоже, вы считаете, что `relu` хранит только маску или вообще ничего. На самом деле он хранит свой результат: "
    "где результат положителен, там градиент проходит.",
)
def relu_keeps_a_mask() -> dict[str, object]:
    return {"x.relu()": _INPUT // 4}


@predict_saved.mistake(*predict_saved.mistakes["relu_keeps_a_mask"].says)
def relu_keeps_nothing() -> dict[str, object]:
    return {"x.relu()": 0}


# ---------------------------------------------------------------------------------------------- core: when hooks work


@exercise(
    title=Text("Which saves the hooks see", "Какие сохранения видят хуки"),
    kind="predict",
    core=True,
    minutes=8,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "When does an operation save its tensors: when it runs, or when backward comes?",
            "Когда операция сохраняет тензоры: когда выполняется или когда начинается обратный проход?",
        ),
        Text(
            "`pack` runs once per save while the operation runs, in the thread that entered the `with`; of two pairs "
            "only the inner one is called. `unpack` runs each time a saved tensor is needed.",
            "`pack` вызывается один раз на каждое сохранение, во время самой операции и в том потоке выполнения, "
            "который вошёл в `with`; из двух пар вызывается только внутренняя. `unpack` вызывается каждый раз, когда "
            "сохранённый тензор нужен.",
        ),
        Text(
            "`x * x` saves both factors, `x @ W` saves `x` and `W`. What `unpack` gives back is used as it is: for "
            "`x ** 2` the gradient is twice that.",
            "`x * x` сохраняет оба множителя, `x @ W` — `x` и `W`. То, что вернёт `unpack`, берётся как есть: градиент "
            "`x ** 2` вдвое больше этого значения.",
        ),
    ],
)
def predict_hooks(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_hooks)}


@predict_hooks.mistake(
    en="It looks as if hooks were called once per tensor. They are called once per save, and `x * x` saves `x` twice.",
    ru="Похоже, вы считаете, что хук вызывается один раз на тензор. На самом деле он вызывается на каждое сохранение, "
    "а `x * x` сохраняет `x` дважды.",
)
def once_per_tensor() -> dict[str, object]:
    return {"packs of x * x": 1}


@predict_hooks.mistake(
    en="It looks as if parameters were expected to pass by the hooks. A weight is saved like any other tensor.",
    ru="Похоже, вы считаете, что параметры проходят мимо хуков. На самом деле вес сохраняется, как и любой другой "
    "тензор.",
)
def weights_are_not_packed() -> dict[str, object]:
    return {"packs of x @ W": 1}


@predict_hooks.mistake(
    en="It looks as if every operation was expected to save something. `x + 1` saves nothing, so there is nothing to "
    "pack.",
    ru="Похоже, вы считаете, что любая операция что-то сохраняет. На самом деле `x + 1` не сохраняет ничего, и "
    "упаковывать нечего.",
)
def additions_are_packed() -> dict[str, object]:
    return {"packs of x + 1": 1}


@predict_hooks.mistake(
    en="It looks as if hooks were expected to work under `no_grad()`. There is no graph there, and nothing is saved.",
    ru="Похоже, вы считаете, что хуки работают и внутри `no_grad()`. На самом деле графа там нет, и сохранять нечего.",
)
def packs_without_a_graph() -> dict[str, object]:
    return {"packs of x.exp() under no_grad": 1}


@predict_hooks.mistake(
    en="It looks as if the `with` was expected to reach other threads. The stack of hooks belongs to one thread.",
    ru="Похоже, вы считаете, что `with` действует и на другие потоки выполнения. На самом деле у каждого потока свой "
    "стек хуков.",
)
def reaches_other_threads() -> dict[str, object]:
    return {"packs of x.exp() in another thread": 1}


@predict_hooks.mistake(
    en="It looks as if nested pairs were expected to be called one after the other. Only the innermost pair is called.",
    ru="Похоже, вы считаете, что вложенные пары вызываются все по очереди. На самом деле вызывается только самая "
    "внутренняя.",
)
def nested_pairs_compose() -> dict[str, object]:
    return {"outer packs of x.exp() inside an inner pair": 1}


@predict_hooks.mistake(
    en="It looks as if hooks were expected to act during backward. Tensors are packed when they are saved, in the "
    "forward pass; a `with` around `backward()` comes too late.",
    ru="Похоже, вы считаете, что хуки действуют во время обратного прохода. На самом деле тензоры упаковываются при "
    "сохранении, в прямом проходе; ставить `with` вокруг `backward()` уже поздно.",
)
def acts_in_backward() -> dict[str, object]:
    return {"packs of backward() alone": 1}


@predict_hooks.mistake(
    en="It looks as if `unpack` was expected to run once for good. It runs at each use: two backward passes, two calls.",
    ru="Похоже, вы считаете, что `unpack` вызывается лишь однажды. На самом деле он вызывается при каждом обращении: "
    "два обратных прохода — два вызова.",
)
def unpacks_once() -> dict[str, object]:
    return {"unpacks of x ** 2 in two backward passes": 1}


@predict_hooks.mistake(
    en="It looks as if what `pack` changed was expected to make no difference, or to be undone. Backward takes what "
    "`unpack` returns and does not check it.",
    ru="Похоже, вы считаете, что изменение, сделанное в `pack`, ни на что не влияет или отменяется. На самом деле "
    "обратный проход берёт то, что вернул `unpack`, без всякой проверки.",
)
def contents_are_checked() -> dict[str, object]:
    return {"gradient of x ** 2 at 3 with pack = 4 * t": 6.0}


@predict_hooks.mistake(
    en="It looks as if the factor 4 was applied twice, or to a square. Here `x` alone is saved, and the gradient is "
    "twice what `unpack` returns.",
    ru="Похоже, что множитель 4 применён дважды или к квадрату. Здесь сохраняется сам `x`, а градиент равен удвоенному "
    "результату `unpack`.",
)
def factor_is_squared() -> dict[str, object]:
    return {"gradient of x ** 2 at 3 with pack = 4 * t": 96.0}


@predict_hooks.mistake(*predict_hooks.mistakes["factor_is_squared"].says)
def factor_of_the_square() -> dict[str, object]:
    return {"gradient of x ** 2 at 3 with pack = 4 * t": 36.0}


@predict_hooks.mistake(
    en="It looks as if the gradient was taken for what `unpack` returns, which is 12. The derivative of `x ** 2` is "
    "twice the saved tensor.",
    ru="Похоже, вы считаете, что градиент — это то, что вернул `unpack`, то есть 12. На самом деле производная `x ** "
    "2` вдвое больше сохранённого тензора.",
)
def forgets_the_two() -> dict[str, object]:
    return {"gradient of x ** 2 at 3 with pack = 4 * t": 12.0}


@predict_hooks.mistake(
    en="It looks as if `x ** 2` was expected to save two tensors, as `x * x` does. It saves `x` once: one `unpack` in "
    "each backward pass.",
    ru="Похоже, вы считаете, что `x ** 2` сохраняет два тензора, как `x * x`. На самом деле `x` сохраняется один раз, "
    "и на каждый обратный проход приходится один `unpack`.",
)
def a_square_saves_twice() -> dict[str, object]:
    return {"unpacks of x ** 2 in two backward passes": 4}


@predict_hooks.mistake(
    en="It looks as if the forward pass was expected to use the packed tensor. The result is computed before anything "
    "is packed.",
    ru="Похоже, вы считаете, что прямой проход считает с упакованным тензором. На самом деле результат вычислен "
    "раньше, чем что-либо упаковано.",
)
def forward_uses_the_packed() -> dict[str, object]:
    return {"x ** 2 at 3 with pack = 4 * t": 144.0}


@predict_hooks.mistake(*predict_hooks.mistakes["forward_uses_the_packed"].says)
def forward_is_scaled() -> dict[str, object]:
    return {"x ** 2 at 3 with pack = 4 * t": 36.0}


# ------------------------------------------------------------------------------------------- core: packing into halves


@exercise(
    title=Text("Half the bytes", "Вдвое меньше байтов"),
    kind="complete",
    core=True,
    difficulty=2,
    minutes=12,
    shows_graph=True,
    rtol=1e-9,
    aspects=[
        aspect(
            "result",
            0,
            en="What comes back is `f(x)`: the same numbers, the same dtype. `f` is called once, and the hooks are off "
            "afterwards.",
            ru="Возвращается `f(x)`: те же числа, тот же dtype. `f` вызвана один раз, а после возврата хуки выключены.",
        ),
        aspect(
            "bytes",
            1,
            en="While the graph lives, its float32 and float64 tensors take two bytes per entry (bytes in memory, the "
            "result of `f` included).",
            ru="Пока граф жив, его тензоры float32 и float64 занимают по два байта на элемент (байты в памяти вместе с "
            "результатом `f`).",
        ),
        aspect(
            "gradient",
            2,
            en="The gradient is computed in the original dtypes, from saved numbers rounded to float16; indices and "
            "masks are intact.",
            ru="Градиент вычислен в исходных dtype по сохранённым числам, округлённым до float16; индексы и маски не "
            "искажены.",
            after=("result", "bytes"),
        ),
        aspect(
            "left",
            1,
            en="When the result is dropped without a backward pass, nothing stays in memory (bytes left).",
            ru="Если результат отброшен без обратного прохода, в памяти ничего не остаётся (осталось в памяти, байт).",
            after=("result", "bytes"),
        ),
    ],
    hints=[
        Text(
            "What does `unpack` have to know about a tensor besides its numbers?",
            "Что, кроме самих чисел, `unpack` должен знать о тензоре?",
        ),
        Text(
            "`pack` may return a tuple: the half tensor and the dtype. `t.half()` of a float16 tensor is that tensor "
            "itself; what is kept as it is has to be detached.",
            "`pack` может вернуть кортеж: тензор float16 и исходный dtype. `t.half()` для тензора float16 возвращает "
            "его же; то, что хранится как есть, нужно отсоединить.",
        ),
        Text(
            "`def pack(t): ... return t.detach().half(), t.dtype` for two dtypes, `t.detach(), t.dtype` for the rest; "
            "`def unpack(packed): half, dtype = packed ...`; then `with saved_tensors_hooks(pack, unpack): return f(x)`.",
            "`def pack(t): ... return t.detach().half(), t.dtype` для двух dtype, `t.detach(), t.dtype` для остальных; "
            "`def unpack(packed): half, dtype = packed ...`; затем `with saved_tensors_hooks(pack, unpack): return "
            "f(x)`.",
        ),
    ],
)
def save_in_half(answer: Any, case: Case) -> dict[str, object]:
    run = answer.save_in_half
    known = [case.x, *case.f.constants]
    f, later = CountedCalls(case.f), torch.ones(2, requires_grad=True)
    with using_answer():
        y = run(f.function, case.x)
    off = later.sin().grad_fn._saved_self is later  # type: ignore[union-attr]
    with using_answer():
        found = gradient(y, case.x)
    limit, exact = _bytes_in_half(case.f, case.x, known)
    with using_answer(), live_bytes() as live:
        y = run(case.f, case.x)
        used = live.now
        result = y.detach().clone() if isinstance(y, Tensor) else y
        del y
    with using_answer():
        left = bytes_left(lambda: run(case.f, case.x))
    return {
        "result": {"f(x)": result, "calls of f": f.times, "the hooks are off": off},
        "bytes": AtMost(limit, used),
        "gradient": found,
        "left": left,
        "used": used,
        "is_exact": compare(canonical(exact), canonical(found), rtol=1e-9) is None,
    }


def _bytes_in_half(f: Function, x: Tensor, known: Sequence[Tensor]) -> tuple[int, object]:
    """Bytes of f(x) and of what it saves, floats at two bytes and `known` storages left out; its exact gradient."""
    skipped = {tensor.untyped_storage().data_ptr() for tensor in known}
    total = 0

    def count(t: Tensor) -> Tensor:
        nonlocal total
        floats = t.dtype in (torch.float32, torch.float64)
        if floats or t.untyped_storage().data_ptr() not in skipped:
            total += t.numel() * 2 if floats else nbytes(t)
        return t.clone()

    with saved_tensors_hooks(count, lambda t: t):
        y = f(x)
    return total + nbytes(y), gradient(y, x)


@save_in_half.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    index = 2049 + 2 * torch.randint(0, 200, (40,), generator=rng)  # odd numbers that float16 does not have
    gathered = Using("x[index].sin().double().sin()", lambda x: x[index].sin().double().sin(), index)
    yield Case(f=gathered, x=uniform(rng, 2500).float().requires_grad_())
    chosen = Using("where(x > 1.5, x.exp(), x.sin())", lambda x: torch.where(x > 1.5, x.exp(), x.sin()))
    yield Case(f=chosen, x=leaf(rng, 7, 9))
    text = "(x.exp().sigmoid().bfloat16() * 1e5).square() * 1e-10"  # bfloat16 has such numbers, float16 has not
    narrow = Using(text, lambda x: (x.exp().sigmoid().bfloat16() * 1e5).square() * 1e-10)
    yield Case(f=narrow, x=uniform(rng, 50).half().requires_grad_())


def _hooked(pack: Callable[[Tensor], object], unpack: Callable[[Any], Any]) -> Callable[[Function, Tensor], Tensor]:
    """An answer that runs `f` under one pair of hooks."""

    def run(f: Function, x: Tensor) -> Tensor:
        with saved_tensors_hooks(pack, unpack):
            return f(x)

    return run


def _is_wide(t: Tensor) -> bool:
    return t.dtype in (torch.float32, torch.float64)


def _half(t: Tensor) -> Tensor:
    return t.detach().half() if _is_wide(t) else t.detach()


@save_in_half.mistake(
    en="It looks as if `f` runs without the hooks: they were defined, or the `with` was left, before `f(x)`.",
    ru="Похоже, что `f` выполняется без хуков: они только определены, или блок `with` закончился до `f(x)`.",
)
def defines_the_hooks_only(f: Function, x: Tensor) -> Tensor:
    return f(x)


@save_in_half.mistake(
    en="It looks as if the result is returned without its graph: `f` ran under `no_grad()`, or the result was detached.",
    ru="Похоже, что результат возвращён без графа: либо `f` выполнена внутри `no_grad()`, либо результат отсоединён от "
    "графа.",
)
def returns_no_graph(f: Function, x: Tensor) -> Tensor:
    return f(x).detach()


@save_in_half.mistake(
    en="It looks as if nothing was returned. The function has to return `f(x)`.",
    ru="Похоже, что функция ничего не возвращает. Она должна вернуть `f(x)`.",
)
def forgets_to_return(f: Function, x: Tensor) -> None:
    with saved_tensors_hooks(lambda t: (t.detach().half(), t.dtype), lambda packed: packed[0].to(packed[1])):
        f(x)


@save_in_half.mistake(
    en="It looks as if `f` is called twice, under the hooks and without them, or once for nothing. One call under the "
    "hooks is enough: its result is the one to return.",
    ru="Похоже, что `f` вызывается дважды: с хуками и без них либо лишний раз впустую. Достаточно одного вызова с "
    "хуками: его результат и нужно вернуть.",
)
def calls_twice(f: Function, x: Tensor) -> Tensor:
    f(x)
    return _hooked(lambda t: (_half(t), t.dtype), lambda packed: packed[0].to(packed[1]))(f, x)


@save_in_half.mistake(
    en="It looks as if the hooks stay on after your function has returned: they were entered and never left. A `with` "
    "leaves them by itself.",
    ru="Похоже, что хуки действуют и после возврата из функции: их включили и не выключили. `with` выключает их сам.",
)
def leaves_the_hooks_on(f: Function, x: Tensor) -> Tensor:
    saved_tensors_hooks(lambda t: (_half(t), t.dtype), lambda packed: packed[0].to(packed[1])).__enter__()
    return f(x)


@save_in_half.mistake(
    en="It looks as if `x` itself was made half before `f` ran. Then the result, too, is a half; only what is saved "
    "should be.",
    ru="Похоже, что сам `x` переведён в float16 ещё до вызова `f`. Тогда и результат получается в половинной точности, "
    "а уменьшать нужно только то, что сохраняется.",
)
def computes_in_half(f: Function, x: Tensor) -> Tensor:
    return f(x.half()).to(x.dtype)


@save_in_half.mistake(
    en="It looks as if `unpack` gives the half tensor back. Nobody complains: backward computes with it, and its "
    "result is rounded to float16 once more.",
    ru="Похоже, что `unpack` возвращает тензор float16. Ошибки при этом не будет: обратный проход считает с таким "
    "тензором, и результат ещё раз округляется до float16.",
)
def unpacks_halves(f: Function, x: Tensor) -> Tensor:
    return _hooked(_half, lambda packed: packed)(f, x)


@save_in_half.mistake(
    en="It looks as if `unpack` gives float32 back whatever was saved. A float64 tensor has to come back as float64, "
    "an index as an index.",
    ru="Похоже, что `unpack` всегда возвращает float32. Тензор float64 должен вернуться как float64, а индекс — как "
    "индекс.",
)
def unpacks_float32(f: Function, x: Tensor) -> Tensor:
    return _hooked(
        _half,
        lambda packed: packed.float() if packed.is_floating_point() else packed,
    )(f, x)


@save_in_half.mistake(
    en="It looks as if everything was packed in half, indices as well. float16 has no 2051: whole numbers above 2048 "
    "are rounded, and the gradient lands in another place.",
    ru="Похоже, что в float16 упаковано всё, в том числе индексы. Числа 2051 в float16 нет: целые больше 2048 "
    "округляются, и градиент попадает в другое место.",
)
def halves_indices(f: Function, x: Tensor) -> Tensor:
    return _hooked(lambda t: (t.detach().half(), t.dtype), lambda packed: packed[0].to(packed[1]))(f, x)


@save_in_half.mistake(
    en="It looks as if everything comes back as a half, indices as well: `pack` has to note the dtype, and to leave "
    "whole numbers and booleans alone.",
    ru="Похоже, что всё возвращается в float16, в том числе индексы: `pack` должен запоминать dtype и не трогать целые "
    "числа и логические значения.",
)
def halves_everything(f: Function, x: Tensor) -> Tensor:
    return _hooked(lambda t: t.detach().half(), lambda packed: packed)(f, x)


@save_in_half.mistake(
    en="It looks as if everything comes back as float32, indices as well. An index has to come back as it was.",
    ru="Похоже, что всё возвращается как float32, в том числе индексы. Индекс должен вернуться таким, каким был.",
)
def everything_to_float32(f: Function, x: Tensor) -> Tensor:
    return _hooked(lambda t: t.detach().half(), lambda packed: packed.float())(f, x)


@save_in_half.mistake(
    en="It looks as if `pack` and `unpack` are the wrong way round: the first of the pair packs.",
    ru="Похоже, что `pack` и `unpack` перепутаны местами: первой в паре идёт упаковка.",
)
def swaps_the_pair(f: Function, x: Tensor) -> Tensor:
    return _hooked(lambda packed: packed[0].to(packed[1]), lambda t: (t.half(), t.dtype))(f, x)


@save_in_half.mistake(
    en="It looks as if tensors that are not made smaller are copied. Kept as they are, they cost nothing: `detach()` "
    "makes no copy.",
    ru="Похоже, что копируются и те тензоры, которые нужно хранить как есть. Без копии они ничего не стоят: `detach()` "
    "её не делает.",
)
def copies_the_rest(f: Function, x: Tensor) -> Tensor:
    return _hooked(
        lambda t: (t.detach().half() if _is_wide(t) else t.detach().clone(), t.dtype),
        lambda packed: packed[0].to(packed[1]),
    )(f, x)


@save_in_half.mistake(
    en="It looks as if the result was made half as well. Only what is saved for backward is to be packed.",
    ru="Похоже, что в float16 переведён и результат. Упаковывать нужно только то, что сохраняется для обратного "
    "прохода.",
)
def halves_the_result(f: Function, x: Tensor) -> Tensor:
    return f(x).half()


@save_in_half.mistake(
    en="It looks as if bfloat16 was taken, which rounds eight times as coarsely as float16.",
    ru="Похоже, что взят bfloat16: он округляет в восемь раз грубее, чем float16.",
)
def packs_bfloat16(f: Function, x: Tensor) -> Tensor:
    return _hooked(
        lambda t: (t.detach().bfloat16() if _is_wide(t) else t.detach(), t.dtype),
        lambda packed: packed[0].to(packed[1]),
    )(f, x)


@save_in_half.mistake(
    en="It looks as if only float32 is packed. A float64 tensor is to take two bytes per entry as well.",
    ru="Похоже, что упаковывается только float32. Тензор float64 тоже должен занимать по два байта на элемент.",
)
def packs_float32_only(f: Function, x: Tensor) -> Tensor:
    return _hooked(
        lambda t: (t.detach().half() if t.dtype == torch.float32 else t.detach(), t.dtype),
        lambda packed: packed[0].to(packed[1]),
    )(f, x)


@save_in_half.mistake(
    en="It looks as if `pack` rounds and goes back to the wide dtype at once. The numbers are rounded, but nothing is "
    "saved: going back is for `unpack`.",
    ru="Похоже, что `pack` округляет и тут же возвращает прежний dtype. Числа округлены, но памяти занято не меньше: "
    "обратно переводить должен `unpack`.",
)
def rounds_without_saving(f: Function, x: Tensor) -> Tensor:
    return _hooked(lambda t: _half(t).to(t.dtype), lambda packed: packed)(f, x)


@save_in_half.mistake(
    en="It looks as if what `pack` returns holds the wide tensor beside the half one: then more is kept than without "
    "hooks.",
    ru="Похоже, что результат `pack` вместе с тензором float16 держит и исходный тензор: тогда хранится больше, чем "
    "без хуков.",
)
def keeps_both(f: Function, x: Tensor) -> Tensor:
    return _hooked(lambda t: (_half(t), t.detach()), lambda packed: packed[0].to(packed[1].dtype))(f, x)


@save_in_half.mistake(
    en="It looks as if `x` is kept as it is, since it is in memory anyway. It is a saved tensor like the others: the "
    "graph is to keep it as float16, too.",
    ru="Похоже, что `x` хранится как есть: он ведь и так в памяти. Но это такой же сохранённый тензор, как другие: "
    "граф и его должен хранить как float16.",
)
def leaves_x_as_it_is(f: Function, x: Tensor) -> Tensor:
    return _hooked(
        lambda t: (t.detach() if t.data_ptr() == x.data_ptr() else _half(t), t.dtype),
        lambda packed: packed[0].to(packed[1]),
    )(f, x)


@save_in_half.mistake(
    en="It looks as if a tensor that is not made smaller is kept itself. When it is the operation's own result, it "
    "holds its graph and the graph holds it: nothing is freed. `t.half()` of a float16 tensor is that tensor, too.",
    ru="Похоже, что тензор, который не уменьшается, хранится неотсоединённым. Если это результат той же операции, он "
    "держит граф, а граф — его, и память не освобождается. `t.half()` для тензора float16 — тоже он сам.",
)
def keeps_the_rest_itself(f: Function, x: Tensor) -> Tensor:
    return _hooked(lambda t: (t.half() if _is_wide(t) else t, t.dtype), lambda packed: packed[0].to(packed[1]))(f, x)


# --------------------------------------------------------------------------------------------- core: the threshold


class _TempFile:
    """A file's name; the file goes when the object does. As published, but quiet when there is no file."""

    def __init__(self, folder: str | None = None) -> None:
        self.name = os.path.join(folder or tempfile.gettempdir(), str(uuid.uuid4()))

    def __del__(self) -> None:
        Path(self.name).unlink(missing_ok=True)


def _read(file: _TempFile) -> Tensor:
    loaded: Tensor = torch.load(file.name)
    return loaded


def _write(t: Tensor, folder: str | None = None) -> _TempFile:
    file = _TempFile(folder)
    torch.save(t, file.name)
    return file


def _tensor_or_file(packed: Any) -> Any:
    return packed if isinstance(packed, Tensor) else _read(packed)


@exercise(
    title=Text("The threshold", "Порог"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "gradient",
            1,
            en="The gradient is the one without hooks, for tensors of any size, also in a second backward pass.",
            ru="Градиент такой же, как без хуков, для тензоров любого размера, в том числе при втором обратном "
            "проходе.",
        ),
        aspect(
            "files",
            1,
            en="Each saved tensor of `threshold` entries or more is written to one file and not kept in memory; no "
            "smaller tensor is written.",
            ru="Каждый сохранённый тензор, в котором не меньше `threshold` элементов, записан в один файл и в памяти "
            "не остался; меньшие в файлы не записаны.",
        ),
        aspect(
            "left",
            2,
            en="When the result is dropped without a backward pass, nothing stays in memory, and no file is left.",
            ru="Если результат отброшен без обратного прохода, в памяти ничего не остаётся и файлов тоже не остаётся.",
        ),
    ],
    hints=[
        Text(
            "Two lines are wrong. One is met only by big tensors, the other only when nobody calls `backward()`.",
            "Неверны две строки. До одной доходят только большие тензоры, другая даёт о себе знать, только если никто "
            "не вызвал `backward()`.",
        ),
        Text(
            "`exp` saves its own result. If the graph holds that very tensor, what does the tensor hold by its `grad_fn`?",
            "`exp` сохраняет собственный результат. Если граф держит именно этот тензор, на что сам тензор ссылается "
            "через `grad_fn`?",
        ),
        Text(
            "`torch.save` has to get the argument of `pack_hook`; what stays in memory has to be a tensor with the "
            "same numbers and no `grad_fn`.",
            "`torch.save` должен получать аргумент `pack_hook`; в памяти должен оставаться тензор с теми же числами, "
            "но без `grad_fn`.",
        ),
    ],
)
def fix_threshold(answer: Any, case: Case) -> dict[str, object]:
    run = answer.fix_threshold
    with using_answer():
        y = run(case.f, case.x, case.threshold)
        found = {"first backward": gradient(y, case.x, True), "second backward": gradient(y, case.x)}
        del y
    entries_of_saves, result = _saved_entries(case.f, case.x, [])
    may_stay = result + sum(size for size in entries_of_saves if size < case.threshold * case.x.element_size())
    saves = CountedCalls(torch.save)
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder):
        with using_answer(), mock.patch("torch.save", saves.function), live_bytes() as live:
            y = run(case.f, case.x, case.threshold)
            too_many = max(0, live.now - may_stay)
            del y
            if live.now:
                gc.collect(1)
        left = {"bytes in memory": live.now, "files": _files(folder)[0]}
    return {"gradient": found, "files": {"written": saves.times, "bytes still in memory": too_many}, "left": left}


@fix_threshold.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    threshold = int(torch.randint(20, 40, (), generator=rng))
    twice = Formula("(x.exp() * 2).sigmoid()", lambda x: (x.exp() * 2).sigmoid())
    yield Case(f=twice, x=leaf(rng, threshold // 2), threshold=threshold)
    yield Case(f=twice, x=leaf(rng, threshold), threshold=threshold)
    mixed = Formula("x.sin().sum(1).exp()", lambda x: x.sin().sum(1).exp())
    x = uniform(rng, 3, threshold // 2).float().requires_grad_()  # many entries, and no dimension as long as the limit
    yield Case(f=mixed, x=x, threshold=threshold)


def _threshold(
    keep: Callable[[Tensor], object],
    write: Callable[[Tensor], object] = _write,
    unpack: Callable[[Any], Any] = _tensor_or_file,
    is_small: Callable[[int, int], bool] = int.__lt__,
    size: Callable[[Tensor], int] = Tensor.numel,
) -> Callable[[Function, Tensor, int], Tensor]:
    """The published function with its parts exchanged."""

    def run(f: Function, x: Tensor, threshold: int) -> Tensor:
        def pack(t: Tensor) -> object:
            return keep(t) if is_small(size(t), threshold) else write(t)

        with saved_tensors_hooks(pack, unpack):
            return f(x)

    return run


def _itself(t: Tensor) -> Tensor:
    return t


def _undefined(t: Tensor) -> object:
    raise NameError("name 'tensor' is not defined")


@fix_threshold.mistake(
    en="It looks as if the name in `torch.save` was mended and `return x` was left. For an operation that saves its "
    "result the graph then holds a tensor that holds the graph, and no garbage collector sees that.",
    ru="Похоже, что имя в `torch.save` исправлено, а `return x` осталось. Если операция сохраняет свой результат, граф "
    "держит тензор, а тензор держит граф, и сборщик мусора этого не видит.",
)
def mends_the_name(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _threshold(_itself)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if `torch.save` still gets a name that nobody defined. Only tensors of `threshold` entries reach "
    "that line.",
    ru="Похоже, что `torch.save` по-прежнему получает имя, которое нигде не определено. До этой строки доходят только "
    "тензоры, в которых не меньше `threshold` элементов.",
)
def mends_the_leak(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _threshold(Tensor.detach, _undefined)(f, x, threshold)


@fix_threshold.mistake(*fix_threshold.mistakes["mends_the_leak"].says)
def mends_nothing(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _threshold(_itself, _undefined)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if `detach_()` was called, which cuts the tensor itself out of the graph: it may be the result.",
    ru="Похоже, что вызван `detach_()`: он отсоединяет от графа сам тензор, а это может быть результат.",
)
def detaches_in_place(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _threshold(lambda t: t.detach_())(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if the hook keeps a weak reference. Nobody else holds an intermediate result, so it is gone when "
    "backward asks for it.",
    ru="Похоже, что хук хранит слабую ссылку. Промежуточный результат больше никто не держит, и к обратному проходу "
    "его уже нет.",
)
def keeps_a_weak_reference(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        return packed() if isinstance(packed, weakref.ref) else _read(packed)

    return _threshold(weakref.ref, _write, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if only the file's name is kept. The object goes as soon as `pack_hook` returns, and its file with "
    "it.",
    ru="Похоже, что хранится только имя файла. Сам объект исчезает, как только `pack_hook` завершится, а вместе с "
    "объектом и файл.",
)
def keeps_the_name_of_the_file(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        return torch.load(packed) if isinstance(packed, str) else packed

    return _threshold(Tensor.detach, lambda t: _write(t).name, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if `pack_hook` returns nothing for a big tensor: the file object has to be returned.",
    ru="Похоже, что для большого тензора `pack_hook` ничего не возвращает: нужно вернуть объект-файл.",
)
def forgets_the_file(f: Function, x: Tensor, threshold: int) -> Tensor:
    def write(t: Tensor) -> None:
        _write(t)

    return _threshold(Tensor.detach, write)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if nothing with a graph comes back: `return` is missing, or `f` ran under `no_grad()`.",
    ru="Похоже, что не возвращается ничего, у чего есть граф: либо забыт `return`, либо `f` выполнена внутри "
    "`no_grad()`.",
)
def loses_the_result(f: Function, x: Tensor, threshold: int) -> Tensor:
    with torch.no_grad():
        return _threshold(Tensor.detach)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if `requires_grad_(False)` was tried on the tensor itself. Only a leaf lets its flag be switched off; "
    "`detach()` gives another tensor of the same memory.",
    ru="Похоже, что у самого тензора вызван `requires_grad_(False)`. Флаг можно выключить только у листа; `detach()` "
    "даёт другой тензор с той же памятью.",
)
def changes_the_flag(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _threshold(lambda t: t.requires_grad_(False))(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if every tensor goes to a file. Those with fewer than `threshold` entries stay in memory.",
    ru="Похоже, что в файл уходит любой тензор. Те, в которых меньше `threshold` элементов, должны оставаться в "
    "памяти.",
)
def writes_everything(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _threshold(Tensor.detach, is_small=lambda size, limit: False)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if no tensor goes to a file any more. Those with `threshold` entries or more do.",
    ru="Похоже, что в файлы ничего не записывается. Туда должны уходить тензоры, в которых не меньше `threshold` "
    "элементов.",
)
def writes_nothing(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _threshold(Tensor.detach, is_small=lambda size, limit: True)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if a tensor of exactly `threshold` entries stays in memory. Only smaller ones do.",
    ru="Похоже, что тензор ровно из `threshold` элементов остаётся в памяти. Оставаться должны только меньшие.",
)
def includes_the_threshold(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _threshold(Tensor.detach, is_small=int.__le__)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if a big tensor is written and kept as well: then the file saves no memory.",
    ru="Похоже, что большой тензор записывается в файл и при этом остаётся в памяти: тогда файл не экономит памяти.",
)
def writes_and_keeps(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        return packed[1] if isinstance(packed, tuple) else packed

    return _threshold(Tensor.detach, lambda t: (_write(t.detach()), t.detach().clone()), unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if the files are written under a name of their own and nobody deletes them. The object with "
    "`__del__` has to be kept instead of the name.",
    ru="Похоже, что файлы записаны под собственными именами и никто их не удаляет. Хранить нужно не имя, а объект, у "
    "которого есть `__del__`.",
)
def leaves_the_files(f: Function, x: Tensor, threshold: int) -> Tensor:
    def write(t: Tensor) -> str:
        name = os.path.join(tempfile.gettempdir(), str(uuid.uuid4()))
        torch.save(t.detach(), name)
        return name

    def unpack(packed: Any) -> Any:
        return torch.load(packed) if isinstance(packed, str) else packed

    return _threshold(Tensor.detach, write, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if a file is deleted or emptied when it is read. A second backward pass reads it again; the object "
    "deletes its file by itself.",
    ru="Похоже, что файл удаляется или очищается при чтении. Но второй обратный проход прочтёт этот файл снова, а "
    "удалит его сам объект, когда исчезнет.",
)
def reads_once(f: Function, x: Tensor, threshold: int) -> Tensor:
    def unpack(packed: Any) -> Any:
        if isinstance(packed, Tensor):
            return packed
        loaded = _read(packed)
        os.remove(packed.name)
        return loaded

    return _threshold(Tensor.detach, _write, unpack)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if the comparison was turned round: the small tensors are written and the big ones stay.",
    ru="Похоже, что сравнение перевёрнуто: в файлы уходят малые тензоры, а большие остаются в памяти.",
)
def turns_the_comparison(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _threshold(Tensor.detach, is_small=int.__ge__)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if the length was compared, `len(t)` or one dimension of the shape. That is not the number of "
    "entries: 3 rows of 15 are 45.",
    ru="Похоже, что с порогом сравнивается `len(t)` или размер по одному измерению. Это не число элементов: в 3 "
    "строках по 15 их 45.",
)
def compares_the_length(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _threshold(Tensor.detach, size=len)(f, x, threshold)


@fix_threshold.mistake(
    en="It looks as if bytes are compared with the threshold. It is a number of entries, `t.numel()`.",
    ru="Похоже, что с порогом сравнивается число байтов. Порог задан в элементах: `t.numel()`.",
)
def compares_bytes(f: Function, x: Tensor, threshold: int) -> Tensor:
    return _threshold(Tensor.detach, size=nbytes)(f, x, threshold)


# ------------------------------------------------------------------------------------------------- core: files on disk


@exercise(
    title=Text("Saved tensors in files", "Сохранённые тензоры в файлах"),
    kind="design",
    core=True,
    difficulty=3,
    minutes=20,
    aspects=[
        aspect(
            "in_files",
            0,
            en="While the graph lives, everything that it saved, also a small tensor, lies in files in `folder`.",
            ru="Пока граф жив, всё сохранённое, в том числе малые тензоры, лежит в файлах в папке `folder`.",
        ),
        aspect(
            "gradient",
            1,
            en="The first backward pass gives the gradients that there are without hooks.",
            ru="Первый обратный проход даёт те же градиенты, что и без хуков.",
        ),
        aspect(
            "again",
            1,
            en="After `retain_graph=True` a second backward pass gives them again.",
            ru="После `retain_graph=True` второй обратный проход даёт их снова.",
            after=("in_files", "gradient"),
        ),
        aspect(
            "written",
            1,
            en="The files hold the entries of the saved tensors, 4096 bytes more for each of them at most, and no "
            "parameter (bytes in `folder`).",
            ru="В файлах лежат элементы сохранённых тензоров, не более 4096 лишних байт на каждый; параметров там нет "
            "(байты в `folder`).",
        ),
        aspect(
            "memory",
            1,
            en="While the graph lives, the memory holds the result and none of the tensors in files (bytes, 1024 to "
            "spare).",
            ru="Пока граф жив, в памяти лежит результат, а тензоров из файлов там нет (байты, с запасом 1024).",
        ),
        aspect(
            "files_left",
            1,
            en="No file is left after a backward pass that frees the graph, and none when the result is dropped (number "
            "of files).",
            ru="Файлов не остаётся ни после обратного прохода, который освобождает граф, ни после того, как результат "
            "отброшен (сколько файлов).",
        ),
    ],
    hints=[
        Text(
            "Who knows when a saved tensor is needed no longer: `unpack`, or whoever holds what `pack` returned?",
            "Кто знает, что сохранённый тензор больше не нужен: `unpack` или тот, кто держит результат `pack`?",
        ),
        Text(
            "Return an object whose `__del__` removes its file. Save `t.detach().clone()`: a slice would take its whole "
            "storage along. A layer saves a view of its weight, so compare `untyped_storage().data_ptr()`.",
            "Верните объект, который в `__del__` удаляет свой файл. Сохраняйте `t.detach().clone()`: вместе со срезом "
            "в файл попало бы всё хранилище. Слой сохраняет представление веса, поэтому сравнивайте "
            "`untyped_storage().data_ptr()`.",
        ),
        Text(
            "`weights = {p.untyped_storage().data_ptr() for p in parameters}`; `pack`: a weight → `t.detach()`, else a "
            "new file object with `torch.save`; `unpack`: a tensor as it is, else `torch.load(file.name)`.",
            "`weights = {p.untyped_storage().data_ptr() for p in parameters}`; `pack`: вес → `t.detach()`, иначе новый "
            "объект-файл и `torch.save`; `unpack`: тензор как есть, иначе `torch.load(file.name)`.",
        ),
    ],
)
def save_on_disk(answer: Any, case: Case) -> dict[str, object]:
    saved, result = _saved_entries(case.f, case.x, case.parameters)
    wanted = {"x": case.x, "parameter": case.parameters[0]}

    def run(folder: str) -> Any:
        return answer.save_on_disk(case.f, case.x, case.parameters, folder)

    def backward(y: Any, **how: bool) -> object:
        for tensor in wanted.values():
            tensor.grad = None
        if isinstance(y, Tensor):
            total = y.sum()
            raised = torchs_error(lambda: total.backward(**how))
            if raised:
                return raised
        return {f"{name}.grad": tensor.grad for name, tensor in wanted.items()}

    again: object = None
    used = dropped = 0
    with tempfile.TemporaryDirectory() as folder:
        with using_answer():
            y = run(folder)
            files, written = _files(folder)
            gradients = backward(y, retain_graph=not case.measured)
            if not case.measured:
                again = backward(y)
            after_backward = _files(folder)[0]
            del y
        backward(None)
        _emptied(folder)
        if case.measured:
            with using_answer():
                with live_bytes() as live:
                    y = run(folder)
                    used = live.now
                    backward(y, retain_graph=True)
                    backward(None)
                    case.parameters[1].grad = None
                    used = max(used, live.now)  # what is read from a file is not kept either
                del y
                gc.collect(1)
                dropped = _files(folder)[0]
    return {
        "in_files": written >= 0.8 * sum(saved) and files >= len(saved),
        "gradient": gradients,
        "again": again,
        "written": AtMost(sum(saved) + 4096 * len(saved), written),
        "memory": AtMost(result + 1024, used),
        "files_left": {"after backward": after_backward, "result dropped": dropped},
        "files": files,
        "holds_the_table": written >= nbytes(case.f.constants[0]),
    }


def _files(folder: str) -> tuple[int, int]:
    """How many files there are in a folder, and their bytes."""
    sizes = [path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)


def _saved_entries(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> tuple[list[int], int]:
    """Bytes of the entries of each save of f(x) that is no parameter, a tensor that is saved twice once; of f(x)."""
    weights = {p.untyped_storage().data_ptr() for p in parameters}
    saves: dict[tuple[int, ...], Tensor] = {}

    def note(t: Tensor) -> Tensor:
        if t.untyped_storage().data_ptr() not in weights:
            saves[(t.data_ptr(), t.numel())] = t.detach()
        return t.detach()

    with saved_tensors_hooks(note, lambda t: t):
        y = f(x)
    return [nbytes(t) for t in saves.values()], nbytes(y)


@functools.cache
def _own_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for whoever reproduces a case: there is one in a process, for making many takes long."""
    return tempfile.TemporaryDirectory()


def _emptied(folder: str) -> str:
    """The folder without the files that an answer left in it."""
    for path in Path(folder).rglob("*"):
        if not path.is_dir():
            path.unlink(missing_ok=True)
    return folder


@save_on_disk.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    """A view of a weight that does not begin where its storage does, twice backward; a layer, memory measured."""
    for dtype, rows, start, first in ((torch.float64, 4, 200, 1), (torch.float32, 8, 0, 0)):
        table = (uniform(rng, 300, 1) * uniform(rng, 40)).to(dtype)
        layer = torch.nn.Linear(40, 200, dtype=dtype)
        layer.load_state_dict({"weight": signed(rng, 200, 1) * signed(rng, 40) / 40, "bias": signed(rng, 200)})

        def f(
            x: Tensor, layer: torch.nn.Linear = layer, some: Tensor = table[start : start + rows], first: int = first
        ) -> Tensor:
            hidden = some * x.sin()
            z = linear(hidden, layer.weight[first:], layer.bias[first:]) if first else layer(hidden)
            return z.mean(1).exp()

        x = uniform(rng, rows, 40).to(dtype).requires_grad_()
        hidden = f"table[{start}:{start + rows}] * x.sin()"
        text = f"linear({hidden}, W[1:], b[1:]).mean(1).exp()" if first else f"layer({hidden}).mean(1).exp()"
        parameters, folder = list(layer.parameters()), _emptied(_own_folder().name)
        yield Case(f=Using(text, f, table), x=x, parameters=parameters, folder=folder, measured=not first)


def _on_disk(
    parameters: Sequence[Tensor],
    write: Callable[[Tensor], object],
    unpack: Callable[[Any], Any] = _tensor_or_file,
) -> Any:
    """The pair of hooks that writes everything but parameters."""
    weights = {p.untyped_storage().data_ptr() for p in parameters}

    def pack(t: Tensor) -> object:
        return t.detach() if t.untyped_storage().data_ptr() in weights else write(t)

    return saved_tensors_hooks(pack, unpack)


def _entries(t: Tensor) -> Tensor:
    return t.detach().clone()


@save_on_disk.mistake(
    en="It looks as if `f` runs without the hooks, or its result comes from another folder: `folder` is empty while "
    "the graph lives, and the saved tensors are in memory.",
    ru="Похоже, что `f` выполняется без хуков: пока граф жив, папка `folder` пуста, а сохранённые тензоры лежат в "
    "памяти.",
)
def writes_no_file(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    return f(x)


@save_on_disk.mistake(
    en="It looks as if the files are written somewhere else, not in `folder`.",
    ru="Похоже, что файлы пишутся не в `folder`, а в другое место.",
)
def writes_elsewhere(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with _on_disk(parameters, lambda t: _write(_entries(t))):
        return f(x)


@save_on_disk.mistake(
    en="It looks as if the files are gone before backward needs them: what is kept is a name, and the object whose "
    "`__del__` removes the file is not kept.",
    ru="Похоже, что файлы исчезают раньше, чем понадобятся: хранится только имя, а объект, который в `__del__` удаляет "
    "файл, никто не держит.",
)
def keeps_only_the_name(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with _on_disk(
        parameters,
        lambda t: _write(_entries(t), folder).name,
        lambda p: p if isinstance(p, Tensor) else torch.load(p),
    ):
        return f(x)


@save_on_disk.mistake(
    en="It looks as if nobody removes the files. Keep an object that does it when it goes, not the name alone.",
    ru="Похоже, что файлы никто не удаляет. Храните не имя, а объект, который удалит файл, когда исчезнет сам.",
)
def removes_no_file(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    def write(t: Tensor) -> str:
        name = os.path.join(folder, str(uuid.uuid4()))
        torch.save(_entries(t), name)
        return name

    with _on_disk(parameters, write, lambda p: p if isinstance(p, Tensor) else torch.load(p)):
        return f(x)


@save_on_disk.mistake(
    en="It looks as if `unpack` removes the file. A second backward pass then finds nothing, and a graph that is "
    "dropped without a backward pass leaves its files behind.",
    ru="Похоже, что файл удаляет `unpack`. Тогда второй обратный проход ничего не найдёт, а граф, отброшенный без "
    "обратного прохода, оставит свои файлы.",
)
def removes_when_unpacking(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    def write(t: Tensor) -> str:
        name = os.path.join(folder, str(uuid.uuid4()))
        torch.save(_entries(t), name)
        return name

    def unpack(packed: Any) -> Any:
        if isinstance(packed, Tensor):
            return packed
        loaded = torch.load(packed)
        os.remove(packed)
        return loaded

    with _on_disk(parameters, write, unpack):
        return f(x)


@save_on_disk.mistake(
    en="It looks as if a slice is saved as it is. `torch.save` writes the storage, not the view: the whole table goes "
    "to the file.",
    ru="Похоже, что срез сохраняется как есть. `torch.save` пишет хранилище, а не представление: в файл попадает вся "
    "таблица.",
)
def writes_the_storage(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with _on_disk(parameters, lambda t: _write(t.detach(), folder)):
        return f(x)


@save_on_disk.mistake(
    en="It looks as if the weight is written as well. A layer saves a view of it, which is another object: compare "
    "memory, not objects.",
    ru="Похоже, что в файл записывается и вес. Слой сохраняет его представление, то есть другой объект: сравнивайте "
    "память, а не объекты.",
)
def writes_the_weight(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with _on_disk([], lambda t: _write(_entries(t), folder)):
        return f(x)


@save_on_disk.mistake(
    en="It looks as if addresses of first entries are compared. A view need not begin where its storage does: compare "
    "`untyped_storage().data_ptr()`.",
    ru="Похоже, что сравниваются адреса первых элементов. Представление может начинаться не с начала хранилища: "
    "сравнивайте `untyped_storage().data_ptr()`.",
)
def compares_first_addresses(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    firsts = {p.data_ptr() for p in parameters}

    def pack(t: Tensor) -> object:
        return t.detach() if t.data_ptr() in firsts else _write(_entries(t), folder)

    with saved_tensors_hooks(pack, _tensor_or_file):
        return f(x)


@save_on_disk.mistake(
    en="It looks as if `x` is kept in memory with the parameters. It is a saved tensor like the others and belongs in a "
    "file.",
    ru="Похоже, что `x` остаётся в памяти вместе с параметрами. Это такой же сохранённый тензор, как другие, и его "
    "место в файле.",
)
def keeps_x_in_memory(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with _on_disk([*parameters, x], lambda t: _write(_entries(t), folder)):
        return f(x)


@save_on_disk.mistake(
    en="It looks as if both are wrong: a slice is saved with its whole storage, and the weight is written as well.",
    ru="Похоже, что ошибки две: срез сохраняется вместе со всем хранилищем, и вес тоже записывается в файл.",
)
def writes_storage_and_weight(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    with _on_disk([], lambda t: _write(t.detach(), folder)):
        return f(x)


@save_on_disk.mistake(
    en="It looks as if the object that `pack` returned holds the tensor beside the file. Then nothing leaves the memory.",
    ru="Похоже, что объект, который вернул `pack`, держит не только файл, но и сам тензор. Тогда из памяти ничего не "
    "уходит.",
)
def keeps_the_tensor_too(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    def write(t: Tensor) -> _TempFile:
        file = _write(_entries(t), folder)
        file.tensor = t.detach()  # type: ignore[attr-defined]
        return file

    with _on_disk(parameters, write):
        return f(x)


@save_on_disk.mistake(
    en="It looks as if all tensors share one file: each save writes over the one before.",
    ru="Похоже, что у всех тензоров один файл: каждое сохранение затирает предыдущее.",
)
def shares_one_file(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> Tensor:
    def write(t: Tensor) -> str:
        torch.save(_entries(t), os.path.join(folder, "saved.pt"))
        return os.path.join(folder, "saved.pt")

    with _on_disk(parameters, write, lambda p: p if isinstance(p, Tensor) else torch.load(p)):
        return f(x)


@save_on_disk.mistake(
    en="It looks as if nothing was returned. The function has to return `f(x)`.",
    ru="Похоже, что функция ничего не возвращает. Она должна вернуть `f(x)`.",
)
def returns_nothing(f: Function, x: Tensor, parameters: Sequence[Tensor], folder: str) -> None:
    with _on_disk(parameters, lambda t: _write(_entries(t), folder)):
        f(x)


# ------------------------------------------------------------------------------------------------ core: checkpointing


class _CountedTanh(torch.nn.Module):
    """A layer that saves one tensor, its result, and counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x.tanh()


class _Measured(NamedTuple):
    """What a run of deep layers needs: activations kept after the forward pass, bytes, calls of one layer."""

    kept: int
    forward_peak: int
    peak: int
    left: int
    calls: int


def _measure(run: Callable[[list[torch.nn.Module], Tensor], object], depth: int, x: Tensor) -> _Measured:
    """Run `depth` layers forward and back, on a fresh `x`; `left` is what stays, the gradient of `x` left out."""
    layers, x = [_CountedTanh() for _ in range(depth)], x.detach().requires_grad_()
    with live_bytes() as live:
        y = run(list(layers), x)
        kept, forward_peak = live.now, live.peak
        if isinstance(y, Tensor) and y.requires_grad:
            torchs_error(y.sum().backward)
        del y
        x.grad = None
        if live.now:
            gc.collect(1)
    calls = max(layer.calls for layer in layers)
    return _Measured(round(kept / nbytes(x)), forward_peak, live.peak, live.now, calls)


def _peak_allowed(depth: int, x: Tensor) -> int:
    return round((2 * math.sqrt(depth) + 3.5) * nbytes(x))


def _gradients(run: Callable[[list[torch.nn.Module], Tensor], object], case: Case) -> object:
    """The output and the gradients of the input and of the layers, or what torch raised in the backward pass."""
    y = run(list(case.layers), case.x)
    if isinstance(y, Tensor) and y.requires_grad:
        raised = torchs_error((y * case.v).sum().backward)
        if raised:
            return raised
    found: dict[str, object] = {"output": y, "x.grad": case.x.grad}
    for index, layer in enumerate(case.layers):
        found[f"layers[{index}].weight.grad"] = layer.weight.grad
    return found


class Layer(torch.nn.Module):
    """A layer with one weight."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x: Tensor) -> Tensor:
        return (x @ self.weight).tanh()


def _layers(rng: torch.Generator, count: int, width: int, dtype: torch.dtype) -> list[torch.nn.Module]:
    return [Layer(weight) for weight in (signed(rng, count, width, width) / width).to(dtype)]


@functools.cache
def _tanhs(depth: int) -> list[torch.nn.Module]:
    """Layers for a case to show: the probe measures on fresh ones."""
    return [torch.nn.Tanh() for _ in range(depth)]


def _layered_cases(rng: torch.Generator, depths: tuple[int, int]) -> Iterator[Case]:
    """Small networks with a `v`, for the gradients; deep ones without it, on which calls and memory are counted."""
    for count, width, dtype, tracked in ((5, 3, torch.float64, True), (4, 5, torch.float32, False)):
        x = uniform(rng, 6, width).to(dtype).requires_grad_(tracked)
        yield Case(layers=_layers(rng, count, width, dtype), x=x, v=signed(rng, 6, width).to(dtype))
    for depth in depths:
        yield Case(layers=list(_tanhs(depth)), x=leaf(rng, 10, 20), v=None)


# No fixed length of a segment and no fixed number of segments keeps the budget at both depths.
_SHALLOW, _DEEP = 7, 99


@exercise(
    title=Text("A budget for the peak", "Предел для пика"),
    kind="design",
    core=True,
    difficulty=3,
    minutes=16,
    rtol=1e-5,
    aspects=[
        aspect(
            "left",
            0,
            en="After the backward pass nothing stays in memory but gradients (bytes left).",
            ru="После обратного прохода в памяти остаются только градиенты (осталось лишнего, байт).",
        ),
        aspect(
            "gradients",
            2,
            en="Output and gradients are those of the layers run one after the other.",
            ru="Результат и градиенты такие же, как при обычном последовательном применении слоёв.",
        ),
        aspect(
            "calls",
            1,
            en="Each of 7 or 99 layers is called at most twice (the most calls of one layer).",
            ru="Каждый из 7 или 99 слоёв вызван самое большее дважды (наибольшее число вызовов одного слоя).",
        ),
        aspect(
            "peak",
            2,
            en="The peak is at most 8.8 times the size of `x` with 7 layers, 23.4 times with 99 layers (bytes; `x` has "
            "1600).",
            ru="Пик не больше 8.8 размера `x` при 7 слоях и 23.4 размера при 99 слоях (байты; в `x` их 1600).",
        ),
    ],
    hints=[
        Text(
            "With $k$ segments of $s$ layers: how many tensors wait at the borders, how many are alive while one segment "
            "is recomputed?",
            "Пусть сегментов $k$, по $s$ слоёв в каждом. Сколько тензоров ждут на границах и сколько живы, пока один "
            "сегмент вычисляется повторно?",
        ),
        Text(
            "About $k + s$, and $k \\cdot s$ is the number of layers: the sum is smallest when both are its square root. "
            "The last segment may be shorter.",
            "Примерно $k + s$, а $k \\cdot s$ — это число слоёв. Сумма меньше всего, когда оба слагаемых равны корню "
            "из этого числа. Последний сегмент может быть короче.",
        ),
        Text(
            "`for start in range(0, len(layers), size): segment = torch.nn.Sequential(*layers[start : start + size]); "
            "x = checkpoint(segment, x, use_reentrant=False)`, where `size` is about the root of `len(layers)`.",
            "`for start in range(0, len(layers), size): segment = torch.nn.Sequential(*layers[start : start + size]); "
            "x = checkpoint(segment, x, use_reentrant=False)`, где `size` — примерно корень из `len(layers)`.",
        ),
    ],
)
def checkpointed(answer: Any, case: Case) -> dict[str, object]:
    run = answer.checkpointed
    with using_answer():
        if case.v is not None:
            return {"left": 0, "gradients": _gradients(run, case), "calls": AtMost(2, 0), "peak": AtMost(0, 0)}
        depth = len(case.layers)
        found = _measure(run, _SHALLOW, case.x)
        if depth == _DEEP:  # who fails on few layers is seen on some more, for the diagnosis, and not on all
            fails = found.calls > 2 or found.peak > _peak_allowed(_SHALLOW, case.x)
            found = _measure(run, 20 if fails else _DEEP, case.x)
    return {
        "left": found.left,
        "gradients": None,
        "calls": AtMost(2, found.calls),
        "peak": AtMost(_peak_allowed(depth, case.x), found.peak),
        "kept": found.kept,
        "called": found.calls,
    }


checkpointed.cases(lambda rng: _layered_cases(rng, (_SHALLOW, _DEEP)))

Layers = list[torch.nn.Module]


def _in_segments(layers: Layers, x: Tensor, size: int) -> Tensor:
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size]), x, use_reentrant=False)
    return x


@checkpointed.mistake(
    en="It looks as if nothing is recomputed: every layer keeps what it saves until backward.",
    ru="Похоже, что ничего не вычисляется повторно: каждый слой до самого обратного прохода хранит всё, что сохранил.",
)
def recomputes_nothing(layers: Layers, x: Tensor) -> Tensor:
    return torch.nn.Sequential(*layers)(x)  # type: ignore[no-any-return]


@checkpointed.mistake(
    en="It looks as if every layer has a checkpoint of its own. Then the input of every layer is kept, which is as much "
    "as before.",
    ru="Похоже, что контрольная точка стоит у каждого слоя. Тогда хранится вход каждого слоя, то есть столько же, "
    "сколько и раньше.",
)
def checkpoints_each_layer(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x, 1)


@checkpointed.mistake(
    en="It looks as if one checkpoint holds all layers. Nothing is kept after the forward pass, but the recomputation "
    "builds the whole graph: the peak only moves into backward.",
    ru="Похоже, что контрольная точка одна на все слои. После прямого прохода не хранится ничего, но повторное "
    "вычисление строит весь граф: пик лишь переносится в обратный проход.",
)
def checkpoints_everything_at_once(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x, len(layers))


@checkpointed.mistake(
    en="It looks as if there are always two segments. Half of the layers are then alive at once; their number has to "
    "grow with the depth.",
    ru="Похоже, что сегментов всегда два. Тогда одновременно живы результаты половины слоёв; число сегментов должно "
    "расти с глубиной.",
)
def always_two_segments(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x, -(-len(layers) // 2))


@checkpointed.mistake(
    en="It looks as if the number of segments is fixed at 4. It fits 16 layers; for 99 layers it has to grow.",
    ru="Похоже, что число сегментов всегда равно 4. Для 16 слоёв это подходит, для 99 их должно быть больше.",
)
def always_four_segments(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x, -(-len(layers) // 4))


@checkpointed.mistake(
    en="It looks as if a segment always has 4 layers. It fits 16 layers; with 99 there are 25 inputs of segments to keep.",
    ru="Похоже, что в сегменте всегда 4 слоя. Для 16 слоёв это подходит, а при 99 нужно хранить входы 25 сегментов.",
)
def always_four_layers(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x, 4)


@checkpointed.mistake(
    en="It looks as if a segment always has 6 layers. With 99 layers there are 17 inputs of segments to keep; the length "
    "has to grow with the depth.",
    ru="Похоже, что в сегменте всегда 6 слоёв. При 99 слоях нужно хранить входы 17 сегментов; длина сегмента должна "
    "расти с глубиной.",
)
def always_six_layers(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x, 6)


@checkpointed.mistake(
    en="It looks as if there are about 10 segments at any depth, as with `len(layers) // 10` layers in each. Their number "
    "has to grow as the root: 7 layers want 2 or 3.",
    ru="Похоже, что при любой глубине сегментов около 10: например, в каждом `len(layers) // 10` слоёв. Число "
    "сегментов должно расти как корень из числа слоёв: для 7 слоёв нужно 2 или 3.",
)
def a_tenth_in_a_segment(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x, max(1, len(layers) // 10))


@checkpointed.mistake(
    en="It looks as if a segment has about 10 layers at any depth, as in `len(layers) // 10` segments. The length has to "
    "grow as the root: 7 layers want 2 or 3 in each.",
    ru="Похоже, что при любой глубине в сегменте около 10 слоёв: например, сегментов `len(layers) // 10`. Длина "
    "сегмента должна расти как корень из числа слоёв: при 7 слоях это 2 или 3.",
)
def a_tenth_of_segments(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x, -(-len(layers) // max(1, len(layers) // 10)))


@checkpointed.mistake(
    en="It looks as if the last segment is much longer than the others: `checkpoint_sequential` gives it all that "
    "remains. Take fewer segments, or cut the layers yourself.",
    ru="Похоже, что последний сегмент намного длиннее остальных: `checkpoint_sequential` отдаёт ему весь остаток. "
    "Возьмите меньше сегментов или нарежьте слои сами.",
)
def leaves_a_long_rest(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_sequential(layers, round(len(layers) ** 0.5), x, use_reentrant=False)  # type: ignore[no-any-return]


@checkpointed.mistake(
    en="It looks as if the layers that do not fill a segment are dropped. The last segment may be shorter.",
    ru="Похоже, что слои, которых не хватило на целый сегмент, потеряны. Последний сегмент может быть короче.",
)
def drops_the_last_layers(layers: Layers, x: Tensor) -> Tensor:
    size = math.isqrt(len(layers))
    return _in_segments(layers[: len(layers) // size * size], x, size)


@checkpointed.mistake(
    en="It looks as if the recomputation runs the wrong layers. A function that was made in a loop reads the loop's "
    "variable when it is called again, in backward: by then it holds the last segment.",
    ru="Похоже, что повторно вычисляются не те слои. Функция, созданная в цикле, читает переменную цикла в тот момент, "
    "когда её вызывают. При повторном вызове, в обратном проходе, там уже последний сегмент.",
)
def binds_late(layers: Layers, x: Tensor) -> Tensor:
    size = math.isqrt(len(layers))

    def run(h: Tensor) -> Tensor:
        for layer in segment:
            h = layer(h)
        return h

    for start in range(0, len(layers), size):
        segment = layers[start : start + size]
        x = checkpoint(run, x, use_reentrant=False)
    return x


@checkpointed.mistake(
    en="It looks as if `use_reentrant=True` was taken. When the input of a segment does not require grad, this variant "
    "records nothing, and its weights get no gradient.",
    ru="Похоже, что взят `use_reentrant=True`. Если вход сегмента не требует градиента, этот вариант ничего не "
    "записывает в граф, и веса сегмента не получают градиента.",
)
def is_reentrant(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_sequential(layers, math.isqrt(len(layers)), x, use_reentrant=True)  # type: ignore[no-any-return]


@checkpointed.mistake(*checkpointed.mistakes["is_reentrant"].says)
def is_reentrant_everywhere(layers: Layers, x: Tensor) -> Tensor:
    size = math.isqrt(len(layers))
    for start in range(0, len(layers), size):
        x = checkpoint(torch.nn.Sequential(*layers[start : start + size]), x, use_reentrant=True)
    return x


@checkpointed.mistake(*checkpointed.mistakes["always_two_segments"].says)
def two_by_checkpoint_sequential(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint_sequential(layers, 2, x, use_reentrant=False)  # type: ignore[no-any-return]


@checkpointed.mistake(
    en="It looks as if the segments run on a detached copy of `x`: its gradient never reaches `x`.",
    ru="Похоже, что сегменты выполняются на отсоединённой копии `x`: до самого `x` градиент не доходит.",
)
def detaches_the_input(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x.detach().requires_grad_(), math.isqrt(len(layers)))


@checkpointed.mistake(
    en="It looks as if every segment gets `x` itself: each has to get the output of the one before.",
    ru="Похоже, что каждый сегмент получает сам `x`, а должен получать результат предыдущего.",
)
def does_not_chain(layers: Layers, x: Tensor) -> Tensor:
    size = math.isqrt(len(layers))
    return _in_segments(layers[(len(layers) - 1) // size * size :], x, size)


@checkpointed.mistake(
    en="It looks as if the layers ran under `no_grad()`. Nothing is kept then, but there is no graph to go back through.",
    ru="Похоже, что слои выполнены внутри `no_grad()`. Тогда ничего не хранится, но и графа для обратного прохода нет.",
)
def runs_without_a_graph(layers: Layers, x: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.nn.Sequential(*layers)(x)  # type: ignore[no-any-return]


@checkpointed.mistake(
    en="It looks as if checkpoints stand inside checkpoints. It saves more memory, but the inner layers are computed "
    "three times and more.",
    ru="Похоже, что контрольные точки вложены друг в друга. Памяти нужно меньше, но внутренние слои вычисляются по три "
    "раза и больше.",
)
def nests(layers: Layers, x: Tensor) -> Tensor:
    def run(part: Layers, h: Tensor) -> Tensor:
        if len(part) == 1:
            layer: Function = part[0]
            return layer(h)
        middle = len(part) // 2
        for half in (part[:middle], part[middle:]):
            h = checkpoint(run, half, h, use_reentrant=False)
        return h

    return run(layers, x)


@checkpointed.mistake(
    en="It looks as if nothing was returned. The function has to return the output of the last layer.",
    ru="Похоже, что функция ничего не возвращает. Она должна вернуть результат последнего слоя.",
)
def gives_nothing_back(layers: Layers, x: Tensor) -> None:
    _in_segments(layers, x, math.isqrt(len(layers)))


# ------------------------------------------------------------------------------------------------ extra: a byte counter


@exercise(
    title=Text("Count what is kept", "Сосчитать сохранённое"),
    kind="complete",
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "bytes",
            4,
            en="Each storage that the graph of `f(x)` keeps counts once and whole; parameters do not count.",
            ru="Каждое хранилище, которое держит граф `f(x)`, посчитано один раз и целиком; параметры не считаются.",
        )
    ],
    hints=[
        Text(
            "A `pack` hook sees every save. What makes two of them the same memory?",
            "Хук `pack` видит каждое сохранение. Как узнать, что у двух сохранённых тензоров общая память?",
        ),
        Text(
            "`t.untyped_storage()` has a `data_ptr()` and `nbytes()`. A dictionary from the one to the other counts each "
            "storage once.",
            "У `t.untyped_storage()` есть `data_ptr()` и `nbytes()`. В словаре, где ключ — адрес, а значение — размер, "
            "каждое хранилище окажется один раз.",
        ),
        Text(
            "`def pack(t): storage = t.untyped_storage(); kept[storage.data_ptr()] = storage.nbytes(); return t.detach()`. "
            "Leave the parameters' pointers out at the end, and hold the result of `f(x)` until then.",
            "`def pack(t): storage = t.untyped_storage(); kept[storage.data_ptr()] = storage.nbytes(); return "
            "t.detach()`. В конце исключите адреса параметров, а до тех пор держите результат `f(x)`.",
        ),
    ],
)
def count_saved(answer: Any, case: Case) -> dict[str, object]:
    found = answer.count_saved(case.f, case.x, case.parameters)
    with using_answer():
        return {"bytes": number(found)}


def _exp_and_sin(x: Tensor) -> Tensor:
    for _ in range(8):
        x = x.exp().sin()
    return x


@count_saved.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    rows = int(torch.randint(3, 9, (), generator=rng))
    W, b = leaf(rng, 5, 7), leaf(rng, 5)
    slices = Formula("x[:1].sin() + x[1:3].cos()", lambda x: x[:1].sin() + x[1:3].cos())
    yield Case(f=Formula("x * x", lambda x: x * x), x=leaf(rng, rows, 4), parameters=[])
    yield Case(f=slices, x=leaf(rng, rows, 6), parameters=[])
    yield Case(f=Formula("x.expand(50, -1).cos()", lambda x: x.expand(50, -1).cos()), x=leaf(rng, rows), parameters=[])
    yield Case(
        f=Formula("linear(x.exp(), W[2:], b[2:]).relu()", lambda x: linear(x.exp(), W[2:], b[2:]).relu()),
        x=leaf(rng, rows, 7),
        parameters=[W, b],
    )
    yield Case(f=Formula("8 × x.exp().sin()", _exp_and_sin), x=leaf(rng, rows, 100), parameters=[])
    yield Case(
        f=Formula("where(x > 1, x, 0.0)", lambda x: torch.where(x > 1, x, 0.0)),
        x=uniform(rng, rows, 3).float().requires_grad_(),
        parameters=[],
    )


def _counter(measure: Callable[[Tensor], tuple[object, int]], skip: bool = True) -> Callable[..., int]:
    """A counter of saves: `measure` gives what makes a save the same as another, and its bytes."""

    def count(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
        kept: dict[object, int] = {}
        weights = {p.untyped_storage().data_ptr() for p in parameters} if skip else set()

        def pack(t: Tensor) -> Tensor:
            if t.untyped_storage().data_ptr() not in weights:
                key, size = measure(t)
                kept[key] = size
            return t.detach()

        with saved_tensors_hooks(pack, lambda t: t):
            y = f(x)
        del y
        return sum(kept.values())

    return count


def _address(t: Tensor) -> int:
    return t.untyped_storage().data_ptr()


@count_saved.mistake(
    en="It looks as if every save was counted. `x * x` saves the same storage twice.",
    ru="Похоже, что посчитано каждое сохранение. `x * x` дважды сохраняет одно и то же хранилище.",
)
def counts_every_save(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counter(lambda t: (object(), t.untyped_storage().nbytes()))(f, x, parameters)


@count_saved.mistake(
    en="It looks as if the entries of each save were counted. A slice keeps its whole storage, and `x * x` saves one "
    "storage twice.",
    ru="Похоже, что посчитаны элементы каждого сохранённого тензора. Срез держит всё хранилище, а `x * x` дважды "
    "сохраняет одно и то же.",
)
def counts_entries_of_saves(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counter(lambda t: (object(), nbytes(t)))(f, x, parameters)


@count_saved.mistake(
    en="It looks as if a view was counted by its own entries. It keeps the storage it lies in: a slice more than it "
    "shows, the result of `expand` less.",
    ru="Похоже, что представление посчитано по его собственным элементам. Оно держит хранилище, в котором лежит: срез "
    "держит больше, чем в нём видно, а результат `expand` — меньше.",
)
def counts_entries_of_tensors(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counter(lambda t: (_address(t), nbytes(t)))(f, x, parameters)


@count_saved.mistake(
    en="It looks as if parameters were counted. A layer saves its weight through a view: compare memory, not objects.",
    ru="Похоже, что посчитаны параметры. Слой сохраняет вес через представление: сравнивайте память, а не объекты.",
)
def counts_parameters(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counter(lambda t: (_address(t), t.untyped_storage().nbytes()), skip=False)(f, x, parameters)


@count_saved.mistake(
    en="It looks as if the addresses of first entries tell the saves apart: two slices of one tensor begin at two of "
    "them, and are one storage. Take the address of the storage.",
    ru="Похоже, что сохранённое различается по адресу первого элемента. Два среза одного тензора начинаются в разных "
    "местах, а хранилище у них одно. Берите адрес хранилища.",
)
def tells_by_first_entries(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counter(lambda t: (t.data_ptr(), t.untyped_storage().nbytes()))(f, x, parameters)


@count_saved.mistake(*count_saved.mistakes["tells_by_first_entries"].says)
def tells_all_by_first_entries(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    firsts = {p.data_ptr() for p in parameters}
    kept: dict[int, int] = {}

    def pack(t: Tensor) -> Tensor:
        kept[t.data_ptr()] = t.untyped_storage().nbytes()
        return t.detach()

    with saved_tensors_hooks(pack, lambda t: t):
        y = f(x)
    del y
    return sum(size for address, size in kept.items() if address not in firsts)


@count_saved.mistake(
    en="It looks as if `x` was left out with the parameters. When the graph saves it, it counts.",
    ru="Похоже, что вместе с параметрами исключён и `x`. Если граф его сохраняет, он считается.",
)
def leaves_x_out(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    mine = x.untyped_storage().data_ptr()
    return _counter(lambda t: (_address(t), 0 if _address(t) == mine else t.untyped_storage().nbytes()))(
        f, x, parameters
    )


@count_saved.mistake(
    en="It looks as if the number of saves was returned, not bytes.",
    ru="Похоже, что возвращено число сохранений, а не байтов.",
)
def counts_calls(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counter(lambda t: (object(), 1))(f, x, parameters)


@count_saved.mistake(
    en="It looks as if four bytes were assumed for every entry. A float64 takes eight, a boolean one.",
    ru="Похоже, вы считаете, что любой элемент занимает четыре байта. На самом деле float64 занимает восемь, "
    "логическое значение — один.",
)
def assumes_float32(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return _counter(lambda t: (_address(t), t.untyped_storage().nbytes() // t.element_size() * 4))(f, x, parameters)


@count_saved.mistake(
    en="It looks as if nothing was returned: the number was printed, or `return` is missing.",
    ru="Похоже, что функция ничего не возвращает: число напечатано или забыт `return`.",
)
def returns_no_number(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> None:
    return None


@count_saved.mistake(
    en="It looks as if the bytes of all parameters were subtracted. A bias is not saved at all, so there is nothing to "
    "take away for it.",
    ru="Похоже, что вычтены байты всех параметров. Смещение вообще не сохраняется, и вычитать за него нечего.",
)
def subtracts_all_parameters(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    everything = _counter(lambda t: (_address(t), t.untyped_storage().nbytes()), skip=False)(f, x, parameters)
    return everything - sum(map(nbytes, parameters))


@count_saved.mistake(
    en="It looks as if `f` ran outside the `with`, or after it: the hooks saw nothing.",
    ru="Похоже, что `f` выполнена вне блока `with`: хуки ничего не увидели.",
)
def sees_nothing(f: Function, x: Tensor, parameters: Sequence[Tensor]) -> int:
    return 0


# ------------------------------------------------------------------------------------------ extra: the silent in-place


@exercise(
    title=Text("Twelve instead of eight", "Двенадцать вместо восьми"),
    kind="find the bug",
    difficulty=3,
    minutes=14,
    aspects=[
        aspect(
            "gradient",
            0,
            en="When nothing is changed, the gradient is the one without hooks.",
            ru="Если ничего не изменено, градиент такой же, как без хуков.",
        ),
        aspect(
            "after_edit",
            2,
            en="When a saved tensor is changed in place after the forward pass, `backward()` raises a RuntimeError.",
            ru="Если после прямого прохода сохранённый тензор изменён на месте, `backward()` завершается ошибкой "
            "RuntimeError.",
        ),
        aspect(
            "memory",
            1,
            en="No copies are kept (bytes in memory after the forward pass, the result of `f` alone is allowed).",
            ru="Копии не хранятся (байты в памяти после прямого прохода; допускается только результат `f`).",
        ),
        aspect(
            "left",
            1,
            en="When the result is dropped without a backward pass, nothing stays in memory (bytes left).",
            ru="Если результат отброшен без обратного прохода, в памяти ничего не остаётся (осталось в памяти, байт).",
        ),
    ],
    hints=[
        Text(
            "Without hooks, how does autograd notice that a saved tensor was changed?",
            "Как autograd без хуков замечает, что сохранённый тензор изменён?",
        ),
        Text(
            "Every tensor has a version, `t._version`, which grows with each change in place. `detach()` shares it, "
            "`.data` does not.",
            "У каждого тензора есть счётчик версий `t._version`: он растёт при каждом изменении на месте. У результата "
            "`detach()` счётчик общий с исходным тензором, у `.data` — свой.",
        ),
        Text(
            "`pack` returns a pair: the detached tensor and its version now. `unpack` compares that number with the "
            "tensor's version then, and raises a `RuntimeError` when they differ.",
            "`pack` возвращает пару: отсоединённый тензор и его версию на момент сохранения. `unpack` сравнивает это "
            "число с версией тензора в момент обращения и, если они различаются, вызывает ошибку `RuntimeError`.",
        ),
    ],
)
def notice_edits(answer: Any, case: Case) -> dict[str, object]:
    run = answer.notice_edits
    with using_answer():
        found = gradient(run(case.f, _edited_before(case.leaf)), case.leaf)
    with using_answer():
        x = _edited_before(case.leaf)
        y = run(case.f, x)
        after: object
        try:
            with torch.no_grad():
                edited = x if case.edits == "x" else y
                edited.copy_(edited.flip(0))  # the same numbers in another order: no sum of theirs shows it
            y.sum().backward()
            after = case.leaf.grad
        except Exception as error:
            after = type(error).__name__
        case.leaf.grad = None
        del x, y, edited
    h = case.leaf.detach().clone().requires_grad_()
    with using_answer(), live_bytes() as live:
        y = run(case.f, h)
        used = live.now
        del y
    with using_answer():
        left = bytes_left(lambda: run(case.f, h))
    memory = AtMost(nbytes(case.leaf), used)
    return {"gradient": found, "after_edit": after, "memory": memory, "left": left, "used": used}


def _edited_before(leaf: Tensor) -> Tensor:
    """An activation that was changed in place before it is used, so that its version is neither 0 nor 1."""
    return (leaf * 2).mul_(3).mul_(0.5)


@notice_edits.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    steps = (uniform(rng, 5, 3) * 64).round() / 64  # their sums are exact in any order
    yield Case(f=Formula("x ** 2", lambda x: x**2), leaf=steps.requires_grad_(), edits="x")
    yield Case(f=Formula("x.exp()", lambda x: x.exp()), leaf=leaf(rng, 2), edits="f(x)")
    small = uniform(rng, 2, 1).float().requires_grad_()
    yield Case(f=Formula("x.sin()", lambda x: x.sin()), leaf=small, edits="x")


def _raise_if(changed: bool, t: Tensor) -> Tensor:
    if changed:
        raise RuntimeError("a saved tensor was changed in place")
    return t


@notice_edits.mistake(
    en="It looks as if the change is still not noticed: backward computes with the new numbers. Hooks switch autograd's "
    "own check off, so `unpack` has to do it, by the version: a sum of the numbers does not show every change.",
    ru="Похоже, что изменение по-прежнему не замечено: обратный проход считает с новыми числами. Хуки отключают "
    "собственную проверку autograd, поэтому проверять должен `unpack`, причём версию: сумма чисел меняется не при "
    "всяком изменении.",
)
def does_not_look(f: Function, x: Tensor) -> Tensor:
    return _hooked(lambda t: t.detach(), lambda t: t)(f, x)


@notice_edits.mistake(
    en="It looks as if the tensor itself is kept beside its version. When it is the operation's own result, it holds "
    "the graph that holds it, and nothing is freed.",
    ru="Похоже, что рядом с версией хранится сам тензор. Если это результат той же операции, он держит граф, а граф — "
    "его, и память не освобождается.",
)
def keeps_the_tensor_itself(f: Function, x: Tensor) -> Tensor:
    def unpack(packed: Any) -> Tensor:
        return _raise_if(packed[0]._version != packed[1], packed[0])

    return _hooked(lambda t: (t, t._version), unpack)(f, x)


@notice_edits.mistake(
    en="It looks as if the version is compared with a fixed number, and an error is raised although nothing was changed. "
    "A tensor may have been changed before it was saved: compare with the version at that moment.",
    ru="Похоже, что версия сравнивается с постоянным числом и ошибка возникает, хотя ничего не изменено. Тензор могли "
    "изменить и до сохранения: сравнивайте с версией на тот момент.",
)
def expects_version_zero(f: Function, x: Tensor) -> Tensor:
    def unpack(packed: Any) -> Tensor:
        if packed._version != 0:
            raise RuntimeError("changed")
        return packed  # type: ignore[no-any-return]

    return _hooked(lambda t: t.detach(), unpack)(f, x)


@notice_edits.mistake(
    en="It looks as if only `x` is watched. `exp` saves its result, and that can be changed as well: watch each tensor "
    "that is packed.",
    ru="Похоже, что проверяется только `x`. `exp` сохраняет результат, а его тоже могут изменить: следите за каждым "
    "упакованным тензором.",
)
def watches_x_alone(f: Function, x: Tensor) -> Tensor:
    version = x._version
    return _hooked(lambda t: t.detach(), lambda t: _raise_if(x._version != version, t))(f, x)


@notice_edits.mistake(
    en="It looks as if a copy is saved. The gradient is then right whatever is changed, but each saved tensor takes "
    "memory twice, and nobody learns of the change.",
    ru="Похоже, что сохраняется копия. Градиент тогда верен при любых изменениях, но каждый сохранённый тензор "
    "занимает память дважды, и об изменении никто не узнает.",
)
def saves_a_copy(f: Function, x: Tensor) -> Tensor:
    return _hooked(lambda t: t.detach().clone(), lambda t: t)(f, x)


@notice_edits.mistake(
    en="It looks as if the numbers are compared with a copy. That notices the change, at the price of a second tensor; "
    "the version counter is one number.",
    ru="Похоже, что числа сравниваются с копией. Так изменение обнаруживается, но ценой второго тензора, а счётчик "
    "версий — это одно число.",
)
def compares_with_a_copy(f: Function, x: Tensor) -> Tensor:
    def unpack(packed: Any) -> Tensor:
        return _raise_if(not torch.equal(*packed), packed[0])

    return _hooked(lambda t: (t.detach(), t.detach().clone()), unpack)(f, x)


@notice_edits.mistake(
    en="It looks as if the change is noticed, but the error is a ValueError. It has to be a RuntimeError, as without "
    "hooks.",
    ru="Похоже, что изменение замечено, но ошибка — ValueError. Нужна RuntimeError, как и без хуков.",
)
def raises_value_error(f: Function, x: Tensor) -> Tensor:
    return _watched(f, x, ValueError)


@notice_edits.mistake(
    en="It looks as if the change is noticed by an `assert`, which raises an AssertionError. It has to be a "
    "RuntimeError, as without hooks.",
    ru="Похоже, что изменение замечает `assert`, а его ошибка — AssertionError. Нужна RuntimeError, как и без хуков.",
)
def asserts(f: Function, x: Tensor) -> Tensor:
    return _watched(f, x, AssertionError)


def _watched(f: Function, x: Tensor, error: type[Exception]) -> Tensor:
    """`f(x)` with versions watched; a change raises `error`."""

    def unpack(packed: Any) -> Tensor:
        kept: Tensor = packed[0]
        if kept._version != packed[1]:
            raise error("changed")
        return kept

    return _hooked(lambda t: (t.detach(), t._version), unpack)(f, x)


@notice_edits.mistake(
    en="It looks as if every `unpack` raises. An unchanged tensor has to be given back.",
    ru="Похоже, что ошибка возникает при любом `unpack`. Если тензор не изменён, его нужно вернуть.",
)
def always_raises(f: Function, x: Tensor) -> Tensor:
    return _hooked(lambda t: t.detach(), lambda t: _raise_if(True, t))(f, x)


@notice_edits.mistake(
    en="It looks as if `t.data` is kept: it has a version counter of its own. That of `t.detach()` is shared with the "
    "tensor.",
    ru="Похоже, что хранится `t.data`: у него свой счётчик версий. У `t.detach()` счётчик общий с исходным тензором.",
)
def watches_data(f: Function, x: Tensor) -> Tensor:
    def unpack(packed: Any) -> Tensor:
        return _raise_if(packed[0]._version != packed[1], packed[0])

    return _hooked(lambda t: (t.data, t._version), unpack)(f, x)


# ----------------------------------------------------------------------------------- extra: nothing saved, same peak


@exercise(
    title=Text("Nothing saved, the same peak", "Ничего не сохранено, а пик тот же"),
    kind="write the counter-example",
    difficulty=1,
    minutes=3,
    rtol=1e-5,
    aspects=[
        aspect(
            "gradients",
            1,
            en="Output and gradients are those of the layers run one after the other.",
            ru="Результат и градиенты такие же, как при обычном последовательном применении слоёв.",
        ),
        aspect(
            "kept",
            1,
            en="After the forward pass of 16 or 12 layers only the result is in memory (bytes).",
            ru="После прямого прохода по 16 или 12 слоям в памяти лежит только результат (байты).",
        ),
        aspect(
            "forward",
            0,
            en="The forward pass alone needs little: at most 4 times the size of `x` at any moment (bytes).",
            ru="Прямому проходу без обратного памяти нужно мало: в любой момент не больше 4 размеров `x` (байты).",
            after=("gradients", "kept"),
        ),
        aspect(
            "peak",
            1,
            en="The peak of forward and backward is not below 16 times the size of `x` (12 times with 12 layers).",
            ru="Пик за оба прохода, прямой и обратный, не ниже 16 размеров `x` (12 размеров при 12 слоях).",
            after=("gradients", "kept", "forward"),
        ),
    ],
    hints=[
        Text(
            "Which function computes a result and keeps nothing but its input?",
            "Какая функция вычисляет результат и не хранит ничего, кроме входа?",
        ),
        Text(
            "A checkpoint keeps the input of its segment. How long may a segment be?",
            "Контрольная точка хранит вход своего сегмента. Насколько длинным может быть сегмент?",
        ),
        Text(
            "One `checkpoint(..., use_reentrant=False)` around all the layers.",
            "Один `checkpoint(..., use_reentrant=False)` вокруг всех слоёв.",
        ),
    ],
)
def hide_saved(answer: Any, case: Case) -> dict[str, object]:
    run = answer.hide_saved
    with using_answer():
        if case.v is not None:
            return {"gradients": _gradients(run, case), "kept": AtMost(0, 0), "forward": AtMost(0, 0), "peak": True}
        found = _measure(run, len(case.layers), case.x)
    size = nbytes(case.x)
    return {
        "gradients": None,
        "kept": AtMost(size, found.kept * size),
        "forward": AtMost(4 * size, found.forward_peak),
        "peak": found.peak >= len(case.layers) * size,
        "activations": found.kept,
        "calls": found.calls,
    }


hide_saved.cases(lambda rng: _layered_cases(rng, (16, 12)))


@hide_saved.mistake(
    en="It looks as if the layers run as they are: each of them keeps its result. (`checkpoint_sequential` puts no "
    "checkpoint at its last segment, nor at the only one.)",
    ru="Похоже, что слои выполняются как есть: каждый хранит свой результат. (`checkpoint_sequential` не ставит "
    "контрольную точку на последнем сегменте, даже если он единственный.)",
)
def hides_nothing(layers: Layers, x: Tensor) -> Tensor:
    return torch.nn.Sequential(*layers)(x)  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="It looks as if every layer has a checkpoint of its own. Its input is then kept, and that is the result of the "
    "layer before.",
    ru="Похоже, что контрольная точка стоит у каждого слоя. Тогда хранится его вход, то есть результат предыдущего "
    "слоя.",
)
def hides_each_layer(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x, 1)


@hide_saved.mistake(
    en="It looks as if there are several segments. Their borders are kept, and the peak is lower: this is the good way, "
    "and no counter-example.",
    ru="Похоже, что сегментов несколько. Тогда хранятся их границы, а пик ниже: это хороший способ, но не контрпример.",
)
def hides_in_segments(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x, math.isqrt(len(layers)))


@hide_saved.mistake(*hide_saved.mistakes["hides_in_segments"].says)
def hides_in_two_segments(layers: Layers, x: Tensor) -> Tensor:
    return _in_segments(layers, x, -(-len(layers) // 2))


@hide_saved.mistake(
    en="It looks as if the peak is made by tensors of your own in the forward pass. It has to come of the layers, when "
    "backward recomputes all of them at once.",
    ru="Похоже, что пик создают лишние тензоры в прямом проходе. Его должны создавать сами слои, когда в обратном "
    "проходе они повторно вычисляются все сразу.",
)
def makes_junk(layers: Layers, x: Tensor) -> Tensor:
    junk = [x.detach().clone() for _ in layers]
    y = checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=False)
    del junk
    return y  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="It looks as if the layers ran under `no_grad()`. Nothing is kept then, but there are no gradients either.",
    ru="Похоже, что слои выполнены внутри `no_grad()`. Тогда ничего не хранится, но и градиентов нет.",
)
def hides_the_graph(layers: Layers, x: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.nn.Sequential(*layers)(x)  # type: ignore[no-any-return]


@hide_saved.mistake(
    en="It looks as if `use_reentrant=True` was taken. When `x` does not require grad, this variant records nothing.",
    ru="Похоже, что взят `use_reentrant=True`. Если `x` не требует градиента, этот вариант ничего не записывает в "
    "граф.",
)
def hides_by_the_old_variant(layers: Layers, x: Tensor) -> Tensor:
    return checkpoint(torch.nn.Sequential(*layers), x, use_reentrant=True)  # type: ignore[no-any-return]
