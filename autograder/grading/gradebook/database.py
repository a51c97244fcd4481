"""The gradebook's database, SQLite or PostgreSQL: locks, errors, its address."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook
from sqlalchemy import event, make_url
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError, SQLAlchemyError

_TAKE = "SELECT pg_try_advisory_lock(%s)"


class LockedElsewhere(Exception):
    """An error: a grader on another machine works on the assignment."""


def hold_lock(gradebook: Gradebook, course_id: str, assignment: str) -> None:
    """Keep graders on other machines away from an assignment, as long as the gradebook is open.

    The lock is a session-level advisory lock of PostgreSQL. The server releases it when the connection ends, and a new
    connection takes it again. SQLite needs none: its graders share the lock file of the course folder.
    Raises LockedElsewhere if another grader holds the lock.
    """
    if gradebook.engine.dialect.name != "postgresql":
        return
    digest = hashlib.sha256(f"autograder {course_id} {assignment}".encode()).digest()
    key = int.from_bytes(digest[:8], "big", signed=True)

    def take(connection: Any, record: Any) -> None:
        with connection.cursor() as cursor:
            if not cursor.execute(_TAKE, (key,)).fetchone()[0]:
                raise LockedElsewhere(f"a grader on another machine is at work on {assignment}")
        connection.commit()  # the lock belongs to the connection, not to the transaction

    gradebook.db.remove()
    gradebook.engine.dispose()
    event.listen(gradebook.engine, "connect", take)
    with gradebook.engine.connect():
        pass


def is_temporary(error: Exception) -> bool:
    """Return whether `error` is temporary, so that a retry may succeed.

    That is so if another process was writing at the same time, or if the connection to a server was lost.
    """
    lost = isinstance(error, (OperationalError, InterfaceError)) and "psycopg" in type(error.orig).__module__
    return lost or isinstance(error, (IntegrityError, LockedElsewhere)) or "locked" in str(error)


def database_message(error: Exception) -> str:
    """Return the database's own message of an error, in one line."""
    original = error.orig if isinstance(error, DBAPIError) else None
    return (str(original or error).splitlines() or [type(error).__name__])[0]


def default_url(root: Path) -> str:
    """Return the address of a course's database if no setting names one: `sqlite:///ROOT/gradebook.db`."""
    return f"sqlite:///{root / 'gradebook.db'}"


def shown(url: str) -> str:
    """Return the database address `url` without the password. Returns "the database" if the address is invalid."""
    try:
        return make_url(url).render_as_string(hide_password=True)
    except SQLAlchemyError:
        return "the database"
