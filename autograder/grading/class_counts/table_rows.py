"""Counts of the wrong predictions in each row of a table.

Tables of two programs count together if their rows have the same labels, whatever numbers the labels hold. So do a
student's own tables, whose numbers are drawn.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...checking.verdict import Verdict

_MOST_FREQUENT = 3  # wrong values that are shown
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
Predictions = Mapping[str, tuple[str, str | None]]  # from label to the right value, and the wrong one that was given


@dataclass
class Row:
    """The predictions in one row of all tables that count together.

    `labels` and `rights` hold a label and a right value for each table. `wrong` counts pairs of a wrong value and the
    right one. `empty` is the number of unfinished tables without a value here.
    """

    labels: list[str] = field(default_factory=list)
    rights: list[str] = field(default_factory=list)
    wrong: Counter[tuple[str, str]] = field(default_factory=Counter)
    empty: int = 0

    def add(self, label: str, right: str, given: str | None) -> None:
        """Count one prediction. `given` is the wrong value, or None if the prediction is right."""
        self.labels.append(label)
        self.rights.append(right)
        if given is not None:
            self.wrong[given, right] += 1

    @property
    def label(self) -> str:
        """The row's label. An ellipsis stands for a number that differs between tables."""
        places = zip(*map(_NUMBER.findall, self.labels))
        numbers = iter([place[0] if len(set(place)) == 1 else "…" for place in places])
        return _NUMBER.sub(lambda _: next(numbers), self.labels[0])

    @property
    def right(self) -> str | None:
        """The right value, or None if it differs between tables."""
        return self.rights[0] if len(set(self.rights)) == 1 else None

    @property
    def frequent(self) -> list[tuple[tuple[str, str], int]]:
        """The most frequent wrong values with the right ones, and how often each was given."""
        return self.wrong.most_common(_MOST_FREQUENT)

    @property
    def others(self) -> int:
        """The number of wrong predictions that are not among the most frequent."""
        return self.wrong.total() - sum(count for _, count in self.frequent)


@dataclass
class TableCounts:
    """The rows of all tables that count together, the worst row first.

    `filled` is the number of tables without a gap, `blank` the number of those with nothing filled in.
    """

    rows: list[Row]
    filled: int
    blank: int = 0

    @property
    def of_interest(self) -> list[Row]:
        """The rows that somebody predicted wrong or left empty."""
        return [row for row in self.rows if row.wrong or row.empty]


@dataclass(frozen=True)
class Unfinished:
    """A table with gaps, which is not judged."""

    gaps: tuple[str, ...]
    is_blank: bool


def predictions_in(cell: Mapping[str, Any]) -> Predictions:
    """Return the predictions that a check's output holds. They are empty if the answer is no table, or has gaps.

    `cell` is the check's JSON.
    """
    found: dict[str, tuple[str, str | None]] = {}
    for output in cell["outputs"]:
        match output:
            case {"metadata": {"rows": [*rows]}}:
                for row in rows:
                    match row:
                        case [str(label), str(right), None | str() as given]:
                            found[label] = right, given
    return found


def gaps_in(verdict: Verdict) -> Unfinished | None:
    """Return the gaps of a table, or None if there are none. A table of somebody else lacks other rows."""
    if any(note.id == "note.foreign_table" for note in verdict.notes):
        return None
    for note in verdict.finding.got if verdict.finding else ():
        match note.id, note.parameters:
            case "absent.entries", {"entries": str(entries), "filled": int(filled)}:
                return Unfinished(tuple(re.findall(r"`([^`]+)`", entries)), not filled)
    return None


def count_rows(tables: Iterable[Predictions], unfinished: Iterable[Unfinished]) -> list[TableCounts]:
    """Return the counts of tables whose rows correspond, the largest number of tables first."""
    alike: dict[tuple[str, ...], list[Predictions]] = defaultdict(list)
    for table in tables:
        alike[tuple(sorted(map(_without_numbers, table)))].append(table)
    found = [_counted(each) for each in sorted(alike.values(), key=len, reverse=True)]
    for each in unfinished:
        _add_gaps(found, each)
    for counts in found:
        counts.rows.sort(key=lambda row: (-row.wrong.total(), -row.empty))
    return found


def _counted(tables: list[Predictions]) -> TableCounts:
    """Return the counts of tables with the same labels, in the order of the first one."""
    rows = [Row() for _ in tables[0]]
    for table in tables:
        for row, label in zip(rows, sorted(table, key=_without_numbers)):
            row.add(label, *table[label])
    order = list(tables[0])
    return TableCounts(sorted(rows, key=lambda row: order.index(row.labels[0])), len(tables))


def _add_gaps(found: Collection[TableCounts], unfinished: Unfinished) -> None:
    """Count an unfinished table where it belongs. Nobody has filled in another of its kind if it belongs nowhere."""
    for counts in found:
        rows = [_row_of(counts.rows, gap) for gap in unfinished.gaps]
        if None not in rows:
            counts.blank += unfinished.is_blank
            for row in rows if not unfinished.is_blank else []:
                assert row is not None
                row.empty += 1
            return


def _row_of(rows: list[Row], label: str) -> Row | None:
    same = [row for row in rows if label in row.labels]
    same += [row for row in rows if _without_numbers(label) == _without_numbers(row.labels[0])]
    return same[0] if same else None


def _without_numbers(label: str) -> str:
    return _NUMBER.sub("#", label)
