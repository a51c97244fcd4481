"""Core exercise: return the gradients of intermediate results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import leaf, uniform, with_old_gradient
from autograder.checking.labels import BACKWARD_PASSES
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
from autograder.language import Text
from autograder.measure import counting_backward_runs

from .networks import random_network, recording_outputs, run_layers, state_of


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
    with recording_outputs(case.model) as outputs, counting_backward_runs() as runs, using_answer():
        gradients = answer.hidden_gradients(case.model, case.x)
        gradients = list(gradients) if isinstance(gradients, (list, tuple)) else gradients
    with using_answer():
        kept = state_of(case.model, case.x)
    return {
        "gradients": gradients,
        "backward_runs": AtMost(limit=1, used=runs.times),
        "kept": kept,
        "retained": any(output.retains_grad for output in outputs),
        "cut": all(output.is_leaf for output in outputs),
    }


@hidden_gradients.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    yield Case(model=random_network(rng, 3, 4), x=uniform(rng, 2, 3))
    yield Case(model=random_network(rng, 2, 3, 5), x=with_old_gradient(leaf(rng, 4, 2)))
    partly_frozen = random_network(rng, 2, 3, 2).eval()
    partly_frozen[2].weight.requires_grad_(False)
    yield Case(model=partly_frozen, x=uniform(rng, 3, 2))


@hidden_gradients.mistake(
    en="`.grad` of the intermediates is read after `backward()`. Their gradients were computed, but nothing asked to "
    "keep them: None.",
    ru="После `backward()` читается `.grad` промежуточных тензоров. Их градиенты вычислены, но не сохранены, поэтому "
    "там None.",
)
def reads_what_was_not_kept(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = run_layers(model, x)
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="The list holds None: either `.grad` was read, which a result does not keep unasked, or the gradient was asked "
    "for copies, from which the loss was not computed.",
    ru="В списке лежит None: либо прочитан `.grad`, который результат сам по себе не хранит, либо градиент запрошен "
    "для копий, а функция потерь вычислена не из них.",
)
def asks_for_unused_copies(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = run_layers(model, x)
    return list(torch.autograd.grad(outputs[-1], [output.clone() for output in outputs], allow_unused=True))


@hidden_gradients.mistake(
    en="The gradient is asked for tensors from which the loss was not computed, such as copies of the outputs or the "
    "outputs of another pass.",
    ru="Градиент запрошен для тензоров, из которых функция потерь не вычислялась: например, для копий выходов или для "
    "выходов другого прохода.",
)
def asks_for_copies(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = run_layers(model, x)
    return list(torch.autograd.grad(outputs[-1], [output.clone() for output in outputs]))


@hidden_gradients.mistake(
    en="The outputs are detached before their gradient is asked for. A detached tensor is a constant.",
    ru="Выходы отсоединены от графа ещё до того, как запрошен их градиент. Отсоединённый тензор — константа.",
)
def asks_for_constants(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = run_layers(model, x)
    return list(torch.autograd.grad(outputs[-1], [output.detach() for output in outputs]))


@hidden_gradients.mistake(
    en="All hooks write to the last place. A function made in a loop reads the loop's variable when it is called, and "
    "by then that holds the last value.",
    ru="Все хуки пишут в последнее место. Функция, созданная в цикле, читает переменную цикла в момент вызова, а в ней "
    "тогда уже последнее значение.",
)
def writes_to_the_last_place(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = run_layers(model, x)
    (first,) = torch.autograd.grad(outputs[-1], outputs[0])
    return [*([None] * (len(outputs) - 1)), first]


@hidden_gradients.mistake(
    en="`retain_grad()` comes after `backward()`. It asks the next backward pass; this one has already thrown the "
    "gradients away.",
    ru="Вызов `retain_grad()` стоит после `backward()`. Он относится к следующему обратному проходу, а в этом "
    "градиенты уже не сохранились.",
)
def retains_too_late(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = run_layers(model, x)
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    for output in outputs:
        output.retain_grad()
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="These are local derivatives, each of one layer alone. Asked for are those of the loss: the chain rule multiplies "
    "the local ones.",
    ru="Это локальные производные, каждая относится только к одному слою. Нужны производные функции потерь: по цепному "
    "правилу локальные перемножаются.",
)
def local_derivatives(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = run_layers(model, x)
    nexts = [*outputs[1:], outputs[-1]]
    return [torch.autograd.grad(b.sum(), a, retain_graph=True)[0] for a, b in zip(outputs, nexts)]


@hidden_gradients.mistake(*hidden_gradients.mistakes["local_derivatives"].says)
def local_derivatives_by_inputs(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    h = x.detach().requires_grad_()
    outputs = run_layers(model, h)
    return [torch.autograd.grad(b.sum(), a, retain_graph=True)[0] for a, b in zip([h, *outputs], outputs)]


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
    for output in (outputs := run_layers(model, x)):
        output.register_hook(gradients.append)  # type: ignore[no-untyped-call]
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return gradients


@hidden_gradients.mistake(
    en="The last layer is missing. The loss is an output too, and its derivative with respect to itself is 1.",
    ru="Пропущен последний слой. Значение функции потерь — тоже выход, и его производная по самому себе равна 1.",
)
def leaves_out_the_loss(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    *hidden, loss = run_layers(model, x)
    return list(torch.autograd.grad(loss, hidden))


@hidden_gradients.mistake(
    en="The list begins with the gradient of `x`. Asked for are the outputs of the layers alone.",
    ru="Список начинается с градиента по `x`, а нужны только выходы слоёв.",
)
def begins_with_x(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    h = x.detach().requires_grad_()
    outputs = run_layers(model, h)
    return list(torch.autograd.grad(outputs[-1], [h, *outputs]))


@hidden_gradients.mistake(
    en="These are the gradients of the weights. Asked for are those of the outputs that run through the network.",
    ru="Возвращены градиенты весов, а нужны градиенты выходов, которые слои передают дальше по сети.",
)
def gradients_of_weights(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(run_layers(model, x)[-1], list(model.parameters())))


@hidden_gradients.mistake(*hidden_gradients.mistakes["gradients_of_weights"].says)
def gradients_of_trained_weights(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    return list(torch.autograd.grad(run_layers(model, x)[-1], weights))


@hidden_gradients.mistake(
    en="The loss was not asked to keep its own gradient. It is an output like the others: 1, not None.",
    ru="Градиент самого значения функции потерь не сохранён. Это такой же выход, как остальные, и его градиент равен "
    "1, а не None.",
)
def forgets_to_keep_the_last(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = run_layers(model, x)
    for output in outputs[:-1]:
        output.retain_grad()
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(
    en="A backward pass starts for every layer. One pass computes all of these gradients on its way.",
    ru="Обратный проход запускается для каждого слоя. Все эти градиенты вычисляются за один проход.",
)
def one_pass_for_each(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = run_layers(model, x)
    return [torch.autograd.grad(outputs[-1], output, retain_graph=True)[0] for output in outputs]


@hidden_gradients.mistake(*hidden_gradients.mistakes["one_pass_for_each"].says)
def one_backward_for_each(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = run_layers(model, x)
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
    outputs = run_layers(model, x)
    for output in outputs:
        output.retain_grad()
    outputs[-1].backward()  # type: ignore[no-untyped-call]
    return [output.grad for output in outputs]


@hidden_gradients.mistake(*hidden_gradients.mistakes["adds_to_the_weights"].says)
def adds_to_the_weights_alone(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    return adds_to_the_weights(model, x.detach())  # type: ignore[no-any-return]


@hidden_gradients.mistake(
    en="The `.grad` of the weights is right again, but `x` may require grad, too: the pass added to `x.grad`.",
    ru="Поля `.grad` у весов прежние, но и `x` может требовать градиента: при обратном проходе к `x.grad` прибавлен "
    "градиент.",
)
def adds_to_x(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    outputs = run_layers(model, x)
    outputs[-1].backward(inputs=[*outputs, x] if x.requires_grad else outputs)  # type: ignore[no-untyped-call]
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
    for layer in set(model):
        layer.register_forward_hook(lambda _, __, output: outputs.append(output))
    return list(torch.autograd.grad(model(x), outputs))


@hidden_gradients.mistake(
    en="A hook is registered for each place in the model. A layer that stands there twice gets two hooks, and each of "
    "its outputs is noted twice.",
    ru="Хук зарегистрирован для каждого места в модели. Слой, который стоит в ней дважды, получает два хука, и каждый "
    "его выход записан дважды.",
)
def hooks_a_layer_twice(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs: list[Tensor] = []
    note = [layer.register_forward_hook(lambda _, __, output: outputs.append(output)) for layer in model]
    loss = model(x)
    for handle in note:
        handle.remove()
    return list(torch.autograd.grad(loss, outputs))


@hidden_gradients.mistake(
    en="Outputs are stored under the layer that made them. A layer may stand in the model twice, and its second output "
    "then replaces the first.",
    ru="Выходы хранятся по слою, который их вычислил. Один и тот же слой может стоять в модели дважды, и тогда второй "
    "выход вытесняет первый.",
)
def keeps_one_output_of_each_layer(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = dict(zip(model, all_of_them := run_layers(model, x)))
    return list(torch.autograd.grad(all_of_them[-1], list(outputs.values())))


@hidden_gradients.mistake(
    en="`x` was asked to require grad. It belongs to the caller, and the outputs require grad without it.",
    ru="Флаг включён у самого `x`. Этот тензор создан в вызывающем коде, а выходы требуют градиента и без этого.",
)
def tracks_the_data(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = run_layers(model, x.requires_grad_())
    return list(torch.autograd.grad(outputs[-1], outputs))


@hidden_gradients.mistake(
    en="The layers ran in `eval()` mode, though the model was training. A layer may compute something else there, as "
    "dropout does: these are derivatives of another function.",
    ru="Слои выполнены в режиме `eval()`, хотя модель обучается. Слой может вычислять в нём другое, как dropout: это "
    "производные другой функции.",
)
def runs_in_eval(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = run_layers(model.eval(), x)
    return list(torch.autograd.grad(outputs[-1], outputs))


@hidden_gradients.mistake(
    en="At the end the model is always in the mode of `train()`. It may have been in the other one before.",
    ru="В конце модель всегда переведена в режим `train()`. Но до вызова она могла быть в другом режиме.",
)
def always_ends_in_training(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    outputs = run_layers(model, x)
    model.train()
    return list(torch.autograd.grad(outputs[-1], outputs))


@hidden_gradients.mistake(
    en="Every weight is frozen and was left so. A weight that was to be trained does not require grad any more.",
    ru="Все веса заморожены и такими остались. Веса, которые обучались, больше не требуют градиента.",
)
def leaves_them_frozen(model: torch.nn.Sequential, x: Tensor) -> list[Tensor]:
    model.requires_grad_(False)
    outputs = run_layers(model, x.detach().requires_grad_())
    return list(torch.autograd.grad(outputs[-1], outputs))


@hidden_gradients.mistake(
    en="A weight that was frozen before the call requires grad after it. Each flag has to get its old value back.",
    ru="Вес, замороженный ещё до вызова, после него требует градиента. Каждому флагу нужно вернуть прежнее значение.",
)
def thaws_everything(model: torch.nn.Sequential, x: Tensor) -> list[Tensor | None]:
    model.requires_grad_(False)
    outputs = run_layers(model, x.detach().requires_grad_())
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
    outputs = run_layers(model, h)
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
    return run_layers(model, x)
