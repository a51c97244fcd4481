"""Core exercise: predictions about leaf tensors."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


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


predict_leaf.wrong(
    "swaps_the_flags",
    {
        **dict.fromkeys(("torch.ones(2) + 1", "w.detach()", "w * 2 under no_grad", "w > 0.5"), (False, True)),
        **dict.fromkeys(
            ("w * 0.01", "torch.rand(2, requires_grad=True).double()", "w.view(2, 1)", "w.round()"), (True, False)
        ),
    },
    en="It looks as if the two flags of each pair are the wrong way round: `is_leaf` comes first, then `requires_grad`.",
    ru="Похоже, что флаги в парах переставлены: сначала `is_leaf`, потом `requires_grad`.",
)


predict_leaf.wrong(
    "arithmetic_is_recorded",
    {"torch.ones(2) + 1": (False, True)},
    en="It looks as if any result of arithmetic was taken for a tensor with a history. Nothing is recorded when no "
    "input requires grad.",
    ru="Похоже, что любой результат арифметики принят за тензор с историей. Если ни один вход не требует градиента, "
    "ничего не записывается.",
)


predict_leaf.wrong(
    "arithmetic_makes_no_leaf",
    {"torch.ones(2) + 1": (False, False)},
    en="It looks as if a result of arithmetic cannot be a leaf. `(False, False)` does not exist: without "
    "`requires_grad` there is no history, and a tensor without a history is a leaf.",
    ru="Похоже, вы считаете, что результат арифметики не может быть листом. На самом деле может: ответа `(False, "
    "False)` не бывает, ведь без `requires_grad` нет истории, а тензор без истории — лист.",
)


predict_leaf.wrong(
    "leaf_means_requires_grad",
    dict.fromkeys(("torch.ones(2) + 1", "w.detach()", "w * 2 under no_grad", "w > 0.5"), (False, False)),
    en="It looks as if a leaf was taken for a tensor that requires grad. Data, detached tensors and results under "
    "`no_grad()` are leaves as well.",
    ru="Похоже, вы считаете, что лист — это только тензор, который требует градиента. На самом деле данные, "
    "отсоединённые тензоры и результаты внутри `no_grad()` тоже листовые.",
)


predict_leaf.wrong(
    "detached_is_no_leaf", {"w.detach()": (False, False)}, *predict_leaf.mistakes["leaf_means_requires_grad"].says
)


predict_leaf.wrong(
    "untracked_is_no_leaf",
    {"w * 2 under no_grad": (False, False)},
    *predict_leaf.mistakes["leaf_means_requires_grad"].says,
)


predict_leaf.wrong(
    "comparison_is_no_leaf", {"w > 0.5": (False, False)}, *predict_leaf.mistakes["leaf_means_requires_grad"].says
)


predict_leaf.wrong(
    "scaling_keeps_a_leaf",
    {"w * 0.01": (True, True)},
    en="It looks as if scaling was expected to give a leaf back. `w * 0.01` is a result: its `grad_fn` is a "
    "multiplication.",
    ru="Похоже, что после умножения ожидался лист. `w * 0.01` — результат операции: его `grad_fn` — умножение.",
)


predict_leaf.wrong(
    "casting_keeps_a_leaf",
    {"torch.rand(2, requires_grad=True).double()": (True, True)},
    en="It looks as if a cast was taken for a change of the tensor. It makes a new one, and is recorded like any "
    "operation: `requires_grad=True` stayed with the tensor before the cast.",
    ru="Похоже, что приведение типа принято за изменение самого тензора. Оно создаёт новый тензор и записывается, "
    "как любая операция: лист с `requires_grad=True` — тот тензор, что был до приведения.",
)


predict_leaf.wrong(
    "to_always_copies",
    {'w.to("cpu")': (False, True)},
    en="It looks as if `.to` always made a new tensor. With nothing to do it returns the very tensor it was called on.",
    ru="Похоже, вы считаете, что `.to` всегда создаёт новый тензор. На самом деле, если делать нечего, он возвращает "
    "тот самый тензор, у которого вызван.",
)


predict_leaf.wrong(
    "views_are_leaves",
    {"w.view(2, 1)": (True, True)},
    en="It looks as if a view of a leaf was taken for a leaf. It shares the memory, but it is the result of an "
    "operation, `view`.",
    ru="Похоже, что представление листа принято за лист. Память у них общая, но это результат операции `view`.",
)


predict_leaf.wrong(
    "detach_keeps_the_flag",
    {"w.detach()": (True, True)},
    en="It looks as if `detach()` kept the flag or the history. It leaves both behind and gives a constant.",
    ru="Похоже, вы считаете, что `detach()` сохраняет флаг или историю. На самом деле он отбрасывает и то и другое: "
    "получается константа.",
)


predict_leaf.wrong(
    "detach_keeps_the_history", {"w.detach()": (False, True)}, *predict_leaf.mistakes["detach_keeps_the_flag"].says
)


predict_leaf.wrong(
    "no_grad_is_recorded",
    {"w * 2 under no_grad": (False, True)},
    en="It looks as if an operation under `no_grad()` was recorded. `w * 2` is a constant there, whatever `w` requires.",
    ru="Похоже, вы считаете, что операции внутри `no_grad()` записываются. На самом деле `w * 2` там — константа, "
    "каким бы ни был флаг у `w`.",
)


predict_leaf.wrong(
    "parameters_keep_history",
    {"torch.nn.Parameter(w * 2)": (False, True)},
    en="It looks as if `Parameter(w * 2)` kept the history of `w * 2`. A `Parameter` is always a new leaf.",
    ru="Похоже, вы считаете, что `Parameter(w * 2)` сохраняет историю `w * 2`. На самом деле `Parameter` — всегда "
    "новый лист.",
)


predict_leaf.wrong(
    "comparisons_are_tracked",
    {"w > 0.5": (False, True)},
    en="It looks as if everything computed from `w` requires grad. True and False have no gradient: a comparison, "
    "like `argmax`, gives a constant.",
    ru="Похоже, вы считаете, что всё вычисленное из `w` требует градиента. На самом деле у True и False градиента "
    "нет: сравнение, как и `argmax`, даёт константу.",
)


predict_leaf.wrong(
    "rounding_cuts",
    {"w.round()": (True, False)},
    en="It looks as if `round` was expected to cut the graph. It stays in it; its derivative is zero.",
    ru="Похоже, вы считаете, что `round` обрывает граф. На самом деле он остаётся в графе, а его производная равна "
    "нулю.",
)


predict_leaf.wrong(
    "leaves_have_a_grad_fn",
    {"w.grad_fn": "AccumulateGrad"},
    en="It looks as if every tensor was expected to have a `grad_fn`. A leaf has none: no operation made it.",
    ru="Похоже, вы считаете, что `grad_fn` есть у каждого тензора. На самом деле у листа его нет: лист не создан "
    "операцией.",
)


predict_leaf.wrong(
    "results_have_no_grad_fn",
    {"(w * 0.01).grad_fn": None},
    en="It looks as if `w * 0.01` had no `grad_fn`. It is the result of a recorded multiplication, and `grad_fn` "
    "points to it.",
    ru="Похоже, вы считаете, что у `w * 0.01` нет `grad_fn`. На самом деле это результат записанного умножения, и "
    "`grad_fn` указывает на него.",
)


predict_leaf.wrong(
    "leaves_out_the_digit",
    {"(w * 0.01).grad_fn": "MulBackward"},
    en="It looks as if the number at the end of the node's name is missing: `AddBackward0`, not `AddBackward`.",
    ru="Похоже, что в имени узла пропущена цифра на конце: `AddBackward0`, а не `AddBackward`.",
)


predict_leaf.wrong(
    "quotes_none",
    {"w.grad_fn": "None"},
    en="It looks as if `None` stands in quotes. What comes back is the value, not a text.",
    ru="Похоже, что `None` стоит в кавычках. Возвращается само значение, а не строка.",
)
