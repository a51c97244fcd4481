"""Commands that grade, answer requests to look again, or examine the machine."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import Any

from ..grading.wall_kinds import Wall
from .options import add_assignment, add_command, add_course_folder, positive


def add_commands(commands: Any) -> None:
    """Add the commands for grading to argparse's `commands`."""
    grade = add_command(
        commands, "grade", _grade, "grade submissions, each in a sandbox, on all cores", extra="instructor"
    )
    add_course_folder(grade)
    add_assignment(grade, "all with submissions")
    _add_jobs(grade)
    says = "only this student's submission; may be given more than once"
    grade.add_argument("--student", action="append", default=[], metavar="NAME", help=says)
    grade.add_argument("--force", action="store_true", help="also grade submissions again that have not changed")
    _add_isolation(
        grade,
        "the wall around students' code; auto: full, else landlock; none: as your user (default: as the course's "
        "config says, else full)",
    )
    says = "grade on the workers of this Dask scheduler, tcp://HOST:8786, or of one started here, local:2"
    grade.add_argument("--scheduler", metavar="ADDRESS", help=says)
    grade.add_argument("--json", action="store_true", help="print the results as JSON")
    says = "judge this exercise of all submissions again, and list the scores that would change"
    grade.add_argument("--again", metavar="EXERCISE", help=says)
    grade.add_argument("--apply", action="store_true", help="with --again: raise the scores that would rise")
    grade.add_argument("--lower", action="store_true", help="with --again --apply: also lower scores")

    says = "grade submissions as they arrive, and give feedback at once"
    watch = add_command(commands, "watch", _watch, says, extra="instructor")
    add_course_folder(watch)
    watch.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="(default: nbgrader's exchange)")
    _add_jobs(watch)
    _add_isolation(watch, "as for `autograder grade`")
    watch.add_argument("--add", action="store_true", help="add unknown people to students.csv")

    says = "list students' requests to look again, or answer one"
    requests = add_command(commands, "requests", _requests, says, extra="instructor")
    add_course_folder(requests)
    add_assignment(requests, "all")
    requests.add_argument("--student", metavar="NAME", help="with --answer: whose requests are answered")
    requests.add_argument("--answer", metavar="TEXT", help="a comment for the student's page of feedback")

    says = "find out whether this machine can isolate students' code, and how to allow it"
    doctor = add_command(commands, "doctor", _doctor, says, extra="instructor")
    doctor.add_argument("--scheduler", metavar="ADDRESS", help="examine the workers of this Dask scheduler instead")


def _add_jobs(command: argparse.ArgumentParser) -> None:
    command.add_argument("--jobs", type=positive, default=None, help="submissions at a time (default: one a core)")


def _add_isolation(command: argparse.ArgumentParser, says: str) -> None:
    command.add_argument("--isolation", choices=[*map(str, Wall)], default=None, help=says)


def _isolation(chosen: argparse.Namespace) -> Wall | None:
    return Wall(chosen.isolation) if chosen.isolation else None


def _grade(chosen: argparse.Namespace) -> int:
    _refuse_contradictions(chosen)
    from ..grading.sandbox.grader.fork_server_process import ForkServerProcess
    from ..grading.sandbox.server.garbage import gc_frozen
    from ..grading.terminal import Interrupt

    isolation = _isolation(chosen)
    # jsonschema would import this, which takes a second, for a format that no notebook uses. It works without.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    with contextlib.ExitStack() as opened:
        interrupt = opened.enter_context(Interrupt())
        starting = None
        if not chosen.scheduler:  # else nothing runs here
            starting = opened.enter_context(ForkServerProcess(isolation or Wall.FULL))
            interrupt.clean = starting.end
        with gc_frozen():  # import while the fork server starts, as both take equally long
            from ..grading.commands.grade import grade_course, judge_again

        common = {"jobs": chosen.jobs, "isolation": isolation, "as_json": chosen.json}
        if chosen.again and starting:
            what = (chosen.directory, chosen.assignment, chosen.again, starting, interrupt)
            return judge_again(*what, apply=chosen.apply, lower=chosen.lower, **common)
        which = {"force": chosen.force, "students": chosen.student, "scheduler": chosen.scheduler}
        return grade_course(chosen.directory, chosen.assignment, starting, interrupt, **which, **common)


def _refuse_contradictions(chosen: argparse.Namespace) -> None:
    """End the process with a message if options of `grade` do not go together."""
    if chosen.again and not chosen.assignment:
        chosen.refuse("--again needs the assignment as well: autograder grade DIR ASSIGNMENT --again EXERCISE")
    if chosen.again and chosen.student:
        chosen.refuse("--again judges everybody: it does not go with --student")
    if chosen.again and chosen.scheduler:
        chosen.refuse("--again judges on this machine: it does not go with --scheduler")
    if (chosen.apply or chosen.lower) and not chosen.again:
        chosen.refuse("--apply and --lower say what --again EXERCISE may do")


def _watch(chosen: argparse.Namespace) -> int:
    from ..grading.sandbox.grader.fork_server_process import ForkServerProcess
    from ..grading.terminal import Interrupt

    isolation = _isolation(chosen)
    with Interrupt() as interrupt, ForkServerProcess(isolation or Wall.FULL) as starting:
        interrupt.clean = starting.end
        from ..grading.commands.watch import watch_course

        options = {"jobs": chosen.jobs, "isolation": isolation, "add": chosen.add}
        return watch_course(chosen.directory, chosen.folders, starting, interrupt, **options)


def _requests(chosen: argparse.Namespace) -> int:
    from ..grading.commands.requests import answer_request, list_requests

    if not chosen.answer:
        return list_requests(chosen.directory, chosen.assignment)
    if not (chosen.assignment and chosen.student):
        chosen.refuse("--answer needs more: autograder requests DIR ASSIGNMENT --student NAME --answer TEXT")
    return answer_request(chosen.directory, chosen.assignment, chosen.student, chosen.answer)


def _doctor(chosen: argparse.Namespace) -> int:
    from ..extras import refuse_others, require

    refuse_others()
    if chosen.scheduler:
        require("scale", "`autograder doctor --scheduler`")
        from ..grading.scale.cluster import examine_workers

        healthy, findings = examine_workers(chosen.scheduler)
    else:
        from ..grading.doctor import examine

        healthy, findings = examine()
    print(findings)
    return int(not healthy)
