# %%
import torch
from torch.autograd.function import once_differentiable

from ..common import Function


class _SinhForward(Function):
    """A right forward pass of sinh, which saves its input.

    Most mistakes of the exercise are subclasses of this class.
    """

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sinh(x)

# %% mistake="sinh_on_the_class" theme="state"
# What `backward` needs is kept on the class or in a global variable. All calls share those, so a second call
#     overwrites what the first one needs; each call has its own `ctx`.
# Нужное для `backward` хранится в самом классе или в глобальной переменной. Такое место у всех вызовов общее, и
#     второй вызов затирает то, что нужно первому; объект `ctx` у каждого вызова свой.
class Sinh(Function):
    x = None

    @staticmethod
    def forward(ctx, x):
        Sinh.x = x
        return torch.sinh(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.cosh(Sinh.x)

# %% mistake="sinh_over_the_input" theme="in_place"
# The input, a tensor that belongs to the caller, is written over, as when `forward` computes in place.
# Вход, а это чужой тензор, перезаписан: так бывает, когда `forward` вычисляет на месте.
class Sinh(_SinhForward):
    @staticmethod
    def forward(ctx, x):
        y = x.sinh_()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.sqrt(1 + ctx.saved_tensors[0] ** 2)

# %% mistake="sinh_in_place" theme="in_place"
# `backward` computes in place and so changes `grad_output`, a tensor that belongs to the caller.
# В `backward` вычисление выполнено на месте, и тем самым изменён `grad_output`, а это чужой тензор.
class Sinh(_SinhForward):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(torch.cosh(ctx.saved_tensors[0]))

# %% mistake="still_intermediates" theme="recording"
# What `backward` computes with is cut off from `x`: by `detach()`, `.data` or `no_grad()`, or because it was
#     computed in `forward` (`cosh(x)` is an intermediate result as well, wherever it is kept).
# Величины, с которыми работает `backward`, не связаны с `x`: из-за `detach()`, `.data` или `no_grad()` либо потому,
#     что вычислены в `forward` (`cosh(x)` — тоже промежуточный результат, где бы он ни хранился).
class Sinh(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.cosh = torch.cosh(x)
        return torch.sinh(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.cosh

# %% mistake="refuses" theme="missing"
# The class now refuses to be differentiated twice. That is honest, but the exercise asks for the second derivative.
# Класс теперь не допускает повторного дифференцирования. Это честно, но в упражнении нужна вторая производная.
class Sinh(_SinhForward):
    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return grad_output * torch.cosh(ctx.saved_tensors[0])

# %% mistake="under_no_grad" theme="recording"
# `backward` is not recorded, because of `no_grad()` or a second run of autograd inside it without `create_graph`.
#     What is not recorded cannot be differentiated again.
# Вычисления в `backward` не записываются: из-за `no_grad()` или потому, что внутри autograd запущен ещё раз без
#     `create_graph`. То, что не записано, второй раз не продифференцировать.
class Sinh(_SinhForward):
    @staticmethod
    def backward(ctx, grad_output):
        with torch.no_grad():
            return grad_output * torch.cosh(ctx.saved_tensors[0])

# %% mistake="detaches_grad_output" theme="recording"
# `grad_output` is detached. It depends on `x` as well here, and that part of the second derivative is lost.
# Отсоединён `grad_output`. Здесь он тоже зависит от `x`, и эта часть второй производной теряется.
class Sinh(_SinhForward):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.detach() * torch.cosh(ctx.saved_tensors[0])

# %% mistake="with_a_minus" theme="derivative"
# There is a minus, as with the cosine. The derivative of `sinh` is `cosh`, without a minus.
# Лишний минус, как у косинуса: производная `sinh` — это `cosh`, без минуса.
class Sinh(_SinhForward):
    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output * torch.cosh(ctx.saved_tensors[0])

# %% mistake="multiplies_by_itself" theme="derivative"
# `grad_output` is multiplied by the function itself. The derivative of `sinh` is `cosh`: (e + i) / 2.
# В обратном проходе `grad_output` умножен на саму функцию. Производная `sinh` — это `cosh`: (e + i) / 2.
class Sinh(_SinhForward):
    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.sinh(ctx.saved_tensors[0])

# %% mistake="loses_grad_output" theme="derivative"
# `grad_output` is missing in the derivative that was rewritten.
# В переписанной производной потерян `grad_output`.
class Sinh(_SinhForward):
    @staticmethod
    def backward(ctx, grad_output):
        return torch.cosh(ctx.saved_tensors[0])

# %% mistake="cosh_of_the_result" theme="derivative"
# `cosh` is taken of the result that was saved, not of `x`.
# `cosh` вычисляется от сохранённого результата, а не от `x`.
class Sinh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sinh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.cosh(ctx.saved_tensors[0])

# %% mistake="keeps_one_intermediate" theme="recording"
# One of the two exponentials is still saved in `forward`. It is a constant in `backward`, and half of the second
#     derivative is missing.
# Одна из двух экспонент по-прежнему сохранена в `forward`. В `backward` она постоянна, и половины второй
#     производной не хватает.
class Sinh(Function):
    @staticmethod
    def forward(ctx, x):
        growth = torch.exp(x)
        ctx.save_for_backward(x, growth)
        return (growth - torch.exp(-x)) / 2

    @staticmethod
    def backward(ctx, grad_output):
        x, growth = ctx.saved_tensors
        return grad_output * (growth + torch.exp(-x)) / 2

# %% mistake="as_for_the_sine" theme="derivative"
# The root is taken of `1 - y**2`. For the hyperbolic functions it is `1 + y**2`.
# Корень извлечён из `1 - y**2`. Для гиперболических функций верно `1 + y**2`.
class Sinh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sinh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * torch.sqrt(1 - ctx.saved_tensors[0] ** 2)

# %% mistake="halves_one_exponential" theme="scaling"
# Only the second exponential is divided by 2: brackets are missing around the sum.
# На 2 делится только вторая экспонента: у суммы нет скобок.
class Sinh(_SinhForward):
    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (torch.exp(x) + torch.exp(-x) / 2)
