"""The error of a command whose user can put things right."""

from __future__ import annotations


class UserError(Exception):
    """An error that an author or instructor can fix.

    Its text says what is wrong and what to do, with an example of what is right if that helps.
    """

    def __init__(self, message: str, example: str = "") -> None:
        super().__init__(f"{message}; for example: {example}" if example else message)
