"""Explanations of None where a gradient, or another tensor, was expected."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import NoneCause, is_call_of, may_be_a_gradient, none_because_of

LESSON = "03_gradient_accumulation"

# The texts that Python and torch have for None among tensors.
NONE = (
    r"'NoneType' object (has no attribute|is not (subscriptable|iterable))|bad operand type for unary .*'NoneType'"
    r"|not supported between instances of .*'NoneType'|unsupported operand type\(s\) for .*'NoneType'"
    r"|must be .*Tensor.*, not NoneType|but got NoneType|but got None\b|number, not 'NoneType'"
    r"|unsupported format string passed to NoneType|of NoneType"
)
# Of them, those that name something a tensor has. They need no scene.
NONE_FOR_A_TENSOR = (
    r"'NoneType' object has no attribute '(zero_|mul_|add_|sub_|div_|copy_|fill_|clamp_|clone|detach|norm|abs|mean|sum"
    r"|item|data|shape|numpy|flatten|view|reshape|size|max|min|dtype|device|square|sqrt|pow|tolist|cpu|cuda|to|layout"
    r"|t|T|dim|ndim|numel|unsqueeze|squeeze|float|double|half|requires_grad|requires_grad_|grad|retain_grad|grad_fn)'"
    r"|unsupported operand type\(s\) for .*'NoneType'|bad operand type for unary .*'NoneType'"
    r"|'NoneType' object is not subscriptable|not supported between instances of .*'NoneType'"
    r"|must be Tensor, not NoneType|expected Tensor as element \d+ in argument \d+, but got NoneType"
    r"|number, not 'NoneType'|unsupported format string passed to NoneType"
)

ENTRIES = (
    entry(
        "none_for_a_gradient",
        LESSON,
        NONE_FOR_A_TENSOR,
        """
        def clear(gradient):
            gradient.zero_()

        clear(torch.rand(2, requires_grad=True).grad)
        """,
        "There is None where a tensor was expected. If it is `.grad`: it is None until the first `backward()`, after `zero_grad()`, which by default puts None there, and always on a non-leaf. If it is the result of a function: its `return` is missing. If it comes from `torch.autograd.grad(..., allow_unused=True)`: the result does not depend on this input.",
        "Вместо тензора стоит None. Если это `.grad`: он равен None до первого `backward()`, после `zero_grad()`, который по умолчанию кладёт туда None, и всегда у нелистового тензора. Если это результат функции: в ней нет `return`. Если его вернула `torch.autograd.grad(..., allow_unused=True)`: результат от этого входа не зависит.",
        exercise="predict_zero_grad",
        fits=may_be_a_gradient,
    ),
    entry(
        "no_backward_yet",
        LESSON,
        NONE,
        """
        w = torch.rand(2, requires_grad=True)
        w.grad[0]
        """,
        "`.grad` is None here: since this tensor was made, or since `zero_grad()`, no `backward()` has reached it. Either `backward()` is missing, or the loss does not depend on this tensor, or the graph between them is cut. In a loop over parameters skip those whose `.grad` is None.",
        "Здесь `.grad` равен None: с момента создания тензора или после `zero_grad()` ни один `backward()` до него не дошёл. Либо `backward()` не вызван, либо функция потерь от этого тензора не зависит, либо граф между ними оборван. В цикле по параметрам пропускайте те, у которых `.grad` равен None.",
        exercise="predict_zero_grad",
        shows=none_because_of(NoneCause.NO_BACKWARD),
    ),
    entry(
        "none_grad_called",
        LESSON,
        r"'NoneType' object is not callable",
        """
        w = torch.rand(2, requires_grad=True)
        w.grad()
        """,
        "`.grad` is an attribute: write `w.grad` without parentheses. And here it is None, because no `backward()` has reached this tensor.",
        "`.grad` — атрибут: пишите `w.grad` без скобок. К тому же здесь он равен None, потому что ни один `backward()` до этого тензора не дошёл.",
        exercise="predict_zero_grad",
        shows=is_call_of("grad"),
    ),
    entry(
        "weight_replaced_by_the_update",
        LESSON,
        NONE,
        """
        w = torch.rand(2, requires_grad=True)
        w.sum().backward()
        w = w.detach() - 0.1 * w.grad
        w.grad.zero_()
        """,
        "`w = w - ...` makes a new tensor, and a new tensor has no gradient: its `.grad` is None. Change the weight in place instead, `w -= 0.1 * w.grad` under `torch.no_grad()`; then it stays the same leaf.",
        "`w = w - ...` создаёт новый тензор, а у нового тензора градиента нет: его `.grad` равен None. Изменяйте вес на месте: `w -= 0.1 * w.grad` внутри `torch.no_grad()`; тогда это будет тот же лист.",
        exercise="train_epoch",
        shows=none_because_of(NoneCause.REPLACED),
    ),
    entry(
        "none_grad_of_a_non_leaf",
        "01_leaf_tensors",
        NONE,
        """
        y = torch.rand(2, requires_grad=True) * 2
        y.sum().backward()
        y.grad[0]
        """,
        "This tensor is the result of an operation, and `backward()` stores gradients in leaves only: its `.grad` is None. Call `retain_grad()` on it before `backward()`, or read `.grad` of the leaf.",
        "Этот тензор — результат операции, а `backward()` записывает градиенты только в листовые тензоры: его `.grad` равен None. Вызовите у него `retain_grad()` до `backward()` или прочитайте `.grad` листа.",
        exercise="hidden_gradients",
        shows=none_because_of(NoneCause.NON_LEAF),
    ),
    entry(
        "none_of_an_unused_input",
        "02_graph_and_backward",
        NONE,
        """
        x, y = torch.rand(2, requires_grad=True), torch.rand(2, requires_grad=True)
        _, g = torch.autograd.grad(x.sum(), (x, y), allow_unused=True)
        y - 0.1 * g
        """,
        "`allow_unused=True` returned None for an input that the result does not depend on. Check for None, or pass `materialize_grads=True` to get zeros.",
        "`allow_unused=True` вернул None для входа, от которого результат не зависит. Проверяйте на None или передайте `materialize_grads=True`, чтобы получить нули.",
        exercise="run_backward",
        shows=none_because_of(NoneCause.UNUSED),
    ),
    entry(
        "function_without_return",
        "07_custom_functions",
        NONE,
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x * 2

        Double.apply(torch.rand(2, requires_grad=True)).sum()
        """,
        "The function that this value comes from returns nothing: its `return` is missing. In a custom Function it is missing in `forward`, and `apply` gives None.",
        "Функция, которая вычисляет эту величину, ничего не возвращает: в ней нет `return`. У пользовательской функции его нет в `forward`, и `apply` возвращает None.",
        exercise="predict_function",
        shows=none_because_of(NoneCause.NO_RETURN),
    ),
    entry(
        "none_into_backward",
        "07_custom_functions",
        NONE,
        """
        class TwoAndThree(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(False)
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, a, b):
                return a * 2 + b * 3

        TwoAndThree.apply(torch.rand(2, requires_grad=True))[0].sum().backward()
        """,
        "`backward` was given None for an output that the loss does not depend on, because of `ctx.set_materialize_grads(False)`. Check each gradient for None, or leave that call out: then zeros come.",
        "В `backward` пришёл None для выхода, от которого функция потерь не зависит: так действует `ctx.set_materialize_grads(False)`. Проверяйте каждый градиент на None или уберите этот вызов: тогда придут нули.",
        exercise="fix_gray",
        shows=none_because_of(NoneCause.ARGUMENT),
    ),
)
