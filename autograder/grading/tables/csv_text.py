"""CSV files that are edited cell by cell, without other changes."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path

from ...errors import UserError

_FORMULA, _NUMBER = re.compile(r"'*\s*[=+\-@＝＋－＠]"), re.compile(r"[+-]?\d+(?:[.,]\d+)?")
_MOST_LINES = 200_000  # spreadsheets write a million empty ones below a table
_CELL = re.compile(r'"(?:[^"]|"")*"')


@dataclass
class CsvText:
    r"""The text of a CSV file, split into cells.

    `rows` holds the cells of each line as they stand in the file, with quotes. `ends` holds the end of each line, such
    as "\r\n".
    """

    rows: list[list[str]]
    ends: list[str]
    separator: str
    encoding: str
    mark: bytes  # the byte order mark, or nothing

    def cell(self, row: int, column: int) -> str:
        """Return the text of a cell, without quotes. Returns "" beyond the end of a short line."""
        cells = self.rows[row]
        raw = cells[column] if column < len(cells) else ""
        return raw[1:-1].replace('""', '"') if _CELL.fullmatch(raw) else raw

    def replace(self, row: int, column: int, text: str) -> None:
        """Replace the text of a cell. A cell that had quotes keeps them. Equal text changes nothing."""
        if self.cell(row, column) == text:
            return
        cells = self.rows[row]
        cells += [""] * (column + 1 - len(cells))
        quoted = cells[column].startswith('"') or any(c in text for c in ('"', self.separator, "\n", "\r"))
        escaped = text.replace('"', '""')
        cells[column] = f'"{escaped}"' if quoted else text

    def to_bytes(self) -> bytes:
        """Return the content of the file, to be written."""
        text = "".join(self.separator.join(cells) + end for cells, end in zip(self.rows, self.ends))
        return self.mark + text.encode(self.encoding, "xmlcharrefreplace")


def read_csv(path: Path) -> CsvText:
    """Read a CSV file in an encoding and with a separator that are guessed.

    The encoding is UTF-8, UTF-16 with a byte order mark, or cp1251, in which Excel writes Russian text. The separator
    is the comma, the semicolon or the tab.
    Raises UserError if the file cannot be read, or if it has more lines than any table of students.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    mark, encoding = encoding_of(data)
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is no text in UTF-8, UTF-16 or cp1251: save it as CSV in UTF-8") from error
    lines = max(map(text.count, "\n\r"))
    if lines > _MOST_LINES:
        raise UserError(
            f"{path} has {lines:,} lines; at most {_MOST_LINES:,} are read: delete the empty ones at the end"
        )
    separator = max(",;\t", key=(text.splitlines() or [""])[0].count)
    rows, ends = _split(text, separator)
    return CsvText(rows, ends, separator, encoding, mark)


def encoding_of(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark of a text, or nothing, and its encoding.

    The encoding is that of the mark, or UTF-8, or else cp1251, in which older programs write Russian text.
    """
    guessed = b"", "utf-8" if _is_utf8(data) else "cp1251"
    return next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), guessed)


_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _split(text: str, separator: str) -> tuple[list[list[str]], list[str]]:
    r"""Return a list of each line's cells, with their quotes, and a list of the line ends.

    The format is RFC 4180, except that lines may end with "\n", "\r" or "\r\n".
    """
    unquoted, end = rf"[^{re.escape(separator)}\r\n]*", rf"{re.escape(separator)}|\r\n|\n|\r|\Z"
    token, plain = re.compile(rf'("(?:[^"]|"")*"|{unquoted})({end})'), re.compile(rf"({unquoted})({end})")
    rows: list[list[str]] = []
    ends: list[str] = []
    cells: list[str] = []
    at = 0
    while at < len(text) or cells:
        found = token.match(text, at)
        if found is None:  # text after a closing quote, or a quote that never closes: up to the end of the line
            found = plain.match(text, at)
            assert found
        cells.append(found[1])
        at = found.end()
        if found[2] != separator:
            rows.append(cells)
            ends.append(found[2])
            cells = []
    return rows, ends


def write_csv(path: Path, rows: list[list[str]]) -> None:
    r"""Write `rows` into a new CSV file, in UTF-8 with a byte order mark, which Excel needs.

    Lines end with "\n": a shell's command such as `sed` would write behind a "\r". A cell that looks like a
    formula is written as text: see `as_text`.
    """
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([list(map(as_csv, row)) for row in rows])


def as_csv(cell: str) -> str:
    """Return the text of a cell in a form that no spreadsheet takes for a formula: `=A1` becomes `'=A1`.

    Names of students and files may begin like a formula. An apostrophe in front marks text (OWASP, "CSV injection").
    Text with apostrophes in front of a formula gets another one, so that `from_text` returns it. Numbers such as `-1.5`
    stay as they are.
    """
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def from_text(cell: str) -> str:
    """Return the text of a cell without the apostrophe that `as_text` has added, if it has."""
    return cell[1:] if cell.startswith("'") and as_csv(cell[1:]) != cell[1:] else cell
