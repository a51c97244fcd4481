"""The command `autograder watch`: submissions graded on arrival, with feedback."""

from __future__ import annotations

import logging
import os
import time
from functools import partial
from pathlib import Path

from ..batch.batch import core_threads
from ..batch.graders import open_graders
from ..batch.rule_changes import follow_rules
from ..course.course import open_course
from ..sandbox.grader.fork_server_process import ForkServerProcess
from ..tables.roster import STUDENTS_FILE
from ..terminal import Interrupt, printable
from ..wall_kinds import Wall
from ..watching.inbox import inboxes
from ..watching.watch import Watch

_PAUSE = 0.5  # seconds between two looks at the folders


def watch_course(
    root: Path,
    folders: list[Path],
    starting: ForkServerProcess,
    interrupt: Interrupt,
    *,
    jobs: int | None,
    isolation: Wall | None,
    add: bool,
) -> int:
    """Grade the submissions that arrive in `folders`, or in nbgrader's exchange, until Ctrl+C.

    Unknown people are added to `students.csv` if `add` is True or there is no such file yet. `starting` is a fork
    server whose process has been started. `jobs` and `isolation` are options of the command.
    Raises UserError with the remedy if nothing can be watched.
    """
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    course = open_course(root)
    watched = inboxes(course, folders)
    interrupt.kept = "what was graded stays, and the same command goes on from there"
    for line in follow_rules(course):
        print(printable(line))
    jobs = jobs or len(os.sched_getaffinity(0))
    with open_graders(course, isolation, starting), core_threads(jobs) as executor:
        watch = Watch(course, executor, isolation, 2 * jobs, add or not (course.root / STUDENTS_FILE).exists())
        print(f"watching {', '.join(str(each.folder) for each in watched)}; Ctrl+C ends it", flush=True)
        while True:
            for inbox in watched:
                watch.attempt(inbox.folder, partial(watch.look, inbox))
            watch.answer_refused()
            for assignment in watch.pending:
                watch.attempt(course.source(assignment), partial(watch.grade_pending, assignment))
            watch.give_withheld()
            time.sleep(_PAUSE)
