"""Explanations about copies of tensors, and the way to NumPy."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import in_numpy

LESSON = "01_leaf_tensors"

ENTRIES = (
    entry(
        "tensor_of_tracked_tensors",
        LESSON,
        r"Converting a tensor with requires_grad=True to a scalar",
        """
        a, b = torch.rand(2, requires_grad=True)
        torch.tensor([a, b])
        """,
        "Here numbers are taken out of a tracked tensor, and the graph does not follow them. `torch.tensor([a, b])` copies numbers: join tensors with `torch.stack([a, b])` or `torch.cat`. `math.exp(x)`, `float(x)` and `int(x)` give Python numbers: use `torch.exp(x)`, and `x.item()` where the cut is meant, as in a log.",
        "Здесь из отслеживаемого тензора берут числа, и граф на этом обрывается. `torch.tensor([a, b])` копирует числа: соединяйте тензоры через `torch.stack([a, b])` или `torch.cat`. `math.exp(x)`, `float(x)` и `int(x)` возвращают числа Python: пишите `torch.exp(x)`, а там, где разрыв нужен (например, для журнала), — `x.item()`.",
        exercise="predict_leaf",
    ),
    entry(
        "tensor_of_vectors",
        LESSON,
        r"only one element tensors can be converted to Python scalars",
        """
        a, b = torch.rand(2), torch.rand(2)
        torch.tensor([a, b])
        """,
        "`torch.tensor` builds a tensor of numbers, not of tensors, and would cut the graph besides. Join tensors with `torch.stack([a, b])` or `torch.cat([a, b])`: they stay in the graph.",
        "`torch.tensor` собирает тензор из чисел, а не из тензоров, и к тому же оборвал бы граф. Соединяйте тензоры через `torch.stack([a, b])` или `torch.cat([a, b])`: они остаются в графе.",
        exercise="trainable_weight",
    ),
    entry(
        "copy_of_a_tensor",
        LESSON,
        r"To copy construct from a tensor, it is recommended to use",
        """
        x = torch.rand(2, requires_grad=True)
        torch.tensor(x)
        """,
        "`torch.tensor(t)` copies the values and leaves the graph behind. Say which you mean: `t.clone()` is a copy inside the graph, `t.detach().clone()` one outside of it.",
        "`torch.tensor(t)` копирует значения, а граф теряет. Укажите, что вам нужно: `t.clone()` — копия внутри графа, `t.detach().clone()` — вне его.",
        exercise="snapshot",
    ),
    entry(
        "tracked_tensor_to_numpy",
        LESSON,
        r"Can't call numpy\(\) on Tensor that requires grad|Can't export tensors that require gradient",
        """
        torch.rand(2, requires_grad=True).numpy()
        """,
        "NumPy does not record operations, so torch will not let a tracked tensor leave the graph unnoticed. Write `t.detach().numpy()` to say that you mean it; the memory stays shared.",
        "NumPy не записывает операции, поэтому torch не даёт отслеживаемому тензору незаметно выйти из графа. Напишите `t.detach().numpy()`, чтобы сделать это явно; память останется общей.",
        exercise="predict_bridge",
    ),
    entry(
        "numpy_function_of_a_tensor",
        LESSON,
        r"\w+\(\) (got an unexpected keyword argument 'axis'|received an invalid combination of arguments)",
        """
        np.sum(torch.rand(2, requires_grad=True))
        """,
        "A NumPy function was given a tensor: it calls the tensor's own method with NumPy's arguments. Use torch's function, which stays in the graph: `x.sum()` or `torch.sum(x)`.",
        "Функции NumPy передан тензор, и она вызывает его собственный метод с аргументами NumPy. Возьмите функцию torch, которая остаётся в графе: `x.sum()` или `torch.sum(x)`.",
        exercise="predict_bridge",
        fits=in_numpy,
    ),
    entry(
        "array_times_tracked_tensor",
        LESSON,
        r"unsupported operand type\(s\) for .*'numpy\.ndarray' and '(Tensor|Parameter)'|expected Tensor as element \d+ in argument \d+, but got numpy\.ndarray",
        """
        np.ones(2) * torch.rand(2, requires_grad=True)
        """,
        "A NumPy array and a tracked tensor do not mix. Turn the array into a tensor with `torch.from_numpy(...)`.",
        "Массив NumPy нельзя смешивать в одном выражении с отслеживаемым тензором. Превратите массив в тензор: `torch.from_numpy(...)`.",
        exercise="predict_bridge",
    ),
    entry(
        "asarray_of_a_tracked_tensor",
        LESSON,
        r"torch\.asarray: unspecified requires_grad now defaults",
        """
        torch.asarray(torch.rand(2, requires_grad=True))
        """,
        "`torch.asarray` shares the memory of the tensor, and now also its flag. Use the tensor itself, or say what you mean: `requires_grad=False` for the values alone.",
        "`torch.asarray` делит с тензором память, а теперь и флаг. Возьмите сам тензор или укажите явно `requires_grad=False`, если нужны только значения.",
        exercise="predict_bridge",
    ),
    entry(
        "deepcopy_of_a_non_leaf",
        LESSON,
        r"Only Tensors created explicitly by the user .*support the deepcopy protocol",
        """
        copy.deepcopy(torch.rand(2, requires_grad=True) * 1)
        """,
        "`deepcopy` copies leaves only: the copy of a non-leaf would hang on the same graph. Use `t.detach().clone()`, or `t.clone()` to stay in the graph. If a module was copied, it keeps a result as an attribute: store `result.detach()`, or compute it in `forward`.",
        "`deepcopy` копирует только листовые тензоры: копия нелистового осталась бы в том же графе. Возьмите `t.detach().clone()`, а чтобы остаться в графе — `t.clone()`. Если копировали модуль, он хранит результат вычислений как атрибут: храните `result.detach()` или вычисляйте его в `forward`.",
        exercise="snapshot",
    ),
    entry(
        "graph_to_another_process",
        LESSON,
        r"Cowardly refusing to serialize non-leaf tensor which requires_grad",
        """
        import torch.multiprocessing
        from multiprocessing.reduction import ForkingPickler
        ForkingPickler.dumps(torch.rand(2, requires_grad=True) * 1)
        """,
        "A graph does not cross the border between processes. Send the values alone: `x.detach()`.",
        "Граф не передаётся между процессами. Отправьте только значения: `x.detach()`.",
        exercise="snapshot",
    ),
    entry(
        "python_function_on_a_tracked_tensor",
        LESSON,
        r"Can't call (apply_|map_|map2_)\(\) on Variable that requires grad",
        """
        torch.rand(2, requires_grad=True).apply_(lambda x: x + 1)
        """,
        "This method runs a Python function on every number, and autograd cannot record that. Use torch's operations, or `x.detach().apply_(f)` when no gradient is wanted.",
        "Этот метод применяет функцию Python к каждому числу, и autograd не может этого записать. Используйте операции torch, а если градиент не нужен — `x.detach().apply_(f)`.",
        exercise="predict_bridge",
    ),
    entry(
        "method_without_parentheses",
        LESSON,
        r"'(builtin_function_or_method|method)' object has no attribute '(numpy|detach|cpu|clone|item|sum|mean|backward|requires_grad|grad|shape|cuda|to)'",
        """
        torch.rand(2, requires_grad=True).detach.numpy()
        """,
        "A method stands here without its parentheses: `x.detach()` is a tensor, `x.detach` the method itself.",
        "Метод записан без скобок: `x.detach()` — тензор, а `x.detach` — сам метод.",
        exercise="snapshot",
    ),
    entry(
        "tracked_constant_in_a_trace",
        LESSON,
        r"Cannot insert a Tensor that requires grad as a constant",
        """
        w = torch.rand(2, requires_grad=True)
        torch.jit.trace(lambda x: x * w, (torch.rand(2),))
        """,
        "The traced function uses a tensor that requires grad and is none of its arguments. Pass it as an argument, or trace a module that has it as a parameter.",
        "Трассируемая функция использует тензор, который требует градиента и не входит в её аргументы. Передайте его аргументом или трассируйте модуль, в котором он — параметр.",
        exercise="trainable_weight",
    ),
)
