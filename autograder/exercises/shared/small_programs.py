"""Small programs that try single rules, and gradients that meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autograder.checking.labels import Entries
from autograder.language import Text

from .random_programs import Shape


@dataclass(frozen=True)
class Trial:
    """Programs that try one thing, over leaves of the given shapes."""

    name: Text
    shapes: tuple[Shape, ...]
    programs: tuple[Callable[..., Any], ...]
    broadcasts: bool = False
    passes: int = 1


def _trial(en: str, ru: str, shapes: tuple[Shape, ...], *programs: Callable[..., Any], **more: Any) -> Trial:
    return Trial(Text(en, ru), shapes, programs, **more)


def _rule(op: str, text: str, shapes: tuple[Shape, ...], program: Callable[..., Any]) -> Trial:
    return _trial(f"the rule of `{op}`, in `{text}`", f"правило для `{op}`, в `{text}`", shapes, program)


def _used_by_two(a: Any) -> Any:
    x = a.exp()
    return x.exp() + x.tanh()


def _short_first(a: Any) -> Any:
    x = a.exp()
    return x + x.tanh().tanh()


def _long_first(a: Any) -> Any:
    x = a.exp()
    return x.tanh().tanh() + x


def _square_first(a: Any) -> Any:
    x = a.exp()
    return x * x + x.tanh()


def _square_last(a: Any) -> Any:
    x = a.exp()
    return x.tanh() + x * x


def _added_inside(a: Any, b: Any) -> Any:
    x = a.exp()
    return ((x + b) + x).sum()


def _added_outside(a: Any, b: Any) -> Any:
    x = a.exp()
    return (x + (b + x)).sum()


_SUM = _rule("+", "a + b", ((), ()), lambda a, b: a + b)
_SUM_BEHIND_EXP = _rule("+", "(a + b).exp()", ((), ()), lambda a, b: (a + b).exp())
_MET = _trial(
    "gradients that meet, in `x.exp() + x.tanh()`",
    "градиенты, которые сходятся, в `x.exp() + x.tanh()`",
    ((),),
    _used_by_two,
)
_TWICE = _trial(
    "the sum over two passes, in `a.exp()`", "сумма за два прохода, в `a.exp()`", ((),), lambda a: a.exp(), passes=2
)
# A trial uses only operations of trials above it.
_ALONE = (
    _rule("*", "a * b", ((), ()), lambda a, b: a * b),
    _rule("tanh", "a.tanh().tanh()", ((),), lambda a: a.tanh().tanh()),
    _rule("exp", "a.exp().exp()", ((),), lambda a: a.exp().exp()),
)
_OF_TENSORS = (
    _rule("sum", "a.sum().exp()", ((2, 3),), lambda a: a.sum().exp()),
    _rule("t", "a.t().exp().sum()", ((2, 3),), lambda a: a.t().exp().sum()),
    _rule("reshape", "a.reshape((3, 2)).exp().sum()", ((2, 3),), lambda a: a.reshape((3, 2)).exp().sum()),
    _rule("@", "(a @ b).exp().sum()", ((2, 3), (3, 4)), lambda a, b: (a @ b).exp().sum()),
    _trial(
        "an input with fewer dimensions than the result: `a` of shape (3,) in `(a + b).exp().sum()` and `(b * a).exp().sum()`",
        "вход, у которого измерений меньше, чем у результата: `a` формы (3,) в `(a + b).exp().sum()` и `(b * a).exp().sum()`",
        ((3,), (2, 3)),
        lambda a, b: (a + b).exp().sum(),
        lambda a, b: (b * a).exp().sum(),
        broadcasts=True,
    ),
    _trial(
        "an input with a dimension stretched from 1: `a` of shape (2, 1) in `(a + b).exp().sum()` and `(b * a).exp().sum()`",
        "вход, у которого растянуто измерение размера 1: `a` формы (2, 1) в `(a + b).exp().sum()` и `(b * a).exp().sum()`",
        ((2, 1), (2, 3)),
        lambda a, b: (a + b).exp().sum(),
        lambda a, b: (b * a).exp().sum(),
        broadcasts=True,
    ),
    _rule("expand", "a.expand((2, 3)).exp().sum()", ((2, 1),), lambda a: a.expand((2, 3)).exp().sum()),
)
RULES = (_SUM, *_ALONE, *_OF_TENSORS)
SECOND = (*_ALONE, _SUM_BEHIND_EXP, *_OF_TENSORS, _MET, _TWICE)
MEETINGS = (
    _trial(
        "a single path, in `a.exp().tanh()`", "единственный путь, в `a.exp().tanh()`", ((),), lambda a: a.exp().tanh()
    ),
    _trial(
        "a value that one operation uses twice, in `a * a`",
        "значение, которое операция использует дважды, в `a * a`",
        ((),),
        lambda a: a * a,
    ),
    _trial(
        "a value that two operations use, in `x.exp() + x.tanh()`",
        "значение, которое используют две операции, в `x.exp() + x.tanh()`",
        ((),),
        _used_by_two,
    ),
    _trial(
        "a value with a short and a long way to the root, in `x + x.tanh().tanh()` or turned round",
        "значение, от которого к корню ведут короткий и длинный пути, в `x + x.tanh().tanh()` или с обратным порядком слагаемых",
        ((),),
        _short_first,
        _long_first,
    ),
    _trial(
        "a value used twice by one operation and once by another, in `x * x + x.tanh()` or turned round",
        "значение, которое одна операция использует дважды, а другая — один раз, в `x * x + x.tanh()` или с обратным порядком слагаемых",
        ((),),
        _square_first,
        _square_last,
    ),
    _trial(
        "a value that is added twice, in `(x + b) + x` or turned round",
        "значение, которое прибавлено дважды, в `(x + b) + x` или с обратным порядком слагаемых",
        ((1,), (1,)),
        _added_inside,
        _added_outside,
    ),
)


def _named(*names: Text) -> Entries:
    return Entries(names, Text("trials", "проб"), apart=True)


OF_RULES = _named(*(trial.name for trial in RULES))
OF_SECOND = _named(Text("all rules", "все правила"), *(trial.name for trial in SECOND))
OF_MEETINGS = _named(*(trial.name for trial in MEETINGS))
