"""Exercises of lesson 05, grad modes and in-place edits: probes, cases and mistakes (L11-L15, the seeds' own)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Dropout, Linear, Module, Parameter, Sequential, Sigmoid, Tanh
from torch.optim import SGD, Adam
from torch.utils._python_dispatch import TorchDispatchMode

from autograder.checking.exercise import EVERY_ENTRY, Case, aspect, exercise
from autograder.checking.inputs import leaf, signed, uniform
from autograder.checking.observe import using_answer
from autograder.checking.values import AtMost, entries
from autograder.language import Text
from autograder.measure import live_bytes, saved_bytes

# ---------------------------------------------------------------------------------------------- what the probes share


def redrawn(module: Module, rng: torch.Generator, dtype: torch.dtype = torch.float64) -> Any:
    """`module` in `dtype`, its weights and statistics drawn from `rng`, and in every `.grad` an old gradient."""
    module.to(dtype)
    parameters = list(module.parameters())
    sizes = [parameter.numel() for parameter in parameters]
    with torch.no_grad():
        for parameter, numbers in zip(parameters, (signed(rng, sum(sizes)) / 2).split(sizes)):
            parameter.copy_(numbers.view_as(parameter))
            parameter.grad = torch.full_like(parameter, 100.0)
        for buffer in module.buffers():
            if buffer.is_floating_point():
                buffer.copy_(uniform(rng, *buffer.shape))
    return module


def flags(model: Module, called: str = "model") -> dict[str, object]:
    """Which parameters of `model` require grad, and which of its modules are in training mode."""
    learns = {f"{name}.requires_grad": parameter.requires_grad for name, parameter in model.named_parameters()}
    trains = {f"{name or called}.training": module.training for name, module in model.named_modules()}
    return learns | trains


def numbers_of(model: Module) -> dict[str, Tensor]:
    """The parameters of `model` by name, as they are now."""
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def gradients_of(model: Module) -> dict[str, Tensor | None]:
    """What the parameters of `model` have in `.grad`, by name."""
    return {f"{name}.grad": parameter.grad for name, parameter in model.named_parameters()}


# ------------------------------------------------------------------------------------- core: what the modes let happen


@exercise(
    title=Text("What the modes let happen", "Что разрешает каждый режим"),
    kind="predict",
    core=True,
    minutes=10,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "Ask of each line: which mode is on at that moment, and does the line make a new result or use an old one?",
            "Спросите о каждой строке: какой режим включён в этот момент и что делает строка — создаёт новый "
            "результат или берёт старый?",
        ),
        Text(
            "`no_grad` stops the recording of new operations and nothing else. `inference_mode` also marks what is "
            "made inside. `eval` is a switch of layers.",
            "`no_grad` отключает запись новых операций в граф, и больше ничего. `inference_mode` вдобавок помечает "
            "всё, что создано внутри. `eval` переключает слои.",
        ),
        Text(
            "An inference tensor is refused where it would be saved for backward or edited: a product saves a "
            "factor when the other one requires grad, a sum saves nothing.",
            "Inference-тензор отвергают там, где его пришлось бы сохранить для обратного прохода или изменить: "
            "произведение сохраняет множитель, если другой требует градиента, сумма не сохраняет ничего.",
        ),
    ],
)
def predict_modes(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_modes)}


@predict_modes.mistake(
    en="It looks as if the line `torch.no_grad()` alone switched something off. It makes a context manager and throws "
    "it away; only `with` enters it.",
    ru="Похоже, вы считаете, что строка `torch.no_grad()` сама что-то выключает. На самом деле она создаёт менеджер "
    "контекста и тут же его теряет; действует он только после `with`.",
)
def a_bare_line_switches() -> dict[str, object]:
    return {"w * 2 after a line torch.no_grad()": False}


@predict_modes.mistake(
    en="It looks as if `no_grad()` took the flag away from `h`. `h` was recorded before the block; the mode is about "
    "operations that run inside.",
    ru="Похоже, вы считаете, что `no_grad()` снимает флаг с `h`. На самом деле `h` записан до блока, а режим касается "
    "операций, которые выполняются внутри.",
)
def old_results_lose_the_flag() -> dict[str, object]:
    return {"h under no_grad": False}


@predict_modes.mistake(
    en="It looks as if `no_grad()` overruled `requires_grad=True`. A factory function makes a leaf, records nothing, "
    "and sets the flag it was asked for.",
    ru="Похоже, вы считаете, что `no_grad()` сильнее, чем `requires_grad=True`. На самом деле функция, создающая "
    "тензор, создаёт лист, ничего не записывает в граф и ставит тот флаг, о котором её попросили.",
)
def factories_lose_the_flag() -> dict[str, object]:
    return {"torch.ones(2, requires_grad=True) under no_grad": False}


@predict_modes.mistake(
    en="It looks as if a backward pass was thought to need recording. It walks a graph that is there already, and "
    "records nothing itself.",
    ru="Похоже, вы считаете, что обратному проходу нужна включённая запись. На самом деле он идёт по уже готовому "
    "графу и сам ничего не записывает.",
)
def backward_is_refused() -> dict[str, object]:
    return {"loss.backward() under no_grad": "RuntimeError"}


@predict_modes.mistake(
    en="It looks as if the outer `no_grad()` won. The innermost of the two decides: `enable_grad()` switches recording "
    "on again.",
    ru="Похоже, вы считаете, что побеждает внешний `no_grad()`. На самом деле решает самый внутренний блок: "
    "`enable_grad()` снова включает запись.",
)
def no_grad_wins() -> dict[str, object]:
    return {"w * 2, enable_grad in no_grad": False}


@predict_modes.mistake(
    en="It looks as if `enable_grad()` was expected to end `inference_mode()`. It does not: inside that block nothing "
    "is recorded, whatever grad mode says.",
    ru="Похоже, вы считаете, что `enable_grad()` отменяет `inference_mode()`. На самом деле внутри этого блока ничего "
    "не записывается, каким бы ни был режим градиентов.",
)
def enable_grad_wins() -> dict[str, object]:
    return {"w * 2, enable_grad in inference_mode": True}


@predict_modes.mistake(
    en="It looks as if `eval()` switched recording off. It tells layers such as dropout how to behave; the graph is "
    "built as before.",
    ru="Похоже, вы считаете, что `eval()` выключает запись. На самом деле он говорит слоям вроде dropout, как себя "
    "вести; граф строится как прежде.",
)
def eval_switches_off() -> dict[str, object]:
    return {"net(x) after net.eval()": False}


@predict_modes.mistake(
    en="It looks as if every use of an inference tensor in training was expected to fail. Addition saves nothing for "
    "backward, so it passes; that is what makes the error come and go.",
    ru="Похоже, вы считаете, что любое использование inference-тензора при обучении — ошибка. На самом деле сложение "
    "ничего не сохраняет для обратного прохода, поэтому ошибка возникает не всегда.",
)
def inference_is_always_refused() -> dict[str, object]:
    return {"f + w": "RuntimeError"}


@predict_modes.mistake(
    en="It looks as if an inference tensor was taken for any constant. The product must save `f` for the gradient of "
    "`w`, and an inference tensor may not be saved.",
    ru="Похоже, вы считаете, что inference-тензор — обычная константа. На самом деле произведение должно сохранить `f` "
    "ради градиента `w`, а inference-тензор сохранять нельзя.",
)
def inference_is_a_constant() -> dict[str, object]:
    return {"f * w": "accepted"}


@predict_modes.mistake(
    en="It looks as if an inference tensor could be edited later. It has no version counter, so torch refuses "
    "in-place edits outside `inference_mode()`.",
    ru="Похоже, вы считаете, что inference-тензор можно потом изменить на месте. На самом деле у него нет счётчика "
    "версий, и вне `inference_mode()` torch такие изменения запрещает.",
)
def inference_can_be_edited() -> dict[str, object]:
    return {"f.add_(1)": "accepted"}


@predict_modes.mistake(
    en='It looks as if a flag was put where something is tried. There the answer is `"accepted"` or `"RuntimeError"`.',
    ru='Похоже, что флаг поставлен там, где что-то пробуют сделать. Там ответ — `"accepted"` или `"RuntimeError"`.',
)
def a_flag_for_an_attempt() -> dict[str, object]:
    return {"f + w": True}


@predict_modes.mistake(*predict_modes.mistakes["a_flag_for_an_attempt"].says)
def a_flag_for_backward() -> dict[str, object]:
    return {"loss.backward() under no_grad": True}


@predict_modes.mistake(*predict_modes.mistakes["a_flag_for_an_attempt"].says)
def a_flag_for_a_clone() -> dict[str, object]:
    return {"f.clone() * w": True}


@predict_modes.mistake(*predict_modes.mistakes["a_flag_for_an_attempt"].says)
def a_flag_for_a_product() -> dict[str, object]:
    return {"f * w": False}


@predict_modes.mistake(*predict_modes.mistakes["a_flag_for_an_attempt"].says)
def a_flag_for_an_edit() -> dict[str, object]:
    return {"f.add_(1)": False}


@predict_modes.mistake(
    en="It looks as if a clone stayed an inference tensor. A clone made outside of the mode is an ordinary tensor.",
    ru="Похоже, вы считаете, что копия остаётся inference-тензором. На самом деле копия, сделанная вне режима, — "
    "обычный тензор.",
)
def clones_stay_marked() -> dict[str, object]:
    return {"f.clone() * w": "RuntimeError"}


# --------------------------------------------------------------------------------------------------- core: evaluation


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
            ru="Не считая предсказаний, одновременно существует не больше 4 активаций одного батча (байты; скрытых "
            "слоёв в модели столько же, батчей 3).",
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
            "`with torch.no_grad():` сам возвращает прежнее состояние записи. Режим — это атрибут `training` модуля: "
            "запомните его для каждого модуля.",
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
    batches = list(case.batches)
    predictions = answer.evaluate(case.model, case.batches)
    recording = torch.is_grad_enabled()
    with using_answer():
        afterwards = state_of(case.model) | {"len(batches)": len(case.batches)}
    torch.set_grad_enabled(False)
    answer.evaluate(case.model, batches)
    under_no_grad = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    marks: dict[str, object] | None = None
    if isinstance(predictions, Tensor):
        marks = {"requires_grad": predictions.requires_grad, "is_inference()": predictions.is_inference()}
    budget, calls = _peak_of(answer.evaluate)
    return {
        "predictions": predictions,
        "kind": marks,
        "afterwards": afterwards | {"is_grad_enabled()": recording, "is_grad_enabled() under no_grad()": under_no_grad},
        "peak": budget,
        "calls": calls,
    }


def state_of(model: Module) -> dict[str, object]:
    """All that an evaluation could change in `model`: flags, statistics, weights and their gradients."""
    statistics = {name: buffer.clone() for name, buffer in model.named_buffers()}
    hooks = sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())
    return flags(model) | statistics | numbers_of(model) | gradients_of(model) | {"len(hooks)": hooks}


class Noise(Module):
    """A layer of nobody's library that reads `training`: it doubles in training mode."""

    def forward(self, x: Tensor) -> Tensor:
        return 2 * x if self.training else x


_SAMPLES, _HIDDEN = 128, 8


