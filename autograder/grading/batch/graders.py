"""The grader processes of one command, ready before the first submission."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from ...errors import UserError
from ..course.settings import CourseSettings
from ..files.atomic import describe_error
from ..gradebook.book import BookClosed
from ..sandbox.grader.fork_server_process import ForkServerProcess
from ..sandbox.wall.libc import CannotIsolate
from ..sandbox.wall.walls import strongest
from ..submission.grader import close_graders, process_grader
from ..wall_kinds import Wall


@contextlib.contextmanager
def open_graders(course: CourseSettings, isolation: Wall | None, starting: ForkServerProcess | None) -> Iterator[None]:
    """Make the fork server `starting` the one that grades in the `with` block. This is a context manager.

    If `starting` is None or has another wall, a fork server is started when it is needed. At the end all graders of
    this process are closed. Fatal errors in the `with` block become UserErrors with the remedy.
    """
    chosen = isolation or course.isolation.wall()
    if starting and chosen == Wall.AUTO and strongest(Wall.AUTO) == Wall.LANDLOCK:
        print(
            "autograder: no namespaces here, so answers are isolated by Landlock (`autograder doctor`)", file=sys.stderr
        )
    try:
        if starting and starting.wall == strongest(chosen):
            process_grader(course.isolation.limits(), chosen, starting)
        yield
    except CannotIsolate as refused:
        raise UserError(
            f"answers cannot be isolated on this machine ({refused}), so nothing was graded. `autograder doctor` says "
            "what is missing, how to allow it, and which other wall there is; `--isolation=none` grades without, with "
            "students' code as your user"
        ) from refused
    except OSError as error:
        raise UserError(
            f"{describe_error(error, course.root)}: what has been graded stays; grade again when it is mended"
        ) from error
    except BookClosed as closed:
        raise UserError(f"the gradebook cannot be written: {closed}; what has been written stays") from closed
    finally:
        close_graders()
