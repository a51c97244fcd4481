# %% [markdown] tags=["en"] needs="04, 07, 10" about="Functions that hold under `vmap`, forward mode, a second derivative and autocast"
# # Functions under transforms
#
# A custom Function passes `gradcheck` and trains for a year. Then somebody puts your model under `vmap`, takes a Hessian of it, or starts autocast around the training loop. One of the three raises an error. The other two give numbers: a Hessian of zeros, a loss of 16, 16, 16.
#
# `backward()` asks a Function for one thing, a vector-Jacobian product. A *transform* asks for more: a rule for batches, a derivative in the direction of a tangent, a `backward` that can be differentiated again, a dtype for each of the passes. Where the answer is missing, torch says so. Where it is wrong, nobody does.
#
# After this lesson you can:
#
# * say which of `grad`, `vmap`, `jvp`, `jacrev` and `jacfwd` accepts a given Function;
# * write the rule for batches where torch cannot make one, for inputs with and without a batch;
# * write a `jvp` for several inputs and outputs;
# * name the case in which `once_differentiable` stays silent;
# * place a region of autocast so that it does not compute with old weights, and make a Function right inside it.
#
# You need lessons 04 (`vmap`, forward mode), 07 (custom Functions) and 10 (gradients of gradients).
# %% [markdown] tags=["ru"] about="пользовательские функции, верные при `vmap`, прямом режиме, второй производной и autocast"
# # Функции внутри преобразований
#
# Пользовательская функция проходит `gradcheck` и год работает в обучении. Потом кто-то применяет к вашей модели `vmap`, вычисляет её матрицу Гессе или включает autocast вокруг цикла обучения. Один из трёх случаев кончается ошибкой. Два других дают числа: матрицу Гессе из одних нулей и потери 16, 16, 16.
#
# Проходу `backward()` нужно от функции только одно: произведение вектора на матрицу Якоби. *Преобразованию* нужно больше: правило для батча, производная по направлению касательного вектора, такой `backward`, который можно продифференцировать ещё раз, верный dtype в каждом проходе. Если чего-то нет, torch об этом сообщит. Если что-то неверно, не сообщит никто.
#
# После урока вы сможете:
#
# * сказать, какое из преобразований `grad`, `vmap`, `jvp`, `jacrev` и `jacfwd` примет данную функцию;
# * написать правило для батча, если torch не может составить его сам, для входов с батчем и без него;
# * написать `jvp` для нескольких входов и выходов;
# * назвать случай, в котором `once_differentiable` ни о чём не предупредит;
# * выбрать место для области autocast так, чтобы вычисления не шли со старыми весами, и написать функцию, верную внутри неё.
#
# Понадобятся уроки 04 (`vmap`, прямой режим), 07 (пользовательские функции) и 10 (градиенты градиентов).
# %% tags=["en"]
# The import fails? Install the course's file (or autograd-course) with pip, uninstall the other `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("transforms", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите через pip файл курса (или autograd-course), а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("transforms", language="ru")
# %%
import numpy as np
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.nn.functional import mse_loss


# %% [markdown] tags=["en"]
# ## Old weights
#
# Not every transform has a function of its own. `torch.autocast` is one as well: inside its region matrix products are computed in bfloat16, whoever wrote them. Below is one layer with a weight of ones, three steps of descent, and two places for the region. Which one learns?
# %% [markdown] tags=["ru"]
# ## Старые веса
#
# Преобразование не обязательно вызывают как функцию. `torch.autocast` — тоже преобразование: внутри его области матричные произведения вычисляются в bfloat16, кто бы их ни написал. Ниже — один слой с весом из единиц, три шага спуска и два места для этой области. При каком из них слой учится?
# %%
from contextlib import nullcontext


def region(**options):
    return torch.autocast("cpu", torch.bfloat16, **options)


def three_steps(around_all, around_forward):
    layer = torch.nn.Linear(4, 1, bias=False)
    torch.nn.init.ones_(layer.weight)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    losses = []
    with around_all:
        for _ in range(3):
            with around_forward():
                y = layer(torch.ones(2, 4))
            loss = y.float().pow(2).mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses.append(round(loss.item(), 3))
    return losses, layer.weight[0, 0].item()