def _peak_of(evaluating: Callable[[Any, list[Tensor]], object]) -> tuple[AtMost, list[str]]:
    """Peak bytes beside the predictions, and for each call of the model its batch size and whether it was recorded.

    A layer needs its input and its output: 2 activations. A recorded batch keeps all 4, beside the one at work. The
    predictions themselves may exist twice, once in pieces. A copy of the model is small beside an activation.
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


@evaluate.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    def model(dtype: torch.dtype = torch.float64) -> Any:
        block = Sequential(Linear(4, 4), Dropout(0.5))
        layers = Linear(3, 4), BatchNorm1d(4), Noise(), block, Linear(4, 2)
        return redrawn(Sequential(*layers), rng, dtype)

    def batches(*sizes: int, dtype: torch.dtype = torch.float64) -> list[Tensor]:
        return [signed(rng, size, 3).to(dtype) for size in sizes]

    yield Case(model=model(torch.float32), batches=batches(4, 2, 3, dtype=torch.float32))
    fine_tuned = model().eval()
    fine_tuned[4].train()
    fine_tuned[3][1].train()
    fine_tuned[0].weight.requires_grad_(False)
    yield Case(model=fine_tuned, batches=batches(2, 5))


def modes_of(model: Module) -> list[tuple[Module, bool]]:
    """Each module of `model` with its mode."""
    return [(module, module.training) for module in model.modules()]


def put_back(modes: list[tuple[Module, bool]]) -> None:
    """The modes as they were."""
    for module, training in modes:
        module.training = training


def one_by_one(model: Module, batches: list[Tensor]) -> list[Tensor]:
    """The predictions for each batch, made as they should be."""
    modes = modes_of(model)
    model.eval()
    with torch.no_grad():
        predictions = [model(x) for x in batches]
    put_back(modes)
    return predictions


def joined(model: Module, batches: list[Tensor]) -> Tensor:
    """What the solution returns."""
    return torch.cat(one_by_one(model, batches))


@evaluate.mistake(
    en="It looks as if a graph was built and detached afterwards. The flag is right then, but each batch was recorded, "
    "and its activations were kept until its result was cut off.",
    ru="Похоже, что граф построен, а результат отсоединён потом. Флаг тогда верный, но прямой проход записан, и "
    "активации каждого батча хранились, пока результат не отсоединили.",
)
def detaches_at_the_end(model: Module, batches: list[Tensor]) -> Tensor:
    modes = modes_of(model)
    model.eval()
    predictions = torch.cat([model(x) for x in batches]).detach()
    put_back(modes)
    return predictions


@evaluate.mistake(
    en="It looks as if all batches went through the model as one. Then the activations of a layer are as large as all "
    "batches together.",
    ru="Похоже, что все батчи пропущены через модель как один. Тогда активации слоя занимают столько, сколько нужно "
    "всем батчам вместе.",
)
def one_big_batch(model: Module, batches: list[Tensor]) -> Tensor:
    modes = modes_of(model)
    model.eval()
    with torch.no_grad():
        predictions: Tensor = model(torch.cat(batches))
    put_back(modes)
    return predictions


@evaluate.mistake(
    en="It looks as if the predictions were recorded: `eval()` does not switch recording off, and `no_grad()` acts "
    "only after `with`. Or else the result was given the flag at the end.",
    ru="Похоже, что прямой проход записан: `eval()` запись не выключает, а `no_grad()` действует только после "
    "`with`. Либо флаг поставлен результату в конце.",
)
def only_eval(model: Module, batches: list[Tensor]) -> Tensor:
    modes = modes_of(model)
    model.eval()
    predictions = torch.cat([model(x) for x in batches])
    put_back(modes)
    return predictions


@evaluate.mistake(
    en="It looks as if the model stayed in training mode. Dropout drew its mask, and batch norm used the batch and "
    "moved its statistics: `no_grad()` does not change that.",
    ru="Похоже, что модель осталась в режиме обучения. Dropout выбирал случайную маску, нормализация брала "
    "статистики самого батча и сдвигала накопленные: `no_grad()` этого не отменяет.",
)
def stays_in_training_mode(model: Module, batches: list[Tensor]) -> Tensor:
    with torch.no_grad():
        return torch.cat([model(x) for x in batches])


@evaluate.mistake(
    en="It looks as if only dropout and batch norm were put into evaluation mode. Any layer may read `training`: "
    "here one of its own kind does.",
    ru="Похоже, что в режим оценки переведены только dropout и нормализация по батчу. Читать `training` может любой "
    "слой: здесь такой слой есть.",
)
def switches_known_layers(model: Module, batches: list[Tensor]) -> Tensor:
    modes = modes_of(model)
    for module in model.modules():
        if isinstance(module, (Dropout, BatchNorm1d)):
            module.eval()
    with torch.no_grad():
        predictions = torch.cat([model(x) for x in batches])
    put_back(modes)
    return predictions


@evaluate.mistake(
    en="It looks as if the model was left in evaluation mode. The training that goes on has no dropout any more.",
    ru="Похоже, что модель осталась в режиме оценки. Дальше она обучается уже без dropout.",
)
def leaves_it_in_eval(model: Module, batches: list[Tensor]) -> Tensor:
    model.eval()
    with torch.no_grad():
        return torch.cat([model(x) for x in batches])


@evaluate.mistake(
    en="It looks as if `train()` was called at the end, whatever the mode was before. It puts every module into "
    "training mode, also those that had been in evaluation mode.",
    ru="Похоже, что в конце вызван `train()`, каким бы режим ни был раньше. Он переводит в режим обучения все "
    "модули, в том числе те, что были в режиме оценки.",
)
def trains_everything(model: Module, batches: list[Tensor]) -> Tensor:
    predictions: Tensor = leaves_it_in_eval(model, batches)
    model.train()
    return predictions


@evaluate.mistake(
    en="It looks as if the mode of the whole model was remembered and put back with `train(mode)`. That sets every "
    "module inside, also the one that was in another mode.",
    ru="Похоже, что запомнен и возвращён через `train(mode)` один режим, режим всей модели. Этот вызов переводит в "
    "него все модули внутри, в том числе те, у которых режим был другим.",
)
def remembers_one_mode(model: Module, batches: list[Tensor]) -> Tensor:
    mode = model.training
    predictions: Tensor = leaves_it_in_eval(model, batches)
    model.train(mode)
    return predictions


@evaluate.mistake(
    en="It looks as if the modes of the direct children were put back, each with `train(mode)`. That sets every module "
    "inside them as well.",
    ru="Похоже, что режим возвращён через `train(mode)` только слоям первого уровня. Этот вызов переводит в тот же "
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
    en="It looks as if `set_grad_enabled(False)` was called and never taken back. Everything after the call is not "
    "recorded, in the whole program.",
    ru="Похоже, что вызван `set_grad_enabled(False)` и не отменён. Всё, что выполняется после, не записывается — во "
    "всей программе.",
)
def leaks_the_mode(model: Module, batches: list[Tensor]) -> Tensor:
    modes = modes_of(model)
    model.eval()
    torch.set_grad_enabled(False)
    predictions = torch.cat([model(x) for x in batches])
    put_back(modes)
    return predictions


@evaluate.mistake(
    en="It looks as if recording was switched on at the end, whatever it was before. A caller inside of `no_grad()` "
    "finds it on.",
    ru="Похоже, что в конце запись включена, какой бы она ни была раньше. Тот, кто вызвал функцию внутри "
    "`no_grad()`, обнаружит её включённой.",
)
def switches_recording_on(model: Module, batches: list[Tensor]) -> Tensor:
    predictions: Tensor = leaks_the_mode(model, batches)
    torch.set_grad_enabled(True)
    return predictions


@evaluate.mistake(
    en="It looks as if the predictions were made under `inference_mode()`. They are inference tensors, which training "
    "may neither save nor edit.",
    ru="Похоже, что предсказания получены внутри `inference_mode()`. Это inference-тензоры: при обучении их нельзя ни "
    "сохранить, ни изменить.",
)
def infers(model: Module, batches: list[Tensor]) -> Tensor:
    modes = modes_of(model)
    model.eval()
    with torch.inference_mode():
        predictions = torch.cat([model(x) for x in batches])
    put_back(modes)
    return predictions


@evaluate.mistake(
    en="It looks as if `requires_grad` of the weights was switched off and not put back. The model learns nothing "
    "afterwards.",
    ru="Похоже, что `requires_grad` весов выключен и не включён обратно. После этого модель ничему не учится.",
)
def freezes_the_model(model: Module, batches: list[Tensor]) -> Tensor:
    modes = modes_of(model)
    model.eval().requires_grad_(False)
    predictions = torch.cat([model(x) for x in batches])
    put_back(modes)
    return predictions


@evaluate.mistake(
    en="It looks as if `requires_grad` of every weight is on at the end. One of them had been frozen before the call.",
    ru="Похоже, что в конце `requires_grad` включён у всех весов. А один из них был заморожен ещё до вызова.",
)
def thaws_the_model(model: Module, batches: list[Tensor]) -> Tensor:
    predictions: Tensor = freezes_the_model(model, batches)
    model.requires_grad_(True)
    return predictions


@evaluate.mistake(
    en="It looks as if the gradients of the model were cleared. Nothing here puts anything into `.grad`, and the "
    "training around the call may still need them.",
    ru="Похоже, что градиенты модели обнулены. Предсказания в `.grad` ничего не пишут, а обучению, посреди которого "
    "вызвана функция, эти градиенты могут быть ещё нужны.",
)
def clears_the_gradients(model: Module, batches: list[Tensor]) -> Tensor:
    model.zero_grad()
    return joined(model, batches)


@evaluate.mistake(
    en="It looks as if the list was emptied on the way, as by `pop()`. It is the caller's, who may still need the "
    "batches.",
    ru="Похоже, что список по дороге опустел, например из-за `pop()`. А тому, кто вызвал функцию, батчи могут быть "
    "ещё нужны.",
)
def uses_up_the_list(model: Module, batches: list[Tensor]) -> Tensor:
    predictions = joined(model, batches)
    batches.clear()
    return predictions


@evaluate.mistake(
    en="It looks as if a list came back, one tensor for each batch. One tensor with all samples was asked for.",
    ru="Похоже, что возвращён список: по тензору на батч. А нужен один тензор со всеми примерами.",
)
def returns_a_list(model: Module, batches: list[Tensor]) -> list[Tensor]:
    return one_by_one(model, batches)


@evaluate.mistake(
    en="It looks as if an array of NumPy came back. Training cannot use it: a tensor was asked for.",
    ru="Похоже, что возвращён массив NumPy. При обучении его использовать нельзя: нужен тензор.",
)
def returns_an_array(model: Module, batches: list[Tensor]) -> Any:
    return joined(model, batches).numpy()


@evaluate.mistake(
    en="It looks as if the predictions were written into a tensor of float32. They have the dtype of what `model` "
    "returns.",
    ru="Похоже, что предсказания помещены в тензор float32. Их dtype должен быть тем же, что у выхода `model`.",
)
def makes_float32(model: Module, batches: list[Tensor]) -> Tensor:
    return joined(model, batches).float()


@evaluate.mistake(
    en="It looks as if the predictions were stacked. `torch.stack` wants tensors of one shape and adds a dimension; "
    "here the batches have different sizes.",
    ru="Похоже, что предсказания соединены через `torch.stack`. Ему нужны тензоры одной формы, и он добавляет "
    "измерение; а размеры батчей здесь разные.",
)
def stacks_the_batches(model: Module, batches: list[Tensor]) -> Tensor:
    predictions = one_by_one(model, batches)
    return torch.stack(predictions)


@evaluate.mistake(
    en="It looks as if only the predictions of the first batch came back: `return` ends the loop, too.",
    ru="Похоже, что возвращены предсказания только для первого батча, например потому, что `return` стоит внутри "
    "цикла.",
)
def returns_the_first(model: Module, batches: list[Tensor]) -> Tensor:
    return one_by_one(model, batches)[0]


@evaluate.mistake(
    en="It looks as if only the predictions of the last batch came back.",
    ru="Похоже, что возвращены предсказания только для последнего батча.",
)
def returns_the_last(model: Module, batches: list[Tensor]) -> Tensor:
    return one_by_one(model, batches)[-1]


@evaluate.mistake(
    en="It looks as if nothing was returned.",
    ru="Похоже, что ничего не возвращено.",
)
def predicts_in_vain(model: Module, batches: list[Tensor]) -> None:
    one_by_one(model, batches)


# ------------------------------------------------------------------------------------------- core: freezing the start


@exercise(
    title=Text("Find the bug: a freeze without effect", "Найдите ошибку: слои, которые не замёрзли"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[
        aspect(
            "flags",
            2,
            en="The parameters of the first `k` layers do not require grad; every other flag, `training` included, is "
            "as it was, and the parameters are the same objects.",
            ru="Параметры первых `k` слоёв не требуют градиента; все остальные флаги, включая `training`, прежние, а "
            "параметры — те же объекты.",
        ),
        aspect(
            "returned",
            1,
            en="What comes back is a list of the parameters that still learn, in the order of `model.parameters()`.",
            ru="Возвращается список параметров, которые по-прежнему обучаются, в порядке `model.parameters()`.",
        ),
        aspect(
            "step",
            1,
            en="A training step of an optimizer that holds *all* parameters leaves the frozen ones where they were and "
            "moves the others as before.",
            ru="Шаг оптимизатора, которому переданы *все* параметры, не сдвигает замороженные, а остальные сдвигает, "
            "как и прежде.",
        ),
        aspect(
            "saved",
            1,
            en="A forward pass keeps no activation of the frozen layers (bytes; outputs of 64 × 32 numbers of 4 "
            "hidden layers, 2 of them frozen).",
            ru="Прямой проход не хранит активаций замороженных слоёв (байты; 4 скрытых слоя с выходами по 64 × 32 "
            "чисел, 2 слоя заморожены).",
        ),
    ],
    hints=[
        Text(
            "After the call, print `requires_grad` of every parameter. Which object got the flag that the code sets?",
            "После вызова напечатайте `requires_grad` каждого параметра. Какой объект получил флаг, который ставит "
            "код?",
        ),
        Text(
            "A module is not a tensor: it has the method `requires_grad_`. And an optimizer moves whatever has "
            "something in `.grad`, frozen or not.",
            "Модуль — не тензор: у него есть метод `requires_grad_`. А оптимизатор сдвигает всё, у чего в `.grad` "
            "что-то есть, заморожено оно или нет.",
        ),
        Text(
            "For each of the first `k` layers, for each of its parameters: the flag, then `.grad = None`. Leave "
            "`training` alone. Then collect what still requires grad.",
            "Для каждого из первых `k` слоёв, для каждого его параметра: флаг, потом `.grad = None`. `training` не "
            "трогать. Затем собрать то, что ещё требует градиента.",
        ),
    ],
)
def freeze(answer: Any, case: Case) -> dict[str, object]:
    model = case.model
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    optimizer = SGD(model.parameters(), lr=0.1, weight_decay=0.1)
    returned = answer.freeze(model, case.k)
    with using_answer():
        known = [names.get(id(p), NO_PARAMETER) for p in returned] if isinstance(returned, (list, tuple)) else returned
        same = [id(parameter) for parameter in model.parameters()] == list(names)
        seen = {"flags": flags(model) | {"parameter is old_parameter": same}, "returned": known}
        loss = model(uniform(torch.Generator().manual_seed(1), 4, model[0].in_features).to(model[0].weight.dtype))
        if loss.requires_grad:
            loss.square().mean().backward()
        optimizer.step()
        return seen | {"step": numbers_of(model), "saved": _saved_behind(answer.freeze)}


_BATCH, _WIDTH = 64, 32
NO_PARAMETER = "no parameter of the model"


def _saved_behind(freezing: Callable[[Any, int], object]) -> AtMost:
    """Bytes that a forward pass saves when 2 of 4 hidden layers are frozen.

    Needed are the inputs of the two hidden layers that learn and of the last layer: 3 activations. Recording the frozen
    layers as well keeps 4. The limit is 1.25 times 3.
    """
    hidden = [layer for _ in range(4) for layer in (Linear(_WIDTH, _WIDTH), Tanh())]
    model = Sequential(*hidden, Linear(_WIDTH, 1)).double()
    x = torch.ones(_BATCH, _WIDTH, dtype=torch.float64)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    freezing(model, 4)
    with saved_bytes(known=[x, *model.parameters()]) as saved:
        out = model(x)
        held = saved.now
    del out
    return AtMost(limit=round(1.25 * 3 * _BATCH * _WIDTH * 8), used=held)


@freeze.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    plain = Sequential(Linear(3, 4), Tanh(), Linear(4, 2), Tanh(), Linear(2, 1))
    yield Case(model=redrawn(plain, rng, torch.float32), k=1)
    block = Sequential(Linear(4, 5), Tanh(), Linear(5, 4))
    nested = redrawn(Sequential(Linear(2, 4), block, Tanh(), Linear(4, 3), Dropout(0.5), Linear(3, 2)), rng)
    nested[1].eval()
    nested[4].eval()
    nested[5].bias.requires_grad_(False)
    nested[5].bias.grad = None
    yield Case(model=nested, k=3)


def learning(model: Module) -> list[Parameter]:
    """The parameters of `model` that require grad."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def frozen(layers: Module) -> None:
    """What the solution does to the layers."""
    for parameter in layers.parameters():
        parameter.requires_grad_(False)
        parameter.grad = None


