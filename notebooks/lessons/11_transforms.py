# %% [markdown] tags=["en"] needs="05, 07, 10" about="Functions that hold under `vmap`, forward mode, a second derivative and autocast"
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
# * place a region of autocast so that it does not compute with old weights.
#
# Extra exercises go past the guard of `once_differentiable`, make one Function right for every transform, and place a region of autocast.
#
# You need lessons 05 (`vmap`, forward mode), 07 (custom Functions) and 10 (gradients of gradients).
# %% [markdown] tags=["ru"] about="пользовательские функции, верные при `vmap`, прямом режиме, второй производной и autocast" of="45b63b36"
# # Функции внутри преобразований
#
# Пользовательская функция проходит `gradcheck`, и с ней год обучают модели. Потом кто-то применяет к вашей модели `vmap`, вычисляет её матрицу Гессе или включает autocast вокруг цикла обучения. В одном случае из трёх возникает ошибка. В двух других получаются числа: матрица Гессе из одних нулей и потери 16, 16, 16.
#
# Проходу `backward()` нужно от функции только одно: произведение вектора на матрицу Якоби. *Преобразованию* нужно больше: правило для батча, производная по направлению касательного вектора, метод `backward`, который можно продифференцировать ещё раз, верный dtype в каждом проходе. Если чего-то нет, torch об этом сообщит. Если что-то неверно, не сообщит никто.
#
# После урока вы сможете:
#
# * сказать, какие из преобразований `grad`, `vmap`, `jvp`, `jacrev` и `jacfwd` примут вашу функцию;
# * написать правило для батча, если torch не может составить его сам, для входов с батчем и без него;
# * написать `jvp` для нескольких входов и выходов;
# * назвать случай, в котором `once_differentiable` ни о чём не предупредит;
# * выбрать место для области autocast так, чтобы модель не вычисляла результат со старыми весами.
#
# В дополнительных упражнениях вы обойдёте защиту `once_differentiable`, напишете функцию, верную для всех преобразований, и расставите области autocast.
#
# Понадобятся уроки 05 (`vmap`, прямой режим), 07 (пользовательские функции) и 10 (градиенты градиентов).
# %% tags=["en"]
# The import fails? Install the course's file (or autograd-course) with pip, uninstall the other `autograder`.
from autograder import hint, ready, reproduce, solution, start, why

start("transforms", language="en")
# %% tags=["ru"]
# Ошибка импорта? Установите курс через pip (его файл или autograd-course),
# а другой `autograder` удалите.
from autograder import hint, ready, reproduce, solution, start, why

start("transforms", language="ru")
# %%
import numpy as np
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.nn.functional import mse_loss


# %% [markdown] tags=["en"]
# ## What a transform asks for
#
# Here is $x^3$ twice. `OldCube` is written as in most tutorials: `forward` takes the context. In `Cube` it does not: `forward` gets the inputs alone, and `setup_context` saves what `backward` will need. Why two methods? A transform may call `forward` on tensors of its own making and connect the context to others; so computing and saving have to be separate.
# %% [markdown] tags=["ru"] of="0c750926"
# ## Что нужно преобразованию
#
# Вот функция $x^3$, записанная дважды. Класс `OldCube` написан так, как в большинстве руководств: метод `forward` принимает контекст. В классе `Cube` метод `forward` получает только входы, а то, что понадобится в `backward`, сохраняет другой метод, `setup_context`. Зачем два метода? Преобразование может вызвать `forward` для одних тензоров, а контекст связать с другими, поэтому вычисление и сохранение должны быть разделены.
# %%
class OldCube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)

    backward = OldCube.backward


def attempt(action):
    """ "accepted", or "refused" if `action()` raises an error."""
    try:
        action()
        return "accepted"
    except RuntimeError:
        return "refused"


# %% [markdown] tags=["en"]
# The picture shows the graph of `Cube`. That of `OldCube` is the same: the Function is one node. The two differ only under a transform.
# %% [markdown] tags=["ru"] of="5218a9c8"
# На рисунке — граф с `Cube`. С `OldCube` он такой же: всей функции соответствует один узел. Разница видна только в преобразованиях.
# %% tags=["picture"]
from autograder import draw

x = torch.tensor([1.0, 2.0], requires_grad=True)
draw(Cube.apply(x).sum())
# %% tags=["fact"]
x = torch.tensor([1.0, 2.0], requires_grad=True)
nodes = [function.apply(x).sum().grad_fn.next_functions for function in (OldCube, Cube)]
assert [type(node).__name__ for ((node, _),) in nodes] == ["OldCubeBackward", "CubeBackward"]


# %% [markdown] tags=["en"]
# `Cube` has the three methods that you see, and nothing else: no rule for batches, and no derivative in the direction of a tangent. Ask in each line which of the methods the transform runs, and what it runs under `vmap`. Read the table; do not call `transform_table()` yet.
# %% [markdown] tags=["ru"] of="0254c66f"
# У `Cube` есть только те три метода, что вы видите. Ни правила для батча, ни производной по направлению касательного вектора у этой функции нет. О каждой строке таблицы спросите себя, какие из методов вызывает преобразование и какие из них оно выполняет внутри `vmap`. Прочтите ячейку, но `transform_table()` пока не вызывайте.
# %%
def transform_table():
    x = torch.tensor([1.0, 2.0])
    return {
        "grad of OldCube": attempt(lambda: grad(lambda x: OldCube.apply(x).sum())(x)),
        "grad": attempt(lambda: grad(lambda x: Cube.apply(x).sum())(x)),
        "vmap": attempt(lambda: vmap(Cube.apply)(x)),
        "vmap of grad": attempt(lambda: vmap(grad(Cube.apply))(x)),
        "jacrev": attempt(lambda: jacrev(Cube.apply)(x)),
        "jvp": attempt(lambda: jvp(Cube.apply, (x,), (x,))),
        "jacfwd": attempt(lambda: jacfwd(Cube.apply)(x)),
    }


# %% [markdown] tags=["en"]
# ### `predict_transforms`
#
# Put what `transform_table()` returns in place of each `...`: `"accepted"` or `"refused"`. Where no class is named, it is `Cube`.
# %% [markdown] tags=["ru"] of="7da34828"
# ### `predict_transforms`
#
# Вместо каждого `...` поставьте то, что вернёт `transform_table()`: `"accepted"` («принято») или `"refused"` («ошибка»). Если класс не назван, это `Cube`.
# %% answer="predict_transforms"
predict_transforms = {
    "grad of OldCube": "refused",
    "grad": "accepted",
    "vmap": "refused",
    "vmap of grad": "refused",
    "jacrev": "accepted",
    "jvp": "refused",
    "jacfwd": "refused",
}
# %% given="predict_transforms"
predict_transforms = {
    "grad of OldCube": ...,
    "grad": ...,
    "vmap": ...,
    "vmap of grad": ...,
    "jacrev": ...,
    "jvp": ...,
    "jacfwd": ...,
}
# %% check="predict_transforms"
from autograder import check

check("predict_transforms")
# %% tags=["fact"]
assert predict_transforms == transform_table()
for function in OldCube, Cube:  # torch.func alone asks for `setup_context`
    assert attempt(lambda: function.apply(torch.ones(2, requires_grad=True)).sum().backward()) == "accepted"
# %% [markdown] tags=["en"]
# Now call it.
# %% [markdown] tags=["ru"] of="0cc3540a"
# Вызовем эту функцию и сравним с таблицей.
# %%
transform_table()


