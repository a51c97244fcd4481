"""Requests through the wall, and a child's replies."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypedDict


class ServerRequest(StrEnum):
    """The requests to a fork server: names of `do_` methods of `ForkServer`."""

    REHEARSE = "rehearse"
    FORK = "fork"


class ChildRequest(StrEnum):
    """The requests to a child: names of `do_` methods of `Worker`."""

    BEGIN = "begin"
    TAKE = "take"
    PLAN = "plan"
    CELL = "cell"
    OBSERVE = "observe"
    CODE = "code"
    GUARD = "guard"
    MODULES = "modules"


class ChildReply(TypedDict, total=False):
    """A child's reply to a request, with some of these keys.

    A student may have forged it, so the grader checks every value.
    """

    needless: Any  # places of cells that need not be run
    outputs: Any  # of a cell
    runs: Any  # of an observation: a run for each case
    attempts: Any  # how often the answer was observed
    absent: Any  # instead of runs, if the learner has defined nothing: a state, a sentence's id and parameters
    code: Any  # a digest of the answer's code
    changed: Any  # names of tampered objects
    modules: Any  # names of imported modules
    touched: int | None  # bytes of memory, counted by the kernel: set by the grader's side
    whole: bool  # whether that is all of it: set by the grader's side, too
    refused: Any  # accesses that the audit hook has refused; in each reply
    stood_in: Any  # packages for which a stand-in was imported; in each reply
    fault: Any  # the end of a traceback, if the request has failed
    tampered: Any  # what is wrong with the connection
