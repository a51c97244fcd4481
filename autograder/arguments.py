"""The command line of `autograder`: commands, options, and what goes together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import __version__
from .grading.limits import Wall
from .language import LANGUAGES

_ON_AN_EXERCISE = {
    "hint": "show the hints for an exercise",
    "solution": "show the solution of an exercise and other ways to write it",
    "why": "show why the answer to an exercise is right, once yours has passed",
    "again": "show an exercise with a fresh stub and new cases",
}


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command and options of a command line.

    `arguments` are its words, or None for the process's own. Ends the process with a message if the command line is
    wrong.
    """
    parser = argparse.ArgumentParser(
        prog="autograder", description="A course on torch.autograd and its graded checker."
    )
    parser.add_argument("--version", action="version", version=f"autograd-course {__version__}")
    commands = parser.add_subparsers(dest="command")
    _add_lab(commands)
    _add_authoring(commands)
    _add_course(commands)
    _add_grading(commands)
    _add_results(commands)
    chosen = parser.parse_args(arguments)
    if chosen.command == "explain" and chosen.arguments[:1] == ["--language"]:
        _read_language(chosen, parser)
    for condition, complaint in _complaints(chosen):
        if condition:
            parser.error(complaint)
    return chosen


def _read_language(chosen: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Take `--language` right after the file or message as ours. What follows later is for the script."""
    given = chosen.arguments[1:]
    if not given or given[0] not in LANGUAGES:
        parser.error(f"--language is one of: {', '.join(LANGUAGES)}")
    chosen.language, *chosen.arguments = given


def _complaints(chosen: argparse.Namespace) -> list[tuple[bool, str]]:
    """Return for each rule on a command's options whether it is broken, and the message to show then."""
    match chosen.command:
        case "build":
            needs = "--accept needs the name of a lesson: it says that you have read its Russian texts"
            return [(chosen.accept and not chosen.lessons, needs)]
        case "grade":
            raises = chosen.apply or chosen.lower
            needs = "--again needs the assignment as well: autograder grade DIR ASSIGNMENT --again EXERCISE"
            return [
                (chosen.again and not chosen.assignment, needs),
                (chosen.again and chosen.student, "--again judges everybody: it does not go with --student"),
                (raises and not chosen.again, "--apply and --lower say what --again EXERCISE may do"),
                (chosen.again and chosen.scheduler, "--again judges on this machine: it does not go with --scheduler"),
            ]
        case "requests":
            needs = "--answer needs more: autograder requests DIR ASSIGNMENT --student NAME --answer TEXT"
            return [(chosen.answer and not (chosen.assignment and chosen.student), needs)]
    return []


def _add_lab(commands: Any) -> None:
    lab = commands.add_parser("lab", help="open JupyterLab on a working copy of the notebooks")
    lab.add_argument("--language", choices=("en", "ru"), default="en")
    lab.add_argument("--work", type=Path, default=Path("work"), help="the working copy (default: work)")
    lab.add_argument("--prepare", action="store_true", help="only prepare the working copy")

    check = commands.add_parser("check", help="check the answers in a Python file, without a notebook")
    check.add_argument("file", type=Path, metavar="FILE.py", help="functions, classes and tables, or percent cells")
    check.add_argument("--lesson", default="", help="check only exercises of this lesson")
    check.add_argument("--watch", action="store_true", help="check again whenever the file is saved")
    check.add_argument("--language", choices=("en", "ru"), default="en")

    for name, says in _ON_AN_EXERCISE.items():
        one = commands.add_parser(name, help=says)
        one.add_argument("exercise", metavar="EXERCISE")
        one.add_argument("--language", choices=("en", "ru"), default="en")
        if name == "hint":
            one.add_argument("--number", type=_positive, metavar="N", help="show the hints up to number N")
        if name == "solution":
            one.add_argument("--give-up", action="store_true", help="also before your answer has passed")

    progress = commands.add_parser("progress", help="show what you have done, or move it to another machine")
    what = progress.add_mutually_exclusive_group()
    what.add_argument("--export", type=Path, metavar="FILE", help="copy the history of your checks to FILE")
    what.add_argument("--import", type=Path, metavar="FILE", dest="bring", help="add a history that was exported")
    what.add_argument("--page", type=Path, metavar="FILE.html", help="write a page about it, to keep or print")
    progress.add_argument("--language", choices=("en", "ru"), default="en")

    review = commands.add_parser("review", help="list the exercises that are due for review")
    review.add_argument("--language", choices=("en", "ru"), default="en")

    explain = commands.add_parser("explain", help="explain an error of torch's autograd, of a script or a message")
    explain.add_argument("--language", choices=("en", "ru"), default="en")
    explain.add_argument("what", metavar="FILE.py | MESSAGE", help="a script to run, or the text of an error in quotes")
    explain.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="what the script gets")

    commands.add_parser("singleuser", help="be JupyterHub's server for one user, in the language that the hub names")


