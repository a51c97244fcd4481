# %%
import torch
from torch.nn import Sequential


def _losses(G, D, real, ideas):
    """Return the losses of the discriminator `D` and the generator `G`.

    Both use the same call of `D` on generated samples. `ideas` is the input of `G`, `real` are real samples.
    """
    score_real, score_fake = D(real), D(G(ideas))
    d_loss = -score_real.log().mean() - (1 - score_fake).log().mean()
    return d_loss, (1 - score_fake).log().mean()


def _descend(optimizer, loss):
    """Take one optimizer step on `loss`, after clearing old gradients."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _fill_gradients(G, D, d_loss, g_loss):
    """Fill `.grad` of `D` and of `G` with the gradient of the network's own loss, as the solution does."""
    for network, loss in ((D, d_loss), (G, g_loss)):
        network.zero_grad()
        loss.backward(inputs=list(network.parameters()), retain_graph=True)

# %% mistake="steps_too_early" theme="order"
# One of the steps still comes before the second backward pass. `retain_graph` keeps what the graph saved, but those
#     are the weights themselves, and the step edits them.
# Один из шагов по-прежнему стоит до второго обратного прохода. Аргумент `retain_graph` не даёт освободить
#     сохранённое, но сохранены сами веса, а шаг их меняет.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_D.step()
    g_loss.backward()
    opt_G.step()

# %% mistake="frees_the_graph" theme="graph_life"
# The first backward pass freed what the second one needs: both go through the same call of `D`.
# Первый обратный проход освободил то, что нужно второму: оба идут через один и тот же вызов `D`.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    opt_D.zero_grad()
    d_loss.backward()
    opt_G.zero_grad()
    g_loss.backward()
    opt_D.step()
    opt_G.step()

# %% mistake="pollutes_D" theme="accumulation"
# `D` learned from the real samples alone. When both backward passes come before the steps, `g_loss` adds its
#     gradient to the weights of `D`, and on the fakes the two losses have opposite signs.
# Сеть `D` учится только на настоящих примерах. Если оба обратных прохода стоят до шагов, проход от `g_loss`
#     прибавляет свой градиент к градиентам весов `D`, а на подделках знаки двух функций потерь противоположны.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    opt_D.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_G.zero_grad()
    g_loss.backward()
    opt_D.step()
    opt_G.step()

# %% mistake="mixes_both" theme="accumulation"
# All gradients were cleared once, at the start, and both losses were added up in all weights. They cancel on the
#     fakes: `G` does not move, and `D` learns from the real samples alone.
# Градиенты обнулены один раз, в начале, и у всех весов сложились градиенты обеих функций потерь. На подделках они
#     взаимно уничтожаются: сеть `G` не меняется, а `D` учится только на настоящих примерах.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    (d_loss + g_loss).backward()
    opt_D.step()
    opt_G.step()

# %% mistake="clears_D_again" theme="accumulation"
# The gradients of `D` were cleared again before the backward pass of `g_loss`. The step of `D` then follows the
#     gradient of `g_loss`, which has filled its weights as well.
# Перед обратным проходом от `g_loss` градиенты сети `D` обнулены ещё раз. Поэтому шаг `D` сделан по градиенту
#     `g_loss`, который накопился и у её весов.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    opt_D.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_D.zero_grad()
    opt_G.zero_grad()
    g_loss.backward()
    opt_D.step()
    opt_G.step()

# %% mistake="pollutes_G" theme="accumulation"
# `D` is right, but `G` stands still: the backward pass of `d_loss` went through `G` as well, and what it left in
#     `.grad` was not cleared before that of `g_loss`. On the fakes the two cancel.
# Сеть `D` обучена верно, а `G` стоит на месте: обратный проход от `d_loss` тоже идёт через `G`, и то, что он
#     оставил в `.grad`, не обнулено перед проходом от `g_loss`. На подделках два градиента взаимно уничтожаются.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(retain_graph=True)
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()

# %% mistake="judges_again" theme="order"
# The step of `D` was made first and the fakes were judged again by the new `D`. Many programs do so, but here both
#     gradients belong to the weights from before the call.
# Сначала сделан шаг сети `D`, а подделки оценены уже новой `D`. Так делают многие программы, но здесь оба градиента
#     берутся при весах, которые были до вызова.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    _descend(opt_D, _losses(G, D, real, ideas)[0])
    _descend(opt_G, _losses(G, D, real, ideas)[1])

# %% mistake="paints_again" theme="order"
# `G` made its step first and `D` judged the fakes of the new `G`. Both gradients belong to the weights from before
#     the call.
# Сначала сделан шаг сети `G`, а `D` оценила подделки уже новой `G`. Оба градиента берутся при весах, которые были
#     до вызова.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    _descend(opt_G, _losses(G, D, real, ideas)[1])
    _descend(opt_D, _losses(G, D, real, ideas)[0])

