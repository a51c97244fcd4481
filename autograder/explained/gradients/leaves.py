"""Explanations about leaves, `requires_grad`, copies, and the way to NumPy and back."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import ENGINE, called_by, names_attribute

LESSON = "01_leaf_tensors"
INTEGERS = r"[Oo]nly Tensors of floating point (and complex )?dtype can require gradients"
MISSPELT = "require_grads?|required_grads?|requires_gradients?|requires_grads|require_gradients?"

ENTRIES = (
    entry(
        "input_without_requires_grad",
        LESSON,
        r"One of the differentiated Tensors does not require grad",
        """
        x = torch.rand(2)
        w = torch.rand(2, requires_grad=True)
        torch.autograd.grad((w * x).sum(), x)
        """,
        "You asked for the gradient with respect to a tensor with `requires_grad=False`. Switch it on before the computation, with `requires_grad_()`.",
        "Запрошен градиент по тензору, у которого `requires_grad=False`. Включите отслеживание до вычислений: `requires_grad_()`.",
        exercise="predict_leaf",
    ),
    entry(
        "integers_require_grad",
        LESSON,
        INTEGERS,
        """
        torch.tensor([1, 2], requires_grad=True)
        """,
        "Only tensors of real or complex floating-point numbers can require grad, and this one holds integers or bools. Write `1.0` in place of `1`, or give `dtype=torch.float32`.",
        "Требовать градиента могут только тензоры с вещественными или комплексными числами с плавающей точкой, а в этом целые числа или bool. Напишите `1.0` вместо `1` или укажите `dtype=torch.float32`.",
        exercise="predict_leaf",
    ),
    entry(
        "integers_from_an_unpack_hook",
        "06_saved_tensors",
        INTEGERS,
        """
        with graph.saved_tensors_hooks(lambda t: (t * 127).to(torch.int8), lambda t: t):
            y = torch.rand(4, requires_grad=True).square()
        y.sum().backward()
        """,
        "An unpack hook gave back integers in place of a saved tensor of floating-point numbers. It must undo what `pack` did, the dtype included: `lambda t: t.float() / 127`.",
        "Хук распаковки вернул целые числа вместо сохранённого тензора с плавающей точкой. Он должен обратить всё, что сделала функция `pack`, в том числе восстановить dtype: `lambda t: t.float() / 127`.",
        exercise="save_in_half",
        shows=called_by(ENGINE),
    ),
    entry(
        "integers_in_data",
        LESSON,
        r"data set to a tensor that requires gradients must be floating point",
        """
        x = torch.rand(2, requires_grad=True)
        x.data = torch.tensor([1, 2])
        """,
        "The leaf requires grad, so its values are floating-point numbers, and `.data` was given integers. Change it with `copy_` under `no_grad()`, which also converts the numbers.",
        "Лист требует градиента, поэтому его значения — числа с плавающей точкой, а в `.data` записаны целые. Измените его через `copy_` внутри `no_grad()`: числа будут преобразованы.",
        exercise="overwrite",
    ),
    entry(
        "flag_of_a_non_leaf",
        LESSON,
        r"you can only change requires_grad flags of leaf variables",
        """
        x = torch.rand(2, requires_grad=True)
        y = x * 2
        y.requires_grad = False
        """,
        "This tensor is the result of a tracked computation (a non-leaf), so it requires grad whatever you set. `detach()` gives you the same values without the graph.",
        "Этот тензор получен в отслеживаемом вычислении (нелистовой), и выключить у него `requires_grad` нельзя. Те же значения без графа даёт `detach()`.",
        exercise="predict_leaf",
    ),
    entry(
        "grad_of_a_non_leaf",
        LESSON,
        r"The \.grad attribute of a Tensor that is not a leaf Tensor is being accessed",
        """
        y = torch.rand(2, requires_grad=True) * 2
        y.sum().backward()
        y.grad
        """,
        "This tensor is the result of an operation, and `backward()` stores gradients in leaves only: its `.grad` is None. Call its `retain_grad()` before `backward()`, or read `.grad` of the leaf that it was computed from.",
        "Этот тензор — результат операции, а `backward()` записывает градиенты только в листовые тензоры, поэтому здесь `.grad` равен None. Вызовите у него `retain_grad()` до `backward()` или прочитайте `.grad` того листа, из которого он получен.",
        exercise="hidden_gradients",
    ),
    entry(
        "flag_called",
        LESSON,
        r"'bool' object is not callable",
        """
        x = torch.rand(2)
        x.requires_grad(True)
        """,
        "`requires_grad` is a flag, not a method; the same holds for `is_leaf`. To switch tracking on write `x.requires_grad_(True)`, with an underscore at the end, or `x.requires_grad = True`.",
        "`requires_grad` — флаг, а не метод; то же относится к `is_leaf`. Чтобы включить отслеживание, напишите `x.requires_grad_(True)` с подчёркиванием в конце или `x.requires_grad = True`.",
        exercise="predict_leaf",
        fits=names_attribute("requires_grad", "requires_grad_", "is_leaf", "is_cuda", "retains_grad"),
    ),
    entry(
        "flag_that_is_no_bool",
        LESSON,
        r"requires_grad must be a bool|requires_grad_\(\): argument 'requires_grad' .*must be bool",
        """
        torch.rand(2).requires_grad = 1
        """,
        "The flag takes True or False: `x.requires_grad = True`.",
        "Флаг принимает True или False: `x.requires_grad = True`.",
        exercise="predict_leaf",
    ),
    entry(
        "argument_misspelt",
        LESSON,
        rf"unexpected keyword argument '({MISSPELT})'|invalid combination of arguments - got \([^)]*\b({MISSPELT})=",
        """
        torch.tensor([1.0], require_grad=True)
        """,
        "The name of the argument is misspelt: it is `requires_grad`.",
        "В имени аргумента опечатка: он называется `requires_grad`.",
        exercise="predict_leaf",
    ),
    entry(
        "layer_with_requires_grad",
        LESSON,
        r"__init__\(\) got an unexpected keyword argument 'requires_grad'",
        """
        nn.Linear(2, 2, requires_grad=False)
        """,
        "Layers have no argument `requires_grad`: their parameters require grad from the start. To freeze a layer write `nn.Linear(2, 2).requires_grad_(False)`.",
        "У слоёв нет аргумента `requires_grad`: их параметры требуют градиента с самого начала. Чтобы заморозить слой, напишите `nn.Linear(2, 2).requires_grad_(False)`.",
        exercise="predict_leaf",
    ),
    entry(
        "conversion_with_requires_grad",
        LESSON,
        r"(as_tensor|from_numpy|stack|cat|clone|to|one_hot)\(\) (got an unexpected keyword argument 'requires_grad'|takes no keyword arguments)",
        """
        torch.as_tensor([1.0], requires_grad=True)
        """,
        "This function has no argument `requires_grad`. Call `requires_grad_()` on its result: `torch.as_tensor(a).requires_grad_()`.",
        "У этой функции нет аргумента `requires_grad`. Вызовите `requires_grad_()` у её результата: `torch.as_tensor(a).requires_grad_()`.",
        exercise="predict_bridge",
    ),
    entry(
        "old_constructor",
        LESSON,
        r"new\(\) received an invalid combination of arguments.*requires_grad=bool",
        """
        torch.FloatTensor(3, 4, requires_grad=True)
        """,
        "`torch.Tensor`, `torch.FloatTensor` and their kin know no `requires_grad`. Use `torch.zeros(..., requires_grad=True)` or `torch.tensor([...], requires_grad=True)`.",
        "У `torch.Tensor`, `torch.FloatTensor` и подобных нет аргумента `requires_grad`. Возьмите `torch.zeros(..., requires_grad=True)` или `torch.tensor([...], requires_grad=True)`.",
        exercise="trainable_weight",
    ),
    entry(
        "wrong_size",
        LESSON,
        r"(rand|randn|zeros|ones|empty|full|normal)\(\) received an invalid combination of arguments.*requires_grad=bool",
        """
        torch.rand(2.0, requires_grad=True)
        """,
        "`requires_grad` is in order here; it is the other arguments that do not fit. A size is a whole number or a tuple of them, `torch.rand(2)`; and `torch.normal` of two numbers needs a size as well: `torch.normal(0.0, 1.0, (2,))`.",
        "С `requires_grad` здесь всё в порядке; не подходят другие аргументы. Размер — целое число или кортеж целых: `torch.rand(2)`; а функции `torch.normal` с двумя числами нужен ещё и размер: `torch.normal(0.0, 1.0, (2,))`.",
        exercise="predict_grad",
    ),
    entry(
        "read_only_attribute",
        LESSON,
        r"attribute '(is_leaf|grad_fn|_version)' of 'torch\._C\.TensorBase' objects is not writable",
        """
        x = torch.rand(2, requires_grad=True) * 1
        x.is_leaf = True
        """,
        "`is_leaf`, `grad_fn` and the version counter are read only: they follow from how the tensor was made. `x.detach().requires_grad_()` makes a new leaf with the same values, and `x.clone()` a copy that may be changed.",
        "`is_leaf`, `grad_fn` и счётчик версий доступны только для чтения: они следуют из того, как получен тензор. `x.detach().requires_grad_()` создаёт новый лист с теми же значениями, а `x.clone()` — копию, которую можно изменять.",
        exercise="predict_leaf",
    ),
    entry(
        "torch_has_no_grad",
        LESSON,
        r"module 'torch' has no attribute 'grad'",
        """
        x = torch.rand(2, requires_grad=True)
        torch.grad(x.sum(), x)
        """,
        "The function is `torch.autograd.grad(y, x)` for a gradient of tensors, and `torch.func.grad(f)` for the gradient of a function.",
        "Для градиента по тензорам есть `torch.autograd.grad(y, x)`, а для градиента функции — `torch.func.grad(f)`.",
        exercise="predict_grad",
    ),
    entry(
        "volatile",
        LESSON,
        r"volatile was removed and now has no effect",
        """
        torch.autograd.Variable(torch.rand(2), volatile=True)
        """,
        "`volatile` and `Variable` are from torch 0.3, and `volatile` does nothing now. Use a plain tensor, and `with torch.no_grad():` where nothing is to be recorded.",
        "`volatile` и `Variable` остались от torch 0.3, и `volatile` больше ничего не делает. Возьмите обычный тензор, а там, где записывать ничего не нужно, — `with torch.no_grad():`.",
        exercise="update",
    ),
)
