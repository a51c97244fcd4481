"""Extra exercise: gradients of a head on features from inference mode.

The head is the last part of a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Dropout, Linear, Module, Sequential, Tanh

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import flags, gradients_of, randomized, weights_of


def _prefixed(owner: str, values: dict[str, Any]) -> dict[str, object]:
    """Return the dict `values` with the text of `owner` and a dot before each key."""
    return {f"{owner}.{name.lstrip('.')}": value for name, value in values.items()}


@exercise(
    title=Text("Features that may not be used", "Признаки, которые нельзя использовать"),
    kind="find the bug",
    difficulty=1,
    minutes=4,
    aspects=[
        aspect(
            "head",
            2,
            en="The gradient of the loss has been added to the `.grad` of every parameter of `head`; the modes of `body` "
            "count.",
            ru="Градиент функции потерь прибавлен к `.grad` каждого параметра `head`; режимы `body` учтены.",
        ),
        aspect(
            "body",
            1,
            en="The rest is as it was: flags, modes and weights of both, and what the parameters of `body` have in "
            "`.grad`.",
            ru="Остальное прежнее: флаги, режимы и веса обеих частей и то, что лежит в `.grad` параметров `body`.",
        ),
        aspect(
            "recorded",
            1,
            en="The forward pass of `body` is not recorded.",
            ru="Прямой проход `body` не записывается.",
        ),
    ],
    rtol=1e-5,
    hints=[
        Text(
            "What does the first layer of `head` save for the gradient of its weight?",
            "Что сохраняет первый слой `head` ради градиента своего веса?",
        ),
        Text(
            "Features for training have to be ordinary constants. Which mode makes them?",
            "Признаки для обучения должны быть обычными константами. Какой режим такие создаёт?",
        ),
        Text(
            "The same block with another mode; everything after it stays outside.",
            "Тот же блок с другим режимом; всё, что после него, остаётся снаружи.",
        ),
    ],
)
def head_gradients(answer: Any, case: Case) -> dict[str, object]:
    recorded: dict[str, bool] = {}

    def note(name: str, module: Module) -> Any:
        return module.register_forward_hook(lambda _, __, out: recorded.update({name: out.requires_grad}))

    hooks = note("body(x).requires_grad", case.body), note("head(features).requires_grad", case.head)
    answer.head_gradients(case.body, case.head, case.x, case.y)
    for hook in hooks:
        hook.remove()
    with using_answer():
        return {
            "head": gradients_of(case.head),
            "body": _prefixed("body", gradients_of(case.body) | flags(case.body, "") | weights_of(case.body))
            | _prefixed("head", flags(case.head, "") | weights_of(case.head)),
            "recorded": {"body(x).requires_grad": recorded.get("body(x).requires_grad", False)},
            "loss": recorded.get("head(features).requires_grad"),
        }


@head_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for dtype in (torch.float64, torch.float32):
        norm = BatchNorm1d(4, momentum=0.0)  # in training mode; its statistics stay
        body = randomized(Sequential(Linear(3, 4), norm, Tanh(), Dropout(0.5)), rng, dtype)
        deep = dtype is torch.float32
        head = randomized(Sequential(Linear(4, 4), Tanh(), Linear(4, 3)) if deep else Linear(4, 3), rng, dtype)
        body[3].eval()
        if deep:
            body[0].bias.requires_grad_(False)
            head[2].bias.grad = None
        yield Case(
            body=body,
            head=head,
            x=signed(rng, 5, 3).to(dtype),
            y=signed(rng, 5, 3).to(dtype),
        )


def _mean_square(out: Tensor, y: Tensor) -> Tensor:
    return (out - y).square().mean()


@head_gradients.mistake(
    en="The features are still an inference tensor: neither `clone()` inside the block nor `detach()` changes that. A "
    "copy made outside, or another mode, does.",
    ru="Признаки остались inference-тензором: ни `clone()` внутри блока, ни `detach()` этого не меняют. Нужна копия, "
    "сделанная снаружи, или другой режим.",
)
def detaches_inference(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.inference_mode():
        features = body(x)
    _mean_square(head(features.detach()), y).backward()


@head_gradients.mistake(
    en="The features were asked to require grad. An inference tensor may not, and features that do not learn need no "
    "gradient.",
    ru="У признаков включён флаг. У inference-тензора это запрещено, да и признакам, которые не обучаются, градиент не "
    "нужен.",
)
def tracks_the_features(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.inference_mode():
        features = body(x)
    _mean_square(head(features.requires_grad_()), y).backward()


@head_gradients.mistake(
    en="The squared errors were summed; the loss is their mean.",
    ru="Квадраты разностей сложены, а функция потерь — их среднее.",
)
def sums_the_squares(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        features = body(x)
    (head(features) - y).square().sum().backward()


@head_gradients.mistake(
    en="The squared errors of each sample were summed and then averaged over samples. The loss is the mean over all "
    "numbers.",
    ru="Квадраты разностей сложены внутри примера, а среднее взято по примерам. Функция потерь — среднее по всем "
    "числам.",
)
def averages_over_samples(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        features = body(x)
    (head(features) - y).square().sum(1).mean().backward()


@head_gradients.mistake(
    en="The whole forward pass, that of `head` included, runs without recording. The loss has no history, and backward "
    "has no graph to walk.",
    ru="Без записи выполнен весь прямой проход, вместе с `head`. У функции потерь нет истории, и обратному проходу "
    "идти не по чему.",
)
def covers_the_head(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        loss = _mean_square(head(body(x)), y)
    loss.backward()


@head_gradients.mistake(
    en="The loss has no history, but was asked to require grad. The error is gone; the loss is a leaf now, and no "
    "parameter gets anything.",
    ru="У функции потерь нет истории, а флаг включён вручную. Ошибки больше нет, но теперь это лист, и параметры не "
    "получают ничего.",
)
def forces_the_loss(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        loss = _mean_square(head(body(x)), y)
    loss.requires_grad_().backward()


@head_gradients.mistake(
    en="Nothing was added to `.grad`: either no backward pass was run, or `torch.autograd.grad` returned the gradients "
    "and they were left unused.",
    ru="К полю `.grad` ничего не прибавлено: обратного прохода не было или градиенты, которые вернула функция "
    "`torch.autograd.grad`, никуда не записаны.",
)
def adds_nothing(body: Module, head: Module, x: Tensor, y: Tensor) -> Any:
    with torch.no_grad():
        features = body(x)
    return torch.autograd.grad(_mean_square(head(features), y), list(head.parameters()))


@head_gradients.mistake(
    en="The forward pass of `body` was recorded. The gradients are right; the graph was built for nothing.",
    ru="Прямой проход через `body` записан в граф. Градиенты верны, но граф построен зря.",
)
def detaches_features(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    _mean_square(head(body(x).detach()), y).backward()


@head_gradients.mistake(
    en="The body takes part in the backward pass: its parameters got gradients as well.",
    ru="Тело участвует в обратном проходе: его параметры тоже получили градиенты.",
)
def trains_the_body(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    _mean_square(head(body(x)), y).backward()


@head_gradients.mistake(
    en="The body was frozen for the computation and not thawed. Its flags were to stay as before.",
    ru="Тело заморожено на время вычислений и не разморожено. Его флаги должны были остаться прежними.",
)
def leaves_the_body_frozen(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    body.requires_grad_(False)
    _mean_square(head(body(x)), y).backward()


@head_gradients.mistake(
    en="The body was frozen for the computation, and at the end all its flags were switched on. One parameter had been "
    "frozen before the call.",
    ru="Тело заморожено на время вычислений, а в конце флаги включены у всех его параметров, хотя один из них был "
    "заморожен ещё до вызова.",
)
def thaws_the_body(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    leaves_the_body_frozen(body, head, x, y)
    body.requires_grad_(True)


@head_gradients.mistake(
    en="The gradients of the body were cleared. What lay in its `.grad` was to stay.",
    ru="Градиенты тела обнулены, а содержимое его `.grad` должно было остаться прежним.",
)
def clears_the_body(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    body.zero_grad()
    with torch.no_grad():
        features = body(x)
    _mean_square(head(features), y).backward()


@head_gradients.mistake(
    en="The body was left in evaluation mode. Its modes were to stay as before.",
    ru="Тело осталось в режиме оценки, а его режимы должны были остаться прежними.",
)
def leaves_the_body_in_eval(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    body.eval()
    with torch.no_grad():
        features = body(x)
    _mean_square(head(features), y).backward()


@head_gradients.mistake(
    en="`train()` was called at the end. It puts every module of the body into training mode, also those that had been "
    "in evaluation mode.",
    ru="В конце вызван метод `train()`. Он переводит в режим обучения все модули тела, в том числе те, что были в "
    "режиме оценки.",
)
def trains_all_of_the_body(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    leaves_the_body_in_eval(body, head, x, y)
    body.train()


@head_gradients.mistake(
    en="The old gradients of `head` are lost: cleared, or replaced by the new ones. The new ones were to be added to "
    "them.",
    ru="Старые градиенты сети `head` потеряны: обнулены или заменены новыми. А новые нужно было к ним прибавить.",
)
def clears_the_head(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    head.zero_grad()
    with torch.no_grad():
        features = body(x)
    _mean_square(head(features), y).backward()


@head_gradients.mistake(
    en="You expected `head` to have a `weight` and a `bias` of its own. It may consist of several layers: "
    "`head.parameters()` gives all parameters.",
    ru="Вы ожидали, что у `head` есть собственные `weight` и `bias`. Но голова может состоять из нескольких слоёв: все "
    "параметры выдаёт `head.parameters()`.",
)
def names_weight_and_bias(body: Module, head: Any, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        features = body(x)
    parameters = head.weight, head.bias
    for p, gradient in zip(parameters, torch.autograd.grad(_mean_square(head(features), y), parameters)):
        p.grad = gradient if p.grad is None else p.grad + gradient


@head_gradients.mistake(
    en="You expected `.grad` to hold a tensor already. It may be None before, and nothing can be added to None.",
    ru="Вы ожидали, что в `.grad` уже лежит тензор. До вызова там может быть None, а к None ничего не прибавить.",
)
def adds_to_none(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        features = body(x)
    parameters = list(head.parameters())
    for p, gradient in zip(parameters, torch.autograd.grad(_mean_square(head(features), y), parameters)):
        p.grad += gradient  # type: ignore[operator]


@head_gradients.mistake(
    en="The absolute differences were averaged; the loss is the mean of their squares.",
    ru="Усреднены модули разностей, а функция потерь — среднее их квадратов.",
)
def averages_magnitudes(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        features = body(x)
    (head(features) - y).abs().mean().backward()


@head_gradients.mistake(
    en="The features were computed in evaluation mode. Layers such as batch norm give other features in it: `body` was "
    "to be called in the modes of its modules.",
    ru="Признаки вычислены в режиме оценки. Слои вроде нормализации по батчу дают в нём другие признаки, а модель "
    "`body` нужно вызывать, не меняя режимов.",
)
def evaluates_the_body(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    modes = [(module, module.training) for module in body.modules()]
    leaves_the_body_in_eval(body, head, x, y)
    for module, training in modes:
        module.training = training


@head_gradients.mistake(
    en="Only the last layer of `head` got its gradients. `head.parameters()` gives the parameters of all layers.",
    ru="Градиенты получил только последний слой `head`. Параметры всех слоёв выдаёт `head.parameters()`.",
)
def serves_the_last_layer(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        features = body(x)
    _mean_square(head(features), y).backward(inputs=list(head.parameters())[-2:])
