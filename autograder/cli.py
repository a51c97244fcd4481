"""Commands of `autograder`: lab, singleuser, build, verify, course, grade, feedback, report, doctor."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

# Everything else is imported in `main`, so that Ctrl+C during imports also ends with one line.
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from .authoring.build import Collection

_STOPPED, _NOBODY_READS = 130, 141  # the exit statuses that shells use for SIGINT and SIGPIPE
_BEGIN = """\
A course on torch.autograd, and the grader of its notebooks.

to learn:          autograder lab
по-русски:         autograder lab --language ru
to teach a class:  autograder course DIR
all commands:      autograder --help"""

_FOR_INSTRUCTORS = (
    "build",
    "course",
    "collect",
    "return",
    "grade",
    "watch",
    "requests",
    "feedback",
    "report",
    "doctor",
)
# The extra whose packages a command imports. A command that is not named needs torch and numpy alone.
_EXTRAS = {
    "lab": "lab",
    "singleuser": "hub",
    **dict.fromkeys(_FOR_INSTRUCTORS, "instructor"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of `autograder` and return its exit status.

    The status is 0, or 1 if something must be fixed, which stderr then names. It is 130 after Ctrl+C. It is 141 if the
    program that reads the output has ended, such as `head` in a pipe.
    """
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        print("autograder: stopped", file=sys.stderr)
        return _STOPPED
    except BrokenPipeError:
        if not _drop_unread_output():
            raise
        return _NOBODY_READS


def _drop_unread_output() -> bool:
    """Redirect stdout and stderr to the null device if nobody reads them any more.

    Python would otherwise report an error at exit. Returns whether a stream was redirected.
    """
    import os
    import select

    poll = select.poll()
    for stream in (1, 2):
        poll.register(stream, 0)  # poll reports errors even with an empty mask
    unread = [stream for stream, _ in poll.poll(0)]
    for stream in unread:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    return bool(unread)


