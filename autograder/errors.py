"""Errors that the user of a command can mend."""

from __future__ import annotations


class Broken(Exception):
    """Something an author or instructor has to mend; the text says what and how."""
