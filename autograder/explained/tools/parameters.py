"""Explanations about parameters and modules."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import in_call_of, names_a

LEAVES, HIGHER = "01_leaf_tensors", "10_higher_order"

ENTRIES = (
    entry(
        "parameter_replaced_by_a_tensor",
        HIGHER,
        r"cannot assign '.*' as parameter '\w+' \(torch\.nn\.Parameter or None expected\)",
        """
        layer = nn.Linear(2, 2)
        layer.weight = layer.weight * 0.5
        """,
        "A plain tensor cannot take the place of a parameter. To change the weight write into it: `layer.weight.mul_(0.5)` or `copy_(...)` under `torch.no_grad()`. Where the gradient must flow through the new weight, run the module with it: `torch.func.functional_call(layer, {'weight': new}, x)`.",
        "Обычный тензор не может занять место параметра. Чтобы изменить вес, запишите в него: `layer.weight.mul_(0.5)` или `copy_(...)` внутри `torch.no_grad()`. Если градиент должен пройти через новый вес, выполните модуль с ним: `torch.func.functional_call(layer, {'weight': new}, x)`.",
        exercise="meta_gradient",
    ),
    entry(
        "parameter_registered_as_a_tensor",
        LEAVES,
        r"cannot assign '.*' object to parameter '\w+'",
        """
        nn.Module().register_parameter("w", torch.rand(2))
        """,
        "A parameter is a leaf of its own kind: wrap the tensor, `nn.Parameter(tensor)`. For a tensor that is not trained there is `register_buffer`.",
        "Параметр — это лист особого вида: оберните тензор в `nn.Parameter(tensor)`. Для тензора, который не обучается, есть `register_buffer`.",
        exercise="trainable_weight",
    ),
    entry(
        "parameter_that_became_a_non_leaf",
        LEAVES,
        r"Cannot assign non-leaf Tensor to parameter",
        """
        p = nn.Parameter(torch.zeros(2), requires_grad=False)
        p.mul_(torch.rand(2, requires_grad=True))
        nn.Module().register_parameter("p", p)
        """,
        "This parameter is the result of tracked operations, so it is no leaf. Make parameters of plain numbers, and compute what depends on others in `forward`.",
        "Этот параметр получен в отслеживаемых операциях и поэтому не лист. Создавайте параметры из обычных чисел, а то, что зависит от других тензоров, вычисляйте в `forward`.",
        exercise="trainable_weight",
    ),
    entry(
        "parameter_from_a_list",
        LEAVES,
        r"'(list|tuple|float|int|ndarray|numpy\.ndarray)' object has no attribute 'detach'",
        """
        nn.Parameter([1.0, 2.0])
        """,
        "A parameter is made from a tensor, not from a list, a number or an array: `nn.Parameter(torch.tensor([1.0, 2.0]))`.",
        "Параметр создают из тензора, а не из списка, числа или массива: `nn.Parameter(torch.tensor([1.0, 2.0]))`.",
        exercise="trainable_weight",
        fits=in_call_of("Parameter"),
    ),
    entry(
        "parameter_before_init",
        LEAVES,
        r"cannot assign (parameters|module) before Module\.__init__\(\) call",
        """
        class Net(nn.Module):
            def __init__(self):
                self.w = nn.Parameter(torch.rand(2))

        Net()
        """,
        "The module has no place for parameters yet. Let `super().__init__()` be the first line of `__init__`.",
        "В модуле ещё нет места для параметров. Пусть первой строкой `__init__` будет `super().__init__()`.",
        exercise="trainable_weight",
    ),
    entry(
        "lazy_parameter",
        "17_capstones",
        r"Attempted to use an uninitialized parameter",
        """
        sum(p.numel() for p in nn.LazyLinear(2).parameters())
        """,
        "A lazy layer has no weights until it has seen its first input. Run one batch through the model, and then count the parameters or make the optimizer.",
        "У «ленивого» слоя нет весов, пока он не получил первый вход. Пропустите через модель один батч, а потом считайте параметры или создавайте оптимизатор.",
        exercise="fix_checkpoint",
    ),
    entry(
        "backward_of_the_model",
        "03_gradient_accumulation",
        r"'\w+' object has no attribute 'backward'",
        """
        nn.Linear(2, 1).backward()
        """,
        "`backward()` belongs to the value of the loss, which is a tensor, not to a module: `loss = criterion(model(x), y)`, then `loss.backward()`.",
        "`backward()` есть у значения функции потерь (это тензор), а не у модуля: `loss = criterion(model(x), y)`, затем `loss.backward()`.",
        exercise="train_epoch",
        fits=names_a("Module"),
    ),
    entry(
        "grad_of_the_model",
        "03_gradient_accumulation",
        r"'\w+' object has no attribute '(grad|requires_grad)'",
        """
        nn.Linear(2, 1).grad
        """,
        "A module has no gradient; its parameters have. Read `model.weight.grad`, or loop over `model.parameters()`.",
        "У модуля нет градиента: он есть у его параметров. Прочитайте `model.weight.grad` или переберите `model.parameters()`.",
        exercise="accumulate_equal",
        fits=names_a("Module"),
    ),
)
