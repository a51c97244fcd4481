"""What the caller calls his tensors: variables, entries of lists and dicts, parameters of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import torch

_ENTRIES = 1000  # of one container; a name from further inside would help nobody


def named_tensors(namespace: Mapping[str, Any]) -> list[tuple[str, torch.Tensor]]:
    """Name and tensor for the tensors in `namespace`, plain variables first. Skips what begins with `_`, and IPython's.

    Looks one level into lists, tuples, dicts and SimpleNamespaces, and for the parameters and buffers of modules.
    """
    mine = [(name, value) for name, value in namespace.items() if _is_learners(name)]
    plain = [(name, value) for name, value in mine if isinstance(value, torch.Tensor)]
    return plain + [pair for name, value in mine for pair in _inside(name, value)]


def _is_learners(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_") and name not in ("In", "Out")


def _inside(name: str, value: object) -> Iterator[tuple[str, torch.Tensor]]:
    entries: list[tuple[str, Any]] = []
    if isinstance(value, torch.nn.Module):
        entries = [(f".{path}", tensor) for path, tensor in _of_module(value)]
    elif type(value) in (list, tuple):
        entries = [(f"[{index}]", item) for index, item in enumerate(value[:_ENTRIES])]  # type: ignore[index]
    elif type(value) is dict:
        entries = [(f"[{key!r}]", value[key]) for key in [*value][:_ENTRIES] if type(key) in (str, int)]
    elif type(value) is SimpleNamespace:
        entries = [(f".{key}", item) for key, item in vars(value).items()]
    for suffix, item in entries:
        if isinstance(item, torch.Tensor):
            yield name + suffix, item


def _of_module(module: torch.nn.Module) -> list[tuple[str, torch.Tensor]]:
    try:
        return [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    except Exception:  # a learner's module may overload anything, or never have called super().__init__()
        return []
