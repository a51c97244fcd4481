# %%
import torch


def clear(parameters):
    for each in parameters:
        each.grad = None


def step(parameters, rate):
    for each in parameters:
        if each.grad is not None:
            each.data = each.data - rate * each.grad


def loop(parameters, loss_of, batches, rate, clear=clear, step=step, note=lambda loss: loss.data.item()):
    losses = []
    for batch in batches:
        clear(parameters)
        loss = loss_of(batch)
        loss.backward()
        step(parameters, rate)
        losses.append(note(loss))
    return losses

# %% mistake="never_clears_the_leaves" theme="accumulation"
# `.grad` is never cleared. Each step follows the sum of all gradients so far, and of what was in `.grad` at the start.
# Поле `.grad` не обнуляется. Каждый шаг идёт по сумме всех градиентов, которые были раньше, и того, что лежало в `.grad`
#     с самого начала.
def train_engine(parameters, loss_of, batches, rate):
    return loop(parameters, loss_of, batches, rate, clear=lambda parameters: None)

# %% mistake="clears_the_leaves_once" theme="accumulation"
# `.grad` is cleared once, before the first batch. From the second step on the old gradients are in it.
# Поле `.grad` обнуляется один раз, до первого батча. Начиная со второго шага в нём есть и прежние градиенты.
def train_engine(parameters, loss_of, batches, rate):
    clear(parameters)
    return loop(parameters, loss_of, batches, rate, clear=lambda parameters: None)

# %% mistake="clears_the_leaves_at_the_end" theme="accumulation"
# `.grad` is cleared after each step, but not before the first: what was in it at the start goes into the first step.
# Поле `.grad` обнуляется после каждого шага, но не перед первым: в первый шаг входит то, что лежало там с самого начала.
def train_engine(parameters, loss_of, batches, rate):
    def step_and_clear(parameters, rate):
        step(parameters, rate)
        clear(parameters)

    return loop(parameters, loss_of, batches, rate, clear=lambda parameters: None, step=step_and_clear)

# %% mistake="clears_before_the_step" theme="order"
# No weight moves: either `.grad` is empty by the time of the step, or the step changes a copy.
# Ни один вес не меняется: либо `.grad` к моменту шага уже пуст, либо шаг меняет копию.
def train_engine(parameters, loss_of, batches, rate):
    def clear_and_step(parameters, rate):
        clear(parameters)
        step(parameters, rate)

    return loop(parameters, loss_of, batches, rate, step=clear_and_step)

# %% mistake="climbs" theme="slip"
# The sign of the step is wrong: it follows the gradient uphill.
# У шага неверный знак: он идёт по градиенту, то есть вверх.
def train_engine(parameters, loss_of, batches, rate):
    return loop(parameters, loss_of, batches, -rate)

# %% mistake="forgets_the_rate" theme="missing"
# The step is the whole gradient: the rate is not in it.
# Шаг равен всему градиенту: скорость обучения не учтена.
def train_engine(parameters, loss_of, batches, rate):
    return loop(parameters, loss_of, batches, 1.0)

# %% mistake="averages_over_the_batch" theme="scaling"
# The step is divided by the number of samples in the batch. How a loss is averaged is decided in `loss_of`.
# Шаг делится на число примеров в батче. Усреднять ли функцию потерь, решено уже в `loss_of`.
def train_engine(parameters, loss_of, batches, rate):
    losses = []
    for batch in batches:
        losses += loop(parameters, loss_of, [batch], rate / len(batch[0]))
    return losses

# %% mistake="divides_by_the_batches" theme="scaling"
# The step is divided by the number of batches, although each batch makes a step of its own.
# Шаг делится на число батчей, хотя каждый батч делает собственный шаг.
def train_engine(parameters, loss_of, batches, rate):
    return loop(parameters, loss_of, batches, rate / len(batches))

# %% mistake="moves_the_first_alone" theme="missing"
# Only the first parameter moves.
# Меняется только первый параметр.
def train_engine(parameters, loss_of, batches, rate):
    def step_first(parameters, rate):
        step(parameters[:1], rate)

    return loop(parameters, loss_of, batches, rate, step=step_first)

