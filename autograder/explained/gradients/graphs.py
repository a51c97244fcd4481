"""Explanations about the graph, `backward()` and what `torch.autograd.grad` returns."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import names_attribute
from ..scene import causes

LESSON = "02_graph_and_backward"
FREED = r"Trying to backward through the graph a second time"
UNUSED = r"[Oo]ne of the differentiated Tensors appears to not have been used|differentiated Tensor at index \d+ appears to not have been used"

ENTRIES = (
    entry(
        "second_backward",
        LESSON,
        FREED,
        """
        x = torch.rand(2, requires_grad=True)
        y = (x**2).sum()
        y.backward()
        y.backward()
        """,
        "The first `backward()` freed what this graph had saved. In a loop of training, a value from the last step is the usual cause: a running total or a hidden state drags its old graph along. Cut it off between the steps: `total += loss.item()`, `h = h.detach()`. Otherwise compute the forward pass again, or keep the graph on purpose with `retain_graph=True`.",
        "Первый `backward()` освободил всё, что сохранил этот граф. В цикле обучения причина обычно в значении с прошлого шага: накопленная сумма или скрытое состояние тянет за собой старый граф. Отсоединяйте его между шагами: `total += loss.item()`, `h = h.detach()`. В остальных случаях повторите прямой проход или сохраните граф намеренно: `retain_graph=True`.",
        exercise="predict_second_backward",
    ),
    entry(
        "value_of_the_last_step",
        LESSON,
        FREED,
        """
        w, total = torch.rand(2, requires_grad=True), 0.0
        for x in torch.rand(3, 2):
            total = total + (w * x).square().sum()
            total.backward()
        """,
        "The graph of the last step is still attached: a value from there, such as a running total or a hidden state, goes into this step. What that graph had saved is freed by now. Call `backward()` on the loss of this step alone, and carry on without the graph: `total += loss.item()`, `h = h.detach()`.",
        "К этому шагу всё ещё присоединён граф прошлого: оттуда пришло значение, например накопленная сумма или скрытое состояние. Сохранённое в том графе уже освобождено. Вызывайте `backward()` только у значения функции потерь этого шага, а дальше передавайте значения без графа: `total += loss.item()`, `h = h.detach()`.",
        exercise="predict_second_backward",
        shows=causes.kept_from_the_last_step,
    ),
    entry(
        "derived_from_a_leaf",
        LESSON,
        UNUSED,
        """
        w = torch.rand(4, 3, requires_grad=True)
        loss = (w**2).sum()
        torch.autograd.grad(loss, w[0])
        """,
        "`w[0]` makes a new tensor, and the loss was not computed from it but from `w`; the same holds for `w.T` and `w.view(...)`. Differentiate with respect to `w`, and take the row of the gradient: `torch.autograd.grad(loss, w)[0][0]`.",
        "`w[0]` создаёт новый тензор, а функция потерь вычислена не из него, а из `w`. То же относится к `w.T` и `w.view(...)`. Дифференцируйте по `w` и возьмите строку градиента: `torch.autograd.grad(loss, w)[0][0]`.",
        exercise="run_backward",
        shows=causes.derived_from_a_leaf,
    ),
    entry(
        "unused_input",
        LESSON,
        UNUSED,
        """
        x, y = torch.rand(2, 2, requires_grad=True)
        torch.autograd.grad(x.sum(), y)
        """,
        "The result does not depend on this tensor: it was replaced by a copy, or computed with before it required grad. If that is meant, `allow_unused=True` gives None for it.",
        "Результат не зависит от этого тензора: вычисления шли с его копией или до того, как он стал требовать градиента. Если так и задумано, `allow_unused=True` вернёт для него None.",
        exercise="run_backward",
    ),
    entry(
        "node_of_a_leaf",
        LESSON,
        r"'NoneType' object has no attribute '(next_functions|name|register_prehook|metadata|_saved_\w+)'",
        """
        torch.rand(2, requires_grad=True).grad_fn.next_functions
        """,
        "Here stands None in place of a node. A leaf has `grad_fn` None, and so has every tensor computed without gradient tracking.",
        "На месте узла графа стоит None. У листового тензора `grad_fn` равен None, как и у любого тензора, вычисленного без отслеживания.",
        exercise="run_backward",
    ),
    entry(
        "node_and_index",
        LESSON,
        r"'tuple' object has no attribute 'next_functions'",
        """
        y = torch.rand(2, requires_grad=True).exp().sum()
        y.grad_fn.next_functions[0].next_functions
        """,
        "An entry of `next_functions` is a pair: the node, and the number of its output. The node is `node.next_functions[0][0]`.",
        "Элемент `next_functions` — это пара: узел и номер его выхода. Сам узел — `node.next_functions[0][0]`.",
        exercise="run_backward",
    ),
    entry(
        "node_called",
        LESSON,
        r"expected \d+ arguments, got 0 instead",
        """
        torch.rand(2, requires_grad=True).sum().grad_fn()
        """,
        "`grad_fn` is a node of the graph, not the derivative. Gradients come from `y.backward()` or `torch.autograd.grad(y, x)`.",
        "`grad_fn` — это узел графа, а не производная. Градиенты дают `y.backward()` и `torch.autograd.grad(y, x)`.",
        exercise="run_backward",
        fits=names_attribute("grad_fn"),
    ),
    entry(
        "edge_of_a_constant",
        LESSON,
        r"not possible to get the gradient edge for a Tensor that does not require gradients",
        """
        graph.get_gradient_edge(torch.rand(2))
        """,
        "This tensor does not require grad, so no edge of a graph leads to it. Call `requires_grad_()` before the computation.",
        "Этот тензор не требует градиента, поэтому ни одно ребро графа к нему не ведёт. Вызовите `requires_grad_()` до вычислений.",
        exercise="run_backward",
    ),
    entry(
        "leaf_inside_the_graph",
        LESSON,
        r"leaf variable has been moved into the graph interior",
        """
        x = torch.rand(2, requires_grad=True)
        y = x.sum()
        x.requires_grad_(False)
        x.mul_(torch.rand(2, requires_grad=True))
        y.backward()
        """,
        "A leaf was used in a computation and afterwards changed in place by tracked values, so it is no leaf any more. Compute a new tensor instead of changing the leaf.",
        "Лист участвовал в вычислении, а потом его изменили на месте с помощью отслеживаемых значений, и листом он быть перестал. Вместо изменения листа вычислите новый тензор.",
        exercise="fix_shared_gradients",
    ),
    entry(
        "index_of_a_scalar",
        LESSON,
        r"invalid index of a 0-dim tensor",
        """
        torch.rand(2).sum()[0]
        """,
        "A tensor without dimensions is one number and has nothing to index. Its value is `loss.item()`; `loss.data[0]` is from torch 0.3.",
        "Тензор без измерений — это одно число, и индексировать в нём нечего. Его значение — `loss.item()`; запись `loss.data[0]` осталась от torch 0.3.",
        exercise="mean_and_worst",
    ),
    entry(
        "integers_for_a_loss",
        LESSON,
        r"Found dtype (Long|Int|Bool|Short|Byte|Char) but expected (Float|Double|Half|BFloat16)|Found dtype (Double|Float) but expected (Float|Double|Half)",
        """
        x = torch.rand(2, requires_grad=True)
        F.binary_cross_entropy(x, torch.tensor([0, 1])).backward()
        """,
        "Prediction and target have different dtypes, and the backward pass of this loss computes in one. Convert the target: `y.float()`, or `y.to(prediction.dtype)`.",
        "У предсказания и цели разные dtype, а обратному проходу этой функции потерь нужен один общий. Преобразуйте цель: `y.float()` или `y.to(prediction.dtype)`.",
        exercise="mean_and_worst",
    ),
    entry(
        "argument_without_derivative",
        LESSON,
        r"The function '\w+' is not differentiable with respect to argument '\w+'",
        """
        scores, weight = torch.rand(1, 2, requires_grad=True), torch.rand(2, requires_grad=True)
        F.nll_loss(scores, torch.tensor([1]), weight=weight)
        """,
        "torch differentiates this function, but not with respect to the argument named in the error. Write the formula out in plain operations, or pass `weight.detach()` if no gradient is wanted there.",
        "torch дифференцирует эту функцию, но не по аргументу, названному в ошибке. Запишите формулу обычными операциями или, если градиент по нему не нужен, передайте `weight.detach()`.",
        exercise="safe_sqrt",
    ),
    entry(
        "no_derivative_at_all",
        "07_custom_functions",
        r"derivative for (aten::|')(?!\w*backward)\w+(: \w+)?'? is not implemented",
        """
        x = torch.rand(2, requires_grad=True)
        torch.heaviside(x, torch.zeros(2)).sum().backward()
        """,
        "torch knows no derivative of this operation. Take a smooth formula in its place, cut it out with `detach()` if no gradient is wanted, or write a custom Function with a `backward` of your own.",
        "Производной этой операции torch не знает. Возьмите вместо неё гладкую формулу, отсоедините её через `detach()`, если градиент не нужен, или напишите пользовательскую функцию со своим `backward`.",
        exercise="reverse_function",
    ),
    entry(
        "target_of_another_size",
        "17_capstones",
        r"Using a target size \(.*\) that is different to the input size",
        """
        F.mse_loss(torch.rand(3, 1, requires_grad=True), torch.rand(3))
        """,
        "Prediction and target have different shapes and broadcast against each other: every prediction is compared with every target, and the gradient is that of another loss. Bring them to one shape, with `squeeze(1)` or `unsqueeze(1)`.",
        "Формы предсказания и цели различаются, и транслирование растягивает их: каждое предсказание сравнивается с каждой целью, и градиент получается от другой функции потерь. Приведите их к одной форме через `squeeze(1)` или `unsqueeze(1)`.",
        exercise="td_lambda",
    ),
    entry(
        "iteration_over_a_scalar",
        LESSON,
        r"iteration over a 0-d tensor",
        """
        for part in torch.rand(2).sum():
            pass
        """,
        "A tensor without dimensions is one number: it cannot be looped over, unpacked or made a list of. Use the tensor itself, or `x.unsqueeze(0)`.",
        "Тензор без измерений — это одно число: его нельзя перебирать в цикле, распаковывать или превращать в список. Возьмите сам тензор или `x.unsqueeze(0)`.",
        exercise="mean_and_worst",
    ),
)