# %% mistake="cuts_off_G" theme="recording"
# `G` had no gradient when its step came: the fakes were cut off from `G` for both losses, `g_loss` made no backward
#     pass, or `.grad` was cleared after it.
# К моменту своего шага сеть `G` осталась без градиента: подделки отсоединены от `G` для обеих функций потерь,
#     обратного прохода от `g_loss` не было или поле `.grad` обнулено после него.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    opt_G.zero_grad()
    _descend(opt_D, _losses(Sequential(), D, real, G(ideas).detach())[0])
    opt_G.step()

# %% mistake="hides_the_step" theme="in_place"
# The step of `D` was hidden from the version counter, as by `.data` or by restoring it. The backward pass of
#     `g_loss` used the new weights of `D`: a gradient of no loss.
# Шаг сети `D` скрыт от счётчика версий: сделан через `.data` или счётчик восстановлен. Обратный проход от `g_loss`
#     взял новые веса `D`, и получился градиент функции потерь, которую никто не вычислял.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    opt_D.zero_grad()
    d_loss.backward(retain_graph=True)
    with torch.autograd._unsafe_preserve_version_counter(tuple(D.parameters())):
        opt_D.step()
    opt_G.zero_grad()
    g_loss.backward()
    opt_G.step()

# %% mistake="clears_nothing" theme="accumulation"
# The old gradients were not cleared: what lay in `.grad` before the call has become part of the step.
# Старые градиенты не обнулены: в шаг вошло то, что лежало в `.grad` до вызова.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    d_loss.backward(inputs=list(D.parameters()), retain_graph=True)
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()

# %% mistake="climbs" theme="derivative"
# `G` stepped uphill on its loss: the sign is wrong.
# Шаг сети `G` увеличивает её функцию потерь: знак неверен.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    _fill_gradients(G, D, d_loss, -g_loss)
    opt_D.step()
    opt_G.step()

# %% mistake="climbs_with_D" theme="derivative"
# `D` stepped uphill on its loss: the sign is wrong.
# Шаг сети `D` увеличивает её функцию потерь: знак неверен.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    _fill_gradients(G, D, -d_loss, g_loss)
    opt_D.step()
    opt_G.step()

# %% mistake="learns_from_another_loss" theme="derivative"
# `G` learns from $-\overline{\log D(G(\text{ideas}))}$. Many programs use it, but here the loss of `G` is another
#     one.
# Сеть `G` учится на $-\overline{\log D(G(\text{ideas}))}$. Так делают многие программы, но здесь у `G` другая
#     функция потерь.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, _ = _losses(G, D, real, ideas)
    _fill_gradients(G, D, d_loss, -D(G(ideas)).log().mean())
    opt_D.step()
    opt_G.step()

# %% mistake="pollutes_D_with_another_loss" theme="accumulation"
# `G` learns from $-\overline{\log D(G(\text{ideas}))}$, not from the loss asked for, and that gradient was added to
#     the one in the weights of `D` before their step.
# Сеть `G` учится на $-\overline{\log D(G(\text{ideas}))}$, а это другая функция потерь. К тому же её градиент ещё
#     до шага прибавлен к градиенту весов `D`.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    opt_D.zero_grad()
    _losses(G, D, real, ideas)[0].backward()
    opt_G.zero_grad()
    (-D(G(ideas)).log().mean()).backward()
    opt_D.step()
    opt_G.step()

# %% mistake="plays_the_usual_game" theme="order"
# `D` makes a step first, and `G` then learns from $-\overline{\log D(G(\text{ideas}))}$ with the new `D`. Many
#     programs do so; here `G` has another loss, at the weights from before the call.
# Сначала сделан шаг сети `D`, а `G` потом учится на $-\overline{\log D(G(\text{ideas}))}$ с новой `D`. Так делают
#     многие программы, но здесь у `G` другая функция потерь, и берётся она при весах, которые были до вызова.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    _descend(opt_D, _losses(G, D, real, ideas)[0])
    _descend(opt_G, -D(G(ideas)).log().mean())

# %% mistake="sums_over_samples" theme="scaling"
# The losses were computed as sums over the samples, not as means.
# Функции потерь вычислены как суммы по примерам, а нужны средние.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    score_real, score_fake = D(real), D(G(ideas))
    d_loss = -score_real.log().sum() - (1 - score_fake).log().sum()
    _fill_gradients(G, D, d_loss, (1 - score_fake).log().sum())
    opt_D.step()
    opt_G.step()

# %% mistake="steps_by_hand" theme="missing"
# The weights were moved by hand. The step belongs to the optimizer: Adam, for one, does not subtract `lr` times the
#     gradient.
# Веса изменены вручную. Шаг должен делать оптимизатор: Adam, например, вычитает не градиент, умноженный на `lr`.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    for_D = torch.autograd.grad(d_loss, list(D.parameters()), retain_graph=True)
    for_G = torch.autograd.grad(g_loss, list(G.parameters()))
    with torch.no_grad():
        for network, gradients, optimizer in ((D, for_D, opt_D), (G, for_G, opt_G)):
            for parameter, gradient in zip(network.parameters(), gradients):
                parameter.sub_(optimizer.param_groups[0]["lr"] * gradient)