@freeze.mistake(
    en="It looks as if the flag was set on the layers. A module takes any attribute, so `requires_grad` stays a name "
    "without effect; and `eval()` does not freeze, it is about dropout and batch norm.",
    ru="Похоже, что флаг поставлен слоям. Модулю можно присвоить любой атрибут, и от такого `requires_grad` ничего "
    "не меняется; а `eval()` не замораживает: он касается dropout и нормализации по батчу.",
)
def flags_the_layers(model: Sequential, k: int) -> list[Parameter]:
    for layer in model[:k].children():
        layer.requires_grad = False  # type: ignore[assignment]
        layer.eval()
    return learning(model)


@freeze.mistake(
    en="It looks as if nothing was frozen: no parameter of the first layers changed its flag. A flag set on a module, "
    "on `p.data` or on `p.detach()` is not the parameter's.",
    ru="Похоже, что ничего не заморожено: ни у одного параметра первых слоёв флаг не изменился. Флаг, поставленный "
    "модулю, `p.data` или `p.detach()`, — не флаг параметра.",
)
def flags_something_else(model: Sequential, k: int) -> list[Parameter]:
    for parameter in model[:k].parameters():
        parameter.detach().requires_grad = False
    return learning(model)


@freeze.mistake(
    en="It looks as if the layers behind the first `k` were frozen. Those in front still learn, and backward has to "
    "pass through all the rest to reach them.",
    ru="Похоже, что заморожены слои после первых `k`. Начальные по-прежнему обучаются, и обратному проходу до них "
    "нужно пройти через всё остальное.",
)
def freezes_the_other_end(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[k:])
    return learning(model)


@freeze.mistake(
    en="It looks as if the last `k` layers were frozen, not the first.",
    ru="Похоже, что заморожены последние `k` слоёв, а не первые.",
)
def freezes_the_last_k(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[-k:])
    return learning(model)


@freeze.mistake(
    en="It looks as if the whole model was frozen and the input of layer `k` asked to require grad. That gives the "
    "input a gradient; parameters learn by their own flags.",
    ru="Похоже, что заморожена вся модель, а флаг включён у входа слоя `k`. Градиент получит только этот вход: "
    "обучается ли параметр, решает его собственный флаг.",
)
def opens_the_entrance(model: Sequential, k: int) -> list[Parameter]:
    frozen(model)
    model[k].register_forward_pre_hook(lambda _, inputs: inputs[0].requires_grad_())
    return learning(model)


@freeze.mistake(
    en="It looks as if one layer too few was frozen. The first `k` layers are `model[0]` to `model[k - 1]`.",
    ru="Похоже, что заморожено на слой меньше. Первые `k` слоёв — это от `model[0]` до `model[k - 1]`.",
)
def one_too_few(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[: k - 1])
    return learning(model)


@freeze.mistake(
    en="It looks as if one layer too many was frozen. The first `k` layers are `model[0]` to `model[k - 1]`.",
    ru="Похоже, что заморожен лишний слой. Первые `k` слоёв — это от `model[0]` до `model[k - 1]`.",
)
def one_too_many(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[: k + 1])
    return learning(model)


@freeze.mistake(
    en="It looks as if `k` counted parameters, not layers. A linear layer has two of them, `Tanh` has none.",
    ru="Похоже, что `k` понято как число параметров, а не слоёв. У линейного слоя их два, у `Tanh` ни одного.",
)
def counts_parameters(model: Sequential, k: int) -> list[Parameter]:
    for parameter in list(model.parameters())[:k]:
        parameter.requires_grad_(False)
        parameter.grad = None
    return learning(model)


@freeze.mistake(
    en="It looks as if only the weights were frozen and the biases still learn.",
    ru="Похоже, что заморожены только веса, а смещения всё ещё обучаются.",
)
def forgets_the_biases(model: Sequential, k: int) -> list[Parameter]:
    for name, parameter in model[:k].named_parameters():
        if name.endswith("weight"):
            parameter.requires_grad_(False)
            parameter.grad = None
    return learning(model)


@freeze.mistake(
    en="It looks as if only the `weight` of layers that have one was frozen. The biases still learn, and so does all "
    "that lies inside a block of layers.",
    ru="Похоже, что заморожен только `weight` тех слоёв, у которых он есть. Смещения всё ещё обучаются, как и всё, что "
    "лежит внутри блока слоёв.",
)
def freezes_own_weights(model: Sequential, k: int) -> list[Parameter]:
    for layer in model[:k].children():
        if isinstance(layer, Linear):
            layer.weight.requires_grad_(False)
            layer.weight.grad = None
    return learning(model)


@freeze.mistake(
    en="It looks as if only layers with a `weight` of their own were frozen. A layer may be a block of layers: "
    "`parameters()` reaches into it.",
    ru="Похоже, что заморожены только слои с собственным `weight`. Слой может сам состоять из слоёв: `parameters()` "
    "заглядывает и внутрь.",
)
def skips_blocks(model: Sequential, k: int) -> list[Parameter]:
    for layer in model[:k].children():
        if isinstance(layer, Linear):
            frozen(Sequential(layer))
    return learning(model)


@freeze.mistake(
    en="It looks as if the flags of all other parameters were switched on. One of them was frozen before the call and "
    "has to stay so.",
    ru="Похоже, что у всех остальных параметров флаг включён. Один из них был заморожен ещё до вызова и должен таким "
    "остаться.",
)
def thaws_the_rest(model: Sequential, k: int) -> list[Parameter]:
    model.requires_grad_(True)
    frozen(model[:k])
    return learning(model)


@freeze.mistake(
    en="It looks as if the right parameters were frozen, and their layers put into evaluation mode as well. `training` "
    "was to stay as it is.",
    ru="Похоже, что заморожены верные параметры, но их слои ещё и переведены в режим оценки. `training` должен был "
    "остаться прежним.",
)
def leaves_layers_in_eval(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[:k].eval())
    return learning(model)


@freeze.mistake(
    en="It looks as if the right parameters were frozen, and the whole model put into evaluation mode as well. "
    "`training` was to stay as it is.",
    ru="Похоже, что заморожены верные параметры, но вся модель ещё и переведена в режим оценки. `training` должен был "
    "остаться прежним.",
)
def leaves_the_model_in_eval(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[:k])
    model.eval()
    return learning(model)


@freeze.mistake(
    en="It looks as if `train()` was called, on the model or on its later layers. It puts all of them into training "
    "mode, also those that had been in evaluation mode.",
    ru="Похоже, что для модели или для её последующих слоёв вызван `train()`. Он переводит в режим обучения все "
    "слои, в том числе те, что были в режиме оценки.",
)
def trains_the_model(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[:k])
    model.train()
    return learning(model)


@freeze.mistake(*freeze.mistakes["trains_the_model"].says)
def trains_the_rest(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[:k])
    model[k:].train()
    return learning(model)


@freeze.mistake(
    en="It looks as if the parameters were replaced by new ones. An optimizer and the caller still hold the old "
    "objects, which learn as before.",
    ru="Похоже, что параметры заменены новыми. У оптимизатора остались прежние объекты, и обучаются по-прежнему они.",
)
def replaces_parameters(model: Sequential, k: int) -> list[Parameter]:
    for layer in model[:k].modules():
        for name, parameter in list(layer.named_parameters(recurse=False)):
            setattr(layer, name, Parameter(parameter.detach().clone(), requires_grad=False))
    return learning(model)


@freeze.mistake(
    en="It looks as if all parameters came back, the frozen ones, too.",
    ru="Похоже, что возвращены все параметры, включая замороженные.",
)
def returns_everything(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[:k])
    return list(model.parameters())


@freeze.mistake(
    en="It looks as if the list was made before the layers were frozen: their parameters are still in it.",
    ru="Похоже, что список составлен до заморозки: параметры замороженных слоёв всё ещё в нём.",
)
def collects_too_early(model: Sequential, k: int) -> list[Parameter]:
    parameters = learning(model)
    frozen(model[:k])
    return parameters


@freeze.mistake(
    en="It looks as if the frozen parameters came back. Those that still learn were asked for.",
    ru="Похоже, что возвращены замороженные параметры. А нужны те, которые по-прежнему обучаются.",
)
def returns_the_frozen(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[:k])
    return list(model[:k].parameters())


