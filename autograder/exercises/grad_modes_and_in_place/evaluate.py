"""Exercise: evaluate a model without recording a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Dropout, Linear, Module, Sequential, Tanh

from autograder.checking.comparison import compare
from autograder.checking.counted_run import another, condense, randomize
from autograder.checking.devices.device_run import works_on
from autograder.checking.exercise import Case, Why, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, canonical
from autograder.language import Text
from autograder.measure import live_bytes

from .common import flags, gradients_of, randomized, weights_of


def _state_of(model: Module) -> dict[str, object]:
    """Return a dict from name to value of everything in `model` that an evaluation might change.

    The values are training modes, `requires_grad`, buffers, weights, gradients, and the number of hooks.
    """
    statistics = {name: buffer.clone() for name, buffer in model.named_buffers()}
    hooks = sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())
    return flags(model) | statistics | weights_of(model) | gradients_of(model) | {"len(hooks)": hooks}


def _same(predictions: object, others: object) -> bool:
    return compare(canonical(predictions), canonical(others)) is None


_SIZES, _HIDDEN = (128, 96, 112), 8  # of batches and of layers in the run in which bytes are counted


def _measure_run(evaluating: Callable[[Any, list[Tensor]], object], rng: torch.Generator) -> tuple[AtMost, list[str]]:
    """Return the peak bytes of an evaluation, with a limit, and a description of each call of the model.

    The description states batch size and grad mode. The limit is 4 hidden activations of the largest batch. Without a
    graph, a layer needs 2, its input and its output. With a graph, 4 stay alive beside the current one. The limit also
    allows the predictions twice, because a list of batches may be joined.
    """
    hidden = [layer for _ in range(4) for layer in (Linear(_HIDDEN, _HIDDEN, bias=False), Tanh())]
    model = randomize(Sequential(*hidden, Linear(_HIDDEN, 1, bias=False)).double(), rng)
    batches = [signed(rng, size, _HIDDEN) for size in _SIZES]
    calls: list[str] = []

    def note(_: Module, inputs: tuple[Any, ...]) -> None:
        calls.append(f"{len(inputs[0])} samples, {'recorded' if torch.is_grad_enabled() else 'not recorded'}")

    model.register_forward_pre_hook(note)
    with live_bytes() as live:
        predictions = evaluating(model, batches)
    torch.set_grad_enabled(True)
    limit = (4 * max(_SIZES) * _HIDDEN + 2 * sum(_SIZES)) * 8
    return AtMost(limit, live.peak, of=condense(predictions)), calls


@exercise(
    title=Text("Predictions without a graph", "Предсказания без графа"),
    kind="design",
    difficulty=2,
    aspects=[
        aspect(
            "predictions",
            1.5,
            en="One tensor comes back with the predictions for all samples in order, made in evaluation mode.",
            ru="Возвращается один тензор: предсказания для всех примеров по порядку, полученные в режиме оценки.",
        ),
        aspect(
            "kind",
            1,
            en="It is an ordinary constant: it does not require grad, and training may use it.",
            ru="Это обычная константа: она не требует градиента, и её можно использовать при обучении.",
        ),
        aspect(
            "afterwards",
            1,
            en="Afterwards the model is as it was (the mode of each module, flags, statistics, hooks), and so is the "
            "list; recording is on or off as before the call.",
            ru="После вызова модель прежняя (режим каждого модуля, флаги, статистики, хуки), список батчей тоже, а "
            "отслеживание включено или выключено, как и до вызова.",
        ),
        aspect(
            "peak",
            1,
            en="At no moment do more than 4 activations of one batch exist beside the predictions (bytes; 4 hidden "
            "layers, 3 batches).",
            ru="Не считая предсказаний, одновременно существует не больше 4 активаций одного батча (байты; 4 скрытых "
            "слоя, 3 батча).",
            measured=PEAK,
        ),
        works_on(
            0.5,
            after=(
                "predictions",
                "kind",
            ),
        ),
    ],
    rtol=1e-5,
    hints=[
        Text(
            "Two things are to be switched for a while. Which of them does `eval()` switch, and what puts it back?",
            "На время нужно переключить две вещи. Какую из них переключает `eval()` и что вернёт её в прежнее "
            "состояние?",
        ),
        Text(
            "`with torch.no_grad():` puts recording back by itself. The mode is an attribute, `training`, of each "
            "module: remember it module by module.",
            "Блок `with torch.no_grad():` сам восстанавливает прежний режим отслеживания. Режим — это атрибут "
            "`training` каждого модуля: запомните его для всех модулей.",
        ),
        Text.same(
            "def evaluate(model, batches):\n"
            "    modes = [(module, ...) for module in model.modules()]\n"
            "    model.eval()\n"
            "    with ...:\n"
            "        predictions = torch.cat([model(x) for x in batches])\n"
            "    for module, training in modes:\n"
            "        ...\n"
            "    return predictions"
        ),
    ],
    why=Why(
        Text(
            "Why does `eval()` not replace `no_grad()`, nor `no_grad()` replace `eval()`?",
            "Почему `eval()` не заменяет `no_grad()`, а `no_grad()` не заменяет `eval()`?",
        ),
        Text(
            "`eval()` changes what layers such as dropout compute, and the graph is recorded as before. "
            "`no_grad()` stops the recording and leaves the layers in their mode. Predictions need both.",
            "`eval()` меняет то, что вычисляют слои вроде dropout, а граф записывается по-прежнему. `no_grad()` "
            "прекращает запись, но режима слоёв не меняет. Для предсказаний нужно и то и другое.",
        ),
    ),
)
def evaluate(answer: Any, case: Case) -> dict[str, object]:
    batches = list(case.batches)
    predictions = answer.evaluate(case.model, case.batches)
    recording = torch.is_grad_enabled()
    with using_answer():
        same = [a is b for a, b in zip(case.batches, batches)]
        afterwards = _state_of(case.model) | {"len(batches)": len(case.batches), "batches[i] is old_batch": all(same)}
    torch.set_grad_enabled(False)
    again = answer.evaluate(case.model, batches)
    under_no_grad = torch.is_grad_enabled() if _same(again, predictions) else None
    torch.set_grad_enabled(True)
    marks: dict[str, object] | None = None
    if isinstance(predictions, Tensor):
        marks = {"requires_grad": predictions.requires_grad, "is_inference()": predictions.is_inference()}
    budget, calls = AtMost(limit=0, used=0), list[str]()
    if case.rng:  # measured on a model of its own, so one case is enough
        budget, calls = _measure_run(answer.evaluate, case.rng)
    return {
        "predictions": predictions,
        "kind": marks,
        "afterwards": afterwards | {"is_grad_enabled()": recording, "is_grad_enabled() under no_grad()": under_no_grad},
        "peak": budget,
        "calls": calls,
    }


class Noise(Module):
    """A layer that doubles its input, but only in training mode."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * x if self.training else x


