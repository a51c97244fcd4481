"""Explanations about `torch.compile`."""

from __future__ import annotations

from ..entry import entry

LESSON = "12_compiled_code"

ENTRIES = (
    entry(
        "backward_inside_a_compiled_function",
        LESSON,
        r"Unsupported Tensor\.backward\(\) call|using `torch\.autograd\.grad` with `torch\._dynamo\.config\.trace_autograd_ops=False`",
        """
        w = torch.rand(3, requires_grad=True)

        @torch.compile(backend="aot_eager", fullgraph=True)
        def step(x):
            loss = (w * x).sum()
            loss.backward()
            return loss

        step(torch.rand(3))
        """,
        "A compiled function does not trace `backward()` or `torch.autograd.grad`. Compile the forward pass alone, and call `backward()` outside. Or leave out `fullgraph=True`: the graph breaks there, and the call runs uncompiled. `torch._dynamo.config.trace_autograd_ops = True` compiles it too, if the function returns `loss.detach()`.",
        "В скомпилированной функции `backward()` и `torch.autograd.grad` не трассируются. Скомпилируйте только прямой проход, а `backward()` вызовите снаружи. Или уберите `fullgraph=True`: в этом месте произойдёт разрыв графа, и вызов выполнится без компиляции. С `torch._dynamo.config.trace_autograd_ops = True` компилируется и он, если функция возвращает `loss.detach()`.",
        exercise="one_graph",
    ),
    entry(
        "compiled_backward_under_vmap",
        LESSON,
        r"trying to call a compiled backward function within vmap/grad/vjp",
        """
        square = torch.compile(lambda x: x**2, backend="aot_eager")
        x = torch.rand(5, requires_grad=True)
        y = square(x)
        torch.func.vmap(lambda v: torch.autograd.grad(y, x, v))(torch.eye(5))
        """,
        "The backward pass of a compiled function does not run under `vmap`. Let `torch.autograd.grad` take all vectors at once: `grad(y, x, torch.eye(5), is_grads_batched=True)`. Or take `torch.func.jacrev` of the uncompiled function, and compile the whole: `torch.compile(jacrev(f))`.",
        "Обратный проход скомпилированной функции внутри `vmap` не выполняется. Передайте `torch.autograd.grad` сразу все векторы: `grad(y, x, torch.eye(5), is_grads_batched=True)`. Или возьмите `torch.func.jacrev` от функции без компиляции и скомпилируйте всё вместе: `torch.compile(jacrev(f))`.",
        exercise="one_graph",
    ),
    entry(
        "operator_without_fake",
        LESSON,
        r"There was no fake impl registered for <CustomOpDef\((?P<operator>[\w:]+)\)>",
        """
        @torch.library.custom_op("explained::halve", mutates_args=())
        def halve(x: torch.Tensor) -> torch.Tensor:
            return x / 2

        torch.compile(lambda x: halve(x).sum(), backend="aot_eager", fullgraph=True)(torch.rand(3))
        """,
        "A compiled program needs the shape and dtype of a result before it runs. The operator has to say them in a fake implementation: `@halve.register_fake` above a function with the same arguments, which returns `torch.empty_like(x)`.",
        "Скомпилированной программе нужно знать форму и dtype результата ещё до выполнения. Оператор сообщает их в фиктивной реализации: `@halve.register_fake` над функцией с теми же аргументами, которая возвращает `torch.empty_like(x)`.",
        exercise="fix_fake",
        named=("The operator is `{operator}`.", "Этот оператор — `{operator}`."),
    ),
)
