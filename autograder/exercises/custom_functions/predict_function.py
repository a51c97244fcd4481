"""Core exercise: predictions about `forward` and `backward` of a custom Function."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text


@exercise(
    title=Text("What happens in `forward` and `backward`", "Что происходит в `forward` и `backward`"),
    kind="predict",
    core=True,
    minutes=12,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Does autograd compare the `10` in `backward` with anything? Who would tell it that the `10` is wrong?",
            "Сравнивает ли autograd число `10` в `backward` с чем-нибудь? Откуда известно, что `10` неверно?",
        ),
        Text(
            "Inside `forward` recording is off, although the inputs keep their flags. `backward` is recorded only when "
            "somebody asked for it. Without `apply` a `forward` is an ordinary function.",
            "Внутри `forward` отслеживание выключено, хотя флаги у входов прежние. `backward` записывается, только "
            "если об этом попросили. Без `apply` метод `forward` — обычная функция.",
        ),
        Text(
            "At the kink each operation has its own choice: `relu` and `where` agree, `clamp` and `maximum` each "
            "answer something else, and one of these is the middle between 0 and 1.",
            "На изломе у каждой операции свой выбор: `relu` и `where` отвечают одинаково, `clamp` и `maximum` — каждый "
            "по-своему, и один из ответов лежит посередине между 0 и 1.",
        ),
    ],
)
def predict_function(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_function)}


predict_function.wrong(
    "derivative_is_checked",
    {"a.grad": 5.0},
    en="You expected autograd to find the derivative by itself, or to check it. It takes what `backward` returns: 10 "
    "times the incoming gradient.",
    ru="Вы ожидали, что autograd сам найдёт или проверит производную. Но он берёт то, что вернул `backward`: пришедший "
    "градиент, умноженный на 10.",
)


predict_function.wrong(
    "incoming_gradient_is_one",
    {"a.grad": 10.0},
    en="The gradient that arrives was left out. `3 * result` multiplies it by 3 before `backward` is called.",
    ru="Не учтён пришедший градиент. В `3 * result` он умножается на 3 ещё до вызова `backward`.",
)


predict_function.wrong(
    "forward_is_recorded",
    {"recording in forward": True},
    en="You expected `forward` to be recorded. `apply` switches recording off: the one node of the graph is the "
    "Function's own.",
    ru="Вы ожидали, что `forward` записывается. Но `apply` выключает отслеживание: в графе появляется один узел — узел "
    "этой пользовательской функции.",
)


predict_function.wrong(
    "numbers_for_words",
    {"recording in forward": 0},
    en="1 and 0 stand for True and False. `torch.is_grad_enabled()` returns True or False.",
    ru="Вместо True и False стоят 1 и 0. Функция `torch.is_grad_enabled()` возвращает True или False.",
)


predict_function.wrong(
    "inputs_come_detached",
    {"a.requires_grad in forward": False},
    en="You expected the inputs to arrive detached. Recording is off, but each input is the very tensor with its own "
    "flag.",
    ru="Входы приняты за отсоединённые тензоры. Отслеживание действительно выключено, но сами входы те же, с прежними "
    "флагами.",
)


predict_function.wrong(
    "backward_is_recorded",
    {"recording in backward": True},
    en="You expected the operations in `backward` to be recorded always. They are recorded only for a call with "
    "`create_graph=True`.",
    ru="Вы ожидали, что операции в `backward` записываются всегда. Но они записываются только при вызове с "
    "`create_graph=True`.",
)


predict_function.wrong(
    "backward_is_never_recorded",
    {"recording in backward, create_graph=True": False},
    en="You expected `backward` never to be recorded. With `create_graph=True` it is, and that is where second "
    "derivatives come from.",
    ru="Вы ожидали, что `backward` не записывается никогда. Но при `create_graph=True` он записывается, отсюда и "
    "берутся вторые производные.",
)


predict_function.wrong(
    "every_input_needs",
    {"needs_input_grad": (True, True)},
    en="You expected True in `needs_input_grad` for every tensor. For an input that does not require grad, such as "
    "`b`, it is False.",
    ru="В `needs_input_grad` ожидалось True для любого тензора. Но для входа, который не требует градиента (здесь это "
    "`b`), там стоит False.",
)


predict_function.wrong(
    "forward_makes_the_node",
    {"node of Tenfold.forward(...)": "TenfoldBackward"},
    en="You expected a `forward` called directly to make a node of the Function. Without `apply` it is an ordinary "
    "function: its own multiplication is recorded, and `backward` never runs.",
    ru="Вы ожидали, что прямой вызов `forward` создаст узел пользовательской функции. Но без `apply` это обычная "
    "функция: записывается само умножение, а `backward` не вызывается.",
)


predict_function.wrong(
    "instances_are_called",
    {"Tenfold()(a, b)": "accepted"},
    en="You expected an instance to be callable, as a module is. Calling it is an error: `apply` is called on the "
    "class.",
    ru="Вы ожидали, что экземпляр можно вызвать, как модуль. Но такой вызов — ошибка: `apply` вызывают у самого "
    "класса.",
)


predict_function.wrong(
    "too_few_are_filled",
    {"one gradient for two inputs": "accepted"},
    en="A gradient left out was taken to count as None. `backward` returns one entry for each argument of `apply`, or "
    "torch raises an error.",
    ru="Вы ожидали, что пропущенный градиент заменяется на None. Но `backward` должен вернуть по значению на каждый "
    "аргумент `apply`, иначе torch сообщает об ошибке.",
)


predict_function.wrong(
    "surplus_is_refused",
    {"a None too many": "RuntimeError"},
    en="You expected a `None` too many to be an error. Surplus entries are accepted when they are None; too few never "
    "are.",
    ru="Лишний `None` принят за ошибку. Лишние значения допустимы, если это None, а если значений не хватает, это "
    "всегда ошибка.",
)


predict_function.wrong(
    "all_kinks_are_zero",
    {"clamp at 0": 0.0, "maximum at 0": 0.0},
    en="You expected one and the same derivative of all operations at the kink. Their values agree there; their "
    "derivatives do not.",
    ru="Не учтено, что на изломе у операций одинаковы только значения, а производные различаются.",
)


predict_function.wrong(
    "all_kinks_are_one",
    {"relu at 0": 1.0, "maximum at 0": 1.0, "where at 0": 1.0},
    *predict_function.mistakes["all_kinks_are_zero"].says,
)


predict_function.wrong(
    "all_kinks_are_half",
    {"relu at 0": 0.5, "clamp at 0": 0.5, "where at 0": 0.5},
    en="Every kink has the derivative 0.5 here, the mean of both sides. Of these four operations one alone chooses "
    "that.",
    ru="На каждом изломе производная здесь равна 0.5, среднему двух односторонних. Из этих четырёх операций так "
    "поступает только одна.",
)


predict_function.wrong(
    "derivative_is_computed",
    {"a.grad": 15.0},
    en="The true derivative of `3 * a * b` stands there. Autograd does not know it: it multiplies by what `backward` "
    "says, 10.",
    ru="Здесь стоит настоящая производная `3 * a * b`. Autograd её не знает: он берёт то, что вернул `backward`, "
    "то есть умножает на 10.",
)


predict_function.wrong(
    "flags_in_other_order",
    {"needs_input_grad": (False, True)},
    en="The flags stand in the wrong order: the first belongs to `a`, the first argument of `apply`.",
    ru="Флаги стоят не в том порядке: первый относится к `a`, первому аргументу `apply`.",
)


predict_function.wrong(
    "one_flag_for_all",
    {"needs_input_grad": True},
    en="You expected one flag for the whole call. There is one for each argument of `apply`.",
    ru="Вы ожидали один флаг на весь вызов. Но для каждого аргумента `apply` он свой.",
)


predict_function.wrong(
    "relu_passes_at_zero",
    {"relu at 0": 1.0},
    en="You expected `relu` to let the gradient through at 0. torch counts 0 to the flat side.",
    ru="Вы ожидали, что `relu` в нуле пропускает градиент. Но torch относит нуль к той стороне, где функция постоянна.",
)


predict_function.wrong(
    "maximum_gives_all",
    {"maximum at 0": 1.0},
    en="You expected all of the gradient to go to `x`. Both values of `maximum` are equal here, and it is divided.",
    ru="Вы ожидали, что весь градиент достанется `x`. Но оба значения в `maximum` здесь равны, и он делится.",
)


predict_function.wrong(
    "where_takes_x",
    {"where at 0": 1.0},
    en="You expected `where` to take `x` at 0. Its condition is `x > 0`, and at 0 it takes the constant.",
    ru="Вы ожидали, что `where` в нуле выбирает `x`. Но условие там `x > 0`, и в нуле берётся константа.",
)


predict_function.wrong(
    "derivative_times_ten",
    {"a.grad": 150.0},
    en="The true derivative was multiplied by 10. `backward` alone decides, and it knows nothing of `b`.",
    ru="Настоящая производная умножена на 10. Но решает только `backward`, а `b` в нём не участвует.",
)


predict_function.wrong(
    "node_without_its_number",
    {"node of Tenfold.forward(...)": "MulBackward"},
    en="The number at the end of the node's name is missing, as in `AddBackward0`.",
    ru="В имени узла не хватает числа на конце, как в `AddBackward0`.",
)
