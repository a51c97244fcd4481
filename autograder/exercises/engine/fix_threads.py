"""Exercise: an evaluation in threads that records graphs and hides errors."""

from __future__ import annotations

import itertools
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.pool import ThreadPool
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import uniform
from autograder.checking.labels import Entries
from autograder.checking.observe import using_answer
from autograder.language import Text

_BAD = "this batch cannot be used"
_PATIENCE = 0.3  # seconds for an answer that waits for its threads otherwise than by `join()`


class _Turns:
    """The order in which calls of a model end.

    A call ends once the answer joins a thread, or when patience is over. Calls that run at the same time then end in
    reverse. If one batch fails, the last call ends once the answer joins that very thread. A result that is not waited
    for is thus never there.
    """

    def __init__(self, calls: int, failing: bool) -> None:
        self._calls, self._failing = calls, failing
        self._inside: list[int] = []  # calls that have begun and not ended
        self._group: list[int] | None = None  # calls that run at the same time when the first one may end
        self._lock = threading.Lock()
        self._before = set(threading.enumerate())
        self.recording: bool | None = None  # whether recording was on when the answer joined a thread
        self._joined, self._joins = threading.Event(), defaultdict[threading.Thread, threading.Event](threading.Event)
        self._ended = [threading.Event() for _ in range(calls)]
        self._left: list[ThreadPool] = []  # closed or terminated, and nobody has waited: chance ends their threads

    def started(self) -> list[threading.Thread]:
        """Return the threads that the answer has started and that have not ended."""
        return [thread for thread in threading.enumerate() if thread not in self._before]

    def all_have_ended(self) -> bool:
        return not self.started() and not self._left

    def end(self, index: int) -> None:
        """Wait until call number `index` may end. A call in the caller's thread may end at once."""
        if threading.current_thread() in self._before:
            return
        if not self._failing:
            self._inside.append(index)
            self._joined.wait(_PATIENCE)
            with self._lock:
                self._group = list(self._inside) if self._group is None else self._group
            later = [other for other in self._group if other > index] if index in self._group else []
            if later:
                self._ended[min(later)].wait(_PATIENCE)
            self._inside.remove(index)
            self._ended[index].set()
        elif index + 1 == self._calls:
            self._joins[threading.current_thread()].wait(_PATIENCE)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Watch joins in the `with` block. A running thread keeps the interpreter until it waits or ends."""
        join, interval = threading.Thread.join, sys.getswitchinterval()
        ends = {name: getattr(ThreadPool, name) for name in ("close", "terminate", "join", "__exit__")}

        def joining(thread: threading.Thread, timeout: float | None = None) -> None:
            if timeout is None and thread not in self._before:
                if threading.current_thread() in self._before:
                    self.recording = torch.is_grad_enabled()
                with self._lock:
                    if self._group is None and len(self.started()) == self._calls:
                        self._group = list(range(self._calls))
                self._joined.set()
                self._joins[thread].set()
            join(thread, timeout)

        def closing(pool: ThreadPool) -> None:
            ends["close"](pool)
            self._left.append(pool)

        def terminating(pool: ThreadPool) -> None:
            ends["terminate"](pool)
            self._left.append(pool)

        def waiting(pool: ThreadPool) -> None:
            ends["join"](pool)
            self._left = [each for each in self._left if each is not pool]

        def leaving(pool: ThreadPool, *_: object) -> None:
            """Wait for the threads of `pool`.

            Without that, chance decides whether its `with` block has ended them.
            """
            ends["terminate"](pool)
            for worker in pool._pool:  # type: ignore[attr-defined]
                join(worker)
            self._left = [each for each in self._left if each is not pool]

        for name, replacement in zip(ends, (closing, terminating, waiting, leaving)):
            setattr(ThreadPool, name, replacement)
        threading.Thread.join = joining  # type: ignore[method-assign, assignment]
        sys.setswitchinterval(0.03)
        try:
            yield
        finally:
            for name in ends:
                delattr(ThreadPool, name)  # they are those of `Pool`
            threading.Thread.join = join  # type: ignore[method-assign]
            sys.setswitchinterval(interval)

    def finish(self) -> None:
        """Let all threads end, and wait for them."""
        for event in (self._joined, *self._ended, *self._joins.values()):
            event.set()
        for thread in self.started():
            thread.join(_PATIENCE)


class _Model(torch.nn.Module):
    """A linear model that notes thread and recording of each call.

    Raises ValueError for a batch with a NaN. If `turns` is set, a call for one of `batches` waits for its turn to end.
    """

    def __init__(self, weight: Tensor, batches: list[Tensor]) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(weight)
        self.seen: list[tuple[int, bool]] = []
        self.raised: list[ValueError] = []
        self._lasts = [x.flatten()[-1].item() for x in batches]
        self.turns: _Turns | None = None

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append((threading.get_ident(), torch.is_grad_enabled()))
        if x.isnan().any():
            self.raised.append(ValueError(_BAD))
            raise self.raised[-1]
        y, last = x @ self.weight, x.flatten()[-1].item()
        if self.turns is not None and last in self._lasts:
            self.turns.end(self._lasts.index(last))
        return y  # type: ignore[no-any-return]


@exercise(
    title=Text("Evaluation in threads", "Оценка модели в потоках"),
    kind="find the bug",
    difficulty=2,
    aspects=[
        aspect(
            "outputs",
            0,
            en="A list of the model's outputs comes back, in the order of the batches, one call for each.",
            ru="Возвращается список результатов модели в порядке батчей; для каждого батча модель вызвана один раз.",
            entries=(Entries(Text("batch {n}", "батч {n}"), Text("batches", "батчей")),),
        ),
        aspect(
            "in_threads",
            0.25,
            en="Every call of the model runs in a thread other than the caller's.",
            ru="Ни один вызов модели не выполняется в потоке, который вызвал функцию.",
        ),
        aspect(
            "no_graph",
            1,
            en="Nothing is recorded while the model runs, and the caller's mode is afterwards what it was.",
            ru="Во время работы модели ничего не записывается, а режим в вызывающем потоке после этого такой же, каким "
            "был.",
            after=("outputs", "in_threads"),
        ),
        aspect(
            "error",
            1.25,
            en="The very exception that the model raises in a thread is raised by the function.",
            ru="Функция завершается тем самым исключением, которое модель вызвала в потоке.",
            after=("outputs", "in_threads"),
        ),
        aspect(
            "ended",
            0.5,
            en="When the function ends, all threads have ended.",
            ru="Когда функция завершилась, все потоки завершены.",
            after=("outputs", "in_threads"),
        ),
    ],
    hints=[
        Text(
            "In which thread does `torch.no_grad()` hold? And who sees an exception that ends a thread?",
            "В каком потоке действует `torch.no_grad()`? И кто увидит исключение, которым завершился поток?",
        ),
        Text(
            "Enter `no_grad` in the function that runs in the thread. Keep the exception, and raise it after `join()`.",
            "Войдите в `no_grad` внутри той функции, которая выполняется в потоке. Исключение сохраните, а после "
            "`join()` вызовите его снова.",
        ),
        Text.same(
            "def work(i):\n    try:\n        with torch.no_grad():\n            outputs[i] = ...\n"
            "    except Exception as error:\n        errors.append(error)"
        ),
    ],
)
def fix_threads(answer: Any, case: Case) -> dict[str, object]:
    model, me = case.model, threading.get_ident()
    model.turns = turns = _Turns(len(case.batches), case.failing)
    hook, threading.excepthook = threading.excepthook, lambda _: None  # a thread's traceback would be printed
    returned: Any = None
    outputs: list[Any] = []
    error = {"raised": False, "own": False}
    with torch.set_grad_enabled(case.recording):
        try:
            with using_answer(), turns.taken():
                returned = answer.fix_threads(model, case.batches)
                results = () if isinstance(returned, dict) else returned  # a dict is wrong in any order
                outputs = list(itertools.islice(results, len(case.batches) + 1))
                ended = turns.all_have_ended()
        except Exception as raised:
            ended, cause = turns.all_have_ended(), raised.__cause__ or raised
            own = any(cause is each for each in model.raised)
            if not model.raised:
                raise
            error = {"raised": True, "own": own}
        finally:
            threading.excepthook = hook
            for each in model.raised:
                each.__traceback__ = None  # it keeps a pool alive
            turns.finish()
        mode = torch.is_grad_enabled() == case.recording
    ordinary = not case.failing
    return {
        "outputs": {"outputs": outputs, "calls": len(model.seen), "type": _type(returned)} if ordinary else None,
        "no_graph": {
            "results require grad": any(y.requires_grad for y in outputs if isinstance(y, Tensor)),
            "recording in the model": any(recording for _, recording in model.seen),
            "caller's mode": mode,
        }
        if ordinary
        else None,
        "in_threads": {"in the caller's thread": any(thread == me for thread, _ in model.seen)},
        "error": None if ordinary else error,
        "ended": {"ended": ended},
        "in the caller": _share(thread == me for thread, _ in model.seen),
        "frozen": not model.weight.requires_grad,
        "recording in the caller": turns.recording if ordinary else None,
        "instead": None if ordinary or error["raised"] else _kind(outputs, len(case.batches)),
    }


def _type(returned: object) -> str:
    """Return the type of the results. A tuple counts as a list, and all iterators are alike."""
    if isinstance(returned, (list, tuple)):
        return "list"
    return "iterator" if isinstance(returned, Iterator) else type(returned).__name__


def _share(flags: Iterable[bool]) -> str:
    found = set(flags)
    return "some" if len(found) > 1 else "all" if found == {True} else "none"


def _kind(outputs: list[Any], batches: int) -> str:
    """Return what stands in place of the result that batch 1 does not have."""
    if len(outputs) != batches:
        return "nothing"
    return "an exception" if isinstance(outputs[1], BaseException) else str(outputs[1])[:20]


@fix_threads.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(count: int, recording: bool = True, failing: bool = False) -> Case:
        weight, batches = uniform(rng, 3), [uniform(rng, 2, 3) for _ in range(count)]
        if failing:
            batches[1][0, 0] = float("nan")
        return Case(model=_Model(weight, batches), batches=batches, recording=recording, failing=failing)

    yield case(3)
    yield case(1, recording=False)
    yield case(3, failing=True)
