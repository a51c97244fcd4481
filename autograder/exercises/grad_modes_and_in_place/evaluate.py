"""Core exercise: evaluate a model without recording a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Dropout, Linear, Module, Sequential, Tanh

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.labels import PEAK
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost
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


_SAMPLES, _HIDDEN = 128, 8


def _measure_run(evaluating: Callable[[Any, list[Tensor]], object]) -> tuple[AtMost, list[str]]:
    """Return the peak bytes of an evaluation, with a limit, and a description of each call of the model.

    The description states batch size and grad mode. The limit is 4 hidden activations. Without a graph, a layer needs
    2, its input and its output. With a graph, 4 stay alive beside the current one. The limit also allows the
    predictions twice, because a list of batches may be joined.
    """
    hidden = [layer for _ in range(4) for layer in (Linear(_HIDDEN, _HIDDEN, bias=False), Tanh())]
    model = Sequential(*hidden, Linear(_HIDDEN, 1, bias=False)).double()
    batches = [torch.ones(_SAMPLES, _HIDDEN, dtype=torch.float64) for _ in range(3)]
    calls: list[str] = []

    def note(_: Module, inputs: tuple[Any, ...]) -> None:
        calls.append(f"{len(inputs[0])} samples, {'recorded' if torch.is_grad_enabled() else 'not recorded'}")

    model.register_forward_pre_hook(note)
    with live_bytes() as live:
        evaluating(model, batches)
    torch.set_grad_enabled(True)
    return AtMost(limit=(4 * _SAMPLES * _HIDDEN + 2 * 3 * _SAMPLES) * 8, used=live.peak), calls


@exercise(
    title=Text("Predictions without a graph", "Предсказания без графа"),
    kind="design",
    core=True,
    difficulty=2,
    minutes=14,
    aspects=[
        aspect(
            "predictions",
            2,
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
            ru="После вызова модель прежняя (режим каждого модуля, флаги, статистики, хуки), список тоже, а запись "
            "включена или выключена, как и до вызова.",
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
        Text(
            "Remember `module.training` for every module of `model.modules()`; `eval()`; collect `model(x)` under "
            "`no_grad`; put the modes back; `torch.cat`.",
            "Запомнить `module.training` каждого модуля из `model.modules()`; `eval()`; собрать `model(x)` внутри "
            "`no_grad`; вернуть режимы; `torch.cat`.",
        ),
    ],
)
def evaluate(answer: Any, case: Case) -> dict[str, object]:
    batches, many = list(case.batches), len(case.batches) == 3
    predictions = answer.evaluate(case.model, case.batches)
    recording = torch.is_grad_enabled()
    with using_answer():
        afterwards = _state_of(case.model) | {"len(batches)": len(case.batches)}
    torch.set_grad_enabled(False)
    answer.evaluate(case.model, batches)
    under_no_grad = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    marks: dict[str, object] | None = None
    if isinstance(predictions, Tensor):
        marks = {"requires_grad": predictions.requires_grad, "is_inference()": predictions.is_inference()}
    budget, calls = AtMost(limit=0, used=0), list[str]()
    if many:  # measured on a model of its own, so one case is enough
        budget, calls = _measure_run(answer.evaluate)
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


@evaluate.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    def model(dtype: torch.dtype = torch.float64) -> Any:
        block = Sequential(Linear(4, 4), Dropout(0.5))
        layers = Linear(3, 4), BatchNorm1d(4), Noise(), block, Linear(4, 2)
        return randomized(Sequential(*layers), rng, dtype)

    def batches(*sizes: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
        return [signed(rng, size, 3).to(dtype) for size in sizes]

    yield Case(model=model(torch.float32), batches=batches(4, 2, 3, dtype=torch.float32))
    fine_tuned = model().eval()
    fine_tuned[4].train()
    fine_tuned[3][1].train()
    fine_tuned[0].weight.requires_grad_(False)
    yield Case(model=fine_tuned, batches=batches(2, 5))


@contextmanager
def _restoring_modes(model: Module) -> Iterator[None]:
    """Restore the training mode of every module of `model` after the `with` block."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _predict(model: Module, batches: list[Tensor]) -> list[Tensor]:
    """Return the predictions for each batch, as a right answer computes them."""
    with _restoring_modes(model), torch.no_grad():
        model.eval()
        return [model(x) for x in batches]


@evaluate.mistake(
    en="A graph was built and detached afterwards. The flag is right, but each batch was recorded, and its activations "
    "were kept until its result was cut off.",
    ru="Граф построен, и только потом результат отсоединён. Флаг верный, но прямой проход записан, и активации каждого "
    "батча хранились, пока результат не отсоединили.",
)
def detaches_at_the_end(model: Module, batches: list[Tensor]) -> Tensor:
    with _restoring_modes(model):
        model.eval()
        return torch.cat([model(x) for x in batches]).detach()


@evaluate.mistake(
    en="All batches went through the model as one. The activations of a layer are then as large as all batches "
    "together.",
    ru="Все батчи пропущены через модель как один. Активации слоя занимают при этом столько, сколько нужно всем батчам "
    "вместе.",
)
def one_big_batch(model: Module, batches: list[Tensor]) -> Tensor:
    with _restoring_modes(model), torch.no_grad():
        model.eval()
        predictions: Tensor = model(torch.cat(batches))
        return predictions


