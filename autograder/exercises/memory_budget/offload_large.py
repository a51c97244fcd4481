"""Extra exercise: hooks that move large saved tensors, each storage once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught
from autograder.checking.counted_run import condense
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import BYTES_IN_MEMORY, PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

from .other_memory import OtherMemory, chain, masked, saved_storages, views

_SPARE = 1024  # bytes that an answer may keep beside tensors
_AT_ONCE = 6  # large storages in memory at the same time during the forward pass


@exercise(
    title=Text("Move what is large, and once", "Выгрузить только крупное и только один раз"),
    kind="design",
    difficulty=3,
    minutes=25,
    aspects=[
        aspect(
            "gradients",
            1,
            en="Result and gradients are those without hooks, in all digits.",
            ru="Результат и градиенты такие же, как без хуков, до последнего знака.",
        ),
        aspect(
            "memory",
            1,
            en="Between the passes no large storage is in memory but those of `x`, of parameters and of the result (bytes).",
            ru="Между проходами в памяти нет крупных хранилищ, кроме хранилищ `x`, параметров и результата (байты).",
            after=("gradients",),
            measured=BYTES_IN_MEMORY,
        ),
        aspect(
            "again",
            1,
            en="After `retain_graph=True` a second backward pass gives them again.",
            ru="После `retain_graph=True` второй обратный проход даёт те же градиенты.",
            after=("gradients", "memory"),
        ),
        aspect(
            "calls",
            0.5,
            en="Two calls with two memories, both before the first backward pass, keep to themselves.",
            ru="Два вызова с разной второй памятью, оба до первого обратного прохода, не мешают друг другу.",
            after=("gradients", "memory"),
        ),
        aspect(
            "peak",
            1,
            en="A storage leaves the memory as soon as `f` needs it no longer: at the peak of the forward pass there are at "
            f"most {_AT_ONCE} large ones (bytes).",
            ru="Хранилище освобождается, как только оно больше не нужно самой `f`: на пике прямого прохода крупных "
            f"хранилищ не больше {_AT_ONCE} (байты).",
            after=("gradients", "memory"),
            measured=PEAK,
        ),
        aspect(
            "stays",
            0.5,
            en="`put` never gets `x`, a parameter or a small tensor.",
            ru="В `put` не попадают `x`, параметры и малые тензоры.",
            after=("gradients", "memory"),
            measured=Text("Needless calls of `put`", "Лишних вызовов `put`"),
        ),
        aspect(
            "once",
            1,
            en="`put` gets each large storage once, also if several tensors share it.",
            ru="В `put` каждое крупное хранилище попадает один раз, даже если оно общее для нескольких тензоров.",
            after=("gradients", "memory"),
            measured=Text("Calls of `put`", "Вызовов `put`"),
        ),
    ],
    hints=[
        Text(
            "Three questions to `t` in `pack`: how large is its storage, whose is it, and was it moved before? What must "
            "`unpack` know to show the same part of it?",
            "О тензоре `t` в `pack` три вопроса: какого размера его хранилище, чьё оно и выгружено ли оно уже? Что должен "
            "знать `unpack`, чтобы показать ту же часть?",
        ),
        Text(
            "`x` and the parameters live all the time: there the address of the storage is enough. For the others take a "
            "`weakref.WeakKeyDictionary` from storages to keys. Move the whole storage, and note size, strides and offset.",
            "`x` и параметры существуют всё время, для них достаточно адреса хранилища. Для остальных подойдёт "
            "`weakref.WeakKeyDictionary` от хранилищ к ключам. Выгружайте хранилище целиком, а форму, шаги и смещение "
            "запомните.",
        ),
        Text(
            "The whole storage: `t.detach().as_strided((storage.nbytes() // t.element_size(),), (1,), 0)`. And back: "
            "`get(key).as_strided(size, stride, offset)`, from `t.size()`, `t.stride()`, `t.storage_offset()`.",
            "Хранилище целиком: `t.detach().as_strided((storage.nbytes() // t.element_size(),), (1,), 0)`. И обратно: "
            "`get(key).as_strided(size, stride, offset)` с запомненными `t.size()`, `t.stride()`, `t.storage_offset()`.",
        ),
    ],
)
def offload_large(answer: Any, case: Case) -> dict[str, object]:
    held = (case.x, *case.parameters)
    sizes = saved_storages(case.f, case.x, held)
    large = [size for size in sizes if size >= case.limit]
    plain = case.f(case.x)
    truth, right = plain.detach().clone(), _gradients(plain, held)
    del plain
    memory: OtherMemory = case.memory
    with using_answer():
        with live_bytes() as live:
            y = answer.offload_large(case.f, case.x, list(case.parameters), case.limit, case.put, case.get)
            kept, peak = live.now_and_peak
            same = isinstance(y, Tensor) and y.equal(truth)
            moved = memory.count(case.limit, held)
            first = _gradients(y, held, retain_graph=True)
            kept = max(kept, live.now - _nbytes(first))  # what was brought back must not stay, either
            second = _gradients(y, held)
        two = [_call_apart(answer, case) for _ in range(2)]
        apart = [_error(_gradients(result, held), right) == "none" for result in two]
    small = truth.nbytes + sum(sizes) - sum(large)
    error, all_moved = _error(first, right), moved.large >= len(large)
    return {
        "gradients": same and error == "none",
        "again": _error(second, right) == "none",
        "calls": all(apart),
        "memory": AtMost(small + _SPARE, kept, of=same),
        "peak": AtMost(small + _AT_ONCE * max(large) + _SPARE, peak, of=same),
        "stays": AtMost(0, moved.small + moved.x + moved.parameters, of=same),
        "once": AtMost(len(large), max(len(large), moved.large), of=same),
        "result is that of f": same,
        # How many storages are taken for others that were freed, and which, depends on addresses.
        "error": error if all_moved or error in (None, "none") else "any",
        "sums": condense(first) if all_moved and truth.dtype == torch.float64 else None,
        "all large ones moved": all_moved,
        "small moved": moved.small > 0,
        "x moved": moved.x > 0,
        "parameters moved": moved.parameters > 0,
        "storages left": round((kept - small) / min(large)),
    }


def _call_apart(answer: Any, case: Case) -> object:
    """Call the answer with a memory that no other call knows."""
    memory = OtherMemory()
    return answer.offload_large(case.f, case.x, list(case.parameters), case.limit, memory.put, memory.get)


def _gradients(y: object, leaves: tuple[Tensor, ...], retain_graph: bool = False) -> list[Tensor] | Caught | None:
    """Return the gradients of the leaves, or torch's error."""
    if not isinstance(y, Tensor) or not y.requires_grad:
        return None
    try:
        return list(torch.autograd.grad((y * y.detach().cos()).sum(), leaves, retain_graph=retain_graph))
    except (RuntimeError, LookupError) as error:
        return Caught.of(error, type(error).__name__)


