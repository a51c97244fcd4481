"""Extra exercise: clip sparse gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.containment.caught import Caught
from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import GRADIENTS_OF_PARAMETERS, PEAK, Entries
from autograder.checking.observe import AnswerRaised, using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import live_bytes

Parameters = list[Any]
_ROWS = 130  # of the table


@exercise(
    title=Text("Clipping sparse gradients", "Отсечение разреженных градиентов"),
    kind="design",
    difficulty=2,
    minutes=12,
    rtol=1e-4,
    aspects=[
        aspect(
            "norm",
            0.75,
            en="The length of all gradients together, before clipping, is returned.",
            ru="Возвращается длина всех градиентов вместе, до отсечения.",
        ),
        aspect(
            "gradients",
            1,
            en="Gradients are shortened together to `max_norm`, or left as they are if they are not longer.",
            ru="Градиенты вместе укорочены до `max_norm` или, если они не длиннее, оставлены прежними.",
            entries=(GRADIENTS_OF_PARAMETERS,),
        ),
        aspect(
            "layout",
            0.5,
            en="A sparse gradient stays sparse, a dense one dense, None stays None.",
            ru="Разреженный градиент остаётся разреженным, плотный — плотным, None остаётся None.",
            entries=(Entries(Text("layout of gradient {n}", "вид градиента {n}"), Text("gradients", "градиентов")),),
        ),
        aspect(
            "nothing_to_clip",
            0.25,
            en="It also works if no parameter has a gradient, or if all gradients are 0: the length is 0.",
            ru="Всё работает и тогда, когда градиента нет ни у одного параметра или все градиенты равны 0: длина равна 0.",
        ),
        aspect(
            "peak",
            0.5,
            en="Less memory is used than half of a dense gradient of the smallest table.",
            ru="Памяти нужно меньше, чем занимает половина плотного градиента наименьшей таблицы.",
            measured=PEAK,
        ),
    ],
    hints=[
        Text(
            "An index that came twice has two rows in the gradient. Is the length of their sum that of the two rows?",
            "У индекса, который встретился дважды, в градиенте две строки. Равна ли длина их суммы длине этих двух "
            "строк?",
        ),
        Text(
            "`coalesce()` merges the rows, `values()` gives them as a dense tensor of the stored rows alone. A sparse "
            "tensor can be multiplied by a number.",
            "`coalesce()` объединяет строки, а `values()` даёт их плотным тензором, где только хранимые строки. "
            "Разреженный тензор можно умножить на число.",
        ),
        Text.same(
            "stored = [g.coalesce().values() if g.is_sparse else g for g in ...]\n"
            "norm = sum(values.square().sum().item() for values in stored) ** 0.5\n"
            "if norm > max_norm:\n    ..."
        ),
    ],
)
def clip_sparse(answer: Any, case: Case) -> dict[str, object]:
    smallest = min(p.nbytes for p in case.parameters if p.grad is not None and p.grad.is_sparse)
    with live_bytes() as live:
        norm = answer.clip_sparse(case.parameters, case.max_norm)
        peak = live.peak
    with using_answer():
        length = norm if norm is None else float(norm)
    gradients = [p.grad for p in case.parameters]
    return {
        "norm": length,
        "gradients": gradients,
        "nothing_to_clip": _with_nothing_to_clip(answer),
        "layout": ["None" if g is None else "sparse" if g.is_sparse else "dense" for g in gradients],
        "peak": AtMost(limit=smallest // 2, used=peak),
    }


def _with_nothing_to_clip(answer: Any) -> dict[str, object]:
    """Return what the answer does with None, and with zeros, for the only gradient."""
    found: dict[str, object] = {}
    for what, gradient in (("None", None), ("zeros", torch.zeros(2, dtype=torch.float64))):
        parameter = torch.nn.Parameter(torch.ones(2, dtype=torch.float64))
        parameter.grad = gradient
        try:
            norm = answer.clip_sparse([parameter], 1.0)
            with using_answer():
                length: object = float(norm)
        except AnswerRaised as error:
            length = Caught.of(error.__cause__ or error, f"{type(error.__cause__).__name__}: {error.__cause__}")
        found |= {f"length of {what}": length, f"gradient of {what}": parameter.grad}
    return found


@clip_sparse.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for factor in (0.05, 3.0):
        table = torch.nn.Embedding(_ROWS, 3, sparse=True, dtype=torch.float64)
        second = torch.nn.Embedding(_ROWS, 4, sparse=True, dtype=torch.float64)
        dense = torch.nn.Parameter(signed(rng, 4))
        unused = torch.nn.Parameter(signed(rng, 2))
        ids = torch.randint(0, _ROWS, (4,), generator=rng)
        rows = table(torch.cat([ids, ids[:2], ids[:1]]))
        weights = signed(rng, 7, 3).abs()  # of one sign, so that rows of the same index do not cancel
        others = second(ids[:3]) * signed(rng, 3, 4)
        ((rows * weights).sum() + (dense * signed(rng, 4)).sum() + others.sum()).backward()
        parameters: Parameters = [table.weight, dense, unused, second.weight]
        yield Case(parameters=parameters, max_norm=factor * float(_length(parameters)))


def _stored(parameter: torch.nn.Parameter) -> Tensor:
    g = parameter.grad
    assert g is not None
    return g.coalesce().values() if g.is_sparse else g


def _with_gradient(parameters: Parameters) -> Parameters:
    return [p for p in parameters if p.grad is not None]


def _length(parameters: Parameters) -> Any:
    lengths = [_stored(p).norm() for p in _with_gradient(parameters)]
    return torch.stack([torch.zeros((), dtype=torch.float64), *lengths]).norm()
