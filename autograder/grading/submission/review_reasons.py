"""The reasons for which an instructor should review a graded notebook."""

from __future__ import annotations

from ...checking.verdict import VerdictState
from ...language import Note
from ...messages.reasons import make_reason
from .notebook_run import Outcome
from .sanitize import Sanitized


def list_cell_changes(clean: Sanitized) -> list[Note]:
    """Return reasons for a review because graded cells were deleted or repeated.

    The list is empty if no review is needed. `clean` is the sanitized notebook.
    """
    changes = {"put_back": clean.restored, "repeated": clean.repeated}
    return [make_reason(id, cell=name) for id, names in changes.items() for name in names]


def list_incidents(outcome: Outcome) -> list[Note]:
    """Return reasons for a review because of incidents in the run of a notebook.

    The list is empty if no review is needed.
    """
    faults = [name for name, verdict in outcome.verdicts.items() if verdict.state == VerdictState.OUR_ERROR]
    told = {flag.parameters.get("name") for flag in outcome.flags}
    ended = [make_reason(f"ended.{outcome.ended}")] if outcome.ended else []
    return [*outcome.flags, *(make_reason("checker_failed", name=name) for name in faults if name not in told), *ended]
