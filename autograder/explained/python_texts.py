"""Evidence in a scene for texts that are Python's own."""

from __future__ import annotations

import ast
import enum
import re
import sys
from collections.abc import Iterator
from typing import Any

from .entry import Judge
from .scene.frames import Scene
from .scene.syntax import attributes, calls, is_constant, keyword, last_name, mentions, walk

ENGINE, APPLY = "graph.py:_engine_run_backward", "function.py:apply"


def names_attribute(*names: str) -> Judge:
    """Return a judge: does the failed expression name one of these attributes?"""
    return lambda scene: scene.failing is not None and mentions([scene.failing], *names)


def in_call_of(*names: str) -> Judge:
    """Return a judge: is the failed expression a call of one of these, or does it come from one?"""
    return lambda scene: any(True for _ in calls(scene.behind(scene.failing), *names))


def is_of_autograd_grad(scene: Scene) -> bool:
    """Return whether the failed expression uses the tuple that `torch.autograd.grad` returned."""
    here = (scene.failing, *_around(scene))
    nodes: list[ast.AST] = [each for each in here if isinstance(each, (ast.expr, ast.Assign))]
    tuples = [each for each in walk(nodes) if isinstance(each, ast.Name) and isinstance(scene.value(each), tuple)]
    nodes += [made for each in tuples for made in scene.origins(each.id)]
    owners = (getattr(call.func, "value", None) for call in calls(nodes, "grad"))
    return any(owner is None or last_name(owner) == "autograd" for owner in owners)


def is_call_of(*names: str) -> Judge:
    """Return a judge: is the failed expression itself a call of one of these?"""
    return lambda scene: isinstance(scene.failing, ast.Call) and last_name(scene.failing.func) in names


def names_a(kind: str) -> Judge:
    """Return a judge: does the text, as in "'Linear' object ...", name a "Function", a "Module" or an "Optimizer"?"""

    def judge(scene: Scene) -> bool:
        torch: Any = sys.modules.get("torch")
        kinds: dict[str, type[Any]] = {
            "Function": torch.autograd.Function,
            "Module": torch.nn.Module,
            "Optimizer": torch.optim.Optimizer,
        }
        named = re.search(r"'(?:\w+\.)*(\w+)' object", scene.text)
        name = named[1] if named else ""
        return any(each.__name__ == name for each in _subclasses(kinds[kind]))

    return judge


def is_of_a_function(scene: Scene) -> bool:
    """Return whether the failed expression uses a custom Function, as far as its source is known."""
    return mentions(scene.behind(scene.failing), "Function")


def makes_a_function(scene: Scene) -> bool:
    """Return whether the failed expression comes from a transform of `torch.func`, which makes a function."""
    found = calls(scene.behind(scene.failing), "grad", "jacrev", "jacfwd", "hessian", "vmap", "grad_and_value")
    return any(last_name(getattr(call.func, "value", None)) not in ("autograd", "functional") for call in found)


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


class NoneCause(enum.Enum):
    """A cause of None where a tensor was expected."""

    ARGUMENT = "an argument of a custom Function's backward"
    NO_RETURN = "a function without return"
    UNUSED = "allow_unused=True"
    REPLACED = "a weight replaced by a new tensor"
    NON_LEAF = "grad of a non-leaf"
    NO_BACKWARD = "grad of a leaf"


def none_because_of(cause: NoneCause) -> Judge:
    """Return a judge: is this the cause of None?"""
    return lambda scene: _cause_of_none(scene) is cause


def may_be_a_gradient(scene: Scene) -> bool:
    """Return whether None may stand for a gradient.

    It may if the scene is unknown, or if the cell reads `.grad` and does not show where None comes from.
    """
    if not scene.known:
        return True
    reads = any(last_name(each.value) != "autograd" for each in attributes(scene.sources[:1], "grad"))
    none = [each for each in walk([scene.failing] if scene.failing else []) if _is_none(scene, each)]
    return reads and not any(len(scene.behind(each)) > 1 for each in none)