@freeze.mistake(
    en="It looks as if a generator, a `filter` or a set came back, not a list. The first two are used up after one "
    "walk; a set has no order.",
    ru="Похоже, что возвращён не список, а генератор, `filter` или множество. По первым двум можно пройти лишь один "
    "раз, а у множества нет порядка.",
)
def returns_a_generator(model: Sequential, k: int) -> Iterator[Parameter]:
    frozen(model[:k])
    return (parameter for parameter in model.parameters() if parameter.requires_grad)


@freeze.mistake(*freeze.mistakes["returns_a_generator"].says)
def returns_a_filter(model: Sequential, k: int) -> Iterator[Parameter]:
    frozen(model[:k])
    return filter(lambda parameter: parameter.requires_grad, model.parameters())


@freeze.mistake(*freeze.mistakes["returns_a_generator"].says)
def returns_a_set(model: Sequential, k: int) -> set[Parameter]:
    frozen(model[:k])
    return set(learning(model))


@freeze.mistake(
    en="It looks as if the parameters of the later layers came back whatever their flag: one of them was frozen "
    "before.",
    ru="Похоже, что параметры последующих слоёв возвращены независимо от флага: один из них был заморожен раньше.",
)
def returns_the_rest(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[:k])
    return list(model[k:].parameters())


@freeze.mistake(
    en="It looks as if the layers were frozen and nothing was returned.",
    ru="Похоже, что слои заморожены, но ничего не возвращено.",
)
def returns_nothing(model: Sequential, k: int) -> None:
    frozen(model[:k])


@freeze.mistake(
    en="It looks as if the old gradients stayed in the frozen parameters. An optimizer that holds them still moves "
    "them by what is in `.grad`.",
    ru="Похоже, что в замороженных параметрах остались старые градиенты. Оптимизатор, которому они переданы, всё ещё "
    "сдвигает их на то, что лежит в `.grad`.",
)
def keeps_old_gradients(model: Sequential, k: int) -> list[Parameter]:
    model[:k].requires_grad_(False)
    return learning(model)


@freeze.mistake(
    en="It looks as if the old gradients became zeros. An optimizer skips a parameter without a gradient, not one "
    "whose gradient is zero: weight decay and momentum still move it.",
    ru="Похоже, что старые градиенты стали нулями. Оптимизатор пропускает параметр без градиента, а не с нулевым "
    "градиентом: затухание весов и накопленный импульс его всё равно сдвинут.",
)
def zeroes_old_gradients(model: Sequential, k: int) -> list[Parameter]:
    model[:k].requires_grad_(False).zero_grad(set_to_none=False)
    return learning(model)


@freeze.mistake(
    en="It looks as if the names of the parameters came back, or something else than the parameters themselves.",
    ru="Похоже, что возвращены имена параметров или что-то другое, а не сами параметры.",
)
def returns_names(model: Sequential, k: int) -> list[str]:
    frozen(model[:k])
    return [name for name, parameter in model.named_parameters() if parameter.requires_grad]


@freeze.mistake(
    en="It looks as if the gradients of the whole model were cleared. The layers that learn may be in the middle of "
    "accumulating theirs.",
    ru="Похоже, что обнулены градиенты всей модели. А слои, которые обучаются, могли как раз накапливать свои "
    "градиенты.",
)
def clears_every_gradient(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[:k])
    model.zero_grad()
    return learning(model)


@freeze.mistake(
    en="It looks as if the data was asked to require grad. Then the frozen layers are recorded again, for the gradient "
    "of the data, and keep their activations.",
    ru="Похоже, что флаг включён у самих данных. Тогда ради их градиента замороженные слои снова записываются и хранят "
    "свои активации.",
)
def tracks_the_data(model: Sequential, k: int) -> list[Parameter]:
    frozen(model[:k])
    model.register_forward_pre_hook(lambda _, inputs: inputs[0].requires_grad_())
    return learning(model)


# ----------------------------------------------------------------------------------- core: which edits break backward


@exercise(
    title=Text("Which edits break backward", "Какие изменения ломают обратный проход"),
    kind="predict",
    core=True,
    difficulty=2,
    minutes=12,
    aspects=[EVERY_ENTRY],
    hints=[
        Text(
            "For each line: what does the derivative of the first operation need, its input, its output or neither? Is "
            "it that tensor which is edited?",
            "Для каждой строки: что нужно, чтобы вычислить производную первой операции, — её вход, её выход или "
            "ничего? И этот ли тензор меняют?",
        ),
        Text(
            "`h ** 2` needs `h`, `h.sqrt()` needs its result, `h * k` needs `k`. A leaf, a view of a leaf and the "
            "parts of `unbind` may not be edited at all.",
            "`h ** 2` нужен `h`, `h.sqrt()` нужен результат, `h * k` нужен `k`. Лист, представление листа и части, "
            "которые дал `unbind`, менять нельзя вовсе.",
        ),
        Text(
            "An edit that is allowed is recorded: `y.mul_(3)` multiplies the gradient by 3, `y.add_(1)` by 1, and "
            "`y[0] = 7` leaves 0 at its place.",
            "Разрешённое изменение записывается: `y.mul_(3)` умножает градиент на 3, `y.add_(1)` — на 1, а `y[0] = "
            "7` даёт на этом месте 0.",
        ),
    ],
)
def predict_in_place(answer: Any, case: Case) -> dict[str, object]:
    return {"table": entries(answer.predict_in_place)}


@predict_in_place.mistake(
    en="It looks as if `h ** 2` did not need `h` any more. Its derivative is $2h$, with the `h` of the forward pass.",
    ru="Похоже, вы считаете, что `h ** 2` больше не нуждается в `h`. На самом деле производная равна $2h$, с тем `h`, "
    "что был в прямом проходе.",
)
def squares_need_nothing() -> dict[str, object]:
    return {"y = h ** 2; h.add_(1)": [2.0, 8.0]}


@predict_in_place.mistake(
    en="It looks as if backward took the edited `h`. It compares the version of what it saved and refuses to go on.",
    ru="Похоже, вы считаете, что обратный проход возьмёт изменённый `h`. На самом деле он сверяет версию "
    "сохранённого тензора и прерывается с ошибкой.",
)
def takes_the_new_numbers() -> dict[str, object]:
    return {"y = h ** 2; h.add_(1)": [4.0, 10.0]}


@predict_in_place.mistake(
    en="It looks as if every edit of a result was expected to fail. `h ** 2` saved `h`, not `y`: the edit of `y` is "
    "recorded, and the gradient is $3 \\cdot 2x$.",
    ru="Похоже, вы считаете, что менять результат нельзя никогда. На самом деле `h ** 2` сохранил `h`, а не `y`: "
    "изменение `y` записано, и градиент равен $3 \\cdot 2x$.",
)
def squares_need_their_result() -> dict[str, object]:
    return {"y = h ** 2; y.mul_(3)": "RuntimeError"}


@predict_in_place.mistake(
    en="It looks as if the edit `y.mul_(3)` was not recorded. An in-place operation is an operation like any other: "
    "its derivative, 3, is a factor of the gradient.",
    ru="Похоже, вы считаете, что изменение `y.mul_(3)` не записано. На самом деле это такая же операция, как все: её "
    "производная, 3, входит в градиент множителем.",
)
def edits_are_not_recorded() -> dict[str, object]:
    return {"y = h ** 2; y.mul_(3)": [2.0, 8.0]}


@predict_in_place.mistake(
    en="It looks as if `sqrt` was expected to need its input. It keeps its result: the derivative is $1/(2y)$. So `h` "
    "may be edited.",
    ru="Похоже, вы считаете, что `sqrt` нужен вход. На самом деле он хранит результат: производная равна $1/(2y)$. "
    "Поэтому `h` можно менять.",
)
def roots_need_their_input() -> dict[str, object]:
    return {"y = h.sqrt(); h.add_(1)": "RuntimeError"}


@predict_in_place.mistake(
    en="It looks as if adding 1 to the result of `sqrt` was harmless, since the derivative of the addition is 1. But "
    "`sqrt` kept that very result for its own derivative.",
    ru="Похоже, вы считаете, что прибавить 1 к результату `sqrt` безвредно, ведь производная сложения равна 1. На "
    "самом деле `sqrt` хранит этот самый результат для своей производной.",
)
def roots_do_not_keep_their_result() -> dict[str, object]:
    return {"y = h.sqrt(); y.add_(1)": [0.5, 0.25]}


@predict_in_place.mistake(
    en="It looks as if multiplication by a number was expected to save `h`. The derivative is the number; no tensor is "
    "saved.",
    ru="Похоже, вы считаете, что умножение на число сохраняет `h`. На самом деле производная — это число; ни один "
    "тензор не сохраняется.",
)
def numbers_save_the_tensor() -> dict[str, object]:
    return {"y = h * 3; h.add_(1)": "RuntimeError"}


@predict_in_place.mistake(
    en="It looks as if a product saved both factors always. `h` would be needed for the gradient of `k`, and `k` is a "
    "constant.",
    ru="Похоже, вы считаете, что произведение всегда сохраняет оба множителя. На самом деле `h` понадобился бы для "
    "градиента `k`, а `k` — константа.",
)
def products_save_both() -> dict[str, object]:
    return {"y = h * k; h.add_(1)": "RuntimeError"}


@predict_in_place.mistake(
    en="It looks as if an edit of a constant could do no harm. The derivative of `h * k` with respect to `h` is `k`: "
    "it is the constant that was saved.",
    ru="Похоже, вы считаете, что изменение константы безвредно. На самом деле производная `h * k` по `h` равна `k`: "
    "сохранена как раз константа.",
)
def constants_are_harmless() -> dict[str, object]:
    return {"y = h * k; k.add_(1)": [3.0, 5.0]}


@predict_in_place.mistake(
    en="It looks as if backward took the edited `k`. `k` was saved at version 0 and is at version 1: an error.",
    ru="Похоже, вы считаете, что обратный проход возьмёт изменённый `k`. На самом деле `k` сохранён с версией 0, а "
    "теперь у него версия 1: это ошибка.",
)
def takes_the_new_constant() -> dict[str, object]:
    return {"y = h * k; k.add_(1)": [4.0, 6.0]}


@predict_in_place.mistake(
    en="It looks as if `relu_()` broke its own derivative. It needs the result to see where it is positive, and the "
    "result is what `h` now holds.",
    ru="Похоже, вы считаете, что `relu_()` портит собственную производную. На самом деле ей нужно знать, где "
    "положителен результат, а он теперь и лежит в `h`.",
)
def one_relu_breaks() -> dict[str, object]:
    return {"y = h.relu_()": "RuntimeError"}


@predict_in_place.mistake(
    en="It looks as if the second `relu_()` was taken for harmless, since it changes no number. The counter counts "
    "edits, not differences, and the first one had saved its result.",
    ru="Похоже, вы считаете, что второй `relu_()` безвреден, ведь числа те же. На самом деле счётчик считает "
    "изменения, а не разницу, а первый вызов свой результат сохранил.",
)
def the_second_relu_is_harmless() -> dict[str, object]:
    return {"y = h.relu_().relu_()": [1.0, 1.0]}


@predict_in_place.mistake(
    en="It looks as if an edit through a view was expected to fail because others share the memory. Autograd follows "
    "it: `h` gets a new node, and the gradient is exact.",
    ru="Похоже, вы считаете, что изменение через представление запрещено, раз память общая. На самом деле autograd за "
    "ним следит: `h` получает новый узел, и градиент точен.",
)
def views_may_not_be_edited() -> dict[str, object]:
    return {"y = h; h[0].mul_(10)": "RuntimeError"}


@predict_in_place.mistake(
    en="It looks as if `h` did not notice the edit of its view. The numbers changed, and so did the derivative: 10 at "
    "the edited place.",
    ru="Похоже, вы считаете, что `h` не заметит изменения своего представления. На самом деле изменились и числа, и "
    "производная: на этом месте 10.",
)
def the_base_does_not_notice() -> dict[str, object]:
    return {"y = h; h[0].mul_(10)": [1.0, 1.0]}


@predict_in_place.mistake(
    en="It looks as if the parts of `unbind` were taken for ordinary views. A function that returns several views at "
    "once does not let them be edited.",
    ru="Похоже, вы считаете, что части, которые дал `unbind`, — обычные представления. На самом деле функция, "
    "возвращающая сразу несколько представлений, не позволяет их менять.",
)
def unbind_is_a_view() -> dict[str, object]:
    return {"y = h; h.unbind()[0].mul_(10)": [10.0, 1.0]}


