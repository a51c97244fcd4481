"""Explanations of a tensor to be differentiated that has no graph."""

from __future__ import annotations

from ..entry import entry
from ..scene import causes

NO_GRAPH = r"element \d+ of tensors does not require grad and does not have a grad_fn"
LEAVES, MODES, FUNCTIONS = "01_leaf_tensors", "04_grad_modes_and_in_place", "07_custom_functions"

ENTRIES = (
    entry(
        "no_graph",
        LEAVES,
        NO_GRAPH,
        """
        torch.rand(2).sum().backward()
        """,
        "The tensor to be differentiated has no graph behind it. The causes, from the most frequent: nothing that it was computed from requires grad (a misspelt flag, such as `x.require_grad`, counts for nothing); the graph was cut by `detach()`, `.item()`, `torch.tensor(...)` or NumPy; the forward pass ran under `no_grad()` or `inference_mode()`; `argmax`, a comparison, `.long()` or `sample()` has no derivative; it is a gradient that was computed without `create_graph=True`.",
        "У тензора, который дифференцируют, нет графа. Причины, начиная с самой частой: ни один из исходных тензоров не требует градиента (флаг с опечаткой, например `x.require_grad`, ничего не включает); граф оборван вызовом `detach()`, `.item()`, `torch.tensor(...)` или переходом в NumPy; прямой проход выполнен внутри `no_grad()` или `inference_mode()`; у `argmax`, сравнения, `.long()` или `sample()` нет производной; это градиент, вычисленный без `create_graph=True`.",
        exercise="trainable_weight",
    ),
    entry(
        "misspelt_flag",
        LEAVES,
        NO_GRAPH,
        """
        x = torch.rand(2)
        x.require_grad = True
        x.sum().backward()
        """,
        "The flag is misspelt: the assignment made a new attribute, and `requires_grad` is still False. Write `x.requires_grad = True`, or call `x.requires_grad_()`; for a module, call `model.requires_grad_()`.",
        "В имени флага ошибка: присваивание создало новый атрибут, а `requires_grad` по-прежнему равен False. Напишите `x.requires_grad = True` или вызовите `x.requires_grad_()`, а у модуля — `model.requires_grad_()`.",
        exercise="predict_leaf",
        shows=causes.misspelt_flag,
    ),
    entry(
        "graph_cut",
        LEAVES,
        NO_GRAPH,
        """
        w = torch.rand(2, requires_grad=True)
        loss = (w.detach() * 2).sum()
        loss.backward()
        """,
        "On the way from the leaf to this tensor the graph is cut: `detach()`, `.data`, `.item()`, `float(...)`, `torch.tensor(...)` and NumPy hand on numbers without their history. Keep tensors up to the loss; join them with `torch.stack` or `torch.cat`. What is written through `.data` is not recorded either: write into a `clone()`.",
        "На пути от листа к этому тензору граф оборван: `detach()`, `.data`, `.item()`, `float(...)`, `torch.tensor(...)` и NumPy передают числа без их истории. Вплоть до функции потерь работайте с тензорами, а соединяйте их через `torch.stack` или `torch.cat`. Запись через `.data` в граф тоже не попадает: сделайте `clone()` и пишите в него.",
        exercise="predict_leaf",
        shows=causes.cut,
    ),
    entry(
        "no_derivative_in_the_loss",
        LEAVES,
        NO_GRAPH,
        """
        scores = torch.rand(3, requires_grad=True)
        (scores.argmax() == 1).float().backward()
        """,
        "The graph ends at an operation without a derivative: `argmax`, a comparison, a cast to integers (`.long()`), counting. Its result changes in jumps, so there is no gradient to follow. Take a differentiable loss, such as cross entropy of the scores themselves.",
        "Граф заканчивается на операции без производной: `argmax`, сравнение, приведение к целым (`.long()`), подсчёт. Её результат меняется скачками, и градиента у него нет. Возьмите дифференцируемую функцию потерь, например кросс-энтропию от самих логитов.",
        exercise="predict_leaf",
        shows=causes.no_derivative,
    ),
    entry(
        "sample_in_the_loss",
        LEAVES,
        NO_GRAPH,
        """
        mean = torch.rand(2, requires_grad=True)
        torch.distributions.Normal(mean, 1.0).sample().sum().backward()
        """,
        "`sample()` draws numbers and leaves the graph. `rsample()` computes the same draw from the parameters, so that gradients reach them; for discrete distributions use `log_prob(action)` in the loss.",
        "`sample()` возвращает случайные числа без графа. `rsample()` вычисляет их из параметров, и градиент до параметров доходит; для дискретных распределений стройте функцию потерь на `log_prob(action)`.",
        exercise="trainable_weight",
        shows=causes.sampled,
    ),
    entry(
        "frozen_model",
        LEAVES,
        NO_GRAPH,
        """
        model = nn.Linear(2, 1).requires_grad_(False)
        model(torch.rand(2)).sum().backward()
        """,
        "The model is frozen: none of its parameters requires grad, and neither does the input. Call `model.requires_grad_()`, or make the input a leaf when its gradient is wanted.",
        "Модель заморожена: ни один её параметр не требует градиента, и вход тоже. Вызовите `model.requires_grad_()` или, если нужен градиент по входу, сделайте листом вход.",
        exercise="predict_leaf",
        shows=causes.frozen,
    ),
    entry(
        "loss_under_no_grad",
        MODES,
        NO_GRAPH,
        """
        w = torch.rand(2, requires_grad=True)
        with torch.no_grad():
            loss = w.sum()
        loss.backward()
        """,
        "The forward pass ran under `no_grad()` (or in a function with this decorator), so nothing was recorded. Take the computation of the loss out of it.",
        "Прямой проход выполнен внутри `no_grad()` (или в функции с таким декоратором), поэтому ничего не записано. Вынесите вычисление функции потерь наружу.",
        exercise="predict_modes",
        shows=causes.under_no_grad,
    ),
    entry(
        "loss_under_inference_mode",
        MODES,
        NO_GRAPH,
        """
        w = torch.rand(2, requires_grad=True)
        with torch.inference_mode():
            loss = w.sum()
        loss.backward()
        """,
        "The forward pass ran under `inference_mode()`, which records nothing and makes tensors that can never join a graph. Take the computation of the loss out of it.",
        "Прямой проход выполнен внутри `inference_mode()`: там ничего не записывается, а созданные тензоры уже не могут войти в граф. Вынесите вычисление функции потерь наружу.",
        exercise="predict_modes",
        shows=causes.under_inference_mode,
    ),
    entry(
        "gradient_without_create_graph",
        "10_higher_order",
        NO_GRAPH,
        """
        x = torch.rand(2, requires_grad=True)
        (g,) = torch.autograd.grad((x**3).sum(), x)
        g.sum().backward()
        """,
        "This tensor is a gradient, and it was computed without a graph of its own. For a second derivative pass `create_graph=True` where the first one is taken.",
        "Этот тензор — градиент, и он вычислен без собственного графа. Для второй производной передайте `create_graph=True` там, где берётся первая.",
        exercise="gradient_penalty",
        shows=causes.gradient_without_graph,
    ),
    entry(
        "gradient_of_a_straight_line",
        "10_higher_order",
        NO_GRAPH,
        """
        x = torch.rand(2, requires_grad=True)
        (g,) = torch.autograd.grad((3 * x).sum(), x, create_graph=True)
        torch.autograd.grad(g.sum(), x)
        """,
        "The first derivative does not depend on any tensor that requires grad: it is a constant, so it has no graph even with `create_graph=True`. The second derivative is 0. Ask `g.requires_grad` first.",
        "Первая производная не зависит ни от одного тензора, требующего градиента: это константа, и графа у неё нет даже с `create_graph=True`. Вторая производная равна 0. Сначала проверьте `g.requires_grad`.",
        exercise="predict_second",
        shows=causes.constant_gradient,
    ),
    entry(
        "second_derivative_of_detached_saves",
        FUNCTIONS,
        NO_GRAPH,
        """
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.x = x.detach()
                return x**2

            @staticmethod
            def backward(ctx, grad):
                return 2 * ctx.x * grad

        x = torch.tensor(3.0, requires_grad=True)
        (g,) = torch.autograd.grad(Square.apply(x), x, create_graph=True)
        g.backward()
        """,
        "`backward` of a custom Function computed with a value that was saved without its graph, such as `ctx.x = x.detach()`. So the first derivative does not depend on the input for autograd, and `create_graph=True` cannot help. Save with `ctx.save_for_backward(x)`, and read `ctx.saved_tensors`.",
        "Метод `backward` пользовательской функции вычислял с величиной, сохранённой без графа, например `ctx.x = x.detach()`. Поэтому для autograd первая производная от входа не зависит, и `create_graph=True` тут не поможет. Сохраняйте через `ctx.save_for_backward(x)`, а читайте из `ctx.saved_tensors`.",
        exercise="cube_function",
        shows=causes.gradient_of_detached_saves,
    ),
    entry(
        "list_given_to_a_function",
        FUNCTIONS,
        NO_GRAPH,
        """
        class Total(torch.autograd.Function):
            @staticmethod
            def forward(ctx, tensors):
                return sum(tensors)

            @staticmethod
            def backward(ctx, grad):
                return [grad, grad]

        a, b = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
        Total.apply([a, b]).sum().backward()
        """,
        "A custom Function was given its tensors inside a list (or a tuple, a dict). `apply` looks for tensors among its own arguments only, so it found none that requires grad. Pass them one by one, `Total.apply(*tensors)`, with `def forward(ctx, *tensors)`; `backward` returns a gradient for each.",
        "Пользовательская функция получила тензоры внутри списка (кортежа, словаря). `apply` ищет тензоры только среди своих аргументов, поэтому ни одного, который требует градиента, не нашёл. Передавайте их по отдельности: `Total.apply(*tensors)` и `def forward(ctx, *tensors)`. Тогда `backward` возвращает градиент для каждого.",
        exercise="product_function",
        shows=causes.list_given_to_a_function,
    ),
    entry(
        "old_checkpoint_without_a_graph",
        "06_saved_tensors",
        NO_GRAPH,
        """
        layer = nn.Linear(2, 2)
        checkpoint(layer, torch.rand(2), use_reentrant=True).sum().backward()
        """,
        "A checkpoint with `use_reentrant=True` builds a graph only if one of its inputs requires grad; the parameters inside do not count. Write `use_reentrant=False`.",
        "Контрольная точка с `use_reentrant=True` строит граф, только если градиента требует хотя бы один её вход; параметры внутри не в счёт. Напишите `use_reentrant=False`.",
        exercise="checkpointed",
        shows=causes.old_checkpoint,
    ),
    entry(
        "autograd_grad_under_vmap",
        "05_jacobian_products",
        NO_GRAPH,
        """
        w = torch.rand(2, requires_grad=True)
        torch.func.vmap(lambda x: torch.autograd.grad((w * x).sum(), w)[0])(torch.rand(3, 2))
        """,
        "Inside `vmap` `torch.autograd.grad` and `backward()` see no graph. Write the loss as a function of the weights and let `torch.func` differentiate it: `vmap(grad(loss), in_dims=(None, 0))(w, x)`.",
        "Внутри `vmap` ни `torch.autograd.grad`, ни `backward()` графа не видят. Запишите функцию потерь как функцию от весов и дифференцируйте её средствами `torch.func`: `vmap(grad(loss), in_dims=(None, 0))(w, x)`.",
        exercise="per_sample_gradients",
        shows=causes.under_vmap,
    ),
)
