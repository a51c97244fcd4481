"""Explanations about derivatives of derivatives, decompositions and functional code."""

from __future__ import annotations

from ..entry import entry

LESSON = "10_higher_order"

ENTRIES = (
    entry(
        "no_second_derivative",
        LESSON,
        r"derivative for (aten::|')\w+_backward(: \w+)?'? is not implemented",
        """
        q = torch.rand(1, 2, 3, 4, requires_grad=True)
        attention = F.scaled_dot_product_attention(q, q, q)
        (g,) = torch.autograd.grad(attention.sum(), q, create_graph=True)
        g.sum().backward()
        """,
        "The operation has a derivative, but no second one. For attention allow the plain formula alone in the forward pass: `with sdpa_kernel(SDPBackend.MATH)`; others write out in plain operations.",
        "У операции есть производная, но второй производной нет. Для механизма внимания разрешите в прямом проходе только обычную формулу: `with sdpa_kernel(SDPBackend.MATH)`; остальное запишите обычными операциями.",
        exercise="fix_attention",
    ),
    entry(
        "flex_attention_on_the_cpu",
        LESSON,
        r"FlexAttention does not support backward on CPU",
        """
        from torch.nn.attention.flex_attention import flex_attention
        q, k, v = torch.rand(3, 1, 1, 128, 16, requires_grad=True)
        flex_attention(q, k, v).sum().backward()
        """,
        "On the CPU `flex_attention` has no backward pass. Take `F.scaled_dot_product_attention(q, k, v, attn_mask=mask)` there, or run this part on a GPU.",
        "На CPU у `flex_attention` нет обратного прохода. Возьмите там `F.scaled_dot_product_attention(q, k, v, attn_mask=mask)` или выполняйте эту часть на GPU.",
        exercise="fix_attention",
    ),
    entry(
        "compiled_twice",
        LESSON,
        r"torch\.compile with aot_autograd does not currently support double backward",
        """
        f = torch.compile(lambda x: (x**3).sum(), backend="aot_eager")
        x = torch.rand(2, requires_grad=True)
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        g.sum().backward()
        """,
        "A compiled function has a first derivative only. Leave this function uncompiled where a second one is taken, or compile a function that computes the first derivative inside.",
        "У скомпилированной функции есть только первая производная. Там, где нужна вторая, не компилируйте эту функцию или скомпилируйте функцию, которая вычисляет первую внутри себя.",
        exercise="has_second_derivative",
    ),
    entry(
        "grad_holds_its_graph",
        LESSON,
        r"Using backward\(\) with create_graph=True will create a reference cycle",
        """
        (torch.rand(2, requires_grad=True) ** 3).sum().backward(create_graph=True)
        """,
        "`.grad` now holds the graph of the gradient, and this graph holds the parameter: a cycle that keeps memory. Take the gradient with `torch.autograd.grad(..., create_graph=True)`, or set `.grad` to None afterwards.",
        "`.grad` теперь удерживает граф градиента, а этот граф — параметр: из-за такого цикла память не освобождается. Возьмите градиент через `torch.autograd.grad(..., create_graph=True)` или потом присвойте `.grad` значение None.",
        exercise="fix_leak",
    ),
    entry(
        "second_derivative_of_zeros",
        LESSON,
        r"Double backward is unsupported for src when >1 zeros",
        """
        src = torch.zeros(2, requires_grad=True)
        y = torch.ones(1).scatter_reduce(0, torch.tensor([0, 0]), src, "prod").sum()
        (g,) = torch.autograd.grad(y, src, create_graph=True)
        g.sum().backward()
        """,
        "torch has no second derivative of a product in which several factors are 0. Write the product out, or keep zeros away.",
        "Второй производной произведения, в котором несколько нулей, в torch нет. Запишите произведение явно или не допускайте нулей.",
        exercise="has_second_derivative",
    ),
    entry(
        "outside_tensor_changed",
        LESSON,
        r"running_mean or running_var, which will be updated in place|attempted to call in-place operation .* that would mutate a captured Tensor",
        """
        norm = nn.BatchNorm1d(2)
        torch.func.grad(lambda x: norm(x).sum())(torch.rand(3, 2))
        """,
        "`torch.func` runs functions without side effects, and this one changes a tensor from outside, often the running statistics of `BatchNorm`. Return values instead; for `BatchNorm` use `eval()` or `torch.func.replace_all_batch_norm_modules_(model)`.",
        "Функции, которые выполняет `torch.func`, не должны менять внешние тензоры, а эта меняет — часто это статистики `BatchNorm`. Возвращайте значения; для `BatchNorm` есть `eval()` или `torch.func.replace_all_batch_norm_modules_(model)`.",
        exercise="per_sample_module",
    ),
    entry(
        "saved_hooks_under_func",
        LESSON,
        r"torch\.func\.\{.*\} don't yet support saved tensor hooks|don't yet support saved tensor hooks",
        """
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            torch.func.grad(lambda x: x.exp().sum())(torch.rand(2))
        """,
        "`torch.func` and hooks of saved tensors do not go together; `save_on_cpu` and `checkpoint` are made of such hooks. Take the gradient with `torch.autograd.grad`, or leave the hooks out.",
        "`torch.func` несовместим с хуками сохранённых тензоров; на таких хуках построены `save_on_cpu` и `checkpoint`. Возьмите градиент через `torch.autograd.grad` или обойдитесь без хуков.",
        exercise="per_sample_module",
    ),
    entry(
        "forward_mode_meets_zeros",
        LESSON,
        r"ZeroTensors are immutable",
        """
        slope = torch.func.grad(lambda w: F.mse_loss(w, torch.rand(2)))
        torch.func.jvp(slope, (torch.rand(2),), (torch.rand(2),))
        """,
        "torch cannot run this backward pass in forward mode: `jvp` of `grad` meets a zero that it may not write to. Take two backward passes instead, or write the loss in plain operations, such as `(a - b).square().mean()`.",
        "torch не может выполнить этот обратный проход в прямом режиме: в `jvp` от `grad` встречается нулевой тензор, в который нельзя писать. Сделайте два обратных прохода или запишите функцию потерь обычными операциями, например `(a - b).square().mean()`.",
        exercise="sharpness",
    ),
    entry(
        "imaginary_part_dropped",
        LESSON,
        r"Casting complex values to real discards the imaginary part",
        """
        (torch.rand(2, requires_grad=True) * 1j).float()
        """,
        "`.float()` or `.to(...)` of a complex tensor drops the imaginary part, and its gradient too. Say which real number you mean: `z.real`, `z.abs()`.",
        "`.float()` или `.to(...)` у комплексного тензора отбрасывает мнимую часть, а с ней и её градиент. Укажите, какое вещественное число нужно: `z.real`, `z.abs()`.",
        exercise="predict_second",
    ),
    entry(
        "phase_of_a_vector",
        LESSON,
        r"_backward: The (singular vectors|eigenvectors) in the complex case are specified up to multiplication by e\^\{i phi\}",
        """
        a = torch.rand(3, 3, dtype=torch.complex64, requires_grad=True)
        torch.linalg.svd(a)[0].real.sum().backward()
        """,
        "A complex singular vector or eigenvector is determined up to a phase, and this loss depends on the phase, so it has no derivative. Use what does not depend on it: `abs()`, or projectors such as `u @ u.mH`.",
        "Комплексный сингулярный или собственный вектор определён с точностью до фазы, а эта функция потерь от фазы зависит, и производной у неё нет. Используйте то, что от фазы не зависит: `abs()` или проекторы вида `u @ u.mH`.",
        exercise="has_second_derivative",
    ),
    entry(
        "qr_without_a_derivative",
        LESSON,
        r"The derivative of linalg\.qr depends on Q|The QR decomposition is not differentiable when",
        """
        torch.linalg.qr(torch.rand(3, 3, requires_grad=True), mode="r")[1].sum().backward()
        """,
        'The derivative of QR needs the reduced Q, which this mode does not compute or does not determine. Write `mode="reduced"`.',
        'Производной QR-разложения нужна сокращённая матрица Q, а в этом режиме она не вычисляется или не определена. Напишите `mode="reduced"`.',
        exercise="has_second_derivative",
    ),
)