@predict_in_place.mistake(
    en="It looks as if a leaf that requires grad could be edited while operations are recorded. Then it would be a "
    "result, and nobody would hold the leaf: torch refuses.",
    ru="Похоже, вы считаете, что лист, который требует градиента, можно менять при включённой записи. На самом деле "
    "torch это запрещает: лист стал бы нелистовым тензором.",
)
def leaves_may_be_edited() -> dict[str, object]:
    return {"x.add_(1); y = x * 2": [2.0, 2.0]}


@predict_in_place.mistake(
    en="It looks as if a detour through a view made the edit of a leaf legal. A view of a leaf is refused as the leaf "
    "itself is.",
    ru="Похоже, вы считаете, что через представление лист менять можно. На самом деле менять представление листа "
    "запрещено так же, как и сам лист.",
)
def views_of_leaves_may_be_edited() -> dict[str, object]:
    return {"x[0].mul_(10); y = x * 2": [20.0, 2.0]}


@predict_in_place.mistake(*predict_in_place.mistakes["views_of_leaves_may_be_edited"].says)
def views_of_leaves_have_no_effect() -> dict[str, object]:
    return {"x[0].mul_(10); y = x * 2": [2.0, 2.0]}


@predict_in_place.mistake(
    en="It looks as if the constant 7 let the gradient through. The old `y[0]` has no influence on the result any "
    "more: 0.",
    ru="Похоже, вы считаете, что константа 7 пропускает градиент. На самом деле прежний `y[0]` на результат больше "
    "не влияет, и градиент там равен 0.",
)
def writing_keeps_the_gradient() -> dict[str, object]:
    return {"y = h * 3; y[0] = 7": [3.0, 3.0]}


@predict_in_place.mistake(
    en="It looks as if the number 7 was taken for the gradient at its place. 7 is a constant there: the gradient of "
    "`x` is 0.",
    ru="Похоже, вы считаете, что градиент на изменённом месте равен 7. На самом деле 7 — константа: градиент `x` на "
    "этом месте равен 0.",
)
def writing_gives_the_number() -> dict[str, object]:
    return {"y = h * 3; y[0] = 7": [7.0, 3.0]}


@predict_in_place.mistake(
    en="It looks as if writing into a part of a result was expected to fail. Multiplication by a number saved nothing, "
    "so the edit is recorded and the rest goes on.",
    ru="Похоже, вы считаете, что менять часть результата нельзя. На самом деле умножение на число ничего не "
    "сохранило: изменение записано, а остальное вычисляется, как обычно.",
)
def writing_is_refused() -> dict[str, object]:
    return {"y = h * 3; y[0] = 7": "RuntimeError"}


# ------------------------------------------------------------------------------------- core: a result edited in place


@exercise(
    title=Text("Find the bug: a recurrence written into one tensor", "Найдите ошибку: рекуррентность в одном тензоре"),
    kind="find the bug",
    core=True,
    difficulty=2,
    minutes=10,
    shows_graph=True,
    aspects=[
        aspect(
            "y",
            1,
            en="`y` holds the averages.",
            ru="В `y` лежат средние.",
        ),
        aspect(
            "gradients",
            2,
            en="Backward from `y` runs, the gradients of `x` and of `a` are those of the whole recurrence, and "
            "`smooth` itself puts nothing into `.grad`.",
            ru="Обратный проход из `y` выполняется, градиенты `x` и `a` верны для всей рекуррентности, а сама "
            "`smooth` в `.grad` ничего не кладёт.",
        ),
        aspect(
            "saved",
            1,
            en="The graph keeps at most 4 tensors of the size of `x` (bytes; for 32 rows of 64 numbers).",
            ru="Граф хранит не больше 4 тензоров размером с `x` (байты; для 32 строк по 64 числа).",
            after=("y", "gradients"),
        ),
    ],
    rtol=1e-5,
    hints=[
        Text(
            "Which operation needs `y[t - 1]` later, and for whose gradient? What happens to its memory in between?",
            "Какой операции позже понадобится `y[t - 1]` и ради чьего градиента? Что до этого происходит с памятью "
            "этой строки?",
        ),
        Text(
            "All rows of `y` share one memory and one version counter. Rows with memory of their own would not disturb "
            "each other.",
            "У всех строк `y` общая память и общий счётчик версий. Строки с собственной памятью друг другу не мешали "
            "бы.",
        ),
        Text(
            "Keep the rows in a list; each new one is computed from the last one in the list. `torch.stack` at the "
            "end.",
            "Держать строки в списке; каждая новая вычисляется из последней в списке. В конце `torch.stack`.",
        ),
    ],
)
def smooth(answer: Any, case: Case) -> dict[str, object]:
    y = answer.smooth(case.x, case.a)
    seen: dict[str, object] = {"y": y}
    left = {"x.grad": case.x.grad, "a.grad": case.a.grad}
    with using_answer():
        if isinstance(y, Tensor) and y.shape == case.x.shape:
            direction = uniform(torch.Generator().manual_seed(2), *case.x.shape).to(case.x.dtype)
            found: Sequence[Tensor | None] = (None, None)
            try:
                if y.requires_grad:
                    found = torch.autograd.grad((y * direction).sum(), [case.x, case.a], materialize_grads=True)
            except RuntimeError as error:
                refused = EDITED if EDITED in str(error) else str(error)
                return seen | {"gradients": dict.fromkeys(("x", "a"), refused) | left, "error": wording(error)}
            seen |= {"gradients": dict(zip(("x", "a"), found)) | left, "saved": _saved_by(answer.smooth)}
    return seen


EDITED = "has been modified by an inplace operation"


def wording(error: Exception) -> str:
    """The text of an error without its numbers."""
    return re.sub(r"\d+", "#", str(error))


def _saved_by(smoothing: Callable[[Tensor, Tensor], Tensor]) -> AtMost:
    """Bytes saved for 32 rows of 64 numbers. Needed is every row once; all rows at each step are 32 times `x`."""
    x = torch.ones(32, 64, dtype=torch.float64, requires_grad=True)
    a = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    with saved_bytes(known=[x, a]) as saved:
        y = smoothing(x, a)
        held = saved.now
    del y
    return AtMost(limit=4 * x.numel() * 8, used=held)


@smooth.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for shape, dtype in [((5, 3), torch.float64), ((4, 2), torch.float32), ((1, 4), torch.float64)]:
        x = uniform(rng, *shape).to(dtype).requires_grad_()
        a = (leaf(rng).detach() / 3).to(dtype).requires_grad_()
        yield Case(x=x, a=a)


def in_rows(x: Tensor, a: Tensor | float, seen: Callable[[Tensor], Tensor] = lambda row: row) -> Tensor:
    """The recurrence with rows of their own; each step uses `seen(previous row)`."""
    rows = [x[0]]
    for row in x[1:]:
        rows.append(a * seen(rows[-1]) + (1 - a) * row)
    return torch.stack(rows)


@smooth.mistake(
    en="It looks as if the rows are still written into one tensor, perhaps a copy of `x`, with another spelling. A "
    "row is a view: the same memory, the same version counter, and the next write moves it.",
    ru="Похоже, что строки по-прежнему помещаются в один тензор, пусть это и копия `x` или код выглядит иначе. "
    "Строка — это представление: та же память, тот же счётчик версий, и следующее изменение его увеличивает.",
)
def names_the_row(x: Tensor, a: Tensor) -> Tensor:
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        previous = y[t - 1]
        y[t] = a * previous + (1 - a) * x[t]
    return y


@smooth.mistake(
    en="It looks as if the previous row was detached. What `detach()` returns shares memory and version counter with "
    "`y`: the error stays, and without it a part of the gradient would be gone.",
    ru="Похоже, что предыдущая строка отсоединена. У того, что вернул `detach()`, память и счётчик версий общие с `y`: "
    "ошибка остаётся, а без неё пропала бы часть градиента.",
)
def detaches_the_row(x: Tensor, a: Tensor) -> Tensor:
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = a * y[t - 1].detach() + (1 - a) * x[t]
    return y


@smooth.mistake(
    en="It looks as if a leaf is written into: `x` itself, or a `y` that was given `requires_grad`.",
    ru="Похоже, что изменён лист: сам `x` или `y`, у которого включён `requires_grad`.",
)
def makes_a_leaf(x: Tensor, a: Tensor) -> Tensor:
    y = torch.empty_like(x).requires_grad_()
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = a * y[t - 1] + (1 - a) * x[t]
    return y


@smooth.mistake(
    en="It looks as if the rows are written into the memory of `x`: `detach()` and `.data` copy nothing.",
    ru="Похоже, что строки помещаются в память самого `x`: `detach()` и `.data` ничего не копируют.",
)
def writes_into_x(x: Tensor, a: Tensor) -> Tensor:
    y = x.detach()
    for t in range(1, len(x)):
        y[t] = a * y[t - 1] + (1 - a) * x[t]
    return y


@smooth.mistake(
    en="It looks as if rows are written past the graph (`.data` or `no_grad()`). The error is gone, but to the graph "
    "those rows are constants.",
    ru="Похоже, что строки изменены в обход графа (через `.data` или внутри `no_grad()`). Ошибки нет, но для графа "
    "такие строки — константы.",
)
def writes_into_data(x: Tensor, a: Tensor) -> Tensor:
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y.data[t] = a * y[t - 1] + (1 - a) * x[t]
    return y


@smooth.mistake(
    en="It looks as if `y` is copied before it is written. The row that was saved is then one of the new copy, and the "
    "next line writes into that copy.",
    ru="Похоже, что `y` копируется до изменения. Тогда сохранена строка новой копии, и тут же меняется эта самая "
    "копия.",
)
def copies_before(x: Tensor, a: Tensor) -> Tensor:
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y = y.clone()
        y[t] = a * y[t - 1] + (1 - a) * x[t]
    return y


@smooth.mistake(
    en="It looks as if all rows written so far are copied at each step. Nothing is overwritten then, but the graph "
    "keeps a copy of the whole of `y` for every row.",
    ru="Похоже, что на каждом шаге копируются все прежние строки. Сохранённое тогда не меняется, но граф хранит по "
    "копии всего `y` на каждую строку.",
)
def copies_everything(x: Tensor, a: Tensor) -> Tensor:
    y = torch.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = a * y.clone()[t - 1] + (1 - a) * x[t]
    return y


@smooth.mistake(
    en="It looks as if the previous row was cut off from the graph, by `detach()` or `.data`. The error is gone, and "
    "so is the part of the gradient that comes through earlier rows.",
    ru="Похоже, что предыдущая строка отсоединена от графа через `detach()` или `.data`. Ошибки больше нет, но нет и "
    "той части градиента, которая идёт через предыдущие строки.",
)
def cuts_the_chain(x: Tensor, a: Tensor) -> Tensor:
    return in_rows(x, a, Tensor.detach)


@smooth.mistake(
    en="It looks as if the rows were written unseen by autograd, under `no_grad()` or into `y.data`. What comes back "
    "is a constant.",
    ru="Похоже, что строки получены в обход графа: внутри `no_grad()` или через `y.data`. Возвращается константа.",
)
def writes_unseen(x: Tensor, a: Tensor) -> Tensor:
    with torch.no_grad():
        return in_rows(x, a)


@smooth.mistake(
    en="It looks as if the averages have no history, and `y` was given the flag at the end. It is a leaf then: `x` and "
    "`a` get nothing.",
    ru="Похоже, что у средних нет истории, а флаг у `y` включён в конце. Тогда это лист: `x` и `a` не получают ничего.",
)
def forces_the_flag(x: Tensor, a: Tensor) -> Tensor:
    y = in_rows(x.detach(), a.detach())
    y.requires_grad_()
    return y


@smooth.mistake(
    en="It looks as if `a` became a number on the way, as by `a.item()`. The error is gone because nobody needs the "
    "previous row any more; and `a` does not learn.",
    ru="Похоже, что `a` по дороге стал числом, например через `a.item()`. Ошибка исчезла, потому что предыдущая строка "
    "больше никому не нужна; но и `a` не обучается.",
)
def makes_a_number(x: Tensor, a: Tensor) -> Tensor:
    return in_rows(x, a.item())


@smooth.mistake(
    en="It looks as if the graph is good only inside `allow_mutation_on_saved_tensors()`, and `y` is returned to the "
    "outside. There backward finds the saved rows gone.",
    ru="Похоже, что граф годится только внутри `allow_mutation_on_saved_tensors()`, а `y` возвращают наружу. Там "
    "обратный проход сохранённых строк уже не найдёт.",
)
def allows_the_edit_inside(x: Tensor, a: Tensor) -> Tensor:
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y: Tensor = names_the_row(x, a)
    return y


