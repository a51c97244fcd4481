"""Exercise: a function that decides without looking at a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.checking.containment.caught import Caught
from autograder.checking.containment.refused import Refused
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import AnswerRaised, unmarked, using_answer
from autograder.language import Text
from autograder.measure import graph_nodes


@exercise(
    title=Text("A graph in two pieces", "Граф из двух частей"),
    kind="find the bug",
    difficulty=2,
    rtol=1e-5,
    aspects=[
        aspect(
            "value",
            0.5,
            en="The value is that of the given function.",
            ru="Значение такое же, как у исходной функции.",
        ),
        aspect(
            "no_numbers",
            2,
            en="The function looks at no number, and runs on fake tensors, which have none.",
            ru="Функция не читает чисел и выполняется на фиктивных тензорах, в которых их нет.",
        ),
        aspect(
            "gradient",
            1.5,
            en="The gradient is that of the given function, also for a vector of zeros.",
            ru="Градиент такой же, как у исходной функции, в том числе для нулевого вектора.",
            after=("value", "no_numbers"),
        ),
    ],
    hints=[
        Text(
            "`if` needs a number now. Which operations choose between two numbers without Python?",
            "Инструкции `if` число нужно сразу. Какие операции выбирают между двумя числами без участия Python?",
        ),
        Text(
            "`torch.where` computes both branches, and at a norm of 0 one of them is ∞: its gradient times 0 is NaN "
            "(lesson 02). Choose the norm first, then divide.",
            "Операция `torch.where` вычисляет обе ветви, а при норме 0 одна из них равна ∞: её градиент, умноженный на 0, "
            "даёт NaN (урок 02). Сначала выберите норму, потом делите.",
        ),
        Text.same("def one_graph(x, limit):\n    return x * (... / x.norm().clamp(min=...))"),
    ],
    why=Why(
        Text(
            "Why does an `if` on the norm break the graph?",
            "Почему `if` по норме разрывает граф?",
        ),
        Text(
            "Python has to know the number to choose a branch, and while the graph is recorded there is none, "
            "only shape and dtype. `clamp` makes the choice inside the graph.",
            "Чтобы выбрать ветвь, Python должен знать число, а при записи графа числа нет, есть только форма и "
            "тип. `clamp` делает выбор внутри графа.",
        ),
    ),
)
def one_graph(answer: Any, case: Case) -> dict[str, object]:
    x = case.x.clone().requires_grad_()
    y: Any = None
    gradient = None
    with _NumbersRead() as numbers:
        try:
            y = answer.one_graph(x, case.limit)
        except AnswerRaised as error:
            if not isinstance(error.__cause__, ZeroDivisionError):
                raise
            y = Caught.of(error.__cause__, "ZeroDivisionError")  # its text differs between versions of Python
    if not isinstance(y, Caught):
        with using_answer():
            if any("CondAutograd" in node.name() for node in graph_nodes(y)):  # the sandbox cannot differentiate it
                raise Refused("raised.cond")
            (gradient,) = torch.autograd.grad((y * case.v).sum(), x, allow_unused=True)
    fake = _run_on_fake(answer.one_graph, case, numbers.operations)
    no_numbers = {"numbers read": numbers.any, **fake}
    return {"value": y, "no_numbers": no_numbers, "gradient": gradient}


class _NumbersRead(TorchDispatchMode):
    """A mode that notes operations, and whether a number was read."""

    any = False
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if isinstance(func, HigherOrderOperator):
            raise Refused("raised.cond")
        if func.namespace == "aten":  # a fake tensor also asks for its device by an operation
            self.operations.add(func.name())
        self.any = self.any or func.overloadpacket in (torch.ops.aten._local_scalar_dense, torch.ops.aten.equal)
        return func(*args, **(kwargs or {}))


def _run_on_fake(function: Any, case: Case, operations: set[str]) -> dict[str, bool]:
    """Run the learner's function on a fake tensor.

    Return whether it runs, and whether by the same `operations`.
    """
    with FakeTensorMode() as mode:
        x = mode.from_tensor(case.x).requires_grad_()
        try:
            with _NumbersRead() as numbers:
                unmarked(function)(x, case.limit)
        except Exception:
            return {"runs on fake": False, "same operations on fake": False}
    return {"runs on fake": True, "same operations on fake": numbers.operations == operations}


@one_graph.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def case(x: Tensor, limit: float) -> Case:
        return Case(x=x, limit=limit, v=signed(rng, *x.shape))

    long = signed(rng, 2, 3)
    yield case(long, long.norm().item() / 3)
    short = signed(rng, 4)
    yield case(short, short.norm().item() * 2)
    yield case(torch.zeros(3, dtype=torch.float64), 0.4)
    yield case(signed(rng, 3).float() * 2e-9, 1e-9)
    yield case(signed(rng), 4.0)
    block = signed(rng, 2, 3, 2)
    yield case(block, block.norm().item() / 2)