def _error(found: object, right: object) -> object:
    """Return how far gradients are from those without hooks in this process.

    The distance is a word, or torch's error.
    """
    if not isinstance(found, list) or not isinstance(right, list):
        return found
    finest = 1e-12 if right[0].dtype == torch.float64 else 1e-5
    error = max(float((a - b).norm() / b.norm()) for a, b in zip(found, right))
    return "none" if error <= finest else "rounding" if error < 1e-2 else "large"


def _nbytes(found: object) -> int:
    return sum(each.untyped_storage().nbytes() for each in found) if isinstance(found, list) else 0


@offload_large.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for make, rows, of_w, dtype, limit in (
        (chain, 40, (30, 50), torch.float64, 1600),
        (views, 24, (50, 30), torch.float32, 24 * 45 * 4),  # exactly the size of what is moved
        (masked, 20, (30, 50), torch.float64, 1600),
    ):
        w, b = signed(rng, *of_w) / 30, signed(rng, 50)
        parameters = [each.to(dtype).requires_grad_() for each in (w, b)]
        x = signed(rng, rows, 30).to(dtype).requires_grad_()
        memory = OtherMemory()
        f, put, get = make(*parameters), _function(memory.put), _function(memory.get)
        yield Case(f=f, x=x, parameters=parameters, limit=limit, put=put, get=get, memory=memory)


def _function(method: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that calls `method`: a card does not show a function among the inputs."""
    return lambda argument: method(argument)