@evaluate.mistake(
    en="The result requires grad: the forward pass was recorded, or a flag was set at the end. `eval()` does not "
    "switch recording off, and `no_grad()` acts only after `with`.",
    ru="Результат требует градиента: прямой проход записан или флаг поставлен в конце. Вызов `eval()` запись не "
    "выключает, а `no_grad()` действует только после `with`.",
)
def only_eval(model: Module, batches: list[Tensor]) -> Tensor:
    with _restoring_modes(model):
        model.eval()
        return torch.cat([model(x) for x in batches])


@evaluate.mistake(
    en="The model stayed in training mode. Dropout drew its mask, and batch norm used the batch and moved its "
    "statistics: `no_grad()` does not change that.",
    ru="Модель осталась в режиме обучения. Dropout выбирал случайную маску, а нормализация брала статистики самого "
    "батча и сдвигала накопленные: `no_grad()` этого не отменяет.",
)
def stays_in_training_mode(model: Module, batches: list[Tensor]) -> Tensor:
    with torch.no_grad():
        return torch.cat([model(x) for x in batches])


@evaluate.mistake(
    en="Only dropout and batch norm were put into evaluation mode. Any layer may read `training`: here one of its own "
    "kind does.",
    ru="В режим оценки переведены только dropout и нормализация по батчу. Но читать `training` может любой слой, и "
    "здесь такой слой есть.",
)
def switches_known_layers(model: Module, batches: list[Tensor]) -> Tensor:
    with _restoring_modes(model), torch.no_grad():
        for module in model.modules():
            if isinstance(module, (Dropout, BatchNorm1d)):
                module.eval()
        return torch.cat([model(x) for x in batches])


@evaluate.mistake(
    en="The model was left in evaluation mode. The training that goes on has no dropout any more.",
    ru="Модель осталась в режиме оценки. Дальше она обучается уже без dropout.",
)
def leaves_it_in_eval(model: Module, batches: list[Tensor]) -> Tensor:
    model.eval()
    with torch.no_grad():
        return torch.cat([model(x) for x in batches])


@evaluate.mistake(
    en="`train()` was called at the end, whatever the mode was before. It puts every module into training mode, also "
    "those that had been in evaluation mode.",
    ru="В конце вызван метод `train()`, каким бы режим ни был раньше. Он переводит в режим обучения все модули, в том "
    "числе те, что были в режиме оценки.",
)
def trains_everything(model: Module, batches: list[Tensor]) -> Tensor:
    predictions: Tensor = leaves_it_in_eval(model, batches)
    model.train()
    return predictions


@evaluate.mistake(
    en="The last call was `train(mode)` of the whole model. That sets every module inside, also the one that was in "
    "another mode.",
    ru="Последним вызван метод `train(mode)` всей модели. Этот вызов переводит в нужный режим все модули внутри, в том "
    "числе те, у которых режим был другим.",
)
def remembers_one_mode(model: Module, batches: list[Tensor]) -> Tensor:
    mode = model.training
    predictions: Tensor = leaves_it_in_eval(model, batches)
    model.train(mode)
    return predictions


@evaluate.mistake(
    en="The modes of the direct children were put back, each with `train(mode)`. That sets every module inside them as "
    "well.",
    ru="Режимы запомнены только у слоёв первого уровня и возвращены через `train(mode)`. Этот вызов переводит в тот же "
    "режим и все модули внутри них.",
)
def remembers_the_children(model: Module, batches: list[Tensor]) -> Tensor:
    mode, modes = model.training, [(child, child.training) for child in model.children()]
    predictions: Tensor = leaves_it_in_eval(model, batches)
    model.training = mode
    for child, training in modes:
        child.train(training)
    return predictions


@evaluate.mistake(
    en="`set_grad_enabled(False)` was called and never taken back. Everything after the call is not recorded, in the "
    "whole program.",
    ru="Вызов `set_grad_enabled(False)` не отменён. После него запись выключена во всей программе.",
)
def leaks_the_mode(model: Module, batches: list[Tensor]) -> Tensor:
    with _restoring_modes(model):
        model.eval()
        torch.set_grad_enabled(False)
        return torch.cat([model(x) for x in batches])


@evaluate.mistake(
    en="Recording was switched on at the end, whatever it was before. A caller inside `no_grad()` finds it on.",
    ru="В конце отслеживание включено, какой бы она ни была раньше. Если функцию вызвали внутри `no_grad()`, после "
    "вызова запись окажется включена.",
)
def switches_recording_on(model: Module, batches: list[Tensor]) -> Tensor:
    predictions: Tensor = leaks_the_mode(model, batches)
    torch.set_grad_enabled(True)
    return predictions


@evaluate.mistake(
    en="The predictions were made under `inference_mode()`. They are inference tensors, which training may neither "
    "save nor edit.",
    ru="Предсказания получены внутри `inference_mode()`. Это inference-тензоры: при обучении их нельзя ни сохранить, "
    "ни изменить.",
)
def infers(model: Module, batches: list[Tensor]) -> Tensor:
    with _restoring_modes(model), torch.inference_mode():
        model.eval()
        return torch.cat([model(x) for x in batches])


