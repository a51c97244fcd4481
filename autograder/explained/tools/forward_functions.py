"""Explanations about `forward` and `apply` of custom Functions, and about custom operators."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import in_backward, in_call_of, is_call_of, is_of_a_function, names_a, runs

LESSON = "07_custom_functions"
UNDER_FUNC = r"In order to use an autograd\.Function with functorch transforms"
OWN = """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 2
        """
SEPARATE = """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * 2

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass

            @staticmethod
            def backward(ctx, grad):
                return grad * 2
        """

ENTRIES = (
    entry(
        "function_called",
        LESSON,
        r"'\w+' object has no attribute '\w+'",
        f"""{OWN}
        Double(torch.rand(2, requires_grad=True)).sum()
        """,
        "The class itself is used in place of its `apply`. Write `Double.apply(x)`, not `Double(x)`, and give `Double.apply` to functions such as `gradcheck`.",
        "Вместо `apply` использован сам класс. Пишите `Double.apply(x)`, а не `Double(x)`, и функциям вроде `gradcheck` передавайте `Double.apply`.",
        exercise="product_function",
        fits=names_a("Function"),
    ),
    entry(
        "function_with_instance_methods",
        LESSON,
        r"Legacy autograd function with non-static forward method|should not be instantiated\. Methods on autograd functions are all static",
        f"""{OWN}
        Double()(torch.rand(2, requires_grad=True))
        """,
        "Make `forward` and `backward` a `@staticmethod` with `ctx` as first argument, and call `MyFunction.apply(x)`, not `MyFunction()(x)`.",
        "Сделайте `forward` и `backward` статическими (`@staticmethod`) с первым аргументом `ctx` и вызывайте `MyFunction.apply(x)`, а не `MyFunction()(x)`.",
        exercise="product_function",
    ),
    entry(
        "arguments_of_forward",
        LESSON,
        r"(?<!setup_context\(\) )(takes \d+ positional arguments? but \d+ were given|missing \d+ required positional arguments?: )",
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x * 2

        Double.apply(torch.rand(2, requires_grad=True))
        """,
        "`forward` takes `ctx` first, and then the arguments of `apply`: `def forward(ctx, x)`. Without `ctx` it needs a `setup_context(ctx, inputs, output)` beside it.",
        "Первый аргумент `forward` — `ctx`, за ним идут аргументы `apply`: `def forward(ctx, x)`. Если `ctx` там нет, нужен ещё метод `setup_context(ctx, inputs, output)`.",
        exercise="predict_function",
        shows=lambda scene: is_call_of("apply")(scene) and not in_backward(scene),
    ),
    entry(
        "arguments_of_setup_context",
        LESSON,
        r"setup_context\(\) (missing \d+ required positional argument|takes \d+ positional arguments? but \d+ were given)",
        """
        class Product(torch.autograd.Function):
            @staticmethod
            def forward(x, y):
                return x * y

            @staticmethod
            def setup_context(ctx, x, y, output):
                ctx.save_for_backward(x, y)

        Product.apply(torch.rand(2, requires_grad=True), torch.rand(2))
        """,
        "`setup_context` takes three arguments, whatever `forward` takes: `def setup_context(ctx, inputs, output)`. The inputs come as one tuple: `x, y = inputs`.",
        "У `setup_context` три аргумента, сколько бы их ни было у `forward`: `def setup_context(ctx, inputs, output)`. Все входы приходят одним кортежем: `x, y = inputs`.",
        exercise="silu_function",
    ),
    entry(
        "forward_called_directly",
        LESSON,
        r"missing 1 required positional argument: ",
        f"""{OWN}
        Double.forward(torch.rand(2, requires_grad=True))
        """,
        "`forward` is not called by hand: `Double.apply(x)` makes the context, calls it, and puts the node into the graph.",
        "`forward` не вызывают напрямую: `Double.apply(x)` создаёт контекст, вызывает его и добавляет узел в граф.",
        exercise="predict_function",
        shows=lambda scene: is_call_of("forward")(scene) and not scene.below and is_of_a_function(scene),
    ),
    entry(
        "forward_returns_a_number",
        LESSON,
        r"'(float|int)' object has no attribute '\w+'",
        """
        class One(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 1.0

        One.apply(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "`forward` returned a Python number, and `apply` passes it on without a node. Return a tensor.",
        "`forward` вернул число Python, и `apply` передаёт его дальше без узла графа. Верните тензор.",
        exercise="predict_function",
        shows=in_call_of("apply"),
    ),
    entry(
        "no_forward",
        LESSON,
        r"You must implement the forward function for custom autograd\.Function",
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def foward(ctx, x):
                return x * 2

        Double.apply(torch.rand(2, requires_grad=True))
        """,
        "This Function has no `forward`: it is missing, or its name is misspelt.",
        "У этой функции нет `forward`: он не написан, или в его имени опечатка.",
        exercise="product_function",
    ),
    entry(
        "no_setup_context",
        LESSON,
        UNDER_FUNC,
        f"""{OWN}
        torch.func.grad(lambda x: Double.apply(x).sum())(torch.rand(2))
        """,
        "For `torch.func` split `forward(ctx, x)` in two: `forward(x)` computes, `setup_context(ctx, inputs, output)` saves.",
        "Для `torch.func` разделите `forward(ctx, x)` на две части: `forward(x)` вычисляет, а `setup_context(ctx, inputs, output)` сохраняет.",
        exercise="silu_function",
    ),
    entry(
        "operator_under_func",
        "12_compiled_code",
        UNDER_FUNC,
        """
        @torch.library.custom_op("explained::scale", mutates_args=())
        def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
            return x * factor

        def save(ctx, inputs, output):
            ctx.factor = inputs[1]

        scale.register_autograd(lambda ctx, grad: (grad * ctx.factor, None), setup_context=save)
        torch.func.grad(lambda x: scale(x, 2.0).sum())(torch.rand(3))
        """,
        "This is a custom operator, and `torch.func` does not support derivatives given with `register_autograd`. Take the gradient with `torch.autograd.grad` or `backward()`, outside of `torch.func`. Or write the operation as an `autograd.Function` with `forward(x)` and `setup_context(ctx, inputs, output)`.",
        "Это собственный оператор, а `torch.func` не поддерживает производные, заданные через `register_autograd`. Вычислите градиент через `torch.autograd.grad` или `backward()`, без `torch.func`. Или запишите операцию как `autograd.Function` с методами `forward(x)` и `setup_context(ctx, inputs, output)`.",
        exercise="add_formula",
        shows=runs("autograd.py:autograd_impl"),
    ),
    entry(
        "no_vmap_rule",
        LESSON,
        r"You tried to vmap over \w+, but it does not have vmap support",
        f"""{SEPARATE}
        torch.func.vmap(Double.apply)(torch.rand(3, 2))
        """,
        "`vmap` does not know how this Function treats a batch. If its methods consist of torch operations, write `generate_vmap_rule = True` in the class; otherwise give it a method `vmap`.",
        "`vmap` не знает, как применить эту функцию к батчу. Если её методы состоят из операций torch, напишите в классе `generate_vmap_rule = True`, иначе добавьте метод `vmap`.",
        exercise="silu_function",
    ),
    entry(
        "two_rules_for_vmap",
        "11_transforms",
        r"it has both generate_vmap_rule=True and an overridden vmap staticmethod",
        f"""{SEPARATE.strip()}

            generate_vmap_rule = True

            @staticmethod
            def vmap(info, in_dims, x):
                return Double.apply(x), in_dims[0]

        torch.func.vmap(Double.apply)(torch.rand(3, 2))
        """,
        "This Function has two rules for batches: `generate_vmap_rule = True` and a method `vmap`. Keep one of them. If the methods consist of torch operations, the generated rule will do.",
        "У этой функции сразу два правила для батчей: `generate_vmap_rule = True` и метод `vmap`. Оставьте одно. Если методы состоят из операций torch, достаточно `generate_vmap_rule = True`.",
        exercise="fix_rule",
    ),
    entry(
        "number_of_tangents",
        LESSON,
        r"jvp returned an invalid number of forward gradients|forward is returning a view .* but the jvp is not returning a view",
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def jvp(ctx, tangent):
                return tangent * 2, tangent

        with forward_ad.dual_level():
            Double.apply(forward_ad.make_dual(torch.rand(2), torch.ones(2)))
        """,
        "`jvp` mirrors `forward`: one tangent for each output, and a view where `forward` returns a view of its input.",
        "`jvp` устроен так же, как `forward`: он возвращает по касательному вектору на каждый выход, а там, где `forward` возвращает представление входа, — тоже представление.",
        exercise="cube_function",
    ),
    entry(
        "view_of_a_function_changed",
        LESSON,
        r"Output \d+ of (?!BackwardHookFunction)\w+ is a view and is being modified inplace\. This view was created inside a custom Function",
        """
        class Flat(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.view(-1)

        y = Flat.apply(torch.rand(1, 2, requires_grad=True) * 1)
        y.mul_(2)
        """,
        "`forward` returns its input or a view of it, and a change in place would go past the Function's `backward`. Return a `clone()` from `forward`, or do not change the output in place.",
        "`forward` возвращает свой вход или его представление, и изменение на месте прошло бы мимо `backward` этой функции. Верните из `forward` копию (`clone()`) или не изменяйте выход на месте.",
        exercise="reverse_function",
    ),
    entry(
        "operator_without_derivative",
        LESSON,
        r"no autograd formula was registered|an autograd kernel was not registered to the Autograd key",
        """
        @torch.library.custom_op("explained::double", mutates_args=())
        def double(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        double(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "This operator has no derivative. If it is yours, give it one: a `custom_op` has the method `register_autograd(backward, setup_context=...)`.",
        "У этого оператора нет производной. Если оператор ваш, задайте её: у `custom_op` есть метод `register_autograd(backward, setup_context=...)`.",
        exercise="silu_function",
    ),
    entry(
        "operator_returns_its_input",
        LESSON,
        r"The output of this custom operator .* must not also be an input",
        """
        @torch.library.custom_op("explained::same", mutates_args=())
        def same(x: torch.Tensor) -> torch.Tensor:
            return x

        same(torch.rand(2, requires_grad=True))
        """,
        "A custom operator may not return its input or a view of it. Return a `clone()`.",
        "Пользовательский оператор не может вернуть свой вход или его представление. Верните `clone()`.",
        exercise="reverse_function",
    ),
    entry(
        "operator_that_mutates",
        LESSON,
        r"Cannot register autograd formula for non-functional operator",
        """
        @torch.library.custom_op("explained::add_one", mutates_args=("x",))
        def add_one(x: torch.Tensor) -> None:
            x.add_(1)

        add_one.register_autograd(lambda ctx, grad: grad)
        """,
        "A custom operator that changes its input cannot have a derivative. Return a new tensor, and write `mutates_args=()`.",
        "У пользовательского оператора, который изменяет свой вход, производной быть не может. Верните новый тензор и напишите `mutates_args=()`.",
        exercise="scale_function",
    ),
)
