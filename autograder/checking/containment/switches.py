"""Switches of torch, set to their defaults around a check."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch._C import (
    _len_torch_dispatch_stack,
    _len_torch_function_stack,
    _pop_torch_dispatch_stack,
    _pop_torch_function_stack,
    _push_on_torch_dispatch_stack,
    _push_on_torch_function_stack,
)
from torch._C._autograd import _pop_saved_tensors_default_hooks as _pop_saved_tensors_hooks
from torch._C._autograd import _push_saved_tensors_default_hooks as _push_saved_tensors_hooks
from torch._C._autograd import _top_saved_tensors_default_hooks as _top_saved_tensors_hooks
from torch.autograd import forward_ad

from ...language import Note
from ..counting.allocations import stop_profiler, without_profiler


@dataclass(frozen=True)
class _Switch:
    """One of torch's global settings.

    `read` is a function that returns the setting, `write` a function that changes it, `default` the default value.
    """

    read: Callable[[], Any]
    write: Callable[[Any], Any]
    default: Any


_KERNELS = ("flash", "mem_efficient", "math", "cudnn")  # of scaled_dot_product_attention, on the CPU as well


def _allow_kernels(allowed: tuple[bool, ...]) -> None:
    for kernel, on in zip(_KERNELS, allowed):
        getattr(torch.backends.cuda, f"enable_{kernel}_sdp")(on)


_SWITCHES = {
    "grad_mode": _Switch(torch.is_grad_enabled, torch.set_grad_enabled, True),
    "default_dtype": _Switch(torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    # Not `get_default_device`: setting a device, even the CPU, installs a mode that every factory call goes through.
    "default_device": _Switch(
        lambda: getattr(getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None), "device", None),
        torch.set_default_device,
        None,
    ),
    "anomaly": _Switch(torch.is_anomaly_enabled, torch.set_anomaly_enabled, False),
    "deterministic": _Switch(torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms, False),
    "autocast": _Switch(
        lambda: torch.is_autocast_enabled("cpu"), lambda on: torch.set_autocast_enabled("cpu", on), False
    ),
    "attention": _Switch(
        lambda: tuple(getattr(torch.backends.cuda, f"{kernel}_sdp_enabled")() for kernel in _KERNELS),
        _allow_kernels,
        (True,) * len(_KERNELS),
    ),
}

# Modules of torch that keep hooks for all modules, or for all optimizers, with the note on hooks that were left there.
_GLOBAL_HOOKS = {
    name: (place, note)
    for place, note in (
        (torch.nn.modules.module, "note.left.module_hooks"),
        (sys.modules[torch.optim.Optimizer.__module__], "note.left.optimizer_hooks"),
    )
    for name in vars(place)
    if re.fullmatch(r"_global_\w+_hooks", name)
}


@contextmanager
def as_in_a_fresh_process() -> Iterator[list[Note]]:
    """Set each of torch's global settings to its default inside the `with` block, and restore the values afterwards.

    Settings that a notebook made earlier therefore change no verdict. Also turns off the profiler, inference mode,
    default hooks for saved tensors, hooks of all modules, and all active function and dispatch modes.
    Yields a list with a note for each setting that was not at its default.
    """
    inferring = torch.is_inference_mode_enabled()
    with torch.inference_mode(False) if inferring else nullcontext():
        before = {name: switch.read() for name, switch in _SWITCHES.items()}
        unusual = [name for name, switch in _SWITCHES.items() if before[name] != switch.default]
        notes = [Note(f"note.unusual.{name}", {"value": _said(before[name])}) for name in unusual]
        if inferring:
            notes.append(Note("note.unusual.inference", {}))
        for name in unusual:
            _SWITCHES[name].write(_SWITCHES[name].default)
        try:
            with (
                without_profiler() as profiling,
                _without_modes() as modes,
                _without_saved_tensors_hooks() as packing,
                _without_global_hooks() as hooks,
            ):
                if profiling:
                    notes.append(Note("note.unusual.profiler", {}))
                if packing:
                    notes.append(Note("note.unusual.saved_tensors_hooks", {}))
                if hooks:
                    notes.append(Note("note.unusual.global_hooks", {}))
                yield notes + [Note("note.unusual.mode", {"value": type(mode).__name__}) for mode in modes]
        finally:
            for name in unusual:
                _SWITCHES[name].write(before[name])


@contextmanager
def _without_modes() -> Iterator[list[Any]]:
    """Remove all of torch's active function and dispatch modes inside the `with` block.

    Yields a list of the modes. The modes are activated again afterwards.
    """
    functions = [_pop_torch_function_stack() for _ in range(_len_torch_function_stack())]
    dispatches = [_pop_torch_dispatch_stack(None) for _ in range(_len_torch_dispatch_stack())]
    try:
        yield functions + dispatches
    finally:
        for mode in reversed(dispatches):
            _push_on_torch_dispatch_stack(mode)
        for mode in reversed(functions):
            _push_on_torch_function_stack(mode)


@contextmanager
def _without_saved_tensors_hooks() -> Iterator[bool]:
    """Remove the active default hooks for saved tensors inside the `with` block.

    Yields True if there were any. They are activated again afterwards.
    """
    hooks = []
    while pair := _top_saved_tensors_hooks(False):
        hooks.append(pair)
        _pop_saved_tensors_hooks()
    try:
        yield bool(hooks)
    finally:
        for pack, unpack in reversed(hooks):
            _push_saved_tensors_hooks(pack, unpack)


@contextmanager
def _without_global_hooks() -> Iterator[bool]:
    """Remove the hooks of all modules and of all optimizers inside the `with` block.

    Yields True if there were any. They are registered again afterwards.
    """
    found = [
        (registry, dict(registry)) for name, (place, _) in _GLOBAL_HOOKS.items() if (registry := vars(place)[name])
    ]
    for registry, _ in found:
        registry.clear()
    try:
        yield bool(found)
    finally:
        for registry, hooks in found:
            registry.clear()
            registry.update(hooks)


@contextmanager
def putting_back(notes: list[Note]) -> Iterator[None]:
    """Undo what the `with` block leaves behind: changed settings, global hooks, and open contexts of torch.

    Appends a note to `notes` for each thing that is undone. A thread that still runs cannot be stopped, but there is a
    note on it.
    """
    before = {name: switch.read() for name, switch in _SWITCHES.items()}
    level, packing = forward_ad._current_level, _top_saved_tensors_hooks(False)
    global_hooks = {name: dict(getattr(place, name)) for name, (place, _) in _GLOBAL_HOOKS.items()}
    threads = set(threading.enumerate())
    try:
        yield
    finally:
        for name, switch in _SWITCHES.items():
            after = switch.read()
            if after != before[name]:
                switch.write(before[name])
                notes.append(Note(f"note.left.{name}", {"value": _said(after)}))
        if stop_profiler():
            notes.append(Note("note.left.profiler", {}))
        if forward_ad._current_level > level:
            notes.append(Note("note.left.dual_level", {}))
        while forward_ad._current_level > level:
            forward_ad.exit_dual_level()
        if _top_saved_tensors_hooks(False) not in (None, packing):
            notes.append(Note("note.left.saved_tensors_hooks", {}))
        while _top_saved_tensors_hooks(False) not in (None, packing):
            _pop_saved_tensors_hooks()
        notes += [Note(note, {}) for note in _drop_global_hooks(global_hooks)]
        for thread in set(threading.enumerate()) - threads:
            if thread.is_alive():
                notes.append(Note("note.left.threads", {"value": thread.name}))


def _drop_global_hooks(before: dict[str, dict[Any, Any]]) -> list[str]:
    """Remove the global hooks that are not in `before`; return the ids of the notes on what was removed.

    `before` maps the name of each registry in `_GLOBAL_HOOKS` to its earlier content.
    """
    found: dict[str, None] = {}
    for name, hooks in before.items():
        place, note = _GLOBAL_HOOKS[name]
        registered = getattr(place, name)
        for key in registered.keys() - hooks.keys():
            del registered[key]
            found[note] = None
    return list(found)


def _said(value: object) -> str:
    """Return the value of a setting as the parameter of a `Note`.

    True and False become ids of sentences because a card shows "on" and "off" in the learner's language.
    """
    return {True: "switch.on", False: "switch.off"}[value] if isinstance(value, bool) else str(value)
