"""Causes of a tensor without a graph that show in the scene."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from .frames import Scene, UnknownValue, names_bound
from .syntax import attributes, calls, is_constant, keyword, last_name, mentions, walk

# Operations whose results have no derivative, so that the graph ends there without a word.
WITHOUT_DERIVATIVE = (
    *("argmax", "argmin", "argsort", "long", "int", "bool", "histc", "bincount", "bucketize", "searchsorted"),
    *("eq", "ne", "gt", "ge", "lt", "le", "isclose", "nonzero", "multinomial", "one_hot", "count_nonzero"),
)
CUTS = ("detach", "item", "numpy", "tolist", "float", "tensor", "from_numpy")
NEARLY_THE_FLAG = frozenset(
    ("require_grad", "required_grad", "requires_gradient", "requires_grads", "require_grads", "requires_grad_")
)


def differentiated(scene: Scene) -> ast.AST | None:
    """Return the expression that `backward()` or `torch.autograd.grad` was to differentiate."""
    node = scene.failing
    if not isinstance(node, ast.Call) or last_name(node.func) not in ("backward", "grad"):
        return None
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if last_name(node.func) == "backward" and last_name(owner) != "autograd":
        return owner
    return node.args[0] if node.args else None


def behind(scene: Scene) -> list[ast.AST]:
    """Return the syntax trees of what the differentiated tensor was computed from."""
    return scene.behind(differentiated(scene))


def misspelt_flag(scene: Scene) -> bool:
    """Return whether a tensor or module has an attribute whose name is nearly `requires_grad`."""
    found = (each for each in _objects(scene, behind(scene)) if _is_torch(each))
    return any(NEARLY_THE_FLAG & vars(each).keys() for each in found)


def gradient_without_graph(scene: Scene) -> bool:
    """Return whether the tensor is a gradient that was computed without `create_graph=True`."""
    nodes = behind(scene)
    taken = list(_grad_calls(nodes))
    if not taken and any(last_name(each.value) not in ("autograd", "func") for each in attributes(nodes, "grad")):
        taken = [call for call in calls(scene.sources[:1], "backward") if call is not scene.failing]
    return bool(taken) and not any(keyword(call, "create_graph") for call in taken)


def constant_gradient(scene: Scene) -> bool:
    """Return whether the tensor is a gradient that was computed with `create_graph=True`, and is a constant."""
    return _has_create_graph(scene) and not _saves_detached(scene)


def gradient_of_detached_saves(scene: Scene) -> bool:
    """Return whether `create_graph=True` was given, and a Function computed with what it had saved without a graph."""
    return _has_create_graph(scene) and _saves_detached(scene)


def no_derivative(scene: Scene) -> bool:
    nodes = behind(scene)
    compared = (each for each in walk(nodes) if isinstance(each, ast.Compare))
    return any(_is_tracked(scene, each) for each in (*calls(nodes, *WITHOUT_DERIVATIVE), *compared))


def cut(scene: Scene) -> bool:
    nodes = [node for node in behind(scene) if not _is_function(node)]  # nothing is recorded inside of a Function
    ends = [call for call in calls(nodes, *CUTS) if not (_changes_dtype(call) or _makes_a_leaf(call))]
    return any(_is_tracked(scene, each) for each in (*ends, *attributes(nodes, "data")))


def under_no_grad(scene: Scene) -> bool:
    return _switched_off(scene, "no_grad", "set_grad_enabled")


def under_inference_mode(scene: Scene) -> bool:
    return _switched_off(scene, "inference_mode")


def sampled(scene: Scene) -> bool:
    return any(_is_tracked(scene, call) for call in calls(behind(scene), "sample"))


def old_checkpoint(scene: Scene) -> bool:
    found = calls(behind(scene), "checkpoint", "checkpoint_sequential")
    return any(is_constant(keyword(call, "use_reentrant"), True) for call in found)


def under_vmap(scene: Scene) -> bool:
    return any(place.startswith("vmap.py:") for place in scene.above)


def frozen(scene: Scene) -> bool:
    """Return whether a module is behind the tensor, and no parameter of it requires grad."""
    if misspelt_flag(scene):
        return False
    modules = (each for each in _objects(scene, behind(scene)) if isinstance(each, _torch().nn.Module))
    held = [parameter for module in modules for parameter in module.parameters()]
    return bool(held) and not any(parameter.requires_grad for parameter in held)


def list_given_to_a_function(scene: Scene) -> bool:
    """Return whether tracked tensors were given to a custom Function inside of a list, a tuple or a dict."""
    for call in calls(behind(scene), "apply"):
        if any(_is_function(node) for node in scene.behind(getattr(call.func, "value", None))):
            held = [each for each in call.args if _holds_tensors(scene, each)]
            if any(_is_tracked(scene, each) for each in held):
                return True
    return False


def derived_from_a_leaf(scene: Scene) -> bool:
    """Return whether an input of `torch.autograd.grad` was made from a tensor by an index, an attribute or a method."""
    call = scene.failing
    if not isinstance(call, ast.Call) or last_name(call.func) != "grad":
        return False
    given = call.args[1] if len(call.args) > 1 else keyword(call, "inputs")
    nodes: list[ast.AST | None] = [given]
    if isinstance(given, (ast.List, ast.Tuple)):
        nodes = [*given.elts]
    elif isinstance(given, (ast.ListComp, ast.GeneratorExp)):
        nodes = [given.elt]
    made = [each for node in nodes if isinstance(node, ast.Name) for each in scene.origins(node.id)]
    return any(_is_derived(scene, node) for node in [*nodes, *(getattr(each, "value", None) for each in made)])


def kept_from_the_last_step(scene: Scene) -> bool:
    """Return whether a value behind the tensor is computed, in a loop, from its own value of the step before."""
    names = {each.id for each in walk(behind(scene)) if isinstance(each, ast.Name)}
    tracked = {name for name in names if _has_node(scene.objects.get(name))}
    around = scene.around(scene.failing) if scene.failing else ()
    for loop in (each for each in around if isinstance(each, (ast.For, ast.While))):
        for name in tracked:
            made = [node for node in ast.walk(loop) if name in names_bound(node)]
            if made and all(_carries_on(node, name) for node in made):
                return True
    return False


def local_weight(scene: Scene) -> bool:
    """Return whether the failed expression is a name, and elsewhere it is that of a tracked tensor."""
    return isinstance(scene.failing, ast.Name) and _is_tracked(scene, scene.failing)


def _torch() -> Any:
    return sys.modules["torch"]  # it has raised the error


def _is_torch(value: object) -> bool:
    return isinstance(value, (_torch().Tensor, _torch().nn.Module))


def _objects(scene: Scene, nodes: Iterable[ast.AST]) -> Iterator[Any]:
    named = (scene.value(each) for each in walk(nodes) if isinstance(each, (ast.Name, ast.Attribute)))
    return iter({id(each): each for each in named if each is not UnknownValue}.values())


def _grad_calls(nodes: list[ast.AST]) -> Iterator[ast.Call]:
    """Yield calls of `torch.autograd.grad`."""
    for call in calls(nodes, "grad"):
        if isinstance(call.func, ast.Name) or last_name(getattr(call.func, "value", None)) == "autograd":
            yield call


def _has_create_graph(scene: Scene) -> bool:
    return any(is_constant(keyword(call, "create_graph"), True) for call in _grad_calls(behind(scene)))


def _is_function(node: ast.AST) -> bool:
    """Return whether a node is the class of a custom Function, or the source of one from elsewhere."""
    kinds = [each for each in getattr(node, "body", []) if isinstance(node, ast.Module)] or [node]
    return any(isinstance(each, ast.ClassDef) and "Function" in map(last_name, each.bases) for each in kinds)


def _saves_detached(scene: Scene) -> bool:
    """Return whether a Function behind the tensor has put a value without a graph on its context."""
    nodes = [node for node in behind(scene) if _is_function(node)]
    saved = [node for node in walk(nodes) if isinstance(node, ast.Assign) and _is_of_ctx(node.targets[0])]
    return mentions((node.value for node in saved), *CUTS, "data", "clone")


def _is_of_ctx(target: ast.expr) -> bool:
    return isinstance(target, ast.Attribute) and last_name(target.value) in ("ctx", "self", "context")


def _holds_tensors(scene: Scene, node: ast.expr) -> bool:
    held = scene.value(node)
    return isinstance(node, (ast.List, ast.Tuple, ast.Dict, ast.ListComp)) or isinstance(held, (list, tuple, dict))


def _is_derived(scene: Scene, node: ast.AST | None) -> bool:
    part = node.func if isinstance(node, ast.Call) else node
    owner = scene.value(part.value) if isinstance(part, (ast.Subscript, ast.Attribute)) else None
    return bool(_torch().is_tensor(owner))


def _has_node(value: object) -> bool:
    values = value if isinstance(value, tuple) else (value,)
    return any(_torch().is_tensor(each) and each.grad_fn is not None for each in values)


def _carries_on(node: ast.AST, name: str) -> bool:
    """Return whether a statement computes a name from its own value, in the graph."""
    own = [each for each in ast.walk(node) if isinstance(each, ast.Name) and each.id == name]
    return isinstance(node, ast.AugAssign) or (len(own) > 1 and not mentions([node], *CUTS))


def _is_tracked(scene: Scene, node: ast.AST) -> bool:
    """Return whether something that requires grad is behind an expression."""
    nodes = scene.behind(node)
    if any(_makes_a_leaf(call) for call in walk(nodes) if isinstance(call, ast.Call)):
        return True
    if any(True for _ in calls(nodes, "requires_grad_", "Parameter")):
        return True
    for each in _objects(scene, nodes):
        held = each.parameters() if isinstance(each, _torch().nn.Module) else [each]
        if any(_torch().is_tensor(one) and one.requires_grad for one in held):
            return True
    return False


def _makes_a_leaf(call: ast.Call) -> bool:
    return is_constant(keyword(call, "requires_grad"), True)


def _changes_dtype(call: ast.Call) -> bool:
    return last_name(call.func) == "float" and isinstance(call.func, ast.Attribute)


def _switched_off(scene: Scene, *switches: str) -> bool:
    """Return whether something tracked was computed inside one of these contexts, or in a function with one."""
    nodes = [node for node in behind(scene) if not isinstance(node, ast.Name)]
    scopes = [scope for node in nodes for scope in scene.around(node)]
    scopes += [each for each in walk(nodes) if _returns(each)]
    for scope in scopes:
        entered = [item.context_expr for item in scope.items] if isinstance(scope, ast.With) else []
        if isinstance(scope, ast.FunctionDef):
            entered = scope.decorator_list
        if mentions(entered, *switches):
            return any(_is_tracked(scene, node) for node in nodes)
    return False


def _returns(node: ast.AST) -> bool:
    return isinstance(node, (ast.With, ast.FunctionDef)) and any(isinstance(e, ast.Return) for e in ast.walk(node))