# %% mistake="moves_the_last_alone" theme="missing"
# Only the last parameter moves. So it is if the step stands behind the loop over the parameters.
# Меняется только последний параметр. Так бывает, если шаг стоит после цикла по параметрам, а не внутри него.
def train_engine(parameters, loss_of, batches, rate):
    def step_last(parameters, rate):
        step(parameters[-1:], rate)

    return loop(parameters, loss_of, batches, rate, step=step_last)

# %% mistake="steps_once_at_the_end" theme="order"
# There is one step in all, after the last batch, with the sum of the gradients: the weights stay the same in between.
# Шаг всего один, после последнего батча, по сумме градиентов: до этого веса не меняются.
def train_engine(parameters, loss_of, batches, rate):
    losses = []
    clear(parameters)
    for batch in batches:
        loss = loss_of(batch)
        loss.backward()
        losses.append(loss.data.item())
    step(parameters, rate)
    return losses

# %% mistake="steps_on_the_last_batch" theme="order"
# There is one step in all, with the gradient of the last batch: clearing stands inside the loop, the step behind it.
# Шаг всего один, по градиенту последнего батча: обнуление стоит внутри цикла, а шаг — после него.
def train_engine(parameters, loss_of, batches, rate):
    losses = loop(parameters, loss_of, batches, rate, step=lambda parameters, rate: None)
    step(parameters, rate)
    return losses

# %% mistake="loses_the_first_losses" theme="order"
# All losses are computed before the first step. Each belongs to the weights at the start, and so does its gradient.
# Все значения функции потерь вычислены до первого шага. И они, и их градиенты относятся к начальным весам.
def train_engine(parameters, loss_of, batches, rate):
    losses = [loss_of(batch) for batch in batches]
    for loss in losses:
        clear(parameters)
        loss.backward()
        step(parameters, rate)
    return [loss.data.item() for loss in losses]

# %% mistake="goes_backward_for_each" theme="accumulation"
# `backward()` runs once for each parameter, and each time it fills all of them: the gradients are too large.
# Метод `backward()` вызван для каждого параметра, а заполняет он каждый раз все: градиенты слишком велики.
def train_engine(parameters, loss_of, batches, rate):
    losses = []
    for batch in batches:
        clear(parameters)
        loss = loss_of(batch)
        for _ in parameters:
            loss.backward()
        step(parameters, rate)
        losses.append(loss.data.item())
    return losses

# %% mistake="steps_between_two_passes" theme="order"
# Each parameter gets a loss of its own, computed after the parameters before it have moved. All should move along the
#     gradient of one loss.
# Для каждого параметра функция потерь вычислена заново, когда предыдущие параметры уже сдвинуты. Все должны сдвинуться
#     по градиенту одного и того же значения.
def train_engine(parameters, loss_of, batches, rate):
    losses = []
    for batch in batches:
        for number, each in enumerate(parameters):
            clear(parameters)
            loss = loss_of(batch)
            loss.backward()
            step([each], rate)
            losses += [loss.data.item()] * (number == 0)
    return losses

# %% mistake="stops_at_an_empty_grad" theme="own"
# A parameter whose `.grad` is None ends the loop with an error. The batch does not use it, so it makes no step.
# Если `.grad` параметра равен None, цикл прерывается ошибкой. В этом батче параметр не участвует, значит и шага у него
#     нет.
def train_engine(parameters, loss_of, batches, rate):
    def step_all(parameters, rate):
        for each in parameters:
            each.data = each.data - rate * each.grad

    return loop(parameters, loss_of, batches, rate, step=step_all)

# %% mistake="zeroes_an_empty_grad" theme="own"
# Clearing ends with an error: `.grad` may be None at the start, and None has no `zero_()`.
# Обнуление заканчивается ошибкой: вначале `.grad` может быть равен None, а у None нет метода `zero_()`.
def train_engine(parameters, loss_of, batches, rate):
    def zero(parameters):
        for each in parameters:
            each.grad.zero_()

    return loop(parameters, loss_of, batches, rate, clear=zero)

