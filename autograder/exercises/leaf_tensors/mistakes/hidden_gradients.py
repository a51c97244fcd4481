# %%
import torch


def run_layers(model, x):
    """Return the output of every layer; the last one is the loss."""
    outputs = []
    for layer in model:
        x = layer(x)
        outputs.append(x)
    return outputs


def adds_to_the_weights(model, x):
    outputs = run_layers(model, x)
    for output in outputs:
        output.retain_grad()
    outputs[-1].backward()
    return [output.grad for output in outputs]

# %% mistake="reads_what_was_not_kept" theme="recording"
# `.grad` of the intermediates is read after `backward()`. Their gradients were computed, but nothing asked to keep
#     them: None.
# После `backward()` читается `.grad` промежуточных тензоров. Их градиенты вычислены, но не сохранены, поэтому там
#     None.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    outputs[-1].backward()
    return [output.grad for output in outputs]

# %% mistake="asks_for_unused_copies" theme="recording"
# The list holds None: either `.grad` was read, which a result does not keep unasked, or the gradient was asked for
#     copies, from which the loss was not computed.
# В списке лежит None: либо прочитан `.grad`, который результат сам по себе не хранит, либо градиент запрошен для
#     копий, а функция потерь вычислена не из них.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    return list(torch.autograd.grad(outputs[-1], [output.clone() for output in outputs], allow_unused=True))

# %% mistake="asks_for_copies" theme="recording"
# The gradient is asked for tensors from which the loss was not computed, such as copies of the outputs or the
#     outputs of another pass.
# Градиент запрошен для тензоров, из которых функция потерь не вычислялась: например, для копий выходов или для
#     выходов другого прохода.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    return list(torch.autograd.grad(outputs[-1], [output.clone() for output in outputs]))

# %% mistake="asks_for_constants" theme="recording"
# The outputs are detached before their gradient is asked for. A detached tensor is a constant.
# Выходы отсоединены от графа ещё до того, как запрошен их градиент. Отсоединённый тензор — константа.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    return list(torch.autograd.grad(outputs[-1], [output.detach() for output in outputs]))

# %% mistake="writes_to_the_last_place" theme="own"
# All hooks write to the last place. A function made in a loop reads the loop's variable when it is called, and by
#     then that holds the last value.
# Все хуки пишут в последнее место. Функция, созданная в цикле, читает переменную цикла в момент вызова, а в ней
#     тогда уже последнее значение.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    (first,) = torch.autograd.grad(outputs[-1], outputs[0])
    return [*([None] * (len(outputs) - 1)), first]

# %% mistake="retains_too_late" theme="order"
# `retain_grad()` comes after `backward()`. It asks the next backward pass; this one has already thrown the
#     gradients away.
# Вызов `retain_grad()` стоит после `backward()`. Он относится к следующему обратному проходу, а в этом градиенты
#     уже не сохранились.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    outputs[-1].backward()
    for output in outputs:
        output.retain_grad()
    return [output.grad for output in outputs]

# %% mistake="local_derivatives" theme="derivative"
# These are local derivatives, each of one layer alone. Asked for are those of the loss: the chain rule multiplies
#     the local ones.
# Это локальные производные, каждая относится только к одному слою. Нужны производные функции потерь: по цепному
#     правилу локальные перемножаются.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    nexts = [*outputs[1:], outputs[-1]]
    return [torch.autograd.grad(b.sum(), a, retain_graph=True)[0] for a, b in zip(outputs, nexts)]

# %% mistake="detaches_every_output" theme="recording"
# Every output is detached and made a leaf before the next layer. That cuts the graph: no gradient goes from the
#     loss to the layers before.
# Каждый выход перед следующим слоем отсоединяется и становится листом. Граф оборван: градиент функции потерь до
#     предыдущих слоёв не доходит.
def hidden_gradients(model, x):
    outputs = []
    for layer in model:
        h = layer(x)
        x = h.detach().requires_grad_()
        outputs.append(x)
    h.backward()
    return [*(output.grad for output in outputs[:-1]), torch.ones_like(h)]

# %% mistake="in_backward_order" theme="order"
# The gradients stand in the order in which they were computed. A backward pass goes from the loss to the input, so
#     the list has to be turned around.
# Градиенты стоят в том порядке, в котором вычислялись. Обратный проход идёт от функции потерь ко входу, поэтому
#     список нужно перевернуть.
def hidden_gradients(model, x):
    gradients = []
    for output in (outputs := run_layers(model, x)):
        output.register_hook(gradients.append)
    outputs[-1].backward()
    return gradients

