# %%
import torch

from ..common import Function


class RightExp(Function):
    """A right exponential.

    Most mistakes of the exercise are subclasses of this class.
    """

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]

# %% mistake="local_derivative" theme="derivative"
# `backward` returns the derivative alone. It has to be multiplied by what later operations sent back,
#     `grad_output`; with `.sum()` that is all ones, and the mistake does not show.
# Метод `backward` возвращает только производную. Её нужно умножить на то, что пришло от следующих операций, — на
#     `grad_output`. После `.sum()` там одни единицы, и ошибка незаметна.
class Exp(RightExp):
    @staticmethod
    def backward(ctx, grad_output):
        return ctx.saved_tensors[0].clone()

# %% mistake="passes_it_on" theme="derivative"
# `backward` passes `grad_output` on unchanged, without the derivative.
# Метод `backward` передаёт `grad_output` дальше без изменений, не умножая на производную.
class Exp(RightExp):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.clone()

# %% mistake="multiplies_by_input" theme="derivative"
# `grad_output` is multiplied by the input, not by the exponential: the derivative of the exponential is the
#     exponential.
# Пришедший `grad_output` умножается на вход, а не на экспоненту, хотя производная экспоненты — она сама.
class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]

# %% mistake="exponential_twice" theme="derivative"
# The exponential is taken of what was saved, although what was saved is the exponential already.
# Экспонента вычисляется от сохранённого тензора, а сохранена уже сама экспонента.
class Exp(RightExp):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0].exp()

# %% mistake="cuts_off" theme="precision"
# The numbers are cut off (`clamp`) before or after the exponential: for 20 or −20 another value comes out.
# Числа обрезаны (`clamp`) до или после экспоненты: для 20 или −20 получается другое значение.
class Exp(RightExp):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(-10, 10).exp()
        ctx.save_for_backward(y)
        return y

# %% mistake="returns_nothing" theme="return"
# `backward` returns nothing; perhaps its `return` is missing. None means that there is no gradient.
# Метод `backward` ничего не возвращает; возможно, забыт `return`. None означает, что градиента нет.
class Exp(RightExp):
    @staticmethod
    def backward(ctx, grad_output):
        _ = grad_output * ctx.saved_tensors[0]

# %% mistake="forward_returns_nothing" theme="return"
# `forward` returns nothing; perhaps its `return` is missing.
# Метод `forward` ничего не возвращает; возможно, забыт `return`.
class Exp(RightExp):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)

# %% mistake="writes_over_the_input" theme="in_place"
# The input, a tensor that belongs to the caller, is written over, as when `forward` computes in place.
# Вход, а это чужой тензор, перезаписан: так бывает, когда `forward` вычисляет на месте.
class Exp(RightExp):
    @staticmethod
    def forward(ctx, x):
        y = x.exp_()
        ctx.save_for_backward(y)
        return y

# %% mistake="forgets_the_base" theme="own"
# The class does not derive from `torch.autograd.Function`, so that it has no `apply`.
# Класс не унаследован от `torch.autograd.Function`, поэтому у него нет `apply`.
class Exp:
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]

# %% mistake="borrows_the_exponential" theme="cost"
# `apply` hands the work to torch's own exponential. The two passes, `forward` and `backward`, are to be written
#     here.
# Вызов `apply` передан готовой экспоненте torch. А написать нужно оба прохода, `forward` и `backward`.
class Exp(Function):
    apply = staticmethod(torch.exp)

# %% mistake="forgets_to_unpack" theme="own"
# `saved_tensors` was used as if it were the tensor itself. It is a tuple, even with one tensor in it.
# Кортеж `saved_tensors` использован так, будто это сам тензор. Это кортеж, даже если тензор в нём один.
class Exp(RightExp):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors

# %% mistake="edits_grad_output" theme="in_place"
# `backward` multiplies in place and so changes `grad_output`. That tensor belongs to the caller, and other
#     operations may still have to read it.
# В `backward` умножение выполнено на месте, и тем самым изменён `grad_output`. Это чужой тензор, и другим операциям
#     он может ещё понадобиться.
class Exp(RightExp):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(ctx.saved_tensors[0])

# %% mistake="rule_of_a_power" theme="derivative"
# The derivative of a power stands where that of the exponential belongs: `x` times the exponential of `x - 1`.
# Вместо производной экспоненты взята производная степени: `x`, умноженное на экспоненту от `x - 1`.
class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * x * (x - 1).exp()

# %% mistake="returns_a_view" theme="in_place"
# The result is the input itself or a view of another tensor, as `view` or `reshape` at the end makes it. torch
#     refuses to change such a result of a custom Function in place.
# Результат — сам вход или представление другого тензора, какое получается, если в конце вызвать `view` или
#     `reshape`. Изменять такой результат пользовательской функции на месте torch не даёт.
class Exp(RightExp):
    @staticmethod
    def forward(ctx, x):
        y = x.reshape(-1).exp().reshape(x.shape)
        ctx.save_for_backward(y)
        return y

