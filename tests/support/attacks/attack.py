"""Hostile submissions: a few answers that solve little, and an attack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Edit = Callable[[dict[str, Any]], None]  # of a notebook's JSON

# Not one of these is solved; each leaves points that only a trick can get. `accumulate_uneven` has the gradient and too
# few backward passes, `train_epoch` the weights and too many bytes; a test that lets everything pass catches nothing.
HALF = {
    "accumulate_uneven": """
def accumulate_uneven(model, batches):
    model.zero_grad()
    mse_loss(model(torch.cat([x for x, _ in batches])), torch.cat([y for _, y in batches])).backward()
""",
    "train_epoch": """
def train_epoch(model, optimizer, batches, accumulation_steps):
    total = 0.0
    for first in range(0, len(batches), accumulation_steps):
        window = batches[first : first + accumulation_steps]
        optimizer.zero_grad()
        losses = [mse_loss(model(x), y, reduction="sum") for x, y in window]
        (sum(losses) / sum(y.numel() for _, y in window)).backward()
        total += sum(loss.item() for loss in losses)
        optimizer.step()
    return total / sum(y.numel() for _, y in batches)
""",
    "is_right": """
def is_right(accumulate):
    return True
""",
}


@dataclass(frozen=True)
class Attack:
    """`first` is a cell before all others, `last` one after them; `answers` replace those of HALF.

    `without` are the answers of the same submission without the trick, where that is inside the answers. `flagged` is
    a part of the reason that an instructor reads, "" where nothing of the grading was touched: mere misbehaviour.
    `noted` is a part of the note about what was refused: that costs nothing, and gains nothing.
    `seen` is a part of the place that is shown to a person.
    `ended` is why the process was stopped, if it was; where it depends on the machine, several words with | between.
    """

    name: str
    first: str = ""
    last: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    without: Mapping[str, str] | None = None
    edit: Edit | None = None
    flagged: str = ""
    noted: str = ""
    seen: str = ""
    ended: str = ""
    never: str = ""  # a text that must not reach the graded notebook
    on_landlock: Mapping[str, str] = field(default_factory=dict)  # fields that differ behind the second wall
