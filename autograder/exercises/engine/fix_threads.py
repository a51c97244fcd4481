"""Extra exercise: an evaluation in threads that records graphs and hides errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.checking.observe import using_answer
from autograder.language import Text

_BAD = "this batch cannot be used"


class _Model(torch.nn.Module):
    """A linear model that notes thread and recording of each call.

    Raises ValueError for a batch with a NaN.
    """

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight)
        self.seen: list[tuple[int, bool]] = []

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append((threading.get_ident(), torch.is_grad_enabled()))
        if x.isnan().any():
            raise ValueError(_BAD)
        return x @ self.weight


@exercise(
    title=Text("Evaluation in threads", "Оценка модели в потоках"),
    kind="find the bug",
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "outputs",
            0,
            en="The outputs are those of the model, in the order of the batches, one call for each.",
            ru="Результаты — те, что даёт модель, в порядке батчей, по одному вызову на батч.",
        ),
        aspect(
            "no_graph",
            1,
            en="Nothing is recorded while the model runs, and the caller's mode is afterwards what it was.",
            ru="Во время работы модели ничего не записывается, а режим в вызывающем потоке потом такой же, как был.",
        ),
        aspect(
            "in_threads",
            1,
            en="Every call of the model runs in a thread other than the caller's, and all threads have ended.",
            ru="Каждый вызов модели выполняется не в том потоке, который вызвал функцию, и все потоки завершены.",
        ),
        aspect(
            "error",
            1,
            en="An error that the model raises in a thread is raised by the function.",
            ru="Исключение, которое модель вызвала в потоке, вызывает и сама функция.",
        ),
    ],
    hints=[
        Text(
            "In which thread does `torch.no_grad()` hold? And who sees an exception that ends a thread?",
            "В каком потоке действует `torch.no_grad()`? И кто увидит исключение, которым завершился поток?",
        ),
        Text(
            "Enter `no_grad` in the function that runs in the thread. Keep the exception, and raise it after `join()`.",
            "Войдите в `no_grad` внутри той функции, которая выполняется в потоке. Исключение сохраните и поднимите после "
            "`join()`.",
        ),
        Text(
            "def work(i):\n    try:\n        with torch.no_grad():\n            outputs[i] = ...\n"
            "    except Exception as error:\n        errors.append(error)",
            "def work(i):\n    try:\n        with torch.no_grad():\n            outputs[i] = ...\n"
            "    except Exception as error:\n        errors.append(error)",
        ),
    ],
)
def fix_threads(answer: Any, case: Case) -> dict[str, object]:
    model, before = case.model, torch.is_grad_enabled()
    threads, me = set(threading.enumerate()), threading.get_ident()
    hook, threading.excepthook = threading.excepthook, lambda _: None  # a thread's traceback would be printed
    try:
        with using_answer():
            outputs = answer.fix_threads(model, case.batches)
        error = ""
    except Exception as raised:
        cause = raised.__cause__ or raised
        if not case.broken or not isinstance(cause, ValueError) or _BAD not in str(cause):
            raise
        error, outputs = "ValueError", []
    finally:
        threading.excepthook = hook
    ended = all(not thread.is_alive() for thread in set(threading.enumerate()) - threads)
    with using_answer():
        graphs = [bool(y.requires_grad) for y in outputs if y is not None]
    return {
        "outputs": None if case.broken else {"outputs": list(outputs), "calls": len(model.seen)},
        "no_graph": None
        if case.broken
        else {
            "results require grad": any(graphs),
            "recording in the model": any(recording for _, recording in model.seen),
            "caller's mode": torch.is_grad_enabled() == before,
        },
        "in_threads": {"in the caller's thread": any(thread == me for thread, _ in model.seen), "ended": ended},
        "error": error,
    }


@fix_threads.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(count: int, broken: bool) -> Case:
        batches = [uniform(rng, 2, 3) for _ in range(count)]
        if broken:
            batches[1][0, 0] = float("nan")
        return Case(model=_Model(uniform(rng, 3)), batches=batches, broken=broken)

    yield case(3, broken=False)
    yield case(1, broken=False)
    yield case(3, broken=True)


def _in_threads(model: Any, batches: list[Tensor], *, inside: bool, outside: bool, report: bool) -> list[Any]:
    """Call the model in threads. `inside` and `outside` tell where recording is off, `report` raises errors."""
    outputs: list[Any] = [None] * len(batches)
    errors: list[Exception] = []

    def work(i: int) -> None:
        try:
            with torch.set_grad_enabled(not inside):
                outputs[i] = model(batches[i])
        except Exception as error:
            errors.append(error)

    with torch.set_grad_enabled(not outside):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if errors and report:
        raise errors[0]
    return outputs


@fix_threads.mistake(
    en="`no_grad` is entered in the calling thread only. In the threads that run the model, recording is on.",
    ru="В `no_grad` входит только вызывающий поток. В потоках, где работает модель, запись включена.",
)
def modes_stay_outside(model: Any, batches: list[Tensor]) -> list[Any]:
    return _in_threads(model, batches, inside=False, outside=True, report=True)


@fix_threads.mistake(
    en="The results are detached afterwards. The graph was recorded all the same, and took its time and memory.",
    ru="Результаты отсоединяются от графа потом. Граф всё равно был записан и занял время и память.",
)
def detaches_afterwards(model: Any, batches: list[Tensor]) -> list[Any]:
    return [y.detach() for y in _in_threads(model, batches, inside=False, outside=True, report=True)]


@fix_threads.mistake(
    en="An error in a thread is lost: the function returns as if all was well, with None for that batch.",
    ru="Исключение в потоке пропадает: функция возвращает результат как ни в чём не бывало, и для этого батча в нём None.",
)
def loses_errors(model: Any, batches: list[Tensor]) -> list[Any]:
    return _in_threads(model, batches, inside=True, outside=False, report=False)


@fix_threads.mistake(
    en="The model runs in the calling thread, without threads. That avoids both bugs and the exercise.",
    ru="Модель работает в вызывающем потоке, новых потоков нет. Обе ошибки исчезли, но вместе с ними и сама задача.",
)
def uses_no_threads(model: Any, batches: list[Tensor]) -> list[Any]:
    with torch.no_grad():
        return [model(x) for x in batches]


@fix_threads.mistake(
    en="Recording is switched off by `torch.set_grad_enabled(False)` and not switched on again in the calling thread.",
    ru="Запись выключена вызовом `torch.set_grad_enabled(False)` и в вызывающем потоке не включена снова.",
)
def leaves_recording_off(model: Any, batches: list[Tensor]) -> list[Any]:
    torch.set_grad_enabled(False)
    return _in_threads(model, batches, inside=True, outside=True, report=True)


@fix_threads.mistake(
    en="The outputs are in the wrong order: they have to stand as the batches do, not as the threads end.",
    ru="Результаты стоят не в том порядке: они должны идти как батчи, а не как завершаются потоки.",
)
def loses_the_order(model: Any, batches: list[Tensor]) -> list[Any]:
    return _in_threads(model, batches, inside=True, outside=False, report=True)[::-1]