def _cause_of_none(scene: Scene) -> NoneCause | None:
    if ENGINE in scene.above and scene.above[-1] == APPLY:
        return NoneCause.ARGUMENT
    if scene.failing is None:
        return None
    none = [each for each in ast.walk(scene.failing) if _is_none(scene, each)]
    nodes = [scene.failing, *(node for each in none for node in scene.behind(each)[1:])]
    read = [each for each in attributes(nodes, "grad") if last_name(each.value) not in ("autograd", "func")]
    if any(is_constant(keyword(call, "allow_unused"), True) for call in calls(nodes, "grad")):
        return NoneCause.UNUSED
    if not read:
        return (
            NoneCause.NO_RETURN if any(_returns_none(scene, node) for node in _calls_for_none(scene, nodes)) else None
        )
    if any(_replaced(scene, each) for each in read):
        return NoneCause.REPLACED
    owners = [scene.value(each.value) for each in read]
    torch: Any = sys.modules["torch"]
    if any(torch.is_tensor(owner) and not owner.is_leaf for owner in owners):
        return NoneCause.NON_LEAF
    return NoneCause.NO_BACKWARD


def _is_none(scene: Scene, node: ast.AST) -> bool:
    """Return whether a node is a name for None, or for a list or tuple with None."""
    value = scene.value(node) if isinstance(node, ast.Name) else ()
    return value is None or (isinstance(value, (list, tuple)) and any(each is None for each in value))


def _calls_for_none(scene: Scene, nodes: list[ast.AST]) -> list[ast.Call]:
    """Return calls whose result may be the None: the owner or an operand of the failed expression, or assigned."""
    (failing, *others) = nodes
    direct = [*ast.iter_child_nodes(failing)] + [getattr(node, "value", None) for node in others]
    if isinstance(failing, ast.Call):
        direct += [*ast.iter_child_nodes(failing.func)]
    return [each for each in direct if isinstance(each, ast.Call)]


def _returns_none(scene: Scene, call: ast.Call) -> bool:
    """Return whether a call of the learner's function, or of a Function's `apply`, returns nothing."""
    name, owner = last_name(call.func), getattr(call.func, "value", None)
    if name == "apply" and isinstance(owner, ast.Call):
        return True
    made = [each for each in walk(scene.behind(owner if name == "apply" else call.func)) if _is_function(each)]
    if name == "apply":
        made = [each for each in made if getattr(each, "name", "") == "forward"]
    return bool(made) and not any(isinstance(each, ast.Return) and each.value for each in walk(made))


def _is_function(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef)


def _replaced(scene: Scene, read: ast.Attribute) -> bool:
    """Return whether `w` in `w.grad` was assigned a new tensor that was computed from it, as in `w = w - w.grad`."""
    name = last_name(read.value) if isinstance(read.value, ast.Name) else ""
    for each in walk(scene.sources[:1]):
        assigns = isinstance(each, ast.Assign) and any(last_name(target) == name for target in each.targets)
        if assigns and any(last_name(owner.value) == name for owner in attributes([each], "grad")):
            return True
    return False


def _around(scene: Scene) -> list[ast.AST]:
    return list(scene.around(scene.failing)) if scene.failing else []


def under(file: str) -> Judge:
    """Return a judge: was the failed expression run by this file of torch, such as "vmap.py"?"""
    return lambda scene: any(place.startswith(f"{file}:") for place in scene.above)


def chance_in_check(scene: Scene) -> bool:
    nodes = scene.behind(scene.failing)
    return mentions(nodes, "dropout", "Dropout", "bernoulli", "rand_like", "randn_like", "multinomial")


def in_numpy(scene: Scene) -> bool:
    return any(place.startswith("fromnumeric.py:") for place in scene.below)


def called_by(*places: str) -> Judge:
    """Return a judge: was the error raised at a call that one of these places of torch makes?"""
    return lambda scene: bool(scene.below) and scene.below[-1] in places


def runs(place: str) -> Judge:
    """Return a judge: did this place of torch run below the failed expression?"""
    return lambda scene: place in scene.below


def in_the_second_run(scene: Scene) -> bool:
    """Return whether a checkpoint was running its function again."""
    return not {"checkpoint.py:recompute_fn", "checkpoint.py:backward"}.isdisjoint(scene.above)


def in_backward(scene: Scene) -> bool:
    """Return whether a backward pass was running."""
    return ENGINE in (*scene.above, *scene.below)


def of_a_forward_hook(scene: Scene) -> bool:
    """Return whether the text names a function that is registered as a forward hook of a module."""
    torch: Any = sys.modules["torch"]
    modules = [each for each in scene.objects.values() if isinstance(each, torch.nn.Module)]
    inner = [each for module in modules for each in module.modules()]
    hooks = [hook for each in inner for kind in ("", "_pre") for hook in vars(each)[f"_forward{kind}_hooks"].values()]
    return any(scene.text.startswith(f"{getattr(hook, '__qualname__', '')}()") for hook in hooks)
