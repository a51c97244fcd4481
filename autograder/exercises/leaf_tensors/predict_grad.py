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
            "Leaves that require grad, and tensors that were told to keep theirs in time. What they hold is the "
            "derivative of `loss`, not of the line they stand in.",
            "В листьях, которые требуют градиента, и в тензорах, которые заранее попросили его сохранить. Там лежит "
            "производная `loss`, а не той строки, в которой они стоят.",
        ),
        Text(
            "`early` is 6, `late` is 11, and the derivative of `late ** 2` with respect to `late` is 22. A view of a "
            "leaf is no leaf; its gradient lands in the base, at its place.",
            "`early` равен 6, `late` равен 11, производная `late ** 2` по `late` равна 22. Представление листа — не "
            "лист; его градиент попадает в исходный тензор, на своё место.",
        ),
    ],
)
def predict_grad(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_grad)}


predict_grad.wrong(
    "early_holds_the_local",
    {"early.grad": 1.0},
    en="It looks as if `.grad` held the derivative of one line, such as `late` with respect to `early`. It holds the "
    "derivative of `loss`, where `backward()` began.",
    ru="Похоже, вы считаете, что в `.grad` лежит производная одной строки, например `late` по `early`. На самом "
    "деле там производная `loss`, с которого начался `backward()`.",
)


predict_grad.wrong(
    "early_holds_its_own",
    {"early.grad": 3.0},
    en="It looks as if `early.grad` held the derivative of `early` with respect to `x`. It is the other way round: the "
    "derivative of `loss` with respect to `early`.",
    ru="Похоже, вы считаете, что в `early.grad` лежит производная `early` по `x`. На самом деле наоборот: там "
    "производная `loss` по `early`.",
)


predict_grad.wrong(
    "non_leaves_never_keep",
    {"early.grad": None},
    en="It looks as if a non-leaf can never have a `.grad`. Its gradient is computed anyway, and `retain_grad()` before "
    "`backward()` keeps it.",
    ru="Похоже, вы считаете, что у нелистового тензора `.grad` не бывает. На самом деле его градиент всё равно "
    "вычисляется, а `retain_grad()`, если вызвать его до `backward()`, этот градиент сохраняет.",
)


predict_grad.wrong(
    "retaining_works_afterwards",
    {"late.grad": 22.0},
    en="It looks as if `retain_grad()` was expected to work afterwards. It asks the *next* backward pass; this one is over.",
    ru="Похоже, вы считаете, что `retain_grad()` действует задним числом. На самом деле он относится к *следующему* "
    "обратному проходу; этот уже кончился.",
)


predict_grad.wrong(
    "views_have_gradients",
    {"part.grad": 4.0},
    en="It looks as if a view had a `.grad` of its own. The gradient of `v[0]` goes on to the leaf `v`.",
    ru="Похоже, вы считаете, что у представления есть свой `.grad`. На самом деле градиент `v[0]` идёт дальше, в "
    "лист `v`.",
)


predict_grad.wrong(
    "nothing_reaches_the_base",
    {"v.grad": None},
    en="It looks as if nothing reached `v`, since only a part of it was used. The gradient lands at the place of that "
    "part, with zeros beside it.",
    ru="Похоже, вы считаете, что до `v` ничего не дошло, раз использована только его часть. На самом деле градиент "
    "попадает на место этой части, а на остальных местах стоят нули.",
)


predict_grad.wrong(
    "parts_spread",
    {"v.grad": [4.0, 4.0]},
    en="It looks as if the gradient of a part was spread over the whole tensor. `v[1]` has no influence on `loss`: 0.",
    ru="Похоже, что градиент части приписан всему тензору. `v[1]` на `loss` не влияет: там 0.",
)


predict_grad.wrong(
    "scaling_keeps_the_gradient",
    {"lost.grad": 1.0},
    en="It looks as if `lost` were still a leaf. The name `lost` is bound to the product; the leaf that gets the "
    "gradient has no name left.",
    ru="Похоже, вы считаете, что `lost` остался листом. На самом деле имя `lost` связано с произведением; лист, "
    "который получил градиент, остался без имени.",
)


predict_grad.wrong(
    "constants_get_zero",
    {"k.grad": 0.0},
    en="It looks as if a constant got a gradient of zero. It gets none: None.",
    ru="Похоже, вы считаете, что константа получает нулевой градиент. На самом деле она не получает никакого: там "
    "None.",
)


predict_grad.wrong(
    "constants_get_gradients",
    {"k.grad": 22.0},
    en="It looks as if every input of the loss got a gradient. A constant gets none, although the loss depends on it.",
    ru="Похоже, вы считаете, что градиент получают все входы функции потерь. На самом деле константа его не "
    "получает, хотя функция потерь от неё зависит.",
)


predict_grad.wrong(
    "chain_stops_early",
    {"x.grad": 22.0},
    en="It looks as if `x.grad` held only a part of the chain. Multiply the derivatives along the whole way from "
    "`loss` to `x`.",
    ru="Похоже, что в `x.grad` попала только часть цепочки. Перемножьте производные на всём пути от `loss` до `x`.",
)


predict_grad.wrong(
    "loss_keeps_one",
    {"loss.grad": 1.0},
    en="It looks as if `loss` kept the gradient it begins with. That one is there, and it is 1, but `loss` is no leaf "
    "and did not ask to keep it.",
    ru="Похоже, вы считаете, что `loss` сохраняет градиент, с которого всё начинается. На самом деле этот градиент "
    "вычисляется и равен 1, но `loss` — не лист, а сохранить его градиент никто не просил.",
)


predict_grad.wrong(
    "optimizers_take_anything",
    {"SGD([lost], lr=0.1)": "accepted"},
    en="It looks as if an optimizer took any tensor that requires grad. It takes leaves only.",
    ru="Похоже, вы считаете, что оптимизатор принимает любой тензор, который требует градиента. На самом деле он "
    "принимает только листья.",
)


predict_grad.wrong(
    "constants_go_backward",
    {"k.backward()": "accepted"},
    en="It looks as if `backward()` on a constant did nothing. There is no graph to walk, and torch says so.",
    ru="Похоже, вы считаете, что `backward()` у константы ничего не делает. На самом деле идти не по чему, графа "
    "нет, и torch сообщает об ошибке.",
)


predict_grad.wrong("none_in_quotes", {"k.grad": "None"}, *predict_leaf.mistakes["quotes_none"].says)


predict_grad.wrong(
    "everybody_keeps_one",
    {"part.grad": 4.0, "lost.grad": 1.0, "late.grad": 22.0, "loss.grad": 1.0},
    en="It looks as if `.grad` were kept for every tensor. Unless asked, only leaves that require grad keep it.",
    ru="Похоже, вы считаете, что `.grad` сохраняется у каждого тензора. На самом деле, если не попросить, он "
    "сохраняется только у листьев, которые требуют градиента.",
)


predict_grad.wrong(
    "lost_holds_the_leafs",
    {"lost.grad": 0.01},
    en="It looks as if `lost` held the gradient of the leaf before it. That leaf has it, and no name.",
    ru="Похоже, вы считаете, что в `lost` лежит градиент листа, который стоит перед ним. На самом деле этот градиент "
    "лежит в самом листе, а имени у листа нет.",
)


predict_grad.wrong(
    "gradient_of_the_part",
    {"v.grad": 4.0},
    en="It looks as if `v.grad` was one number. A gradient has the shape of its tensor: one entry for each of `v`.",
    ru="Похоже, вы считаете, что `v.grad` — одно число. На самом деле у градиента та же форма, что у тензора: по "
    "элементу на каждый элемент `v`.",
)
