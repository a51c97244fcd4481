"""Mistakes that neither raise nor warn, found in a syntax tree."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import unwrap
from types import CodeType

from ..language import Note, Text
from .scene.causes import NEARLY_THE_FLAG
from .scene.syntax import calls, last_name, walk

CALLED = (
    "zero_grad",
    "backward",
    "step",
    "zero_",
    "detach_",
    "requires_grad_",
    "retain_grad",
    "train",
    "eval",
    "remove",
)
MODES = ("no_grad", "enable_grad", "inference_mode")
REGISTER = (
    *("register_hook", "register_prehook", "register_post_accumulate_grad_hook", "register_forward_hook"),
    *("register_forward_pre_hook", "register_full_backward_hook", "register_full_backward_pre_hook"),
)


@dataclass(frozen=True)
class SilentMistake:
    """A mistake that says nothing when it runs.

    `find` yields its places in the syntax tree of a cell. `program` is an example, `says` names the mistake and the
    cure; `{code}` in it is the line.
    """

    name: str
    program: str
    find: Callable[[ast.Module], Iterator[ast.AST]]
    says: Text


def silent_mistakes(answer: object) -> list[Note]:
    """Return a note for each kind of silent mistake in the cell that an answer was defined in."""
    try:
        tree = ast.parse(cell_of(answer))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found = ((each.name, next(each.find(tree), None)) for each in SILENT)
    return [Note(f"silent.{name}", {"code": _first_line(node)}) for name, node in found if node]


def cell_of(answer: object) -> str:
    """Return the source of the cell or file that an answer was defined in, or "" if it is unknown."""
    code = _code_of(answer)
    return "".join(linecache.getlines(code.co_filename)) if code else ""


def _code_of(answer: object) -> CodeType | None:
    """Return the code object of a function, or of a method of a class."""
    parts = [unwrap(answer)] if callable(answer) else []
    if isinstance(answer, type):
        parts = [getattr(each, "__func__", each) for each in vars(answer).values()]
    codes = (getattr(each, "__code__", None) for each in parts)
    return next((code for code in codes if isinstance(code, CodeType)), None)


def _first_line(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0]


def _misspelt_flags(tree: ast.Module) -> Iterator[ast.AST]:
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and any(_attribute(target) in NEARLY_THE_FLAG for target in each.targets):
            yield each


def _flags_of_modules(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield assignments `model.requires_grad = ...` to a name that is also called, or asked for its parameters."""
    modules = {call.func.id for call in walk([tree]) if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)}
    modules |= {
        last_name(getattr(call.func, "value", None)) for call in calls([tree], "parameters", "named_parameters")
    }
    for each in ast.walk(tree):
        targets = each.targets if isinstance(each, ast.Assign) else []
        for target in targets:
            if _attribute(target) == "requires_grad" and last_name(getattr(target, "value", None)) in modules - {""}:
                yield each


def _uncalled_methods(tree: ast.Module) -> Iterator[ast.AST]:
    for each in ast.walk(tree):
        if isinstance(each, ast.Expr) and _attribute(each.value) in CALLED:
            yield each


def _modes_that_are_not_entered(tree: ast.Module) -> Iterator[ast.AST]:
    for each in ast.walk(tree):
        call = each.value if isinstance(each, ast.Expr) else None
        if isinstance(call, ast.Call) and last_name(call.func) in MODES:
            yield each


def _dropped_results(tree: ast.Module) -> Iterator[ast.AST]:
    for each in ast.walk(tree):
        call = each.value if isinstance(each, ast.Expr) else None
        if isinstance(call, ast.Call) and _attribute(call.func) in ("detach", "clone") and not call.args:
            yield each


