"""The mistakes in `complex_product`, as programs."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .complex_product import Function, complex_product


class _Product(Function):
    """The forward pass of a product that saves its inputs."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b


def _fit(gradient: Tensor, to: Tensor) -> Tensor:
    return gradient if to.is_complex() or not gradient.is_complex() else gradient.real


@complex_product.mistake(
    en="The conjugate is missing: the gradient that arrives was multiplied by the derivative itself.",
    ru="Пропущено сопряжение: пришедший градиент умножен на саму производную.",
)
class without_the_conjugate(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit(g * a, b)


@complex_product.mistake(
    en="The conjugate was taken of the wrong factor, of the gradient that arrives.",
    ru="Сопряжён не тот множитель: пришедший градиент, а не производная.",
)
class conjugates_what_arrives(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g.conj() * b, a), _fit(g.conj() * a, b)


@complex_product.mistake(
    en="The two gradients are swapped: the one for `a` has to contain `b`, and the one for `b` has to contain `a`.",
    ru="Градиенты переставлены: в градиент по `a` должно входить `b`, а в градиент по `b` — `a`.",
)
class swaps_the_gradients(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * a.conj(), a), _fit(g * b.conj(), b)


@complex_product.mistake(
    en="Only the real part of each gradient was returned. A complex input has both parts.",
    ru="От каждого градиента возвращена только вещественная часть. У комплексного входа нужны обе.",
)
class real_parts_alone(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return (g * b.conj()).real.to(a.dtype), (g * a.conj()).real.to(b.dtype)


@complex_product.mistake(
    en="A real input gets a complex gradient, which torch refuses. Its gradient is the real part.",
    ru="Вещественный вход получает комплексный градиент, и torch от него отказывается. Нужна вещественная часть.",
)
class complex_for_the_real(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return g * b.conj(), g * a.conj()


@complex_product.mistake(
    en="A real input gets the magnitude of the gradient. Its gradient is the real part.",
    ru="Вещественный вход получает модуль градиента, а его градиент — вещественная часть.",
)
class magnitude_for_the_real(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        found = g * b.conj(), g * a.conj()
        return tuple(t if to.is_complex() else t.abs() for t, to in zip(found, (a, b)))


@complex_product.mistake(
    en="The gradient that arrives is missing: only the conjugates were returned.",
    ru="Потерян пришедший градиент: возвращены только сопряжённые числа.",
)
class conjugates_alone(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(b.conj().resolve_conj(), a), _fit(a.conj().resolve_conj(), b)


@complex_product.mistake(
    en="What `backward` computes with is cut off from the inputs, so the gradient counts as a constant: the factors were "
    "computed in `forward` or under `no_grad()`, detached, or the class refuses to be differentiated twice.",
    ru="Величины, с которыми работает `backward`, не связаны со входами, и градиент считается константой: множители "
    "вычислены в `forward` или внутри `no_grad()`, отсоединены, либо класс не допускает повторного дифференцирования.",
)
class conjugates_in_forward(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.conj().resolve_conj().clone(), b.conj().resolve_conj().clone())
        return a * b

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit(g * a, b)


@complex_product.mistake(
    en="The product was conjugated as a whole. Only the factor is, the gradient that arrives stays as it is.",
    ru="Сопряжено всё произведение. Сопрягать нужно только множитель, а пришедший градиент брать как есть.",
)
class conjugates_the_whole(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit((g * b).conj().resolve_conj(), a), _fit((g * a).conj().resolve_conj(), b)


@complex_product.mistake(
    en="The gradient for `a` is right. In the one for `b` the conjugate is missing.",
    ru="Градиент по `a` верен. В градиенте по `b` пропущено сопряжение.",
)
class conjugates_one_alone(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * b.conj(), a), _fit(g * a, b)


@complex_product.mistake(
    en="Both inputs got the gradient for `a`. The one for `b` has to contain `a`.",
    ru="Оба входа получили градиент по `a`. А в градиент по `b` должно входить `a`.",
)
class the_same_for_both(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * b.conj(), a), _fit(g * b.conj(), b)


@complex_product.mistake(
    en="The gradients are twice too large. $2\\, \\partial L / \\partial \\bar z$ is what arrives already.",
    ru="Градиенты вдвое больше нужных. Множитель 2 из $2\\, \\partial L / \\partial \\bar z$ уже есть в том, что пришло.",
)
class twice_too_large(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(2 * g * b.conj(), a), _fit(2 * g * a.conj(), b)


@complex_product.mistake(
    en="For a real input the real parts were multiplied. The real part is taken of the product, after the "
    "multiplication.",
    ru="Для вещественного входа перемножены вещественные части. Нужна вещественная часть произведения.",
)
class product_of_real_parts(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        pairs = ((a, b), (b, a))
        return tuple(g * by.conj() if to.is_complex() else g.real * by.real for to, by in pairs)


@complex_product.mistake(
    en="A real input gets the imaginary part. Its gradient is the real part.",
    ru="Вещественный вход получает мнимую часть, а его градиент — вещественная.",
)
class imaginary_for_the_real(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        found = g * b.conj(), g * a.conj()
        return tuple(t if to.is_complex() else t.imag for t, to in zip(found, (a, b)))


@complex_product.mistake(
    en="The real part is taken for `b` alone. `a` can be the real input as well.",
    ru="Вещественная часть берётся только для `b`. Но вещественным бывает и `a`.",
)
class real_part_for_b_alone(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return g * b.conj(), _fit(g * a.conj(), b)


@complex_product.mistake(
    en="The forward pass conjugates `b`. Asked for is `a * b`.",
    ru="В прямом проходе `b` сопряжено, а нужно `a * b`.",
)
class conjugates_in_the_value(_Product):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a, b)
        return a * b.conj()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit((g.conj() * a).resolve_conj(), b)


@complex_product.mistake(
    en="The gradient that arrives was changed in place. It belongs to autograd, and the second derivative needs it.",
    ru="Пришедший градиент изменён на месте. Он принадлежит autograd и нужен для второй производной.",
)
class writes_into_what_arrives(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        for_b = g * a.conj()
        return _fit(g.mul_(b.conj()), a), _fit(for_b, b)


@complex_product.mistake(
    en="The conjugates were computed in `forward` and saved there: autograd cannot go back from them to the inputs, and the "
    "second derivative is 0. Save the inputs themselves.",
    ru="Сопряжённые числа вычислены и сохранены в `forward`: пути от них ко входам у autograd нет, и вторая производная "
    "равна 0. Сохраняйте сами входы.",
)
class saves_the_conjugates(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.save_for_backward(a.conj(), b.conj())
        return a * b

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit(g * a, b)


@complex_product.mistake(
    en="If one input is real, the real part is returned for both. The complex one has both parts.",
    ru="Если один вход вещественный, вещественная часть возвращена для обоих. А у комплексного входа нужны обе части.",
)
class real_parts_for_both(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        found = g * b.conj(), g * a.conj()
        return found if a.is_complex() and b.is_complex() else tuple(each.real for each in found)


@complex_product.mistake(
    en="Only the gradient for `b` is right: in the one for `a` the conjugate is missing.",
    ru="Верен только градиент по `b`: в градиенте по `a` пропущено сопряжение.",
)
class conjugates_for_b_alone(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * b, a), _fit(g * a.conj(), b)


@complex_product.mistake(
    en="Only `a` gets a gradient: for `b` None was returned.",
    ru="Градиент получает только `a`: для `b` возвращено None.",
)
class nothing_for_b(_Product):
    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b = ctx.saved_tensors
        return _fit(g * b.conj(), a), None


@complex_product.mistake(
    en="The factor was won back from the product by a division. Where an input is 0, that gives NaN.",
    ru="Множитель получен из произведения делением. Там, где вход равен 0, получается NaN.",
)
class divides_the_product(Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        product = a * b
        ctx.save_for_backward(a, b, product)
        return product

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        a, b, product = ctx.saved_tensors
        return _fit(g * (product / a).conj(), a), _fit(g * (product / b).conj(), b)
