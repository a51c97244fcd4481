"""The command `check`: observe, judge, and the steps that follow."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...cards.shown_verdict import ShownVerdict
from ...session import SESSION
from ..kernel import attend
from ..replies import Reply
from .asked import NothingToCheck, understand
from .judged_answer import judge_answer
from .verdict_steps import STEPS


def check(
    name: str = "", *, variant: int | None = None, personal: int | None = None, device: object = None
) -> ShownVerdict | Reply:
    """Check the answer to exercise `name`, or to the exercise that was checked last.

    `variant` is the number of a variant that `again` has shown. The verdict on a variant earns no points.

    `personal` is the number of a table of predictions in a notebook that was handed out to one student. It is the
    exercise itself in that notebook, and earns its points.

    `device` is a name such as "cuda", "mps" or "xpu". An answer that is right on the CPU then runs on that device as
    well, if the exercise is about any device. One that this machine lacks is pretended. The result there is shown with
    its errors, and neither recorded nor graded.

    The notebook shows the returned verdict as a card, and nbgrader reads it as a number. Returns a `Reply` if no
    exercise has this name, or while nbgrader grades the notebook. Never raises.
    """
    return check_in(sys._getframe(1).f_globals, name, variant, device, personal)


def check_in(
    namespace: Mapping[str, Any],
    name: str = "",
    variant: int | None = None,
    device: object = None,
    personal: int | None = None,
) -> ShownVerdict | Reply:
    """Check an answer that is defined in `namespace`, as `check` does."""
    attend()
    try:
        asked = understand(namespace, name, variant, device, personal)
    except NothingToCheck as refused:
        return refused.reply
    verdict = replace(judge_answer(asked), language=SESSION.language)
    for step in STEPS:
        verdict = step(asked, verdict)
    return ShownVerdict.of(verdict)
