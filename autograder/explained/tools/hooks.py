"""Explanations about hooks of tensors, nodes and modules."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import ENGINE, called_by

LESSON = "08_gradient_hooks"
ARGUMENTS = r"takes \d+ positional arguments? but \d+ (were|was) given|missing \d+ required positional arguments?: "

ENTRIES = (
    entry(
        "hook_on_a_constant",
        LESSON,
        r"cannot register a hook on a tensor that doesn't require gradient|can't retain_grad on Tensor that has requires_grad=False",
        """
        torch.rand(2).register_hook(print)
        """,
        "No gradient will ever come to this tensor: it does not require grad.",
        "К этому тензору градиент никогда не придёт: у него `requires_grad=False`.",
        exercise="silent_hook",
    ),
    entry(
        "hook_changes_shape_or_dtype",
        LESSON,
        r"hook '.*' has changed the (size|type) of value|expected Variable, but hook returned",
        """
        x = torch.rand(2, requires_grad=True)
        x.register_hook(lambda grad: grad.sum())
        x.sum().backward()
        """,
        "A hook returns None, or a new gradient of the same shape and dtype.",
        "Хук возвращает None или новый градиент той же формы и с тем же dtype.",
        exercise="damp",
    ),
    entry(
        "node_hook_returns_no_tuple",
        LESSON,
        r"expected tuple, but hook returned|has returned an incorrect number of values|can't replace a None gradient with a non-None value",
        """
        y = torch.rand(2, requires_grad=True).exp()
        y.grad_fn.register_hook(lambda inputs, outputs: inputs[0] * 2)
        y.sum().backward()
        """,
        "A hook of a node returns None, or a tuple with one gradient for each input of the node: `return (grad,)`, and None where None was.",
        "Хук узла возвращает None или кортеж, в котором по градиенту на каждый вход узла: `return (grad,)`, а где был None, там None.",
        exercise="predict_hook_order",
    ),
    entry(
        "arguments_of_a_hook",
        LESSON,
        ARGUMENTS,
        """
        x = torch.rand(2, requires_grad=True)
        x.register_hook(lambda: print("hook"))
        x.sum().backward()
        """,
        "A hook was called with another number of arguments than it takes. A tensor's hook takes one, the gradient: `hook(grad)`. A node's takes two, tuples of gradients: `hook(grad_inputs, grad_outputs)`.",
        "Хук вызван не с тем числом аргументов, которое он принимает. Хук тензора принимает один, градиент: `hook(grad)`. Хук узла — два кортежа градиентов: `hook(grad_inputs, grad_outputs)`.",
        exercise="predict_hook_order",
        shows=called_by(ENGINE),
    ),
    entry(
        "hook_called_too_early",
        LESSON,
        r"'NoneType' object is not callable",
        """
        def hook(grad=None):
            return None

        x = torch.rand(2, requires_grad=True)
        x.register_hook(hook())
        x.sum().backward()
        """,
        "The hook was called where it was to be registered, and its result, None, was registered. Give the function itself, without parentheses: `x.register_hook(hook)`.",
        "Хук вызван там, где его нужно было зарегистрировать, и зарегистрирован его результат, None. Передайте саму функцию, без скобок: `x.register_hook(hook)`.",
        exercise="silent_hook",
        shows=called_by(ENGINE),
    ),
    entry(
        "post_accumulate_hook_on_a_non_leaf",
        LESSON,
        r"post accumulate grad hooks cannot be registered on non-leaf tensors",
        """
        (torch.rand(2, requires_grad=True) * 2).register_post_accumulate_grad_hook(print)
        """,
        "Gradients are accumulated in leaves only. On a non-leaf use `register_hook`.",
        "Градиенты накапливаются только в листовых тензорах. Для нелистового возьмите `register_hook`.",
        exercise="step_in_backward",
    ),
    entry(
        "post_accumulate_hook_returns",
        LESSON,
        r"Tensor post accumulate grad hooks should return None",
        """
        x = torch.rand(2, requires_grad=True)
        x.register_post_accumulate_grad_hook(lambda p: p.grad * 2)
        x.sum().backward()
        """,
        "This hook runs after the gradient was stored and returns nothing. Change `p.grad` inside of it, and return None.",
        "Этот хук работает после записи градиента и ничего не возвращает. Измените в нём сам `p.grad` и верните None.",
        exercise="step_in_backward",
    ),
    entry(
        "hook_not_saved",
        LESSON,
        r"backward hook .* on tensor will not be serialized",
        """
        import pickle
        x = torch.rand(2, requires_grad=True)
        x.register_hook(print)
        pickle.dumps(x)
        """,
        "A tensor with a hook is saved or copied, and the hook stays behind. Register it again on the copy.",
        "Тензор с хуком сохраняют или копируют, а хук при этом теряется. Зарегистрируйте его на копии заново.",
        exercise="damp",
    ),
    entry(
        "callback_outside_of_backward",
        LESSON,
        r"Final callbacks can only be installed during backward pass",
        """
        torch.autograd.Variable._execution_engine.queue_callback(lambda: None)
        """,
        "A callback for the end of a backward pass can be queued only while one runs: queue it from a hook.",
        "Поставить в очередь действие на конец обратного прохода можно только во время этого прохода: сделайте это из хука.",
        exercise="accumulate_in_backward",
    ),
    entry(
        "hook_removed_from_a_tensor",
        LESSON,
        r"'(Tensor|Parameter)' object has no attribute '(remove_hook|unregister_hook|remove_hooks)'",
        """
        torch.rand(2, requires_grad=True).remove_hook(print)
        """,
        "A hook is removed through its handle: `handle = x.register_hook(f)`, later `handle.remove()`.",
        "Хук снимают через его дескриптор: `handle = x.register_hook(f)`, потом `handle.remove()`.",
        exercise="predict_hook_order",
    ),
)