@smooth.mistake(
    en="It looks as if a backward pass was run inside `smooth`. It filled `.grad` of `x` and `a`; that is for the "
    "caller to ask for.",
    ru="Похоже, что обратный проход выполнен внутри `smooth`. Он заполнил `.grad` у `x` и `a`; а это дело того, кто "
    "вызвал функцию.",
)
def runs_backward(x: Tensor, a: Tensor) -> Tensor:
    y = in_rows(x, a)
    y.sum().backward(retain_graph=True)
    return y


@smooth.mistake(
    en="It looks as if the averages are float32 whatever `x` is: so is a new tensor made from a shape or from numbers. "
    "`empty_like(x)` and `x.new_zeros(...)` take the dtype of `x`.",
    ru="Похоже, что средние всегда float32, каким бы ни был `x`: такой dtype у тензора, созданного по форме или из "
    "чисел. `empty_like(x)` и `x.new_zeros(...)` берут dtype у `x`.",
)
def makes_single_precision(x: Tensor, a: Tensor) -> Tensor:
    return in_rows(x, a).float()


@smooth.mistake(
    en="It looks as if the averages are float64 whatever `x` is. NumPy and `.double()` make such numbers.",
    ru="Похоже, что средние всегда float64, каким бы ни был `x`. Такие числа дают NumPy и `.double()`.",
)
def makes_double_precision(x: Tensor, a: Tensor) -> Tensor:
    return in_rows(x, a).double()


@smooth.mistake(
    en="It looks as if the rows were joined end to end: `torch.cat` makes no new dimension.",
    ru="Похоже, что строки соединены в одну длинную: `torch.cat` не создаёт нового измерения.",
)
def joins_end_to_end(x: Tensor, a: Tensor) -> Tensor:
    return in_rows(x, a).flatten()


@smooth.mistake(
    en="It looks as if the two weights were exchanged: `a` belongs to the previous average.",
    ru="Похоже, что веса перепутаны: `a` относится к предыдущему среднему.",
)
def exchanges_the_weights(x: Tensor, a: Tensor) -> Tensor:
    return in_rows(x, 1 - a)


@smooth.mistake(
    en="It looks as if the average began at zero. The first row is that of `x`.",
    ru="Похоже, что среднее начинается с нуля. Первая строка — это первая строка `x`.",
)
def begins_at_zero(x: Tensor, a: Tensor) -> Tensor:
    return in_rows(torch.cat([torch.zeros_like(x[:1]), x]), a)[1:]


@smooth.mistake(
    en="It looks as if each row was mixed with the row of `x` before it, not with the average before it.",
    ru="Похоже, что каждая строка смешана с предыдущей строкой `x`, а не с предыдущим средним.",
)
def mixes_the_data(x: Tensor, a: Tensor) -> Tensor:
    return torch.cat([x[:1], a * x[:-1] + (1 - a) * x[1:]])


@smooth.mistake(
    en="It looks as if only the last average came back.",
    ru="Похоже, что возвращено только последнее среднее.",
)
def returns_the_last_row(x: Tensor, a: Tensor) -> Tensor:
    return in_rows(x, a)[-1]


@smooth.mistake(
    en="It looks as if the list of the rows came back. One tensor with the shape of `x` was asked for.",
    ru="Похоже, что возвращён список строк. А нужен один тензор той же формы, что и `x`.",
)
def returns_rows(x: Tensor, a: Tensor) -> list[Tensor]:
    return list(in_rows(x, a))


@smooth.mistake(
    en="It looks as if the averages were computed and not returned.",
    ru="Похоже, что средние вычислены, но не возвращены.",
)
def smooths_in_vain(x: Tensor, a: Tensor) -> None:
    in_rows(x, a)


# --------------------------------------------------------------------------- core: weights that move before backward


@exercise(
    title=Text("Find the bug: a step too early", "Найдите ошибку: слишком ранний шаг"),
    kind="find the bug",
    core=True,
    difficulty=3,
    minutes=16,
    aspects=[
        aspect(
            "D",
            2,
            en="`opt_D` makes one step, with the gradient of `d_loss` at the weights from before the call; the flags "
            "and modes of `D` stay.",
            ru="`opt_D` делает один шаг по градиенту `d_loss` при весах, которые были до вызова; флаги и режимы `D` "
            "прежние.",
        ),
        aspect(
            "G",
            2,
            en="`opt_G` makes one step, with the gradient of `g_loss` at the weights from before the call; the flags "
            "and modes of `G` stay.",
            ru="`opt_G` делает один шаг по градиенту `g_loss` при весах, которые были до вызова; флаги и режимы `G` "
            "прежние.",
        ),
    ],
    rtol=1e-5,
    hints=[
        Text(
            "Which weights does the backward pass of `g_loss` go through, and which line has changed them by then?",
            "Через какие веса идёт обратный проход из `g_loss` и какая строка кода к этому времени их изменила?",
        ),
        Text(
            "Moving a step down is half of it. Whose `.grad` do `d_loss` and `g_loss` write into besides? Compare "
            "`.grad` after one backward pass and after both.",
            "Передвинуть шаг вниз — это половина дела. В чьи ещё `.grad` пишут `d_loss` и `g_loss`? Сравните "
            "`.grad` после одного обратного прохода и после обоих.",
        ),
        Text(
            "`backward(inputs=...)` or `torch.autograd.grad` fills only the weights it is given. Two gradients first, "
            "two steps afterwards.",
            "`backward(inputs=...)` и `torch.autograd.grad` дают градиенты только тех весов, которые им указаны. "
            "Сначала два градиента, потом два шага.",
        ),
    ],
)
def gan_step(answer: Any, case: Case) -> dict[str, object]:
    steps = []
    case.opt_D.register_step_post_hook(lambda *_: steps.append("opt_D"))
    case.opt_G.register_step_post_hook(lambda *_: steps.append("opt_G"))
    answer.gan_step(case.G, case.D, case.opt_G, case.opt_D, case.real, case.ideas)
    with using_answer():
        return {
            "D": {"steps.count(opt_D)": steps.count("opt_D")} | numbers_of(case.D) | flags(case.D, "D"),
            "G": {"steps.count(opt_G)": steps.count("opt_G")} | numbers_of(case.G) | flags(case.G, "G"),
            "gradients of G": {name: size_of(gradient) for name, gradient in gradients_of(case.G).items()},
        }


def size_of(gradient: Tensor | None) -> str:
    """Whether there is a gradient, and whether it is one to speak of."""
    if gradient is None:
        return "none"
    return "numbers" if gradient.abs().max() > 1e-5 else "zeros"


@gan_step.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for dtype, optimizer in [(torch.float32, SGD), (torch.float64, Adam)]:
        G = redrawn(Sequential(Linear(2, 4), Tanh(), Linear(4, 3)), rng, dtype)
        D = redrawn(Sequential(Linear(3, 5), Tanh(), Linear(5, 1), Sigmoid()), rng, dtype)
        yield Case(
            G=G,
            D=D,
            opt_G=optimizer(G.parameters(), lr=0.3),
            opt_D=optimizer(D.parameters(), lr=0.2),
            real=signed(rng, 4, 3).to(dtype),
            ideas=signed(rng, 6, 2).to(dtype),
        )


def losses(G: Module, D: Module, real: Tensor, ideas: Tensor) -> tuple[Tensor, Tensor]:
    """The two losses of the game, with one graph."""
    score_real, score_fake = D(real), D(G(ideas))
    d_loss = -score_real.log().mean() - (1 - score_fake).log().mean()
    return d_loss, (1 - score_fake).log().mean()