print("region per forward:  ", *three_steps(nullcontext(), region))
print("region around it all:", *three_steps(region(), nullcontext))
# %% tags=["fact"]
losses, weight = three_steps(nullcontext(), region)
assert losses == [16, 0.641, 0.025] and abs(weight) < 0.05
losses, weight = three_steps(region(), nullcontext)
assert losses == [16, 16, 16] and abs(weight + 1.4) < 0.02
assert three_steps(region(enabled=False), region)[0] == [16, 16, 16]
for both in ((region(cache_enabled=False), nullcontext), (region(enabled=False), lambda: region(cache_enabled=False))):
    assert three_steps(*both)[0] == [16, 0.641, 0.025]
layer = torch.nn.Linear(2, 2)
with region():
    layer(torch.ones(1, 2))
    before = layer(torch.ones(1, 2)).clone()
    with torch.no_grad():
        layer.weight.add_(1)
    assert torch.equal(before, layer(torch.ones(1, 2)))
    torch.clear_autocast_cache()
    assert not torch.equal(before, layer(torch.ones(1, 2)))
# %% [markdown] tags=["en"]
# The second one does not stand still: its weight runs to $-1.4$, away from 0, by the same gradient again and again. But the loss is 16 each time, because the forward pass multiplies by a copy. autocast converts a weight to bfloat16 at its first use and keeps the copy, so that a weight used twice is converted once. The copies are thrown away when the *outermost* region ends. An optimizer that changes the weight in the meantime does not touch them: no version counter of lesson 05 watches, and no warning comes.
#
# The outermost region need not be yours. If a caller has put `autocast(enabled=False)` around your function, your regions are inner ones, and their copies live as long as the caller's. Two things help: `cache_enabled=False` in your own region, or `torch.clear_autocast_cache()` after each step.
#
# ### Exercise `fix_region`: a loss that does not fall
# *find the bug · ●●○ · 10 minutes · 3 points*
#
# Mend this training loop. It should do what it says, also when the caller has a region around it.
#
# * **Given.** `model`, a module of float32; it is called once per step, in the mode in which it is. Some parameters may be frozen, used twice, or not used at all.
# * **Given.** `batches`, a list of pairs of an input and a target, one per step; `rate`, the learning rate of plain descent. The call may stand in a region `torch.autocast("cpu", torch.bfloat16, enabled=False)` of the caller's.
# * **Result.** A list with the loss of each step as a Python number, computed with the weights of that step. <!-- losses -->
# * **Result.** The weights after all steps; no `.grad` is left to be added up. <!-- weights -->
# * **Result.** The layers compute in bfloat16, and the weights stay in float32. <!-- dtypes -->
# * **Leave.** Frozen parameters. <!-- weights -->
# %% [markdown] tags=["ru"]
# Во втором случае вес на месте не стоит: он уходит к $-1.4$, прочь от нуля, под действием одного и того же градиента. Но потери всякий раз равны 16, потому что прямой проход умножает на копию. При первом использовании autocast преобразует вес в bfloat16 и хранит копию, чтобы не преобразовывать дважды вес, который нужен дважды. Копии выбрасываются, когда заканчивается самая *внешняя* область. Если за это время оптимизатор изменит вес, копий это не коснётся: счётчик версий из урока 05 за ними не следит, и предупреждения не будет.
#
# Внешней может оказаться и не ваша область. Если вызывающий код поставил вокруг вашей функции `autocast(enabled=False)`, ваши области — внутренние, и копии живут до конца чужой. Помогает одно из двух: `cache_enabled=False` в своей области или `torch.clear_autocast_cache()` после каждого шага.
#
# ### Упражнение `fix_region`: функция потерь, которая не падает
# *найти ошибку · ●●○ · 10 минут · 3 балла*
#
# Исправьте этот цикл обучения. Он должен работать верно и тогда, когда вокруг вызова есть чужая область.
#
# * **Дано.** Модуль `model` с параметрами float32; на каждом шаге он вызывается один раз, в том режиме, в котором находится. Какие-то параметры могут быть заморожены, использованы дважды или не использованы вовсе.
# * **Дано.** Список `batches` из пар «вход, правильный ответ», по одной на шаг; `rate` — скорость обучения для обычного спуска. Вызов может стоять внутри чужой области `torch.autocast("cpu", torch.bfloat16, enabled=False)`.
# * **Результат.** Список потерь по шагам, чисел Python; потери каждого шага вычислены с весами этого шага. <!-- losses -->
# * **Результат.** Веса после всех шагов; градиенты от шага к шагу не складываются. <!-- weights -->
# * **Результат.** Слои вычисляют в bfloat16, а веса остаются в float32. <!-- dtypes -->
# * **Не менять.** Замороженные параметры. <!-- weights -->
# %% answer="fix_region"
def fix_region(model, batches, rate):
    losses = []
    for x, y in batches:
        with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
            output = model(x)
        loss = mse_loss(output.float(), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= rate * p.grad
        model.zero_grad()
        losses.append(loss.item())
    return losses


# %% given="fix_region"
def fix_region(model, batches, rate):
    losses = []
    with torch.autocast("cpu", torch.bfloat16):
        for x, y in batches:
            output = model(x)
            loss = mse_loss(output.float(), y)
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    if p.grad is not None:
                        p -= rate * p.grad
            model.zero_grad()
            losses.append(loss.item())
    return losses


# %% alternative="fix_region"
def fix_region(model, batches, rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    losses = []
    for x, y in batches:
        torch.clear_autocast_cache()
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = mse_loss(model(x).float(), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    return losses


# %% alternative="fix_region"
def fix_region(model, batches, rate):
    losses = []
    with torch.autocast("cpu", torch.bfloat16, cache_enabled=False):
        for x, y in batches:
            loss = mse_loss(model(x).float(), y)
            learning = [p for p in model.parameters() if p.requires_grad]
            for p, g in zip(learning, torch.autograd.grad(loss, learning, allow_unused=True)):
                if g is not None:
                    p.data.sub_(rate * g)
            losses.append(loss.item())
    return losses


# %% alternative="fix_region"
@torch.autocast("cpu", torch.bfloat16)
def fix_region(model, batches, rate):
    losses = []
    for x, y in batches:
        loss = ((model(x).float() - y) ** 2).mean()
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad if p.grad is not None else 0.0, alpha=-rate)
                p.grad = None
        torch.clear_autocast_cache()
    return losses


# %% check="fix_region"
from autograder import check

check("fix_region")


# %% [markdown] tags=["en"]
# ## What to keep
#
# * `torch.func` wants `forward` without a context and `setup_context`. `vmap` wants a rule, forward mode a `jvp`; `jacfwd` and `hessian` want both. `jacrev` runs `vmap` over `backward` alone.
# * `generate_vmap_rule = True` traces your methods. NumPy or another library inside needs a rule by hand: move each batch to the front, add the dimensions that a sample lacks.
# * `jvp` gets a tangent for each input, zeros where none was given, and reads what `save_for_forward` saved. It is not differentiated forward again: for second derivatives use `hessian`.
# * `once_differentiable` is no guard. Where the gradient that arrives is constant, or under `torch.func`, a term of the second derivative is missing without a word.
# * One autocast region per forward pass. The bfloat16 copies of weights live until the outermost region ends.
# * `custom_fwd` and `custom_bwd` go together, above `forward(ctx, ...)` and `backward`.
# %% [markdown] tags=["ru"]
# ## Что стоит запомнить
#
# * Для `torch.func` нужны `forward` без контекста и `setup_context`. Для `vmap` нужно правило, для прямого режима — `jvp`, а для `jacfwd` и `hessian` — и то и другое. Преобразование `jacrev` применяет `vmap` только к `backward`.
# * При `generate_vmap_rule = True` torch прослеживает ваши методы. Если внутри NumPy или другая библиотека, правило пишут сами: батч каждого входа переносят вперёд и добавляют измерения, которых не хватает одному примеру.
# * Метод `jvp` получает касательный вектор для каждого входа (нули, если его не задали) и читает то, что сохранил `save_for_forward`. Ещё раз в прямом режиме его не дифференцируют: для вторых производных есть `hessian`.
# * `once_differentiable` не защищает. Если пришедший градиент — константа, а также внутри `torch.func`, слагаемое второй производной пропадает без предупреждения.
# * Область autocast — на каждый прямой проход своя. Копии весов в bfloat16 живут, пока не закончится самая внешняя область.
# * Декораторы `custom_fwd` и `custom_bwd` ставят вместе: над `forward(ctx, ...)` и над `backward`.
# %%
from autograder import progress

progress()
# %% [markdown] tags=["en"]
# Save the notebook (Ctrl+S) and run the last cell: `ready()` runs the saved file from top to bottom in a fresh process and lists your points. In a class, it also names the file to hand in; if you study alone, it shows whether your answers hold without this session.
# %% [markdown] tags=["ru"]
# Сохраните тетрадь (Ctrl+S) и запустите последнюю ячейку: `ready()` выполнит сохранённый файл сверху вниз в новом процессе и покажет баллы. Если вы учитесь в группе, там же будет назван файл для сдачи. Если занимаетесь самостоятельно, вы узнаете, проходят ли ответы проверку с чистого листа, без переменных, оставшихся от ваших опытов.
# %%
from autograder import ready

ready()
