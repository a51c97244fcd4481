"""All sentences for learners by id, and their forms with parameters."""

from __future__ import annotations

from ...language import Note, Text, grouped
from ..entries import is_code, place_of
from ..measured import yes_or_no
from .cards import CARDS
from .commands import COMMANDS
from .files import FILES
from .graded_runs import GRADED_RUNS
from .notes import NOTES
from .reviews import REVIEWS

MESSAGES = {**CARDS, **GRADED_RUNS, **NOTES, **COMMANDS, **REVIEWS, **FILES}

# What there should be. In Russian the verb agrees with it.
_MASCULINE, _FEMININE, _NEUTER, _PLURAL = (
    Text("{expected}", f"{must} быть {{expected}}") for must in ("должен", "должна", "должно", "должны")
)
_NEEDED = {
    **dict.fromkeys(
        ("kind.result", "kind.tensor", "kind.class", "kind.dict", "kind.names", "kind.three_numbers"), _MASCULINE
    ),
    **dict.fromkeys(("kind.function", "kind.model_and_batches"), _FEMININE),
    "kind.two_lists": _PLURAL,
}


def message(id: str, **parameters: object) -> Text:
    """Return the sentence `id` in English and Russian, with `parameters` filled in.

    Raises KeyError if there is no such id.
    """
    return MESSAGES[id].format(**parameters)


def say(note: Note, language: str) -> str:
    """Return the sentence of a note.

    A parameter that is itself the id of a sentence is replaced by that sentence. Raises KeyError if there is no
    sentence or parameter.
    """
    said: dict[str, object] = {
        name: MESSAGES[value].read(language) if isinstance(value, str) and value in MESSAGES else value
        for name, value in note.parameters.items()
    }
    if isinstance(count := said.get("count"), int):
        said["count"] = grouped(count, language)
    if not is_code(place_of(said)) and (answer := yes_or_no(said.get("got"))):
        said["got"] = answer.read(language)
    if "expected" in said:
        kind = note.parameters["expected"]
        needed = _NEEDED.get(kind, _NEUTER) if isinstance(kind, str) else _NEUTER
        said["needed"] = needed.format(**said).read(language)
    return message(note.id, **said).read(language)
