"""Extra exercise: a custom Function whose calls wrongly share state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from autograder.checking.exercise import Case, aspect, exercise
from autograder.checking.inputs import signed
from autograder.checking.observe import using_answer
from autograder.language import Text

from .common import (
    EDITS_GRAD_OUTPUT,
    FORGETS_TO_UNPACK,
    OVERWRITES_INPUT,
    Function,
    apply,
    apply_custom,
    gradient_after_edit,
    gradients,
    same_numbers,
)


@exercise(
    title=Text("Two calls, one memory", "Два вызова, одна память"),
    kind="find the bug",
    asks="Square",
    asks_for="class",
    difficulty=2,
    minutes=8,
    aspects=[
        aspect(
            "unchanged",
            0,
            en="`forward` leaves its input, and `backward` the tensor `grad_output`, as they were.",
            ru="Метод `forward` не меняет свой вход, а `backward` — тензор `grad_output`.",
        ),
        aspect(
            "two_calls",
            2,
            en="After two calls, `y` of `a` and `z` of `b`, each of the two tensors gets its own gradient, in whatever "
            "order they are computed.",
            ru="После двух вызовов, `y` от `a` и `z` от `b`, каждый из двух тензоров получает свой градиент, в "
            "каком бы порядке их ни вычисляли.",
        ),
        aspect(
            "input_edited_before_backward",
            1,
            en="If the input is changed in place before `backward`, torch raises its error about an in-place "
            "operation.",
            ru="Если вход изменён на месте до `backward`, torch сообщает об этом ошибкой.",
        ),
    ],
    hints=[
        Text(
            "How many variables `Square.saved` are there after two calls, and what does it hold?",
            "Сколько всего переменных `Square.saved` после двух вызовов и что там лежит?",
        ),
        Text(
            "Each call of `apply` has a `ctx` of its own. There are two ways to keep something on it; only one is "
            "checked for in-place changes.",
            "У каждого вызова `apply` свой `ctx`. Хранить в нём можно двумя способами, но изменения на месте "
            "проверяются только при одном из них.",
        ),
        Text(
            "ctx.save_for_backward(...)\n...\n(x,) = ctx.saved_tensors",
            "ctx.save_for_backward(...)\n...\n(x,) = ctx.saved_tensors",
        ),
    ],
)
def square_function(answer: Any, case: Case) -> dict[str, object]:
    found: dict[str, object] = {}
    with using_answer():
        x, v = case.a.clone().requires_grad_(), case.grad_output.clone()
        once = apply_custom(answer.Square, x)
        saved = getattr(once.grad_fn, "saved_tensors", ()) if isinstance(once, Tensor) else ()
        gradients(once, [x], v)
        unchanged = {
            "input unchanged": same_numbers(x, case.a),
            "grad_output unchanged": same_numbers(v, case.grad_output),
        }
        if not all(unchanged.values()):
            return {"unchanged": unchanged}
        for order in "y + z", "y, z", "z, y":  # y is the square of a, z that of b
            a, b = (x.clone().requires_grad_() for x in (case.a, case.b))
            y, z = apply(answer.Square, a), apply(answer.Square, b)
            if not isinstance(y, Tensor) or not isinstance(z, Tensor):
                found[order] = y
                continue
            v, of_a, of_b = case.grad_output, f"a.grad ({order})", f"b.grad ({order})"
            if order == "y + z":
                found[of_a], found[of_b] = gradients(y + z, [a, b], v.clone())
            elif order == "y, z":
                found[of_a], found[of_b] = gradients(y, [a], v.clone())[0], gradients(z, [b], v.clone())[0]
            else:
                found[of_b], found[of_a] = gradients(z, [b], v.clone())[0], gradients(y, [a], v.clone())[0]
        edited = gradient_after_edit(answer.Square, case.a, case.grad_output.clone(), edited="input")
    return {
        "unchanged": unchanged,
        "two_calls": found,
        "input_edited_before_backward": edited,
        "by save_for_backward": len(saved) > 0,
    }


@square_function.cases
def cases(rng: torch.Generator) -> Iterator[Case]:
    a = signed(rng, 2, 3)
    a[0, 1] = 0.0
    yield Case(a=a, b=signed(rng, 2, 3), grad_output=signed(rng, 3, 2).T)
    yield Case(a=signed(rng, 3).float(), b=signed(rng, 3).float(), grad_output=signed(rng, 3).float())


@square_function.mistake(
    en="What `backward` needs is still kept in one place for all calls, on the class or in a global variable, so the "
    "second call overwrites it. Another name, or another value in that place, changes nothing.",
    ru="Нужное для `backward` по-прежнему лежит в общем для всех вызовов месте (в классе или в глобальной переменной), "
    "и второй вызов его затирает. Другое имя или другая величина на этом месте ничего не меняют.",
)
class still_on_the_class(Function):
    slope: Any = None

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        still_on_the_class.slope = 2 * x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * still_on_the_class.slope


@square_function.mistake(*EDITS_GRAD_OUTPUT)
class square_in_place(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output.mul_(2 * ctx.saved_tensors[0])


@square_function.mistake(*OVERWRITES_INPUT)
class square_over_the_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.clone())
        return x.mul_(x)

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * ctx.saved_tensors[0]


@square_function.mistake(
    en="The class keeps a list of its inputs, so the gradients depend on the order in which they are computed.",
    ru="В классе хранится список входов, поэтому градиенты зависят от порядка, в котором их вычисляют.",
)
class stack_on_the_class(Function):
    stack: list[Tensor] = []  # noqa: RUF012 - the mistake itself

    @classmethod
    def forward(cls, ctx: Any, x: Tensor) -> Tensor:
        stack_on_the_class.stack.append(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * stack_on_the_class.stack.pop()


@square_function.mistake(*square_function.mistakes["stack_on_the_class"].says)
class queue_on_the_class(Function):
    queue: list[Tensor] = []  # noqa: RUF012 - the mistake itself

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        queue_on_the_class.queue.append(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * queue_on_the_class.queue.pop(0)


@square_function.mistake(
    en="The input is not kept by `save_for_backward` but, for example, in an attribute of `ctx`. Each call has its "
    "own, but autograd does not check whether such a tensor was changed in place.",
    ru="Вход хранится не через `save_for_backward`, а, например, в атрибуте `ctx`. У каждого вызова он свой, но "
    "изменён ли такой тензор на месте, autograd не проверяет.",
)
class attribute_again(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * ctx.x


@square_function.mistake(
    en="A copy of the input is kept, or something computed from it. The gradient is right, but a second tensor is "
    "alive, and a change of the input goes unnoticed.",
    ru="Хранится копия входа или что-то вычисленное из него. Градиент верен, но в памяти лежит второй тензор, и "
    "изменение входа остаётся незамеченным.",
)
class copy_of_the_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.clone())
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * ctx.saved_tensors[0]


@square_function.mistake(
    en="The factor 2 is missing: the derivative of `x * x` is `2 * x`.",
    ru="Потерян множитель 2: производная `x * x` равна `2 * x`.",
)
class without_the_two(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return grad_output * ctx.saved_tensors[0]


@square_function.mistake(
    en="`backward` returns the derivative alone. It has to be multiplied by `grad_output`.",
    ru="Метод `backward` возвращает только производную. Её нужно умножить на `grad_output`.",
)
class square_local(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * ctx.saved_tensors[0]


@square_function.mistake(
    en="`save_for_backward` gets `x.data`. That tensor has a version counter of its own: a change of `x` goes "
    "unnoticed.",
    ru="В `save_for_backward` передан `x.data`. У этого тензора свой счётчик версий: изменение `x` остаётся "
    "незамеченным.",
)
class saves_data(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x.data)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * ctx.saved_tensors[0]


@square_function.mistake(
    en="The input is computed back from the result. A root does not know the sign: negative inputs get a wrong "
    "gradient.",
    ru="Вход восстановлен по результату. Но корень не различает знаков: у отрицательных входов градиент неверен.",
)
class root_of_the_result(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x * x
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * ctx.saved_tensors[0].sqrt()


@square_function.mistake(
    en="The input is computed back by dividing the result by it. At 0 that is 0/0: NaN.",
    ru="Вход получен делением результата на него же. В нуле это 0/0, то есть NaN.",
)
class divides_by_the_input(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x * x
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        x, y = ctx.saved_tensors
        return 2 * grad_output * y / x


@square_function.mistake(*FORGETS_TO_UNPACK)
class square_forgets_to_unpack(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> Any:
        return 2 * grad_output * ctx.saved_tensors
