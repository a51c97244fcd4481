"""Parameters that no gradient has reached, and where their way ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...language import Note
from ...pictures.graph.torch_objects import variable_of
from ..finding import Finding, Level, listed
from ..seen import Cut, How, Seen
from ..watch import StepWatch

_MISTAKES = {
    How.DETACH: ("hidden_gradients", "detaches_every_output"),
    How.DATA: ("hidden_gradients", "detaches_every_output"),
    How.NO_GRAD: ("hidden_gradients", "detaches_the_inputs"),
    How.NUMBER: ("descend", "takes_the_number_first"),
    How.INDEX: ("fix_gumbel", "hard_alone"),
}


def find_unreached(seen: Seen, watch: StepWatch) -> Iterator[Finding]:
    """Yield a finding for each place at which the way to parameters of an optimizer that has stepped ends."""
    updates = [each for each in seen.updates if each.reached and seen.backwards]
    moved = frozenset[str]().union(*(each.names - each.reached for each in updates))
    missing = [name for name, each in watch.parameters.items() if name in moved and each.requires_grad]
    behind = _cuts_before(missing, seen, watch)
    for cut, names in behind.items():
        if cut is None:
            continue
        note = Note(f"inspect.cut.{cut.how}", {"names": listed(names), "place": str(cut.place)})
        yield Finding(note, Level.WRONG, *_MISTAKES[cut.how], subject=names[0], place=cut.place)
    alone = behind.get(None, [])
    unused = [name for name in alone if name not in seen.used]
    for id, names in (("unused", unused), ("unreached", [name for name in alone if name not in unused])):
        if names:
            place = seen.used.get(names[-1])
            note = Note(f"inspect.{id}", {"names": listed(names), "place": str(place or "?")})
            yield Finding(note, Level.LOOK, "unused_parameters", "lists_the_used", names[0], place)


def _cuts_before(missing: list[str], seen: Seen, watch: StepWatch) -> dict[Cut | None, list[str]]:
    """Return a dict from a cut to the parameters whose way ends there. None stands for no known cut."""
    cuts = frozenset[Cut]().union(*(each.cuts for each in seen.backwards))
    since = min(each.since for each in seen.updates) if seen.updates else watch.first_number
    loose_ones = [cut for cut in seen.loose if _is_of_this_step(cut, since)]  # not the loss before, which is logged
    leaves = {cut: _leaves_of(cut) for cut in [*cuts, *loose_ones]} if missing else {}
    behind: dict[Cut | None, list[str]] = {}
    for name in missing:
        parameter = id(watch.parameters[name])
        known = [cut for cut in cuts if parameter in leaves[cut]]
        loose = [cut for cut in loose_ones if parameter in leaves[cut]] if not known else []
        # Of several cuts the one that hides the fewest parameters lies nearest to this one.
        nearest = min(known or loose, key=lambda cut: len(leaves[cut]), default=None)
        same = next((cut for cut in behind if cut and nearest and _is_same(cut, nearest)), nearest)
        behind.setdefault(same, []).append(name)
    return behind


def _is_same(one: Cut, other: Cut) -> bool:
    return one.how == other.how and one.place == other.place


def _is_of_this_step(cut: Cut, since: int) -> bool:
    """Return whether what a cut was computed from was made after the last step of the optimizer."""
    return all(not hasattr(each, "_sequence_nr") or each._sequence_nr() >= since for each in cut.sources)


def _leaves_of(cut: Cut) -> set[int]:
    """Return the ids of the leaves from which the operands of a cut were computed."""
    found, waiting, visited = set[int](), list[Any](cut.sources), set[Any]()
    while waiting:
        node = waiting.pop()
        if node is None or node in visited:
            continue
        visited.add(node)
        if not hasattr(node, "next_functions"):
            found.add(id(node))  # a leaf itself
            continue
        variable = variable_of(node)
        if variable is not None:
            found.add(id(variable))
        waiting += [following for following, _ in node.next_functions]
    return found
