"""What `autograder grade` says while it works and at the end."""

from __future__ import annotations

import contextlib
import difflib
import json
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from ..authoring.source import Broken
from .again import grade_again
from .batch import grade
from .drafts import Result
from .gradebook import BookClosed
from .interrupt import Interrupt
from .isolated.engine import Engine
from .isolated.kernel import CannotIsolate
from .isolated.starting import Starting
from .places import said
from .settings import CourseSettings, course_settings
from .standby import NoTemplate, Standby

_JOBS = len(os.sched_getaffinity(0))  # one for each core: see `Batch.drafts`


def grade_course(
    root: Path,
    assignment: str | None,
    starting: Starting,
    interrupt: Interrupt,
    *,
    jobs: int | None,
    isolation: str | None,
    force: bool,
    students: Sequence[str],
    as_json: bool,
) -> int:
    """Grade one assignment, or all that were handed in. Returns the exit status.

    It is 1 when a submission failed, or an assignment could not be graded: the others are. Raises Broken with the
    remedy when nothing can be graded.
    """
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)  # nbformat's on old notebooks; results have their reasons
    course = course_settings(root)
    chosen = [assignment] if assignment else course.assignments()
    if students:
        chosen = _handed_in_by(course, students, chosen)
    if not chosen:
        raise Broken(
            f"nothing was handed in: {course.directory.submitted_directory}/ in {course.root} has no submission"
        )
    results: dict[str, list[Result]] = {}
    refused: dict[str, Broken] = {}
    with _standby(course, isolation, starting) as standby:
        for name in chosen:
            progress = Progress(name, interrupt, force)
            try:
                results[name] = grade(
                    course, name, standby, jobs=jobs or _JOBS, force=force, students=students, seen=progress.show
                )
            except NoTemplate:
                raise
            except Broken as error:  # the others are graded
                refused[name] = error
            progress.end()
    if len(chosen) == len(refused) == 1:
        raise refused[chosen[0]]
    for name, why in refused.items():
        print(f"autograder: {name} was not graded: {why}", file=sys.stderr)
    if as_json:
        print(json.dumps({name: [asdict(each) for each in found] for name, found in results.items()}, indent=1))
    else:
        for name, found in results.items():
            print(_printable(table(course, name, found)))
    return int(bool(refused) or any(each.state == "failed" for found in results.values() for each in found))


def _handed_in_by(course: CourseSettings, students: Sequence[str], assignments: list[str]) -> list[str]:
    """Return those of `assignments` that one of `students` has handed in. Raises Broken for an unknown student."""
    who = {name: {folder.parent.name for folder in course.submissions(name)} for name in assignments}
    known = sorted(set().union(*who.values()))
    for student in students:
        if student not in known:
            near = difflib.get_close_matches(student, known, n=3) or known[:6]
            raise Broken(
                f"{student} has handed in nothing of {', '.join(assignments) or 'any assignment'}; "
                + (f"is it one of these: {', '.join(near)}?" if near else "nobody has")
            )
    return [name for name in assignments if who[name].intersection(students)]


def judge_again(
    root: Path,
    assignment: str,
    exercise: str,
    starting: Starting,
    interrupt: Interrupt,
    *,
    jobs: int | None,
    isolation: str | None,
    apply: bool,
    lower: bool,
    as_json: bool,
) -> int:
    """Judge one exercise of every submission anew. Returns the exit status: 1 when one could not be judged.

    Raises Broken with the remedy when nothing can be judged.
    """
    course = course_settings(root)
    stays = "scores that were changed stay" if apply else "nothing was changed"
    interrupt.kept = f"{stays}; the same command begins again"
    with _standby(course, isolation, starting) as standby:
        changes = grade_again(course, assignment, exercise, standby, jobs=jobs or _JOBS, apply=apply, lower=lower)
    if as_json:
        print(json.dumps([asdict(change) for change in changes], indent=1))
    else:
        print(
            f"{assignment}, {exercise}: {len(changes) or 'no'} scores {'changed or kept' if apply else 'would change'}"
        )
        print(_printable("".join(f"  {change}\n" for change in changes)), end="")
    return int(any(change.why for change in changes))


@contextlib.contextmanager
def _standby(course: CourseSettings, isolation: str | None, starting: Starting) -> Iterator[Standby]:
    """An engine with the course's limits; what stops all grading becomes a message with the remedy."""
    limits, isolated = course.isolation.limits(), (isolation or course.isolation.isolation) == "full"
    first = [starting] if starting.isolated == isolated else []
    try:
        with Standby(lambda: Engine(limits, isolated=isolated, starting=first.pop() if first else None)) as standby:
            yield standby
    except CannotIsolate as refused:
        raise Broken(
            f"answers cannot be isolated on this machine ({refused}), so nothing was graded. `autograder doctor` says "
            "what is missing and how to allow it; `--isolation=none` grades without, with students' code as your user"
        ) from refused
    except OSError as error:
        raise Broken(
            f"{said(error, course.root)}: what has been graded stays; grade again when it is mended"
        ) from error
    except BookClosed as closed:
        raise Broken(f"the gradebook cannot be written: {closed}; what has been written stays") from closed


class Progress:
    """A line on the terminal: how many are done, how fast, how long it will take.

    Where there is no terminal it only tells `interrupt` what is kept.
    """

    def __init__(self, name: str, interrupt: Interrupt, force: bool) -> None:
        self._name, self._done, self._start = name, 0, time.monotonic()
        self._interrupt = interrupt
        self._next = "with --force the same command begins again" if force else "the same command goes on from there"

    def show(self, result: Result, total: int) -> None:
        """Count a result of `total`."""
        self._done += 1
        self._interrupt.kept = f"{self._done} of {total} submissions of {self._name} are done and kept; {self._next}"
        if not sys.stderr.isatty():
            return
        speed = self._done / max(time.monotonic() - self._start, 1e-3)
        bar = "█" * (20 * self._done // total)
        left = (total - self._done) / speed
        print(
            f"\r{self._name} {bar:·<20} {self._done}/{total} · {speed:.1f}/s · {left:.0f} s left ",
            end="",
            file=sys.stderr,
            flush=True,
        )

    def end(self) -> None:
        if sys.stderr.isatty():
            print(file=sys.stderr)


def table(course: CourseSettings, name: str, results: list[Result]) -> str:
    """Every submission that needs a look with its reasons, then how many there are of each kind."""
    lines = [name]
    for each in sorted(results, key=lambda result: result.student):
        if each.reasons:
            score = "" if each.score is None else f" {each.score:g} points"
            lines.append(f"  {each.student}: {each.state}{score}")
            lines += [f"      {reason}" for reason in each.reasons]
    kinds = Counter(each.state for each in results)
    count = ", ".join(
        f"{kinds[state]} {state}" for state in ("graded", "flagged", "failed", "unchanged") if kinds[state]
    )
    return "\n".join([*lines, f"  {len(results)} submissions: {count or 'none'}"])


def _printable(text: str) -> str:
    """Names of folders and what a submission said go to a terminal: as text, and as nothing that it would obey."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
