"""Explanations about the context `ctx` of custom Functions."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import in_backward, is_call_of, names_attribute
from .forward_functions import SEPARATE
from .functions import DOUBLE

LESSON = "07_custom_functions"

ENTRIES = (
    entry(
        "attribute_of_ctx_missing",
        LESSON,
        r"'\w+Backward' object has no attribute '\w+'",
        f"""{DOUBLE}return grad * ctx.k

        Double.apply(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "`forward` put nothing of this name on the context. Set it there, `ctx.k = k`, or in `setup_context`; tensors go through `ctx.save_for_backward`.",
        "`forward` не записал в контекст ничего под этим именем. Запишите там `ctx.k = k` (или в `setup_context`); тензоры сохраняют через `ctx.save_for_backward`.",
        exercise="product_function",
    ),
    entry(
        "saved_tensors_unpacked_as_one",
        LESSON,
        r"only integer tensors of a single element can be converted to an index|can't multiply sequence by non-int|'tuple' object has no attribute|unsupported operand type\(s\) for .*'tuple'|must be Tensor, not tuple",
        """
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad * ctx.saved_tensors

        Square.apply(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "`ctx.saved_tensors` is a tuple, also for one tensor: `(x,) = ctx.saved_tensors`.",
        "`ctx.saved_tensors` — это кортеж, даже если тензор один: `(x,) = ctx.saved_tensors`.",
        exercise="product_function",
        shows=lambda scene: in_backward(scene) and names_attribute("saved_tensors")(scene),
    ),
    entry(
        "saving_a_number",
        LESSON,
        r"save_for_(backward|forward) can only save variables",
        """
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, k):
                ctx.save_for_backward(x, k)
                return x * k

        Scale.apply(torch.rand(2, requires_grad=True), 2.0)
        """,
        "`save_for_backward` is for tensors. Put a number on the context itself: `ctx.k = k`.",
        "`save_for_backward` предназначен для тензоров. Число положите прямо в контекст: `ctx.k = k`.",
        exercise="scale_function",
    ),
    entry(
        "read_only_saved_tensors",
        LESSON,
        r"attribute '(saved_tensors|saved_variables)' of .* objects is not writable|'saved_variables' is deprecated",
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.saved_tensors = (x,)
                return x * 2

        Double.apply(torch.rand(2, requires_grad=True))
        """,
        "Tensors are saved by `ctx.save_for_backward(x)`, and read in `backward` as `ctx.saved_tensors`, which is read only. `saved_variables` is its old name.",
        "Тензоры сохраняют через `ctx.save_for_backward(x)`, а в `backward` читают как `ctx.saved_tensors`; записывать туда нельзя. `saved_variables` — старое имя.",
        exercise="product_function",
    ),
    entry(
        "saved_tensors_read_twice",
        LESSON,
        r"saved_tensors can only be accessed once when clear_saved_tensors_on_access=True",
        """
        class Double(torch.autograd.Function):
            clear_saved_tensors_on_access = True

            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * len(ctx.saved_tensors) * len(ctx.saved_tensors)

        Double.apply(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "This Function clears what it saved at the first access. Read `ctx.saved_tensors` once, into names of your own.",
        "Эта функция освобождает сохранённое при первом обращении. Прочитайте `ctx.saved_tensors` один раз и присвойте результат своим переменным.",
        exercise="exp_function",
    ),
    entry(
        "ctx_beside_setup_context",
        LESSON,
        r"^missing a required argument: '\w+'",
        f"""{SEPARATE.replace("forward(x)", "forward(ctx, x)")}
        Double.apply(torch.rand(2, requires_grad=True))
        """,
        "A Function with `setup_context` has a `forward` without `ctx`: `def forward(x)`. What is saved belongs into `setup_context(ctx, inputs, output)`.",
        "У функции с `setup_context` метод `forward` без `ctx`: `def forward(x)`. То, что нужно сохранить, сохраняет `setup_context(ctx, inputs, output)`.",
        exercise="silu_function",
        fits=is_call_of("apply"),
    ),
    entry(
        "dirty_but_not_returned",
        LESSON,
        r"Some elements marked as dirty during the forward method were not returned as output",
        """
        class AddOne(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x + 1

        AddOne.apply(torch.rand(2, requires_grad=True) * 1)
        """,
        "`mark_dirty` is for an input that `forward` changed in place, and then `forward` must return that very tensor.",
        "`mark_dirty` отмечает вход, который `forward` изменил на месте, и тогда `forward` обязан вернуть этот же тензор.",
        exercise="scale_function",
    ),
    entry(
        "dirty_view_and_two_outputs",
        LESSON,
        r"If your Function modifies inplace an input that is a view of another Tensor",
        """
        class AddOne(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.add_(1), x * 3

        AddOne.apply((torch.rand(2, requires_grad=True) * 1)[:1])
        """,
        "A Function that changes a view in place cannot return several tensors. Work out of place, or apply it to a `clone()`.",
        "Функция, которая изменяет представление на месте, не может вернуть несколько тензоров. Обойдитесь без изменения на месте или примените её к `clone()`.",
        exercise="scale_function",
    ),
    entry(
        "no_tensor_marked",
        LESSON,
        r"mark_non_differentiable only accepts variable arguments",
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_non_differentiable(2)
                return x * 2

        Double.apply(torch.rand(2, requires_grad=True))
        """,
        "`mark_non_differentiable` takes tensors: the outputs that have no derivative.",
        "`mark_non_differentiable` принимает тензоры: те выходы, у которых нет производной.",
        exercise="product_function",
    ),
    entry(
        "input_returned_and_saved",
        LESSON,
        r"An? input that has been returned as-is as output is being saved for backward",
        f"""{SEPARATE.replace("pass", "ctx.save_for_backward(*inputs)").replace("return x * 2", "return x")}
        Double.apply(torch.rand(2, requires_grad=True))
        """,
        "`forward` returns its input as it is, and `setup_context` saves it: the saved tensor would belong to its own graph. Return a view, `x.view_as(x)`.",
        "`forward` возвращает свой вход как есть, а `setup_context` его сохраняет: сохранённый тензор входил бы в собственный граф. Верните представление: `x.view_as(x)`.",
        exercise="exp_function",
    ),
)
