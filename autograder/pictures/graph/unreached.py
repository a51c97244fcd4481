"""Parts of a learner's models that no gradient of a graph reaches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import torch

from .model import Edge, Tensor, Unreached


def unreached_parts(
    namespace: Mapping[str, Any], reached: Collection[int], asked: Collection[torch.nn.Module]
) -> tuple[Unreached, ...]:
    """Return the parts of modules in `namespace` whose parameters require grad and are not reached.

    `reached` holds the ids of the leaves in a graph. A part is a module none of whose parameters is reached, or a
    parameter by itself. A module of which nothing is reached has taken no part, and does not count. If modules are
    `asked` for, they count in any case, and no others do.
    """
    found: dict[str, int] = {}
    seen: set[int] = set()
    modules = [(name, value) for name, value in namespace.items() if isinstance(value, torch.nn.Module)]
    if asked:
        modules = [_named(each, modules) for each in asked]
    for name, module in sorted(modules, key=lambda each: -len(_wanted(*each))):  # a model before its own parts
        wanted = {path: each for path, each in _wanted(name, module).items() if id(each) not in seen}
        seen |= {id(each) for each in wanted.values()}
        missing = [path for path, each in wanted.items() if id(each) not in reached]
        if asked or len(missing) < len(wanted):
            present = [path for path in wanted if path not in missing]
            for path in missing:
                part = _part(path, present)
                found[part] = found.get(part, 0) + 1
    return tuple(Unreached(part, count) for part, count in found.items())


def _named(module: torch.nn.Module, around: Sequence[tuple[str, torch.nn.Module]]) -> tuple[str, torch.nn.Module]:
    """Return the path of a module in one of the modules around it, and itself. Without one it has its class's name."""
    for name, outer in around:
        for path, inner in outer.named_modules(prefix=name):
            if inner is module:
                return path, module
    return type(module).__name__, module


def _wanted(name: str, module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the parameters of a module that require grad, by their names."""
    try:
        return {path: each for path, each in module.named_parameters(prefix=name) if each.requires_grad}
    except Exception:  # a learner's module may override anything, or never have called super().__init__()
        return {}


def _part(path: str, present: Iterable[str]) -> str:
    """Return the outermost module around a parameter that holds none of those which are present."""
    ends = [place for place, letter in enumerate(path) if letter == "."]
    for end in ends:
        if not any(other.startswith(path[: end + 1]) for other in present):
            return path[:end]
    return path


def loose_end(edges: Sequence[Edge], tensors: Sequence[Tensor]) -> int | None:
    """Return the id of the constant without a name from which a gradient might have gone on, were it not cut off.

    Python numbers, integers, single numbers and what a variable of the caller holds are left out. So is what was filled
    in place, such as the mask of a dropout. Returns None if there is no such constant, or more than one.
    """
    ends = dict.fromkeys(edge.tensor for edge in edges if edge.target is None and edge.tensor is not None)
    found = [id for id in ends if _might_go_on(tensors[id])]
    return found[0] if len(found) == 1 else None


def _might_go_on(tensor: Tensor) -> bool:
    is_float = tensor.dtype.startswith(("float", "bfloat", "complex"))
    return tensor.kind == "constant" and is_float and not tensor.names and not tensor.version and bool(tensor.shape)