@gan_step.mistake(
    en="It looks as if one of the steps still comes before the second backward pass. `retain_graph` keeps the graph, "
    "but what is saved there are the weights themselves, and the step edits them.",
    ru="Похоже, что один из шагов по-прежнему стоит до второго обратного прохода. `retain_graph` сохраняет граф, но "
    "сохранены в нём сами веса, а шаг их меняет.",
)
def steps_too_early(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_D.step()
    g_loss.backward()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if the first backward pass freed the graph that the second one needs, as both go through the same "
    "call of `D`.",
    ru="Похоже, что первый обратный проход освободил граф, который нужен второму: оба идут через один и тот же вызов "
    "`D`.",
)
def frees_the_graph(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    opt_D.zero_grad()
    d_loss.backward()
    opt_G.zero_grad()
    g_loss.backward()
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if `D` learned from the real samples alone. When both backward passes come before the steps, "
    "`g_loss` adds its gradient to the weights of `D`, and on the fakes the two losses have opposite signs.",
    ru="Похоже, что `D` учится только на настоящих примерах. Если оба обратных прохода стоят до шагов, `g_loss` "
    "прибавляет свой градиент к весам `D`, а для подделок знаки двух функций потерь противоположны.",
)
def pollutes_D(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    opt_D.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_G.zero_grad()
    g_loss.backward()
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if all gradients were cleared once, at the start, and both losses were added up in all weights. "
    "They cancel on the fakes: `G` does not move, and `D` learns from the real samples alone.",
    ru="Похоже, что градиенты обнулены один раз, в начале, и градиенты обеих функций потерь сложились у всех весов. "
    "Вклады подделок взаимно уничтожаются: `G` не движется, а `D` учится только на настоящих примерах.",
)
def mixes_both(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    (d_loss + g_loss).backward()
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if the gradients of `D` were cleared again before the backward pass of `g_loss`. What `D` then "
    "steps by is the gradient of `g_loss`, which has filled its weights as well.",
    ru="Похоже, что перед обратным проходом из `g_loss` градиенты `D` обнулены ещё раз. Тогда `D` делает шаг по "
    "градиенту `g_loss`, который попал и в его веса.",
)
def clears_D_again(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    opt_D.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_D.zero_grad()
    opt_G.zero_grad()
    g_loss.backward()
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if `D` is right and `G` stands still: `d_loss` went through `G` as well, and what it left in "
    "`.grad` was not cleared before `g_loss` came. On the fakes the two cancel.",
    ru="Похоже, что с `D` всё верно, а `G` стоит на месте: обратный проход из `d_loss` тоже идёт через `G`, и то, "
    "что он оставил в `.grad`, не обнулили перед `g_loss`. Вклады подделок взаимно уничтожаются.",
)
def pollutes_G(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(retain_graph=True)
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if the step of `D` was made first and the fakes were judged again by the new `D`. Many programs do "
    "so, but here both gradients belong to the weights from before the call.",
    ru="Похоже, что сначала сделан шаг `D`, а подделки потом оценены новым `D`. Так делают многие программы, но "
    "здесь оба градиента берутся при весах, которые были до вызова.",
)
def judges_again(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    opt_D.zero_grad()
    losses(G, D, real, ideas)[0].backward()
    opt_D.step()
    opt_G.zero_grad()
    losses(G, D, real, ideas)[1].backward()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if `G` made its step first and `D` judged the fakes of the new `G`. Both gradients belong to the "
    "weights from before the call.",
    ru="Похоже, что сначала сделан шаг `G`, а `D` оценил подделки нового `G`. Оба градиента берутся при весах, "
    "которые были до вызова.",
)
def paints_again(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    opt_G.zero_grad()
    losses(G, D, real, ideas)[1].backward()
    opt_G.step()
    opt_D.zero_grad()
    losses(G, D, real, ideas)[0].backward()
    opt_D.step()


@gan_step.mistake(
    en="It looks as if `G` had no gradient when its step came: the fakes were cut off from `G` for both losses, "
    "`g_loss` made no backward pass, or `.grad` was cleared after it.",
    ru="Похоже, что к своему шагу `G` остался без градиента: подделки отсоединены от `G` для обеих функций потерь, "
    "обратного прохода из `g_loss` не было или `.grad` обнулили после него.",
)
def cuts_off_G(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    opt_G.zero_grad()
    fake = G(ideas).detach()
    opt_D.zero_grad()
    losses(Sequential(), D, real, fake)[0].backward()
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if the step of `D` was hidden from the version counter, as by `.data` or by restoring it. The "
    "backward pass of `g_loss` went on with the new weights of `D`: a gradient of no loss.",
    ru="Похоже, что шаг `D` скрыт от счётчика версий, например через `.data`. Обратный проход из `g_loss` взял новые "
    "веса `D`: это градиент функции потерь, которой не было.",
)
def hides_the_step(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    opt_D.zero_grad()
    d_loss.backward(retain_graph=True)
    with torch.autograd._unsafe_preserve_version_counter(tuple(D.parameters())):  # type: ignore[attr-defined]
        opt_D.step()
    opt_G.zero_grad()
    g_loss.backward()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if old gradients were not cleared: what lay in `.grad` before the call has become part of the "
    "step.",
    ru="Похоже, что старые градиенты не обнулены: то, что лежало в `.grad` до вызова, вошло в шаг.",
)
def clears_nothing(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    d_loss.backward(inputs=list(D.parameters()), retain_graph=True)
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if `G` climbed: its loss has the wrong sign.",
    ru="Похоже, что `G` делает шаг в сторону роста своей функции потерь: неверен знак.",
)
def climbs(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(inputs=list(D.parameters()), retain_graph=True)
    (-g_loss).backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if `D` climbed: its loss has the wrong sign.",
    ru="Похоже, что `D` делает шаг в сторону роста своей функции потерь: неверен знак.",
)
def climbs_with_D(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    (-d_loss).backward(inputs=list(D.parameters()), retain_graph=True)
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if `G` learns from $-\\overline{\\log D(G(\\text{ideas}))}$. Many programs use it, but here the "
    "loss of `G` is another one.",
    ru="Похоже, что `G` учится на $-\\overline{\\log D(G(\\text{ideas}))}$. Так делают многие программы, но здесь у "
    "`G` другая функция потерь.",
)
def learns_from_another_loss(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, _ = losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(inputs=list(D.parameters()))
    (-D(G(ideas)).log().mean()).backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if `G` learns from $-\\overline{\\log D(G(\\text{ideas}))}$, not from the loss asked for, and that "
    "gradient was added to the one in the weights of `D` before their step.",
    ru="Похоже, что `G` учится на $-\\overline{\\log D(G(\\text{ideas}))}$, а это другая функция потерь. К тому же "
    "её градиент ещё до шага прибавлен к градиенту весов `D`.",
)
def pollutes_D_with_another_loss(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    opt_D.zero_grad()
    losses(G, D, real, ideas)[0].backward()
    opt_G.zero_grad()
    (-D(G(ideas)).log().mean()).backward()
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if `D` makes a step first, and `G` then learns from $-\\overline{\\log D(G(\\text{ideas}))}$ "
    "with the new `D`. Many programs do so; here `G` has another loss, at the weights from before the call.",
    ru="Похоже, что сначала делает шаг `D`, а `G` потом учится на $-\\overline{\\log D(G(\\text{ideas}))}$ с новым "
    "`D`. Так делают многие программы; но здесь у `G` другая функция потерь, и берётся она при весах, которые были "
    "до вызова.",
)
def plays_the_usual_game(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    opt_D.zero_grad()
    losses(G, D, real, ideas)[0].backward()
    opt_D.step()
    opt_G.zero_grad()
    (-D(G(ideas)).log().mean()).backward()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if the losses were sums over the samples; they are means.",
    ru="Похоже, что функции потерь вычислены как суммы по примерам; а нужны средние.",
)
def sums_over_samples(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    score_real, score_fake = D(real), D(G(ideas))
    opt_D.zero_grad()
    opt_G.zero_grad()
    (-score_real.log().sum() - (1 - score_fake).log().sum()).backward(inputs=list(D.parameters()), retain_graph=True)
    (1 - score_fake).log().sum().backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if the weights were moved by hand. The step belongs to the optimizer: Adam, for one, does not "
    "subtract `lr` times the gradient.",
    ru="Похоже, что веса сдвинуты вручную. Шаг — дело оптимизатора: Adam, например, вычитает не градиент, умноженный "
    "на `lr`.",
)
def steps_by_hand(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    for_D = torch.autograd.grad(d_loss, list(D.parameters()), retain_graph=True)
    for_G = torch.autograd.grad(g_loss, list(G.parameters()))
    with torch.no_grad():
        for network, gradients, optimizer in ((D, for_D, opt_D), (G, for_G, opt_G)):
            for parameter, gradient in zip(network.parameters(), gradients):
                parameter.sub_(optimizer.param_groups[0]["lr"] * gradient)


@gan_step.mistake(
    en="It looks as if neither network made a step: the gradients are there, and nobody moved by them.",
    ru="Похоже, что ни одна из сетей не сделала шага: градиенты есть, но веса на месте.",
)
def makes_no_step(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(inputs=list(D.parameters()), retain_graph=True)
    g_loss.backward(inputs=list(G.parameters()))


@gan_step.mistake(
    en="It looks as if `zero_grad()` stands between the backward passes and the steps. An optimizer that finds no "
    "gradient moves nothing.",
    ru="Похоже, что `zero_grad()` стоит между обратными проходами и шагами. Без градиентов оптимизатор ничего не "
    "сдвигает.",
)
def clears_before_the_steps(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    d_loss.backward(retain_graph=True)
    g_loss.backward()
    opt_D.zero_grad()
    opt_G.zero_grad()
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if `D` was frozen for the backward pass of `g_loss` and stayed so. Its flags were to be as before.",
    ru="Похоже, что `D` на время обратного прохода из `g_loss` заморожен и таким остался. А флаги должны были остаться "
    "прежними.",
)
def leaves_D_frozen(*game: Any) -> None:
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(inputs=list(D.parameters()), retain_graph=True)
    D.requires_grad_(False)
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if only `G` made its step.",
    ru="Похоже, что шаг сделал только `G`.",
)
def forgets_D(*game: Any) -> None:
    G, D, opt_G, _, real, ideas = game
    opt_G.zero_grad()
    losses(G, D, real, ideas)[1].backward()
    opt_G.step()


@gan_step.mistake(
    en="It looks as if only `D` made its step.",
    ru="Похоже, что шаг сделал только `D`.",
)
def forgets_G(*game: Any) -> None:
    G, D, _, opt_D, real, ideas = game
    opt_D.zero_grad()
    losses(G, D, real, ideas)[0].backward()
    opt_D.step()


# --------------------------------------------------------------------------- extra: features made in inference mode


@exercise(
    title=Text("Find the bug: features that may not be used", "Найдите ошибку: признаки, которые нельзя использовать"),
    kind="find the bug",
    difficulty=1,
    minutes=4,
    aspects=[
        aspect(
            "head",
            2,
            en="The gradient of the loss has been added to the `.grad` of every parameter of `head`.",
            ru="Градиент функции потерь прибавлен к `.grad` каждого параметра `head`.",
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
            "body": named("body", gradients_of(case.body) | flags(case.body, "") | numbers_of(case.body))
            | named("head", flags(case.head, "") | numbers_of(case.head)),
            "recorded": {"body(x).requires_grad": recorded.get("body(x).requires_grad", False)},
            "loss": recorded.get("head(features).requires_grad"),
        }


@head_gradients.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    for dtype in (torch.float64, torch.float32):
        body = redrawn(Sequential(Linear(3, 4), Tanh(), Dropout(0.5)), rng, dtype)
        head = redrawn(Linear(4, 3), rng, dtype)
        body[2].eval()
        if dtype is torch.float32:
            body[0].bias.requires_grad_(False)
            head.bias.grad = None
        yield Case(
            body=body,
            head=head,
            x=signed(rng, 5, 3).to(dtype),
            y=signed(rng, 5, 3).to(dtype),
        )


def named(owner: str, values: dict[str, Any]) -> dict[str, object]:
    """The same values, their names beginning with the owner's."""
    return {f"{owner}.{name.lstrip('.')}": value for name, value in values.items()}


def mean_square(out: Tensor, y: Tensor) -> Tensor:
    """The loss of the exercise."""
    return (out - y).square().mean()


@head_gradients.mistake(
    en="It looks as if the features are still an inference tensor: neither `clone()` inside the block nor `detach()` "
    "changes that. It takes a copy made outside, or another mode.",
    ru="Похоже, что признаки всё ещё inference-тензор: `clone()` внутри блока и `detach()` этого не меняют. Нужна "
    "копия, сделанная снаружи, или другой режим.",
)
def detaches_inference(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.inference_mode():
        features = body(x)
    mean_square(head(features.detach()), y).backward()


@head_gradients.mistake(
    en="It looks as if the features were told to require grad. An inference tensor may not; and features that do not "
    "learn need no gradient.",
    ru="Похоже, что у признаков включили флаг. У inference-тензора это запрещено; да и признакам, которые не "
    "обучаются, градиент не нужен.",
)
def tracks_the_features(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.inference_mode():
        features = body(x)
    mean_square(head(features.requires_grad_()), y).backward()


@head_gradients.mistake(
    en="It looks as if the squared errors were summed; the loss is their mean.",
    ru="Похоже, что квадраты разностей сложены; а функция потерь — их среднее.",
)
def sums_the_squares(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        features = body(x)
    (head(features) - y).square().sum().backward()


@head_gradients.mistake(
    en="It looks as if the squared errors of each sample were summed and then averaged over samples. The loss is the "
    "mean over all numbers.",
    ru="Похоже, что квадраты разностей сложены внутри примера, а среднее взято по примерам. Функция потерь — среднее "
    "по всем числам.",
)
def averages_over_samples(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        features = body(x)
    (head(features) - y).square().sum(1).mean().backward()


@head_gradients.mistake(
    en="It looks as if the whole forward pass, that of `head` included, runs without recording. The loss has no "
    "history, and backward has no graph to walk.",
    ru="Похоже, что без записи идёт весь прямой проход, вместе с `head`. У функции потерь нет истории, и обратному "
    "проходу идти не по чему.",
)
def covers_the_head(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        loss = mean_square(head(body(x)), y)
    loss.backward()


@head_gradients.mistake(
    en="It looks as if the loss, having no history, was told to require grad. The error is gone; the loss is a leaf "
    "now, and no parameter gets anything.",
    ru="Похоже, что у функции потерь нет истории, а флаг включён вручную. Ошибки больше нет; но теперь это лист, и "
    "параметры не получают ничего.",
)
def forces_the_loss(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    with torch.no_grad():
        loss = mean_square(head(body(x)), y)
    loss.requires_grad_().backward()


@head_gradients.mistake(
    en="It looks as if nothing was added to `.grad`: no backward pass was run, or `torch.autograd.grad` returned the "
    "gradients and nobody put them into it.",
    ru="Похоже, что к `.grad` ничего не прибавлено: обратного прохода не было или градиенты вернул "
    "`torch.autograd.grad`, а дальше их никто не использовал.",
)
def adds_nothing(body: Module, head: Module, x: Tensor, y: Tensor) -> Any:
    with torch.no_grad():
        features = body(x)
    return torch.autograd.grad(mean_square(head(features), y), list(head.parameters()))


@head_gradients.mistake(
    en="It looks as if the forward pass of the body was recorded. The gradients are right; the graph was built for "
    "nothing.",
    ru="Похоже, что прямой проход тела записан в граф. Градиенты верны, но граф построен зря.",
)
def detaches_features(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    mean_square(head(body(x).detach()), y).backward()


@head_gradients.mistake(
    en="It looks as if the body takes part in the backward pass: its parameters got gradients as well.",
    ru="Похоже, что тело участвует в обратном проходе: его параметры тоже получили градиенты.",
)
def trains_the_body(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    mean_square(head(body(x)), y).backward()


@head_gradients.mistake(
    en="It looks as if the body was frozen for the purpose and stayed so. Its flags were to be as before.",
    ru="Похоже, что тело ради этого заморожено и таким осталось. А его флаги должны были остаться прежними.",
)
def leaves_the_body_frozen(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    body.requires_grad_(False)
    mean_square(head(body(x)), y).backward()


@head_gradients.mistake(
    en="It looks as if the body was frozen for the purpose, and all its flags were switched on at the end. One "
    "parameter had been frozen before the call.",
    ru="Похоже, что тело ради этого заморожено, а в конце флаги включены у всех его параметров. Один из них был "
    "заморожен ещё до вызова.",
)
def thaws_the_body(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    leaves_the_body_frozen(body, head, x, y)
    body.requires_grad_(True)


@head_gradients.mistake(
    en="It looks as if the gradients of the body were cleared. What lay in its `.grad` was to stay.",
    ru="Похоже, что градиенты тела обнулены. А то, что лежало в его `.grad`, должно было остаться.",
)
def clears_the_body(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    body.zero_grad()
    with torch.no_grad():
        features = body(x)
    mean_square(head(features), y).backward()


@head_gradients.mistake(
    en="It looks as if the body was left in evaluation mode. Its modes were to be as before.",
    ru="Похоже, что тело осталось в режиме оценки. А режимы должны были остаться прежними.",
)
def leaves_the_body_in_eval(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    body.eval()
    with torch.no_grad():
        features = body(x)
    mean_square(head(features), y).backward()


@head_gradients.mistake(
    en="It looks as if `train()` was called at the end. It puts every module of the body into training mode, also "
    "those that had been in evaluation mode.",
    ru="Похоже, что в конце вызван `train()`. Он переводит в режим обучения все модули тела, в том числе те, что "
    "были в режиме оценки.",
)
def trains_all_of_the_body(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    leaves_the_body_in_eval(body, head, x, y)
    body.train()


@head_gradients.mistake(
    en="It looks as if the old gradients of `head` are lost: cleared, or replaced by the new ones. Those were to be "
    "added to them.",
    ru="Похоже, что старые градиенты `head` потеряны: обнулены или заменены новыми. А новые нужно было к ним "
    "прибавить.",
)
def clears_the_head(body: Module, head: Module, x: Tensor, y: Tensor) -> None:
    head.zero_grad()
    with torch.no_grad():
        features = body(x)
    mean_square(head(features), y).backward()


# ------------------------------------------------------------------- extra: an edit that looks forbidden, and is right


@exercise(
    title=Text("An edit of shared memory that is right", "Законное изменение общей памяти"),
    kind="write the counter-example",
    difficulty=2,
    minutes=8,
    shows_graph=True,
    aspects=[
        aspect(
            "shared",
            1,
            en="A pair of results comes back: different tensors on one memory, not that of `x`, both with a history.",
            ru="Возвращается пара результатов: разные тензоры с общей памятью, отличной от памяти `x`, оба с историей.",
        ),
        aspect(
            "edited",
            1,
            en="That memory was edited in place when there was already a view of it, and the version counter counted "
            "the edit.",
            ru="Эта память изменена на месте, когда её представление уже существовало, и счётчик версий это "
            "изменение учёл.",
        ),
        aspect(
            "gradients",
            2,
            en="Backward runs from either of them, and the gradient of `x` agrees with finite differences.",
            ru="Обратный проход из каждого из них выполняется, и градиент `x` совпадает с конечными разностями.",
        ),
    ],
    hints=[
        Text(
            "Which operations give a second tensor on the same memory, and which of them return just one?",
            "Какие операции дают второй тензор с той же памятью и какие из них возвращают только один?",
        ),
        Text(
            "Begin with a result that nobody saved, such as `x * 2`. Take a view of it before you edit.",
            "Начните с результата, который ни одна операция не сохранила, например `x * 2`. Возьмите его "
            "представление до изменения.",
        ),
        Text(
            "`h = ...`, `view = ...`, one in-place operation on one of the two, `return h, view`.",
            "`h = ...`, `view = ...`, одна операция с изменением на месте над одним из двух, `return h, view`.",
        ),
    ],
)
def shared_edit(answer: Any, case: Case) -> dict[str, object]:
    pair = answer.shared_edit(case.x)
    with using_answer():
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(t, Tensor) for t in pair)):
            return {"shared": {**dict.fromkeys(SHARED), "type(pair)": type(pair).__name__}}
        first, second = pair
        memory = [tensor.untyped_storage().data_ptr() for tensor in (first, second, case.x)]
        history = first.grad_fn is None, second.grad_fn is None
        found = "tuple", first is second, memory[0] == memory[1], memory[0] == memory[2], *history
        shared = dict(zip(SHARED, found))
        edited = {"h._version > 0": first._version > 0, "views_at_edit > 0": _viewed_and_edited(answer, case.x)}
        gradients = None
        if found == ("tuple", False, True, False, False, False):
            gradients = {name: agrees(answer.shared_edit, case.x, index) for index, name in enumerate(("h", "other"))}
        again = answer.shared_edit(case.x.detach().clone().requires_grad_())
        repeats = bool(torch.equal(first, again[0]))
        return {"shared": shared, "edited": edited, "gradients": gradients, "repeats": repeats}


# What the first aspect looks at; of an answer that is no pair of tensors, only at the first.
SHARED = (
    "type(pair)",
    "h is other",
    "h.untyped_storage() == other.untyped_storage()",
    "h.untyped_storage() == x.untyped_storage()",
    "h.grad_fn is None",
    "other.grad_fn is None",
)


class _Edits(TorchDispatchMode):
    """Was memory written of which a view had been taken before?"""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found = False
        self._viewed: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if args and isinstance(args[0], Tensor):
            memory = args[0].untyped_storage().data_ptr()
            if func._schema.is_mutable:
                self.found |= memory in self._viewed
            elif any(isinstance(t, Tensor) and t.untyped_storage().data_ptr() == memory for t in _flat(out)):
                self._viewed.add(memory)
        return out


def _flat(out: object) -> Sequence[object]:
    """What an operation returned, as a sequence."""
    return out if isinstance(out, (tuple, list)) else [out]


def _viewed_and_edited(answer: Any, x: Tensor) -> bool:
    """Did a second tensor exist on the memory when it was edited?"""
    edits = _Edits()
    with edits:
        answer.shared_edit(x.detach().clone().requires_grad_())
    return edits.found


def agrees(function: Callable[[Tensor], Any], x: Tensor, index: int) -> bool | str:
    """Does the gradient of one of the two results agree with central differences along a random direction?"""
    rng = torch.Generator().manual_seed(3)
    out = function(x)[index]
    v, along = signed(rng, *out.shape), signed(rng, *x.shape)
    try:
        (gradient,) = torch.autograd.grad((out * v).sum(), x, materialize_grads=True)
    except RuntimeError as error:
        return EDITED if EDITED in str(error) else str(error)
    with torch.no_grad():
        ends = [x + step * along for step in (1e-6, -1e-6)]
    high, low = (function(end.requires_grad_())[index] for end in ends)
    slope = ((high - low) * v).sum() / 2e-6
    exact = (gradient * along).sum()
    return bool((slope - exact).abs() < 1e-5 * (1 + exact.abs()))


@shared_edit.cases
def _(rng: torch.Generator) -> Iterator[Case]:
    yield Case(x=leaf(rng, 2, 3))
    yield Case(x=leaf(rng, 4, 2))


@shared_edit.mistake(
    en="It looks as if the second tensor has memory of its own: it is a copy or a new result.",
    ru="Похоже, что у второго тензора своя память: это копия или новый результат.",
)
def returns_a_copy(x: Tensor) -> tuple[Tensor, Tensor]:
    h = x * 2
    return h.mul_(3), h.clone()


@shared_edit.mistake(
    en="It looks as if the second tensor has no history (`grad_fn`): it was detached. It shares the memory, but no "
    "gradient comes through it.",
    ru="Похоже, что у второго тензора нет истории (`grad_fn`): он отсоединён от графа. Память у него общая, но "
    "градиент через него не идёт.",
)
def returns_detached(x: Tensor) -> tuple[Tensor, Tensor]:
    h = x * 2
    other = h.detach()
    h.mul_(3)
    return h, other


@shared_edit.mistake(
    en="It looks as if neither tensor has a history (`grad_fn`): they were made under `no_grad()`.",
    ru="Похоже, что истории (`grad_fn`) нет ни у одного тензора: они созданы внутри `no_grad()`.",
)
def records_nothing(x: Tensor) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        h = x * 2
        return h.mul_(3), h[0]


@shared_edit.mistake(
    en="It looks as if one tensor came back twice. An in-place operation returns the very tensor that it edited.",
    ru="Похоже, что дважды возвращён один и тот же тензор. Операция с изменением на месте возвращает тот самый "
    "тензор, который изменила.",
)
def returns_it_twice(x: Tensor) -> tuple[Tensor, Tensor]:
    h = x * 2
    return h, h.mul_(3)


@shared_edit.mistake(
    en="It looks as if a leaf, or a view of one, was edited. That is refused whoever shares the memory.",
    ru="Похоже, что изменён лист или его представление. Это запрещено, с чем бы он ни делил память.",
)
def edits_the_leaf(x: Tensor) -> tuple[Tensor, Tensor]:
    x.mul_(3)
    return x, x[0]


@shared_edit.mistake(
    en="It looks as if a part from `unbind`, `split` or `chunk` was edited: one of several views that one call "
    "returned. Those may not be edited.",
    ru="Похоже, что изменена часть, которую вернул `unbind`, `split` или `chunk`: одно из нескольких представлений, "
    "которые дал один вызов. Их менять нельзя.",
)
def edits_a_part(x: Tensor) -> tuple[Tensor, Tensor]:
    h = x * 2
    part = h.unbind()[0]
    part.mul_(3)
    return h, part


@shared_edit.mistake(
    en="It looks as if a part from `unbind`, `split` or `chunk` was returned, and its base was edited. One of several "
    "views of one call may not be used after that.",
    ru="Похоже, что возвращена часть, которую дал `unbind`, `split` или `chunk`, а её основу изменили. Если один "
    "вызов дал несколько представлений, после этого их использовать нельзя.",
)
def edits_the_base_of_parts(x: Tensor) -> tuple[Tensor, Tensor]:
    h = x * 2
    part = h.unbind()[0]
    h.add_(1)
    return h, part


@shared_edit.mistake(
    en="It looks as if the counter noticed nothing: there is no edit in place, or it was made through `.data`.",
    ru="Похоже, что счётчик ничего не заметил: изменения на месте нет или оно сделано через `.data`.",
)
def edits_nothing(x: Tensor) -> tuple[Tensor, Tensor]:
    h = x * 2
    return h, h[0]


@shared_edit.mistake(*shared_edit.mistakes["edits_nothing"].says)
def edits_through_data(x: Tensor) -> tuple[Tensor, Tensor]:
    h = x * 2
    other = h[0]
    h.data.mul_(3)
    return h, other


@shared_edit.mistake(
    en="It looks as if the result is random, as after dropout: a second call with the same `x` gives other numbers.",
    ru="Похоже, что результат случаен, как после dropout: второй вызов с тем же `x` даёт другие числа.",
)
def draws_a_mask(x: Tensor) -> tuple[Tensor, Tensor]:
    h = x * 2 * torch.rand_like(x)
    other = h.t()
    h.mul_(3)
    return h, other


@shared_edit.mistake(
    en="It looks as if the second tensor was made after the edit. At the moment of the edit nobody else held the "
    "memory, so the sentence stands.",
    ru="Похоже, что второй тензор создан уже после изменения. В момент изменения на эту память больше ничто не "
    "ссылалось, и утверждение не опровергнуто.",
)
def views_afterwards(x: Tensor) -> tuple[Tensor, Tensor]:
    h = x * 2
    h.mul_(3)
    return h, h.view(-1)


@shared_edit.mistake(
    en="It looks as if the edit destroyed a tensor that an earlier operation had saved for backward.",
    ru="Похоже, что изменение испортило тензор, который более ранняя операция сохранила для обратного прохода.",
)
def edits_what_was_saved(x: Tensor) -> tuple[Tensor, Tensor]:
    h = x.exp()
    other = h[0]
    h.mul_(3)
    return h, other


@shared_edit.mistake(
    en="It looks as if the edit was made past the graph (`no_grad()` or `detach()`). The numbers changed, the graph "
    "does not know it, and the gradient is that of the numbers before.",
    ru="Похоже, что изменение сделано в обход графа (`no_grad()` или `detach()`). Числа изменились, граф об этом не "
    "знает, и градиент остался прежним.",
)
def edits_unseen(x: Tensor) -> tuple[Tensor, Tensor]:
    h = x * 2
    other = h[0]
    with torch.no_grad():
        h.mul_(3)
    return h, other


@shared_edit.mistake(
    en="It looks as if one tensor came back. A pair was asked for, so that both can be looked at.",
    ru="Похоже, что возвращён один тензор. А нужна пара, чтобы можно было посмотреть на оба.",
)
def returns_one(x: Tensor) -> Tensor:
    return (x * 2).mul_(3)


@shared_edit.mistake(
    en="It looks as if nothing was returned.",
    ru="Похоже, что ничего не возвращено.",
)
def edits_in_vain(x: Tensor) -> None:
    (x * 2).mul_(3)