def _run(arguments: Sequence[str] | None) -> int:
    """Run one command of `autograder` and return its exit status."""
    import argparse
    from pathlib import Path

    from .errors import UserError

    parser = argparse.ArgumentParser(
        prog="autograder", description="A course on torch.autograd and its graded checker."
    )
    commands = parser.add_subparsers(dest="command")

    lab = commands.add_parser("lab", help="open JupyterLab on a working copy of the notebooks")
    lab.add_argument("--language", choices=("en", "ru"), default="en")
    lab.add_argument("--work", type=Path, default=Path("work"), help="the working copy (default: work)")
    lab.add_argument("--prepare", action="store_true", help="only prepare the working copy")

    commands.add_parser("singleuser", help="be JupyterHub's server for one user, in the language that the hub names")

    build = commands.add_parser("build", help="write notebooks and keys from the lesson sources")
    build.add_argument("lessons", nargs="*", metavar="LESSON")
    how = build.add_mutually_exclusive_group()
    how.add_argument("--check", action="store_true", help="write nothing; fail if a built file is out of date")
    how.add_argument(
        "--accept", action="store_true", help="record that the Russian texts of LESSON match the English ones"
    )
    build.add_argument("--course", type=Path, metavar="DIR", help="the private lessons of this course folder instead")

    verify = commands.add_parser(
        "verify", help="check the exercises: solutions pass, stubs do not, each mistake is recognised"
    )
    verify.add_argument("lessons", nargs="*", metavar="LESSON[.EXERCISE]")
    verify.add_argument("--json", action="store_true", help="print the reports as a JSON list")
    verify.add_argument(
        "--processes",
        type=_positive,
        metavar="N",
        help="try each answer four times in each of N processes (default: 5)",
    )
    verify.add_argument("--course", type=Path, metavar="DIR", help="the private lessons of this course folder instead")

    course = commands.add_parser("course", help="make an nbgrader course folder, or bring one up to date")
    course.add_argument("directory", type=Path, metavar="DIR")
    what = course.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="only explain the rules, and which grades they would change")
    what.add_argument("--apply", action="store_true", help="let grades follow the rules as they stand now")
    course.add_argument("--language", choices=("en", "ru"), default=None, help="of a new course (default: en)")
    course.add_argument("--id", default=None, help="nbgrader's course id (default: the folder's name)")

    collect = commands.add_parser("collect", help="take submissions out of what an LMS gives: zip archives or folders")
    collect.add_argument("files", nargs="+", type=Path, metavar="FILE", help="archives, folders or notebooks")
    collect.add_argument("--course", type=Path, default=Path(), metavar="DIR", help="the course folder (default: here)")
    collect.add_argument("--worksheet", type=Path, metavar="CSV", help="Moodle's grading worksheet: names and times")
    collect.add_argument("--add", action="store_true", help="add unknown people to students.csv")

    grade = commands.add_parser("grade", help="grade submissions, each in a sandbox, on all cores")
    grade.add_argument("directory", type=Path, metavar="DIR", help="the course folder")
    grade.add_argument("assignment", nargs="?", type=_assignment, help="an assignment (default: all with submissions)")
    grade.add_argument("--jobs", type=_positive, default=None, help="submissions at a time (default: one a core)")
    grade.add_argument(
        "--student",
        action="append",
        default=[],
        metavar="NAME",
        help="only this student's submission; may be given more than once",
    )
    grade.add_argument("--force", action="store_true", help="also grade submissions again that have not changed")
    grade.add_argument(
        "--isolation",
        choices=("full", "none"),
        default=None,
        help="none: run students' code as your user (default: as the course's config says, else full)",
    )
    grade.add_argument("--json", action="store_true", help="print the results as JSON")
    grade.add_argument(
        "--again",
        metavar="EXERCISE",
        help="judge this exercise of all submissions again, and list the scores that would change",
    )
    grade.add_argument("--apply", action="store_true", help="with --again: raise the scores that would rise")
    grade.add_argument("--lower", action="store_true", help="with --again --apply: also lower scores")

    watch = commands.add_parser("watch", help="grade submissions as they arrive, and give feedback at once")
    watch.add_argument("directory", type=Path, metavar="DIR", help="the course folder")
    watch.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="(default: nbgrader's exchange)")
    watch.add_argument("--jobs", type=_positive, default=None, help="submissions at a time (default: one a core)")
    watch.add_argument("--isolation", choices=("full", "none"), default=None, help="as for `autograder grade`")
    watch.add_argument("--add", action="store_true", help="add unknown people to students.csv")

    requests = commands.add_parser("requests", help="list students' requests to look again, or answer one")
    requests.add_argument("directory", type=Path, metavar="DIR", help="the course folder")
    requests.add_argument("assignment", nargs="?", type=_assignment, help="an assignment (default: all)")
    requests.add_argument("--student", metavar="NAME", help="with --answer: whose requests are answered")
    requests.add_argument("--answer", metavar="TEXT", help="a comment for the student's page of feedback")

    feedback = commands.add_parser("feedback", help="make the feedback pages that are missing or out of date")
    feedback.add_argument("directory", type=Path, metavar="DIR", help="the course folder")
    feedback.add_argument(
        "assignment", nargs="?", type=_assignment, help="an assignment (default: all that were graded)"
    )
    feedback.add_argument("--release", action="store_true", help="then release all pages to nbgrader's exchange")

    hand_back = commands.add_parser("return", help="write grades and feedback in the forms that an LMS imports")
    hand_back.add_argument("directory", type=Path, metavar="DIR", help="the course folder")
    hand_back.add_argument("assignment", nargs="?", type=_assignment, help="one assignment (default: all, and a total)")
    hand_back.add_argument(
        "--worksheet", type=Path, metavar="CSV", help="Moodle's grading worksheet (default: the collected one)"
    )
    hand_back.add_argument("--gradebook", type=Path, metavar="CSV", help="Canvas' gradebook, as exported")

    report = commands.add_parser("report", help="make a page on what the class understood")
    report.add_argument("directory", type=Path, metavar="DIR", help="the course folder")
    report.add_argument("assignment", nargs="?", type=_assignment, help="an assignment (default: all that were graded)")
    report.add_argument(
        "--language", choices=("en", "ru"), default=None, help="of the page (default: the course's language)"
    )

    commands.add_parser("doctor", help="find out whether this machine can isolate students' code, and how to allow it")

    chosen = parser.parse_args(arguments)
    if chosen.command is None:
        print(_BEGIN)
        return 0
    if chosen.command == "build" and chosen.accept and not chosen.lessons:
        parser.error("--accept needs the name of a lesson: it says that you have read its Russian texts")
    if chosen.command == "grade" and chosen.again and not chosen.assignment:
        parser.error("--again needs the assignment as well: autograder grade DIR ASSIGNMENT --again EXERCISE")
    if chosen.command == "grade" and chosen.again and chosen.student:
        parser.error("--again judges everybody: it does not go with --student")
    if chosen.command == "grade" and (chosen.apply or chosen.lower) and not chosen.again:
        parser.error("--apply and --lower say what --again EXERCISE may do")
    if chosen.command == "requests" and chosen.answer and not (chosen.assignment and chosen.student):
        parser.error("--answer needs more: autograder requests DIR ASSIGNMENT --student NAME --answer TEXT")
    try:
        if chosen.command in _EXTRAS:
            from .extras import refuse_others, require

            if chosen.command == "doctor":
                refuse_others()
            require(_EXTRAS[chosen.command], f"`autograder {chosen.command}`")
        return int(globals()[f"_{chosen.command}"](chosen))
    except UserError as error:
        print(f"autograder: {error}", file=sys.stderr)
        return 1


