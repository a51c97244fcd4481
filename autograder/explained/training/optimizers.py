"""Explanations about optimizers and schedulers."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import called_by, names_a, names_attribute

LESSON, LEAVES = "03_gradient_accumulation", "01_leaf_tensors"

ENTRIES = (
    entry(
        "optimizer_of_a_non_leaf",
        LEAVES,
        r"can't optimize a non-leaf Tensor",
        """
        w = torch.rand(2, requires_grad=True) * 0.1
        torch.optim.SGD([w], lr=0.1)
        """,
        "The optimizer was given the result of an operation, not a leaf. Often a `.to(...)`, `.cuda()` or `* 0.1` after `requires_grad=True` is to blame: make the tensor first, call `requires_grad_()` last.",
        "Оптимизатору передан результат операции, а не листовой тензор. Часто виноваты `.to(...)`, `.cuda()` или `* 0.1` после `requires_grad=True`: сначала создайте тензор, а `requires_grad_()` вызовите последним.",
        exercise="trainable_weight",
    ),
    entry(
        "optimizer_of_a_tensor",
        LESSON,
        r"params argument given to the optimizer should be an iterable of Tensors or dicts",
        """
        w = torch.rand(2, requires_grad=True)
        torch.optim.SGD(w, lr=0.1)
        """,
        "The optimizer takes several tensors, also when there is one: `SGD([w], lr=0.1)`, with brackets.",
        "Оптимизатор принимает набор тензоров, даже если тензор один: `SGD([w], lr=0.1)`, в квадратных скобках.",
        exercise="predict_accumulation",
    ),
    entry(
        "optimizer_of_nothing",
        LESSON,
        r"optimizer got an empty parameter list",
        """
        params = nn.Linear(2, 2).parameters()
        list(params)
        torch.optim.SGD(params, lr=0.1)
        """,
        "The optimizer was given no parameters. Either `parameters()` is a generator that has been used up: keep `list(model.parameters())`. Or the model has none: layers in a plain list are hidden, so use `nn.ModuleList`, and wrap tensors in `nn.Parameter`.",
        "Оптимизатору не передано ни одного параметра. Либо `parameters()` — генератор, который уже исчерпан: сохраните `list(model.parameters())`. Либо у модели их нет: слои в обычном списке она не видит, возьмите `nn.ModuleList`, а тензоры оборачивайте в `nn.Parameter`.",
        exercise="clip_once",
    ),
    entry(
        "parameters_without_parentheses",
        LESSON,
        r"'(method|function)' object is not iterable",
        """
        model = nn.Linear(2, 2)
        torch.optim.SGD(model.parameters, lr=0.1)
        """,
        "`parameters` is a method and has to be called: `SGD(model.parameters(), lr=0.1)`.",
        "`parameters` — метод, его нужно вызвать: `SGD(model.parameters(), lr=0.1)`.",
        exercise="clip_once",
        fits=names_attribute("parameters", "named_parameters", "modules", "children", "buffers"),
    ),
    entry(
        "optimizer_of_a_model",
        LESSON,
        r"'\w+' object is not iterable",
        """
        torch.optim.SGD(nn.Linear(2, 2), lr=0.1)
        """,
        "The optimizer takes parameters, not the model: `SGD(model.parameters(), lr=0.1)`.",
        "Оптимизатор принимает параметры, а не модель: `SGD(model.parameters(), lr=0.1)`.",
        exercise="train_epoch",
        fits=names_a("Module"),
    ),
    entry(
        "parameter_twice",
        LESSON,
        r"parameter group with duplicate parameters|some parameters appear in more than one parameter group",
        """
        w = torch.rand(2, requires_grad=True)
        torch.optim.SGD([w, w], lr=0.1)
        """,
        "The same tensor was given to the optimizer twice, and would be updated twice in a step. Leave the double out, for example with `list(dict.fromkeys(params))`; each parameter belongs to one group.",
        "Один и тот же тензор передан оптимизатору дважды, и за шаг он обновился бы дважды. Уберите повтор, например через `list(dict.fromkeys(params))`; каждый параметр входит только в одну группу.",
        exercise="train_epoch",
    ),
    entry(
        "group_that_is_no_dict",
        LESSON,
        r"param_group must be a dict",
        """
        optimizer = torch.optim.SGD([torch.rand(2, requires_grad=True)], lr=0.1)
        optimizer.add_param_group([torch.rand(2, requires_grad=True)])
        """,
        "A group of parameters is a dict: `optimizer.add_param_group({'params': [w], 'lr': 0.01})`.",
        "Группа параметров — это словарь: `optimizer.add_param_group({'params': [w], 'lr': 0.01})`.",
        exercise="train_epoch",
    ),
    entry(
        "scheduler_before_the_optimizer",
        LESSON,
        r"Detected call of `lr_scheduler\.step\(\)` before `optimizer\.step\(\)`",
        """
        optimizer = torch.optim.SGD([torch.rand(2, requires_grad=True)], lr=0.1)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
        scheduler.step()
        optimizer.step()
        """,
        "The scheduler moved on before the optimizer made its first step, so the first learning rate was skipped. Call `optimizer.step()` first, then `scheduler.step()`.",
        "Расписание сдвинулось раньше, чем оптимизатор сделал первый шаг, и первая скорость обучения пропущена. Сначала вызывайте `optimizer.step()`, затем `scheduler.step()`.",
        exercise="train_epoch",
    ),
    entry(
        "closure_missing",
        LESSON,
        r"LBFGS\.step\(\) missing 1 required positional argument: 'closure'",
        """
        torch.optim.LBFGS([torch.rand(2, requires_grad=True)]).step()
        """,
        "LBFGS computes the loss several times within one step, so it takes a function: `optimizer.step(closure)`. The closure zeroes the gradients, runs `backward()` and returns the loss.",
        "LBFGS вычисляет функцию потерь несколько раз за шаг и поэтому принимает функцию: `optimizer.step(closure)`. Она обнуляет градиенты, выполняет `backward()` и возвращает значение функции потерь.",
        exercise="fix_zero_inside",
    ),
    entry(
        "closure_returns_nothing",
        LESSON,
        r"float\(\) argument must be .* not 'NoneType'",
        """
        w = torch.rand(2, requires_grad=True)
        optimizer = torch.optim.LBFGS([w])

        def closure():
            optimizer.zero_grad()
            (w**2).sum().backward()

        optimizer.step(closure)
        """,
        "The closure returns None: its `return` is missing. The optimizer reads the value of the loss from it: `return loss` after `loss.backward()`.",
        "Функция `closure` вернула None: в ней нет `return`. Оптимизатор берёт из неё значение функции потерь: после `loss.backward()` напишите `return loss`.",
        exercise="fix_zero_inside",
        shows=called_by("lbfgs.py:step"),
    ),
    entry(
        "sparse_gradients",
        LESSON,
        r"does not support sparse gradients",
        """
        table = nn.Embedding(3, 2, sparse=True)
        table(torch.tensor([1])).sum().backward()
        torch.optim.Adam(table.parameters()).step()
        """,
        "This optimizer changes every row in every step. For sparse gradients there are `SGD`, `Adagrad` and `SparseAdam`.",
        "Этот оптимизатор на каждом шаге меняет все строки. Для разреженных градиентов есть `SGD`, `Adagrad` и `SparseAdam`.",
        exercise="clip_once",
    ),
    entry(
        "dense_gradients",
        LESSON,
        r"SparseAdam does not support dense gradients",
        """
        p = torch.rand(3, requires_grad=True)
        p.sum().backward()
        torch.optim.SparseAdam([p]).step()
        """,
        "`SparseAdam` takes sparse gradients only, such as those of `nn.Embedding(..., sparse=True)`. For other parameters use `Adam`.",
        "`SparseAdam` принимает только разреженные градиенты, например от `nn.Embedding(..., sparse=True)`. Для остальных параметров возьмите `Adam`.",
        exercise="clip_once",
    ),
)
