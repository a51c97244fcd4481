"""The reasons for which an instructor should review a graded notebook."""

from __future__ import annotations

from collections.abc import Mapping

from .dead_process import REASONS
from .notebook_run import Outcome
from .sanitize import Released, Sanitized


def list_changes(clean: Sanitized, released: Mapping[str, Released]) -> list[str]:
    """Return sentences that ask for a review because graded cells were deleted or copied.

    The list is empty if no review is needed. `clean` is the sanitized notebook. `released` maps grade ids to the
    released cells.
    """
    restored = [f"deleted and put back: {name}" for name in clean.restored]
    deleted = [f"deleted: {name}" for name in clean.missing if released[name].points is not None]
    return [*deleted, *restored, *(f"there more than once, the last one counts: {name}" for name in clean.repeated)]


def list_incidents(outcome: Outcome) -> list[str]:
    """Return sentences that ask for a review because of incidents in the run of a notebook.

    The list is empty if no review is needed.
    """
    faults = [name for name, verdict in outcome.verdicts.items() if verdict.state == "our error"]
    untold = [name for name in faults if not any(name in flag for flag in outcome.flags)]
    ended = [REASONS[outcome.ended]] if outcome.ended else []
    return [*outcome.flags, *(f"the checker failed on {name}" for name in untold), *ended]