def _assignment(text: str) -> str:
    """Return the name of an assignment from a command-line argument.

    The argument may be a path, because shells complete a name to the folder's path.
    """
    from pathlib import Path

    return Path(text).name or text


def _positive(text: str) -> int:
    """Return the number that a command-line argument states.

    Raises ArgumentTypeError if the argument is no whole number of at least 1.
    """
    import argparse

    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _lab(chosen: argparse.Namespace) -> int:
    from .errors import UserError
    from .learner.lab import open_lab, show_contents
    from .learner.working_copy import prepare

    try:
        prepare(chosen.work, chosen.language)
        show_contents(chosen.work / chosen.language, chosen.language)
    except OSError as error:
        raise UserError(f"cannot write to {chosen.work} ({error.strerror}): name another folder with --work") from error
    return 0 if chosen.prepare else open_lab(chosen.work, chosen.language)


def _singleuser(chosen: argparse.Namespace) -> int:
    from .learner.servers.hub import serve

    serve()


def _build(chosen: argparse.Namespace) -> int:
    from .authoring import build, lint

    collection = _collection(chosen)
    failed = False
    for lesson in collection.read(chosen.lessons):
        if chosen.accept:
            print(f"{lesson.path}: {build.accept(lesson)} Russian cells accepted")
            (lesson,) = collection.read([lesson.name])
        complaints = list(lint.problems(lesson))
        for line, complaint in complaints:
            print(f"{lesson.path}:{line}: {complaint}", file=sys.stderr)
        files = collection.files(lesson)
        stale = build.stale(files) if chosen.check else []
        for path in stale:
            print(f"{path}: not what its source gives: run `autograder build {lesson.name}`", file=sys.stderr)
        for path in () if chosen.check else build.write(files):
            print(f"wrote {path}")
        failed |= bool(complaints or stale)
    return int(failed)


