# %%
import torch

Function = torch.autograd.Function


class _Product(Function):
    """The forward pass of a product that saves its inputs."""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b


def _fit(gradient, to):
    return gradient if to.is_complex() or not gradient.is_complex() else gradient.real

# %% mistake="without_the_conjugate" theme="derivative"
# The conjugate is missing: the gradient that arrives was multiplied by the derivative itself.
# Пропущено сопряжение: пришедший градиент умножен на саму производную.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit(g * a, b)

# %% mistake="conjugates_what_arrives" theme="derivative"
# The conjugate was taken of the wrong factor, of the gradient that arrives.
# Сопряжён не тот множитель: пришедший градиент, а не производная.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(g.conj() * b, a), _fit(g.conj() * a, b)

# %% mistake="swaps_the_gradients" theme="derivative"
# The two gradients are swapped: the one for `a` has to contain `b`, and the one for `b` has to contain `a`.
# Градиенты переставлены: в градиент по `a` должно входить `b`, а в градиент по `b` — `a`.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(g * a.conj(), a), _fit(g * b.conj(), b)

# %% mistake="real_parts_alone" theme="derivative"
# Only the real part of each gradient was returned. A complex input has both parts.
# От каждого градиента возвращена только вещественная часть. У комплексного входа нужны обе.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return (g * b.conj()).real.to(a.dtype), (g * a.conj()).real.to(b.dtype)

# %% mistake="complex_for_the_real" theme="precision"
# A real input gets a complex gradient, which torch refuses. Its gradient is the real part.
# Вещественный вход получает комплексный градиент, и torch от него отказывается. Нужна вещественная часть.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b.conj(), g * a.conj()

# %% mistake="magnitude_for_the_real" theme="derivative"
# A real input gets the magnitude of the gradient. Its gradient is the real part.
# Вещественный вход получает модуль градиента, а должен получать его вещественную часть.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        found = g * b.conj(), g * a.conj()
        return tuple(t if to.is_complex() else t.abs() for t, to in zip(found, (a, b)))

# %% mistake="conjugates_alone" theme="derivative"
# The gradient that arrives is missing: only the conjugates were returned.
# Потерян пришедший градиент: возвращены только сопряжённые числа.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(b.conj().resolve_conj(), a), _fit(a.conj().resolve_conj(), b)

# %% mistake="conjugates_in_forward" theme="recording"
# What `backward` computes with is cut off from the inputs, so the gradient counts as a constant: the factors were
#     computed in `forward` or under `no_grad()`, detached, or the class refuses to be differentiated twice.
# Величины, с которыми работает `backward`, не связаны со входами, и градиент считается константой: множители
#     вычислены в `forward` или внутри `no_grad()`, отсоединены, либо класс не допускает повторного дифференцирования.
class ComplexProduct(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a.conj().resolve_conj().clone(), b.conj().resolve_conj().clone())
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit(g * a, b)

# %% mistake="conjugates_the_whole" theme="derivative"
# The product was conjugated as a whole. Only the factor is, the gradient that arrives stays as it is.
# Сопряжено всё произведение. Сопрягать нужно только множитель, а пришедший градиент брать как есть.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit((g * b).conj().resolve_conj(), a), _fit((g * a).conj().resolve_conj(), b)

# %% mistake="conjugates_one_alone" theme="derivative"
# The gradient for `a` is right. In the one for `b` the conjugate is missing.
# Градиент по `a` верен. В градиенте по `b` пропущено сопряжение.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(g * b.conj(), a), _fit(g * a, b)

# %% mistake="the_same_for_both" theme="derivative"
# Both inputs got the gradient for `a`. The one for `b` has to contain `a`.
# Оба входа получили градиент по `a`. А в градиент по `b` должно входить `a`.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(g * b.conj(), a), _fit(g * b.conj(), b)

