"""A run on a pretended device, and the aspect that it decides."""

from __future__ import annotations

import contextlib
import dis
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from ..containment.answer_calls import can_be_called, with_calls
from ..containment.caught import Caught
from ..containment.deadline import Deadline
from ..containment.surroundings import undisturbed
from ..containment.time_limit import TimeIsUp, limited
from ..exercise import Aspect, Exercise, aspect
from ..values import canonical
from .mixtures import REFUSALS
from .pretended_device import pretended_device
from .storage_devices import CPU, tensors_of

DEVICE = "device"  # the aspect's name
_NO_DEVICE = re.compile("CUDA|_cuda_|dummy base class")
_TORCH = torch.__path__[0]
_REFUSAL = re.compile("|".join(re.escape(text).replace(r"\{\}", ".+?") for text in REFUSALS))


def works_on(points: float, after: Sequence[str]) -> Aspect:
    """Return the aspect that an answer works on the device of its inputs, worth `points`.

    `after` names the aspects that must be right before this one is judged. `observe` makes a run for the aspect, with
    the inputs of the first case on a pretended device.
    """
    return aspect(
        DEVICE,
        points,
        en="It also works where its inputs lie on another device, such as a GPU: new tensors are made there, and the "
        "results lie there.",
        ru="Всё работает и тогда, когда входы лежат на другом устройстве, например на GPU: новые тензоры создаются "
        "там же, и результаты лежат там же.",
        after=after,
    )


def is_about_devices(exercise: Exercise) -> bool:
    """Return whether the contract of an exercise is about any device."""
    return any(each.name == DEVICE for each in exercise.aspects)


def gradients_there(y: object, inputs: Sequence[Tensor], v: Tensor | None = None) -> object:
    """Return the gradients of `y` for a device's probe, or None if there are none.

    If `v` is None, they are those of the sum of `y`.
    """
    if not isinstance(y, Tensor) or not y.requires_grad:
        return None
    return torch.autograd.grad(y if v is not None else y.sum(), inputs, v, allow_unused=True)


def tensors_in(value: Any, seen: set[int] | None = None) -> Iterator[Tensor]:
    """Yield the tensors that an input consists of, with their gradients.

    They are those of a list, a module, an optimizer, or a function with its constants. Each comes once.
    """
    seen = set() if seen is None else seen
    if id(value) in seen or value is None or isinstance(value, (str, int, float, type)):
        return
    seen.add(id(value))
    if isinstance(value, Tensor):
        yield value
        parts: Any = [value.grad] if value.is_leaf else []
    elif isinstance(value, Mapping):
        parts = value.values()
    elif isinstance(value, (list, tuple)):
        parts = value
    elif isinstance(value, FunctionType):
        parts = [cell.cell_contents for cell in value.__closure__ or ()] + list(value.__defaults__ or ())
    else:
        parts = vars(value).values() if hasattr(value, "__dict__") else ()
    for part in parts:
        yield from tensors_in(part, seen)


def observe_device(exercise: Exercise, answer: object, seed: str, deadline: Deadline) -> dict[str, object]:
    """Run the probe for devices on a pretended one, and return the aspect's value.

    The tensors of the first case of `seed` lie there. A mixture of devices counts, whether it ended the probe or the
    probe caught it. So does any other exception that the CPU does not see, unless torch says that this machine has no
    such device. The sums of what the probe finds are judged, because an answer could return other numbers in this run,
    which ends at `deadline`. If an error is none of the answer's, they are those of the CPU.
    """
    case, same = exercise.draw_first(seed), exercise.draw_first(seed)
    refused: str | Caught | None = None
    there, idle = True, [False]
    found: object = None
    probe = exercise.device_probe or exercise.probe

    def found_here() -> object:
        with contextlib.suppress(Exception, TimeIsUp), limited(Deadline(exercise.seconds)):
            return probe(SimpleNamespace(**{exercise.asks: answer}), same)
        return None

    with undisturbed([]):
        try:
            with limited(deadline), pretended_device("cuda") as devices:
                for tensor in tensors_in(case):
                    devices.put(tensor, devices.there)
                noting = SimpleNamespace(**{exercise.asks: _noting_idle(answer, idle)})
                found = probe(noting, case)
            there = not any(devices.of(each) == CPU and each.dim() for each in tensors_of(found))
            refused = next((each for each in _texts(found) if is_refusal(each)), None)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            cause = error.__cause__ or error
            caught = Caught.of(cause, f"{type(cause).__name__}: {cause}")
            found, excused = found_here(), isinstance(cause, TimeIsUp) or _lacks_a_device(cause)
            if is_refusal(caught) or not (excused or found is None):
                refused = caught
    return {"on a GPU": refused, "results there": there, "same numbers": _sums(found), "nothing returned": any(idle)}


def _noting_idle(answer: object, idle: list[bool]) -> object:
    """Return an answer that notes in `idle` of each of its calls whether it has returned None."""

    def noting(call: Callable[..., object]) -> Callable[..., object]:
        def noted(*args: object, **named: object) -> object:
            returned = call(*args, **named)
            idle.append(returned is None)
            return returned

        return noted

    return with_calls(answer, noting) if can_be_called(answer) else answer


def _sums(found: object) -> Tensor:
    """Return the sums of all numbers and of their magnitudes in what a probe found, whatever holds them."""
    numbers = torch.tensor([0.0, *_numbers(canonical(found))], dtype=torch.float64)
    return torch.stack([numbers.sum(), numbers.abs().sum()])


def _numbers(tree: Any) -> Iterator[float]:
    if isinstance(tree, Tensor):
        yield from tree.double().flatten().tolist()
    elif type(tree) in (int, float):
        yield float(tree)
    elif isinstance(tree, (dict, list)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _numbers(item)


def _lacks_a_device(error: BaseException) -> bool:
    """Return whether torch, and not an answer's own `raise`, says that there is no such device."""
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    if last is None or not _NO_DEVICE.search(str(error)):
        return False
    code = last.tb_frame.f_code
    return code.co_filename.startswith(_TORCH) or code.co_code[last.tb_lasti] != dis.opmap["RAISE_VARARGS"]


def is_refusal(error: str | Caught) -> bool:
    """Return whether an error is one of a GPU."""
    return _REFUSAL.search(error if isinstance(error, str) else error.text) is not None


def _texts(tree: Any) -> Iterator[str | Caught]:
    if isinstance(tree, (str, Caught)):
        yield tree
    elif isinstance(tree, (dict, list, tuple)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _texts(item)
