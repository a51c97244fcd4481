"""Explanations about changes in place."""

from __future__ import annotations

from ..entry import entry
from ..scene import causes

LESSON = "04_grad_modes_and_in_place"

ENTRIES = (
    entry(
        "part_of_a_leaf_in_place",
        LESSON,
        r"a view of a leaf Variable that requires grad is being used in an in-place operation",
        """
        w = torch.rand(2, requires_grad=True)
        w[0] = 1.0
        """,
        "You write into a part of a leaf that requires grad (`w[0] = ...`). Do it under `torch.no_grad()` when it is an update, or on a `clone()` when it belongs to the computation.",
        "Вы записываете в часть листового тензора, который требует градиента (`w[0] = ...`). Если это обновление веса, сделайте его внутри `torch.no_grad()`, а если часть вычислений — меняйте не сам тензор, а `clone()`.",
        exercise="shared_edit",
    ),
    entry(
        "leaf_in_place",
        LESSON,
        r"a leaf Variable that requires grad is being used in an in-place operation",
        """
        w = torch.rand(2, requires_grad=True)
        w -= 0.1
        """,
        "A leaf that requires grad cannot be changed in place while tracking is on. Update it under `torch.no_grad()`. Inside a computation use an operation that makes a new tensor: `v = w + 1`.",
        "Листовой тензор, который требует градиента, нельзя изменять на месте, пока включено отслеживание. Обновляйте его внутри `torch.no_grad()`. Внутри вычисления нужна операция, которая создаёт новый тензор: `v = w + 1`.",
        exercise="predict_in_place",
    ),
    entry(
        "leaf_marked_dirty",
        "07_custom_functions",
        r"a (view of a )?leaf Variable that requires grad has been used in an in-place operation",
        """
        class AddOne(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.mark_dirty(x)
                return x.add_(1)

            @staticmethod
            def backward(ctx, grad):
                return grad

        AddOne.apply(torch.rand(2, requires_grad=True))
        """,
        "This custom Function works in place (`mark_dirty`), and a leaf that requires grad cannot be changed in place while tracking is on. Apply it to the result of an operation, or to a `clone()`.",
        "Эта пользовательская функция изменяет вход на месте (`mark_dirty`), а листовой тензор, который требует градиента, изменять на месте нельзя, пока включено отслеживание. Примените её к результату операции или к `clone()`.",
        exercise="scale_function",
    ),
    entry(
        "saved_value_overwritten",
        LESSON,
        r"one of the variables needed for gradient computation has been modified by an inplace operation(: \[\S+ (?P<shape>\[[\d, ]*\])\], which is output \d+ of (?P<node>\w+))?",
        """
        y = torch.rand(2, requires_grad=True).exp()
        y += 1
        y.sum().backward()
        """,
        "Backward needs a value that was overwritten after it was saved; the version counters differ. Look for `+=`, `x[...] = ` or `optimizer.step()` between the forward pass and `backward()`. A second run with `torch.autograd.detect_anomaly()` names the line that needs the old value.",
        "Обратному проходу нужно значение, которое изменили на месте после сохранения: счётчики версий разошлись. Ищите `+=`, `x[...] = ` или `optimizer.step()` между прямым проходом и `backward()`. Запустите программу ещё раз с `torch.autograd.detect_anomaly()`: он назовёт строку, которой нужно прежнее значение.",
        exercise="predict_in_place",
        named=(
            "The result of the operation `{node}`, a tensor of shape `{shape}`, was changed in place after it was saved: `draw(loss)` before `backward()` shows where, and `autograder explain FILE.py` names the line.",
            "Результат операции `{node}`, тензор формы `{shape}`, после сохранения изменён на месте. Где это, покажет `draw(loss)`, если вызвать её до `backward()`, а строку назовёт `autograder explain ФАЙЛ.py`.",
        ),
    ),
    entry(
        "one_of_several_views",
        LESSON,
        r"This view is the output of a function that returns multiple views",
        """
        for row in torch.rand(2, requires_grad=True) * 1:
            row += 1
        """,
        "`for row in x`, `unbind`, `split` and `chunk` give several views at once, and such views cannot be changed in place. Index the tensor (`x[0]`) or make a new tensor.",
        "`for row in x`, `unbind`, `split` и `chunk` возвращают сразу несколько представлений, и изменять такие на месте нельзя. Обратитесь по индексу (`x[0]`) или создайте новый тензор.",
        exercise="shared_edit",
    ),
    entry(
        "memory_under_the_graph",
        LESSON,
        r"cannot resize variables that require grad|Can't detach views in-place",
        """
        torch.rand(2, requires_grad=True).resize_(3)
        """,
        "This operation would pull the memory out from under the graph. Make a new tensor: `reshape`, `detach()`, `clone()`.",
        "Эта операция изменила бы тензор, на который опирается граф. Создайте новый тензор: `reshape`, `detach()`, `clone()`.",
        exercise="shared_edit",
    ),
    entry(
        "saved_tensor_detached_in_place",
        LESSON,
        r"Trying to use a saved tensor that has been detached in-place",
        """
        x = torch.rand(2, requires_grad=True) * 1
        y = x * x
        x.detach_()
        y.sum().backward()
        """,
        "`detach_()` cut a tensor off that backward still needs. Use `detach()`, without the underscore: it makes a new tensor and leaves the graph as it is.",
        "`detach_()` отсоединил тензор, который ещё нужен обратному проходу. Возьмите `detach()` без подчёркивания: он создаёт новый тензор, а граф не трогает.",
        exercise="predict_in_place",
    ),
    entry(
        "out_argument",
        LESSON,
        r"functions with out=\.\.\. arguments don't support automatic differentiation",
        """
        torch.add(torch.rand(2, requires_grad=True), 1, out=torch.empty(2))
        """,
        "`out=` writes over a tensor, and autograd cannot record that. Leave `out=` out, or work under `no_grad()`.",
        "`out=` перезаписывает тензор, и autograd не может этого учесть. Уберите `out=` или работайте внутри `no_grad()`.",
        exercise="smooth",
    ),
    entry(
        "data_that_is_no_tensor",
        LESSON,
        r"Variable data has to be a tensor, but got",
        """
        w = torch.rand(2, requires_grad=True)
        w.data = 0.0
        """,
        "`.data` takes a tensor, not a number or a list. Write into the tensor instead, under `torch.no_grad()`: `w.fill_(0.0)` or `w.copy_(new)`.",
        "В `.data` кладут тензор, а не число и не список. Запишите в сам тензор внутри `torch.no_grad()`: `w.fill_(0.0)` или `w.copy_(new)`.",
        exercise="predict_in_place",
    ),
    entry(
        "expanded_tensor_in_place",
        LESSON,
        r"more than one element of the written-to tensor refers to a single memory location",
        """
        x = torch.rand(1).expand(3)
        x += torch.rand(3)
        """,
        "An expanded tensor shows one number in several places, so it cannot be written to. `clone()` it first, or make a new tensor: `x = x + y`.",
        "Растянутый тензор показывает одно число в нескольких местах, поэтому записывать в него нельзя. Сначала сделайте `clone()` или создайте новый тензор: `x = x + y`.",
        exercise="shared_edit",
    ),
    entry(
        "integers_changed_by_floats",
        LESSON,
        r"result type \w+ can't be cast to the desired output type (Long|Int|Short|Byte|Char|Bool)",
        """
        w = torch.tensor([1, 2])
        w -= 0.1 * torch.ones(2)
        """,
        "The tensor holds integers, and an update by floating-point numbers cannot be written into it. Begin with floats: `torch.tensor([1.0, 2.0])`.",
        "В тензоре целые числа, и записать в него обновление из чисел с плавающей точкой нельзя. Создайте тензор с плавающей точкой: `torch.tensor([1.0, 2.0])`.",
        exercise="predict_in_place",
    ),
    entry(
        "leaky_relu_in_place",
        LESSON,
        r"In-place leakyReLu backward calculation is triggered with a negative slope",
        """
        F.leaky_relu_(torch.rand(2, requires_grad=True) * 1, negative_slope=-0.1).sum().backward()
        """,
        "In place only the result is kept, and with a negative slope it no longer tells the sign of the input. Use `F.leaky_relu`, without the underscore.",
        "При изменении на месте остаётся только результат, а при отрицательном наклоне по нему не узнать знак входа. Возьмите `F.leaky_relu` без подчёркивания.",
        exercise="predict_in_place",
    ),
    entry(
        "update_of_a_local_name",
        LESSON,
        r"cannot access local variable '\w+' where it is not associated with a value|local variable '\w+' referenced before assignment",
        """
        w = torch.rand(2, requires_grad=True)

        @torch.no_grad()
        def update():
            w -= 0.1

        update()
        """,
        "An assignment in a function, also `w -= ...`, makes `w` a local name there, which has no value yet. Change the tensor itself, under `torch.no_grad()`: `w.sub_(0.1)` or `w[:] -= 0.1`.",
        "Из-за присваивания внутри функции, в том числе `w -= ...`, имя `w` становится там локальным, а значения у него ещё нет. Изменяйте сам тензор внутри `torch.no_grad()`: `w.sub_(0.1)` или `w[:] -= 0.1`.",
        exercise="smooth",
        fits=causes.local_weight,
    ),
)