def _verify(chosen: argparse.Namespace) -> int:
    import json

    from .authoring import gate, trials

    processes = chosen.processes or trials.PROCESSES
    collection = _collection(chosen)
    reports, failed = [], False
    wanted = [name.partition(".")[::2] for name in chosen.lessons] or [
        (lesson.name, "") for lesson in collection.read()
    ]
    for name, only in wanted:
        (lesson,) = collection.read([name])
        found, whole = gate.verify(lesson, collection.exercises(lesson), only, processes)
        reports += found
        for complaint in whole:
            print(f"{lesson.file_name}: {complaint}", file=sys.stderr)
        for report in found:
            for problem in report.problems:
                print(f"{report.lesson}.{report.exercise}: {problem}", file=sys.stderr)
        failed |= bool(whole or any(report.problems for report in found))
    if chosen.json:
        print(json.dumps([report.to_json() for report in reports], ensure_ascii=False, indent=2))
    else:
        for report in reports:
            known = sum(report.mistakes[name] == name for name in report.mistakes)
            sign = "✗" if report.problems else "✓"
            alternatives = f"{len(report.alternatives)} alternatives"
            print(
                f"{sign} {report.exercise}: {report.solution}, {known}/{len(report.mistakes)} mistakes, {alternatives}"
            )
    return int(failed)


def _course(chosen: argparse.Namespace) -> int:
    from .grading.course.create import make_course

    if chosen.check or chosen.apply:
        from .grading.rules.command import check_rules

        return check_rules(chosen.directory, apply=chosen.apply)
    make_course(chosen.directory, chosen.id, language=chosen.language)
    return 0


def _collect(chosen: argparse.Namespace) -> int:
    from .grading.collecting.command import collect

    return collect(chosen.course, chosen.files, worksheet=chosen.worksheet, add=chosen.add)


def _return(chosen: argparse.Namespace) -> int:
    from .grading.returning.command import return_course

    return return_course(chosen.directory, chosen.assignment, worksheet=chosen.worksheet, gradebook=chosen.gradebook)


def _grade(chosen: argparse.Namespace) -> int:
    from .grading.interrupt import Interrupt
    from .grading.sandbox.fork_server_process import ForkServerProcess
    from .grading.sandbox.garbage import gc_frozen

    # jsonschema would import this, which takes a second, for a format that no notebook uses. It works without.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    with Interrupt() as interrupt, ForkServerProcess(isolated=chosen.isolation != "none") as starting:
        interrupt.clean = starting.end
        with gc_frozen():  # import while the fork server starts, as both take equally long
            from .grading.grade_command import grade_course, judge_again

        common = {"jobs": chosen.jobs, "isolation": chosen.isolation, "as_json": chosen.json}
        if chosen.again:
            what = (chosen.directory, chosen.assignment, chosen.again, starting, interrupt)
            return judge_again(*what, apply=chosen.apply, lower=chosen.lower, **common)
        which = {"force": chosen.force, "students": chosen.student}
        return grade_course(chosen.directory, chosen.assignment, starting, interrupt, **which, **common)


def _watch(chosen: argparse.Namespace) -> int:
    from .grading.interrupt import Interrupt
    from .grading.sandbox.fork_server_process import ForkServerProcess

    with Interrupt() as interrupt, ForkServerProcess(isolated=chosen.isolation != "none") as starting:
        interrupt.clean = starting.end
        from .grading.watching.command import watch_course

        options = {"jobs": chosen.jobs, "isolation": chosen.isolation, "add": chosen.add}
        return watch_course(chosen.directory, chosen.folders, starting, interrupt, **options)


def _requests(chosen: argparse.Namespace) -> int:
    from .grading.requests.command import answer_request, list_requests

    if chosen.answer:
        return answer_request(chosen.directory, chosen.assignment, chosen.student, chosen.answer)
    return list_requests(chosen.directory, chosen.assignment)


def _feedback(chosen: argparse.Namespace) -> int:
    from .grading.feedback.command import make_feedback

    return make_feedback(chosen.directory, chosen.assignment, release=chosen.release)


def _report(chosen: argparse.Namespace) -> int:
    from .grading.report.page import report_course

    for path in report_course(chosen.directory, chosen.assignment, chosen.language):
        print(path)
    return 0


def _doctor(chosen: argparse.Namespace) -> int:
    from .grading.doctor import examine

    return examine()


def _collection(chosen: argparse.Namespace) -> Collection:
    from .authoring.build import COURSE, private

    return private(chosen.course) if chosen.course else COURSE


if __name__ == "__main__":
    sys.exit(main())
