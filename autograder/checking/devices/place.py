"""Places of a check's cases: real and pretended devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from ..exercise import Case
from .device_run import tensors_in
from .pretended_device import pretended_device

KINDS = ("cuda", "mps", "xpu")


class UnknownDevice(ValueError):
    """A name of no device for checks.

    The argument is the name.
    """


@dataclass(frozen=True)
class Place:
    """A device other than the CPU, real or pretended.

    `name` is torch's, such as "cuda". Cases are in float64, which MPS lacks: it is always pretended.
    """

    name: str
    pretended: bool

    @property
    def kind(self) -> str:
        """The part of a sentence's id that tells a real device from a pretended one."""
        return "pretended" if self.pretended else "real"

    @contextmanager
    def holding(self, case: Case) -> Iterator[None]:
        """Put the tensors of `case` on the device, and run the `with` block where the device exists."""
        if not self.pretended:
            with torch.no_grad():
                for tensor in list(tensors_in(case)):
                    tensor.data = tensor.data.to(self.name)  # in place: an optimizer knows these very tensors
            yield
            return
        with pretended_device(torch.device(self.name).type) as devices:
            for tensor in tensors_in(case):
                devices.put(tensor, devices.there)
            yield


def find_place(name: object) -> Place | None:
    """Return the place for the name of a device, or None for the CPU.

    `name` is "cpu", "cuda", "mps" or "xpu", or a `torch.device`. A device that this machine lacks is pretended.
    Raises UnknownDevice if there is no such device.
    """
    try:
        device = torch.device(str(name))
    except RuntimeError:
        raise UnknownDevice(str(name)) from None
    if device.type == "cpu":
        return None
    if device.type not in KINDS:
        raise UnknownDevice(str(name))
    module = getattr(torch, device.type)
    there = device.type != "mps" and module.is_available() and (device.index or 0) < module.device_count()
    return Place(str(device), pretended=not there)
