"""Edits in place that backward has refused."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...language import Note
from ..finding import Finding, Level
from ..seen import Seen
from ..watch import StepWatch

# As torch words it: "[torch.FloatTensor [16, 8]], which is output 0 of SigmoidBackward0, is at version 1; expected ..."
_REFUSED = re.compile(
    r"modified by an inplace operation: \[\S+ \[(?P<shape>[\d, ]*)\]\](?:, which is output \d+ of (?P<node>\w+),)? "
    r"is at version (?P<version>\d+)"
)


def find_edits(seen: Seen, watch: StepWatch) -> Iterator[Finding]:
    found = _REFUSED.search(str(seen.error)) if isinstance(seen.error, RuntimeError) else None
    if found is None:
        return
    shape = tuple(int(size) for size in found["shape"].split(",") if size.strip())
    same = [each for each in seen.edits if each.shape == shape and each.version <= int(found["version"])]
    node = (found["node"] or "").removesuffix("Backward0")
    made = [each for each in same if each.node.removesuffix("Backward0") == node] or same
    if made:
        edit = made[-1]
        note = Note("inspect.edit", {"operation": edit.operation, "shape": list(shape), "place": str(edit.place)})
        yield Finding(note, Level.WRONG, "shared_edit", "edits_what_was_saved", str(edit.place), edit.place)
