"""Explanations about calls of `backward()` and `torch.autograd.grad`, and what they return."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import is_of_autograd_grad

LESSON = "02_graph_and_backward"

ENTRIES = (
    entry(
        "materialized_but_not_allowed",
        LESSON,
        r"Expected allow_unused to be True or not passed when materialize_grads=True",
        """
        x = torch.rand(2, requires_grad=True)
        torch.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)
        """,
        "`materialize_grads=True` gives zeros for unused inputs, so it allows them. Leave `allow_unused` out.",
        "`materialize_grads=True` возвращает нули для неиспользованных входов, то есть и так их допускает. Уберите `allow_unused`.",
        exercise="fix_two_losses",
    ),
    entry(
        "inputs_that_are_none",
        LESSON,
        r"all inputs have to be Tensors or GradientEdges, but got",
        """
        x = torch.rand(2, requires_grad=True)
        torch.autograd.grad(x.sum(), [None])
        """,
        "Among the inputs of `torch.autograd.grad` is something that is no tensor, often None. Give tensors only, for example the parameters that require grad.",
        "Среди входов `torch.autograd.grad` есть не тензор, часто None. Передавайте только тензоры, например параметры, которые требуют градиента.",
        exercise="fix_two_losses",
    ),
    entry(
        "no_inputs",
        LESSON,
        r"`inputs` argument to `\w+\(\)` cannot be empty|grad requires non-empty inputs",
        """
        x = torch.rand(2, requires_grad=True)
        torch.autograd.grad(x.sum(), [])
        """,
        "The list of inputs is empty. Either no parameter requires grad, or the inputs come from a generator that has been used up: keep `list(model.parameters())`.",
        "Список входов пуст. Либо ни один параметр не требует градиента, либо входы взяты из генератора, который уже исчерпан: сохраните `list(model.parameters())`.",
        exercise="fix_two_losses",
    ),
    entry(
        "grad_without_inputs",
        LESSON,
        r"grad\(\) missing 1 required positional argument: 'inputs'",
        """
        x = torch.rand(2, requires_grad=True)
        torch.autograd.grad(x.sum())
        """,
        "`torch.autograd.grad` has to be told with respect to what: `torch.autograd.grad(y, x)`. For all leaves at once there is `y.backward()`.",
        "`torch.autograd.grad` нужно указать, по чему дифференцировать: `torch.autograd.grad(y, x)`. Сразу для всех листьев есть `y.backward()`.",
        exercise="run_backward",
    ),
    entry(
        "backward_of_a_number",
        LESSON,
        r"'(float|int|numpy\.\w+|ndarray)' object has no attribute 'backward'",
        """
        torch.rand(2, requires_grad=True).sum().item().backward()
        """,
        "This is a plain number or an array of NumPy, not a tensor: `.item()`, `float()` or NumPy took it out of the graph. Keep the tensor for `backward()`, and take `.item()` for the log only.",
        "Это обычное число или массив NumPy, а не тензор: из графа его вывели `.item()`, `float()` или NumPy. Для `backward()` сохраните тензор, а `.item()` берите только для журнала.",
        exercise="mean_and_worst",
    ),
    entry(
        "backward_of_none",
        LESSON,
        r"'NoneType' object has no attribute 'backward'",
        """
        loss = None
        loss.backward()
        """,
        "There is None in place of the loss: the function that computes it has no `return`, or returns nothing on this path.",
        "Вместо значения функции потерь стоит None: у функции, которая его вычисляет, нет `return` или на этом пути она ничего не возвращает.",
        exercise="mean_and_worst",
    ),
    entry(
        "backward_of_several",
        LESSON,
        r"'(list|tuple|dict)' object has no attribute 'backward'",
        """
        x = torch.rand(2, requires_grad=True)
        [x.sum(), x.prod()].backward()
        """,
        "Several losses are together in a list, a tuple or a dict. Add them up, `sum(losses).backward()`, or take the one that is meant.",
        "Несколько значений функции потерь собраны в список, кортеж или словарь. Сложите их: `sum(losses).backward()` — или возьмите нужное.",
        exercise="fix_two_losses",
    ),
    entry(
        "backward_misspelt",
        LESSON,
        r"'Tensor' object has no attribute '(backwards|back|backprop|backward_|Backward)'",
        """
        torch.rand(2, requires_grad=True).sum().backwards()
        """,
        "The method is called `backward`, without an s: `loss.backward()`.",
        "Метод называется `backward`, без s на конце: `loss.backward()`.",
        exercise="predict_second_backward",
    ),
    entry(
        "backward_of_no_tensor",
        LESSON,
        r"Expected output to be a torch\.Tensor",
        """
        torch.autograd.backward([1.0])
        """,
        "`torch.autograd.backward` takes a tensor or several, and was given something else, such as a number.",
        "`torch.autograd.backward` принимает тензор или несколько тензоров, а получила что-то другое, например число.",
        exercise="fix_two_losses",
    ),
    entry(
        "retain_variables",
        LESSON,
        r"backward\(\) got an unexpected keyword argument 'retain_variables'",
        """
        torch.rand(2, requires_grad=True).sum().backward(retain_variables=True)
        """,
        "`retain_variables` is the name from torch 0.1. It is called `retain_graph` now.",
        "`retain_variables` — имя из torch 0.1. Теперь этот аргумент называется `retain_graph`.",
        exercise="predict_second_backward",
    ),
    entry(
        "tuple_of_gradients",
        LESSON,
        r"'tuple' object has no attribute '(?!next_functions|backward)\w+'|can't multiply sequence by non-int of type '(float|Tensor)'|unsupported operand type\(s\) for .*('Tensor' and 'tuple'|'tuple' and 'Tensor'|'tuple' and '(float|int)')|must be Tensor, not tuple",
        """
        x = torch.rand(2, requires_grad=True)
        x - 0.1 * torch.autograd.grad(x.sum(), x)
        """,
        "`torch.autograd.grad` returns a tuple, one gradient for each input, also when there is a single one. Unpack it, `(g,) = torch.autograd.grad(y, x)`, or take `[0]`.",
        "`torch.autograd.grad` возвращает кортеж: по градиенту на каждый вход, даже если вход один. Распакуйте его, `(g,) = torch.autograd.grad(y, x)`, или возьмите `[0]`.",
        exercise="run_backward",
        fits=is_of_autograd_grad,
    ),
    entry(
        "two_names_for_one_gradient",
        LESSON,
        r"not enough values to unpack \(expected \d+, got \d+\)|too many values to unpack",
        """
        x = torch.rand(2, requires_grad=True)
        dx, dy = torch.autograd.grad(x.sum(), x)
        """,
        "`torch.autograd.grad` returns as many gradients as there are inputs: one input gives a tuple of one, `(g,) = ...`. For two gradients give both inputs, `torch.autograd.grad(y, (a, b))`.",
        "`torch.autograd.grad` возвращает столько градиентов, сколько дано входов: для одного входа — кортеж из одного, `(g,) = ...`. Для двух градиентов передайте оба входа: `torch.autograd.grad(y, (a, b))`.",
        exercise="run_backward",
        fits=is_of_autograd_grad,
    ),
)
