"""JSON encoding of rehearsals and of observations, with strict decoding."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, field, replace
from itertools import islice
from typing import Any

from ....checking.containment.caught import Spot
from ....checking.run import Raised, Run, decode_run, encode_run
from ....language import LANGUAGES, Note
from ....messages.learners import MESSAGES, say

_LONGEST = 4000  # characters of a text on a card
_MOST = 50  # notes on one run, edited inputs, or exceptions that the probe caught


@dataclass(frozen=True)
class Rehearsal:
    """The code that a fork server runs in a rehearsal.

    All fields are JSON data.
    """

    lesson: str
    modules: dict[str, str] = field(default_factory=dict)  # sources of the exercises; empty for a private lesson
    notebooks: list[list[str]] = field(default_factory=list)  # sources of the released code cells, a list per notebook
    imports: list[str] = field(default_factory=list)  # names of modules
    moved: dict[str, dict[str, str]] = field(default_factory=dict)  # as `modules`, by lesson that got exercises of this
    shared: dict[str, str] = field(default_factory=dict)  # as `modules`, of the package that lessons share
    answers: dict[str, str] = field(default_factory=dict)  # code of a wrong answer, by exercise
    helpers: dict[str, str] = field(default_factory=dict)  # sources of modules that only these answers import


def pack_run(run: Run) -> dict[str, Any]:
    """Return the observation of one case, a `Run`, as JSON data."""
    packed = {**encode_run(run), "called": run.called, "inputs": run.inputs, "edited": list(run.edited)}
    packed["notes"] = [[note.id, _plain(note.parameters)] for note in run.notes]
    if run.raised:
        packed["raised"] = {**packed["raised"], "parameters": _plain(run.raised.parameters)}
        packed["at"] = astuple(run.raised.spot)
    packed["caught"] = {text: astuple(spot) for text, spot in run.caught.items()}
    return packed


def unpack_run(data: Any) -> Run:
    """Return the observation of one case, a `Run`, that `pack_run` encoded.

    Raises ValueError for any other data.
    """
    try:
        core = {key: data[key] for key in (("raised",) if "raised" in data else ("values", "edited"))}
        run = decode_run(core)
        notes = tuple(unpack_note(*item) for item in data["notes"][:_MOST])
        raised = run.raised
        if raised is not None:
            note = unpack_note(raised.id, raised.parameters)
            raised = Raised(_text(raised.whose), note.id, note.parameters, _spot(*data["at"]))
        caught = {_text(text): _spot(*spot) for text, spot in islice(data["caught"].items(), _MOST)}
        edited = tuple(_text(name) for name in data["edited"][:_MOST])
        return replace(
            run,
            raised=raised,
            notes=notes,
            edited=edited,
            called=_text(data["called"]),
            inputs=_text(data["inputs"]),
            caught=caught,
        )
    except ValueError:
        raise
    except Exception as error:  # wrong types or shapes, a number too large
        raise ValueError(f"not a run: {type(error).__name__}") from None


def unpack_note(id: object, parameters: object) -> Note:
    """Return a note that can be formatted as a sentence in English and Russian.

    `id` is the key of the sentence in `MESSAGES`. Raises ValueError if there is no such key, or the parameters do not
    fit.
    """
    if not (isinstance(id, str) and id in MESSAGES and isinstance(parameters, dict)):
        raise ValueError("not a note")
    note = Note(id, {str(name): _scalar(value) for name, value in parameters.items()})
    try:
        for language in LANGUAGES:
            say(note, language)
    except (LookupError, ValueError, TypeError) as error:
        raise ValueError("not a note") from error
    return note


def _spot(line: Any, *texts: object) -> Spot:
    return Spot(None if line is None else int(line), *map(_text, texts))


def _plain(parameters: dict[str, object]) -> dict[str, object]:
    kept = (bool, int, float, str, type(None))
    return {name: value if isinstance(value, kept) else str(value) for name, value in parameters.items()}


def _scalar(value: object) -> object:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (int, float)) and math.isfinite(value) and abs(value) < 1e18:
        return value
    if value is None:
        return value
    raise ValueError("not a parameter of a note")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value[:_LONGEST]
