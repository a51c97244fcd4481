"""Exercise: gradients of many threads in one `.grad`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from autograder.checking.containment.refused import Refused
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import Formula, leaf, signed, with_old_gradient
from autograder.checking.labels import Entries
from autograder.checking.observe import unmarked, using_answer
from autograder.language import Text
from autograder.measure import tensors

from .common import run_in_thread

_GRAD: Any = Tensor.grad  # a descriptor; mypy sees the type of its value
_GETS, _SETS = _GRAD.__get__, (_GRAD.__set__, _GRAD.__delete__)


class _Lock:
    """A lock that remembers its holder.

    The probe starts no thread while the lock is held. A lock that is not free is therefore never released. The first
    attempt of a thread that does not wait fails, as if another thread held the lock.
    """

    def __init__(self) -> None:
        self._holder: threading.Thread | None = None
        self.refused: set[threading.Thread] = set()
        self.released: Callable[[], object] = bool  # called after each release

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if self._holder is threading.current_thread():
            raise Refused("raised.locked_twice")
        if self._holder is not None:
            raise Refused("raised.never_unlocked")
        if (not blocking or timeout >= 0) and threading.current_thread() not in self.refused:
            self.refused.add(threading.current_thread())
            return False
        self._holder = threading.current_thread()
        return True

    def release(self) -> None:
        if self._holder is None:
            raise RuntimeError("release unlocked lock")
        self._holder = None
        self.released()

    def locked(self) -> bool:
        return self._holder is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class _Accesses(TorchFunctionMode):
    """A mode that notes accesses to `w.grad` without the lock."""

    def __init__(self, w: Tensor, lock: _Lock, seen: set[str]) -> None:
        super().__init__()
        self._w, self._lock, self._seen = w, lock, seen

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self._lock.locked():
            if args and args[0] is self._w and (func == _GETS or func in _SETS):
                self._seen.add("read" if func == _GETS else "written")
            elif self._w.grad is not None and any(t is self._w.grad for t in tensors((args, kwargs))):
                self._seen.add("written" if self._changes_grad(func, args) else "read")
        return func(*args, **kwargs)

    def _changes_grad(self, func: Any, args: Any) -> bool:
        name = getattr(func, "__name__", "")
        in_place = (name.endswith("_") and not name.endswith("__")) or name.startswith("__i")
        return in_place and bool(args) and args[0] is self._w.grad


class _Watched:
    """A loss function that notes passes under the lock.

    Calls `begins()` when a backward pass begins. Calls `ends()` near the end of a pass to all leaves, after the
    gradient has reached `w`. Calls neither while the lock is held.
    """

    def __init__(self, lock: _Lock, factor: Tensor, begins: Callable[[], object], ends: Callable[[], object]) -> None:
        self._lock, self._factor, self._begins, self._ends = lock, factor, begins, ends
        self.calls, self.under_lock = 0, set[str]()

    def loss_of(self, w: Tensor) -> Tensor:
        self.calls += 1
        self._note("forward")
        nothing = 0 * torch.zeros_like(self._factor, requires_grad=True)  # the oldest node: it runs last
        nothing.register_hook(lambda _: self._call(self._ends))
        loss = (self._factor * w**2).sum() + nothing.sum()
        loss.register_hook(self._look)
        return loss

    def _look(self, _: Tensor) -> None:
        self._note("backward")
        self._call(self._begins)

    def _call(self, interrupt: Callable[[], object]) -> None:
        if not self._lock.locked():
            interrupt()

    def _note(self, what: str) -> None:
        if self._lock.locked():
            self.under_lock.add(what)


def _add_one(w: Tensor) -> None:
    w.sum().backward()  # in place, if `w.grad` is a tensor already


class _Threads:
    """Calls in three threads, each interrupted by the next one.

    The first call is interrupted when its backward pass begins. The second one is interrupted near the end of its pass,
    or when it first releases the lock. Before the third call begins, an ordinary `backward()` adds 1 to `w.grad`.
    """

    def __init__(self, call: Callable[[Any], object], lock: _Lock, w: Tensor, factors: list[Tensor]) -> None:
        self._call, self._w = call, w
        self.results: dict[int, object] = {}
        self._started = 0
        self._errors: list[Exception] = []
        self.watched = [
            _Watched(lock, factor, self._starter(0, index), self._starter(1, index))
            for index, factor in enumerate(factors)
        ]
        lock.released = self._starter(1, 1)

    def _starter(self, interrupted: int, index: int) -> Callable[[], object]:
        """Return a function that starts the next call, if call `index` is the one that is `interrupted` here."""
        return lambda: self._start_next() if self._started == index + 1 == interrupted + 1 else None

    def _start_next(self) -> None:
        if self._started == len(self.watched):
            return
        index = self._started
        self._started += 1
        if index == 2:
            run_in_thread(lambda: _add_one(self._w))
        try:
            self.results[index] = run_in_thread(lambda: self._call(self.watched[index].loss_of))
        except Exception as error:
            self._errors.append(error)

    def run(self) -> list[object]:
        """Run every call, and return the results in order. Raises the first error of a call."""
        while self._started < len(self.watched) and not self._errors:
            self._start_next()
        # An error's traceback leads to hooks that lead back here. The collector does not see a cycle through hooks.
        errors, self._errors = self._errors, []
        if errors:
            raise errors[0]
        return [self.results[index] for index in range(len(self.watched))]


@exercise(
    title=Text("Many threads, one `.grad`", "Много потоков, одно поле `.grad`"),
    kind="design",
    core=True,
    difficulty=3,
    aspects=[
        aspect(
            "sum",
            1,
            en="When all threads have ended, `w.grad` holds what was there before plus every thread's gradient.",
            ru="Когда все потоки завершились, в `w.grad` лежит прежний градиент плюс градиенты всех потоков.",
        ),
        aspect(
            "own",
            1,
            en="Each call returns the gradient of its own loss, and no later addition to `w.grad` changes it.",
            ru="Каждый вызов возвращает градиент своей функции потерь, и последующие прибавления к `w.grad` его не меняют.",
            entries=(Entries(Text("gradient from call {n}", "градиент из вызова {n}"), Text("calls", "вызовов")),),
        ),
        aspect(
            "locked",
            2,
            en="Your code reads and writes `w.grad` only while it holds `lock`.",
            ru="Ваш код читает и меняет `w.grad`, только захватив `lock`.",
            after=("sum", "own"),
        ),
        aspect(
            "outside",
            1,
            en="`loss_of` is called once, and neither it nor the backward pass runs under the lock.",
            ru="Функция `loss_of` вызвана один раз, и ни она, ни обратный проход не выполняются, пока захвачена блокировка.",
            after=("sum", "own"),
        ),
    ],
    hints=[
        Text(
            "`backward()` adds safely, but whose gradient do you then read in `w.grad`?",
            "Само прибавление в `backward()` безопасно, но чей градиент вы потом прочтёте в `w.grad`?",
        ),
        Text(
            "`torch.autograd.grad` gives a tensor of your own. Only the few lines that touch `w.grad` go under the lock. "
            "And if `.grad` is None: what becomes of a tensor that you both return and put there?",
            "Функция `torch.autograd.grad` возвращает отдельный тензор. Под защитой блокировки должны быть только те несколько строк, "
            "где вы обращаетесь к `w.grad`. А если в `.grad` лежит None: что будет с тензором, который вы и вернули, и "
            "положили туда?",
        ),
        Text.same(
            "(own,) = torch.autograd.grad(loss_of(w), w)\nwith lock:\n    w.grad = own.clone() if w.grad is None else ...\n"
            "return own"
        ),
    ],
    why=Why(
        Text(
            "Why does `w.grad = w.grad + own` lose gradients without a lock?",
            "Почему `w.grad = w.grad + own` без блокировки теряет градиенты?",
        ),
        Text(
            "It is a reading and a writing. Between the two another thread may write its sum; this thread has "
            "not seen it and writes over it.",
            "Это чтение и запись. Между ними свою сумму может записать другой поток, и она пропадёт: первый поток её "
            "не видел и пишет поверх.",
        ),
    ),
)
def locked_accumulation(answer: Any, case: Case) -> dict[str, object]:
    w, lock, seen = case.w, _Lock(), set[str]()
    learners = unmarked(answer.locked_accumulation)

    def call(loss_of: Any) -> object:
        with _Accesses(w, lock, seen):
            return learners(w, loss_of, lock)

    threads = _Threads(call, lock, w, case.factors)
    with using_answer():
        own = threads.run()
        alone = w.detach().clone().requires_grad_()  # `.grad` is None
        own.append(learners(alone, lambda w: (case.factors[0] * w**2).sum(), _Lock()))
        _add_one(alone)
    total = None if w.grad is None else w.grad.detach().clone()
    _add_one(w)
    calls = {watched.calls for watched in threads.watched}
    under_lock = {name for watched in threads.watched for name in watched.under_lock}
    return {
        "sum": total,
        "own": own,
        "locked": {f"{name} without the lock": name in seen for name in ("read", "written")},
        "outside": {
            "calls of loss_of": next((count for count in sorted(calls) if count != 1), 1),
            **{name: name in under_lock for name in ("forward", "backward")},
        },
        "released": not lock.locked(),
        "refused": bool(lock.refused),
    }


@locked_accumulation.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(w: Tensor) -> Case:
        loss_of = Formula("loss_of(w) = (c * w**2).sum()", torch.Tensor.sum)  # a card shows it
        return Case(w=w, loss_of=loss_of, lock="lock", factors=[signed(rng, *w.shape) for _ in range(3)])

    yield case(leaf(rng, 2))
    yield case(with_old_gradient(leaf(rng, 2, 3)))
    yield case(leaf(rng).detach().float().requires_grad_())
