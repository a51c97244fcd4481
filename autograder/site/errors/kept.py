"""Outcomes of the programs of explained errors, kept between builds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...explained.entry import Explanation
from ..running.kept_results import KeptResults
from .runs import ErrorRun, run_errors

_RUN_BY = ("site/errors/runs.py", "site/errors/graphs.py", "site/errors/imports.py", "explained/scene/frames.py")


def error_runs(explanations: Sequence[Explanation], cache: Path) -> dict[str, ErrorRun]:
    """Return a dict from an explanation's name to what its program told.

    Only programs of which `cache` has no outcome are run.
    Explanations without a program are left out, and those whose program told nothing that fits.
    """
    shown = [each for each in explanations if each.program]

    def run(numbers: list[int]) -> list[Any]:
        return [asdict(told) if told else None for told in run_errors([shown[number].name for number in numbers])]

    programs = [repr((each.name, each.pattern.pattern, each.program)) for each in shown]
    told = KeptResults(cache, _RUN_BY).of(programs, run)
    return {each.name: ErrorRun(**one) for each, one in zip(shown, told) if one}
