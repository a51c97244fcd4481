"""Core exercise: return the gradients of intermediate results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, signed, uniform, with_old_gradient
from autograder.checking.labels import BACKWARD_PASSES
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import counting_backward_runs


@contextmanager
def _recording_outputs(model: torch.nn.Sequential) -> Iterator[list[Tensor]]:
    """Record the output of each layer of `model` in the `with` block.

    Yields a list of the outputs, in the order of the calls.
    """
    outputs: list[Tensor] = []

    def note(_: torch.nn.Module, __: object, output: Tensor) -> None:
        outputs.append(output)

    handles = [layer.register_forward_hook(note) for layer in model]
    try:
        yield outputs
    finally:
        for handle in handles:
            handle.remove()


_HOOK_TABLES = "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks"


def _state_of(model: torch.nn.Sequential, x: Tensor) -> dict[str, object]:
    """Return a dict of everything that an answer must leave unchanged.

    It holds gradients, values, `requires_grad`, and hooks.
    """
    tensors = {f"model[{name.replace('.', '].', 1)}": tensor for name, tensor in model.named_parameters()} | {"x": x}
    hooks = [hook for layer in model.modules() for table in _HOOK_TABLES for hook in getattr(layer, table)]
    return {
        **{f"{name}.grad": tensor.grad for name, tensor in tensors.items()},
        **{name: tensor.detach() for name, tensor in tensors.items()},
        **{f"{name}.requires_grad": tensor.requires_grad for name, tensor in tensors.items()},
        "hooks left on the layers": len(hooks),
        "hooks left on weights and x": sum(len(tensor._backward_hooks or ()) for tensor in tensors.values()),
        "model.training": all(layer.training for layer in model.modules()),
    }


@exercise(
    title=Text("Gradients that nobody keeps", "Градиенты, которые никто не хранит"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=16,
    aspects=[
        aspect(
            "gradients",
            3,
            en="The list holds the derivative of the loss with respect to the output of each layer, in order of the "
            "layers.",
            ru="В списке производные функции потерь по выходу каждого слоя, в порядке слоёв.",
        ),
        aspect(
            "backward_runs",
            1,
            en="There is at most one call of `backward` or `torch.autograd.grad`, however many layers there are.",
            ru="Сделано не больше одного вызова `backward` или `torch.autograd.grad`, сколько бы ни было слоёв.",
            measured=BACKWARD_PASSES,
        ),
        aspect(
            "kept",
            1,
            en="The model and `x` are as they were: `.grad`, weights, flags, hooks, mode.",
            ru="Модель и `x` остались прежними: `.grad`, веса, флаги, хуки, режим.",
        ),
    ],
    hints=[
        Text(
            "These gradients are computed in every backward pass. What throws them away, and when must you speak up?",
            "Эти градиенты вычисляются при любом обратном проходе. Почему они пропадают и когда нужно попросить их "
            "сохранить?",
        ),
        Text(
            "Run the layers one by one and keep the outputs. Two calls take the tensors whose gradient you want and "
            "touch nothing else.",
            "Вызывайте слои по одному и сохраняйте выходы. Есть два вызова, которым передают нужные тензоры и которые "
            "не меняют градиентов остальных.",
        ),
        Text(
            "outputs = []\nfor layer in model:\n    x = layer(x)\n    outputs.append(x)\n... torch.autograd.grad(...)",
            "outputs = []\nfor layer in model:\n    x = layer(x)\n    outputs.append(x)\n... torch.autograd.grad(...)",
        ),
    ],
)
def hidden_gradients(answer: Any, case: Case) -> dict[str, object]:
    with _recording_outputs(case.model) as outputs, counting_backward_runs() as runs, using_answer():
        gradients = answer.hidden_gradients(case.model, case.x)
        gradients = list(gradients) if isinstance(gradients, (list, tuple)) else gradients
    with using_answer():
        kept = _state_of(case.model, case.x)
    return {
        "gradients": gradients,
        "backward_runs": AtMost(limit=1, used=runs.times),
        "kept": kept,
        "retained": [output.retains_grad for output in outputs],
        "cut": [output.is_leaf for output in outputs],
    }


class MeanSquare(torch.nn.Module):
    """A layer that computes a loss: the mean of squares."""

    def forward(self, h: Tensor) -> Tensor:
        return h.square().mean()


def _random_network(rng: torch.Generator, *widths: int) -> torch.nn.Sequential:
    """Return Linear and Tanh layers in turn, with a loss as the last layer.

    `widths` are the sizes before, between and after the linear layers. Each weight has an old gradient.
    """
    layers: list[torch.nn.Module] = []
    for inputs, outputs in pairwise(widths):
        linear = torch.nn.Linear(inputs, outputs, bias=False, dtype=torch.float64)
        linear.weight = torch.nn.Parameter(signed(rng, outputs, inputs) / inputs)
        with_old_gradient(linear.weight)
        layers += [linear, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers, MeanSquare())


@hidden_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=_random_network(rng, 3, 4), x=uniform(rng, 2, 3))
    yield Case(model=_random_network(rng, 2, 3, 5), x=with_old_gradient(leaf(rng, 4, 2)))
    partly_frozen = _random_network(rng, 2, 3, 2)
    partly_frozen[2].weight.requires_grad_(False)
    yield Case(model=partly_frozen, x=uniform(rng, 3, 2))


def _run_layers(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    """Return the output of every layer; the last one is the loss."""
    outputs = []
    for layer in model:
        x = layer(x)
        outputs.append(x)
    return outputs


@hidden_gradients.mistake(
    en="`.grad` of the intermediates is read after `backward()`. Their gradients were computed, but nothing asked to "
    "keep them: None.",
    ru="После `backward()` читается `.grad` промежуточных тензоров. Их градиенты вычислены, но не сохранены, поэтому "
    "там None.",
)
def reads_what_was_not_kept(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = _run_layers(model, x)
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="`retain_grad()` comes after `backward()`. It asks the next backward pass; this one has already thrown the "
    "gradients away.",
    ru="Вызов `retain_grad()` стоит после `backward()`. Он относится к следующему обратному проходу, а в этом "
    "градиенты уже не сохранились.",
)
def retains_too_late(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = _run_layers(model, x)
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    for output in outputs:
        output.retain_grad()
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="Each gradient is that of the next layer's output, not of the loss: these are local derivatives, not yet joined "
    "by the chain rule.",
    ru="Каждый градиент — производная выхода следующего слоя, а не функции потерь. Это локальные производные: по "
    "цепному правилу они ещё не перемножены.",
)
def local_derivatives(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = _run_layers(model, x)
    nexts = [*outputs[1:], outputs[-1]]
    return [torch.autograd.grad(b.sum(), a, retain_graph=True)[0] for a, b in zip(outputs, nexts)]


@hidden_gradients.mistake(
    en="Every output is detached and made a leaf before the next layer. That cuts the graph: no gradient goes from the "
    "loss to the layers before.",
    ru="Каждый выход перед следующим слоем отсоединяется и становится листом. Граф оборван: градиент функции потерь до "
    "предыдущих слоёв не доходит.",
)
def detaches_every_output(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = []
    for layer in model:
        h = layer(x)
        x = h.detach().requires_grad_()
        outputs.append(x)
    h.backward()
    return [*(output.grad for output in outputs[:-1]), torch.ones_like(h)]


@hidden_gradients.mistake(
    en="The gradients stand in the order in which they were computed. A backward pass goes from the loss to the input, "
    "so the list has to be turned around.",
    ru="Градиенты стоят в том порядке, в котором вычислялись. Обратный проход идёт от функции потерь ко входу, поэтому "
    "список нужно перевернуть.",
)
def in_backward_order(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    gradients: list[Tensor] = []
    for output in (outputs := _run_layers(model, x)):
        output.register_hook(gradients.append)  # type: ignore[no-untyped-call]
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return gradients


@hidden_gradients.mistake(
    en="The last layer is missing. The loss is an output too, and its derivative with respect to itself is 1.",
    ru="Пропущен последний слой. Значение функции потерь — тоже выход, и его производная по самому себе равна 1.",
)
def leaves_out_the_loss(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    *hidden, loss = _run_layers(model, x)
    return list(torch.autograd.grad(loss, hidden))


@hidden_gradients.mistake(
    en="These are the gradients of the weights. Asked for are those of the outputs that run through the network.",
    ru="Возвращены градиенты весов, а нужны градиенты выходов, которые слои передают дальше по сети.",
)
def gradients_of_weights(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(_run_layers(model, x)[-1], list(model.parameters())))


@hidden_gradients.mistake(
    en="The loss was not asked to keep its own gradient. It is an output like the others: 1, not None.",
    ru="Градиент самого значения функции потерь не сохранён. Это такой же выход, как остальные, и его градиент равен "
    "1, а не None.",
)
def forgets_to_keep_the_last(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = _run_layers(model, x)
    for output in outputs[:-1]:
        output.retain_grad()
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="A backward pass starts for every layer. One pass computes all of these gradients on its way.",
    ru="Обратный проход запускается для каждого слоя. Все эти градиенты вычисляются за один проход.",
)
def one_pass_for_each(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = _run_layers(model, x)
    return [torch.autograd.grad(outputs[-1], output, retain_graph=True)[0] for output in outputs]


@hidden_gradients.mistake(*hidden_gradients.mistakes["one_pass_for_each"].says)
def one_backward_for_each(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = _run_layers(model, x)
    for output in outputs:
        outputs[-1].backward(inputs=[output], retain_graph=True)  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="A plain `backward()` was run. The list is right, but that pass also added to `.grad` of every weight, in "
    "place: the tensor that was there before, saved or not, has changed.",
    ru="Вызван обычный метод `backward()`. Список верен, но заодно к `.grad` каждого веса прибавлены градиенты, причём "
    "на месте: тензор, который лежал там раньше, изменился, даже если его сохранить под другим именем.",
)
def adds_to_the_weights(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = _run_layers(model, x)
    for output in outputs:
        output.retain_grad()
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="The gradients of the weights are cleared at the end. What was there before is gone, and the caller may still "
    "need it.",
    ru="В конце градиенты весов обнуляются. Прежние градиенты пропали, а они ещё могли понадобиться.",
)
def clears_the_weights(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    gradients = adds_to_the_weights(model, x)
    model.zero_grad()
    return gradients  # type: ignore[no-any-return]


@hidden_gradients.mistake(
    en="Hooks were left on the layers. They will run in every later step of the training: keep their handles and "
    "`remove()` them.",
    ru="На слоях остались хуки. Они будут срабатывать на каждом следующем шаге обучения: сохраните то, что вернула "
    "регистрация, и вызовите `remove()`.",
)
def leaves_hooks(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs: list[Tensor] = []
    for layer in model:
        layer.register_forward_hook(lambda _, __, output: outputs.append(output))
    return list(torch.autograd.grad(model(x), outputs))


@hidden_gradients.mistake(
    en="`x` was asked to require grad. It belongs to the caller, and the outputs require grad without it.",
    ru="Флаг включён у самого `x`. Этот тензор создан в вызывающем коде, а выходы требуют градиента и без этого.",
)
def tracks_the_data(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = _run_layers(model, x.requires_grad_())
    return list(torch.autograd.grad(outputs[-1], outputs))


@hidden_gradients.mistake(
    en="The model was switched to `eval()` and left there. The training goes on in another mode.",
    ru="Модель переведена в режим `eval()` и осталась в нём. Обучение продолжится в другом режиме.",
)
def leaves_it_in_eval(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = _run_layers(model.eval(), x)
    return list(torch.autograd.grad(outputs[-1], outputs))


@hidden_gradients.mistake(
    en="Every weight is frozen for the pass and thawed afterwards. A weight that was frozen before requires grad now.",
    ru="На время прохода заморожены все веса, а потом все разморожены. Вес, замороженный ещё до вызова, теперь требует "
    "градиента.",
)
def thaws_everything(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    model.requires_grad_(False)
    outputs = _run_layers(model, x.detach().requires_grad_())
    for output in outputs:
        output.retain_grad()
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    model.requires_grad_(True)
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="These are the gradients of the layers' inputs. Asked for are those of the outputs: the list begins one layer "
    "later and ends with the loss.",
    ru="Возвращены градиенты входов слоёв, а нужны градиенты выходов: список начинается на слой позже и заканчивается "
    "функцией потерь.",
)
def gradients_of_inputs(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    h = x.detach().requires_grad_()
    outputs = _run_layers(model, h)
    return list(torch.autograd.grad(outputs[-1], [h, *outputs[:-1]]))


@hidden_gradients.mistake(
    en="No graph leads back from the loss: each layer got a detached input, or the layers ran under `no_grad()`.",
    ru="От функции потерь назад графа нет: каждый слой получил отсоединённый вход или слои вычислены внутри "
    "`no_grad()`.",
)
def detaches_the_inputs(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = []
    for layer in model:
        x = layer(x.detach())
        outputs.append(x)
    return list(torch.autograd.grad(x, outputs))


@hidden_gradients.mistake(*hidden_gradients.mistakes["detaches_the_inputs"].says)
def detaches_and_retains(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = []
    for layer in model:
        x = layer(x.detach())
        x.retain_grad()
        outputs.append(x)
    x.backward()  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="The outputs themselves were returned. Asked for are the derivatives of the loss with respect to them.",
    ru="Возвращены сами выходы, а нужны производные функции потерь по ним.",
)
def returns_the_outputs(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    return _run_layers(model, x)
