"""The tables of a submitted notebook: for whom, and what is expected.

A student's tables are judged by the student's own variants, whatever the notebook says. So nobody can choose a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...checking.expected import Expected
from ...language import Note
from ...lessons.source import CHECK
from ...messages.reasons import make_reason
from ..files.inert_names import one_line
from ..files.submitted_cells import source_of
from ..gradebook.release import CellOrder
from .personal_tables import PersonalTables

_LONGEST = 100  # characters of a student's id


@dataclass(frozen=True)
class OwnCopy:
    """The tables of a submitted notebook.

    `holder` is the student whose tables are expected: the sender, or the member of a team for whom the copy was made.
    `expected` are the expected results of these tables, by exercise. `foreign` are the exercises whose table in the
    notebook is another one. `programs` are the sources of cells with programs that were handed out, to the holder or
    with this copy. `reasons` tell why an instructor should look at the copy.
    """

    holder: str
    expected: Mapping[str, Expected]
    foreign: frozenset[str]
    programs: frozenset[str]
    reasons: tuple[Note, ...]

    @classmethod
    def of(cls, raw: Mapping[str, Any], tables: PersonalTables, student: str, name: str, order: CellOrder) -> OwnCopy:
        """Return the copy that `student` handed in as the notebook with the released `name`.

        `raw` is the notebook's JSON, `order` are the cells of the common notebook. Raises BrokenSource if a program of
        a table cannot be run.
        """
        made_for = _made_for(raw)
        holder = tables.holder(student, made_for)
        own, found = tables.draw(holder, name), _numbers(raw)
        foreign = {each for each, table in own.items() if each in found and found[each] != table.number}
        reasons: list[Note] = []
        if own and made_for and made_for != holder:
            reasons.append(make_reason("copy.of", student=one_line(made_for)))
        elif foreign:
            common = all(found[each] is None for each in foreign)
            reasons.append(make_reason("copy.common" if common else "copy.unknown"))
        expected = {each: table.expected for each, table in own.items()}
        given = [table for each in {holder, made_for or holder} for table in tables.draw(each, name).values()]
        sources = {table.put_into(source) for table in given for _, source in order if source}
        return cls(holder, expected, frozenset(foreign), frozenset(filter(None, sources)), tuple(reasons))


def _made_for(raw: Mapping[str, Any]) -> str:
    """Return the id of the student for whom a copy was made, as the notebook says, or an empty text."""
    told = raw.get("metadata")
    told = told.get("autograder") if isinstance(told, dict) else None
    student = told.get("student") if isinstance(told, dict) else None
    return student[:_LONGEST] if isinstance(student, str) else ""


def _numbers(raw: Mapping[str, Any]) -> dict[str, int | None]:
    """Return a dict from exercise to the number of the table that a check cell asks for. The last such cell counts.

    The number is None in the common notebook.
    """
    cells = (each for each in raw["cells"] if isinstance(each, Mapping) and each.get("cell_type") == "code")
    calls = [found for cell in cells if (found := CHECK.search(source_of(cell)))]
    return {call["name"]: int(call["number"]) if call["number"] else None for call in calls}