@evaluate.mistake(
    en="`requires_grad` of the weights was switched off and not put back. The model learns nothing afterwards.",
    ru="Флаг `requires_grad` у весов выключен и не включён обратно. После этого модель ничему не учится.",
)
def freezes_the_model(model: Module, batches: list[Tensor]) -> Tensor:
    with _restoring_modes(model):
        model.eval().requires_grad_(False)
        return torch.cat([model(x) for x in batches])


@evaluate.mistake(
    en="`requires_grad` of every weight is on at the end. One of them had been frozen before the call.",
    ru="В конце флаг `requires_grad` включён у всех весов, хотя один из них был заморожен ещё до вызова.",
)
def thaws_the_model(model: Module, batches: list[Tensor]) -> Tensor:
    predictions: Tensor = freezes_the_model(model, batches)
    model.requires_grad_(True)
    return predictions


@evaluate.mistake(
    en="The gradients of the model were cleared. Nothing here puts anything into `.grad`, and the training around the "
    "call may still need them.",
    ru="Градиенты модели обнулены. Предсказания ничего не добавляют в `.grad`, а обучению, посреди которого вызвана "
    "функция, эти градиенты могут быть ещё нужны.",
)
def clears_the_gradients(model: Module, batches: list[Tensor]) -> Tensor:
    model.zero_grad()
    return torch.cat(_predict(model, batches))


@evaluate.mistake(
    en="The list was emptied on the way, as by `pop()`. It is the caller's, who may still need the batches.",
    ru="Список батчей опустел, например из-за `pop()`. А тому, кто вызвал функцию, батчи могут быть ещё нужны.",
)
def uses_up_the_list(model: Module, batches: list[Tensor]) -> Tensor:
    predictions = torch.cat(_predict(model, batches))
    batches.clear()
    return predictions


@evaluate.mistake(
    en="A list came back, one tensor for each batch. One tensor with all samples was asked for.",
    ru="Возвращён список, по тензору на батч, а нужен один тензор со всеми примерами.",
)
def returns_a_list(model: Module, batches: list[Tensor]) -> list[Tensor]:
    return _predict(model, batches)


@evaluate.mistake(
    en="A NumPy array came back. Training cannot use it: a tensor was asked for.",
    ru="Возвращён массив NumPy. Для обучения он не годится: нужен тензор.",
)
def returns_an_array(model: Module, batches: list[Tensor]) -> Any:
    return torch.cat(_predict(model, batches)).numpy()


@evaluate.mistake(
    en="The predictions were written into a tensor of float32. They have the dtype of what `model` returns.",
    ru="Предсказания помещены в тензор float32. Их dtype должен быть тем же, что у выхода `model`.",
)
def makes_float32(model: Module, batches: list[Tensor]) -> Tensor:
    return torch.cat(_predict(model, batches)).float()


@evaluate.mistake(
    en="The predictions were stacked. `torch.stack` wants tensors of one shape and adds a dimension; here the batches "
    "have different sizes.",
    ru="Предсказания соединены функцией `torch.stack`. Ей нужны тензоры одной формы, и она добавляет измерение, а "
    "размеры батчей здесь разные.",
)
def stacks_the_batches(model: Module, batches: list[Tensor]) -> Tensor:
    return torch.stack(_predict(model, batches))


@evaluate.mistake(
    en="Only the predictions of the first batch came back: `return` ends the loop, too.",
    ru="Возвращены предсказания только для первого батча, например потому, что `return` стоит внутри цикла.",
)
def returns_the_first(model: Module, batches: list[Tensor]) -> Tensor:
    return _predict(model, batches)[0]


@evaluate.mistake(
    en="Only the predictions of the last batch came back.",
    ru="Возвращены предсказания только для последнего батча.",
)
def returns_the_last(model: Module, batches: list[Tensor]) -> Tensor:
    return _predict(model, batches)[-1]


@evaluate.mistake(
    en="Nothing was returned.",
    ru="Ничего не возвращено.",
)
def predicts_in_vain(model: Module, batches: list[Tensor]) -> None:
    _predict(model, batches)


@evaluate.mistake(
    en="Only dropout was put into evaluation mode. Batch norm reads `training` too, and so may any other layer.",
    ru="В режим оценки переведён только dropout. Но `training` читает и нормализация по батчу, и любой другой слой "
    "тоже может.",
)
def switches_dropout_only(model: Module, batches: list[Tensor]) -> Tensor:
    with _restoring_modes(model), torch.no_grad():
        for module in model.modules():
            if isinstance(module, Dropout):
                module.eval()
        return torch.cat([model(x) for x in batches])


@evaluate.mistake(
    en="The predictions were joined along the last dimension. The samples lie along the first.",
    ru="Предсказания соединены по последнему измерению. А примеры идут по первому.",
)
def joins_the_last_dimension(model: Module, batches: list[Tensor]) -> Tensor:
    return torch.cat(_predict(model, batches), dim=-1)
