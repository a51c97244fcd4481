"""Sentences on training steps."""

from __future__ import annotations

from ..language import Text, sentence

SAYS: dict[str, Text] = {
    "title": Text("Step {number}: found {count}", "Шаг {number}, замечаний: {count}"),
    "nothing": Text(
        "Step {number}: nothing found. Backward passes: {passes}; gradients arrived at {reached} of {total} parameters; "
        "steps of an optimizer: {updates}.",
        "Шаг {number}: замечаний нет. Обратных проходов: {passes}; параметров с градиентом: {reached} из {total}; "
        "шагов оптимизатора: {updates}.",
    ),
    "nothing_seen": Text(
        "Nothing to look at: no backward pass ran here.", "Смотреть не на что: обратного прохода здесь не было."
    ),
    "lesson": Text("Lesson {lesson}, `{exercise}`", "Урок {lesson}, `{exercise}`"),
    "wrong": Text("✗", "✗"),
    "look": Text("Worth a look:", "Стоит взглянуть:"),
    "inspect.edit": Text(
        "Backward refused an edit in place: `{operation}` changed a tensor of shape {shape} that was saved for it, at "
        "{place}. Compute a new tensor there.",
        "Обратный проход прерван: операция `{operation}` в строке {place} изменила на месте сохранённый для прохода "
        "тензор формы {shape}. Вместо этого создайте новый тензор.",
    ),
    "inspect.cleared_before_step": Text(
        "The gradients of {names} were cleared between `backward()` and the step at {place}, which did not move them. Clear "
        "after the step, or before the backward pass.",
        "Градиент у {names} обнулён между `backward()` и шагом в строке {place}, поэтому шаг там ничего не изменил. "
        "Обнуляйте градиенты после шага или до обратного прохода.",
    ),
    "inspect.step_before_backward": Text(
        "The step at {place} had no gradient: no backward pass had filled `.grad` before it. First `backward()`, then "
        "`step()`.",
        "К шагу в строке {place} градиентов не было: обратный проход ещё ничего не записал в `.grad`. Сначала "
        "`backward()`, потом `step()`.",
    ),
    "inspect.cut.detach": Text(
        "{names} got no gradient: the way to them ends in `detach()`, at {place}. Leave it out where they are to learn.",
        "Градиента нет у {names}: путь обрывает `detach()` в строке {place}. Уберите его, если эта часть должна "
        "обучаться.",
    ),
    "inspect.cut.data": Text(
        "{names} got no gradient: the way to them ends in `.data`, at {place}. Use the tensor itself where they are to "
        "learn.",
        "Градиента нет у {names}: путь обрывает `.data` в строке {place}. Возьмите сам тензор, если эта часть должна "
        "обучаться.",
    ),
    "inspect.cut.no_grad": Text(
        "{names} got no gradient: they were used while recording was off (`no_grad`), at {place}. Compute outside that "
        "block what is to learn, or freeze them with `requires_grad_(False)`.",
        "Градиента нет у {names}: вычисления в строке {place} не записаны в граф (`no_grad`). Вычисляйте вне этого "
        "блока то, что должно обучаться, а остальное заморозьте: `requires_grad_(False)`.",
    ),
    "inspect.cut.number": Text(
        "{names} got no gradient: what they compute becomes a Python number or an array, at {place}. A number has no "
        "graph: stay with tensors up to the loss.",
        "Градиента нет у {names}: путь обрывается в строке {place}, где тензор становится числом Python или массивом. "
        "У числа нет графа: вплоть до функции потерь работайте с тензорами.",
    ),
    "inspect.cut.index": Text(
        "{names} got no gradient: what they compute becomes an index or a comparison, at {place}. That has no derivative: "
        "a soft version or a chosen gradient is needed.",
        "Градиента нет у {names}: путь обрывается в строке {place}, где из тензора получается индекс или результат "
        "сравнения. Производной там нет: нужен гладкий вариант или выбранный вами градиент.",
    ),
    "inspect.unused": Text(
        "{names} took no part in this step. An optimizer has them: is a module not called?",
        "Нет в вычислениях этого шага, хотя есть в оптимизаторе: {names}. Не забыт ли вызов модуля?",
    ),
    "inspect.unreached": Text(
        "{names} got no gradient: what was computed from them, last at {place}, does not lead to the loss.",
        "Градиента нет у {names}: путь обрывается после строки {place} и не доходит до функции потерь.",
    ),
    "inspect.stale": Text(
        "The optimizer holds tensors that are in no model and have no gradient: {count}. It was made before a part of the "
        "model was replaced. Make it afterwards.",
        "Оптимизатор хранит тензоры, у которых нет градиента и которых нет ни в одной модели: {count}. Он создан "
        "раньше, чем часть модели заменили. Создавайте его после замены.",
    ),
    "inspect.lacking": Text(
        "{names} got a gradient, and no optimizer has them: they stay as they are. Give them to the optimizer, or freeze "
        "them with `requires_grad_(False)`.",
        "Градиент получен, но ни один оптимизатор не обновит {names}. Передайте оптимизатору недостающее или "
        "заморозьте: `requires_grad_(False)`.",
    ),
    "inspect.kept": Text(
        "The step used old gradients, too: `.grad` of {names} was not cleared before the pass at {place} added to it. Call "
        "`optimizer.zero_grad()` once for each step.",
        "В шаг вошли и старые градиенты: `.grad` у {names} не обнулён перед обратным проходом в строке {place}. "
        "Вызывайте `optimizer.zero_grad()` один раз на каждый шаг.",
    ),
    "inspect.scaled_norm": Text(
        "A norm of gradients was taken at {place} while the loss scale was still in them. Call `scaler.unscale_(optimizer)` "
        "before.",
        "Норма в строке {place} вычислена по градиентам, с которых ещё не снят масштаб функции потерь. Сначала "
        "вызовите `scaler.unscale_(optimizer)`.",
    ),
    "inspect.scaled_step": Text(
        "The step at {place} used gradients with the loss scale in them. Step by `scaler.step(optimizer)`.",
        "Шаг в строке {place} сделан по градиентам, с которых не снят масштаб функции потерь. Делайте шаг через "
        "`scaler.step(optimizer)`.",
    ),
    "inspect.old_graph": Text(
        "The backward pass at {place} walks back into the graph of an earlier step: each step keeps more memory, or an "
        "error comes. Detach what is carried over, such as a hidden state or a running total.",
        "Обратный проход в строке {place} заходит в граф прошлого шага: расход памяти растёт с каждым шагом или "
        "возникает ошибка. Отсоедините от графа то, что переходит в следующий шаг, например скрытое состояние или "
        "накопленную сумму.",
    ),
    "inspect.held_graph": Text(
        "Losses of earlier steps are still held with their graphs, from the pass at {place}: memory grows. Keep "
        "`loss.item()` or `loss.detach()`.",
        "Значения функции потерь с прошлых шагов всё ещё хранятся вместе с графами, и расход памяти растёт. Обратный "
        "проход по ним выполнен в строке {place}. Храните `loss.item()` или `loss.detach()`.",
    ),
    "inspect.uneven": Text(
        "Means over {counts} samples got equal weights, from the pass at {place}: this is no mean over all samples. Weigh "
        "each by its share.",
        "Обратный проход в строке {place} придаёт равный вес средним по разному числу примеров ({counts}), поэтому "
        "среднего по всем примерам не получается. Умножайте каждое среднее на долю его примеров.",
    ),
    "inspect.eval": Text(
        "The whole model was in evaluation mode in a training step: dropout and batch statistics were off. Call "
        "`model.train()` before.",
        "На шаге обучения вся модель была в режиме оценки, то есть без dropout и без статистик батча. Сначала "
        "вызовите `model.train()`.",
    ),
    "inspect.not_finite": Text(
        "The gradient of {names} is not finite. Anomaly mode names the first node that makes a NaN.",
        "В градиенте у {names} есть бесконечность или NaN. Первый узел с NaN назовёт режим обнаружения аномалий.",
    ),
    "inspect.zero": Text(
        "The gradient of {names} is 0 in every entry: a dead activation, a clamp, or a factor 0.",
        "Градиент у {names} равен 0 во всех элементах: причиной может быть мёртвая активация, ограничение значений "
        "(clamp) или множитель 0.",
    ),
    "inspect.small": Text(
        "The gradient of {names} is a million times smaller than the largest one: hardly anything arrives there.",
        "Градиент у {names} более чем в миллион раз меньше самого большого: туда почти ничего не доходит.",
    ),
}


def say(id: str, language: str, **parameters: object) -> str:
    """Return the sentence `id` in `language`, with `parameters` filled in."""
    return sentence(SAYS, id, language, parameters)
