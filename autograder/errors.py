"""Errors that the user of a command can fix."""

from __future__ import annotations


class UserError(Exception):
    """An error that an author or instructor can fix.

    The text names the problem and the remedy.
    """