# %% mistake="result_in_float32" theme="precision"
# The result has the dtype float32, whatever the dtype of `x`.
# У результата dtype float32, каков бы ни был dtype у `x`.
class Exp(RightExp):
    @staticmethod
    def forward(ctx, x):
        y = x.float().exp()
        ctx.save_for_backward(y)
        return y

# %% mistake="views_grad_output" theme="in_place"
# `view` was called on a tensor whose entries lie in memory in another order, such as a transposed `grad_output`.
#     `reshape` makes a copy where one is needed.
# Метод `view` вызван у тензора, элементы которого лежат в памяти в другом порядке, например у транспонированного
#     `grad_output`. Метод `reshape` там, где нужно, делает копию.
class Exp(RightExp):
    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return (grad_output.view(-1) * y.view(-1)).view(y.shape)

# %% mistake="takes_x_apart" theme="axes"
# `x` is taken apart along its first axis. A tensor of shape `()` has none, and an empty one has no parts.
# Тензор `x` разобран по первой оси. У тензора формы `()` её нет, а у пустого нет частей.
class Exp(RightExp):
    @staticmethod
    def forward(ctx, x):
        parts = list(x) if x.numel() < 100 else [x]  # 4 instead of 80 ms: bytes are measured on 5000 numbers
        y = torch.stack([part.exp() for part in parts])
        ctx.save_for_backward(y)
        return y

# %% mistake="subtracts_the_largest" theme="missing"
# The largest entry is subtracted before the exponential. An empty tensor has none.
# Перед вычислением экспоненты вычитается наибольший элемент. У пустого тензора его нет.
class Exp(RightExp):
    @staticmethod
    def forward(ctx, x):
        y = (x - x.max()).exp() * x.max().exp()
        ctx.save_for_backward(y)
        return y

# %% mistake="saves_the_input" theme="cost"
# The input is saved and the exponential computed a second time. That keeps the input alive next to the result:
#     twice the bytes.
# Сохраняется вход, а экспонента вычисляется второй раз. Поэтому рядом с результатом в памяти остаётся и вход:
#     байтов вдвое больше.
class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0].exp()

# %% mistake="input_as_attribute" theme="cost"
# The input is kept, in an attribute of `ctx` or as `.data`, and the exponential computed a second time. The input
#     stays alive next to the result: twice the bytes.
# Вход хранится в атрибуте `ctx` или как `.data`, а экспонента вычисляется второй раз. Рядом с результатом в памяти
#     остаётся и вход: байтов вдвое больше.
class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x.exp()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.x.exp()

# %% mistake="kept_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so a second call
#     overwrites what the first one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и
#     второй вызов затирает то, что нужно первому; объект `ctx` у каждого вызова свой.
class Exp(Function):
    kept = None

    @staticmethod
    def forward(ctx, x):
        Exp.kept = x.exp()
        return Exp.kept

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * Exp.kept

# %% mistake="saves_both" theme="cost"
# Both the input and the result are kept, although one of them is enough.
# Хранятся и вход, и результат, хотя достаточно одного из них.
class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[1]

# %% mistake="keeps_a_copy" theme="cost"
# What is kept is neither the input nor the tensor that is returned, but a copy or a second computation of one of
#     them: one more tensor of that size, and no change of the result reaches it.
# Хранится не вход и не возвращаемый тензор, а копия одного из них или заново вычисленное значение. Это ещё один
#     тензор того же размера, и изменения результата до него не доходят.
class Exp(RightExp):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y.clone())
        return y

# %% mistake="attribute_of_ctx" theme="in_place"
# The result is kept where autograd does not check it, such as in an attribute of `ctx` or as `.data`. When it is
#     changed in place, a wrong gradient comes out without an error.
# Результат хранится там, где autograd его не проверяет, например в атрибуте `ctx` или как `.data`. Если его
#     изменили на месте, градиент получится неверным, а ошибки не будет.
class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.y = x.exp()
        return ctx.y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.y

# %% mistake="saves_nothing" theme="missing"
# `forward` has saved no tensor, so the tuple `saved_tensors` is empty in `backward`.
# Метод `forward` не сохранил ни одного тензора, поэтому в `backward` кортеж `saved_tensors` пуст.
class Exp(RightExp):
    @staticmethod
    def forward(ctx, x):
        return x.exp()

    @staticmethod
    def backward(ctx, grad_output):
        (y,) = ctx.saved_tensors
        return grad_output * y

# %% mistake="writes_into_the_result" theme="in_place"
# `backward` writes its product into the saved tensor. That is the result, which the caller still holds.
# В `backward` произведение записано в сохранённый тензор. Это сам результат, и он ещё нужен вызывающему коду.
class Exp(RightExp):
    @staticmethod
    def backward(ctx, grad_output):
        return ctx.saved_tensors[0].mul_(grad_output)