# %% [markdown] tags=["en"] explains="predict_transforms"
# `backward()` takes either form, `torch.func` only the second. From there on each transform asks for what it needs: `grad` for `backward`, `jvp` for a method of that name, `vmap` for a rule that says what the Function does with a batch.
#
# `vmap` of `grad` runs the forward pass inside of `vmap`, so it needs the rule. `jacrev` runs it once, outside; its batch is made of cotangents and meets only `backward`. In lesson 05 `jacfwd` was `vmap` over forward mode; so a Function needs both for it, a rule and a `jvp`.
# %% [markdown] tags=["ru"] explains="predict_transforms" of="1d6d46ec"
# Для `backward()` годятся оба класса, а для `torch.func` — только второй. Дальше каждому преобразованию нужно своё: `grad` — метод `backward`, `jvp` — одноимённый метод, `vmap` — правило, по которому функция обрабатывает батч.
#
# В `vmap` от `grad` прямой проход выполняется внутри `vmap`, поэтому правило нужно. В `jacrev` прямой проход выполняется один раз, снаружи, а батч состоит из ковекторов и попадает только в `backward`. Преобразование `jacfwd` применяет `vmap` к прямому режиму (урок 05), поэтому функции для него нужно и то и другое: правило и `jvp`.
# %% [markdown] tags=["en"]
# ## The batch and the rule
#
# How does a Function come by a rule? If its methods consist of torch operations, one line is enough: `generate_vmap_rule = True`. torch then runs `forward`, `setup_context` and `backward` under `vmap`. `Centred` subtracts from a sample its mean. Beside it stands a rule that somebody wrote by hand, and it looks reasonable.
# %% [markdown] tags=["ru"] of="6eeb64c9"
# ## Батч и правило
#
# Откуда у функции берётся правило? Если её методы состоят из операций torch, хватит одной строки: `generate_vmap_rule = True`. Тогда torch выполнит `forward`, `setup_context` и `backward` внутри `vmap`. Функция `Centred` вычитает из примера его среднее. Рядом — правило, которое кто-то написал вручную, и выглядит оно разумно.
# %%
class Centred(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x - x.mean()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output - grad_output.mean()


class CentredByHand(Centred):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        print("the rule gets", tuple(x.shape), "in_dims", in_dims, "batch_size", info.batch_size)
        return x - x.mean(), in_dims[0]


samples = torch.tensor([[1.0, 3.0], [0.0, 10.0]])
print("made by torch:", vmap(Centred.apply)(samples).tolist())
print("by hand:      ", vmap(CentredByHand.apply)(samples).tolist())
# %% tags=["fact"]
assert vmap(Centred.apply)(samples).tolist() == [[-1, 1], [-5, 5]]
assert vmap(CentredByHand.apply)(samples).tolist() == [[-2.5, -0.5], [-3.5, 6.5]]
assert vmap(Centred.apply, in_dims=1)(samples).tolist() == [[0.5, -0.5], [-3.5, 3.5]]


# %% [markdown] tags=["en", "try"]
# No sample has the mean 3.5. Of what is it the mean, and what did the rule get to see? Say it from the line that it printed.
#
# No sample has the mean 3.5: that is the mean of the whole batch. A function under `vmap` sees one sample; a method `vmap` is what makes that true, and so it sees the *batch*: whole tensors, with `in_dims` saying where the batch dimension of each is, or None for an input that has none. It returns the result and the place of the batch in it, which the caller then has moved to where `out_dims` wants it.
# %% [markdown] tags=["ru", "try"] of="b8f08bea"
# Ни у одного примера среднее не равно 3.5. Среднее чего это и что получило правило? Ответьте по строке, которую оно напечатало.
#
# Ни у одного примера среднее не равно 3.5: это среднее всего батча. Функция внутри `vmap` видит один пример. Но обеспечивает это как раз метод `vmap`, и потому сам он видит *батч*: тензоры целиком. В `in_dims` для каждого входа указан номер измерения батча, а если батча у входа нет, то None. Метод возвращает результат и номер измерения батча в нём, а потом torch переносит батч туда, куда указывает `out_dims` в вызове преобразования.
# %% [markdown] tags=["en"]
# `vmap` cannot notice the error. It believes the rule, as autograd believes `backward` (lesson 07). So test a rule against a loop over samples.
# %% [markdown] tags=["ru"] of="47bcf5e1"
# Преобразование `vmap` заметить ошибку не может. Оно верит правилу на слово, как autograd верит `backward` (урок 07). Поэтому сравнивайте правило с циклом по примерам.
# %% [markdown] tags=["en"]
# ### When torch can make no rule
#
# `np.logaddexp(x, y)` is $\log(e^x + e^y)$, computed in NumPy. In a `forward` with `generate_vmap_rule = True` that ends in an error, because under `vmap` the tensors have no memory of their own that NumPy could read. Then the rule has to be written.
# %% [markdown] tags=["ru"] of="9a46fe2d"
# ### Если torch не может составить правило
#
# Функция `np.logaddexp(x, y)` — это $\log(e^x + e^y)$, вычисленный в NumPy. При `generate_vmap_rule = True` такой вызов в методе `forward` кончится ошибкой: внутри `vmap` у тензоров нет своей памяти, которую мог бы прочесть NumPy. Тогда правило нужно написать самим.
# %% tags=["fact"]
wrong, right = torch.ones(4, 3), torch.ones(3, 4)
assert attempt(lambda: wrong + torch.ones(4)) == "refused" and (right + torch.ones(4)).shape == (3, 4)
assert (torch.ones(3, 3) + torch.arange(3.0)).tolist()[0] == [1, 2, 3]  # the batch of y along the entries of x


class TracedLogAddExp(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return torch.from_numpy(np.logaddexp(x.numpy(), y.numpy()))

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


assert attempt(lambda: vmap(TracedLogAddExp.apply)(torch.ones(4), torch.ones(4))) == "refused"
for both in (False, True):  # a class has one of the two
    Both = type("Both", (Centred,), {"vmap": CentredByHand.vmap} if both else {})
    assert attempt(lambda: vmap(Both.apply)(samples)) == ("refused" if both else "accepted")


# %% [markdown] tags=["en"]
# ### `fix_rule`
#
# **Mend the method `vmap` of this class: it is to give what a loop over the samples gives, in one call.**
#
# Mend the method `vmap` of this class. The rest of it is right.
#
# * **Given.** `x` and `y`, float64 tensors, any of which may have a batch dimension at any place. Samples have shapes that broadcast together, not always with the same number of dimensions.
# * **Result.** `LogAddExp.apply(x, y)` is $\log(e^x + e^y)$, with its gradients. <!-- plain -->
# * **Result.** `vmap` gives what a loop over samples gives, also if only one of the inputs has a batch. <!-- one_batch -->
# * **Result.** So it does wherever the batch dimensions are. <!-- places -->
# * **Result.** So it does for samples of different shapes. <!-- shapes -->
# * **Result.** `vmap` of `grad` and `backward()` through `vmap` are right. <!-- gradients -->
# * **Leave.** The method `forward`: it stands for a library outside torch, and the check puts its own in its place. <!-- plain -->
# * **Not allowed.** More than one call of `forward` for a batch, or none: the rule cannot replace the library. <!-- calls -->
# %% [markdown] tags=["ru"] of="25760276"
# ### `fix_rule`
#
# **Исправьте метод `vmap` этого класса: он должен за один вызов давать то же, что цикл по примерам.**
#
# Исправьте в этом классе метод `vmap`. Всё остальное в нём верно.
#
# * **Дано.** Тензоры `x` и `y` типа float64; у каждого может быть измерение батча на любом месте. Формы примеров совместимы при транслировании (broadcasting), но число измерений у них не всегда одинаково.
# * **Результат.** `LogAddExp.apply(x, y)` возвращает $\log(e^x + e^y)$ с верными градиентами. <!-- plain -->
# * **Результат.** `vmap` даёт то же, что цикл по примерам, в том числе если батч есть только у одного входа. <!-- one_batch -->
# * **Результат.** Это верно, где бы ни стояли измерения батча. <!-- places -->
# * **Результат.** Это верно и для примеров разной формы. <!-- shapes -->
# * **Результат.** Верны `vmap` от `grad` и `backward()` сквозь `vmap`. <!-- gradients -->
# * **Не менять.** Метод `forward`: он играет роль библиотеки вне torch, и проверка ставит на его место свой. <!-- plain -->
# * **Нельзя.** Вызывать `forward` больше одного раза на батч или обходиться без него: заменить библиотеку правило не может. <!-- calls -->
# %% answer="fix_rule"
class LogAddExp(torch.autograd.Function):
    """log(exp(x) + exp(y)), computed by NumPy."""

    @staticmethod
    def forward(x, y):
        return torch.from_numpy(np.asarray(np.logaddexp(x.numpy(), y.numpy())))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        to_x = grad_output * torch.sigmoid(x - y)
        to_y = grad_output * torch.sigmoid(y - x)
        return to_x.sum_to_size(x.shape), to_y.sum_to_size(y.shape)

    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = (t.unsqueeze(-1) if dim is None else t.movedim(dim, -1) for t, dim in zip((x, y), in_dims))
        return LogAddExp.apply(x, y), -1


# %% given="fix_rule"
class LogAddExp(torch.autograd.Function):
    """log(exp(x) + exp(y)), computed by NumPy."""

    @staticmethod
    def forward(x, y):
        return torch.from_numpy(np.asarray(np.logaddexp(x.numpy(), y.numpy())))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        to_x = grad_output * torch.sigmoid(x - y)
        to_y = grad_output * torch.sigmoid(y - x)
        return to_x.sum_to_size(x.shape), to_y.sum_to_size(y.shape)

    @staticmethod
    def vmap(info, in_dims, x, y):
        return LogAddExp.apply(x, y), in_dims[0]


# %% alternative="fix_rule"
class LogAddExp(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return torch.from_numpy(np.asarray(np.logaddexp(x.numpy(), y.numpy())))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        share = torch.sigmoid(x - y)
        return (grad_output * share).sum_to_size(x.shape), (grad_output * (1 - share)).sum_to_size(y.shape)

    @staticmethod
    def vmap(info, in_dims, x, y):
        pairs = [(t, d) for t, d in zip((x, y), in_dims)]
        most = max(t.dim() - (d is not None) for t, d in pairs)
        ready = []
        for t, d in pairs:
            t = t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0)
            ready.append(t.reshape(len(t), *[1] * (most - t.dim() + 1), *t.shape[1:]))
        return LogAddExp.apply(*ready), 0


# %% alternative="fix_rule"
class LogAddExp(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return torch.from_numpy(np.asarray(np.logaddexp(x.numpy(), y.numpy())))

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.save_for_backward(x, y, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y, z = ctx.saved_tensors
        return (grad_output * (x - z).exp()).sum_to_size(x.shape), (grad_output * (y - z).exp()).sum_to_size(y.shape)

    @staticmethod
    def vmap(info, in_dims, x, y):
        x_dim, y_dim = in_dims
        x = x[..., None] if x_dim is None else x.movedim(x_dim, -1)
        y = y[..., None] if y_dim is None else y.movedim(y_dim, -1)
        return LogAddExp.apply(x, y).movedim(-1, 0), 0


# %% alternative="fix_rule"
class LogAddExp(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return torch.from_numpy(np.asarray(np.logaddexp(x.numpy(), y.numpy())))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        both = torch.stack(torch.broadcast_tensors(x, y)).softmax(0) * grad_output
        return both[0].sum_to_size(x.shape), both[1].sum_to_size(y.shape)

    @staticmethod
    def vmap(info, in_dims, *inputs):
        while True:
            dims = [t.dim() - (d is not None) for t, d in zip(inputs, in_dims)]
            if dims[0] == dims[1]:
                break
            short = dims.index(min(dims))
            at = in_dims[short]
            inputs = [t.unsqueeze(0) if i == short else t for i, t in enumerate(inputs)]
            in_dims = [d + 1 if i == short and at is not None else d for i, d in enumerate(in_dims)]
        x, y = (
            t.unsqueeze(0) if d is None else t.transpose(0, d) if d == 1 else t.movedim(d, 0)
            for t, d in zip(inputs, in_dims)
        )
        return LogAddExp.apply(x, y), 0


# %% check="fix_rule"
from autograder import check

check("fix_rule")


# %% [markdown] tags=["en"] explains="fix_rule"
# A right rule first moves the batch to a place that it knows, to the front. Then it computes within each sample. Here a sample is a vector, so in the batch it is a row, wherever the batch was before.
#
# The picture shows the shapes for `in_dims=(0, 0)`, if a sample of `x` is a row and a sample of `y` a number: to the left the tensors as the rule gets them, with the batch first, to the right with the batch last.
#
# Shapes are aligned from the right. With the batch first, the 4 samples of `y` stand under the 3 entries of `x`, an error; and if there were 3 samples, they would be added up with the wrong partners, without one.
# %% [markdown] tags=["ru"] explains="fix_rule" of="9c9bc2c6"
# Верное правило сначала переносит батч туда, где его место известно, — вперёд. Затем оно выполняет вычисления внутри каждого примера. Здесь пример — вектор, поэтому после переноса каждая строка — один пример, где бы измерение батча ни стояло раньше.
#
# На рисунке — формы при `in_dims=(0, 0)`, если пример `x` — строка, а пример `y` — число. Слева батч стоит впереди: так правило и получает эти тензоры. Справа он перенесён в конец.
#
# Формы выравниваются справа. Если батч стоит впереди, 4 примера `y` оказываются под 3 элементами `x`, и это ошибка. А будь примеров 3, каждый оказался бы в паре с чужими элементами, и ошибки не было бы.
# %%
class CentredRows(CentredByHand):
    @staticmethod
    def vmap(info, in_dims, x):
        x = x.movedim(in_dims[0], 0)
        return x - x.mean(dim=1, keepdim=True), 0


for dim in 0, 1:
    one_by_one = torch.stack([Centred.apply(sample) for sample in samples.unbind(dim)])
    print("batch at", dim, "as a loop:", torch.equal(vmap(CentredRows.apply, in_dims=dim)(samples), one_by_one))
# %% tags=["fact"]
for dim in 0, 1:
    one_by_one = torch.stack([Centred.apply(sample) for sample in samples.unbind(dim)])
    assert torch.equal(vmap(CentredRows.apply, in_dims=dim)(samples), one_by_one)
# %% tags=["picture"] alt="Shapes with the batch first and with the batch last: only on the right do the batches stand one below the other | Формы с батчем впереди и с батчем в конце: размеры батча стоят друг под другом только справа"
import matplotlib.pyplot as plt

figure, panels = plt.subplots(1, 2, figsize=(6.4, 2.4))
for panel, title, shapes in (
    (panels[0], "movedim(dim, 0)", {"x": ["4", "3"], "y": ["", "4"]}),
    (panels[1], "movedim(dim, -1)", {"x": ["3", "4"], "y": ["", "4"]}),
):
    for row, (name, sizes) in enumerate(shapes.items()):
        panel.text(-0.6, -row, name, ha="center", va="center")
        for column, size in enumerate(sizes):
            if size:
                colour = "tab:orange" if size == "4" else "tab:blue"
                panel.add_patch(plt.Rectangle((column - 0.4, -row - 0.35), 0.8, 0.7, color=colour, alpha=0.4))
                panel.text(column, -row, size, ha="center", va="center")
    panel.set(title=title, xlim=(-1, 1.6), ylim=(-1.6, 0.6))
    panel.axis("off")
plt.show()


# %% tags=["fact"]
for dims, x, y in (((0, 0), torch.rand(3, 3), torch.rand(3)), ((1, None), torch.rand(2, 4), torch.rand(5, 2))):
    rows = [
        torch.logaddexp(*(t if d is None else t.select(d, i) for t, d in zip((x, y), dims)))
        for i in range(x.shape[dims[0]])
    ]
    assert torch.allclose(vmap(LogAddExp.apply, in_dims=dims)(x, y), torch.stack(rows))


# %% [markdown] tags=["en"]
# ## Forward
#
# Forward mode carries a *tangent* beside each value: by how much that value moves (lesson 05). Of a custom Function it asks for the method `jvp`. This method gets a tangent for each input and returns one for each output. If $x$ moves by $dx$ and $y$ by $dy$, the product $x y$ moves by $dx \cdot y + x \cdot dy$: one number from two. Finite differences say the same, up to their error.
# %% [markdown] tags=["ru"] of="31491877"
# ## Прямой режим
#
# В прямом режиме рядом с каждым значением идёт *касательный вектор*: он показывает, на сколько это значение сдвинется (урок 05). Для этого у пользовательской функции должен быть метод `jvp`. Он получает касательный вектор для каждого входа и возвращает по одному для каждого выхода. Если $x$ сдвинется на $dx$, а $y$ — на $dy$, то произведение $x y$ сдвинется на $dx \cdot y + x \cdot dy$: из двух сдвигов получился один. Конечные разности дают то же самое с точностью до своей погрешности.
# %%
class Product(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, y = ctx.saved_tensors
        return grad_output * y, grad_output * x

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        seen.append(dy)
        return dx * y + x * dy


seen = []
x, y, dx, dy = torch.tensor([2.0, 5.0, 1.0, 3.0], dtype=torch.float64)
value, tangent = jvp(Product.apply, (x, y), (dx, dy))
step = 1e-6
print("tangent of the product:", tangent.item())
print("finite differences:    ", (((x + step * dx) * (y + step * dy) - value) / step).item())
print("if x alone moves:      ", jvp(lambda x: Product.apply(x, y), (x,), (dx,))[1].item())
print("then `jvp` gets for y: ", seen[-1].item())
# %% tags=["fact"]
assert tangent.item() == 11 and abs((((x + step * dx) * (y + step * dy) - value) / step).item() - 11) < 1e-5
assert jvp(lambda x: Product.apply(x, y), (x,), (dx,))[1].item() == 5 and seen[-1].item() == 0


class OnlyForBackward(Product):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


try:
    jvp(OnlyForBackward.apply, (x, y), (x, y))
    raise AssertionError
except (IndexError, ValueError):  # `saved_tensors` is empty
    pass
one, other = (torch.tensor(value, dtype=torch.float64, requires_grad=True) for value in (2.0, 5.0))
assert torch.autograd.gradcheck(Product.apply, (one, other), check_forward_ad=True)


class Careless(Product):
    @staticmethod
    def jvp(ctx, dx, dy):
        return dx * ctx.saved_tensors[1]


assert torch.autograd.gradcheck(Careless.apply, (one, other))
assert not torch.autograd.gradcheck(Careless.apply, (one, other), check_forward_ad=True, raise_exception=False)


# %% [markdown] tags=["en"]
# Two things are not as in `backward`. What `jvp` reads was saved by `ctx.save_for_forward`. And an input without a tangent gets zeros, not None. `gradcheck` looks at `jvp` only if it is told so: `check_forward_ad=True`.
#
# ### `distance_forward`
#
# **Write the method `jvp` of `Distance`: by how much does the distance move when the points move?**
#
# `Distance.apply(x, y)` is the distance of two points, one number. All is there but the method `jvp`. Write it.
#
# * **Given.** `x` and `y`, float64 tensors of the same shape, not equal. `jvp` gets their tangents `dx` and `dy`.
# * **Result.** `jvp` returns the tangent of the distance: by how much it moves if `x` moves by `dx`. <!-- x_moves -->
# * **Result.** It is right, too, if `y` moves by `dy`, alone or together with `x`. <!-- y_moves -->
# * **Leave.** Value and gradients of `Distance`. <!-- plain -->
# %% [markdown] tags=["ru"] of="88d2b9ff"
# Отличий от `backward` два. Метод `jvp` читает то, что сохранил `ctx.save_for_forward`. Для входа без касательного вектора он получает нули, а не None. Функция `gradcheck` проверяет `jvp`, только если её попросить: `check_forward_ad=True`.
#
# ### `distance_forward`
#
# **Напишите метод `jvp` класса `Distance`: насколько изменится расстояние, если точки сдвинутся?**
#
# `Distance.apply(x, y)` — расстояние между двумя точками, одно число. Готово всё, кроме метода `jvp`. Напишите его.
#
# * **Дано.** Тензоры `x` и `y` типа float64 одной формы, не равные друг другу. Метод `jvp` получает их касательные векторы `dx` и `dy`.
# * **Результат.** `jvp` возвращает касательный вектор расстояния: на сколько оно изменится, если `x` сдвинется на `dx`. <!-- x_moves -->
# * **Результат.** Это верно и тогда, когда на `dy` сдвигается `y`, один или вместе с `x`. <!-- y_moves -->
# * **Не менять.** Значение и градиенты функции `Distance`. <!-- plain -->
# %% answer="distance_forward"
class Distance(torch.autograd.Function):
    """The distance of two points."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return (x - y).norm()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs, output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y, distance = ctx.saved_tensors
        to_x = grad_output * (x - y) / distance
        return to_x, -to_x

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y, distance = ctx.saved_tensors
        ### BEGIN SOLUTION
        return ((x - y) * (dx - dy)).sum() / distance
        ### END SOLUTION


# %% alternative="distance_forward"
class Distance(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return (x - y).norm()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward((inputs[0] - inputs[1]) / output)

    @staticmethod
    def backward(ctx, grad_output):
        x, y, distance = ctx.saved_tensors
        to_x = grad_output * (x - y) / distance
        return to_x, -to_x

    @staticmethod
    def jvp(ctx, dx, dy):
        (direction,) = ctx.saved_tensors
        return torch.dot(direction.flatten(), (dx - dy).flatten())


# %% alternative="distance_forward"
class Distance(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return torch.linalg.vector_norm(x - y)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad_output):
        x, y, distance = ctx.saved_tensors
        to_x = grad_output * (x - y) / distance
        return to_x, -to_x

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        squared = ((x - y) ** 2).sum()
        moves = 2 * (x - y).mul(dx).sum() - 2 * (x - y).mul(dy).sum()
        return (moves / (2 * squared.sqrt()),)


# %% alternative="distance_forward"
class Distance(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        return (x - y).norm()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.inputs = inputs

    @staticmethod
    def backward(ctx, grad_output):
        x, y, distance = ctx.saved_tensors
        to_x = grad_output * (x - y) / distance
        return to_x, -to_x

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = (each.detach() for each in ctx.inputs)
        to_x, to_y = grad(lambda x, y: (x - y).norm(), argnums=(0, 1))(x, y)
        return (to_x * dx + to_y * dy).sum()


# %% check="distance_forward"
from autograder import check

check("distance_forward")
# %% tags=["fact"]
points = torch.rand(4, 2, 3, dtype=torch.float64)
ours, torchs = (jvp(f, tuple(points[:2]), tuple(points[2:])) for f in (Distance.apply, lambda x, y: (x - y).norm()))
assert torch.allclose(torch.stack(ours), torch.stack(torchs))
leaves = [point.clone().requires_grad_() for point in points[:2]]
assert torch.autograd.gradcheck(Distance.apply, leaves, check_forward_ad=True)


# %% [markdown] tags=["en"]
# ## What to keep
#
# * `torch.func` wants `forward` without a context and `setup_context`. `vmap` wants a rule, forward mode a `jvp`; `jacfwd` and `hessian` want both. `jacrev` runs `vmap` over `backward` alone.
# * With `generate_vmap_rule = True` torch runs your methods under `vmap`. NumPy or another library inside needs a rule by hand: move each batch to the front, add the dimensions that a sample lacks.
# * `jvp` gets a tangent for each input, zeros where none was given, and returns one for each output. It reads what `save_for_forward` saved. It is not differentiated forward again: for second derivatives use `hessian`.
#
# From the extra sections:
#
# * `once_differentiable` is no guard. Where the gradient that arrives is constant, and in `grad(grad)` or `jacrev(jacrev)`, a term of the second derivative is missing without a word.
# * One autocast region per forward pass. The bfloat16 copies of weights live until the outermost region ends.
# * `custom_fwd` and `custom_bwd` go together, above `forward(ctx, ...)` and `backward`.
# %% [markdown] tags=["ru"] of="1386fc29"
# ## Что стоит запомнить
#
# * Для `torch.func` нужны `forward` без контекста и `setup_context`. Для `vmap` нужно правило, для прямого режима — `jvp`, а для `jacfwd` и `hessian` — и то и другое. Преобразование `jacrev` применяет `vmap` только к `backward`.
# * При `generate_vmap_rule = True` torch выполняет ваши методы внутри `vmap`. Если они вызывают NumPy или другую библиотеку, правило пишут сами: батч каждого входа переносят вперёд, а примеру, у которого измерений меньше, добавляют недостающие.
# * Метод `jvp` получает касательный вектор для каждого входа (нули, если его не задали), а возвращает по одному на каждый выход. Он читает то, что сохранил `save_for_forward`. Сам он ещё раз в прямом режиме не дифференцируется: для вторых производных есть `hessian`.
#
# Из дополнительных разделов:
#
# * `once_differentiable` не защищает. Если пришедший градиент — константа, а также в `grad(grad)` и `jacrev(jacrev)`, слагаемое второй производной пропадает без предупреждения.
# * Для каждого прямого прохода открывайте свою область autocast. Копии весов в bfloat16 живут, пока не закончится самая внешняя область.
# * Декораторы `custom_fwd` и `custom_bwd` ставят вместе: над `forward(ctx, ...)` и над `backward`.
# %% [markdown] tags=["en"]
# ## Half a guard
#
# In lesson 07 `once_differentiable` stopped some second derivatives and let others through. A second derivative is a transform, too, and here is what the four ways to take it make of $x^3$, whose second derivative at 2 is $6x = 12$. `CubeOnce` has the decorator, `Cube` has not.
# %% [markdown] tags=["ru"] of="714be796"
# ## Защита наполовину
#
# В уроке 07 декоратор `once_differentiable` в одних случаях не давал вычислить вторую производную, а в других не мешал. Вычислить вторую производную можно четырьмя способами, и это тоже преобразования. Вот что они дают для функции $x^3$, у которой в точке 2 вторая производная равна $6x = 12$. У `CubeOnce` декоратор есть, у `Cube` — нет.
# %%
from torch.autograd.function import once_differentiable


class CubeOnce(Cube):
    backward = staticmethod(once_differentiable(Cube.backward))


def by_backward(loss):
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(loss(x), x, create_graph=True)
    first.backward()
    return x.grad


def by_grad(loss):
    x = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(loss(x), x, create_graph=True)
    return torch.autograd.grad(first, x)[0]


two = torch.tensor(2.0)
for name, second in {
    "backward()": by_backward,
    "autograd.grad": by_grad,
    "functional.hessian": lambda loss: torch.autograd.functional.hessian(loss, two),
    "grad(grad)": lambda loss: grad(grad(loss))(two),
}.items():
    found = []
    for cube in Cube.apply, CubeOnce.apply:
        try:
            found.append(second(cube).item())
        except RuntimeError:
            found.append("error")
    print(f"{name:20} Cube {found[0]}   CubeOnce {found[1]}")
# %% tags=["fact"]
for second, once in {
    by_backward: "refused",
    by_grad: "refused",
    (lambda loss: torch.autograd.functional.hessian(loss, two)): 0,
    (lambda loss: grad(grad(loss))(two)): 0,
    (lambda loss: jacrev(jacrev(loss))(two)): 0,
}.items():
    assert second(Cube.apply).item() == 12
    if once == "refused":
        assert attempt(lambda: second(CubeOnce.apply)) == "refused"
    else:
        assert second(CubeOnce.apply).item() == once
assert attempt(lambda: torch.autograd.functional.hessian(CubeOnce.apply, two, strict=True)) == "refused"
assert attempt(lambda: by_backward(lambda x: CubeOnce.apply(x) ** 2)) == "refused"
assert attempt(lambda: by_backward(lambda x: x * CubeOnce.apply(x))) == "refused"
assert by_backward(lambda x: CubeOnce.apply(x) + x**2).item() == 2 and by_backward(lambda x: x**3 + x**2).item() == 14
assert by_backward(lambda x: CubeOnce.apply(x * x)).item() == 6 * 2**4  # 30 * 2**4 would be right
w, x = torch.tensor(0.5, requires_grad=True), torch.tensor(2.0, requires_grad=True)
penalties = []
for cube in Cube, CubeOnce:
    (slope,) = torch.autograd.grad(cube.apply(x * w), x, create_graph=True)
    penalties.append(torch.autograd.grad(slope**2, w)[0].item())
assert penalties == [27, 9]  # slope**2 is 144 w**6; through the constant goes a third


# %% [markdown] tags=["en", "try"]
# Two errors, two zeros. Which are worse? And have the errors come from the guard? Read what they say.
#
# The zeros are worse. And the errors are not the guard's: for $f(x)$ alone the first gradient has no graph, and that is all that torch complains of.
# %% [markdown] tags=["ru", "try"] of="3e417296"
# Две ошибки и два нуля. Что хуже? И вызваны ли ошибки декоратором? Прочтите, что в них сказано.
#
# Нули хуже. Да и ошибки вызваны не декоратором: если вся функция потерь — это $f(x)$, у первой производной нет графа, и torch жалуется только на это.
# %% [markdown] tags=["en"]
# ### `expose_once`
#
# **Write a loss for which two backward passes through a Function with `once_differentiable` give a wrong number without an error.**
#
# * **Given.** `f`, an elementwise third power; `x`, a float64 tensor of any shape with positive entries that requires grad.
# * **Result.** A tensor of one element, whose gradient with respect to `x` depends on `f`. <!-- usable -->
# * **Result.** If `f` is a Function with `once_differentiable`, then the first gradient `g`, by `autograd.grad(..., create_graph=True)`, and `g.sum().backward()` run without an error. <!-- silent -->
# * **Result.** `x.grad` then differs from that of a right `f`. <!-- wrong -->
# %% [markdown] tags=["ru"] of="2bfdbf67"
# ### `expose_once`
#
# **Напишите функцию потерь, для которой два обратных прохода через функцию autograd с `once_differentiable` дают неверное число, а сообщения об ошибке нет.**
#
# * **Дано.** `f` — поэлементная третья степень; `x` — тензор float64 любой формы с положительными элементами, который требует градиента.
# * **Результат.** Тензор из одного элемента; его градиент по `x` зависит от `f`. <!-- usable -->
# * **Результат.** Если `f` — функция с `once_differentiable`, то и вычисление первой производной `g` с помощью `autograd.grad(..., create_graph=True)`, и `g.sum().backward()` выполняются без ошибки. <!-- silent -->
# * **Результат.** После этого `x.grad` не такой, как с правильной `f`. <!-- wrong -->
# %% answer="expose_once"
def expose_once(f, x):
    ### BEGIN SOLUTION
    return f(x).sum() + (x**2).sum()
    ### END SOLUTION


# %% alternative="expose_once"
def expose_once(f, x):
    return f(x * x).sum()


# %% alternative="expose_once"
def expose_once(f, x):
    return (2 * f(x) - x.log()).mean()


# %% alternative="expose_once"
def expose_once(f, x):
    return f(x.exp() + 1).sum() / 100


# %% check="expose_once"
from autograder import check

check("expose_once")
# %% [markdown] tags=["en"] explains="expose_once"
# The decorator runs `backward` under `no_grad()`. Then it marks the result, so that a later backward pass raises the error, but only if a gradient that arrived *requires grad*. In $f(x)^2$ it does: $2 f(x)$ arrives. In a loss in which $f$ is a plain summand a constant arrives, and nothing is marked. What the result owes to the saved $x$ is lost either way.
# %% [markdown] tags=["ru"] explains="expose_once" of="e474bebd"
# Декоратор выполняет `backward` внутри `no_grad()`. Потом он помечает результат, чтобы следующий обратный проход завершился ошибкой, но только если пришедший градиент *требует градиента*. В $f(x)^2$ так и есть: приходит $2 f(x)$. А если $f$ входит в функцию потерь простым слагаемым, приходит константа, и результат не помечается. Зависимость результата от сохранённого $x$ теряется в обоих случаях.


# %% [markdown] tags=["en"]
# ## One Function for all of them
#
# With a `jvp`, a rule and a `backward`, are all second derivatives right as well? Here is $x^3$, made of `Product`. Its second derivative at 2 is 12. One of the two lines is not.
# %% [markdown] tags=["ru"] of="d8e1c313"
# ## Одна функция для всех преобразований
#
# Если у функции есть `jvp`, правило и `backward`, верны ли тогда все её вторые производные? Вот функция $x^3$, составленная из `Product`. Её вторая производная в точке 2 равна 12. В одной из двух строк получается другое число.
# %%
def cube_of_products(x):
    return Product.apply(x, x) * x


print("hessian:       ", hessian(cube_of_products)(two).item())
print("jacfwd(jacfwd):", jacfwd(jacfwd(cube_of_products))(two).item())
# %% tags=["fact"]
for right in hessian(cube_of_products), grad(grad(cube_of_products)), jacrev(jacrev(cube_of_products)):
    assert right(two).item() == 12
assert jacfwd(jacfwd(cube_of_products))(two).item() == 8


class DoubledInPlace(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * grad_output


class DoubledByRule(DoubledInPlace):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return DoubledByRule.apply(x), in_dims[0]


batch = torch.tensor([1.0, 2.0])
assert grad(lambda x: DoubledInPlace.apply(x.clone()).sum())(batch).tolist() == [2, 2]
assert attempt(lambda: vmap(lambda x: DoubledInPlace.apply(x.clone()))(batch)) == "refused"
assert vmap(lambda x: DoubledByRule.apply(x.clone()))(batch).tolist() == [2, 4]


# %% [markdown] tags=["en", "try"]
# Which of the two lines is not 12? Say which derivatives each of them takes by `jvp`, and which by `backward`.
#
# `hessian` is forward mode over `backward`, and right. `jacfwd(jacfwd)` is forward mode over forward mode, and loses a term, because what `jvp` computes is not itself followed forward. So one right `jvp` does not make all forward derivatives right; for second derivatives take `hessian`, or `jacrev` twice.
# %% [markdown] tags=["ru", "try"] of="111742d7"
# Какая из двух строк не равна 12? Скажите, какие производные каждая из них берёт через `jvp`, а какие через `backward`.
#
# `hessian` — это прямой режим поверх `backward`, и результат верен. `jacfwd(jacfwd)` — прямой режим поверх прямого режима, и одно слагаемое теряется, потому что за вычислениями внутри `jvp` прямой режим уже не следит. Так что одного верного `jvp` мало, чтобы в прямом режиме были верны все производные. Для вторых производных берите `hessian` или дважды `jacrev`.
# %% [markdown] tags=["en"]
# And if there are several outputs? Then `jvp` returns one tangent for each. Of the two outputs below the second changes in jumps alone: `mark_non_differentiable` gives it no graph, and `jvp` returns None for it.
# %% [markdown] tags=["ru"] of="43932540"
# А если выходов несколько? Тогда `jvp` возвращает касательный вектор для каждого. Из двух выходов ниже второй меняется только скачками. Поэтому он отмечен вызовом `mark_non_differentiable`: графа у него нет, и `jvp` возвращает для него None.
# %%
class SquareAndSign(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**2, x.sign()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, to_square, to_sign):
        (x,) = ctx.saved_tensors
        return to_square * 2 * x

    @staticmethod
    def jvp(ctx, dx):
        (x,) = ctx.saved_tensors
        return 2 * x * dx, None


(square, sign), tangents = jvp(SquareAndSign.apply, (two,), (torch.tensor(1.0),))
print("outputs: ", square.item(), sign.item())
print("tangents:", *[tangent.item() for tangent in tangents])
# %% tags=["fact"]
assert (square.item(), sign.item()) == (4, 1) and [tangent.item() for tangent in tangents] == [4, 0]
assert [each.requires_grad for each in SquareAndSign.apply(two.clone().requires_grad_())] == [True, False]


# %% [markdown] tags=["en"]
# The tangent of such an output is 0. There is also `ctx.mark_dirty(x)`, for an `x` that `forward` changes in place. It works with `grad`; under `vmap` torch makes no rule for it, and a rule by hand is needed.
#
# ### `ratio_function`
#
# **This class is right for `backward()` and for nothing else. Make it right for the transforms of `torch.func`.**
#
# This class is right for `backward()`, and for nothing else. Make it right for `torch.func`. The method `backward` can stay as it is, and the tangent of the ratio is `dx / y - x * dy / y**2`.
#
# * **Given.** `x` and `y`, float64 tensors of the same shape, $y \ne 0$.
# * **Result.** `Ratio.apply(x, y)` returns `x / y` and the share of its entries above 1, a tensor without dimensions. <!-- first -->
# * **Result.** The gradients of the ratio are right, by `backward()` and by `torch.func.grad`. The share has no graph. <!-- first -->
# * **Result.** `vmap` over both inputs or one of them gives what a loop gives. <!-- batches -->
# * **Result.** `jvp` is right for every pair of tangents, also if only one input has one. `torch.func.jvp` gives 0 as the tangent of the share. <!-- forward_mode -->
# * **Result.** `jacfwd`, `hessian` and `jacrev` of `jacrev` are then right as well, with nothing more to write. <!-- matrices -->
# %% [markdown] tags=["ru"] of="2d9d087f"
# Касательный вектор такого выхода равен 0. Есть и вызов `ctx.mark_dirty(x)` — для тензора `x`, который `forward` меняет на месте. С `grad` он работает. Но правила для `vmap` torch в этом случае не составит: его нужно написать самим.
#
# ### `ratio_function`
#
# **Этот класс правильно работает с `backward()`, но больше ни с чем. Сделайте так, чтобы он правильно работал и с преобразованиями `torch.func`.**
#
# Этот класс годится для `backward()` и больше ни для чего. Сделайте так, чтобы он верно работал и в `torch.func`. Метод `backward` можно не менять. Касательный вектор отношения равен `dx / y - x * dy / y**2`.
#
# * **Дано.** Тензоры `x` и `y` типа float64 одной формы, $y \ne 0$.
# * **Результат.** `Ratio.apply(x, y)` возвращает `x / y` и долю тех элементов этого отношения, которые больше 1, — тензор без измерений. <!-- first -->
# * **Результат.** Градиенты отношения верны и в `backward()`, и в `torch.func.grad`. У доли нет графа. <!-- first -->
# * **Результат.** `vmap` по обоим входам или по одному из них даёт то же, что цикл. <!-- batches -->
# * **Результат.** `jvp` верен для любых двух касательных векторов, в том числе если такой вектор есть только у одного входа. Для доли `torch.func.jvp` возвращает касательный вектор 0. <!-- forward_mode -->
# * **Результат.** Тогда верны и `jacfwd`, и `hessian`, и `jacrev` от `jacrev`: больше ничего писать не нужно. <!-- matrices -->
# %% answer="ratio_function"
class Ratio(torch.autograd.Function):
    """x / y, and the share of its entries above 1."""

    ### BEGIN SOLUTION
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        ratio = x / y
        return ratio, (ratio > 1).to(ratio.dtype).mean()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx / y - x * dy / y**2, None

    ### END SOLUTION


# %% given="ratio_function"
class Ratio(torch.autograd.Function):
    """x / y, and the share of its entries above 1."""

    @staticmethod
    def forward(ctx, x, y):
        ratio = x / y
        share = (ratio > 1).to(ratio.dtype).mean()
        ctx.mark_non_differentiable(share)
        ctx.save_for_backward(x, y)
        return ratio, share

    @staticmethod
    def backward(ctx, to_ratio, to_share):
        x, y = ctx.saved_tensors
        return to_ratio / y, -to_ratio * x / y**2


# %% alternative="ratio_function"
class Ratio(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        return x / y, torch.mean((x / y > 1).double())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ratio, share = output
        ctx.mark_non_differentiable(share)
        ctx.save_for_backward(inputs[1], ratio)
        ctx.save_for_forward(inputs[1], ratio)

    @staticmethod
    def backward(ctx, g, _):
        y, ratio = ctx.saved_tensors
        return g / y, -g * ratio / y

    @staticmethod
    def jvp(ctx, dx, dy):
        y, ratio = ctx.saved_tensors
        return (dx - ratio * dy) / y, None


# %% alternative="ratio_function"
class Ratio(torch.autograd.Function):
    @staticmethod
    def forward(x, y):
        ratio = torch.div(x, y)
        return ratio, ratio.gt(1).double().mean()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(x, y)

    @staticmethod
    def vmap(info, in_dims, x, y):
        x, y = (t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0) for t, d in zip((x, y), in_dims))
        ratio, _ = Ratio.apply(x, y)
        share = (ratio.detach() > 1).double().flatten(1).mean(1) if ratio.dim() > 1 else (ratio.detach() > 1).double()
        return (ratio, share), (0, 0)

    @staticmethod
    def backward(ctx, g, _):
        x, y = ctx.saved_tensors
        return g * y**-1, -g * x * y**-2

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return (dx * y - x * dy) / (y * y), None


# %% alternative="ratio_function"
class Ratio(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, y):
        ratio = x / y
        return ratio, torch.where(ratio > 1, 1.0, 0.0).mean(dtype=ratio.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, *arrived):
        x, y = ctx.saved_tensors
        to_x = arrived[0] / y
        return to_x, -to_x * (x / y)

    @staticmethod
    def jvp(ctx, *tangents):
        x, y = ctx.saved_tensors
        return (tangents[0] - x / y * tangents[1]).div(y), None


# %% check="ratio_function"
from autograder import check

check("ratio_function")


# %% [markdown] tags=["en"]
# ## A loss that does not fall
#
# Not every transform has a function of its own. `torch.autocast` is one as well: inside its region matrix products are computed in bfloat16, whoever wrote them. Such a number takes two bytes, as in float16; its range is that of float32, with two or three right digits.
# %% [markdown] tags=["ru"] of="b29556d8"
# ## Потери не уменьшаются
#
# Не всякое преобразование вызывают как функцию. `torch.autocast` — тоже преобразование: внутри его области матричные произведения вычисляются в bfloat16, кто бы их ни написал. Число bfloat16 занимает два байта, как и float16. Диапазон у него тот же, что у float32, а верных цифр две-три.
# %% [markdown] tags=["en"]
# ### `fix_region`
#
# **Under autocast the loss of this loop is 16, 16, 16. Mend it: layers in bfloat16, steps that count.**
#
# Mend this training loop. It should do what it says, also when the caller has a region around it.
#
# * **Given.** `model`, a module of float32; it is called once per step, in the mode in which it is. Some parameters may be frozen, used twice, or not used at all; none has a gradient yet.
# * **Given.** `batches`, a list of pairs of an input and a target, one per step; `rate`, the learning rate of plain descent. The call may stand in a region `torch.autocast("cpu", torch.bfloat16, enabled=False)` of the caller's.
# * **Result.** A list with the loss of each step as a Python number, computed with the weights of that step. <!-- losses -->
# * **Result.** The model's weights change in place, as in plain descent; gradients are not added up from step to step. <!-- weights -->
# * **Result.** The layers compute in bfloat16, and the weights are in float32 all the time. <!-- dtypes -->
# * **Leave.** Frozen parameters. <!-- weights -->
# %% [markdown] tags=["ru"] of="1f6d44c8"
# ### `fix_region`
#
# **С autocast функция потерь в этом цикле на всех трёх шагах одна и та же: 16, 16, 16. Исправьте цикл: слои должны считать в bfloat16, а каждый шаг — сказываться на следующем значении функции потерь.**
#
# Исправьте этот цикл обучения. Он должен работать верно и тогда, когда его вызывают внутри чужой области.
#
# * **Дано.** Модуль `model` с параметрами float32; на каждом шаге он вызывается один раз, в том режиме, в котором находится. Некоторые параметры могут быть заморожены, использованы дважды или не использованы вовсе; градиентов у параметров ещё нет.
# * **Дано.** Список `batches` из пар «вход, правильный ответ», по одной на шаг; `rate` — скорость обучения для обычного спуска. Вызов может стоять внутри чужой области `torch.autocast("cpu", torch.bfloat16, enabled=False)`.
# * **Результат.** Список чисел Python: потери на каждом шаге, вычисленные с весами этого шага. <!-- losses -->
# * **Результат.** Веса модели изменены на месте, как при обычном спуске; градиенты от шага к шагу не накапливаются. <!-- weights -->
# * **Результат.** Слои считают в bfloat16, а веса всё время остаются в float32. <!-- dtypes -->
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
# %% [markdown] tags=["en"] explains="fix_region"
# In the next cell there are one layer with a weight of ones, three steps of descent, and two places for the region.
# %% [markdown] tags=["ru"] explains="fix_region" of="8c656d34"
# В следующей ячейке — один слой с весом из единиц, три шага спуска и два места для области.
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
# %% [markdown] tags=["en", "try"]
# Which of the two learns? And what does the weight of the other do, while its loss stays at 16?
#
# The second one does not stand still: its weight runs past 0 to $-1.4$, by the same gradient again and again. But the loss is 16 each time, because the forward pass multiplies by a copy. autocast converts a weight to bfloat16 at its first use and keeps the copy, so that a weight used twice is converted once. The copies are thrown away when the *outermost* region ends. An optimizer that changes the weight in the meantime does not touch them: no version counter of lesson 04 watches, and no warning comes.
#
# The outermost region need not be yours. If a caller has put `autocast(enabled=False)` around your function, your regions are inner ones, and their copies live as long as the caller's. Two things help: `cache_enabled=False` in your own region, or `torch.clear_autocast_cache()` after each step.
# %% [markdown] tags=["ru", "try"] of="99aef340"
# Какой из двух слоёв обучается? И что происходит с весом другого, пока потери равны 16?
#
# Во втором случае вес на месте не стоит: под действием одного и того же градиента он переходит через ноль и доходит до $-1.4$. Но потери всякий раз равны 16, потому что в прямом проходе умножают не на него, а на его копию. При первом использовании autocast преобразует вес в bfloat16 и хранит копию, чтобы не преобразовывать дважды вес, который нужен дважды. Копии выбрасываются, когда заканчивается самая *внешняя* область. Если до этого оптимизатор изменит вес, копий это не коснётся: счётчик версий из урока 04 за ними не следит, и предупреждения не будет.
#
# Внешней может оказаться и не ваша область. Если вызывающий код поставил вокруг вашей функции `autocast(enabled=False)`, ваши области — внутренние, и копии живут до конца чужой. Помогает одно из двух: `cache_enabled=False` в своей области или `torch.clear_autocast_cache()` после каждого шага.
# %% tags=["fact"]
half, brain, full = map(torch.finfo, (torch.float16, torch.bfloat16, torch.float32))
assert half.bits == brain.bits == 16 and 0.99 < brain.max / full.max < 1 and brain.tiny == full.tiny
assert 1e-3 < brain.eps < 1e-2
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
# ## A Function inside a region
#
# autocast converts the inputs of single operations: of `x @ w`, of a convolution. The inputs of a Function it leaves alone. And a training step as recommended puts the forward pass into the region and the backward pass outside. `Spy` says what its two methods see.
# %% [markdown] tags=["ru"] of="98353b79"
# ## Функция внутри области
#
# Входы отдельных операций, `x @ w` или свёртки, autocast преобразует. Входы пользовательской функции — нет. На шаге обучения рекомендуют выполнять внутри области только прямой проход, а обратный — снаружи. Функция `Spy` сообщает, что видят оба её метода.
# %%
class Spy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        y = x @ w
        print(f"forward:  x {x.dtype}, x @ w {y.dtype}")
        return y

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        on = torch.is_autocast_enabled("cpu")
        print(f"backward: grad_output {grad_output.dtype}, x {x.dtype}, x @ w {(x @ w).dtype}, autocast {on}")
        return grad_output @ w.t(), x.t() @ grad_output


x, w = torch.ones(2, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)
with region():
    y = Spy.apply(x, w)
try:
    y.sum().backward()
except RuntimeError as error:
    print("RuntimeError:", error)
# %% tags=["fact"]
import io
from contextlib import redirect_stdout

from torch.amp import custom_bwd, custom_fwd

with redirect_stdout(io.StringIO()) as said:
    with region():
        y = Spy.apply(x, w)
    assert attempt(lambda: y.sum().backward()) == "refused"
assert said.getvalue().splitlines() == [
    "forward:  x torch.float32, x @ w torch.bfloat16",
    "backward: grad_output torch.bfloat16, x torch.float32, x @ w torch.float32, autocast False",
]


class WithBoth(Spy):
    forward = staticmethod(custom_fwd(Spy.forward, device_type="cpu"))
    backward = staticmethod(custom_bwd(Spy.backward, device_type="cpu"))


class WithBackwardAlone(Spy):
    backward = staticmethod(custom_bwd(Spy.backward, device_type="cpu"))


class WithContextApart(torch.autograd.Function):
    forward = staticmethod(custom_fwd(lambda x, w: x @ w, device_type="cpu"))
    backward = staticmethod(custom_bwd(Spy.backward, device_type="cpu"))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


def trains(function):
    try:
        with region():
            y = function.apply(x, w)
        return [g.dtype for g in torch.autograd.grad(y.sum(), (x, w))]
    except (RuntimeError, AttributeError) as error:
        return type(error)


with redirect_stdout(io.StringIO()) as said:
    assert trains(WithBoth) == [torch.float32] * 2
    assert "autocast True" in said.getvalue() and "grad_output torch.bfloat16, x torch.float32" in said.getvalue()
    assert trains(Spy) is RuntimeError and trains(WithBackwardAlone) is AttributeError
    assert trains(WithContextApart) is AttributeError


# %% [markdown] tags=["en"]
# The product refuses. That is the lucky case.
#
# ### `fix_layer`
#
# **`Layer.apply(x, w)` is `tanh(x @ w)`, computed again in the backward pass. Under autocast it is wrong without an error: mend it.**
#
# `Layer.apply(x, w)` is `tanh(x @ w)`. To save memory it recomputes the product. Nobody noticed an error; mend it.
#
# * **Given.** Matrices `x` and `w` on the CPU, in float32 or float64.
# * **Result.** Without autocast value, gradients and second derivatives are right. <!-- plain -->
# * **Result.** Forward pass in a region of bfloat16, backward pass outside: all matrix products are computed in bfloat16, and the gradients come out in float32. <!-- region -->
# * **Result.** The same with both passes in the region. <!-- both_inside -->
# * **Result.** Forward pass outside, backward pass in a region: all products are computed in float32. <!-- backward_inside -->
# %% [markdown] tags=["ru"] of="471555b8"
# Умножение кончается ошибкой. Это ещё удачный случай.
#
# ### `fix_layer`
#
# **Функция `Layer.apply(x, w)` вычисляет `tanh(x @ w)`, повторяя вычисление в обратном проходе. С autocast она работает неверно, а сообщения об ошибке нет: исправьте её.**
#
# Функция `Layer.apply(x, w)` вычисляет `tanh(x @ w)`. Чтобы сэкономить память, в обратном проходе она вычисляет произведение заново. В ней есть ошибка, которой никто не заметил. Исправьте её.
#
# * **Дано.** Матрицы `x` и `w` на CPU, типа float32 или float64.
# * **Результат.** Без autocast верны значение, градиенты и вторые производные. <!-- plain -->
# * **Результат.** Если прямой проход выполняется внутри области bfloat16, а обратный — снаружи, все матричные произведения вычисляются в bfloat16, а градиенты получаются в float32. <!-- region -->
# * **Результат.** То же верно и тогда, когда внутри области выполняются оба прохода. <!-- both_inside -->
# * **Результат.** Если прямой проход выполняется снаружи, а обратный — внутри области, все произведения вычисляются в float32. <!-- backward_inside -->
# %% answer="fix_layer"
from torch.amp import custom_bwd, custom_fwd


class Layer(torch.autograd.Function):
    """tanh(x @ w), which keeps only its inputs."""

    @staticmethod
    @custom_fwd(device_type="cpu")
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        g = grad_output * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g


# %% given="fix_layer"
class Layer(torch.autograd.Function):
    """tanh(x @ w), which keeps only its inputs."""

    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return (x @ w).tanh()

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        g = grad_output * (1 - (x @ w).tanh() ** 2)
        return g @ w.t(), x.t() @ g


# %% alternative="fix_layer"
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        ctx.on = torch.is_autocast_enabled("cpu")
        return torch.tanh(x @ w)

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        with torch.autocast("cpu", torch.bfloat16, enabled=ctx.on):
            y = torch.tanh(x @ w)
            g = grad_output * (1 - y * y)
            return g @ w.T, x.T @ g


# %% alternative="fix_layer"
class Layer(torch.autograd.Function):
    @staticmethod
    def forward(x, w):
        return (x @ w).tanh()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)
        ctx.kind = output.dtype

    @staticmethod
    def backward(ctx, grad_output):
        x, w, y = ctx.saved_tensors
        with torch.autocast("cpu", enabled=False):
            g = grad_output * (1 - y**2)
            return (g @ w.t().to(ctx.kind)).to(w.dtype), (x.t().to(ctx.kind) @ g).to(x.dtype)


# %% alternative="fix_layer"
from torch.amp import custom_bwd, custom_fwd


class Layer(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu")
    def forward(ctx, x, w):
        y = torch.tanh(torch.mm(x, w))
        ctx.save_for_backward(x, w, y)
        return y

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad_output):
        x, w, y = ctx.saved_tensors
        g = grad_output - grad_output * y.square()
        return torch.mm(g, w.t()), torch.mm(x.t(), g)


# %% check="fix_layer"
from autograder import check

check("fix_layer")
# %% [markdown] tags=["en"] explains="fix_layer"
# A `backward` that has no such meeting, because it recomputes something in float32 first, raises nothing: it is slow, and it differentiates another function than `forward` computed.
#
# Two decorators put that right, and they go together: `custom_fwd(device_type="cpu")` above `forward(ctx, ...)` notes whether autocast was on; `custom_bwd(device_type="cpu")` above `backward` sets it to the same. Both stand below `@staticmethod`. With a `forward` without context they do not work: what one notes, the other does not find. A Function for autocast and `torch.func` at once notes the state itself, in `setup_context`, by `torch.is_autocast_enabled("cpu")`.
# %% [markdown] tags=["ru"] explains="fix_layer" of="3b9cb5b2"
# Если же `backward` сначала что-то вычисляет заново в float32, до такого умножения дело не доходит и ошибки нет. Метод просто работает медленно и дифференцирует не ту функцию, которую вычислил `forward`.
#
# Исправить это можно двумя декораторами, и действуют они только вместе: `custom_fwd(device_type="cpu")` над `forward(ctx, ...)` запоминает, был ли включён autocast, а `custom_bwd(device_type="cpu")` над `backward` переключает его в то же состояние. Оба ставят под `@staticmethod`. Если `forward` не принимает контекст, они не работают: то, что запомнил один, другой не находит. Функция, которая нужна и внутри autocast, и в `torch.func`, должна запоминать состояние сама, в `setup_context`, с помощью `torch.is_autocast_enabled("cpu")`.


# %% [markdown] tags=["en"]
# ## Where you stand
# %% [markdown] tags=["ru"] of="76fccca0"
# ## Что сделано
# %%
from autograder import progress

progress()
# %% [markdown] tags=["en"]
# Save the notebook (Ctrl+S) and run the last cell: `ready()` runs the saved file from top to bottom in a fresh process and lists your points. In a class, it also names the file to hand in; if you study alone, it shows whether your answers hold without this session.
# %% [markdown] tags=["ru"] of="53419bae"
# Сохраните тетрадь (Ctrl+S) и запустите последнюю ячейку: `ready()` выполнит сохранённый файл сверху вниз в новом процессе и покажет баллы. Если вы учитесь в группе, там же будет назван файл для сдачи. Если занимаетесь самостоятельно, вы узнаете, проходят ли ответы проверку с чистого листа, без переменных, оставшихся от ваших опытов.
# %%
from autograder import ready

ready()
