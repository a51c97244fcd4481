"""Explanations about `gradcheck`."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import chance_in_check, in_call_of, is_call_of

LESSON = "05_jacobian_products"
MISMATCH = r"Jacobian (computed with forward mode )?mismatch for output"

ENTRIES = (
    entry(
        "gradcheck_mismatch_in_float32",
        LESSON,
        rf"(?s){MISMATCH}(?!.*dtype=torch\.(float64|complex128))",
        """
        gradcheck(torch.exp, torch.rand(2, requires_grad=True))
        """,
        "The inputs are float32, which is too rough for finite differences: even a right derivative fails. Check in float64: `x.double().requires_grad_()`.",
        "Входы имеют тип float32, а для конечных разностей это слишком грубо: не проходит и верная производная. Проверяйте в float64: `x.double().requires_grad_()`.",
        exercise="numerical_jacobian",
    ),
    entry(
        "gradcheck_mismatch",
        LESSON,
        MISMATCH,
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return grad

        gradcheck(Double.apply, torch.rand(2, dtype=torch.float64, requires_grad=True))
        """,
        "The derivative that the function computes and the one by finite differences disagree: `analytical` is what `backward` (or `jvp`) says, `numerical` what the function does. Check in float64, away from kinks, and without chance (dropout); if that is so, mend the formula.",
        "Производная, которую вычисляет функция, не совпала с конечными разностями: `analytical` — ответ `backward` (или `jvp`), `numerical` — поведение самой функции. Проверяйте в float64, вдали от изломов и без случайности (dropout); если всё это так, исправьте формулу.",
        exercise="fool_gradcheck",
    ),
    entry(
        "gradcheck_of_a_random_function",
        LESSON,
        MISMATCH,
        """
        x = torch.rand(50, dtype=torch.float64, requires_grad=True)
        gradcheck(lambda x: F.dropout(x, 0.5), x)
        """,
        "The function gives another value every time (dropout, random numbers), so finite differences compare two different functions. Switch chance off, with `eval()`, or set the seed inside the function.",
        "Функция каждый раз даёт другое значение (dropout, случайные числа), и конечные разности сравнивают две разные функции. Отключите случайность через `eval()` или задайте seed внутри функции.",
        exercise="fool_gradcheck",
        shows=chance_in_check,
    ),
    entry(
        "gradgradcheck_mismatch",
        "10_higher_order",
        MISMATCH,
        """
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.x = x.detach()
                return x**3

            @staticmethod
            def backward(ctx, grad):
                return 3 * grad * ctx.x**2

        torch.autograd.gradgradcheck(Cube.apply, torch.rand(2, dtype=torch.float64, requires_grad=True))
        """,
        "The first derivative may be right; it is the second that disagrees with finite differences. Write `backward` with torch operations on what `ctx.save_for_backward` saved: a tensor kept as `ctx.x = x.detach()` has no graph, so the second derivative misses its part.",
        "Первая производная может быть верна; с конечными разностями расходится вторая. Пишите `backward` из операций torch над тем, что сохранил `ctx.save_for_backward`: у тензора, сохранённого как `ctx.x = x.detach()`, нет графа, и его вклад во вторую производную теряется.",
        exercise="has_second_derivative",
        shows=is_call_of("gradgradcheck"),
    ),
    entry(
        "gradcheck_in_float32",
        LESSON,
        r"Input #\d+ requires gradient and is not a double precision",
        """
        gradcheck(torch.exp, torch.rand(2, requires_grad=True), atol=1)
        """,
        "Finite differences lose half of the digits, and in float32 too few are left. Give `gradcheck` float64 inputs.",
        "Конечные разности теряют половину цифр, а в float32 их остаётся слишком мало. Передайте в `gradcheck` входы типа float64.",
        exercise="numerical_jacobian",
    ),
    entry(
        "gradcheck_without_requires_grad",
        LESSON,
        r"gradcheck expects at least one input tensor to require gradient",
        """
        gradcheck(torch.sin, torch.rand(2, dtype=torch.float64))
        """,
        "There is nothing to check: give `gradcheck` a float64 tensor made with `requires_grad=True`.",
        "Проверять нечего: передайте в `gradcheck` тензор float64, у которого `requires_grad=True`.",
        exercise="fool_gradcheck",
    ),
    entry(
        "gradcheck_of_a_cut_function",
        LESSON,
        r"Numerical gradient for function expected to be zero",
        """
        gradcheck(lambda x: x.detach() * 2, torch.rand(2, dtype=torch.float64, requires_grad=True))
        """,
        "The output depends on the input but has no graph: inside the function it is cut, by `detach()`, `.data` or NumPy. Remove the cut.",
        "Выход зависит от входа, но графа у него нет: внутри функции он оборван вызовом `detach()`, `.data` или переходом в NumPy. Уберите разрыв.",
        exercise="fool_gradcheck",
    ),
    entry(
        "backward_ignores_grad",
        "07_custom_functions",
        r"backward not multiplied by grad_output",
        """
        class Sum(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.sum()

            @staticmethod
            def backward(ctx, grad):
                return torch.ones(2, dtype=torch.float64)

        gradcheck(Sum.apply, torch.rand(2, dtype=torch.float64, requires_grad=True))
        """,
        "`backward` returns the derivative alone, without the gradient that comes in. It computes vᵀJ: multiply by `grad`.",
        "`backward` возвращает только производную и не учитывает пришедший градиент. Он должен вычислять vᵀJ: умножьте на `grad`.",
        exercise="cube_function",
    ),
    entry(
        "backward_with_chance",
        LESSON,
        r"Backward is not reentrant",
        """
        class Noisy(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1

            @staticmethod
            def backward(ctx, grad):
                return grad * (1 + 1e-6 * torch.rand(2, dtype=torch.float64))

        gradcheck(Noisy.apply, torch.rand(2, dtype=torch.float64, requires_grad=True))
        """,
        "Two backward passes with the same input gave two gradients: there is chance in `backward`, or an order of summation that varies. Remove it, or allow a difference with `nondet_tol`.",
        "Два обратных прохода с одним и тем же входом дали разные градиенты: в `backward` есть случайность или порядок суммирования меняется. Уберите её или разрешите расхождение через `nondet_tol`.",
        exercise="fool_gradcheck",
    ),
    entry(
        "gradcheck_of_an_expanded_tensor",
        LESSON,
        r"input has a dimension with stride 0\. gradcheck only supports inputs that are non-overlapping",
        """
        gradcheck(torch.sin, torch.rand(1, dtype=torch.float64).expand(3).requires_grad_())
        """,
        "An expanded tensor shows one number in several places, and `gradcheck` changes one at a time. Call `contiguous()` before `requires_grad_()`.",
        "Растянутый тензор показывает одно число в нескольких местах, а `gradcheck` меняет их по одному. Вызовите `contiguous()` до `requires_grad_()`.",
        exercise="fool_gradcheck",
    ),
    entry(
        "gradcheck_of_a_number",
        LESSON,
        r"'(float|int)' object has no attribute 'requires_grad'",
        """
        x = torch.rand(2, dtype=torch.float64, requires_grad=True)
        gradcheck(lambda x: x.sum().item(), x)
        """,
        "The checked function returns a Python number, and there is no graph behind it. Return the tensor, without `.item()`.",
        "Проверяемая функция возвращает число Python, за которым нет графа. Верните тензор, без `.item()`.",
        exercise="fool_gradcheck",
        fits=in_call_of("gradcheck", "gradgradcheck"),
    ),
    entry(
        "gradcheck_of_a_changing_shape",
        LESSON,
        r"to return outputs with the same shape when inputs are perturbed",
        """
        x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
        gradcheck(lambda x: x[x >= x.detach().clone().round()], x)
        """,
        "The shape of the output depends on the numbers, so a small change of the input changes it. Check a function whose output has a fixed shape.",
        "Форма выхода зависит от чисел, и малое изменение входа её меняет. Проверяйте функцию с выходом постоянной формы.",
        exercise="fool_gradcheck",
    ),
    entry(
        "gradcheck_of_undefined_gradients",
        "07_custom_functions",
        r"Expected all input grads to be undefined or zero when all output grads are undefined or zero",
        """
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(False)
                return x * 2

            @staticmethod
            def backward(ctx, grad):
                return torch.ones(2, dtype=torch.float64) if grad is None else grad * 2

        gradcheck(Double.apply, torch.rand(2, dtype=torch.float64, requires_grad=True))
        """,
        "When no gradient comes in, none may go out: `backward` answers None with something other than zero. Return None for None, or leave `ctx.set_materialize_grads(False)` out.",
        "Если градиент не пришёл, не должно быть и ответа, а `backward` в ответ на None возвращает что-то отличное от нуля. В ответ на None возвращайте тоже None или уберите `ctx.set_materialize_grads(False)`.",
        exercise="product_function",
    ),
)