# %% mistake="makes_no_step" theme="missing"
# Neither network made a step: the gradients are there, but the weights did not move.
# Шаг не сделан ни у одной из сетей: градиенты есть, но веса не изменились.
def gan_step(*game):
    G, D, _, _, real, ideas = game
    _fill_gradients(G, D, *_losses(G, D, real, ideas))

# %% mistake="clears_before_the_steps" theme="order"
# `zero_grad()` stands between the backward passes and the steps. An optimizer that finds no gradient moves nothing.
# Вызов `zero_grad()` стоит между обратными проходами и шагами. Без градиентов оптимизатор ничего не меняет.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    d_loss.backward(retain_graph=True)
    g_loss.backward()
    opt_D.zero_grad()
    opt_G.zero_grad()
    opt_D.step()
    opt_G.step()

# %% mistake="leaves_D_frozen" theme="state"
# `D` was frozen for the backward pass of `g_loss` and stayed so. Its flags were to be as before.
# Сеть `D` заморожена на время обратного прохода от `g_loss` и не разморожена. Её флаги должны были остаться
#     прежними.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(inputs=list(D.parameters()), retain_graph=True)
    D.requires_grad_(False)
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()

# %% mistake="forgets_D" theme="missing"
# The step of `D` is missing.
# Шаг сети `D` не сделан.
def gan_step(*game):
    G, D, opt_G, _, real, ideas = game
    _descend(opt_G, _losses(G, D, real, ideas)[1])

# %% mistake="forgets_G" theme="missing"
# The step of `G` is missing: only `D` made one.
# Шаг сети `G` не сделан: обновлена только `D`.
def gan_step(*game):
    G, D, _, opt_D, real, ideas = game
    _descend(opt_D, _losses(G, D, real, ideas)[0])

# %% mistake="thaws_D" theme="state"
# `D` was frozen for a while, and at the end all its flags were switched on. A weight that had been frozen before
#     the call learns now.
# Сеть `D` на время заморожена, а в конце флаги включены у всех её весов. Вес, замороженный ещё до вызова, теперь
#     обучается.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    fake = G(ideas)
    D.requires_grad_(False)
    opt_G.zero_grad()
    (1 - D(fake)).log().mean().backward()
    D.requires_grad_(True)
    opt_D.zero_grad()
    (-D(real).log().mean() - (1 - D(fake.detach())).log().mean()).backward()
    opt_D.step()
    opt_G.step()

# %% mistake="trains_D" theme="state"
# `D` was put into training mode as a whole. A module of it that had been in evaluation mode is not any more.
# Сеть `D` целиком переведена в режим обучения. Модуль, который был в режиме оценки, из него вышел.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    _fill_gradients(G, D, *_losses(G, D, real, ideas))
    D.train()
    opt_D.step()
    opt_G.step()

# %% mistake="leaves_D_in_eval" theme="state"
# `D` was left in evaluation mode. Its modes were to be as before.
# Сеть `D` осталась в режиме оценки, а её режимы должны были остаться прежними.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    D.eval()
    _fill_gradients(G, D, *_losses(G, D, real, ideas))
    opt_D.step()
    opt_G.step()

# %% mistake="detaches_the_fakes" theme="recording"
# The fakes are detached from `G` for `g_loss` as well: `G` gets no gradient at all. And `g_loss` added its gradient
#     to the weights of `D`, which so learned from the real samples alone.
# Подделки отсоединены от `G` и для `g_loss`: сеть `G` вовсе не получает градиента. А проход от `g_loss` прибавил
#     свой градиент к градиентам весов `D`, и та училась только на настоящих примерах.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(Sequential(), D, real, G(ideas).detach())
    opt_D.zero_grad()
    opt_G.zero_grad()
    d_loss.backward(retain_graph=True)
    g_loss.backward()
    opt_D.step()
    opt_G.step()

# %% mistake="forgets_to_clear_G" theme="accumulation"
# `D` is right, but the old gradients of `G` were not cleared: what lay there before the call is part of the step.
# Сеть `D` обучена верно, но старые градиенты `G` не обнулены: в шаг вошло то, что лежало там до вызова.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    opt_D.zero_grad()
    d_loss.backward(inputs=list(D.parameters()), retain_graph=True)
    g_loss.backward(inputs=list(G.parameters()))
    opt_D.step()
    opt_G.step()

# %% mistake="halves_the_loss_of_D" theme="scaling"
# The loss of `D` was halved. Asked for is the sum of its two means.
# Функция потерь сети `D` поделена пополам, а нужна сумма двух средних.
def gan_step(*game):
    G, D, opt_G, opt_D, real, ideas = game
    d_loss, g_loss = _losses(G, D, real, ideas)
    _fill_gradients(G, D, d_loss / 2, g_loss)
    opt_D.step()
    opt_G.step()