def _hooks_called_too_early(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield registrations of `f()` where the function `f` of this cell returns nothing."""
    silent = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and not _returns(each)}
    for call in calls([tree], *REGISTER):
        given = call.args[0] if call.args else None
        if isinstance(given, ast.Call) and last_name(given.func) in silent:
            yield call


def _parameters_taken_for_gradients(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield hooks of `register_post_accumulate_grad_hook` whose argument is called a gradient, and used as one."""
    made = {each.name: each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}
    for call in calls([tree], "register_post_accumulate_grad_hook"):
        given = call.args[0] if call.args else None
        hook = given if isinstance(given, ast.Lambda) else made.get(last_name(given))
        argument = hook.args.args[-1].arg if hook and hook.args.args else ""
        reads = (each for each in ast.walk(hook) if _attribute(each) == "grad") if hook else ()
        read = {last_name(getattr(each, "value", None)) for each in reads}
        if ("grad" in argument or argument == "g") and argument not in read:
            yield call


def _forward_without_return(tree: ast.Module) -> Iterator[ast.AST]:
    for kind in ast.walk(tree):
        if isinstance(kind, ast.ClassDef) and {last_name(base) for base in kind.bases} & {"Function", "Module"}:
            for each in kind.body:
                if (
                    isinstance(each, ast.FunctionDef)
                    and each.name == "forward"
                    and _computes(each)
                    and not _returns(each)
                ):
                    yield each


def _attribute(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else ""


def _computes(function: ast.FunctionDef) -> bool:
    """Return whether a function is more than a stub of `pass`, `...`, a docstring or `raise`."""
    return any(isinstance(each, (ast.BinOp, ast.Call)) for each in ast.walk(function)) and not any(
        isinstance(each, ast.Raise) for each in function.body
    )


def _returns(function: ast.FunctionDef) -> bool:
    return any(isinstance(each, (ast.Return, ast.Yield)) and each.value for each in ast.walk(function))


SILENT = (
    SilentMistake(
        "misspelt_flag",
        "def f(x):\n    x.require_grad = True\n    return x",
        _misspelt_flags,
        Text(
            "`{code}` makes a new attribute and switches nothing on: the flag is called `requires_grad`, and `requires_grad_()` is a method.",
            "`{code}` создаёт новый атрибут и ничего не включает: флаг называется `requires_grad`, а `requires_grad_()` — метод.",
        ),
    ),
    SilentMistake(
        "flag_of_a_module",
        "def f(model, x):\n    model.requires_grad = False\n    return model(x)",
        _flags_of_modules,
        Text(
            "`{code}` only sets an attribute of the module; its parameters do not change. Call `model.requires_grad_(False)`.",
            "`{code}` лишь задаёт атрибут модуля, а параметры не меняются. Вызовите `model.requires_grad_(False)`.",
        ),
    ),
    SilentMistake(
        "method_not_called",
        "def f(optimizer):\n    optimizer.zero_grad",
        _uncalled_methods,
        Text(
            "`{code}` names a method and does not call it: the parentheses are missing.",
            "`{code}` лишь называет метод, но не вызывает его: нет скобок.",
        ),
    ),
    SilentMistake(
        "mode_not_entered",
        "def f(model, x):\n    torch.no_grad()\n    return model(x)",
        _modes_that_are_not_entered,
        Text(
            "`{code}` on a line of its own has no effect on what follows: write `with torch.no_grad():` and indent the computation.",
            "`{code}` отдельной строкой не действует на то, что ниже: напишите `with torch.no_grad():` и сдвиньте вычисление вправо.",
        ),
    ),
    SilentMistake(
        "result_dropped",
        "def f(x):\n    x.detach()\n    return x",
        _dropped_results,
        Text(
            "`{code}` returns a new tensor, and nobody keeps it: the old one is as it was. Assign the result.",
            "`{code}` возвращает новый тензор, но он никому не присвоен, а старый остался прежним. Присвойте результат.",
        ),
    ),
    SilentMistake(
        "hook_called",
        "def f(x):\n    def hook(grad=None):\n        print(grad)\n    x.register_hook(hook())",
        _hooks_called_too_early,
        Text(
            "`{code}` calls the hook at once and registers its result, None. Give the function itself, without parentheses.",
            "`{code}` сразу вызывает хук и регистрирует его результат, None. Передайте саму функцию, без скобок.",
        ),
    ),
    SilentMistake(
        "parameter_for_a_gradient",
        "def f(w, total):\n    w.register_post_accumulate_grad_hook(lambda grad: total.add_(grad))",
        _parameters_taken_for_gradients,
        Text(
            "The hook in `{code}` is given the parameter, not its gradient. Call the argument `p`: the gradient is `p.grad`.",
            "Хук в строке `{code}` получает параметр, а не его градиент. Назовите аргумент `p`: тогда градиент — это `p.grad`.",
        ),
    ),
    SilentMistake(
        "forward_without_return",
        "class Double(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        x * 2",
        _forward_without_return,
        Text(
            "`{code}` returns nothing: `return` is missing.",
            "`{code}` ничего не возвращает: нет `return`.",
        ),
    ),
)
