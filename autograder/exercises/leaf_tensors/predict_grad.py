"""Core exercise: predictions about which tensors get a gradient."""

from __future__ import annotations

from typing import Any

from autograder.checking.exercise import EVERY_ENTRY, Case, exercise
from autograder.checking.values import entries
from autograder.language import Text

from .predict_leaf import predict_leaf


@exercise(
    title=Text("Who gets a gradient", "Кто получит градиент"),
    kind="predict",
    core=True,
    minutes=10,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "`backward()` walks from `loss` to the leaves. In which tensors does it leave something?",
            "`backward()` идёт от `loss` к листьям. В каких тензорах он что-то оставляет?",
        ),
        Text(
            "Leaves that require grad, and tensors that were asked in time to keep theirs. What they hold is the "
            "derivative of `loss`, not of the line they stand in.",
            "В листьях, которые требуют градиента, и в тензорах, для которых сохранение запрошено заранее. Там лежит "
            "производная `loss`, а не той строки, в которой они стоят.",
        ),
        Text(
            "`early` is 6, `late` is 11, and the derivative of `late ** 2` with respect to `late` is 22. A view of a "
            "leaf is no leaf; its gradient lands in the base, at its place.",
            "`early` равен 6, `late` равен 11, производная `late ** 2` по `late` равна 22. Представление листа — не "
            "лист; его градиент попадает в исходный тензор, на своё место.",
        ),
    ],
)
def predict_grad(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_grad)}


predict_grad.wrong(
    "early_holds_the_local",
    {"early.grad": 1.0},
    en="The derivative of one line was taken for `.grad`, such as that of `late` with respect to `early`. `.grad` "
    "holds the derivative of `loss`, where `backward()` began.",
    ru="За `.grad` принята производная одной строки, например `late` по `early`. Но в `.grad` лежит производная "
    "`loss`, с которого начался `backward()`.",
)


predict_grad.wrong(
    "early_holds_its_own",
    {"early.grad": 3.0},
    en="The derivative of `early` with respect to `x` was taken for `early.grad`. It is the other way round: the "
    "derivative of `loss` with respect to `early`.",
    ru="За `early.grad` принята производная `early` по `x`. Всё наоборот: там лежит производная `loss` по `early`.",
)


predict_grad.wrong(
    "non_leaves_never_keep",
    {"early.grad": None},
    en="A non-leaf was taken to have no `.grad` at all. Its gradient is computed anyway, and `retain_grad()` before "
    "`backward()` keeps it.",
    ru="Не учтено, что `.grad` может быть и у нелистового тензора. Его градиент всё равно вычисляется, а "
    "`retain_grad()` до вызова `backward()` его сохраняет.",
)


predict_grad.wrong(
    "retaining_works_afterwards",
    {"late.grad": 22.0},
    en="You expected `retain_grad()` to work afterwards. It asks the *next* backward pass; this one is over.",
    ru="Вы ожидали, что `retain_grad()` подействует задним числом. Но он относится к *следующему* обратному проходу, а "
    "этот уже закончился.",
)


predict_grad.wrong(
    "views_have_gradients",
    {"part.grad": 4.0},
    en="A view was taken to have a `.grad` of its own. The gradient of `v[0]` goes on to the leaf `v`.",
    ru="Вы ожидали, что у представления есть свой `.grad`. Но градиент `v[0]` идёт дальше, в лист `v`.",
)


predict_grad.wrong(
    "nothing_reaches_the_base",
    {"v.grad": None},
    en="You expected `v` to get nothing, since only a part of it was used. The gradient lands at the place of that "
    "part, with zeros beside it.",
    ru="Не учтено, что градиент доходит до `v`, хотя использована только его часть. Он попадает на место этой части, а "
    "на остальных местах стоят нули.",
)


predict_grad.wrong(
    "parts_spread",
    {"v.grad": [4.0, 4.0]},
    en="The gradient of a part was spread over the whole tensor. `v[1]` has no influence on `loss`: 0.",
    ru="Градиент части распространён на весь тензор. Но элемент `v[1]` на `loss` не влияет, и там 0.",
)


predict_grad.wrong(
    "scaling_keeps_the_gradient",
    {"lost.grad": 1.0},
    en="`lost` was taken for a leaf. The name `lost` is bound to the product; the leaf that gets the gradient has no "
    "name left.",
    ru="Тензор `lost` принят за лист. Но имя `lost` связано с произведением, а исходный лист, которому достался "
    "градиент, ни с каким именем больше не связан.",
)


predict_grad.wrong(
    "constants_get_zero",
    {"k.grad": 0.0},
    en="You expected a constant to get a gradient of zero. It gets none: None.",
    ru="Вы ожидали, что константа получит нулевой градиент. Но она не получает никакого: там None.",
)


predict_grad.wrong(
    "constants_get_gradients",
    {"k.grad": 22.0},
    en="You expected a constant to get a gradient, since the loss depends on it. It gets none.",
    ru="Вы ожидали, что константа получит градиент, ведь функция потерь от неё зависит. Но градиента у константы нет.",
)


