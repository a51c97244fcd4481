"""Extra exercise: parameters for which a bucket would wait in vain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import gradients, hooks_on, linear


class Parts(nn.Module):
    """A model with parameters that are used in several ways.

    `zero` has a gradient of zeros. `detached` and the layer `spare` have none, `rare` has one on request.
    """

    def __init__(self, rng: torch.Generator) -> None:
        super().__init__()
        self.spare = linear(rng, 2, 2, bias=True)
        self.layer = linear(rng, 2, 2, bias=True)
        self.zero = nn.Parameter(signed(rng, 2))
        self.detached = nn.Parameter(signed(rng, 2))
        self.frozen = nn.Parameter(signed(rng, 2), requires_grad=False)
        self.head = linear(rng, 2, 1)
        self.rare = linear(rng, 1, 1)

    def forward(self, x: Tensor, rare: bool) -> Any:
        h = self.layer(x) * self.frozen + 0 * self.zero + self.detached.detach()
        y = self.head(h.tanh())
        return self.rare(y) if rare else y


@exercise(
    title=Text("Who would be waited for in vain", "Каких параметров не дождаться"),
    kind="complete",
    difficulty=2,
    minutes=10,
    aspects=[
        aspect(
            "names",
            2,
            en="The list holds the names of the trainable parameters that get no gradient, in the model's order.",
            ru="В списке — имена обучаемых параметров, к которым градиент не придёт, в порядке модели.",
        ),
        aspect(
            "untouched",
            1,
            en="Every `.grad` is as it was, no hook of yours stays, and `loss.backward()` can still be called.",
            ru="Все поля `.grad` прежние, ваших хуков не остаётся, и `loss.backward()` по-прежнему можно вызвать.",
        ),
    ],
    hints=[
        Text(
            "A gradient of zeros and no gradient: which function tells the two apart without filling `.grad`?",
            "Нулевой градиент и отсутствие градиента: какая функция различает их и не заполняет `.grad`?",
        ),
        Text(
            "`torch.autograd.grad` has the argument `allow_unused`. Frozen parameters it does not accept. And what "
            "happens to the graph?",
            "У функции `torch.autograd.grad` есть аргумент `allow_unused`. Замороженных параметров она не принимает. "
            "А что станет с графом?",
        ),
        Text(
            "trained = {name: p for name, p in model.named_parameters() if ...}\n"
            "found = torch.autograd.grad(loss, ..., allow_unused=True, retain_graph=...)\nreturn [...]",
            "trained = {name: p for name, p in model.named_parameters() if ...}\n"
            "found = torch.autograd.grad(loss, ..., allow_unused=True, retain_graph=...)\nreturn [...]",
        ),
    ],
)
def unused_parameters(answer: Any, case: Case) -> dict[str, object]:
    parameters = list(case.model.parameters())
    hooks = hooks_on(parameters)
    names = answer.unused_parameters(case.model, case.loss)
    with using_answer():
        after = gradients(parameters)
        left = hooks_on(parameters) - hooks
        flags = [parameter.requires_grad for parameter in parameters]
        try:
            case.loss.backward()
            alive = True
        except RuntimeError:
            alive = False
    return {
        "names": list(names) if isinstance(names, tuple) else names,
        "untouched": {
            ".grad of the parameters": after,
            "flags of the parameters": flags,
            "backward can be called": alive,
            "hooks": left,
        },
    }


@unused_parameters.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    for rare in (False, True):
        model = Parts(rng)
        for parameter in (model.spare.weight, model.layer.weight, model.zero):
            parameter.grad = torch.full_like(parameter, 3.0)
        yield Case(model=model, loss=model(signed(rng, 3, 2), rare).square().mean())


def _trained(model: nn.Module) -> dict[str, nn.Parameter]:
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def _found(model: nn.Module, loss: Tensor) -> dict[str, Tensor | None]:
    trained = _trained(model)
    return dict(zip(trained, torch.autograd.grad(loss, list(trained.values()), retain_graph=True, allow_unused=True)))


@unused_parameters.mistake(
    en="A gradient of zeros is taken for no gradient. The hook of such a parameter does run.",
    ru="Нулевой градиент принят за отсутствие градиента. Но хук у такого параметра срабатывает.",
)
def takes_zero_for_none(model: nn.Module, loss: Tensor) -> list[str]:
    return [name for name, grad in _found(model, loss).items() if grad is None or not grad.any()]


@unused_parameters.mistake(
    en="Frozen parameters are in the list. Nobody waits for them: they never have a hook.",
    ru="В списке есть замороженные параметры. Их никто не ждёт: хука у них не бывает.",
)
def lists_the_frozen(model: nn.Module, loss: Tensor) -> list[str]:
    found = _found(model, loss)
    return [name for name, _ in model.named_parameters() if found.get(name) is None]


@unused_parameters.mistake(
    en="The list holds the parameters that do get a gradient.",
    ru="В списке — параметры, к которым градиент как раз приходит.",
)
def lists_the_used(model: nn.Module, loss: Tensor) -> list[str]:
    return [name for name, grad in _found(model, loss).items() if grad is not None]


@unused_parameters.mistake(
    en="The pass frees the graph, and `loss.backward()` cannot be called any more: `retain_graph=True` is missing.",
    ru="Проход освобождает граф, и `loss.backward()` вызвать уже нельзя: не хватает `retain_graph=True`.",
)
def frees_the_graph(model: nn.Module, loss: Tensor) -> list[str]:
    trained = _trained(model)
    found = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
    return [name for name, grad in zip(trained, found) if grad is None]


@unused_parameters.mistake(
    en="`backward()` was called: it adds to `.grad`, which has to stay as it was.",
    ru="Вызван `backward()`: он прибавляет градиент к полям `.grad`, а они должны остаться прежними.",
)
def fills_the_gradients(model: nn.Module, loss: Tensor) -> list[str]:
    unused = [name for name, grad in _found(model, loss).items() if grad is None]
    loss.backward(retain_graph=True)
    return unused


@unused_parameters.mistake(
    en="`.grad` was looked at after a pass. A parameter without a gradient in this pass may hold one from before.",
    ru="После прохода просмотрены поля `.grad`. Но там может лежать прежний градиент, хотя в этом проходе ничего не "
    "пришло.",
)
def reads_old_gradients(model: nn.Module, loss: Tensor) -> list[str]:
    loss.backward(retain_graph=True)
    return [name for name, parameter in _trained(model).items() if parameter.grad is None]


@unused_parameters.mistake(
    en="The gradients were cleared to see which are filled. What `.grad` held is lost.",
    ru="Градиенты обнулены, чтобы увидеть, какие поля заполнятся. То, что лежало в `.grad`, пропало.",
)
def clears_the_gradients(model: nn.Module, loss: Tensor) -> list[str]:
    model.zero_grad()
    loss.backward(retain_graph=True)
    unused = [name for name, parameter in _trained(model).items() if parameter.grad is None]
    model.zero_grad()
    return unused


@unused_parameters.mistake(
    en="Hooks of yours stay on the parameters: they will run in every later pass.",
    ru="На параметрах остались ваши хуки: они будут срабатывать в каждом следующем проходе.",
)
def leaves_the_hooks(model: nn.Module, loss: Tensor) -> list[str]:
    arrived: set[str] = set()
    for name, parameter in _trained(model).items():
        parameter.register_hook(lambda _, name=name: arrived.add(name))  # type: ignore[misc]
    found = _found(model, loss)
    return [name for name in found if name not in arrived]


@unused_parameters.mistake(*unused_parameters.mistakes["clears_the_gradients"].says)
def clears_and_fills_the_gradients(model: nn.Module, loss: Tensor) -> list[str]:
    model.zero_grad()
    loss.backward(retain_graph=True)
    return [name for name, parameter in _trained(model).items() if parameter.grad is None]


@unused_parameters.mistake(
    en="What `.grad` held is put back where a gradient came, but not where none came: there it is lost.",
    ru="Прежнее содержимое `.grad` возвращено там, куда градиент пришёл, а там, куда он не пришёл, пропало.",
)
def puts_back_in_part(model: nn.Module, loss: Tensor) -> list[str]:
    old = {name: parameter.grad for name, parameter in model.named_parameters()}
    model.zero_grad()
    loss.backward(retain_graph=True)
    unused = [name for name, parameter in _trained(model).items() if parameter.grad is None]
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            parameter.grad = old[name]
    return unused


@unused_parameters.mistake(
    en="The names are right, but sorted. They stand in the order of `model.named_parameters()`.",
    ru="Имена верны, но отсортированы. А нужен тот порядок, в каком их даёт `model.named_parameters()`.",
)
def sorts_the_names(model: nn.Module, loss: Tensor) -> list[str]:
    return sorted(name for name, grad in _found(model, loss).items() if grad is None)


@unused_parameters.mistake(
    en="What comes back is a set. It has no order; the contract asks for a list.",
    ru="Возвращено множество (set). Порядка у него нет, а по условию нужен список.",
)
def returns_a_set(model: nn.Module, loss: Tensor) -> set[str]:
    return {name for name, grad in _found(model, loss).items() if grad is None}


@unused_parameters.mistake(
    en="The list holds the parameters themselves, not their names.",
    ru="В списке не имена, а сами параметры.",
)
def returns_the_parameters(model: nn.Module, loss: Tensor) -> list[Tensor]:
    trained = _trained(model)
    return [trained[name] for name, grad in _found(model, loss).items() if grad is None]


@unused_parameters.mistake(
    en="Every error of `autograd.grad` was taken for a parameter without a gradient. From the second used parameter on "
    "it comes from the graph, which the first call has freed.",
    ru="Любая ошибка `autograd.grad` принята за отсутствие градиента. Но начиная со второго нужного параметра она "
    "возникает из-за графа, который освобождён первым вызовом.",
)
def counts_every_error(model: nn.Module, loss: Tensor) -> list[str]:
    unused = []
    for name, parameter in model.named_parameters():
        try:
            torch.autograd.grad(loss, parameter)
        except RuntimeError:
            unused.append(name)
    return unused


@unused_parameters.mistake(*unused_parameters.mistakes["counts_every_error"].says)
def counts_every_error_of_trained(model: nn.Module, loss: Tensor) -> list[str]:
    frozen = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    return [name for name in counts_every_error(model, loss) if name not in frozen]


@unused_parameters.mistake(
    en="`.grad` was looked at without a pass: what it holds, or lacks, comes from earlier passes.",
    ru="Поля `.grad` просмотрены без обратного прохода: то, что в них есть или чего нет, осталось от прежних проходов.",
)
def looks_without_a_pass(model: nn.Module, loss: Tensor) -> list[str]:
    return [name for name, parameter in _trained(model).items() if parameter.grad is None]


@unused_parameters.mistake(
    en="Of the edges of a node only the first one was followed. The parameters on the other ways are missing.",
    ru="В каждом узле выбрано только первое ребро. Параметры на остальных путях не найдены.",
)
def follows_one_edge(model: nn.Module, loss: Tensor) -> list[str]:
    node, found = loss.grad_fn, set()
    while node is not None:
        found.add(getattr(node, "variable", None))
        node = next((each for each, _ in node.next_functions if each is not None), None)
    return [name for name, parameter in _trained(model).items() if parameter not in found]


@unused_parameters.mistake(
    en="The names lack the path of modules in front. They are to be those of `model.named_parameters()`.",
    ru="В именах нет пути из имён модулей. Нужны такие, как в `model.named_parameters()`.",
)
def shortens_the_names(model: nn.Module, loss: Tensor) -> list[str]:
    return [name.rpartition(".")[2] for name, grad in _found(model, loss).items() if grad is None]


@unused_parameters.mistake(
    en="The parameters without a gradient were frozen. `requires_grad` has to stay as it was.",
    ru="Параметры, к которым градиент не приходит, заморожены, а флаги `requires_grad` должны остаться прежними.",
)
def freezes_the_unused(model: nn.Module, loss: Tensor) -> list[str]:
    trained = _trained(model)
    unused = [name for name, grad in _found(model, loss).items() if grad is None]
    for name in unused:
        trained[name].requires_grad_(False)
    return unused


@unused_parameters.mistake(*unused_parameters.mistakes["clears_the_gradients"].says)
def clears_with_zeros(model: nn.Module, loss: Tensor) -> list[str]:
    model.zero_grad()
    loss.backward(retain_graph=True)
    unused = [name for name, parameter in _trained(model).items() if parameter.grad is None]
    model.zero_grad(set_to_none=False)
    return unused


@unused_parameters.mistake(
    en="One string comes back. The contract asks for a list of names.",
    ru="Возвращена одна строка, а по условию нужен список имён.",
)
def joins_the_names(model: nn.Module, loss: Tensor) -> str:
    return ", ".join(name for name, grad in _found(model, loss).items() if grad is None)


@unused_parameters.mistake(
    en="The list holds the frozen parameters. Those are meant that require grad and get none.",
    ru="В списке замороженные параметры, а нужны те, которые требуют градиента, но не получают его.",
)
def lists_only_the_frozen(model: nn.Module, loss: Tensor) -> list[str]:
    return [name for name, parameter in model.named_parameters() if not parameter.requires_grad]


@unused_parameters.mistake(
    en="The list holds names of modules. The names of parameters are asked for, such as `spare.weight`.",
    ru="В списке имена модулей, а нужны имена параметров, например `spare.weight`.",
)
def names_the_modules(model: nn.Module, loss: Tensor) -> list[str]:
    return [name.rpartition(".")[0] or name for name, grad in _found(model, loss).items() if grad is None]


@unused_parameters.mistake(
    en="`autograd.grad` raises an error for a tensor that `loss` does not depend on. With `allow_unused=True` it returns None.",
    ru="Функция `autograd.grad` завершается ошибкой, если `loss` от тензора не зависит. С аргументом `allow_unused=True` она "
    "возвращает None.",
)
def allows_no_unused(model: nn.Module, loss: Tensor) -> list[str]:
    trained = _trained(model)
    found = torch.autograd.grad(loss, list(trained.values()), retain_graph=True)
    return [name for name, grad in zip(trained, found) if grad is None]


@unused_parameters.mistake(
    en="`autograd.grad` gets frozen parameters, too, and raises an error: it takes only tensors that require grad.",
    ru="В `autograd.grad` переданы и замороженные параметры. Она завершается ошибкой: принимаются только тензоры, которые "
    "требуют градиента.",
)
def asks_for_the_frozen(model: nn.Module, loss: Tensor) -> list[str]:
    names, parameters = zip(*model.named_parameters())
    found = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
    return [name for name, grad in zip(names, found) if grad is None]
