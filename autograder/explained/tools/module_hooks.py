"""Explanations about hooks of modules."""

from __future__ import annotations

from ..entry import entry
from ..python_texts import called_by, of_a_forward_hook
from .hooks import ARGUMENTS

LESSON = "08_gradient_hooks"
LAYER = """
        layer = nn.Linear(2, 2)
        """

ENTRIES = (
    entry(
        "arguments_of_a_backward_hook",
        LESSON,
        ARGUMENTS,
        f"""{LAYER}layer.register_full_backward_hook(lambda module, grad: None)
        layer(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "A module's backward hook takes three arguments: `hook(module, grad_input, grad_output)`, where both gradients are tuples; a backward pre-hook takes two, `hook(module, grad_output)`.",
        "Обратный хук модуля принимает три аргумента: `hook(module, grad_input, grad_output)`, где оба градиента — кортежи; предварительный обратный хук — два: `hook(module, grad_output)`.",
        exercise="output_gradients",
        shows=called_by("hooks.py:hook", "hooks.py:_hook", "hooks.py:fn"),
    ),
    entry(
        "arguments_of_a_forward_hook",
        LESSON,
        ARGUMENTS,
        f"""{LAYER}layer.register_forward_hook(lambda module, output: None)
        layer(torch.rand(2))
        """,
        "A forward hook takes three arguments: `hook(module, inputs, output)`, where `inputs` is a tuple; a forward pre-hook takes two, `hook(module, inputs)`.",
        "Хук прямого прохода принимает три аргумента: `hook(module, inputs, output)`, где `inputs` — кортеж; хук перед прямым проходом — два: `hook(module, inputs)`.",
        exercise="output_gradients",
        shows=lambda scene: called_by("module.py:inner", "module.py:_call_impl")(scene) and of_a_forward_hook(scene),
    ),
    entry(
        "module_hook_returns_too_many",
        LESSON,
        r"Backward (pre )?hook returned an invalid number of grad_(input|output)",
        f"""{LAYER}layer.register_full_backward_hook(lambda module, into, out: (into[0], into[0]))
        layer(torch.rand(2, requires_grad=True)).sum().backward()
        """,
        "A module's backward hook returns None, or a tuple with one gradient for each input of `forward` (a pre-hook: for each output). Parameters do not count.",
        "Обратный хук модуля возвращает None или кортеж, в котором по градиенту на каждый вход `forward` (предварительный хук — на каждый выход). Параметры не в счёт.",
        exercise="output_gradients",
    ),
    entry(
        "module_hook_without_grad_input",
        LESSON,
        r"Full backward hook is firing when gradients are computed with respect to module outputs|Backward hook for Modules where no input requires gradient should always return None",
        f"""{LAYER}layer.register_full_backward_hook(lambda module, into, out: None)
        layer(torch.rand(2)).sum().backward()
        """,
        "No input of this module requires grad, as in a first layer, so there is no gradient of the input: `grad_input` holds None, and the hook may return nothing in its place. Use `grad_output` only, or call `x.requires_grad_()` on the input.",
        "Ни один вход этого модуля не требует градиента (так бывает у первого слоя), поэтому градиента по входу нет: в `grad_input` стоит None, и заменить его хук не может. Используйте только `grad_output` или вызовите у входа `x.requires_grad_()`.",
        exercise="output_gradients",
    ),
    entry(
        "module_hook_of_a_dict",
        LESSON,
        r"For backward hooks to be called, module output should be a Tensor or a tuple",
        """
        class Net(nn.Module):
            def forward(self, x):
                return {"y": x * 2}

        net = Net()
        net.register_full_backward_hook(lambda module, into, out: None)
        net(torch.rand(2, requires_grad=True))
        """,
        "The module returns something other than a tensor or a tuple of tensors, so its backward hook never runs. Return a tensor or a tuple, or hook the tensors themselves.",
        "Модуль возвращает не тензор и не кортеж тензоров, поэтому его обратный хук никогда не сработает. Верните тензор или кортеж или ставьте хуки на сами тензоры.",
        exercise="silent_hook",
    ),
    entry(
        "old_backward_hook",
        LESSON,
        r"Using (a )?non-full backward hooks? when",
        """
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        net.register_backward_hook(lambda module, into, out: None)
        net(torch.rand(2, requires_grad=True))
        """,
        "The old `register_backward_hook` sees only the last operation of the module, not its inputs. Use `register_full_backward_hook`.",
        "Старый `register_backward_hook` видит только последнюю операцию модуля, а не его входы. Возьмите `register_full_backward_hook`.",
        exercise="output_gradients",
    ),
    entry(
        "module_hook_before_a_change_in_place",
        LESSON,
        r"Output \d+ of BackwardHookFunction\w* is a view and is being modified inplace",
        """
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
        net[0].register_full_backward_hook(lambda *_: None)
        net(torch.rand(1, 2))
        """,
        "A full backward hook of a module and an in-place change of what the module takes or returns exclude each other. Write `inplace=False`, or register a tensor hook on the output in a forward hook.",
        "Полный обратный хук модуля несовместим с изменением его входа или выхода на месте. Напишите `inplace=False` или поставьте хук на выходной тензор внутри хука прямого прохода.",
        exercise="output_gradients",
    ),
    entry(
        "two_kinds_of_backward_hooks",
        LESSON,
        r"Cannot use both regular backward hooks and full backward hooks",
        f"""{LAYER}layer.register_full_backward_hook(lambda *_: None)
        layer.register_backward_hook(lambda *_: None)
        """,
        "This module already has a hook of the other kind. Use `register_full_backward_hook` for all.",
        "У этого модуля уже есть хук другого вида. Для всех используйте `register_full_backward_hook`.",
        exercise="output_gradients",
    ),
    entry(
        "pre_hook_with_kwargs",
        LESSON,
        r"forward pre-hook must return None or a tuple of \(new_args, new_kwargs\)",
        f"""{LAYER}layer.register_forward_pre_hook(lambda module, args, kwargs: args, with_kwargs=True)
        layer(torch.rand(2))
        """,
        "A pre-hook registered with `with_kwargs=True` returns a pair, `return args, kwargs`, or None.",
        "Предварительный хук с `with_kwargs=True` возвращает пару, `return args, kwargs`, или None.",
        exercise="output_gradients",
    ),
)