# %% mistake="leaves_out_the_loss" theme="missing"
# The last layer is missing. The loss is an output too, and its derivative with respect to itself is 1.
# Пропущен последний слой. Значение функции потерь — тоже выход, и его производная по самому себе равна 1.
def hidden_gradients(model, x):
    *hidden, loss = run_layers(model, x)
    return list(torch.autograd.grad(loss, hidden))

# %% mistake="begins_with_x" theme="missing"
# The list begins with the gradient of `x`. Asked for are the outputs of the layers alone.
# Список начинается с градиента по `x`, а нужны только выходы слоёв.
def hidden_gradients(model, x):
    h = x.detach().requires_grad_()
    outputs = run_layers(model, h)
    return list(torch.autograd.grad(outputs[-1], [h, *outputs]))

# %% mistake="gradients_of_weights" theme="derivative"
# These are the gradients of the weights. Asked for are those of the outputs that run through the network.
# Возвращены градиенты весов, а нужны градиенты выходов, которые слои передают дальше по сети.
def hidden_gradients(model, x):
    return list(torch.autograd.grad(run_layers(model, x)[-1], list(model.parameters())))

# %% mistake="forgets_to_keep_the_last" theme="recording"
# The loss was not asked to keep its own gradient. It is an output like the others: 1, not None.
# Градиент самого значения функции потерь не сохранён. Это такой же выход, как остальные, и его градиент равен 1, а
#     не None.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    for output in outputs[:-1]:
        output.retain_grad()
    outputs[-1].backward()
    return [output.grad for output in outputs]

# %% mistake="one_pass_for_each" theme="cost"
# A backward pass starts for every layer. One pass computes all of these gradients on its way.
# Обратный проход запускается для каждого слоя. Все эти градиенты вычисляются за один проход.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    return [torch.autograd.grad(outputs[-1], output, retain_graph=True)[0] for output in outputs]

# %% mistake="adds_to_the_weights" theme="accumulation"
# A plain `backward()` was run. The list is right, but that pass also added to `.grad` of every weight, in place:
#     the tensor that was there before, saved or not, has changed.
# Вызван обычный метод `backward()`. Список верен, но заодно к `.grad` каждого веса прибавлены градиенты, причём на
#     месте: тензор, который лежал там раньше, изменился, даже если его сохранить под другим именем.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    for output in outputs:
        output.retain_grad()
    outputs[-1].backward()
    return [output.grad for output in outputs]

# %% mistake="adds_to_the_weights_alone" like="adds_to_the_weights"
def hidden_gradients(model, x):
    return adds_to_the_weights(model, x.detach())

# %% mistake="restores_without_copies" theme="accumulation"
# The old `.grad` of the weights was put back, but not copied before: `backward()` had added to that very tensor.
# Прежний `.grad` возвращён весам, но перед этим не скопирован: `backward()` прибавил градиент к тому же тензору.
def hidden_gradients(model, x):
    old = [weight.grad for weight in model.parameters()]
    gradients = adds_to_the_weights(model, x.detach())
    for weight, gradient in zip(model.parameters(), old):
        weight.grad = gradient
    return gradients

# %% mistake="restores_without_copies_of_x" like="restores_without_copies"
def hidden_gradients(model, x):
    old = [weight.grad for weight in model.parameters()]
    gradients = adds_to_the_weights(model, x)
    for weight, gradient in zip(model.parameters(), old):
        weight.grad = gradient
    return gradients

# %% mistake="adds_to_x" theme="accumulation"
# The `.grad` of the weights is right again, but `x` may require grad, too: the pass added to `x.grad`.
# Поля `.grad` у весов прежние, но и `x` может требовать градиента: при обратном проходе к `x.grad` прибавлен
#     градиент.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    outputs[-1].backward(inputs=[*outputs, x] if x.requires_grad else outputs)
    return [output.grad for output in outputs]

# %% mistake="clears_the_weights" theme="accumulation"
# The gradients of the weights are cleared at the end. What was there before is gone, and the caller may still need
#     it.
# В конце градиенты весов обнуляются. Прежние градиенты пропали, а они ещё могли понадобиться.
def hidden_gradients(model, x):
    gradients = adds_to_the_weights(model, x)
    model.zero_grad()
    return gradients

# %% mistake="leaves_hooks" theme="state"
# Hooks were left on the layers. They will run in every later step of the training: keep their handles and
#     `remove()` them.
# На слоях остались хуки. Они будут срабатывать на каждом следующем шаге обучения: сохраните то, что вернула
#     регистрация, и вызовите `remove()`.
def hidden_gradients(model, x):
    outputs = []
    for layer in set(model):
        layer.register_forward_hook(lambda _, __, output: outputs.append(output))
    return list(torch.autograd.grad(model(x), outputs))

