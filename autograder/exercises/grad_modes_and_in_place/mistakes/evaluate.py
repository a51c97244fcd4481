# %%
from contextlib import contextmanager

import torch
from torch.nn import BatchNorm1d, Dropout


@contextmanager
def _restoring_modes(model):
    """Restore the training mode of every module of `model` after the `with` block."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _predict(model, batches):
    """Return the predictions for each batch, as a right answer computes them."""
    with _restoring_modes(model), torch.no_grad():
        model.eval()
        return [model(x) for x in batches]


def leaves_it_in_eval(model, batches):
    model.eval()
    with torch.no_grad():
        return torch.cat([model(x) for x in batches])


def leaks_the_mode(model, batches):
    with _restoring_modes(model):
        model.eval()
        torch.set_grad_enabled(False)
        return torch.cat([model(x) for x in batches])


def freezes_the_model(model, batches):
    with _restoring_modes(model):
        model.eval().requires_grad_(False)
        return torch.cat([model(x) for x in batches])

# %% mistake="detaches_at_the_end" theme="cost"
# A graph was built and detached afterwards. The flag is right, but each batch was recorded, and its activations
#     were kept until its result was cut off.
# Граф построен, и только потом результат отсоединён. Флаг верный, но прямой проход записан, и активации каждого
#     батча хранились, пока результат не отсоединили.
def evaluate(model, batches):
    with _restoring_modes(model):
        model.eval()
        return torch.cat([model(x) for x in batches]).detach()

# %% mistake="one_big_batch" theme="cost"
# All batches went through the model as one. The activations of a layer are then as large as all batches together.
# Все батчи пропущены через модель как один. Активации слоя занимают при этом столько, сколько нужно всем батчам
#     вместе.
def evaluate(model, batches):
    with _restoring_modes(model), torch.no_grad():
        model.eval()
        predictions = model(torch.cat(batches))
        return predictions

# %% mistake="only_eval" theme="recording"
# The result requires grad: the forward pass was recorded, or a flag was set at the end. `eval()` does not switch
#     recording off, and `no_grad()` acts only after `with`.
# Результат требует градиента: прямой проход записан или флаг поставлен в конце. Вызов `eval()` запись не выключает,
#     а `no_grad()` действует только после `with`.
def evaluate(model, batches):
    with _restoring_modes(model):
        model.eval()
        return torch.cat([model(x) for x in batches])

# %% mistake="stays_in_training_mode" theme="recording"
# The model stayed in training mode. Dropout drew its mask, and batch norm used the batch and moved its statistics:
#     `no_grad()` does not change that.
# Модель осталась в режиме обучения. Dropout выбирал случайную маску, а нормализация брала статистики самого батча и
#     сдвигала накопленные: `no_grad()` этого не отменяет.
def evaluate(model, batches):
    with torch.no_grad():
        return torch.cat([model(x) for x in batches])

# %% mistake="switches_known_layers" theme="recording"
# Only dropout and batch norm were put into evaluation mode. Any layer may read `training`: here one of its own kind
#     does.
# В режим оценки переведены только dropout и батч-нормализация. Но читать `training` может любой слой, и здесь
#     такой слой есть.
def evaluate(model, batches):
    with _restoring_modes(model), torch.no_grad():
        for module in model.modules():
            if isinstance(module, (Dropout, BatchNorm1d)):
                module.eval()
        return torch.cat([model(x) for x in batches])

# %% mistake="leaves_it_in_eval" theme="state"
# The model was left in evaluation mode. The training that goes on has no dropout any more.
# Модель осталась в режиме оценки. Дальше она обучается уже без dropout.
def evaluate(model, batches):
    model.eval()
    with torch.no_grad():
        return torch.cat([model(x) for x in batches])

# %% mistake="trains_everything" theme="state"
# `train()` was called at the end, whatever the mode was before. It puts every module into training mode, also those
#     that had been in evaluation mode.
# В конце вызван метод `train()`, каким бы режим ни был раньше. Он переводит в режим обучения все модули, в том
#     числе те, что были в режиме оценки.
def evaluate(model, batches):
    predictions = leaves_it_in_eval(model, batches)
    model.train()
    return predictions

# %% mistake="remembers_one_mode" theme="state"
# The last call was `train(mode)` of the whole model. That sets every module inside, also the one that was in
#     another mode.
# Последним вызван метод `train(mode)` всей модели. Этот вызов переводит в нужный режим все модули внутри, в том
#     числе те, у которых режим был другим.
def evaluate(model, batches):
    mode = model.training
    predictions = leaves_it_in_eval(model, batches)
    model.train(mode)
    return predictions

# %% mistake="remembers_the_children" theme="state"
# The modes of the direct children were put back, each with `train(mode)`. That sets every module inside them as
#     well.
# Режимы запомнены только у слоёв первого уровня и возвращены через `train(mode)`. Этот вызов переводит в тот же
#     режим и все модули внутри них.
def evaluate(model, batches):
    mode, modes = model.training, [(child, child.training) for child in model.children()]
    predictions = leaves_it_in_eval(model, batches)
    model.training = mode
    for child, training in modes:
        child.train(training)
    return predictions

# %% mistake="leaks_the_mode" theme="state"
# `set_grad_enabled(False)` was called and never taken back. Everything after the call is not recorded, in the whole
#     program.
# Вызов `set_grad_enabled(False)` не отменён. После него запись выключена во всей программе.
def evaluate(model, batches):
    with _restoring_modes(model):
        model.eval()
        torch.set_grad_enabled(False)
        return torch.cat([model(x) for x in batches])

# %% mistake="switches_recording_on" theme="state"
# Recording was switched on at the end, whatever it was before. A caller inside `no_grad()` finds it on.
# В конце отслеживание включено, каким бы оно ни было раньше. Если функцию вызвали внутри `no_grad()`, после вызова
#     оно окажется включено.
def evaluate(model, batches):
    predictions = leaks_the_mode(model, batches)
    torch.set_grad_enabled(True)
    return predictions

# %% mistake="infers" theme="recording"
# The predictions were made under `inference_mode()`. They are inference tensors, which training may neither save
#     nor edit.
# Предсказания получены внутри `inference_mode()`. Это inference-тензоры: при обучении их нельзя ни сохранить, ни
#     изменить.
def evaluate(model, batches):
    with _restoring_modes(model), torch.inference_mode():
        model.eval()
        return torch.cat([model(x) for x in batches])

# %% mistake="freezes_the_model" theme="state"
# `requires_grad` of the weights was switched off and not put back. The model learns nothing afterwards.
# Флаг `requires_grad` у весов выключен и не включён обратно. После этого модель ничему не учится.
def evaluate(model, batches):
    with _restoring_modes(model):
        model.eval().requires_grad_(False)
        return torch.cat([model(x) for x in batches])

# %% mistake="thaws_the_model" theme="state"
# `requires_grad` of every weight is on at the end. One of them had been frozen before the call.
# В конце флаг `requires_grad` включён у всех весов, хотя один из них был заморожен ещё до вызова.
def evaluate(model, batches):
    predictions = freezes_the_model(model, batches)
    model.requires_grad_(True)
    return predictions

# %% mistake="clears_the_gradients" theme="accumulation"
# The gradients of the model were cleared. Nothing here puts anything into `.grad`, and the training around the call
#     may still need them.
# Градиенты модели обнулены. Предсказания ничего не добавляют в `.grad`, а обучению, посреди которого вызвана
#     функция, эти градиенты могут быть ещё нужны.
def evaluate(model, batches):
    model.zero_grad()
    return torch.cat(_predict(model, batches))

# %% mistake="uses_up_the_list" theme="in_place"
# The list was emptied on the way, as by `pop()`. It is the caller's, who may still need the batches.
# Список батчей опустел, например из-за `pop()`. А тому, кто вызвал функцию, батчи могут быть ещё нужны.
def evaluate(model, batches):
    predictions = torch.cat(_predict(model, batches))
    batches.clear()
    return predictions

# %% mistake="overwrites_the_list" theme="in_place"
# The batches in the list were replaced, as by `batches[i] = model(x)`. The list is the caller's, who may still need
#     them.
# Батчи в списке заменены, например присваиванием `batches[i] = model(x)`. А тому, кто вызвал функцию, они могут быть
#     ещё нужны.
def evaluate(model, batches):
    batches[:] = _predict(model, batches)
    return torch.cat(batches)

# %% mistake="returns_a_list" theme="missing"
# A list came back, one tensor for each batch. One tensor with all samples was asked for.
# Возвращён список, по тензору на батч, а нужен один тензор со всеми примерами.
def evaluate(model, batches):
    return _predict(model, batches)

# %% mistake="returns_an_array" theme="missing"
# A NumPy array came back. Training cannot use it: a tensor was asked for.
# Возвращён массив NumPy. Для обучения он не годится: нужен тензор.
def evaluate(model, batches):
    return torch.cat(_predict(model, batches)).numpy()

# %% mistake="makes_float32" theme="precision"
# The predictions are float32. They have to have the dtype of what `model` returns.
# Предсказания имеют тип float32. Их dtype должен быть тем же, что у выхода `model`.
def evaluate(model, batches):
    return torch.cat(_predict(model, batches)).float()

# %% mistake="stacks_the_batches" theme="axes"
# The predictions were stacked. `torch.stack` wants tensors of one shape and adds a dimension; here the batches have
#     different sizes.
# Предсказания соединены функцией `torch.stack`. Ей нужны тензоры одной формы, и она добавляет измерение, а размеры
#     батчей здесь разные.
def evaluate(model, batches):
    return torch.stack(_predict(model, batches))

# %% mistake="returns_the_first" theme="missing"
# Only the predictions of the first batch came back, as when `return` stands in the loop.
# Возвращены предсказания только для первого батча, например потому, что `return` стоит внутри цикла.
def evaluate(model, batches):
    return _predict(model, batches)[0]

# %% mistake="returns_the_last" theme="missing"
# Only the predictions of the last batch came back.
# Возвращены предсказания только для последнего батча.
def evaluate(model, batches):
    return _predict(model, batches)[-1]

# %% mistake="predicts_in_vain" theme="missing"
# Nothing was returned.
# Ничего не возвращено.
def evaluate(model, batches):
    _predict(model, batches)

# %% mistake="switches_dropout_only" theme="recording"
# Only dropout was put into evaluation mode. Batch norm reads `training` too, and so may any other layer.
# В режим оценки переведён только dropout. Но `training` читает и батч-нормализация, и любой другой слой тоже
#     может.
def evaluate(model, batches):
    with _restoring_modes(model), torch.no_grad():
        for module in model.modules():
            if isinstance(module, Dropout):
                module.eval()
        return torch.cat([model(x) for x in batches])

# %% mistake="joins_the_last_dimension" theme="axes"
# The predictions were joined along the last dimension. The samples lie along the first.
# Предсказания склеены по последнему измерению. А примеры идут вдоль измерения 0.
def evaluate(model, batches):
    return torch.cat(_predict(model, batches), dim=-1)

# %% mistake="drops_a_dimension" theme="axes"
# A dimension of size 1 is missing, as after `squeeze()`. The predictions have the shape that `model` gives them.
# Пропало измерение размера 1, как после `squeeze()`. Форма предсказаний должна быть той, какую даёт `model`.
def evaluate(model, batches):
    return torch.cat(_predict(model, batches)).squeeze()

# %% mistake="predictions_on_the_cpu" theme="device"
# The predictions that came back lie on the CPU, although model and batches lie on a GPU.
# Возвращённые предсказания лежат на CPU, хотя модель и батчи лежат на GPU.
def evaluate(model, batches):
    parts = _predict(model, batches)
    found, start = torch.empty(sum(map(len, parts)), *parts[0].shape[1:], dtype=parts[0].dtype), 0
    for part in parts:
        found[start : start + len(part)] = part
        start += len(part)
    return found
