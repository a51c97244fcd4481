"""Cells that were run in this kernel, and those that ended early."""

from __future__ import annotations

import ast
import re
from types import TracebackType
from typing import Any

from ..bound_names import bound_names, names_bound_by
from ..cards.shown_verdict import ShownVerdict
from ..language import Note
from ..session import SESSION, CellRun


def remember_cells() -> None:
    """Record the source of each cell when IPython runs it, and the error that ended it.

    `ready` finds unsaved cells with this record, and `check` answers that were not run.
    """
    ipython = shell()
    if ipython is not None and _begun not in ipython.events.callbacks["pre_run_cell"]:
        ipython.events.register("pre_run_cell", _begun)
        ipython.events.register("post_run_cell", _ended)


def show_cards_in_terminal() -> None:
    """Make IPython in a terminal show a verdict as a card. A notebook keeps the number, which nbgrader reads."""
    ipython = shell()
    if ipython is not None and not hasattr(ipython, "kernel"):
        as_text = ipython.display_formatter.formatters["text/plain"]
        as_text.for_type(ShownVerdict, lambda verdict, printer, cycle: printer.text(str(verdict)))


def shell() -> Any:
    """Return IPython's shell, or None outside IPython."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()


def _begun(info: Any) -> None:
    cell_id = getattr(info, "cell_id", None)  # IPython 7 tells none
    if cell_id and not info.silent:
        SESSION.cells.pop(cell_id, None)  # so that the latest is the last
        SESSION.cells[cell_id] = CellRun(info.raw_cell)


def _ended(result: Any) -> None:
    cell_id, error = getattr(result.info, "cell_id", None), result.error_before_exec or result.error_in_exec
    if error is not None and cell_id in SESSION.cells:
        line = error.lineno if isinstance(error, SyntaxError) else _line_of(error.__traceback__)
        SESSION.cells[cell_id] = CellRun(result.info.raw_cell, type(error).__name__, line)


def _line_of(traceback: TracebackType | None) -> int | None:
    """Return the line of the cell at which an error left it. The cell is the first code without a function."""
    while traceback is not None:
        if traceback.tb_frame.f_code.co_name in ("<module>", "<cell line: 1>"):
            return traceback.tb_lineno
        traceback = traceback.tb_next
    return None


def unfinished(name: str) -> Note | None:
    """Return a note if the last cell that defines `name` ended before the definition, else None.

    The kernel then still has an older definition or none.
    """
    defines = re.compile(rf"^(async\s+)?(def|class)\s+{name}\b|^{name}\s*(:[^=\n]*)?=(?!=)", re.M)
    for run in reversed(SESSION.cells.values()):
        if defines.search(run.source):
            if run.error is None or not _is_before(run, name):
                return None
            id = "absent.cell_ended" if run.above is None else "absent.file_ended"
            line = run.line and run.line + (run.above or 0)
            return Note(id, {"name": name, "error": run.error, "line": line or "?"})
    return None


def _is_before(run: CellRun, name: str) -> bool:
    """Return whether the error that ended a run is not below the definition of `name`."""
    try:
        statements = ast.parse(run.source).body
    except (SyntaxError, ValueError, RecursionError):  # a magic command may be in it, too
        return run.error in ("SyntaxError", "IndentationError", "TabError")
    ends = [each.end_lineno or 0 for each in statements if name in names_bound_by(each)]
    return bool(ends) and run.line is not None and run.line <= max(ends)


def is_bound_in(sources: list[str], name: str) -> bool:
    """Return whether one of some cells gives a value to `name`: a definition, an assignment or an import."""
    return any(name in bound_names(source) for source in sources)
