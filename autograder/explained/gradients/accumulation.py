"""Explanations about the attribute `.grad`: what it takes, and who has it."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import names_attribute

LESSON = "03_gradient_accumulation"

ENTRIES = (
    entry(
        "grad_called",
        LESSON,
        r"'Tensor' object is not callable",
        """
        w = torch.rand(2, requires_grad=True)
        w.sum().backward()
        w.grad()
        """,
        "`.grad` is an attribute and holds a tensor: write `w.grad` without parentheses. The same holds for `.data`, `.T` and `.shape`.",
        "`.grad` — атрибут, в котором лежит тензор: пишите `w.grad` без скобок. То же относится к `.data`, `.T` и `.shape`.",
        exercise="predict_accumulation",
        fits=names_attribute("grad", "data", "T", "mT", "real", "imag"),
    ),
    entry(
        "zero_grad_of_a_tensor",
        LESSON,
        r"'(Tensor|Parameter)' object has no attribute 'zero_grad'",
        """
        torch.rand(2, requires_grad=True).zero_grad()
        """,
        "`zero_grad()` belongs to optimizers and modules, not to tensors. Write `optimizer.zero_grad()`, or `w.grad = None` for one tensor.",
        "`zero_grad()` есть у оптимизаторов и модулей, но не у тензоров. Напишите `optimizer.zero_grad()`, а для одного тензора — `w.grad = None`.",
        exercise="predict_zero_grad",
    ),
    entry(
        "grad_of_another_kind",
        LESSON,
        r"attempting to assign a gradient (of size|with dtype)|assigned grad (has data of a different|expected to be a)",
        """
        torch.rand(2, requires_grad=True).grad = torch.ones(3)
        """,
        "`.grad` takes a tensor of the same shape, dtype and device as its owner, or None.",
        "В `.grad` можно положить только тензор той же формы, того же dtype и на том же устройстве, что и его владелец, или None.",
        exercise="predict_accumulation",
    ),
    entry(
        "own_grad",
        LESSON,
        r"can't assign Variable as its own grad",
        """
        w = torch.rand(2, requires_grad=True)
        w.grad = w
        """,
        "A tensor cannot be its own gradient. Assign a tensor of its own: `w.grad = w.detach().clone()`.",
        "Тензор не может быть собственным градиентом. Присвойте отдельный тензор: `w.grad = w.detach().clone()`.",
        exercise="predict_accumulation",
    ),
    entry(
        "grad_dtype",
        LESSON,
        r"grad_dtype can only be set on leaf tensors|Cannot set grad_dtype to .* because there is already a gradient",
        """
        (torch.rand(2, requires_grad=True) * 1).grad_dtype = torch.float64
        """,
        "`grad_dtype` says in which dtype a leaf accumulates its gradient. Set it on the leaf, and while there is no gradient yet: `w.grad = None` first.",
        "`grad_dtype` задаёт dtype, в котором лист накапливает градиент. Задавайте его только у листа и только пока градиента нет: сначала `w.grad = None`.",
        exercise="predict_accumulation",
    ),
    entry(
        "clip_of_infinity",
        LESSON,
        r"The total norm of order .* is non-finite, so it cannot be clipped",
        """
        w = torch.rand(2, requires_grad=True)
        w.grad = torch.tensor([1.0, math.inf])
        nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)
        """,
        "A gradient holds inf or NaN, so its norm means nothing. Look for the operation with `torch.autograd.detect_anomaly()`; with a scaler call `unscale_()` before clipping, and let it skip the step.",
        "В градиенте есть inf или NaN, поэтому его норма ничего не значит. Найдите операцию через `torch.autograd.detect_anomaly()`; со `scaler` вызывайте `unscale_()` до отсечения, и шаг он пропустит сам.",
        exercise="clip_once",
    ),
    entry(
        "clip_of_a_used_up_generator",
        LESSON,
        r"`parameters` is an empty generator, no gradient clipping will occur",
        """
        params = nn.Linear(2, 2).parameters()
        list(params)
        nn.utils.clip_grad_norm_(params, 1.0)
        """,
        "Nothing is clipped: `parameters()` is a generator, and it has been used up. Keep `params = list(model.parameters())`, or call `model.parameters()` anew.",
        "Ничего не отсечено: `parameters()` — генератор, и он уже исчерпан. Сохраните `params = list(model.parameters())` или вызовите `model.parameters()` заново.",
        exercise="clip_once",
    ),
    entry(
        "backward_of_the_optimizer",
        LESSON,
        r"'(SGD|Adam|AdamW|RMSprop|Adagrad|LBFGS|\w*LR)' object has no attribute 'backward'",
        """
        torch.optim.SGD([torch.rand(2, requires_grad=True)], lr=0.1).backward()
        """,
        "`backward()` belongs to the loss, and the optimizer has `step()`: `loss.backward()`, then `optimizer.step()`.",
        "`backward()` есть у значения функции потерь, а у оптимизатора — `step()`: сначала `loss.backward()`, затем `optimizer.step()`.",
        exercise="train_epoch",
    ),
)