predict_grad.wrong(
    "chain_stops_early",
    {"x.grad": 22.0},
    en="Only a part of the chain went into `x.grad`. All derivatives on the way from `loss` to `x` have to be "
    "multiplied.",
    ru="В `x.grad` учтена только часть цепочки. Нужно перемножить производные на всём пути от `loss` до `x`.",
)


predict_grad.wrong(
    "loss_keeps_one",
    {"loss.grad": 1.0},
    en="You expected `loss` to keep the gradient that the pass begins with. That gradient is 1, but `loss` is no leaf "
    "and was not asked to keep it.",
    ru="Вы ожидали, что `loss` сохранит градиент, с которого начинается проход. Этот градиент равен 1, но `loss` — не "
    "лист, и сохранить его градиент никто не просил.",
)


predict_grad.wrong(
    "optimizers_take_anything",
    {"SGD([lost], lr=0.1)": "accepted"},
    en="You expected an optimizer to take any tensor that requires grad. It refuses a non-leaf for which "
    "`retain_grad()` was not called.",
    ru="Вы ожидали, что оптимизатор примет любой тензор, который требует градиента. Но нелистовой тензор без вызова "
    "`retain_grad()` он не принимает.",
)


predict_grad.wrong(
    "constants_go_backward",
    {"k.backward()": "accepted"},
    en="You expected `backward()` on a constant to do nothing. There is no graph to walk, and torch raises an error.",
    ru="Вы ожидали, что `backward()` от константы просто ничего не сделает. Но графа нет, проходить не по чему, и "
    "torch сообщает об ошибке.",
)


predict_grad.wrong("none_in_quotes", {"k.grad": "None"}, *predict_leaf.mistakes["quotes_none"].says)


predict_grad.wrong(
    "everybody_keeps_one",
    {"part.grad": 4.0, "lost.grad": 1.0, "late.grad": 22.0, "loss.grad": 1.0},
    en="Every tensor was taken to keep `.grad`. Unless asked, only leaves that require grad keep it.",
    ru="Вы ожидали, что `.grad` сохранится у каждого тензора. Но если не попросить, он сохраняется только у листьев, "
    "которые требуют градиента.",
)


predict_grad.wrong(
    "lost_holds_the_leafs",
    {"lost.grad": 0.01},
    en="The gradient of the original leaf was ascribed to `lost`. That leaf has it, and no name is bound to the leaf "
    "any more.",
    ru="Градиент исходного листа принят за градиент `lost`. Но лежит он в самом листе, а лист ни с каким именем больше "
    "не связан.",
)


predict_grad.wrong(
    "gradient_of_the_part",
    {"v.grad": 4.0},
    en="`v.grad` was taken for one number. A gradient has the shape of its tensor: one entry for each of `v`.",
    ru="За `v.grad` принято одно число. Но у градиента та же форма, что у тензора: по элементу на каждый элемент `v`.",
)


predict_grad.wrong(
    "early_holds_that_of_x",
    {"early.grad": 66.0},
    en="The derivative with respect to `x` was taken for `early.grad`. The factor 3 comes in between: `early = x * 3`.",
    ru="За `early.grad` принята производная по `x`. Но между ними стоит множитель 3: `early = x * 3`.",
)


predict_grad.wrong(
    "leaves_k_out",
    {"x.grad": 36.0, "early.grad": 12.0},
    en="The derivative was taken where `late` is 6. The constant `k` gets no gradient, but it counts in the value of "
    "`late`: 11.",
    ru="Производная взята там, где `late` равен 6. Градиента константа `k` не получает, но на значение `late` влияет: "
    "оно равно 11.",
)


predict_grad.wrong(
    "the_other_entry",
    {"v.grad": [0.0, 4.0]},
    en="The gradient stands in the wrong place. `part` is `v[0]`, the first entry.",
    ru="Градиент стоит не на том месте. Тензор `part` — это `v[0]`, первый элемент.",
)


predict_grad.wrong(
    "none_for_an_entry",
    {"v.grad": [4.0, None]},
    en="You expected None for an entry that has no influence. A gradient is a tensor of numbers: the entry is 0.",
    ru="Вы ожидали None у элемента, который ни на что не влияет. Но градиент — тензор из чисел: там стоит 0.",
)


predict_grad.wrong(
    "optimizers_raise_runtime_errors",
    {"SGD([lost], lr=0.1)": "RuntimeError"},
    en="You expected a `RuntimeError`. An optimizer that refuses an argument raises a `ValueError`.",
    ru="Вы ожидали `RuntimeError`. Но оптимизатор, который не принимает аргумент, вызывает `ValueError`.",
)


predict_grad.wrong(
    "backward_raises_value_errors",
    {"k.backward()": "ValueError"},
    en="You expected a `ValueError`. Errors of the backward pass are of the type `RuntimeError`.",
    ru="Вы ожидали `ValueError`. Но у ошибок обратного прохода тип `RuntimeError`.",
)
