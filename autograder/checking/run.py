"""Runs: the observation of one case, and its JSON form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..language import Note
from .containment.caught import NOWHERE, Spot
from .values import decode, encode


@dataclass(frozen=True)
class Raised:
    """An exception that ended a run, as data for a card.

    `whose` is "answer" if the learner's code caused the exception, and "ours" if the exercise did. `id` and
    `parameters` make the card's sentence. `spot` is the learner's line that failed.
    """

    whose: str
    id: str
    parameters: dict[str, object]
    spot: Spot = NOWHERE


@dataclass(frozen=True)
class Run:
    """The observation of one case.

    `values` is a dict from the name of each aspect or evidence to its value. If an exception ended the run, it is in
    `raised`. `called` and `inputs` are the call and its inputs as text. `edited` names the inputs that the answer
    changed in place. `caught` maps the text of each exception in `values` to the learner's line that failed.
    """

    values: dict[str, Any]
    raised: Raised | None = None
    called: str = ""
    inputs: str = ""
    notes: tuple[Note, ...] = ()
    edited: tuple[str, ...] = ()  # names of the inputs with changed contents
    caught: Mapping[str, Spot] = field(default_factory=dict)


def encode_run(run: Run) -> dict[str, Any]:
    """Return a run as JSON data: values and edited inputs, or the exception.

    Left out are parts that only a card shows.
    """
    if run.raised:
        raised = {"whose": run.raised.whose, "id": run.raised.id, "parameters": run.raised.parameters}
        return {"raised": raised}
    values = {name: encode(value) for name, value in run.values.items()}
    return {"values": values, "edited": list(run.edited)}


def decode_run(data: dict[str, Any], pool: Sequence[Any] = ()) -> Run:
    """Return the run that `encode_run` encoded.

    `pool` holds decoded values to which the run may refer.
    Raises ValueError if the data is no encoded run.
    """
    match data:
        case {"raised": {"whose": str(whose), "id": str(id), "parameters": dict(parameters)}}:
            return Run({}, Raised(whose, id, parameters))
        case {"values": dict(values), "edited": list(edited)}:
            found = {str(name): decode(value, pool) for name, value in values.items()}
            return Run(found, edited=tuple(map(str, edited)))
    raise ValueError(f"not an encoded run: {str(data)[:80]}")