@evaluate.weigh("peak", most=47 << 20)
def weigh(evaluating: Callable[[Any, list[Tensor]], object], rng: torch.Generator) -> object:
    """Evaluate three batches with 12 layers of 4 MB each."""
    width, rows = 32, 16 * 1024
    layers = [layer for _ in range(12) for layer in (Linear(width, width, bias=False), Tanh())]
    model = randomize(Sequential(*layers, Linear(width, 1, bias=False)).double(), rng)
    predictions = evaluating(model, [signed(rng, rows - 512 * place, width) for place in range(3)])
    torch.set_grad_enabled(True)
    return predictions


@evaluate.on_device
def on_device(answer: Any, case: Case) -> dict[str, object]:
    return {"predictions": answer.evaluate(case.model, case.batches[:2])}


@evaluate.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def model(dtype: torch.dtype = torch.float64, outputs: int = 2) -> Any:
        block = Sequential(Linear(4, 4), Dropout(0.5))
        layers = Linear(3, 4), BatchNorm1d(4), Noise(), block, Linear(4, outputs)
        return randomized(Sequential(*layers), rng, dtype)

    def batches(*sizes: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
        return [signed(rng, size, 3).to(dtype) for size in sizes]

    yield Case(model=model(torch.float32), batches=batches(4, 2, 3, dtype=torch.float32), rng=None)
    fine_tuned = model(outputs=1).eval()  # one output, which `squeeze()` would drop
    fine_tuned[4].train()
    fine_tuned[3][1].train()
    fine_tuned[0].weight.requires_grad_(False)
    fine_tuned[0].weight.grad = None
    yield Case(model=fine_tuned, batches=batches(2, 1), rng=another(rng))
