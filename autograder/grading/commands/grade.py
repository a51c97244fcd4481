"""The command `autograder grade`, also with `--again`: output and exit status."""

from __future__ import annotations

import contextlib
import difflib
import json
import logging
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict
from pathlib import Path

from ...errors import UserError
from ...extras import require
from ...language import quantity
from ..batch.batch import core_threads
from ..batch.counted_attempts import forget_other_scores, grade_counted, with_other_attempts
from ..batch.end_of_run import next_commands, results_table, summary
from ..batch.graders import open_graders
from ..batch.points_before_and_after import list_point_changes, points_now
from ..batch.regrade import grade_again
from ..batch.rule_changes import follow_rules
from ..course.course import Course, open_course
from ..course.withdrawals import remove_returned
from ..sandbox.grader.fork_server_process import ForkServerProcess
from ..sandbox.grader.restarting_engine import NoForkServer
from ..submission.pipeline import Result, State
from ..terminal import Interrupt, ProgressLine, printable
from ..wall_kinds import Wall


def grade_course(
    root: Path,
    assignment: str | None,
    starting: ForkServerProcess | None,
    interrupt: Interrupt,
    *,
    jobs: int | None,
    isolation: Wall | None,
    scheduler: str | None,
    force: bool,
    students: Sequence[str],
    as_json: bool,
) -> int:
    """Grade one assignment, or all that were handed in. Print the results and return the exit status.

    The status is 1 if a submission failed or an assignment could not be graded. After a failure the remaining
    submissions and assignments are still graded. `starting` is a fork server whose process has been started, or None if
    the workers of a Dask scheduler grade. The keyword arguments are the command's options.
    Raises UserError with the remedy if nothing can be graded.
    """
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)  # of nbformat; the results report problems
    course = open_course(root)
    chosen = [assignment] if assignment else course.assignments()
    if students:
        chosen = _handed_in_by(course, students, chosen)
    if not chosen:
        raise UserError(
            f"nothing was handed in: {course.directory.submitted_directory}/ in {course.root} has no submission"
        )
    for line in follow_rules(course):
        print(printable(line), file=sys.stderr)
    for line in (line for name in chosen for line in remove_returned(course, name)):
        print(printable(line), file=sys.stderr)
    before = points_now(course)
    results: dict[str, list[Result]] = {}
    refused: dict[str, UserError] = {}
    with open_graders(course, isolation, starting), _executor(scheduler, jobs) as (executor, ahead):
        for name in chosen:
            progress = ProgressLine(name, interrupt, force)
            try:
                results[name] = grade_counted(
                    course,
                    name,
                    executor,
                    isolation=isolation,
                    ahead=ahead,
                    force=force,
                    students=students,
                    seen=progress.show,
                    waits=progress.wait,
                )
            except NoForkServer:
                raise
            except UserError as error:  # grade the others
                refused[name] = error
            progress.end()
    if len(chosen) == len(refused) == 1:
        raise refused[chosen[0]]
    for name, why in refused.items():
        print(f"autograder: {name} was not graded: {why}", file=sys.stderr)
    if as_json:
        print(json.dumps({name: [each.to_json() for each in found] for name, found in results.items()}, indent=1))
    else:
        for name, found in results.items():
            print(printable("\n".join([results_table(name, found), *([] if students else summary(course, name))])))
        for line in list_point_changes(before, points_now(course), falls=True):
            print(printable(f"fallen: {line}"))
        if results and not students:
            print(printable(next_commands(course)))
    return int(bool(refused) or any(each.state is State.FAILED for found in results.values() for each in found))


@contextlib.contextmanager
def _executor(scheduler: str | None, jobs: int | None) -> Iterator[tuple[Executor, int]]:
    """Yield an executor, and the number of submissions that it should get at a time.

    This is a context manager.
    """
    if scheduler is None:
        jobs = jobs or _cores()
        with core_threads(jobs) as threads:
            yield threads, 2 * jobs
        return
    require("scale", "`autograder grade --scheduler`")
    from ..scale.cluster import dask_workers

    with dask_workers(scheduler) as workers:
        yield workers


def _cores() -> int:
    """Return the number of cores that this process may use. Linux alone knows it: see `core_threads`."""
    return len(os.sched_getaffinity(0))


def _handed_in_by(course: Course, students: Sequence[str], assignments: list[str]) -> list[str]:
    """Return the names in `assignments` that at least one of `students` has handed in.

    Raises UserError if one of the students has handed in nothing.
    """
    who = {name: {folder.parent.name for folder in course.submissions(name)} for name in assignments}
    known = sorted(set().union(*who.values()))
    for student in students:
        if student not in known:
            near = difflib.get_close_matches(student, known, n=3) or known[:6]
            raise UserError(
                f"{student} has handed in nothing of {', '.join(assignments) or 'any assignment'}; "
                + (f"is it one of these: {', '.join(near)}?" if near else "nobody has")
            )
    return [name for name in assignments if who[name].intersection(students)]


def judge_again(
    root: Path,
    assignment: str,
    exercise: str,
    starting: ForkServerProcess,
    interrupt: Interrupt,
    *,
    jobs: int | None,
    isolation: Wall | None,
    apply: bool,
    lower: bool,
    as_json: bool,
) -> int:
    """Grade one exercise of every submission again, and print the scores that change.

    Returns the exit status: 1 if a submission could not be graded. `starting` is a fork server whose process has been
    started. The keyword arguments are the command's options.
    Raises UserError with the remedy if nothing can be graded.
    """
    course = open_course(root)
    stays = "scores that were changed stay" if apply else "nothing was changed"
    interrupt.kept = f"{stays}; the same command begins again"
    jobs = jobs or _cores()
    with open_graders(course, isolation, starting), core_threads(jobs) as executor:
        changes = grade_again(
            course, assignment, exercise, executor, isolation=isolation, ahead=2 * jobs, apply=apply, lower=lower
        )
    others = with_other_attempts(course, assignment)
    if apply:
        forget_other_scores(course, assignment, others)
    if as_json:
        print(json.dumps([asdict(change) for change in changes], indent=1))
    else:
        many = quantity(len(changes), "score") if changes else "no scores"
        print(f"{assignment}, {exercise}: {many} {'changed or kept' if apply else 'would change'}")
        print(printable("".join(f"  {change}\n" for change in changes)), end="")
    if others:
        print(printable(_other_attempts(course, assignment, others, apply)), file=sys.stderr)
    return int(any(change.why for change in changes))


def _other_attempts(course: Course, assignment: str, students: Sequence[str], apply: bool) -> str:
    """Return the sentence on attempts that were not graded again, though the best attempt counts."""
    command = f"autograder grade {shlex.quote(os.path.relpath(course.root))} {shlex.quote(assignment)}"
    remedy = f"`{command}` grades them" if apply else f"after --apply, `{command}` grades them"
    return (
        f"the best attempt counts, and some students have other attempts ({', '.join(students)}): "
        f"{remedy}, and scores may rise or fall by that"
    )
