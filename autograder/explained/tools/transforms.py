"""Explanations about `torch.func` and forward mode: `grad`, `vjp`, `jvp`, dual numbers."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import makes_a_function

LESSON = "05_jacobian_products"

ENTRIES = (
    entry(
        "transform_of_a_number",
        LESSON,
        r"Thing passed to transform API must be Tensor, got <class '(float|int|bool|complex)'>|Expected (primals|tangents) to only contain Tensors, got <class '(float|int|bool|complex)'>",
        """
        torch.func.grad(torch.sin)(1.0)
        """,
        "`torch.func` differentiates with respect to tensors, and was given a Python number: `grad(f)(torch.tensor(1.0))`.",
        "`torch.func` дифференцирует по тензорам, а получила число Python: `grad(f)(torch.tensor(1.0))`.",
        exercise="hvp",
    ),
    entry(
        "transform_of_no_tensor",
        LESSON,
        r"(Thing passed to transform API must be Tensor|Expected (?:primals|tangents) to only contain Tensors), got <class '(?P<kind>[\w.]+)'>",
        """
        net, x = nn.Linear(2, 1), torch.rand(1, 2)
        loss = lambda p: torch.func.functional_call(net, p, (x,)).sum()
        torch.func.grad(loss)(net.named_parameters())
        """,
        "`torch.func` differentiates with respect to tensors, or lists and dicts of tensors. For the parameters of a module make a dict: `grad(loss)(dict(net.named_parameters()))`.",
        "`torch.func` дифференцирует по тензорам или по спискам и словарям из тензоров. Для параметров модуля создайте словарь: `grad(loss)(dict(net.named_parameters()))`.",
        exercise="per_sample_gradients",
        named=("Among the inputs is a `{kind}`.", "Среди входов есть `{kind}`."),
    ),
    entry(
        "tracking_inside_a_transform",
        LESSON,
        r"Tensor\.(requires_grad_|retain_grad)\(\).*inside of a function being transformed|backward\(\) called inside a functorch transform",
        """
        def f(x):
            loss = (x**2).sum()
            loss.backward()
            return loss

        torch.func.grad(f)(torch.rand(3))
        """,
        "Inside `torch.func` transforms tracking is switched on for you: leave `requires_grad_()`, `retain_grad()` and `backward()` out, and return the value.",
        "Внутри преобразований `torch.func` отслеживание уже включено: уберите `requires_grad_()`, `retain_grad()` и `backward()` и верните значение.",
        exercise="per_sample_gradients",
    ),
    entry(
        "transform_of_a_vector",
        LESSON,
        r"Expected f\(\*args\) to return a scalar",
        """
        torch.func.grad(lambda x: x * 2)(torch.rand(2))
        """,
        "A gradient exists for a function that returns one number. Reduce the output, or take `jacrev` or `vjp` for several numbers.",
        "Градиент есть у функции, которая возвращает одно число. Сведите выход к одному числу или возьмите для нескольких чисел `jacrev` или `vjp`.",
        exercise="jacobian_rows",
    ),
    entry(
        "transform_returns_a_tuple",
        LESSON,
        r"Expected f\(\*args\) to return a Tensor, got <class '(tuple|list|dict)'>|output of function f should be a tuple: \(output, aux\)",
        """
        torch.func.grad(lambda x: (x.sum(), x))(torch.rand(2))
        """,
        "`grad` differentiates one value. A function that returns a loss and something else needs `has_aux=True`, and then it returns a pair: `return loss, others`.",
        "`grad` дифференцирует одно значение. Если функция возвращает не только значение функции потерь, укажите `has_aux=True`; тогда она возвращает пару: `return loss, others`.",
        exercise="hvp",
    ),
    entry(
        "transform_returns_a_number",
        LESSON,
        r"Expected f\(\*args\) to return a Tensor, got|to return only tensors, got unsupported type|vjp\(f, \*primals\): expected f",
        """
        torch.func.grad(lambda x: x.sum().item())(torch.rand(2))
        """,
        "The transformed function returns no tensor, so there is nothing to differentiate. Return the tensor, without `.item()` or `float()`.",
        "Преобразуемая функция возвращает не тензор, и дифференцировать нечего. Верните тензор, без `.item()` и `float()`.",
        exercise="hvp",
    ),
    entry(
        "transform_returns_integers",
        LESSON,
        r"All outputs of f must be floating-point or complex Tensors",
        """
        torch.func.vjp(lambda x: x.argmax(), torch.rand(2))
        """,
        "The function returns integers: `argmax`, a comparison or `.long()` ends in a number that has no derivative. Return floating-point values.",
        "Функция возвращает целые числа: у результата `argmax`, сравнения или `.long()` производной нет. Верните числа с плавающей точкой.",
        exercise="hvp",
    ),
    entry(
        "argnums",
        LESSON,
        r"Got argnum=-?\d+, but only \d+ positional inputs|argnums must be int or Tuple",
        """
        torch.func.grad(lambda x: x.sum(), argnums=1)(torch.rand(2))
        """,
        "`argnums` says by its number, from 0, with respect to which argument to differentiate. The input itself comes in a second call: `torch.func.grad(f, argnums=0)(x)`.",
        "`argnums` задаёт номер аргумента, считая с 0, по которому дифференцировать. Сам вход передают во втором вызове: `torch.func.grad(f, argnums=0)(x)`.",
        exercise="per_sample_gradients",
    ),
    entry(
        "function_taken_for_a_gradient",
        LESSON,
        r"'function' object has no attribute '\w+'|unsupported operand type\(s\) for .*'function'|must be Tensor, not function",
        """
        torch.func.grad(torch.sum, torch.rand(2)).shape
        """,
        "A transform of `torch.func` makes a function; the input comes in a second call: `torch.func.grad(f)(x)`.",
        "Преобразование `torch.func` создаёт функцию; вход передают во втором вызове: `torch.func.grad(f)(x)`.",
        exercise="hvp",
        fits=makes_a_function,
    ),
    entry(
        "primals_without_a_tuple",
        LESSON,
        r"Expected (primals|tangents) to be a tuple|Expected primals and tangents to have the same python structure",
        """
        torch.func.jvp(torch.sin, torch.rand(2), torch.rand(2))
        """,
        "`jvp` takes the inputs in one tuple and the tangents in another, one tangent for each input: `jvp(f, (x,), (v,))`.",
        "`jvp` принимает входы одним кортежем, а касательные векторы — другим, по одному на каждый вход: `jvp(f, (x,), (v,))`.",
        exercise="jvp",
    ),
    entry(
        "cotangents_of_another_structure",
        LESSON,
        r"Expected pytree structure of cotangents to be the same",
        """
        torch.func.vjp(lambda x: (x, x), torch.rand(2))[1](torch.rand(2))
        """,
        "v has the structure of the output: a function that returns a tuple takes a tuple of vectors back, `vjp_fn((v1, v2))`.",
        "v устроен так же, как выход: если функция возвращает кортеж, передайте кортеж векторов: `vjp_fn((v1, v2))`.",
        exercise="predict_shapes",
    ),
    entry(
        "numpy_inside_a_transform",
        LESSON,
        r"Cannot access data pointer of Tensor that doesn't have storage",
        """
        torch.func.grad(lambda x: torch.from_numpy(np.sin(x.detach().numpy())).sum())(torch.rand(2))
        """,
        "Inside a transform of `torch.func` a tensor stands for many, or carries a derivative, and has no numbers to hand out: no `.numpy()`, no `.tolist()`. Use torch's operations.",
        "Внутри преобразования `torch.func` один тензор представляет сразу целый батч или несёт с собой производную, и отдать числа он не может: ни `.numpy()`, ни `.tolist()`. Используйте операции torch.",
        exercise="per_sample_gradients",
    ),
    entry(
        "tangent_of_another_shape",
        LESSON,
        r"Trying to set a forward gradient that has a different size",
        """
        torch.func.jvp(torch.sin, (torch.rand(2),), (torch.rand(3),))
        """,
        "In Jv the tangent v has the shape of the input, not that of the output.",
        "В произведении Jv касательный вектор v имеет форму входа, а не выхода.",
        exercise="predict_shapes",
    ),
    entry(
        "dual_numbers_of_integers",
        LESSON,
        r"Expected (primal|tangent) to be floating point or complex",
        """
        with forward_ad.dual_level():
            forward_ad.make_dual(torch.tensor([1, 2]), torch.ones(2))
        """,
        "Input and tangent of forward mode are floating-point numbers, and here one of them holds integers: write `1.0` in place of `1`.",
        "В прямом режиме вход и касательный вектор — числа с плавающей точкой, а здесь в одном из них целые: напишите `1.0` вместо `1`.",
        exercise="jvp",
    ),
    entry(
        "dual_without_a_level",
        LESSON,
        r"no level exists, make sure to enter_dual_level\(\) first",
        """
        forward_ad.make_dual(torch.rand(2), torch.ones(2))
        """,
        "A dual number lives inside a level only: `with forward_ad.dual_level():`, and both `make_dual` and `unpack_dual` belong inside.",
        "Дуальное число существует только внутри уровня: `with forward_ad.dual_level():`; и `make_dual`, и `unpack_dual` вызывают внутри.",
        exercise="jvp",
    ),
    entry(
        "nested_dual_levels",
        LESSON,
        r"Nested forward mode AD is not supported|already has a forward gradient at the same level",
        """
        with forward_ad.dual_level():
            with forward_ad.dual_level():
                pass
        """,
        "There is one level of dual numbers at a time, and one tangent for each tensor in it. For a second derivative in forward mode nest `torch.func.jvp`.",
        "Уровень дуальных чисел в каждый момент один, и у тензора в нём один касательный вектор. Для второй производной в прямом режиме вложите `torch.func.jvp` в `torch.func.jvp`.",
        exercise="jvp",
    ),
    entry(
        "out_in_forward_mode",
        LESSON,
        r"Trying to use forward AD with \w+_out that does not support it because it is an out= function",
        """
        torch.func.jvp(lambda x: torch.sin(x, out=torch.empty(2)), (torch.rand(2),), (torch.rand(2),))
        """,
        "`out=` writes over a tensor, and a derivative cannot follow it there. Leave `out=` out.",
        "`out=` перезаписывает тензор, и производная теряется. Уберите `out=`.",
        exercise="jvp",
    ),
    entry(
        "no_forward_mode",
        LESSON,
        r"Trying to use forward AD with \w+ that does not support it",
        """
        q = torch.rand(1, 2, 3, 4)
        torch.func.jvp(lambda q: F.scaled_dot_product_attention(q, q, q), (q,), (q,))
        """,
        "torch has no forward mode for this operation. Take reverse mode (`vjp`, `jacrev`; Jv comes from two backward passes), or write another formula; for attention allow the plain one: `with sdpa_kernel(SDPBackend.MATH)`.",
        "Для этой операции в torch нет прямого режима. Возьмите обратный (`vjp`, `jacrev`; Jv дают два обратных прохода) или запишите другую формулу; для механизма внимания разрешите обычную: `with sdpa_kernel(SDPBackend.MATH)`.",
        exercise="jvp_by_backward",
    ),
)