# %% mistake="skips_from_an_empty_grad" theme="missing"
# The first parameter without a gradient ends the step: those behind it do not move, though they have one.
# Шаг прекращается на первом параметре без градиента: следующие за ним не меняются, хотя градиент у них есть.
def train_engine(parameters, loss_of, batches, rate):
    def step_until(parameters, rate):
        for each in parameters:
            if each.grad is None:
                break
            each.data = each.data - rate * each.grad

    return loop(parameters, loss_of, batches, rate, step=step_until)

# %% mistake="keeps_an_old_grad" theme="accumulation"
# A parameter that the batch does not use moves once more, along the gradient of an earlier batch.
# Параметр, который в батче не участвует, сдвигается ещё раз, по градиенту одного из прежних батчей.
def train_engine(parameters, loss_of, batches, rate):
    losses, before = [], {}
    for batch in batches:
        clear(parameters)
        loss = loss_of(batch)
        loss.backward()
        for each in parameters:
            before[each] = before.get(each) if each.grad is None else each.grad
            if before[each] is not None:
                each.data = each.data - rate * before[each]
        losses.append(loss.data.item())
    return losses

# %% mistake="keeps_the_losses_themselves" theme="graph_life"
# The losses came back as they are, each with its graph. `loss.data.item()` is a number and keeps nothing.
# Возвращены сами значения движка, каждое вместе со своим графом. Вызов `loss.data.item()` даёт обычное число.
def train_engine(parameters, loss_of, batches, rate):
    return loop(parameters, loss_of, batches, rate, note=lambda loss: loss)

# %% mistake="keeps_tensors" theme="return"
# The losses came back as tensors. `.item()` makes a float of each.
# Возвращены тензоры. Обычное число из каждого делает `.item()`.
def train_engine(parameters, loss_of, batches, rate):
    return loop(parameters, loss_of, batches, rate, note=lambda loss: loss.data)

# %% mistake="looks_again" theme="cost"
# `loss_of` is called twice for each batch. One call gives both the number and the backward pass.
# Функция `loss_of` вызвана для каждого батча дважды. И число, и обратный проход даёт один вызов.
def train_engine(parameters, loss_of, batches, rate):
    losses = []
    for batch in batches:
        losses.append(loss_of(batch).data.item())
        loop(parameters, loss_of, [batch], rate)
    return losses

# %% mistake="measures_after_the_step" theme="order"
# The losses are those after the step: `loss_of` ran once more, with the new weights.
# Это значения функции потерь после шага: `loss_of` вызвана ещё раз, при новых весах.
def train_engine(parameters, loss_of, batches, rate):
    losses = []
    for batch in batches:
        loop(parameters, loss_of, [batch], rate)
        losses.append(loss_of(batch).data.item())
    return losses

# %% mistake="adds_the_losses_up" theme="return"
# One number came back, the sum of the losses. A list with the loss of each batch is asked for.
# Возвращено одно число, сумма потерь. Нужен список: значение для каждого батча.
def train_engine(parameters, loss_of, batches, rate):
    return sum(loop(parameters, loss_of, batches, rate))

# %% mistake="averages_the_losses" theme="return"
# One number came back, the mean of the losses. A list with the loss of each batch is asked for.
# Возвращено одно число, среднее потерь. Нужен список: значение для каждого батча.
def train_engine(parameters, loss_of, batches, rate):
    return sum(loop(parameters, loss_of, batches, rate)) / len(batches)

# %% mistake="gives_the_last_loss" theme="return"
# The loss of the last batch alone came back. A list with the loss of each batch is asked for.
# Возвращено значение только для последнего батча. Нужен список: значение для каждого батча.
def train_engine(parameters, loss_of, batches, rate):
    return loop(parameters, loss_of, batches, rate)[-1]

# %% mistake="forgets_to_return" theme="return"
# The weights are right, but nothing came back: `return` is missing.
# Веса верны, но ничего не возвращено: забыт `return`.
def train_engine(parameters, loss_of, batches, rate):
    loop(parameters, loss_of, batches, rate)

# %% mistake="returns_inside_the_loop" theme="return"
# The loop ends after the first batch. So it is if `return` stands inside it.
# Цикл заканчивается после первого батча. Так бывает, если `return` стоит внутри него.
def train_engine(parameters, loss_of, batches, rate):
    return loop(parameters, loss_of, batches[:1], rate)