# %% mistake="twice_too_large" theme="scaling"
# The gradients are twice too large. $2\, \partial L / \partial \bar z$ is what arrives already.
# Градиенты вдвое больше нужных. Множитель 2 из $2\, \partial L / \partial \bar z$ уже есть в том, что пришло.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(2 * g * b.conj(), a), _fit(2 * g * a.conj(), b)

# %% mistake="product_of_real_parts" theme="derivative"
# For a real input the real parts were multiplied. The real part is taken of the product, after the multiplication.
# Для вещественного входа перемножены вещественные части. Нужна вещественная часть произведения.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        pairs = ((a, b), (b, a))
        return tuple(g * by.conj() if to.is_complex() else g.real * by.real for to, by in pairs)

# %% mistake="imaginary_for_the_real" theme="derivative"
# A real input gets the imaginary part. Its gradient is the real part.
# Вещественный вход получает мнимую часть градиента, а должен получать вещественную.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        found = g * b.conj(), g * a.conj()
        return tuple(t if to.is_complex() else t.imag for t, to in zip(found, (a, b)))

# %% mistake="real_part_for_b_alone" theme="missing"
# The real part is taken for `b` alone. `a` can be the real input as well.
# Вещественная часть берётся только для `b`. Но вещественным бывает и `a`.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b.conj(), _fit(g * a.conj(), b)

# %% mistake="conjugates_in_the_value" theme="own"
# The forward pass conjugates `b`. Asked for is `a * b`.
# В прямом проходе `b` сопряжено, а нужно `a * b`.
class ComplexProduct(_Product):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b.conj()

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit((g.conj() * a).resolve_conj(), b)

# %% mistake="writes_into_what_arrives" theme="in_place"
# The gradient that arrives was changed in place. It belongs to autograd, and the second derivative needs it.
# Пришедший градиент изменён на месте. Он принадлежит autograd и нужен для второй производной.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        for_b = g * a.conj()
        return _fit(g.mul_(b.conj()), a), _fit(for_b, b)

# %% mistake="saves_the_conjugates" theme="recording"
# The conjugates were computed in `forward` and saved there: autograd cannot go back from them to the inputs, and
#     the second derivative is 0. Save the inputs themselves.
# Сопряжённые числа вычислены и сохранены в `forward`: пути от них ко входам у autograd нет, и вторая производная
#     равна 0. Сохраняйте сами входы.
class ComplexProduct(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a.conj(), b.conj())
        return a * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit(g * a, b)

# %% mistake="real_parts_for_both" theme="derivative"
# If one input is real, the real part is returned for both. The complex one has both parts.
# Если один вход вещественный, вещественная часть возвращена для обоих. А у комплексного входа нужны обе части.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        found = g * b.conj(), g * a.conj()
        return found if a.is_complex() and b.is_complex() else tuple(each.real for each in found)

# %% mistake="conjugates_for_b_alone" theme="derivative"
# Only the gradient for `b` is right: in the one for `a` the conjugate is missing.
# Верен только градиент по `b`: в градиенте по `a` пропущено сопряжение.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit(g * a.conj(), b)

# %% mistake="nothing_for_b" theme="missing"
# Only `a` gets a gradient: for `b` None was returned.
# Градиент получает только `a`: для `b` возвращено None.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(g * b.conj(), a), None

# %% mistake="divides_the_product" theme="precision"
# The factor was won back from the product by a division. Where an input is 0, that gives NaN.
# Множитель получен из произведения делением. Там, где вход равен 0, получается NaN.
class ComplexProduct(Function):
    @staticmethod
    def forward(ctx, a, b):
        product = a * b
        ctx.save_for_backward(a, b, product)
        return product

    @staticmethod
    def backward(ctx, g):
        a, b, product = ctx.saved_tensors
        return _fit(g * (product / a).conj(), a), _fit(g * (product / b).conj(), b)

# %% mistake="real_part_for_a_alone" theme="precision"
# For a real `a` the real part was taken, but not for a real `b`.
# Для вещественного `a` вещественная часть взята, а для вещественного `b` — нет.
class ComplexProduct(_Product):
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return _fit(g * b.conj(), a), g * a.conj()
