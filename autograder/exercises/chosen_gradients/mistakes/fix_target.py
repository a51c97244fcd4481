# %%
import copy
import functools

import torch
from torch.nn.functional import mse_loss


def _train(net, target, optimizer, batch, discount, stopped=True, measure=mse_loss):
    """Make the step of `net`, right or with a path through the target."""
    state, reward, next_state, done = batch
    with torch.set_grad_enabled(not stopped):
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = measure(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def _follow(net, target, rate, buffers=True):
    for slow, fast in zip(target.parameters(), net.parameters()):
        slow.lerp_(fast, rate)
    for slow, fast in zip(target.buffers(), net.buffers() if buffers else []):
        slow.copy_(fast)

# %% mistake="not_stopped" theme="recording"
# The loss has a path through `target`: its `.grad` is filled, or a layer that both share is trained through the
#     goal as well.
# От функции потерь есть путь через `target`: заполняются её поля `.grad`, или слой, общий для обеих сетей,
#     обучается и через цель.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount, stopped=False)
    _follow(net, target, rate)
    return loss

# %% mistake="not_stopped_and_shrunk" like="not_stopped"
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount, stopped=False)
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.mul_(1 - rate).add_(fast, alpha=rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss

# %% mistake="average_gets_a_name" theme="in_place"
# `target` does not move: the average got the name `slow`, and the parameter of that name before is as it was.
# Сеть `target` не движется: имя `slow` получило новый тензор со средним, а параметр, который так назывался, остался
#     прежним.
def fix_target(net, target, optimizer, batch, discount, rate):
    return _train(net, target, optimizer, batch, discount)

# %% mistake="rate_the_other_way" theme="own"
# The roles of `rate` and `1 - rate` are swapped: `rate` is the share of the new weights.
# Множители `rate` и `1 - rate` перепутаны: `rate` — доля новых весов.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    _follow(net, target, 1 - rate)
    return loss

# %% mistake="copies_the_weights" theme="own"
# `target` has the weights of `net` after each step. It should move towards them by the share `rate`.
# После каждого шага у `target` те же веса, что у `net`. А она должна лишь сдвигаться к ним на долю `rate`.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    target.load_state_dict(net.state_dict())
    return loss

# %% mistake="shares_the_weights" theme="in_place"
# `target` and `net` share memory: what was assigned is no copy. From then on every step of the optimizer moves both.
# У `target` и `net` общая память: при присваивании ничего не скопировано. С этого момента каждый шаг оптимизатора
#     двигает обе сети.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    for slow, fast in zip(target.parameters(), net.parameters()):
        slow.data = fast.data
    for slow, fast in zip(target.buffers(), net.buffers()):
        slow.copy_(fast)
    return loss

# %% mistake="shares_the_buffers" like="shares_the_weights"
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    _follow(net, target, rate)
    for slow, fast in zip(target.buffers(), net.buffers()):
        slow.data = fast.data
    return loss

# %% mistake="follows_too_early" theme="order"
# `target` moved towards the weights from before the step.
# Сеть `target` сдвинулась к весам, какими они были до шага.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    _follow(net, target, rate)
    optimizer.step()
    return loss.item()

# %% mistake="goal_from_the_net" theme="own"
# The goal was computed by `net` itself. `target` is there to keep the goal steady while `net` moves.
# Цель вычислила сама `net`. Но `target` для того и нужна, чтобы цель оставалась почти неподвижной, пока `net` меняется.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, net, optimizer, batch, discount)
    _follow(net, target, rate)
    return loss

# %% mistake="stops_the_value" theme="recording"
# Nothing reaches the weights of `net` through its values: they are detached, and the goal is not.
# До весов `net` через её значения ничего не доходит: отсоединены они, а не цель.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1).detach(), goal)
    optimizer.zero_grad()
    if loss.requires_grad:
        loss.backward()
    optimizer.step()
    _follow(net, target, rate)
    return loss.item()

# %% mistake="freezes_the_target" theme="state"
# Everything moves rightly, but the parameters of `target` are frozen afterwards. A flag that the caller has set is not
#     yours to change.
# Всё движется верно, но параметры `target` после вызова заморожены. Флаги задаёт вызывающий код, менять их нельзя.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    _follow(net, target, rate)
    for parameter in target.parameters():
        if all(parameter is not other for other in net.parameters()):
            parameter.requires_grad_(False)
    return loss

# %% mistake="leaves_buffers_behind" theme="missing"
# The buffers of `target` stay behind: `parameters()` does not hold the statistics of a batch normalization.
# Буферы `target` остались прежними: статистики батч-нормализации в `parameters()` не входят.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    _follow(net, target, rate, buffers=False)
    return loss

# %% mistake="averages_the_buffers" theme="own"
# The buffers were averaged like the weights. They are statistics already, and are taken from `net` as they are.
# Буферы усреднены так же, как веса. Но это и так накопленные статистики, их берут из `net` без изменений.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    _follow(net, target, rate, buffers=False)
    with torch.no_grad():
        for slow, fast in zip(target.buffers(), net.buffers()):
            if slow.is_floating_point():
                slow.lerp_(fast, rate)
            else:
                slow.copy_(fast)
    return loss

# %% mistake="no_end_of_episode" theme="missing"
# The value of the next state counts even where the episode is over: `1 - done` is missing.
# Ценность следующего состояния учтена и там, где эпизод окончен: нет множителя `1 - done`.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    loss = _train(net, target, optimizer, (state, reward, next_state, 0 * done), discount)
    _follow(net, target, rate)
    return loss

# %% mistake="leaves_it_in_eval" theme="state"
# The modes of `target` were changed, and afterwards they are not what they were. Which mode it is in is the caller's
#     business.
# Режимы сети `target` изменены и после шага не такие, какими были. Их выбирает вызывающий код.
def fix_target(net, target, optimizer, batch, discount, rate):
    modes = [module.training for module in net.modules()]
    target.eval()
    for module, mode in zip(net.modules(), modes):
        module.train(mode) if not list(module.children()) else None
    loss = _train(net, target, optimizer, batch, discount)
    _follow(net, target, rate)
    return loss

# %% mistake="clears_the_target" theme="accumulation"
# The `.grad` of `target` was cleared. Nothing is trained there, and what was in it may belong to somebody else.
# Поля `.grad` у `target` обнулены. Она не обучается, а прежнее содержимое может быть нужно кому-то ещё.
def fix_target(net, target, optimizer, batch, discount, rate):
    target.zero_grad()
    loss = _train(net, target, optimizer, batch, discount)
    _follow(net, target, rate)
    return loss

# %% mistake="never_clears" theme="accumulation"
# Gradients of earlier passes have joined the step: nothing was cleared before `backward()`.
# В шаг вошли градиенты прежних проходов: перед `backward()` ничего не обнулено.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    loss.backward()
    optimizer.step()
    _follow(net, target, rate)
    return loss.item()

# %% mistake="new_parameters" theme="state"
# The values are right, but `target` has new parameters. Whoever holds the old ones, such as an optimizer or a hook, no
#     longer sees it move.
# Значения верны, но у `target` новые параметры. Кто хранит прежние, например хук или оптимизатор, больше не увидит, как
#     она меняется.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    fresh = [(1 - rate) * slow.detach() + rate * fast.detach() for slow, fast in zip(target.parameters(), net.parameters())]
    for (name, old), value in zip(list(target.named_parameters()), fresh):
        if all(old is not other for other in net.parameters()):
            owner, _, leaf = name.rpartition(".")
            setattr(target.get_submodule(owner), leaf, torch.nn.Parameter(value, requires_grad=old.requires_grad))
    for slow, fast in zip(target.buffers(), net.buffers()):
        slow.copy_(fast)
    return loss

# %% mistake="nothing_returned" theme="return"
# The networks are right, and no loss is returned.
# Обе сети изменены верно, а потери не возвращены.
def fix_target(net, target, optimizer, batch, discount, rate):
    _train(net, target, optimizer, batch, discount)
    _follow(net, target, rate)

# %% mistake="shrinks_what_is_shared" theme="in_place"
# A layer that both share has shrunk: the first operation in place changed the very weights that the second one reads.
# Общий слой уменьшился: первая операция на месте изменила те самые веса, которые читает вторая.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            slow.mul_(1 - rate).add_(fast, alpha=rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss

# %% mistake="every_value_with_every_goal" theme="axes"
# Each value was compared with each goal: $(n, 1)$ and $(n,)$ give $(n, n)$ differences.
# Каждое значение сравнивается с каждой целью: из форм $(n, 1)$ и $(n,)$ получается $(n, n)$ разностей.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = ((net(state) - goal) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    _follow(net, target, rate)
    return loss.item()

# %% mistake="freezes_the_shared_layer" theme="recording"
# `target` was frozen before the step, and with it the layer that both share: that one is no longer trained.
# Сеть `target` заморожена до шага, а с ней и общий слой: он больше не обучается.
def fix_target(net, target, optimizer, batch, discount, rate):
    target.requires_grad_(False)
    loss = _train(net, target, optimizer, batch, discount)
    _follow(net, target, rate)
    return loss

# %% mistake="clears_in_place_of_a_stop" theme="accumulation"
# The `.grad` of `target` was cleared after the pass. That stops no path: a shared layer loses its own gradient, too, and
#     what `.grad` held before the call is gone.
# После прохода поля `.grad` у `target` обнулены. Путь через цель этим не закрыт. К тому же пропадают и собственный
#     градиент общего слоя, и прежнее содержимое `.grad`.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    target.zero_grad()
    optimizer.step()
    _follow(net, target, rate)
    return loss.item()

# %% mistake="clears_before_the_step" theme="order"
# The step had no gradients: they were cleared between `backward()` and the step, or no path leads from the loss to
#     `net`.
# Шаг сделан без градиентов: они обнулены между `backward()` и шагом, или от функции потерь нет пути к `net`.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    _follow(net, target, rate)
    return loss.item()

# %% mistake="goal_in_inference_mode" theme="recording"
# Under `inference_mode` the goal becomes a tensor that autograd must not save. `no_grad` gives an ordinary constant.
# Внутри `inference_mode` цель становится тензором, который autograd не вправе сохранять. Внутри `no_grad` получается
#     обычная константа.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.inference_mode():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    _follow(net, target, rate)
    return loss.item()

# %% mistake="averages_all_of_the_state" like="averages_the_buffers"
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    with torch.no_grad():
        for slow, fast in zip(target.state_dict().values(), net.state_dict().values()):
            slow.copy_((1 - rate) * slow + rate * fast)
    return loss

# %% mistake="loss_after_the_step" theme="order"
# The loss was computed anew after the step. Asked for is the one before it.
# Потери вычислены заново, уже после шага. А нужны потери до него.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state).squeeze(-1)
    _train(net, target, optimizer, batch, discount)
    with torch.no_grad():
        loss = mse_loss(net(state).squeeze(-1), goal)
    _follow(net, target, rate)
    return loss.item()

# %% mistake="moves_while_recording" theme="recording"
# The target was changed in place while autograd was recording. A leaf that requires grad may be changed only under
#     `no_grad`.
# Цель изменена на месте при включённой записи. Лист, который требует градиента, можно менять только внутри `no_grad`.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    for slow, fast in zip(target.parameters(), net.parameters()):
        slow.lerp_(fast, rate)
    for slow, fast in zip(target.buffers(), net.buffers()):
        slow.copy_(fast)
    return loss

# %% mistake="goal_in_eval_mode" theme="state"
# The goal was computed in evaluation mode, although `target` came in training mode: its batch normalization then uses
#     other statistics.
# Цель вычислена в режиме оценки, хотя сеть `target` передана в режиме обучения: её батч-нормализация берёт тогда другие
#     статистики.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * copy.deepcopy(target).eval()(next_state).squeeze(-1)
    loss = mse_loss(net(state).squeeze(-1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    _follow(net, target, rate)
    return loss.item()

# %% mistake="moves_a_copy" theme="in_place"
# A copy of `target` moves, and `target` itself stays as it was.
# Движется копия сети `target`, а сама `target` остаётся прежней.
def fix_target(net, target, optimizer, batch, discount, rate):
    target = copy.deepcopy(target)
    loss = _train(net, target, optimizer, batch, discount)
    _follow(net, target, rate)
    return loss

# %% mistake="keeps_all_of_the_old" theme="own"
# The old weights keep their full share, and the new ones are added. The old ones belong to the factor `1 - rate`.
# Старые веса остались целиком, и к ним прибавлены новые. Старые нужно умножить на `1 - rate`.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), net.parameters()):
            if slow is not fast:
                slow.add_(fast, alpha=rate)
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss

# %% mistake="done_the_other_way" theme="own"
# The value of the next state counts only where the episode is over. It should count where it is not: `1 - done`.
# Ценность следующего состояния учтена только там, где эпизод окончен. А учитывать её нужно там, где он продолжается:
#     множитель `1 - done`.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    loss = _train(net, target, optimizer, (state, reward, next_state, 1 - done), discount)
    _follow(net, target, rate)
    return loss

# %% mistake="pairs_all_with_all" theme="axes"
# Outputs of shape (n, 1) meet rewards of shape (n,). They broadcast to a matrix, in which every sample is paired with
#     every other.
# Выходы формы (n, 1) встречаются с наградами формы (n,). По правилам broadcasting получается матрица, в которой каждый
#     пример составляет пару с каждым.
def fix_target(net, target, optimizer, batch, discount, rate):
    state, reward, next_state, done = batch
    with torch.no_grad():
        goal = reward + discount * (1 - done) * target(next_state)
    value = net(state)
    loss = ((value - goal) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    _follow(net, target, rate)
    return loss.item()

# %% mistake="sums_the_squares" theme="scaling"
# The squared differences were summed up. Asked for is their mean.
# Квадраты разностей сложены, а нужно их среднее.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount, measure=functools.partial(mse_loss, reduction="sum"))
    _follow(net, target, rate)
    return loss

# %% mistake="average_alone_gets_a_name" like="average_gets_a_name"
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    with torch.no_grad():
        for slow, fast in zip(target.buffers(), net.buffers()):
            slow.copy_(fast)
    return loss

# %% mistake="stops_recording_for_good" theme="state"
# Everything moves rightly, but recording stays off: the next step of training has no graph. Inside `with
#     torch.no_grad():` it is off for the block alone.
# Всё движется верно, но запись осталась выключенной: у следующего шага обучения не будет графа. Внутри `with
#     torch.no_grad():` она выключена только до конца блока.
def fix_target(net, target, optimizer, batch, discount, rate):
    loss = _train(net, target, optimizer, batch, discount)
    torch.set_grad_enabled(False)
    _follow(net, target, rate)
    return loss