def _add_authoring(commands: Any) -> None:
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
        "--trials", type=_positive, metavar="N", help="try each answer N times, four times in a process (default: 20)"
    )
    verify.add_argument(
        "--answers",
        type=Path,
        metavar="DIR",
        help="also list the mistakes that no answer recorded in DIR/LESSON.py makes",
    )
    verify.add_argument("--course", type=Path, metavar="DIR", help="the private lessons of this course folder instead")

    site = commands.add_parser("site", help="build the course as a static site, in both languages")
    site.add_argument("directory", type=Path, metavar="DIR")
    site.add_argument("lessons", nargs="*", metavar="LESSON", help="only these lessons (default: all)")
    site.add_argument(
        "--address", default="", metavar="URL", help="where the site will be, for search engines and feeds"
    )
    site.add_argument(
        "--repository",
        default="",
        metavar="URL",
        help="the course's branch, https://github.com/OWNER/NAME/tree/BRANCH, for links to Colab and to sources",
    )
    site.add_argument(
        "--cache", type=Path, metavar="DIR", help="keeps outputs of cells (default: .site-cache beside the site)"
    )

    convert = commands.add_parser("convert", help="give the mistakes of private lessons files of their own")
    convert.add_argument("directory", type=Path, metavar="DIR")


def _add_course(commands: Any) -> None:
    course = commands.add_parser("course", help="make an nbgrader course folder, or bring one up to date")
    course.add_argument("directory", type=Path, metavar="DIR")
    what = course.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="only explain the rules, and which grades they would change")
    what.add_argument("--apply", action="store_true", help="let grades follow the rules as they stand now")
    course.add_argument("--language", choices=("en", "ru"), default=None, help="of a new course (default: en)")
    course.add_argument("--id", default=None, help="nbgrader's course id (default: the folder's name)")

    handout = commands.add_parser("handout", help="give each student tables of predictions of their own")
    handout.add_argument("directory", type=Path, metavar="DIR", help="the course folder")
    handout.add_argument("assignment", type=_assignment, help="a released assignment")

    collect = commands.add_parser("collect", help="take submissions out of what an LMS gives: zip archives or folders")
    collect.add_argument("files", nargs="+", type=Path, metavar="FILE", help="archives, folders or notebooks")
    collect.add_argument("--course", type=Path, default=Path(), metavar="DIR", help="the course folder (default: here)")
    _add_worksheet(collect, "names, and times where the LMS tells them")
    collect.add_argument("--add", action="store_true", help="add unknown people to students.csv")


def _add_grading(commands: Any) -> None:
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
        choices=[*map(str, Wall)],
        default=None,
        help="the wall around students' code; auto: full, else landlock; none: as your user (default: as the course's "
        "config says, else full)",
    )
    grade.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="grade on the workers of this Dask scheduler, tcp://HOST:8786, or of one started here, local:2",
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
    watch.add_argument("--isolation", choices=[*map(str, Wall)], default=None, help="as for `autograder grade`")
    watch.add_argument("--add", action="store_true", help="add unknown people to students.csv")


def _add_results(commands: Any) -> None:
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
    _add_worksheet(hand_back, "gets the grades (default: Moodle's worksheet that was collected)")
    hand_back.add_argument(
        "--overwrite", action="store_true", help="also replace grades and comments that a person has written in the LMS"
    )

    report = commands.add_parser("report", help="make a page on what the class understood")
    report.add_argument("directory", type=Path, metavar="DIR", help="the course folder")
    report.add_argument("assignment", nargs="?", type=_assignment, help="an assignment (default: all that were graded)")
    report.add_argument(
        "--language", choices=("en", "ru"), default=None, help="of the page (default: the course's language)"
    )

    doctor = commands.add_parser(
        "doctor", help="find out whether this machine can isolate students' code, and how to allow it"
    )
    doctor.add_argument("--scheduler", metavar="ADDRESS", help="examine the workers of this Dask scheduler instead")


def _add_worksheet(command: argparse.ArgumentParser, use: str) -> None:
    command.add_argument(
        "--worksheet",
        "--gradebook",
        action="append",
        default=[],
        type=Path,
        metavar="CSV",
        help=f"what the LMS exports, Moodle's worksheet, Canvas' or Blackboard's gradebook: {use}; once for each group",
    )


def _assignment(text: str) -> str:
    """Return the name of an assignment from a command-line argument.

    The argument may be a path, because shells complete a name to the folder's path.
    """
    return Path(text).name or text


def _positive(text: str) -> int:
    """Return the number that a command-line argument states.

    Raises ArgumentTypeError if the argument is no whole number of at least 1.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)
