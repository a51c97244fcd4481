"""Core exercise: predictions about leaf tensors."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("Which of them are leaves", "Какие тензоры листовые"),
    kind="predict",
    core=True,
    minutes=8,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Ask of each tensor: was there an operation, was recording on, and did one of its inputs require grad?",
            "Спросите о каждом тензоре: была ли операция, было ли включено отслеживание и требовал ли градиента хоть "
            "один вход?",
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
            "У сравнения производной нет, у `round` она есть (ноль). Если менять нечего, `.to` возвращает сам тензор. "
            "Вызов `Parameter` создаёт новый лист.",
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
    en="The two flags of each pair are the wrong way round: `is_leaf` comes first, then `requires_grad`.",
    ru="Флаги в парах переставлены: сначала `is_leaf`, потом `requires_grad`.",
)


predict_leaf.wrong(
    "arithmetic_is_recorded",
    {"torch.ones(2) + 1": (False, True)},
    en="Every result of arithmetic was taken for a tensor with a history. Nothing is recorded when no input requires "
    "grad.",
    ru="Любой результат арифметики принят за тензор с историей. Но если ни один вход не требует градиента, ничего не "
    "записывается.",
)


predict_leaf.wrong(
    "arithmetic_makes_no_leaf",
    {"torch.ones(2) + 1": (False, False)},
    en="A result of arithmetic was taken to be no leaf. `(False, False)` does not exist: without `requires_grad` there "
    "is no history, and a tensor without a history is a leaf.",
    ru="Не учтено, что листом бывает и результат арифметики. Ответа `(False, False)` не бывает: без `requires_grad` "
    "нет истории, а тензор без истории — лист.",
)


predict_leaf.wrong(
    "leaf_means_requires_grad",
    dict.fromkeys(("torch.ones(2) + 1", "w.detach()", "w * 2 under no_grad", "w > 0.5"), (False, False)),
    en="Only tensors that require grad were taken for leaves. Data, detached tensors and results under `no_grad()` are "
    "leaves as well.",
    ru="Не учтено, что лист может и не требовать градиента: данные, отсоединённые тензоры и результаты внутри "
    "`no_grad()` — тоже листья.",
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
    en="The product was taken for a leaf. `w * 0.01` is a result: its `grad_fn` is a multiplication.",
    ru="Произведение принято за лист. Но `w * 0.01` — результат операции: его `grad_fn` — умножение.",
)


predict_leaf.wrong(
    "casting_keeps_a_leaf",
    {"torch.rand(2, requires_grad=True).double()": (True, True)},
    en="A cast was taken for a change of the tensor itself. It makes a new one and is recorded like any operation: the "
    "leaf is the tensor before the cast, with `requires_grad=True`.",
    ru="Приведение типа принято за изменение самого тензора. Оно создаёт новый тензор и записывается, как любая "
    "операция: лист с `requires_grad=True` — тот тензор, что был до приведения.",
)


predict_leaf.wrong(
    "to_always_copies",
    {'w.to("cpu")': (False, True)},
    en="`.to` was taken to make a new tensor always. With nothing to convert it returns the very tensor it was called "
    "on.",
    ru="Вы ожидали, что `.to` всегда создаёт новый тензор. Но если менять нечего, возвращается тот самый тензор, для "
    "которого вызван метод.",
)


predict_leaf.wrong(
    "views_are_leaves",
    {"w.view(2, 1)": (True, True)},
    en="A view of a leaf was taken for a leaf. It shares the memory, but it is the result of an operation, `view`.",
    ru="Представление листа принято за лист. Память у них общая, но это результат операции `view`.",
)


predict_leaf.wrong(
    "detach_keeps_the_flag",
    {"w.detach()": (True, True)},
    en="`detach()` was taken to keep the flag or the history. It leaves both behind and gives a constant.",
    ru="Вы ожидали, что `detach()` сохранит флаг или историю. Но не остаётся ни того, ни другого: получается "
    "константа.",
)


predict_leaf.wrong(
    "detach_keeps_the_history", {"w.detach()": (False, True)}, *predict_leaf.mistakes["detach_keeps_the_flag"].says
)


predict_leaf.wrong(
    "no_grad_is_recorded",
    {"w * 2 under no_grad": (False, True)},
    en="An operation under `no_grad()` was taken for recorded. `w * 2` is a constant there, whatever `w` requires.",
    ru="Не учтено, что внутри `no_grad()` операции не записываются: `w * 2` там — константа, каким бы ни был флаг у "
    "`w`.",
)


predict_leaf.wrong(
    "parameters_keep_history",
    {"torch.nn.Parameter(w * 2)": (False, True)},
    en="`Parameter(w * 2)` was taken to keep the history of `w * 2`. A `Parameter` is always a new leaf.",
    ru="Вы ожидали, что `Parameter(w * 2)` сохранит историю `w * 2`. Но `Parameter` — всегда новый лист.",
)


predict_leaf.wrong(
    "comparisons_are_tracked",
    {"w > 0.5": (False, True)},
    en="Everything computed from `w` was taken to require grad. True and False have no gradient: a comparison, like "
    "`argmax`, gives a constant.",
    ru="Не учтено, что у True и False градиента нет. Сравнение, как и `argmax`, даёт константу, хотя и вычислено из "
    "`w`.",
)


predict_leaf.wrong(
    "rounding_cuts",
    {"w.round()": (True, False)},
    en="You expected `round` to cut the graph. It stays in it; its derivative is zero.",
    ru="Вы ожидали, что `round` оборвёт граф. Но эта операция в графе остаётся, а её производная равна нулю.",
)


predict_leaf.wrong(
    "leaves_have_a_grad_fn",
    {"w.grad_fn": "AccumulateGrad"},
    en="You expected a leaf to have a `grad_fn`. It has none: no operation made it.",
    ru="Вы ожидали, что у листа есть `grad_fn`. Но лист не создан операцией, и узла у него нет.",
)


predict_leaf.wrong(
    "results_have_no_grad_fn",
    {"(w * 0.01).grad_fn": None},
    en="You expected `w * 0.01` to have no `grad_fn`. It is the result of a recorded multiplication, and `grad_fn` "
    "points to it.",
    ru="Не учтено, что у `w * 0.01` есть `grad_fn`. Это результат записанного умножения, и `grad_fn` на него "
    "указывает.",
)


predict_leaf.wrong(
    "leaves_out_the_digit",
    {"(w * 0.01).grad_fn": "MulBackward"},
    en="The number at the end of the node's name is missing: `AddBackward0`, not `AddBackward`.",
    ru="В имени узла пропущена цифра на конце: `AddBackward0`, а не `AddBackward`.",
)


predict_leaf.wrong(
    "quotes_none",
    {"w.grad_fn": "None"},
    en="`None` stands in quotes. What comes back is the value, not a string.",
    ru="Слово `None` стоит в кавычках. Возвращается само значение, а не строка.",
)


predict_leaf.wrong(
    "names_the_operation",
    {"(w * 0.01).grad_fn": "Mul"},
    en="You expected the name of the operation. The node is named after its derivative, with `Backward0` at the end.",
    ru="Вы ожидали имя самой операции. Но узел назван по её производной, и на конце стоит `Backward0`.",
)


predict_leaf.wrong(
    "numbers_for_flags",
    {"torch.ones(2) + 1": (1, 0), "w * 0.01": (0, 1), "w.detach()": (1, 0), "w.round()": (0, 1)},
    en="The flags are written as 1 and 0. They are `True` and `False`.",
    ru="Вместо флагов стоят 1 и 0, а нужны `True` и `False`.",
)
