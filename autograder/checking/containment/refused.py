"""An answer that a probe refuses, in a sentence in both languages."""

from __future__ import annotations

from ...language import Note


class Refused(Exception):
    """An answer that is not what the exercise asks for.

    A probe raises it, also inside the answer. A card shows the sentence `id` of `messages/learners/cards.py`, filled in
    with `parameters`, in the learner's language.
    """

    def __init__(self, id: str, **parameters: object) -> None:
        super().__init__(id)
        self.note = Note(id, parameters)
