"""torch's process-wide switches: as an answer expects them while it is checked, as they were afterwards."""

from __future__ import annotations

import re
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
from torch._C._autograd import _top_saved_tensors_default_hooks as _top_saved_tensors_hooks
from torch.autograd import forward_ad

from .allocations import stop_profiler, without_profiler
from .language import Note


@dataclass(frozen=True)
class _Switch:
    """How to read and to set one of torch's settings, and what it is in a fresh process."""

    read: Callable[[], Any]
    write: Callable[[Any], Any]
    default: Any


_SWITCHES = {
    "grad_mode": _Switch(torch.is_grad_enabled, torch.set_grad_enabled, True),
    "default_dtype": _Switch(torch.get_default_dtype, torch.set_default_dtype, torch.float32),
    # Not `get_default_device`: a device that is set, even the CPU, is a mode that every factory call goes through.
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
}
_MODULE_HOOKS = tuple(name for name in vars(torch.nn.modules.module) if re.fullmatch(r"_global_\w+_hooks", name))


@contextmanager
def as_in_a_fresh_process() -> Iterator[list[Note]]:
    """Set every switch to its default, so that what a notebook has set does not change a verdict; put them back.

    Yields a note for each switch that was set otherwise.
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
            with without_profiler() as profiling, _without_modes() as modes:
                if profiling:
                    notes.append(Note("note.unusual.profiler", {}))
                yield notes + [Note("note.unusual.mode", {"value": type(mode).__name__}) for mode in modes]
        finally:
            for name in unusual:
                _SWITCHES[name].write(before[name])


@contextmanager
def _without_modes() -> Iterator[list[Any]]:
    """Take off the function and dispatch modes that are entered, and enter them again. Yields them."""
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
def putting_back(notes: list[Note]) -> Iterator[None]:
    """Put back whatever the block leaves switched, registered or open, and append a note for each; threads are told."""
    before = {name: switch.read() for name, switch in _SWITCHES.items()}
    level, packing = forward_ad._current_level, _top_saved_tensors_hooks(False)
    module_hooks = {name: dict(getattr(torch.nn.modules.module, name)) for name in _MODULE_HOOKS}
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
        if _drop_module_hooks(module_hooks):
            notes.append(Note("note.left.module_hooks", {}))
        for thread in set(threading.enumerate()) - threads:
            if thread.is_alive():
                notes.append(Note("note.left.threads", {"value": thread.name}))


def _drop_module_hooks(before: dict[str, dict[Any, Any]]) -> bool:
    """Remove the global module hooks that were not there `before`; were there any?"""
    found = False
    for name, hooks in before.items():
        registered = getattr(torch.nn.modules.module, name)
        for key in registered.keys() - hooks.keys():
            del registered[key]
            found = True
    return found


def _said(value: object) -> str:
    """A value for a card: on and off are sentences of their own, in the card's language."""
    return {True: "switch.on", False: "switch.off"}[value] if isinstance(value, bool) else str(value)
