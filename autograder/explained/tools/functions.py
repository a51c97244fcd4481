"""Explanations about `backward` of custom Functions, and about their context."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import APPLY, called_by, in_backward

LESSON = "07_custom_functions"
# The head of a Function whose `backward` is at fault.
DOUBLE = """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                """

ENTRIES = (
    entry(
        "number_of_gradients",
        LESSON,
        r"returned an incorrect number of gradients",
        """
        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, k):
                return x * k

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        Scale.apply(torch.rand(2, requires_grad=True), 2).sum().backward()
        """,
        "`backward` returns one gradient for every argument of `forward` after `ctx`: None for those that need none. Nothing at all counts as one None: is `return` missing?",
        "`backward` возвращает по одному градиенту на каждый аргумент `forward` после `ctx`: None там, где он не нужен. Если не возвращается ничего, это считается за один None: не забыт ли `return`?",
        exercise="scale_function",
    ),
    entry(
        "gradient_of_another_shape",
        LESSON,
        r"returned an invalid gradient at index \d+ - got",
        f"""{DOUBLE}return torch.ones(3)

        Double.apply(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "A gradient has the shape of the input it belongs to, or a shape that broadcasting makes of it: then autograd sums it down itself.",
        "Градиент имеет форму того входа, к которому относится, или форму, в которую этот вход растянуло бы транслирование: тогда autograd просуммирует его сам.",
        exercise="product_function",
    ),
    entry(
        "gradient_that_is_a_number",
        LESSON,
        r"expected Variable or None \(got",
        f"""{DOUBLE}return 2.0

        Double.apply(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "`backward` returns tensors or None, not Python numbers.",
        "`backward` возвращает тензоры или None, но не числа Python.",
        exercise="product_function",
    ),
    entry(
        "complex_gradient_of_a_real_input",
        LESSON,
        r"input_is_complex == grad_is_complex",
        """
        class TimesI(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1j

            @staticmethod
            def backward(ctx, grad):
                return grad * 1j

        TimesI.apply(torch.rand(2, requires_grad=True)).abs().sum().backward()
        """,
        "`backward` of a custom Function returned a complex gradient for a real input. Return its real part: `gradient.real`.",
        "Метод `backward` пользовательской функции вернул комплексный градиент для вещественного входа. Верните вещественную часть: `gradient.real`.",
        exercise="product_function",
    ),
    entry(
        "arguments_of_backward",
        LESSON,
        r"takes \d+ positional arguments? but \d+ were given|missing \d+ required positional arguments?: ",
        """
        class TwoAndThree(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, grad):
                return grad

        TwoAndThree.apply(torch.rand(2, requires_grad=True))[0].sum().backward()
        """,
        "`backward` takes `ctx` and one gradient for each output of `forward`: for two outputs `def backward(ctx, grad_a, grad_b)`.",
        "`backward` принимает `ctx` и по градиенту на каждый выход `forward`: для двух выходов — `def backward(ctx, grad_a, grad_b)`.",
        exercise="product_function",
        shows=lambda scene: called_by(APPLY)(scene) and in_backward(scene),
    ),
    entry(
        "no_backward",
        LESSON,
        r"You must implement (either the backward or vjp method|the jvp function) for (your )?custom autograd\.Function",
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

        Double.apply(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "This Function does not say how it is differentiated in this direction: reverse mode calls `backward`, forward mode calls `jvp`.",
        "У этой функции не определена производная для этого режима: обратный режим вызывает `backward`, а прямой — `jvp`.",
        exercise="cube_function",
    ),
    entry(
        "backward_and_vjp",
        LESSON,
        r"Implementing both 'backward' and 'vjp' for a custom Function",
        f"""{DOUBLE}return grad * 2

            vjp = backward

        Double.apply(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "`backward` and `vjp` are two names of one method. Keep `backward` alone.",
        "`backward` и `vjp` — два имени одного метода. Оставьте только `backward`.",
        exercise="predict_function",
    ),
    entry(
        "twice_through_once_differentiable",
        LESSON,
        r"trying to differentiate twice a function that was marked with @once_differentiable",
        """
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @once_differentiable
            def backward(ctx, grad):
                return 2 * grad * ctx.saved_tensors[0]

        x = torch.rand(2, requires_grad=True)
        (g,) = torch.autograd.grad(Square.apply(x).sum(), x, torch.ones((), requires_grad=True), create_graph=True)
        g.sum().backward()
        """,
        "Its author has declared that `backward` of this function cannot itself be differentiated. For a second derivative `backward` has to be written with differentiable operations and without `@once_differentiable`.",
        "Автор этой функции объявил, что её `backward` продифференцировать нельзя. Для второй производной `backward` пишут из дифференцируемых операций и без `@once_differentiable`.",
        exercise="cube_function",
    ),
    entry(
        "view_of_a_gradient",
        LESSON,
        r"view size is not compatible with input tensor's size and stride",
        f"""{DOUBLE}return (grad * 2).view(-1).view(3, 4)

        Double.apply(torch.rand(3, 4, requires_grad=True)).t().contiguous().sin().sum().backward()
        """,
        "A gradient need not be contiguous, so `view` may fail on it: use `reshape` in `backward` and in hooks. If no line of yours calls `view`, it is torch's own (seen on MPS): call `.contiguous()` on the tensor in the forward pass.",
        "Градиент не обязан лежать в памяти подряд, и `view` с ним может не сработать: в `backward` и в хуках пишите `reshape`. Если в ваших строках `view` нет, его вызывает сам torch (так бывает на MPS): в прямом проходе вызовите у тензора `.contiguous()`.",
        exercise="reverse_function",
        fits=in_backward,
    ),
)
