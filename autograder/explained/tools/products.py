"""Explanations about the vector v in `backward(v)`, and of `torch.autograd.functional`."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import is_call_of

LESSON = "05_jacobian_products"

ENTRIES = (
    entry(
        "complex_loss",
        LESSON,
        r"grad can be implicitly created only for real scalar outputs",
        """
        z = torch.rand(2, requires_grad=True) * 1j
        z.sum().backward()
        """,
        "The result is complex, and only a real number has a gradient of its own. Make it real, with `z.abs()`, `z.real` or `(z * z.conj()).real`, or give `backward(v)` a complex v.",
        "Результат комплексный, а градиент сам по себе есть только у вещественного числа. Сделайте его вещественным: `z.abs()`, `z.real` или `(z * z.conj()).real` — или передайте `backward(v)` комплексный v.",
        exercise="predict_vjp",
    ),
    entry(
        "backward_of_a_vector",
        LESSON,
        r"grad can be implicitly created only for scalar outputs",
        """
        (torch.rand(2, requires_grad=True) * 2).backward()
        """,
        "From a result with several entries `backward()` needs a vector v, one factor for each entry: reduce the result to one number (`sum()`, `mean()`), or give `backward(v)` a v of the result's shape.",
        "Если в результате несколько элементов, `backward()` нужен вектор v, по коэффициенту на каждый элемент: сведите результат к одному числу (`sum()`, `mean()`) или передайте `backward(v)`, где у v форма результата.",
        exercise="predict_vjp",
    ),
    entry(
        "v_of_another_shape",
        LESSON,
        r"Mismatch in shape: grad_output\[\d+\]|v has invalid size",
        """
        (torch.rand(2, requires_grad=True) * 2).backward(torch.ones(3))
        """,
        "In vᵀJ the vector v has the shape of the output, not that of the input.",
        "В произведении vᵀJ вектор v имеет форму выхода, а не входа.",
        exercise="predict_shapes",
    ),
    entry(
        "v_of_another_dtype",
        LESSON,
        r"For complex Tensors, both grad_output and output are required to have the same dtype",
        """
        x = torch.rand(2, requires_grad=True)
        torch.autograd.grad(x * 2, x, torch.ones(2, dtype=torch.complex64))
        """,
        "v and the result differ in dtype: one is complex, the other real. Give v the dtype of the result: `torch.ones_like(y)`.",
        "У v и результата разные dtype: один комплексный, другой вещественный. Дайте v тот же dtype, что у результата: `torch.ones_like(y)`.",
        exercise="predict_vjp",
    ),
    entry(
        "v_that_is_a_list",
        LESSON,
        r"gradients can be either Tensors or None, but got",
        """
        (torch.rand(2, requires_grad=True) * 2).backward([1.0, 2.0])
        """,
        "v is one tensor of the result's shape, not a list of numbers: `backward(torch.tensor([1.0, 2.0]))`.",
        "Аргумент `backward()` — один тензор той же формы, что результат, а не список чисел: `backward(torch.tensor([1.0, 2.0]))`.",
        exercise="predict_vjp",
    ),
    entry(
        "v_that_is_a_number",
        LESSON,
        r"'(float|int)' object is not iterable",
        """
        torch.rand(2, requires_grad=True).sum().backward(1.0)
        """,
        "v is a tensor, also when it is one number: `backward(torch.tensor(1.0))`. For a loss that is one number it can be left out.",
        "v — это тензор, даже если в нём одно число: `backward(torch.tensor(1.0))`. Если функция потерь даёт одно число, v не нужен.",
        exercise="predict_vjp",
        fits=is_call_of("backward", "grad"),
    ),
    entry(
        "another_number_of_v",
        LESSON,
        r"got \d+ tensors and \d+ gradients",
        """
        x = torch.rand(2, requires_grad=True)
        torch.autograd.backward([x.sum(), x.mean()], [torch.tensor(1.0)])
        """,
        "There is one v for each result: as many vectors as outputs, in the same order, None for a result that is one number.",
        "На каждый результат нужен свой v: векторов столько же, сколько выходов, в том же порядке; для результата из одного числа — None.",
        exercise="fix_two_products",
    ),
    entry(
        "batched_v_of_another_shape",
        "10_higher_order",
        r"If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension",
        """
        x = torch.rand(2, requires_grad=True)
        torch.autograd.grad(x * 2, x, torch.ones(2, 3), is_grads_batched=True)
        """,
        "With `is_grads_batched=True` dimension 0 of v counts the vectors, and the rest has the shape of the output. `torch.eye(n)` gives the Jacobian matrix of n outputs.",
        "При `is_grads_batched=True` измерение 0 у v нумерует векторы, а остальные совпадают с формой выхода. `torch.eye(n)` даёт матрицу Якоби для n выходов.",
        exercise="per_sample_module",
    ),
    entry(
        "item_of_a_vector",
        LESSON,
        r"a Tensor with \d+ elements cannot be converted to Scalar",
        """
        torch.rand(2, requires_grad=True).item()
        """,
        "`.item()` and `float()` take a tensor with one number, and this one has several. Reduce it first (`sum()`, `mean()`), or take `tolist()`.",
        "`.item()` и `float()` берут тензор с одним числом, а здесь их несколько. Сначала сведите его к одному (`sum()`, `mean()`) или возьмите `tolist()`.",
        exercise="predict_vjp",
    ),
    entry(
        "truth_of_a_vector",
        LESSON,
        r"Boolean value of Tensor with more than one value is ambiguous",
        """
        if torch.rand(2) > 0:
            pass
        """,
        "A tensor with several entries is neither true nor false. Reduce it with `any()` or `all()`, or choose entry by entry with `torch.where(condition, a, b)`.",
        "Тензор с несколькими элементами нельзя считать истинным или ложным. Сведите его через `any()` или `all()` или выбирайте поэлементно: `torch.where(condition, a, b)`.",
        exercise="predict_vjp",
    ),
    entry(
        "input_that_is_a_list",
        LESSON,
        r"The inputs given to \w+ must be either a Tensor or a tuple of Tensors",
        """
        functional.jacobian(lambda x: x * 2, [1.0, 2.0])
        """,
        "The inputs are a tensor or a tuple of tensors, not a list or a number: `torch.tensor([1.0, 2.0])`.",
        "Входы — это тензор или кортеж тензоров, а не список и не число: `torch.tensor([1.0, 2.0])`.",
        exercise="jacobian_rows",
    ),
    entry(
        "output_that_is_a_number",
        LESSON,
        r"The outputs of the user-provided function given to \w+ must be either a Tensor or a tuple of Tensors",
        """
        functional.jacobian(lambda x: x.sum().item(), torch.rand(2))
        """,
        "The function returns a Python number, and there is no graph behind it. Return the tensor, without `.item()` or `float()`.",
        "Функция возвращает число Python, за которым нет графа. Верните тензор, без `.item()` и `float()`.",
        exercise="numerical_jacobian",
    ),
    entry(
        "inputs_missing",
        LESSON,
        r"(jacobian|hessian|vjp|jvp|hvp|vhp)\(\) missing \d required positional argument",
        """
        functional.jacobian(torch.sin)(torch.rand(2))
        """,
        "`torch.autograd.functional` takes function and input in one call: `jacobian(f, x)`. The transforms of `torch.func` make a function first: `jacrev(f)(x)`.",
        "`torch.autograd.functional` принимает функцию и вход в одном вызове: `jacobian(f, x)`. Преобразования `torch.func` сначала создают функцию: `jacrev(f)(x)`.",
        exercise="jacobian_rows",
    ),
    entry(
        "v_missing",
        LESSON,
        r"vector v can only be None if",
        """
        functional.vjp(lambda x: x * 2, torch.rand(2))
        """,
        "Only for a single number v may be left out. `vjp` takes a v of the output's shape, `jvp` one of the input's shape: `jvp(f, x, v)`.",
        "Не указывать v можно только для одного числа. `vjp` принимает v той же формы, что выход, а `jvp` — той же, что вход: `jvp(f, x, v)`.",
        exercise="predict_shapes",
    ),
    entry(
        "as_many_v_as_inputs",
        LESSON,
        r"v is a tuple of invalid length|The given v should contain a single Tensor",
        """
        functional.jvp(torch.mul, (torch.rand(2), torch.rand(2)), (torch.rand(2),))
        """,
        "There is one v for each input of `jvp`, and one for each output of `vjp`, in a tuple.",
        "У `jvp` по одному v на каждый вход, у `vjp` — на каждый выход; несколько v передают кортежем.",
        exercise="jvp",
    ),
    entry(
        "second_derivative_of_a_vector",
        "10_higher_order",
        r"given to (hessian|hvp|vhp) should (contain a single element|return a single Tensor)",
        """
        functional.hvp(lambda x: x**2, torch.rand(2), torch.rand(2))
        """,
        "A Hessian matrix, and its product with a vector, exist for a function that returns one number. Reduce the output, with `sum()` if that is meant.",
        "Матрица Гессе и её произведение на вектор есть у функции, которая возвращает одно число. Сведите выход к одному числу, например через `sum()`, если это и нужно.",
        exercise="sharpness",
    ),
    entry(
        "strict_mode",
        LESSON,
        r"is independent of (the )?input|does not require gradients\. The outputs must be computed in a differentiable manner",
        """
        functional.jacobian(lambda x: torch.ones(2), torch.rand(2), strict=True)
        """,
        "With `strict=True` a derivative that is zero because nothing depends on the input is an error. Look for a cut graph; where the zero is right, leave `strict` out.",
        "При `strict=True` ошибкой считается и производная, равная нулю потому, что от входа ничего не зависит. Поищите разрыв графа, а если нуль верен, уберите `strict`.",
        exercise="jacobian_rows",
    ),
    entry(
        "forward_strategy",
        LESSON,
        r"strategy=\"forward-mode\"` are not supported together|Expected strategy to be either \"forward-mode\"|Computing Jacobian using forward-AD",
        """
        functional.jacobian(torch.sin, torch.rand(2), strategy="forward-mode")
        """,
        '`jacobian` knows two strategies, "reverse-mode" and "forward-mode"; the second needs `vectorize=True` and keeps no graph. `torch.func.jacfwd(f)(x)` has neither restriction.',
        'У `jacobian` две стратегии: "reverse-mode" и "forward-mode"; для второй нужен `vectorize=True`, и графа она не сохраняет. У `torch.func.jacfwd(f)(x)` этих ограничений нет.',
        exercise="cheap_jacobian",
    ),
    entry(
        "grad_of_a_function",
        LESSON,
        r"'(builtin_function_or_method|function|type)' object is not iterable",
        """
        torch.autograd.grad(torch.sin, torch.rand(2, requires_grad=True))
        """,
        "`torch.autograd.grad` takes the value of a function, not the function: `torch.autograd.grad(f(x), x)`. For the function itself there is `torch.func.grad(f)(x)`.",
        "`torch.autograd.grad` принимает значение функции, а не саму функцию: `torch.autograd.grad(f(x), x)`. Для самой функции есть `torch.func.grad(f)(x)`.",
        exercise="fix_two_products",
        fits=is_call_of("grad", "backward"),
    ),
)