# %% mistake="hooks_a_layer_twice" theme="own"
# A hook is registered for each place in the model. A layer that stands there twice gets two hooks, and each of its
#     outputs is noted twice.
# Хук зарегистрирован для каждого места в модели. Слой, который стоит в ней дважды, получает два хука, и каждый его
#     выход записан дважды.
def hidden_gradients(model, x):
    outputs = []
    note = [layer.register_forward_hook(lambda _, __, output: outputs.append(output)) for layer in model]
    loss = model(x)
    for handle in note:
        handle.remove()
    return list(torch.autograd.grad(loss, outputs))

# %% mistake="keeps_one_output_of_each_layer" theme="missing"
# Outputs are stored under the layer that made them. A layer may stand in the model twice, and its second output
#     then replaces the first.
# Выходы хранятся по слою, который их вычислил. Один и тот же слой может стоять в модели дважды, и тогда второй
#     выход вытесняет первый.
def hidden_gradients(model, x):
    outputs = dict(zip(model, all_of_them := run_layers(model, x)))
    return list(torch.autograd.grad(all_of_them[-1], list(outputs.values())))

# %% mistake="tracks_the_data" theme="recording"
# `x` was asked to require grad. It belongs to the caller, and the outputs require grad without it.
# Флаг включён у самого `x`. Этот тензор создан в вызывающем коде, а выходы требуют градиента и без этого.
def hidden_gradients(model, x):
    outputs = run_layers(model, x.requires_grad_())
    return list(torch.autograd.grad(outputs[-1], outputs))

# %% mistake="runs_in_eval" theme="recording"
# The layers ran in `eval()` mode, though the model was training. A layer may compute something else there, as
#     dropout does: these are derivatives of another function.
# Слои выполнены в режиме `eval()`, хотя модель обучается. В этом режиме слой, например dropout, может вычислять
#     не то, и получаются производные другой функции.
def hidden_gradients(model, x):
    outputs = run_layers(model.eval(), x)
    return list(torch.autograd.grad(outputs[-1], outputs))

# %% mistake="always_ends_in_training" theme="state"
# At the end the model is always in the mode of `train()`. It may have been in the other one before.
# В конце модель всегда переведена в режим `train()`. Но до вызова она могла быть в другом режиме.
def hidden_gradients(model, x):
    outputs = run_layers(model, x)
    model.train()
    return list(torch.autograd.grad(outputs[-1], outputs))

# %% mistake="leaves_them_frozen" theme="state"
# Every weight is frozen and was left so. A weight that was to be trained does not require grad any more.
# Все веса заморожены и такими остались. Веса, которые обучались, больше не требуют градиента.
def hidden_gradients(model, x):
    model.requires_grad_(False)
    outputs = run_layers(model, x.detach().requires_grad_())
    return list(torch.autograd.grad(outputs[-1], outputs))

# %% mistake="thaws_everything" theme="state"
# A weight that was frozen before the call requires grad after it. Each flag has to get its old value back.
# Вес, замороженный ещё до вызова, после него требует градиента. Каждому флагу нужно вернуть прежнее значение.
def hidden_gradients(model, x):
    model.requires_grad_(False)
    outputs = run_layers(model, x.detach().requires_grad_())
    for output in outputs:
        output.retain_grad()
    outputs[-1].backward()
    model.requires_grad_(True)
    return [output.grad for output in outputs]

# %% mistake="gradients_of_inputs" theme="derivative"
# These are the gradients of the layers' inputs. Asked for are those of the outputs: the list begins one layer later
#     and ends with the loss.
# Возвращены градиенты входов слоёв, а нужны градиенты выходов: список начинается на слой позже и заканчивается
#     функцией потерь.
def hidden_gradients(model, x):
    h = x.detach().requires_grad_()
    outputs = run_layers(model, h)
    return list(torch.autograd.grad(outputs[-1], [h, *outputs[:-1]]))

# %% mistake="detaches_the_inputs" theme="recording"
# No graph leads back from the loss: each layer got a detached input, or the layers ran under `no_grad()`.
# Графа, который вёл бы от функции потерь назад, нет: каждый слой получил отсоединённый вход или слои вычислены
#     внутри `no_grad()`.
def hidden_gradients(model, x):
    outputs = []
    for layer in model:
        x = layer(x.detach())
        outputs.append(x)
    return list(torch.autograd.grad(x, outputs))

# %% mistake="returns_the_outputs" theme="missing"
# The outputs themselves were returned. Asked for are the derivatives of the loss with respect to them.
# Возвращены сами выходы, а нужны производные функции потерь по ним.
def hidden_gradients(model, x):
    return run_layers(model, x)
