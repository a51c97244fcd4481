"""A released notebook in which each student has tables of their own.

A student's tables are judged by the student's own variants, whatever the notebook says. So nobody can choose a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...language import Note
from ...lessons.source import CHECK
from ...messages.reasons import make_reason
from ..files.inert_names import one_line
from ..files.submitted_cells import origin_of, source_of
from ..gradebook.released_notebooks import ReleasedNotebook
from .personal_tables import PersonalTables, own_cells

_LONGEST = 100  # characters of a student's id


@dataclass(frozen=True)
class OwnNotebook(ReleasedNotebook):
    """A released notebook for one student, whose tables are not drawn yet.

    The cells are those of the common notebook, because programs take a while to run. `name` is its released name.
    """

    tables: PersonalTables = field(kw_only=True)
    student: str = field(kw_only=True)
    name: str = field(kw_only=True)

    @property
    def numbers(self) -> Mapping[str, int]:
        return self.tables.numbers(self.student, self.name)

    def match(self, submitted: Mapping[str, Any]) -> ReleasedNotebook:
        """Return the copy by which a submitted notebook is graded, with its tables and expected results.

        It is the student's own copy, or that of a member of the team if the submitted notebook was made for this
        member. Raises BrokenSource if a program of a table cannot be run.
        """
        made_for = _made_for(submitted)
        holder = self.tables.holder(self.student, made_for)
        own, found = self.tables.draw(holder, self.name), _numbers(submitted)
        foreign = {each for each, table in own.items() if each in found and found[each] != table.number}
        reasons: list[Note] = []
        if own and made_for and made_for != holder:
            reasons.append(make_reason("copy.of", student=one_line(made_for)))
        elif foreign:
            common = all(found[each] is None for each in foreign)
            reasons.append(make_reason("copy.common" if common else "copy.unknown"))
        given = [table for each in {holder, made_for or holder} for table in self.tables.draw(each, self.name).values()]
        sources = {table.put_into(source) for table in given for _, source in self.order if source}
        return ReleasedNotebook(
            own_cells(self.cells, own),
            self.kernel,
            self.order,
            expected={each: table.expected for each, table in own.items()},
            foreign=frozenset(foreign),
            programs=frozenset(filter(None, sources)),
            reasons=tuple(reasons),
        )


def _made_for(submitted: Mapping[str, Any]) -> str:
    """Return the id of the student for whom a copy was made, as the notebook says, or an empty text."""
    student = origin_of(submitted).get("student")
    return student[:_LONGEST] if isinstance(student, str) else ""


def _numbers(submitted: Mapping[str, Any]) -> dict[str, int | None]:
    """Return a dict from exercise to the number of the table that a check cell asks for. The last such cell counts.

    The number is None in the common notebook.
    """
    cells = (each for each in submitted["cells"] if isinstance(each, Mapping) and each.get("cell_type") == "code")
    calls = [found for cell in cells if (found := CHECK.search(source_of(cell)))]
    return {call["name"]: int(call["number"]) if call["number"] else None for call in calls}
