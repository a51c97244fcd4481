"""Plots of small models, and how they are read."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.functional import mse_loss
from torch.utils.checkpoint import checkpoint

from autograder import exercises, plot_accumulation, plot_progress
from autograder.checking.verdict import AspectResult, Verdict
from autograder.history import record

J = torch.linspace(0, 9, 24).reshape(4, 6).sin()


LEFT, RIGHT = torch.tensor([0.0, 0.0, 1.0, 0.0]), torch.tensor([0.0, 0.7, 0.0, 0.0, 0.7, 0.0])


NET = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh()) for _ in range(4)])


DATA = torch.ones(32, 8)


def plain(x: torch.Tensor) -> torch.Tensor:
    return NET(x)


def half(x: torch.Tensor) -> torch.Tensor:
    """Saves each activation in half the bytes, but each time that it is saved."""
    with saved_tensors_hooks(lambda t: t.bfloat16() if t.shape == x.shape else t, lambda t: t.float()):
        return NET(x)


def every_layer(x: torch.Tensor) -> torch.Tensor:
    for layer in NET:
        x = checkpoint(layer, x, use_reentrant=False)
    return x


def everything(x: torch.Tensor) -> torch.Tensor:
    return checkpoint(NET, x, use_reentrant=False)


def loop(*, zero_inside: bool = False, watch: Callable[[Any], Any] = lambda model: model) -> Any:
    """Six micro-batches, a step after each second one; the recorder, the model and the losses by hand."""
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    told: list[tuple[float, float, float]] = []

    def norm() -> float:
        return math.sqrt(sum(float((p.grad**2).sum()) for p in model.parameters() if p.grad is not None))

    with plot_accumulation(watch(optimizer)) as seen:
        for i in range(6):
            if zero_inside:
                optimizer.zero_grad()
            x = torch.randn(4, 3)
            loss = mse_loss(model(x), x.sum(1, keepdim=True)) / 2
            before = norm()
            loss.backward()
            told.append((loss.item(), before, norm()))
            if i % 2:
                optimizer.step()
                if not zero_inside:
                    optimizer.zero_grad()
    return seen, model, told


def met() -> None:
    """A learner who has begun two lessons, and met a mistake twice."""
    known = exercises.load("leaf_tensors")
    failed, passed = list(known.values())[:2]
    mistake = next(iter(exercises.misconceptions_of(failed)))
    for _ in range(2):
        wrong = (AspectResult("v", failed.points, 0, "wrong"),)
        record(Verdict(failed.name, "leaf_tensors", 1, "not yet", wrong, mistake=mistake))
    for exercise in (passed, *exercises.load("first_gradient").values()):
        right = (AspectResult("v", exercise.points, exercise.points, "right"),)
        record(Verdict(exercise.name, exercise.lesson, 1, "passed", right))


def progressed() -> Any:
    met()
    return plot_progress()


def written(svg: str) -> list[str]:
    """Return the texts of a picture, one by one."""
    return ["".join(text.itertext()).strip() for text in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
