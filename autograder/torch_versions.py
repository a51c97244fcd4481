"""The versions of torch with which the course was tried: see `benchmarks/versions.md`."""

from __future__ import annotations

import re

import torch

NEWEST = (2, 15)


def newer_torch() -> dict[str, str]:
    """Return the parameters of the message `torch.newer`, or {} if this torch is not newer than the newest tried."""
    version = re.match(r"(\d+)\.(\d+)", torch.__version__)
    if version is None or tuple(map(int, version.groups())) <= NEWEST:
        return {}
    return {"version": torch.__version__, "newest": ".".join(map(str, NEWEST))}