# %% mistake="rounds_the_losses" theme="precision"
# The losses are rounded. They should be as exact as `item()` gives them.
# Потери округлены. Нужны числа с той точностью, с какой их даёт `item()`.
def train_engine(parameters, loss_of, batches, rate):
    return loop(parameters, loss_of, batches, rate, note=lambda loss: round(loss.data.item(), 3))

# %% mistake="zeroes_by_a_number" theme="own"
# The engine's own values learn, torch's do not: `.grad` got a number, and torch takes only a tensor or None there.
# Значения движка обучаются, а тензоры torch — нет: в `.grad` записано число, а torch принимает там только тензор или None.
def train_engine(parameters, loss_of, batches, rate):
    def zero(parameters):
        for each in parameters:
            each.grad = 0

    return loop(parameters, loss_of, batches, rate, clear=zero)

# %% mistake="replaces_the_leaves" theme="own"
# No weight moves, and the leaves that `loss_of` uses are cleared no more. So it is if a step puts new leaves in their
#     place: change the `data` of the old ones.
# Ни один вес не меняется, а листья, с которыми работает `loss_of`, больше не обнуляются. Так бывает, если шаг ставит на
#     их место новые: меняйте `data` прежних.
def train_engine(parameters, loss_of, batches, rate):
    def renew(parameters, rate):
        for number, each in enumerate(parameters):
            if each.grad is not None:
                new = type(each)(each.data - rate * each.grad)
                parameters[number] = new

    return loop(parameters, loss_of, batches, rate, step=renew)

# %% mistake="asks_a_value_for_item" theme="own"
# The engine's values have no `item()`. The number is in their `data`, a tensor: `loss.data.item()`.
# У значений движка нет метода `item()`. Число лежит в тензоре `data`: `loss.data.item()`.
def train_engine(parameters, loss_of, batches, rate):
    return loop(parameters, loss_of, batches, rate, note=lambda loss: loss.item())

# %% mistake="subtracts_from_the_leaf" theme="own"
# The step subtracts a tensor from the leaf itself, and leaves of the engine know no minus. Change their `data`.
# Шаг вычитает тензор из самого листа, а листья движка вычитать не умеют. Меняйте их `data`.
def train_engine(parameters, loss_of, batches, rate):
    def subtract(parameters, rate):
        for each in parameters:
            each -= rate * each.grad

    return loop(parameters, loss_of, batches, rate, step=subtract)

# %% mistake="subtracts_anew" like="subtracts_from_the_leaf"
def train_engine(parameters, loss_of, batches, rate):
    def subtract(parameters, rate):
        for each in parameters:
            each = each - rate * each.grad

    return loop(parameters, loss_of, batches, rate, step=subtract)

# %% mistake="hires_an_optimizer" theme="own"
# An optimizer of torch takes tensors of torch alone, and leaves of the engine are none. Write the step by hand.
# Оптимизатор torch принимает только тензоры torch, а листья движка ими не являются. Напишите шаг сами.
def train_engine(parameters, loss_of, batches, rate):
    optimizer = torch.optim.SGD(parameters, lr=rate)
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        loss = loss_of(batch)
        loss.backward()
        optimizer.step()
        losses.append(loss.data.item())
    return losses

# %% mistake="takes_the_batch_apart" theme="own"
# `loss_of` got the parts of a batch one by one. It takes the batch as it is: `loss_of(batch)`.
# Функция `loss_of` получила части батча по отдельности. Она принимает батч целиком: `loss_of(batch)`.
def train_engine(parameters, loss_of, batches, rate):
    return loop(parameters, lambda batch: loss_of(*batch), batches, rate)

# %% mistake="subtracts_the_same_tensor" theme="in_place"
# What was in `.grad` before is kept without a copy. Torch adds in place, so it changes along, and the difference is 0.
# Прежнее содержимое `.grad` запомнено без копии. В torch сложение идёт на месте, меняются оба, и разность равна 0.
def train_engine(parameters, loss_of, batches, rate):
    losses = []
    for batch in batches:
        before = [each.grad for each in parameters]
        loss = loss_of(batch)
        loss.backward()
        for each, old in zip(parameters, before):
            if each.grad is not None:
                each.data = each.data - rate * (each.grad if old is None else each.grad - old)
        losses.append(loss.data.item())
    return losses
