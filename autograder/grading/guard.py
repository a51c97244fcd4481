"""What a submission must not have changed: torch's functions, the builtins, IPython and the course's own code.

Every child is a fork of one template, so in an untouched child each of these objects has the address that it has in
any other. A salted hash of the addresses is compared with an untouched sibling's; the salt comes after the answer.
"""

from __future__ import annotations

import hashlib
import re
import sys
import threading
from array import array
from collections.abc import Mapping
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import Any

import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

_GUARDED = re.compile(
    r"builtins|torch|torch\.autograd(\.(anomaly_mode|forward_ad|function|functional|grad_mode|gradcheck|graph|variable))?|torch\.func|torch\._functorch\.(apis|eager_transforms|vmap)|torch\._tensor"
    r"|torch\.nn\.(functional|parameter|modules\.(module|linear|activation|loss|container))|torch\.linalg|torch\.random"
    r"|torch\.optim\.(optimizer|sgd|adam)|torch\.utils\.(checkpoint|_python_dispatch)|torch\.overrides"
    r"|torch\.testing\._comparison|autograder(\.\w+)*|IPython\.core\.(interactiveshell|displayhook|displaypub|events)"
    r"|copy|hashlib|inspect|itertools|json(\.\w+)?|linecache|math|operator|os|random|signal|socket|struct|weakref"
)  # what probes and our own code call by name
_WATCHED = (
    FunctionType,
    BuiltinFunctionType,
    MethodDescriptorType,
    WrapperDescriptorType,
    GetSetDescriptorType,
    property,
    type,
)


def _is_old(kind: type) -> bool:
    """torch.FloatTensor and the like: stand-ins of torch.Tensor that nothing calls."""
    return kind.__module__ == "torch" and kind.__name__.endswith("Tensor") and kind is not torch.Tensor


class Guard:
    """The objects that are watched. Made in the template, before any student's line; it keeps the originals alive."""

    def __init__(self) -> None:
        self._slots: list[tuple[str, Mapping[str, Any], str, Any]] = []
        self._functions: list[tuple[str, FunctionType]] = []
        seen: set[int] = set()
        for name, module in sorted(sys.modules.items()):
            if _GUARDED.fullmatch(name) and module is not None:
                self._watch(name, vars(module), seen)
        self._watch("torch.Tensor", vars(torch._C.TensorBase), seen)
        self._codes = [(f.__code__, f.__defaults__, f.__kwdefaults__) for _, f in self._functions]

    def _watch(self, where: str, namespace: Mapping[str, Any], seen: set[int]) -> None:
        for name, value in list(namespace.items()):
            # By type: `isinstance` would ask some of torch's stand-in objects what they are, and they warn or raise.
            inner = value.__func__ if type(value) in (staticmethod, classmethod) else value
            if not issubclass(type(inner), _WATCHED):
                continue
            path = f"{where}.{name}"
            self._slots.append((path, namespace, name, value))
            if id(inner) in seen:
                continue
            seen.add(id(inner))
            if isinstance(inner, FunctionType):
                self._functions.append((path, inner))
            elif isinstance(inner, type) and _GUARDED.fullmatch(str(inner.__module__)) and not _is_old(inner):
                self._watch(path, vars(inner), seen)

    def changed(self) -> list[str]:
        """Names of what is not what it was, and of what stands between a call and torch."""
        found = [path for path, namespace, name, was in self._slots if namespace.get(name) is not was]
        for (path, function), (code, defaults, named) in zip(self._functions, self._codes):
            if (
                function.__code__ is not code
                or function.__defaults__ is not defaults
                or function.__kwdefaults__ is not named
            ):
                found.append(path)
        return found + self._in_the_way()

    def _in_the_way(self) -> list[str]:
        ways = {
            "a TorchFunctionMode is left on": bool(_get_current_function_mode_stack()),
            "a TorchDispatchMode is left on": bool(_get_current_dispatch_mode_stack()),
            "sys.settrace": sys.gettrace() is not None,
            "sys.setprofile": sys.getprofile() is not None,
            "a thread is left running": threading.active_count() > 1,
        }
        return [name for name, holds in ways.items() if holds]

    def fingerprint(self, salt: str) -> str:
        """The same in every untouched child of one template. `salt` is new for each time it is asked."""
        now = array("Q", (id(namespace.get(name)) for _, namespace, name, _ in self._slots))
        for _, function in self._functions:
            now.append(id(function.__code__))
        return hashlib.sha256(salt.encode() + now.tobytes()).hexdigest()
